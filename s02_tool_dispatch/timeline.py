"""Draw a trace file in the terminal: a lane for each call, all on one time axis.

    python3 s02_tool_dispatch/code.py --demo --trace trace.jsonl
    python3 -m s02_tool_dispatch.timeline trace.jsonl [--details] [--width N]
    python3 -m s02_tool_dispatch.timeline trace.jsonl --chrome out.json

A bar of # ran side by side with another call, a bar of = ran alone. A long time without
a call is cut out of the axis and named between the lanes. Lines that are no trace
records, such as a last line that was cut, are counted and left out.
With --chrome the same calls are written as Chrome Trace Events, for ui.perfetto.dev.
Why calls failed is in it only with --details: it can hold secrets.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":  # as a file: the chapters are found beside its folder
    HERE = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [os.path.dirname(HERE), *(p for p in sys.path if p != HERE)]

import argparse
import io
import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from s02_tool_dispatch.code import TraceRecord

WIDTHS = range(50, 1001)  # columns
SAME_TIME = 1e-6  # seconds; calls that only touch do not overlap
LONGEST = 1e10  # seconds, three centuries; a number beyond is no time
FIELDS: dict[str, tuple[type, ...]] = {  # of a record: the JSON types
    **dict.fromkeys(("tool_use_id", "name", "outcome", "detail"), (str,)),
    **dict.fromkeys(("started", "seconds"), (int, float)),
    "chars": (int,),
}

Records = Sequence[TraceRecord]  # sorted by start


# --- Reading ---


def read_trace(lines: Iterable[bytes]) -> tuple[Any, list[TraceRecord], list[int]]:
    """The header or None, the records by start, and the numbers of the other lines."""
    header: Any = None
    records, foreign = [], []
    for number, line in enumerate(lines, 1):
        value = json_object(line)
        if is_record(value):
            records.append(TraceRecord(**{name: value[name] for name in FIELDS}))
        elif number == 1 and "catalog_hash" in value:
            header = value
        elif line.strip():
            foreign.append(number)
    return header, sorted(records, key=lambda record: record.started), foreign


def json_object(line: bytes) -> dict[str, Any]:
    """The object on a line; an empty one if there is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def is_record(value: dict[str, Any]) -> bool:
    """Whether every field is there and can be meant; NaN is not less than anything."""
    if any(type(value.get(name)) not in types for name, types in FIELDS.items()):
        return False
    started, seconds = value["started"], value["seconds"]
    return bool(abs(started) < LONGEST and 0 <= seconds < LONGEST)


# --- The time axis ---


def busy_until(records: Records) -> list[float]:
    """For each call, when it and all that began before it have ended."""
    return list(accumulate((r.started + r.seconds for r in records), max))


def long_gaps(records: Records) -> list[float]:
    """The seconds to cut out before each call, mostly 0.

    The longest go, until those that stay take no more of the axis than the calls.
    """
    until = busy_until(records)
    pairs = zip(records[1:], until, strict=False)
    idle = [max(0.0, record.started - end) for record, end in pairs]
    busy = until[-1] - records[0].started - sum(idle)
    shortest_first = sorted(idle)
    sums = zip(shortest_first, accumulate(shortest_first), strict=True)
    long = min((gap for gap, so_far in sums if so_far > busy), default=LONGEST)
    return [0.0, *(gap if gap >= long else 0.0 for gap in idle)]


def overlapping(records: Records) -> list[bool]:
    """Whether another call ran at the same time."""
    begin = [record.started + SAME_TIME for record in records[1:]]
    late = [end > b for end, b in zip(busy_until(records), begin, strict=False)]
    ends = [record.started + record.seconds for record in records]
    long = [end > b for end, b in zip(ends, begin, strict=False)]
    return [a or b for a, b in zip([False, *late], [*long, False], strict=True)]


# --- Drawing ---


def duration(seconds: float) -> str:
    """`12.3 ms`, `4.50 s`, `3 min 20 s`, `2 h 5 min`: at most 11 characters."""
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"
    minutes, rest = divmod(round(seconds), 60)
    hours, over = divmod(minutes, 60)
    if hours:
        return f"{hours} h {over} min" if hours < 100 else f"{hours} h"
    return f"{minutes} min {rest} s"


def harmless(text: object) -> str:
    """Text that cannot drive a terminal: control characters become visible."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text))


def label(text: str, columns: int) -> str:
    """A name in ASCII, so that columns stay aligned; cut where it is too long."""
    name = ascii(text)[1:-1] or "(no name)"
    return name if len(name) <= columns else f"{name[: columns - 3]}..."


def drawn(records: Records, width: int, details: bool) -> Iterator[str]:
    """The axis, and a line for each call; the long gaps stand between them."""
    names = [label(record.name, width // 4) for record in records]
    outcomes = [label(record.outcome, width // 4) for record in records]
    indent = max(map(len, names))
    columns = width - indent - max(map(len, outcomes)) - 16
    cuts = long_gaps(records)
    shifts = [records[0].started + so_far for so_far in accumulate(cuts)]
    starts = [r.started - shift for r, shift in zip(records, shifts, strict=True)]
    whole = max(start + r.seconds for start, r in zip(starts, records, strict=True))
    marks = ["#" if overlaps else "=" for overlaps in overlapping(records)]
    yield f"{'':{indent}} 0{duration(whole):>{columns + 1}}"
    for i, record in enumerate(records):
        if cuts[i]:
            yield f"{'':{indent}} ~ {duration(cuts[i])} without a call"
        start, length = (t / whole if whole else 0 for t in (starts[i], record.seconds))
        bar = bar_text(start * columns, length * columns, marks[i], columns)
        took = f"{duration(record.seconds):>11}"
        yield f"{names[i]:{indent}} |{bar}| {took} {outcomes[i]}"
        if details and record.outcome != "ok" and record.detail.strip():
            last = record.detail.strip().splitlines()[-1]
            yield f"{'':{indent}}   {harmless(last)}"[:width]


def bar_text(start: float, length: float, mark: str, columns: int) -> str:
    """A bar, at least one column long."""
    start += 1e-6  # where two calls touch, both round to the same column
    first = max(0, min(round(start), columns - 1))
    after = min(max(first + 1, round(start + length)), columns)
    return f"{' ' * first}{mark * (after - first)}".ljust(columns)


def report(
    header: Any, records: Records, foreign: list[int], width: int, details: bool
) -> Iterator[str]:
    """Everything that is printed about a trace."""
    failed = sum(record.outcome != "ok" for record in records)
    about = f"{len(records)} call{'s' * (len(records) != 1)}, {failed} failed"
    if header:
        python, catalogue = map(header.get, ("python", "catalog_hash"))
        about += (
            f", Python {harmless(python)[:9]}, catalogue {harmless(catalogue)[:16]}"
        )
    yield about
    if records:
        yield from drawn(records, width, details)
        yield "# side by side with another call, = alone"
    if foreign:
        some = ", ".join([*map(str, foreign[:5]), "..."][: len(foreign)])
        were = "s were no trace records" if foreign[1:] else " was no trace record"
        yield f"{len(foreign)} line{were}: number {some}"


# --- The same for a viewer ---


def chrome_trace(records: Records, details: bool) -> dict[str, Any]:
    """Chrome Trace Events: complete ones (X) in microseconds, a thread for each lane.

    Viewers drop events that overlap on one thread, so a call goes to the first lane
    that is free when it starts: calls of one batch lie below each other.
    """
    events: list[dict[str, Any]] = []
    free_from: list[float] = []  # of each lane
    for record in records:
        start = round((record.started - records[0].started) * 1e6, 3)
        took = round(record.seconds * 1e6, 3)
        free = (n for n, end in enumerate(free_from) if end <= start)
        lane = next(free, len(free_from))
        free_from[lane : lane + 1] = [start + took]
        about = {"tool_use_id": record.tool_use_id, "chars": record.chars}
        about |= {"detail": record.detail} if details else {}
        category = record.outcome.replace(",", "_")  # a comma would make two of it
        event = {"name": record.name, "cat": category, "ph": "X", "args": about}
        times = {"ts": start, "dur": took, "pid": 1, "tid": lane + 1}
        events.append({**event, **times})
    names = [(1, "process_name", "tool calls")]
    names += [(n, "thread_name", f"lane {n}") for n in range(1, len(free_from) + 1)]
    for lane, kind, name in names:
        ids = {"ph": "M", "ts": 0, "pid": 1, "tid": lane}
        events.append({"name": kind, **ids, "args": {"name": name}})
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def write_chrome(options: Any, records: Records) -> int:
    """Write the events to a new file that is the user's alone, as the trace is."""
    name = options.chrome
    try:
        if os.path.isfile(name) and not os.path.samefile(name, options.file):
            os.unlink(name)
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="ascii") as out:
            json.dump(chrome_trace(records, options.details), out)
    except OSError as error:
        print(f"Cannot write {harmless(name)}: {error.strerror}.", file=sys.stderr)
        return 1
    print(f"{len(records)} calls in {harmless(name)}: open it at ui.perfetto.dev.")
    return 0


# --- Running it ---


def parse_options(argv: Sequence[str] | None) -> Any:
    """Read the command line; a mistake in it ends the program with status 2."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("file", metavar="FILE", help="what --trace FILE wrote")
    parser.add_argument("--details", action="store_true", help="why calls failed")
    parser.add_argument("--chrome", metavar="OUT.json", help="write trace events")
    parser.add_argument("--width", type=int, metavar="N", help="default: the terminal")
    options = parser.parse_args(argv)
    if options.width is None:
        columns = shutil.get_terminal_size().columns
        options.width = min(max(columns, WIDTHS[0]), WIDTHS[-1])
    if options.width not in WIDTHS:
        parser.error(f"--width must be {WIDTHS[0]} to {WIDTHS[-1]}")
    return options


def draw_file(options: Any) -> int:
    """Print the timeline of a file; 1, with one sentence, if it holds no trace."""
    name = harmless(options.file)
    try:
        with open(options.file, "rb") as lines:
            header, records, foreign = read_trace(lines)
    except OSError as error:
        print(f"Cannot read {name}: {error.strerror}.", file=sys.stderr)
        return 1
    if not header and not records:
        print(f"{name} holds no trace record.", file=sys.stderr)
        return 1
    if options.chrome is not None:
        return write_chrome(options, records)
    for line in report(header, records, foreign, options.width, options.details):
        print(line)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status: 0, or 1 when there is nothing to draw."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    options = parse_options(argv)
    try:
        status = draw_file(options)
        print(end="", flush=True)
        return status
    except OSError as error:  # the screen is gone: a closed pipe, a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(error, BrokenPipeError):
            print(f"Cannot go on: {error.strerror}.", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
