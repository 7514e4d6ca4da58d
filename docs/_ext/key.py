"""A key of the papers at the end of every page that cites them: author, year, title.

Pages cite by author and year; the numbers that sources use never show.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.util import logging

from soacraft.citations import PAPERS, Paper

#: The number of a document where it is cited, as in "004 Eq. 31".
_NUMBER = re.compile(r"(?<![\w.])00[0-4] (?:Eq|Lemma|Cor|Algorithm|Listing|section|Fig)")


def papers_cited(text: str) -> list[Paper]:
    """The papers that a page names, in the order of their numbers.

    >>> [paper.short for paper in papers_cited("holds (Jain 2011 Eq. 4), see Ziegler\\n2005")]
    ['Ziegler 2005', 'Jain 2011']
    """
    return [paper for paper in PAPERS.values() if re.search(paper.short.replace(" ", r"\s+"), text)]


def bare_numbers(text: str) -> list[str]:
    """Citations by the number of a document, which a reader cannot look up.

    >>> bare_numbers("004 Eq. 31 and 0.004 Eq., Jain 2011 Eq. 31")
    ['004 Eq']
    """
    return _NUMBER.findall(text)


def unknown(text: str) -> list[str]:
    """Citations of papers by these authors that no key has.

    >>> unknown("Jain 2011 Eq. 53, Jain 2012 Eq. 53")
    ['Jain 2012']
    """
    authors = "|".join(sorted({paper.short.split()[0] for paper in PAPERS.values()}))
    known = {paper.short for paper in PAPERS.values()}
    return [x for x in re.findall(rf"\b(?:{authors}) \d{{4}}\b", text) if x not in known]


def key(papers: list[Paper]) -> list[nodes.Node]:
    """The key, as the last lines of a page."""
    items = [
        nodes.list_item("", nodes.paragraph("", "", nodes.strong("", paper.short), nodes.Text(f": {paper.reference}")))
        for paper in papers
    ]
    return [nodes.rubric("", "Papers cited on this page"), nodes.bullet_list("", *items, classes=["papers-key"])]


def add_key(app: Any, document: Any) -> None:
    """Sphinx calls this for each page it has read."""
    text = document.astext()
    for place in sorted({*bare_numbers(text), *unknown(text)}):
        logging.getLogger(__name__).warning("%s: %r cites a paper that readers cannot look up", app.env.docname, place)
    if papers := papers_cited(text):
        sections = [node for node in document.children if isinstance(node, nodes.section)]
        (sections[0] if sections else document).extend(key(papers))


def setup(app: Any) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("doctree-read", add_key)
    return {"parallel_read_safe": True}
