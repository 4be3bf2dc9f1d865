"""What a conversation costs with and without a prompt cache: `python3 tests/costs.py`.

A scripted conversation runs through the real SDK against the server of the tests; the
table is computed from the requests that arrived there. A token is taken as four bytes,
and the least length that providers cache is left out. Same bytes at every run.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from s02_tool_dispatch import code as s02  # noqa: E402
from tests.messages_api import Answer, MessagesAPI, reply, text, use  # noqa: E402

READ, WRITE = 0.1, 1.25  # the price of a token from and to the cache; a new one is 1
QUESTIONS = ["Read the first pages.", "Read on.", "And the rest.", "What is missing?"]
SYSTEM = "You are a coding agent. Prefer the file tools to bash."


def script() -> Iterator[Answer]:
    """Two pages read for each question, then the answer."""
    for question in range(len(QUESTIONS)):
        for page in range(2):
            number = 2 * question + page
            arguments = {"path": "book.txt", "offset": 1 + 100 * number, "limit": 100}
            yield reply("tool_use", use(f"t{number}", "read_file", arguments))
        yield reply("end_turn", text("These two pages say nothing of it. " * 8))


def recorded() -> list[bytes]:
    """The bytes of tools, system and messages of each request, in that order."""
    with tempfile.TemporaryDirectory() as folder, MessagesAPI(script()) as api:
        lines = (f"line {number}: the same old story\n" for number in range(1, 1_001))
        Path(folder, "book.txt").write_text("".join(lines))
        settings = dict(zip(s02.CREDENTIALS, ("key", "", api.base_url), strict=True))
        provider = s02.AnthropicProvider("model", SYSTEM, settings)
        registry = s02.build_registry(s02.Workspace(Path(folder)))
        with contextlib.redirect_stdout(io.StringIO()):
            s02.converse(QUESTIONS, provider, registry, s02.MAX_TURNS, [])
    parts = ("tools", "system", "messages")
    rows = [[request[part] for part in parts] for request in api.requests]
    return [json.dumps(row)[1:-2].encode() for row in rows]


def costs(requests: list[bytes]) -> Iterator[tuple[int, int, float, float, float]]:
    """Of each request: its tokens, those of the one before in it, and three prices."""
    for before, now in zip([b"", *requests], requests, strict=False):
        whole, shared = len(now) // 4, len(before) // 4
        assert now.startswith(before), "a request does not continue the one before"
        cached = shared * READ + (whole - shared) * WRITE
        yield whole, shared, float(whole), cached, whole * WRITE


def main() -> None:
    """Print the table, in prices of one input token."""
    rows = list(costs(recorded()))
    print("| request | tokens | as before | no cache | cache | a clock in front |")
    print("|---|---|---|---|---|---|")
    for number, row in enumerate(rows, 1):
        print(f"| {number} | " + " | ".join(f"{count:,.0f}" for count in row) + " |")
    sums = [sum(column) for column in zip(*rows, strict=True)]
    print("| **all** | " + " | ".join(f"**{count:,.0f}**" for count in sums) + " |")


if __name__ == "__main__":
    main()
