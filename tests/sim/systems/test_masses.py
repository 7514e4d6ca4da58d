"""Masses of bodies that signals give."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import SimulationError, WiringError

M0, BURNT, F, G = 10.0, 2.0, 60.0, 9.81


class Tank(sim.Component):
    """m0 - rate t."""

    class Params(sim.Params):
        rate: float = BURNT

    @sim.output(unit="kg")
    def mass(p, t):
        return M0 - p.rate * t


def rocket(step, g=0.0, every=None, **how):
    mb = sc.Multibody("rocket", gravity=(0, 0, -g))
    mb.add_body("hull", None, sc.Prismatic((0, 0, 1)), sc.Inertia(M0, (0.1, 0, 0.2), np.diag([3.0, 2.0, 1.5])))
    s = sim.System("s", **({"integrator": "rk4", "step": step} | how))
    ship = s.add("ship", sim.Plant(mb))
    s.add("tank", Tank(), **({} if every is None else {"every": every}))
    s.add("thrust", sim.Constant(value=F))
    s.add("engine", sim.Force(), at=ship.dof("hull"))
    s.connect("thrust.y", "engine.command")
    s.connect("tank.mass", "ship.mass[hull]")
    return s


def test_a_rocket_gains_the_integral_of_thrust_over_mass():
    """v = F/r ln(m0/m(t)); masses are those of the starts of steps, so the error is of first order: it halves."""
    exact = F / BURNT * np.log(M0 / (M0 - BURNT * 2.0))
    errors = [abs(rocket(h).run(2.0).v[-1, 0] - exact) for h in (0.02, 0.01, 0.005)]
    assert errors[0] < 0.02 * exact
    assert all(1.95 < a / b < 2.05 for a, b in pairwise(errors))
    held = sum(0.02 * F / (M0 - BURNT * 0.02 * k) for k in range(100))  # what such steps are, to rounding
    assert abs(rocket(0.02).run(2.0).v[-1, 0] - held) < 1e-12 * exact


def test_the_energy_that_goes_with_the_mass_is_work_of_its_own():
    s = rocket(0.01, g=G)
    run = s.run(1.0)
    balance = run.check()
    assert balance.imbalance < 1e-11 * np.abs(run.energy).max()
    v, z = run.v[1:, 0], run.q[1:, 0] + 0.2  # of the centre of mass
    lost = -BURNT * 0.01 * (0.5 * v * v + G * z)  # what leaves at the end of each step
    assert abs(run.work["mass"][-1] - lost.sum()) < 1e-9 * abs(lost.sum())
    m = M0 - BURNT * run.t
    assert np.abs(run.kinetic - 0.5 * m * run.v[:, 0] ** 2).max() < 1e-11 * run.kinetic.max()


def test_the_moment_grows_with_the_mass_and_the_centre_stays():
    s = rocket(0.01)
    s.run(1.0)
    inertia = s._plants["ship"].mb["hull"].inertia
    assert inertia.mass == M0 - BURNT * 1.0
    assert np.array_equal(inertia.com, [0.1, 0, 0.2])
    assert np.allclose(inertia.moment, np.diag([3.0, 2.0, 1.5]) * 0.8, rtol=1e-13)


def test_a_sampled_mass_changes_at_its_ticks():
    run = rocket(0.01, every=0.5).run(1.0)
    first, second = F / M0 * 0.5, F / (M0 - BURNT * 0.5) * 0.5
    assert abs(run.v[-1, 0] - first - second) < 1e-12 * run.v[-1, 0]


@pytest.mark.parametrize("every", [None, 0.1])
def test_a_restored_system_has_the_bits_of_one_that_goes_on(tmp_path, every):
    whole = rocket(0.01, G, every)
    whole.run(0.25, checkpoint=tmp_path / "c.h5")
    again = sim.restore(tmp_path / "c.h5", classes=[Tank])
    a, b = whole.run(0.5), again.run(0.5)
    assert a.q.tobytes() == b.q.tobytes()
    assert a.work["mass"].tobytes() == b.work["mass"].tobytes()
    assert a.energy.tobytes() == b.energy.tobytes()


def test_a_ball_that_becomes_lighter_presses_less():
    mb = sc.Multibody("ball", gravity=(0, 0, -G))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    body = mb.add_body("ball", None, sc.Free(), sc.Inertia(M0, moment=np.eye(3) * 0.04))
    body.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    mb.set_state([0, 0, 0, 1, 0, 0, 0.1], np.zeros(6))
    s = sim.System("s", integrator="moreau", step=1e-2)
    s.add("ball", sim.Plant(mb, forces=[sim.Contact()]))
    s.add("tank", Tank(rate=20.0))
    s.add("seen", sim.Gain(gain=1.0))
    s.connect("tank.mass", "ball.mass[ball]")
    s.connect("ball.contact_force[ball][2]", "seen.u")
    run = s.run(0.2)
    assert np.abs(run.signals["seen.y"][1:] - (M0 - 20.0 * run.t[:-1]) * G).max() < 1e-6 * M0 * G


def test_a_grip_holds_what_becomes_lighter():
    """The force of a closure on a body at rest is its weight at that time: its solver has the new masses."""
    mb = sc.Multibody("held", gravity=(0, 0, -G))
    mb.add_body("load", None, sc.Free(), sc.Inertia(M0, moment=np.eye(3)))
    mb.close_loop("grip", "inertial", "load", sc.Weld())
    s = sim.System("s", integrator="rk4", step=1e-2)
    s.add("crane", sim.Plant(mb))
    s.add("tank", Tank())
    s.add("seen", sim.Gain(gain=1.0))
    s.connect("tank.mass", "crane.mass[load]")
    s.connect("crane.closure_force[grip][5]", "seen.u")
    run = s.run(0.1)
    assert np.abs(run.signals["seen.y"] - (M0 - BURNT * run.t) * G).max() < 1e-9 * M0 * G


@pytest.mark.parametrize(("rate", "mass"), [(50.0, "0"), (51.0, "-0.2")])
def test_a_mass_that_is_used_up_is_refused_with_name_and_time(rate, mass):
    s = rocket(0.1)
    s.params["tank.rate"] = rate
    with pytest.raises(SimulationError, match=rf"the mass of 'hull' was given as {mass} kg at t = 0.2 s; it must be"):
        s.run(1.0)


def test_what_is_refused():
    s = rocket(0.1)
    s.connect("tank.mass", "ship.mass[hul]")
    s.connect("tank.mass", "ship.mass")
    s.connect("thrust.y", "ship.mass[hull]")
    s.connect("tank.mass", "ship.inertia[hull]")
    with pytest.raises(WiringError) as told:
        s.check()
    for text in (
        "the plant 'ship' has no body 'hul'; did you mean 'hull'",
        "ship.mass is of a body: write ship.mass[tank]",
        "'ship.mass[hull]' has two writers",
        "ship.inertia is no input: of inertias the mass alone is one, ship.mass[body]",
    ):
        assert text in str(told.value)
    with pytest.raises(WiringError, match=r"changes at the ends of steps, so these are fixed: integrator='rk4'"):
        rocket(None, integrator="dop853").check()
    s = rocket(0.1, G)
    s.add("other", sim.Plant(sc.load("pendulum")))
    with pytest.raises(WiringError, match=r"is known in a system of one plant"):
        s.check()


def test_a_mass_that_follows_accelerations_is_refused():
    mb = sc.Multibody("b")
    mb.add_body("hull", None, sc.Prismatic((0, 0, 1)), sc.Inertia(M0))
    s = sim.System("s", integrator="rk4", step=0.1)
    s.add("ship", sim.Plant(mb))
    s.add("by", sim.Gain(gain=1.0))
    s.connect("ship.vdot[hull]", "by.u")
    s.connect("by.y", "ship.mass[hull]")
    with pytest.raises(WiringError, match=r"the mass of 'hull' depends at once on accelerations"):
        s.check()
