"""What the real Messages API refuses, as one set of rules.

`RequestRules.check(messages, tools)` raises `RequestRefused` with a sentence that
names the message. It looks only at what is new since the request it accepted last,
so a conversation of a thousand turns costs a thousand checks, not a million.

    StrictProvider(provider)    the rules in front of a chapter's provider
    messages_api.MessagesAPI    the same rules behind a loopback server

What the rules do not know: models, headers, whether a thinking block is genuine.
A final assistant message is accepted, because a paused turn is sent back that way;
only one that ends in white space is refused. Server-side blocks, thinking and block
types nobody has heard of pass untouched.
"""

from __future__ import annotations

import json
import re
from itertools import takewhile
from typing import Any, Protocol

Block = dict[str, Any]
Message = dict[str, Any]
Tool = dict[str, Any]

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
BLOCK_ID = re.compile(r"[A-Za-z0-9_-]+")
RESULT_BLOCKS = {"text", "image", "document", "search_result", "tool_reference"}
ROLE_OF_BLOCK = {"tool_use": "assistant", "tool_result": "user"}


class RequestRefused(ValueError):
    """The real API answers this request with status 400."""


class RequestRules:
    """Check a growing conversation; remember what was accepted.

    `checked` counts the messages looked at, over all requests. A shorter history, or
    another message in the place of the last accepted one, is checked from the start.
    A change deeper inside the accepted part goes unseen.
    """

    def __init__(self) -> None:
        self.checked = 0
        self._tools = b""
        self._forget()

    def check(self, messages: object, tools: object) -> None:
        """Raise RequestRefused unless the API would take this request."""
        try:
            self._check_tools(tools)
            self._check_history(messages)
            self._check_end(messages, tools)
        except RequestRefused:
            self._forget()
            raise

    def _forget(self) -> None:
        """Start from the first message at the next request."""
        self._accepted = 0
        self._last: object = None
        self._last_body = b""
        self._ids: set[str] = set()
        self._open: list[str] = []

    def _check_tools(self, tools: object) -> None:
        """Check the list of tools, unless its text is the accepted one."""
        body = encoded("tools", tools)
        if body != self._tools:
            check_tools(tools)
            self._tools = body

    def _check_history(self, messages: object) -> None:
        """Check the messages that were not there at the last request."""
        demand(isinstance(messages, list) and messages, "messages: at least one")
        assert isinstance(messages, list)
        if not self._continued_by(messages):
            self._forget()
        for index in range(self._accepted, len(messages)):
            self._last_body = encoded(f"messages.{index}", messages[index])
            self._check_message(index, messages[index])
        self._accepted, self._last = len(messages), messages[-1]

    def _continued_by(self, messages: list[object]) -> bool:
        """Is the last accepted message still the same, in the same place?"""
        if not 0 < self._accepted <= len(messages):
            return False
        last = messages[self._accepted - 1]
        return last is self._last and encoded("messages", last) == self._last_body

    def _check_message(self, index: int, message: object) -> None:
        """Check one message and carry the open calls from it to the next."""
        self.checked += 1
        where = f"messages.{index}"
        role, blocks = message_parts(where, message)
        demand(index or role == "user", f"{where}: the first message must be user")
        for place, block in enumerate(blocks):
            check_block(f"{where}.content.{place}", role, block)
        self._check_results(where, blocks)
        self._open_calls(where, blocks)

    def _check_results(self, where: str, blocks: list[Block]) -> None:
        """The results of N calls come first, directly after them, once each."""
        leading = [b["tool_use_id"] for b in takewhile(is_result, blocks)]
        missing = [call for call in self._open if call not in leading]
        demand(not missing, f"{where}: {UNANSWERED}: {', '.join(missing)}")
        results = [block["tool_use_id"] for block in blocks if is_result(block)]
        strange = [result for result in results if result not in self._open]
        demand(not strange, f"{where}: unexpected tool_use_id in tool_result {strange}")
        demand(len(results) == len(set(results)), f"{where}: {TWICE}")

    def _open_calls(self, where: str, blocks: list[Block]) -> None:
        """Note the calls of this message; an id is used once in a history."""
        self._open = [b["id"] for b in blocks if b["type"] == "tool_use"]
        for call in self._open:
            demand(call not in self._ids, f"{where}: tool_use ids must be unique")
            self._ids.add(call)

    def _check_end(self, messages: object, tools: object) -> None:
        """Check what only the end of the history or the whole of it decides."""
        assert isinstance(messages, list)
        where = f"messages.{len(messages) - 1}"
        demand(not self._open, f"{where}: {UNANSWERED}: {', '.join(self._open)}")
        demand(tools or not self._ids, "tools: missing, but the history has tool_use")
        role, blocks = message_parts(where, messages[-1])
        text = blocks[-1]["text"] if blocks[-1]["type"] == "text" else ""
        trailing = role == "assistant" and text != text.rstrip()
        demand(not trailing, f"{where}: final assistant content ends in white space")


UNANSWERED = "tool_use ids were found without tool_result blocks immediately after"
TWICE = "each tool_use must have a single result. Found multiple tool_result blocks"


def demand(claim: object, sentence: str) -> None:
    """Refuse the request with this sentence unless the claim holds."""
    if not claim:
        raise RequestRefused(sentence)


def encoded(where: str, value: object) -> bytes:
    """Return the bytes the SDK would send; not everything has some."""
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestRefused(f"{where}: not JSON: {error}") from error


def message_parts(where: str, message: object) -> tuple[str, list[Block]]:
    """Return role and blocks of a message; a string is one text block."""
    demand(isinstance(message, dict), f"{where}: must be an object")
    assert isinstance(message, dict)
    demand(set(message) == {"role", "content"}, f"{where}: needs role and content only")
    role, content = message["role"], message["content"]
    demand(role in ("user", "assistant"), f"{where}.role: must be user or assistant")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    demand(isinstance(content, list), f"{where}.content: must be a string or a list")
    demand(content, f"{where}: all messages must have non-empty content")
    return role, content


def check_block(where: str, role: str, block: object) -> None:
    """Check one content block; types without a rule here pass."""
    demand(isinstance(block, dict), f"{where}: must be an object")
    assert isinstance(block, dict)
    kind = block.get("type")
    demand(isinstance(kind, str) and kind, f"{where}.type: must be a string")
    right_role = ROLE_OF_BLOCK.get(kind or "", role)
    demand(role == right_role, f"{where}: {kind} belongs in a {right_role} message")
    checks = {"text": check_text, "tool_use": check_use, "tool_result": check_result}
    if kind in checks:
        checks[kind](where, block)


def check_text(where: str, block: Block) -> None:
    """A text block says something."""
    demand(is_text(block.get("text")), f"{where}: text must contain non-whitespace")


def check_use(where: str, block: Block) -> None:
    """A call has an id, a name that a tool could have and an object as input."""
    check_id(f"{where}.id", block.get("id"))
    check_name(f"{where}.name", block.get("name"))
    demand(isinstance(block.get("input"), dict), f"{where}.input: must be an object")


def check_result(where: str, block: Block) -> None:
    """A result is text or blocks; an error says something, in text only."""
    check_id(f"{where}.tool_use_id", block.get("tool_use_id"))
    failed = block.get("is_error", False)
    demand(isinstance(failed, bool), f"{where}.is_error: must be true or false")
    content = block.get("content", "")
    demand(isinstance(content, (str, list)), f"{where}.content: no string, no list")
    parts = content if isinstance(content, list) else []
    for place, part in enumerate(parts):
        check_result_part(f"{where}.content.{place}", part, failed)
    said = parts or is_text(content)
    demand(said or not failed, f"{where}: content cannot be empty if is_error is true")


def check_result_part(where: str, part: object, failed: bool) -> None:
    """One block inside a result."""
    demand(isinstance(part, dict), f"{where}: must be an object")
    assert isinstance(part, dict)
    kind = part.get("type")
    allowed = {"text"} if failed else RESULT_BLOCKS
    demand(kind in sorted(allowed), f"{where}: {kind!r} is not allowed here")
    if kind == "text":
        check_text(where, part)


def check_id(where: str, value: object) -> None:
    """Ids are what the API makes: letters, digits, `_` and `-`."""
    right = isinstance(value, str) and BLOCK_ID.fullmatch(value)
    demand(right, f"{where}: should match {BLOCK_ID.pattern}, got {value!r}")


def check_name(where: str, value: object) -> None:
    """The name of a tool, in the list and in a call."""
    right = isinstance(value, str) and TOOL_NAME.fullmatch(value)
    demand(right, f"{where}: should match {TOOL_NAME.pattern}, got {value!r}")


def check_tools(tools: object) -> None:
    """Check the list of tools; None stands for no list."""
    demand(tools is None or isinstance(tools, list), "tools: must be a list")
    listed = tools if isinstance(tools, list) else []
    for place, tool in enumerate(listed):
        check_tool(f"tools.{place}", tool)
    names = [tool["name"] for tool in listed]
    demand(len(names) == len(set(names)), "tools: names must be unique")


def check_tool(where: str, tool: object) -> None:
    """A tool has three keys and a schema whose root is an object."""
    demand(isinstance(tool, dict), f"{where}: must be an object")
    assert isinstance(tool, dict)
    extra = set(tool) - {"name", "description", "input_schema"}
    demand(not extra, f"{where}: extra inputs are not permitted: {sorted(extra)}")
    check_name(f"{where}.name", tool.get("name"))
    described = isinstance(tool.get("description"), str)
    demand(described, f"{where}.description: must be a string")
    check_root_schema(f"{where}.input_schema", tool.get("input_schema"))


def check_root_schema(where: str, schema: object) -> None:
    """The root of a schema is a plain object schema."""
    demand(isinstance(schema, dict), f"{where}: must be an object")
    assert isinstance(schema, dict)
    demand(schema.get("type") == "object", f"{where}.type: must be 'object'")
    choice = {"oneOf", "anyOf", "allOf"} & set(schema)
    demand(not choice, f"{where}: no {sorted(choice)} at the top level")


def is_text(value: object) -> bool:
    """Is this a string with something to read?"""
    return isinstance(value, str) and bool(value.strip())


def is_result(block: Block) -> bool:
    """Is this the result of a call?"""
    return bool(block["type"] == "tool_result")


class Provider(Protocol):
    """What both chapters call a provider."""

    def create(self, messages: list[Message], tools: list[Tool]) -> Any:
        """Answer one request."""


class StrictProvider:
    """A provider that refuses what the real API refuses, then asks the real one.

    `seen` holds the number of messages of each request, refused ones too.
    """

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.rules = RequestRules()
        self.seen: list[int] = []

    @property
    def requests(self) -> int:
        """How many requests were made, refused ones too."""
        return len(self.seen)

    def create(self, messages: list[Message], tools: list[Tool]) -> Any:
        """Check the request, then pass it on. Raises RequestRefused."""
        self.seen.append(len(messages))
        self.rules.check(messages, tools)
        return self.provider.create(messages, tools)
