"""Tables made when the documentation is built, from the package itself: they cannot be out of date.

Written into `docs/generated/` and included by the pages.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

from citations import cited, first_line, uses
from errata import ERRATA, witness
from papers import page as papers_page

import soacraft as sc
from soacraft.citations import PAPERS, cite, papers
from soacraft.dynamics.table import TABLE
from soacraft.model.hinges import examples
from soacraft.ops import table, vectors

EXAMPLES = Path(__file__).parents[2] / "examples"
PATTERNS = {"d": "diagonal", "u": "(parent, child)"}
CLAIMS = ("symmetric", "positive_definite", "positive_semidefinite")


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines) + "\n"


def equations() -> str:
    """Equation -> what -> where, one table for each paper."""
    found = uses()
    parts = []
    for paper, (_, short, name, _) in PAPERS.items():
        rows, last = [], ""
        for use in (use for use in found if use.citation.paper == paper):
            label = str(use.citation).removeprefix(paper).strip() or "(slides)"
            rows.append(["" if label == last else f"**{label}**", _text(cite(use.what)), _linked(use.where)])
            last = label
        if rows:
            parts.append(f"## {short}: {name}\n\n{markdown(['equation', 'what', 'where'], rows)}")
    return "\n".join(parts)


def operators() -> str:
    """Every operator: its symbol, its spaces, where its blocks are and what they are."""
    rows = []
    for row in table.SPARSE:
        claims = ", ".join(c.replace("_", " ") for c in CLAIMS if c in row.claims)
        what = _text(first_line(row.entries))
        cells = [f"`{row.name}`", f"${row.latex}$", f"{row.rows} <- {row.cols}", PATTERNS[row.pattern], claims]
        rows.append([*cells, what, cite(row.source)])
    for row in table.PROPAGATORS:
        what = f"`(I - {row.kernel}).inv`" + (" less the identity" if row.tilde else "")
        rows.append([f"`{row.name}`", f"${row.latex}$", "body <- body", "paths", "", what, cite(row.source)])
    what = "`psi.T * H.T * D.inv * H * psi`"
    claims = "symmetric, positive semidefinite"
    rows.append(["`Omega`", r"$\Omega$", "body <- body", "all", claims, what, cite("000 Eq. 34")])
    what = "forces at nodes to forces on their bodies"
    rows.append(["`B(nodes)`", r"$\mathcal{B}$", "body <- node", "one for each node", "", what, cite("000 Eq. 12")])
    return markdown(["name", "symbol", "maps", "blocks at", "claims", "what", "source"], rows)


def stacked_vectors() -> str:
    """Every stacked vector: its space and what it is."""
    s = sc.operators(sc.serial_chain(2))
    rows = [
        [f"`{name}`", f"{getattr(s, name).space.kind}", _text(first_line(work)), _source(work)]
        for name, work in vectors.VECTORS.items()
    ]
    return markdown(["name", "space", "what", "source"], rows)


def identities() -> str:
    """Every identity with both sides as the papers print them."""
    rows = []
    for n, identity in enumerate(sc.identities(), 1):
        conditions = ", ".join(sorted(identity.conditions)) or "any"
        rows.append([str(n), _text(identity.name), f"${identity.relation.latex}$", conditions, identity.citation])
    return markdown(["", "name", "relation", "holds on", "source"], rows)


#: What q and v of each hinge are, in their order.
COORDINATES = {
    "Weld": ("none", "none"),
    "Pin": ("angle", "its rate"),
    "Prismatic": ("travel", "its rate"),
    "Helical": ("angle", "its rate"),
    "Cylindrical": ("angle, travel", "their rates"),
    "Universal": ("angle about `axis`, angle about `axis2`", "their rates"),
    "Gimbal": ("three angles, in the order of the rows of `axes`", "their rates"),
    "Planar": ("x, y, angle about z", "their rates"),
    "Spherical": ("quaternion x, y, z, w", "angular velocity, outboard axes"),
    "Free": ("quaternion x, y, z, w, then position in inboard axes", "angular, then linear velocity, outboard axes"),
    "RollingBall": ("quaternion x, y, z, w, then contact point along two tangents", "angular velocity, ball axes"),
    "Screws": ("one for each screw", "their rates"),
}


def hinges() -> str:
    """Every hinge: how it is made, its numbers of coordinates and velocities, what they are."""
    rows = []
    for kind, example in zip(sc.HINGES, examples(), strict=True):
        call = f"`{kind.__name__}({', '.join(inspect.signature(kind).parameters)})`"
        counts = ["m", "m"] if kind is sc.Screws else [str(example.nq), str(example.nv)]
        rows.append([call, first_line(kind).split(":")[0], *counts, *COORDINATES[kind.__name__]])
    return markdown(["hinge", "motion", "nq", "nv", "q", "v"], rows)


def models() -> str:
    """The built-in models."""
    rows = [[f"`{m.name}`", str(m.bodies), str(m.dofs), m.description] for m in sc.models()]
    return markdown(["name", "bodies", "dofs", "description"], rows)


def algorithms() -> str:
    """The table of named algorithms: what they take and give, in whose axes and with which kernel."""
    rows = []
    for row in TABLE.values():
        where = "" if row.module == "dynamics" else "analysis."
        axes = [f"({', '.join(['...', *shape.split()])})" for shape in row.outputs]
        marks = ["yes" if x else "" for x in (row.right_with_loops, row.stored, row.kernel)]
        rows.append([f"`{where}{row.name}`", f"`{', '.join(row.given)}`", ", ".join(axes), f"`{row.equation}`", *marks])
    head = ["function", "after the graph", "results", "equation", "right with loops", "stored forces", "kernel"]
    return markdown(head, rows)


def errata() -> str:
    """Every misprint: where, what is printed, what is true, and the witness, computed now."""
    rows = [[cite(x.place), _text(x.printed), _text(cite(x.true)), _text(witness(x.witness))] for x in ERRATA]
    return markdown(["where", "printed", "true", "witness"], rows)


def items() -> str:
    """The papers item by item, each call run now."""
    return papers_page(lambda head, rows: markdown(head, [[_text(cell) for cell in row] for row in rows]))


def references() -> str:
    """The papers."""
    return markdown(["cited as", "in docstrings", "reference"], [[p.short, p.number, p.reference] for p in papers()])


def gallery() -> str:
    """Every example with its picture, in the order of their numbers."""
    parts = []
    for path in sorted(EXAMPLES.glob("*.py")):
        said = ast.get_docstring(ast.parse(path.read_text())) or ""
        title, _, rest = said.split("\n\n")[0].replace("\n", " ").partition(": ")
        words = f"{rest[:1].upper()}{rest[1:]} " if rest else ""
        image = f"```{{image}} /_static/gallery/{path.stem}.png\n:alt: {title}\n```"
        parts.append(f"## {title.rstrip('.')}\n\n{words}`examples/{path.name}`\n\n{image}\n")
    return "\n".join(parts)


PAGES = {
    "papers": references,
    "equations": equations,
    "operators": operators,
    "vectors": stacked_vectors,
    "identities": identities,
    "hinges": hinges,
    "models": models,
    "algorithms": algorithms,
    "errata": errata,
    "items": items,
    "gallery": gallery,
}


def _text(words: str) -> str:
    """Words with the stars and underscores of the mathematics kept as they are."""
    if "`" in words:
        return words
    return words.replace("*", r"\*").replace("_", r"\_")


def _linked(where: str) -> str:
    """A name of ours as a link into the reference.

    >>> _linked("`soacraft.diag_of`"), _linked("operator `K`")
    ('{py:obj}`soacraft.diag_of`', 'operator `K`')
    """
    return f"{{py:obj}}{where}" if where.startswith("`soacraft.") else where


def _source(work: Any) -> str:
    return cite(", ".join(str(c) for c in cited(inspect.getdoc(work) or "")))


def write(folder: Path) -> None:
    """Write all tables, leaving files alone that have not changed."""
    folder.mkdir(exist_ok=True)
    for name, make in PAGES.items():
        path, page = folder / f"{name}.md", make()
        if not path.exists() or path.read_text() != page:
            path.write_text(page)


def setup(app: Any) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "generated"))
    return {"parallel_read_safe": True}
