"""One gimbal hinge with the axes z, y, x, with the numbers that Pinocchio's tests print."""

import numpy as np
import pytest
from tests.anchors.reference import AXES, bias_force, mass_matrix

import soacraft as sc

ONE = (1.0, 1.0, 1.0)
FORCES = [
    ((0, 0, 0), (0, 0, 0), (0.0, -4.905, 0.0)),
    ((1, 1, 1), ONE, (-0.53611600195085, -0.74621832606188, -0.38177329067604)),
    ((3, 2, 1), ONE, (0.73934458094049, 2.7804530848031, 0.50684940972146)),
]
MASS_MATRICES = [((1, 1, 1), 1.0729816454316, -0.8414709848079), ((3, 2, 1), 1.043294547392, -0.90929742682568)]


@pytest.fixture
def mb():
    mb = sc.Multibody("gimbal", gravity=(0, 0, -9.81))
    mb.add_body("body", None, sc.Gimbal(axes=[[0, 0, 1], [0, 1, 0], [1, 0, 0]]), sc.Inertia(1, (0.5, 0, 0), np.eye(3)))
    return mb


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize(("q", "v", "force"), FORCES)
def test_inverse_dynamics(mb, axes, q, v, force):
    """v = vdot in all three cases."""
    mb.set_state(q, v, v)
    ops = sc.operators(mb, axes=axes)
    np.testing.assert_allclose(ops.T, force, rtol=0, atol=1e-13)
    np.testing.assert_allclose(mass_matrix(ops) @ v + bias_force(ops), force, rtol=0, atol=1e-13)


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize(("q", "first", "cross"), MASS_MATRICES)
def test_mass_matrix(mb, axes, q, first, cross):
    mb.q = q
    expected = [[first, 0, cross], [0, 1.25, 0], [cross, 0, 1]]
    np.testing.assert_allclose(mass_matrix(sc.operators(mb, axes=axes)), expected, rtol=0, atol=1e-13)
