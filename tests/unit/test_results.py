"""What a handler returns or raises becomes one text that can be sent, and a code."""

from __future__ import annotations

import asyncio
import json
import math
import re
import threading

import pytest

from s02_tool_dispatch import code as s02
from tests.api_rules import RequestRules
from tests.tools import call, calls, raiser, raising, registry_of, returning, spec

FAILED = "execution_error"
MILLIONS = 5_000_000
CALL = s02.ToolCall("t1", "a", {})
SURPRISE = call(raising(ValueError())).content.replace("ValueError", "{}")


class Odd:
    """Asked for any text it raises."""

    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


class OddError(Exception):
    __str__ = __repr__ = Odd.__str__


class OddText(str):
    __str__ = __repr__ = __len__ = __eq__ = strip = encode = Odd.__str__
    __hash__ = None


class Awaitable:
    """Something to await that is no coroutine."""

    def __await__(self):
        yield from asyncio.sleep(0).__await__()
        return "awaited"


async def answer(value):
    await asyncio.sleep(0)
    return value


async def fail(error):
    await asyncio.sleep(0)
    raise error


def circular():
    value = []
    value.append(value)
    return value


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def accepted(result):
    """The API takes the result."""
    said = {"type": "tool_use", "id": "t1", "name": "a", "input": {}}
    history = [{"role": "user", "content": "go"}]
    history += [{"role": "assistant", "content": [said]}]
    history += [{"role": "user", "content": [result.to_protocol_block()]}]
    RequestRules().check(history, returning(None).model_schemas())
    return True


# --- What a handler returns ---


ANY = "caf\u00e9 \u4f60\u597d \U0001f600 e\u0301 \x1b[0m \x1b[2J \ufeff \u2028 \r\n\t"


@pytest.mark.parametrize(
    "returned, content",
    [
        *[("text", "text"), (" \n", " \n"), ('{"a": 1}', '{"a": 1}')],
        *[(None, "(no output)"), ("", "(no output)"), (OddText("x"), "x")],
        *[({"a": [1, None]}, '{"a": [1, null]}'), ([1, "\u4f60"], '[1, "\u4f60"]')],
        *[(0, "0"), (False, "false"), (1.5, "1.5"), (ANY, ANY)],
    ],
    ids=range(12),
)
def test_a_value_becomes_text(returned, content):
    result = call(returning(returned))

    assert (result.ok, result.error_code, result.content) == (True, None, content)
    assert accepted(result)


@pytest.mark.parametrize("made", [lambda value: value, answer], ids=["plain", "async"])
@pytest.mark.parametrize(
    "returned",
    [
        *[{"sk-123"}, b"sk-123", object(), Odd(), [Odd()], {(1, "sk-123"): 1}, Odd],
        *[math.nan, [{"a": math.inf}], circular(), nested(20_000), 10**5_000],
        ValueError("sk-123"),
    ],
    ids=range(13),
)
def test_what_is_no_text_and_no_json_is_an_error_of_that_call_alone(returned, made):
    registry = registry_of(spec("a", lambda: made(returned)), spec("b", lambda: "fine"))
    results = registry.dispatch_many(calls("b", "a", "b"))

    assert [result.error_code for result in results] == [None, FAILED, None]
    assert results[1].content.startswith("Error [execution_error]: ")
    assert "sk-123" not in results[1].content and accepted(call(registry))


def test_a_generator_is_refused_and_not_run():
    ran = []

    def plain():
        ran.append(1)
        yield "x"

    async def not_plain():
        ran.append(1)
        yield "x"

    for generator in (plain, not_plain):
        result = call(registry_of(spec("a", generator)))
        assert result.error_code == FAILED and ran == []


# --- What is awaited ---


async def answers_json():
    return await answer({"n": [None]})


@pytest.mark.parametrize(
    "handler, content",
    [
        (lambda: answer("awaited"), "awaited"),
        (Awaitable, "awaited"),
        (answers_json, '{"n": [null]}'),
    ],
)
def test_what_is_awaited_becomes_text_like_what_is_returned(handler, content):
    assert call(registry_of(spec("a", handler))).content == content


@pytest.mark.parametrize(
    "error, code",
    [
        *[(RuntimeError("sk-123"), FAILED), (asyncio.CancelledError(), FAILED)],
        *[(SystemExit(0), FAILED), (s02.ToolFailure("no", code="own"), "own")],
    ],
)
def test_what_fails_after_an_await_is_an_error_and_the_next_call_works(error, code):
    tools = spec("a", lambda: fail(error)), spec("b", lambda: answer("fine"))
    results = registry_of(*tools).dispatch_many(calls("a", "b", "a", "b"))

    assert [result.error_code for result in results] == [code, None, code, None]
    assert "sk-123" not in results[0].content and results[3].content == "fine"


def test_an_interrupt_after_an_await_goes_up():
    with pytest.raises(KeyboardInterrupt):
        call(registry_of(spec("a", lambda: fail(KeyboardInterrupt()))))


@pytest.mark.parametrize("handler", [lambda: answer("x"), Awaitable])
def test_inside_a_running_event_loop_an_async_tool_is_a_clear_error(handler):
    registry = registry_of(spec("a", handler), spec("b", lambda: "fine"))

    async def inside():
        return call(registry), call(registry, "b")

    failed, fine = asyncio.run(inside())
    assert failed.error_code == FAILED and "event loop" in failed.content
    assert fine.content == "fine"
    assert call(registry, "b").ok


def test_async_tools_run_side_by_side_in_threads():
    barrier = threading.Barrier(3, timeout=10)

    async def handler():
        barrier.wait()
        return await answer("met")

    registry = registry_of(spec("a", handler, concurrent_safe=True))
    results = registry.dispatch_many(calls("a", "a", "a"))
    assert [result.content for result in results] == ["met"] * 3


# --- What a handler raises ---

SECRET = "postgres://u:pw@h/db /home/x sk-123"


def with_cause():
    error = RuntimeError("outer " + SECRET)
    error.__cause__ = KeyError(SECRET)
    return error


@pytest.mark.parametrize(
    "error",
    [
        *[RuntimeError(SECRET), ValueError(SECRET), KeyError("sk-123"), with_cause()],
        *[FileNotFoundError(2, "sk-123", "/home/x"), RecursionError(), MemoryError()],
        *[UnicodeDecodeError("utf-8", b"sk-123", 0, 1, "x"), OddError()],
        *[SystemExit("sk-123"), SystemExit(0), SystemExit(1), SystemExit(None)],
        *[asyncio.CancelledError("sk-123"), GeneratorExit(), StopIteration("sk-123")],
        *[TypeError("f() got an unexpected keyword"), RuntimeError("x" * MILLIONS)],
        type("Unknown", (BaseException,), {})("sk-123"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_surprise_shows_its_type_and_one_fixed_sentence(error):
    registry = registry_of(spec("a", raiser(error)), spec("b", lambda: "fine"))
    result, fine = registry.dispatch_many(calls("a", "b"))

    assert result.error_code == FAILED and fine.ok
    assert result.content == SURPRISE.format(type(error).__name__)
    assert SURPRISE.startswith("Error [execution_error]: ") and "{}" in SURPRISE


@pytest.mark.parametrize(
    "given, code",
    [
        *[((code,), code) for code in ("file_not_found", "my-own", "x")],
        *[((member,), member.value) for member in s02.ToolErrorCode],
        *[((), FAILED), (("",), FAILED)],
    ],
)
def test_an_expected_failure_keeps_its_text_and_has_a_code_of_plain_text(given, code):
    failure = s02.ToolFailure("no such file: a", *given)
    result = call(raising(failure))

    assert isinstance(failure, ValueError) and not result.ok
    assert result.content == f"Error [{code}]: no such file: a"
    assert json.dumps([result.error_code]) == f'["{code}"]'


@pytest.mark.parametrize("words", ["", " ", "\n", None, 5])
def test_a_failure_without_words_is_still_accepted_by_the_api(words):
    result = call(raising(s02.ToolFailure(words, code="own")))

    assert not result.ok and accepted(result)


def test_a_failure_whose_words_cannot_be_told_is_an_error_too():
    assert not call(registry_of(spec("a", lambda: s02.ToolFailure(Odd())))).ok


def test_an_expected_failure_hides_the_exception_it_came_from():
    def handler():
        try:
            raise OSError(SECRET)
        except OSError as error:
            raise s02.ToolFailure("cannot read a", "io_error") from error

    content = call(registry_of(spec("a", handler))).content
    assert content == "Error [io_error]: cannot read a"


# --- One text that can be stored, sent and is not too long ---


@pytest.mark.parametrize("size", [40_000, 100_000, MILLIONS])
def test_millions_of_characters_are_cut_to_both_ends_around_a_true_number(size):
    letters = "".join(map(chr, range(0x4E00, 0x9E00)))
    whole = (letters * (size // 20_000))[:size]
    content = call(returning(whole)).content
    head, marker, tail = re.split(r"([\x00-\x7f]+)", content)

    assert 29_000 < len(content) <= s02.MAX_RESULT_CHARS == 30_000
    assert whole.startswith(head) and whole.endswith(tail) and len(tail) > 10_000
    assert str(size - len(head) - len(tail)) in marker.replace(",", "")
    assert call(returning(whole[:30_000])).content == whole[:30_000]
    assert call(returning(whole[:30_001])).content != whole[:30_001]


MADE = [
    *[returning, lambda odd: returning({odd: [odd]})],
    *[
        lambda odd: raising(s02.ToolFailure(odd)),
        lambda odd: raising(RuntimeError(odd)),
    ],
    lambda odd: raising(s02.ToolFailure("x", odd)),
]
ODD = [
    "caf\udce9",
    "\ud800",
    "a\udfffb",
    "a\0b",
    "\0",
    "\ud83d\ude00",
    "\ud800" * 50_000,
]


@pytest.mark.parametrize("odd", ODD, ids=range(7))
@pytest.mark.parametrize("made", MADE, ids=["text", "JSON", "failure", "error", "code"])
def test_what_cannot_be_sent_is_replaced(made, odd):
    result = call(made(odd))

    assert result.content.encode() and "\0" not in result.content
    assert len(result.content) <= 30_000 and accepted(result)


# --- The words themselves ---


def test_a_word_prints_as_its_value():
    for member in [*s02.ToolErrorCode, *s02.LoopStopReason]:
        assert f"{member}" == str(member) == member.value == member
        assert json.loads(json.dumps(member)) == member.value


BLANK = {"content": "(no output)"}  # the API refuses an error without any words


@pytest.mark.parametrize(
    "content, code, block",
    [
        *[("x", None, {"content": "x"}), ("", None, {"content": ""})],
        ("x", "own", {"content": "x", "is_error": True}),
        *[(b, "own", {**BLANK, "is_error": True}) for b in ("", " ", "\n\t", "\u3000")],
    ],
)
def test_a_result_becomes_the_block_that_answers_its_call(content, code, block):
    result = s02.ToolDispatchResult(CALL, content, code)
    expected = {"type": "tool_result", "tool_use_id": "t1", **block}

    assert result.to_protocol_block() == expected
    assert result.ok == (code is None) and accepted(result)


def test_a_result_belongs_to_its_call_and_cannot_be_changed():
    result = returning("x").dispatch(CALL)

    assert result.call is CALL
    with pytest.raises(AttributeError):
        result.content = "other"
