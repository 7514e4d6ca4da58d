"""Pairs that always or never touch: closed-form shares, the same answer for the same seed, and what is then allowed."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.world.robots import two_arms

import soacraft as sc
from soacraft.contact import Sphere
from soacraft.errors import ModelError
from soacraft.robot import Robot, World


def balls():
    """Balls on a chain of hinges about one axis: one pair touches always, one never, one depends on the angle."""
    mb, last = sc.Multibody("balls"), None
    for name in "abcd":
        mb.add_body(name, parent=last, hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
        last = name
    for name, x, r in (("a", 0.0, 0.2), ("c", 0.1, 0.2), ("d", 1.0, 0.85)):
        mb[name].add_geometry(sc.Geometry("ball", "sphere", (r,), sc.Pose(translation=(x, 0, 0))))
    return Robot(mb)


def test_pairs_that_always_touch_are_allowed():
    w = World(balls())
    got = w.make_allowed(samples=2000, seed=1)
    kinds = {(x.a, x.b): x.kind for x in got.rows}
    assert kinds == {("a", "c"): "always", ("a", "d"): "always", ("c", "d"): "adjacent"}
    assert w.allowed == {("a", "c"): "always", ("a", "d"): "always"}
    assert not w.collides(np.zeros(4))
    assert "2 always" in repr(got)
    again = w.make_allowed(samples=2000, seed=1)  # what was allowed does not hide what touches
    assert again.rows == got.rows


def test_how_often_a_pair_touches_is_the_share_of_its_angles():
    """Balls of radius r at distance 1 from one axis touch while the angle between them is below 2 asin(r): of an even
    angle between -pi and pi that is a share of 2 asin(r) / pi."""
    mb = sc.Multibody("fans")
    mb.add_body("a", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    mb.add_body("b", parent="a", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    mb.add_body("c", parent="b", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    for name in "ac":
        mb[name].add_geometry(sc.Geometry("ball", "sphere", (0.4,), sc.Pose(translation=(1, 0, 0))))
    mb["b"].add_geometry(sc.Geometry("far", "sphere", (0.1,), sc.Pose(translation=(0, 0, 5))))
    mb["b"].limits = sc.Limits(lower=[0.0], upper=[0.0])
    w = World(Robot(mb))
    w.add("block", Sphere(9.0))  # objects and paddings do not count
    w.pad("a", 0.5)
    got = w.make_allowed(samples=20_000, seed=0)
    row = next(x for x in got.rows if (x.a, x.b) == ("a", "c"))
    share = 2 * np.arcsin(0.4) / np.pi
    assert row.kind == "default"  # they touch at zero, where the robot is now
    assert abs(row.touched / 20_000 - share) < 4 * np.sqrt(share * (1 - share) / 20_000)
    assert got.of("adjacent") == [("a", "b"), ("b", "c")]
    mb.set_state(q=[0.0, 0.0, 2.0])
    assert w.make_allowed(samples=2000).of("sometimes") == [("a", "c")]


def test_what_never_touched_is_told_and_allowed_if_wished():
    w = World(two_arms())
    told = w.make_allowed(samples=3000, seed=5)
    same = World(two_arms()).make_allowed(samples=3000, seed=5)
    assert told.rows == same.rows
    other = World(two_arms()).make_allowed(samples=3000, seed=6)
    assert [x.touched for x in other.rows] != [x.touched for x in told.rows]
    never = told.of("never")
    assert never
    assert not set(never) & set(w.allowed)
    w.make_allowed(samples=3000, seed=5, never=True)
    assert set(never) <= set(w.allowed)
    assert set(w.allowed.values()) <= {"always", "default", "never"}
    rng = np.random.default_rng(5)
    q = np.concatenate([World(two_arms()).sample(rng, 2048), World(two_arms()).sample(rng, 952)])
    strict, loose = World(two_arms()), w
    for pair, why in w.allowed.items():
        if why != "never":
            strict.allow(*pair)
    assert (strict.collides(q) == loose.collides(q)).all()  # on these draws nothing is lost


def test_pairs_that_files_disable_are_told_as_such():
    rb = balls()
    rb.mb.add_record(sc.Record("disable_collisions", "", {"link1": "a", "link2": "c"}))
    got = World(rb).make_allowed(samples=100)
    assert got.of("disabled") == [("a", "c")]
    assert next(x for x in got.rows if x.kind == "disabled").touched == 100


def test_objects_given_to_the_robot_do_not_count():
    rb = two_arms()
    w = World(rb)
    w.add("cup", Sphere(0.05))
    w.give_to_robot("cup", sc.Inertia(0.1))
    got = w.make_allowed(samples=50)
    assert not any("cup" in (x.a, x.b) for x in got.rows)


def test_a_bar_is_shown_where_it_is_wanted(capsys):
    World(balls()).make_allowed(samples=10, progress=True)
    assert capsys.readouterr().err == ""  # less than a second, and no terminal


def test_what_is_refused():
    w = World(balls())
    with pytest.raises(ModelError, match="samples must be a whole number from 1 to 1000000000, got 0"):
        w.make_allowed(samples=0)
    with pytest.raises(ModelError, match="seed must be a whole number of at least 0, got -1"):
        w.make_allowed(samples=1, seed=-1)
    assert w.allowed == {}
