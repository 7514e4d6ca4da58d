"""Objects that are taken and put down: poses, momentum, state bit by bit, filters, closed chains."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import LoopError, ModelError, SoacraftError
from soacraft.files.native import same
from soacraft.robot import Robot, World

SOLVERS = (sc.loops.TreeAugmented, sc.loops.FullyAugmented, sc.loops.ConstraintEmbedding)


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
    rb.ungrasp("box", "right2/hand")
    assert not len(mb.loops)
    assert rb.held == {"box": ("left2/hand",)}
    rb.ungrasp("box")
    assert rb.held == {}


def at_the_door():
    """A door, and a planar arm of three links whose hand is at its knob."""
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
    return rb


def test_a_door_is_held_by_a_loop_and_opens_with_the_arm():
    rb = at_the_door()
    mb = rb.mb
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
    with pytest.raises(ModelError, match="'left2' cannot be held by 'box', which is a part of it or outboard of it"):
        rb.attach("left2", "box")
    with pytest.raises(ModelError, match="'box' is not held by 'right2/hand'"):
        rb.ungrasp("box", "right2/hand")
    with pytest.raises(ModelError, match="an object is a body of the model"):
        rb.attach("left2/hand", "right2/hand")
    with pytest.raises(ModelError, match="which is no hand"):
        rb.attach("right2", "inertial")
    rb.detach("box")
    with pytest.raises(ModelError, match="'box' is not held; it holds nothing"):
        rb.update_attachment("box", sc.Pose())
    before = np.array(rb.mb.q)
    with pytest.raises(ModelError, match="held by"):
        rb.grasp("box", ["left2/hand", "right2/hand", "left2/hand"])
    assert rb.held == {}
    assert (rb.mb.q == before).all()
    with pytest.raises(ModelError, match="'box' is held by hands, and none was given"):
        rb.grasp("box", [])
    with pytest.raises(ModelError, match="grasp of 'box' needs a hinge"):
        rb.grasp("box", ["left2/hand"], hinge="glue")
    with pytest.raises(ModelError, match="has no frame 'glove'"):
        rb.grasp("box", ["left2/hand", "glove"])
    rb.attach("box", "left2/hand")
    with pytest.raises(ModelError, match=r"the pose of 'box' must be one Pose\(...\), got 3"):
        rb.update_attachment("box", 3)
    with pytest.raises(ModelError, match="'left0' is not held; it holds 'box'"):
        rb.detach("left0")


def test_a_refused_call_changes_nothing_and_keeps_what_can_be_undone():
    rb = two_arms()
    mb = rb.mb
    mb.set_state(v=np.linspace(-1.0, 1.0, mb.nv))
    rb.attach("box", "left2/hand")
    before = mb.copy()
    for refused in (
        lambda: rb.grasp("box", ["right2/hand", "left2/hand"]),
        lambda: rb.grasp("box", ["right2/hand", "right2/hand"]),
        lambda: rb.grasp("box", ["right2/hand"], sc.Free()),
        lambda: rb.ungrasp("box", ["left2/hand", "right2/hand"]),
    ):
        with pytest.raises(SoacraftError):
            refused()
        assert same(mb, before) == []
        assert rb.held == {"box": ("left2/hand",)}
    assert rb.undo() == "take 'box' 'left2/hand'"


def test_a_hinge_with_limits_is_not_replaced():
    """A free hinge with dampers would lose them in the hand: refused, and nothing has changed."""
    rb = two_arms()
    rb.mb["box"].passive = sc.Passive(damping=1.0)
    before = rb.mb.copy()
    with pytest.raises(ModelError, match="has armature, springs, dampers, friction or limits"):
        rb.attach("box", "left2/hand")
    assert same(rb.mb, before) == []


def test_an_object_is_handed_over():
    """The first hand lets go: the second carries the object, which stays where it is."""
    rb = two_arms()
    mb, free = rb.mb, rb.mb.copy()
    rb.grasp("box", ["left2/hand", "right2/hand"])
    pose = mb.pose("box")
    both = mb.copy()
    rb.ungrasp("box", "left2/hand")
    assert rb.held == {"box": ("right2/hand",)}
    assert mb["box"].parent is mb["right2"]
    assert not len(mb.loops)
    assert not mb["box"].nodes
    assert mb.pose("box").is_close(pose, 1e-14)
    assert rb.undo() == "give 'box' 'left2/hand'"
    assert same(mb, both) == []
    rb.ungrasp("box", "left2/hand")
    rb.detach("box")
    assert same(mb, free) == []


def test_a_hand_that_holds_by_a_pin_keeps_its_loop_when_the_other_lets_go():
    rb = two_arms()
    rb.attach("box", "left2/hand")
    rb.grasp("box", ["right2/hand"], sc.Pin((0, 0, 1)))
    rb.ungrasp("box", "left2/hand")
    assert isinstance(rb.mb["box"].hinge, sc.Free)
    assert [x.hinge for x in rb.mb.loops] == [sc.Pin((0, 0, 1))]
    assert rb.held == {"box": ("right2/hand",)}


def test_an_object_that_is_let_go_has_the_velocity_it_had():
    rb = two_arms()
    mb = rb.mb
    rb.attach("box", "left2/hand")
    mb.set_state(v=np.linspace(0.5, 2.0, mb.nv))
    moving, arm, pose = np.array(mb.velocity("box")), np.array(mb.v), mb.pose("box")
    assert np.abs(moving).max() > 0.1
    rb.detach("box")
    assert np.allclose(mb.velocity("box"), moving, atol=1e-13)
    assert mb.pose("box").is_close(pose, 1e-13)
    assert (mb.v[:6] == arm).all()


def test_an_object_goes_from_where_it_was_put_in_the_hand():
    """What an estimator corrected is not forgotten when the object is let go without having been moved."""
    rb = two_arms()
    rb.attach("box", "left2/hand")
    rb.update_attachment("box", sc.Pose(translation=(0.1, 0.0, 0.0)))
    pose = rb.mb.pose("box")
    held = rb.mb.copy()
    rb.detach("box")
    assert rb.mb.pose("box").is_close(pose, 1e-13)
    rb.undo()
    assert same(rb.mb, held) == []
    assert rb.undo() == "place 'box' 'left2/hand'"
    assert not rb.mb.pose("box").is_close(pose, 1e-3)


def test_an_arm_that_moved_and_came_back_puts_the_object_where_it_was():
    rb = two_arms()
    free = rb.mb.copy()
    rb.attach("box", "left2/hand")
    q = np.array(rb.mb.q)
    rb.mb.set_state(q=q + 0.3)
    rb.mb.set_state(q=q)
    rb.detach("box")
    assert same(rb.mb, free) == []


def test_edits_of_the_model_are_seen():
    """What an edit parted is not held; nothing is undone across it."""
    rb = two_arms()
    mb = rb.mb
    rb.attach("box", "left2/hand")
    mb.reattach("box", None, sc.Free(), keep_pose=True)
    assert rb.held == {}
    text = r"the structure of 'arms' was edited since the last grasp \(take 'box' 'left2/hand'\)"
    with pytest.raises(ModelError, match=text):
        rb.undo()
    rb.grasp("box", ["right2/hand"], sc.Spherical())
    mb.remove_loop(mb.loops[0].name)
    assert rb.held == {}
    rb.attach("box", "left2/hand")
    rb.undo()
    with pytest.raises(ModelError, match="nothing was grasped or let go since the structure of 'arms' was edited"):
        rb.undo()
    rb.attach("box", "left2/hand")
    mb["box"].add_node("mark")
    rb.undo()
    assert "mark" in [x.name for x in mb["box"].nodes]
    rb.attach("box", "left2/hand")
    mb.remove("box")
    assert rb.held == {}


def test_keyframes_of_a_free_object_are_there_again():
    rb = two_arms()
    mb = rb.mb
    mb.add_keyframe(sc.Keyframe("shelf", np.array(mb.q), np.arange(mb.nv, dtype=float)))
    free = mb.copy()
    rb.grasp("box", ["left2/hand", "right2/hand"])
    rb.detach("box")
    assert same(mb, free) == []


def test_a_copy_holds_and_undoes_by_itself():
    rb = two_arms()
    first = rb.mb.copy()
    rb.limb("left", "inertial", "left2/hand")
    rb.grasp("box", ["left2/hand", "right2/hand"])
    twin, held = rb.copy(), rb.mb.copy()
    assert twin.held == rb.held
    assert same(twin.mb, held) == []
    twin.ungrasp("box", "left2/hand")
    assert same(rb.mb, held) == []
    assert rb.held == {"box": ("left2/hand", "right2/hand")}
    twin.undo()
    twin.undo()
    assert same(twin.mb, first) == []
    twin.attach("box", "right2/hand")
    rb.mb.add_body("lamp", hinge=sc.Weld())
    with pytest.raises(ModelError, match="was edited since"):
        rb.copy().undo()


def test_shears_are_held_by_both_handles():
    """A free object with a hinge of its own: it hangs from one hand, and the other closes a loop through its hinge."""
    rb = two_arms()
    mb = rb.mb
    mb.add_body("blade", parent="box", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(0.3, (0.1, 0, 0), 0.01 * np.eye(3)))
    first = mb.copy()
    assert rb.attach("box", "left2/hand").how == "hung"
    assert rb.grasp("blade", ["right2/hand"])[0].how == "loop"
    force = 0.1 * np.arange(mb.nv)
    answers = [s(mb).forward_dynamics(mb.q, mb.v, force).vdot for s in SOLVERS]
    for x in answers[1:]:
        assert np.allclose(x, answers[0], atol=1e-8)
    dof = list(mb.dof_names).index("blade")
    assert abs(answers[0][dof]) > 1e-3
    with pytest.raises(ModelError, match="'blade' is not held by 'left2/hand'; did you mean 'right2/hand'"):
        rb.ungrasp("blade", "left2/hand")
    rb.detach("box")
    rb.detach("blade")
    assert same(mb, first) == []


@pytest.mark.parametrize("hinge", [None, sc.Pin((0, 0, 1))])
def test_a_pose_from_the_estimator_keeps_the_loops_of_other_hands_closed(hinge):
    rb = two_arms()
    mb = rb.mb
    rb.attach("box", "left2/hand")
    rb.grasp("box", ["right2/hand"], hinge)
    hand, since = mb.pose("right2/hand"), rb.version
    seen = sc.Pose.from_rpy(0.1, -0.2, 0.3, (0.02, 0.01, -0.03))
    other = rb.copy()
    rb.update_attachment("box", seen)
    assert mb.pose("box", "left2/hand").is_close(seen)
    assert mb.pose("right2/hand").is_close(hand)
    assert sc.loops.report(mb).closed
    other.apply(rb.changes(since).to_bytes())
    assert other.version == rb.version
    rb.undo()
    assert rb.version == since
    assert sc.loops.report(mb).closed


def test_a_pose_that_would_pull_an_object_out_of_another_loop_is_refused():
    rb = two_arms()
    mb = rb.mb
    rb.attach("box", "left2/hand")
    mb["box"].add_node("eye", mb.pose("right0", "box"))
    mb.close_loop("rope", "right0", "box/eye", sc.Spherical())
    before = rb.version
    with pytest.raises(ModelError, match="'box' cannot be put elsewhere: loop 'rope' joins 'right0' and 'box/eye'"):
        rb.update_attachment("box", sc.Pose())
    assert rb.version == before


def apart(mb):
    """The rates of the pose of the door in the hand by dofs: one turn and two ways, (3, nv)."""
    J = dyn.jacobian(mb, mb.q, ["door", "a2/hand"], expressed_in="inertial")
    lever = mb.pose("a2/hand").translation - mb.pose("door").translation
    door = np.array([J[2], J[3] - lever[1] * J[2], J[4] + lever[0] * J[2]])  # at the hand
    return door - J[[8, 9, 10]]


@pytest.mark.parametrize("hinge", [None, sc.Pin((0, 0, 1))])
def test_the_pose_of_a_door_in_the_hand_is_corrected(hinge):
    """It is as it was seen, all loops close, and of all states that do this is the nearest: the way from the last one
    has no part along the motion that the mechanism keeps with the door fast in the hand."""
    rb = at_the_door()
    mb = rb.mb
    rb.grasp("door", ["a2/hand"], hinge)
    mb.set_state(v=sc.loops.TreeAugmented(mb).project_velocity(mb.q, [0.5, -0.3, 0.2, 0.7]))
    first, v, since, other = np.array(mb.q), np.array(mb.v), rb.version, rb.copy()
    seen = mb.pose("door", "a2/hand") @ sc.Pose.from_rpy(0.0, 0.0, 0.05, (0.03, -0.02, 0.0))
    rb.update_attachment("door", seen)
    assert mb.pose("door", "a2/hand").is_close(seen)
    assert sc.loops.report(mb).closed
    along = np.linalg.svd(apart(mb))[2][-1]
    assert np.abs(apart(mb) @ along).max() < 1e-12
    assert abs(along @ (mb.q - first)) < 1e-6 * np.linalg.norm(mb.q - first)
    held = apart(mb) if hinge is None else apart(mb)[1:]
    assert np.abs(held @ mb.v).max() < 1e-9  # the hand stays on the door
    assert np.abs(mb.v).max() > 0.1
    other.apply(rb.changes(since).to_bytes())
    assert other.version == rb.version
    assert rb.undo() == "place 'door' 'a2/hand'"
    assert rb.version == since
    assert (mb.q == first).all()
    assert (mb.v == v).all()


def test_a_pose_of_a_door_that_cannot_be_closed_is_refused_and_changes_nothing():
    """Tilted out of the plane, farther than the arm reaches, or past a limit of the door."""
    rb = at_the_door()
    mb = rb.mb
    rb.attach("door", "a2/hand")
    before, now = mb.pose("door", "a2/hand"), rb.version
    tilted, far = before @ sc.Pose.from_rpy(0.2, 0.0, 0.0), before @ sc.Pose(translation=(9.0, 0.0, 0.0))
    for seen in (tilted, far):
        with pytest.raises(LoopError, match=r"'door' cannot be held by 'a2/hand' at this pose: .*'a2/hand holds door'"):
            rb.update_attachment("door", seen)
        assert rb.version == now
    seen = before @ sc.Pose(translation=(-0.3, 0.0, 0.0))
    rb.copy().update_attachment("door", seen)
    tight = rb.copy()
    for body in tight.mb.bodies:
        k = tight.mb.layout.hinge_q[tight.mb.layout.index[body]]
        body.limits = sc.Limits(np.array(tight.mb.q)[k] - 1e-3, np.array(tight.mb.q)[k] + 1e-3)
    now = tight.version
    with pytest.raises(LoopError, match=r"'door' cannot be held by 'a2/hand' at this pose: .*limit"):
        tight.update_attachment("door", seen)
    assert tight.version == now
    assert tight.undo() == "take 'door' 'a2/hand'"


def test_the_hand_whose_grasp_is_corrected_is_named_where_several_hold():
    rb = two_arms()
    mb = rb.mb
    rb.grasp("box", ["left2/hand", "right2/hand"], sc.Pin((0, 0, 1)))
    seen = mb.pose("box", "right2/hand") @ sc.Pose(translation=(0.02, -0.01, 0.0))
    with pytest.raises(ModelError, match="'box' is held by 'left2/hand' and 'right2/hand': say in which of them its "
                                         "pose is, by hand="):  # fmt: skip
        rb.update_attachment("box", seen)
    with pytest.raises(ModelError, match="'box' is not held by 'left1'"):
        rb.update_attachment("box", seen, hand="left1")
    rb.update_attachment("box", seen, hand="right2/hand")
    assert mb.pose("box", "right2/hand").is_close(seen)
    assert sc.loops.report(mb).closed
    rb.ungrasp("box")
    rb.attach("box", "left2/hand")
    rb.grasp("box", ["right2/hand"])
    seen = mb.pose("box", "right2/hand") @ sc.Pose(translation=(0.02, -0.01, 0.0))
    at = mb.pose("box", "left2/hand")
    rb.update_attachment("box", seen, hand="right2/hand")  # it hangs from the other, and stays there
    assert mb.pose("box", "right2/hand").is_close(seen)
    assert mb.pose("box", "left2/hand").is_close(at)
    assert sc.loops.report(mb).closed


def test_hands_that_are_none_are_refused():
    rb = two_arms()
    rb.attach("box", "left2/hand")
    with pytest.raises(ModelError, match="'box' is parted from hands, and none was given; leave them out for all"):
        rb.ungrasp("box", [])
    with pytest.raises(ModelError, match="hands are bodies or nodes of the robot, one or a list of them; got 5"):
        rb.ungrasp("box", 5)
    for hands in (None, np.array(1.0), np.array("right2/hand"), np.array(None)):
        with pytest.raises(ModelError, match="hands are bodies or nodes of the robot, one or a list of them; got"):
            rb.grasp("box", hands)
    rb.undo()  # the grasp, since nothing else was done
    assert rb.held == {}
