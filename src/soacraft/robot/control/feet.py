"""Forces of feet: contact forces within friction cones that give a robot on its feet an acceleration, with the least
torques of its motors.

    X* T + X* J* f = X* (Mcal vdot + C),      T = 0 where there is no motor,      f_i in the cone of contact i

    least   sum of (T_j c_j)^2  +  spread sum of (L |f_i|)^2

c and L, the length of the model, make forces and moments comparable. Cones are pyramids of `sides` faces inside of
them, or the cones themselves: pyramids around them, with one more face wherever a force is outside of its cone, until
none is. Pressure is at or between the points of each foot, since all of them push. A quadratic program
(`kinematics.qp`) with an equation for each dof that can move: those of a free base hold exactly. Where nothing holds
them, the result has the forces of least residual, and the residual.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from soacraft import dynamics as dyn
from soacraft.analysis.finite import refusing_overflow
from soacraft.dynamics.problem import Mask
from soacraft.errors import ConvergenceError, StateError
from soacraft.kinematics.qp import solve_qp
from soacraft.model.sizes.scale import scale_of
from soacraft.model.states.coordinates import read_v
from soacraft.model.states.dof_sets import held_dofs
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.control.freedoms import by_dof, motors_of, needed, resting, sizes_of_dofs
from soacraft.robot.standing.stability import SIDES, read_sides, tangents
from soacraft.robot.standing.stance import Stance
from soacraft.spatial.checks import Array, finite

#: Weight of contact forces against torques: enough that there is one answer, and that corners of a foot share a load.
SPREAD = 1e-4
#: Largest weight of these, and one over the least: beyond it rounding decides.
_SPREADS = 1e12
#: Weight of the other terms against the residual of the equations, where they cannot hold.
_REST = 1e-9
#: Largest distance of a force from its cone, relative to the largest force.
_OUTSIDE = 1e-10
#: Largest number of rounds that add faces; ten to twenty are enough.
_CUTS = 100
#: Largest residual of the equations, relative to the weight of the robot and the needed forces, for them to hold.
HOLDS = 1e-9


class Program(NamedTuple):
    """x* H x / 2 + g* x least, lower <= C x <= upper, x = [T of motors; f], in units of the model."""

    H: Array
    g: Array
    C: Array
    lower: Array
    upper: Array
    equations: int
    """The first rows, that are equations."""
    sizes: Array
    """Factors that give x in newtons and newton metres."""

    def with_rows(self, cones: Array) -> Program:
        """Program with more rows that are not negative, (rows, 3 k) of the contact forces."""
        rows = np.zeros((len(cones), self.C.shape[1]))
        rows[:, -cones.shape[1] :] = cones
        low, high = (np.concatenate([x, np.full(len(cones), y)]) for x, y in ((self.lower, 0.0), (self.upper, np.inf)))
        return self._replace(C=np.concatenate([self.C, rows]), lower=low, upper=high)


@dataclass(frozen=True, eq=False)
class FootForces:
    """Forces of motors and ground."""

    force: Array
    """The generalized force of the motors, (nv)."""
    forces: Array
    """Forces of the ground on the robot at the points of the stance, (k, 3) in inertial axes."""
    wrenches: dict[str, Array]
    """Wrench [moment; force] of the ground on each foot about the inertial origin, in inertial axes."""
    pressure: dict[str, Array]
    """Centre of pressure (3) of each foot that presses."""
    used: dict[str, float]
    """Largest part of its friction that a point of each foot needs; 1 at the cone."""
    left: Array
    """Residual of the equations of all dofs, (nv); zeros where they hold."""
    holds: bool
    """True if the equations hold."""
    multipliers: Array
    """Multipliers of the rows of the quadratic program."""

    def __repr__(self) -> str:
        if not self.holds:
            return f"FootForces: the feet cannot hold it, {np.abs(self.left).max():.4g} is left"
        used = max(self.used.values(), default=0.0)
        return f"FootForces: torques to {np.abs(self.force).max(initial=0.0):.4g}, {used:.0%} of the friction used"


@refusing_overflow()
def foot_forces(
    stance: Stance,
    v: Any = None,
    vdot: Any = None,
    *,
    actuated: Any = None,
    sides: int | None = SIDES,
    spread: float = SPREAD,
    limits: bool = False,
) -> FootForces:
    """Forces of feet and motors that give the robot of a stance accelerations vdot at velocities v (default: at rest),
    with the least torques. O((nv + 3 k)^3) for k points.

    `actuated` names the dofs with a motor, by default as for `gravity`; flexible bodies do not deform further, and
    hinges of held objects move freely. Friction cones are pyramids of `sides` faces inside of them; None takes the
    cones themselves, and longer. `spread` is what contact forces weigh against torques. With `limits` torques keep the
    efforts of the model. Closed chains are kept. In a closed chain vdot must agree with the closures.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("anymal_b"))
    >>> q = np.array(rb.mb.q)
    >>> q[7:] = [0, 0.4, -0.8, 0, 0.4, -0.8, 0, -0.4, 0.8, 0, -0.4, 0.8]
    >>> s = sc.robot.stance(rb, q, [f"{leg}_SHANK" for leg in ("LF", "RF", "LH", "RH")], friction=0.6)
    >>> made = sc.robot.foot_forces(s)
    >>> made.holds, bool(np.isclose(made.forces.sum(axis=0)[2], rb.mb.total_mass * 9.81))
    (True, True)
    """
    if not isinstance(stance, Stance):
        raise StateError(f"foot_forces is of a stance, sc.robot.stance(rb, q, feet), got {stance!r:.60}.")
    mb = stance.robot.mb
    if not mb.nv:
        raise StateError(f"{mb.name!r} has no dofs: it is held by what it is welded to, not by feet.")
    v, vdot = (np.zeros(mb.nv) if x is None else read_v(mb, x, n) for x, n in ((v, "v"), (vdot, "vdot")))
    if v.ndim > 1 or vdot.ndim > 1:
        raise StateError("foot_forces takes one motion, got a batch.")
    motors = motors_of(stance.robot, actuated, some=False)
    program, rows = program_of(stance, v, vdot, motors, sides, spread, limits)
    T, f, y, holds = (_solved if sides is not None else _in_cones)(mb, stance, program)
    force = np.zeros(mb.nv)
    force[motors] = T
    unmet = rows.needed - force - rows.J.T @ f.ravel()
    unmet = np.zeros(mb.nv) if holds else unmet if rows.X.shape[0] == rows.X.shape[1] else rows.X @ np.linalg.lstsq(
        rows.X.T @ rows.X, rows.X.T @ unmet, rcond=None)[0]  # fmt: skip
    return FootForces(force, f, *_by_foot(stance, f), unmet, holds, y)


class _Rows(NamedTuple):
    """X* T + X* J* f = X* needed."""

    X: Array
    J: Array
    needed: Array


def program_of(
    stance: Stance, v: Array, vdot: Array, motors: Mask, sides: int | None, spread: float, limits: bool
) -> tuple[Program, _Rows]:
    """The quadratic program of a stance; without `sides` that with pyramids around the cones."""
    mb, q, k = stance.robot.mb, stance.q, len(stance.points)
    if sides is not None:
        read_sides(sides)
    if not 1.0 / _SPREADS <= float(finite(spread, (), "spread", StateError)) <= _SPREADS:
        raise StateError(f"spread must be from {1.0 / _SPREADS:g} to {_SPREADS:g}, got {spread!r:.40}.")
    loads = held_dofs(mb, stance.robot.held)
    free = resting(mb, q, v, loads)
    if loads.any():  # goes as it will where nothing moves it
        vdot = free.X @ vdot[free.places] + free.x0
    X = free.X
    rows = _Rows(X, _jacobian(stance), needed(mb, q, v, vdot))
    length = scale_of(mb).length
    weight = mb.total_mass * float(np.linalg.norm(mb.gravity)) * length
    c = sizes_of_dofs(mb)
    sizes = weight / np.concatenate([c[motors], np.full(3 * k, length)])
    E = np.concatenate([X[motors].T, X.T @ rows.J.T], axis=1) * sizes
    each = np.abs(X.T @ np.diag(1.0 / c)).max(axis=1) * weight  # what an equation is measured by
    cones, most = _cones(stance, sides)
    n, none = int(motors.sum()), np.zeros((0, len(sizes)))
    bounds = np.eye(n, len(sizes)) if limits else none
    effort = by_dof(mb, lambda x: x.limits.effort)[motors] / sizes[:n] if limits else np.zeros(0)
    C = np.concatenate([E / each[:, None], np.concatenate([np.zeros((len(cones), n)), cones], axis=1), bounds])
    b = X.T @ rows.needed / each
    low = np.concatenate([b, np.zeros(len(cones)), -effort])
    high = np.concatenate([b, most, effort])
    H = np.diag(np.concatenate([np.ones(n), np.full(3 * k, float(spread))]))
    return Program(H, np.zeros(len(sizes)), C, low, high, len(b), sizes), rows


def _solved(mb: Multibody, stance: Stance, p: Program) -> tuple[Array, Array, Array, bool]:
    """Torques, contact forces, multipliers, and whether the equations hold."""
    n = len(p.sizes) - 3 * len(stance.points)
    try:
        x, y = solve_qp(p.H, p.g, p.C, p.lower, p.upper)
        holds = bool(np.abs(p.C[: p.equations] @ x - p.lower[: p.equations]).max(initial=0.0) <= HOLDS * max(
            1.0, float(np.abs(p.lower[: p.equations]).max(initial=0.0))))  # fmt: skip
    except ConvergenceError:
        E, b = p.C[: p.equations], p.lower[: p.equations]
        soft = E.T @ E + _REST * np.eye(len(p.sizes))
        rest = slice(p.equations, None)
        x, y = solve_qp(soft, -E.T @ b, p.C[rest], p.lower[rest], p.upper[rest])
        y, holds = np.concatenate([np.zeros(p.equations), y]), False
    x = x * p.sizes
    return x[:n], x[n:].reshape(-1, 3), y, holds


def _in_cones(mb: Multibody, stance: Stance, p: Program) -> tuple[Array, Array, Array, bool]:
    """Solution with one more face wherever a force is outside of its cone, until none is."""
    for _ in range(_CUTS):
        solution = _solved(mb, stance, p)
        cuts = _outside(stance, solution[1])
        if not len(cuts):
            return solution
        p = p.with_rows(cuts)
    raise ConvergenceError(f"no forces of {mb.name!r} were found inside of its friction cones in {_CUTS} programs.")


def _jacobian(stance: Stance) -> Array:
    """Jacobian of all points, (3 k, nv), in inertial axes."""
    mb, q = stance.robot.mb, stance.q
    frames: list[Frame | str] = [mb.frame(x) for x in stance.feet]
    J = np.asarray(dyn.jacobian(mb, q, frames)).reshape(len(frames), 6, mb.nv)
    state = mb.state(q)
    at = np.array([mb.pose(x, state=state).translation for x in frames])
    arm = stance.points - at[stance.foot]
    turning, moving = J[stance.foot, :3], J[stance.foot, 3:]
    return np.asarray(moving + np.cross(turning, arm[:, :, None], axis=1)).reshape(3 * len(arm), mb.nv)


def _cones(stance: Stance, sides: int | None) -> tuple[Array, Array]:
    """Rows that are not negative for forces in the pyramids, (rows, 3 k), and what they are at most: of a contact
    without friction those along the ground are zero."""
    k, faces = len(stance.points), SIDES if sides is None else sides
    angle = 2.0 * np.pi * (np.arange(faces) + 0.5) / faces
    inside = 1.0 if sides is None else float(np.cos(np.pi / faces))
    blocks, most = [], []
    for i, (n, mu) in enumerate(zip(stance.normals, stance.friction, strict=True)):
        along = tangents(n)
        out = np.column_stack([np.cos(angle), np.sin(angle)]) @ along
        planes = mu * inside * n - out if mu > 0.0 else np.array([n, *along])
        rows = np.zeros((len(planes), 3 * k))
        rows[:, 3 * i : 3 * i + 3] = planes
        blocks.append(rows)
        most += [np.inf] * len(planes) if mu > 0.0 else [np.inf, 0.0, 0.0]
    return np.concatenate(blocks), np.array(most)


def _outside(stance: Stance, f: Array) -> Array:
    """Face of the cone in the direction of each force that is outside of its cone, (rows, 3 k)."""
    n, mu = stance.normals, stance.friction
    press = np.einsum("ij,ij->i", f, n)
    across = f - press[:, None] * n
    size = np.linalg.norm(across, axis=1)
    least = _OUTSIDE * float(np.linalg.norm(f, axis=1).max(initial=0.0))
    over = np.flatnonzero((mu > 0.0) & (size - mu * press > least * np.maximum(mu, 1.0)))
    rows = np.zeros((len(over), f.size))
    for row, i in zip(rows, over, strict=True):
        row[3 * i : 3 * i + 3] = mu[i] * n[i] - across[i] / size[i]
    return rows


def _by_foot(stance: Stance, f: Array) -> tuple[dict[str, Array], dict[str, Array], dict[str, float]]:
    wrenches, pressure, used = {}, {}, {}
    for i, name in enumerate(stance.feet):
        at = stance.foot == i
        p, each, n, mu = stance.points[at], f[at], stance.normals[at], stance.friction[at]
        wrenches[name] = np.concatenate([np.cross(p, each).sum(axis=0), each.sum(axis=0)])
        press = np.maximum(np.einsum("ij,ij->i", each, n), 0.0)
        across = np.linalg.norm(each - press[:, None] * n, axis=1)
        if press.sum() > 0.0:
            pressure[name] = press @ p / press.sum()
        real = press > 1e-6 * max(float(press.max(initial=0.0)), 0.0)
        part = across[real] / np.where(mu[real] > 0.0, mu[real] * press[real], np.inf)
        used[name] = float(part.max(initial=0.0))
    return wrenches, pressure, used
