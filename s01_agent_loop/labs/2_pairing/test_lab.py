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


ASK = {"role": "user", "content": "List the files."}
SOUND = [ASK, assistant(use("a"), use("b")), user(result("a"), result("b"))]
SOUND += [assistant(text("Two files.")), {"role": "user", "content": "Thanks."}]


def damaged(lab):
    """What happened -> (the history after it, the history that is right)."""
    lost = lab.lost
    called = assistant(use("a"), use("b"))
    return {
        "the program ended before the results were stored": (
            [ASK, called],
            [ASK, called, user(lost("a"), lost("b"))],
        ),
        "one of two results is missing": (
            [ASK, called, user(result("b"))],
            [ASK, called, user(lost("a"), result("b"))],
        ),
        "the user went on without any result": (
            [ASK, called, {"role": "user", "content": "Well?"}],
            [ASK, called, user(lost("a"), lost("b"), text("Well?"))],
        ),
        "the model went on without any result": (
            [ASK, called, assistant(text("Hm."))],
            [ASK, called, user(lost("a"), lost("b")), assistant(text("Hm."))],
        ),
        "a text stands before the results, in another order": (
            [ASK, called, user(text("Here:"), result("b"), result("a"))],
            [ASK, called, user(result("a"), result("b"), text("Here:"))],
        ),
        "a call was answered twice": (
            [ASK, assistant(use("a")), user(result("a", "1st"), result("a", "2nd"))],
            [ASK, assistant(use("a")), user(result("a", "1st"))],
        ),
        "a result answers nothing": (
            [ASK, assistant(text("Hm.")), user(result("x"), text("So?"))],
            [ASK, assistant(text("Hm.")), user(text("So?"))],
        ),
        "the result came one message late": (
            [ASK, assistant(use("a")), user(text("Wait.")), user(result("a"))],
            [ASK, assistant(use("a")), user(lost("a"), text("Wait."))],
        ),
        "the beginning was cut off inside a round": (
            [assistant(use("a")), user(result("a")), ASK],
            [ASK],
        ),
    }


def test_each_damaged_history_is_made_whole(lab, expect):
    for happened, (messages, right) in damaged(lab).items():
        came = lab.repaired(messages)
        advice = f"without repair the API says: {verdict(messages)}"
        expect(f"repaired(...): {happened}", came, right, advice)


def test_the_api_accepts_every_repaired_history(lab, expect):
    for happened, (messages, _) in damaged(lab).items():
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
            if isinstance(message["content"], list):
                message["content"][0]["mine"] = True
        advice = "share no block with the input: detached(messages) is a copy"
        expect("the input, after a change of the output", messages, before, advice)
