"""The eight faults against a server made with the MCP Python SDK.

The SDK's own client is connected to the server in this process: no model, no
network, no key. A batch is two requests sent together, since the protocol has no
other. ``make_call`` and its kin time ``MCPServer.call_tool``.
"""

import asyncio
from collections.abc import Callable

from mcp import Client
from mcp.server import MCPServer
from pydantic import StrictInt

if __package__:
    from . import report
else:
    import report


def serve(tools: list[report.Tool]) -> MCPServer:
    """A server with the tools."""
    server = MCPServer("peer")
    for tool in tools:
        server.add_tool(tool)
    return server


async def ask(client: Client, call: report.Call) -> report.Answer:
    """One request to call a tool."""
    result = await client.call_tool(call.name, call.arguments)
    text = "".join(block.text for block in result.content)
    return report.Answer(call.id, text, "is_error" if result.is_error else None)


async def converse(calls: list[report.Call], server: MCPServer) -> report.Played:
    """List the tools, then send the calls together."""
    async with Client(server) as client:
        shown = [tool.name for tool in (await client.list_tools()).tools]
        told = await asyncio.gather(*(ask(client, call) for call in calls))
    return report.Played(list(told), shown)


def play(calls: list[report.Call], tools: list[report.Tool]) -> report.Played:
    """One turn of calls."""
    return asyncio.run(converse(calls, serve(tools)))


build = report.build_with(play)


async def count_type(client: Client) -> dict:
    """The schema of ``count`` as a client is handed it."""
    listed = (await client.list_tools(cache_mode="bypass")).tools[0].input_schema
    return listed["properties"]["count"]


async def client_gets_copy(server: MCPServer) -> bool:
    """Whether a client's edit of its listing stays out of the server's."""
    async with Client(server) as client:
        (await count_type(client))["type"] = "string"
        return (await count_type(client))["type"] == "integer"


async def converse_edit(server: MCPServer) -> report.Edited:
    """Edit what ``MCPServer.list_tools`` hands out, then list and call again."""
    handed = (await server.list_tools())[0].input_schema["properties"]["count"]
    before = handed["type"]
    is_copy = await client_gets_copy(server)
    handed["type"] = "string"
    async with Client(server) as client:
        after = await count_type(client)
        told = await ask(client, report.WORD)
    note = report.copy_note("list_tools is live; what a client gets", is_copy)
    return report.Edited(before, after["type"], told.text, note)


def play_edit() -> report.Edited:
    """The edit is made on the server's side."""
    return asyncio.run(converse_edit(serve(report.make_tools([])[:1])))


SWITCHES = {
    "text_for_integer": report.Switch(
        "pydantic.StrictInt as the parameter's annotation",
        play,
        report.annotated_tools(StrictInt),
    ),
}


# --- Jobs for the benchmark -----------------------------------------------------------


def make_job(call: report.Call) -> Callable[[], object]:
    """Look up, check, run, result, on one event loop kept open."""
    server = serve(report.make_tools([]))
    loop = asyncio.new_event_loop()
    return report.caught(
        lambda: loop.run_until_complete(server.call_tool(call.name, call.arguments))
    )


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
    report.main("mcp", play, play_edit, SWITCHES)
