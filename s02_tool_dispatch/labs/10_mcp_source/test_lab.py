"""Lab 10: a real server process behind the chapter's registry; see toy_server.py."""

import json
import os
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from s02_tool_dispatch.code import ToolCall, ToolFailure, ToolRegistry

SERVER = [sys.executable, "-I", "-S", str(Path(__file__).with_name("toy_server.py"))]
SLOW = 4  # seconds that no good server needs


class Session:
    """The toy server's tools in a registry; `call` gives its result as text."""

    def __init__(self, registry, specs):
        self.registry, self.specs = registry, specs

    def call(self, name, /, **arguments):
        """Content of a call that succeeded, else its code."""
        result = self.registry.dispatch(ToolCall("t1", f"toy__{name}", arguments))
        return result.error_code or result.content

    def seen(self):
        """Every message that the server has received; none if it does not say."""
        try:
            return json.loads(self.call("seen"))
        except ValueError:
            return []


@contextmanager
def served(lab, folder, *fault, seconds=SLOW, told=None):
    """A session with the toy server, which is ended with it."""
    tell = ([] if told is None else told).append
    specs, wire = lab.connect([*SERVER, *fault], folder, "toy", seconds, tell)
    try:
        registry = ToolRegistry()
        registry.register(*specs)
        yield Session(registry, specs)
    finally:
        lab.GRACE = 0.1  # a server that is stuck is not waited for
        wire.close()


@contextmanager
def served_briefly(lab, folder):
    """A session with the shortest of three bounds that this machine can keep."""
    bounds = [0.15, 1, 3]
    with ExitStack() as stack:
        while True:
            seconds = bounds.pop(0)
            try:
                session = stack.enter_context(served(lab, folder, seconds=seconds))
                break
            except ToolFailure:
                if not bounds:
                    raise
        yield session, seconds


def failure_at_start(lab, folder, fault, seconds=SLOW):
    """The code of what `connect` raised; how many servers are left running."""
    wires = []

    class Kept(lab.Wire):
        def __init__(self, *given, **named):
            wires.append(self)
            super().__init__(*given, **named)

    lab.Wire, code = Kept, "no ToolFailure"
    try:
        with served(lab, folder, fault, seconds=seconds):
            pass
    except ToolFailure as failure:
        code = failure.code
    left = [wire for wire in wires if wire.process.poll() is None]
    lab.GRACE, lab.Wire = 0.1, Kept.__base__
    for wire in left:
        wire.close()
    return code, len(left)


def test_a_call_goes_through_the_gate_to_the_server_and_back(lab, expect, tmp_path):
    with served(lab, tmp_path) as session:
        came = session.call("add", a=2, b=3)
        expect('dispatch("toy__add", a=2, b=3)', came, "5", "send tools/call")
        came = session.call("add", a="2", b=3)
        advice = "give the server's schema to the ToolSpec as it is"
        expect('dispatch("toy__add", a="2", b=3)', came, "invalid_arguments", advice)
        sent = [m["params"] for m in session.seen() if m["method"] == "tools/call"]
        called = "the calls that the server has received"
        wanted = [{"name": "add", "arguments": {"a": 2, "b": 3}}]
        expect(called, sent[:-1], wanted, "a refused call never reaches the server")


def test_the_handshake_comes_first_and_every_page_is_read(lab, expect, tmp_path):
    with served(lab, tmp_path) as session:
        seen = session.seen()
        names = {spec.name for spec in session.specs}
    got = [m["method"] for m in seen]
    wanted = ["initialize", "notifications/initialized", *["tools/list"] * 5]
    advice = "initialize, the notification, then tools/list until no nextCursor comes"
    expect("the methods received", got, [*wanted, "tools/call"], advice)
    got = [m.get("params", {}).get("cursor") for m in seen[2:7]]
    advice = "send back each nextCursor as `cursor`; the first request has none"
    expect("the cursors received", got, [None, "4", "8", "12", "16"], advice)
    got = "toy__die" in names
    expect("the last page's tool is there", got, True, "keep the tools of all pages")
    ids = [m["id"] for m in seen if "id" in m]
    got = len(set(ids)) == len(ids) and all(m["jsonrpc"] == "2.0" for m in seen)
    wanted = 'a new id for each request, "jsonrpc": "2.0" in each message'
    expect("the messages received", seen, wanted, "count the ids up", holds=got)
    got = {key: seen[0]["params"].get(key) for key in ("protocolVersion", "clientInfo")}
    advice = "offer PROTOCOLS[0], capabilities and clientInfo with name and version"
    holds = got["protocolVersion"] == "2025-11-25" and "name" in got["clientInfo"]
    expect("params of initialize", got, "version and name", advice, holds=holds)


def test_names_are_put_into_the_namespace_and_sent_as_the_server_wrote_them(
    lab, expect, tmp_path
):
    with served(lab, tmp_path) as session:
        came = session.call("text_upper", text="a")
        advice = "text.upper: show it without the dot, call it with the dot"
        expect('dispatch("toy__text_upper", text="a")', came, "A", advice)
        sources = {spec.source for spec in session.specs}
        expect("the sources of the specs", sources, {"toy"}, "source=namespace")
        got = [spec.name for spec in session.specs if spec.concurrent_safe]
        advice = "readOnlyHint is the server's claim: leave concurrent_safe off"
        expect("the specs that may overlap", got, [], advice)


def test_what_a_registry_refuses_is_left_out_and_told_once(lab, expect, tmp_path):
    told = []
    with served(lab, tmp_path, "odd-tools", told=told) as session:
        names = [spec.name for spec in session.specs]
        came = session.call("add", a=2, b=3)
    expect('dispatch("toy__add", a=2, b=3)', came, "5", "keep the tools that are right")
    left = {"toy__maybe", "toy__" + "n" * 100, "toy__bare"} & set(names)
    expect("specs of tools that are to be left out", left, set(), "try a registry")
    expect("one name each", len(names), len(set(names)), "the second one is left out")
    for part, advice in [
        (
            "schema.properties.limit.anyOf",
            "tell what compile_schema says, with its path",
        ),
        ("toy__text_upper", "text_upper and text.upper become one name: tell it"),
        ("n" * 100, "105 characters are too many for the API: leave it out"),
    ]:
        got = [line for line in told if part in str(line)]
        expect(f"told about {part}", got, "one line", advice, holds=len(got) == 1)


def test_no_argument_leads_to_another_tool(lab, expect, tmp_path):
    arguments = {"name": "die", "tool": "die", "method": "die", "self": 1, "_name": "a"}
    with served(lab, tmp_path) as session:
        came = session.call("echo", **arguments)
    advice = "bind the tool's name out of reach: a closure, not a default argument"
    wanted = json.dumps(arguments, sort_keys=True)
    expect(f'dispatch("toy__echo", {arguments})', came, wanted, advice)


def test_blocks_that_are_no_text_are_named(lab, expect, tmp_path):
    with served(lab, tmp_path) as session:
        came = session.call("mixed")
        places = [came.find(part) for part in ("before", "image", "after")]
        holds = -1 < places[0] < places[1] < places[2] and "iVBOR" not in came
        advice = (
            "say [image] in its place: the model must know that something is missing"
        )
        expect("a text, an image, a text", came, "all three named", advice, holds=holds)
        came = session.call("structured")
        advice = "without a text, structuredContent is the result"
        expect("structuredContent alone", came, '{"sum": 5}', advice)
        came = session.call("misshapen")
        advice = "ToolFailure with BROKEN"
        expect('the content "[5]"', came, lab.BROKEN, advice)


def test_a_failure_is_never_a_success(lab, expect, tmp_path):
    with served(lab, tmp_path) as session:
        for name, code, part, arguments in [
            ("text_upper", lab.FAILED, "there is no text", {"text": ""}),
            ("refuse", lab.REFUSED, "out of stock", {}),
            ("no_result", lab.BROKEN, "", {}),
        ]:
            call = ToolCall("t1", f"toy__{name}", arguments)
            came = session.registry.dispatch(call)
            called = f'dispatch("toy__{name}", {arguments})'
            advice = "isError: FAILED; an error object: REFUSED; no result: BROKEN"
            expect(called, came.error_code, code, advice)
            advice = "give the model the reason that the server gave"
            expect(called, came.content, part, advice, holds=part in came.content)


def test_lines_that_are_no_answer_are_skipped(lab, expect, tmp_path):
    with served(lab, tmp_path) as session:
        came = session.call("noisy")
        advice = "skip what is no JSON object, has a method, or has another id"
        expect("log lines, notifications, then the answer", came, "quiet again", advice)
        came = session.call("add", a=2, b=3)
        expect("the call after it", came, "5", advice)
        got = [message for message in session.seen() if "method" not in message]
        advice = "a notification has no id: nobody waits for an answer"
        expect("answers that the server has received", got, [], advice)


def test_a_request_of_the_server_is_answered(lab, expect, tmp_path):
    with served(lab, tmp_path) as session:
        came = session.call("curious")
    replies = json.loads(came) if came.startswith("[") else came
    advice = "look for `method` first: its id is the server's, not yours"
    expect(
        "ping and roots/list in a call", came, "two replies", advice, replies != came
    )
    advice = "a ping gets an empty result, everything else NO_METHOD"
    got = [reply.get("result", reply.get("error", {}).get("code")) for reply in replies]
    expect("the replies to ping and roots/list", got, [{}, -32601], advice)
    expect("the id of the second", replies[1].get("id"), "r1", "send back its own id")


def test_a_server_that_hangs_is_a_timeout_and_no_more(lab, expect, tmp_path):
    with served_briefly(lab, tmp_path) as (session, seconds):
        came = session.call("mute")
        expect(
            "a tool that does not answer", came, lab.TIMEOUT, "wire.receive raises it"
        )
        came = lab.TIMEOUT
        while came == lab.TIMEOUT:  # the machine may be busy: that is not asked here
            came = session.call("add", a=2, b=3)
        advice = "the answer to the first call comes now: take the one with your id"
        expect("the next call", came, "5", advice)
        began = time.monotonic()
        came = session.call("chatty")
        advice = "one deadline for the request, not one for each line"
        expect("a tool that only shows progress", came, lab.TIMEOUT, advice)
        took = time.monotonic() - began
        expect("how long it took", took, "no more", advice, holds=took < seconds + 1)


def test_a_server_that_dies_or_writes_a_huge_line_is_a_result(lab, expect, tmp_path):
    with served(lab, tmp_path) as session:
        came = session.call("huge")
        expect("a line of three MiB", came, lab.TOO_LONG, "wire.receive raises it")
        came = session.call("add", a=2, b=3)
        expect("the call after it", came, "5", "go on: the wire threw the rest away")
        for called in ("a server that dies in a call", "the call after it"):
            came = session.call("die")
            expect(called, came, lab.DIED, "let the wire's ToolFailure go up")


def test_the_server_gets_a_rebuilt_environment(lab, expect, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_API_KEY", "planted")
    with served(lab, tmp_path) as session:
        came = session.call("environment")
    advice = "start it with build_subprocess_env(workdir)"
    holds = "planted" not in came and str(tmp_path) in came
    expect(
        "the server's environment", came, "no LAB_API_KEY; HOME", advice, holds=holds
    )


def test_a_server_of_no_use_is_a_failure_and_is_ended(lab, expect, tmp_path):
    for fault, code in [
        ("dead", lab.DIED),
        ("old", lab.BROKEN),
        ("refusing", lab.REFUSED),
        ("endless", lab.BROKEN),
    ]:
        got = failure_at_start(lab, tmp_path, fault)
        advice = "close the wire on whatever goes wrong; MAX_PAGES bounds the list"
        called = f"connect to a server that is {fault}: code, servers left"
        expect(called, got, (code, 0), advice)
    got = failure_at_start(lab, tmp_path, "silent", 0.1)
    called = "connect to a silent server: code, servers left"
    expect(called, got, (lab.TIMEOUT, 0), "the handshake has a bound too")


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups here")
def test_a_server_that_does_not_end_by_itself_is_killed(lab, expect, tmp_path):
    command = [*SERVER, "stubborn"]
    lab.GRACE = 0.1
    wire = lab.Wire(command, tmp_path, dict(os.environ))
    wire.send({"id": 1, "method": "initialize", "params": {"protocolVersion": "x"}})
    wire.receive(time.monotonic() + SLOW)
    wire.send({"id": 2, "method": "tools/call", "params": {}})
    wire.close()

    got = wire.process.returncode
    expect("exit status after close", got, "a signal", "see Wire.close", holds=got < 0)
