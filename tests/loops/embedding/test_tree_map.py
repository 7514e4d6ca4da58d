"""Maps from compound bodies to the tree of their members, and back: `sc.ops.between`."""

import numpy as np
import pytest
from hypothesis import given
from tests.embedded import embedded_systems, sample
from tests.loops.by_name import by_name
from tests.loops.cases import FourBar, near, row_of_four_bars
from tests.profiles import tries

import soacraft as sc
from soacraft.errors import StateError
from soacraft.loops import ConstraintEmbedding
from soacraft.ops import between


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def same(left, right):
    found = sc.verify(left, right)
    assert found.ok, found


@tries(6)
@given(solver=embedded_systems())
def test_the_embedded_system_and_its_tree(solver):
    mb = solver.graph
    ce, tree = sc.operators(solver), sc.operators(mb, ignore_loops=True)
    m = between(ce, tree)
    same(tree.phi.T * tree.H.T * m.hinge, m.body * ce.phi.T * ce.H.T)
    same(mass_matrix(ce), m.hinge.T * mass_matrix(tree) * m.hinge)
    near(np.asarray(m.hinge * ce.v), mb.v)
    near(np.asarray(m.body * ce.V), np.asarray(tree.V))
    near(np.asarray(m.hinge * ce.vdot) + np.asarray(m.x0), mb.vdot)
    near(np.asarray(ce.C), np.asarray(m.hinge.T * (np.asarray(tree.C) + np.asarray(mass_matrix(tree) * m.x0))), 1e-8)
    onto = between(tree, ce)
    assert (onto.hinge * m.hinge).is_identity()
    assert (onto.body * m.body).is_identity()
    near(np.asarray(onto.hinge * mb.v), np.asarray(ce.v))
    near(np.asarray(onto.body * tree.V), np.asarray(ce.V))
    f = np.random.default_rng(1).standard_normal(tree.body.size)
    near(np.asarray(m.body.T * f) @ np.asarray(ce.V), f @ np.asarray(tree.V))


def test_the_mass_matrix_of_an_embedded_system_is_proved():
    ce = sample()
    tree = sc.operators(ce.binding.system.graph, ignore_loops=True)
    Xt = between(ce, tree).hinge
    found = sc.prove(mass_matrix(ce), Xt.T * mass_matrix(tree) * Xt)
    assert found, found
    assert "the models that its maps lead between" in repr(found)
    wrong = sc.prove(mass_matrix(ce), 2 * (Xt.T * mass_matrix(tree) * Xt))
    assert not wrong
    assert "the sides differ" in repr(wrong)


def test_through_the_tree_to_other_axes_and_other_compounds():
    mb = row_of_four_bars(2)
    solver = ConstraintEmbedding(mb)
    ce, inertial = sc.operators(solver), sc.operators(mb, axes="inertial", ignore_loops=True)
    m = between(ce, inertial)
    same(inertial.phi.T * inertial.H.T * m.hinge, m.body * ce.phi.T * ce.H.T)
    folded = sc.operators(sc.aggregate(mb, [b.name for b in mb.bodies[:2]], ignore_loops=True))
    n = between(ce, folded)
    same(mass_matrix(ce), n.hinge.T * mass_matrix(folded) * n.hinge)
    assert between(ce, ce).hinge.rows == ce.hinge
    near(between(solver, mb).hinge.array(), solver.model(mb.state()).Xt)


def test_both_must_be_in_one_pose():
    mb = FourBar().build(0.7)
    solver = ConstraintEmbedding(mb)
    q = solver.advance(mb.q, by_name(solver, mb.q, [0.3]))
    m = between(solver.operators(q), sc.operators(mb, ignore_loops=True))
    with pytest.raises(StateError, match="are bound to different states: bind both to one"):
        m.hinge.array()
