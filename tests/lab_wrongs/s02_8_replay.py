"""Wrong solutions of lab 8, replay."""

STARTER_FAILS = {
    "test_nothing_differs_while_the_contracts_are_the_same",
    "test_a_call_that_would_now_fail_is_found",
    "test_a_difference_says_why",
    "test_a_refused_call_that_would_now_pass_is_a_difference_too",
    "test_a_failure_of_the_tool_itself_is_not_compared_with_a_rehearsal",
    "test_a_replay_in_a_new_folder_really_runs_in_order",
    "test_a_rehearsal_runs_no_tool",
    "test_a_cancelled_call_is_not_dispatched",
    "test_a_replay_can_be_repeated_because_records_are_not_changed",
    "test_a_call_of_every_place_is_named_by_its_index",
    "test_every_other_code_is_a_difference_when_tools_really_run",
}
RIGHT = """
differences = []
for index, old in enumerate(records):
    if old.outcome == CANCELLED:
        continue
    arguments = json.loads(json.dumps(old.arguments))
    result = registry.dispatch(ToolCall(f"replay_{index}", old.name, arguments))
    before, after = old.outcome, result.error_code or "ok"
    says_nothing = after == NOT_RUN and before not in REFUSED
    if before != after and not says_nothing:
        found = Difference(index, old.name, before, after, result.content)
        differences.append(found)
return differences
"""


def but(right: str, wrong: str) -> str:
    """The solution with one thing changed."""
    assert right in RIGHT
    return RIGHT.replace(right, wrong)


WRONGS = {
    "not-run-is-always-a-difference": (
        "test_nothing_differs_while_the_contracts_are_the_same",
        but("after == NOT_RUN and before not in REFUSED", "False"),
    ),
    "not-run-is-taken-for-ok": (
        "test_a_failure_of_the_tool_itself_is_not_compared_with_a_rehearsal",
        but("after == NOT_RUN and before not in REFUSED", "False").replace(
            "if before", "after = 'ok' if after == NOT_RUN else after\n    if before"
        ),
    ),
    "not-run-says-nothing-at-all": (
        "test_a_refused_call_that_would_now_pass_is_a_difference_too",
        but("after == NOT_RUN and before not in REFUSED", "after == NOT_RUN"),
    ),
    "only-what-worked-is-replayed": (
        "test_a_refused_call_that_would_now_pass_is_a_difference_too",
        but("old.outcome == CANCELLED", 'old.outcome != "ok"'),
    ),
    "stops-at-the-first-difference": (
        "test_a_call_that_would_now_fail_is_found",
        but("differences.append(found)", "return [found]"),
    ),
    "only-ok-or-not-is-compared": (
        "test_a_failure_of_the_tool_itself_is_not_compared_with_a_rehearsal",
        but("before != after", '(before == "ok") != (after == "ok")'),
    ),
    "the-reason-is-the-code": (
        "test_a_difference_says_why",
        but("result.content", "after"),
    ),
    "cancelled-is-replayed": (
        "test_a_cancelled_call_is_not_dispatched",
        but("old.outcome == CANCELLED", "False"),
    ),
    "the-recorded-arguments-are-lent": (
        "test_a_replay_can_be_repeated_because_records_are_not_changed",
        but("json.loads(json.dumps(old.arguments))", "old.arguments"),
    ),
    "backwards": (
        "test_a_replay_in_a_new_folder_really_runs_in_order",
        but("enumerate(records)", "reversed(list(enumerate(records)))"),
    ),
    "always-a-rehearsal": (
        "test_a_replay_in_a_new_folder_really_runs_in_order",
        but(
            "differences = []",
            "differences = []\nregistry = rehearsal(registry.definitions())",
        ),
    ),
    "index-by-search": (
        "test_a_call_of_every_place_is_named_by_its_index",
        but("Difference(index", "Difference(list(records).index(old)"),
    ),
    "cancelled-ones-are-not-counted": (
        "test_a_cancelled_call_is_not_dispatched",
        but(
            "enumerate(records)",
            "enumerate([r for r in records if r.outcome != CANCELLED])",
        ),
    ),
    "only-bad-news": (
        "test_every_other_code_is_a_difference_when_tools_really_run",
        but("if before != after", 'if after != "ok" and before != after'),
    ),
    "errors-of-tools-are-all-one": (
        "test_every_other_code_is_a_difference_when_tools_really_run",
        but(
            "if before != after",
            'if "ok" not in (before, after) and after not in REFUSED + (NOT_RUN,):\n'
            "        continue\n    if before != after",
        ),
    ),
    "none-is-a-code": (
        "test_a_replay_in_a_new_folder_really_runs_in_order",
        but('result.error_code or "ok"', "str(result.error_code)"),
    ),
    "refused-is-refused": (
        "test_a_refused_call_that_would_now_pass_is_a_difference_too",
        but(
            "if before != after",
            "if before in REFUSED and after in REFUSED:\n"
            "        continue\n    if before != after",
        ),
    ),
    "no-arguments-are-an-empty-object": (
        "test_a_replay_in_a_new_folder_really_runs_in_order",
        but(
            "json.dumps(old.arguments)", "json.dumps(old.arguments or {'pattern': '*'})"
        ),
    ),
    "a-code-that-begins-the-same": (
        "test_every_other_code_is_a_difference_when_tools_really_run",
        but("old.outcome == CANCELLED", "old.outcome.startswith(CANCELLED)"),
    ),
    "a-call-without-a-name": (
        "test_a_failure_of_the_tool_itself_is_not_compared_with_a_rehearsal",
        but("old.outcome == CANCELLED", "old.outcome == CANCELLED or not old.name"),
    ),
    "the-reason-is-cut": (
        "test_a_difference_says_why",
        but("result.content", "result.content.partition(': ')[2]"),
    ),
    "one-id-for-all": (
        "test_a_call_of_every_place_is_named_by_its_index",
        but('f"replay_{index}"', '"replay"'),
    ),
    "a-shallow-copy": (
        "test_a_replay_can_be_repeated_because_records_are_not_changed",
        but(
            "json.loads(json.dumps(old.arguments))",
            "dict(old.arguments) if isinstance(old.arguments, dict) else old.arguments",
        ),
    ),
}

RIGHTS = {
    "a deep copy, and a function that says whether it is news": """
from copy import deepcopy

def is_news(before, after):
    if after == NOT_RUN:
        return before in REFUSED
    return before != after

found = []
for index in range(len(records)):
    name, before = records[index].name, records[index].outcome
    if before != CANCELLED:
        call = ToolCall(f"call-{index}", name, deepcopy(records[index].arguments))
        result = registry.dispatch(call)
        after = "ok" if result.ok else result.error_code
        if is_news(before, after):
            found.append(Difference(index, name, before, after, result.content))
return found
""",
    "all calls first, then all results": """
asked = [(i, old) for i, old in enumerate(records) if old.outcome != CANCELLED]
texts = [json.dumps(old.arguments) for _, old in asked]
results = [
    registry.dispatch(ToolCall(f"r{i}", old.name, json.loads(text)))
    for (i, old), text in zip(asked, texts)
]
every = [
    Difference(i, old.name, old.outcome, result.error_code or "ok", result.content)
    for (i, old), result in zip(asked, results)
]
silent = lambda d: d.after == NOT_RUN and d.before not in REFUSED
return [d for d in every if d.before != d.after and not silent(d)]
""",
}
