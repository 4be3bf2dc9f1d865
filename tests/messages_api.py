"""A small, strict server on loopback that speaks the Messages API.

    with MessagesAPI([status(429), reply("end_turn", text("hello"))]) as api:
        client = anthropic.Anthropic(api_key="test", base_url=api.base_url)

Every POST /v1/messages takes one answer from the script, unless the request is
refused: first by the SDK's own request types, then by `api_rules`. A refusal is
written to `api.refusals` and answered with status 400 (401 without a key, 404 for
another path), and the answer waits for the next request.

It does not stream, and it does not check that thinking blocks come back.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple, get_args

from tests.api_rules import Block, RequestRefused, RequestRules, demand
from tests.chapters import CHAPTERS

MODEL = "scripted-model"
HANG_SECONDS = 30
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


# --- 1. Answers ---


@dataclass(frozen=True)
class Answer:
    """What one request gets: bytes, now or later, whole or cut, or no bytes at all."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0  # until it comes; the end of the server ends the waiting
    dropped: bool = False
    cut: bool = False


def reply(stop_reason: str | None, *blocks: Block, **fields: object) -> Answer:
    """A complete message with these blocks; `fields` replace or add some."""
    message = {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": list(blocks),
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 10},
    }
    return raw(json.dumps(message | fields).encode())


def text(words: str) -> Block:
    """A text block, with the null that the real API sends."""
    return {"type": "text", "text": words, "citations": None}


def use(tool_use_id: str, name: str, arguments: object) -> Block:
    """A tool_use block."""
    return {"type": "tool_use", "id": tool_use_id, "name": name, "input": arguments}


def thinking() -> Block:
    """A thinking block as it comes by default: signed and without text."""
    return {"type": "thinking", "thinking": "", "signature": "c2lnbmVk"}


def status(code: int, sentence: str = "", **headers: object) -> Answer:
    """An API error, tried again at once if at all; `retry_after=2` is a header."""
    error = {"type": ERROR_TYPES.get(code, "api_error")}
    error["message"] = sentence or f"scripted {code}"
    body = {"type": "error", "error": error, "request_id": "req_scripted"}
    named = {name.replace("_", "-"): str(value) for name, value in headers.items()}
    named = named or {"retry-after": "0"}
    return Answer(code, json.dumps(body).encode(), headers=named)


def html(code: int = 200) -> Answer:
    """The page of some other server."""
    page = b"<!doctype html><title>It <b>works</title><h1>Welcome</h1>"
    return Answer(code, page, "text/html")


def raw(body: bytes) -> Answer:
    """Exactly these bytes, with status 200."""
    return Answer(body=body)


def drop() -> Answer:
    """Close the connection without an answer."""
    return Answer(dropped=True)


def hang() -> Answer:
    """Wait for the end of the server, 30 seconds at most; then drop."""
    return Answer(dropped=True, seconds=HANG_SECONDS)


# --- 2. The SDK's own request types ---


class RequestTypes(NamedTuple):
    """The SDK's types as a check, and the block types that they know."""

    adapter: Any
    known: frozenset[str]


@cache
def request_types() -> RequestTypes:
    """Build the check once; the SDK's classes are as before afterwards."""
    from anthropic.types import content_block_param, message_create_params
    from pydantic import TypeAdapter
    from typing_extensions import get_type_hints

    with extra_keys_forbidden():
        adapter = TypeAdapter(message_create_params.MessageCreateParamsNonStreaming)
    blocks = get_args(content_block_param.ContentBlockParam)
    kinds = [get_args(get_type_hints(block)["type"]) for block in blocks]
    return RequestTypes(adapter, frozenset(kind for some in kinds for kind in some))


@contextmanager
def extra_keys_forbidden() -> Iterator[None]:
    """Close every request type of the SDK while a check is built from them."""
    closed = [one for one in sdk_typed_dicts() if one.__name__ != "InputSchemaTyped"]
    before = [(one, vars(one).get("__pydantic_config__")) for one in closed]
    for one, config in before:
        one.__pydantic_config__ = {**(config or {}), "extra": "forbid"}
    try:
        yield
    finally:
        for one, config in before:
            del one.__pydantic_config__
            if config is not None:
                one.__pydantic_config__ = config


def sdk_typed_dicts() -> list[Any]:
    """Every TypedDict in the modules of anthropic.types that are loaded."""
    from typing_extensions import is_typeddict

    names = [name for name in sys.modules if name.startswith("anthropic.types.")]
    values = [value for name in names for value in vars(sys.modules[name]).values()]
    unique = {id(value): value for value in values if is_typeddict(value)}
    return list(unique.values())


def check_types(request: object) -> None:
    """Raise RequestRefused for what the SDK's types do not allow."""
    from pydantic import ValidationError

    try:
        typed = request_types().adapter.validate_python(request, strict=True)
    except ValidationError as error:
        raise RequestRefused(summary("request", error)) from error
    read_lazy_parts("request", typed)


def read_lazy_parts(where: str, value: object) -> None:
    """Read every Iterable: pydantic validates an item when it is read."""
    for key, child in parts_of(where, value):
        read_lazy_parts(f"{where}.{key}", child)


def parts_of(where: str, value: object) -> Iterator[tuple[object, object]]:
    """Yield the parts of a value that the types let through, with their keys."""
    from pydantic import BaseModel, ValidationError

    if isinstance(value, BaseModel):
        extra = sorted(value.model_extra or {})
        demand(not extra, f"{where}: extra inputs are not permitted: {extra}")
        value = vars(value)
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, (list, Iterator)):
        try:
            yield from enumerate(value)
        except ValidationError as error:
            raise RequestRefused(summary(where, error)) from error


def summary(where: str, error: Any) -> str:
    """Name the first problem."""
    first = error.errors(include_url=False, include_input=False)[0]
    path = ".".join([where, *map(str, first["loc"])])
    return f"{path}: {first['msg']}"


def without_echoes(request: Any, sent: list[Block]) -> Any:
    """Take out the blocks of unknown types that the server sent itself."""

    def foreign(block: object) -> bool:
        unknown = isinstance(block, dict) and block.get("type") not in known
        return unknown and block in sent

    def cleaned(message: Any) -> Any:
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, list):
            return message
        return {**message, "content": [one for one in content if not foreign(one)]}

    known = request_types().known
    messages = request.get("messages") if isinstance(request, dict) else None
    if not isinstance(messages, list):
        return request
    return {**request, "messages": [cleaned(message) for message in messages]}


# --- 3. The server ---


class MessagesAPI(ThreadingHTTPServer):
    """A context manager: the server runs inside `with`, and ends with it.

    base_url   where it listens
    requests   the decoded body of every request, refused ones too; None if not JSON
    headers    the headers of every request, with names in lower case
    refusals   a sentence for every refused request
    """

    daemon_threads = False  # `server_close` waits for them

    def __init__(self, script: Iterable[Answer]) -> None:
        super().__init__(("127.0.0.1", 0), RequestHandler)
        self.base_url = f"http://127.0.0.1:{self.server_port}"
        self.requests: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.refusals: list[str] = []
        self.ended = threading.Event()
        self._script = deque(script)
        self._sent: list[Block] = []
        self._arrival = threading.Condition()

    def __enter__(self) -> MessagesAPI:
        request_types()
        self._listener = threading.Thread(target=self.serve_forever, args=(0.02,))
        self._listener.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.ended.set()
        self.shutdown()
        self._listener.join()
        self.server_close()

    def wait_for_requests(self, count: int, timeout: float = 10) -> None:
        """Return when so many requests have come; AssertionError after a while."""
        with self._arrival:
            came = self._arrival.wait_for(lambda: len(self.requests) >= count, timeout)
        assert came, f"{len(self.requests)} requests after {timeout} s, not {count}"

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """Record one request, check it and choose its answer."""
        with self._arrival:
            request = decoded(body)
            self.headers.append(headers)
            self.requests.append(request)
            self._arrival.notify_all()
            answer = self._refusal(path, headers, request) or self._script.popleft()
            self._sent += content_of(answer)
            return answer

    def _refusal(
        self, path: str, headers: dict[str, str], request: Any
    ) -> Answer | None:
        """Return the answer to a request that is refused, or None."""
        try:
            check_transport(path, headers)
            check_types(without_echoes(request, self._sent))
            demand(request["max_tokens"] > 0, "max_tokens: must be positive")
            RequestRules().check(request["messages"], request.get("tools"))
            demand(self._script, "the script is over")
        except RequestRefused as refused:
            self.refusals.append(str(refused))
            return status(getattr(refused, "status", 400), str(refused))
        return None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone away is no error of the server."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class TransportRefused(RequestRefused):
    """A request that fails before its body is read."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def check_transport(path: str, headers: Mapping[str, str]) -> None:
    """Check path and headers."""
    if path != "/v1/messages":
        raise TransportRefused(404, f"{path}: not found")
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme != "Bearer" or not key.strip():
        raise TransportRefused(401, "authorization: needs a Bearer key")
    if not headers.get("anthropic-version"):
        raise TransportRefused(400, "anthropic-version: header is required")
    if headers.get("content-type", "").partition(";")[0] != "application/json":
        raise TransportRefused(400, "content-type: must be application/json")


def decoded(body: bytes) -> Any:
    """Return the JSON value of a body, or None."""
    try:
        return json.loads(body)
    except ValueError:
        return None


def content_of(answer: Answer) -> list[Block]:
    """Return the blocks that an answer carries, if it carries some."""
    message = decoded(answer.body)
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


class RequestHandler(BaseHTTPRequestHandler):
    """Read one request, ask the script, write the answer, close."""

    server: MessagesAPI
    timeout = HANG_SECONDS

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.answer(self.path, headers, self.rfile.read(length))
        if answer.seconds:
            self.server.ended.wait(answer.seconds)
        if answer.dropped:
            return
        self.send_response(answer.status)
        self.send_header("content-type", answer.content_type)
        self.send_header("content-length", str(len(answer.body) + answer.cut))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the screen quiet."""


# --- 4. Once for each chapter ---


def per_chapter(
    run: Callable[[str, Path], Any], factory: Any
) -> dict[str, Future[Any]]:
    """Run something for each chapter, side by side; a failure waits for its test."""
    import pytest

    if sys.platform == "win32":
        pytest.skip("a POSIX shell or terminal")
    request_types()  # before there are threads: it changes the SDK for a moment
    folders = {chapter: factory.mktemp(chapter) for chapter in CHAPTERS}
    with ThreadPoolExecutor(len(CHAPTERS)) as pool:
        return {one: pool.submit(run, one, folders[one]) for one in CHAPTERS}
