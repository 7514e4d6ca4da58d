"""Planners of OMPL in our space: free paths by all of them, states there and back, errors through them."""

from itertools import pairwise

import numpy as np
import pytest

import soacraft as sc
from soacraft.contact import Sphere
from soacraft.errors import ConvergenceError, StateError
from soacraft.robot import Robot, World, plan
from soacraft.robot.planning.of_ompl import FIRST, IMPROVING, States
from soacraft.robot.planning.space import Space


def chain(limits, count=3):
    mb = sc.Multibody("chain")
    along = sc.Pose(rotation=sc.Pose.from_rpy(0, np.pi / 2, 0).rotation, translation=(0.5, 0, 0))
    for i in range(count):
        at = sc.Pose(translation=(1.0 if i else 0.0, 0, 0))
        body = mb.add_body(f"l{i}", f"l{i - 1}" if i else None, sc.Pin((0, 0, 1)), sc.Inertia(1.0), inboard=at)
        body.add_geometry(sc.Geometry("rod", "capsule", (0.05, 0.8), along, role="collision"))
        if limits:
            body.limits = sc.Limits(-3.0, 3.0)
    w = World(Robot(mb))
    w.add("ball", Sphere(0.3), sc.Pose(translation=(1.5, 0.8, 0)))
    return w


A, B = [0.0, 0.0, 0.0], [1.2, 0.2, 0.1]


@pytest.mark.parametrize("name", [*FIRST, "PRM", *IMPROVING])
def test_every_planner_gives_a_free_path_and_the_same_again(name):
    w = chain(limits=True)
    p = plan(w, A, B, planner=name, most=400, seed=2)
    assert p, p.why
    assert (p.path[0] == A).all()
    assert np.abs(p.path[-1] - B).max() < 1e-12
    assert all(w.edge(a, b) for a, b in pairwise(p.path))
    again = plan(w, A, B, planner=name, most=400, seed=2)
    assert (again.path == p.path).all()


@pytest.mark.parametrize("name", ["RRT", "KPIECE1", "PRM", "RRTstar"])
def test_angles_without_limits(name):
    w = chain(limits=False)
    p = plan(w, A, B, planner=name, most=400)
    assert p, p.why
    assert all(w.edge(a, b) for a, b in pairwise(p.path))
    with pytest.raises(StateError, match=r"planner='BITstar' is for coordinates with limits, and here are angles"):
        plan(w, A, B, planner="BITstar")


def test_states_there_and_back():
    mb = sc.Multibody("all")
    mb.add_body("a", hinge=sc.Free(), inertia=sc.Inertia(1.0))
    mb.add_body("b", "a", sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    mb.add_body("c", "b", sc.Spherical(), sc.Inertia(1.0)).limits = sc.Limits(lower=0.0, upper=1.0)
    mb.add_body("d", "c", sc.Prismatic((1, 0, 0)), sc.Inertia(1.0)).limits = sc.Limits(-0.5, 0.5)
    rb = Robot(mb)
    space = Space(rb, np.array(mb.q), range(mb.nv), np.array(mb.q))
    states = States(space)
    rng = np.random.default_rng(0)
    state = states.made.allocState()
    for q in space.sample(rng, 20):
        assert not space.outside(q)
        states.write(state, q)
        assert space.distance(states.configuration(state), q) < 1e-7


def test_an_error_inside_comes_out_as_it_is(monkeypatch):
    w = chain(limits=True)
    calls = []

    def edge(self, q0, q1, **options):
        calls.append(1)
        if len(calls) > 5:
            raise ConvergenceError("an edge that fails")
        return true(self, q0, q1, **options)

    true = World.edge
    monkeypatch.setattr(World, "edge", edge)
    with pytest.raises(ConvergenceError, match="an edge that fails"):
        plan(w, A, B, planner="RRTstar", most=400)
