"""Lab 1 of the first chapter: the loop against your replies."""

import ast
import importlib.util
import inspect
import json
import textwrap
from pathlib import Path

from s01_agent_loop import code as s01

ROOT = Path(__file__).resolve().parents[3]
A_MILLION = 1_000_000
TOOLS = [{"name": "again", "description": "", "input_schema": {"type": "object"}}]


def api_rules():
    """What the real API refuses: the rules of this repository's own tests."""
    path = ROOT / "tests" / "api_rules.py"
    spec = importlib.util.spec_from_file_location("api_rules_of_a_lab", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def both(lab, expect):
    """The two things that the reader returns, each of its kind."""
    came = lab.break_the_bound()
    pair = isinstance(came, (tuple, list)) and len(came) == 2
    right = pair and callable(came[0]) and isinstance(came[1], str)
    advice = "first the function itself, without calling it, then the line as a text"
    expect("break_the_bound()", came, "a function and a text", advice, holds=right)
    return came


def run_loop(lab, expect, folder, max_turns, asked=0):
    """The chapter's loop against replies, of which `asked` have been asked for before.

    What came of it: stop reason, and how many requests were made; and the history.
    """
    provider = lab.Endless(both(lab, expect)[0])
    for _ in range(min(asked, 20_000)):
        provider.create([], [])
    provider.requests = asked
    messages = [{"role": "user", "content": "Never stop."}]
    result = s01.agent_loop(messages, provider, folder, max_turns)
    return (str(result.stop_reason), provider.requests - asked), messages


def lines_with_the_bound():
    """The lines of agent_loop that open a loop around the request."""
    source = textwrap.dedent(inspect.getsource(s01.agent_loop))
    loops = [
        n for n in ast.walk(ast.parse(source)) if isinstance(n, (ast.For, ast.While))
    ]
    asking = [n for n in loops if "provider.create" in ast.unparse(n)]
    return [source.splitlines()[n.lineno - 1].strip() for n in asking]


def test_the_loop_finds_no_reason_to_stop_of_its_own(lab, expect, tmp_path):
    came, _ = run_loop(lab, expect, tmp_path, 30)

    advice = "which row of the table of turns goes on? Answer like that every time"
    expect("agent_loop(max_turns=30)", came, ("max_turns", 30), advice)


def test_a_higher_bound_only_takes_longer(lab, expect, tmp_path):
    advice = "do not count: reply number {} must ask for more, like the first"
    came, _ = run_loop(lab, expect, tmp_path, 100)
    called = "agent_loop(max_turns=100)"
    expect(called, came, ("max_turns", 100), advice.format(came[1]))
    came, _ = run_loop(lab, expect, tmp_path, 30, A_MILLION)
    called = "agent_loop(max_turns=30), from request number 1,000,001 on"
    last = A_MILLION + came[1]
    expect(called, came, ("max_turns", 30), advice.format(f"{last:,}"))


def test_the_line_that_stops_you_is_the_one_that_counts(lab, expect):
    named = both(lab, expect)[1].strip()

    (right,) = lines_with_the_bound()
    advice = "every other line asks what the model said; this one does not"
    if named and (named in right or right in named):
        advice = "this is the place: copy the one line whole, from its first word on"
    claim = "the line that ends the loop whatever the model says"
    expect("the line that you named", named, claim, advice, holds=named == right)


def test_the_history_stays_one_that_the_api_accepts(lab, expect, tmp_path):
    for asked in (0, A_MILLION):
        _, messages = run_loop(lab, expect, tmp_path, 30, asked)
        rules = api_rules()
        try:
            rules.RequestRules().check(
                [*messages, {"role": "user", "content": "Stop?"}], TOOLS
            )
            came = "accepted"
        except rules.RequestRefused as refused:
            came = str(refused)

        advice = "the loop answers each call, also the last: did you change messages?"
        expect("the next question after it", came, "accepted", advice)
        size = len(json.dumps(messages))
        claim = "at most 100,000 characters"
        advice = "short replies will do, and they need not grow"
        expect("the size of 30 turns", size, claim, advice, holds=size <= 100_000)
