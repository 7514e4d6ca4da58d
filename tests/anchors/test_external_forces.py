"""Forces at nodes: T = Mcal vdot + C - J* f, with J from differences of poses; and what they do to simple bodies."""

import numpy as np
import pytest
from tests.anchors.reference import AXES, bias_force, forward, tangent_rate

import soacraft as sc
from soacraft.model import random_tree
from soacraft.spatial import log

MOMENT, FORCE = np.array([0.7, -0.4, 1.1]), np.array([3.0, 5.0, -2.0])


def generalized(mb, node, moment, force):
    """n.dtheta/dq + F.dp/dq for a moment and a force in inertial axes, by differences of poses."""
    R = mb.pose(node).rotation
    dp = tangent_rate(mb, lambda states: mb.pose(node, state=states).translation)
    turn = tangent_rate(mb, lambda states: log(mb.pose(node, state=states).rotation @ R.T))
    return moment @ turn + force @ dp


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("expressed_in", [None, "inertial", "body2", "body7", "body11/tip"])
def test_enters_b_with_the_opposite_sign(axes, expressed_in):
    """C falls by J* f, whichever axes the wrench is given in."""
    mb = random_tree(12, seed=6)
    node = "body11/tip"
    R = mb.pose(node if expressed_in is None else expressed_in).rotation
    wrench = sc.Wrench(MOMENT, FORCE, expressed_in=expressed_in)
    expected = generalized(mb, node, R @ MOMENT, R @ FORCE)
    alone = bias_force(sc.operators(mb, axes=axes))
    pushed = bias_force(sc.operators(mb, axes=axes, f_ext={node: wrench}))
    np.testing.assert_allclose(alone - pushed, expected, rtol=1e-9, atol=1e-9)
    mb.set_force(node, wrench)
    np.testing.assert_allclose(alone - bias_force(sc.operators(mb, axes=axes)), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("axes", AXES)
def test_six_numbers_are_in_node_axes(axes):
    mb = random_tree(9, seed=2)
    ops = sc.operators(mb, axes=axes, f_ext={"body9/tip": [*MOMENT, *FORCE]})
    given = sc.operators(mb, axes=axes, f_ext={"body9/tip": sc.Wrench(MOMENT, FORCE, expressed_in="body9/tip")})
    np.testing.assert_allclose(ops.b, given.b, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("axes", AXES)
def test_J_star_f_as_an_expression(axes):
    """J* f = H phi B f, f in node axes (body) or inertial axes (the others)."""
    mb = random_tree(12, seed=6)
    ops, node = sc.operators(mb, axes=axes), "body11/tip"
    R = mb.pose(node).rotation if axes == "body" else np.eye(3)
    f = np.concatenate([R.T @ MOMENT, R.T @ FORCE])
    expected = generalized(mb, node, MOMENT, FORCE)
    np.testing.assert_allclose(ops.H * (ops.phi * (ops.B(node) * f)), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("axes", AXES)
def test_a_force_at_a_tool_is_balanced_by_the_hinges(axes):
    """Holding still against f takes T = C - J* f; with that T nothing accelerates."""
    mb = sc.load("arm7")
    q, _ = mb.random_state(4)
    mb.set_state(q, np.zeros(7))
    held = bias_force(sc.operators(mb, axes=axes))
    push = {"link7/tool": sc.Wrench(MOMENT, FORCE, expressed_in="inertial")}
    T = held - generalized(mb, "link7/tool", MOMENT, FORCE)
    np.testing.assert_allclose(forward(sc.operators(mb, axes=axes, f_ext=push), T), 0.0, atol=1e-7)


def test_stored_and_given_forces_add_and_end():
    mb = random_tree(9, seed=3)
    at_rest = bias_force(sc.operators(mb))
    stored, given = {"body9/tip": [*MOMENT, *FORCE]}, {"body3/tip": [*FORCE, *MOMENT]}
    parts = [bias_force(sc.operators(mb, f_ext=f)) - at_rest for f in (stored, given)]
    mb.set_force("body9/tip", stored["body9/tip"])
    both = bias_force(sc.operators(mb, f_ext=given)) - at_rest
    np.testing.assert_allclose(both, parts[0] + parts[1], rtol=1e-10, atol=1e-10)
    mb.set_force("body9/tip", None)
    np.testing.assert_array_equal(bias_force(sc.operators(mb)), at_rest)


@pytest.mark.parametrize("axes", AXES)
def test_a_push_through_the_centre_of_mass(axes):
    """Newton: F/m along F, no turning, however the body stands."""
    mb = sc.Multibody("box", gravity=(0, 0, 0))
    mb.add_body("box", None, sc.Free(), sc.Inertia(2.0, (0.3, 0.1, -0.2), np.diag([0.4, 0.5, 0.6])))
    mb.body("box").add_node("com", sc.Pose.from_rpy(0.3, 0.2, 1.0, translation=(0.3, 0.1, -0.2)))
    q, _ = mb.random_state(5)
    mb.q = q
    push = {"box/com": sc.Wrench((0, 0, 0), FORCE, expressed_in="inertial")}
    mb.vdot = forward(sc.operators(mb, axes=axes, f_ext=push), np.zeros(6))
    np.testing.assert_allclose(mb.acceleration("box"), [0, 0, 0, *FORCE / 2.0], atol=1e-13)


@pytest.mark.parametrize("axes", AXES)
def test_a_weight_held_at_the_tip(axes):
    """A level pendulum stays where it is under an upward force of its weight, and leaps under twice of it."""
    mb = sc.load("pendulum")
    mb.q = [np.pi / 2]
    for share in (1.0, 2.0):
        push = {"bob/tip": sc.Wrench((0, 0, 0), (0, 0, 9.81 * share), expressed_in="inertial")}
        vdot = forward(sc.operators(mb, axes=axes, f_ext=push), [0.0])
        np.testing.assert_allclose(vdot, [9.81 * (share - 1.0)], atol=1e-13)


@pytest.mark.parametrize("axes", AXES)
def test_a_pure_moment(axes):
    """A moment along the axis of a pin turns it with n / J, wherever on the body it acts."""
    mb = sc.Multibody("wheel", gravity=(0, 0, 0))
    mb.add_body("wheel", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.diag([0.1, 0.1, 0.2])))
    mb.body("wheel").add_node("rim", sc.Pose.from_rpy(np.pi / 2, 0, 0, translation=(0.5, 0, 0)))  # its y is z
    vdot = forward(sc.operators(mb, axes=axes, f_ext={"wheel/rim": [0, 3.0, 0, 0, 0, 0]}), [0.0])
    np.testing.assert_allclose(vdot, [15.0], rtol=1e-13)
