"""Lab 2 of the first chapter: a damaged history that no API accepts, made whole.

The chapter's loop never leaves a call unanswered. Histories from elsewhere do: a crash
between two writes, messages trimmed to save tokens, two programs at one file.
"""

from __future__ import annotations

import copy
from typing import Any

Block = dict[str, Any]
Message = dict[str, Any]  # {"role": ..., "content": a text or a list of blocks}

UNKNOWN = "Error: the result of this call was lost; its outcome is unknown."


def lost(tool_use_id: str) -> Block:
    """The result for a call whose own one is not there."""
    answers = {"type": "tool_result", "tool_use_id": tool_use_id}
    return {**answers, "content": UNKNOWN, "is_error": True}


def detached(value: Any) -> Any:
    """A copy that shares nothing with the value."""
    return copy.deepcopy(value)


def repaired(messages: list[Message]) -> list[Message]:
    """A copy in which each tool_use has one tool_result, in the next message.

    - A call without its result there gets `lost(id)`, at the end of history too.
    - The results stand first in the user message, in call order; of two for one call
      the first counts. Without such a message one is put in.
    - A result without its call directly before it is dropped; what was said stays.
    - A message that has nothing left in it is dropped, and so is what then comes
      before the first user message: no history begins with the assistant.
    - All else stays as it is, and so does a sound history. `messages` is not changed.
    """
    whole: list[Message] = []
    # --- your code ---
    calls: list[str] = []  # of the message before, still to be answered
    for message in [*detached(messages), None]:
        if calls and (message is None or message["role"] == "assistant"):
            whole.append({"role": "user", "content": [lost(id_) for id_ in calls]})
            calls = []
        if message is None:
            break
        content = message["content"]
        if calls and isinstance(content, str):
            content = [{"type": "text", "text": content}]
        blocks = content if isinstance(content, list) else []
        others = [block for block in blocks if block["type"] != "tool_result"]
        given = {b["tool_use_id"]: b for b in reversed(blocks) if b not in others}
        if isinstance(content, list):
            content = [given.get(id_) or lost(id_) for id_ in calls] + others
        calls = []
        if content and (whole or message["role"] == "user"):
            whole.append({**message, "content": content})
            calls = [block["id"] for block in others if block["type"] == "tool_use"]
    # --- end of your code ---
    return whole
