"""What the ground must give a robot in motion: momentum, zero moment point, capture point, tipping."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.robot.control.cases import closed, drawn, near
from tests.strategies import flexible_trees

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft import robot as rob
from soacraft.errors import StateError
from soacraft.model.hinges import examples
from soacraft.spatial.differences import STENCIL

SEEDS = st.integers(0, 10_000)
G = 9.80665


def stander():
    mb = sc.Multibody("stander")
    mb.add_body("hip", hinge=sc.Free(), inertia=sc.Inertia(4.0, (0.0, 0, 0.1), np.diag([0.1, 0.2, 0.3])))
    mb.add_body("leg", parent="hip", hinge=sc.Pin((0, 1, 0)), inertia=sc.Inertia(2.0, (0.1, 0, -0.4), 0.05 * np.eye(3)))
    return mb


def momentum_rate(mb, q, v, vdot):
    """By differences along the motion, about the inertial origin."""
    step = 1e-3

    def h(t):
        return dyn.momentum(mb, mb.integrate(q, t * v + 0.5 * t**2 * vdot), v + t * vdot)

    return sum(w * (h(i * step) - h(-i * step)) for i, w in STENCIL) / step


# -- the wrench of the ground -----------------------------------------------------------------------------------------


@given(SEEDS)
@tries(15)
def test_the_ground_gives_the_rate_of_momentum_less_gravity(seed):
    """Of any tree, with springs, dampers and rotors, whose forces are inside."""
    rb, q, v, vdot = drawn(seed, n=4)
    mb = rb.mb
    c, weight = dyn.center_of_mass(mb, q), mb.total_mass * np.asarray(mb.gravity)
    expected = momentum_rate(mb, q, v, vdot) - np.concatenate([np.cross(c, weight), weight])
    near(rob.ground_wrench(mb, q, v, vdot), expected, 1e-6)
    near(rob.ground_wrench(rb, q, v, vdot), rob.ground_wrench(mb, q, v, vdot), 0.0)


@given(flexible_trees(hinges=[x for x in examples() if x.holonomic]))
@tries(8)
def test_the_momentum_of_modes_counts(mb):
    rng = np.random.default_rng(0)
    q, v, vdot = np.array(mb.q), 0.2 * np.array(mb.v), 0.2 * rng.standard_normal(mb.nv)
    c, weight = dyn.center_of_mass(mb, q), mb.total_mass * np.asarray(mb.gravity)
    expected = momentum_rate(mb, q, v, vdot) - np.concatenate([np.cross(c, weight), weight])
    near(rob.ground_wrench(mb, q, v, vdot), expected, 1e-5)


def test_stored_forces_take_a_part():
    mb = stander()
    q, still = np.array([0, 0, 0, 1, 0.3, 0.2, 1.0, 0.4]), np.zeros(7)
    plain = rob.ground_wrench(mb, q, still, still)
    mb.set_force("hip", sc.Wrench((0, 0, 0), (5.0, 0, 0), expressed_in="inertial"))
    pushed = rob.ground_wrench(mb, q, still, still)
    near(pushed - plain, [0, -5.0 * 1.0, 5.0 * 0.2, -5.0, 0, 0], 1e-9)    # minus p x f and f, p = (0.3, 0.2, 1)


def test_closures_are_inside():
    rb, s, q, v = closed(1)
    vdot = s.forward_dynamics(q, v, np.zeros(rb.mb.nv)).vdot
    mb = rb.mb
    w = rob.ground_wrench(mb, q, v, vdot)
    c, weight = dyn.center_of_mass(mb, q), mb.total_mass * np.asarray(mb.gravity)
    near(w, momentum_rate(mb, q, v, vdot) - np.concatenate([np.cross(c, weight), weight]), 1e-6)


# -- points -----------------------------------------------------------------------------------------------------------


def test_the_zero_moment_point_of_what_rests_is_below_its_centre_of_mass():
    mb = stander()
    q = [0, 0, 0, 1, 0.3, 0.2, 1.0, 0.4]
    c = dyn.center_of_mass(mb, q)
    near(rob.zero_moment_point(mb, q, np.zeros(7), np.zeros(7)), [c[0], c[1], 0.0], 1e-12)
    normal = np.array([np.sin(0.3), 0.0, np.cos(0.3)])                # a slope through the origin
    z = rob.zero_moment_point(mb, q, np.zeros(7), np.zeros(7), normal=normal)
    near(z, [c[0], c[1], -c[0] * np.tan(0.3)], 1e-12)


def test_the_zero_moment_point_is_where_the_ground_pushes():
    """The wrench that moves the robot, by inverse dynamics of its free hinge, has no level moment there."""
    mb = stander()
    rng = np.random.default_rng(3)
    q, v = mb.random_state(rng)[0], rng.standard_normal((4, 7))
    vdot = rng.standard_normal((4, 7))
    points = rob.zero_moment_point(mb, q, v, vdot)
    assert points.shape == (4, 3)
    for z, T in zip(points, dyn.inverse_dynamics(mb, q, v, vdot)[:, :6], strict=True):
        X = mb.pose("hip", state=mb.state(q))
        moment, force = X.rotation @ T[:3], X.rotation @ T[3:]
        about = moment + np.cross(X.translation - z, force)
        assert abs(z[2]) < 1e-12
        assert np.abs(about[:2]).max() < 1e-9 * np.abs(moment).max()


def test_states_and_points_have_leading_axes_of_their_own():
    """(2, 1) states with (3) points give (2, 3): each as one state with one point, also where gravity is slanted."""
    mb = stander()
    mb.gravity = (1.0, -2.0, -9.0)
    rng = np.random.default_rng(7)
    q = np.array([[mb.random_state(rng)[0]] for _ in range(2)])
    q[..., 4:7] = np.array([0, 0, 3.0]) + rng.uniform(0.5, 1.0, (2, 1, 3))
    v, vdot = 0.3 * rng.standard_normal((2, 2, 1, 7))
    points, normal = rng.uniform(-0.5, 0.5, (3, 3)), np.array([0.1, 0.3, 1.0])
    wrench = rob.ground_wrench(mb, q, v, vdot, points)
    zero = rob.zero_moment_point(mb, q, v, vdot, points, normal)
    caught = rob.capture_point(mb, q, v, points, normal)
    assert wrench.shape == (2, 3, 6)
    assert zero.shape == caught.shape == (2, 3, 3)
    for i in range(2):
        at = q[i, 0], v[i, 0], vdot[i, 0]
        base = rob.ground_wrench(mb, *at)
        for j, p in enumerate(points):
            moved = np.concatenate([base[:3] - np.cross(p, base[3:]), base[3:]])
            near(wrench[i, j], moved, 1e-9)
            near(zero[i, j], rob.zero_moment_point(mb, *at, p, normal), 1e-9)
            near(caught[i, j], rob.capture_point(mb, *at[:2], p, normal), 1e-9)
            assert abs((zero[i, j] - p) @ normal) < 1e-9
            assert abs((caught[i, j] - p) @ normal) < 1e-9


def test_a_cart_and_table_have_the_known_zero_moment_point():
    """x - xddot z / g for a mass that goes level at height z (Kajita)."""
    mb = sc.Multibody("cart")
    mb.add_body("mass", None, sc.Prismatic((1, 0, 0)), sc.Inertia(3.0), sc.Pose(translation=(0, 0, 0.8)))
    near(rob.zero_moment_point(mb, [0.4], [1.0], [2.0]), [0.4 - 2.0 * 0.8 / G, 0.0, 0.0], 1e-12)


def test_a_capture_point_is_that_of_the_inverted_pendulum():
    mb = stander()
    q = np.array([0, 0, 0, 1, 0.3, 0.2, 1.0, 0.0])
    v = np.array([0, 0, 0, 0.5, -0.2, 0, 0.0])
    c = dyn.center_of_mass(mb, q)
    expected = c[:2] + np.array([0.5, -0.2]) * np.sqrt(c[2] / G)
    near(rob.capture_point(mb, q, v), [*expected, 0.0], 1e-12)
    near(rob.capture_point(mb, [q, q], v)[1], [*expected, 0.0], 1e-12)


def test_a_capture_point_on_a_slope_stops_a_pendulum_that_goes_along_it():
    """A mass that a force through the point holds on its plane, parallel to the slope, comes to rest above it:
    cddot = k (c - p) + g with k so that it stays in the plane."""
    mb = sc.Multibody("point")
    mb.add_body("mass", None, sc.Free(), sc.Inertia(2.0, moment=0.1 * np.eye(3)))
    lean = 0.25
    n, along = np.array([np.sin(lean), 0, np.cos(lean)]), np.array([np.cos(lean), 0, -np.sin(lean)])
    c, v = 0.9 * n, 0.6 * along
    p = rob.capture_point(mb, [0, 0, 0, 1, *c], [0, 0, 0, *v], normal=n)
    assert abs(p @ n) < 1e-12
    g, h = np.asarray(mb.gravity), 1e-3
    for _ in range(5000):                                             # semi-implicit midpoint, to 5 s
        def rate(x):
            return g - (n @ g) / (n @ (x - p)) * (x - p)

        k = v + 0.5 * h * rate(c)
        c, v = c + h * k, v + h * rate(c + 0.5 * h * v)
        if np.linalg.norm(v) < 1e-3:
            break
    assert np.linalg.norm(v) < 2e-3
    above = c - p
    assert abs(above[0]) < 5e-3                                       # along gravity, over the point


# -- tipping ----------------------------------------------------------------------------------------------------------


def base(half=0.5):
    return np.array([[-half, -half, 0], [half, -half, 0], [half, half, 0], [-half, half, 0.0]])


def test_the_angle_to_tipping_is_that_to_the_nearest_edge():
    angle, edge = rob.tip_over(base(), [0.2, 0.0, 1.0], [0.0, 0.0, -G])
    assert abs(angle - np.arctan2(0.3, 1.0)) < 1e-12
    assert edge == (1, 2)                                            # along y at x = 0.5
    beyond, edge = rob.tip_over(base(), [0.6, 0.0, 1.0], [0.0, 0.0, -G])
    assert abs(beyond + np.arctan2(0.1, 1.0)) < 1e-12
    assert edge == (1, 2)


@given(SEEDS)
@tries(15)
def test_the_order_of_contacts_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(5)
    p = np.vstack([base(), [[0.0, 0.0, 0.1]]])                       # one inside is no corner
    c, f = [*rng.uniform(-0.4, 0.4, 2), 1.0], [*rng.uniform(-1, 1, 2), -G]
    one, (i, j) = rob.tip_over(p, c, f)
    other, (k, m) = rob.tip_over(p[order], c, f)
    assert abs(one - other) < 1e-12
    assert {i, j} == {int(order[k]), int(order[m])}


def test_a_moment_counts_as_the_force_that_has_it_about_the_edge():
    """About the edge at x = 0.5 the moment m along y is a force m / r across the arm, of length r."""
    c, m = np.array([0.2, 0.0, 1.0]), 1.5
    angle, edge = rob.tip_over(base(), c, [0.0, 0.0, -G], moment=(0.0, m, 0.0))
    arm = np.array([0.3, 0.0, -1.0])
    r = np.linalg.norm(arm)
    # the force that with the lever -arm has the moment m about y: turned to +x and up
    push = np.array([0.0, 0.0, -G]) + m / r**2 * np.array([1.0, 0.0, 0.3])
    assert edge == (1, 2)
    assert np.isclose(np.cross(-arm, push - [0, 0, -G])[1], m)
    expected = np.arctan2(arm[0], -arm[2]) - np.arctan2(push[0], -push[2])
    assert abs(angle - expected) < 1e-12
    assert angle < rob.tip_over(base(), c, [0.0, 0.0, -G])[0]


def test_what_is_refused():
    mb = stander()
    with pytest.raises(StateError, match="the robot flies"):
        rob.zero_moment_point(mb, [0, 0, 0, 1, 0, 0, 1, 0], np.zeros(7), [0, 0, 0, 0, 0, -20.0, 0])
    with pytest.raises(StateError, match="at least three contacts, under a force that is not zero"):
        rob.tip_over([[0.0, 0, 0], [1, 0, 0]], [0, 0, 1], [0, 0, -1])
    with pytest.raises(StateError, match="at least three contacts that are not on a line"):
        rob.tip_over([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]], [0, 0, 1], [0, 0, -1])
    with pytest.raises(StateError, match="the centre of mass is on an edge"):
        rob.tip_over(base(), [0.5, 0, 0], [0, 0, -1])
    with pytest.raises(StateError, match="is not above the ground"):
        rob.capture_point(mb, [0, 0, 0, 1, 0, 0, -1, 0], np.zeros(7))
    with pytest.raises(StateError, match="the normal of the ground points out of it, against gravity"):
        rob.zero_moment_point(mb, mb.q, np.zeros(7), np.zeros(7), normal=(0, 0, -1.0))
    with pytest.raises(StateError, match="a Multibody or a Robot is needed"):
        rob.ground_wrench("h1", [], [], [])
    mb.gravity = (0, 0, 0)
    with pytest.raises(StateError, match="'stander' has no gravity, so nothing stands"):
        rob.zero_moment_point(mb, mb.q, np.zeros(7), np.zeros(7))
    with pytest.raises(StateError, match="'stander' has no gravity, so nothing falls"):
        rob.capture_point(mb, mb.q, np.zeros(7))
