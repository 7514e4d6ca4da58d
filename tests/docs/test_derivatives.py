"""The page on derivatives: every rule that the package names is in its table, and the table is right in numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import soacraft as sc
from soacraft.ops.derivatives.rules import lam

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "derivatives.md").read_text()
ROWS = set(re.findall(r"^\| (G\d+a?) \|", PAGE, re.MULTILINE))


def named():
    """The rules that the text of the package speaks of, ranges written out."""
    found = set()
    for path in (ROOT / "src" / "soacraft").rglob("*.py"):
        for first, letter, last in re.findall(r"\bG(\d+)(a?)(?:-G?(\d+))?\b", path.read_text()):
            found |= {f"G{n}{letter}" for n in range(int(first), int(last or first) + 1)}
    return found


def test_every_rule_that_is_named_is_in_the_table():
    assert {"G1", "G3", "G5a", "G6", "G17", "G19"} <= named()
    assert named() - {"G13", "G18"} <= ROWS
    assert all(name in PAGE for name in ("G13", "G18"))


def test_pages_are_in_the_index():
    index = (ROOT / "docs" / "index.md").read_text().splitlines()
    assert {"derivatives", "rederiving"} <= set(index)


@pytest.mark.parametrize("axes", ["body", "inertial"])
@pytest.mark.parametrize(
    ("body", "dof"), [("pin", 0), ("helical", 0), ("universal", 1), ("spherical", 2), ("rollingball", 0)]
)
def test_the_table_in_numbers(axes, body, dof):
    """The rows as printed; `diff` is compared with differences elsewhere."""
    mb = sc.load("hinges")
    mb.set_state(*mb.random_state(seed=4))
    s = sc.operators(mb, axes=axes)
    X, W, dH, I = s.X(body, dof), s.W(body, dof), s.dH(body, dof), s.I
    H, M, phi, E_phi, E_psi = s.H, s.M, s.phi, s.E_phi, s.E_psi
    P, P_plus, D, G, tau, tau_bar, R, Y, K = s["P P_plus D G tau tau_bar R Upsilon K"]

    def turned(A):
        return W * A - A * W

    lost = G * dH * P_plus
    Pi = E_psi.lyapunov(E_phi * (X * P_plus + P_plus * X.T - lost - lost.T) * E_phi.T)
    gamma = tau_bar * (Pi * H.T + P * dH.T) * D.inv - G * dH * G
    F = E_phi * X * tau_bar - E_phi * (gamma * H + G * dH)
    S = dH * phi * M * phi.T * H.T + H * s.phi_tilde * X * phi * M * phi.T * H.T
    dD = H * Pi * H.T + dH * P * H.T + H * P * dH.T
    own = dH.T * D.inv * H + H.T * D.inv * dH - H.T * D.inv * dD * D.inv * H
    y = E_psi.T.lyapunov(sc.diag_of(F.T * Y * E_psi + E_psi.T * Y * F) + own)
    massmat = H * phi * M * phi.T * H.T
    rows = {
        "G1": (E_phi, turned(E_phi) + E_phi * X),
        "G2": (phi, turned(phi) + s.phi_tilde * X * phi),
        "G3": (H.T, W * H.T + dH.T),
        "G4": (M, turned(M)),
        "G5": (massmat, S + S.T),
        "G6": (P, turned(P) + Pi),
        "G7": (D, dD),
        "G8": (G, W * G + gamma),
        "G9": (tau, turned(tau) + gamma * H + G * dH),
        "G10": (s.psi, turned(s.psi) + s.psi * F * s.psi),
        "G11": (I + H * phi * K, dH * s.phi_tilde * G + H * s.phi_tilde * X * phi * G + H * s.phi_tilde * gamma),
        "G14": (R, turned(R) + E_phi.lyapunov(E_phi * (X * R + R * X.T) * E_phi.T)),
        "G15": (P_plus, turned(P_plus) + tau_bar * Pi * tau_bar.T - lost - lost.T),
        "G16": (Y, turned(Y) + y),
    }
    if mb[body].hinge.nv == 1:
        rows["G5a"] = massmat, H * phi * (X * phi * M + M * phi.T * X.T) * phi.T * H.T
        rows["G6a"] = P, turned(P) + lam(s, body, dof) - X * P - P * X.T
    for name, (expr, expected) in rows.items():
        assert name in ROWS
        assert (expr.diff(body, dof) - expected).is_zero(1e-8), name

    Y_plus = sc.diag_of(E_phi.T * Y * E_phi)
    slope = (D.inv * D.diff(body, dof)).trace()
    assert 2 * (P_plus * Y_plus * X).trace() + 2 * (dH * (I - P_plus * Y_plus) * G).trace() == pytest.approx(slope)
    if mb[body].hinge.nv == 1:
        assert 2 * (P * Y * X).trace() == pytest.approx(slope)
