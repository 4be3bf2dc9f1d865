"""No secret of the parent reaches a command, a tool result, a request or the screen.

The chapter runs as its reader starts it, in an environment full of planted secrets,
and its tools print whatever a child can print. `--trace` is not looked at: the page
says that a trace can hold secrets.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.chapters import ROOT, chapter_copy, run_chapter, scrubbed_env
from tests.messages_api import MessagesAPI, reply, request_types, text, use

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="plants what Linux programs obey"
)

PRINTED = {
    "env": "env",
    "export": "export -p",
    "functions": "declare -F; declare -f",
    "variables": "declare -p; set",
    "names": "compgen -e; compgen -v",
    "own environ": "cat /proc/self/environ | tr '\\0' '\\n'",
    "python": "python3 -c 'import os; print(dict(os.environ), os.listdir())'",
    "python, deeper": "sh -c 'exec python3 -c \"import os; print(os.environ)\"'",
    "login shell": "bash -lc env",
    "shell": "bash -c env; sh -c env",
    "git": "git config --list --show-origin; git var -l 2>&1 | head -5",
    "background": "(sleep 0.1; env) & wait",
    "loader": "grep -o 'planted[^ ]*' /proc/self/maps; echo HOME=end",
}


def planted(folder: Path) -> dict[str, str]:
    """Secrets by name; each value is one of a kind."""
    (folder / "planted-start-up").write_text("echo planted-start-up-ran\n")
    (folder / "planted-python").write_text("print('planted-python-ran')\n")
    secrets = {
        "ANTHROPIC_API_KEY": "planted-anthropic",
        "OPENAI_API_KEY": "planted-openai",
        "AWS_SECRET_ACCESS_KEY": "planted-aws",
        "SSH_AUTH_SOCK": str(folder / "planted-agent"),
        "MYCORP_PASSWORD": "planted-mycorp",
        "LC_SECRET": "planted-locale",
        "PYTHONSTARTUP": str(folder / "planted-python"),
        "PYTHONPATH": str(folder / "planted-modules"),
        "BASH_ENV": str(folder / "planted-start-up"),
        "ENV": str(folder / "planted-start-up"),
        "BASH_FUNC_planted_function%%": "() { echo planted-function-ran; }",
        "GIT_ASKPASS": "planted-askpass",
        "GIT_SSH_COMMAND": "planted-ssh",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "user.name",
        "GIT_CONFIG_VALUE_0": "planted-git",
        "DATABASE_URL": "postgres://u:planted-database@host/db",
    }
    return {**secrets, **preloaded(folder)}


def preloaded(folder: Path) -> dict[str, str]:
    """LD_PRELOAD with a library that does no harm: a copy of one that is loaded."""
    maps = Path("/proc/self/maps").read_text()
    if not (library := re.search(r"/\S*/libm[.-]\S*", maps)):
        return {}
    shutil.copy(library[0], folder / "planted-library.so")
    return {"LD_PRELOAD": str(folder / "planted-library.so")}


@pytest.fixture(scope="module")
def plants(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("plants"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory, plants):
    """One question with many commands, and the demo, side by side."""
    request_types()  # before there are threads: it changes the SDK for a moment
    folder = tmp_path_factory.mktemp("s02")
    repo, env = chapter_copy(folder), scrubbed_env(folder / "home", **plants)
    env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
    with ThreadPoolExecutor() as pool:
        demo = pool.submit(run_chapter, repo, "s02_tool_dispatch", "--demo", env=env)
        return {"question": question(folder, repo, env), "demo": demo.result()}


def question(folder, repo, env):
    """Run `-p` against a server whose replies call bash with every command."""
    calls = [
        use(f"t{number}", "bash", {"command": command})
        for number, command in enumerate(PRINTED.values())
    ]
    (folder / "work").mkdir()
    script = [reply("tool_use", *calls), reply("end_turn", text("Nothing to see."))]
    with MessagesAPI(script) as api:
        env = {**env, "ANTHROPIC_BASE_URL": api.base_url}
        options = ["-p", "What do you see?", "--workdir", str(folder / "work")]
        ran = run_chapter(repo, "s02_tool_dispatch", *options, env=env)
    assert (ran.returncode, api.refusals) == (0, []), ran.stdout + ran.stderr
    return ran, api


def found(plants: dict[str, str], where: str) -> list[str]:
    """The names, values and effects of plants that a text holds."""
    sought = {*plants, *plants.values(), "planted"}
    sought -= {"1", "ENV", "user.name"}  # words of their own
    return [one for one in sought if one in where]


@pytest.mark.parametrize("number", range(len(PRINTED)), ids=list(PRINTED))
def test_what_a_command_can_print_holds_no_secret(number, runs, plants):
    _, api = runs["question"]
    results = api.requests[-1]["messages"][-1]["content"]
    content = results[number]["content"]
    assert found(plants, content) == []
    assert not re.search(r"(?m)^(declare -x |export )?ENV=", content)
    assert "HOME" in content or list(PRINTED)[number] in ("functions", "git")


def test_no_request_holds_a_secret(runs, plants):
    _, api = runs["question"]
    assert len(api.requests) == 2
    assert found(plants, json.dumps(api.requests).replace(PRINTED["loader"], "")) == []
    assert api.headers[0]["authorization"].endswith("planted-anthropic")


def test_the_screen_shows_no_secret(runs, plants):
    ran, _ = runs["question"]
    screen = (ran.stdout + ran.stderr).replace(PRINTED["loader"], "")
    assert "Nothing to see." in screen
    assert found(plants, screen) == []


def test_the_demo_shows_no_secret(runs, plants):
    demo = runs["demo"]
    assert demo.returncode == 0
    assert found(plants, demo.stdout + demo.stderr) == []


def test_the_plants_are_there_for_any_other_child(plants, tmp_path):
    """Without this, the tests above prove nothing."""
    env = {**scrubbed_env(tmp_path), **plants}
    command = "env; declare -F; grep -o planted-library.so /proc/self/maps"
    shown = subprocess.check_output(["bash", "-c", command], env=env, text=True)
    assert {*plants} - {*found(plants, shown)} <= {"ENV"}  # that one is no word
    assert "planted-start-up-ran" in shown
    assert "declare -fx planted_function" in shown


# --- What the page says stays open ---

PARENT = """
import os, sys
from s02_tool_dispatch import code as s02
if "closed" in sys.argv:
    import ctypes
    ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE
del os.environ["EARLY_KEY"]
os.environ["LATE_KEY"] = "planted-late"
try:
    print(s02.Workspace(sys.argv[1]).bash("tr '\\\\0' '\\\\n' </proc/$PPID/environ"))
except s02.ToolFailure as failure:
    print(failure.message)
"""


def environ_of_parent(tmp_path, *options: str) -> str:
    """What a command can read of the environment its parent was started with."""
    env = {**os.environ, "EARLY_KEY": "planted-early"}
    command = [sys.executable, "-c", PARENT, str(tmp_path), *options]
    return subprocess.check_output(command, cwd=ROOT, env=env, text=True, timeout=30)


def test_limit_a_key_from_before_the_start_can_be_read_in_proc(tmp_path):
    shown = environ_of_parent(tmp_path)
    assert "planted-early" in shown
    assert "planted-late" not in shown  # as one from `.env`


@pytest.mark.not_root
@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every environment")
def test_a_parent_that_is_not_dumpable_closes_that_for_a_user(tmp_path):
    assert "planted-early" not in environ_of_parent(tmp_path, "closed")
