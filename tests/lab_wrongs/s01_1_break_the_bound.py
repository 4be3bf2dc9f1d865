"""Wrong solutions of lab 1 of the first chapter; the format is in README.md."""

NO_REASON = "test_the_loop_finds_no_reason_to_stop_of_its_own"
LONGER = "test_a_higher_bound_only_takes_longer"
LINE = "test_the_line_that_stops_you_is_the_one_that_counts"
HISTORY = "test_the_history_stays_one_that_the_api_accepts"
STARTER_FAILS = {NO_REASON, LONGER, LINE, HISTORY}


def answer(content, stop_reason='"tool_use"', line="while turns < max_turns:"):
    """A function that returns this reply, and this line."""
    return f"""
call = {{"type": "tool_use", "id": "c", "name": "again", "input": {{}}}}
text = {{"type": "text", "text": "Once more."}}

def next_reply(number):
    return {{"stop_reason": {stop_reason}, "content": {content}}}

return next_reply, {line!r}
"""


WRONGS = {
    "a text without a call": (NO_REASON, answer("[text]")),
    "nothing at all": (NO_REASON, answer("[]", '"pause_turn"')),
    "cut off by max_tokens": (NO_REASON, answer("[call]", '"max_tokens"')),
    "a refusal with a call in it": (NO_REASON, answer("[call]", '"refusal"')),
    "enough for thirty turns": (
        LONGER,
        answer("[call] if number <= 100 else [text]"),
    ),
    "an exception after a while": (
        LONGER,
        answer("{n: [call] for n in range(101)}[number]"),
    ),
    "the line that asks for a reason": (
        LINE,
        answer("[call]", line="if stop_reason is not None:"),
    ),
    "the check of the argument": (LINE, answer("[call]", line="if max_turns < 1:")),
    "more words in every reply": (
        HISTORY,
        answer('[{"type": "text", "text": "x" * 9_000}, call]'),
    ),
}
