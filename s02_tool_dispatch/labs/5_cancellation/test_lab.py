"""Lab 5: a copy of ten chunks that is stopped in the middle, and a measured table."""

import os
import random
import shutil
import subprocess
import sys
import tracemalloc
from itertools import count, product, repeat
from pathlib import Path

import pytest

from s02_tool_dispatch.code import ToolCall, ToolRegistry, Workspace

CHUNKS = 10  # in the file `big`; the last one is short
LOOKS = CHUNKS + 1
LATE = 1_001  # a time after the deadline


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


def content(size):
    """Bytes of which no two chunks are equal."""
    return random.Random(5).randbytes(size)


def context_in(lab, folder, signal=None, deadline=LATE - 1, clock=lambda: 0):
    """A folder with ten chunks in `big` and a file `old`, and a context for it."""
    (folder / "big").write_bytes(content((CHUNKS - 1) * lab.CHUNK + 123))
    (folder / "old").write_text("before")
    return lab.Context(Workspace(folder), deadline, signal or Signal(), clock)


def copier(lab, context):
    """What sends calls of one tool through the chapter's gate."""
    registry = ToolRegistry()
    registry.register(lab.copy_tool(context))

    def copy(source, target, **more):
        arguments = {"source": source, "target": target, **more}
        return registry.dispatch(ToolCall("t1", "copy_file", arguments))

    return copy


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def text_of(path):
    """What a file begins with, in words if there is none."""
    return path.read_bytes()[:20].decode("latin-1") if path.exists() else "no file"


def test_a_file_is_copied_whole(lab, expect, tmp_path):
    copy = copier(lab, context_in(lab, tmp_path))
    source = tmp_path / "source"
    for size in (3 * lab.CHUNK + 7, 2 * lab.CHUNK, 1, 0):
        source.write_bytes(content(size))
        (tmp_path / "old").write_bytes(bytes(size))
        for target in ("new", "old", "source"):
            came = copy("source", target).content
            found = [path for path in (source, tmp_path / target) if path.exists()]
            same = [path.read_bytes() for path in found] == [content(size)] * 2
            called = f"copy_file(source, {target}), {size} bytes"
            advice = "write every chunk, the short one too, and leave the source alone"
            expect(called, came, f"`source`, and the same in `{target}`", advice, same)
    advice = "nothing but the copy stays in the folder"
    expect("the folder", names(tmp_path), ["big", "new", "old", "source"], advice)


def test_the_context_is_asked_before_and_after_each_chunk(lab, expect, tmp_path):
    seen, new = [], tmp_path / "new"
    signal = Signal(at_look=lambda: seen.append(new.exists()))
    copy = copier(lab, context_in(lab, tmp_path, signal))
    copy("big", "new")
    looks, early = len(seen), any(seen)
    tracemalloc.start()
    copy("big", "new")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    called = f"copy_file of {CHUNKS} chunks, looks at the signal"
    advice = "call context.stop_if_asked() at the start and after each chunk"
    expect(called, looks, f"{LOOKS}", advice, LOOKS <= looks <= LOOKS + 2)
    expect("does a look see `new`?", early, False, "give the name in the last step")
    advice = "hold one chunk at a time: a file may be larger than the memory"
    small = most < CHUNKS // 2 * lab.CHUNK
    expect("the same, bytes in memory", most, "a few chunks", advice, holds=small)


def test_whatever_stops_a_copy_all_is_as_it_was_before(lab, expect, tmp_path):
    def press():
        if signal.looks == look:
            raise KeyboardInterrupt

    for look, target in product((1, 5, LOOKS), ("new", "old")):
        for how, wanted, signal, clock in [
            ("cancelled", lab.STOPPED, Signal(look), repeat(0)),
            ("out of time", lab.TIMEOUT, Signal(), count(LATE + 1 - look)),
            ("Ctrl-C", KeyboardInterrupt, Signal(None, press), repeat(0)),
        ]:
            context = context_in(lab, tmp_path, signal, clock=clock.__next__)
            try:
                came = copier(lab, context)("big", target).error_code
            except KeyboardInterrupt:
                came = KeyboardInterrupt
            called = f"copy_file(big, {target}), {how} at look {look}"
            advice = "catch neither the ToolFailure nor Ctrl-C: both have to go up"
            expect(called, came, wanted, advice)
            came = (names(tmp_path), text_of(tmp_path / "old"))
            advice = "write to a hidden name beside it; remove that in a finally"
            expect(f"{called}, what is left", came, (["big", "old"], "before"), advice)


def test_the_target_is_replaced_in_one_step(lab, expect, tmp_path):
    def lose_the_unfinished_file():
        for path in tmp_path.iterdir() if signal.looks == LOOKS else ():
            if path.name not in ("big", "old", "link"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    signal, old, link = Signal(), tmp_path / "old", tmp_path / "link"
    copy = copier(lab, context_in(lab, tmp_path, signal))
    os.link(old, link)
    copy("big", "old")
    advice = "put the new file in the place of the old one: Path.replace"
    expect("another name of the old file", text_of(link), "before", advice)

    signal.looks, signal.at_look = 0, lose_the_unfinished_file
    came = copy("big", "link").error_code
    expect("copy_file, when its step fails", came, lab.COPY_FAILED, "tell no success")
    advice = "one step: Path.replace, and no unlink before it"
    expect("the target after it", text_of(link), "before", advice)


def test_two_copies_to_one_target_do_not_disturb_each_other(lab, expect, tmp_path):
    def copy_meanwhile():
        if signal.looks == 5:
            came.append(copy("old", "new"))

    came, signal = [], Signal(at_look=copy_meanwhile)
    copy = copier(lab, context_in(lab, tmp_path, signal))
    came.append(copy("big", "new"))

    advice = "give each unfinished file a hidden name that no other copy can have"
    failed = [result.content for result in came if not result.ok]
    expect("a copy during a copy, what failed", failed, [], advice)
    whole = text_of(tmp_path / "new") == text_of(tmp_path / "big")
    expect("the target", came, "the copy that ended last", advice, holds=whole)
    expect("the folder", names(tmp_path), ["big", "new", "old"], advice)


def test_what_the_file_system_refuses_is_a_tool_failure(lab, expect, tmp_path):
    copy = copier(lab, context_in(lab, tmp_path))
    (tmp_path / "folder").mkdir()
    for source, target in ("gone", "new"), ("big", "gone/new"), ("big", "folder"):
        came = copy(source, target)
        called, advice = f"copy_file({source}, {target})", "tell it as a ToolFailure"
        expect(called, came.error_code, lab.COPY_FAILED, advice)
        hidden = str(tmp_path) not in came.content
        advice = "name the paths as they were given: error.strerror has none"
        expect(called, came.content, "no path from outside", advice, holds=hidden)
        expect("the folder", names(tmp_path), ["big", "folder", "old"], "leave no more")


def test_no_argument_reaches_the_context(lab, expect, tmp_path):
    context = context_in(lab, tmp_path, deadline=-1)
    spec = lab.copy_tool(context)
    shown = sorted(spec.model_schema()["input_schema"]["properties"])
    expect("what the model can give", shown, ["source", "target"], "two paths, no more")
    expect("concurrent_safe", spec.concurrent_safe, False, "it writes")
    for forged in ("deadline", "context", "cancelled", "root", "workspace"):
        came = copier(lab, context)("big", "new", **{forged: 10**9}).error_code
        advice = "close the schema: object_schema does"
        expect(f"copy_file with {forged}=10**9", came, "invalid_arguments", advice)
    came = copier(lab, context)("big", "new").error_code
    expect("copy_file after the deadline", came, lab.TIMEOUT, "ask the bound context")


def test_no_path_leads_out_of_the_workspace(lab, expect, tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "secret").write_text("s")
    context = context_in(lab, tmp_path / "inside")

    for source, target in ("../secret", "new"), ("big", "../new"):
        came = copier(lab, context)(source, target).error_code
        advice = "resolve both paths with context.workspace.safe_path"
        expect(f"copy_file({source}, {target})", came, "execution_error", advice)
    expect("the folder outside", names(tmp_path), ["inside", "secret"], "write inside")


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups here")
def test_the_table_on_the_page_is_what_the_run_prints():
    folder = Path(__file__).parent
    script = [sys.executable, folder / "table.py"]
    ran = subprocess.run(script, capture_output=True, text=True, timeout=60)

    assert ran.returncode == 0, ran.stderr
    for page in ("README.md", "README.zh.md"):
        assert ran.stdout in (folder / page).read_text(encoding="utf-8")
