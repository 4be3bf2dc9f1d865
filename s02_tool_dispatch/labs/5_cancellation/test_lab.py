"""Lab 5: a copy of ten chunks that is stopped in the middle, and a measured table."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from s02_tool_dispatch.code import ToolCall, ToolRegistry, Workspace

CHUNKS = 10


class Signal:
    """A cancel signal that is given at the n-th look, and calls `at_look` each time."""

    def __init__(self, given_at=None, at_look=lambda: None):
        self.looks = 0
        self.given_at = given_at
        self.at_look = at_look

    def is_set(self):
        self.looks += 1
        self.at_look()
        return self.looks == self.given_at


def context_in(lab, folder, signal=None, deadline=1_000, clock=lambda: 0):
    """A folder with ten chunks in `big` and a file `old`, and a context for it."""
    (folder / "big").write_bytes(bytes(CHUNKS * lab.CHUNK))
    (folder / "old").write_text("before")
    return lab.Context(Workspace(folder), deadline, signal or Signal(), clock)


def copy(lab, context, /, **arguments):
    """One call through the chapter's gate: its error code, or its content."""
    registry = ToolRegistry()
    registry.register(lab.copy_tool(context))
    result = registry.dispatch(ToolCall("t1", "copy_file", arguments))
    return result.error_code or result.content


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_copied_whole(lab, expect, tmp_path):
    came = copy(lab, context_in(lab, tmp_path), source="big", target="new")

    same = (tmp_path / "new").exists()
    same = same and (tmp_path / "new").read_bytes() == bytes(CHUNKS * lab.CHUNK)
    advice = "write all chunks, then give the file its name"
    expect("copy_file(big, new)", came, "an identical file `new`", advice, holds=same)


def test_the_context_is_looked_at_before_the_first_chunk_and_after_each(
    lab, expect, tmp_path
):
    signal = Signal()
    copy(lab, context_in(lab, tmp_path, signal), source="big", target="new")

    called = f"copy_file of {CHUNKS} chunks, looks at the signal"
    advice = "call context.stop_if_asked() at the start and after each chunk"
    expect(called, signal.looks, CHUNKS + 1, advice)


def test_a_copy_that_is_cancelled_leaves_nothing_behind(lab, expect, tmp_path):
    context = context_in(lab, tmp_path, Signal(given_at=5))
    came = copy(lab, context, source="big", target="new")

    called = "copy_file(big, new), cancelled in the middle"
    expect(called, came, lab.STOPPED, "let the ToolFailure go up as it is")
    advice = "remove the unfinished file, whatever the reason"
    expect("the folder after it", names(tmp_path), ["big", "old"], advice)


def test_a_copy_that_is_stopped_keeps_what_was_there(lab, expect, tmp_path):
    ticks = iter(range(100))
    context = context_in(lab, tmp_path, deadline=5, clock=lambda: next(ticks))
    came = copy(lab, context, source="big", target="old")

    called = "copy_file(big, old), out of time in the middle"
    expect(called, came, lab.TIMEOUT, "stop_if_asked looks at the deadline too")
    advice = "write to another name in the same folder; rename at the end"
    old = tmp_path / "old"
    came = old.read_text() if old.exists() else "no file"
    expect("the file `old` after it", came, "before", advice)
    expect("the folder after it", names(tmp_path), ["big", "old"], advice)


def test_the_target_appears_in_one_step(lab, expect, tmp_path):
    seen = set()
    signal = Signal(at_look=lambda: seen.add((tmp_path / "new").exists()))
    copy(lab, context_in(lab, tmp_path, signal), source="big", target="new")

    advice = "the last look comes before the file gets its name"
    expect("whether `new` existed, at each look", seen, {False}, advice)


def test_ctrl_c_in_the_middle_leaves_nothing_behind(lab, expect, tmp_path):
    def press():
        if signal.looks == 5:
            raise KeyboardInterrupt

    signal = Signal(at_look=press)
    try:
        came = copy(lab, context_in(lab, tmp_path, signal), source="big", target="new")
    except KeyboardInterrupt:
        came = KeyboardInterrupt

    called = "copy_file(big, new), Ctrl-C in the middle"
    expect(called, came, KeyboardInterrupt, "do not catch it: it has to go up")
    advice = "clean up in a finally: Ctrl-C is no Exception"
    expect("the folder after it", names(tmp_path), ["big", "old"], advice)


def test_no_argument_reaches_the_context(lab, expect, tmp_path):
    context = context_in(lab, tmp_path, deadline=-1)
    shown = sorted(lab.copy_tool(context).model_schema()["input_schema"]["properties"])

    expect("what the model can give", shown, ["source", "target"], "two paths, no more")
    for forged in ("deadline", "context", "cancelled", "root", "workspace"):
        came = copy(lab, context, source="big", target="new", **{forged: 10**9})
        called = f"copy_file(big, new, {forged}=10**9)"
        expect(
            called, came, "invalid_arguments", "close the schema: object_schema does"
        )
    came = copy(lab, context, source="big", target="new")
    expect("copy_file after the deadline", came, lab.TIMEOUT, "ask the bound context")


def test_no_path_leads_out_of_the_workspace(lab, expect, tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "secret").write_text("s")
    context = context_in(lab, tmp_path / "inside")

    for paths in (
        {"source": "../secret", "target": "new"},
        {"source": "big", "target": "../new"},
    ):
        came = copy(lab, context, **paths)
        advice = "resolve both paths with context.workspace.safe_path"
        expect(f"copy_file({paths})", came, "execution_error", advice)
    expect("the folder outside", names(tmp_path), ["inside", "secret"], "write inside")


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups here")
def test_the_table_on_the_page_is_what_the_run_prints():
    folder = Path(__file__).parent
    ran = subprocess.run(
        [sys.executable, folder / "table.py"],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ran.returncode == 0, ran.stderr
    for page in ("README.md", "README.zh.md"):
        assert ran.stdout in (folder / page).read_text(encoding="utf-8")
