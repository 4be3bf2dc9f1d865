"""Two handlers fail, each in its way. The print shows what the model gets to know."""

from s02_tool_dispatch.code import (
    ToolCall,
    ToolFailure,
    ToolRegistry,
    ToolSpec,
    object_schema,
)


def expected() -> str:
    raise ToolFailure("the quota of key-123 is used up", "quota_exceeded")


def surprise() -> str:
    raise ValueError("the quota of key-123 is used up")


registry = ToolRegistry()
for handler in (expected, surprise):
    spec = ToolSpec(handler.__name__, "Fail.", object_schema({}), handler)
    registry.register(spec)
    result = registry.dispatch(ToolCall("call_1", handler.__name__, {}))
    print(result.error_code, "key-123" in result.content)
