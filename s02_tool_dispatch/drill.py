"""Faults sent through a boundary: what must come of each, and what came.

    python3 -m s02_tool_dispatch.drill                    this chapter's registry
    python3 -m s02_tool_dispatch.drill --init FILE.py     a boundary to put right
    python3 -m s02_tool_dispatch.drill FILE.py            your own boundary

Of the registry: a line for each fault, with the codes that the model reads, how many
handlers ran, how many trace records were written; the same bytes at every run.
Of your own boundary, which runs in a process of its own: the tiers that hold, and the
first fault of the first that does not. Exit status 1 if anything is not as it must be.
It is a drill, not a proof: it shows each guard at work on a value or two.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":  # as a file: the chapters are found beside its folder
    HERE = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [os.path.dirname(HERE), *(p for p in sys.path if p != HERE)]

import argparse
import asyncio
import contextlib
import inspect
import io
import json
import re
import runpy
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import wraps
from itertools import groupby
from pathlib import Path
from typing import Any

from s02_tool_dispatch.code import (
    Block,
    ToolCall,
    ToolFailure,
    ToolRegistry,
    ToolsInterrupted,
    ToolSpec,
    TraceRecord,
    object_schema,
)

Handler = Callable[..., object]
NewRegistry = Callable[..., ToolRegistry]  # the class, or a wrong one to try the drill
Run = Callable[[list[Block]], Any]  # tool_use blocks of one turn -> tool_result blocks
Build = Callable[[list["Tool"]], Run]  # registers the tools; raises to refuse one
Fault = Callable[[Any], str]  # sends something to a bench, returns the codes that came


@dataclass(frozen=True)
class Tool:
    """What `build` gets for each tool; a handler may be `async def`."""

    name: str
    description: str
    input_schema: Block
    handler: Handler


@dataclass(frozen=True)
class Seen:
    """What a fault led to: the codes, the handlers that ran, the trace records."""

    codes: str
    ran: int = 0
    traced: int = 0


@dataclass(frozen=True)
class DrillLine:
    """One fault; `untrue` names what else had to hold and did not."""

    fault: str
    must: Seen
    came: Seen
    untrue: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything was as it must be."""
        return self.came == self.must and not self.untrue


# --- The tools: some healthy, some that go wrong in a known way ---

PATH, TOKEN = "/srv/vault/keys.txt", "token-of-the-drill"  # the model may see neither
SECRET = f"{PATH} with {TOKEN}"
TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
ORDER = {
    "size": {"type": "string", "enum": ["small", "large"]},
    "codes": {"type": "array", "items": WHOLE},
    "to": object_schema({"street": TEXT, "city": TEXT}, ["city"]),
}


def fail(how: str) -> None:
    """Raise in one of five ways."""
    if how == "exit":
        raise SystemExit(0)
    if how == "ctrl-c":
        raise KeyboardInterrupt
    if how == "known":
        raise ToolFailure("no such street: list the streets first", code="no_street")
    raise RuntimeError("" if how == "silent" else f"cannot open {SECRET}")


async def fail_late() -> None:
    """Fail after an await."""
    await asyncio.sleep(0)
    raise ConnectionError(SECRET)


def give(what: str) -> object:
    """Return what cannot be sent as it is, or raise KeyError."""
    results = {"set": {1, 2}, "torn": "caf\udce9", "long": "x" * 1_000_000}
    return results[what]


def race(wait_seconds: float) -> Handler:
    """A tool whose first call ends after its second one, where both may run at once."""
    second_ran = threading.Event()

    def run(place: str) -> str:
        if place == "second":
            second_ran.set()
        elif second_ran.wait(wait_seconds):
            time.sleep(0.02)  # the second one has time to hand in its answer
        return place if second_ran.is_set() else "not side by side"

    return run


# --- The bench: one boundary with these tools, and all that is seen of it ---


class Bench:
    """Any boundary: counts every handler that runs, and notes what is untrue."""

    wait_seconds = 0.2  # lost by a boundary that runs its calls one by one
    max_chars = 400_000  # of one answer: about 100,000 tokens; any limit below is fair
    words = False  # how it words its answers is its own affair

    def __init__(self, build: Build, note: Callable[..., None]) -> None:
        self.build, self.note = build, note
        self.process = os.getpid()
        self.ran: list[str] = []
        self.traced: list[TraceRecord] = []
        self.untrue: list[str] = []
        self.came: object = []
        self.run: Run
        self.tools = [
            self.tool("add", lambda a, b: a + b, {"a": WHOLE, "b": WHOLE}),
            self.tool("greet", lambda name: f"hello {name}", {"name": {**TEXT}}),
            self.tool("order", lambda **order: "ordered", ORDER),
            self.tool("race", race(self.wait_seconds), {"place": TEXT}),
            self.tool("give", give, {"what": TEXT}),
            self.tool("fail", fail, {"how": TEXT}),
        ]

    def tool(self, name: str, run: Handler, properties: Block) -> Tool:
        """A tool whose runs are counted; nothing but an order may be left out."""
        schema = object_schema(properties, [] if name == "order" else [*properties])

        @wraps(run)
        def counted(*given: object, **arguments: object) -> object:
            inspect.signature(run).bind(*given, **arguments)  # else it is no run
            self.ran.append(name)
            return run(*given, **arguments)

        return Tool(name, f"Drill: {name}.", schema, counted)

    def rebuilt(self, *tools: Tool) -> Run | None:
        """A boundary with `add` and these tools; None if it refuses one of them."""
        names = ", ".join(tool.name for tool in tools)
        self.note(sent=f"build: the tools add, {names}")
        try:
            return self.build([self.tools[0], *tools])
        except Exception:
            return None

    def claim(self, what: str, holds: bool) -> None:
        """Note what does not hold: the line of the fault fails then."""
        if not holds:
            self.untrue.append(what)

    def code_in(self, block: Block) -> str:
        """`ok` or `error`."""
        return "error" if block.get("is_error") else "ok"

    def codes_in(self, blocks: list[Block]) -> str:
        """The codes in order: `ok, error x2`."""
        runs = [(code, len([*same])) for code, same in groupby(blocks, self.code_in)]
        return ", ".join(code if n == 1 else f"{code} x{n}" for code, n in runs)

    def answers(self, calls: list[Call], run: Run | None = None) -> list[Block]:
        """Send the calls of one turn; whatever the fault, the answers are sound."""
        uses: list[Block] = []
        for n, (name, arguments) in enumerate(deepcopy(calls), 1):
            use = {"type": "tool_use", "id": f"call_{n}", "name": name}
            uses.append({**use, "input": arguments})
        self.note(sent=spelled(uses[:3]))
        self.came = blocks = (run or self.run)(uses)
        if os.getpid() != self.process:
            self.note(came="a second process: a fork came back", must="one comes back")
            os._exit(0)
        self.check_answers([f"call_{n}" for n in range(1, len(calls) + 1)], blocks)
        return list(blocks)

    def check_answers(self, ids: list[str], blocks: Any) -> None:
        """What holds of any answers, as the API wants them."""
        if not isinstance(blocks, list) or not all(isinstance(b, dict) for b in blocks):
            raise TypeError(f"no list of blocks but {spelled(blocks)}")
        kinds = {block.get("type") for block in blocks}
        came = [block.get("tool_use_id") for block in blocks]
        texts = [*map(text_in, blocks)]
        told = " ".join(text or "" for text in texts)
        blank = [b for b, t in zip(blocks, texts, strict=True) if not (t or "").strip()]
        self.claim("one answer a call, in order", ids == came)
        self.claim("each answer is a tool_result", kinds == {"tool_result"})
        self.claim("content is a text, or a list of text blocks", None not in texts)
        self.claim("an error has a text", not any(b.get("is_error") for b in blank))
        self.claim("every answer can be sent as JSON", is_json(blocks))
        self.claim("no secret in an answer", PATH not in told and TOKEN not in told)
        self.claim("answers are bounded", len(told) <= self.max_chars * len(blocks))

    def handed_out(self) -> list[Block]:
        """What can be got at of the registered tools."""
        return []


class RegistryBench(Bench):
    """This chapter's registry: the codes, the texts and the trace are judged too."""

    wait_seconds = 10
    max_chars = 30_000
    words = True

    def __init__(self, new_registry: NewRegistry) -> None:
        super().__init__(self.built, lambda **event: None)
        self.new_registry = new_registry
        self.registries: list[ToolRegistry] = []  # the first is drilled throughout

    def built(self, tools: list[Tool]) -> Run:
        """Build one with the trace of this bench."""
        registry = self.new_registry(trace=self.traced.append)
        run = through(registry, tools)
        self.registries.append(registry)
        return run

    def code_in(self, block: Block) -> str:
        """`ok`, or the code in the text of an error, as the model reads it."""
        code = str(block["content"]).partition("[")[2].partition("]")[0]
        return code if block.get("is_error") else "ok"

    def handed_out(self) -> list[Block]:
        """What the registry shows to the model and to its owner."""
        registry = self.registries[0]
        shown = [*registry.definitions(), *registry.model_schemas()]
        return [*shown, *filter(None, [registry.get("greet")])]


def through(registry: ToolRegistry, tools: list[Tool]) -> Run:
    """The adapter for our registry: one for another boundary is about as long."""
    for tool in tools:
        may_overlap = tool.name != "fail"
        registry.register(ToolSpec(**vars(tool), concurrent_safe=may_overlap))

    def run(blocks: list[Block]) -> list[Block]:
        calls = [ToolCall(use["id"], use["name"], use["input"]) for use in blocks]
        return [r.to_protocol_block() for r in registry.dispatch_many(calls)]

    return run


def text_in(block: Block) -> str | None:
    """The text of an answer; None if its content is no text."""
    content = block.get("content", "")
    if isinstance(content, list) and all(isinstance(c, dict) for c in content):
        content = "".join(str(c.get("text", "")) for c in content)
    return content if isinstance(content, str) else None


def is_json(value: object) -> bool:
    """Whether a request could carry it."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def spelled(value: object) -> str:
    """Any value on a line, in ASCII and not too long."""
    text = json.dumps(value) if is_json(value) else ascii(value)
    return text if len(text) <= 300 else f"{text[:300]}..."


# --- The faults: each sends something and returns the codes that came ---

Call = tuple[Any, Any]  # tool, arguments
GOOD: Call = ("add", {"a": 1, "b": 2})
SUMS: list[Call] = [("add", {"a": n, "b": n}) for n in range(99)]


def batch(*calls: Call, says: str = "", traces: str = "") -> Fault:
    """Send calls: the first answer holds `says`, and the trace holds `traces`."""

    def send(bench: Bench) -> str:
        blocks = bench.answers([*calls])
        texts = [str(text_in(block)) for block in blocks]
        if bench.words:
            detail = "".join(record.detail for record in bench.traced)
            bench.claim(f"the model reads {says!r}", says in texts[0])
            bench.claim("the trace has it all", traces in detail)
        for call, text in zip(calls, texts, strict=False):
            if call is GOOD or call in SUMS:
                bench.claim("a + b is right", str(sum(call[1].values())) in text)
        return bench.codes_in(blocks)

    return send


def one(tool: str, arguments: Block, says: str) -> Fault:
    """Send one call."""
    return batch((tool, arguments), says=says)


def no_fault(bench: Bench) -> str:
    """Register the tools; a good call works."""
    names = ", ".join(tool.name for tool in bench.tools)
    bench.note(sent=f"build: the tools {names}")
    bench.run = bench.build(bench.tools)
    return batch(GOOD)(bench)


def failure_after_an_await(bench: Bench) -> str:
    """A tool that is `async def`; a boundary without these may refuse it."""
    late = Tool("fail_late", "Drill: fail_late.", object_schema({}), fail_late)
    run = bench.rebuilt(late)
    if run is None:
        return "refused"
    return bench.codes_in(bench.answers([("fail_late", {}), GOOD], run))


def same_name_twice(bench: Bench) -> str:
    """Two tools under one name: refused, or the first keeps it."""
    twins = [bench.tool("twin", lambda who=who: who, {}) for who in ("one", "two")]
    run = bench.rebuilt(*twins)
    if run is None:
        return "refused"
    block = bench.answers([("twin", {})], run)[0]
    stolen = "two" in str(text_in(block))
    bench.claim("no tool silently takes another one's name", not stolen)
    return bench.code_in(block)


def keyword_not_understood(bench: Bench) -> str:
    """A schema with a rule that few validators know: enforced or refused."""
    digits = {"id": {**TEXT, "pattern": "^[0-9]+$"}}
    run = bench.rebuilt(bench.tool("ticket", lambda id: f"ticket {id}", digits))
    if run is None:
        return "refused"
    blocks = bench.answers([("ticket", {"id": "../7"})], run)
    enforced = "ticket" not in bench.ran
    bench.claim("each rule of a schema is enforced or refused", enforced)
    return bench.codes_in(blocks)


def edited_catalogue(bench: Bench) -> str:
    """Edit what was registered, and whatever is handed out."""
    before = json.dumps(bench.handed_out())
    for tool in [*bench.handed_out(), *map(vars, bench.tools)]:
        if tool["name"] == "greet":
            tool["input_schema"]["properties"]["name"]["type"] = "integer"
    after = json.dumps(bench.handed_out())
    bench.claim("the model sees what it saw", after == before)
    blocks = bench.answers([("greet", {"name": "Ann"}), ("greet", {"name": 1})])
    codes = [*map(bench.code_in, blocks)]
    bench.claim("the check is as it was registered", codes[0] == "ok" != codes[1])
    return bench.codes_in(blocks)


# --- Faults that only this chapter's registry can be asked about ---


def way_around(bench: RegistryBench) -> str:
    """Look for a handler in what is handed out."""
    shown = bench.registries[0].get("add") or {}
    return "a handler" if any(map(callable, shown.values())) else "no handler"


def after_freeze(bench: RegistryBench) -> str:
    """A tool comes too late."""
    bench.registries[0].freeze()
    try:
        through(bench.registries[0], [bench.tool("late", fail, {"how": TEXT})])
    except ValueError:
        return "refused"
    return "accepted"


def two_orders(bench: RegistryBench) -> str:
    """The same tools, registered forwards and backwards."""
    for tools in (bench.tools, bench.tools[::-1]):
        bench.built(tools)
    one, other = (registry.catalog_hash() for registry in bench.registries[-2:])
    return "one hash" if one == other else "two hashes"


def interrupt(bench: RegistryBench) -> str:
    """One call is done, one runs, one waits; then Ctrl-C goes on up."""
    try:
        return f"no Ctrl-C: {batch(GOOD, ('fail', {'how': 'ctrl-c'}), GOOD)(bench)}"
    except ToolsInterrupted as interrupted:
        blocks = interrupted.blocks
    bench.check_answers(["call_1", "call_2", "call_3"], blocks)
    for block, word in zip(blocks, ("3", "unknown", "not run"), strict=True):
        bench.claim(f"{block['tool_use_id']}: {word}", word in block["content"])
    return bench.codes_in(blocks)


def crashing_validator(bench: RegistryBench) -> str:
    """A validator from elsewhere raises instead of listing problems."""

    def crash(value: object) -> list[str]:
        raise ZeroDivisionError(SECRET)

    registry = bench.new_registry(lambda schema: crash, trace=bench.traced.append)
    blocks = bench.answers([GOOD], through(registry, bench.tools))
    return bench.codes_in(blocks)


def crashing_trace(bench: RegistryBench) -> str:
    """Nothing is lost, and it is reported once."""

    def full(record: TraceRecord) -> None:
        raise OSError(SECRET)

    run = through(bench.new_registry(trace=full), bench.tools)
    with contextlib.redirect_stderr(io.StringIO()) as reported:
        blocks = bench.answers([GOOD, KNOWN], run)
    bench.claim("reported once, by type", reported.getvalue().count("OSError") == 1)
    return bench.codes_in(blocks)


def same_hash(bench: RegistryBench) -> str:
    """The catalogue of the first registry."""
    return bench.registries[0].catalog_hash()[:16]


# --- What must come of each ---

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
BAD, FAILED = "invalid_arguments", "execution_error"
REFUSED, FAILS_ALONE = Seen(BAD, 0, 1), Seen(f"{FAILED}, ok", 2, 2)
UNKNOWN_ALONE = Seen("unknown_tool, ok", 1, 2)
NO_OBJECTS = [("add", arguments) for arguments in ('{"a": 1, "b": 2}', None, [1, 2])]
ALMOST = [(name, GOOD[1]) for name in ("Add", "add ", "x.add")]
NO_NAMES = [(name, GOOD[1]) for name in ("\udce9", None, ["add"])]
SET, TORN, LONG = (("give", {"what": what}) for what in ("set", "torn", "long"))
LEAK, EXIT, KNOWN, SILENT = (
    ("fail", {"how": how}) for how in ("leak", "exit", "known", "silent")
)
BROKEN: Call = ("give", {"what": "?"})
HUNDRED = batch(BROKEN, *SUMS)
RACE = [("race", {"place": place}) for place in ("first", "second")]
FAULTS: list[tuple[int, str, Seen, Fault]] = [  # a tier, or 0: our registry only
    (1, "no fault: a good call", Seen("ok", 1, 1), no_fault),
    (5, "same name twice", Seen("refused"), same_name_twice),
    (1, "unknown tool", UNKNOWN_ALONE, batch(("sub", {}), GOOD, says="are: add, fail")),
    (2, "missing argument", REFUSED, one("add", {"a": 1}, "b is missing")),
    (2, '"3" for an integer', REFUSED, one("add", {"a": "3", "b": 2}, "a must be")),
    (2, "extra argument", REFUSED, one("greet", {"name": "", "age": 1}, "age is")),
    (3, "path and token in an error", Seen(FAILED, 1, 1), batch(LEAK, traces=SECRET)),
    (1, "first of a batch raises", FAILS_ALONE, batch(BROKEN, GOOD, says="KeyError")),
    (5, "edited catalogue", Seen(f"ok, {BAD}", 1, 2), edited_catalogue),
    (2, "true for 1", REFUSED, one("add", {"a": True, "b": 2}, "a must be")),
    (2, "value outside the enum", REFUSED, one("order", {"size": "xxl"}, "size must")),
    (2, "wrong item in a list", REFUSED, one("order", {"codes": [1, "2"]}, "codes[1]")),
    (2, "missing in a nested object", REFUSED, one("order", {"to": {}}, "to.city is")),
    (2, "arguments that are no object", Seen(f"{BAD} x3", 0, 3), batch(*NO_OBJECTS)),
    (0, "validator that crashes", Seen(FAILED, 0, 1), crashing_validator),
    (2, "names that are almost right", Seen("unknown_tool x3", 0, 3), batch(*ALMOST)),
    (0, "names that are no text", Seen("unknown_tool x3", 0, 3), batch(*NO_NAMES)),
    (0, "way around the gate", Seen("no handler"), way_around),
    (5, "keyword not understood", Seen("refused"), keyword_not_understood),
    (0, "registered after freeze", Seen("refused"), after_freeze),
    (0, "registered in two orders", Seen("one hash"), two_orders),
    (3, "handler that exits", FAILS_ALONE, batch(EXIT, GOOD)),
    (3, "failure after an await", Seen(f"{FAILED}, ok", 1, 2), failure_after_an_await),
    (0, "failure that the tool expects", Seen("no_street", 1, 1), batch(KNOWN)),
    (4, "error without a text", Seen(FAILED, 1, 1), batch(SILENT)),
    (4, "result that cannot be sent", FAILS_ALONE, batch(SET, TORN)),
    (4, "result of a million characters", Seen("ok", 1, 1), batch(LONG, says="left")),
    (1, "the same call twice", Seen("ok x2", 2, 2), batch(GOOD, GOOD)),
    (1, "second call ends first", Seen("ok x2", 2, 2), batch(*RACE, says="first")),
    (0, "Ctrl-C in the second of three", Seen("ok, cancelled x2", 2, 3), interrupt),
    (0, "trace that cannot be written", Seen("ok, no_street", 2, 0), crashing_trace),
    (1, "100 calls, the first fails", Seen(f"{FAILED}, ok x99", 100, 100), HUNDRED),
]


# --- The drill of this chapter's registry ---


def run_drill(new_registry: NewRegistry) -> list[DrillLine]:
    """Send every fault through one registry; the last line compares its hash."""
    bench = RegistryBench(new_registry)
    lines = [drill_line(bench, *FAULTS[0])]
    before = Seen("a hash")
    with contextlib.suppress(BaseException):  # as for any fault
        before = Seen(same_hash(bench))
    lines += [drill_line(bench, *row) for row in FAULTS[1:]]
    same = ("catalogue hash before and after", before, same_hash)
    return [*lines, drill_line(bench, 0, *same)]


def drill_line(
    bench: Bench, tier: int, name: str, must: Seen, fault: Fault
) -> DrillLine:
    """Send one fault; a boundary that raises fails its line, not the drill."""
    ran, traced = len(bench.ran), len(bench.traced)
    bench.untrue, bench.came = [], None
    try:
        codes = fault(bench)
    except BaseException as error:  # a wrong boundary may raise anything
        codes, bench.came = f"raised {type(error).__name__}", error
    came = Seen(codes, len(bench.ran) - ran, len(bench.traced) - traced)
    return DrillLine(name, must, came, tuple(bench.untrue))


def row(fault: str, must: str, came: str, ran: object, traced: object) -> str:
    """One aligned line of the table."""
    return f"{fault:<31} {must:<23} {came:<23} {ran:>3} {traced:>6}"


def printed(line: DrillLine) -> str:
    """A row; a line that is not as it must be is marked, and says what had to be."""
    must, came = line.must, line.came
    text = row(line.fault, must.codes, came.codes, came.ran, came.traced)
    if line.ok:
        return text
    counts = f"{must.ran} ran, {must.traced} traced"
    had_to_hold = "".join(f"; {claim}" for claim in line.untrue)
    return f"{text}\n  ^ NOT AS IT MUST BE: {must.codes}; {counts}{had_to_hold}"


def drill_registry(new_registry: NewRegistry) -> int:
    """Print the table; the exit status is 1 if a line is not as it must be."""
    lines = run_drill(new_registry)
    failed = [line for line in lines if not line.ok]
    print(row("fault", "must come", "came", "ran", "traced"))
    print("\n".join(map(printed, lines)))
    print(f"{len(lines)} lines, {len(failed)} not as they must be.")
    return 1 if failed else 0


# --- The drill of the reader's own boundary ---

SECONDS = 10  # without a sign of life: it hangs
STARTER = '''"""A boundary to put right: it is wrong in the usual ways.

    python3 -m s02_tool_dispatch.drill THIS_FILE

`build(tools)` gets tools with a name, a description, an input_schema and a handler, and
raises to refuse one. What it returns gets the tool_use blocks of one turn (dicts) and
returns their tool_result blocks. Inside, use whatever you like.
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


def drill_boundary(bench: Bench) -> None:
    """Note each fault before it is sent, and what came of the first that fails."""
    for tier, name, must, fault in sorted(FAULTS, key=lambda row: row[0]):
        if tier:
            bench.note(tier=tier, fault=name)
            line = drill_line(bench, tier, name, must, fault)
            if wrong := what_must_come(tier, line, bench.came):
                ran = f"; handlers that ran: {line.came.ran}"
                return bench.note(came=what_came(bench) + ran, must="; ".join(wrong))
    bench.note(tier=len(TIERS) + 1)


def what_must_come(tier: int, line: DrillLine, came: object) -> list[str]:
    """What did not hold. Fair to all: codes count up to tier 3, runs up to tier 2.

    Whether a result that cannot be sent is an error, and whether a tool is refused or
    renamed, is for the boundary to say.
    """
    codes = re.sub("[a-z_]{3,}", "error", line.must.codes)
    wrong = [*line.untrue]
    if tier <= 2 and line.came.ran != line.must.ran:
        wrong.insert(0, f"handlers that run: {line.must.ran}")
    if tier <= 3 and line.came.codes not in (codes, "refused"):
        wrong.insert(0, codes)
    return wrong or ["an answer to each call"] * isinstance(came, BaseException)


def what_came(bench: Bench) -> str:
    """The first answers, or what was raised in their place."""
    came: Any = bench.came
    if isinstance(came, BaseException):
        return f"{type(came).__name__}: {str(came)[:300]}"
    return "; ".join(f"{bench.code_in(b)}: {spelled(text_in(b))}" for b in came[:3])


def judge(file: str, report: str) -> None:
    """The child: what a boundary does to this process is told by its parent."""

    def note(**event: object) -> None:
        with open(report, "a") as lines:
            lines.write(json.dumps(event) + "\n")

    note(tier=1, fault="the file itself", sent=f"a run of {file}")
    sys.path.append(os.path.dirname(os.path.abspath(file)))
    try:
        build = runpy.run_path(file)["build"]
    except BaseException as error:  # any file may come
        came = f"{type(error).__name__}: {str(error)[:300]}"
        note(came=came, must="it defines build(tools), which returns run(blocks)")
    else:
        drill_boundary(Bench(build, note))
    with contextlib.suppress(Exception):  # it may be closed
        sys.stdout.flush()
    os._exit(0)  # threads that still run are left behind


def judged(file: str, seconds: float) -> tuple[Block, str]:
    """Run the child to its end or its first silence: its notes, what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        report, screen = Path(folder, "report"), Path(folder, "screen")
        report.touch()
        command = [sys.executable, __file__, "--judge", str(report), file]
        nothing = subprocess.DEVNULL
        with open(screen, "wb") as out:
            child = subprocess.Popen(
                command, stdin=nothing, stdout=out, stderr=out, start_new_session=True
            )
        try:
            ended = how_it_ended(child, report, seconds)
        finally:
            with contextlib.suppress(OSError):  # and what it has started
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
    for number, (holds, heading, why) in enumerate(TIERS[: notes["tier"]], 1):  # noqa: B007
        held = "holds" if number < notes["tier"] else "does not hold"
        print(f"tier {number}: {holds:<45} {held}")
    told = {"printed": ascii(screen[:200])} if screen else {}
    if notes["tier"] <= len(TIERS):
        told = {part: notes[part] for part in ("fault", "sent", "came", "must")} | told
        told |= {"why": why, "read": f'{PAGE}, "{heading}"'}
    for part, text in told.items():
        print(f"  {part:<8} {text}")
    return 0 if notes["tier"] > len(TIERS) else 1


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


def main(argv: list[str] | None = None) -> int:
    """The exit status is 0 when everything is as it must be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("file", metavar="FILE.py", nargs="?", help="it defines build")
    parser.add_argument("--init", action="store_true", help="write a FILE.py to begin")
    parser.add_argument("--judge", metavar="REPORT", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.file is None:
        return drill_registry(ToolRegistry)
    if options.init:
        return write_starter(options.file)
    if not os.path.isfile(options.file):
        parser.error(f"no such file: {options.file!a}")
    if options.judge:
        judge(options.file, options.judge)
    return drill_file(options.file)


if __name__ == "__main__":
    sys.exit(main())
