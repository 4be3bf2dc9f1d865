"""Scripted turns, and a conversation that both chapters can have.

talk = Talk(s01, workdir)               or Talk(s02, registry)
talk.ask(T("tool_use", use("t1", "bash", {"command": "ls"})), T("end_turn", text()))
talk.goes_on()                          one more question is accepted

Every request passes the strict rules, which refuse what the real API refuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from s01_agent_loop import code as s01
from s02_tool_dispatch import code as s02
from tests.api_rules import Block, Message, RequestRules, StrictProvider

Response = dict[str, Any]

both_chapters = pytest.mark.parametrize(
    "chapter", [pytest.param(s01, id="s01"), pytest.param(s02, id="s02")]
)


def T(stop_reason: object, *blocks: object) -> Response:
    """One reply of the provider."""
    return {"stop_reason": stop_reason, "content": list(blocks)}


def text(words: object = "fine") -> Block:
    """A text block."""
    return {"type": "text", "text": words}


def use(call: object = "t1", name: object = "bash", arguments: object = None) -> Block:
    """A tool_use block."""
    return {"type": "tool_use", "id": call, "name": name, "input": arguments}


def shell(command: str, call: object = "t1") -> Block:
    """A call of the one tool that both chapters have."""
    return use(call, "bash", {"command": command})


def as_sdk(response: Response) -> object:
    """The same reply as the SDK builds it: without any validation."""
    from anthropic.types import Message as SDKMessage

    return SDKMessage.construct(**response)


def tools_of(chapter: ModuleType, folder: Path) -> Any:
    """What a chapter's loop takes for its tools, in this folder."""
    if chapter is s01:
        return folder
    return s02.build_registry(s02.Workspace(folder))


class Talk:
    """One history that grows question by question, behind the strict rules."""

    def __init__(self, chapter: ModuleType, tools: Any) -> None:
        self.chapter = chapter
        self.tools = tools
        self.messages: list[Message] = []
        self.provider = StrictProvider(chapter.ScriptedProvider([]))

    def ask(self, *turns: object, **options: Any) -> Any:
        """Ask a question that the provider answers with these turns."""
        return self.play(turns, **options)

    def play(self, turns: Iterable[object], **options: Any) -> Any:
        """Ask a question that any iterable of turns answers."""
        self.messages.append({"role": "user", "content": "go"})
        self.provider.provider = self.chapter.ScriptedProvider(turns)
        loop = self.chapter.agent_loop
        return loop(self.messages, self.provider, self.tools, **options)

    def goes_on(self) -> bool:
        """The whole history can be sent, and one more question is answered."""
        tools = [self.chapter.BASH_TOOL] if self.chapter is s01 else None
        asked = {"role": "user", "content": "and now?"}
        every_tool = tools or self.tools.model_schemas()
        RequestRules().check([*self.messages, asked], every_tool)
        return str(self.ask(T("end_turn", text())).stop_reason) == "final_answer"

    def blocks(self, kind: str) -> list[Block]:
        """Every block of this type in the history."""
        return [block for block in blocks_of(self.messages) if block["type"] == kind]

    def results(self) -> list[Block]:
        """Every tool_result in the history."""
        return self.blocks("tool_result")

    def said(self) -> list[str]:
        """What every tool_result in the history says."""
        return [str(block["content"]) for block in self.results()]


def blocks_of(messages: list[Message]) -> Iterator[Block]:
    """Every content block of a history; a question is no block."""
    for message in messages:
        if isinstance(message["content"], list):
            yield from message["content"]
