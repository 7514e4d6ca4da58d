"""The papers: the documents meant by the numbers in docstrings and sources.

In the source a relation is cited as `004 Eq. 31`, by the number of the document; users see `Jain 2011 Eq. 31`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from soacraft import markup
from soacraft.cards import card


class Paper(NamedTuple):
    """One document: its number in sources and docstrings, how it is cited, a name for it, and the reference."""

    number: str
    short: str
    name: str
    reference: str


PAPERS: dict[str, Paper] = {
    paper.number: paper
    for paper in (
        Paper(
            "000",
            "Jain 2016",
            "PyCraft paper",
            "A. Jain, PyCraft: An Analytical and Computational Workbench for System Level Multibody Dynamics, 2016.",
        ),
        Paper(
            "001",
            "Jain 2024",
            "serial-chain slides",
            "A. Jain, Spatial Operator Algebra, 3: Serial-Chain, Rigid-Body Kinematics, slides, 2024.",
        ),
        Paper(
            "002",
            "Ziegler 2005",
            "PyCraft slides",
            "J. Ziegler and A. Jain, PyCraft: A Unifying Multibody Dynamics Algorithm Development Workbench, slides, "
            "2005.",
        ),
        Paper(
            "003",
            "Jain 2013",
            "architecture paper",
            "A. Jain, Structure-Based Computational Modeling Architecture for Robotics, 2013.",
        ),
        Paper(
            "004",
            "Jain 2011",
            "SKO-models paper",
            "A. Jain, Graph Theoretic Foundations of Multibody Dynamics Part II: Analysis and Algorithms, Multibody "
            "System Dynamics 26 (2011) 335-365.",
        ),
    )
}
#: Formulas that the papers only name, by number.
FORMULAS = "Formulas G1, F1, ... are on the page `formulas` of the documentation."

_NUMBER = re.compile(r"(?<![\w.])(00[0-4])(?![\w.]*\d)")
_FORMULA = re.compile(r"(?<![\w.])([GF]\d{1,2}[a-z]?)(?!\w)")


def cite(source: str) -> str:
    """A source as users read it.

    >>> cite("004 Eq. 15; 000 Eq. 20, G5a")
    'Jain 2011 Eq. 15; Jain 2016 Eq. 20, formula G5a'
    """
    return _FORMULA.sub(r"formula \1", cite_papers(source))


def cite_papers(text: str) -> str:
    """A text with the numbers of the papers replaced; formulas and other numbers stay as they are.

    >>> cite_papers("y = A x (004 Eq. 4-6). 0.004 G1")
    'y = A x (Jain 2011 Eq. 4-6). 0.004 G1'
    """
    return _NUMBER.sub(lambda match: PAPERS[match[1]].short, text)


_KINDS = {"Eq": "Eq.", "Lemma": "Lemma", "Cor": "Corollary", "Corollary": "Corollary"}
_PLACE = re.compile(
    r"(?:(?P<paper>00[0-4]|[A-Z][a-z]+ \d{4})(?!\d)\s*)?(?:(?P<kind>Eq|Lemma|Cor|Corollary)\b\.?\s+)?"
    r"(?P<number>\d{1,2}(?:\.\d)?[a-g]?)?(?![\w])"
)


def each(source: str) -> tuple[str, ...]:
    """The places that a source names, each by itself.

    >>> each("000 Eq. 2, 28, 004 Eq. 49, Lemma 11")
    ('000 Eq. 2', '000 Eq. 28', '004 Eq. 49', '004 Lemma 11')
    """
    places, paper, kind = [], "", ""
    for part in re.split(r"[,;]\s*", source):
        match = _PLACE.fullmatch(part.strip())
        if match is None:
            continue
        paper, kind = match["paper"] or paper, _KINDS[match["kind"]] if match["kind"] else kind
        if match["number"] and kind:
            places.append(f"{paper} {kind} {match['number']}")
    return tuple(places)


def numbered(text: str) -> tuple[list[str], list[str]]:
    """The places that a text names, by the numbers of the papers where it says of which, and its other words.

    >>> numbered("Jain 2011 Eq. 44 psi"), numbered("Eq. 26")
    ((['004 Eq. 44'], ['psi']), ([' Eq. 26'], []))
    """
    shorts = {paper.short: paper.number for paper in PAPERS.values()}
    places: list[str] = []
    for match in list(_PLACE.finditer(text)):
        if match["kind"] and match["number"]:
            paper = match["paper"] or ""
            places.append(f"{shorts.get(paper, paper)} {_KINDS[match['kind']]} {match['number']}")
            text = text.replace(match[0], " ", 1)
    return places, text.split()


def key(sources: Iterable[str]) -> str:
    """One line that says which papers some sources are from; empty where they name none.

    >>> key(["004 Eq. 15", "given numbers", "004 Lemma 1"])
    'Jain 2011: SKO-models paper (sc.papers())'
    """
    text = " ".join(sources)
    numbers = sorted(set(_NUMBER.findall(text)), reverse=True)
    named = [f"{PAPERS[number].short}: {PAPERS[number].name}" for number in numbers]
    if _FORMULA.search(text):
        named.append("formulas: docs/formulas.md")
    return f"{'; '.join(named)} (sc.papers())" if named else ""


class Papers(tuple[Paper, ...]):
    """The papers, as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        wide = max(len(paper.short) for paper in self)
        return "\n".join([*(f"{p.short:<{wide}}  {p.number}  {p.reference}" for p in self), FORMULAS])

    def _repr_html_(self) -> str:
        rows = [(p.short, p.number, p.reference) for p in self]
        table = markup.table(["cited as", "in docstrings", "reference"], rows)
        return card("papers", table, markup.paragraph(FORMULAS))


def papers() -> Papers:
    """The papers that equations are cited from: how each is cited, its number in docstrings, and the reference.

    >>> papers()[-1].short, papers()[-1].number
    ('Jain 2011', '004')
    """
    return Papers(PAPERS.values())
