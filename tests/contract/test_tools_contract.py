"""What every registered tool must keep, whatever it does.

A tool that is added is tested at once; it only needs a row in each table below.
"""

from __future__ import annotations

import copy
from itertools import pairwise

import pytest

from s02_tool_dispatch import code as s02
from tests.chapters import ROOT

SAMPLE = {  # arguments that work in the folder that `workspace` makes
    "read_file": {"path": "a.txt"},
    "write_file": {"path": "new/b.txt", "content": "b\n"},
    "edit_file": {"path": "a.txt", "old_text": "two", "new_text": "2"},
    "glob": {"pattern": "**/*.txt"},
    "bash": {"command": "cat a.txt"},
}
FAILING = {  # arguments that fit the schema and cannot work: the code they fail with
    "read_file": ({"path": "missing.txt"}, "file_not_found"),
    "write_file": ({"path": "folder", "content": ""}, "is_a_directory"),
    "edit_file": ({"path": "a.txt", "old_text": "x", "new_text": ""}, "not_found"),
    "glob": ({"pattern": "../*"}, "invalid_pattern"),
    "bash": ({"command": "exit 3"}, "nonzero_exit"),
}
TOOLS = [t["name"] for t in s02.build_registry(s02.Workspace(ROOT)).definitions()]


class Subject:
    """One tool, in a registry of all of them, over a small folder."""

    def __init__(self, name, folder):
        self.name, self.folder, self.records = name, folder, []
        workspace = s02.Workspace(folder)
        self.registry = s02.build_registry(workspace, trace=self.records.append)
        self.definition = self.registry.get(name)
        self.schema = self.definition["input_schema"]

    def call(self, arguments):
        given = copy.deepcopy(arguments)
        return self.registry.dispatch(s02.ToolCall("t1", self.name, given))

    def calls(self, count):
        given = [copy.deepcopy(SAMPLE[self.name]) for _ in range(count)]
        return [s02.ToolCall(f"t{i}", self.name, g) for i, g in enumerate(given)]

    def state(self):
        """Every file of the folder with its bytes."""
        files = sorted(self.folder.rglob("*"))
        return [(p.name, p.read_bytes() if p.is_file() else None) for p in files]


# --- The promises ---


def has_a_description(tool):
    description = tool.definition["description"]

    assert len(description.split()) >= 5 and description.strip() == description


def has_a_closed_schema_at_every_depth(tool):
    assert tool.schema["type"] == "object"
    for node in objects_in(tool.schema):
        assert node["additionalProperties"] is False


def objects_in(schema):
    if schema.get("type") == "object":
        yield schema
    items = [schema["items"]] if "items" in schema else []
    for part in [*schema.get("properties", {}).values(), *items]:
        yield from objects_in(part)


def returns_text(tool):
    result = tool.call(SAMPLE[tool.name])

    assert result.ok, result.content
    assert isinstance(result.content, str) and result.content.strip()
    assert result.content.encode() and "\0" not in result.content


def refuses_an_unknown_argument(tool):
    before = tool.state()
    result = tool.call({**SAMPLE[tool.name], "surprise": 1})

    assert result.error_code == "invalid_arguments" and "surprise" in result.content
    assert all(name in result.content for name in tool.schema["properties"])
    assert tool.state() == before


def refuses_a_missing_argument_null_and_the_wrong_type(tool):
    sample, required = SAMPLE[tool.name], tool.schema["required"]
    less = [(n, {k: v for k, v in sample.items() if k != n}) for n in required]
    odd = [(n, {**sample, n: w}) for n in tool.schema["properties"] for w in (None, [])]
    for name, arguments in less + odd:
        result = tool.call(arguments)
        assert result.error_code == "invalid_arguments" and name in result.content


def fails_with_a_code_of_its_own_and_changes_nothing(tool):
    arguments, code = FAILING[tool.name]
    before = tool.state()
    result = tool.call(arguments)

    assert result.error_code == code
    assert result.content.startswith(f"Error [{code}]: ")
    assert str(tool.folder) not in result.content
    assert tool.state() == before


def leaves_one_record_for_each_call(tool):
    tool.call(SAMPLE[tool.name])
    tool.call(FAILING[tool.name][0])
    tool.call({})

    outcomes = [record.outcome for record in tool.records]
    assert outcomes == ["ok", FAILING[tool.name][1], "invalid_arguments"]
    assert {record.name for record in tool.records} == {tool.name}


def declares_truly_whether_it_is_safe_side_by_side(tool):
    before = tool.state()
    alone = tool.call(SAMPLE[tool.name]).content
    is_safe = tool.definition["concurrent_safe"]
    if is_safe:
        results = tool.registry.dispatch_many(tool.calls(16))
        assert {result.content for result in results} == {alone}
        assert tool.state() == before
        return
    tool.registry.dispatch_many(tool.calls(3))
    spans = [(r.started, r.started + r.seconds) for r in tool.records]
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


PROMISES = [
    *[has_a_description, has_a_closed_schema_at_every_depth, returns_text],
    *[refuses_an_unknown_argument, refuses_a_missing_argument_null_and_the_wrong_type],
    *[fails_with_a_code_of_its_own_and_changes_nothing],
    *[leaves_one_record_for_each_call, declares_truly_whether_it_is_safe_side_by_side],
]


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "folder" / "c.txt").write_text("c\n")
    return tmp_path


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
@pytest.mark.parametrize("name", TOOLS)
def test_every_registered_tool(name, promise, workspace):
    assert name in SAMPLE and name in FAILING, f"add {name} to the tables above"
    promise(Subject(name, workspace))


def test_there_are_five_tools_and_only_what_changes_nothing_is_safe_side_by_side():
    tools = s02.build_registry(s02.Workspace(ROOT)).definitions()

    assert TOOLS == sorted(SAMPLE) == sorted(FAILING) and len(TOOLS) == 5
    assert [t["name"] for t in tools if t["concurrent_safe"]] == ["glob", "read_file"]
