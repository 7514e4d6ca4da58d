"""Planners of OMPL in our space: free paths by all of them, states there and back, errors through them."""

from itertools import pairwise

import numpy as np
import pytest

import soacraft as sc
from soacraft.contact import Box, Sphere
from soacraft.errors import ConvergenceError, StateError
from soacraft.robot import Robot, World, plan
from soacraft.robot.planning.of_ompl import FIRST, IMPROVING


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


def budget(name):
    """Motions: plenty where the first path ends a search, for which one seed in ten takes 300; else all are used."""
    return 400 if name in IMPROVING or name == "PRM" else 5000


@pytest.mark.parametrize("name", [*FIRST, "PRM", *IMPROVING])
def test_every_planner_gives_a_free_path_and_the_same_again(name):
    w = chain(limits=True)
    p = plan(w, A, B, planner=name, most=budget(name), seed=2)
    assert p, p.why
    assert (p.path[0] == A).all()
    assert np.abs(p.path[-1] - B).max() < 1e-12
    assert all(w.edge(a, b) for a, b in pairwise(p.path))
    again = plan(w, A, B, planner=name, most=budget(name), seed=2)
    assert (again.path == p.path).all()


@pytest.mark.parametrize("name", ["RRT", "KPIECE1", "PRM", "RRTstar"])
def test_angles_without_limits(name):
    w = chain(limits=False)
    p = plan(w, A, B, planner=name, most=budget(name))
    assert p, p.why
    assert all(w.edge(a, b) for a, b in pairwise(p.path))
    with pytest.raises(StateError, match=r"planner='BITstar' is for coordinates with limits, and here are angles"):
        plan(w, A, B, planner="BITstar")


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


@pytest.mark.parametrize("name", [*FIRST, "PRM", "RRTstar"])
def test_a_path_begins_where_the_robot_is_whole_turns_and_all(name):
    w = chain(limits=False)
    start, goal = np.array([7.0, 0.0, -13.0]), np.array([8.2, 0.2, -12.9])
    p = plan(w, start, goal, planner=name, most=budget(name), seed=2)
    assert p, p.why
    assert (p.path[0] == start).all()
    turns = (p.path[-1] - goal) / (2 * np.pi)
    assert np.abs(turns - turns.round()).max() < 1e-12
    assert np.abs(np.diff(p.path, axis=0)).max() <= np.pi


@pytest.mark.parametrize("name", [*FIRST, "PRM", *IMPROVING])
def test_a_dof_without_room_stays_at_its_limit(name):
    """Lengths of slides are scaled for OMPL and back, which no rounding may bring beyond the limits."""
    w = chain(limits=True)
    w.robot.mb["l2"].limits = sc.Limits(0.3, 0.3)
    slide = w.robot.mb.add_body("s", "l2", sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
    slide.limits = sc.Limits(0.7, 0.7)
    p = plan(w, [0.0, 0.0, 0.3, 0.7], [1.2, 0.2, 0.3, 0.7], planner=name, most=budget(name), seed=2)
    assert p, p.why
    assert (p.path[:, 2:] == [0.3, 0.7]).all()


@pytest.mark.parametrize("name", [*FIRST, "PRM", *IMPROVING])
def test_a_robot_at_its_goal_is_there(name):
    p = plan(chain(limits=True), A, A, planner=name, most=50)
    assert p
    assert p.path.tolist() == [A, A]


def test_a_planner_that_gives_up_is_told(monkeypatch):
    monkeypatch.setattr("soacraft.robot.planning.planners.ompl_search", lambda *_: (None, 1))
    p = plan(chain(limits=True), A, B, planner="RRT")
    assert not p
    assert p.why == "the planner gave up before its budget ended; give another seed, or planner='RRTConnect'"


def test_what_goes_wrong_in_ompl_is_told(monkeypatch):
    def wrong(*_):
        raise RuntimeError("The sampler is lost.")

    monkeypatch.setattr("soacraft.robot.planning.of_ompl._solved", wrong)
    with pytest.raises(ConvergenceError, match=r"planner='RRT' of OMPL ended with: The sampler is lost. Take 'RRTConn"):
        plan(chain(limits=True), A, B, planner="RRT")


@pytest.mark.parametrize("name", [*FIRST, "PRM", *IMPROVING])
def test_a_search_ends_where_next_to_nothing_is_free(name):
    """A ball in one of two pockets that are hardly larger than it: configurations that are drawn are never free."""
    mb = sc.Multibody("slides")
    mb.add_body("x", hinge=sc.Prismatic((1, 0, 0)), inertia=sc.Inertia(1.0)).limits = sc.Limits(-1.0, 1.0)
    body = mb.add_body("y", "x", sc.Prismatic((0, 1, 0)), sc.Inertia(1.0))
    body.limits = sc.Limits(-1.0, 1.0)
    body.add_geometry(sc.Geometry("ball", "sphere", (0.05,), role="collision"))
    w, wide = World(Robot(mb)), 0.0501
    for k, (low, high) in enumerate(((-2.0, -0.5 - wide), (-0.5 + wide, 0.5 - wide), (0.5 + wide, 2.0))):
        w.add(f"x{k}", Box(high - low, 4.0, 1.0), sc.Pose(translation=(0.5 * (low + high), 0.0, 0.0)))
    for side in (1.0, -1.0):
        w.add(f"y{side:g}".replace("-", "_"), Box(4.0, 4.0, 1.0), sc.Pose(translation=(0.0, side * (2.0 + wide), 0.0)))
    p = plan(w, [-0.5, 0.0], [0.5, 0.0], planner=name, most=20)
    assert not p
    assert "give most=..." in p.why
