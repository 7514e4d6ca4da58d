"""The planar pendulum of the IFToMM benchmark library (A01): its exact path, from operator expressions."""

import numpy as np
import pytest
from tests.anchors.reference import bias_force, fly, mass_matrix

import soacraft as sc

EXACT = {
    1.0: (0.986291751131875, -0.165010853125541),
    2.0: (-0.793566195343322, -0.608483930443792),
    5.0: (-0.942305435043757, -0.334754338414001),
    10.0: (-0.275087462576117, -0.961419205099125),
}
PERIOD = 2.36784194757623745


@pytest.fixture
def mb():
    """1 kg at 1 m, released from (-1, 0)."""
    mb = sc.load("pendulum")
    mb.set_state([-np.pi / 2], [0.0])
    return mb


@pytest.mark.parametrize("angle", [-2.0, -0.3, 0.0, 1.2])
def test_equation_of_motion(mb, angle):
    """m L^2 = 1 and C = m g L sin(angle), whatever the speed."""
    mb.set_state([angle], [3.0])
    ops = sc.operators(mb)
    np.testing.assert_allclose(mass_matrix(ops), [[1.0]], rtol=1e-15)
    np.testing.assert_allclose(bias_force(ops), [9.81 * np.sin(angle)], atol=1e-14)


def test_path(mb):
    q, v = fly(mb, list(EXACT))
    tip = mb.pose("bob/tip", state=mb.state(q)).translation[:, [0, 2]]
    np.testing.assert_allclose(tip, list(EXACT.values()), rtol=0, atol=2e-11)
    energy = 0.5 * v[:, 0] ** 2 + 9.81 * tip[:, 1]
    np.testing.assert_allclose(energy, 0.0, atol=2e-11)


def test_period(mb):
    """After half a period it stands still on the other side, after a whole one where it began."""
    q, v = fly(mb, [PERIOD / 2, PERIOD])
    np.testing.assert_allclose(q[:, 0], [np.pi / 2, -np.pi / 2], atol=1e-10)
    np.testing.assert_allclose(v[:, 0], 0.0, atol=1e-10)
