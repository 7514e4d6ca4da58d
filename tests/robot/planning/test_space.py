"""Distances and samples of spaces against the model's own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

import soacraft as sc
from soacraft.errors import StateError
from soacraft.robot import Robot
from soacraft.robot.planning.space import Space


def model():
    mb = sc.Multibody("all")
    mb.add_body("a", hinge=sc.Free(), inertia=sc.Inertia(1.0))
    mb.add_body("b", "a", sc.Pin((0, 0, 1)), sc.Inertia(1.0), inboard=sc.Pose(translation=(2.0, 0, 0)))
    mb.add_body("c", "b", sc.Spherical(), sc.Inertia(1.0)).limits = sc.Limits(lower=0.0, upper=1.2)
    mb.add_body("d", "c", sc.Prismatic((1, 0, 0)), sc.Inertia(1.0)).limits = sc.Limits(-0.5, 0.5)
    return Robot(mb)


@tries(30)
@given(st.integers(0, 10**6))
def test_distances_are_those_of_the_shortest_rotations(seed):
    rb = model()
    mb, rng = rb.mb, np.random.default_rng(seed)
    space = Space(rb, np.array(mb.q), range(mb.nv), np.array(mb.q))
    a, b = space.sample(rng, 2)
    d = np.asarray(mb.difference(a, space.near(a, b)))
    turns = [np.linalg.norm(d[0:3]), abs(d[6]), np.linalg.norm(d[7:10])]
    ways = [np.linalg.norm(a[4:7] - b[4:7]), abs(a[12] - b[12])]
    expected = np.sqrt(sum(x**2 for x in turns) + sum((x / space.length) ** 2 for x in ways))
    assert space.distance(a, b) == pytest.approx(expected, rel=1e-6)
    assert space.distance(b, a) == pytest.approx(expected, rel=1e-6)
    assert abs(d[6]) <= np.pi
    minus = b.copy()
    minus[:4] *= -1.0  # the same rotation
    assert space.distance(a, minus) == pytest.approx(expected, rel=1e-6)
    assert not space.outside(a)
    half = space.between(a, b, 0.5)
    back = np.asarray(mb.difference(half, space.near(half, b)))
    assert np.abs(np.asarray(mb.difference(a, half)) - back).max() < 1e-6


@tries(30)
@given(st.integers(0, 10**6))
def test_keeps_tells_whether_a_ball_stays_within_its_angle(seed):
    rb = model()
    mb, rng = rb.mb, np.random.default_rng(seed)
    mb["c"].limits = sc.Limits(lower=0.0, upper=2.9)
    space = Space(rb, np.array(mb.q), range(mb.nv), np.array(mb.q))
    a, b = space.sample(rng, 2)
    d = np.asarray(mb.difference(a, b))
    w = np.asarray(mb.integrate(np.tile(a, (400, 1)), np.linspace(0.0, 1.0, 400)[:, None] * d))[:, 11]
    angle = 2.0 * np.arccos(np.minimum(np.abs(w), 1.0))
    assert space.keeps(a, b) == bool((angle <= 2.9 + 1e-9).all())


def test_what_is_refused_and_told():
    rb = model()
    mb = rb.mb
    with pytest.raises(StateError, match=r"hinge 'c' moves as a whole: name all of its dofs, or none"):
        Space(rb, np.array(mb.q), [6, 7], np.array(mb.q))
    space = Space(rb, np.array(mb.q), range(mb.nv), np.array(mb.q))
    q = np.array(mb.q)
    q[8:12] = [np.sin(0.75), 0, 0, np.cos(0.75)]
    assert space.outside(q) == "hinge 'c' turns by 1.5, and its largest angle is 1.2"
    rolling = sc.Multibody("rolling")
    rolling.add_body("ball", hinge=sc.RollingBall(0.1), inertia=sc.Inertia(1.0))
    with pytest.raises(StateError, match=r"a plan needs hinges with coordinates, spherical or free ones"):
        Space(Robot(rolling), np.array(rolling.q), range(rolling.nv), np.array(rolling.q))


def test_limits_of_dofs_that_stay_are_not_looked_at():
    """A free base with limits, which no plan could keep, and an arm that moves."""
    rb = model()
    mb = rb.mb
    mb["a"].limits = sc.Limits(lower=-np.ones(6), upper=np.ones(6))
    space = Space(rb, np.array(mb.q), range(6, mb.nv), np.array(mb.q))
    assert space.names == ["b", "d"]
    assert (space.upper == [np.inf, 0.5]).all()
    arm = rb.limb("arm", "a", "d")
    end = np.array(mb.q)
    end[7], end[12] = 0.4, 0.2
    assert sc.robot.plan(sc.robot.World(rb), mb.q, end, limb=arm).found
    with pytest.raises(StateError, match="the limits of hinge 'a' cannot be kept"):
        sc.robot.plan(sc.robot.World(rb), mb.q, end)


@pytest.mark.parametrize("length", [0.5, 1.0, 2.0])
def test_ways_without_a_limit_are_drawn_the_length_of_the_model_about_the_start(length):
    """Also of a model that is one metre long, whose slides are then compared with turns as they are; a slide with one
    limit goes from there."""
    mb = sc.Multibody("slides")
    mb.add_body("a", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
    mb.add_body("b", "a", sc.Prismatic((0, 1, 0)), sc.Inertia(1.0), inboard=sc.Pose(translation=(length, 0, 0)))
    mb["b"].limits = sc.Limits(lower=-0.25 * length)
    mb.add_body("c", "b", sc.Pin((0, 0, 1)), sc.Inertia(1.0)).limits = sc.Limits(upper=1.0)
    q = np.array([3.0 * length, 0.0, 0.5])
    space = Space(Robot(mb), q, range(mb.nv), np.array([q, q + length]))
    assert space.length == pytest.approx(length)
    assert space.low == pytest.approx([2.0 * length, -0.25 * length, 0.5 - np.pi])
    assert space.high == pytest.approx([5.0 * length, 2.0 * length, 1.0])
