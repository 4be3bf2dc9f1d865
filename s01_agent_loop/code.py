#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = ["anthropic>=2,<3", "python-dotenv"]
# ///
"""A bounded agent loop and one tool, bash.

    question -> messages -> provider -> turn -> tool calls? -- no --> stop, and say why
                   ^                                |
                   |                                yes
                   +---- reply and results <---- bash

Run it without a key:   python3 s01_agent_loop/code.py --demo
Talk to a real model:   python3 s01_agent_loop/code.py    (reads .env: README)
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

Block = dict[str, Any]  # one content block of the Messages API
Message = dict[str, Any]  # {"role": ..., "content": ...}
History = list[Message]
Show = Callable[[Message], None]

MAX_TURNS = 50  # requests in one call of agent_loop
MAX_TOKENS = 16_000  # per reply; over 21,333 the SDK wants streaming
MAX_RESULT_CHARS = 30_000  # of one tool result
TIMEOUT_SECONDS = 120  # of one command
DEFAULT_MODEL = "claude-sonnet-5-5"
NOT_JSON = (TypeError, ValueError, RecursionError)  # what json raises


# --- 1. Words (new) ---


@dataclass(frozen=True)
class ToolCall:
    """One call as the model made it: `name` and `arguments` are untrusted."""

    tool_use_id: str
    name: object
    arguments: object


class LoopStopReason(str, Enum):
    """Why `agent_loop` returned."""

    FINAL_ANSWER = "final_answer"
    MAX_TOKENS = "max_tokens"
    MAX_TURNS = "max_turns"
    REFUSAL = "refusal"
    CONTEXT_WINDOW_EXCEEDED = "context_window_exceeded"
    NO_ANSWER = "no_answer"

    __str__ = str.__str__  # prints as its value on every Python


class Usage(NamedTuple):
    """Tokens, by the provider's own names; 0 where it says nothing."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0

    def plus(self, other: Usage) -> Usage:
        """The sums, count by count."""
        return Usage(*map(sum, zip(self, other, strict=True)))


@dataclass(frozen=True)
class AgentLoopResult:
    """What one run of the loop did; `tool_calls` counts the calls the model made."""

    stop_reason: LoopStopReason
    turns: int
    tool_calls: int
    final_text: str
    provider_stop_reason: str | None
    usage: Usage


class ToolsInterrupted(KeyboardInterrupt):
    """Ctrl-C while tools ran; `blocks` holds one tool_result for every call."""

    def __init__(self, blocks: list[Block]) -> None:
        super().__init__("interrupted while tools ran")
        self.blocks = blocks


class ProviderError(Exception):
    """No usable reply; the text is one sentence for the user, without any secret."""


def tool_result(tool_use_id: str, text: str, is_error: bool) -> Block:
    """The block that answers one tool_use; the API refuses an error without text."""
    block: Block = {"type": "tool_result", "tool_use_id": tool_use_id, "content": text}
    return {**block, "is_error": True} if is_error else block


def encodable(text: str) -> str:
    """The text without lone surrogates, which UTF-8 cannot carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


# --- 2. The loop (new) ---

CUT_SHORT = "Error: the reply was cut off, perhaps inside this call: it was not run."


def agent_loop(
    messages: History,
    provider: Any,
    workdir: Path,
    max_turns: int = MAX_TURNS,
    show: Show = lambda message: None,
) -> AgentLoopResult:
    """Ask the provider and run the tools it calls until there is a reason to stop.

    `messages` grows in place, and at every moment each tool_use in it is answered in
    the next message. `provider.create(messages, tools)` returns a reply. Raises
    ValueError if `max_turns` is below 1, ToolsInterrupted, and what `create` raises.
    """
    if max_turns < 1:
        raise ValueError(f"max_turns must be at least 1, got {max_turns}")
    tools = [BASH_TOOL]
    seen_ids = used_ids(messages)
    usage = Usage()
    made = turns = 0
    while turns < max_turns:
        turns += 1
        turn = AgentTurn.from_response(provider.create(messages, tools), seen_ids)
        made += len(turn.tool_calls)
        usage = usage.plus(turn.usage)
        stop_reason = turn.why_stop()
        if turn.enters_history():
            reply = {"role": "assistant", "content": turn.content}
            show(reply)
            try:
                if stop_reason is None:
                    results = run_tools(turn.tool_calls, workdir)
                else:
                    results = cut_short(turn.tool_calls)
            except ToolsInterrupted as interrupted:
                append_round(messages, reply, interrupted.blocks, show)
                raise
            append_round(messages, reply, results, show)
        if stop_reason is not None:
            break
    stop_reason = stop_reason or LoopStopReason.MAX_TURNS
    said = turn.provider_stop_reason
    return AgentLoopResult(stop_reason, turns, made, turn.text, said, usage)


def cut_short(calls: Sequence[ToolCall]) -> list[Block]:
    """The answers to calls of a reply that was cut off: the last may be half a call."""
    return [tool_result(call.tool_use_id, CUT_SHORT, is_error=True) for call in calls]


def append_round(
    messages: History, reply: Message, results: list[Block], show: Show
) -> None:
    """Store a reply and its results in one step: no call is ever left unanswered."""
    answer = [{"role": "user", "content": results}] if results else []
    messages += [reply, *answer]
    for message in answer:
        show(message)


# --- 3. The bash tool (new) ---

BASH_TOOL = {
    "name": "bash",
    "description": "Run one bash command in the working folder and return its output.",
    "input_schema": {
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    },
}
OUTCOME_UNKNOWN = "Error: interrupted while this call ran: its outcome is unknown."
NOT_RUN = "Error: interrupted before this call started: not run."


def run_tools(calls: Sequence[ToolCall], workdir: Path) -> list[Block]:
    """One tool_result per call, in call order; Ctrl-C becomes ToolsInterrupted."""
    results: list[Block] = []
    try:
        for call in calls:
            text, failed = run_tool(call, workdir)
            results.append(tool_result(call.tool_use_id, text, failed))
    except KeyboardInterrupt:
        for i, call in enumerate(calls[len(results) :]):
            text = OUTCOME_UNKNOWN if i == 0 else NOT_RUN
            results.append(tool_result(call.tool_use_id, text, True))
        raise ToolsInterrupted(results) from None
    return results


def run_tool(call: ToolCall, workdir: Path) -> tuple[str, bool]:
    """The hard-coded branch: find, check, run; returns a text and whether it failed."""
    if call.name != "bash":
        return "Error: the only tool is bash.", True
    command = field(call.arguments, "command")
    if not isinstance(command, str) or not command.strip():
        return 'Error: bash takes an object {"command": "..."}.', True
    try:
        return run_bash(command, workdir)
    except (OSError, ValueError) as error:  # no bash, a NUL, too long a command
        return f"Error: bash did not start ({type(error).__name__}).", True


def run_bash(command: str, workdir: Path) -> tuple[str, bool]:
    """Run a command in the environment of this process, keys and all."""
    import subprocess
    import tempfile

    with tempfile.TemporaryFile() as output:  # no pipe that a child can keep open
        process = subprocess.Popen(
            ["bash", "-c", "--", command],
            cwd=workdir,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(TIMEOUT_SECONDS)
            ended = f"exit code {code if code >= 0 else 128 - code}"
        except subprocess.TimeoutExpired:
            ended = f"stopped after {TIMEOUT_SECONDS} seconds"
        finally:
            kill(process)
        text = head_and_tail(output) or "(no output)"
    failed = ended != "exit code 0"
    return (f"{text}\nError: {ended}." if failed else text), failed


def kill(process: Any) -> None:
    """End all of the command's process group, its background children too."""
    process.kill()
    if hasattr(os, "killpg"):  # Windows has none: there only bash itself ends
        with suppress(ProcessLookupError, PermissionError):  # nothing is left
            os.killpg(process.pid, 9)  # SIGKILL
    process.wait()


def head_and_tail(output: BinaryIO) -> str:
    """A file's text; of a long one both ends, and between them what is missing."""
    half = MAX_RESULT_CHARS // 2 - 50
    left_out = output.seek(0, os.SEEK_END) - 2 * half
    output.seek(0)
    kept = output.read(half)
    if left_out > 0:
        kept += b"\n[%d bytes left out]\n" % left_out
        output.seek(-half, os.SEEK_END)
    text = (kept + output.read()).decode("utf-8", "replace")
    return text.replace("\0", "\ufffd").rstrip("\n")


# --- 4. One turn, normalised once (new) ---

TRUNCATED = {
    "max_tokens": LoopStopReason.MAX_TOKENS,
    "model_context_window_exceeded": LoopStopReason.CONTEXT_WINDOW_EXCEEDED,
}
NEVER_IN_A_REPLY = ("tool_result", "image", "document")  # only users may send these


@dataclass(frozen=True)
class AgentTurn:
    """One reply of a provider, as plain values that the next request can carry."""

    content: list[Block]
    text: str
    tool_calls: tuple[ToolCall, ...]
    provider_stop_reason: str | None
    usage: Usage

    @classmethod
    def from_response(cls, response: object, seen_ids: set[str]) -> AgentTurn:
        """Read an SDK object or a dict; `seen_ids` is extended with this turn's ids."""
        content: list[Block] = []
        calls: list[ToolCall] = []
        for block in received_blocks(response):
            if block.get("type") == "tool_use":
                call = raw_call(block, seen_ids)
                calls.append(call)
                content.append(call_for_history(block, call))
            elif may_be_sent_back(block) and (copy := as_json(block)):
                content.append(copy)
        text = "\n".join(block["text"] for block in content if block["type"] == "text")
        stop_reason = field(response, "stop_reason")
        if not isinstance(stop_reason, str):
            stop_reason = None
        usage = tokens_used(field(response, "usage"))
        return cls(content, text, tuple(calls), stop_reason, usage)

    def why_stop(self) -> LoopStopReason | None:
        """Why the loop must stop after this turn; None: go on. The first that fits."""
        said = self.provider_stop_reason
        if said == "refusal":
            return LoopStopReason.REFUSAL
        if said in TRUNCATED:
            return TRUNCATED[said]
        if self.tool_calls or (said == "pause_turn" and self.content):
            return None
        return LoopStopReason.FINAL_ANSWER if self.text else LoopStopReason.NO_ANSWER

    def enters_history(self) -> bool:
        """A refusal does not, nor does a reply that has nothing to say or to do."""
        if self.provider_stop_reason == "refusal":
            return False
        return bool(self.text or self.tool_calls or self.why_stop() is None)


def field(value: object, name: str) -> Any:
    """A key of a dict or an attribute of an SDK object; None when it is missing."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def tokens_used(usage: object) -> Usage:
    """The counts of a reply; what is no whole number from 0 on counts as 0."""
    counts = [field(usage, name) for name in Usage._fields]
    return Usage(*[n if type(n) is int and n >= 0 else 0 for n in counts])


def received_blocks(response: object) -> Iterator[Block]:
    """The reply's blocks as dicts; a bare string, as some gateways send, is a text."""
    content = field(response, "content")
    if not isinstance(content, (list, tuple)):
        content = [content]
    for item in content:
        if isinstance(item, str):
            yield {"type": "text", "text": item}
        elif isinstance(item, dict):
            yield item
        elif hasattr(item, "__dict__"):
            yield received_fields(item)


def received_fields(value: object) -> Block:
    """What an SDK object was made from; pydantic knows it from its own defaults."""
    came = field(value, "model_fields_set")
    fields = {k: v for k, v in vars(value).items() if came is None or k in came}
    return {**fields, **(field(value, "model_extra") or {})}


def may_be_sent_back(block: Block) -> bool:
    """Whether the API takes a block of this kind from an assistant; no blank text."""
    kind, text = block.get("type"), block.get("text")
    if kind == "text":
        return isinstance(text, str) and bool(text.strip())
    return isinstance(kind, str) and kind not in NEVER_IN_A_REPLY


def as_json(value: object) -> Any:
    """A copy as plain JSON, lone surrogates replaced; None if it is no such thing."""
    try:
        text = json.dumps(
            value, default=received_fields, ensure_ascii=False, allow_nan=False
        )
        return json.loads(encodable(text))
    except NOT_JSON:
        return None


def raw_call(block: Block, seen_ids: set[str]) -> ToolCall:
    """The call as it came, in a copy of its own, under an id that is new and valid."""
    id_ = block["id"] if isinstance(block.get("id"), str) else ""
    number = len(seen_ids)
    while not re.fullmatch("[A-Za-z0-9_-]+", id_) or id_ in seen_ids:
        number += 1
        id_ = f"call_{number}"
    seen_ids.add(id_)
    arguments = block.get("input")
    with suppress(*NOT_JSON):
        arguments = json.loads(json.dumps(arguments))
    return ToolCall(id_, block.get("name"), arguments)


def call_for_history(block: Block, call: ToolCall) -> Block:
    """The same call with an id, a name and an input that the API accepts."""
    arguments = as_json(block.get("input"))
    name = call.name if isinstance(call.name, str) else ""
    return {
        **(as_json({**block, "input": {}}) or {}),
        "type": "tool_use",
        "id": call.tool_use_id,
        "name": re.sub("[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed",
        "input": arguments if isinstance(arguments, dict) else {},
    }


def used_ids(messages: History) -> set[str]:
    """Every tool_use id in a history."""
    ids: set[str] = set()
    for message in messages:
        content = field(message, "content")
        for block in content if isinstance(content, list) else []:
            if field(block, "type") == "tool_use":
                ids.add(field(block, "id"))
    return ids


# --- 5. Providers (new) ---

CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL")
SETTINGS = (*CREDENTIALS, "MODEL_ID", "ANTHROPIC_MODEL")
MAX_ATTEMPTS = 4  # of one request
MAX_PAUSE_SECONDS = 60  # a server that asks for more is not waited for
NO_CREDIT = (
    "^402|billing|(credit|account).balance|current.quota"
    "|insufficient.(balance|quota)|\u4f59\u989d"
)
TOO_LONG = (
    "too long|too many tokens|(maximum|max).(context|length)|token limit"
    "|context.(length|window|size|limit)|input.(length|token)"
)
# What is found first in "status kind: words" decides: may it pass, and what to do next.
CAUSES = (
    (NO_CREDIT, False, "look at your account: its credit, or a limit on spending"),
    (f"^413|^(200|400|422) .*({TOO_LONG})", False, "/new begins a new conversation"),
    ("^40[13]", False, "check the key or token"),
    ("^429|^200 rate", True, "a limit is reached: ask again later"),
    ("^40[89]|^5|^200 (over|api|time)", True, "the provider is busy: ask again later"),
    ("^[234]", False, "check the model and ANTHROPIC_BASE_URL (/v1/messages is added)"),
    ("^TypeError", False, "set ANTHROPIC_API_KEY in .env"),
    ("^ModuleNotFoundError", False, "pip install -r requirements.txt"),
    ("^(OS|Unicode|Permission)", False, ".env must be UTF-8 text that you may read"),
    ("LocalProtocolError", False, "check the key or token: it cannot be sent"),
    ("UnsupportedProtocol|^ValueError", False, "check the base URL and the proxy"),
    ("^API|^JSON", True, "check the network, the proxy and ANTHROPIC_BASE_URL"),
    ("", False, "check ANTHROPIC_BASE_URL and the installed packages"),
)


class ScriptedProvider:
    """The offline provider: plays the replies it was given, in order."""

    def __init__(self, turns: Iterable[object]) -> None:
        self.turns = iter(turns)

    def create(self, messages: History, tools: list[Block]) -> object:
        """Return the next reply; raises ProviderError when the script is over."""
        for turn in self.turns:
            return turn
        raise ProviderError("The script is over: it has no reply to this.")


class NoMessage(Exception):
    """HTTP 200 without a message: an error object, a web page, another API."""

    status_code = 200

    def __init__(self, body: object) -> None:
        super().__init__("the reply is no message")
        self.body = body


class AnthropicProvider:
    """The live provider: the Messages API, or an endpoint compatible with it."""

    def __init__(self, model: str, system: str, settings: Mapping[str, str]) -> None:
        """`settings` as `live_settings` gives them; the SDK looks for the rest."""
        self.model, self.system = encodable(model), encodable(system)
        self.cache: Block = {"cache_control": {"type": "ephemeral"}}
        self.usage = Usage()  # of all replies
        key, token, url = map(settings.get, CREDENTIALS)
        self.secrets = [secret for secret in (key, token) if secret]
        if url and not url.startswith(("http://", "https://")):
            raise ProviderError("ANTHROPIC_BASE_URL must begin with https://")
        token = None if key else token  # the SDK takes one of them
        options: Any = {"api_key": key, "auth_token": token, "base_url": url}
        try:
            from anthropic import Anthropic

            self.client: Any = Anthropic(**options, max_retries=0)
        except Exception as error:  # no SDK, a proxy that is none, ...
            raise given_up(in_one_line(error, self.secrets)) from error

    def create(self, messages: History, tools: list[Block]) -> object:
        """A reply; what may pass is tried again here, as the SDK waits in silence."""
        attempt = 0
        while True:
            attempt += 1
            try:
                with sign_of_life():
                    reply = self.request(messages, tools)
            except Exception as error:  # the SDK also raises TypeError, ValueError, ...
                time.sleep(self.pause_after(error, attempt))
            else:
                show_refusal(reply)
                return reply

    def request(self, messages: History, tools: list[Block]) -> object:
        """One attempt; NoMessage for HTTP 200 with something else in it."""
        fixed = {"model": self.model, "max_tokens": MAX_TOKENS, "system": self.system}
        ask = self.client.messages.create
        reply = ask(**fixed, messages=messages, tools=tools, **self.cache)
        empty = field(reply, "content") is None and not field(reply, "stop_reason")
        if empty or field(reply, "error"):
            raise NoMessage(reply)
        self.usage = self.usage.plus(tokens_used(field(reply, "usage")))
        return reply

    def pause_after(self, error: Exception, attempt: int) -> float:
        """Seconds until the next attempt, announced; ProviderError if there is none."""
        said = in_one_line(error, self.secrets)
        if self.cache and said[:4] == "400 " and "cache_control" in repr(vars(error)):
            self.cache = {}
            say("This endpoint takes no cache_control: going on without it.", "2")
            return 0
        headers = field(field(error, "response"), "headers") or {}
        told = headers.get("x-should-retry")
        passes = told == "true" or (told != "false" and cause_of(said)[1])
        pause = asked_pause(headers, 2.0 ** (attempt - 2))
        if passes and pause > MAX_PAUSE_SECONDS:
            raise given_up(f"{said}; it asks for a pause of {pause:.6g} seconds")
        if not passes or attempt >= MAX_ATTEMPTS:
            raise given_up(said) from error
        say(printable(f"{said}; trying again in {pause:.3g} seconds."), "2")
        return pause


def cause_of(said: str) -> tuple[str, bool, str]:
    """The row of CAUSES that fits: pattern, whether it may pass, next step."""
    return next(cause for cause in CAUSES if re.search(cause[0], said, re.I))


def given_up(said: str) -> ProviderError:
    """What was said, and the next step."""
    return ProviderError(f"{said}; {cause_of(said)[2]}.")


def in_one_line(error: Exception, secrets: Sequence[str]) -> str:
    """`status kind: words` for a failed request, bounded and without secrets."""
    kind = field(field(field(error, "body"), "error"), "type")
    parts = [field(error, "status_code"), kind or type(error).__name__]
    if error.__cause__:
        parts.append(f"({type(error.__cause__).__name__})")
    head = " ".join(str(part) for part in parts if part)
    line = " ".join(f"{head}: {words_of(error)}".split())
    for secret in secrets:
        line = line.replace(secret, "***")
    return line[:400]


def words_of(error: Exception) -> str:
    """What an endpoint says, where endpoints say it; of a web page only its title."""
    body = field(error, "body")
    inner = field(body, "error")
    places = [field(inner, "message"), inner, field(body, "message"), body, str(error)]
    words = next(place for place in places if isinstance(place, str))
    title = re.search("(?is)<title[^>]*>(.*?)</title", words)
    return re.sub("(?is)<[a-z!/?].*", "", title[1] if title else words)


def asked_pause(headers: Mapping[str, str], otherwise: float) -> float:
    """Seconds that a server asks for, as a number or a date, or else `otherwise`."""
    from email.utils import parsedate_to_datetime

    asked = headers.get("retry-after", "")
    with suppress(ValueError, TypeError, OverflowError):
        otherwise = max(parsedate_to_datetime(asked).timestamp() - time.time(), 0)
    for text, unit in ((asked, 1), (headers.get("retry-after-ms", ""), 0.001)):
        with suppress(ValueError):
            seconds = float(text) * unit
            otherwise = seconds if seconds >= 0 else otherwise  # and not for nan
    return otherwise


def live_settings(shell: Mapping[str, str], dotenv_file: Path) -> dict[str, str]:
    """The shell's settings and those of .env; ProviderError if that cannot be read.

    A key or token in the shell hides key, token and base URL of .env: no key goes to a
    host it was not set with.
    """
    try:
        from dotenv import dotenv_values

        text = dotenv_values(dotenv_file, interpolate=False, encoding="utf-8-sig")
    except (ImportError, OSError, ValueError) as error:
        raise given_up(in_one_line(error, [])) from error
    in_shell, in_file = not_blank(shell), not_blank(text)
    if any(name in in_shell for name in CREDENTIALS[:2]):
        in_file = {n: value for n, value in in_file.items() if n not in CREDENTIALS}
    return {**in_file, **in_shell}


def not_blank(source: Mapping[str, str | None]) -> dict[str, str]:
    """Our settings in `source`, stripped, without the blank ones."""
    stripped = {name: (source.get(name) or "").strip() for name in SETTINGS}
    return {name: value for name, value in stripped.items() if value}


def live_provider(model: str | None, system: str) -> AnthropicProvider:
    """What the shell and the .env beside the root README ask for."""
    settings = live_settings(os.environ, Path(__file__).resolve().parents[1] / ".env")
    for name in CREDENTIALS:
        if name not in settings:
            os.environ.pop(name, None)  # the SDK would take a blank for a value
    chosen = model or settings.get("MODEL_ID") or settings.get("ANTHROPIC_MODEL")
    return AnthropicProvider(chosen or DEFAULT_MODEL, system, settings)


# --- 6. The screen (new) ---

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
SCREEN_LINES = 12  # of one tool result
SCREEN_WIDTH = 200  # of one line
PATIENCE_SECONDS = 2  # without a sign of life


def printable(text: str) -> str:
    """Text that cannot drive a terminal: control characters become visible."""
    return CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def say(text: str, colour: str = "") -> None:
    """Print at once; colour only on a terminal, and not with NO_COLOR."""
    if colour and sys.stdout and sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        text = f"\x1b[{colour}m{text}\x1b[0m"
    print(text, flush=True)


@contextmanager
def sign_of_life() -> Iterator[None]:
    """On a terminal, a line that counts the seconds of what takes long, then wiped."""
    if not (sys.stdout and sys.stdout.isatty()):
        yield
        return
    import threading

    over = threading.Event()

    def count() -> None:
        seconds = 0
        while not over.wait(1):
            seconds += 1
            if seconds >= PATIENCE_SECONDS:
                print(f"\rwaiting {seconds} s", end="", flush=True)
        if seconds >= PATIENCE_SECONDS:
            print("\r\x1b[K", end="", flush=True)  # also what a Ctrl-C echoed

    counter = threading.Thread(target=count, daemon=True)
    counter.start()
    try:
        yield
    finally:
        over.set()
        counter.join()


def shortened(text: str) -> str:
    """The beginning of a long text, for the screen only."""
    lines = printable(text).rstrip("\n").split("\n")
    if len(lines) > SCREEN_LINES:
        lines[SCREEN_LINES:] = [f"... {len(lines) - SCREEN_LINES} more lines"]
    cut = (n if len(n) <= SCREEN_WIDTH else n[:SCREEN_WIDTH] + " ..." for n in lines)
    return "\n  ".join(cut)


def show_message(message: Message) -> None:
    """Print what a reply says and calls, or what its calls gave."""
    for block in message["content"]:
        if block["type"] == "text":
            say(printable(block["text"]))
        elif block["type"] == "tool_use":
            arguments = json.dumps(block["input"], ensure_ascii=False)
            say("> " + shortened(f"{block['name']} {arguments}"), "36")
        elif block["type"] == "tool_result":
            colour = "31" if block.get("is_error") else "2"
            say("  " + shortened(block["content"]), colour)


def show_refusal(reply: object) -> None:
    """Say what a refusal gives as its reason; no other reply has stop_details."""
    details = field(reply, "stop_details")
    reasons = [field(details, name) for name in ("category", "explanation")]
    if any(reasons):
        say(printable(": ".join(str(reason) for reason in reasons if reason)), "31")


def show_stop(result: AgentLoopResult) -> None:
    """Say why the loop stopped, and a refusal's text, which history does not keep."""
    if result.stop_reason is LoopStopReason.REFUSAL and result.final_text:
        say(printable(result.final_text))
    parts = [f"{result.turns} turns", f"{result.tool_calls} tool calls"]
    parts += token_counts(result.usage)
    if result.provider_stop_reason not in ("end_turn", "stop_sequence"):
        parts.append(f"provider: {result.provider_stop_reason}")
    say(printable(f"[{result.stop_reason}: {', '.join(parts)}]"), "2")


def token_counts(usage: Usage) -> list[str]:
    """What was counted, for a stop line; nothing where nothing was, as in a script."""
    if not any(usage):
        return []
    cached = usage.cache_read_input_tokens
    read = usage.input_tokens + cached + usage.cache_creation_input_tokens
    return [f"{read:,} tokens in ({cached:,} cached)", f"{usage.output_tokens:,} out"]


def ask_user(messages: History) -> Iterator[str]:
    """Typed questions until `q` or the end of input; Ctrl-C clears the line.

    `/new` is no question: it empties the history.
    """
    if sys.stdin and sys.stdin.isatty():
        with suppress(ImportError):  # line editing, where the platform has it
            import readline  # noqa: F401
    while True:
        try:
            question = input("you> ").strip()
        except KeyboardInterrupt:
            say("")
            continue
        except (EOFError, RuntimeError):  # RuntimeError: there is no stdin at all
            return say("")
        if question in ("q", "quit", "exit"):
            return
        if question == "/new":
            messages.clear()
            say("A new conversation: nothing of the old one is sent any more.")
        elif question:
            yield question


# --- 7. Running it (new) ---


def system_text(workdir: Path) -> str:
    """The fixed instructions; no time in them, so that the provider can cache them."""
    return (
        f"You are a coding agent in the folder {workdir}. Use relative paths. "
        "Look at a file before you overwrite it. At the end say what you did."
    )


def converse(
    questions: Iterable[str],
    provider: Any,
    workdir: Path,
    max_turns: int,
    messages: History,
) -> bool:
    """Ask every question in one history; return whether the last one was answered."""
    answered = False
    for question in questions:
        messages.append({"role": "user", "content": encodable(question)})
        asked, answered = len(messages), False
        try:
            result = agent_loop(messages, provider, workdir, max_turns, show_message)
            show_stop(result)
            answered = result.stop_reason is LoopStopReason.FINAL_ANSWER
        except ProviderError as error:
            say(printable(str(error)), "31")
        except KeyboardInterrupt:
            say("[interrupted]", "31")
        finally:
            if len(messages) == asked:
                messages.pop()  # nothing came of it: the next request goes without it
    return answered


def scripted(text: str, **commands: str) -> Block:
    """One reply for the demo: a text, and bash calls by their ids."""
    blocks = [
        {"type": "tool_use", "id": id_, "name": "bash", "input": {"command": command}}
        for id_, command in commands.items()
    ]
    stop_reason = "tool_use" if commands else "end_turn"
    return {"stop_reason": stop_reason, "content": [text, *blocks]}


DEMO = [
    scripted("", a1="echo 'hello from bash' > note.txt; cat note.txt"),
    scripted("", a2="test -e note.md || exit 3"),
    scripted("I wrote note.txt; there is no note.md."),
]


def run_demo() -> bool:
    """The real loop and a real shell in a temporary folder, driven by a script."""
    import tempfile

    question = "Write a greeting to note.txt, and see whether note.md is there."
    say(f"you> {question}")
    messages: History = []
    with tempfile.TemporaryDirectory() as folder:
        done = converse([question], ScriptedProvider(DEMO), Path(folder), 5, messages)
    say("\nThe history: each tool_use is followed by its tool_result.")
    for message in messages:
        blocks = message["content"] if isinstance(message["content"], list) else []
        ids = [f"{b['type']} {b.get('id') or b.get('tool_use_id', '')}" for b in blocks]
        say(f"  {message['role']:9} {', '.join(ids) or 'text'}".rstrip())
    return done


def run_live(options: Any) -> bool:
    """One question (-p) or a conversation; True if there is nothing to complain of."""
    workdir = Path(options.workdir).resolve()
    sys.unraisablehook = lambda _: None  # a half-built HTTP client complains at its end
    try:
        provider = live_provider(options.model, system_text(workdir))
    except ProviderError as error:
        say(printable(str(error)), "31")
        return False
    url = provider.client.base_url  # without the user name and password in it
    say(printable(f"{provider.model} at {url.netloc.decode()}{url.path}, in {workdir}"))
    say("It can run any command as you. Ctrl-C stops a turn, /new forgets, q quits.")
    messages, turns = list[Message](), options.max_turns
    if options.prompt is not None:
        return converse([options.prompt], provider, workdir, turns, messages)
    while True:
        with suppress(KeyboardInterrupt):  # a Ctrl-C on the heels of another
            converse(ask_user(messages), provider, workdir, turns, messages)
            break
    if any(provider.usage):
        say(f"[conversation: {', '.join(token_counts(provider.usage))}]", "2")
    return True


def parse_options(argv: Sequence[str] | None) -> Any:
    """Read the command line; a mistake in it ends the program with status 2."""
    import argparse

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--demo", action="store_true", help="play a script: no key")
    mode.add_argument("-p", dest="prompt", metavar="PROMPT", help="ask once and exit")
    parser.add_argument("--workdir", default=".", metavar="DIR", help="default: .")
    parser.add_argument("--model", metavar="ID", help=f"default: {DEFAULT_MODEL}")
    parser.add_argument("--max-turns", type=int, default=MAX_TURNS, metavar="N")
    options = parser.parse_args(argv)
    if options.max_turns < 1:
        parser.error("--max-turns must be at least 1")
    if options.prompt is not None and not options.prompt.strip():
        parser.error("-p needs a question")
    if not options.workdir or not Path(options.workdir).is_dir():
        parser.error(f"--workdir: no such folder: {options.workdir}")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status: 0, or 1 when the demo or the question got no answer."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if stream is not None:  # text in any encoding must not end the program
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    options = parse_options(argv)
    try:
        return 0 if (run_demo() if options.demo else run_live(options)) else 1
    except KeyboardInterrupt:
        return 130
    except OSError as error:  # the screen is gone: a closed pipe, a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(error, BrokenPipeError):
            print(f"Cannot go on: {error}.", file=sys.stderr)
        return 1


if __name__ == "__main__":
    if sys.path[0] == os.path.dirname(os.path.abspath(__file__)):
        del sys.path[0]  # pdb imports the real `code`, and this file would shadow it
    sys.exit(main())
