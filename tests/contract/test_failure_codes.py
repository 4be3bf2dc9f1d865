"""Every failure of the five tools has a code of its own and says what to do next.

`FAILURES` lists what can happen, as (tool, code); the table of the s02 page is that.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from s02_tool_dispatch import code as s02
from tests.chapters import ROOT
from tests.tools import call

FILE_TOOLS = ("read_file", "write_file", "edit_file")
REST = {  # the arguments after the path
    "read_file": {},
    "write_file": {"content": "new"},
    "edit_file": {"old_text": "old", "new_text": "new"},
}
NEXT_STEP = re.compile(
    r"\b(add|ask|at most|choose|copy|give|glob|leave|list|look|must|narrow\w*|read|"
    r"repeat|restart|run|say|shorten|shorter|split|stop|such as|tell|try|use|write)\b"
)
SPEAKS_FOR_ITSELF = {  # the output; that it leads out; how many lines there are
    "nonzero_exit",
    "execution_error",
    "offset_past_end",
}


@dataclass(frozen=True)
class Row:
    """How to make one tool fail: shell commands before, then its arguments."""

    tool: str
    code: str
    arguments: dict[str, Any]
    before: str = ""
    disk: int = resource.RLIM_INFINITY


def on_path(code: str, path: str, before: str = "", tools=FILE_TOOLS) -> list[Row]:
    """The same failure of several file tools."""
    return [Row(tool, code, {"path": path, **REST[tool]}, before) for tool in tools]


def edit(code: str, old: str, new: str, before: str = "", **more: int) -> Row:
    """A failure of an edit of `f`."""
    arguments = {"path": "f", "old_text": old, "new_text": new}
    return Row("edit_file", code, arguments, before or "printf 'a a b' >f", **more)


def bash(code: str, command: str, before: str = "", seconds: int = 60) -> Row:
    """A failure of a command."""
    arguments = {"command": command, "timeout_seconds": seconds}
    return Row("bash", code, arguments, before)


MISSING_OK = ("read_file", "edit_file")
GONE = 'rmdir "$PWD"'
OVER = s02.MAX_EDIT_BYTES + 1
ROWS = [
    *on_path("invalid_arguments", path=5),
    *on_path("execution_error", "../x"),
    *on_path("execution_error", "loop/x", "ln -s loop loop"),
    *on_path("invalid_path", "a\0b"),
    *on_path("invalid_path", "~/x"),
    *on_path("invalid_path", "a\\b"),
    *on_path("invalid_path", "\ud800"),
    *on_path("invalid_path", "x/" * 2_100),
    *on_path("workspace_missing", "f", GONE),
    *on_path("file_not_found", "missing", tools=MISSING_OK),
    *on_path("is_a_directory", "d", "mkdir d"),
    *on_path("not_a_directory", "f/x", "touch f"),
    *on_path("name_too_long", "n" * 300),
    *on_path("not_a_file", "p", "mkfifo p"),
    *on_path("permission_denied", "d/x", "mkdir d; touch d/x; chmod 0 d"),
    Row("read_file", "offset_past_end", {"path": "f", "offset": 9}, "echo a >f"),
    Row("read_file", "not_text", {"path": "f"}, r"printf '\377\0' >f"),
    Row("write_file", "stale_file", {"path": "f", "content": "x"}, "echo a >f"),
    Row("write_file", "not_text", {"path": "f", "content": "\ud800"}),
    Row("write_file", "io_error", {"path": "f", "content": "x" * 9_999}, disk=1_000),
    edit("not_found", "c", "x"),
    edit("not_found", "", "x"),
    edit("not_unique", "a", "x"),
    edit("no_change", "b", "b"),
    edit("not_text", "b", "\ud800"),
    edit("too_large", "a", "x", f"truncate -s {OVER} f"),
    edit("io_error", "b", "x" * 9_999, disk=1_000),
    Row("glob", "invalid_pattern", {"pattern": ""}),
    Row("glob", "invalid_pattern", {"pattern": "../*"}),
    Row("glob", "workspace_missing", {"pattern": "*"}, GONE),
    Row("glob", "invalid_arguments", {"pattern": None}),
    bash("empty_command", " "),
    bash("not_started", "echo a\0b"),
    bash("not_started", "echo \ud800"),
    bash("not_started", "true #" * 30_000),
    bash("nonzero_exit", "exit 3"),
    bash("timeout", "sleep 30", seconds=1),
    bash("workspace_missing", "true", GONE),
    bash("invalid_arguments", "true", seconds=0),
]  # fmt: skip

# `stale_file` of an edit needs somebody else at the right moment; a process test shows
# it. Every other pair is reached below.
FAILURES = sorted(
    {(row.tool, row.code) for row in ROWS} | {("edit_file", "stale_file")}
)


def named(row: Row) -> Any:
    """One test; a folder that nobody may enter is none for root."""
    marks = [pytest.mark.not_root] if row.code == "permission_denied" else []
    return pytest.param(row, id=f"{row.tool}-{row.code}", marks=marks)


@contextmanager
def files_up_to(size: int):
    """The largest file of this process: a stand-in for a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("row", [named(row) for row in ROWS])
def test_a_failure_has_its_code_and_a_next_step(row, tmp_path):
    if row.code == "permission_denied" and os.geteuid() == 0:
        pytest.skip("root may enter every folder")
    (tmp_path / "ws").mkdir()
    registry = s02.build_registry(s02.Workspace(tmp_path / "ws"))
    subprocess.run(["bash", "-c", row.before], cwd=tmp_path / "ws", check=True)
    with files_up_to(row.disk):
        result = call(registry, row.tool, row.arguments)
    for folder in tmp_path.glob("ws/d"):
        folder.chmod(0o700)
    assert result.error_code == row.code
    said = result.content.removeprefix(f"Error [{row.code}]: ")
    assert said != result.content and "unexpected" not in said
    assert row.code in SPEAKS_FOR_ITSELF or NEXT_STEP.search(said), said[:500]
    assert str(tmp_path) not in said


# --- The table of the s02 page says the same, in both languages ---


def rows_of(page: str) -> list[list[str]]:
    """The rows of the table whose second column holds `unknown_tool`."""
    text = (ROOT / "s02_tool_dispatch" / page).read_text(encoding="utf-8")
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    (table,) = [table for table in tables if "| `unknown_tool` |" in table]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()]
    return rows[2:]


def names(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)


@pytest.mark.parametrize("page", ["README.md", "README.zh.md"])
def test_the_table_lists_every_failure_and_code_and_each_row_says_what_to_do(page):
    rows = rows_of(page)
    listed = {
        (tool, c) for row in rows for tool in names(row[0]) for c in names(row[1])
    }
    boundary = {row[1].strip("`") for row in rows if not names(row[0])}

    assert {pair for pair in FAILURES if pair[1] != "invalid_arguments"} == listed
    assert {str(code) for code in s02.ToolErrorCode} == boundary
    assert all(len(row) == 4 and all(map(str.strip, row)) for row in rows)
