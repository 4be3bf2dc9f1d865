"""Count the lines of each section of the two chapters: a budget nobody types by hand.

    python3 tests/sections.py

A section runs from its banner, `# --- 3. The registry (new) ---`, to the next one.
"""

import re
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = ("s01_agent_loop/code.py", "s02_tool_dispatch/code.py")
BANNER = re.compile(r"# --- (?P<title>\S.*?) -{3,}")
MARK = re.compile(r"\((new|carried|changed)\b[^()]*\)$")
HEAD = "(before the first banner)"


def section_lines(path: Path) -> list[tuple[str, int]]:
    """Return (title, number of lines) for each section, in the order of the file."""
    starts = [(1, HEAD)]
    with tokenize.open(path) as source:
        for token in tokenize.generate_tokens(source.readline):
            banner = BANNER.fullmatch(token.string)
            # A token, not a line: a banner quoted in a string opens no section.
            if token.type == tokenize.COMMENT and token.start[1] == 0 and banner:
                starts.append((token.start[0], banner["title"]))
    end = len(path.read_bytes().splitlines()) + 1
    ends = [line for line, _ in starts[1:]] + [end]
    return [(title, e - s) for (s, title), e in zip(starts, ends, strict=True)]


def mark_totals(sections: list[tuple[str, int]]) -> Counter[str]:
    """Sum the lines of sections by the mark their banner ends with, if it has one."""
    totals: Counter[str] = Counter()
    for title, lines in sections:
        if mark := MARK.search(title):
            totals[mark[1]] += lines
    return totals


def print_table(chapter: str) -> None:
    """Print one chapter's sections, its total, and the totals by mark."""
    sections = section_lines(ROOT / chapter)
    marks = mark_totals(sections)
    width = max(len(title) for title, _ in sections)
    print(chapter)
    for title, lines in sections:
        print(f"  {title:<{width}} {lines:>6}")
    print(f"  {'total':<{width}} {sum(lines for _, lines in sections):>6}")
    for mark, lines in sorted(marks.items()):
        print(f"  {'  of which ' + mark:<{width}} {lines:>6}")


def main() -> int:
    missing = [chapter for chapter in CHAPTERS if not (ROOT / chapter).is_file()]
    for chapter in CHAPTERS:
        if chapter not in missing:
            print_table(chapter)
    for chapter in missing:
        print(f"{chapter} is missing", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
