"""What may touch an object that is held: the hand, and no more of the arm."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.world.robots import two_arms

import soacraft as sc
from soacraft.contact.geometry.filters import rigid_groups
from soacraft.errors import ModelError
from soacraft.robot import Robot, World
from soacraft.robot.grasping.hands import fingers_of


def checked(rb, obj):
    """The bodies that an object is checked against."""
    pairs = ({x.partition("/")[0] for x in pair} for pair in World(rb).scene.pairs)
    return {x for pair in pairs if obj in pair for x in pair - {obj}}


def others(rb, *names):
    return {x.name for x in rb.mb.bodies} - {*names}


def with_cup(mb, parent=None, hinge=None):
    body = mb.add_body("cup", parent, hinge or sc.Free(), sc.Inertia.sphere(0.3, 0.05))
    body.add_geometry(sc.Geometry("skin", "sphere", (0.05,)))
    return Robot(mb)


def test_a_forearm_inside_of_what_the_torso_holds_collides():
    mb = sc.load("h1")
    body = mb.add_body("box", hinge=sc.Free(), inertia=sc.Inertia.box(3.0, (0.3, 0.3, 0.3)))
    body.add_geometry(sc.Geometry("skin", "box", (0.3, 0.3, 0.3)))
    q = np.array(mb.q)
    q[-3:] = mb.pose("left_elbow_link").translation
    mb.set_state(q=q)
    rb = Robot(mb)
    w = World(rb)
    rb.attach("box", "torso_link")
    assert w.collides(mb.q)
    assert "left_elbow_link" in {w.body_of(x) for pair in w.touching(mb.q) for x in pair}


@pytest.mark.parametrize("link", [f"link{i}" for i in range(1, 8)])
def test_what_any_link_holds_is_checked_as_if_welded_there_from_the_start(link):
    rb = with_cup(sc.load("panda"))
    rb.attach("cup", link)
    assert World(rb).scene.pairs == World(with_cup(sc.load("panda"), link, sc.Weld())).scene.pairs
    assert World(rb).scene.pairs == World(Robot(rb.mb.copy())).scene.pairs


def test_parts_of_an_object_are_checked_as_if_welded_there_from_the_start():
    """Shears by one blade: the other may touch the hand that its hinge is on, not the fingers."""
    rb = two_arms()
    for name, parent, hinge in (("shears", None, sc.Free()), ("blade", "shears", sc.Pin((0, 0, 1)))):
        body = rb.mb.add_body(name, parent, hinge, sc.Inertia(0.1, moment=1e-4 * np.eye(3)))
        body.add_geometry(sc.Geometry("skin", "sphere", (0.02,)))
    rb.attach("shears", "left2/hand")
    assert World(rb).scene.pairs == World(Robot(rb.mb.copy())).scene.pairs
    assert {"left_finger0", "left_tip0"} <= checked(rb, "blade")
    assert "left2" not in checked(rb, "blade")


def test_parts_of_an_object_that_a_closure_holds_are_checked_alike():
    rb = two_arms()
    for name, parent, hinge in (("shears", None, sc.Free()), ("blade", "shears", sc.Pin((0, 0, 1)))):
        body = rb.mb.add_body(name, parent, hinge, sc.Inertia(0.1, moment=1e-4 * np.eye(3)))
        body.add_geometry(sc.Geometry("skin", "sphere", (0.02,)))
    hung = rb.copy()
    hung.attach("shears", "left2/hand")
    rb.grasp("shears", ["left2/hand"], sc.Pin((0, 0, 1)))
    assert checked(rb, "shears") == checked(hung, "shears")
    assert checked(rb, "blade") == checked(hung, "blade")


@pytest.mark.parametrize("hinge", [sc.Weld(), sc.Spherical()])
def test_a_closure_holds_with_the_same_pairs(hinge):
    rb = two_arms()
    rb.grasp("box", ["right2/hand"], sc.Pin((0, 0, 1)))  # by a closure too
    rb.grasp("box", ["left2/hand"], hinge)
    hands = [f"{side}{x}" for side in ("left", "right") for x in ("2", "_finger0", "_finger1")]
    assert checked(rb, "box") == others(rb, "box", *hands)
    rb.detach("box")
    rb.attach("box", "left2/hand")
    assert checked(rb, "box") == others(rb, "box", *hands[:3])


def test_fingers_of_several_links_are_a_hand_where_that_is_said():
    rb = two_arms()
    hand = ("left2", "left_finger0", "left_finger1", "left_tip0", "left_tip1")
    rb.attach("box", "left2/hand")
    w = World(rb)
    assert "left_tip0" in checked(rb, "box")
    before = w.scene.pairs
    assert set(rb.hand("left hand", "left2/hand")) == {*hand}  # the box that it holds is no finger
    assert checked(rb, "box") == others(rb, "box", *hand)
    assert w.scene.pairs != before  # a world that is there follows
    assert checked(rb.copy(), "box") == others(rb, "box", *hand)
    rb.detach("box")
    rb.attach("box", "left_tip0")  # by one finger: it may touch the others
    assert checked(rb, "box") == others(rb, "box", *hand)
    rb.detach("box")
    rb.attach("box", "left1")  # by the arm: the hand is no part of it
    assert {"left_finger0", "left_tip0"} <= checked(rb, "box")
    rb.detach("box")
    assert checked(rb, "box") == others(rb, "box")


GROUPS = {
    "links": {"links": ["left_finger0", "left_tip0", "left_finger1", "left_tip1"]},
    "joints": {"joints": ["left_finger0", "left_tip0", "left_finger1", "left_tip1"]},
    "chains": {"chains": [("left2", "left_tip0"), ("left2", "left_tip1")]},
    "groups": {"groups": ["half"], "chains": [("left2", "left_tip1")]},
}


@pytest.mark.parametrize("kind", GROUPS)
def test_an_end_effector_of_an_srdf_file_is_a_hand(kind):
    rb = two_arms()
    rb.mb.add_record(sc.Record("group", "half", {"links": ["left_finger0", "left_tip0"], "groups": ["hand"]}))
    rb.mb.add_record(sc.Record("group", "hand", GROUPS[kind]))
    rb.mb.add_record(sc.Record("end_effector", "gripper", {"parent_link": "left2", "group": "hand"}))
    rb.attach("box", "left2/hand")
    grips = ("left2", "left_finger0", "left_finger1", "left_tip0", "left_tip1")
    assert checked(rb, "box") == others(rb, "box", *grips)


def test_a_gripper_on_the_ground_holds_by_its_fingers():
    """And another arm that is welded to the ground is checked."""
    mb = sc.Multibody("vice")
    for name, parent, hinge in (
        ("base", None, sc.Weld()), ("jaw", "base", sc.Prismatic((1, 0, 0))), ("nail", "jaw", sc.Pin((1, 0, 0))),
        ("column", None, sc.Weld()), ("arm", "column", sc.Pin((0, 0, 1))),
    ):  # fmt: skip
        mb.add_body(name, parent, hinge, sc.Inertia(1.0, moment=np.eye(3)))
        mb[name].add_geometry(sc.Geometry("skin", "sphere", (0.05,)))
    rb = with_cup(mb)
    rb.attach("cup", "base")
    assert checked(rb, "cup") == {"nail", "arm"}
    rb.hand("vice", "base")
    assert checked(rb, "cup") == {"arm"}


def test_a_hand_goes_where_its_model_goes():
    mb = sc.load("panda")
    mb.add_model(sc.load("robotiq_2f85"), "attachment", sc.Weld(), prefix="g.")
    rb = with_cup(mb)
    rb.attach("cup", "g.base")
    assert not {"g.left_pad", "g.right_pad"} & checked(rb, "cup")
    assert "link6" in checked(rb, "cup")
    other, since = rb.copy(), rb.version
    rb.hand("arm", "link5")
    other.apply(rb.changes(since))
    assert World(other).scene.pairs == World(rb).scene.pairs


def test_fingers_are_hinged_on_the_palm_or_told():
    rb = two_arms()
    group = rigid_groups(rb.mb)[0]

    def names(palm):
        return {x.name for x in fingers_of(rb.mb, group, rb.mb[palm])}

    assert names("left2") == {"left_finger0", "left_finger1"}
    assert names("left0") == {"left1"}
    rb.hand("left hand", "left2", ["left_finger0", "left_tip0"])
    assert names("left2") == {"left_finger0", "left_finger1", "left_tip0"}


def test_what_is_refused():
    rb = two_arms()
    rb.hand("left hand", "left2")
    with pytest.raises(ModelError, match="'two arms' has a group or an end effector 'left hand' already; take another"):
        rb.hand("left hand", "left2")
    with pytest.raises(ModelError, match="a hand has a name, got ''"):
        rb.hand("", "left2")
    with pytest.raises(ModelError, match="the palm of hand 'x' is a body that moves or is welded, got"):
        rb.hand("x", rb.mb.root)
    with pytest.raises(ModelError, match="the fingers of hand 'x' are bodies, a list of them; got 'left_tip0'"):
        rb.hand("x", "left2", "left_tip0")
    with pytest.raises(ModelError, match="the fingers of hand 'x' are bodies, a list of them; got 5"):
        rb.hand("x", "left2", 5)
    assert [x.name for x in rb.mb.records] == ["left hand", "left hand"]
