"""Lab 7: a reply that comes in pieces is a reply only when it is whole.

    .venv/bin/python -m pytest s02_tool_dispatch/labs/7_streaming

Open is the body of `whole_reply`, between the marks. What it returns is read by the
chapter's AgentTurn.from_response, like any other reply: there is no second dispatch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from s02_tool_dispatch.code import Block, History, ProviderError

Event = dict[str, Any]  # one event of the stream, its `data:` line as a dict
GROWING = {  # kind of delta -> the field of the block that it makes longer
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
}


class StreamedProvider:
    """Plays streams instead of replies; for `agent_loop` a provider like any other."""

    def __init__(self, streams: Iterable[Iterable[Event]]) -> None:
        self.streams = iter(streams)

    def create(self, messages: History, tools: list[Block]) -> Block:
        """The next stream as one reply; ProviderError if it is broken or cut."""
        for events in self.streams:
            return whole_reply(events)
        raise ProviderError("The script is over: it has no stream for this.")


def arguments_of(text: str) -> object:
    """The input that the pieces of a block spell; the text itself if it is no JSON.

    A text is no input that `dispatch` accepts: it says so, and no tool runs. Nothing is
    repaired here, because half of a call is another call.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def whole_reply(events: Iterable[Event]) -> Block:
    """The reply {"content": [...], "stop_reason": ...} that the events spell.

    Blocks of every kind stand in the order of their index; one without pieces keeps the
    input it started with. The last stop_reason counts. Events and deltas of unknown
    kinds are skipped, and `events` are not changed.

    Raises ProviderError for a stream that is broken (an `error` event; a delta or stop
    for a block that is not open; a start with an index that was used before) or cut (no
    `message_stop`, or one that comes while a block is open). What the stream itself
    raises goes up, as it is or as the cause of a ProviderError.
    """
    # --- your code ---
    blocks: dict[int, Block] = {}
    pieces: dict[int, list[str]] = {}  # of the input of each block that is open
    stop_reason = None
    for event in events:
        kind, index = str(event.get("type")), event.get("index", -1)
        if kind == "message_stop" and not pieces:
            content = [blocks[index] for index in sorted(blocks)]
            return {"content": content, "stop_reason": stop_reason}
        if kind == "message_delta":
            stop_reason = event["delta"].get("stop_reason", stop_reason)
        elif kind == "content_block_start" and index not in blocks:
            blocks[index], pieces[index] = dict(event["content_block"]), []
        elif kind == "content_block_delta" and index in pieces:
            delta, block = event["delta"], blocks[index]
            name = GROWING.get(delta["type"])
            if name:
                block[name] = block.get(name, "") + delta[name]
            elif delta["type"] == "input_json_delta":
                pieces[index].append(delta["partial_json"])
        elif kind == "content_block_stop" and index in pieces:
            text = "".join(pieces.pop(index))
            if text:
                blocks[index]["input"] = arguments_of(text)
        elif kind == "error" or kind.startswith(("content_block_", "message_stop")):
            raise ProviderError(f"The stream broke at {kind}: nothing of it was run.")
    raise ProviderError("The stream was cut: nothing of it was run.")
    # --- end of your code ---
