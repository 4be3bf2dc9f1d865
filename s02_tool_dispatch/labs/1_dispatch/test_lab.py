"""Lab 1: four tests; the first two pass before you begin."""

import asyncio

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


def crash(input):
    raise ConnectionError(f"cannot reach {SECRET}")


async def crash_later(input):
    await asyncio.sleep(0)
    raise ConnectionError(f"cannot reach {SECRET}")


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

    def refuse(input):
        return own

    registry = registry_of(lab, crash, add, crash_later, add_later, refuse)
    before = registry.definitions()
    for name, wanted, advice in [
        ("crash", lab.TOOL_EXECUTION_FAILED, "catch what the tool raises"),
        ("add", 3, "after a failure the next call works: put what came in data"),
        (
            "crash_later",
            lab.TOOL_EXECUTION_FAILED,
            "await inside the try, not after it",
        ),
        ("add_later", 3, "an async tool returns an Awaitable: await it"),
        ("refuse", own, "a tool that returns a ToolResult has said it all: keep it"),
    ]:
        probe(lab, expect, registry, name, wanted, advice)
    unchanged = "dispatch changes nothing in the registry"
    expect("definitions(), again", registry.definitions(), before, unchanged)


def probe(lab, expect, registry, name, wanted, advice):
    """Dispatch one call; `wanted` is a code, a ToolResult or the data."""
    called = f'dispatch("{name}", {{"a": 1, "b": 2}})'
    try:
        came = asyncio.run(registry.dispatch(name, {"a": 1, "b": 2}))
    except ConnectionError as error:
        came = error
    expect(called, came, "a ToolResult", advice, holds=isinstance(came, lab.ToolResult))
    if isinstance(wanted, lab.ToolResult):
        expect(called, came, wanted, advice)
    elif isinstance(wanted, str):
        expect(called, (came.ok, came.error.code), (False, wanted), advice)
        safe = "a message without the exception's own text"
        advice = "name the type and a fixed sentence: the model reads this"
        holds = came.error.message.strip() and SECRET not in repr(came)
        expect(called, came, safe, advice, holds=holds)
    else:
        expect(called, (came.ok, came.data), (True, wanted), advice)
