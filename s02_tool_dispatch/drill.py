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
import threading
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import wraps
from itertools import groupby
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
    torn, long = "caf\udce9", "x" * 1_000_000
    return {"number": 7, "set": {1, 2}, "torn": torn, "long": long}[what]


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

    def __init__(self, build: Build, note: Callable[..., None]) -> None:
        self.build, self.note = build, note
        self.process = os.getpid()
        self.ran: list[str] = []
        self.traced: list[TraceRecord] = []
        self.untrue: list[str] = []
        self.came: object = []
        self.run: Run
        self.tools = [
            self.tool("add", lambda a, b: str(a + b), {"a": WHOLE, "b": WHOLE}),
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

    def rebuilt(self, tools: list[Tool], *calls: Call) -> list[Block]:
        """Send calls to one with `add` and these tools; empty if it refuses them."""
        names = ", ".join(tool.name for tool in tools)
        self.note(sent=f"build: the tools add, {names}")
        try:
            run = self.build([self.tools[0], *tools])
        except Exception:
            return []
        return self.answers([*calls], run)

    def claim(self, what: str, holds: bool) -> None:
        """Note what does not hold: the line of the fault fails then."""
        if not holds:
            self.untrue.append(what)

    def code_in(self, block: Block) -> str:
        """`ok` or `error`."""
        return "error" if block.get("is_error") else "ok"

    def codes_in(self, blocks: list[Block]) -> str:
        """The codes in order: `ok, error x2`; `refused` without any."""
        runs = [(code, len([*same])) for code, same in groupby(blocks, self.code_in)]
        codes = [code if n == 1 else f"{code} x{n}" for code, n in runs]
        return ", ".join(codes) or "refused"

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
        leak = PATH in str(blocks) or TOKEN in str(blocks)
        self.claim("no secret in an answer", not leak)
        self.claim("answers are bounded", len(told) <= self.max_chars * len(blocks))

    def handed_out(self) -> list[Block]:
        """What can be got at of the registered tools."""
        return []


class RegistryBench(Bench):
    """This chapter's registry: the codes, the texts and the trace are judged too."""

    wait_seconds = 10
    max_chars = 30_000

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
        if isinstance(bench, RegistryBench):  # its words are the chapter's
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
    return bench.codes_in(bench.rebuilt([late], ("fail_late", {}), GOOD))


def same_name_twice(bench: Bench) -> str:
    """Two tools under one name: refused, or the first keeps it."""
    twins = [bench.tool("twin", lambda who=who: who, {}) for who in ("one", "two")]
    blocks = bench.rebuilt(twins, ("twin", {}))
    stolen = any("two" in str(text_in(block)) for block in blocks)
    bench.claim("no tool silently takes another one's name", not stolen)
    return bench.codes_in(blocks)


def keyword_not_understood(bench: Bench) -> str:
    """A schema with a rule that few validators know: enforced or refused."""
    digits = {"id": {**TEXT, "pattern": "^[0-9]+$"}}
    ticket = bench.tool("ticket", lambda id: f"ticket {id}", digits)
    blocks = bench.rebuilt([ticket], ("ticket", {"id": "../7"}))
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

BAD, FAILED = "invalid_arguments", "execution_error"
REFUSED, FAILS_ALONE = Seen(BAD, 0, 1), Seen(f"{FAILED}, ok", 2, 2)
UNKNOWN_ALONE = Seen("unknown_tool, ok", 1, 2)
NO_OBJECTS = [("add", arguments) for arguments in ('{"a": 1, "b": 2}', None, [1, 2])]
ALMOST = [(name, GOOD[1]) for name in ("Add", "add ", "x.add")]
NO_NAMES = [(name, GOOD[1]) for name in ("\udce9", None, ["add"])]
NUMBER, SET, TORN, LONG = (
    ("give", {"what": what}) for what in ("number", "set", "torn", "long")
)
LEAK, EXIT, KNOWN, SILENT = (
    ("fail", {"how": how}) for how in ("leak", "exit", "known", "silent")
)
BROKEN: Call = ("give", {"what": "?"})
HUNDRED = batch(BROKEN, *SUMS)
RACE = [("race", {"place": place}) for place in ("first", "second")]
FAULTS: list[tuple[int, str, Seen, Fault]] = [  # tier (own_boundary.py), or 0
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
    (4, "result that is no text", Seen("ok", 1, 1), batch(NUMBER, says="7")),
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


# --- Running it ---


def main(argv: list[str] | None = None) -> int:
    """The exit status is 0 when everything is as it must be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("file", metavar="FILE.py", nargs="?", help="it defines build")
    parser.add_argument("--init", action="store_true", help="write a FILE.py to begin")
    parser.add_argument("--judge", metavar="REPORT", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.init and options.file is None:
        parser.error("--init needs the name of a file")
    if options.file is None:
        return drill_registry(ToolRegistry)
    from s02_tool_dispatch import own_boundary  # which imports this file

    if options.init:
        return own_boundary.write_starter(options.file)
    if not os.path.isfile(options.file):
        parser.error(f"no such file: {options.file!a}")
    if options.judge:
        own_boundary.judge(options.file, options.judge)
    try:
        return own_boundary.drill_file(options.file)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
