"""Lab 5: a tool that stops when it is told to, by someone the model cannot imitate.

What the program decides stands in a `Context`, which is bound when the tool is made
and is no part of the schema. Write the lines between the two marks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from s02_tool_dispatch import code as s02

CHUNK = 65_536  # bytes between two looks at the context
STOPPED = "stopped"
TIMEOUT = "timeout"
COPY_FAILED = "copy_failed"


@dataclass(frozen=True)
class Context:
    """What the program decides and no argument can change."""

    workspace: s02.Workspace
    deadline: float  # on the context's clock
    cancelled: threading.Event = field(default_factory=threading.Event)
    clock: Callable[[], float] = time.monotonic

    def stop_if_asked(self) -> None:
        """Raise ToolFailure once the user has cancelled or the time is up."""
        if self.cancelled.is_set():
            raise s02.ToolFailure("the user cancelled this call", STOPPED)
        if self.clock() > self.deadline:
            raise s02.ToolFailure("the time for this call is up", TIMEOUT)


def copy_tool(context: Context) -> s02.ToolSpec:
    """The tool `copy_file(source, target)`, two paths, bound to this context.

    It looks at the context before the first chunk of CHUNK bytes and after each one.
    `target` appears in one step, complete; whatever stops the copy, what was there
    before is kept, and nothing else is left in its folder. What the file system refuses
    (no source, no folder for the target) is a ToolFailure with COPY_FAILED.
    """
    # --- your code ---
    raise NotImplementedError("lab 5: a handler, a closed schema, and the ToolSpec")
    # --- end of your code ---
