"""Hold the pages to the code: check them, or rewrite what can be derived.

    python3 tests/pages.py            one finding per line, status 1 if there is any
    python3 tests/pages.py --write    rewrite fences, transcripts and generated blocks

What a page can say, each marker on the line directly above what it governs:

    <!-- code: code.py#ToolRegistry.dispatch -->    the python fence is that symbol
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
import json
import keyword
import os
import re
import runpy
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
# By path, because a script does not see the folder above its own.
SECTIONS = runpy.run_path(str(Path(__file__).with_name("sections.py")))
REWRITE = "python3 tests/pages.py --write"
PAGES = ("README*.md", "s0*/README*.md", "s0*/faults*.md", "s0*/labs/**/README*.md")
CHAPTERS = ("s01_agent_loop/code.py", "s02_tool_dispatch/code.py")

# What may stand in code font though no Python file here has it: other programs and
# their options, variables and files that only serve as an example.
ALLOWED = {
    *("python3", "grep", "diff", "cat", "sed", "git", "pip", "setsid", "curl", "prctl"),
    *("-c", "-m", "-I", "-S", "--jinja", "Error", "BASH_ENV", "LD_PRELOAD"),
    *("SSH_AUTH_SOCK", "PR_SET_DUMPABLE", "ANTHROPIC_CUSTOM_HEADERS"),
    *("MYCORP_TOKEN", "../workspace-evil", ".gitconfig"),
}

FENCE = re.compile(r" *```+ *([\w-]*)")
MARKER = re.compile(r"<!-- *(\w+)(?: \(exit (\d+)\))?: *(.*?) *-->")
GENERATED_END = "<!-- end generated -->"
PYTHON = ("python", "py", "python3")
TRANSCRIPT = ("text", "console")
HEADING = re.compile(r"(#+) +(.+?) *#*$")
SPAN = re.compile(r"(`+)(.+?)\1")
TARGET = re.compile(r"\]\(([^)\s]+)|\b(?:src|href)=\"([^\"]+)\"|^\[[^\]]+\]: *(\S+)")
CI_STATUS = re.compile(r"(?:\.\./)+actions/workflows/([\w.-]+?)(?:/badge\.svg)?")
CJK = re.compile("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
FILE_NAME = re.compile(
    r"[\w./-]+\.(?:py|md|svg|txt|toml|ya?ml|json|jsonl|sh)|\.[\w.-]+"
)


class Finding(NamedTuple):
    """One thing that is not so."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}"


class Fence(NamedTuple):
    """A code fence; `start` and `end` are the indexes of its two ``` lines."""

    start: int
    end: int
    info: str
    body: tuple[str, ...]


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
        self._read_fences()
        self._read_blocks()
        hidden = re.sub(r"<!--.*?-->", blanked, "\n".join(self.prose), flags=re.S)
        self.prose = hidden.split("\n")

    def _read_fences(self) -> None:
        start = None
        for index, line in enumerate(self.lines):
            if start is None and FENCE.match(line):
                start = index
            elif start is not None and re.fullmatch(" *```+ *", line):
                info = FENCE.match(self.lines[start])
                body = tuple(self.lines[start + 1 : index])
                self.fences.append(Fence(start, index, info[1] if info else "", body))
                self._not_prose(start, index)
                start = None

    def _read_blocks(self) -> None:
        start = None
        for index, line in enumerate(self.prose):
            if line.startswith("<!-- generated:"):
                start = index
            elif line == GENERATED_END and start is not None:
                self.blocks.append((start, index))
                self._not_prose(start + 1, index - 1)
                start = None

    def _not_prose(self, start: int, end: int) -> None:
        self.prose[start : end + 1] = [""] * (end + 1 - start)

    def marker(self, fence: Fence, word: str) -> re.Match[str] | None:
        """The marker of this kind on the line directly above a fence."""
        match = MARKER.fullmatch(self.lines[fence.start - 1]) if fence.start else None
        return match if match and match[1] == word else None

    def headings(self) -> list[tuple[int, int, str]]:
        """(index of the line, level, text) of every heading."""
        found = ((i, HEADING.fullmatch(line)) for i, line in enumerate(self.prose))
        return [(i, len(match[1]), match[2]) for i, match in found if match]

    def spans(self) -> Iterator[tuple[int, str]]:
        """(index, text) of everything in code font."""
        for index, line in enumerate(self.prose):
            for match in SPAN.finditer(line):
                yield index, match[2].strip()

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


def blanked(match: re.Match[str]) -> str:
    """As many line ends as the match has, so that later lines keep their number."""
    return "\n" * match[0].count("\n")


@dataclass
class Site:
    """A repository as the checks see it; a command runs once."""

    root: Path
    outputs: dict[str, tuple[int, str]] = field(default_factory=dict)

    @cached_property
    def pages(self) -> list[Page]:
        paths = {path for pattern in PAGES for path in self.root.glob(pattern)}
        return [Page(self.root, path) for path in sorted(paths)]

    @cached_property
    def sources(self) -> dict[str, str]:
        """Name and text of every Python file but this one."""
        found = {}
        for folder, folders, names in os.walk(self.root):
            folders[:] = [f for f in folders if f[0] != "." and f != "node_modules"]
            for path in (Path(folder, n) for n in names if n.endswith(".py")):
                if path.resolve() != Path(__file__).resolve():
                    name = path.relative_to(self.root).as_posix()
                    found[name] = path.read_text("utf-8")
        return found

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        return {name: ast.parse(text) for name, text in self.sources.items()}

    @cached_property
    def words(self) -> set[str]:
        """Every name of Python or in its files here, and every string that is one."""
        found = (names_in(tree, True) for tree in self.trees.values())
        python = {*keyword.kwlist, *dir(builtins), *sys.stdlib_module_names}
        return (ALLOWED | python).union(*found)

    @cached_property
    def chapter_words(self) -> set[str]:
        """Every name in the chapters' programs, and every word in their strings."""
        trees = [t for n, t in self.trees.items() if re.match(r"s0\w+/\w+\.py", n)]
        nodes = [node for tree in trees for node in ast.walk(tree)]
        texts = [n.value for n in nodes if isinstance(n, ast.Constant)]
        words = {w for t in texts if isinstance(t, str) for w in re.findall(r"\w+", t)}
        return words.union(*(names_in(tree, True) for tree in trees))

    @cached_property
    def flags(self) -> set[str]:
        """Every option that some `add_argument` declares."""
        nodes = (node for tree in self.trees.values() for node in ast.walk(tree))
        calls = (n for n in nodes if isinstance(n, ast.Call))
        declared = (c for c in calls if getattr(c.func, "attr", "") == "add_argument")
        values = (getattr(arg, "value", "") for call in declared for arg in call.args)
        return {v for v in values if isinstance(v, str)} | {"-h", "--help", "--write"}

    @cached_property
    def tests(self) -> set[str]:
        """Every test function and test file below tests/ and labs/."""
        places = {n: t for n, t in self.trees.items() if re.search("tests/|labs/", n)}
        nodes = (node for tree in places.values() for node in ast.walk(tree))
        functions = {n.name for n in nodes if isinstance(n, ast.FunctionDef)}
        return functions | {name.rsplit("/", 1)[-1] for name in places}

    def output(self, command: str) -> tuple[int, str]:
        """Exit status and output of a command, from the root, in a bare environment."""
        if command not in self.outputs:
            with tempfile.TemporaryDirectory() as home:
                self.outputs[command] = run(command, self.root, Path(home))
        return self.outputs[command]


def run(command: str, root: Path, home: Path) -> tuple[int, str]:
    """Run one command; `python3` in it is the Python that runs this script."""
    (home / "bin").mkdir()
    python = home / "bin" / "python3"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    path = f"{home}/bin:{os.environ.get('PATH', os.defpath)}"
    env = {"PATH": path, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=root,
        env={**env, "COLUMNS": "80", "NO_COLOR": "1", "LANG": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace")


def names_in(tree: ast.AST, strings: bool = False) -> Iterator[str]:
    """Every identifier below a node; with `strings` also strings that are one."""
    for node in ast.walk(tree):
        for attribute in ("id", "attr", "arg", "name", "asname", "module"):
            name = getattr(node, attribute, None)
            if isinstance(name, str):
                yield from name.split(".")
        value = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
        if strings and isinstance(value, str) and value.isidentifier():
            yield value


# --- What follows from the code ---


def symbols(text: str) -> dict[str, tuple[int, str]]:
    """(line, exact text) of each function, class, method and module constant."""
    lines = text.splitlines()
    found: dict[str, tuple[int, str]] = {}

    def add(node: ast.stmt, name: str) -> None:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(d.lineno for d in decorators)])
        source = "\n".join(lines[first - 1 : node.end_lineno])
        found.setdefault(name, (first, textwrap.dedent(source)))

    for node in ast.parse(text).body:
        for name in defined_by(node):
            add(node, name)
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                for name in defined_by(member):
                    add(member, f"{node.name}.{name}")
    return found


def defined_by(node: ast.stmt) -> list[str]:
    """The names that a statement defines."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    single = [node.target] if isinstance(node, ast.AnnAssign) else []
    targets = node.targets if isinstance(node, ast.Assign) else single
    return [target.id for target in targets if isinstance(target, ast.Name)]


def code_pieces(site: Site, page: Page) -> Iterator[Piece]:
    """Each python fence, and the text of the symbol that it names."""
    for fence in page.fences:
        inside = any(start < fence.start < end for start, end in page.blocks)
        if fence.info not in PYTHON or inside:
            continue
        marker = page.marker(fence, "code")
        if marker is None:
            what = "no `<!-- code: FILE#SYMBOL -->` directly above this fence"
            yield Piece(fence.start, fence.end, [], what)
            continue
        file, _, symbol = marker[3].partition("#")
        path = page.path.parent / file
        found = symbols(path.read_text("utf-8")) if path.is_file() else {}
        wanted = found.get(symbol, (0, ""))[1].splitlines()
        problem = "" if wanted else f"there is no {marker[3]}"
        yield Piece(fence.start + 1, fence.end, wanted, problem)


def run_pieces(site: Site, page: Page) -> Iterator[Piece]:
    """Each transcript, and what its command prints; a console shows the command too."""
    for fence in page.fences:
        marker = page.marker(fence, "run")
        if marker is None or fence.info not in TRANSCRIPT:
            if fence.info == "console":
                what = "no `<!-- run: COMMAND -->` directly above this transcript"
                yield Piece(fence.start, fence.end, [], what)
            continue
        status, printed = site.output(marker[3])
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
        match = MARKER.fullmatch(page.lines[start])
        name, *titles = (
            (part.strip() for part in match[3].split("|")) if match else [""]
        )
        try:
            default, generate = GENERATORS[name]
            if titles and len(titles) != len(default):
                raise ValueError(f"{name} wants the words {' | '.join(default)}")
            wanted, problem = generate(site, page, titles or list(default)), ""
        except KeyError as error:
            wanted, problem = [], f"{error} is missing; known: {', '.join(GENERATORS)}"
        except (OSError, ValueError) as error:
            wanted, problem = [], str(error)
        yield Piece(start + 1, end, wanted, problem)


def table(titles: Iterable[str], rows: Iterable[Iterable[object]]) -> list[str]:
    """The lines of a Markdown table."""
    cells = [list(titles), *(list(map(str, row)) for row in rows)]
    cells.insert(1, ["---"] * len(cells[0]))
    return [f"| {' | '.join(row)} |" for row in cells]


def sections(path: Path) -> list[tuple[str, str, int]]:
    """(title, mark, lines) of each section; the mark is new, changed, carried or ""."""
    rows = []
    for banner, lines in SECTIONS["section_lines"](path):
        mark = SECTIONS["MARK"].search(banner)
        rows.append((bare(banner), mark[1] if mark else "", lines))
    return rows


def bare(title: str) -> str:
    """A banner or heading without its number, its mark and code font."""
    title = re.sub(r"^\d+\. |\s*\((?:new|changed|carried)\b[^()]*\)$", "", title)
    return title.replace("`", "")


def section_table(site: Site, page: Page, titles: list[str]) -> list[str]:
    """The sections of the page's chapter, or of each chapter, with their lines."""
    beside = page.path.with_name("code.py")
    paths = [beside] if beside.exists() else [site.root / name for name in CHAPTERS]
    rows = [(p.parent.name, *row) for p in paths for row in sections(p)]
    return table(titles, ((f"`{c}`", t, mark, lines) for c, t, mark, lines in rows))


def change_table(site: Site, page: Page, titles: list[str]) -> list[str]:
    """Names new, changed, gone and carried for each section; agent_loop as a diff."""
    old, new = (placed_symbols(site.root / name) for name in CHAPTERS)
    rows: dict[str, list[list[str]]] = {}
    for name, (section, text) in {**old, **new}.items():
        if name not in new:
            kind = 2
        elif name not in old:
            kind = 0
        else:
            kind = 3 if text == old[name][1] else 1
        rows.setdefault(section, [[], [], [], []])[kind].append(f"`{name}`")
    order = list(dict.fromkeys(section for section, _ in new.values()))
    order += [section for section in rows if section not in order]
    *columns, summary = titles
    cells = ([s, *map(", ".join, rows[s][:3]), len(rows[s][3])] for s in order)
    before, after = (names["agent_loop"][1].splitlines() for names in (old, new))
    diff = difflib.unified_diff(before, after, *CHAPTERS, lineterm="")
    folded = ["", f"<details><summary>{summary}</summary>", "", "```diff"]
    return [*table(columns, cells), *folded, *diff, "```", "", "</details>"]


def placed_symbols(path: Path) -> dict[str, tuple[str, str]]:
    """(title of its section, text) of each function, class and constant of a file."""
    spans, line = [], 1
    for title, _, lines in sections(path):
        spans.append((title, line, line + lines))
        line += lines
    return {
        name: (next(t for t, first, end in spans if first <= at < end), text)
        for name, (at, text) in symbols(path.read_text("utf-8")).items()
        if "." not in name
    }


TOOLS_COMMAND = """python3 -c '
import json
from s02_tool_dispatch import code as s02
print(json.dumps(s02.build_registry(s02.Workspace(".")).definitions()))'"""


def printed_by(site: Site, command: str) -> str:
    """What a command prints; ValueError if it fails."""
    status, text = site.output(command)
    if status:
        raise ValueError(f"`{command}` exits {status}: {text.strip()[-200:]!r}")
    return text.rstrip()


def tool_table(site: Site, page: Page, titles: list[str]) -> list[str]:
    """The tools of build_registry: their arguments, and whether they run at once."""
    rows = []
    for tool in json.loads(printed_by(site, TOOLS_COMMAND)):
        arguments = ", ".join(
            f"`{name}`" for name in tool["input_schema"]["properties"]
        )
        rows.append((f"`{tool['name']}`", arguments, f"`{tool['concurrent_safe']}`"))
    return table(titles, rows)


def peer_table(site: Site, page: Page, titles: list[str]) -> list[str]:
    """What the script of tests/peers prints."""
    return printed_by(site, "python3 tests/peers/table.py").splitlines()


Generator = Callable[[Site, Page, list[str]], list[str]]
GENERATORS: dict[str, tuple[tuple[str, ...], Generator]] = {
    "changes": (
        ("section", "new", "changed", "gone", "carried", "agent_loop, as a diff"),
        change_table,
    ),
    "sections": (("chapter", "section", "mark", "lines"), section_table),
    "tools": (("tool", "arguments", "concurrent_safe"), tool_table),
    "peers": ((), peer_table),
}
PIECES = {"code": code_pieces, "run": run_pieces, "generated": generated_pieces}


def check_pieces(kind: str, site: Site) -> Iterator[Finding]:
    """Where the lines of a page are not those that follow."""
    for page in site.pages:
        for piece in PIECES[kind](site, page):
            if piece.problem:
                yield Finding(page.name, piece.start + 1, piece.problem)
            elif page.lines[piece.start : piece.end] != piece.wanted:
                what = f"not what its marker `{kind}` gives; {REWRITE}"
                yield Finding(page.name, piece.start, what)


def write(site: Site) -> list[str]:
    """Put in the lines that follow; return the names of the pages that changed."""
    changed = []
    for page in site.pages:
        lines = list(page.lines)
        pieces = [piece for find in PIECES.values() for piece in find(site, page)]
        for piece in sorted(pieces, reverse=True):
            if not piece.problem:
                lines[piece.start : piece.end] = piece.wanted
        if lines != page.lines:
            page.path.write_text("\n".join(lines) + "\n", "utf-8")
            changed.append(page.name)
    return changed


# --- What must exist ---


def check_markers(site: Site) -> Iterator[Finding]:
    """Every marker is one that this script knows, and governs something."""
    for page in site.pages:
        governed = {i for start, end in page.blocks for i in (start, end)}
        for fence in page.fences:
            kinds = {"code": PYTHON, "run": TRANSCRIPT}
            if any(page.marker(fence, k) and fence.info in i for k, i in kinds.items()):
                governed.add(fence.start - 1)
            governed.update(range(fence.start, fence.end + 1))
        for index, line in enumerate(page.lines):
            stripped = line.strip()
            marked = MARKER.match(stripped) or stripped == GENERATED_END
            if marked and index not in governed:
                yield Finding(page.name, index + 1, f"marks nothing: {stripped}")


def check_names(site: Site) -> Iterator[Finding]:
    """Every name in code font is one of the code, a file, a flag, or allowed."""
    for page in site.pages:
        for index, span in page.spans():
            for name in unknown_names(site, page, span):
                what = f"`{name}` is in no Python file, is no file and no flag"
                yield Finding(page.name, index + 1, what)
        for fence in page.fences:
            if fence.info in ("sh", "bash", "shell"):
                for name in unknown_in_command(site, "\n".join(fence.body)):
                    yield Finding(page.name, fence.start + 1, f"there is no `{name}`")


def unknown_names(site: Site, page: Page, span: str) -> Iterable[str]:
    """What of one text in code font exists nowhere."""
    if span in ALLOWED or re.search(r"[*~$<]|^/", span):
        return []
    if re.fullmatch(r"--?[A-Za-z][\w-]*", span):
        return [] if span in site.flags else [span]
    if span.startswith("python3 "):
        return unknown_in_command(site, span)
    if FILE_NAME.fullmatch(span) or re.fullmatch(r"[\w.-]+(/[\w.-]*)+", span):
        there = any((base / span).exists() for base in (page.path.parent, site.root))
        in_code = any(span in text for text in site.sources.values())
        return [] if there or in_code else [span]
    if re.search(r"\s-\w", span) or re.fullmatch(r"\w+(-[\w.]+)+", span):
        return []  # a command with options; a name with hyphens is none of Python's
    try:
        names = names_in(ast.parse(span))
    except (SyntaxError, ValueError):
        return []
    return [n for n in names if n not in site.words and not n.startswith("test_")]


def unknown_in_command(site: Site, command: str) -> Iterator[str]:
    """Programs and options of `python3 ...` commands that this repository lacks."""
    for module, rest in re.findall(r"\bpython3 (-m \S+|\S+\.py)([^&|;\n]*)", command):
        name = module.removeprefix("-m ")
        ours = re.match(r"(tests|s0\d_\w+)[./]", name)
        path = name if module == name else name.replace(".", "/") + ".py"
        if ours and not (site.root / path).exists():
            yield name
        for flag in re.findall(r"(?<=\s)--?[A-Za-z][\w-]*", rest):
            if ours and flag not in site.flags:
                yield flag


def check_tests(site: Site) -> Iterator[Finding]:
    """Every test that a page names exists."""
    for page in site.pages:
        for index, line in enumerate(page.prose):
            for name in re.findall(r"\btest_\w+(?:\.py)?", line):
                if name not in site.tests and f"{name}.py" not in site.tests:
                    yield Finding(page.name, index + 1, f"there is no test {name}")


def check_links(site: Site) -> Iterator[Finding]:
    """Every link, anchor and image resolves inside the repository."""
    for page in site.pages:
        for index, target in page.targets():
            problem = unresolved(site, page, target)
            if problem:
                yield Finding(page.name, index + 1, f"{target}: {problem}")


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
    linked = Page(site.root.resolve(), file.resolve())
    ids = re.findall(r"<a (?:id|name)=\"([^\"]+)\"", "\n".join(linked.prose))
    return "" if unquote(anchor) in [*linked.slugs(), *ids] else "no such heading"


# --- Two languages, one book ---


def check_languages(site: Site) -> Iterator[Finding]:
    """A page and its translation have the same skeleton; each is in its language."""
    pages = {page.path: page for page in site.pages}
    for path, page in pages.items():
        stem = path.name.split(".")[0]
        other = path.with_name(f"{stem}.md" if page.chinese else f"{stem}.zh.md")
        if other not in pages:
            yield Finding(page.name, 1, f"there is no {other.name} beside it")
        elif page.chinese:
            yield from differences(site, pages[other], page)
        wrong = untranslated(page) if page.chinese else chinese_left(page)
        yield from (Finding(page.name, index + 1, what) for index, what in wrong)


Part = tuple[int, object]  # index of the line, what stands there


def skeleton(site: Site, page: Page) -> dict[str, list[Part]]:
    """What must be the same in both languages, by kind."""
    markers = [(start, page.lines[start].split("|")[0]) for start, _ in page.blocks]
    return {
        "heading level": [(i, level) for i, level, _ in page.headings()],
        "fence": [(f.start, (f.info, f.body)) for f in page.fences],
        "table (rows, columns)": table_sizes(page),
        "generated block": [(i, text.rstrip(" ->")) for i, text in markers],
        "image": [(i, "![") for i, line in enumerate(page.prose) if "![" in line],
        "number": list(numbers(page)),
        "link": [(i, neutral(site, page, target)) for i, target in page.targets()],
    }


def differences(site: Site, english: Page, chinese: Page) -> Iterator[Finding]:
    """The first difference of each kind; order matters where languages share it."""
    left, right = skeleton(site, english), skeleton(site, chinese)
    for kind, there in left.items():
        here = right[kind]
        if kind in ("number", "link"):
            here, there = lacking(here, there), lacking(there, here)
        nothing = (0, "nothing")
        for ours, theirs in zip_longest(here, there, fillvalue=nothing):
            if ours[1] != theirs[1]:
                where = f"{english.name}:{theirs[0] + 1}"
                what = f"{kind} {ours[1]!s:.60}; {where} has {theirs[1]!s:.60}"
                yield Finding(chinese.name, ours[0] + 1, what)
                break


def lacking(parts: list[Part], others: list[Part]) -> list[Part]:
    """The parts that the others do not have, each as often as it is missing."""
    left = Counter(what for _, what in others)
    missing = []
    for index, what in parts:
        left[what] -= 1
        if left[what] < 0:
            missing.append((index, what))
    return missing


def table_sizes(page: Page) -> list[Part]:
    """(rows, columns) of each table; the line of dashes counts as a row."""
    sizes: list[Part] = []
    rows: list[str] = []
    for index, line in enumerate([*page.prose, ""]):
        if line.startswith("|"):
            rows.append(line)
        elif rows:
            columns = len(re.findall(r"(?<!\\)\|", rows[0])) - 1
            sizes.append((index - len(rows), (len(rows), columns)))
            rows = []
    return sizes


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
        anchor = str(slugs.index(anchor)) if anchor in slugs else anchor
    return f"{path.replace('.zh.md', '.md')}#{anchor}"


def chinese_left(page: Page) -> Iterator[tuple[int, str]]:
    """Chinese in an English page, but for its glossary and the link to the other."""
    titles = {index: text for index, _, text in page.headings()}
    glossary = False
    for index, line in enumerate(page.prose):
        glossary = "glossary" in titles[index].lower() if index in titles else glossary
        plain = re.sub(r"\[[^\]]*\]\([^)]*\.zh\.md[^)]*\)", "", SPAN.sub("", line))
        if CJK.search(plain) and not (glossary and line.startswith("|")):
            yield index, "Chinese in an English page"


def untranslated(page: Page) -> Iterator[tuple[int, str]]:
    """Paragraphs, or lines of them, of a Chinese page that are in English."""
    paragraph: list[tuple[int, str]] = []
    for index, line in enumerate([*page.prose, ""]):
        plain = re.sub(r"<[^>]+>|https?://\S+", "", TARGET.sub("", SPAN.sub("", line)))
        if line.strip() and not line.startswith("|"):
            paragraph.append((index, plain))
            continue
        whole = " ".join(text for _, text in paragraph)
        for at, text in [*paragraph, *((i, whole) for i, _ in paragraph[:1])]:
            if len(re.findall("[A-Za-z]", text)) > 60 and not CJK.search(text):
                yield at, "an untranslated paragraph"
                break
        paragraph = []


# --- Sections and pictures ---


def check_sections(site: Site) -> Iterator[Finding]:
    """`How it works` has one heading per new or changed banner, in the same order."""
    for page in site.pages:
        code = page.path.with_name("code.py")
        if not re.fullmatch(r"s0\w+/README\.md", page.name) or not code.exists():
            continue
        banners = [t for t, mark, _ in sections(code) if mark in ("new", "changed")]
        found = below(page, "how it works")
        if not found:
            yield Finding(page.name, 1, "there is no section How it works")
            continue
        nothing = (found[0][0], "nothing")
        pairs = zip_longest(found[1:], [(0, b) for b in banners], fillvalue=nothing)
        for (index, title), (_, banner) in pairs:
            if title != banner:
                what = f"the heading is {title!r} where the banner is {banner!r}"
                yield Finding(page.name, index + 1, what)
                break


def below(page: Page, title: str) -> list[tuple[int, str]]:
    """(index, text) of a heading and of those one level below it."""
    found: list[tuple[int, str]] = []
    top = 0
    for index, level, text in page.headings():
        if not top and text.lower() == title:
            top, found = level, [(index, text)]
        elif top and level <= top:
            break
        elif top and level == top + 1:
            found.append((index, bare(text)))
    return found


def check_pictures(site: Site) -> Iterator[Finding]:
    """Every picture keeps the rules for pictures."""
    for path in sorted(site.root.glob("images/*.svg")):
        name = path.relative_to(site.root).as_posix()
        text = path.read_text("utf-8")
        try:
            picture = ElementTree.fromstring(text)
        except ElementTree.ParseError as error:
            yield Finding(name, error.position[0], f"no XML: {error}")
            continue
        for what in picture_problems(site, picture, text):
            yield Finding(name, 1, what)


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
    if not is_card(svg, text, box):
        yield "no opaque rect of class card behind the whole picture"
    for label in (e for e in svg.iter() if "mono" in e.get("class", "").split()):
        for word in re.findall(r"[A-Za-z_]\w*", label.text or ""):
            if word not in site.chapter_words:
                yield f"the label {word} is no word of the chapters' code"


def is_card(svg: ElementTree.Element, text: str, box: list[float]) -> bool:
    """Whether the first shape covers the picture and has a solid colour."""
    shape = next((e for e in svg if e.tag.rpartition("}")[2] in ("rect", "g")), None)
    if shape is None or shape.get("class") != "card":
        return False
    covers = all(
        float(shape.get(side, 0)) >= length - 1
        for side, length in zip(("width", "height"), box[2:], strict=True)
    )
    solid = re.search(r"\.card \{[^}]*fill: #[0-9a-f]{6};", text)
    return covers and solid is not None and "fill-opacity" not in text


CHECKS: dict[str, Callable[[Site], Iterator[Finding]]] = {
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
    options = parser.parse_args(argv)
    site = Site(root)
    if options.write:
        for name in write(site):
            print(f"{name}: rewritten")
        site = Site(root, site.outputs)
    findings = [finding for check in CHECKS.values() for finding in check(site)]
    for finding in findings:
        print(finding)
    if findings:
        print(f"{len(findings)} findings; what can be derived: {REWRITE}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
