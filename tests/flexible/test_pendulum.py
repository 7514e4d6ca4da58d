"""A flexible pendulum by Lagrange's equations of the moments alone, against published digits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import soacraft.flexible as fx
from soacraft.model.modal.inertia import mass_derivatives, mass_matrix

G = 9.81
#: beta L of the first two clamped modes.
CLAMPED = (1.875104068711961, 4.694091132974174)


def clamped(k):
    """A clamped mode of the unit beam and its two derivatives."""
    s = (np.cosh(k) + np.cos(k)) / (np.sinh(k) + np.sin(k))
    return (
        lambda x: np.cosh(k * x) - np.cos(k * x) - s * (np.sinh(k * x) - np.sin(k * x)),
        lambda x: k * (np.sinh(k * x) + np.sin(k * x) - s * (np.cosh(k * x) - np.cos(k * x))),
        lambda x: k * k * (np.cosh(k * x) + np.cos(k * x) - s * (np.sinh(k * x) + np.sin(k * x))),
    )


def rate(data):
    """y' of y = (angle, eta, their rates): d/dt (M v) - 1/2 d(v* M v)/dq + dU/dq = 0, U of K and of the weight."""
    rows = [2, 6, 7]  # the pin about z, two modes
    S = np.zeros((2, 2, 3)) if data.S is None else data.S
    # M is quadratic in eta: its value and slopes at 0, and how the slopes change along each mode
    M0 = mass_matrix(data, np.zeros(2))[np.ix_(rows, rows)]
    slopes = mass_derivatives(data, np.array([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)]))[:, :, rows][:, :, :, rows]
    M1, M2 = slopes[0], slopes[1:] - slopes[0]

    def of(t, y):
        eta, v = y[1:3], y[3:]
        dM = M1 + eta[0] * M2[0] + eta[1] * M2[1]
        M = M0 + 0.5 * (eta[0] * (M1[0] + dM[0]) + eta[1] * (M1[1] + dM[1]))
        dc = data.p + eta[0] * S[0] + eta[1] * S[1]
        c = data.first + 0.5 * eta @ (data.p + dc)
        up = np.array([np.sin(y[0]), np.cos(y[0]), 0.0])  # y of the ground in body axes
        gravity = G * np.array([c @ (np.cos(y[0]), -np.sin(y[0]), 0.0), *(dc @ up)])
        turned = dM @ v
        spin = -v[1:] @ turned
        spin[1:] += 0.5 * turned @ v
        elastic = np.concatenate([[0.0], data.K @ eta])
        return np.concatenate([v, np.linalg.solve(M, spin - gravity - elastic)])

    return of


@pytest.mark.parametrize(
    ("geometric", "angle", "tip"), [(False, -1.656647874, -0.005641570), (True, -1.660161354, -0.001336250)]
)
def test_a_pendulum_released_across_gravity(geometric, angle, tip):
    """L = 1, rho A = 1, EI = 25: its angle and the deflection of its tip after half a second."""
    I = 1e-9
    section, material = fx.Section(A=1.0, Iy=I, Iz=I, J=2 * I), fx.Elastic(25.0 / I, 0.3, 1.0)
    data = fx.shapes(1.0, section, material, {"y": [clamped(k) for k in CLAMPED]}, geometric=geometric)
    run = solve_ivp(rate(data), (0.0, 0.5), np.zeros(6), method="DOP853", rtol=1e-8, atol=1e-9)
    assert run.y[0, -1] == pytest.approx(angle, abs=1e-7)
    assert data.node("tip").gam[1] @ run.y[1:3, -1] == pytest.approx(tip, abs=1e-7)
