"""The loopback server speaks the Messages API to the real SDK."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager

import anthropic
import pytest

from tests.messages_api import (
    MessagesAPI,
    drop,
    hang,
    html,
    raw,
    reply,
    request_types,
    status,
    text,
    thinking,
    use,
)

ASK = {"role": "user", "content": "hi"}
TOOL = {"name": "bash", "description": "run", "input_schema": {"type": "object"}}
DONE = reply("end_turn", text("done"))
HOLOGRAM = {"type": "hologram", "beam": 1}


@pytest.fixture(autouse=True)
def scrubbed(monkeypatch, tmp_path):
    """The SDK reads keys, proxies and the home folder: give it none."""
    monkeypatch.setattr("os.environ", {"HOME": str(tmp_path)})


@contextmanager
def serving(*script, **options):
    """A server with this script and a client of it."""
    with (
        MessagesAPI(script) as api,
        anthropic.Anthropic(api_key="k", base_url=api.base_url, **options) as client,
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


def test_a_tool_round_is_accepted_and_recorded():
    first = reply("tool_use", thinking(), text("look"), use("t1", "bash", {"a": 1}))
    with serving(first, DONE) as (api, client):
        turn = ask(client)
        echo = [block.to_dict() for block in turn.content]
        last = ask(client, ASK, said(*echo), answered("t1"))
    assert (turn.stop_reason, last.content[0].text) == ("tool_use", "done")
    assert [len(request["messages"]) for request in api.requests] == [1, 3]
    assert api.headers[0]["authorization"] == "Bearer k"
    assert api.refusals == []


def test_the_answers_of_a_refused_request_wait_for_the_next_one():
    with serving(DONE) as (api, client):
        with pytest.raises(anthropic.BadRequestError, match="without tool_result"):
            ask(client, ASK, said(use("t1", "bash", {})))
        assert ask(client).content[0].text == "done"
    assert (len(api.requests), len(api.refusals)) == (2, 1)


@pytest.mark.parametrize("code", [429, 529])
def test_the_sdk_repeats_a_busy_answer_by_itself(code):
    with serving(status(code), DONE) as (api, client):
        assert ask(client).content[0].text == "done"
    assert len(api.requests) == 2


def test_three_overloaded_answers_reach_the_caller():
    with (
        serving(*[status(529)] * 3) as (api, client),
        pytest.raises(anthropic.OverloadedError) as caught,
    ):
        ask(client)
    assert (caught.value.type, len(api.requests)) == ("overloaded_error", 3)


def test_a_refused_key_is_not_repeated():
    with (
        serving(status(401)) as (api, client),
        pytest.raises(anthropic.AuthenticationError, match="scripted 401"),
    ):
        ask(client)
    assert len(api.requests) == 1


def test_a_wait_can_be_asked_for_in_seconds():
    with (
        serving(status(429, retry_after=7), max_retries=0) as (_, client),
        pytest.raises(anthropic.RateLimitError) as caught,
    ):
        ask(client)
    assert caught.value.response.headers["retry-after"] == "7"


def test_a_web_page_arrives_as_a_string():
    with serving(html()) as (_, client):
        assert ask(client).startswith("<!doctype html>")


def test_raw_bytes_arrive_as_they_are():
    with (
        serving(raw(b"{"), max_retries=0) as (_, client),
        pytest.raises(json.JSONDecodeError),
    ):
        ask(client)


def test_a_dropped_connection_is_a_connection_error():
    with (
        serving(drop(), max_retries=0) as (_, client),
        pytest.raises(anthropic.APIConnectionError),
    ):
        ask(client)


def test_a_hanging_request_is_dropped_when_the_event_is_set():
    event, errors = threading.Event(), []
    with serving(hang(event), max_retries=0) as (api, client):
        asking = threading.Thread(target=collect, args=(client, errors))
        asking.start()
        api.wait_for_requests(1)
        assert api.reached.wait(10) and errors == []
        event.set()
        asking.join(10)
    assert [type(error) for error in errors] == [anthropic.APIConnectionError]


def test_a_hanging_request_ends_with_the_server():
    errors = []
    with anthropic.Anthropic(api_key="k", max_retries=0) as client:
        with MessagesAPI([hang()]) as api:
            client.base_url = api.base_url
            asking = threading.Thread(target=collect, args=(client, errors))
            asking.start()
            assert api.reached.wait(10)
        asking.join(10)
    assert [type(error) for error in errors] == [anthropic.APIConnectionError]


def collect(client, errors):
    try:
        ask(client)
    except anthropic.AnthropicError as error:
        errors.append(error)


def test_no_thread_is_left_behind():
    before = threading.active_count()
    with serving(DONE, hang()) as (_, client):
        ask(client)
    assert threading.active_count() == before


def test_a_request_after_the_script_is_refused():
    with (
        serving() as (api, client),
        pytest.raises(anthropic.BadRequestError, match="the script is over"),
    ):
        ask(client)
    assert api.refusals == ["the script is over"]


def test_waiting_for_a_request_that_does_not_come_fails():
    with MessagesAPI([]) as api, pytest.raises(AssertionError, match="0 requests"):
        api.wait_for_requests(1, timeout=0.01)


REFUSED = {
    "content a number": ({"messages": [{"role": "user", "content": 5}]}, "content"),
    "content a dict": ({"messages": [{"role": "user", "content": {}}]}, "content"),
    "role tool": ({"messages": [{"role": "tool", "content": "x"}]}, "role"),
    "message without content": ({"messages": [{"role": "user"}]}, "content"),
    "block of an unknown type": ({"messages": [ASK, said(HOLOGRAM), ASK]}, "content"),
    "extra key on a text block": (
        {"messages": [ASK, said({**text("x"), "parsed": None}), ASK]},
        "parsed",
    ),
    "extra key on a call": (
        {"messages": [ASK, said({**use("t1", "bash", {}), "x": 1}), answered("t1")]},
        "extra",
    ),
    "extra key on a result": (
        {
            "messages": [
                ASK,
                said(use("t1", "bash", {})),
                answered("t1", name="bash"),
            ]
        },
        "name",
    ),
    "result without a call": ({"messages": [answered("t1")]}, "unexpected tool_use"),
    "tool with an extra key": ({"tools": [{**TOOL, "handler": "f"}]}, "tools.0"),
    "tool in the shape of another API": (
        {"tools": [{"type": "function", "function": TOOL}]},
        "tools.0",
    ),
    "tool choice a string": ({"tool_choice": "auto"}, "tool_choice"),
    "max_tokens text": ({"extra_body": {"max_tokens": "10"}}, "max_tokens"),
    "max_tokens zero": ({"max_tokens": 0}, "max_tokens"),
    "sampling parameter": ({"extra_body": {"temperature": 0}}, "temperature"),
    "system null": ({"system": None}, "system"),
}


@pytest.mark.parametrize("options, named", REFUSED.values(), ids=REFUSED)
def test_a_wrong_request_is_refused_with_400_and_a_telling_sentence(options, named):
    with (
        serving(DONE) as (api, client),
        pytest.raises(anthropic.BadRequestError) as caught,
    ):
        ask(client, **options)
    assert named in caught.value.api_message
    assert api.refusals == [caught.value.api_message]


@pytest.mark.parametrize(
    "block",
    [
        {**use("t1", "bash", {}), "caller": {"type": "direct"}},
        {**use("t1", "bash", {}), "caller": None, "toolset_name": None},
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


def test_another_path_is_not_found():
    with serving() as (api, client):
        client.base_url = api.base_url + "/v1"
        with pytest.raises(anthropic.NotFoundError, match="/v1/v1/messages"):
            ask(client)
    assert api.refusals == ["/v1/v1/messages: not found"]


@pytest.mark.parametrize("missing", ["authorization", "anthropic-version"])
def test_a_request_without_a_header_is_refused(missing):
    with (
        serving(DONE, max_retries=0) as (api, client),
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
