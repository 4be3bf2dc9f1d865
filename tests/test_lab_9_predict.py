"""Lab 9 is graded by its own grade.py: right answers pass, wrong ones are told."""

from __future__ import annotations

import importlib.util
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAB = ROOT / "s02_tool_dispatch" / "labs" / "9_predict"
WRONGS = runpy.run_path(str(ROOT / "tests" / "lab_wrongs" / "s02_9_predict.py"))[
    "WRONGS"
]


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
    said = grade.graded(name, answer)

    assert said.startswith(f"{name}  wrong: you wrote `{answer}`, it prints `")
    assert f"programs/{name}.py" in said


def test_every_program_has_a_wrong_answer_that_a_reader_may_believe(grade):
    assert sorted(grade.PROGRAMS) == sorted({name for name, _ in WRONGS.values()})


def test_one_wrong_answer_is_enough_to_fail(grade, tmp_path, capsys):
    right = (LAB / "solution.txt").read_text()
    (tmp_path / "mine.txt").write_text(right.replace("04: False", "04: True"))

    assert grade.main(["--answers", str(tmp_path / "mine.txt")]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "9 of 10 answers are right, 0 not given"


def test_commas_case_and_spaces_do_not_matter(grade):
    assert grade.graded("02", "OK,  Invalid_arguments") == "02  right"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("1: ok\n", "line 1 does not begin like `01: `", id="number"),
        pytest.param("# mine\n02 ok\n", "line 2 does not begin", id="no-colon"),
        pytest.param(None, "cannot be read", id="no-file"),
    ],
)
def test_an_answers_file_that_is_none_is_told_in_one_line(
    grade, tmp_path, capsys, text, told
):
    path = tmp_path / "mine.txt"
    if text is not None:
        path.write_text(text)

    assert grade.main(["--answers", str(path)]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert told in line
