"""Three handlers that do not simply return a text."""

from s02_tool_dispatch.code import ToolCall, ToolRegistry, ToolSpec, object_schema


async def later() -> str:
    return "done"


def in_parts():
    yield "do"
    yield "ne"


def nothing() -> None:
    pass


registry = ToolRegistry()
for handler in (later, in_parts, nothing):
    spec = ToolSpec(handler.__name__, "Answer.", object_schema({}), handler)
    registry.register(spec)
    result = registry.dispatch(ToolCall("call_1", handler.__name__, {}))
    print(result.error_code or result.content)
