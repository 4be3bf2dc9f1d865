"""Wrong solutions of lab 6, resource locks."""

STARTER_FAILS = {
    "test_two_writes_to_different_files_overlap",
    "test_two_reads_of_one_file_overlap",
    "test_a_read_waits_for_the_write_of_its_file",
    "test_a_write_waits_for_every_earlier_read_of_its_file",
    "test_a_call_that_conflicts_with_nothing_waits_for_nothing",
    "test_a_call_that_waits_holds_no_thread",
    "test_no_call_gives_up_waiting",
    "test_as_many_calls_run_at_once_as_there_are_workers",
    "test_a_call_does_not_overtake_an_earlier_one_that_waits",
    "test_many_writes_of_one_file_run_in_call_order",
    "test_results_are_in_call_order_whatever_ends_first",
    "test_a_write_that_fails_frees_its_file",
    "test_a_folder_conflicts_with_what_is_in_it",
    "test_a_batch_of_nothing_has_no_results",
    "test_the_five_tools_keep_their_order_where_it_matters",
}


RIGHT = """
places = [(w, p) for w in one.writes for p in other.reads | other.writes]
places += [(w, p) for w in other.writes for p in one.reads | one.writes]
return any(overlap(written, place) for written, place in places)
"""


def ready(conflict: str = RIGHT, others: str = "range(index)") -> str:
    """The solution, with another rule of which calls a call waits for."""
    return f"""
from concurrent.futures import FIRST_COMPLETED, wait

def conflict(one, other):
    {conflict.strip().replace(chr(10), chr(10) + "    ")}

def waits_for(index):
    return {{o for o in {others} if conflict(accesses[o], accesses[index])}}

left = {{index: waits_for(index) for index in range(len(calls))}}
running, results = {{}}, {{}}
while left or running:
    for index in [i for i in left if left[i] <= results.keys()]:
        del left[index]
        running[pool.submit(registry.dispatch, calls[index])] = index
    for future in wait(running, return_when=FIRST_COMPLETED).done:
        results[running.pop(future)] = future.result()
return [results[index] for index in range(len(calls))]
"""


def waiting(conflict: str = RIGHT, others: str = "range(index)") -> str:
    """The same with a thread for each call that waits."""
    return f"""
import threading

ended = [threading.Event() for _ in calls]

def conflict(one, other):
    {conflict.strip().replace(chr(10), chr(10) + "    ")}

def run(index):
    for other in {others}:
        if other != index and conflict(accesses[other], accesses[index]):
            ended[other].wait()
    try:
        return registry.dispatch(calls[index])
    finally:
        ended[index].set()

return list(pool.map(run, range(len(calls))))
"""


WRONGS = {
    "one-by-one": (
        "test_two_writes_to_different_files_overlap",
        "return [registry.dispatch(call) for call in calls]",
    ),
    "all-at-once": (
        "test_a_read_waits_for_the_write_of_its_file",
        "return list(pool.map(registry.dispatch, calls))",
    ),
    "reads-exclude-each-other": (
        "test_two_reads_of_one_file_overlap",
        ready("""
one, other = one.reads | one.writes, other.reads | other.writes
return any(overlap(a, b) for a in one for b in other)
"""),
    ),
    "write-after-read-forgotten": (
        "test_a_write_waits_for_every_earlier_read_of_its_file",
        ready("""
touched = other.reads | other.writes
return any(overlap(a, b) for a in one.writes for b in touched)
"""),
    ),
    "same-path-only": (
        "test_a_folder_conflicts_with_what_is_in_it",
        ready("""
touched = other.reads | other.writes
return bool(one.writes & touched or one.reads & other.writes)
"""),
    ),
    "waits-for-later-calls-too": (
        "test_a_read_waits_for_the_write_of_its_file",
        waiting(others="range(len(calls))"),
    ),
    "waits-for-the-call-before-only": (
        "test_a_write_waits_for_every_earlier_read_of_its_file",
        ready(others="range(max(0, index - 1), index)"),
    ),
    "a-lock-per-place-in-sorted-order": (
        "test_a_call_does_not_overtake_an_earlier_one_that_waits",
        """
        import threading

        touched = [sorted(access.reads | access.writes) for access in accesses]
        locks = {place: threading.Lock() for places in touched for place in places}

        def run(index):
            for place in touched[index]:
                locks[place].acquire()
            try:
                return registry.dispatch(calls[index])
            finally:
                for place in touched[index]:
                    locks[place].release()

        return list(pool.map(run, range(len(calls))))
        """,
    ),
    "group-after-group": (
        "test_a_call_that_conflicts_with_nothing_waits_for_nothing",
        """
        results, group, read, written = [], [], set(), set()
        for call, access in zip(calls, accesses):
            if (written & (access.reads | access.writes)) or (read & access.writes):
                results += pool.map(registry.dispatch, group)
                group, read, written = [], set(), set()
            group.append(call)
            read |= access.reads
            written |= access.writes
        return results + list(pool.map(registry.dispatch, group))
        """,
    ),
    "results-as-they-end": (
        "test_results_are_in_call_order_whatever_ends_first",
        ready().replace(
            "[results[index] for index in range(len(calls))]", "[*results.values()]"
        ),
    ),
    "results-by-id": (
        "test_results_are_in_call_order_whatever_ends_first",
        ready().replace(
            "return [",
            "found = {r.call.tool_use_id: r for r in results.values()}\n"
            "return list(found.values())\nreturn [",
        ),
    ),
    "a-waiting-call-holds-a-thread": (
        "test_a_call_that_waits_holds_no_thread",
        waiting(),
    ),
    "a-thread-for-each-call": (
        "test_as_many_calls_run_at_once_as_there_are_workers",
        "pool = ThreadPoolExecutor(len(calls) + 1)\n" + waiting(),
    ),
    "a-wait-that-gives-up": (
        "test_no_call_gives_up_waiting",
        waiting().replace(".wait()", ".wait(0.1)"),
    ),
    "two-writes-do-not-conflict": (
        "test_many_writes_of_one_file_run_in_call_order",
        ready("""
places = [(w, p) for w in one.writes for p in other.reads]
places += [(w, p) for w in other.writes for p in one.reads]
return any(overlap(written, place) for written, place in places)
"""),
    ),
    "places-are-compared-as-text": (
        "test_two_writes_to_different_files_overlap",
        "def overlap(left, right):\n"
        "    left, right = sorted([str(left), str(right)])\n"
        "    return right.startswith(left)\n" + ready(),
    ),
    "one-place-of-each-set": (
        "test_a_write_waits_for_every_earlier_read_of_its_file",
        ready("""
places = [(w, p) for w in one.writes for p in other.reads | other.writes]
places += [(w, p) for w in other.writes for p in list(one.reads | one.writes)[:1]]
return any(overlap(written, place) for written, place in places)
"""),
    ),
    "reads-overtake-a-write-that-waits": (
        "test_a_call_does_not_overtake_an_earlier_one_that_waits",
        ready().replace(
            "if left[i] <= results.keys()]",
            "if left[i] <= results.keys() or not accesses[i].writes\n"
            "        and not left[i] & set(running.values())]",
        ),
    ),
    "one-place-of-each-write": (
        "test_a_read_waits_for_the_write_of_its_file",
        ready("""
written = sorted(one.writes)[:1]
places = [(w, p) for w in written for p in other.reads | other.writes]
places += [(w, p) for w in other.writes for p in one.reads | one.writes]
return any(overlap(written, place) for written, place in places)
"""),
    ),
    "one-new-call-for-each-that-ends": (
        "test_two_reads_of_one_file_overlap",
        ready().replace(
            "running[pool.submit(registry.dispatch, calls[index])] = index",
            "running[pool.submit(registry.dispatch, calls[index])] = index\n"
            "        if results:\n            break",
        ),
    ),
    "all-that-run-must-end-before-the-next": (
        "test_results_are_in_call_order_whatever_ends_first",
        ready().replace("FIRST_COMPLETED", "ALL_COMPLETED"),
    ),
}

RIGHTS = {
    "callbacks-that-start-the-next": """
import threading

lock, all_ended = threading.Lock(), threading.Event()
results = [None] * len(calls)
missing, followers = [], []

def touches(written, access):
    places = access.reads | access.writes
    return any(overlap(one, other) for one in written for other in places)

for index, access in enumerate(accesses):
    first = [
        e
        for e, old in enumerate(accesses[:index])
        if touches(access.writes, old) or touches(old.writes, access)
    ]
    missing.append(len(first))
    followers.append([])
    for earlier in first:
        followers[earlier].append(index)
left = len(calls)

def start(index):
    future = pool.submit(registry.dispatch, calls[index])
    future.add_done_callback(lambda future: ended(index, future))

def ended(index, future):
    nonlocal left
    results[index] = future.result()
    free = []
    with lock:
        left -= 1
        for follower in followers[index]:
            missing[follower] -= 1
            if not missing[follower]:
                free.append(follower)
        if not left:
            all_ended.set()
    for follower in free:
        start(follower)

for index in [i for i, count in enumerate(missing) if not count]:
    start(index)
if calls:
    all_ended.wait()
return results
""",
    "a-queue-of-what-has-ended": """
import queue

def conflict(one, other):
    mine, theirs = one.reads | one.writes, other.reads | other.writes
    if any(overlap(place, written) for place in mine for written in other.writes):
        return True
    return any(overlap(written, place) for written in one.writes for place in theirs)

done, started, ended = queue.SimpleQueue(), set(), {}

def run(index):
    done.put((index, registry.dispatch(calls[index])))

while len(ended) < len(calls):
    for index, access in enumerate(accesses):
        others = (e for e in range(index) if e not in ended)
        if index not in started and not any(
            conflict(access, accesses[e]) for e in others
        ):
            started.add(index)
            pool.submit(run, index)
    index, result = done.get()
    ended[index] = result
return [result for _, result in sorted(ended.items(), key=lambda item: item[0])]
""",
}
