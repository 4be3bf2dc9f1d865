"""bash runs one command in one process group, and nothing of it stays behind.

The table is tests/cases/bash.json, with the rows of `MORE` after it. All rows run side
by side in folders of their own, so that those which wait for a time limit cost the
time of one.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
import subprocess
import sys
import time
import tracemalloc
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from s02_tool_dispatch import code as s02
from tests.chapters import ROOT
from tests.tools import call

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="counts processes as Linux shows them"
)

Case = dict[str, Any]

TABLE = json.loads(Path(__file__).parents[1].joinpath("cases/bash.json").read_text())


def row(id: str, command: str, exit: object = 0, **more: object) -> Case:
    """A row as in the table; its time limit and bound are those of most rows."""
    usual = {"timeout": 2, "wall_max": 2, "leftovers": 0}
    return {"id": id, "command": command, "exit": exit, **usual, **more}


LATE = "(sleep 5; touch late)"
BYE = "trap 'echo bye; exit' TERM"
LONG_BYE = f"trap '{'printf %010000d 0; ' * 20}echo bye; exit' TERM"  # fills a pipe
SLOWLY = "import time\nwhile True: print(1); time.sleep(0.01)"
MORE = [
    row("late child", LATE, None, timeout=1),
    row("late child, TERM ignored", f'trap "" TERM; {LATE}', None, timeout=1),
    row("late child, disowned", f"{LATE} & disown; echo done", equals="done"),
    row("late child, nohup", f"nohup bash -c '{LATE}' & echo done", contains="done"),
    # Groups of their own, without setsid:
    row("job control", f"set -m; {LATE} & echo done", equals="done"),
    row("timeout in front", "timeout 30 sleep 30; true", None, timeout=1),
    row("timeout behind", "timeout 30 sleep 30 & sleep 0.3"),
    row("stopped child", "sleep 30 & kill -STOP $!; echo done", equals="done"),
    # SIGTERM first, and time to say goodbye:
    row("trap", f"{BYE}; sleep 9", None, timeout=1, contains="bye"),
    row("trap, full pipe", f"{LONG_BYE}; sleep 9", None, timeout=1, contains="bye"),
    row("trap below", f'bash -c "{BYE}; sleep 9"; :', None, timeout=1, contains="bye"),
    row("trap, group", f"set -m; ({BYE}; sleep 9)", None, timeout=1, contains="bye"),
    row("trap in the background", f"({BYE}; sleep 9) & sleep 0.5", contains="bye"),
    # What has left the session cannot keep the call:
    row("escaper writes on", "setsid yes & sleep 0.3", contains="y\ny\n"),
    row("escaper writes slowly", f"setsid python3 -c '{SLOWLY}' 2>&1 & sleep 0.5"),
    row("escaper is silent", "setsid sleep 60 & sleep 0.3; echo 1", leftovers=1),
    # What happened is in the text:
    row("progress", "echo PROGRESS; sleep 5", None, timeout=1, contains="PROGRESS"),
    row("python prints", f"python3 -c '{SLOWLY}'", None, timeout=1, contains="1\n1"),
    row("reads with python", "python3 -c 'input()'", 1, contains="EOFError"),
    row("output, then 3", "echo out; echo err >&2; exit 3", 3, contains="out\nerr"),
    row("false", "false", 1, contains="(no output)"),
    row("interleaved", "echo 1; echo 2 >&2; echo 3", equals="1\n2\n3"),
    row("opened again", "echo 1; echo 2 > /dev/stderr; cat /dev/stdin; "
        "echo 3 > /dev/stdout; echo 4", equals="1\n2\n3\n4"),
    row("real bash", "[[ a == a ]] && echo {a,b}", equals="a b"),
    row("here-document", "cat <<X\nhello\nX", equals="hello"),
    row("long", "seq 1 200000; echo FINAL >&2; exit 7", 7, contains="FINAL"),
    *(row(f"wide, cut {n}", f"python3 -c \"print('x' * {n} + '\u65e5' * 40_000)\"",
        contains="\u65e5\n[... ", lacks="\ufffd") for n in range(3)),
    row("a character in two writes", r"printf '\346'; sleep 0.2; printf '\227\245'",
        equals="\u65e5"),
    row("an option of bash", "--version", 127, contains="--version: command not found"),
    row("a short option", "-x", 127, contains="-x: command not found"),
    row("NUL in the command", "echo a\0b", "not_started", contains="script file"),
    row("nothing", "", "empty_command"),
    row("blanks", " \n\t ", "empty_command"),
    row("ends by ABRT", "ulimit -c 0; kill -ABRT $$", 134, contains="(signal 6)"),
]  # fmt: skip
CASES: list[Case] = TABLE["cases"] + MORE


class Outcome(NamedTuple):
    """What one row came to."""

    result: s02.ToolDispatchResult
    seconds: float
    leftovers: list[int]
    folder: Path


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Every row, started at once; a handler takes the signal of K44."""
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    with ThreadPoolExecutor(16) as pool, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
        waiting_first = sorted(CASES, key=lambda case: case["exit"] is not None)
        yield {
            case["id"]: pool.submit(outcome, case, tmp_path_factory.mktemp("ws"))
            for case in waiting_first
        }
    signal.signal(signal.SIGTERM, before)


def outcome(case: Case, folder: Path) -> Outcome:
    """Run one row, look for what it left behind, and end that."""
    command = case["command"] * case.get("times", 1)
    started = time.monotonic()
    result = bash(folder, command, case["timeout"])
    seconds = time.monotonic() - started
    leftovers = left_behind(folder, case["leftovers"])
    for pid in leftovers:
        os.kill(pid, signal.SIGKILL)
    return Outcome(result, seconds, leftovers, folder)


def bash(folder: Path, command: str, seconds: int = 60) -> s02.ToolDispatchResult:
    """Dispatch one command in a workspace."""
    registry = s02.build_registry(s02.Workspace(folder))
    return call(registry, "bash", {"command": command, "timeout_seconds": seconds})


def left_behind(folder: Path, right: int = 0) -> list[int]:
    """What is still there when what was killed has had a moment to be gone."""
    deadline = time.monotonic() + 1
    while len(found := running_in(folder)) > right and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def running_in(folder: Path) -> list[int]:
    """The processes whose HOME is this folder: all that a command there started."""
    marker = b"HOME=" + os.fsencode(folder.resolve())
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if marker in environ.read_bytes().split(b"\0"):  # empty once it is dead
                found.append(int(environ.parent.name))
        except OSError:
            continue  # gone, or of another user
    return found


# --- The table ---


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_command_ends_as_the_table_says(case, outcomes: dict[str, Future[Outcome]]):
    got = outcomes[case["id"]].result()
    content = got.result.content
    assert got.result.error_code == right_code(case["exit"]), content
    if got.result.error_code == "nonzero_exit":
        assert re.search(rf"\b{case['exit']}\b", content.split("\n")[0])
    assert case.get("contains", "") in content
    assert case.get("equals", content) == content
    assert case.get("lacks", "\0") not in content
    assert "\0" not in content and "\x1b" not in content
    assert 0 < len(content) <= s02.MAX_RESULT_CHARS
    assert len(got.leftovers) == case["leftovers"]
    assert not (got.folder / "late").exists()
    assert got.seconds < 5 * case["wall_max"]


def right_code(exit: object) -> str | None:
    """The code of a result for the table's `exit`."""
    if exit is None:
        return "timeout"
    if isinstance(exit, str):
        return exit
    return "nonzero_exit" if exit else None


def test_a_long_output_keeps_its_start_and_its_end_and_says_what_is_missing(outcomes):
    said, *lines = outcomes["long"].result().result.content.split("\n")
    note = next(line for line in lines if "left out" in line)
    shown = sum(len(line) + 1 for line in lines if line is not note)
    written = sum(len(f"{number}\n") for number in range(1, 200_001)) + len("FINAL\n")
    assert said.endswith("exit code 7")
    assert lines[:3] == ["1", "2", "3"] and lines[-2:] == ["200000", "FINAL"]
    missing = int(re.search(r"\d+", note)[0])
    assert abs(written - shown - missing) <= 2  # line ends beside the note


def test_a_command_has_a_group_and_session_of_its_own(outcomes):
    shell, group = outcomes["K29"].result().result.content.split("\n")
    parent, own = shell.split()
    assert int(parent) == os.getpid()
    assert group == own != str(os.getpgrp())


# --- Output ---


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        pytest.param(r"\033[31mred\033[0m", "red", id="colour"),
        pytest.param(r"\033[1;38;2;9;9;9mred\033[m", "red", id="many colours"),
        pytest.param(r"\033[2J\033[Hred\033[K", "red", id="clear"),
        pytest.param(r"\033]0;title\007red", "red", id="title"),
        pytest.param(r"\033]8;;http://x\033\\red\033]8;;\033\\", "red", id="link"),
        pytest.param(r"\033(Bred\033=\033c", "red", id="character set"),
        pytest.param(r"\033P1$r0m\033\\red", "red", id="device string"),
        pytest.param(r"\302\23331mred", "red", id="one-byte CSI"),
        pytest.param(r"red\033", "red", id="a bare escape"),
        pytest.param(r"red\033[", "red", id="a cut escape"),
        pytest.param(r"a\tb\nc", "a\tb\nc", id="tab and newline stay"),
        pytest.param(r"\303\251 \346\227\245", "\u00e9 \u65e5", id="wide"),
        pytest.param(r"\377ok\303", "\ufffdok\ufffd", id="no UTF-8"),
        *[
            pytest.param(f"a{control}b", "a\ufffdb", id=f"control {control}")
            for control in (r"\000", r"\a", r"\b", r"\016", r"\177", r"\302\205")
        ],
        pytest.param(r"a\r\nb\r\n\r\nc\r\r\n", "a\nb\n\nc", id="CRLF"),
        pytest.param(r"go\r10%%\r20%%\nend", "20%\nend", id="last frame"),
        pytest.param(r"10%%\r20%%\r", "20%", id="frames that end in CR"),
        pytest.param(r"a\n\r1\033[K\r2\033[K\r\nb", "a\n2\nb", id="cleared frames"),
    ],
)
def test_what_would_drive_a_terminal_is_taken_out(printed, shown, tmp_path):
    content = bash(tmp_path, f"printf '{printed}'").content
    assert shown in (content, content.rstrip("\ufffd"))  # of a bare escape


def test_of_a_long_progress_bar_the_last_frame_is_there(tmp_path):
    frames = "echo start; for n in $(seq 500); do printf '\\r%0100d' $n; done"
    content = bash(tmp_path, f"{frames}; echo; echo end").content
    assert content.startswith("start\n") and content.endswith("0500\nend")
    assert content.count("\n") <= 5


@pytest.mark.parametrize("command", ["yes", "yes $'\\xff'", "cat /dev/zero"])
def test_an_output_without_end_is_held_in_little_memory(command, tmp_path):
    tracemalloc.start()
    result = bash(tmp_path, f"{command} & sleep 1")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert re.search(r"\d{5} characters left out", result.content)
    assert peak < 20 * 2**20
    assert left_behind(tmp_path) == []


# --- Arguments and surroundings ---


@pytest.mark.parametrize("seconds", [1, 600, 2.0, 0, 601, -1, 1.5, "2", None])
def test_a_time_limit_is_a_whole_number_of_seconds_up_to_600(seconds, tmp_path):
    code = None if seconds in (1, 600, 2.0) else "invalid_arguments"
    assert bash(tmp_path, "echo ok", seconds).error_code == code


def test_a_command_has_120_seconds_unless_the_call_says_otherwise():
    parameters = inspect.signature(s02.Workspace.bash).parameters
    assert parameters["timeout_seconds"].default == 120


@pytest.mark.parametrize("words", ["workspace", "input", "background", "grep", "600"])
def test_the_description_says_what_no_caller_can_guess(words, tmp_path):
    registry = s02.build_registry(s02.Workspace(tmp_path))
    described = {tool["name"]: tool["description"] for tool in registry.model_schemas()}
    assert words in described["bash"]


def test_every_command_starts_in_the_workspace_without_start_up_files(tmp_path):
    for name in (".bashrc", ".bash_profile", ".profile", ".bash_login"):
        (tmp_path / name).write_text(f"echo {name} was read\n")
    for _ in range(2):
        command = "pwd; echo $x; mkdir -p sub; cd sub; x=kept; export x"
        assert bash(tmp_path, command).content == str(tmp_path.resolve())


def test_without_bash_there_is_one_clear_failure(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    result = bash(tmp_path, "echo hello")
    assert result.error_code == "not_started" and "no bash" in result.content


def test_a_missing_workspace_is_said(tmp_path):
    (tmp_path / "ws").mkdir()
    workspace = s02.Workspace(tmp_path / "ws")
    (tmp_path / "ws").rmdir()
    with pytest.raises(s02.ToolFailure) as caught:
        workspace.bash("mkdir -p $HOME; touch $HOME/f")
    assert caught.value.code == "workspace_missing"
    assert os.listdir(tmp_path) == []


# --- Every other way out ---


INTERRUPTED = """
import os, signal, sys
from s02_tool_dispatch import code as s02
signal.signal(signal.SIGINT, signal.default_int_handler)
registry = s02.build_registry(s02.Workspace(sys.argv[1]))
command = sys.argv[2].replace("CTRL_C", f"sleep 0.3; kill -INT -{os.getpgrp()}")
calls = [
    s02.ToolCall(id, "bash", {"command": text})
    for id, text in (("a", "echo done"), ("b", command), ("c", "touch late"))
]
try:
    registry.dispatch_many(calls)
except s02.ToolsInterrupted as interrupted:
    for block in interrupted.blocks:
        print(block["tool_use_id"], block["content"])
print(registry.dispatch(calls[0]).content)
"""


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(f"CTRL_C; {LATE}", id="once"),
        pytest.param("trap 'rm late; exit' TERM; >late; CTRL_C; sleep 9", id="bye"),
        pytest.param(f"trap '' TERM; CTRL_C; CTRL_C; {LATE}", id="twice"),
        pytest.param(f"set -m; (trap '' TERM; CTRL_C; {LATE})", id="own group"),
    ],
)  # fmt: skip
def test_control_c_ends_the_command_and_the_agent_lives(command, tmp_path):
    (tmp_path / "ws").mkdir()
    first, running, waiting, again = agent(INTERRUPTED, tmp_path / "ws", command)
    assert (first, again) == ("a done", "done")
    assert running.startswith("b Error [cancelled]: ")
    assert waiting.startswith("c Error [cancelled]: ") and "not run" in waiting
    assert left_behind(tmp_path / "ws") == []
    assert os.listdir(tmp_path / "ws") == []


def agent(script: str, folder: Path, *options: str, typed: str = "") -> list[str]:
    """Run a script in a process and group of its own; return what it prints."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(folder), *options],
        cwd=ROOT,
        input=typed,
        capture_output=True,
        text=True,
        timeout=60,
        start_new_session=True,
    )
    assert run.returncode == 0 and not run.stderr, run.stderr
    return run.stdout.splitlines()


READS_STDIN = """
import sys
from s02_tool_dispatch import code as s02
workspace = s02.Workspace(sys.argv[1])
for command in ("cat", "read x; echo $x", "python3", "head -c 1 /dev/stdin"):
    try:
        workspace.bash(command, 20)
    except s02.ToolFailure as failure:
        assert failure.code == "nonzero_exit", failure
print(sys.stdin.read(), end="")
"""


def test_the_agents_own_input_loses_nothing(tmp_path):
    typed = ["first question", "second question"]
    assert agent(READS_STDIN, tmp_path, typed="\n".join(typed)) == typed


FEW_DESCRIPTORS = """
import os, resource, sys, threading
from contextlib import suppress
from s02_tool_dispatch import code as s02
resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))
workspace, taken = s02.Workspace(sys.argv[1]), []
for free in range(10):
    with suppress(OSError):
        while True:
            taken.append(os.dup(0))
    for _ in range(free):
        os.close(taken.pop())
    try:
        print(workspace.bash("echo done; sleep 30 & true", 20))
    except s02.ToolFailure as failure:
        print(failure.code, "Too many open files" in failure.message)
for _ in range(free):  # more would be missed
    workspace.bash("setsid sleep 30 & sleep 0.1")
print(threading.active_count())
"""


def test_without_descriptors_a_command_does_not_start_and_none_is_kept(tmp_path):
    *lines, threads = agent(FEW_DESCRIPTORS, tmp_path)
    assert threads == "1"
    assert set(lines) == {"not_started True", "done"} and lines == sorted(lines)[::-1]
    escaped = left_behind(tmp_path, 9)
    for pid in escaped:
        os.kill(pid, signal.SIGKILL)
    assert len(escaped) == 9
