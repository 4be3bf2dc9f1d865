"""Wrong solutions of lab 3: every pair of neighbours swapped, and other walks."""

RUNS = "test_a_call_runs_and_is_traced_once_at_its_end"
DENIED = "test_a_denied_call_is_still_traced_and_does_not_run"
LEARNS = "test_a_denied_call_learns_nothing_about_the_tools"
INVALID = "test_invalid_arguments_do_not_run_and_start_no_clock"
HUMAN = "test_the_time_a_human_takes_is_not_the_tools_time"
TIMEOUT = "test_a_tool_that_does_not_end_is_a_timeout"
RAW = "test_redaction_sees_the_raw_text"
FAILURE = "test_a_failure_is_redacted_too"
CAP = "test_the_cap_comes_last"
STARTER_FAILS = {RUNS, DENIED, LEARNS, INVALID, HUMAN, TIMEOUT, RAW, FAILURE, CAP}

WALK = """
def go_on(position):
    if position < len(stages):
        stages[position](attempt, lambda: go_on(position + 1))

go_on(0)
"""


def order(names, walk=WALK):
    """The stages in this order, and what walks them."""
    return f"stages = [{', '.join('self.' + name for name in names.split())}]\n{walk}"


RIGHT = "trace approve check time_limit run redact cap"

WRONGS = {
    "approve, trace": (
        DENIED,
        order("approve trace check time_limit run redact cap"),
    ),
    "check, approve": (
        LEARNS,
        order("trace check approve time_limit run redact cap"),
    ),
    "time_limit, check": (
        INVALID,
        order("trace approve time_limit check run redact cap"),
    ),
    "time_limit, approve": (
        HUMAN,
        order("trace time_limit approve check run redact cap"),
    ),
    "run, time_limit": (
        TIMEOUT,
        order("trace approve check run time_limit redact cap"),
    ),
    "redact, run": (RAW, order("trace approve check time_limit redact run cap")),
    "cap, redact": (CAP, order("trace approve check time_limit run cap redact")),
    "run, check": (INVALID, order("trace approve time_limit run check redact cap")),
    "trace at the end": (
        DENIED,
        order("approve check time_limit run redact cap trace"),
    ),
    "no cap": (CAP, order("trace approve check time_limit run redact")),
    "the alphabet": (RAW, order("approve cap check redact run time_limit trace")),
    "a plain loop": (
        RUNS,
        order(RIGHT, "for stage in stages:\n    stage(attempt, lambda: None)\n"),
    ),
    "a loop that stops at the first failure": (
        FAILURE,
        order(
            RIGHT,
            """
for stage in stages:
    stage(attempt, lambda: None)
    if attempt.code:
        break
""",
        ),
    ),
}
