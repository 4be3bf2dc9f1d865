"""Both chapters talk to a model as their reader's do: the real SDK, a strict server.

One process per chapter and mode: the tests look at what it left behind.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from s01_agent_loop import code as s01
from tests.chapters import (
    CHAPTERS,
    Conversation,
    chapter_copy,
    run_chapter,
    scrubbed_env,
)
from tests.messages_api import (
    MessagesAPI,
    per_chapter,
    reply,
    text,
    thinking,
    use,
)

both_chapters = pytest.mark.parametrize("chapter", CHAPTERS)
KEY = "sk-live-1234"
DONE = reply("end_turn", text("done"))
HOLOGRAM = {"type": "hologram", "beam": [1, None]}
ANSWER_IN_CHINESE = "\u5199\u597d\u4e86"
QUESTION_IN_CHINESE = "\u5199\u4e00\u4e2a\u6587\u4ef6"


@dataclass
class Ran:
    """What one process did: what it showed, what it asked, what it left."""

    api: MessagesAPI
    folder: Path
    code: int
    screen: str
    errors: str = ""

    def history(self) -> list:
        return self.api.requests[-1]["messages"]

    def after(self, question: str) -> list:
        """The messages between a question and the next one."""
        messages = self.history()
        start = [message["content"] for message in messages].index(question) + 1
        kinds = [type(message["content"]) for message in messages[start:]]
        return messages[start:][: (*kinds, str).index(str)]


def bash(tool_use_id, command):
    return use(tool_use_id, "bash", {"command": command})


# --- 1. One question: -p ---

LOOK = [thinking(), text("I look first."), bash("t1", "echo one > a.txt; cat a.txt")]
ANSWER = [thinking(), text("It says one.")]
FILES = [
    [use("t1", "read_file", {"path": "a.txt"}), use("t2", "glob", {"pattern": "*"})],
    [
        use("t3", "edit_file", {"path": "a.txt", "old_text": "one", "new_text": "two"}),
        use("t4", "write_file", {"path": "sub/b.txt", "content": "new\n"}),
        bash("t5", "cat a.txt sub/b.txt"),
    ],
]


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    def run(chapter, folder):
        rounds = FILES if chapter.startswith("s02") else []
        script = [reply("tool_use", *calls) for calls in [LOOK, *renumbered(rounds)]]
        with MessagesAPI([*script, reply("end_turn", *ANSWER)]) as api:
            env = scrubbed_env(folder / "home", ANTHROPIC_API_KEY=KEY)
            env["ANTHROPIC_BASE_URL"] = api.base_url
            (folder / "work").mkdir()
            options = ["-p", "/new", "--model", "m-1", "--workdir", "work"]
            repo = chapter_copy(folder)
            ran = run_chapter(repo, chapter, *options, env=env, cwd=folder)
        return Ran(api, folder / "work", ran.returncode, ran.stdout, ran.stderr)

    return per_chapter(run, tmp_path_factory)


def renumbered(rounds):
    """Other ids for each round than the first one's."""
    return [[{**call, "id": f"u{call['id']}"} for call in calls] for calls in rounds]


@both_chapters
def test_a_prompt_goes_through_a_tool_round_to_its_answer(asked, chapter):
    ran = asked[chapter].result()

    assert (ran.code, ran.errors, ran.api.refusals) == (0, "", [])
    assert (ran.folder / "a.txt").exists()
    for words in ("I look first.", "cat a.txt", "\n  one\n", "It says one."):
        assert words in ran.screen
    assert "final_answer" in ran.screen.splitlines()[-1]


@both_chapters
def test_a_reply_comes_back_with_its_thinking_first_and_unchanged(asked, chapter):
    question, said, results = asked[chapter].result().api.requests[1]["messages"]

    assert question == {"role": "user", "content": "/new"}  # no command here
    assert said == {"role": "assistant", "content": LOOK}
    assert results["role"] == "user"
    assert [block["tool_use_id"] for block in results["content"]] == ["t1"]
    assert results["content"][0]["content"].strip() == "one"


@both_chapters
def test_the_start_line_says_model_host_folder_and_the_risk(asked, chapter):
    ran = asked[chapter].result()
    start = ran.screen.partition("I look first.")[0]

    for words in ("m-1", "127.0.0.1", str(ran.folder), "any command", "Ctrl-C", "/new"):
        assert words in start
    assert {one["model"] for one in ran.api.requests} == {"m-1"}
    assert str(ran.folder) in ran.api.requests[0]["system"]
    assert KEY not in ran.screen


def test_a_model_works_with_all_five_tools_on_real_files(asked):
    ran = asked["s02_tool_dispatch"].result()
    results = [block for m in ran.history()[2::2] for block in m["content"]]

    assert not [block for block in results if block.get("is_error")]
    assert [len(message["content"]) for message in ran.history()[2::2]] == [1, 2, 3]
    assert results[-1]["content"].split() == ["two", "new"]
    assert (ran.folder / "a.txt").read_text() == "two\n"
    assert (ran.folder / "sub" / "b.txt").read_text() == "new\n"


# --- 2. A conversation, with everything that endpoints send ---


def counted(*counts):
    """An answer with these counts, in the order of `Usage`."""
    usage = dict(zip(s01.Usage._fields, counts, strict=False))
    return reply("end_turn", text("done"), usage=usage)


# question: (the replies to it, what the screen then says)
REPLIES = {
    "thinking first": ([reply("tool_use", *LOOK), reply("end_turn", *ANSWER)], "one"),
    QUESTION_IN_CHINESE: ([reply("end_turn", text(ANSWER_IN_CHINESE))], "\u5199\u597d"),
    "unknown block": ([reply("pause_turn", HOLOGRAM), DONE], "done"),
    "id used before": ([reply("tool_use", bash("t1", "echo again")), DONE], "again"),
    "one id for two": (
        [reply("tool_use", bash("t2", "echo a1"), bash("t2", "echo a2")), DONE],
        "a2",
    ),
    "no id": (
        [reply("tool_use", bash("", "echo b1"), bash(None, "echo b2")), DONE],
        "b2",
    ),
    "input a text": (
        [reply("tool_use", use("t3", "bash", '{"command": "touch never"}')), DONE],
        "Error",
    ),
    "input missing": ([reply("tool_use", use("t4", "bash", None)), DONE], "Error"),
    "input not finite": (
        [reply("tool_use", use("t5", "bash", {"command": float("nan")})), DONE],
        "Error",
    ),
    "tool nobody has": (
        [reply("tool_use", use("t6", "functions.bash", {})), DONE],
        "Error",
    ),
    "call with end_turn": ([reply("end_turn", bash("t7", "echo ran")), DONE], "  ran"),
    "content a string": ([reply("end_turn", content="plain words")], "plain words"),
    "all counts": (
        [counted(2_000, 5, 30_000, 100)],
        "32,100 tokens in (30,000 cached), 5",
    ),
    "counts partly missing": ([counted(7, 5)], " 7 tokens in (0 cached), 5 out"),
    "counts strange": ([counted("9", -1, None, 2.5)], "1 turns, 0 tool calls]"),
    "no usage": ([reply("end_turn", text("bare"), usage=None)], "tool calls]"),
    "no stop reason": ([reply(None, text("whole"))], "final_answer"),
    "other stop reason": ([reply("length", text("whole"))], "length"),
    "half a character": ([reply("end_turn", text("half \ud83d"))], "final_answer"),
    "refusal": ([reply("refusal")], "refusal"),
    "cut call": ([reply("max_tokens", bash("t8", "touch never"))], "max_tokens"),
    "empty answer": ([reply("end_turn")], "no_answer"),
    "calls without a call": ([reply("tool_use", text("whole"))], "tool_use"),
    "last": ([DONE], "final_answer"),
}
LEAVES_NOTHING = ("refusal", "empty answer")


@pytest.fixture(scope="module")
def talked(tmp_path_factory):
    def run(chapter, folder):
        script = [answer for answers, _ in REPLIES.values() for answer in answers]
        with MessagesAPI(script) as api:
            env = scrubbed_env(folder / "home", ANTHROPIC_AUTH_TOKEN=KEY)
            env["ANTHROPIC_BASE_URL"] = api.base_url
            repo = chapter_copy(folder)
            with Conversation(repo, chapter, env=env, cwd=folder) as talk:
                talk.expect("you> ")
                for question, (_, words) in REPLIES.items():
                    talk.send(question)
                    talk.expect(words)
                    talk.expect("you> ")
                talk.send("q")
                code = talk.wait()
        return Ran(api, folder, code, talk.transcript)

    return per_chapter(run, tmp_path_factory)


@both_chapters
def test_a_conversation_survives_every_reply_and_the_server_refuses_nothing(
    talked, chapter
):
    ran = talked[chapter].result()

    assert (ran.code, ran.api.refusals) == (0, [])
    assert len(ran.api.requests) == sum(len(answers) for answers, _ in REPLIES.values())
    assert "Traceback" not in ran.screen and KEY not in ran.screen
    assert not (ran.folder / "never").exists()


@both_chapters
def test_a_conversation_keeps_every_question_that_something_came_of(talked, chapter):
    history = talked[chapter].result().history()
    questions = [m["content"] for m in history if isinstance(m["content"], str)]

    assert questions == [one for one in REPLIES if one not in LEAVES_NOTHING]


@both_chapters
def test_every_request_continues_the_bytes_of_the_one_before(talked, chapter):
    """What the cache needs; only a question that came to nothing is taken back."""
    requests = talked[chapter].result().api.requests
    fixed = {json.dumps([one["tools"], one["system"]]) for one in requests}
    histories = [one["messages"] for one in requests]

    assert (len(fixed), len(requests) > 20) == (1, True)
    for before, after in pairwise(histories):
        taken_back = before[-1]["content"] in LEAVES_NOTHING
        kept = before[:-1] if taken_back else before
        assert json.dumps(after).startswith(json.dumps(kept)[:-1])
        assert len(after) > len(kept)
    assert {str(one["cache_control"]) for one in requests} == {"{'type': 'ephemeral'}"}


@both_chapters
@pytest.mark.parametrize(
    "question, blocks",
    [
        pytest.param("thinking first", LOOK, id="thinking"),
        pytest.param("unknown block", [HOLOGRAM], id="unknown"),
        pytest.param(
            QUESTION_IN_CHINESE,
            [text(ANSWER_IN_CHINESE)],
            id="typed-in-chinese",
        ),
    ],
)
def test_a_conversation_sends_every_block_back_as_it_came(
    talked, chapter, question, blocks
):
    ran = talked[chapter].result()

    assert ran.after(question)[0] == {"role": "assistant", "content": blocks}
