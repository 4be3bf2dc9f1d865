"""Lab 3: the order of the stages, seen from outside.

Swap two stages of your list and look which test fails, and what it says.
"""

import threading

from s02_tool_dispatch.code import ToolCall, ToolFailure, ToolSpec, object_schema

SECRET = "sk-0123456789"


class Clock:
    """A clock that only the test moves."""

    now = 100.0

    def __call__(self):
        return self.now


def tool(name, handler, **properties):
    """A spec with a closed schema; every property is a string and required."""
    schema = object_schema(
        {p: {"type": t} for p, t in properties.items()}, [*properties]
    )
    return ToolSpec(name, "a tool", schema, handler)


def call(name, **arguments):
    return ToolCall("t1", name, arguments)


def test_a_call_runs_and_is_traced_once_at_its_end(lab, expect):
    lines = []
    echo = tool("echo", lambda text: text, text="string")
    came = lab.Pipeline([echo], lines.append).dispatch(call("echo", text="hello"))

    advice = "call the first stage; its go_on() calls the second one, and so on"
    expect('dispatch echo("hello")', (came.content, came.ok), ("hello", True), advice)
    wanted = [("echo", "ok", "hello")]
    advice = "trace writes after its go_on() came back: everything must happen inside"
    seen = [(line.name, line.outcome, line.text) for line in lines]
    expect("the trace", seen, wanted, advice)


def test_a_denied_call_is_still_traced_and_does_not_run(lab, expect):
    ran, lines = [], []
    note = tool("note", ran.append, x="string")
    pipeline = lab.Pipeline([note], lines.append, approver=lambda call: False)
    came = pipeline.dispatch(call("note", x="1"))

    called = "dispatch of a call that the approver denies"
    expect(called, (came.error_code, ran), (lab.NOT_APPROVED, []), "approve before run")
    outcomes = [line.outcome for line in lines]
    advice = "a stage in front of trace can end the call without a line: trace first"
    expect("the trace", outcomes, [lab.NOT_APPROVED], advice)


def test_a_denied_call_learns_nothing_about_the_tools(lab, expect):
    pipeline = lab.Pipeline([], approver=lambda call: False)
    came = pipeline.dispatch(call("guess")).error_code

    called = "dispatch of an unknown tool that the approver denies"
    expect(called, came, lab.NOT_APPROVED, "approve before check")


def test_invalid_arguments_do_not_run_and_start_no_clock(lab, expect):
    ran, lines = [], []
    pipeline = lab.Pipeline([tool("note", ran.append, x="string")], lines.append)
    came = pipeline.dispatch(call("note", x=1)).error_code

    called = "dispatch note(x=1), where x must be a string"
    expect(called, (came, ran), ("invalid_arguments", []), "check before run")
    advice = "the clock is for what runs: check before time_limit"
    expect("the deadline in the trace", [x.deadline for x in lines], [None], advice)


def test_the_time_a_human_takes_is_not_the_tools_time(lab, expect):
    clock, lines = Clock(), []

    def slow_human(asked):
        clock.now += 3_600
        return True

    echo = tool("echo", lambda text: text, text="string")
    pipeline = lab.Pipeline([echo], lines.append, slow_human, 60, clock=clock)
    came = pipeline.dispatch(call("echo", text="hello")).content

    called = "dispatch with an approver who takes an hour, and a limit of 60 seconds"
    wanted = ("hello", [100.0 + 3_600 + 60])
    advice = "approve before time_limit"
    expect(called, (came, [line.deadline for line in lines]), wanted, advice)


def test_a_tool_that_does_not_end_is_a_timeout(lab, expect):
    released = threading.Event()
    stuck = tool("stuck", lambda: released.wait(1))
    try:
        came = lab.Pipeline([stuck], seconds=0).dispatch(call("stuck")).error_code
    finally:
        released.set()

    advice = "run looks at the deadline when it starts: time_limit before run"
    expect("dispatch of a tool that waits", came, lab.TIMEOUT, advice)


def test_redaction_sees_the_raw_text(lab, expect):
    show = tool("show", lambda: "x" * 40 + SECRET + "y" * 40)
    whole = lab.Pipeline([show], secrets=[SECRET]).dispatch(call("show")).content
    advice = "redact what the tool returned: run before redact"
    expect(
        "dispatch with a secret in the text",
        whole,
        "no secret",
        advice,
        SECRET not in whole,
    )

    cut = (
        lab.Pipeline([show], secrets=[SECRET], limit=52).dispatch(call("show")).content
    )
    advice = "a secret that is cut in half is not found any more: redact before cap"
    expect(
        "the same, cut inside the secret",
        cut,
        "no half of it",
        advice,
        "sk-" not in cut,
    )


def test_a_failure_is_redacted_too(lab, expect):
    def fail():
        raise ToolFailure(f"refused for {SECRET}", "quota")

    lines = []
    pipeline = lab.Pipeline([tool("fail", fail)], lines.append, secrets=[SECRET])
    came = pipeline.dispatch(call("fail")).content

    wanted = "Error [quota]: refused for [redacted]"
    advice = "run goes on after a failure: redact and cap come after run"
    expect("dispatch of a tool that fails", came, wanted, advice)
    advice = "the trace is read by people and programs: it holds what the model got"
    expect("the trace", [line.text for line in lines], [wanted], advice)


def test_the_cap_comes_last(lab, expect):
    show = tool("show", lambda: "k1 " * 30)
    pipeline = lab.Pipeline([show], secrets=["k1"], limit=100)
    came = pipeline.dispatch(call("show")).content

    called = "dispatch of 90 characters that redaction makes longer, capped at 100"
    advice = "only what comes last can promise a length: cap at the end of the list"
    expect(called, len(came), 100, advice)
