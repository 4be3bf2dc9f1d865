"""A write is there wholly or not at all, whatever happens to its process."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.chapters import ROOT

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="limits and signals as Linux has them"
)

OLD = b"old line\n" * 100
BIG = 4 * 2**20

BY_EITHER_TOOL = pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param("write_file", ["f", "x" * 50_000], id="write"),
        pytest.param("edit_file", ["f", OLD.decode(), "x" * 50_000], id="edit"),
    ],
)

START = """
import json, os, resource, signal, sys
from s02_tool_dispatch import code as s02
os.chdir(sys.argv[1])
workspace = s02.Workspace(".")

def attempt(tool, *arguments):
    try:
        return getattr(workspace, tool)(*arguments)
    except s02.ToolFailure as failure:
        return failure.code
"""


def child(script: str, folder, *arguments: str) -> list[str]:
    """Run a script in a process of its own; return the lines it printed."""
    command = [sys.executable, "-c", START + script, str(folder), *arguments]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


@pytest.fixture
def folder(tmp_path):
    """A folder with one file in it."""
    (tmp_path / "f").write_bytes(OLD)
    (tmp_path / "f").chmod(0o640)
    return tmp_path


# --- A full disk ---

FULL = """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
attempt("read_file", "f")
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
arguments = json.loads(sys.argv[3])
print(attempt(sys.argv[2], *arguments, "x" * 1_000_000))
print(attempt("write_file", "small", "fits"))
"""


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param("write_file", ["f"], id="write"),
        pytest.param("edit_file", ["f", OLD.decode()], id="edit"),
        pytest.param("write_file", ["new"], id="new file"),
        pytest.param("write_file", ["a/b/c/new"], id="new folders"),
    ],
)
def test_a_full_disk_leaves_what_was_there_and_nothing_else(tool, arguments, folder):
    said = child(FULL, folder, tool, json.dumps(arguments))
    assert said == ["io_error", "wrote 4 bytes to small"]
    assert (folder / "f").read_bytes() == OLD
    assert sorted(os.listdir(folder)) == ["f", "small"]


# --- Killed at each step ---

# Python tells an audit hook of every system call that matters here. A fork of this
# process dies at the first one, the next at the second, until one reaches the end.
KILLED_AT_EACH_STEP = """
attempt("read_file", "f")
tool, arguments = sys.argv[2], json.loads(sys.argv[3])
steps = fatal = 0

def die_at_one_step(event, values):
    global steps
    if fatal and event.partition(".")[0] in ("open", "os"):
        steps += 1
        if steps == fatal:
            os.write(1, event.encode() + b"\\n")
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(die_at_one_step)
for number in range(1, 200):
    if not (pid := os.fork()):
        fatal = number
        attempt(tool, *arguments)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    files = {}
    for name in sorted(os.listdir(".")):
        with open(name, "rb") as file:
            files[name] = len(file.read())
    print(json.dumps(files), flush=True)
    for name in files.keys() - {"f"}:
        os.unlink(name)
    if os.WIFEXITED(status):
        break
"""


@BY_EITHER_TOOL
def test_a_process_killed_at_any_step_leaves_the_old_file_or_the_new(
    tool, arguments, folder
):
    said = child(KILLED_AT_EACH_STEP, folder, tool, json.dumps(arguments))
    outcomes = list(zip(said[0::2], map(json.loads, said[1::2]), strict=False))
    assert len(outcomes) >= 3
    assert {files["f"] for _, files in outcomes} <= {len(OLD), 50_000}
    assert json.loads(said[-1]) == {"f": 50_000}


# --- Killed at random moments ---

KILLED_AT_RANDOM = f"""
import random, time
attempt("read_file", "f")
moments, kills, end = random.Random(2), 0, time.monotonic() + 1.5
while kills < 5 or time.monotonic() < end:
    if not (pid := os.fork()):
        for number in range(10**9):
            attempt("write_file", "f", chr(97 + number % 26) * {BIG})
    time.sleep(moments.uniform(0, 0.03))  # the moment, not a synchronisation
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    kills += 1
    with open("f", "rb") as file:
        content = file.read()
    assert content == content[:1] * {BIG}
    for name in set(os.listdir(".")) - {{"f"}}:
        os.unlink(name)
    attempt("read_file", "f")
print(kills)
"""


def test_a_process_killed_at_a_random_moment_leaves_one_whole_file(folder):
    (folder / "f").write_bytes(b"-" * BIG)
    assert int(child(KILLED_AT_RANDOM, folder)[0]) >= 5


# --- Changed by somebody else at the worst moment ---

# The first file that the tool opens for writing is its new one: by then it has read
# and compared the old one. At that moment somebody else changes it.
CHANGED_MEANWHILE = """
attempt("read_file", "f")

def meanwhile(event, values):
    global done
    if event == "open" and not done and values[2] & (os.O_WRONLY | os.O_RDWR):
        done = True
        with open("f", "wb") as file:
            file.write(b"theirs\\n")

done = False
sys.addaudithook(meanwhile)
print(attempt(sys.argv[2], *json.loads(sys.argv[3])), done)
"""


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param("write_file", ["f", "mine"], id="write"),
        pytest.param("edit_file", ["f", OLD.decode(), "mine"], id="edit"),
        pytest.param("write_file", ["new", "mine"], id="new file"),
    ],
)
def test_a_change_between_the_tools_own_read_and_write_is_kept(tool, arguments, folder):
    script = CHANGED_MEANWHILE.replace('"f", "wb"', f'"{arguments[0]}", "wb"')
    assert child(script, folder, tool, json.dumps(arguments)) == ["stale_file True"]
    assert (folder / arguments[0]).read_bytes() == b"theirs\n"
    assert set(os.listdir(folder)) == {"f", arguments[0]}


# --- Mode and owner ---

# At each system call that matters: the mode and the size of the new file.
WATCHED = """
attempt("read_file", "f")
steps = []

def watch(event, values):
    if event in ("os.chown", "os.chmod", "os.rename"):
        (new,) = set(os.listdir(".")) - {"f"}
        status = os.stat(new)
        steps.append([event, oct(status.st_mode & 0o7777), status.st_size > 0])

sys.addaudithook(watch)
attempt(sys.argv[2], *json.loads(sys.argv[3]))
print(json.dumps(steps))
"""


@BY_EITHER_TOOL
def test_the_new_file_is_private_until_it_has_the_old_mode_and_then_gets_its_bytes(
    tool, arguments, folder
):
    steps = json.loads(child(WATCHED, folder, tool, json.dumps(arguments))[0])
    assert steps == [
        ["os.chown", "0o600", False],
        ["os.chmod", "0o600", False],
        ["os.rename", "0o640", True],
    ]


OF_ANOTHER_USER = """
attempt("read_file", "f")
os.setgroups([])
os.setgid(23_456)
os.setuid(12_345)
print(attempt(sys.argv[2], *json.loads(sys.argv[3])), os.listdir("."))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@BY_EITHER_TOOL
def test_a_file_whose_owner_this_process_cannot_give_is_left_alone(
    tool, arguments, folder
):
    (folder / "f").chmod(0o666)
    folder.chmod(0o777)
    for parent in folder.parents:
        if "pytest-of" in str(parent):  # none above the folders that pytest made
            parent.chmod(0o711)
    said = child(OF_ANOTHER_USER, folder, tool, json.dumps(arguments))
    assert said == ["permission_denied ['f']"]
    assert (folder / "f").read_bytes() == OLD


# --- Interrupted ---

INTERRUPTED = """
attempt("read_file", "f")

def interrupt(event, values):
    if event == "os.rename":
        signal.raise_signal(signal.SIGINT)

sys.addaudithook(interrupt)
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    attempt("write_file", sys.argv[2], "new")
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("path", ["f", "a/b/new"])
def test_control_c_before_the_last_step_leaves_what_was_there(path, folder):
    assert child(INTERRUPTED, folder, path) == ["interrupted"]
    assert (folder / "f").read_bytes() == OLD
    assert os.listdir(folder) == ["f"]
