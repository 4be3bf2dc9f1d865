"""Wrong solutions of lab 2; the format is in README.md."""

SIDE_BY_SIDE = "test_two_tools_of_one_name_stand_side_by_side"
SHORT = "test_a_short_name_works_while_it_means_one_tool"
CHOICE = "test_a_short_name_of_two_tools_demands_a_choice_and_runs_none"
NOT_GUESSED = "test_a_name_that_nobody_registered_is_not_guessed"
LOOK_ALIKES = "test_names_that_look_alike_are_refused"
ACCEPTED = "test_a_name_that_the_api_or_the_table_does_not_accept_is_refused"
REMINDS = "test_names_that_merely_remind_of_each_other_are_accepted"
ORDER = "test_the_load_order_decides_nothing"
TRACE = "test_the_trace_says_what_a_name_was_taken_for"
STARTER_FAILS = {
    SIDE_BY_SIDE,
    SHORT,
    CHOICE,
    NOT_GUESSED,
    LOOK_ALIKES,
    REMINDS,
    ACCEPTED,
    ORDER,
    TRACE,
}


def solution(
    look='(kind, name.lower().replace("-", "_"))',
    accepted="ACCEPTED.fullmatch(qualified)",
    separator="SEPARATOR in name",
    qualified='f"{space}{SEPARATOR}{short}"',
    short="meant.setdefault(short, []).append(qualified)",
    end="{**table, **{short: sorted(names) for short, names in meant.items()}}",
    again="known != name",
    namespace="claim('namespace', space)",
    whole="claim('qualified', qualified)",
    taken="qualified in table",
    inner="pass",
):
    """The right lines, with one of them replaced."""
    return f"""
table = {{}}
meant = {{}}
spellings = {{}}

def claim(kind, name):
    known = spellings.setdefault({look}, name)
    if {again}:
        raise ValueError(name)
    if kind != "qualified" and {separator}:
        raise ValueError(name)

for space, names in sources.items():
    {namespace}
    for short in names:
        {inner}
        claim("tool", short)
        qualified = {qualified}
        {whole}
        if not {accepted} or {taken}:
            raise ValueError(qualified)
        table[qualified] = [qualified]
        {short}
return {end}
"""


WRONGS = {
    "the last one loaded wins": (CHOICE, solution(short="meant[short] = [qualified]")),
    "the first one loaded wins": (
        CHOICE,
        solution(short="meant.setdefault(short, [qualified])"),
    ),
    "the meanings stand in load order": (ORDER, solution(end="{**table, **meant}")),
    "short names are left out": (SHORT, solution(end="table")),
    "a short name of two tools is dropped": (
        CHOICE,
        solution(end="{**table, **{s: n for s, n in meant.items() if len(n) == 1}}"),
    ),
    "every spelling is in the table": (
        NOT_GUESSED,
        solution(short="meant.setdefault(short.title(), []).append(qualified)"),
    ),
    "only upper and lower case look alike": (
        LOOK_ALIKES,
        solution(look="(kind, name.lower())"),
    ),
    "only - and _ look alike": (
        LOOK_ALIKES,
        solution(look='(kind, name.replace("-", "_"))'),
    ),
    "look-alikes are sought in one namespace only": (
        LOOK_ALIKES,
        solution(look='(kind, space, name.lower().replace("-", "_"))'),
    ),
    "the same name in two namespaces is refused": (
        SIDE_BY_SIDE,
        solution(again='known != name or (kind == "tool" and short in meant)'),
    ),
    "a dot separates": (SIDE_BY_SIDE, solution(qualified='f"{space}.{short}"')),
    "only the short name is matched": (
        ACCEPTED,
        solution(accepted="ACCEPTED.fullmatch(short)"),
    ),
    "match in the place of fullmatch": (
        ACCEPTED,
        solution(accepted='re.match("[A-Za-z0-9_-]{1,64}$", qualified)'),
    ),
    "a separator inside a name": (ACCEPTED, solution(separator="False")),
    "one list of spellings for namespaces and tools": (
        REMINDS,
        solution(look='name.lower().replace("-", "_")'),
    ),
    "- and _ are nothing": (
        REMINDS,
        solution(look='(kind, name.lower().replace("-", "").replace("_", ""))'),
    ),
    "names in lower case": (
        REMINDS,
        solution(qualified='f"{space}{SEPARATOR}{short}".lower()'),
    ),
    "one character less": (
        REMINDS,
        solution(accepted="re.fullmatch('[A-Za-z0-9_-]{1,63}', qualified)"),
    ),
    "one character more": (
        ACCEPTED,
        solution(accepted="re.fullmatch('[A-Za-z0-9_-]{1,65}', qualified)"),
    ),
    "a namespace is looked at with its tools only": (
        LOOK_ALIKES,
        solution(namespace="pass", inner="claim('namespace', space)"),
    ),
    "a separator in a namespace without tools": (
        ACCEPTED,
        solution(separator="SEPARATOR in name and (kind == 'tool' or names)"),
    ),
    "two tools under one qualified name": (ACCEPTED, solution(taken="False")),
    "qualified names may look alike": (LOOK_ALIKES, solution(whole="pass")),
    "the caller's lists are sorted": (
        ORDER,
        solution(namespace="claim('namespace', space); names.sort()"),
    ),
    "the meanings are a set": (
        ORDER,
        solution(end="{**table, **{s: set(n) for s, n in meant.items()}}"),
    ),
}

RIGHTS = {
    "first all checks, then comprehensions": """
def look(name):
    return name.casefold().replace("-", "_")

def differ(names):
    return len(set(names)) == len({look(name) for name in names})

pairs = [(space, short) for space in sources for short in sources[space]]
shorts = {short for _, short in pairs}
full = [SEPARATOR.join(pair) for pair in pairs]
if any(SEPARATOR in name for name in [*sources, *shorts]):
    raise ValueError("a separator in a name")
if len(set(full)) < len(full) or not all(map(ACCEPTED.fullmatch, full)):
    raise ValueError("a name that is taken, or that no API accepts")
if not (differ(sources) and differ(shorts) and differ(full)):
    raise ValueError("names that look alike")
means = {
    short: [SEPARATOR.join(pair) for pair in sorted(pairs) if pair[1] == short]
    for short in shorts
}
return {name: [name] for name in full} | {s: sorted(m) for s, m in means.items()}
""",
    "tuples, and translate": """
from bisect import insort
from itertools import product

table, seen = {}, {}
plain = str.maketrans("-", "_")
for space in sorted(sources, reverse=True):
    for kind, name in [(0, space), *product([1], sources[space])]:
        look = kind, name.lower().translate(plain)
        if "__" in name or seen.setdefault(look, name) != name:
            raise ValueError(name)
    for short in sorted(sources[space]):
        name = space + "__" + short
        twice = seen.setdefault((2, name.lower().translate(plain)), (space, short))
        if twice != (space, short) or name in table or not re.fullmatch(ACCEPTED, name):
            raise ValueError(name)
        table[name] = [name]
        insort(table.setdefault(short, []), name)
return {name: tuple(meanings) for name, meanings in table.items()}
""",
}
