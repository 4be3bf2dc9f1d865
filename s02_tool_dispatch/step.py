"""The boundary in slow motion: the demo's calls, one stage at a time.

    python3 -m s02_tool_dispatch.step [--all]

The calls go through the real registry, and what is shown comes from its own seams:
compile_schema, the handlers, the trace. On a terminal it waits before each stage: say
what must come, then press Enter; `q` ends. With --all, or off a terminal, it prints
everything, the same bytes at every run.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":  # as a file: the chapters are found beside its folder
    HERE = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [os.path.dirname(HERE), *(p for p in sys.path if p != HERE)]

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from s02_tool_dispatch import code as s02

Stage = tuple[str, str]  # its name, what happened there
LABEL, TEXT = 12, 66  # columns
LINES = {"look up": 1, "tool_result": 3, "record": 3}  # of a value; otherwise 2
NOT_REACHED = "(not reached)"


class Watched:
    """The demo's registry, and what its seams report of the last call."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.checked = self.got = self.gave = NOT_REACHED
        self.records: list[s02.TraceRecord] = []
        self.registry = s02.ToolRegistry(self.compile_schema, self.records.append)
        for spec in s02.demo_tools(self.folder):
            self.registry.register(replace(spec, handler=self.watched(spec.handler)))

    def compile_schema(self, schema: s02.Block) -> s02.Check:
        """The chapter's own; its check says what it found."""
        check = s02.compile_schema(schema)

        def reporting(value: object) -> list[str]:
            problems = check(value)
            self.checked = "; ".join(problems) or "nothing is wrong"
            return problems

        return reporting

    def watched(self, handler: s02.Handler) -> s02.Handler:
        """The same handler, which says what it got, and gave or raised."""

        def run(**arguments: object) -> object:
            self.got = json.dumps(arguments)
            try:
                returned = handler(**arguments)
            except BaseException as error:
                self.gave = f"raised {type(error).__name__}"
                raise
            self.gave = f"returned {returned!r}"
            return returned

        return run

    def stages(self, block: s02.Block, call: s02.ToolCall) -> Iterator[Stage]:
        """Dispatch a call, then show its way."""
        self.checked = self.got = self.gave = NOT_REACHED
        result = self.registry.dispatch(call)
        tool = self.registry.get(str(call.name))
        record = self.records.pop()
        last_line = record.detail.strip().rpartition("\n")[2]
        yield "tool_use", json.dumps(block)
        yield "look up", f"a tool from {tool['source']!r}" if tool else "no such tool"
        yield "check", self.checked
        yield "handler got", self.got
        yield "handler did", self.gave
        yield "tool_result", json.dumps(result.to_protocol_block())
        yield (
            "record",
            f"{record.outcome}, {record.chars} characters. {last_line}".strip(),
        )

    def shown(self, stage: str, text: str) -> str:
        """A value on few lines; the folder, which has a new name each time, is `.`."""
        text = s02.printable(text.replace(str(self.folder), ".")).replace("\n", " ")
        most = TEXT * LINES.get(stage, 2)
        text = text if len(text) <= most else f"{text[: most - 4]} ..."
        lines = [text[at : at + TEXT] for at in range(0, len(text), TEXT)]
        return f"{stage:<{LABEL}}" + f"\n{'':{LABEL}}".join(lines)


def play(watched: Watched, go_on: Callable[[str], bool]) -> None:
    """Show the stages of all calls for as long as the reader goes on."""
    seen_ids: set[str] = set()
    for reply in s02.DEMO:
        turn = s02.AgentTurn.from_response(reply, seen_ids)
        blocks = [block for block in turn.content if block["type"] == "tool_use"]
        for block, call in zip(blocks, turn.tool_calls, strict=True):
            s02.say(f"\n--- {turn.text[:70]}", "1")
            for stage, happened in watched.stages(block, call):
                if not go_on(stage):
                    return
                s02.say(watched.shown(stage, happened))


def ask(stage: str) -> bool:
    """Wait for Enter; `q` or the end of input ends."""
    try:
        return input(f"{stage} ? ").strip().lower() not in ("q", "quit", "exit")
    except EOFError:
        return False


def main(argv: list[str] | None = None) -> int:
    """Play the demo; Ctrl-C ends it like `q`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="print it without waiting")
    is_all = parser.parse_args(argv).all
    waits = not is_all and sys.stdin.isatty() and sys.stdout.isatty()
    os.environ["DEMO_API_KEY"] = "planted-in-the-parent"  # bash must not see it
    try:
        with tempfile.TemporaryDirectory() as folder:
            play(Watched(Path(folder)), ask if waits else lambda stage: True)
    except KeyboardInterrupt:
        print()
        return 130
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
