"""Ctrl-C, really: SIGINT to a chapter in conversation, at every moment it can come.

One conversation per chapter is interrupted again and again; the tests look at how
long each took, at what is left, and at what the model is then told.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import pytest

from tests.chapters import CHAPTERS, Conversation, chapter_copy, scrubbed_env
from tests.messages_api import (
    MessagesAPI,
    hang,
    reply,
    request_types,
    status,
    text,
    use,
)

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no pseudo terminal"
)
both_chapters = pytest.mark.parametrize("chapter", CHAPTERS)
AT_ONCE = 5  # seconds; it should be one
DONE = reply("end_turn", text("done"))


def bash(tool_use_id, command):
    return use(tool_use_id, "bash", {"command": command})


def read(tool_use_id, path):
    return use(tool_use_id, "read_file", {"path": path, "offset": 10**9})


SAY_SO = "echo $$ > started"  # into a FIFO: the test waits for the process group's id
SHELL = [
    bash("t1", "echo kept"),
    bash("t2", f"echo partly; {SAY_SO}; (sleep 5; touch late) & sleep 60"),
    bash("t3", "touch never"),
]
STUBBORN = [bash("t4", f"trap '' INT TERM; {SAY_SO}; sleep 60; touch late")]
READS = [
    use("t5", "read_file", {"path": "small"}),
    read("t6", "huge"),
    read("t7", "huge"),
]
SCRIPT = [
    hang(),  # the model thinks
    status(429, retry_after=30),  # the SDK waits, to ask again
    reply("tool_use", text("I try."), *SHELL),
    reply("tool_use", *STUBBORN),
    DONE,
    DONE,
]


@dataclass
class Talk:
    """A conversation that is interrupted, and what was seen of it."""

    folder: Path
    talk: Conversation
    api: MessagesAPI
    seconds: dict[str, float] = field(default_factory=dict)
    left: dict[str, list[str]] = field(default_factory=dict)
    code: int = -1

    def measure(self, moment, *ctrl_c) -> None:
        """Interrupt, wait for the prompt, note the time and the processes left."""
        pid = read_pid(self.folder) if "shell" in moment else None
        started = time.monotonic()
        for press in ctrl_c:
            press()
        try:
            self.talk.expect("you> ", timeout=2)
        except AssertionError:  # a signal between prompt and read waits for a key
            self.talk.send("")
            self.talk.expect("you> ")
        self.seconds[moment] = time.monotonic() - started
        self.left[moment] = group_members(pid) if pid else []
        while self.left[moment] and time.monotonic() < started + AT_ONCE:
            self.left[moment] = group_members(pid)  # a killed one takes a moment

    def ask(self, question) -> None:
        self.talk.send(question)
        self.talk.expect("done")
        self.talk.expect("you> ")

    def results(self, tool_use_id) -> dict:
        """The text of each result in the message that answers this call, by id."""
        for message in self.api.requests[-1]["messages"]:
            blocks = message["content"] if message["role"] == "user" else ""
            if tool_use_id in [
                isinstance(b, dict) and b["tool_use_id"] for b in blocks
            ]:
                return {block["tool_use_id"]: block["content"] for block in blocks}
        raise AssertionError(f"{tool_use_id} is not answered")


def read_pid(folder) -> int:
    """Wait until a command says that it runs; return its process group."""
    fifo = os.open(folder / "started", os.O_RDWR)
    try:
        assert select.select([fifo], [], [], 20)[0], "the command did not start"
        return int(os.read(fifo, 100))
    finally:
        os.close(fifo)


def group_members(group: int) -> list[str]:
    """The processes of a group that still live."""
    ask = ["ps", "-A", "-o", "pgid=,stat="]
    listed = subprocess.run(ask, capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [state for pgid, state in rows if pgid == str(group) and state[0] != "Z"]


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """Both conversations, each in a thread of its own."""
    request_types()
    folders = {chapter: tmp_path_factory.mktemp(chapter) for chapter in CHAPTERS}
    with ThreadPoolExecutor(len(CHAPTERS)) as pool:
        return {one: pool.submit(run, one, folders[one]) for one in CHAPTERS}


def run(chapter, folder) -> Talk:
    os.mkfifo(folder / "started")
    (folder / "small").write_text("small enough\n")
    (folder / "huge").touch()
    os.truncate(folder / "huge", 2**40)
    second = chapter == "s02_tool_dispatch"
    script = [*SCRIPT, *[reply("tool_use", *READS)] * second, DONE]
    with MessagesAPI(script) as api:
        env = scrubbed_env(folder / "home", ANTHROPIC_API_KEY="k")
        env["ANTHROPIC_BASE_URL"] = api.base_url
        traced = ["--trace", "trace"] * second
        repo = chapter_copy(folder)
        with Conversation(repo, chapter, *traced, env=env, cwd=folder) as talk:
            it = Talk(folder, talk, api)
            talk.expect("you> ")
            while_it_works(it)
            at_the_prompt(it)
            if second:
                during_reads(it)
            to_the_end(it)
    return it


def while_it_works(it) -> None:
    it.talk.send("think")
    it.api.wait_for_requests(1)
    it.measure("the model thinks", it.talk.interrupt)
    it.talk.send("wait")
    it.api.wait_for_requests(2)
    it.measure("the SDK waits", it.talk.interrupt_process)
    it.talk.send("run")
    it.measure("a shell runs", it.talk.interrupt)
    it.talk.send("run again")
    it.measure("a shell runs, twice", it.talk.interrupt_process, it.talk.interrupt)
    it.talk.send("")  # the second one may be noticed only now
    it.ask("after the shell")


def at_the_prompt(it) -> None:
    os.write(it.talk._terminal, b"half a line")
    it.measure("at the prompt", it.talk.interrupt)
    it.ask("a whole line")


def during_reads(it) -> None:
    it.talk.send("read")
    deadline = time.monotonic() + 20
    while '"t5"' not in (it.folder / "trace").read_text():
        assert time.monotonic() < deadline, "the small read did not end"
        time.sleep(0.005)
    it.measure("reads run", it.talk.interrupt)


def to_the_end(it) -> None:
    it.measure("a key held down", *[it.talk.interrupt] * 20)
    it.talk.send("")  # the last one may be noticed only now
    it.ask("last")
    it.measure("before the end", it.talk.interrupt)
    started = time.monotonic()
    it.talk.send("q")
    it.code = it.talk.wait()
    it.seconds["q"] = time.monotonic() - started


MOMENTS = [
    *("the model thinks", "the SDK waits", "a shell runs", "a shell runs, twice"),
    *("at the prompt", "a key held down", "before the end", "q"),
]


@pytest.mark.parametrize(
    ("chapter", "moment"),
    [*product(CHAPTERS, MOMENTS), ("s02_tool_dispatch", "reads run")],
)
def test_control_c_brings_the_prompt_back_at_once(interrupted, chapter, moment):
    assert interrupted[chapter].result().seconds[moment] < AT_ONCE


@both_chapters
def test_q_ends_an_interrupted_conversation_well(interrupted, chapter):
    it = interrupted[chapter].result()

    assert it.code == 0
    assert "Traceback" not in it.talk.transcript


@both_chapters
@pytest.mark.parametrize("moment", ["a shell runs", "a shell runs, twice"])
def test_no_process_of_an_interrupted_command_is_left(interrupted, chapter, moment):
    it = interrupted[chapter].result()

    assert it.left[moment] == []
    assert not (it.folder / "late").exists()


@both_chapters
def test_the_strict_server_accepts_every_question_after_an_interrupt(
    interrupted, chapter
):
    it = interrupted[chapter].result()

    assert it.api.refusals == []
    assert len(it.api.requests) == len(SCRIPT) + 1 + (chapter == "s02_tool_dispatch")


@both_chapters
def test_a_question_is_kept_only_when_something_came_of_it(interrupted, chapter):
    history = interrupted[chapter].result().api.requests[-1]["messages"]
    questions = [m["content"] for m in history if isinstance(m["content"], str)]
    reads = ["read"] if chapter == "s02_tool_dispatch" else []

    kept = ["run", "run again", "after the shell", "a whole line", *reads, "last"]
    assert questions == kept


@both_chapters
def test_the_model_is_told_what_ran_what_may_have_run_and_what_did_not(
    interrupted, chapter
):
    it = interrupted[chapter].result()
    told = it.results("t1")

    assert list(told) == ["t1", "t2", "t3"]
    assert told["t1"].strip() == "kept"
    assert "unknown" in told["t2"] and "not run" not in told["t2"]
    assert "not run" in told["t3"] and "unknown" not in told["t3"]
    assert "unknown" in it.results("t4")["t4"]
    assert not (it.folder / "never").exists()


@both_chapters
def test_the_screen_shows_what_the_model_is_told(interrupted, chapter):
    screen = interrupted[chapter].result().talk.transcript
    after = screen.partition("I try.")[2].partition("you> ")[0]

    places = [after.find(words) for words in ("kept", "unknown", "not run")]
    assert -1 not in places and places == sorted(places)


def test_of_interrupted_reads_the_finished_one_is_kept(interrupted):
    told = interrupted["s02_tool_dispatch"].result().results("t5")

    assert list(told) == ["t5", "t6", "t7"]
    assert told["t5"] == "small enough\n"
    assert "unknown" in told["t6"] + told["t7"]
    for text_ in (told["t6"], told["t7"]):
        assert text_.startswith("Error [cancelled]: ")


def test_the_trace_has_one_record_for_each_interrupted_call(interrupted):
    it = interrupted["s02_tool_dispatch"].result()
    lines = (it.folder / "trace").read_text().splitlines()[1:]
    records = [(one["tool_use_id"], one["outcome"]) for one in map(json.loads, lines)]

    assert [one for one in records if one[0] < "t6"] == [
        ("t1", "ok"),
        ("t2", "cancelled"),
        ("t3", "cancelled"),
        ("t4", "cancelled"),
        ("t5", "ok"),
    ]


def test_control_c_during_a_single_prompt_ends_it_unanswered(tmp_path):
    with MessagesAPI([hang()]) as api:
        env = scrubbed_env(tmp_path / "home", ANTHROPIC_API_KEY="k")
        env["ANTHROPIC_BASE_URL"] = api.base_url
        repo = chapter_copy(tmp_path)
        with Conversation(repo, CHAPTERS[1], "-p", "think", env=env) as talk:
            api.wait_for_requests(1)
            talk.interrupt()
            assert talk.wait(AT_ONCE) in (1, 130)
    assert "Traceback" not in talk.transcript
