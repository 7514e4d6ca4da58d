"""Masses of bodies that signals give."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import simpson
from tests.sim.chains import four_bar

import soacraft as sc
from soacraft import sim
from soacraft.errors import SimulationError, StateError, WiringError

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


@pytest.mark.parametrize(
    ("integrator", "order"), [("rk4", 4), ("moreau", 4), ("gauss4", 4), ("gauss6", 6), ("dop853", 0), ("radau", 0)]
)
def test_a_rocket_gains_the_integral_of_thrust_over_mass(integrator, order):
    """v = F/r ln(m0/m(t)): masses are read at every stage, so that the order is that of the method."""
    exact = F / BURNT * np.log(M0 / (M0 - BURNT * 4.0))
    if not order:
        assert abs(rocket(None, integrator=integrator, rtol=1e-9).run(4.0).v[-1, 0] - exact) < 1e-8 * exact
        return
    errors = [abs(rocket(h, integrator=integrator).run(4.0).v[-1, 0] - exact) for h in (0.5, 0.25, 0.125)]
    assert all(0.6 * 2**order < a / b < 1.6 * 2**order for a, b in pairwise(errors))


def test_the_rocket_of_a_launch_has_the_speed_of_tsiolkovsky():
    """Isp 300 s from 1,000 to 600 kg: 1502.846 m/s with steps of 0.1 s as with any; the tank is a state."""

    class Burning(sim.Component):
        thrust = sim.In("N")
        mass = sim.Continuous("kg", start=1000.0)

        @sim.output("kg")
        def now(mass):
            return mass

        @sim.rate(mass)
        def mass_rate(thrust):
            return -thrust / (300.0 * 9.80665)

    mb = sc.Multibody("rocket", gravity=(0, 0, 0))
    mb.add_body("hull", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1000.0, moment=100.0 * np.eye(3)))
    s = sim.System("s", integrator="rk4", step=0.1)
    ship = s.add("ship", sim.Plant(mb))
    s.add("tank", Burning())
    s.add("thrust", sim.Constant(value=4.0 * 300.0 * 9.80665, unit="N"))
    s.add("engine", sim.Force(), at=ship.dof("hull"))
    s.connect("thrust.y", "engine.command")
    s.connect("thrust.y", "tank.thrust")
    s.connect("tank.now", "ship.mass[hull]")
    run = s.run(100.0)
    assert run.v[-1, 0] == pytest.approx(300.0 * 9.80665 * np.log(1000.0 / 600.0), abs=1e-7)
    assert run.v[-1, 0] == pytest.approx(1502.846, abs=1e-3)
    assert run.check().imbalance < 1e-12 * run.energy.max()


@pytest.mark.parametrize("integrator", ["rk4", "dop853", "radau", "gauss4", "gauss6", "moreau"])
def test_the_energy_that_goes_with_the_mass_is_work_of_its_own(integrator):
    """dW = (v^2/2 + g z) dm along v = F/r ln(m0/m) - g t and its integral, by a quadrature of its own."""
    fixed = integrator not in ("dop853", "radau")
    run = rocket(0.01 if fixed else None, g=G, integrator=integrator).run(1.0)
    assert run.check().holds is not False  # None of fixed steps, which estimate no error
    assert run.check().imbalance < 1e-8 * np.abs(run.energy).max()
    u, m = F / BURNT, M0 - BURNT * np.linspace(0.0, 1.0, 2001)
    t = (M0 - m) / BURNT
    speed = u * np.log(M0 / m) - G * t
    height = u * (t - m / BURNT * np.log(M0 / m)) - 0.5 * G * t * t + 0.2  # of the centre of mass
    lost = simpson(0.5 * speed**2 + G * height, x=m)
    assert run.work["mass"][-1] == pytest.approx(lost, rel=1e-8)
    m = M0 - BURNT * run.t
    assert np.abs(run.kinetic - 0.5 * m * run.v[:, 0] ** 2).max() < 1e-11 * run.kinetic.max()


def two_rockets(integrator="rk4", step=0.05, forces=tuple):
    """Two plants with a mass each; one of them has two tanks."""
    s = sim.System("s", integrator=integrator, step=step)
    for name, tanks in (("a", 1), ("b", 2)):
        mb = sc.Multibody(name, gravity=(0, 0, 0))
        mb.add_body("hull", None, sc.Prismatic((0, 0, 1)), sc.Inertia(M0, moment=np.eye(3)))
        if tanks == 2:
            mb.add_body("second", "hull", sc.Weld(), sc.Inertia(M0, moment=np.eye(3)))
        ship = s.add(name, sim.Plant(mb, forces=forces()))
        s.add(f"{name}_tank", Tank(rate=BURNT * tanks))
        s.add(f"{name}_engine", sim.Force(), at=ship.dof("hull"))
        s.connect("thrust.y", f"{name}_engine.command")
        s.connect(f"{name}_tank.mass", f"{name}.mass[hull]")
    s.connect("a_tank.mass", "b.mass[second]")
    s.add("thrust", sim.Constant(value=F))
    return s


@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_masses_of_several_plants_and_bodies(integrator):
    """Each has the speed of its own mass, and the models of the plants the masses that they came to."""
    s = two_rockets(integrator, 0.05 if integrator == "rk4" else None)
    run = s.run(1.0)
    run = s.run(2.0)
    a, b = (s._plants[x].mb for x in "ab")
    exact = F / BURNT * np.log(M0 / (M0 - 2.0 * BURNT)), F / (3.0 * BURNT) * np.log(2.0 * M0 / (2.0 * M0 - 6.0 * BURNT))
    assert run.v[-1] == pytest.approx(exact, rel=1e-7)
    assert (a["hull"].inertia.mass, b["hull"].inertia.mass, b["second"].inertia.mass) == (6.0, 2.0, 6.0)
    assert run.check().imbalance < 1e-8 * run.energy.max()


@pytest.mark.parametrize(("integrator", "step", "close"), [("gauss6", 5e-3, 1e-8), ("dop853", None, 1e-8)])
def test_masses_on_a_closed_chain(integrator, step, close):
    """A rocker that becomes lighter: closures are kept, and the energy that goes is e dm."""
    mb = four_bar(0.3, 1.0, 0.8, 0.9, 0.5, 4.0)
    s = sim.System("s", integrator=integrator, step=step)
    s.add("bars", sim.Plant(mb))
    s.add("tank", Tank())
    s.connect("tank.mass", "bars.mass[rocker]")
    run = s.run(0.2)
    assert run.check().imbalance < close * np.abs(run.energy).max()
    assert abs(run.work["mass"][-1]) > 0.1
    assert np.isfinite(run.at(0.123).q).all()  # not stale by its own masses


def test_two_plants_that_are_restored_have_the_bits_of_those_that_go_on(tmp_path):
    whole = two_rockets()
    whole.run(0.25, checkpoint=tmp_path / "c.h5")
    again = sim.restore(tmp_path / "c.h5", classes=[Tank])
    a, b = whole.run(0.5), again.run(0.5)
    assert a.q.tobytes() == b.q.tobytes()
    assert a.work["mass"].tobytes() == b.work["mass"].tobytes()
    assert a.q[-1].tobytes() == two_rockets().run(0.5).q[-1].tobytes()


def test_a_force_element_of_one_plant_among_several_sees_the_masses_of_its_own_model():
    """A field of gravity pulls with the mass of the instant: all fall alike, whatever they burn."""
    s = two_rockets(forces=lambda: [sim.GravityField(lambda t, r: (0.0, 0.0, -G))])
    s.params["thrust.value"] = 0.0
    run = s.run(1.0)
    assert run.v[-1] == pytest.approx([-G, -G], rel=1e-12)
    assert run.check().imbalance < 1e-11 * run.energy.max()


def test_a_mass_that_jumps_takes_its_energy_at_once():
    """A stage of 4 kg is dropped at a crossing, and sampled masses at ticks: e dm at each, and the balance holds."""

    class Staged(sim.Component):
        dropped = sim.Discrete(start=0.0)

        @sim.output("kg")
        def mass(dropped):
            return M0 - 4.0 * dropped

        @sim.crossing(direction=1)
        def late(t):
            return t - 0.503

        @sim.jump(dropped, at=late)
        def drop():
            return 1.0

    mb = rocket(0.01).plants["ship"].mb
    s = sim.System("s", integrator="rk4", step=0.01)
    ship = s.add("ship", sim.Plant(mb))
    s.add("tank", Staged())
    s.add("thrust", sim.Constant(value=F))
    s.add("engine", sim.Force(), at=ship.dof("hull"))
    s.connect("thrust.y", "engine.command")
    s.connect("tank.mass", "ship.mass[hull]")
    run = s.run(1.0)
    first = F / M0 * 0.503
    assert run.v[-1, 0] == pytest.approx(first + F / 6.0 * 0.497, rel=1e-12)
    assert run.work["mass"][-1] == pytest.approx(-4.0 * 0.5 * first**2, rel=1e-12)
    assert run.check().imbalance < 1e-11 * run.energy.max()
    every = rocket(0.01, every=0.25).run(1.0)
    assert every.check().imbalance < 1e-11 * every.energy.max()


def test_linear_equations_know_how_masses_act():
    """vdot = F/m: in a state m of the tank -F/m^2, in an input that adds to the mass the same."""

    class Filled(sim.Component):
        more = sim.In("kg", default=0.0)
        fuel = sim.Continuous("kg", start=4.0)

        @sim.output("kg")
        def mass(fuel, more):
            return 6.0 + fuel + more

        @sim.rate(fuel)
        def fuel_rate(fuel):
            return -0.5 * fuel

    mb = sc.Multibody("rocket", gravity=(0, 0, -G))
    mb.add_body("hull", None, sc.Prismatic((0, 0, 1)), sc.Inertia(3.0, moment=np.eye(3)))
    s = sim.System("s", integrator="rk4", step=0.01)
    ship = s.add("ship", sim.Plant(mb))
    s.add("tank", Filled())
    s.add("extra", sim.Constant(value=0.0, unit="kg"))
    s.add("thrust", sim.Constant(value=F))
    s.add("engine", sim.Force(), at=ship.dof("hull"))
    s.connect("thrust.y", "engine.command")
    s.connect("extra.y", "tank.more")
    s.connect("tank.mass", "ship.mass[hull]")
    linear = s.linearize(["extra.y", "thrust.y"], "ship.vdot[hull]")
    assert linear.states[-1] == "tank.fuel"
    assert np.allclose(linear.A[1], [0.0, 0.0, -F / 100.0], rtol=0, atol=1e-9)
    assert np.allclose(linear.B[1], [-F / 100.0, 0.1], rtol=0, atol=1e-9)
    assert np.allclose(linear.D[0], [-F / 100.0, 0.1], rtol=0, atol=1e-9)


def test_the_moment_grows_with_the_mass_and_the_centre_stays():
    s = rocket(0.01)
    s.run(1.0)
    inertia = s.plants["ship"].mb["hull"].inertia
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
    # impulses are those of the mass at the end of the step
    assert np.abs(run.signals["seen.y"][1:] - (M0 - 20.0 * run.t[1:]) * G).max() < 1e-6 * M0 * G
    assert run.check().imbalance < 1e-9 * np.abs(run.energy).max()


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
    assert s.t == 0.1  # the last good row, with its mass
    assert s.plants["ship"].mb["hull"].inertia.mass == pytest.approx(M0 - rate * 0.1, rel=1e-15)


def test_a_step_that_is_located_or_refused_leaves_masses_of_the_row():
    """Adaptive steps that are tried and refused, and instants inside of steps that are looked at, change nothing."""
    s = rocket(None, integrator="dop853")
    run = s.run(1.0)
    mass = s.plants["ship"].mb["hull"].inertia.mass
    run.at(0.3)
    s.pose("ship:hull")
    assert s.plants["ship"].mb["hull"].inertia.mass == mass == M0 - BURNT


def test_derivatives_of_a_run_with_masses_that_vary_are_refused():
    run = rocket(0.1).run(1.0)
    with pytest.raises(StateError, match=r"not known of masses that vary, as those of 'rocket'"):
        run.derivatives()


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
    with pytest.raises(WiringError, match=r"ship.mass\[hull\]: 'cvode' goes on from the history .*integrator='radau'"):
        rocket(None, integrator="cvode").check()


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


@pytest.mark.parametrize(
    ("port", "text"),
    [
        ("ship.mass[frame]", r"ship.mass\[frame\]: the body is flexible or has no mass, which could be scaled"),
        ("ship.mass[hul]", r"the plant 'ship' has no body 'hul'"),
        ("ship.mass", r"ship.mass is of a body: write ship.mass\[tank\]"),
    ],
)
def test_masses_of_what_has_none_are_refused(port, text):
    mb = sc.Multibody("rocket")
    frame = mb.add_body("frame", None, sc.Prismatic((1, 0, 0)), sc.Inertia())
    mb.add_body("hull", frame, sc.Prismatic((0, 0, 1)), sc.Inertia(M0, (0, 0, 0), np.eye(3)))
    s = sim.System("s", integrator="rk4", step=0.1)
    s.add("ship", sim.Plant(mb))
    s.add("tank", Tank())

    def begin():
        s.connect("tank.mass", port)
        s.check()

    with pytest.raises(WiringError, match=text):
        begin()
