"""Relations of maps between models, and of the operators of the second model, for `prove`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from soacraft.algebra.expressions.operator import Leaf, Operator
from soacraft.ops.maps.graphs import AxesMap, SubGraphMap
from soacraft.ops.maps.leaves import MapLeaf, ModelMap
from soacraft.ops.named import Named, named_of

#: (name, source, left, right), as `ops.proofs.translate.SideRule`
Rule = tuple[str, str, Operator, Operator | None]


def of_maps(leaf: Leaf) -> Iterator[Rule]:
    """The relations of Xt, Xb and their left inverses."""
    if not isinstance(leaf, MapLeaf):
        return
    m, source = leaf.numbers, leaf.source
    a, b = named_of(m.a), named_of(m.b)
    Xb, Xt = MapLeaf(m, "body"), MapLeaf(m, "hinge")
    same = m.a.hinge == m.b.hinge
    jacobian = b.phi.T * b.H.T if same else b.phi.T * b.H.T * Xt
    yield "velocities in two models", source, jacobian, Xb * a.phi.T * a.H.T
    if m.keeps_inertia():
        yield "inertias in two models", source, Xb.T * b.M * Xb, a.M
    if leaf.part.endswith("hinge"):
        yield from _left_inverse(m, "hinge", Xt, m.hinge_isometry)
    else:
        yield from _left_inverse(m, "body", Xb, m.body_isometry)
    if isinstance(m, AxesMap):
        yield "hinge maps in other axes", "formula of model/flat/axes.py", b.H.T, Xb * a.H.T
        yield "propagation in other axes", "formula of model/flat/axes.py", b.phi.T * Xb, Xb * a.phi.T
    if isinstance(m, SubGraphMap) and leaf.part == "left_body":
        yield "propagation in a sub-graph", source, leaf * b.phi * leaf.T, a.phi
        yield "hinge maps in a sub-graph", source, Xt.T * b.H * leaf.T, a.H
        yield "inertias in a sub-graph", source, leaf * b.M * leaf.T, a.M


def _left_inverse(m: ModelMap, part: str, X: Leaf, isometry: bool) -> Iterator[Rule]:
    I = named_of(m.a).I.with_space(getattr(m.a, part))
    left = X.T if isometry else MapLeaf(m, f"left_{part}") if _has_left(m, part) else None
    if left is not None:
        yield f"left inverse of {X.name}", X.source, left * X, I


def _has_left(m: ModelMap, part: str) -> bool:
    return getattr(type(m), f"left_{part}") is not getattr(ModelMap, f"left_{part}")


#: The definitions of 000 and 004 (`ops.proofs.definitions`), for the operators of a second model when they are met.
_MEANINGS: dict[str, tuple[str, Callable[[Named], list[tuple[Operator, Operator]]]]] = {
    "phi": ("000 Eq. 9", lambda s: [(s.phi - s.phi * s.E_phi, s.I), (s.phi - s.E_phi * s.phi, s.I)]),
    "phi_tilde": ("004 Cor. 3.1", lambda s: [(s.phi_tilde, s.phi - s.I)]),
    "psi": ("004 Eq. 34", lambda s: [(s.psi - s.psi * s.E_psi, s.I), (s.psi - s.E_psi * s.psi, s.I)]),
    "psi_tilde": ("004 Cor. 3.1", lambda s: [(s.psi_tilde, s.psi - s.I)]),
    "K": ("004 Eq. 37", lambda s: [(s.K, s.E_phi * s.G)]),
    "E_psi": ("004 Eq. 34", lambda s: [(s.E_psi, s.E_phi * s.tau_bar)]),
    "P_plus": ("000 Eq. 24", lambda s: [(s.P_plus, s.tau_bar * s.P)]),
    "tau_bar": ("000 Eq. 24", lambda s: [(s.tau_bar, s.I - s.tau)]),
    "tau": ("000 Eq. 24", lambda s: [(s.tau, s.G * s.H)]),
    "G": ("000 Eq. 24", lambda s: [(s.G, s.P * s.H.T * s.D.inv)]),
    "D": ("000 Eq. 24", lambda s: [(s.D, s.H * s.P * s.H.T)]),
    "P": ("004 Eq. 36", lambda s: [(s.M, s.P - s.E_psi * s.P * s.E_psi.T)]),
    "R": ("000 Eq. 21", lambda s: [(s.M, s.R - s.E_phi * s.R * s.E_phi.T)]),
}


def of_second_model(leaf: Leaf) -> Iterator[Rule]:
    """The definition of a paper's operator of a model other than the one whose rules are ready."""
    source, meaning = _MEANINGS.get(leaf.name, ("", lambda s: []))
    for left, right in meaning(named_of(leaf.binding)):  # type: ignore[arg-type]
        yield f"definition of {leaf.name} of {leaf.binding.owner}", source, left, right  # type: ignore[attr-defined]
