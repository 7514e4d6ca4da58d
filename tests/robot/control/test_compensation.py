"""Gravity, friction and feed-forward: what they add up to with payloads, springs, loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.robot.control.cases import PANDA, arms, closed, drawn, near

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft import robot as rob
from soacraft.errors import LoopError, StateError
from soacraft.model.samples.random_models import random_inertia

SEEDS = st.integers(0, 10_000)


def with_payload(rb, frames, inertias):
    """The same robot with welded bodies for the payloads."""
    mb = rb.mb.copy()
    for i, (frame, inertia) in enumerate(zip(frames, inertias, strict=True)):
        at = mb.frame(frame)
        mb.add_body(f"payload{i}", at.carrier, sc.Weld(), inertia, at.offset)
    return mb


@given(SEEDS)
@tries(25)
def test_feed_forward_gives_the_acceleration(seed):
    rb, q, v, vdot = drawn(seed)
    near(dyn.forward_dynamics(rb.mb, q, v, rob.feed_forward(rb, q, v, vdot, actuated=rb.mb.dof_names)), vdot, 1e-8)


@given(SEEDS)
@tries(25)
def test_a_payload_counts_as_a_body_welded_there(seed):
    rb, q, v, vdot = drawn(seed)
    rng = np.random.default_rng(seed)
    frames = ["body1", rb.mb.bodies[-1].name]
    load = {x: random_inertia(rng) for x in frames}
    mb = with_payload(rb, frames, load.values())
    every = rb.mb.dof_names
    near(rob.feed_forward(rb, q, v, vdot, payload=load, actuated=every), dyn.inverse_dynamics(mb, q, v, vdot))
    near(rob.gravity(rb, q, payload=load, actuated=every), dyn.gravity_force(mb, q))


def test_payloads_of_a_batch():
    rb = rob.Robot(sc.load("panda"))
    rng = np.random.default_rng(1)
    load = {"link7": random_inertia(rng)}
    q, v, a = PANDA + 0.2 * rng.standard_normal((3, 4, 7)), rng.standard_normal((4, 7)), rng.standard_normal(7)
    T = rob.feed_forward(rb, q, v, a, payload=load)
    assert T.shape == (3, 4, 7)
    near(T[1, 2], rob.feed_forward(rb, q[1, 2], v[2], a, payload=load), 1e-12)
    assert rob.gravity(rb, q, payload=load).shape == (3, 4, 7)


def test_what_is_held_counts_by_itself():
    mb = sc.load("panda")
    mb.add_body("load", hinge=sc.Free(), inertia=sc.Inertia(3.0, moment=0.01 * np.eye(3)))
    rb = rob.Robot(mb)
    mb.set_state(q=[*PANDA, 0, 0, 0, 1, 0.5, 0.0, 0.6])
    alone = rob.gravity(rb, mb.q)[:7]
    rb.attach("load", "link7")
    held = rob.gravity(rb, mb.q)
    weight = dyn.jacobian(mb, mb.q, "load").T @ np.concatenate([np.zeros(3), -3.0 * np.asarray(mb.gravity)])
    near(held - alone, weight, 1e-10)
    near(dyn.forward_dynamics(mb, mb.q, np.zeros(7), held), np.zeros(7))
    near(rob.feed_forward(rb, mb.q, np.zeros(7), np.zeros(7)), held)


def test_friction_is_that_of_the_model_and_given_numbers_come_before_it():
    rb = rob.Robot(sc.load("anymal_b"))                            # its file has damping 1 and friction 0.1 in legs
    v = np.linspace(-3.0, 3.0, 18)
    own = np.array([0.0] * 6 + [1.0] * 12)
    near(rob.friction(rb, v), own * v + 0.1 * own * np.sign(v), 1e-6)
    near(rob.friction(rb, v, viscous=2.0, coulomb=0.0), 2.0 * own * v)                # none at the base: no motor
    near(rob.friction(rb, v, viscous=2.0, coulomb=0.0, actuated=rb.mb.dof_names), 2.0 * v)
    near(rob.friction(rb, v, viscous=0.0), 0.1 * own * np.sign(v), 1e-6)
    assert rob.friction(rb, np.stack([v, v])).shape == (2, 18)


def test_friction_has_its_parts():
    rb = rob.Robot(sc.load("panda"))
    v = np.array([3.0, -3.0, 0.0, 1.0, -1.0, 2.0, 0.5])
    T = rob.friction(rb, v, viscous=0.5, coulomb=2.0, stribeck=1.0, speed=0.1)
    near(T, 0.5 * v + 2.0 * np.sign(v), 1e-8)
    slow = rob.friction(rb, np.full(7, 0.05), viscous=0.0, coulomb=2.0, stribeck=1.0, speed=0.1)
    near(slow, np.full(7, (2.0 + np.exp(-0.25)) * np.tanh(5.0)), 1e-12)


def test_static_friction_and_its_speed_are_those_of_the_model(tmp_path):
    """From a file, over to another robot by its changes; `coulomb` that is told leaves the model's static one out."""
    mb = sc.load("double_pendulum")
    mb["upper"].passive = sc.Passive(friction=2.0, static=3.0, stribeck_speed=0.1)
    sc.save(mb, tmp_path / "model.json")
    rb, other = rob.Robot(sc.load(tmp_path / "model.json")), rob.Robot(mb.copy())
    wanted = np.array([(2.0 + np.exp(-0.25)) * np.tanh(5.0), 0.0])
    near(rob.friction(rb, [0.05, 0.05]), wanted, 1e-12)
    near(rob.friction(rb, [0.05, 0.05], coulomb=(2.0, 0.0)), [2.0 * np.tanh(5.0), 0.0], 1e-12)
    since = rb.version
    assert since == other.version
    rb.mb["upper"].passive = sc.Passive(friction=2.0, static=4.0, stribeck_speed=0.1)
    other.apply(rb.changes(since).to_bytes())
    near(rob.friction(other, [0.05, 0.05]), [(2.0 + 2.0 * np.exp(-0.25)) * np.tanh(5.0), 0.0], 1e-12)
    q, v = np.array([0.1, 0.2]), np.array([0.05, 0.05])
    more = rob.feed_forward(rb, q, v, v, friction=True) - rob.feed_forward(rb, q, v, v)
    near(more, rob.friction(rb, v, viscous=0.0), 1e-9)


def test_friction_at_rest_does_not_depend_on_units():
    """A slide that is a thousand times longer, in other units, goes over into rest at a thousand times the speed."""
    found = []
    for scale in (1.0, 1e3):
        mb = sc.Multibody("slide", gravity=(0, 0, -9.81 * scale))
        at = sc.Pose(translation=(scale, 0, 0))
        mb.add_body("base", None, sc.Pin((0, 0, 1)), sc.Inertia.point(1.0, (scale, 0, 0)))
        mb.add_body("cart", "base", sc.Prismatic((1, 0, 0)), sc.Inertia(1.0), at)
        mb["cart"].passive = sc.Passive(friction=2.0)
        found.append(rob.friction(rob.Robot(mb), [0.0, 1e-3 * scale])[1])
    assert 0.0 < found[0] < 2.0
    assert abs(found[0] - found[1]) < 1e-12


def test_feed_forward_with_friction_adds_what_dampers_are_not():
    rb = rob.Robot(sc.load("anymal_b"))
    q, v = rb.mb.random_state(1)[0], np.linspace(-3.0, 3.0, 18)
    more = rob.feed_forward(rb, q, v, v, friction=True) - rob.feed_forward(rb, q, v, v)
    near(more, rob.friction(rb, v, viscous=0.0), 1e-9)


# -- some motors ------------------------------------------------------------------------------------------------------


@given(SEEDS)
@tries(15)
def test_dofs_without_a_motor_need_no_force(seed):
    rb, q, v, vdot = drawn(seed, n=4)
    mask = np.random.default_rng(seed).uniform(size=rb.mb.nv) < 0.5
    T = rob.feed_forward(rb, q, v, vdot, actuated=mask)
    assert not T[~mask].any()
    near(dyn.forward_dynamics(rb.mb, q, v, T)[mask], vdot[mask], 1e-7)


@given(SEEDS)
@tries(10)
def test_a_payload_moves_dofs_without_a_motor_as_a_body_welded_there(seed):
    rb, q, v, vdot = drawn(seed, n=4)
    rng = np.random.default_rng(seed)
    mask = rng.uniform(size=rb.mb.nv) < 0.5
    mask[0] = True
    load = {rb.mb.bodies[-1].name: random_inertia(rng)}
    mb = with_payload(rb, load, load.values())
    T = rob.feed_forward(rb, q, v, vdot, payload=load, actuated=mask)
    assert not T[~mask].any()
    moved = dyn.forward_dynamics(mb, q, v, T)
    near(moved[mask], vdot[mask], 1e-7 * max(1.0, float(np.abs(moved).max())))
    many = rob.feed_forward(rb, np.stack([q, q]), v, vdot, payload=load, actuated=mask)
    near(many[1], T, 1e-12)


def test_motors_of_the_model_are_those_of_its_actuators():
    rb = rob.Robot(sc.load("anymal_b"))
    q = rb.mb.random_state(1)[0]
    a = np.linspace(-1, 1, 18)
    T = rob.feed_forward(rb, q, np.zeros(18), a, actuated="model")
    assert not T[:6].any()
    near(dyn.forward_dynamics(rb.mb, q, np.zeros(18), T)[6:], a[6:], 1e-8)


# -- closed chains ----------------------------------------------------------------------------------------------------


def test_gravity_of_a_closed_chain_holds_it_with_the_least_force():
    rb, s, q, _ = closed()
    nv = rb.mb.nv
    rest = s.project_velocity(q, np.zeros(nv))
    T = rob.gravity(rb, q, actuated=rb.mb.dof_names)
    near(s.forward_dynamics(q, rest, T).vdot, np.zeros(nv), 1e-8)
    # the least of all: across what closures take away
    G = s.constraint_matrix(q)
    assert np.abs(G @ T).max() < 1e-8 * np.abs(T).max()            # all of its dofs turn: sizes are one
    one = rob.gravity(rb, q, actuated=s.independent(q))
    near(s.forward_dynamics(q, rest, one).vdot, np.zeros(nv), 1e-8)
    assert np.linalg.norm(T) < np.linalg.norm(one)


@pytest.mark.parametrize("seed", range(5))
def test_feed_forward_of_a_closed_chain_gives_the_acceleration(seed):
    rb, s, q, v = closed(seed)
    a = np.random.default_rng(seed).standard_normal(len(s.independent(q)))
    named, every = dict(zip(s.independent(q), a, strict=True)), rb.mb.dof_names
    T = rob.feed_forward(rb, q, v, named, actuated=every)
    with pytest.raises(sc.errors.StateError, match="is bare numbers of independent dofs, which were not named"):
        rob.feed_forward(rb, q, v, a, actuated=every)
    vdot = s.forward_dynamics(q, v, T).vdot
    places = [rb.mb.dof_names.index(x) for x in s.independent(q)]
    near(vdot[places], a, 1e-8)
    near(rob.feed_forward(rb, q, v, vdot, actuated=every), T, 1e-8)                # of all dofs, too
    one = s.inverse_dynamics(q, v, named)
    near(s.velocity_map(q).T @ T, s.velocity_map(q).T @ one, 1e-8)


def test_a_payload_on_a_closed_chain():
    rb, s, q, v = closed(2)
    a = dict(zip(s.independent(q), (1.0, -2.0, 0.5), strict=False))
    load = {rb.mb.bodies[-1].name: sc.Inertia(2.0, (0.1, 0.2, 0.0), 0.1 * np.eye(3))}
    mb = with_payload(rb, load, load.values())
    heavy = sc.loops.TreeAugmented(mb)
    every = rb.mb.dof_names
    T = rob.feed_forward(rb, q, v, a, payload=load, actuated=every)
    X = s.velocity_map(q)
    near(X.T @ T, heavy.velocity_map(q).T @ heavy.inverse_dynamics(q, v, s.forward_dynamics(
        q, v, rob.feed_forward(rb, q, v, a, actuated=every)).vdot), 1e-7)  # fmt: skip


def test_a_grasp_with_two_hands_goes_on_as_a_closed_chain():
    rb, _ = arms(how="hung")
    mb = rb.mb
    assert mb.is_closed
    q = np.array(mb.q)
    T = rob.gravity(rb, q)
    s = sc.loops.TreeAugmented(mb)
    near(s.forward_dynamics(q, np.zeros(mb.nv), T).vdot, np.zeros(mb.nv), 1e-7)


def test_too_few_motors_of_a_closed_chain_move_what_they_can():
    """As in a tree: dofs with a motor accelerate as they should, and the rest goes as forward dynamics says."""
    rb, s, q, v = closed()
    mb, one = rb.mb, s.independent(q)[:1]
    i = mb.dof_names.index(one[0])
    vdot = np.zeros(mb.nv)
    vdot[i] = 1.5
    T = rob.feed_forward(rb, q, v, vdot, actuated=one)
    assert T[i]
    assert np.count_nonzero(T) == 1
    near(s.forward_dynamics(q, v, T).vdot[i], 1.5, 1e-8)
    near(rob.feed_forward(rb, q, v, {one[0]: 1.5}, actuated=one), T, 1e-12)
    with pytest.raises(StateError, match="is bare numbers of independent dofs, which were not named"):
        rob.feed_forward(rb, q, v, [1.5], actuated=one)
    with pytest.raises(LoopError, match=f"dofs that do not set the others: '{one[0]}' do, the rest gives way"):
        rob.feed_forward(rb, q, v, dict.fromkeys(s.independent(q), 1.5), actuated=one)
    T = rob.computed_torque(rb, q, v, (q, np.zeros(mb.nv), np.zeros(mb.nv)), 25.0, 10.0, actuated=one)
    near(s.forward_dynamics(q, v, T).vdot[i], -10.0 * v[i], 1e-8)


def test_too_few_motors_are_refused_by_name():
    rb, s, q, v = closed()
    one = s.independent(q)[:1]
    with pytest.raises(LoopError, match=r"the motors of 'five_bar' cannot give this motion: .* of the force along"):
        rob.gravity(rb, q, actuated=one)
    with pytest.raises(StateError, match=f"has 6 entries, or by name those of '{one[0]}', which have a motor; got 2"):
        rob.feed_forward(rb, q, v, [1.0, 1.0], actuated=one)


# -- what is refused --------------------------------------------------------------------------------------------------


def test_what_is_refused():
    one = rob.Robot(sc.load("pendulum"))
    with pytest.raises(StateError, match=r"control is of a Robot, sc.robot.Robot\(mb\)"):
        rob.gravity(one.mb, [0.0])
    with pytest.raises(StateError, match="must not be negative, and speed must be positive"):
        rob.friction(one, [1.0], coulomb=-1.0)
    with pytest.raises(StateError, match="must not be negative, and speed must be positive"):
        rob.friction(one, [1.0], speed=0.0)
    with pytest.raises(StateError, match="friction: coulomb is one number, or 1 for the dofs of 'pendulum'"):
        rob.friction(one, [1.0], coulomb=[1.0, 2.0])
    with pytest.raises(StateError, match=r"a payload is \{frame: sc.Inertia"):
        rob.gravity(one, [0.0], payload={"bob": 2.0})
    with pytest.raises(StateError, match="'pendulum' has no actuators: name the dofs that have a motor"):
        rob.gravity(one, [0.0], actuated="model")
    cart = rob.Robot(sc.load("cart_pole"))
    with pytest.raises(StateError, match=r"dof 'pole' has no motor and needs a force of .*: no equilibrium"):
        rob.gravity(cart, [0.0, 0.5], actuated=["cart"])


def test_friction_is_asked_for_and_not_a_number():
    rb = rob.Robot(sc.load("pendulum"))
    with pytest.raises(StateError, match="friction= says whether the model's dry friction is made up for, True or"):
        rob.feed_forward(rb, [0.1], [1.0], [0.0], friction=0.5)
