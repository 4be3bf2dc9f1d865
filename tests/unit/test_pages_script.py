"""tests/pages.py: each kind of untruth is put into a small site once, and caught."""

import shutil

import pytest

from tests import pages

S01 = '''"""Tiny."""

# --- 1. The loop (new) ---

GONE = 1


def agent_loop(workdir):
    return 1


def kept():
    """The same in both."""
'''

S02 = '''"""Tiny."""

# --- 1. The loop (changed from s01) ---


def agent_loop(registry):
    return 2


def kept():
    """The same in both."""


# --- 2. The registry (new) ---

LIMIT = 5  # calls


class Workspace:
    def __init__(self, root):
        self.root = root

    @property
    def here(self):
        return self.root


class Registry:
    def definitions(self):
        schema = {"properties": {"path": {}}}
        return [{"name": "look", "input_schema": schema, "concurrent_safe": True}]


def build_registry(workspace):
    return Registry()


def parse_options(parser):
    parser.add_argument("--loud")
'''

START = """# Start

[{other_label}]({other})

{sentence}

## {part}

See [it](s02_tool_dispatch/README.md) and ![the picture](images/tiny.svg).

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

## {how}

### The loop

`agent_loop` and `Workspace.here`, `--loud`, `code.py`, `LIMIT`, `test_it_holds`.

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

<!-- generated: tools -->
| tool | arguments | concurrent_safe |
| --- | --- | --- |
| `look` | `path` | `True` |
<!-- end generated -->

## {end}

<!-- generated: sections -->
| chapter | section | mark | lines |
| --- | --- | --- | --- |
| `s02_tool_dispatch` | (before the first banner) |  | 2 |
| `s02_tool_dispatch` | The loop | changed | 11 |
| `s02_tool_dispatch` | The registry | new | 26 |
<!-- end generated -->

<!-- generated: changes -->
| section | new | changed | gone | carried |
| --- | --- | --- | --- | --- |
| The loop |  | `agent_loop` | `GONE` | 1 |
| The registry | `LIMIT`, `Workspace`, `Registry`, `build_registry`, `parse_options` \
|  |  | 0 |

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
    "sentence": "一共 3 步。",
    "part": "术语表",
    "how": "工作原理",
    "end": "结尾，完",
    "up": "../README.zh.md#术语表",
    "anchor": "结尾完",
}
START_ZH = START.replace("dispatch/README.md", "dispatch/README.zh.md")
FILES = {
    "README.md": START.format(**ENGLISH),
    "README.zh.md": START_ZH.format(**CHINESE),
    "s01_agent_loop/code.py": S01,
    "s02_tool_dispatch/code.py": S02,
    "s02_tool_dispatch/README.md": CHAPTER.format(**ENGLISH),
    "s02_tool_dispatch/README.zh.md": CHAPTER.format(**CHINESE),
    "images/tiny.svg": PICTURE,
    "tests/test_it.py": "def test_it_holds():\n    pass\n",
    "tests/peers/table.py": "print('| a | b |')\n",
}
PAGE, PAGE_ZH = "s02_tool_dispatch/README.md", "s02_tool_dispatch/README.zh.md"
OUTPUTS = {}  # of the commands of the tiny pages, which every test shares


@pytest.fixture
def root(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path


def found(root, kind):
    return [str(finding) for finding in pages.CHECKS[kind](pages.Site(root, OUTPUTS))]


def replace(root, name, old, new):
    text = (root / name).read_text("utf-8")
    assert old in text
    (root / name).write_text(text.replace(old, new, 1), "utf-8")


@pytest.mark.parametrize("kind", pages.CHECKS)
def test_a_true_site_gives_no_finding(root, kind):
    assert found(root, kind) == []


UNTRUE = [  # kind, page, what stands there, what is put there, what is said
    pytest.param(
        "code fences", PAGE, "return 2", "return 3", "not what", id="an edited fence"
    ),
    pytest.param(
        "code fences", PAGE, "code.py#LIMIT", "code.py#NO", "no code.py#NO", id="symbol"
    ),
    pytest.param(
        "code fences", PAGE, "code: code.py#LIMIT", "x", "no `<!-- code:", id="loose"
    ),
    pytest.param("code fences", PAGE, "@property\n", "", "not what", id="no decorator"),
    pytest.param(
        "transcripts", PAGE, "one\ntwo", "one\n2", "not what", id="an edited output"
    ),
    pytest.param(
        "transcripts", PAGE, "run (exit 3): ", "run: ", "exits 3", id="a hidden failure"
    ),
    pytest.param(
        "transcripts",
        PAGE,
        "run: echo one; echo two >&2",
        "run: true",
        "nothing",
        id="0",
    ),
    pytest.param(
        "transcripts", PAGE, "run: echo one; echo two >&2", "run: pwd", "path", id="pwd"
    ),
    pytest.param(
        "generated blocks", PAGE, "| `look`", "| `see`", "not what", id="tools"
    ),
    pytest.param(
        "generated blocks", PAGE, "new | 26", "new | 9", "not what", id="sections"
    ),
    pytest.param(
        "generated blocks", PAGE, "`GONE` | 1", "| 1", "not what", id="changes"
    ),
    pytest.param(
        "generated blocks", PAGE, "| a | b |", "| a |", "not what", id="peers"
    ),
    pytest.param(
        "generated blocks", PAGE, "d: tools", "d: x", "known:", id="generator"
    ),
    pytest.param(
        "markers", PAGE, "#LIMIT -->\n", "#LIMIT -->\n\n", "marks", id="blank"
    ),
    pytest.param("markers", PAGE, "<!-- run:", "<!-- Run:", "marks", id="misspelled"),
    pytest.param("markers", PAGE, "<!-- end generated", "<!-- End", "marks", id="open"),
    pytest.param("names", PAGE, "`LIMIT`", "`BOUND`", "`BOUND`", id="a constant"),
    pytest.param(
        "names", PAGE, "Workspace.here", "Workspace.there", "there", id="part"
    ),
    pytest.param("names", PAGE, "`LIMIT`", "`f(LIMIT=1)`", "`f`", id="a call"),
    pytest.param("names", PAGE, "`--loud`", "`--quiet`", "`--quiet`", id="a flag"),
    pytest.param("names", PAGE, "`code.py`", "`cody.py`", "`cody.py`", id="a file"),
    pytest.param(
        "names",
        PAGE,
        "`LIMIT`",
        "`python3 tests/no.py -x`",
        "tests/no.py",
        id="command",
    ),
    pytest.param(
        "tests", PAGE, "test_it_holds", "test_it_was", "test_it_was", id="test"
    ),
    pytest.param("links", "README.md", "images/tiny", "images/big", "file", id="image"),
    pytest.param("links", "README.md", "dispatch/README.md", "x.md", "file", id="link"),
    pytest.param("links", "README.md", "images/tiny.svg", "..", "file", id="outside"),
    pytest.param("links", PAGE, "#the-end", "#end", "heading", id="anchor"),
    pytest.param("links", PAGE_ZH, "#术语表", "#术语", "heading", id="Chinese anchor"),
    pytest.param(
        "links", PAGE, "#the-end", "code.py#L2", "stale", id="a line's anchor"
    ),
    pytest.param(
        "languages", PAGE_ZH, "### The loop", "## 循环", "level 2", id="level"
    ),
    pytest.param("languages", PAGE_ZH, "return 2", "return 3", "fence", id="fence"),
    pytest.param("languages", "README.zh.md", "|---|---|\n", "", "table", id="rows"),
    pytest.param("languages", PAGE_ZH, "3 步", "4 步", "number 4", id="number"),
    pytest.param(
        "languages",
        "README.zh.md",
        "![the picture]",
        "[图]",
        "image",
        id="a link for it",
    ),
    pytest.param(
        "languages", PAGE_ZH, "(#结尾完)", "(#two)", "link #0", id="another heading"
    ),
    pytest.param("languages", PAGE, "3 steps", "3 步", "Chinese in", id="left in it"),
    pytest.param(
        "languages",
        PAGE_ZH,
        "一共 3 步。",
        "3 " + "is this " * 11,
        "untranslated",
        id="not",
    ),
    pytest.param(
        "languages", PAGE_ZH, "d: tools", "d: peers", "generated block", id="block"
    ),
    pytest.param("sections", PAGE, "### The loop", "### A loop", "A loop", id="title"),
    pytest.param(
        "sections", PAGE, "## How it works", "## How", "no section", id="none"
    ),
    pytest.param(
        "sections",
        PAGE,
        "\n### The registry",
        "",
        "banner is 'The registry'",
        id="short",
    ),
]


@pytest.mark.parametrize(("kind", "page", "old", "new", "said"), UNTRUE)
def test_an_untruth_of_each_kind_is_found(root, kind, page, old, new, said):
    replace(root, page, old, new)

    findings = found(root, kind)

    assert any(said in finding for finding in findings), findings


BAD_PICTURES = [
    pytest.param(' viewBox="0 0 400 90"', "", "viewBox", id="no viewBox"),
    pytest.param("<title>Tiny</title>", "", "<title>", id="no title"),
    pytest.param("<desc>One box.</desc>", "<desc/>", "<desc>", id="empty desc"),
    pytest.param("13px", "12px", "13 px", id="small text"),
    pytest.param("0 0 400 90", "0 0 800 90", "13 px", id="small when scaled"),
    pytest.param(">agent_loop", ">agent_lop", "agent_lop", id="a label of no code"),
    pytest.param("</svg>", '<g class="box"/>' * 9 + "</svg>", "10 boxes", id="boxes"),
    pytest.param("#ffffff", "none", "opaque", id="no background"),
    pytest.param('height="90"', 'height="60"', "opaque", id="half a card"),
    pytest.param("</style>", "</style><script/>", "script", id="a script"),
    pytest.param("<title>", "<title", "XML", id="no XML"),
]


@pytest.mark.parametrize(("old", "new", "said"), BAD_PICTURES)
def test_a_picture_that_breaks_a_rule_is_found(root, old, new, said):
    replace(root, "images/tiny.svg", old, new)

    findings = found(root, "pictures")

    assert any(said in finding for finding in findings), findings


@pytest.mark.parametrize("page", [PAGE, PAGE_ZH])
def test_write_puts_back_fences_transcripts_and_blocks(root, page, capsys):
    for old, new in (
        ("    return 2\n```\n\n###", "```\n\n###"),
        ("one\ntwo", "other"),
        ("| `look`", "| `see`"),
        ("+    return 2\n", ""),
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
    replace(root, PAGE, "generated: tools -->", "generated: tools | A | B | C -->")

    pages.write(pages.Site(root, OUTPUTS))

    assert "C -->\n| A | B | C |\n" in (root / PAGE).read_text("utf-8")


def test_a_command_sees_no_key_and_the_python_of_the_tests(root, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    command = 'python3 -c "import sys; print(sys.executable)"; env | grep -c ANTHR'

    _, printed = pages.Site(root).output(command)

    assert printed.split() == [pages.sys.executable, "0"]


def test_a_page_without_its_translation_is_found(root):
    (root / PAGE_ZH).unlink()

    assert found(root, "languages") == [f"{PAGE}:1: there is no README.zh.md beside it"]


def test_a_repository_without_pages_has_nothing_to_check(root):
    for folder in ("images", "s02_tool_dispatch"):
        shutil.rmtree(root / folder)
    for page in root.glob("*.md"):
        page.unlink()

    assert [found(root, kind) for kind in pages.CHECKS] == [[]] * len(pages.CHECKS)
