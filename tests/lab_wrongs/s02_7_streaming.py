"""Wrong solutions of lab 7, streaming."""

STARTER_FAILS = {
    "test_a_call_that_comes_whole_runs",
    "test_the_input_may_be_split_anywhere_also_inside_an_escape",
    "test_the_input_may_come_one_character_at_a_time",
    "test_a_call_without_pieces_keeps_the_input_it_started_with",
    "test_pieces_of_two_calls_may_alternate",
    "test_every_kind_of_block_is_kept_in_its_place",
    "test_blocks_stand_in_the_order_of_their_index",
    "test_a_stream_that_is_cut_anywhere_runs_nothing",
    "test_an_error_event_runs_nothing",
    "test_a_connection_that_is_lost_runs_nothing",
    "test_pieces_that_belong_nowhere_break_the_stream",
    "test_input_that_is_no_json_reaches_dispatch_and_is_refused_there",
    "test_a_call_that_max_tokens_cut_is_answered_and_not_run",
    "test_unknown_events_and_deltas_are_skipped",
}
RIGHT = """
blocks, pieces, stop_reason = {}, {}, None
for event in events:
    kind, index = str(event.get("type")), event.get("index", -1)
    if kind == "message_stop" and not pieces:
        content = [blocks[index] for index in sorted(blocks)]
        return {"content": content, "stop_reason": stop_reason}
    if kind == "message_delta":
        stop_reason = event["delta"].get("stop_reason", stop_reason)
    elif kind == "content_block_start" and index not in blocks:
        blocks[index], pieces[index] = dict(event["content_block"]), []
    elif kind == "content_block_delta" and index in pieces:
        delta, block = event["delta"], blocks[index]
        name = GROWING.get(delta["type"])
        if name:
            block[name] = block.get(name, "") + delta[name]
        elif delta["type"] == "input_json_delta":
            pieces[index].append(delta["partial_json"])
    elif kind == "content_block_stop" and index in pieces:
        text = "".join(pieces.pop(index))
        if text:
            blocks[index]["input"] = arguments_of(text)
    elif kind == "error" or kind.startswith(("content_block_", "message_stop")):
        raise ProviderError("broken")
raise ProviderError("cut")
"""


def but(right: str, wrong: str) -> str:
    """The solution with one thing changed."""
    assert right in RIGHT
    return RIGHT.replace(right, wrong)


JOINED = 'text = "".join(pieces.pop(index))'
PARSED = 'blocks[index]["input"] = arguments_of(text)'
BROKEN = 'kind == "error" or kind.startswith(("content_block_", "message_stop"))'
WRONGS = {
    "each-piece-is-parsed": (
        "test_the_input_may_be_split_anywhere_also_inside_an_escape",
        but(
            'pieces[index].append(delta["partial_json"])',
            'found = arguments_of(delta["partial_json"])\n'
            "            block['input'] = found",
        ),
    ),
    "escapes-are-read-piece-by-piece": (
        "test_the_input_may_be_split_anywhere_also_inside_an_escape",
        but(
            'pieces[index].append(delta["partial_json"])',
            'part = delta["partial_json"].encode("ascii", "replace")\n'
            "            part = part.decode('unicode_escape', 'replace')\n"
            "            pieces[index].append(part)",
        ),
    ),
    "one-buffer-for-all-blocks": (
        "test_pieces_of_two_calls_may_alternate",
        but('dict(event["content_block"]), []', "dict(event['content_block']), buffer")
        .replace(
            "stop_reason = {}, {}, None", "stop_reason = {}, {}, None\nbuffer = []"
        )
        .replace(JOINED, "text = ''.join(pieces.pop(index))\n        buffer.clear()"),
    ),
    "no-pieces-are-parsed-too": (
        "test_a_call_without_pieces_keeps_the_input_it_started_with",
        but("if text:", "if blocks[index]['type'] == 'tool_use':"),
    ),
    "the-end-of-the-stream-is-enough": (
        "test_a_stream_that_is_cut_anywhere_runs_nothing",
        but(
            'raise ProviderError("cut")',
            "content = [blocks[i] for i in sorted(blocks) if i not in pieces]\n"
            'return {"content": content, "stop_reason": stop_reason}',
        ),
    ),
    "an-error-event-is-skipped": (
        "test_an_error_event_runs_nothing",
        but('kind == "error" or kind', "kind"),
    ),
    "a-lost-connection-is-an-end": (
        "test_a_connection_that_is_lost_runs_nothing",
        "def inside():\n    "
        + RIGHT.strip().replace("\n", "\n    ")
        + """
kept = []
try:
    for event in events:
        kept.append(event)
except OSError:
    kept.append({"type": "message_stop"})
events = kept
return inside()
""",
    ),
    "pieces-of-nothing-are-skipped": (
        "test_pieces_that_belong_nowhere_break_the_stream",
        but(
            BROKEN,
            'kind == "error"',
        ),
    ),
    "cut-json-is-completed": (
        "test_input_that_is_no_json_reaches_dispatch_and_is_refused_there",
        but(
            PARSED,
            "for end in ('', '}', '\"}', ':null}'):\n"
            "                if isinstance(arguments_of(text + end), dict):\n"
            "                    break\n"
            '            blocks[index]["input"] = arguments_of(text + end)',
        ),
    ),
    "bad-json-is-an-empty-input": (
        "test_input_that_is_no_json_reaches_dispatch_and_is_refused_there",
        but(
            PARSED,
            "found = arguments_of(text)\n"
            "            found = found if isinstance(found, dict) else {}\n"
            '            blocks[index]["input"] = found',
        ),
    ),
    "stop-reason-is-always-tool-use": (
        "test_a_call_that_max_tokens_cut_is_answered_and_not_run",
        but('"stop_reason": stop_reason}', '"stop_reason": "tool_use"}'),
    ),
    "unknown-kinds-break-the-stream": (
        "test_unknown_events_and_deltas_are_skipped",
        but(BROKEN, 'kind != "message_start"'),
    ),
    "only-text-and-calls": (
        "test_every_kind_of_block_is_kept_in_its_place",
        but("if name:", "if name == 'text':"),
    ),
    "a-block-without-pieces-need-not-stop": (
        "test_pieces_that_belong_nowhere_break_the_stream",
        but("and not pieces:", "and not any(pieces.values()):"),
    ),
    "the-last-signature-counts": (
        "test_every_kind_of_block_is_kept_in_its_place",
        but(
            'block.get(name, "") + delta[name]',
            'block.get(name, "") * (name != "signature") + delta[name]',
        ),
    ),
    "blocks-as-they-come": (
        "test_blocks_stand_in_the_order_of_their_index",
        but("for index in sorted(blocks)]", "for index in blocks]"),
    ),
    "indices-sorted-as-text": (
        "test_blocks_stand_in_the_order_of_their_index",
        but("sorted(blocks)", "sorted(blocks, key=str)"),
    ),
    "starts-are-counted": (
        "test_blocks_stand_in_the_order_of_their_index",
        but(
            'elif kind == "content_block_start" and index not in blocks:',
            'elif kind == "content_block_start" and index not in numbers:\n'
            "        index = numbers.setdefault(index, len(blocks))",
        )
        .replace("blocks, pieces", "numbers = {}\nblocks, pieces", 1)
        .replace(
            '    if kind == "message_delta"',
            "    if 'start' not in kind:\n        index = numbers.get(index, -1)\n"
            '    if kind == "message_delta"',
        ),
    ),
    "input-of-tool-use-only": (
        "test_every_kind_of_block_is_kept_in_its_place",
        but("if text:", "if text and blocks[index]['type'] == 'tool_use':"),
    ),
    "input-of-known-kinds-only": (
        "test_every_kind_of_block_is_kept_in_its_place",
        but("if text:", "if text and blocks[index]['type'].endswith('tool_use'):"),
    ),
    "the-events-are-made-longer": (
        "test_every_kind_of_block_is_kept_in_its_place",
        but('dict(event["content_block"])', 'event["content_block"]'),
    ),
    "an-empty-input-is-none": (
        "test_a_call_without_pieces_keeps_the_input_it_started_with",
        but(PARSED, "blocks[index]['input'] = arguments_of(text) or {}"),
    ),
    "an-empty-input-keeps-the-start": (
        "test_a_call_without_pieces_keeps_the_input_it_started_with",
        but(
            PARSED,
            "blocks[index]['input'] = arguments_of(text) or blocks[index]['input']",
        ),
    ),
    "an-error-counts-only-while-a-block-is-open": (
        "test_an_error_event_runs_nothing",
        but('kind == "error" or', 'kind == "error" and pieces or'),
    ),
    "a-lost-connection-loses-its-cause": (
        "test_a_connection_that_is_lost_runs_nothing",
        "def inside():\n    "
        + RIGHT.strip().replace("\n", "\n    ")
        + """
failure = None
try:
    return inside()
except OSError as error:
    failure = ProviderError(str(error))
raise failure
""",
    ),
    "ctrl-c-is-a-lost-connection": (
        "test_a_connection_that_is_lost_runs_nothing",
        "def inside():\n    "
        + RIGHT.strip().replace("\n", "\n    ")
        + """
try:
    return inside()
except BaseException as error:
    raise ProviderError("lost") from error
""",
    ),
    "a-later-delta-forgets-the-reason": (
        "test_unknown_events_and_deltas_are_skipped",
        but('.get("stop_reason", stop_reason)', '["stop_reason"]'),
    ),
}

RIGHTS = {
    "everything wrapped once": "def inside():\n    "
    + RIGHT.strip().replace("\n", "\n    ")
    + """
try:
    return inside()
except Exception as error:
    raise ProviderError("no whole reply") from error
""",
    "match, and a lost connection as a cause": """
import copy

found, spelled, why = {}, {}, None
try:
    for event in events:
        match event:
            case {"type": "message_stop"}:
                if spelled:
                    break
                content = [block for _, block in sorted(found.items())]
                return {"content": content, "stop_reason": why}
            case {"type": "message_delta", "delta": {"stop_reason": reason}}:
                why = reason
            case {"type": "error"}:
                break
            case {"type": "content_block_start", "index": at, "content_block": block}:
                if at in found:
                    break
                found[at], spelled[at] = copy.deepcopy(block), ""
            case {"type": "content_block_delta", "index": at, "delta": delta}:
                if at not in spelled:
                    break
                match delta:
                    case {"type": "input_json_delta", "partial_json": piece}:
                        spelled[at] += piece
                    case {"type": kind} if kind in GROWING:
                        field = GROWING[kind]
                        found[at][field] = found[at].get(field, "") + delta[field]
            case {"type": "content_block_stop", "index": at}:
                if at not in spelled:
                    break
                if text := spelled.pop(at):
                    found[at]["input"] = arguments_of(text)
except Exception as error:
    raise ProviderError("the stream was lost") from error
raise ProviderError("the stream gave no whole reply")
""",
    "two passes over a list": """
all_events = list(events)
kinds = [event.get("type") for event in all_events]
if "error" in kinds or "message_stop" not in kinds:
    raise ProviderError("no whole reply")

state, deltas = {}, {}
for event in all_events:
    kind, index = event.get("type"), event.get("index")
    wanted = {
        "content_block_start": None,
        "content_block_delta": "open",
        "content_block_stop": "open",
    }
    if kind in wanted:
        if state.get(index) != wanted[kind]:
            raise ProviderError("an event that belongs nowhere")
        state[index] = "closed" if kind == "content_block_stop" else "open"
        deltas.setdefault(index, []).append(event)
if "open" in state.values():
    raise ProviderError("a block is open")

content = []
for index in sorted(deltas):
    first, *rest, _ = deltas[index]
    block, pieces = {**first["content_block"]}, ""
    for delta in (event["delta"] for event in rest):
        field = GROWING.get(delta["type"])
        if field:
            block[field] = block.get(field, "") + delta[field]
        pieces += delta.get("partial_json", "")
    content.append({**block, "input": arguments_of(pieces)} if pieces else block)
changes = [e["delta"] for e in all_events if e.get("type") == "message_delta"]
reasons = [delta["stop_reason"] for delta in changes if "stop_reason" in delta]
return {"content": content, "stop_reason": reasons[-1] if reasons else None}
""",
}
