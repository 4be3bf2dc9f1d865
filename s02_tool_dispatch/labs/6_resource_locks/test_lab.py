"""Lab 6: what may overlap does, what may not waits. Events prove it, not clocks.

What must happen is waited for, but not for ever: a wrong solution fails and does not
hang. After one such failure, and for a file of another folder, the wait is shorter.
The test of a wait that gives up holds its call for some seconds, on purpose.
"""

import os
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from s02_tool_dispatch.code import (
    MAX_WORKERS,
    ToolCall,
    ToolFailure,
    ToolRegistry,
    ToolSpec,
    Workspace,
    build_registry,
    object_schema,
)

GRACE = 0.05  # seconds in which what must not happen would show
ROOT = Path("/workspace")  # a name: no file is touched but in the last tests
LATE = set()  # the files under test that have failed a wait


def patience(lab):
    """How many seconds to wait for what must happen."""
    seconds = 1 if Path(lab.__file__).parent == Path(__file__).parent else 0.5
    return seconds / 10 if lab.__file__ in LATE else seconds


class Step:
    """One call: its name, what it touches, what it does, and how far it is."""

    def __init__(self, name, access, action):
        self.name, self.access, self.action = name, access, action
        self.begun, self.ended = threading.Event(), threading.Event()


class Batch:
    """Calls of one tool, `step`, and a log of their beginnings and ends."""

    def __init__(self, lab, request):
        self.lab, self.request = lab, request
        self.steps, self.log = [], []
        self.registry = ToolRegistry()
        schema = object_schema({"number": {"type": "integer"}}, ["number"])
        self.registry.register(ToolSpec("step", "One step.", schema, self.step))

    def add(self, reads="", writes="", action=lambda: None):
        """Add a call that touches these places, given as `a b`."""
        name = f"{len(self.steps) + 1}: {'write' if writes else 'read'} "
        places = [frozenset(map(ROOT.joinpath, x.split())) for x in (reads, writes)]
        name += " ".join(filter(None, (reads, writes)))
        self.steps.append(Step(name, self.lab.Access(*places), action))
        return self.steps[-1]

    def step(self, number):
        """What the tool does."""
        step = self.steps[number]
        self.log.append(f"{step.name} begins")
        step.begun.set()
        try:
            step.action()
            return step.name
        finally:
            self.log.append(f"{step.name} ends")
            step.ended.set()

    def wait(self, event):
        """Wait for what must happen; in the tool, a failure if it does not."""
        if not event.wait(patience(self.lab)):
            LATE.add(self.lab.__file__)
            raise ToolFailure("it did not happen", "waited in vain")

    def run(self, more=()):
        """The results of the batch, and of `more` calls after it that touch nothing."""
        calls = [
            ToolCall(f"id_{i}", "step", {"number": i}) for i in range(len(self.steps))
        ]
        accesses = [step.access for step in self.steps]
        accesses += [self.lab.Access()] * len(more)
        run = self.lab.dispatch_by_access
        everything = self.registry, [*calls, *more], accesses
        return in_time(self.request, self.lab, lambda: run(*everything))

    def __str__(self):
        names = ", ".join(step.name for step in self.steps[:6])
        return f"dispatch_by_access with the calls {names}"


def codes(results):
    """What became of each call."""
    return [result.error_code or "ok" for result in results]


class LeaveAtOnce:
    """A thread that waits for ever cannot be killed: do not wait for it at the end."""

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus):
        self.status = int(exitstatus)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config):
        config.get_terminal_writer().flush()
        sys.stdout.flush()
        os._exit(self.status)


NO_END = """
called:      dispatch_by_access(registry, calls, accesses)
came back:   does not come back
expected:    one result for each call
next:        which call waits for which? A call waits for earlier calls only"""


def in_time(request, lab, function):
    """What `function` returns or raises; a failure if it does not come back."""
    came = {}

    def target():
        try:
            came["back"] = function()
        except BaseException as error:
            came["error"] = error

    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    thread.join(3 * patience(lab) + 3 * GRACE)
    if thread.is_alive():
        LATE.add(lab.__file__)
        if not request.config.pluginmanager.has_plugin("leave_at_once"):
            request.config.pluginmanager.register(LeaveAtOnce(), "leave_at_once")
        if not request.config.getoption("--candidate"):
            request.session.shouldfail = "a batch does not come back"
        pytest.fail(NO_END, pytrace=False)
    if "error" in came:
        raise came["error"]
    return came["back"]


@pytest.fixture
def batch(lab, request):
    """An empty batch for the module under test."""
    return Batch(lab, request)


def test_two_writes_to_different_files_overlap(batch, expect):
    def action():
        for step in batch.steps:
            batch.wait(step.begun)

    for place in ("src/a", "src/a.txt", "src.old/a"):
        batch.add(writes=place, action=action)

    next_step = "each waits until the others have begun: start all; see overlap()"
    expect(str(batch), codes(batch.run()), ["ok", "ok", "ok"], next_step)


def test_two_reads_of_one_file_overlap(batch, expect):
    batch.add(writes="a")
    one = batch.add(reads="a", action=lambda: batch.wait(other.begun))
    other = batch.add(reads="a", action=lambda: batch.wait(one.begun))

    next_step = "two reads never conflict: start both, as soon as the write has ended"
    expect(str(batch), codes(batch.run()), ["ok", "ok", "ok"], next_step)


def test_a_read_waits_for_the_write_of_its_file(batch, expect):
    begun = threading.Event()
    batch.add(writes="a b c d", action=lambda: begun.wait(GRACE))
    for place in "abcd":
        batch.add(reads=place, action=begun.set)
    batch.run()

    kinds = " ".join(line.split()[1] for line in batch.log)
    next_step = "start a read when the write has ended"
    expect(str(batch), kinds, "write write" + 8 * " read", next_step)


def test_no_call_gives_up_waiting(batch, expect):
    seconds = 2.5 if patience(batch.lab) == 1 else 0.2
    batch.add(writes="a", action=lambda: read.begun.wait(seconds))
    read = batch.add(reads="a")
    batch.run()

    in_order = ["1: write a begins", "1: write a ends"]
    next_step = "wait without a time: a slow call is no deadlock"
    expect(str(batch), batch.log[:2], in_order, next_step)


def test_a_write_waits_for_every_earlier_read_of_its_file(batch, expect):
    begun = threading.Event()
    for _ in range(2):
        batch.add(reads="a b c d", action=lambda: begun.wait(GRACE))
    batch.add(reads="a b c d")
    for place in "abcd":
        batch.add(writes=place, action=begun.set)
    batch.run()

    next_step = "the reads want the old content: a write waits for all of them"
    kinds = " ".join(line.split()[1] for line in batch.log)
    expect(str(batch), kinds, 6 * "read " + "write" + 7 * " write", next_step)


def test_a_call_that_conflicts_with_nothing_waits_for_nothing(batch, expect):
    batch.add(writes="a", action=lambda: batch.wait(free.ended))
    batch.add(reads="a")
    free = batch.add(writes="b")

    next_step = "call 1 goes on when call 3 has ended: no call waits for a whole group"
    expect(str(batch), codes(batch.run()), ["ok", "ok", "ok"], next_step)


def test_a_call_that_waits_holds_no_thread(batch, expect):
    batch.add(writes="a", action=lambda: batch.wait(free.ended))
    waiting = [batch.add(reads="a") for _ in range(MAX_WORKERS)]
    free = batch.add(writes="b")

    called = f"a write of a, {len(waiting)} reads of a, a write of b"
    next_step = "give a call to the pool when it may start, not before"
    got = dict(Counter(codes(batch.run())))
    expect(called, got, {"ok": len(waiting) + 2}, next_step)


def test_as_many_calls_run_at_once_as_there_are_workers(batch, expect):
    lock, live, most = threading.Lock(), [], []
    full, too_many = threading.Event(), threading.Event()

    def action():
        with lock:
            live.append(1)
            most.append(len(live))
        if len(live) >= MAX_WORKERS:
            full.set()
        if len(live) > MAX_WORKERS:
            too_many.set()
        try:
            batch.wait(full)
            too_many.wait(GRACE)
        finally:
            live.pop()

    for number in range(2 * MAX_WORKERS):
        batch.add(reads="a", writes=f"file_{number}", action=action)
    batch.run()

    next_step = "use the pool that you are given, and all of it"
    expect("32 free calls, at once", max(most), MAX_WORKERS, next_step)


def test_a_call_does_not_overtake_an_earlier_one_that_waits(batch, expect):
    last = {}
    for first, second in ("ab", "dc"):
        batch.add(writes=first, action=lambda x=first: last[x].begun.wait(GRACE))
        batch.add(writes=f"{first} {second}")
        last[first] = batch.add(writes=second)
    batch.add(reads="e", action=lambda: last["e"].begun.wait(GRACE))
    batch.add(writes="e")
    last["e"] = batch.add(reads="e")
    batch.run()

    next_step = "call 3 waits for call 2 even while call 2 itself waits for call 1"
    for three in (batch.steps[:3], batch.steps[3:6], batch.steps[6:]):
        in_order = [f"{step.name} begins" for step in three]
        got = [line for line in batch.log if line in in_order]
        expect(str(batch), got, in_order, next_step)


def test_many_writes_of_one_file_run_in_call_order(batch, expect):
    batch.add(writes="a", action=lambda: batch.steps[1].begun.wait(GRACE))
    for _ in range(3 * MAX_WORKERS):
        batch.add(writes="a")
    in_order = [
        f"{step.name} {what}" for step in batch.steps for what in ("begins", "ends")
    ]

    for time in ("first", "second"):
        batch.log.clear()
        batch.run()
        next_step = "two writes of one place conflict: one after the other"
        expect(f"{batch}, the {time} time", batch.log, in_order, next_step)


def test_results_are_in_call_order_whatever_ends_first(batch, expect):
    batch.add(writes="a", action=lambda: batch.wait(third.begun))
    batch.add(writes="b")
    third = batch.add(writes="b")
    results = batch.run([ToolCall("id_x", "no_such_tool", {})] * 2)

    got = [result.call.tool_use_id for result in results]
    wanted = ["id_0", "id_1", "id_2", "id_x", "id_x"]
    expect(str(batch), got, wanted, "call 2 ends before call 1, and comes after it")
    next_step = "call 1 waits for call 3, which waits for call 2 only"
    wanted = ["ok"] * 3 + ["unknown_tool"] * 2
    expect(str(batch), codes(results), wanted, next_step)


def test_a_write_that_fails_frees_its_file(batch, expect):
    batch.add(writes="a", action=lambda: 1 / 0)
    batch.add(reads="a")

    next_step = "a failure is a result: who waits for the call goes on, and runs"
    expect(str(batch), codes(batch.run()), ["execution_error", "ok"], next_step)


def test_a_folder_conflicts_with_what_is_in_it(batch, expect):
    batch.add(writes="src/new/a", action=lambda: folder.begun.wait(GRACE))
    folder = batch.add(reads="src", action=lambda: inside.begun.wait(GRACE))
    inside = batch.add(writes="src/new/b")
    batch.run()

    in_order = ["1: write src/new/a ends", "2: read src begins"]
    in_order += ["2: read src ends", "3: write src/new/b begins"]
    expect(
        str(batch),
        batch.log[1:5],
        in_order,
        "compare places with overlap(), not with ==",
    )


def test_a_batch_of_nothing_has_no_results(batch, expect):
    expect("dispatch_by_access(registry, [], [])", batch.run(), [], "return a list")


def test_the_five_tools_keep_their_order_where_it_matters(
    lab, request, tmp_path, expect
):
    workspace = Workspace(tmp_path)
    asked = [
        ("write_file", {"path": "a.txt", "content": "old"}),
        ("write_file", {"path": "b.txt", "content": "side by side"}),
        ("edit_file", {"path": "./a.txt", "old_text": "old", "new_text": "new"}),
        ("bash", {"command": "cat a.txt b.txt"}),
        ("read_file", {"path": "../secret"}),
        ("glob", {"pattern": "*.txt"}),
    ]
    calls = [ToolCall(f"id_{i}", *call) for i, call in enumerate(asked)]
    whole = build_registry(workspace), workspace, calls
    results = in_time(request, lab, lambda: lab.dispatch_files(*whole))

    got = [results[3].content, results[4].error_code, results[5].content]
    wanted = ["newside by side", "execution_error", "a.txt\nb.txt"]
    next_step = "3 edits what 1 wrote, 4 comes after them all, and 6 after 4"
    expect(f"dispatch_files with {asked}", got, wanted, next_step)
