"""Wrong solutions of lab 4; the format is in FORMAT.md."""

SNAPSHOT = "test_a_running_session_keeps_its_tools_and_a_new_one_sees_the_upgrade"
REMOVED = "test_a_source_that_is_removed_is_gone_for_new_sessions_only"
MIXED = "test_no_call_is_checked_by_the_old_contract_and_run_by_the_new_code"
DURING = "test_a_session_that_starts_during_a_change_sees_the_old_catalogue"
FAILED = "test_a_change_that_fails_changes_nothing"
FROZEN = "test_a_session_cannot_change_what_it_was_given"
DIFF = "test_the_diff_says_what_the_model_is_shown_differently"
MANIFEST = "test_new_code_under_the_same_contract_shows_in_the_manifest_only"
WIDE = "test_the_diff_is_sorted_and_sees_a_new_description"
STARTER_FAILS = {SNAPSHOT, REMOVED, MIXED, DURING, FAILED, FROZEN, DIFF, MANIFEST, WIDE}

RIGHT = """
if release is None and name not in self._releases:
    raise ValueError(f"{name!r} is not installed")
releases = {n: r for n, r in self._releases.items() if n != name}
if release is not None:
    releases[name] = release
registry = self.new_registry()
for kept in releases.values():
    registry.register(*kept.specs)
registry.freeze()
old = {schema["name"]: schema for schema in self._current.model_schemas()}
new = {schema["name"]: schema for schema in registry.model_schemas()}
old_hash, new_hash = self._current.catalog_hash(), registry.catalog_hash()
self._releases, self._current = releases, registry
changed = [n for n in old.keys() & new.keys() if old[n] != new[n]]
return CatalogueDiff(
    tuple(sorted(new.keys() - old.keys())),
    tuple(sorted(old.keys() - new.keys())),
    tuple(sorted(changed)),
    old_hash,
    new_hash,
)
"""


def wrong(*changes):
    """The right lines with some of them changed; each change must find its place."""
    body = RIGHT
    for old, new in changes:
        assert old in body, old
        body = body.replace(old, new)
    return body


FORWARDING = """
    from dataclasses import replace

    def latest(tool, source):
        def handler(**arguments):
            specs = self._releases[source].specs
            return next(s for s in specs if s.name == tool).handler(**arguments)

        return handler

    specs = [replace(s, handler=latest(s.name, kept.name)) for s in kept.specs]
    registry.register(*specs)
"""

WRONGS = {
    "the current registry is added to": (
        SNAPSHOT,
        wrong(("registry = self.new_registry()", "registry = self._current")),
    ),
    "handlers look up the latest code": (
        MIXED,
        wrong(("    registry.register(*kept.specs)\n", FORWARDING)),
    ),
    "swapped before it is complete": (
        DURING,
        wrong(
            ("registry = self.new_registry()", "was, registry = self._current, None"),
            (
                "for kept in",
                "registry = self._current = self.new_registry()\nfor kept in",
            ),
            ("in self._current.model_schemas()", "in was.model_schemas()"),
            ("self._current.catalog_hash()", "was.catalog_hash()"),
        ),
    ),
    "the list of releases is changed first": (
        FAILED,
        wrong(
            (
                "releases = {n: r for n, r in self._releases.items() if n != name}",
                "releases = self._releases\nreleases.pop(name, None)",
            ),
        ),
    ),
    "removing nothing is fine": (
        FAILED,
        wrong(('raise ValueError(f"{name!r} is not installed")', "pass")),
    ),
    "never frozen": (FROZEN, wrong(("registry.freeze()", "pass"))),
    "only the new release is registered": (
        DIFF,
        wrong(
            ("for kept in releases.values()", "for kept in [release] * bool(release)")
        ),
    ),
    "an upgrade adds to the old version": (
        SNAPSHOT,
        wrong(
            (
                "releases[name] = release",
                """
    from dataclasses import replace

    old_specs = self._releases[name].specs if name in self._releases else ()
    names = [spec.name for spec in release.specs]
    kept = [spec for spec in old_specs if spec.name not in names]
    releases[name] = replace(release, specs=(*release.specs, *kept))
""",
            ),
        ),
    ),
    "every tool of an upgraded source counts as changed": (
        MANIFEST,
        wrong(("if old[n] != new[n]]", "if release and n in str(release.specs)]")),
    ),
    "a changed contract is not noticed": (
        DIFF,
        wrong(("tuple(sorted(changed))", "()")),
    ),
    "both hashes are taken after the swap": (
        DIFF,
        wrong(("    old_hash,", "    self._current.catalog_hash(),")),
    ),
    "same contract, so nothing to do": (
        MANIFEST,
        wrong(
            (
                "self._releases, self._current = releases, registry",
                "if old_hash != new_hash:\n"
                "    self._releases, self._current = releases, registry",
            )
        ),
    ),
    "only the schema of the arguments is compared": (
        WIDE,
        wrong(
            (
                "if old[n] != new[n]]",
                'if old[n]["input_schema"] != new[n]["input_schema"]]',
            )
        ),
    ),
    "only the description is compared": (
        DIFF,
        wrong(
            (
                "if old[n] != new[n]]",
                'if old[n]["description"] != new[n]["description"]]',
            )
        ),
    ),
    "what is added is not sorted": (
        WIDE,
        wrong(("tuple(sorted(new.keys() - old.keys()))", "tuple(set(new) - set(old))")),
    ),
    "what is removed is not sorted": (
        WIDE,
        wrong(("tuple(sorted(old.keys() - new.keys()))", "tuple(set(old) - set(new))")),
    ),
    "what changed is not sorted": (
        WIDE,
        wrong(("tuple(sorted(changed))", "tuple(set(changed))")),
    ),
    "the same version again is nothing to do": (
        MANIFEST,
        wrong(
            (
                "registry = self.new_registry()",
                """
if release and name in self._releases:
    if self._releases[name].version == release.version:
        hash_ = self._current.catalog_hash()
        return CatalogueDiff((), (), (), hash_, hash_)
registry = self.new_registry()
""",
            )
        ),
    ),
    "what the model is not shown counts as a change": (
        MANIFEST,
        wrong(
            (
                "changed = [n for n in old.keys() & new.keys() if old[n] != new[n]]",
                """
was = {tool["name"]: tool for tool in before.definitions()}
now = {tool["name"]: tool for tool in registry.definitions()}
changed = [n for n in was if n in now and was[n] != now[n]]
""",
            ),
            ("old_hash, new_hash =", "before = self._current\nold_hash, new_hash ="),
        ),
    ),
    "a name that begins the same goes too": (
        REMOVED,
        wrong(("if n != name}", "if not n.startswith(name)}")),
    ),
    "frozen only when something is installed": (
        FROZEN,
        wrong(("registry.freeze()", "if release:\n    registry.freeze()")),
    ),
    "an older version is not taken": (
        SNAPSHOT,
        wrong(
            (
                "    releases[name] = release",
                """
    was = self._releases.get(name, release)
    releases[name] = max(was, release, key=lambda kept: kept.version)
""",
            )
        ),
    ),
    "the last source cannot be removed": (
        DIFF,
        wrong(
            (
                "registry = self.new_registry()",
                "registry = self.new_registry() if releases else self._current",
            )
        ),
    ),
}

RIGHTS = {
    "a dry run first": wrong(
        (
            "releases[name] = release",
            """
    releases[name] = release
    scratch = self.new_registry()
    scratch.register(*release.specs)
""",
        )
    ),
    "names and texts, and the newest release first": """
import json

if release is None and name not in self._releases:
    raise ValueError(name)
others = {n: r for n, r in self._releases.items() if n != name}
releases = {name: release, **others} if release else others
fresh = self.new_registry()
fresh.register(*[spec for kept in releases.values() for spec in kept.specs])
fresh.freeze()

def texts(registry):
    shown = registry.model_schemas()
    return {s["name"]: json.dumps(s, sort_keys=True) for s in shown}

before, after = texts(self._current), texts(fresh)
both = sorted(set(before) & set(after))
diff = CatalogueDiff(
    tuple(n for n in sorted(after) if n not in before),
    tuple(n for n in sorted(before) if n not in after),
    tuple(n for n in both if before[n] != after[n]),
    self._current.catalog_hash(),
    fresh.catalog_hash(),
)
self._current = fresh
self._releases = releases
return diff
""",
}
