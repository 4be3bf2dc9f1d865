"""The labs hold what they promise: starters that fail, solutions that pass.

One pytest process per lab runs its tests on the starter, on the solution and on every
solution of `lab_wrongs/`, wrong or right (format: see FORMAT.md there).
"""

from __future__ import annotations

import ast
import os
import re
import runpy
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = ("s01_agent_loop", "s02_tool_dispatch")
WRONGS = Path(__file__).with_name("lab_wrongs")
REGION = re.compile(
    r"^(?P<indent> *)# --- your code ---\n(?P<body>.*?)^ *# --- end of your code ---\n",
    re.DOTALL | re.MULTILINE,
)
UNWRITTEN = r'\s*raise NotImplementedError\(\s*"lab [^"]+"\s*\)\s*'
LABS = [
    pytest.param(test.parent, id=f"{test.parts[-4][:3]}_{test.parent.name}")
    for chapter in CHAPTERS
    for test in sorted((ROOT / chapter / "labs").glob("*/test_lab.py"))
]
every_lab = pytest.mark.parametrize("folder", LABS)


def lab_id(folder: Path) -> str:
    """`s02_1_dispatch`: the name of a lab's file of wrong solutions."""
    return f"{folder.parents[1].name[:3]}_{folder.name}"


@cache
def tables(folder: Path) -> dict[str, Any]:
    """STARTER_FAILS, WRONGS and RIGHTS of a lab."""
    return runpy.run_path(str(WRONGS / f"{lab_id(folder)}.py"))


def right_ones(folder: Path) -> dict[str, str]:
    """The right solutions in another style, under names that no wrong one has."""
    return {f"right, {name}": body for name, body in tables(folder)["RIGHTS"].items()}


def parts(path: Path) -> tuple[str, str, str]:
    """A lab's file: before its marked region, inside of it, after it."""
    text = path.read_text(encoding="utf-8")
    (region,) = REGION.finditer(text)
    return text[: region.start("body")], region["body"], text[region.end("body") :]


def with_region(starter: Path, body: str) -> str:
    """The starter with other lines between the marks."""
    before, _, after = parts(starter)
    indent = " " * (
        len(before.splitlines()[-1]) - len(before.splitlines()[-1].lstrip())
    )
    return (
        before
        + textwrap.indent(textwrap.dedent(body.strip("\n")), indent)
        + "\n"
        + after
    )


def skip_if_worked_on(folder: Path) -> None:
    """A reader who has solved a lab shall not see its tests fail; CI shall."""
    body = parts(folder / "starter.py")[1]
    if not re.fullmatch(UNWRITTEN, body) and "CI" not in os.environ:
        pytest.skip("this starter holds a reader's work")


def run_pytest(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a lab as its reader does, from the root of the repository."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    with TemporaryDirectory() as place:  # of its own: labs run side by side
        plain = ["-q", "-p", "no:cacheprovider", f"--basetemp={place}/tests"]
        return subprocess.run(
            [sys.executable, "-B", "-m", "pytest", *plain, *arguments],
            cwd=ROOT,
            env=env,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )


def outcomes_of(folder: Path) -> dict[str, dict[str, str]]:
    """candidate -> test -> what the failure says, "" if it passed; one process."""
    with TemporaryDirectory() as place:
        files = [folder / "starter.py", folder / "solution.py"]
        wrongs = {name: body for name, (_, body) in tables(folder)["WRONGS"].items()}
        for name, body in {**wrongs, **right_ones(folder)}.items():
            files.append(Path(place, f"{name}.py"))
            files[-1].write_text(with_region(files[0], body), encoding="utf-8")
        report = Path(place, "report.xml")
        options = [f"--candidate={file}" for file in files]
        ran = run_pytest(folder, f"--junitxml={report}", *options)
        assert ran.returncode == 1, ran.stdout + ran.stderr
        cases = list(ElementTree.parse(report).iter("testcase"))
    found: dict[str, dict[str, str]] = {file.stem: {} for file in files}
    for case in cases:
        test, _, candidate = case.attrib["name"].rstrip("]").partition("[")
        said = "\n".join(bad.text or "" for bad in case)
        for name in [candidate] if candidate else found:  # "": a test without `lab`
            found[name][test] = said
    return found


@pytest.fixture(scope="module")
def outcomes(request):
    """The outcomes of a lab; those of all labs that are asked for come side by side."""
    found = (getattr(item, "callspec", None) for item in request.session.items)
    asked = (
        spec.params["folder"] for spec in found if spec and "folder" in spec.params
    )
    with ThreadPoolExecutor(2) as pool:
        results = {
            folder: pool.submit(outcomes_of, folder) for folder in dict.fromkeys(asked)
        }
        yield lambda folder: results[folder].result()


@every_lab
def test_a_starter_fails_exactly_its_named_tests(folder, outcomes):
    skip_if_worked_on(folder)
    failed = {test for test, said in outcomes(folder)["starter"].items() if said}

    assert tables(folder)["STARTER_FAILS"] == failed


@every_lab
def test_a_starter_says_in_one_line_that_it_is_not_written_yet(folder, outcomes):
    skip_if_worked_on(folder)
    number = folder.name.partition("_")[0]
    said = {text for text in outcomes(folder)["starter"].values() if text}

    assert len(said) == 1
    assert re.fullmatch(rf"not written yet: lab (s01/)?{number}: [^\n]+", said.pop())


@every_lab
def test_a_solution_passes_every_test(folder, outcomes):
    assert set(outcomes(folder)["solution"].values()) == {""}


@every_lab
def test_a_right_solution_in_another_style_passes_every_test(folder, outcomes):
    refused = {
        (name, test): said
        for name in right_ones(folder)
        for test, said in outcomes(folder)[name].items()
        if said
    }

    assert len(right_ones(folder)) >= 2
    assert refused == {}


@every_lab
def test_a_wrong_solution_fails_the_test_that_is_named_for_it(folder, outcomes):
    wrongs = tables(folder)["WRONGS"]
    unnoticed = [
        name for name, (test, _) in wrongs.items() if not outcomes(folder)[name][test]
    ]

    assert len(wrongs) >= 4
    assert unnoticed == []


@every_lab
def test_a_wrong_solution_is_wrong_and_not_merely_misspelt(folder, outcomes):
    said = [
        text
        for name in tables(folder)["WRONGS"]
        for text in outcomes(folder)[name].values()
    ]

    broken = re.compile("cannot be loaded|NameError|UnboundLocalError|SyntaxError")
    assert [text for text in said if broken.search(text)] == []


@every_lab
def test_starter_and_solution_differ_only_in_the_marked_region(folder):
    skip_if_worked_on(folder)
    starter, solution = parts(folder / "starter.py"), parts(folder / "solution.py")

    assert starter[::2] == solution[::2]
    assert re.fullmatch(UNWRITTEN, starter[1])
    assert "NotImplementedError" not in solution[1]


@every_lab
def test_starter_and_solution_have_the_same_signatures(folder):
    starter, solution = (
        signatures(folder / f"{n}.py") for n in ("starter", "solution")
    )

    assert starter == solution != []


def signatures(path: Path) -> list[str]:
    """Every function and class of a file's top two levels, without its body."""
    found = []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for outer in tree.body:
        for node in [outer, *(outer.body if isinstance(outer, ast.ClassDef) else [])]:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found.append(f"{node.name}({ast.unparse(node.args)})")
            elif isinstance(node, ast.ClassDef):
                found.append(f"class {node.name}")
    return found


# --- How a reader runs them ---

DISPATCH = ROOT / "s02_tool_dispatch" / "labs" / "1_dispatch"


def check(*arguments: str, python: tuple[str, ...] = ()) -> tuple[int, str]:
    """Exit status and output of labs/check.py."""
    script = ROOT / "s02_tool_dispatch" / "labs" / "check.py"
    ran = subprocess.run(
        [sys.executable, "-B", *python, script, *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    return ran.returncode, ran.stdout + ran.stderr


def test_both_chapters_have_the_same_conftest_for_their_labs():
    texts = {(ROOT / chapter / "labs/conftest.py").read_text() for chapter in CHAPTERS}

    assert len(texts) == 1


@pytest.mark.parametrize(
    ("options", "summary"),
    [
        pytest.param([], "2 failed, 2 passed", id="starter"),
        pytest.param(["--solution"], "4 passed", id="solution"),
    ],
)
def test_the_first_lab_counts_as_its_page_says(options, summary):
    if not options:
        skip_if_worked_on(DISPATCH)
    ran = run_pytest(DISPATCH, *options)

    assert ran.stdout.splitlines()[-1].startswith(f"{summary} in ")


def test_the_labs_of_both_chapters_run_together():
    ran = run_pytest(DISPATCH, "s01_agent_loop/labs/2_pairing", "--solution")

    assert ran.stdout.splitlines()[-1].startswith("9 passed in ")


def test_check_lists_every_lab_and_what_is_next():
    for lab in LABS:
        skip_if_worked_on(lab.values[0])
    status, printed = check()
    names = [
        line.split("]")[1].split()[0] for line in printed.splitlines() if "] " in line
    ]

    assert status == 0
    assert names == ["s01/1", "s01/2", *"123456789"]
    assert "Next is lab s01/1: read s01_agent_loop/labs/1_break_the_bound/" in printed


def test_check_shows_a_lab_with_its_hint_and_then_the_way_on():
    status, printed = check("s01/2", "--solution")

    assert (status, "Hint" in printed) == (0, False)
    assert "Lab s01/2 is done." in printed
    assert "check.py 1" in printed


@pytest.mark.parametrize(
    ("language", "title"),
    [pytest.param([], "Hint", id="en"), pytest.param(["--zh"], "提示", id="zh")],
)
def test_check_gives_the_hint_of_the_page_when_a_lab_fails(language, title):
    skip_if_worked_on(DISPATCH)
    status, printed = check("1", *language)

    assert status == 1
    assert "2 failed, 2 passed" in printed
    assert f"\n{title}\n" in printed
    assert "isinstance(returned, Awaitable)" in printed


def test_check_says_how_to_get_pytest_where_it_is_missing():
    assert check("1", python=("-I", "-S")) == (
        2,
        "pytest is missing. Install it: python3 -m pip install pytest\n",
    )


def test_check_names_the_labs_when_there_is_no_such_one():
    status, printed = check("12")

    assert status == 2
    assert "There is no lab '12'; the labs are: s01/1, s01/2, 1, 2," in printed
