"""Flexible hinges: a hinge that gives way in directions it does not allow, as one hinge of more screws.

With a compliance C (6, 6), [turn; travel] by [moment; force] in the axes of the outboard hinge frame, and C = L L*,

    pose(q, e) = pose(q) exp(l_1 e_1) exp(l_2 e_2) ...        l_i the columns of L, each scaled to a unit turn or travel
    energy     = sum of e_i^2 / (2 c_i)                       c_i the square of that scale

so that to first order a wrench f moves the outboard frame by C f. The hinge's own dofs come first, and stay what they
were: free, actuated, or with a spring. Unlike a bushing on a free hinge, the own turn may be of any size. Directions in
which C is zero are rigid, and have no dof.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.hinges import Screws, Weld
from soacraft.model.hinges.base import Hinge
from soacraft.model.hinges.product import PARALLEL, ScrewProduct
from soacraft.spatial.checks import Array, finite

#: A pivot relative to its diagonal entry that is rounding: sums of six products.
_ROUNDING = 1e-12


class FlexibleHinge(NamedTuple):
    """The hinge with its elastic screws, and the stiffness of each of its dofs, zero for its own."""

    hinge: Hinge
    stiffness: Array


def make_flexible(hinge: Hinge, compliance: Any, name: str) -> FlexibleHinge:
    """A hinge with elastic screws, checked."""
    what = f"the compliance of hinge {name!r}"
    if not isinstance(hinge, ScrewProduct | Weld) or not hinge.constant_H:
        raise ModelError(
            f"{what}: {hinge!r} does not allow the same directions in all its poses; a flexible hinge is a Pin, "
            "Prismatic, Helical, Cylindrical or Weld. Put a body between, and a flexible Weld."
        )
    own = [np.asarray(x) for x in hinge.vectors] if isinstance(hinge, ScrewProduct) else []
    C = read_compliance(compliance, what)
    screws, stiffness = [], []
    for column in factor(C, what).T:
        scale = float(np.linalg.norm(column[:3]) or np.linalg.norm(column[3:]))
        screws.append(column / scale)
        stiffness.append(1.0 / scale**2)
    if not screws:
        raise ModelError(f"{what} is zero, so the hinge is rigid; leave it out.")
    if not _independent(np.array([*own, *screws]), C):
        raise ModelError(
            f"{what} lets it give way where {hinge!r} moves already; give zero there, and a spring of the hinge's own "
            "dof by body.passive."
        )
    return FlexibleHinge(Screws([*own, *screws]), np.array([0.0] * len(own) + stiffness))


def _independent(screws: Array, C: Array) -> bool:
    """True if no screw is a combination of others, with travel in the length that C has, if any."""
    turn, travel = float(np.trace(C[:3, :3])), float(np.trace(C[3:, 3:]))
    length = np.sqrt(travel / turn) if turn > 0.0 and travel > 0.0 else 1.0
    scaled = screws / np.array([1.0] * 3 + [length] * 3)
    scaled /= np.linalg.norm(scaled, axis=1, keepdims=True)
    return len(screws) <= 6 and bool(np.linalg.svd(scaled, compute_uv=False)[-1] > PARALLEL)


def read_compliance(given: Any, what: str) -> Array:
    """Six numbers for a diagonal one, or a symmetric matrix; turns first (rad/N m, m/N)."""
    x = finite(given, (...,), what)
    x = np.diag(finite(x, (6,), what)) if x.ndim < 2 else finite(x, (6, 6), what)
    size = np.sqrt(np.abs(np.outer(np.diagonal(x), np.diagonal(x))))
    gap = np.abs(x - x.T)
    if (gap > _ROUNDING * size).any():
        raise ModelError(f"{what} must be symmetric; it differs from its transpose by {gap.max():.3g}.")
    return np.asarray(0.5 * (x + x.T))


def factor(C: Array, what: str) -> Array:
    """L (6, rank) with C = L L*, columns of pivots that are zero left out: it turns with the units of C."""
    left, columns = C.copy(), []
    for i in range(6):
        pivot = float(left[i, i])
        if abs(pivot) <= _ROUNDING * abs(C[i, i]):
            rest = np.abs(left[i]) > 1e-6 * np.sqrt(np.abs(C[i, i] * np.diagonal(C)))
            if C[i, i] < 0.0 or rest[i:].any():
                raise _indefinite(what, i)
            continue
        if pivot < 0.0:
            raise _indefinite(what, i)
        column = left[:, i] / np.sqrt(pivot)
        column[:i] = 0.0
        columns.append(column)
        left = left - np.outer(column, column)
    return np.array(columns).reshape(-1, 6).T


def _indefinite(what: str, i: int) -> ModelError:
    direction = ("turn about x", "turn about y", "turn about z", "travel along x", "travel along y", "travel along z")
    return ModelError(f"{what} is indefinite ({direction[i]}): a wrench would gain energy. Give one that is positive.")
