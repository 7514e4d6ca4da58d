"""Curves: through their points, monotone, with a slope and an integral that belong to them; what is none is refused."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.optimize

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import ModelError

X = np.array([-1.0, -0.4, 0.1, 0.9, 2.0, 2.2])
Y = np.array([-3.0, -1.0, 0.5, 0.5, 4.0, 1.0])


def test_the_monotone_cubic_is_that_of_scipy():
    """PchipInterpolator, of the same paper; and straight beyond the points."""
    curve, theirs = sc.Curve(X, Y), scipy.interpolate.PchipInterpolator(X, Y)
    x = np.linspace(-1.0, 2.2, 301)
    np.testing.assert_allclose(curve(x), theirs(x), atol=1e-14)
    inside = np.setdiff1d(x, X)
    np.testing.assert_allclose(curve.slope(inside), theirs.derivative()(inside), atol=1e-12)
    for end, out in ((-1.0, -2.5), (2.2, 3.0)):
        assert curve(out) == pytest.approx(float(theirs(end) + (out - end) * theirs.derivative()(end)), rel=1e-14)
    np.testing.assert_array_equal(curve(X), Y)


def test_straight_lines():
    curve, x = sc.Curve(X, Y, kind="linear"), np.linspace(-1.0, 2.2, 101)
    np.testing.assert_allclose(curve(x), np.interp(x, X, Y), atol=1e-15)
    assert float(curve(3.2)) == pytest.approx(1.0 - 15.0, rel=1e-14)


@pytest.mark.parametrize("kind", ["cubic", "linear"])
@pytest.mark.parametrize("count", [2, 3, 6])
def test_the_integral_is_that_of_the_curve(kind, count):
    curve = sc.Curve(X[:count], Y[:count], kind)
    for a, b in ((-2.0, -0.7), (-0.9, 1.5), (0.3, 4.0)):
        parts = np.concatenate([[a], X[(a < X) & (b > X)], [b]])
        area = sum(scipy.integrate.fixed_quad(curve, *x, n=3)[0] for x in pairwise(parts))
        assert float(curve.integral(b) - curve.integral(a)) == pytest.approx(area, rel=1e-13)


@pytest.mark.parametrize("kind", ["cubic", "linear"])
def test_the_integral_begins_where_the_curve_is_zero(kind):
    """As the energy of a spring of one stiffness, which is zero at its rest."""
    spring = sc.Curve([0.0, 1.0], [-2.0, 6.0], kind)
    np.testing.assert_allclose(spring.integral([0.25, 1.0, 3.0]), 4.0 * np.array([0.0, 0.75, 2.75]) ** 2, atol=1e-14)
    assert float(sc.Curve([1.0, 2.0], [3.0, 4.0], kind).integral(1.0)) == 0.0
    curve = sc.Curve(X, Y, kind)
    zero = scipy.optimize.brentq(curve, -0.4, 0.1, xtol=1e-15)
    assert float(curve.integral(zero)) == pytest.approx(0.0, abs=1e-15)


def test_a_curve_of_one_stiffness_is_that_stiffness():
    """Spring, damper and tendon, in all dynamics."""
    def pendulum(k, d, length):
        mb = sc.load("double_pendulum")
        mb.root.add_node("wall", sc.Pose(translation=[1.0, 0.2, 0.3]))
        mb.add_spring("s", "inertial/wall", "lower", k, length, d)
        mb.add_tendon("t", {"upper": 1.0, "lower": -0.5}, k, d, length)
        return mb

    by_number = pendulum(4.0, 0.6, 0.5)
    by_curve = pendulum(sc.Curve([0.0, 0.7, 1.0], [-2.0, 0.8, 2.0]), sc.Curve([-1.0, 0.0], [-0.6, 0.0]), 0.0)
    q, v, zero = np.array([0.3, -0.4]), np.array([1.0, 2.0]), np.zeros(2)
    for one, other in zip(
        (*dyn.forward_dynamics_derivatives(by_number, q, v, zero), dyn.passive_energy(by_number, q)),
        (*dyn.forward_dynamics_derivatives(by_curve, q, v, zero), dyn.passive_energy(by_curve, q)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_allclose(
        dyn.forward_dynamics(by_curve, q, v, zero), dyn.forward_dynamics(by_number, q, v, zero), rtol=1e-12
    )


def test_copies_and_files(tmp_path):
    curve = sc.Curve(X, Y, "linear")
    assert copy.deepcopy(curve) == curve == pickle.loads(pickle.dumps(curve))
    assert curve != sc.Curve(X, Y)
    assert hash(curve) == hash(sc.Curve(X, Y, "linear"))
    mb = sc.load("pendulum")
    mb.add_spring("s", "inertial", "bob/tip", curve, damping=sc.Curve([0, 1], [0, 2]))
    mb.add_tendon("t", {"bob": 1.0}, sc.Curve(X, Y))
    sc.save(mb, tmp_path / "curved.json")
    for other in (sc.load(tmp_path / "curved.json"), mb.copy(), pickle.loads(pickle.dumps(mb))):
        assert other.springs["s"].stiffness == curve
        assert other.tendons["t"].stiffness == sc.Curve(X, Y)
        assert dyn.passive_force(other, [0.3], [0.4]) == dyn.passive_force(mb, [0.3], [0.4])
    assert "stiffness linear curve of 6 points from (-1, -3) to (2.2, 1)" in repr(mb.springs["s"])


def test_a_damper_that_drives_is_found_by_the_check():
    mb = sc.load("pendulum")
    mb.add_spring("s", "inertial", "bob/tip", sc.Curve([0, 1], [0, 2]), damping=sc.Curve([-1, 0, 1], [1, 0, -1]))
    found = str(sc.check(mb))
    assert "its damping is negative and feeds energy into the motion" in found
    assert "its stiffness is negative" not in found


REFUSED = [
    (lambda mb: sc.Curve([0, 1], [0, 1], "spline"), "a curve is 'cubic' or 'linear' between its points, got kind='spl"),
    (lambda mb: sc.Curve([0, 1, 1], [0, 1, 2]), "x of a curve must grow from point to point, got 1 and then 1"),
    (lambda mb: sc.Curve([0], [0]), "a curve goes through two points or more, as many x as y; got (1,) and (1,)"),
    (lambda mb: sc.Curve([0, 1], [0, 1, 2]), "as many x as y; got (2,) and (3,)"),
    (lambda mb: sc.Curve([0, np.nan], [0, 1]), "x of a curve"),
    (lambda mb: sc.Curve([0, 5e-324], [0, 1]), "a curve through these points overflows"),
    (lambda mb: mb.add_spring("s", "inertial", "bob", sc.Curve([0, 1], [0, 1]), 0.5), "its length 0.5 to 0.5 would"),
    (lambda mb: mb.add_spring("s", {"bob": 1.0}, 3.0), "spring 's' is along a combination of dofs, which has no nodes"),
]  # fmt: skip


@pytest.mark.parametrize(("act", "text"), REFUSED, ids=lambda x: x if isinstance(x, str) else "")
def test_refusals(act, text):
    with pytest.raises(ModelError) as error:
        act(sc.load("pendulum"))
    assert text in str(error.value)
