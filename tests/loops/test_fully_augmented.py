"""The fully-augmented solver against the dense reference and the tree-augmented one; both against Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from tests.loops.cases import (
    LIBRARY,
    FourBar,
    closed_graphs,
    comparable,
    force_of,
    generalized,
    library,
    near,
    project,
    row_of_four_bars,
)
from tests.peers.to_pinocchio import InPinocchio, se3
from tests.strategies import SEEDS

import soacraft as sc
from soacraft.errors import SingularError
from soacraft.loops import FullyAugmented, TreeAugmented
from soacraft.model.random_models import random_inertia, random_pose

BOTH = (TreeAugmented, FullyAugmented)


@given(closed_graphs(), SEEDS)
def test_accelerations_of_random_closed_graphs(mb, seed):
    force = force_of(mb, seed)
    reference = comparable(mb, force)
    r = FullyAugmented(mb).forward_dynamics(mb.q, mb.v, force)
    near(r.vdot, reference.vdot)
    near(generalized(mb, r), reference.constraint_force)
    assert r.rank == reference.rank
    assert r.residual < 1e-9


@pytest.mark.parametrize("name", LIBRARY)
def test_models_of_the_library(name):
    mb = library(name)
    force = force_of(mb)
    tree = TreeAugmented(mb).forward_dynamics(mb.q, mb.v, force)
    full = FullyAugmented(mb).forward_dynamics(mb.q, mb.v, force)
    near(full.vdot, tree.vdot)
    assert full.rank == tree.rank
    assert len(full.redundant) == len(tree.redundant)
    assert full.residual < 1e-9


def test_multipliers_without_redundant_rows_are_the_same():
    mb = row_of_four_bars(3, sc.Screws(np.eye(6)[[2, 5, 0, 1]]))
    force = force_of(mb)
    tree, full = (S(mb).forward_dynamics(mb.q, mb.v, force) for S in BOTH)
    assert tree.rank == full.rank == 6
    assert tree.redundant == full.redundant == ()
    for name in tree.multipliers:
        near(full.multipliers[name], tree.multipliers[name])


def test_multipliers_of_redundant_rows_have_the_same_least_norm():
    mb = row_of_four_bars(2)
    mb.close_loop("again", "crank1/tip", "coupler0/tip", sc.Pin((0, 0, 1)))
    force = force_of(mb)
    tree, full = (S(mb).forward_dynamics(mb.q, mb.v, force) for S in BOTH)
    for name in tree.multipliers:
        near(full.multipliers[name], tree.multipliers[name], 1e-6)


@pytest.mark.parametrize("solver", BOTH)
def test_armature_and_couplings(solver):
    mb = FourBar().build(0.9)
    mb["coupler"].armature = 0.3
    mb.add_body("wheel", "rocker", sc.Pin((0, 0, 1)), sc.Inertia(0.5, (0.1, 0, 0), 0.02 * np.eye(3)))
    mb.couple("gear", {"wheel": 1, "coupler": -2}, offset=mb.q[3] - 2 * mb.q[1])
    mb.v = project(mb, np.array([1.0, 0.2, 0.3, 0.4]))
    force = force_of(mb)
    reference = comparable(mb, force)
    r = solver(mb).forward_dynamics(mb.q, mb.v, force)
    near(r.vdot, reference.vdot)
    near(generalized(mb, r), reference.constraint_force)


@pytest.mark.parametrize("solver", BOTH)
@pytest.mark.parametrize("hinge", [sc.Pin((0.6, 0.0, 0.8)), sc.Prismatic((0.6, 0.0, 0.8))])
def test_a_closure_that_forbids_nothing_is_all_redundant(solver, hinge):
    """A body on a hinge, closed by the same hinge in the same place, far from the origin: rounding is no row."""
    mb = sc.Multibody("twice")
    place = random_pose(4)
    mb.add_body("base", None, hinge, random_inertia(1), place, random_pose(5))
    mb.add_body("top", "base", sc.Free(), random_inertia(2), random_pose(6), random_pose(7))
    mb.set_state(*mb.random_state(8))
    mb.root.add_node("place", place)
    mb["base"].add_node("end", mb["base"].outboard.inv)
    mb.close_loop("same", "inertial/place", "base/end", hinge)
    force = force_of(mb)
    r = solver(mb).forward_dynamics(mb.q, mb.v, force)
    assert (r.rank, len(r.redundant)) == (0, 5)
    near(r.vdot, sc.dynamics.forward_dynamics(mb, mb.q, mb.v, force, ignore_loops=True), 1e-11)


def test_a_body_without_inertia_to_move_is_refused():
    mb = sc.Multibody("light")
    mb.add_body("heavy", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (1, 0, 0)))
    mb.add_body("nothing", "heavy", sc.Pin((0, 1, 0)), sc.Inertia(0.0))
    with pytest.raises(SingularError) as raised:
        FullyAugmented(mb).forward_dynamics(mb.q, mb.v, [0.0, 0.0])
    assert str(raised.value) == (
        "the bodies of 'light' and their hinges leave a motion without inertia; give mass or moment to the bodies "
        "outboard of a hinge that moves nothing, or weld it."
    )


# -- Pinocchio ----------------------------------------------------------------------------------------------------

TREE_HINGES = [sc.Pin((0.6, 0.0, 0.8)), sc.Prismatic((0, 1, 0)), sc.Spherical(), sc.Universal((1, 0, 0), (0, 1, 0))]


def pinocchio_dynamics(mb, force):
    """`pin.constraintDynamics` with welds as 6D and balls as 3D constraints."""
    peer = InPinocchio(mb)
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for loop in mb.loops:
        kind = pin.ContactType.CONTACT_6D if isinstance(loop.hinge, sc.Weld) else pin.ContactType.CONTACT_3D
        ends = []
        for frame in (loop.a, loop.b):
            joint, pose = peer._carriers[frame.carrier]
            ends += [joint, se3(pose @ frame.offset)]
        models.append(pin.RigidConstraintModel(kind, peer.model, *ends, pin.ReferenceFrame.LOCAL))
        datas.append(models[-1].createData())
    pin.initConstraintDynamics(peer.model, peer.data, models, datas)
    exact = pin.ProximalSettings(1e-14, 1e-14, 1e-10, 100)
    F = peer.N_inv.T @ force
    wdot = pin.constraintDynamics(peer.model, peer.data, peer.q, peer.w, F, models, datas, exact)
    return peer.N_inv @ (wdot - peer.n)


@pytest.mark.parametrize("solver", BOTH)
@settings(max_examples=25)
@given(closed_graphs(3, 6, 2, couplings=False, hinges=TREE_HINGES, closing=[sc.Weld(), sc.Spherical()]), SEEDS)
def test_against_pinocchio(solver, mb, seed):
    force = force_of(mb, seed)
    comparable(mb, force)
    near(solver(mb).forward_dynamics(mb.q, mb.v, force).vdot, pinocchio_dynamics(mb, force), 1e-8)
