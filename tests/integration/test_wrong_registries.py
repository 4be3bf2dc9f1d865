"""The drill can fail: each guard that a registry lacks makes its line fail."""

from __future__ import annotations

from functools import cache

import pytest

from s02_tool_dispatch.code import ToolRegistry
from s02_tool_dispatch.drill import run_drill
from tests.integration import wrong_registries as wrong

# the wrong registry | a line of the drill that must fail with it
WRONG = [
    (wrong.LastRegistrationWins, "same name twice"),
    (wrong.text_coerced_to_number, '"3" for an integer'),
    (wrong.true_taken_for_one, "true for 1"),
    (wrong.extra_arguments_dropped, "extra argument"),
    (wrong.enum_ignored, "value outside the enum"),
    (wrong.items_ignored, "wrong item in a list"),
    (wrong.nested_required_ignored, "missing in a nested object"),
    (wrong.arguments_as_text_accepted, "arguments that are no object"),
    (wrong.nothing_checked, "missing argument"),
    (wrong.ValidationOutsideTheGuard, "validator that crashes"),
    (wrong.exception_text_to_the_model, "path and token in an error"),
    (wrong.result_as_text_whatever_it_is, "result that cannot be sent"),
    (wrong.only_text_is_a_result, "result that is no text"),
    (wrong.awaitable_not_awaited, "failure after an await"),
    (wrong.awaitable_failure_kept_as_text, "failure after an await"),
    (wrong.SharedList, "edited catalogue"),
    (wrong.SharedDefinition, "edited catalogue"),
    (wrong.SharedSchema, "edited catalogue"),
    (wrong.NeverFrozen, "registered after freeze"),
    (wrong.HandlerThroughGet, "way around the gate"),
    (wrong.HashDependsOnOrder, "registered in two orders"),
    (wrong.UnknownRaises, "unknown tool"),
    (wrong.GuessesNames, "names that are almost right"),
    (wrong.BatchLosesSiblings, "first of a batch raises"),
    (wrong.ResultsInFinishOrder, "second call ends first"),
    (wrong.ErrorAsSuccess, "unknown tool"),
    (wrong.BlankErrors, "error without a text"),
    (wrong.keyword_ignored, "keyword not understood"),
    (wrong.NamesAsText, "names that are no text"),
    (wrong.OneCodeForAll, "failure that the tool expects"),
    (wrong.InterruptSwallowed, "Ctrl-C in the second of three"),
    (wrong.InterruptWithoutAnswers, "Ctrl-C in the second of three"),
    (wrong.ExitEscapes, "handler that exits"),
    (wrong.NoBoundOnResults, "result of a million characters"),
    (wrong.no_record_when_refused, "missing argument"),
    (wrong.no_traceback_in_the_trace, "path and token in an error"),
    (wrong.TraceFailureEscapes, "trace that cannot be written"),
    (wrong.everything_refused, "no fault: a good call"),
    (wrong.RemembersCalls, "the same call twice"),
    (wrong.HashOfMoreThanTheTools, "catalogue hash before and after"),
]


@cache
def failing(new_registry):
    """The names of the lines that are not as they must be."""
    return [line.fault for line in run_drill(new_registry) if not line.ok]


def test_the_right_registry_fails_no_line():
    assert failing(ToolRegistry) == []


@pytest.mark.parametrize(
    ("new_registry", "line"), [pytest.param(*row, id=row[0].__name__) for row in WRONG]
)
def test_a_registry_without_one_guard_fails_its_line(new_registry, line):
    assert line in failing(new_registry)


def test_every_line_of_the_drill_can_fail():
    """No line is there for show: some wrong registry makes it fail."""
    seen = {name for new_registry, _ in WRONG for name in failing(new_registry)}
    every = {line.fault for line in run_drill(ToolRegistry)}

    assert every - seen == set()


def test_every_wrong_registry_stands_in_the_table():
    """A wrong registry that nobody tries proves nothing."""
    made = {
        name
        for name, value in vars(wrong).items()
        if callable(value)
        and getattr(value, "__module__", "") == wrong.__name__
        and name not in ("with_validator", "with_handlers", "without")
    }

    assert made <= {row[0].__name__ for row in WRONG}
