"""The loopback server speaks the Messages API to the real SDK."""

from __future__ import annotations

import urllib.error
import urllib.request
from contextlib import contextmanager

import anthropic
import pytest

from tests.messages_api import MessagesAPI, reply, request_types, text, use

ASK = {"role": "user", "content": "hi"}
TOOL = {"name": "bash", "description": "run", "input_schema": {"type": "object"}}
CALL = use("t1", "bash", {})
DONE = reply("end_turn", text("done"))
HOLOGRAM = {"type": "hologram", "beam": 1}


@pytest.fixture(autouse=True)
def scrubbed(monkeypatch, tmp_path):
    """The SDK reads keys, proxies and the home folder: give it none."""
    monkeypatch.setattr("os.environ", {"HOME": str(tmp_path)})


@contextmanager
def serving(*script):
    """A server with this script and a client of it."""
    with (
        MessagesAPI(script) as api,
        anthropic.Anthropic(
            api_key="k", base_url=api.base_url, max_retries=0
        ) as client,
    ):
        yield api, client


def ask(client, *messages, **options):
    """One request with the chapters' parameters."""
    fixed = {"model": "m", "max_tokens": 100, "system": "s", "tools": [TOOL]}
    fixed["messages"] = [*messages] or [ASK]
    return client.messages.create(**fixed | options)


def said(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def answered(call, **extra):
    block = {"type": "tool_result", "tool_use_id": call, "content": "ok", **extra}
    return {"role": "user", "content": [block]}


def test_the_answers_of_a_refused_request_wait_for_the_next_one():
    with serving(DONE) as (api, client):
        with pytest.raises(anthropic.BadRequestError, match="without tool_result"):
            ask(client, ASK, said(use("t1", "bash", {})))
        assert ask(client).content[0].text == "done"
        with pytest.raises(anthropic.BadRequestError, match="the script is over"):
            ask(client)
    assert (len(api.requests), len(api.refusals)) == (3, 2)


def test_waiting_for_a_request_that_does_not_come_fails():
    with MessagesAPI([]) as api, pytest.raises(AssertionError, match="0 requests"):
        api.wait_for_requests(1, timeout=0.01)


def history(*messages):
    return {"messages": list(messages)}


REFUSED = {
    "content a number": history({"role": "user", "content": 5}),
    "content a dict": history({"role": "user", "content": {}}),
    "role tool": history({"role": "tool", "content": "x"}),
    "message without content": history({"role": "user"}),
    "block of an unknown type": history(ASK, said(HOLOGRAM), ASK),
    "extra key on a text": history(ASK, said({**text("x"), "parsed": None}), ASK),
    "extra key on a call": history(ASK, said({**CALL, "x": 1}), answered("t1")),
    "extra key on a result": history(ASK, said(CALL), answered("t1", name="bash")),
    "result without a call": history(answered("t1")),
    "tool with an extra key": {"tools": [{**TOOL, "handler": "f"}]},
    "tool of another API": {"tools": [{"type": "function", "function": TOOL}]},
    "tool choice a string": {"tool_choice": "auto"},
    "max_tokens text": {"extra_body": {"max_tokens": "10"}},
    "max_tokens zero": {"max_tokens": 0},
    "sampling parameter": {"extra_body": {"temperature": 0}},
    "system null": {"system": None},
    "cache control a text": {"cache_control": "ephemeral"},
}


@pytest.mark.parametrize("options", REFUSED.values(), ids=REFUSED)
def test_a_wrong_request_is_refused_with_400_and_noted(options):
    with (
        serving(DONE) as (api, client),
        pytest.raises(anthropic.BadRequestError) as caught,
    ):
        ask(client, **options)
    assert api.refusals == [caught.value.api_message]


@pytest.mark.parametrize(
    "block",
    [
        {**CALL, "caller": {"type": "direct"}},
        {**CALL, "caller": None, "toolset_name": None},
        use("t1", "bash", {"deep": [{"a": None}]}),
    ],
    ids=["caller", "nulls", "deep"],
)
def test_a_faithful_echo_of_a_call_is_accepted(block):
    with serving(DONE) as (api, client):
        ask(client, ASK, said(block), answered("t1"))
    assert api.refusals == []


def test_an_unknown_block_is_accepted_from_the_server_that_sent_it():
    with serving(reply("pause_turn", HOLOGRAM), DONE) as (api, client):
        echo = ask(client).content[0].to_dict()
        ask(client, ASK, said(echo))
    assert (echo, api.refusals) == (HOLOGRAM, [])


def test_an_unknown_block_that_was_changed_is_refused():
    with serving(reply("pause_turn", HOLOGRAM), DONE) as (_, client):
        ask(client)
        with pytest.raises(anthropic.BadRequestError):
            ask(client, ASK, said({**HOLOGRAM, "text": None}))


@pytest.mark.parametrize("missing", ["authorization", "anthropic-version"])
def test_a_request_without_a_header_is_refused(missing):
    with (
        serving(DONE) as (api, client),
        pytest.raises(anthropic.APIStatusError, match=missing),
    ):
        ask(client, extra_headers={missing: anthropic.omit})
    assert len(api.refusals) == 1


def test_a_body_that_is_no_json_is_refused():
    headers = {"authorization": "Bearer k", "anthropic-version": "1"}
    with MessagesAPI([]) as api:
        request = urllib.request.Request(f"{api.base_url}/v1/messages", b"{", headers)
        request.add_header("content-type", "application/json")
        with pytest.raises(urllib.error.HTTPError, match="400") as caught:
            urllib.request.urlopen(request, timeout=10)
        caught.value.close()
    assert (api.requests, len(api.refusals)) == ([None], 1)


def test_the_types_of_the_sdk_are_left_as_they_were():
    from anthropic.types import TextBlockParam
    from pydantic import TypeAdapter

    request_types()
    block = {"type": "text", "text": "x", "more": 1}
    assert TypeAdapter(TextBlockParam).validate_python(block)["text"] == "x"
    assert "__pydantic_config__" not in vars(TextBlockParam)
