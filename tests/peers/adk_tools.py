"""The eight faults against Google's Agent Development Kit.

A scripted ``BaseLlm`` plays the turns: no network, no key. ``make_call`` and its
kin time ``handle_function_calls_async``, which the agent's flow runs each turn.
"""

import asyncio
import os
from collections.abc import Callable
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.run_config import RunConfig
from google.adk.events import Event
from google.adk.flows.llm_flows.functions import handle_function_calls_async
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import FunctionTool
from google.genai import types
from pydantic import Field

if __package__:
    from . import report
else:
    import report


class Script(BaseLlm):
    """A model whose n-th reply is the n-th scripted turn; the last one is text."""

    turns: list = Field(default_factory=list)
    edit: Any = None
    heard: list = Field(default_factory=list)
    listed: list = Field(default_factory=list)

    async def generate_content_async(self, llm_request: LlmRequest, stream=False):
        """Note what was said and shown, perhaps edit it, and reply."""
        turn = len(self.heard)
        self.heard.append(list(llm_request.contents[-1].parts))
        shown = llm_request.config.tools[0].function_declarations
        self.listed.append([(one.name, count_type(one)) for one in shown])
        if self.edit:
            self.edit(shown)
        calls = self.turns[turn] if turn < len(self.turns) else []
        yield LlmResponse(content=reply(calls))


def script(turns: list[list[report.Call]], edit: Callable | None = None) -> Script:
    """A fresh scripted model."""
    return Script(model="scripted", turns=turns, edit=edit)


def count_type(declaration: types.FunctionDeclaration) -> str | None:
    """The listed type of ``count`` in either form of a declaration; None without it."""
    if schema := declaration.parameters_json_schema:
        return schema["properties"].get("count", {}).get("type")
    listed = declaration.parameters  # None for a tool without parameters
    count = listed and listed.properties.get("count")
    return count and count.type.value.lower()


def reply(calls: list[report.Call]) -> types.Content:
    """A reply: tool calls, or the closing text."""
    parts = [
        types.Part(
            function_call=types.FunctionCall(id=c.id, name=c.name, args=c.arguments)
        )
        for c in calls
    ]
    return types.Content(role="model", parts=parts or [types.Part(text="done")])


def answers(parts: list[types.Part]) -> list[report.Answer]:
    """The function responses in what the model was sent."""
    responses = [p.function_response for p in parts if p.function_response]
    return [
        report.Answer(
            one.id,
            str(one.response.get("error", one.response.get("result"))),
            "the key 'error'" if "error" in one.response else None,
        )
        for one in responses
    ]


async def run(model: Script, tools: list[report.Tool], **options: object) -> None:
    """One run of an agent over the scripted model."""
    agent = LlmAgent(name="peer", model=model, tools=tools, **options)
    runner = InMemoryRunner(agent, app_name="peer")
    session = await runner.session_service.create_session(
        app_name="peer", user_id="user"
    )
    message = types.Content(role="user", parts=[types.Part(text="go")])
    async for _ in runner.run_async(
        user_id="user", session_id=session.id, new_message=message
    ):
        pass


def play(
    calls: list[report.Call], tools: list[report.Tool], **options: object
) -> report.Played:
    """One turn of calls, then the closing text."""
    model = script([calls])
    asyncio.run(run(model, tools, **options))
    shown = [name for name, _ in model.listed[0]]
    return report.Played(answers(model.heard[-1]), shown)


build = report.build_with(play)


def edit(declarations: list[types.FunctionDeclaration]) -> None:
    """Write another type into the declaration the model was shown."""
    if declarations[0].parameters_json_schema:
        schema = declarations[0].parameters_json_schema
        schema["properties"]["count"]["type"] = "string"
    else:
        schema = declarations[0].parameters
        schema.properties["count"].type = types.Type.STRING


def play_edit() -> report.Edited:
    """The scripted model edits the declaration it was shown in its first turn."""
    model = script([[report.GOOD], [report.WORD]], edit)
    asyncio.run(run(model, report.make_tools([])[:1]))
    first, second = (tools[0][1] for tools in model.listed[:2])
    return report.Edited(first, second, answers(model.heard[-1])[0].text)


# --- Switches -------------------------------------------------------------------------


CHECK = "ADK_ENABLE_FUNCTION_TOOL_ARG_VALIDATION"


def tell(tool: object, args: object, tool_context: object, error: Exception) -> dict:
    """Answer for a tool that raised, without the exception's text."""
    return {"error": "the tool failed"}


def play_told(calls: list[report.Call], tools: list[report.Tool]) -> report.Played:
    """``play`` with a callback on the errors of tools."""
    return play(calls, tools, on_tool_error_callback=tell)


def play_checked(calls: list[report.Call], tools: list[report.Tool]) -> report.Played:
    """``play`` with the arguments checked."""
    os.environ[CHECK] = "1"
    try:
        return play(calls, tools)
    finally:
        del os.environ[CHECK]


SWITCHES = {
    "text_for_integer": report.Switch(
        f"{CHECK}=1 in the environment (experimental)", play_checked
    ),
    "raising_handler": report.Switch("LlmAgent.on_tool_error_callback", play_told),
    "batch_first_raises": report.Switch("LlmAgent.on_tool_error_callback", play_told),
}


# --- Jobs for the benchmark -----------------------------------------------------------


async def make_context(agent: LlmAgent) -> InvocationContext:
    """The context that a runner would give the flow."""
    service = InMemorySessionService()
    return InvocationContext(
        session_service=service,
        invocation_id="i1",
        agent=agent,
        session=await service.create_session(app_name="peer", user_id="user"),
        run_config=RunConfig(),
    )


def make_job(call: report.Call) -> Callable[[], object]:
    """Look up, check, run, result, on one event loop kept open."""
    tools = {one.__name__: FunctionTool(one) for one in report.make_tools([])}
    agent = LlmAgent(name="peer", model=script([]), tools=list(tools.values()))
    loop = asyncio.new_event_loop()
    context = loop.run_until_complete(make_context(agent))
    event = Event(author="peer", content=reply([call]))

    async def once() -> object:
        return await handle_function_calls_async(context, event, tools)

    return report.caught(lambda: loop.run_until_complete(once()))


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
    report.main("google-adk", play, play_edit, SWITCHES)
