"""What every driver shares: the inputs of the eight faults, and the report.

A driver supplies two functions. ``play(turns, tools)`` builds the framework's
agent over ``tools``, lets a scripted model make the calls, and gives back what
the model was then told; ``play_edit()`` lets the scripted model edit the schema
it was shown. This module makes the inputs, judges every framework by the same
rules (``judge_*``) and prints one JSON document. It imports no framework.
"""

import contextlib
import importlib.metadata
import inspect
import json
import logging
import platform
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass
from typing import Any, Literal

DATE = "2026-12-07"
SECRET_PATH = "/vault/ledger.txt"
SECRET_TOKEN = "token=EXAMPLE-0451"
TOOL = "add_lines"
QUOTED = 190  # characters of an answer kept in the report
TRIES = 60  # a lost sibling is played this often: threads may or may not run it

Tool = Callable[..., str]


# --- 1. The words ---------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """One call the scripted model makes."""

    id: str
    name: str
    arguments: dict[str, object]


@dataclass(frozen=True)
class Answer:
    """What the model is told about one call; ``mark`` is how an error is marked."""

    call_id: str
    text: str
    mark: str | None = None


@dataclass(frozen=True)
class Played:
    """A finished run: the answers, and the tool names the model was shown."""

    answers: list[Answer]
    shown: list[str] = field(default_factory=list)

    def text_of(self, call_id: str) -> str | None:
        """The answer to one call, or None when the model got none."""
        return next((a.text for a in self.answers if a.call_id == call_id), None)


@dataclass(frozen=True)
class Edited:
    """The type listed for ``count`` before and after the edit, and the next answer."""

    before: str
    after: str
    answer: str
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """One framework under one fault."""

    outcome: str
    observed: str


@dataclass(frozen=True)
class Switch:
    """What changes a default: its name, and how to run the fault with it on."""

    symbol: str
    play: Callable[[list[Call], list[Tool]], Played]
    tools: Callable[[list[str]], list[Tool]] | None = None


Play = Callable[[list[Call], list[Tool]], Played]


# --- 2. The eight faults --------------------------------------------------------------

GOOD = Call("c1", TOOL, {"path": "notes.txt", "count": 3})
UNKNOWN = Call("c1", "no_such_tool", {"path": "notes.txt", "count": 3})
MISSING = Call("c1", TOOL, {"path": "notes.txt"})
TEXT = Call("c1", TOOL, {"path": "notes.txt", "count": "3"})
EXTRA = Call("c1", TOOL, {"path": "notes.txt", "count": 3, "mode": "append"})
RAISING = Call("c1", "read_ledger", {"path": "notes.txt", "count": 3})
SECOND = Call("c2", TOOL, {"path": "notes.txt", "count": 3})
WORD = Call("c2", TOOL, {"path": "notes.txt", "count": "three"})

FAULTS: dict[str, tuple[list[Call], str]] = {
    "same_name": ([GOOD], ""),
    "unknown_tool": ([UNKNOWN], "no_such_tool"),
    "missing_argument": ([MISSING], "count"),
    "text_for_integer": ([TEXT], "count"),
    "extra_argument": ([EXTRA], "mode"),
    "raising_handler": ([RAISING], ""),
    "batch_first_raises": ([RAISING, SECOND], ""),
}
BEST = {
    "same_name": "refused",
    "unknown_tool": "error_result",
    "missing_argument": "error_result",
    "text_for_integer": "error_result",
    "extra_argument": "error_result",
    "raising_handler": "hidden",
    "batch_first_raises": "siblings_run",
    "edited_catalogue": "unchanged",
}


def make_tools(ran: list[str]) -> list[Tool]:
    """The two tools; each notes in ``ran`` that its body was entered."""

    def add_lines(path: str, count: int) -> str:
        """Add empty lines to a file.

        Args:
            path: The file to change.
            count: How many lines to add.
        """
        ran.append("add_lines")
        return f"added {count!r} lines to {path}"

    def read_ledger(path: str, count: int) -> str:
        """Read lines of a file.

        Args:
            path: The file to read.
            count: How many lines to read.
        """
        ran.append("read_ledger")
        raise RuntimeError(f"cannot open {SECRET_PATH} with {SECRET_TOKEN}")

    return [add_lines, read_ledger]


def make_namesake(ran: list[str]) -> Tool:
    """Another function under the first tool's name."""

    def add_lines(path: str, count: int) -> str:
        """Add something else.

        Args:
            path: The file to change.
            count: How many lines to add.
        """
        ran.append("namesake")
        return f"namesake got {count!r} for {path}"

    return add_lines


def annotated_tools(annotation: object) -> Callable[[list[str]], list[Tool]]:
    """The two tools with another annotation on the integer of the first."""

    def make(ran: list[str]) -> list[Tool]:
        tools = make_tools(ran)
        tools[0].__annotations__["count"] = annotation
        return tools

    return make


def tools_for(fault: str, ran: list[str]) -> list[Tool]:
    """The tools registered for one fault."""
    tools = make_tools(ran)
    return [tools[0], make_namesake(ran)] if fault == "same_name" else tools


# --- 3. Judging -----------------------------------------------------------------------


def quote(text: str) -> str:
    """An answer on one line, cut to ``QUOTED`` characters."""
    line = " ".join(text.split())
    return f'"{line}"' if len(line) <= QUOTED else f'"{line[:QUOTED]}..."'


def told(answer: Answer) -> str:
    """The sentence that quotes what the model was told."""
    mark = answer.mark or "not marked as an error"
    return f"The model was told {quote(answer.text)} ({mark})."


def judge_same_name(played: Played, noise: list[str]) -> Cell:
    """Which of two tools under one name answers."""
    times = {1: "once", 2: "twice"}[played.shown.count(TOOL)]
    shown = f"the model was shown the name {times}"
    warned = f"a warning was logged ({quote(noise[0])})" if noise else "nothing warned"
    answer = played.answers[0].text
    word = "last_wins" if "namesake" in answer else "first_wins"
    which = "second" if word == "last_wins" else "first"
    return Cell(word, f"The {which} tool answered; {shown}; {warned}.")


def judge_checked(answer: Answer, culprit: str) -> Cell:
    """Unknown tool, missing, wrong or extra argument: did the body run?"""
    if "added 3" in answer.text:
        word = "dropped" if culprit == "mode" else "coerced"
        return Cell(word, f"The handler ran; the model was told {quote(answer.text)}.")
    if "added '3'" in answer.text:
        return Cell("unchecked", f"The text reached the handler. {told(answer)}")
    named = culprit in answer.text
    return Cell("error_result" if named else "vague", told(answer))


def copy_note(what: str, is_copy: bool) -> str:
    """A sentence on a second schema that was edited too."""
    return f" {what} is {'a copy' if is_copy else 'live too'}."


def judge_raising(answer: Answer) -> Cell:
    """Is the path or the token of the exception in what the model was told?"""
    seen = [part for part in (SECRET_PATH, SECRET_TOKEN) if part in answer.text]
    shown = "path and token shown" if len(seen) == 2 else f"shown: {seen or 'nothing'}"
    return Cell("leaked" if seen else "hidden", f"{told(answer)[:-1]}; {shown}.")


def judge_batch(played: Played) -> Cell:
    """Was the second call answered although the first raised?"""
    second = played.text_of("c2")
    if second is not None and "added 3" in second:
        first = "the first call has an answer too"
        first = first if played.text_of("c1") else "the first call has no answer"
        return Cell("siblings_run", f"The second call was answered; {first}.")
    first = quote(played.answers[0].text)
    return Cell("siblings_lost", f"The model was told {first} and no second answer.")


def judge_raised(fault: str, error: Exception) -> Cell:
    """The exception left the framework."""
    kind, text = type(error).__name__, quote(str(error))
    if fault == "same_name":
        return Cell("refused", f"{kind} before any call ran: {text}.")
    if fault == "batch_first_raises":
        return Cell("siblings_lost", f"{kind} ended the run; no call has an answer.")
    return Cell("raised", f"{kind} ended the run ({text}); the model was told nothing.")


def judge_edit(edited: Edited) -> Cell:
    """Did the edit reach the next listing, and did it reach the check?"""
    listed = f"Listed as {edited.before!r}, then {edited.after!r}"
    then = f'the call with "three" then got {quote(edited.answer)}'
    word = "unchanged"
    if edited.after != edited.before:
        ran = "added 'three'" in edited.answer
        word = "check_changed" if ran else "listing_changed"
    return Cell(word, f"{listed}; {then}.{edited.note}")


def judge(fault: str, played: Played, noise: list[str]) -> Cell:
    """The cell of a run that ended without an exception."""
    if fault == "same_name":
        return judge_same_name(played, noise)
    if fault == "batch_first_raises":
        return judge_batch(played)
    if fault == "raising_handler":
        return judge_raising(played.answers[0])
    return judge_checked(played.answers[0], FAULTS[fault][1])


# --- 4. The adapter for the drill of s02 ----------------------------------------------

SCALARS = {"string": str, "integer": int}


def annotation(schema: dict) -> object:
    """The type that frameworks read, as strict as the schema."""
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    if schema["type"] == "array":
        return list[annotation(schema["items"])]
    if schema["type"] == "object":
        return make_dataclass("Nested", fields_of(schema), kw_only=True)
    return SCALARS[schema["type"]]


def fields_of(schema: dict) -> list[tuple]:
    """The properties of an object, as the fields of a dataclass."""
    return [
        (name, annotation(one), *([] if name in schema["required"] else [None]))
        for name, one in schema["properties"].items()
    ]


def as_parameter(name: str, kind: object, *default: object) -> inspect.Parameter:
    """A field as a parameter; without a default it is required."""
    given = default[0] if default else inspect.Parameter.empty
    by_name = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, by_name, annotation=kind, default=given)


def typed(tool: object) -> Tool:
    """A tool of the drill as the annotated function that frameworks read."""

    def function(**arguments: object) -> object:
        return tool.handler(**arguments)

    if inspect.iscoroutinefunction(tool.handler):  # frameworks look for this

        async def function(**arguments: object) -> object:
            return await tool.handler(**arguments)

    parameters = [as_parameter(*one) for one in fields_of(tool.input_schema)]
    told = "".join(f"    {one.name}: A value.\n" for one in parameters)
    function.__signature__ = inspect.Signature(parameters, return_annotation=Any)
    types = {one.name: one.annotation for one in parameters}
    function.__annotations__ = {**types, "return": Any}
    function.__name__ = function.__qualname__ = tool.name
    function.__doc__ = f"{tool.description}\n\nArgs:\n{told}"
    return function


def build_with(play: Play) -> Callable[[list], Callable[[list[dict]], list[dict]]]:
    """The driver as the drill wants it: ``build(tools)`` returns ``run(blocks)``."""

    def build(tools: list) -> Callable[[list[dict]], list[dict]]:
        functions = [typed(tool) for tool in tools]

        def run(blocks: list[dict]) -> list[dict]:
            calls = [Call(use["id"], use["name"], use["input"]) for use in blocks]
            return [
                {
                    "type": "tool_result",
                    "tool_use_id": answer.call_id,
                    "content": answer.text,
                    "is_error": answer.mark is not None,
                }
                for answer in play(calls, functions).answers
            ]

        return run

    return build


# --- 5. Running and printing ----------------------------------------------------------


class Noise(logging.Handler):
    """Collects the warnings a framework logs."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def observe(fault: str, play: Play, make: Callable[[list[str]], list[Tool]]) -> Cell:
    """Play one fault and judge it; what escapes is judged, not raised."""
    noise = Noise()
    logging.getLogger().addHandler(noise)
    try:
        played = play(FAULTS[fault][0], make([]))
    except Exception as error:  # the point of the exercise: does anything escape?
        return judge_raised(fault, error)
    finally:
        logging.getLogger().removeHandler(noise)
    return judge(fault, played, noise.lines)


def second_ran(play: Play) -> str:
    """How often the body of a lost second call had been entered all the same."""
    entered = []
    for _ in range(TRIES):
        ran: list[str] = []
        with contextlib.suppress(Exception):  # judged already; the traces count here
            play(FAULTS["batch_first_raises"][0], make_tools(ran))
        entered.append("add_lines" in ran)
    often = "all" if all(entered) else "some" if any(entered) else "none"
    return f" The second handler had run in {often} of {TRIES} runs."


def control(play: Play) -> None:
    """A good call must be answered, else a driver's slip would pass for a fault."""
    answer = play([GOOD], make_tools([])).text_of(GOOD.id)
    if answer is None or "added 3" not in answer:
        raise SystemExit(f"the driver cannot make a good call: {answer!r}")


def observe_switch(fault: str, switch: Switch | None) -> dict[str, object]:
    """The switch by name, and the outcome with it on."""
    if switch is None:
        return {"switch": None, "with_switch": None}
    make = switch.tools or (lambda ran: tools_for(fault, ran))
    cell = observe(fault, switch.play, make)
    return {"switch": switch.symbol, "with_switch": cell.outcome}


def observe_all(
    play: Play, play_edit: Callable[[], Edited], switches: dict[str, Switch]
) -> dict[str, dict[str, object]]:
    """All eight cells, in order."""
    cells: dict[str, dict[str, object]] = {}
    for fault in FAULTS:
        cell = observe(fault, play, lambda ran, fault=fault: tools_for(fault, ran))
        lost = second_ran(play) if cell.outcome == "siblings_lost" else ""
        cells[fault] = {"outcome": cell.outcome, "observed": cell.observed + lost}
        cells[fault] |= observe_switch(fault, switches.get(fault))
    edit = judge_edit(play_edit())
    cells["edited_catalogue"] = {"outcome": edit.outcome, "observed": edit.observed}
    cells["edited_catalogue"] |= observe_switch("edited_catalogue", None)
    return cells


def main(
    distribution: str,
    play: Play,
    play_edit: Callable[[], Edited],
    switches: dict[str, Switch],
) -> None:
    """Drive one framework through the eight faults and print the document."""
    quiet()
    control(play)
    document = {
        "framework": distribution,
        "version": importlib.metadata.version(distribution),
        "python": platform.python_version(),
        "date": DATE,
        "faults": observe_all(play, play_edit, switches),
    }
    print(json.dumps(document, indent=2))


def quiet() -> None:
    """Keep frameworks from printing warnings; a benchmark calls this once."""
    warnings.simplefilter("ignore")
    logging.getLogger().addHandler(logging.NullHandler())


def caught(job: Callable[[], object]) -> Callable[[], object]:
    """The job with an escaping exception returned, so that it can be timed."""

    def run() -> object:
        try:
            return job()
        except Exception as error:  # timed like any other way to fail
            return error

    return run
