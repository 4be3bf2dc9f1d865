"""Small real tools for the tests of the registry.

probe = Probe()                         counts its calls and keeps what it was given
registry = registry_of(probe.spec("a", {"n": {"type": "integer"}}))
call(registry, "a", {"n": 5})           one dispatch
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from s02_tool_dispatch import code as s02

Schema = dict[str, Any]


def spec(
    name: str,
    handler: Callable[..., object],
    properties: Schema | None = None,
    required: Sequence[str] = (),
    **more: Any,
) -> s02.ToolSpec:
    """A tool with a closed schema."""
    schema = s02.object_schema(properties or {}, required)
    return s02.ToolSpec(name, f"The tool {name}.", schema, handler, **more)


def registry_of(*specs: s02.ToolSpec, **options: Any) -> s02.ToolRegistry:
    """A registry that holds these tools."""
    registry = s02.ToolRegistry(**options)
    registry.register(*specs)
    return registry


def returning(value: object) -> s02.ToolRegistry:
    """A registry whose only tool, `a`, returns this."""
    return registry_of(spec("a", lambda: value))


def raiser(error: BaseException) -> Callable[[], object]:
    """A handler that raises this."""

    def handler() -> object:
        raise error

    return handler


def raising(error: BaseException) -> s02.ToolRegistry:
    """A registry whose only tool, `a`, raises this."""
    return registry_of(spec("a", raiser(error)))


def call(
    registry: s02.ToolRegistry, name: object = "a", arguments: object = ...
) -> s02.ToolDispatchResult:
    """Dispatch one call; without arguments, with an empty object."""
    given = {} if arguments is ... else arguments
    return registry.dispatch(s02.ToolCall("t1", name, given))


def calls(*names: str) -> list[s02.ToolCall]:
    """Calls of one turn, t0, t1 and so on, each with an empty object."""
    return [s02.ToolCall(f"t{i}", name, {}) for i, name in enumerate(names)]


class Probe:
    """A handler that takes any arguments and remembers them."""

    def __init__(self, answer: object = "done") -> None:
        self.answer = answer
        self.got: list[dict[str, Any]] = []

    def __call__(self, **arguments: Any) -> object:
        self.got.append(arguments)
        return self.answer

    def spec(
        self, name: str, properties: Schema | None = None, required: Sequence[str] = ()
    ) -> s02.ToolSpec:
        """The probe as a tool with a closed schema."""
        return spec(name, self, properties, required)
