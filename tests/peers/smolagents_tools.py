"""The eight faults against smolagents' ``ToolCallingAgent``.

A scripted ``Model`` plays the turns: no network, no key. ``make_call`` and its
kin time ``ToolCallingAgent.execute_tool_call``.
"""

from collections.abc import Callable

from smolagents import Tool, ToolCallingAgent, tool
from smolagents.memory import ActionStep
from smolagents.models import (
    ChatMessage,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    MessageRole,
    Model,
    get_tool_json_schema,
)
from smolagents.monitoring import LogLevel

if __package__:
    from . import report
else:
    import report

FINAL = report.Call("c9", "final_answer", {"answer": "done"})


class Script(Model):
    """A model whose n-th reply is the n-th scripted turn, then the final answer."""

    def __init__(
        self, turns: list[list[report.Call]], edit: Callable | None = None
    ) -> None:
        super().__init__(model_id="scripted")
        self.turns = turns
        self.edit = edit
        self.listed: list[list[tuple[str, object]]] = []

    def generate(self, messages, tools_to_call_from=None, **options):
        """Note what was shown, perhaps edit it, and reply."""
        turn = len(self.listed)
        shown = [one for one in tools_to_call_from if one.name != FINAL.name]
        self.listed.append([(one.name, count_type(one)) for one in shown])
        if self.edit:
            self.edit(shown)
        return reply(self.turns[turn] if turn < len(self.turns) else [FINAL])


def count_type(one: Tool) -> object:
    """The listed type of the parameter ``count``; None without one."""
    parameters = get_tool_json_schema(one)["function"]["parameters"]
    return parameters["properties"].get("count", {}).get("type")


def reply(calls: list[report.Call]) -> ChatMessage:
    """A reply with calls."""
    return ChatMessage(
        role=MessageRole.ASSISTANT,
        content="",
        tool_calls=[
            ChatMessageToolCall(
                id=call.id,
                type="function",
                function=ChatMessageToolCallFunction(
                    name=call.name, arguments=call.arguments
                ),
            )
            for call in calls
        ],
    )


def run(script: Script, tools: list[report.Tool]) -> list[ActionStep]:
    """One run; gives back the steps the model is told about."""
    agent = ToolCallingAgent(
        tools=[tool(one) for one in tools],
        model=script,
        max_steps=4,
        verbosity_level=LogLevel.OFF,
    )
    agent.run("go")
    return [step for step in agent.memory.steps if isinstance(step, ActionStep)]


def answers(step: ActionStep, calls: list[report.Call]) -> list[report.Answer]:
    """One answer a call; an error answers for the whole step, under the first id."""
    if step.error is not None:
        return [report.Answer(calls[0].id, str(step.error), "the step's error")]
    lines = step.observations.split("\n")
    return [report.Answer(c.id, text) for c, text in zip(calls, lines, strict=True)]


def play(calls: list[report.Call], tools: list[report.Tool]) -> report.Played:
    """One turn of calls, then the final answer."""
    script = Script([calls])
    steps = run(script, tools)
    return report.Played(
        answers(steps[0], calls), [name for name, _ in script.listed[0]]
    )


build = report.build_with(play)


def edit(tools: list[Tool]) -> None:
    """Write another type into the tools the model was shown."""
    tools[0].inputs["count"]["type"] = "string"


def schema_is_copy() -> bool:
    """Whether an edit of the adapter's schema stays out of the next one."""
    one = tool(report.make_tools([])[0])
    schema = get_tool_json_schema(one)["function"]["parameters"]["properties"]
    schema["count"]["type"] = "string"
    return count_type(one) == "integer"


def play_edit() -> report.Edited:
    """The scripted model edits the tool it was shown in its first turn."""
    script = Script([[report.GOOD], [report.WORD]], edit)
    steps = run(script, report.make_tools([])[:1])
    first, second = (tools[0][1] for tools in script.listed[:2])
    note = report.copy_note(
        "Tool.inputs is live; the schema made from it", schema_is_copy()
    )
    told = answers(steps[1], [report.WORD])[0]
    return report.Edited(first, second, told.text, note)


# --- Jobs for the benchmark -----------------------------------------------------------


def make_job(call: report.Call) -> Callable[[], object]:
    """Look up, check, run, result."""
    agent = ToolCallingAgent(
        tools=[tool(one) for one in report.make_tools([])],
        model=Script([]),
        verbosity_level=LogLevel.OFF,
    )
    return report.caught(lambda: agent.execute_tool_call(call.name, call.arguments))


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
    report.main("smolagents", play, play_edit, {})
