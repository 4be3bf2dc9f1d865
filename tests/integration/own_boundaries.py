"""Boundaries as readers write them: two that are right, and many wrong in one way.

Each function here is a `build(tools) -> run(blocks)` and uses none of our code. The
first right one is serial and checks by hand; the wrong ones change one thing of it, or
are written from scratch in a style of their own.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from copy import deepcopy

TYPES = {"string": str, "integer": int, "array": list, "object": dict}


def answer(use, text, is_error=False):
    block = {"type": "tool_result", "tool_use_id": use["id"], "content": text}
    return {**block, "is_error": True} if is_error else block


def problem(schema, value, where="input"):
    """The first thing that is wrong with a value, or nothing."""
    if type(value) is not TYPES[schema["type"]]:
        return f"{where} is not of type {schema['type']}"
    if value not in schema.get("enum", [value]):
        return f"{where} is none of {schema['enum']}"
    if isinstance(value, list):
        found = (problem(schema["items"], v, f"{where} item") for v in value)
        return next(filter(None, found), None)
    if isinstance(value, dict):
        known = schema["properties"]
        wrong = [*(set(value) - set(known)), *(set(schema["required"]) - set(value))]
        if wrong:
            return f"{where}: {wrong[0]} is missing or unknown"
        return next(filter(None, (problem(known[k], value[k], k) for k in value)), None)
    return None


def keywords(schema):
    """Every keyword of a schema, at any depth."""
    parts = [*schema.get("properties", {}).values(), schema.get("items", {})]
    return set(schema).union(*(keywords(part) for part in parts if part))


UNDERSTOOD = {"type", "properties", "required", "additionalProperties", "enum", "items"}


# --- Right: serial, by hand ---


class ByHand:
    """Look up, check, call, make sendable; each step can be changed."""

    def __init__(self, tools):
        self.tools = {}
        for tool in tools:
            self.add(tool)

    def add(self, tool):
        if tool.name in self.tools or keywords(tool.input_schema) - UNDERSTOOD:
            raise LookupError(f"{tool.name} is taken, or its schema is not understood")
        self.tools[tool.name] = (deepcopy(tool.input_schema), tool.handler)

    def __call__(self, blocks):
        return [self.one(use) for use in blocks]

    def find(self, name):
        return self.tools.get(name)

    def one(self, use):
        found = self.find(use["name"])
        if not found:
            return answer(use, "There is no such tool.", True)
        schema, handler = found
        if wrong := self.check(schema, use["input"]):
            return answer(use, wrong, True)
        try:
            return answer(use, self.text(handler(**use["input"])))
        except (Exception, SystemExit) as error:
            return answer(use, self.told(error), True)

    def check(self, schema, value):
        return problem(schema, value)

    def text(self, result):
        if inspect.isawaitable(result):
            result.close()
            raise TypeError("async tools are not for this agent")
        text = result if isinstance(result, str) else json.dumps(result)
        return text.encode("utf-8", "replace").decode()[:20_000]

    def told(self, error):
        return f"The tool failed ({type(error).__name__})."


# --- Right: asyncio, everything at once, lists of text blocks, twins are renamed ---


def all_at_once(tools):
    registered = {}
    for tool in tools:
        name = tool.name
        while name in registered:
            name += "_2"
        registered[name] = (json.dumps(tool.input_schema), tool.handler)

    async def call(use):
        try:
            schema, handler = registered[use["name"]]
            value = use["input"]
            fault = problem(json.loads(schema), value)
            patterns = re.findall(r'"pattern": "([^"]+)"', schema)
            if fault or not all(re.search(p, str(value)) for p in patterns):
                raise KeyError
        except KeyError:
            return True, "no such tool, or these are no arguments for it"
        try:
            result = await asyncio.to_thread(handler, **value)
            result = await result if inspect.isawaitable(result) else result
        except BaseException as error:
            return True, f"failed: {type(error).__name__}"
        text = str(result)
        return False, text if len(text) < 9_999 else f"{text[:9_999]!a} (cut)"

    async def turn(blocks):
        return await asyncio.gather(*map(call, blocks))

    def run(blocks):
        answers = zip(blocks, asyncio.run(turn(blocks)), strict=True)
        return [
            {
                "type": "tool_result",
                "tool_use_id": use["id"],
                "is_error": failed,
                "content": [{"type": "text", "text": ascii(text)}],
            }
            for use, (failed, text) in answers
        ]

    return run


# --- Wrong, from scratch ---


def dict_of_functions(tools):
    functions = {tool.name: tool.handler for tool in tools}

    def run(blocks):
        results = []
        for block in blocks:
            try:
                result = functions[block["name"]](**block["input"])
                results.append(answer(block, str(result)))
            except Exception as e:
                results.append(answer(block, str(e), True))
        return results

    return run


def error_returned_as_success(tools):
    functions = {tool.name: tool.handler for tool in tools}

    def call(name, arguments):
        if name not in functions:
            return f"Error: unknown tool {name}"
        try:
            return str(functions[name](**arguments))
        except Exception as e:
            return f"Error: {e}"

    return lambda blocks: [answer(b, call(b["name"], b["input"])) for b in blocks]


def pool_with_as_completed(tools):
    one = ByHand(tools).one

    def run(blocks):
        with ThreadPoolExecutor() as pool:
            done = as_completed([pool.submit(one, block) for block in blocks])
            return [future.result() for future in done]

    return run


def one_result_for_two_calls(tools):
    one = ByHand(tools).one

    def run(blocks):
        return [*{use["name"]: one(use) for use in blocks}.values()]

    return run


def results_by_id(tools):
    one = ByHand(tools).one
    return lambda blocks: {use["id"]: one(use)["content"] for use in blocks}


def set_in_a_block(tools):
    one = ByHand(tools).one
    return lambda blocks: [{**one(use), "tags": {"a"}} for use in blocks]


def stops_at_the_first_error(tools):
    one = ByHand(tools).one

    def run(blocks):
        results = []
        for use in blocks:
            results.append(one(use))
            if results[-1].get("is_error"):
                break
        return results

    return run


# --- Wrong: one step of the first right one is changed ---


class IdsFromACounter(ByHand):
    count = 0

    def one(self, use):
        self.count += 1
        return super().one({**use, "id": f"toolu_{self.count}"})


class JsonLoadsOfAString(ByHand):
    def one(self, use):
        if isinstance(use["input"], str):
            use = {**use, "input": json.loads(use["input"])}
        return super().one(use)


class Coercion(ByHand):
    def check(self, schema, value):
        for name, part in schema["properties"].items():
            if part["type"] == "integer" and str(value.get(name)).isdigit():
                value[name] = int(value[name])
        return super().check(schema, value)


class MissingIsNone(ByHand):
    def check(self, schema, value):
        value |= {k: 0 for k in schema["required"] if k not in value}
        return super().check(schema, value)


class ExtraDropped(ByHand):
    def check(self, schema, value):
        for name in {*value} - {*schema["properties"]}:
            del value[name]
        return super().check(schema, value)


class IsinstanceOfInt(ByHand):
    def check(self, schema, value):
        if isinstance(value, dict):
            value = {k: int(v) if isinstance(v, bool) else v for k, v in value.items()}
        return super().check(schema, value)


class FlatCheck(ByHand):
    def check(self, schema, value):
        flat = {k: {"type": v["type"]} for k, v in schema["properties"].items()}
        strings = {k: v for k, v in flat.items() if v["type"] in ("string", "integer")}
        kept = {k: v for k, v in value.items() if k in strings or k not in flat}
        required = [k for k in schema["required"] if k in strings]
        return super().check(
            {"type": "object", "properties": strings, "required": required}, kept
        )


class NamesInAnyCase(ByHand):
    def find(self, name):
        return super().find(name.strip().lower())


class TextOfTheException(ByHand):
    def told(self, error):
        return f"Error: {error}"


class CatchesExceptionOnly(ByHand):
    def one(self, use):
        block = super().one(use)
        if "SystemExit" in block["content"]:
            raise SystemExit
        return block


class CoroutineAsText(ByHand):
    def text(self, result):
        if inspect.isawaitable(result):
            result.close()
            return str(result)
        return super().text(result)


class BlankError(ByHand):
    def told(self, error):
        return str(error) and super().told(error)


class TextAsItIs(ByHand):
    def text(self, result):
        return result if isinstance(result, str) else super().text(result)


class ResultAsItIs(ByHand):
    def text(self, result):
        return result if isinstance(result, int) else super().text(result)


class NoBound(ByHand):
    def text(self, result):
        return result if str(result).startswith("xxx") else super().text(result)


class LastRegistrationWins(ByHand):
    def add(self, tool):
        self.tools.pop(tool.name, None)
        super().add(tool)


class KeywordIgnored(ByHand):
    def add(self, tool):
        self.tools.setdefault(tool.name, (deepcopy(tool.input_schema), tool.handler))


class SharedSchema(ByHand):
    def add(self, tool):
        super().add(tool)
        self.tools[tool.name] = (tool.input_schema, tool.handler)


# --- What they do to the process they run in ---


class Hangs(ByHand):
    def __call__(self, blocks):
        threading.Event().wait()


class CallsSysExit(ByHand):
    def __call__(self, blocks):
        sys.exit(0)


class CallsOsExit(ByHand):
    def __call__(self, blocks):
        os._exit(3)


class Forks(ByHand):
    def __call__(self, blocks):
        os.fork()
        return super().__call__(blocks)


class RefusesAll(ByHand):
    def add(self, tool):
        raise ValueError("not today")


class Prints(ByHand):
    def one(self, use):
        print("calling", use["name"])
        return super().one(use)


class ClosesStdout(ByHand):
    def one(self, use):
        sys.stdout.close()
        return super().one(use)


class StartsThreads(ByHand):
    def one(self, use):
        threading.Thread(target=threading.Event().wait).start()
        return super().one(use)
