"""The drill of a boundary that its reader wrote: fair to the right, exact on the wrong.

What can be judged in this process is; what would end or stop it gets its own.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from s02_tool_dispatch import drill, own_boundary
from s02_tool_dispatch.code import ToolRegistry
from tests.chapters import ROOT, chapter_copy, scrubbed_env
from tests.integration import own_boundaries as own
from tests.integration.test_wrong_registries import WRONG as REGISTRIES

OURS = """
from s02_tool_dispatch.code import ToolCall, ToolRegistry, ToolSpec

def build(tools):
    registry = ToolRegistry()
    for tool in tools:
        registry.register(ToolSpec(**vars(tool)))

    def run(blocks):
        calls = [ToolCall(use["id"], use["name"], use["input"]) for use in blocks]
        return [r.to_protocol_block() for r in registry.dispatch_many(calls)]

    return run
"""
NO_FAULT = "no fault: a good call"

# a boundary | the fault it stops at | in what must come
WRONG = [
    (own.dict_of_functions, '"3" for an integer', "handlers that run: 0"),
    (own.error_returned_as_success, "unknown tool", "error, ok"),
    (own.pool_with_as_completed, "second call ends first", "in order"),
    (own.one_result_for_two_calls, "the same call twice", "one answer a call"),
    (own.results_by_id, NO_FAULT, "ok"),
    (own.set_in_a_block, NO_FAULT, "every answer can be sent as JSON"),
    (own.stops_at_the_first_error, "unknown tool", "one answer a call"),
    (own.RefusesAll, NO_FAULT, "ok"),
    (own.IdsFromACounter, NO_FAULT, "one answer a call, in order"),
    (own.JsonLoadsOfAString, "arguments that are no object", "error x3"),
    (own.Coercion, '"3" for an integer', "handlers that run: 0"),
    (own.MissingIsNone, "missing argument", "handlers that run: 0"),
    (own.ExtraDropped, "extra argument", "handlers that run: 0"),
    (own.IsinstanceOfInt, "true for 1", "handlers that run: 0"),
    (own.FlatCheck, "value outside the enum", "handlers that run: 0"),
    (own.NamesInAnyCase, "names that are almost right", "handlers that run: 0"),
    (own.TextOfTheException, "path and token in an error", "no secret"),
    (own.CatchesExceptionOnly, "handler that exits", "error, ok"),
    (own.CoroutineAsText, "failure after an await", "error, ok"),
    (own.BlankError, "error without a text", "an error has a text"),
    (own.ResultAsItIs, "result that is no text", "content is a text"),
    (own.TextAsItIs, "result that cannot be sent", "can be sent as JSON"),
    (own.NoBound, "result of a million characters", "answers are bounded"),
    (own.LastRegistrationWins, "same name twice", "silently takes"),
    (own.KeywordIgnored, "keyword not understood", "enforced or refused"),
    (own.SharedSchema, "edited catalogue", "as it was registered"),
]


def drilled(build):
    """What the drill notes of a boundary, in this process."""
    notes = {}
    bench = drill.Bench(build, lambda **event: notes.update(event))
    own_boundary.drill_boundary(bench)
    return notes


def by_registry(new_registry):
    return lambda tools: drill.through(new_registry(), tools)


@pytest.mark.parametrize(
    "build",
    [own.ByHand, own.all_at_once, by_registry(ToolRegistry)],
    ids=["serial, by hand", "asyncio, renames", "this chapter's"],
)
def test_a_right_boundary_holds_every_tier_whatever_its_style(build):
    notes = drilled(build)

    assert "came" not in notes, notes
    assert notes["tier"] == len(own_boundary.TIERS) + 1


@pytest.mark.parametrize(
    ("build", "fault", "must"),
    [pytest.param(*row, id=row[0].__name__) for row in WRONG],
)
def test_a_wrong_boundary_stops_at_the_fault_that_names_its_wrong(build, fault, must):
    notes = drilled(build)

    assert notes["fault"] == fault, notes
    assert must in notes["must"]
    assert notes["came"] and notes["sent"]


# what the blocks of a turn cannot tell; every other wrong registry is stopped
OURS_ALONE = {
    *("ValidationOutsideTheGuard", "arguments_as_text_accepted", "SharedList"),
    *("result_as_text_whatever_it_is", "only_text_is_a_result", "SharedDefinition"),
    *("NeverFrozen", "HandlerThroughGet", "HashDependsOnOrder", "OneCodeForAll"),
    *("InterruptSwallowed", "InterruptWithoutAnswers", "no_record_when_refused"),
    *("no_traceback_in_the_trace", "TraceFailureEscapes", "HashOfMoreThanTheTools"),
    *("NamesAsText", "BlankErrors"),
}
STOPS_AT = {"nothing_checked": '"3" for an integer'}  # Python itself misses arguments
STOPS_AT |= {"BatchLosesSiblings": "unknown tool"}


@pytest.mark.parametrize(
    ("new_registry", "line"), [pytest.param(*r, id=r[0].__name__) for r in REGISTRIES]
)
def test_a_wrong_registry_stops_there_too_through_the_same_adapter(new_registry, line):
    name = new_registry.__name__
    expected = None if name in OURS_ALONE else STOPS_AT.get(name, line)
    notes = drilled(by_registry(new_registry))

    assert (notes["fault"] if "came" in notes else None) == expected


def test_every_boundary_of_the_file_is_tried():
    builds = {
        name
        for name, value in vars(own).items()
        if getattr(value, "__module__", "") == own.__name__
        and (isinstance(value, type) or "tools" in value.__code__.co_varnames[:1])
    }
    tried = {row[0].__name__ for row in WRONG} | {"ByHand", "all_at_once"}

    assert builds == tried | {row[0].rpartition(".")[2] for row in IN_A_PROCESS}


# --- In a process of its own ---

# a boundary | what is told of it, or "" for one that holds
IN_A_PROCESS = [
    ("own.Hangs", "it hangs"),
    ("own.CallsSysExit", "SystemExit"),
    ("own.CallsOsExit", "the process ended, with status 3"),
    ("own.Forks", "a fork came back"),
    ("own.Prints", ""),
    ("own.ClosesStdout", ""),
    ("own.StartsThreads", ""),
]
IMPORT = f"import sys; sys.path.append({str(ROOT)!r})\n"
IMPORT += "from tests.integration import own_boundaries as own\n"


@pytest.fixture
def judge(tmp_path):
    def judging(text):
        file = tmp_path / "mine.py"
        file.write_text(text)
        return own_boundary.judged(str(file), seconds=2)

    return judging


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes differ on Windows")
@pytest.mark.parametrize(
    ("build", "told"), IN_A_PROCESS, ids=[row[0] for row in IN_A_PROCESS]
)
def test_what_a_boundary_does_to_its_process_is_told_and_harms_nobody(
    judge, build, told
):
    notes, screen = judge(f"{IMPORT}build = {build}")

    assert (
        (told in notes["came"])
        if told
        else notes["tier"] == len(own_boundary.TIERS) + 1
    )
    assert ("calling add" in screen) == (build == "own.Prints")


@pytest.mark.parametrize(
    ("text", "came"),
    [
        ("def build(tools:", "SyntaxError"),
        ("", "KeyError: 'build'"),
        ("build = None", "TypeError"),
        ("raise SystemExit(0)", "SystemExit"),
        ("def build(tools): return None", "TypeError"),
        ("def build(tools): return lambda blocks: None", "no list of blocks but null"),
        ("import os; os.kill(os.getpid(), 9)", "status -9"),
    ],
)
def test_a_file_that_is_no_boundary_is_a_finding_too(judge, text, came):
    notes, _ = judge(text)

    assert came in notes["came"]
    assert notes["tier"] == 1


# --- As a program ---


@pytest.fixture
def program(tmp_path):
    """Run the drill from another folder, as a file, on a bare Python."""
    repo, elsewhere = chapter_copy(tmp_path), tmp_path / "elsewhere"
    elsewhere.mkdir()

    def run(*arguments, flags="-IS"):
        file = str(repo / "s02_tool_dispatch" / "drill.py")
        return subprocess.run(
            [sys.executable, flags, "-B", file, *arguments],
            cwd=elsewhere,
            env=scrubbed_env(tmp_path / "home"),
            capture_output=True,
            text=True,
            timeout=60,
        )

    run.folder = elsewhere
    return run


@pytest.mark.parametrize("flags", ["-IS", "-S"])
def test_our_registry_holds_all_tiers_through_ten_lines(program, flags):
    (program.folder / "ours.py").write_text(OURS)
    run = program("ours.py", flags=flags)

    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.count(" holds\n") == len(own_boundary.TIERS)


def test_the_starter_is_wrong_and_is_never_written_over_a_file(program):
    written, again = program("--init", "mine.py"), program("--init", "mine.py")
    run = program("mine.py")

    assert (written.returncode, again.returncode, run.returncode) == (0, 1, 1)
    assert "File exists" in again.stderr
    parts = re.findall(r"^  (\w+) ", run.stdout, re.M)
    assert parts == ["fault", "sent", "came", "must", "why", "read"]
    assert "KeyError: 'sub'" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["missing.py"], "no such file: 'missing.py'"), (["--init"], "--init needs")],
)
def test_a_mistake_in_the_command_is_told(program, arguments, said):
    run = program(*arguments)

    assert run.returncode == 2
    assert said in run.stderr


def test_every_tier_names_a_section_of_the_page():
    page = (ROOT / own_boundary.PAGE).read_text("utf-8")
    sections = set(re.findall(r"^### (.+)$", page, re.M))

    assert {heading for _, heading, _ in own_boundary.TIERS} <= sections
