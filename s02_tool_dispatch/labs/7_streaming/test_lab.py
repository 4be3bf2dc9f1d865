"""Lab 7: streams are played to the chapter's own loop; `note` counts what ran."""

import json
from itertools import chain

from s02_tool_dispatch.code import (
    ProviderError,
    ToolRegistry,
    ToolSpec,
    agent_loop,
    object_schema,
)

SPELLED = r'{"text": "caf\u00e9 \ud83d\ude00 \"quoted\"\n"}'  # with escapes to be cut


def json_pieces(*texts):
    """Deltas of a call's input."""
    return [{"type": "input_json_delta", "partial_json": text} for text in texts]


def note(*deltas, id="call_a"):
    """One call of `note`: how it starts, and its deltas."""
    return {"type": "tool_use", "id": id, "name": "note", "input": {}}, list(deltas)


def text(start, *more):
    """One text block."""
    deltas = [{"type": "text_delta", "text": part} for part in more]
    return {"type": "text", "text": start}, deltas


def stream(*blocks, stop_reason="tool_use"):
    """The events of a whole reply."""
    events = [{"type": "message_start", "message": {"content": []}}]
    for index, (start, deltas) in enumerate(blocks):
        events.append(
            {"type": "content_block_start", "index": index, "content_block": start}
        )
        for delta in deltas:
            events.append(
                {"type": "content_block_delta", "index": index, "delta": delta}
            )
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": stop_reason}})
    return [*events, {"type": "message_stop"}]


class Session:
    """One question; `played` gives a stream to the loop, which may call `note`."""

    def __init__(self, lab):
        self.lab, self.ran, self.traced = lab, [], []
        self.registry = ToolRegistry(trace=self.traced.append)
        schema = object_schema({"text": {"type": "string"}})
        self.registry.register(ToolSpec("note", "Keep a text.", schema, self.note))
        self.messages = [{"role": "user", "content": "go"}]

    def note(self, text="(nothing)"):
        self.ran.append(text)

    def played(self, events):
        """Why the loop stopped, or the name of the exception that it raised."""
        answer = stream(text("done"), stop_reason="end_turn")
        provider = self.lab.StreamedProvider([events, answer])
        try:
            result = agent_loop(self.messages, provider, self.registry)
            return str(result.stop_reason)
        except (ProviderError, OSError, KeyboardInterrupt) as error:
            lost = isinstance(error.__cause__, OSError)
            return type(error).__name__ + f" from {error.__cause__!r}" * lost


def outcome(lab, events):
    """How the loop ended, which texts `note` kept, how many messages were added."""
    session = Session(lab)
    ended = session.played(events)
    return ended, session.ran, len(session.messages) - 1


def inputs(lab, events):
    """The inputs of the calls of a reply."""
    return [block.get("input") for block in lab.whole_reply(events)["content"]]


def test_a_call_that_comes_whole_runs(lab, expect):
    events = stream(note(*json_pieces('{"text": "hello"}')))

    wanted = ("final_answer", ["hello"], 3)
    next_step = "return the content and the stop_reason when message_stop has come"
    expect("agent_loop on one call", outcome(lab, events), wanted, next_step)


def test_the_input_may_be_split_anywhere_also_inside_an_escape(lab, expect):
    wanted = [json.loads(SPELLED)]
    for place in range(len(SPELLED) + 1):
        parts = SPELLED[:place], SPELLED[place:]
        got = inputs(lab, stream(note(*json_pieces(*parts))))
        expect(f"whole_reply, split as {parts}", got, wanted, "join first, then parse")


def test_the_input_may_come_one_character_at_a_time(lab, expect):
    got = inputs(lab, stream(note(*json_pieces(*SPELLED))))

    next_step = "a piece is no JSON: join first, then parse"
    expect("whole_reply, one by one", got, [json.loads(SPELLED)], next_step)


def test_a_call_without_pieces_keeps_the_input_it_started_with(lab, expect):
    start = {"type": "tool_use", "id": "c", "name": "note", "input": {"text": "early"}}
    events = stream(note(), note(*json_pieces("")), (start, []))

    next_step = "no piece, or only empty ones: leave the input as it is"
    wanted = [{}, {}, {"text": "early"}]
    expect("whole_reply without pieces", inputs(lab, events), wanted, next_step)

    for spelled in ("{}", "null", "[]", "0", "false", '""'):
        got = inputs(lab, stream((start, json_pieces(spelled))))
        next_step = (
            "there are pieces, so they spell the input, be it empty or no object"
        )
        expect(f"whole_reply, {spelled}", got, [json.loads(spelled)], next_step)


def test_pieces_of_two_calls_may_alternate(lab, expect):
    events = stream(note(), note(id="call_b"))
    start_b = events.pop(3)
    events.insert(2, start_b)
    for place, part in enumerate(['{"text"', ': "a"}']):
        for index in (0, 1):
            delta = json_pieces(part.replace("a", "ab"[index]))[0]
            event = {"type": "content_block_delta", "index": index, "delta": delta}
            events.insert(3 + 2 * place + index, event)

    wanted = [{"text": "a"}, {"text": "b"}]
    got = inputs(lab, events)
    expect("whole_reply, two calls mixed", got, wanted, "keep pieces by their index")


def test_blocks_stand_in_the_order_of_their_index(lab, expect):
    one_by_one = [stream(text(f"at {index}"))[1:3] for index in (10, 0, 9, 2)]
    for index, events in zip((10, 0, 9, 2), one_by_one, strict=True):
        for event in events:
            event["index"] = index
    begin, *end = stream()
    reply = lab.whole_reply([begin, *chain(*one_by_one), *end])

    got = [block["text"] for block in reply["content"]]
    next_step = "read the index of each event, and sort by it as a number"
    wanted = ["at 0", "at 2", "at 9", "at 10"]
    expect("whole_reply, blocks begun as 10, 0, 9, 2", got, wanted, next_step)


def test_every_kind_of_block_is_kept_in_its_place(lab, expect):
    thinking = [
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "thinking_delta", "thinking": "m"},
        {"type": "signature_delta", "signature": "c2"},
        {"type": "signature_delta", "signature": "ln"},
    ]
    start = {"type": "thinking", "thinking": ""}
    called = note(*json_pieces("{}"))
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    query = json_pieces('{"query": ', '"x"}')
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    new = {"type": "new_block", "input": {}}
    blocks = [(start, thinking), text("I ", "no", "te"), (search, query)]
    blocks += [(found, []), called, (new, query)]
    events = stream(*blocks, stop_reason="pause_turn")
    before = json.dumps(events)

    content = [{"type": "thinking", "thinking": "hmm", "signature": "c2ln"}]
    content += [{"type": "text", "text": "I note"}]
    content += [{**search, "input": {"query": "x"}}, found, called[0]]
    content += [{**new, "input": {"query": "x"}}]
    reply = lab.whole_reply(events)
    next_step = "a delta makes one field longer, whatever the kind of its block"
    expect("whole_reply(...)['content']", reply["content"], content, next_step)
    reason = reply["stop_reason"]
    expect("its stop_reason", reason, "pause_turn", "message_delta names it")
    next_step = "copy a block before you make it longer"
    expect("the events afterwards", events, json.loads(before), next_step)
    again = lab.whole_reply(events)
    expect("whole_reply again", again, reply, "keep nothing from one call to the next")


def test_a_stream_that_is_cut_anywhere_runs_nothing(lab, expect):
    events = stream(text("I note"), note(*json_pieces('{"text": ', '"hello"}')))

    for end in range(len(events)):
        got = outcome(lab, events[:end])
        last = events[end - 1]["type"] if end else "nothing"
        called = f"agent_loop on a stream that ends after {last} ({end} events)"
        next_step = "raise ProviderError unless message_stop has come"
        expect(called, got, ("ProviderError", [], 0), next_step)


def test_an_error_event_runs_nothing(lab, expect):
    events = stream(note(*json_pieces('{"text": "hello"}')))
    error = {"type": "overloaded_error", "message": "Overloaded"}

    for place in range(len(events)):
        got = outcome(lab, [*events[:place], {"type": "error", "error": error}])
        called = f"agent_loop, an error event after {place} others"
        next_step = "an error event can come at any time: raise ProviderError"
        expect(called, got, ("ProviderError", [], 0), next_step)
        got = outcome(lab, [*events[:place], {"type": "error"}, *events[place:]])
        expect(f"{called}, and more", got, ("ProviderError", [], 0), next_step)


def test_a_connection_that_is_lost_runs_nothing(lab, expect):
    def lost(error, end):
        yield from stream(note(*json_pieces('{"text": "hello"}')))[:end]
        raise error

    for end in range(5):
        ended, *rest = outcome(lab, lost(ConnectionResetError(), end))
        names = ["ConnectionResetError", "ProviderError from ConnectionResetError()"]
        called = f"agent_loop, connection lost after {end} events"
        next_step = "do not catch it, or raise ProviderError(...) from it"
        right = ended in names and rest == [[], 0]
        expect(called, (ended, *rest), f"{names[0]}, nothing run", next_step, right)
    got = outcome(lab, lost(KeyboardInterrupt(), 4))
    next_step = "Ctrl-C is no failure of the stream: let it go up"
    expect("agent_loop, Ctrl-C", got, ("KeyboardInterrupt", [], 0), next_step)


def test_pieces_that_belong_nowhere_break_the_stream(lab, expect):
    good = stream(note(*json_pieces('{"text": "hello"}')))
    start, delta, stop = good[1:4]
    rest = good[4:]
    broken = {
        "a delta without a start": [delta, stop, *rest],
        "a stop without a start": [stop, *rest],
        "a delta after the stop": [start, delta, stop, delta, *rest],
        "two stops": [start, delta, stop, stop, *rest],
        "two starts of one index": [start, delta, stop, start, stop, *rest],
        "two starts and one stop": [start, start, delta, stop, *rest],
        "no stop": [start, delta, *rest],
        "no stop and no delta": [start, *rest],
        "a text without a stop": [*stream(text("I"))[1:2], *rest],
    }
    for what, events in broken.items():
        got = outcome(lab, events)
        next_step = "raise ProviderError: a guess could run what nobody asked for"
        expect(f"agent_loop, {what}", got, ("ProviderError", [], 0), next_step)


def test_input_that_is_no_json_reaches_dispatch_and_is_refused_there(lab, expect):
    for spelled in ('{"text": "hel ', '{"text"', "[" * 100_000, '"hello"', "{}{}"):
        session = Session(lab)
        session.played(stream(note(*json_pieces(spelled))))

        got = [record.outcome for record in session.traced], session.ran
        called = f"agent_loop, complete stream, input {spelled[:20]}"
        next_step = "give dispatch the text itself: no repair, no {} in its place"
        came = inputs(lab, stream(note(*json_pieces(spelled))))
        expect(called, came, [lab.arguments_of(spelled)], next_step)
        expect(called, got, (["invalid_arguments"], []), next_step)


def test_a_call_that_max_tokens_cut_is_answered_and_not_run(lab, expect):
    events = stream(note(*json_pieces('{"text": "he')), stop_reason="max_tokens")

    next_step = "the stream is whole, the call is not: the loop knows from stop_reason"
    wanted = ("max_tokens", [], 2)
    expect("agent_loop, max_tokens", outcome(lab, events), wanted, next_step)


def test_unknown_events_and_deltas_are_skipped(lab, expect):
    deltas = [{"type": "new_delta", "x": 1}, *json_pieces('{"text": "hello"}')]
    events = stream(note(*deltas))
    events.insert(-2, {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}})
    events.insert(-1, {"type": "message_delta", "delta": {}, "usage": {}})
    for place in (6, 4, 2, 0):
        events.insert(place, {"type": "ping"})
        events.insert(place, {"type": "new_event", "index": 0})

    wanted = ("final_answer", ["hello"], 3)
    next_step = "the API adds kinds: skip what you do not know"
    expect("agent_loop with pings", outcome(lab, events), wanted, next_step)
