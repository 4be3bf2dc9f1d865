"""Lab 4: sessions run while tools change; every test installs something first."""

import threading
from dataclasses import replace

from s02_tool_dispatch.code import ToolCall, ToolSpec, compile_schema, object_schema

REFUSED = "refused with a ValueError"
SECONDS = 5  # how long a barrier waits for a thread that does not come


def tool(name, says, n_is="integer", description="a tool"):
    """A tool that returns its version and what it got."""
    schema = object_schema({"n": {"type": n_is}}, ["n"])
    return ToolSpec(name, description, schema, lambda n: f"{says} got {n!r}")


def releases(lab):
    """Two versions of one source, and another whose name begins the same."""
    v1 = lab.Release("math", "1.0", (tool("count", "v1"), tool("add", "v1")), ("read",))
    v2 = lab.Release("math", "2.0", (tool("count", "v2", "string"), tool("mul", "v2")))
    return v1, v2, lab.Release("maths", "0.1", (tool("trim", "text"),))


def call(registry, name, n):
    """What one call through a session's registry comes to."""
    result = registry.dispatch(ToolCall("t1", name, {"n": n}))
    return result.error_code or result.content


def names(registry):
    return [schema["name"] for schema in registry.model_schemas()]


def refused(change, *arguments):
    """In words: whether a change was a ValueError."""
    try:
        change(*arguments)
    except ValueError:
        return REFUSED
    except LookupError as error:
        return f"raised {error!r}"
    return "accepted"


def test_a_running_session_keeps_its_tools_and_a_new_one_sees_the_upgrade(lab, expect):
    v1, v2, _ = releases(lab)
    shelf = lab.ToolShelf()
    shelf.install(v1)
    running = shelf.session()
    shelf.install(v2)

    came = [call(running, "count", 1), call(running, "add", 2), names(running)]
    wanted = ["v1 got 1", "v1 got 2", ["add", "count"]]
    advice = "change no registry that a session may hold: build another one"
    expect("calls in a session from before the upgrade", came, wanted, advice)
    new = shelf.session()
    came = [call(new, "count", "1"), call(new, "add", 2), names(new)]
    wanted = ["v2 got '1'", "unknown_tool", ["count", "mul"]]
    advice = "the new version takes the place of the old one, whole"
    expect("calls in a session from after it", came, wanted, advice)
    for release, wanted in (v1, ["add", "count"]), (replace(v2, specs=()), []):
        shelf.install(release)
        came = (names(shelf.session()), shelf.manifests())
        called = f"after version {release.version} with {len(release.specs)} tools"
        wanted = (wanted, [release.manifest()])
        expect(called, came, wanted, "take the version you are given")


def test_a_source_that_is_removed_is_gone_for_new_sessions_only(lab, expect):
    v1, _, text = releases(lab)
    shelf = lab.ToolShelf()
    shelf.install(v1)
    shelf.install(text)
    shelf.install(replace(text, name="Math", specs=(tool("cut", "text"),)))
    running = shelf.session()
    shelf.remove("math")

    came = (call(running, "count", 1), names(shelf.session()))
    advice = "the other sources stay, and running sessions keep what they have"
    expect("a call, and the names now", came, ("v1 got 1", ["cut", "trim"]), advice)
    shelf.install(v1)
    came = (call(shelf.session(), "count", 2), names(shelf.session()))
    wanted = ("v1 got 2", ["add", "count", "cut", "trim"])
    expect("the same when it is installed again", came, wanted, "it is a new source")


def test_no_call_is_checked_by_the_old_contract_and_run_by_the_new_code(lab, expect):
    v1, v2, _ = releases(lab)
    checked, upgraded = threading.Barrier(4), threading.Barrier(4)

    def compile_with_a_pause(schema):
        right_check = compile_schema(schema)

        def check(value):
            problems = right_check(value)
            checked.wait(SECONDS)
            upgraded.wait(SECONDS)
            return problems

        return check

    shelf = lab.ToolShelf(compile_with_a_pause)
    shelf.install(v1)
    came, session = [], shelf.session()
    threads = [
        threading.Thread(target=lambda: came.append(call(session, "count", 1)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    checked.wait(SECONDS)
    shelf.install(v2)
    upgraded.wait(SECONDS)
    for thread in threads:
        thread.join()

    called = "three calls, checked before the upgrade and run after it"
    advice = "a check and its handler belong together: keep both in one registry"
    expect(called, came, ["v1 got 1"] * 3, advice)


def test_a_session_that_starts_during_a_change_sees_the_old_catalogue(lab, expect):
    v1, v2, _ = releases(lab)
    seen = []

    def compile_and_look(schema):
        seen.append(names(shelf.session()))
        return compile_schema(schema)

    shelf = lab.ToolShelf(compile_and_look)
    shelf.install(v1)
    seen.clear()
    shelf.install(v2)

    called = "names(shelf.session()), each time a new tool was compiled"
    advice = "swap last, in one step, when the next registry is complete"
    old = [["add", "count"]] * len(seen)  # it is free to compile more than once
    expect(called, seen, "the old catalogue each time", advice, holds=seen == old != [])


def test_a_change_that_fails_changes_nothing(lab, expect):
    v1, v2, text = releases(lab)
    shelf = lab.ToolShelf()
    shelf.install(v1)
    shelf.install(text)
    before = (shelf.manifests(), shelf.session().catalog_hash())
    taken = replace(v2, specs=(tool("new", "v2"), tool("trim", "a thief")))
    bad = replace(v2, specs=(replace(tool("count", "v2"), input_schema={"type": "x"}),))

    for called, change, argument in [
        ("install a version with a name that maths has", shelf.install, taken),
        ("install a version with a broken schema", shelf.install, bad),
        ("remove a source that is not there", shelf.remove, "nobody"),
    ]:
        expect(called, refused(change, argument), REFUSED, "raise it, early")
        after = (shelf.manifests(), shelf.session().catalog_hash())
        expect("the shelf after it", after, before, "assign only after all went well")
    shelf.install(v2)
    wanted = ["count", "mul", "trim"]
    advice = "nothing of a change that failed may be left behind"
    expect("a good version after it", names(shelf.session()), wanted, advice)


def test_a_session_cannot_change_what_it_was_given(lab, expect):
    v1, v2, text = releases(lab)
    shelf = lab.ToolShelf()
    shelf.install(v1)
    for what, change, argument in [
        ("an upgrade", shelf.install, v2),
        ("a second source", shelf.install, text),
        ("a removal", shelf.remove, "math"),
        ("the last removal", shelf.remove, "maths"),
    ]:
        change(argument)
        came = refused(shelf.session().register, tool("more", "session"))
        advice = "freeze every registry you hand out"
        expect(f"session.register(...) after {what}", came, REFUSED, advice)


def test_the_diff_says_what_the_model_is_shown_differently(lab, expect):
    v1, v2, text = releases(lab)
    shelf = lab.ToolShelf()
    hashes = [shelf.session().catalog_hash()]
    diffs = []
    for release in (text, v1, v2):
        diffs.append(shelf.install(release))
        hashes.append(shelf.session().catalog_hash())
    diffs += [shelf.remove("math"), shelf.remove("maths")]

    wanted = [
        lab.CatalogueDiff(("trim",), (), (), hashes[0], hashes[1]),
        lab.CatalogueDiff(("add", "count"), (), (), hashes[1], hashes[2]),
        lab.CatalogueDiff(("mul",), ("add",), ("count",), hashes[2], hashes[3]),
        lab.CatalogueDiff((), ("count", "mul"), (), hashes[3], hashes[1]),
        lab.CatalogueDiff((), ("trim",), (), hashes[1], hashes[0]),
    ]
    for number, (came, right) in enumerate(zip(diffs, wanted, strict=True), start=1):
        advice = "compare model_schemas() by name; hash before and after"
        expect(f"change number {number}", came, right, advice)


def test_the_diff_is_sorted_and_sees_a_new_description(lab, expect):
    def tools(letters, number, description="a tool"):
        return [tool(f"{x}_{number}", "w", description=description) for x in letters]

    shelf = lab.ToolShelf()
    same = tuple(tools("xyz", 0))
    old = (*tools("hgfedcba", 1), *same, *tools("hgfedcba", 2))
    new = (*tools("hgfedcba", 2, "A tool"), *tools("hgfedcba", 3), *same)
    shelf.install(lab.Release("wide", "1", old))
    diff = shelf.install(lab.Release("wide", "2", new))

    for kind, number in ("added", 3), ("removed", 1), ("changed", 2):
        wanted = tuple(f"{letter}_{number}" for letter in "abcdefgh")
        came = getattr(diff, kind)
        order = type(came) is tuple and sorted(came) == sorted(wanted)
        advice = "a set has no order: sort it" if order else "compare whole schemas"
        expect(f"{kind} in a wide upgrade", came, wanted, advice)


def test_new_code_under_the_same_contract_shows_in_the_manifest_only(lab, expect):
    v1, _, _ = releases(lab)
    count = replace(tool("count", "v1b"), concurrent_safe=True)
    fixed = replace(v1, version="1.0.1", specs=(count, tool("add", "v1b")))
    shelf = lab.ToolShelf()
    shelf.install(v1)
    old = shelf.manifests()[0]
    diff = shelf.install(fixed)

    came = (diff.changed, diff.old_hash == diff.new_hash)
    expect("the diff", came, ((), True), "the model is shown nothing new: no change")
    wanted = replace(old, version="1.0.1")
    advice = "keep the new release: its code runs from now on"
    expect("manifests()", shelf.manifests(), [wanted], advice)
    came = call(shelf.session(), "count", 1)
    expect("a call in a new session", came, "v1b got 1", advice)
    shelf.install(replace(fixed, specs=(tool("count", "rebuilt"),)))
    came = (call(shelf.session(), "count", 1), names(shelf.session()))
    advice = "the number may be the same: what was installed last runs"
    expect("another build of that version", came, ("rebuilt got 1", ["count"]), advice)
