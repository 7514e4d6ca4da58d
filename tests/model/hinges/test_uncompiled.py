"""Hinges that no kernel knows: what they refuse, and where an ellipsoid touches. `test_laws.py` has their laws."""

import numpy as np
import pytest
from tests.strategies import UNCOMPILED as EXAMPLES

import soacraft as sc
from soacraft.errors import ModelError, StateError
from soacraft.model import hinges
from soacraft.model.hinges import UNCOMPILED


def test_all_are_here():
    assert [type(x) for x in EXAMPLES] == list(UNCOMPILED)


@pytest.mark.parametrize("hinge", EXAMPLES, ids=lambda x: type(x).__name__)
def test_no_difference(hinge):
    with pytest.raises(StateError, match=r"has no difference\(q0, q1\): it is nonholonomic"):
        hinge.difference(hinge.neutral(), hinge.neutral())


def test_an_ellipsoid_touches_at_its_lowest_point():
    """Of all points of its surface; a ball's is one of equal axes."""
    hinge, rng = EXAMPLES[1], np.random.default_rng(0)
    q = hinge.random(rng)
    at = hinge.pose(q)
    unit = rng.standard_normal((500, 3))
    points = unit / np.linalg.norm(unit, axis=1)[:, None] * hinge.semi_axes
    heights = (points @ at.rotation.T + at.translation) @ hinge.normal
    assert heights.min() >= -1e-12
    touch = at.translation + at.rotation @ hinge._at(q).l
    assert abs(touch @ hinge.normal) < 1e-14
    np.testing.assert_allclose((hinge._at(q).l / hinge.semi_axes) @ (hinge._at(q).l / hinge.semi_axes), 1.0)
    ball, egg = sc.RollingBall(0.4), sc.RollingEllipsoid((0.4, 0.4, 0.4))
    np.testing.assert_allclose(egg.qdot(q, [1.0, 2.0, 3.0]), ball.qdot(q, [1.0, 2.0, 3.0]), atol=1e-14)
    np.testing.assert_allclose(egg.bias(q, [1.0, 2.0, 3.0]), ball.bias(q, [1.0, 2.0, 3.0]), atol=1e-12)


def test_refusals():
    with pytest.raises(ModelError, match=r"across of a KnifeEdge"):
        sc.KnifeEdge((0, 0, 0))
    with pytest.raises(ModelError, match=r"semi_axes of a RollingEllipsoid must be positive, got \(1, -1, 1\)"):
        sc.RollingEllipsoid((1, -1, 1))
    assert hinges.KnifeEdge is sc.KnifeEdge
