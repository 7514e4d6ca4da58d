"""The remainder R of A* X B on a tree (004 Lemma 5, Eq. 21)."""

from __future__ import annotations

import numpy as np
import pytest
from tests.strategies import as_functions

import soacraft as sc
from soacraft.errors import SpaceError

MODELS = {
    "sko": sc.random_sko(8, seed=3),
    "functions": as_functions(sc.random_sko(8, seed=3), 1),
    "every hinge": sc.random_tree(9, seed=1),
    "two bases": sc.random_tree(7, seed=2, bases=2),
    "chain": sc.random_tree(5, seed=3, branching=0.0),
}


@pytest.fixture(params=MODELS, ids=str)
def s(request):
    return sc.operators(MODELS[request.param])


def compliance(s):
    return s.H.T * s.D.inv * s.H


def test_its_blocks_are_those_of_unrelated_bodies(s):
    """R(i, j) = A*(c, i) Y(c) B(c, j), c the closest common ancestor; zero for related ones and without one."""
    tree, Y = s.body.tree, s.E_phi.T.lyapunov(s.M, s.E_psi.T)
    R = s.E_phi.T.remainder(s.M, s.E_psi.T).array()
    size = np.abs((s.phi.T * s.M * s.psi).array()).max()
    for i in range(tree.n):
        for j in range(tree.n):
            block = R[s.body.block(i), s.body.block(j)]
            c = tree.closest_common_ancestor(i, j)
            wanted = np.zeros_like(block)
            if c is not None and c not in (i, j):
                wanted = s.phi[c, i].T @ Y[c, c] @ s.psi[c, j]
            np.testing.assert_allclose(block, wanted, atol=1e-12 * size)


def test_the_tree_form_of_omega_holds_and_is_proved(s):
    Y, R = s.Upsilon, s.E_psi.T.remainder(compliance(s))
    right = s.psi.T * Y + Y * s.psi - Y + R
    assert (s.Omega - right).is_zero()
    assert sc.prove(s.Omega, right)
    assert sc.check_operator(R)


def test_the_general_form_is_proved():
    s = sc.operators(MODELS["sko"])
    Y = s.E_phi.T.lyapunov(s.M, s.E_psi.T)
    right = Y + s.phi_tilde.T * Y + Y * s.psi_tilde + s.E_phi.T.remainder(s.M, s.E_psi.T)
    assert sc.prove(s.phi.T * s.M * s.psi, right)
    assert not sc.prove(s.phi.T * s.M * s.psi, Y + s.phi_tilde.T * Y + Y * s.psi_tilde)


def test_on_a_chain_it_is_zero():
    s = sc.operators(MODELS["chain"])
    assert s.E_psi.T.remainder(compliance(s)).is_zero()


def test_it_has_derivatives_and_other_states():
    mb = sc.load("biped")
    s = sc.operators(mb)
    R, h = s.E_psi.T.remainder(compliance(s)), 1e-3
    e = np.eye(mb.nv)[mb.v_slice("left_shank").start]

    def at(step):
        return R.at(q=mb.integrate(mb.q, step * e)).array()

    slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    np.testing.assert_allclose(R.diff("left_shank").array(), slope, atol=1e-8 * np.abs(slope).max())


def test_what_has_none_is_refused():
    s = sc.operators(MODELS["chain"])
    with pytest.raises(SpaceError, match=r"E_phi.remainder: the transpose of a kernel operator is wanted on the left"):
        s.E_phi.remainder(s.M)
    with pytest.raises(SpaceError, match="X must be block-diagonal"):
        s.E_phi.T.remainder(s.phi)
