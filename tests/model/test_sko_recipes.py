"""The four models of `examples/12_sko_models.py` against formulas that know nothing of SKO models."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import soacraft as sc
from soacraft import dynamics

MODELS = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "12_sko_models.py"))


@pytest.fixture
def rng():
    return np.random.default_rng(5)


# -- heat -----------------------------------------------------------------------------------------------------------


def test_heat_conductors_against_the_network_of_resistances(rng):
    """C theta' = - L theta + Q, L the Laplacian of the contacts."""
    n = 7
    C, R, Q, theta = rng.uniform(1, 3, n), rng.uniform(0.2, 2, n), rng.standard_normal(n), rng.standard_normal(n)
    L = np.diag(1 / R + np.append(1 / R[1:], 0.0)) - np.diag(1 / R[1:], 1) - np.diag(1 / R[1:], -1)
    plain = MODELS["heat_chain"](C)
    blocks = (plain.edges, [plain.H(k) for k in range(n)], [plain.M(k) for k in range(n)])
    m = sc.SKOModel(plain.tree.parents, *blocks, b=[[-x] for x in Q])
    drops = np.diff(theta, prepend=0.0)
    rate = dynamics.forward_dynamics(m, None, drops, -drops / R)
    np.testing.assert_allclose(np.cumsum(rate), (-L @ theta + Q) / C, rtol=1e-10)
    np.testing.assert_allclose(dynamics.accelerations(m, None, drops, rate), (-L @ theta + Q) / C, rtol=1e-10)


def test_equal_conductors_decay_as_the_closed_form_says():
    n, C, R = 9, 2.0, 0.5
    X = dynamics.mass_matrix(MODELS["heat_chain"]([C] * n))
    found = np.sort(np.linalg.eigvals(np.linalg.solve(X, np.eye(n) / R)).real)
    j = np.arange(1, n + 1)
    np.testing.assert_allclose(found, 4 / (R * C) * np.sin((2 * j - 1) * np.pi / (4 * n + 2)) ** 2, rtol=1e-9)


# -- cable ----------------------------------------------------------------------------------------------------------


def test_a_cable_against_lagrange(rng):
    """sum_j m_ij l^2 (cos(qi - qj) qj'' + sin(qi - qj) qj'^2) + m_ii g l cos qi = T, m_ij the mass beyond both."""
    n, l, g = 5, 0.7, 9.81
    masses = rng.uniform(0.5, 2, n)
    beyond = np.cumsum(masses[::-1])[::-1]
    mass = np.array([[beyond[max(i, j)] for j in range(n)] for i in range(n)])
    m = MODELS["cable"](masses, l, g)
    for _ in range(3):
        q, v, T = rng.standard_normal((3, n))
        between = q[:, None] - q[None, :]
        X = mass * l**2 * np.cos(between)
        C = mass * l**2 * np.sin(between) @ v**2 + beyond * g * l * np.cos(q)
        np.testing.assert_allclose(dynamics.mass_matrix(m, q), X, atol=1e-12)
        np.testing.assert_allclose(dynamics.bias_force(m, q, v), C, atol=1e-11)
        np.testing.assert_allclose(dynamics.forward_dynamics(m, q, v, T), np.linalg.solve(X, T - C), rtol=1e-8)
    assert m.derivatives == "A constant, H by the function given, M constant"
    assert sc.check_derivative((s := sc.operators(m)).H * s.phi * s.M * s.phi.T * s.H.T, "2").ok


def test_a_cable_keeps_its_energy():
    m = MODELS["cable"]([1.0, 2.0, 0.5], 1.0)
    q, v = np.array([-0.3, -0.9, 0.2]), np.array([0.5, -0.2, 1.0])
    heights = lambda q: np.cumsum(np.sin(q))  # noqa: E731

    def energy(q, v):
        return dynamics.kinetic_energy(m, q, v) + 9.81 * heights(q) @ [1.0, 2.0, 0.5]

    start, h = energy(q, v), 0.01
    for _ in range(10):  # Runge-Kutta of order four
        def f(q, v):
            return v, dynamics.forward_dynamics(m, q, v, np.zeros(3))

        a1, b1 = f(q, v)
        a2, b2 = f(q + h / 2 * a1, v + h / 2 * b1)
        a3, b3 = f(q + h / 2 * a2, v + h / 2 * b2)
        a4, b4 = f(q + h * a3, v + h * b3)
        q, v = q + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4), v + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
    assert energy(q, v) == pytest.approx(start, abs=1e-5)


# -- truss ----------------------------------------------------------------------------------------------------------


def elements(bays, width, height):
    """(joint, joint) of each bar, bay by bay, and the positions of the joints; joints 0 and 1 are on the wall."""
    places = np.array([(width * k, height * top) for k in range(bays + 1) for top in (0, 1)])
    pairs = []
    for k in range(1, bays + 1):
        low, up, low_before, up_before = 2 * k, 2 * k + 1, 2 * k - 2, 2 * k - 1
        pairs += [(low_before, low), (up_before, up), (low, up), (low_before, up)]
    return pairs, places


def test_a_truss_against_finite_elements(rng):
    """Stiffness and mass assembled bar by bar; the same frequencies, and the same bar forces."""
    bays, width, height, mass = 4, 1.2, 0.8, 1.7
    pairs, places = elements(bays, width, height)
    compatibility = np.zeros((len(pairs), 2 * len(places)))
    for row, (i, j) in enumerate(pairs):
        along = (places[j] - places[i]) / np.linalg.norm(places[j] - places[i])
        compatibility[row, 2 * i : 2 * i + 2], compatibility[row, 2 * j : 2 * j + 2] = -along, along
    B, stiffness = compatibility[:, 4:], rng.uniform(1, 2, len(pairs))
    m = MODELS["truss"](bays, width, height, mass)
    by_elements = np.sort(np.linalg.eigvals(B.T @ np.diag(stiffness) @ B / mass).real)
    by_blocks = np.sort(np.linalg.eigvals(np.linalg.solve(dynamics.mass_matrix(m), np.diag(stiffness))).real)
    np.testing.assert_allclose(by_blocks, by_elements, rtol=1e-8)
    s, load = sc.operators(m), rng.standard_normal(4 * bays)
    np.testing.assert_allclose(np.asarray(s.H * (s.phi * load)), np.linalg.solve(B.T, load), atol=1e-10)


# -- gears ----------------------------------------------------------------------------------------------------------


def test_gears_against_reflected_inertias():
    parents, ratios, J = [-1, 0, 1, 1, 3], np.array([1.0, -3.0, 2.0, -4.0, 0.5]), np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    m = MODELS["gear_train"](parents, ratios, J, twisting=())
    speed = np.array([1.0, -3.0, -6.0, 12.0, 6.0])
    assert dynamics.mass_matrix(m)[0, 0] == pytest.approx(J @ speed**2)
    assert sc.operators(m).phi[0, 4][0, 0] == pytest.approx(6.0)


def test_twisting_shafts():
    """speeds = S v for the motor and two twists, by hand."""
    parents, ratios, J = [-1, 0, 1, 1], [1.0, -3.0, 2.0, -4.0], np.array([0.1, 0.2, 0.3, 0.4])
    m = MODELS["gear_train"](parents, ratios, J, twisting=(1, 3))
    S = np.array([[1, 0, 0], [-3, 1, 0], [-6, 2, 0], [12, -4, 1]], dtype=float)
    np.testing.assert_allclose(dynamics.mass_matrix(m), S.T @ np.diag(J) @ S)
    T = np.array([1.0, -0.2, 0.4])
    np.testing.assert_allclose(dynamics.forward_dynamics(m, None, 0 * T, T), np.linalg.solve(S.T @ np.diag(J) @ S, T))
