"""The turn table, row by row, in both chapters, with a real shell in a real folder.

A call that ran leaves the file `ran`. `goes_on` asks one more question, behind the
rules of the real API: it is the last line of most tests.
"""

from __future__ import annotations

import itertools
import signal
import sys

import pytest

from s02_tool_dispatch import code as s02
from tests.api_rules import RequestRefused
from tests.tools import registry_of, spec
from tests.turns import T, Talk, both_chapters, shell, text, tools_of, use

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


@pytest.fixture
def ctrl_c():
    """SIGINT raises KeyboardInterrupt, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    "blocks, said",
    [
        pytest.param([], "", id="empty"),
        pytest.param([text("no")], "no", id="text"),
        pytest.param([RUN], "", id="call"),
        pytest.param([text("no"), RUN, shell("touch ran", "t2")], "no", id="both"),
    ],
)
def test_a_refusal_runs_nothing_and_leaves_no_trace(talk, tmp_path, blocks, said):
    result = talk.ask(T("refusal", *blocks), DONE)

    assert (result.stop_reason, result.final_text) == ("refusal", said)
    assert len(talk.messages) == 1 and not (tmp_path / "ran").exists()
    assert talk.goes_on()


CUT = [
    pytest.param("max_tokens", "max_tokens", id="max_tokens"),
    pytest.param(
        "model_context_window_exceeded", "context_window_exceeded", id="window"
    ),
]


@pytest.mark.parametrize("said, stop", CUT)
def test_a_call_in_a_reply_that_was_cut_off_is_answered_but_never_run(
    talk, tmp_path, said, stop
):
    result = talk.ask(T(said, text("I will"), RUN, shell("touch ran", "t2")), DONE)

    assert (result.stop_reason, result.final_text) == (stop, "I will")
    assert (result.turns, result.tool_calls) == (1, 2)
    assert [b["is_error"] for b in talk.results()] == [True, True]
    assert not (tmp_path / "ran").exists()
    assert talk.goes_on()


@pytest.mark.parametrize("said, stop", CUT)
def test_half_a_file_is_never_written(tmp_path, said, stop):
    talk = Talk(s02, tools_of(s02, tmp_path))
    half = {"path": "a.py", "content": "def f(:"}
    result = talk.ask(T(said, use("t1", "write_file", half)), DONE)

    assert result.stop_reason == stop and list(tmp_path.iterdir()) == []
    assert talk.goes_on()


@pytest.mark.parametrize("said, stop", CUT)
@pytest.mark.parametrize("arguments", [{"command": "touch"}, '{"comm', None, {}])
def test_half_an_input_is_not_run_whatever_is_left_of_it(talk, said, stop, arguments):
    result = talk.ask(T(said, use("t1", "bash", arguments)), DONE)

    assert result.stop_reason == stop
    assert "cut" in talk.said()[0]
    assert talk.goes_on()


@pytest.mark.parametrize("said, stop", CUT)
def test_the_text_of_a_reply_that_was_cut_off_is_kept(talk, said, stop):
    result = talk.ask(T(said, text("half a sen")), DONE)

    assert (result.stop_reason, result.final_text) == (stop, "half a sen")
    assert talk.blocks("text") == [text("half a sen")]
    assert talk.goes_on()


@pytest.mark.parametrize("said, stop", CUT)
@pytest.mark.parametrize("blocks", [[], [text(" ")], [THINKING]])
def test_a_cut_off_reply_without_text_or_call_stops_too(talk, said, stop, blocks):
    assert talk.ask(T(said, *blocks), DONE).stop_reason == stop
    assert talk.goes_on()


@pytest.mark.parametrize(
    "said",
    ["tool_use", "end_turn", "stop_sequence", "pause_turn", "length", "other", None, 5],
)
def test_complete_calls_are_run_whatever_the_stop_reason_says(talk, tmp_path, said):
    result = talk.ask(T(said, RUN), DONE)

    assert (result.stop_reason, result.final_text) == ("final_answer", "done")
    assert (result.turns, result.tool_calls) == (2, 1)
    assert (tmp_path / "ran").exists()
    assert talk.goes_on()


def test_three_calls_of_a_turn_are_answered_in_one_message_in_call_order(talk):
    calls = [shell("echo one", "t1"), shell("exit 3", "t2"), shell("echo three", "t3")]
    talk.ask(T("tool_use", text("now"), *calls), DONE)

    _, reply, answer, _ = talk.messages
    assert (reply["role"], answer["role"]) == ("assistant", "user")
    ids = [block["tool_use_id"] for block in answer["content"]]
    assert ids == ["t1", "t2", "t3"]
    assert [bool(b.get("is_error")) for b in talk.results()] == [False, True, False]
    assert talk.goes_on()


def test_a_paused_turn_is_sent_back_as_it_came_and_resumed(talk):
    blocks = [THINKING, SEARCH, text("searching")]
    result = talk.ask(T("pause_turn", *blocks), DONE)

    assert (result.stop_reason, result.turns) == ("final_answer", 2)
    assert talk.messages[1] == {"role": "assistant", "content": blocks}
    assert talk.goes_on()


def test_paused_turns_count_against_max_turns(talk):
    result = talk.play(itertools.repeat(T("pause_turn", SEARCH)), max_turns=3)

    assert (result.stop_reason, result.turns) == ("max_turns", 3)
    assert talk.provider.requests == 3
    assert talk.goes_on()


@pytest.mark.parametrize("blocks", [[], [text("")], [text(" \n")]])
def test_a_paused_turn_without_content_is_no_answer(talk, blocks):
    result = talk.ask(T("pause_turn", *blocks), DONE)

    assert (result.stop_reason, result.turns) == ("no_answer", 1)
    assert len(talk.messages) == 1
    assert talk.goes_on()


@pytest.mark.parametrize(
    "said", ["end_turn", "stop_sequence", "length", "tool_use", "stop", "", None]
)
def test_text_without_a_call_is_the_final_answer(talk, said):
    result = talk.ask(T(said, THINKING, text("42")), DONE)

    assert (result.stop_reason, result.final_text) == ("final_answer", "42")
    assert result.provider_stop_reason == said
    assert (result.turns, result.tool_calls) == (1, 0)
    assert talk.goes_on()


@pytest.mark.parametrize("said", ["end_turn", "tool_use", "stop_sequence", None, "x"])
@pytest.mark.parametrize("blocks", [[], [text(None)], [text(" ")], [THINKING]])
def test_neither_text_nor_call_is_no_answer_and_leaves_no_trace(talk, said, blocks):
    result = talk.ask(T(said, *blocks), DONE)

    assert (result.stop_reason, result.final_text) == ("no_answer", "")
    assert len(talk.messages) == 1
    assert talk.goes_on()


@pytest.mark.parametrize("content", [None, "", " ", [None], {}])
def test_content_that_holds_nothing_is_no_answer(talk, content):
    result = talk.ask({"stop_reason": "end_turn", "content": content}, DONE)

    assert result.stop_reason == "no_answer"
    assert talk.goes_on()


@pytest.mark.parametrize("reply", [{}, {"content": 5}, [], "<html></html>", None, 5])
def test_a_reply_that_is_no_message_is_no_answer(talk, reply):
    assert talk.ask(reply, DONE).stop_reason == "no_answer"
    assert talk.goes_on()


def test_nothing_said_after_a_tool_result_is_no_answer(talk):
    result = talk.ask(T("tool_use", RUN), T("end_turn"), DONE)

    assert (result.stop_reason, result.turns) == ("no_answer", 2)
    assert len(talk.messages) == 3
    assert talk.goes_on()


def test_a_pending_call_is_run_before_max_turns_stops_the_loop(talk, tmp_path):
    result = talk.ask(T("tool_use", text("last"), RUN), DONE, max_turns=1)

    assert (result.stop_reason, result.final_text) == ("max_turns", "last")
    assert (result.turns, result.tool_calls) == (1, 1)
    assert (tmp_path / "ran").exists() and talk.messages[-1]["role"] == "user"
    assert talk.goes_on()


def test_the_same_call_for_ever_stops_at_max_turns(talk):
    turns = itertools.repeat(T("tool_use", use("t1", "bash", {})))
    result = talk.play(turns, max_turns=20)

    assert (result.stop_reason, result.turns) == ("max_turns", 20)
    assert result.tool_calls == 20 and len(talk.results()) == 20
    assert talk.goes_on()


def test_an_answer_in_the_last_turn_is_an_answer(talk):
    result = talk.ask(T("tool_use", RUN), DONE, max_turns=2)

    assert (result.stop_reason, result.turns) == ("final_answer", 2)


@both_chapters
def test_the_loop_stops_at_fifty_turns_by_default(chapter, tmp_path):
    talk = Talk(chapter, tools_of(chapter, tmp_path))
    result = talk.play(itertools.repeat(T("pause_turn", SEARCH)))

    assert (result.stop_reason, result.turns) == ("max_turns", 50)


@pytest.mark.parametrize("most", [0, -1])
def test_max_turns_below_one_is_refused_before_any_request(talk, most):
    with pytest.raises(ValueError, match=f"max_turns.*{most}"):
        talk.ask(DONE, max_turns=most)

    assert talk.provider.requests == 0 and len(talk.messages) == 1


@pytest.mark.parametrize(
    "words",
    [
        '<tool_use name="bash">{"command": "touch ran"}</tool_use>',
        '{"type": "tool_use", "name": "bash", "input": {"command": "touch ran"}}',
        "```bash\ntouch ran\n```",
        "<function_calls><invoke name='bash'>touch ran</invoke></function_calls>",
    ],
)
def test_a_call_written_as_text_is_never_run(talk, tmp_path, words):
    result = talk.ask(T("tool_use", text(words)), DONE)

    assert (result.stop_reason, result.final_text) == ("final_answer", words)
    assert result.tool_calls == 0 and not (tmp_path / "ran").exists()


def test_server_side_blocks_are_sent_back_and_never_dispatched(talk, tmp_path):
    server = {**SEARCH, "input": {"command": "touch ran"}}
    talk.ask(T("tool_use", server, shell("echo mine", "t2")), DONE)

    assert talk.messages[1]["content"][0] == server
    assert [block["tool_use_id"] for block in talk.results()] == ["t2"]
    assert not (tmp_path / "ran").exists()
    assert talk.goes_on()


@pytest.mark.parametrize(
    "arguments",
    [
        *['{"command": "touch ran"}', None, [], ["touch ran"], "5", 5, True, {}],
        *[{"x": 1}, {"command": 5}, {"command": ["touch", "ran"]}, {"command": None}],
        *[{"command": ""}, {"command": " \n"}, {"Command": "touch ran"}],
    ],
)
def test_a_call_without_usable_arguments_is_answered_and_not_run(
    talk, tmp_path, arguments
):
    talk.ask(T("tool_use", use("t1", "bash", arguments)), DONE)

    assert talk.results()[0]["is_error"] and not (tmp_path / "ran").exists()
    assert isinstance(talk.blocks("tool_use")[0]["input"], dict)
    assert talk.goes_on()


@pytest.mark.parametrize(
    "name", ["functions.bash", "bash ", "Bash", "", None, 5, ["bash"], "n" * 200]
)
def test_a_call_of_a_tool_that_does_not_exist_runs_none(talk, tmp_path, name):
    call = use("t1", name, {"command": "touch ran"})
    talk.ask(T("tool_use", call, shell("echo fine", "t2")), DONE)

    assert [bool(b.get("is_error")) for b in talk.results()] == [True, False]
    assert not (tmp_path / "ran").exists()
    assert talk.goes_on()


@pytest.mark.parametrize(
    "first, second",
    [
        pytest.param(["t1", "t1"], [], id="in one turn"),
        pytest.param(["t1"], ["t1"], id="in two turns"),
        pytest.param(["", None], ["a.b"], id="empty, missing, malformed"),
        pytest.param(["", "call_1"], ["call_2", ""], id="one that could be made"),
    ],
)
def test_calls_with_ids_that_cannot_be_used_are_all_answered(talk, first, second):
    talk.ask(*(T("tool_use", *map(use, ids)) for ids in (first, second) if ids), DONE)
    made = [block["id"] for block in talk.blocks("tool_use")]

    assert made == [block["tool_use_id"] for block in talk.results()]
    assert len(set(made)) == len(first + second)
    assert talk.goes_on()


def test_an_id_of_an_earlier_question_is_not_used_again(talk):
    talk.ask(T("tool_use", RUN), DONE)
    talk.ask(T("tool_use", RUN), DONE)

    first, second = talk.blocks("tool_use")
    assert first["id"] == "t1" != second["id"]
    assert talk.goes_on()


def test_a_first_request_that_fails_leaves_the_history_as_it_was(talk):
    with pytest.raises(talk.chapter.ProviderError):
        talk.ask()

    assert talk.messages == [{"role": "user", "content": "go"}]
    assert talk.goes_on()


def test_a_later_request_that_fails_keeps_the_rounds_before_it(talk, tmp_path):
    with pytest.raises(talk.chapter.ProviderError):
        talk.ask(T("tool_use", RUN))

    assert len(talk.messages) == 3 and (tmp_path / "ran").exists()
    assert talk.goes_on()


def test_the_rules_of_the_api_are_in_force_in_these_tests(talk):
    talk.messages += [{"role": "assistant", "content": [RUN]}]
    with pytest.raises(RequestRefused):
        talk.ask(DONE)


def test_the_reply_is_shown_before_its_tools_run_and_the_results_after(talk, tmp_path):
    shown = []

    def show(message):
        kinds = [block["type"] for block in message["content"]]
        shown.append((kinds, (tmp_path / "ran").exists()))

    talk.ask(T("tool_use", text("now"), RUN), DONE, show=show)
    reply, results, answer = shown
    assert reply == (["text", "tool_use"], False)
    assert results == (["tool_result"], True)
    assert answer == (["text"], True)


def test_what_is_shown_is_what_the_model_sees(talk):
    shown = []
    talk.ask(T("tool_use", RUN, use("", "no.such", None)), DONE, show=shown.append)

    assert shown == talk.messages[1:]


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
@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param(0, 0, id="alone"),
        pytest.param(1, 1, id="second of three"),
        pytest.param(2, 0, id="last of three"),
        pytest.param(0, 2, id="first of three"),
    ],
)
def test_an_interrupt_in_a_shell_leaves_every_call_answered_truly(
    talk, tmp_path, ctrl_c, before, after
):
    first = [shell(f"echo kept {i}", f"a{i}") for i in range(before)]
    last = [shell("touch ran", f"z{i}") for i in range(after)]
    stop = shell("kill -INT $PPID; sleep 60", "k")
    with pytest.raises(KeyboardInterrupt):
        talk.ask(T("tool_use", *first, stop, *last), DONE)

    said = talk.said()
    assert said[:before] == [f"kept {i}" for i in range(before)]
    assert "outcome" in said[before] and "unknown" in said[before]
    assert all("not run" in words for words in said[before + 1 :])
    assert len(said) == before + 1 + after and not (tmp_path / "ran").exists()
    assert talk.goes_on()


def raises(error):
    def handler():
        raise error

    return handler


def test_an_interrupt_in_a_handler_reaches_the_caller_with_its_results():
    interrupting = spec("stop", raises(KeyboardInterrupt()))
    ran = []
    registry = registry_of(spec("fine", lambda: ran.append(1) or "ok"), interrupting)
    talk = Talk(s02, registry)
    calls = [use(f"t{i}", name, {}) for i, name in enumerate(["fine", "stop", "fine"])]
    with pytest.raises(s02.ToolsInterrupted) as caught:
        talk.ask(T("tool_use", *calls), DONE)

    assert caught.value.blocks == talk.results() and len(ran) == 1
    assert [b["tool_use_id"] for b in talk.results()] == ["t0", "t1", "t2"]
    assert talk.goes_on()


@pytest.mark.parametrize(
    "error",
    [ValueError("x"), SystemExit(0), GeneratorExit(), MemoryError(), RecursionError()],
    ids=lambda error: type(error).__name__,
)
def test_the_middle_of_three_calls_may_raise_anything(error):
    registry = registry_of(spec("fine", lambda: "ok"), spec("bad", raises(error)))
    talk = Talk(s02, registry)
    calls = [use(f"t{i}", name, {}) for i, name in enumerate(["fine", "bad", "fine"])]
    result = talk.ask(T("tool_use", *calls), DONE)

    assert result.stop_reason == "final_answer"
    assert [bool(b.get("is_error")) for b in talk.results()] == [False, True, False]
    assert talk.goes_on()


def test_a_handler_that_changes_its_arguments_does_not_change_history():
    def handler(items):
        items[0]["a"] = object()
        items.clear()
        return "changed"

    talk = Talk(
        s02, registry_of(spec("a", handler, {"items": {"type": "array"}}, ["items"]))
    )
    talk.ask(T("tool_use", use("t1", "a", {"items": [{"a": 1}]})), DONE)

    assert talk.blocks("tool_use")[0]["input"] == {"items": [{"a": 1}]}
    assert talk.goes_on()


def test_the_tools_of_the_registry_are_what_the_provider_is_given(tmp_path):
    seen = []

    class Provider:
        def create(self, messages, tools):
            seen.append(tools)
            return DONE

    registry = s02.build_registry(s02.Workspace(tmp_path))
    s02.agent_loop([{"role": "user", "content": "go"}], Provider(), registry)
    assert seen == [registry.model_schemas()]
