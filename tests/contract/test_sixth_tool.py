"""The page's sixth tool keeps every promise that the five keep."""

from __future__ import annotations

import pytest

from s02_tool_dispatch import code as s02
from tests.contract import test_tools_contract as contract
from tests.contract.sixth_tool import sixth_tool


class SixthSubject(contract.Subject):
    """The same subject, in a registry that has one tool more."""

    def __init__(self, folder):
        self.name, self.folder, self.records = "count_lines", folder, []
        workspace = s02.Workspace(folder)
        self.registry = s02.build_registry(workspace, trace=self.records.append)
        self.registry.register(sixth_tool(workspace))
        self.definition = self.registry.get(self.name)
        self.schema = self.definition["input_schema"]


@pytest.mark.parametrize("promise", contract.PROMISES, ids=lambda p: p.__name__)
def test_the_sixth_tool_of_the_page_passes_the_contract(promise, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    monkeypatch.setitem(contract.SAMPLE, "count_lines", {"path": "a.txt"})
    failing = ({"path": "missing.txt"}, "file_not_found")
    monkeypatch.setitem(contract.FAILING, "count_lines", failing)

    promise(SixthSubject(tmp_path))


def test_the_sixth_tool_counts_lines_as_the_chapter_does(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\nthree")
    subject = SixthSubject(tmp_path)

    assert subject.call({"path": "a.txt"}).content == "a.txt has 3 lines"
    assert len(subject.registry.definitions()) == 6
