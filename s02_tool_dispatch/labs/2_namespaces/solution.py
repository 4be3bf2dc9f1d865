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
    table: dict[str, list[str]] = {}
    meant: dict[str, list[str]] = {}
    spellings: dict[tuple[str, str], str] = {}

    def refuse_look_alike(kind: str, name: str) -> None:
        look = (kind, name.lower().replace("-", "_"))
        known = spellings.setdefault(look, name)
        if known != name:
            raise ValueError(f"{kind} {name!r} looks like {known!r}")

    def refuse_separator(kind: str, name: str) -> None:
        if SEPARATOR in name:
            raise ValueError(f"{kind} {name!r} has {SEPARATOR} in it")

    for space, names in sources.items():
        refuse_look_alike("namespace", space)
        refuse_separator("namespace", space)
        for short in names:
            refuse_look_alike("tool", short)
            refuse_separator("tool", short)
            qualified = f"{space}{SEPARATOR}{short}"
            refuse_look_alike("qualified name", qualified)
            if not ACCEPTED.fullmatch(qualified):
                raise ValueError(f"the API does not accept {qualified!r}")
            if qualified in table:
                raise ValueError(f"two tools would be called {qualified!r}")
            table[qualified] = [qualified]
            meant.setdefault(short, []).append(qualified)
    return {**table, **{short: sorted(names) for short, names in meant.items()}}
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
