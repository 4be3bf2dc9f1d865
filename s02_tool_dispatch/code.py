#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = ["anthropic>=2,<3", "python-dotenv"]
# ///
"""The agent loop of s01 with five tools behind one boundary.

    tool_use -> look up -> validate -> run -> result -> tool_result
                   |          |         |        |
               unknown    invalid    failed   made storable, bounded

Whatever the model or the world does wrong comes back as a result with a code.
Run it without a key:   python3 s02_tool_dispatch/code.py --demo
Talk to a real model:   python3 s02_tool_dispatch/code.py    (reads .env: README)
"""

from __future__ import annotations

import codecs
import errno
import fnmatch
import functools
import inspect
import json
import math
import os
import re
import signal
import stat
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from enum import Enum
from io import BufferedReader
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

Block = dict[str, Any]  # one content block of the Messages API
Message = dict[str, Any]  # {"role": ..., "content": ...}
History = list[Message]
Show = Callable[[Message], None]

MAX_TURNS = 50  # requests in one call of agent_loop
MAX_TOKENS = 16_000  # per reply; over 21,333 the SDK wants streaming
MAX_DEPTH = 100  # nesting of arguments and schemas
MAX_RESULT_CHARS = 30_000  # of one tool result
MAX_WORKERS = 16  # threads of one batch
MAX_PROBLEMS = 10  # named in one refusal
MAX_PATH_CHARS = 4_096  # of a path or a pattern
MAX_EDIT_BYTES = 64 * 2**20  # of a file that is edited
MAX_MATCHES = 200  # shown by glob
MAX_GLOB_STEPS = 2_000_000  # names compared by one glob
TIMEOUT_SECONDS = 120  # of one command, unless the call says otherwise
DEFAULT_MODEL = "claude-sonnet-5-5"
NOT_JSON = (TypeError, ValueError, RecursionError)  # what json raises


# --- 1. Words (carried from s01) ---


@dataclass(frozen=True)
class ToolCall:
    """One call as the model made it: `name` and `arguments` are untrusted."""

    tool_use_id: str
    name: object
    arguments: object


class LoopStopReason(str, Enum):
    """Why `agent_loop` returned."""

    FINAL_ANSWER = "final_answer"
    MAX_TOKENS = "max_tokens"
    MAX_TURNS = "max_turns"
    REFUSAL = "refusal"
    CONTEXT_WINDOW_EXCEEDED = "context_window_exceeded"
    NO_ANSWER = "no_answer"

    __str__ = str.__str__  # prints as its value on every Python


class Usage(NamedTuple):
    """Tokens, by the provider's own names; 0 where it says nothing."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0

    def plus(self, other: Usage) -> Usage:
        """The sums, count by count."""
        return Usage(*map(sum, zip(self, other, strict=True)))


@dataclass(frozen=True)
class AgentLoopResult:
    """What one run of the loop did; `tool_calls` counts the calls the model made."""

    stop_reason: LoopStopReason
    turns: int
    tool_calls: int
    final_text: str
    provider_stop_reason: str | None
    usage: Usage


class ToolsInterrupted(KeyboardInterrupt):
    """Ctrl-C while tools ran; `blocks` holds one tool_result for every call."""

    def __init__(self, blocks: list[Block]) -> None:
        super().__init__("interrupted while tools ran")
        self.blocks = blocks


class ProviderError(Exception):
    """No usable reply; the text is one sentence for the user, without any secret."""


def tool_result(tool_use_id: str, text: str, is_error: bool) -> Block:
    """The block that answers one tool_use; the API refuses an error without text."""
    block: Block = {"type": "tool_result", "tool_use_id": tool_use_id, "content": text}
    return {**block, "is_error": True} if is_error else block


def encodable(text: str) -> str:
    """The text without lone surrogates, which UTF-8 cannot carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


# --- 2. Results and errors (new) ---

NO_OUTPUT = "(no output)"
OUTCOME_UNKNOWN = "interrupted while it ran: its outcome is unknown, look first"
NOT_RUN = "interrupted before it started: not run"


class ToolErrorCode(str, Enum):
    """The boundary's own codes; a tool adds codes of its own with ToolFailure."""

    UNKNOWN_TOOL = "unknown_tool"
    INVALID_ARGUMENTS = "invalid_arguments"
    EXECUTION_ERROR = "execution_error"
    CANCELLED = "cancelled"

    __str__ = str.__str__


class ToolFailure(ValueError):
    """A failure that its raiser expects: `message` is written for the model."""

    message = "the tool failed"  # these two for a subclass with an __init__ of its own
    code = str(ToolErrorCode.EXECUTION_ERROR)

    def __init__(self, message: str, code: str = ToolErrorCode.EXECUTION_ERROR) -> None:
        super().__init__(message)
        self.message, self.code = str(message), str(code or self.code)


class ToolDispatchResult(NamedTuple):
    """What one call came to; `error_code` is None for success."""

    call: ToolCall
    content: str
    error_code: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the tool did what was asked."""
        return self.error_code is None

    def to_protocol_block(self) -> Block:
        """The tool_result block; the API refuses an error with a blank text."""
        text = self.content if self.ok or self.content.strip() else NO_OUTPUT
        return tool_result(self.call.tool_use_id, text, is_error=not self.ok)


@dataclass(frozen=True)
class TraceRecord:
    """One finished, refused or cancelled call, for the operator and not for the model.

    `started` and `seconds` are of time.monotonic(); `outcome` is "ok" or the error
    code, `chars` the length of the content, `detail` the traceback with its causes.
    """

    tool_use_id: str
    name: str
    started: float
    seconds: float
    outcome: str
    chars: int
    detail: str


def failed(call: ToolCall, error: BaseException) -> ToolDispatchResult:
    """The result for a call that ended with `error`; a surprise shows only its type."""
    if isinstance(error, ToolFailure):
        text, code = error.message, error.code
    elif isinstance(error, KeyboardInterrupt):
        text, code = OUTCOME_UNKNOWN, str(ToolErrorCode.CANCELLED)
    else:
        text = f"unexpected {type(error).__name__} inside the tool: try another way"
        code = str(ToolErrorCode.EXECUTION_ERROR)
    return ToolDispatchResult(call, storable_text(f"Error [{code}]: {text}"), code)


def result_text(returned: object) -> str:
    """A handler's return value as text; ToolFailure if it is no text and no JSON."""
    if isinstance(returned, str):
        return str.__str__(returned) or NO_OUTPUT  # of a subclass, only its characters
    if returned is None:
        return NO_OUTPUT
    if inspect.isawaitable(returned):
        return result_text(awaited(returned))
    try:
        return json.dumps(returned, ensure_ascii=False, allow_nan=False)
    except NOT_JSON as error:
        kind = type(returned).__name__
        raise ToolFailure(f"the tool returned no text or JSON but {kind}") from error


def storable_text(text: str) -> str:
    """The one choke point of every content: it can be sent, and it is bounded."""
    if not text.isascii():
        text = encodable(text)
    text = text.replace("\0", "\ufffd")
    if len(text) <= MAX_RESULT_CHARS:
        return text
    half = (MAX_RESULT_CHARS - 100) // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n[... {left_out} characters left out ...]\n{text[-half:]}"


# --- 3. The schema, compiled (new) ---

Check = Callable[[object], list[str]]
Compile = Callable[[Block], Check]
Problem = tuple[str, str]  # where, as ".edits[2].path", and what is wrong there
JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}
JSON_TYPES |= {dict: "object", list: "array", type(None): "null"}
ANNOTATIONS = {"title", "description", "default", "examples", "format", "deprecated"}
ANNOTATIONS |= {"$schema", "$comment"}
# keyword -> (whether its value can be enforced, what that value must be)
KEYWORDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "type": (lambda value: value in list(JSON_TYPES.values()), "the name of one type"),
    "properties": (lambda value: type(value) is dict, "an object"),
    "required": (lambda value: are_names(value), "a list of different names"),
    "additionalProperties": (lambda value: type(value) is bool, "true or false"),
    "items": (lambda value: type(value) is dict, "a schema object"),
    "enum": (lambda value: type(value) is list and value != [], "a list with values"),
    "minimum": (lambda value: type(value) in (int, float), "a number"),
    "maximum": (lambda value: type(value) in (int, float), "a number"),
}


def are_names(value: object) -> bool:
    """Whether this is a list of texts, each there once."""
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        return False
    return len(set(value)) == len(value)


def compile_schema(schema: object) -> Check:
    """Return a function that lists what is wrong with a value: nothing if it is valid.

    The subset means what JSON Schema draft 2020-12 says, and nothing is coerced. Raises
    ValueError, with the path, for whatever cannot be enforced to the letter.
    """
    try:
        plain = json.loads(json.dumps(schema, allow_nan=False))
    except NOT_JSON as error:
        raise ValueError(f"schema is not JSON: {type(error).__name__}") from error
    if not isinstance(plain, dict) or plain.get("type") != "object":
        raise ValueError('schema.type must be "object" at the root')
    refuse_unless_enforceable(plain, "schema", 0)

    def check(value: object) -> list[str]:
        first = islice(problems_in(plain, value, 0), MAX_PROBLEMS + 1)
        told = [f"{where[1:] or 'arguments'} {what}" for where, what in first]
        return [*told[:MAX_PROBLEMS], "and more"] if len(told) > MAX_PROBLEMS else told

    return check


def refuse_unless_enforceable(schema: object, where: str, depth: int) -> None:
    """Half understood is worse than not: ValueError names the path and the reason."""
    if depth > MAX_DEPTH:
        raise ValueError(f"{where[:200]}... is nested deeper than {MAX_DEPTH}")
    if not isinstance(schema, dict):
        raise ValueError(f"{where} must be a schema object")
    for keyword, value in schema.items():
        if keyword not in KEYWORDS and keyword not in ANNOTATIONS:
            raise ValueError(f"{where}.{keyword} is a keyword not enforced here")
        usable, must_be = KEYWORDS.get(keyword, (lambda value: True, ""))
        if not usable(value):
            raise ValueError(f"{where}.{keyword} must be {must_be}")
    properties = schema.get("properties", {})
    unknown = set(schema.get("required", [])) - set(properties)
    if unknown and schema.get("additionalProperties") is False:
        raise ValueError(f"{where}.required: {sorted(unknown)} can never be given")
    for name, part in properties.items():
        refuse_unless_enforceable(part, f"{where}.properties.{name}", depth + 1)
    if "items" in schema:
        refuse_unless_enforceable(schema["items"], f"{where}.items", depth + 1)


def problems_in(schema: Block, value: Any, depth: int) -> Iterable[Problem]:
    """What is wrong with a value or anywhere inside it; `where` grows on the way up."""
    problem = misfit(schema, value, depth)
    if problem:
        return [("", problem)]
    if isinstance(value, dict):
        return problems_in_object(schema, value, depth)
    if isinstance(value, list):
        return problems_in_list(schema, value, depth)
    return []


def problems_in_list(schema: Block, value: list[Any], depth: int) -> Iterator[Problem]:
    """Check each item."""
    for index, item in enumerate(value):
        for where, what in problems_in(schema.get("items", {}), item, depth + 1):
            yield f"[{index}]{where}", what


def problems_in_object(schema: Block, value: Block, depth: int) -> Iterator[Problem]:
    """Check what is there, then say what is missing."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    for name, item in value.items():
        if not isinstance(name, str):
            yield "", "has a name that is no text"
        elif name not in properties and schema.get("additionalProperties") is False:
            accepted = ", ".join(properties)[:500] or "nothing"
            yield f".{name[:100]}", f"is unexpected; accepted: {accepted}"
        else:
            advice = ": omit it" if item is None and name not in required else ""
            for where, what in problems_in(properties.get(name, {}), item, depth + 1):
                yield f".{name[:100]}{where}", what + advice
    for name in required:
        if name not in value:
            yield f".{name[:100]}", "is missing"


def misfit(schema: Block, value: Any, depth: int) -> str:
    """What is wrong with this value itself; empty if it fits."""
    kind = JSON_TYPES.get(type(value))
    if kind is None:
        return f"is no JSON value ({type(value).__name__})"
    if depth >= MAX_DEPTH and kind in ("array", "object"):
        return f"is nested deeper than {MAX_DEPTH}"
    if isinstance(value, float) and not math.isfinite(value):
        return "must be a finite number"
    wanted = schema.get("type", kind)
    if wanted != kind and not is_also(wanted, kind, value):
        return f"must be {'an' if wanted[0] in 'aio' else 'a'} {wanted}, got {kind}"
    if kind in ("integer", "number"):
        if "minimum" in schema and value < schema["minimum"]:
            return f"must be at least {schema['minimum']}"
        if "maximum" in schema and value > schema["maximum"]:
            return f"must be at most {schema['maximum']}"
    if "enum" in schema and not any(same(value, other) for other in schema["enum"]):
        choices = json.dumps(schema["enum"], ensure_ascii=False)[1:-1]
        return f"must be one of {choices[:500]}"
    return ""


def is_also(wanted: str, kind: str, value: Any) -> bool:
    """In draft 2020-12 an integer is a number too, and 5.0 an integer."""
    if wanted == "integer" and kind == "number":
        return bool(value.is_integer())
    return wanted == "number" and kind == "integer"


def same(left: Any, right: Any) -> bool:
    """JSON equality: 1 equals 1.0, and true equals no number, at any depth."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        if left.keys() != right.keys():
            return False
        return all(same(left[key], right[key]) for key in left)
    comparable = isinstance(left, bool) == isinstance(right, bool)
    return comparable and type(left) in JSON_TYPES and bool(left == right)


def object_schema(properties: Block, required: Sequence[str] = ()) -> Block:
    """A closed object schema: what is not listed is refused."""
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {**schema, "additionalProperties": False}


# --- 4. The registry (new) ---

Handler = Callable[..., object]
Trace = Callable[[TraceRecord], None]


@dataclass(frozen=True)
class ToolSpec:
    """One registration: what the model sees, what runs, how it may run, whose it is."""

    name: str
    description: str
    input_schema: Block
    handler: Handler
    concurrent_safe: bool = False
    source: str = "builtin"

    def model_schema(self) -> Block:
        """The part that is sent to the model, detached from this object."""
        parts = ("name", "description", "input_schema")
        shown = {part: getattr(self, part) for part in parts}
        copy: Block = json.loads(json.dumps(shown, allow_nan=False))
        return copy


class RegisteredTool(NamedTuple):
    """A spec that was accepted, its compiled check and its canonical JSON text."""

    spec: ToolSpec
    check: Check
    text: str


class ToolRegistry:
    """The one way from a call to a handler.

    Registration fails strictly, with ValueError; dispatch fails structurally, with a
    result. It guesses no names, retries nothing, asks nobody and remembers no call.
    """

    def __init__(
        self,
        compile_schema: Compile = compile_schema,
        trace: Trace | None = None,
    ) -> None:
        self._compile_schema = compile_schema
        self._trace = trace
        self._trace_failed = False
        self._tools: dict[str, RegisteredTool] = {}
        self._frozen = False

    def register(self, *specs: ToolSpec) -> None:
        """Accept all specs or, with a ValueError that names tool and source, none."""
        tools = dict(self._tools)
        for spec in specs:
            if not isinstance(spec, ToolSpec):
                raise ValueError(f"register takes ToolSpecs, got {type(spec).__name__}")
            try:
                if self._frozen:
                    raise ValueError("the registry is frozen")
                tool = accepted(spec, self._compile_schema)
                if spec.name in tools:
                    taken = tools[spec.name].spec.source
                    raise ValueError(f"the name is taken by a tool from {taken!r}")
            except (TypeError, ValueError, RecursionError) as error:
                who = f"tool {spec.name!r} from {spec.source!r}"
                raise ValueError(f"{who}: {error}") from error
            tools[spec.name] = tool
        self._tools = dict(sorted(tools.items()))  # one step, for who lists meanwhile

    def freeze(self) -> None:
        """Refuse every later registration."""
        self._frozen = True

    def definitions(self) -> list[Block]:
        """Every tool but its handler, detached, sorted by name."""
        flags = ("concurrent_safe", "source")
        return [
            json.loads(tool.text) | {flag: getattr(tool.spec, flag) for flag in flags}
            for tool in self._tools.values()
        ]

    def get(self, name: str) -> Block | None:
        """One of the definitions; None if there is none of that name."""
        return next((d for d in self.definitions() if d["name"] == name), None)

    def model_schemas(self) -> list[Block]:
        """What to send as `tools`: the same bytes for the same tools."""
        schemas: list[Block] = json.loads(self._catalogue())
        return schemas

    def catalog_hash(self) -> str:
        """SHA-256 of the very text that `model_schemas` is read from."""
        import hashlib

        return hashlib.sha256(self._catalogue().encode()).hexdigest()

    def dispatch(self, call: ToolCall) -> ToolDispatchResult:
        """Look up, check, run; every failure but Ctrl-C comes back as a result."""
        started = time.monotonic()
        try:
            tool = self._find(call.name)
            if tool is None:
                raise ToolFailure(self._unknown(call.name), ToolErrorCode.UNKNOWN_TOOL)
            problems = tool.check(call.arguments)
            if problems:
                text = "; ".join(problems)
                raise ToolFailure(text, ToolErrorCode.INVALID_ARGUMENTS)
            returned = tool.spec.handler(**call.arguments)  # type: ignore[arg-type]
            result = ToolDispatchResult(call, storable_text(result_text(returned)))
        except BaseException as error:  # the boundary: a tool may raise anything
            result = failed(call, error)
            self._record(result, started, error)
            if isinstance(error, KeyboardInterrupt):
                raise
            return result
        self._record(result, started)
        return result

    def dispatch_many(self, calls: Sequence[ToolCall]) -> list[ToolDispatchResult]:
        """One result per call, in call order; ToolsInterrupted on Ctrl-C.

        Calls run side by side only if each of them names a concurrent_safe tool.
        """
        results: list[Any] = [None] * len(calls)
        waiting = deque(range(len(calls)))

        def work() -> None:
            for index in each_once(waiting):
                results[index] = self.dispatch(calls[index])

        try:
            if len(calls) > 1 and all(map(self._may_overlap, calls)):
                run_in_threads(work, min(len(calls), MAX_WORKERS))
            else:
                work()
        except KeyboardInterrupt:
            for index in each_once(waiting):  # what no thread has begun, none will
                not_run = ToolFailure(NOT_RUN, ToolErrorCode.CANCELLED)
                results[index] = failed(calls[index], not_run)
                self._record(results[index], time.monotonic())
            begun = [failed(call, KeyboardInterrupt()) for call in calls]
            answers = [result or begun[i] for i, result in enumerate(results)]
            raise ToolsInterrupted([a.to_protocol_block() for a in answers]) from None
        return results

    def _find(self, name: object) -> RegisteredTool | None:
        return self._tools.get(name) if type(name) is str else None

    def _may_overlap(self, call: ToolCall) -> bool:
        tool = self._find(call.name)
        return tool is not None and tool.spec.concurrent_safe

    def _unknown(self, name: object) -> str:
        asked = repr(name[:100]) if isinstance(name, str) else "without a name"
        known = ", ".join(self._tools) or "none"
        return f"there is no tool {asked}; the tools are: {known[:2000]}"

    def _catalogue(self) -> str:
        return f"[{','.join(tool.text for tool in self._tools.values())}]"

    def _record(
        self,
        result: ToolDispatchResult,
        started: float,
        error: BaseException | None = None,
    ) -> None:
        """Write the call's one trace record; a sink that fails harms nothing."""
        if self._trace is None:
            return
        try:
            self._trace(trace_record(result, started, error))
        except Exception as failure:  # the sink is foreign code: the result is kept
            if not self._trace_failed:
                self._trace_failed = True
                kind = type(failure).__name__
                print(f"The trace failed ({kind}); going on.", file=sys.stderr)


def accepted(spec: ToolSpec, compile_schema: Compile) -> RegisteredTool:
    """Compile one spec; ValueError or TypeError says why it is refused."""
    name = spec.name if isinstance(spec.name, str) else ""
    if not re.fullmatch("[A-Za-z0-9_-]{1,64}", name):
        raise ValueError("a name is 1 to 64 of A-Z, a-z, 0-9, _ and -")
    if not isinstance(spec.description, str) or not spec.description.strip():
        raise ValueError("the description is blank")
    shown = spec.model_schema()
    check = compile_schema(shown["input_schema"])
    refuse_unless_callable_with(spec.handler, shown["input_schema"])
    text = json.dumps(shown, ensure_ascii=False, sort_keys=True)
    text.encode()  # UnicodeEncodeError: a lone surrogate could never be sent
    return RegisteredTool(spec, check, text)


def refuse_unless_callable_with(handler: Handler, schema: Block) -> None:
    """The handler must take all that the schema lets through, and need no more."""
    if not callable(handler):
        raise ValueError("the handler is not callable")
    properties, required = schema.get("properties", {}), schema.get("required", [])
    all_sets = [list(properties), required]
    if schema.get("additionalProperties") is not False:
        all_sets.append([*properties, "any other field"])
    function, given, named = unbound(handler)
    for names in all_sets:
        try:
            arguments = {**named, **dict.fromkeys(names)}
            inspect.signature(function).bind(*given, **arguments)
        except TypeError as error:
            raise ValueError(f"handler and schema do not fit: {error}") from error


def unbound(handler: Any) -> tuple[Any, list[object], Block]:
    """The function behind a handler, with what a method or a partial gives it already.

    `signature` hides those parameters, and a field of the same name would meet them.
    """
    if isinstance(handler, functools.partial):
        function, first, named = unbound(handler.func)
        return function, [*first, *handler.args], {**named, **handler.keywords}
    if inspect.ismethod(handler):
        return handler.__func__, [handler.__self__], {}
    call = type(handler).__call__
    if inspect.isfunction(call):  # an object of a class that defines __call__
        return call, [handler], {}
    return handler, [], {}


# --- 5. The loop (changed from s01) ---

CUT_SHORT = "Error: the reply was cut off, perhaps inside this call: it was not run."


def agent_loop(
    messages: History,
    provider: Any,
    registry: ToolRegistry,
    max_turns: int = MAX_TURNS,
    show: Show = lambda message: None,
) -> AgentLoopResult:
    """Ask the provider and run the tools it calls until there is a reason to stop.

    `messages` grows in place, and at every moment each tool_use in it is answered in
    the next message. `provider.create(messages, tools)` returns a reply. Raises
    ValueError if `max_turns` is below 1, ToolsInterrupted, and what `create` raises.
    """
    if max_turns < 1:
        raise ValueError(f"max_turns must be at least 1, got {max_turns}")
    tools = registry.model_schemas()
    seen_ids = used_ids(messages)
    usage = Usage()
    made = turns = 0
    while turns < max_turns:
        turns += 1
        turn = AgentTurn.from_response(provider.create(messages, tools), seen_ids)
        made += len(turn.tool_calls)
        usage = usage.plus(turn.usage)
        stop_reason = turn.why_stop()
        if turn.enters_history():
            reply = {"role": "assistant", "content": turn.content}
            show(reply)
            try:
                if stop_reason is None:
                    dispatched = registry.dispatch_many(list(turn.tool_calls))
                    results = [result.to_protocol_block() for result in dispatched]
                else:
                    results = cut_short(turn.tool_calls)
            except ToolsInterrupted as interrupted:
                append_round(messages, reply, interrupted.blocks, show)
                raise
            append_round(messages, reply, results, show)
        if stop_reason is not None:
            break
    stop_reason = stop_reason or LoopStopReason.MAX_TURNS
    said = turn.provider_stop_reason
    return AgentLoopResult(stop_reason, turns, made, turn.text, said, usage)


def cut_short(calls: Sequence[ToolCall]) -> list[Block]:
    """The answers to calls of a reply that was cut off: the last may be half a call."""
    return [tool_result(call.tool_use_id, CUT_SHORT, is_error=True) for call in calls]


def append_round(
    messages: History, reply: Message, results: list[Block], show: Show
) -> None:
    """Store a reply and its results in one step: no call is ever left unanswered."""
    answer = [{"role": "user", "content": results}] if results else []
    messages += [reply, *answer]
    for message in answer:
        show(message)


# --- 6. Threads and the trace (new) ---


def each_once(waiting: deque[int]) -> Iterator[int]:
    """Hand out what waits; `popleft` gives each index to one thread, GIL or not."""
    with suppress(IndexError):  # nothing waits any more
        while True:
            yield waiting.popleft()


def run_in_threads(work: Callable[[], None], count: int) -> None:
    """Let `count` threads do `work`; a KeyboardInterrupt in one of them is raised here.

    Ctrl-C gets through at once; what then still runs ends when it ends.
    """
    import contextvars
    import queue
    import threading

    finished: queue.SimpleQueue[bool] = queue.SimpleQueue()

    def guarded() -> None:
        try:
            work()
            finished.put(True)
        except KeyboardInterrupt:
            finished.put(False)

    started = 0
    with suppress(RuntimeError):  # no more threads to be had: go on with these
        while started < count:
            run = contextvars.copy_context().run
            threading.Thread(target=run, args=(guarded,), daemon=True).start()
            started += 1
    if not started:
        work()
    for _ in range(started):
        if not finished.get():
            raise KeyboardInterrupt


def awaited(awaitable: Any) -> object:
    """What an awaitable gives; ToolFailure where an event loop is running already."""
    import asyncio

    async def whole() -> object:
        return await awaitable

    try:
        asyncio.get_running_loop()
    except RuntimeError:  # none is running: this is the normal case
        return asyncio.run(whole())
    getattr(awaitable, "close", lambda: None)()
    raise ToolFailure("an async tool cannot be dispatched inside a running event loop")


def trace_record(
    result: ToolDispatchResult, started: float, error: BaseException | None
) -> TraceRecord:
    """The record of one call; `detail` holds the traceback, with causes and notes."""
    import traceback

    seconds = time.monotonic() - started
    detail = "" if error is None else "".join(traceback.format_exception(error))
    name = result.call.name if isinstance(result.call.name, str) else ""
    outcome = "ok" if result.error_code is None else result.error_code
    id_, chars = result.call.tool_use_id, len(result.content)
    return TraceRecord(id_, name, started, seconds, outcome, chars, detail)


# --- 7. The workspace and its file tools (new) ---

HEAVY = {".git", "node_modules", "__pycache__", ".venv"}  # glob skips them unless named
PAGE_CHARS = MAX_RESULT_CHARS - 300  # leaves room for a page's closing line
PAGE_BYTES = 4 * PAGE_CHARS + 4  # hold more characters of UTF-8 than a page
UTF_16 = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE  # at the start of a file
ONE_CHANGE = Lock()  # in this process one file is changed at a time
UNUSABLE_PATH = re.compile(  # a home folder, a drive, a URL; a folder's name; the rest
    r"^~|^[A-Za-z][\w+.-]*:/|/\.?\Z|[\0\\\r\n\ud800-\udfff]"
)
ASK = "leave it, or ask the user"
ERRNO_CODES = {  # the code of a failure, and a next step that fits its cause
    errno.ENOENT: ("file_not_found", "use glob to find the name"),
    errno.EISDIR: ("is_a_directory", "use glob to list what is in it"),
    errno.ENOTDIR: ("not_a_directory", "a part is a file: use glob to look"),
    errno.EACCES: ("permission_denied", ASK),
    errno.EPERM: ("permission_denied", ASK),
    errno.EROFS: ("permission_denied", "nothing can be written there: write elsewhere"),
    errno.ENAMETOOLONG: ("name_too_long", "choose a shorter name"),
    errno.ENXIO: ("not_a_file", "only regular files can be read and written"),
    errno.ELOOP: (str(ToolErrorCode.EXECUTION_ERROR), "use a path without this loop"),
    errno.EBUSY: ("io_error", "mounted or in use: change it in place, with bash"),
    errno.ENOSPC: ("io_error", "make room on the disk, or ask the user"),
    errno.EDQUOT: ("io_error", "make room on the disk, or ask the user"),
    errno.EMFILE: ("io_error", "make fewer calls at once, or ask the user"),
}
Fingerprint = tuple[int, ...]


@contextmanager
def told_as_failure(path: str) -> Iterator[None]:
    """Turn any OSError into a ToolFailure with a code, naming the path as given."""
    try:
        yield
    except OSError as error:
        code, step = ERRNO_CODES.get(error.errno or 0, ("io_error", ASK))
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        raise ToolFailure(f"{reason}: {path} ({step})", code) from error


def utf8(text: str, what: str, code: str = "not_text") -> bytes:
    """The bytes of a text; a lone surrogate has none."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        text = f"{what} holds half of a surrogate pair: write it again without"
        raise ToolFailure(text, code) from error


class Workspace:
    """One folder and the five tools in it; no argument of the model can change it."""

    def __init__(self, root: Path | str) -> None:
        """`root` must exist: OSError if it does not, ValueError if it is no folder."""
        self.root = Path(root).resolve(strict=True)
        if not self.root.is_dir():
            raise ValueError(f"the workspace is not a folder: {root}")
        self._seen: dict[Path, Fingerprint] = {}

    def safe_path(self, path: str) -> Path:
        """Where a path leads, inside the workspace: tools work on what this returns.

        A folder that is swapped for a link after this check is not noticed.
        """
        is_text = isinstance(path, str) and len(path) <= MAX_PATH_CHARS
        if not is_text or UNUSABLE_PATH.search(path):
            text = (
                "write folder/file on one line: no ~ \\ NUL, drive or URL, and at most"
            )
            raise ToolFailure(f"{text} {MAX_PATH_CHARS} characters", "invalid_path")
        self.refuse_if_missing()
        try:
            target = (self.root / path).resolve()
            # On 3.10 to 3.12 resolve() stops half-way at a path that goes on behind a
            # link to itself. Only a path that resolves to itself is resolved wholly.
            inside = target.resolve() == target and target.is_relative_to(self.root)
        except (OSError, RuntimeError, ValueError):  # by version: a loop of links
            inside = False
        if not inside:
            raise ToolFailure(f"path escapes workspace: {path}")
        return target

    def refuse_if_missing(self) -> None:
        """The workspace may have been deleted; nothing brings it back."""
        if not self.root.is_dir():
            text = "the workspace folder is gone: ask the user"
            raise ToolFailure(text, "workspace_missing")

    def read_file(self, path: str, offset: int = 1, limit: int = 2_000) -> str:
        """Return a page of whole lines, as sed counts them, and say how to go on."""
        offset, limit = int(offset), int(limit)  # JSON's 2.0 is an integer
        target = self.safe_path(path)
        with told_as_failure(path), open_regular(target) as file:
            state = fingerprint(file.fileno())
            before = skip_lines(file, offset - 1)
            if offset > 1 and not file.peek(1):
                text = f"{path} has {before} lines: offset {offset} is past its end"
                raise ToolFailure(text, "offset_past_end")
            self._seen[target] = state  # also of what turns out to be no text
            return read_page(file, offset, limit)

    def write_file(self, path: str, content: str) -> str:
        """Store exactly `content`, in one step; what exists must have been seen."""
        text = utf8(content, "content")
        target = self.safe_path(path)
        with ONE_CHANGE, told_as_failure(path):
            old = fingerprint(target)
            if old and old != self._seen.get(target):
                reason = f"{path} was not read since it changed: read it first"
                raise ToolFailure(reason, "stale_file")
            self._seen[target] = store(target, text, old)
        return f"wrote {len(text)} bytes to {path}"

    def edit_file(self, path: str, old_text: str, new_text: str) -> str:
        """Replace the one place where `old_text` stands; no other byte changes."""
        old, new = utf8(old_text, "old_text"), utf8(new_text, "new_text")
        target = self.safe_path(path)
        with ONE_CHANGE, told_as_failure(path):
            with open_regular(target) as file:
                state = fingerprint(file.fileno())
                text = file.read(MAX_EDIT_BYTES + 1)
            if len(text) > MAX_EDIT_BYTES:
                reason = f"{path} is over {MAX_EDIT_BYTES} bytes: use bash, such as sed"
                raise ToolFailure(reason, "too_large")
            old, new = fitted_to(text, old, new)
            start = only_place(text, old, path)
            result = text[:start] + new + text[start + len(old) :]
            self._seen[target] = store(target, result, state)
        return f"edited {path} at line {line_number(text, start)}"

    def glob(self, pattern: str) -> str:
        """List the files whose path matches, sorted by code point; ** spans folders."""
        parts = pattern_parts(pattern)
        self.refuse_if_missing()
        found, complete, unreadable = walk_matches(self.root, parts)
        shown = [visible_name(name) for name in sorted(found)[:MAX_MATCHES]]
        if len(found) > MAX_MATCHES or not complete:
            total = f"{'' if complete else 'at least '}{len(found)}"
            shown.append(f"[{len(shown)} of {total} matches: use a narrower pattern]")
        if unreadable:
            shown.append(f"[{unreadable} folders could not be read]")
        return "\n".join(shown) or "(no matches)"

    def bash(self, command: str, timeout_seconds: int = TIMEOUT_SECONDS) -> str:
        """Run one command; nothing of its session is left when this returns."""
        if not command.strip():
            raise ToolFailure("the command is empty: say what to run", "empty_command")
        self.refuse_if_missing()
        return run_bash(command, self.root, timeout_seconds)


def fingerprint(place: Path | int) -> Fingerprint:
    """What changes when a file does; () if none is there, OSError if it is no file."""
    try:
        status = os.stat(place)
    except FileNotFoundError:
        return ()
    if not stat.S_ISREG(status.st_mode):
        kind = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.ENXIO
        raise OSError(kind, "not a regular file")
    times = status.st_mtime_ns, status.st_ctime_ns  # no program can put ctime back
    return status.st_dev, status.st_ino, status.st_size, *times


@contextmanager
def open_regular(target: Path) -> Iterator[BufferedReader]:
    """Open for reading; what is no regular file is refused on the open descriptor."""
    quick = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    with open(target, "rb", opener=lambda at, how: os.open(at, how | quick)) as file:
        fingerprint(file.fileno())
        yield file


def skip_lines(file: BufferedReader, count: int) -> int:
    """Go forward by `count` lines; return how many there were, fewer at the end."""
    lines, last = 0, b"\n"
    while lines < count and (
        piece := file.readline(PAGE_BYTES)
    ):  # a line may be gigabytes
        lines += piece.endswith(b"\n")
        last = piece
    return lines + (not last.endswith(b"\n"))


def read_page(file: BufferedReader, offset: int, limit: int) -> str:
    """Whole lines, as many as fit, and a closing line when there is more to say."""
    lines: list[str] = []
    size = 0
    for _ in range(limit):
        line = decoded(file.readline(PAGE_BYTES), PAGE_BYTES)
        size += len(line)
        if not line or size > PAGE_CHARS:
            break
        lines.append(line)
    if size > PAGE_CHARS and not lines:
        note = f"line {offset} is longer than a page and is cut here"
        return f"{line[:PAGE_CHARS]}\n[{note}: a next line has offset={offset + 1}]"
    page = "".join(lines)
    if offset == 1:
        page = page.removeprefix("\ufeff") or "(empty file)"
    notes = [] if page.strip() else [f"blank lines: {len(lines)}"]
    if size > PAGE_CHARS or file.peek(1):
        notes.append(f"more lines follow: go on with offset={offset + len(lines)}")
    gap = "" if page.endswith("\n") else "\n"
    return f"{page}{gap}[{'; '.join(notes)}]" if notes else page


def decoded(raw: bytes, most: int) -> str:
    """UTF-8 text, without the CR of a CRLF; of `most` bytes the last may be cut."""
    try:
        text, _ = codecs.utf_8_decode(raw, "strict", len(raw) < most)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        reason = "this is not UTF-8 text: use bash, such as file, xxd or iconv"
        raise ToolFailure(reason, "not_text")
    return text.replace("\r\n", "\n")


def store(target: Path, content: bytes, old: Fingerprint) -> Fingerprint:
    """Put a whole file at `target` in one step: over `old`, and over nothing else."""
    if old and not os.access(target, os.W_OK):
        raise OSError(errno.EACCES, "write-protected")
    made = [folder for folder in target.parents if not folder.exists()]
    hidden = target.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_hidden(hidden, content, os.stat(target) if old else None)
        if fingerprint(target) != old:
            text = f"{target.name} changed at this moment: read it again"
            raise ToolFailure(text, "stale_file")
        os.replace(hidden, target)
    finally:  # after success the one is renamed, and the others are not empty
        with suppress(OSError):
            hidden.unlink()
        for folder in made:
            with suppress(OSError):
                folder.rmdir()
    return fingerprint(target)


def write_hidden(hidden: Path, content: bytes, old: os.stat_result | None) -> None:
    """Write what will take the place of `old`: its owner and mode before any byte."""
    first = 0o600 if old else 0o666  # of which the system takes the umask away
    with open(hidden, "xb", opener=lambda at, how: os.open(at, how, first)) as file:
        if old and hasattr(os, "fchown"):  # not on Windows
            os.fchown(file.fileno(), old.st_uid, old.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
        file.write(content)


def fitted_to(text: bytes, old: bytes, new: bytes) -> tuple[bytes, bytes]:
    """The two texts of an edit as they suit a file: its CRLF, its one encoding."""
    ends = text.count(b"\n")
    if (ends and ends == text.count(b"\r\n")) or old not in text:
        old, new = (re.sub(b"\r?\n", b"\r\n", part) for part in (old, new))
    if old == new:
        raise ToolFailure("both texts are the same: give a new_text", "no_change")
    if not new.isascii() or text.startswith(UTF_16):
        decoded(text, len(text) + 1)  # no second encoding in a file that has another
    return old, new


def only_place(text: bytes, old: bytes, path: str) -> int:
    """Where `old` stands; ToolFailure if that is nowhere, or in more than one place."""
    places: list[int] = []
    place = text.find(old)
    while place >= 0 and len(places) < 10:
        places.append(place)
        place = text.find(old, place + 1)
    if not old or not places:
        reason = f"old_text is not in {path}: read the file again and copy it exactly"
        raise ToolFailure(reason, "not_found")
    if len(places) > 1:
        lines = ", ".join(str(line_number(text, place)) for place in places)
        reason = f"old_text is in {path} at lines {lines}: give more of it"
        raise ToolFailure(reason, "not_unique")
    return places[0]


def line_number(text: bytes, place: int) -> int:
    """The line of a byte, counted from 1."""
    return text.count(b"\n", 0, place) + 1


def pattern_parts(pattern: str) -> list[str]:
    """The parts of a glob pattern; a last ** stands for every file below."""
    utf8(pattern, "pattern", "invalid_pattern")
    parts = pattern.replace("[^", "[!").split("/")  # fnmatch knows only [!a]
    parts = [part for part in parts if part not in ("", ".")]
    unusable = pattern.startswith(("/", "~")) or not set(pattern).isdisjoint("\0\\")
    if unusable or ".." in parts or not 0 < len(pattern.strip()) <= MAX_PATH_CHARS:
        text = "write a pattern relative to the workspace, as **/*.py: no .. ~ \\"
        raise ToolFailure(text, "invalid_pattern")
    parts = [part for i, part in enumerate(parts) if parts[i : i + 2] != ["**", "**"]]
    return [*parts, "*"] if parts[-1:] == ["**"] else parts or ["."]


def walk_matches(root: Path, parts: list[str]) -> tuple[list[str], bool, int]:
    """Match part by part while walking: follows no link, enters only what can match.

    Returns the matches, whether these are all, and how many folders are unreadable.
    """
    found: list[str] = []
    steps = unreadable = 0
    folders = [("", {0})]  # with the numbers of parts that each may have matched
    while folders:
        prefix, counts = folders.pop()
        try:
            entries = list(os.scandir(root / prefix))
        except OSError:
            unreadable += 1
            continue
        for entry in entries:
            steps += len(counts)
            if steps > MAX_GLOB_STEPS:
                return found, False, unreadable
            after = matched_after(entry.name, counts, parts)
            if entry.is_dir(follow_symlinks=False):
                below = after - {len(parts)}
                if below and (entry.name not in HEAVY or entry.name in parts):
                    folders.append((f"{prefix}{entry.name}/", below))
            elif len(parts) in after and not os.path.isdir(
                entry
            ):  # as a link to a folder is
                found.append(prefix + entry.name)
    return found, True, unreadable


def matched_after(name: str, counts: set[int], parts: list[str]) -> set[int]:
    """How many parts may be matched with one more name.

    Of **/*.py the root has matched {0}; src in it {0}, and a.py {0, 2}: 2 is all.
    """
    after = set()
    for count in counts:
        if parts[count] == "**":
            after.add(count)  # it takes this name, too
            count += 1  # or none, and the next part must match
        if name == parts[count] or fnmatch.fnmatchcase(name, parts[count]):
            after.add(count + 1)
    return after


def visible_name(name: str) -> str:
    """A file name on one line, with the bytes that are no UTF-8 as \\xNN."""
    shown = os.fsencode(name).decode("utf-8", "backslashreplace")
    return shown.replace("\n", "\\n").replace("\r", "\\r")


# --- 8. The bash tool (changed from s01) ---

INHERITED = [  # exact names: a prefix such as LC_ would let LC_SECRET through
    *("PATH", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP"),
    *("LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME"),
    *("LC_MONETARY", "SYSTEMROOT", "WINDIR", "SYSTEMDRIVE", "COMSPEC", "PATHEXT"),
    *("PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "PROGRAMDATA"),
]
ESCAPES = re.compile(  # what drives a terminal: CSI, then OSC and the like, then others
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"
    "|\x1b[\\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\\\)?|\x1b[ -/]*[0-~]?"
)
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
HEAD_CHARS, TAIL_CHARS = 10_000, 18_000  # of the output that the model gets
PIPE_BYTES = 2**20  # more than a pipe holds
GRACE_SECONDS = 0.5  # between SIGTERM and SIGKILL


def build_subprocess_env(workdir: Path) -> dict[str, str]:
    """The environment of a command, rebuilt from an allow-list: no secret in it."""
    env = {name: os.environ[name] for name in INHERITED if os.environ.get(name)}
    folders = env.get("PATH", os.defpath).split(os.pathsep)
    env["PATH"] = os.pathsep.join(filter(os.path.isabs, folders))
    locale = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or ""
    if "utf8" not in locale.lower().replace("-", ""):
        env["LC_ALL"] = "C.UTF-8"
    env.update(TERM="dumb", PAGER="cat", NO_COLOR="1", PYTHONUNBUFFERED="1")
    env.update(GIT_TERMINAL_PROMPT="0", HOME=str(workdir), PWD=str(workdir))
    return env


def run_bash(command: str, workdir: Path, timeout_seconds: float) -> str:
    """Run real bash without input; ToolFailure for every other end than success."""
    with start_bash(command, workdir) as process:
        output = Output(process.stdout)
        try:
            in_time = output.take_until_end(process, timeout_seconds)
        finally:
            end_session(process, output)
        output.take()  # what is left; a child that left the session may go on
    code, text = process.returncode, output.text()
    if not in_time:
        reason = f"stopped after {timeout_seconds:g} seconds: run less at a time"
        raise ToolFailure(f"{reason} or raise timeout_seconds\n{text}", "timeout")
    if code != 0:
        reason = f"{code}" if code > 0 else f"{128 - code} (signal {-code})"
        raise ToolFailure(f"exit code {reason}\n{text}", "nonzero_exit")
    return text


def start_bash(command: str, workdir: Path) -> Any:
    """Start bash without start-up files, as the leader of a session of its own."""
    utf8(command, "command", "not_started")
    try:
        import subprocess  # in here, as it takes a descriptor too

        return subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-c", "--", command],
            bufsize=0,
            cwd=workdir,
            env=build_subprocess_env(workdir),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ToolFailure(why_not_started(error), "not_started") from error


def why_not_started(error: OSError | ValueError) -> str:
    """The cause, and the next step that fits it."""
    if isinstance(error, ValueError) or error.errno == errno.E2BIG:
        return "the command is too long or has a NUL: write a script file and run that"
    if isinstance(error, FileNotFoundError) and error.filename == "bash":
        return "there is no bash on this machine: use the other tools"
    return f"bash did not start ({error.strerror}): try once more, then tell the user"


class Output:
    """Both ends of what a command prints; what is between them is only counted."""

    def __init__(self, pipe: Any) -> None:
        self.pipe, self.kept, self.left_out = pipe, "", 0
        self.decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        if hasattr(os, "set_blocking"):  # Windows has it since Python 3.12
            os.set_blocking(pipe.fileno(), False)

    def take_until_end(self, process: Any, timeout_seconds: float) -> bool:
        """Wait for bash, and not for its pipe; return whether it ended in time."""
        deadline = time.monotonic() + timeout_seconds
        pause = 0.0
        while process.poll() is None:
            if time.monotonic() > deadline:
                return False
            pause = 0 if self.take() else min(0.02, pause + 0.0001)
            time.sleep(pause)
        return True

    def take(self) -> bool:
        """Take all that waits in the pipe; return whether there was any."""
        chunk = self.pipe.read(PIPE_BYTES) or b""  # None: nothing waits
        self.kept += self.decode(chunk)
        surplus = len(self.kept) - HEAD_CHARS - TAIL_CHARS
        if surplus > 0:
            self.left_out += surplus
            self.kept = self.kept[:HEAD_CHARS] + self.kept[-TAIL_CHARS:]
        return bool(chunk)

    def text(self) -> str:
        """Without what drives a terminal; of a progress bar the last frame."""
        text = self.kept + self.decode(b"", True)
        if self.left_out:
            cut = f"\n[... {self.left_out} characters left out ...]\n"
            text = text[:HEAD_CHARS] + cut + text[HEAD_CHARS:]
        lines = ESCAPES.sub("", text).split("\n")
        shown = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
        return CONTROLS.sub("\ufffd", shown).rstrip("\n") or NO_OUTPUT


def end_session(process: Any, output: Output) -> None:
    """SIGTERM for what is left of the command, half a second later SIGKILL."""
    if not hasattr(os, "killpg"):  # Windows has no sessions: only bash itself
        process.kill()
        return
    leader, deadline = process.pid, time.monotonic() + GRACE_SECONDS
    try:
        signal_session(leader, signal.SIGTERM)
        while signal_session(leader, 0) and time.monotonic() < deadline:
            output.take()  # who says goodbye must not wait for a full pipe
            time.sleep(0.005)
    finally:  # also when a second Ctrl-C ends the waiting
        deadline += GRACE_SECONDS  # what runs as another user stays
        while signal_session(leader, signal.SIGKILL) and time.monotonic() < deadline:
            time.sleep(0.001)


def signal_session(leader: int, number: int) -> bool:
    """Signal every group of a session; return whether one lives (0 only asks)."""
    found = False
    for group in groups_of_session(leader):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
            found = True
    return found


def groups_of_session(leader: int) -> set[int]:
    """Its living groups: `timeout` and job control make some of their own."""
    try:
        names = os.listdir("/proc")
    except OSError:  # without /proc only the first one is known
        return {leader}
    groups = set()
    for name in filter(str.isdigit, names):
        with suppress(OSError):  # it has just ended
            if os.getsid(int(name)) == leader:
                line = Path(f"/proc/{name}/stat").read_text("latin-1")
                state, _, group = line.rpartition(")")[2].split()[:3]
                if state != "Z":  # a zombie has ended, whoever forgot to collect it
                    groups.add(int(group))
    return groups


# --- 9. The five tools (new) ---

TEXT = {"type": "string"}
FROM_1 = {"type": "integer", "minimum": 1}


def five_tools(workspace: Workspace) -> list[ToolSpec]:
    """The tools, bound to a workspace that no argument can change."""
    return [
        ToolSpec(
            "read_file",
            "Read a UTF-8 text file; path is folder/file, relative to the workspace. "
            "offset is the first line, limit how many lines (2000); the last line in "
            "brackets says how to go on. Even one page lets you overwrite the file.",
            object_schema({"path": TEXT, "offset": FROM_1, "limit": FROM_1}, ["path"]),
            workspace.read_file,
            concurrent_safe=True,
        ),
        ToolSpec(
            "write_file",
            "Create a file and its folders, or replace a file of which you have read "
            "a page. path is folder/file, relative to the workspace.",
            object_schema({"path": TEXT, "content": TEXT}, ["path", "content"]),
            workspace.write_file,
        ),
        ToolSpec(
            "edit_file",
            "Replace old_text, which must be in the file exactly once, by new_text. "
            "path is folder/file, relative to the workspace; CRLF lines stay CRLF.",
            object_schema(
                {"path": TEXT, "old_text": TEXT, "new_text": TEXT},
                ["path", "old_text", "new_text"],
            ),
            workspace.edit_file,
        ),
        ToolSpec(
            "glob",
            "List files by a pattern such as **/*.py, relative to the workspace, "
            "without braces. .git, node_modules, __pycache__ and .venv are skipped "
            "unless the pattern names them.",
            object_schema({"pattern": TEXT}, ["pattern"]),
            workspace.glob,
            concurrent_safe=True,
        ),
        ToolSpec(
            "bash",
            "Run a bash command without input. Each call begins in the workspace; what "
            "runs in the background ends with the call. Exit code 1 is how grep says "
            "no match. timeout_seconds is 120 unless you set it (up to 600): do longer "
            "work in parts, with the output in a file.",
            object_schema(
                {"command": TEXT, "timeout_seconds": {**FROM_1, "maximum": 600}},
                ["command"],
            ),
            workspace.bash,
        ),
    ]


def build_registry(workspace: Workspace, trace: Trace | None = None) -> ToolRegistry:
    """A registry with the five tools, open for more."""
    registry = ToolRegistry(trace=trace)
    registry.register(*five_tools(workspace))
    return registry


# ======================================================================================
# Here the chapter ends. What follows is s01's, letter for letter, but for "Running it",
# which gives the loop a registry in the place of a folder, and takes --trace.
# ======================================================================================


# --- 10. One turn, normalised once (carried from s01) ---

TRUNCATED = {
    "max_tokens": LoopStopReason.MAX_TOKENS,
    "model_context_window_exceeded": LoopStopReason.CONTEXT_WINDOW_EXCEEDED,
}
NEVER_IN_A_REPLY = ("tool_result", "image", "document")  # only users may send these


@dataclass(frozen=True)
class AgentTurn:
    """One reply of a provider, as plain values that the next request can carry."""

    content: list[Block]
    text: str
    tool_calls: tuple[ToolCall, ...]
    provider_stop_reason: str | None
    usage: Usage

    @classmethod
    def from_response(cls, response: object, seen_ids: set[str]) -> AgentTurn:
        """Read an SDK object or a dict; `seen_ids` is extended with this turn's ids."""
        content: list[Block] = []
        calls: list[ToolCall] = []
        for block in received_blocks(response):
            if block.get("type") == "tool_use":
                call = raw_call(block, seen_ids)
                calls.append(call)
                content.append(call_for_history(block, call))
            elif may_be_sent_back(block) and (copy := as_json(block)):
                content.append(copy)
        text = "\n".join(block["text"] for block in content if block["type"] == "text")
        stop_reason = field(response, "stop_reason")
        if not isinstance(stop_reason, str):
            stop_reason = None
        usage = tokens_used(field(response, "usage"))
        return cls(content, text, tuple(calls), stop_reason, usage)

    def why_stop(self) -> LoopStopReason | None:
        """Why the loop must stop after this turn; None: go on. The first that fits."""
        said = self.provider_stop_reason
        if said == "refusal":
            return LoopStopReason.REFUSAL
        if said in TRUNCATED:
            return TRUNCATED[said]
        if self.tool_calls or (said == "pause_turn" and self.content):
            return None
        return LoopStopReason.FINAL_ANSWER if self.text else LoopStopReason.NO_ANSWER

    def enters_history(self) -> bool:
        """A refusal does not, nor does a reply that has nothing to say or to do."""
        if self.provider_stop_reason == "refusal":
            return False
        return bool(self.text or self.tool_calls or self.why_stop() is None)


def field(value: object, name: str) -> Any:
    """A key of a dict or an attribute of an SDK object; None when it is missing."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def tokens_used(usage: object) -> Usage:
    """The counts of a reply; what is no whole number from 0 on counts as 0."""
    counts = [field(usage, name) for name in Usage._fields]
    return Usage(*[n if type(n) is int and n >= 0 else 0 for n in counts])


def received_blocks(response: object) -> Iterator[Block]:
    """The reply's blocks as dicts; a bare string, as some gateways send, is a text."""
    content = field(response, "content")
    if not isinstance(content, (list, tuple)):
        content = [content]
    for item in content:
        if isinstance(item, str):
            yield {"type": "text", "text": item}
        elif isinstance(item, dict):
            yield item
        elif hasattr(item, "__dict__"):
            yield received_fields(item)


def received_fields(value: object) -> Block:
    """What an SDK object was made from; pydantic knows it from its own defaults."""
    came = field(value, "model_fields_set")
    fields = {k: v for k, v in vars(value).items() if came is None or k in came}
    return {**fields, **(field(value, "model_extra") or {})}


def may_be_sent_back(block: Block) -> bool:
    """Whether the API takes a block of this kind from an assistant; no blank text."""
    kind, text = block.get("type"), block.get("text")
    if kind == "text":
        return isinstance(text, str) and bool(text.strip())
    return isinstance(kind, str) and kind not in NEVER_IN_A_REPLY


def as_json(value: object) -> Any:
    """A copy as plain JSON, lone surrogates replaced; None if it is no such thing."""
    try:
        text = json.dumps(
            value, default=received_fields, ensure_ascii=False, allow_nan=False
        )
        return json.loads(encodable(text))
    except NOT_JSON:
        return None


def raw_call(block: Block, seen_ids: set[str]) -> ToolCall:
    """The call as it came, in a copy of its own, under an id that is new and valid."""
    id_ = block["id"] if isinstance(block.get("id"), str) else ""
    number = len(seen_ids)
    while not re.fullmatch("[A-Za-z0-9_-]+", id_) or id_ in seen_ids:
        number += 1
        id_ = f"call_{number}"
    seen_ids.add(id_)
    arguments = block.get("input")
    with suppress(*NOT_JSON):
        arguments = json.loads(json.dumps(arguments))
    return ToolCall(id_, block.get("name"), arguments)


def call_for_history(block: Block, call: ToolCall) -> Block:
    """The same call with an id, a name and an input that the API accepts."""
    arguments = as_json(block.get("input"))
    name = call.name if isinstance(call.name, str) else ""
    return {
        **(as_json({**block, "input": {}}) or {}),
        "type": "tool_use",
        "id": call.tool_use_id,
        "name": re.sub("[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed",
        "input": arguments if isinstance(arguments, dict) else {},
    }


def used_ids(messages: History) -> set[str]:
    """Every tool_use id in a history."""
    ids: set[str] = set()
    for message in messages:
        content = field(message, "content")
        for block in content if isinstance(content, list) else []:
            if field(block, "type") == "tool_use":
                ids.add(field(block, "id"))
    return ids


# --- 11. Providers (carried from s01) ---

CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL")
SETTINGS = (*CREDENTIALS, "MODEL_ID", "ANTHROPIC_MODEL")
MAX_ATTEMPTS = 4  # of one request
MAX_PAUSE_SECONDS = 60  # a server that asks for more is not waited for
NO_CREDIT = (
    "^402|billing|(credit|account).balance|current.quota"
    "|insufficient.(balance|quota)|\u4f59\u989d"
)
TOO_LONG = (
    "too long|too many tokens|(maximum|max).(context|length)|token limit"
    "|context.(length|window|size|limit)|input.(length|token)"
)
# What is found first in "status kind: words" decides: may it pass, and what to do next.
CAUSES = (
    (NO_CREDIT, False, "look at your account: its credit, or a limit on spending"),
    (f"^413|^(200|400|422) .*({TOO_LONG})", False, "/new begins a new conversation"),
    ("^40[13]", False, "check the key or token"),
    ("^429|^200 rate", True, "a limit is reached: ask again later"),
    ("^40[89]|^5|^200 (over|api|time)", True, "the provider is busy: ask again later"),
    ("^[234]", False, "check the model and ANTHROPIC_BASE_URL (/v1/messages is added)"),
    ("^TypeError", False, "set ANTHROPIC_API_KEY in .env"),
    ("^ModuleNotFoundError", False, "pip install -r requirements.txt"),
    ("^(OS|Unicode|Permission)", False, ".env must be UTF-8 text that you may read"),
    ("LocalProtocolError", False, "check the key or token: it cannot be sent"),
    ("UnsupportedProtocol|^ValueError", False, "check the base URL and the proxy"),
    ("^API|^JSON", True, "check the network, the proxy and ANTHROPIC_BASE_URL"),
    ("", False, "check ANTHROPIC_BASE_URL and the installed packages"),
)


class ScriptedProvider:
    """The offline provider: plays the replies it was given, in order."""

    def __init__(self, turns: Iterable[object]) -> None:
        self.turns = iter(turns)

    def create(self, messages: History, tools: list[Block]) -> object:
        """Return the next reply; raises ProviderError when the script is over."""
        for turn in self.turns:
            return turn
        raise ProviderError("The script is over: it has no reply to this.")


class NoMessage(Exception):
    """HTTP 200 without a message: an error object, a web page, another API."""

    status_code = 200

    def __init__(self, body: object) -> None:
        super().__init__("the reply is no message")
        self.body = body


class AnthropicProvider:
    """The live provider: the Messages API, or an endpoint compatible with it."""

    def __init__(self, model: str, system: str, settings: Mapping[str, str]) -> None:
        """`settings` as `live_settings` gives them; the SDK looks for the rest."""
        self.model, self.system = encodable(model), encodable(system)
        self.cache: Block = {"cache_control": {"type": "ephemeral"}}
        self.usage = Usage()  # of all replies
        key, token, url = map(settings.get, CREDENTIALS)
        self.secrets = [secret for secret in (key, token) if secret]
        if url and not url.startswith(("http://", "https://")):
            raise ProviderError("ANTHROPIC_BASE_URL must begin with https://")
        token = None if key else token  # the SDK takes one of them
        options: Any = {"api_key": key, "auth_token": token, "base_url": url}
        try:
            from anthropic import Anthropic

            self.client: Any = Anthropic(**options, max_retries=0)
        except Exception as error:  # no SDK, a proxy that is none, ...
            raise given_up(in_one_line(error, self.secrets)) from error

    def create(self, messages: History, tools: list[Block]) -> object:
        """A reply; what may pass is tried again here, as the SDK waits in silence."""
        attempt = 0
        while True:
            attempt += 1
            try:
                with sign_of_life():
                    reply = self.request(messages, tools)
            except Exception as error:  # the SDK also raises TypeError, ValueError, ...
                time.sleep(self.pause_after(error, attempt))
            else:
                show_refusal(reply)
                return reply

    def request(self, messages: History, tools: list[Block]) -> object:
        """One attempt; NoMessage for HTTP 200 with something else in it."""
        fixed = {"model": self.model, "max_tokens": MAX_TOKENS, "system": self.system}
        ask = self.client.messages.create
        reply = ask(**fixed, messages=messages, tools=tools, **self.cache)
        empty = field(reply, "content") is None and not field(reply, "stop_reason")
        if empty or field(reply, "error"):
            raise NoMessage(reply)
        self.usage = self.usage.plus(tokens_used(field(reply, "usage")))
        return reply

    def pause_after(self, error: Exception, attempt: int) -> float:
        """Seconds until the next attempt, announced; ProviderError if there is none."""
        said = in_one_line(error, self.secrets)
        if self.cache and said[:4] == "400 " and "cache_control" in repr(vars(error)):
            self.cache = {}
            say("This endpoint takes no cache_control: going on without it.", "2")
            return 0
        headers = field(field(error, "response"), "headers") or {}
        told = headers.get("x-should-retry")
        passes = told == "true" or (told != "false" and cause_of(said)[1])
        pause = asked_pause(headers, 2.0 ** (attempt - 2))
        if passes and pause > MAX_PAUSE_SECONDS:
            raise given_up(f"{said}; it asks for a pause of {pause:.6g} seconds")
        if not passes or attempt >= MAX_ATTEMPTS:
            raise given_up(said) from error
        say(printable(f"{said}; trying again in {pause:.3g} seconds."), "2")
        return pause


def cause_of(said: str) -> tuple[str, bool, str]:
    """The row of CAUSES that fits: pattern, whether it may pass, next step."""
    return next(cause for cause in CAUSES if re.search(cause[0], said, re.I))


def given_up(said: str) -> ProviderError:
    """What was said, and the next step."""
    return ProviderError(f"{said}; {cause_of(said)[2]}.")


def in_one_line(error: Exception, secrets: Sequence[str]) -> str:
    """`status kind: words` for a failed request, bounded and without secrets."""
    kind = field(field(field(error, "body"), "error"), "type")
    parts = [field(error, "status_code"), kind or type(error).__name__]
    if error.__cause__:
        parts.append(f"({type(error.__cause__).__name__})")
    head = " ".join(str(part) for part in parts if part)
    line = " ".join(f"{head}: {words_of(error)}".split())
    for secret in secrets:
        line = line.replace(secret, "***")
    return line[:400]


def words_of(error: Exception) -> str:
    """What an endpoint says, where endpoints say it; of a web page only its title."""
    body = field(error, "body")
    inner = field(body, "error")
    places = [field(inner, "message"), inner, field(body, "message"), body, str(error)]
    words = next(place for place in places if isinstance(place, str))
    title = re.search("(?is)<title[^>]*>(.*?)</title", words)
    return re.sub("(?is)<[a-z!/?].*", "", title[1] if title else words)


def asked_pause(headers: Mapping[str, str], otherwise: float) -> float:
    """Seconds that a server asks for, as a number or a date, or else `otherwise`."""
    from email.utils import parsedate_to_datetime

    asked = headers.get("retry-after", "")
    with suppress(ValueError, TypeError, OverflowError):
        otherwise = max(parsedate_to_datetime(asked).timestamp() - time.time(), 0)
    for text, unit in ((asked, 1), (headers.get("retry-after-ms", ""), 0.001)):
        with suppress(ValueError):
            seconds = float(text) * unit
            otherwise = seconds if seconds >= 0 else otherwise  # and not for nan
    return otherwise


def live_settings(shell: Mapping[str, str], dotenv_file: Path) -> dict[str, str]:
    """The shell's settings and those of .env; ProviderError if that cannot be read.

    A key or token in the shell hides key, token and base URL of .env: no key goes to a
    host it was not set with.
    """
    try:
        from dotenv import dotenv_values

        text = dotenv_values(dotenv_file, interpolate=False, encoding="utf-8-sig")
    except (ImportError, OSError, ValueError) as error:
        raise given_up(in_one_line(error, [])) from error
    in_shell, in_file = not_blank(shell), not_blank(text)
    if any(name in in_shell for name in CREDENTIALS[:2]):
        in_file = {n: value for n, value in in_file.items() if n not in CREDENTIALS}
    return {**in_file, **in_shell}


def not_blank(source: Mapping[str, str | None]) -> dict[str, str]:
    """Our settings in `source`, stripped, without the blank ones."""
    stripped = {name: (source.get(name) or "").strip() for name in SETTINGS}
    return {name: value for name, value in stripped.items() if value}


def live_provider(model: str | None, system: str) -> AnthropicProvider:
    """What the shell and the .env beside the root README ask for."""
    settings = live_settings(os.environ, Path(__file__).resolve().parents[1] / ".env")
    for name in CREDENTIALS:
        if name not in settings:
            os.environ.pop(name, None)  # the SDK would take a blank for a value
    chosen = model or settings.get("MODEL_ID") or settings.get("ANTHROPIC_MODEL")
    return AnthropicProvider(chosen or DEFAULT_MODEL, system, settings)


# --- 12. The screen (carried from s01) ---

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
SCREEN_LINES = 12  # of one tool result
SCREEN_WIDTH = 200  # of one line
PATIENCE_SECONDS = 2  # without a sign of life


def printable(text: str) -> str:
    """Text that cannot drive a terminal: control characters become visible."""
    return CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def say(text: str, colour: str = "") -> None:
    """Print at once; colour only on a terminal, and not with NO_COLOR."""
    if colour and sys.stdout and sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        text = f"\x1b[{colour}m{text}\x1b[0m"
    print(text, flush=True)


@contextmanager
def sign_of_life() -> Iterator[None]:
    """On a terminal, a line that counts the seconds of what takes long, then wiped."""
    if not (sys.stdout and sys.stdout.isatty()):
        yield
        return
    import threading

    over = threading.Event()

    def count() -> None:
        seconds = 0
        while not over.wait(1):
            seconds += 1
            if seconds >= PATIENCE_SECONDS:
                print(f"\rwaiting {seconds} s", end="", flush=True)
        if seconds >= PATIENCE_SECONDS:
            print("\r\x1b[K", end="", flush=True)  # also what a Ctrl-C echoed

    counter = threading.Thread(target=count, daemon=True)
    counter.start()
    try:
        yield
    finally:
        over.set()
        counter.join()


def shortened(text: str) -> str:
    """The beginning of a long text, for the screen only."""
    lines = printable(text).rstrip("\n").split("\n")
    if len(lines) > SCREEN_LINES:
        lines[SCREEN_LINES:] = [f"... {len(lines) - SCREEN_LINES} more lines"]
    cut = (n if len(n) <= SCREEN_WIDTH else n[:SCREEN_WIDTH] + " ..." for n in lines)
    return "\n  ".join(cut)


def show_message(message: Message) -> None:
    """Print what a reply says and calls, or what its calls gave."""
    for block in message["content"]:
        if block["type"] == "text":
            say(printable(block["text"]))
        elif block["type"] == "tool_use":
            arguments = json.dumps(block["input"], ensure_ascii=False)
            say("> " + shortened(f"{block['name']} {arguments}"), "36")
        elif block["type"] == "tool_result":
            colour = "31" if block.get("is_error") else "2"
            say("  " + shortened(block["content"]), colour)


def show_refusal(reply: object) -> None:
    """Say what a refusal gives as its reason; no other reply has stop_details."""
    details = field(reply, "stop_details")
    reasons = [field(details, name) for name in ("category", "explanation")]
    if any(reasons):
        say(printable(": ".join(str(reason) for reason in reasons if reason)), "31")


def show_stop(result: AgentLoopResult) -> None:
    """Say why the loop stopped, and a refusal's text, which history does not keep."""
    if result.stop_reason is LoopStopReason.REFUSAL and result.final_text:
        say(printable(result.final_text))
    parts = [f"{result.turns} turns", f"{result.tool_calls} tool calls"]
    parts += token_counts(result.usage)
    if result.provider_stop_reason not in ("end_turn", "stop_sequence"):
        parts.append(f"provider: {result.provider_stop_reason}")
    say(printable(f"[{result.stop_reason}: {', '.join(parts)}]"), "2")


def token_counts(usage: Usage) -> list[str]:
    """What was counted, for a stop line; nothing where nothing was, as in a script."""
    if not any(usage):
        return []
    cached = usage.cache_read_input_tokens
    read = usage.input_tokens + cached + usage.cache_creation_input_tokens
    return [f"{read:,} tokens in ({cached:,} cached)", f"{usage.output_tokens:,} out"]


def ask_user(messages: History) -> Iterator[str]:
    """Typed questions until `q` or the end of input; Ctrl-C clears the line.

    `/new` is no question: it empties the history.
    """
    if sys.stdin and sys.stdin.isatty():
        with suppress(ImportError):  # line editing, where the platform has it
            import readline  # noqa: F401
    while True:
        try:
            question = input("you> ").strip()
        except KeyboardInterrupt:
            say("")
            continue
        except (EOFError, RuntimeError):  # RuntimeError: there is no stdin at all
            return say("")
        if question in ("q", "quit", "exit"):
            return
        if question == "/new":
            messages.clear()
            say("A new conversation: nothing of the old one is sent any more.")
        elif question:
            yield question


# --- 13. Running it (changed from s01) ---


def system_text(workdir: Path) -> str:
    """The fixed instructions; no time in them, so that the provider can cache them."""
    return (
        f"You are a coding agent in the folder {workdir}. Paths are relative to it. "
        "Prefer the file tools to bash, and read a file before you overwrite it. "
        "At the end say what you did."
    )


def open_trace(name: str) -> Callable[[Block], None]:
    """What adds a JSON line to a new file, which only its owner may read."""
    if os.path.isfile(name):
        os.unlink(name)  # who could read the old file cannot read the new one
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(line: Block) -> None:
        os.write(file, json.dumps(line).encode() + b"\n")

    return write


def write_header(write: Callable[[Block], None], registry: ToolRegistry) -> None:
    """The first line of a trace: what was offered, the limits, the Python."""
    limits = {name: value for name, value in globals().items() if name[:4] == "MAX_"}
    python, started = sys.version.split()[0], time.monotonic()
    header = {"catalog_hash": registry.catalog_hash(), "limits": limits}
    with suppress(OSError):  # a record that cannot be written either is told once
        write({**header, "python": python, "started": started})


def converse(
    questions: Iterable[str],
    provider: Any,
    registry: ToolRegistry,
    max_turns: int,
    messages: History,
) -> bool:
    """Ask every question in one history; return whether the last one was answered."""
    answered = False
    for question in questions:
        messages.append({"role": "user", "content": encodable(question)})
        asked, answered = len(messages), False
        try:
            result = agent_loop(messages, provider, registry, max_turns, show_message)
            show_stop(result)
            answered = result.stop_reason is LoopStopReason.FINAL_ANSWER
        except ProviderError as error:
            say(printable(str(error)), "31")
        except KeyboardInterrupt:
            say("[interrupted]", "31")
        finally:
            if len(messages) == asked:
                messages.pop()  # nothing came of it: the next request goes without it
    return answered


def scripted(text: str, *calls: tuple[str, Block]) -> Block:
    """One reply for the demo: a text, and calls of (tool, arguments)."""
    blocks = [{"type": "tool_use", "name": name, "input": args} for name, args in calls]
    stop_reason = "tool_use" if calls else "end_turn"
    return {"stop_reason": stop_reason, "content": [text, *blocks]}


DEMO = [
    scripted(
        "Two reads: both are safe side by side, so they run at once.",
        ("read_file", {"path": "plan.txt"}),
        ("read_file", {"path": "notes.txt"}),
    ),
    scripted(
        "A write, and a read of what it wrote: one after the other.",
        ("write_file", {"path": "out/summary.txt", "content": "ship on Friday\n"}),
        ("read_file", {"path": "out/summary.txt"}),
    ),
    scripted("A wrong argument.", ("read_file", {"path": "plan.txt", "limit": "1"})),
    scripted("Corrected.", ("read_file", {"path": "plan.txt", "limit": 1})),
    scripted("A tool that does not exist.", ("delete_file", {"path": "plan.txt"})),
    scripted("A path that leads out.", ("read_file", {"path": "../secret.txt"})),
    scripted(
        "A secret of the parent process.",
        ("bash", {"command": 'echo "DEMO_API_KEY is ${DEMO_API_KEY:-not set}"'}),
    ),
    scripted("A tool that fails in a way nobody foresaw.", ("deploy", {})),
    scripted("out/summary.txt says Friday. The release is not deployed."),
]


def deploy() -> str:
    """The demo's surprise: no ToolFailure, so its text was not written for a model."""
    raise RuntimeError("cannot push to /srv/releases with token tok-live-4711")


def demo_tools(folder: Path) -> list[ToolSpec]:
    """The demo's files in this folder, and its tools: the five and `deploy`."""
    (folder / "plan.txt").write_text("Friday: ship\nMonday: rest\n")
    (folder / "notes.txt").write_text("the tests are green\n")
    surprise = ToolSpec("deploy", "Release it.", object_schema({}), deploy)
    return [*five_tools(Workspace(folder)), surprise]


def run_demo(trace_name: str | None) -> bool:
    """The real loop, registry, tools and shell in a temporary folder, by a script."""
    import tempfile

    records: list[TraceRecord] = []
    write = open_trace(trace_name or os.devnull)

    def trace(record: TraceRecord) -> None:
        records.append(record)
        write(asdict(record))

    question = "Summarise plan.txt and notes.txt in out/summary.txt, then deploy."
    say(f"you> {question}")
    script, messages = ScriptedProvider(DEMO), list[Message]()
    os.environ["DEMO_API_KEY"] = "planted-in-the-parent"
    with tempfile.TemporaryDirectory() as folder:
        registry = ToolRegistry(trace=trace)
        registry.register(*demo_tools(Path(folder)))
        registry.freeze()
        write_header(write, registry)
        done = converse([question], script, registry, MAX_TURNS, messages)
    del os.environ["DEMO_API_KEY"]
    if done:
        say("\nOf deploy the model read, and the trace kept for the operator:")
        say(f"  model     {messages[-2]['content'][0]['content']}")
        say(f"  operator  {records[-1].detail.splitlines()[-1]}")
    return done


def run_live(options: Any) -> bool:
    """One question (-p) or a conversation; True if there is nothing to complain of."""
    workdir = Path(options.workdir).resolve()
    write = open_trace(options.trace or os.devnull)
    registry = build_registry(Workspace(workdir), lambda one: write(asdict(one)))
    registry.freeze()
    write_header(write, registry)
    sys.unraisablehook = lambda _: None  # a half-built HTTP client complains at its end
    try:
        provider = live_provider(options.model, system_text(workdir))
    except ProviderError as error:
        say(printable(str(error)), "31")
        return False
    url = provider.client.base_url  # without the user name and password in it
    say(printable(f"{provider.model} at {url.netloc.decode()}{url.path}, in {workdir}"))
    say("It can run any command as you. Ctrl-C stops a turn, /new forgets, q quits.")
    messages, turns = list[Message](), options.max_turns
    if options.prompt is not None:
        return converse([options.prompt], provider, registry, turns, messages)
    while True:
        with suppress(KeyboardInterrupt):  # a Ctrl-C on the heels of another
            converse(ask_user(messages), provider, registry, turns, messages)
            break
    if any(provider.usage):
        say(f"[conversation: {', '.join(token_counts(provider.usage))}]", "2")
    return True


def parse_options(argv: Sequence[str] | None) -> Any:
    """Read the command line; a mistake in it ends the program with status 2."""
    import argparse

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--demo", action="store_true", help="play a script: no key")
    mode.add_argument("-p", dest="prompt", metavar="PROMPT", help="ask once and exit")
    parser.add_argument("--workdir", default=".", metavar="DIR", help="default: .")
    parser.add_argument("--model", metavar="ID", help=f"default: {DEFAULT_MODEL}")
    parser.add_argument("--max-turns", type=int, default=MAX_TURNS, metavar="N")
    parser.add_argument("--trace", metavar="FILE", help="JSON lines, can hold secrets")
    options = parser.parse_args(argv)
    if options.max_turns < 1:
        parser.error("--max-turns must be at least 1")
    if options.prompt is not None and not options.prompt.strip():
        parser.error("-p needs a question")
    if not options.workdir or not Path(options.workdir).is_dir():
        parser.error(f"--workdir: no such folder: {options.workdir}")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status: 0, or 1 when the demo or the question got no answer."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if stream is not None:  # text in any encoding must not end the program
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    options = parse_options(argv)
    try:
        done = run_demo(options.trace) if options.demo else run_live(options)
        return 0 if done else 1
    except KeyboardInterrupt:
        return 130
    except OSError as error:  # the screen is gone: a closed pipe, a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(error, BrokenPipeError):
            print(f"Cannot go on: {error}.", file=sys.stderr)
        return 1


if __name__ == "__main__":
    if sys.path[0] == os.path.dirname(os.path.abspath(__file__)):
        del sys.path[0]  # pdb imports the real `code`, and this file would shadow it
    sys.exit(main())
