"""Lab 1 of the first chapter: the loop against your replies."""

import ast
import importlib.util
import inspect
import json
import textwrap
from pathlib import Path

from s01_agent_loop import code as s01

ROOT = Path(__file__).resolve().parents[3]


def api_rules():
    """What the real API refuses: the rules of this repository's own tests."""
    path = ROOT / "tests" / "api_rules.py"
    spec = importlib.util.spec_from_file_location("api_rules_of_a_lab", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_loop(lab, folder, max_turns):
    """The chapter's loop against the reader's replies; a result or an exception."""
    provider = lab.Endless(lab.break_the_bound()[0])
    messages = [{"role": "user", "content": "Never stop."}]
    try:
        result = s01.agent_loop(messages, provider, folder, max_turns)
    except Exception as error:  # what the reader's function raises
        if isinstance(error, NotImplementedError):
            raise
        result = error
    return result, provider.requests, messages


def lines_with_the_bound():
    """The lines of agent_loop that open a loop around the request."""
    source = textwrap.dedent(inspect.getsource(s01.agent_loop))
    loops = [
        n for n in ast.walk(ast.parse(source)) if isinstance(n, (ast.For, ast.While))
    ]
    asking = [n for n in loops if "provider.create" in ast.unparse(n)]
    return [source.splitlines()[n.lineno - 1].strip() for n in asking]


def test_the_loop_finds_no_reason_to_stop_of_its_own(lab, expect, tmp_path):
    result, requests, _ = run_loop(lab, tmp_path, 30)

    came = str(getattr(result, "stop_reason", repr(result))), requests
    advice = "which row of the table of turns goes on? Answer like that every time"
    expect("agent_loop(max_turns=30)", came, ("max_turns", 30), advice)


def test_a_higher_bound_only_takes_longer(lab, expect, tmp_path):
    result, requests, _ = run_loop(lab, tmp_path, 300)

    came = str(getattr(result, "stop_reason", repr(result))), requests
    advice = "do not count: the 300th reply must ask for more, like the first"
    expect("agent_loop(max_turns=300)", came, ("max_turns", 300), advice)


def test_the_line_that_stops_you_is_the_one_that_counts(lab, expect):
    named = lab.break_the_bound()[1].strip()

    (right,) = lines_with_the_bound()
    advice = "every other line asks what the model said; this one does not"
    claim = "the line that ends the loop whatever the model says"
    expect("the line that you named", named, claim, advice, holds=named == right)


def test_the_history_stays_one_that_the_api_accepts(lab, expect, tmp_path):
    _, _, messages = run_loop(lab, tmp_path, 30)
    rules = api_rules()
    try:
        rules.RequestRules().check(
            [*messages, {"role": "user", "content": "Stop?"}],
            [{"name": "again", "description": "", "input_schema": {"type": "object"}}],
        )
        came = "accepted"
    except rules.RequestRefused as refused:
        came = str(refused)

    advice = (
        "the loop answers each call, also in the last turn; did you change messages?"
    )
    expect("the next question after it", came, "accepted", advice)
    size = len(json.dumps(messages))
    claim = "at most 100,000 characters"
    expect("its size", size, claim, "short replies will do", holds=size <= 100_000)
