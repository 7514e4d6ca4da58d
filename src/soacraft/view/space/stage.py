"""Stage of a camera: a ball about all that is drawn, over all of a motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soacraft.spatial.checks import Array
from soacraft.view.space.motion import Track
from soacraft.view.space.parts import Part, Tie

#: Instants at which flexible bodies are looked at.
SOME = 24


@dataclass(frozen=True, eq=False)
class Stage:
    """A centre, a radius, and the lowest height along up, in metres."""

    centre: Array
    radius: float
    lowest: float


def stage_of(parts: list[Part], ties: list[Tie], over: tuple[Track, ...], up: Array) -> Stage:
    """Stage about the balls of the parts and the ends of closures in all motions, O(parts x frames); a metre about the
    inertial frame where there is nothing.
    """
    seen = [x for x in parts if len(x.surface.points)]
    if not seen and not ties:
        return Stage(np.zeros(3), 1.0, 0.0)
    boxes = [(x.body, *_box(x, over)) for x in seen]
    boxes += [(k, p - x.radius, p + x.radius) for x in ties for k, p in zip(x.bodies, x.points, strict=True)]
    k, low, high = (np.array(column) for column in zip(*boxes, strict=True))
    middle, half = 0.5 * (low + high), 0.5 * np.linalg.norm(high - low, axis=1)
    at = np.concatenate([np.einsum("mkij,kj->mki", x.R[:, k], middle) + x.p[:, k] for x in over])
    first, last = at.min(axis=(0, 1)), at.max(axis=(0, 1))
    centre = 0.5 * (first + last)
    radius = float((np.linalg.norm(at - centre, axis=2) + half).max())
    lowest = [
        float((x.bent(moving, i).points @ moving.R[i, x.body].T @ up).min() + moving.p[i, x.body] @ up)
        for moving in over
        for i in {0, len(moving.t) // 2, len(moving.t) - 1}
        for x in seen
    ]
    return Stage(centre, radius or 1.0, min(lowest, default=0.0))


def _box(part: Part, over: tuple[Track, ...]) -> tuple[Array, Array]:
    """The corners of the box about a part, in body axes; of what is flexible over all motions."""
    if part.bending is None:
        return part.surface.points.min(axis=0), part.surface.points.max(axis=0)
    points = [part.bending.skin.corners(x.exaggerate * some_of(x)[:, part.bending.modes]).reshape(-1, 3) for x in over]
    return np.min([x.min(axis=0) for x in points], axis=0), np.max([x.max(axis=0) for x in points], axis=0)


def some_of(moving: Track) -> Array:
    """The modal coordinates at some instants of a motion, its first and its last among them."""
    return np.asarray(moving.eta[np.unique(np.linspace(0, len(moving.t) - 1, SOME).round().astype(int))])
