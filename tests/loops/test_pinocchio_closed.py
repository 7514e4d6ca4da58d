"""Closed chains against Pinocchio's constrained dynamics: ball joints and welds, between bodies and to the ground.

`pin.constraintDynamics` with `CONTACT_3D` for a ball joint and `CONTACT_6D` for a weld, no stabilization. Its contact
force is the force [linear; angular] on frame 1 (our a) at a in the axes of a; ours is [moment; force] on frame b at b
in the axes of a. Frames of a ball joint meet in one point, frames of a weld are one, so ours is the negative of it.
"""

from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from tests.loops.cases import close, closed_graphs, comparable, dense, force_of, generalized, library, near, project
from tests.peers.to_pinocchio import InPinocchio, se3
from tests.profiles import tries
from tests.strategies import SEEDS

import soacraft as sc
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented
from soacraft.model.samples.random_models import random_inertia, random_pose

TREE_HINGES = [
    sc.Pin((0.6, 0.0, 0.8)),
    sc.Prismatic((0, 1, 0)),
    sc.Spherical(),
    sc.Universal((1, 0, 0), (0, 1, 0)),
    sc.Cylindrical((0, 0, 1)),
    sc.Free(),
]
CLOSING = [sc.Weld(), sc.Spherical()]


def hybrid(mb):
    """The first loop embedded, the others as rows."""
    return ConstraintEmbedding(mb, embed=[mb.loops[0].name])


SOLVERS = [TreeAugmented, FullyAugmented, ConstraintEmbedding, hybrid]


def pinocchio(mb, force):
    """vdot and the constraint forces as ours, by loop.

    The proximal steps with a small mu end where the rows are satisfied to rounding, redundant or not.
    """
    peer = InPinocchio(mb)
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for loop in mb.loops:
        kind = pin.ContactType.CONTACT_6D if isinstance(loop.hinge, sc.Weld) else pin.ContactType.CONTACT_3D
        ends = []
        for frame in (loop.a, loop.b):
            joint, pose = peer._carriers[frame.carrier]
            ends += [joint, se3(pose @ frame.offset)]
        model = pin.RigidConstraintModel(kind, peer.model, *ends, pin.ReferenceFrame.LOCAL)
        assert np.abs([model.m_baumgarte_parameters.Kp, model.m_baumgarte_parameters.Kd]).max() == 0.0
        models.append(model)
        datas.append(model.createData())
    pin.initConstraintDynamics(peer.model, peer.data, models, datas)
    settled = pin.ProximalSettings(1e-15, 1e-15, 1e-8, 200)
    F = peer.N_inv.T @ force
    wdot = pin.constraintDynamics(peer.model, peer.data, peer.q, peer.w, F, models, datas, settled)
    on_a = {x.name: data.contact_force for x, data in zip(mb.loops, datas, strict=True)}
    wrenches = {name: -np.concatenate([f.angular, f.linear]) for name, f in on_a.items()}
    return peer.N_inv @ (wdot - peer.n), wrenches


def assert_agree(mb, force, solvers, tolerance=1e-9):
    vdot, wrenches = pinocchio(mb, force)
    push = generalized(mb, SimpleNamespace(multipliers=wrenches))
    for solver in solvers:
        r = solver(mb).forward_dynamics(mb.q, mb.v, force)
        near(r.vdot, vdot, tolerance)
        near(generalized(mb, r), push, tolerance)
        if not r.redundant:
            for name, wrench in wrenches.items():
                near(r.multipliers[name], wrench, tolerance)


@pytest.mark.parametrize("solver", SOLVERS)
@tries(15)
@given(closed_graphs(2, 6, 3, couplings=False, hinges=TREE_HINGES, closing=CLOSING), SEEDS)
def test_random_closed_graphs(solver, mb, seed):
    force = force_of(mb, seed)
    comparable(mb, force)
    assert_agree(mb, force, [solver])


def moving_base(hinges, closures):
    """A tree on a free base: two arms of three bodies and a box, then closures (name, frame a, body b, hinge)."""
    rng = np.random.default_rng(11)
    mb = sc.Multibody("platform")
    mb.add_body("base", None, sc.Free(), random_inertia(rng), random_pose(rng))
    for arm in ("left", "right"):
        parent = "base"
        for i, hinge in enumerate(hinges):
            body = mb.add_body(f"{arm}{i}", parent, hinge, random_inertia(rng), random_pose(rng), random_pose(rng))
            parent = body.name
    mb.add_body("box", None, sc.Free(), random_inertia(rng), random_pose(rng))
    mb.set_state(*mb.random_state(12))
    for i, (name, a, b, hinge) in enumerate(closures):
        close(mb, name, a, b, hinge, 0 if isinstance(hinge, sc.Weld) else i + 1)
    mb.v = project(mb, mb.v)
    return mb


BALL, WELD = sc.Spherical(), sc.Weld()
ARM = [sc.Spherical(), sc.Pin((0, 1, 0)), sc.Universal((1, 0, 0), (0, 0, 1))]
CASES = {
    "arms hold a box": [("l", "left2", "box", BALL), ("r", "right2", "box", BALL)],
    "arms welded to a box": [("l", "left2", "box", WELD), ("r", "right2", "box", WELD)],
    "a foot on the ground": [("foot", "inertial", "left2", BALL)],
    "feet welded to the ground": [("l", "inertial", "left2", WELD), ("r", "inertial", "right2", WELD)],
    "loops inside loops": [
        ("in", "left0", "left2", BALL),
        ("out", "left2", "right2", BALL),
        ("box", "left1", "box", WELD),
    ],
}


@pytest.mark.parametrize("name", CASES)
def test_mechanisms_on_a_moving_base(name):
    mb = moving_base(ARM, CASES[name])
    force = force_of(mb)
    assert dense(mb, force).condition < 1e6
    assert TreeAugmented(mb).forward_dynamics(mb.q, mb.v, force).redundant == ()
    assert np.abs(Constraints(mb, mb.state()).gamma).max() > 0.1
    assert_agree(mb, force, SOLVERS)


def test_two_ball_joints_in_one_point_and_a_weld():
    kinds = {"one": BALL, "two": BALL, "weld": WELD}
    mb = moving_base(ARM, [(name, "left2", "right2", hinge) for name, hinge in kinds.items()])
    force = force_of(mb)
    r = TreeAugmented(mb).forward_dynamics(mb.q, mb.v, force)
    assert (r.rank, len(r.redundant)) == (6, 6)
    assert_agree(mb, force, SOLVERS)


@pytest.mark.parametrize("name", ["cassie", "five_bar"])
def test_robots(name):
    mb = library(name)
    for body in mb.bodies:
        body.armature, body.passive = 0.0, sc.Passive()
    force = force_of(mb)
    assert dense(mb, force).condition < 1e6
    assert_agree(mb, force, SOLVERS)
