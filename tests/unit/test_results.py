"""What a handler returns or raises becomes one text that can be sent, and a code."""

from __future__ import annotations

import asyncio
import json
import math
import re
import sys
import threading

import pytest

from s02_tool_dispatch import code as s02
from tests.api_rules import RequestRules
from tests.tools import call, calls, raising, registry_of, returning, spec

FAILED = "execution_error"
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
    history = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [said]},
        {"role": "user", "content": [result.to_protocol_block()]},
    ]
    RequestRules().check(history, returning(None).model_schemas())
    return True


# --- What a handler returns ---


@pytest.mark.parametrize(
    "returned, content",
    [
        pytest.param("text", "text", id="text"),
        pytest.param(" \n", " \n", id="blank text"),
        pytest.param('{"a": 1}', '{"a": 1}', id="JSON text"),
        pytest.param(
            "\x1b[2J\u4f60\U0001f600", "\x1b[2J\u4f60\U0001f600", id="any text"
        ),
        pytest.param(None, "(no output)", id="none"),
        pytest.param("", "(no output)", id="empty text"),
        pytest.param({"a": [1, None]}, '{"a": [1, null]}', id="object"),
        pytest.param([1, "\u4f60"], '[1, "\u4f60"]', id="list, not ASCII"),
        pytest.param(0, "0", id="zero"),
        pytest.param(False, "false", id="false"),
        pytest.param(1.5, "1.5", id="number"),
    ],
)
def test_a_value_becomes_text(returned, content):
    result = call(returning(returned))

    assert (result.ok, result.error_code, result.content) == (True, None, content)
    assert accepted(result)


@pytest.mark.parametrize(
    "returned",
    [
        pytest.param({"sk-123"}, id="set"),
        pytest.param(b"sk-123", id="bytes"),
        pytest.param(object(), id="object"),
        pytest.param(Odd(), id="object without text"),
        pytest.param([Odd()], id="object inside"),
        pytest.param({(1, "sk-123"): 1}, id="key no text"),
        pytest.param(math.nan, id="not a number"),
        pytest.param([{"a": math.inf}], id="infinite inside"),
        pytest.param(circular(), id="circular"),
        pytest.param(nested(20_000), id="too deep"),
        pytest.param(10**5_000, id="more digits than json writes"),
        pytest.param(Odd, id="class"),
        pytest.param(ValueError("sk-123"), id="exception"),
    ],
)
def test_what_is_no_text_and_no_json_is_an_error_of_that_call_alone(returned):
    registry = registry_of(spec("a", lambda: returned), spec("b", lambda: "fine"))
    results = registry.dispatch_many(calls("b", "a", "b"))

    assert [result.error_code for result in results] == [None, FAILED, None]
    assert results[1].content.startswith("Error [execution_error]: ")
    assert "sk-123" not in results[1].content and accepted(call(registry))


def test_a_text_of_a_class_of_its_own_raises_nothing():
    assert accepted(call(returning(OddText("x"))))


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_a_generator_is_refused_and_not_run(kind):
    ran = []

    def plain():
        ran.append(1)
        yield "x"

    async def not_plain():
        ran.append(1)
        yield "x"

    result = call(registry_of(spec("a", plain if kind == "plain" else not_plain)))
    assert result.error_code == FAILED and ran == []


# --- What is awaited ---


@pytest.mark.parametrize(
    "handler",
    [
        pytest.param(lambda: answer("awaited"), id="returns a coroutine"),
        pytest.param(Awaitable, id="returns another awaitable"),
    ],
)
def test_an_awaitable_is_awaited(handler):
    assert call(registry_of(spec("a", handler))).content == "awaited"


def test_an_async_function_is_awaited_and_its_value_becomes_text():
    async def handler(n):
        return await answer({"n": n})

    registry = registry_of(spec("a", handler, {"n": {"type": "integer"}}, ["n"]))
    assert call(registry, "a", {"n": 5}).content == '{"n": 5}'


@pytest.mark.parametrize("value", [{1}, b"x", Odd()])
def test_an_awaited_value_that_is_no_json_is_an_error(value):
    assert call(registry_of(spec("a", lambda: answer(value)))).error_code == FAILED


@pytest.mark.parametrize(
    "error, code",
    [
        pytest.param(RuntimeError("sk-123"), FAILED, id="surprise"),
        pytest.param(SystemExit(0), FAILED, id="exit"),
        pytest.param(asyncio.CancelledError(), FAILED, id="cancelled"),
        pytest.param(s02.ToolFailure("no", code="too_late"), "too_late", id="expected"),
    ],
)
def test_what_fails_after_an_await_is_an_error_and_the_next_call_works(error, code):
    registry = registry_of(
        spec("a", lambda: fail(error)), spec("b", lambda: answer("fine"))
    )
    results = registry.dispatch_many(calls("a", "b", "a", "b"))

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

SECRETS = ("postgres://u:pw@h/db", "/home/x", "sk-123")
SECRET = " ".join(SECRETS)


def with_cause():
    error = RuntimeError("outer " + SECRET)
    error.__cause__ = KeyError(SECRET)
    return error


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(RuntimeError(SECRET), id="RuntimeError"),
        pytest.param(ValueError(SECRET), id="ValueError"),
        pytest.param(KeyError("sk-123"), id="KeyError"),
        pytest.param(FileNotFoundError(2, "sk-123", "/home/x"), id="OSError"),
        pytest.param(UnicodeDecodeError("utf-8", b"sk-123", 0, 1, "x"), id="Unicode"),
        pytest.param(with_cause(), id="with a cause"),
        pytest.param(SystemExit("sk-123"), id="exit with words"),
        pytest.param(OddError(), id="without text"),
        pytest.param(RecursionError(), id="recursion"),
        pytest.param(MemoryError(), id="memory"),
        pytest.param(asyncio.CancelledError("sk-123"), id="cancelled"),
        pytest.param(GeneratorExit(), id="GeneratorExit"),
        pytest.param(StopIteration("sk-123"), id="StopIteration"),
        pytest.param(TypeError("f() got an unexpected keyword"), id="TypeError"),
        pytest.param(type("X", (BaseException,), {})("sk-123"), id="of no known kind"),
    ],
)
def test_a_surprise_shows_its_type_and_one_fixed_sentence(error):
    result = call(raising(error))

    assert result.error_code == FAILED
    assert result.content == SURPRISE.format(type(error).__name__)
    assert accepted(result)


def test_the_fixed_sentence_is_an_error_without_the_text_of_the_exception():
    assert SURPRISE.startswith("Error [execution_error]: ") and "{}" in SURPRISE


@pytest.mark.parametrize("code", [0, 1, None, "words"])
def test_a_tool_that_exits_ends_its_call_and_nothing_else(code):
    def handler():
        sys.exit(code)

    registry = registry_of(spec("a", handler), spec("b", lambda: "fine"))
    results = registry.dispatch_many(calls("a", "b"))
    assert [result.error_code for result in results] == [FAILED, None]


@pytest.mark.parametrize("code", ["file_not_found", "my-own", "x"])
def test_an_expected_failure_keeps_its_text_and_code(code):
    result = call(raising(s02.ToolFailure("no such file: a", code=code)))

    assert result.content == f"Error [{code}]: no such file: a"
    assert (result.ok, result.error_code) == (False, code)


def test_an_expected_failure_hides_the_exception_it_came_from():
    def handler():
        try:
            raise OSError(SECRET)
        except OSError as error:
            raise s02.ToolFailure("cannot read a", "io_error") from error

    content = call(registry_of(spec("a", handler))).content
    assert content == "Error [io_error]: cannot read a"


def test_a_failure_without_a_code_is_an_execution_error():
    result = call(raising(s02.ToolFailure("no")))

    assert (result.error_code, result.content) == (
        FAILED,
        "Error [execution_error]: no",
    )
    assert isinstance(s02.ToolFailure("no"), ValueError)


@pytest.mark.parametrize("member", list(s02.ToolErrorCode))
def test_a_code_may_be_a_member_of_the_enum_and_is_a_plain_text(member):
    result = call(raising(s02.ToolFailure("no", code=member)))

    assert result.error_code == member.value
    assert json.dumps([result.error_code]) == f'["{member.value}"]'
    assert result.content == f"Error [{member.value}]: no"


@pytest.mark.parametrize("words", ["", " ", "\n", None, 5, Odd()])
def test_a_failure_without_words_is_still_accepted_by_the_api(words):
    def handler():
        raise s02.ToolFailure(words, code="own")

    result = call(registry_of(spec("a", handler)))
    assert not result.ok and accepted(result)


# --- One text that can be stored, sent and is not too long ---

MILLIONS = 5_000_000


@pytest.mark.parametrize(
    "registry",
    [
        pytest.param(returning("x" * MILLIONS), id="text"),
        pytest.param(returning(["x" * MILLIONS]), id="JSON"),
        pytest.param(raising(s02.ToolFailure("x" * MILLIONS)), id="failure"),
    ],
)
def test_millions_of_characters_are_cut_to_both_ends_around_a_true_number(registry):
    content = call(registry).content
    numbers = [int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", content)]
    whole = MILLIONS + len("Error [execution_error]: ") * (not call(registry).ok)
    whole += len('[""]') * content.startswith("[")

    assert len(content) <= s02.MAX_RESULT_CHARS == 30_000
    assert content.rstrip('"]').endswith("xxx") and content.count("x") > 29_000
    assert any(0 <= whole - n - content.count("x") < 40 for n in numbers)


def test_the_marker_counts_exactly_what_is_missing():
    whole = "".join(chr(0x4E00 + i % 20_000) for i in range(100_000))
    head, marker, tail = re.split(r"([\x00-\x7f]+)", call(returning(whole)).content)

    assert whole.startswith(head) and whole.endswith(tail)
    missing = len(whole) - len(head) - len(tail)
    assert str(missing) in marker.replace(",", "")


@pytest.mark.parametrize(
    "size, is_cut", [(29_999, False), (30_000, False), (30_001, True)]
)
def test_only_what_is_over_the_limit_is_cut(size, is_cut):
    content = call(returning("x" * size)).content

    assert (content != "x" * size) == is_cut and len(content) <= 30_000


def test_the_text_of_an_exception_of_any_size_is_not_told():
    assert len(call(raising(RuntimeError("x" * MILLIONS))).content) < 500


@pytest.mark.parametrize(
    "odd",
    [
        "caf\udce9",
        "\ud800",
        "a\udfffb",
        "a\0b",
        "\0",
        "\ud83d\ude00",
        "\ud800" * 50_000,
    ],
)
@pytest.mark.parametrize(
    "made",
    [
        pytest.param(returning, id="text"),
        pytest.param(lambda odd: returning({odd: [odd]}), id="JSON"),
        pytest.param(lambda odd: raising(s02.ToolFailure(odd)), id="failure"),
        pytest.param(lambda odd: raising(s02.ToolFailure("x", odd)), id="code"),
        pytest.param(lambda odd: raising(RuntimeError(odd)), id="surprise"),
    ],
)
def test_what_cannot_be_sent_is_replaced(made, odd):
    result = call(made(odd))

    assert result.content.encode() and "\0" not in result.content
    assert len(result.content) <= 30_000 and accepted(result)


def test_what_can_be_sent_is_not_replaced():
    words = "caf\u00e9 \u4f60\u597d \U0001f600 e\u0301 \x1b[0m \ufeff \u2028 \r\n\t"

    assert call(returning(words)).content == words


# --- The words themselves ---


@pytest.mark.parametrize("enum", [s02.ToolErrorCode, s02.LoopStopReason])
def test_a_word_prints_as_its_value(enum):
    for member in enum:
        assert f"{member}" == str(member) == member.value == member
        assert json.loads(json.dumps(member)) == member.value


def test_there_are_four_codes_of_the_boundary():
    expected = {"unknown_tool", "invalid_arguments", "execution_error", "cancelled"}

    assert {str(code) for code in s02.ToolErrorCode} == expected


@pytest.mark.parametrize(
    "content, code, block",
    [
        ("x", None, {"content": "x"}),
        ("", None, {"content": ""}),
        ("x", "own", {"content": "x", "is_error": True}),
    ],
)
def test_a_result_becomes_the_block_that_answers_its_call(content, code, block):
    result = s02.ToolDispatchResult(CALL, content, code)
    expected = {"type": "tool_result", "tool_use_id": "t1", **block}

    assert result.to_protocol_block() == expected
    assert result.ok == (code is None) and accepted(result)


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u3000"])
def test_the_block_of_an_error_is_never_blank(blank):
    block = s02.ToolDispatchResult(CALL, blank, "own").to_protocol_block()

    assert block["is_error"] is True and block["content"].strip()


def test_a_result_belongs_to_its_call_and_cannot_be_changed():
    given = s02.ToolCall("t9", "a", {})
    result = returning("x").dispatch(given)

    assert result.call is given
    assert result.to_protocol_block()["tool_use_id"] == "t9"
    with pytest.raises(AttributeError):
        result.content = "other"
