"""Registration fails strictly, the catalogue is fixed, bad arguments reach no tool."""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import math
import re
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


def refused(*specs):
    """Why these tools are refused; the registry stays empty."""
    registry = s02.ToolRegistry()
    with pytest.raises(ValueError) as caught:
        registry.register(*specs)
    assert names(registry) == []
    return str(caught.value)


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
    assert "mine" in refused(tool(name=name))


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
    said = refused(tool(source="one"), tool(source="two"))
    again = tool()

    assert "one" in said and "two" in said and "mine" in refused(again, again)


# --- Handlers ---


class Methods:
    def take(self, a, b=1):
        return f"{a} {b}"

    @classmethod
    def of_class(cls, a, b=1):
        return f"{a} {b}"


FITTING = [
    *[lambda a, b=1: f"{a} {b}", lambda a, **more: f"{a} {more['b']}"],
    *[lambda *, a, b=1: f"{a} {b}", lambda *, b=1, a, c=2: f"{a} {b}"],
    *[Methods().take, Methods.of_class],
    functools.partial(lambda x, a, b=1: f"{a} {b}", 0),
    functools.partial(lambda a, x, b=1: f"{a} {b}", x=0),
]


@pytest.mark.parametrize("handler", FITTING)
def test_a_handler_that_takes_what_the_schema_lets_through_is_accepted(handler):
    registry = registry_of(spec("a", handler, {"a": NUMBER, "b": NUMBER}, ["a"]))

    assert call(registry, "a", {"a": 1, "b": 2}).content == "1 2"


MISFITS = {
    **{"takes nothing": lambda: 0, "one too few": lambda a: 0},
    **{"the other one": lambda b: 0, "needs an optional one": lambda a, b: 0},
    **{"needs what is no property": lambda a, c, b=1: 0, "no handler": None},
    **{"needs another keyword": lambda a, b=1, *, c: 0, "a name": "a"},
    **{"takes positions only": lambda a, b=1, /: 0, "any position": lambda *args: 0},
    **{"method without its object": Methods.take, "no signature to be had": max},
}


@pytest.mark.parametrize("handler", MISFITS)
def test_a_handler_that_cannot_take_it_is_refused_with_tool_and_source(handler):
    misfit = spec("a", MISFITS[handler], {"a": NUMBER, "b": NUMBER}, ["a"], source="me")

    assert re.search("'a'.*'me'", refused(misfit))


@pytest.mark.parametrize("keywords", [{}, {"additionalProperties": True}])
def test_an_open_schema_needs_a_handler_that_takes_any_keyword(keywords):
    is_open = {"type": "object", "properties": {"a": NUMBER}, **keywords}
    assert "mine" in refused(tool(input_schema=is_open, handler=lambda a=1: 0))

    registry = registry_of(tool(input_schema=is_open, handler=Probe("ran")))
    assert call(registry, "a", {"a": 1, "other": "x"}).content == "ran"


# --- Schemas and other mistakes ---


UNKNOWN = {"n": s02.object_schema({}, ["x"])}


@pytest.mark.parametrize(
    "wrong, why",
    [
        (schema(properties={"n": {"pattern": "x"}}), "properties.n.pattern"),
        (schema(properties={"n": {"maximum": "3"}}), "properties.n.maximum"),
        (schema(properties=UNKNOWN), "properties.n.required"),
        (schema(properties={"n": {"items": {"not": {}}}}), "properties.n.items.not"),
        *[
            (tool(input_schema=wrong), "")
            for wrong in (None, [], "{}", {}, nested(5_000))
        ],
        *[(schema(default=wrong), "") for wrong in ({1, 2}, math.nan)],
        *[(tool(description=wrong), "") for wrong in (None, b"d", "\ud800", "", " ")],
        (schema(title="\ud800"), ""),
    ],
)
def test_what_cannot_be_enforced_or_sent_is_refused_with_tool_and_source(wrong, why):
    assert re.search(f"(?s)'a'.*mine.*{re.escape(why)}", refused(wrong))


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


def test_the_catalogue_is_sorted_and_the_same_bytes_and_hash_in_every_order():
    one, two = s02.ToolRegistry(), s02.ToolRegistry()
    one.register(*(tool(name=name) for name in SHUFFLED))
    turned = dict(reversed(s02.object_schema({}).items()))
    for name in reversed(SHUFFLED):
        two.register(tool(name=name, input_schema=turned))

    assert [t["name"] for t in one.model_schemas()] == names(two) == sorted(SHUFFLED)
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
    "changed, is_seen",
    [
        (tool(name="b"), True),
        (tool(description="other"), True),
        (schema(title="other"), True),
        (schema(properties={"x": TEXT}), True),
        (tool(handler=Probe("x"), source="other", concurrent_safe=True), False),
    ],
    ids=["name", "description", "annotation", "property", "unseen"],
)
def test_the_hash_changes_with_what_the_model_sees_and_nothing_else(changed, is_seen):
    before = registry_of(tool()).catalog_hash()

    assert len(before) == 64 and int(before, 16) >= 0
    assert (registry_of(changed).catalog_hash() != before) == is_seen


def test_a_tool_that_is_registered_after_a_listing_is_in_the_next_one():
    registry = s02.ToolRegistry()
    assert registry.model_schemas() == registry.definitions() == []
    hashes = {registry.catalog_hash()}
    for name, listed in [("b", ["b"]), ("a", ["a", "b"])]:
        registry.register(tool(name=name))
        hashes.add(registry.catalog_hash())
        assert [t["name"] for t in registry.model_schemas()] == names(registry)
        assert names(registry) == listed

    assert {len(hash_) for hash_ in hashes} == {64} and len(hashes) == 3


def test_a_definition_holds_no_handler_and_the_model_is_shown_three_parts_of_it():
    given = tool(concurrent_safe=True)
    registry = registry_of(given)
    shown = {"name": "a", "description": "d", "input_schema": s02.object_schema({})}
    whole = {**shown, "concurrent_safe": True, "source": "mine"}

    assert registry.get("a") == whole and registry.definitions() == [whole]
    assert registry.model_schemas() == [shown] == [given.model_schema()]


def spoil(value):
    """Change everything that can be changed, at every depth."""
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, (dict, list)):
            spoil(inner)
    value.clear()


HANDED_OUT = {
    "what was registered": lambda registry, given: given.input_schema,
    "model_schemas": lambda registry, given: registry.model_schemas(),
    "definitions": lambda registry, given: registry.definitions(),
    "get": lambda registry, given: registry.get("a"),
    "model_schema": lambda registry, given: given.model_schema(),
}


@pytest.mark.parametrize("handed_out", HANDED_OUT)
def test_editing_what_was_handed_over_changes_no_list_and_no_check(handed_out):
    item = {"type": "object", "properties": {"n": NUMBER}, "required": ["n"]}
    listing = copy.deepcopy({"items": {"type": "array", "items": item}})
    given = spec("a", Probe("ran"), listing)
    registry = registry_of(given)
    listed = copy.deepcopy((registry.model_schemas(), registry.definitions()))
    before = registry.catalog_hash()
    spoil(HANDED_OUT[handed_out](registry, given))

    assert (registry.model_schemas(), registry.definitions()) == listed
    assert registry.catalog_hash() == before
    assert call(registry, "a", {"items": [{"n": 1}]}).content == "ran"
    for wrong in ({"items": [{"n": "1"}]}, {"x": 1}):
        assert call(registry, "a", wrong).error_code == REFUSED


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
            seen.extend((registry.model_schemas(), registry.definitions()))

    thread = threading.Thread(target=lister)
    thread.start()
    for number in range(150):
        registry.register(tool(name=f"t{number}"))
    done.set()
    thread.join()
    for listed in seen:
        assert [t["name"] for t in listed] == sorted(t["name"] for t in listed)


# --- Looking up ---


@pytest.mark.parametrize(
    "name",
    [
        *["read_file ", " read_file", "Read_File", "READ_FILE", "functions.read_file"],
        *["read_file\n", "read-file", "read_file()", "readfile", "", None, 5, [], {}],
        *["n" * 5_000_000, "\ud800" * 1_000, "\x1b[2J\0", ("read_file",)],
    ],
    ids=lambda name: repr(name)[:20],
)
def test_an_unknown_name_runs_nothing_and_lists_the_tools(name):
    probe = Probe()
    registry = registry_of(probe.spec("read_file"), probe.spec("glob"))
    result, fine = registry.dispatch_many([s02.ToolCall("t", name, {}), *calls("glob")])

    assert (result.ok, result.error_code) == (False, "unknown_tool")
    assert result.content.startswith("Error [unknown_tool]: there is no tool ")
    assert "glob, read_file" in result.content and len(result.content) < 1_000
    assert fine.ok and probe.got == [{}] and registry.get(name) is None


def test_the_list_of_known_names_is_bounded():
    registry = registry_of(*(tool(name=f"{i:064}") for i in range(1_000)))

    assert 1_000 < len(call(registry, "nobody").content) < 10_000


# --- Arguments ---

WORDS = ['{"a":1}', "5", "true", "null", "", " ", "1e3", "[1]", "\u4f60", "a\0b"]
INNER = {"path": TEXT, "new": {**TEXT, "default": "x", "examples": ["y"]}}
ARGUMENTS = {
    **{"s": TEXT, "n": {**NUMBER, "default": 5}, "o": {"type": "object"}},
    **{"edits": {"type": "array", "items": s02.object_schema(INNER, ["path"])}},
}


@pytest.mark.parametrize(
    "arguments",
    [
        *[{"s": words} for words in WORDS],
        *[{"n": number} for number in (5, 5.0, 0, -1, 10**30)],
        *[{}, {"n": 1, "o": {"x": [None]}}, {"edits": [{"path": "x"}]}],
    ],
)
def test_valid_arguments_and_nothing_else_arrive_as_they_came(arguments):
    probe = Probe()
    result = call(registry_of(probe.spec("a", ARGUMENTS)), "a", arguments)

    assert result.ok and repr(probe.got) == repr([arguments])


@pytest.mark.parametrize(
    "arguments, words",
    [
        *[('{"s": "x"}', ["string"]), ("", ["string"]), (None, ["null"])],
        *[([1], ["array"]), ([], ["array"]), ([["s", "x"]], ["array"])],
        *[(5, ["integer"]), (5.5, ["number"]), (False, ["boolean"])],
        ({"s": "", "n": 5.5}, ["n must be an integer, got number"]),
        ({"s": "", "n": True}, ["n must be an integer, got boolean"]),
        ({"n": "x", "s": None}, ["n must", "s must be a string, got null"]),
        ({"s": "", "o": []}, ["o must be an object, got array"]),
        ({"s": "", "o": None}, ["o must be an object, got null: omit it"]),
        ({"s": "", "extra": 1}, ["extra is unexpected; accepted: s, n, o, edits"]),
        ({"S": "x", "": "x"}, ["S is unexpected", "s is missing"]),
        ({"s": "", "n": math.nan}, ["n must be a finite number"]),
        ({"s": "", "\ud800": object()}, ["accepted: s, n, o, edits"]),
        ({"s": "", "edits": [{"path": ""}, {"x": 1}]}, ["edits[1].path", "edits[1].x"]),
    ],
)
def test_a_wrong_argument_is_named_and_the_handler_does_not_run(arguments, words):
    probe = Probe()
    result = call(registry_of(probe.spec("a", ARGUMENTS, ["s"])), "a", arguments)

    assert result.error_code == REFUSED and probe.got == []
    assert result.content.startswith("Error [invalid_arguments]: ")
    assert all(word in result.content for word in words) and result.content.encode()


AWKWARD = ["self", "cls", "call", "name", "handler", "args", "kwargs", "def", "source"]


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


partial = functools.partial
HANDLERS = {
    **{"function": taking_all, "lambda": lambda **kwargs: kwargs, "object": Kinds()},
    **{"method": Kinds().method, "positional only": Kinds().hidden},
    **{"classmethod": Kinds.of_class, "staticmethod": Kinds.of_none},
    **{"partial": partial(with_first, "x"), "by name": partial(taking_all, kwargs=1)},
    "partial of a method": partial(Kinds().method, name=5),
    "partial of a partial": partial(partial(with_first, 1), 2),
}


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("handler", HANDLERS)
def test_a_field_of_any_name_arrives_or_is_refused_at_registration(handler, name):
    try:
        registry = registry_of(spec("a", HANDLERS[handler], {name: TEXT}, [name]))
    except ValueError as error:
        assert name in str(error) and handler not in ("function", "lambda")
    else:
        result = call(registry, "a", {name: "x"})
        assert result.ok and json.loads(result.content)[name] == "x"
