"""tests/pages.py: each kind of untruth is put into a small site once, and caught."""

import pytest

from tests import pages

S01 = '''"""Tiny."""

# --- 1. The loop (new) ---


def agent_loop(workdir):
    return 1
'''

S02 = '''"""Tiny."""

# --- 1. The loop (changed from s01) ---


def agent_loop(registry):
    return 2


# --- 2. The registry (new) ---

LIMIT = 5  # calls


class Workspace:
    @property
    def here(self):
        return self.root


parser.add_argument("--loud")
'''

START = """# Start

[{other_label}]({other})

{sentence}

## {part}

See [it]({chapter}) and ![the picture](images/tiny.svg).

| English | 中文 |
|---|---|
| loop | 循环 |
"""

CHAPTER = """# Two

{sentence}

<!-- run: echo one; echo two >&2 -->
```text
one
two
```

<!-- run (exit 3): exit 3 | (echo gone; exit 3) -->
```console
$ exit 3 | (echo gone; exit 3)
gone
```

<!-- program: tiny.py -->
```python
import sys
from s02_tool_dispatch import names

print(names.WORDS, open(sys.argv[0]).read().count("print"))
```

<!-- run: python3 tiny.py -->
```json
[1] 2
```

## {how}

### The loop

`agent_loop` and `Workspace.here`, `--loud`, `code.py`, `LIMIT`.
[`test_it_holds`](../tests/test_it.py)

<!-- code: code.py#agent_loop -->
```python
def agent_loop(registry):
    return 2
```

### The registry

<!-- code: code.py#Workspace.here -->
```python
@property
def here(self):
    return self.root
```

<!-- code: code.py#LIMIT -->
```python
LIMIT = 5  # calls
```

<!-- code: names.py -->
```python
WORDS = [1]
```

## {end}

<!-- generated: map -->
| section | lines | reading |
| --- | --- | --- |
| The loop | 3-9 | skim |
| The registry | 10-21 | read |
<!-- end generated -->

<!-- generated: diff -->
<details><summary>agent_loop, as a diff</summary>

```diff
--- s01_agent_loop/code.py
+++ s02_tool_dispatch/code.py
@@ -1,2 +1,2 @@
-def agent_loop(workdir):
-    return 1
+def agent_loop(registry):
+    return 2
```

</details>
<!-- end generated -->

<!-- generated: peers -->
| a | b |
<!-- end generated -->

[up]({up}), [down](#{anchor})
"""

PICTURE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 90">
  <title>Tiny</title>
  <desc>One box.</desc>
  <style>
    text { font: 13px sans-serif; }
    .card { fill: #ffffff; stroke: #000000; }
  </style>
  <rect class="card" width="400" height="90"/>
  <rect class="box" width="90" height="40"/>
  <text class="mono" x="9" y="20">agent_loop</text>
</svg>
"""

ENGLISH = {
    "other_label": "中文",
    "other": "README.zh.md",
    "chapter": "s02_tool_dispatch/README.md",
    "sentence": "It takes 3 steps.",
    "part": "Glossary",
    "how": "How it works",
    "end": "The end",
    "up": "../README.md#glossary",
    "anchor": "the-end",
}
CHINESE = {
    "other_label": "English",
    "other": "README.md",
    "chapter": "s02_tool_dispatch/README.zh.md",
    "sentence": "一共 3 步。",
    "part": "术语表",
    "how": "工作原理",
    "end": "结尾，完",
    "up": "../README.zh.md#术语表",
    "anchor": "结尾完",
}
FILES = {
    "README.md": START.format(**ENGLISH),
    "README.zh.md": START.format(**CHINESE),
    "s01_agent_loop/code.py": S01,
    "s02_tool_dispatch/code.py": S02,
    "s02_tool_dispatch/names.py": "WORDS = [1]\n",
    "s02_tool_dispatch/README.md": CHAPTER.format(**ENGLISH),
    "s02_tool_dispatch/README.zh.md": CHAPTER.format(**CHINESE),
    "images/tiny.svg": PICTURE,
    "tests/test_it.py": "def test_it_holds():\n    pass\n",
    "tests/peers/table.py": "print('| a | b |')\n",
}
HOME, HOME_ZH = "README.md", "README.zh.md"
PAGE, PAGE_ZH = "s02_tool_dispatch/README.md", "s02_tool_dispatch/README.zh.md"
SVG = "images/tiny.svg"
OUTPUTS = {}  # of the commands of the tiny pages, which every test shares


@pytest.fixture
def root(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path


def found(root, kind):
    return list(pages.CHECKS[kind](pages.Site(root, OUTPUTS)))


def replace(root, name, old, new):
    text = (root / name).read_text("utf-8")
    assert old in text
    (root / name).write_text(text.replace(old, new, 1), "utf-8")


@pytest.mark.parametrize("kind", pages.CHECKS)
def test_a_true_site_gives_no_finding(root, kind):
    assert found(root, kind) == []


RUN = "run: echo one; echo two >&2"
UNTRUE = {  # kind: page, what stands there, what is put there, what is said
    "code fences": [
        (PAGE, "return 2", "return 3", "not what"),
        (PAGE, "code.py#LIMIT", "code.py#NO", "no code.py#NO"),
        (PAGE, "code: names.py", "code: no.py", "no no.py"),
        (PAGE, "@property\n", "", "not what"),
    ],
    "transcripts": [
        (PAGE, "one\ntwo", "one\n2", "not what"),
        (PAGE, "run (exit 3): ", "run: ", "exits 3"),
        (PAGE, RUN, "run: true", "nothing"),
        (PAGE, RUN, "run: pwd", "path"),
        (PAGE, "(names.WORDS, ", "(", "not what"),
        (PAGE, "(names.WORDS, ", "(names.NO, ", "exits 1"),
    ],
    "generated blocks": [
        (PAGE, "10-21 | read", "10-21 | skip", "not what"),
        (PAGE, "+    return 2", "+    return 3", "not what"),
        (PAGE, "| a | b |", "| a |", "not what"),
        (PAGE, "d: map", "d: x", "known:"),
        (PAGE, "d: map", "d: map | one", "wants the words"),
    ],
    "markers": [
        (PAGE, "<!-- code: code.py#LIMIT -->", "", "no marker"),
        (PAGE, "#LIMIT -->\n", "#LIMIT -->\n\n", "marks nothing"),
        (PAGE, "<!-- run:", "<!-- Run:", "marks nothing"),
        (PAGE, "<!-- end generated", "<!-- End", "marks nothing"),
        (PAGE, "run: python3 tiny.py", "run: echo", "nothing runs tiny.py"),
    ],
    "names": [
        (PAGE, "`LIMIT`", "`BOUND`", "`BOUND`"),
        (PAGE, "Workspace.here", "Workspace.there", "there"),
        (PAGE, "`LIMIT`", "`function(LIMIT)`", "`function`"),
        (PAGE, "`--loud`", "`--quiet`", "`quiet`"),
        (PAGE, "`code.py`", "`cody.py`", "`cody`"),
        (PAGE, "`LIMIT`", "`python3 tests/no.py -x`", "tests/no.py"),
    ],
    "tests": [
        (PAGE, "test_it_holds", "test_it_was", "test_it_was"),
        (PAGE, "../tests/test_it.py", "../tests/peers/table.py", "is not linked"),
        (PAGE, "](../tests/test_it.py)", "", "is not linked"),
    ],
    "links": [
        (HOME, "images/tiny", "images/big", "file"),
        (HOME, "dispatch/README.md", "x.md", "file"),
        (HOME, "images/tiny.svg", "..", "file"),
        (PAGE, "#the-end", "#end", "heading"),
        (PAGE_ZH, "#术语表", "#术语", "heading"),
        (PAGE, "#the-end", "code.py#L2", "stale"),
    ],
    "languages": [
        (PAGE_ZH, "### The loop", "## 循环", "level 2"),
        (PAGE_ZH, "return 2", "return 3", "fence"),
        (PAGE_ZH, "code.py#LIMIT", "code.py#L", "fence"),
        (HOME_ZH, "|---|---|\n", "", "table"),
        (PAGE_ZH, "3 步", "4 步", "number 4"),
        (HOME_ZH, "![the picture]", "[图]", "image"),
        (PAGE_ZH, "(#结尾完)", "(#two)", "link"),
        (PAGE, "3 steps", "3 步", "Chinese in"),
        (PAGE_ZH, "一共 3 步。", "3 " + "is this " * 11, "untranslated"),
        (PAGE_ZH, "d: map", "d: peers", "generated block"),
    ],
    "sections": [
        (PAGE, "### The loop", "### A loop", "A loop"),
        (PAGE, "## How it works", "## How", "nothing"),
        (PAGE, "\n### The registry", "", "banner is 'The registry'"),
    ],
    "pictures": [
        (SVG, ' viewBox="0 0 400 90"', "", "viewBox"),
        (SVG, "<title>Tiny</title>", "", "<title>"),
        (SVG, "<desc>One box.</desc>", "<desc/>", "<desc>"),
        (SVG, "13px", "12px", "13 px"),
        (SVG, "0 0 400 90", "0 0 800 90", "13 px"),
        (SVG, ">agent_loop", ">agent_lop", "agent_lop"),
        (SVG, "</svg>", '<g class="box"/>' * 9 + "</svg>", "10 boxes"),
        (SVG, "#ffffff", "none", "opaque"),
        (SVG, 'height="90"', 'height="60"', "opaque"),
        (SVG, "</style>", "</style><script/>", "script"),
        (SVG, "<title>", "<title", "XML"),
    ],
}
ROWS = [
    pytest.param(kind, *row, id=f"{kind}-{number}")
    for kind, rows in UNTRUE.items()
    for number, row in enumerate(rows)
]


@pytest.mark.parametrize("kind, page, old, new, said", ROWS)
def test_an_untruth_of_each_kind_is_found(root, kind, page, old, new, said):
    replace(root, page, old, new)

    findings = found(root, kind)

    assert any(said in finding for finding in findings), findings


@pytest.mark.parametrize("page", [PAGE, PAGE_ZH])
def test_write_puts_back_what_follows_from_the_code(root, page, capsys):
    for old, new in (
        ("    return 2\n```\n\n###", "```\n\n###"),
        ("one\ntwo", "other"),
        ("10-21 | read", "1"),
        ("+    return 2\n", ""),
        ("[1] 2\n", ""),
        ("[`test_it_holds`](../tests/test_it.py)", "`test_it_holds`"),
    ):
        replace(root, page, old, new)

    status = pages.main(["--write"], root)

    assert (status, capsys.readouterr().out) == (0, f"{page}: rewritten\n")
    assert (root / page).read_text("utf-8") == FILES[page]


def test_a_check_changes_nothing_and_says_where_and_how_to_mend_it(root, capsys):
    replace(root, PAGE, "one\ntwo", "three")
    before = (root / PAGE).read_bytes()

    status = pages.main([], root)

    printed = capsys.readouterr().out
    assert status == 1
    assert f"{PAGE}:6: not what its marker `run` gives" in printed
    assert "python3 tests/pages.py --write" in printed
    assert (root / PAGE).read_bytes() == before


def test_a_page_gives_its_own_words_to_a_generated_table(root):
    replace(root, PAGE, "d: map -->", "d: map | A | B | C | yes | so | no -->")

    pages.main(["--write"], root)

    assert "\n| A | B | C |\n" in (root / PAGE).read_text("utf-8")
    assert "| The registry | 10-21 | yes |" in (root / PAGE).read_text("utf-8")


def test_a_command_sees_no_key_and_the_python_of_the_tests(root, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    command = 'python3 -c "import sys; print(sys.executable)"; env | grep -c ANTHR'

    _, printed = pages.Site(root).output(command, {})

    assert printed.split() == [pages.sys.executable, "0"]


def test_a_page_without_its_translation_is_found(root):
    (root / PAGE_ZH).unlink()

    assert found(root, "languages") == [f"{PAGE}:1: there is no README.zh.md beside it"]
