"""The labs hold what they promise: starters that fail, solutions that pass.

One pytest process per lab runs all its tests on the starter, the solution and the right
ones of `lab_wrongs/`, and on each wrong one the test that is named for it (FORMAT.md).
"""

from __future__ import annotations

import ast
import os
import re
import runpy
import shutil
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


def run_candidates(
    folder: Path, candidates: dict[str, tuple[str, str]]
) -> dict[str, dict[str, str]]:
    """candidate -> test -> what the failure says, "" if it passed; one process.

    A candidate is the lines of its region, and a test, or "" for all of them.
    """
    options = []
    with TemporaryDirectory() as place:
        for name, (body, test) in candidates.items():
            file = Path(place, f"{name}.py")
            file.write_text(with_region(folder / "starter.py", body), "utf-8")
            options.append(f"--candidate={file}" + (f"::{test}" if test else ""))
        report = Path(place, "report.xml")
        ran = run_pytest(folder, f"--junitxml={report}", *options)
        assert ran.returncode == 1, ran.stdout + ran.stderr
        cases = list(ElementTree.parse(report).iter("testcase"))
    found: dict[str, dict[str, str]] = {name: {} for name in candidates}
    for case in cases:
        test, _, candidate = case.attrib["name"].rstrip("]").partition("[")
        said = "\n".join(bad.text or "" for bad in case)
        for name in [candidate] if candidate else found:  # "": a test without `lab`
            found[name][test] = said
    return found


def outcomes_of(folder: Path) -> dict[str, dict[str, str]]:
    """What the starter, the solution, the wrong and the right ones of a lab come to."""
    names = ("starter", "solution")
    whole = {name: parts(folder / f"{name}.py")[1] for name in names}
    whole |= right_ones(folder)
    wrongs = tables(folder)["WRONGS"]
    candidates = {name: (body, test) for name, (test, body) in wrongs.items()}
    candidates |= {name: (body, "") for name, body in whole.items()}
    return run_candidates(folder, candidates)


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


def check(
    *arguments: str, python: tuple[str, ...] = (), root: Path = ROOT
) -> tuple[int, str]:
    """Exit status and output of labs/check.py."""
    script = root / "s02_tool_dispatch" / "labs" / "check.py"
    ran = subprocess.run(
        [sys.executable, "-B", *python, script, *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    return ran.returncode, ran.stdout + ran.stderr


@pytest.fixture
def labs(tmp_path):
    """The labs in a folder of their own, and a way to write into lab 1's region."""
    ignore = shutil.ignore_patterns("__pycache__", "[3-9]_*", "10_*")
    for chapter in CHAPTERS:
        place = tmp_path / chapter
        shutil.copytree(ROOT / chapter / "labs", place / "labs", ignore=ignore)
        shutil.copy(ROOT / chapter / "code.py", place)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)  # warnings are errors, here too
    starter = DISPATCH / "starter.py"
    written = tmp_path / starter.relative_to(ROOT)

    def write(body: str) -> None:
        written.write_text(with_region(starter, body), "utf-8")

    write('raise NotImplementedError("lab 1: as it was")')
    return tmp_path, write


def test_both_chapters_have_the_same_conftest_for_their_labs():
    texts = {(ROOT / chapter / "labs/conftest.py").read_text() for chapter in CHAPTERS}

    assert len(texts) == 1


BOTH = [DISPATCH, "s01_agent_loop/labs/2_pairing", "--solution"]


@pytest.mark.parametrize(
    ("arguments", "summary"),
    [
        pytest.param([DISPATCH], "2 failed, 2 passed", id="the-first-starter"),
        pytest.param(BOTH, "9 passed", id="solutions-of-both-chapters"),
    ],
)
def test_a_lab_counts_as_its_page_says(arguments, summary):
    if arguments != BOTH:
        skip_if_worked_on(DISPATCH)
    ran = run_pytest(*arguments)

    assert ran.stdout.splitlines()[-1].startswith(f"{summary} in ")


def test_check_lists_every_lab_and_what_is_next():
    for lab in LABS:
        skip_if_worked_on(lab.values[0])
    status, printed = check()
    names = [
        line.split("]")[1].split()[0] for line in printed.splitlines() if "] " in line
    ]

    assert status == 0
    assert names == ["s01/1", "s01/2", *(str(n) for n in range(1, 11))]
    assert "Next is lab s01/1: read s01_agent_loop/labs/1_break_the_bound/" in printed


def test_check_shows_a_lab_with_its_hint_and_then_the_way_on():
    status, printed = check("s01/2", "--solution")

    assert (status, "Hint" in printed) == (0, False)
    assert "Lab s01/2 is done." in printed
    assert "check.py 1" in printed


def test_check_gives_no_hint_for_a_lab_that_is_not_started(labs):
    for _ in range(2):
        status, printed = check("1", root=labs[0])

        assert (status, "Hint" in printed) == (1, False)
        assert "2 failed, 2 passed" in printed
        assert "Lab 1 is not started: read s02_tool_dispatch/labs/1_disp" in printed


@pytest.mark.parametrize(
    ("runs", "hints"),
    [
        pytest.param([[], []], [False, True], id="from-the-second-failure-on"),
        pytest.param([["--hint", "--zh"]], [True], id="when-it-is-asked-for"),
        pytest.param(
            [[], ["--solution"], []], [False, False, True], id="ours-is-not-theirs"
        ),
    ],
)
def test_check_gives_the_hint_when_it_is_due(labs, runs, hints):
    root, write = labs
    write("return None")
    printed = [check("1", *options, root=root)[1] for options in runs]

    assert ["isinstance(returned, Awaitable)" in text for text in printed] == hints
    assert ("\n提示\n" in printed[-1]) == ("--zh" in runs[-1])
    assert hints[0] or "A hint: .venv/bin/python" in printed[0]


# --- What a failure says ---

LATER = "async def later(): pass\n\nlater()\n"
MISTAKES = {
    "no-python": ("return (", "SyntaxError: '(' was never closed", "correct that"),
    "no-such-name": ("return tool", "NameError: name 'tool' is", "go to that line"),
    "a-key-error": ("return {}[name]", "KeyError: 'Add'", "this key is not in it"),
    "the-wrong-type": ("return name + 1", "TypeError: can only con", "print the type"),
    "an-exit": ("raise SystemExit(3)", "SystemExit: 3", "go to that line"),
    "a-coroutine-that-nobody-awaits": (
        LATER + "return None",
        "",
        "look the name up exactly",
    ),
}


@pytest.fixture(scope="module")
def told():
    """What the first lab says of each mistake."""
    rest = textwrap.dedent(parts(DISPATCH / "solution.py")[1])
    bodies = {name: body for name, (body, _, _) in MISTAKES.items()}
    bodies["all-else-is-right"] = LATER + rest
    found = run_candidates(DISPATCH, {name: (b, "") for name, b in bodies.items()})
    return {name: "\n".join(said.values()) for name, said in found.items()}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_in_four_rows_without_a_line_of_the_tests(name, told):
    body, raised, step = MISTAKES[name]
    rows = re.compile(r"^called: .*?^next: [^\n]*", re.DOTALL | re.MULTILINE)
    first = rows.findall(told[name])[0]
    line = parts(DISPATCH / "starter.py")[0].count("\n") + 1

    labels = re.findall(r"^([a-z ]+):  ", first, re.MULTILINE)
    came = ["raised"] if raised else ["came back"]
    assert labels == ["called", *came, "expected", "next"]
    assert raised in first
    assert step in first
    assert not raised or f"in {name}.py, line {line}: {body}" in first
    assert "Traceback" not in told[name]
    assert "def test_" not in told[name]


def test_a_coroutine_that_nobody_awaits_is_told_though_all_else_is_right(told):
    said = told["all-else-is-right"]

    assert "raised:      RuntimeWarning: coroutine" in said
    assert "next:        put `await` before the call" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("return (", id="a-file-that-cannot-be-loaded"),
        pytest.param("while True: pass", id="a-loop-without-an-end"),
        pytest.param("import threading\n\nthreading.Event().wait()", id="a-wait"),
    ],
)
def test_what_would_fail_every_test_is_told_once_and_ends_the_run(labs, body):
    root, write = labs
    for chapter in CHAPTERS:  # a limit that we can wait for
        place = root / chapter / "labs" / "conftest.py"
        text = place.read_text(encoding="utf-8")
        place.write_text(re.sub(r"\nSECONDS = \d+", "\nSECONDS = 0.5", text), "utf-8")
    write(body)
    said = check("1", root=root)[1]

    assert said.count("called: ") == said.count("next: ") == 1
    assert body.splitlines()[-1] in said


@pytest.mark.parametrize(
    ("wanted", "got", "place"),
    [
        pytest.param("[[1], [2, {'a': 3}]]", "[[1], [2, {'a': 4}]]", "[1][1]['a']"),
        pytest.param("[[1], [2]]", "[[1]]", "[1]"),
        pytest.param("[[1]]", "[[1], [2]]", "[1]"),
        pytest.param("{'b': 1, 'a': (1, 2)}", "{'a': (1, 3), 'b': 1}", "['a'][1]"),
        pytest.param("{'b': 1}", "{'a': 1, 'b': 1}", "['a']"),
        pytest.param("[1]", "(1,)", ""),
    ],
)
def test_two_values_differ_at_the_first_place_that_differs(wanted, got, place):
    conftest = runpy.run_path(str(DISPATCH.parent / "conftest.py"))
    found = conftest["first_difference"](
        ast.literal_eval(got), ast.literal_eval(wanted)
    )

    assert found[0] == place


def test_check_says_how_to_get_pytest_where_it_is_missing():
    status, printed = check("1", python=("-I", "-S"))

    assert status == 2
    assert printed.startswith("pytest is missing here. Make .venv once")
    assert "python3 -m venv .venv" in printed


def test_check_names_the_labs_when_there_is_no_such_one():
    status, printed = check("99")

    assert status == 2
    assert "There is no lab '99'; the labs are: s01/1, s01/2, 1, 2," in printed
