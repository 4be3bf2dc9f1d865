"""What the boundary costs, side by side with its floors, measured in one run.

    python3 tests/benchmark.py                  two or three minutes, 2 GB of disk
    python3 tests/benchmark.py --quick          ten seconds, small sizes: a smoke run
    python3 tests/benchmark.py --only dispatch  one row; may be given again
    python3 tests/benchmark.py --peers          also the frameworks of tests/peers
    ... --peers --peer-python FOLDER            each from FOLDER/DRIVER/bin/python
    ... --json FILE                             everything that was measured

A row is one kind of work. Its figures are measured in turn, again and again, so that
a busy moment of the machine hits all of them alike. A claim sets one figure against
its floor; the ratio is of the minima, because noise only ever adds. A row that misses
is measured once more. A framework is measured in a process of its own, with this
repository's dispatch beside it. For Linux and macOS.
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import itertools
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from timeit import Timer
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[0] = str(ROOT)  # run as a file: the chapters are found from the root

from s02_tool_dispatch import code as s02  # noqa: E402

CHAPTER = ROOT / "s02_tool_dispatch" / "code.py"
MB = 1_000_000
BUDGET = 3.0  # seconds that the slowest job of a row may take in one round

Jobs = dict[str, Timer]
Figures = dict[str, float]  # the least of all samples: seconds or a count
Block = dict[str, Any]


# --- 1. Measuring ---------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """`subject` costs at most so many times `floor`; without a floor, so much."""

    subject: str
    floor: str = ""
    at_most: float | None = None  # None: reported, not judged


@dataclass(frozen=True)
class Sizes:
    """How long and how large."""

    seconds: float  # of one sample of a fast job
    samples: int
    catalogues: tuple[int, ...]  # tools
    lines: int  # of the file that is read, 80 bytes each
    folders: int  # with 100 files each
    edited: int  # bytes of the file that is edited
    output: int  # bytes that a command prints


# fmt: off
FULL = Sizes(0.004, 60, (10, 100, 1_000, 5_000), 12_500_000, 1_000, 50 * MB, 200 * MB)
QUICK = Sizes(0.002, 4, (10, 100), 100_000, 20, MB, MB)
# fmt: on


@dataclass(frozen=True)
class Bench:
    """Where and how large to measure."""

    folder: Path
    size: Sizes

    @property
    def workspace(self) -> s02.Workspace:
        return s02.Workspace(self.folder)

    def time(self, jobs: Jobs, suffix: str = "") -> Figures:
        """Time the jobs in turn, and keep the best of each."""
        counts = {name: self.enough(timer) for name, timer in jobs.items()}
        slowest = max(took for _, took in counts.values())
        samples = max(2, min(self.size.samples, int(3 * BUDGET / slowest)))
        best = dict.fromkeys(jobs, float("inf"))
        for _, (name, timer) in itertools.product(range(samples), jobs.items()):
            number, _ = counts[name]
            best[name] = min(best[name], timer.timeit(number) / number)
        return {name + suffix: seconds for name, seconds in best.items()}

    def enough(self, timer: Timer) -> tuple[int, float]:
        """How many runs fill one sample, and the time of it."""
        timer.timeit(1)  # warm: imports and caches are no part of the figure
        number = 1
        while (took := timer.timeit(number)) < self.size.seconds:
            number = max(number * 2, int(number * self.size.seconds / (took + 1e-9)))
        return number, took


def statement(text: str, **names: object) -> Timer:
    """Time a statement itself, without a function call around it."""
    return Timer(text, globals=names)


def command(*words: str | Path) -> Timer:
    """Time a process from its start to its end."""
    run = partial(subprocess.run, list(map(str, words)), stdout=subprocess.DEVNULL)
    return Timer(partial(run, check=True))


# --- 2. One call ----------------------------------------------------------------------

ARGUMENTS = {"path": "notes.txt", "count": 3}
SCHEMA = s02.object_schema(
    {"path": {"type": "string"}, "count": {"type": "integer"}}, ["path", "count"]
)
CALL = s02.ToolCall("c1", "add_lines", ARGUMENTS)
FAULTS = {
    "unknown tool": s02.ToolCall("c1", "no_such_tool", ARGUMENTS),
    "invalid arguments": s02.ToolCall("c1", "add_lines", {"path": "notes.txt"}),
    "raising handler": s02.ToolCall("c1", "read_ledger", ARGUMENTS),
}


def add_lines(path: str, count: int) -> str:
    return path  # next to nothing: what is measured is the way there and back


def read_ledger(path: str, count: int) -> str:
    raise RuntimeError("the ledger is locked")


Handlers = dict[str, Callable[..., str]]
HANDLERS: Handlers = {"add_lines": add_lines, "read_ledger": read_ledger}


def registry_of(
    handlers: Handlers, trace: Callable[[s02.TraceRecord], None] | None = None
) -> s02.ToolRegistry:
    """A frozen registry of tools that all take a path and a count."""
    registry = s02.ToolRegistry(trace=trace)
    items = handlers.items()
    registry.register(*(s02.ToolSpec(n, "A tool.", SCHEMA, run) for n, run in items))
    registry.freeze()
    return registry


def naive(call: s02.ToolCall) -> str:
    """A dict of functions and one try: what most tutorials stop at."""
    try:
        return HANDLERS[call.name](**call.arguments)  # type: ignore[index, arg-type]
    except Exception as error:  # the point of this floor
        return f"Error: {error}"


def measure_dispatch(bench: Bench) -> Figures:
    plain = registry_of(HANDLERS)
    traced = registry_of(HANDLERS, deque[s02.TraceRecord](maxlen=1).append)
    return bench.time(
        {
            "bare handler": statement("f(**a)", f=add_lines, a=ARGUMENTS),
            "dispatch": statement("run(call)", run=plain.dispatch, call=CALL),
            "with a trace": statement("run(call)", run=traced.dispatch, call=CALL),
            "dispatch_many": statement("run([c])", run=plain.dispatch_many, c=CALL),
        }
    )


def measure_faults(bench: Bench) -> Figures:
    dispatch = registry_of(HANDLERS).dispatch
    jobs: Jobs = {}
    for fault, call in FAULTS.items():
        jobs[f"naive: {fault}"] = statement("run(call)", run=naive, call=call)
        jobs[fault] = statement("run(call)", run=dispatch, call=call)
    return bench.time(jobs)


# --- 3. Schemas and catalogues --------------------------------------------------------

KINDS: list[tuple[Block, object]] = [  # a property, and a value that fits
    ({"type": "string"}, "notes.txt"),
    ({"type": "integer", "minimum": 1}, 3),
    ({"type": "boolean"}, True),
    ({"type": "string", "enum": ["low", "middle", "high"]}, "high"),
]


def flat(count: int) -> tuple[Block, Block]:
    """A closed schema of so many properties, and arguments that fit."""
    kinds = dict(zip(map("p{}".format, range(count)), itertools.cycle(KINDS)))
    schema = s02.object_schema({n: kind[0] for n, kind in kinds.items()}, list(kinds))
    return schema, {name: value for name, (_, value) in kinds.items()}


def nested(count: int) -> tuple[Block, Block]:
    """A schema of a list of objects, and arguments with so many of them."""
    schema, value = flat(2)
    items = {"type": "array", "items": schema}
    return s02.object_schema({"edits": items}, ["edits"]), {"edits": [value] * count}


SHAPES = {"2 flat": flat(2), "12 flat": flat(12), "100 nested": nested(100)}


def checkers(schema: Block) -> dict[str, Callable[[object], object]]:
    """This chapter's check of a schema and those of the libraries that are here."""
    found: dict[str, Callable[[object], object]] = {}
    if importlib.util.find_spec("fastjsonschema"):
        import fastjsonschema

        found["fastjsonschema"] = fastjsonschema.compile(schema)
    if importlib.util.find_spec("jsonschema"):
        import jsonschema

        found["jsonschema"] = jsonschema.Draft202012Validator(schema).is_valid
    return {**found, "check": s02.compile_schema(schema)}


def measure_schemas(bench: Bench) -> Figures:
    figures: Figures = {}
    for shape, (schema, value) in SHAPES.items():
        jobs = {
            name: statement("run(value)", run=run, value=value)
            for name, run in checkers(schema).items()
        }
        compiling = statement("run(schema)", run=s02.compile_schema, schema=schema)
        figures |= bench.time({**jobs, "compile": compiling}, f", {shape}")
    return figures


def measure_catalogues(bench: Bench) -> Figures:
    figures: Figures = {}
    for count in bench.size.catalogues:
        registry = registry_of({f"tool_{i}": add_lines for i in range(count)})
        listed = registry.model_schemas()
        jobs = {
            "model_schemas": Timer(registry.model_schemas),
            "deepcopy": statement("run(listed)", run=copy.deepcopy, listed=listed),
            "catalog_hash": Timer(registry.catalog_hash),
        }
        figures |= bench.time(jobs, f", {count:,}")
        each = figures[f"model_schemas, {count:,}"] / count
        figures[f"per tool, {count:,}"] = each
    return figures


# --- 4. Batches -----------------------------------------------------------------------

WAIT = 0.02  # seconds
BATCHES = (4, 16, 64)


def wait(number: int) -> str:
    time.sleep(WAIT)
    return str(number)


def measure_batches(bench: Bench) -> Figures:
    schema = s02.object_schema({"number": {"type": "integer"}}, ["number"])
    registry = s02.ToolRegistry()
    registry.register(s02.ToolSpec("wait", "Waits.", schema, wait, True))
    run, figures = registry.dispatch_many, Figures()
    for count in BATCHES:
        calls = [s02.ToolCall(str(i), "wait", {"number": i}) for i in range(count)]
        rounds = -(-count // s02.MAX_WORKERS)
        waits = partial(time.sleep, WAIT * rounds)
        jobs = {"waits": Timer(waits), "batch": Timer(partial(run, calls))}
        figures |= bench.time(jobs, f", {count}")
        wrong = (r.content != str(i) for i, r in enumerate(run(calls)))
        figures[f"out of order, {count}"] = sum(wrong)
    return figures


# --- 5. Files and processes -----------------------------------------------------------


def measure_reading(bench: Bench) -> Figures:
    block = "".join(f"{number:>9}{'x' * 70}\n" for number in range(10_000)).encode()
    path, lines = bench.folder / "big.txt", bench.size.lines
    with path.open("wb") as file:
        file.writelines(itertools.repeat(block, lines // 10_000))
    read = partial(bench.workspace.read_file, path.name)
    ends = {
        "sed -n": command("sed", "-n", f"{lines - 49},{lines}p", path),
        "read_file, last 50": Timer(partial(read, lines - 49, 50)),
    }
    heads = {
        "head -n 50": command("head", "-n", "50", path),
        "read_file, first 50": Timer(partial(read, 1, 50)),
    }
    return {**bench.time(heads), **bench.time(ends)}


def measure_glob(bench: Bench) -> Figures:
    for number in range(bench.size.folders):
        folder = bench.folder / f"part{number % 30}" / f"folder{number}"
        folder.mkdir(parents=True)
        for index in range(100):
            (folder / f"file{index}.{'py' if index % 2 else 'txt'}").touch()
    jobs = {
        "find": command("find", bench.folder, "-name", "*.py", "-type", "f"),
        "pathlib": Timer(lambda: list(bench.folder.glob("**/*.py"))),
        "glob": Timer(partial(bench.workspace.glob, "**/*.py")),
    }
    return bench.time(jobs)


def measure_editing(bench: Bench) -> Figures:
    body = (b"x" * 79 + b"\n") * (bench.size.edited // 160)
    for name in ("plain.txt", "edited.txt"):
        (bench.folder / name).write_bytes(body + b"old\n" + body)
    plain = bench.folder / "plain.txt"
    swaps = itertools.cycle([(b"old\n", b"new\n"), (b"new\n", b"old\n")])
    edits = itertools.cycle([("old\n", "new\n"), ("new\n", "old\n")])
    edit = bench.workspace.edit_file

    def replace() -> None:
        plain.write_bytes(plain.read_bytes().replace(*next(swaps)))

    ours = Timer(lambda: edit("edited.txt", *next(edits)))
    return bench.time({"read, replace, write": Timer(replace), "edit_file": ours})


def measure_bash(bench: Bench) -> Figures:
    figures = Figures()
    for line in ("true", "sleep 0.03"):
        ours = Timer(partial(bench.workspace.bash, line))
        floor = command("bash", "-c", line)
        figures |= bench.time({f"bash -c '{line}'": floor, f"bash {line}": ours})
    return figures


def measure_output(bench: Bench) -> Figures:
    block = (b"x" * 99 + b"\n") * 1_000
    with open(bench.folder / "output.txt", "wb") as file:
        file.writelines(itertools.repeat(block, bench.size.output // len(block)))

    def cat() -> None:
        with tempfile.TemporaryFile(dir=bench.folder) as file:
            subprocess.run(["cat", "output.txt"], cwd=bench.folder, stdout=file)

    ours = Timer(partial(bench.workspace.bash, "cat output.txt"))
    return bench.time({"cat to a file": Timer(cat), "bash cat": ours})


def measure_start(bench: Bench) -> Figures:
    jobs = {"empty interpreter": command(sys.executable, "-c", "pass")}
    if importlib.util.find_spec("anthropic"):
        jobs["import anthropic"] = command(sys.executable, "-c", "import anthropic")
    for option in ("--help", "--demo"):
        jobs[option] = command(sys.executable, CHAPTER, option)
    return bench.time(jobs)


# --- 6. Peers -------------------------------------------------------------------------

PEERS = {  # driver: distribution
    "anthropic_runner": "anthropic",
    "smolagents_tools": "smolagents",
    "mcp_server": "mcp",
    "openai_agents": "openai-agents",
    "pydantic_ai_tools": "pydantic-ai-slim",
    "langgraph_toolnode": "langgraph",
    "strands_tools": "strands-agents",
    "adk_tools": "google-adk",
}
PEER_KINDS = ("call", "unknown", "invalid", "raising")
PEER_CLAIMS = [Claim(f"dispatch: {kind}", f"peer: {kind}", 1) for kind in PEER_KINDS]
RUNNER_CLAIMS = [Claim("dispatch: call", "peer: call", 1 / 6), *PEER_CLAIMS[1:]]
IN_ITS_INTERPRETER = """
import sys
from tests import benchmark
benchmark.write_peer(*sys.argv[1:])
"""


def peer_version(python: str, distribution: str) -> str:
    """The version that an interpreter has of a distribution; empty for none."""
    ask = f"import importlib.metadata as m; print(m.version({distribution!r}))"
    asked = subprocess.run([python, "-c", ask], capture_output=True, text=True)
    return "" if asked.returncode else asked.stdout.strip()


def measure_peer(bench: Bench, driver: str, python: str) -> Figures:
    """Dispatch beside one framework, both in one process of one interpreter."""
    file, size = bench.folder / "figures.json", json.dumps(asdict(bench.size))
    words = [python, "-c", IN_ITS_INTERPRETER, driver, size, str(file)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        print(f"\n{driver} could not be measured: {done.stderr.strip()[-200:]}")
        return {}
    figures: Figures = json.loads(file.read_text())
    return figures


def write_peer(driver: str, size: str, file: str) -> None:
    """In the framework's own interpreter: measure both and write the figures."""
    report: Any = importlib.import_module("tests.peers.report")
    report.quiet()
    module: Any = importlib.import_module(f"tests.peers.{driver}")
    asked = (report.GOOD, report.UNKNOWN, report.MISSING, report.RAISING)
    registry = registry_of({run.__name__: run for run in report.make_tools([])})
    jobs: Jobs = {}
    for kind, one in zip(PEER_KINDS, asked, strict=True):
        if make := getattr(module, f"make_{kind}", None):
            call = s02.ToolCall(one.id, one.name, one.arguments)
            ours = statement("run(call)", run=registry.dispatch, call=call)
            jobs |= {f"peer: {kind}": statement("run()", run=make())}
            jobs |= {f"dispatch: {kind}": ours}
    figures = Bench(Path(file).parent, Sizes(**json.loads(size))).time(jobs)
    Path(file).write_text(json.dumps(figures))


# --- 7. The table of rows -------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One kind of work, how it is measured and what must hold."""

    name: str
    work: str
    measure: Callable[[Bench], Figures]
    claims: Sequence[Claim]


def for_each(names: Sequence[object], *claims: Claim) -> list[Claim]:
    """Claims whose {} stands for each of some names."""
    return [
        Claim(c.subject.format(name), c.floor.format(name), c.at_most)
        for name in names
        for c in claims
    ]


# fmt: off
ROWS = [
    Row("dispatch", "a good call, two arguments", measure_dispatch, [
        Claim("dispatch", "bare handler", 25),
        Claim("with a trace", "bare handler", 45),
        Claim("dispatch_many", "dispatch", 1.4),
    ]),
    Row("faults", "a call that is refused", measure_faults, [
        Claim("unknown tool", "naive: unknown tool", 15),
        Claim("invalid arguments", "naive: invalid arguments", 40),
        Claim("raising handler", "naive: raising handler", 15),
    ]),
    Row("schemas", "checking valid arguments", measure_schemas, for_each(
        list(SHAPES),
        Claim("check, {}", "fastjsonschema, {}", 4),
        Claim("check, {}", "jsonschema, {}", 1 / 8),
        Claim("compile, {}", at_most=200e-6),
    )),
    Row("catalogues", "listing tools", measure_catalogues, for_each(
        [f"{count:,}" for count in FULL.catalogues],
        Claim("model_schemas, {}", "deepcopy, {}", 1 / 4),
        Claim("catalog_hash, {}", "catalog_hash, 10", 2),
        Claim("per tool, {}", "per tool, 100", 2),
    )),
    Row("batches", "calls that wait 20 ms", measure_batches, for_each(
        BATCHES,
        Claim("batch, {}", "waits, {}", 1.3),
        Claim("out of order, {}", at_most=0),
    )),
    Row("reading", "50 lines of 1 GB", measure_reading, [
        Claim("read_file, first 50", "head -n 50"),
        Claim("read_file, first 50", at_most=0.02),
        Claim("read_file, last 50", "sed -n"),
    ]),
    Row("glob", "**/*.py in 100,000 files", measure_glob, [
        Claim("glob", "pathlib", 1.2),
        Claim("glob", "find", 5),
    ]),
    Row("editing", "one place in 50 MB", measure_editing, [
        Claim("edit_file", "read, replace, write", 2),
    ]),
    Row("bash", "short commands", measure_bash, [
        Claim("bash true", "bash -c 'true'", 3),
        Claim("bash sleep 0.03", "bash -c 'sleep 0.03'", 1.5),
    ]),
    Row("output", "200 MB of output", measure_output, [
        Claim("bash cat", "cat to a file", 2),
    ]),
    Row("start", "starting the program", measure_start, [
        Claim("--help", "empty interpreter", 8),
        Claim("--demo", "empty interpreter"),
        Claim("--demo", "import anthropic", 1 / 6),
    ]),
]
# fmt: on


# --- 8. Judging and showing -----------------------------------------------------------


def quantity(subject: str, value: float) -> str:
    """A value in words: `2.75 us`, `0`."""
    if subject.startswith("out of order"):
        return f"{value:g}"
    sizes = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
    name, size = next((s for s in sizes if value >= s[1]), sizes[-1])
    return f"{value / size:.3g} {name}"


def times(ratio: float) -> str:
    """`18.2 x`, or `1/31 x` for what is faster than its floor."""
    return f"{ratio:.3g} x" if ratio >= 0.995 else f"1/{1 / ratio:.3g} x"


def judged(claim: Claim, figures: Figures) -> dict[str, Any]:
    """A claim with what was measured, in numbers and words; {} if nothing was."""
    subject, floor = figures.get(claim.subject), figures.get(claim.floor)
    if subject is None or claim.subject == claim.floor or (claim.floor and not floor):
        return {}
    spelled = times if claim.floor else partial(quantity, claim.subject)
    measured = subject / floor if floor else subject
    bound = verdict = ""
    if claim.at_most is not None:
        bound = f"<= {spelled(claim.at_most)}"
        verdict = "ok" if measured <= claim.at_most else "MISSED"
    shown = f"{spelled(measured)} {claim.floor}".rstrip()
    words = {"shown": shown, "bound": bound, "verdict": verdict}
    return {**asdict(claim), "measured": measured, **words}


def run_row(row: Row, size: Sizes) -> dict[str, Any]:
    """Measure one row, once more if it misses, show it, and return its document."""
    figures: Figures = {}
    for _ in range(2 if size is FULL else 1):
        with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
            again = row.measure(Bench(Path(folder).resolve(), size))
        figures = {n: min(again[n], figures.get(n, again[n])) for n in again}
        claims = [found for claim in row.claims if (found := judged(claim, figures))]
        if all(claim["verdict"] != "MISSED" for claim in claims):
            break
    print(f"\n{row.name}: {row.work}")
    for name, value in figures.items():
        print(f"  {name:<27} {quantity(name, value)}")
    for one in claims:
        told = f"  {one['subject']:<27} {one['shown']:<35} {one['bound']:<12}"
        print(f"{told} {one['verdict']}".rstrip(), flush=True)
    return {"row": row.name, "work": row.work, "figures": figures, "claims": claims}


# --- 9. Running it --------------------------------------------------------------------


def surroundings() -> dict[str, Any]:
    """What the figures depend on and a reader cannot see."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = (line.partition(":")[2] for line in lines if line.startswith("model name"))
    packages = ("anthropic", "fastjsonschema", "jsonschema")
    versions = {name: peer_version(sys.executable, name) for name in packages}
    return {
        "date": time.strftime("%Y-%m-%d"),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.platform(),
        "processor": next(models, platform.machine()).strip(),
        "cpus": os.cpu_count(),
        **{name: found or "not installed" for name, found in versions.items()},
    }


def parse_options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = [*(row.name for row in ROWS), *PEERS]
    parser.add_argument("--quick", action="store_true", help="small sizes, 10 seconds")
    parser.add_argument("--only", action="append", choices=names, metavar="NAME")
    parser.add_argument("--peers", action="store_true", help="measure frameworks too")
    parser.add_argument("--peer-python", metavar="FOLDER", help="of environments")
    parser.add_argument("--json", metavar="FILE", help="write everything measured")
    parser.add_argument("--strict", action="store_true", help="status 1 for a MISSED")
    return parser.parse_args(argv)


def peer_rows(options: argparse.Namespace) -> Iterator[Row]:
    """A row for each framework that is there; says which are not."""
    for driver, distribution in PEERS.items():
        own = Path(options.peer_python or "", driver, "bin", "python").absolute()
        python = str(own) if options.peer_python and own.exists() else sys.executable
        version = peer_version(python, distribution)
        if not version:
            needs = f"pip install -r tests/peers/requirements/{driver}.txt"
            print(f"{distribution} is not installed: {needs}")
            continue
        measure = partial(measure_peer, driver=driver, python=python)
        claims = RUNNER_CLAIMS if driver == "anthropic_runner" else PEER_CLAIMS
        yield Row(driver, f"{distribution} {version}", measure, claims)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, show, perhaps write; status 1 only with --strict and a MISSED."""
    options = parse_options(argv)
    document = surroundings()
    print("\n".join(f"{name}: {value}" for name, value in document.items()))
    only = options.only or []
    peers = options.peers or options.peer_python or PEERS.keys() & set(only)
    rows = [*ROWS, *(peer_rows(options) if peers else ())]
    chosen = [row for row in rows if not only or row.name in only]
    if options.quick:
        print("Small sizes: these figures say that the benchmark runs, no more.")
    size = QUICK if options.quick else FULL
    document["rows"] = [run_row(row, size) for row in chosen]
    if options.json:
        Path(options.json).write_text(json.dumps(document, indent=2) + "\n")
    words = [claim["verdict"] for row in document["rows"] for claim in row["claims"]]
    print(f"\n{words.count('ok')} hold, {words.count('MISSED')} missed.")
    return 1 if options.strict and "MISSED" in words else 0


if __name__ == "__main__":
    sys.exit(main())
