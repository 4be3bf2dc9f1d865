"""Lab 1: four tests; the first two pass before you begin."""

import asyncio
import inspect

SECRET = "postgres://admin:hunter2@db/prod"


def registry_of(lab, *runs):
    """A registry with one tool per function, named after the function."""
    registry = lab.ToolRegistry()
    for run in runs:
        schema = {"type": "object", "properties": {}}
        registry.register(lab.Tool(run.__name__, f"{run.__name__}!", schema, run))
    return registry


def add(input):
    return input["a"] + input["b"]


async def add_later(input):
    await asyncio.sleep(0)
    return input["a"] + input["b"]


def hand_on(input):
    """Plain to look at; what it returns has to be awaited all the same."""
    return asyncio.ensure_future(add_later(input))


def crash(input):
    raise KeyError(f"cannot reach {SECRET}")


async def crash_later(input):
    await asyncio.sleep(0)
    raise TypeError(f"cannot reach {SECRET}")


def test_the_tools_are_listed_sorted_and_as_copies(lab, expect):
    registry = registry_of(lab, crash, add)
    registry.definitions()[0]["input_schema"]["type"] = "changed"

    listed = [(d["name"], d["input_schema"]["type"]) for d in registry.definitions()]
    wanted = [("add", "object"), ("crash", "object")]
    expect("registry.definitions()", listed, wanted, "this part was given: restore it")


def test_a_name_is_taken_once(lab, expect):
    registry = registry_of(lab, add)
    try:
        came = registry.register(lab.Tool("add", "another", {}, crash))
    except ValueError as error:
        came = str(error)

    called = "registry.register(...) with a name that is taken"
    expect(called, came, "duplicate tool: add", "this part was given: restore it")


def test_an_unknown_tool_is_a_result_and_no_tool_runs(lab, expect):
    ran = []
    registry = registry_of(lab, ran.append, add)
    came = asyncio.run(registry.dispatch("Add", {"a": 1, "b": 2}))

    called = 'dispatch("Add", ...), where only "add" and "append" exist'
    advice = "look the name up exactly; if it is not there, return at once"
    code = came.error.code if isinstance(came, lab.ToolResult) and came.error else came
    expect(called, code, lab.TOOL_NOT_FOUND, advice)
    expect(called, (came.ok, came.data), (False, None), "ok is False and data is None")
    expect("what ran meanwhile", ran, [], "run nothing but the tool that was named")


def test_whatever_a_tool_does_is_a_result_and_the_next_call_works(lab, expect):
    own = lab.ToolResult(ok=False, error=lab.ToolError("QUOTA_USED_UP", "3 of 3"))
    said = lab.ToolResult(ok=True, data="all of it")
    ran = []

    def refuse(input):
        return own

    async def say(input):
        return said

    def give(input):
        ran.append(input)
        return input["a"]

    registry = registry_of(
        lab, crash, add, crash_later, add_later, hand_on, refuse, say, give
    )
    before = registry.definitions()
    failed = lab.TOOL_EXECUTION_FAILED
    summed = lab.ToolResult(ok=True, data=3)
    for name, wanted, advice in [
        ("crash", failed, "catch what the tool raises, and say that the tool failed"),
        ("add", summed, "after a failure the next call works: put what came in data"),
        ("crash_later", failed, "await inside the try; any exception is a failure"),
        ("add_later", summed, "an async tool returns an Awaitable: await it"),
        ("hand_on", summed, "ask the value, not the function, if it is an Awaitable"),
        ("refuse", own, "a tool that returns a ToolResult has said it all: keep it"),
        ("say", said, "a ToolResult is kept as it is, also one that is ok"),
    ]:
        probe(lab, expect, registry, name, {"a": 1, "b": 2}, wanted, advice)
    for value in (0, "", [], None, False):
        wanted = lab.ToolResult(ok=True, data=value)
        advice = "a value that counts as false is a value: put it in data"
        probe(lab, expect, registry, "give", {"a": value}, wanted, advice)
    expect("the calls that `give` got", len(ran), 5, "run a tool once for each call")
    unchanged = "dispatch changes nothing in the registry"
    expect("definitions(), again", registry.definitions(), before, unchanged)


def probe(lab, expect, registry, name, input, wanted, advice):
    """Dispatch one call; `wanted` is the code of a failure or a whole ToolResult."""
    called = f'dispatch("{name}", {input})'
    try:
        came = asyncio.run(registry.dispatch(name, input))
    except (KeyError, TypeError) as error:
        if SECRET not in str(error):  # the reader's own, not the tool's
            raise
        came = error
    if isinstance(came, lab.ToolResult) and inspect.isawaitable(came.data):
        advice = "data is still to be awaited: " + advice
    if isinstance(wanted, lab.ToolResult):
        expect(called, came, wanted, advice, holds=repr(came) == repr(wanted))
        return
    expect(called, came, "a ToolResult", advice, holds=isinstance(came, lab.ToolResult))
    code = came.error.code if came.error else None
    expect(called, (came.ok, came.data, code), (False, None, wanted), advice)
    text = f"cannot reach {SECRET}"
    pieces = {text[n : n + 6] for n in range(len(text) - 5)}
    safe = "a message without any piece of the exception's own text"
    advice = "name the type and a fixed sentence: the model reads this"
    holds = came.error.message.strip() and not any(p in repr(came) for p in pieces)
    expect(called, came, safe, advice, holds=holds)
