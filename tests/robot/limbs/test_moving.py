"""Manipulability of limbs: that of their Jacobian, in axes of the base, with its gradient."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from tests.profiles import tries
from tests.robot.limbs.arms import SCREWS, arms, hands

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


@given(arms(SCREWS, most=4))
@tries(3)
def test_rows_that_are_not_there_are_refused(drawn):
    with pytest.raises(ModelError, match="rows of manipulability must be"):
        drawn[0].manipulability(rows=[6])
