"""States of OMPL for a space: there and back, of trees and of closed chains, whose projection is the one given."""

import numpy as np
import pytest

import soacraft as sc
from soacraft.robot import Robot
from soacraft.robot.planning.space import Space
from soacraft.robot.planning.states import ClosedStates, States


def space_of_all(length=1.0):
    """Every kind of hinge, in lengths of so many metres."""
    mb = sc.Multibody("all")
    mb.add_body("a", hinge=sc.Free(), inertia=sc.Inertia(1.0))
    mb.add_body("b", "a", sc.Pin((0, 0, 1)), sc.Inertia(1.0), sc.Pose(translation=(length, 0, 0)))
    mb.add_body("c", "b", sc.Spherical(), sc.Inertia(1.0)).limits = sc.Limits(lower=0.0, upper=1.0)
    mb.add_body("d", "c", sc.Prismatic((1, 0, 0)), sc.Inertia(1.0)).limits = sc.Limits(-0.5 * length, 0.5 * length)
    return Space(Robot(mb), np.array(mb.q), range(mb.nv), np.array(mb.q))


@pytest.mark.parametrize("made", [States, lambda space: ClosedStates(space, lambda q: q, 0.1)], ids=["tree", "closed"])
def test_states_there_and_back(made):
    space = space_of_all()
    states = made(space)
    state = states.made.allocState()
    for q in space.sample(np.random.default_rng(0), 20):
        assert not space.outside(q)
        states.write(state, q)
        assert space.distance(states.configuration(state), q) < 1e-7


def test_vectors_of_any_length_are_rotations():
    """OMPL interpolates through the inside of the circle and of the sphere of quaternions."""
    space = space_of_all()
    states = ClosedStates(space, lambda q: q, 0.1)
    a, b = (states.numbers(q) for q in space.sample(np.random.default_rng(1), 2))
    for x in (0.5 * (a + b), np.zeros(states.size)):
        q = states.of_numbers(x)
        for turn, _ in space.quaternions:
            assert np.linalg.norm(q[turn]) == pytest.approx(1.0)
    angle = space.place[space.wrap]
    half = states.of_numbers(0.5 * (a + b))[angle]
    assert np.cos(half - states.of_numbers(a)[angle]) == pytest.approx(np.cos(half - states.of_numbers(b)[angle]))


def test_what_closes_nowhere_stays_as_it_was():
    space = space_of_all()
    states = ClosedStates(space, lambda q: None, 0.1)
    x = states.numbers(space.q0)
    before = x.copy()
    assert not states.made.getConstraint().project(x)
    assert (x == before).all()


@pytest.mark.parametrize("made", [States, lambda space: ClosedStates(space, lambda q: q, 0.1)], ids=["tree", "closed"])
@pytest.mark.parametrize("length", [0.01, 1.0, 30.0])
def test_bounds_are_those_of_the_space_whatever_the_length_of_the_model(made, length):
    """What is drawn is within them; a way past the limit of the slide or past the box of the base is not."""
    space = space_of_all(length)
    states = made(space)
    state = states.made.allocState()
    drawn = space.sample(np.random.default_rng(0), 20)
    for q in drawn:
        states.write(state, q)
        assert states.made.satisfiesBounds(state)
    low, high = space.boxes[0]
    for at, value in ((4, low[0]), (6, high[2])):
        for part, within in ((0.99, True), (1.01, False)):
            q = drawn[0].copy()
            q[at] = 0.5 * (low + high)[at - 4] + part * (value - 0.5 * (low + high)[at - 4])
            states.write(state, q)
            assert states.made.satisfiesBounds(state) == within
    if isinstance(states, ClosedStates):
        states.release()
