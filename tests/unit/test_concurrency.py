"""What runs side by side, what runs in order, and what an interrupt leaves.

Events and barriers make the order; a timeout on each of them ends a test that hangs.
"""

from __future__ import annotations

import asyncio
import collections
import contextvars
import os
import signal
import sys
import threading
import time

import pytest

from s02_tool_dispatch import code as s02
from tests.tools import calls, raiser, registry_of, spec
from tests.turns import T, Talk, shell, text, use

PATIENCE = 20  # seconds until a test that hangs fails
NO_SIGNALS = pytest.mark.skipif(
    sys.platform == "win32", reason="no process can be sent SIGINT there"
)


def numbered(count, name="a"):
    """Calls t0, t1, ... whose argument n is their number."""
    return [s02.ToolCall(f"t{n}", name, {"n": n}) for n in range(count)]


def with_number(name, handler, is_safe=True):
    properties = {"n": {"type": "integer"}}
    return spec(name, handler, properties, ["n"], concurrent_safe=is_safe)


def safe(name, handler):
    return spec(name, handler, concurrent_safe=True)


# --- In order ---


def test_a_slow_write_then_a_read_of_it_come_in_order(tmp_path):
    talk = Talk(s02, s02.build_registry(s02.Workspace(tmp_path)))
    write = shell("sleep 0.1; echo new > a.txt", "t1")
    read = use("t2", "read_file", {"path": "a.txt"})
    talk.ask(T("tool_use", write, read, read), T("end_turn", text()))

    assert talk.said() == ["(no output)", "new\n", "new\n"]


def test_two_edits_of_one_file_in_one_turn_both_land(tmp_path):
    (tmp_path / "a.txt").write_text("one two\n")
    talk = Talk(s02, s02.build_registry(s02.Workspace(tmp_path)))
    edits = [
        use(f"t{old}", "edit_file", {"path": "a.txt", "old_text": old, "new_text": new})
        for old, new in [("one", "1"), ("two", "2")]
    ]
    talk.ask(T("tool_use", *edits), T("end_turn", text()))

    assert (tmp_path / "a.txt").read_text() == "1 2\n"


ODD = ["nobody", "A", "safe ", "", None, 5, [], {}]


@pytest.mark.parametrize(
    "names",
    [
        *[["unsafe", "unsafe"], ["safe", "unsafe", "safe"], ["safe"], []],
        *[["safe", odd, "safe"] for odd in ODD],
    ],
    ids=str,
)
def test_calls_run_one_by_one_in_the_callers_thread_unless_all_are_safe(names):
    log, mine = [], threading.get_ident()

    def handler():
        log.append(("start", threading.get_ident()))
        log.append(("end", threading.get_ident()))

    registry = registry_of(safe("safe", handler), spec("unsafe", handler))
    results = registry.dispatch_many([s02.ToolCall("t", name, {}) for name in names])
    is_known = [name in ("safe", "unsafe") for name in names]
    assert log == [("start", mine), ("end", mine)] * sum(is_known)
    assert [result.ok for result in results] == is_known


# --- Side by side ---


def test_safe_calls_run_at_the_same_time_also_beside_a_refused_one():
    barrier = threading.Barrier(4, timeout=PATIENCE)
    registry = registry_of(safe("a", barrier.wait), safe("b", barrier.wait))
    wrong = s02.ToolCall("x", "a", {"n": 1})
    refused, *results = registry.dispatch_many([wrong, *calls("a", "b", "a", "b")])

    assert refused.error_code == "invalid_arguments"
    assert sorted(result.content for result in results) == ["0", "1", "2", "3"]


def test_safe_calls_that_finish_in_reverse_are_answered_in_call_order():
    finished = [threading.Event() for _ in range(6)]
    order = []

    def handler(n):
        assert n == 5 or finished[n + 1].wait(PATIENCE)
        order.append(n)
        finished[n].set()
        return f"result {n}"

    results = registry_of(with_number("a", handler)).dispatch_many(numbered(6))
    said = [(result.call.tool_use_id, result.content) for result in results]
    assert order == [5, 4, 3, 2, 1, 0]
    assert said == [(f"t{n}", f"result {n}") for n in range(6)]


@pytest.mark.parametrize("count, said", [(16, "met"), (17, "never met")])
def test_sixteen_safe_calls_run_at_the_same_time_and_never_seventeen(count, said):
    all_at_once = threading.Barrier(count)

    def handler(n):
        try:
            all_at_once.wait(PATIENCE if count == s02.MAX_WORKERS else 0.3)
        except threading.BrokenBarrierError:
            return "never met"
        return "met"

    results = registry_of(with_number("a", handler)).dispatch_many(numbered(count))
    assert [result.content for result in results] == [said] * count


def test_each_call_of_a_batch_runs_and_is_recorded_once_however_threads_switch():
    ran, records = collections.deque(), collections.deque()
    tool = with_number("a", lambda n: ran.append(n))
    registry = registry_of(tool, trace=lambda record: records.append(record))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            ran.clear(), records.clear()
            results = registry.dispatch_many(numbered(500))
            assert sorted(ran) == list(range(500)) and len(results) == 500
            assert {r.tool_use_id for r in records} == {f"t{n}" for n in range(500)}
            assert len(records) == 500
    finally:
        sys.setswitchinterval(interval)


def test_the_threads_of_a_batch_are_gone_when_it_is_over():
    before = threading.active_count()
    registry = registry_of(safe("a", lambda: "x"))
    for _ in range(20):
        registry.dispatch_many(calls("a", "a", "a"))

    assert threading.active_count() <= before


FAILING = [lambda: {1}, raiser(ValueError("x")), raiser(SystemExit(1))]
FAILING += [raiser(s02.ToolFailure("x"))]


@pytest.mark.parametrize("is_safe", [True, False])
@pytest.mark.parametrize("bad", FAILING, ids=["no JSON", "raises", "exits", "fails"])
def test_a_call_that_fails_costs_its_siblings_nothing(is_safe, bad):
    tools = [("ok", lambda: "ok"), ("bad", bad)]
    registry = registry_of(*(spec(*tool, concurrent_safe=is_safe) for tool in tools))
    results = registry.dispatch_many(calls("bad", "ok", "bad", "ok"))

    codes = [result.error_code for result in results]
    assert codes == ["execution_error", None, "execution_error", None]


def test_each_worker_sees_a_copy_of_the_callers_context():
    variable = contextvars.ContextVar("variable", default="nothing")
    barrier = threading.Barrier(3, timeout=PATIENCE)

    def handler(n):
        seen = variable.get()
        barrier.wait()
        variable.set(f"set by {n}")
        barrier.wait()
        return f"{seen}, {variable.get()}"

    variable.set("mine")
    results = registry_of(with_number("a", handler)).dispatch_many(numbered(3))
    assert [r.content for r in results] == [f"mine, set by {n}" for n in range(3)]
    assert variable.get() == "mine"


# --- Interrupted ---


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_interrupt_in_one_of_three_tells_what_ran_what_may_have_and_what_did_not(
    place,
):
    ran = []

    def handler(n):
        ran.append(n)
        if n == place:
            raise KeyboardInterrupt
        return f"result {n}"

    registry = registry_of(with_number("a", handler, is_safe=False))
    with pytest.raises(s02.ToolsInterrupted) as caught:
        registry.dispatch_many(numbered(3))
    blocks = caught.value.blocks
    said = [block["content"] for block in blocks]
    assert isinstance(caught.value, KeyboardInterrupt) and ran == [*range(place + 1)]
    assert [block["tool_use_id"] for block in blocks] == ["t0", "t1", "t2"]
    assert said[:place] == [f"result {n}" for n in range(place)]
    assert "cancelled" in said[place] and "outcome is unknown" in said[place]
    assert all("cancelled" in s and "not run" in s for s in said[place + 1 :])
    assert all(block["is_error"] for block in blocks[place:])


def test_an_interrupt_raised_in_a_worker_reaches_the_caller():
    together = threading.Barrier(3, timeout=PATIENCE)
    release = threading.Event()

    def handler(n):
        together.wait()
        if n == 1:
            raise KeyboardInterrupt
        assert release.wait(PATIENCE)
        return "late"

    registry = registry_of(with_number("a", handler))
    began = time.monotonic()
    with pytest.raises(s02.ToolsInterrupted) as caught:
        registry.dispatch_many(numbered(3))
    release.set()
    assert time.monotonic() - began < 5
    said = [block["content"] for block in caught.value.blocks]
    assert len(said) == 3 and all("outcome is unknown" in words for words in said)


@NO_SIGNALS
def test_an_interrupt_while_an_async_tool_waits_reaches_the_caller(ctrl_c):
    async def handler():
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(60)

    registry = registry_of(spec("a", handler))
    with pytest.raises(s02.ToolsInterrupted) as caught:
        registry.dispatch_many(calls("a", "a"))
    unknown, not_run = (block["content"] for block in caught.value.blocks)
    assert "outcome is unknown" in unknown and "not run" in not_run


class Batch:
    """Forty safe calls; when the first sixteen run, SIGINT comes."""

    def __init__(self):
        self.full = threading.Barrier(s02.MAX_WORKERS, self.send, timeout=PATIENCE)
        self.release = threading.Event()
        self.started, self.records = [], []
        self.recorded = threading.Semaphore(0)
        tool = with_number("a", self.handler)
        self.registry = registry_of(tool, trace=self.trace)

    def send(self):
        self.sent = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    def handler(self, n):
        self.started.append(n)
        self.full.wait()
        assert self.release.wait(PATIENCE)
        return "late"

    def trace(self, record):
        self.records.append(record)
        self.recorded.release()

    def run(self):
        """The blocks, and how long it took after the signal."""
        with pytest.raises(s02.ToolsInterrupted) as caught:
            self.registry.dispatch_many(numbered(40))
        seconds = time.monotonic() - self.sent
        self.release.set()  # the threads finish: wait for all forty records
        assert all(self.recorded.acquire(timeout=PATIENCE) for _ in range(40))
        return caught.value.blocks, seconds


@NO_SIGNALS
def test_an_interrupt_of_a_batch_is_at_once_starts_no_more_and_records_each(ctrl_c):
    batch = Batch()
    blocks, seconds = batch.run()

    ids = [f"t{n}" for n in range(40)]
    assert seconds < 5 and len(batch.started) == s02.MAX_WORKERS
    assert [block["tool_use_id"] for block in blocks] == ids
    for number, block in enumerate(blocks):
        truth = "outcome is unknown" if number in batch.started else "not run"
        assert truth in block["content"]
    assert sorted(r.tool_use_id for r in batch.records) == sorted(ids)
    outcomes = [record.outcome for record in batch.records]
    assert outcomes.count("cancelled") >= 40 - s02.MAX_WORKERS
