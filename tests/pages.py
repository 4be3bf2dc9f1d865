"""Hold the pages to the code: check them, or rewrite what can be derived.

    python3 tests/pages.py            one finding per line, status 1 if there is any
    python3 tests/pages.py --write    rewrite fences, transcripts, blocks, test links

What a page can say, each marker on the line directly above what it governs:

    <!-- code: code.py#ToolRegistry.dispatch -->    the python fence is that symbol
    <!-- code: first_loop.py -->                    ... is that whole file
    <!-- program: loop.py -->                       ... is a program of this page,
    <!-- run: python3 loop.py -->                   which a command below it runs
    <!-- run: COMMAND -->                           the fence is what COMMAND prints
    <!-- run (exit 1): COMMAND -->                  the same for one that must fail
    <!-- generated: NAME -->  ...  <!-- end generated -->
    <!-- generated: NAME | column | column -->      with the page's words as titles

It reads no prose: whether a sentence is true is for its author to know.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import difflib
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path[0] = str(ROOT)  # run as a file: its neighbours are found from the root

from tests.sections import CHAPTERS, sections  # noqa: E402

REWRITE = "python3 tests/pages.py --write"
PAGES = ("README*.md", "s0*/*.md", "s0*/labs/**/README*.md")

# What may stand in code font though no file of code here has it.
ALLOWED = {
    "evil",
    "jinja",
    "git",
    "gitconfig",
    "prctl",
    "MYCORP_TOKEN",
    "ANTHROPIC_CUSTOM_HEADERS",
}
NAME = re.compile(r"[\w./-]+(\(\w*\))?")

FENCE = re.compile(r" *```+ *([\w-]*)")
MARKER = re.compile(r"<!-- *(\w+)(?: \(exit (\d+)\))?: *(.*?) *-->")
GENERATED_END = "<!-- end generated -->"
GOVERNS = {  # marker: the fences it may stand above
    "code": ("python",),
    "program": ("python",),
    "run": ("text", "console", "json", "diff"),
}
HEADING = re.compile(r"(#+) +(.+?) *#*$")
SPAN = re.compile(r"(`+)(.+?)\1")
TARGET = re.compile(r"\]\(([^)\s]+)|\b(?:src|href)=\"([^\"]+)\"|^\[[^\]]+\]: *(\S+)")
CI_STATUS = re.compile(r"(?:\.\./)+actions/workflows/([\w.-]+?)(?:/badge\.svg)?")
PROOF = re.compile(r"(?:\[`(test_\w+)`\]\(([^)]+)\))|`(test_\w+)`(?!\])")
CJK = re.compile("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


class Fence(NamedTuple):
    """A code fence; `start` and `end` are the indexes of its two ``` lines."""

    start: int
    end: int
    info: str
    body: tuple[str, ...]
    marker: re.Match[str] | None  # of a word that may stand above such a fence


class Piece(NamedTuple):
    """Lines of a page that follow from something else, or why they cannot."""

    start: int
    end: int
    wanted: list[str]
    problem: str = ""


class Page:
    """A Markdown file, read once: its fences, its generated blocks and its prose."""

    def __init__(self, root: Path, path: Path) -> None:
        self.path = path
        self.name = path.relative_to(root).as_posix()
        self.chinese = path.name.endswith(".zh.md")
        self.lines = path.read_text("utf-8").splitlines()
        self.fences: list[Fence] = []
        self.blocks: list[tuple[int, int]] = []  # indexes of the two marker lines
        self.prose = list(self.lines)  # the other lines; "" where they are not prose
        opens, block = -1, -1
        for index, line in enumerate(self.lines):
            if opens >= 0:
                if re.fullmatch(" *```+ *", line):
                    self._add_fence(opens, index)
                    opens = -1
            elif FENCE.match(line):
                opens = index
            elif line.startswith("<!-- generated:"):
                block = index
            elif line == GENERATED_END and block >= 0:
                self.blocks.append((block, index))
                self._not_prose(block, index)
                block = -1
        self.prose = [re.sub("<!--.*?-->", "", line) for line in self.prose]

    def at(self, index: int, what: str) -> str:
        """One thing that is not so."""
        return f"{self.name}:{index + 1}: {what}"

    def _add_fence(self, start: int, end: int) -> None:
        info = (FENCE.match(self.lines[start]) or [""])[1]
        match = MARKER.fullmatch(self.lines[start - 1]) if start else None
        marker = match if match and info in GOVERNS.get(match[1], ()) else None
        body = tuple(self.lines[start + 1 : end])
        self.fences.append(Fence(start, end, info, body, marker))
        self._not_prose(start, end)

    def _not_prose(self, start: int, end: int) -> None:
        self.prose[start : end + 1] = [""] * (end + 1 - start)

    def marked(self, word: str) -> Iterator[tuple[Fence, re.Match[str]]]:
        """The fences below a marker of this kind, each with its marker."""
        for fence in self.fences:
            if fence.marker and fence.marker[1] == word:
                yield fence, fence.marker

    def programs(self) -> dict[str, str]:
        """The programs that the page shows, by name."""
        return {m[3]: "\n".join(f.body) + "\n" for f, m in self.marked("program")}

    def headings(self) -> list[tuple[int, int, str]]:
        """(index of the line, level, text) of every heading."""
        found = ((i, HEADING.fullmatch(line)) for i, line in enumerate(self.prose))
        return [(i, len(match[1]), match[2]) for i, match in found if match]

    def spans(self) -> Iterator[tuple[int, str]]:
        """(index, text) of everything in code font."""
        for index, line in enumerate(self.prose):
            yield from ((index, m[2].strip()) for m in SPAN.finditer(line))

    def targets(self) -> Iterator[tuple[int, str]]:
        """(index, target) of every link and image."""
        for index, line in enumerate(self.prose):
            for match in TARGET.finditer(SPAN.sub("", line)):
                yield index, match[1] or match[2] or match[3]

    def slugs(self) -> list[str]:
        """The anchors that GitHub gives to the headings, in order."""
        seen: Counter[str] = Counter()
        slugs = []
        for _, _, text in self.headings():
            text = re.sub(r"\]\([^)]*\)", "]", text).strip().lower()
            slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            slugs.append(f"{slug}-{seen[slug]}" if seen[slug] else slug)
            seen[slug] += 1
        return slugs


@dataclass
class Site:
    """A repository as the checks see it; a command runs once."""

    root: Path
    outputs: dict[tuple[str, ...], tuple[int, str]] = field(default_factory=dict)

    @cached_property
    def pages(self) -> list[Page]:
        paths = {path for pattern in PAGES for path in self.root.glob(pattern)}
        return [Page(self.root, path) for path in sorted(paths)]

    @cached_property
    def sources(self) -> dict[str, str]:
        """Name and text of every Python file but this one."""
        places = ("s0*/**/*.py", "tests/**/*.py")
        paths = (path for place in places for path in self.root.glob(place))
        names = {path.relative_to(self.root).as_posix(): path for path in paths}
        names.pop("tests/pages.py", None)
        return {name: path.read_text("utf-8") for name, path in names.items()}

    @cached_property
    def words(self) -> set[str]:
        """Every word of Python and of its files here."""
        python = {*dir(builtins), *sys.stdlib_module_names, *ALLOWED}
        return python.union(*(re.findall(r"\w+", t) for t in self.sources.values()))

    @cached_property
    def tests(self) -> dict[str, set[str]]:
        """The files that define each test function."""
        found: dict[str, set[str]] = {}
        for name, text in self.sources.items():
            for test in re.findall(r"^ *def (test_\w+)", text, re.M):
                found.setdefault(test, set()).add(name)
        return found

    def output(self, command: str, programs: dict[str, str]) -> tuple[int, str]:
        """Exit status and output of a command; it may name programs of its page."""
        used = {n: text for n, text in programs.items() if n in command.split()}
        key = (command, *used.values())
        if key not in self.outputs:
            with tempfile.TemporaryDirectory() as home:
                self.outputs[key] = run(command, self.root, Path(home), used)
        return self.outputs[key]


def run(
    command: str, root: Path, home: Path, programs: dict[str, str]
) -> tuple[int, str]:
    """Run from the root, or among the programs, in a bare environment.

    `python3` in the command is the Python that runs this script.
    """
    (home / "bin").mkdir()
    python = home / "bin" / "python3"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    for name, text in programs.items():
        (home / name).write_text(text, "utf-8")
    path = f"{home}/bin:{os.environ.get('PATH', os.defpath)}"
    env = {"PATH": path, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    env |= {"PYTHONPATH": str(root)} if programs else {}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=home if programs else root,
        env={**env, "COLUMNS": "80", "NO_COLOR": "1", "LANG": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
    )
    printed = done.stdout.decode("utf-8", "replace")
    return done.returncode, printed.replace(f"{home}/", "")


# --- What follows from the code ---


def symbols(text: str) -> dict[str, tuple[int, str]]:
    """(line, exact text) of each function, class, method and module constant."""
    lines = text.splitlines()
    found: dict[str, tuple[int, str]] = {}

    def add(nodes: list[ast.stmt], prefix: str) -> None:
        for node in nodes:
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(d.lineno for d in decorators)])
            source = textwrap.dedent("\n".join(lines[first - 1 : node.end_lineno]))
            for name in defined_by(node):
                found.setdefault(prefix + name, (first, source))
            if isinstance(node, ast.ClassDef) and not prefix:
                add(node.body, f"{node.name}.")

    add(ast.parse(text).body, "")
    return found


def defined_by(node: ast.stmt) -> list[str]:
    """The names that a statement defines."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    single = [node.target] if isinstance(node, ast.AnnAssign) else []
    targets = node.targets if isinstance(node, ast.Assign) else single
    return [target.id for target in targets if isinstance(target, ast.Name)]


def code_pieces(site: Site, page: Page) -> Iterator[Piece]:
    """Each fence that shows a symbol or a file, and the text of it."""
    for fence, marker in page.marked("code"):
        file, _, symbol = marker[3].partition("#")
        path = page.path.parent / file
        text = path.read_text("utf-8").rstrip() if path.is_file() else ""
        wanted = symbols(text).get(symbol, (0, ""))[1] if symbol else text
        problem = "" if wanted else f"there is no {marker[3]}"
        yield Piece(fence.start + 1, fence.end, wanted.splitlines(), problem)


def run_pieces(site: Site, page: Page) -> Iterator[Piece]:
    """Each transcript, and what its command prints; a console shows the command too."""
    for fence, marker in page.marked("run"):
        status, printed = site.output(marker[3], page.programs())
        problem = ""
        if status != int(marker[2] or 0):
            problem = f"`{marker[3]}` exits {status}: {printed.strip()[-100:]!r}"
        elif not printed.strip() or str(site.root) in printed:
            problem = f"`{marker[3]}` prints nothing, or the path of this checkout"
        wanted = [line.rstrip() for line in printed.rstrip().splitlines()]
        prompt = [f"$ {marker[3]}"] if fence.info == "console" else []
        yield Piece(fence.start + 1, fence.end, prompt + wanted, problem)


def generated_pieces(site: Site, page: Page) -> Iterator[Piece]:
    """Each generated block, and what its generator gives."""
    for start, end in page.blocks:
        marker = MARKER.fullmatch(page.lines[start])
        name, *titles = (part.strip() for part in (marker or [""] * 4)[3].split("|"))
        default, generate = GENERATORS.get(name, ((), None))
        wanted, problem = [], f"{name} is missing; known: {', '.join(GENERATORS)}"
        if titles and len(titles) != len(default):
            problem = f"{name} wants the words {' | '.join(default)}"
        elif generate:
            wanted, problem = generate(site, page, titles or list(default)), ""
        yield Piece(start + 1, end, wanted, problem)


def table(titles: Iterable[str], rows: Iterable[Iterable[object]]) -> list[str]:
    """The lines of a Markdown table."""
    cells = [list(titles), *(list(map(str, row)) for row in rows)]
    cells.insert(1, ["---"] * len(cells[0]))
    return [f"| {' | '.join(row)} |" for row in cells]


def code_map(site: Site, page: Page, words: list[str]) -> list[str]:
    """The sections of the code beside the page, and how to read each."""
    *titles, read, skim, skip = words
    ways = {"new": read, "changed": skim, "carried": skip}
    found = sections(page.path.with_name("code.py"))
    rows = ((s.title, f"{s.first}-{s.last}", ways[s.mark]) for s in found if s.mark)
    return table(titles, rows)


def loop_diff(site: Site, page: Page, words: list[str]) -> list[str]:
    """agent_loop of the one chapter and of the other, folded."""
    texts = ((site.root / name).read_text("utf-8") for name in CHAPTERS)
    before, after = (symbols(text)["agent_loop"][1].splitlines() for text in texts)
    diff = difflib.unified_diff(before, after, *CHAPTERS, lineterm="")
    opens = [f"<details><summary>{words[0]}</summary>", "", "```diff"]
    return [*opens, *diff, "```", "", "</details>"]


def peer_table(site: Site, page: Page, words: list[str]) -> list[str]:
    """What the script of tests/peers prints."""
    return site.output("python3 tests/peers/table.py", {})[1].rstrip().splitlines()


Generator = Callable[[Site, Page, list[str]], list[str]]
GENERATORS: dict[str, tuple[tuple[str, ...], Generator]] = {
    "map": (("section", "lines", "reading", "read", "skim", "skip"), code_map),
    "diff": (("agent_loop, as a diff",), loop_diff),
    "peers": ((), peer_table),
}
PIECES = {"code": code_pieces, "run": run_pieces, "generated": generated_pieces}


def check_pieces(kind: str, site: Site) -> Iterator[str]:
    """Where the lines of a page are not those that follow."""
    for page in site.pages:
        for piece in PIECES[kind](site, page):
            if piece.problem:
                yield page.at(piece.start, piece.problem)
            elif page.lines[piece.start : piece.end] != piece.wanted:
                what = f"not what its marker `{kind}` gives; {REWRITE}"
                yield page.at(piece.start - 1, what)


def write(site: Site) -> Iterator[str]:
    """Put in the lines that follow; the names of the pages that changed."""
    for page in site.pages:
        lines = list(page.lines)
        for index, line in enumerate(page.prose):
            if line and line == page.lines[index]:
                lines[index] = PROOF.sub(partial(linked, site, page), line)
        pieces = [piece for find in PIECES.values() for piece in find(site, page)]
        for piece in sorted(pieces, reverse=True):
            if not piece.problem:
                lines[piece.start : piece.end] = piece.wanted
        if lines != page.lines:
            page.path.write_text("\n".join(lines) + "\n", "utf-8")
            yield page.name


def linked(site: Site, page: Page, proof: re.Match[str]) -> str:
    """The name of a test as a link to its file; unchanged if there is not one file."""
    name, files = proof[1] or proof[3], site.tests.get(proof[1] or proof[3], set())
    if len(files) != 1:
        return proof[0]
    return f"[`{name}`]({os.path.relpath(site.root / min(files), page.path.parent)})"


# --- What must exist ---


def check_markers(site: Site) -> Iterator[str]:
    """Every marker governs something, every fence that must be derived has one."""
    for page in site.pages:
        governed = {index for block in page.blocks for index in block}
        for fence in page.fences:
            governed.update(range(fence.start - bool(fence.marker), fence.end + 1))
            inside = any(start < fence.start < end for start, end in page.blocks)
            if fence.info in ("python", "console") and not (fence.marker or inside):
                what = "no marker (code, program, run) directly above this fence"
                yield page.at(fence.start, what)
        commands = " ".join(marker[3] for _, marker in page.marked("run")).split()
        for fence, marker in page.marked("program"):
            if marker[3] not in commands:
                yield page.at(fence.start - 1, f"nothing runs {marker[3]}")
        for index, line in enumerate(map(str.strip, page.lines)):
            marks = MARKER.match(line) or line == GENERATED_END
            if marks and index not in governed:
                yield page.at(index, f"marks nothing: {line}")


def check_names(site: Site) -> Iterator[str]:
    """Every word in code font, and every command's own file, is somewhere in the code.

    A word of a comment counts: what is caught is a name that is gone everywhere.
    """
    for page in site.pages:
        own = {w for text in page.programs().values() for w in re.findall(r"\w+", text)}
        for index, span in page.spans():
            named = NAME.fullmatch(span) and not named_path(site, page, span)
            for word in re.findall(r"[A-Za-z_]\w{2,}", span if named else ""):
                if word not in site.words | own:
                    what = f"`{word}` is in no Python file and is no file"
                    yield page.at(index, what)
        for index, line in enumerate(page.lines):
            for name in re.findall(
                r"\bpython3 (?:-m )?((?:tests|s0\w+)[./][\w./]+)", line
            ):
                path = name if name.endswith(".py") else name.replace(".", "/") + ".py"
                if not (site.root / path).exists():
                    yield page.at(index, f"there is no `{name}`")


def named_path(site: Site, page: Page, span: str) -> bool:
    """Whether a text in code font is a file or folder here, or one of its programs."""
    there = any((base / span).exists() for base in (page.path.parent, site.root))
    return there or span in page.programs() or span.startswith("/")


def check_tests(site: Site) -> Iterator[str]:
    """Every test that a page names exists, and is where its link leads."""
    files = {name.rpartition("/")[2].removesuffix(".py") for name in site.sources}
    for page in site.pages:
        for index, line in enumerate(page.prose):
            for name in re.findall(r"\btest_\w+", TARGET.sub("", line)):
                if name not in files and name not in site.tests:
                    yield page.at(index, f"there is no test {name}")
            for proof in PROOF.finditer(line):
                name, target = proof[1] or proof[3], proof[2]
                file = (page.path.parent / (target or "")).resolve()
                there = (site.root.resolve() / f for f in site.tests.get(name, ()))
                if name in site.tests and file not in there:
                    what = f"{name} is not linked to its file; {REWRITE}"
                    yield page.at(index, what)


def check_links(site: Site) -> Iterator[str]:
    """Every link, anchor and image resolves inside the repository."""
    for page in site.pages:
        for index, target in page.targets():
            problem = unresolved(site, page, target)
            if problem:
                yield page.at(index, f"{target}: {problem}")


def unresolved(site: Site, page: Page, target: str) -> str:
    """Why a link leads nowhere, or nothing; the net is not asked."""
    if re.match(r"https?://|mailto:", target):
        return ""
    if status := CI_STATUS.fullmatch(target):
        there = (site.root / ".github" / "workflows" / status[1]).exists()
        return "" if there else "no such workflow"
    path, _, anchor = target.partition("#")
    file = (page.path.parent / unquote(path)).resolve() if path else page.path
    if not file.is_relative_to(site.root.resolve()) or not file.exists():
        return "no such file"
    if not anchor:
        return ""
    if file.suffix != ".md":
        return "an anchor into a file that is no page goes stale"
    slugs = Page(site.root.resolve(), file.resolve()).slugs()
    return "" if unquote(anchor) in slugs else "no such heading"


# --- Two languages, one book ---


def check_languages(site: Site) -> Iterator[str]:
    """A page and its translation have the same skeleton; each is in its language."""
    pages = {page.path: page for page in site.pages}
    for path, page in pages.items():
        stem = path.name.split(".")[0]
        other = path.with_name(f"{stem}.md" if page.chinese else f"{stem}.zh.md")
        if other not in pages:
            yield page.at(0, f"there is no {other.name} beside it")
        elif page.chinese:
            yield from differences(site, pages[other], page)
        for index, what in wrong_language(page):
            yield page.at(index, what)


Part = tuple[int, object]  # index of the line, what stands there


def skeleton(site: Site, page: Page) -> dict[str, list[Part]]:
    """What must be the same in both languages, by kind."""
    markers = [(start, page.lines[start].split("|")[0]) for start, _ in page.blocks]
    return {
        "heading level": [(i, level) for i, level, _ in page.headings()],
        "fence": [
            (f.start, (f.info, f.body, f.marker and f.marker[0])) for f in page.fences
        ],
        "table row": [
            (i, len(re.findall(r"(?<!\\)\|", line)))
            for i, line in enumerate(page.prose)
            if line.startswith("|")
        ],
        "generated block": [(i, text.rstrip(" ->")) for i, text in markers],
        "image": [(i, "![") for i, line in enumerate(page.prose) if "![" in line],
        "number": list(numbers(page)),
        "link": [(i, neutral(site, page, target)) for i, target in page.targets()],
    }


def differences(site: Site, english: Page, chinese: Page) -> Iterator[str]:
    """The first difference of each kind; order matters but for numbers and links."""
    left, right = skeleton(site, english), skeleton(site, chinese)
    for kind, there in left.items():
        here = right[kind]
        if kind in ("number", "link"):
            here, there = (
                sorted(parts, key=lambda p: str(p[1])) for parts in (here, there)
            )
        for ours, theirs in zip_longest(here, there, fillvalue=(0, "nothing")):
            if ours[1] != theirs[1]:
                where = f"{english.name}:{theirs[0] + 1}"
                what = f"{kind} {ours[1]!s:.60}; {where} has {theirs[1]!s:.60}"
                yield chinese.at(ours[0], what)
                break


def numbers(page: Page) -> Iterator[Part]:
    """Every number in digits, outside fences, tags and link targets."""
    for index, line in enumerate(page.prose):
        plain = re.sub(r"<[^>]+>", "", TARGET.sub("", line))
        yield from ((index, found) for found in NUMBER.findall(plain))


def neutral(site: Site, page: Page, target: str) -> str:
    """A link without its language: an anchor becomes the number of its heading."""
    path, _, anchor = target.partition("#")
    if anchor and not unresolved(site, page, target) and "://" not in target:
        slugs = Page(site.root, page.path.parent / path if path else page.path).slugs()
        anchor = str(slugs.index(unquote(anchor)))
    return f"{path.replace('.zh.md', '.md')}#{anchor}"


def wrong_language(page: Page) -> Iterator[tuple[int, str]]:
    """Lines in English of a Chinese page; Chinese in an English one, but for its
    glossary and the link to the other."""
    titles = {index: text for index, _, text in page.headings()}
    glossary = False
    for index, line in enumerate(page.prose):
        plain = re.sub(r"\[[^\]]*\]\([^)]*\.zh\.md[^)]*\)", "", SPAN.sub("", line))
        plain = re.sub(r"<[^>]+>|https?://\S+", "", TARGET.sub("", plain))
        glossary = "glossary" in titles[index].lower() if index in titles else glossary
        chinese, is_row = CJK.search(plain), line.startswith("|")
        if page.chinese and not chinese and not is_row:
            if len(re.findall("[A-Za-z]", plain)) > 60:
                yield index, "an untranslated line"
        elif not page.chinese and chinese and not (glossary and is_row):
            yield index, "Chinese in an English page"


# --- Sections and pictures ---


def check_sections(site: Site) -> Iterator[str]:
    """`How it works` has one heading per new or changed banner, in the same order."""
    for page in site.pages:
        code = page.path.with_name("code.py")
        if not re.fullmatch(r"s0\w+/README\.md", page.name) or not code.exists():
            continue
        wanted = [s.title for s in sections(code) if s.mark in ("new", "changed")]
        found = below(page, "how it works")
        if found != wanted:
            pairs = zip_longest(found, wanted, fillvalue="nothing")
            there, banner = next((f, w) for f, w in pairs if f != w)
            what = f"How it works has {there!r} where the banner is {banner!r}"
            yield page.at(0, what)


def below(page: Page, title: str) -> list[str]:
    """The headings one level below a heading, in plain text."""
    found: list[str] = []
    top = 0
    for _, level, text in page.headings():
        if not top:
            top = level if text.lower() == title else 0
        elif level <= top:
            break
        elif level == top + 1:
            found.append(text.replace("`", ""))
    return found


def check_pictures(site: Site) -> Iterator[str]:
    """Every picture keeps the rules for pictures."""
    for path in sorted(site.root.glob("images/*.svg")):
        text = path.read_text("utf-8")
        try:
            problems = list(picture_problems(site, ElementTree.fromstring(text), text))
        except ElementTree.ParseError as error:
            problems = [f"no XML: {error}"]
        for what in problems:
            yield f"{path.relative_to(site.root).as_posix()}:1: {what}"


def picture_problems(site: Site, svg: ElementTree.Element, text: str) -> Iterator[str]:
    """What one picture does that it must not, or lacks."""
    box = [float(n) for n in svg.get("viewBox", "").split()]
    if len(box) != 4:
        yield "there is no viewBox"
        return
    for tag in ("title", "desc"):
        if not "".join(svg.findtext(f"{{*}}{tag}", "")).strip():
            yield f"there is no <{tag}>"
    sizes = re.findall(r"font(?:-size)?[:=]\s*\"?[a-z ]*?([\d.]+)(?:px)?", text)
    small = [size for size in sizes if float(size) * 400 / box[2] < 13]
    if small or not sizes:
        yield f"text below 13 px at a width of 400: {small or 'no size given'}"
    if re.search(r"<script|<foreignObject|@import|url\((?!#)|href=\"(?!#)", text):
        yield "a script, or something from outside"
    boxes = [r for r in svg.iter() if "box" in r.get("class", "").split()]
    if len(boxes) > 9:
        yield f"{len(boxes)} boxes: at most nine"
    card = next((e for e in svg if "card" in e.get("class", "").split()), svg)
    sides = zip(("width", "height"), box[2:], strict=True)
    covers = all(float(card.get(side, 0)) >= length - 1 for side, length in sides)
    solid = re.search(r"\.card \{[^}]*fill: #[0-9a-f]{6};", text)
    if card is svg or not covers or not solid or "fill-opacity" in text:
        yield "no opaque rect of class card behind the whole picture"
    for label in (e for e in svg.iter() if "mono" in e.get("class", "").split()):
        for word in re.findall(r"[A-Za-z_]\w*", label.text or ""):
            if word not in site.words:
                yield f"the label {word} is no word of the code"


CHECKS: dict[str, Callable[[Site], Iterator[str]]] = {
    "code fences": lambda site: check_pieces("code", site),
    "transcripts": lambda site: check_pieces("run", site),
    "generated blocks": lambda site: check_pieces("generated", site),
    "markers": check_markers,
    "names": check_names,
    "tests": check_tests,
    "links": check_links,
    "languages": check_languages,
    "sections": check_sections,
    "pictures": check_pictures,
}


def main(argv: list[str] | None = None, root: Path = ROOT) -> int:
    """Print the findings; return 1 if there is one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="rewrite what is derived")
    site = Site(root)
    if parser.parse_args(argv).write:
        for name in write(site):
            print(f"{name}: rewritten")
        site = Site(root, site.outputs)
    findings = [found for check in CHECKS.values() for found in check(site)]
    for finding in findings:
        print(finding)
    if findings:
        print(f"{len(findings)} findings; what can be derived: {REWRITE}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
