"""Reduction to modes: frequencies of bodies on hinges against closed forms, whichever modes describe them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh
from tests.flexible.models import held_frequencies, in_plane, joined, slender

import soacraft.flexible as fx
from soacraft.errors import ModelError, SingularError
from soacraft.model.modal.inertia import mass_matrix
from soacraft.spatial.rotations import skew

#: beta L of uniform Euler beams.
CANTILEVER = (1.875104068712, 4.694091132974, 7.854757438238, 10.995540734875)
FREE = (4.730040744863, 7.853204624096, 10.995607838002)
PINNED_FREE = (3.926602312048, 7.068582745629, 10.210176122813)
PIN, FLOAT = np.eye(6)[2], np.eye(6)  # a turn about z; all motions


def beta(K, M, skip=0):
    """beta L of the elastic vibrations: omega^(1/2) of a beam of unit length, mass and stiffness."""
    return np.sqrt(np.sqrt(np.abs(eigh(K, M, eigvals_only=True)[skip:])))


def velocity(node):
    """[w; v] of a node at eta = 0, of [V; d eta/dt]."""
    X = np.hstack([np.eye(6), np.vstack([node.lam, node.gam])])
    X[3:, :3] = -skew(node.pose.translation)  # w x l
    return X


def test_cantilever_frequencies_and_effective_masses():
    data = fx.reduce(slender(40), ["root"], "fixed", modes=8)
    np.testing.assert_allclose(data.M, np.eye(8), atol=1e-11)
    assert np.abs(data.K - np.diag(np.diagonal(data.K))).max() < 1e-9 * data.K.max()
    np.testing.assert_allclose(np.sqrt(np.sqrt(np.diagonal(data.K)))[::2], CANTILEVER, rtol=2e-6)
    # modes of equal frequency are turned to the axes
    np.testing.assert_allclose((data.p**2)[::2, 1], [0.613076090, 0.188300361, 0.064732232, 0.033086890], rtol=1e-6)
    np.testing.assert_allclose((data.p**2)[1::2, 2], (data.p**2)[::2, 1], rtol=1e-9)
    assert np.abs(data.p[:, 0]).max() < 1e-12


def test_clamped_modes_on_a_pin_and_on_nothing():
    """From above, and nearer with each mode."""
    fe, before = slender(), np.inf
    for modes in (4, 6):
        data = fx.reduce(fe, ["root"], "fixed", modes=2 * modes)
        pinned = beta(*joined(data, PIN))
        near = [pinned[np.argmin(np.abs(pinned - x))] for x in PINNED_FREE]
        off = np.array(near) / PINNED_FREE - 1.0
        assert (off > 0.0).all()
        assert off.max() < before
        before = off.max()
    assert before < 1e-3
    free = in_plane(beta(*joined(data, FLOAT), skip=6))
    assert (free[:2] > FREE[:2]).all()
    np.testing.assert_allclose(free[:2], FREE[:2], rtol=1e-3)


def test_free_modes_on_a_pin_at_the_root():
    """Modes of the free body, held by its root node: velocities of the body frame that keep the root in place."""
    data = fx.reduce(slender(), ["root"], "free", modes=16)
    np.testing.assert_allclose(in_plane(np.sqrt(np.sqrt(np.diagonal(data.K))))[:3], FREE, rtol=5e-5)  # of 20 elements
    np.testing.assert_allclose(mass_matrix(data, np.zeros(16))[:6, 6:], 0.0, atol=1e-9)  # mean axes
    root = data.node("root")
    held = velocity(root)
    K, M = joined(data, FLOAT)
    rows = np.delete(held, 2, axis=0)  # all but the turn about z
    free = np.linalg.svd(rows)[2][5:].T
    got = beta(free.T @ K @ free, free.T @ M @ free)
    for x in PINNED_FREE:
        assert 0.0 < got[np.argmin(np.abs(got / x - 1.0))] / x - 1.0 < 1e-3


def test_a_hub_on_the_pin_and_a_mass_at_the_tip():
    data = fx.reduce(slender(), ["root", "tip"], modes=20)
    K, M = joined(data, PIN)
    M[0, 0] += 0.1
    got = beta(K, M)
    for x in (2.638924696297, 4.793770850458, 7.875652942778):
        assert abs(got[np.argmin(np.abs(got / x - 1.0))] / x - 1.0) < 5e-5
    tip = data.node("tip").gam
    got = in_plane(beta(data.K, data.M + tip.T @ tip))
    np.testing.assert_allclose(got[:2], (1.247917409606, 4.031139436715), rtol=1e-6)


def test_craig_bampton_with_its_tip_welded_or_pinned():
    data = fx.reduce(slender(), ["root", "tip"], "craig_bampton", modes=8)
    assert data.kinds[:6] == tuple(f"static tip.{x}" for x in ("tx", "ty", "tz", "rx", "ry", "rz"))
    np.testing.assert_allclose(np.hstack([data.node("tip").gam.T, data.node("tip").lam.T])[:6], np.eye(6), atol=1e-12)
    assert not data.node("root").deforms
    np.testing.assert_allclose(data.K[:6, 6:], 0.0, atol=1e-6)
    for free, value in ((range(6, 14), FREE[0]), ((5, *range(6, 14)), PINNED_FREE[0])):
        got = beta(data.K[np.ix_(free, free)], data.M[np.ix_(free, free)])
        assert abs(got[0] / value - 1.0) < 1e-5


def test_static_modes_of_one_element_lose_nothing():
    """A body of static modes alone is the element, exactly: K, M and its frequencies."""
    fe = slender(1, "timoshenko")
    data = fx.reduce(fe, ["root", "tip"], "guyan")
    np.testing.assert_allclose(data.K, fe.K.toarray()[6:, 6:], rtol=1e-12, atol=1e-12 * data.K.max())
    np.testing.assert_allclose(data.M, fe.M.toarray()[6:, 6:], rtol=1e-12, atol=1e-13)
    got = np.sqrt(eigh(data.K, data.M, eigvals_only=True))
    np.testing.assert_allclose(got[[0, 2]], (3.5327315428, 34.8068931082), rtol=1e-7)


@pytest.mark.parametrize("method", ["fixed", "free", "rubin"])
def test_residual_modes_make_static_answers_exact(method):
    """A unit force at the tip of the cantilever bends it by 1/3, a unit moment turns it by 1, with one normal mode."""
    data = fx.reduce(slender(8), ["root", "tip"], method, modes=2, residual=method != "rubin")
    tip, root = data.node("tip"), data.node("root")
    if method == "fixed":
        x = np.linalg.solve(data.K, np.hstack([tip.gam.T, tip.lam.T]))
        compliance = np.vstack([tip.gam, tip.lam]) @ x
    else:  # held at its root by the body frame
        held, moves = velocity(root), velocity(tip)[[3, 4, 5, 0, 1, 2]]
        free = np.linalg.svd(held)[2][6:].T
        K, _ = joined(data, FLOAT)
        compliance = moves @ free @ np.linalg.solve(free.T @ K @ free, (moves @ free).T)
    assert compliance[1, 1] == pytest.approx(1 / 3, rel=1e-6)
    assert compliance[2, 2] == pytest.approx(1 / 3, rel=1e-6)
    assert compliance[5, 5] == pytest.approx(1.0, rel=1e-6)
    assert compliance[1, 5] == pytest.approx(0.5, rel=1e-6)
    assert compliance[2, 4] == pytest.approx(-0.5, rel=1e-6)


def test_modes_below_a_frequency_are_all_of_them():
    """Each once, on either side of what is solved densely: 20 and 70 elements."""
    limit = (np.array(CANTILEVER[2:]) ** 2).mean() / (2 * np.pi)
    for elements in (20, 70):
        data = fx.reduce(slender(elements), ["root"], "fixed", below=limit, geometric=False)
        np.testing.assert_allclose(np.sqrt(np.sqrt(np.diagonal(data.K))), np.repeat(CANTILEVER[:3], 2), rtol=1e-4)
        free = fx.reduce(slender(elements), ["root"], "free", below=limit, geometric=False)
        np.testing.assert_allclose(np.sqrt(np.sqrt(np.diagonal(free.K))), np.repeat(FREE[:2], 2), rtol=1e-4)
    assert any("the first normal mode left out has" in x for x in data.notes)


def test_planes_are_apart_also_where_modes_carry_no_momentum():
    """The second clamped-clamped mode moves the mass both ways alike: its two planes are told by moments."""
    data = fx.reduce(slender(10), ["root", "tip"], modes=4)
    moved = np.abs(data.shapes[:, 1:, 6:]).max(axis=0)  # along y and z, of each normal mode
    assert (moved.min(axis=0) < 1e-6 * moved.max(axis=0)).all()


def test_a_family_cut_in_two_is_said():
    notes = fx.reduce(slender(8), ["root"], "fixed", modes=3).notes
    assert any(x.startswith("the first normal mode left out has 3.50") and "as the last one kept" in x for x in notes)


def test_orthonormal_modes_are_the_same_body():
    fe = slender(8)
    raw = fx.reduce(fe, ["root", "tip"], modes=4)
    data = fx.reduce(fe, ["root", "tip"], modes=4, orthonormal=True)
    np.testing.assert_allclose(data.M, np.eye(10), atol=1e-9)
    assert np.abs(data.K - np.diag(np.diagonal(data.K))).max() < 1e-9 * data.K.max()
    np.testing.assert_allclose(np.diagonal(data.K), held_frequencies(raw.K, raw.M) ** 2, rtol=1e-8)
    tips = [x.node("tip").gam @ np.linalg.solve(x.K, x.node("tip").gam.T) for x in (raw, data)]
    np.testing.assert_allclose(tips[1], tips[0], atol=1e-9)


def test_damping_ratios_are_those_of_the_vibrations():
    data = fx.reduce(slender(6), ["root", "tip"], modes=2, damping=0.02)
    n = data.n
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(data.M, data.K), -np.linalg.solve(data.M, data.D)]])
    poles = np.linalg.eigvals(A)
    np.testing.assert_allclose(-poles.real / np.abs(poles), 0.02, rtol=1e-6)
    with pytest.raises(ModelError, match=r"damping must not be negative, got -0.1"):
        fx.reduce(slender(6), ["root"], "fixed", modes=2, damping=-0.1)


def test_nodes_of_the_model_on_request():
    fe = slender(4)
    data = fx.reduce(fe, ["root"], "fixed", modes=2, nodes=[2])
    np.testing.assert_allclose(data.node("fe:2").gam, data.shapes[2])
    np.testing.assert_allclose(data.node("fe:2").pose.translation, (0.5, 0, 0))


def test_section_forces_of_a_tip_load():
    """Shear F and bending moment F (L - x) in the middle of elements."""
    data = fx.reduce(slender(4, "timoshenko"), ["root", "tip"], "guyan")
    F = np.array([0.0, 3.0, 0.0])
    eta = np.linalg.solve(data.K, data.node("tip").gam.T @ F)
    got = data.recover("section_force", eta)
    np.testing.assert_allclose(got[:, 1], 3.0, rtol=1e-6)
    np.testing.assert_allclose(got[:, 5], 3.0 * (1 - np.array([0.125, 0.375, 0.625, 0.875])), rtol=1e-6)


def test_units_change_nothing():
    """The same beam in millimetres, tonnes and seconds has the same frequencies and refusals."""
    for mm in (1.0, 1e3):
        steel = fx.Elastic(200e9 * (1e-6 if mm > 1 else 1.0), 0.3, 7850.0 * (1e-12 if mm > 1 else 1.0))
        fe = fx.beam(0.5 * mm, fx.Rectangle(0.01 * mm, 0.002 * mm), steel, 80)
        fe.interface("root", at=(0, 0, 0))
        data = fx.reduce(fe, ["root"], "fixed", modes=3, geometric=False)
        hz = np.sqrt(np.diagonal(data.K)) / (2 * np.pi)
        expected = CANTILEVER[0] ** 2 * np.sqrt(200e9 * 0.002**2 / 12 / 7850) / 0.25 / (2 * np.pi)
        assert hz[0] == pytest.approx(expected, rel=1e-4)


def test_what_cannot_be_reduced_is_refused():
    fe = slender(3)
    for call, text in (
        (lambda: fx.reduce(fe, ["rot"], modes=2), r"no interface 'rot'; did you mean 'root'\?"),
        (lambda: fx.reduce(fe, [], modes=2), "a body needs at least one interface"),
        (lambda: fx.reduce(fe, ["root", "root"], modes=2), "interfaces must differ"),
        (lambda: fx.reduce(fe, ["root"], "craig", modes=2), "no method 'craig' of reduction; did you mean 'craig_b"),
        (lambda: fx.reduce(fe, ["root"], "macneal", modes=2), "drops the mass of its residual modes.*use 'rubin'"),
        (lambda: fx.reduce(fe, ["root"], "fixed"), "method 'fixed' needs modes=n or below=Hz"),
        (lambda: fx.reduce(fe, ["root"], "fixed", modes=2, below=3.0), "needs modes=n or below=Hz, one of the two"),
        (lambda: fx.reduce(fe, ["root", "tip"], "guyan", modes=2), "'guyan' has static modes alone"),
        (lambda: fx.reduce(fe, ["root"], "guyan"), "method 'guyan' gives no modes here"),
        (lambda: fx.reduce(fe, ["root"], "fixed", modes=100), "100 normal modes were asked for, but .* has 18"),
        (lambda: fx.reduce(fe, ["root", "tip"], modes=2, residual=True), "has the static modes of its inter"),
        (lambda: fx.reduce(fe, ["root"], "fixed", modes=2, nodes=[7]), "an FE node must be .* from 0 to 3, got 7"),
        (lambda: fx.reduce(fe, ["root"], "fixed", below=-1.0), "below must be a positive frequency in Hz, got -1"),
        (lambda: fx.reduce("boom", ["root"]), "an FE model is needed to reduce it, got 'boom'"),
        (lambda: fx.reduce(fe, 5, modes=2), "interfaces are a list of names, got 5"),
        (lambda: fx.reduce(fe, [5], modes=2), "no interface 5; it has 'root', 'tip'"),
        (lambda: fe.interface("mid", nodes=1.5), "nodes of interface 'mid' are a list of their numbers, got 1.5"),
        (lambda: fe.interface("root", at=(0, 0, 0)), "already has an interface 'root'"),
        (lambda: fe.interface("mid", at=(0.4, 0, 0)), r"no node at \(0.4, 0, 0\); the nearest is node 1 at"),
        (lambda: fe.interface("mid"), "interface 'mid' needs a place at=... or nodes=..."),
        (lambda: fe.interface("mid", nodes=[1, 2]), "is of 2 nodes of 6 dofs: say how they move it"),
        (lambda: fe.interface("mid", nodes=[1, 2], by="RBE3"), r"nodes \(1, 2\) of interface 'mid' lie on a line"),
        (lambda: fe.interface("mid", nodes=[0], by="RBE2"), "node 0 is part of interface 'root'"),
        (lambda: fe.interface("mid", nodes=[1], by="RBE4"), "by='RBE2' or by='RBE3', got 'RBE4'"),
    ):
        with pytest.raises(ModelError, match=text):
            call()
    assert list(fe.interfaces) == ["root", "tip"]


def test_a_model_in_two_pieces_names_the_dofs_that_nothing_holds():
    bar, steel = fx.Circle(0.01), fx.Elastic(200e9, 0.3, 7850.0)
    joints = {"a": (0, 0, 0), "b": (1, 0, 0), "c": (2, 0, 0), "d": (3, 0, 0)}
    fe = fx.frame(joints, [fx.Member("a", "b", bar, steel, 2), fx.Member("c", "d", bar, steel, 1)])
    fe.interface("root", at="a")
    with pytest.raises(SingularError, match=r"with 'root' held is singular: nothing holds .* of node [23] \('[cd]'\)"):
        fx.reduce(fe, ["root"], "fixed", modes=2)
