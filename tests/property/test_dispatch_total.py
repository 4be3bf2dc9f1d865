"""Dispatch answers whatever JSON comes, and its check agrees with an oracle.

Schemas and values are random and reproducible: a failure names its seed.
"""

from __future__ import annotations

import copy
import random

import pytest

from s02_tool_dispatch import code as s02
from tests.tools import Probe, registry_of

SCHEMAS = 400
VALUES = 12  # for each schema
NAMES = ["a", "b", "c", "type", "items", "", "\u4f60", "a.b"]
NUMBERS = [0, 1, -1, 2, 5, 1.0, -0.0, 0.5, 5.5, 1e300, 2**53, 2**53 + 1, 10**400]
SCALARS = [*NUMBERS, True, False, None, "", "a", "5", "true", "\u4f60", "null"]
TYPES = ["string", "integer", "number", "boolean", "object", "array", "null"]


# --- Random schemas of the subset ---


def random_schema(rng, depth=0):
    """Any schema of the subset, most of them small."""
    schema = {}
    if rng.random() < 0.7:
        schema["type"] = rng.choice(TYPES)
    if rng.random() < 0.15:
        schema["enum"] = [random_json(rng, 2) for _ in range(rng.randint(1, 4))]
    for bound in ("minimum", "maximum"):
        if rng.random() < 0.15:
            schema[bound] = rng.choice(NUMBERS)
    if depth < 4 and rng.random() < 0.4:
        schema["items"] = random_schema(rng, depth + 1)
    if depth < 4 and rng.random() < 0.5:
        add_properties(rng, schema, depth)
    if rng.random() < 0.1:
        schema[rng.choice(["title", "format", "default", "$comment"])] = "email"
    return schema


def add_properties(rng, schema, depth):
    names = rng.sample(NAMES, rng.randint(0, 3))
    schema["properties"] = {name: random_schema(rng, depth + 1) for name in names}
    if rng.random() < 0.5:
        schema["additionalProperties"] = rng.random() < 0.3
    if rng.random() < 0.5:
        is_closed = schema.get("additionalProperties") is False
        known = names if is_closed else [*names, "other"]
        schema["required"] = rng.sample(known, rng.randint(0, len(known)))


def random_root(rng):
    schema = {"type": "object"}
    add_properties(rng, schema, 0)
    return schema


# --- Random values: any JSON, and what nearly fits a schema ---


def random_json(rng, depth=4):
    if depth == 0 or rng.random() < 0.6:
        return rng.choice(SCALARS)
    size = rng.randint(0, 3)
    if rng.random() < 0.5:
        return [random_json(rng, depth - 1) for _ in range(size)]
    return {rng.choice(NAMES): random_json(rng, depth - 1) for _ in range(size)}


def fitting(rng, schema, depth=0):
    """A value that fits the schema more often than not."""
    if rng.random() < 0.08 or depth > 8:
        return random_json(rng, 2)
    if "enum" in schema:
        return copy.deepcopy(rng.choice(schema["enum"]))
    kind = schema.get("type") or rng.choice(TYPES)
    if kind == "object":
        return fitting_object(rng, schema, depth)
    if kind == "array":
        items = schema.get("items", {})
        return [fitting(rng, items, depth + 1) for _ in range(rng.randint(0, 3))]
    fits = {
        **{"string": ["", "a", "5", "\u4f60"], "boolean": [True, False]},
        **{"integer": [0, 1, 5.0, 10**400], "number": NUMBERS, "null": [None]},
    }
    return rng.choice(fits[kind])


def fitting_object(rng, schema, depth):
    properties = schema.get("properties", {})
    names = [name for name in properties if rng.random() < 0.6]
    names += [name for name in schema.get("required", []) if rng.random() < 0.95]
    if rng.random() < 0.15:
        names.append(rng.choice(NAMES))
    part = dict.fromkeys(names)
    return {n: fitting(rng, properties.get(n, {}), depth + 1) for n in part}


# --- The properties ---


def registry_for(schema):
    probe = Probe()
    return registry_of(s02.ToolSpec("a", "d", schema, probe)), probe


def answered(registry, probe, arguments):
    """The error code, after a check that valid arguments arrive as they came."""
    before = copy.deepcopy(arguments)
    probe.got.clear()
    result = registry.dispatch(s02.ToolCall("t1", "a", arguments))
    assert result.content.encode() and len(result.content) <= s02.MAX_RESULT_CHARS
    assert probe.got == [before] * result.ok and arguments == before
    return result.error_code


EACH = [range(i, i + 20) for i in range(0, SCHEMAS, 20)]  # a test each would cost more


@pytest.mark.parametrize("seeds", EACH)
def test_the_check_agrees_with_jsonschema_and_what_is_valid_arrives_as_it_came(seeds):
    jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")
    for seed in seeds:
        rng = random.Random(seed)
        schema = random_root(rng)
        oracle = jsonschema.Draft202012Validator(schema)
        registry, probe = registry_for(schema)
        for number in range(VALUES):
            value = fitting(rng, schema) if number % 4 else random_json(rng)
            code = answered(registry, probe, value)
            right = None if oracle.is_valid(value) else "invalid_arguments"
            assert code == right, f"seed {seed}: {schema} {value}"


def test_every_kind_of_answer_is_met_by_these_values():
    met = {True: 0, False: 0}
    for seed in range(SCHEMAS):
        rng = random.Random(seed)
        schema = random_root(rng)
        check = s02.compile_schema(schema)
        for _ in range(VALUES):
            met[check(fitting(rng, schema)) == []] += 1

    assert min(met.values()) > sum(met.values()) / 5, met
