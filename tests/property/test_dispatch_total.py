"""Dispatch answers whatever arguments come, and its check agrees with an oracle.

Schemas and values are random and reproducible: a failure names its seed.
"""

from __future__ import annotations

import copy
import math
import random

import pytest

from s02_tool_dispatch import code as s02
from tests.tools import Probe

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


# --- Random values: any JSON, what nearly fits a schema, and what is no JSON ---


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


class Hostile:
    """Whatever is asked of it raises."""

    def refuse(self, *args):
        raise RuntimeError("asked")

    __repr__ = __str__ = __eq__ = __len__ = __iter__ = __bool__ = __hash__ = refuse
    __getattr__ = __float__ = __index__ = __lt__ = __gt__ = refuse


class HostileKey:
    """A key that equals nothing and cannot be shown."""

    def refuse(self, *args):
        raise RuntimeError("asked")

    __repr__ = __str__ = refuse


class HostileText(str):
    __eq__ = __ne__ = __str__ = __repr__ = __len__ = Hostile.refuse
    __hash__ = str.__hash__


class HostileNumber(int):
    __lt__ = __gt__ = __eq__ = __repr__ = __str__ = Hostile.refuse
    __hash__ = int.__hash__


def nested(rng, depth):
    value = rng.choice(SCALARS)
    for _ in range(depth):
        value = [value] if rng.random() < 0.5 else {rng.choice(NAMES): value}
    return value


NO_JSON = [
    lambda rng: rng.choice([math.nan, math.inf, -math.inf]),
    lambda rng: nested(rng, rng.choice([101, 150, 1_000, 5_000])),
    lambda rng: rng.choice([b"x", {1}, object(), Hostile, 1j, len]),
    lambda rng: Hostile(),
    lambda rng: {HostileKey(): 1},
    lambda rng: {rng.choice([5, None, (1,), b"a"]): 1},
]
STRANGE = [
    lambda rng: rng.choice(["\ud800", "a\udce9", {"\ud800": 1}, "\0", "x" * 10**6]),
    lambda rng: HostileText("x"),
    lambda rng: HostileNumber(5),
    lambda rng: (1, 2),
]


def planted(rng, value, odd):
    """The value with something odd in a random place of it."""
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = rng.randrange(len(value))
        return [planted(rng, v, odd) if i == place else v for i, v in enumerate(value)]
    if isinstance(value, dict) and value and rng.random() < 0.8:
        place = rng.choice(list(value))
        return {k: planted(rng, v, odd) if k == place else v for k, v in value.items()}
    if isinstance(value, dict):
        return {**value, rng.choice(NAMES): odd}
    return odd


# --- The properties ---


def registry_for(schema):
    probe = Probe()
    registry = s02.ToolRegistry()
    registry.register(s02.ToolSpec("a", "d", schema, probe))
    return registry, probe


def answered(registry, probe, arguments):
    """The error code, after a check that the answer can be sent and is true."""
    probe.got.clear()
    result = registry.dispatch(s02.ToolCall("t1", "a", arguments))
    assert isinstance(result, s02.ToolDispatchResult)
    assert result.content.encode() and len(result.content) <= s02.MAX_RESULT_CHARS
    assert bool(probe.got) == result.ok
    return result.error_code


def each(count):
    """Seeds in groups of twenty: a test for each seed would cost more than it does."""
    return pytest.mark.parametrize(
        "seeds", [range(i, i + 20) for i in range(0, count, 20)]
    )


@each(SCHEMAS)
def test_the_check_agrees_with_jsonschema_on_every_json_value(seeds):
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


@each(SCHEMAS)
def test_valid_arguments_arrive_as_they_came(seeds):
    for seed in seeds:
        rng = random.Random(seed)
        schema = random_root(rng)
        registry, probe = registry_for(schema)
        for _ in range(VALUES):
            value = fitting(rng, schema)
            before = copy.deepcopy(value)
            if answered(registry, probe, value) is None:
                assert probe.got == [before] and value == before, f"seed {seed}"


@each(200)
def test_what_is_no_json_is_refused_wherever_it_is(seeds):
    for seed in seeds:
        rng = random.Random(seed)
        schema = random_root(rng)
        registry, probe = registry_for(schema)
        for odd in NO_JSON:
            arguments = planted(rng, fitting(rng, schema), odd(rng))
            code = answered(registry, probe, arguments)
            assert code == "invalid_arguments", f"seed {seed}"


@each(200)
def test_what_only_looks_like_json_is_answered(seeds):
    for seed in seeds:
        rng = random.Random(seed)
        schema = random_root(rng)
        registry, probe = registry_for(schema)
        for odd in STRANGE:
            arguments = planted(rng, fitting(rng, schema), odd(rng))
            code = answered(registry, probe, arguments)
            assert code in (None, "invalid_arguments"), f"seed {seed}"


def test_values_nested_to_the_limit_agree_with_jsonschema():
    jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")
    rng = random.Random(0)
    for depth in [1, 2, 50, 98, 99]:
        schema = {"type": "object", "properties": {"a": {"items": {"items": {}}}}}
        registry, probe = registry_for(schema)
        value = {"a": nested(rng, depth)}
        assert jsonschema.Draft202012Validator(schema).is_valid(value)
        assert answered(registry, probe, value) is None


def test_every_kind_of_answer_is_met_by_these_values():
    met = {True: 0, False: 0}
    for seed in range(SCHEMAS):
        rng = random.Random(seed)
        schema = random_root(rng)
        check = s02.compile_schema(schema)
        for _ in range(VALUES):
            met[check(fitting(rng, schema)) == []] += 1

    assert min(met.values()) > sum(met.values()) / 5, met


# --- Schemas outside the subset ---

WRONG = [
    *[("pattern", "x"), ("minLength", 1), ("const", 1), ("anyOf", [{}]), ("not", {})],
    *[("$ref", "#"), ("uniqueItems", False), ("multipleOf", 1), ("nullable", True)],
    *[("prefixItems", []), ("patternProperties", {}), ("$defs", {}), ("if", {})],
    *[("exclusiveMinimum", 0), ("propertyNames", {}), ("unknown", None)],
    *[("type", ["string", "null"]), ("type", "int"), ("enum", []), ("enum", None)],
    *[("minimum", "3"), ("maximum", True), ("properties", None), ("required", "abc")],
    *[("items", True), ("items", [{}]), ("additionalProperties", {})],
    *[("required", [1]), ("additionalProperties", 0), ("items", None)],
]


def nodes(schema, path=""):
    """Every schema inside a schema, with its path."""
    yield schema, path
    for name, part in schema.get("properties", {}).items():
        yield from nodes(part, f"{path}properties.{name}.")
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}items.")


@each(400)
def test_a_keyword_outside_the_subset_is_refused_with_its_path(seeds):
    for seed in seeds:
        rng = random.Random(seed)
        schema = random_root(rng)
        s02.compile_schema(schema)
        node, path = rng.choice(list(nodes(schema)))
        keyword, wrong = rng.choice(WRONG)
        node[keyword] = wrong
        with pytest.raises(ValueError) as caught:
            registry_for(schema)
        assert f"{path}{keyword}" in str(caught.value), f"seed {seed}"
