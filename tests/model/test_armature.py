"""Armature as a block extension of the node (formula F1): sizes and entries of every block, batches, sub-graphs."""

import numpy as np
import pytest
from tests.strategies import dense

import soacraft as sc
from soacraft.model import AXES, Multibody, random_tree
from soacraft.model.hinges import examples
from soacraft.model.samples.random_models import random_inertia, random_pose


def pair():
    """A tree with every hinge and armature on two bodies out of three, and the same tree without."""
    mb = Multibody("rotors")
    rng = np.random.default_rng(5)
    names = [None]
    for k, hinge in enumerate((*examples(), *examples()[::-1])):
        parent = names[rng.integers(len(names))]
        body = mb.add_body(f"b{k}", parent, hinge, random_inertia(k), random_pose(k), random_pose(k + 100))
        body.add_node("tip", random_pose(k + 200))
        names.append(body.name)
    mb.set_state(*mb.random_state(2), rng.standard_normal(mb.nv))
    plain = mb.copy("plain")
    for k, body in enumerate(mb.bodies):
        if k % 3:
            body.armature = rng.uniform(0.1, 2.0, body.hinge.nv)
    return mb, plain


def J_of(mb):
    return np.concatenate([np.zeros(0), *(body.armature for body in mb.bodies)])


def wide(block, rows, cols):
    whole = np.zeros((*block.shape[:-2], rows, cols))
    whole[..., : block.shape[-2], : block.shape[-1]] = block
    return whole


def assert_extended(one, other, armature, v, V, W):
    """`one` is the SKO model of `other`'s tree with the given armature by body; V and W their body velocities."""
    dims = [6 + J.size if J.any() else 6 for J in armature]
    assert list(one.dims) == dims
    assert one.nvs == other.nvs
    at = 0
    for k, J in enumerate(armature):
        nv, extended = one.nvs[k], bool(J.any())
        p = one.parent(k)
        assert p == other.parent(k)
        if p >= 0:
            np.testing.assert_array_equal(one.edges[k], wide(other.edges[k], dims[p], dims[k]))
        else:
            assert one.edges[k] is None
        H = wide(other.H(k), nv, dims[k])
        M = wide(other.M(k), dims[k], dims[k])
        if extended:
            H[..., 6:] = np.eye(nv)
            M[..., 6:, 6:] = np.diag(J)
        np.testing.assert_array_equal(one.H(k), H)
        np.testing.assert_array_equal(one.M(k), M)
        for x, y in ((one.a(k), other.a(k)), (one.b(k), other.b(k))):
            np.testing.assert_array_equal(x[..., :6], y)
            np.testing.assert_array_equal(x[..., 6:], 0.0)
            assert x.shape == (*y.shape[:-1], dims[k])
        np.testing.assert_array_equal(V[k][..., :6], W[k])
        if extended:
            np.testing.assert_array_equal(V[k][..., 6:], v[..., at : at + nv])
        assert V[k].shape[-1] == dims[k]
        at += nv


@pytest.mark.parametrize("axes", AXES)
def test_blocks_of_one_state(axes):
    mb, plain = pair()
    armature = [body.armature for body in mb.bodies]
    assert sum(J.any() for J in armature) > 10
    V, W = (g.body_velocities(axes=axes) for g in (mb, plain))
    assert_extended(mb.sko(axes=axes), plain.sko(axes=axes), armature, mb.v, V, W)


@pytest.mark.parametrize("axes", AXES)
def test_blocks_of_a_batch(axes):
    mb, plain = pair()
    drawn = [mb.random_state(seed) for seed in range(6)]
    q, v = (np.array(x).reshape(2, 3, -1) for x in zip(*drawn, strict=True))
    s, t = mb.state(q, v), plain.state(q, v)
    V, W = mb.body_velocities(s, axes), plain.body_velocities(t, axes)
    assert_extended(mb.sko(s, axes), plain.sko(t, axes), [body.armature for body in mb.bodies], v, V, W)
    one, single = mb.sko(s, axes), mb.sko(mb.state(q[1, 2], v[1, 2]), axes)
    for k in range(len(mb)):
        np.testing.assert_allclose(
            np.broadcast_to(one.M(k), (2, 3, *one.M(k).shape[-2:]))[1, 2], single.M(k), atol=1e-12
        )
        np.testing.assert_allclose(one.a(k)[1, 2], single.a(k), atol=1e-11)


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("anchor", ["rest", "moving"])
def test_blocks_of_a_sub_graph(axes, anchor):
    mb, plain = pair()
    root = next(body for body in mb.bodies if len(list(body.subtree())) > 4 and body.parent is not mb.root)
    names = [body.name for body in mb.bodies if body in set(root.subtree())]
    g, h = mb.subgraph(names, anchor), plain.subgraph(names, anchor)
    armature = [body.armature for body in g.bodies]
    assert any(J.any() for J in armature)
    assert g.layout.dims == g.sko().dims
    assert_extended(
        g.sko(axes=axes), h.sko(axes=axes), armature, g.v, g.body_velocities(axes=axes), h.body_velocities(axes=axes)
    )


@pytest.mark.parametrize("axes", AXES)
def test_the_mass_matrix_gains_the_armature_and_the_bias_does_not(axes):
    mb, plain = pair()
    one, other = dense(mb.sko(axes=axes)), dense(plain.sko(axes=axes))
    scale = np.abs(other.mass_matrix).max()
    np.testing.assert_allclose(one.mass_matrix, other.mass_matrix + np.diag(J_of(mb)), atol=1e-13 * scale)
    bias = [x.H @ x.A @ (x.M @ x.A.T @ x.a + x.b) for x in (one, other)]
    np.testing.assert_allclose(bias[0], bias[1], rtol=1e-10, atol=1e-10 * np.abs(bias[1]).max())


@pytest.mark.parametrize("axes", AXES)
def test_velocities_are_those_of_the_extended_model(axes):
    mb, _ = pair()
    x = dense(mb.sko(axes=axes))
    np.testing.assert_allclose(x.A.T @ x.H.T @ mb.v, np.concatenate(mb.body_velocities(axes=axes)), atol=1e-10)


@pytest.mark.parametrize("axes", AXES)
def test_node_blocks_reach_only_the_rigid_part(axes):
    mb, plain = pair()
    for body in mb.bodies:
        k, block = mb.node_block(f"{body.name}/tip", axes=axes)
        same, rigid = plain.node_block(f"{body.name}/tip", axes=axes)
        assert k == same
        np.testing.assert_array_equal(block, wide(rigid, mb.layout.dims[k], 6))


def test_kinetic_energy_of_rotors():
    """1/2 V* M V over nodes: what the bodies have, and 1/2 J v^2 for each rotor."""
    mb, plain = pair()
    energies = []
    for g in (mb, plain):
        x = g.sko()
        energies.append(sum(0.5 * V @ x.M(k) @ V for k, V in enumerate(g.body_velocities())))
    assert energies[0] - energies[1] == pytest.approx(0.5 * (J_of(mb) * mb.v**2).sum(), rel=1e-10)


def test_a_massless_body_with_armature_has_something_to_move():
    mb = Multibody("rotor")
    mb.add_body("rotor", None, sc.Pin((0, 0, 1))).armature = 0.5
    x = mb.sko()
    np.testing.assert_array_equal(x.H(0) @ x.M(0) @ x.H(0).T, [[0.5]])


def test_models_without_armature_keep_their_six():
    mb = random_tree(6, seed=1)
    assert mb.layout.dims == mb.sko().dims == (6,) * 6
    assert mb.layout.armature == (None,) * 6
    assert [V.shape for V in mb.body_velocities()] == [(6,)] * 6


def test_blocks_are_read_only():
    mb, _ = pair()
    x = mb.sko()
    for k in range(1, x.n):
        for block in (x.H(k), x.M(k), x.a(k), x.b(k), x.edges[k]):
            assert block is None or not block.flags.writeable
