"""Lab 3: the order of the stages, seen from outside.

Swap two stages of your list and look which test fails, and what it says.
"""

import threading

from s02_tool_dispatch.code import ToolCall, ToolFailure, ToolSpec, object_schema

SECRET = "sk-0123456789"


def tool(name, handler, **properties):
    """A spec with a closed schema; every property is a string and required."""
    schema = object_schema(
        {p: {"type": t} for p, t in properties.items()}, [*properties]
    )
    return ToolSpec(name, "a tool", schema, handler)


ECHO = tool("echo", lambda text: text, text="string")


def call(name, **arguments):
    return ToolCall("t1", name, arguments)


def or_the_walk(lines, advice):
    """The next step, unless the line was written before anything had happened."""
    too_early = [line for line in lines if (line.outcome, line.text) == ("ok", "")]
    return "go_on() must do all that comes after the stage" if too_early else advice


def test_a_call_runs_and_is_traced_once_at_its_end(lab, expect):
    ran, lines = [], []
    echo = tool("echo", lambda text: ran.append(text) or text, text="string")
    came = lab.Pipeline([echo], lines.append).dispatch(call("echo", text="hello"))

    advice = "call the first stage; its go_on() calls the second one, and so on"
    expect('dispatch echo("hello")', (came.content, came.ok), ("hello", True), advice)
    expect("what echo was given", ran, ["hello"], "each stage stands there once")
    wanted = [("echo", "ok", "hello")]
    advice = "trace writes after its go_on() came back: everything must happen inside"
    seen = [(line.name, line.outcome, line.text) for line in lines]
    expect("the trace", seen, wanted, advice)


def test_a_denied_call_is_still_traced_and_does_not_run(lab, expect):
    ran, lines = [], []
    note = tool("note", ran.append, x="string")
    pipeline = lab.Pipeline([note], lines.append, approver=lambda call: False)
    came = pipeline.dispatch(call("note", x="1"))

    got = (came.error_code, ran)
    expect("a denied call", got, (lab.NOT_APPROVED, []), "approve before run")
    outcomes = [line.outcome for line in lines]
    advice = "a stage in front of trace can end the call without a line: trace first"
    expect("the trace", outcomes, [lab.NOT_APPROVED], advice)


def test_a_denied_call_learns_nothing_about_the_tools(lab, expect):
    pipeline = lab.Pipeline([], approver=lambda call: False)
    came = pipeline.dispatch(call("guess")).error_code

    expect("a denied unknown tool", came, lab.NOT_APPROVED, "approve before check")


def test_invalid_arguments_do_not_run_and_start_no_clock(lab, expect):
    ran, lines = [], []
    pipeline = lab.Pipeline([tool("note", ran.append, x="string")], lines.append)
    came = pipeline.dispatch(call("note", x=1)).error_code

    called = "dispatch note(x=1), where x must be a string"
    expect(called, (came, ran), ("invalid_arguments", []), "check before run")
    advice = "the clock is for what runs: check before time_limit"
    expect("the deadline in the trace", [x.deadline for x in lines], [None], advice)


def test_the_time_a_human_takes_is_not_the_tools_time(lab, expect):
    now, lines = [100.0], []

    def slow_human(asked):
        now[0] += 3_600
        return True

    pipeline = lab.Pipeline([ECHO], lines.append, slow_human, 60, clock=lambda: now[0])
    came = pipeline.dispatch(call("echo", text="hello")).content

    called = "dispatch with an approver who takes an hour, and a limit of 60 seconds"
    wanted = ("hello", [100.0 + 3_600 + 60])
    advice = or_the_walk(lines, "approve before time_limit")
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
    called = "dispatch with a secret in the text"
    expect(called, whole, "no secret", advice, SECRET not in whole)

    short = lab.Pipeline([show], secrets=[SECRET], limit=52)
    cut = short.dispatch(call("show")).content
    advice = "a secret that is cut in half is not found any more: redact before cap"
    called = "the same, cut inside the secret"
    expect(called, cut, "no half of it", advice, "sk-" not in cut)


def test_a_failure_is_redacted_too(lab, expect):
    def fail():
        raise ToolFailure(f"refused for {SECRET}", "quota")

    lines = []
    pipeline = lab.Pipeline([tool("fail", fail)], lines.append, secrets=[SECRET])
    came = pipeline.dispatch(call("fail")).content

    wanted = "Error [quota]: refused for [redacted]"
    advice = "run goes on after a failure: redact and cap come after run"
    expect("dispatch of a tool that fails", came, wanted, advice)
    advice = or_the_walk(lines, "the trace holds what the model got: trace first")
    expect("the trace", [line.text for line in lines], [wanted], advice)


def test_the_cap_comes_last(lab, expect):
    show = tool("show", lambda: "k1 " * 30)
    pipeline = lab.Pipeline([show], secrets=["k1"], limit=100)
    came = pipeline.dispatch(call("show")).content

    advice = "redaction makes a text longer: only what comes last promises a length"
    expect("the length of 90 characters, capped at 100", len(came), 100, advice)


def test_one_pipeline_serves_many_calls_also_two_at_once(lab, expect):
    came, lines = {}, []
    right = threading.Thread(target=lambda: dispatch("right"))
    right_asked, left_ended = threading.Event(), threading.Event()

    def approver(asked):
        if asked.arguments["text"] == "left":
            right.start()
            return right_asked.wait(1)
        right_asked.set()
        return right.ident is None or left_ended.wait(1)

    def dispatch(text):
        came[text] = pipeline.dispatch(call("echo", text=text)).content

    pipeline = lab.Pipeline([ECHO], lines.append, approver, limit=10)
    dispatch("first")
    dispatch("second and more")
    wanted = {"first": "first", "second and more": "seco [cut]"}
    advice = "every dispatch begins at the first stage: walk nothing that gets used up"
    expect("two calls, one after the other", came, wanted, advice)

    right_asked.clear()
    dispatch("left")
    left_ended.set()
    if right.is_alive():
        right.join()
    wanted.update(left="left", right="right")
    advice = "keep how far a call is in a local variable; let no call wait for another"
    expect("`right` begins while `left` waits, and ends after it", came, wanted, advice)
    texts = sorted(line.text for line in lines)
    expect("the trace of all four", texts, sorted(wanted.values()), "one line for each")


def test_any_stage_may_look_again_when_the_others_have_ended(lab, expect):
    seen = []
    pipeline = lab.Pipeline([ECHO])
    pipeline.approve = lambda attempt, go_on: (go_on(), seen.append(attempt.text))
    pipeline.dispatch(call("echo", text="hello"))

    advice = "go_on() comes back when all later stages have: trace is no special case"
    expect("what another `approve` sees after go_on()", seen, ["hello"], advice)


def test_what_approver_and_trace_sink_raise_goes_up(lab, expect):
    def fail(given):
        raise ConnectionError("nobody is there")

    for part, wanted in ("approver", []), ("trace_sink", ["1"]):
        ran = []
        note = tool("note", lambda x, ran=ran: ran.append(x), x="string")
        try:
            came = lab.Pipeline([note], **{part: fail}).dispatch(call("note", x="1"))
        except ConnectionError:
            came = "ConnectionError"
        advice = "do not catch it: who could not be asked has not said yes"
        called = f"dispatch, with a failing {part}"
        expect(called, (came, ran), ("ConnectionError", wanted), advice)
