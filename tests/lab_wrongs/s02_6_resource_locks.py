"""Wrong solutions of lab 6, resource locks."""

STARTER_FAILS = {
    "test_two_writes_to_different_files_overlap",
    "test_two_reads_of_one_file_overlap",
    "test_a_read_waits_for_the_write_of_its_file",
    "test_a_write_waits_for_every_earlier_read_of_its_file",
    "test_a_call_that_conflicts_with_nothing_waits_for_nothing",
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


def waiting(conflict: str = RIGHT, others: str = "range(index)") -> str:
    """The solution, with another rule of which calls a call waits for."""
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
        waiting("""
one, other = one.reads | one.writes, other.reads | other.writes
return any(overlap(a, b) for a in one for b in other)
"""),
    ),
    "write-after-read-forgotten": (
        "test_a_write_waits_for_every_earlier_read_of_its_file",
        waiting("""
touched = other.reads | other.writes
return any(overlap(a, b) for a in one.writes for b in touched)
"""),
    ),
    "same-path-only": (
        "test_a_folder_conflicts_with_what_is_in_it",
        waiting("""
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
        waiting(others="range(max(0, index - 1), index)"),
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
        waiting()
        .replace("ended = [", "results = []\nended = [")
        .replace(
            "return registry.dispatch(calls[index])",
            "results.append(registry.dispatch(calls[index]))",
        )
        .replace(
            "return list(pool.map(run, range(len(calls))))",
            "list(pool.map(run, range(len(calls))))\nreturn results",
        ),
    ),
}
