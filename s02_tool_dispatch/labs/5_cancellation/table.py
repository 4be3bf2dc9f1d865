"""What a time limit can stop and what it cannot: measured, not claimed.

    python3 s02_tool_dispatch/labs/5_cancellation/table.py

Each row starts something that would go on, lets the limit pass, does what there is to
do, and looks. What still runs is then ended in another way. Linux and macOS only.
"""

import asyncio
import os
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

LIMIT = 0.05  # seconds
PATIENCE = 10  # seconds for what ends at once

STOPPED = "stopped"
RUNNING = "still running"
TO_ITS_END = "ran to its end"


def a_thread():
    """Python has no way to end a thread from outside."""
    released = threading.Event()
    thread = threading.Thread(target=released.wait, args=(PATIENCE,))
    thread.start()
    thread.join(LIMIT)
    verdict = RUNNING if thread.is_alive() else STOPPED
    released.set()
    thread.join()
    return verdict


def a_thread_that_looks():
    """It works in small steps and looks at a signal between them."""
    cancelled = threading.Event()

    def work():
        while not cancelled.is_set():
            time.sleep(LIMIT / 50)  # one step

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(LIMIT)
    cancelled.set()
    thread.join(PATIENCE)
    return RUNNING if thread.is_alive() else STOPPED


def a_process_group():
    """A shell and its child: the pipe ends when the last of them is gone."""
    with start("sleep 60 & echo started; wait") as shell:
        shell.stdout.readline()
        end_after_the_limit(shell)
        over = select.select([shell.stdout], [], [], PATIENCE)[0]
        return STOPPED if over and not shell.stdout.read() else RUNNING


def a_process_that_left_its_group():
    """A grandchild calls setsid: the signal to the group does not reach it."""
    leave = "import os, time; os.setsid(); print(os.getpid(), flush=True)"
    program = f'"$0" -ISc "{leave}; time.sleep(60)" & wait'
    with start(program, sys.executable) as shell:
        pid = int(shell.stdout.readline())
        end_after_the_limit(shell)
        over = select.select([shell.stdout], [], [], LIMIT)[0]
        os.kill(pid, signal.SIGKILL)
        return STOPPED if over else RUNNING


def start(script, *arguments):
    """A shell that leads a process group of its own."""
    command = ["bash", "-c", script, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)


def end_after_the_limit(shell):
    """What the chapter's bash does when the time is up."""
    with suppress(subprocess.TimeoutExpired):
        shell.wait(LIMIT)
    os.killpg(shell.pid, signal.SIGKILL)
    shell.wait()


def a_coroutine_that_awaits():
    """The limit raises CancelledError at the await."""
    ends = []

    async def work():
        try:
            await asyncio.sleep(PATIENCE)
            ends.append(TO_ITS_END)
        except asyncio.CancelledError:
            ends.append(STOPPED)
            raise

    return outcome(work, ends)


def a_coroutine_that_computes():
    """Nobody else gets a turn while it runs, the limit neither."""
    ends = []

    async def work():
        until = time.monotonic() + 3 * LIMIT
        while time.monotonic() < until:
            pass
        ends.append(TO_ITS_END)

    return outcome(work, ends)


def outcome(work, ends):
    """Run a coroutine under the limit; it notes itself how it ended."""

    async def limited():
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(work(), LIMIT)

    asyncio.run(limited())
    return ends[0] if ends else RUNNING


ROWS = [
    ("a thread", a_thread, "nothing can stop it"),
    ("a thread that looks", a_thread_that_looks, "its own next look at the signal"),
    ("a process group", a_process_group, "SIGKILL to the whole group"),
    ("a process after setsid", a_process_that_left_its_group, "it left the group"),
    ("a coroutine that awaits", a_coroutine_that_awaits, "CancelledError at its await"),
    ("a coroutine that computes", a_coroutine_that_computes, "it never gives way"),
]

if __name__ == "__main__":
    print(f"{'what ran':26} {'after the limit':16} why")
    for name, measure, why in ROWS:
        print(f"{name:26} {measure():16} {why}")
