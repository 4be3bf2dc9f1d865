"""Faults sent through one real registry: what must come of each, and what came.

    python3 -m s02_tool_dispatch.drill

A line for each fault: the codes that the model reads, how many handlers ran, how many
trace records were written. Exit status 1 if any line is not as it must be. It needs no
key and no network, and prints the same bytes at every run.
It is a drill, not a proof: it shows each guard at work on a value or two.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import random
import sys
import threading
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from itertools import groupby

from s02_tool_dispatch.code import (
    AgentTurn,
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
Fault = Callable[["Bench"], str]  # sends something and returns the codes that came


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
WAIT_SECONDS = 10  # passes only where calls do not run side by side
TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
ORDER = {
    "size": {"type": "string", "enum": ["small", "large"]},
    "codes": {"type": "array", "items": WHOLE},
    "to": object_schema({"street": TEXT, "city": TEXT}, ["city"]),
}


def fail(how: str) -> None:
    """Raise in one of four ways."""
    if how == "exit":
        raise SystemExit(0)
    if how == "ctrl-c":
        raise KeyboardInterrupt
    if how == "known":
        raise ToolFailure("no such street: list the streets first", code="no_street")
    raise RuntimeError(f"cannot open {SECRET}")


async def fail_late() -> None:
    """Fail after an await."""
    await asyncio.sleep(0)
    raise ConnectionError(SECRET)


def give(what: str) -> object:
    """Return what cannot be sent as it is."""
    return {"set": {1, 2}, "torn": "caf\udce9", "long": "x" * 1_000_000}[what]


def race() -> Handler:
    """A tool whose first call ends after its second one."""
    second_ran = threading.Event()

    def run(place: str) -> str:
        if place == "second":
            second_ran.set()
        return place if second_ran.wait(WAIT_SECONDS) else "not side by side"

    return run


def tools() -> list[tuple[str, Handler, Block]]:
    """New ones at each call: a fault edits the properties of `greet`."""
    return [
        ("add", lambda a, b: a + b, {"a": WHOLE, "b": WHOLE}),
        ("greet", lambda name: f"hello {name}", {"name": {"type": "string"}}),
        ("order", lambda **order: "ordered", ORDER),
        ("race", race(), {"place": TEXT}),
        ("give", give, {"what": TEXT}),
        ("fail", fail, {"how": TEXT}),
        ("fail_late", fail_late, {}),
    ]


# --- The bench: one registry with these tools, and all that is seen of it ---


class Bench:
    """Counts every handler that runs and every record, and notes what is untrue."""

    def __init__(self, new_registry: NewRegistry) -> None:
        self.new_registry = new_registry
        self.ran: list[str] = []
        self.traced: list[TraceRecord] = []
        self.untrue: list[str] = []
        self.hash_before = "a hash"
        self.specs = [self.spec(*tool, "the drill") for tool in tools()]
        self.registry = new_registry(trace=self.traced.append)

    def spec(self, name: str, run: Handler, properties: Block, source: str) -> ToolSpec:
        """A tool whose runs are counted; nothing but an order may be left out."""

        def counted(**arguments: object) -> object:
            self.ran.append(name)
            return run(**arguments)

        schema = object_schema(properties, [] if name == "order" else [*properties])
        concurrent = name != "fail"
        return ToolSpec(name, f"Drill: {name}.", schema, counted, concurrent, source)

    def another(self, *arguments: object, **options: object) -> ToolRegistry:
        """One more registry with the same tools."""
        registry = self.new_registry(*arguments, **options)
        registry.register(*self.specs)
        return registry

    def claim(self, what: str, holds: bool) -> None:
        """Note what does not hold: the line of the fault fails then."""
        if not holds:
            self.untrue.append(what)

    def answers(
        self, calls: list[ToolCall], registry: ToolRegistry | None = None
    ) -> list[Block]:
        """Dispatch a batch; whatever the fault, the answers are sound."""
        results = (registry or self.registry).dispatch_many(calls)
        blocks = [result.to_protocol_block() for result in results]
        json.dumps(blocks, ensure_ascii=False, allow_nan=False).encode()
        ids = [block["tool_use_id"] for block in blocks]
        codes = [result.error_code or "ok" for result in results]
        told = " ".join(block["content"] for block in blocks)
        self.claim("one answer a call, in order", ids == [c.tool_use_id for c in calls])
        self.claim("is_error tells the code", codes == [code_in(b) for b in blocks])
        self.claim("no secret in an answer", PATH not in told and TOKEN not in told)
        self.claim("answers are bounded", len(told) <= 30_000 * len(blocks))
        return blocks


def calls_of(*calls: tuple[object, object]) -> list[ToolCall]:
    """(tool, arguments) pairs as the calls of one turn, with arguments of their own."""
    return [ToolCall(f"call_{n}", *deepcopy(call)) for n, call in enumerate(calls, 1)]


def code_in(block: Block) -> str:
    """`ok`, or the code in the text of an error, as the model reads it."""
    text = str(block["content"])
    return text.partition("[")[2].partition("]")[0] if block.get("is_error") else "ok"


def codes_in(blocks: list[Block]) -> str:
    """The codes in order: `ok, cancelled x2`."""
    runs = [(code, len([*same])) for code, same in groupby(map(code_in, blocks))]
    return ", ".join(code if n == 1 else f"{code} x{n}" for code, n in runs)


def registration(registry: ToolRegistry, *specs: ToolSpec) -> tuple[str, str]:
    """`accepted`, or `refused` and the reason."""
    try:
        registry.register(*specs)
    except ValueError as error:
        return "refused", str(error)
    return "accepted", ""


# --- The faults: each sends something and returns the codes that came ---

GOOD = ("add", {"a": 1, "b": 2})
LATE: tuple[str, Block] = ("fail_late", {})


def batch(*calls: tuple[object, object], says: str = "", traces: str = "") -> Fault:
    """Send calls: the first answer holds `says`, and the trace holds `traces`."""

    def send(bench: Bench) -> str:
        blocks = bench.answers(calls_of(*calls))
        detail = "".join(record.detail for record in bench.traced)
        bench.claim(f"the model reads {says!r}", says in blocks[0]["content"])
        bench.claim("the trace has it all", traces in detail)
        for call, block in zip(calls, blocks, strict=False):
            bench.claim("1 + 2 is 3", call is not GOOD or block["content"] == "3")
        return codes_in(blocks)

    return send


def one(tool: str, arguments: Block, says: str) -> Fault:
    """Send one call."""
    return batch((tool, arguments), says=says)


def no_fault(bench: Bench) -> str:
    """Register the tools; a good call works."""
    bench.registry.register(*bench.specs)
    bench.hash_before = bench.registry.catalog_hash()[:16]
    return batch(GOOD)(bench)


def same_name_twice(bench: Bench) -> str:
    """A plugin brings a new tool and one whose name is taken."""
    new = bench.spec("new", fail, {"how": TEXT}, "a plugin")
    taken = bench.spec("greet", lambda name: "stolen", {"name": TEXT}, "a plugin")
    came, why = registration(bench.registry, new, taken)
    bench.claim("both sources are named", "the drill" in why and "a plugin" in why)
    bench.claim("nothing is registered by half", bench.registry.get("new") is None)
    return f"{came}, {one('greet', {'name': 'Ann'}, says='hello Ann')(bench)}"


def edited_catalogue(bench: Bench) -> str:
    """Edit what was registered, and whatever the registry hands out."""
    registry = bench.registry
    before = json.dumps([registry.model_schemas(), registry.definitions()])
    shown = [registry.get("greet"), *registry.definitions(), *registry.model_schemas()]
    schemas = [t["input_schema"] for t in shown if t and t["name"] == "greet"]
    schemas += [spec.input_schema for spec in bench.specs if spec.name == "greet"]
    for schema in schemas:
        schema["properties"]["name"]["type"] = "integer"
        schema.update(required=[], additionalProperties=True)
    after = json.dumps([registry.model_schemas(), registry.definitions()])
    bench.claim("the model sees what it saw", after == before)
    return batch(("greet", {"name": "Ann"}), ("greet", {"nam": 1}))(bench)


def way_around(bench: Bench) -> str:
    """Look for a handler in what is handed out."""
    shown = bench.registry.get("add") or {}
    return "a handler" if any(map(callable, shown.values())) else "no handler"


def after_freeze(bench: Bench) -> str:
    """A tool comes too late."""
    bench.registry.freeze()
    late = bench.spec("late", fail_late, {}, "a plugin")
    return registration(bench.registry, late)[0]


def two_orders(bench: Bench) -> str:
    """The same tools, registered forwards and backwards."""
    forwards = bench.another().catalog_hash()
    bench.specs.reverse()
    return "one hash" if bench.another().catalog_hash() == forwards else "two hashes"


def one_id_twice(bench: Bench) -> str:
    """The two calls come in one reply of a provider."""
    use = {"type": "tool_use", "id": "same", "name": "add", "input": GOOD[1]}
    turn = AgentTurn.from_response({"content": [use, use]}, set())
    blocks = bench.answers(list(turn.tool_calls))
    answered = [block["tool_use_id"] for block in blocks]
    stored = [block["id"] for block in turn.content]
    bench.claim("two ids, in history too", stored == answered and len({*stored}) == 2)
    return codes_in(blocks)


def interrupt(bench: Bench) -> str:
    """One call is done, one runs, one waits; then Ctrl-C goes on up."""
    try:
        return f"no Ctrl-C: {batch(GOOD, ('fail', {'how': 'ctrl-c'}), GOOD)(bench)}"
    except ToolsInterrupted as interrupted:
        blocks = interrupted.blocks
    answers = [(block["tool_use_id"], block["content"]) for block in blocks]
    words = [("call_1", "3"), ("call_2", "unknown"), ("call_3", "not run")]
    for (answered, text), (call, word) in zip(answers, words, strict=True):
        bench.claim(f"{call}: {word}", answered == call and word in text)
    return codes_in(blocks)


def crashing_validator(bench: Bench) -> str:
    """A validator from elsewhere raises instead of listing problems."""

    def crash(value: object) -> list[str]:
        raise ZeroDivisionError(SECRET)

    registry = bench.another(lambda schema: crash, trace=bench.traced.append)
    return codes_in(bench.answers(calls_of(GOOD), registry))


def crashing_trace(bench: Bench) -> str:
    """Nothing is lost, and it is reported once."""

    def full(record: TraceRecord) -> None:
        raise OSError(SECRET)

    with contextlib.redirect_stderr(io.StringIO()) as reported:
        blocks = bench.answers(calls_of(GOOD, KNOWN), bench.another(trace=full))
    bench.claim("reported once, by type", reported.getvalue().count("OSError") == 1)
    return codes_in(blocks)


def hundred_calls(bench: Bench) -> str:
    """In a fixed random order: two good tools, and one that fails after an await."""
    dice = random.Random(2)
    sent: list[tuple[str, Block, str]] = []
    for n in range(100):
        add = ("add", {"a": n, "b": n}, f"{n + n}")
        greet = ("greet", {"name": f"{n}"}, f"hello {n}")
        late = (*LATE, "Error [execution_error]: unexpected ConnectionError")
        sent.append((add, greet, late)[int(3 * dice.random())])
    blocks = bench.answers(calls_of(*((name, given) for name, given, _ in sent)))
    pairs = zip((block["content"] for block in blocks), sent, strict=False)
    own = all(text.startswith(words) for text, (_, _, words) in pairs)
    bench.claim("each call has its own answer", own)
    return ", ".join(sorted({*map(code_in, blocks)}))


def same_hash(bench: Bench) -> str:
    """The catalogue after all this."""
    return bench.registry.catalog_hash()[:16]


# --- What must come of each ---

BAD, FAILED = "invalid_arguments", "execution_error"
REFUSED, FAILS_ALONE = Seen(BAD, 0, 1), Seen(f"{FAILED}, ok", 2, 2)
UNKNOWN_ALONE = Seen("unknown_tool, ok", 1, 2)
NO_OBJECTS = [("add", arguments) for arguments in ('{"a": 1, "b": 2}', None, [1, 2])]
ALMOST = [(name, GOOD[1]) for name in ("Add", "add ", "x.add", "\udce9", None, ["add"])]
SET, TORN, LONG = (("give", {"what": what}) for what in ("set", "torn", "long"))
LEAK, EXIT, KNOWN = (("fail", {"how": how}) for how in ("leak", "exit", "known"))
RACE = [("race", {"place": place}) for place in ("first", "second")]
FAULTS: list[tuple[str, Seen, Fault]] = [
    ("no fault: a good call", Seen("ok", 1, 1), no_fault),
    ("same name twice", Seen("refused, ok", 1, 1), same_name_twice),
    ("unknown tool", UNKNOWN_ALONE, batch(("sub", {}), GOOD, says="are: add, fail")),
    ("missing argument", REFUSED, one("add", {"a": 1}, "b is missing")),
    ('"3" for an integer', REFUSED, one("add", {"a": "3", "b": 2}, "a must be")),
    ("extra argument", REFUSED, one("greet", {"name": "", "age": 1}, "age is")),
    ("path and token in an error", Seen(FAILED, 1, 1), batch(LEAK, traces=SECRET)),
    ("first of a batch raises", FAILS_ALONE, batch(LEAK, GOOD, says="RuntimeError")),
    ("edited catalogue", Seen(f"ok, {BAD}", 1, 2), edited_catalogue),
    ("true for 1", REFUSED, one("add", {"a": True, "b": 2}, "a must be")),
    ("value outside the enum", REFUSED, one("order", {"size": "xxl"}, "size must")),
    ("wrong item in a list", REFUSED, one("order", {"codes": [1, "2"]}, "codes[1]")),
    ("missing in a nested object", REFUSED, one("order", {"to": {}}, "to.city is")),
    ("arguments that are no object", Seen(f"{BAD} x3", 0, 3), batch(*NO_OBJECTS)),
    ("validator that crashes", Seen(FAILED, 0, 1), crashing_validator),
    ("names that are almost right", Seen("unknown_tool x6", 0, 6), batch(*ALMOST)),
    ("way around the gate", Seen("no handler"), way_around),
    ("registered after freeze", Seen("refused"), after_freeze),
    ("registered in two orders", Seen("one hash"), two_orders),
    ("handler that exits", FAILS_ALONE, batch(EXIT, GOOD)),
    ("failure after an await", FAILS_ALONE, batch(LATE, GOOD, traces="in fail_late")),
    ("failure that the tool expects", Seen("no_street", 1, 1), batch(KNOWN)),
    ("result that cannot be sent", FAILS_ALONE, batch(SET, TORN)),
    ("result of a million characters", Seen("ok", 1, 1), batch(LONG, says="left out")),
    ("two calls with one id", Seen("ok x2", 2, 2), one_id_twice),
    ("second call ends first", Seen("ok x2", 2, 2), batch(*RACE, says="first")),
    ("Ctrl-C in the second of three", Seen("ok, cancelled x2", 2, 3), interrupt),
    ("trace that cannot be written", Seen("ok, no_street", 2, 0), crashing_trace),
    ("100 calls, one tool fails", Seen(f"{FAILED}, ok", 100, 100), hundred_calls),
]


# --- Running it ---


def run_drill(new_registry: NewRegistry) -> list[DrillLine]:
    """Send every fault through one registry; the last line compares its hash."""
    bench = Bench(new_registry)
    lines = [drill_line(bench, *row) for row in FAULTS]
    same = ("catalogue hash before and after", Seen(bench.hash_before), same_hash)
    return [*lines, drill_line(bench, *same)]


def drill_line(bench: Bench, name: str, must: Seen, fault: Fault) -> DrillLine:
    """Send one fault; a registry that raises fails its line, not the drill."""
    ran, traced = len(bench.ran), len(bench.traced)
    bench.untrue.clear()
    try:
        codes = fault(bench)
    except BaseException as error:  # a wrong registry may raise anything
        codes = f"raised {type(error).__name__}"
    came = Seen(codes, len(bench.ran) - ran, len(bench.traced) - traced)
    return DrillLine(name, must, came, tuple(bench.untrue))


def row(fault: str, must: str, came: str, ran: object, traced: object) -> str:
    """One aligned line of the table."""
    return f"{fault:<32} {must:<22} {came:<22} {ran:>3} {traced:>6}"


def printed(line: DrillLine) -> str:
    """A row; a line that is not as it must be is marked, and says what had to be."""
    must, came = line.must, line.came
    text = row(line.fault, must.codes, came.codes, came.ran, came.traced)
    if line.ok:
        return text
    counts = f"{must.ran} ran, {must.traced} traced"
    had_to_hold = "".join(f"; {claim}" for claim in line.untrue)
    return f"{text}\n  ^ NOT AS IT MUST BE: {must.codes}; {counts}{had_to_hold}"


def main(new_registry: NewRegistry = ToolRegistry) -> int:
    """Print the table; the exit status is 1 if a line is not as it must be."""
    lines = run_drill(new_registry)
    failed = [line for line in lines if not line.ok]
    print(row("fault", "must come", "came", "ran", "traced"))
    print("\n".join(map(printed, lines)))
    print(f"{len(lines)} lines, {len(failed)} not as they must be.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
