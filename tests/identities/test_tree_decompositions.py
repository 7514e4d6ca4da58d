"""Decompositions on trees against dense matrices: 004 Lemmas 3 and 5, Eq. 15, 16, 25, 26 and 61-63."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.strategies import CLASSES, keep, operators, parents

import soacraft as sc

draws = st.data()


def close(x, y):
    np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(y).max(initial=0.0)))


class Blocks:
    """Dense A, B and block-diagonal X of a model, by blocks: A = phi, B = psi, X = M."""

    def __init__(self, s):
        self.s, self.tree, self.space = s, s.sko.tree, s.body
        self.n = len(self.space)
        identity = np.eye(self.space.size)
        E_A, E_B = s.E_phi.array(), s.E_psi.array()
        self.A, self.B = np.linalg.inv(identity - E_A), np.linalg.inv(identity - E_B)
        self.E_A, self.E_B, self.X = E_A, E_B, s.M.array()

    def at(self, Z, i, j):
        return Z[self.space.block(i), self.space.block(j)]

    def of(self, entry):
        """A dense matrix from a function of its blocks."""
        Z = np.zeros((self.space.size, self.space.size))
        for i in range(self.n):
            for j in range(self.n):
                Z[self.space.block(i), self.space.block(j)] = entry(i, j)
        return Z

    def zero(self, i, j):
        return np.zeros((self.space.dims[i], self.space.dims[j]))

    def outboard(self, j, i):
        """Whether j is i or outboard of i."""
        return self.tree.path(i, j) is not None

    def related(self, i, j):
        return self.outboard(i, j) or self.outboard(j, i)

    def toward(self, i, j):
        """The child of i on the path to j."""
        return self.tree.path(i, j)[-2]


@pytest.mark.parametrize("kind", CLASSES)
@tries(8)
@given(data=draws)
def test_elements_of_A_X_B_star(kind, data):
    """004 Eq. 15, with the forward Lyapunov solution of Eq. 12-14."""
    m = Blocks(data.draw(operators(kind, parents(max_size=6))))
    keep()
    Y = m.s.E_phi.lyapunov(m.s.M, m.s.E_psi)

    def Z(i, j):
        if i == j:
            return Y[i, i]
        if m.outboard(j, i):
            k = m.toward(i, j)
            return m.s.E_phi[i, k] @ Z(k, j)
        if m.outboard(i, j):
            k = m.toward(j, i)
            return Z(i, k) @ m.s.E_psi[j, k].T
        return m.zero(i, j)

    reference = m.A @ m.X @ m.B.T
    close(m.of(Z), reference)
    close(m.of(lambda i, j: (m.s.phi * m.s.M * m.s.psi.T)[i, j]), reference)
    close(Y.array() - m.E_A @ Y.array() @ m.E_B.T, m.X)  # Eq. 12


@pytest.mark.parametrize("kind", CLASSES)
@tries(8)
@given(data=draws)
def test_elements_of_A_star_X_B(kind, data):
    """004 Eq. 25, with the backward Lyapunov solution of Eq. 22-24."""
    m = Blocks(data.draw(operators(kind, parents(max_size=6))))
    keep()
    Y = m.s.E_phi.T.lyapunov(m.s.M, m.s.E_psi.T)

    def Z(i, j):
        if i == j:
            return Y[i, i]
        if m.outboard(i, j):  # i < k <= j
            k = m.tree.parent(i)
            return m.s.E_phi[k, i].T @ Z(k, j)
        if m.outboard(j, i):
            k = m.tree.parent(j)
            return Z(i, k) @ m.s.E_psi[k, j]
        c = m.tree.closest_common_ancestor(i, j)
        return m.zero(i, j) if c is None else m.at(m.A, c, i).T @ Y[c, c] @ m.at(m.B, c, j)

    reference = m.A.T @ m.X @ m.B
    close(m.of(Z), reference)
    close(m.of(lambda i, j: (m.s.phi.T * m.s.M * m.s.psi)[i, j]), reference)


def remainder(m, Y, pairs):
    """The sum over pairs of e_i A*(c,i) Y(c) B(c,j) e_j*, c the closest common ancestor."""

    def entry(i, j):
        c = m.tree.closest_common_ancestor(i, j)
        if c is None or not pairs(i, j):
            return m.zero(i, j)
        return m.at(m.A, c, i).T @ m.at(Y, c, c) @ m.at(m.B, c, j)

    return m.of(entry)


@pytest.mark.parametrize("kind", CLASSES)
@tries(8)
@given(data=draws)
def test_decomposition_of_A_star_X_B_on_a_tree(kind, data):
    """004 Lemma 5 (Eq. 21): Z = Y + A~* Y + Y B~ + R, R over unrelated pairs."""
    m = Blocks(data.draw(operators(kind, parents(max_size=6))))
    keep()
    Y = m.s.E_phi.T.lyapunov(m.s.M, m.s.E_psi.T).array()
    identity = np.eye(len(Y))
    R = remainder(m, Y, lambda i, j: not m.related(i, j))
    close(Y + (m.A - identity).T @ Y + Y @ (m.B - identity) + R, m.A.T @ m.X @ m.B)
    if m.tree.is_serial:
        assert not R.any()


def test_the_remainder_read_over_all_pairs_counts_twice():
    m = Blocks(sc.operators(sc.random_tree(6, seed=4)))
    Y = m.s.E_phi.T.lyapunov(m.s.M, m.s.E_psi.T).array()
    identity = np.eye(len(Y))
    R = remainder(m, Y, lambda i, j: i != j)
    Z = m.A.T @ m.X @ m.B
    assert np.abs(Y + (m.A - identity).T @ Y + Y @ (m.B - identity) + R - Z).max() > 1e-2 * np.abs(Z).max()


@pytest.mark.parametrize("kind", CLASSES)
@tries(8)
@given(data=draws)
def test_decomposition_of_Omega_on_a_tree(kind, data):
    """000 Eq. 35 with the remainder: Omega = psi* Y + Y psi - Y + R."""
    m = Blocks(data.draw(operators(kind, parents(max_size=6))))
    keep()
    Y, H, D = m.s.Upsilon.array(), m.s.H.array(), m.s.D.array()
    m.A = m.B  # Omega = psi* X psi
    R = remainder(m, Y, lambda i, j: not m.related(i, j))
    reference = m.B.T @ H.T @ np.linalg.inv(D) @ H @ m.B
    close(m.B.T @ Y + Y @ m.B - Y + R, reference)
    close(m.of(lambda i, j: m.s.Omega[i, j]), reference)


@pytest.mark.parametrize("kind", CLASSES)
@tries(8)
@given(data=draws)
def test_kernel_products_by_elements(kind, data):
    """E_A Y E_B* is block diagonal (004 Eq. 16); diagOf{ E_A* Y E_B } is a sum over nodes (004 Eq. 26)."""
    m = Blocks(data.draw(operators(kind, parents(max_size=6))))
    keep()
    Y = m.s.M.array()

    def forward(i, j):
        parts = [m.at(m.E_A, i, k) @ m.at(Y, k, k) @ m.at(m.E_B, i, k).T for k in m.tree.children(i)]
        return sum(parts, m.zero(i, j)) if i == j else m.zero(i, j)

    def backward(i, j):
        p = m.tree.parent(i)
        return m.at(m.E_A, p, i).T @ m.at(Y, p, p) @ m.at(m.E_B, p, i) if i == j and p >= 0 else m.zero(i, j)

    close(m.of(forward), m.E_A @ Y @ m.E_B.T)
    close((m.s.E_phi * m.s.M * m.s.E_psi.T).array(), m.of(forward))
    close(sc.diag_of(m.s.E_phi.T * m.s.M * m.s.E_psi).array(), m.of(backward))


# -- branches -----------------------------------------------------------------------------------------------------


def branch_toward(branches, j, k):
    """The child branch of j on the path to k, None when k does not hang from j."""
    while branches[k].parent is not None:
        if branches[k].parent == j:
            return k
        k = branches[k].parent
    return None


@pytest.mark.parametrize("kind", CLASSES)
@tries(8)
@given(data=draws)
def test_branch_structure_of_phi(kind, data):
    """004 Eq. 61-63: A_{j,k} = A_j E_{A_{j,i}} A_{i,k}, i the child branch of j on the path to k."""
    s = data.draw(operators(kind, parents(max_size=7)))
    keep()
    branches, A, E = s.sko.tree.branches, s.phi.by_branch(), s.E_phi.by_branch()
    for j in range(len(branches)):
        close(A[j, j], np.linalg.inv(np.eye(len(A[j, j])) - E[j, j]))  # each branch is a serial chain
        for k in range(len(branches)):
            i = branch_toward(branches, j, k)
            if i is not None:
                close(A[j, k], A[j, j] @ E[j, i] @ A[i, k])
            elif j != k:
                assert not A[j, k].any()


@pytest.mark.parametrize("kind", CLASSES)
@tries(10)
@given(data=draws)
def test_branches_tile_the_dense_matrix(kind, data):
    s = data.draw(operators(kind, parents(max_size=7)))
    keep()
    for expr in (s.H * s.phi * s.M * s.phi.T * s.H.T, s.Omega, s.H, s.K):
        rows, cols = expr.spaces
        dense, parts = expr.array(), expr.by_branch()
        for left in s.sko.tree.branches:
            at = np.concatenate([np.arange(rows.size)[rows.block(k)] for k in left.nodes])
            for right in s.sko.tree.branches:
                where = np.concatenate([np.arange(cols.size)[cols.block(k)] for k in right.nodes])
                close(parts[left.index, right.index], dense[np.ix_(at, where)])


def test_branches_of_a_small_tree():
    """trunk -> (left -> hand, right): three branches; the mass matrix couples left and right only through the trunk."""
    mb = sc.Multibody("small")
    one = sc.Inertia(1.0, (0.1, 0.2, 0.3), np.diag([0.1, 0.2, 0.15]))
    for name, parent in (("trunk", None), ("left", "trunk"), ("right", "trunk"), ("hand", "left")):
        mb.add_body(name, parent, sc.Pin((0, 0, 1)), one, sc.Pose(translation=(0.3, 0, 0)))
    assert [repr(branch) for branch in mb.branches()] == [
        "Branch 0 on the root: trunk",
        "Branch 1 on branch 0: left -> hand",
        "Branch 2 on branch 0: right",
    ]
    s = sc.operators(mb)
    blocks = (s.H * s.phi * s.M * s.phi.T * s.H.T).by_branch()
    assert {key: x.shape for key, x in blocks.items()}[1, 0] == (2, 1)
    assert not blocks[1, 2].any()
    assert blocks[0, 2].any()


def test_nodes_have_no_branches():
    mb = sc.random_tree(3, seed=0)
    s = sc.operators(mb)
    with pytest.raises(sc.errors.SpaceError, match="only hinge and body spaces have branches") as refusal:
        (s.B("body1/tip").T * s.phi.T).by_branch()
    assert str(refusal.value) == (
        f"B(['body1/tip']).T * phi.T maps node[6] <- body[{s.body.size}]: only hinge and body spaces have branches."
    )
