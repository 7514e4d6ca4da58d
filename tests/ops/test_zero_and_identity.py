"""`is_zero`, `is_identity` and `trace`: relative to the terms, at any scale, without being fooled."""

import numpy as np
import pytest

import soacraft as sc
from soacraft.algebra.spaces import rounding
from soacraft.algebra.values import measure

I = sc.I
SCALES = [1e-250, 1e-100, 1e-12, 1.0, 1e12, 1e100, 1e250]


@pytest.fixture(scope="module")
def s():
    return sc.operators(sc.random_tree(6, seed=4))


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


@pytest.mark.parametrize("c", SCALES)
def test_multiples_are_zero_or_not_as_what_they_are_multiples_of(s, c):
    assert not (c * s.phi).is_zero()
    assert not (c * s.Omega).is_zero()
    assert not (c * s.E_phi).is_zero()
    assert not (c * mass_matrix(s).inv).is_zero()
    assert (c * (s.phi * (I - s.E_phi)) - c * I).is_zero()
    assert (c * s.phi * (I - s.E_phi) - c * I).is_zero()
    assert (c * (s.H * s.tau_bar)).is_zero()
    assert not (c * s.phi - 1.001 * c * s.phi).is_zero()
    assert ((c * s.phi) * ((1 / c) * s.phi.inv)).is_identity()
    assert not ((c * s.phi) * ((1.001 / c) * s.phi.inv)).is_identity()
    assert not (c * s.phi).is_identity()


@pytest.mark.parametrize("mass", [1e-15, 1e-6, 1.0, 1e6, 1e15])
def test_light_and_heavy_models(mass):
    """The inverse of a heavy mass matrix is small, and is not zero."""
    mb = sc.Multibody("scaled")
    one = sc.Inertia(mass, (0.3, 0.1, 0.2), mass * np.diag([0.1, 0.2, 0.15]))
    mb.add_body("a", None, sc.Pin((0, 0, 1)), one)
    mb.add_body("b", "a", sc.Universal((0, 1, 0), (1, 0, 0)), one, sc.Pose(translation=(0.4, 0, 0)))
    s = sc.operators(mb)
    for expr in (s.M, s.D, s.D.inv, mass_matrix(s), mass_matrix(s).inv, s.Omega, s.Upsilon, s.K):
        assert not expr.is_zero(), expr
        assert not (expr - 1.001 * expr).is_zero(), expr
        assert (expr - expr).is_zero()
    assert (mass_matrix(s) * mass_matrix(s).inv).is_identity()
    assert (s.psi.T * s.H.T * s.D.inv * s.H * s.psi - s.Omega).is_zero()
    assert not (s.psi.T * s.H.T * mass_matrix(s).inv * s.H * s.psi - s.Omega).is_zero()


@pytest.mark.parametrize("ratio", [1e6, 1e12, 1e18])
def test_a_heavy_body_hides_nothing_of_a_light_one(ratio):
    """A ship with a fly on it: the fly's inertia doubled is a difference."""
    heavy, light = np.diag([1.0, 2.0, 3.0]) * ratio, np.diag([1.0, 2.0, 3.0])
    one = np.eye(3)
    model = sc.SKOModel([-1, -1], [None, None], [one[:1]] * 2, [heavy, light])
    s = sc.operators(model)
    assert not (s.M * sc.diag_of(s.H.T * s.H) - 2 * s.M * sc.diag_of(s.H.T * s.H)).is_zero()
    other = sc.operators(sc.SKOModel([-1, -1], [None, None], [one[:1]] * 2, [0 * heavy, light]))
    # the same numbers in one model: M with the light block only
    light_only = s.M.inv.array() @ other.M.array()
    assert light_only[3:, 3:].any()
    picked = s.B("1") * s.B("1").T  # picks the light node
    assert not (picked * s.M * picked - 2 * (picked * s.M * picked)).is_zero()
    assert not (s.M - s.M * (I + picked)).is_zero()


def test_a_product_that_cancels_is_zero(s):
    """One term only: measured against its factors."""
    for expr in (s.H * s.tau_bar, s.E_psi * s.G, s.tau * s.tau_bar, s.psi * s.G - s.G, s.tau_bar * s.tau * s.tau_bar):
        assert expr.is_zero(), expr.text()
    for expr in (s.H * s.tau, s.E_phi * s.G, s.tau * s.tau, s.phi * s.G - s.G):
        assert not expr.is_zero(), expr.text()


@pytest.mark.parametrize(("small", "zero"), [(1e-6, False), (1e-10, False), (1e-14, True)])
def test_small_beside_large_is_not_rounding(small, zero):
    """H M H* picks an entry of M that is small relative to another of the same block: rounding is 1e-12 of that."""
    one = np.eye(2)
    s = sc.operators(sc.SKOModel([-1], [None], [one[:1]], [np.diag([small, 1.0])]))
    assert (s.H * s.M * s.H.T).is_zero() is zero


def test_an_inertia_that_is_nothing_but_rounding():
    """A massless node without dofs carries one that is wholly free to move: its P is zero but for rounding."""
    one = np.ones((1, 1))
    for weight in (0.3, 0.7, 0.094, 1.1):
        model = sc.SKOModel([-1, 0], [None, weight * one], [np.zeros((0, 1)), 1.311 * one], [0 * one, 1.719 * one])
        s = sc.operators(model)
        assert (s.phi * s.M * s.psi.T - s.P - s.phi_tilde * s.P - s.P * s.psi_tilde.T).is_zero()
        assert (s.P - s.P_plus - s.tau * s.P).is_zero()
        for name in ("P", "P_plus"):
            assert sc.check_operator(getattr(s, name)).ok


def test_zero_exactly(s):
    assert (0 * s.phi).is_zero()
    assert (s.phi - s.phi).is_zero()
    assert (s.E_phi ** max(s.sko.tree.depth)).is_zero()
    assert not (s.E_phi ** (max(s.sko.tree.depth) - 1)).is_zero()


def test_the_tolerance_is_relative(s):
    nearly = s.phi - (1 + 1e-6) * s.phi
    assert not nearly.is_zero()
    assert not nearly.is_zero(tolerance=1e-7)
    assert nearly.is_zero(tolerance=1e-5)
    assert (1e9 * nearly).is_zero(tolerance=1e-5)
    assert not (1e-9 * nearly).is_zero(tolerance=1e-7)


def test_one_bad_entry_is_seen(s):
    """A single block that is off, anywhere."""
    for body in s.body.labels:
        e = s.B(body) * s.B(body).T
        assert not (s.phi * (I - s.E_phi) - I + 1e-6 * e).is_zero()
        assert not (I + 1e-6 * e).is_identity()


def test_identity(s):
    assert (I + 0 * s.M).is_identity()
    assert (s.phi * s.phi.inv).is_identity()
    assert ((I + s.H * s.phi * s.K) * (I - s.H * s.psi * s.K)).is_identity()
    assert not (2 * I + 0 * s.M).is_identity()
    assert not s.M.is_identity()
    with pytest.raises(sc.errors.SpaceError, match="I is square, but H maps"):
        s.H.is_identity()


def test_nan_and_overflow_are_neither(s):
    with np.errstate(all="ignore"):
        infinite = 1e200 * (1e200 * s.phi)
        assert not infinite.is_zero()
        assert not (infinite - infinite).is_zero()  # NaN
        assert not (infinite - infinite).is_identity()
        assert measure.relative_norm(infinite - infinite) == float("inf")


def test_many_bodies_are_probed(monkeypatch):
    """Above 200 bodies random vectors are used instead of all columns."""
    n = 250
    mb = sc.serial_chain(n)
    mb.q = np.random.default_rng(0).uniform(-0.3, 0.3, n)
    s = sc.operators(mb)
    widths = []
    apply = type(s.phi).apply
    monkeypatch.setattr(type(s.phi), "apply", lambda self, x: widths.append(x.shape[-1]) or apply(self, x))
    assert (s.phi * (I - s.E_phi)).is_identity()
    assert (s.H * s.psi * s.M * s.psi.T * s.H.T - s.D).is_zero()
    assert set(widths) <= {measure.PROBES, rounding.NOISES * measure.PROBES}  # rounding goes with each column
    assert not (s.H * s.psi * s.M * s.psi.T * s.H.T - 1.001 * s.D).is_zero()
    one = s.B("link200") * s.B("link200").T
    assert not (s.phi * (I - s.E_phi) + 1e-3 * one).is_identity()
    small = sc.operators(sc.serial_chain(3))
    widths.clear()
    assert (small.phi * (I - small.E_phi)).is_identity()
    assert set(widths) <= {18, rounding.NOISES * 18}


def test_traces(s):
    for expr in (
        s.M,
        s.phi,
        s.Omega,
        mass_matrix(s),
        mass_matrix(s).inv,
        s.D.inv,
        0.5 * s.phi - s.M,
        s.E_phi,
        s.phi**2,
    ):
        np.testing.assert_allclose(expr.trace(), np.trace(expr.array()), rtol=1e-10, atol=1e-12)
    assert s.phi.trace() == pytest.approx(36.0)
    assert np.ndim(s.M.trace()) == 0
    assert s.E_phi.trace() == 0.0


def test_traces_over_many_columns():
    s = sc.operators(sc.serial_chain(60))
    assert s.phi.trace() == pytest.approx(360.0)  # more than one piece of 256 columns
