"""Look up, check, run, trace: in this order, and a refused call reaches no handler.

The check, the handler and the sink write into one log; so does the screen.
"""

from __future__ import annotations

import pytest

from s02_tool_dispatch import code as s02
from tests.tools import call, calls
from tests.turns import T, Talk, text, use


@pytest.fixture
def log():
    return []


@pytest.fixture
def registry(log):
    """One tool, `a`, that logs every step of its calls."""

    def compile_schema(schema):
        check = s02.compile_schema(schema)
        log.append("compile")
        return lambda value: log.append("check") or check(value)

    def handler(n):
        log.append(f"run {n}")
        if n == 13:
            raise s02.ToolFailure("unlucky", code="unlucky")
        return n * 2

    registry = s02.ToolRegistry(
        compile_schema, lambda r: log.append(f"trace {r.outcome}")
    )
    schema = s02.object_schema({"n": {"type": "integer"}}, ["n"])
    registry.register(s02.ToolSpec("a", "doubles", schema, handler))
    return registry


def test_a_schema_is_compiled_when_its_tool_is_registered(registry, log):
    assert log == ["compile"]


STEPS = [
    pytest.param("a", {"n": 1}, ["check", "run 1", "trace ok"], id="works"),
    pytest.param("a", {"n": 13}, ["check", "run 13", "trace unlucky"], id="fails"),
    pytest.param(
        "a", {"n": "1"}, ["check", "trace invalid_arguments"], id="wrong type"
    ),
    pytest.param("a", {}, ["check", "trace invalid_arguments"], id="missing"),
    pytest.param(
        "a", {"n": 1, "m": 2}, ["check", "trace invalid_arguments"], id="extra"
    ),
    pytest.param("a", None, ["check", "trace invalid_arguments"], id="no object"),
    pytest.param("b", {"n": 1}, ["trace unknown_tool"], id="unknown"),
    pytest.param("A", {"n": "1"}, ["trace unknown_tool"], id="unknown before wrong"),
    pytest.param(None, None, ["trace unknown_tool"], id="nothing"),
]


@pytest.mark.parametrize("name, arguments, steps", STEPS)
def test_a_call_goes_through_its_steps_in_order(registry, log, name, arguments, steps):
    log.clear()
    call(registry, name, arguments)

    assert log == steps


def test_calls_of_one_turn_go_through_all_their_steps_one_after_the_other(
    registry, log
):
    log.clear()
    turn = [s02.ToolCall(f"t{n}", "a", {"n": n}) for n in (1, 13, 2)]
    registry.dispatch_many([*turn, *calls("b")])

    first = ["check", "run 1", "trace ok", "check", "run 13", "trace unlucky"]
    assert log == [*first, "check", "run 2", "trace ok", "trace unknown_tool"]


def test_a_whole_turn_is_shown_run_traced_and_shown_in_this_order(registry, log):
    def show(message):
        log.append(f"show {message['content'][0]['type']}")

    log.clear()
    calls = [use("t1", "a", {"n": 1}), use("t2", "a", {"n": None}), use("t3", "b", {})]
    talk = Talk(s02, registry)
    talk.ask(T("tool_use", *calls), T("end_turn", text("done")), show=show)

    ran = ["check", "run 1", "trace ok", "check", "trace invalid_arguments"]
    whole = [
        "show tool_use",
        *ran,
        "trace unknown_tool",
        "show tool_result",
        "show text",
    ]
    assert log == whole
    assert talk.goes_on()


@pytest.mark.parametrize("stop_reason", ["refusal", "max_tokens"])
def test_a_turn_that_may_not_run_reaches_neither_check_nor_handler(
    registry, log, stop_reason
):
    log.clear()
    Talk(s02, registry).ask(T(stop_reason, use("t1", "a", {"n": 1})))

    assert log == []


def test_what_the_model_is_told_is_what_was_traced(registry, log):
    turn = [use(f"t{n}", "a", {"n": n}) for n in (1, 13)] + [use("t3", "b", {})]
    talk = Talk(s02, registry)
    talk.ask(T("tool_use", *turn), T("end_turn", text("done")))

    assert talk.said()[:2] == ["2", "Error [unlucky]: unlucky"]
    assert talk.said()[2].startswith("Error [unknown_tool]: ")
    traced = [line for line in log if line.startswith("trace")]
    assert traced == ["trace ok", "trace unlucky", "trace unknown_tool"]
