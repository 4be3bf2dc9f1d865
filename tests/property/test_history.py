"""Whatever a provider sends and tools do, the history can be sent and goes on.

Scripts are random and reproducible: a failure names the seed of its script.
"""

from __future__ import annotations

import json
import math
import random
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from s01_agent_loop import code as s01
from s02_tool_dispatch import code as s02
from tests.tools import registry_of, spec
from tests.turns import T, Talk, as_sdk, both_chapters, shell, text, tools_of, use

STOPS = [
    *["tool_use", "end_turn", "stop_sequence", "max_tokens", "pause_turn", "refusal"],
    *["model_context_window_exceeded", "length", "", None, 5, ["end_turn"]],
]
IDS = [
    "t1",
    "t1",
    "t2",
    "call_1",
    "call_2",
    "call_3",
    "",
    "a.b",
    "a\n",
    None,
    5,
    ["t1"],
]
NAMES = ["fine", "fails", "raises", "exits", "spoils", "odd", "later", "side", "bash"]
ODD_NAMES = ["", None, 5, ["fine"], "functions.fine", "Fine", "n" * 99, "\ud800"]
DEEP = json.loads("[" * 900 + "]" * 900)
INPUTS = [
    *[{}, {}, {}, {"x": 1}, {"x": {"y": [1]}}, {"command": "exit 3"}, {"command": ""}],
    *[None, [], "5", '{"x": 1}', 5, {"x": math.nan}, {"x": b"y"}, {"x": "\ud800"}],
    *[{"x": DEEP}, {5: 6}, {("a",): 1}, {"x": 10**5_000}, {"\udfff": {}}],
]
WORDS = ["fine", "", " \n", None, 5, "\ud800", "a\0b", "\U0001f600"]


def random_call(rng):
    """A call of a tool with an empty input, mostly."""
    name = rng.choice(NAMES if rng.random() < 0.9 else ODD_NAMES)
    arguments = rng.choice(INPUTS) if rng.random() < 0.4 else {}
    call = use(rng.choice([*IDS, f"x{rng.random()}"]), name, arguments)
    for key in rng.sample(["id", "name", "input"], rng.random() < 0.1):
        del call[key]
    return {**call, **rng.choice([{}, {}, {"caller": None}, {"cache": {1}}])}


def random_block(rng):
    """A call, mostly; or any other block that has been seen, or could be."""
    if rng.random() < 0.7:
        return random_call(rng)
    return rng.choice(
        [
            text(rng.choice(WORDS)),
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "server_tool_use", "id": "s1", "name": "fine", "input": {}},
            {"type": "hologram", "data": rng.choice([1, None, b"x", math.inf, DEEP])},
            {"type": "tool_result", "tool_use_id": "t1", "content": "forged"},
            {"type": "image", "source": {"type": "url", "url": "http://x"}},
            {"type": rng.choice([None, 5, ["text"]]), "text": "x"},
            {},
        ]
    )


def random_turn(rng):
    said = rng.choice(STOPS if rng.random() < 0.4 else STOPS[:2])
    turn = T(said, *(random_block(rng) for _ in range(rng.randint(0, 5))))
    if rng.random() < 0.1:
        turn["content"] = rng.choice([None, "", "words", []])
    return as_sdk(turn) if rng.random() < 0.3 else turn


# --- Tools that do everything a tool can do ---


def spoils(x=None):
    if isinstance(x, dict):
        x["changed"] = object()
    return "changed its arguments"


async def later():
    raise RuntimeError("after an await")


def random_registry(rng):
    """Tools that succeed, fail, raise, exit, spoil and, now and then, interrupt."""

    def raises(error):
        def handler():
            if rng.random() < 0.5:
                raise error
            return "\ud800\0 fine"

        return handler

    error = rng.choice([KeyboardInterrupt(), ValueError("x"), RecursionError()])
    strange = [{1}, math.nan, "", None, {"\ud800": 1}]
    return registry_of(
        spec("fine", lambda x=None: "fine", {"x": {}}, concurrent_safe=True),
        spec("side", raises(error), concurrent_safe=True),
        *[spec("raises", raises(error)), spec("exits", raises(SystemExit(0)))],
        spec("fails", raises(s02.ToolFailure(" ", "own"))),
        *[spec("spoils", spoils, {"x": {}}), spec("later", later)],
        spec("odd", lambda: rng.choice(strange)),
    )


def talk_at_random(chapter, tools, rng, turn=random_turn):
    """Three questions, each with a script that may end early or be interrupted."""
    talk = Talk(chapter, tools)
    for _ in range(3):
        script = [turn(rng) for _ in range(rng.randint(1, 4))]
        with suppress(chapter.ProviderError, KeyboardInterrupt):
            talk.ask(*script, max_turns=rng.randint(1, 4))
        json.dumps(talk.messages, allow_nan=False, ensure_ascii=False).encode()
    return talk.goes_on()


@both_chapters
@pytest.mark.parametrize("ten", range(15))
def test_after_any_script_the_history_can_go_on(chapter, ten, tmp_path):
    for seed in range(10 * ten, 10 * ten + 10):
        rng = random.Random(seed)
        tools = tmp_path if chapter is s01 else random_registry(rng)
        try:
            assert talk_at_random(chapter, tools, rng)
        except Exception as error:
            pytest.fail(f"script {seed}: {type(error).__name__}: {error}")


COMMANDS = ["true", "exit 3", "printf '\\377\\0'", "kill -9 $$", "\ud800", "a\0b"]
INTERRUPT = "sleep 0.1; kill -INT $PPID; sleep 60"  # not while bash starts


def shell_turn(rng):
    commands = rng.choices([*COMMANDS, INTERRUPT], k=rng.randint(1, 3))
    return T("tool_use", *(shell(command, rng.choice(IDS)) for command in commands))


@pytest.mark.skipif(sys.platform == "win32", reason="a shell cannot send SIGINT there")
@both_chapters
@pytest.mark.parametrize("seed", [1, 2])
def test_after_any_commands_the_history_can_go_on(chapter, seed, tmp_path, ctrl_c):
    tools = tools_of(chapter, tmp_path)

    assert talk_at_random(chapter, tools, random.Random(seed), turn=shell_turn)


# --- Ctrl-C at any moment: at each line that a chapter runs ---


class InterruptAt:
    """Raise KeyboardInterrupt before the chapter's line number `count`, once."""

    def __init__(self, chapter, count):
        self.file = chapter.__file__
        self.left = count

    def __call__(self, frame, event, argument):
        if frame.f_code.co_filename != self.file:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self)

    def __exit__(self, *error):
        sys.settrace(self.before)


def traced_registry(ran):
    def handler(n):
        ran.append(f"t{n}")
        return f"result {n}"

    return registry_of(spec("a", handler, {"n": {"type": "integer"}}, ["n"]))


def interrupted_at(chapter, count):
    """A talk of two rounds, interrupted there; what ran; was it interrupted at all?"""
    ran = []
    talk = Talk(chapter, Path() if chapter is s01 else traced_registry(ran))
    first, second = [use(f"t{n}", "a", {"n": n}) for n in (0, 1)], use("t2", "a", {})
    script = [T("tool_use", text("now"), *first), T("tool_use", second), T("x", text())]
    try:
        with InterruptAt(chapter, count):
            talk.ask(*script)
    except KeyboardInterrupt:
        return talk, ran, True
    return talk, ran, False


@both_chapters
def test_an_interrupt_at_any_line_leaves_a_true_history_that_can_go_on(chapter):
    count, interrupted = 0, True
    while interrupted:
        count += 1
        talk, ran, interrupted = interrupted_at(chapter, count)
        for block in talk.results():
            called = block["tool_use_id"] in ran
            assert not called or "not run" not in block["content"]
            assert called or "result" not in block["content"]
        assert talk.goes_on(), f"interrupted at line event {count}"
    assert count > 50
