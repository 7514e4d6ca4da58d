"""Grasps and releases in random order: they end in the model's first state bit by bit, and momentum balances."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import ModelError
from soacraft.files.native import same
from soacraft.robot import Robot, World

HANDS = ["left1/hand", "right1/hand", "right1"]


def _inertia(rng, mass):
    d = rng.uniform(0.05, 0.1, 3)
    return sc.Inertia(mass, rng.uniform(-0.1, 0.1, 3), np.diag(d))


def world(fixed=True):
    """A robot with a free base and two arms by hinges of several dofs; a box, shears, and with `fixed` a door with a
    damper and limits and a drawer. Objects come before, between and after the robot's own bodies."""
    rng = np.random.default_rng(7)
    mb = sc.Multibody("shop", gravity=(0, 0, 0))
    mb.add_body("box", hinge=sc.Free(), inertia=_inertia(rng, 2.0), inboard=sc.Pose(translation=(0, 0, 1.0)))
    mb.add_body("hull", hinge=sc.Free(), inertia=_inertia(rng, 5.0))
    if fixed:
        door = mb.add_body("door", hinge=sc.Pin((0, 0, 1)), inertia=_inertia(rng, 3.0))
        door.passive, door.limits = sc.Passive(damping=0.3), sc.Limits(-1.0, 2.0)
        door.add_node("knob", sc.Pose(translation=(0.5, 0, 0)))
    for side, y in (("left", 0.3), ("right", -0.3)):
        at = sc.Pose(translation=(0, y, 0))
        for i, hinge in enumerate((sc.Spherical(), sc.Universal((0, 1, 0), (0, 0, 1)))):
            mb.add_body(f"{side}{i}", "hull" if i == 0 else f"{side}0", hinge, _inertia(rng, 1.0), inboard=at)
            at = sc.Pose(translation=(0.4, 0, 0))
        mb[f"{side}1"].add_node("hand", sc.Pose.from_rpy(0.1, 0.2, 0.3, (0.4, 0, 0)))
    mb.add_body("shears", hinge=sc.Free(), inertia=_inertia(rng, 0.5), outboard=sc.Pose(translation=(0.1, 0, 0)))
    mb.add_body("blade", "shears", sc.Pin((0, 0, 1)), _inertia(rng, 0.3))
    if fixed:
        mb.add_body("drawer", hinge=sc.Prismatic((1, 0, 0)), inertia=_inertia(rng, 1.5))
        mb.close_loop("rail", "drawer", "inertial", sc.Prismatic((1, 0, 0)), active=False)
    mb.set_state(q=mb.random_state(rng)[0])
    mb.add_keyframe(sc.Keyframe("first", np.array(mb.q), np.array(mb.v)))
    return Robot(mb)


def act(rb, rng, place=True):
    """Something that can be done now, at random; its name."""
    objects = [x for x in ("box", "shears", "blade", "door", "drawer") if x in rb.mb]
    obj = str(rng.choice(objects))
    held = rb.held.get(obj, ())
    left = [x for x in HANDS if x not in held]
    choice = int(rng.integers(0, 6))
    hinge = [None, sc.Weld(), sc.Pin((0, 0, 1)), sc.Spherical(), sc.Universal((1, 0, 0), (0, 1, 0))][rng.integers(0, 5)]
    if choice == 0 and left:
        rb.attach(obj, str(rng.choice(left)))
        return "attach"
    if choice == 1 and left:
        rb.grasp(obj, [str(x) for x in rng.permutation(left)[: rng.integers(1, len(left) + 1)]], hinge)
        return "grasp"
    if choice == 2 and held:
        rb.detach(obj)
        return "detach"
    if choice == 3 and held:
        rb.ungrasp(obj, [str(x) for x in rng.permutation(held)[: rng.integers(1, len(held) + 1)]])
        return "ungrasp"
    if choice == 4 and place and len(held) == 1 and isinstance(rb.mb[obj].hinge, sc.Weld):
        to = sc.Pose.from_rpy(*rng.uniform(-1, 1, 3), rng.uniform(-0.1, 0.1, 3))
        if obj == "shears" and "blade" in rb.held:  # a hand holds the blade: it would be torn off
            with pytest.raises(ModelError, match=r"'shears' cannot be put elsewhere: .* come apart; open it first"):
                rb.update_attachment(obj, to)
            return ""
        rb.update_attachment(obj, to)
        return "place"
    if choice == 5 and rb._holds._done:
        return rb.undo().split()[0]
    if choice == 5:
        with pytest.raises(ModelError, match="nothing to undo"):
            rb.undo()
    return ""


def test_a_thousand_grasps_and_releases_at_rest_end_in_the_first_state_bit_by_bit():
    rb, rng = world(), np.random.default_rng(0)
    first, names, done = rb.mb.copy(), rb.mb.dof_names, []
    while len(done) < 1000:
        what = act(rb, rng, place=False)
        done += [what] if what else []
    for obj in rb.held:
        rb.detach(obj)
    assert {"attach", "grasp", "detach", "ungrasp", "take", "give"} == set(done)
    assert same(rb.mb, first) == []
    assert rb.mb.dof_names == names


def _undone(count):
    rb, rng = world(), np.random.default_rng(1)
    rb.mb.set_state(v=rng.normal(size=rb.mb.nv), vdot=rng.normal(size=rb.mb.nv))
    first, seen = rb.mb.copy(), []
    for _ in range(count):
        seen.append(act(rb, rng))
        if rb.held:  # the robot moves on
            rb.mb.set_state(*rb.mb.random_state(rng))
    while rb._holds._done:
        rb.undo()
    assert same(rb.mb, first) == []
    assert rb.held == {}
    return seen


def test_all_undone_ends_in_the_first_state_bit_by_bit_while_it_moves():
    assert {"attach", "grasp", "detach", "ungrasp", "place", "take", "give", ""} == set(_undone(120))


@pytest.mark.slow
def test_all_undone_ends_in_the_first_state_of_a_long_history():
    _undone(3000)


def _momentum(mb):
    return dyn.momentum(mb, mb.q, mb.v, ignore_loops=True)


def _own(mb, body):
    """Momentum of one body about its own origin, in inertial axes."""
    b, R = mb[body], mb.pose(body).rotation
    h = b.inertia.matrix() @ (np.kron(np.eye(2), R.T) @ np.asarray(mb.velocity(body)))
    return np.kron(np.eye(2), R) @ h


def test_momentum_balances_in_every_impact_of_moving_robots():
    """Whatever floats free keeps its momentum; what the first hand gives the box is the change of its momentum."""
    rng, many = np.random.default_rng(3), {"hung": 0, "loop": 0}
    for _ in range(80):
        rb = world(fixed=False)
        mb = rb.mb
        mb.set_state(*mb.random_state(rng))
        hands = [str(x) for x in rng.permutation(HANDS)[: rng.integers(1, 4)]]
        hinge = [None, None, sc.Pin((0, 0, 1)), sc.Spherical(), sc.Cylindrical((1, 0, 0))][rng.integers(0, 5)]
        obj = str(rng.choice(["box", "box", "shears", "blade"]))
        before, energy, own = _momentum(mb), dyn.kinetic_energy(mb, mb.q, mb.v), _own(mb, obj)
        joined = rb.grasp(obj, hands, hinge)
        after = dyn.kinetic_energy(mb, mb.q, mb.v, ignore_loops=True)
        assert np.allclose(_momentum(mb), before, atol=1e-9 * np.abs(before).max())
        assert all(x.energy_lost >= 0.0 for x in joined)
        assert np.isclose(sum(x.energy_lost for x in joined), energy - after, rtol=1e-9)
        if len(hands) == 1 and obj == "box":
            assert np.allclose(joined[0].impulse, _own(mb, obj) - own, atol=1e-9 * np.abs(own).max())
            many[joined[0].how] += 1
        rb.detach(obj)
        assert np.allclose(_momentum(mb), before, atol=1e-9 * np.abs(before).max())
        assert np.isclose(dyn.kinetic_energy(mb, mb.q, mb.v), after, rtol=1e-9)
    assert min(many.values()) > 1


def test_hands_that_grasp_at_once_or_one_after_the_other_end_alike():
    """Plastic impacts are projections in the metric of the mass matrix: the last of nested ones is that of all."""
    rng = np.random.default_rng(5)
    for _ in range(10):
        one = world(fixed=False)
        one.mb.set_state(*one.mb.random_state(rng))
        two = one.copy()
        rows = sc.contact.plastic_impact(one.mb, ("left1/hand", "box"), ("right1/hand", "box"))
        joined = two.grasp("box", ["left1/hand", "right1/hand"])
        expected = dict(zip(one.mb.dof_names, rows.v, strict=True))
        size = np.abs(rows.v).max()
        assert np.allclose([expected[x] for x in two.mb.dof_names], two.mb.v, atol=1e-9 * size)
        assert np.isclose(sum(x.energy_lost for x in joined), rows.energy_lost, rtol=1e-9)


def test_filters_are_those_of_a_model_built_so_from_the_start():
    """One world all along, with a padding and a pair that may touch, next to one around a robot made so."""
    rb, rng = world(), np.random.default_rng(9)
    for body in rb.mb.bodies:
        body.add_geometry(sc.Geometry("skin", "sphere", (0.05,)))
    kept = _around(rb)
    seen = set()
    for _ in range(40):
        act(rb, rng)
        built = _around(rb.copy())
        q = np.array(rb.mb.q)
        assert kept.scene.pairs == built.scene.pairs
        a, b = kept.distances(q), built.distances(q)
        assert a.pairs == b.pairs
        assert (a.distance == b.distance).all()
        seen.add(len(kept.scene.pairs))
    assert len(seen) > 2


def _around(rb):
    w = World(rb)
    w.add("table", sc.contact.Box(1.0, 1.0, 0.1), sc.Pose(translation=(0, 0, -2)))
    w.pad("box", 0.01)
    w.allow("left1", "door", why="a test")
    return w
