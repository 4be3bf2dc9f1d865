"""The eight faults against Strands Agents.

A scripted ``Model`` plays the turns: no network, no key. ``make_call`` and its kin
time ``ToolExecutor._stream``, which the agent's loop runs for each call.
"""

import asyncio
import copy
import json
from collections.abc import Callable

from strands import Agent, tool
from strands.hooks import AfterToolCallEvent, HookProvider, HookRegistry
from strands.models import Model
from strands.tools.executors._executor import ToolExecutor
from strands.types.tools import AgentTool

if __package__:
    from . import report
else:
    import report


class Script(Model):
    """A model whose n-th reply is the n-th scripted turn; the last one is text."""

    def __init__(
        self, turns: list[list[report.Call]], edit: Callable | None = None
    ) -> None:
        self.turns = turns
        self.edit = edit
        self.heard: list[list] = []
        self.listed: list[list[tuple[str, object]]] = []

    def update_config(self, **options):
        """Nothing to configure."""

    def get_config(self):
        """Nothing is configured."""
        return {}

    async def structured_output(self, *args, **options):
        """Not used."""
        yield {}

    async def stream(self, messages, tool_specs=None, system_prompt=None, **options):
        """Note what was said and shown, perhaps edit it, and reply."""
        turn = len(self.heard)
        self.heard.append(copy.deepcopy(messages[-1]["content"]))
        self.listed.append([(spec["name"], count_type(spec)) for spec in tool_specs])
        if self.edit:
            self.edit(tool_specs)
        calls = self.turns[turn] if turn < len(self.turns) else []
        for event in events(calls):
            yield event


def count_type(spec: dict) -> object:
    """The listed type of the parameter ``count``; None without one."""
    properties = spec["inputSchema"]["json"]["properties"]
    return properties.get("count", {}).get("type")


def events(calls: list[report.Call]) -> list[dict]:
    """A reply as stream events: tool calls, or the closing text."""
    stop = "tool_use" if calls else "end_turn"
    body = [event for call in calls for event in call_events(call)] or [
        {"contentBlockStart": {"start": {}}},
        {"contentBlockDelta": {"delta": {"text": "done"}}},
        {"contentBlockStop": {}},
    ]
    start = {"messageStart": {"role": "assistant"}}
    return [start, *body, {"messageStop": {"stopReason": stop}}]


def call_events(call: report.Call) -> list[dict]:
    """One call as stream events."""
    use = {"name": call.name, "toolUseId": call.id}
    text = json.dumps(call.arguments)
    return [
        {"contentBlockStart": {"start": {"toolUse": use}}},
        {"contentBlockDelta": {"delta": {"toolUse": {"input": text}}}},
        {"contentBlockStop": {}},
    ]


def answers(content: list[dict]) -> list[report.Answer]:
    """The tool results in the message the model was sent."""
    results = [block["toolResult"] for block in content if "toolResult" in block]
    return [
        report.Answer(
            result["toolUseId"],
            result["content"][0]["text"],
            "status=error" if result["status"] == "error" else None,
        )
        for result in results
    ]


def run(script: Script, tools: list[AgentTool], hooks: list | None = None) -> None:
    """One run of an agent over the scripted model."""
    Agent(model=script, tools=tools, hooks=hooks, callback_handler=None)("go")


def play(
    calls: list[report.Call], tools: list[report.Tool], hooks: list | None = None
) -> report.Played:
    """One turn of calls, then the closing text."""
    script = Script([calls])
    run(script, [tool(one) for one in tools], hooks)
    shown = [name for name, _ in script.listed[0]]
    return report.Played(answers(script.heard[-1]), shown)


build = report.build_with(play)


def edit(specs: list[dict]) -> None:
    """Write another type into the specification the model was shown."""
    specs[0]["inputSchema"]["json"]["properties"]["count"]["type"] = "string"


def play_edit() -> report.Edited:
    """Edit what the model was shown, and what the tool hands its owner."""
    one = tool(report.make_tools([])[0])
    shown = Script([[report.GOOD], [report.GOOD]], edit)
    run(shown, [one])
    first, second = (tools[0][1] for tools in shown.listed[:2])
    edit([one.tool_spec])
    script = Script([[report.WORD]])
    run(script, [one])
    note = report.copy_note("tool_spec is live; what the model got", first == second)
    told = answers(script.heard[-1])[0].text
    return report.Edited(first, script.listed[0][0][1], told, note)


# --- Switches -------------------------------------------------------------------------


class Reword(HookProvider):
    """A hook that replaces the text of a result whose handler raised."""

    def register_hooks(self, registry: HookRegistry, **options: object) -> None:
        """Listen for finished calls."""
        registry.add_callback(AfterToolCallEvent, self.reword)

    def reword(self, event: AfterToolCallEvent) -> None:
        """Keep the error, drop its text."""
        if event.exception is not None:
            event.result["content"] = [{"text": "the tool failed"}]


SWITCHES = {
    "raising_handler": report.Switch(
        "a hook on strands.hooks.AfterToolCallEvent that rewrites event.result",
        lambda calls, tools: play(calls, tools, [Reword()]),
    ),
}


# --- Jobs for the benchmark -----------------------------------------------------------


def make_job(call: report.Call) -> Callable[[], object]:
    """Look up, check, run, result, on one event loop kept open."""
    tools = [tool(one) for one in report.make_tools([])]
    agent = Agent(model=Script([]), tools=tools, callback_handler=None)
    use = {"name": call.name, "toolUseId": call.id, "input": call.arguments}
    loop = asyncio.new_event_loop()

    async def once() -> list:
        results: list = []
        async for _ in ToolExecutor._stream(agent, use, results, {}):
            pass
        return results

    return lambda: loop.run_until_complete(once())


def make_call() -> Callable[[], object]:
    """One whole successful job."""
    return make_job(report.GOOD)


def make_unknown() -> Callable[[], object]:
    """One call to a tool that is not there."""
    return make_job(report.UNKNOWN)


def make_invalid() -> Callable[[], object]:
    """One call without a required argument."""
    return make_job(report.MISSING)


def make_raising() -> Callable[[], object]:
    """One call whose handler raises."""
    return make_job(report.RAISING)


if __name__ == "__main__":
    report.main("strands-agents", play, play_edit, SWITCHES)
