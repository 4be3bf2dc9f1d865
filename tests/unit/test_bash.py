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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


LATE = "(sleep 2; touch late)"
MORE = [
    row("background child", "sleep 30 & echo done", contains="done"),
    row("late child", LATE, None, timeout=1),
    row("late child, TERM ignored", f'trap "" TERM; {LATE}', None, timeout=1),
    row("late child in the background", f"{LATE} & echo done", contains="done"),
    row("late child, disowned", f"{LATE} & disown; echo done", contains="done"),
    row("late child, nohup", f"nohup bash -c '{LATE}' & echo done", contains="done"),
    # Groups of their own, without setsid:
    row("job control", f"set -m; {LATE} & echo done", contains="done"),
    row("timeout in front", "timeout 30 sleep 30; true", None, timeout=1),
    row("timeout behind", "timeout 30 sleep 30 & sleep 0.3"),
    row("progress", "echo PROGRESS; sleep 5", None, timeout=1, contains="PROGRESS"),
    row("stopped child", "sleep 30 & kill -STOP $!; echo done", contains="done"),
    row("reads with python", "python3 -c 'input()'", 1, contains="EOFError"),
    row("reads with read", "read x; echo $?", contains="1"),
    row("output, then 3", "echo out; echo err >&2; exit 3", 3, contains="out\nerr"),
    row("false", "false", 1),
    row("interleaved", "echo 1; echo 2 >&2; echo 3", contains="1\n2\n3"),
    row("child prints", "echo 1; python3 -c 'print(2)'; echo 3", contains="1\n2\n3"),
    row("real bash", "[[ a == a ]] && echo {a,b}", contains="a b"),
    row("not a byte of UTF-8", r"printf '\377ok'", contains="ok"),
    row("NUL inside", r"printf 'a\0b'", contains="a"),
    row("long", "seq 1 200000; echo FINAL >&2; exit 7", 7, contains="FINAL"),
    row("NUL in the command", "echo a\0b", "not_started"),
    row("nothing", "", "empty_command"),
    row("blanks", " \n\t ", "empty_command"),
    row("ends by ABRT", "ulimit -c 0; kill -ABRT $$", 134),
    row("ends by PIPE", "kill -PIPE $$", 141),
    row("exec", "exec sleep 30", None, timeout=1),
    row("a subshell per line", "echo 'a\nb'\necho c", contains="a\nb\nc"),
]  # fmt: skip
CASES: list[Case] = TABLE["cases"] + MORE


@dataclass(frozen=True)
class Outcome:
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


def test_a_signal_is_named_beside_the_exit_code(outcomes):
    for id, number in (("K04", 9), ("K43", 15), ("ends by ABRT", 6)):
        first_line = outcomes[id].result().result.content.split("\n")[0]
        assert re.search(rf"signal {number}\b", first_line)


def test_a_long_output_keeps_its_start_and_its_end_and_says_what_is_missing(outcomes):
    said, *lines = outcomes["long"].result().result.content.split("\n")
    note = next(line for line in lines if "left out" in line)
    shown = sum(len(line) + 1 for line in lines if line is not note)
    written = sum(len(f"{number}\n") for number in range(1, 200_001)) + len("FINAL\n")
    assert said.endswith("exit code 7")
    assert lines[:3] == ["1", "2", "3"] and lines[-2:] == ["200000", "FINAL"]
    missing = int(re.search(r"\d+", note)[0])
    assert abs(written - shown - missing) <= 2  # line ends beside the note


def test_a_command_without_output_says_so(outcomes):
    assert outcomes["K31"].result().result.content == "(no output)"
    assert "(no output)" in outcomes["false"].result().result.content


def test_a_command_that_bash_cannot_take_is_told_to_be_a_script_file(outcomes):
    for id in ("K37", "NUL in the command"):
        assert "script file" in outcomes[id].result().result.content


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
    ],
)
def test_what_would_drive_a_terminal_is_taken_out(printed, shown, tmp_path):
    content = bash(tmp_path, f"printf '{printed}'").content
    assert content.strip("\ufffd") == shown


@pytest.mark.parametrize(
    "control", ["\\000", "\\a", "\\b", "\\016", "\\177", "\\302\\205"]
)
def test_no_control_character_is_in_a_result(control, tmp_path):
    content = bash(tmp_path, f"printf 'a{control}b'").content
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", content)
    assert content[0] == "a" and content[-1] == "b"


def test_an_output_of_hundreds_of_megabytes_is_not_held_in_memory(tmp_path):
    script = f"import os; os.ftruncate(1, {400 * 2**20}); os.write(1, b'START')"
    tracemalloc.start()
    content = bash(tmp_path, f'python3 -c "{script}"; echo END >&2').content
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert re.search(r"\d{9} bytes left out", content)
    assert peak < 20 * 2**20
    assert len(content) <= s02.MAX_RESULT_CHARS


def test_a_command_that_prints_without_end_is_stopped_with_both_ends(tmp_path):
    result = bash(tmp_path, "yes", 2)
    assert result.error_code in ("output_limit", "timeout")
    assert "y\ny\n" in result.content and "left out" in result.content
    assert left_behind(tmp_path) == []
    left_out = re.search(r"(\d+) bytes left out", result.content)
    assert int(left_out[1]) < 4 * s02.MAX_OUTPUT_BYTES


def test_an_output_over_the_bound_on_disk_is_stopped(tmp_path):
    script = f"import os; os.ftruncate(1, {s02.MAX_OUTPUT_BYTES + 1})"
    result = bash(tmp_path, f'python3 -c "{script}"; sleep 30')
    assert result.error_code == "output_limit"
    assert left_behind(tmp_path) == []


# --- Arguments and surroundings ---


@pytest.mark.parametrize("seconds", [0, 601, -1, 1.5, "2", None])
def test_a_time_limit_out_of_range_is_refused(seconds, tmp_path):
    assert bash(tmp_path, "true", seconds).error_code == "invalid_arguments"


@pytest.mark.parametrize("seconds", [1, 600, 2.0])
def test_a_time_limit_is_a_whole_number_of_seconds(seconds, tmp_path):
    assert bash(tmp_path, "echo ok", seconds).content == "ok"


def test_a_command_has_120_seconds_unless_the_call_says_otherwise():
    parameters = inspect.signature(s02.Workspace.bash).parameters
    assert parameters["timeout_seconds"].default == 120


def test_the_description_says_what_exit_code_1_of_grep_means(tmp_path):
    registry = s02.build_registry(s02.Workspace(tmp_path))
    described = {tool["name"]: tool["description"] for tool in registry.model_schemas()}
    assert "grep" in described["bash"] and "1" in described["bash"]


def test_a_command_starts_in_the_workspace_without_start_up_files(tmp_path):
    for name in (".bashrc", ".bash_profile", ".profile", ".bash_login"):
        (tmp_path / name).write_text(f"echo {name} was read\n")
    assert bash(tmp_path, "pwd").content == str(tmp_path.resolve())


def test_without_bash_there_is_one_clear_failure(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    result = bash(tmp_path, "echo hello")
    assert result.error_code == "not_started"
    assert "bash" in result.content


def test_a_missing_workspace_is_said(tmp_path):
    (tmp_path / "ws").mkdir()
    workspace = s02.Workspace(tmp_path / "ws")
    (tmp_path / "ws").rmdir()
    with pytest.raises(s02.ToolFailure) as caught:
        workspace.bash("mkdir -p $HOME; touch $HOME/f")
    assert caught.value.code == "workspace_missing"
    assert os.listdir(tmp_path) == []


# --- Every other way out ---


class Broken(Exception):
    """Comes up in the middle of a call."""


def test_nothing_is_left_when_an_exception_ends_the_call(tmp_path):
    def break_off(number, frame):
        raise Broken

    before = signal.signal(signal.SIGUSR1, break_off)
    try:
        with pytest.raises(Broken):
            command = "sleep 0.1; kill -USR1 $PPID; sleep 30 & sleep 30"
            s02.Workspace(tmp_path).bash(command)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert left_behind(tmp_path) == []


INTERRUPTED = """
import os, signal, sys
from s02_tool_dispatch import code as s02
signal.signal(signal.SIGINT, signal.default_int_handler)
registry = s02.build_registry(s02.Workspace(sys.argv[1]))
command = f"sleep 0.1; kill -INT -{os.getpgrp()}; (sleep 2; touch late)"
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


def test_control_c_ends_the_command_and_the_agent_lives(tmp_path):
    (tmp_path / "ws").mkdir()
    (tmp_path / "tmp").mkdir()
    run = agent(INTERRUPTED, tmp_path / "ws", TMPDIR=str(tmp_path / "tmp"))
    first, running, waiting, again = run.stdout.splitlines()
    assert (first, again) == ("a done", "done")
    assert running.startswith("b Error [cancelled]: ")
    assert waiting.startswith("c Error [cancelled]: ") and "not run" in waiting
    assert left_behind(tmp_path / "ws") == []
    assert os.listdir(tmp_path / "ws") == os.listdir(tmp_path / "tmp") == []


def agent(script: str, folder: Path, typed: str = "", **env: str) -> Any:
    """Run a script in a process and group of its own."""
    run = subprocess.run(
        [sys.executable, "-c", script, str(folder)],
        cwd=ROOT,
        env={**os.environ, **env},
        input=typed,
        capture_output=True,
        text=True,
        timeout=60,
        start_new_session=True,
    )
    assert run.returncode == 0, run.stderr
    return run


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
    typed = "first question\nsecond question\n"
    assert agent(READS_STDIN, tmp_path, typed).stdout == typed
