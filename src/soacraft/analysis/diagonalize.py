"""Diagonal equations of motion: innovations as coordinates, with a mass matrix that is D or the identity.

With Mcal = m m*, m = (I + H phi K) D^1/2, the velocities nu = m* v and eta = (I + H phi K)* v obey

    nudot + C_nu + load_nu = D^-1/2 (I - H psi K) T,          D etadot + C_eta + load_eta = (I - H psi K) T

C_nu and C_eta are the Coriolis terms alone. Gravity, external forces and the motion of a sub-graph's anchor are the
loads: m^-1, or (I - H psi K), of what they add to the bias force. So nu* C_nu = 0 (it does no work), and
eta* C_eta = 1/2 eta* Ddot eta, whatever the gravity.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from soacraft.analysis.innovations import (
    Blocks,
    Factor,
    coriolis_force,
    motion_of,
    rate_of_eta,
    rate_of_root,
    rates_of,
)
from soacraft.dynamics.arguments import read_problem
from soacraft.dynamics.delivery import not_finite
from soacraft.dynamics.forces import bias_force
from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.blocks import columns
from soacraft.errors import StateError
from soacraft.model.tree.graph import Graph
from soacraft.order import in_order
from soacraft.spatial.checks import Array, finite


class Coordinates:
    """Conversions between vectors (..., nv) and the sweeps of a factor, at the states it was made for."""

    def __init__(self, p: Problem) -> None:
        self.graph, self.nv, self.batch = p.graph.name, p.nv, p.batch
        self.slices, self._order = tuple(p.layout.v_slices), p.layout.v_order
        self.factor = Factor(p.linear)

    def read(self, what: str, x: Any) -> list[Array]:
        """Columns by body of a vector that fits the batch."""
        name = f"{what} of {self.graph!r}"
        values = finite(in_order(x, self._order, name), (..., self.nv), name, StateError)
        try:
            np.broadcast_shapes(values.shape[:-1], self.batch)
        except ValueError:
            raise StateError(
                f"the leading (batch) axes do not agree: {what} {values.shape}, diagonalized at "
                f"{(*self.batch, self.nv)}."
            ) from None
        return [values[..., dofs, None] for dofs in self.slices]

    def stacked(self, blocks: Blocks) -> Array:
        """Columns by body as a vector with all batch axes."""
        lead = np.broadcast_shapes(self.batch, *{blocks[k].shape[:-2] for k in range(len(self.slices))})
        x = np.empty((*lead, self.nv))
        for k, dofs in enumerate(self.slices):
            x[..., dofs] = blocks[k][..., 0]
        return x


@dataclass(frozen=True, eq=False)
class Diagonalized:
    """The innovations coordinates at a state, their Coriolis terms and loads, and the maps to and from them."""

    nu: Array
    """m* v (..., nv): the kinetic energy is |nu|^2 / 2."""
    eta: Array
    """(I + H phi K)* v (..., nv): the kinetic energy is eta* D eta / 2."""
    C_nu: Array
    """The Coriolis term of nudot (..., nv)."""
    C_eta: Array
    """The Coriolis term of D etadot (..., nv)."""
    load_nu: Array
    """Gravity, external forces and a moving anchor in the equation of nudot (..., nv)."""
    load_eta: Array
    """Load in the equation of D etadot (..., nv)."""
    D: dict[str, Array]
    """The hinge inertias D(k) (..., nv_k, nv_k) by body: the mass matrix of eta, block by block."""
    D_rate: dict[str, Array]
    """Rates of the blocks of D along v."""
    _at: Coordinates = field(repr=False)

    def nu_of(self, v: Any, normalized: bool = True) -> Array:
        """nu = m* v, or eta = (I + H phi K)* v. O(n)."""
        at, factor = self._at, self._at.factor
        eta = factor.eta(at.read("v", v))
        return at.stacked(factor.scaled(eta, 1) if normalized else eta)

    def v_of(self, nu: Any, normalized: bool = True) -> Array:
        """The velocity of a nu, or of an eta: v = (I - H psi K)* eta. O(n)."""
        at, factor = self._at, self._at.factor
        values = at.read("nu" if normalized else "eta", nu)
        return at.stacked(factor.v(factor.scaled(values, -1) if normalized else values))

    def eps_of(self, force: Any, normalized: bool = True) -> Array:
        """The innovations of a generalized force: m^-1 T, or (I - H psi K) T. O(n)."""
        at, factor = self._at, self._at.factor
        eps = factor.eps(at.read("force", force))
        return at.stacked(factor.scaled(eps, -1) if normalized else eps)

    def force_of(self, eps: Any, normalized: bool = True) -> Array:
        """The generalized force of innovations: m eps, or (I + H phi K) eps. O(n)."""
        at, factor = self._at, self._at.factor
        values = at.read("eps", eps)
        return at.stacked(factor.force(factor.scaled(values, 1) if normalized else values))

    @cached_property
    def factor(self) -> Array:
        """m = (I + H phi K) D^1/2, dense (..., nv, nv), with Mcal = m m*. O(n nv)."""
        nv = self._at.nv
        columns_first = np.eye(nv).reshape(nv, *(1 for _ in self._at.batch), nv)
        return np.moveaxis(self.force_of(columns_first), 0, -1)

    def __repr__(self) -> str:
        batch = "" if self.nu.ndim == 1 else f", batch {self.nu.shape[:-1]}"
        return f"Diagonalized: {self.nu.shape[-1]} dofs in {len(self.D)} hinges{batch}"


def diagonalize(
    g: Graph, q: Any, v: Any, f_ext: Any = None, *, passive: bool = True, ignore_loops: bool = False
) -> Diagonalized:
    """The equations of motion in innovations coordinates at (q, v). O(n).

        nudot + C_nu + load_nu = m^-1 T,   nu = m* v,   m = (I + H phi K) D^1/2,   m^-1 = D^-1/2 (I - H psi K)
        C_nu = m^-1 C - mdot* v,   mdot along v                                                    (000 Eq. 28-29)

    C is the bias force without gravity, external forces and motion of the anchor; what these add is the load. D^1/2 is
    the symmetric root. Any hinge, with armature. The forces stored with the model act in addition to `f_ext`; springs,
    dampers and gravity compensation are part of the load unless `passive=False`.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft.analysis import diagonalize
    >>> d = diagonalize(sc.load("double_pendulum"), [0.3, 0.4], [1.0, 2.0])
    >>> d
    Diagonalized: 2 dofs in 2 hinges
    >>> bool(abs(d.nu @ d.C_nu) < 1e-12)
    True
    >>> d.force_of(d.eps_of([3.0, 4.0])).round(12)
    array([3., 4.])
    """
    p = read_problem("diagonalize", g, q=q, v=v, f_ext=f_ext, stored=True, ignore_loops=ignore_loops)
    bias = bias_force(g, p.full("q"), p.full("v"), f_ext, passive=passive, ignore_loops=ignore_loops)
    with np.errstate(all="ignore"):
        result = _diagonalized(p, bias)
    for x in (result.nu, result.C_nu, result.C_eta, result.load_eta):
        if not np.isfinite(x).all():
            raise not_finite(p, x)
    return result


def _diagonalized(p: Problem, bias: Array) -> Diagonalized:
    at, m = Coordinates(p), p.linear
    factor, ab = at.factor, at.factor.ab
    motion = motion_of(p)
    rates = rates_of(m, ab, motion)
    eta = factor.eta(columns(p, p.full("v")))
    coriolis, total = factor.eps(coriolis_force(m, motion)), factor.eps(columns(p, bias))
    turning = rate_of_eta(m, ab, rates, motion)
    C_eta = {k: coriolis[k] - ab.D[k] @ turning[k] for k in m.nodes}
    scaled = factor.scaled(C_eta, -1)
    C_nu = {k: scaled[k] - rate_of_root(*factor.roots[k], rates.D[k]) @ eta[k] for k in m.nodes}
    load = {k: total[k] - coriolis[k] for k in m.nodes}
    return Diagonalized(
        nu=at.stacked(factor.scaled(eta, 1)),
        eta=at.stacked(eta),
        C_nu=at.stacked(C_nu),
        C_eta=at.stacked(C_eta),
        load_nu=at.stacked(factor.scaled(load, -1)),
        load_eta=at.stacked(load),
        D=_by_body(p, ab.D),
        D_rate=_by_body(p, rates.D),
        _at=at,
    )


def _by_body(p: Problem, blocks: Blocks) -> dict[str, Array]:
    """The blocks of bodies that have dofs, with all batch axes."""
    return {
        body.name: np.array(np.broadcast_to(blocks[k], (*p.batch, *blocks[k].shape[-2:])))
        for k, body in enumerate(p.layout.bodies)
        if body.hinge.nv
    }
