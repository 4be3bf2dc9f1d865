"""The eight faults against the tool runner of the Anthropic SDK.

The client talks to a transport in this process, which answers with the scripted
turns: no network, no key. ``make_call`` and its kin time the step in which a
running tool runner turns the last message's calls into tool results.
"""

import json
from collections.abc import Callable

import httpx2
from anthropic import Anthropic, beta_tool
from anthropic.lib.tools import ToolError
from pydantic import StrictInt

if __package__:
    from . import report
else:
    import report


class Script:
    """A transport whose n-th reply is the n-th scripted turn; the last one is text."""

    def __init__(self, turns: list[list[report.Call]]) -> None:
        self.turns = turns
        self.requests: list[dict] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        turn = len(self.requests)
        self.requests.append(json.loads(request.content))
        calls = self.turns[turn] if turn < len(self.turns) else []
        return httpx2.Response(200, json=message(calls))


def message(calls: list[report.Call]) -> dict[str, object]:
    """A reply of the Messages API: tool calls, or the closing text."""
    blocks: list[dict[str, object]] = [
        {"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments}
        for c in calls
    ]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": blocks or [{"type": "text", "text": "done"}],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def start(script: Script, tools: list) -> object:
    """A tool runner over the scripted transport."""
    transport = httpx2.MockTransport(script)
    client = Anthropic(api_key="unused", http_client=httpx2.Client(transport=transport))
    return client.beta.messages.tool_runner(
        model="scripted",
        max_tokens=100,
        tools=tools,
        messages=[{"role": "user", "content": "go"}],
    )


def answers(request: dict) -> list[report.Answer]:
    """The tool results in the last message of a request."""
    return [
        report.Answer(
            block["tool_use_id"],
            block["content"],
            "is_error" if block.get("is_error") else None,
        )
        for block in request["messages"][-1]["content"]
    ]


def play(calls: list[report.Call], tools: list[report.Tool]) -> report.Played:
    """One turn of calls, then the closing text."""
    script = Script([calls])
    start(script, [beta_tool(tool) for tool in tools]).until_done()
    shown = [tool["name"] for tool in script.requests[0]["tools"]]
    return report.Played(answers(script.requests[-1]), shown)


build = report.build_with(play)


def edit(tool: object) -> None:
    """Write another type into the schema the tool hands out."""
    tool.to_dict()["input_schema"]["properties"]["count"]["type"] = "string"


def listed(script: Script) -> str:
    """The type of ``count`` in the first request."""
    return script.requests[0]["tools"][0]["input_schema"]["properties"]["count"]["type"]


def edit_within_run() -> str:
    """What becomes of an edit between two turns of one run."""
    tool = beta_tool(report.make_tools([])[0])
    runner = start(Script([[report.GOOD], [report.WORD]]), [tool])
    next(runner)
    edit(tool)
    try:
        runner.until_done()
    except Exception as error:  # the kind is what is reported
        return f" Edited within a run, {type(error).__name__} ended that run."
    return " Edited within a run, the run went on."


def play_edit() -> report.Edited:
    """Edit what ``to_dict`` hands out between two runs, and within one."""
    tool = beta_tool(report.make_tools([])[0])
    first, second = Script([[report.GOOD]]), Script([[report.WORD]])
    start(first, [tool]).until_done()
    edit(tool)
    start(second, [tool]).until_done()
    answer = answers(second.requests[-1])[0].text
    return report.Edited(listed(first), listed(second), answer, edit_within_run())


# --- Switches -------------------------------------------------------------------------


def telling_tools(ran: list[str]) -> list[report.Tool]:
    """The raising tool, choosing itself what the model is told."""

    def read_ledger(path: str, count: int) -> str:
        """Read lines of a file."""
        raise ToolError("the ledger cannot be read")

    return [read_ledger]


SWITCHES = {
    "text_for_integer": report.Switch(
        "pydantic.StrictInt as the parameter's annotation",
        play,
        report.annotated_tools(StrictInt),
    ),
    "raising_handler": report.Switch(
        "anthropic.lib.tools.ToolError raised by the handler", play, telling_tools
    ),
}


# --- Jobs for the benchmark -----------------------------------------------------------


def make_job(call: report.Call) -> Callable[[], object]:
    """Look up, check, run, result: the runner's step between two requests."""
    script = Script([[call]])
    runner = start(script, [beta_tool(tool) for tool in report.make_tools([])])
    next(runner)
    return runner._generate_tool_call_response


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
    report.main("anthropic", play, play_edit, SWITCHES)
