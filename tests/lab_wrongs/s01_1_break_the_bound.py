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
        answer("[call] if number <= 90 else [text]"),
    ),
    "an exception after a while": (
        LONGER,
        answer("{n: [call] for n in range(91)}[number]"),
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
    "enough for a thousand turns": (
        LONGER,
        answer("[call] if number <= 1_000 else [text]"),
    ),
    "enough for a thousand turns, counted by itself": (
        LONGER,
        "turns = iter(range(1_000))\n"
        + answer("[text] if next(turns, None) is None else [call]"),
    ),
    "a rest now and then": (LONGER, answer("[text if number % 97 == 0 else call]")),
    "a little more in every reply": (
        HISTORY,
        answer('[{"type": "text", "text": "x" * (1 + number // 9)}, call]'),
    ),
    "the line first": (
        LINE,
        answer("[call]").replace(
            "return next_reply, 'while turns < max_turns:'",
            "return 'while turns < max_turns:', next_reply",
        ),
    ),
    "a reply in the place of a function": (
        NO_REASON,
        answer("[call]").replace("return next_reply,", "return next_reply(1),"),
    ),
    "the line without its end": (
        LINE,
        answer("[call]", line="while turns < max_turns"),
    ),
    "the line and the next": (
        LINE,
        answer("[call]", line="while turns < max_turns:\n        turns += 1"),
    ),
}

RIGHTS = {
    "a real command, whatever the stop reason": """
command = {"type": "tool_use", "name": "bash", "input": {"command": "true"}}
return lambda n: {
    "content": [{**command, "id": f"id{n}"}], "stop_reason": "end_turn"
}, "while turns < max_turns:"
""",
    "the same pause again and again": """
class Pause:
    def __call__(self, number):
        text = {"type": "text", "text": f"Wait, {number}."}
        return dict(stop_reason="pause_turn", content=[text])

return [Pause(), "    while turns < max_turns:  "]
""",
    "calls without an id": """
call = dict(type="tool_use", name="again", input={})
reply = dict(stop_reason=None, content=[call, call])
return (lambda _: reply), "while turns < max_turns:"
""",
}
