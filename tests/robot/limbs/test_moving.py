"""Manipulability of limbs: that of their Jacobian, in axes of the base, with its gradient."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from tests.profiles import tries
from tests.robot.limbs.arms import SCREWS, arms, hands

import soacraft as sc
from soacraft.errors import ModelError


@given(arms(SCREWS, most=7))
@tries(15)
def test_measures_are_those_of_the_jacobian_in_axes_of_the_base(drawn):
    limb, rng = drawn
    q = rng.uniform(-1.0, 1.0, limb.nq)
    J = limb.jacobian(q)
    for rows, picked in ((None, J), ("linear", J[3:]), ([1, 4], J[[1, 4]])):
        m = limb.manipulability(q, rows=rows)
        assert np.allclose(m.singular_values, np.linalg.svd(picked, compute_uv=False), atol=1e-12)
    many = limb.manipulability(np.array([q, q + 0.1]), rows="linear")
    assert np.isclose(many.volume[0], limb.manipulability(q, rows="linear").volume)


@given(hands())
@tries(8)
def test_the_gradient_is_that_of_differences(drawn):
    limb, rng = drawn
    q = rng.uniform(-1.0, 1.0, limb.nq)
    rows = [3, 9]  # along x of the base, of two tips
    m, h = limb.manipulability(q, rows=rows), 1e-6
    if m.rank < 2 or m.smallest < 1e-2:
        return
    v = rng.standard_normal(limb.nv)
    ends = [limb.manipulability(q + s * h * v, rows=rows).volume for s in (1, -1)]
    assert np.isclose(m.volume_gradient @ v, (ends[0] - ends[1]) / (2 * h), rtol=1e-5, atol=1e-6)


def test_a_tied_limb_is_measured_by_its_independent_dofs_at_every_configuration():
    """Two turns, the second of which a tendon repeats: the Jacobian has two columns, J1 and J2 + J3, at each of (2, 3)
    configurations; gradients are differences along the motion that the tendon allows."""
    mb = sc.serial_chain(3)
    mb.couple("tendon", {"link2": 1.0, "link3": -1.0})
    mb.set_state(q=[0.1, 0.4, 0.4])
    limb = sc.robot.Robot(mb).limb("finger", "inertial", "link3/tip")
    assert len(limb.independent) == 2
    bend = np.linspace(0.3, 0.8, 6).reshape(2, 3)
    q = np.stack([0.1 * bend, bend, bend], axis=-1)
    rows = [3, 5]  # in the plane of the links
    m = limb.manipulability(q, rows=rows)
    assert m.volume.shape == (2, 3)
    assert m.volume_gradient.shape == (2, 3, 2)

    def volume(a, b):
        """|J1 x (J2 + J3)| of links of 1 m, by the ways from each hinge to the tip."""
        angles = np.cumsum([a, b, b])
        links = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        ways = np.cumsum(links[::-1], axis=0)[::-1]
        first, second = ways[0], ways[1] + ways[2]
        return abs(first[0] * second[1] - first[1] * second[0])

    for i in np.ndindex(2, 3):
        a, b, _ = q[i]
        assert m.volume[i] == pytest.approx(volume(a, b), rel=1e-9)
        slope = [(volume(a + x, b + y) - volume(a - x, b - y)) / 2e-6 for x, y in ((1e-6, 0.0), (0.0, 1e-6))]
        assert m.volume_gradient[i] == pytest.approx(slope, abs=1e-6)
        alone = limb.manipulability(q[i], rows=rows)
        assert alone.volume == pytest.approx(m.volume[i], rel=1e-12)


@given(arms(SCREWS, most=4))
@tries(3)
def test_rows_that_are_not_there_are_refused(drawn):
    with pytest.raises(ModelError, match="rows of manipulability must be"):
        drawn[0].manipulability(rows=[6])
