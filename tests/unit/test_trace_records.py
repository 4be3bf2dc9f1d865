"""One record for each call: the operator sees everything, also what the model does not.

The file that `--trace` writes has tests of its own: here the sink is a list.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from dataclasses import asdict

import pytest

from s02_tool_dispatch import code as s02
from tests.tools import call, calls, raiser, registry_of, spec

INTEGER = {"n": {"type": "integer"}}


def surprise():
    try:
        raise KeyError("the cause")
    except KeyError as cause:
        raise RuntimeError("postgres://u:pw@h/db sk-123") from cause


class OddError(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


MISSING = s02.ToolFailure("no such file: a", code="file_not_found")
TOOLS = [
    *[spec("fine", lambda n=0: "x" * 100, INTEGER), spec("set", lambda: {1})],
    *[spec("surprise", surprise), spec("expected", raiser(MISSING))],
    *[spec("leave", raiser(SystemExit("bye"))), spec("odd", raiser(OddError()))],
    *[spec("interrupt", raiser(KeyboardInterrupt()))],
    *[spec("nameless", raiser(s02.ToolFailure("no", code="\ud800")))],
]


@pytest.fixture
def records():
    return []


@pytest.fixture
def registry(records):
    return registry_of(*TOOLS, trace=records.append)


OUTCOMES = [  # name, arguments, outcome, what the record has in detail
    *[("fine", {}, "ok", []), ("fine", {"n": "5"}, "invalid_arguments", ["n must"])],
    *[("fine", None, "invalid_arguments", []), ("nobody", {}, "unknown_tool", [])],
    ("expected", {}, "file_not_found", ["no such file: a"]),
    (
        "surprise",
        {},
        "execution_error",
        ["Traceback", "sk-123", "the cause", "in surp"],
    ),
    *[("leave", {}, "execution_error", ["bye"]), ("set", {}, "execution_error", [])],
    *[("odd", {}, "execution_error", ["OddError"]), ("nameless", {}, "\ud800", ["no"])],
]


@pytest.mark.parametrize("name, arguments, outcome, detail", OUTCOMES)
def test_every_call_leaves_one_record_with_its_outcome_and_the_whole_error(
    registry, records, name, arguments, outcome, detail
):
    before = time.monotonic()
    result = call(registry, name, arguments)
    after = time.monotonic()

    (record,) = records
    assert (record.tool_use_id, record.name) == ("t1", name)
    assert (record.outcome, record.chars) == (outcome, len(result.content))
    assert record.outcome == (result.error_code or "ok")
    assert before <= record.started <= record.started + record.seconds <= after + 0.01
    assert all(part in record.detail for part in detail)
    assert (record.detail == "") == result.ok and "in surp" not in result.content


@pytest.mark.parametrize("name", [None, 5, "", [], {}, "\ud800", "n" * 100_000])
def test_a_record_of_any_call_can_be_written_as_json(registry, records, name):
    call(registry, name, {"\ud800": object()})
    call(registry, "surprise")

    for record in records:
        assert isinstance(record.name, str)
        assert json.loads(json.dumps(asdict(record))) == asdict(record)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes")
def test_the_notes_of_a_surprise_are_in_its_record(records):
    def handler():
        error = RuntimeError("x")
        error.add_note("tried three times")
        raise error

    call(registry_of(spec("a", handler), trace=records.append))
    assert "tried three times" in records[0].detail


def test_records_come_at_the_end_of_their_calls(records):
    log = []
    registry = registry_of(
        spec("a", lambda: log.append("ran")), trace=lambda record: log.append("record")
    )
    registry.dispatch_many(calls("a", "nobody", "a"))

    assert log == ["ran", "record", "record", "ran", "record"]


def test_an_interrupted_turn_has_one_record_for_each_call(registry, records):
    with pytest.raises(KeyboardInterrupt):
        registry.dispatch_many(calls("fine", "interrupt", "fine", "nobody"))
    with pytest.raises(KeyboardInterrupt):
        call(registry, "interrupt")

    ids = sorted(record.tool_use_id for record in records)
    outcomes = [record.outcome for record in records]
    assert ids == ["t0", "t1", "t1", "t2", "t3"]
    assert outcomes == ["ok", *["cancelled"] * 4]
    with pytest.raises(AttributeError):
        records[0].outcome = "other"


def test_the_records_show_what_overlapped_and_what_did_not(records):
    both = threading.Barrier(2, timeout=20)
    safe = spec("safe", lambda: both.wait() * 0, concurrent_safe=True)
    registry = registry_of(safe, spec("alone", lambda: 0), trace=records.append)
    registry.dispatch_many(calls("safe", "safe"))
    registry.dispatch_many(calls("alone", "alone"))

    spans = [(r.started, r.started + r.seconds) for r in records]
    (start1, end1), (start2, end2), (start3, end3), (start4, _) = spans
    assert start1 <= end2 and start2 <= end1
    assert start3 <= end3 <= start4


@pytest.mark.parametrize(
    "error", [OSError(28, "disk full: /home/x"), ValueError("sk-123"), OddError()]
)
def test_a_sink_that_fails_loses_nothing_and_is_told_once(capsys, error):
    def sink(record):
        raise error

    registry = registry_of(*TOOLS, trace=sink)
    results = registry.dispatch_many(calls("fine", "surprise", "nobody", "fine"))
    with pytest.raises(s02.ToolsInterrupted) as caught:
        registry.dispatch_many(calls("fine", "interrupt", "fine"))
    said = capsys.readouterr()

    codes = [result.error_code for result in results]
    assert codes == [None, "execution_error", "unknown_tool", None]
    assert len(caught.value.blocks) == 3
    assert said.out == "" and said.err.count(type(error).__name__) == 1
    assert "sk-123" not in said.err and "/home/x" not in said.err


def test_a_sink_that_fails_once_gets_the_later_records(records, capsys):
    def sink(record):
        if not records:
            records.append("failed")
            raise OSError("full")
        records.append(record.tool_use_id)

    registry_of(*TOOLS, trace=sink).dispatch_many(calls("fine", "fine", "fine"))
    assert records == ["failed", "t1", "t2"]
    assert "OSError" in capsys.readouterr().err


def test_without_a_sink_nothing_is_said(capsys):
    registry_of(*TOOLS).dispatch_many(calls("fine", "surprise", "nobody"))

    assert capsys.readouterr() == ("", "")
