"""The card of a model or a sub-graph: sizes, mass, forces, ties, its bodies and its tree. O(n)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from soacraft import markup
from soacraft.cards import card, card_of, facts, part
from soacraft.errors import SoacraftError
from soacraft.late import higher
from soacraft.markup import Html
from soacraft.model.tree.drawing import tree
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.multibody import Multibody

#: Bodies of a model whose tree is drawn.
_DRAWN = 200
#: Bodies of a model of which a picture is made, and how wide it is in pixels.
_PICTURED, _WIDTH = 100, 200
#: Names in a row, before it says how many more there are.
_NAMED = 6


@card_of.register
def model_card(graph: Graph) -> str:
    """Card of a model: a head, then parts that fold."""
    count = len(graph.bodies)
    parts = [
        part("in short", lambda: facts(_sizes(graph)), True),
        part("what acts", lambda: facts(_acting(graph)), True),
        part(f"bodies ({count:,})", lambda: _bodies(graph), count <= markup.ROWS),
    ]
    ties = [repr(x) for x in (*graph.loops, *graph.couplings)]
    if ties:
        table = markup.table(["loop or coupling"], [[x] for x in ties], more="loops and couplings have all")
        parts.append(part(f"loops and couplings ({len(ties)})", lambda: table, True))
    if count <= _DRAWN:
        parts.append(part("tree", lambda: markup.preformatted(tree(graph))))
    return card(repr(graph), picture(graph), *parts)


def picture(graph: Graph) -> Html:
    """A small picture of a model with shapes at its present state; none of a large one."""
    if len(graph.bodies) > _PICTURED or not any(body.geometries for body in graph.bodies):
        return Html("")
    try:
        return markup.image(higher("portrait")(graph), f"{graph.name} at its present state", _WIDTH)
    except SoacraftError:
        return Html("")


def _sizes(graph: Graph) -> list[tuple[str, str]]:
    kinds = Counter(type(body.hinge).__name__ for body in graph.bodies)
    mass = sum(body.inertia.mass for body in graph.bodies)
    return [
        ("coordinates, dofs", f"{graph.nq}, {graph.nv}"),
        ("hinges", ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())),
        ("flexible, with modes", _listed([f"{x.name}: {x.modal.n}" for x in graph.bodies if x.modal is not None])),
        ("mass", f"{mass:.6g} kg"),
        ("shapes", _some(sum(len(body.geometries) for body in graph.bodies))),
        ("keyframes", _listed(list(graph.keyframes.names)) if isinstance(graph, Multibody) else ""),
    ]


def _acting(graph: Graph) -> list[tuple[str, str]]:
    """Forces that act in dynamics by themselves, and parts that act only in simulations: limits, friction, actuators.
    """
    bodies = graph.bodies
    rows = [
        ("gravity", f"{markup.numbers(graph.gravity)} m/s²" if np.any(graph.gravity) else "none"),
        ("springs and dampers of hinges",
         _listed([x.hinge_name for x in bodies if x.passive.stiffness.any() or x.passive.damping.any()])),
        ("stiffness and damping of modes", _listed([x.name for x in bodies if x.modal is not None])),
        ("tendons", _listed([x.name for x in graph.tendons])),
        ("springs and bushings", _listed([*graph.springs.names, *graph.bushings.names])),
        ("gravity compensation", _listed([x.name for x in bodies if x.gravity_compensation])),
    ]  # fmt: skip
    if isinstance(graph, Multibody):
        rows.append(("forces of set_force", _listed([x.full_name for x in graph.acting_forces])))
        rows.append(("actuators, when a run controls them", _listed([x.name for x in graph.actuators])))
    limited = [x.hinge_name for x in bodies if np.isfinite(x.limits.lower).any() or np.isfinite(x.limits.upper).any()]
    rows.append(("limits, when a run is given them", _listed(limited)))
    rubbing = [x.hinge_name for x in bodies if x.passive.friction.any()]
    rows.append(("dry friction, when a run is given it", _listed(rubbing)))
    return rows


def _bodies(graph: Graph) -> Html:
    rows = [
        (body.name, body.parent.name, body.hinge_name, repr(body.hinge), f"{body.inertia.mass:.4g}")
        for body in graph.bodies[: markup.ROWS]
    ]
    head = ("body", "on", "hinge", "its kind", "mass [kg]")
    return markup.table(head, rows, total=len(graph.bodies), more="tree() and bodies have all")


def _some(count: int) -> str:
    return str(count) if count else ""


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(map(repr, names[:_NAMED])) + more
