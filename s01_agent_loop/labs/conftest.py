"""What the tests of the labs share; both chapters' labs hold the same file.

    python3 -m pytest s02_tool_dispatch/labs/1_dispatch               your starter.py
    python3 -m pytest s02_tool_dispatch/labs/1_dispatch --solution    solution.py

A test takes `lab`, the module under test, and `expect`, which fails in words.
"""

import importlib.util
import pprint
import signal
import sys
import textwrap
from pathlib import Path

import pytest

SECONDS = 20  # for one test: a lab that hangs is told so
SECONDS_OF_A_CANDIDATE = 5


def pytest_addoption(parser):
    """Add the options, once, also when both chapters' labs are run together."""
    options = {
        "--solution": {"action": "store_true", "help": "labs: test solution.py"},
        "--candidate": {"action": "append", "help": "labs: test this file, and others"},
    }
    for name, settings in options.items():
        try:
            parser.addoption(name, **settings)
        except ValueError:
            return  # the other chapter's conftest was here first


def pytest_generate_tests(metafunc):
    """With --candidate FILE ... every test runs once for each of these files."""
    files = metafunc.config.getoption("--candidate")
    if files and "lab" in metafunc.fixturenames:
        names = [Path(file).stem for file in files]
        metafunc.parametrize("lab", files, indirect=True, ids=names)


@pytest.fixture
def lab(request):
    """The module under test, loaded afresh by its path: nothing is left of a test."""
    chosen = "solution" if request.config.getoption("--solution") else "starter"
    path = Path(getattr(request, "param", request.path.with_name(f"{chosen}.py")))
    name = f"lab_of_{request.path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the reader's file may hold anything
        line = getattr(error, "lineno", "?")
        what = f"{type(error).__name__}: {error}"
        pytest.fail(f"{path.name} cannot be loaded, line {line}: {what}", pytrace=False)
    yield module
    del sys.modules[name]


def shown(value):
    """A value as an indented literal; a text that explains stays a text."""
    text = pprint.pformat(value, width=70, sort_dicts=False)
    return textwrap.indent(text, " " * 13).strip()


@pytest.fixture
def expect():
    """Fail, in words, unless `got` equals `wanted`, or unless `holds` if it is given.

    expect("f(1)", got, 2, "add one")
    expect("f(1)", got, "some even number", "add one", holds=got % 2 == 0)
    """

    def expect(called, got, wanted, next_step, holds=None):
        __tracebackhide__ = True
        if got == wanted if holds is None else holds:
            return
        rows = {
            "called": called,
            "came back": shown(got),
            "expected": shown(wanted) if holds is None else wanted,
            "next": next_step,
        }
        lines = [f"{label + ':':11}  {said}" for label, said in rows.items()]
        pytest.fail("\n".join(["", *lines]), pytrace=False)

    return expect


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """A region that is not written yet is one line, and a test that hangs ends."""
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, out_of_time)
        many = item.config.getoption("--candidate")
        signal.alarm(SECONDS_OF_A_CANDIDATE if many else SECONDS)
    outcome = yield
    if hasattr(signal, "SIGALRM"):
        signal.alarm(0)
    error = outcome.excinfo[1] if outcome.excinfo else None
    if isinstance(error, NotImplementedError):
        unwritten = pytest.fail.Exception(f"not written yet: {error}", pytrace=False)
        outcome.force_exception(unwritten)


def out_of_time(number, frame):
    """The alarm of a test that does not come back."""
    place = f"{Path(frame.f_code.co_filename).name}, line {frame.f_lineno}"
    pytest.fail(f"does not come back: still in {place}", pytrace=False)
