"""Lab 9 is graded by its own grade.py: right answers pass, wrong ones are told."""

from __future__ import annotations

import importlib.util
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAB = ROOT / "s02_tool_dispatch" / "labs" / "9_predict"
TABLES = runpy.run_path(str(ROOT / "tests" / "lab_wrongs" / "s02_9_predict.py"))
WRONGS, RIGHTS = TABLES["WRONGS"], TABLES["RIGHTS"]
SOLUTION = (LAB / "solution.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def grade():
    """grade.py, which remembers what a program printed."""
    spec = importlib.util.spec_from_file_location("lab_9_grade", LAB / "grade.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_solution_answers_all_ten_programs_right(grade, capsys):
    assert grade.main(["--solution"]) == 0

    assert capsys.readouterr().out.count("  right\n") == 10


def test_the_readers_file_starts_empty_and_nothing_is_given_away(grade, capsys):
    assert grade.main([]) == 1

    lines = capsys.readouterr().out.splitlines()
    assert lines[:10] == [f"{name}  not answered yet" for name in grade.PROGRAMS]
    assert lines[-1].startswith("not started; ")


@pytest.mark.parametrize(("name", "answer"), WRONGS.values(), ids=WRONGS)
def test_a_wrong_answer_is_graded_as_wrong_with_a_next_step(grade, name, answer):
    said = grade.graded(name, answer, show_right=True)

    assert said.startswith(f"{name}  wrong: you wrote `{answer}`, it prints `")
    assert f"programs/{name}.py" in said
    told = grade.graded(name, answer, show_right=False)
    assert told.startswith(f"{name}  wrong: you wrote `{answer}`\n    next: ")
    assert grade.printed(name) not in told.removeprefix(f"{name}  wrong: ")


def test_every_program_has_a_wrong_answer_that_a_reader_may_believe(grade):
    assert sorted(grade.PROGRAMS) == sorted({name for name, _ in WRONGS.values()})


def run(grade, capsys, path, text):
    """Exit status and lines for a file of answers."""
    path.write_text(text, encoding="utf-8")
    status = grade.main(["--answers", str(path)])
    return status, capsys.readouterr().out.splitlines()


def test_one_wrong_answer_is_enough_to_fail(grade, tmp_path, capsys):
    text = SOLUTION.replace("04: False", "04: True")
    status, lines = run(grade, capsys, tmp_path / "mine.txt", text)

    assert (status, lines[-1]) == (1, "9 of 10 answers are right, 0 not given")
    assert "04  wrong: you wrote `True`, it prints `False`" in lines


def test_a_right_answer_is_told_only_when_all_ten_are_given(grade, tmp_path, capsys):
    text = SOLUTION.replace("04: False", "04: True").partition("10:")[0]
    _, lines = run(grade, capsys, tmp_path / "mine.txt", text)

    assert "04  wrong: you wrote `True`" in lines
    assert not any("it prints" in line for line in lines)


@pytest.mark.parametrize(("text", "name"), RIGHTS.values(), ids=RIGHTS)
def test_a_right_answer_may_be_written_in_many_ways(
    grade, tmp_path, capsys, text, name
):
    _, lines = run(grade, capsys, tmp_path / "mine.txt", text)

    assert f"{name}  right" in lines
    assert lines[-1] == "1 of 10 answers are right, 9 not given"


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("11: ok", id="no-such-program"),
        pytest.param("0: ok", id="zero"),
        pytest.param("my answers", id="a-title"),
    ],
)
def test_a_line_that_is_none_hides_no_other(grade, tmp_path, capsys, line):
    path = tmp_path / "mine.txt"
    status, lines = run(grade, capsys, path, f"# mine\n{line}\n04: False\n")

    assert lines[0] == f"line 2 does not begin like `01: `: {line}"
    assert (status, lines[-1]) == (1, "1 of 10 answers are right, 9 not given")


def test_a_file_that_is_not_there_is_told_in_one_line(grade, tmp_path, capsys):
    assert grade.main(["--answers", str(tmp_path / "mine.txt")]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert "cannot be read" in line
