"""The names and units of the coordinates and dofs of a run, for charts and tables."""

from __future__ import annotations

from typing import NamedTuple

from soacraft.errors import StateError
from soacraft.model.hinges.base import has_coordinates
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.kept import Kept

UNITS = {"r": "rad", "m": "m"}


class Labels(NamedTuple):
    """A name and a unit for each coordinate (nq) and each dof (nv); the unit is empty where there is none."""

    q: tuple[str, ...]
    q_units: tuple[str, ...]
    v: tuple[str, ...]
    v_units: tuple[str, ...]


def labels_of(graph: Graph) -> Labels:
    """Coordinates have the names of their dofs where they are their rates, else that of the hinge with a number. O(n),
    kept until the model changes.

    >>> import soacraft as sc
    >>> labels_of(sc.load("cart_pole")).q, labels_of(sc.load("cart_pole")).q_units
    (('cart', 'pole'), ('m', 'rad'))
    >>> labels_of(sc.load("top")).q
    ('top.q0', 'top.q1', 'top.q2', 'top.q3')
    """
    return _KEPT(graph)


def check_labels(run: Labels | None, model: Labels) -> None:
    """Refuse a run of another model: one that remembers coordinates of other names."""
    if run is None or run.q == model.q:
        return
    ours, theirs = next(((a, b) for a, b in zip(run.q, model.q, strict=False) if a != b), (run.q, model.q))
    raise StateError(
        f"the run is of another model: where it has the coordinate {ours!r:.60}, this model has {theirs!r:.60}."
    )


def _labels_of(graph: Graph) -> Labels:
    layout, names = graph.layout, graph.dof_names
    q: list[str] = []
    letters = ""
    for body, v in zip(layout.bodies, layout.v_slices, strict=True):
        hinge, dofs = body.hinge, names[v]
        plain = has_coordinates(hinge)
        q += dofs[: hinge.nq] if plain else [f"{body.hinge_name}.q{i}" for i in range(hinge.nq)]
        q += dofs[hinge.nv :]
        letters += hinge.coordinate_units + "x" * (len(dofs) - hinge.nv)
    units = tuple(UNITS.get(x, "") for x in letters)
    return Labels(tuple(q), units, tuple(names), tuple(UNITS.get(x, "") for x in "".join(layout.units.hinge)))


_KEPT = Kept(_labels_of)
