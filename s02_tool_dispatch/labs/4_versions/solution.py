"""Lab 4: tools that come, go and change while sessions run.

The chapter's registry only grows, and then it is frozen. Here a change never touches
a registry: it builds the next one. Write the lines between the two marks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from s02_tool_dispatch.code import ToolRegistry, ToolSpec, compile_schema


@dataclass(frozen=True)
class Manifest:
    """What a source says of itself, and the digest of what it shows to the model.

    The digest covers names, descriptions and schemas. It does not cover the code.
    """

    name: str
    version: str
    permissions: tuple[str, ...]
    digest: str


@dataclass(frozen=True)
class Release:
    """One version of one source of tools."""

    name: str
    version: str
    specs: tuple[ToolSpec, ...]
    permissions: tuple[str, ...] = ()

    def manifest(self) -> Manifest:
        """The short form, for a list or a lock file."""
        contracts = sorted(
            (s.model_schema() for s in self.specs), key=lambda s: s["name"]
        )
        text = json.dumps(contracts, ensure_ascii=False, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()
        return Manifest(self.name, self.version, self.permissions, digest)


@dataclass(frozen=True)
class CatalogueDiff:
    """What a change did to that which the model is shown, each in sorted order."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    old_hash: str
    new_hash: str


class ToolShelf:
    """The current catalogue; `session` hands it out, `change` replaces it.

    Changes come from one thread; sessions may be started from any.
    """

    def __init__(
        self, compile_schema: Callable[[dict[str, Any]], Any] = compile_schema
    ) -> None:
        self._compile_schema = compile_schema
        self._releases: dict[str, Release] = {}
        self._current = self.new_registry()
        self._current.freeze()

    def new_registry(self) -> ToolRegistry:
        """An empty registry of the chapter."""
        return ToolRegistry(compile_schema=self._compile_schema)

    def session(self) -> ToolRegistry:
        """The catalogue of now, for the whole life of a session."""
        return self._current

    def manifests(self) -> list[Manifest]:
        """One for each source that is installed, sorted by name."""
        return [release.manifest() for _, release in sorted(self._releases.items())]

    def install(self, release: Release) -> CatalogueDiff:
        """Add a source, or put another version of it in the place of the one there."""
        return self.change(release.name, release)

    def remove(self, name: str) -> CatalogueDiff:
        """Take a source away; ValueError if it is not installed."""
        return self.change(name, None)

    def change(self, name: str, release: Release | None) -> CatalogueDiff:
        """Go to the next catalogue, wholly or, with a ValueError, not at all.

        Running sessions keep what they have. `changed` are the tools that both
        catalogues have and that the model is shown differently.
        """
        # --- your code ---
        if release is None and name not in self._releases:
            raise ValueError(f"{name!r} is not installed")
        releases = {n: r for n, r in self._releases.items() if n != name}
        if release is not None:
            releases[name] = release
        registry = self.new_registry()
        for _, kept in sorted(releases.items()):
            registry.register(*kept.specs)
        registry.freeze()

        old = {schema["name"]: schema for schema in self._current.model_schemas()}
        new = {schema["name"]: schema for schema in registry.model_schemas()}
        diff = CatalogueDiff(
            added=tuple(sorted(new.keys() - old.keys())),
            removed=tuple(sorted(old.keys() - new.keys())),
            changed=tuple(
                sorted(n for n in old.keys() & new.keys() if old[n] != new[n])
            ),
            old_hash=self._current.catalog_hash(),
            new_hash=registry.catalog_hash(),
        )
        self._releases, self._current = releases, registry
        return diff
        # --- end of your code ---
