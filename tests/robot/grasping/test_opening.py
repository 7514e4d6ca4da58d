"""Doors and drawers that an arm opens: the closed chain is followed by inverse kinematics and by all loop solvers."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.files.native import same
from soacraft.robot import Robot

SOLVERS = (sc.loops.TreeAugmented, sc.loops.FullyAugmented, sc.loops.ConstraintEmbedding)
READY = (0.1, 0.3, -0.1, -1.9, 0.05, 2.2, 0.8)


def _kitchen(kind):
    """A Panda whose hand is at the handle of a closed door, or of a closed drawer."""
    mb = sc.load("panda")
    mb.set_state(q=READY)
    at = mb.pose("attachment").translation
    if kind == "door":  # its axis is 0.5 m to the side of the handle
        pose = sc.Pose(translation=np.add(at, (0.1, 0.5, 0.0)))
        mb.add_body("door", None, sc.Pin((0, 0, 1)), sc.Inertia(6.0, (-0.05, -0.25, 0), 0.3 * np.eye(3)), pose)
        mb["door"].passive = sc.Passive(damping=0.4)
    else:
        pose = sc.Pose(translation=np.add(at, (0.15, 0.0, 0.0)))
        mb.add_body("drawer", None, sc.Prismatic((1, 0, 0)), sc.Inertia(4.0, (0.1, 0, 0), 0.1 * np.eye(3)), pose)
        mb["drawer"].limits = sc.Limits(-0.4, 0.0)
    mb[kind].add_node("handle", mb[kind].inboard.inv @ mb.pose("attachment"))
    mb.set_state(q=np.append(READY, 0.0))
    return Robot(mb)


def _opened(mb, kind, opening):
    """The handle of a door or drawer that is open so far."""
    state = np.array(mb.q)
    state[list(mb.dof_names).index(kind)] = opening
    return mb.pose(f"{kind}/handle", state=mb.state(state))


@pytest.mark.parametrize(("kind", "end"), [("door", -0.7), ("drawer", -0.15)])
def test_an_arm_opens(kind, end):
    rb = _kitchen(kind)
    mb, first = rb.mb, rb.mb.copy()
    told = rb.grasp(kind, ["attachment"])[0]
    assert told.how == "loop"
    arm = rb.limb("arm", "inertial", "attachment")
    dof = list(mb.dof_names).index(kind)
    paths = []
    for opening in np.linspace(0.0, end, 8):
        goal = _opened(first, kind, opening)
        q = sc.inverse_kinematics(mb, {f"{kind}/handle": goal}).q
        assert np.isclose(q[dof], opening, atol=1e-6)
        mb.set_state(q=q)
        assert mb.pose("attachment").is_close(mb.pose(f"{kind}/handle"), 1e-6)  # the hand stays at the handle
        r = arm.ik(goal)  # the limb alone goes there too, with the loop closed
        assert r.found
        assert arm.pose(r.q).is_close(goal, 1e-5)
        paths.append(q)
    assert np.abs(np.diff(paths, axis=0)).max() < 0.5  # one branch all the way
    # the hand went along the circle of the door, or the rail of the drawer
    moved = mb.pose("attachment").translation - first.pose("attachment").translation
    if kind == "drawer":
        assert np.allclose(moved, [end, 0, 0], atol=1e-6)
    else:
        arm = first.pose("attachment").translation - mb[kind].inboard.translation
        c, s = np.cos(end), np.sin(end)
        assert np.allclose(moved, [c * arm[0] - s * arm[1] - arm[0], s * arm[0] + c * arm[1] - arm[1], 0], atol=1e-6)


@pytest.mark.parametrize("kind", ["door", "drawer"])
@pytest.mark.parametrize("hinge", [sc.Weld(), sc.Pin((0, 0, 1)), sc.Spherical()])
def test_all_solvers_give_the_same_accelerations_with_a_moving_chain(kind, hinge):
    rb = _kitchen(kind)
    mb, rng = rb.mb, np.random.default_rng(2)
    rb.grasp(kind, ["attachment"], hinge)
    mb.set_state(q=sc.loops.TreeAugmented(mb).assemble(mb.q, fixed={kind: -0.1}))
    (loop,) = mb.loops
    v = sc.contact.plastic_impact(mb, loop.name, v=rng.normal(size=mb.nv)).v  # a motion that the closure allows
    assert np.abs(v).max() > 0.1
    force = rng.normal(size=mb.nv)
    found = [s(mb).forward_dynamics(mb.q, v, force) for s in SOLVERS]
    for x in found[1:]:
        assert np.allclose(x.vdot, found[0].vdot, atol=1e-8 * np.abs(found[0].vdot).max())
        a, b = x.multipliers[loop.name], found[0].multipliers[loop.name]
        assert np.allclose(a, b, atol=1e-7 * np.abs(b).max())


@pytest.mark.parametrize("kind", ["door", "drawer"])
def test_after_the_hand_lets_go_the_arm_and_the_door_move_alone(kind):
    rb = _kitchen(kind)
    mb, free = rb.mb, rb.mb.copy()
    rb.grasp(kind, ["attachment"])
    rb.ungrasp(kind)
    assert same(mb, free) == []
    force = np.linspace(-1, 1, mb.nv)
    assert (dyn.forward_dynamics(mb, mb.q, mb.v, force) == dyn.forward_dynamics(free, free.q, free.v, force)).all()


def test_a_moving_door_is_stopped_by_the_hand_that_takes_it():
    """The arm is at rest: momentum about the axis of the door goes to the arm and the ground, energy is lost."""
    rb = _kitchen("door")
    mb = rb.mb
    v = np.zeros(mb.nv)
    v[-1] = -1.0
    mb.set_state(v=v)
    before = dyn.kinetic_energy(mb, mb.q, mb.v)
    (told,) = rb.grasp("door", ["attachment"])
    after = dyn.kinetic_energy(mb, mb.q, mb.v, ignore_loops=True)
    assert np.isclose(told.energy_lost, before - after, rtol=1e-9)
    assert 0.0 < after < before
    assert np.allclose(mb.velocity("attachment"), mb.velocity("door/handle"), atol=1e-9)
