"""Lab 3: what happens around a call, as one list whose order can be read.

Seven stages are given, in the order of the alphabet. Each does its part and calls
`go_on()`, which does all that comes after it; a stage that does not call it ends the
call there. Write the lines between the two marks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from s02_tool_dispatch.code import (
    ToolCall,
    ToolDispatchResult,
    ToolErrorCode,
    ToolFailure,
    ToolSpec,
    compile_schema,
)

GoOn = Callable[[], None]
NOT_APPROVED = "not_approved"
TIMEOUT = "timeout"
CUT = " [cut]"


@dataclass
class Attempt:
    """One call on its way through the stages."""

    call: ToolCall
    text: str = ""
    code: str | None = None
    deadline: float | None = None  # on the pipeline's clock; None: no limit yet

    def refuse(self, code: str, text: str) -> None:
        """Note a failure as the model will read it."""
        self.code, self.text = str(code), f"Error [{code}]: {text}"


@dataclass(frozen=True)
class TraceLine:
    """What the operator sees of an attempt, when it has ended."""

    name: object
    outcome: str
    text: str
    deadline: float | None


Stage = Callable[[Attempt, GoOn], None]


class Pipeline:
    """The stages, and what they need: none of it comes from the model."""

    def __init__(
        self,
        specs: Iterable[ToolSpec],
        trace_sink: Callable[[TraceLine], None] = lambda line: None,
        approver: Callable[[ToolCall], bool] = lambda call: True,
        seconds: float = 60,
        secrets: Iterable[str] = (),
        limit: int = 1_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.specs = {spec.name: spec for spec in specs}
        self.checks = {n: compile_schema(s.input_schema) for n, s in self.specs.items()}
        self.trace_sink = trace_sink
        self.approver = approver
        self.seconds = seconds
        self.secrets = list(secrets)
        self.limit = limit
        self.clock = clock

    def dispatch(self, call: ToolCall) -> ToolDispatchResult:
        """Send one call through all stages, in the order of one literal list."""
        attempt = Attempt(call)
        # --- your code ---
        stages: list[Stage] = [
            self.trace,
            self.approve,
            self.check,
            self.time_limit,
            self.run,
            self.redact,
            self.cap,
        ]

        def go_on(position: int) -> None:
            if position < len(stages):
                stages[position](attempt, lambda: go_on(position + 1))

        go_on(0)
        # --- end of your code ---
        return ToolDispatchResult(call, attempt.text, attempt.code)

    def approve(self, attempt: Attempt, go_on: GoOn) -> None:
        """Ask whoever may say no; what is denied goes no further."""
        if self.approver(attempt.call):
            go_on()
        else:
            attempt.refuse(NOT_APPROVED, "the user did not allow this call")

    def cap(self, attempt: Attempt, go_on: GoOn) -> None:
        """Bound what the model gets."""
        if len(attempt.text) > self.limit:
            attempt.text = attempt.text[: self.limit - len(CUT)] + CUT
        go_on()

    def check(self, attempt: Attempt, go_on: GoOn) -> None:
        """Let only a known tool with valid arguments through."""
        name: Any = attempt.call.name
        if not isinstance(name, str) or name not in self.specs:
            attempt.refuse(ToolErrorCode.UNKNOWN_TOOL, f"there is no tool {name!r}")
        elif problems := self.checks[name](attempt.call.arguments):
            attempt.refuse(ToolErrorCode.INVALID_ARGUMENTS, "; ".join(problems))
        else:
            go_on()

    def redact(self, attempt: Attempt, go_on: GoOn) -> None:
        """Replace each secret wherever it stands as a whole."""
        for secret in self.secrets:
            attempt.text = attempt.text.replace(secret, "[redacted]")
        go_on()

    def run(self, attempt: Attempt, go_on: GoOn) -> None:
        """Run the handler until the deadline; a failure goes on like any other text."""
        name: Any = attempt.call.name
        arguments: Any = attempt.call.arguments
        ended: list[Attempt] = []

        def handler() -> None:
            own = Attempt(attempt.call)
            try:
                own.text = str(self.specs[name].handler(**arguments))
            except ToolFailure as failure:
                own.refuse(failure.code, failure.message)
            except BaseException as error:  # SystemExit too: it ends this thread only
                own.refuse(ToolErrorCode.EXECUTION_ERROR, type(error).__name__)
            ended.append(own)

        thread = threading.Thread(target=handler, daemon=True)
        thread.start()
        left = None if attempt.deadline is None else attempt.deadline - self.clock()
        thread.join(left if left is None else max(left, 0))
        if ended:
            attempt.text, attempt.code = ended[0].text, ended[0].code
        else:
            attempt.refuse(TIMEOUT, "no result in time; it may still be running")
        go_on()

    def time_limit(self, attempt: Attempt, go_on: GoOn) -> None:
        """From here on the clock runs."""
        attempt.deadline = self.clock() + self.seconds
        go_on()

    def trace(self, attempt: Attempt, go_on: GoOn) -> None:
        """Let everything else happen, then write down how it ended."""
        go_on()
        outcome = attempt.code or "ok"
        line = TraceLine(attempt.call.name, outcome, attempt.text, attempt.deadline)
        self.trace_sink(line)
