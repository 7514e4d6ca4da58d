"""The way to a moving target: its rates, and the accelerations that make it change as told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.robot.control.cases import arms, drawn, near, rates

import soacraft as sc
from soacraft import robot as rob
from soacraft.errors import SingularError
from soacraft.robot.control.approach import approach
from soacraft.robot.control.freedoms import Freedom

SEEDS = st.integers(0, 10_000)


class Ball(sc.Spherical):
    """A hinge of the user's own."""


@given(SEEDS)
@tries(10)
def test_the_way_changes_as_told(seed):
    """eddot of the accelerations that it gives is what was asked for, on any tree; edot is the rate of e."""
    rb, q, v, a_d = drawn(seed)
    mb, rng = rb.mb, np.random.default_rng(seed + 1)
    q_d, (v_d, pull) = mb.integrate(q, 0.7 * rng.standard_normal(mb.nv)), rng.standard_normal((2, mb.nv))
    to = approach(mb, q, v, q_d, v_d)
    edot, eddot = rates(mb, q, v, to.acceleration(pull, a_d), (q_d, v_d, a_d))
    near(to.e, mb.difference(q, q_d), 1e-12)
    near(to.edot, edot, 1e-12)
    near(eddot, -pull, 1e-7)


def test_a_target_that_is_met_is_followed():
    """Where q = q_d and v = v_d, vdot is vdot_d."""
    rb, q, v, a_d = drawn(3)
    near(approach(rb.mb, q, v, q, v).acceleration(np.zeros(rb.mb.nv), a_d), a_d, 1e-12)


def test_a_way_without_a_turn_changes_as_told_too():
    mb = sc.Multibody("ball")
    mb.add_body("ball", None, sc.Free(), sc.Inertia.sphere(1.0, 0.2))
    rng = np.random.default_rng(1)
    q, (v, v_d, a_d, pull) = mb.random_state(rng)[0], rng.standard_normal((4, 6))
    q_d = mb.integrate(q, np.array([0, 0, 0, 2.0, -1.0, 0.5]))
    vdot = approach(mb, q, v, q_d, v_d).acceleration(pull, a_d)
    near(rates(mb, q, v, vdot, (q_d, v_d, a_d))[1], -pull, 1e-9)


@pytest.mark.parametrize("units", [1.0, 1e3])
def test_a_hinge_of_the_users_own_is_as_the_one_it_copies(units):
    """Its rates are differences; they do not depend on what the other hinges are measured in."""
    rng = np.random.default_rng(2)
    found = []
    numbers = rng.standard_normal((5, 4))
    for hinge in (sc.Spherical(), Ball()):
        mb = sc.Multibody("arm")
        mb.add_body("slide", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
        mb.add_body("ball", "slide", hinge, sc.Inertia.box(1.0, (0.1 * units,) * 3), sc.Pose(translation=(units, 0, 0)))
        size = np.array([units, 1.0, 1.0, 1.0])
        v, v_d, a_d, pull, way = size * numbers
        q = mb.integrate(np.array([0, 0, 0, 0, 1.0]), 0.4 * size)
        found.append(approach(mb, q, v, mb.integrate(q, way), v_d).acceleration(pull, a_d) / size)
    near(found[1], found[0], 1e-9)


def test_a_batch_is_its_states_one_by_one():
    mb = sc.Multibody("ball")
    mb.add_body("ball", None, sc.Free(), sc.Inertia.sphere(1.0, 0.2))
    rng = np.random.default_rng(0)
    v, v_d, a_d, pull, way = rng.standard_normal((5, 4, 6))
    q = np.array([mb.random_state(rng)[0] for _ in range(4)])
    many = approach(mb, q, v, mb.integrate(q, way), v_d)
    for i in range(4):
        one = approach(mb, q[i], v[i], mb.integrate(q[i], way[i]), v_d[i])
        near(many.acceleration(pull, a_d)[i], one.acceleration(pull[i], a_d[i]), 1e-12)
        near(many.at((i,)).acceleration(pull[i], a_d[i]), one.acceleration(pull[i], a_d[i]), 1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_in_a_closed_chain_with_balls_the_independent_dofs_go_as_told(seed):
    """Two arms with spherical hinges that hold a box: some dofs of a hinge are independent, others of it follow."""
    rb, _ = arms(seed, how="loops")
    mb, rng = rb.mb, np.random.default_rng(seed)
    s = sc.loops.TreeAugmented(mb)
    q = s.assemble(np.array(mb.q))
    v = s.project_velocity(q, rng.standard_normal(mb.nv))
    target = s.assemble(mb.integrate(q, 0.05 * rng.standard_normal(mb.nv))), *rng.standard_normal((2, mb.nv))
    vdot = s.forward_dynamics(q, v, rob.computed_torque(rb, q, v, target, 25.0, 10.0)).vdot
    i = [mb.dof_names.index(x) for x in s.independent(q)]
    edot, eddot = rates(mb, q, v, vdot, target)
    near((eddot + 10.0 * edot + 25.0 * mb.difference(q, target[0]))[i], np.zeros(len(i)), 1e-7)


def test_a_turn_at_which_nothing_changes_the_way_is_refused():
    mb = sc.Multibody("ball")
    mb.add_body("ball", None, sc.Spherical(), sc.Inertia.sphere(1.0, 0.2))
    q, none = np.array(mb.q), np.zeros(3)
    to = approach(mb, q, none, q, none)
    X, first = np.array([[0.0], [1.0], [0.0]]), np.array([0])
    stuck = Freedom(X, none, ("wx",), first, np.ones(3, bool), np.ones(3), "b")
    with pytest.raises(SingularError, match="'b' is turned so far from its target that no acceleration of wx changes"):
        to.chosen(stuck, none)
