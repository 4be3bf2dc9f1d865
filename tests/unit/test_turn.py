"""A reply becomes plain values once, whoever sent it and however odd it is."""

from __future__ import annotations

import copy
import json
import math
import re
from types import SimpleNamespace

import pytest
from anthropic.types import Message

from tests.turns import T, as_sdk, both_chapters, text, use

pytestmark = both_chapters

THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "eHg="}
HOLOGRAM = {"type": "hologram", "depth": [1, {"a": None}], "unit": "m"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "bash", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
CITED = {"type": "text", "text": "as said", "citations": None}
CALL = use("toolu_1", "bash", {"command": "ls"})
CALLER = {**CALL, "caller": {"type": "direct"}}

shapes = pytest.mark.parametrize(
    "shape",
    [pytest.param(lambda turn: turn, id="dict"), pytest.param(as_sdk, id="sdk")],
)


def read(chapter, response, seen=()):
    """The turn, after a check that history can keep it as JSON."""
    turn = chapter.AgentTurn.from_response(response, set(seen))
    json.dumps(turn.content, allow_nan=False, ensure_ascii=False).encode()
    assert turn.content == json.loads(json.dumps(turn.content))
    return turn


def read_input(chapter, arguments):
    """The stored input and the arguments of the call, for a raw input."""
    turn = read(chapter, T("tool_use", use("t1", "bash", arguments)))
    return turn.content[0]["input"], turn.tool_calls[0].arguments


@shapes
@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param([text("hi")], id="text"),
        pytest.param([CITED], id="null that came"),
        pytest.param([CALL], id="call"),
        pytest.param([CALLER], id="call with a caller"),
        pytest.param([THINKING, text("hi"), CALL], id="thinking first"),
        pytest.param([REDACTED, text("hi")], id="redacted thinking"),
        pytest.param([text("a"), HOLOGRAM, text("b")], id="unknown type between"),
        pytest.param([SEARCH, FOUND, text("found")], id="server tools"),
        pytest.param([text("\U0001f600 \u4f60\u597d e\u0301")], id="not ASCII"),
        pytest.param([text("  leading and trailing \n")], id="white space around"),
    ],
)
def test_what_the_api_sends_is_kept_as_it_came(chapter, shape, blocks):
    turn = read(chapter, shape(T("end_turn", *copy.deepcopy(blocks))))

    assert turn.content == blocks


def test_a_validated_message_of_the_sdk_is_read_like_its_dict(chapter):
    reply = {
        **{"id": "msg_1", "type": "message", "role": "assistant", "model": "m"},
        **T("tool_use", text("hi"), CALL),
        **{"stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}},
    }
    turn = read(chapter, Message.model_validate(reply))

    assert turn == read(chapter, reply)
    assert turn.content == [text("hi"), CALL]


def test_objects_with_plain_attributes_are_read_too(chapter):
    block = SimpleNamespace(type="text", text="hi")
    turn = read(chapter, SimpleNamespace(content=[block], stop_reason="end_turn"))

    assert (turn.content, turn.text) == ([text("hi")], "hi")


@shapes
@pytest.mark.parametrize(
    "content, stored",
    [
        pytest.param(None, [], id="none"),
        pytest.param("hi", [text("hi")], id="a string"),
        pytest.param(" \n", [], id="a blank string"),
        pytest.param([], [], id="an empty list"),
        pytest.param([text(None)], [], id="text none"),
        pytest.param([text("")], [], id="text empty"),
        pytest.param([text(" \n\t")], [], id="text blank"),
        pytest.param([{"type": "text"}], [], id="text missing"),
        pytest.param([text(5)], [], id="text a number"),
        pytest.param([text(""), text("b")], [text("b")], id="blank before text"),
        pytest.param([None, text("b")], [text("b")], id="a block that is none"),
        pytest.param([{"text": "x"}, text("b")], [text("b")], id="type missing"),
        pytest.param([{"type": 5}, text("b")], [text("b")], id="type a number"),
        pytest.param([{}, text("b")], [text("b")], id="an empty block"),
    ],
)
def test_odd_content_keeps_what_can_be_sent(chapter, shape, content, stored):
    turn = read(chapter, shape({"stop_reason": "end_turn", "content": content}))

    assert turn.content == stored
    assert turn.tool_calls == ()


@pytest.mark.parametrize(
    "response",
    [
        pytest.param({}, id="empty object"),
        pytest.param({"error": {"type": "x"}}, id="error object"),
        pytest.param("<html>hello</html>", id="page of a wrong server"),
        pytest.param([1, 2], id="list"),
        pytest.param(None, id="none"),
        pytest.param({"choices": [{"message": {"content": "x"}}]}, id="other protocol"),
        pytest.param({"content": 5, "stop_reason": 5}, id="content a number"),
        pytest.param({"content": [5, 1.5, True, [text()]]}, id="blocks no objects"),
    ],
)
def test_a_reply_without_a_block_is_an_empty_turn(chapter, response):
    turn = read(chapter, response)

    assert (turn.content, turn.text, turn.tool_calls) == ([], "", ())
    assert turn.provider_stop_reason is None


@pytest.mark.parametrize("said", ["end_turn", "length", "", "something_new"])
def test_the_raw_stop_reason_is_kept(chapter, said):
    assert read(chapter, T(said, text())).provider_stop_reason == said


@pytest.mark.parametrize("said", [None, 5, ["end_turn"], {"reason": "end_turn"}])
def test_a_stop_reason_that_is_no_text_is_none(chapter, said):
    assert read(chapter, T(said, text())).provider_stop_reason is None


def test_every_text_is_part_of_the_text_of_the_turn(chapter):
    turn = read(chapter, T("end_turn", text("one"), THINKING, CALL, text("two")))

    assert re.fullmatch(r"one\s*two", turn.text)


@shapes
@pytest.mark.parametrize(
    "raw, stored",
    [
        pytest.param({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, id="object"),
        pytest.param(None, {}, id="none"),
        pytest.param('{"x": 1}', {}, id="JSON as a string"),
        pytest.param("5", {}, id="a number as a string"),
        pytest.param("", {}, id="empty string"),
        pytest.param([], {}, id="empty list"),
        pytest.param([{"command": "ls"}], {}, id="list of objects"),
        pytest.param(5, {}, id="number"),
        pytest.param(True, {}, id="boolean"),
        pytest.param({"n": math.inf}, {}, id="infinite"),
    ],
)
def test_an_input_is_stored_as_an_object_and_dispatched_raw(
    chapter, shape, raw, stored
):
    turn = read(chapter, shape(T("tool_use", use("t1", "bash", raw))))

    assert turn.content[0]["input"] == stored
    assert turn.tool_calls[0].arguments == raw


def test_a_missing_input_is_stored_as_an_object(chapter):
    block = {"type": "tool_use", "id": "t1", "name": "bash"}
    turn = read(chapter, T("tool_use", block))

    assert turn.content[0]["input"] == {}
    assert turn.tool_calls[0].arguments is None


def circular():
    value = {}
    value["self"] = value
    return value


def nested(depth):
    value = {}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param({"n": math.nan}, id="not a number"),
        pytest.param({"a": [[{"n": -math.inf}]]}, id="infinite inside"),
        pytest.param({"b": b"bytes"}, id="bytes"),
        pytest.param({"s": {1, 2}}, id="set"),
        pytest.param({("a",): 1}, id="key no text"),
        pytest.param({"o": object()}, id="object"),
        pytest.param(circular(), id="circular"),
    ],
)
def test_an_input_that_is_no_json_is_stored_as_an_empty_object(chapter, raw):
    assert read_input(chapter, raw)[0] == {}


@pytest.mark.parametrize("depth", [98, 99, 100, 101, 102, 900, 5_000])
def test_a_call_with_a_deep_input_stays_in_its_turn(chapter, depth):
    stored, _ = read_input(chapter, nested(depth))

    assert isinstance(stored, dict)


def test_a_call_whose_other_fields_are_no_json_stays_in_its_turn(chapter):
    odd = {**CALL, "caller": object(), "cache": {1, 2}, "depth": nested(5_000)}
    turn = read(chapter, T("tool_use", odd))

    kept = {key: turn.content[0][key] for key in CALL}
    assert kept == CALL


@pytest.mark.parametrize(
    "block",
    [
        pytest.param({"type": "hologram", "data": b"x"}, id="bytes"),
        pytest.param({"type": "hologram", "data": math.nan}, id="not a number"),
        pytest.param({"type": "hologram", "data": nested(5_000)}, id="deep"),
        pytest.param({"type": "hologram", "data": circular()}, id="circular"),
        pytest.param({"type": "hologram", 5: object()}, id="object"),
    ],
)
def test_a_block_that_is_no_json_costs_no_other_block(chapter, block):
    turn = read(chapter, T("tool_use", text("hi"), block, CALL))

    assert [text("hi"), CALL] == [b for b in turn.content if b["type"] != "hologram"]


@pytest.mark.parametrize("kind", ["tool_result", "image", "document"])
def test_a_block_that_only_users_may_send_is_left_out(chapter, kind):
    block = {"type": kind, "tool_use_id": "t1", "content": "x"}
    turn = read(chapter, T("end_turn", block, text("hi")))

    assert turn.content == [text("hi")]


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(text("a\ud800b"), id="text"),
        pytest.param({**THINKING, "thinking": "a\udce9"}, id="thinking"),
        pytest.param(use("t1", "bash", {"command": "\ud800"}), id="input"),
        pytest.param(use("t1", "bash", {"\udfff": 1}), id="key of the input"),
        pytest.param({"type": "hologram", "\ud800": "x"}, id="key of a block"),
        pytest.param({"type": "holo\ud800gram"}, id="type"),
    ],
)
def test_lone_surrogates_are_replaced_and_the_block_stays(chapter, block):
    turn = read(chapter, T("end_turn", block, text("b")))

    assert len(turn.content) == 2


def test_a_call_keeps_lone_surrogates_for_the_dispatcher(chapter):
    stored, arguments = read_input(chapter, {"command": "a\ud800"})

    assert arguments == {"command": "a\ud800"}
    assert stored["command"].startswith("a") and stored["command"].isprintable()


@shapes
@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(None, id="none"),
        pytest.param("", id="empty"),
        pytest.param("a.b", id="dot"),
        pytest.param("a b", id="space"),
        pytest.param("a\n", id="line end"),
        pytest.param("caf\u00e9", id="not ASCII"),
        pytest.param("\u0661", id="digit of another script"),
        pytest.param(5, id="number"),
        pytest.param(["t1"], id="list"),
        pytest.param({"id": 1}, id="object"),
        pytest.param("used", id="used before"),
    ],
)
def test_an_id_that_cannot_be_used_is_replaced_in_block_and_call(chapter, shape, raw):
    seen = {"used", "call_1"}
    turn = chapter.AgentTurn.from_response(shape(T("tool_use", use(raw))), seen)
    new = turn.tool_calls[0].tool_use_id

    assert re.fullmatch("[A-Za-z0-9_-]+", new) and new not in ("used", "call_1")
    assert turn.content[0]["id"] == new
    assert seen == {"used", "call_1", new}


def test_a_missing_id_is_made(chapter):
    turn = read(chapter, T("tool_use", {"type": "tool_use", "name": "bash"}))

    assert turn.content[0]["id"] == turn.tool_calls[0].tool_use_id != ""


@pytest.mark.parametrize(
    "ids",
    [
        pytest.param(["a", "a", "a"], id="one id"),
        pytest.param(["", None, "a.b"], id="none of them usable"),
        pytest.param(["", "call_1", "call_2", "call_3"], id="what could be made"),
        pytest.param(["call_1", "", "call_2", "", "call_3"], id="made between"),
        pytest.param(["toolu_1", "toolu_1", "call_2", "call_2"], id="two pairs"),
    ],
)
def test_ids_are_unique_in_a_turn_and_the_same_in_block_and_call(chapter, ids):
    turn = read(chapter, T("tool_use", *map(use, ids)))
    stored = [block["id"] for block in turn.content]

    assert stored == [call.tool_use_id for call in turn.tool_calls]
    assert len(set(stored)) == len(ids)


def test_good_ids_stay(chapter):
    ids = ["toolu_01A", "call-2", "0", "x" * 200]
    turn = read(chapter, T("tool_use", *map(use, ids)))

    assert [block["id"] for block in turn.content] == ids


def test_ids_stay_unique_over_many_turns_of_a_server_that_repeats_them(chapter):
    seen = set()
    ids = [
        chapter.AgentTurn.from_response(T("tool_use", use(raw)), seen).content[0]["id"]
        for raw in ["call_0", "", "call_1", None] * 25
    ]

    assert len(set(ids)) == 100 and seen == set(ids)


@shapes
@pytest.mark.parametrize(
    "raw",
    [
        pytest.param("functions.read_file", id="dot"),
        pytest.param("read_file ", id="space"),
        pytest.param("read_file\n", id="line end"),
        pytest.param("", id="empty"),
        pytest.param(None, id="none"),
        pytest.param("n" * 65, id="too long"),
        pytest.param("\u8bfb\u6587\u4ef6", id="not ASCII"),
        pytest.param("\ud800", id="lone surrogate"),
        pytest.param(5, id="number"),
        pytest.param(["bash"], id="list"),
        pytest.param({"name": "bash"}, id="object"),
    ],
)
def test_a_name_no_api_accepts_is_stored_as_one_and_dispatched_raw(chapter, shape, raw):
    turn = read(chapter, shape(T("tool_use", use("t1", raw, {}))))

    assert re.fullmatch("[A-Za-z0-9_-]{1,64}", turn.content[0]["name"])
    assert turn.tool_calls[0].name == raw


@pytest.mark.parametrize("name", ["bash", "Read-File_2", "-", "n" * 64])
def test_a_name_the_api_accepts_stays(chapter, name):
    assert read(chapter, T("tool_use", use("t1", name))).content[0]["name"] == name


def test_the_call_and_the_stored_block_share_nothing(chapter):
    response = T("tool_use", use("t1", "bash", {"a": [{"b": 1}]}))
    turn = read(chapter, response)
    turn.tool_calls[0].arguments["a"][0]["b"] = "changed"
    turn.tool_calls[0].arguments["new"] = 1

    assert turn.content == response["content"]
    assert response == T("tool_use", use("t1", "bash", {"a": [{"b": 1}]}))


def test_reading_a_reply_does_not_change_it(chapter):
    blocks = [text("\ud800"), use("", "a.b", {"n": math.inf}), THINKING, {"type": 5}]
    response = T("tool_use", *blocks)
    before = copy.deepcopy(response)
    turn = read(chapter, response)
    turn.content[0]["text"] = "changed"

    assert response == before


@pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use", "TOOL_USE"])
def test_only_a_tool_use_is_a_call(chapter, kind):
    block = {**SEARCH, "type": kind}
    turn = read(chapter, T("end_turn", block, text("<tool_use>bash</tool_use>")))

    assert turn.tool_calls == ()
    assert turn.content[0] == block


def test_a_turn_cannot_be_changed(chapter):
    turn = read(chapter, T("end_turn", text()))
    with pytest.raises(AttributeError):
        turn.text = "other"
