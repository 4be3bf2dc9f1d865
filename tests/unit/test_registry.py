"""Registration fails strictly, the catalogue is fixed, bad arguments reach no tool."""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import math
import subprocess
import sys
import threading

import pytest

from s02_tool_dispatch import code as s02
from tests.chapters import ROOT, scrubbed_env
from tests.tools import Probe, call, calls, registry_of, returning, spec

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
REFUSED = "invalid_arguments"


def names(registry):
    return [definition["name"] for definition in registry.definitions()]


def tool(**changes):
    """A tool that is accepted but for these changes."""
    parts = {
        **{"name": "a", "description": "d", "source": "mine", "handler": Probe()},
        **{"input_schema": s02.object_schema({})},
    }
    return s02.ToolSpec(**{**parts, **changes})


def schema(**keywords):
    return tool(input_schema={**s02.object_schema({}), **keywords})


def nested(depth):
    value = {}
    for _ in range(depth):
        value = {"type": "object", "properties": {"a": value}}
    return value


# --- Names ---


@pytest.mark.parametrize("name", ["a", "_", "-", "0", "Read-File_2", "n" * 64])
def test_a_name_the_api_accepts_is_accepted(name):
    assert names(registry_of(tool(name=name))) == [name]


@pytest.mark.parametrize(
    "name",
    [
        *["", " ", "a b", "a.b", "a/b", "a\n", "\na", "n" * 65, "caf\u00e9", "\u0661"],
        *[None, 5, b"a", ["a"], {"a": 1}, "a\0", "\ud800"],
    ],
)
def test_any_other_name_is_refused_with_the_source(name):
    with pytest.raises(ValueError, match="mine"):
        registry_of(tool(name=name))


def test_a_name_that_is_taken_is_refused_and_both_sources_are_named():
    first = Probe("first")
    registry = registry_of(tool(handler=first, source="builtin"))
    with pytest.raises(
        ValueError, match=r"(?s)'?a'?.*(plugin.*builtin|builtin.*plugin)"
    ):
        registry.register(tool(source="plugin"))

    assert names(registry) == ["a"] and registry.get("a")["source"] == "builtin"
    assert call(registry).content == "first"


def test_one_name_twice_in_one_registration_is_refused():
    registry = s02.ToolRegistry()
    with pytest.raises(ValueError, match=r"(?s)(one.*two|two.*one)"):
        registry.register(tool(source="one"), tool(source="two"))

    assert names(registry) == []


def test_the_very_same_tool_again_is_refused_too():
    again = tool()
    with pytest.raises(ValueError, match="mine"):
        registry_of(again, again)


# --- Handlers ---


class Methods:
    def take(self, a, b=1):
        return f"{a} {b}"

    @classmethod
    def of_class(cls, a, b=1):
        return f"{a} {b}"


FITTING = [
    pytest.param(lambda a, b=1: f"{a} {b}", id="lambda"),
    pytest.param(lambda a, **more: f"{a} {more['b']}", id="any keyword"),
    pytest.param(lambda *, a, b=1: f"{a} {b}", id="keyword only"),
    pytest.param(lambda *, b=1, a, c=2: f"{a} {b}", id="one more with a default"),
    pytest.param(Methods().take, id="bound method"),
    pytest.param(Methods.of_class, id="class method"),
    pytest.param(functools.partial(lambda x, a, b=1: f"{a} {b}", 0), id="partial"),
]


@pytest.mark.parametrize("handler", FITTING)
def test_a_handler_that_takes_what_the_schema_lets_through_is_accepted(handler):
    registry = registry_of(spec("a", handler, {"a": NUMBER, "b": NUMBER}, ["a"]))

    assert call(registry, "a", {"a": 1, "b": 2}).content == "1 2"


@pytest.mark.parametrize(
    "handler",
    [
        pytest.param(lambda: 0, id="takes nothing"),
        pytest.param(lambda a: 0, id="one too few"),
        pytest.param(lambda b: 0, id="the other one"),
        pytest.param(lambda a, b: 0, id="needs an optional one"),
        pytest.param(lambda a, c, b=1: 0, id="needs what is no property"),
        pytest.param(lambda a, b=1, *, c: 0, id="needs another keyword"),
        pytest.param(lambda a, b=1, /: 0, id="takes positions only"),
        pytest.param(lambda *args: 0, id="takes any position"),
        pytest.param(Methods.take, id="method without its object"),
        pytest.param(None, id="none"),
        pytest.param("a", id="a name"),
        pytest.param(max, id="no signature to be had"),
    ],
)
def test_a_handler_that_cannot_take_it_is_refused_with_tool_and_source(handler):
    misfit = spec("a", handler, {"a": NUMBER, "b": NUMBER}, ["a"], source="mine")
    with pytest.raises(ValueError, match=r"'?a'?.*mine"):
        registry_of(misfit)


@pytest.mark.parametrize("keywords", [{}, {"additionalProperties": True}])
def test_an_open_schema_needs_a_handler_that_takes_any_keyword(keywords):
    is_open = {"type": "object", "properties": {"a": NUMBER}, **keywords}
    with pytest.raises(ValueError, match="mine"):
        registry_of(tool(input_schema=is_open, handler=lambda a=1: 0))

    registry = registry_of(tool(input_schema=is_open, handler=Probe("ran")))
    assert call(registry, "a", {"a": 1, "other": "x"}).content == "ran"


# --- Schemas and other mistakes ---


@pytest.mark.parametrize(
    "wrong, path",
    [
        pytest.param({"n": {"type": ["string", "null"]}}, "n.type", id="type list"),
        pytest.param({"n": {"pattern": "x"}}, "n.pattern", id="pattern"),
        pytest.param({"n": {"anyOf": [{}]}}, "n.anyOf", id="anyOf"),
        pytest.param({"n": {"$ref": "#"}}, "n.$ref", id="$ref"),
        pytest.param({"n": {"maximum": "3"}}, "n.maximum", id="maximum as text"),
        pytest.param({"n": {"properties": None}}, "n.properties", id="properties"),
        pytest.param({"n": {"required": "abc"}}, "n.required", id="required as text"),
        pytest.param(
            {"n": s02.object_schema({}, ["x"])}, "n.required", id="required unknown"
        ),
        pytest.param({"n": {"items": {"const": 1}}}, "n.items.const", id="in items"),
    ],
)
def test_a_schema_that_cannot_be_enforced_is_refused_with_its_path(wrong, path):
    with pytest.raises(ValueError) as caught:
        registry_of(schema(properties=wrong))

    said = str(caught.value)
    assert "'a'" in said and "mine" in said and f"properties.{path}" in said


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(tool(input_schema=None), id="schema none"),
        pytest.param(tool(input_schema=[]), id="schema a list"),
        pytest.param(tool(input_schema="{}"), id="schema a text"),
        pytest.param(tool(input_schema={}), id="schema without a type"),
        pytest.param(tool(input_schema={"type": "array"}), id="root no object"),
        pytest.param(schema(default={1, 2}), id="a set in an annotation"),
        pytest.param(schema(default=math.nan), id="not a number"),
        pytest.param(schema(title="\ud800"), id="lone surrogate"),
        pytest.param(tool(input_schema=nested(5_000)), id="5,000 deep"),
        pytest.param(tool(description=None), id="description none"),
        pytest.param(tool(description=b"d"), id="description bytes"),
        pytest.param(tool(description="\ud800"), id="description lone surrogate"),
    ],
)
def test_what_can_never_be_sent_is_refused_with_tool_and_source(wrong):
    registry = s02.ToolRegistry()
    with pytest.raises(ValueError, match=r"'a'.*mine"):
        registry.register(wrong)

    assert names(registry) == []


def test_of_three_tools_whose_third_collides_none_is_registered():
    registry = registry_of(tool(name="taken"))
    before = registry.catalog_hash()
    with pytest.raises(ValueError, match="taken"):
        registry.register(tool(name="b"), tool(name="c"), tool(name="taken"))

    assert names(registry) == ["taken"] and registry.catalog_hash() == before
    registry.register(tool(name="b"), tool(name="c"))


def test_a_frozen_registry_refuses_tools_and_still_runs_them():
    registry = returning("ran")
    registry.freeze()
    with pytest.raises(ValueError, match=r"'b'.*mine.*frozen"):
        registry.register(tool(name="b"))

    assert names(registry) == ["a"] and call(registry).content == "ran"


# --- The catalogue ---

SHUFFLED = ["b", "a", "B", "_", "-", "a0", "A", "0", "aa"]


def test_the_catalogue_is_sorted_by_code_point_whatever_the_order():
    registry = s02.ToolRegistry()
    for name in SHUFFLED:
        registry.register(tool(name=name))

    assert names(registry) == sorted(SHUFFLED)
    assert [t["name"] for t in registry.model_schemas()] == sorted(SHUFFLED)


def test_the_same_tools_give_the_same_bytes_and_hash_in_every_order():
    one, two = s02.ToolRegistry(), s02.ToolRegistry()
    one.register(*(tool(name=name) for name in SHUFFLED))
    for name in reversed(SHUFFLED):
        two.register(tool(name=name))

    assert json.dumps(one.model_schemas()) == json.dumps(two.model_schemas())
    assert json.dumps(one.definitions()) == json.dumps(two.definitions())
    assert one.catalog_hash() == two.catalog_hash()


CHILD = """
import hashlib, json
from s02_tool_dispatch import code as s02
registry = s02.build_registry(s02.Workspace("."))
print(registry.catalog_hash())
print(hashlib.sha256(json.dumps(registry.model_schemas()).encode()).hexdigest())
"""


@pytest.mark.parametrize("seed", ["0", "12345"])
def test_another_process_gives_the_same_bytes_and_hash(seed, tmp_path):
    registry = s02.build_registry(s02.Workspace(tmp_path))
    sent = json.dumps(registry.model_schemas()).encode()
    env = scrubbed_env(tmp_path, PYTHONHASHSEED=seed)
    child = subprocess.run(
        [sys.executable, "-S", "-c", CHILD], cwd=ROOT, env=env, stdout=subprocess.PIPE
    )

    expected = [registry.catalog_hash(), hashlib.sha256(sent).hexdigest()]
    assert child.stdout.decode().split() == expected


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(tool(name="b"), id="name"),
        pytest.param(tool(description="other"), id="description"),
        pytest.param(schema(title="other"), id="annotation"),
        pytest.param(schema(properties={"x": TEXT}), id="property"),
    ],
)
def test_the_hash_changes_with_anything_the_model_sees(changed):
    before = registry_of(tool()).catalog_hash()

    assert len(before) == 64 and int(before, 16) >= 0
    assert registry_of(changed).catalog_hash() != before


def test_the_hash_does_not_change_with_what_the_model_does_not_see():
    other = tool(handler=Probe("other"), source="other", concurrent_safe=True)

    assert registry_of(other).catalog_hash() == registry_of(tool()).catalog_hash()


def test_a_tool_that_is_registered_after_a_listing_is_in_the_next_one():
    registry = registry_of(tool(name="b"))
    before = registry.model_schemas(), registry.catalog_hash()
    registry.register(tool(name="a"))

    assert (
        [t["name"] for t in registry.model_schemas()] == names(registry) == ["a", "b"]
    )
    assert registry.catalog_hash() != before[1] and len(before[0]) == 1


def test_a_definition_describes_the_tool_and_holds_no_handler():
    registry = registry_of(tool(concurrent_safe=True))
    expected = {
        **{"name": "a", "description": "d", "input_schema": s02.object_schema({})},
        **{"concurrent_safe": True, "source": "mine"},
    }

    assert registry.get("a") == expected and registry.definitions() == [expected]
    assert json.loads(json.dumps(registry.definitions())) == [expected]


def test_the_model_is_shown_name_description_and_schema_only():
    shown = {"name": "a", "description": "d", "input_schema": s02.object_schema({})}

    assert registry_of(tool()).model_schemas() == [shown]
    assert tool().model_schema() == shown


@pytest.mark.parametrize("name", ["A", "a ", "", None, 5, [], {}, ("a",)])
def test_there_is_no_definition_of_an_unknown_tool(name):
    assert returning("x").get(name) is None


def test_an_empty_registry_has_an_empty_catalogue():
    registry = s02.ToolRegistry()

    assert registry.model_schemas() == registry.definitions() == []
    assert len(registry.catalog_hash()) == 64


def spoil(value):
    """Change everything that can be changed, at every depth."""
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, (dict, list)):
            spoil(inner)
    value.clear()


HANDED_OUT = [
    pytest.param(lambda registry, given: given.input_schema, id="what was registered"),
    pytest.param(lambda registry, given: registry.model_schemas(), id="model_schemas"),
    pytest.param(lambda registry, given: registry.definitions(), id="definitions"),
    pytest.param(lambda registry, given: registry.get("a"), id="get"),
    pytest.param(lambda registry, given: given.model_schema(), id="model_schema"),
]


@pytest.mark.parametrize("handed_out", HANDED_OUT)
def test_editing_what_was_handed_over_changes_no_list_and_no_check(handed_out):
    item = {"type": "object", "properties": {"n": NUMBER}, "required": ["n"]}
    listing = copy.deepcopy({"items": {"type": "array", "items": item}})
    given = spec("a", Probe("ran"), listing)
    registry = registry_of(given)
    listed = copy.deepcopy((registry.model_schemas(), registry.definitions()))
    before = registry.catalog_hash()
    spoil(handed_out(registry, given))

    assert (registry.model_schemas(), registry.definitions()) == listed
    assert registry.catalog_hash() == before
    assert call(registry, "a", {"items": [{"n": 1}]}).content == "ran"
    assert call(registry, "a", {"items": [{"n": "1"}]}).error_code == REFUSED
    assert call(registry, "a", {"x": 1}).error_code == REFUSED


def test_a_schema_is_compiled_once_by_whatever_compiles_it():
    compiled = []

    def compile_schema(schema):
        compiled.append(schema)
        return lambda value: [] if value == {} else ["no"]

    registry = registry_of(tool(), compile_schema=compile_schema)
    assert [call(registry).content, call(registry).content] == ["done", "done"]
    assert call(registry, "a", {"x": 1}).error_code == REFUSED
    assert compiled == [s02.object_schema({})]


def test_listing_is_safe_while_another_thread_registers():
    registry, done, seen = s02.ToolRegistry(), threading.Event(), []

    def lister():
        while not done.is_set():
            seen.append((registry.model_schemas(), registry.definitions()))

    thread = threading.Thread(target=lister)
    thread.start()
    for number in range(150):
        registry.register(tool(name=f"t{number}"))
    done.set()
    thread.join()
    for lists in seen:
        for listed in lists:
            assert [t["name"] for t in listed] == sorted(t["name"] for t in listed)


# --- Looking up ---


@pytest.mark.parametrize(
    "name",
    [
        *["read_file ", " read_file", "Read_File", "READ_FILE", "functions.read_file"],
        *["read_file\n", "read-file", "read_file()", "readfile", "", None, 5, [], {}],
    ],
)
def test_an_unknown_name_runs_nothing_and_lists_the_tools(name):
    probe = Probe()
    registry = registry_of(probe.spec("read_file"), probe.spec("glob"))
    result = call(registry, name)

    assert (result.ok, result.error_code) == (False, "unknown_tool")
    assert result.content.startswith("Error [unknown_tool]: ")
    assert "glob" in result.content and "read_file" in result.content
    assert probe.got == []


def test_an_unknown_name_beside_a_valid_call_costs_it_nothing():
    registry = returning("ran")
    results = registry.dispatch_many(calls("nobody", "a"))

    assert [result.error_code for result in results] == ["unknown_tool", None]
    assert results[1].content == "ran"


@pytest.mark.parametrize("name", ["n" * 5_000_000, "\ud800" * 1_000, "\x1b[2J\0"])
def test_an_unknown_name_of_any_size_and_kind_is_answered_in_bounds(name):
    result = call(returning("x"), name)

    assert result.error_code == "unknown_tool" and len(result.content) < 5_000
    assert "\0" not in result.content and result.content.encode()


def test_the_list_of_known_names_is_bounded():
    registry = registry_of(*(tool(name=f"{i:064}") for i in range(1_000)))
    result = call(registry, "nobody")

    assert result.error_code == "unknown_tool" and len(result.content) < 10_000


# --- Arguments ---

OPTIONAL = {"s": TEXT, "n": NUMBER, "o": {"type": "object"}}


@pytest.mark.parametrize(
    "arguments, came",
    [
        pytest.param('{"s": "x"}', "string", id="JSON as text"),
        pytest.param("", "string", id="empty text"),
        pytest.param(None, "null", id="null"),
        pytest.param([1], "array", id="array"),
        pytest.param([], "array", id="empty array"),
        pytest.param([["s", "x"]], "array", id="pairs"),
        pytest.param(5, "integer", id="integer"),
        pytest.param(5.5, "number", id="number"),
        pytest.param(False, "boolean", id="boolean"),
    ],
)
def test_arguments_that_are_no_object_are_refused_by_their_type(arguments, came):
    probe = Probe()
    result = call(registry_of(probe.spec("a", OPTIONAL)), "a", arguments)

    assert result.error_code == REFUSED and came in result.content
    assert probe.got == []


@pytest.mark.parametrize(
    "words", ['{"a":1}', "5", "true", "null", "", " ", "1e3", "[1]", "\u4f60", "a\0b"]
)
def test_a_text_arrives_as_the_identical_text(words):
    probe = Probe()
    result = call(registry_of(probe.spec("a", OPTIONAL)), "a", {"s": words})

    assert result.ok and probe.got == [{"s": words}]


@pytest.mark.parametrize("number", [5, 5.0, 0, -1, 10**30])
def test_a_whole_number_arrives_as_it_came(number):
    probe = Probe()
    result = call(registry_of(probe.spec("a", OPTIONAL)), "a", {"n": number})

    assert result.ok and type(probe.got[0]["n"]) is type(number)


@pytest.mark.parametrize(
    "arguments, words",
    [
        pytest.param({"n": 5.5}, ["n", "integer", "number"], id="fraction"),
        pytest.param({"n": "5"}, ["n", "integer", "string"], id="text"),
        pytest.param({"n": True}, ["n", "integer", "boolean"], id="boolean"),
        pytest.param({"s": 5}, ["s", "string", "integer"], id="number for text"),
        pytest.param({"s": None}, ["s", "null", "omit it"], id="null for optional"),
        pytest.param({"o": []}, ["o", "object", "array"], id="array for object"),
        pytest.param({"extra": 1}, ["extra", "s", "n", "o"], id="extra argument"),
        pytest.param({"S": "x"}, ["S", "s, n, o"], id="name in capitals"),
        pytest.param({"": "x"}, ["s, n, o"], id="empty name"),
        pytest.param({"n": math.nan}, ["n"], id="not a number"),
        pytest.param({"n": "x", "s": 5}, ["n must", "s must"], id="two wrong"),
    ],
)
def test_a_wrong_argument_is_named_and_the_handler_does_not_run(arguments, words):
    probe = Probe()
    result = call(registry_of(probe.spec("a", OPTIONAL)), "a", arguments)

    assert result.error_code == REFUSED and probe.got == []
    assert result.content.startswith("Error [invalid_arguments]: ")
    assert all(word in result.content for word in words)


def test_an_extra_argument_is_never_told_as_a_python_signature():
    result = call(registry_of(spec("a", lambda s="": s, {"s": TEXT})), "a", {"x": 1})

    assert result.error_code == REFUSED
    assert "keyword" not in result.content and "lambda" not in result.content


def test_all_missing_arguments_are_named():
    probe = Probe()
    registry = registry_of(probe.spec("a", OPTIONAL, ["s", "n"]))

    for arguments, missing in [({}, "sn"), ({"s": "x"}, "n"), ({"n": 1}, "s")]:
        content = call(registry, "a", arguments).content
        assert [name for name in "sn" if f"{name} is missing" in content] == [*missing]
    assert probe.got == []


def test_null_for_a_required_argument_is_not_to_be_omitted():
    registry = registry_of(Probe().spec("a", OPTIONAL, ["s"]))
    result = call(registry, "a", {"s": None})

    assert "s must be a string, got null" in result.content
    assert "omit it" not in result.content


def test_a_problem_inside_lists_and_objects_is_told_with_its_path():
    edit = s02.object_schema({"path": TEXT, "new": TEXT}, ["path"])
    probe = Probe()
    registry = registry_of(probe.spec("a", {"edits": {"type": "array", "items": edit}}))
    fine = {"path": "x"}
    result = call(registry, "a", {"edits": [fine, fine, {"path": None}, {"x": 1}]})

    assert "edits[2].path must be a string, got null" in result.content
    assert "edits[3].path" in result.content and "edits[3].x" in result.content
    assert probe.got == []


def test_a_tool_without_arguments_runs_with_an_empty_object():
    assert call(returning("ran"), "a", {}).content == "ran"


def test_a_thousand_problems_are_told_in_bounds():
    registry = registry_of(Probe().spec("a", OPTIONAL))
    arguments = {f"{'x' * 1_000}{number}": number for number in range(5_000)}
    result = call(registry, "a", arguments)

    assert result.error_code == REFUSED
    assert len(result.content) <= s02.MAX_RESULT_CHARS


def test_the_handler_gets_the_arguments_and_nothing_else():
    probe = Probe()
    call(registry_of(probe.spec("a", OPTIONAL)), "a", {"n": 1, "o": {"x": [None]}})

    assert probe.got == [{"n": 1, "o": {"x": [None]}}]


def test_default_and_examples_of_a_schema_give_no_value():
    probe = Probe()
    filled = {"n": {**NUMBER, "default": 5, "examples": [6]}}
    call(registry_of(probe.spec("a", filled)), "a", {})

    assert probe.got == [{}]


AWKWARD = [
    "self",
    "cls",
    "call",
    "name",
    "handler",
    "args",
    "kwargs",
    "registry",
    "def",
]


def taking_all(**arguments):
    return arguments


class Kinds:
    def method(self, **arguments):
        return arguments

    def hidden(self, /, **arguments):
        return arguments

    @classmethod
    def of_class(cls, **arguments):
        return arguments

    @staticmethod
    def of_none(**arguments):
        return arguments

    def __call__(self, **kwargs):
        return kwargs


def with_first(name, call=None, **arguments):
    return {"call": call, **arguments} if call else arguments


HANDLERS = {
    "function": taking_all,
    "lambda": lambda **kwargs: kwargs,
    "method": Kinds().method,
    "positional only": Kinds().hidden,
    "classmethod": Kinds.of_class,
    "staticmethod": Kinds.of_none,
    "object": Kinds(),
    "partial": functools.partial(with_first, "given"),
    "partial by name": functools.partial(taking_all, kwargs=1),
    "partial of a method": functools.partial(Kinds().method, name=5),
    "partial of a partial": functools.partial(functools.partial(with_first, 1), 2),
}


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("handler", HANDLERS)
def test_a_field_of_any_name_arrives_or_is_refused_at_registration(handler, name):
    try:
        registry = registry_of(spec("a", HANDLERS[handler], {name: TEXT}, [name]))
    except ValueError as error:
        assert name in str(error) and handler not in ("function", "lambda")
        return

    result = call(registry, "a", {name: "x"})

    assert result.ok and json.loads(result.content)[name] == "x"
