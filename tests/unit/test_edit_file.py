"""edit_file changes exactly one place: data[:i] + new + data[j:], or nothing."""

from __future__ import annotations

import os
import re
import time

import pytest

from s02_tool_dispatch import code as s02


@pytest.fixture
def workspace(tmp_path):
    return s02.Workspace(tmp_path)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "f"


# fmt: off
EDITS = [
    # file, old_text, new_text, file afterwards, id
    (b"a = 1\nb = 2\n", "1", "one", b"a = one\nb = 2\n", "inside a line"),
    (b"a\nb\nc\n", "b\n", "", b"a\nc\n", "a line away"),
    (b"a\nb\nc\n", "a\nb\n", "x\ny\nz\n", b"x\ny\nz\nc\n", "lines for lines"),
    (b"a\nb", "b", "b\n", b"a\nb\n", "a final newline more"),
    (b"a\nb\n", "b\n", "b", b"a\nb", "a final newline less"),
    (b"a\nb", "a", "x", b"x\nb", "no final newline"),
    (b"whole", "whole", "", b"", "everything away"),
    (b"a.c abc\n", "a.c", "x", b"x abc\n", "old_text is no pattern"),
    (b"a\n", "a", r"\1 \g<0> $& %s \n", b"\\1 \\g<0> $& %s \\n\n", "nor new_text"),
    (b"if x:\n\ty = 1\n\tz\t= 2\n", "1", "3", b"if x:\n\ty = 3\n\tz\t= 2\n", "tabs"),
    (b"a  \n b \n", "b", "c", b"a  \n c \n", "white space"),
    (b"\xef\xbb\xbfa\nb\n", "a", "x", b"\xef\xbb\xbfx\nb\n", "BOM"),
    (b"caf\xe9 \xff\x00\na\n", "a\n", "b\n", b"caf\xe9 \xff\x00\nb\n", "no text"),
    (b"\xe6\x97\xa5 a\n", "\u65e5", "\u672c", b"\xe6\x9c\xac a\n", "wide characters"),
    (b"a\x0cb\xe2\x80\xa8c\n", "b\u2028", "x", b"a\x0cxc\n", "other line marks"),
    (b"PK\x03\x04\x00 a\n", "a", "b", b"PK\x03\x04\x00 b\n", "ASCII in a binary file"),
    (b"\x83\x6e a\n", "a", "b\nc", b"\x83\x6e b\nc\n", "ASCII in Shift-JIS"),
    # A file whose every line ends in CRLF stays one; else CRLF only if LF is not there.
    (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny", b"x\r\ny\r\nc\r\n", "CRLF: two lines"),
    (b"a\r\nb\r\nc\r\n", "b\n", "x\ny\n", b"a\r\nx\r\ny\r\nc\r\n", "CRLF: more lines"),
    (b"a\r\nb\r\nc\r\n", "a\nb\n", "", b"c\r\n", "CRLF: away"),
    (b"a\r\nb\r\n", "a\nb", "x\r\ny", b"x\r\ny\r\n", "CRLF: new_text has them"),
    (b"a\r\nb\r\nc\r\n", "a\r\nb\nc", "x\ny", b"x\r\ny\r\n", "CRLF: old_text has some"),
    (b"a\r\nb\r\n", "a\r\nb", "x\ny", b"x\r\ny\r\n", "CRLF: old_text has all"),
    (b"a\r\nb\r\n", "b", "b\nc", b"a\r\nb\r\nc\r\n", "CRLF: a line more"),
    (b"a\r\nb\r\nc\r\n", "\nb", "\nx", b"a\r\nx\r\nc\r\n", "CRLF: LF in front"),
    (b"a\r\nb\r\n", "\nb", "", b"a\r\n", "CRLF: a line away, LF in front"),
    (b"a\r\nb\r\n", "\nb\n", "\n", b"a\r\n", "CRLF: LF on both sides"),
    (b"a\r\nb", "b", "b\n", b"a\r\nb\r\n", "CRLF: a final newline more"),
    (b"a\r\n\r\nb\r\n", "a\n\nb", "a\nb", b"a\r\nb\r\n", "CRLF: blank line"),
    (b"a\r\nb\rc\r\n", "c", "c\nd", b"a\r\nb\rc\r\nd\r\n", "CRLF: a lone CR"),
    (b"a\r\nb\nc\n", "b", "x\ny", b"a\r\nx\ny\nc\n", "mixed: one line"),
    (b"a\r\nb\nc\rd\n", "b\nc", "x\ny", b"a\r\nx\ny\rd\n", "mixed: the LF ones"),
    (b"a\nb\r\nc\rd\n", "b\nc", "x\ny", b"a\nx\r\ny\rd\n", "mixed: the CRLF ones"),
    (b"a\r\r\nb\rc\n", "b", "x", b"a\r\r\nx\rc\n", "lone CR"),
]
# fmt: on


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [row[:4] for row in EDITS],
    ids=[e[4] for e in EDITS],
)
def test_an_edit_changes_one_place_and_no_other_byte(
    before, old, new, after, workspace, file
):
    file.write_bytes(before)
    workspace.edit_file("f", old, new)
    assert file.read_bytes() == after


# fmt: off
REFUSED = [
    # file, old_text, new_text, code, id
    (b"a\nb\na\n", "a", "x", "not_unique", "twice"),
    (b"aaa\n", "aa", "x", "not_unique", "twice, overlapping"),
    (b"a\r\nb\r\na\r\nb\r\n", "a\nb", "x", "not_unique", "twice with CRLF"),
    (b"a\n" * 5_000, "a", "x", "not_unique", "5000 times"),
    (b"a\nb\n", "c", "x", "not_found", "missing"),
    (b"", "a", "x", "not_found", "in an empty file"),
    (b"a b\n", "a  b", "x", "not_found", "other white space"),
    (b"A\n", "a", "x", "not_found", "other case"),
    (b"a.c\n", "a.*", "x", "not_found", "a pattern"),
    (b"a\nb\n", "a\r\nb", "x", "not_found", "CRLF in a file with LF"),
    (b"caf\xe9\n", "caf\u00e9", "x", "not_found", "latin-1"),
    (b"a\n", "a", "a", "no_change", "the same text"),
    (b"a\r\nb", "a\nb", "a\r\nb", "no_change", "the same but for CRLF"),
    (b"caf\xe9 a\n", "a\n", "\u00e9\n", "not_text", "latin-1, new_text beyond ASCII"),
    (b"\x83\x6e a\n", "a", "\u65e5", "not_text", "Shift-JIS, new_text beyond ASCII"),
    ("a\n".encode("utf-16"), "a", "b", "not_text", "UTF-16"),
    ("b a\n".encode("utf-16-be"), "a", "\u65e5", "not_text", "UTF-16 without a BOM"),
    (b"a\n", "a", "half \ud800", "not_text", "surrogate in new_text"),
    (b"a\n", "half \ud800", "a", "not_text", "surrogate in old_text"),
    (b"a\n", "", "x", "not_found", "empty old_text"),
    (b"", "", "x", "not_found", "empty old_text, empty file"),
    (b"a\n", "", "", "no_change", "both empty"),
]
# fmt: on


@pytest.mark.parametrize(
    ("before", "old", "new", "code"),
    [r[:4] for r in REFUSED],
    ids=[r[4] for r in REFUSED],
)
def test_what_is_not_one_place_changes_nothing(before, old, new, code, workspace, file):
    file.write_bytes(before)
    status = file.stat()
    with pytest.raises(s02.ToolFailure) as caught:
        workspace.edit_file("f", old, new)
    assert caught.value.code == code
    assert code != "not_found" or "read the file again" in caught.value.message
    assert file.read_bytes() == before
    assert file.stat().st_ino == status.st_ino
    assert os.listdir(file.parent) == ["f"]


@pytest.mark.parametrize(
    ("content", "old", "lines"),
    [
        pytest.param(b"x\ny\nx\nx\n", "x", [1, 3, 4], id="lines"),
        pytest.param(b"a x x\n", "x", [1, 1], id="one line"),
        pytest.param(b"\r\na\r\nb\r\na\r\nb\r\n", "a\nb", [2, 4], id="CRLF"),
        pytest.param(b"a\rb\x0cb\n", "b", [1, 1], id="lines as sed counts them"),
        pytest.param(b"a\n" * 100_000, "a", [*range(1, 11)], id="the first ten"),
    ],
)
def test_a_repeated_text_is_refused_with_its_line_numbers(
    content, old, lines, workspace, file
):
    file.write_bytes(content)
    with pytest.raises(s02.ToolFailure) as caught:
        workspace.edit_file("f", old, "new")
    assert [int(number) for number in re.findall(r"\d+", caught.value.message)] == lines


# fmt: off
HARD_TO_FIND = [
    (b"x" * 10**6 + b"\n", "x" * 9_999 + "y", "one long line"),
    (b"x" * 10**6 + b"\n", "y" + "x" * 9_999, "the same backwards"),
    (b"ab" * 500_000 + b"\n", "ab" * 5_000 + "b", "a short period"),
    (b"a\r\n" * 300_000, "a\n" * 5_000 + "b", "CRLF"),
]
# fmt: on


@pytest.mark.parametrize(
    ("content", "old"), [r[:2] for r in HARD_TO_FIND], ids=[r[2] for r in HARD_TO_FIND]
)
def test_the_search_is_no_guessing_game(content, old, workspace, file):
    file.write_bytes(content)
    started = time.monotonic()
    with pytest.raises(s02.ToolFailure) as caught:
        workspace.edit_file("f", old, "x")
    assert caught.value.code == "not_found"
    assert time.monotonic() - started < 10


def test_a_file_over_the_bound_is_refused_and_one_below_it_is_edited(workspace, file):
    file.write_bytes(b"start\n")
    os.truncate(file, s02.MAX_EDIT_BYTES + 1)
    with pytest.raises(s02.ToolFailure) as caught:
        workspace.edit_file("f", "start", "x")
    assert caught.value.code == "too_large"
    os.truncate(file, s02.MAX_EDIT_BYTES // 4)
    workspace.edit_file("f", "start", "begin")
    assert file.stat().st_size == s02.MAX_EDIT_BYTES // 4
    with file.open("rb") as edited:
        assert edited.readline() == b"begin\n"
