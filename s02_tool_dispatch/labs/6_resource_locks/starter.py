"""Lab 6: which calls may overlap? What each one reads and writes, not a flag per tool.

    .venv/bin/python -m pytest s02_tool_dispatch/labs/6_resource_locks

Open is the body of `run_all`, between the marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from s02_tool_dispatch.code import (
    MAX_WORKERS,
    ToolCall,
    ToolDispatchResult,
    ToolFailure,
    ToolRegistry,
    Workspace,
)


@dataclass(frozen=True)
class Access:
    """The places that one call touches; a folder stands for everything in it."""

    reads: frozenset[Path] = frozenset()
    writes: frozenset[Path] = frozenset()


def access_of(call: ToolCall, workspace: Workspace) -> Access:
    """What a call of the five tools touches; if nobody can tell, it writes everything.

    The place is the resolved path: a.txt and ./a.txt are one file.
    """
    everything = frozenset({workspace.root})
    if call.name == "glob":
        return Access(reads=everything)
    try:
        place = workspace.safe_path(call.arguments["path"])  # type: ignore[index]
    except (ToolFailure, KeyError, TypeError):
        return Access(writes=everything)
    if call.name == "read_file":
        return Access(reads=frozenset({place}))
    if call.name in ("write_file", "edit_file"):
        return Access(writes=frozenset({place}))
    return Access(writes=everything)


def overlap(left: Path, right: Path) -> bool:
    """Whether two places are one, or one of them lies inside the other."""
    return left == right or left in right.parents or right in left.parents


def dispatch_by_access(
    registry: ToolRegistry, calls: Sequence[ToolCall], accesses: Sequence[Access]
) -> list[ToolDispatchResult]:
    """One result per call, in call order; `accesses[i]` is what `calls[i]` touches.

    Two calls conflict if one of them writes a place that the other reads or writes.
    A call starts as soon as every earlier call that it conflicts with has ended, in
    one of at most MAX_WORKERS threads.
    """
    with ThreadPoolExecutor(MAX_WORKERS) as pool:
        return run_all(registry, calls, accesses, pool)


def run_all(
    registry: ToolRegistry,
    calls: Sequence[ToolCall],
    accesses: Sequence[Access],
    pool: ThreadPoolExecutor,
) -> list[ToolDispatchResult]:
    """The work of `dispatch_by_access`; the pool starts what it is given in order.

    A call that waits holds no thread: give it to the pool when it may start.
    """
    # --- your code ---
    raise NotImplementedError("lab 6: wait for what conflicts, and for no other")
    # --- end of your code ---


def dispatch_files(
    registry: ToolRegistry, workspace: Workspace, calls: Sequence[ToolCall]
) -> list[ToolDispatchResult]:
    """Run calls of the five tools: in the place of `registry.dispatch_many(calls)`."""
    accesses = [access_of(call, workspace) for call in calls]
    return dispatch_by_access(registry, calls, accesses)
