"""Look up, check, run, trace: in this order, and a refused call reaches no handler.

The check, the handler and the sink write into one log; so does the screen.
"""

from __future__ import annotations

import pytest

from s02_tool_dispatch import code as s02
from tests.tools import call
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


BAD = ["check", "trace invalid_arguments"]
STEPS = [
    ("a", {"n": 1}, ["check", "run 1", "trace ok"]),
    ("a", {"n": 13}, ["check", "run 13", "trace unlucky"]),
    *[("a", wrong, BAD) for wrong in ({"n": "1"}, {}, {"n": 1, "m": 2}, None)],
    *[(name, {"n": "1"}, ["trace unknown_tool"]) for name in ("b", "A", None)],
]


@pytest.mark.parametrize("name, arguments, steps", STEPS)
def test_a_call_goes_through_its_steps_in_order(registry, log, name, arguments, steps):
    call(registry, name, arguments)

    assert log == ["compile", *steps]


def test_a_whole_turn_is_shown_run_traced_and_shown_in_this_order(registry, log):
    def show(message):
        log.append(f"show {message['content'][0]['type']}")

    turn = [use(f"t{n}", "a", {"n": n}) for n in (1, 13, None)]
    talk = Talk(s02, registry)
    ask = T("tool_use", *turn, use("t", "b", {})), T("end_turn", text("done"))
    talk.ask(*ask, show=show)

    ran = ["check", "run 1", "trace ok", "check", "run 13", "trace unlucky", *BAD]
    ran = ["compile", "show tool_use", *ran, "trace unknown_tool"]
    assert log == [*ran, "show tool_result", "show text"]
    assert talk.said()[:2] == ["2", "Error [unlucky]: unlucky"]
    starts = ("Error [invalid_arguments]: ", "Error [unknown_tool]: ")
    assert all(map(str.startswith, talk.said()[2:], starts)) and talk.goes_on()


@pytest.mark.parametrize("said", ["refusal", "max_tokens"])
def test_a_turn_that_may_not_run_reaches_neither_check_nor_handler(registry, log, said):
    Talk(s02, registry).ask(T(said, use("t1", "a", {"n": 1})))

    assert log == ["compile"]
