"""An independent peer: llmock picks one of our tools and fills in our schema.

It does not check what comes back (the strict server does that). What it adds: calls
that nobody here has written, made from the schemas that the chapters really send.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from tests.api_rules import RequestRules
from tests.chapters import CHAPTERS, chapter_copy, run_chapter, scrubbed_env

pytest.importorskip("llmock", reason="needs llmock")
both_chapters = pytest.mark.parametrize("chapter", CHAPTERS)

FAULTS = ["unknown_tool", "malformed_arguments"]  # one after the other, at the start


@dataclass
class Talked:
    """One conversation with the peer, and the requests that it saw."""

    ran: subprocess.CompletedProcess
    requests: list[dict]

    def blocks(self, kind) -> list[dict]:
        """The blocks of this type in the history."""
        contents = [message["content"] for message in self.requests[-1]["messages"]]
        blocks = [block for one in contents if isinstance(one, list) for block in one]
        return [block for block in blocks if block["type"] == kind]


@pytest.fixture(scope="module")
def llmock_url(tmp_path_factory):
    """The address of `llmock serve`, a process of its own."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    serve = "from llmock.cli import app; app()"
    command = [sys.executable, "-c", serve, "serve", "--port", str(port)]
    env = scrubbed_env(tmp_path_factory.mktemp("home"), PYTHONIOENCODING="utf-8")
    with subprocess.Popen(
        command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            lines = iter(process.stderr.readline, "")
            assert any("running on" in line for line in lines), "llmock did not start"
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def control(url, path, body=None):
    """Ask or tell llmock something beside the conversation."""
    sent = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(f"{url}/_llmock/{path}", sent, timeout=10) as answer:
        return json.load(answer)


@pytest.fixture(scope="module")
def talked(llmock_url, tmp_path_factory):
    """A conversation of each chapter, which asks for a model of its own name."""

    def run(chapter, folder):
        matching = {"model": chapter, "tools": True}
        faults = [{"type": "tool_fault", "kind": k, "match": matching} for k in FAULTS]
        control(llmock_url, "scenario", {"behaviors": faults})
        env = scrubbed_env(folder / "home", ANTHROPIC_API_KEY="k", MODEL_ID=chapter)
        env["ANTHROPIC_BASE_URL"] = f"{llmock_url}/anthropic"
        repo = chapter_copy(folder)
        return run_chapter(repo, chapter, env=env, stdin="one\ntwo\nthree\n")

    folders = [tmp_path_factory.mktemp(chapter) for chapter in CHAPTERS]
    with ThreadPoolExecutor(len(CHAPTERS)) as pool:
        ran = dict(zip(CHAPTERS, pool.map(run, CHAPTERS, folders), strict=True))
    bodies = [one["body"] for one in control(llmock_url, "requests")["requests"]]
    of = {name: [one for one in bodies if one["model"] == name] for name in CHAPTERS}
    return {name: Talked(ran[name], of[name]) for name in CHAPTERS}


@both_chapters
def test_every_exchange_with_the_peer_ends_with_an_answer(talked, chapter):
    ran = talked[chapter].ran

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.count("[final_answer: ") == 3
    assert ran.stdout.count("[final_answer: 2 turns, 1 tool calls") == 2


@both_chapters
def test_what_the_peer_calls_by_our_schemas_is_run(talked, chapter):
    offered = {tool["name"] for tool in talked[chapter].requests[0]["tools"]}
    called = [block["name"] for block in talked[chapter].blocks("tool_use")]
    told = [block["content"] for block in talked[chapter].blocks("tool_result")]

    assert len(told) == len(called) == len(FAULTS) + 2
    assert set(called[len(FAULTS) :]) <= offered
    refused = ("invalid_arguments", "unknown_tool", "takes an object", "only tool")
    assert not [text for text in told[len(FAULTS) :] for one in refused if one in text]


@both_chapters
def test_what_the_peer_breaks_on_purpose_is_refused_and_answered(talked, chapter):
    results = talked[chapter].blocks("tool_result")[: len(FAULTS)]

    assert [block.get("is_error") for block in results] == [True, True]
    assert "bash" in results[0]["content"]
    if chapter == "s02_tool_dispatch":
        assert results[0]["content"].startswith("Error [unknown_tool]: ")
        assert results[1]["content"].startswith("Error [invalid_arguments]: ")


@both_chapters
def test_the_rules_of_the_strict_server_hold_for_what_the_peer_saw(talked, chapter):
    rules = RequestRules()
    for request in talked[chapter].requests:
        rules.check(request["messages"], request["tools"])
    assert len(talked[chapter].requests) == 3 + len(FAULTS) + 2
