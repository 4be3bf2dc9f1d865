"""Use the second core: the tests that start processes run in pytests of their own.

Most of their time they wait for processes, so a whole run lets them go on beside the
others. Each pytest beside writes its reports to a file, and this one shows them in
their place. A run of a part, with -k, -x or names of files, does without.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

BESIDE = ("tests/process/", "tests/test_lab", "tests/integration/")  # a pytest each
REPORTS = "REPORTS_OF_THE_TESTS_BESIDE"
REPORTS_PATH = os.environ.pop(REPORTS, None)  # there is one in a pytest beside only


class Beside:
    """A pytest beside this one, and what it has reported so far."""

    def __init__(self, config: pytest.Config, files: list[str], folder: Path) -> None:
        self.config = config
        self.path = folder / "reports"
        self.path.touch()
        self.lines = self.path.open(encoding="utf-8")
        self.reports: dict[str, list[pytest.TestReport]] = {}
        words = ["pytest", "-q", "-p", "no:cacheprovider", *files]
        with (folder / "output").open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *words, f"--basetemp={folder / 'beside'}"],
                cwd=config.rootpath,
                env={**os.environ, REPORTS: str(self.path)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def wait_for(self, nodeid: str) -> list[pytest.TestReport]:
        """The reports of a test; none if that pytest ended without it."""
        ended = False
        while not ended:
            ended = self.process.poll() is not None
            for line in self.lines:
                values = json.loads(line)
                report = self.config.hook.pytest_report_from_serializable(
                    config=self.config, data=values
                )
                if isinstance(report.longrepr, list):
                    report.longrepr = tuple(report.longrepr)  # a skip's, out of JSON
                self.reports.setdefault(report.nodeid, []).append(report)
            reports = self.reports.get(nodeid, [])
            if reports and reports[-1].when == "teardown":
                return reports
            time.sleep(0.02)
        return []

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.lines.close()


def is_whole_run(config: pytest.Config) -> bool:
    """Nothing was chosen, and nothing wants to see the tests from near."""
    option = config.option
    return (
        config.args_source is pytest.Config.ArgsSource.TESTPATHS
        and (os.cpu_count() or 1) > 1
        and os.name == "posix"
        and REPORTS_PATH is None
        and not (option.keyword or option.markexpr or option.maxfail or option.usepdb)
        and not (option.collectonly or option.capture == "no")
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Put the tests that run beside last, and start them."""
    beside = [item for item in items if item.nodeid.startswith(BESIDE)]
    if not beside or not is_whole_run(config):
        return
    items[:] = [item for item in items if item not in set(beside)] + beside
    config.stash[LANES] = lanes = {}
    for prefix in BESIDE:
        nodeids = [one.nodeid for one in beside if one.nodeid.startswith(prefix)]
        files = list(dict.fromkeys(nodeid.partition("::")[0] for nodeid in nodeids))
        if files:
            folder = config._tmp_path_factory.mktemp("beside")  # type: ignore[attr-defined]
            lanes[prefix] = Beside(config, files, folder)
            config.add_cleanup(lanes[prefix].close)


LANES = pytest.StashKey[dict[str, Beside]]()


def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Show what a pytest beside has found; run the test here if it has nothing."""
    lanes = item.config.stash.get(LANES, {})
    found = [lanes[prefix] for prefix in lanes if item.nodeid.startswith(prefix)]
    if not found:
        return None
    reports = found[0].wait_for(item.nodeid)
    if reports:
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return bool(reports) or None


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """In a pytest beside: one line for each report."""
    if REPORTS_PATH:
        from _pytest.reports import pytest_report_to_serializable

        line = json.dumps(pytest_report_to_serializable(report)) + "\n"
        with open(REPORTS_PATH, "a", encoding="utf-8") as file:
            file.write(line)


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
