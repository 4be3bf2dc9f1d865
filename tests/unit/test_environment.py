"""A command's environment is rebuilt from an allow-list, and tools work in it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from s02_tool_dispatch import code as s02

FIXED = {"TERM": "dumb", "PAGER": "cat", "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
FIXED["GIT_TERMINAL_PROMPT"] = "0"
KEPT = [
    *("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES"),
    *("LC_NUMERIC", "LC_TIME", "LC_MONETARY", "TZ", "TMPDIR", "TEMP", "TMP"),
]
DROPPED = [
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"),
    *("AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "MYCORP_PASSWORD", "LC_SECRET"),
    *("LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "PYTHONSTARTUP"),
    *("PYTHONPATH", "PYTHONHOME", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "IFS"),
    *("PS4", "PROMPT_COMMAND", "CDPATH", "GLOBIGNORE", "BASH_FUNC_planted%%"),
    *("GIT_DIR", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_CONFIG_COUNT", "EDITOR"),
    *("http_proxy", "HTTPS_PROXY", "PATH_SECRET", "TZ_SECRET", "LANGUAGES", "path"),
    *("VIRTUAL_ENV", "XDG_CONFIG_HOME", "NODE_OPTIONS", "PERL5OPT", "OLDPWD"),
]


@pytest.fixture(autouse=True)
def python_of_this_test(monkeypatch):
    """The first `python3` is a real program, whatever manages the versions here."""
    folders = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", folders)


def bash(folder, command: str) -> str:
    """What a command prints in a workspace."""
    return s02.Workspace(folder).bash(command, 60)


# --- The list ---


@pytest.mark.parametrize("name", KEPT)
def test_a_harmless_variable_is_kept(name, monkeypatch, tmp_path):
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv(name, "C.UTF-8")
    assert s02.build_subprocess_env(tmp_path)[name] == "C.UTF-8"


@pytest.mark.parametrize("name", DROPPED)
def test_any_other_variable_is_dropped(name, monkeypatch, tmp_path):
    monkeypatch.setenv(name, "planted-value")
    env = s02.build_subprocess_env(tmp_path)
    assert name not in env
    assert "planted-value" not in "\n".join(env.values())


@pytest.mark.skipif(os.name == "nt", reason="Windows has some more")
def test_nothing_but_the_list_and_what_we_set_gets_through(tmp_path):
    names = set(s02.build_subprocess_env(tmp_path))
    assert names <= {"PATH", "HOME", "PWD", *KEPT, *FIXED}


def test_what_we_set_wins_over_the_parent(monkeypatch, tmp_path):
    for name in ("HOME", "PWD", *FIXED):
        monkeypatch.setenv(name, "of-the-parent")
    env = s02.build_subprocess_env(tmp_path)
    assert {name: env[name] for name in FIXED} == FIXED
    assert env["HOME"] == env["PWD"] == str(tmp_path)


def test_the_parent_keeps_its_own_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("MYCORP_PASSWORD", "hunter2")
    before = dict(os.environ)
    bash(tmp_path, "export MYCORP_PASSWORD=changed HOME=/; unset PATH")
    assert dict(os.environ) == before


def test_a_variable_set_after_the_registration_is_seen_by_the_next_command(
    monkeypatch, tmp_path
):
    workspace = s02.Workspace(tmp_path)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert workspace.bash("echo $TZ") == "Asia/Tokyo"


# --- HOME, PATH and the tools ---


WHO = "-c user.name=a -c user.email=a@b"
COMMIT = f"git init -q; git {WHO} commit -q -m first --allow-empty"
ALIAS = "printf '[alias]\\n hi = !echo from the workspace' > .gitconfig"


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        pytest.param("echo $HOME $PWD $(pwd) ~", "{0} {0} {0} {0}", id="folders"),
        pytest.param("basename -a $(command -v git sh)", "git\nsh", id="found"),
        pytest.param("python3 -c 'import ssl; print(6 * 7)'", "42", id="python"),
        pytest.param(f"{COMMIT}; git log --format=%s", "first", id="git"),
        # What the page says about HOME: a cloned repository can bring such files.
        pytest.param(f"{ALIAS}; git hi", "from the workspace", id="git obeys"),
    ],
)  # fmt: skip
def test_tools_work_and_are_at_home_in_the_workspace(command, printed, tmp_path):
    assert bash(tmp_path, command) == printed.format(tmp_path.resolve())


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(".:{bin}", id="dot"),
        pytest.param(":{bin}", id="empty first"),
        pytest.param("{bin}::", id="empty last"),
        pytest.param("tools:{bin}", id="relative"),
        pytest.param("./tools:../x:{bin}", id="relative with dots"),
        pytest.param("~/tools:{bin}", id="tilde"),
    ],
)
def test_a_relative_part_of_the_path_runs_nothing_of_the_workspace(
    path, tmp_path, monkeypatch
):
    for folder in (tmp_path, tmp_path / "tools"):
        folder.mkdir(exist_ok=True)
        for name in ("bash", "hello"):
            (folder / name).write_text("#!/bin/sh\necho planted\n")
            (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", path.replace("{bin}", os.environ["PATH"]))
    assert "planted" not in bash(tmp_path, "hello; echo end")
    parts = bash(tmp_path, "echo $PATH").split(":")
    assert parts and all(part.startswith("/") for part in parts)


@pytest.mark.parametrize("value", ["", "relative:."])
def test_without_a_path_the_usual_places_are_searched(value, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", value)
    parts = s02.build_subprocess_env(tmp_path)["PATH"].split(":")
    assert set(parts) <= {*os.defpath.split(":"), ""}


@pytest.mark.parametrize("tool", ["make", "node", "pip"])
def test_other_tools_work(tool, tmp_path):
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    assert "." in bash(tmp_path, f"{tool} --version")


# --- The locale ---

LOCALE_NAMES = ("LC_ALL", "LC_CTYPE", "LANG")
MIXES = [
    # LC_ALL, LC_CTYPE, LANG; None is unset
    (None, None, None),
    ("", "", ""),
    (None, None, "C"),
    (None, None, "C.UTF-8"),
    (None, None, "C.utf8"),
    (None, "C.UTF-8", None),
    ("C.UTF-8", None, None),
    ("C", None, None),
    ("POSIX", None, "C.UTF-8"),
    ("C", "C.UTF-8", "C.UTF-8"),
    (None, "C", "C.UTF-8"),
    ("", "C", "C.UTF-8"),
    ("C.UTF-8", "C", "C"),
    ("", "", "C.UTF-8"),
    (None, None, "de_DE.ISO-8859-1"),
    ("de_DE@euro", None, "C.UTF-8"),
]


@pytest.mark.parametrize("mix", MIXES, ids=lambda mix: "-".join(map(str, mix)))
def test_a_command_runs_in_a_utf8_locale(mix, monkeypatch, tmp_path):
    for name, value in zip(LOCALE_NAMES, mix, strict=True):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    # In any other locale bash counts the bytes, two.
    assert bash(tmp_path, "x=$'\\xc3\\xa9'; echo ${#x} $x") == "1 \u00e9"


def test_a_utf8_locale_of_the_parent_is_left_as_it_is(monkeypatch, tmp_path):
    for name in LOCALE_NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "en_GB.UTF-8")
    monkeypatch.setenv("LC_TIME", "C")
    env = s02.build_subprocess_env(tmp_path)
    assert (env["LANG"], env["LC_TIME"]) == ("en_GB.UTF-8", "C")
    assert "LC_ALL" not in env
