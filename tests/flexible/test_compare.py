"""Effective masses, the assurance criterion, reports, pieces of beams."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import block_diag
from tests.cards.page import Page
from tests.flexible.models import held_frequencies, slender

import soacraft.flexible as fx
from soacraft.errors import ModelError
from soacraft.flexible.compare import _gyration
from soacraft.model.modal.inertia import mass_matrix
from soacraft.spatial.rotations import skew


def test_effective_masses_of_a_cantilever_by_any_modes():
    """.613, .188, .065 of its mass, whether its modes are its own or Craig and Bampton's; all in all nine tenths."""
    fe = slender(30)
    for data in (fx.reduce(fe, ["root"], "fixed", modes=12), fx.reduce(fe, ["root", "tip"], modes=16)):
        got = fx.effective_mass(data)
        pairs = got.parts[:6, 1:3].reshape(3, 2, 2).sum(axis=1)
        known = np.array([0.613076090, 0.188300361, 0.064732232])
        np.testing.assert_allclose(pairs, np.column_stack([known, known]), rtol=2e-4)
        np.testing.assert_allclose(got.masses, got.parts[:, :3] * data.mass)
    assert 0.9 < got.parts[:, 1].sum() < 1.0


def test_effective_inertia_of_the_first_mode():
    """The share of the first bending mode in the inertia about the root, 3 (2 / (1.8751^2))^2 = 0.9707."""
    got = fx.effective_mass(fx.reduce(slender(20), ["root"], "fixed", modes=2))
    assert got.parts[:, 5].sum() == pytest.approx(3 * (2 / 1.875104068712**2) ** 2, rel=1e-4)


def test_modes_are_like_themselves_and_not_like_others():
    fe = slender(8)
    a = fx.reduce(fe, ["root"], "fixed", modes=4)
    np.testing.assert_allclose(np.diagonal(fx.mac(a, a)), 1.0)
    assert fx.mac(a, a)[0, 1] < 1e-20  # of the other plane
    np.testing.assert_allclose(fx.mac(a, -3.0 * a.shapes), fx.mac(a, a), atol=1e-6)  # turns count little
    for b, text in (
        (np.ones((5, 2)), "modes are compared at the same points; got 27 and 5 numbers"),
        (np.zeros((27, 1)), "mode 0 of the second set is zero at all points and turns no node: it cannot be compared"),
    ):
        with pytest.raises(ModelError, match=text):
            fx.mac(a, b)


def test_torsion_is_compared_by_the_turns_of_nodes():
    """A bar's static torsion, linear along it, and its first torsional vibration, a quarter of a sine."""
    fe = fx.beam(1.0, fx.Circle(0.05), fx.Elastic(70e9, 0.33, 2700.0), elements=40)
    fe.interface("root", at=(0, 0, 0)), fe.interface("tip", at=(1, 0, 0))
    a, b = fx.reduce(fe, ["root", "tip"], "guyan"), fx.reduce(fe, ["root"], "fixed", modes=8)
    torsion = [k for k in range(b.n) if not b.shapes[..., k].any() or np.abs(b.shapes[..., k]).max() < 1e-9]
    found = fx.mac(a, b)
    # (integral of s sin(pi s / 2))^2 / (integral of s^2, integral of sin^2) = (4 / pi^2)^2 / (1/3 . 1/2)
    assert found[3, torsion[0]] == pytest.approx(96 / np.pi**4, rel=2e-2)
    assert np.delete(found[:, torsion[0]], 3).max() < 1e-12
    np.testing.assert_allclose(fx.mac(b, a), found.T, rtol=1e-12, atol=1e-15)
    millimetres = fx.beam(1e3, fx.Circle(50.0), fx.Elastic(70e3, 0.33, 2.7e-9), elements=40)
    millimetres.interface("root", at=(0, 0, 0)), millimetres.interface("tip", at=(1e3, 0, 0))
    np.testing.assert_allclose(
        fx.mac(fx.reduce(millimetres, ["root", "tip"], "guyan"), fx.reduce(millimetres, ["root"], "fixed", modes=8)),
        found, atol=1e-6,
    )  # fmt: skip


def test_the_radius_of_gyration_is_that_about_the_centre():
    """Of a bent line in space, from the masses of its points; modes of a thick and a thin one are compared alike."""
    steel = fx.Elastic(70e9, 0.33, 2700.0)
    joints = {"a": (0, 0, 0), "b": (1, 0, 0), "c": (1, 0.7, 0), "d": (1, 0.7, 0.5)}
    bodies = []
    for radius in (0.02, 0.05):
        line = [fx.Member(x, y, fx.Circle(radius), steel) for x, y in pairwise(joints)]
        fe = fx.frame(joints, line)
        fe.interface("root", at="a")
        bodies.append(data := fx.reduce(fe, ["root"], "fixed", modes=3))
        weights = fe.masses.diagonal()
        spread = np.cov(fe.points.T, aweights=weights, ddof=0)
        assert _gyration(data) == pytest.approx(np.sqrt(np.linalg.eigvalsh(spread)[0]), rel=1e-9)
    thin, thick = bodies
    np.testing.assert_allclose(fx.mac(thin, thick), fx.mac(thick, thin).T, rtol=1e-9, atol=1e-15)


def test_a_report_says_what_each_mode_is():
    table = fx.report(fx.reduce(slender(8), ["root", "tip"], modes=2, geometric=False))
    text = str(table)
    assert repr(table) == text
    assert [kind for _, kind, _ in table.modes][:2] == ["static tip.tx", "static tip.ty"]
    assert "mode6     normal 3.56" in text
    assert "- no geometric stiffening: it was switched off" in text
    assert "- mass properties of the rigid motions and of the points agree to" in text
    np.testing.assert_allclose(table.participation[1], [0, 0.5, 0, 0, 0, 0.35], atol=1e-6)  # int 3x^2 - 2x^3, times x
    page = Page(table._repr_html_())
    assert "8 modes of a flexible body" in page.text
    for name, kind, hz in table.modes:
        assert {name, kind, f"{hz:.5g}"} <= set(page.words)
    assert {"together", *table.notes} <= set(page.words)
    with pytest.raises(ModelError, match="modal data are needed for a report, got 'boom'"):
        fx.report("boom")


def test_pieces_welded_to_each_other_are_the_beam():
    """Static modes of n pieces of one element, joined tip to root, have the frequencies of n finite elements."""
    n = 4
    pieces = fx.substructure(slender(n), n)
    data = fx.reduce(pieces[0], ["root", "tip"], "guyan")
    assert all(np.allclose(fx.reduce(x, ["root", "tip"], "guyan").K, data.K, rtol=1e-9) for x in pieces)
    # velocities [V; d eta/dt] of all pieces from d eta/dt of all: V of a piece is that of the tip before it
    M, size = mass_matrix(data, np.zeros(6)), 12
    tip, l = data.node("tip"), 1 / n
    X, V = np.zeros((n, size, 6 * n)), np.zeros((6, 6 * n))
    for k in range(n):
        own = np.eye(6 * n)[6 * k : 6 * k + 6]
        X[k] = np.vstack([V, own])
        V = np.vstack([V[:3] + tip.lam @ own, V[3:] - skew(np.array([l, 0, 0])) @ V[:3] + tip.gam @ own])
    mass = sum(x.T @ M @ x for x in X)
    omega = held_frequencies(block_diag(*[data.K] * n), mass)
    np.testing.assert_allclose(omega[[0, 2]], (3.5161302706, 22.0601663079), rtol=5e-8)  # rotary inertia
    fe = slender(n)
    exact = held_frequencies(fe.K.toarray()[6:, 6:], fe.M.toarray()[6:, 6:])
    np.testing.assert_allclose(omega[:8], exact[:8], rtol=1e-10)


def test_pieces_of_a_bent_line_and_what_is_no_line():
    bar, steel = fx.Circle(0.01), fx.Elastic(200e9, 0.3, 7850.0)
    joints = {"a": (0, 0, 0), "b": (1, 0, 0), "c": (1, 2, 0)}
    bent = fx.frame(joints, [fx.Member(x, y, bar, steel, 2) for x, y in ("ab", "cb")])
    pieces = fx.substructure(bent, 2)
    np.testing.assert_allclose([x.interfaces["tip"].at for x in pieces], [(1, 0, 0), (0, 2, 0)], atol=1e-12)
    assert sum(x.mass for x in pieces) == pytest.approx(bent.mass)
    joints["d"] = (1, 0, 1)
    branched = fx.frame(joints, [fx.Member(x, y, bar, steel, 1) for x, y in ("ab", "bc", "bd")])
    heavy = slender(2)
    heavy.add_mass(1.0, node=2)
    for fe, n, text in (
        (bent, 3, "4 elements are not divided by 3 pieces; choose a divisor of 4"),
        (branched, 3, "its elements form one line; this FE model does not"),
        (heavy, 2, "point masses are not shared out to pieces"),
        (bent, 0, "the number of pieces must be a whole number of at least 1, got 0"),
    ):
        with pytest.raises(ModelError, match=text):
            fx.substructure(fe, n)
