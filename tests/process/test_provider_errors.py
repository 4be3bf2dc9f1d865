"""Whatever a provider or a setting does wrong is one sentence, and costs nothing.

Both chapters carry one text of the section on providers (a test elsewhere compares
them), so the rows of the tables of settings take turns between the chapters.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.chapters import (
    CHAPTERS,
    Conversation,
    chapter_copy,
    run_chapter,
    scrubbed_env,
)
from tests.messages_api import (
    MessagesAPI,
    api_error,
    drop,
    html,
    raw,
    reply,
    request_types,
    status,
    text,
    use,
)

both_chapters = pytest.mark.parametrize("chapter", CHAPTERS)
KEY = "sk-live-1234"
DONE = reply("end_turn", text("done"))
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


# --- 1. In a conversation ---

ERROR_WITH_200 = raw(b'{"type": "error", "error": {"type": "x", "message": "no"}}')
OTHER_API = raw(b'{"object": "chat.completion", "choices": [], "usage": {}}')

# question: (the answers to its one request, words of the sentence)
FAILURES = {
    "refused key": ([api_error(401, f"wrong: {KEY}")], ["wrong", "key"]),
    "forbidden": ([status(403)], ["scripted 403"]),
    "bad request": ([status(400)], ["scripted 400"]),
    "not found": ([status(404)], ["scripted 404", "model", "ANTHROPIC_BASE_URL"]),
    "too large": ([status(413)], ["scripted 413"]),
    "limited for good": ([status(429)] * 3, ["scripted 429"]),
    "overloaded for good": ([status(529)] * 3, ["scripted 529"]),
    "web page": ([html()], ["ANTHROPIC_BASE_URL"]),
    "broken json": ([raw(b"{")], ["ANTHROPIC_BASE_URL"]),
    "empty body": ([raw(b"")], ["ANTHROPIC_BASE_URL"]),
    "a list": ([raw(b"[]")], ["ANTHROPIC_BASE_URL"]),
    "an error with 200": ([ERROR_WITH_200], ["ANTHROPIC_BASE_URL"]),
    "another api": ([OTHER_API], ["ANTHROPIC_BASE_URL"]),
    "dropped": ([drop()] * 3, ["onnection"]),
    "control characters": ([api_error(400, "\x1b[2J\r\x07clear\nme")], ["clear"]),
    "a long story": ([api_error(400, "tell " * 20_000)], ["tell"]),
}
ONCE = use("t1", "bash", {"command": "echo once >> ran.txt"})
ANSWERED = {
    "dropped once": [drop(), DONE],
    "limited once": [status(429), DONE],
    "bad request": [DONE],  # the failed question, asked again
    "tools, then an error": [reply("tool_use", ONCE), status(400)],
    "after the error": [DONE],
}


@dataclass
class Talked:
    api: MessagesAPI
    screen: dict[str, str] = field(default_factory=dict)
    answered: dict[str, str] = field(default_factory=dict)
    ran: str = ""


@pytest.fixture(scope="module")
def talked(tmp_path_factory):
    def run(chapter, folder):
        answers = [answers for answers, _ in FAILURES.values()] + [*ANSWERED.values()]
        with MessagesAPI(itertools.chain(*answers)) as api:
            env = scrubbed_env(folder / "home", ANTHROPIC_API_KEY=KEY)
            env["ANTHROPIC_BASE_URL"] = api.base_url
            talked = Talked(api)
            with Conversation(chapter_copy(folder), chapter, env=env, cwd=folder) as it:
                it.expect("you> ")
                talked.screen = {one: shown(it, one) for one in FAILURES}
                talked.answered = {one: shown(it, one) for one in ANSWERED}
        talked.ran = (folder / "ran.txt").read_text()
        return talked

    if sys.platform == "win32":
        pytest.skip("Windows has no pseudo terminal")
    request_types()  # before there are threads: it changes the SDK for a moment
    folders = {chapter: tmp_path_factory.mktemp(chapter) for chapter in CHAPTERS}
    with ThreadPoolExecutor(len(CHAPTERS)) as pool:
        return {one: pool.submit(run, one, folders[one]) for one in CHAPTERS}


def shown(talk, question):
    """Ask, wait for the prompt and return what came between, without colours."""
    start = len(talk.transcript)
    talk.send(question)
    talk.expect("you> ")
    return COLOUR.sub("", talk.transcript[start:]).removesuffix("you> ")


@both_chapters
@pytest.mark.parametrize(
    "question, words",
    [pytest.param(one, row[1], id=one) for one, row in FAILURES.items()],
)
def test_a_failed_request_is_one_sentence_and_the_prompt(
    talked, chapter, question, words
):
    screen = talked[chapter].result().screen[question]

    assert [word for word in words if word not in screen] == []
    assert screen.count("\n") == 1 and len(screen) < 1_000
    assert screen.rstrip("\n").isprintable()
    assert "Traceback" not in screen and KEY not in screen


@both_chapters
def test_a_question_whose_first_request_failed_leaves_history(talked, chapter):
    api = talked[chapter].result().api
    history = api.requests[-1]["messages"]

    asked = [m["content"] for m in history if isinstance(m["content"], str)]
    assert asked == list(ANSWERED)
    assert api.refusals == []


@both_chapters
def test_the_sdk_asks_again_by_itself_where_that_can_help(talked, chapter):
    talked = talked[chapter].result()
    asked = [request["messages"][-1]["content"] for request in talked.api.requests]

    counts = {one: asked.count(one) for one in ("limited once", "dropped", "forbidden")}
    assert counts == {"limited once": 2, "dropped": 3, "forbidden": 1}
    assert "final_answer" in talked.answered["dropped once"]


@both_chapters
def test_tools_that_ran_before_an_error_are_kept_and_not_run_again(talked, chapter):
    talked = talked[chapter].result()
    question, said, results, following = talked.api.requests[-1]["messages"][-4:]

    assert question["content"] == "tools, then an error"
    assert said["content"] == [ONCE]
    assert [block["tool_use_id"] for block in results["content"]] == ["t1"]
    assert following == {"role": "user", "content": "after the error"}
    assert talked.ran == "once\n"
    assert "scripted 400" in talked.answered["tools, then an error"]


# --- 2. Many settings: copies of one process that has imported the SDK ---

# Importing the SDK takes a second. This process does it once, then starts a chapter
# for each job in a fork: with its own environment, input, output and exit code.
COPIES = """
import gc, json, os, runpy, sys
import anthropic, dotenv
gc.freeze()  # the copies share it, and end at once

def become(job):
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        flags = os.O_RDWR | os.O_CREAT
        os.dup2(os.open(os.path.join(job["folder"], name), flags, 0o600), fd)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    os.environ.clear()
    os.environ.update(job["env"])
    os.chdir(job["folder"])
    sys.argv = job["argv"]
    runpy.run_path(job["argv"][0], run_name="__main__")

pids = []
for job in json.load(sys.stdin):
    pid = os.fork()
    if pid == 0:
        become(job)
    pids.append(pid)
print([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids])
"""


@dataclass
class Job:
    """One start of a chapter with settings, and what came of it."""

    folder: Path
    chapter: str
    question: str
    env: dict[str, str]
    dotenv: bytes
    piped: bool  # the question comes from standard input, else from -p
    code: int = -1

    def written(self) -> dict:
        """What the process that forks has to know; the files are made here."""
        repo = chapter_copy(self.folder)
        (repo / ".env").write_bytes(self.dotenv)
        (self.folder / "stdin").write_text(self.question * self.piped)
        argv = [str(repo / self.chapter / "code.py")]
        argv += [] if self.piped else ["-p", self.question]
        env = scrubbed_env(self.folder / "home", **self.env)
        return {"folder": str(self.folder), "argv": argv, "env": env}

    def said(self, stream: str = "stdout") -> str:
        return (self.folder / stream).read_text(encoding="utf-8")


def run_copies(jobs: list[Job]) -> None:
    """Run all jobs side by side and note their exit codes."""
    ran = subprocess.run(
        [sys.executable, "-c", COPIES],
        input=json.dumps([job.written() for job in jobs]),
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    )
    for job, code in zip(jobs, json.loads(ran.stdout), strict=True):
        job.code = code


@dataclass
class Settings:
    """All jobs by name, and the two servers that they can ask."""

    apis: dict[str, MessagesAPI]
    jobs: dict[str, Job] = field(default_factory=dict)

    def add(self, folder, name, chapter, shell, dotenv, piped):
        """A job that asks its own name, with the servers' addresses filled in."""
        known = {at: api.base_url for at, api in self.apis.items()}
        known["port"] = closed_port()
        env = {one: value.format(**known) for one, value in shell.items()}
        question = "" if name.startswith("only start") else name
        dotenv = dotenv.format(**known).encode("utf-8", "surrogateescape")
        self.jobs[name] = Job(folder, chapter, question, env, dotenv, piped)

    def asked(self, job) -> list:
        """Where a job's question arrived, with which key and for which model."""
        return [
            (at, headers["authorization"], request["model"])
            for at, api in self.apis.items()
            for headers, request in zip(api.headers, api.requests, strict=True)
            if request["messages"][0]["content"] == job.question
        ]


def closed_port():
    """A port where nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    """Run every row of the two tables below."""
    turns = zip([*MIXES, *PROBLEMS], itertools.cycle(CHAPTERS))
    with MessagesAPI([DONE] * 50) as shell_api, MessagesAPI([DONE] * 50) as file_api:
        ran = Settings({"shell": shell_api, "file": file_api})
        for name, chapter in turns:
            folder = tmp_path_factory.mktemp("settings")
            shell, dotenv = (MIXES.get(name) or PROBLEMS[name])[:2]
            if name in PROBLEMS:
                shell = {K: KEY, URL: "{shell}", **shell}
            ran.add(folder, name, chapter, shell, dotenv, name in MIXES)
        run_copies([*ran.jobs.values()])
    return ran


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows cannot fork")


# --- 3. Key, token and base URL, in the shell and in .env ---

DEFAULT = "api.anthropic.com"  # nothing is asked there: the start line names it
K, T, URL = "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"

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
    "only start: a key in the shell hides a url of the file": (
        {K: "sk-shell"},
        f"{K}=sk-file\n{URL}={{file}}",
        DEFAULT,
        "",
    ),
    "only start: a token in the shell hides a url of the file": (
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
    "only start: an empty url in the file": ({}, f"{K}=sk-file\n{URL}=\n", DEFAULT, ""),
    "only start: an empty url in the shell": (
        {K: "sk-shell", URL: ""},
        "",
        DEFAULT,
        "",
    ),
}


@forks
@pytest.mark.parametrize("name", MIXES)
def test_a_key_goes_to_the_host_it_was_set_with(settings, name):
    job, (_, _, host, key) = settings.jobs[name], MIXES[name]
    arrived = [(host, f"Bearer {key}", "file-model")]

    assert (job.code, job.said("stderr")) == (0, "")
    assert settings.asked(job) == (arrived if key else [])


@forks
@pytest.mark.parametrize("name", MIXES)
def test_the_start_line_names_the_host_and_no_value(settings, name):
    job = settings.jobs[name]
    host = DEFAULT if MIXES[name][2] == DEFAULT else "127.0.0.1"

    assert host in job.said().splitlines()[0]
    assert "sk-" not in job.said() + job.said("stderr")


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


@forks
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_setting_that_cannot_work_is_named_in_one_sentence(settings, name):
    job = settings.jobs[name]
    start, _, said = job.said().rpartition("quits.\n")

    assert (job.code, job.said("stderr")) == (1, "")
    assert said.count("\n") == 1
    assert [word for word in PROBLEMS[name][2] if word not in said] == []
    assert "sk-" not in start + said


@forks
def test_of_the_settings_that_cannot_work_only_the_wrong_path_is_asked(settings):
    refusals = [one for api in settings.apis.values() for one in api.refusals]

    assert refusals == ["/v1/v1/messages: not found"]


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
