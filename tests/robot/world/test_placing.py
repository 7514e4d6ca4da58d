"""Which pairs are checked: by the structure of the robot, by what it holds, by files and by the user."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.robot.world.robots import swing, two_arms

import soacraft as sc
from soacraft.contact import Box, Sphere
from soacraft.errors import ModelError, StaleError
from soacraft.robot import Robot, World


def bodies(world):
    """Pairs of bodies that are checked."""
    return {frozenset(x.partition("/")[0] for x in pair) for pair in world.scene.pairs}


def chain():
    """base (welded to the ground) - a - b, with a tool welded on b and a finger hinged on b."""
    mb = sc.Multibody("chain")
    mb.add_body("base", hinge=sc.Weld(), inertia=sc.Inertia(1.0))
    mb.add_body("a", parent="base", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    mb.add_body("b", parent="a", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    mb.add_body("tool", parent="b", hinge=sc.Weld(), inertia=sc.Inertia(1.0))
    mb.add_body("finger", parent="b", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    for x in mb.bodies:
        x.add_geometry(sc.Geometry("s", "sphere", (0.1,), role="collision"))
    return Robot(mb)


def test_bodies_that_a_hinge_joins_are_not_checked_but_tools_on_them_are():
    """a - tool has one hinge between, and a long tool can hit a; finger - tool and base - a are joined directly."""
    w = World(chain())
    names = ("base b", "base tool", "base finger", "a tool", "a finger")
    assert bodies(w) == {frozenset(x.split()) for x in names}


def test_objects_are_checked_with_the_robot_alone():
    w = World(chain())
    w.add("table", Box(1, 1, 1))
    w.add("cup", Sphere(0.1))
    w.add("stick", Sphere(0.1), on="b")
    pairs = bodies(w)
    assert frozenset(("table", "cup")) not in pairs
    assert frozenset(("base", "table")) not in pairs  # both are fixed
    assert {frozenset(("table", x)) for x in ("a", "b", "tool", "finger", "stick")} <= pairs
    assert frozenset(("stick", "a")) in pairs
    assert not {frozenset(("stick", x)) for x in ("b", "tool", "finger")} & pairs


def test_files_say_which_bodies_may_touch():
    rb = chain()
    rb.mb.add_record(sc.Record("disable_collisions", "", {"link1": "a", "link2": "tool"}))
    rb.mb.add_record(sc.Record("enable_collisions", "", {"link1": "base", "link2": "a"}))
    pairs = bodies(World(rb))
    assert frozenset(("a", "tool")) not in pairs
    assert frozenset(("base", "a")) in pairs


def test_what_a_hand_holds_may_touch_the_hand_and_its_fingers_only():
    rb = two_arms()
    for side in ("left", "right"):
        rb.hand(f"{side} hand", f"{side}2")
    w = World(rb)
    free = bodies(w)
    assert {frozenset(("box", x.name)) for x in rb.mb.bodies if x.name != "box"} == {x for x in free if "box" in x}
    rb.attach("box", "left2/hand")
    hand = {"left2", "left_finger0", "left_finger1", "left_tip0", "left_tip1"}
    held = {x for x in bodies(w) if "box" in x}
    assert held == {frozenset(("box", x.name)) for x in rb.mb.bodies if x.name not in {"box", *hand}}
    rb.grasp("box", ["right2/hand"])
    both = hand | {x.replace("left", "right") for x in hand}
    held = {x for x in bodies(w) if "box" in x}
    assert held == {frozenset(("box", x.name)) for x in rb.mb.bodies if x.name not in {"box", *both}}
    assert frozenset(("left2", "right2")) in bodies(w)
    rb.detach("box")
    assert bodies(w) == free
    rb.grasp("door", ["right2/hand"])
    assert frozenset(("door", "right2")) not in bodies(w)
    assert frozenset(("door", "right1")) in bodies(w)
    rb.ungrasp("door")
    assert bodies(w) == free


def test_a_held_object_is_checked_as_in_a_model_that_was_built_so():
    """The pairs are those of a model in which the box was welded to the hand from the start; so are the distances."""
    rb = two_arms(fingers=False)
    rb.attach("box", "left2/hand")
    built = two_arms(fingers=False)
    built.mb.remove(built.mb["box"])
    at = rb.mb.pose("box", "left2")
    body = built.mb.add_body("box", "left2", sc.Weld(), sc.Inertia(0.5), inboard=at)
    body.add_geometry(sc.Geometry("skin", "box", (0.1, 0.4, 0.1), role="collision"))
    a, b = World(rb), World(built)
    assert a.scene.pairs == b.scene.pairs
    rng = np.random.default_rng(0)
    for _ in range(5):
        q = rng.uniform(-1.0, 1.0, rb.mb.nq)
        x, y = a.distances(q), b.distances(q[[rb.mb.dof_names.index(n) for n in built.mb.dof_names]])
        assert x.pairs == y.pairs
        assert np.allclose(x.distance, y.distance, atol=1e-12)


NAMES = ("box", "door", "left0", "left1", "left2", "right2", "right1/skin", "table", "table/shape")
PLACES = ("left2/hand", "right2/hand")


def do(rb, w, rng):
    """Something at random; what is refused changes nothing."""
    what, a, b = int(rng.integers(9)), *rng.choice(NAMES, 2)
    obj, hand = str(rng.choice(("box", "door"))), str(rng.choice(PLACES))
    try:
        (
            lambda: rb.attach(obj, hand),
            lambda: rb.detach(obj),
            lambda: rb.grasp(obj, list(PLACES)),
            lambda: rb.ungrasp(obj, hand),
            lambda: w.hide(str(a)) if rng.random() < 0.3 else w.show(str(a)),
            lambda: w.pad(str(a), float(rng.uniform(0.0, 0.1)), None if rng.random() < 0.5 else str(b)),
            lambda: w.allow(str(a), str(b)),
            lambda: w.disallow(str(a), str(b)),
            lambda: rb.undo(),
        )[what]()
    except ModelError:
        return 0
    return 1


@given(st.integers(0, 10_000))
@tries(8)
def test_filters_depend_on_what_is_and_not_on_how_it_came_to_be(seed):
    """After random grasps, releases and rules: a world made anew around the same robot, told the same rules in another
    order, checks the same pairs with the same paddings. After all is let go and unsaid, all is as at first."""
    rng = np.random.default_rng(seed)
    rb = two_arms()
    w = World(rb)
    w.add("table", Box(0.4, 0.4, 0.1), sc.Pose(translation=(0.5, 0.0, 0.2)))
    first = w.scene.pairs
    done = 0
    for _ in range(30):
        done += do(rb, w, rng)
        w.scene  # noqa: B018  a scene in between must leave nothing behind
    assert done > 5
    other = World(rb)
    other.add("table", Box(0.4, 0.4, 0.1), sc.Pose(translation=(0.5, 0.0, 0.2)))
    for who, value in sorted(w.paddings.items(), reverse=True):
        other.pad(who[0], value, *who[1:])
    for a, b in sorted(w.allowed, reverse=True):
        other.allow(b, a)
    for name in sorted(w.hidden, reverse=True):
        other.hide(name)
    assert w.scene.pairs == other.scene.pairs
    x, y = w.distances(rb.mb.q), other.distances(rb.mb.q)
    assert x.pairs == y.pairs
    assert (x.distance == y.distance).all()
    for obj in list(rb.held):
        rb.detach(obj)
    for pair in w.allowed:
        w.disallow(*pair)
    for name in w.hidden:
        w.show(name)
    assert w.scene.pairs == first


def test_a_scene_that_was_kept_is_stale_after_an_edit():
    rb = swing()
    kept = World(rb).scene
    rb.mb.add_body("more", parent="link", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    with pytest.raises(StaleError, match="the model 'swing' has changed since; ask the world for its scene again"):
        kept.distances([0.0, 0.0])
    with pytest.raises(ModelError, match="there is no body, shape or object 'lnk'; did you mean 'link'"):
        World(rb).scene.cast_rays([0.0, 0.0], (0, 0, 0), (1, 0, 0), skip=["lnk"])


def told(scene, q):
    """All that a scene says: shapes where they are, pairs, distances."""
    placed = [(x.name, x.carrier, x.body, x.geometry) for x in scene.placed]
    _, body, local, moving = scene.compiled
    rows = scene.distances(q, 0.5)
    return placed, scene.meanings, scene.pairs, body.tolist(), local.tolist(), moving, rows.distance.tolist()


def test_what_is_kept_of_shapes_is_never_of_an_older_model():
    """What does not depend on how bodies hang together is kept when something is taken, and made anew after each other
    change: the scene is that of a world that kept nothing."""
    rb = chain()
    mb = rb.mb
    mb.add_body("cup", hinge=sc.Free(), inertia=sc.Inertia(1.0)).add_geometry(sc.Geometry("s", "sphere", (0.1,)))
    mb.add_body("late", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0)).add_geometry(sc.Geometry("s", "sphere", (1,)))
    w = World(rb)
    w.add("table", Box(1, 1, 1), sc.Pose(translation=(0.0, 0.0, 0.8)))
    w.add("stick", Sphere(0.1), on="b")
    kept = w._roll_of(mb)
    rb.attach("cup", "tool")
    assert w._roll_of(mb) is kept
    rb.undo()
    assert w._roll_of(mb) is kept

    def another_tool():
        mb.remove("tool")
        mb.add_body("tool", parent="b", hinge=sc.Weld(), inertia=sc.Inertia(1.0))
        mb["tool"].add_geometry(sc.Geometry("s", "sphere", (0.2,), role="collision"))

    changes = (
        lambda: rb.attach("cup", "tool"),
        lambda: rb.detach("cup"),
        lambda: mb["a"].add_geometry(sc.Geometry("more", "box", (0.1, 0.1, 0.1), sc.Pose(translation=(0, 1, 0)))),
        lambda: mb["a"].remove_geometry("more"),
        lambda: mb.add_record(sc.Record("disable_collisions", "", {"link1": "a", "link2": "tool"})),
        lambda: mb.reattach("finger", "a", sc.Pin((0, 0, 1))),
        lambda: mb.add_record(sc.Record("disable_default_collisions", "", {"link": "finger"})),
        another_tool,
        lambda: w.hide("b"),
        lambda: w.show("b"),
        lambda: w.pad("tool", 0.05),
        lambda: w.allow("base", "b"),
        lambda: w.detail("table", "spheres", count=4),
        lambda: w.move("table", sc.Pose(translation=(0.0, 0.0, 0.5))),
        lambda: w.give_to_robot("table", sc.Inertia(1.0, moment=np.eye(3))),
        lambda: w.remove("stick"),
    )
    for number, change in enumerate(changes):
        before = told(w.scene, mb.q)
        change()
        now = told(w.scene, mb.q)
        assert now != before, number
        w._roll = w._made = None
        for memory in (w._plain, w._covers, w._standing, w._makers):
            memory.clear()
        assert told(w.scene, mb.q) == now, number
