"""Wrong solutions of lab 2 of the first chapter; the format is in README.md."""

WHOLE = "test_each_damaged_history_is_made_whole"
ACCEPTED = "test_the_api_accepts_every_repaired_history"
SOUND = "test_a_sound_history_stays_as_it_is"
TWICE = "test_a_second_repair_changes_nothing"
INPUT = "test_the_input_is_not_changed"
STARTER_FAILS = {WHOLE, ACCEPTED, SOUND, TWICE, INPUT}

RIGHT = """
calls = []
for message in [*detached(messages), None]:
    if calls and (message is None or message["role"] == "assistant"):
        whole.append({"role": "user", "content": [lost(id_) for id_ in calls]})
        calls = []
    if message is None:
        break
    content = message["content"]
    if calls and isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks = content if isinstance(content, list) else []
    others = [block for block in blocks if block["type"] != "tool_result"]
    given = {b["tool_use_id"]: b for b in reversed(blocks) if b not in others}
    if isinstance(content, list):
        content = [given.get(id_) or lost(id_) for id_ in calls] + others
    calls = []
    if content and (whole or message["role"] == "user"):
        whole.append({**message, "content": content})
        calls = [block["id"] for block in others if block["type"] == "tool_use"]
"""


def wrong(*changes):
    """The right lines with some of them changed; each change must find its place."""
    body = RIGHT
    for old, new in changes:
        assert old in body, old
        body = body.replace(old, new)
    return body


WRONGS = {
    "nothing is done": (ACCEPTED, "whole.extend(detached(messages))"),
    "only the end is looked at": (
        ACCEPTED,
        """
whole.extend(detached(messages))
content = whole[-1]["content"] if whole else ""
calls = [b["id"] for b in content if isinstance(b, dict) and b["type"] == "tool_use"]
if calls:
    whole.append({"role": "user", "content": [lost(id_) for id_ in calls]})
""",
    ),
    "every call gets a new result, also after the real one": (
        SOUND,
        """
for message in detached(messages):
    whole.append(message)
    content = message["content"]
    blocks = content if isinstance(content, list) else []
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    if calls:
        whole.append({"role": "user", "content": [lost(id_) for id_ in calls]})
""",
    ),
    "unanswered calls are deleted": (
        WHOLE,
        """
answered = {
    block["tool_use_id"]
    for message in messages
    for block in message["content"]
    if isinstance(block, dict) and block["type"] == "tool_result"
}
for message in detached(messages):
    if isinstance(message["content"], list):
        message["content"] = [
            block
            for block in message["content"]
            if block["type"] != "tool_use" or block["id"] in answered
        ]
    if message["content"]:
        whole.append(message)
""",
    ),
    "the end of the history is forgotten": (
        ACCEPTED,
        wrong(("[*detached(messages), None]", "detached(messages)")),
    ),
    "the results stand last": (
        ACCEPTED,
        wrong(
            (
                "[given.get(id_) or lost(id_) for id_ in calls] + others",
                "others + [given.get(id_) or lost(id_) for id_ in calls]",
            ),
        ),
    ),
    "the results stand in the order they came": (
        WHOLE,
        wrong(
            (
                "[given.get(id_) or lost(id_) for id_ in calls] + others",
                "[b for b in given.values() if b['tool_use_id'] in calls]"
                " + [lost(id_) for id_ in calls if id_ not in given] + others",
            ),
        ),
    ),
    "of two results the last counts": (
        WHOLE,
        wrong(("in reversed(blocks)", "in blocks")),
    ),
    "results without a call are kept": (
        ACCEPTED,
        wrong(
            (
                "for id_ in calls] + others",
                "for id_ in calls] + [b for b in blocks if b in others"
                " or b['tool_use_id'] not in calls]",
            ),
        ),
    ),
    "a message without content is kept": (
        ACCEPTED,
        wrong(("if content and (whole", "if (whole")),
    ),
    "an assistant may come first": (
        ACCEPTED,
        wrong(('(whole or message["role"] == "user")', "True")),
    ),
    "every text becomes a list": (
        SOUND,
        wrong(("if calls and isinstance(content, str)", "if isinstance(content, str)")),
    ),
    "a second repair says it again": (
        TWICE,
        wrong(
            (
                "given.get(id_) or lost(id_) for",
                '{**given.get(id_, lost(id_)), "content": "Lost: "'
                ' + given.get(id_, lost(id_))["content"]}'
                ' if "lost" in given.get(id_, lost(id_))["content"]'
                " else given[id_] for",
            ),
        ),
    ),
    "the caller's messages are used": (
        INPUT,
        wrong(("detached(messages)", "messages")),
    ),
    "only the outer list is copied": (
        INPUT,
        """
for message in list(messages):
    if isinstance(message["content"], list) and message["role"] == "user":
        message["content"].sort(key=lambda block: block["type"] == "text")
    whole.append(message)
""",
    ),
}
