"""Force elements that need no memory: limits of joints and drag.

What depends on q and v alone and belongs to the model (springs, dampers, tendons) acts by itself. These are added with
`p.add(...)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.errors import ModelError, StateError
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.forces.prescribed import find_dof
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.wrench import Wrench


def not_negative(value: Any, what: str) -> float:
    """A number that is zero or more."""
    found = float(finite(value, (), what, StateError))
    if found < 0.0:
        raise StateError(f"{what} must not be negative, got {found:g}.")
    return found


class JointLimit:
    """A compliant stop at the limits of a dof: beyond them by x, moving out at speed s, it pushes back with

        stiffness x (1 + damping s),   never pulling                                        (Hunt and Crossley 1975)

    `lower` and `upper` are by default those of the hinge (`body.limits`).

    >>> import soacraft as sc
    >>> mb = sc.load("pendulum")
    >>> stop = JointLimit("bob", stiffness=1000.0, lower=-1.0, upper=1.0)
    >>> stop.bind(mb)
    >>> stop.force(0.0, mb.state([1.01], [0.0])).round(9)
    array([-10.])
    """

    def __init__(
        self, hinge: str, stiffness: float, damping: float = 0.0, lower: float | None = None, upper: float | None = None
    ) -> None:
        self.hinge, self.name = hinge, f"limit of {hinge}"
        self._stiffness = not_negative(stiffness, f"stiffness of the {self.name}")
        self._damping = not_negative(damping, f"damping of the {self.name}")
        self._given = lower, upper

    def bind(self, mb: Multibody) -> None:
        """Find the dof and its limits."""
        self._number, self._place = find_dof(mb, self.hinge)
        body = next(x for x in mb.bodies if mb.v_slice(x).start <= self._number < mb.v_slice(x).stop)
        at = self._number - mb.v_slice(body).start
        own = body.limits.lower[at], body.limits.upper[at]
        self._lower, self._upper = (float(x if y is None else y) for x, y in zip(own, self._given, strict=True))
        if not (np.isfinite(self._lower) or np.isfinite(self._upper)):
            raise ModelError(f"dof {self.hinge!r} of {mb.name!r} has no limits; give JointLimit(..., lower=, upper=).")
        if not self._lower < self._upper:
            raise ModelError(f"the {self.name} must have lower < upper, got {self._lower:g} and {self._upper:g}.")

    def force(self, t: float, state: State) -> Array:
        """The generalized force."""
        total = np.zeros(state.v.shape[-1])
        q, v = state.q[self._place], state.v[self._number]
        for depth, speed, way in ((q - self._upper, v, -1.0), (self._lower - q, -v, 1.0)):
            if depth > 0.0:
                total[self._number] += way * max(self._stiffness * depth * (1.0 + self._damping * speed), 0.0)
        return total


class Drag:
    """A force against the velocity u of a node's origin: -linear u - quadratic |u| u, in inertial axes; and against its
    angular velocity w the moment -turning w.

    >>> import soacraft as sc
    >>> mb = sc.load("pendulum")
    >>> air = Drag("bob/tip", linear=0.5)
    >>> air.bind(mb)
    >>> air.force(0.0, mb.state([0.0], [2.0])).round(9)              # 1 m/s2 at a lever of 1 m
    array([-1.])
    """

    def __init__(
        self, node: str, linear: float = 0.0, quadratic: float = 0.0, turning: float = 0.0, name: str | None = None
    ) -> None:
        self._node, self.name = node, name or f"drag at {node}"
        given = dict(linear=linear, quadratic=quadratic, turning=turning)
        self._linear, self._quadratic, self._turning = (not_negative(x, f"{k} {self.name}") for k, x in given.items())

    def bind(self, mb: Multibody) -> None:
        """Find the node."""
        self._mb, self._frame = mb, mb.frame(self._node)

    def force(self, t: float, state: State) -> Array:
        """The generalized force."""
        moving = self._mb.velocity(self._frame, state=state)
        u, w = np.asarray(moving.linear), np.asarray(moving.angular)
        push = -(self._linear + self._quadratic * np.linalg.norm(u)) * u
        wrench = Wrench(-self._turning * w, push, expressed_in=self._mb.root)
        return dyn.compensating_force(self._mb, state.q, {self._frame: wrench}, ignore_loops=True)
