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


def of(schema, required=()):
    """A closed object with one property, v."""
    return s02.object_schema({"v": schema}, required)


def problems(schema, value):
    """What is wrong with v."""
    return s02.compile_schema(of(schema))({"v": value})


def refusal(schema):
    """Why the schema is refused."""
    with pytest.raises(ValueError) as caught:
        s02.compile_schema(schema)
    return str(caught.value)


# --- Types: one row for each type, the values that have it ---

VALUES = {
    "text": "x",
    "empty text": "",
    "digits": "5",
    "five": 5,
    "zero": 0,
    "minus one": -1,
    "five as a float": 5.0,
    "minus zero": -0.0,
    "large float": 1e300,
    "large integer": BIG,
    "fraction": 5.5,
    "smallest fraction": 5e-324,
    "true": True,
    "false": False,
    "null": None,
    "array": [],
    "full array": [1, "x"],
    "object": {},
    "full object": {"a": 1},
}
WHOLE = {"five", "zero", "minus one", "five as a float", "minus zero"}
WHOLE |= {"large float", "large integer"}
HAVE_TYPE = {
    "string": {"text", "empty text", "digits"},
    "integer": WHOLE,
    "number": WHOLE | {"fraction", "smallest fraction"},
    "boolean": {"true", "false"},
    "null": {"null"},
    "array": {"array", "full array"},
    "object": {"object", "full object"},
}


@pytest.mark.parametrize("name", HAVE_TYPE)
def test_a_value_has_the_type_or_is_refused_by_it(name):
    said = {value: problems({"type": name}, VALUES[value]) for value in VALUES}

    assert {value for value in said if said[value] == []} == HAVE_TYPE[name]
    for problem in itertools.chain(*said.values()):
        assert problem.startswith("v must be ") and name in problem


def test_a_schema_without_keywords_accepts_every_json_value():
    assert [v for v in VALUES if problems({}, VALUES[v])] == []


# --- Equality: an enum with one value, and a value that is it or is not ---

EQUAL = [
    pytest.param(1, 1.0, id="one and one as a float"),
    pytest.param(0, -0.0, id="zero and minus zero"),
    pytest.param([1, [2]], [1.0, [2.0]], id="arrays of equal numbers"),
    pytest.param(
        {"a": 1, "b": [None]}, {"b": [None], "a": 1.0}, id="objects reordered"
    ),
    pytest.param(None, None, id="null"),
    pytest.param("caf\u00e9", "caf\u00e9", id="texts"),
    pytest.param(2**53, float(2**53), id="as large as a float is exact"),
    pytest.param(True, True, id="true"),
    pytest.param([], [], id="empty arrays"),
]
DIFFERENT = [
    pytest.param(1, True, id="one and true"),
    pytest.param(0, False, id="zero and false"),
    pytest.param(1.0, True, id="one as a float and true"),
    pytest.param(1, "1", id="a number and its text"),
    pytest.param(None, False, id="null and false"),
    pytest.param(None, 0, id="null and zero"),
    pytest.param("", None, id="empty text and null"),
    pytest.param([1], [True], id="inside an array"),
    pytest.param([[0]], [[False]], id="deeper inside arrays"),
    pytest.param({"a": 1}, {"a": True}, id="inside an object"),
    pytest.param([1, 2], [2, 1], id="another order"),
    pytest.param([1], [1, 1], id="another length"),
    pytest.param({"a": 1}, {"a": 1, "b": 1}, id="one more property"),
    pytest.param({}, [], id="empty object and empty array"),
    pytest.param("a", ["a"], id="a text and an array with it"),
    pytest.param(2**53 + 1, float(2**53), id="larger than a float is exact"),
    pytest.param("e\u0301", "\u00e9", id="composed otherwise"),
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

    assert problems(schema, 1) == problems(schema, 1.0) == []
    assert [bool(problems(schema, value)) for value in [2.5, "x", True, 2]] == [
        True
    ] * 4


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
ROWS = [
    # schema of v, value of v, the paths of what is wrong
    (NUMBERS, [], []),
    (NUMBERS, [1, 2.0], []),
    (NUMBERS, [1, "2", 3, None], ["v[1]", "v[3]"]),
    (NUMBERS, {"0": 1}, ["v"]),
    ({"items": {"type": "integer"}}, "12", []),
    ({"items": {"type": "integer"}}, {"a": "x"}, []),
    ({"items": {}}, [1, None, "x"], []),
    ({"type": "array", "items": NUMBERS}, [[1], ["x", 2], 3], ["v[1][0]", "v[2]"]),
    (POINT, {"x": 1, "y": None}, []),
    (POINT, {"x": 1, "y": 2, "z": 3}, []),
    (POINT, {"x": "1"}, ["v.x", "v.y"]),
    (POINT, {}, ["v.x", "v.y"]),
    (POINT, [], []),
    (POINT, "x", []),
    (POINT, 5, []),
    ({"additionalProperties": False}, {}, []),
    ({"additionalProperties": False}, {"a": 1}, ["v.a"]),
    ({"additionalProperties": False}, [1], []),
    ({"additionalProperties": True}, {"a": 1}, []),
    ({"required": []}, {}, []),
    ({"required": ["a"]}, {"a": None}, []),
    ({"required": ["a"]}, {"A": 1}, ["v.a"]),
    ({"required": ["a"]}, ["a"], []),
    ({"properties": {}}, {"a": 1}, []),
    ({"properties": {"a": {"enum": [1]}}}, {"a": True}, ["v.a"]),
    ({"properties": {"a": {"minimum": 5}}}, {"a": 4, "b": 1}, ["v.a"]),
    ({"type": "array", "items": POINT}, [{"x": 1, "y": 1}, {"y": 1}], ["v[1].x"]),
    ({"type": "object", "properties": {"a": POINT}}, {"a": {"y": 1}}, ["v.a.x"]),
    ({"type": "null"}, None, []),
    ({"type": "object", "enum": [{"a": 1}]}, {"a": 1.0}, []),
]


@pytest.mark.parametrize("schema, value, paths", ROWS)
def test_what_is_inside_is_checked_and_told_with_its_path(schema, value, paths):
    said = problems(schema, value)

    assert sorted(problem.split(" ")[0] for problem in said) == sorted(paths)


@pytest.mark.parametrize("value", ["x", 5, None, [], True, 5.5])
def test_the_root_is_an_object(value):
    assert len(s02.compile_schema(of({}))(value)) == 1


def test_the_sentence_names_path_type_and_what_came():
    edit = s02.object_schema({"path": {"type": "string"}}, ["path"])
    check = s02.compile_schema(
        s02.object_schema({"edits": {"type": "array", "items": edit}})
    )
    said = check({"edits": [{"path": "a"}, {"path": "b"}, {"path": None}]})

    assert said == ["edits[2].path must be a string, got null"]


def test_null_for_an_optional_property_is_to_be_omitted():
    optional = s02.compile_schema(of({"type": "string"}))({"v": None})
    required = s02.compile_schema(of({"type": "string"}, ["v"]))({"v": None})

    assert "omit it" in optional[0] and "omit it" not in required[0]


def test_what_is_accepted_is_named_beside_what_is_unexpected():
    schema = s02.object_schema({"path": {}, "limit": {}})
    (said,) = s02.compile_schema(schema)({"lines": 5})

    assert said.startswith("lines ") and "path" in said and "limit" in said


def test_every_problem_is_told_until_there_are_too_many():
    schema = s02.object_schema({name: {"type": "integer"} for name in "abcdef"})
    check = s02.compile_schema(schema)
    few = check(dict.fromkeys("abcdef", "x"))

    assert [problem[0] for problem in few] == list("abcdef")
    assert len(check({str(number): 1 for number in range(10_000)})) < 100


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


NO_JSON = {
    "not a number": math.nan,
    "infinite": math.inf,
    "minus infinite": -math.inf,
    "bytes": b"x",
    "set": {1},
    "complex": 1j,
    "function": len,
    "class": int,
    "object": object(),
    "hostile": Hostile(),
    "unhashable": Unhashable(),
}
PLACES = {
    "of an argument": lambda value: {"v": value},
    "in an array": lambda value: {"v": [1, [value]]},
    "in an object": lambda value: {"v": {"a": {"b": value}}},
    "of an unknown argument": lambda value: {"w": value},
    "as the arguments": lambda value: value,
}
SCHEMAS = {
    "open": {"type": "object"},
    "typed": {"type": "object", "properties": {"v": {"type": "number"}}},
    "enum": {"type": "object", "properties": {"v": {"enum": ["x", 1, [1], {}]}}},
    "bounds": {"type": "object", "properties": {"v": {"minimum": 1, "maximum": 5}}},
    "items": {"type": "object", "properties": {"v": {"items": {"items": {}}}}},
}


@pytest.mark.parametrize("value", NO_JSON)
def test_what_is_no_json_is_a_problem_wherever_it_is(value):
    for schema, place in itertools.product(SCHEMAS, PLACES):
        said = s02.compile_schema(SCHEMAS[schema])(PLACES[place](NO_JSON[value]))
        assert said, f"{value} {place}, {schema}"
        assert all(isinstance(problem, str) for problem in said)


@pytest.mark.parametrize(
    "value",
    [HostileText("x"), HostileNumber(5), HostileObject(a=1), HostileArray([1])],
    ids=["text", "number", "object", "array"],
)
def test_a_value_that_only_looks_like_json_raises_nothing(value):
    for schema, place in itertools.product(SCHEMAS.values(), PLACES.values()):
        said = s02.compile_schema(schema)(place(value))
        assert all(isinstance(problem, str) for problem in said)


@pytest.mark.parametrize("name", [5, None, True, (1,), b"v", 5.5, object(), Hostile])
def test_a_name_that_is_no_text_is_a_problem(name):
    for schema in SCHEMAS.values():
        check = s02.compile_schema(schema)
        assert check({name: 1}) and check({"v": {name: 1}})


def deep(containers, wrap, innermost):
    """Arguments with so many arrays or objects inside each other."""
    value = innermost
    for _ in range(containers - 1):
        value = wrap(value)
    return {"v": value}


WRAPS = [
    pytest.param(lambda value: [value], id="arrays"),
    pytest.param(lambda value: {"a": value}, id="objects"),
]


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("innermost", [1, "x", None])
def test_arguments_nested_100_deep_pass_and_101_deep_do_not(wrap, innermost):
    check = s02.compile_schema({"type": "object"})

    assert check(deep(100, wrap, innermost)) == []
    assert len(check(deep(101, wrap, innermost))) == 1


@pytest.mark.parametrize("wrap", WRAPS)
def test_an_empty_array_or_object_counts_as_a_level(wrap):
    check = s02.compile_schema({"type": "object"})

    for empty in ([], {}):
        assert check(deep(99, wrap, empty)) == []
        assert len(check(deep(100, wrap, empty))) == 1


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("depth", [1_000, 5_000])
def test_arguments_of_any_depth_are_a_problem_told_in_bounds(wrap, depth):
    for schema in SCHEMAS.values():
        (said,) = s02.compile_schema(schema)(deep(depth, wrap, 1))[:1]
        assert len(said) < 2_000


def test_a_value_inside_itself_is_too_deep():
    value = {}
    value["v"] = value

    assert s02.compile_schema({"type": "object"})(value)


@pytest.mark.parametrize("count", [1, 10**5])
def test_wide_values_are_checked_to_their_end(count):
    assert problems({"type": "array", "items": {"type": "integer"}}, [1] * count) == []
    last = [*[1] * count, "x"]
    (said,) = problems({"type": "array", "items": {"type": "integer"}}, last)
    assert said.startswith(f"v[{count}] ")


def test_checking_changes_neither_the_value_nor_the_next_check():
    value = {"v": [{"x": 1, "y": [None]}, "z"]}
    check = s02.compile_schema(of({"items": {"type": "object"}}))
    before = copy.deepcopy(value)

    assert check(value) == check(value) != []
    assert value == before


# --- Schemas that are refused, each at four places ---


def at_root(part):
    return {**part, "type": "object"}, ""


def in_property(part):
    return of(part), "properties.v."


def in_items(part):
    return of({"type": "array", "items": part}), "properties.v.items."


def far_inside(part):
    inner = {"items": {"properties": {"p": {"items": part}}}}
    return of(inner), "properties.v.items.properties.p.items."


PLACED = [at_root, in_property, in_items, far_inside]
OUTSIDE = {
    "pattern": "x",
    "minLength": 1,
    "maxLength": 1,
    "minItems": 0,
    "maxItems": 9,
    "uniqueItems": False,
    "contains": {},
    "minContains": 1,
    "maxContains": 1,
    "prefixItems": [{}],
    "unevaluatedItems": False,
    "additionalItems": True,
    "multipleOf": 1,
    "exclusiveMinimum": 0,
    "exclusiveMaximum": 9,
    "minProperties": 0,
    "maxProperties": 9,
    "patternProperties": {},
    "propertyNames": {},
    "dependentRequired": {},
    "dependentSchemas": {},
    "dependencies": {},
    "unevaluatedProperties": False,
    "const": None,
    "anyOf": [{}],
    "oneOf": [{}],
    "allOf": [],
    "not": {},
    "if": {},
    "then": {},
    "else": {},
    "$ref": "#",
    "$dynamicRef": "#",
    "$anchor": "a",
    "$defs": {},
    "$id": "https://example.com/",
    "$vocabulary": {},
    "definitions": {},
    "contentEncoding": "base64",
    "nullable": True,
    "readOnly": True,
    "x-order": 1,
    "Type": "string",
    "enums": [1],
    "": 1,
}


@pytest.mark.parametrize("keyword", OUTSIDE)
def test_a_keyword_outside_the_subset_is_refused_with_its_path(keyword):
    for placed in PLACED:
        schema, path = placed({keyword: OUTSIDE[keyword]})
        assert f"{path}{keyword}" in refusal(schema)


WRONG_VALUES = [
    ("type", [["string", "null"], ["string"], [], "int", "any", "String", "", None, 5]),
    ("properties", [None, [], "a", ["a"], True]),
    ("required", ["abc", "", None, {"a": 1}, [1], [None], ["a", 5], True]),
    ("additionalProperties", [{}, {"type": "string"}, None, 0, 1, "false", []]),
    ("items", [True, False, None, [], [{}], "string"]),
    ("enum", [[], None, "abc", {"a": 1}, 5]),
    ("minimum", ["3", None, True, [1], {}]),
    ("maximum", ["3", None, False, [1], {}]),
]


@pytest.mark.parametrize(
    "keyword, value", [(keyword, v) for keyword, vs in WRONG_VALUES for v in vs]
)
def test_a_keyword_with_a_wrong_value_is_refused_with_its_path(keyword, value):
    assert keyword in refusal({"type": "object", keyword: value})
    for placed in PLACED[1:]:
        schema, path = placed({keyword: value})
        assert f"{path}{keyword}" in refusal(schema)


@pytest.mark.parametrize("wrong", [True, False, None, "string", [], 5])
def test_a_property_whose_schema_is_no_object_is_refused_with_its_path(wrong):
    for placed in PLACED:
        schema, path = placed({"properties": {"a": {}, "b": wrong}})
        assert f"{path}properties.b" in refusal(schema)


@pytest.mark.parametrize("placed", PLACED)
def test_a_required_name_that_a_closed_schema_refuses_is_a_mistake(placed):
    part = {"properties": {"a": {}}, "required": ["a", "b"]}
    schema, path = placed({**part, "additionalProperties": False})

    assert f"{path}required" in refusal(schema) and "b" in refusal(schema)
    for is_open in (part, {**part, "additionalProperties": True}):
        assert s02.compile_schema(placed(is_open)[0])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, {1}, b"x", object()])
@pytest.mark.parametrize(
    "keyword", ["minimum", "default", "examples", "title", "format"]
)
def test_a_schema_that_is_no_json_is_refused(keyword, bad):
    assert refusal(of({keyword: bad}))
    assert refusal(of({"enum": [bad]}))


@pytest.mark.parametrize(
    "root", [None, True, [], "object", 5, {}, {"type": "array"}, {"properties": {}}]
)
def test_the_root_of_a_schema_is_of_type_object(root):
    assert refusal(root)


@pytest.mark.parametrize("keyword", ["properties", "items"])
@pytest.mark.parametrize("depth", [1_000, 5_000])
def test_a_schema_of_any_depth_is_refused_in_bounds(keyword, depth):
    schema = {}
    for _ in range(depth):
        schema = {keyword: {"a": schema} if keyword == "properties" else schema}

    assert len(refusal(of(schema))) < 5_000


def test_a_schema_inside_itself_is_refused():
    schema = {}
    schema["items"] = schema

    assert refusal(of(schema))


def test_a_schema_fifty_deep_is_enforced_at_its_bottom():
    schema, good, bad = {"type": "integer"}, 1, "x"
    for _ in range(50):
        schema, good, bad = {"items": schema}, [good], [bad]

    assert problems(schema, good) == []
    assert problems(schema, bad)[0].startswith(f"v{'[0]' * 50} ")


# --- Schemas that are accepted ---

ANNOTATIONS = {
    "title": "T",
    "description": "D",
    "default": {"pattern": "x"},
    "examples": [{"minLength": "x"}, None],
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$comment": "C",
    "format": "email",
    "deprecated": True,
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


def test_a_later_change_of_the_schema_changes_no_check():
    schema = of({"type": "integer", "enum": [1, 2]}, ["v"])
    check = s02.compile_schema(schema)
    schema["properties"]["v"]["enum"].append("x")
    schema["required"].clear()
    schema["properties"].clear()

    assert check({"v": 2}) == [] and check({"v": "x"}) and check({})


def test_compiling_does_not_change_the_schema():
    schema = {**of({"items": {"type": "integer"}}), "title": "T"}
    before = copy.deepcopy(schema)
    s02.compile_schema(schema)

    assert schema == before


def test_object_schema_is_closed_and_lists_what_is_required():
    required = ("a",)
    schema = s02.object_schema({"a": {"type": "string"}, "b": {}}, required)

    assert schema == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {}},
        "required": ["a"],
        "additionalProperties": False,
    }
