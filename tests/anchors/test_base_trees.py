"""Trees that share only the inertial frame know nothing of each other; the order of insertion is no physics."""

import numpy as np
import pytest
from tests.anchors.reference import AXES, bias_force, forward, mass_matrix

import soacraft as sc
from soacraft.model import random_tree


def two_trees(seed):
    """A model with two base bodies, and the names in each tree."""
    mb = random_tree(14, seed=seed, bases=2)
    sides = [[body.name for body in base.subtree()] for base in mb.root.children]
    assert len(sides) == 2
    return mb, sides


def columns(space, names):
    """Where the entries of the named bodies stand."""
    return [i for name in names for i in range(space.size)[space.block(space.index(name))]]


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("seed", range(3))
def test_blocks_across_two_base_trees_are_zero(seed, axes):
    mb, (left, right) = two_trees(seed)
    ops = sc.operators(mb, axes=axes)
    inertia = ops.phi * ops.M * ops.phi.T
    for i in left:
        for j in right:
            for expr in (ops.Omega, ops.phi, ops.psi, inertia):
                assert not expr[i, j].any()
                assert not expr[j, i].any()
    dense, here, there = ops.Omega.array(), columns(ops.body, left), columns(ops.body, right)
    assert dense[np.ix_(here, here)].any()
    assert not dense[np.ix_(here, there)].any()


@pytest.mark.parametrize("axes", AXES)
def test_siblings_on_one_base_do_feel_each_other(axes):
    """Omega between unrelated bodies with a common ancestor is what a push on one does to the other."""
    hinges = [sc.Pin((0.3, -0.5, 0.8)), sc.Prismatic((0.2, 1.0, 0.4)), sc.Universal((1, 0, 0.2), (0.3, 1, 0))]
    mb = random_tree(10, seed=3, hinges=hinges, branching=1.0)
    ops = sc.operators(mb, axes=axes)
    at = ops.B(["body7/tip", "body9/tip"])
    J = (at.T * ops.phi.T * ops.H.T).array()
    expected = J @ np.linalg.solve(mass_matrix(ops), J.T)
    np.testing.assert_allclose((at.T * ops.Omega * at).array(), expected, rtol=1e-8, atol=1e-9)
    left, right = (mb.index(name) for name in ("body7", "body9"))
    assert mb.topology.path(left, right) is None
    assert mb.topology.path(right, left) is None
    assert np.abs(ops.Omega["body7", "body9"]).max() > 1e-3


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("seed", range(3))
def test_each_tree_is_as_if_alone(seed, axes):
    mb, sides = two_trees(seed)
    T = np.random.default_rng(seed).standard_normal(mb.nv)
    together = forward(sc.operators(mb, axes=axes), T)
    for side in sides:
        g = mb.subgraph(side)
        dofs = np.concatenate([np.arange(mb.nv)[mb.v_slice(body)] for body in g.bodies])
        np.testing.assert_allclose(forward(sc.operators(g, axes=axes), T[dofs]), together[dofs], rtol=1e-9, atol=1e-9)


def shuffled(mb, seed):
    """The same bodies added in another order: each is added to the inertial frame first, then hung where it was."""
    rng = np.random.default_rng(seed)
    again = sc.Multibody("again", gravity=mb.gravity)
    order = [mb.bodies[i] for i in rng.permutation(len(mb))]
    for body in order:
        again.add_body(body.name, None, body.hinge, body.inertia, body.inboard, body.outboard)
    for body in order:
        parent = None if body.parent is mb.root else body.parent.name
        again.reattach(body.name, parent, body.hinge, body.inboard, body.outboard)
    for what in ("q", "v", "vdot"):
        ends = "q_slice" if what == "q" else "v_slice"
        parts = [getattr(mb, what)[getattr(mb, ends)(body.name)] for body in again.bodies]
        setattr(again, what, np.concatenate(parts))
    return again


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("seed", range(4))
def test_insertion_order_changes_no_physics(seed, axes):
    """Entries of the mass matrix, of C, T and the accelerations are the same by the name of the dof."""
    mb = random_tree(14, seed=seed, bases=1 + seed % 2)
    again = shuffled(mb, seed)
    assert mb.dof_names != again.dof_names
    where = [again.dof_names.index(name) for name in mb.dof_names]
    one, two = sc.operators(mb, axes=axes), sc.operators(again, axes=axes)
    np.testing.assert_allclose(mass_matrix(two)[np.ix_(where, where)], mass_matrix(one), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(bias_force(two)[where], bias_force(one), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(np.asarray(two.T)[where], one.T, rtol=1e-10, atol=1e-10)
    T = np.random.default_rng(seed).standard_normal(mb.nv)
    there = np.empty(mb.nv)
    there[where] = T
    np.testing.assert_allclose(forward(two, there)[where], forward(one, T), rtol=1e-8, atol=1e-8)
    for body in mb.bodies:
        np.testing.assert_allclose(two.V[body.name], one.V[body.name], rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(two.f[body.name], one.f[body.name], rtol=1e-9, atol=1e-9)
