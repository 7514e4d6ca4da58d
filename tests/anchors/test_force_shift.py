"""f(x) = phi(x,y) f(y): the force is shared, the moment gains l x F. Seen through phi and B, in all three axes."""

import numpy as np
import pytest
from tests.anchors.reference import AXES, force_at, force_from, turned

import soacraft as sc
from soacraft.model import random_tree


@pytest.fixture
def mb():
    """A serial chain with every hinge, in a random state."""
    return random_tree(12, seed=4, branching=0.0)


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize(("near", "far"), [("body1", "body2"), ("body4", "body5"), ("body2", "body12")])
def test_block_of_phi(mb, axes, near, far):
    phi = sc.operators(mb, "phi", axes=axes)
    l = mb.pose(far).translation - mb.pose(near).translation
    for f in np.eye(6):
        carried = force_from(mb, axes, near, phi[near, far] @ f)
        np.testing.assert_allclose(carried, force_at(force_from(mb, axes, far, f), l), atol=5e-14)


@pytest.mark.parametrize("axes", AXES)
def test_force_at_a_node(mb, axes):
    ops = sc.operators(mb, axes=axes)
    B = ops.B("body5/tip")
    R = mb.pose("body5/tip").rotation if axes == "body" else np.eye(3)
    l = mb.pose("body5/tip").translation - mb.pose("body5").translation
    for f in np.eye(6):
        on_body = force_from(mb, axes, "body5", B["body5", "body5/tip"] @ f)
        np.testing.assert_allclose(on_body, force_at(turned(R, f), l), atol=1e-14)


@pytest.mark.parametrize("axes", AXES)
def test_a_lever_holds_a_weight(axes):
    """Three welded metres along x with 2 kg at the end: the wall bears 19.62 N up and 3 m x 19.62 N about -y."""
    mb = sc.serial_chain(3, hinge=sc.Weld(), mass=0.0, gravity=(0, 0, -9.81))
    mb.body("link3").inertia = sc.Inertia.point(2.0, (1.0, 0, 0))
    f = sc.operators(mb, axes=axes).f["link1"]
    np.testing.assert_allclose(force_from(mb, axes, "link1", f), [0, -3 * 19.62, 0, 0, 0, 19.62], atol=1e-13)


@pytest.mark.parametrize("axes", AXES)
def test_interbody_forces_of_a_resting_tree(axes):
    """At rest f(k) bears the weight of all that is outboard: sum of -m g and of -(c - p_k) x m g."""
    mb = random_tree(13, seed=9, bases=2, gravity=(0.5, 1.0, -9.0))
    mb.set_state(v=np.zeros(mb.nv), vdot=np.zeros(mb.nv))
    f = sc.operators(mb, axes=axes).f
    for body in mb.bodies:
        expected = np.zeros(6)
        for outer in body.subtree():
            l = mb.pose(outer) @ outer.inertia.com - mb.pose(body).translation
            expected += force_at(np.concatenate([np.zeros(3), -outer.inertia.mass * mb.gravity]), l)
        np.testing.assert_allclose(force_from(mb, axes, body, f[body.name]), expected, rtol=1e-12, atol=1e-12)
