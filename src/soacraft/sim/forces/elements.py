"""Force elements that need no memory: drag; fields of gravity are in `gravity`.

What depends on q and v alone and belongs to the model (springs, dampers, tendons) acts by itself. These are added with
`p.add(...)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.errors import StateError
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.wrench import Wrench


def not_negative(value: Any, what: str) -> float:
    """A number that is zero or more."""
    number = float(finite(value, (), what, StateError))
    if number < 0.0:
        raise StateError(f"{what} must not be negative, got {number:g}.")
    return number


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
        if not isinstance(name, str | None):
            raise StateError(f"the name of a drag is a text, got {name!r:.60}.")
        self._node, self.name = node, name or f"drag at {getattr(node, 'full_name', node)}"
        coefficients = dict(linear=linear, quadratic=quadratic, turning=turning)
        self._linear, self._quadratic, self._turning = (
            not_negative(x, f"{k} {self.name}") for k, x in coefficients.items()
        )

    def bind(self, mb: Multibody) -> None:
        """Find the node."""
        self._mb, self._frame = mb, mb.frame(self._node)

    @property
    def frame(self) -> Frame:
        """The node, where the drag was bound."""
        return self._frame

    def against(self, twist: Array) -> Array:
        """The wrenches [moment; force] (..., 6) against velocities [w; u] of the node, in the same axes.

        >>> Drag("tip", linear=0.5, turning=2.0).against(np.array([1.0, 0, 0, 0, 0, 2.0]))
        array([-2., -0., -0., -0., -0., -1.])
        """
        w, u = twist[..., :3], twist[..., 3:]
        speed = np.sqrt((u * u).sum(axis=-1, keepdims=True))
        return np.concatenate([-self._turning * w, -(self._linear + self._quadratic * speed) * u], axis=-1)

    def force(self, t: float, state: State) -> Array:
        """The generalized force."""
        return dyn.compensating_force(self._mb, state.q, self.wrenches(t, state), ignore_loops=True)

    def wrenches(self, t: float, state: State) -> dict[Frame, Wrench]:
        """The wrench on the node."""
        moving = self._mb.velocity(self._frame, state=state)
        wrench = self.against(np.concatenate([np.asarray(moving.angular), np.asarray(moving.linear)]))
        return {self._frame: Wrench(wrench[:3], wrench[3:], expressed_in=self._mb.root)}
