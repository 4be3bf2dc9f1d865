"""Three calls in one turn. Two of them fail, and not all may run side by side."""

from s02_tool_dispatch.code import ToolCall, ToolRegistry, ToolSpec, object_schema

log = []


def write() -> str:
    log.append("write")
    raise OSError("disk full")


registry = ToolRegistry()
none = object_schema({})
registry.register(ToolSpec("write", "Write.", none, write))
registry.register(
    ToolSpec("read", "Read.", none, lambda: log.append("read"), concurrent_safe=True)
)

calls = [
    ToolCall(f"call_{i}", name, {}) for i, name in enumerate(["write", "rm", "read"])
]
for result in registry.dispatch_many(calls):
    print(result.error_code or "ok")
print(*log)
