"""Wrong solutions of lab 5; the format is in README.md."""

WHOLE = "test_a_file_is_copied_whole"
LOOKS = "test_the_context_is_looked_at_before_the_first_chunk_and_after_each"
CANCELLED = "test_a_copy_that_is_cancelled_leaves_nothing_behind"
KEPT = "test_a_copy_that_is_stopped_keeps_what_was_there"
ONE_STEP = "test_the_target_appears_in_one_step"
CTRL_C = "test_ctrl_c_in_the_middle_leaves_nothing_behind"
FORGED = "test_no_argument_reaches_the_context"
PATHS = "test_no_path_leads_out_of_the_workspace"
STARTER_FAILS = {WHOLE, LOOKS, CANCELLED, KEPT, ONE_STEP, CTRL_C, FORGED, PATHS}

RIGHT = """
def copy_file(source: str, target: str) -> str:
    old_path = context.workspace.safe_path(source)
    new_path = context.workspace.safe_path(target)
    part = new_path.with_name(f".{new_path.name}.part")
    try:
        context.stop_if_asked()
        with open(old_path, "rb") as old, open(part, "wb") as new:
            while chunk := old.read(CHUNK):
                new.write(chunk)
                context.stop_if_asked()
        part.replace(new_path)
    finally:
        part.unlink(missing_ok=True)
    return f"copied {source} to {target}"

path = {"type": "string"}
given = {"source": path, "target": path}
schema = s02.object_schema(given, ["source", "target"])
return s02.ToolSpec("copy_file", "Copy one file.", schema, copy_file)
"""


def wrong(*changes):
    """The right lines with some of them changed; each change must find its place."""
    body = RIGHT
    for old, new in changes:
        assert old in body, old
        body = body.replace(old, new)
    return body


WRONGS = {
    "written straight to the target": (
        KEPT,
        wrong(
            ('part = new_path.with_name(f".{new_path.name}.part")', "part = new_path"),
            ("        part.replace(new_path)\n", ""),
            ("part.unlink(missing_ok=True)", "pass"),
        ),
    ),
    "the target is removed when the copy stops": (
        KEPT,
        wrong(
            ('part = new_path.with_name(f".{new_path.name}.part")', "part = new_path"),
            ("        part.replace(new_path)\n", ""),
            ("finally:\n        part", "except BaseException:\n        part"),
            ("(missing_ok=True)", "(missing_ok=True)\n        raise"),
        ),
    ),
    "looked at once": (
        CANCELLED,
        wrong(
            (
                "new.write(chunk)\n                context.stop_if_asked()",
                "new.write(chunk)",
            )
        ),
    ),
    "looked at between two files only": (
        LOOKS,
        wrong(
            (
                "new.write(chunk)\n                context.stop_if_asked()",
                "new.write(chunk)",
            ),
            (
                "        part.replace",
                "        context.stop_if_asked()\n        part.replace",
            ),
        ),
    ),
    "named before the last look": (
        ONE_STEP,
        wrong(
            ("        part.replace(new_path)\n", ""),
            (
                "                context.stop_if_asked()\n",
                """
                new.flush()
                if old.tell() == old_path.stat().st_size:
                    part.replace(new_path)
                context.stop_if_asked()
""",
            ),
        ),
    ),
    "the unfinished file stays": (
        CANCELLED,
        wrong(("part.unlink(missing_ok=True)", "pass")),
    ),
    "cleaned up after a ToolFailure only": (
        CTRL_C,
        wrong(
            ("finally:\n        part", "except s02.ToolFailure:\n        part"),
            ("(missing_ok=True)", "(missing_ok=True)\n        raise"),
        ),
    ),
    "stopping is reported as success": (
        CANCELLED,
        wrong(
            (
                "    finally:",
                '    except s02.ToolFailure:\n        return "early"\n    finally:',
            )
        ),
    ),
    "the deadline is an argument": (
        FORGED,
        wrong(
            ("target: str)", "target: str, deadline: float = 0)"),
            ('{"source": path,', '{"deadline": {"type": "number"}, "source": path,'),
        ),
    ),
    "an open schema": (
        FORGED,
        wrong(
            ("target: str)", "target: str, **ignored)"),
            (
                's02.object_schema(given, ["source", "target"])',
                '{"type": "object", "properties": given, "required": list(given)}',
            ),
        ),
    ),
    "the target's path is not resolved": (
        PATHS,
        wrong(
            ("context.workspace.safe_path(target)", "context.workspace.root / target")
        ),
    ),
    "the source's path is not resolved": (
        PATHS,
        wrong(
            ("context.workspace.safe_path(source)", "context.workspace.root / source")
        ),
    ),
    "the last chunk is forgotten": (
        WHOLE,
        wrong(
            (
                "while chunk := old.read(CHUNK):",
                "while len(chunk := old.read(CHUNK + 1)) > CHUNK:",
            )
        ),
    ),
}
