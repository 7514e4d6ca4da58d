"""Operation of a robot at one value of a parameter, and its margins: torque, speed, standing, closure, collision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from soacraft.errors import ConvergenceError, LoopError, StateError
from soacraft.model.states.coordinates import in_graph_order
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.robot import Robot
from soacraft.robot.standing.reserve import ROUNDING, reserve
from soacraft.robot.standing.stability import Region, standing_region, support_polygon
from soacraft.robot.studies.efforts import efforts_of
from soacraft.robot.studies.ground import ground_of, unit_weight
from soacraft.robot.studies.motion import forces_of, held_of, model_of
from soacraft.robot.studies.sizing import by_dof
from soacraft.robot.studies.support import Contacts, Touching
from soacraft.spatial.checks import Array, finite

#: Contacts are in one plane, or on a line, up to this part of their distances.
FLAT = 1e-6
#: Faces of the pyramids by which margins at rest are measured: they have 0.995 of the friction at worst.
SIDES = 32
#: A centre of mass that is so far inside, in parts of the distances of contacts, is so whatever rounding does.
SURE = 1e-6


@dataclass(frozen=True, eq=False)
class Operation:
    """States of a robot, one (nq) or along a motion (rows, nq); a mass in its hand; gravity, where it is another."""

    q: Any
    v: Any = None
    vdot: Any = None
    mass: float = 0.0
    gravity: Any = None


class Margins:
    """Margins of operations of a robot, by name: what `limit` asks at each value.

    `operation(x)` gives the operation of the robot; a `ConvergenceError` or `LoopError` of it is the margin
    "configuration".
    """

    def __init__(
        self,
        robot: Any,
        operation: Callable[[float], Operation],
        *,
        tip: Any = None,
        com: Any = (0.0, 0.0, 0.0),
        efforts: Any = None,
        contacts: Contacts | None = None,
        world: Any = None,
    ) -> None:
        model = model_of(robot)
        if contacts is not None and not isinstance(contacts, Contacts):
            raise StateError(f"contacts= is sc.robot.study.Contacts(points), got {contacts!r:.60}.")
        if world is not None and (not isinstance(robot, Robot) or getattr(world, "robot", None) is not robot):
            raise StateError(f"world= is a World around this robot, got {world!r:.60}.")
        self._mb = model.copy()  # whose gravity may be turned
        self._gravity = np.array(model.gravity)
        self._operation, self._world, self._robot = operation, world, Robot(self._mb)
        if contacts is not None:  # of the copy; the ground stays where it is when gravity is turned
            contacts = replace(contacts, normal=contacts.normal_of(model))
            if contacts.by_name:
                contacts = replace(contacts, feet=[model.frame(x).full_name for x in contacts.feet])
        self._contacts = contacts
        self._tip = None if tip is None else self._mb.frame(model.frame(tip).full_name)
        self._com = finite(com, (3,), "com of the payload", StateError)
        self._limits = efforts_of(self._mb, efforts, held_of(robot))
        self._fast = by_dof(self._mb, "velocity")

    def __call__(self, x: float) -> dict[str, tuple[float, str]]:
        """Value and word of each margin."""
        try:
            does = self._operation(x)
        except (ConvergenceError, LoopError) as why:
            return {"configuration": (-np.inf, str(why))}
        if not isinstance(does, Operation):
            raise StateError(f"an operation is a sc.robot.study.Operation(q), got {does!r:.60} at {x:.6g}.")
        mb = self._mb
        q = in_graph_order(mb, does.q, "q of an operation", of_q=True)
        q = np.atleast_2d(finite(q, (..., mb.nq), "q of an operation", StateError))
        v, vdot = (
            np.zeros((len(q), mb.nv)) if a is None else _rows(mb, a, n)
            for a, n in ((does.v, "v of an operation"), (does.vdot, "vdot of an operation"))
        )
        if does.mass and self._tip is None:
            raise StateError("a mass is held at tip=: say where.")
        mb.gravity = self._gravity if does.gravity is None else does.gravity
        margins: dict[str, tuple[float, str]] = {}
        if self._contacts is not None:
            margins.update(self._stability(q, v, vdot, does.mass))
        if "standing" not in margins or margins["standing"][0] >= 0.0:
            margins.update(self._torque(q, v, vdot, does.mass))
        margins["speed"] = self._speed(v)
        if self._world is not None:
            margins["collision"] = self._collision(q)
        return margins

    # -- one margin each -----------------------------------------------------------------------------------------

    def _torque(self, q: Array, v: Array, vdot: Array, mass: float) -> dict[str, tuple[float, str]]:
        """1 less the largest part of a motor's limit that is used."""
        mb, f_ext = self._mb, self._loads(q, v, vdot, mass)
        contacts, motors = self._contacts, self._limits.motors
        try:
            if contacts is not None and contacts.by_name and not motors.all():
                force = np.array([
                    self._on_feet(contacts, (q[i], v[i], vdot[i]), {n: w[i] for n, w in f_ext.items()})
                    for i in range(len(q))
                ])  # fmt: skip
            else:
                force = forces_of(mb, q, v, vdot, self._limits, f_ext)
        except ConvergenceError as why:
            return {"contact forces": (-np.inf, str(why))}
        except LoopError as why:
            return {"closure": (-np.inf, str(why))}
        used = self._limits.part(force)
        i = int(np.argmax(used.max(axis=0))) if used.size else 0
        return {"torque": (1.0 - float(used.max(initial=0.0)), f"{mb.dof_names[i]!r}" if used.size else "")}

    def _on_feet(self, contacts: Contacts, state: tuple[Array, Array, Array], f_ext: dict[Any, Array]) -> Array:
        for node, wrench in f_ext.items():
            self._mb.set_force(node, wrench)
        try:
            return contacts.carried(self._robot, *state, self._limits.motors)[1]
        finally:
            for node in f_ext:
                self._mb.set_force(node, None)

    def _speed(self, v: Array) -> tuple[float, str]:
        used = np.abs(v) / self._fast
        i = int(np.argmax(used.max(axis=0))) if used.size else 0
        return 1.0 - float(used.max(initial=0.0)), f"{self._mb.dof_names[i]!r}" if used.size else ""

    def _stability(self, q: Array, v: Array, vdot: Array, mass: float) -> dict[str, tuple[float, str]]:
        """Margins of balance. At rest: the distance of the centre of mass from the edge of the region where the
        contacts can hold it, in metres (`_at_rest`). In motion: the distance of the zero moment point from the edge of
        the support polygon, and the remaining friction.
        """
        mb, contacts = self._mb, self._contacts
        assert contacts is not None
        ground = ground_of(mb, q, v, vdot, self._tip, mass, self._com)
        rows = [contacts.at(self._robot, a) for a in (q if contacts.by_name else q[:1])]
        rows = rows if contacts.by_name else rows * len(q)
        if not v.any() and not vdot.any():
            return {"standing": _at_rest(rows, ground.center, np.asarray(mb.gravity))}
        up = -np.asarray(mb.gravity) / np.linalg.norm(mb.gravity)
        _require_level(rows, up)
        pressed = ground.force @ up
        if not pressed.min() > 0.0:
            return {"standing": (-np.inf, "nothing presses on the ground")}
        polygon = _each(lambda t: support_polygon(t.points, mb.gravity))
        z = ground.zero_moment_point(rows[0].points[0], up)
        inside = [_inside(polygon(t), x, "support polygon") for t, x in zip(rows, z, strict=True)]
        across = np.linalg.norm(ground.force - pressed[:, None] * up, axis=1)
        friction = min(float(t.friction.min()) for t in rows) - float((across / pressed).max())
        return {"standing": min(inside, key=lambda x: x[0]), "friction": (friction, "the feet slide")}

    def _collision(self, q: Array) -> tuple[float, str]:
        rows = self._world.distances(q)
        if not len(rows):
            return np.inf, ""
        i = int(np.argmin(rows.distance))
        return float(rows.distance[i]), " - ".join(rows.pairs[i])

    def _loads(self, q: Array, v: Array, vdot: Array, mass: float) -> dict[Any, Array]:
        if not mass:
            return {}
        return {self._tip: mass * unit_weight(self._mb, self._tip, q, v, vdot, self._com)}


def _at_rest(rows: list[Touching], centers: Array, gravity: Array) -> tuple[float, str]:
    """Smallest distance of some centres of mass from the edge of the region where its contacts can hold it, in metres.

    The friction cones themselves (`reserve`) decide if they hold it, pyramids inside of these give the distance: it is
    zero where the cones hold it and the pyramids do not. Pyramids alone decide where a cone program is not solved.
    """
    region = _each(lambda t: standing_region(t.points, t.normals, t.friction, gravity, sides=SIDES))
    margins = [(*_inside(region(t), c, "region"), t, c) for t, c in zip(rows, centers, strict=True)]
    margins.sort(key=lambda x: x[0])
    least = np.inf, ""
    for margin, word, t, c in margins:
        spread = np.linalg.svd(t.points - t.points.mean(axis=0), compute_uv=False)
        if margin > SURE * spread[0]:
            return min(least, (margin, word), key=lambda x: x[0])
        if len(spread) < 2 or spread[1] <= FLAT * spread[0]:
            return -np.inf, "its contacts are on a line, and nothing stands on one"
        if _reserve(t, gravity, c, margin) < -ROUNDING:
            if np.isfinite(margin):
                return min(margin, -ROUNDING * float(spread[0])), word
            everywhere = ", wherever its mass is" if _reserve(t, gravity, None, 0.0) < 0.0 else ""
            return -np.inf, f"no forces inside the friction cones hold it{everywhere}"
        held = (margin, word) if margin >= 0.0 else (0.0, "friction: its cones hold it, and only just")
        least = min(least, held, key=lambda x: x[0])
    return least


def _reserve(t: Touching, gravity: Array, center: Array | None, otherwise: float) -> float:
    """`reserve`, or where numbers are too far apart for it something else: pyramids promise no more than cones."""
    try:
        return reserve(*t, gravity, center)
    except ConvergenceError:
        return otherwise


def _require_level(rows: list[Touching], up: Array) -> None:
    points, normals = np.concatenate([t.points for t in rows]), np.concatenate([t.normals for t in rows])
    spread = points - points.mean(axis=0)
    high = np.abs(spread @ up).max() > FLAT * np.linalg.norm(spread, axis=1).max()
    if high or np.abs(normals - up).max() > FLAT:
        raise StateError("standing in motion is judged on level ground, on one plane across gravity.")


def _each(make: Callable[[Touching], Region]) -> Callable[[Touching], Region]:
    """The region of contacts; of the same points only once."""
    regions: dict[bytes, Region] = {}

    def found(touching: Touching) -> Region:
        key = touching.points.tobytes()
        if key not in regions:
            regions[key] = make(touching)
        return regions[key]

    return found


def _inside(region: Region, point: Array, what: str) -> tuple[float, str]:
    if len(region.corners) < 3:
        return -np.inf, ""
    margin, edge = region.margin(point)
    return margin, f"edge {edge} of the {what}"


def _rows(mb: Multibody, x: Any, what: str) -> Array:
    """Velocities or accelerations (k, nv)."""
    return np.atleast_2d(finite(in_graph_order(mb, x, what), (..., mb.nv), what, StateError))
