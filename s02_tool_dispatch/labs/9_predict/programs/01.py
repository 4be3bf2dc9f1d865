"""The schema wants an integer, and the model sends a text that looks like one."""

from s02_tool_dispatch.code import ToolCall, ToolRegistry, ToolSpec, object_schema

ran = []
schema = object_schema({"seconds": {"type": "integer"}}, ["seconds"])
registry = ToolRegistry()
registry.register(
    ToolSpec("wait", "Wait.", schema, lambda seconds: ran.append(seconds))
)

result = registry.dispatch(ToolCall("call_1", "wait", {"seconds": "5"}))
print(result.error_code or "ok", len(ran))
