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

SOUND = (
    "from inspect import iscoroutine, iscoroutinefunction\n"
    + GUARD
    + f"""
try:
    returned = tool.run(input)
    if isinstance(returned, Awaitable):
        returned = await returned
except Exception as error:
    {FAILED.strip()}
return returned if isinstance(returned, ToolResult) else ToolResult(True, returned)
"""
)


def changed(old, new):
    """The right lines with some of them changed; the change must find its place."""
    assert old in SOUND, old
    return SOUND.replace(old, new)


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
    "an unknown tool is whatever raises a KeyError": (
        FAILURES,
        f"""
try:
    returned = self._tools[name].run(input)
    if isinstance(returned, Awaitable):
        returned = await returned
except KeyError:
    return ToolResult(ok=False, error=ToolError(TOOL_NOT_FOUND, "no such tool"))
except Exception:
    {FAILED.strip()}
return returned if isinstance(returned, ToolResult) else ToolResult(True, returned)
""",
    ),
    "everything is awaited, and a TypeError means that it was plain": (
        FAILURES,
        GUARD
        + f"""
try:
    returned = tool.run(input)
    try:
        returned = await returned
    except TypeError:
        pass
except Exception:
    {FAILED.strip()}
return returned if isinstance(returned, ToolResult) else ToolResult(True, returned)
""",
    ),
    "the function is asked whether it is async": (
        FAILURES,
        changed("isinstance(returned, Awaitable)", "iscoroutinefunction(tool.run)"),
    ),
    "only coroutines are awaited": (
        FAILURES,
        changed("isinstance(returned, Awaitable)", "iscoroutine(returned)"),
    ),
    "a ToolResult that is ok is wrapped again": (
        FAILURES,
        changed(
            "if isinstance(returned, ToolResult)",
            "if isinstance(returned, ToolResult) and not returned.ok",
        ),
    ),
    "the beginning of the exception's text will do no harm": (
        FAILURES,
        changed('"it failed"', "str(error)[:30]"),
    ),
    "nothing is a failure": (
        FAILURES,
        changed("return returned if", f"if not returned:{FAILED}return returned if"),
    ),
    "nothing is None": (
        FAILURES,
        changed("ToolResult(True, returned)", "ToolResult(True, returned or None)"),
    ),
    "an async tool runs twice": (
        FAILURES,
        changed(
            "returned = tool.run(input)", "tool.run(input); returned = tool.run(input)"
        ),
    ),
    "an exception is data": (
        FAILURES,
        changed(
            "return ToolResult(ok=False, error=ToolError(TOOL_EXECUTION",
            "return ToolResult(ok=False, data=error, error=ToolError(TOOL_EXECUTION",
        ),
    ),
}

RIGHTS = {
    "else, and inspect": """
import inspect

if name not in self._tools:
    return ToolResult(False, None, ToolError(TOOL_NOT_FOUND, "no such tool"))
try:
    value = self._tools[name].run(input)
    value = await value if inspect.isawaitable(value) else value
except Exception:
    error = ToolError(TOOL_EXECUTION_FAILED, "something went wrong inside the tool")
else:
    if not isinstance(value, ToolResult):
        value = ToolResult(True, value)
    return value
return ToolResult(False, error=error)
""",
    "match, and a result that is put together at the end": """
ok, value, failure = True, None, None
match self._tools.get(name):
    case None:
        ok, failure = False, ToolError(TOOL_NOT_FOUND, f"{name}?")
    case Tool(run=run):
        try:
            value = run(input)
            if hasattr(value, "__await__"):
                value = await value
        except BaseException as error:
            ok, value = False, None
            failure = ToolError(TOOL_EXECUTION_FAILED, type(error).__name__)
if isinstance(value, ToolResult):
    return value
return ToolResult(ok, value, failure)
""",
}
