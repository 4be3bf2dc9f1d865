"""Lab 10: the tools of an MCP server enter by the chapter's gate.

    .venv/bin/python -m pytest s02_tool_dispatch/labs/10_mcp_source

Open is the body of `connect`, between the marks; `Wire` carries the lines.
"""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from s02_tool_dispatch import code as s02

PROTOCOLS = ("2025-11-25", "2025-06-18", "2024-11-05")  # the first is offered
NOT_IN_A_NAME = re.compile("[^A-Za-z0-9_-]")  # MCP allows dots, the API none
MAX_LINE = 2**20  # bytes of one message
MAX_PAGES = 50  # of one tools/list
GRACE = 1.0  # seconds for a server to end by itself
NO_METHOD = {"code": -32601, "message": "this client does not do that"}

TIMEOUT = "server_timeout"
DIED = "server_died"
TOO_LONG = "server_line_too_long"
REFUSED = "server_error"  # a JSON-RPC error object
BROKEN = "server_broken"  # an answer that is not what MCP says
FAILED = "tool_error"  # the tool's own failure: isError


class Wire:
    """A server process; nobody waits for it longer than a deadline."""

    def __init__(
        self, command: Sequence[str], workdir: Path, env: Mapping[str, str]
    ) -> None:
        """Start the server, its log thrown away; OSError if that cannot be done."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        pipes["stderr"] = subprocess.DEVNULL
        self.process = subprocess.Popen(
            command, cwd=workdir, env=env, start_new_session=True, **pipes
        )
        self.outbox, self.wanted, self.lines = (queue.SimpleQueue() for _ in range(3))
        self.is_reading = False
        for work in (self._write, self._read):
            threading.Thread(target=work, daemon=True).start()

    def send(self, message: dict) -> None:
        """Send one message; this waits for nobody."""
        self.outbox.put(json.dumps(message).encode() + b"\n")

    def receive(self, deadline: float) -> bytes:
        """The next line. ToolFailure: TIMEOUT at the deadline, of time.monotonic();
        DIED after the last line; TOO_LONG for a line of more than MAX_LINE bytes."""
        if not self.is_reading:
            self.wanted.put(True)
        self.is_reading = True
        try:
            line = self.lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            text = "no answer in time; what it did is unknown: look first"
            raise s02.ToolFailure(text, TIMEOUT) from None
        self.is_reading = False
        if not line:
            raise s02.ToolFailure("the server has ended: do without it", DIED)
        if len(line) > MAX_LINE:
            raise s02.ToolFailure("the answer is too long: ask for less", TOO_LONG)
        return line

    def close(self) -> None:
        """End the server and its session in GRACE seconds; a setsid in it escapes."""
        self.outbox.put(b"")  # closes its input: it is to end by itself
        deadline = time.monotonic() + GRACE
        with suppress(s02.ToolFailure):
            while True:
                self.receive(deadline)
        with suppress(AttributeError, OSError):  # Windows has no process groups
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        self.wanted.put(False)

    def _write(self) -> None:
        with suppress(OSError), self.process.stdin as stream:
            while line := self.outbox.get():
                stream.write(line)
                stream.flush()

    def _read(self) -> None:
        with self.process.stdout as stream:
            while self.wanted.get():
                line = stream.readline(MAX_LINE + 1)
                self.lines.put(line)
                while len(line) > MAX_LINE and line[-1:] != b"\n":
                    line = stream.readline(MAX_LINE + 1)  # the rest: thrown away


def connect(
    command: Sequence[str],
    workdir: Path,
    namespace: str,
    seconds: float,
    tell: Callable[[str], None],
) -> tuple[list[s02.ToolSpec], Wire]:
    """Start an MCP server; its tools as specs, and the wire for the caller to close.

    Every request is bounded by `seconds`. A tool that a registry refuses is left out
    and told, with the reason. A server that is of no use is ended and a ToolFailure.
    """
    # --- your code ---
    wire = Wire(command, workdir, s02.build_subprocess_env(workdir))
    id_ = 0

    def ask(method: str, params: dict) -> dict:
        """The result of one request; ToolFailure for every other end of it."""
        nonlocal id_
        id_ += 1
        deadline = time.monotonic() + seconds
        wire.send({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        while True:
            message = parsed(wire.receive(deadline))
            if "method" in message:
                answer(message)
            elif message.get("id") == id_:
                return result_of(message)

    def parsed(line: bytes) -> dict:
        """The message in a line; {} for a line of a log or anything else."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return {}
        return message if isinstance(message, dict) else {}

    def answer(message: dict) -> None:
        """Answer a request of the server; a notification has no id and no answer."""
        if "id" in message:
            pong = message["method"] == "ping"
            reply = {"result": {}} if pong else {"error": NO_METHOD}
            wire.send({"jsonrpc": "2.0", "id": message["id"], **reply})

    def result_of(message: dict) -> dict:
        if message.get("error"):
            error = message["error"]
            said = error.get("message") if isinstance(error, dict) else error
            raise s02.ToolFailure(f"the server refused: {said}", REFUSED)
        if not isinstance(message.get("result"), dict):
            raise s02.ToolFailure("the server sent no result", BROKEN)
        return message["result"]

    def listed() -> list[object]:
        tools: list[object] = []
        params: dict = {}
        for _ in range(MAX_PAGES):
            page = ask("tools/list", params)
            if not isinstance(page.get("tools"), list):
                raise s02.ToolFailure("the server sent no list of tools", BROKEN)
            tools += page["tools"]
            if page.get("nextCursor") is None:
                return tools
            params = {"cursor": page["nextCursor"]}
        raise s02.ToolFailure("the list of tools has no end", BROKEN)

    def spec_of(tool: object) -> s02.ToolSpec:
        name = tool["name"]

        def call(**arguments: object) -> object:
            result = ask("tools/call", {"name": name, "arguments": arguments})
            try:
                text = "\n".join(shown(block) for block in result.get("content", []))
            except (AttributeError, KeyError, TypeError) as error:
                raise s02.ToolFailure("the content is broken", BROKEN) from error
            if result.get("isError"):
                raise s02.ToolFailure(text or "it did not say why", FAILED)
            return text or result.get("structuredContent")

        full_name = f"{namespace}__{NOT_IN_A_NAME.sub('_', name)}"
        description = tool.get("description") or name
        schema = tool.get("inputSchema")
        return s02.ToolSpec(full_name, description, schema, call, source=namespace)

    def shown(block: dict) -> str:
        return block["text"] if block["type"] == "text" else f"[{block['type']}]"

    try:
        hello = {"protocolVersion": PROTOCOLS[0], "capabilities": {}}
        me = {"name": "lab", "version": "1"}
        agreed = ask("initialize", {**hello, "clientInfo": me}).get("protocolVersion")
        if agreed not in PROTOCOLS:
            raise s02.ToolFailure(f"the server speaks {agreed!r}", BROKEN)
        wire.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        specs, trial = [], s02.ToolRegistry()
        for tool in listed():
            try:
                spec = spec_of(tool)
                trial.register(spec)
                specs.append(spec)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                tell(f"{namespace}: left out: {error}")
        return specs, wire
    except BaseException:
        wire.close()
        raise
    # --- end of your code ---
