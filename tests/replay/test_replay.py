"""Calls as a model once made them give the outcomes they once gave.

`calls.json` holds sessions: a name, and calls in order, each with its outcome ("ok"
or the error code). Each session runs in a fresh folder against today's registry.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from s02_tool_dispatch import code as s02

SESSIONS = json.loads(Path(__file__).with_name("calls.json").read_text("utf-8"))


def replayed(registry, recorded):
    """Dispatch the calls of a session again, one by one."""
    calls = [
        s02.ToolCall(f"t{number}", call["name"], call["arguments"])
        for number, call in enumerate(recorded)
    ]
    return [registry.dispatch(call) for call in calls]


@pytest.mark.parametrize("session", SESSIONS)
def test_recorded_calls_give_the_recorded_outcomes(session, tmp_path):
    recorded = SESSIONS[session]
    records = []
    registry = s02.build_registry(s02.Workspace(tmp_path), trace=records.append)
    results = replayed(registry, recorded)

    outcomes = [call["outcome"] for call in recorded]
    assert [result.error_code or "ok" for result in results] == outcomes
    assert [record.outcome for record in records] == outcomes
    for call, result in zip(recorded, results, strict=True):
        assert call.get("says", "") in result.content


def test_the_recorded_calls_meet_every_tool_and_every_code_of_the_boundary():
    calls = [call for session in SESSIONS.values() for call in session]
    registry = s02.build_registry(s02.Workspace(Path(__file__).parent))
    tools = {tool["name"] for tool in registry.definitions()}

    for outcome in ("ok", "execution_error"):
        assert any(call["outcome"] == outcome for call in calls)
    assert tools <= {call["name"] for call in calls if call["outcome"] == "ok"}
    for code in ("unknown_tool", "invalid_arguments"):
        assert sum(call["outcome"] == code for call in calls) >= 4
