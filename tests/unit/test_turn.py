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

shapes = pytest.mark.parametrize("shape", [dict, as_sdk], ids=["dict", "sdk"])


def read(chapter, response, seen=()):
    """The turn, after a check that history can keep it as JSON."""
    turn = chapter.AgentTurn.from_response(response, set(seen))
    json.dumps(turn.content, allow_nan=False, ensure_ascii=False).encode()
    assert turn.content == json.loads(json.dumps(turn.content))
    return turn


KEPT = [
    *[[text("hi")], [CITED], [CALL], [CALLER], [THINKING, text("hi"), CALL]],
    *[[REDACTED, text("hi")], [text("a"), HOLOGRAM, text("b")]],
    *[[SEARCH, FOUND, text("found")], [{**SEARCH, "type": "mcp_tool_use"}, text("a")]],
    *[[text("\U0001f600 \u4f60\u597d e\u0301")], [text("  white space around \n")]],
    *[[{**SEARCH, "type": "TOOL_USE"}], [text("<tool_use>bash</tool_use>")]],
]


@shapes
@pytest.mark.parametrize("blocks", KEPT, ids=range(len(KEPT)))
def test_what_the_api_sends_is_kept_and_only_a_tool_use_is_a_call(
    chapter, shape, blocks
):
    turn = read(chapter, shape(T("end_turn", *copy.deepcopy(blocks))))

    assert turn.content == blocks
    assert len(turn.tool_calls) == (CALL in blocks or CALLER in blocks)
    with pytest.raises(AttributeError):
        turn.text = "other"


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


USERS = [
    {"type": kind, "content": "x"} for kind in ("tool_result", "image", "document")
]
SENT = [  # content, and what of it is stored
    *[(None, []), ("hi", [text("hi")]), (" \n", []), ([], [])],
    *[([text(blank)], []) for blank in (None, "", " \n\t", 5)],
    *[
        ([odd, text("b")], [text("b")])
        for odd in (None, {}, {"text": "x"}, {"type": 5})
    ],
    *[([odd, text("b")], [text("b")]) for odd in (text(""), {"type": "text"}, *USERS)],
]


@shapes
@pytest.mark.parametrize("content, stored", SENT, ids=range(len(SENT)))
def test_odd_content_keeps_what_can_be_sent(chapter, shape, content, stored):
    turn = read(chapter, shape({"stop_reason": "end_turn", "content": content}))

    assert (turn.content, turn.tool_calls) == (stored, ())


@pytest.mark.parametrize(
    "response",
    [
        *[{}, {"error": {"type": "x"}}, "<html>hello</html>", [1, 2], None],
        {"choices": [{"message": {"content": "x"}}]},  # another protocol
        *[{"content": 5, "stop_reason": 5}, {"content": [5, 1.5, True, [text()]]}],
    ],
    ids=str,
)
def test_a_reply_without_a_block_is_an_empty_turn(chapter, response):
    turn = read(chapter, response)

    assert (turn.content, turn.text, turn.tool_calls) == ([], "", ())
    assert turn.provider_stop_reason is None


@pytest.mark.parametrize("said", ["end_turn", "length", "", None, 5, ["end_turn"], {}])
def test_the_stop_reason_is_kept_if_it_is_a_text(chapter, said):
    kept = said if isinstance(said, str) else None

    assert read(chapter, T(said, text())).provider_stop_reason == kept


def test_every_text_is_part_of_the_text_of_the_turn(chapter):
    turn = read(chapter, T("end_turn", text("one"), THINKING, CALL, text("two")))

    assert re.fullmatch(r"one\s*two", turn.text)


NO_OBJECT = [
    None,
    '{"x": 1}',
    "5",
    "",
    [],
    [{"command": "ls"}],
    5,
    True,
    {"n": math.inf},
]
INPUTS = [  # what came, what is stored
    ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}),
    ({"command": "a\ud800"}, {"command": "a?"}),
    *[(raw, {}) for raw in NO_OBJECT],
]


@shapes
@pytest.mark.parametrize("raw, stored", INPUTS, ids=range(len(INPUTS)))
def test_an_input_is_stored_as_an_object_and_dispatched_raw(
    chapter, shape, raw, stored
):
    turn = read(chapter, shape(T("tool_use", use("t1", "bash", raw))))

    assert turn.content[0]["input"] == stored
    assert turn.tool_calls[0].arguments == raw


def circular():
    value = {}
    value["self"] = value
    return value


def nested(depth):
    value = {}
    for _ in range(depth):
        value = {"a": value}
    return value


NO_JSON = [
    *[{"n": math.nan}, {"a": [[{"n": -math.inf}]]}, {"b": b"bytes"}, {"s": {1, 2}}],
    *[{("a",): 1}, {"o": object()}, circular(), nested(200_000)],
]


@pytest.mark.parametrize("raw", NO_JSON, ids=range(len(NO_JSON)))
def test_an_input_that_is_no_json_is_stored_as_an_empty_object(chapter, raw):
    turn = read(chapter, T("tool_use", use("t1", "bash", raw)))

    assert turn.content[0]["input"] == {} and len(turn.tool_calls) == 1


@pytest.mark.parametrize("depth", [98, 99, 100, 101, 102, 900])
def test_a_deep_input_is_stored_or_left_out_and_its_call_stays(chapter, depth):
    turn = read(chapter, T("tool_use", use("t1", "bash", nested(depth))))

    assert isinstance(turn.content[0]["input"], dict) and len(turn.tool_calls) == 1


@pytest.mark.parametrize("key", ["id", "name", "input"])
def test_a_call_with_a_field_missing_or_no_json_stays_in_its_turn(chapter, key):
    odd = {**CALL, "caller": object(), "cache": {1, 2}, "depth": nested(5_000)}
    less = {k: v for k, v in CALL.items() if k != key}
    turn = read(chapter, T("tool_use", odd, less))

    assert {k: turn.content[0][k] for k in CALL} == CALL
    assert turn.content[1].keys() == CALL.keys() and turn.content[1]["name"]
    assert turn.tool_calls[1].arguments == less.get("input")


@pytest.mark.parametrize(
    "odd", [b"x", math.nan, nested(5_000), circular(), object()], ids=range(5)
)
def test_a_block_that_is_no_json_costs_no_other_block(chapter, odd):
    block = {"type": "hologram", "data": odd}
    turn = read(chapter, T("tool_use", text("hi"), block, CALL, {**block, 5: odd}))

    assert [text("hi"), CALL] == [b for b in turn.content if b["type"] != "hologram"]


@pytest.mark.parametrize(
    "block",
    [
        *[text("a\ud800b"), {**THINKING, "thinking": "a\udce9"}],
        *[use("t1", "bash", {"\udfff": 1}), use("t1", "bash", {"command": "\ud800"})],
        *[{"type": "hologram", "\ud800": "x"}, {"type": "holo\ud800gram"}],
    ],
)
def test_lone_surrogates_are_replaced_and_the_block_stays(chapter, block):
    assert len(read(chapter, T("end_turn", block, text("b"))).content) == 2


ODD_IDS = [None, "", "a.b", "a b", "a\n", "caf\u00e9", "\u0661", 5, ["t1"], {"id": 1}]


@shapes
@pytest.mark.parametrize("raw", [*ODD_IDS, "used"], ids=repr)
def test_an_id_that_cannot_be_used_is_replaced_in_block_and_call(chapter, shape, raw):
    seen = {"used", "call_1"}
    turn = chapter.AgentTurn.from_response(shape(T("tool_use", use(raw))), seen)
    new = turn.tool_calls[0].tool_use_id

    assert re.fullmatch("[A-Za-z0-9_-]+", new) and new not in ("used", "call_1")
    assert turn.content[0]["id"] == new
    assert seen == {"used", "call_1", new}


@pytest.mark.parametrize(
    "ids",
    [
        *[["a", "a", "a"], ["", None, "a.b"], ["", "call_1", "call_2", "call_3"]],
        *[["call_1", "", "call_2", "", "call_3"], ["t1", "t1", "call_2", "call_2"]],
        *[["toolu_01A", "call-2", "0", "x" * 200], ["call_0", "", "call_1", None] * 25],
    ],
)
def test_ids_are_unique_in_block_and_call_and_good_ones_stay(chapter, ids):
    turn = read(chapter, T("tool_use", *map(use, ids)))
    stored = [block["id"] for block in turn.content]
    seen = set()
    turns = [T("tool_use", {**use(), "id": id_}) for id_ in ids]
    one_by_one = [chapter.AgentTurn.from_response(t, seen).content for t in turns]

    assert stored == [call.tool_use_id for call in turn.tool_calls]
    assert len(set(stored)) == len(seen) == len(ids)
    assert seen == {content[0]["id"] for content in one_by_one}
    assert stored[0] == (ids[0] or "call_1") and "" not in stored
    assert stored == ids or "toolu_01A" not in ids


GOOD_NAMES = ["bash", "Read-File_2", "-", "n" * 64]
ODD_NAMES = ["functions.read_file", "read_file ", "read_file\n", "", None, "n" * 65]
ODD_NAMES += ["\u8bfb\u6587\u4ef6", "\ud800", 5, ["bash"], {"name": "bash"}]


@shapes
@pytest.mark.parametrize("raw", [*GOOD_NAMES, *ODD_NAMES], ids=repr)
def test_a_name_is_stored_as_the_api_accepts_it_and_dispatched_raw(chapter, shape, raw):
    turn = read(chapter, shape(T("tool_use", use("t1", raw, {}))))
    stored = turn.content[0]["name"]

    assert re.fullmatch("[A-Za-z0-9_-]{1,64}", stored)
    assert (stored == raw) == (raw in GOOD_NAMES) and turn.tool_calls[0].name == raw


def test_the_reply_the_call_and_the_stored_block_share_nothing(chapter):
    odd = [text("\ud800"), use("", "a.b", {"n": math.inf}), THINKING, {"type": 5}]
    response = T("tool_use", use("t1", "bash", {"a": [{"b": 1}]}), *odd)
    before = copy.deepcopy(response)
    turn = read(chapter, response)
    turn.tool_calls[0].arguments["a"][0]["b"] = "changed"
    turn.tool_calls[0].arguments["new"] = 1
    assert turn.content[0] == before["content"][0]

    turn.content[0]["input"]["a"][0]["b"] = turn.content[1]["text"] = "changed"
    assert response == before
