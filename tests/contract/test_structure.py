"""What the two chapters promise about their own text, and about being imported."""

from __future__ import annotations

import ast
import difflib
import inspect
import json
import re
import subprocess
import sys
import textwrap
import time

import pytest

from s01_agent_loop import code as s01
from s02_tool_dispatch import code as s02
from tests.chapters import ROOT, every_python, scrubbed_env
from tests.sections import CHAPTERS, sections
from tests.tools import Probe, call, registry_of, spec
from tests.turns import T, Talk, both_chapters, text, use

# --- The loop of s02 is the loop of s01, but for two statements ---

TOOLS = ("tools = [BASH_TOOL]", r"tools = registry\.model_schemas\(\)")
DISPATCH = r"registry\.dispatch_many\(list\(turn\.tool_calls\)\)"
RUN = (
    "results = run_tools(turn.tool_calls, workdir)",
    rf"(\w+) = {DISPATCH}; results = \[(\w+)\.to_protocol_block\(\) for \2 in \1\]"
    rf"|results = \[(\w+)\.to_protocol_block\(\) for \3 in {DISPATCH}\]",
)


def loop_of(chapter):
    return inspect.getsource(chapter.agent_loop)


def statements(source):
    """The lines of a function as Python itself would write its syntax tree."""
    return ast.unparse(ast.parse(textwrap.dedent(source))).splitlines()


def differences(old, new):
    """Pairs of what stands in the one and in the other; `registry` for `workdir`."""
    ours, theirs = statements(old), statements(new)
    theirs[0] = theirs[0].replace("registry: ToolRegistry", "workdir: Path")
    matcher = difflib.SequenceMatcher(None, ours, theirs, autojunk=False)
    return [
        ("; ".join(map(str.strip, ours[a:b])), "; ".join(map(str.strip, theirs[c:d])))
        for kind, a, b, c, d in matcher.get_opcodes()
        if kind != "equal"
    ]


def only_the_two_named(found):
    return len(found) == 2 and all(
        was == old and re.fullmatch(new, now)
        for (was, now), (old, new) in zip(found, (TOOLS, RUN), strict=True)
    )


def test_the_loop_of_s02_differs_from_that_of_s01_in_two_statements_only():
    for layout in (loop_of(s02), ast.unparse(ast.parse(loop_of(s02)))):
        found = differences(loop_of(s01), layout)
        assert only_the_two_named(found), found


@pytest.mark.parametrize(
    "old, new",
    [
        *[("max_turns < 1", "max_turns <= 1"), ("= MAX_TURNS", "= 5")],
        *[("tools = registry", "tools = x = registry")],
        *[("list(turn.tool_calls)", "turn.tool_calls[:1]")],
        *[("        turns += 1\n", ""), ("            show(reply)\n", "")],
        *[("                raise\n", "                return None\n")],
        *[("        turns += 1\n", "        turns += 1\n        made = 0\n")],
    ],
)
def test_any_other_difference_in_the_loop_is_caught(old, new):
    assert old in loop_of(s02)
    wrong = loop_of(s02).replace(old, new)

    assert not only_the_two_named(differences(loop_of(s01), wrong))


# --- The banners are true, and the file is in the order of its reader ---


def untruths(old, new):
    """What the banners of a file say wrongly about the file before it."""
    before = {s.title: s.text for s in old if s.number}
    wrong = []
    for section in (s for s in new if s.number):
        same = before.get(section.title) == section.text
        truth = "carried" if same else "changed" if section.title in before else "new"
        if section.mark != truth:
            wrong.append(f"{section.title} is {truth}, not {section.mark}")
    return wrong


S01, S02 = (sections(ROOT / chapter) for chapter in CHAPTERS)


def test_every_banner_is_true_and_s01_is_all_new():
    assert untruths([], S01) == [] and untruths(S01, S02) == []


@pytest.mark.parametrize("found", [S01, S02], ids=["s01", "s02"])
def test_sections_are_numbered_in_order_and_have_titles_of_their_own(found):
    titles = [section.title for section in found]

    assert [section.number for section in found] == list(range(len(found)))
    assert len(set(titles)) == len(titles) > 6


@pytest.mark.parametrize(
    "title, body, truth",
    [
        *[("Words", "x = 1", "carried"), ("Words", "x = 1  # one", "changed")],
        ("Other", "x = 1", "new"),
    ],
)
def test_an_untrue_banner_is_caught(title, body, truth, tmp_path):
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    old.write_text("# --- 1. Words (new) ---\n\nx = 1\n")
    for mark in ("carried from s01", "changed from s01", "new"):
        new.write_text(f"# --- 1. {title} ({mark}) ---\n\n{body}\n")
        is_true = untruths(sections(old), sections(new)) == []
        assert is_true == mark.startswith(truth)


BOUNDARY = ["Words", "Results and errors", "The schema, compiled", "The registry"]
BOUNDARY += ["The loop"]
DIVIDER = re.compile(r"# ={60,}")


def test_what_s01_already_showed_stands_below_the_divider_of_s02():
    lines = (ROOT / CHAPTERS[1]).read_text("utf-8").splitlines()
    divider = max(i for i, line in enumerate(lines, 1) if DIVIDER.fullmatch(line))
    above = [section.title for section in S02 if section.first < divider]
    below = [section for section in S02 if section.first > divider]

    assert above[1:6] == BOUNDARY
    assert {section.mark for section in below} <= {"carried", "changed"} and below
    assert not [s.title for s in S02[2:] if s.mark == "carried" and s not in below]


# --- A mature validator fits into the same place ---


def compile_with_jsonschema(schema):
    import jsonschema

    validator = jsonschema.Draft202012Validator(schema)
    try:
        validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise ValueError(f"{error.json_path}: {error.message}") from error
    return lambda value: [e.json_path + e.message for e in validator.iter_errors(value)]


def with_jsonschema(day):
    """A tool that takes a day, checked by jsonschema, and its probe."""
    pytest.importorskip("jsonschema", reason="needs jsonschema")
    probe = Probe()
    tool = probe.spec("a", {"day": day}, ["day"])
    return registry_of(tool, compile_schema=compile_with_jsonschema), probe


def test_jsonschema_takes_the_place_of_the_validator():
    registry, probe = with_jsonschema({"type": "string", "pattern": "^[A-Z]"})
    days = [{"day": "Monday"}, {"day": "monday"}, {"day": 1}, {}, {"day": "M", "x": 1}]
    results = [call(registry, "a", arguments) for arguments in days]

    assert [r.error_code for r in results] == [None, *["invalid_arguments"] * 4]
    assert "$.day" in results[1].content and probe.got == days[:1]


@pytest.mark.parametrize("wrong", [{"type": "text"}, {"pattern": 5}, {"minimum": "3"}])
def test_jsonschema_refuses_a_wrong_schema_at_registration(wrong):
    with pytest.raises(ValueError, match=r"'a'.*builtin.*\$\.properties\.day"):
        with_jsonschema(wrong)


# --- Importing a chapter has no effect ---

IMPORTER = """
import json, os, sys, threading, importlib
root, chapter = sys.argv[1:]
sys.path.insert(0, root)
os.mkdir("gone"), os.chdir("gone"), os.rmdir("../gone")  # no folder to be taken
state = lambda: [dict(os.environ), list(sys.path), threading.active_count()]
events = []
def hook(event, arguments):
    writes = event == "open" and set(str(arguments[1])) & set("wax+")
    if writes or event.split(".")[0] in ("socket", "subprocess", "urllib", "shutil"):
        events.append(event)
    if event in ("os.putenv", "os.unsetenv", "os.mkdir", "os.chdir", "os.system"):
        events.append(event)
before, known = state(), set(sys.modules)
sys.addaudithook(hook)
importlib.import_module(chapter + ".code")
unchanged = state() == before
loaded = {name: sys.modules[name] for name in set(sys.modules) - known}
files = {name: getattr(module, "__file__", None) for name, module in loaded.items()}
print(json.dumps({"unchanged": unchanged, "events": events, "files": files}))
"""
LATE = {
    *["asyncio", "concurrent", "traceback", "tempfile", "hashlib", "subprocess"],
    *["argparse", "readline", "anthropic", "dotenv", "logging", "ssl", "pdb"],
}


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use stays there")
@pytest.mark.parametrize("python", every_python(), ids=range(len(every_python())))
@pytest.mark.parametrize("chapter", ["s01_agent_loop", "s02_tool_dispatch"])
def test_importing_a_chapter_has_no_effect(chapter, python, tmp_path):
    child = subprocess.run(
        [python, "-B", "-c", IMPORTER, str(ROOT), chapter],
        cwd=tmp_path,
        env=scrubbed_env(tmp_path / "home"),
        capture_output=True,
        text=True,
    )
    assert (child.returncode, child.stderr) == (0, "")
    assert child.stdout.count("\n") == 1
    seen = json.loads(child.stdout)
    assert not {name.partition(".")[0] for name in seen["files"]} & LATE
    assert "site-packages" not in str(seen["files"])
    assert (seen["unchanged"], seen["events"]) == (True, [])
    assert [path.name for path in tmp_path.rglob("*")] == ["home"]


# --- The cost of a turn does not grow with the conversation ---


def long_talk(chapter, tmp_path, turns, at_turn):
    """A conversation of so many turns; `at_turn` is called before each of them."""
    tools = tmp_path if chapter is s01 else registry_of(spec("a", lambda: "fine"))

    def script():
        for number in range(turns):
            at_turn(number)
            calls = [use(f"t{number}", "a", {})] * (number < turns - 1)
            yield T("tool_use", text("next"), *calls)

    return Talk(chapter, tools).play(script(), max_turns=turns)


@both_chapters
def test_a_turn_late_in_a_conversation_costs_no_more_lines_than_an_early_one(
    chapter, tmp_path
):
    lines, at = [0], {}

    def count(frame, event, argument):
        if frame.f_code.co_filename != chapter.__file__:
            return None
        lines[0] += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        long_talk(chapter, tmp_path, 250, lambda n: at.update({n: lines[0]}))
    finally:
        sys.settrace(before)
    early, late = at[70] - at[50], at[240] - at[220]
    assert 0 < late <= 1.1 * early


@both_chapters
def test_a_turn_late_in_a_conversation_takes_no_longer_than_an_early_one(
    chapter, tmp_path
):
    at = {}
    clock = time.process_time
    result = long_talk(chapter, tmp_path, 1_000, lambda n: at.update({n: clock()}))
    early, late = at[120] - at[20], at[980] - at[880]

    assert (result.turns, result.stop_reason) == (1_000, "final_answer")
    assert late <= 5 * early + 0.02
