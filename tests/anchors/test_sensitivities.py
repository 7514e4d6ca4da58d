"""Closed-form derivatives of mass matrices, and Coriolis matrices, of textbook systems."""

import numpy as np
import pytest

import soacraft as sc

AXES = ("body", "inertial", "origin")


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def two_links(m1=1.3, m2=0.7, l1=0.8, c1=0.3, c2=0.45, I1=0.02, I2=0.03):
    """Two pins about z; angles relative."""
    mb = sc.Multibody("two links", gravity=(0, -9.81, 0))
    z = sc.Pin((0, 0, 1))
    mb.add_body("a", None, z, sc.Inertia(m1, (c1, 0, 0), np.diag([0.01, 0.01, I1])))
    mb.add_body("b", "a", z, sc.Inertia(m2, (c2, 0, 0), np.diag([0.01, 0.01, I2])), sc.Pose(translation=(l1, 0, 0)))
    return mb, m2 * l1 * c2


@pytest.mark.parametrize("axes", AXES)
def test_two_links(axes):
    """Mcal = [[a + 2 h cos q2, b + h cos q2], [., b]] with h = m2 l1 c2; for two dofs the Coriolis matrix is unique."""
    mb, h = two_links()
    mb.set_state(q=[0.4, 0.9], v=[1.5, -0.6])
    s = sc.operators(mb, axes=axes)
    (v1, v2), sine, cosine = mb.v, h * np.sin(0.9), h * np.cos(0.9)
    Mcal = mass_matrix(s)
    np.testing.assert_allclose(Mcal.diff("a").array(), np.zeros((2, 2)), atol=1e-14)
    np.testing.assert_allclose(Mcal.diff("b").array(), [[-2 * sine, -sine], [-sine, 0]], atol=1e-14)
    np.testing.assert_allclose(Mcal.diff("b").diff("b").array(), [[-2 * cosine, -cosine], [-cosine, 0]], atol=1e-14)
    np.testing.assert_allclose(Mcal.dot().array(), v2 * Mcal.diff("b").array(), atol=1e-14)
    np.testing.assert_allclose(s.coriolis.array(), [[-sine * v2, -sine * (v1 + v2)], [sine * v1, 0]], atol=1e-13)


@pytest.mark.parametrize("axes", AXES)
def test_polar_arm(axes):
    """A pin and a slide: Mcal = diag(I + m r^2, m), C = m r [[rdot, thetadot], [-thetadot, 0]]."""
    mb = sc.Multibody("polar")
    mb.add_body("turn", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, moment=np.diag([0.1, 0.1, 0.2])))
    mb.add_body("slide", "turn", sc.Prismatic((1, 0, 0)), sc.Inertia(2.0))
    mb.set_state(q=[0.3, 0.7], v=[1.1, -0.4])
    s = sc.operators(mb, axes=axes)
    np.testing.assert_allclose(mass_matrix(s).diff("slide").array(), [[2 * 2.0 * 0.7, 0], [0, 0]], atol=1e-14)
    expected = 2.0 * 0.7 * np.array([[-0.4, 1.1], [-1.1, 0.0]])
    np.testing.assert_allclose(s.coriolis.array(), expected, atol=1e-14)


def test_spinning_body():
    """A ball joint with quasi-velocities: C w = w x J w, and Mcal = J does not change."""
    J = np.diag([0.3, 0.5, 0.7])
    mb = sc.Multibody("top")
    mb.add_body("top", None, sc.Spherical(), sc.Inertia(1.0, moment=J))
    mb.set_state(*mb.random_state(3))
    s = sc.operators(mb)
    w = mb.v
    assert not mass_matrix(s).dot().array().any()
    np.testing.assert_allclose(np.asarray(s.coriolis * w), np.cross(w, J @ w), atol=1e-14)
    np.testing.assert_allclose(s.coriolis.array(), -s.coriolis.array().T, atol=1e-14)


def test_gimbal_rates():
    """Turns about z, y, x of a sphere: w = E thetadot in body axes, so its mass matrix is J E* E."""
    mb = sc.Multibody("gyro")
    gimbal = sc.Gimbal(axes=((0, 0, 1), (0, 1, 0), (1, 0, 0)))
    mb.add_body("rotor", None, gimbal, sc.Inertia(1.0, moment=0.4 * np.eye(3)))
    yaw, pitch, roll = 0.3, 0.5, -0.7
    mb.set_state(q=[yaw, pitch, roll], v=[0.2, 0.4, -1.0])
    s = sc.operators(mb)
    # E = [R_x* R_y* z, R_x* y, x]: E* E has the one varying entry -sin(pitch) between yaw and roll
    expected = np.zeros((3, 3))
    expected[0, 2] = expected[2, 0] = -0.4 * np.cos(pitch)
    np.testing.assert_allclose(mass_matrix(s).diff("rotor", 1).array(), expected, atol=1e-14)
    np.testing.assert_allclose(mass_matrix(s).diff("rotor", 0).array(), 0.0, atol=1e-14)
    np.testing.assert_allclose(mass_matrix(s).diff("rotor", 2).array(), 0.0, atol=1e-14)


def test_a_rotor_on_the_hinge_changes_no_derivative():
    """Armature adds a constant to the diagonal."""
    plain, geared = two_links()[0], two_links()[0]
    geared["b"].armature = 0.6
    for mb in (plain, geared):
        mb.set_state(q=[0.4, 0.9], v=[1.5, -0.6])
    one, other = sc.operators(plain), sc.operators(geared)
    assert not np.allclose(mass_matrix(one).array(), mass_matrix(other).array())
    np.testing.assert_allclose(mass_matrix(one).diff("b").array(), mass_matrix(other).diff("b").array(), atol=1e-14)
    np.testing.assert_allclose(one.coriolis.array(), other.coriolis.array(), atol=1e-14)


def test_velocity_of_a_point_turns():
    """The Jacobian of a point on an arm in inertial axes: d(r)/dt of a rotating lever."""
    mb, _ = two_links()
    mb["a"].add_node("tip", sc.Pose(translation=(0.8, 0, 0)))
    mb.set_state(q=[0.4, 0.0], v=[2.0, 0.0])
    s = sc.operators(mb, axes="inertial")
    J = s.B("a/tip").T * s.phi.T * s.H.T
    # linear velocity 0.8 (-sin, cos) q1dot: its rate is 0.8 (-cos, -sin) q1dot
    np.testing.assert_allclose(J.diff("a").array()[3:5, 0], [-0.8 * np.cos(0.4), -0.8 * np.sin(0.4)], atol=1e-14)
    np.testing.assert_allclose(J.dot().array()[3:5, 0], [-1.6 * np.cos(0.4), -1.6 * np.sin(0.4)], atol=1e-14)
