"""The steady top: I1 cos(th) W^2 - I3 w3 W + M g l = 0. Both precessions, by a ball joint and by two gimbals."""

import numpy as np
import pytest
from tests.anchors.reference import AXES, forward

import soacraft as sc

I1, I3, M, L, TH, W3, G = 0.3, 0.05, 1.0, 0.5, np.pi / 6, 200.0, 9.81
SLOW, FAST = 0.496915294752674, 37.9931026512224
ROOTS = tuple(sorted(np.roots([I1 * np.cos(TH), -I3 * W3, M * G * L]).real))
Z = np.array([0.0, 0.0, 1.0])

MODELS = {
    "z, x, z": ([[0, 0, 1], [1, 0, 0], [0, 0, 1]], (0.4, TH, 1.9)),
    "z, y, z": ([[0, 0, 1], [0, 1, 0], [0, 0, 1]], (0.4, TH, 1.9)),
}


def test_roots():
    np.testing.assert_allclose(ROOTS, (SLOW, FAST), rtol=1e-14)


def gimballed(axes):
    """The top on three pins instead of a ball joint."""
    mb = sc.Multibody("gimballed top", gravity=(0, 0, -G))
    mb.add_body("top", None, sc.Gimbal(axes), sc.load("top").body("top").inertia)
    return mb


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("W", ROOTS, ids=["slow", "fast"])
@pytest.mark.parametrize("which", MODELS)
def test_on_gimbals_all_rates_stay_constant(which, W, axes):
    """Precession W, no nutation, spin w3 - W cos(th): no force is needed and nothing accelerates."""
    pins, angles = MODELS[which]
    mb = gimballed(pins)
    mb.set_state(angles, [W, 0.0, W3 - W * np.cos(TH)])
    np.testing.assert_allclose(mb.pose("top").rotation[2, 2], np.cos(TH), rtol=1e-14)
    np.testing.assert_allclose(mb.velocity("top", expressed_in="top").angular[2], W3, rtol=1e-14)
    vdot = forward(sc.operators(mb, axes=axes), np.zeros(3))
    assert np.abs(vdot).max() < 1e-10  # terms of the size W3 * W cancel


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("W", ROOTS, ids=["slow", "fast"])
def test_on_a_ball_joint_the_velocity_precesses(W, axes):
    """w = W z + s e3 turns about z with W: dw/dt = W z x s e3. In body axes its components change alike."""
    mb = sc.load("top")
    R = gimballed_rotation()
    e3, s = R[:, 2], W3 - W * np.cos(TH)
    w, wdot = W * Z + s * e3, W * np.cross(Z, s * e3)
    mb.set_state(sc.Pose(R).as_quaternion(), R.T @ w)
    np.testing.assert_allclose(mb.velocity("top").angular, w, rtol=1e-13, atol=1e-12)
    vdot = forward(sc.operators(mb, axes=axes), np.zeros(3))
    np.testing.assert_allclose(R @ vdot, wdot, rtol=1e-10, atol=1e-10)


def gimballed_rotation():
    """The attitude of the z, x, z top, from elementary rotations."""
    a, b, c = MODELS["z, x, z"][1]
    return _about_z(a) @ _about_x(b) @ _about_z(c)


def _about_z(t):
    return np.array([[np.cos(t), -np.sin(t), 0], [np.sin(t), np.cos(t), 0], [0, 0, 1]])


def _about_x(t):
    return np.array([[1, 0, 0], [0, np.cos(t), -np.sin(t)], [0, np.sin(t), np.cos(t)]])


def test_a_top_with_another_precession_nutates():
    """The condition is sharp: the nutation rate at W is (I1 cos W^2 - I3 w3 W + M g l) sin(th) / I1."""
    mb, W = gimballed(MODELS["z, x, z"][0]), 1.2
    mb.set_state(MODELS["z, x, z"][1], [W, 0.0, W3 - W * np.cos(TH)])
    vdot = forward(sc.operators(mb), np.zeros(3))
    expected = (I1 * np.cos(TH) * W**2 - I3 * W3 * W + M * G * L) * np.sin(TH) / I1
    np.testing.assert_allclose(vdot, [0.0, expected, 0.0], rtol=1e-11, atol=1e-10)
