"""What the tests of the labs share; both chapters' labs hold the same file.

    .venv/bin/python -m pytest s02_tool_dispatch/labs/1_dispatch               yours
    .venv/bin/python -m pytest s02_tool_dispatch/labs/1_dispatch --solution    ours

A test takes `lab`, the module under test, and `expect`, which fails in words. Whatever
goes wrong is told in one form: what was called, what came back or was raised, what was
expected, and what to do next.
"""

import importlib.util
import inspect
import linecache
import os
import pprint
import reprlib
import signal
import sys
import textwrap
import threading
import traceback
from pathlib import Path

import pytest

SECONDS = 20  # for one test: a lab that hangs is told so
SECONDS_OF_A_CANDIDATE = 5
LONGEST_SHOWN = 300  # characters; of longer values only where they differ
LAB_FILE = pytest.StashKey[Path]()
LEFT_ALONE = (KeyboardInterrupt, pytest.exit.Exception, pytest.xfail.Exception)
FAILED = pytest.StashKey[bool]()
HANGS = pytest.StashKey[str]()

NEXT_STEPS = {
    AttributeError: "print what stands before the dot: it is of another type",
    IndexError: "print the list in that line: it is shorter than you took it to be",
    KeyError: "print the dict in that line, or use .get: this key is not in it",
    RuntimeWarning: "put `await` before the call that makes the coroutine",
    SyntaxError: "correct that line, or the one before it",
    IndentationError: "give that line the indent of the lines around it",
    TypeError: "print the type of each value in that line: one is not what you think",
}


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
    """Run each test once for each --candidate FILE, or one test for FILE::TEST."""
    given = metafunc.config.getoption("--candidate")
    if given and "lab" in metafunc.fixturenames:
        pairs = [candidate.partition("::")[::2] for candidate in given]
        name = metafunc.function.__name__
        files = [Path(file) for file, test in pairs if test in ("", name)]
        names = [file.stem for file in files]
        metafunc.parametrize("lab", files, indirect=True, ids=names)


@pytest.fixture
def lab(request):
    """The module under test, loaded afresh by its path: nothing is left of a test."""
    chosen = "solution" if request.config.getoption("--solution") else "starter"
    path = Path(getattr(request, "param", request.path.with_name(f"{chosen}.py")))
    request.node.stash[LAB_FILE] = path
    name = f"lab_of_{request.path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    problem = None
    start_alarm(request.node)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # the reader's file may hold anything
        problem = failure_to_load(error, path)
    finally:
        stop_alarm()
    if problem:
        end_the_run(request.node, "the file cannot be loaded")
        pytest.fail(problem, pytrace=False)
    yield module
    del sys.modules[name]


# --- What a failure says ---


def told(**rows):
    """Labelled rows; a value of several lines stands indented beside its label."""
    lines = []
    for label, said in rows.items():
        said = textwrap.indent(str(said), " " * 13).strip()
        lines.append(f"{label.replace('_', ' ') + ':':11}  {said}")
    return "\n".join(["", *lines])


def shown(value):
    """A value as a literal, over several lines if it is long."""
    return pprint.pformat(value, width=70, sort_dicts=False)


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
        if inspect.iscoroutine(got):
            got.close()
            next_step = NEXT_STEPS[RuntimeWarning]
        came = {"came_back": shown(got), "expected": wanted}
        if holds is None:
            came = where_they_differ(got, wanted)
        problem = told(called=called, **came, next=next_step)
        pytest.fail(problem, pytrace=False)

    return expect


def where_they_differ(got, wanted):
    """The rows on two values; of long ones only the first parts that differ."""
    path, got_there, wanted_there = first_difference(got, wanted)
    came, right = shown(got), shown(wanted)
    if len(came) + len(right) > LONGEST_SHOWN:
        came, right = got_there, wanted_there
    place = {"differs_at": path} if path and len(shown(got)) > 70 else {}
    return {**place, "came_back": came, "expected": right}


def first_difference(got, wanted, path=""):
    """The path to the first part that differs, `[2]["content"]`, and both as text."""
    if type(got) is type(wanted) and isinstance(got, (dict, list, tuple)):
        for key, part in parts(got).items():
            if key not in parts(wanted):
                return f"{path}[{key!r}]", shown(part), "nothing there"
            if part != wanted[key]:
                return first_difference(part, wanted[key], f"{path}[{key!r}]")
        for key, part in parts(wanted).items():
            if key not in parts(got):
                return f"{path}[{key!r}]", "nothing there", shown(part)
    return path, shown(got), shown(wanted)


def parts(value):
    """The parts of a dict by key, of a list by place."""
    return value if isinstance(value, dict) else dict(enumerate(value))


def failure_to_load(error, path):
    """What a file says that Python cannot even load."""
    number = getattr(error, "lineno", None) or places(error, path)[1]
    return told(
        called=f"import {path.name}, which cannot be loaded",
        raised=raised(error, path, number),
        expected="a file that Python can load",
        next=next_step_after(error),
    )


def failure_of_a_call(error, item):
    """What an exception says that came out of the reader's lines or out of a test."""
    path = item.stash[LAB_FILE]
    called, number = places(error, path)
    rows = {"expected": "no exception", "next": next_step_after(error)}
    if not called:
        path, called, number = item.path, item.name, places(error, item.path)[1]
    if number and path == item.path:  # the value that came was of no use to the test
        rows = {
            "expected": "a value of the kind that the docstring names",
            "next": "what your code gave is of another kind; is an `await` missing?",
        }
    return told(called=called, raised=raised(error, path, number), **rows)


def places(error, path):
    """The call that led into a file, as text, and the file's last line on the way."""
    steps = list(traceback.walk_tb(error.__traceback__))
    inside = [(f, n) for f, n in steps if f.f_code.co_filename == str(path)]
    if not inside:
        return None, None
    frame = inside[0][0]
    given = inspect.getargvalues(frame)
    names = [name for name in given.args if name != "self"]
    arguments = ", ".join(f"{n}={reprlib.repr(given.locals.get(n))}" for n in names)
    return f"{frame.f_code.co_name}({arguments})", inside[-1][1]


def raised(error, path, number):
    """Type, text and line of an exception."""
    text = textwrap.shorten(f"{type(error).__name__}: {error}", LONGEST_SHOWN)
    if not number:
        return text
    source = linecache.getline(str(path), number).strip()
    return f"{text}\nin {path.name}, line {number}: {source}"


def next_step_after(error):
    """What to do about an exception, by its type."""
    for kind, next_step in NEXT_STEPS.items():
        if isinstance(error, kind):
            return next_step
    return "go to that line with the values of `called`, and see why it raises"


def cause_of(error):
    """The exception itself, without the groups and warnings that pytest wraps it in."""
    while getattr(error, "exceptions", None):
        error = error.exceptions[0]
    if isinstance(error, pytest.PytestWarning) and error.__cause__:
        return error.__cause__
    return error


# --- How a test ends ---


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_call(item):
    """Tell every failure in one form; a test that hangs ends, and the run with it."""
    start_alarm(item)
    outcome = yield
    stop_alarm()
    if outcome.excinfo:
        item.stash[FAILED] = True
        retell(item, outcome)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_teardown(item):
    """A coroutine that nobody awaited may be noticed late: tell it once, in words."""
    outcome = yield
    if outcome.excinfo and item.stash.get(FAILED, False):
        outcome.force_result(None)
    elif outcome.excinfo:
        retell(item, outcome)


def retell(item, outcome):
    """Put words in the place of an exception that the reader's lines have raised."""
    error = cause_of(outcome.excinfo[1])
    if HANGS in item.stash:
        problem = item.stash[HANGS]
    elif isinstance(error, (pytest.fail.Exception, pytest.skip.Exception)):
        return
    elif isinstance(error, NotImplementedError):
        problem = f"not written yet: {error}"
    elif LAB_FILE not in item.stash or isinstance(error, LEFT_ALONE):
        return
    else:
        problem = failure_of_a_call(error, item)
    outcome.force_exception(pytest.fail.Exception(problem, pytrace=False))


def end_the_run(item, reason):
    """Say the same thing once, not for each test; candidates go on, for our tests."""
    if not item.config.getoption("--candidate"):
        item.session.shouldfail = reason


def start_alarm(item):
    """Interrupt what takes too long, again each second if it does not let go."""
    if not hasattr(signal, "SIGALRM"):
        return
    many = item.config.getoption("--candidate")
    seconds = SECONDS_OF_A_CANDIDATE if many else SECONDS

    def out_of_time(number, frame):
        item.stash.setdefault(HANGS, still_in(item, frame, seconds))
        item.config.stash[HANGS] = "a thread may hang, too"
        end_the_run(item, "a test does not come back")
        pytest.fail(item.stash[HANGS], pytrace=False)

    signal.signal(signal.SIGALRM, out_of_time)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)


def stop_alarm():
    """The test has come back."""
    if hasattr(signal, "SIGALRM"):
        signal.setitimer(signal.ITIMER_REAL, 0)


def still_in(item, frame, seconds):
    """Where a test hangs: in the reader's file, be it in another thread."""
    path = item.stash.get(LAB_FILE, item.path)
    for stack in [frame, *sys._current_frames().values()]:
        for place, number in traceback.walk_stack(stack):
            if place.f_code.co_filename == str(path):
                source = linecache.getline(str(path), number).strip()
                return told(
                    called=f"{place.f_code.co_name}(...)",
                    came_back=f"does not come back: after {seconds} s still in"
                    f" {path.name}, line {number}: {source}",
                    expected="an answer at once",
                    next="what does that line wait for, and what would end the loop?",
                )
    return told(
        called=item.name,
        came_back=f"does not come back: after {seconds} s still in"
        f" {Path(frame.f_code.co_filename).name}, line {frame.f_lineno}",
        expected="an answer at once",
        next="which of your calls and threads waits for something that never comes?",
    )


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    """A thread that hangs would keep the process from ending after all is told."""
    if HANGS in config.stash and threading.active_count() > 1:
        sys.stdout.flush()
        os._exit(1)
