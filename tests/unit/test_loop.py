"""The turn table, row by row, in both chapters, with a real shell in a real folder.

A call that ran leaves the file `ran`. `goes_on` asks one more question, behind the
rules of the real API: it is the last line of most tests.
"""

from __future__ import annotations

import itertools
import sys

import pytest

from s02_tool_dispatch import code as s02
from tests.api_rules import RequestRefused
from tests.tools import registry_of, spec
from tests.turns import T, Talk, shell, text, tools_of, use

THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
SEARCH = {"type": "server_tool_use", "id": "srv_1", "name": "bash", "input": {}}
RUN = shell("touch ran")
DONE = T("end_turn", text("done"))
NO_SIGNALS = pytest.mark.skipif(
    sys.platform == "win32", reason="a shell cannot send SIGINT there"
)


@pytest.fixture(params=["s01", "s02"])
def talk(request, tmp_path):
    """A conversation of each chapter in an empty folder."""
    from s01_agent_loop import code as s01

    chapter = {"s01": s01, "s02": s02}[request.param]
    return Talk(chapter, tools_of(chapter, tmp_path))


@pytest.mark.parametrize("calls", [[], [RUN], [RUN, shell("touch ran", "t2")]])
@pytest.mark.parametrize("words", [[], [text("no")]])
def test_a_refusal_runs_nothing_and_leaves_no_trace(talk, tmp_path, words, calls):
    result = talk.ask(T("refusal", *words, *calls), DONE)

    assert (result.stop_reason, result.final_text) == ("refusal", "no" * len(words))
    assert len(talk.messages) == 1 and not (tmp_path / "ran").exists()
    assert talk.goes_on()


CUT = [
    ("max_tokens", "max_tokens"),
    ("model_context_window_exceeded", "context_window_exceeded"),
]
FILE = use("t1", "write_file", {"path": "ran", "content": "def f(:"})
HALF = [  # blocks, the text that is kept
    ([text("I will"), RUN, shell("touch ran", "t2")], "I will"),
    *[([use("t1", "bash", half)], "") for half in ({"command": "t"}, '{"c', None, {})],
    *[([FILE], ""), ([text("half a sen")], "half a sen"), ([], "")],
    *[([text(" ")], ""), ([THINKING], "")],
]


@pytest.mark.parametrize("said, stop", CUT)
@pytest.mark.parametrize("blocks, kept", HALF)
def test_a_call_in_a_reply_that_was_cut_off_is_answered_but_never_run(
    talk, tmp_path, said, stop, blocks, kept
):
    result = talk.ask(T(said, *blocks), DONE)
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]

    assert (result.stop_reason, result.final_text) == (stop, kept)
    assert (result.turns, result.tool_calls) == (1, len(calls))
    assert [block["tool_use_id"] for block in talk.results()] == calls
    assert all(b["is_error"] and "cut" in b["content"] for b in talk.results())
    assert talk.blocks("text") == [text(kept)] * bool(kept)
    assert list(tmp_path.iterdir()) == [] and talk.goes_on()


@pytest.mark.parametrize(
    "said",
    ["tool_use", "end_turn", "stop_sequence", "pause_turn", "length", "other", None, 5],
)
def test_complete_calls_are_run_whatever_the_stop_reason_says(talk, tmp_path, said):
    result = talk.ask(T(said, RUN), DONE, max_turns=2)

    assert (result.stop_reason, result.final_text) == ("final_answer", "done")
    assert (result.turns, result.tool_calls) == (2, 1)
    assert (tmp_path / "ran").exists() and talk.goes_on()


def test_three_calls_of_a_turn_are_answered_in_one_message_in_call_order(talk):
    calls = [shell("echo one", "t1"), shell("exit 3", "t2"), shell("echo three", "t3")]
    talk.ask(T("tool_use", text("now"), *calls), DONE)

    _, reply, answer, _ = talk.messages
    assert (reply["role"], answer["role"]) == ("assistant", "user")
    ids = [block["tool_use_id"] for block in answer["content"]]
    assert ids == ["t1", "t2", "t3"]
    assert [bool(b.get("is_error")) for b in talk.results()] == [False, True, False]
    assert talk.goes_on()


COMMANDS = [("true", "(no output)"), ("printf 'a\\0b\\n\\n'", "a\ufffdb")]


@pytest.mark.parametrize(
    "command, said", [*COMMANDS, ("kill -0 -- -$$ && echo a", "a")]
)
def test_a_command_leads_a_group_and_what_it_wrote_can_be_sent(talk, command, said):
    talk.ask(T("tool_use", shell(command)), DONE)

    assert [words.rstrip("\n") for words in talk.said()] == [said] and talk.goes_on()


def test_a_paused_turn_is_sent_back_as_it_came_and_resumed(talk):
    blocks = [THINKING, SEARCH, text("searching")]
    result = talk.ask(T("pause_turn", *blocks), DONE)

    assert (result.stop_reason, result.turns) == ("final_answer", 2)
    assert talk.messages[1] == {"role": "assistant", "content": blocks}
    assert talk.goes_on()


STOPS = ["end_turn", "tool_use", "stop_sequence", "pause_turn", None, "x"]
NOTHING = [
    *[T(said, *blank) for said in STOPS for blank in ([], [text(None)], [text(" ")])],
    *[T(said, THINKING) for said in STOPS if said != "pause_turn"],
    *[{"stop_reason": "end_turn", "content": c} for c in (None, "", " ", [None], {})],
    *[{}, {"content": 5}, [], "<html></html>", None, 5],
]


@pytest.mark.parametrize("reply", NOTHING, ids=str)
def test_neither_text_nor_call_is_no_answer_and_leaves_no_trace(talk, reply):
    result = talk.ask(reply, DONE)

    assert (result.stop_reason, result.final_text) == ("no_answer", "")
    assert (result.turns, len(talk.messages)) == (1, 1) and talk.goes_on()


def test_nothing_said_after_a_tool_result_is_no_answer(talk):
    result = talk.ask(T("tool_use", RUN), T("end_turn"), DONE)

    assert (result.stop_reason, result.turns) == ("no_answer", 2)
    assert len(talk.messages) == 3 and talk.goes_on()


def test_a_pending_call_is_run_before_max_turns_stops_the_loop(talk, tmp_path):
    result = talk.ask(T("tool_use", text("last"), RUN), DONE, max_turns=1)

    assert (result.stop_reason, result.final_text) == ("max_turns", "last")
    assert (result.turns, result.tool_calls) == (1, 1)
    assert (tmp_path / "ran").exists() and talk.messages[-1]["role"] == "user"
    assert talk.goes_on()


@pytest.mark.parametrize("most", [1, 3, None])
@pytest.mark.parametrize(
    "turn, calls", [(T("pause_turn", SEARCH), 0), (T("tool_use", use("t1")), 1)]
)
def test_the_same_turn_for_ever_stops_at_max_turns(talk, turn, calls, most):
    options = {} if most is None else {"max_turns": most}
    result = talk.play(itertools.repeat(turn), **options)
    turns = most or 50

    assert (result.stop_reason, result.turns) == ("max_turns", turns)
    assert result.tool_calls == len(talk.results()) == calls * turns
    assert talk.provider.requests == turns and talk.goes_on()


@pytest.mark.parametrize("most", [0, -1])
def test_max_turns_below_one_is_refused_before_any_request(talk, most):
    with pytest.raises(ValueError, match=f"max_turns.*{most}"):
        talk.ask(DONE, max_turns=most)

    assert talk.provider.requests == 0 and len(talk.messages) == 1


AS_TEXT = [
    '<tool_use name="bash">{"command": "touch ran"}</tool_use>',
    '{"type": "tool_use", "name": "bash", "input": {"command": "touch ran"}}',
    "<function_calls><invoke name='bash'>touch ran</invoke></function_calls>",
    "```bash\ntouch ran\n```",
]


@pytest.mark.parametrize("said", ["end_turn", "stop_sequence", "tool_use", "", None])
@pytest.mark.parametrize("words", [*AS_TEXT, "42"])
def test_a_call_written_as_text_is_never_run(talk, tmp_path, said, words):
    result = talk.ask(T(said, THINKING, text(words)), DONE)

    assert (result.stop_reason, result.final_text) == ("final_answer", words)
    assert result.provider_stop_reason == said
    assert (result.turns, result.tool_calls) == (1, 0)
    assert not (tmp_path / "ran").exists() and talk.goes_on()


def test_server_side_blocks_are_sent_back_and_never_dispatched(talk, tmp_path):
    server = {**SEARCH, "input": {"command": "touch ran"}}
    talk.ask(T("tool_use", server, shell("echo mine", "t2")), DONE)

    assert talk.messages[1]["content"][0] == server
    assert [block["tool_use_id"] for block in talk.results()] == ["t2"]
    assert not (tmp_path / "ran").exists() and talk.goes_on()


ODD_INPUTS = [
    *['{"command": "touch ran"}', None, [], ["touch ran"], "5", 5, True, {}, {"x": 1}],
    *[{"command": odd} for odd in (5, ["touch", "ran"], None, "", " \n")],
    {"Command": "touch ran"},
]
ODD_NAMES = ["functions.bash", "bash ", "Bash", "", None, 5, ["bash"], "n" * 200]
UNUSABLE = [use("t1", "bash", odd) for odd in ODD_INPUTS]
UNUSABLE += [use("t1", odd, {"command": "touch ran"}) for odd in ODD_NAMES]


@pytest.mark.parametrize("call", UNUSABLE, ids=range(len(UNUSABLE)))
def test_a_call_without_a_tool_or_usable_arguments_is_answered_and_not_run(
    talk, tmp_path, call
):
    talk.ask(T("tool_use", call, shell("echo fine", "t2")), DONE)

    assert [bool(b.get("is_error")) for b in talk.results()] == [True, False]
    assert isinstance(talk.blocks("tool_use")[0]["input"], dict)
    assert not (tmp_path / "ran").exists() and talk.goes_on()


@pytest.mark.parametrize("is_new_question", [False, True])
@pytest.mark.parametrize(
    "first, second",
    [
        *[(["t1", "t1"], ["t2"]), (["t1"], ["t1"]), (["", None], ["a.b"])],
        (["", "call_1"], ["call_2", ""]),  # ids that could be made
    ],
)
def test_calls_with_ids_that_cannot_be_used_are_all_answered(
    talk, first, second, is_new_question
):
    one, two = (T("tool_use", *map(use, ids)) for ids in (first, second))
    for turns in [[one, DONE], [two, DONE]] if is_new_question else [[one, two, DONE]]:
        talk.ask(*turns)
    made = [block["id"] for block in talk.blocks("tool_use")]

    assert made == [block["tool_use_id"] for block in talk.results()]
    assert len(set(made)) == len(first + second) and made[0] in (first[0], "call_1")
    assert talk.goes_on()


@pytest.mark.parametrize("turns, kept", [([], 1), ([T("tool_use", RUN)], 3)])
def test_a_request_that_fails_keeps_the_rounds_before_it(talk, tmp_path, turns, kept):
    with pytest.raises(talk.chapter.ProviderError):
        talk.ask(*turns)

    assert len(talk.messages) == kept and (tmp_path / "ran").exists() == (kept > 1)
    assert talk.goes_on()


def test_the_rules_of_the_api_are_in_force_in_these_tests(talk):
    talk.messages += [{"role": "assistant", "content": [RUN]}]
    with pytest.raises(RequestRefused):
        talk.ask(DONE)


def test_what_the_model_sees_is_shown_before_its_tools_run_and_after(talk, tmp_path):
    shown, had_run = [], []

    def show(message):
        shown.append(message)
        had_run.append((tmp_path / "ran").exists())

    turn = T("tool_use", text("now"), RUN, use("", "no.such", None))
    talk.ask(turn, DONE, show=show)
    assert shown == talk.messages[1:] and had_run == [False, True, True]
    assert [message["role"] for message in shown] == ["assistant", "user", "assistant"]


@pytest.mark.parametrize("error", [OSError("closed"), KeyboardInterrupt()])
@pytest.mark.parametrize("number, kept", [(1, 1), (2, 3), (3, 3)])
def test_a_screen_that_fails_leaves_a_history_that_can_go_on(
    talk, tmp_path, error, number, kept
):
    shown = []

    def show(message):
        shown.append(message)
        if len(shown) == number:
            raise error

    with pytest.raises(type(error)):
        talk.ask(T("tool_use", RUN), DONE, show=show)
    assert len(talk.messages) >= kept and (tmp_path / "ran").exists() == (kept > 1)
    assert talk.goes_on()


@NO_SIGNALS
@pytest.mark.parametrize("before, after", [(0, 0), (1, 1), (2, 0), (0, 2)])
def test_an_interrupt_in_a_shell_leaves_every_call_answered_truly(
    talk, tmp_path, ctrl_c, before, after
):
    first = [shell(f"echo kept {i}", f"a{i}") for i in range(before)]
    last = [shell("touch ran", f"z{i}") for i in range(after)]
    stop = shell("sleep 0.1; kill -INT $PPID; sleep 60", "k")
    with pytest.raises(KeyboardInterrupt):
        talk.ask(T("tool_use", *first, stop, *last), DONE)

    said = talk.said()
    assert said[:before] == [f"kept {i}" for i in range(before)]
    assert "outcome" in said[before] and "unknown" in said[before]
    assert all("not run" in words for words in said[before + 1 :])
    assert len(said) == before + 1 + after and not (tmp_path / "ran").exists()
    assert talk.goes_on()


def test_an_interrupt_in_a_handler_reaches_the_caller_with_its_results():
    def stop():
        raise KeyboardInterrupt

    talk = Talk(s02, registry_of(spec("fine", lambda: "ok"), spec("stop", stop)))
    calls = [use(f"t{i}", name, {}) for i, name in enumerate(["fine", "stop", "fine"])]
    with pytest.raises(s02.ToolsInterrupted) as caught:
        talk.ask(T("tool_use", *calls), DONE)

    assert caught.value.blocks == talk.results()
    assert [b["tool_use_id"] for b in talk.results()] == ["t0", "t1", "t2"]
    assert talk.said()[0] == "ok" and "not run" in talk.said()[2] and talk.goes_on()


def test_a_handler_that_changes_its_arguments_does_not_change_history():
    def handler(items=None):
        items[0]["a"] = object()
        items.clear()

    talk = Talk(s02, registry_of(spec("a", handler, {"items": {"type": "array"}})))
    talk.ask(T("tool_use", use("t1", "a", {"items": [{"a": 1}]})), DONE)

    assert talk.blocks("tool_use")[0]["input"] == {"items": [{"a": 1}]}
    assert not talk.results()[0].get("is_error") and talk.goes_on()


def test_the_tools_of_the_registry_are_what_the_provider_is_given(tmp_path):
    seen = []

    class Provider:
        def create(self, messages, tools):
            seen.append(tools)
            return DONE

    registry = s02.build_registry(s02.Workspace(tmp_path))
    s02.agent_loop([{"role": "user", "content": "go"}], Provider(), registry)
    assert seen == [registry.model_schemas()]
