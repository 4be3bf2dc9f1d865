"""read_file gives pages of lines as sed counts them, of any file, in bounded memory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from s02_tool_dispatch import code as s02
from tests.chapters import ROOT
from tests.tools import call

MOST = s02.MAX_RESULT_CHARS


@pytest.fixture
def read(tmp_path):
    """Read `f` with this content, through the registry as a model does."""
    registry = s02.build_registry(s02.Workspace(tmp_path))

    def read_with(content: bytes, **page) -> s02.ToolDispatchResult:
        (tmp_path / "f").write_bytes(content)
        return call(registry, "read_file", {"path": "f", **page})

    return read_with


def next_offset(page: str) -> int | None:
    """Where the closing line says that the text goes on."""
    found = re.search(r"offset\D{0,3}(\d+)", page.split("\n")[-1])
    return int(found[1]) if found else None


def body(page: str) -> str:
    """A page without its closing line."""
    return page[: page.rindex("\n") + 1] if next_offset(page) else page


def all_pages(read, content: bytes, limit: int) -> list[str]:
    """Follow the closing lines to the end of the file."""
    pages, offset = [], 1
    while offset:
        result = read(content, offset=offset, limit=limit)
        assert result.ok, result.content
        pages.append(result.content)
        offset = next_offset(result.content)
    return pages


# --- Lines ---


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 2_000])
@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param("a\nb\nc\n", "a\nb\nc\n", id="lines"),
        pytest.param("a\nb\nc", "a\nb\nc", id="no final newline"),
        pytest.param("a\r\nb\r\nc\r\n", "a\nb\nc\n", id="CRLF"),
        pytest.param("a\rb\r\nc\r", "a\rb\nc\r", id="a lone CR stays"),
        pytest.param("a\r\r\nb\n", "a\r\nb\n", id="only one CR is hidden"),
        pytest.param("\ufeffa\nb\n", "a\nb\n", id="a BOM is hidden"),
        pytest.param("a\n\ufeffb\n", "a\n\ufeffb\n", id="a BOM inside is text"),
        pytest.param("\ta\n  b\nc \n", "\ta\n  b\nc \n", id="white space"),
        pytest.param("\u65e5\n\U0001f600\n", "\u65e5\n\U0001f600\n", id="wide"),
    ],
)
def test_the_pages_of_a_file_joined_together_give_its_text(read, content, text, limit):
    pages = all_pages(read, content.encode(), limit)
    assert "".join(map(body, pages)) == text
    assert all(body(page).count("\n") <= limit for page in pages)


@pytest.mark.parametrize("mark", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_a_line_has_the_number_that_sed_gives_it(mark, read, tmp_path):
    content = f"one{mark}two\nthree{mark}\n{mark}four\nfive\n".encode()
    for number in (1, 2, 3, 4):
        page = read(content, offset=number, limit=1).content
        command = ["sed", "-n", f"{number}p", str(tmp_path / "f")]
        assert body(page).encode() == subprocess.check_output(command)


def test_without_a_limit_a_page_has_2000_lines(read):
    content = b"".join(b"line %d\n" % number for number in range(1, 2_002))
    page = read(content).content
    assert page.startswith("line 1\n") and "line 2000\n" in page
    assert next_offset(page) == 2_001
    assert read(content, offset=2_001).content == "line 2001\n"


@pytest.mark.parametrize(
    ("content", "page", "expected"),
    [
        pytest.param(b"a\nb\n", {"limit": 2}, "a\nb\n", id="all"),
        pytest.param(b"a\nb", {"limit": 2}, "a\nb", id="no final newline"),
        pytest.param(b"a\nb\nc\n", {"offset": 2}, "b\nc\n", id="the end"),
        pytest.param(b"a\nb\n", {"offset": 2.0, "limit": 1.0}, "b\n", id="JSON's 2.0"),
        pytest.param(b"a\nb\n", {"offset": 2, "limit": 1e300}, "b\n", id="1e300"),
        pytest.param(b"", {}, "(empty file)", id="empty"),
        pytest.param(b"\xef\xbb\xbf", {}, "(empty file)", id="a BOM alone"),
    ],
)
def test_a_page_that_ends_the_file_has_no_closing_line(read, content, page, expected):
    assert read(content, **page).content == expected


def test_a_cut_page_ends_at_a_line_end_and_says_that_more_follow(read):
    page = read(b"a\nb\nc\n", limit=2).content
    assert page.startswith("a\nb\n")
    assert "more" in page.split("\n")[2] and next_offset(page) == 3


def test_what_was_read_can_be_pasted_into_an_edit(read, tmp_path):
    page = read(b"def f():\n\treturn 1\n\nx = 2\n", limit=2).content
    assert s02.Workspace(tmp_path).edit_file("f", body(page), "pass\n")
    assert (tmp_path / "f").read_bytes() == b"pass\n\nx = 2\n"


@pytest.mark.parametrize("page", [{"offset": 0}, {"offset": 1.5}, {"limit": 0}])
def test_an_offset_or_limit_below_one_is_refused(read, page):
    assert read(b"a\n", **page).error_code == "invalid_arguments"


# --- The ends of a file ---


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        pytest.param(b"a\nb\nc\n", 3, id="final newline"),
        pytest.param(b"a\nb\nc", 3, id="no final newline"),
        pytest.param(b"\n\n", 2, id="blank lines"),
        pytest.param(b"", 0, id="none"),
        pytest.param(b"x" * 3_000_000 + b"\n" + b"y\n" * 70_000, 70_001, id="long"),
        pytest.param(b"x\n" * 2**19, 2**19, id="whole chunks"),
    ],
)
def test_an_offset_past_the_end_fails_with_the_real_line_count(read, content, lines):
    for offset in (max(lines, 1) + 1, lines + 2, 10**12):
        result = read(content, offset=offset)
        assert result.error_code == "offset_past_end"
        assert re.search(rf"\b{lines}\b", result.content)
    assert read(content, offset=max(lines, 1)).ok


@pytest.mark.parametrize(
    ("content", "count"),
    [
        pytest.param(b"\n", 1, id="one"),
        pytest.param(b"\n\n\n", 3, id="three"),
        pytest.param(b"\r\n\r\n", 2, id="CRLF"),
        pytest.param(b" \n\t\n", 2, id="white space"),
        pytest.param(b"\n  ", 2, id="no final newline"),
        pytest.param(b" ", 1, id="one without a newline"),
        pytest.param(b"\n\n\n\n\na\n", 4, id="four before more"),
    ],
)
def test_a_page_of_blank_lines_says_how_many(read, content, count):
    page = read(content, limit=4).content
    note = page.split("\n")[-1]
    assert note.startswith("[") and "blank" in note
    assert re.search(rf"\b{count}\b", note)
    assert next_offset(note) == (5 if content.endswith(b"a\n") else None)


# --- Limits of a page ---


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"x" * 79 + b"\n", id="one short line"),
        pytest.param((b"x" * 79 + b"\n") * 2_000, id="many lines"),
        pytest.param(b"x\n" * 40_000, id="short lines"),
        pytest.param(b"\n" * 100_000, id="blank lines"),
        pytest.param(b"x" * (MOST - 1) + b"\ny\n", id="a line of the limit"),
        pytest.param(b"x" * (MOST - 400) + b"\n" + b"y" * 99 + b"\nz\n", id="nearly"),
        pytest.param(b"x" * 10**6 + b"\ny\n", id="a long line"),
        pytest.param("\U0001f600".encode() * 10**5 + b"\ny\n", id="a wide long line"),
        pytest.param("\u65e5\n".encode() * 40_000, id="wide lines"),
    ],
)
def test_a_page_and_its_closing_line_fit_into_a_result(read, content):
    page = read(content, limit=10**9).content
    assert len(page) <= MOST
    assert "left out" not in page
    if next_offset(page):
        assert len(page) > MOST / 2
    else:
        assert page == content.decode()


@pytest.mark.parametrize("text", ["x", "word ", "\u65e5 ", "a\x0c", "a\t", "a\r"])
def test_a_line_longer_than_a_page_is_cut_and_the_next_one_can_be_reached(read, text):
    content = f"first\n{text * 40_000}\nthird\n".encode()
    first, cut, third = all_pages(read, content, limit=2_000)
    assert body(first) == "first\n"
    assert_cut(cut, text * 40_000)
    assert third == "third\n"


def assert_cut(page: str, line: str) -> None:
    """The start of a line, as much as fits, and a closing line that says so."""
    start, note = page.rsplit("\n", 1)
    assert line.startswith(start) and len(start) > MOST / 2
    assert note.startswith("[") and "cut" in note


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("before", ["", "a\n"])
def test_of_a_long_last_line_the_start_is_shown(before, end, read):
    content = f"{before}{'x' * 200_000}{end}".encode()
    last = read(content, offset=before.count("\n") + 1)
    assert_cut(last.content, "x" * 200_000)
    assert read(content, offset=next_offset(last.content)).error_code == (
        "offset_past_end"
    )


# --- What is no text ---


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"PK\x03\x04\x00\x00", id="binary"),
        pytest.param("text\n".encode("utf-16"), id="UTF-16"),
        pytest.param("text\n".encode("utf-16-le"), id="UTF-16 without a BOM"),
        pytest.param("caf\xe9\n".encode("latin-1"), id="latin-1"),
        pytest.param(b"\xed\xa0\x80\n", id="half a surrogate pair"),
        pytest.param(b"cut \xe2\x82", id="cut inside a character"),
        pytest.param(b"\xff" * 200_000, id="a long line of noise"),
    ],
)
def test_what_is_no_utf8_text_is_refused_and_bash_named(read, content):
    result = read(content)
    assert result.error_code == "not_text"
    assert "bash" in result.content
    assert "\ufffd" not in result.content


def test_a_file_is_judged_by_what_is_read_of_it(read):
    content = b"text\n" + b"\xff\x00\n" + b"text again\n"
    assert read(content, limit=1).content.startswith("text\n")
    assert read(content, offset=3).content == "text again\n"
    assert read(content, offset=2, limit=1).error_code == "not_text"


# --- Bounded memory ---

IN_500_MB = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (500_000_000, 500_000_000))
from s02_tool_dispatch import code as s02
tool, arguments = sys.argv[2], json.loads(sys.argv[3])
registry = s02.build_registry(s02.Workspace(sys.argv[1]))
sys.stdout.write(registry.dispatch(s02.ToolCall("t", tool, arguments)).content)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds address space")
@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        pytest.param("read_file", {"limit": 1}, "first\n[", id="a page"),
        pytest.param("read_file", {"offset": 3}, "Error [not_text]", id="one line"),
        pytest.param(
            "edit_file",
            {"old_text": "first", "new_text": "1"},
            "Error [too_large]",
            id="edit",
        ),
    ],
)
def test_a_file_of_2_gb_is_answered_in_500_mb(tool, arguments, answer, tmp_path):
    (tmp_path / "f").write_bytes(b"first\nsecond\n")
    os.truncate(tmp_path / "f", 2 * 2**30)
    given = [str(tmp_path), tool, json.dumps({"path": "f", **arguments})]
    command = [sys.executable, "-c", IN_500_MB, *given]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(answer)
    assert os.path.getsize(tmp_path / "f") == 2 * 2**30
