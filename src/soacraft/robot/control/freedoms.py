"""Freedoms of a robot by its motors: the accelerations that are free to choose, and the force that gives them.

Motors are at the actuated dofs (`model.states.dof_sets`). A tree with a motor at every dof has all of them. Dofs
without a motor give way (formula F11), and closures tie dofs to each other (formula F2). Both leave fewer accelerations
a to choose, with the same two equations

    vdot = X a + x0,        X* T = X* (Mcal vdot + C)

                    X                                   x0
    all motors      I                                   0
    some motors     [I; -Mcal_pp^-1 Mcal_pa]            [0; -Mcal_pp^-1 C_p]          (`analysis.underactuated`)
    closed chains   Gc X = 0, X_i = I                   Gc x0 = -Gcdot v, x0_i = 0    (`soacraft.loops`)
    both            X Y                                 x0 + X y0                     (`yielding`)

Where motors are more than what can move, they share the work: of all T with the same X* T the one of least

    |T|^2 = sum of (T_i c_i)^2,      c the length of the model for dofs that travel, one for dofs that turn

so that the answer does not depend on units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr

from soacraft import dynamics as dyn
from soacraft.analysis.underactuated import underactuated
from soacraft.dynamics.arguments import read_prescribed
from soacraft.dynamics.problem import Mask
from soacraft.errors import LoopError, StateError
from soacraft.kinematics.tolerances import CLOSED
from soacraft.loops.independent_values import accelerations_of
from soacraft.model.sizes.scale import scale_of
from soacraft.model.states.dof_sets import actuated_dofs, driven_dofs, modal_dofs
from soacraft.model.states.ties import moved_with
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.control.closures import ClosedMotion, closed_motion
from soacraft.robot.robot import Robot
from soacraft.spatial.checks import Array, finite

#: Residual of a force that motors cannot give, relative to the force, below which it is rounding.
_LEFT = 1e-9
#: Singular values of how dofs with a motor move, relative to the largest, that count as zero.
_RANK = 1e-10
#: A condition beyond which other dofs with a motor are taken for the independent ones.
_POOR = 1e6


@dataclass(frozen=True, eq=False)
class Freedom:
    """The accelerations `a` (m) that can be chosen at one state: vdot = X a + x0."""

    X: Array
    """(nv, m)"""
    x0: Array
    """(nv)"""
    names: tuple[str, ...]
    """Names of the dofs whose accelerations a are."""
    places: npt.NDArray[np.intp]
    """(m) numbers of these dofs."""
    motors: Mask
    """(nv)"""
    sizes: Array
    """(nv): what forces are multiplied by where they are compared."""
    model: str
    closed: ClosedMotion | None = None
    """Motion that closures allow, where there are some."""

    @property
    def yields(self) -> bool:
        """True where a direction of a closed chain gives way, which no motor pushes."""
        return self.closed is not None and len(self.places) < self.closed.X.shape[1]

    def accelerations(self, dofs: npt.NDArray[np.intp], values: Array) -> Array:
        """The accelerations a (m) that give some dofs of a closed chain theirs; refused where these do not set all."""
        assert self.closed is not None
        if not self.yields:
            return accelerations_of(self.closed.task, self.closed.choice, dofs, values)
        s = self.sizes
        rows = self.X[dofs] * s[self.places] / s[dofs, None]
        if len(dofs) != len(self.places) or not np.linalg.cond(rows) < _POOR:
            raise LoopError(
                f"vdot of {self.model!r} is given by name for dofs that do not set the others: "
                f"{', '.join(map(repr, self.names))} do, the rest gives way."
            )
        return np.asarray(np.linalg.solve(rows, (values - self.x0[dofs]) / s[dofs]) * s[self.places])

    def followed(self, vdot: Array, time: float) -> Array:
        """The accelerations of all dofs (nv) that go with those of `vdot` at the motors; refused where closures do not
        let these be so."""
        if len(vdot) != len(self.X):
            raise StateError(
                f"vdot of {self.model!r} has {len(self.X)} entries, or by name those of "
                f"{', '.join(map(repr, self.names))}, which have a motor; got {len(vdot)}."
            )
        motion = self.X @ vdot[self.places] + self.x0
        off = np.where(self.motors, np.abs(motion - vdot) / self.sizes, 0.0)
        if off.max(initial=0.0) > CLOSED * max(float(np.abs(motion / self.sizes).max()), 1.0 / time**2):
            i = int(np.argmax(off))
            raise LoopError(
                f"the closures of {self.model!r} do not allow these accelerations: one with a motor is off by "
                f"{off[i] * self.sizes[i]:.3g}. Give those of {', '.join(map(repr, self.names))} alone."
            )
        return np.asarray(motion)

    def locked(self, still: Mask, names: tuple[str, ...]) -> Freedom:
        """Freedom where some dofs of a closed chain do not move: X Z with X_still Z = 0."""
        s = self.sizes
        scaled = self.X * s[self.places] / s[:, None]
        _, values, V = np.linalg.svd(scaled[still])
        Z = V[int(np.sum(values > _RANK * values.max(initial=0.0))) :].T
        moving = np.flatnonzero(~still)
        places = np.sort(moving[qr((scaled @ Z)[moving].T, pivoting=True, mode="r")[1][: Z.shape[1]]])
        X = scaled @ Z @ np.linalg.inv((scaled @ Z)[places]) * s[:, None] / s[places]
        return replace(self, X=X, names=tuple(names[i] for i in places), places=places)

    def force(self, r: Array) -> Array:
        """T with X* T = r, at the motors alone, the least of all such, (nv)."""
        T, at = np.zeros(len(self.X)), np.flatnonzero(self.motors)
        if np.array_equal(at, self.places):  # X is I there
            T[at] = r
            return T
        d = self.sizes[self.places]
        rows = (self.X[at] / self.sizes[at, None]).T * d[:, None]
        y = np.linalg.lstsq(rows, r * d, rcond=None)[0]
        unmet = np.abs(rows @ y - r * d)
        if unmet.max(initial=0.0) > _LEFT * np.abs(r * d).max(initial=0.0):
            worst = self.names[int(np.argmax(unmet))]
            raise LoopError(
                f"the motors of {self.model!r} cannot give this motion: {unmet.max():.3g} of the force along {worst!r} "
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


def motors_of(robot: Robot, actuated: Any = None, *, some: bool = True) -> Mask:
    """Dofs that laws push (`model.states.dof_sets`): those with an actuator, or names; of a model without actuators all
    hinges but a free base, where "model" is refused. With `some` an empty set is refused."""
    mb = robot.mb
    if isinstance(actuated, str) and actuated == "model":
        if not driven_dofs(mb).any():
            raise StateError(f"{mb.name!r} has no actuators: name the dofs that have a motor, actuated=[...].")
        actuated = None
    named = None if actuated is None else read_prescribed(mb, actuated, "actuated")
    motors = actuated_dofs(mb, named, robot.held)
    if some and mb.nv and not motors.any():
        if named is not None:
            raise StateError(
                f"actuated names no dof of {mb.name!r}, so that nothing can be driven: name those with a motor."
            )
        raise StateError(
            f"no dof of {mb.name!r} has a motor: it has no actuators, and no hinge but a free base, elastic modes and "
            "objects that it holds. Name the dofs that have one, actuated=[...]."
        )
    return motors


def apart_dofs(mb: Multibody, motors: Mask) -> Mask:
    """Dofs of bodies that nothing joins to a motor, such as an object that lies about, (nv)."""
    branches: dict[int, Mask] = {}
    first: list[int] = []  # by body the first of its branch
    for k, (parent, dofs) in enumerate(zip(mb.layout.parents, mb.layout.v_slices, strict=True)):
        first.append(k if parent < 0 else first[parent])
        branches.setdefault(first[k], np.zeros(mb.nv, dtype=np.bool_))[dofs] = True
    joined = motors
    while True:
        more = moved_with(mb, joined)
        for branch in branches.values():
            if (branch & more).any():
                more = more | branch
        if (more == joined).all():
            return np.asarray(~joined)
        joined = more


def sizes_of_dofs(mb: Multibody) -> Array:
    """The length of the model for dofs that travel, one for others, (nv)."""
    return scale_of(mb).of("".join(mb.layout.units.hinge))


def by_dof(mb: Multibody, of: Callable[[Body], Array]) -> Array:
    """Numbers of the hinges, by dof (nv); zeros at dofs of flexible bodies."""
    values = np.zeros(mb.nv)
    for body, dofs in zip(mb.bodies, mb.layout.hinge_v, strict=True):
        values[dofs] = of(body)
    return values


def freedom(robot: Robot, q: Array, v: Array, actuated: Any = None, *, strict: bool = False) -> Freedom:
    """The accelerations that can be chosen at one state. O(n nv); with loops O(nv^3).

    Directions of a closed chain that no motor pushes give way, as dofs without a motor do in a tree. `strict` leaves
    them among the accelerations to choose, so that a force that they need is refused."""
    mb = model_of(robot)
    motors, nv = motors_of(robot, actuated), mb.nv
    sizes = sizes_of_dofs(mb)
    if mb.is_closed:
        c = closed_motion(mb, q, v)
        free = Freedom(c.X, c.x0, c.names, c.choice.independent, motors, sizes, mb.name, c)
        if strict or motors.all():
            return free
        return yielding(mb, q, free, needed(mb, q, v, c.x0))
    if motors.all():
        return Freedom(np.eye(nv), np.zeros(nv), tuple(mb.dof_names), np.arange(nv), motors, sizes, mb.name)
    u = underactuated(mb, q, v, passive=~motors)
    at = np.flatnonzero(motors)
    X, x0 = np.zeros((nv, len(at))), np.zeros(nv)
    X[at], X[~motors], x0[~motors] = np.eye(len(at)), -u.follow, -u.drift
    return Freedom(X, x0, u.active, at, motors, sizes, mb.name)


def resting(mb: Multibody, q: Array, v: Array, loads: Mask, C: Array | None = None) -> Freedom:
    """The accelerations of a robot whose modes stay as they are, while dofs of its loads go as they will where no loop
    moves them. C (nv) is the force needed at vdot = x0, by default that of the dynamics. O(nv^3)."""
    modes, sizes = modal_dofs(mb), sizes_of_dofs(mb)
    motors = ~(modes | loads)
    if mb.is_closed:
        c = closed_motion(mb, q, v)
        free = Freedom(c.X, c.x0, c.names, c.choice.independent, motors, sizes, mb.name, c)
    else:
        free = Freedom(np.eye(mb.nv), np.zeros(mb.nv), tuple(mb.dof_names), np.arange(mb.nv), motors, sizes, mb.name)
    if modes.any():
        free = free.locked(modes, mb.dof_names)
    if loads.any():
        free = yielding(mb, q, free, needed(mb, q, v, free.x0) if C is None else C)
    return free


def yielding(mb: Multibody, q: Array, free: Freedom, C: Array) -> Freedom:
    """The freedom of a closed chain whose motors are too few. With the directions N that no motor pushes,

        X_motors N = 0,      N* X* (Mcal vdot + C) = 0,      vdot = X (Y b + y0) + x0

    b are accelerations of dofs with a motor, C (nv) the force needed at vdot = x0. O(nv^3)."""
    s = free.sizes
    scaled = free.X * s[free.places] / s[:, None]
    pushed = np.flatnonzero(free.motors)
    _, values, V = np.linalg.svd(scaled[pushed])
    rank, m = int(np.sum(values > _RANK * values.max(initial=0.0))), scaled.shape[1]
    if rank == m:
        return free
    M = np.asarray(dyn.mass_matrix(mb, q, ignore_loops=True))
    N = s[free.places, None] * V[rank:].T
    places = np.intersect1d(free.places, pushed)
    if len(places) != rank or np.linalg.cond(scaled[places] @ V[:rank].T) > _POOR:
        places = np.sort(pushed[qr(scaled[pushed].T, pivoting=True, mode="r")[1][:rank]])
    A = np.concatenate([N.T @ free.X.T @ M @ free.X, free.X[places]])
    row = np.abs(A).max(axis=1, keepdims=True)
    right = np.zeros((m, rank + 1))
    right[m - rank :, :rank] = np.eye(rank)
    right[:, rank] = np.concatenate([-N.T @ free.X.T @ C, -free.x0[places]])
    Y = np.linalg.solve(A / row, right / row)
    X, x0 = free.X @ Y[:, :rank], free.X @ Y[:, rank] + free.x0
    return replace(free, X=X, x0=x0, names=tuple(mb.dof_names[i] for i in places), places=places)


def needed(mb: Multibody, q: Array, v: Array, vdot: Array, f_ext: Any = None) -> Array:
    """Force Mcal vdot + C of the tree, (nv): the sum of all forces other than gravity, springs and dampers. O(n)."""
    return np.asarray(dyn.inverse_dynamics(mb, q, v, vdot, f_ext, ignore_loops=True))


def gain(K: Any, x: Array, what: str = "a gain") -> Array:
    """K x: a number, one for each entry, or a matrix; x (..., k)."""
    K = finite(K, (...,), what, StateError)
    if K.ndim > 2 or (K.ndim and K.shape[-1] != x.shape[-1]) or (K.ndim == 2 and len(K) != x.shape[-1]):
        raise StateError(f"{what} is a number, {x.shape[-1]} numbers or a matrix of them; got shape {K.shape}.")
    return np.asarray(x @ K.T) if K.ndim == 2 else np.asarray(K * x)
