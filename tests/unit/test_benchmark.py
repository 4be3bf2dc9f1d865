"""The benchmark runs and writes what it measured; no figure is asserted here."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_quick_run_of_one_row_writes_its_figures_and_claims(tmp_path):
    file = tmp_path / "figures.json"
    words = [sys.executable, str(ROOT / "tests" / "benchmark.py"), "--quick"]
    words += ["--only", "dispatch", "--json", str(file)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr

    [row] = json.loads(file.read_text())["rows"]
    assert row["figures"]["dispatch"] > row["figures"]["bare handler"] > 0
    assert {claim["verdict"] for claim in row["claims"]} <= {"ok", "MISSED"}
    assert "<= 25 x" in done.stdout
