"""Pages joined together give the text back: for any text and any size of page.

The examples come from hypothesis where it is installed, and from a seeded generator
everywhere. `[` is in no text: a line that begins with it is a closing line.
"""

from __future__ import annotations

import random
import re
import tempfile
from pathlib import Path

import pytest

from s02_tool_dispatch import code as s02

PIECES = [
    *("a", "b c", "\t", " ", "\u00e9", "\u65e5", "\U0001f600", "\ufeff", "\\"),
    *("\n", "\n", "\n", "\n\n", "\r\n", "\r", "\r\r\n"),
    *("\x0b", "\x0c", "\x1c", "\x1e", "\x85", "\u2028", "\u2029"),
]


def shown(text: str) -> str:
    """What the model sees of a text: no BOM, no CR before a LF."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def pages(folder: str, limit: int) -> list[tuple[str, str]]:
    """Follow the closing lines; return each page as (lines, closing line)."""
    workspace, offset, came = s02.Workspace(folder), 1, []
    while offset:
        page = workspace.read_file("f", offset, limit)
        lines, closing = re.fullmatch(r"([^\[]*)(\[.*\])?", page, re.DOTALL).groups()
        assert not closing or lines.endswith("\n")  # it is a line of its own
        came.append((lines, closing or ""))
        found = re.search(r"offset\D{0,3}(\d+)", closing or "")
        assert not found or int(found[1]) == offset + limit
        offset = int(found[1]) if found else 0
    return came


def check(text: str, limit: int) -> None:
    """Write a file, read all its pages, compare."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "f").write_bytes(text.encode())
        came = pages(folder, limit)
    joined = "".join(lines for lines, _ in came)
    if came[-1][1] and not shown(text).endswith("\n"):
        joined = joined.removesuffix("\n")  # made room for the closing line
    assert joined == (shown(text) or "(empty file)")
    assert all(lines.count("\n") <= limit for lines, _ in came)


def test_the_pages_of_random_texts_give_them_back():
    pick = random.Random(3)
    for _ in range(300):
        check("".join(pick.choices(PIECES, k=pick.randrange(20))), pick.randrange(1, 6))


def test_the_pages_of_long_random_texts_give_them_back():
    pick = random.Random(4)
    for _ in range(8):
        lines = ["x" * pick.choice((0, 9, 900, 9_000)) for _ in range(40)]
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "f").write_text("\n".join(lines))
            offset, joined = 1, ""
            while offset:
                page = s02.Workspace(folder).read_file("f", offset)
                assert len(page) <= s02.MAX_RESULT_CHARS
                found = re.search(r"\[.*offset\D{0,3}(\d+).*\]\Z", page)
                joined += page[: found.start()] if found else page
                offset = int(found[1]) if found else 0
        assert joined == "\n".join(lines)


def test_hypothesis_finds_no_text_that_its_pages_do_not_give_back():
    hypothesis = pytest.importorskip("hypothesis", reason="needs hypothesis")
    st = hypothesis.strategies
    letters = st.characters(exclude_characters="\0[", exclude_categories=["Cs"])

    @hypothesis.settings(max_examples=150, deadline=None, database=None)
    @hypothesis.given(
        st.lists(st.sampled_from(PIECES) | letters, max_size=20), st.integers(1, 6)
    )
    def given_back(pieces, limit):
        check("".join(pieces), limit)

    given_back()
