"""How the tests start a chapter: as its reader does, in a process of its own.

repo = chapter_copy(tmp_path)          no `.env` of this checkout is read
env = scrubbed_env(tmp_path / "home")  no key, no proxy, an empty home
run_chapter(repo, "s01_agent_loop", "--demo", env=env)
with Conversation(repo, "s01_agent_loop", env=env) as talk: ...
"""

from __future__ import annotations

import codecs
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = ("s01_agent_loop", "s02_tool_dispatch")
PROGRAMS = ("code.py", "drill.py", "own_boundary.py", "step.py", "timeline.py")
INHERITED = ("PATH", "SYSTEMROOT")

# Runs before the chapter: makes the pseudo terminal the one that Ctrl-C comes from,
# also for tests in the background of a shell, where SIGINT is ignored.
ADOPT_TERMINAL = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGINT, signal.SIG_DFL)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def scrubbed_env(home: Path, **extra: str) -> dict[str, str]:
    """An environment with a command path, an empty home, and what the test adds."""
    home.mkdir(parents=True, exist_ok=True)
    kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
    fixed = {"HOME": str(home), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    return {**kept, **fixed, **extra}


def chapter_copy(tmp_path: Path) -> Path:
    """Copy the programs of all chapters to `tmp_path/repo` and return that folder."""
    repo = tmp_path / "repo"
    for chapter in CHAPTERS:
        (repo / chapter).mkdir(parents=True)
        for program in PROGRAMS:
            if (ROOT / chapter / program).exists():
                shutil.copy(ROOT / chapter / program, repo / chapter / program)
    return repo


def command(repo: Path, chapter: str, args: tuple[str, ...], python: str) -> list[str]:
    """What a reader types to start a chapter, or another program of its folder."""
    file = chapter if chapter.endswith(".py") else f"{chapter}/code.py"
    return [python, str(repo / file), *args]


def run_chapter(
    repo: Path,
    chapter: str,
    *args: str,
    env: dict[str, str],
    stdin: str | None = None,
    cwd: Path | None = None,
    python: str = sys.executable,
    timeout: float = 60,
) -> subprocess.CompletedProcess[str]:
    """Run a chapter to its end; without `stdin` it reads an empty one."""
    return subprocess.run(
        command(repo, chapter, args, python),
        input=stdin or "",
        env=env,
        cwd=cwd or repo,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=timeout,
    )


class Conversation:
    """A chapter on a pseudo terminal of its own, where Ctrl-C is a real one.

    The terminal does not echo and does not change line ends, so `transcript` is
    what the chapter wrote and nothing else. A line may have up to 4,000 bytes, the
    limit of a terminal. Linux and macOS only.
    """

    def __init__(
        self,
        repo: Path,
        chapter: str,
        *args: str,
        env: dict[str, str],
        cwd: Path | None = None,
        python: str = sys.executable,
    ) -> None:
        self.transcript = ""
        self._position = 0
        self._ended = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        typed = command(repo, chapter, args, python)
        self._terminal, child_side = open_terminal()
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-ISc", ADOPT_TERMINAL, *typed],
                stdin=child_side,
                stdout=child_side,
                stderr=child_side,
                env=env,
                cwd=cwd or repo,
                start_new_session=True,
            )
        except BaseException:
            os.close(self._terminal)
            raise
        finally:
            os.close(child_side)

    def __enter__(self) -> Conversation:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._terminal)

    def send(self, line: str) -> None:
        """Type a line and press Enter."""
        typed = (line + "\n").encode()
        assert len(typed) <= 4_000, "a terminal cuts longer lines"
        os.write(self._terminal, typed)

    def interrupt(self) -> None:
        """Press Ctrl-C: the terminal sends SIGINT to its foreground group."""
        self._let_it_wait()
        os.write(self._terminal, b"\x03")

    def interrupt_process(self) -> None:
        """Send SIGINT to the chapter's process alone."""
        self._let_it_wait()
        os.kill(self.process.pid, signal.SIGINT)

    def eof(self) -> None:
        """Press Ctrl-D, which ends the input when the line is empty."""
        os.write(self._terminal, b"\x04")

    def expect(self, text: str, timeout: float = 20) -> None:
        """Return when the text has come after the last expected one."""
        deadline = time.monotonic() + timeout
        while (found := self.transcript.find(text, self._position)) < 0:
            if not self._read(deadline):
                raise AssertionError(f"no {text!r} in:\n{self.transcript}")
        self._position = found + len(text)

    def wait(self, timeout: float = 20) -> int:
        """Read to the end and return the exit code, negative for a signal."""
        deadline = time.monotonic() + timeout
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                raise AssertionError(f"still running after:\n{self.transcript}")
            self._read(min(deadline, time.monotonic() + 0.05))
        while self._read(time.monotonic()):
            pass
        return self.process.returncode

    def _let_it_wait(self, timeout: float = 2) -> None:
        """Return when the main thread waits, as it does for a slow human.

        A SIGINT between the prompt and the read is noticed only at the next key.
        """
        deadline = time.monotonic() + timeout
        while not is_waiting(self.process.pid) and time.monotonic() < deadline:
            time.sleep(0.001)

    def _read(self, deadline: float) -> bool:
        """Add what comes before the deadline to the transcript; is there more?"""
        import select

        left = max(0.0, deadline - time.monotonic())
        if self._ended or not select.select([self._terminal], [], [], left)[0]:
            return False
        try:
            came = os.read(self._terminal, 65_536)
        except OSError:  # Linux says so when the last process has closed its side
            came = b""
        self._ended = not came
        self.transcript += self._decoder.decode(came, final=self._ended)
        return bool(came)


def is_waiting(pid: int) -> bool:
    """Ask Linux whether a process sleeps; elsewhere give it a moment."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        time.sleep(0.05)
        return True
    return fields.rpartition(")")[2].split()[0] == "S"


def open_terminal() -> tuple[int, int]:
    """Open a pseudo terminal without echo; return our side and the child's."""
    import pty
    import termios

    ours, theirs = pty.openpty()
    modes = termios.tcgetattr(theirs)
    modes[1] &= ~termios.OPOST
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    return ours, theirs


@cache
def every_python() -> list[str]:
    """One interpreter for each Python from 3.10 on; this one is the first."""
    found: dict[tuple[int, int], str] = {}
    for python in [sys.executable, *pyenv_pythons(), *path_pythons()]:
        version = version_of(python)
        if version >= (3, 10):
            found.setdefault(version, python)
    return list(found.values())


def pyenv_pythons() -> list[str]:
    """The interpreters that pyenv has built."""
    root = os.environ.get("PYENV_ROOT", "~/.pyenv")
    if pyenv := shutil.which("pyenv"):
        asked = subprocess.run([pyenv, "root"], capture_output=True, text=True)
        root = asked.stdout.strip() or root
    return sorted(map(str, Path(root).expanduser().glob("versions/3.*/bin/python3")))


def path_pythons() -> list[str]:
    """The interpreters that are commands."""
    names = [f"python3.{minor}" for minor in range(10, 14)]
    return [path for name in names if (path := shutil.which(name))]


def version_of(python: str) -> tuple[int, int]:
    """Ask an interpreter for its version; one that does not start has 0.0."""
    ask = [python, "-ISc", "import sys; print(*sys.version_info[:2])"]
    asked = subprocess.run(ask, capture_output=True, text=True)
    if asked.returncode:
        return (0, 0)
    major, minor = asked.stdout.split()
    return (int(major), int(minor))
