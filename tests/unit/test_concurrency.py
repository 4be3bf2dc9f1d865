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
from tests.tools import calls, registry_of, spec
from tests.turns import T, Talk, shell, text, use

PATIENCE = 20  # seconds until a test that hangs fails
NO_SIGNALS = pytest.mark.skipif(
    sys.platform == "win32", reason="no process can be sent SIGINT there"
)


def safe(name, handler, properties=None, required=()):
    return spec(name, handler, properties, required, concurrent_safe=True)


def numbered(count, name="a"):
    """Calls t0, t1, ... whose argument n is their number."""
    return [s02.ToolCall(f"t{n}", name, {"n": n}) for n in range(count)]


def with_number(name, handler, is_safe=True):
    properties = {"n": {"type": "integer"}}
    return spec(name, handler, properties, ["n"], concurrent_safe=is_safe)


def raiser(error):
    def handler():
        raise error

    return handler


@pytest.fixture
def ctrl_c():
    """SIGINT raises KeyboardInterrupt, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["unsafe", "unsafe"], id="none is safe"),
        pytest.param(["safe", "unsafe", "safe"], id="one is not safe"),
        pytest.param(["safe", "nobody", "safe"], id="one is unknown"),
        pytest.param(["safe"], id="one alone"),
    ],
)
def test_calls_run_one_by_one_in_the_callers_thread(names):
    log = []

    def handler():
        log.append(("start", threading.get_ident()))
        log.append(("end", threading.get_ident()))

    registry = registry_of(safe("safe", handler), spec("unsafe", handler))
    registry.dispatch_many(calls(*names))
    mine = threading.get_ident()
    known = len(names) - names.count("nobody")
    assert log == [("start", mine), ("end", mine)] * known


@pytest.mark.parametrize("name", ["A", "a ", "", None, 5, [], {}])
def test_a_name_that_is_no_tool_makes_the_turn_serial(name):
    threads = set()
    registry = registry_of(safe("a", lambda: threads.add(threading.get_ident())))
    odd = s02.ToolCall("x", name, {})
    results = registry.dispatch_many([*calls("a", "a"), odd])

    assert threads == {threading.get_ident()}
    assert [result.error_code for result in results] == [None, None, "unknown_tool"]


def test_no_call_has_no_result():
    assert registry_of(safe("a", lambda: "x")).dispatch_many([]) == []


# --- Side by side ---


def test_safe_calls_run_at_the_same_time():
    barrier = threading.Barrier(4, timeout=PATIENCE)
    tools = [safe("a", barrier.wait), safe("b", barrier.wait)]
    results = registry_of(*tools).dispatch_many(calls("a", "b", "a", "b"))

    assert sorted(result.content for result in results) == ["0", "1", "2", "3"]


def test_safe_calls_that_finish_in_reverse_are_answered_in_call_order():
    finished = [threading.Event() for _ in range(6)]
    order = []

    def handler(n):
        if n < 5:
            assert finished[n + 1].wait(PATIENCE)
        order.append(n)
        finished[n].set()
        return f"result {n}"

    results = registry_of(with_number("a", handler)).dispatch_many(numbered(6))
    assert order == [5, 4, 3, 2, 1, 0]
    assert [result.content for result in results] == [f"result {n}" for n in range(6)]
    assert [result.call.tool_use_id for result in results] == [
        f"t{n}" for n in range(6)
    ]


def test_a_thousand_safe_calls_run_in_sixteen_threads_at_most():
    full = threading.Barrier(s02.MAX_WORKERS, timeout=PATIENCE)
    lock, live, most, before = threading.Lock(), [], [], threading.active_count()

    def handler(n):
        with lock:
            live.append(n)
            most.append(len(live))
        if n < s02.MAX_WORKERS:
            full.wait()
        assert threading.active_count() <= before + s02.MAX_WORKERS
        with lock:
            live.remove(n)
        return n

    results = registry_of(with_number("a", handler)).dispatch_many(numbered(1_000))
    assert [result.content for result in results] == [str(n) for n in range(1_000)]
    assert max(most) == s02.MAX_WORKERS == 16


def test_no_call_of_a_batch_runs_twice_or_is_lost_however_often_threads_switch():
    ran = collections.deque()
    registry = registry_of(with_number("a", lambda n: ran.append(n)))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            ran.clear()
            results = registry.dispatch_many(numbered(500))
            assert sorted(ran) == list(range(500)) and len(results) == 500
    finally:
        sys.setswitchinterval(interval)


def test_seventeen_safe_calls_never_run_at_the_same_time():
    all_at_once = threading.Barrier(s02.MAX_WORKERS + 1)

    def handler(n):
        try:
            all_at_once.wait(0.3)
        except threading.BrokenBarrierError:
            return "never met"

    results = registry_of(with_number("a", handler)).dispatch_many(numbered(17))
    assert {result.content for result in results} == {"never met"}


def test_the_threads_of_a_batch_are_gone_when_it_is_over():
    before = threading.active_count()
    registry = registry_of(safe("a", lambda: "x"))
    for _ in range(20):
        registry.dispatch_many(calls("a", "a", "a"))

    assert threading.active_count() <= before


@pytest.mark.parametrize("is_safe", [True, False])
@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(lambda: {1}, id="returns no JSON"),
        pytest.param(raiser(ValueError("x")), id="raises"),
        pytest.param(raiser(SystemExit(1)), id="exits"),
        pytest.param(raiser(s02.ToolFailure("x")), id="fails"),
    ],
)
def test_a_call_that_fails_costs_its_siblings_nothing(is_safe, bad):
    options = {"concurrent_safe": is_safe}
    registry = registry_of(
        spec("ok", lambda: "ok", **options), spec("bad", bad, **options)
    )
    results = registry.dispatch_many(calls("bad", "ok", "bad", "ok"))

    codes = [result.error_code for result in results]
    assert codes == ["execution_error", None, "execution_error", None]


def test_a_refused_call_among_safe_ones_does_not_stop_them_running_together():
    barrier = threading.Barrier(2, timeout=PATIENCE)
    wrong = s02.ToolCall("x", "a", {"n": 1})
    both = calls("a", "a")
    results = registry_of(safe("a", barrier.wait)).dispatch_many([wrong, *both])

    codes = [result.error_code for result in results]
    assert codes == ["invalid_arguments", None, None]


def test_each_worker_sees_a_copy_of_the_callers_context():
    variable = contextvars.ContextVar("variable", default="nothing")
    barrier = threading.Barrier(3, timeout=PATIENCE)

    def handler(n):
        seen = variable.get()
        barrier.wait()
        variable.set(f"set by {n}")
        barrier.wait()
        return f"{seen}, {variable.get()}"

    variable.set("the caller's")
    results = registry_of(with_number("a", handler)).dispatch_many(numbered(3))
    expected = [f"the caller's, set by {n}" for n in range(3)]
    assert [result.content for result in results] == expected
    assert variable.get() == "the caller's"


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
    said = [block["content"] for block in caught.value.blocks]
    assert ran == [*range(place + 1)]
    assert said[:place] == [f"result {n}" for n in range(place)]
    assert "cancelled" in said[place] and "outcome is unknown" in said[place]
    assert all("cancelled" in s and "not run" in s for s in said[place + 1 :])


def test_an_interrupt_is_a_keyboard_interrupt_with_a_block_for_every_call():
    registry = registry_of(spec("a", raiser(KeyboardInterrupt())))
    with pytest.raises(KeyboardInterrupt) as caught:
        registry.dispatch_many(calls("a", "a", "nobody"))

    blocks = caught.value.blocks
    assert [block["tool_use_id"] for block in blocks] == ["t0", "t1", "t2"]
    assert all(block["is_error"] for block in blocks)


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
        return caught.value.blocks, time.monotonic() - self.sent

    def end(self):
        """Let the threads finish, and wait for all forty records."""
        self.release.set()
        assert all(self.recorded.acquire(timeout=PATIENCE) for _ in range(40))


@NO_SIGNALS
def test_an_interrupt_while_a_batch_waits_brings_the_prompt_back_at_once(ctrl_c):
    batch = Batch()
    blocks, seconds = batch.run()
    batch.end()

    assert seconds < 5
    assert [block["tool_use_id"] for block in blocks] == [f"t{n}" for n in range(40)]
    for number, block in enumerate(blocks):
        truth = "outcome is unknown" if number in batch.started else "not run"
        assert truth in block["content"]


@NO_SIGNALS
def test_after_an_interrupt_no_further_call_starts_and_each_is_recorded_once(ctrl_c):
    batch = Batch()
    batch.run()
    batch.end()

    assert len(batch.started) == s02.MAX_WORKERS
    assert sorted(r.tool_use_id for r in batch.records) == sorted(
        f"t{n}" for n in range(40)
    )
    outcomes = [record.outcome for record in batch.records]
    assert outcomes.count("cancelled") >= 40 - s02.MAX_WORKERS
