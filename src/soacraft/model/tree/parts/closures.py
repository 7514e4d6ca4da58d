"""Constraints of a tree other than its hinges: loop closures and couplings of coordinates.

They are records here; `soacraft.loops` solves for them. The dynamics functions of a tree refuse a graph that has some,
unless `ignore_loops=True`.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from soacraft.errors import LoopError, ModelError
from soacraft.model.flat.structure import Structure
from soacraft.model.hinges.base import Hinge, has_coordinates
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.parts.catalogue import Catalogue
from soacraft.model.tree.parts.records import Attributes, Plain
from soacraft.spatial.checks import Array


@dataclass(frozen=True, eq=False)
class Closure(Plain):
    """A loop closure: frame `b` may move relative to frame `a` only as `hinge` allows. Made by `mb.close_loop`.

    An inactive one is kept and ties nothing.
    """

    name: str
    a: Frame
    b: Frame
    hinge: Hinge
    active: bool = True
    attributes: Attributes = field(default_factory=dict)

    def __deepcopy__(self, memo: dict[int, Any]) -> Closure:
        """Closure of the copied model; one that was removed from its model is copied by itself, with its frames."""
        graph: Any = getattr(self.a, "_graph", None)
        if graph is not None and graph._attachments.loops.get(self.name) is self:
            copied: Closure = deepcopy(graph, memo)._attachments.loops[self.name]
            return copied
        return replace(self, a=deepcopy(self.a, memo), b=deepcopy(self.b, memo), hinge=deepcopy(self.hinge, memo))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        graph = vars(getattr(self.a, "_graph", self))  # that of a copy; one that is packed after it is not yet complete
        if "_edits" in graph and graph["_attachments"].loops.get(self.name) is self:
            self.hinge.watch(graph["_edits"])

    @property
    def one_sided(self) -> bool:
        """True for a rope: it ties nothing by itself, and acts in `sc.sim.Contact`."""
        return bool(self.attributes.get("one_sided", False))

    def __repr__(self) -> str:
        if self.one_sided:
            length = self.attributes.get("length")
            return f"rope {self.name!r}: {self.b.full_name!r} at most {length} m from {self.a.full_name!r}"
        off = "" if self.active else ", inactive"
        return f"loop {self.name!r}: {self.b.full_name!r} on {self.a.full_name!r} by {self.hinge!r}{off}"


@dataclass(frozen=True, eq=False)
class Coupling(Plain):
    """Coordinates tied to each other: sum over dofs of `p(q) = offset`. Made by `mb.couple`.

    `terms` has for each dof the coefficients (c1, c2, ...) of `p(q) = c1 q + c2 q^2 + ...`.
    """

    name: str
    terms: Mapping[str, tuple[float, ...]]
    offset: float = 0.0
    active: bool = True
    attributes: Attributes = field(default_factory=dict)

    @property
    def one_sided(self) -> bool | str:
        """True if the sum is at least the offset, and not equal to it; "rate" if the sum does not fall. Such a coupling
        ties nothing by itself, and acts in `sc.sim.Contact`.
        """
        told = self.attributes.get("one_sided", False)
        return told if isinstance(told, str) else bool(told)

    @property
    def linear(self) -> bool:
        """True if every term is a ratio times its coordinate."""
        return all(len(c) == 1 for c in self.terms.values())

    def __repr__(self) -> str:
        parts = [
            f"{c:g} {dof}{'' if power == 1 else f'^{power}'}"
            for dof, coefficients in self.terms.items()
            for power, c in enumerate(coefficients, 1)
            if c
        ]
        if self.one_sided:
            what = "does not fall" if self.one_sided == "rate" else f">= {self.offset:g}"
            return f"coupling {self.name!r}: {' + '.join(parts)} {what}"
        return f"coupling {self.name!r}: {' + '.join(parts)} = {self.offset:g}{'' if self.active else ', inactive'}"


def coordinate_names(graph: Structure) -> dict[str, int]:
    """The dofs whose velocity is the rate of one coordinate, with the number of that coordinate in q."""
    layout = graph.layout
    names = layout.dof_names
    found: dict[str, int] = {}
    for body, q, v in zip(layout.bodies, layout.hinge_q, layout.hinge_v, strict=True):
        if has_coordinates(body.hinge):
            found.update(zip(names[v], range(q.start, q.stop), strict=True))
    found.update((names[j], i) for i, j in zip(layout.own.q.tolist(), layout.own.v.tolist(), strict=True))
    return found


def coupling_error(coupling: Coupling, names: Mapping[str, int], q: Array) -> float:
    """The sum over dofs of p(q) = c1 q + c2 q^2 + ... less the offset; `names` are those of `coordinate_names`.

    >>> from soacraft.model import serial_chain
    >>> mb = serial_chain(2)
    >>> coupling_error(mb.couple("gear", {"link1": 1, "link2": -3}), coordinate_names(mb), np.array([0.5, 0.125]))
    0.125
    """
    values = (np.polynomial.polynomial.polyval(q[names[dof]], (0.0, *c)) for dof, c in coupling.terms.items())
    return float(sum(values, start=-coupling.offset))


class Tied(Protocol):
    """A graph, of which only the closures and couplings matter here."""

    @property
    def name(self) -> str:
        """The name used in messages."""

    @property
    def is_closed(self) -> bool:
        """True if a loop closure or a coupling is active."""

    @property
    def loops(self) -> Catalogue[Closure]:
        """The loop closures."""

    @property
    def couplings(self) -> Catalogue[Coupling]:
        """Couplings of coordinates."""


def one_sided_attributes(one_sided: Any, active: Any, given: Any, kind: str, name: Any) -> dict[str, Any]:
    """The attributes of a one-sided coupling or rope; empty for one that is not."""
    refuse_reserved(given, kind, name)
    what = f"{'rope' if kind == 'loop' else kind} {name!r}"
    if one_sided is False:
        return {}
    if one_sided is not True and one_sided != "rate":
        raise ModelError(f"one_sided of {what} must be True, False or 'rate', got {one_sided!r:.60}.")
    if active is not True:
        raise ModelError(f"{what} is one-sided, and so not active in solvers of loops; leave active= out.")
    return {**(given or {}), "one_sided": one_sided}


#: Attributes of a rope and of a one-sided coupling, and the way each is set.
RESERVED = {
    "loop": {"one_sided": "make a rope with mb.add_rope(...)", "length": "make a rope with mb.add_rope(...)"},
    "coupling": {"one_sided": "say mb.couple(..., one_sided=True)"},
}


def refuse_reserved(given: Any, kind: str, name: Any) -> None:
    """Refuse attributes of a loop or a coupling that would make it one-sided, or look so."""
    for key, cure in RESERVED[kind].items():
        if isinstance(given, Mapping) and key in given:
            raise ModelError(
                f"{kind} {name!r}: the attribute {key!r} is that of one-sided ones; {cure}, or choose another name."
            )


def refuse_loops(function: str, graph: Tied, ignore_loops: Any = False) -> None:
    """Raise `LoopError` for a graph with active closures or couplings, unless they are to be ignored."""
    if not isinstance(ignore_loops, bool | np.bool_):
        raise LoopError(f"ignore_loops of {function} must be True or False, got {ignore_loops!r:.60}.")
    if ignore_loops or not graph.is_closed:
        return
    loops = [x.name for x in graph.loops if x.active]
    couplings = [x.name for x in graph.couplings if x.active]
    what = " and ".join(
        f"{kind}{'s' if len(names) > 1 else ''} {_shown(names)}"
        for kind, names in (("loop", loops), ("coupling", couplings))
        if names
    )
    raise LoopError(
        f"{function}: {graph.name!r} has {what}, which the tree alone does not know. Pass ignore_loops=True for the "
        "tree without them, or solve with them: sc.loops.ConstraintEmbedding(mb)."
    )


def _shown(names: list[str]) -> str:
    quoted = [repr(name) for name in names]
    return ", ".join(quoted if len(quoted) <= 12 else [*quoted[:10], "...", quoted[-1]])
