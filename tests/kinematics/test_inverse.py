"""Inverse kinematics: closed forms, there and back, loops kept, limits honoured, and what is said where it fails."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loops.cases import FourBar, library, tie
from tests.model.modal.trees import flexible_tree
from tests.profiles import tries
from tests.strategies import HINGES, SEEDS, rigid_trees

import soacraft as sc
from soacraft import Direction, Placement, Position, inverse_kinematics
from soacraft.errors import ConvergenceError, LoopError, ModelError, StateError
from soacraft.kinematics import assemble, descent, inverse
from soacraft.kinematics.bounds import Bounds
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.targets import Axes, aim_at, aims_of, aims_rates, read_targets
from soacraft.kinematics.tolerances import ASSEMBLED
from soacraft.spatial.rotations import exp

Y, Z = (0, 1, 0), (0, 0, 1)
UNIT = sc.Inertia(1.0, (0, 0, 0), np.eye(3))


def pose_at(mb, node, q, relative_to=None):
    """The pose of a frame at q, as a target."""
    T = mb.pose(node, relative_to, state=mb.state(q=q))
    return sc.Pose(T.rotation, T.translation)


def apart(T, goal):
    """The largest entry by which two poses differ."""
    return max(np.abs(T.rotation - goal.rotation).max(), np.abs(T.translation - goal.translation).max())


def within(mb, rng):
    """Coordinates within the limits; dofs without any within half a turn."""
    lower = np.concatenate([body.limits.lower for body in mb.bodies])
    upper = np.concatenate([body.limits.upper for body in mb.bodies])
    return rng.uniform(np.maximum(lower, -np.pi), np.minimum(upper, np.pi))


def opened(mb, q):
    """By how much the loops are open at q, the closures' coordinates found anew."""
    rows = Constraints(mb, mb.state(q=q))
    return np.abs(rows.residual).max(initial=0.0)


# -- closed forms -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("elbow", [-1.0, 1.0])
@pytest.mark.parametrize("point", [(1.2, 0.5), (-0.3, 0.9), (0.05, -0.1), (-1.0, -1.6)])
def test_two_links_by_the_law_of_cosines(point, elbow):
    """x = cos a + cos(a + b), z = -(sin a + sin(a + b)): cos b = (d^2 - 2) / 2; the start tells the branch."""
    x, z = point
    b = elbow * np.arccos((x * x + z * z - 2.0) / 2.0)
    a = np.arctan2(-z, x) - b / 2.0
    mb = sc.serial_chain(2)
    r = inverse_kinematics(mb, {"link2/tip": (x, 0.0, z)}, q0=[a + 0.1, b - elbow * 0.1])
    assert r.converged
    assert r.starts == 1
    np.testing.assert_allclose(r.q, [a, b], atol=1e-8)
    assert r.residual["link2/tip"].distance < 1e-9


def test_a_stretched_arm_leaves_its_singular_start():
    """Straight towards the target no step helps at first order."""
    mb = sc.serial_chain(2)
    r = inverse_kinematics(mb, {"link2/tip": (1.5, 0.0, 0.0)}, q0=[0.0, 0.0])
    assert r.converged
    assert abs(abs(r.q[1]) - np.arccos(0.125)) < 1e-8


def test_the_end_of_reach_is_reached():
    """There the Jacobian is singular at the answer."""
    r = inverse_kinematics(sc.serial_chain(2), {"link2/tip": (0.0, 0.0, -2.0)}, q0=[0.4, 0.9])
    np.testing.assert_allclose(r.q, [np.pi / 2, 0.0], atol=1e-4)
    assert r.residual["link2/tip"].distance < 1e-9


@pytest.mark.parametrize(("weights", "answer"), [((1.0, 1.0), 0.5), ((1.0, 2.0), 0.8), ((3.0, 1.0), 0.1)])
def test_weights_say_what_is_given_up(weights, answer):
    """A slide pulled to 0 and to 1: the mean weighed by the squares."""
    mb = sc.Multibody("slide")
    mb.add_body("cart", None, sc.Prismatic((1, 0, 0)), UNIT)
    targets = [Position("cart", (x, 0, 0), weight=w) for x, w in zip((0.0, 1.0), weights, strict=True)]
    r = inverse_kinematics(mb, targets, allow_partial=True, q0=[0.3], starts=10)
    assert not r.converged
    assert abs(r.q[0] - answer) < 1e-7
    assert abs(r.residual["cart position 1"].distance - answer) < 1e-7
    assert abs(r.residual["cart position 2"].distance - (1.0 - answer)) < 1e-7


@pytest.mark.parametrize("weight", [1e-200, 1e200])
def test_one_weight_alone_changes_nothing(weight):
    mb = sc.serial_chain(2)
    r = inverse_kinematics(mb, Position("link2/tip", (1.0, 0.0, -1.0), weight=weight), q0=[0.1, 0.2])
    np.testing.assert_array_equal(r.q, inverse_kinematics(mb, {"link2/tip": (1.0, 0.0, -1.0)}, q0=[0.1, 0.2]).q)


def test_a_craft_flies_far():
    mb = sc.Multibody("craft")
    mb.add_body("craft", None, sc.Free(), UNIT)
    goal = sc.Pose.from_rpy(3.0, 0.2, -2.0, (1e6, 2000.0, -5e7))
    r = inverse_kinematics(mb, Placement("craft", goal, tolerance=1e-6))
    assert r.starts == 1
    assert apart(pose_at(mb, "craft", r.q), goal) < 1e-6


def test_a_pin_comes_as_near_a_rotation_as_it_can():
    """R_z(0.7) R_x(0.4): the pin turns by 0.7 and 0.4 is left; the position costs nothing."""
    mb = sc.Multibody("dial")
    mb.add_body("dial", None, sc.Pin(Z), UNIT)
    goal = sc.Pose(exp([0, 0, 0.7]) @ exp([0.4, 0, 0]))
    r = inverse_kinematics(mb, {"dial": goal}, allow_partial=True)
    assert abs(r.q[0] - 0.7) < 1e-7
    assert abs(r.residual["dial"].angle - 0.4) < 1e-12
    assert r.residual["dial"].distance == 0.0


@pytest.mark.parametrize("angle", [0.5, 2.0, np.pi])
def test_a_direction_from_anywhere(angle):
    """Also from the opposite one. Turning about the axis itself is free."""
    mb = sc.Multibody("lamp")
    mb.add_body("lamp", None, sc.Spherical(), UNIT)
    goal = exp([angle, 0, 0]) @ Z
    r = inverse_kinematics(mb, Direction("lamp", axis=Z, direction=3.0 * goal))
    R = mb.pose("lamp", state=mb.state(q=r.q)).rotation
    np.testing.assert_allclose(R @ Z, goal, atol=1e-9)
    assert 2.0 * np.arccos(min(1.0, abs(r.q[3]))) == pytest.approx(angle, abs=1e-7)  # the shortest way


# -- the rates ----------------------------------------------------------------------------------------------------


@tries(30)
@given(rigid_trees(), SEEDS, st.booleans())
def test_rates_are_the_gradient(mb, seed, relative):
    """d/dt of |r|^2 / 2 along v, by differences, is r* (rates v), far from the target too."""
    rng = np.random.default_rng(seed)
    node = mb.bodies[-1].add_node("tool", sc.Pose(exp(rng.normal(size=3)), rng.normal(size=3)))
    to = mb.bodies[0] if relative and len(mb.bodies) > 1 else mb.root
    R, p, u = exp(rng.normal(size=3)), rng.normal(size=3), rng.normal(size=3)
    q, v = mb.random_state(seed)
    for target in (
        Placement(node, sc.Pose(R, p), relative_to=to),
        Position(node, p, relative_to=to),
        Direction(node, u, R @ u, relative_to=to),
    ):
        ((aim,),) = aims_of(mb, read_targets(target), (), 1e-9)

        def cost(t, aim=aim):
            r = aim.residual(*aim.seen(mb.state(q=mb.integrate(q, t * v))))
            return 0.5 * r @ r

        if np.linalg.norm(aim.residual(*aim.seen(mb.state(q=q)))[:3]) > 3.0:
            continue  # next to the half turn, where the angle has a kink
        h = 1e-5
        r = aim.residual(*aim.seen(mb.state(q=q)))
        rate = r @ (aims_rates(mb, mb.state(q=q), [aim]) @ v)
        scale = max(1.0, abs(rate), np.linalg.norm(v) ** 3)
        assert abs((cost(h) - cost(-h)) / (2 * h) - rate) < 1e-6 * scale


def axes_of(mb, tip, pose, counts, q):
    """The residual of some axes of a pose, and its rates."""
    ((aim,),) = aims_of(mb, [Axes(tip, pose, counts)], (), 1e-9)
    state = mb.state(q=q)
    return aim.residual(*aim.seen(state)), aims_rates(mb, state, [aim]), aim


def test_some_axes_of_a_pose_have_exact_rates_one_by_one():
    """Not the gradient of |r|^2 alone: of a rotation, single angles are left out."""
    mb, rng = sc.load("panda"), np.random.default_rng(8)
    for counts in ((1, 0, 0, 0, 0, 0), (0, 1, 1, 1, 0, 1), (1, 1, 1, 0, 0, 0), (0, 0, 1, 0, 1, 0), (1, 1, 1, 1, 1, 0)):
        q, v, h = within(mb, rng), rng.standard_normal(mb.nv), 1e-5
        pose = pose_at(mb, "attachment", q + 0.3 * rng.standard_normal(mb.nv))
        r, rates, aim = axes_of(mb, "attachment", pose, counts, q)
        ends = [axes_of(mb, "attachment", pose, counts, q + s * h * v)[0] for s in (1, -1)]
        assert np.allclose((ends[0] - ends[1]) / (2 * h), rates @ v, atol=1e-7)
        assert (r[np.array(counts) == 0] == 0.0).all()
        R, p = aim.seen(mb.state(q=q))
        gap, gaps = aim.gap(r), aim.gaps(R[None], p[None])
        assert np.isclose(gaps.distance[0], gap.distance)
        assert np.isclose(gaps.angle[0], gap.angle)


@pytest.mark.parametrize("counts", [(1, 1, 1, 1, 1, 0), (0, 0, 1, 1, 1, 1), (1, 1, 1, 0, 0, 0), (0, 1, 1, 0, 0, 1)])
def test_some_axes_of_a_pose_are_met(counts):
    mb, rng = sc.load("ur5e"), np.random.default_rng(2)
    goal = pose_at(mb, "wrist_3_link", within(mb, rng)) @ sc.Pose.from_rpy(0.0, 0.0, 0.3)
    r = inverse_kinematics(mb, [Axes("wrist_3_link", goal, counts)], q0=within(mb, rng))
    assert r.converged
    assert np.abs(axes_of(mb, "wrist_3_link", goal, counts, r.q)[0]).max() < 3e-9


def test_nothing_is_proved_of_some_axes():
    """A point 9 m away is out of reach; its height alone is not."""
    mb = sc.serial_chain(2)
    away = Axes("link2/tip", sc.Pose(translation=(9.0, 0.0, -1.0)), (0, 0, 0, 0, 0, 1))
    assert inverse_kinematics(mb, [away], q0=[0.1, 0.2]).converged
    high = Axes("link2/tip", sc.Pose(translation=(0.0, 0.0, -9.0)), (0, 0, 0, 0, 0, 1))
    r = inverse_kinematics(mb, [high], q0=[0.1, 0.2], allow_partial=True, starts=3)
    assert not r.converged
    assert r.proof == ""
    assert np.isclose(r.residual["link2/tip"].distance, 7.0)


# -- time -----------------------------------------------------------------------------------------------------------


class Clock:
    """A clock that each look at it moves on by a millisecond."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1e-3
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    for module in (assemble, descent, inverse):
        monkeypatch.setattr(module, "perf_counter", made)
    return made


def test_a_time_limit_ends_a_search_within_a_start(clock):
    """Of a tree whose aims compiled code does not take, and of a closed chain."""
    mb = sc.load("panda")
    goal = Axes("attachment", pose_at(mb, "attachment", [0.5, 0.6, 0.1, -1.9, 0.2, 2.0, 0.4]), (1, 1, 1, 1, 1, 0))
    start = [0.0, 0.0, 0.0, -0.5, 0.0, 0.5, 0.0]
    free = inverse_kinematics(mb, goal, q0=start)
    assert free.converged
    for limit, most in ((1e-9, 0), (4e-3, 2)):
        r = inverse_kinematics(mb, goal, q0=start, time_limit=limit, allow_partial=True)
        assert not r.converged
        assert r.iterations <= most < free.iterations
        assert r.starts == 1
        assert r.proof == ""
        with pytest.raises(ConvergenceError, match="were not met from one start"):
            inverse_kinematics(mb, goal, q0=start, time_limit=limit)
    assert inverse_kinematics(mb, goal, q0=start, time_limit=100.0).converged


def test_a_time_limit_ends_the_closing_of_loops(clock):
    mb = sc.load("five_bar")
    q = np.array(mb.q)
    q[0] += 0.5
    tip = mb.bodies[1].name
    with pytest.raises(LoopError, match="did not close from one start"):
        inverse_kinematics(mb, {tip: pose_at(mb, tip, mb.q)}, q0=q, time_limit=1e-9)
    assert inverse_kinematics(mb, {tip: pose_at(mb, tip, mb.q)}, q0=q, time_limit=100.0).converged


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, "1"])
def test_time_limits_that_are_none(wrong):
    with pytest.raises(StateError, match="time_limit of inverse_kinematics must"):
        inverse_kinematics(sc.serial_chain(2), {"link2/tip": (1.0, 0.0, 0.0)}, time_limit=wrong)


# -- there and back -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "tip"), [("panda", "attachment"), ("iiwa14", "link7"), ("ur5e", "wrist_3_link")])
def test_random_reachable_poses_of_arms(name, tip):
    mb = sc.load(name)
    rng = np.random.default_rng(4)
    for _ in range(8):
        goal = pose_at(mb, tip, within(mb, rng))
        r = inverse_kinematics(mb, {tip: goal})
        assert r.converged
        assert apart(pose_at(mb, tip, r.q), goal) < 3e-9
        lower = np.concatenate([body.limits.lower for body in mb.bodies])
        upper = np.concatenate([body.limits.upper for body in mb.bodies])
        assert (r.q >= lower).all()
        assert (r.q <= upper).all()


def test_a_humanoid_places_hands_and_feet_at_once():
    """Free base, four poses, one seen from the other hand, and a gaze."""
    mb = sc.load("simple_humanoid")
    q = np.array(mb.random_state(2)[0])
    q[7:] *= 0.3
    tips = {name: pose_at(mb, name, q) for name in ("LLEG_LINK6", "RLEG_LINK6", "LARM_LINK7")}
    hands = pose_at(mb, "RARM_LINK7", q, relative_to="LARM_LINK7")
    chest = mb.body("LARM_LINK1").parent
    gaze = mb.pose(chest, state=mb.state(q=q)).rotation @ (1, 0, 0)
    targets = [*(Placement(name, T) for name, T in tips.items()),
               Placement("RARM_LINK7", hands, relative_to="LARM_LINK7"),
               Direction(chest, (1, 0, 0), gaze)]  # fmt: skip
    r = inverse_kinematics(mb, targets, limits=False)
    assert r.converged
    for name, goal in tips.items():
        assert apart(pose_at(mb, name, r.q), goal) < 3e-9
    assert apart(pose_at(mb, "RARM_LINK7", r.q, "LARM_LINK7"), hands) < 3e-9
    np.testing.assert_allclose(mb.pose(chest, state=mb.state(q=r.q)).rotation @ (1, 0, 0), gaze, atol=3e-9)


def test_limits_of_no_width_hold_a_dof():
    """The limits of this file allow no joint to move: the base alone takes the hand there."""
    mb = sc.load("simple_humanoid")
    q = np.array(mb.neutral())
    q[:7] = [0.6, 0.0, 0.0, 0.8, 1.0, -2.0, 0.5]
    r = inverse_kinematics(mb, {"LARM_LINK7": pose_at(mb, "LARM_LINK7", q)})
    np.testing.assert_array_equal(r.q[7:], np.zeros(mb.nq - 7))
    np.testing.assert_allclose(np.abs(r.q[:4] @ q[:4]), 1.0, atol=1e-9)
    np.testing.assert_allclose(r.q[4:7], q[4:7], atol=1e-8)


@tries(15)
@given(rigid_trees(hinges=[hinge for hinge in HINGES if hinge.holonomic]), SEEDS)
def test_every_hinge_gets_back_from_nearby(mb, seed):
    """From a configuration nearby, any tree of any hinges that do not roll; welded ones are there already."""
    q, v = mb.random_state(seed)
    tips = [body for body in mb.bodies if not body.children]
    goals = {body: pose_at(mb, body, q) for body in tips}
    near = mb.integrate(q, 0.02 * v / max(1.0, np.abs(v).max(initial=0.0)))
    r = inverse_kinematics(mb, goals, q0=near, tolerance=1e-8)
    for body, goal in goals.items():
        assert apart(pose_at(mb, body, r.q), goal) < 3e-8


def test_seen_from_a_moving_frame_or_by_the_ground():
    """The ground's pose seen from the hand is the inverse of the hand's."""
    mb = sc.load("panda")
    q = within(mb, np.random.default_rng(8))
    goal = pose_at(mb, "attachment", q)
    r = inverse_kinematics(mb, Placement("inertial", goal.inv, relative_to="attachment"))
    assert apart(pose_at(mb, "attachment", r.q), goal) < 5e-9


def test_a_subgraph_has_coordinates_of_its_own():
    mb = sc.serial_chain(4)
    mb.q = [0.3, -0.2, 0.4, 0.1]
    g = mb.subgraph(["link3", "link4"])
    goal = np.asarray(pose_at(mb, "link4/tip", [0.3, -0.2, 0.9, -0.8]).translation)
    r = inverse_kinematics(g, {"link4/tip": goal}, q0=[0.8, -0.6])
    np.testing.assert_allclose(r.q, [0.9, -0.8], atol=1e-8)
    with pytest.raises(ModelError, match="'link1' is not on a body of 'chain\\[link3, link4\\]'"):
        inverse_kinematics(g, {"link1": (0, 0, 0)})


def test_a_model_without_dofs_is_where_it_is():
    mb = sc.Multibody("rock")
    mb.add_body("rock", None, sc.Weld(), UNIT)
    assert inverse_kinematics(mb, {"rock": (0, 0, 0)}).q.shape == (0,)
    with pytest.raises(ConvergenceError, match=r"cannot be met: no dof is free to move\. .* 'rock' stays off by 2 m"):
        inverse_kinematics(mb, {"rock": (0, 2, 0)})


def test_an_empty_batch_gives_an_empty_answer():
    r = inverse_kinematics(sc.serial_chain(2), {"link2/tip": np.zeros((0, 3))})
    assert r.q.shape == (0, 2)
    assert r.converged.shape == (0,)
    assert r.active_limits == ()


def test_batches_of_targets_and_starts():
    mb = sc.serial_chain(2)
    goals = np.array([[1.0, 0.0, -1.0], [0.5, 0.0, 0.5], [3.0, 0.0, 0.0]])
    r = inverse_kinematics(mb, {"link2/tip": goals}, q0=[[[0.1, 0.3]], [[0.1, -0.3]]], allow_partial=True)
    assert r.q.shape == (2, 3, 2)
    assert r.sides.shape == (2, 3, 2)
    np.testing.assert_array_equal(r.converged, [[True, True, False]] * 2)
    np.testing.assert_allclose(r.residual["link2/tip"].distance[:, 2], [1.0, 1.0], atol=1e-9)
    for i, j in np.ndindex(2, 2):
        tip = mb.pose("link2/tip", state=mb.state(q=r.q[i, j])).translation
        np.testing.assert_allclose(tip, goals[j], atol=1e-9)
    assert (r.q[0, :2, 1] > 0).all()
    assert (r.q[1, :2, 1] < 0).all()
    assert "4 of 6 converged" in repr(r)
    text = r"cannot be met in state \(2,\) of the batch: 'link2/tip' would have to be 3 m .* stays off by 1 m"
    with pytest.raises(ConvergenceError, match=text):
        inverse_kinematics(mb, {"link2/tip": goals}, q0=[0.1, 0.3])


def test_the_model_is_left_alone_and_answers_repeat():
    mb = sc.load("ur5e")
    mb.q = np.full(6, 0.3)
    goal = pose_at(mb, mb.bodies[-1], within(mb, np.random.default_rng(0)))
    first, second = (inverse_kinematics(mb, {mb.bodies[-1]: goal}) for _ in range(2))
    np.testing.assert_array_equal(first.q, second.q)
    np.testing.assert_array_equal(mb.q, np.full(6, 0.3))


# -- loops and couplings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "tip"), [("five_bar", "effector"), ("delta", "eff"), ("cassie", "left-foot")])
def test_loops_are_kept(name, tip):
    mb = library(name)
    solver = sc.loops.TreeAugmented(mb)
    for seed in range(2):
        v = solver.project_velocity(mb.q, 0.4 * np.random.default_rng(seed).standard_normal(mb.nv), weight="plain")
        goal = pose_at(mb, tip, solver.assemble(mb.integrate(mb.q, v))).translation
        r = inverse_kinematics(mb, {tip: goal}, limits=False)
        assert r.converged
        assert opened(mb, r.q) < 1e-10
        assert max(max(gap) for gap in r.residual_of_loops.values()) < 1e-10
        np.testing.assert_allclose(pose_at(mb, tip, r.q).translation, goal, atol=1e-9)
        assert set(r.residual_of_loops) == {x.name for x in mb.loops if x.active}


def test_loops_are_kept_where_the_target_is_not_met():
    """The nearest approach of a crank's end to a point: on the line from the pivot, with the loop closed."""
    bar = FourBar()
    mb = bar.build(0.8)
    r = inverse_kinematics(mb, {"crank/end": (2.0, 1.0, 0.0)}, allow_partial=True)
    assert opened(mb, r.q) < 1e-10
    theta = np.arctan2(1.0, 2.0)
    np.testing.assert_allclose(r.q[0], theta, atol=1e-6)
    assert abs(r.residual["crank/end"].distance - (np.hypot(2.0, 1.0) - bar.crank)) < 1e-10
    assert r.residual_of_loops["ring"].distance < 1e-10


def test_a_four_bar_follows_its_rocker():
    """The coupler's end taken to where the crank angle 1.1 puts it."""
    bar = FourBar()
    mb = bar.build(0.8)
    beta, gamma = bar.angles(1.1)
    end = bar.ground + bar.rocker * np.exp(1j * gamma)
    r = inverse_kinematics(mb, {"rocker/end": (end.real, end.imag, 0.0)})
    np.testing.assert_allclose(r.q, [1.1, beta - 1.1, gamma], atol=1e-7)


def test_an_open_start_is_closed():
    mb = FourBar().build(0.8)
    end = 0.4 * np.array([np.cos(1.0), np.sin(1.0), 0])
    r = inverse_kinematics(mb, {"crank/end": end}, q0=mb.q + np.array([0.1, -0.2, 0.15]))
    assert opened(mb, r.q) < 1e-10
    assert abs(r.q[0] - 1.0) < 1e-8


def test_couplings_are_kept():
    """Equal and opposite turns: the tip moves along a line, so the height cannot be had."""
    mb = sc.serial_chain(2)
    mb.couple("belt", {"link1": 2.0, "link2": 1.0})
    r = inverse_kinematics(mb, {"link2/tip": (1.2, 0.0, 0.0)}, q0=[0.3, -0.6])
    np.testing.assert_allclose(r.q, [np.arccos(0.6), -2.0 * np.arccos(0.6)], atol=1e-8)
    assert r.residual_of_loops["belt"].distance <= 2.0 * ASSEMBLED
    r = inverse_kinematics(mb, {"link2/tip": (1.2, 0.0, 0.7)}, q0=[0.3, -0.6], allow_partial=True, starts=10)
    assert abs(r.residual["link2/tip"].distance - 0.7) < 1e-9


def test_inactive_loops_tie_nothing():
    mb = sc.serial_chain(2)
    mb.couple("belt", {"link1": 2.0, "link2": 1.0}, active=False)
    r = inverse_kinematics(mb, {"link2/tip": (1.2, 0.0, 0.7)}, q0=[0.3, -0.6])
    assert r.converged
    assert r.residual_of_loops == {}


# -- limits -------------------------------------------------------------------------------------------------------


def test_a_limit_stops_an_elbow():
    """|b| <= 0.5 keeps the tip beyond 2 cos(0.25): the nearest point on the line to the target."""
    mb = sc.serial_chain(2)
    mb.body("link2").limits = sc.Limits(-0.5, 0.5)
    target = np.array([0.6, 0.0, -0.8])
    r = inverse_kinematics(mb, {"link2/tip": target}, q0=[0.2, 0.1], allow_partial=True)
    assert r.q[1] == 0.5
    assert abs(r.q[0] - (np.arctan2(0.8, 0.6) - 0.25)) < 1e-7
    assert abs(r.residual["link2/tip"].distance - (2.0 * np.cos(0.25) - 1.0)) < 1e-10
    assert r.active_limits == ("link2 upper",)
    assert r.sides.tolist() == [0, 1]
    assert inverse_kinematics(mb, {"link2/tip": target}, q0=[0.2, 0.1], limits=False).converged


def test_a_start_at_a_limit_may_leave_it():
    mb = sc.serial_chain(2)
    mb.body("link2").limits = sc.Limits(-2.5, 0.5)
    r = inverse_kinematics(mb, {"link2/tip": (1.0, 0.0, 1.0)}, q0=[0.0, 0.5])
    np.testing.assert_allclose(r.q, [0.0, -np.pi / 2], atol=1e-8)


def test_the_angle_of_a_ball_is_limited():
    """Asked to tilt by 0.8 with 0.5 allowed: 0.3 is left, and the tilt is along the way."""
    mb = sc.Multibody("lamp")
    mb.add_body("lamp", None, sc.Spherical(), UNIT).limits = sc.Limits(upper=0.5)
    goal = exp([0.8, 0, 0]) @ Z
    start = [0, 0, np.sin(0.1), np.cos(0.1)]
    r = inverse_kinematics(mb, Direction("lamp", Z, goal), allow_partial=True, q0=start, starts=10)
    np.testing.assert_allclose(r.q, [np.sin(0.25), 0, 0, np.cos(0.25)], atol=1e-6)
    assert abs(r.residual["lamp"].angle - 0.3) < 1e-9
    assert 2.0 * np.arcsin(np.linalg.norm(r.q[:3])) <= 0.5 + 1e-12
    assert r.active_limits == ("lamp.0 upper", "lamp.1 upper", "lamp.2 upper")


def test_limits_and_loops_together():
    """The rocker of a four-bar stopped between the start and the target, its loop closed."""
    bar = FourBar()
    mb = bar.build(0.8)
    stop = bar.angles(0.95)[1]
    end = 0.4 * np.array([np.cos(1.3), np.sin(1.3), 0.0])
    low, high = sorted((stop, stop + np.sign(mb.q[2] - stop) * 2.0))
    mb.body("rocker").limits = sc.Limits(low, high)
    r = inverse_kinematics(mb, {"crank/end": end}, allow_partial=True, starts=1)
    assert opened(mb, r.q) < 1e-10
    assert low <= r.q[2] <= high
    np.testing.assert_allclose(r.q[[0, 2]], [0.95, stop], atol=1e-6)
    assert len(r.active_limits) == 1
    assert r.active_limits[0].startswith("rocker ")


def test_unreachable_targets_are_named_with_their_gap_and_the_limits_reached():
    mb = sc.serial_chain(2)
    mb.body("link2").limits = sc.Limits(-0.5, 0.5)
    with pytest.raises(ConvergenceError) as error:
        inverse_kinematics(mb, [Position("link2/tip", (0.6, 0.0, -0.8)), Direction("link1", Y, Y)], q0=[0.2, 0.1])
    assert re.fullmatch(
        r"the targets of 'chain' cannot be met: no configuration within the limits does \(\d+ boxes of them "
        r"excluded\)\. At the nearest approach 'link2/tip' stays off by 0\.938 m, with limits reached at 'link2' "
        r"\(upper\)\. Move the targets, free more dofs, or pass allow_partial=True for the nearest approach\.",
        str(error.value),
    )


# -- what is held -------------------------------------------------------------------------------------------------


def test_fixed_dofs_stay():
    mb = sc.load("panda")
    q = np.array([0.1, 0.2, -0.3, -1.5, 0.2, 1.4, 0.5])
    goal = pose_at(mb, "attachment", q).translation
    near = mb.integrate(q, [0, 0.1, 0, -0.1, 0.1, 0.1, 0])
    r = inverse_kinematics(mb, {"attachment": goal}, fixed=["joint1", "joint3"], q0=near)
    np.testing.assert_array_equal(r.q[[0, 2]], q[[0, 2]])
    np.testing.assert_allclose(pose_at(mb, "attachment", r.q).translation, goal, atol=1e-9)
    r = inverse_kinematics(mb, {"attachment": goal}, fixed={"joint7": 0.7}, q0=q)
    assert r.converged
    assert r.q[6] == 0.7


def test_a_free_base_is_held_by_its_hinge_name():
    mb = sc.load("simple_humanoid")
    mb.set_state(mb.neutral())
    q = np.array(mb.neutral())
    q[7:] = 0.1 * np.random.default_rng(0).standard_normal(mb.nq - 7)
    goal = pose_at(mb, "LARM_LINK7", q)
    r = inverse_kinematics(mb, {"LARM_LINK7": goal}, fixed=["root"], limits=False)
    np.testing.assert_array_equal(r.q[:7], mb.neutral()[:7])
    assert apart(pose_at(mb, "LARM_LINK7", r.q), goal) < 3e-9


def test_fixed_dofs_that_leave_a_loop_open():
    """Crank at 1.0 and rocker as it was: the coupler cannot span the gap. It says so with allow_partial too."""
    mb = FourBar().build(0.8)
    held = {"crank": 1.3, "rocker": float(mb.q[2])}
    text = (
        r"cannot close with 'crank', 'rocker' held: .* loop 'ring' stays open by 0\.105 m and \S+ rad \('ring' would "
        r"have to be 1\.205 m from hinge 'coupler', 0\.105 m beyond the 1\.1 m that the links and slides between "
        r"reach\)\. Free"
    )
    with pytest.raises(LoopError, match=text):
        inverse_kinematics(mb, {"coupler": (0, 0, 0)}, fixed=held, allow_partial=True)


def test_fixed_dofs_that_contradict_a_coupling():
    mb = sc.serial_chain(3)
    tie(mb, "belt", ["link1", "link2"], [(1.0,), (1.0,)])
    text = r"with 'link1', 'link2' held: at the nearest approach coupling 'belt' stays off by 0\.7"
    with pytest.raises(LoopError, match=text):
        inverse_kinematics(mb, {"link3/tip": (1, 0, 1)}, fixed={"link1": 0.3, "link2": 0.4})


def test_all_dofs_fixed_says_the_gap():
    mb = sc.serial_chain(1)
    with pytest.raises(ConvergenceError, match=r"'link1/tip' stays off by 1\.41 m"):
        inverse_kinematics(mb, {"link1/tip": (0, 0, -1)}, fixed=["link1"])
    assert inverse_kinematics(mb, {"link1/tip": (1, 0, 0)}, fixed=["link1"]).converged


# -- bad input ----------------------------------------------------------------------------------------------------

ik, TIP = inverse_kinematics, "link2/tip"
POINT = {TIP: (1.0, 0.0, -1.0)}


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda mb: ik(mb, {}), StateError, "was given no targets; to close loops alone there is s.assemble"),
        (lambda mb: ik(mb, []), StateError, "was given no targets"),
        (lambda mb: ik(mb, 3), StateError, r"targets are given as \{node: Pose or point\}, .* got 3"),
        (lambda mb: ik(mb, [TIP]), StateError, "or as a list of Placement.* got 'link2/tip'"),
        (lambda mb: ik("mb", POINT), ModelError, "inverse_kinematics takes a Multibody .* got 'mb'"),
        (lambda mb: ik(mb, {"hand": (1, 0, 0)}), ModelError, "'chain' has no frame 'hand'"),
        (lambda mb: ik(mb, {7: (1, 0, 0)}), ModelError, "give a frame of 'chain' or its name"),
        (lambda mb: ik(mb, {TIP: (1, np.nan, 0)}), StateError, "position of 'link2/tip' must be finite, got nan"),
        (lambda mb: ik(mb, {TIP: (1, 0)}), StateError, r"position of 'link2/tip' must have shape \(..., 3\)"),
        (lambda mb: ik(mb, {TIP: (0, 1e200, 0)}), StateError, r"position of 'link2/tip' is 1e\+200 m away, beyond"),
        (lambda mb: ik(mb, {TIP: "up"}), StateError, "position of 'link2/tip' must be real numbers, got text"),
        (lambda mb: ik(mb, {TIP: Position(TIP, (1, 0, 0))}), StateError, "'link2/tip' is a Position; give a list"),
        (lambda mb: Placement(TIP, (1, 0, 0)), StateError, r"pose of 'link2/tip' must be a Pose\(...\), got \(1"),
        (lambda mb: Direction(TIP, (0, 0, 0), Z), StateError, "the axis in 'link2/tip' must not be zero"),
        (lambda mb: Direction(TIP, Z, (0, np.inf, 0)), StateError, "the direction of 'link2/tip' must be finite"),
        (lambda mb: Position(TIP, (1, 0, 0), weight=0), StateError, "weight of the position .* must be positive"),
        (lambda mb: Position(TIP, (1, 0, 0), tolerance=-1.0), StateError, "tolerance of the .* must be positive"),
        (lambda mb: ik(mb, Position("inertial", (1, 0, 0))), ModelError, "never changes: both are on 'inertial'"),
        (lambda mb: ik(mb, Position(TIP, (1, 0, 0), relative_to="link2")), ModelError, "both are on 'link2'"),
        (lambda mb: ik(mb, Position(TIP, (1, 0, 0), relative_to="nose")), ModelError, "has no frame 'nose'"),
        (lambda mb: ik(mb, POINT, q0=[0.0]), StateError, "q0 of 'chain' has 2 entries, got 1"),
        (lambda mb: ik(mb, POINT, q0=[0.0, np.nan]), StateError, "q0 of 'chain' must be finite: entry 1"),
        (lambda mb: ik(mb, POINT, fixed=["knee"]), StateError, "fixed dofs: 'chain' has no dof, hinge or body 'knee'"),
        (lambda mb: ik(mb, POINT, fixed=["link1", 0]), StateError, "fixed dofs of 'chain' name 0 twice"),
        (lambda mb: ik(mb, POINT, fixed={"link1": np.nan}), StateError, "the fixed q of 'chain' must be finite"),
        (lambda mb: ik(mb, POINT, fixed={"link1": 2.0}), StateError,
         "dof 'link1' is fixed at 2, outside its limits -1.5 to 1.5; fix it within them"),
        (lambda mb: ik(mb, POINT, limits="yes"), StateError, "limits of inverse_kinematics must be True or False"),
        (lambda mb: ik(mb, POINT, allow_partial=1), StateError, "allow_partial .* must be True or False, got 1"),
        (lambda mb: ik(mb, POINT, starts=0), StateError, "starts .* whole number of at least 1, got 0"),
        (lambda mb: ik(mb, POINT, seed=-1), StateError, "seed .* whole number of at least 0, got -1"),
        (lambda mb: ik(mb, POINT, steps=2.5), StateError, "steps .* whole number of at least 1, got 2.5"),
        (lambda mb: ik(mb, POINT, tolerance=0.0), StateError, "tolerance of inverse_kinematics must be positive"),
        (lambda mb: ik(mb, {TIP: np.zeros((3, 3))}, q0=np.zeros((2, 2))), StateError,
         r"axes of the targets do not agree: q0 \(2,\), position of 'link2/tip' \(3,\)"),
    ],
)  # fmt: skip
def test_bad_input_is_named(make, kind, text):
    mb = sc.serial_chain(2)
    mb.body("link1").limits = sc.Limits(-1.5, 1.5)
    q = np.array(mb.q)
    with pytest.raises(kind, match=text):
        make(mb)
    np.testing.assert_array_equal(mb.q, q)


def test_limits_that_cannot_be_kept_are_refused():
    mb = sc.serial_chain(2)
    mb.body("link1").limits = sc.Limits(1.0, -1.0)
    with pytest.raises(StateError, match="dof 'link1' has its lower limit 1 above its upper limit -1"):
        inverse_kinematics(mb, POINT)
    mb = sc.Multibody("craft")
    mb.add_body("craft", None, sc.Free(), UNIT).limits = sc.Limits(upper=1.0)
    with pytest.raises(StateError, match="the limits of hinge 'craft' cannot be kept: the velocities of Free"):
        inverse_kinematics(mb, {"craft": (1, 2, 3)})
    assert inverse_kinematics(mb, {"craft": (1, 2, 3)}, limits=False).converged
    mb = sc.Multibody("lamp")
    mb.add_body("lamp", None, sc.Spherical(), UNIT).limits = sc.Limits(upper=0.2)
    with pytest.raises(StateError, match=r"hinge 'lamp' is fixed at a rotation of 0\.4, beyond its limit 0\.2"):
        inverse_kinematics(mb, Direction("lamp", Z, Y), fixed=["lamp"], q0=[0, 0, np.sin(0.2), np.cos(0.2)])


def test_one_velocity_of_a_ball_cannot_be_fixed():
    mb = sc.serial_chain(1, sc.Spherical())
    with pytest.raises(StateError, match="hinge 'link1' of 'chain' can be fixed as a whole only"):
        inverse_kinematics(mb, {"link1/tip": (0, 1, 0)}, fixed=["link1.0"])
    with pytest.raises(StateError, match=r"'link1' in the fixed q of 'chain' must have shape \(\.\.\., 4\), got shape"):
        inverse_kinematics(mb, {"link1/tip": (0, 1, 0)}, fixed={"link1": 1.0})
    quarter = [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]  # about z: the tip from x to y
    assert inverse_kinematics(mb, {"link1/tip": (0, 1, 0)}, fixed={"link1": quarter}).converged


def test_the_answer_prints_what_it_is():
    mb = sc.serial_chain(3)
    mb.body("link2").limits = sc.Limits(-0.5, 0.5)
    mb.q = [0.3, 0.2, -0.4]
    tie(mb, "belt", ["link1", "link3"], [(1.0,), (1.0,)])
    text = repr(inverse_kinematics(mb, {"link3": (0.6, 0.0, -0.8)}, q0=[0.2, 0.1, 0.0], allow_partial=True))
    assert text.startswith("kinematics: not met from 100 starts, ")
    assert "link3: off by 0.938 m" in text
    assert "belt: off by" in text
    assert "at limits: link2 upper" in text


def test_flexible_bodies_stay_bent_as_they_are():
    """The tip of a flexible link is brought to a pose; its modal coordinates are those of q0."""
    mb = flexible_tree((-1, 0, 1, 2, 3, 4), 1, (sc.Pin((0, 0.6, 0.8)), sc.Spherical()), modes=(2, 0, 1), rotors=False)
    goal = pose_at(mb, "body5/tip", mb.q)
    start = mb.integrate(mb.q, np.where(np.isin(np.arange(mb.nv), mb.layout.own.v), 0.0, 0.2))
    found = sc.inverse_kinematics(mb, {"body5/tip": goal}, q0=start)
    np.testing.assert_array_equal(found.q[mb.layout.own.q], mb.q[mb.layout.own.q])
    assert apart(pose_at(mb, "body5/tip", found.q), goal) < 1e-8
    far = sc.inverse_kinematics(mb, {"body5/tip": (100.0, 0, 0)}, q0=start, allow_partial=True, starts=1, steps=20)
    assert not far.converged
    assert not far.impossible


def test_costs_of_configurations_are_squares_of_angles_and_of_distances_over_the_length():
    """Of many at once, among which a start is chosen, and of each that a descent is at; weights count squared."""
    mb, rng = sc.load("panda"), np.random.default_rng(5)
    goal = sc.dynamics.poses(mb, rng.uniform(-1.0, 1.0, mb.nq))
    spot = np.array([0.3, -0.2, 0.4])
    aims = [
        aim_at(mb, "hand", "pose", (mb["link7"], mb.root), goal["link7"], weight=3.0),
        aim_at(mb, "elbow", "position", (mb["link4"], mb.root), spot, weight=1.5),
    ]
    search = descent.Search(mb, Bounds(mb, np.zeros(mb.nv, dtype=bool), False), aims, 1e-9)
    q = rng.uniform(-0.5, 0.5, (5, mb.nq))
    for one, cost in zip(q, search.costs(q), strict=True):
        seen = sc.dynamics.poses(mb, one)
        off = seen["link7"].translation - goal["link7"].translation
        R = goal["link7"].rotation.T @ seen["link7"].rotation
        angle = np.arccos(0.5 * (np.trace(R) - 1.0))
        wanted = angle**2 + (np.linalg.norm(off) / aims[0].length) ** 2
        wanted += 0.25 * (np.linalg.norm(seen["link4"].translation - spot) / aims[1].length) ** 2
        assert cost == pytest.approx(wanted, rel=1e-6)
        assert search.at(one).cost == pytest.approx(wanted, rel=1e-9)
