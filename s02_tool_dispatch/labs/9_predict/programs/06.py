"""A handler ends the program, or tries to."""

import sys

from s02_tool_dispatch.code import ToolCall, ToolRegistry, ToolSpec, object_schema

registry = ToolRegistry()
registry.register(ToolSpec("leave", "Leave.", object_schema({}), lambda: sys.exit(3)))

result = registry.dispatch(ToolCall("call_1", "leave", {}))
print(result.error_code or "ok", "and on")
