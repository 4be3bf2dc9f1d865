"""The schema wants an integer: once the model sends 5.0, once it sends true."""

from s02_tool_dispatch.code import ToolCall, ToolRegistry, ToolSpec, object_schema

schema = object_schema({"seconds": {"type": "integer"}}, ["seconds"])
registry = ToolRegistry()
registry.register(ToolSpec("wait", "Wait.", schema, lambda seconds: "waited"))

for seconds in (5.0, True):
    result = registry.dispatch(ToolCall("call_1", "wait", {"seconds": seconds}))
    print(result.error_code or "ok")
