"""Lab 8: an old session is recorded with the chapter's tools, then replayed."""

import pytest

from s02_tool_dispatch.code import (
    ToolCall,
    ToolFailure,
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
    (["glob"], {"pattern": "*"}),
    ("glob", None),
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


def or_none(differences, advice):
    """The next step, unless a code is None or its text."""
    codes = {code for d in differences for code in (d.before, d.after)}
    strange = codes & {None, "None"}
    return "None is no code: a result without error_code is `ok`" if strange else advice


def counting(trace=None):
    """A registry with one tool, `count`, that adds to its list and to the one given."""
    ran = []

    def count(items):
        ran.append(list(items))
        items.append("changed by the tool")

    registry = ToolRegistry(trace=trace)
    schema = object_schema({"items": {"type": "array"}}, ["items"])
    registry.register(ToolSpec("count", "Count.", schema, count))
    return registry, ran


def test_nothing_differs_while_the_contracts_are_the_same(
    lab, records, definitions, expect
):
    found = lab.replay(records, lab.rehearsal(definitions))

    next_step = "ok then and NOT_RUN now is no difference: nothing was refused"
    if any(d.before in lab.REFUSED for d in found):
        next_step = "dispatch what was recorded as it was: None is no empty object"
    expect("replay against the same contracts", brief(found), [], next_step)


def test_a_call_that_would_now_fail_is_found(lab, records, definitions, expect):
    differences = lab.replay(records, lab.rehearsal(changed(definitions)))

    wanted = [(0, "glob", "ok", "unknown_tool")]
    wanted += [(2, "read_file", "ok", "invalid_arguments")]
    got = brief(lab.now_failing(differences))
    next_step = "dispatch every call, also after one that failed"
    if got == wanted[::-1]:
        next_step = "from the first call to the last"
    expect("now_failing(replay against changed contracts)", got, wanted, next_step)


def test_a_difference_says_why(lab, records, definitions, expect):
    registry = lab.rehearsal(changed(definitions))
    found = lab.replay(records, registry)

    for d in found:
        wanted = registry.dispatch(ToolCall("again", *SESSION[d.index])).content
        next_step = "the result of dispatch has the whole sentence for it: its content"
        expect(f"the reason for call {d.index}", d.reason, wanted, next_step)


def test_a_refused_call_that_would_now_pass_is_a_difference_too(
    lab, records, definitions, expect
):
    differences = lab.replay(records, lab.rehearsal(changed(definitions)))

    wanted = [(3, "read_file", "invalid_arguments", "not_run")]
    wanted += [(4, "delete_file", "unknown_tool", "not_run")]
    wanted += [(9, "glob", "invalid_arguments", "unknown_tool")]
    got = brief(d for d in differences if d.before != "ok")
    next_step = "what was refused then and comes to another code now differs, too"
    expect("replay against changed contracts", got, wanted, next_step)


def test_a_failure_of_the_tool_itself_is_not_compared_with_a_rehearsal(
    lab, definitions, expect
):
    old = [lab.Recorded("bash", {"command": "exit 3"}, "nonzero_exit")]
    old += [lab.Recorded("gone", {}, "disk_full"), lab.Recorded(["bash"], {}, "ok")]
    old += [lab.Recorded("", {}, "ok")]

    got = brief(lab.replay(old, lab.rehearsal(definitions)))
    wanted = [(1, "gone", "disk_full", "unknown_tool")]
    wanted += [(2, ["bash"], "ok", "unknown_tool"), (3, "", "ok", "unknown_tool")]
    next_step = "NOT_RUN says nothing about a failure of the tool; unknown_tool does"
    expect(f"replay({old})", got, wanted, next_step)


def test_a_replay_in_a_new_folder_really_runs_in_order(lab, records, tmp_path, expect):
    registry = tools_in(tmp_path / "now")
    found = lab.replay(records, registry)

    next_step = or_none(found, "one by one in order: call 2 reads what call 1 wrote")
    expect("replay with real tools in a new folder", brief(found), [], next_step)
    written = (tmp_path / "now" / "a.txt").is_file()
    expect("the same; is a.txt there?", written, True, "dispatch on `registry` itself")


def test_a_rehearsal_runs_no_tool(lab, records, definitions, tmp_path, expect):
    before = sorted(tmp_path.rglob("*"))
    lab.replay(records, lab.rehearsal(definitions))

    next_step = "dispatch on the registry that you were given, on no other"
    expect("the files after replay", sorted(tmp_path.rglob("*")), before, next_step)


def test_a_cancelled_call_is_not_dispatched(lab, expect):
    registry, ran = counting()
    given = [([1], "cancelled"), ([0], "ok"), ([2], "cancelled"), ("no list", "ok")]
    old = [lab.Recorded("count", {"items": items}, code) for items, code in given]
    found = lab.replay(old, registry)

    next_step = "leave it out: nobody knows whether it did its work"
    expect("what ran", ran, [[0]], next_step)
    next_step = or_none(found, "count the cancelled ones too: `index` is of `records`")
    wanted = [(3, "count", "ok", "invalid_arguments")]
    expect("replay of four, two of them cancelled", brief(found), wanted, next_step)


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
    traced = []
    registry, _ = counting(traced.append)
    same = lab.Recorded("count", {"items": 1}, "ok")
    for time in ("first", "second"):
        traced.clear()
        got = [d.index for d in lab.replay([same, same, same], registry)]
        next_step = "equal calls are still three calls: count with enumerate"
        expect(f"the indices, the {time} time", got, [0, 1, 2], next_step)
    got = len({trace.tool_use_id for trace in traced})
    expect("the ids of three equal calls", got, 3, "put the index into the id")


def test_every_other_code_is_a_difference_when_tools_really_run(lab, expect):
    def answer(code):
        if code != "ok":
            raise ToolFailure("as you asked", code)

    registry = ToolRegistry()
    schema = object_schema({"code": {"type": "string"}}, ["code"])
    registry.register(ToolSpec("answer", "Come to a code.", schema, answer))
    changes = [("ok", "execution_error"), ("disk_full", "ok"), ("ok", "disk_full")]
    changes += [("disk_full", "quota"), ("quota", "quota"), ("not_run", "ok")]
    changes += [("unknown_tool", "ok"), ("execution_error", "ok")]
    changes += [("cancelled_by_host", "ok")]
    old = [lab.Recorded("answer", {"code": now}, then) for then, now in changes]
    found = lab.replay(old, registry)

    numbered = enumerate(changes)
    wanted = [(i, "answer", then, now) for i, (then, now) in numbered if then != now]
    next_step = or_none(
        found, "news can be good too: compare codes, whichever they are"
    )
    expect("replay, old and new codes", brief(found), wanted, next_step)


def test_outcomes_are_counted_for_each_tool(lab, records, expect):
    got = lab.counts(records)["read_file", "ok"]

    expect('counts(records)["read_file", "ok"]', got, 1, "this one is given: undo it")
