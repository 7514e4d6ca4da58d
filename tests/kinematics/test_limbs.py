"""The compiled engine of limbs: closed forms, limits, starts, and arguments it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

import soacraft as sc
from soacraft import _core
from soacraft.kinematics.limbs import MOST, Plan, _halton, _spread, engine_of


def planar(lengths=(1.0, 0.7), limits=None):
    """Two pins about z in a plane."""
    mb, last = sc.Multibody("planar"), None
    for i, length in enumerate(lengths):
        inboard = sc.Pose() if last is None else sc.Pose(translation=(lengths[i - 1], 0, 0))
        body = mb.add_body(f"l{i}", parent=last, hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0), inboard=inboard)
        body.add_node("tip", sc.Pose(translation=(length, 0, 0)))
        if limits is not None:
            body.limits = sc.Limits(lower=[limits[i][0]], upper=[limits[i][1]])
        last = f"l{i}"
    return engine_of(mb, mb.bodies, mb.root, mb.frame(f"{last}/tip"))


def goal(x, y, angle=0.0):
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0, s, c, 0, 0, 0, 1, x, y, 0.0]])


FREE_TURN = np.array([np.inf] * 3 + [1e-10] * 3)


def test_two_links_have_the_two_branches_of_the_law_of_cosines():
    engine, (x, y) = planar(), (0.9, 0.8)
    bend = math.acos((x * x + y * y - 1.0 - 0.49) / 1.4)
    expected = []
    for elbow in (bend, -bend):
        expected.append((math.atan2(y, x) - math.atan2(0.7 * math.sin(elbow), 1.0 + 0.7 * math.cos(elbow)), elbow))
    found = engine.search(goal(x, y), np.zeros((1, 2)), Plan(FREE_TURN, 40, all=1)).q
    for q in found:
        gaps = [np.abs(np.remainder(q - e + np.pi, 2 * np.pi) - np.pi).max() for e in np.array(expected)]
        assert min(gaps) < 1e-9
    assert {int(np.sign(math.sin(q[1]))) for q in found} == {-1, 1}


def test_limits_choose_the_branch():
    for low, high, side in ((0.0, 3.0, 1), (-3.0, 0.0, -1)):
        engine = planar(limits=[(-4.0, 4.0), (low, high)])
        a = engine.search(goal(0.9, 0.8), np.array([[0.0, 0.0]]), Plan(FREE_TURN, 40))
        assert a.found[0]
        assert np.sign(a.q[0, 1]) == side


def test_what_no_configuration_reaches_is_not_found_and_approached():
    a = planar().search(goal(2.0, 0.0), np.array([[0.3, 0.4]]), Plan(FREE_TURN, 20))
    assert not a.found[0]
    assert a.tried[0] == 20
    assert abs(np.linalg.norm(a.left[0, 3:]) - 0.3) < 1e-9


def test_what_is_left_is_the_turn_and_the_way_to_the_goal():
    """One step is allowed, of a dof that cannot move: what is left is told in axes of the goal."""
    engine = planar(limits=[(0.0, 0.0), (0.0, 0.0)])
    a = engine.search(goal(1.7, 0.1, 0.3), np.zeros((1, 2)), Plan(np.full(6, 1e-9), 1))
    assert not a.found[0]
    turn, way = a.left[0, :3], a.left[0, 3:]
    assert np.allclose(turn, [0.0, 0.0, 0.3], atol=1e-6)
    c, s = math.cos(0.3), math.sin(0.3)
    assert np.allclose(way, [s * 0.1, c * 0.1, 0.0], atol=1e-12)


def test_a_large_turn_that_is_left_is_its_angle():
    engine = planar(limits=[(0.0, 0.0), (0.0, 0.0)])
    for angle in (0.1, 0.5, 1.0, 2.0, 3.0, 3.14):
        left = engine.search(goal(1.7, 0.0, angle), np.zeros((1, 2)), Plan(np.full(6, 1e-9), 1)).left[0]
        assert -1e-12 < left[2] - angle < 0.09 * angle  # the series is never below it, so that a goal is not met by it
        assert np.abs(left[:2]).max() < 1e-12


def test_a_dof_at_its_limit_that_is_pushed_outward_leaves_the_step():
    """The first joint is at its limit and is pulled beyond: the others must do it alone."""
    engine = planar((1.0, 1.0, 0.5), limits=[(0.0, 2.0), (-3.0, 3.0), (-3.0, 3.0)])
    start = np.array([[0.0, 0.5, 0.5]])
    a = engine.search(goal(1.2, -1.3), start, Plan(FREE_TURN, 1))
    assert a.found[0]
    assert a.q[0, 0] >= 0.0


def test_every_hinge_of_a_limb_may_slide():
    mb = sc.Multibody("gantry")
    last = None
    for axis in np.eye(3):
        last = mb.add_body(f"s{len(mb.bodies)}", parent=last, hinge=sc.Prismatic(axis), inertia=sc.Inertia(1.0)).name
    engine = engine_of(mb, mb.bodies, mb.root, mb.frame(last))
    aim = goal(0.3, -0.2)
    aim[0, 11] = 0.7
    a = engine.search(aim, np.zeros((1, 3)), Plan(np.full(6, 1e-9), 1))
    assert a.found[0]
    assert np.allclose(a.q[0], [0.3, -0.2, 0.7], atol=1e-9)


@pytest.mark.parametrize("count", [1, 3, 5, 16, 40])
def test_every_goal_of_a_batch_has_its_own_answer(count):
    engine = planar()
    angles = np.linspace(0.2, 2.8, count)
    q = np.column_stack([angles, 1.0 + 0.0 * angles])
    R, p = engine.place(q)
    goals = np.ascontiguousarray(np.concatenate([R.reshape(count, 9), p], axis=1))
    a = engine.search(goals, q + 0.05, Plan(np.full(6, 1e-10), 30, near_first=1))
    assert a.found.all()
    assert np.abs(a.q - q).max() < 1e-8
    assert (a.tried >= 1).all()
    assert (a.steps >= 1).all()


def test_a_goal_that_is_met_at_the_start_takes_no_step():
    engine = planar()
    R, p = engine.place(np.array([[0.4, 0.6]]))
    goals = np.concatenate([R.reshape(1, 9), p], axis=1)
    a = engine.search(goals, np.array([[0.4, 0.6]]), Plan(np.full(6, 1e-9), 5, near_first=1))
    assert a.found[0]
    assert a.steps[0] == 0
    assert (a.q[0] == [0.4, 0.6]).all()


def test_starts_are_those_whose_tips_are_nearest():
    """A long limb with a narrow valley: from the table it is met, from the middle alone it is not always."""
    mb = sc.load("ur5e")
    engine = engine_of(mb, mb.bodies, mb.root, mb.frame("wrist_3_link"))
    q = engine.low + np.random.default_rng(0).uniform(0.0, 1.0, (64, 6)) * (engine.high - engine.low)
    R, p = engine.place(q)
    goals = np.ascontiguousarray(np.concatenate([R.reshape(64, 9), p], axis=1))
    few = engine.search(goals, engine.middle[None], Plan(np.full(6, 1e-8), 1, settling=0))
    many = engine.search(goals, engine.middle[None], Plan(np.full(6, 1e-8), 60))
    assert few.found.sum() < many.found.sum()
    assert many.found.all()
    assert many.tried.mean() < 6.0  # in the order of the table it takes far more


def test_starts_at_minima_are_given_up_and_those_near_to_them_go_last():
    """The shoulder of h1 has two ways to turn the arm, of which one often ends close to the goal and not at it. To wait
    there takes 19.7 steps and 2.06 starts a goal; to give up, and start near there again, 14.0 and 2.07."""
    mb = sc.load("h1")
    base, tip = mb.frame("torso_link"), mb.frame("left_elbow_link")
    arm = [mb[f"left_{name}_link"] for name in ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow")]
    engine = engine_of(mb, tuple(arm), base, tip)
    q = engine.low + np.random.default_rng(0).uniform(0.0, 1.0, (400, 4)) * (engine.high - engine.low)
    R, p = engine.place(q)
    goals = np.ascontiguousarray(np.concatenate([R.reshape(400, 9), p], axis=1))
    a = engine.search(goals, engine.middle[None], Plan(np.full(6, 1e-5), 64))
    assert a.found.all()
    assert a.steps.mean() < 13.0
    assert a.tried.mean() < 1.8


def test_a_time_limit_ends_a_search_after_one_start():
    engine = planar()
    a = engine.search(goal(5.0, 0.0), np.zeros((1, 2)), Plan(FREE_TURN, 500, seconds=1e-9))
    assert not a.found[0]
    assert a.tried[0] < 500


def test_points_of_halton_are_evenly_spread():
    x = _halton(512, 3)
    assert ((x >= 0.0) & (x < 1.0)).all()
    assert np.abs(x.mean(axis=0) - 0.5).max() < 0.02
    assert len(np.unique(x, axis=0)) == 512


def test_some_starts_are_at_limits():
    """By a tenth of their range beyond these, on both sides, and brought back: one in eleven, about, of each dof."""
    x = _spread(512, 4)
    assert x.min() == 0.0
    assert x.max() == 1.0
    at_limits = ((x == 0.0) | (x == 1.0)).mean(axis=0)
    assert np.abs(at_limits - 1.0 / 11.0).max() < 0.01
    inside = _halton(512, 4)
    kept = (x > 0.0) & (x < 1.0)
    assert np.allclose(x[kept], 0.5 + 1.1 * (inside[kept] - 0.5))


def test_limbs_that_are_no_rows_of_screws_have_no_engine():
    mb = sc.Multibody("ball")
    mb.add_body("a", hinge=sc.Spherical(), inertia=sc.Inertia(1.0))
    assert engine_of(mb, mb.bodies, mb.root, mb["a"]) is None
    long = sc.serial_chain(MOST + 1)
    assert engine_of(long, long.bodies, long.root, long.bodies[-1]) is None


def good():
    hinges = np.zeros((2, 16))
    hinges[:, [0, 4, 8]] = 1.0
    hinges[:, [12, 14]] = 1.0
    tip = np.array([1.0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0])
    return [hinges, np.arange(2), tip, np.full(2, -3.0), np.full(2, 3.0), np.ones(2), 1.0]


@pytest.mark.parametrize(
    ("place", "value", "text"),
    [
        (0, np.zeros((2, 15)), "the arrays of a limb do not fit each other"),
        (1, np.array([0, 2]), "hinge 1 of a limb has a dof out of range"),
        (1, np.array([0, -1]), "hinge 1 of a limb has a dof out of range"),
        (1, np.array([0]), "the arrays of a limb do not fit each other"),
        (2, np.zeros(11), "the arrays of a limb do not fit each other"),
        (3, np.zeros(0), "a limb has 1 to 32 dofs"),
        (3, np.zeros(33), "a limb has 1 to 32 dofs"),
        (4, np.zeros(3), "the arrays of a limb do not fit each other"),
        (5, np.zeros(2), "units of dofs must be positive"),
        (5, np.ones(3), "the arrays of a limb do not fit each other"),
        (6, 0.0, "the length of a limb must be positive"),
        (0, [[1.0]], "hinges must be a C-contiguous float64 array with 2 axes"),
    ],
)
def test_arrays_of_a_limb_that_do_not_fit_are_refused(place, value, text):
    given = good()
    given[place] = value
    with pytest.raises(ValueError, match=text):
        _core.Limb(*given)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (dict(goals=np.zeros((1, 11))), r"goals must have the shape \(1, 12\)"),
        (dict(near=np.zeros((2, 2))), r"near must have the shape \(1, 2\)"),
        (dict(near=np.zeros((1, 3))), r"near must have the shape \(1, 2\)"),
        (dict(q=np.zeros((2, 2))), r"q must have the shape \(1, 2\)"),
        (dict(left=np.zeros((1, 5))), r"left must have the shape \(1, 6\)"),
        (dict(told=np.zeros((1, 2), dtype=np.int64)), r"told must have the shape \(count, 3\)"),
        (dict(plan=Plan(np.full(6, 1e-6), 1).compiled, told=None), "told must be a C-contiguous int64 array"),
    ],
)
def test_arrays_of_a_search_that_do_not_fit_are_refused(change, text):
    limb = _core.Limb(*good())
    plan = Plan(np.full(6, 1e-6), 1).compiled
    given = dict(goals=goal(1.0, 0.0), near=np.zeros((1, 2)), plan=plan, q=np.zeros((1, 2)),
                 left=np.zeros((1, 6)), told=np.zeros((1, 3), dtype=np.int64), threads=1)  # fmt: skip
    given |= change
    with pytest.raises(ValueError, match=text):
        limb.search(**given)


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        (Plan(np.zeros(5), 1), "a limb's tolerance has six numbers"),
        (Plan(np.zeros(6), 0), "out of range"),
        (Plan(np.zeros(6), 1, patience=0), "out of range"),
        (Plan(np.zeros(6), 1, steps=0), "out of range"),
        (Plan(np.zeros(6), 1, largest=0.0), "out of range"),
        (Plan(np.zeros(6), 1, damped=0.0), "out of range"),
        (None, "a plan needs tolerance"),
    ],
)
def test_plans_that_are_out_of_range_are_refused(plan, text):
    with pytest.raises(ValueError, match=text):
        _core.LimbPlan(plan)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (dict(rotation=np.eye(4)), r"rotation must have the shape \(3, 3\)"),
        (dict(translation=np.zeros(2)), "the arrays of find do not fit the limb"),
        (dict(near=np.zeros(3)), "the arrays of find do not fit the limb"),
        (dict(q=np.zeros(3)), "the arrays of find do not fit the limb"),
        (dict(left=np.zeros(5)), "the arrays of find do not fit the limb"),
        (dict(plan=Plan(np.full(6, 1e-6), 2, all=1).compiled), "find gives one answer, and the plan asks for all"),
    ],
)
def test_arrays_of_one_goal_that_do_not_fit_are_refused(change, text):
    limb = _core.Limb(*good())
    given = dict(rotation=np.eye(3), translation=np.zeros(3), near=np.zeros(2), q=np.zeros(2), left=np.zeros(6),
                 plan=Plan(np.full(6, 1e-6), 1).compiled)  # fmt: skip
    with pytest.raises(ValueError, match=text):
        limb.find(**given | change)


@pytest.mark.parametrize("axis", range(3))
def test_half_a_turn_that_is_left_is_not_met(axis):
    """Where R - R* is zero the turn is nothing, or half a turn: of two hinges that stay, and of two that go there."""
    flipped = -np.eye(3)
    flipped[axis, axis] = 1.0
    for held, met in ((0.0, False), (4.0, axis == 2)):
        engine = planar(limits=[(-held, held), (-held, held)])
        R, p = engine.place(np.zeros((1, 2)))
        goals = np.concatenate([(R @ flipped).reshape(1, 9), p], axis=1)
        a = engine.search(goals, np.zeros((1, 2)), Plan(np.array([1e-9] * 3 + [np.inf] * 3), 40))
        assert a.found[0] == met
        if not met:
            assert abs(np.linalg.norm(a.left[0, :3]) - np.pi) < 1e-4


@pytest.mark.parametrize("away", [1e-3, 1e-5, 1e-9])
def test_nearly_half_a_turn_keeps_its_axis(away):
    engine = planar(limits=[(0.0, 0.0), (0.0, 0.0)])
    axis = np.array([0.48, -0.6, 0.64])
    R = sc.Pose.from_quaternion([*(np.cos(0.5 * away) * axis), np.sin(0.5 * away)]).rotation
    goals = np.concatenate([R.reshape(1, 9), [[1.7, 0.0, 0.0]]], axis=1)
    left = engine.search(goals, np.zeros((1, 2)), Plan(np.full(6, 1e-9), 1)).left[0, :3]
    assert np.abs(left / np.linalg.norm(left) - axis).max() < 1e-6


def test_what_is_not_met_is_approached_as_near_as_dofs_and_limits_let_it():
    """The nearest approach of two links to a point beyond them is straight; of limited ones, where no step gains."""
    a = planar().search(goal(2.0, 0.5), np.array([[0.3, 0.4]]), Plan(FREE_TURN, 20))
    assert not a.found[0]
    assert abs(np.linalg.norm(a.left[0, 3:]) - (math.hypot(2.0, 0.5) - 1.7)) < 1e-9
    engine = planar((1.0, 0.7, 0.4), limits=[(-0.2, 0.1), (0.3, 0.9), (-2.0, 2.0)])
    rng = np.random.default_rng(0)
    for x, y in rng.uniform(-2.0, 2.0, (40, 2)):
        a = engine.search(goal(x, y), np.array([[0.0, 0.5, 0.0]]), Plan(FREE_TURN, 12))
        if a.found[0]:
            continue
        q, left = a.q[0], np.linalg.norm(a.left[0, 3:])
        for i, h in ((i, h) for i in range(3) for h in (1e-4, -1e-4)):
            moved = q + h * np.eye(3)[i]
            if ((moved >= engine.lower) & (moved <= engine.upper)).all():
                assert np.linalg.norm(engine.place(moved)[1][:2] - (x, y)) > left - 1e-9


def test_one_goal_and_a_batch_of_one_are_the_same_search():
    engine = planar()
    q = np.array([0.4, 1.1])
    R, p = engine.place(q)
    for plan in (Plan(np.full(6, 1e-9), 30), Plan(FREE_TURN, 30, near_first=1)):
        one = engine.find(sc.Pose(R, p), np.zeros(2), plan)
        many = engine.search(np.concatenate([R.ravel(), p])[None], np.zeros((1, 2)), plan)
        assert (one[0] == many.q[0]).all()
        assert (one[1] == many.left[0]).all()
        assert one[2] == many.tried[0] > 0
    far = sc.Pose(R, p + np.array([9.0, 0.0, 0.0]))
    assert engine.find(far, np.zeros(2), Plan(FREE_TURN, 30))[2] == -30


def test_a_table_that_does_not_fit_is_refused():
    limb = _core.Limb(*good())
    with pytest.raises(ValueError, match="a table has at most 512 configurations"):
        limb.set_table(np.zeros((513, 2)), np.zeros((3, 513)), np.zeros((4, 513)))
    with pytest.raises(ValueError, match=r"position must have the shape \(3, 4\)"):
        limb.set_table(np.zeros((4, 2)), np.zeros((4, 3)), np.zeros((4, 4)))
    with pytest.raises(ValueError, match=r"q must have the shape \(4, 2\)"):
        limb.set_table(np.zeros((4, 3)), np.zeros((3, 4)), np.zeros((4, 4)))
    with pytest.raises(ValueError, match=r"turn must have the shape \(4, 4\)"):
        limb.set_table(np.zeros((4, 2)), np.zeros((3, 4)), np.zeros((3, 4)))


def test_starts_are_chosen_by_the_turn_of_the_tip_too():
    """Three axes through one point: all tips are at one place, and only their turns tell them apart."""
    mb, last = sc.Multibody("wrist"), None
    for i, axis in enumerate(np.eye(3)[[2, 1, 0]]):
        last = mb.add_body(f"w{i}", parent=last, hinge=sc.Pin(axis), inertia=sc.Inertia(1.0)).name
    engine = engine_of(mb, mb.bodies, mb.root, mb.frame(last))
    stored = engine.low + _spread(512, 3) * (engine.high - engine.low)
    R, p = engine.place(stored)
    goals = np.ascontiguousarray(np.concatenate([R.reshape(-1, 9), p], axis=1))
    a = engine.search(goals[:64], stored[100:101], Plan(np.full(6, 1e-6), 2, steps=1, settling=0))
    assert a.found.all()                                            # the second start is the one that is there already


def test_starts_are_chosen_by_the_place_of_the_tip_in_all_directions():
    mb, last = sc.Multibody("gantry"), None
    for axis in np.eye(3):
        last = mb.add_body(f"s{len(mb.bodies)}", parent=last, hinge=sc.Prismatic(axis), inertia=sc.Inertia(1.0)).name
        mb[last].limits = sc.Limits(lower=[-1.0], upper=[1.0])
    engine = engine_of(mb, mb.bodies, mb.root, mb.frame(last))
    stored = engine.low + _spread(512, 3) * (engine.high - engine.low)
    R, p = engine.place(stored)
    goals = np.ascontiguousarray(np.concatenate([np.broadcast_to(R, (512, 3, 3)).reshape(-1, 9), p], axis=1))
    a = engine.search(goals, np.array([[9.0, 9.0, 9.0]]), Plan(np.full(6, 1e-6), 2, steps=1, settling=0))
    assert a.found.all()
    assert np.abs(a.q - stored).max() < 1e-12
    none = engine.search(goals, np.array([[9.0, 9.0, 9.0]]), Plan(np.full(6, 1e-6), 1, steps=1, settling=0))
    assert not none.found.any()
    assert engine.search(goals, np.array([[9.0, 9.0, 9.0]]), Plan(np.full(6, 1e-6), 1, steps=1)).found.all()  # settled


def test_every_stored_configuration_is_a_start_once():
    """Of a goal that none meets, all are tried, and then there are no more."""
    a = planar().search(goal(9.0, 0.0), np.zeros((1, 2)), Plan(FREE_TURN, 2000, settling=0))
    assert a.tried[0] == 513
    many = planar().search(np.repeat(goal(9.0, 0.0), 40, axis=0), np.zeros((1, 2)), Plan(FREE_TURN, 2000, settling=0))
    assert (many.tried == 513).all()


def test_the_first_start_is_waited_for_where_that_is_asked():
    engine = planar()
    stored = engine.low + _spread(512, 2) * (engine.high - engine.low)
    k = int(np.argmin(np.abs(stored - [0.5, 1.2]).max(axis=1)))
    R, p = engine.place(stored[k : k + 1])
    x, y = p[0, :2]
    other = np.array([2 * math.atan2(y, x) - stored[k, 0], -stored[k, 1]])  # mirrored in the line to the goal
    near = other[None] + [[0.25, 0.25]]
    goals = np.concatenate([R.reshape(1, 9), p], axis=1)
    first, waited = (engine.search(goals, near, Plan(FREE_TURN, 30, near_first=x)) for x in (0, 1))
    assert first.steps[0] == 0                                      # a start of the table is there already
    assert np.abs(first.q[0] - stored[k]).max() < 1e-12
    assert waited.steps[0] > 0
    assert np.sign(math.sin(waited.q[0, 1])) == -np.sign(math.sin(stored[k, 1]))


def test_whole_turns_are_unwound_towards_the_middle_and_do_not_count():
    engine = planar(limits=[(-7.0, 7.0), (1.0, 7.0)])
    q = np.array([6.0, 1.5])
    assert np.allclose(engine.period, 2 * np.pi)
    assert np.allclose(engine.unwound(q), [6.0 - 2 * np.pi, 1.5])  # 1.5 + 2 pi is no nearer to 4, and outside
    assert engine.apart(q, engine.unwound(q)) < 1e-12
    assert np.isclose(engine.apart(q, q + np.array([0.3, 2 * np.pi - 0.1])), 0.3)


def test_what_slides_has_no_period():
    mb = sc.Multibody("screws")
    mb.add_body("a", hinge=sc.Helical((0, 0, 1), 0.1), inertia=sc.Inertia(1.0))
    mb.add_body("b", parent="a", hinge=sc.Screws([[0, 0, 2.0, 0.3, 0, 0]]), inertia=sc.Inertia(1.0))
    engine = engine_of(mb, mb.bodies, mb.root, mb["b"])
    assert engine.period[0] == np.inf
    assert np.isclose(engine.period[1], np.pi)  # two radians for one of the dof
    R, p = engine.place(np.array([[0.2, 0.3], [0.2, 0.3 + np.pi]]))
    assert np.allclose(R[0], R[1])
    assert np.allclose(p[0], p[1])
