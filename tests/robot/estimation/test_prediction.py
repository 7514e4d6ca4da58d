"""Predictions: closed-form motion, covariances against samples and closed form, contact, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.contact import Box, Plane
from soacraft.errors import LoopError, SimulationError, SoacraftError, StateError
from soacraft.robot import Robot, World, computed_torque
from soacraft.robot.estimation import prediction
from soacraft.robot.estimation.prediction import read_covariance


def test_the_robot_itself_stays_as_it_is_and_what_it_holds_comes_along():
    mb = sc.load("panda")
    mb.add_body("cup", hinge=sc.Free(), inertia=sc.Inertia.sphere(3.0, 0.05))
    rb = Robot(mb)
    empty = rb.predict(horizon=0.1).q[-1]
    rb.attach("cup", "link7")
    q, v = np.array(mb.q), np.array(mb.v)
    p = rb.predict(horizon=0.1)
    assert (mb.q == q).all()
    assert (mb.v == v).all()
    assert p.q.shape == (101, 7)
    assert np.abs(p.q[-1] - empty[:7]).max() > 1e-3  # three kilograms pull the arm down faster
    run = sc.sim.Propagator(mb.copy(), rtol=1e-12).advance_to(0.1)
    assert np.abs(p.q[-1] - run.q[-1]).max() < 1e-8


def test_the_covariance_of_a_harmonic_oscillator_is_that_of_its_closed_form():
    """x = x0 cos wt + v0/w sin wt; with noise of density s on the velocity P_xx gains s/w^2 (t/2 - sin(2wt)/(4w))."""
    mb = sc.Multibody("spring")
    mb.gravity = (0, 0, 0)
    body = mb.add_body("mass", hinge=sc.Prismatic((1, 0, 0)), inertia=sc.Inertia(2.0))
    body.passive = sc.Passive(stiffness=18.0)
    w, t, s = 3.0, 0.8, 0.04
    p = Robot(mb).predict([0.1], [0.2], horizon=t, step=1e-3, covariance=[0.01, 0.09], noise=[0.0, s])
    assert abs(p.q[-1, 0] - (0.1 * np.cos(w * t) + 0.2 / w * np.sin(w * t))) < 1e-10
    noise = s / w**2 * (t / 2 - np.sin(2 * w * t) / (4 * w))
    expected = 0.01 * np.cos(w * t) ** 2 + 0.09 / w**2 * np.sin(w * t) ** 2 + noise
    assert abs(p.covariance[-1, 0, 0] - expected) < 1e-4 * expected  # noise enters at the ends of steps


def test_transitions_are_the_differences_of_the_end_under_a_law_and_without():
    rb = Robot(sc.load("panda"))
    rng = np.random.default_rng(3)
    q0, v0 = rng.uniform(-0.5, 0.5, 7) + np.array([0, 0, 0, -1.5, 0, 1.5, 0]), rng.uniform(-0.3, 0.3, 7)
    goal = (q0 + 0.2, np.zeros(7), np.zeros(7))

    def law(t, q, v):
        return computed_torque(rb, q, v, goal, 100.0, 20.0)

    for controls in (rng.uniform(-5, 5, 7), law):
        p = rb.predict(q0, v0, controls, 0.02, step=2e-3, covariance=np.full(14, 1e-4))
        whole = np.linalg.multi_dot([*p.A[::-1]])
        for i in (1, 5, 9, 13):
            d = np.zeros(14)
            d[i] = 1e-5
            ends = [rb.predict(q0 + s * d[:7], v0 + s * d[7:], controls, 0.02, step=2e-3) for s in (1, -1)]
            slope = np.concatenate([ends[0].q[-1] - ends[1].q[-1], ends[0].v[-1] - ends[1].v[-1]]) / 2e-5
            assert np.abs(slope - whole[:, i]).max() < 1e-6 * max(1.0, np.abs(slope).max())
    assert np.abs(p.q[-1] - q0).max() > 0


def falling_box(height=0.5):
    mb = sc.Multibody("box")
    body = mb.add_body("box", hinge=sc.Free(), inertia=sc.Inertia.box(1.0, (0.2, 0.2, 0.2)))
    body.add_geometry(sc.Geometry("skin", "box", (0.2, 0.2, 0.2)))
    mb.set_state([0, 0, 0, 1, 0, 0, height], np.zeros(6))
    return Robot(mb)


def test_what_falls_on_a_floor_lands_when_physics_says_and_is_told():
    rb = falling_box()
    w = World(rb)
    w.add("floor", Plane())
    p = rb.predict(horizon=0.6, world=w)
    fall = np.sqrt(2 * 0.4 / 9.80665)
    assert [x[1:] for x in p.touched] == [("box/skin", "floor/shape")]
    assert abs(p.touched[0][0] - fall) < 3e-3
    assert abs(p.q[-1, 6] - 0.1) < 1e-4
    assert np.abs(p.v[-1]).max() < 1e-6
    assert not p.smooth
    assert rb.predict(horizon=0.1, world=w).smooth


def test_padding_does_not_push():
    rb = falling_box()
    w = World(rb)
    w.add("floor", Plane())
    w.pad("floor", 0.05)
    assert abs(rb.predict(horizon=0.6, world=w).q[-1, 6] - 0.1) < 1e-4
    still = rb.predict([0, 0, 0, 1, 0, 0, 0.14], horizon=0.01, world=w)  # in the padding, and falls free
    assert still.smooth
    assert still.touched == ()


def test_covariance_through_contact_is_that_of_samples_that_touch_alike():
    """A block that slides on a floor: dx and dv along the floor, and nothing across it."""
    rb = falling_box(0.1)
    w = World(rb)
    w.add("floor", Box(10.0, 10.0, 0.2), sc.Pose(translation=(0, 0, -0.1)))
    v0 = np.array([0, 0, 0, 1.0, 0, 0])
    P = np.zeros(12)
    P[9] = 1e-4  # of the velocity along x
    p = rb.predict(v=v0, horizon=0.1, world=w, friction=0.3, covariance=P)
    along = np.array([0, 0, 0, 1e-3, 0, 0])
    ends = [rb.predict(v=v0 + s * along, horizon=0.1, world=w, friction=0.3).q[-1, 4] for s in (1, -1)]
    slope = (ends[0] - ends[1]) / 2e-3
    assert abs(slope - 0.1) < 1e-3  # friction takes the same from all
    assert abs(np.sqrt(p.covariance[-1, 3, 3]) - 1e-2 * slope) < 1e-5
    assert p.covariance[-1, 5, 5] < 1e-12


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"horizon": 0.0}, "horizon at least one step"),
        ({"horizon": 0.1, "step": 0.03}, "must be a whole number of steps"),
        ({"controls": np.zeros((3, 7))}, "one for each of the 1000 steps"),
        ({"controls": lambda t, q, v: np.zeros(3)}, "the force of the control law at 0 s"),
        ({"covariance": np.ones(3)}, "covariance"),
        ({"covariance": -np.ones(14)}, "covariance must not be negative; its least variance is -1"),
        ({"covariance": np.triu(np.ones((14, 14)))}, "covariance must be symmetric"),
        ({"noise": np.ones(14)}, "noise adds to a covariance"),
        ({"q": np.zeros((2, 7))}, "begins at one state"),
        ({"step": 1e-320}, "must be a whole number of steps, at most"),
        ({"world": 3}, "world= is a World around this robot, got 3"),
        ({"controls": "abc"}, "controls must be real numbers"),
        ({"controls": lambda t, q, v: "abc"}, "the force of the control law at 0 s must be real numbers"),
        ({"covariance": "abc"}, "covariance must be real numbers"),
        ({"step": 1e-6, "horizon": 10.0, "covariance": np.ones(14)}, "a prediction of 10000000 steps"),
    ],
)
def test_what_is_wrong_is_refused(given, said):
    rb = Robot(sc.load("panda"))
    before = np.array(rb.mb.q)
    with pytest.raises(SoacraftError, match=said):
        rb.predict(**given)
    assert (rb.mb.q == before).all()


def test_a_world_of_another_robot_is_refused():
    rb = falling_box()
    with pytest.raises(StateError, match="world= is a World around this robot"):
        rb.predict(world=World(falling_box()))


@pytest.mark.parametrize("height", [0.5, 0.5003, 0.4995, 0.4991, 0.5007])
def test_what_bounces_within_a_step_touched(height):
    """A ball that comes at 1 m/s and goes at 1 m/s touched at (height - 0.1) s, wherever that falls in a step."""
    mb = sc.Multibody("ball")
    mb.gravity = (0, 0, 0)
    mb.add_body("ball", hinge=sc.Free(), inertia=sc.Inertia.sphere(1.0, 0.1)).add_geometry(
        sc.Geometry("skin", "sphere", (0.1,))
    )
    rb = Robot(mb)
    w = World(rb)
    w.add("floor", Plane())
    p = rb.predict([0, 0, 0, 1, 0, 0, height], [0, 0, 0, 0, 0, -1.0], horizon=0.8, world=w, restitution=1.0)
    assert abs(p.v[-1, 5] - 1.0) < 1e-9
    assert not p.smooth
    ((when, *_),) = p.touched
    assert abs(when - (height - 0.1)) < 2e-3


def test_a_law_that_changes_its_arguments_changes_no_state():
    rb = Robot(sc.load("panda"))

    def law(t, q, v):
        q -= 0.3
        return -10.0 * q

    p = rb.predict(controls=law, horizon=0.01)
    q = rb.predict(controls=lambda t, q, v: -10.0 * (q - 0.3), horizon=0.01)
    assert (p.q == q.q).all()


def test_closed_chains_are_predicted_with_their_closure():
    """A along motions that the loops let, against differences of ends."""
    mb = sc.load("five_bar")
    s = sc.loops.TreeAugmented(mb)
    q0 = s.assemble(mb.q)
    v0 = s.project_velocity(q0, np.full(mb.nv, 0.1))
    rb = Robot(mb)
    p = rb.predict(q0, v0, horizon=5e-3, step=5e-4, covariance=np.full(2 * mb.nv, 1e-4))
    assert (p.covariance == np.swapaxes(p.covariance, 1, 2)).all()
    whole, e = np.linalg.multi_dot([*p.A[::-1]]), 1e-5
    way = s.project_velocity(q0, np.array([1.0, -0.5, 0.3, 0.2, 0.7, -0.4]))
    pairs = []
    for sign in (1, -1):
        q = s.assemble(mb.integrate(q0, sign * e * way))
        v = s.project_velocity(q, v0)
        end = rb.predict(q, v, horizon=5e-3, step=5e-4)
        pairs.append((np.concatenate([q, v]), np.concatenate([end.q[-1], end.v[-1]])))
    start, end = ((a - b) / (2 * e) for a, b in zip(*pairs, strict=True))
    assert np.abs(start).max() > 0.1
    assert np.abs(whole @ start - end).max() < 1e-6 * np.abs(end).max()


def atwood(gap, m=(2.0, 1.0)):
    """Two weights whose heights are coupled, and a floor so far below the first one."""
    mb = sc.Multibody("atwood")
    first = mb.add_body("a", hinge=sc.Prismatic((0, 0, 1)), inertia=sc.Inertia(m[0]))
    first.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    mb.add_body("b", hinge=sc.Prismatic((0, 0, 1)), inertia=sc.Inertia(m[1]))
    mb.couple("rope", {"a": 1.0, "b": 1.0}, 0.1 + gap)
    rb = Robot(mb)
    w = World(rb)
    w.add("floor", Plane())
    return rb, w, np.array([0.1 + gap, 0.0])


def test_a_closed_chain_falls_and_bounces_as_its_closed_form():
    """x'' = -g (m1 - m2) / (m1 + m2) to the floor, and -e times that speed after it, to first order in the step."""
    gap, h, e, g = 0.02, 4e-3, 0.5, 9.80665
    rb, w, q0 = atwood(gap)
    p = rb.predict(q0, [0, 0], horizon=0.16, step=h, world=w, restitution=e)
    a = g / 3.0
    fall = np.sqrt(2 * gap / a)
    before = p.t < fall - h
    assert np.abs(p.q[before, 0] - (0.1 + gap - 0.5 * a * p.t[before] ** 2)).max() < 1e-12
    assert np.abs(p.q.sum(axis=1) - 0.1 - gap).max() < 1e-12
    assert np.abs(p.v.sum(axis=1)).max() < 1e-12
    ((when, *pair),) = p.touched
    assert pair == ["a/skin", "floor/shape"]
    assert abs(when - fall) < 1.5 * h
    assert abs(p.v[-1, 0] - (e * a * fall - a * (0.16 - fall))) < 2 * a * h
    assert p.q[:, 0].min() > 0.1 - a * fall * h  # no deeper than the way of a step
    assert (rb.mb.q == 0.0).all()


def test_a_closed_chain_rests_on_a_floor_under_a_law():
    rb, w, q0 = atwood(0.0)
    p = rb.predict(q0, [0, 0], lambda t, q, v: [-5.0, 0.0], horizon=0.012, step=4e-3, world=w)
    assert np.abs(p.q - q0).max() < 1e-9
    assert p.touched == ((0.0, "a/skin", "floor/shape"),)
    lifted = rb.predict(q0, [0, 0], lambda t, q, v: [0.0, -30.0], horizon=0.012, step=4e-3, world=w)
    assert abs(lifted.v[-1, 0] - (30.0 - 9.80665) / 3.0 * 0.012) < 1e-9


def test_a_closed_chain_bounces_the_same_under_a_law_and_with_a_covariance():
    """Steps after an impact begin a little in the floor; where the first begins so deep, it is refused."""
    rb, w, q0 = atwood(0.002)
    told = {"horizon": 0.012, "step": 4e-3, "world": w, "restitution": 0.5}
    plain = rb.predict(q0, [-0.3, 0.3], **told)
    assert plain.q[:, 0].min() < 0.1 - 1e-4
    law = rb.predict(q0, [-0.3, 0.3], lambda t, q, v: [0.0, 0.0], covariance=[1e-4] * 4, **told)
    assert np.abs(law.q - plain.q).max() < 1e-12
    assert np.abs(law.v - plain.v).max() < 1e-12
    assert np.isfinite(law.covariance).all()
    with pytest.raises(SimulationError, match=r"begins with 'a/skin' and 'floor/shape' 0.001 m in each other"):
        rb.predict(q0 - [0.003, -0.003], [0, 0], **told)


def test_a_covariance_in_a_world_is_that_of_the_closure():
    """Of two weights that are known alike, (m1^2 + m2^2) / (m1 + m2)^2 is left where they are coupled."""
    rb, w, q0 = atwood(0.1)
    p = rb.predict(q0, [0, 0], horizon=8e-3, step=4e-3, world=w, covariance=[1e-4, 1e-4, 4e-4, 4e-4])
    part, t = 5.0 / 9.0, 8e-3
    assert p.smooth
    assert p.covariance[-1, 0, 0] == pytest.approx(part * (1e-4 + t**2 * 4e-4), rel=1e-6)
    assert p.covariance[-1, 0, 1] == pytest.approx(-p.covariance[-1, 0, 0], rel=1e-6)
    assert p.covariance[-1, 3, 3] == pytest.approx(part * 4e-4, rel=1e-6)


def test_a_prediction_in_a_world_begins_on_the_closures():
    rb, w, q0 = atwood(0.1)
    with pytest.raises(LoopError, match=r"a run cannot begin off its closures: .* Close it first: s = sc.loops.Tree"):
        rb.predict(q0 + 0.01, [0, 0], horizon=8e-3, step=4e-3, world=w)


@pytest.mark.parametrize("s", [1e-6, 1.0, 1e6])
def test_a_covariance_is_judged_the_same_in_all_units(s):
    """Two numbers of units that differ by 1e6: their correlation alone counts."""
    units = np.array([1.0, s])
    good, worse = (np.array([[1.0, c], [c, 1.0]]) * np.outer(units, units) for c in (0.99, 1.01))
    assert (read_covariance(good, 2, "covariance") == good).all()
    with pytest.raises(StateError, match=r"its least eigenvalue is -0\.01"):
        read_covariance(worse, 2, "covariance")
    uneven = np.array([[1.0, 0.5], [0.4, 1.0]]) * np.outer(units, units)
    with pytest.raises(StateError, match="must be symmetric"):
        read_covariance(uneven, 2, "covariance")
    rounded = np.array([[1.0, 1e-17], [-1e-17, 1.0]]) * np.outer(units, units)
    assert read_covariance(rounded, 2, "covariance")[0, 1] == 0.0
    with pytest.raises(StateError, match="must not be negative"):
        read_covariance(np.array([[0.0, 1e-6], [1e-6, 1.0]]) * np.outer(units, units), 2, "covariance")


def test_friction_without_a_world_is_refused():
    rb = Robot(sc.load("pendulum"))
    for wrong in ({"friction": 0.3}, {"restitution": 0.5}):
        with pytest.raises(StateError, match="friction and restitution are of contact, and there is none without"):
            rb.predict(horizon=0.01, **wrong)


def test_one_variance_is_that_of_all():
    rb = Robot(sc.load("pendulum"))
    one, each = (
        rb.predict([0.3], horizon=0.02, covariance=x, noise=y) for x, y in ((0.1, 0.2), ([0.1] * 2, [0.2] * 2))
    )
    assert (one.covariance == each.covariance).all()


def test_the_memory_that_states_take_is_looked_for_before(monkeypatch):
    """Coordinates and velocities of all steps; with a covariance, matrices of both for it and for its transitions."""
    looked, mb = [], sc.load("double_pendulum")
    monkeypatch.setattr(prediction, "refuse_large", lambda shape, what, cure: looked.append(np.prod(shape)))
    p = Robot(mb).predict(horizon=0.02, step=1e-3)
    assert looked == [p.q[1:].size + p.v[1:].size]
    Robot(mb).predict(horizon=0.02, step=1e-3, covariance=1e-6)
    assert looked[1] == 2 * 20 * (2 * mb.nv) ** 2
