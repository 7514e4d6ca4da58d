"""Rules about the structure of the operators on trees: blocks that can be non-zero, singular operators, determinants.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.values.support import Flags, closure, placed, reach, support
from soacraft.errors import SingularError
from soacraft.ops.derivatives.leaves import SensitivityLeaf
from soacraft.ops.derived import RiccatiInverse, SweptInverse
from soacraft.ops.given import GivenBlocks, GivenInverse, GivenMatrix
from soacraft.ops.leaves import BoundLeaf, PropagatorLeaf
from soacraft.ops.maps.leaves import MapLeaf
from soacraft.ops.namespace import operators_of
from soacraft.ops.recognise import as_mass_matrix
from soacraft.ops.table import riccati


@reach.register
def _(expr: PropagatorLeaf) -> Flags:
    """(I - E)^-1 = I + E + E^2 + ...; less I for the tilde forms, whose diagonal is zero (004 Cor. 3.1)."""
    found = closure(support(expr.kernel))
    return found & ~np.eye(len(found), dtype=np.bool_) if expr.what.tilde else found


@reach.register
def _(expr: SweptInverse) -> Flags:
    return closure(support(expr.arg))


@reach.register
def _(expr: RiccatiInverse) -> Flags:
    """Bodies of one base tree."""
    E = support(expr.args[1])
    return closure(E | E.T)


@reach.register(SensitivityLeaf)
@reach.register(GivenBlocks)
@reach.register(MapLeaf)
def _(expr: SensitivityLeaf | GivenBlocks | MapLeaf) -> Flags:
    """The blocks that there are: of the bodies that move, of what the user gave."""
    return placed(*expr.spaces, expr.blocks().entries)


@reach.register
def _(expr: GivenMatrix) -> Flags:
    """The blocks of constant numbers that are not zero."""
    rows, cols = expr.spaces
    every = ((i, j) for i in range(len(rows)) for j in range(len(cols)))
    return placed(rows, cols, [(i, j) for i, j in every if expr.matrix[rows.block(i), cols.block(j)].any()])


@reach.register
def _(expr: GivenInverse) -> Flags:
    return closure(support(expr.arg))


def singular_projection(x: Operator) -> str | None:
    """tau = G H has the rank of the hinges, tau_bar G = 0, P+ = tau_bar P (000 Eq. 24)."""
    if not isinstance(x, BoundLeaf) or x.name not in ("tau", "tau_bar", "P_plus"):
        return None
    body, hinge = x.binding.body, x.binding.hinge
    if x.name == "tau":
        lost = next((k for k, (r, d) in enumerate(zip(hinge.dims, body.dims, strict=True)) if r < d), None)
        return None if lost is None else f"tau = G*H has rank {hinge.dims[lost]} of {body.dims[lost]} at a node"
    return "tau_bar*G = 0" if hinge.size else None


def regular_propagator(x: Operator) -> tuple[bool, str] | None:
    """phi^-1 = I - E_phi (000 Eq. 9)."""
    known = isinstance(x, PropagatorLeaf) and not x.what.tilde
    return (True, "unit triangular, its inverse is I less its kernel (000 Eq. 9)") if known else None


def regular_mass_matrix(x: Operator) -> tuple[bool, str] | None:
    """Mcal = (I + H phi K) D (I + H phi K)*, regular where every D(k) is (000 Eq. 28)."""
    found = as_mass_matrix(x)
    if found is None or not found.known:
        return None
    try:
        operators_of(found.H.binding).D.blocks()
    except SingularError as error:
        return False, str(error)
    return True, "(I + H*phi*K) * D * (I + H*phi*K).T with a positive definite D (000 Eq. 28)"


def determinant_of_mass_matrix(x: Operator) -> tuple[Any, Any, str] | None:
    """det Mcal = det D, since I + H phi K is unit triangular (004 Eq. 52-53)."""
    found = as_mass_matrix(x)
    if found is None:
        return None
    if found.known:
        D = operators_of(found.H.binding).D.blocks().diagonal()
    else:
        inner = RiccatiInverse(found.H, found.phi.kernel, found.X).model()
        D = list(riccati(inner).D.values())
    log: Any = 0.0
    for block in D:
        log = log + np.linalg.slogdet(block)[1]
    return np.ones_like(log), log, "004 Eq. 53"
