"""Relations of the leaves of derivatives for `prove` and `simplify`: H X = 0 for hinges of one dof, and the like.

Along the velocity such a relation holds where it does along every dof. A skew matrix stays skew along any direction and
however often it is differentiated: B_hat, and W in inertial axes.
"""

from __future__ import annotations

from collections.abc import Iterator

from soacraft.algebra.expressions.operator import Leaf
from soacraft.ops.binding import GraphBinding
from soacraft.ops.derivatives.leaves import SensitivityLeaf
from soacraft.ops.derivatives.rules import on_base, one_dof, papers_pin
from soacraft.ops.derived import LyapunovLeaf
from soacraft.ops.maps.known import of_maps
from soacraft.ops.named import named_of
from soacraft.ops.proofs import translate
from soacraft.ops.proofs.relations import SideRule


def of_derivatives(leaf: Leaf) -> Iterator[SideRule]:
    """The relations of X, W and B_hat, where the hinges and the axes allow them."""
    if not isinstance(leaf, SensitivityLeaf) or not leaf.terms:
        return
    if leaf.kind == "B_hat" or (leaf.kind in ("W", "W_nd") and leaf.binding.axes == "inertial"):
        yield f"{leaf.name} is skew", leaf.source, leaf.T, -leaf
    if leaf.kind == "X" and len(leaf.path) == 1 and isinstance(leaf.binding, GraphBinding):
        yield from _of_X(leaf)


def _of_X(X: SensitivityLeaf) -> Iterator[SideRule]:
    s, (body, dof) = named_of(X.binding), X.path[0]
    dofs = [(body, dof)] if body is not None else _dofs(X.binding)
    if all(one_dof(s, *at) for at in dofs):
        yield f"H*{X.name} is zero", "G5a", s.H * X, None
    if all(on_base(s, *at) for at in dofs):
        yield f"E_phi*{X.name} is zero", "G1", s.E_phi * X, None
    if all(papers_pin(s, *at) for at in dofs):
        yield f"{X.name} is skew", "000 Eq. 39", X.T, -X


def _dofs(binding: GraphBinding) -> list[tuple[str, int]]:
    """One dof of every hinge that has any."""
    return [(body.name, 0) for body in binding.graph.bodies if body.hinge.nv]


def of_lambda(leaf: Leaf) -> Iterator[SideRule]:
    """P changes by lambda - X P - P X* along a hinge of one dof, where lambda solves 000 Eq. 43 (G6a)."""
    if type(leaf) is not LyapunovLeaf:
        return
    found = [x for x in leaf.X.leaves() if isinstance(x, SensitivityLeaf) and x.kind == "X" and len(x.path) == 1]
    if not found or found[0].path[0][0] is None or not isinstance(found[0].binding, GraphBinding):
        return
    X, (body, dof) = found[0], found[0].path[0]
    s = named_of(X.binding)
    forms = [X * s.P + s.P * X.T] + ([X * s.P - s.P * X] if papers_pin(s, body, dof) else [])
    if one_dof(s, body, dof) and leaf.key() in [s.E_psi.lyapunov(form).key() for form in forms]:
        name = f"derivative of P by lambda of {body!r}"
        yield name, "000 Eq. 43, G6a", s.P.along(body, dof), leaf - X * s.P - s.P * X.T


def install() -> None:
    """Teach the translator."""
    translate.side_rules[:] = [of_derivatives, of_lambda, of_maps]
