"""Which labs of both chapters are done, what is next, and a hint on demand.

    .venv/bin/python s02_tool_dispatch/labs/check.py            all labs
    .venv/bin/python s02_tool_dispatch/labs/check.py 2          run lab 2
    .venv/bin/python s02_tool_dispatch/labs/check.py 2 --hint   its hint, too
    .venv/bin/python s02_tool_dispatch/labs/check.py s01/1      of the first chapter
    .venv/bin/python s02_tool_dispatch/labs/check.py 2 --zh     the hint in Chinese

Without --hint the hint comes when the same lab fails for the second time, and not
before you have begun: the failures are counted below `.pytest_cache`.

A lab is a folder N_name with a `test_lab.py`, run by pytest on `starter.py`, or with
a `grade.py`, run as it is: its last line says how far the reader is, and its exit
status is 0 when all is right. Both take --solution.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = ("s01_agent_loop", "s02_tool_dispatch")
TIMEOUT_SECONDS = 120  # of one lab
NO_PYTEST = """pytest is missing here. Make .venv once, as the start page says:
  python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"""
FAILURES = ROOT / ".pytest_cache" / "labs.json"  # how often each lab has failed
COMMAND = ".venv/bin/python s02_tool_dispatch/labs/check.py"
DONE = "done"
NO_END = f"no end after {TIMEOUT_SECONDS} seconds"
# Plug-ins that happen to be installed cost a second per lab and change the output.
NO_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}


@dataclass(frozen=True)
class Lab:
    """One folder of exercises."""

    folder: Path

    @property
    def name(self) -> str:
        """What the reader types: `2`, or `s01/2` for the first chapter."""
        number = self.folder.name.partition("_")[0]
        chapter = self.folder.parents[1].name[:3]
        return number if chapter == "s02" else f"{chapter}/{number}"

    @property
    def title(self) -> str:
        """The folder's own words."""
        return self.folder.name.partition("_")[2].replace("_", " ")

    @property
    def path(self) -> str:
        """The folder as the reader names it, from the root of the repository."""
        return self.folder.relative_to(ROOT).as_posix()

    @property
    def needs_pytest(self) -> bool:
        """Whether there is no grade.py that does without it."""
        return not (self.folder / "grade.py").is_file()

    @property
    def answer(self) -> str:
        """The file of the folder that holds what we would have written."""
        return "solution.py" if self.needs_pytest else "solution.txt"

    def run(self, solution: bool) -> subprocess.CompletedProcess[str]:
        """Run the lab to its end, or to a TimeoutExpired; stdout has all it says."""
        option = ["--solution"] if solution else []
        with (
            tempfile.TemporaryDirectory() as place
        ):  # of its own: labs run side by side
            command = [sys.executable, str(self.folder / "grade.py")]
            if self.needs_pytest:
                plain = ["-q", "-rN", "--no-header", "-p", "no:cacheprovider"]
                plain.append(f"--basetemp={place}/tests")
                command = [sys.executable, "-m", "pytest", self.path, *plain]
            return subprocess.run(
                [*command, *option],
                cwd=ROOT,
                env={**os.environ, **NO_PLUGINS},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                timeout=TIMEOUT_SECONDS,
            )

    def status(self, solution: bool) -> str:
        """`done`, or in a few words how far the reader is."""
        try:
            ran = self.run(solution)
        except subprocess.TimeoutExpired:
            return NO_END
        if ran.returncode == 0:
            return DONE
        lines = ran.stdout.strip().splitlines() or [f"exit code {ran.returncode}"]
        if not self.needs_pytest:
            return lines[-1]
        if "cannot be loaded" in ran.stdout:
            return "starter.py cannot be loaded"
        unwritten = "not started; " if not_started(ran.stdout) else ""
        return unwritten + tests_passed(lines[-1])

    def hint(self, language: str) -> str:
        """The folded block of the lab's page, without its marks."""
        page = self.folder / f"README{language}.md"
        text = page.read_text(encoding="utf-8") if page.is_file() else ""
        block = re.search(r"<details>(.*?)</details>", text, re.DOTALL)
        return re.sub(r"</?\w+>", "", block[1]).strip() if block else "there is none"


def not_started(output: str) -> bool:
    """Whether a lab says so: its lines are unwritten, or no answer is given."""
    return "not written yet" in output or "not started" in output


def failures_of(lab: Lab, failed: bool) -> int:
    """How often a lab has failed, with this time; one that has not begins anew."""
    try:
        counts = json.loads(FAILURES.read_text(encoding="utf-8"))
        count = int(counts.get(lab.name, 0))
    except (OSError, ValueError, AttributeError, TypeError):
        counts, count = {}, 0
    counts[lab.name] = count + 1 if failed else 0
    with contextlib.suppress(OSError):  # a folder that cannot be written to
        FAILURES.parent.mkdir(exist_ok=True)
        FAILURES.write_text(json.dumps(counts), encoding="utf-8")
    return int(counts[lab.name])


def tests_passed(summary: str) -> str:
    """`2 failed, 2 passed in 0.05s` as `2 of 4 tests pass`."""
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", summary)}
    passed, ran = counts.get("passed", 0), sum(counts.values())
    return f"{passed} of {ran} tests pass" if counts else summary


def number(folder: Path) -> int:
    """The N of N_name: lab 10 comes after lab 9."""
    return int(folder.name.partition("_")[0])


def all_labs() -> list[Lab]:
    """The labs of both chapters, in the order in which they are meant."""
    folders = [
        folder
        for chapter in CHAPTERS
        for folder in sorted((ROOT / chapter / "labs").glob("[0-9]*_*"), key=number)
        if (folder / "test_lab.py").is_file() or (folder / "grade.py").is_file()
    ]
    return [Lab(folder) for folder in folders]


def show_all(labs: Sequence[Lab], solution: bool) -> int:
    """One line for each lab as soon as it has run, then what is next."""
    first: Lab | None = None
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        statuses = pool.map(lambda lab: lab.status(solution), labs)
        for lab, status in zip(labs, statuses, strict=True):
            mark = "x" if status == DONE else " "
            print(f"[{mark}] {lab.name:6} {lab.title:18} {status}", flush=True)
            if status != DONE and first is None:
                first = lab
    if first is None:
        print("\nAll labs are done.")
    else:
        print(f"\nNext is lab {first.name}: read {first.path}/README.md, then run")
        print(f"  {COMMAND} {first.name}")
    return 0


def show_one(lab: Lab, labs: Sequence[Lab], options: argparse.Namespace) -> int:
    """Run one lab; then its hint if it is due, or the way to the next one."""
    print(f"Lab {lab.name}, {lab.title}: {lab.path}", flush=True)
    try:
        ran = lab.run(options.solution)
        output, failed = ran.stdout, ran.returncode != 0
    except subprocess.TimeoutExpired:
        output, failed = f"{NO_END}\n", True
    print(output, end="")
    if failed:
        show_hint(lab, options, not_started(output))
        return 1
    if not options.solution:
        failures_of(lab, False)
    print(f"\nLab {lab.name} is done. Compare yours with {lab.path}/{lab.answer}")
    after = labs[labs.index(lab) + 1 :]
    if after:
        print(f"Next: {COMMAND} {after[0].name}")
    return 0


def show_hint(lab: Lab, options: argparse.Namespace, untouched: bool) -> None:
    """The hint if it is asked for or due, else how to get it."""
    language = ".zh" if options.zh else ""
    failures = failures_of(lab, not untouched)
    if options.hint or failures > 1:
        print(f"\n{lab.hint(language)}")
    elif untouched:
        print(f"\nLab {lab.name} is not started: read {lab.path}/README{language}.md")
    else:
        print(f"\nA hint: {COMMAND} {lab.name} --hint")


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0; 1 for a lab that is not done; 2 if nothing could be run."""
    words = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=words)
    parser.add_argument("lab", nargs="?", help="2, or s01/2 for the first chapter")
    parser.add_argument("--solution", action="store_true", help="run the solutions")
    parser.add_argument("--hint", action="store_true", help="show the hint now")
    parser.add_argument("--zh", action="store_true", help="the hint in Chinese")
    options = parser.parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    labs = all_labs()
    wanted = (options.lab or "").removeprefix("s02/")
    chosen = [lab for lab in labs if wanted in ("", lab.name)]
    if not chosen:
        names = ", ".join(lab.name for lab in labs)
        print(f"There is no lab {options.lab!r}; the labs are: {names}")
        return 2
    missing = importlib.util.find_spec("pytest") is None
    if missing and any(lab.needs_pytest for lab in chosen):
        print(NO_PYTEST)
        return 2
    if wanted:
        return show_one(chosen[0], labs, options)
    return show_all(labs, options.solution)


if __name__ == "__main__":
    sys.exit(main())
