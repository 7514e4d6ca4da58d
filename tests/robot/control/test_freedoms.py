"""What motors can do: the maps X and x0, shared forces, and their independence of units."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.robot.control.cases import closed, drawn, near

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft import robot as rob
from soacraft.errors import LoopError, StateError
from soacraft.kinematics.tolerances import CLOSED
from soacraft.robot.control.freedoms import Freedom, freedom, gain, motors_of


@given(st.integers(0, 10_000))
@tries(15)
def test_what_has_no_motor_gives_way_as_forward_dynamics_says(seed):
    """vdot = X a + x0 with a chosen, and X* T = X* (Mcal vdot + C)."""
    rb, q, v, a = drawn(seed, n=4)
    mb = rb.mb
    mask = np.random.default_rng(seed).uniform(size=mb.nv) < 0.5
    free = freedom(rb, q, v, mask)
    vdot, T = dyn.mixed_dynamics(mb, q, v, np.zeros(mb.nv), a, mask)
    near(free.X @ a[mask] + free.x0, vdot, 1e-7)
    near(free.X.T @ T, free.X.T @ dyn.inverse_dynamics(mb, q, v, vdot), 1e-6)
    assert free.names == tuple(np.array(mb.dof_names)[mask])


def test_closures_are_kept_by_the_maps():
    rb, s, q, v = closed(3)
    free = freedom(rb, q, v, rb.mb.dof_names)
    G = s.constraint_matrix(q)
    near(G @ free.X, np.zeros((len(G), free.X.shape[1])), 1e-9)
    T = np.random.default_rng(0).standard_normal(rb.mb.nv)
    vdot = s.forward_dynamics(q, v, T).vdot
    near(free.X @ vdot[free.places] + free.x0, vdot, 1e-7)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("time", [1e-3, 1.0])
def test_accelerations_at_motors_are_compared_with_the_largest_or_with_the_time_of_the_model(size, time):
    """Two motors of which one turns twice as fast as the other: what is off by less than CLOSED of the largest, or of
    1 / time^2, is rounding."""
    both = np.array([True, True])
    free = Freedom(np.array([[1.0], [2.0]]), np.zeros(2), ("a",), np.array([0]), both, np.ones(2), "m")
    most = CLOSED * max(2.0 * size, 1.0 / time**2)
    assert free.followed(np.array([size, 2.0 * size + 0.9 * most]), time).tolist() == [size, 2.0 * size]
    with pytest.raises(LoopError, match="the closures of 'm' do not allow these accelerations: one with a motor"):
        free.followed(np.array([size, 2.0 * size + 1.1 * most]), time)


def crane(length, mass, time):
    """A closed chain of a slide and two pins, in units that are so many metres, kilograms and seconds."""
    moment = mass * length**2
    mb = sc.Multibody("crane", gravity=(0, 0, -9.81 * length / time**2))
    turn = {"inertia": sc.Inertia(2.0 * mass, (0.5 * length, 0, 0), 0.1 * moment * np.eye(3))}
    mb.add_body("crank", None, sc.Pin((0, 1, 0)), **turn)
    mb.add_body("rod", "crank", sc.Pin((0, 1, 0)), turn["inertia"], sc.Pose(translation=(length, 0, 0)))
    mb["rod"].add_node("end", sc.Pose(translation=(length, 0, 0)))
    mb.add_body("slide", None, sc.Prismatic((1, 0, 0)), sc.Inertia(3.0 * mass, (0, 0, 0), 0.1 * moment * np.eye(3)))
    mb.close_loop("pin", "slide", "rod/end", sc.Pin((0, 1, 0)))
    rb = rob.Robot(mb)
    s = sc.loops.TreeAugmented(mb)
    return rb, s.assemble([0.6, -1.0, 1.7 * length], fixed=["crank"])


def test_how_motors_share_the_work_does_not_depend_on_units():
    rb, q = crane(1.0, 1.0, 1.0)
    T = rob.gravity(rb, q)
    assert np.count_nonzero(T) == 3
    for length, mass, time in ((1e3, 1.0, 1.0), (1e-4, 1e6, 1e-2)):
        other, at = crane(length, mass, time)
        force = mass * length / time**2
        near(rob.gravity(other, at) / (force * np.array([length, length, 1.0])), T, 1e-7)


def test_more_motors_than_a_closed_chain_needs_move_together_or_are_refused():
    """A crane with motors at its crank and its slide, which move as one, and a pendulum on it that none drives."""
    rb, q = crane(1.0, 1.0, 1.0)
    mb = rb.mb
    mb.add_body("load", "slide", sc.Pin((0, 1, 0)), sc.Inertia.point(1.0, (0, 0, -0.5)))
    q, motors = np.append(q, 0.3), ["crank", "slide"]
    s, none = sc.loops.TreeAugmented(mb), np.zeros(4)
    free = freedom(rb, q, none, motors)
    assert free.yields
    assert len(free.names) == 1
    vdot = free.X @ [2.0] + free.x0
    assert abs(vdot[3]) > 1.0                                      # the load swings
    T = rob.feed_forward(rb, q, none, vdot, actuated=motors)
    assert not T[[1, 3]].any()
    near(s.forward_dynamics(q, none, T).vdot, vdot, 1e-8)
    with pytest.raises(LoopError, match="the closures of 'crane' do not allow these accelerations: one with a motor"):
        rob.feed_forward(rb, q, none, vdot + np.eye(4)[0], actuated=motors)


def test_gains_are_numbers_rows_or_matrices():
    x = np.arange(6.0).reshape(2, 3)
    near(gain(2.0, x), 2 * x)
    near(gain([1, 2, 3], x), x * [1, 2, 3])
    A = np.arange(9.0).reshape(3, 3)
    near(gain(A, x)[1], A @ x[1])


def test_what_is_refused():
    mb = sc.load("double_pendulum")
    with pytest.raises(StateError, match=r"a gain is a number, 2 numbers or a matrix of them; got shape \(3,\)"):
        gain(np.ones(3), np.ones(2))
    with pytest.raises(StateError, match="a gain must be real numbers, got text"):
        gain("stiff", np.ones(2))
    with pytest.raises(StateError, match="has no actuators"):
        motors_of(rob.Robot(mb), "model")
    with pytest.raises(StateError, match="actuated"):
        motors_of(rob.Robot(mb), ["elbow"])
