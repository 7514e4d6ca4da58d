"""FE models from matrices: lumped, consistent, with and without turns; interfaces that tie several nodes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag, eigh
from scipy.sparse import csr_array
from tests.flexible.models import slender

import soacraft.flexible as fx
from soacraft.errors import ModelError, SingularError
from soacraft.spatial.rotations import skew


def lattice(n=4):
    """A square bar of nodes joined by springs along edges and diagonals, masses at its nodes; K, masses, nodes."""
    x = np.array([(i, j, k) for i in range(n) for j in (0, 1) for k in (0, 1)], dtype=float)
    K = np.zeros((3 * len(x),) * 2)
    for a in range(len(x)):
        for b in range(a):
            d = x[a] - x[b]
            if d @ d < 3.5:
                block = np.outer(d, d) / (d @ d) * (100.0 / np.sqrt(d @ d))
                for i, j, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
                    K[3 * i : 3 * i + 3, 3 * j : 3 * j + 3] += sign * block
    return K, np.linspace(0.5, 1.5, len(x)), x


def test_lumped_masses_give_the_moments_of_points():
    K, m, x = lattice()
    fe = fx.matrices(csr_array(K), np.kron(np.diag(m), np.eye(3)), x)
    fe.interface("root", nodes=range(4), by="RBE2")
    data = fx.reduce(fe, ["root"], "fixed", modes=5)
    phi = data.shapes
    np.testing.assert_allclose(data.first, m @ x)
    np.testing.assert_allclose(data.p, np.einsum("k,kai->ia", m, phi), atol=1e-12)
    np.testing.assert_allclose(data.N, np.einsum("k,ka,kbi->iab", m, x, phi), atol=1e-12)
    np.testing.assert_allclose(data.Q, np.einsum("k,kai,kbj->ijab", m, phi, phi), atol=1e-12)
    free = slice(12, None)
    exact = eigh(K[free, free], np.kron(np.diag(m), np.eye(3))[free, free], eigvals_only=True)
    np.testing.assert_allclose(np.diagonal(data.K), exact[:5], rtol=1e-9)
    assert not data.geometric
    assert "no geometric stiffening: the FE model has matrices alone" in data.notes


def test_consistent_translations_give_the_moments_of_their_field():
    """m = lumped + coupled: N = r* m phi, and the trace of Q is the modal mass."""
    K, m, x = lattice()
    coupled = np.diag(m) + 0.05 * (np.linalg.norm(x[:, None] - x, axis=2) < 1.5)
    fe = fx.matrices(K, np.kron(coupled, np.eye(3)), x)
    fe.interface("root", nodes=[0, 1, 2, 3], by="RBE3")
    data = fx.reduce(fe, ["root"], "fixed", modes=4)
    phi = data.shapes
    assert data.mass == pytest.approx(coupled.sum())
    np.testing.assert_allclose(data.N, np.einsum("ka,kl,lbi->iab", x, coupled, phi), atol=1e-12)
    np.testing.assert_allclose(data.M, np.eye(4), atol=1e-10)


@pytest.mark.parametrize("by", ["RBE2", "RBE3"])
def test_interfaces_of_several_nodes_against_the_constraints_written_out(by):
    """Static modes minimise the strain energy under what ties or averages the nodes: Lagrange's multipliers."""
    K, m, x = lattice()
    face, at = [12, 13, 14, 15], np.array([3.4, 0.6, 0.5])
    fe = fx.matrices(K, np.kron(np.diag(m), np.eye(3)), x)
    fe.interface("root", nodes=[0, 1, 2, 3], by="RBE2")
    fe.interface("tip", nodes=face, by=by, at=at)
    data = fx.reduce(fe, ["root", "tip"], "guyan")
    rows = [np.eye(48)[:12]]
    r = x[face] - x[face].mean(axis=0)
    E = np.eye(48).reshape(16, 3, 48)[face]
    rigid = np.vstack([np.hstack([np.eye(3), -skew(p - at)]) for p in x[face]])
    if by == "RBE2":
        rows, right = [*rows, E.reshape(12, 48)], np.vstack([np.zeros((12, 6)), rigid])
    else:  # the average's own definition: sum of (u_i - rigid motion) and of its moments vanish
        resultant = np.vstack([np.hstack([np.eye(3)] * 4), np.hstack([skew(p) for p in r])])
        rows, right = [*rows, resultant @ E.reshape(12, 48)], np.vstack([np.zeros((12, 6)), resultant @ rigid])
    G = np.vstack(rows)
    saddle = np.block([[K, G.T], [G, np.zeros((len(G), len(G)))]])
    u = np.linalg.lstsq(saddle, np.vstack([np.zeros((48, 6)), right]), rcond=1e-12)[0][:48]
    np.testing.assert_allclose(data.shapes.reshape(48, 6), u, atol=1e-9)
    np.testing.assert_allclose(data.K, u.T @ K @ u, atol=1e-8)
    np.testing.assert_allclose(data.node("tip").gam, np.eye(3, 6), atol=1e-12)
    np.testing.assert_allclose(data.node("tip").pose.translation, at)


def test_lumped_masses_with_centres_and_moments():
    """Each is replaced by points with its mass, centre and moments; the rigid body's are then right."""
    fe, rng = slender(6), np.random.default_rng(2)
    blocks = []
    for _ in fe.nodes:
        d, m = 0.2 * rng.normal(size=(5, 3)), rng.uniform(0.1, 1.0, size=5)
        maps = [np.hstack([np.eye(3), -skew(x)]) for x in d]
        blocks.append(sum(a * x.T @ x for a, x in zip(m, maps, strict=True)))
    M = block_diag(*blocks)
    own = fx.matrices(fe.K, M, fe.nodes, dofs=6)
    np.testing.assert_allclose(own.M.toarray(), M, atol=1e-12)
    own.interface("root", at=(0, 0, 0))
    data = fx.reduce(own, ["root"], "fixed", modes=4)
    R = fe.rigid_motions()
    moment = np.trace(data.second) * np.eye(3) - data.second
    np.testing.assert_allclose(moment, (R.T @ M @ R)[3:, 3:], rtol=1e-10, atol=1e-12)
    exact = 1.0 / eigh(M[6:, 6:], fe.K.toarray()[6:, 6:], eigvals_only=True)[::-1]
    np.testing.assert_allclose(np.diagonal(data.K), exact[:4], rtol=1e-7)


def test_turns_without_mass():
    """A beam of lumped translations alone: the first frequency of a cantilever."""
    fe = slender(40)
    m = np.full(41, 1 / 40)
    m[[0, -1]] /= 2
    own = fx.matrices(fe.K, np.diag(np.repeat(m, 6) * np.tile([1, 1, 1, 0, 0, 0], 41)), fe.nodes, dofs=6)
    own.interface("root", at=(0, 0, 0))
    data = fx.reduce(own, ["root"], "fixed", modes=2)
    assert np.sqrt(data.K[0, 0]) == pytest.approx(3.5160152685, rel=1e-3)


def test_what_matrices_must_not_be_is_refused():
    K, m, x = lattice()
    M = np.kron(np.diag(m), np.eye(3))
    skewed, uneven, negative, held = K.copy(), M.copy(), M.copy(), K.copy()
    skewed[0, 1] += 1.0
    uneven[4, 4] *= 1.5
    negative[6:9, 6:9] *= -1.0
    held[0, 0] += 30.0
    coupled = np.diag(m) + 2.0 * np.eye(16, k=1) + 2.0 * np.eye(16, k=-1)
    indefinite, below = np.kron(coupled, np.eye(3)), int((np.linalg.eigvalsh(coupled) < 0.0).sum())
    fe = slender(2)
    for call, text in (
        (lambda: fx.matrices(skewed, M, x), "the stiffness K must be symmetric; entries differ by 1"),
        (lambda: fx.matrices(K, M[3:, 3:], x), "the mass M must be 48 x 48, 3 dofs for each of 16 points; got 45 x 4"),
        (lambda: fx.matrices(K * np.nan, M, x), "the stiffness K must be finite"),
        (lambda: fx.matrices(K, M, x, dofs=4), "nodes of FE matrices have 3 or 6 dofs, got 4"),
        (lambda: fx.matrices(K, uneven, x), "the mass M at ty of node 1 and ty of node 1 is not .*: 0.33"),
        (lambda: fx.matrices(K, negative, x), r"the mass M is -0.63.* at \(0, 1, 0\); masses must be positive"),
        (lambda: fx.matrices(K, 0 * M, x), "and some must be there"),
        (lambda: fx.matrices(K, indefinite, x), f"the mass M is indefinite: {below} of its eigenvalues are nega"),
        (lambda: fx.matrices(fe.K, fe.M, fe.nodes, dofs=6), "the mass M couples nodes 0 and 1 and has turns"),
        (lambda: root(fx.matrices(held, M, x)), "a move along x of the rigid body strains the FE model"),
        (lambda: root(fx.matrices(K, M, 1.1 * x + x**2)), "a turn about . of the rigid body strains the FE model"),
        (lambda: root(fx.matrices(-K, M, x)), "on its diagonal: nothing holds"),
        (lambda: fx.matrices(K, M, x).interface("a", at=(0, 0, 0)), "is of 1 node of 3 dofs: say how they move it"),
        (lambda: root(fx.matrices(K, M, x), nodes=[9]), "FE node 9 has no turns"),
        (lambda: root(fx.matrices(K, M, x), geometric=True), "cannot be met: .* matrices alone; make it"),
    ):
        with pytest.raises((ModelError, SingularError), match=text):
            call()


def root(fe, **more):
    fe.interface("root", nodes=range(4), by="RBE2")
    return fx.reduce(fe, ["root"], "fixed", modes=3, **more)


def test_points_that_do_not_belong_to_the_mass_are_refused():
    """The mass properties of rigid motions and of points, checked when the model is reduced."""
    fe = slender(3)
    fe.points = fe.points * (1.0, 1.0, 1.0) + (0.1, 0.0, 0.0)
    with pytest.raises(ModelError, match=r"the mass properties of the FE model's rigid motions differ .* by 0\.\d+ of"):
        fx.reduce(fe, ["root"], "fixed", modes=2)


def test_a_stiffness_that_is_indefinite_is_refused():
    K, m, x = lattice()
    u = np.linalg.svd(np.hstack([np.tile(np.eye(3), (16, 1)), np.vstack([-skew(p) for p in x])]))[0][:, 6:]
    strain = np.outer(u[:, 5], u[:, 5])  # a motion that no rigid motion has a part in
    with pytest.raises(ModelError, match="with 'root' held is indefinite: 1 of its eigenvalues"):
        root(fx.matrices(K - 1000.0 * strain, np.kron(np.diag(m), np.eye(3)), x))
