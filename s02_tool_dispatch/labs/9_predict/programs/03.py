"""The model spells a tool's name with other letters than the registry does."""

from s02_tool_dispatch.code import ToolCall, ToolRegistry, ToolSpec, object_schema

ran = []
registry = ToolRegistry()
for name in ("read_file", "write_file"):
    spec = ToolSpec(name, "A tool.", object_schema({}), lambda: ran.append(1))
    registry.register(spec)

result = registry.dispatch(ToolCall("call_1", "Read_File", {}))
print(result.error_code or "ok", len(ran))
