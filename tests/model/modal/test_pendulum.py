"""A flexible pendulum against published digits: two clamped modes of an Euler beam on a pin, falling from rest.

L = 1, rho A = 1, EI = 25, gravity 9.81 across the beam: angle and tip deflection of CASES, with and without the
second-order displacement phi2_ij = -int phi_i' phi_j' e_x.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.flexible.test_pendulum import clamped, rate

import soacraft as sc
from soacraft.model.modal import ModalData, ModalNode

BETA = np.array([1.8751040687119611, 4.694091132974174])
DIGITS = {
    False: {
        0.25: (-0.457311531, 0.000632736),
        0.5: (-1.656647874, -0.005641570),
        0.75: (-2.790483538, -0.009305921),
        1.0: (-3.126380852, -0.009324045),
    },
    True: {
        0.25: (-0.457072473, 0.000442992),
        0.5: (-1.660161354, -0.001336250),
        0.75: (-2.795487188, -0.002548349),
        1.0: (-3.131882408, -0.001762930),
    },
}


def shapes(x):
    """Clamped-free shapes of unit modal mass, and their slopes, (points, 2)."""
    b = BETA * np.asarray(x)[..., None]
    s = (np.cosh(BETA) + np.cos(BETA)) / (np.sinh(BETA) + np.sin(BETA))
    value = np.cosh(b) - np.cos(b) - s * (np.sinh(b) - np.sin(b))
    slope = BETA * (np.sinh(b) + np.sin(b) - s * (np.cosh(b) - np.cos(b)))
    return value, slope


def beam(geometric):
    """Its modal data by Gauss quadrature on a line of mass."""
    x, w = np.polynomial.legendre.leggauss(40)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    value, _ = shapes(x)
    r, phi, e = np.zeros((40, 3)), np.zeros((40, 3, 2)), np.eye(3)
    r[:, 0], phi[:, 1, :] = x, value
    moments = dict(
        mass=1.0,
        first=w @ r,
        second=np.einsum("k,ka,kb->ab", w, r, r),
        p=np.einsum("k,kaj->ja", w, phi),
        N=np.einsum("k,ka,kbj->jab", w, r, phi),
        Q=np.einsum("k,kai,kbj->ijab", w, phi, phi),
        M=np.einsum("k,kai,kaj->ij", w, phi, phi),
        K=25.0 * np.diag(BETA**4),
    )
    gam2 = None
    if geometric:
        shrink = np.array([shortening(end) for end in x])  # -int_0^x phi_i' phi_j', (points, 2, 2)
        moments["S"] = np.einsum("k,kij,a->ija", w, shrink, e[0])
        moments["T"] = np.einsum("k,ka,kij,b->ijab", w, r, shrink, e[0])
        gam2 = np.einsum("a,ij->aij", e[0], shortening(1.0))
    tip, slope = shapes(1.0)
    node = ModalNode(sc.Pose(translation=(1, 0, 0)), np.outer(e[1], tip), np.outer(e[2], slope), gam2)
    return ModalData(**moments, nodes={"tip": node})


def shortening(end):
    x, w = np.polynomial.legendre.leggauss(40)
    _, slope = shapes(0.5 * end * (x + 1.0))
    return -np.einsum("k,ki,kj->ij", 0.5 * end * w, slope, slope)


def pendulum(geometric):
    mb = sc.Multibody("pendulum", gravity=(0, -9.81, 0))
    mb.add_body("beam", None, sc.Pin((0, 0, 1)), modal=beam(geometric))
    return mb


@pytest.mark.parametrize("geometric", [False, True])
def test_accelerations_are_those_of_the_equations_that_give_the_digits(geometric):
    """`tests.flexible.test_pendulum` integrates them, without a tree, to the digits."""
    mb = pendulum(geometric)
    of = rate(mb["beam"].modal)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        q, v = rng.standard_normal(3) * (1.0, 0.02, 0.005), rng.standard_normal(3)
        wanted = of(0.0, np.concatenate([q, v]))[3:]
        found = sc.dynamics.forward_dynamics(mb, q, v, np.zeros(3))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("geometric", [False, True])
def test_falling_for_a_second(geometric):
    mb = pendulum(geometric)
    propagator = sc.sim.Propagator(mb, integrator="dop853", rtol=1e-10)
    for t, (angle, tip) in DIGITS[geometric].items():
        propagator.advance_to(t)
        assert mb.q_of("beam")[0] == pytest.approx(angle, abs=1e-8)
        assert mb.pose("beam/tip", "beam").translation[1] == pytest.approx(tip, abs=1e-8)


def test_four_modes_and_a_chain_of_rigid_segments():
    """With phi2 and four modes it falls as segments do whose hinges have springs of EI / h: -1.65935, -0.00209."""
    fx, thin, n = sc.flexible, 1e-9, 16
    section, material = fx.Section(A=1.0, Iy=thin, Iz=thin, J=2 * thin), fx.Elastic(25.0 / thin, 0.3, 1.0)
    functions = [clamped(k) for k in (*BETA, 7.854757438237613, 10.995540734875467)]
    mb = sc.Multibody("pendulum", gravity=(0, -9.81, 0))
    mb.add_body("beam", None, sc.Pin((0, 0, 1)), modal=fx.shapes(1.0, section, material, {"y": functions}))
    sc.sim.Propagator(mb, integrator="dop853", rtol=1e-7).advance_to(0.5)
    modal = mb.q_of("beam")[0], mb.pose("beam/tip", "beam").translation[1]
    np.testing.assert_allclose(modal, (-1.65935, -0.00209), atol=1e-4)

    chain, h, last = sc.Multibody("segments", gravity=(0, -9.81, 0)), 1.0 / n, None
    bar = sc.Inertia(h, (h / 2, 0, 0), h**3 / 12 * np.diag([0, 1, 1]))
    for k in range(n):
        last = chain.add_body(f"bar{k}", last, sc.Pin((0, 0, 1)), bar, sc.Pose(translation=(h if k else 0, 0, 0)))
        last.passive = sc.Passive(stiffness=25.0 / h if k else 0.0)
    sc.sim.Propagator(chain, integrator="dop853", rtol=1e-7).advance_to(0.5)
    x = chain.pose(last) @ np.array([h, 0, 0])
    root = chain.q[0] - 0.5 * chain.q[1]  # a bar has the direction of the line at its middle
    segments = root, np.cos(root) * x[1] - np.sin(root) * x[0]
    np.testing.assert_allclose(modal, segments, atol=1e-4)
