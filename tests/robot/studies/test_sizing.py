"""Sizing of motors: a sine in closed form; gears, rotors, losses, heat; trees, loops, floating bases; refusals."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.studies.models import four_bar, pendulum, planar

import soacraft as sc
from soacraft.errors import StateError

study = sc.robot.study
A, W = 0.7, 3.0


def swing(periods=3, rows=3001):
    """q = A sin(W t) for whole periods."""
    t = np.linspace(0.0, periods * 2 * np.pi / W, rows)
    q, v, vdot = A * np.sin(W * t), A * W * np.cos(W * t), -A * W * W * np.sin(W * t)
    return t, q[:, None], v[:, None], vdot[:, None]


def flat(m=2.0, l=0.5, effort=np.inf):
    """Without gravity: T = m l^2 vdot."""
    rb = planar(l, masses=[m])
    rb.mb["l1"].limits = sc.Limits(effort=[effort], velocity=[4.2])
    return rb


def test_a_sine_without_gravity():
    """T = -I A w^2 sin, v = A w cos, T v = -I A^2 w^3 sin(2wt)/2, no energy in a period."""
    I = 2.0 * 0.5**2
    s = study.sizing(flat(effort=5.0), swing(rows=6001))
    assert s.peak_torque == pytest.approx([I * A * W**2], rel=1e-5)
    assert s.rms_torque == pytest.approx([I * A * W**2 / np.sqrt(2)], rel=1e-9)
    assert s.peak_speed == pytest.approx([A * W])
    assert s.peak_power == pytest.approx([I * A**2 * W**3 / 2], rel=1e-5)
    assert s.energy == pytest.approx([0.0], abs=1e-9)
    # in each of 6 half periods 1/2 I (A w)^2 is put in and taken back
    assert s.drawn == pytest.approx([6 * I * (A * W) ** 2 / 2], rel=1e-5)
    assert s.torque_used == pytest.approx(s.peak_torque / 5.0)
    assert s.speed_used == pytest.approx([A * W / 4.2])
    assert np.isnan(s.heat).all()
    assert s.holds
    assert "'l1' uses 63 % of its torque" in repr(s)


def test_gravity_and_what_a_slope_takes():
    """T = m l^2 vdot + m g l cos q at every row, and the energy is the change of kinetic and potential energy."""
    rb = pendulum()
    t, q, v, vdot = swing(1)
    part = slice(0, 700)
    s = study.sizing(rb, (t[part], q[part], v[part], vdot[part]))
    m, l, g = 2.0, 0.5, 9.81
    assert s.torque[:, 0] == pytest.approx((m * l * l * vdot + m * g * l * np.cos(q))[part, 0])
    E = 0.5 * m * l * l * v[:, 0] ** 2 + m * g * l * np.sin(q[:, 0])
    assert s.energy == pytest.approx([E[699] - E[0]], rel=1e-5)
    assert s.mean_power == pytest.approx(s.energy / (t[699] - t[0]))


def test_a_gear_a_rotor_and_heat():
    """T_m = T/N + J N vdot without losses: the same as a model with the armature N^2 J, seen through the gear."""
    N, J, k, R = 50.0, 2e-5, 0.05, 0.4
    motor = study.Motor(gear=N, rotor_inertia=J, torque_constant=k, resistance=R, torque=0.5, continuous=0.2, speed=200)
    s = study.sizing(flat(), swing(), motors={"l1": motor})
    heavy = flat()
    heavy.mb["l1"].armature = [N * N * J]
    other = study.sizing(heavy, swing())
    assert s.torque == pytest.approx(other.torque / N)
    assert s.speed == pytest.approx(other.speed * N)
    assert s.energy == pytest.approx(other.energy, abs=1e-9)
    I = 2.0 * 0.5**2 + N * N * J
    rms = I * A * W**2 / N / np.sqrt(2)
    assert s.rms_torque == pytest.approx([rms])
    assert s.heat == pytest.approx([R * (rms / k) ** 2 * (s.t[-1] - s.t[0])])
    assert s.torque_used == pytest.approx(s.peak_torque / 0.5)
    assert s.continuous_used == pytest.approx([rms / 0.2])
    assert s.speed_used == pytest.approx([max(N * A * W / 200, A * W / 4.2)])
    assert s.units == ("N m",)


def test_losses_of_the_gear_are_paid_by_the_motor_both_ways():
    """Driving takes T/eta, being driven gives T eta back: over a period (1/eta - eta) of what is put in is lost."""
    eta = 0.8
    ideal, lossy = (study.sizing(flat(), swing(), motors=study.Motor(gear=10.0, efficiency=x)) for x in (1.0, eta))
    assert lossy.energy == pytest.approx((1 / eta - eta) * ideal.drawn, rel=1e-4)
    assert lossy.drawn == pytest.approx(ideal.drawn / eta)


def test_a_run_and_an_object_with_at_are_motions():
    """A pendulum that falls freely: its motor gives nothing."""
    rb = pendulum()
    rb.mb.set_state([0.3], [0.0])
    run = sc.sim.Propagator(rb.mb, integrator="rk4", step=0.01).advance_to(1.0)
    assert np.abs(study.sizing(rb, run).torque).max() < 1e-9

    class Way:
        duration = 2.0

        def at(self, t):
            sin, cos = np.sin(W * t), np.cos(W * t)
            return [A * sin], [A * W * cos], [-A * W * W * sin]

    s = study.sizing(flat(), Way(), t=100)
    assert s.t == pytest.approx(np.linspace(0.0, 2.0, 100))
    assert s.torque[:, 0] == pytest.approx(-0.5 * A * W * W * np.sin(W * s.t))


def test_a_closed_chain_is_moved_by_its_motor():
    """The motor of a four-bar linkage gives what makes it move so, and its power is the rate of energy."""
    mb = four_bar()
    run = sc.sim.Propagator(mb, rtol=1e-10)
    run.control("crank", lambda t, state: 3.0 + 2.0 * np.cos(5 * t))
    made = run.advance_to(0.4)
    s = study.sizing(sc.robot.Robot(mb), made, efforts={"crank": 10.0})
    assert s.dofs == ("crank",)
    assert s.torque[:, 0] == pytest.approx(3.0 + 2.0 * np.cos(5 * s.t), abs=1e-6)
    power = s.torque[:, 0] * made.v[:, 0]
    with pytest.raises(StateError, match="'four bar' is a closed chain without actuators: say which dofs have motors"):
        study.sizing(mb, made)
    for i in (0, len(power) // 2, len(power) - 1):
        h = 1e-5
        ahead = [_energy(mb, *_moved(made, i, x)) for x in (h, -h)]
        assert power[i] == pytest.approx((ahead[0] - ahead[1]) / (2 * h), rel=1e-5, abs=1e-6)


def _moved(run, i, h):
    """A state a moment later, on the closure to second order."""
    return run.q[i] + h * run.v[i] + 0.5 * h * h * run.vdot[i], run.v[i] + h * run.vdot[i]


def _energy(mb, q, v):
    return sc.dynamics.kinetic_energy(mb, q, v) + sc.dynamics.potential_energy(mb, q)


def floating():
    """A body that floats, with a wheel on it."""
    mb = sc.Multibody("floating", gravity=(0, 0, -9.81))
    base = mb.add_body("base", None, sc.Free(), sc.Inertia.box(3.0, (0.4, 0.3, 0.2)))
    mb.add_body("wheel", base, sc.Pin((0, 0, 1)), sc.Inertia.cylinder(1.0, 0.1, 0.05))
    base.add_node("foot")
    return mb


def test_a_floating_base_needs_its_contacts():
    """A foot that carries the weight, and takes the moment of a wheel that spins up."""
    mb = floating()
    t = np.linspace(0, 1, 5)
    vdot = np.zeros((5, 7))
    vdot[:, 6] = 2.0
    v = t[:, None] * vdot
    q = np.array([mb.integrate(mb.q, 0.5 * x**2 * vdot[0]) for x in t])
    with pytest.raises(StateError, match=r"dof 'base.*' of 'floating' has no motor, and .* takes a force of 39\.24"):
        study.sizing(mb, (t, q, v, vdot))
    spin = 0.5 * 1.0 * 0.1**2 * 2.0
    s = study.sizing(mb, (t, q, v, vdot), f_ext={"base/foot": [0, 0, spin, 0, 0, 4.0 * 9.81]})
    assert s.dofs == ("wheel",)
    assert s.torque[:, 0] == pytest.approx(spin)


def test_objects_that_lie_around_do_not_count():
    rb = pendulum()
    rb.mb.add_body("cup", None, sc.Free(), sc.Inertia.sphere(0.4, 0.05))
    t, q, v, vdot = swing(1, 50)
    q = np.hstack([q, np.tile(rb.mb.q[1:], (50, 1))])
    zeros = np.zeros((50, 6))
    s = study.sizing(rb, (t, q, np.hstack([v, zeros]), np.hstack([vdot, zeros])))
    assert s.dofs == ("bob",)
    alone = study.sizing(pendulum(), swing(1, 50))
    assert s.torque == pytest.approx(alone.torque)


def test_limits_of_actuators_count():
    """A Panda at rest, stretched out: 87 N m at its first four motors, 12 at the others, as its file says."""
    rb = sc.robot.Robot(sc.load("panda"))
    q = np.tile([0, np.pi / 2, 0, -0.1, 0, 1.0, 0], (2, 1))
    s = study.sizing(rb, ([0.0, 1.0], q, 0 * q, 0 * q))
    g = sc.dynamics.gravity_force(rb.mb, q[0])
    assert s.torque_used == pytest.approx(np.abs(g) / [87, 87, 87, 87, 12, 12, 12])
    assert study.sizing(rb, ([0.0, 1.0], q, 0 * q, 0 * q), efforts={"joint2": 20.0}).torque_used[1] > 1.0


@pytest.mark.parametrize("which", ["torque", "continuous", "speed"])
@pytest.mark.parametrize("part", [0.999, 1.001])
def test_motors_hold_up_to_each_of_their_limits(which, part):
    """A sine asks for I A w^2 at its peak, 1/sqrt(2) of it for long, and A w: limits hold just above these alone."""
    I = 2.0 * 0.5**2
    asked = {"torque": I * A * W**2, "continuous": I * A * W**2 / np.sqrt(2), "speed": A * W}
    s = study.sizing(flat(), swing(), motors={"l1": study.Motor(**{which: asked[which] / part})})
    assert getattr(s, f"{which}_used") == pytest.approx([part], rel=1e-5)
    assert s.holds == (part < 1.0)


def test_it_shows_itself_and_comes_back_from_its_file(tmp_path):
    s = study.sizing(flat(effort=5.0), swing(1, 20))
    assert s.table().column("dof") == ["l1"]
    assert "peak torque" in s._repr_html_()
    assert study.load(s.save(tmp_path / "s.h5")).same_as(s)
    assert "no limits are known" in repr(study.sizing(planar(0.5), swing(1, 20)))


@pytest.mark.parametrize(
    ("motion", "more", "text"),
    [
        (5, {}, r"a motion is \(t, q, v, vdot\), a run, or an object with at\(t\); got int"),
        (([0.0], [[0.0]], [[0.0]], [[0.0]]), {}, "the times of a motion are at least two, and grow"),
        (([0.0, 1.0], [[0.0]] * 3, [[0.0]] * 2, [[0.0]] * 2), {}, r"at 2 times has q \(2, 1\) and v \(2, 1\); got"),
        (None, dict(motors={"l9": study.Motor()}), "has no dof 'l9'; did you mean 'l1'"),
        (None, dict(motors={"l1": 5}), r"the motor of 'l1' must be a sc\.robot\.study\.Motor"),
        (None, dict(motors=5), r"motors= is a Motor, or \{dof: Motor\}; got 5"),
        (None, dict(efforts={"l9": 5.0}), "has no dof 'l9'"),
        (None, dict(efforts={"l1": (1.0, 2.0)}), "the effort of 'l1' must have zero in its range, got 1 to 2"),
        (None, dict(efforts={"l1": (1.0, 2.0, 3.0)}), r"the effort of 'l1' is one number, or \(lower, upper\)"),
        (None, dict(efforts=-1.0), "efforts of 'arm' must not be negative, got -1"),
        (None, dict(efforts=[1.0, 2.0]), r"efforts of 'arm' are one number, 1, or a mapping; got \(2,\)"),
        (None, dict(t=[0.0, 1.0]), r"t= is for motions that have at\(t\)"),
    ],
)
def test_refused(motion, more, text):
    with pytest.raises(StateError, match=text):
        study.sizing(flat(), swing(1, 20) if motion is None else motion, **more)


def test_motors_that_cannot_be_are_refused():
    with pytest.raises(StateError, match="a motor has a gear that is not zero"):
        study.Motor(gear=0.0)
    with pytest.raises(StateError, match=r"torque of a motor must be positive, got -1\.0"):
        study.Motor(torque=-1.0)
    rb = flat()
    rb.mb["l1"].armature = [0.1]
    text = r"dof 'l1' has an armature of 0\.1 kg m2 in the model, and its motor has a rotor"
    with pytest.raises(StateError, match=text):
        study.sizing(rb, swing(1, 20), motors=study.Motor(rotor_inertia=1e-5))
    with pytest.raises(StateError, match="a study is of a Robot or its model, got 5"):
        study.sizing(5, swing(1, 20))

    class Way:
        def at(self, t):
            return [0.0], [0.0], [0.0]

    with pytest.raises(StateError, match=r"a motion with at\(t\) needs its duration, or the times t="):
        study.sizing(flat(), Way())
