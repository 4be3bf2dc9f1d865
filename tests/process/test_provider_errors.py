"""Whatever a provider or a setting does wrong is one sentence, and costs nothing.

Both chapters carry one text of the section on providers (a test elsewhere compares
them), so the chapters share the rows of the tables.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import re
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from typing import NamedTuple

import pytest

from s01_agent_loop import code as s01
from tests.chapters import (
    CHAPTERS,
    Conversation,
    chapter_copy,
    run_chapter,
    scrubbed_env,
)
from tests.messages_api import (
    Answer,
    MessagesAPI,
    drop,
    html,
    per_chapter,
    raw,
    reply,
    status,
    text,
    use,
)

both_chapters = pytest.mark.parametrize("chapter", CHAPTERS)
KEY = "sk-live-1234"
K, T, URL = "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"
DONE = reply("end_turn", text("done"))
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


# --- 1. In a conversation: the servers' moods, one question for each ---


class Case(NamedTuple):
    """The answers to one question, each to one request, and what the screen says."""

    answers: list[Answer]
    said: list[str]  # in this order
    never: str = "network"


def error_of(kind: str, words: str) -> Answer:
    """An error object under HTTP 200."""
    error = {"type": kind, "message": words}
    return raw(json.dumps({"type": "error", "error": error}).encode())


IN_AN_HOUR = formatdate(time.time() + 3_630, usegmt=True)
ENDPOINT, NEW, LATER = URL, "/new begins", "ask again later"
WAITING = {
    "a pause as asked": Case(
        [status(429, retry_after=0.3), DONE], ["429", "in 0.3 seconds", "done"]
    ),
    "in milliseconds": Case(
        [status(529, retry_after=99, retry_after_ms=20), DONE], ["0.02 s", "done"]
    ),
    "an hour": Case([status(429, retry_after=3600)], ["pause of 3600 s", LATER]),
    "a date": Case([status(529, retry_after=IN_AN_HOUR)], ["pause of 3", LATER]),
    "an hour in ms": Case([status(503, retry_after_ms=36e5)], ["of 3600 s", LATER]),
    "negative": Case([status(429, retry_after=-1), DONE], ["in 0.5 s", "done"]),
    "not a number": Case([status(429, retry_after="nan"), DONE], ["in 0.5 s", "done"]),
    "a word": Case([status(429, retry_after="soon"), DONE], ["in 0.5 s", "done"]),
    "nothing": Case([status(429, retry_after=""), DONE], ["in 0.5 s", "done"]),
    "for ever": Case([status(429, retry_after=10**30)], ["pause of 1e+30 s", LATER]),
    "busy for good": Case([status(529)] * 4, [*["again in 0 s"] * 3, "busy", LATER]),
    "limited for good": Case([status(429)] * 4, [*["scripted 429"] * 4, "a limit"]),
    "a fault, then another": Case(
        [drop(), status(500), status(503), DONE],
        ["onnection", "in 0.5 s", "500", "503", "done"],
    ),
    "cut short": Case(
        [Answer(body=b'{"type": "mess', cut=True), raw(b""), DONE],
        ["RemoteProtocolError", "JSONDecodeError", "done"],
    ),
    "told to try again": Case(
        [status(400, x_should_retry="true", retry_after=0), DONE], ["400", "done"]
    ),
    "told to try for ever": Case(
        [status(422, x_should_retry="true", retry_after=0)] * 4, ["scripted 422"] * 4
    ),
    "told not to": Case([status(529, x_should_retry="false")], ["529", LATER]),
    "overloaded with 200": Case(
        [error_of("overloaded_error", "Overloaded"), DONE], ["Overloaded", "done"]
    ),
}
TOO_LONG = [
    "prompt is too long: 210000 tokens > 200000 maximum",
    "This model's maximum context length is 65536 tokens. You requested 70000",
    "Input length 9000 exceeds the maximum length 8192",
    "Your request exceeded model token limit: 8192",
    "Too many tokens",
    "the request exceeds the available context size",
]
ADVICE = {
    **{one: Case([status(400, one)], [one[:30], NEW]) for one in TOO_LONG},
    "after them": Case([DONE], ["done"]),
    "too large": Case([status(413)], ["scripted 413", NEW]),
    "took too long": Case([status(504, "took too long")] * 4, ["busy"], NEW),
    "credit": Case([status(400, "Your credit balance is too low")], ["account"]),
    "payment": Case([status(402)], ["402", "account"]),
    "a field": Case([status(400, "max_tokens: 9 > 8")], ["max_tokens: 9", ENDPOINT]),
    "a model": Case([status(404, "model: m-9")], ["model: m-9", "model", ENDPOINT]),
    "unprocessable": Case([status(422)], ["422", ENDPOINT]),
    "refused key": Case([status(401, f"wrong: {KEY}")], ["wrong: ***", "key or"]),
    "forbidden": Case([status(403)], ["403", "key or token"]),
    "a page": Case([html(404)], ["404", ": It;", ENDPOINT], "<"),
    "a page with 200": Case([html()], ["200", ": It;", ENDPOINT], "Welcome"),
    "a list": Case([raw(b"[]")], [ENDPOINT]),
    "another error": Case([error_of("x", "no")], ["200 x: no", ENDPOINT]),
    "another api": Case([raw(b'{"object": "completion", "usage": {}}')], [ENDPOINT]),
    "strange errors": Case([raw(b'{"error": {"message": {}, "type": []}}')], ["200"]),
    "control": Case([status(400, "\x1b[2J\r\x07clear\nme")], ["clear me"], "\x07"),
    "a long story": Case([status(400, "tell " * 20_000)], ["tell"]),
    "refused": Case(
        [
            reply(
                "refusal", stop_details={"category": "cyber", "explanation": "It harms"}
            )
        ],
        ["cyber: It harms", "[refusal: "],
    ),
    "no network": Case(
        [drop()] * 4, ["onnection"] * 4 + ["network, the proxy", URL], "busy"
    ),
    "no cache": Case(
        [status(400, "cache_control: Extra inputs are not permitted"), DONE],
        ["no cache_control", "done"],
    ),
}
ONCE = use("t1", "bash", {"command": "echo once >> ran.txt"})
ROUNDS = {
    "tools, then a pause": Case(
        [reply("tool_use", ONCE), status(429), DONE], ["429", "done"]
    ),
    "tools, then an error": Case(
        [reply("tool_use", {**ONCE, "id": "t2"}), status(400)], ["scripted 400"]
    ),
    "after the error": Case([DONE], ["done"]),
}
TABLES = [{**WAITING, **ROUNDS}, {**ADVICE, **ROUNDS}]
CASES = dict(zip(CHAPTERS, TABLES, strict=True))


@dataclass
class Talked:
    api: MessagesAPI
    screen: dict[str, str] = field(default_factory=dict)
    ran: str = ""


@pytest.fixture(scope="module")
def talked(tmp_path_factory):
    def run(chapter, folder):
        answers = [case.answers for case in CASES[chapter].values()]
        with MessagesAPI(itertools.chain(*answers)) as api:
            env = scrubbed_env(folder / "home", ANTHROPIC_API_KEY=KEY)
            env["ANTHROPIC_BASE_URL"] = api.base_url
            talked = Talked(api)
            with Conversation(chapter_copy(folder), chapter, env=env, cwd=folder) as it:
                it.expect("you> ")
                talked.screen = {one: shown(it, one) for one in CASES[chapter]}
        talked.ran = (folder / "ran.txt").read_text()
        return talked

    return per_chapter(run, tmp_path_factory)


def shown(talk, question):
    """Ask, wait for the prompt and return what came between, without colours."""
    start = len(talk.transcript)
    talk.send(question)
    talk.expect("you> ")
    return COLOUR.sub("", talk.transcript[start:]).removesuffix("you> ")


@pytest.mark.parametrize(
    ("chapter", "question"), [(one, case) for one in CASES for case in CASES[one]]
)
def test_what_a_server_does_is_told_in_whole_lines(talked, chapter, question):
    case, screen = CASES[chapter][question], talked[chapter].result().screen[question]

    assert re.search(".*".join(map(re.escape, case.said)), screen, re.DOTALL), screen
    assert case.never not in screen and KEY not in screen
    assert "Traceback" not in screen and screen.replace("\n", "").isprintable()
    assert max(map(len, screen.splitlines())) < 700
    if "final_answer" not in screen and question not in (*ROUNDS, "refused"):
        assert screen.count("\n") == len(case.answers)  # each is one line


@both_chapters
def test_each_question_is_asked_as_often_as_that_can_help(talked, chapter):
    api = talked[chapter].result().api
    last = [[*texts(request["messages"])][-1] for request in api.requests]

    times = {one: len(case.answers) for one, case in CASES[chapter].items()}
    assert {one: last.count(one) for one in times} == times
    assert max(times.values()) == s01.MAX_ATTEMPTS


def texts(messages):
    """The questions of a history."""
    return (m["content"] for m in messages if isinstance(m["content"], str))


@both_chapters
def test_a_question_that_nothing_came_of_leaves_history(talked, chapter):
    api, cases = talked[chapter].result().api, CASES[chapter]
    kept = [one for one in cases if cases[one].answers[-1] == DONE or one in ROUNDS]

    assert [*texts(api.requests[-1]["messages"])] == kept
    assert api.refusals == []


@both_chapters
def test_tools_that_ran_before_an_error_are_kept_and_not_run_again(talked, chapter):
    talk = talked[chapter].result()
    question, _, results, following = talk.api.requests[-1]["messages"][-4:]

    assert question["content"] == "tools, then an error"
    assert [block["tool_use_id"] for block in results["content"]] == ["t2"]
    assert following == {"role": "user", "content": "after the error"}
    assert talk.ran == "once\n" * 2


def test_a_cache_is_asked_for_until_the_endpoint_refuses_it_by_name(talked):
    [chapter] = [one for one in CASES if "no cache" in CASES[one]]
    api = talked[chapter].result().api
    asked = [request.get("cache_control") for request in api.requests]
    refused = asked.index(None)

    assert asked[:refused] == [{"type": "ephemeral"}] * refused
    assert set(map(str, asked[refused:])) == {"None"}
    assert [*texts(api.requests[refused]["messages"])][-1] == "no cache"


def test_a_long_wait_is_counted_and_wiped_and_new_forgets(tmp_path):
    """The one test that waits: for as long as a user does before the line comes."""
    seconds = s01.PATIENCE_SECONDS
    script = [replace(DONE, seconds=seconds + 0.5), DONE, DONE]
    with MessagesAPI(script) as api:
        env = scrubbed_env(tmp_path / "home", ANTHROPIC_API_KEY=KEY)
        env["ANTHROPIC_BASE_URL"] = api.base_url
        with Conversation(chapter_copy(tmp_path), CHAPTERS[0], env=env) as talk:
            for typed in (" /new ", "slow", "second", "/new", "third"):
                talk.expect("you> ")
                talk.send(typed)
            talk.expect("you> ")
            talk.send("q")
            assert talk.wait() == 0
    screen = COLOUR.sub("", talk.transcript)

    assert screen.count("waiting") == 1
    assert f"\rwaiting {seconds} s\r\x1b[Kdone\n[final_answer: 1 turns" in screen
    assert [len(one["messages"]) for one in api.requests] == [1, 3, 1]
    assert "30 tokens in (0 cached), 30 out]" in screen.splitlines()[-1]


# --- 2. Many settings: a copy of a chapter with a `.env`, started in this process ---


class Started(NamedTuple):
    """One start of a chapter with -p, and what came of it."""

    code: int
    screen: str
    errors: str
    asked: list  # host, key and model of each request that arrived


@pytest.fixture
def start(tmp_path, monkeypatch, capsys):
    """Run a chapter on these variables and this `.env`, with two servers to ask."""

    def run(shell, dotenv, number, attempts=s01.MAX_ATTEMPTS):
        with MessagesAPI([DONE]) as at_shell, MessagesAPI([DONE]) as at_file:
            apis = {"shell": at_shell, "file": at_file}
            known = {at: api.base_url for at, api in apis.items()}
            known["port"] = closed_port()
            env = {name: value.format(**known) for name, value in shell.items()}
            written = dotenv.format(**known).encode("utf-8", "surrogateescape")
            chapter = loaded(chapter_copy(tmp_path), CHAPTERS[number % 2], written)
            chapter.MAX_ATTEMPTS = attempts
            monkeypatch.setattr("os.environ", scrubbed_env(tmp_path / "home", **env))
            code = chapter.main(["-p", "hi", "--workdir", str(tmp_path)])
        asked = [(at, *arrived(api)) for at, api in apis.items() if api.requests]
        return Started(code, *capsys.readouterr(), asked)

    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        monkeypatch.setattr("sys.unraisablehook", sys.unraisablehook)
        yield run


def loaded(repo, chapter, dotenv):
    """The module of a copied chapter, beside its `.env`."""
    (repo / ".env").write_bytes(dotenv)
    path = repo / chapter / "code.py"
    spec = importlib.util.spec_from_file_location(f"copied_{chapter}", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arrived(api):
    """The key and the model of the one request."""
    return api.headers[0]["authorization"], api.requests[0]["model"]


def closed_port():
    """A port where nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


# --- 3. Key, token and base URL, in the shell and in .env ---

DEFAULT = "api.anthropic.com"  # nothing is asked there: the start line names it

# what: (the shell, .env, the host that is asked, the key that it gets)
MIXES = {
    "key and url in the shell hide those of the file": (
        {K: "sk-shell", URL: "{shell}"},
        f"{K}=sk-file\n{URL}={{file}}\nMODEL_ID=file-model",
        "shell",
        "sk-shell",
    ),
    "a token in the shell hides a key of the file": (
        {T: "sk-shell", URL: "{shell}", "MODEL_ID": "file-model"},
        f"{K}=sk-file\nMODEL_ID=other",
        "shell",
        "sk-shell",
    ),
    "a url in the shell hides no key": (
        {URL: "{shell}", "ANTHROPIC_MODEL": "other"},
        f"{K}=sk-file\n{URL}={{file}}\nMODEL_ID=file-model",
        "shell",
        "sk-file",
    ),
    "a key in the shell hides a url of the file": (
        {K: "sk-shell"},
        f"{K}=sk-file\n{URL}={{file}}",
        DEFAULT,
        "",
    ),
    "a token in the shell hides a url of the file": (
        {T: "sk-shell"},
        f"{T}=sk-file\n{URL}={{file}}",
        DEFAULT,
        "",
    ),
    "all three in the shell": (
        {K: "sk-shell", T: "sk-token", URL: "{shell}", "MODEL_ID": "file-model"},
        "",
        "shell",
        "sk-shell",
    ),
    "all three in the file": (
        {},
        f"{K}=sk-file\n{T}=sk-token\n{URL}={{file}}\nANTHROPIC_MODEL=file-model",
        "file",
        "sk-file",
    ),
    "a token in the file, its key empty": (
        {},
        f"{K}=\n{T}=sk-file\n{URL}={{file}}\nMODEL_ID=file-model",
        "file",
        "sk-file",
    ),
    "a file with a mark, quotes, blanks, comments and a bare name": (
        {},
        f"\ufeff{K}='sk-file '\nexport {URL}= {{file}}/ # it\nMODEL_ID=file-model\nX",
        "file",
        "sk-file",
    ),
    "a key in the file that looks like a variable": (
        {"HOME_KEY": "sk-home"},
        f"{K}=sk-${{{{HOME_KEY}}}}\n{URL}={{file}}\nMODEL_ID=file-model",
        "file",
        "sk-${HOME_KEY}",
    ),
    "blanks in the shell count as unset": (
        {K: " ", T: "", URL: "", "MODEL_ID": " "},
        f"{K}=sk-file\n{URL}={{file}}\nMODEL_ID=file-model",
        "file",
        "sk-file",
    ),
    "a newline after the key, a slash after the url": (
        {K: " sk-shell\n", URL: "{shell}/ ", "MODEL_ID": "file-model"},
        "",
        "shell",
        "sk-shell",
    ),
    "an empty url in the file": ({}, f"{K}=sk-file\n{URL}=\n", DEFAULT, ""),
    "an empty url in the shell": (
        {K: "sk-shell", URL: ""},
        "",
        DEFAULT,
        "",
    ),
}


@pytest.mark.parametrize("name", MIXES)
def test_a_key_goes_to_the_host_it_was_set_with(start, name):
    shell, dotenv, host, key = MIXES[name]
    if host == DEFAULT:  # nothing is to be asked there
        shell = {**shell, "HTTPS_PROXY": "http://127.0.0.1:{port}"}
    ran = start(shell, dotenv, [*MIXES].index(name), attempts=1)
    first = ran.screen.splitlines()[0]

    assert ran.asked == ([(host, f"Bearer {key}", "file-model")] if key else [])
    assert (ran.code, ran.errors) == (0 if key else 1, "")
    assert (DEFAULT if host == DEFAULT else "127.0.0.1") in first
    assert "sk-" not in ran.screen


# --- 4. Settings that cannot work ---


# what: (the shell besides a key and a url, .env, words of the sentence)
PROBLEMS = {
    "nobody listens": ({URL: "http://127.0.0.1:{port}"}, "", [URL]),
    "no key": ({K: ""}, "", [K]),
    "a blank key": ({K: " \n"}, "", [K]),
    "a url with v1": ({URL: "{shell}/v1"}, "", ["/v1", URL]),
    "a url without a scheme": ({URL: "127.0.0.1:{port}"}, "", [URL]),
    "a url of another scheme": ({URL: "ftp://127.0.0.1:{port}"}, "", [URL]),
    "no host in the url": ({URL: "http://"}, "", [URL]),
    "a port that is none": ({URL: "http://127.0.0.1:x"}, "", [URL]),
    "a password in the url": ({URL: "http://me:sk-pw@127.0.0.1:{port}"}, "", [URL]),
    "a password where no url is": ({URL: "me:sk-pw@127.0.0.1:{port}"}, "", [URL]),
    "a key of two lines": ({K: "sk-one\nsk-two"}, "", ["key"]),
    "a socks proxy": ({"ALL_PROXY": "socks5://127.0.0.1:{port}"}, "", ["proxy"]),
    "a proxy of another kind": ({"ALL_PROXY": "ftp://me:sk-pw@x"}, "", ["proxy"]),
    "a .env that is no text": ({}, "ANTHROPIC_API_KEY=sk-\udcff", [".env"]),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_setting_that_cannot_work_is_named_in_one_sentence(start, name):
    shell, dotenv, words = PROBLEMS[name]
    shell = {K: KEY, URL: "{shell}", **shell}
    ran = start(shell, dotenv, [*PROBLEMS].index(name), attempts=1)
    said = ran.screen.rpartition("quits.\n")[2]

    assert (ran.code, ran.errors, said.count("\n")) == (1, "", 1)
    assert [word for word in words if word not in said] == []
    assert "sk-" not in ran.screen
    assert len(ran.asked) == (name == "a url with v1")  # a wrong path is asked


@both_chapters
def test_without_the_sdk_the_sentence_says_what_to_install(tmp_path, chapter):
    code = chapter_copy(tmp_path) / chapter / "code.py"
    command = [sys.executable, "-IS", str(code), "-p", "hi"]
    env = scrubbed_env(tmp_path / "home", ANTHROPIC_API_KEY=KEY)
    ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)

    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout.count("\n") == 1
    assert "pip install -r requirements.txt" in ran.stdout


@pytest.mark.not_root
@both_chapters
def test_an_env_file_without_permission_is_named(tmp_path, chapter):
    repo = chapter_copy(tmp_path)
    (repo / ".env").write_text(f"{K}={KEY}")
    (repo / ".env").chmod(0)
    if os.access(repo / ".env", os.R_OK):
        pytest.skip("root may read everything")
    env = scrubbed_env(tmp_path / "home")
    ran = run_chapter(repo, chapter, "-p", "hi", env=env)

    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout.count("\n") == 1 and ".env" in ran.stdout
