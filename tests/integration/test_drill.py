"""The drill: faults through a real registry, the same bytes, failing lines marked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from s02_tool_dispatch import drill
from s02_tool_dispatch.code import ToolRegistry
from tests.chapters import chapter_copy, every_python, scrubbed_env

THE_EIGHT = [
    "same name twice",
    "unknown tool",
    "missing argument",
    '"3" for an integer',
    "extra argument",
    "path and token in an error",
    "first of a batch raises",
    "edited catalogue",
]
ODD = {  # another hash order, an ASCII terminal, no docstrings, warnings as errors, ...
    "PYTHONHASHSEED": "1",
    "LC_ALL": "C",
    "PYTHONUTF8": "0",
    "PYTHONOPTIMIZE": "2",
    "PYTHONWARNINGS": "error",
    "PYTHONASYNCIODEBUG": "1",
    "COLUMNS": "20",
}


class ExitsAlways(ToolRegistry):
    def dispatch_many(self, calls):
        raise SystemExit("wrong")


class TakesNoTools(ToolRegistry):
    def register(self, *specs):
        raise RuntimeError("wrong")


class HasNoHash(ToolRegistry):
    def catalog_hash(self):
        raise RuntimeError("wrong")


class AnswersNothing(ToolRegistry):
    def dispatch_many(self, calls):
        return []


class AnswersNone(ToolRegistry):
    def dispatch(self, call):
        return None


class ChangesItsArguments(ToolRegistry):
    def dispatch(self, call):
        result = super().dispatch(call)
        if isinstance(call.arguments, dict):
            call.arguments.clear()
        return result


def run_as_a_reader(repo: Path, home: Path, python: str = sys.executable, **env: str):
    """Start the drill as its page says, without site-packages and bytecode."""
    return subprocess.run(
        [python, "-S", "-B", "-m", "s02_tool_dispatch.drill"],
        cwd=repo,
        env=scrubbed_env(home, **env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )


def test_every_line_is_as_it_must_be():
    lines = drill.run_drill(ToolRegistry)

    assert [line for line in lines if not line.ok] == []


def test_the_eight_faults_of_the_page_come_first():
    lines = drill.run_drill(ToolRegistry)

    assert [line.fault for line in lines[1:9]] == THE_EIGHT


def test_names_of_faults_are_unique_and_fit_their_column():
    names = [line.fault for line in drill.run_drill(ToolRegistry)]

    assert len(set(names)) == len(names)
    assert max(map(len, names)) <= 31


def test_every_python_prints_the_same_bytes_and_nothing_on_stderr(tmp_path):
    repo, home = chapter_copy(tmp_path), tmp_path / "home"
    runs = [run_as_a_reader(repo, home, python) for python in every_python()]

    assert [run.returncode for run in runs] == [0] * len(runs)
    assert {run.stderr for run in runs} == {b""}
    assert len({run.stdout for run in runs}) == 1
    assert runs[0].stdout.isascii()


def test_the_environment_changes_no_byte(tmp_path):
    repo, home = chapter_copy(tmp_path), tmp_path / "home"
    plain, other = run_as_a_reader(repo, home), run_as_a_reader(repo, home, **ODD)

    assert (other.returncode, other.stderr) == (0, b"")
    assert other.stdout == plain.stdout


def test_it_leaves_nothing_behind(tmp_path):
    repo, home = chapter_copy(tmp_path), tmp_path / "home"
    before = sorted(tmp_path.rglob("*"))
    run_as_a_reader(repo, home)

    assert sorted(tmp_path.rglob("*")) == sorted([*before, home])


def test_a_second_drill_in_the_same_process_prints_the_same(capsys):
    status = drill.main([]), drill.main([])
    out = capsys.readouterr().out

    assert status == (0, 0)
    assert out[: len(out) // 2] * 2 == out


def test_the_columns_of_every_row_are_aligned(capsys):
    drill.main([])
    head, *rows, _ = capsys.readouterr().out.splitlines()
    came = head.index(" came") + 1

    assert {row[came - 1] for row in rows} == {" "}
    assert all(row[came] != " " for row in rows)
    assert {len(row) for row in rows} == {len(head)}
    assert len(head) <= 90


@pytest.mark.parametrize(
    "wrong",
    [ExitsAlways, TakesNoTools, HasNoHash, AnswersNothing, AnswersNone],
)
def test_a_registry_that_breaks_fails_its_lines_and_never_the_drill(wrong):
    lines = drill.run_drill(wrong)

    assert len(lines) == len(drill.run_drill(ToolRegistry))
    assert not all(line.ok for line in lines)


def test_the_status_is_1_and_the_failing_line_is_marked(capsys):
    status = drill.drill_registry(HasNoHash)
    out = capsys.readouterr().out
    row, mark = out.partition("catalogue hash before")[2].splitlines()[:2]

    assert status == 1
    assert "raised RuntimeError" in row
    assert mark.startswith("  ^ NOT AS IT MUST BE: a hash; 0 ran, 0 traced")


def test_a_marked_line_names_what_does_not_hold():
    line = drill.DrillLine("f", drill.Seen("ok"), drill.Seen("ok"), ("it is told",))

    assert not line.ok
    assert drill.printed(line).endswith("; it is told")


def test_what_a_wrong_registry_does_to_arguments_reaches_no_later_line():
    drill.run_drill(ChangesItsArguments)

    assert all(line.ok for line in drill.run_drill(ToolRegistry))
