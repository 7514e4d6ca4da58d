"""V(y) = phi*(x,y) V(x): w is shared, v(y) = v(x) + w x l. Seen through phi and B, in all three axes."""

import numpy as np
import pytest
from tests.anchors.reference import AXES, motion, rate, turned, velocity_at, velocity_from

import soacraft as sc
from soacraft.model import random_tree


@pytest.fixture
def chain():
    """Three bodies with frames away from their hinges; the second and third are welded."""
    mb = random_tree(1, seed=5, hinges=[sc.Free()])
    for k in (2, 3):
        pose = sc.Pose.from_rpy(0.3 * k, -0.7, 1.1, translation=(0.2 * k, -0.5, 0.4))
        mb.add_body(f"body{k}", f"body{k - 1}", sc.Weld(), sc.Inertia.point(1.0, (0.1, 0.2, 0.3)), inboard=pose)
    mb.body("body3").add_node("tool", sc.Pose.from_rpy(-0.4, 0.2, 2.0, translation=(0.3, 0.6, -0.1)))
    return mb


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("far", ["body2", "body3"])
def test_block_of_phi_star(chain, axes, far):
    """One block of phi* takes any velocity of body1 to that of a body rigidly joined to it."""
    ops = sc.operators(chain, axes=axes)
    l = chain.pose(far).translation - chain.pose("body1").translation
    for V in np.eye(6):
        near = velocity_from(chain, axes, "body1", V)
        carried = velocity_from(chain, axes, far, ops.phi.T[far, "body1"] @ V)
        np.testing.assert_allclose(carried, velocity_at(near, l), atol=1e-14)


@pytest.mark.parametrize("axes", AXES)
def test_pick_off_at_a_node(chain, axes):
    """B* takes the velocity of a body to that of a node on it; node space is in node or inertial axes."""
    ops = sc.operators(chain, axes=axes)
    B = ops.B("body3/tool")
    R = chain.pose("body3/tool").rotation if axes == "body" else np.eye(3)
    l = chain.pose("body3/tool").translation - chain.pose("body3").translation
    for V in np.eye(6):
        picked = turned(R, B.T["body3/tool", "body3"] @ V)
        np.testing.assert_allclose(picked, velocity_at(velocity_from(chain, axes, "body3", V), l), atol=1e-14)


@pytest.mark.parametrize("axes", AXES)
def test_stacked_velocities_by_differences_of_poses(axes):
    """V = phi* H* v on a tree with every hinge, against the rates of rotations and origins."""
    mb = random_tree(14, seed=8, bases=2)
    ops, states = sc.operators(mb, axes=axes), motion(mb)
    V = ops.phi.T * (ops.H.T * ops.v)
    for body in mb.bodies:
        pose = mb.pose(body, state=states)
        spin = rate(pose.rotation) @ pose.rotation[4].T  # w~
        w = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        expected = np.concatenate([w, rate(pose.translation)])
        np.testing.assert_allclose(velocity_from(mb, axes, body, V[body.name]), expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ops.V[body.name], V[body.name], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("axes", AXES)
def test_node_jacobian_by_differences_of_poses(axes):
    """J = B* phi* H*, column by column."""
    mb = random_tree(12, seed=3)
    ops, names = sc.operators(mb, axes=axes), ["body7/tip", "body11/tip"]
    J = (ops.B(names).T * ops.phi.T * ops.H.T).array()
    for i, name in enumerate(names):
        R = mb.pose(name).rotation if axes == "body" else np.eye(3)
        for j, dv in enumerate(np.eye(mb.nv)):
            t = np.linspace(-4, 4, 9)[:, None] * 4e-3
            pose = mb.pose(name, state=mb.state(mb.integrate(mb.q, t * dv)))
            spin = rate(pose.rotation) @ pose.rotation[4].T
            w, v = np.array([spin[2, 1], spin[0, 2], spin[1, 0]]), rate(pose.translation)
            expected = turned(R.T, np.concatenate([w, v]))
            np.testing.assert_allclose(J[6 * i : 6 * i + 6, j], expected, rtol=1e-9, atol=1e-9)
