"""A chapter's terminal in the tests is a real one."""

from __future__ import annotations

import signal
import sys

import pytest

from tests.chapters import (
    Conversation,
    chapter_copy,
    every_python,
    run_chapter,
    scrubbed_env,
)

SCRIPT = """
import os, sys
if "--env" in sys.argv:
    print(sorted(os.environ), repr(sys.stdin.read()), os.getcwd())
    sys.exit(3)
try:
    input("prompt> ")
except EOFError:
    print("bye")
    sys.exit(4)
"""


@pytest.fixture
def repo(tmp_path):
    """A repository whose only chapter is the script above."""
    (tmp_path / "chapter").mkdir()
    (tmp_path / "chapter" / "code.py").write_text(SCRIPT)
    return tmp_path


@pytest.fixture
def talk(repo):
    with Conversation(repo, "chapter", env=scrubbed_env(repo / "home")) as talk:
        talk.expect("prompt> ")
        yield talk


def test_control_d_ends_the_input_and_the_exit_code_comes_back(talk):
    talk.eof()
    assert talk.wait() == 4
    assert talk.transcript == "prompt> bye\n"


def test_only_new_output_is_expected(talk):
    with pytest.raises(AssertionError, match="no 'prompt> ' in:\nprompt> "):
        talk.expect("prompt> ", timeout=0.05)


def test_a_chapter_that_does_not_end_is_told_and_killed(repo):
    env = scrubbed_env(repo / "home")
    with (
        Conversation(repo, "chapter", env=env) as talk,
        pytest.raises(AssertionError, match="still running"),
    ):
        talk.wait(timeout=0.05)
    assert talk.process.returncode == -signal.SIGKILL


def test_a_run_has_a_scrubbed_environment_and_an_empty_input(repo, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.setenv("ALL_PROXY", "socks5://localhost:1")
    env = scrubbed_env(repo / "home", EXTRA="1")
    ran = run_chapter(repo, "chapter", "--env", env=env)
    assert "ANTHROPIC" not in ran.stdout and "PROXY" not in ran.stdout
    assert "'EXTRA', 'HOME'" in ran.stdout and f"'' {repo}" in ran.stdout
    assert ran.returncode == 3


def test_a_copy_of_the_chapters_has_no_settings_file(tmp_path):
    copied = chapter_copy(tmp_path)
    assert (copied / "s01_agent_loop" / "code.py").is_file()
    assert not list(copied.rglob(".env"))


def test_this_python_is_the_first_of_every_python():
    assert every_python()[0] == sys.executable
