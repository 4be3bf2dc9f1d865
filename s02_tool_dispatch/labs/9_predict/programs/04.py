"""A handler finds nothing, and returns a text that begins with the word Error."""

from s02_tool_dispatch.code import ToolCall, ToolRegistry, ToolSpec, object_schema


def find() -> str:
    return "Error: nothing found"


registry = ToolRegistry()
registry.register(ToolSpec("find", "Find.", object_schema({}), find))

block = registry.dispatch(ToolCall("call_1", "find", {})).to_protocol_block()
print("is_error" in block)
