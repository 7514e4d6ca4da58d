"""Editing a model at run time: removing, re-attaching, copying, and stale handles."""

import copy

import numpy as np
import pytest

from soacraft.errors import ModelError, StaleError
from soacraft.model import Multibody, random_pose, random_tree, serial_chain
from soacraft.model.hinges import (
    Cylindrical,
    Free,
    Gimbal,
    Helical,
    Pin,
    Planar,
    Prismatic,
    RollingBall,
    Screws,
    Spherical,
    Universal,
    Weld,
)
from soacraft.spatial import Inertia, Pose


def state_of(mb):
    return {body.name: (mb.q[body.q_slice], mb.v[body.v_slice], mb.vdot[body.v_slice]) for body in mb.bodies}


def assert_same_state(before, after, except_for=()):
    for name in after:
        if name not in except_for:
            for x, y in zip(before[name], after[name], strict=True):
                np.testing.assert_array_equal(x, y)


# -- adding and removing ----------------------------------------------------------------------------------------


def test_adding_keeps_the_state_of_what_is_there():
    mb = random_tree(8, seed=1)
    before, version = state_of(mb), mb.version
    new = mb.add_body("new", "body3", Spherical())
    assert mb.version == version + 1
    assert_same_state(before, {k: x for k, x in state_of(mb).items() if k != "new"})
    np.testing.assert_array_equal(mb.q[new.q_slice], [0, 0, 0, 1])
    np.testing.assert_array_equal(mb.v[new.v_slice], np.zeros(3))


def test_remove_keeps_the_state_of_what_remains():
    mb = random_tree(12, seed=4, branching=1.0)
    before = state_of(mb)
    tip = next(body for body in reversed(mb.bodies) if not body.children)
    parent = tip.parent
    mb.remove(tip)
    assert tip.name not in mb
    assert tip not in parent.children
    assert len(mb) == 11
    assert_same_state(before, state_of(mb))


def test_remove_a_body_with_children():
    mb = serial_chain(4)
    version = mb.version
    with pytest.raises(ModelError) as error:
        mb.remove("link2")
    assert str(error.value) == (
        "body 'link2' carries 'link3'; remove them too with mb.remove('link2', subtree=True), or reattach them first."
    )
    assert len(mb) == 4
    assert mb.version == version
    mb.q = [0.1, 0.2, 0.3, 0.4]
    mb.remove("link2", subtree=True)
    assert [body.name for body in mb.bodies] == ["link1"]
    np.testing.assert_array_equal(mb.q, [0.1])
    mb.add_body("link2", "link1", Pin((0, 0, 1)))  # the names are free again


def test_removed_handles_are_stale():
    mb = serial_chain(3)
    link, tip = mb["link3"], mb["link3/tip"]
    mb.remove(link)
    for use in (
        lambda: mb.pose(link),
        lambda: mb.remove(link),
        lambda: link.add_node("x"),
        lambda: link.q_slice,
        lambda: setattr(link, "inertia", Inertia(1.0)),
        lambda: mb.add_body("x", link, Weld()),
    ):
        with pytest.raises(StaleError, match="body 'link3' was removed from 'chain'; look it up, or add it again"):
            use()
    with pytest.raises(StaleError, match="body 'link3' was removed"):
        mb.velocity(tip)
    assert repr(link) == "body 'link3' (removed)"
    assert link not in mb
    with pytest.raises(ModelError, match="has no frame 'link3'"):
        mb["link3"]


def test_remove_node():
    mb = serial_chain(2)
    tip, state = mb["link2/tip"], mb.state()
    with pytest.raises(ModelError, match="body 'link2' has no node 'top'; it has 'tip'"):
        mb["link2"].remove_node("top")
    mb["link2"].remove_node(tip)
    assert mb["link2"].nodes == ()
    with pytest.raises(StaleError, match="node 'link2/tip' was removed from 'chain'"):
        mb.pose(tip)
    with pytest.raises(StaleError):
        mb.sko(state)


def test_old_states_are_stale_after_a_structural_change():
    mb = serial_chain(2)
    state = mb.state()
    mb.add_body("more", "link2", Weld())
    for use in (
        lambda: mb.sko(state),
        lambda: mb.body_velocities(state),
        lambda: mb.pose("link1", state=state),
        lambda: state.replace(v=np.zeros(2)),
    ):
        with pytest.raises(StaleError) as error:
            use()
        assert str(error.value) == (
            "this state of 'chain' was made before a structural change of the model; make a new one with mb.state(...)."
        )


# -- re-attaching -----------------------------------------------------------------------------------------------


def test_reattach_starts_neutral_and_moves_the_subtree():
    mb = serial_chain(4)
    mb.set_state([0.1, 0.2, 0.3, 0.4], [1, 2, 3, 4])
    before = state_of(mb)
    relative = mb.pose("link4", "link3")
    mb.reattach("link3", parent="link1", hinge=Universal((1, 0, 0), (0, 1, 0)), inboard=Pose(translation=(0, 0, 1)))
    link = mb["link3"]
    assert link.parent is mb["link1"]
    assert link in mb["link1"].children
    assert link not in mb["link2"].children
    assert link.hinge_name == "link3"
    assert mb.nv == 5
    np.testing.assert_array_equal(mb.q[link.q_slice], [0, 0])
    np.testing.assert_array_equal(mb.v[link.v_slice], [0, 0])
    assert_same_state(before, state_of(mb), except_for=["link3"])
    assert mb.pose("link3", "link1").is_close(Pose(translation=(0, 0, 1)))
    assert mb.pose("link4", "link3").is_close(relative)


def test_reattach_to_the_inertial_frame_and_rename_the_hinge():
    mb = serial_chain(2)
    mb.reattach("link2", parent=None, hinge=Free(), hinge_name="float")
    assert mb["link2"].parent is mb.root
    assert mb.dof_names == ("link1", *(f"float.{i}" for i in range(6)))
    mb.add_body("x", None, Pin((0, 0, 1)), hinge_name="link2")  # the old name of the hinge is free


def test_a_loop_is_refused():
    mb = Multibody("arm")
    mb.add_body("upper_arm", None, Pin((0, 0, 1)))
    mb.add_body("forearm", "upper_arm", Pin((0, 0, 1)))
    mb.add_body("hand", "forearm", Pin((0, 0, 1)))
    before, version = mb.current, mb.version
    with pytest.raises(ModelError) as error:
        mb.reattach("upper_arm", parent="forearm", hinge=Pin((0, 0, 1)), hinge_name="elbow")
    assert str(error.value) == (
        "hinge 'elbow' would close a loop (forearm -> upper_arm -> forearm). Add it with mb.close_loop(...)."
    )
    with pytest.raises(ModelError, match=r"\(hand -> forearm -> upper_arm -> hand\)"):
        mb.reattach("upper_arm", parent="hand", hinge=Pin((0, 0, 1)))
    with pytest.raises(ModelError, match=r"\(hand -> hand\)"):
        mb.reattach("hand", parent="hand", hinge=Pin((0, 0, 1)))
    assert mb.current is before
    assert mb.version == version


def test_reattach_refuses_bad_arguments_and_keeps_everything():
    mb = serial_chain(3)
    mb.add_body("x", None, Weld(), hinge_name="knee")
    before = mb.current
    for arguments, text in (
        (dict(parent="link9", hinge=Weld()), "has no frame 'link9'"),
        (dict(parent="link1"), "body 'link3' needs a hinge"),
        (dict(parent="link1", hinge=Weld(), inboard=3), "inboard of 'link3' must be a Pose"),
        (dict(parent="link1", hinge=Weld(), hinge_name="knee"), "already has a hinge 'knee', of body 'x'"),
    ):
        with pytest.raises(ModelError, match=text):
            mb.reattach("link3", **arguments)
    assert mb.current is before
    assert mb["link3"].parent is mb["link2"]


REACH = [
    Free(),
    Spherical(),
    Pin((0.3, -0.5, 0.8)),
    Prismatic((0.6, 0.2, -0.4)),
    Helical((-0.2, 0.7, 0.4), pitch=0.15),
    Cylindrical((0.5, 0.1, 0.9)),
    Universal((1.0, 0.2, 0.1), (-0.3, 0.9, 0.2)),
    Gimbal(),
    Planar(),
    Screws([(0.4, 0.1, 0.7, 0.2, -0.5, 0.3), (0.9, 0.2, -0.1, 0.0, 0.4, 0.1)]),
    Weld(),
]


@pytest.mark.parametrize("hinge", REACH, ids=lambda hinge: type(hinge).__name__)
@pytest.mark.parametrize("seed", range(4))
def test_keep_pose_where_the_hinge_reaches(hinge, seed):
    """The body is where some q of the new hinge puts it: that pose, and its velocity, are kept."""
    mb = random_tree(5, seed=seed, branching=0.0)
    rng = np.random.default_rng(seed)
    inboard, outboard = random_pose(rng), random_pose(rng)
    q, v = hinge.random(rng), rng.standard_normal(hinge.nv)
    # hang a twin of the body by the hinge itself, then find that place from a free hinge
    mb.add_body("moved", "body2", hinge, Inertia(1.0), inboard, outboard)
    x, u = np.array(mb.q), np.array(mb.v)
    x[mb["moved"].q_slice], u[mb["moved"].v_slice] = q, v
    mb.set_state(x, u)
    pose, velocity = mb.pose("moved"), np.asarray(mb.velocity("moved"))
    mb.reattach("moved", parent="body5", hinge=Free(), keep_pose=True)
    assert mb.pose("moved").is_close(pose, 1e-9)
    np.testing.assert_allclose(mb.velocity("moved"), velocity, atol=1e-8)
    mb.reattach("moved", parent="body2", hinge=hinge, inboard=inboard, outboard=outboard, keep_pose=True)
    assert mb.pose("moved").is_close(pose, 1e-8)
    np.testing.assert_allclose(mb.velocity("moved"), velocity, atol=1e-7)


def test_keep_pose_counts_the_turns_of_a_helical_hinge():
    mb = Multibody("screw")
    mb.add_body("nut", None, Helical((0, 0, 1), pitch=0.01))
    mb.q = [23.0]
    pose = mb.pose("nut")
    mb.reattach("nut", None, hinge=Free(), keep_pose=True)
    mb.reattach("nut", None, hinge=Helical((0, 0, 1), pitch=0.01), keep_pose=True)
    assert mb.pose("nut").is_close(pose)
    np.testing.assert_allclose(mb.q, [23.0])


def test_keep_pose_out_of_reach_is_refused():
    mb = serial_chain(3)
    mb.q = [0.1, 0.2, 0.3]
    before = mb.current
    with pytest.raises(ModelError) as error:
        mb.reattach("link3", parent="link1", hinge=Weld(), keep_pose=True)
    text = str(error.value)
    assert text.startswith(
        "hinge 'link3' (Weld()) cannot hold body 'link3' where it is: the nearest pose found is off by "
    )
    assert text.endswith("Choose inboard and outboard to suit, another hinge, or keep_pose=False.")
    with pytest.raises(ModelError, match="is nonholonomic, so keep_pose cannot find its coordinates"):
        mb.reattach("link3", parent="link1", hinge=RollingBall(0.3), keep_pose=True)
    assert mb.current is before
    inboard = mb.pose("link3", relative_to="link1")
    mb.reattach("link3", parent="link1", hinge=Weld(), inboard=inboard, keep_pose=True)
    assert mb["link3"].inboard == inboard
    assert type(mb["link3"].inboard) is Pose


def test_a_velocity_the_new_hinge_cannot_have_is_dropped():
    mb = serial_chain(2)
    mb.v = [1.0, 2.0]
    mb.reattach("link2", parent=None, hinge=Prismatic((1, 0, 0)), keep_pose=True)
    np.testing.assert_array_equal(mb.v, [1.0, 0.0])


# -- copies -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda mb: mb.copy(), copy.copy, copy.deepcopy])
def test_copies_are_whole_and_independent(make):
    mb = random_tree(10, seed=8, branching=0.0, bases=2)
    mb.reattach("body2", parent="body9", hinge=Pin((0, 0, 1)))  # insertion order is no longer parents first
    mb.root.add_node("dock", random_pose(3))
    mb.set_force("body5/tip", np.arange(6.0))
    twin = make(mb)
    assert [body.name for body in twin.bodies] == [body.name for body in mb.bodies]
    assert twin.dof_names == mb.dof_names
    assert "inertial/dock" in twin
    assert twin["body3"] is not mb["body3"]
    for axes in ("body", "inertial", "origin"):
        one, two = mb.sko(axes=axes), twin.sko(axes=axes)
        for k in one.nodes:
            for name in ("H", "M", "a", "b"):
                np.testing.assert_array_equal(getattr(one, name)(k), getattr(two, name)(k))
    before = mb.current
    twin.q = twin.neutral()
    twin.remove("body2", subtree=True)
    assert mb.current is before
    assert mb.copy("other").name == "other"
