"""Levels of tasks: compiled against Python, the optimum of every level by clarabel and daqp, strictness."""

from __future__ import annotations

import daqp
import numpy as np
import pytest
from hypothesis import given
from tests.kinematics.test_qp import by_clarabel
from tests.profiles import tries
from tests.robot.whole_body import drawn

from soacraft import robot as rob
from soacraft.robot.whole_body.levels import Box, _keeps, solve_levels
from soacraft.robot.whole_body.limits import speed_range
from soacraft.robot.whole_body.ties import Rows
from soacraft.robot.whole_body.tolerances import LevelTolerances
from soacraft.robot.whole_body.velocity import VelocityPlan


@given(drawn.seeds)
@tries(60)
def test_compiled_steps_are_those_of_python(seed):
    """Random trees of all hinges, starts outside limits, tasks that contradict each other: always an answer, and the
    same one. Where tasks ask for more than a thousand radians in a second, near singular poses, digits are lost."""
    mb, rng = drawn.robot(seed)
    plan = VelocityPlan(mb, drawn.tasks(mb, rng, int(rng.integers(0, 6))))
    q, how = drawn.moving(mb, rng)
    mine, theirs = plan.step(q, 0.01, **how), plan.reference(q, 0.01, **how)
    assert np.isfinite(mine.v).all()
    size = 1.0 + float(np.abs(theirs.v).max(initial=0.0))
    assert np.abs(mine.v - theirs.v).max(initial=0.0) < (1e-7 if size < 100.0 else 1e-3) * size
    for name, left in theirs.left.items():
        assert abs(mine.left[name] - left) < 1e-3 * size


def squares(plan, q, dt):
    """Rows of every level with weights, in radians and lengths."""
    found = []
    for level in plan._level:
        those = [
            (plan._tasks[i], plan._tasks[i].wanted(plan._mb, q)) for i in plan._listed if plan._tasks[i].level == level
        ]
        J = [t.weight * w.J / np.broadcast_to(w.size, w.left.shape)[:, None] / plan._units for t, w in those]
        r = [t.weight * (min(t.gain, 1 / dt) * w.left + t.rate) / w.size for t, w in those]
        found.append((np.vstack(J), np.concatenate(r)))
    return found


def by_daqp(H, g, C, lower, upper):
    sense = np.where(lower == upper, 5, 0).astype(np.int32)
    low, high = (np.where(np.isfinite(x), x, np.sign(x) * 1e30) for x in (lower, upper))
    return daqp.solve(H, g, np.ascontiguousarray(C), high, low, sense)[0]


@given(drawn.seeds)
@tries(30)
def test_every_level_has_the_optimum_of_clarabel_and_daqp(seed):
    """Among velocities within bounds that leave the levels before as they are. Without damping, which is no part of
    it."""
    mb, rng = drawn.robot(seed, limited=1.0, speeds=1.0)
    plan = VelocityPlan(mb, drawn.tasks(mb, rng, int(rng.integers(1, 5)), gains=(0.5, 2.0)))
    q, how = drawn.moving(mb, rng)
    dt, units = 0.01, plan._units
    v = plan.step(q, dt, **how, damping=0.0).v
    low, high = speed_range(plan._limits, q, dt, None if not how else np.full(mb.nv, how["acceleration"]), how.get("v"))
    assert (v >= low - 1e-9 * (1.0 + np.abs(low))).all()
    assert (v <= high + 1e-9 * (1.0 + np.abs(high))).all()
    y, n = units * v, mb.nv
    C, lower, upper, given_room = np.eye(n), units * low, units * high, np.zeros(n)
    for J, r in squares(plan, q, dt):
        total = np.sum(J * J) / max(n, 1)
        if not total > 1e-12:
            continue
        H, g = J.T @ J + 1e-10 * total * np.eye(n), -J.T @ r
        mine = 0.5 * np.sum((J @ y - r) ** 2)
        good, x, prices = by_clarabel(H, g, C, lower, upper)
        if good:  # it gains by the room of kept rows and by what it leaves of others: 1e-5 where levels are nearly flat
            short = np.maximum(C @ x - upper, 0.0) + np.maximum(lower - C @ x, 0.0)
            theirs = 0.5 * np.sum((J @ x - r) ** 2) + prices @ (short + given_room)
            slack = 1e-6 * (1.0 + mine) + 1e-9 * float(r @ r) + 1e-9 * total * float(x @ x)
            assert mine < theirs + slack
        if len(C) == n and (lower < upper).all():
            mine, other = mine, by_daqp(H, g, C, lower, upper)
            assert mine < 0.5 * np.sum((J @ other - r) ** 2) + 1e-6 * (1.0 + mine) + 1e-9 * float(r @ r)
        C, at = np.vstack([C, J]), J @ y
        room = 1e-9 * (1.0 + np.abs(at))
        lower, upper = np.concatenate([lower, at - room]), np.concatenate([upper, at + room])
        given_room = np.concatenate([given_room, room])


@given(drawn.seeds)
@tries(40)
def test_levels_are_strict(seed):
    """What higher levels are asked for changes the rows of lower ones by less than 1e-9."""
    mb, rng = drawn.robot(seed, limited=1.0, speeds=1.0)
    tasks = drawn.tasks(mb, rng, 5)
    q, how = drawn.moving(mb, rng)
    lowest = min((x.level for x in tasks), default=0)
    first = [x for x in tasks if x.level == lowest]
    alone, all_of_them = (VelocityPlan(mb, x).step(q, 0.01, **how) for x in (first, tasks))
    for task in first:
        w = task.wanted(mb, q)
        J = w.J / np.broadcast_to(w.size, w.left.shape)[:, None]
        size = 1.0 + np.abs(J) @ (np.abs(alone.v) + np.abs(all_of_them.v))
        assert (np.abs(J @ (alone.v - all_of_them.v)) < 1e-9 * size).all()


def rows(J, wish, weight=1.0, n=None):
    J = np.atleast_2d(np.asarray(J, dtype=float))
    wish = np.atleast_1d(np.asarray(wish, dtype=float))
    one = np.ones(len(J))
    return Rows(J, wish, wish, weight * one, np.zeros(J.shape[1] if n is None else n), one)


def box(low, high, C=None, least=()):
    low = np.asarray(low, dtype=float)
    C = np.zeros((0, len(low))) if C is None else np.asarray(C, dtype=float)
    return Box(low, np.asarray(high, dtype=float), C, np.asarray(least, dtype=float))


def test_what_no_level_sees_is_slow():
    y, held = solve_levels([rows([1.0, 1.0, 0.0], 2.0)], None, box([-9] * 3, [9] * 3), LevelTolerances(), 0.01)
    assert np.allclose(y, [1.0, 1.0, 0.0], atol=1e-9)
    assert not held[0].any()


def test_a_bound_leaves_the_rest_to_others():
    """x + y = 2 with x at most 0.5: y does the rest, and nothing else moves."""
    y, _ = solve_levels([rows([1.0, 1.0, 0.0], 2.0)], None, box([-9] * 3, [0.5, 9, 9]), LevelTolerances(), 0.01)
    assert np.allclose(y, [0.5, 1.5, 0.0], atol=1e-9)


def test_bounds_that_cannot_be_kept_together_give_way_alike():
    """x >= 1 and x <= -1, of rows that are kept: least squares is in the middle."""
    found, _ = solve_levels([], None, box([-5.0], [5.0], [[1.0], [-1.0]], [1.0, 1.0]), LevelTolerances(), 0.01)
    assert abs(found[0]) < 1e-6


def test_closures_come_before_bounds():
    """x = y is a closure; x is to be at least 1 and y at most -1: both give way by 1, and the closure holds."""
    G = np.array([[1.0, -1.0]]), np.zeros(1)
    found, _ = solve_levels([], G, box([1.0, -5.0], [5.0, -1.0]), LevelTolerances(), 0.01)
    assert abs(found[0] - found[1]) < 1e-9
    assert abs(found[0]) < 1e-6


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_bounds_on_both_sides_of_a_closure_give_way_from_where_it_is(sign):
    """x - y = 3 is a closure; x is at most 1 and y at least -1/2: each gives way by 3/4, from wherever it holds."""
    G = np.array([[sign, -sign]]), np.array([3.0])
    low, high = np.array([-5.0, -0.5]), np.array([1.0, 5.0])
    if sign < 0.0:
        low, high = -high, -low
    found, _ = solve_levels([], G, box(low, high), LevelTolerances(), 0.01)
    assert np.allclose(found, sign * np.array([1.75, -1.25]), atol=1e-6)


@pytest.mark.parametrize(("part", "cost"), [(0.5, 0.0), (0.625, 0.0625 / 0.75**1.5), (0.75, 0.25 / 0.5**1.5)])
def test_a_direction_that_is_nearly_a_level_s_costs_the_others_the_more_the_nearer(part, cost):
    """From nothing at half of what makes it the level's own: near^2 / (1 - near)^1.5, near from 0 to 1; at the whole it
    is the level's."""
    least, N = 2.0, np.eye(4)[:, [3, 1, 0, 2]]
    kept = _keeps(np.diag([0.1, part, 1.0]) * least, N, 1, least, LevelTolerances())
    assert kept.rank == 2
    assert np.allclose(np.abs(kept.N[:, 1]), np.eye(4)[2])
    assert np.allclose(kept.N.T @ kept.N, np.eye(4))
    assert np.allclose(kept.shared.T @ kept.shared, cost * np.diag([1.0, 0, 0, 0]))


def test_a_step_is_the_one_of_least_squares_where_nothing_bounds_it():
    """One level, no limits: the pseudo-inverse, as numpy has it."""
    mb, rng = drawn.robot(5, limited=0.0)
    task = rob.Reaching(drawn.sc.Position(mb.bodies[-1].name, rng.standard_normal(3)), gain=0.1)
    plan = VelocityPlan(mb, [task])
    q = mb.random_state(rng)[0]
    w = task.wanted(mb, q)
    J = w.J / w.size / plan._units
    assert np.allclose(plan._units * plan.step(q, 0.01).v, np.linalg.pinv(J) @ (0.1 * w.left / w.size), atol=1e-8)


@pytest.mark.parametrize("seed", [35, 67, 70, 271])
def test_nearly_flat_levels_at_bounds_are_followed_to_their_optimum(seed):
    """Eight proximal steps were too few for these."""
    test_every_level_has_the_optimum_of_clarabel_and_daqp.hypothesis.inner_test(seed)
