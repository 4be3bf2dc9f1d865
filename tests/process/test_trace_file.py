"""`--trace FILE`: what ran, how long, what failed and why, from the file alone."""

from __future__ import annotations

import json
import os
import stat
import sys
from itertools import pairwise

import pytest

from s02_tool_dispatch import code as s02
from tests.chapters import chapter_copy, run_chapter, scrubbed_env

CHAPTER = "s02_tool_dispatch"
KEYS = {"tool_use_id", "name", "started", "seconds", "outcome", "chars", "detail"}
IN_THE_DEMO = [
    ("read_file", "ok"),
    ("read_file", "ok"),
    ("write_file", "ok"),
    ("read_file", "ok"),
    ("read_file", "invalid_arguments"),
    ("read_file", "ok"),
    ("delete_file", "unknown_tool"),
    ("read_file", "execution_error"),
    ("bash", "ok"),
    ("deploy", "execution_error"),
]


@pytest.fixture
def demo(tmp_path):
    """Run the demo with a trace file, from the folder that holds it."""
    repo = chapter_copy(tmp_path)

    def run(name, **env):
        traced = ["--trace", str(name)] if name else []
        env = scrubbed_env(tmp_path / "home", **env)
        return run_chapter(repo, CHAPTER, "--demo", *traced, env=env, cwd=tmp_path)

    return run


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """The header and the records of one demo."""
    folder = tmp_path_factory.mktemp("traced")
    env = scrubbed_env(folder / "home")
    options = ["--demo", "--trace", "trace.jsonl"]
    run_chapter(chapter_copy(folder), CHAPTER, *options, env=env, cwd=folder)
    header, *records = (folder / "trace.jsonl").read_text().splitlines()
    return json.loads(header), [json.loads(record) for record in records]


def test_the_header_names_the_catalogue_the_limits_and_the_python(traced, tmp_path):
    header, _ = traced
    registry = s02.ToolRegistry()
    registry.register(*s02.demo_tools(tmp_path))

    assert header["catalog_hash"] == registry.catalog_hash()
    assert header["limits"]["MAX_RESULT_CHARS"] == s02.MAX_RESULT_CHARS
    assert header["limits"]["MAX_WORKERS"] == s02.MAX_WORKERS
    assert header["python"].startswith(f"{sys.version_info[0]}.{sys.version_info[1]}")


def test_there_is_one_record_for_each_call_refused_ones_too(traced):
    _, records = traced

    assert [(one["name"], one["outcome"]) for one in records] == IN_THE_DEMO
    assert {frozenset(one) for one in records} == {frozenset(KEYS)}
    assert len({one["tool_use_id"] for one in records}) == len(records)


def test_the_times_tell_what_came_after_what(traced):
    _, records = traced
    spans = [(one["started"], one["started"] + one["seconds"]) for one in records]

    assert all(began <= ended for began, ended in spans)
    assert max(spans[0][1], spans[1][1]) <= spans[2][0]  # these two side by side
    assert all(ended <= began for (_, ended), (began, _) in pairwise(spans[1:]))


def test_a_record_says_how_long_the_result_is_and_why_a_call_failed(traced):
    _, records = traced
    failed = [one for one in records if one["outcome"] != "ok"]

    assert records[0]["chars"] + records[1]["chars"] == sum(map(len, DEMO_FILES))
    assert all("Traceback" in one["detail"] for one in failed)
    assert "../secret.txt" in failed[-2]["detail"]
    assert {one["detail"] for one in records if one["outcome"] == "ok"} == {""}


def test_of_a_surprise_the_trace_has_the_words_and_the_model_the_type(traced, demo):
    _, records = traced
    kept = records[-1]["detail"].splitlines()[-1]
    *screen, model, operator = demo(None).stdout.splitlines()

    assert operator == f"  operator  {kept}" and "tok-live" in kept
    assert model.startswith("  model     Error [execution_error]: ")
    assert "RuntimeError" in model and "tok-live" not in "".join([*screen, model])


DEMO_FILES = ["Friday: ship\nMonday: rest\n", "the tests are green\n"]


def test_a_trace_changes_nothing_on_the_screen(demo):
    assert demo("trace.jsonl").stdout == demo(None).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no mode bits")
@pytest.mark.parametrize("before", [None, 0o644, 0o400])
def test_a_trace_file_is_new_and_for_its_owner_alone(demo, tmp_path, before):
    path = tmp_path / "trace.jsonl"
    if before is not None:
        path.write_text("an old trace\n" * 1_000)
        path.chmod(before)
    held = path.open() if before else None
    ran = demo(path.name)

    assert (ran.returncode, ran.stderr) == (0, "")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(path.read_text().splitlines()) == 1 + len(IN_THE_DEMO)
    if held:  # who had the old file open sees nothing of the new one
        assert "catalog_hash" not in held.read()
        held.close()


@pytest.mark.skipif(sys.platform == "win32", reason="on Windows a link is a privilege")
def test_a_link_is_replaced_and_what_it_led_to_is_kept(demo, tmp_path):
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "trace.jsonl").symlink_to("precious")
    ran = demo("trace.jsonl")

    assert ran.returncode == 0
    assert (tmp_path / "precious").read_text() == "kept"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("home", id="a-folder"),
        pytest.param("no/where/trace.jsonl", id="in-no-folder"),
        pytest.param("a_file/trace.jsonl", id="under-a-file"),
        pytest.param("x" * 300, id="a-name-too-long"),
    ],
)
def test_a_trace_that_cannot_be_opened_is_one_sentence_that_names_it(
    demo, tmp_path, name
):
    (tmp_path / "a_file").write_text("")
    ran = demo(name)

    assert ran.returncode in (1, 2)
    assert "Traceback" not in ran.stderr
    assert name in (ran.stdout + ran.stderr).splitlines()[-1]
    assert "> read_file" not in ran.stdout


@pytest.mark.not_root
def test_a_trace_in_a_folder_without_permission_is_one_sentence(demo, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    if os.access(tmp_path / "locked", os.W_OK):
        pytest.skip("root may write everywhere")
    ran = demo("locked/trace.jsonl")

    assert ran.returncode in (1, 2) and "Traceback" not in ran.stderr
    assert "locked/trace.jsonl" in (ran.stdout + ran.stderr).splitlines()[-1]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_loses_no_result_and_is_reported_once(demo):
    ran = demo("/dev/full")

    assert (ran.returncode, ran.stdout) == (0, demo(None).stdout)
    assert ran.stderr.count("\n") == 1 and "OSError" in ran.stderr
