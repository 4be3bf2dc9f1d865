"""A small MCP server on stdin and stdout, and on request a bad one.

    python3 toy_server.py [FAULT]

Its tools show what a server may do to its client; a FAULT shows from the start: dead,
old, silent, refusing, endless, odd-tools, stubborn. What it has received comes
back from the tool `seen`.
"""

import json
import os
import signal
import sys
import time

fault = sys.argv[1] if len(sys.argv) > 1 else ""
seen = []  # every message that came
held = []  # answers that are sent late


def send(**message):
    """One message, one line."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def write(line):
    """A line that is no message of MCP."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def received():
    """The next message; the program ends with its input."""
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    seen.append(json.loads(line))
    return seen[-1]


def text(*texts, **more):
    """The result of a tool."""
    return {"content": [{"type": "text", "text": t} for t in texts], **more}


# --- Tools: from a request's id and arguments to a result, or None for none ---


def add(id_, arguments):
    """Add two integers."""
    return text(str(arguments["a"] + arguments["b"]))


def echo(id_, arguments):
    """Say what came, whatever it is."""
    return text(json.dumps(arguments, sort_keys=True))


def upper(id_, arguments):
    """The text in capitals; fails for none."""
    if not arguments["text"]:
        return text("there is no text", isError=True)
    return text(arguments["text"].upper())


def tell_seen(id_, arguments):
    """Every message that the server has received."""
    return text(json.dumps(seen))


def tell_environment(id_, arguments):
    """The environment of the server."""
    return text(json.dumps(dict(os.environ)))


def mixed(id_, arguments):
    """Blocks of several kinds."""
    image = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
    return {"content": [*text("before")["content"], image, *text("after")["content"]]}


def structured(id_, arguments):
    """A result without a text."""
    return {"content": [], "structuredContent": {"sum": 5}}


def misshapen(id_, arguments):
    """Content that is no list of blocks."""
    return {"content": [5]}


def refuse(id_, arguments):
    """An error object in the place of a result."""
    send(id=id_, error={"code": -32602, "message": "out of stock"})


def no_result(id_, arguments):
    """An answer that answers nothing."""
    send(id=id_)


def noisy(id_, arguments):
    """Lines that are no answer, then the answer."""
    for line in ("INFO starting", "{", "5", "null", "[]", '"text"', "[" * 100_000, ""):
        write(line)
    write(json.dumps({"id": id_, "result": text("cut in half")})[:-1])
    send(method="notifications/message", params={"level": "info", "data": "x"})
    send(id="of nobody", result=text("not yours"))
    send(id=-1, result=text("not yours"))
    return text("quiet again")


def curious(id_, arguments):
    """Requests of the server, under the very id that the client waits for."""
    send(id=id_, method="ping")
    pong = received()
    send(id="r1", method="roots/list")
    return text(json.dumps([pong, received()], sort_keys=True))


def mute(id_, arguments):
    """No answer before the next call comes."""
    held.append((id_, text("late")))


def chatty(id_, arguments):
    """No answer, and a sign of life all the time."""
    for _ in range(200):
        send(method="notifications/progress", params={"progress": 1})
        time.sleep(0.01)


def huge(id_, arguments):
    """One line of three MiB."""
    return text("x" * 3 * 2**20)


def die(id_, arguments):
    """The end, in the middle of a call."""
    os._exit(1)


TEXT = {"type": "string"}
INT = {"type": "integer"}
ANY = {"type": "object"}
NUMBERS = {**ANY, "properties": {"a": INT, "b": INT}, "required": ["a", "b"]}
MAYBE = {**ANY, "properties": {"limit": {"anyOf": [INT, {"type": "null"}]}}}
TOOLS = {
    "add": (add, {**NUMBERS, "additionalProperties": False}),
    "text.upper": (upper, {**ANY, "properties": {"text": TEXT}, "required": ["text"]}),
    "echo": (echo, {**ANY, "properties": {"name": TEXT}}),
    "seen": (tell_seen, ANY),
    "environment": (tell_environment, ANY),
}
for tool in (mixed, structured, misshapen, refuse, no_result, noisy, curious, mute):
    TOOLS[tool.__name__] = (tool, ANY)
for tool in (chatty, huge, die):
    TOOLS[tool.__name__] = (tool, ANY)
REFUSED = {  # a registry takes none of these
    "maybe": (echo, MAYBE),
    "text_upper": (echo, ANY),  # the same name as text.upper, once it has no dot
    "n" * 100: (echo, ANY),
}


def shown(name):
    """A tool as tools/list gives it; the hints are a claim, no more."""
    run, schema = {**TOOLS, **REFUSED}[name]
    hints = {"readOnlyHint": True, "idempotentHint": True}
    described = {"description": run.__doc__} if name != "seen" else {}
    return {"name": name, "inputSchema": schema, "annotations": hints, **described}


def tools_list(id_, params):
    """One page: four tools, and the cursor of the next page if there is one."""
    names = [*TOOLS, *REFUSED]
    start = int(params.get("cursor", 0))
    page = {"tools": [shown(name) for name in names[start : start + 4]]}
    if fault == "odd-tools" and start == 0:
        page["tools"] += [5, "add", {}, {"name": 7}, {"name": "bare"}]
    more = start + 4 < (300 if fault == "endless" else len(names))
    return {**page, "nextCursor": str(start + 4)} if more else page


def tools_call(id_, params):
    """Run one tool; answers that were held back go first."""
    while held:
        late_id, result = held.pop()
        send(id=late_id, result=result)
    return TOOLS[params["name"]][0](id_, params["arguments"])


def initialize(id_, params):
    """Agree on the version that the client asked for."""
    version = "1999-12-31" if fault == "old" else params["protocolVersion"]
    info = {"name": "toy", "version": "1"}
    return {
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": info,
    }


METHODS = {
    "initialize": initialize,
    "tools/list": tools_list,
    "tools/call": tools_call,
}


def main():
    """Answer requests until the input ends."""
    if fault == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if fault == "dead":
        sys.exit(3)
    while True:
        message = received()
        if fault == "stubborn" and message.get("method") == "tools/call":
            time.sleep(60)
        if "id" not in message or fault == "silent":
            continue
        id_, run = message["id"], METHODS.get(message.get("method"))
        if run is None or fault == "refusing":
            send(id=id_, error={"code": -32601, "message": "no such method"})
        elif (result := run(id_, message.get("params", {}))) is not None:
            send(id=id_, result=result)


if __name__ == "__main__":
    main()
