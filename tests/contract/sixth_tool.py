"""The sixth tool of the s02 page: one function and one ToolSpec."""

from __future__ import annotations

import sys
from functools import partial

from s02_tool_dispatch.code import (
    ToolSpec,
    Workspace,
    object_schema,
    open_regular,
    skip_lines,
    told_as_failure,
)


def count_lines(workspace: Workspace, path: str) -> str:
    """How many lines a file has, whatever its size."""
    target = workspace.safe_path(path)
    with told_as_failure(path), open_regular(target) as file:
        return f"{path} has {skip_lines(file, sys.maxsize)} lines"


def sixth_tool(workspace: Workspace) -> ToolSpec:
    """The registration: the workspace is bound here, where no argument reaches it."""
    return ToolSpec(
        "count_lines",
        "Count the lines of a file in the workspace.",
        object_schema({"path": {"type": "string"}}, ["path"]),
        partial(count_lines, workspace),
        concurrent_safe=True,
        source="sixth_tool",
    )
