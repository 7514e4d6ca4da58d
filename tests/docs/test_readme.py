"""The README runs, and its figures are those of the last benchmark."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path

import soacraft as sc

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_blocks_of_code_run():
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        test = doctest.DocTestParser().get_doctest(block, {}, "README.md", "README.md", 0)
        assert len(test.examples) >= 20
        failed, _ = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
        assert not failed


def test_what_exists_is_counted_right():
    assert f"{len(sc.HINGES)} hinges" in README
    assert len(sc.identities()) > int(re.search(r"more than (\d+) relations", README)[1])
    s = sc.operators(sc.load("arm7"))
    named = re.search(r"\| operators \| `(.*?)` and (\d+) stacked vectors", README)
    vectors = [name for name in s.names() if isinstance(getattr(s, name), sc.StackedVector)]
    assert int(named[2]) == len(vectors)
    assert {name.partition("(")[0] for name in named[1].split()} == {*s.names()} - {*vectors, "I"}


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "examples" / "README.md"]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_figures_are_those_of_the_last_benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from growth import summary

    kept = json.loads((ROOT / "benchmarks" / "results" / "growth.json").read_text())
    figures = summary(kept, kept["facts"])
    assert figures in README
    assert kept["facts"]["date"] in figures
