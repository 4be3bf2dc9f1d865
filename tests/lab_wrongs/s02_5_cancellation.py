"""Wrong solutions of lab 5; the format is in FORMAT.md."""

WHOLE = "test_a_file_is_copied_whole"
LOOKS = "test_the_context_is_asked_before_and_after_each_chunk"
STOPPED = "test_whatever_stops_a_copy_all_is_as_it_was_before"
ONE_STEP = "test_the_target_is_replaced_in_one_step"
FORGED = "test_no_argument_reaches_the_context"
PATHS = "test_no_path_leads_out_of_the_workspace"
TWO = "test_two_copies_to_one_target_do_not_disturb_each_other"
REFUSED = "test_what_the_file_system_refuses_is_a_tool_failure"
STARTER_FAILS = {WHOLE, LOOKS, STOPPED, ONE_STEP, FORGED, PATHS}
STARTER_FAILS |= {TWO, REFUSED}

RIGHT = """
import os
import uuid

def copy_file(source: str, target: str) -> str:
    old_path = context.workspace.safe_path(source)
    new_path = context.workspace.safe_path(target)
    part = new_path.with_name(f".{new_path.name}-{uuid.uuid4()}")
    try:
        context.stop_if_asked()
        with open(old_path, "rb") as old, open(part, "xb") as new:
            while chunk := old.read(CHUNK):
                new.write(chunk)
                context.stop_if_asked()
        part.replace(new_path)
    except OSError as error:
        said = os.strerror(error.errno)
        raise s02.ToolFailure(f"{source} to {target}: {said}", COPY_FAILED)
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


NAME = 'f".{new_path.name}-{uuid.uuid4()}"'
PART = f"part = new_path.with_name({NAME})"
LOOP = """            while chunk := old.read(CHUNK):
                new.write(chunk)
                context.stop_if_asked()
"""


WRONGS = {
    "written straight to the target": (
        STOPPED,
        wrong(
            (PART, "part = new_path"),
            ('"xb"', '"wb"'),
            ("        part.replace(new_path)\n", ""),
            ("part.unlink(missing_ok=True)", "pass"),
        ),
    ),
    "the target is removed when the copy stops": (
        STOPPED,
        wrong(
            (PART, "part = new_path"),
            ('"xb"', '"wb"'),
            ("        part.replace(new_path)\n", ""),
            ("finally:\n        part", "except BaseException:\n        part"),
            ("(missing_ok=True)", "(missing_ok=True)\n        raise"),
        ),
    ),
    "looked at once": (
        STOPPED,
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
        STOPPED,
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
        STOPPED,
        wrong(("part.unlink(missing_ok=True)", "pass")),
    ),
    "cleaned up after a ToolFailure only": (
        STOPPED,
        wrong(
            ("finally:\n        part", "except s02.ToolFailure:\n        part"),
            ("(missing_ok=True)", "(missing_ok=True)\n        raise"),
        ),
    ),
    "stopping is reported as success": (
        STOPPED,
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
    "whole chunks only": (
        WHOLE,
        wrong(
            (
                LOOP,
                """
            for _ in range(old_path.stat().st_size // CHUNK):
                new.write(old.read(CHUNK))
                context.stop_if_asked()
""",
            )
        ),
    ),
    "a short chunk ends the copy before it is written": (
        WHOLE,
        wrong(
            (
                "while chunk := old.read(CHUNK):",
                "while len(chunk := old.read(CHUNK)) == CHUNK:",
            )
        ),
    ),
    "an empty file is not made": (
        WHOLE,
        wrong(
            (
                "        part.replace(new_path)",
                "        if part.stat().st_size:\n            part.replace(new_path)",
            )
        ),
    ),
    "the source is moved": (
        WHOLE,
        wrong(
            (
                "        part.replace(new_path)",
                "        part.replace(new_path)\n"
                "        if old_path != new_path:\n            old_path.unlink()",
            )
        ),
    ),
    "the whole file is read at once": (
        LOOKS,
        wrong(
            (
                LOOP,
                """
            whole = old.read()
            for place in range(0, len(whole), CHUNK):
                new.write(whole[place : place + CHUNK])
                context.stop_if_asked()
""",
            )
        ),
    ),
    "a new target is written in place": (
        LOOKS,
        wrong(
            (PART, f"fresh = not new_path.exists()\n    {PART}"),
            ("    try:", "    part = new_path if fresh else part\n    try:"),
            ("part.replace(new_path)", "part.replace(new_path)\n        part = part_"),
            ("    part = new_path if", "    part_, part = part, new_path if"),
        ),
    ),
    "removed, then renamed": (
        ONE_STEP,
        wrong(
            (
                "part.replace(new_path)",
                "new_path.unlink(missing_ok=True)\n        part.rename(new_path)",
            )
        ),
    ),
    "copied over the old file at the end": (
        ONE_STEP,
        wrong(
            (
                "part.replace(new_path)",
                "new_path.write_bytes(part.read_bytes())",
            )
        ),
    ),
    "one fixed hidden name": (TWO, wrong((NAME, '".part"'), ('"xb"', '"wb"'))),
    "a name for each target, that must be free": (
        TWO,
        wrong((NAME, 'f".{new_path.name}.part"')),
    ),
    "a name for each process": (TWO, wrong((NAME, 'f".part-{os.getpid()}"'))),
    "what the file system says goes up": (
        REFUSED,
        wrong(("except OSError as error", "except ZeroDivisionError as error")),
    ),
    "only what is missing is told": (
        REFUSED,
        wrong(("except OSError as error", "except FileNotFoundError as error")),
    ),
    "the path outside is told": (
        REFUSED,
        wrong(("os.strerror(error.errno)", "str(error)")),
    ),
    "the folder of the target is made": (
        REFUSED,
        wrong(("    try:", "    part.parent.mkdir(exist_ok=True)\n    try:")),
    ),
    "it may run beside others": (
        FORGED,
        wrong(("schema, copy_file)", "schema, copy_file, concurrent_safe=True)")),
    ),
}

RIGHTS = {
    "a look before each read, and one more": wrong(
        ("        context.stop_if_asked()\n        with", "        with"),
        (
            LOOP,
            """
            while True:
                context.stop_if_asked()
                chunk = old.read(CHUNK)
                if not chunk:
                    break
                new.write(chunk)
            context.stop_if_asked()
""",
        ),
    ),
    "a folder of its own, and os.replace": """
import os
import tempfile

def copied(old_path, new_path):
    with tempfile.TemporaryDirectory(prefix=".", dir=new_path.parent) as hidden:
        unfinished = os.path.join(hidden, "unfinished")
        with old_path.open("rb") as old, open(unfinished, "wb") as new:
            for chunk in iter(lambda: old.read(CHUNK), b""):
                new.write(chunk)
                context.stop_if_asked()
        os.replace(unfinished, new_path)

def handler(*, source, target):
    paths = [context.workspace.safe_path(path) for path in (source, target)]
    context.stop_if_asked()
    try:
        copied(*paths)
    except OSError:
        raise s02.ToolFailure("the file system says no", COPY_FAILED) from None

return s02.ToolSpec(
    name="copy_file",
    description="Copy.",
    handler=handler,
    input_schema={
        "type": "object",
        "properties": {"source": {"type": "string"}, "target": {"type": "string"}},
        "required": ["source", "target"],
        "additionalProperties": False,
    },
)
""",
}
