"""Calls of the page of the papers about SKO models of functions, Kalman's filter and Kane's method."""

from __future__ import annotations

from typing import Any

import numpy as np

import soacraft as sc


def cable() -> Any:
    """Two point masses on links in a plane: an SKO model of functions."""

    def H(q: Any) -> Any:
        return [np.array([[-np.sin(x), np.cos(x)]]) for x in q]

    blocks = {"A": [None, np.eye(2)], "M": [np.eye(2)] * 2, "b": [[0.0, 9.81]] * 2}
    return sc.SKOModel([-1, 0], H=H, **blocks, q=[-1.2, -0.4], v=[0.5, -1.0])


def pendulum_of_cable() -> float:
    """Forward dynamics of the cable less that of a double pendulum by Lagrange."""
    m = cable()
    q, v = m.q, m.v
    s, c = np.sin(q[0] - q[1]), np.cos(q[0] - q[1])
    right = [-s * v[1] ** 2 - 2 * 9.81 * np.cos(q[0]), s * v[0] ** 2 - 9.81 * np.cos(q[1])]
    by_hand = np.linalg.solve([[2.0, c], [c, 1.0]], right)
    return float(np.max(np.abs(sc.dynamics.forward_dynamics(m, q, v, [0.0, 0.0]) - by_hand)))


def filtered(g: Any) -> float:
    """The largest gap between a Kalman filter, tips to base, and P, D, G, z and eps of a chain."""
    T = np.linspace(1.0, 2.0, g.nv)
    s = sc.operators(g, force=T, numbering="tip")
    x, P, gaps = np.zeros(6), np.zeros((6, 6)), []
    for k in range(1, len(g.bodies) + 1):
        H, M = s.H[k, k], s.M[k, k]
        F = s.phi[k, k - 1] if k > 1 else np.zeros((6, 6))
        x, P = F @ x, F @ P @ F.T + M
        x = x + P @ s.a[k] + s.b[k]  # known inputs
        D = H @ P @ H.T
        G, eps = P @ H.T @ np.linalg.inv(D), s.T[k] - H @ x
        for found, here in ((P, s.P[k, k]), (D, s.D[k, k]), (G, s.G[k, k]), (x, s.z[k]), (eps, s.eps[k])):
            gaps.append(np.max(np.abs(found - here)) / max(1.0, np.max(np.abs(here))))
        x, P = x + G @ eps, P - G @ H @ P
    return float(max(gaps))


def kane(g: Any) -> float:
    """The largest gap between Kane's equations, from partial velocities, and inverse dynamics."""
    s = sc.operators(g)
    partial, force = s.phi.T * s.H.T, s.M * s.alpha + s.b
    found = [sum(partial[k, j][:, 0] @ force[k] for k in g.bodies) for j in g.bodies]
    wanted = sc.dynamics.inverse_dynamics(g, g.q, g.v, g.vdot)
    return float(np.max(np.abs(found - wanted)) / np.max(np.abs(wanted)))


FUNCTIONS = {f.__name__: f for f in (cable, pendulum_of_cable, filtered, kane)}
