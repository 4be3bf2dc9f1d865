"""The command line: every way to start a chapter, and every way for it to end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from s01_agent_loop import code as s01
from s02_tool_dispatch import code as s02
from tests.chapters import (
    CHAPTERS,
    Conversation,
    chapter_copy,
    every_python,
    run_chapter,
    scrubbed_env,
)
from tests.messages_api import MessagesAPI, per_chapter, reply, text, use

MODULES = dict(zip(CHAPTERS, (s01, s02), strict=True))
both_chapters = pytest.mark.parametrize("chapter", CHAPTERS)
posix = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX terminal or shell")
DONE = reply("end_turn", text("done"))
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def repo(tmp_path):
    return chapter_copy(tmp_path)


@pytest.fixture
def env(tmp_path):
    return scrubbed_env(tmp_path / "home")


def shell(line, repo, chapter, env):
    """Run a line of bash in which CODE starts the chapter."""
    code = f'"{sys.executable}" "{repo / chapter / "code.py"}"'
    return subprocess.run(
        ["bash", "-c", line.replace("CODE", code)],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )


# --- 1. Options ---


@both_chapters
def test_help_names_every_option(repo, env, chapter):
    ran = run_chapter(repo, chapter, "--help", env=env)
    options = ["--demo", "-p", "--workdir", "--model", "--max-turns"]
    options += ["--trace"] * chapter.startswith("s02")

    assert (ran.returncode, ran.stderr) == (0, "")
    assert [one for one in options if one not in ran.stdout] == []


@both_chapters
@pytest.mark.parametrize(
    "args, named",
    [
        pytest.param(["--nonsense"], "--nonsense", id="unknown"),
        pytest.param(["hello"], "hello", id="no-option"),
        pytest.param(["-p"], "-p", id="p-without-a-prompt"),
        pytest.param(["-p", " \n"], "-p", id="p-with-a-blank-one"),
        pytest.param(["--demo", "-p", "x"], "-p", id="demo-and-p"),
        pytest.param(["--max-turns", "0"], "--max-turns", id="no-turns"),
        pytest.param(["--max-turns", "2.5"], "--max-turns", id="half-a-turn"),
        pytest.param(["--workdir", "no/where"], "no/where", id="workdir-missing"),
        pytest.param(["--workdir", "a_file"], "a_file", id="workdir-a-file"),
    ],
)
def test_a_wrong_option_is_named_and_ends_with_status_2(
    tmp_path, monkeypatch, capsys, chapter, args, named
):
    (tmp_path / "a_file").write_text("")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        MODULES[chapter].parse_options(args)
    shown = capsys.readouterr()

    assert (ended.value.code, shown.out) == (2, "")
    assert named in shown.err.splitlines()[-1]


@both_chapters
def test_a_process_with_a_wrong_option_ends_without_a_traceback(repo, env, chapter):
    ran = run_chapter(repo, chapter, "--nonsense", env=env)

    assert (ran.returncode, ran.stdout) == (2, "")
    assert "--nonsense" in ran.stderr and "Traceback" not in ran.stderr


# --- 2. The demo ---


@pytest.fixture(scope="module")
def demos(tmp_path_factory):
    """The demo's run for each Python, from an empty folder; on this one, two runs."""
    repo = chapter_copy(tmp_path_factory.mktemp("a folder, \u00e9"))
    away = tmp_path_factory.mktemp("away")

    def run(python, chapter):
        command = [python, "-I", "-S", str(repo / chapter / "code.py"), "--demo"]
        return subprocess.run(
            command, env=SYSTEM, cwd=away, capture_output=True, timeout=60
        )

    pythons = [*every_python(), sys.executable]
    with ThreadPoolExecutor(2) as pool:
        ran = {one: [*pool.map(run, pythons, [one] * len(pythons))] for one in CHAPTERS}
    return ran, away


SYSTEM = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}


@both_chapters
def test_the_demo_needs_nothing_and_gives_the_same_bytes_everywhere(demos, chapter):
    ran, away = demos

    assert {(one.returncode, one.stderr) for one in ran[chapter]} == {(0, b"")}
    assert len({one.stdout for one in ran[chapter]}) == 1
    assert b"final_answer" in ran[chapter][0].stdout
    assert list(away.iterdir()) == []


@both_chapters
def test_the_demo_leaves_nothing_in_the_temporary_folder(repo, env, tmp_path, chapter):
    (tmp_path / "tmp").mkdir()
    ran = run_chapter(
        repo, chapter, "--demo", env={**env, "TMPDIR": str(tmp_path / "tmp")}
    )

    assert ran.returncode == 0
    assert list((tmp_path / "tmp").iterdir()) == []
    assert str(tmp_path) not in ran.stdout


@both_chapters
@pytest.mark.parametrize(
    "extra",
    [
        pytest.param(
            {"ALL_PROXY": "socks5://127.0.0.1:1", "ANTHROPIC_BASE_URL": "nonsense"},
            id="network-settings",
        ),
        pytest.param(
            {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "COLUMNS": "20"},
            id="plain-terminal",
        ),
        pytest.param(
            {"FORCE_COLOR": "1", "TERM": "xterm-256color"}, id="coloured-terminal"
        ),
    ],
)
def test_the_demo_gives_the_same_bytes_in_any_environment(
    demos, repo, env, chapter, extra
):
    ran = run_chapter(repo, chapter, "--demo", env={**env, **extra})

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.encode() == demos[0][chapter][0].stdout.replace(b"\r\n", b"\n")


def test_the_drill_gives_the_same_bytes_on_every_python(repo):
    def run(python):
        command = [python, "-S", "-B", "-m", "s02_tool_dispatch.drill"]
        ran = subprocess.run(
            command, env=SYSTEM, cwd=repo, capture_output=True, timeout=60
        )
        return ran.returncode, ran.stdout, ran.stderr

    with ThreadPoolExecutor(2) as pool:
        ran = set(pool.map(run, [*every_python(), sys.executable]))
    assert len(ran) == 1
    assert (next(iter(ran))[0], next(iter(ran))[2]) == (0, b"")


# --- 3. The start ---

HEAVY = {"anthropic", "dotenv", "asyncio", "concurrent.futures", "ssl", "http"}
LATE = HEAVY | {"hashlib", "subprocess", "tempfile", "traceback"}


@both_chapters
@pytest.mark.parametrize(
    "option, late",
    [pytest.param("--help", LATE, id="help"), pytest.param("--demo", HEAVY, id="demo")],
)
def test_nothing_is_imported_before_it_is_needed(repo, env, chapter, option, late):
    code = str(repo / chapter / "code.py")
    command = [sys.executable, "-X", "importtime", "-I", "-S", code, option]
    ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    imported = set(re.findall(r"^import time:.*\| +(\S+)$", ran.stderr, re.MULTILINE))

    assert "json" in imported
    assert late & imported == set()


@both_chapters
def test_breakpoint_works_in_a_chapter_that_runs_as_a_script(repo, env, chapter):
    code = repo / chapter / "code.py"
    loop = re.compile(
        r"^def agent_loop\(.*?\n    \"\"\".*?\"\"\"\n", re.MULTILINE | re.DOTALL
    )
    code.write_text(loop.sub(r"\g<0>    breakpoint()\n", code.read_text(), count=1))

    def run(python):
        return run_chapter(repo, chapter, "--demo", env=env, stdin="c\n", python=python)

    with ThreadPoolExecutor(2) as pool:
        ran = list(pool.map(run, every_python()))
    assert [one.stderr for one in ran] == [""] * len(ran)
    assert [one.returncode for one in ran] == [0] * len(ran)
    assert all("(Pdb) " in one.stdout for one in ran)


# --- 4. Output that cannot be written ---


@posix
@both_chapters
@pytest.mark.parametrize(
    "line, code, errors",
    [
        pytest.param("CODE --demo | head -n 1 >&2", 0, 1, id="head"),
        pytest.param("CODE --demo | true", 0, 0, id="nobody-reads"),
        pytest.param("CODE --demo >&-", 0, 0, id="stdout-closed"),
        pytest.param("CODE --demo 2>&- <&-", 0, 0, id="stdin-and-stderr-closed"),
    ],
)
def test_a_closed_stream_is_no_reason_to_complain(
    repo, env, chapter, line, code, errors
):
    ran = shell(line, repo, chapter, env)

    assert ran.returncode == code
    assert ran.stderr.count("\n") == errors
    assert "Traceback" not in ran.stderr and "Error" not in ran.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@both_chapters
def test_a_full_disk_is_one_sentence(repo, env, chapter):
    ran = shell("CODE --demo >/dev/full", repo, chapter, env)

    assert ran.returncode != 0
    assert ran.stderr.count("\n") == 1
    assert "No space left" in ran.stderr and "Traceback" not in ran.stderr


# --- 5. A terminal ---


@posix
@both_chapters
def test_colour_is_only_for_a_terminal_and_not_with_no_color(demos, repo, env, chapter):
    plain = demos[0][chapter][0].stdout.decode()

    def shown(**extra):
        with Conversation(repo, chapter, "--demo", env={**env, **extra}) as talk:
            assert talk.wait() == 0
        return talk.transcript

    assert "\x1b" not in plain
    assert "\x1b[" in shown() and COLOUR.sub("", shown()) == plain
    assert shown(NO_COLOR="1") == plain


# --- 6. Live, on every kind of input and output ---

QUESTION = "\u4f60\u597d \U0001f600"
ANSWER = "\u597d \U0001f600"
HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b2J\u202egnp\rexe"
READ_IT = {
    "s01_agent_loop": use("t1", "bash", {"command": "cat hostile.txt"}),
    "s02_tool_dispatch": use("t1", "read_file", {"path": "hostile.txt"}),
}
NAMED = use("t2", f"bash{HOSTILE}", {"command": HOSTILE})
# how: (a line of bash, what the environment has besides)
STARTS = {
    "piped": (
        "printf '%s\\n\\n  /new \\ntwo\\n three ' \"$QUESTION\" | CODE",
        {"QUESTION": QUESTION},
    ),
    "ascii": ("CODE -p $'caf\\xe9' <&-", {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}),
}


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    def run(chapter, folder):
        (folder / "hostile.txt").write_text(f"{HOSTILE}\nend\n", newline="")
        repo, ran = chapter_copy(folder), {}
        call = reply("tool_use", text(HOSTILE + ANSWER), READ_IT[chapter], NAMED)
        with MessagesAPI([DONE, DONE, DONE, call, DONE]) as api:
            env = scrubbed_env(folder / "home", ANTHROPIC_API_KEY="k")
            env["ANTHROPIC_BASE_URL"] = api.base_url
            for how, (line, extra) in STARTS.items():
                line = f"cd '{folder}' && {line}"
                ran[how] = shell(line, repo, chapter, {**env, **extra})
        return ran, api

    return per_chapter(run, tmp_path_factory)


@both_chapters
def test_questions_are_read_from_a_pipe_until_it_ends(started, chapter):
    ran, api = started[chapter].result()
    asked = [request["messages"][-1]["content"] for request in api.requests]

    assert asked[:3] == [QUESTION, "two", "three"]
    assert (ran["piped"].returncode, ran["piped"].stderr) == (0, "")
    assert ran["piped"].stdout.count("final_answer") == 3


@both_chapters
def test_new_forgets_what_was_asked_before_it(started, chapter):
    ran, api = started[chapter].result()
    histories = [[m["content"] for m in one["messages"]] for one in api.requests[:3]]

    assert [one[::2] for one in histories] == [[QUESTION], ["two"], ["two", "three"]]
    assert ran["piped"].stdout.count("A new conversation") == 1
    assert "waiting" not in ran["piped"].stdout


@both_chapters
def test_a_prompt_may_hold_any_bytes_and_needs_no_input(started, chapter):
    ran, api = started[chapter].result()

    assert (ran["ascii"].returncode, ran["ascii"].stderr) == (0, "")
    assert api.requests[3]["messages"][0]["content"].startswith("caf")
    assert api.refusals == []


@both_chapters
def test_a_screen_that_knows_only_ascii_stops_nothing(started, chapter):
    ran = started[chapter].result()[0]["ascii"]

    assert "\\U0001f600" in ran.stdout and "\U0001f600" not in ran.stdout
    assert "done\n" in ran.stdout


@both_chapters
def test_control_characters_reach_the_model_and_not_the_screen(started, chapter):
    ran, api = started[chapter].result()
    told = api.requests[4]["messages"][2]["content"]

    assert "end" in ran["ascii"].stdout
    assert re.findall(r"[^\n\x20-\x7e]", ran["ascii"].stdout) == []
    assert told[0]["content"].rstrip("\n") == f"{HOSTILE}\nend"


# --- 7. Questions as they are typed, without a provider ---

ASKS = """
from s01_agent_loop import code
print(ascii(list(code.ask_user([]))))
"""


@pytest.fixture
def asks(repo):
    (repo / "asks.py").write_text(ASKS)
    return repo


@posix
def test_without_readline_a_line_can_still_be_typed(tmp_path, asks, env):
    none = tmp_path / "none"
    none.mkdir()
    (none / "readline.py").write_text("raise ImportError('no readline here')\n")
    with Conversation(asks, "asks.py", env={**env, "PYTHONPATH": str(none)}) as talk:
        talk.expect("you> ")
        talk.send(QUESTION)
        talk.expect("you> ")
        talk.eof()
        assert talk.wait() == 0
    assert ascii([QUESTION]) in talk.transcript


@posix
def test_an_input_that_is_closed_ends_the_conversation_at_once(asks, env):
    line = f'"{sys.executable}" "{asks / "asks.py"}" <&-'
    ran = shell(line, asks, CHAPTERS[0], env)

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.endswith("[]\n") and ran.stdout.count("you> ") <= 1
