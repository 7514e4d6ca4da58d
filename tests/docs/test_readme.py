"""The README runs, and its figures are those of the last benchmark."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path

import pytest

import soacraft as sc

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_blocks_of_code_run():
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    tests = [doctest.DocTestParser().get_doctest(block, {}, "README.md", "README.md", 0) for block in blocks]
    assert [len(test.examples) for test in tests] == [10, 9, 9]  # one after the other, as a reader types them
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "README.md", "README.md", 0)
    failed, _ = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
    assert not failed


def test_what_exists_is_counted_right():
    page = (ROOT / "docs" / "what_exists.md").read_text()
    assert f"{len(sc.HINGES)} hinges" in page
    assert len(sc.identities()) > int(re.search(r"more than (\d+) relations", page)[1])
    s = sc.operators(sc.load("arm7"))
    named = re.search(r"\| operators \| `(.*?)` and (\d+) stacked vectors", page)
    vectors = [name for name in s.names() if isinstance(getattr(s, name), sc.StackedVector)]
    assert int(named[2]) == len(vectors)
    assert {name.partition("(")[0] for name in named[1].split()} == {*s.names()} - {*vectors, "I"}


@pytest.mark.parametrize("name", ["growth", "peers", "flexible", "robot", "loops", "sim"])
def test_figures_are_those_of_the_last_benchmark(name, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from run import BENCHMARKS, FIGURES

    kept = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())
    figures = BENCHMARKS[name].summary(kept, kept["facts"])
    assert figures in FIGURES[name].read_text()
    assert kept["facts"]["date"] in figures


def test_the_readme_has_six_rows_of_one_date(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from run import BENCHMARKS, HEADLINES

    assert README.count("<!-- end -->") == len(HEADLINES) == 1
    result = json.loads((ROOT / "benchmarks" / "results" / "peers.json").read_text())
    figures = BENCHMARKS["peers"].headline(result, result["facts"])
    assert figures in README
    assert figures.count("\n| ") == 2 + 6
    assert re.findall(r"\d{4}-\d\d-\d\d", README) == [result["facts"]["date"]]
