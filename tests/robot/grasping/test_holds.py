"""Objects that are taken and put down: poses, momentum, state bit by bit, filters, closed chains."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import ModelError
from soacraft.robot import Robot, World


def two_arms():
    """Two planar arms of three links on a base, and a box between their hands."""
    mb = sc.Multibody("arms")
    for side, y in (("left", 0.5), ("right", -0.5)):
        last = None
        for i in range(3):
            inboard = sc.Pose(translation=(0.0, y, 0.0) if last is None else (0.5, 0, 0))
            inertia = sc.Inertia(1.0, (0.25, 0, 0), 0.02 * np.eye(3))
            body = mb.add_body(f"{side}{i}", parent=last, hinge=sc.Pin((0, 0, 1)), inertia=inertia, inboard=inboard)
            along = sc.Pose.from_rpy(0, np.pi / 2, 0, (0.25, 0, 0))
            body.add_geometry(sc.Geometry("skin", "capsule", (0.03, 0.4), along))
            last = body.name
        mb[last].add_node("hand", sc.Pose(translation=(0.5, 0, 0)))
    box = mb.add_body("box", hinge=sc.Free(), inertia=sc.Inertia(2.0, moment=np.diag([0.1, 0.2, 0.3])))
    box.add_geometry(sc.Geometry("skin", "box", (0.2, 0.2, 0.2)))
    mb.set_state(q=[0.3, 0.4, -0.2, -0.3, -0.4, 0.2, 0, 0, 0, 1, 1.4, 0.0, 0.0])
    return Robot(mb)


def test_a_free_object_hangs_from_the_hand_where_it_is():
    rb = two_arms()
    mb = rb.mb
    before, nv = mb.pose("box"), mb.nv
    told = rb.attach("box", "left2/hand")
    assert told.how == "hung"
    assert mb.nv == nv - 6
    assert mb.pose("box").is_close(before)
    assert mb["box"].parent is mb["left2"]
    assert rb.held == {"box": ("left2/hand",)}
    moved = np.array(mb.q)
    moved[0] += 0.5
    mb.set_state(q=moved)
    assert not mb.pose("box").is_close(before)
    rb.detach("box")
    assert rb.held == {}
    assert isinstance(mb["box"].hinge, sc.Free)


def test_momentum_is_kept_and_the_energy_lost_is_told():
    """A free robot in space catches a moving object: momentum about the origin stays."""
    mb = sc.Multibody("catcher", gravity=(0, 0, 0))
    mb.add_body("hull", hinge=sc.Free(), inertia=sc.Inertia(5.0, (0.1, 0, 0), np.eye(3)))
    mb.add_body("arm", parent="hull", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0, (0.5, 0, 0), 0.1 * np.eye(3)))
    mb.add_body("probe", hinge=sc.Free(), inertia=sc.Inertia(2.0, moment=np.diag([0.1, 0.2, 0.3])))
    rng = np.random.default_rng(4)
    mb.set_state(*mb.random_state(rng))
    momentum, energy = dyn.momentum(mb, mb.q, mb.v), dyn.kinetic_energy(mb, mb.q, mb.v)
    told = Robot(mb).attach("probe", "arm")
    assert np.allclose(dyn.momentum(mb, mb.q, mb.v), momentum, atol=1e-12 * np.abs(momentum).max())
    assert np.isclose(told.energy_lost, energy - dyn.kinetic_energy(mb, mb.q, mb.v), rtol=1e-10)
    assert told.energy_lost > 0.0


def test_a_second_hand_closes_a_loop_that_solvers_take():
    rb = two_arms()
    mb = rb.mb
    first, second = rb.grasp("box", ["left2/hand", "right2/hand"])
    assert (first.how, second.how) == ("hung", "loop")
    assert [x.name for x in mb.loops] == [second.loop]
    answers = [
        solver.forward_dynamics(mb.q, mb.v, 0.1 * np.arange(mb.nv)).vdot
        for solver in (sc.loops.TreeAugmented(mb), sc.loops.FullyAugmented(mb), sc.loops.ConstraintEmbedding(mb))
    ]
    for x in answers[1:]:
        assert np.allclose(x, answers[0], atol=1e-8)
    with pytest.raises(ModelError, match="hangs from 'left2/hand' and is held by 'right2/hand' too"):
        rb.ungrasp("box", "left2/hand")
    rb.ungrasp("box", "right2/hand")
    assert not len(mb.loops)
    assert rb.held == {"box": ("left2/hand",)}
    rb.ungrasp("box")
    assert rb.held == {}


def test_a_door_is_held_by_a_loop_and_opens_with_the_arm():
    mb = sc.Multibody("door and arm")
    mb.add_body("door", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(3.0, (0.4, 0, 0), 0.2 * np.eye(3)))
    mb["door"].add_node("knob", sc.Pose(translation=(0.8, 0, 0)))
    last = None
    for i in range(3):
        inboard = sc.Pose(translation=(0.0, -1.0, 0.0) if last is None else (0.6, 0, 0))
        inertia = sc.Inertia(1.0, (0.3, 0, 0), 0.02 * np.eye(3))
        last = mb.add_body(f"a{i}", parent=last, hinge=sc.Pin((0, 0, 1)), inertia=inertia, inboard=inboard).name
    mb[last].add_node("hand", sc.Pose(translation=(0.3, 0, 0)))
    rb = Robot(mb)
    arm = rb.limb("arm", "inertial", "a2/hand")
    r = arm.ik(sc.Pose(translation=(0.8, 0.0, 0.0)), free=("rx", "ry", "rz"))
    assert r.found
    mb.set_state(q=arm.of_robot(r.q))
    told = rb.attach("door", "a2/hand")
    assert told.how == "loop"
    solvers = [sc.loops.TreeAugmented(mb), sc.loops.FullyAugmented(mb), sc.loops.ConstraintEmbedding(mb)]
    force = np.zeros(mb.nv)
    force[list(mb.dof_names).index("a0")] = 1.0
    found = [x.forward_dynamics(mb.q, mb.v, force).vdot for x in solvers]
    assert np.allclose(found[0], found[1], atol=1e-8)
    assert np.allclose(found[0], found[2], atol=1e-8)
    assert abs(found[0][list(mb.dof_names).index("door")]) > 1e-3
    rb.detach("door")
    assert not len(mb.loops)
    assert isinstance(mb["door"].hinge, sc.Pin)


def test_taking_and_giving_in_any_order_ends_where_it_began_bit_by_bit():
    rb = two_arms()
    mb, rng = rb.mb, np.random.default_rng(0)
    q, v, names = np.array(mb.q), np.array(mb.v), mb.dof_names
    hands = ["left2/hand", "right2/hand"]
    for _ in range(200):
        held = rb.held.get("box", ())
        if len(held) == 2 or (held and rng.random() < 0.5):
            loops = [x for x in held if x != held[0]]
            rb.ungrasp("box", loops[0] if loops and rng.random() < 0.7 else None)
        else:
            rb.grasp("box", [next(x for x in (hands if rng.random() < 0.5 else hands[::-1]) if x not in held)])
    if rb.held:
        rb.ungrasp("box")
    assert mb.dof_names == names
    assert (mb.q == q).all()
    assert (mb.v == v).all()
    assert not len(mb.loops)
    assert not mb["box"].nodes


def test_undo_restores_the_state_exactly():
    rb = two_arms()
    mb = rb.mb
    mb.set_state(v=np.linspace(-1.0, 1.0, mb.nv))
    q, v = np.array(mb.q), np.array(mb.v)
    rb.attach("box", "right2/hand")
    mb.set_state(q=np.array(mb.q) + 0.1)
    held, moving = np.array(mb.q), np.array(mb.v)
    rb.detach("box")
    assert rb.undo() == "give 'box' 'right2/hand'"
    assert (mb.q == held).all()
    assert (mb.v == moving).all()
    assert rb.undo() == "take 'box' 'right2/hand'"
    assert (mb.q == q).all()
    assert (mb.v == v).all()
    with pytest.raises(ModelError, match="there is nothing to undo"):
        rb.undo()


def test_undo_of_a_release_closes_the_loop_by_the_hinge_it_had():
    rb = two_arms()
    rb.attach("box", "left2/hand")
    rb.grasp("box", ["right2/hand"], sc.Pin((0, 0, 1)))
    rb.ungrasp("box", "right2/hand")
    rb.undo()
    (loop,) = rb.mb.loops
    assert loop.hinge == sc.Pin((0, 0, 1))
    assert rb.held == {"box": ("left2/hand", "right2/hand")}
    rb.undo()
    rb.undo()
    assert rb.held == {}


def test_filters_follow_as_if_the_model_had_been_built_so():
    rb = two_arms()
    rb.attach("box", "left2/hand")
    built = World(Robot(rb.mb.copy())).scene.pairs
    assert World(rb).scene.pairs == built
    assert ("box/skin", "left2/skin") not in built
    assert ("box/skin", "left0/skin") in built
    rb.detach("box")
    assert ("box/skin", "left2/skin") in World(rb).scene.pairs


def test_the_pose_in_the_hand_is_corrected():
    rb = two_arms()
    rb.attach("box", "left2/hand")
    rb.update_attachment("box", sc.Pose(translation=(0.1, 0.0, 0.0)))
    assert rb.mb.pose("box", "left2/hand").is_close(sc.Pose(translation=(0.1, 0.0, 0.0)))
    arm = rb.limb("left", "inertial", "box")
    assert arm.nv == 3


def test_limbs_are_made_anew_after_a_grasp():
    rb = two_arms()
    rb.limb("left", "inertial", "left2/hand")
    rb.attach("box", "left2/hand")
    assert rb["left"].pose().is_close(rb.mb.pose("left2/hand"))


def test_what_is_refused():
    rb = two_arms()
    with pytest.raises(ModelError, match="'box' is not held; it holds nothing"):
        rb.detach("box")
    rb.attach("box", "left2/hand")
    with pytest.raises(ModelError, match="'box' is held by 'left2/hand' already; ungrasp it first"):
        rb.attach("box", "left2/hand")
    with pytest.raises(ModelError, match="'left2' cannot be held by 'box', which is a part of it or hangs from it"):
        rb.attach("left2", "box")
    with pytest.raises(ModelError, match="'box' is not held by 'right2/hand'"):
        rb.ungrasp("box", "right2/hand")
    with pytest.raises(ModelError, match="an object is a body of the model"):
        rb.attach("left2/hand", "right2/hand")
    with pytest.raises(ModelError, match="which is no hand"):
        rb.attach("right2", "inertial")
    with pytest.raises(ModelError, match="let go before it is copied"):
        rb.copy()
    rb.detach("box")
    with pytest.raises(ModelError, match="hangs from no hand"):
        rb.update_attachment("box", sc.Pose())
    before = np.array(rb.mb.q)
    with pytest.raises(ModelError, match="held by"):
        rb.grasp("box", ["left2/hand", "right2/hand", "left2/hand"])
    assert rb.held == {}
    assert (rb.mb.q == before).all()
