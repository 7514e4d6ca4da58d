"""The tables of the documentation: made from the package, nothing left out."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import soacraft as sc
from soacraft.ops.table import NAMES

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def ext():
    """The modules in docs/_ext, as the build of the documentation sees them."""
    folder = str(ROOT / "docs" / "_ext")
    sys.path.insert(0, folder)
    try:
        import citations
        import docstrings
        import tables

        yield type("ext", (), {"citations": citations, "docstrings": docstrings, "tables": tables})
    finally:
        sys.path.remove(folder)


@pytest.mark.parametrize(
    ("text", "paper", "found"),
    [
        ("H = diag{ H(k) } (000 Eq. 6).", None, ["000 Eq. 6"]),
        ("(000 Eq. 19, 004 Eq. 20 and Algorithm 4.1). O(n).", None, ["000 Eq. 19", "004 Eq. 20", "004 Algorithm 4.1"]),
        ("(004 Eq. 12-14, 22-24)", None, [f"004 Eq. {n}" for n in (12, 13, 14, 22, 23, 24)]),
        ("004 Eq. 1 and 58; 001", None, ["004 Eq. 1", "004 Eq. 58", "001"]),
        ("(004 Cor. 3.1)", None, ["004 Corollary 3.1"]),
        ("002; 004 section 7", None, ["002", "004 section 7"]),
        ("the classes (Eq. 12), Listings 4 to 6", "000", ["000 Eq. 12", *(f"000 Listing {n}" for n in (4, 5, 6))]),
        ("see Eq. 12", None, []),
        ("0.000 or 1000 or 10.004", None, []),
    ],
)
def test_citations_are_read(ext, text, paper, found):
    assert [str(c) for c in ext.citations.cited(text, paper)] == found


def test_every_identity_and_its_equation_is_found(ext):
    places = {str(use.citation) for use in ext.citations.uses()}
    for identity in sc.identities():
        cited = ext.citations.cited(identity.source)
        assert cited, identity
        assert {str(c) for c in cited} <= places
    names = {use.what for use in ext.citations.uses() if "identity" in use.where}
    assert names == {identity.name for identity in sc.identities()}


def test_every_listing_is_found(ext):
    listings = {use.citation.number for use in ext.citations.uses() if "tests/pycraft" in use.where}
    assert listings == {str(n) for n in range(1, 24)}


def test_functions_are_found_by_their_shortest_name(ext):
    where = {(str(use.citation), use.where) for use in ext.citations.uses()}
    assert ("004 Algorithm 6.1", "`soacraft.recursions.forward_dynamics`") in where
    assert ("004 Eq. 4", "`soacraft.recursions.gather`") in where
    assert ("004 Eq. 26", "`soacraft.diag_of`") in where
    assert ("000 Eq. 24", "operator `K`") in where
    assert not any("soacraft.citations" in place for _, place in where)  # its examples cite, and carry nothing out


@pytest.mark.parametrize("page", ["equations", "operators", "vectors", "identities", "hinges", "models", "papers"])
def test_tables_are_whole(ext, page):
    lines = [line for line in ext.tables.PAGES[page]().splitlines() if line.startswith("|")]
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
    assert len(lines) > 5
    assert len(widths) == 1


def test_every_operator_is_in_the_table(ext):
    page = ext.tables.operators()
    assert all(f"| `{name}` |" in page for name in NAMES)


def test_every_hinge_has_its_coordinates(ext):
    assert list(ext.tables.COORDINATES) == [kind.__name__ for kind in sc.HINGES]


def test_files_are_written_once(ext, tmp_path):
    ext.tables.write(tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    ext.tables.write(tmp_path)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    assert set(before) == {f"{name}.md" for name in ext.tables.PAGES}


def test_papers_are_cited_by_name(ext):
    """No table shows the number of a paper but the key itself."""
    for name, page in ext.tables.PAGES.items():
        shown = re.findall(r"(?<![\w.])00[0-4](?![\w.]*\d)", page())
        assert (len(shown) == 5) if name == "papers" else not shown, name
    assert "| Jain 2011 Eq. 17, Lemma 4 |" in ext.tables.identities()
    assert "## Jain 2011: SKO-models paper" in ext.tables.equations()


def test_docstrings_become_rst(ext):
    made = ext.docstrings.to_rst(["Sweep `x*y` of H* and |x|.", "", "    y = H* x", "", ">>> 1 + 1", "2"])
    assert made == ["Sweep ``x*y`` of H\\* and \\|x\\|.", "", "::", "", "    y = H* x", "", ">>> 1 + 1", "2", ""]


def test_every_public_name_is_documented():
    page = "\n".join(path.read_text() for path in (ROOT / "docs" / "reference").glob("*.md"))
    documented = set(re.findall(r":: soacraft\.(\w+)$", page, re.MULTILINE))
    assert set(sc.__all__) <= documented


def test_no_equation_of_the_two_papers_is_left_out(ext):
    places = {str(use.citation).rstrip("abcdefg") for use in ext.citations.uses()}
    for paper, last in (("000", 48), ("004", 63)):
        assert [n for n in range(1, last + 1) if f"{paper} Eq. {n}" not in places] == []
    assert [n for n in range(1, 13) if f"004 Lemma {n}" not in places] == []
    for place in ("004 Corollary 3.1", "004 Corollary 6.1", *(f"004 Algorithm {n}" for n in (3.1, 4.1, 4.2, 4.3, 6.1))):
        assert place in places


def test_equations_lead_to_public_names(ext):
    """An inner name stands in the table only where no public one has the equation."""
    where = {str(use.citation): [] for use in ext.citations.uses()}
    for use in ext.citations.uses():
        where[str(use.citation)].append(use.where)
    assert "`soacraft.analysis.christoffel`" in where["000 Eq. 38"]
    assert "`soacraft.analysis.log_det_gradient`" in where["000 Eq. 48"]
    assert "`soacraft.recursions.block_of_AsXB`" in where["004 Algorithm 4.3"]
    assert not any("soacraft.ops.rules" in x or "soacraft.health" in x for x in where["000 Eq. 24"])
