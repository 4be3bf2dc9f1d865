"""glob lists files by a pattern: the same answer everywhere, in bounded time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

import pytest

from s02_tool_dispatch import code as s02
from tests.tools import call


@pytest.fixture
def workspace(tmp_path):
    return s02.Workspace(tmp_path)


def make(folder, *paths: str) -> None:
    """Make empty files, and the folders they are in."""
    for parent in {os.path.dirname(path) for path in paths}:
        os.makedirs(folder / parent, exist_ok=True)
    for path in paths:
        os.close(os.open(f"{folder}/{path}", os.O_CREAT))


TREE = [
    "README.md",
    "a.py",
    "Z.py",
    ".env",
    ".github/ci.yml",
    ".github/deep/x.yml",
    "src/a.py",
    "src/b.txt",
    "src/sub/c.py",
    "src/sub/deep/d.py",
    "a[1].txt",
    "{a}.txt",
    "\u00e9.py",
    ".git/config",
    ".venv/lib/x.py",
    "node_modules/m/index.js",
    "src/node_modules/m/index.js",
    "src/__pycache__/a.pyc",
]
ALL_PY = "Z.py a.py src/a.py src/sub/c.py src/sub/deep/d.py \u00e9.py"


@pytest.fixture
def tree(tmp_path):
    make(tmp_path, *TREE)
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder.py").mkdir()
    return tmp_path


# fmt: off
PATTERNS = [
    # pattern, the files it lists, id
    ("**/*.py", ALL_PY, "root files too, no folders"),
    ("*.py", "Z.py a.py \u00e9.py", "code point order"),
    ("src/*.py", "src/a.py", "one folder"),
    ("src/**/*.py", "src/a.py src/sub/c.py src/sub/deep/d.py", "**"),
    ("**/sub/**/*.py", "src/sub/c.py src/sub/deep/d.py", "two **"),
    ("**/**/*.txt", "a[1].txt src/b.txt {a}.txt", "** twice"),
    ("src/sub/**", "src/sub/c.py src/sub/deep/d.py", "last **"),
    ("**/deep/*", ".github/deep/x.yml src/sub/deep/d.py", "hidden"),
    (".github/*.yml", ".github/ci.yml", "a hidden folder"),
    ("**/*.yml", ".github/ci.yml .github/deep/x.yml", "hidden names"),
    ("*", ".env README.md Z.py a.py a[1].txt {a}.txt \u00e9.py", "*"),
    ("?.py", "Z.py a.py \u00e9.py", "?"),
    ("[a-z].py", "a.py", "[a-z]"),
    ("[!a-z].py", "Z.py \u00e9.py", "[!a-z]"),
    ("[^a-z].py", "Z.py \u00e9.py", "[^a-z] means [!a-z]"),
    ("[^R]*.md", "", "[^R] too"),
    ("**/[^a]*.py", "Z.py src/sub/c.py src/sub/deep/d.py \u00e9.py", "[^a] below **"),
    ("**/sub/**", "src/sub/c.py src/sub/deep/d.py", "** on both sides"),
    ("a[1].txt", "a[1].txt", "a name with brackets"),
    ("a[[]1].txt", "a[1].txt", "brackets in brackets"),
    ("{a}.txt", "{a}.txt", "braces are characters"),
    ("{README,a}.*", "", "braces choose nothing"),
    ("readme.md", "", "case counts"),
    ("./src/./*.py", "src/a.py", "dots"),
    ("src//*.py", "src/a.py", "two slashes"),
    ("README.md", "README.md", "a plain name"),
    ("empty", "", "a folder"),
    ("empty/**", "", "an empty folder"),
    ("README.md/*", "", "a file is no folder"),
    ("missing/**/*.py", "", "no such folder"),
    ("**/*.js", "", "heavy folders are skipped"),
    ("**/config", "", ".git is skipped"),
    (".git/*", ".git/config", "unless named: .git"),
    (".venv/**/*.py", ".venv/lib/x.py", "unless named: .venv"),
    ("**/node_modules/**/*.js",
     "node_modules/m/index.js src/node_modules/m/index.js", "unless named below **"),
    ("*/__pycache__/*", "src/__pycache__/a.pyc", "unless named: *"),
    ("node_module*/**/*.js", "", "a pattern is no name"),
    ("src/", "", "a folder with a slash"),
]
# fmt: on


@pytest.mark.parametrize(
    ("pattern", "expected"), [p[:2] for p in PATTERNS], ids=[p[2] for p in PATTERNS]
)
def test_a_pattern_lists_the_files_that_match(pattern, expected, tree):
    answer = s02.Workspace(tree).glob(pattern)
    assert answer == (expected.replace(" ", "\n") or "(no matches)")


@pytest.mark.parametrize(
    "pattern",
    [
        "", "   ", "../*", "sub/../../*", "a/..", "..", "/etc/host*", "/", "~/x", "~",
        "a\\*", "C:\\*", "a\0b", "\0", "half \ud800", "a/" * 2_100, "*" * 5_000,
    ],
)  # fmt: skip
def test_a_pattern_that_cannot_be_meant_is_refused(pattern, tree):
    with pytest.raises(s02.ToolFailure) as caught:
        s02.Workspace(tree).glob(pattern)
    assert caught.value.code == "invalid_pattern"
    assert len(caught.value.message) < 1_000


# --- Names ---


@pytest.mark.skipif(sys.platform != "linux", reason="other systems want UTF-8 names")
def test_a_name_that_is_not_utf8_is_shown(workspace, tmp_path):
    os.close(os.open(os.fsencode(tmp_path) + b"/caf\xe9.txt", os.O_CREAT))
    registry = s02.build_registry(workspace)
    result = call(registry, "glob", {"pattern": "*.txt"})
    assert result.ok
    assert result.content.startswith("caf") and result.content.endswith(".txt")
    assert "e9" in result.content.lower()


def test_a_name_with_a_newline_stays_on_one_line(workspace, tmp_path):
    make(tmp_path, "a\nb.txt", "c.txt")
    answer = workspace.glob("*.txt").split("\n")
    assert len(answer) == 2
    assert answer[1] == "c.txt"


def test_links_and_special_files_are_listed_and_folder_links_not_followed(
    workspace, tmp_path
):
    make(tmp_path, "d/f")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "broken").symlink_to("nothing")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "to_file").symlink_to("d/f")
    (tmp_path / "to_folder").symlink_to("d")
    (tmp_path / "up").symlink_to("..")
    assert workspace.glob("**") == "broken\nd/f\nloop\npipe\nto_file"
    assert workspace.glob("to_folder/*") == "(no matches)"


@pytest.mark.not_root
@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_that_nobody_may_read_does_not_hide_the_rest(workspace, tmp_path):
    make(tmp_path, "a/f.py", "locked/f.py", "z/f.py")
    (tmp_path / "locked").chmod(0)
    answer = workspace.glob("**/*.py")
    (tmp_path / "locked").chmod(0o700)
    assert answer.startswith("a/f.py\nz/f.py")


# --- How many ---


@pytest.mark.parametrize("count", [200, 201, 1_500])
def test_of_many_matches_the_first_200_in_order_and_the_total(
    count, workspace, tmp_path
):
    names = [f"f{number:04}" for number in range(count)]
    make(tmp_path, *reversed(names))
    lines = workspace.glob("f*").split("\n")
    assert lines[:200] == names[: s02.MAX_MATCHES]
    if count > 200:
        assert re.search(rf"\b{count}\b", lines[200]) and "at least" not in lines[200]
    assert len(lines) == min(count, 201)


def test_200_long_names_fit_into_a_result_or_the_cut_is_said(workspace, tmp_path):
    make(tmp_path, *(f"{'x' * 240}{number:03}" for number in range(200)))
    registry = s02.build_registry(workspace)
    result = call(registry, "glob", {"pattern": "*"})
    assert len(result.content) <= s02.MAX_RESULT_CHARS
    assert result.content.count("\n") == 199 or "left out" in result.content


# --- Bounded work; each bound is five times what is promised ---


def seconds(work) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


def test_a_heavy_folder_costs_nothing_unless_it_is_named(workspace, tmp_path):
    make(tmp_path, "a.py", *(f"node_modules/m/{number}.py" for number in range(2_000)))
    assert seconds(lambda: workspace.glob("**/*.py")) < 10
    assert workspace.glob("**/*.py") == "a.py"
    assert "2000" in workspace.glob("node_modules/**/*.py")


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param("**/" * 10 + "x", id="** ten times"),
        pytest.param("**/*/" * 10 + "x", id="** and * ten times"),
        pytest.param("*a*a*a*a*a*b", id="stars"),
        pytest.param("*a" * 100 + "*b", id="more stars"),
        pytest.param("?*" * 100 + "b", id="question marks"),
        pytest.param("[" * 2_000, id="brackets"),
        pytest.param("[a-" * 500 + "]", id="ranges"),
        pytest.param("**/" + "*a" * 50 + "*b/**/" + "*a" * 50 + "*b", id="both"),
    ],
)
def test_a_hostile_pattern_takes_bounded_time(pattern, workspace, tmp_path):
    make(tmp_path, *(f"{'a' * 200}{i}/{'a' * 240}{j}" for i in "123" for j in "123"))
    make(tmp_path, "/".join("a" * 12))
    assert seconds(lambda: workspace.glob(pattern)) < 10


def deep_folder(folder, depth: int) -> None:
    """Folders in one another, with three files in each."""
    place = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        for name in "abc":
            os.close(os.open(name, os.O_CREAT, dir_fd=place))
        os.mkdir("d", dir_fd=place)
        above, place = place, os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(above)
    os.close(place)


def test_a_walk_that_is_too_long_says_at_least_how_many(workspace, tmp_path):
    deep_folder(tmp_path, 1_200)  # the deeper a name, the more ways to match it
    answer = []
    taken = seconds(lambda: answer.append(workspace.glob("**/*/" * 800 + "**")))
    subprocess.run(["rm", "-rf", tmp_path / "d"], check=True)
    assert taken < 20
    assert re.search(r"at least \d+", answer[0].split("\n")[-1])
