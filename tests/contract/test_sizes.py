"""How long the chapters may be: a reader's time is the budget."""

import ast
import statistics

import pytest

from tests.sections import CHAPTERS, ROOT, sections

S01, S02 = (ROOT / chapter for chapter in CHAPTERS)
LONGEST = {"agent_loop", "five_tools"}  # one story and one list, without a break


def functions(path):
    """(lines, name) of every function of a file, methods and inner ones too."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    found = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    return [(node.end_lineno - node.lineno + 1, node.name) for node in found]


@pytest.mark.parametrize("path, most", [(S01, 880), (S02, 2_020)], ids=["s01", "s02"])
def test_a_chapter_grows_no_further(path, most):
    assert sections(path)[-1].last <= most


def test_the_boundary_of_s02_is_whole_after_690_lines():
    [end] = [section.last for section in sections(S02) if section.title == "The loop"]

    assert end <= 690


@pytest.mark.parametrize("path", [S01, S02], ids=["s01", "s02"])
def test_functions_are_short_and_the_median_is_below_ten_lines(path):
    found = functions(path)

    assert {name for lines, name in found if lines > 40} <= LONGEST
    assert statistics.median(lines for lines, _ in found) < 10
