"""A field may be left out. The model does not leave it out, but sends null for it."""

from s02_tool_dispatch.code import ToolCall, ToolRegistry, ToolSpec, object_schema


def read(path: str, limit: int = 2000) -> str:
    return f"{path} {limit}"


schema = object_schema(
    {"path": {"type": "string"}, "limit": {"type": "integer"}}, ["path"]
)
registry = ToolRegistry()
registry.register(ToolSpec("read", "Read.", schema, read))

for arguments in ({"path": "a"}, {"path": "a", "limit": None}):
    result = registry.dispatch(ToolCall("call_1", "read", arguments))
    print(result.error_code or result.content)
