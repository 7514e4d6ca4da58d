"""The papers item by item: every call of the page holds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

EXT = str(Path(__file__).parents[2] / "docs" / "_ext")
sys.path.insert(0, EXT)
try:
    import citations
    import papers
finally:
    sys.path.remove(EXT)


@pytest.mark.parametrize("paper", ["000", "001", "002", "003", "004"])
def test_every_call_of_the_page_holds(paper):
    rows = papers.rows(paper)
    assert len(rows) > 10
    assert [row for row in rows if not row.holds] == []


def test_a_call_that_does_not_hold_is_noticed():
    for call in ("difference(s.P['link1', 'link1'], s.M['link1', 'link1'])", "sc.prove(s.phi, s.psi)", "below(t.phi)"):
        assert not papers.run(papers.Item("000", "", "", call)).holds


def test_what_is_not_there_has_its_reason():
    assert all(item.call or item.reason for item in papers.ITEMS)
    absent = papers.Item("000", "", "", "sc.nothing", "nobody made it")
    assert papers.run(absent) == papers.Row(absent, "not yet: nobody made it", True)
    with pytest.raises(AttributeError):
        papers.run(absent._replace(reason=""))


def test_every_equation_and_listing_of_the_pycraft_paper_is_there():
    found = {str(c) for row in papers.rows("000") for c in citations.cited(row.item.place, "000")}
    numbers = {place.rstrip("abcdef") for place in found}
    assert [n for n in range(1, 49) if f"000 Eq. {n}" not in numbers] == []
    assert [n for n in range(1, 24) if f"000 Listing {n}" not in numbers] == []
