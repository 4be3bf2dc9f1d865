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
MANY = "test_one_pipeline_serves_many_calls_also_two_at_once"
AGAIN = "test_any_stage_may_look_again_when_the_others_have_ended"
RAISES = "test_what_approver_and_trace_sink_raise_goes_up"
STARTER_FAILS = {RUNS, DENIED, LEARNS, INVALID, HUMAN, TIMEOUT, RAW, FAILURE, CAP}
STARTER_FAILS |= {MANY, AGAIN, RAISES}

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
    "the position is kept on the pipeline": (
        MANY,
        order(
            RIGHT,
            """
self.position = 0

def go_on():
    if self.position < len(stages):
        self.position += 1
        stages[self.position - 1](attempt, go_on)

go_on()
""",
        ),
    ),
    "the position is kept on the pipeline and put back": (
        MANY,
        order(
            RIGHT,
            """
was, self.position = getattr(self, "position", 0), 0

def go_on():
    if self.position < len(stages):
        self.position += 1
        stages[self.position - 1](attempt, go_on)

go_on()
self.position = was
""",
        ),
    ),
    "the list is used up by the first call": (
        MANY,
        order(
            RIGHT,
            """
self.stages = getattr(self, "stages", stages)

def go_on():
    if self.stages:
        self.stages.pop(0)(attempt, go_on)

go_on()
""",
        ),
    ),
    "the first call is the one that all stages work on": (
        MANY,
        order(
            RIGHT,
            """
if not hasattr(self, "first"):
    self.first = lambda: None
    for stage in reversed(stages):
        after = self.first
        self.first = lambda stage=stage, after=after: stage(attempt, after)
self.first()
""",
        ),
    ),
    "a fault of the approver is swallowed": (
        RAISES,
        order(
            RIGHT,
            """
def go_on(position):
    if position < len(stages):
        stages[position](attempt, lambda: go_on(position + 1))

try:
    go_on(0)
except Exception:
    pass
""",
        ),
    ),
    "a fault of the approver becomes a result": (
        RAISES,
        order(
            RIGHT,
            """
def go_on(position):
    if position < len(stages):
        stages[position](attempt, lambda: go_on(position + 1))

try:
    go_on(0)
except Exception as error:
    attempt.refuse("execution_error", type(error).__name__)
""",
        ),
    ),
    "a fault of the trace sink is swallowed": (
        RAISES,
        order(
            RIGHT,
            """
asked = []

def go_on(position):
    asked.extend(["yes"] * (position == 2))
    if position < len(stages):
        stages[position](attempt, lambda: go_on(position + 1))

try:
    go_on(0)
except Exception:
    if not asked:
        raise
""",
        ),
    ),
    "a loop with flags, and a trace by hand": (
        AGAIN,
        """
for stage in [
    self.approve,
    self.check,
    self.time_limit,
    self.run,
    self.redact,
    self.cap,
]:
    called = []
    stage(attempt, lambda: called.append(True))
    if not called:
        break
self.trace(attempt, lambda: None)
""",
    ),
}

RIGHTS = {
    "one iterator for each call": """
rest = iter(
    [
        self.trace,
        self.approve,
        self.check,
        self.time_limit,
        self.run,
        self.redact,
        self.cap,
    ]
)

def go_on():
    for stage in rest:
        return stage(attempt, go_on)

go_on()
""",
    "folded from the last stage to the first": """
from functools import partial, reduce

stages = (
    self.trace,
    self.approve,
    self.check,
    self.time_limit,
    self.run,
    self.redact,
    self.cap,
)
wrap = lambda after, stage: partial(stage, attempt, after)
reduce(wrap, reversed(stages), lambda: None)()
""",
}
