"""Control laws in systems: plants that move as the closed-loop equations say, files, and robots by name."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from tests.robot.control.cases import PANDA, arms, near

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft import robot as rob
from soacraft import sim
from soacraft.errors import StateError, WiringError
from soacraft.model.samples.random_models import random_inertia, random_pose
from soacraft.robot import components as laws


def ticked(mb, law, wires, duration, step=1e-3, **constants):
    """A plant under a law: constants by the name of the port."""
    s = sim.System("controlled", integrator="rk4", step=step)
    s.add("arm", sim.Plant(mb))
    s.add("law", law)
    for port in wires:
        s.connect(f"arm.{port}", f"law.{port}")
    for port, value in constants.items():
        s.add(port, sim.Constant(value=tuple(np.ravel(value).tolist())))
        s.connect(f"{port}.y", f"law.{port}")
    s.connect("law.force", "arm.force")
    return s, s.run(duration)


def jointed(hinge):
    """A body on a hinge, and an arm of two pins on it."""
    mb, rng = sc.Multibody(f"arm on {type(hinge).__name__}"), np.random.default_rng(5)
    mb.add_body("base", None, hinge, random_inertia(rng), random_pose(rng))
    mb.add_body("upper", "base", sc.Pin((0, 1, 0)), random_inertia(rng), random_pose(rng))
    mb.add_body("fore", "upper", sc.Pin((1, 0, 0)), random_inertia(rng), random_pose(rng))
    return rob.Robot(mb)


def with_quaternions():
    """Laws of robots whose coordinates are not all free to choose: balls, free bodies, closed chains."""
    dog, two, bars = rob.Robot(sc.load("anymal_b")), arms(0, how="loops"), rob.Robot(sc.load("five_bar"))
    feet = tuple(f"{x}_SHANK" for x in ("LF", "RF", "LH", "RH"))
    yield laws.FeetForces(robot=dog, feet=feet)
    yield laws.Carrying(robot=two[0], object="box", hands=tuple(two[1]), squeeze=5.0)
    yield laws.GravityCompensation(robot=bars, actuated=bars.mb.dof_names)
    yield laws.FeedForward(robot=bars)
    for hinge in (sc.Spherical(), sc.Free()):
        rb = jointed(hinge)
        every = {"actuated": rb.mb.dof_names}
        yield laws.GravityCompensation(robot=rb, **every)
        yield laws.FrictionCompensation(robot=rb, coulomb=1.0)
        yield laws.FeedForward(robot=rb)
        yield laws.ComputedTorque(robot=rb, kp=25.0 * np.eye(rb.mb.nv), kd=10.0)
        yield laws.Decoupled(robot=rb, damping=3.0, kp=2.0, **every)
        yield laws.LQR(robot=rb, q0=rb.mb.q, Q=np.eye(2 * rb.mb.nv), R=2.0 * np.eye(rb.mb.nv), **every)
        yield laws.OperationalSpace(robot=rb, tip="fore", rows=(3, 4, 5))
        yield laws.Impedance(robot=rb, tip="fore", kp=100.0 * np.eye(6), kd=10.0)


CHECKED = [
    laws.GravityCompensation(robot="double_pendulum", payload=[{"frame": "lower/tip", "mass": 2.0}]),
    laws.FrictionCompensation(robot="double_pendulum", coulomb=1.0, viscous=(0.5, 0.2)),
    laws.FeedForward(robot="double_pendulum", friction=True),
    laws.ComputedTorque(robot="double_pendulum", kp=25.0, kd=(10.0, 11.0)),
    laws.ComputedTorque(robot="cart_pole", kp=25.0, kd=10.0, actuated=("cart",)),
    laws.Decoupled(robot="double_pendulum", damping=3.0, kp=5.0),
    laws.LQR(robot="cart_pole", q0=(0.0, np.pi), actuated=("cart",)),
    laws.PathLQR(robot="pendulum", times=(0.0, 0.5, 1.0), path_q=((0.0,), (0.5,), (1.0,)),
                 path_v=((1.0,), (1.0,), (1.0,)), path_vdot=((0.0,), (0.0,), (0.0,))),
    laws.OperationalSpace(robot="panda", tip="link7", rows=(3, 4, 5)),
    laws.Impedance(robot="panda", tip="link7", kp=100.0, kd=(1.0, 1, 1, 10, 10, 10)),
    laws.Admittance(inertia=2.0, damping=3.0 * np.eye(6), stiffness=10.0),
    *with_quaternions(),
]  # fmt: skip


@pytest.mark.parametrize("law", CHECKED, ids=lambda x: type(x).__name__)
def test_every_law_is_pure_of_its_shape_and_takes_a_batch(law):
    assert "are pure, of their shapes, and take a batch" in str(sim.check_component(law))


def test_every_law_is_a_component_and_is_registered():
    from soacraft.sim.components.registry import known_classes

    made = {type(x) for x in CHECKED}
    assert {getattr(laws, x) for x in laws.__all__} - {laws.Payload} == made
    assert {x.__name__ for x in made} <= set(known_classes())


# -- motions ----------------------------------------------------------------------------------------------------------


def test_computed_torque_lets_the_error_go_as_an_oscillator():
    """eddot + 10 edot + 25 e = 0 from rest: e(t) = e0 (1 + 5 t) exp(-5 t)."""
    mb = sc.load("panda")
    mb.set_state(PANDA)
    goal = PANDA + np.linspace(-0.3, 0.3, 7)
    _, run = ticked(mb, laws.ComputedTorque(robot="panda", kp=25.0, kd=10.0), "qv", 0.5, step=2e-3, q_d=goal)
    t = run.t[:, None]
    near(goal - run.q, (goal - PANDA) * (1 + 5 * t) * np.exp(-5 * t), 1e-8)


def test_a_sampled_law_holds_its_force():
    mb = sc.load("double_pendulum")
    mb.set_state([0.5, -0.3])
    s = sim.System("sampled", integrator="rk4", step=1e-3)
    s.add("arm", sim.Plant(mb))
    s.add("law", laws.ComputedTorque(robot="double_pendulum", kp=25.0, kd=10.0), rate=100)
    s.add("goal", sim.Constant(value=(0.0, 0.2)))
    for a, b in (("arm.q", "law.q"), ("arm.v", "law.v"), ("goal.y", "law.q_d"), ("law.force", "arm.force")):
        s.connect(a, b)
    run = s.run(2.0)
    force = run.signals["law.force"]
    assert len(np.unique(force[:1000, 0])) <= 101                    # new a hundred times a second
    near(run.q[-1], [0.0, 0.2], 1e-2)


def test_gravity_compensation_keeps_a_payload_up():
    mb = sc.load("panda")
    mb.add_body("load", "link7", sc.Weld(), sc.Inertia(3.0, (0, 0, 0.1), 0.01 * np.eye(3)))
    mb.set_state(PANDA)
    load = laws.Payload("link7", 3.0, (0, 0, 0.1), (0.01, 0.01, 0.01, 0, 0, 0))
    law = laws.GravityCompensation(robot="panda", payload=[load])
    _, run = ticked(mb, law, "q", 0.2, step=5e-3)
    near(run.q[-1], PANDA, 1e-8)


def test_decoupled_control_takes_the_kinetic_energy_away():
    mb = sc.load("panda")
    mb.set_state(PANDA, np.linspace(-1, 1, 7))
    _, run = ticked(mb, laws.Decoupled(robot="panda", damping=2.0), "qv", 0.1, step=2e-3, q_d=PANDA)
    energy = dyn.kinetic_energy(mb, run.q, run.v)
    near(energy / energy[0], np.exp(-4.0 * run.t), 1e-7)


def test_a_velocity_nu_that_is_pushed_goes_a_parabola():
    """A bar of 4 kg m^2 under nudot = 3 from rest, nu = 2 v: the angle is 3 t^2 / 4."""
    mb = sc.Multibody("bar")
    mb.add_body("bar", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0.5, 0, 0), 3.75 * np.eye(3)))
    _, run = ticked(mb, laws.Decoupled(robot=mb.copy(), damping=0.0), "qv", 0.2, step=1e-2, q_d=[0.0], nudot=[3.0])
    near(run.q[:, 0], 0.75 * run.t**2, 1e-9)


def test_gains_may_be_matrices():
    """eddot = -Kd edot - Kp e with both dofs coupled by the gains, and the rows of a file."""
    mb = sc.load("double_pendulum")
    kp, kd = np.array([[30.0, 5.0], [-2.0, 20.0]]), np.array([[9.0, 1.0], [0.0, 8.0]])
    law = laws.ComputedTorque(robot="double_pendulum", kp=kp, kd=kd)
    q, v, zero = np.array([0.3, -0.2]), np.array([1.0, 0.5]), np.zeros(2)
    force = laws.ComputedTorque.force(law.p, q, v, zero, zero, zero)
    near(dyn.forward_dynamics(mb, q, v, force), -kd @ v - kp @ q)
    assert law.p.kp == ((30.0, 5.0), (-2.0, 20.0))
    ragged = laws.ComputedTorque(robot="double_pendulum", kp=((1.0, 2.0), (3.0,)), kd=1.0)
    with pytest.raises(StateError, match="kp must be an array of real numbers, got a ragged"):
        laws.ComputedTorque.force(ragged.p, q, v, zero, zero, zero)


def test_a_tip_says_how_it_is_damped():
    """A stretched arm cannot go further out: the tip has what was asked for less what is missing."""
    mb = sc.load("double_pendulum")
    law = laws.OperationalSpace(robot=mb, tip="lower/tip", rows=(3, 5))
    x, zero = np.array([1.0, 2.0]), np.zeros(2)
    q = np.array([[0.4, 1.0], [0.4, 1e-3]])
    force = laws.OperationalSpace.force(law.p, q, zero, x, zero)
    missing = laws.OperationalSpace.missing(law.p, q, zero, x, zero)
    assert laws.OperationalSpace.damped(law.p, q, zero, x, zero).tolist() == [0, 1]
    assert not missing[0].any()
    assert np.linalg.norm(missing[1]) > 0.1
    J = dyn.jacobian(mb, q, "lower/tip")[:, [3, 5]]
    near((J @ dyn.forward_dynamics(mb, q, zero, force)[..., None])[..., 0], x - missing)


def test_a_pole_is_balanced_by_its_cart():
    mb = sc.load("cart_pole")
    mb.set_state([0.1, np.pi + 0.1])
    _, run = ticked(mb, laws.LQR(robot="cart_pole", q0=(0.0, np.pi), Q=10.0, actuated=("cart",)), "qv", 8.0, step=5e-3)
    near(run.q[-1], [0.0, np.pi], 1e-2)
    assert not run.signals["law.force"][:, 1].any()


def test_a_robot_is_brought_back_to_its_path():
    t = np.linspace(0.0, 2.0, 41)
    path = np.sin(2 * t)[:, None], 2 * np.cos(2 * t)[:, None], -4 * np.sin(2 * t)[:, None]
    knots = dict(zip(("path_q", "path_v", "path_vdot"), path, strict=True))
    law = laws.PathLQR(robot="pendulum", times=t, **knots, Q=(400.0, 10.0), R=0.1)
    mb = sc.load("pendulum")
    mb.set_state([0.3], [2.0])
    _, run = ticked(mb, law, "qv", 2.0, step=5e-3)
    assert abs(run.q[-1, 0] - np.sin(4.0)) < 0.02


def test_a_tip_that_is_accelerated_goes_a_parabola():
    mb = sc.load("panda")
    mb.set_state(PANDA)
    start = np.array(mb.pose("link7").translation)
    law = laws.OperationalSpace(robot="panda", tip="link7")
    _, run = ticked(mb, law, "qv", 0.3, step=3e-3, acceleration=[0, 0, 0, 0.5, 0.0, -0.4])
    end = mb.pose("link7", state=mb.state(run.q[-1])).translation
    near(end - start, 0.5 * 0.09 * np.array([0.5, 0.0, -0.4]), 1e-8)


def test_an_impedance_comes_to_rest_at_its_goal():
    mb = sc.load("panda")
    mb.set_state(PANDA)
    here = mb.pose("link7")
    there = here.translation + np.array([0.03, -0.02, 0.02])
    goal = np.concatenate([sc.spatial.matrix_to_quaternion(here.rotation), there])
    law = laws.Impedance(robot="panda", tip="link7", kp=(30.0,) * 3 + (400.0,) * 3, kd=(6.0,) * 3 + (80.0,) * 3)
    _, run = ticked(mb, law, "qv", 1.2, step=4e-3, goal=goal)
    near(mb.pose("link7", state=mb.state(run.q[-1])).translation, goal[4:], 3e-3)


def test_a_legged_robot_pushes_itself_up():
    """Forces of the feet give the base an acceleration: the same as inverse dynamics has for the motors."""
    rb = rob.Robot(sc.load("anymal_b"))
    q = np.array(rb.mb.q)
    q[7:] = [0, 0.4, -0.8, 0, 0.4, -0.8, 0, -0.4, 0.8, 0, -0.4, 0.8]
    feet = tuple(f"{x}_SHANK" for x in ("LF", "RF", "LH", "RH"))
    law = laws.FeetForces(robot=rb, feet=feet, friction=0.6)
    p, still = law.p, np.zeros(18)
    made = rob.foot_forces(rob.stance(rb, q, list(feet), friction=0.6))
    near(laws.FeetForces.force(p, q, still, still), made.force, 0.0)
    assert laws.FeetForces.left(p, q, still, still) == 0.0
    assert laws.FeetForces.force(p, np.array([q, q]), still, still).shape == (2, 18)
    assert laws.FeetForces.left(p, np.array([q, q]), still, still).shape == (2,)


def test_arms_carry_a_box_in_a_system():
    """A closed chain, accelerated from rest: the box goes the parabola."""
    rb, names = arms(0, how="hung")
    mb = rb.mb
    start = np.array(mb.pose("box").translation)
    law = laws.Carrying(robot=rb, object="box", hands=tuple(names), squeeze=5.0)
    _, run = ticked(mb, law, "qv", 0.05, step=1e-3, acceleration=[0, 0, 0, 0.4, 0.0, 0.8])
    end = mb.pose("box", state=mb.state(run.q[-1])).translation
    near(end - start, 0.5 * 0.05**2 * np.array([0.4, 0.0, 0.8]), 1e-6)


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_system_with_laws_is_kept_in_a_file(tmp_path):
    mb = sc.load("double_pendulum")
    mb.set_state([0.5, -0.3])
    gains = {"kp": 25.0 * np.eye(2), "kd": (10.0, 9.0)}
    law = laws.ComputedTorque(robot="double_pendulum", **gains, payload=[laws.Payload("lower/tip", 0.5)])
    s, run = ticked(mb, law, "qv", 0.1, q_d=[0.0, 0.2])
    file = tmp_path / "controlled.toml"
    s.save(file)
    again = sim.load_system(file)
    near(again.run(0.1).q[-1], run.q[-1], 0.0)
    told = f"from soacraft import sim; print(repr(sim.load_system({str(file)!r}).run(0.1).q[-1].tolist()))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == repr(run.q[-1].tolist())  # a program that has not asked for robots


def test_what_is_refused():
    with pytest.raises(WiringError, match="GravityCompensation needs robot=: a Robot, or the name of a model"):
        laws.GravityCompensation()
    with pytest.raises(WiringError, match="parameters of ComputedTorque"):
        laws.ComputedTorque(robot="pendulum", kp="stiff", kd=1.0)
    with pytest.raises(WiringError, match="ComputedTorque has no parameter 'ki'"):
        laws.ComputedTorque(robot="pendulum", kp=1.0, kd=1.0, ki=1.0)


def test_parameters_may_be_numbers_of_numpy():
    mb = sc.load("cart_pole")
    mb.set_state([0.0, np.pi])
    made = laws.LQR(robot="cart_pole", q0=np.array(mb.q), Q=np.float64(2.0), actuated=("cart",))
    assert made.p.q0 == (0.0, float(np.pi))
    assert made.p == laws.LQR(robot="cart_pole", q0=(0.0, float(np.pi)), Q=2.0, actuated=("cart",)).p


def test_a_goal_without_a_direction_is_refused_by_name():
    law = laws.Impedance(robot="panda", tip="link7", kp=10.0, kd=10.0)
    with pytest.raises(WiringError, match=r"an Impedance begins with a quaternion \[x, y, z, w\], and this"):
        ticked(sc.load("panda"), law, ("q", "v"), 0.01, goal=np.zeros(7))
