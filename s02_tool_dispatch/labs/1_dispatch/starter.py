"""Lab 1: a registry of tools with one door, `dispatch`.

Nothing here comes from the chapter: the words are another codebase's, and the page
says which word is which. Write the lines between the two marks.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

TOOL_NOT_FOUND = "TOOL_NOT_FOUND"
TOOL_EXECUTION_FAILED = "TOOL_EXECUTION_FAILED"


@dataclass(frozen=True)
class ToolError:
    """What went wrong; `message` is read by the model."""

    code: str
    message: str


@dataclass(frozen=True)
class ToolResult:
    """Either ok with data, or not ok with an error."""

    ok: bool
    data: Any = None
    error: ToolError | None = None


@dataclass(frozen=True)
class Tool:
    """What the model sees, and what runs: a plain function or an async one."""

    name: str
    description: str
    input_schema: dict[str, Any]
    run: Callable[[dict[str, Any]], Any | Awaitable[Any]]


class ToolRegistry:
    """Tools by name. A mistake of the program raises; one of the model does not."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def register(self, tool: Tool) -> None:
        """Add a tool; ValueError if its name is taken."""
        if tool.name in self._tools:
            raise ValueError(f"duplicate tool: {tool.name}")
        self._tools[tool.name] = tool

    def definitions(self) -> list[dict[str, Any]]:
        """What the model is shown: sorted by name, and copies."""
        keys = ("name", "description", "input_schema")
        tools = [self._tools[name] for name in sorted(self._tools)]
        return [{k: copy.deepcopy(getattr(tool, k)) for k in keys} for tool in tools]

    async def dispatch(self, name: str, input: dict[str, Any]) -> ToolResult:
        """Run one tool by name; whatever the tool does, a ToolResult comes back."""
        # --- your code ---
        raise NotImplementedError("lab 1: look up, run, and return a ToolResult")
        # --- end of your code ---
