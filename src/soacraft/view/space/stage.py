"""What a camera must see: a ball about all that is drawn, over all of a motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soacraft.spatial.checks import Array
from soacraft.view.space.motion import Track
from soacraft.view.space.parts import Part, Tie


@dataclass(frozen=True, eq=False)
class Stage:
    """A centre, a radius, and the lowest height along up, in metres."""

    centre: Array
    radius: float
    lowest: float


def stage_of(parts: list[Part], ties: list[Tie], over: tuple[Track, ...], up: Array) -> Stage:
    """By the balls about the parts and the ends of closures in all motions, O(parts x frames); a metre about the
    inertial frame where there is nothing."""
    seen = [x for x in parts if len(x.surface.points)]
    if not seen and not ties:
        return Stage(np.zeros(3), 1.0, 0.0)
    boxes = [(x.body, x.surface.points.min(axis=0), x.surface.points.max(axis=0)) for x in seen]
    boxes += [(k, p - x.radius, p + x.radius) for x in ties for k, p in zip(x.bodies, x.points, strict=True)]
    k, low, high = (np.array(column) for column in zip(*boxes, strict=True))
    middle, half = 0.5 * (low + high), 0.5 * np.linalg.norm(high - low, axis=1)
    at = np.concatenate([np.einsum("mkij,kj->mki", x.R[:, k], middle) + x.p[:, k] for x in over])
    first, last = at.min(axis=(0, 1)), at.max(axis=(0, 1))
    centre = 0.5 * (first + last)
    radius = float((np.linalg.norm(at - centre, axis=2) + half).max())
    lowest = [
        float((x.surface.points @ moving.R[i, x.body].T @ up).min() + moving.p[i, x.body] @ up)
        for moving in over
        for i in {0, len(moving.t) // 2, len(moving.t) - 1}
        for x in seen
    ]
    return Stage(centre, radius or 1.0, min(lowest, default=0.0))
