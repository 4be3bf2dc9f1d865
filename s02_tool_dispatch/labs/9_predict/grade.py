"""Lab 9: run the ten programs and compare what they print with what you wrote down.

    .venv/bin/python s02_tool_dispatch/labs/9_predict/grade.py              yours
    .venv/bin/python s02_tool_dispatch/labs/9_predict/grade.py --solution   ours

Only programs that you have answered are run; nothing is said about the others. What a
program really prints is told when all ten are answered.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
NUMBERED = re.compile(r"[`*-]*\s*(\d+(?=\s*[:.)\u3001])|0\d|10)\b\s*[:.)\u3001]*")
BLANKS = str.maketrans(dict.fromkeys("`'\"*_,;/|()\u3001\u3002", " "))
PROGRAMS = {path.stem: path for path in sorted((HERE / "programs").glob("*.py"))}


def read_answers(path: Path) -> tuple[dict[str, str], list[str]]:
    """Answers by program, and what is to be said of lines that are none.

    `01: ok`, `1. ok` and `01 ok` are one answer, in full-width characters, too. A line
    without a number goes on with the answer before it.
    """
    answers: dict[str, str] = {}
    unread, name = [], ""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    for number, line in enumerate(lines, 1):
        line = unicodedata.normalize("NFKC", line).strip()
        if not line or line.startswith(("#", "```")):
            continue
        numbered = NUMBERED.match(line)
        if numbered:
            name = numbered[1].zfill(2)
            answers.pop(name, None)
        if name in PROGRAMS:
            more = line[numbered.end() :] if numbered else line
            answers[name] = f"{answers.get(name, '')} {more}".strip()
        else:
            unread.append(f"line {number} does not begin like `01: `: {line[:60]}")
    return answers, unread


@cache
def printed(name: str) -> str:
    """What a program prints, in one line; of one that fails, the last line it says."""
    ran = subprocess.run(
        [sys.executable, str(PROGRAMS[name])],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    if ran.returncode != 0:
        return f"it failed: {(ran.stderr.strip() or 'no reason').splitlines()[-1]}"
    return " ".join(ran.stdout.split())


def same(answer: str, output: str) -> bool:
    """Whether the words are the same; case, line ends and punctuation do not matter."""
    left, right = (text.lower().translate(BLANKS).split() for text in (answer, output))
    return [word.rstrip(".") for word in left] == right


def graded(name: str, answer: str, show_right: bool) -> str:
    """One line on one answer, or two; `show_right` tells the right one beside it."""
    if not answer:
        return f"{name}  not answered yet"
    output = printed(name)
    if same(answer, output):
        return f"{name}  right"
    said = f"{name}  wrong: you wrote `{answer}`"
    if not show_right:
        return f"{said}\n    next: read programs/{name}.py again, from the call on"
    next_step = f"read programs/{name}.py again, then `Why`, {name}, in README.md"
    return f"{said}, it prints `{output}`\n    next: {next_step}"


def summary(answers: Mapping[str, str], lines: Sequence[str]) -> str:
    """How far the reader is."""
    right = sum(line.endswith("  right") for line in lines)
    unanswered = sum(not answers.get(name) for name in PROGRAMS)
    if unanswered == len(PROGRAMS):
        return f"not started; write your answers into {HERE.name}/answers.txt"
    return f"{right} of {len(PROGRAMS)} answers are right, {unanswered} not given"


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0 if all answers are right, otherwise 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--answers", type=Path, default=HERE / "answers.txt")
    parser.add_argument("--solution", action="store_true", help="grade solution.txt")
    options = parser.parse_args(argv)
    path = HERE / "solution.txt" if options.solution else options.answers
    try:
        answers, unread = read_answers(path)
    except (OSError, ValueError) as error:
        print(f"{path.name} cannot be read: {error}")
        return 1
    complete = all(answers.get(name) for name in PROGRAMS)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        grade = partial(graded, show_right=complete)
        lines = list(pool.map(grade, PROGRAMS, [answers.get(n, "") for n in PROGRAMS]))
    print(*unread, *lines, "", summary(answers, lines), sep="\n")
    return 0 if all(line.endswith("  right") for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
