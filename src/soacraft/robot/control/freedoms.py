"""What the motors of a robot can do: the accelerations that are free to choose, and the force that gives them.

A tree with a motor at every dof has all of them. Dofs without a motor give way (formula F11), and closures tie dofs to
each other (formula F2). Both leave fewer accelerations a to choose, with the same two equations

    vdot = X a + x0,        X* T = X* (Mcal vdot + C)

                    X                                   x0
    all motors      I                                   0
    some motors     [I; -Mcal_pp^-1 Mcal_pa]            [0; -Mcal_pp^-1 C_p]          (`analysis.underactuated`)
    closed chains   Gc X = 0, X_i = I                   Gc x0 = -Gcdot v, x0_i = 0    (`soacraft.loops`)

Where motors are more than what can move, they share the work: of all T with the same X* T the one of least

    |T|^2 = sum of (T_i c_i)^2,      c the length of the model for dofs that travel, one for dofs that turn

so that the answer does not depend on units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft import dynamics as dyn
from soacraft.analysis.underactuated import underactuated
from soacraft.dynamics.arguments import read_prescribed
from soacraft.dynamics.problem import Mask
from soacraft.errors import LoopError, StateError
from soacraft.model.sizes.scale import scale_of
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.control.closures import ClosedMotion, closed_motion
from soacraft.robot.robot import Robot
from soacraft.spatial.checks import Array, finite

#: What is left of a force that motors cannot give, relative to the force, below which it is rounding.
_LEFT = 1e-9


@dataclass(frozen=True, eq=False)
class Freedom:
    """The accelerations `a` (m) that can be chosen at one state: vdot = X a + x0."""

    X: Array
    """(nv, m)"""
    x0: Array
    """(nv)"""
    names: tuple[str, ...]
    """Of the dofs whose accelerations a are."""
    places: npt.NDArray[np.intp]
    """(m) numbers of these dofs."""
    motors: Mask
    """(nv)"""
    sizes: Array
    """(nv): what forces are multiplied by where they are compared."""
    model: str
    closed: ClosedMotion | None = None
    """What closures allow, where there are some."""

    def force(self, r: Array) -> Array:
        """T with X* T = r, at the motors alone, the least of all such, (nv)."""
        T, at = np.zeros(len(self.X)), np.flatnonzero(self.motors)
        if np.array_equal(at, self.places):  # X is I there
            T[at] = r
            return T
        d = self.sizes[self.places]
        rows = (self.X[at] / self.sizes[at, None]).T * d[:, None]
        y = np.linalg.lstsq(rows, r * d, rcond=None)[0]
        left = np.abs(rows @ y - r * d)
        if left.max(initial=0.0) > _LEFT * np.abs(r * d).max(initial=0.0):
            worst = self.names[int(np.argmax(left))]
            raise LoopError(
                f"the motors of {self.model!r} cannot give this motion: {left.max():.3g} of the force along {worst!r} "
                f"is left. Give motors that move all of {', '.join(map(repr, self.names))}."
            )
        T[at] = y / self.sizes[at]
        return T


def model_of(robot: Robot, what: str = "control") -> Multibody:
    """The model of a robot."""
    if not isinstance(robot, Robot):
        raise StateError(f"{what} is of a Robot, sc.robot.Robot(mb), got {robot!r:.60}.")
    return robot.mb


def tree_of(robot: Robot, what: str) -> Multibody:
    """The model of a robot without loops and couplings, for a law that has no form for others."""
    mb = model_of(robot, what)
    if mb.is_closed:
        raise StateError(
            f"{what} is for trees, and {mb.name!r} has loops or couplings: ungrasp first, or take computed_torque, "
            "operational_space or lqr, which keep them."
        )
    return mb


def motors_of(mb: Multibody, actuated: Any) -> Mask | None:
    """Which dofs have a motor: None for all, "model" for those that actuators of the model drive, or names."""
    if actuated is None:
        return None
    if isinstance(actuated, str) and actuated == "model":
        named = sorted({dof for x in mb.actuators for dof in x.gears})
        if not named:
            raise StateError(f"{mb.name!r} has no actuators: name the dofs that have a motor, actuated=[...].")
        return read_prescribed(mb, named, "actuated")
    motors = read_prescribed(mb, actuated, "actuated")
    if mb.nv and not motors.any():
        raise StateError(
            f"actuated names no dof of {mb.name!r}, so that nothing can be driven: name those with a motor."
        )
    return motors


def sizes_of_dofs(mb: Multibody) -> Array:
    """The length of the model for dofs that travel, one for others, (nv)."""
    return scale_of(mb).of("".join(mb.layout.units.hinge))


def by_dof(mb: Multibody, of: Callable[[Body], Array]) -> Array:
    """Numbers of the hinges, by dof (nv); zeros at dofs of flexible bodies."""
    found = np.zeros(mb.nv)
    for body, where in zip(mb.bodies, mb.layout.hinge_v, strict=True):
        found[where] = of(body)
    return found


def freedom(robot: Robot, q: Array, v: Array, actuated: Any = None) -> Freedom:
    """The accelerations that can be chosen at one state. O(n nv); with loops O(nv^3)."""
    mb = model_of(robot)
    motors, nv = motors_of(mb, actuated), mb.nv
    every = np.ones(nv, dtype=np.bool_) if motors is None else motors
    sizes = sizes_of_dofs(mb)
    if mb.is_closed:
        found = closed_motion(mb, q, v)
        return Freedom(found.X, found.x0, found.names, found.choice.independent, every, sizes, mb.name, found)
    if every.all():
        return Freedom(np.eye(nv), np.zeros(nv), tuple(mb.dof_names), np.arange(nv), every, sizes, mb.name)
    u = underactuated(mb, q, v, passive=~every)
    at = np.flatnonzero(every)
    X, x0 = np.zeros((nv, len(at))), np.zeros(nv)
    X[at], X[~every], x0[~every] = np.eye(len(at)), -u.follow, -u.drift
    return Freedom(X, x0, u.active, at, every, sizes, mb.name)


def needed(mb: Multibody, q: Array, v: Array, vdot: Array, f_ext: Any = None) -> Array:
    """Mcal vdot + C of the tree, (nv): what all forces besides gravity, springs and dampers must add up to. O(n)."""
    return np.asarray(dyn.inverse_dynamics(mb, q, v, vdot, f_ext, ignore_loops=True))


def gain(K: Any, x: Array, what: str = "a gain") -> Array:
    """K x: a number, one for each entry, or a matrix; x (..., k)."""
    K = finite(K, (...,), what, StateError)
    if K.ndim > 2 or (K.ndim and K.shape[-1] != x.shape[-1]) or (K.ndim == 2 and len(K) != x.shape[-1]):
        raise StateError(f"{what} is a number, {x.shape[-1]} numbers or a matrix of them; got shape {K.shape}.")
    return np.asarray(x @ K.T) if K.ndim == 2 else np.asarray(K * x)
