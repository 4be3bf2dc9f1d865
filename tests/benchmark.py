"""What the boundary costs, side by side with its floors, measured in one run.

    python3 tests/benchmark.py                  two or three minutes, 2 GB of disk
    python3 tests/benchmark.py --quick          ten seconds, small sizes: a smoke run
    python3 tests/benchmark.py --only dispatch  one row; may be given again
    python3 tests/benchmark.py --peers          also the frameworks of tests/peers
    ... --peers --peer-python FOLDER            each from FOLDER/DRIVER/bin/python
    ... --json FILE --markdown FILE             everything; the claims as a table

A row is one kind of work. Its figures are measured in turn, again and again, so that
a busy moment of the machine hits all of them alike. A claim sets one figure against
its floor; the ratio is of the minima, because noise only ever adds. A row that misses
is measured once more. A figure whose rounds disagree by more than a fifth is named in
a warning. A framework is measured in a process of its own, with this repository's
dispatch beside it. For Linux and macOS.
"""

from __future__ import annotations

import argparse
import copy
import importlib.metadata
import importlib.util
import itertools
import json
import os
import platform
import statistics
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
from tests.api_rules import StrictProvider  # noqa: E402

CHAPTER = ROOT / "s02_tool_dispatch" / "code.py"
PACKAGES = ("anthropic", "fastjsonschema", "jsonschema")  # asked for their versions
DISAGREE = 0.2  # spread of a figure's rounds that is worth a warning
BUDGET = 3.0  # seconds that the slowest job of a row may take in one round


# --- 1. Words -------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """One measured thing: the median of each round, and the least of all samples."""

    unit: str  # "s", "bytes" or "count"
    medians: list[float]
    minimum: float

    @property
    def median(self) -> float:
        return statistics.median(self.medians)

    @property
    def spread(self) -> float:
        """By how much the rounds disagree: 0.2 is a fifth."""
        return max(self.medians) / min(self.medians) - 1 if min(self.medians) else 0.0


Figures = dict[str, Figure]
Jobs = dict[str, Timer]
Block = dict[str, Any]
Trace = Callable[[s02.TraceRecord], None]


@dataclass(frozen=True)
class Claim:
    """`subject` costs at most so many times `floor`; without a floor, so much."""

    subject: str
    floor: str = ""
    at_most: float | None = None  # None: reported, not judged


@dataclass(frozen=True)
class Row:
    """One kind of work, how it is measured and what must hold."""

    name: str
    work: str
    measure: Callable[[Bench], Figures]
    claims: Sequence[Claim]


@dataclass(frozen=True)
class Sizes:
    """How long and how large."""

    seconds: float  # of one sample of a fast job
    samples: int  # in a round
    rounds: int
    catalogues: tuple[int, ...]  # tools
    turns: int
    lines: int  # of the file that is read, 80 bytes each
    folders: int  # with 100 files each
    edited: int  # bytes of the file that is edited
    output: int  # bytes that a command prints


FULL = Sizes(
    seconds=0.004,
    samples=20,
    rounds=3,
    catalogues=(10, 100, 1_000, 5_000),
    turns=1_000,
    lines=12_500_000,
    folders=1_000,
    edited=50_000_000,
    output=200_000_000,
)
QUICK = Sizes(
    seconds=0.002,
    samples=2,
    rounds=2,
    catalogues=(10, 100),
    turns=200,
    lines=100_000,
    folders=20,
    edited=1_000_000,
    output=1_000_000,
)


# --- 2. Measuring ---------------------------------------------------------------------


@dataclass(frozen=True)
class Bench:
    """Where and how large to measure."""

    folder: Path
    size: Sizes

    def time(self, jobs: Jobs) -> Figures:
        """Time the jobs in turn: every round has some samples of each of them."""
        counts, tries = {}, []
        for name, timer in jobs.items():
            counts[name], took = self.enough(timer)
            tries.append(took)
        samples = max(1, min(self.size.samples, int(BUDGET / max(tries))))
        rounds: dict[str, list[list[float]]] = {name: [] for name in jobs}
        for _ in range(self.size.rounds):
            for name in jobs:
                rounds[name].append([])
            for _, (name, timer) in itertools.product(range(samples), jobs.items()):
                rounds[name][-1].append(timer.timeit(counts[name]) / counts[name])
        return {name: figure("s", samples) for name, samples in rounds.items()}

    def enough(self, timer: Timer) -> tuple[int, float]:
        """How many runs fill one sample, and the time of it."""
        timer.timeit(1)  # warm: imports and caches are no part of the figure
        number = 1
        while (took := timer.timeit(number)) < self.size.seconds:
            number = max(number * 2, int(number * self.size.seconds / (took + 1e-9)))
        return number, took

    def workspace(self) -> s02.Workspace:
        """The tools, in the folder of this run."""
        return s02.Workspace(self.folder)


def figure(unit: str, rounds: Sequence[Sequence[float]]) -> Figure:
    """Sum up the samples of some rounds."""
    medians = [statistics.median(samples) for samples in rounds]
    return Figure(unit, medians, min(map(min, rounds)))


def statement(text: str, **names: object) -> Timer:
    """Time a statement itself, without a function call around it."""
    return Timer(text, globals=names)


def command(*words: str | Path, **options: Any) -> Timer:
    """Time a process from its start to its end."""
    options = {"stdout": subprocess.DEVNULL, "check": True, **options}
    return Timer(partial(subprocess.run, list(map(str, words)), **options))


def installed(package: str) -> bool:
    """Whether this interpreter could import a package."""
    return importlib.util.find_spec(package) is not None


MEMORY = """
import resource, sys
from s02_tool_dispatch import code as s02

def peak():
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

workspace = s02.Workspace(sys.argv[1])
workspace.bash("true")  # imports what it needs
before = peak()
eval(sys.argv[2])
print(peak() - before)
"""


def extra_memory(bench: Bench, work: str) -> Figures:
    """Peak memory that an expression with `workspace` adds to a process of its own.

    A shell stands between, because a new program begins with its parent's peak.
    """
    words = [sys.executable, "-c", MEMORY, str(bench.folder), work]
    hop = ["sh", "-c", '"$@"; exit $?', "sh", *words]
    done = subprocess.run(hop, cwd=ROOT, capture_output=True, text=True)
    if failed(done):
        return {}
    extra = float(done.stdout)
    return {"extra memory": Figure("bytes", [extra], extra)}


def failed(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether a process came to nothing; says so, in its own last words."""
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        print(f"\nA process could not measure: {last}")
    return done.returncode != 0


def renamed(figures: Figures, suffix: str) -> Figures:
    """The same figures under longer names."""
    return {name + suffix: value for name, value in figures.items()}


# --- 3. One call ----------------------------------------------------------------------

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


HANDLERS: dict[str, Callable[..., str]] = {
    "add_lines": add_lines,
    "read_ledger": read_ledger,
}


def registry_of(
    handlers: dict[str, Callable[..., str]], trace: Trace | None = None
) -> s02.ToolRegistry:
    """A frozen registry of tools that all take a path and a count."""
    registry = s02.ToolRegistry(trace=trace)
    specs = [
        s02.ToolSpec(name, "A tool.", SCHEMA, run) for name, run in handlers.items()
    ]
    registry.register(*specs)
    registry.freeze()
    return registry


def checked_by_hand(call: s02.ToolCall) -> tuple[bool, str]:
    """The least that a checked call of this one tool can be."""
    arguments = call.arguments
    if call.name != "add_lines":
        return False, "there is no such tool"
    if not isinstance(arguments, dict):
        return False, "arguments must be an object"
    for name in arguments:
        if name not in ("path", "count"):
            return False, f"{name} is unexpected"
    for name, kind in (("path", str), ("count", int)):
        if type(arguments.get(name)) is not kind:
            return False, f"{name} is missing or wrong"
    return True, add_lines(**arguments)


def naive(call: s02.ToolCall) -> str:
    """A dict of functions and one try: what most tutorials stop at."""
    try:
        return HANDLERS[call.name](**call.arguments)  # type: ignore[index, arg-type]
    except Exception as error:  # the point of this floor
        return f"Error: {error}"


def measure_dispatch(bench: Bench) -> Figures:
    plain = registry_of(HANDLERS)
    traced = registry_of(HANDLERS, deque[s02.TraceRecord](maxlen=1).append)
    bare = statement("run(**arguments)", run=add_lines, arguments=ARGUMENTS)
    return bench.time(
        {
            "bare handler": bare,
            "checks by hand": statement("run(call)", run=checked_by_hand, call=CALL),
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


# --- 4. Schemas and catalogues --------------------------------------------------------

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
    if installed("fastjsonschema"):
        import fastjsonschema

        found["fastjsonschema"] = fastjsonschema.compile(schema)
    if installed("jsonschema"):
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
        figures |= renamed(bench.time({**jobs, "compile": compiling}), f", {shape}")
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
        timed = bench.time(jobs)
        timed["per tool"] = divided(timed["model_schemas"], count)
        figures |= renamed(timed, f", {count:,}")
    return figures


def divided(whole: Figure, by: float) -> Figure:
    return Figure(whole.unit, [m / by for m in whole.medians], whole.minimum / by)


CATALOGUE_CLAIMS = [
    claim
    for count in FULL.catalogues
    for claim in (
        Claim(f"model_schemas, {count:,}", f"deepcopy, {count:,}", 1 / 4),
        Claim(f"catalog_hash, {count:,}", "catalog_hash, 10", 2),
        Claim(f"per tool, {count:,}", "per tool, 100", 2),
    )
]


# --- 5. Batches and conversations -----------------------------------------------------

WAIT = 0.02  # seconds
BATCHES = (4, 16, 64)


def measure_batches(bench: Bench) -> Figures:
    def wait(number: int) -> str:
        time.sleep(WAIT)
        return str(number)

    schema = s02.object_schema({"number": {"type": "integer"}}, ["number"])
    registry = s02.ToolRegistry()
    registry.register(s02.ToolSpec("wait", "Waits.", schema, wait, True))
    figures: Figures = {}
    for count in BATCHES:
        calls = [s02.ToolCall(str(i), "wait", {"number": i}) for i in range(count)]
        waits = [WAIT] * -(-count // s02.MAX_WORKERS)
        jobs = {
            "waits": statement(
                "for s in waits: sleep(s)", waits=waits, sleep=time.sleep
            ),
            "batch": statement("run(calls)", run=registry.dispatch_many, calls=calls),
        }
        figures |= renamed(bench.time(jobs), f", {count}")
        contents = [result.content for result in registry.dispatch_many(calls)]
        wrong = float(sum(text != str(i) for i, text in enumerate(contents)))
        figures[f"out of order, {count}"] = Figure("count", [wrong], wrong)
    return figures


class Stamped:
    """A provider that notes when each request comes."""

    def __init__(self, provider: Any) -> None:
        self.provider = provider
        self.stamps: list[float] = []

    def create(self, messages: list[Block], tools: list[Block]) -> object:
        self.stamps.append(time.perf_counter())
        return self.provider.create(messages, tools)


def script(turns: int) -> Iterator[Block]:
    """Replies with one call each, then an answer."""
    for turn in range(turns):
        use = {"type": "tool_use", "id": f"c{turn}", "name": CALL.name}
        yield {"stop_reason": "tool_use", "content": [{**use, "input": ARGUMENTS}]}
    yield {"stop_reason": "end_turn", "content": "done"}


def conversation(turns: int) -> list[float]:
    """When each request of a conversation came."""
    provider = Stamped(StrictProvider(s02.ScriptedProvider(script(turns))))
    messages: list[Block] = [{"role": "user", "content": "go"}]
    s02.agent_loop(messages, provider, registry_of(HANDLERS), turns + 1)
    return provider.stamps


def measure_conversation(bench: Bench) -> Figures:
    conversation(bench.size.turns // 10)
    talks = [conversation(bench.size.turns) for _ in range(2 * bench.size.rounds)]
    part = bench.size.turns // 10
    firsts = [[(stamps[part] - stamps[0]) / part] for stamps in talks]
    lasts = [[(stamps[-1] - stamps[-1 - part]) / part] for stamps in talks]
    return {
        "turn of the first 10%": figure("s", firsts),
        "turn of the last 10%": figure("s", lasts),
    }


# --- 6. File tools --------------------------------------------------------------------


def big_file(bench: Bench) -> str:
    """A file of lines of 80 bytes; its name."""
    name, lines = "big.txt", bench.size.lines
    block = "".join(f"{number:>9}{'x' * 70}\n" for number in range(10_000)).encode()
    with open(bench.folder / name, "wb") as file:
        for _ in range(lines // 10_000):
            file.write(block)
    return name


def measure_reading(bench: Bench) -> Figures:
    workspace, name, lines = bench.workspace(), big_file(bench), bench.size.lines
    head = partial(workspace.read_file, name, 1, 50)
    end = partial(workspace.read_file, name, lines - 49, 50)
    sed = f"{lines - 49},{lines}p"
    return {
        **bench.time(
            {
                "head -n 50": command("head", "-n", "50", bench.folder / name),
                "read_file, first 50": Timer(head),
            }
        ),
        **bench.time(
            {
                "sed -n": command("sed", "-n", sed, bench.folder / name),
                "read_file, last 50": Timer(end),
            }
        ),
        **extra_memory(bench, f"workspace.read_file({name!r}, {lines - 49}, 50)"),
    }


def many_files(bench: Bench) -> None:
    """100 files in each of some folders at depth two; half of them are Python's."""
    for number in range(bench.size.folders):
        folder = bench.folder / f"part{number % 30}" / f"folder{number}"
        folder.mkdir(parents=True)
        for index in range(100):
            (folder / f"file{index}.{'py' if index % 2 else 'txt'}").touch()


def measure_glob(bench: Bench) -> Figures:
    many_files(bench)
    workspace, folder = bench.workspace(), bench.folder
    return bench.time(
        {
            "find": command("find", folder, "-name", "*.py", "-type", "f"),
            "pathlib": Timer(lambda: list(folder.glob("**/*.py"))),
            "glob": Timer(lambda: workspace.glob("**/*.py")),
        }
    )


def measure_editing(bench: Bench) -> Figures:
    line = b"x" * 79 + b"\n"
    body = line * (bench.size.edited // len(line) // 2)
    for name in ("plain.txt", "edited.txt"):
        (bench.folder / name).write_bytes(body + b"old\n" + body)
    del body
    plain = bench.folder / "plain.txt"
    swaps = itertools.cycle([(b"old\n", b"new\n"), (b"new\n", b"old\n")])
    edits = itertools.cycle([("old\n", "new\n"), ("new\n", "old\n")])
    edit = bench.workspace().edit_file
    return bench.time(
        {
            "read, replace, write": Timer(
                lambda: plain.write_bytes(plain.read_bytes().replace(*next(swaps)))
            ),
            "edit_file": Timer(lambda: edit("edited.txt", *next(edits))),
        }
    )


# --- 7. Processes ---------------------------------------------------------------------


def measure_bash(bench: Bench) -> Figures:
    bash, figures = bench.workspace().bash, Figures()
    for command_line in ("true", "sleep 0.03"):
        jobs = {
            f"bash -c '{command_line}'": command("bash", "-c", command_line),
            f"bash {command_line}": Timer(partial(bash, command_line)),
        }
        figures |= bench.time(jobs)
    return figures


def measure_output(bench: Bench) -> Figures:
    with open(bench.folder / "output.txt", "wb") as file:
        for _ in range(bench.size.output // 100_000):
            file.write((b"x" * 99 + b"\n") * 1_000)
    bash = bench.workspace().bash

    def cat() -> None:
        with tempfile.TemporaryFile(dir=bench.folder) as file:
            words = ["cat", "output.txt"]
            subprocess.run(words, cwd=bench.folder, stdout=file, check=True)

    jobs = {
        "cat to a file": Timer(cat),
        "bash cat": Timer(lambda: bash("cat output.txt")),
    }
    return {
        **bench.time(jobs),
        **extra_memory(bench, "workspace.bash('cat output.txt')"),
    }


def measure_start(bench: Bench) -> Figures:
    jobs = {"empty interpreter": command(sys.executable, "-c", "pass")}
    if installed("anthropic"):
        jobs["import anthropic"] = command(sys.executable, "-c", "import anthropic")
    for option in ("--help", "--demo"):
        jobs[option] = command(sys.executable, CHAPTER, option)
    return bench.time(jobs)


# --- 8. Peers -------------------------------------------------------------------------

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


def peer_row(driver: str, version: str, python: str) -> Row:
    """Dispatch beside one framework, both in one process of one interpreter."""
    claims = RUNNER_CLAIMS if driver == "anthropic_runner" else PEER_CLAIMS
    measure = partial(measure_peer, driver=driver, python=python)
    return Row(driver, f"{PEERS[driver]} {version}", measure, claims)


def measure_peer(bench: Bench, driver: str, python: str) -> Figures:
    file = bench.folder / f"{driver}.json"
    size = json.dumps(asdict(bench.size))
    words = [python, "-c", IN_ITS_INTERPRETER, driver, size, str(file)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    if failed(done):
        return {}
    return {name: Figure(**one) for name, one in json.loads(file.read_text()).items()}


def write_peer(driver: str, size: str, file: str) -> None:
    """In the framework's own interpreter: measure both and write the figures."""
    bench = Bench(Path(file).parent, Sizes(**json.loads(size)))
    figures = bench.time(peer_jobs(driver))
    document = {name: asdict(one) for name, one in figures.items()}
    Path(file).write_text(json.dumps(document))


def peer_jobs(driver: str) -> Jobs:
    """The framework's jobs, and dispatch with the same handlers and calls."""
    report: Any = importlib.import_module("tests.peers.report")
    report.quiet()
    module: Any = importlib.import_module(f"tests.peers.{driver}")
    asked = (report.GOOD, report.UNKNOWN, report.MISSING, report.RAISING)
    registry = registry_of({run.__name__: run for run in report.make_tools([])})
    jobs: Jobs = {}
    for kind, one in zip(PEER_KINDS, asked, strict=True):
        if make := getattr(module, f"make_{kind}", None):
            call = s02.ToolCall(one.id, one.name, one.arguments)
            jobs[f"peer: {kind}"] = statement("run()", run=make())
            ours = statement("run(call)", run=registry.dispatch, call=call)
            jobs[f"dispatch: {kind}"] = ours
    return jobs


def interpreters(places: Sequence[str]) -> dict[str, str]:
    """Which interpreter each driver is measured in: this one unless told otherwise."""
    found = dict.fromkeys(PEERS, sys.executable)
    for place in places:
        name, equals, path = place.partition("=")
        if equals:
            found[name] = path
            continue
        for driver in PEERS:
            python = Path(place, driver, "bin", "python")
            if python.exists():
                found[driver] = str(python.absolute())
    return found


def peer_rows(options: argparse.Namespace) -> list[Row]:
    """A row for each framework asked for that is there; says which are not."""
    rows = []
    for driver, python in interpreters(options.peer_python).items():
        if options.only and driver not in options.only:
            continue
        if found := peer_version(python, PEERS[driver]):
            rows.append(peer_row(driver, found, python))
        else:
            needs = f"pip install -r tests/peers/requirements/{driver}.txt"
            print(f"{PEERS[driver]} is not installed: {needs}")
    return rows


# --- 9. The table of rows -------------------------------------------------------------

MB = 1_000_000
ROWS = [
    Row(
        "dispatch",
        "a good call, two arguments",
        measure_dispatch,
        [
            Claim("checks by hand", "bare handler"),
            Claim("dispatch", "bare handler", 25),
            Claim("dispatch", "checks by hand"),
            Claim("with a trace", "bare handler", 45),
            Claim("dispatch_many", "dispatch", 1.4),
        ],
    ),
    Row(
        "faults",
        "a call that is refused",
        measure_faults,
        [
            Claim("unknown tool", "naive: unknown tool", 15),
            Claim("invalid arguments", "naive: invalid arguments", 40),
            Claim("raising handler", "naive: raising handler", 15),
        ],
    ),
    Row(
        "schemas",
        "checking valid arguments",
        measure_schemas,
        [
            claim
            for shape in SHAPES
            for claim in (
                Claim(f"check, {shape}", f"fastjsonschema, {shape}", 4),
                Claim(f"check, {shape}", f"jsonschema, {shape}", 1 / 8),
                Claim(f"compile, {shape}", at_most=200e-6),
            )
        ],
    ),
    Row("catalogues", "listing tools", measure_catalogues, CATALOGUE_CLAIMS),
    Row(
        "batches",
        "calls that wait 20 ms",
        measure_batches,
        [
            claim
            for count in BATCHES
            for claim in (
                Claim(f"batch, {count}", f"waits, {count}", 1.3),
                Claim(f"out of order, {count}", at_most=0),
            )
        ],
    ),
    Row(
        "conversation",
        "1,000 tool turns",
        measure_conversation,
        [Claim("turn of the last 10%", "turn of the first 10%", 1.5)],
    ),
    Row(
        "reading",
        "50 lines of 1 GB",
        measure_reading,
        [
            Claim("read_file, first 50", "head -n 50"),
            Claim("read_file, first 50", at_most=0.02),
            Claim("read_file, last 50", "sed -n"),
            Claim("extra memory", at_most=50 * MB),
        ],
    ),
    Row(
        "glob",
        "**/*.py in 100,000 files",
        measure_glob,
        [Claim("glob", "pathlib", 1.2), Claim("glob", "find", 5)],
    ),
    Row(
        "editing",
        "one place in 50 MB",
        measure_editing,
        [Claim("edit_file", "read, replace, write", 2)],
    ),
    Row(
        "bash",
        "short commands",
        measure_bash,
        [
            Claim("bash true", "bash -c 'true'", 3),
            Claim("bash sleep 0.03", "bash -c 'sleep 0.03'", 1.5),
        ],
    ),
    Row(
        "output",
        "200 MB of output",
        measure_output,
        [Claim("bash cat", "cat to a file", 2), Claim("extra memory", at_most=50 * MB)],
    ),
    Row(
        "start",
        "starting the program",
        measure_start,
        [
            Claim("--help", "empty interpreter", 8),
            Claim("--demo", "empty interpreter"),
            Claim("--demo", "import anthropic", 1 / 6),
        ],
    ),
]


# --- 10. Judging and showing ----------------------------------------------------------

WIDTHS = (27, 9, 9, 35, 10, 6)
COLUMNS = ("", "median", "minimum", "ratio of minima", "must hold", "")


@dataclass(frozen=True)
class Verdict:
    """A claim and what was measured: a ratio, or the value of a claim without floor."""

    claim: Claim
    measured: float
    unit: str

    @property
    def word(self) -> str:
        if self.claim.at_most is None:
            return ""
        return "ok" if self.measured <= self.claim.at_most else "MISSED"

    @property
    def shown(self) -> str:
        return f"{self.spelled(self.measured)} {self.claim.floor}".rstrip()

    @property
    def bound(self) -> str:
        at_most = self.claim.at_most
        return "" if at_most is None else f"<= {self.spelled(at_most)}"

    def spelled(self, value: float) -> str:
        return times(value) if self.claim.floor else quantity(value, self.unit)


def judged(row: Row, figures: Figures) -> list[Verdict]:
    """The claims whose figures are there."""
    verdicts = []
    for claim in row.claims:
        subject, floor = figures.get(claim.subject), figures.get(claim.floor)
        if subject and subject is not floor and (floor or not claim.floor):
            ratio = subject.minimum / (floor.minimum if floor else 1)
            verdicts.append(Verdict(claim, ratio, subject.unit))
    return verdicts


def quantity(value: float, unit: str) -> str:
    """A value in words: `2.75 us`, `12.0 MB`, `0`."""
    if unit == "count":
        return f"{value:g}"
    if unit == "bytes":
        return f"{value / MB:.1f} MB"
    for name, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {name}"
    return f"{value * 1e9:.3g} ns"


def times(ratio: float) -> str:
    """`18.2 x`, or `1/31 x` for what is faster than its floor."""
    return f"{ratio:.3g} x" if ratio >= 0.995 else f"1/{1 / ratio:.3g} x"


def lines(figures: Figures, verdicts: list[Verdict]) -> Iterator[list[str]]:
    """The cells of a row's lines: one for a figure, more for one with more claims."""
    for name, one in figures.items():
        cells = [name, quantity(one.median, one.unit), quantity(one.minimum, one.unit)]
        about = [verdict for verdict in verdicts if verdict.claim.subject == name]
        for verdict in about:
            ratio = verdict.shown if verdict.claim.floor else ""
            yield [*cells, ratio, verdict.bound, verdict.word]
            cells = ["", "", ""]
        if not about:
            yield [*cells, "", "", ""]


def show(cells: Sequence[str]) -> None:
    """Print one line of a table."""
    padded = [cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)]
    print("  " + " ".join(padded).rstrip(), flush=True)


def show_row(row: Row, figures: Figures, verdicts: list[Verdict]) -> None:
    """Print a row's table, and the figures whose rounds disagree."""
    print(f"\n{row.name}: {row.work}")
    show(COLUMNS)
    for cells in lines(figures, verdicts):
        show(cells)
    for name, one in figures.items():
        if one.spread > DISAGREE:
            print(f"  warning: the rounds of {name!r} disagree by {one.spread:.0%}")


def row_document(row: Row, figures: Figures, verdicts: list[Verdict]) -> dict[str, Any]:
    """One row as JSON."""
    return {
        "row": row.name,
        "work": row.work,
        "figures": {
            name: {**asdict(one), "median": one.median, "spread": one.spread}
            for name, one in figures.items()
        },
        "claims": [
            {
                **asdict(verdict.claim),
                "measured": verdict.measured,
                "shown": verdict.shown,
                "bound": verdict.bound,
                "verdict": verdict.word,
            }
            for verdict in verdicts
        ],
    }


def markdown(document: dict[str, Any]) -> str:
    """What must hold, as a table for a page."""
    made = ["| work | figure | measured | must hold | |", "|---|---|---|---|---|"]
    for row in document["rows"]:
        for one in row["claims"]:
            cells = [row["work"], one["subject"], one["shown"], one["bound"]]
            if one["verdict"]:
                made.append(f"| {' | '.join([*cells, one['verdict']])} |")
    where = f"{document['date']}, {document['python']}, {document['processor']}"
    return "\n".join([*made, "", f"{where}, {document['cpus']} CPUs.", ""])


def measured(row: Row, size: Sizes) -> Figures:
    """Measure one row in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        return row.measure(Bench(Path(folder).resolve(), size))


def joined(one: Figure, other: Figure) -> Figure:
    """The same figure from two runs."""
    minimum = min(one.minimum, other.minimum)
    return Figure(one.unit, one.medians + other.medians, minimum)


def run_row(row: Row, size: Sizes) -> dict[str, Any]:
    """Measure one row, show it, and return its document."""
    figures = measured(row, size)
    missed = any(verdict.word == "MISSED" for verdict in judged(row, figures))
    if missed and size is FULL:
        again = measured(row, size)
        both = figures.keys() & again.keys()
        figures |= {name: joined(figures[name], again[name]) for name in both}
    verdicts = judged(row, figures)
    show_row(row, figures, verdicts)
    return row_document(row, figures, verdicts)


# --- 11. Running it -------------------------------------------------------------------


def processor() -> str:
    """The processor's own name."""
    with_name = Path("/proc/cpuinfo")
    if with_name.exists():
        for line in with_name.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def surroundings() -> dict[str, Any]:
    """What the figures depend on and a reader cannot see."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "system": platform.platform(),
        "processor": processor(),
        "cpus": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": {package: version(package) for package in PACKAGES},
    }


def show_surroundings(about: dict[str, Any]) -> None:
    print(f"{about['date']}, {about['python']}, {about['system']}")
    print(f"{about['processor']}, {about['cpus']} CPUs, load {about['load']}")
    for package, found in about["packages"].items():
        print(f"{package} {found or 'is not installed: its figures are left out'}")


def parse_options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = [*(row.name for row in ROWS), *PEERS]
    parser.add_argument("--quick", action="store_true", help="small sizes, 10 seconds")
    parser.add_argument(
        "--only",
        action="append",
        choices=names,
        default=[],
        metavar="NAME",
        help=", ".join(names),
    )
    parser.add_argument("--peers", action="store_true", help="measure frameworks too")
    parser.add_argument(
        "--peer-python",
        action="append",
        default=[],
        metavar="WHERE",
        help="DRIVER=PYTHON, or a folder of environments named like the drivers",
    )
    parser.add_argument("--json", metavar="FILE", help="write everything measured")
    parser.add_argument("--markdown", metavar="FILE", help="write what must hold")
    parser.add_argument("--strict", action="store_true", help="status 1 for a MISSED")
    options = parser.parse_args(argv)
    for name, equals, _ in (place.partition("=") for place in options.peer_python):
        if equals and name not in PEERS:
            parser.error(
                f"--peer-python: no driver {name}; there are {', '.join(PEERS)}"
            )
    return options


def chosen_rows(options: argparse.Namespace) -> list[Row]:
    """The rows asked for."""
    rows = [row for row in ROWS if not options.only or row.name in options.only]
    if options.peers or options.peer_python or PEERS.keys() & set(options.only):
        rows += peer_rows(options)
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, show, perhaps write; status 1 only with --strict and a MISSED."""
    options = parse_options(argv)
    about = surroundings()
    show_surroundings(about)
    rows = chosen_rows(options)
    if options.quick:
        print("Small sizes: these figures say that the benchmark runs, no more.")
    size = QUICK if options.quick else FULL
    document = {**about, "quick": options.quick}
    document["rows"] = [run_row(row, size) for row in rows]
    if options.json:
        Path(options.json).write_text(json.dumps(document, indent=2) + "\n")
    if options.markdown:
        Path(options.markdown).write_text(markdown(document))
    words = [claim["verdict"] for row in document["rows"] for claim in row["claims"]]
    print(f"\n{words.count('ok')} hold, {words.count('MISSED')} missed.")
    return 1 if options.strict and "MISSED" in words else 0


if __name__ == "__main__":
    sys.exit(main())
