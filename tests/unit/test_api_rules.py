"""The rules refuse what the real API refuses, and nothing beside it."""

from __future__ import annotations

import pytest

from tests.api_rules import RequestRefused, RequestRules, StrictProvider

TOOL = {"name": "bash", "description": "run", "input_schema": {"type": "object"}}


def user(*blocks, content=None):
    return {"role": "user", "content": list(blocks) if content is None else content}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def text(words="hi"):
    return {"type": "text", "text": words}


def use(call="t1", name="bash", arguments=None, **extra):
    arguments = {} if arguments is None else arguments
    return {"type": "tool_use", "id": call, "name": name, "input": arguments, **extra}


def result(call="t1", content="ok", **extra):
    return {"type": "tool_result", "tool_use_id": call, "content": content, **extra}


def called(*blocks):
    """One call, answered with these blocks."""
    return [user(text()), assistant(use()), user(*blocks)]


def spoken(block):
    """A history whose assistant says this block, and goes on."""
    return [user(text()), assistant(block), user(text())]


def using(call):
    """A history with this call, answered."""
    return [user(text()), assistant(call), user(result(call["id"]))]


def tool(**changes):
    return {**TOOL, **changes}


def schema(**keywords):
    return tool(input_schema={"type": "object", **keywords})


HISTORIES = {  # what is refused | the near miss that passes
    "no message": ([], [user(text())]),
    "not a list": (None, [user(text())]),
    "message no object": (["hi"], [user(content="hi")]),
    "first message assistant": ([assistant(text())], [user(text()), assistant(text())]),
    "role": ([{**user(text()), "role": "system"}], [user(text())]),
    "extra key on a message": ([{**user(text()), "id": "m"}], [user(text())]),
    "content missing": ([{"role": "user"}], [user(content="hi")]),
    "content none": ([{"role": "user", "content": None}], [user(content="hi")]),
    "content empty": ([user()], [user(text())]),
    "content blank": ([user(content=" \n")], [user(content=" x\n")]),
    "text block blank": ([user(text(" "))], [user(text("x"))]),
    "text block without text": ([user({"type": "text"})], [user(text())]),
    "block no object": ([user("hi")], [user(text("hi"))]),
    "block without type": (spoken({"text": "hi"}), spoken({"type": "hologram"})),
    "call unanswered at the end": (called()[:2], called(result())),
    "call answered by text": (called(text()), called(result(), text())),
    "text before the result": (called(text(), result()), called(result(), text())),
    "answered too late": (
        [*called()[:2], user(text()), user(result())],
        [*called(result()), user(text())],
    ),
    "one of two calls answered": (
        [user(text()), assistant(use(), use("t2")), user(result())],
        [user(text()), assistant(use(), use("t2")), user(result("t2"), result())],
    ),
    "two results for a call": (called(result(), result()), called(result())),
    "result without a call": ([user(result())], called(result())),
    "result for another call": (called(result(), result("t2")), called(result())),
    "call in a user message": ([user(use()), user(result())], called(result())),
    "result by the assistant": (
        [*called()[:2], assistant(result())],
        called(result()),
    ),
    "id used again": (
        [*called(result()), assistant(use()), user(result())],
        [*called(result()), assistant(use("t2")), user(result("t2"))],
    ),
    "id used twice in a turn": (
        [user(text()), assistant(use(), use()), user(result())],
        [user(text()), assistant(use(), use("t2")), user(result(), result("t2"))],
    ),
    "id empty": (using(use("")), using(use("_"))),
    "id malformed": (using(use("a.b")), using(use("a-b"))),
    "id with a line end": (using(use("a\n")), using(use("a"))),
    "id none": (using(use(None)), using(use("None"))),
    "id a list": (using(use(["t1"])), using(use())),
    "name with a dot": (using(use(name="a.b")), using(use(name="a_b"))),
    "name too long": (using(use(name="a" * 65)), using(use(name="a" * 64))),
    "name empty": (using(use(name="")), using(use(name="-"))),
    "input a string": (using(use(arguments="{}")), using(use(arguments={"a": 1}))),
    "input a list": (using(use(arguments=[])), using(use())),
    "error without words": (
        called(result(content="", is_error=True)),
        called(result(content="")),
    ),
    "error with no content": (
        called({"type": "tool_result", "tool_use_id": "t1", "is_error": True}),
        called({"type": "tool_result", "tool_use_id": "t1"}),
    ),
    "error with an empty list": (
        called(result(content=[], is_error=True)),
        called(result(content=[])),
    ),
    "error with a picture": (
        called(result(content=[{"type": "image"}], is_error=True)),
        called(result(content=[{"type": "image"}])),
    ),
    "error flag no boolean": (
        called(result(is_error="yes")),
        called(result(is_error=True)),
    ),
    "result a dict": (called(result(content={"a": 1})), called(result(content="{}"))),
    "result a number": (called(result(content=5)), called(result(content="5"))),
    "result none": (called(result(content=None)), called(result(content=""))),
    "blank text in a result": (
        called(result(content=[text(" ")])),
        called(result(content=[text("x")])),
    ),
    "call inside a result": (
        called(result(content=[use("t2")])),
        called(result(content=[text()])),
    ),
    "lone surrogate": ([user(text("\udce9"))], [user(text("\u00e9"))]),
    "NaN": (
        using(use(arguments={"x": float("nan")})),
        using(use(arguments={"x": 1.5})),
    ),
    "bytes": (using(use(arguments={"x": b"1"})), using(use(arguments={"x": "1"}))),
    "final answer ends in a space": (
        [user(text()), assistant(text("so "))],
        spoken(text("so ")),
    ),
}

TOOLS = {
    "missing": (None, [TOOL]),
    "empty": ([], [TOOL]),
    "no list": ({"bash": TOOL}, [TOOL]),
    "tool no object": (["bash"], [TOOL]),
    "extra key": ([tool(handler="f")], [TOOL]),
    "cache control": ([tool(cache_control=None)], [TOOL]),
    "no description": ([tool(description=None)], [tool(description="")]),
    "name with a dot": ([tool(name="a.b")], [tool(name="a-b")]),
    "name too long": ([tool(name="a" * 65)], [tool(name="a" * 64)]),
    "name not text": ([tool(name=5)], [tool(name="5")]),
    "name twice": ([TOOL, TOOL], [TOOL, tool(name="Bash")]),
    "schema missing": ([tool(input_schema=None)], [TOOL]),
    "root no object": ([schema(type="array")], [schema(type="object")]),
    "root type a list": ([schema(type=["object"])], [schema(type="object")]),
    "choice at the root": (
        [schema(anyOf=[])],
        [schema(properties={"a": {"anyOf": []}})],
    ),
    "not JSON": ([schema(properties={"a": {"default": {1}}})], [schema(properties={})]),
}


@pytest.mark.parametrize("wrong, right", HISTORIES.values(), ids=HISTORIES)
def test_a_wrong_history_is_refused_and_the_near_miss_passes(wrong, right):
    with pytest.raises(RequestRefused):
        RequestRules().check(wrong, [TOOL])
    RequestRules().check(right, [TOOL])


@pytest.mark.parametrize("wrong, right", TOOLS.values(), ids=TOOLS)
def test_a_wrong_list_of_tools_is_refused_and_the_near_miss_passes(wrong, right):
    with pytest.raises(RequestRefused):
        RequestRules().check(called(result()), wrong)
    RequestRules().check(called(result()), right)


@pytest.mark.parametrize("tools", [None, []], ids=["none", "empty"])
def test_a_history_without_calls_needs_no_tools(tools):
    RequestRules().check([user(text())], tools)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "", "signature": "x"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []},
        {"type": "hologram", "text": " "},
    ],
    ids=lambda block: block["type"],
)
def test_blocks_without_a_rule_pass_untouched(block):
    RequestRules().check(spoken(block), [TOOL])


def test_the_history_of_a_paused_turn_may_end_with_the_assistant():
    RequestRules().check([user(text()), assistant(text("I search"))], [TOOL])


def test_the_sentence_names_the_message_and_the_block():
    with pytest.raises(RequestRefused, match=r"^messages\.2\.content\.1: text"):
        RequestRules().check(called(result(), text("")), [TOOL])


def test_a_growing_history_is_checked_once_per_message():
    rules, messages = RequestRules(), [user(text())]
    for turn in range(1000):
        messages += [assistant(use(f"t{turn}")), user(result(f"t{turn}"))]
        rules.check(messages, [TOOL])
    assert rules.checked == len(messages)


def test_an_id_from_an_earlier_request_is_remembered():
    rules, messages = RequestRules(), called(result())
    rules.check(messages, [TOOL])
    messages += [assistant(use()), user(result())]
    with pytest.raises(RequestRefused, match=r"messages\.3: tool_use ids"):
        rules.check(messages, [TOOL])


def test_calls_left_open_are_refused_again_at_the_next_request():
    rules, messages = RequestRules(), [user(text()), assistant(use())]
    for _ in range(2):
        with pytest.raises(RequestRefused, match="without tool_result"):
            rules.check(messages, [TOOL])
    rules.check([*messages, user(result())], [TOOL])


CHANGES = {
    "another last message": lambda m: m.__setitem__(2, user(text())),
    "a last message changed in place": lambda m: m[2]["content"].clear(),
    "a shorter history": lambda m: m.pop(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_history_that_was_changed_is_checked_from_the_start(change):
    rules, messages = RequestRules(), called(result())
    rules.check(messages, [TOOL])
    change(messages)
    with pytest.raises(RequestRefused):
        rules.check(messages, [TOOL])


def test_tools_changed_in_place_are_checked_again():
    rules, tools = RequestRules(), [tool()]
    rules.check([user(text())], tools)
    tools[0]["handler"] = "f"
    with pytest.raises(RequestRefused, match="extra inputs"):
        rules.check([user(text())], tools)


def test_the_strict_provider_refuses_before_it_asks():
    provider = StrictProvider(None)
    with pytest.raises(RequestRefused):
        provider.create([], [TOOL])
    assert (provider.requests, provider.seen) == (1, [0])
