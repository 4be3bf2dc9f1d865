"""Registries that lack one guard each, by the smallest change to the real one.

Every class or function here stands in for `ToolRegistry`; its name says what is wrong.
They change public methods, the validator, the trace or the handlers only, so that they
stay wrong in one way when the inside of the real one changes.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from s02_tool_dispatch.code import (
    ToolDispatchResult,
    ToolErrorCode,
    ToolFailure,
    ToolRegistry,
    ToolsInterrupted,
    compile_schema,
)

Check = Callable[[Any], list[str]]
Compile = Callable[[Any], Check]

# --- Validators: what stands between the schema and the handler ---


def with_validator(change: Callable[[Compile, dict], Check]) -> Callable[..., Any]:
    """The real registry with a validator made from the real one."""

    @wraps(change)
    def new_registry(compile_schema=compile_schema, trace=None):
        return ToolRegistry(lambda schema: change(compile_schema, schema), trace)

    return new_registry


def without(keyword: str, schema: Any, depth: int = 0) -> Any:
    """The schema without this keyword, or without it below the root."""
    if isinstance(schema, list):
        return [without(keyword, part, depth + 1) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: without(keyword, part, depth + 1)
        for name, part in schema.items()
        if name != keyword or (keyword == "required" and depth == 0)
    }


@with_validator
def text_coerced_to_number(compile_schema, schema):
    check = compile_schema(schema)

    def lenient(value):
        for name, part in schema["properties"].items():
            if part["type"] == "integer" and str(value.get(name)).isdigit():
                value[name] = int(value[name])
        return check(value)

    return lambda value: lenient(value) if isinstance(value, dict) else check(value)


@with_validator
def true_taken_for_one(compile_schema, schema):
    check = compile_schema(schema)

    def lenient(value):
        counted = {k: 1 if v is True else v for k, v in value.items()}
        return check(counted)

    return lambda value: lenient(value) if isinstance(value, dict) else check(value)


@with_validator
def extra_arguments_dropped(compile_schema, schema):
    check = compile_schema(schema)

    def lenient(value):
        for name in set(value) - set(schema["properties"]):
            del value[name]
        return check(value)

    return lambda value: lenient(value) if isinstance(value, dict) else check(value)


@with_validator
def enum_ignored(compile_schema, schema):
    return compile_schema(without("enum", schema))


@with_validator
def keyword_ignored(compile_schema, schema):
    return compile_schema(without("pattern", schema))


@with_validator
def items_ignored(compile_schema, schema):
    return compile_schema(without("items", schema))


@with_validator
def nested_required_ignored(compile_schema, schema):
    return compile_schema(without("required", schema))


@with_validator
def arguments_as_text_accepted(compile_schema, schema):
    check = compile_schema(schema)
    return lambda value: check(json.loads(value) if isinstance(value, str) else value)


@with_validator
def nothing_checked(compile_schema, schema):
    return lambda value: []


class ValidationOutsideTheGuard(ToolRegistry):
    """Checks before its `try`: a validator that raises stops the batch."""

    def __init__(self, compile_schema=compile_schema, trace=None):
        super().__init__(compile_schema, trace)
        self.compile = compile_schema

    def dispatch(self, call):
        known = self.get(call.name) if isinstance(call.name, str) else None
        if known is not None:
            self.compile(known["input_schema"])(call.arguments)
        return super().dispatch(call)


@with_validator
def everything_refused(compile_schema, schema):
    return lambda value: ["arguments are refused"]


# --- Handlers: what stands between the handler and the model ---


def with_handlers(change: Callable[[Any], Any]) -> type[ToolRegistry]:
    """The real registry, in which each handler is called through `change`."""

    class Changed(ToolRegistry):
        def register(self, *specs):
            super().register(
                *(replace(spec, handler=change(spec.handler)) for spec in specs)
            )

    Changed.__name__ = change.__name__
    return Changed


@with_handlers
def exception_text_to_the_model(handler):
    def run(**arguments):
        try:
            return handler(**arguments)
        except ToolFailure:
            raise
        except Exception as error:
            raise ToolFailure(str(error)) from error

    return run


@with_handlers
def result_as_text_whatever_it_is(handler):
    def run(**arguments):
        returned = handler(**arguments)
        is_json = isinstance(returned, (str, int)) or inspect.isawaitable(returned)
        return returned if is_json else str(returned)

    return run


@with_handlers
def only_text_is_a_result(handler):
    def run(**arguments):
        returned = handler(**arguments)
        return None if isinstance(returned, int) else returned

    return run


@with_handlers
def awaitable_not_awaited(handler):
    def run(**arguments):
        returned = handler(**arguments)
        if inspect.isawaitable(returned):
            returned.close()
            return "<coroutine object>"
        return returned

    return run


@with_handlers
def awaitable_failure_kept_as_text(handler):
    def run(**arguments):
        returned = handler(**arguments)
        if not inspect.isawaitable(returned):
            return returned
        try:
            return asyncio.run(returned)
        except Exception as error:
            return f"Error: {type(error).__name__}"

    return run


# --- The catalogue ---


class LastRegistrationWins(ToolRegistry):
    """Forgets the tool whose name a new one takes."""

    def __init__(self, compile_schema=compile_schema, trace=None):
        super().__init__(compile_schema, trace)
        self.settings, self.accepted = (compile_schema, trace), {}

    def register(self, *specs):
        names = {spec.name for spec in specs}
        if names & set(self.accepted):
            others = [s for name, s in self.accepted.items() if name not in names]
            super().__init__(*self.settings)
            super().register(*others)
        super().register(*specs)
        self.accepted.update({spec.name: spec for spec in specs})


class NeverFrozen(ToolRegistry):
    """Takes tools after `freeze`."""

    def freeze(self):
        pass


class SharedList(ToolRegistry):
    """Hands out the schemas that it sends."""

    def model_schemas(self):
        self.__dict__.setdefault("schemas", super().model_schemas())
        return self.schemas


class SharedDefinition(ToolRegistry):
    """Hands out the definitions that it keeps."""

    def definitions(self):
        self.__dict__.setdefault("kept", super().definitions())
        return self.kept

    def get(self, name):
        return next((tool for tool in self.definitions() if tool["name"] == name), None)


class SharedSchema(ToolRegistry):
    """Checks against the schema as its owner has it now."""

    def __init__(self, compile_schema=compile_schema, trace=None):
        self.compile, self.owned = compile_schema, []
        super().__init__(self.late, trace)

    def late(self, schema):
        self.compile(schema)
        owned = next(
            spec.input_schema for spec in self.owned if spec.input_schema == schema
        )
        return lambda value: self.compile(owned)(value)

    def register(self, *specs):
        self.owned += specs
        super().register(*specs)


class HandlerThroughGet(ToolRegistry):
    """`get` returns the handler too, so it can be called without a check."""

    def register(self, *specs):
        super().register(*specs)
        handlers = {spec.name: spec.handler for spec in specs}
        self.handlers = {**getattr(self, "handlers", {}), **handlers}

    def get(self, name):
        tool = super().get(name)
        return tool and {**tool, "handler": self.handlers[name]}


class HashDependsOnOrder(ToolRegistry):
    """Hashes the tools in the order in which they came."""

    def register(self, *specs):
        super().register(*specs)
        self.came = [*getattr(self, "came", []), *(spec.name for spec in specs)]

    def catalog_hash(self):
        tools = [self.get(name) for name in self.came]
        return hashlib.sha256(json.dumps(tools).encode()).hexdigest()


class HashOfMoreThanTheTools(ToolRegistry):
    """Hashes what has been called too."""

    def dispatch(self, call):
        self.calls = getattr(self, "calls", 0) + 1
        return super().dispatch(call)

    def catalog_hash(self):
        text = f"{super().catalog_hash()} {getattr(self, 'calls', 0)}"
        return hashlib.sha256(text.encode()).hexdigest()


# --- Dispatch ---


class UnknownRaises(ToolRegistry):
    """Looks a tool up as a dict would."""

    def dispatch(self, call):
        known = {tool["name"]: tool for tool in self.definitions()}
        known[call.name]
        return super().dispatch(call)


class GuessesNames(ToolRegistry):
    """Runs the tool whose name is nearest."""

    def dispatch(self, call):
        if isinstance(call.name, str):
            name = call.name.rpartition(".")[2].strip().lower()
            return super().dispatch(replace(call, name=name))
        return super().dispatch(call)


class RemembersCalls(ToolRegistry):
    """Runs two calls with the same arguments once."""

    def dispatch_many(self, calls):
        keys = [repr((call.name, call.arguments)) for call in calls]
        once = dict(zip(keys, calls, strict=True))
        results = super().dispatch_many(list(once.values()))
        given = dict(zip(once, results, strict=True))
        pairs = zip(keys, calls, strict=True)
        return [given[key]._replace(call=call) for key, call in pairs]


class BatchLosesSiblings(ToolRegistry):
    """Stops the batch at the first failure."""

    def dispatch_many(self, calls):
        results = []
        for result in super().dispatch_many(calls):
            results.append(result)
            if not result.ok:
                break
        return results


class ResultsInFinishOrder(ToolRegistry):
    """Returns the results as they come."""

    def dispatch(self, call):
        result = super().dispatch(call)
        self.finished.append(result)
        return result

    def dispatch_many(self, calls):
        self.finished = []
        super().dispatch_many(calls)
        return self.finished


class NamesAsText(ToolRegistry):
    """Looks up whatever came, as text."""

    def dispatch(self, call):
        name = call.name[0] if isinstance(call.name, list) else call.name
        return super().dispatch(replace(call, name=name))


class ErrorAsSuccess(ToolRegistry):
    """Returns the text of an error as a result like any other."""

    def dispatch(self, call):
        return super().dispatch(call)._replace(error_code=None)


class BlankErrors(ToolRegistry):
    """Has nothing to say about a surprise."""

    def dispatch(self, call):
        result = super().dispatch(call)
        return result._replace(content="") if "Runtime" in result.content else result


class OneCodeForAll(ToolRegistry):
    """Replaces the code that a tool chose."""

    def dispatch(self, call):
        result = super().dispatch(call)
        codes = set(map(str, ToolErrorCode))
        if result.ok or result.error_code in codes:
            return result
        text = result.content.replace(result.error_code, "execution_error")
        return ToolDispatchResult(call, text, "execution_error")


class InterruptSwallowed(ToolRegistry):
    """Takes Ctrl-C for a failure of the tool."""

    def dispatch(self, call):
        try:
            return super().dispatch(call)
        except KeyboardInterrupt:
            return ToolDispatchResult(call, "Error [cancelled]: stopped", "cancelled")


class InterruptWithoutAnswers(ToolRegistry):
    """Lets Ctrl-C through and leaves the calls unanswered."""

    def dispatch_many(self, calls):
        try:
            return super().dispatch_many(calls)
        except ToolsInterrupted:
            raise KeyboardInterrupt from None


class ExitEscapes(ToolRegistry):
    """Catches `Exception` only, so a tool can end the program."""

    def dispatch(self, call):
        result = super().dispatch(call)
        if "SystemExit" in result.content:
            raise SystemExit(0)
        return result


class NoBoundOnResults(ToolRegistry):
    """Returns what a handler gave, however long."""

    def dispatch(self, call):
        result = super().dispatch(call)
        if result.ok and "left out" in result.content:
            return result._replace(content="x" * 1_000_000)
        return result


# --- The trace ---


def no_record_when_refused(compile_schema=compile_schema, trace=None):
    """Writes a record only for a call whose handler ran."""
    refused = (ToolErrorCode.UNKNOWN_TOOL, ToolErrorCode.INVALID_ARGUMENTS)

    def sometimes(record):
        if record.outcome not in refused:
            trace(record)

    return ToolRegistry(compile_schema, trace and sometimes)


def no_traceback_in_the_trace(compile_schema=compile_schema, trace=None):
    """Writes what the model was told, and not why."""
    return ToolRegistry(
        compile_schema, trace and (lambda record: trace(replace(record, detail="")))
    )


class TraceFailureEscapes(ToolRegistry):
    """Lets a full disk end the batch."""

    def __init__(self, compile_schema=compile_schema, trace=None):
        self.sink, self.failure = trace, None
        super().__init__(compile_schema, self.write)

    def write(self, record):
        try:
            if self.sink:
                self.sink(record)
        except OSError as error:
            self.failure = error

    def dispatch(self, call):
        result = super().dispatch(call)
        if self.failure:
            raise self.failure
        return result
