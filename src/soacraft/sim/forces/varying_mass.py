"""Masses that vary along a motion, and the energy that comes and goes with them.

A body whose mass m is a function of time and state has the inertia m (M / m), with M / m constant: its centre of mass
stays, its moment grows with m. Mass leaves or comes with the velocity of the body, so that no force goes with it, but
the energy E = m e does, e = V* (M / m) V / 2 - g . c with c the centre of mass:

    dW = e dm,    W of a step = integral of e (dm/dtheta) dtheta

by the rule of Lobatto on points of the step, with m as the polynomial through these points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.polynomial import Legendre

from soacraft import dynamics as dyn
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array
from soacraft.spatial.inertia import Inertia


def lobatto(n: int) -> tuple[Array, Array, Array]:
    """Nodes on [0, 1], weights, and the matrix that differentiates the polynomial through values there. Exact for
    integrands of degree 2 n - 3 (Abramowitz and Stegun, 25.4.32).

    >>> x, w, D = lobatto(4)
    >>> round(float(w @ x**5), 12), np.abs(D @ x**3 - 3 * x**2).max().round(12)
    (0.166666666667, np.float64(0.0))
    """
    P = Legendre.basis(n - 1)
    x = np.concatenate([[-1.0], np.sort(P.deriv().roots().real), [1.0]])
    w = 2.0 / (n * (n - 1) * P(x) ** 2)
    gaps = x[:, None] - x + np.eye(n)
    c = gaps.prod(axis=1)
    D = c[:, None] / (c * gaps)
    np.fill_diagonal(D, 0.0)
    np.fill_diagonal(D, -D.sum(axis=1))
    return 0.5 * (x + 1.0), 0.5 * w, 2.0 * D


#: Seven points of a step: masses of degree six in time, which is more than the steps themselves are good for.
NODES, WEIGHTS, SLOPES = lobatto(7)


class VaryingMass:
    """Bodies whose masses are given: no force of theirs, but work that is counted."""

    name = "mass"

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)

    def bind(self, mb: Multibody) -> None:
        """Take the model."""
        self._mb = mb

    def force(self, t: float, state: State) -> Array:
        """None."""
        return np.zeros(self._mb.nv)

    def set(self, masses: Mapping[str, float]) -> int:
        """Let bodies have these masses, {body: mass}; returns the growth of the version of the model's parameters."""
        before = self._mb.parameters
        for name, mass in masses.items():
            body = self._mb[name]
            old = body.inertia
            if mass != old.mass:
                body.inertia = Inertia(mass, old.com, old.moment * (mass / old.mass))
        return self._mb.parameters - before

    @property
    def bodies(self) -> list[Body]:
        """The bodies whose masses vary."""
        return [self._mb[name] for name in self._names]

    @property
    def masses(self) -> Array:
        """Masses that the bodies have now."""
        return np.array([body.inertia.mass for body in self.bodies])

    def energies(self, q: Array, v: Array) -> Array:
        """Kinetic and potential energy of each of the bodies at states, per mass, (..., bodies)."""
        mb, bodies = self._mb, self.bodies
        motion = dyn.node_motion(mb, q, v, np.zeros_like(v), tuple(bodies), "node", ignore_loops=True)
        M = np.array([body.inertia.matrix() / body.inertia.mass for body in bodies])
        com = np.array([body.inertia.com for body in bodies])
        moving = 0.5 * np.einsum("...ka,kab,...kb->...k", motion.velocity, M, motion.velocity)
        centre = motion.translation + np.einsum("...kab,kb->...ka", motion.rotation, com)
        return np.asarray(moving - centre @ mb.gravity)
