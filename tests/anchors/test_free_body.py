"""One free body: Euler's equations, torque-free precession, and the parabola of a thrown body."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.anchors.reference import AXES, DOWN, fly, forward

import soacraft as sc

J = np.diag([0.4, 0.7, 0.9])
TURNED = Rotation.from_rotvec([0.4, -1.1, 0.7])


def body(moment=J, com=(0, 0, 0), gravity=DOWN, mass=2.0, outboard=None):
    mb = sc.Multibody("free", gravity=gravity)
    mb.add_body("body", None, sc.Free(), sc.Inertia(mass, com, moment), outboard=outboard)
    mb.body("body").add_node("com", sc.Pose(translation=com))
    return mb


@pytest.mark.parametrize("axes", AXES)
def test_euler_equations(axes):
    """J dw/dt + w x J w = n and dv/dt + w x v = R* g + F/m, components in body axes."""
    mb = body()
    w, v = np.array([1.2, -0.5, 2.0]), np.array([0.3, 4.0, -1.0])
    n, F = np.array([0.2, 0.1, -0.6]), np.array([3.0, -1.0, 2.0])
    mb.set_state([*TURNED.as_quat(), 1.0, 2.0, 3.0], [*w, *v])
    vdot = forward(sc.operators(mb, axes=axes), [*n, *F])
    np.testing.assert_allclose(vdot[:3], np.linalg.solve(J, n - np.cross(w, J @ w)), atol=1e-13)
    np.testing.assert_allclose(vdot[3:], TURNED.inv().apply(DOWN) + F / 2.0 - np.cross(w, v), atol=1e-13)


@pytest.mark.parametrize("axes", AXES)
def test_at_rest_it_falls_in_any_attitude(axes):
    mb = body(com=(0.3, -0.1, 0.2))
    mb.q = [*TURNED.as_quat(), 1.0, 2.0, 3.0]
    mb.vdot = forward(sc.operators(mb, axes=axes), np.zeros(6))
    np.testing.assert_allclose(mb.vdot, [0, 0, 0, *TURNED.inv().apply(DOWN)], atol=1e-14)
    np.testing.assert_allclose(mb.acceleration("body"), [0, 0, 0, *DOWN], atol=1e-14)


@pytest.mark.parametrize("axes", AXES)
def test_steady_turn_about_a_principal_axis(axes):
    """Turning about a principal axis through the centre of mass needs no force, about another it does."""
    mb = body(gravity=(0, 0, 0))
    mb.v = [0, 0, 5.0, 0, 0, 0]
    np.testing.assert_allclose(forward(sc.operators(mb, axes=axes), np.zeros(6)), 0.0, atol=1e-14)
    mb.v = [3.0, 0, 5.0, 0, 0, 0]
    expected = -15.0 * (J[0, 0] - J[2, 2]) / J[1, 1]
    np.testing.assert_allclose(forward(sc.operators(mb, axes=axes), np.zeros(6))[1], expected, rtol=1e-13)


def test_symmetric_body_precesses():
    """Closed form: in body axes w turns about e3 with (I3 - I1) w3 / I1, in space e3 turns about L with |L| / I1."""
    I1, I3, w0 = 0.4, 0.7, np.array([1.5, 0.0, 4.0])
    mb = body(np.diag([I1, I1, I3]), gravity=(0, 0, 0))
    start = TURNED
    mb.set_state([*start.as_quat(), 0, 0, 0], [*w0, 0, 0, 0])
    L = start.apply(np.array([I1, I1, I3]) * w0)
    times = np.array([0.4, 1.0])
    q, v = fly(mb, times)
    for t, qt, vt in zip(times, q, v, strict=True):
        turn = (I3 - I1) / I1 * w0[2] * t
        w = [w0[0] * np.cos(turn), w0[0] * np.sin(turn), w0[2]]
        np.testing.assert_allclose(vt[:3], w, atol=1e-10)
        attitude = Rotation.from_rotvec(L / I1 * t) * start * Rotation.from_rotvec([0, 0, -turn])
        np.testing.assert_allclose(Rotation.from_quat(qt[:4]).as_matrix(), attitude.as_matrix(), atol=1e-10)


@pytest.mark.parametrize("outboard", [None, sc.Pose.from_rpy(0.4, 1.0, -2.0, translation=(0.3, -0.5, 0.2))])
def test_a_thrown_body_follows_a_parabola(outboard):
    """Its centre of mass does, and its angular momentum about it stays, wherever its frame is."""
    mb = body(com=(0.3, -0.1, 0.2), outboard=outboard)
    mb.set_state([*TURNED.as_quat(), 1.0, 2.0, 3.0], [3.0, -1.0, 5.0, 1.0, 2.0, -0.5])
    c0, v0 = mb.pose("body/com").translation, mb.velocity("body/com").linear
    spin = angular_momentum(mb, mb.state())
    t = 0.6
    q, v = fly(mb, [t])
    end = mb.state(q[0], v[0])
    assert not np.allclose(mb.pose("body", state=end).rotation, mb.pose("body").rotation, atol=0.5)
    np.testing.assert_allclose(mb.pose("body/com", state=end).translation, c0 + v0 * t + 0.5 * DOWN * t**2, atol=1e-10)
    np.testing.assert_allclose(mb.velocity("body/com", state=end).linear, v0 + DOWN * t, atol=1e-10)
    np.testing.assert_allclose(angular_momentum(mb, end), spin, atol=1e-10)


def angular_momentum(mb, state):
    """R J R* w about the centre of mass, in inertial axes."""
    R = mb.pose("body", state=state).rotation
    return R @ J @ R.T @ mb.velocity("body", state=state).angular
