"""Wrong solutions of lab 2 of the first chapter; the format is in README.md."""

WHOLE = "test_each_damaged_history_is_made_whole"
ACCEPTED = "test_the_api_accepts_every_repaired_history"
SOUND = "test_a_sound_history_stays_as_it_is"
TWICE = "test_a_second_repair_changes_nothing"
INPUT = "test_the_input_is_not_changed"
STARTER_FAILS = {WHOLE, ACCEPTED, SOUND, TWICE, INPUT}

SOUND_LINES = """
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
    body = SOUND_LINES
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
    "cut to the first user message, then repaired": (
        ACCEPTED,
        """
roles = [message["role"] for message in messages]
messages = messages[roles.index("user") :] if "user" in roles else []
"""
        + wrong(('(whole or message["role"] == "user")', "True")),
    ),
    "an assistant that says a text": (
        WHOLE,
        wrong(
            (
                "blocks = content if isinstance(content, list) else []",
                'blocks = content if message["role"] == "assistant"'
                " or isinstance(content, list) else []",
            ),
        ),
    ),
    "the results stand in the order of their ids": (
        SOUND,
        wrong(("for id_ in calls] + others", "for id_ in sorted(calls)] + others")),
    ),
    "an empty result is none": (
        WHOLE,
        wrong(
            (
                "[given.get(id_) or lost(id_) for",
                "[given[id_] if given.get(id_, {}).get('content') else lost(id_) for",
            ),
        ),
    ),
    "whatever ends in tool_use is a call": (
        SOUND,
        wrong(('block["type"] == "tool_use"]', 'block["type"].endswith("tool_use")]')),
    ),
    "only texts and calls are kept": (
        SOUND,
        wrong(
            (
                'block["type"] != "tool_result"]',
                'block["type"] in ("text", "tool_use", "server_tool_use")]',
            ),
        ),
    ),
    "a result counts wherever it comes": (
        WHOLE,
        """
later = {
    block["tool_use_id"]: block
    for message in reversed(detached(messages))
    for block in reversed(message["content"])
    if isinstance(block, dict) and block["type"] == "tool_result"
}
"""
        + wrong(("given.get(id_) or lost(id_)", "later.get(id_) or lost(id_)")),
    ),
    "the calls of a message that was dropped": (
        ACCEPTED,
        wrong(
            (
                """calls = []
    if content and (whole or message["role"] == "user"):
        whole.append({**message, "content": content})
        calls = """,
                """calls = []
    if content and (whole or message["role"] == "user"):
        whole.append({**message, "content": content})
    calls = """,
            ),
        ),
    ),
    "only a text can begin": (
        SOUND,
        wrong(
            (
                'message["role"] == "user")',
                'message == {**message, "role": "user", "content": str(content)})',
            )
        ),
    ),
    "what is said twice is said once": (
        SOUND,
        wrong(
            (
                "others = [block for block in blocks if",
                "others = [block for n, block in enumerate(blocks)"
                " if block not in blocks[:n] and",
            ),
        ),
    ),
    "neighbours of one role become one message": (
        SOUND,
        SOUND_LINES
        + """
for before, after in list(zip(whole, whole[1:]))[::-1]:
    if before["role"] == after["role"] == "user" and "tool" not in str(after):
        before["content"] = str(before["content"]) + str(after["content"])
        whole.remove(after)
""",
    ),
}

RIGHTS = {
    "a walk over indices, with functions": """
def blocks_of(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content

def of_type(message, kind):
    return [block for block in blocks_of(message) if block["type"] == kind]

def answers(call_ids, message):
    found = of_type(message, "tool_result") if message["role"] == "user" else []
    for call_id in call_ids:
        yield next((b for b in found if b["tool_use_id"] == call_id), lost(call_id))

todo = detached(messages)
while todo:
    message = todo.pop(0)
    open_calls = [b["id"] for b in of_type(whole[-1], "tool_use")] if whole else []
    if open_calls and message["role"] == "assistant":
        todo.insert(0, message)
        message = {"role": "user", "content": []}
    elif not whole and message["role"] == "assistant":
        continue
    rest = [b for b in blocks_of(message) if b["type"] != "tool_result"]
    if open_calls or not isinstance(message["content"], str):
        message = {**message, "content": [*answers(open_calls, message), *rest]}
    if message["content"]:
        whole.append(message)
if whole and (open_calls := [b["id"] for b in of_type(whole[-1], "tool_use")]):
    whole.append({"role": "user", "content": [lost(call) for call in open_calls]})
""",
    "several passes": """
history = detached(messages)
for index, message in enumerate(history):
    if isinstance(message["content"], list):
        before = history[index - 1]["content"] if index else []
        before = [] if isinstance(before, str) else before
        calls = {b["id"] for b in before if b["type"] == "tool_use"}
        message["kept"] = kept = {}
        for block in message["content"]:
            if block["type"] == "tool_result" and block["tool_use_id"] in calls:
                kept.setdefault(block["tool_use_id"], block)
for message in history:
    if isinstance(message["content"], list):
        others = [b for b in message["content"] if b["type"] != "tool_result"]
        message["content"] = others
        message.setdefault("kept", {})
while history and history[0]["role"] != "user" or (
    history and not history[0]["content"]
):
    del history[0]
history = [m for m in history if m["content"] or m.get("kept")]
for message in history:
    calls = []
    if whole and isinstance(whole[-1]["content"], list):
        calls = [b["id"] for b in whole[-1]["content"] if b["type"] == "tool_use"]
    kept = message.pop("kept", {})
    results = [kept.get(call, lost(call)) for call in calls]
    if results and message["role"] == "assistant":
        whole.append({"role": "user", "content": results})
    elif results:
        said = message["content"]
        said = [{"type": "text", "text": said}] if isinstance(said, str) else said
        message["content"] = results + said
    if message["content"]:
        whole.append(message)
if whole and isinstance(whole[-1]["content"], list):
    calls = [b["id"] for b in whole[-1]["content"] if b["type"] == "tool_use"]
    if calls:
        whole.append({"role": "user", "content": [lost(call) for call in calls]})
""",
}
