"""The benchmark runs and writes what it measured; no figure is asserted here."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def quick_run(*options):
    """Start the benchmark as its reader does, with small sizes."""
    words = [sys.executable, str(ROOT / "tests" / "benchmark.py"), "--quick", *options]
    return subprocess.run(words, capture_output=True, text=True, timeout=60)


def test_a_quick_run_of_one_row_writes_its_figures_and_claims(tmp_path):
    file = tmp_path / "figures.json"
    done = quick_run("--only", "dispatch", "--json", str(file))
    [row] = json.loads(file.read_text())["rows"]
    words = {claim["verdict"] for claim in row["claims"]}

    assert done.returncode == 0, done.stderr
    assert row["figures"]["dispatch"]["minimum"] > 0
    assert words <= {"ok", "MISSED", ""}
    assert "must hold" in done.stdout


def test_a_row_that_does_not_exist_is_refused_with_the_names_of_those_that_do():
    done = quick_run("--only", "no_such_row")

    assert done.returncode == 2
    assert "dispatch" in done.stderr
