"""The boundary in slow motion: every stage on one screen, and no stage of its own."""

from __future__ import annotations

import re

import pytest

from s02_tool_dispatch import code as s02
from tests.chapters import (
    Conversation,
    chapter_copy,
    every_python,
    run_chapter,
    scrubbed_env,
)

STEP = "s02_tool_dispatch/step.py"
STAGES = ["tool_use", "look up", "check", "handler got", "handler did"]
STAGES += ["tool_result", "record"]


@pytest.fixture
def repo(tmp_path):
    return chapter_copy(tmp_path)


@pytest.fixture
def env(tmp_path):
    return scrubbed_env(tmp_path / "home")


@pytest.fixture
def printed(repo, env):
    """What it prints off a terminal, from another folder: a list of calls' lines."""
    run = run_chapter(repo, STEP, env=env, cwd=repo.parent)
    assert (run.returncode, run.stderr) == (0, "")
    return [call.splitlines() for call in re.split(r"(?m)^\n(?=---)", run.stdout)[1:]]


def stages_of(call):
    return [line[:12].strip() for line in call[1:] if line[:12].strip()]


def text_at(call, stage):
    """The text of a stage, unwrapped."""
    lines = iter(call)
    first = next(line for line in lines if line.startswith(stage))
    rest = [line[12:] for line in lines]
    stop = next(
        (i for i, t in enumerate(call[call.index(first) + 1 :]) if t[:12].strip()),
        len(rest),
    )
    return first[12:] + "".join(rest[:stop])


def test_every_call_of_the_demo_shows_every_stage(printed):
    calls = [b for reply in s02.DEMO for b in reply["content"] if isinstance(b, dict)]

    assert len(printed) == len([b for b in calls if b.get("type") == "tool_use"])
    assert all(stages_of(call) == STAGES for call in printed)


def test_a_call_fits_a_screen_with_its_questions(printed):
    lines = [line for call in printed for line in call]

    assert max(map(len, lines)) <= 80
    assert max(1 + len(call) + len(STAGES) for call in printed) <= 24


def test_the_stages_agree_with_what_the_loop_does(printed):
    by_tool = {
        re.search(r'"name": "(\w+)"', text_at(c, "tool_use"))[1]: c for c in printed
    }
    wrong = next(c for c in printed if "invalid" in text_at(c, "record"))
    unknown = by_tool["delete_file"]

    assert text_at(wrong, "check") == "limit must be an integer, got string"
    assert text_at(wrong, "handler got") == "(not reached)"
    assert text_at(unknown, "look up") == "no such tool"
    assert text_at(unknown, "check") == "(not reached)"
    assert "not set" in text_at(by_tool["bash"], "tool_result")


def test_the_token_of_the_surprise_is_in_the_record_only(printed):
    surprise = next(c for c in printed if '"deploy"' in text_at(c, "tool_use"))
    last_line = text_at(surprise, "record").partition(" characters. ")[2]
    secret = max(re.findall(r"[\w-]{8,}", last_line.partition(": ")[2]), key=len)
    record_at = next(i for i, t in enumerate(surprise) if t.startswith("record"))

    assert text_at(surprise, "handler did").startswith("raised ")
    assert secret not in "".join(line[12:] for line in surprise[:record_at])
    assert not any(secret in "\n".join(c) for c in printed if c is not surprise)


def test_every_python_prints_the_same_bytes(repo, env):
    runs = [run_chapter(repo, STEP, "--all", env=env, python=p) for p in every_python()]

    assert {run.returncode for run in runs} == {0}
    assert len({run.stdout for run in runs}) == 1
    assert runs[0].stdout.isascii() and "/tmp" not in runs[0].stdout


@pytest.mark.parametrize(("end", "status"), [("q", 0), ("EOF", 0), ("Ctrl-C", 130)])
def test_on_a_terminal_it_waits_before_each_stage(repo, env, end, status):
    with Conversation(repo, STEP, env={**env, "NO_COLOR": "1"}) as talk:
        for stage in STAGES[:3]:
            talk.expect(f"{stage} ? ")
            talk.send("")
        talk.expect("handler got ? ")
        if end == "EOF":
            talk.eof()
        elif end == "Ctrl-C":
            talk.interrupt()
        else:
            talk.send(end)

        assert talk.wait() == status
        assert "Traceback" not in talk.transcript
        assert "tool_result" not in talk.transcript


def test_all_on_a_terminal_prints_without_waiting(repo, env):
    with Conversation(repo, STEP, "--all", env=env) as talk:
        assert talk.wait() == 0
        assert talk.transcript.count("\x1b[1m\n---") == talk.transcript.count("---")
