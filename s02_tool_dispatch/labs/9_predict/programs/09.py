"""Somebody changes what the registry handed out, and then the schema it was given."""

from s02_tool_dispatch.code import ToolCall, ToolRegistry, ToolSpec, object_schema

schema = object_schema({"path": {"type": "string"}}, ["path"])
registry = ToolRegistry()
registry.register(ToolSpec("read", "Read.", schema, lambda path="": f"read {path}"))

registry.get("read")["input_schema"]["required"].clear()
registry.definitions()[0]["name"] = "write"
schema["required"].clear()

result = registry.dispatch(ToolCall("call_1", "read", {}))
print(result.error_code or result.content)
