"""Lab 9: run the ten programs and compare what they print with what you wrote down.

    python3 s02_tool_dispatch/labs/9_predict/grade.py              your answers.txt
    python3 s02_tool_dispatch/labs/9_predict/grade.py --solution   solution.txt

Only programs that you have answered are run; nothing is said about the others.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PROGRAMS = {path.stem: path for path in sorted((HERE / "programs").glob("*.py"))}


def read_answers(path: Path) -> dict[str, str]:
    """Lines `01: what it prints`; ValueError names a line that is none."""
    answers = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, colon, answer = line.partition(":")
        if not colon or name.strip() not in PROGRAMS:
            raise ValueError(f"line {number} does not begin like `01: `: {line[:60]}")
        answers[name.strip()] = answer.strip()
    return answers


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
    """Whether the words are the same; commas, line ends and case do not matter."""
    left, right = (text.lower().replace(",", " ").split() for text in (answer, output))
    return left == right


def graded(name: str, answer: str) -> str:
    """One line on one answer, or two."""
    if not answer:
        return f"{name}  not answered yet"
    output = printed(name)
    if same(answer, output):
        return f"{name}  right"
    said = f"{name}  wrong: you wrote `{answer}`, it prints `{output}`"
    next_step = f"read programs/{name}.py again, then `Why`, {name}, in README.md"
    return f"{said}\n    next: {next_step}"


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
        answers = read_answers(path)
    except (OSError, ValueError) as error:
        print(f"{path.name} cannot be read: {error}")
        return 1
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        lines = list(pool.map(lambda n: graded(n, answers.get(n, "")), PROGRAMS))
    print(*lines, "", summary(answers, lines), sep="\n")
    return 0 if all(line.endswith("  right") for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
