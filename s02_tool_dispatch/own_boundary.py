"""The drill's other half: a boundary that its reader wrote, in a process of its own.

    python3 -m s02_tool_dispatch.drill FILE.py

A child runs the file, sends it the drill's faults tier by tier and writes a report;
what the file does to the child, the parent tells. The faults, and what must come of
each, are the one table in drill.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import runpy
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from s02_tool_dispatch import drill
from s02_tool_dispatch.code import Block, printable

PAGE = "s02_tool_dispatch/README.md"
TIERS = [  # what holds, the heading of the page, why
    (
        "every call is answered, once, in order",
        "The loop",
        "The API refuses the next request, and every later one, unless each tool_use "
        "has exactly one tool_result; and the model corrects only what it is told.",
    ),
    (
        "arguments are checked before a handler runs",
        "The schema, compiled",
        "What a handler has done with wrong arguments cannot be undone, and a name or "
        "a value that was bent until it fits is a guess.",
    ),
    (
        "nothing leaks, nothing escapes",
        "Results and errors",
        "A tool can raise anything. The text of a surprise is written for its author: "
        "the model gets the type and a sentence, and the batch goes on.",
    ),
    (
        "what cannot be sent is made sendable",
        "Results and errors",
        "One answer that is too long, no JSON, or an error without a text makes the "
        "request fail that carries it, and each one after it.",
    ),
    (
        "registration refuses what it cannot keep",
        "The registry",
        "A tool is trusted for what it was when it was registered. What is "
        "half understood, replaced or edited later is no longer that tool.",
    ),
]
SECONDS = 10  # without a sign of life: it hangs
STARTER = '''"""A boundary to put right: it is wrong in the usual ways.

    python3 -m s02_tool_dispatch.drill THIS_FILE

`build(tools)` gets tools with a name, a description, an input_schema and a handler, and
raises to refuse one. What it returns gets the tool_use blocks of one turn (dicts) and
returns their tool_result blocks. Inside, use whatever you like; if that is async, let
`run` call asyncio.run.
"""


def build(tools):
    handlers = {tool.name: tool.handler for tool in tools}

    def run(blocks):
        results = []
        for block in blocks:
            text = str(handlers[block["name"]](**block["input"]))
            answer = {"type": "tool_result", "tool_use_id": block["id"]}
            results.append({**answer, "content": text})
        return results

    return run
'''


def drill_boundary(bench: drill.Bench) -> None:
    """Note each fault before it is sent, and what came of the first that fails."""
    for tier, name, must, fault in sorted(drill.FAULTS, key=lambda row: row[0]):
        if tier:
            bench.note(tier=tier, fault=name)
            line = drill.drill_line(bench, tier, name, must, fault)
            if wrong := what_must_come(tier, line, bench.came):
                ran = f"; handlers that ran: {line.came.ran}"
                return bench.note(came=what_came(bench) + ran, must="; ".join(wrong))
    bench.note(tier=len(TIERS) + 1)


def what_must_come(tier: int, line: drill.DrillLine, came: object) -> list[str]:
    """What did not hold. Fair to all: codes count up to tier 3, runs up to tier 2.

    Whether a result that cannot be sent is an error, and whether a tool is refused or
    renamed, is for the boundary to say.
    """
    codes = re.sub("[a-z_]{3,}", "error", line.must.codes)
    wrong = [*line.untrue]
    if tier <= 2 and line.came.ran != line.must.ran:
        wrong.insert(0, f"handlers that run: {line.must.ran}")
    if tier <= 3 and line.came.codes not in (codes, "refused"):
        wrong.insert(0, f"answers: {codes}")
    return wrong or ["an answer to each call"] * isinstance(came, BaseException)


def what_came(bench: drill.Bench) -> str:
    """The first answers, or what was raised in their place."""
    came: Any = bench.came
    if isinstance(came, BaseException):
        return f"{type(came).__name__}: {str(came)[:300]}"
    told = []
    for block in came[:3]:
        text = drill.text_in(block)
        shown = drill.spelled(block.get("content") if text is None else text)
        told.append(f"{block.get('tool_use_id')} {bench.code_in(block)}: {shown}")
    return "; ".join(told) or "no answer"


def judge(file: str, report: str) -> None:
    """The child: what a boundary does to this process is told by its parent."""

    def note(**event: object) -> None:
        with open(report, "a") as lines:
            lines.write(json.dumps(event) + "\n")

    note(tier=1, fault="the file itself", sent=f"a run of {file}")
    sys.path.append(os.path.dirname(os.path.abspath(file)))
    sys.argv = [file]
    try:
        build = runpy.run_path(file)["build"]
    except BaseException as error:  # any file may come
        came = f"{type(error).__name__}: {str(error)[:300]}"
        note(came=came, must="it defines build(tools), which returns run(blocks)")
    else:
        drill_boundary(drill.Bench(build, note))
    with contextlib.suppress(Exception):  # it may be closed
        sys.stdout.flush()
    os._exit(0)  # threads that still run are left behind


def judged(file: str, seconds: float) -> tuple[Block, str]:
    """Run the child to its end or its first silence: its notes, what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        report, screen = Path(folder, "report"), Path(folder, "screen")
        report.touch()
        command = [sys.executable, drill.__file__, "--judge", str(report), file]
        nothing = subprocess.DEVNULL
        with open(screen, "wb") as out:
            child = subprocess.Popen(
                command, stdin=nothing, stdout=out, stderr=out, start_new_session=True
            )
        try:
            ended = how_it_ended(child, report, seconds)
        finally:
            child.kill()
            with contextlib.suppress(OSError, AttributeError):  # and what it started
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        notes: Block = {"came": ended, "must": "an answer to each call"}
        for line in report.read_text().splitlines():
            notes |= json.loads(line)
            if notes["came"] != ended:
                break
        return notes, screen.read_text(errors="replace")


def how_it_ended(child: subprocess.Popen[bytes], report: Path, seconds: float) -> str:
    """Wait as long as there is something new in the report."""
    size = -1
    while report.stat().st_size != size:
        size = report.stat().st_size
        with contextlib.suppress(subprocess.TimeoutExpired):
            return f"the process ended, with status {child.wait(seconds)}"
    return f"nothing for {seconds} seconds: it hangs"


def drill_file(file: str, seconds: float = SECONDS) -> int:
    """Print the tiers that hold, and all about the first fault that is not right."""
    notes, screen = judged(file, seconds)
    reached = notes["tier"]
    for number, (holds, _, _) in enumerate(TIERS[:reached], 1):
        held = "holds" if number < reached else "does not hold"
        print(f"tier {number}: {holds:<45} {held}")
    told = {"printed": ascii(screen[:200])} if screen else {}
    if reached <= len(TIERS):
        _, heading, why = TIERS[reached - 1]
        told = {part: notes[part] for part in ("fault", "sent", "came", "must")} | told
        told |= {"why": why, "read": f'{PAGE}, "{heading}"'}
    for part, text in told.items():
        line = f"  {part:<8} {text}".encode("ascii", "backslashreplace").decode()
        print(textwrap.fill(printable(line), 88, subsequent_indent=" " * 11))
    return 0 if reached > len(TIERS) else 1


def write_starter(file: str) -> int:
    """Never over a file that is there."""
    try:
        with open(file, "x", encoding="utf-8") as starter:
            starter.write(STARTER)
    except OSError as error:
        print(f"Cannot write {file!a}: {error.strerror}.", file=sys.stderr)
        return 1
    print(f"Now put it right: python3 -m s02_tool_dispatch.drill {file}")
    return 0
