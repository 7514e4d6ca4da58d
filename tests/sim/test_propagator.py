"""Propagators: pauses, callbacks, controls, given motions, forces, failures and refusals."""

import numpy as np
import pytest

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import LoopError, ModelError, SimulationError, StaleError, StateError, UnknownAttributeError


def pendulum(q=1.0, v=0.0):
    mb = sc.load("pendulum")
    mb.set_state([q], [v])
    return mb


def spinning():
    """A tree with quaternions."""
    mb = sc.random_tree(3, seed=4, hinges=[sc.Spherical(), sc.Free(), sc.Pin((0, 1, 0))])
    mb.set_state(*mb.random_state(2))
    return mb


# -- time ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", ["rk4", "euler_symplectic", "verlet"])
def test_one_go_and_two_halves_give_the_same_bits(integrator):
    ends = []
    for pauses in ((0.2,), (0.1, 0.2), (0.07, 0.1, 0.2)):
        mb = spinning()
        p = sc.sim.Propagator(mb, integrator=integrator, step=0.01)
        for t in pauses:
            p.advance_to(t)
        ends.append(np.concatenate([mb.q, mb.v]))
    assert np.array_equal(ends[0], ends[1])
    assert np.array_equal(ends[0], ends[2])


def test_a_restart_from_saved_numbers_gives_the_same_bits():
    mb = spinning()
    whole = sc.sim.Propagator(mb, integrator="rk4", step=0.01).advance_to(0.2)
    half = np.searchsorted(whole.t, 0.1)
    other = spinning()
    other.set_state(whole.q[half], whole.v[half])
    sc.sim.Propagator(other, integrator="rk4", step=0.01, t=whole.t[half]).advance_to(0.2)
    assert np.array_equal(other.q, whole.q[-1])
    assert np.array_equal(other.v, whole.v[-1])


def test_callbacks_never_slip_and_see_the_model():
    mb = pendulum()
    seen, p = [], sc.sim.Propagator(mb, rtol=1e-6)
    p.every(0.001, lambda t, state: seen.append((t, state.q[0], mb.q[0], mb.vdot[0])))
    run = p.advance_to(0.1)
    p.advance_to(0.2)
    times = np.array([x[0] for x in seen])
    assert len(seen) == 201
    np.testing.assert_array_equal(times, np.arange(201) / 1000)
    assert all(x[1] == x[2] for x in seen)
    np.testing.assert_allclose([x[3] for x in seen], [-9.81 * np.sin(x[1]) for x in seen], rtol=1e-12)
    assert run.at(0.05).q[0] == pytest.approx(seen[50][1], abs=1e-9)


def test_a_callback_may_change_the_state():
    mb = pendulum()
    p = sc.sim.Propagator(mb)

    def kick(t, state):
        if t == 0.5:
            mb.v = [3.0]

    p.every(0.25, kick)
    run = p.advance_to(0.5)
    assert mb.v[0] == 3.0
    assert list(run.t[-2:]) == [0.5, 0.5]
    assert run.at(0.5).v[0] == 3.0


def test_a_digital_controller_sets_a_control():
    """Sampled every 10 ms and held: the same as the exact solution of a mass under piecewise constant force."""
    mb = sc.Multibody("mass", gravity=(0, 0, 0))
    mb.add_body("mass", None, sc.Prismatic((1, 0, 0)), sc.Inertia(2.0, (0, 0, 0), np.eye(3)), hinge_name="slide")
    mb.set_state([1.0], [0.0])
    p = sc.sim.Propagator(mb)
    p.control("slide", 0.0)
    p.every(0.01, lambda t, state: p.control("slide", -4.0 * state.q[0]))
    run = p.advance_to(0.2)
    x, v = 1.0, 0.0
    for _ in range(20):
        a = -2.0 * x
        x, v = x + 0.01 * v + 0.5e-4 * a, v + 0.01 * a
    np.testing.assert_allclose([mb.q[0], mb.v[0]], [x, v], atol=1e-12)
    assert run.check().holds
    assert run.work["slide"][-1] == pytest.approx(0.5 * 2.0 * v**2, rel=1e-9)


# -- forces -------------------------------------------------------------------------------------------------------


def test_work_of_every_force_balances_the_energy():
    mb = spinning()
    mb.bodies[2].passive = sc.Passive(stiffness=3.0, damping=0.4)
    mb.bodies[0].passive = sc.Passive(stiffness=[1.0, 2.0, 3.0])
    node = mb.bodies[1].add_node("push", sc.Pose(translation=(0.1, 0, 0.2)))
    mb.set_force(node, [0, 0, 0.1, 0.2, 0, 0])

    def drag(t, state):
        return {node: -0.3 * np.asarray(mb.velocity(node, state=state, expressed_in=node))}

    p = sc.sim.Propagator(mb, rtol=1e-10)
    p.add(drag, lambda t, state: np.sin(t) * np.ones(mb.nv))
    p.control(mb.dof_names[-1], (np.array([0.0, 0.2, 0.5]), np.array([0.0, 1.0, -1.0])))
    balance = p.advance_to(0.5).check()
    assert set(balance.work) == {"drag", "lambda", mb.dof_names[-1], "mb.set_force", "passive"}
    assert all(abs(x) > 1e-3 for x in balance.work.values())
    assert balance.holds
    assert balance.imbalance < 1e-8
    assert balance.energy == pytest.approx(sum(balance.work.values()), abs=1e-8)
    assert "explained by the integrator's error" in repr(balance)


def test_a_missing_force_is_seen_by_the_check():
    """Without the work of one force the balance does not hold: the check can fail."""
    mb = pendulum()
    p = sc.sim.Propagator(mb)
    p.control("bob", 0.5)
    run = p.advance_to(1.0)
    assert run.check().holds
    run.work["bob"][:] = 0.0
    assert run.check().holds is False
    assert "MORE than the integrator's error" in repr(run.check())


def test_a_prescribed_motion_is_itself_between_rows():
    """Dense output of a dof that moves as told is the function, not a cubic through its rows; also after it was let
    go, or told otherwise."""
    mb = sc.load("double_pendulum")
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.05)
    p.prescribe("upper", lambda t: (np.sin(3 * t), 3 * np.cos(3 * t), -9 * np.sin(3 * t)))
    mb.set_state([0.0, 0.3], [3.0, 0.0])
    run = p.advance_to(0.2)
    p.prescribe("upper", lambda t: (np.sin(0.6) + t - 0.2, 1.0, 0.0))
    later = p.advance_to(0.3)
    p.prescribe("upper", None)
    p.advance_to(0.4)
    for t in np.linspace(0.001, 0.199, 9):
        assert [run.at(t).q[0], run.at(t).v[0]] == [np.sin(3 * t), 3 * np.cos(3 * t)]
    assert later.at(0.26).q[0] == np.sin(0.6) + 0.26 - 0.2


def test_a_prescribed_motion_equals_the_same_motion_by_its_force():
    mb = sc.load("double_pendulum")

    def motion(t):
        return 0.3 * np.sin(4 * t), 1.2 * np.cos(4 * t), -4.8 * np.sin(4 * t)

    upper = mb.dof_names[0]
    mb.set_state([0.0, 0.4], [1.2, 0.0])
    p = sc.sim.Propagator(mb, rtol=1e-11)
    p.prescribe(upper, motion)
    run = p.advance_to(1.0)
    np.testing.assert_allclose(run.q[:, 0], 0.3 * np.sin(4 * run.t), atol=1e-15)
    np.testing.assert_allclose(run.vdot[:, 0], -4.8 * np.sin(4 * run.t), atol=1e-12)
    assert run.check().imbalance < 1e-9
    end = mb.q.copy()

    mb.set_state([0.0, 0.4], [1.2, 0.0])
    again = sc.sim.Propagator(mb, rtol=1e-11)

    def force(t, state):
        """What it takes at this very state, by inverse dynamics of the wanted acceleration."""
        vdot = np.array([motion(t)[2], 0.0])
        return dyn.mixed_dynamics(mb, state.q, state.v, np.zeros(2), vdot, [upper])[1]

    again.add(force)
    other = again.advance_to(1.0)
    np.testing.assert_allclose(mb.q, end, atol=1e-8)
    assert other.work["force"][-1] == pytest.approx(run.work["prescribed"][-1], abs=1e-8)


def test_actuators_follow_their_laws():
    """A position servo: gain (u - q) - kv v, within its limits; its static error is that of the spring it is."""
    mb = pendulum(0.0)
    mb["bob"].passive = sc.Passive(damping=5.0)
    facts = dict(gaintype="fixed", gainprm=(20.0,), biastype="affine", biasprm=(0.0, -20.0, -1.0))
    facts["ctrlrange"] = (-0.5, 0.5)
    mb.add_actuator(sc.Actuator("servo", "position", {"bob": 1.0}, facts))
    p = sc.sim.Propagator(mb, rtol=1e-8)
    p.control("servo", 2.0)
    run = p.advance_to(8.0)
    assert 20.0 * (0.5 - mb.q[0]) == pytest.approx(9.81 * np.sin(mb.q[0]), abs=1e-4)
    assert run.forces["servo"][0, 0] == pytest.approx(10.0)
    mb.add_actuator(sc.Actuator("muscle", "muscle", {"bob": 1.0}, dict(dyntype="muscle")))
    with pytest.raises(ModelError, match=r"actuator 'muscle' of 'pendulum' has dyntype 'muscle', which is kept"):
        p.control("muscle", 1.0)


def test_the_report_says_what_acts_and_what_does_not():
    mb = pendulum()
    mb["bob"].passive = sc.Passive(stiffness=1.0, friction=0.3)
    mb["bob"].limits = sc.Limits(lower=-1.0, upper=1.0)
    mb.add_actuator(sc.Actuator("motor", "motor", {"bob": 2.0}))
    p = sc.sim.Propagator(mb)
    p.add(lambda t, state: None)
    assert str(p.report()).splitlines() == [
        "'pendulum': 1 bodies, 1 dofs",
        "solver: tree: there are no loops or couplings",
        "integrator: dop853 (order 8, adaptive step)",
        "steps: compiled, many in one call, which call Python for 'lambda'",
        "acts:",
        "  gravity (0.0, 0.0, -9.81)",
        "  springs and dampers of hinges: 'bob'",
        "  Function 'lambda'",
        "does not act:",
        "  friction of 'bob': add sc.sim.HingeFriction(hinge)",
        "  limits of 'bob': add sc.sim.JointLimit(hinge)",
        "  actuators 'motor': p.control(name, u)",
    ]


def test_muscles_are_told_apart_in_the_report():
    """Laws that are kept and not simulated: the report does not send to p.control, which refuses them."""
    mb = sc.load("double_pendulum")
    mb.add_actuator(sc.Actuator("motor", "motor", {"upper": 1.0}))
    for name in ("biceps", "triceps"):
        law = {"dyntype": "muscle", "gaintype": "muscle", "biastype": "muscle"}
        mb.add_actuator(sc.Actuator(name, "muscle", {"upper": 1.0}, law))
    mb.add_actuator(sc.Actuator("rope", "general", {}))
    p = sc.sim.Propagator(mb)
    _, _, idle = str(p.report()).partition("does not act:\n")
    assert idle.splitlines() == [
        "  actuators 'motor': p.control(name, u)",
        "  actuators 'biceps', 'triceps', 'rope': dyntype 'muscle', no dof that it drives by a constant gear are kept "
        "and not simulated; p.add(function of t and state)",
    ]
    with pytest.raises(ModelError, match=r"actuator 'biceps' of 'double_pendulum' has dyntype 'muscle', which"):
        p.control("biceps", 1.0)


# -- failures -----------------------------------------------------------------------------------------------------


def test_a_force_that_blows_up_stops_the_run_and_keeps_it():
    mb = sc.Multibody("mass", gravity=(0, 0, 0))
    mb.add_body("mass", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.set_state([1.0], [0.0])
    p = sc.sim.Propagator(mb)
    p.add(lambda t, state: [-1.0 / state.q[0] ** 3])  # reaches 0 at t = 1 with infinite speed
    with pytest.raises(SimulationError, match=r"'mass' stopped at t = 0.99\d* s: the step size fell below") as e:
        p.advance_to(2.0)
    assert 0.99 < e.value.t < 1.0
    run = e.value.run
    assert run is p.last_run
    assert run.t[-1] == e.value.t
    # q = sqrt(1 - t^2)
    np.testing.assert_allclose(run.at(0.5).q, np.sqrt(0.75), rtol=1e-9)
    assert mb.q[0] == run.q[-1, 0]


def test_a_number_that_is_not_finite_stops_the_run():
    mb = pendulum()
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    p.add(lambda t, state: [np.nan if t > 0.5 else 0.0])
    with pytest.raises(SimulationError, match=r"at t = 0.5 s: the force of 'lambda' at t = 0.505 s must be finite"):
        p.advance_to(1.0)
    assert p.t == 0.5
    assert len(p.last_run) == 51


def test_an_interrupt_keeps_what_was_computed():
    mb = pendulum()
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)

    def stop(t, state):
        if t >= 0.3:
            raise KeyboardInterrupt

    p.every(0.1, stop)
    with pytest.raises(KeyboardInterrupt):
        p.advance_to(1.0)
    assert p.t == pytest.approx(0.3)
    assert p.last_run.stopped_by == "interrupted"
    assert len(p.last_run) == 31
    assert mb.q[0] == p.last_run.q[-1, 0]


def test_a_controller_that_holds_still_is_no_stiff_problem():
    """Its steps are at the boundary of stability, tens of a second: cheaper than to ask for another method."""
    mb = pendulum()
    mb.q = [0.3]
    inertia = float(sc.dynamics.mass_matrix(mb, mb.q)[0, 0])
    weight = sc.dynamics.gravity_force(mb, mb.q)
    mb.q = [0.4]
    p = sc.sim.Propagator(mb)
    p.control("bob", lambda t, state: weight[0] - inertia * (2500.0 * (state.q[0] - 0.3) + 500.0 * state.v[0]))
    run = p.advance_to(1.0)
    assert 20 < len(run) < 500
    assert mb.q[0] == pytest.approx(0.3, abs=1e-2)


def test_a_stiff_problem_is_named():
    mb = pendulum()
    mb["bob"].passive = sc.Passive(damping=1e6)
    p = sc.sim.Propagator(mb, rtol=1e-6)
    with pytest.raises(SimulationError, match=r"the problem is stiff: stability limits the step to .* Use integrator="):
        p.advance_to(1.0)
    assert p.t > 0.0


@pytest.mark.parametrize(("method", "limit"), [("rk4", "2.8e-05"), ("verlet", "2e-05"), ("euler_symplectic", "2e-05")])
@pytest.mark.parametrize("passive", [sc.Passive(damping=1e5), sc.Passive(stiffness=1e10)])
def test_a_stiff_problem_is_named_with_fixed_steps(method, limit, passive):
    """A rate of 1e5 per second, of what decays and of what swings: 2.8 (rk4) or 2 over that is the longest stable step.
    Above it a run overflows, a little below it does not."""
    mb = pendulum()
    mb["bob"].passive = passive
    start = np.array([0.1]), np.array([0.0])
    mb.set_state(*start)
    text = rf"stopped at .* The problem is stiff: stability limits the steps of '{method}' to {limit} s, since"
    with pytest.raises(SimulationError, match=text):
        sc.sim.Propagator(mb, integrator=method, step=1e-3).advance_to(1.0)
    mb.set_state(*start)
    short = sc.sim.Propagator(mb, integrator=method, step=0.9 * float(limit)).advance_to(2e-3)
    assert np.abs(short.q).max() < 0.3


def test_what_overflows_for_another_reason_is_not_called_stiff():
    p = sc.sim.Propagator(pendulum(), integrator="rk4", step=0.01)
    p.add(lambda t, state: [1e300 * t])
    with pytest.raises(SimulationError) as failed:
        p.advance_to(10.0)
    assert "stiff" not in str(failed.value)


# -- refusals -----------------------------------------------------------------------------------------------------

REFUSED = {
    "an unknown dof": (lambda p: p.control("elbo", 1.0), ModelError, r"'pendulum' has no actuator or dof 'elbo'"),
    "an unknown motion": (lambda p: p.prescribe("elbow", None), ModelError, r"'pendulum' has no dof 'elbow'; did you"),
    "a bare number": (
        lambda p: p.prescribe("bob", np.sin),
        StateError,
        r"the motion of 'bob' must give three numbers, \(coordinate, rate, acceleration\); at t = 0 s it gave",
    ),
    "an event with an array": (
        lambda p: p.event("touch", lambda t, state: state.q),
        StateError,
        r"the function of event 'touch' must give one number, got .* For several, add an event for each",
    ),
    "an event that is NaN": (
        lambda p: p.event("touch", lambda t, state: np.nan),
        StateError,
        r"the function of event 'touch' must be finite, got nan at t = 0 s",
    ),
    "a direction": (lambda p: p.event("a", lambda t, s: 1.0, direction=2), StateError, r"must be -1, 0 or 1, got 2"),
    "no function": (lambda p: p.every(0.1, 3), StateError, r"every takes a function of \(t, state\), got 3"),
    "a period": (lambda p: p.every(0.0, print), StateError, r"the period must be a nanosecond or more, got 0 s"),
    "the past": (lambda p: p.advance_to(-1.0), StateError, r"the run is at t = 0 s already, so it cannot advance to"),
    "a force": (lambda p: p.add(3.0), StateError, r"add takes force elements and functions of \(t, state\), got 3.0"),
    "times": (lambda p: p.control("bob", ([0, 0], [1, 2])), StateError, r"takes \(times, values\), as many of both"),
    "NaN time": (lambda p: p.advance_to(np.nan), StateError, r"t must be"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    call, kind, text = REFUSED[name]
    p = sc.sim.Propagator(pendulum())
    with pytest.raises(kind, match=text):
        call(p)
    assert p.t == 0.0
    assert p.advance_to(0.01).t[-1] == 0.01


def test_what_a_propagator_cannot_be():
    mb = pendulum()
    for arguments, text in (
        (dict(solver="ta"), r"'pendulum' has no active loops or couplings for solver='ta'"),
        (dict(solver="best"), r"solver must be one of 'auto', 'tree', 'ta', 'fa', 'ce' or a solver"),
        (dict(integrator="rk5"), r"there is no integrator 'rk5'; did you mean 'rk4'"),
        (dict(integrator="rk4"), r"rk4 takes fixed steps: give step= in seconds"),
        (dict(rtol=0.0), r"rtol must be between 1e-14 and 0.1, got 0"),
        (dict(step=-1.0), r"step must be a nanosecond or more, got -1 s"),
    ):
        with pytest.raises((ModelError, StateError, LoopError), match=text):
            sc.sim.Propagator(mb, **arguments)
    with pytest.raises(ModelError, match="a Propagator takes a Multibody"):
        sc.sim.Propagator("arm")
    with pytest.raises(sc.errors.UnknownAttributeError, match="a propagator stays as it was made"):
        sc.sim.Propagator(mb).rtol = 1e-3


def test_a_force_on_a_removed_body_and_other_changes_of_structure():
    mb = sc.load("double_pendulum")
    node = mb["lower"].add_node("end", sc.Pose())
    p = sc.sim.Propagator(mb)
    p.add(lambda t, state: {node: [0, 0, 0, 1, 0, 0]})
    p.advance_to(0.01)
    mb.remove("lower")
    with pytest.raises(StaleError, match=r"the structure of 'double_pendulum' changed after this propagator was made"):
        p.advance_to(0.02)
    q = sc.sim.Propagator(mb)
    q.add(lambda t, state: {node: [0, 0, 0, 1, 0, 0]})
    with pytest.raises((ModelError, StaleError), match=r"end"):
        q.advance_to(0.02)


def test_new_forces_cannot_begin_within_a_run():
    p = sc.sim.Propagator(pendulum())
    p.every(0.1, lambda t, state: p.control("bob", 1.0))
    with pytest.raises(SimulationError, match=r"the control of 'bob' is new, and cannot begin to act while a run"):
        p.advance_to(1.0)


@pytest.mark.parametrize("options", [dict(integrator="rk4", step=0.01), dict(integrator="radau")])
def test_a_damper_that_a_callback_gives_to_the_model_is_counted(options):
    """rk4 is compiled, radau is not: the damper takes what the energy falls by, and is not in runs without it."""
    mb = sc.load("pendulum")
    mb.q = [1.0]
    p = sc.sim.Propagator(mb, **options)

    def give(t, state):
        if t > 0.0:
            mb["bob"].passive = sc.Passive(damping=2.0)

    assert list(p.advance_to(0.5).work) == []
    p.every(0.5, give)
    run = p.advance_to(2.0)
    assert list(run.work) == ["passive"]
    assert run.check().energy < -0.1
    assert run.check().imbalance < 1e-6


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
@pytest.mark.parametrize(("name", "step"), [("rk4", 0.001), ("verlet", 0.01), ("dop853", None), ("radau", None)])
def test_motions_that_overflow_end_at_the_last_good_state(name, step):
    mb = sc.load("pendulum")
    p = sc.sim.Propagator(mb, integrator=name, step=step)
    p.control("bob", 1e300)
    with pytest.raises(SimulationError, match=r"overflow.* Check forces and units") as wrong:
        p.advance_to(0.05)
    assert p.last_run is wrong.value.run
    assert (len(p.last_run), p.t, mb.q[0], mb.v[0]) == (1, 0.0, 0.0, 0.0)
    p.control("bob", 0.0)
    assert len(p.advance_to(0.05)) > 1


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
@pytest.mark.parametrize("force", [1e153, lambda t, state: 1e153])  # compiled or not
def test_rows_before_an_overflow_are_kept(force):
    """v = F t / (m l^2): m v^2 overflows at v = sqrt(max), 1.34e154 m/s, between 13 and 14 s."""
    mb = sc.load("pendulum")
    p = sc.sim.Propagator(mb, integrator="verlet", step=1.0)
    p.control("bob", force)
    with pytest.raises(SimulationError, match=r"stopped at t = 13 s: the energy at t = 14 s is not known"):
        p.advance_to(50.0)
    assert p.t == p.last_run.t[-1] == 13.0
    assert mb.v[0] == p.last_run.v[-1, 0] == pytest.approx(13e153)
    assert p.last_run.kinetic[-1] == pytest.approx(84.5e306)


def test_a_run_does_not_begin_where_the_energy_overflows():
    mb = sc.load("pendulum")
    mb.set_state([0.0], [1e160])
    p = sc.sim.Propagator(mb, integrator="verlet", step=0.001)
    with pytest.raises(StateError, match="kinetic_energy for 'pendulum' is not finite"):
        p.advance_to(0.01)
    assert (p.t, mb.v[0]) == (0.0, 1e160)


def test_run_is_a_call_and_the_last_run_a_property():
    p, other = (sc.sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.01) for _ in range(2))
    assert p.last_run is None
    run = p.run(0.5, until=None)
    assert run is p.last_run
    np.testing.assert_array_equal(run.q, other.advance_to(0.5).q)
    with pytest.raises(UnknownAttributeError, match=r"p\.run is a call.*no attribute 'q': the last run is p\.last_run"):
        _ = p.run.q
    assert "p.run(t)" in repr(p.run)


def pendula():
    """Two links without actuators, and the same with one for each."""
    mb = sc.load("double_pendulum")
    mb.set_state([0.5, -0.3], [0.0, 0.0])
    return mb


@pytest.mark.parametrize("by_name", [True, False])
def test_one_function_for_all_controls_is_a_function_for_each(by_name):
    names = pendula().dof_names

    def law(t, state):
        u = [-3.0 * state.q[0], np.cos(t) - state.v[1]]
        return dict(zip(names, u, strict=True)) if by_name else u

    p, other = (sc.sim.Propagator(pendula(), integrator="rk4", step=0.01) for _ in range(2))
    p.control(law)
    other.control(names[0], lambda t, state: -3.0 * state.q[0])
    other.control(names[1], lambda t, state: np.cos(t) - state.v[1])
    np.testing.assert_allclose(p.run(0.3).q, other.run(0.3).q, rtol=0, atol=1e-14)


@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_numbers_that_are_held_are_those_of_a_callback(integrator):
    def made():
        return sc.sim.Propagator(pendula(), integrator=integrator, step=0.01 if integrator == "rk4" else None)

    p, other, third = made(), made(), made()
    first, second = p.mb.dof_names
    p.control(lambda t, state: [-3.0 * state.q[0], t], every=0.05)
    for name in (first, second):
        other.control(name, 0.0)

    def sample(t, state):
        other.control(first, float(-3.0 * state.q[0]))
        other.control(second, t)

    other.every(0.05, sample)
    third.control(first, lambda t, state: -3.0 * state.q[0], every=0.05)
    third.control(second, lambda t, state: {second: t}, every=0.05)
    runs = [x.run(0.3) for x in (p, other, third)]
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    np.testing.assert_array_equal(runs[0].q, runs[2].q)
    held = runs[0].forces[second][:, 1]
    np.testing.assert_allclose(np.unique(held), 0.05 * np.arange(len(np.unique(held))), atol=1e-12)


def test_numbers_that_are_held_go_on_from_a_checkpoint(tmp_path):
    p, other = (sc.sim.Propagator(pendula(), integrator="rk4", step=0.01) for _ in range(2))
    for x in (p, other):
        x.control(lambda t, state: [-3.0 * state.q[0], state.v[1]], every=0.05)
    p.run(0.13)
    p.checkpoint(tmp_path / "a.h5")
    other.restore(tmp_path / "a.h5")
    np.testing.assert_array_equal(p.run(0.4).q, other.run(0.4).q)


def test_functions_of_controls_that_do_not_fit_are_refused():
    def made():
        return sc.sim.Propagator(pendula(), integrator="rk4", step=0.01)

    first, second = pendula().dof_names
    p = made()
    p.control(lambda t, state: [0.0, 0.0], every=0.05)
    with pytest.raises(StateError, match=rf"'{first}' has two owners: a function gives its number every 0\.05 s"):
        p.control(first, 1.0)
    with pytest.raises(StateError, match=f"control '{first}' has two owners"):
        p.control(lambda t, state: [0.0, 0.0])
    p = made()
    p.control(second, lambda t, state: 0.0)
    with pytest.raises(StateError, match=f"control '{second}' has two owners"):
        p.control(lambda t, state: [0.0, 0.0], every=0.05)
    assert first not in p._acting.controls
    with pytest.raises(StateError, match="every= holds the numbers of a function"):
        made().control(first, 2.0, every=0.05)
    with pytest.raises(StateError, match=r"p\.control\(f\) takes a function of \(t, state\) for all controls"):
        made().control(lambda t, state: [0.0, 0.0], 2.0)
    with pytest.raises(StateError, match="every must be a nanosecond or more"):
        made().control(lambda t, state: [0.0, 0.0], every=0.0)
    with pytest.raises(StateError, match="breaks= are of functions"):
        made().control(lambda t, state: [0.0, 0.0], breaks=[0.1], every=0.1)
    for value, text in (
        ([0.0], r"the numbers of 2 controls at t = 0 s"),
        ([np.nan, 0.0], "the numbers of 2 controls at t = 0 s must be finite"),
        ({"third": 1.0}, "there is no control 'third' among the numbers of 2 controls"),
        ({first: np.inf}, f"the control of '{first}' must be finite"),
    ):
        p = made()
        p.control(lambda t, state, value=value: value, every=0.05)
        with pytest.raises((StateError, SimulationError), match=text):
            p.run(0.1)
    p = made()
    p.control(lambda t, state: {first: 0.0})
    with pytest.raises((StateError, SimulationError), match=f"gives none for '{second}' at t = 0 s"):
        p.run(0.1)


def test_a_refused_function_of_controls_changes_nothing():
    mb = pendula()
    first, second = mb.dof_names
    mb.add_actuator(sc.Actuator("motor", "motor", {first: 1.0}))
    mb.add_actuator(sc.Actuator("flesh", "general", {second: 1.0}, {"gaintype": "muscle"}))
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    for every in (None, 0.05):
        with pytest.raises(ModelError, match=r"'flesh'.*gaintype 'muscle'"):
            p.control(lambda t, state: [0.0, 0.0], every=every)
    plain = sc.sim.Propagator(pendula(), integrator="rk4", step=0.01)
    with pytest.raises(StateError, match="breaks"):
        plain.control(lambda t, state: [0.0, 0.0], breaks=[np.nan])
    assert not plain._acting.controls
    for name in ([1], {}, 3.0):
        with pytest.raises(StateError, match="by its name"):
            p.control(name, lambda t, state: 0.0, every=0.1)
    assert not p._acting.controls
    assert p.run(0.1).t[-1] == 0.1
