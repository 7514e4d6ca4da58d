"""A block of phi M phi* is the momentum of what is outboard, locked, that a velocity of one body makes at another."""

import numpy as np
import pytest
from tests.anchors.reference import AXES, Cloud, force_from, mass_matrix, velocity_from

import soacraft as sc
from soacraft.model.hinges import examples

PARENTS = [-1, 0, 1, 1, 0, 3, 5, -1]


@pytest.fixture(scope="module")
def cloud():
    hinges = [hinge for hinge in examples() if not isinstance(hinge, sc.RollingBall)]
    return Cloud(hinges[1:9], seed=3, parents=PARENTS)


def momentum(cloud, body, at, V_at, seen_from):
    """[sum of r x m v; sum of m v] about one frame, of all points outboard of `body`, when the frame `at` moves with
    V_at (inertial axes) and everything is rigid."""
    bodies = list(body.subtree())
    m = np.concatenate([cloud.masses[each.name] for each in bodies])
    r = cloud.positions(bodies=bodies)
    v = V_at[3:] + np.cross(V_at[:3], r - cloud.mb.pose(at).translation)
    return np.concatenate([m @ np.cross(r - cloud.mb.pose(seen_from).translation, v), m @ v])


@pytest.mark.parametrize("axes", AXES)
def test_blocks(cloud, axes):
    """Block (i, j): the velocity is that of j, the momentum is about i, the bodies are those outboard of both."""
    mb, ops = cloud.mb, sc.operators(cloud.mb, axes=axes)
    inertia = ops.phi * ops.M * ops.phi.T
    for i in mb.bodies:
        for j in mb.bodies:
            block = inertia[i.name, j.name]
            outer = i if i in j.subtree() else j if j in i.subtree() else None
            if outer is None:
                assert not block.any()
                continue
            for V in np.eye(6):
                expected = momentum(cloud, outer, j, velocity_from(mb, axes, j, V), i)
                np.testing.assert_allclose(force_from(mb, axes, i, block @ V), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("axes", AXES)
def test_composite_bodies(cloud, axes):
    """R(k): the bodies outboard of k as one rigid body."""
    mb, R = cloud.mb, sc.operators(cloud.mb, "R", axes=axes)
    for k in mb.bodies:
        for V in np.eye(6):
            expected = momentum(cloud, k, k, velocity_from(mb, axes, k, V), k)
            found = force_from(mb, axes, k, R[k.name, k.name] @ V)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("axes", AXES)
def test_blocks_of_the_mass_matrix(cloud, axes):
    """Each block by itself, the dense matrix, and sum m J* J."""
    ops = sc.operators(cloud.mb, axes=axes)
    expr, expected = ops.H * ops.phi * ops.M * ops.phi.T * ops.H.T, cloud.mass_matrix()
    slices = {body.name: cloud.mb.v_slice(body) for body in cloud.mb.bodies}
    np.testing.assert_allclose(mass_matrix(ops), expected, rtol=1e-9, atol=1e-9)
    for i, rows in slices.items():
        for j, columns in slices.items():
            np.testing.assert_allclose(expr[i, j], expected[rows, columns], rtol=1e-9, atol=1e-9)
