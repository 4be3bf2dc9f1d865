"""The eight faults against the OpenAI Agents SDK.

A scripted ``Model`` plays the turns: no network, no key, tracing off. No public
entry below ``Runner.run`` looks a tool up, so ``make_call`` and its kin look the
tool up in a dict and let ``FunctionTool.on_invoke_tool`` check, run and answer.
"""

import asyncio
import json
from collections.abc import Callable

from agents import (
    Agent,
    FunctionTool,
    ModelResponse,
    RunConfig,
    Runner,
    Usage,
    _debug,
    function_tool,
)
from agents.exceptions import ModelBehaviorError
from agents.models.interface import Model
from agents.tool_context import ToolContext
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from pydantic import StrictInt

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

    async def get_response(
        self, system_instructions, input, model_settings, tools, *rest, **options
    ):
        """Note what was said and shown, perhaps edit it, and reply."""
        turn = len(self.heard)
        self.heard.append(list(input))
        self.listed.append([(tool.name, count_type(tool)) for tool in tools])
        if self.edit:
            self.edit(tools)
        calls = self.turns[turn] if turn < len(self.turns) else []
        output = [call_item(call) for call in calls] or [text_item()]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        """Not used: the run is not streamed."""
        raise NotImplementedError


def count_type(tool: FunctionTool) -> object:
    """The listed type of the parameter ``count``; None without one."""
    return tool.params_json_schema["properties"].get("count", {}).get("type")


def call_item(call: report.Call) -> ResponseFunctionToolCall:
    """A call as the Responses API returns it."""
    return ResponseFunctionToolCall(
        type="function_call",
        id=call.id,
        call_id=call.id,
        name=call.name,
        arguments=json.dumps(call.arguments),
    )


def text_item() -> ResponseOutputMessage:
    """The closing text."""
    text = ResponseOutputText(type="output_text", text="done", annotations=[])
    return ResponseOutputMessage(
        id="m", type="message", role="assistant", status="completed", content=[text]
    )


def answers(heard: list) -> list[report.Answer]:
    """The tool outputs in what the model was last sent."""
    return [
        report.Answer(item["call_id"], item["output"])
        for item in heard
        if isinstance(item, dict) and item.get("type") == "function_call_output"
    ]


def run(script: Script, tools: list[FunctionTool], **options: object) -> None:
    """One run of an agent over the scripted model."""
    agent = Agent(name="peer", model=script, tools=tools)
    config = RunConfig(tracing_disabled=True, **options)
    Runner.run_sync(agent, "go", run_config=config)


def play(
    calls: list[report.Call],
    tools: list[report.Tool],
    wrap: Callable = function_tool,
    **options: object,
) -> report.Played:
    """One turn of calls, then the closing text."""
    script = Script([calls])
    run(script, [wrap(tool) for tool in tools], **options)
    return report.Played(
        answers(script.heard[-1]), [name for name, _ in script.listed[0]]
    )


build = report.build_with(play)


def edit(tools: list[FunctionTool]) -> None:
    """Write another type into the schema the model was shown."""
    tools[0].params_json_schema["properties"]["count"]["type"] = "string"


def play_edit() -> report.Edited:
    """The scripted model edits the schema it was shown in its first turn."""
    script = Script([[report.GOOD], [report.WORD]], edit)
    run(script, [function_tool(report.make_tools([])[0])])
    first, second = (tools[0][1] for tools in script.listed[:2])
    return report.Edited(first, second, answers(script.heard[-1])[-1].text)


# --- Switches -------------------------------------------------------------------------


def tell(context: object, error: Exception) -> str:
    """Pass on what the SDK says about arguments, and nothing of other errors."""
    return str(error) if isinstance(error, ModelBehaviorError) else "the tool failed"


def wrap_telling(tool: report.Tool) -> FunctionTool:
    """A tool whose failures are worded by ``tell``."""
    return function_tool(tool, failure_error_function=tell)


def play_detailed(calls: list[report.Call], tools: list[report.Tool]) -> report.Played:
    """``play`` with the details of an argument error kept and passed on."""
    _debug.DONT_LOG_TOOL_DATA = False  # what the variable in DETAILS sets at import
    try:
        return play(calls, tools, wrap=wrap_telling)
    finally:
        _debug.DONT_LOG_TOOL_DATA = True


def play_with(**options: object) -> report.Play:
    """``play`` with one option changed."""
    return lambda calls, tools: play(calls, tools, **options)


DETAILS = (
    "function_tool(failure_error_function=...) with "
    "OPENAI_AGENTS_DONT_LOG_TOOL_DATA=0 in the environment, which also logs arguments"
)
SWITCHES = {
    "same_name": report.Switch(
        "RunConfig.tool_name_collision_policy='error'",
        play_with(tool_name_collision_policy="error"),
    ),
    "unknown_tool": report.Switch(
        "RunConfig.tool_not_found_behavior='return_error_to_model'",
        play_with(tool_not_found_behavior="return_error_to_model"),
    ),
    "missing_argument": report.Switch(DETAILS, play_detailed),
    "text_for_integer": report.Switch(
        f"pydantic.StrictInt as the parameter's annotation; {DETAILS}",
        play_detailed,
        report.annotated_tools(StrictInt),
    ),
}


# --- Jobs for the benchmark -----------------------------------------------------------


def make_job(call: report.Call) -> Callable[[], object]:
    """Look up, check, run, result, on one event loop kept open."""
    tools = {t.name: t for t in map(function_tool, report.make_tools([]))}
    arguments = json.dumps(call.arguments)
    loop = asyncio.new_event_loop()

    def job() -> object:
        tool = tools.get(call.name)
        if tool is None:
            return f"Tool {call.name} not found"
        context = ToolContext(
            context=None,
            tool_name=call.name,
            tool_call_id=call.id,
            tool_arguments=arguments,
        )
        return loop.run_until_complete(tool.on_invoke_tool(context, arguments))

    return job


def make_call() -> Callable[[], object]:
    """One whole successful job."""
    return make_job(report.GOOD)


def make_invalid() -> Callable[[], object]:
    """One call without a required argument."""
    return make_job(report.MISSING)


def make_raising() -> Callable[[], object]:
    """One call whose handler raises."""
    return make_job(report.RAISING)


if __name__ == "__main__":
    report.main("openai-agents", play, play_edit, SWITCHES)
