"""Compiled rollouts: the same as steps in Python, one state or a batch, any number of threads; what they refuse."""

import numpy as np
import pytest
from tests.sim.test_order import tree

import soacraft as sc
from soacraft.errors import ModelError, SimulationError, StateError
from soacraft.sim.stride import Stride, Walked

MODELS = {
    "pins": lambda: sc.load("arm7"),
    "quaternions": lambda: tree([sc.Free(), sc.Spherical(), sc.Gimbal(), sc.Pin((0, 1, 0))]),
    "springs": lambda: sprung(),
}


def sprung():
    mb = tree([sc.Spherical(), sc.Pin((0, 0, 1)), sc.Prismatic((1, 0, 0)), sc.Helical((0, 1, 0), 0.2)])
    for body in mb.bodies:
        body.passive = sc.Passive(stiffness=4.0, damping=0.3)
    return mb


@pytest.mark.parametrize("method", ["rk4", "verlet", "euler_symplectic"])
@pytest.mark.parametrize("name", MODELS)
def test_a_rollout_is_what_steps_in_python_give(name, method, monkeypatch):
    mb = MODELS[name]()
    mb.set_state(*mb.random_state(3))
    p = sc.sim.Propagator(mb, integrator=method, step=0.01)
    q, v = np.array(mb.q), np.array(mb.v)
    Q, V = p.rollout(q, v, steps=20)
    many = p.rollout(np.tile(q, (5, 1)), v, steps=20)
    np.testing.assert_allclose(many[0][3], Q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(many[1][4], V, rtol=0, atol=1e-10)
    monkeypatch.setattr(Stride, "many", lambda stride, problem, memory, *given, **options: Walked(None, memory))
    run = p.advance_to(0.2)
    np.testing.assert_allclose(Q, run.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(V, run.v, rtol=0, atol=1e-10)


def test_batches_states_and_threads_agree():
    mb = MODELS["quaternions"]()
    rng = np.random.default_rng(1)
    q, v = (np.array(x) for x in zip(*(mb.random_state(i) for i in range(11)), strict=True))
    force = rng.standard_normal((11, 6, mb.nv))
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.005)
    Q, V = p.rollout(q, v, force, steps=6)
    assert Q.shape == (11, 7, mb.nq)
    np.testing.assert_array_equal(p.rollout(q, v, force, steps=6, threads=3)[0], Q)
    for i in (0, 5, 10):
        one = p.rollout(q[i], v[i], force[i], steps=6)
        np.testing.assert_allclose(one[0], Q[i], rtol=0, atol=1e-12)
        np.testing.assert_allclose(one[1], V[i], rtol=0, atol=1e-11)
    shared = p.rollout(q, v, force[0], steps=6)
    np.testing.assert_array_equal(shared[0][0], Q[0])


@pytest.mark.parametrize("method", ["rk4", "gauss4", "moreau"])  # side by side, one by one, with contact
def test_forces_by_state_and_by_step_are_told_apart_by_their_axes(method):
    """Three masses and three steps: (3, nv) is by step, (3, 1, nv) by state. v(k) = v0 + h sum of T / m, exactly."""
    mb = sc.Multibody("mass", gravity=(0, 0, 0))
    mb.add_body("mass", None, sc.Prismatic((1, 0, 0)), sc.Inertia(2.0, (0, 0, 0), np.eye(3)))
    p = sc.sim.Propagator(mb, integrator=method, step=0.5)
    if method == "moreau":
        p.add(sc.sim.Contact())
    T, v = np.array([1.0, -2.0, 4.0]), np.array([[0.0], [1.0], [2.0]])
    table = np.arange(9.0).reshape(3, 3)
    cases = ((T[:, None], np.tile(T, (3, 1))), (T[:, None, None], np.tile(T[:, None], (1, 3))),
             (T[None, :, None], np.tile(T, (3, 1))), (table[:, :, None], table), (T[:1], np.ones((3, 3))))  # fmt: skip
    for force, each in cases:
        V = p.rollout([0.0], v, force, steps=3)[1]
        np.testing.assert_allclose(V[:, 1:, 0], v + 0.25 * np.cumsum(each, axis=1), rtol=1e-12, atol=1e-12)
    one = p.rollout([[0.0]], [1.0], T[:, None], steps=3)[1]
    assert one.shape == (1, 4, 1)
    np.testing.assert_allclose(one[0, 1:, 0], 1.0 + 0.25 * np.cumsum(T), rtol=1e-12)
    for wrong in (np.zeros((2, 3, 1)), np.zeros((3, 2, 1)), np.zeros((1, 3, 3, 1))):
        with pytest.raises(StateError, match=r"of 3 states and 3 steps has shape \(1,\), \(3, 1\) or \(3, 3, 1\), got"):
            p.rollout([0.0], v, wrong, steps=3)


def test_a_held_force_is_that_of_each_step():
    """A mass under a force that is held in each step: exact."""
    mb = sc.Multibody("mass", gravity=(0, 0, 0))
    mb.add_body("mass", None, sc.Prismatic((1, 0, 0)), sc.Inertia(2.0, (0, 0, 0), np.eye(3)))
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.5)
    Q, V = p.rollout([0.0], [1.0], [[2.0], [-4.0]], steps=2)
    np.testing.assert_allclose(V[:, 0], [1.0, 1.5, 0.5])
    np.testing.assert_allclose(Q[:, 0], [0.0, 0.625, 1.125])
    assert p.rollout([0.0], [1.0], steps=0)[0].shape == (1, 1)


def test_refusals():
    mb = sc.load("pendulum")

    def fixed(model=mb):
        return sc.sim.Propagator(model, integrator="rk4", step=0.1)

    with pytest.raises(StateError, match=r"'variational' or 'variational4' with a step; this propagator has 'dop853'"):
        sc.sim.Propagator(mb).rollout([0.0], [0.0])
    with pytest.raises(StateError, match=r"a rollout is by integrator='rk4' with a step; this propagator has 'verlet'"):
        sc.sim.Propagator(mb, integrator="verlet", step=0.1).rollout_derivatives([0.0], [0.0])
    p = fixed()
    p.control("bob", 1.0)
    with pytest.raises(StateError, match=r"rollout knows forces of the model and force= alone, not 'bob'"):
        p.rollout([0.0], [0.0])
    with pytest.raises(StateError, match=r"has shape \(1,\), \(5, 1\) or \(1, 5, 1\), got \(3, 1\)"):
        fixed().rollout([0.0], [0.0], np.zeros((3, 1)), steps=5)
    with pytest.raises(ModelError, match=r"steps of a rollout must be a whole number of at least 0, got -1"):
        fixed().rollout([0.0], [0.0], steps=-1)
    with pytest.raises(StateError, match=r"takes one state or a batch with one leading axis, got \(2, 2\)"):
        fixed().rollout(np.zeros((2, 2, 1)), [0.0])
    rolling = tree([sc.RollingBall(0.5)])
    with pytest.raises(ModelError, match=r"rollout of 'tree' is not compiled: 'b0' rolls; use p.advance_to"):
        fixed(rolling).rollout(rolling.q, rolling.v)
    top = tree([sc.Spherical()])
    q = np.tile(top.q, (9, 1))
    v = np.zeros((9, 3))
    v[7] = [0, 0, 90.0]
    with pytest.raises(SimulationError, match=r"state 7 of the rollout of 'tree' stopped in step 0, at 0 s: a hinge"):
        fixed(top).rollout(q, v, steps=3)
    v[7] = 1e200
    with pytest.raises(SimulationError, match=r"state 7 of the rollout of 'tree' stopped in step 0"):
        fixed(top).rollout(q, v, steps=3)


@pytest.mark.parametrize("method", ["rk4", "verlet", "euler_symplectic"])
def test_a_hinge_whose_inertia_is_rounding_stops_every_state(method):
    """Two pins on one axis with nothing between them: what the first has to move is rounding, and accelerations would
    be finite numbers that mean nothing."""
    mb, turned = sc.Multibody("needle", gravity=(0, 0, 0)), sc.Pose.from_rpy(0.7, 0.2, 0.4)
    mb.add_body("ring", None, sc.Pin((0, 0, 1)), sc.Inertia())
    rod = sc.Inertia(1.0, (0.3, 0.1, 0.2), np.diag([0.2, 0.3, 0.1]))
    mb.add_body("rod", "ring", sc.Pin(turned.rotation.T @ [0, 0, 1]), rod, turned)
    p = sc.sim.Propagator(mb, integrator=method, step=0.1)
    text = r"state 0 of the rollout of 'needle' stopped in step 0, at 0 s: its acceleration is not finite"
    for count in (1, 5):
        with pytest.raises(SimulationError, match=text):
            p.rollout(np.zeros((count, 2)), [0.0, 0.0], [1e-3, 0.0], steps=2)


@pytest.mark.parametrize("method", ["rk4", "verlet", "euler_symplectic"])
@pytest.mark.parametrize("state", [0, 3])
def test_a_state_that_turns_too_far_is_named(method, state):
    top = tree([sc.Spherical()])
    v = np.zeros((5, 3))
    v[state] = [0, 0, 90.0]
    p = sc.sim.Propagator(top, integrator=method, step=0.1)
    with pytest.raises(SimulationError, match=rf"state {state} of the rollout of 'tree' stopped in step 0, .*: a hin"):
        p.rollout(top.q, v, steps=2)


@pytest.mark.parametrize("before", [0.0, 0.5])
def test_a_pose_that_is_singular_within_a_step_stops_it(before):
    """A mass at the end of a link that folds back over the base, at the beginning or in the middle of a step: its pull
    passes through the first pin, which has nothing to turn. Poses before and after are fine, and so is the next state.
    """
    mb = sc.Multibody("fold", gravity=(0, 0, 0))
    mb.add_body("upper", None, sc.Pin((0, 0, 1)), sc.Inertia())
    mass = sc.Inertia(1.0, (1.0, 0, 0))
    mb.add_body("lower", "upper", sc.Pin((0, 0, 1)), mass, sc.Pose(translation=(1.0, 0, 0)))
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.1)
    v = [0.0, 1.0]
    q = np.array([[0.0, np.pi - before * 0.1], [0.0, 1.0], [0.0, 2.0]])
    p.rollout(q[1:], v, [1e-3, 0.0], steps=1)
    with pytest.raises(SimulationError, match=r"state 0 of the rollout of 'fold' stopped in step 0, at 0 s: its accel"):
        p.rollout(q, v, [1e-3, 0.0], steps=1)


@pytest.mark.parametrize("state", [0, 3])
def test_a_velocity_that_overflows_at_the_end_of_a_step_is_refused(state):
    """A spring that is hit: q1 = h v0 and the acceleration there are numbers, v1 = (1 - h^2 k / 2 m) v0 is none."""
    mb = sc.Multibody("hit", gravity=(0, 0, 0))
    mb.add_body("mass", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0)).passive = sc.Passive(stiffness=1e306)
    v = np.zeros((5, 1))
    v[state] = 1.0
    p = sc.sim.Propagator(mb, integrator="verlet", step=100.0)
    with pytest.raises(SimulationError, match=rf"state {state} of the rollout of 'hit' stopped in step 0"):
        p.rollout([0.0], v, steps=1)


def walker():
    """A trunk with two legs of two pins above a floor, and a servo at each pin."""
    mb = sc.Multibody("walker", gravity=(0, 0, -9.81))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    trunk = mb.add_body("trunk", None, sc.Free(), sc.Inertia(4.0, moment=np.diag([0.05, 0.04, 0.06])))
    for side, y in (("left", 0.1), ("right", -0.1)):
        above, length = trunk, 0.0
        for part in ("thigh", "shank"):
            place = sc.Pose(translation=(0, y, 0) if above is trunk else (0, 0, -length))
            length = 0.2
            inertia = sc.Inertia(0.5, (0, 0, -0.1), np.diag([0.002, 0.002, 0.001]))
            above = mb.add_body(f"{side}_{part}", above, sc.Pin((0, 1, 0)), inertia, inboard=place)
            law = {"biastype": "affine", "gainprm": [80.0], "biasprm": [0.0, -80.0, -2.0]}
            mb.add_actuator(sc.Actuator(above.name, "general", {above.hinge_name: 1.0}, law))
        for x in (-0.05, 0.05):
            foot = sc.Geometry(f"foot{x}", "sphere", (0.02,), pose=sc.Pose(translation=(x, 0, -0.2)))
            above.add_geometry(foot)
    return mb


def walking(mb, method="moreau", step=0.002, **contact):
    p = sc.sim.Propagator(mb, integrator=method, step=step)
    p.add(sc.sim.Contact(**({"friction": 0.7, "tolerance": 1e-10} | contact)))
    for actuator in mb.actuators:
        p.control(actuator.name, ([0.0, 0.02, 0.1], [0.0, 0.3, -0.2]))
    return p


@pytest.mark.parametrize(("method", "step", "steps"), [("moreau", 0.002, 40), ("moreau_midpoint", 0.001, 80)])
def test_a_rollout_with_contact_is_what_runs_give(method, step, steps):
    """From each state of a batch the states of its run, bit by bit, whatever the threads."""
    mb, rng = walker(), np.random.default_rng(2)
    q = np.tile(np.concatenate([[0, 0, 0, 1, 0, 0, 0.425], np.zeros(4)]), (5, 1))
    q[:, 7:] += 0.02 * rng.standard_normal((5, 4))
    q[:, 6] += 0.01 * rng.random(5)
    v = 0.3 * rng.standard_normal((5, mb.nv))
    v[:, 5] = -0.5
    Q, V = walking(mb, method, step).rollout(q, v, steps=steps, threads=1)
    np.testing.assert_array_equal(walking(mb, method, step).rollout(q, v, steps=steps, threads=3)[0], Q)
    for i in range(5):
        mb.set_state(q[i], v[i])
        p = walking(mb, method, step)
        run = p.advance_to(0.08)
        assert any(x.impulses.any() for x in run.contacts.steps)
        np.testing.assert_array_equal(Q[i], run.q)
        np.testing.assert_array_equal(V[i], run.v)
    one = walking(mb, method, step).rollout(q[3], v[3], steps=steps)
    np.testing.assert_array_equal(one[1], V[3])


def test_a_held_force_of_a_rollout_with_contact():
    """A block that slides on a floor under a push that is held in each step: m dv = (push - mu m g) h, exactly."""
    mb = sc.Multibody("block", gravity=(0, 0, -10.0))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    upright = sc.Pose.from_rpy(np.pi / 2, 0, 0)
    mb.add_body("block", None, sc.Planar(), sc.Inertia(2.0, moment=np.eye(3)), inboard=upright)
    mb["block"].add_geometry(sc.Geometry("skin", "box", (0.2, 0.2, 0.2)))
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
    p.add(sc.sim.Contact(friction=0.5))
    push = np.zeros((2, 3, 3))
    push[0, :, 0], push[1, :, 0] = [14.0, 10.0, 4.0], 12.0
    Q, V = p.rollout(np.tile([0.0, 0.1, 0.0], (2, 1)), np.tile([1.0, 0.0, 0.0], (2, 1)), push, steps=3)
    np.testing.assert_allclose(V[0, :, 0], 1.0 + np.cumsum([0.0, 0.02, 0.0, -0.03]), atol=1e-9)
    np.testing.assert_allclose(V[1, :, 0], 1.0 + 0.01 * np.arange(4), atol=1e-9)
    np.testing.assert_allclose(Q[:, :, 1], 0.1, atol=1e-9)


def test_refusals_of_rollouts_with_contact():
    mb = walker()
    q, v = np.concatenate([[0, 0, 0, 1, 0, 0, 0.425], np.zeros(4)]), np.zeros(mb.nv)
    low = np.tile(q, (4, 1))
    low[2, 6] = 0.3
    with pytest.raises(StateError, match=r"state 2 of the rollout begins with 'inertial/floor' and 'left_shank/foot"):
        walking(mb).rollout(low, v)
    with pytest.raises(StateError, match=r"a rollout does not push shapes out of each other, as Contact\(penetration"):
        walking(mb, penetration=0.5).rollout(low, v)
    with pytest.raises(ModelError, match=r"rollout of 'walker' with contact is not compiled: restitution is Poisson's"):
        walking(mb, law="poisson").rollout(q, v)
    p = walking(mb)
    p.control("left_thigh", ([0.0, 0.0011], [0.0, 1.0]))
    with pytest.raises(StateError, match=r"control of 'left_thigh' has a sample at 0.0011 s, within a step"):
        p.rollout(q, v)
    fast = np.tile(v, (3, 1))
    fast[1, 0] = 1e200
    with pytest.raises(SimulationError, match=r"state 1 of the rollout of 'walker' stopped in step 0, at 0 s: its con"):
        walking(mb).rollout(q, fast, steps=2)
    p = walking(mb)
    p.every(0.1, lambda t, s: None)
    with pytest.raises(StateError, match=r"not a callback or a prescribed motion; use advance_to"):
        p.rollout(q, v)
    plain = sc.sim.Propagator(mb, integrator="moreau", step=0.002)
    with pytest.raises(StateError, match=r"this propagator has 'moreau'"):
        plain.rollout(q, v)
