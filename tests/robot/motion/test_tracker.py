"""Steps to targets that move: limits are never broken, targets are reached, the same step twice is the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

import soacraft as sc
from soacraft.errors import StateError
from soacraft.robot import MotionLimits, Robot, Tracker

V, A, J, DT = 2.0, 10.0, 100.0, 0.01


def arm():
    rb = Robot(sc.load("panda"))
    limits = MotionLimits.of(rb, velocity=V, acceleration=A, jerk=J)
    return rb, limits, Tracker(rb, DT, limits)


@tries(10)
@given(st.integers(0, 10**6))
def test_limits_are_never_broken(seed):
    rng = np.random.default_rng(seed)
    _, limits, tracker = arm()
    low, high = limits.lower, limits.upper
    state = tracker.rest(rng.uniform(low, high))
    for k in range(200):
        if k % 25 == 0:  # a new target, which may move, also out of the limits
            q, v = rng.uniform(low, high), rng.uniform(-V, V, 7) * (rng.random() < 0.7)
            a = rng.uniform(-3.0, 3.0, 7) * (np.abs(v) < 1.5) * (rng.random() < 0.5)
        new = tracker.step(state, np.clip(q + DT * (k % 25) * v, low, high), v, a)
        assert (np.abs(new.v) <= V * (1 + 1e-9)).all()
        assert (np.abs(new.vdot) <= A * (1 + 1e-9)).all()
        assert (np.abs(new.vdot - state.vdot) <= J * DT * (1 + 1e-9)).all()
        assert (new.q >= low - 1e-8).all()
        assert (new.q <= high + 1e-8).all()
        # the state goes together: positions from velocities within a step, up to the jerk
        assert np.abs(new.q - state.q - 0.5 * DT * (new.v + state.v)).max() <= J * DT**3
        state = new


@tries(10)
@given(st.integers(0, 10**6))
def test_a_target_at_rest_is_reached_in_the_time_told(seed):
    rng = np.random.default_rng(seed)
    _, limits, tracker = arm()
    start, goal = rng.uniform(limits.lower, limits.upper, (2, 7))
    state = tracker.step(tracker.rest(start), goal)
    most = state.remaining
    for _ in range(int(most / DT) + 3):
        state = tracker.step(state, goal)
    assert state.arrived
    assert np.abs(state.q - goal).max() < 1e-6
    assert np.abs(state.v).max() < 1e-5


def test_a_target_that_moves_is_caught():
    _, limits, tracker = arm()
    middle = 0.5 * (limits.lower + limits.upper)
    state = tracker.rest(middle)
    for k in range(400):
        t = k * DT
        state = tracker.step(state, middle + 0.3 * np.sin(t), np.full(7, 0.3 * np.cos(t)), np.full(7, -0.3 * np.sin(t)))
    # the state after the last step is one step past the target of that step
    assert np.abs(state.q - middle - 0.3 * np.sin(t + DT)).max() < 1e-3
    assert np.abs(state.v - 0.3 * np.cos(t + DT)).max() < 1e-2


def test_a_target_on_its_way_out_is_gone_to_and_rested_at():
    _, limits, tracker = arm()
    state = tracker.rest(0.5 * (limits.lower + limits.upper))
    goal, v = state.q.copy(), np.zeros(7)
    goal[0], v[0] = limits.upper[0], 1.5
    for _ in range(400):
        state = tracker.step(state, goal, v)
        assert state.limited == ("joint1",)
        assert state.q[0] <= limits.upper[0] + 1e-8
    assert state.arrived
    assert abs(state.q[0] - limits.upper[0]) < 1e-6
    assert "limited: joint1" in repr(state)


def test_the_same_step_twice():
    _, limits, tracker = arm()
    rng = np.random.default_rng(5)
    state = tracker.step(tracker.rest(rng.uniform(limits.lower, limits.upper)), rng.uniform(limits.lower, limits.upper))
    goal = rng.uniform(limits.lower, limits.upper)
    a, b = tracker.step(state, goal), arm()[2].step((state.q, state.v, state.vdot), goal)
    assert (a.q == b.q).all()
    assert (a.v == b.v).all()
    assert (a.vdot == b.vdot).all()


def test_steps_do_not_depend_on_the_unit_of_length():
    """Two slides and a ball on a model of so many metres: lengths scale, angles stay."""

    def followed(s):
        mb = sc.Multibody("slides")
        for name, parent, hinge in (("x", None, sc.Prismatic((1, 0, 0))), ("y", "x", sc.Prismatic((0, 1, 0)))):
            mb.add_body(name, parent, hinge, sc.Inertia(1.0), inboard=sc.Pose(translation=(s, 0, 0)))
            mb[name].limits = sc.Limits(-2 * s, 2 * s)
        mb.add_body("ball", "y", sc.Spherical(), sc.Inertia(1.0, moment=np.eye(3) * s * s))
        unit = np.array([s, s, 1, 1, 1])
        limits = MotionLimits.of(Robot(mb), velocity=unit, acceleration=2 * unit, jerk=20 * unit)
        tracker = Tracker(Robot(mb), DT, limits)
        state, rows = tracker.rest([-s, 0.5 * s, 0, 0, 0, 1]), []
        for k in range(60):
            q = [0.7 * s, 0.1 * s * np.sin(0.05 * k), 0.6, 0.0, 0.0, 0.8]
            state = tracker.step(state, q, [0.0, 0.5 * s * np.cos(0.05 * k), 0.0, 0.0, 0.0])
            rows.append(np.concatenate([state.q / [s, s, 1, 1, 1, 1], state.v / unit]))
        return np.array(rows)

    one = followed(1.0)
    assert all((followed(s) == one).all() for s in (2.0**-10, 2.0**10, 2.0**20))  # which round nothing


def test_a_ball_with_limits_that_are_hardly_any():
    """The pieces of a step follow the motion, not its limits; a step of many turns is refused."""
    mb, tracker = turning(sc.Spherical(), velocity=1e12, acceleration=1e12, jerk=1e12)
    goal = mb.integrate(mb.neutral(), [0.3, -0.4, 1.2, 0.1])
    state = tracker.rest(mb.neutral())
    assert np.abs(mb.difference(tracker.step(state, goal).q, goal)).max() < 1.0
    fast = [0.0, 1e8, 0.0, 0.0]
    with pytest.raises(
        StateError, match=r"hinge 'body' .* at 1e\+08 rad/s, more than 200 rad in a step of 0.01 s: give"
    ):
        tracker.step((mb.neutral(), fast, np.zeros(4)), goal, fast)


def test_a_limb_alone():
    rb = Robot(sc.load("h1"))
    limb = rb.limb("arm", "torso_link", "right_elbow_link")
    limits = MotionLimits.of(rb, velocity=V, acceleration=A, jerk=J)
    tracker = Tracker(rb, DT, limits, limb)
    assert tracker.dof_names == limb.dof_names
    every = Tracker(rb, DT, limits)  # the free base as well
    assert every.dof_names == rb.mb.dof_names
    assert every.rest(rb.mb.q).q.shape == (rb.mb.nq,)


# -- balls and free bodies ---------------------------------------------------------------------------------------------


def turning(hinge, velocity=V, acceleration=A, jerk=J, dt=DT):
    """A body on a hinge, and a pin on it."""
    mb = sc.Multibody("turning")
    mb.add_body("body", None, hinge, sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.add_body("arm", "body", sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    rb = Robot(mb)
    return mb, Tracker(rb, dt, MotionLimits.of(rb, velocity=velocity, acceleration=acceleration, jerk=jerk))


@pytest.mark.parametrize("hinge", [sc.Spherical(), sc.Free()])
def test_a_body_that_turns_comes_to_its_target_within_its_limits(hinge):
    """Limits along dofs hold exactly, configurations are those of the velocities, and the way bends by little."""
    mb, tracker = turning(hinge)
    start, goal = mb.random_state(3)[0], mb.random_state(8)[0]
    state, most = tracker.rest(start), None
    for _ in range(400):
        new = tracker.step(state, goal)
        most = new.remaining if most is None else most
        assert (np.abs(new.v) <= V * (1 + 1e-9)).all()
        assert (np.abs(new.vdot) <= A * (1 + 1e-9)).all()
        assert (np.abs(new.vdot - state.vdot) <= J * DT * (1 + 1e-9)).all()
        moved, turn = mb.difference(state.q, new.q), np.linalg.norm(state.v) + np.linalg.norm(new.v)
        assert np.abs(moved - 0.5 * DT * (new.v + state.v)).max() <= J * DT**3 + DT**3 * A * turn
        state, most = new, most - DT
        if state.arrived:
            break
    assert state.arrived
    assert most > -0.3  # of about two seconds
    assert np.abs(mb.difference(state.q, goal)).max() < 1e-7
    again = tracker.step(state, goal)
    assert np.abs(mb.difference(again.q, goal)).max() < 1e-10
    assert np.abs(again.v).max() < 1e-4


def test_a_turn_about_one_axis_is_that_of_a_pin():
    mb, ball = turning(sc.Spherical())
    flat, pin = turning(sc.Pin((0, 0, 1)))
    goal = mb.integrate([0, 0, 0, 1.0, 0], [0, 0, 1.1, 1.1])  # no dof waits for another, as rounding decides
    a, b = ball.rest([0, 0, 0, 1.0, 0]), pin.rest(flat.q)
    for _ in range(60):
        a, b = ball.step(a, goal), pin.step(b, [1.1, 1.1])
        assert np.abs(mb.difference([0, 0, 0, 1.0, 0], a.q)[2:] - b.q).max() < 1e-12
        assert np.abs(a.v[2:] - b.v).max() < 1e-12
        assert abs(a.remaining - b.remaining) < 1e-9


def test_a_body_beside_its_target_goes_along_its_screw():
    """From the state of a target that moves with a constant twist u: q exp(t u), all along."""
    mb, tracker = turning(sc.Free())
    q, u = mb.random_state(2)[0], np.array([0.7, -1.1, 0.4, 0.5, 0.2, -0.9, 0.3])
    state = (q, u, np.zeros(7))
    for k in range(50):
        state = tracker.step(state, mb.integrate(q, k * DT * u), u)
    assert np.abs(mb.difference(mb.integrate(q, 50 * DT * u), state.q)).max() < 1e-10


def test_hinges_that_cannot_be_followed_are_named():
    mb, _ = turning(sc.Spherical())
    mb["body"].limits = sc.Limits(upper=1.0)
    rb = Robot(mb)
    told = {"velocity": V, "acceleration": A, "jerk": J}
    with pytest.raises(StateError, match=r"largest angle of a ball, and hinge 'body' has one of 1 rad: .*position="):
        Tracker(rb, DT, MotionLimits.of(rb, **told))
    tracker = Tracker(rb, DT, MotionLimits.of(rb, **told, position=False))
    with pytest.raises(StateError, match="q of a Tracker: hinge 'body' is not a unit quaternion"):
        tracker.rest([0, 0, 0, 2.0, 0])
    rolling = sc.Multibody("rolling")
    rolling.add_body("ball", None, sc.RollingBall(0.5), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    rb = Robot(rolling)
    with pytest.raises(StateError, match=r"cannot follow hinge 'ball': the velocities of RollingBall.* Give limb="):
        Tracker(rb, DT, MotionLimits.of(rb, **told))


def test_what_is_refused():
    rb, limits, tracker = arm()
    state = tracker.rest(0.5 * (limits.lower + limits.upper))
    with pytest.raises(
        StateError, match=r"the target position of dof 'joint4' is 1, outside its limits -3.0718 to -0.0698"
    ):
        tracker.step(state, np.ones(7))
    with pytest.raises(StateError, match=r"the target velocity .* of dof 'joint1' is 3, outside its limits -2 to 2"):
        tracker.step(state, state.q, [3.0, 0, 0, 0, 0, 0, 0])
    with pytest.raises(StateError, match=r"the target velocity .with what its acceleration adds .* is 2.125"):
        tracker.step(state, state.q, [2.0, 0, 0, 0, 0, 0, 0], [5.0, 0, 0, 0, 0, 0, 0])
    fast = (limits.upper, np.full(7, 1.0), np.zeros(7))
    with pytest.raises(StateError, match=r"dof 'joint1' at 2.8973 with velocity 1 cannot stop within its limits"):
        tracker.step(fast, state.q)
    with pytest.raises(StateError, match=r"needs a limit of jerk for every dof, and 'joint1' has none"):
        Tracker(rb, DT, MotionLimits.of(rb, velocity=1.0, acceleration=1.0))
    with pytest.raises(StateError, match=r"dt must be positive"):
        Tracker(rb, 0.0, limits)
    with pytest.raises(StateError, match=r"limb= is a limb of this robot"):
        Tracker(rb, DT, limits, "arm")
    with pytest.raises(StateError, match=r"a Tracker moves a Robot"):
        Tracker(rb.mb, DT, limits)


def test_states_that_are_none():
    _, _, tracker = arm()
    q = np.array([0.0, 0.0, 0.0, -1.2, 0.0, 1.6, 0.0])
    for state in (None, 5, [], [q, q], {"q": q}, np.zeros(3)):
        with pytest.raises(StateError, match=r"the state of a Tracker is \(q, v, vdot\), or the result of a step"):
            tracker.step(state, q)
    for wrong in ("abc", [[1, 2], [3]], q + 1j, q > 0):
        with pytest.raises(StateError, match="q of a Tracker"):
            tracker.rest(wrong)
