"""Lab 1 of the first chapter: try to make the loop run for ever.

You play the model: write replies that give the loop no reason to stop, and find the
one line of `agent_loop` that stops you all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Reply = dict[str, Any]  # {"stop_reason": ..., "content": [block, ...]}


class Endless:
    """A provider for the chapter's loop that never runs out of replies."""

    def __init__(self, next_reply: Callable[[int], Reply]) -> None:
        self.next_reply = next_reply
        self.requests = 0

    def create(self, messages: list[Any], tools: list[Any]) -> Reply:
        """Answer request number 1, 2, 3, ..."""
        self.requests += 1
        return self.next_reply(self.requests)


def break_the_bound() -> tuple[Callable[[int], Reply], str]:
    """Two things: what you answer to request number n, and the line that stops you.

    The line is copied from `agent_loop` in s01_agent_loop/code.py, without the blanks
    at its ends.
    """
    # --- your code ---
    line = "while turns < max_turns:"

    def next_reply(number: int) -> Reply:
        call = {
            "type": "tool_use",
            "id": f"call_{number}",
            "name": "again",
            "input": {},
        }
        return {"stop_reason": "tool_use", "content": [call]}

    return next_reply, line
    # --- end of your code ---
