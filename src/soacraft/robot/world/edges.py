"""Motions from one configuration to another: free all the way, or where something is first touched.

Along q(s) = integrate(q0, s dv) no point of a shape moves faster, relative to another, than

    mu = sum over the hinges between the two of  |dv_turn| L + |dv_slide|

with L from the hinge to the farthest point of the shape, links straight and slides at their longest. From s on nothing
is touched before s + distance / mu (conservative advancement, Mirtich 1996).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.contact.geometry.scene import Scene
from soacraft.errors import ConvergenceError, StateError
from soacraft.model.hinges import Cylindrical, Free, Gimbal, Helical, Pin, Planar, Prismatic, Spherical, Universal, Weld
from soacraft.model.hinges.base import H_T_of
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array, finite

#: Nearer than this part of the robot's size is a touch.
GAP = 1e-6
STEPS = 100_000
#: Hinges whose axes pass through one point, so that the sizes of their columns do not change.
_KNOWN = (Weld, Pin, Prismatic, Helical, Cylindrical, Universal, Gimbal, Planar, Spherical, Free)


@dataclass(frozen=True, eq=False)
class Edge:
    """A motion; true where it is free."""

    free: bool
    part: float
    """How far it is free, from 0 to 1."""
    q: Array
    """The configuration there."""
    pair: tuple[str, str] | None
    """What is touched."""
    distance: float
    """The least distance seen."""

    def __bool__(self) -> bool:
        return self.free

    def __repr__(self) -> str:
        if self.free:
            return f"free, nowhere nearer than {self.distance:.4g} m where it was looked"
        assert self.pair is not None
        return f"{' - '.join(self.pair)} touch at {self.part:.6g} of the way"


class Reaches:
    """How fast each dof can move the shapes of each body, at most: `turns` and `slides`, (bodies, nv)."""

    def __init__(self, mb: Multibody, scene: Scene) -> None:
        for body in mb.bodies:
            if not isinstance(body.hinge, _KNOWN) or body.modal is not None:
                raise StateError(
                    f"an edge needs bounds on how far hinges move things, and body {body.name!r} has none: "
                    f"{body.hinge!r:.60}. Look at configurations between with collides(...)."
                )
        layout, n = mb.layout, len(mb.bodies)
        self.slices, self.index = layout.hinge_v, layout.index
        self._far = scene.far()
        self._mb, self._bodies = mb, mb.bodies
        self.above = np.zeros((n, layout.nv), dtype=bool)
        for k, body in enumerate(mb.bodies):
            at: Any = body
            while isinstance(at, Body):
                self.above[k, layout.hinge_v[layout.index[at]]] = True
                at = at.parent
        self.turns, self.slides = np.zeros(layout.nv), np.zeros(layout.nv)
        for k, body in enumerate(mb.bodies):
            if body.hinge.nv:
                H = H_T_of(body.hinge, np.asarray(body.hinge.neutral()))
                self.turns[layout.hinge_v[k]] = np.linalg.norm(H[:3], axis=0)
                self.slides[layout.hinge_v[k]] = np.linalg.norm(H[3:], axis=0)
        size = max((float(np.linalg.norm(x.inboard.translation)) for x in mb.bodies), default=0.0)
        self.size = float(max(size, self._far[np.isfinite(self._far)].max(initial=0.0))) or 1.0

    def levers(self, travel: Array) -> Array:
        """From each hinge to the farthest point of the shapes of each body outboard of it, (bodies, nv), with slides
        as far out as `travel` (nv) says."""
        layout, n = self._mb.layout, len(self._bodies)
        lever = np.zeros((n, layout.nv))
        for k, body in enumerate(self._bodies):
            length, at = float(self._far[k]), body
            while True:
                i = layout.index[at]
                length += float(np.linalg.norm(at.outboard.translation))
                lever[k, layout.hinge_v[i]] = length
                length += float(np.abs(travel[layout.hinge_v[i]]) @ self.slides[layout.hinge_v[i]])
                length += float(np.linalg.norm(at.inboard.translation))
                if not isinstance(at.parent, Body):
                    break
                at = at.parent
        return lever


def advance(mb: Multibody, scene: Scene, reaches: Reaches, start: Array, end: Array, gap: Any, nq: int) -> Edge:
    """From `start` to `end`, both of the whole model; the first `nq` coordinates are told."""
    close = GAP * reaches.size if gap is None else float(finite(gap, (), "gap", StateError))
    if not close > 0.0:
        raise StateError(f"gap must be positive, in metres; got {gap!r:.40}.")
    dv = np.asarray(mb.difference(start, end))
    places = mb.layout.hinge_q
    out = np.zeros(mb.nv)
    for at, v in zip(places, mb.layout.hinge_v, strict=True):  # how far slides are out anywhere on the way
        if at.stop - at.start == v.stop - v.start:
            out[v] = np.maximum(np.abs(start[at]), np.abs(end[at]))
        elif v.stop > v.start:
            out[v] = np.repeat(max(np.linalg.norm(start[at][-3:]), np.linalg.norm(end[at][-3:])), v.stop - v.start)
    rate = np.abs(dv) * (reaches.turns * reaches.levers(out) + reaches.slides)
    _, body, _, _ = scene.compiled
    names = scene.names
    above = reaches.above
    moving = np.where(above, rate, 0.0)
    most = 2.0 * float(moving.sum(axis=1).max(initial=0.0))
    s, least = 0.0, np.inf
    for _ in range(STEPS):
        q = np.asarray(mb.integrate(start, s * dv))
        rows = scene.distances(q, most * (1.0 - s) + close)
        if not len(rows):
            return Edge(True, 1.0, end[:nq], None, float(least))
        i = int(np.argmin(rows.distance))
        least = min(least, float(rows.distance[i]))
        if rows.distance[i] <= close:
            return Edge(False, s, q[:nq], (names[rows.a[i]], names[rows.b[i]]), float(least))
        a, b = body[rows.a], body[rows.b]
        mu = _relative(moving, above, a, b) + _relative(moving, above, b, a)
        with np.errstate(divide="ignore"):
            step = float(np.min(np.where(mu > 0.0, (rows.distance - 0.5 * close) / mu, np.inf)))
        if s + step >= 1.0:
            return Edge(True, 1.0, end[:nq], None, float(least))
        s += step
    raise ConvergenceError(f"an edge took {STEPS} steps and is at {s:.6g} of the way: give a larger gap.")


def _relative(moving: Array, above: Any, a: Any, b: Any) -> Array:
    """How fast shapes on bodies a move by hinges that those on bodies b do not hang from, (rows)."""
    mine = np.where(a[:, None] >= 0, moving[a], 0.0)
    shared = np.where((b[:, None] >= 0), above[b], False)
    return np.asarray(np.where(shared, 0.0, mine).sum(axis=1))
