"""An edit gives data[:i] + new + data[j:], or changes nothing: for any bytes.

The rule is written down here a second time, in the plainest way. The examples come
from hypothesis where it is installed, and from a seeded generator everywhere.
"""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path

import pytest

from s02_tool_dispatch import code as s02

PIECES = ["a", "aa", "aaa", "ab", "\n", "\n", "\r\n", "\r\n", "\r", "\t", "\u65e5"]
BYTES = [*(piece.encode() for piece in PIECES), b"\xff", b"\xe9", b"\x00"]


def places(data: bytes, old: bytes) -> list[int]:
    """Where `old` stands, also overlapping itself."""
    return [i for i in range(len(data)) if data[i : i + len(old)] == old]


def with_crlf(text: bytes) -> bytes:
    """The same text for a file whose lines end in CRLF."""
    return text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def is_utf16(data: bytes) -> bool:
    """Whether it begins as UTF-16 does."""
    return data[:2] in (b"\xff\xfe", b"\xfe\xff")


def is_text(data: bytes) -> bool:
    """What read_file shows."""
    return b"\0" not in data and data.decode("utf-8", "replace").encode() == data


def expected(data: bytes, old: bytes, new: bytes) -> bytes | str:
    """The file after the edit, or the code of the refusal."""
    all_crlf = b"\n" in data and b"\n" not in data.replace(b"\r\n", b"")
    if all_crlf or not places(data, old):
        old, new = with_crlf(old), with_crlf(new)
    if old == new:
        return "no_change"
    if is_utf16(data) or not (new.isascii() or is_text(data)):
        return "not_text"
    found = places(data, old) if old else []
    if len(found) != 1:
        return "not_unique" if found else "not_found"
    return data[: found[0]] + new + data[found[0] + len(old) :]


def check(data: bytes, old: str, new: str) -> None:
    """Edit a real file and compare; a refusal leaves the file as it is."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "f")
        file.write_bytes(data)
        right = expected(data, old.encode(), new.encode())
        try:
            s02.Workspace(folder).edit_file("f", old, new)
        except s02.ToolFailure as failure:
            assert failure.code == right
            right = data
        assert file.read_bytes() == right
        assert os.listdir(folder) == ["f"]


def part_of(data: bytes, start: int, length: int) -> str:
    """A piece of the file, as a model would copy it."""
    return data[start : start + length].decode(errors="ignore")


def test_an_edit_of_random_bytes_is_exact_or_changes_nothing():
    pick = random.Random(1)
    outcomes = {True: 0, False: 0}
    for _ in range(250):
        data = b"".join(pick.choices(BYTES, k=pick.randrange(12)))
        old = part_of(data, pick.randrange(12), pick.randrange(1, 8))
        if pick.random() < 0.5:
            old = old.replace("\r\n", "\n")
        new = "".join(pick.choices(PIECES, k=pick.randrange(4)))
        check(data, old, new)
        outcomes[isinstance(expected(data, old.encode(), new.encode()), bytes)] += 1
    assert min(outcomes.values()) > 40  # both happen often


def test_hypothesis_finds_no_edit_that_is_not_exact():
    hypothesis = pytest.importorskip("hypothesis", reason="needs hypothesis")
    st = hypothesis.strategies

    @hypothesis.settings(max_examples=100, deadline=None, database=None)
    @hypothesis.given(
        st.lists(st.sampled_from(BYTES) | st.binary(max_size=3), max_size=15),
        st.integers(0, 30),
        st.integers(0, 12),
        st.lists(st.sampled_from(PIECES), max_size=4),
        st.booleans(),
    )
    def exact(pieces, start, length, new, as_shown):
        data = b"".join(pieces)
        old = part_of(data, start, length)
        check(data, old.replace("\r\n", "\n") if as_shown else old, "".join(new))

    exact()
