"""How far steps are from the lexicographic optimum where a level cannot be met."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space

import soacraft as sc
from soacraft import robot as rob
from soacraft.errors import StateError


def contradictory(seed):
    """An arm of four to six pins whose tip is wanted at two places at once, and after that a point before it."""
    rng = np.random.default_rng([5, seed])
    n = int(rng.integers(4, 7))
    mb = sc.Multibody("arm", gravity=(0.0, 0.0, 0.0))
    for k in range(n):
        turn = rng.standard_normal(3)
        hinge = sc.Pin(turn / np.linalg.norm(turn))
        at = sc.Pose(translation=(float(k > 0), 0, 0))
        mb.add_body(f"b{k}", mb.bodies[-1] if k else None, hinge, sc.Inertia(1.0), inboard=at)
    mb.bodies[-1].add_node("tip", sc.Pose(translation=(1.0, 0.0, 0.0)))
    here, there = (rob.Reaching(sc.Position(f"b{n - 1}/tip", rng.uniform(-2.0, 2.0, 3)), gain=2.0) for _ in range(2))
    near = rob.Reaching(sc.Position(f"b{n - 2}", rng.uniform(-1.0, 1.0, 3)), level=1, gain=2.0, weight=0.7)
    return rob.Robot(mb).velocity_plan([here, there, near], limits=False), rng.uniform(-1.5, 1.5, n)


def missed(plan, q, v, dt):
    """|W (J v - wish)| of each level, in lengths, and W J and W wish."""
    rows = []
    for task in plan.tasks:
        w = task.wanted(plan._mb, q)
        size = np.broadcast_to(w.size, w.left.shape)
        rows.append((task.weight * w.J / size[:, None], task.weight * (min(task.gain, 1.0 / dt) * w.left) / size))
    first = tuple(np.concatenate(x) for x in zip(*rows[:2], strict=True))
    return [float(np.linalg.norm(J @ v - wish)) for J, wish in (first, rows[2])], (first, rows[2])


def lexicographic(rows):
    """What both levels miss at least: of level 0 alone, and of level 1 with J0 v as it is there."""
    (J0, r0), (J1, r1) = rows
    first, N = np.linalg.lstsq(J0, r0)[0], null_space(J0, rcond=1e-9)
    second = first + N @ np.linalg.lstsq(J1 @ N, r1 - J1 @ first)[0]
    return float(np.linalg.norm(J0 @ first - r0)), float(np.linalg.norm(J1 @ second - r1))


@pytest.mark.parametrize("dt", [1e-2, 1e-6])
def test_the_shortfall_is_the_distance_from_the_lexicographic_program(dt):
    """Also where a level that cannot be met keeps directions from those after it as dt goes to zero: the last seed."""
    far = 0
    for seed in (*range(30), 58):
        plan, q = contradictory(seed)
        told, (mine, rows) = plan.shortfall(q, dt), missed(plan, q, plan.step(q, dt).v, dt)
        first, second = lexicographic(rows)
        assert told[0] == pytest.approx(mine[0] - first, abs=1e-5)
        assert told[1] == pytest.approx(mine[1] - second, abs=2e-4)
        far += told[1] > 1e-2
    assert far > 2 or dt < 1e-2


def test_where_all_can_be_met_it_is_zero():
    plan, q = contradictory(1)
    for i, task in enumerate(plan.tasks):
        plan.aim(i, plan._mb.pose(task.target.node, state=plan._mb.state(q)).translation + 1e-3 * (i < 2))
    assert max(map(abs, plan.shortfall(q, 1e-3).values())) < 1e-6


def test_what_no_step_takes_is_refused():
    plan, q = contradictory(0)
    with pytest.raises(StateError, match="dt must be positive"):
        plan.shortfall(q, 0.0)


def test_a_straight_arm_that_is_pulled_outward_keeps_straight_at_any_dt_and_says_so():
    """To first order rows of the tip do not see the posture; to second order it takes the tip back. The lexicographic
    program moves there, at tens of rad/s as soon as the arm is bent; the damped loop is at rest."""
    mb = sc.Multibody("arm", gravity=(0.0, 0.0, 0.0))
    for k in range(3):
        at = sc.Pose(translation=(float(k > 0), 0, 0))
        mb.add_body(f"b{k}", mb.bodies[-1] if k else None, sc.Pin((0, 0, 1)), sc.Inertia(1.0), inboard=at)
    mb.bodies[-1].add_node("tip", sc.Pose(translation=(1.0, 0.0, 0.0)))
    posture = np.array([0.5, -0.3, 0.4])
    far = rob.Reaching(sc.Position("b2/tip", (9.0, 0.0, 0.0)), gain=2.0)
    plan = rob.Robot(mb).velocity_plan([far, rob.Posture(posture, level=1, gain=2.0)])
    across = np.array([3.0, 2.0, 1.0])  # what the tip moves by along y
    best = 2.0 * abs(across @ posture) / np.linalg.norm(across)
    for dt in (1e-2, 1e-5, 1e-8):
        assert plan.step(np.zeros(3), dt).v == pytest.approx(np.zeros(3), abs=1e-9)
        told = plan.shortfall(np.zeros(3), dt)
        assert told[0] == pytest.approx(0.0, abs=1e-9)
        assert told[1] == pytest.approx(2.0 * np.linalg.norm(posture) - best, rel=1e-6)
    fastest = {}
    for damping in (0.0, 1.0):
        q, v = np.array([0.3, -0.2, 0.1]), []
        for _ in range(600):
            v.append(plan.step(q, 0.01, damping=damping).v)
            q = q + 0.01 * v[-1]
        fastest[damping] = np.abs(v[500:]).max()
    assert fastest[1.0] < 1e-6
    assert fastest[0.0] > 1.0
