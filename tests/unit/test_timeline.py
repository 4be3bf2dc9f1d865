"""The timeline: what ran when and beside what, also from a cut or foreign file."""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
import sys
import threading
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

import pytest

from s02_tool_dispatch import timeline
from s02_tool_dispatch.code import ToolCall, ToolRegistry, ToolSpec, object_schema
from tests.chapters import ROOT, chapter_copy, run_chapter, scrubbed_env

HEADER = {"catalog_hash": "c0ffee" * 10, "limits": {}, "python": "3.12.1", "started": 9}


def record(name="read", start=0.0, seconds=1.0, outcome="ok", detail="", **changed):
    """One line of a trace, as the chapter writes it."""
    whole = {
        "tool_use_id": "t1",
        "name": name,
        "started": start,
        "seconds": seconds,
        "outcome": outcome,
        "chars": 2,
        "detail": detail,
        **changed,
    }
    return json.dumps(whole)


@pytest.fixture
def draw(tmp_path, capsys, monkeypatch):
    """Write lines to a file and draw it: (status, lines on stdout, stderr)."""
    monkeypatch.setenv("COLUMNS", "80")

    def drawing(*lines, options=(), end="\n"):
        file = tmp_path / "trace.jsonl"
        content = [x if isinstance(x, bytes) else x.encode() for x in lines]
        file.write_bytes(b"\n".join(content) + end.encode())
        status = timeline.main([str(file), *options])
        out, err = capsys.readouterr()
        return status, out.splitlines(), err

    return drawing


def bars(lines):
    """The lanes alone, as (name, bar)."""
    lanes = [line.split("|") for line in lines if line.count("|") == 2]
    return [(name.strip(), bar) for name, bar, _ in lanes]


def columns_of(bar):
    return {i for i, mark in enumerate(bar) if mark in "#="}


# --- What a lane shows ---


@pytest.mark.parametrize(
    ("times", "marks"),
    [
        pytest.param([(0, 2), (0.5, 2), (3, 1)], "##=", id="two together, one alone"),
        pytest.param([(0, 9), (1, 1), (3, 1), (9, 1)], "###=", id="during a long one"),
        pytest.param([(5, 1), (0, 1), (2, 1)], "===", id="sorted by their start"),
    ],
)
def test_calls_that_ran_together_share_columns_and_are_marked(draw, times, marks):
    _, lines, _ = draw(*(record(f"at {a}", a, b) for a, b in times))
    lanes = bars(lines)
    columns = [columns_of(bar) for _, bar in lanes]
    shared = [any(a & b for b in columns if b is not a) for a in columns]

    assert [max(bar) for _, bar in lanes] == [*marks]
    assert [name for name, _ in lanes] == [f"at {a}" for a, _ in sorted(times)]
    assert shared == [mark == "#" for mark in marks]


def test_calls_one_after_the_other_fill_the_axis_and_share_no_column(draw):
    _, lines, _ = draw(*(record(start=n * 1.37, seconds=1.37) for n in range(20)))
    lanes = [columns_of(bar) for _, bar in bars(lines)]

    assert all(not a & b for a, b in pairwise(lanes))
    assert set().union(*lanes) == set(range(len(bars(lines)[0][1])))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 ms"),
        (0.0123, "12.3 ms"),
        (1, "1.00 s"),
        (59.994, "59.99 s"),
        (60, "1 min 0 s"),
        (3599.6, "1 h 0 min"),
        (3599.4, "59 min 59 s"),
        (7500, "2 h 5 min"),
        (1e10 - 1, "2777777 h"),
    ],
)
def test_durations_are_readable(seconds, text):
    assert timeline.duration(seconds) == text


def test_a_lane_says_how_long_and_what_came_and_details_say_why(draw):
    detail = "Traceback:\n  File ...\nRuntimeError: no luck"
    calls = record("bash", 0, 1.5, "timeout", detail), record(detail=detail)
    _, plain, _ = draw(*calls)
    _, full, _ = draw(*calls, options=["--details"])

    assert plain[2].split("|")[2].split() == ["1.50", "s", "timeout"]
    assert "no luck" not in "".join(plain)
    assert [x.strip() for x in full if "no luck" in x] == ["RuntimeError: no luck"]


# --- The axis ---


@pytest.mark.parametrize(
    ("times", "axis", "gaps"),
    [
        pytest.param([(100, 3), (101, 2.5)], "3.50 s", [], id="no gap"),
        pytest.param([(0, 500), (1, 1), (400, 1)], "8 min 20 s", [], id="a long call"),
        pytest.param(
            [(0, 1), (201, 1), (202.5, 1)], "3.50 s", ["3 min 20 s"], id="one"
        ),
        pytest.param(
            [(9 * n, 1) for n in range(99)], "1 min 39 s", ["8.00 s"] * 98, id="98"
        ),
    ],
)
def test_a_long_time_without_a_call_is_cut_out_of_the_axis_and_named(
    draw, times, axis, gaps
):
    _, lines, _ = draw(*(record(start=a, seconds=b) for a, b in times))
    named = [x.strip() for x in lines if "~" in x]

    assert named == [f"~ {gap} without a call" for gap in gaps]
    assert lines[1].split() == ["0", *axis.split()]
    assert len(lines[1]) == lines[2].rindex("|") + 1


@pytest.mark.parametrize(
    "times",
    [
        pytest.param([(5, 0)], id="no duration"),
        pytest.param([(5, 0), (5, 0)], id="no duration, twice"),
        pytest.param([(0, 0), (99, 0)], id="no duration, far apart"),
        pytest.param([(0, 5e-324)], id="the smallest number"),
        pytest.param([(5e9, 1e-9), (6e9, 1e-9), (7e9 + 0.1, 1e-6)], id="lost digits"),
        pytest.param([(-9e9, 9e9), (9e9, 9e9)], id="centuries"),
        pytest.param([(1, 1), (1, 1), (1, 0)], id="the same start"),
        pytest.param([(2, 1), (-3, 1), (0, 10)], id="out of order, also below zero"),
    ],
)
def test_odd_times_keep_every_bar_inside_its_lane(draw, times):
    status, lines, _ = draw(*(record(start=a, seconds=b) for a, b in times))

    assert status == 0
    assert len({len(bar) for _, bar in bars(lines)}) == 1
    assert all(columns_of(bar) for _, bar in bars(lines))


# --- The width ---


@pytest.mark.parametrize("width", [50, 80, 132, 1000])
def test_no_line_is_wider_than_it_may_be(draw, width):
    long = record("n" * 90, 0, 1, "o" * 90, detail="d" * 2000)
    _, lines, _ = draw(
        long, record(start=900), options=["--details", f"--width={width}"]
    )

    assert max(map(len, lines)) == width
    assert min(len(bar) for _, bar in bars(lines)) >= 8


@pytest.mark.parametrize(("columns", "width"), [("64", 64), ("5", 50), ("", 80)])
def test_the_width_is_that_of_the_terminal(draw, monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    _, lines, _ = draw(record())

    assert len(lines[2]) == width


@pytest.mark.parametrize("width", ["49", "1001", "-1", "wide", "9" * 5000])
def test_a_width_that_cannot_be_is_refused(draw, capsys, width):
    with pytest.raises(SystemExit) as ended:
        draw(record(), options=[f"--width={width}"])

    assert ended.value.code == 2
    assert "--width" in capsys.readouterr().err


# --- Files that are cut, foreign or missing ---

FOREIGN = {
    "cut": record()[:40],
    "words": "Traceback (most recent call last):",
    "a list": "[1, 2]",
    "a number": "7",
    "another object": '{"level": "info", "msg": "hi"}',
    "a header in the middle": json.dumps(HEADER),
    "started is NaN": record(start=math.nan),
    "seconds are infinite": record(seconds=math.inf),
    "seconds are negative": record(seconds=-1),
    "started is a text": record(start="5"),
    "seconds are true": record(seconds=True),
    "started is out of this world": record(start=1e300),
    "started has 400 digits": record(start=10**400),
    "an integer of 5,000 digits": '{"started": ' + "9" * 5_000 + "}",
    "name is null": record(name=None),
    "chars is a text": record(chars="2"),
    "detail is missing": record().replace('"detail"', '"details"'),
    "no UTF-8": b'{"name": "\xff"}',
    "UTF-16": record().encode("utf-16"),
    "very deep": "[" * 100_000,
    "a NUL": b"\0",
}


@pytest.mark.parametrize("line", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_line_that_is_no_record_is_counted_and_left_out(draw, line):
    status, lines, _ = draw(
        record("a"), line, record("b", 1), record("c", 2)[:30], end=""
    )

    assert status == 0
    assert [name for name, _ in bars(lines)] == ["a", "b"]
    assert "lines were no trace records: number 2, " in lines[-1]


ABOUT = "Python 3.12.1, catalogue c0ffeec0ffeec0ff"
HEAD = json.dumps(HEADER)


MANY = "300 lines were no trace records: number 2, 3, 4, 5, 6, ..."
FILES = {  # its lines, how the first and the last line begin
    "a cut one": (
        [record(), "", record()[:9]],
        "1 call,",
        "1 line was no trace record",
    ),
    "300 others": ([record(), *["?"] * 300], "1 call,", MANY),
    "a header": (
        [HEAD, record(), record(outcome="x")],
        f"2 calls, 1 failed, {ABOUT}",
        "#",
    ),
    "a mark": (["\ufeff" + HEAD, record()], f"1 call, 0 failed, {ABOUT}", "#"),
    "no call": ([HEAD], f"0 calls, 0 failed, {ABOUT}", "0 calls"),
    "3,000": (
        [record(start=n, seconds=n % 3) for n in range(3_000)],
        "3000 calls",
        "#",
    ),
}


@pytest.mark.parametrize(("content", "first", "last"), FILES.values(), ids=FILES)
def test_the_first_line_counts_and_the_last_tells_what_was_left_out(
    draw, content, first, last
):
    status, lines, _ = draw(*content)

    assert status == 0
    assert lines[0].startswith(first)
    assert lines[-1].startswith(last)


@pytest.mark.parametrize("lines", [[], ["no", "trace"], ["{}"], [b"\x00\x01" * 5000]])
def test_a_file_without_a_trace_is_one_sentence_and_status_1(draw, lines):
    status, out, err = draw(*lines)

    assert (status, out) == (1, [])
    assert err.endswith("trace.jsonl holds no trace record.\n")
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["missing.jsonl", "a\x1bfile", "."])
def test_a_file_that_cannot_be_read_is_one_sentence_and_status_1(
    tmp_path, capsys, name
):
    status = timeline.main([str(tmp_path / name)])
    out, err = capsys.readouterr()

    assert (status, out) == (1, "")
    assert err.startswith(f"Cannot read {tmp_path / name}: ".replace("\x1b", "\\x1b"))
    assert err.count("\n") == 1
    assert err.endswith(".\n")


# --- Nothing in a file drives the terminal ---

HOSTILE = "\x1b[2J\r\n\t\x07\u202e\u200b\ud800\x9b31m"


@pytest.mark.parametrize("field", ["name", "outcome", "detail"])
def test_control_characters_of_a_record_are_made_visible(draw, field):
    header = json.dumps({"catalog_hash": HOSTILE, "python": HOSTILE})
    call = record(**{"outcome": "failed", field: f"x{HOSTILE}x"})
    _, lines, _ = draw(header, call, options=["--details", "--width=200"])

    assert bars(lines)
    assert all(line.isprintable() for line in lines)


def test_a_name_in_any_script_keeps_the_columns_aligned(draw):
    _, lines, _ = draw(record("\u8bfb\u6587\u4ef6"), record("read", 1), record("", 2))

    assert len({line.index("|") for line in lines if "|" in line}) == 1
    assert bars(lines)[2][0] == "(no name)"


def test_random_lines_never_end_in_a_traceback(draw):
    dice = random.Random(5)
    whole = json.dumps(HEADER) + "\n" + record() + "\n" + record("b", 2, 0)
    for _ in range(300):
        cut = list(whole)
        for _ in range(dice.randrange(9)):
            cut[dice.randrange(len(cut))] = chr(dice.randrange(200))
        status, lines, _ = draw("".join(cut))

        assert status in (0, 1)
        assert all(len(line) <= 80 for line in lines)


# --- Traces that the chapter writes ---


def test_calls_that_meet_in_a_real_registry_are_drawn_side_by_side(draw):
    lines, meeting = [], threading.Barrier(2, timeout=10)
    registry = ToolRegistry(trace=lambda r: lines.append(json.dumps(asdict(r))))
    for name, concurrent in (("meet", True), ("alone", False)):
        wait = meeting.wait if concurrent else lambda: None
        schema = object_schema({}, [])
        registry.register(ToolSpec(name, "A test.", schema, wait, concurrent))
    registry.dispatch_many([ToolCall("a", "meet", {}), ToolCall("b", "meet", {})])
    registry.dispatch_many([ToolCall("c", "alone", {}), ToolCall("d", "alone", {})])
    _, drawn, _ = draw(*lines)

    assert [max(bar) for _, bar in bars(drawn)] == ["#", "#", "=", "="]


def test_the_trace_of_the_demo_is_drawn(tmp_path, capsys):
    repo, env = chapter_copy(tmp_path), scrubbed_env(tmp_path / "home")
    trace = str(tmp_path / "t.jsonl")
    run_chapter(repo, "s02_tool_dispatch", "--demo", "--trace", trace, env=env)
    status = timeline.main([trace, "--details"])
    out = capsys.readouterr().out

    assert status == 0
    assert re.match(r"[1-9]\d* calls, [1-9] failed, Python 3\.", out)
    assert "no trace record" not in out


# --- Chrome Trace Events ---


@pytest.fixture
def chrome(draw, tmp_path):
    """Write trace events: what is said of it, and the events."""

    def writing(*lines, options=()):
        out = tmp_path / "out.json"
        status, said, err = draw(*lines, options=[f"--chrome={out}", *options])
        assert (status, err) == (0, "")
        return said, json.loads(out.read_text("ascii"))["traceEvents"]

    return writing


def test_each_call_is_a_complete_event_in_microseconds(chrome):
    call = record("read", 7.5, 0.25, "a,b", detail="a token", tool_use_id="t9")
    said, events = chrome(record("first", 7), call)
    _, with_details = chrome(record("first", 7), call, options=["--details"])
    args = {"tool_use_id": "t9", "chars": 2}
    event = {"name": "read", "cat": "a_b", "ph": "X", "ts": 5e5, "dur": 25e4, "pid": 1}

    assert events[1] == {**event, "tid": 2, "args": args}
    assert with_details[1] == {**event, "tid": 2, "args": {**args, "detail": "a token"}}
    assert said[0].startswith("2 calls in ")


def test_calls_on_one_thread_of_the_viewer_never_overlap(chrome):
    dice = random.Random(3)
    calls = [record(start=dice.random() * 9, seconds=dice.random()) for _ in range(200)]
    _, events = chrome(*calls, record("touch", 20, 0.1), record("touch", 20.1, 0.1))
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    lanes = {}
    for event in (e for e in events if e["ph"] == "X"):
        assert event["ts"] >= lanes.get(event["tid"], 0)
        lanes[event["tid"]] = event["ts"] + event["dur"]

    assert names == {n: f"lane {n}" for n in lanes}
    assert len(lanes) < 40


def test_the_file_is_its_owners_alone_and_never_the_trace_itself(draw, tmp_path):
    out, trace = tmp_path / "o.json", tmp_path / "trace.jsonl"
    out.write_text("old")
    out.chmod(0o644)
    draw(record(), options=[f"--chrome={out}"])
    refused = draw(record(), options=[f"--chrome={trace}"])
    missing = draw(record(), options=[f"--chrome={tmp_path}/no/o.json"])

    assert sys.platform == "win32" or out.stat().st_mode & 0o777 == 0o600
    assert (refused[0], missing[0]) == (1, 1)
    assert "File exists" in refused[2] and missing[2].count("\n") == 1
    assert trace.read_text() == record() + "\n"


# --- As a program ---

PROGRAM = [sys.executable, "-SB", str(ROOT / "s02_tool_dispatch" / "timeline.py")]


def as_program(tmp_path, *arguments, stdout=subprocess.PIPE, **env):
    """`python3 .../timeline.py ...`, from another folder, off a terminal."""
    return subprocess.run(
        [*PROGRAM, *arguments],
        cwd=tmp_path,
        env=scrubbed_env(tmp_path / "home", **env),
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="pipes close otherwise on Windows")
def test_a_reader_of_the_pipe_that_leaves_gets_no_traceback(tmp_path):
    trace = tmp_path / "t.jsonl"
    trace.write_text("\n".join(record(start=n) for n in range(5_000)))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    pipes["env"] = scrubbed_env(tmp_path / "home")
    with subprocess.Popen([*PROGRAM, str(trace)], cwd=ROOT, **pipes) as program:
        first = program.stdout.readline()
        program.stdout.close()
        err = program.stderr.read()

    assert first == b"5000 calls, 0 failed\n"
    assert (program.returncode, err) == (1, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_one_sentence(tmp_path):
    trace = tmp_path / "t.jsonl"
    trace.write_text(record())
    with open("/dev/full", "wb") as full:
        run = as_program(tmp_path, str(trace), stdout=full)

    assert run.returncode == 1
    assert run.stderr == "Cannot go on: No space left on device.\n"


def test_an_ascii_terminal_shows_any_detail(tmp_path):
    trace = tmp_path / "t.jsonl"
    trace.write_text(record(outcome="x", detail="\u8bfb\ud83d"))
    options = [str(trace), "--details"]
    run = as_program(tmp_path, *options, LC_ALL="C", PYTHONUTF8="0", LANG="C")

    assert run.returncode == 0
    assert "\\u8bfb\\ud83d" in run.stdout
