"""Rigid stops and friction that sticks in compiled steps: those of Python, up to the steps in which something begins or
ends to hold; closed forms."""

from functools import partial

import numpy as np
import pytest
from tests.sim.combinations import flexible
from tests.sim.forces.test_compiled_prescribed import swing
from tests.sim.test_closed import four_bar
from tests.sim.test_compiled import agree, in_python
from tests.sim.test_compiled_refusals import first_call
from tests.sim.test_order import tree

import soacraft as sc
from soacraft import sim
from soacraft.errors import SimulationError
from soacraft.sim import compiled
from soacraft.sim.runs.block import Block

METHODS = ("rk4", "dop853", "gauss6", "euler_symplectic", "verlet")
X, Z = sc.Prismatic((1, 0, 0)), sc.Prismatic((0, 0, 1))


def carried(hinge, q, v, gravity=(0, 0, 0)):
    """A mass of 1 kg on a hinge, which carries a light load that nothing touches."""
    mb = sc.Multibody("mass", gravity=gravity)
    mb.add_body("mass", None, hinge, sc.Inertia(1.0))
    mb.add_body(
        "load",
        "mass",
        sc.Prismatic((0, 1, 0)),
        sc.Inertia(1e-9, moment=1e-9 * np.eye(3)),
        sc.Pose(translation=(0, 0, 1)),
    )
    mb.set_state([q, 0.0], [v, 0.0])
    return mb


def bouncing(p_of):
    p = p_of(carried(Z, 1.0, 0.0, (0, 0, -9.81)))
    p.add(sim.JointLimit("mass", lower=0.0, upper=5.0, restitution=0.8))
    return p


def sticking(p_of):
    """It slips, sticks, and is torn loose by a control."""
    mb = carried(X, 0.3, 0.0)
    mb["mass"].passive = sc.Passive(stiffness=100.0)
    p = p_of(mb)
    p.add(sim.HingeFriction("mass", coulomb=2.0, static=3.0, stribeck=0.1, viscous=0.2))
    p.control("mass", lambda t, state: 2.5 * np.sin(7 * t))
    return p


def leaning(p_of):
    """An arm that falls on a stop, leans on it with friction in the next hinge, and is lifted; a dof is prescribed."""
    mb = tree([sc.Pin((0, 1, 0)), sc.Pin((0, 1, 0)), X, sc.Spherical()])
    p = p_of(mb)
    names = mb.dof_names
    q = mb.q[0]
    p.add(sim.JointLimit(names[0], lower=q - 0.02, upper=q + 0.05), sim.HingeFriction(names[1], coulomb=0.3))
    p.prescribe(names[2], partial(swing, rate=4.0, size=0.1))
    p.control(names[0], lambda t, state: 30.0 * np.sin(20.0 * t))
    return p


def bent(p_of):
    p = p_of(flexible())
    p.add(sim.JointLimit("first", lower=0.45, upper=1.0, restitution=0.4))
    p.add(sim.HingeFriction("first", coulomb=1.0))
    return p


def linkage(p_of):
    """A four-bar whose crank strikes a stop, and whose rocker has friction."""
    mb = four_bar()
    p = p_of(mb)
    q = mb.q[0]
    p.add(sim.JointLimit(mb.dof_names[0], lower=q - 0.05, upper=q + 0.05, restitution=0.5))
    p.add(sim.HingeFriction(mb.dof_names[2], coulomb=0.5))
    p.control(mb.dof_names[0], lambda t, state: 20.0 * np.cos(25.0 * t))
    return p


def stuck(p_of):
    """A four-bar whose crank sticks until it is torn loose, and a pendulum on its coupler, which swings meanwhile."""
    mb = four_bar()
    swings = sc.Inertia(0.5, (0, 0, -0.2), 0.01 * np.eye(3))
    mb.add_body("pendulum", mb.bodies[1], sc.Pin((0, 1, 0)), swings)
    mb.set_state(mb.q, np.append(np.zeros(mb.nv - 1), 1.0))
    p = p_of(mb)
    p.add(sim.HingeFriction(mb.dof_names[0], coulomb=8.0))
    p.control(mb.dof_names[0], lambda t, state: 15.0 * np.sin(15.0 * t))
    return p


SCENES = {"bouncing": (bouncing, 0.8), "sticking": (sticking, 0.5), "leaning": (leaning, 0.2), "flexible": (bent, 0.2),
          "linkage": (linkage, 0.2), "stuck": (stuck, 0.3)}  # fmt: skip


def maker(method):
    how = {"rtol": 1e-8} if method == "dop853" else {"step": 0.002}
    return lambda mb: sim.Propagator(mb, integrator=method, **how)


def compiled_steps(run):
    blocks = [len(x.t) - 1 for _, x in run._dense if isinstance(x, Block)]
    return sum(blocks), sum(not isinstance(x, Block) for _, x in run._dense)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SCENES)
def test_steps_are_those_of_python(name, method, monkeypatch):
    scene, goal = SCENES[name]
    p = scene(maker(method))
    run = p.run(goal)
    assert "steps: compiled" in str(p.report())
    many, few = compiled_steps(run)
    assert many > 0
    assert len(run.events) > 0
    if method != "dop853":
        assert few < 12 * len(run.events)
        assert many > few
    in_python(monkeypatch)
    other = scene(maker(method)).run(goal)
    assert [x.name for x in run.events] == [x.name for x in other.events]
    np.testing.assert_allclose([x.t for x in run.events], [x.t for x in other.events], rtol=0, atol=4e-9)
    if method == "dop853":  # rounding of errors moves steps by some nanoseconds, and events by less than the tolerance
        np.testing.assert_allclose(run.q[-1], other.q[-1], rtol=0, atol=1e-7)
    else:
        agree(run, other, 1e-9)


def test_a_dry_oscillator_loses_as_much_in_each_half_of_a_period():
    """m xddot = -k x - F sign(xdot): turns at x - 2 F/k of the one before, half a period apart, until k |x| < F."""
    mb = carried(X, 1.0, 0.0)
    mb["mass"].passive = sc.Passive(stiffness=100.0)
    p = sim.Propagator(mb, rtol=1e-11)
    p.add(sim.HingeFriction("mass", coulomb=11.0))
    run = p.run(3.0)
    turns = list(run.events)
    wanted = 1.0 - 0.22 * np.arange(1, 6)  # the last is below .11: it sticks there
    assert [abs(x.q[0]) for x in turns] == pytest.approx(np.abs(wanted[: len(turns)]), abs=1e-8)
    assert [x.t for x in turns] == pytest.approx(np.pi / 10 * np.arange(1, len(turns) + 1), abs=1e-7)
    assert len(turns) == 5 or abs(wanted[len(turns) - 1]) < 0.11
    assert run.v[-1, 0] == 0.0
    assert compiled_steps(run)[0] > 0


def test_a_bouncing_mass():
    """Falls of sqrt(2 h/g), each rise 0.8 times as fast as the fall."""
    run = bouncing(lambda mb: sim.Propagator(mb, integrator="rk4", step=0.001)).run(2.0)
    fall = np.sqrt(2.0 / 9.81)
    wanted = fall * np.array([1.0, 1.0 + 2 * 0.8, 1.0 + 2 * 0.8 + 2 * 0.64])
    assert [x.t for x in run.events] == pytest.approx(wanted, abs=1e-9)
    many, few = compiled_steps(run)
    assert few < 0.01 * many


def test_what_sticks_is_torn_loose_within_a_step():
    """By a pulse that is over at the end of the step: margins are looked at inside."""
    mb = carried(X, 0.0, 0.0)
    p = sim.Propagator(mb, integrator="rk4", step=0.01)
    p.add(sim.HingeFriction("mass", coulomb=1.0))
    p.control("mass", lambda t, state: 1.5 * np.exp(-(((t - 0.105) / 0.002) ** 2)))
    run = p.run(0.2)
    assert 0.1 < run.events[0].t < 0.105


def test_a_stop_is_struck_within_a_step():
    """By a mass that is thrown up to it, and would be below at both ends of the step."""
    p = sim.Propagator(carried(Z, 0.0, 1.0, (0, 0, -9.81)), integrator="rk4", step=0.19)
    p.add(sim.JointLimit("mass", lower=-5.0, upper=0.05))
    run = p.run(0.19)
    assert [x.t for x in run.events] == pytest.approx([(1.0 - np.sqrt(1.0 - 2 * 9.81 * 0.05)) / 9.81], abs=1e-9)


def test_halves_have_the_same_bits():
    def run(*goals):
        p = sticking(lambda mb: sim.Propagator(mb, integrator="rk4", step=0.002))
        for t in goals:
            p.run(t)
        return np.concatenate([p.mb.q, p.mb.v])

    whole = run(0.8)
    for middle in (0.1, 0.322, 0.45, 0.7):
        np.testing.assert_array_equal(run(middle, 0.8), whole)


def test_friction_that_closures_tie_is_left_to_python():
    """Of a chain of one degree of freedom in two hinges: how they share the force is no matter of rows."""
    mb = four_bar()
    p = sim.Propagator(mb, integrator="rk4", step=0.002)
    mb.v = np.zeros(mb.nv)
    p.add(sim.HingeFriction(mb.dof_names[0], coulomb=30.0), sim.HingeFriction(mb.dof_names[2], coulomb=30.0))
    run = p.run(0.01)
    assert compiled_steps(run) == (0, 5)
    assert not run.v.any()


def test_energy_and_work():
    """All that friction takes, the energy loses; a stop without restitution takes its part at once."""
    run = sticking(lambda mb: sim.Propagator(mb, rtol=1e-10)).run(1.5)
    work = sum(run.work.values())
    work -= run.work["passive"]  # that of the spring is energy
    np.testing.assert_allclose(run.energy - run.energy[0], work - work[0], rtol=0, atol=1e-7)
    assert np.all(np.diff(run.work["friction of mass"]) <= 1e-12)


def test_a_prescribed_motion_beyond_a_stop_is_refused():
    mb = carried(X, 0.0, 0.0)
    p = sim.Propagator(mb, integrator="rk4", step=0.002)
    p.add(sim.JointLimit("mass", lower=-1.0, upper=0.1))
    p.prescribe("mass", lambda t: (t, 1.0, 0.0))
    with pytest.raises(SimulationError, match="the limit of mass is struck, and no impulse turns dof"):
        p.run(0.2)


@pytest.mark.parametrize("states", [None, 2])
def test_steppers_are_compiled_between_events(states, monkeypatch):
    def ends():
        p = bouncing(lambda mb: sim.Propagator(mb, integrator="rk4", step=0.002))
        step = p.stepper([], states=states)
        assert "those of runs, compiled between events, since 'limit of mass' is a JointLimit" in str(step.report())
        step(400)
        return np.concatenate([step.q, step.v], axis=-1)

    run = ends()
    in_python(monkeypatch)
    np.testing.assert_allclose(run, ends(), rtol=0, atol=1e-12)


class Counting(sim.Component):
    """The number of its ticks."""

    n = sim.Discrete(start=0.0)

    @sim.update(n)
    def count(n):
        return n + 1.0

    @sim.output()
    def number(n):
        return n


class Pushing(sim.Component):
    """A force that grows with a state, and jumps at the ticks of another component."""

    x = sim.Continuous("", start=0.0)
    k = sim.In()

    @sim.rate(x)
    def rise(t):
        return 10.0

    @sim.output("N", to="force")
    def force(x, k, t):
        return (x + 0.02 * k) * np.cos(12.0 * t)


@pytest.mark.parametrize("method", ["rk4", "gauss4"])
def test_components_push_what_sticks(method, monkeypatch):
    def run():
        s = sim.System("pushed", integrator=method, step=0.002)
        plant = s.add("body", sim.Plant(carried(X, 0.0, 0.0), forces=[sim.HingeFriction("mass", coulomb=1.0)]))
        s.add("count", Counting(), every=0.01)
        s.add("push", Pushing(), at=plant.dof("mass"))
        s.connect("count.number", "push.k")
        return s.run(0.6)

    made = run()
    many, few = compiled_steps(made)
    assert many > 5 * few
    in_python(monkeypatch)
    other = run()
    assert len(made.events) == len(other.events) > 0
    np.testing.assert_allclose([x.t for x in made.events], [x.t for x in other.events], rtol=0, atol=4e-9)
    np.testing.assert_allclose(made.q[-1], other.q[-1], rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"dofs": np.array([2])}, "dofs has an entry 2 out of range"),
        ({"places": np.array([2])}, "places has an entry 2 out of range"),
        ({"rows": np.array([1])}, "rows has an entry 1 out of range"),
        ({"stops": np.array([2])}, "stops has an entry 2 out of range"),
        ({"modes": np.zeros(2)}, "modes has length 2, not 1"),
        ({"laws": np.zeros((1, 5))}, "laws has length 5, not 6"),
    ],
)
def test_what_does_not_fit_is_refused(change, text, monkeypatch):
    p = bouncing(lambda mb: sim.Propagator(mb, integrator="rk4", step=0.002))
    call = first_call(monkeypatch, lambda: p.run(0.1))
    call[1] = call[1]._replace(holds=call[1].holds._replace(**change))
    with pytest.raises(ValueError, match=text):
        compiled._core.advance(*call)


def test_holds_without_prescribed_dofs_are_refused(monkeypatch):
    p = bouncing(lambda mb: sim.Propagator(mb, integrator="rk4", step=0.002))
    call = first_call(monkeypatch, lambda: p.run(0.1))
    call[1] = call[1]._replace(prescribed=None)
    with pytest.raises(ValueError, match="what holds prescribes motions"):
        compiled._core.advance(*call)
