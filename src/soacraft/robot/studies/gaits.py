"""Gaits: contacts of the feet, margins of balance over a cycle, and the effort of the motors.

    duty factor       part of the cycle that a foot is on the ground
    phase             when a foot comes down, in parts of the cycle, after the first one does
    static margin     how far the centre of mass, seen along gravity, is inside of the support polygon
    zmp margin        the same of the zero moment point
    longitudinal      how far the centre of mass is from the edges of the polygon along the way (McGhee and Frank 1968)
    cost of transport E / (m g d),  E the work that motors put in,  d the way
    Froude number     (mean speed)^2 / (g h),  h the height of the centre of mass over the feet
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy.integrate import trapezoid

from soacraft.arguments import listed
from soacraft.errors import ConvergenceError, StateError
from soacraft.model.states.coordinates import in_graph_order
from soacraft.model.tree.multibody import Multibody
from soacraft.results import finite_or_refused
from soacraft.robot.robot import Robot
from soacraft.robot.standing.stability import support_polygon
from soacraft.robot.standing.stance import stance
from soacraft.robot.studies.efforts import Efforts, efforts_of
from soacraft.robot.studies.ground import ground_of
from soacraft.robot.studies.motion import Way, forces_of, held_of, read_motion
from soacraft.robot.studies.study import Column, Flags, Study
from soacraft.robot.studies.support import Contacts
from soacraft.robot.studies.table import Table
from soacraft.spatial.checks import Array, finite

#: Instants this close, in parts of a period, are the same: a foot that comes down then is down.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Gait(Study, kind="gait"):
    """A cycle: rows from its beginning to its end, where the next one begins."""

    robot: str
    feet: Annotated[tuple[str, ...], Column.of("", "feet")]
    dofs: Annotated[tuple[str, ...], Column.of("", "dofs")]
    t: Annotated[Array, Column.of("s", "rows")]
    contact: Annotated[Flags, Column.of("", "rows", "feet")]
    duty: Annotated[Array, Column.of("", "feet")]
    phase: Annotated[Array, Column.of("", "feet")]
    """NaN for a foot that never comes down."""
    static_margin: Annotated[Array, Column.of("m", "rows")]
    """Less than zero outside, and on fewer than three points; minus infinity in flight."""
    zmp_margin: Annotated[Array, Column.of("m", "rows")]
    longitudinal: Annotated[Array, Column.of("m", "rows")]
    """NaN where the robot goes nowhere, minus infinity where the line of the way does not meet the polygon."""
    torque: Annotated[Array, Column.of("N m or N", "rows", "dofs")]
    """NaN where no forces inside the friction cones of the feet that are down give the motion."""
    power: Annotated[Array, Column.of("W", "rows", "dofs")]
    carried: Annotated[Flags, Column.of("", "rows")]
    """True if there are such forces."""
    distance: Annotated[float, Column.of("m")]
    """Way of the centre of mass across gravity."""
    work: Annotated[float, Column.of("J")]
    """Work of the motors; returned work is not counted."""
    cost_of_transport: float
    """Infinite where the robot goes nowhere, NaN where torques are not known at all rows."""
    froude: float

    @property
    def speed(self) -> float:
        """The mean speed in metres a second."""
        return self.distance / float(self.t[-1] - self.t[0])

    def table(self) -> Table:
        """A row for each foot, then what belongs to the whole."""
        each = zip(self.feet, self.duty, self.phase, strict=True)
        rows: list[tuple[Any, ...]] = [(f"{n}: duty factor, phase", float(a), float(b)) for n, a, b in each]
        margins = {"static": self.static_margin, "zmp": self.zmp_margin, "longitudinal": self.longitudinal}
        rows += [(f"{n} margin [m], least and largest", float(x.min()), float(x.max())) for n, x in margins.items()]
        rows += [
            ("speed [m/s], Froude number", self.speed, self.froude),
            ("work [J], cost of transport", self.work, self.cost_of_transport),
            ("largest torque", float(np.max(np.abs(self.torque), initial=0.0)), ""),
        ]  # fmt: skip
        return Table(("gait", "", ""), rows)

    def __repr__(self) -> str:
        duty = ", ".join(f"{x:.3g}" for x in self.duty)
        lost = "" if self.carried.all() else f"; {int((~self.carried).sum())} rows that no forces of the feet carry"
        margin = f"static margin {self.static_margin.min():.4g} m, cost of transport {self.cost_of_transport:.4g}"
        return f"Gait of {self.robot!r}: {self.speed:.4g} m/s, duty {duty}, {margin}{lost}"


def footfalls(t: Any, period: float, duty: Any, phases: Any) -> Flags:
    """Flags of the feet on the ground, (rows, feet): foot i from its phase on for its part `duty` of the period.

    >>> footfalls([0.0, 0.3, 0.6, 0.9], 1.0, 0.5, [0.0, 0.5])
    array([[ True, False],
           [ True, False],
           [False,  True],
           [False,  True]])
    """
    times = finite(t, (None,), "t of footfalls", StateError)
    phase = finite(phases, (None,), "phases of footfalls", StateError)
    part = finite(duty, (...,), "duty factors", StateError)
    span = float(finite(period, (), "the period of footfalls", StateError))
    if not span > 0.0 or part.shape not in ((), (len(phase),)) or (part < 0.0).any() or (part > 1.0).any():
        raise StateError(
            f"footfalls have a positive period and duty factors from 0 to 1, one or {len(phase)}; got {period!r:.30} "
            f"and {duty!r:.60}."
        )
    with np.errstate(over="ignore"):
        turns = finite_or_refused(times[:, None] / span, "times of footfalls in periods")
    since = np.mod(turns - phase + ROUNDING, 1.0)
    return np.asarray((since < part) | (part == 1.0))


def gait(
    robot: Robot,
    motion: Any,
    feet: Any,
    contact: Any = None,
    *,
    t: Any = None,
    friction: Any = 0.7,
    corners: Any = None,
    torque: Any = None,
    efforts: Any = None,
) -> Gait:
    """Study of a cycle of a gait: `motion` through a whole cycle, `feet` of the robot, and `contact` (rows, feet), True
    where a foot is on the ground. Of a run with contacts, `contact` defaults to its contacts.

    Ground is level, across gravity. Torques are the least ones that the feet that are down allow (`foot_forces`), or
    `torque` (rows, nv) as recorded; without a floating base those of inverse dynamics. Row i of `contact` holds until
    row i + 1. O(rows (n + k^3)) for k points of contact.
    """
    if not isinstance(robot, Robot):
        raise StateError(f"a gait is of a Robot, got {robot!r:.60}.")
    mb = robot.mb
    way = read_motion(mb, motion, t)
    chosen = None if isinstance(feet, str) else listed(feet)
    if chosen is None:
        raise StateError(f"feet of a gait are bodies or nodes, a list of them; got {feet!r:.60}.")
    names = [mb.frame(x).full_name for x in chosen]
    down = _contact(mb, motion, names, contact, len(way.t))
    limits = efforts_of(mb, efforts, held_of(robot))
    g = np.asarray(mb.gravity)
    if not g.any():
        raise StateError(f"{mb.name!r} has no gravity, so nothing walks.")
    up = -g / np.linalg.norm(g)
    ground = ground_of(mb, way.q, way.v, way.vdot)
    travel = ground.center[-1] - ground.center[0]
    travel = travel - (travel @ up) * up
    distance = float(np.linalg.norm(travel))
    along = travel / distance if distance > 1e-9 * _size(ground.center, up) else None
    points = [_points(robot, q, names, d, friction, corners) for q, d in zip(way.q, down, strict=True)]
    height = [float((c - p.mean(axis=0)) @ up) for c, p in zip(ground.center, points, strict=True) if len(p)]
    level = next((p[0] for p in points if len(p)), np.zeros(3))
    z = ground.zero_moment_point(level, up)
    static = np.array([margin(p, c, g) for p, c in zip(points, ground.center, strict=True)])
    moving = np.array([margin(p, x, g) for p, x in zip(points, z, strict=True)])
    ahead = np.array([
        np.nan if along is None else longitudinal_margin(p, c, along, g)
        for p, c in zip(points, ground.center, strict=True)
    ])  # fmt: skip
    force, held = _torques(robot, way, names, down, limits, friction, corners, torque)
    driven = np.flatnonzero(limits.motors)
    power = force[:, driven] * way.v[:, driven]
    work = float(trapezoid(np.maximum(power, 0.0).sum(axis=1), way.t)) if held.all() else float("nan")
    weight = mb.total_mass * float(np.linalg.norm(g))
    cost = work / (weight * distance) if along is not None else (np.inf if held.all() else np.nan)
    span = float(way.t[-1] - way.t[0])
    froude = (distance / span) ** 2 / (float(np.linalg.norm(g)) * float(np.mean(height))) if height else np.nan
    return Gait(
        mb.name, tuple(names), tuple(mb.dof_names[i] for i in driven), way.t, down, _duty(way.t, down),
        _phase(way.t, down), static, moving, ahead, force[:, driven], power, held, distance, work, float(cost),
        float(froude),
    )  # fmt: skip


def margin(points: Array, x: Array, gravity: Array) -> float:
    """Distance of x from the edge of the support polygon of points (k, 3), seen along gravity; less than zero outside,
    the distance to the line or point where there is no inside; minus infinity without points, and where x is NaN.
    """
    if not len(points) or np.isnan(x).any():
        return -np.inf
    region = support_polygon(points, gravity)
    if len(region.corners) > 2:
        return float(region.margin(x)[0])
    at, corners = region.axes @ x, region.corners
    way = corners[-1] - corners[0]
    s = float(np.clip((at - corners[0]) @ way / (way @ way), 0.0, 1.0)) if way.any() else 0.0
    return -float(np.linalg.norm(at - corners[0] - s * way))


def longitudinal_margin(points: Array, center: Array, along: Array, gravity: Array) -> float:
    """The least distance from the centre of mass to the edge of the support polygon, ahead and behind along the way;
    less than zero where it has passed one, minus infinity where the line of the way does not meet the polygon."""
    region = support_polygon(points, gravity) if len(points) else None
    if region is None or len(region.corners) < 3:
        return -np.inf
    d = region.axes @ along
    d = d / np.linalg.norm(d)
    across = np.array([-d[1], d[0]])
    rel = region.corners - region.axes @ center
    s, n = rel @ d, rel @ across
    hits = []
    for a, b in zip(range(len(s)), np.roll(np.arange(len(s)), -1), strict=True):
        if (n[a] <= 0.0) != (n[b] <= 0.0):
            hits.append(s[a] - n[a] * (s[b] - s[a]) / (n[b] - n[a]))
    return float(min(max(hits), -min(hits))) if len(hits) > 1 else -np.inf


def _torques(
    robot: Robot, way: Way, names: list[str], down: Flags, limits: Efforts, friction: Any, corners: Any, torque: Any
) -> tuple[Array, Flags]:
    mb, held = robot.mb, np.ones(len(way.t), dtype=np.bool_)
    if torque is not None:
        torque = in_graph_order(mb, torque, "torque of a gait")
        return finite(torque, (len(way.t), mb.nv), "torque of a gait", StateError), held
    if limits.motors.all():
        return forces_of(mb, way.q, way.v, way.vdot, limits), held
    force = np.full((len(way.t), mb.nv), np.nan)
    for i, d in enumerate(down):
        stands, row = [n for n, on in zip(names, d, strict=True) if on], (way.q[i], way.v[i], way.vdot[i])
        if stands:
            some = Contacts(stands, _some(friction, stands), None, _some(corners, stands))
            try:
                force[i] = some.carried(robot, *row, limits.motors)[1]
            except ConvergenceError:
                held[i] = False
        else:
            try:
                force[i] = forces_of(mb, *row, limits)
            except StateError:  # in flight, and not falling as it must
                held[i] = False
    return force, held


def _some(option: Any, names: list[str]) -> Any:
    return {n: option[n] for n in names if n in option} if isinstance(option, dict) else option


def _points(robot: Robot, q: Array, names: list[str], down: Any, friction: Any, corners: Any) -> Array:
    stands = [n for n, on in zip(names, down, strict=True) if on]
    if not stands:
        return np.zeros((0, 3))
    return stance(robot, q, stands, friction=_some(friction, stands), corners=_some(corners, stands)).points


def _contact(mb: Multibody, motion: Any, names: list[str], contact: Any, rows: int) -> Flags:
    if contact is None:
        history = getattr(motion, "contacts", None)
        if history is None:
            raise StateError("contact= says when feet are down, (rows, feet); or take a run with contacts.")
        return np.stack([history.touches(mb.frame(n).carrier.full_name) for n in names], axis=1)
    try:
        flags = np.asarray(contact)
    except ValueError:
        flags = np.zeros(0)
    if flags.dtype != np.bool_ or flags.shape != (rows, len(names)):
        raise StateError(
            f"contact must be truth values of shape ({rows}, {len(names)}), rows by feet; got {flags.dtype} of shape "
            f"{flags.shape}."
        )
    return flags


def _duty(t: Array, down: Flags) -> Array:
    steps = np.diff(t)
    return np.asarray((down[:-1] * steps[:, None]).sum(axis=0) / steps.sum())


def _phase(t: Array, down: Flags) -> Array:
    """Phases at which feet come down, in parts of the cycle after the first of them."""
    period = t[-1] - t[0]
    comes = []
    for column in down[:-1].T:
        rises = np.flatnonzero(column & ~np.roll(column, 1))
        comes.append((t[rises[0]] - t[0]) / period if len(rises) else np.nan)
    first = comes[0] if comes and not np.isnan(comes[0]) else 0.0
    return np.mod(np.array(comes) - first, 1.0)


def _size(center: Array, up: Array) -> float:
    return float(np.abs(center - center.mean(axis=0)).max() + np.abs(center @ up).max()) or 1.0
