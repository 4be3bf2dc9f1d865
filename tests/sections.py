"""Count the lines of each section of the two chapters: a budget nobody types by hand.

    python3 tests/sections.py

A section runs from its banner, `# --- 3. The registry (new) ---`, to the next one.
"""

from __future__ import annotations

import re
import tokenize
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = ("s01_agent_loop/code.py", "s02_tool_dispatch/code.py")
BANNER = re.compile(
    r"# --- (?:(\d+)\. )?(\S.*?)(?: \((new|carried|changed)(?: from s01)?\))? -{3,}"
)
HEAD = "(before the first banner)"


class Section(NamedTuple):
    """One section; `first` is the line of its banner, the text what stands below it."""

    number: int
    title: str
    mark: str  # new, changed, carried, or ""
    first: int
    last: int
    text: str

    @property
    def lines(self) -> int:
        return self.last - self.first + 1


def sections(path: Path) -> list[Section]:
    """Every section of a file, in its order."""
    starts = [(1, 0, HEAD, "")]
    with tokenize.open(path) as source:
        for token in tokenize.generate_tokens(source.readline):
            banner = BANNER.fullmatch(token.string)
            # A token, not a line: a banner quoted in a string opens no section.
            if token.type == tokenize.COMMENT and token.start[1] == 0 and banner:
                n, title, mark = banner.groups("")
                starts.append((token.start[0], int(n or 0), title, mark))
    lines = path.read_text("utf-8").splitlines()
    found = []
    for (first, number, title, mark), (after, *_) in pairwise(
        [*starts, (len(lines) + 1, 0, "", "")]
    ):
        text = "\n".join(lines[first : after - 1]).strip()
        found.append(Section(number, title, mark, first, after - 1, text))
    return found


def print_table(chapter: str) -> None:
    """Print one chapter's sections, its total, and the totals by mark."""
    totals: Counter[str] = Counter()
    print(chapter)
    for section in sections(ROOT / chapter):
        totals["total"] += section.lines
        totals[f"  of which {section.mark}"] += section.lines if section.mark else 0
        name = f"{section.number}. {section.title}" if section.number else HEAD
        print(f"  {name:<40} {section.mark:<8} {section.lines:>5}")
    for name, count in totals.items():
        if count:
            print(f"  {name:<49} {count:>5}")


if __name__ == "__main__":
    for chapter in CHAPTERS:
        print_table(chapter)
