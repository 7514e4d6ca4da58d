"""Ranks, stability and base parameters at nine scales."""

import numpy as np
import pytest
from tests.scales.models import arm, floating
from tests.scales.scaled import NINE, Units, scaled, scaled_state

import soacraft as sc
from soacraft import analysis
from soacraft import dynamics as dyn
from soacraft.errors import SingularError

nine_scales = pytest.mark.parametrize("units", NINE, ids=str)
MAKE = {"arm": arm, "floating": floating}


@pytest.fixture(scope="module")
def base():
    return {name: analysis.base_parameters(make()) for name, make in MAKE.items()}


@nine_scales
@pytest.mark.parametrize("name", MAKE)
def test_base_parameters(units, name, base):
    """As many, led by the same, and the same combinations in the other units."""
    mb = scaled(MAKE[name](), units)
    there, here = analysis.base_parameters(mb), base[name]
    assert there.rank == here.rank
    assert there.independent == here.independent
    L = units.length
    u = units.mass * np.tile([1.0] + 3 * [L] + 6 * [L * L], len(mb))
    np.testing.assert_allclose(there.basis / u[there.columns][:, None] * u, here.basis, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(there.values / u[there.columns], here.values, rtol=1e-5, atol=1e-6)


def test_how_many_an_arm_has():
    """A pendulum shows three, an upright door one, in any units."""
    door = sc.Multibody("door")
    door.add_body("leaf", None, sc.Pin((0, 0, 1)), sc.Inertia(2.0, (0.4, 0.0, 0.0), np.diag([0.3, 0.2, 0.1])))
    for units in NINE:
        assert analysis.base_parameters(scaled(sc.load("pendulum"), units)).rank == 3
        assert analysis.base_parameters(scaled(door, units)).independent == ("leaf.J_zz",)


@nine_scales
def test_manipulability(units):
    """Bent, the arm moves its tool in all directions; stretched, it turns it about y and z and moves it along x; a cart
    with a pole moves in two."""
    mb = scaled(arm(), units)
    bent = analysis.manipulability(mb, mb.q, "link7/tool")
    assert bent.rank == 6
    assert np.isfinite(bent.smallest_gradient).all()
    assert analysis.manipulability(mb, np.zeros(7), "link7/tool").rank == 3
    assert analysis.manipulability(mb, np.zeros(7), "link7/tool", rows="linear").rank == 1
    cart = scaled(sc.load("cart_pole"), units)
    assert analysis.manipulability(cart, [0.0, 0.3], "pole/tip").rank == 2


@nine_scales
def test_operational_space(units):
    mb = scaled(arm(), units)
    L = np.repeat([1.0, units.length], 3)
    C = dyn.operational_space_compliance(mb, mb.q, "link7/tool") / L[:, None] / L * (units.mass * units.length**2)
    np.testing.assert_allclose(C, dyn.operational_space_compliance(arm(), mb.q, "link7/tool"), rtol=1e-6, atol=1e-6)
    dyn.operational_space_inertia(mb, mb.q, "link7/tool")
    with pytest.raises(SingularError, match="has rank 3 of 6"):
        dyn.operational_space_inertia(mb, np.zeros(7), "link7/tool")
    X = dyn.operational_space_inertia(mb, np.zeros(7), "link7/tool", allow_singular=True)
    here = dyn.operational_space_inertia(arm(), np.zeros(7), "link7/tool", allow_singular=True)
    unit = units.mass * units.length**2 / L[:, None] / L
    np.testing.assert_allclose(X / unit, here, rtol=1e-6, atol=1e-8 * np.abs(here).max())


@nine_scales
def test_diagonal_equations_of_motion(units):
    """Mcal = m m* and the kinetic energy, also where D has turns and travels of very different sizes."""
    one = floating()
    q, v = one.random_state(7)
    mb, (at, moves) = scaled(one, units), scaled_state(one, units, q, v)
    d, M = analysis.diagonalize(mb, at, moves), dyn.mass_matrix(mb, at)
    u = np.sqrt(np.diag(M))
    np.testing.assert_allclose(d.factor @ d.factor.T / np.outer(u, u), M / np.outer(u, u), rtol=0.0, atol=1e-5)
    assert abs(d.nu @ d.nu / units.energy / dyn.kinetic_energy(one, q, v) - 2.0) < 1e-5
    assert np.isfinite(d.C_nu).all()


@nine_scales
def test_stability(units):
    """A double pendulum hangs and does not stand; a cart drifts, which is not growth."""
    two = scaled(sc.load("double_pendulum"), units)
    hanging = analysis.linearize(two, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    assert hanging.is_stable
    assert not analysis.linearize(two, [np.pi, 0.0], [0.0, 0.0], [0.0, 0.0]).is_stable
    here = analysis.linearize(sc.load("double_pendulum"), [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]).eigenvalues
    rates = np.sort(np.abs(hanging.eigenvalues.imag)) * units.time
    np.testing.assert_allclose(rates, np.sort(np.abs(here.imag)), rtol=1e-9)
    cart = scaled(sc.load("cart_pole"), units)
    upright, below = ([0.0, 0.0], [0.0, np.pi])
    assert sorted(bool(analysis.linearize(cart, q, [0.0, 0.0], [0.0, 0.0]).is_stable) for q in (upright, below)) == [
        False,
        True,
    ]


@nine_scales
def test_modes_of_a_cart_with_a_pole(units):
    """(lambda^2 M + lambda C + K) x = 0, with entries of metres and of radians; counts and rates in any units."""
    cart = sc.load("cart_pole")
    q, v = scaled_state(cart, units, [0.2, 0.4], [0.1, -0.2])
    found = analysis.modes(scaled(cart, units), q, v)
    plain = analysis.modes(cart, [0.2, 0.4], [0.1, -0.2])
    assert found.rigid == plain.rigid == 1
    np.testing.assert_allclose(found.eigenvalues * units.time, plain.eigenvalues, rtol=1e-8)
    rates = found.eigenvalues * units.time
    x = found.vectors / np.array([units.length, 1.0])[:, None]
    K, C, M = sc.dynamics.inverse_dynamics_derivatives(cart, [0.2, 0.4], [0.1, -0.2], np.zeros(2))
    left = M @ x * rates**2 + C @ x * rates + K @ x
    np.testing.assert_allclose(left, 0.0, atol=1e-8 * np.abs(K).max() * np.abs(x).max())


def test_weak_growth_is_growth():
    """A pendulum that falls in a year, in seconds: 1e-7 of a hertz is not nothing."""
    slow = scaled(sc.load("pendulum"), Units(time=1e9))
    assert not analysis.linearize(slow, [np.pi], [0.0], [0.0]).is_stable
    assert analysis.linearize(slow, [0.0], [0.0], [0.0]).is_stable
