"""The eight faults against LangGraph's prebuilt ``ToolNode``.

The node runs alone in a compiled graph; the calls arrive as one message: no
model, no network, no key. ``make_call`` and its kin time ``ToolNode.invoke``,
given the runtime that a graph would give it.
"""

from collections.abc import Callable

from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, StrictInt

if __package__:
    from . import report
else:
    import report


def request(calls: list[report.Call]) -> AIMessage:
    """The model's message with its calls."""
    return AIMessage(
        "",
        tool_calls=[{"name": c.name, "args": c.arguments, "id": c.id} for c in calls],
    )


def answer(message: object) -> report.Answer:
    """A tool message as the model would be sent it."""
    mark = f"status={message.status}" if message.status == "error" else None
    return report.Answer(message.tool_call_id, message.content, mark)


def run(calls: list[report.Call], node: ToolNode) -> list[report.Answer]:
    """One pass through a graph that holds only the node."""
    graph = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    state = graph.compile().invoke({"messages": [request(calls)]})
    return [answer(message) for message in state["messages"][1:]]


def play(
    calls: list[report.Call],
    tools: list[report.Tool],
    wrap: Callable = tool,
    **options: object,
) -> report.Played:
    """One turn of calls."""
    node = ToolNode([wrap(one) for one in tools], **options)
    return report.Played(run(calls, node), list(node.tools_by_name))


build = report.build_with(play)


def count_schema(one: BaseTool) -> dict:
    """The schema of ``count`` as handed to a model's adapter."""
    function = convert_to_openai_tool(one)["function"]
    return function["parameters"]["properties"]["count"]


def play_edit() -> report.Edited:
    """Edit both schemas the tool hands out: the adapter's and ``args``."""
    one = tool(report.make_tools([])[0])
    node = ToolNode([one])
    handed = count_schema(one)
    before = handed["type"]
    handed["type"] = "string"
    is_copy = count_schema(one)["type"] == before
    one.args["count"]["type"] = "string"
    told = run([report.WORD], node)[0].text
    note = report.copy_note("BaseTool.args is live; the adapter's schema", is_copy)
    return report.Edited(before, count_schema(one)["type"], told, note)


# --- Switches -------------------------------------------------------------------------


class Arguments(BaseModel):
    """Arguments of both tools; an extra one is refused."""

    model_config = ConfigDict(extra="forbid")
    path: str
    count: int


def wrap_closed(function: report.Tool) -> BaseTool:
    """A tool whose arguments are checked against ``Arguments``."""
    return tool(function, args_schema=Arguments)


def play_with(**options: object) -> report.Play:
    """``play`` with one option changed."""
    return lambda calls, tools: play(calls, tools, **options)


TEXT = "ToolNode(handle_tool_errors='a fixed text'); True shows the exception"
SWITCHES = {
    "text_for_integer": report.Switch(
        "pydantic.StrictInt as the parameter's annotation",
        play,
        report.annotated_tools(StrictInt),
    ),
    "extra_argument": report.Switch(
        "tool(args_schema=...) with a model of extra='forbid'",
        play_with(wrap=wrap_closed),
    ),
    "raising_handler": report.Switch(
        TEXT, play_with(handle_tool_errors="the tool failed")
    ),
    "batch_first_raises": report.Switch(
        TEXT, play_with(handle_tool_errors="the tool failed")
    ),
}


# --- Jobs for the benchmark -----------------------------------------------------------


def make_job(call: report.Call) -> Callable[[], object]:
    """Look up, check, run, result, without a graph around it."""
    node = ToolNode([tool(one) for one in report.make_tools([])])
    messages = [request([call])]
    config = {"configurable": {"__pregel_runtime": Runtime()}}
    return report.caught(lambda: node.invoke(messages, config=config))


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
    report.main("langgraph", play, play_edit, SWITCHES)
