"""Compound bodies without a loop: the same dynamics in other nodes."""

from functools import cache

import numpy as np
import pytest
from tests.identities.test_identities import allowed
from tests.loops.cases import FourBar, near

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import LoopError, ModelError, StaleError
from soacraft.loops import aggregate


def connected(mb, k, size=3):
    """Body k and some of what hangs from it."""
    tree, found = mb.topology, [k]
    for j in tree.base_to_tips():
        if tree.parent(j) in found and len(found) < size:
            found.append(j)
    return [mb.bodies[j].name for j in found]


@pytest.fixture(params=range(4))
def mb(request):
    return sc.random_tree(8, request.param, bases=2)


def test_mass_matrix_bias_and_forward_dynamics_are_those_of_the_tree(mb):
    compound = aggregate(mb, connected(mb, 1))
    force = np.linspace(-1.0, 1.0, mb.nv)
    s = sc.operators(compound, force=force)
    order = [mb.dof_names.index(name) for name in compound.dofs]
    assert sorted(order) == list(range(mb.nv))
    M = (s.H * s.phi * s.M * s.phi.T * s.H.T).array()
    near(M, dyn.mass_matrix(mb, mb.q)[np.ix_(order, order)], 1e-12)
    near(s.C, dyn.bias_force(mb, mb.q, mb.v)[order], 1e-11)
    near(s.vdot, dyn.forward_dynamics(mb, mb.q, mb.v, force)[order], 1e-9)


def test_two_groups_and_pick_off(mb):
    one, two = connected(mb, 0, 2), connected(mb, 1, 2)
    if set(one) & set(two):
        two = [mb.bodies[-1].name]
    s = sc.operators(aggregate(mb, one, two))
    node = mb[one[-1]].full_name
    J = (s.B(node).T * s.phi.T * s.H.T).array()
    order = [mb.dof_names.index(name) for name in s.binding.owner.dofs]
    near(J, dyn.jacobian(mb, mb.q, node, expressed_in="node")[:, order], 1e-12)


@cache
def places():
    arm, tree = sc.load("arm7"), sc.random_tree(7, 2)
    two = aggregate(arm, ["link3", "link4"], ["link6", "link7"])
    return [sc.operators(two), sc.operators(aggregate(tree, connected(tree, 1)))]


PLAIN = [identity for identity in sc.identities() if not {"rigid", "closed"} & identity.conditions]


@pytest.mark.parametrize("identity", PLAIN, ids=lambda identity: identity.name)
def test_each_identity_holds_on_compound_bodies(identity):
    found = sc.verify(identity.left, identity.right, on=[s for s in places() if allowed(identity, s)], tolerance=1e-9)
    assert found.ok, found


def test_siblings_make_a_compound_body():
    mb = sc.Multibody("fork")
    mb.add_body("palm", None, sc.Free(), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    for name in ("left", "right"):
        mb.add_body(name, "palm", sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0.2, 0, 0), np.eye(3)))
    compound = aggregate(mb, ["left", "right"])
    assert repr(compound) == "Aggregate of Multibody 'fork': 3 bodies, 8 dofs: palm, left+right"
    assert compound.sko().dims == (6, 12)


def test_it_follows_the_current_state():
    mb = sc.load("arm7")
    s = sc.operators(aggregate(mb, ["link2", "link3"]))
    M = s.H * s.phi * s.M * s.phi.T * s.H.T
    mb.q = np.linspace(0.1, 0.7, 7)
    near(M.array(), dyn.mass_matrix(mb, mb.q), 1e-12)
    mb["link2"].inertia = sc.Inertia(2.0)
    near(M.array(), dyn.mass_matrix(mb.copy(), mb.q), 1e-12)
    mb.add_body("more", "link2", sc.Weld())
    with pytest.raises(StaleError, match="made before a structural change"):
        M.array()


def test_refusals():
    mb = sc.load("arm7")
    with pytest.raises(LoopError, match="'link1', 'link3' do not make one compound body: their parents are"):
        aggregate(mb, ["link1", "link3"])
    with pytest.raises(LoopError, match="body 'link2' is named twice; it can be in one compound body only"):
        aggregate(mb, ["link1", "link2"], ["link2", "link3"])
    with pytest.raises(ModelError, match="has no body or hinge 'link9'"):
        aggregate(mb, ["link9"])
    with pytest.raises(ModelError, match="aggregate takes lists of bodies, got 'link1'"):
        aggregate(mb, "link1")
    with pytest.raises(ModelError, match="aggregate takes a Multibody or a sub-graph of one, got 3"):
        aggregate(3, ["link1"])
    with pytest.raises(LoopError, match="aggregate: 'four_bar' has loop 'ring', which the tree alone does not know"):
        aggregate(FourBar().build(0.7), ["crank"])


def test_loops_are_ignored_when_told_to():
    mb = FourBar().build(0.7)
    compound = aggregate(mb, ["crank", "coupler"], ignore_loops=True)
    s, force = sc.operators(compound, force=np.ones(3)), np.ones(3)
    order = [mb.dof_names.index(name) for name in compound.dofs]
    M = (s.H * s.phi * s.M * s.phi.T * s.H.T).array()
    near(M, dyn.mass_matrix(mb, mb.q, ignore_loops=True)[np.ix_(order, order)], 1e-12)
    near(s.vdot, dyn.forward_dynamics(mb, mb.q, mb.v, force, ignore_loops=True)[order], 1e-9)
    mb.q = [0.1, 0.2, 0.3]  # an open loop is no matter
    near(s.vdot, dyn.forward_dynamics(mb, mb.q, mb.v, force, ignore_loops=True)[order], 1e-9)
    near(compound.log_det_mass_matrix(), dyn.log_det_mass_matrix(mb, mb.q, ignore_loops=True), 1e-12)
    with pytest.raises(LoopError, match="ignore_loops of aggregate must be True or False, got 1"):
        aggregate(mb, ["crank"], ignore_loops=1)
