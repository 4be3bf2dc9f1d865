"""The table of failure codes in the s02 page and the code agree, in both languages."""

from __future__ import annotations

import re

import pytest

from s02_tool_dispatch import code as s02
from tests.chapters import ROOT
from tests.contract.test_failure_codes import FAILURES

EVERY_TOOL = ("any",)  # the codes of the boundary itself, whatever the tool
PAGES = ["README.md", "README.zh.md"]


def rows_of(page: str) -> list[list[str]]:
    """The rows of the table whose second column holds `unknown_tool`."""
    text = (ROOT / "s02_tool_dispatch" / page).read_text(encoding="utf-8")
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    (table,) = [table for table in tables if "| `unknown_tool` |" in table]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()]
    return rows[2:]


def names(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)


@pytest.mark.parametrize("page", PAGES)
def test_the_table_lists_every_failure_that_a_tool_can_have_and_no_other(page):
    listed = {
        (t, c) for row in rows_of(page) for t in names(row[0]) for c in names(row[1])
    }
    own = {pair for pair in FAILURES if pair[1] != "invalid_arguments"}

    assert own == listed


@pytest.mark.parametrize("page", PAGES)
def test_the_table_lists_the_codes_of_the_boundary_for_any_tool(page):
    boundary = {row[1].strip("`") for row in rows_of(page) if not names(row[0])}

    assert {str(code) for code in s02.ToolErrorCode} == boundary


@pytest.mark.parametrize("page", PAGES)
def test_every_row_says_what_it_means_and_what_to_do(page):
    for row in rows_of(page):
        assert len(row) == 4 and all(cell.strip() for cell in row), row
