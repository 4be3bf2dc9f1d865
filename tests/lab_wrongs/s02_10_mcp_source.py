"""Wrong and right solutions of lab 10; the format is in FORMAT.md."""

from pathlib import Path

LAB = Path(__file__).parents[2] / "s02_tool_dispatch" / "labs" / "10_mcp_source"
REGION = (LAB / "solution.py").read_text(encoding="utf-8")
REGION = REGION.partition("# --- your code ---\n")[2].partition("    # --- end of")[0]

CALL = "test_a_call_goes_through_the_gate_to_the_server_and_back"
PAGES = "test_the_handshake_comes_first_and_every_page_is_read"
NAMES = "test_names_are_put_into_the_namespace_and_sent_as_the_server_wrote_them"
LEFT_OUT = "test_what_a_registry_refuses_is_left_out_and_told_once"
BOUND_NAME = "test_no_argument_leads_to_another_tool"
BLOCKS = "test_blocks_that_are_no_text_are_named"
FAILURES = "test_a_failure_is_never_a_success"
SKIPPED = "test_lines_that_are_no_answer_are_skipped"
ANSWERED = "test_a_request_of_the_server_is_answered"
HANGS = "test_a_server_that_hangs_is_a_timeout_and_no_more"
DIES = "test_a_server_that_dies_or_writes_a_huge_line_is_a_result"
ENVIRONMENT = "test_the_server_gets_a_rebuilt_environment"
NO_USE = "test_a_server_of_no_use_is_a_failure_and_is_ended"
STARTER_FAILS = {CALL, PAGES, NAMES, LEFT_OUT, BOUND_NAME, BLOCKS, FAILURES, SKIPPED}
STARTER_FAILS |= {ANSWERED, HANGS, DIES, ENVIRONMENT, NO_USE}


def but(*changes):
    """The solution's lines, with some of them replaced; each must be there."""
    lines = REGION
    for old, new in changes:
        assert lines.count(old) == 1, old
        lines = lines.replace(old, new)
    return lines


WRONGS = {
    "only-the-first-page": (
        PAGES,
        but(('if page.get("nextCursor") is None:', "if page:")),
    ),
    "called-by-the-shown-name": (
        NAMES,
        but(('{"name": name, ', "{\"name\": NOT_IN_A_NAME.sub('_', name), ")),
    ),
    "the-hint-is-believed": (
        NAMES,
        but(("source=namespace)", "concurrent_safe=True, source=namespace)")),
    ),
    "every-schema-is-taken-for-open": (
        LEFT_OUT,
        but(('schema = tool.get("inputSchema")', 'schema = {"type": "object"}')),
    ),
    "the-name-is-a-default": (
        BOUND_NAME,
        but(("call(**arguments: object)", "call(name=name, **arguments: object)")),
    ),
    "isError-is-not-looked-at": (FAILURES, but(('result.get("isError")', "False"))),
    "a-log-line-is-the-end": (
        SKIPPED,
        but(
            (
                "return {}\n        return message if",
                'raise s02.ToolFailure("no JSON", BROKEN)\n        return message if',
            )
        ),
    ),
    "the-next-line-is-the-answer": (
        HANGS,
        but(('message.get("id") == id_', '"id" in message')),
    ),
    "the-id-before-the-method": (
        ANSWERED,
        but(
            (
                'if "method" in message:',
                'if message.get("id") == id_:\n'
                "                return result_of(message)\n"
                '            if "method" in message:',
            )
        ),
    ),
    "a-deadline-for-each-line": (
        HANGS,
        but(("wire.receive(deadline)", "wire.receive(time.monotonic() + seconds)")),
    ),
    "the-whole-environment": (
        ENVIRONMENT,
        but(("s02.build_subprocess_env(workdir)", "os.environ")),
    ),
    "a-failed-start-is-left-running": (NO_USE, but(("        wire.close()\n", ""))),
    "a-list-without-end": (
        NO_USE,
        but(("for _ in range(MAX_PAGES):", "while True:")),
    ),
}

RIGHTS = {
    "a-class-and-partial": """
        import functools
        import itertools

        class Client:
            def __init__(self):
                self.ids = itertools.count(100, 7)

            def say(self, **message):
                wire.send({"jsonrpc": "2.0", **message})

            def ask(self, method, **params):
                until, mine = time.monotonic() + seconds, f"q{next(self.ids)}"
                self.say(id=mine, method=method, params=params)
                while True:
                    match self.read(wire.receive(until)):
                        case {"method": "ping", "id": theirs}:
                            self.say(id=theirs, result={})
                        case {"method": _, "id": theirs}:
                            self.say(id=theirs, error=NO_METHOD)
                        case {"method": _}:
                            pass
                        case {"id": theirs, "error": {"message": why}}:
                            if theirs == mine:
                                raise s02.ToolFailure(why, REFUSED)
                        case {"id": theirs, **rest} if theirs == mine:
                            if type(rest.get("result")) is not dict:
                                raise s02.ToolFailure("no result", BROKEN)
                            return rest["result"]

            def read(self, line):
                try:
                    return json.loads(line)
                except (ValueError, RecursionError):
                    return None

            def call(self, name, /, **arguments):
                result = self.ask("tools/call", name=name, arguments=arguments)
                said = []
                for block in result.get("content") or ():
                    match block:
                        case {"type": "text", "text": str(text)}:
                            said.append(text)
                        case {"type": kind}:
                            said.append(f"(one block of kind {kind} is not shown)")
                        case _:
                            raise s02.ToolFailure("an odd block", BROKEN)
                text = "\\n".join(said)
                if result.get("isError") is True:
                    raise s02.ToolFailure(text, FAILED)
                return result.get("structuredContent", "") if not said else text

            def tools(self):
                cursors = {}
                for _ in range(MAX_PAGES):
                    page = self.ask("tools/list", **cursors)
                    if type(page.get("tools")) is not list:
                        raise s02.ToolFailure("no list", BROKEN)
                    yield from page["tools"]
                    if "nextCursor" not in page:
                        return
                    cursors = {"cursor": page["nextCursor"]}
                raise s02.ToolFailure("too many pages", BROKEN)

            def start(self):
                said = self.ask(
                    "initialize",
                    protocolVersion=PROTOCOLS[0],
                    capabilities={},
                    clientInfo={"name": "x", "version": "0"},
                )
                if said.get("protocolVersion") not in PROTOCOLS:
                    raise s02.ToolFailure("another version", BROKEN)
                self.say(method="notifications/initialized")

        wire = Wire(command, workdir, s02.build_subprocess_env(workdir))
        client, specs = Client(), {}
        try:
            client.start()
            for tool in client.tools():
                if not isinstance(tool, dict) or type(tool.get("name")) is not str:
                    tell(f"a tool without a name: {tool!r}")
                    continue
                shown = f"{namespace}__" + NOT_IN_A_NAME.sub("-", tool["name"])
                shown = shown.replace("-", "_")
                spec = s02.ToolSpec(
                    shown,
                    str(tool.get("description", tool["name"])),
                    tool.get("inputSchema"),
                    functools.partial(client.call, tool["name"]),
                    source=namespace,
                )
                try:
                    s02.ToolRegistry().register(spec)
                    if shown in specs:
                        raise ValueError(f"{shown}: the name is taken")
                except ValueError as refused:
                    tell(str(refused))
                else:
                    specs[shown] = spec
        except BaseException:
            wire.close()
            raise
        return list(specs.values()), wire
    """,
    "the-answers-are-kept-by-id": but(
        (
            '            elif message.get("id") == id_:\n',
            "            else:\n"
            '                answers[message.get("id")] = message\n'
            "            while id_ in answers:\n"
            "                message = answers.pop(id_)\n",
        ),
        ("    id_ = 0\n", "    id_, answers = 0, {}\n"),
    ),
}
