"""The key of the papers: on every page that cites them, and for every paper that is cited."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document
from tests.docs.test_pages import PAGES, named

EXT = str(Path(__file__).parents[2] / "docs" / "_ext")
sys.path.insert(0, EXT)
try:
    import key
finally:
    sys.path.remove(EXT)


def page(text: str) -> nodes.document:
    """A page of one section."""
    document = new_document("page")
    document += nodes.section("", nodes.title("", "Title"), nodes.paragraph("", text))
    key.add_key(SimpleNamespace(env=SimpleNamespace(docname="page")), document)
    return document


def test_a_page_that_cites_ends_with_the_key():
    made = page("holds on trees (Jain 2011 Eq. 21), drawn by Ziegler 2005").astext()
    assert made.count("Papers cited on this page") == 1
    assert "Jain 2011: A. Jain, Graph Theoretic Foundations of Multibody Dynamics Part II" in made
    assert "Ziegler 2005: J. Ziegler and A. Jain" in made
    assert "PyCraft: An Analytical" not in made


def test_a_page_that_cites_nothing_has_none():
    assert "Papers cited" not in page("0.004 and Featherstone").astext()


@pytest.mark.parametrize("text", ["see 004 Eq. 31", "see Jain 2012 Eq. 53"])
def test_what_readers_cannot_look_up_is_a_warning(text, monkeypatch):
    said = []
    monkeypatch.setattr(key.logging, "getLogger", lambda name: SimpleNamespace(warning=lambda *x: said.append(x)))
    page(text)
    assert len(said) == 1


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_pages_cite_by_author_and_year(path):
    text = path.read_text()
    assert (key.bare_numbers(text), key.unknown(text)) == ([], [])
