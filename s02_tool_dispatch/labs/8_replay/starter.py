"""Lab 8: which of yesterday's calls would fail with today's tools, and why?

    .venv/bin/python -m pytest s02_tool_dispatch/labs/8_replay

Open is the body of `replay`, between the marks.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from s02_tool_dispatch.code import (
    Block,
    ToolCall,
    ToolErrorCode,
    ToolFailure,
    ToolRegistry,
    ToolSpec,
)

NOT_RUN = "not_run"  # the code of a rehearsal: the boundary let the call through
REFUSED = (str(ToolErrorCode.UNKNOWN_TOOL), str(ToolErrorCode.INVALID_ARGUMENTS))
CANCELLED = str(ToolErrorCode.CANCELLED)


@dataclass(frozen=True)
class Recorded:
    """One call of an old session, and what became of it: `ok` or an error code."""

    name: object
    arguments: object
    outcome: str


@dataclass(frozen=True)
class Difference:
    """A recorded call that has another code now; `reason` is the result's content."""

    index: int
    name: object
    before: str
    after: str
    reason: str


def record(call: ToolCall, registry: ToolRegistry) -> Recorded:
    """Dispatch a call; keep its outcome, and the arguments as the model gave them."""
    arguments = json.loads(json.dumps(call.arguments))  # a handler may change its own
    result = registry.dispatch(call)
    return Recorded(call.name, arguments, result.error_code or "ok")


def save(path: Path, records: Iterable[Recorded]) -> None:
    """Write one JSON line per call; they hold what users typed, so keep them safe."""
    lines = (json.dumps(asdict(record)) for record in records)
    path.write_text("".join(f"{line}\n" for line in lines))


def load(path: Path) -> list[Recorded]:
    """Read what `save` wrote."""
    return [Recorded(**json.loads(line)) for line in path.read_text().splitlines()]


def rehearsal(definitions: Iterable[Block]) -> ToolRegistry:
    """A registry with these contracts whose tools do nothing but fail with NOT_RUN."""

    def stand_in(**arguments: object) -> str:
        raise ToolFailure("the boundary lets it through; it was not run", NOT_RUN)

    registry = ToolRegistry()
    for tool in definitions:
        words = tool["name"], tool["description"], tool["input_schema"]
        registry.register(ToolSpec(*words, stand_in))
    return registry


def replay(records: Sequence[Recorded], registry: ToolRegistry) -> list[Difference]:
    """Dispatch every recorded call, one by one and in order; return what differs.

    Each is dispatched under an id of its own, and `index` is its place in `records`.

    A call that was cancelled is not dispatched: nobody knows what it did. A call that
    is NOT_RUN now differs only if it was refused then (its outcome is in REFUSED): what
    the tool itself would do, a rehearsal does not know. `records` are not changed.
    """
    # --- your code ---
    raise NotImplementedError("lab 8: dispatch each call and compare the codes")
    # --- end of your code ---


def now_failing(differences: Iterable[Difference]) -> list[Difference]:
    """Those that worked before and do not now: what must be dealt with first."""
    return [d for d in differences if d.before == "ok"]


def counts(records: Iterable[Recorded]) -> Counter[tuple[str, str]]:
    """How often each tool came to each outcome."""
    return Counter((str(record.name), record.outcome) for record in records)
