"""The eight faults against Pydantic AI.

A ``FunctionModel`` plays the turns: no network, no key. ``make_call`` and its kin
time ``ToolManager.handle_call``, which an agent's run uses for each call.
"""

import asyncio
from collections.abc import Callable

from pydantic import StrictInt
from pydantic_ai import Agent, FunctionToolset, RunContext, RunUsage
from pydantic_ai.capabilities import Hooks
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tool_manager import ToolManager

if __package__:
    from . import report
else:
    import report


class Script:
    """A model whose n-th reply is the n-th scripted turn; the last one is text."""

    def __init__(
        self, turns: list[list[report.Call]], edit: Callable | None = None
    ) -> None:
        self.turns = turns
        self.edit = edit
        self.heard: list[list] = []
        self.listed: list[list[tuple[str, object]]] = []

    def __call__(self, messages: list, info: AgentInfo) -> ModelResponse:
        """Note what was said and shown, perhaps edit it, and reply."""
        turn = len(self.heard)
        self.heard.append(list(messages[-1].parts))
        self.listed.append([(t.name, count_type(t)) for t in info.function_tools])
        if self.edit:
            self.edit(info.function_tools)
        calls = self.turns[turn] if turn < len(self.turns) else []
        parts = [ToolCallPart(c.name, c.arguments, tool_call_id=c.id) for c in calls]
        return ModelResponse(parts=parts or [TextPart("done")])


def count_type(tool: object) -> object:
    """The listed type of the parameter ``count``; None without one."""
    properties = tool.parameters_json_schema["properties"]
    return properties.get("count", {}).get("type")


def answer(part: object) -> report.Answer:
    """A tool's part of the message the model was sent."""
    outcome = getattr(part, "outcome", "success")
    kind = getattr(part, "part_kind", "")
    mark = kind if kind == "retry-prompt" else f"outcome={outcome}"
    text = part.model_response() if kind == "retry-prompt" else str(part.content)
    return report.Answer(
        part.tool_call_id, text, None if mark == "outcome=success" else mark
    )


def play(
    calls: list[report.Call], tools: list[report.Tool], **options: object
) -> report.Played:
    """One turn of calls, then the closing text."""
    script = Script([calls])
    Agent(FunctionModel(script), tools=tools, **options).run_sync("go")
    shown = [name for name, _ in script.listed[0]]
    return report.Played([answer(part) for part in script.heard[-1]], shown)


build = report.build_with(play)


def edit(tools: list) -> None:
    """Write another type into the schema the model was shown."""
    tools[0].parameters_json_schema["properties"]["count"]["type"] = "string"


def play_edit() -> report.Edited:
    """The scripted model edits the schema it was shown in its first turn."""
    script = Script([[report.GOOD], [report.WORD]], edit)
    Agent(FunctionModel(script), tools=report.make_tools([])[:1]).run_sync("go")
    first, second = (tools[0][1] for tools in script.listed[:2])
    return report.Edited(first, second, answer(script.heard[-1][0]).text)


# --- Switches -------------------------------------------------------------------------


async def fail_quietly(ctx, *, call, tool_def, args, error):
    """Turn what a handler raised into a failure without its text."""
    raise ToolFailed("the tool failed")


def play_hooked(calls: list[report.Call], tools: list[report.Tool]) -> report.Played:
    """``play`` with a hook on the errors of handlers."""
    hooks = Hooks(tool_execute_error=fail_quietly)
    return play(calls, tools, capabilities=[hooks])


HOOK = "capabilities.Hooks(tool_execute_error=...), the hook raising ToolFailed"
SWITCHES = {
    "text_for_integer": report.Switch(
        "pydantic.StrictInt as the parameter's annotation",
        play,
        report.annotated_tools(StrictInt),
    ),
    "raising_handler": report.Switch(HOOK, play_hooked),
    "batch_first_raises": report.Switch(HOOK, play_hooked),
}


# --- Jobs for the benchmark -----------------------------------------------------------


def make_job(call: report.Call) -> Callable[[], object]:
    """Look up, check, run, result, on one event loop kept open."""
    loop = asyncio.new_event_loop()
    context = RunContext(deps=None, model=FunctionModel(Script([])), usage=RunUsage())
    manager = ToolManager(FunctionToolset(report.make_tools([]), max_retries=1))
    manager = loop.run_until_complete(manager.for_run_step(context))
    part = ToolCallPart(call.name, call.arguments, tool_call_id=call.id)

    def job() -> object:
        manager.ctx.retries.clear()
        manager.failed_tools.clear()
        return loop.run_until_complete(manager.handle_call(part))

    return report.caught(job)


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
    report.main("pydantic-ai-slim", play, play_edit, SWITCHES)
