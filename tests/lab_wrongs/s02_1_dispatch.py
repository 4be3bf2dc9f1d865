"""Wrong solutions of lab 1; the format is in README.md."""

UNKNOWN = "test_an_unknown_tool_is_a_result_and_no_tool_runs"
FAILURES = "test_whatever_a_tool_does_is_a_result_and_the_next_call_works"
STARTER_FAILS = {UNKNOWN, FAILURES}

GUARD = """
tool = self._tools.get(name)
if tool is None:
    return ToolResult(ok=False, error=ToolError(TOOL_NOT_FOUND, f"no {name}"))
"""
FAILED = """
    return ToolResult(ok=False, error=ToolError(TOOL_EXECUTION_FAILED, "it failed"))
"""

WRONGS = {
    "an unknown name is called a failed tool": (
        UNKNOWN,
        f"""
try:
    returned = self._tools[name].run(input)
    if isinstance(returned, Awaitable):
        returned = await returned
except Exception as error:
    {FAILED.strip()}
return returned if isinstance(returned, ToolResult) else ToolResult(True, returned)
""",
    ),
    "a name is guessed": (
        UNKNOWN,
        """
tool = self._tools.get(name.lower()) or next(iter(self._tools.values()))
return ToolResult(ok=True, data=tool.run(input))
""",
    ),
    "nothing is caught": (
        FAILURES,
        GUARD
        + """
returned = tool.run(input)
if isinstance(returned, Awaitable):
    returned = await returned
return returned if isinstance(returned, ToolResult) else ToolResult(True, returned)
""",
    ),
    "awaited after the guard": (
        FAILURES,
        GUARD
        + f"""
try:
    returned = tool.run(input)
except Exception:
    {FAILED.strip()}
if isinstance(returned, Awaitable):
    returned = await returned
return returned if isinstance(returned, ToolResult) else ToolResult(True, returned)
""",
    ),
    "a coroutine is handed out": (
        FAILURES,
        GUARD
        + f"""
try:
    returned = tool.run(input)
except Exception:
    {FAILED.strip()}
if hasattr(returned, "close"):
    returned.close()
return returned if isinstance(returned, ToolResult) else ToolResult(True, returned)
""",
    ),
    "a failure of the tool's own becomes data": (
        FAILURES,
        GUARD
        + f"""
try:
    returned = tool.run(input)
    if isinstance(returned, Awaitable):
        returned = await returned
except Exception:
    {FAILED.strip()}
return ToolResult(ok=True, data=returned)
""",
    ),
    "the exception's text goes to the model": (
        FAILURES,
        GUARD
        + """
try:
    returned = tool.run(input)
    if isinstance(returned, Awaitable):
        returned = await returned
except Exception as error:
    return ToolResult(False, error=ToolError(TOOL_EXECUTION_FAILED, str(error)))
return returned if isinstance(returned, ToolResult) else ToolResult(True, returned)
""",
    ),
}
