"""Lab 8: an old session is recorded with the chapter's tools, then replayed."""

import pytest

from s02_tool_dispatch.code import (
    ToolCall,
    ToolRegistry,
    ToolSpec,
    Workspace,
    build_registry,
    object_schema,
)

SESSION = [
    ("glob", {"pattern": "*.txt"}),
    ("write_file", {"path": "a.txt", "content": "one\n"}),
    ("read_file", {"path": "a.txt", "limit": 2000}),
    ("read_file", {"path": "a.txt", "limit": "5"}),
    ("delete_file", {"path": "a.txt"}),
    ("read_file", {"path": "missing.txt"}),
    ("bash", {"command": "exit 3"}),
    (None, {}),
]


def tools_in(folder):
    """The chapter's five tools in a new folder."""
    folder.mkdir()
    return build_registry(Workspace(folder))


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """The calls of SESSION, played once, and what became of each."""
    registry = tools_in(tmp_path_factory.mktemp("session") / "then")
    calls = [ToolCall(f"then_{i}", *call) for i, call in enumerate(SESSION)]
    codes = [registry.dispatch(call).error_code or "ok" for call in calls]
    return [
        (call.name, call.arguments, code)
        for call, code in zip(calls, codes, strict=True)
    ]


@pytest.fixture
def records(lab, session, tmp_path):
    """The old session, read back from its file."""
    found = [lab.Recorded(*played) for played in session]
    lab.save(tmp_path / "session.jsonl", found)
    return lab.load(tmp_path / "session.jsonl")


@pytest.fixture
def definitions(tmp_path):
    """The contracts of the five tools."""
    return tools_in(tmp_path / "contracts").definitions()


def changed(definitions):
    """Tomorrow's contracts: glob is called find, and read_file is smaller and wider."""
    for tool in definitions:
        if tool["name"] == "glob":
            tool["name"] = "find"
        if tool["name"] == "read_file":
            tool["input_schema"]["properties"]["limit"] = {"maximum": 500}
    path = object_schema({"path": {"type": "string"}}, ["path"])
    words = {"name": "delete_file", "description": "Delete.", "input_schema": path}
    return [*definitions, words]


def brief(differences):
    """Which calls differ, and how."""
    return [(d.index, d.name, d.before, d.after) for d in differences]


def counting():
    """A registry with one tool, `count`, that adds to its list and to the one given."""
    ran = []

    def count(items):
        ran.append(list(items))
        items.append("changed by the tool")

    registry = ToolRegistry()
    schema = object_schema({"items": {"type": "array"}}, ["items"])
    registry.register(ToolSpec("count", "Count.", schema, count))
    return registry, ran


def test_nothing_differs_while_the_contracts_are_the_same(
    lab, records, definitions, expect
):
    got = brief(lab.replay(records, lab.rehearsal(definitions)))

    next_step = "ok then and NOT_RUN now is no difference: nothing was refused"
    expect("replay against the same contracts", got, [], next_step)


def test_a_call_that_would_now_fail_is_found(lab, records, definitions, expect):
    differences = lab.replay(records, lab.rehearsal(changed(definitions)))

    wanted = [(0, "glob", "ok", "unknown_tool")]
    wanted += [(2, "read_file", "ok", "invalid_arguments")]
    next_step = "dispatch every call, also after one that failed"
    called = "now_failing(replay against changed contracts)"
    expect(called, brief(lab.now_failing(differences)), wanted, next_step)


def test_a_difference_says_why(lab, records, definitions, expect):
    differences = lab.replay(records, lab.rehearsal(changed(definitions)))

    reasons = " ".join(d.reason for d in differences if d.before == "ok")
    wanted = "both 'glob' and 'limit must be at most 500' in it"
    holds = "'glob'" in reasons and "limit must be at most 500" in reasons
    next_step = "the result of dispatch has the sentence for it: its content"
    expect("the reasons of replay(...)", reasons, wanted, next_step, holds)


def test_a_refused_call_that_would_now_pass_is_a_difference_too(
    lab, records, definitions, expect
):
    differences = lab.replay(records, lab.rehearsal(changed(definitions)))

    wanted = [(3, "read_file", "invalid_arguments", "not_run")]
    wanted += [(4, "delete_file", "unknown_tool", "not_run")]
    got = brief(d for d in differences if d.before != "ok")
    next_step = "refused then and let through now: the model may have learnt from it"
    expect("replay against changed contracts", got, wanted, next_step)


def test_a_failure_of_the_tool_itself_is_not_compared_with_a_rehearsal(
    lab, definitions, expect
):
    old = [lab.Recorded("bash", {"command": "exit 3"}, "nonzero_exit")]
    old += [lab.Recorded("gone", {}, "disk_full")]

    got = brief(lab.replay(old, lab.rehearsal(definitions)))
    wanted = [(1, "gone", "disk_full", "unknown_tool")]
    next_step = "NOT_RUN says nothing about a failure of the tool; unknown_tool does"
    expect(f"replay({old})", got, wanted, next_step)


def test_a_replay_in_a_new_folder_really_runs_in_order(lab, records, tmp_path, expect):
    registry = tools_in(tmp_path / "now")
    got = brief(lab.replay(records, registry))

    next_step = "one by one in order: call 2 reads what call 1 wrote"
    expect("replay with real tools in a new folder", got, [], next_step)
    written = (tmp_path / "now" / "a.txt").is_file()
    expect("the same; is a.txt there?", written, True, "dispatch on `registry` itself")


def test_a_rehearsal_runs_no_tool(lab, records, definitions, tmp_path, expect):
    before = sorted(tmp_path.rglob("*"))
    lab.replay(records, lab.rehearsal(definitions))

    next_step = "dispatch on the registry that you were given, on no other"
    expect("the files after replay", sorted(tmp_path.rglob("*")), before, next_step)


def test_a_cancelled_call_is_not_dispatched(lab, expect):
    registry, ran = counting()
    old = [lab.Recorded("count", {"items": [i]}, "cancelled") for i in (1, 2)]
    old.insert(1, lab.Recorded("count", {"items": [0]}, "ok"))
    got = brief(lab.replay(old, registry)), ran

    next_step = "leave it out: nobody knows whether it did its work"
    expect("replay(...), and what ran", got, ([], [[0]]), next_step)


def test_a_replay_can_be_repeated_because_records_are_not_changed(lab, expect):
    registry, ran = counting()
    call = ToolCall("then_0", "count", {"items": ["first"]})
    old = [lab.record(call, registry)]
    lab.replay(old, registry)
    lab.replay(old, registry)

    next_step = "a handler may change its arguments: give it a copy of them"
    called = "what ran, once recorded and twice replayed"
    expect(called, ran, [["first"], ["first"], ["first"]], next_step)


def test_a_call_of_every_place_is_named_by_its_index(lab, expect):
    registry, _ = counting()
    same = lab.Recorded("count", {"items": 1}, "ok")
    got = [d.index for d in lab.replay([same, same, same], registry)]

    next_step = "equal calls are still three calls: count with enumerate"
    expect("the indices of three equal calls", got, [0, 1, 2], next_step)


def test_outcomes_are_counted_for_each_tool(lab, records, expect):
    got = lab.counts(records)["read_file", "ok"]

    expect('counts(records)["read_file", "ok"]', got, 1, "this one is given: undo it")
