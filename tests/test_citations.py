"""The papers are cited by name wherever users look, with the key at hand."""

import inspect
import io
import pkgutil
import re
from importlib import import_module

import pytest
from rich.console import Console

import soacraft as sc
from soacraft.citations import PAPERS, cite, cite_papers, key
from soacraft.cli.tour import tour

CODE = re.compile(r"(?<![\w.])00[0-4](?![\w.]*\d)")


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("000 Eq. 30", "Jain 2016 Eq. 30"),
        ("001", "Jain 2024"),
        ("002; 004 section 7", "Ziegler 2005; Jain 2011 section 7"),
        ("003 Eq. 2", "Jain 2013 Eq. 2"),
        ("000 Eq. 43, G6a", "Jain 2016 Eq. 43, formula G6a"),
        ("from 004 Eq. 34, 000 Eq. 24", "from Jain 2011 Eq. 34, Jain 2016 Eq. 24"),
        ("product along the path (001)", "product along the path (Jain 2024)"),
        ("G1", "formula G1"),
        ("0.004 s, 1000, 10.001, x000", "0.004 s, 1000, 10.001, x000"),
        ("given numbers", "given numbers"),
    ],
)
def test_sources_as_they_are_cited(source, shown):
    assert cite(source) == shown


def test_text_keeps_its_other_numbers():
    assert cite_papers("G1 = F2 (004 Eq. 4-6), 0.004") == "G1 = F2 (Jain 2011 Eq. 4-6), 0.004"


def test_the_key():
    assert key(["000 Eq. 9", "004 Eq. 34", "000 Eq. 24"]) == (
        "Jain 2011: SKO-models paper; Jain 2016: PyCraft paper (sc.papers())"
    )
    assert key(["G5a"]) == "formulas: docs/formulas.md (sc.papers())"
    assert key(["given numbers"]) == ""


def test_papers_are_listed_with_their_numbers():
    text = repr(sc.papers())
    for number, paper in PAPERS.items():
        assert f"{number}  {paper.reference}" in text
        assert paper.short in text
        assert paper.short[-4:] in paper.reference  # the year
        assert re.search(rf"{number}  {paper.short} ", sc.__doc__)  # help(soacraft) has the key too
    assert len({paper.short for paper in PAPERS.values()}) == len(PAPERS)


def test_every_source_in_the_package_names_a_known_paper():
    """No number is cited that the key does not have: docstrings of every module, and the sources of leaves."""
    for info in pkgutil.walk_packages(sc.__path__, "soacraft."):
        if not info.name.rpartition(".")[2].startswith("_"):
            text = inspect.getsource(import_module(info.name))
            assert set(re.findall(r"(?<![\w.])(00\d)(?= (?:Eq|Lemma|Cor|Alg|section))", text)) <= set(PAPERS), info.name


def test_nothing_printed_has_a_number():
    s = sc.operators(sc.load("arm7"))
    H, phi, M, I = s["H phi M I"]
    shown = [
        repr(sc.identities),
        repr(sc.identities[3]),
        repr((H * phi * M * phi.T * H.T).inv.explain()),
        repr(((I - s.E_phi).inv * s.psi_tilde).explain()),
        repr((H * phi).diff("link3").explain()),
        repr(sc.prove(H * s.psi * M * s.psi.T * H.T, s.D)),
        sc.prove(H * s.psi * M * s.psi.T * H.T, s.D).full(),
        sc.prove(s.psi.inv, phi.inv + s.K * H).latex(),
    ]
    shown += [sc.identities._repr_html_(), s.phi.explain()._repr_html_(), sc.prove(s.D, H * s.P * H.T)._repr_html_()]
    for text in shown:
        assert not CODE.search(text), text
        assert "Jain 20" in text or "formula" in text


def test_the_tour_cites_by_name_and_ends_with_the_key():
    out = io.StringIO()
    assert tour("double_pendulum", console=Console(file=out, width=200, highlight=False)) == 0
    text = out.getvalue()
    body, _, end = text.partition("The papers:")
    assert not CODE.search(body)
    assert "(Jain 2016 Eq. 28)" in body
    assert all(paper.reference in end for paper in PAPERS.values())
