"""Chains and random models: the same for the same seed, general where they should be, refused where they must."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soacraft.errors import ModelError
from soacraft.model import random_inertia, random_pose, random_sko, random_tree, serial_chain
from soacraft.model.hinges import HINGES, Free, Pin, Prismatic


def test_serial_chain():
    mb = serial_chain(4, length=0.5, mass=2.0)
    assert [body.name for body in mb.bodies] == ["link1", "link2", "link3", "link4"]
    assert mb.topology.is_serial
    assert mb.total_mass == 8.0
    np.testing.assert_allclose(mb.pose("link4/tip").translation, [2.0, 0, 0])
    mb.q = [np.pi / 2, 0, 0, 0]
    np.testing.assert_allclose(mb.pose("link4/tip").translation, [0, 0, -2.0], atol=1e-15)  # a turn about y


def test_serial_chain_hinges():
    slide = Prismatic((1, 0, 0))
    assert all(body.hinge is slide for body in serial_chain(3, slide).bodies)
    assert [body.hinge.nv for body in serial_chain(3, lambda k: Free() if k == 1 else slide).bodies] == [6, 1, 1]
    assert serial_chain(2, [Free(), slide]).nv == 7
    with pytest.raises(ModelError, match="3 links but 2 hinges; give one hinge for each link or one for all"):
        serial_chain(3, [Free(), slide])
    for n in (0, -1, 2.0, "three", True):
        with pytest.raises(ModelError, match="links of a serial chain must be a whole number of at least 1, got"):
            serial_chain(n)


def test_a_long_chain_works():
    n = 10_000
    mb = serial_chain(n)
    rng = np.random.default_rng(0)
    mb.set_state(1e-3 * rng.standard_normal(n), rng.standard_normal(n))
    for axes in ("body", "inertial", "origin"):
        sko = mb.sko(axes=axes)
        assert sko.n == n
        assert np.isfinite(sko.a(n - 1)).all()
        assert np.isfinite(sko.b(0)).all()
    heading = np.cumsum(mb.q)
    tip = [np.cos(heading).sum(), 0, -np.sin(heading).sum()]
    np.testing.assert_allclose(mb.pose("link10000/tip").translation, tip, atol=1e-7)
    g = mb.subgraph([f"link{k}" for k in range(5000, 5011)])
    assert g.nv == 11
    assert g.sko().n == 11
    mb.remove("link2", subtree=True)
    assert len(mb) == 1


@pytest.mark.parametrize("branching", [0.0, 0.5, 1.0])
def test_random_tree_repeats(branching):
    one, two = random_tree(9, 7, branching=branching), random_tree(9, 7, branching=branching)
    for a, b in zip(one.bodies, two.bodies, strict=True):
        assert a.parent.name == b.parent.name
        assert a.hinge == b.hinge
        assert a.inertia == b.inertia
        assert a.inboard == b.inboard
        assert a.outboard == b.outboard
    for name in ("q", "v", "vdot"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
        assert np.abs(getattr(one, name)).min() > 0
    assert random_tree(9, 8).bodies[0].inboard != one.bodies[0].inboard


def test_random_tree_has_every_hinge_and_general_poses():
    mb = random_tree(len(HINGES), seed=2)
    assert {type(body.hinge) for body in mb.bodies} == set(HINGES)
    for body in mb.bodies:
        for pose in (body.inboard, body.outboard):
            assert np.abs(pose.translation).min() > 0
            assert np.linalg.norm(pose.rotation - np.eye(3)) > 1e-3
    assert any(body.nodes for body in mb.bodies)


def test_random_tree_shapes():
    assert random_tree(20, 1, branching=0.0).topology.is_serial
    assert not random_tree(20, 1, branching=1.0).topology.is_serial
    three = random_tree(20, 1, branching=0.0, bases=3)
    assert len(three.root.children) == 3
    assert len(three.branches()) == 3
    assert set(random_tree(5, 1, hinges=[Pin((0, 0, 1))]).dof_names) == {f"body{k}" for k in range(1, 6)}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (dict(n=0), "n must be a whole number of at least 1, got 0"),
        (dict(n=2.5), "n must be a whole number of at least 1, got 2.5"),
        (dict(n=3, bases=0), "bases must be a whole number of at least 1, got 0"),
        (dict(n=3, branching=1.5), "branching is a probability between 0 and 1, got 1.5"),
        (dict(n=3, hinges=[]), "hinges must hold at least one hinge"),
        (dict(n=3, hinges=[Pin]), "hinges must be hinges such as"),
    ],
)
def test_random_tree_refuses(arguments, text):
    with pytest.raises(ModelError, match=text):
        random_tree(**arguments)


@given(st.integers(0, 2**32))
def test_random_inertias_are_those_of_real_bodies(seed):
    inertia = random_inertia(seed)
    x, y, z = np.linalg.eigvalsh(inertia.moment)
    assert inertia.mass >= 1.0
    assert x > 0
    assert x + y >= z
    assert np.linalg.eigvalsh(inertia.matrix())[0] > 0


def test_random_poses_are_spread():
    rotations = np.array([random_pose(k).rotation for k in range(400)])
    assert np.abs(rotations.mean(axis=0)).max() < 0.15


# -- SKO models -------------------------------------------------------------------------------------------------


@given(n=st.integers(1, 12), seed=st.integers(0, 2**32), bases=st.integers(1, 3))
def test_random_sko_can_be_worked_with(n, seed, bases):
    """Every D(k) = H P H* of the articulated-body recursion is positive definite."""
    sko, P = random_sko(n, seed, bases=bases), {}
    for k in sko.tips_to_base():
        H = sko.H(k)
        M = sko.M(k)
        for j in sko.children(k):
            D = sko.H(j) @ P[j] @ sko.H(j).T
            G = np.linalg.solve(D, sko.H(j) @ P[j]).T
            M = M + sko.A(k, j) @ (P[j] - G @ sko.H(j) @ P[j]) @ sko.A(k, j).T
        P[k] = M
        assert np.linalg.matrix_rank(H) == H.shape[0]
        assert np.linalg.eigvalsh(M)[0] > -1e-9
        D = H @ M @ H.T
        assert D.size == 0 or np.linalg.eigvalsh(D)[0] > 1e-6


def test_random_sko_is_as_odd_as_promised():
    models = [random_sko(10, seed) for seed in range(20)]
    edges = [sko.A(sko.parent(k), k) for sko in models for k in sko.nodes if sko.parent(k) >= 0]
    assert any(A.shape[0] != A.shape[1] for A in edges)
    assert any(np.linalg.matrix_rank(A) < min(A.shape) for A in edges)
    assert any(nv == 0 for sko in models for nv in sko.nvs)
    assert any(np.linalg.matrix_rank(sko.M(k)) < sko.dims[k] for sko in models for k in sko.nodes)
    assert any(sko.parent(k) > k for sko in models for k in sko.nodes)  # scrambled numbering
    assert any(np.any(sko.a(k)) and np.any(sko.b(k)) for sko in models for k in sko.nodes)


def test_random_sko_repeats_and_refuses():
    one, two = random_sko(6, 3), random_sko(6, 3)
    assert one.tree == two.tree
    for k in one.nodes:
        np.testing.assert_array_equal(one.M(k), two.M(k))
    with pytest.raises(ModelError, match="max_dim must be a whole number of at least 4, got 3"):
        random_sko(3, min_dim=4, max_dim=3)
    assert set(random_sko(5, min_dim=6, max_dim=6).dims) == {6}
