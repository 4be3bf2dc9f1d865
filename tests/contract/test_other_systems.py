"""The chapters without what only Unix has: as far as one machine can stand in for
Windows. Nothing here runs on Windows itself; the workflow of CI does."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.chapters import ROOT, scrubbed_env

# Takes away what Python has on Unix only, then runs a program as its reader would.
# What the standard library itself needs of it here is loaded before.
WITHOUT_UNIX = """
import os, runpy, selectors, shutil, signal, subprocess, sys
shutil._use_fd_functions = False  # as on Windows: rmtree goes by names
subprocess.Popen.kill = lambda process: process.send_signal(9)  # has no SIGKILL
UNIX = {
    os: "killpg fchmod fchown chown lchown getuid geteuid getgid getegid getpgid "
        "setsid mkfifo pread pwrite fork forkpty openpty getpgrp sched_getaffinity "
        "uname O_NONBLOCK O_NOFOLLOW O_DIRECTORY O_CLOEXEC O_TMPFILE set_blocking "
        "get_blocking",
    signal: "SIGKILL SIGHUP SIGQUIT SIGALRM SIGCHLD SIGUSR1 setitimer alarm pause "
        "pthread_kill pthread_sigmask sigwait siginterrupt",
}
for module, names in UNIX.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
for name in "fcntl readline termios tty pty resource pwd grp syslog".split():
    sys.modules[name] = None
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


def run(tmp_path, *words, **env):
    return subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env=scrubbed_env(tmp_path / "home", **env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )


@pytest.mark.parametrize(
    "words",
    [
        "s01_agent_loop.code --demo",
        "s02_tool_dispatch.code --demo",
        "s02_tool_dispatch.code --help",
        "s02_tool_dispatch.drill",
    ],
)
def test_a_program_prints_the_same_without_what_only_unix_has(words, tmp_path):
    there = run(tmp_path, "-m", *words.split())
    done = run(tmp_path, "-c", WITHOUT_UNIX, *words.split())

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == there.stdout != ""


@pytest.mark.parametrize("chapter", ["s01_agent_loop", "s02_tool_dispatch"])
def test_without_a_bash_each_command_is_an_error_and_the_demo_goes_on(
    chapter, tmp_path
):
    words = [f"{chapter}.code", "--demo"]
    done = run(tmp_path, "-c", WITHOUT_UNIX, *words, PATH=str(tmp_path))

    assert (done.returncode, done.stderr) == (0, "")
    assert "[final_answer:" in done.stdout and "Error" in done.stdout


def test_the_tests_that_run_on_windows_need_no_unix(tmp_path):
    workflow = (ROOT / ".github/workflows/ci.yml").read_text()
    files = re.findall(r"^ +(tests/\S+)$", workflow, re.MULTILINE)
    words = ["pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *files]
    done = run(tmp_path, "-c", WITHOUT_UNIX, *words)

    assert len(files) > 5
    assert done.returncode == 0, done.stdout[-2000:]
