"""The two sets of dofs, from the model and from what is held."""

from __future__ import annotations

import numpy as np

import soacraft as sc
from soacraft.model.states.dof_sets import actuated_dofs, driven_dofs, held_dofs, modal_dofs, movable_dofs
from soacraft.model.states.ties import moved_with, tied_dofs

BODY = sc.Inertia(1.0, moment=np.eye(3))


def chain(*hinges):
    mb = sc.Multibody("chain")
    parent = None
    for i, hinge in enumerate(hinges):
        parent = mb.add_body(f"b{i}", parent, hinge, BODY)
    return mb


def names(mb, mask):
    return [x for x, is_in in zip(mb.dof_names, mask, strict=True) if is_in]


def test_without_actuators_all_hinges_but_free_ones_have_motors():
    mb = chain(sc.Free(), sc.Pin((0, 0, 1)), sc.Spherical())
    assert names(mb, actuated_dofs(mb)) == ["b1", "b2.0", "b2.1", "b2.2"]
    assert movable_dofs(mb).all()
    assert not modal_dofs(mb).any()


def test_with_actuators_those_that_they_drive():
    mb = chain(sc.Free(), sc.Pin((0, 0, 1)), sc.Pin((0, 1, 0)), sc.Pin((1, 0, 0)))
    mb.add_actuator(sc.Actuator("one", "motor", {"b2": 3.0}))
    mb.add_actuator(sc.Actuator("none", "motor", {"b3": 0.0}))     # no gear, no force
    mb.add_actuator(sc.Actuator("site", "motor", {}))              # drives no dof
    assert names(mb, driven_dofs(mb)) == names(mb, actuated_dofs(mb)) == ["b2"]
    base = np.arange(mb.nv) < 6
    np.testing.assert_array_equal(actuated_dofs(mb, base), base)   # a base with thrusters is named
    assert movable_dofs(mb).all()


def held_box():
    """An arm of two pins, a box with a lid in its hand, and shears whose lower blade floats."""
    mb = chain(sc.Pin((0, 0, 1)), sc.Pin((0, 1, 0)))
    mb.add_body("box", "b1", sc.Weld(), BODY)
    mb.add_body("lid", "box", sc.Pin((0, 1, 0)), BODY)
    mb.add_body("lower", None, sc.Free(), BODY)
    mb.add_body("upper", "lower", sc.Pin((0, 1, 0)), BODY)
    return mb


def test_an_object_is_all_that_hangs_together_without_the_hand():
    mb = held_box()
    assert names(mb, held_dofs(mb, {"box": ("b1",)})) == ["lid"]
    assert names(mb, held_dofs(mb, {"upper": ("b1",)})) == [*(f"lower.{i}" for i in range(6)), "upper"]
    assert names(mb, held_dofs(mb, {"lid": ("box",)})) == ["lid"]
    mb.add_actuator(sc.Actuator("driver", "motor", {"lid": 1.0, "b0": 1.0}))
    assert names(mb, actuated_dofs(mb, held={"box": ("b1",)})) == ["b0"]


def test_a_loop_through_the_hand_moves_what_is_held():
    mb = held_box()
    held = {"upper": ("b1",)}
    assert names(mb, movable_dofs(mb, held)) == ["b0", "b1", "lid"]
    mb["upper"].add_node("grip", mb.pose("b1", "upper"))
    mb.close_loop("grasp", "b1", "upper/grip", sc.Weld())
    assert movable_dofs(mb, held).all()
    assert names(mb, ~movable_dofs(mb, {**held, "box": ("b1",)})) == ["lid"]
    assert names(mb, ~tied_dofs(mb)) == ["lid"]


def test_a_loop_within_an_object_moves_nothing_of_it():
    mb = held_box()
    mb.add_body("stay", "box", sc.Pin((0, 1, 0)), BODY)
    mb.couple("gear", {"lid": 1.0, "stay": -2.0})
    held = {"box": ("b1",)}
    assert names(mb, ~movable_dofs(mb, held))[:1] == ["lid"]
    assert "stay" in names(mb, ~movable_dofs(mb, held))
    mb.couple("string", {"lid": 1.0, "b1": -1.0})                   # the arm moves it, and the gear moves all
    assert movable_dofs(mb, held).all()
    one = np.array([x == "stay" for x in mb.dof_names])
    assert names(mb, moved_with(mb, one)) == ["b1", "lid", "stay"]
