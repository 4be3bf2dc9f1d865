"""Lab 10's solution against a server made with the official `mcp` package."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from s02_tool_dispatch.code import ToolCall, ToolRegistry

pytest.importorskip("mcp.server.mcpserver")  # the skip says: could not import

SOLUTION = (
    Path(__file__).parents[1] / "s02_tool_dispatch/labs/10_mcp_source/solution.py"
)
SECONDS = 60  # a start of the package takes one
SERVER = '''
import os, sys
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("peer")

@server.tool(name="math.add")
def add(a: int, b: int) -> int:
    """Add two integers."""
    print("a log line on stdout")
    return a + b

@server.tool()
def broken(text: str) -> str:
    """Raise."""
    raise ValueError(f"no {text} today")

@server.tool()
def optional(limit: int | None = None) -> str:
    """Has a schema with anyOf."""
    return "never reached"

@server.tool()
def environment() -> list[str]:
    """Names of the variables."""
    return sorted(os.environ)

@server.tool()
async def asks(context: Context) -> str:
    """Send a request to the client."""
    await context.session.send_ping()
    return "the ping was answered"

@server.tool()
def gone() -> str:
    """End the process."""
    os._exit(3)

server.run("stdio")
'''


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    """What was told of the server's tools, and a function that calls one of them."""
    spec = importlib.util.spec_from_file_location("lab_10_solution", SOLUTION)
    lab = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lab)
    folder = tmp_path_factory.mktemp("peer")
    (folder / "server.py").write_text(SERVER)
    told = []
    os.environ["PEER_API_KEY"] = "planted"
    try:
        command = [sys.executable, "server.py"]
        specs, wire = lab.connect(command, folder, "peer", SECONDS, told.append)
    finally:
        del os.environ["PEER_API_KEY"]
    registry = ToolRegistry()
    registry.register(*specs)

    def call(name, /, **arguments):
        result = registry.dispatch(ToolCall("t1", f"peer__{name}", arguments))
        return result.error_code, result.content

    yield told, call
    wire.close()
    assert wire.process.returncode is not None


@pytest.mark.parametrize(
    ("name", "arguments", "code", "part"),
    [
        pytest.param("math_add", {"a": 2, "b": 3}, None, "5", id="runs"),
        pytest.param(
            "math_add", {"a": "2", "b": 3}, "invalid_arguments", "a ", id="bad"
        ),
        pytest.param("optional", {}, "unknown_tool", "optional", id="left-out"),
        pytest.param("broken", {"text": "tea"}, "tool_error", "broken", id="raises"),
        pytest.param("environment", {}, None, "HOME", id="environment"),
        pytest.param("asks", {}, None, "the ping was answered", id="ping"),
    ],
)
def test_a_call_of_an_official_server_ends_as_the_lab_says(
    peer, name, arguments, code, part
):
    came = peer[1](name, **arguments)

    assert came[0] == code, came
    assert part in came[1]
    assert "PEER_API_KEY" not in came[1]


def test_what_the_registry_cannot_enforce_is_told_with_its_path(peer):
    (line,) = peer[0]

    assert "schema.properties.limit.anyOf" in line


def test_an_official_server_that_dies_is_a_result(peer):
    assert [peer[1]("gone")[0], peer[1]("gone")[0]] == ["server_died"] * 2
