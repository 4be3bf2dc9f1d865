"""Wrong solutions of lab 2; the format is in README.md."""

SIDE_BY_SIDE = "test_two_tools_of_one_name_stand_side_by_side"
SHORT = "test_a_short_name_works_while_it_means_one_tool"
CHOICE = "test_a_short_name_of_two_tools_demands_a_choice_and_runs_none"
NOT_GUESSED = "test_a_name_that_nobody_registered_is_not_guessed"
LOOK_ALIKES = "test_names_that_look_alike_are_refused"
ACCEPTED = "test_a_name_that_the_api_does_not_accept_is_refused"
ORDER = "test_the_load_order_decides_nothing"
TRACE = "test_the_trace_says_what_a_name_was_taken_for"
STARTER_FAILS = {
    SIDE_BY_SIDE,
    SHORT,
    CHOICE,
    NOT_GUESSED,
    LOOK_ALIKES,
    ACCEPTED,
    ORDER,
    TRACE,
}


def solution(
    look='(kind, name.lower().replace("-", "_"))',
    accepted="ACCEPTED.fullmatch(qualified)",
    separator="if SEPARATOR in name:",
    qualified='f"{space}{SEPARATOR}{short}"',
    short="meant.setdefault(short, []).append(qualified)",
    end="{**table, **{short: sorted(names) for short, names in meant.items()}}",
    again="known != name",
):
    """The right lines, with one of them replaced."""
    return f"""
table = {{}}
meant = {{}}
spellings = {{}}
for space, names in sources.items():
    for short in names:
        for kind, name in ("namespace", space), ("tool", short):
            known = spellings.setdefault({look}, name)
            if {again}:
                raise ValueError(name)
            {separator}
                raise ValueError(name)
        qualified = {qualified}
        if not {accepted}:
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
    "a separator inside a name": (ACCEPTED, solution(separator="if False:")),
}
