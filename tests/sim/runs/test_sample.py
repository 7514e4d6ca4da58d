"""States, accelerations, forces, work, energies and signals of a run at times between its rows."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from tests.sim.chains import four_bar, slider_crank

import soacraft as sc
from soacraft import sim
from soacraft.errors import StaleError, StateError


def push(t):
    """A smooth force with a peak between rows of an adaptive method."""
    return 3.0 * np.exp(-20.0 * (t - 0.77) ** 2)


def cart(**options):
    mb = sc.load("cart_pole")
    mb.set_state([0.0, 1.0], [0.0, 0.0])
    p = sim.Propagator(mb, **options)
    p.control("cart", lambda t, state: push(t) + 0.5 * np.sin(state.q[1]))
    return p


def free_chain():
    mb = sc.Multibody("float", gravity=(0, 0, -9.81))
    mb.add_body("hub", None, sc.Free(), sc.Inertia(2.0, (0.1, 0, 0), np.diag([0.2, 0.3, 0.4])))
    ball = sc.Inertia(1.0, (0.2, 0, 0.1), np.diag([0.1, 0.2, 0.2]))
    mb.add_body("ball", "hub", sc.Spherical(), ball, sc.Pose(translation=(0.5, 0, 0)))
    mb.set_state(mb.q, [0.3, -1.0, 2.0, 0.5, 0.0, 0.2, 1.0, -0.4, 0.6])
    return mb


@pytest.mark.parametrize("integrator", ["dop853", "rk4"])
@pytest.mark.parametrize("make", ["free", "cart"])
def test_arrays_are_the_states_one_by_one(make, integrator):
    options = {"integrator": integrator} | ({"step": 0.02} if integrator == "rk4" else {})
    p = cart(**options) if make == "cart" else sim.Propagator(free_chain(), **options)
    run = p.advance_to(0.5)
    t = np.array([[0.0, 0.013], [0.1, 0.25], [0.4999, 0.5]])
    sample = run.at(t)
    assert sample.t.shape == (3, 2)
    assert sample.q.shape == (3, 2, p.mb.nq)
    assert sample.vdot.shape == (3, 2, p.mb.nv)
    for i in np.ndindex(t.shape):
        one = run.at(t[i])
        np.testing.assert_allclose(sample.q[i], one.q, atol=1e-15)
        np.testing.assert_allclose(sample.v[i], one.v, atol=1e-14)
        np.testing.assert_allclose(sample.vdot[i], one.vdot, atol=1e-12)
        np.testing.assert_allclose(sample.energy[i], one.energy, atol=1e-13)
        assert set(one.forces) == set(run.forces)
    assert run.at([]).q.shape == (0, p.mb.nq)


def test_the_peak_of_a_smooth_force_is_right_to_the_tolerance():
    """An adaptive method has few rows: their largest force is off by parts of a hundred."""
    run = cart(rtol=1e-10).advance_to(1.5)
    t = np.linspace(0.0, 1.5, 3001)
    sample = run.at(t)
    exact = push(t) + 0.5 * np.sin(sample.q[:, 1])
    assert np.array_equal(sample.forces["cart"][:, 0], exact)
    fine = cart(rtol=1e-13)
    fine = np.array([fine.advance_to(x).q[-1] for x in t[::300]])
    np.testing.assert_allclose(sample.q[::300], fine, atol=2e-9)
    assert exact.max() - run.forces["cart"][:, 0].max() > 1e-3 * exact.max()


@pytest.mark.parametrize("integrator", ["dop853", "radau", "rk4", "gauss4", "generalized_alpha"])
def test_accelerations_are_those_of_the_equations_of_motion(integrator):
    fixed = {"rk4": 0.01, "gauss4": 0.01}
    p = cart(integrator=integrator, step=fixed.get(integrator), rtol=1e-6)
    run = p.advance_to(1.0)
    sample = run.at(np.linspace(0.01, 0.99, 40))
    force = sc.dynamics.inverse_dynamics(p.mb, sample.q, sample.v, sample.vdot)
    np.testing.assert_allclose(force, sample.forces["cart"], atol=1e-11)


def test_work_and_energy_between_rows_agree():
    run = cart(rtol=1e-11).advance_to(1.5)
    sample = run.at(np.linspace(0.0, 1.5, 200))
    np.testing.assert_allclose(sample.energy - sample.energy[0], sample.work["cart"], atol=1e-8)
    np.testing.assert_allclose(sample.kinetic + sample.potential, sample.energy, atol=1e-12)


@pytest.mark.parametrize("make", [lambda: four_bar(1.0, 2.0, 2.0, 2.0, 1.2, 3.0), lambda: slider_crank(4.0)])
def test_closed_chains_keep_their_closures_and_accelerations(make):
    mb = make()
    p = sim.Propagator(mb)
    p.control("crank", lambda t, state: push(t))
    run = p.advance_to(0.4)
    sample = run.at(np.linspace(0.0, 0.4, 30))
    s = sc.loops.TreeAugmented(mb)
    for q, v, vdot, force in zip(sample.q, sample.v, sample.vdot, sample.forces["crank"], strict=True):
        np.testing.assert_allclose(s.forward_dynamics(q, v, force).vdot, vdot, atol=1e-8 * np.abs(vdot).max())


def test_rows_are_found_again():
    run = cart().advance_to(1.0)
    sample = run.at(run.t)
    np.testing.assert_array_equal(sample.q, run.q)
    np.testing.assert_allclose(sample.vdot, run.vdot, atol=1e-12)
    np.testing.assert_allclose(sample.forces["cart"], run.forces["cart"], atol=1e-14)
    np.testing.assert_allclose(sample.work["cart"], run.work["cart"], atol=1e-15)


def test_the_end_may_be_named_as_it_was_to_advance_to():
    """0.1 + 0.2 is rounded to 0.3; half a nanosecond is let pass at both ends, and no more."""
    run = sim.Propagator(sc.load("pendulum")).advance_to(0.1 + 0.2)
    assert run.at(0.1 + 0.2).t == run.t[-1] == 0.3
    assert run.at(-4.9e-10).t == 0.0
    assert run.at([0.1, 0.3 + 4.9e-10]).t.tolist() == [0.1, 0.3]
    for t in (-6e-10, 0.3 + 6e-10, [0.1, 0.31]):
        with pytest.raises(StateError, match=r"is not in this run, which covers 0 to 0\.3 s"):
            run.at(t)
    with pytest.raises(StateError, match="the times"):
        run.at([0.1, np.nan])


def test_controls_that_are_held_are_those_of_their_time():
    """At a jump the side after it; later numbers do not act on earlier steps."""
    mb = sc.load("pendulum")
    p = sim.Propagator(mb)
    p.control("bob", 0.0)
    p.every(0.1, lambda t, state: p.control("bob", float(round(10 * t))))
    run = p.advance_to(0.45)
    p.control("bob", 77.0)
    sample = run.at([0.05, 0.1, 0.15, 0.3, 0.39, 0.44])
    assert sample.forces["bob"][:, 0].tolist() == [0.0, 1.0, 1.0, 3.0, 3.0, 4.0]
    force = sc.dynamics.inverse_dynamics(mb, sample.q, sample.v, sample.vdot)
    np.testing.assert_allclose(force, sample.forces["bob"], atol=1e-12)
    assert run.at(0.2).forces["bob"] == 2.0
    assert float(p.advance_to(0.451).forces["bob"][-1, 0]) == 77.0  # it is still what acts


def test_a_sample_leaves_the_run_as_it_was():
    """A run goes on with the same bits, whatever was asked of it meanwhile."""

    def made():
        mb = sc.load("pendulum")
        mb.set_state([1.0], [0.0])
        p = sim.Propagator(mb)
        p.add(sim.HingeFriction("bob", coulomb=1.5), sim.JointLimit("bob", lower=-0.3, upper=2.0, restitution=0.3))
        return p

    a, b = made(), made()
    first = a.advance_to(2.0), b.advance_to(2.0)
    first[0].at(np.linspace(0, 2, 50)).forces  # noqa: B018
    first[0].reactions("bob")
    np.testing.assert_array_equal(a.advance_to(3.0).q, b.advance_to(3.0).q)


def test_friction_and_stops_have_the_modes_of_their_time():
    """It slips one way, the other, and sticks: forces at any time explain the accelerations there."""
    mb = sc.load("pendulum")
    mb.set_state([1.0], [0.0])
    p = sim.Propagator(mb)
    p.add(sim.HingeFriction("bob", coulomb=1.5))
    run = p.advance_to(6.0)
    assert run.v[-1] == 0.0
    sample = run.at(np.linspace(0.0, 6.0, 301))
    force = sc.dynamics.inverse_dynamics(mb, sample.q, sample.v, sample.vdot)[:, 0]
    rub = sample.forces["friction of bob"][:, 0]
    np.testing.assert_allclose(force, rub, atol=1e-9)
    moving = np.abs(sample.v[:, 0]) > 1e-6
    np.testing.assert_allclose(rub[moving], -1.5 * np.sign(sample.v[moving, 0]))
    assert (np.abs(rub[~moving]) < 1.5 + 1e-9).all()


def test_prescribed_motions_take_their_force():
    mb = sc.load("cart_pole")
    p = sim.Propagator(mb)
    p.prescribe("cart", lambda t: (np.sin(3 * t), 3 * np.cos(3 * t), -9 * np.sin(3 * t)))
    run = p.advance_to(1.0)
    sample = run.at(np.linspace(0.0, 1.0, 50))
    force = sc.dynamics.inverse_dynamics(mb, sample.q, sample.v, sample.vdot)
    np.testing.assert_allclose(force, sample.forces["prescribed"], atol=1e-10)
    np.testing.assert_allclose(sample.vdot[:, 0], -9 * np.sin(3 * sample.t), atol=1e-12)


def test_what_was_changed_since_is_refused():
    p = cart()
    run = p.advance_to(0.5)
    p.mb["pole"].inertia = sc.Inertia(9.0, (0, 0, 0), np.eye(3))
    assert run.at(0.25).q.shape == (2,)
    for ask in (lambda: run.at(0.25).vdot, lambda: run.at([0.25]).energy):
        with pytest.raises(StaleError, match=r"'cart_pole' was changed after the step around t = 0.25 s.* ask run.at"):
            ask()
    with pytest.raises(StaleError, match=r"was changed after the step .*, so reactions between rows"):
        run.reactions("pole")
    p = cart()
    run = p.advance_to(0.5)
    p.mb.set_force("pole", sc.Wrench((0, 0, 0), (1, 0, 0)))
    with pytest.raises(StaleError, match=r"the forces of mb.set_force on 'cart_pole' were changed"):
        run.at(0.25).forces  # noqa: B018
    p.mb.clear_forces()
    assert run.at(0.25).forces["cart"].shape == (2,)
    p.control("cart", lambda t, state: 0.0)
    with pytest.raises(StaleError, match="a control or a force on 'cart_pole' was replaced"):
        run.at(0.25).forces  # noqa: B018


def test_functions_that_read_what_was_changed_are_refused():
    """A callback sets what a control reads: steps before its last change are not known any more, those after it are."""
    mb, goal = sc.load("pendulum"), [0.0]
    p = sim.Propagator(mb)
    p.control("bob", lambda t, state: goal[0] - state.q[0])
    p.every(0.1, lambda t, state: goal.__setitem__(0, round(10 * t)))
    run = p.advance_to(0.35)
    sample = run.at([0.31, 0.34])
    np.testing.assert_array_equal(sample.forces["bob"][:, 0], 3.0 - sample.q[:, 0])
    assert sample.reactions("bob").shape == (2, 6)
    for ask in (lambda: run.at(0.15).forces, lambda: run.at([0.15, 0.31]).vdot, lambda: run.reactions("bob")):
        with pytest.raises(
            StaleError, match=r"the force 'bob' is another one now than at t = .* Interpolate run.forces"
        ):
            ask()
    assert sc.view.plot(run, "forces").panels[0].lines["bob"][0] is run.t  # rows alone


def test_a_jump_has_both_sides():
    """A force that jumps at the end of a step, with its break named or not, is the one before it in that step."""
    for options in ({"breaks": [0.5]}, {}):
        p = sim.Propagator(
            sc.load("pendulum"), integrator="dop853" if options else "rk4", step=None if options else 0.1
        )
        p.control("bob", lambda t, state: 1.0 if t < 0.5 else 4.0, **options)
        sample = p.advance_to(1.0).at([0.45, np.nextafter(0.5, 0), 0.5, 0.55])
        assert sample.forces["bob"][:, 0].tolist() == [1.0, 1.0, 4.0, 4.0]


def test_impulses_of_contact_are_means_of_their_step():
    mb = sc.Multibody(gravity=(0, 0, -9.81))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    ball = mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3) * 0.004))
    ball.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    mb.set_state([0, 0, 0, 1, 0, 0, 0.15], np.zeros(6))
    p = sim.Propagator(mb, integrator="moreau", step=0.01)
    p.add(sim.Contact())
    run = p.advance_to(0.3)
    t = 0.5 * (run.t[1:] + run.t[:-1])
    sample = run.at(t)
    np.testing.assert_array_equal(sample.forces["contact"], run.forces["contact"][1:])
    np.testing.assert_array_equal(sample.vdot, run.vdot[1:])
    momentum = np.diff(run.v[:, 5])
    np.testing.assert_allclose(0.01 * (sample.forces["contact"][:, 5] - 9.81), momentum, atol=1e-12)


def system(clock):
    mb = sc.load("pendulum")
    s = sim.System("s", integrator="dop853")
    s.add("arm", sim.Plant(mb))
    s.add("wave", sim.Sine(amplitude=2.0, frequency=1.5))
    source = "wave.y"
    if clock:
        s.add("hold", sim.SampleHold(), every=0.05)
        s.connect(source, "hold.u")
        source = "hold.y"
    s.connect(source, "arm.force[bob]")
    return s


def test_signals_of_continuous_components_are_evaluated():
    run = system(False).run(1.0)
    t = np.linspace(0.0, 1.0, 333)
    sample = run.at(t)
    (name,) = [x for x in run.signals if x.endswith("wave.y")]
    np.testing.assert_allclose(sample.signals[name], 2.0 * np.sin(2 * np.pi * 1.5 * t), atol=1e-12)
    np.testing.assert_array_equal(sample.forces["wave.y"][:, 0], sample.signals[name])
    assert not sample.from_rows


def test_signals_of_clocks_are_held():
    run = system(True).run(1.0)
    sample = run.at([0.06, 0.0999, 0.1, 0.149])
    (name,) = [x for x in run.signals if x.endswith("hold.y")]
    ticks = np.array([0.05, 0.05, 0.1, 0.1])
    np.testing.assert_allclose(sample.signals[name], 2.0 * np.sin(3 * np.pi * ticks), atol=1e-12)
    assert sample.from_rows


def test_a_system_goes_on_as_it_was_after_samples():
    a, b = system(False), system(False)
    asked = a.run(0.5)
    b.run(0.5)
    asked.at(np.linspace(0, 0.5, 20)).signals  # noqa: B018
    np.testing.assert_array_equal(a.run(1.0).q, b.run(1.0).q)


def test_a_log_has_its_rows_alone(tmp_path):
    cart().advance_to(0.2, log=tmp_path / "run.h5")
    run = sim.read(tmp_path / "run.h5")
    with pytest.raises(StateError, match="has its rows alone and no dense output"):
        run.at([0.1])
    with pytest.raises(StateError, match=r"reactions are computed from the model .* make the run again"):
        run.reactions("pole")


def test_a_sample_says_what_it_is():
    run = sim.Propagator(sc.load("pendulum")).advance_to(1.0)
    assert repr(run.at(0.5)) == "Sample at t = 0.5 s: q = [0.]"
    assert repr(run.at([0.0, 0.5])) == "Sample at 2 times, t = 0 to 0.5 s: 1 coordinates, 1 dofs"
    t, q, v = run.at(0.5)
    assert (t, q.tolist(), v.tolist()) == (0.5, [0.0], [0.0])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_know_what_the_run_knows(copied):
    """Their models count changes anew; what was changed before stays refused."""
    for p, dof in ((cart_with_number(), "pole"), (sim.Propagator(four_bar(1.0, 2.0, 2.0, 2.0, 1.2, 3.0)), "crank")):
        run = p.advance_to(0.2)
        other = copied(run)
        np.testing.assert_array_equal(other.at([0.05, 0.15]).q, run.at([0.05, 0.15]).q)
        np.testing.assert_allclose(other.at([0.05, 0.15]).vdot, run.at([0.05, 0.15]).vdot, atol=1e-12)
        np.testing.assert_allclose(other.reactions(dof), run.reactions(dof), atol=1e-9)
        p.mb[dof].inertia = sc.Inertia(9.0, (0, 0, 0), np.eye(3))
        assert other.at(0.1).vdot.shape == (p.mb.nv,)
        with pytest.raises(StaleError):
            copied(run).at(0.1).vdot  # noqa: B018


def cart_with_number():
    mb = sc.load("cart_pole")
    mb.set_state([0.0, 1.0], [0.0, 0.0])
    p = sim.Propagator(mb)
    p.control("cart", 1.5)
    return p
