"""The derivative of a distance by the pose of a shape is its normal, for every pair of shapes: against differences."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from tests.contact.geometry.shapes import CONVEX, bumpy_sphere, random_pose, random_shape

from soacraft.contact import HeightField, Shape, distance
from soacraft.spatial import Pose
from soacraft.spatial.rotations import exp

KINDS = ("plane", "mesh", "ground", *CONVEX)
PAIRS = [x for x in combinations_with_replacement(KINDS, 2) if x != ("plane", "plane")]
STEP = 1e-5


def shape(kind: str, rng: np.random.Generator) -> Shape:
    if kind == "mesh":
        return bumpy_sphere(12, 6)
    if kind == "ground":
        return HeightField(0.1 * rng.normal(size=(5, 5)), 1.5, 1.5, bottom=-0.8)
    return random_shape(kind, rng)


def moved(pose: Pose, e: np.ndarray) -> Pose:
    """Turned about its own origin by e[:3] and moved by e[3:], in the axes of the frame."""
    return Pose(exp(e[:3]) @ pose.rotation, pose.translation + e[3:])


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_the_derivative_is_the_normal(pair):
    """d' = n.v + ((b - p_b) x n).w, with the point b of the second shape, apart and in penetration. Where nearest
    points jump, or the shortest push changes, the two one-sided differences differ: these poses say nothing.
    """
    rng = np.random.default_rng([7, PAIRS.index(pair)])
    seen = []
    for spread in (0.9, 0.9, 0.45, 0.45, 0.45):
        a, b = (shape(kind, rng) for kind in pair)
        at_a, at_b = random_pose(rng, 0.1), random_pose(rng, spread)
        here = distance(a, at_a, b, at_b)
        wanted = np.concatenate([np.cross(here.point_b - at_b.translation, here.normal), here.normal])
        steps = [(STEP * e, -STEP * e) for e in np.eye(6)]
        sides = np.array([[distance(a, at_a, b, moved(at_b, e)).distance for e in both] for both in steps])
        one_sided = np.array([sides[:, 0] - here.distance, here.distance - sides[:, 1]]) / STEP
        if np.abs(one_sided[0] - one_sided[1]).max() > 1e-2:
            continue
        seen.append(here.distance > 0.0)
        assert one_sided.mean(axis=0) == pytest.approx(wanted, abs=1e-4)
    assert seen, "every pose was at a corner"
