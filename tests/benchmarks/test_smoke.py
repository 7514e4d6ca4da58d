"""The benchmarks run, on tiny models; no times are asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def bench(*arguments):
    return subprocess.run(
        [sys.executable, "benchmarks/run.py", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120
    )


def test_quick_run_writes_its_results(tmp_path):
    done = bench("--quick", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "growth.json").read_text())
    page = (tmp_path / "growth.md").read_text()
    assert {series["state"] for series in result["series"]} == {"repeated", "new state"}
    assert all(len(series["times"]) == len(result["sizes"]) for series in result["series"])
    assert all(row["difference"] < 1e-10 for row in result["peer"])
    for fact in ("command", "date", "processor", "cores", "instruction set"):
        assert result["facts"][fact]
        assert f"- {fact}: " in page
    assert page.strip() in done.stdout


def test_list_and_unknown_names():
    assert bench("list").stdout.startswith("growth ")
    done = bench("speed")
    assert done.returncode == 2
    assert "there is no benchmark 'speed'; there are: growth" in done.stderr


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_growth_is_the_exponent(exponent, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from measure import growth

    sizes = [100, 300, 1000, 10_000]
    assert growth(sizes, [7.0 * n**exponent for n in sizes]) == pytest.approx(exponent)


def test_the_kept_result_is_linear_and_says_where_it_was_measured():
    """`benchmarks/results/growth.json` is what the documentation shows."""
    kept = json.loads((ROOT / "benchmarks" / "results" / "growth.json").read_text())
    assert kept["facts"]["command"] == "./run bench growth"
    assert kept["sizes"][0] == 100
    assert kept["sizes"][-1] == 10_000
    page = (ROOT / "benchmarks" / "results" / "growth.md").read_text()
    assert "NOT linear" not in page
    assert f"- date: {kept['facts']['date']}" in page
