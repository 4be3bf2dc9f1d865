"""Lab 2 of the first chapter: damaged histories, and the API's own words on them."""

import copy
import importlib.util
from pathlib import Path

ACCEPTED = "accepted"
ROOT = Path(__file__).resolve().parents[3]
TOOLS = [{"name": "bash", "description": "", "input_schema": {"type": "object"}}]


def verdict(messages):
    """What the API says to a history: the rules of this repository's own tests."""
    path = ROOT / "tests" / "api_rules.py"
    spec = importlib.util.spec_from_file_location("api_rules_of_a_lab", path)
    rules = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rules)
    try:
        rules.RequestRules().check(messages, TOOLS)
        return ACCEPTED
    except rules.RequestRefused as refused:
        return str(refused)
    except Exception as error:
        return f"nothing, for it is no history ({type(error).__name__})"


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def text(said):
    return {"type": "text", "text": said}


def use(id_):
    return {"type": "tool_use", "id": id_, "name": "bash", "input": {"command": "ls"}}


def result(id_, content="done"):
    return {"type": "tool_result", "tool_use_id": id_, "content": content}


def sound_history():
    """Both kinds of content, other kinds of blocks, ids that are in no order."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
    image = {"type": "image", "source": {"type": "url", "url": "http://x/y.png"}}
    searched = [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
    ]
    failed = {**result("p", "no"), "is_error": True}
    return [
        user(text("Ls, please."), text("Ls, please.")),
        {"role": "user", "content": "All of it."},
        assistant(thought, text("Well."), use("z"), *searched, use("p")),
        user(result("z", ""), failed, text("See also:"), image),
        {"role": "assistant", "content": "Two files."},
        {"role": "user", "content": "Once more."},
        assistant(use("c")),
        user({"type": "tool_result", "tool_use_id": "c"}),
        assistant(text("The same.")),
        assistant(*searched),
        {"role": "user", "content": "Thanks."},
    ]


ASK = {"role": "user", "content": "List the files."}
SAID = {"role": "assistant", "content": "Let me see."}
SOUND = sound_history()


def damaged(lab):
    """What happened -> (the history after it, the history that is right)."""
    lost = lab.lost
    called = assistant(use("b"), text("Hm."), use("a"))
    return {
        "the program ended before the results were stored": (
            [ASK, called],
            [ASK, called, user(lost("b"), lost("a"))],
        ),
        "one of two results is missing": (
            [ASK, called, user(result("a", ""))],
            [ASK, called, user(lost("b"), result("a", ""))],
        ),
        "the user went on without any result": (
            [ASK, called, {"role": "user", "content": "Well?"}],
            [ASK, called, user(lost("b"), lost("a"), text("Well?"))],
        ),
        "the model went on without any result": (
            [ASK, called, SAID],
            [ASK, called, user(lost("b"), lost("a")), SAID],
        ),
        "a text stands before the results, in another order": (
            [ASK, called, user(text("Here:"), result("a"), text("!"), result("b"))],
            [ASK, called, user(result("b"), result("a"), text("Here:"), text("!"))],
        ),
        "a call was answered twice": (
            [ASK, assistant(use("a")), user(result("a", "1st"), result("a", "2nd"))],
            [ASK, assistant(use("a")), user(result("a", "1st"))],
        ),
        "a result answers nothing": (
            [ASK, SAID, user(result("x"), text("So?")), SAID, user(result("x"))],
            [ASK, SAID, user(text("So?")), SAID],
        ),
        "results of an earlier call and of none stand among the right ones": (
            [*SOUND, called, user(result("c"), result("a"), result("x"), result("b"))],
            [*SOUND, called, user(result("b"), result("a"))],
        ),
        "the result came one message late": (
            [ASK, assistant(use("a")), user(text("Wait.")), user(result("a"))],
            [ASK, assistant(use("a")), user(lost("a"), text("Wait."))],
        ),
        "the beginning was cut off inside a round": (
            [assistant(use("a")), user(result("a")), ASK],
            [ASK],
        ),
        "the beginning was cut off before a result": (
            [user(result("a")), SAID, called, user(result("b"), result("a")), ASK],
            [ASK],
        ),
        "nothing but the end of a round is left": ([user(result("a")), SAID], []),
        "an answer was stored without anything in it": (
            [ASK, SAID, assistant(), user(text("Go on.")), called],
            [ASK, SAID, user(text("Go on.")), called, user(lost("b"), lost("a"))],
        ),
    }


def test_each_damaged_history_is_made_whole(lab, expect):
    for happened, (messages, right) in damaged(lab).items():
        came = lab.repaired(messages)
        said = verdict(came)
        advice = f"to what came back the API says: {said}"
        if said == ACCEPTED:
            advice = "the API would take it, but not all of it is what happened"
        expect(f"repaired(...): {happened}", came, right, advice)


def test_the_api_accepts_every_repaired_history(lab, expect):
    for happened, (messages, right) in damaged(lab).items():
        if not right:
            continue  # an empty history is no request
        came = verdict(lab.repaired(messages))
        advice = "pair each call with one result, at the head of the next message"
        expect(f"the API on repaired(...): {happened}", came, ACCEPTED, advice)


def test_a_sound_history_stays_as_it_is(lab, expect):
    came = lab.repaired(SOUND)

    advice = "texts stay texts, and nothing is put in where nothing is missing"
    expect("repaired(a sound history)", came, SOUND, advice)
    expect("repaired([])", lab.repaired([]), [], "nothing to repair, nothing to add")


def test_a_second_repair_changes_nothing(lab, expect):
    for happened, (messages, _) in damaged(lab).items():
        once = lab.repaired(messages)
        advice = "what the first repair put in must be sound for the second"
        expect(f"repaired twice: {happened}", lab.repaired(once), once, advice)


def test_the_input_is_not_changed(lab, expect):
    for happened, (messages, _) in damaged(lab).items():
        before = copy.deepcopy(messages)
        came = lab.repaired(messages)
        advice = "build new lists and messages: the caller's file is evidence"
        expect(f"the input after repaired(...): {happened}", messages, before, advice)
        for message in came:
            if message["content"] and isinstance(message["content"], list):
                message["content"][0]["mine"] = True
        advice = "share no block with the input: detached(messages) is a copy"
        expect("the input, after a change of the output", messages, before, advice)
