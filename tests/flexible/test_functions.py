"""Beams with functions as modes, against the same shapes by finite elements and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy.interpolate import CubicSpline

import soacraft.flexible as fx
from soacraft.errors import ModelError

SECTION, SOFT = fx.Section(A=1.0, Iy=0.02, Iz=0.05, J=0.03), fx.Elastic(100.0, 0.3, 1.0)
#: The shapes of one element whose tip moves by one: tx, ty, tz, rx, ry, rz.
CUBIC, TURN = Polynomial([0, 0, 3, -2]), Polynomial([0, 0, -1, 1])
OF_AN_ELEMENT = {"x": [Polynomial([0, 1])], "y": [CUBIC, TURN], "z": [CUBIC, -TURN], "twist": [Polynomial([0, 1])]}
ORDER = [0, 1, 5, 2, 4, 3]


def test_shapes_of_an_element_are_the_element():
    fe = fx.beam(1.0, SECTION, SOFT, 1, theory="euler")
    fe.interface("root", at=(0, 0, 0))
    fe.interface("tip", at=(1, 0, 0))
    a = fx.reduce(fe, ["root", "tip"], "guyan")
    b = fx.shapes(1.0, SECTION, SOFT, OF_AN_ELEMENT, parts=3)
    two, close = np.ix_(ORDER, ORDER), dict(rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(b.K, a.K[two], **close)
    for name in ("p", "N"):
        np.testing.assert_allclose(getattr(b, name), getattr(a, name)[ORDER], **close)
    for name in ("M", "Q", "S", "T"):
        np.testing.assert_allclose(getattr(b, name), getattr(a, name)[two], **close)
    for name in ("gam2", "lam2"):
        np.testing.assert_allclose(getattr(b.node("tip"), name), getattr(a.node("tip"), name)[:, *two], **close)
    np.testing.assert_allclose(b.second, a.second, **close)
    assert not b.node("root").deforms


def test_clamped_modes_as_functions_have_their_frequencies():
    """cosh - cos - s (sinh - sin), given with derivatives; and the same as a spline."""
    k, s = 1.875104068711961, 0.734095513758
    f = (
        lambda x: np.cosh(k * x) - np.cos(k * x) - s * (np.sinh(k * x) - np.sin(k * x)),
        lambda x: k * (np.sinh(k * x) + np.sin(k * x) - s * (np.cosh(k * x) - np.cos(k * x))),
        lambda x: k**2 * (np.cosh(k * x) + np.cos(k * x) - s * (np.sinh(k * x) + np.sin(k * x))),
    )
    x = np.linspace(0, 1, 200)
    spline = CubicSpline(x, f[0](x), bc_type=((1, 0.0), (1, float(f[1](1.0)))))
    thin = fx.Section(A=1.0, Iy=1e-8, Iz=1e-8, J=1e-8)
    for each, rel in ((f, 1e-7), (spline, 1e-5)):
        data = fx.shapes(1.0, thin, fx.Elastic(1e8, 0.3, 1.0), {"y": [each]}, damping=0.01)
        assert np.sqrt(data.K[0, 0] / data.M[0, 0]) == pytest.approx(k**2, rel=rel)
        assert data.p[0, 1] ** 2 / data.M[0, 0] == pytest.approx(0.613076090, rel=rel)
        assert data.D[0, 0] == pytest.approx(0.02 * k**2 * data.M[0, 0], rel=rel)


def test_what_is_no_shape_is_refused():
    for functions, text in (
        ({}, "shapes of a beam are {'y'"),
        ({"y": []}, "at least one"),
        ({"yy": [CUBIC]}, "a beam has no shapes 'yy'"),
        ({"y": [np.sin]}, "shape 0 along 'y' must be a polynomial of numpy, a spline of scipy or three functions"),
        ({"y": [(lambda x: np.nan * x,) * 3]}, "shape 0 along 'y' must be finite"),
        ({"y": [CUBIC, CUBIC]}, "the modal mass M is singular or indefinite.*leave out modes that repeat"),
        ({"y": [Polynomial([0, 1])]}, r"the modes hold a motion of the rigid body \(mostly 'mode0', a turn about z\)"),
    ):
        with pytest.raises(ModelError, match=text):
            fx.shapes(1.0, SECTION, SOFT, functions)
