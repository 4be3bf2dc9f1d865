"""write_file stores exactly its content, and never over what was not seen."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from s02_tool_dispatch import code as s02


@pytest.fixture
def workspace(tmp_path):
    return s02.Workspace(tmp_path)


@pytest.fixture
def file(tmp_path):
    """A file that somebody made before the session."""
    (tmp_path / "f").write_bytes(b"old content\n")
    return tmp_path / "f"


def refusal(tool, *arguments) -> s02.ToolFailure:
    """The failure of a call that must fail."""
    with pytest.raises(s02.ToolFailure) as caught:
        tool(*arguments)
    return caught.value


# --- Exactly the content ---


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("", id="empty"),
        pytest.param("a\nb\r\nc\n", id="mixed line ends"),
        pytest.param("a\rb", id="lone CR, no final newline"),
        pytest.param("&lt;a&gt; &amp; \\u2019 \\n %s {x} $HOME `ls`", id="escapes"),
        pytest.param("\ufeffBOM", id="BOM"),
        pytest.param("\u2019 \u65e5\u672c \U0001f600\n", id="wide"),
        pytest.param("a\0b\x1b[31m\x0c\u2028", id="controls"),
        pytest.param("\t x \n\n", id="white space"),
        pytest.param("x" * 3_000_000, id="3 MB"),
    ],
)
def test_the_file_holds_the_content_as_utf8_and_nothing_else(
    content, workspace, tmp_path
):
    said = workspace.write_file("a/b/new", content)  # its folders are made
    assert (tmp_path / "a/b/new").read_bytes() == content.encode()
    assert str(len(content.encode())) in said
    assert listing(tmp_path) == ["a", "a/b", "a/b/new"]


def test_a_new_file_gets_the_mode_that_any_program_gives_it(workspace, tmp_path):
    workspace.write_file("new", "x")
    subprocess.run(["touch", tmp_path / "usual"], check=True)
    modes = {(tmp_path / name).stat().st_mode for name in ("new", "usual")}
    assert len(modes) == 1


# --- What is kept ---


@pytest.mark.parametrize("mode", [0o755, 0o640, 0o600, 0o666])
@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
def test_an_existing_file_keeps_its_mode_and_its_owner(tool, mode, workspace, file):
    owner = (12_345, 23_456) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    os.chown(file, *owner)
    file.chmod(mode)
    workspace.read_file("f")
    change(workspace, tool)
    status = file.stat()
    assert file.read_bytes() == b"new content\n"
    assert (status.st_uid, status.st_gid) == owner
    assert stat.S_IMODE(status.st_mode) == mode


def change(workspace, tool) -> None:
    """Change `f` with either tool."""
    if tool == "write_file":
        workspace.write_file("f", "new content\n")
    else:
        workspace.edit_file("f", "old", "new")


@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
def test_a_link_inside_stays_a_link_and_a_hard_link_is_broken(tool, tmp_path, file):
    workspace = s02.Workspace(tmp_path)
    file.rename(tmp_path / "real")
    os.link(tmp_path / "real", tmp_path / "twin")
    file.symlink_to("real")
    workspace.read_file("f")
    change(workspace, tool)
    assert os.readlink(file) == "real"
    assert (tmp_path / "real").read_bytes() == b"new content\n"
    assert (tmp_path / "twin").read_bytes() == b"old content\n"


# --- Never over what the session has not seen ---


def do(workspace, steps) -> None:
    """Call tools one after the other, whatever comes of it."""
    for name, *arguments in steps:
        with suppress(s02.ToolFailure):
            getattr(workspace, name)(*arguments)


# fmt: off
UNSEEN = [
    ([], "nothing was read"),
    ([("glob", "*")], "only listed"),
    ([("read_file", "f", 9)], "read past the end"),
    ([("read_file", "f/x")], "read as a folder"),
    ([("edit_file", "f", "missing", "x")], "an edit that failed"),
    ([("bash", "cat f")], "read by bash"),
]
SEEN = [
    ([("read_file", "f")] * 2, "read twice"),
    ([("read_file", "f", 1, 1)], "one page"),
    ([("bash", "mkdir d"), ("read_file", "d/../f")], "read by another name"),
    ([("read_file", "f"), ("write_file", "f", "x")] * 2, "written twice"),
    ([("edit_file", "f", "old", "new"), ("edit_file", "f", "new", "x")], "two edits"),
    ([("edit_file", "f", "old", "new"), ("write_file", "f", "x")], "edit and write"),
    ([("bash", "rm f")], "removed, never read"),
    ([("read_file", "f"), ("bash", "rm f")], "removed"),
    ([("bash", "rm f")] + [("write_file", "f", "own")] * 2, "its own file"),
    ([("bash", r"printf 'PK\0' > f"), ("read_file", "f")], "read, and no text"),
    ([("read_file", "f"), ("read_file", "f", 9)], "read, then past the end"),
]
# What somebody else does to `f`, in bash.
CHANGES = [
    ("echo changed by somebody > f", "longer"),
    ("echo new content > f", "same size"),
    ("touch -r f t; echo new content > f; touch -r t f", "same size and mtime"),
    ("echo more >> f", "appended"),
    ("echo new content > t; mv t f", "replaced"),
    ("echo new content > t; touch -r f t; mv t f", "replaced, with the old mtime"),
    ("rm f; echo old content > f", "removed and made again"),
    ("echo new content > f; chmod 600 f", "changed and locked"),
]
# fmt: on


def table(rows):
    """A parameter for each row, with the last of it as its id."""
    return [pytest.param(row[0], id=row[-1]) for row in rows]


@pytest.mark.parametrize("steps", table(UNSEEN))
def test_a_file_that_was_not_read_is_refused(steps, workspace, file):
    do(workspace, steps)
    failure = refusal(workspace.write_file, "f", "new")
    assert failure.code == "stale_file"
    assert "read" in failure.message
    assert file.read_bytes() == b"old content\n"


@pytest.mark.parametrize("steps", table(SEEN))
def test_what_the_session_knows_may_be_overwritten(steps, workspace, file):
    do(workspace, steps)
    workspace.write_file("f", "new")
    assert file.read_bytes() == b"new"


def test_what_another_session_read_does_not_count(workspace, file):
    s02.Workspace(file.parent).read_file("f")
    assert refusal(workspace.write_file, "f", "new").code == "stale_file"


@pytest.mark.parametrize("command", table(CHANGES))
@pytest.mark.parametrize(
    "step",
    [
        pytest.param(("read_file", "f"), id="read"),
        pytest.param(("write_file", "f", "old content\n"), id="written"),
        pytest.param(("edit_file", "f", "old content", "old CONTENT"), id="edited"),
    ],
)
def test_a_change_by_somebody_else_is_noticed(step, command, workspace, file):
    do(workspace, [("read_file", "f"), step])
    let_the_clock_tick(file.with_name("clock"))
    subprocess.run(["bash", "-c", command], cwd=file.parent, check=True)
    theirs = file.read_bytes()
    assert refusal(workspace.write_file, "f", "mine").code == "stale_file"
    assert file.read_bytes() == theirs
    workspace.read_file("f")
    assert workspace.write_file("f", "mine")


def let_the_clock_tick(probe) -> None:
    """Two changes in one tick of the file system's clock look alike, the page says."""
    probe.touch()
    before = probe.stat().st_mtime_ns
    while probe.stat().st_mtime_ns == before:
        os.utime(probe)
    probe.unlink()


def test_edits_in_many_threads_all_land(tmp_path):
    """Also those of two workspaces: one process changes one file at a time."""
    words = [f"<{number}>" for number in range(40)]
    (tmp_path / "f").write_text("".join(words))
    workspaces = [s02.Workspace(tmp_path), s02.Workspace(tmp_path)]

    def edit(number: int) -> str:
        return workspaces[number % 2].edit_file("f", words[number], "done ")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(edit, range(40)))
    assert (tmp_path / "f").read_text() == "done " * 40


# --- What cannot be written ---


def listing(folder) -> list[str]:
    """Every name below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize(
    ("path", "content", "code"),
    [
        pytest.param("f", "half \ud800", "not_text", id="surrogate, old file"),
        pytest.param("a/b/new", "half \udfff", "not_text", id="surrogate, new folders"),
        pytest.param("f/x/y", "x", "not_a_directory", id="far above is a file"),
        pytest.param("a/" + "n" * 300, "x", "name_too_long", id="long name"),
        pytest.param("n" * 300 + "/a", "x", "name_too_long", id="long folder"),
    ],
)
def test_what_cannot_be_written_leaves_everything_as_it_was(
    path, content, code, workspace, file
):
    before = listing(file.parent)
    workspace.read_file("f")
    assert refusal(workspace.write_file, path, content).code == code
    assert listing(file.parent) == before
    assert file.read_bytes() == b"old content\n"


@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
@pytest.mark.parametrize("locked", ["f", "."])
@pytest.mark.not_root
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_file_or_folder_is_left_alone(locked, tool, workspace, file):
    mode = (file.parent / locked).stat().st_mode
    (file.parent / locked).chmod(0o555)
    workspace.read_file("f")
    with pytest.raises(s02.ToolFailure) as caught:
        change(workspace, tool)
    (file.parent / locked).chmod(mode)
    assert caught.value.code == "permission_denied"
    assert file.read_bytes() == b"old content\n"
    assert os.listdir(file.parent) == ["f"]


# fmt: off
CAUSES = [
    # cause, code, a word of the next step
    ("ENOENT", "file_not_found", "glob"), ("EISDIR", "is_a_directory", "glob"),
    ("ENOTDIR", "not_a_directory", "glob"), ("EACCES", "permission_denied", "user"),
    ("EPERM", "permission_denied", "user"), ("EROFS", "permission_denied", "elsewhere"),
    ("ENAMETOOLONG", "name_too_long", "shorter"), ("ENXIO", "not_a_file", "regular"),
    ("ELOOP", "execution_error", "loop"), ("EBUSY", "io_error", "bash"),
    ("ENOSPC", "io_error", "room"), ("EDQUOT", "io_error", "room"),
    ("EMFILE", "io_error", "fewer"), ("EIO", "io_error", "user"),
]
# fmt: on


@pytest.mark.parametrize(("name", "code", "word"), CAUSES, ids=[c[0] for c in CAUSES])
def test_each_cause_has_a_code_and_a_next_step_that_fits_it(name, code, word):
    with pytest.raises(s02.ToolFailure) as caught, s02.told_as_failure("a/b"):
        raise OSError(getattr(errno, name), "secret", "/secret/a/b")
    assert caught.value.code == code
    assert os.strerror(getattr(errno, name)) in caught.value.message
    assert word in caught.value.message and "secret" not in caught.value.message


@pytest.mark.not_root
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_folder_is_made_where_the_file_cannot_be(workspace, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o555)
    failure = refusal(workspace.write_file, "locked/a/b", "x")
    assert failure.code == "permission_denied"
    assert listing(tmp_path) == ["locked"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep a used folder")
def test_a_missing_workspace_is_not_brought_back(tmp_path):
    (tmp_path / "ws").mkdir()
    workspace = s02.Workspace(tmp_path / "ws")
    (tmp_path / "ws").rmdir()
    assert refusal(workspace.write_file, "a/b", "x").code == "workspace_missing"
    assert refusal(workspace.glob, "*").code == "workspace_missing"
    assert listing(tmp_path) == []
