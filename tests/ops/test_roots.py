"""Square roots and Cholesky factors of block-diagonal operators, and what is made of them."""

import re

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import SingularError, SpaceError

I = sc.I


@pytest.fixture(scope="module")
def s():
    mb = sc.random_tree(6, seed=11)
    mb.set_state(*mb.random_state(3))
    return sc.operators(mb)


@pytest.mark.parametrize("name", ["M", "R", "P", "P_plus", "D", "Upsilon"])
def test_roots_of_the_papers_operators(s, name):
    """P_plus and Upsilon are singular."""
    X = getattr(s, name)
    W, L = X.sqrt(), X.cholesky()
    assert (W * W - X).is_zero()
    assert (L * L.T - X).is_zero()
    assert W.is_symmetric()
    for k in range(len(W.rows)):
        assert not np.triu(L[k, k], 1).any()
        assert np.linalg.eigvalsh(W[k, k]).min(initial=0.0) >= -1e-9 * np.abs(W[k, k]).max(initial=0.0)
    for root in (W, L):
        report = sc.check_operator(root)
        assert report, report


def test_known_roots():
    s = sc.operators(sc.load("arm7"))
    W = s.block_diagonal("W", {"link1": np.diag([4.0, 9.0, 1e-40, 0.0, 25.0, 1.0])})
    expected = np.diag([2.0, 3.0, 1e-20, 0.0, 5.0, 1.0])
    np.testing.assert_allclose(W.sqrt()["link1", "link1"], expected, rtol=1e-13)
    np.testing.assert_allclose(W.cholesky()["link1", "link1"], expected, rtol=1e-13)
    assert W.sqrt().text() == "W.sqrt()"
    assert (2 * s.M).cholesky().text() == "(2*M).cholesky()"
    assert s.D.sqrt().latex() == r"{\mathcal{D}}^{1/2}"


@pytest.mark.parametrize("length", [1e-10, 1.0, 1e7])
def test_every_row_is_accurate_in_any_units(length):
    """Rows of moments and of masses: W W* = X entry by entry, relative to sqrt(x(i,i) x(j,j))."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((6, 6))
    units = np.repeat([length, 1.0], 3)
    X = (a @ a.T + (a @ a.T).T) * np.outer(units, units)
    s = sc.operators(sc.load("arm7"))
    W = s.block_diagonal("W", {"link4": X})
    size = np.sqrt(np.outer(np.diag(X), np.diag(X)))
    for root in (W.sqrt(), W.cholesky()):
        assert (np.abs((root * root.T)["link4", "link4"] - X) / size).max() < 1e-13
    assert "positive_semidefinite" in W.tags


@pytest.mark.parametrize("units", [(1.0, 1.0), (1e-12, 1.0), (1e12, 1.0)])
def test_the_sign_is_judged_without_units(units):
    """[[1, c], [c, 1]] is positive for c < 1 and indefinite for c > 1, whatever its rows are measured in."""
    s = sc.operators(sc.load("arm7"))
    scale = np.outer(units, units)

    def block(c):
        X = np.eye(6)
        X[:2, :2] = np.array([[1.0, c], [c, 1.0]]) * scale
        return s.block_diagonal("W", {"link2": X})

    assert "positive_semidefinite" in block(1 - 1e-9).tags
    assert (block(1 - 1e-9).sqrt() ** 2 - block(1 - 1e-9)).is_zero()
    assert block(1 + 1e-9).tags == {"symmetric", "block_diagonal"}
    for root in (block(1 + 1e-9).sqrt(), block(1 + 1e-9).cholesky()):
        with pytest.raises(SingularError, match="block 'link2' of W is not positive semi-definite"):
            root.array()


def test_a_factor_of_the_mass_matrix_is_proved(s):
    """000 Eq. 28 with the root of D: the normalized innovations factor."""
    massmat = s.H * s.phi * s.M * s.phi.T * s.H.T
    for root in (s.D.sqrt(), s.D.cholesky()):
        F = (I + s.H * s.phi * s.K) * root
        proof = sc.prove(massmat, F * F.T)
        assert proof, proof
        assert root.source in proof.sources
    assert (s.D.sqrt() * s.D.sqrt()).simplify().text() == "D"
    assert not sc.prove(s.D.cholesky() * s.D.cholesky(), s.D)


@pytest.mark.parametrize("axes", ["body", "inertial"])
def test_derivatives(axes):
    """Against central differences, and the second derivative against differences of the first."""
    mb = sc.random_tree(4, seed=8, branching=0.0)
    mb.set_state(*mb.random_state(1))
    s = sc.operators(mb, axes=axes)
    hinges = [body for body in mb.bodies if body.hinge.nv]

    def gap(expr, found, body):
        e = np.zeros(mb.nv)
        e[mb.v_slice(body).start] = 1e-5
        ahead, behind = (expr.at(q=mb.integrate(mb.q, step)).array() for step in (e, -e))
        size = max(1e-3, *(np.abs(x.array()).max(initial=0.0) for x in (expr, found)))
        return np.abs(found.array() - (ahead - behind) / 2e-5).max() / size

    moved = 0.0
    for X in (s.D, s.P, s.M):
        for root in (X.sqrt(), X.cholesky()):
            first = root.diff(hinges[2])
            moved = max(moved, first.norm())
            assert gap(root, first, hinges[2]) < 1e-7
            assert gap(first, first.diff(hinges[1]), hinges[1]) < 1e-6
            assert sc.check_operator(first)
    assert moved > 1e-2


def test_refusals(s):
    for attempt, kind, text in (
        (lambda: s.phi.sqrt(), SpaceError, "phi.sqrt(): a block-diagonal operator is wanted"),
        (lambda: s.H.cholesky(), SpaceError, "H.cholesky(): a block-diagonal operator is wanted"),
        (lambda: I.with_space(s.body).sqrt(), SpaceError, "I is made of identities alone"),
        (lambda: (-1 * s.M).sqrt().array(), SingularError, "of -M is not positive semi-definite"),
        (lambda: s.tau.cholesky() * np.ones(s.body.size), SingularError, "of tau is not symmetric; cholesky() needs"),
    ):
        with pytest.raises(kind, match=re.escape(text)):
            attempt()
    for root in (s.P_plus.sqrt(), s.P_plus.cholesky()):
        with pytest.raises(SingularError, match=rf"of {re.escape(root.text())} is singular, so it has no derivative"):
            root.dot().array()


def test_symmetry_norm_and_simplify_are_methods(s):
    assert s.M.is_symmetric()
    assert (s.phi * s.M * s.phi.T).is_symmetric()
    assert not s.phi.is_symmetric()
    assert not s.H.is_symmetric()
    assert I.is_symmetric()
    for expr in (s.phi, s.M, s.H, s.H * s.phi * s.M, (s.H * s.phi * s.M * s.phi.T * s.H.T + I).inv):
        dense = expr.array()
        np.testing.assert_allclose(expr.norm(), np.linalg.norm(dense))
        np.testing.assert_allclose(expr.norm(2), np.linalg.norm(dense, 2))
    assert (1e200 * s.M).norm() == pytest.approx(1e200 * s.M.norm())
    with pytest.raises(SpaceError, match=re.escape("norm('nuc') is not known")):
        s.M.norm("nuc")
    assert ((I - s.H * s.psi * s.K) * s.H * s.phi).simplify(seconds=1.0).text() == "H*psi"
