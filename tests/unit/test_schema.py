"""What a compiled schema lets through and refuses: tables derived by hand.

Source of the meanings: JSON Schema draft 2020-12, core and validation vocabulary.
Most rows give a schema for one property, `v`, and values for it.
"""

from __future__ import annotations

import copy
import itertools
import math

import pytest

from s02_tool_dispatch import code as s02

BIG = 10**400
TEXT = {"type": "string"}


def of(schema, required=()):
    """A closed object with one property, v."""
    return s02.object_schema({"v": schema}, required)


def of_open(schema):
    """The same, but open."""
    return {"type": "object", "properties": {"v": schema}}


def problems(schema, value):
    """What is wrong with v."""
    return s02.compile_schema(of(schema))({"v": value})


def refusal(schema):
    """Why the schema is refused."""
    with pytest.raises(ValueError) as caught:
        s02.compile_schema(schema)
    return str(caught.value)


# --- Types ---

TYPED = {  # values, by the narrowest type that they have
    **{"string": ["x", "", "5"], "integer": [5, 0, -1, 5.0, -0.0, 1e300, BIG]},
    **{"number": [5.5, 5e-324], "boolean": [True, False], "null": [None]},
    **{"array": [[], [1, "x"]], "object": [{}, {"a": 1}]},
}


@pytest.mark.parametrize("wanted", TYPED)
@pytest.mark.parametrize("has", TYPED)
def test_a_value_has_the_type_or_is_refused_by_it(wanted, has):
    for value in TYPED[has]:
        said = problems({"type": wanted}, value)
        if wanted == has or (wanted, has) == ("number", "integer"):
            assert said == []
        else:
            assert said[0].startswith(("v must be a ", "v must be an "))
            assert f" {wanted}, got " in said[0]
        assert problems({}, value) == []


# --- Equality: an enum with one value, and a value that is it or is not ---

EQUAL = [
    *[(1, 1.0), (0, -0.0), (2**53, float(2**53)), ([1, [2]], [1.0, [2.0]]), ([], [])],
    *[(None, None), (True, True), ("caf\u00e9", "caf\u00e9")],
    ({"a": 1, "b": [None]}, {"b": [None], "a": 1.0}),
]
DIFFERENT = [
    *[(1, True), (0, False), (1.0, True), (1, "1"), (None, False), (None, 0)],
    *[("", None), ({}, []), ("a", ["a"]), ([1], [True]), ([[0]], [[False]])],
    *[([1, 2], [2, 1]), ([1], [1, 1]), ({"a": 1}, {"a": True})],
    ({"a": 1}, {"a": 1, "b": 1}),
    (2**53 + 1, float(2**53)),  # compared exactly, not as floats
    ("e\u0301", "\u00e9"),  # composed otherwise
]


@pytest.mark.parametrize("one, other", EQUAL)
def test_equal_values_are_one_value_of_an_enum(one, other):
    assert problems({"enum": [one]}, other) == problems({"enum": [other]}, one) == []
    assert problems({"enum": ["z", one]}, other) == []


@pytest.mark.parametrize("one, other", DIFFERENT)
def test_different_values_are_refused_by_an_enum(one, other):
    for allowed, given in [(one, other), (other, one)]:
        said = problems({"enum": ["z", allowed]}, given)
        assert len(said) == 1 and said[0].startswith("v must be one of")


def test_type_and_enum_must_both_hold():
    schema = {"type": "integer", "enum": [1, 2.5, "x", True]}
    refused = [bool(problems(schema, value)) for value in [1, 1.0, 2.5, "x", True, 2]]

    assert refused == [False, False, True, True, True, True]


# --- Bounds: the keyword, its value, what fits, what does not ---


@pytest.mark.parametrize(
    "keyword, bound, fits, misses",
    [
        ("minimum", 3, [3, 3.0, 4, BIG, 1e300], [2, 2.999, -BIG, -1e300]),
        ("maximum", 3, [3, 3.0, 2, -BIG], [4, 3.0000001, BIG]),
        ("minimum", 0.5, [0.5, 1], [0, 0.49]),
        ("minimum", 0, [0, -0.0, 1], [-1, -5e-324]),
        ("maximum", -1.5, [-1.5, -2], [-1, 0]),
        ("minimum", 2**53 + 1, [2**53 + 1], [2**53, float(2**53)]),
        ("maximum", BIG, [BIG, 1e308], [BIG + 1]),
        ("minimum", 3.0, [3], [2]),
    ],
)
def test_a_bound_includes_itself_and_is_exact(keyword, bound, fits, misses):
    assert [problems({keyword: bound}, value) for value in fits] == [[]] * len(fits)
    for value in misses:
        said = problems({keyword: bound}, value)
        assert len(said) == 1 and said[0].startswith("v must be at ")


@pytest.mark.parametrize("value", ["x", "", None, True, False, [], [0], {}, {"a": 0}])
@pytest.mark.parametrize("keyword", [{"minimum": 2}, {"maximum": -2}])
def test_a_bound_says_nothing_about_what_is_no_number(keyword, value):
    assert problems(keyword, value) == []


# --- Objects and arrays ---

NUMBERS = {"type": "array", "items": {"type": "integer"}}
POINT = {"properties": {"x": {"type": "integer"}}, "required": ["x", "y"]}
ITEMS = {"items": {"type": "integer"}}
CLOSED = {"additionalProperties": False}
ROWS = [  # schema of v, value of v, the paths of what is wrong
    *[(NUMBERS, [], []), (NUMBERS, [1, 2.0], []), (NUMBERS, {"0": 1}, ["v"])],
    (NUMBERS, [1, "2", 3, None], ["v[1]", "v[3]"]),
    *[(ITEMS, "12", []), (ITEMS, {"a": "x"}, []), ({"items": {}}, [1, None, "x"], [])],
    ({"type": "array", "items": NUMBERS}, [[1], ["x", 2], 3], ["v[1][0]", "v[2]"]),
    *[(POINT, {"x": 1, "y": None}, []), (POINT, {"x": 1, "y": 2, "z": 3}, [])],
    *[(POINT, {"x": "1"}, ["v.x", "v.y"]), (POINT, {}, ["v.x", "v.y"])],
    *[(POINT, [], []), (POINT, "x", []), (POINT, 5, [])],
    *[(CLOSED, {}, []), (CLOSED, {"a": 1}, ["v.a"]), (CLOSED, [1], [])],
    ({"additionalProperties": True}, {"a": 1}, []),
    *[({"required": []}, {}, []), ({"required": ["a"]}, {"a": None}, [])],
    *[({"required": ["a"]}, {"A": 1}, ["v.a"]), ({"required": ["a"]}, ["a"], [])],
    ({"properties": {}}, {"a": 1}, []),
    ({"properties": {"a": {"enum": [1]}}}, {"a": True}, ["v.a"]),
    ({"properties": {"a": {"minimum": 5}}}, {"a": 4, "b": 1}, ["v.a"]),
    ({"type": "array", "items": POINT}, [{"x": 1, "y": 1}, {"y": 1}], ["v[1].x"]),
    ({"type": "object", "properties": {"a": POINT}}, {"a": {"y": 1}}, ["v.a.x"]),
    ({"type": "object", "enum": [{"a": 1}]}, {"a": 1.0}, []),
]


@pytest.mark.parametrize("schema, value, paths", ROWS)
def test_what_is_inside_is_checked_and_told_with_its_path(schema, value, paths):
    said = problems(schema, value)

    assert sorted(problem.split(" ")[0] for problem in said) == sorted(paths)


EDIT = s02.object_schema({"path": TEXT}, ["path"])
EDITS = {"edits": {"type": "array", "items": EDIT}}
ROOTS = [("x", "string"), (5, "integer"), (None, "null"), ([], "array")]
ROOTS += [(True, "boolean"), (5.5, "number")]
THREE = {"edits": [{"path": "a"}, {"path": "b"}, {"path": None}]}


@pytest.mark.parametrize(
    "properties, required, value, sentence",
    [
        (EDITS, [], THREE, "edits[2].path must be a string, got null"),
        ({"v": TEXT}, [], {"v": None}, "v must be a string, got null: omit it"),
        ({"v": TEXT}, ["v"], {"v": None}, "v must be a string, got null"),
        ({"v": TEXT}, ["v"], {}, "v is missing"),
        (
            {"v": {"type": "integer"}},
            [],
            {"v": "5"},
            "v must be an integer, got string",
        ),
        ({}, [], {"n" * 101: 5}, f"{'n' * 100} is unexpected; accepted: nothing"),
        ({"a": {}, "b": {}}, [], {"c": 5}, "c is unexpected; accepted: a, b"),
        *[(EDITS, [], v, f"arguments must be an object, got {k}") for v, k in ROOTS],
    ],
)
def test_the_sentence_says_where_what_is_wrong_and_what_to_do(
    properties, required, value, sentence
):
    check = s02.compile_schema(s02.object_schema(properties, required))

    assert check(value) == [sentence]


@pytest.mark.parametrize("count", [1, 9, 10, 11, 10_000])
def test_ten_problems_are_told_and_then_that_there_are_more(count):
    names = [f"n{number}" for number in range(count)]
    schema = s02.object_schema({name: {"type": "integer"} for name in names})
    said = s02.compile_schema(schema)(dict.fromkeys(names, "x"))

    assert [problem.split()[0] for problem in said[:10]] == names[:10]
    assert said[10:] == ["and more"] * (count > 10)


# --- Values that are no JSON, or too deep ---


class Hostile:
    """Whatever is asked of it raises."""

    def refuse(self, *args):
        raise RuntimeError("asked")

    __repr__ = __str__ = __eq__ = __len__ = __iter__ = __bool__ = refuse
    __getattr__ = __float__ = __index__ = __contains__ = __lt__ = refuse
    __hash__ = refuse


class Unhashable(Hostile):
    __hash__ = None


class HostileText(str):
    __eq__ = __ne__ = __str__ = __repr__ = __len__ = Hostile.refuse
    __hash__ = str.__hash__


class HostileNumber(int):
    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __repr__ = __str__ = Hostile.refuse
    __hash__ = int.__hash__


class HostileObject(dict):
    items = keys = values = get = __iter__ = __contains__ = __repr__ = Hostile.refuse


class HostileArray(list):
    __iter__ = __len__ = __getitem__ = __eq__ = __repr__ = Hostile.refuse


NO_JSON = [math.nan, math.inf, -math.inf, b"x", {1}, 1j, len, int, (1, 2), object()]
NO_JSON += [Hostile(), Unhashable()]
LOOKALIKE = [HostileText("x"), HostileNumber(5), HostileObject(a=1), HostileArray([1])]
PLACES = [
    *[lambda value: {"v": value}, lambda value: {"v": [1, [{"a": {"b": value}}]]}],
    *[lambda value: {"w": value}, lambda value: value],
]
SCHEMAS = [{"type": "object"}, of_open({"type": "number"})]
SCHEMAS += [of_open({"enum": ["x", 1, [1], {}]}), of_open({"items": {"items": {}}})]
SCHEMAS += [of_open({"minimum": 1, "maximum": 5})]


@pytest.mark.parametrize("number", range(len(NO_JSON + LOOKALIKE)))
def test_what_is_no_json_is_a_problem_and_nothing_raises(number):
    value = [*NO_JSON, *LOOKALIKE][number]
    for schema, place in itertools.product(SCHEMAS, PLACES):
        said = s02.compile_schema(schema)(place(value))
        assert said or number >= len(NO_JSON), f"{schema}"
        assert all(isinstance(problem, str) for problem in said)


@pytest.mark.parametrize("name", [5, None, True, (1,), b"v", 5.5, object(), Hostile])
def test_a_name_that_is_no_text_is_a_problem(name):
    for schema in SCHEMAS:
        check = s02.compile_schema(schema)
        assert check({name: 1}) and check({"v": {name: 1}})


def deep(containers, wrap, innermost):
    """Arguments with so many arrays or objects inside each other."""
    value = innermost
    for _ in range(containers - 1):
        value = wrap(value)
    return {"v": value}


WRAPS = [lambda value: [value], lambda value: {"a": value}]


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("innermost", [1, "x", None, [], {}])
def test_arguments_nested_100_deep_pass_and_101_deep_do_not(wrap, innermost):
    check = s02.compile_schema({"type": "object"})
    most = 100 - isinstance(innermost, (list, dict))  # an empty one is a level too

    assert check(deep(most, wrap, innermost)) == []
    assert len(check(deep(most + 1, wrap, innermost))) == 1


@pytest.mark.parametrize("wrap", WRAPS)
def test_arguments_of_any_depth_are_a_problem_told_in_bounds(wrap):
    endless = {}
    endless["v"] = endless
    for schema in SCHEMAS:
        for arguments in (deep(1_000, wrap, 1), deep(5_000, wrap, 1), endless):
            said = s02.compile_schema(schema)(arguments)
            assert said and len(said[0]) < 2_000


@pytest.mark.parametrize("count", [1, 10**5])
def test_wide_values_are_checked_to_their_end(count):
    (said,) = problems(NUMBERS, [*[1] * count, "x"])

    assert said.startswith(f"v[{count}] ") and problems(NUMBERS, [1] * count) == []


def test_checking_changes_neither_the_value_nor_the_next_check():
    value = {"v": [{"x": 1, "y": [None]}, "z"]}
    before = copy.deepcopy(value)
    check = s02.compile_schema(of({"items": {"type": "object"}}))

    assert check(value) == check(value) != [] and value == before


# --- Schemas that are refused, each at four places ---


FAR = "properties.v.items.properties.p.items."
PLACED = [  # a part of a schema -> a whole schema with it, the path of the part
    lambda part: ({"type": "object", **part}, ""),
    lambda part: (of(part), "properties.v."),
    lambda part: (of({"type": "array", "items": part}), "properties.v.items."),
    lambda part: (of({"items": {"properties": {"p": {"items": part}}}}), FAR),
]
OUTSIDE = {
    **{"pattern": "x", "minLength": 1, "maxLength": 1, "minItems": 0, "maxItems": 9},
    **{"uniqueItems": False, "contains": {}, "minContains": 1, "maxContains": 1},
    **{"prefixItems": [{}], "unevaluatedItems": False, "additionalItems": True},
    **{"multipleOf": 1, "exclusiveMinimum": 0, "exclusiveMaximum": 9},
    **{"minProperties": 0, "maxProperties": 9, "patternProperties": {}, "not": {}},
    **{"propertyNames": {}, "dependentRequired": {}, "dependentSchemas": {}},
    **{"dependencies": {}, "unevaluatedProperties": False, "const": None},
    **{"anyOf": [{}], "oneOf": [{}], "allOf": [], "if": {}, "then": {}, "else": {}},
    **{"$ref": "#", "$dynamicRef": "#", "$anchor": "a", "$defs": {}, "$id": "x:y"},
    **{"$vocabulary": {}, "definitions": {}, "contentEncoding": "base64"},
    **{"nullable": True, "readOnly": True, "x-order": 1, "Type": "string"},
    **{"enums": [1], "": 1},
}


WRONG_VALUES = [
    ("type", [["string", "null"], ["string"], [], "int", "any", "String", "", None, 5]),
    ("properties", [None, [], "a", ["a"], True]),
    ("required", ["abc", "", None, {"a": 1}, [1], ["a", 5], ["a", "a"], True]),
    ("additionalProperties", [{}, {"type": "string"}, None, 0, 1, "false", []]),
    ("items", [True, False, None, [], [{}], "string"]),
    ("enum", [[], None, "abc", {"a": 1}, 5]),
    ("minimum", ["3", None, True, [1], {}]),
    ("maximum", ["3", None, False, [1], {}]),
]


WRONG = [
    *OUTSIDE.items(),
    *[(keyword, value) for keyword, values in WRONG_VALUES for value in values],
]


@pytest.mark.parametrize("keyword, value", WRONG)
def test_a_keyword_that_cannot_be_enforced_is_refused_with_its_path(keyword, value):
    for placed in PLACED:
        schema, path = placed({keyword: value})
        assert f"{path}{keyword}" in refusal(schema)
    assert keyword in refusal({"type": "object", keyword: value})


@pytest.mark.parametrize("wrong", [True, False, None, "string", [], 5])
def test_a_property_whose_schema_is_no_object_is_refused_with_its_path(wrong):
    for placed in PLACED:
        schema, path = placed({"properties": {"a": {}, "b": wrong}})
        assert f"{path}properties.b" in refusal(schema)


@pytest.mark.parametrize("placed", PLACED)
def test_a_required_name_that_a_closed_schema_refuses_is_a_mistake(placed):
    part = {"properties": {"a": {}}, "required": ["a", "b"]}
    schema, path = placed({**part, **CLOSED})

    assert f"{path}required" in refusal(schema) and "b" in refusal(schema)
    for is_open in (part, {**part, "additionalProperties": True}):
        assert s02.compile_schema(placed(is_open)[0])


def deep_schema(depth, keyword):
    schema = {}
    for _ in range(depth):
        schema = {keyword: {"a": schema} if keyword == "properties" else schema}
    return of(schema)


ENDLESS = of({})
ENDLESS["items"] = ENDLESS
NEVER = [
    *[None, True, [], "object", 5, {}, {"type": "array"}, {"properties": {}}],
    *[of({"minimum": bad}) for bad in (math.nan, math.inf, {1}, b"x", object())],
    *[of({"enum": [bad]}) for bad in (math.nan, -math.inf, {1}, b"x", object())],
    *[of({name: {1}}) for name in ("default", "examples", "title", "format")],
    *[of({"default": math.nan}), of({"examples": [math.inf]}), ENDLESS],
    *[deep_schema(depth, "items") for depth in (101, 1_000, 5_000)],
    *[deep_schema(depth, "properties") for depth in (101, 1_000, 5_000)],
]


@pytest.mark.parametrize("schema", NEVER, ids=range(len(NEVER)))
def test_what_is_no_json_no_object_or_too_deep_is_no_schema(schema):
    assert 0 < len(refusal(schema)) < 5_000


def test_a_schema_fifty_deep_is_enforced_at_its_bottom():
    schema, good, bad = {"type": "integer"}, 1, "x"
    for _ in range(50):
        schema, good, bad = {"items": schema}, [good], [bad]

    assert problems(schema, good) == []
    assert problems(schema, bad)[0].startswith(f"v{'[0]' * 50} ")


# --- Schemas that are accepted ---

ANNOTATIONS = {
    **{"title": "T", "description": "D", "default": {"pattern": "x"}, "$comment": "C"},
    **{"examples": [{"minLength": "x"}, None], "format": "email", "deprecated": True},
    "$schema": "https://json-schema.org/draft/2020-12/schema",
}


@pytest.mark.parametrize("keyword", ANNOTATIONS)
def test_an_annotation_passes_and_enforces_nothing(keyword):
    for placed in PLACED:
        assert s02.compile_schema(placed({keyword: ANNOTATIONS[keyword]})[0])({}) == []
    assert problems({keyword: ANNOTATIONS[keyword]}, "no email") == []


@pytest.mark.parametrize(
    "name", ["type", "pattern", "$ref", "required", "items", "a.b"]
)
def test_a_property_may_be_called_like_a_keyword(name):
    schema = s02.object_schema({name: {"type": "integer"}}, [name])
    check = s02.compile_schema(schema)

    assert check({name: 1}) == []
    assert check({name: "x"}) and check({})


def test_values_of_an_enum_are_not_read_as_schemas():
    assert problems({"enum": [{"pattern": "x"}, {"type": 5}]}, {"type": 5}) == []


def test_compiling_changes_no_schema_and_a_later_change_of_it_changes_no_check():
    schema = of({"type": "integer", "enum": [1, 2]}, ["v"])
    before = copy.deepcopy(schema)
    check = s02.compile_schema(schema)
    assert schema == before
    schema["properties"]["v"]["enum"].append("x")
    schema["required"].clear()
    schema["properties"].clear()

    assert check({"v": 2}) == [] and check({"v": "x"}) and check({})


def test_object_schema_is_closed_and_lists_what_is_required():
    properties = {"a": {"type": "string"}, "b": {}}
    expected = {"type": "object", "properties": properties, "required": ["a"]}

    assert s02.object_schema(properties, ("a",)) == {
        **expected,
        "additionalProperties": False,
    }
