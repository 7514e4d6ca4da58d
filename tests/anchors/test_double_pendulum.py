"""The double pendulum: closed-form mass matrix, C and accelerations, and a path with known digits."""

import numpy as np
import pytest
from tests.anchors.reference import AXES, bias_force, fly, forward, mass_matrix

import soacraft as sc

G = 9.81
STATES = [((0.3, -0.8), (1.5, -2.0)), ((-2.1, 1.4), (0.0, 3.0)), ((np.pi / 2, 0.0), (0.0, 0.0))]


def rods(m=(1.3, 0.7), l1=0.9, c=(0.4, 0.55), J=(0.11, 0.06), outboard=None):
    """Two rods about -y; a positive angle from down moves them to +x. Body frames where `outboard` puts them."""
    mb = sc.Multibody("rods", gravity=(0, 0, -G))
    outboard = sc.Pose() if outboard is None else outboard
    parent, inboard = None, sc.Pose()
    for k in range(2):
        at_hinge = sc.Inertia(m[k], (0, 0, -c[k]), np.diag([J[k], J[k], 0.0]))
        inertia = at_hinge.transformed(outboard.inv)  # the same rod seen from the body frame
        parent = mb.add_body(f"rod{k + 1}", parent, sc.Pin((0, -1, 0)), inertia, inboard, outboard)
        inboard = outboard.inv @ sc.Pose(translation=(0, 0, -l1))
    return mb


def closed_form(q, v, m=(1.3, 0.7), l1=0.9, c=(0.4, 0.55), J=(0.11, 0.06)):
    """Mass matrix and C in relative angles."""
    s1, s12, s2, c2 = np.sin(q[0]), np.sin(q[0] + q[1]), np.sin(q[1]), np.cos(q[1])
    h = m[1] * l1 * c[1]
    M22 = J[1] + m[1] * c[1] ** 2
    M12 = M22 + h * c2
    M11 = J[0] + m[0] * c[0] ** 2 + m[1] * l1**2 + M12 + h * c2
    C1 = -h * s2 * (2 * v[0] * v[1] + v[1] ** 2) + (m[0] * c[0] + m[1] * l1) * G * s1 + m[1] * c[1] * G * s12
    C2 = h * s2 * v[0] ** 2 + m[1] * c[1] * G * s12
    return np.array([[M11, M12], [M12, M22]]), np.array([C1, C2])


OFF_HINGE = sc.Pose.from_rpy(0.4, -1.2, 2.5, translation=(0.3, 0.2, -0.6))


def test_the_rods_are_where_they_should_be():
    for outboard in (None, OFF_HINGE):
        mb = rods(outboard=outboard)
        mb.q = [0.3, -0.8]
        com = mb.pose("rod2") @ mb.body("rod2").inertia.com
        x = 0.9 * np.sin(0.3) + 0.55 * np.sin(-0.5)
        z = -0.9 * np.cos(0.3) - 0.55 * np.cos(-0.5)
        np.testing.assert_allclose(com, [x, 0, z], atol=1e-14)


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("outboard", [None, OFF_HINGE], ids=["at the hinge", "off the hinge"])
@pytest.mark.parametrize(("q", "v"), STATES)
def test_mass_matrix_C_and_acceleration(axes, outboard, q, v):
    mb = rods(outboard=outboard)
    mb.set_state(q, v)
    ops = sc.operators(mb, axes=axes)
    Mcal, C = closed_form(q, v)
    np.testing.assert_allclose(mass_matrix(ops), Mcal, rtol=1e-13)
    np.testing.assert_allclose(bias_force(ops), C, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(ops.C, C, rtol=1e-13, atol=1e-13)
    T = np.array([0.7, -1.9])
    np.testing.assert_allclose(forward(ops, T), np.linalg.solve(Mcal, T - C), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("q", "v"), STATES)
def test_point_masses(q, v):
    """The built-in model: point masses of 1 kg on massless rods of 1 m."""
    mb = sc.load("double_pendulum")
    mb.set_state(q, v)
    Mcal, C = closed_form(q, v, m=(1, 1), l1=1, c=(1, 1), J=(0, 0))
    np.testing.assert_allclose(mass_matrix(sc.operators(mb)), Mcal, rtol=1e-14)
    np.testing.assert_allclose(bias_force(sc.operators(mb)), C, rtol=1e-13, atol=1e-13)


def test_path():
    """Released with both rods level; absolute angles from down and their rates."""
    mb = sc.load("double_pendulum")
    mb.set_state([np.pi / 2, 0.0], [0.0, 0.0])
    q, v = fly(mb, [1.0, 2.0])
    found = np.column_stack([q[:, 0], q.sum(axis=1), v[:, 0], v.sum(axis=1)])
    expected = [
        (-0.6250876998063906, -1.034585085680012, -3.922279572887977, -1.303099248696331),
        (-0.4829715342517544, -1.324048712302363, 3.065288192073401, 2.949271547571619),
    ]
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-11)
