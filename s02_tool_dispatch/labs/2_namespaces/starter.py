"""Lab 2: tools of several sources side by side, and no name that means two things.

The chapter's registry refuses a name that is taken. Here two sources may both have a
`read_file`: each gets a name of its own. Write the lines between the two marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from s02_tool_dispatch.code import (
    ToolCall,
    ToolDispatchResult,
    ToolRegistry,
    ToolSpec,
)

SEPARATOR = "__"  # core__read_file: the API accepts no dot in a name
ACCEPTED = re.compile("[A-Za-z0-9_-]{1,64}")
AMBIGUOUS = "ambiguous_tool"


@dataclass(frozen=True)
class Resolution:
    """The trace line of one look-up: what was asked, and what it can mean."""

    tool_use_id: str
    asked: object
    meanings: tuple[str, ...]


def name_table(sources: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Every name that can be asked for, and the qualified names that it can mean.

    `sources` maps a namespace to the names of its tools: {"core": ["read_file"]}. A
    qualified name means itself; a short name means every tool that has it, in sorted
    order. Raises ValueError for a qualified name that the API does not accept or that
    two tools would have; for a namespace or a short name with `__` in it; and for two
    namespaces, two short names or two qualified names that look alike: that differ, but
    only in upper and lower case or in `-` and `_`. `sources` is not changed.
    """
    # --- your code ---
    raise NotImplementedError("lab 2: which name means which tools")
    # --- end of your code ---


class NamespacedTools:
    """The chapter's registry under qualified names; a short name has to be unique."""

    def __init__(
        self,
        sources: Mapping[str, Sequence[ToolSpec]],
        trace: Callable[[object], None] = lambda line: None,
    ) -> None:
        """Register all tools; ValueError as from `name_table` and from the registry."""
        names = {
            space: [spec.name for spec in specs] for space, specs in sources.items()
        }
        self.table = name_table(names)
        self.trace = trace
        self.registry = ToolRegistry(trace=trace)
        for space, specs in sources.items():
            for spec in specs:
                name = f"{space}{SEPARATOR}{spec.name}"
                self.registry.register(replace(spec, name=name, source=space))
        self.registry.freeze()

    def dispatch(self, call: ToolCall) -> ToolDispatchResult:
        """Resolve the name, write that down, then go through the chapter's gate."""
        meanings = self.table.get(call.name, []) if isinstance(call.name, str) else []
        self.trace(Resolution(call.tool_use_id, call.name, tuple(meanings)))
        if len(meanings) > 1:
            text = f"{call.name} is the name of several tools: ask for one of"
            text = f"Error [{AMBIGUOUS}]: {text} {', '.join(meanings)}"
            return ToolDispatchResult(call, text, AMBIGUOUS)
        if meanings:
            call = replace(call, name=meanings[0])
        return self.registry.dispatch(call)
