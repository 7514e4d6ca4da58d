"""Compiled steps: those of Python, for every method, hinge and built-in force; where they stop, and what they leave to
Python."""

import signal
import time

import numpy as np
import pytest
from tests.loops.test_case_four_bars import spatial_loop
from tests.model.modal.trees import flexible_tree
from tests.sim.chains import ball_jointed_four_bar
from tests.sim.test_closed import four_bar
from tests.sim.test_order import tree

import soacraft as sc
from soacraft.errors import SimulationError
from soacraft.sim.runs.block import Block
from soacraft.sim.runs.recorder import Recorder
from soacraft.sim.stride import Stride, Walked

METHODS = ("rk4", "euler_symplectic", "verlet", "dop853", "gauss4", "gauss6", "variational", "variational4")
#: Differences after a short run, relative to the largest number: sums are in another order than NumPy's.
ROUNDING = 1e-13


def sprung():
    """Springs and dampers of hinges of one, two and three dofs, and between two bodies."""
    cross = sc.Universal((1, 0, 0), (0, 1, 0))
    mb = tree([sc.Free(), sc.Spherical(), sc.Pin((0, 0, 1)), sc.Prismatic((1, 0, 0)), cross])
    for body in mb.bodies[1:]:
        body.passive = sc.Passive(stiffness=4.0, damping=0.3)
    mb.add_spring("line", "b3", "b4", 20.0, 0.1, 0.5)
    return mb


def pulled():
    """Wrenches of `mb.set_force`, in node axes and in inertial ones."""
    mb = tree([sc.Gimbal(), sc.Helical((0, 0, 1), 0.2), sc.Cylindrical((1, 0, 0)), sc.Planar()])
    mb.set_force("b1", [0.1, 0.2, 0.3, 1.0, -2.0, 0.5])
    mb.set_force("b3", sc.Wrench([0.0, 0.3, 0.0], [0.5, 0.0, -1.0], expressed_in=mb.root))
    return mb


MODELS = {
    "pins": lambda: tree([sc.Pin((0, 1, 0)), sc.Prismatic((1, 0, 0)), sc.Pin((1, 0, 0))]),
    "quaternions": lambda: tree([sc.Free(), sc.Spherical(), sc.Gimbal(), sc.Spherical()]),
    "springs": sprung,
    "wrenches": pulled,
}


def pushed():
    """A loop with ball joints, a rotor in one of them, and wrenches of `mb.set_force` in axes of both kinds."""
    mb = ball_jointed_four_bar(3.0)
    mb["coupler"].armature = [0.01, 0.02, 0.005]
    mb.set_force("coupler", [0.1, 0.2, 0.3, 1.0, -2.0, 0.5])
    mb.set_force("rocker/end", sc.Wrench([0.0, 0.3, 0.0], [0.5, 0.0, -1.0], expressed_in=mb.root))
    return mb


CHAINS = {"four-bar": four_bar, "loop in space": spatial_loop, "pushed": pushed}


def in_python(monkeypatch):
    monkeypatch.setattr(Stride, "many", lambda stride, problem, memory, *given, **options: Walked(None, memory))


def is_compiled(run):
    return all(isinstance(x, Block) for _, x in run._dense)


def agree(run, other, tolerance=ROUNDING):
    """All that two runs recorded, and what is between."""
    np.testing.assert_allclose(run.t, other.t, rtol=0, atol=4e-9)
    pairs = [(getattr(run, x), getattr(other, x)) for x in ("q", "v", "vdot", "energy")]
    assert run.work.keys() == other.work.keys()
    pairs += [(run.work[x], other.work[x]) for x in run.work] + [(run.forces[x], other.forces[x]) for x in run.forces]
    for t in (run.t[0] + 0.37 * (run.t[-1] - run.t[0]), run.t[1]):
        pairs += [(run.at(t).q, other.at(t).q), (run.at(t).v, other.at(t).v)]
    for x, y in pairs:
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * max(1.0, np.abs(y).max()))


def advanced(mb, method, goal=0.03, solver="auto", controls=True):
    p = sc.sim.Propagator(mb, solver, integrator=method, rtol=1e-8, step=None if method == "dop853" else 0.004)
    if controls:
        p.control(mb.dof_names[-1], 0.3)
        p.control(mb.dof_names[0], ([0.01, 0.0217, 0.025], [0.0, 1.0, -2.0]))
    return p.advance_to(goal)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MODELS)
def test_steps_of_trees(name, method, monkeypatch):
    run = advanced(MODELS[name](), method)
    assert is_compiled(run)
    in_python(monkeypatch)
    other = advanced(MODELS[name](), method)
    assert not any(isinstance(x, Block) for _, x in other._dense)
    if method in ("euler_symplectic", "verlet"):
        np.testing.assert_array_equal(run.q, other.q)
        np.testing.assert_array_equal(run.v, other.v)
    agree(run, other)
    if method == "dop853":
        assert run.check().accuracy == pytest.approx(other.check().accuracy, rel=1e-6)


def bent():
    """Flexible bodies on deforming nodes, held by nodes of their own, with rotors, stiffness and damping; a wrench."""
    mb = flexible_tree((-1, 0, 1, 1), 3, (sc.Free(), sc.Pin((0, 0, 1)), sc.Spherical()))
    mb.gravity = (0.0, 0.0, -9.81)
    mb.set_force("body1/tip", [0.1, 0.2, 0.3, 1.0, -2.0, 0.5])
    return mb


@pytest.mark.parametrize("method", [x for x in METHODS if not x.startswith("variational")])
def test_steps_of_flexible_bodies(method, monkeypatch):
    run = advanced(bent(), method)
    assert is_compiled(run)
    in_python(monkeypatch)
    agree(run, advanced(bent(), method))


def test_a_slow_dof_is_judged_by_the_fastest(monkeypatch):
    """A small swing next to a wheel, whichever comes first: its error may be a part of the wheel's speed."""

    def run(order):
        mb = sc.Multibody("two", gravity=(0, 0, -9.81))
        swing = ("swing", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, -0.01), 1e-4 * np.eye(3)))
        wheel = ("wheel", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
        for each in (swing, wheel)[::order]:
            mb.add_body(*each)
        mb.set_state([1e-3, 0.0][::order], [0.0, 1e3][::order])
        return sc.sim.Propagator(mb, integrator="dop853", rtol=1e-8).advance_to(0.2)

    compiled = [run(order) for order in (1, -1)]
    assert all(is_compiled(x) for x in compiled)
    in_python(monkeypatch)
    for run_, order in zip(compiled, (1, -1), strict=True):
        agree(run_, run(order))


@pytest.mark.parametrize("method", ["rk4", "gauss4"])
def test_steps_of_a_body_that_turns_and_travels_far_in_each(method, monkeypatch):
    """Half a radian and half a metre: all terms of dexp^-1 of a twist count."""

    def run():
        mb = tree([sc.Free()])
        mb.v = [1.0, 0.8, -0.6, 0.9, 1.1, 0.7]
        return sc.sim.Propagator(mb, integrator=method, step=0.4).advance_to(0.8)

    compiled = run()
    assert is_compiled(compiled)
    in_python(monkeypatch)
    agree(compiled, run())


@pytest.mark.parametrize("method", ["rk4", "verlet", "dop853", "gauss6", "variational", "variational4"])
@pytest.mark.parametrize("solver", ["ta", "fa", "ce"])
@pytest.mark.parametrize("name", CHAINS)
def test_steps_of_closed_chains(name, solver, method, monkeypatch):
    run = advanced(CHAINS[name](), method, 0.012, solver, False)
    assert is_compiled(run)
    assert run.violation.max() < 1e-11
    in_python(monkeypatch)
    agree(run, advanced(CHAINS[name](), method, 0.012, solver, False), 1e-11)


@pytest.mark.parametrize("name", ["delta", "five_bar", "cassie"])
def test_stages_of_long_fixed_steps_are_next_to_the_closures(name, monkeypatch):
    """Compiled and in Python alike, to rounding, where truncation is a thousand times as large. The rows of the delta
    robot multiply rounding by 1e5. A stage that is too far off puts all of them back on the closures."""

    def run(step):
        mb, rng = sc.load(name), np.random.default_rng(3)
        solver = sc.loops.TreeAugmented(mb)
        q = solver.assemble(mb.integrate(mb.q, 0.1 * rng.normal(size=mb.nv)))
        mb.set_state(q, solver.project_velocity(q, rng.normal(size=mb.nv)))
        return sc.sim.Propagator(mb, integrator="rk4", step=step).advance_to(4 * step)

    steps = (1e-3, 0.02) if name == "five_bar" else (1e-3,)
    compiled = [run(step) for step in steps]
    in_python(monkeypatch)
    for one, step in zip(compiled, steps, strict=True):
        assert is_compiled(one)
        other = run(step)
        np.testing.assert_allclose(one.q, other.q, rtol=0, atol=1e-13)
        np.testing.assert_allclose(one.v, other.v, rtol=0, atol=1e-9 * np.abs(other.v).max())


def servo():
    """A position servo with limits, as a file gives it."""
    mb = sc.load("double_pendulum")
    law = {"biastype": "affine", "gainprm": [40.0], "biasprm": [1.0, -40.0, -3.0], "forcerange": [-5.0, 8.0]}
    mb.add_actuator(sc.Actuator("servo", "general", {mb.dof_names[0]: 2.0}, law | {"ctrlrange": [-1.0, 1.0]}))
    return mb


def test_laws_of_actuators(monkeypatch):
    def run():
        p = sc.sim.Propagator(servo(), integrator="rk4", step=0.01)
        p.control("servo", ([0.0, 0.2, 0.4], [0.5, 3.0, -3.0]))
        return p.advance_to(0.5)

    compiled = run()
    assert is_compiled(compiled)
    in_python(monkeypatch)
    agree(compiled, run())


def test_samples_of_a_control_at_uneven_times(monkeypatch):
    """Closer and closer together: which two they are between is found by halves."""
    times = 0.5 - 0.5 * np.array([1.0, 0.7, 0.4, 0.15, 0.04, 0.01, 0.004, 0.001, 0.0])

    def run():
        mb = sc.load("double_pendulum")
        p = sc.sim.Propagator(mb, integrator="rk4", step=0.005)
        p.control(mb.dof_names[1], (times, [0.0, 1.0, -2.0, 3.0, 1.0, -1.0, 4.0, 0.0, 2.0]))
        return p.advance_to(0.5)

    compiled = run()
    assert is_compiled(compiled)
    in_python(monkeypatch)
    agree(compiled, run())


def test_callbacks_break_the_call(monkeypatch):
    """One that looks, one that changes a control, a parameter, a wrench, and the state."""

    def run():
        mb, seen = sc.load("double_pendulum"), []
        mb.q = [0.5, 0.2]
        p = sc.sim.Propagator(mb, integrator="rk4", step=0.004)
        p.control(mb.dof_names[1], 0.0)
        p.every(0.01, lambda t, state: seen.append((t, float(state.q[0]))))

        def change(t, state):
            match round(t / 0.05):
                case 1:
                    p.control(mb.dof_names[1], 2.0)
                case 2:
                    mb.bodies[1].inertia = sc.Inertia(3.0, (0.3, 0, 0), 0.1 * np.eye(3))
                case 3:
                    mb.set_force(mb.bodies[1], [0, 0, 0, 1.0, 2.0, 0.0])
                case 4:
                    mb.set_state(0.5 * mb.q, 0.5 * mb.v)

        p.every(0.05, change)
        return p.advance_to(0.24), seen

    compiled, seen = run()
    assert is_compiled(compiled)
    in_python(monkeypatch)
    other, also = run()
    agree(compiled, other)
    assert [t for t, _ in seen] == [t for t, _ in also] == [round(0.01 * i, 9) for i in range(25)]


@pytest.mark.parametrize("method", ["rk4", "euler_symplectic", "verlet"])
@pytest.mark.parametrize("solver", ["tree", "ta", "ce"])
def test_one_go_and_two_halves_give_the_same_bits(solver, method):
    def made():
        return sprung() if solver == "tree" else four_bar()

    def propagator(mb, t=0.0):
        own = solver  # which dofs are independent belongs to a solver, and is chosen at its first state if not told
        if solver == "ce":
            own = sc.loops.ConstraintEmbedding(mb, independent=mb.dof_names[:1])
        return sc.sim.Propagator(mb, own, integrator=method, step=0.004, t=t)

    whole = propagator(made()).advance_to(0.08)
    p = propagator(made())
    halves = p.advance_to(0.032), p.advance_to(0.08)
    for name in ("t", "q", "v", "vdot", "energy"):
        parts = np.concatenate([getattr(halves[0], name), getattr(halves[1], name)[1:]])
        np.testing.assert_array_equal(parts, getattr(whole, name))
    again = made()  # from what was saved
    again.set_state(halves[0].q[-1], halves[0].v[-1])
    saved = propagator(again, 0.032).advance_to(0.08)
    np.testing.assert_array_equal(saved.q, halves[1].q)
    np.testing.assert_array_equal(saved.v, halves[1].v)


def told(p):
    return next(x for x in str(p.report()).splitlines() if x.startswith("steps: "))


def test_what_is_left_to_python_is_told():
    def made(mb=None, integrator="rk4"):
        return sc.sim.Propagator(mb or sc.load("double_pendulum"), integrator=integrator, step=0.01)

    assert told(made()) == "steps: compiled, many in one call"
    assert told(made(integrator="radau")) == "steps: one by one in Python, since 'radau' is written in Python"
    name = sc.load("double_pendulum").dof_names[0]
    p = made()
    p.control(name, lambda t, state: 0.0)
    assert told(p) == f"steps: compiled, many in one call, which call Python for the control of {name!r}"
    p.control(name, lambda t, state: float(t > 0.02), breaks=[0.02])
    assert told(p).endswith("since a function has breaks")
    p = made()
    p.event("down", lambda t, state: state.q[0] + 1.0)
    assert told(p) == "steps: compiled, many in one call, which call Python for the function of event 'down'"
    p = made()
    p.prescribe(name, lambda t: (0.1 * t, 0.1, 0.0))
    assert told(p) == f"steps: compiled, many in one call, which call Python for the motion of {name!r}"
    assert is_compiled(p.advance_to(0.05))
    p = made()
    p.add(sc.sim.JointLimit(name, 10.0, lower=-1.0, upper=1.0))
    assert told(p).endswith(f"which call Python for 'limit of {name}'")
    p = made()
    p.add(sc.sim.JointLimit(name, lower=-1.0, upper=1.0))  # a rigid one, which may hold its dof
    assert told(p) == "steps: compiled, many in one call"
    assert told(made(tree([sc.RollingDisc(0.5)]))).endswith("since 'b0' rolls")
    skate = sc.Multibody("skate")
    skate.add_body("skate", None, sc.Planar(), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    skate.add_knife_edge("blade", "skate")
    assert told(made(skate)) == "steps: compiled, many in one call"
    assert told(made(pushed())) == "steps: compiled, many in one call"


@pytest.mark.parametrize("bodies", [2, 300])
def test_an_interrupt_stops_a_compiled_run(bodies):
    """Within a second of processor time, with all that was computed."""

    def interrupt(number, frame):
        raise KeyboardInterrupt

    mb = sc.serial_chain(bodies)
    p = sc.sim.Propagator(mb, integrator="rk4", step=1e-6)
    before = signal.signal(signal.SIGPROF, interrupt)
    began = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, 0.2)
        with pytest.raises(KeyboardInterrupt):
            p.advance_to(1e6)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
    assert time.process_time() - began < 1.2
    run = p.last_run
    assert run.stopped_by == "interrupted"
    assert len(run) > 1
    assert p.t == run.t[-1]
    assert is_compiled(run)
    np.testing.assert_array_equal(mb.q, run.q[-1])
    assert len(p.advance_to(p.t + 1e-5)) == 11


def test_what_is_not_finite_stops_with_time_and_state():
    mb = sc.load("double_pendulum")
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    p.control(mb.dof_names[0], ([0.0, 0.1, 0.11], [0.0, 0.0, 1e200]))
    with pytest.raises(SimulationError, match=r"the run of 'double_pendulum' stopped at t = 0\.1 s: .*") as stopped:
        p.advance_to(1.0)
    run = stopped.value.run
    assert stopped.value.t == run.t[-1] == 0.1
    assert len(run) == 11
    assert is_compiled(run)
    np.testing.assert_array_equal(mb.q, run.q[-1])
    assert np.isfinite(np.concatenate([run.q, run.v, run.vdot])).all()


def test_what_is_at_rest_without_a_force_stays():
    """No speed and no acceleration to judge errors by: none comes of it."""
    mb = tree([sc.Pin((0, 1, 0)), sc.Spherical(), sc.Prismatic((1, 0, 0))])
    mb.gravity = (0, 0, 0)
    mb.v = np.zeros(mb.nv)
    start = mb.q.copy()
    run = sc.sim.Propagator(mb, integrator="dop853", rtol=1e-8).advance_to(0.5)
    assert is_compiled(run)
    assert run.t[-1] == 0.5
    np.testing.assert_allclose(run.q[-1], start, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(run.v, 0.0)


def test_steps_that_are_too_long_are_taken_again_in_compiled_code():
    """A double pendulum that tumbles: some steps are refused on the way, and its energy is kept to the tolerance."""
    mb = sc.load("double_pendulum")
    mb.set_state([2.0, 2.5], [0.0, 0.0])
    run = sc.sim.Propagator(mb, integrator="dop853", rtol=1e-9).advance_to(8.0)
    assert is_compiled(run)
    assert np.ptp(run.energy) < 1e-6 * np.abs(run.energy).max()


@pytest.mark.parametrize("axis", range(3))
def test_a_turn_too_far_stops_a_compiled_run(axis):
    """A top under a moment: it spins faster than its step can follow, about any axis."""
    mb = sc.Multibody("top", gravity=(0, 0, 0))
    mb.add_body("top", None, sc.Spherical(), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.set_force("top", 100.0 * np.eye(6)[axis])
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.1)
    with pytest.raises(SimulationError, match=r"a step of 0\.1 s turns a hinge by 3\.5 rad; at most 3 rad"):
        p.advance_to(1.0)
    assert p.last_run.t[-1] == 0.3
    np.testing.assert_allclose(p.last_run.v[:, axis], 100.0 * p.last_run.t, atol=1e-10)


@pytest.mark.parametrize("method", [Recorder.block, Recorder.flush, Recorder._add])
@pytest.mark.parametrize("after", [False, True])
def test_an_interrupt_between_steps_and_rows_leaves_one_state(method, after, monkeypatch):
    """Wherever it comes, time, model and run end together."""
    calls = []

    def interrupted(self, *given):
        calls.append(given)
        if len(calls) != (7 if method.__name__ == "flush" else 3):  # after some steps
            return method(self, *given)
        if after:
            method(self, *given)
        raise KeyboardInterrupt

    monkeypatch.setattr(Recorder, method.__name__, interrupted)
    mb = sc.load("double_pendulum")
    mb.q = [0.5, 0.2]
    p = sc.sim.Propagator(mb, integrator="verlet", step=0.001)
    p.every(0.01, lambda t, state: setattr(mb.bodies[0], "inertia", mb.bodies[0].inertia))  # compiled steps end there
    with pytest.raises(KeyboardInterrupt):
        p.advance_to(1.0)
    run = p.last_run
    assert len(run) == 1 + round(p.t / 0.001)
    np.testing.assert_array_equal(run.q[-1], mb.q)
    monkeypatch.undo()
    p.advance_to(0.1)
    other = sc.load("double_pendulum")
    other.q = [0.5, 0.2]
    whole = sc.sim.Propagator(other, integrator="verlet", step=0.001).advance_to(0.1)
    np.testing.assert_array_equal(mb.q, other.q)
    np.testing.assert_array_equal(run.at(0.0095).q, whole.at(0.0095).q)


def test_steps_of_a_nanosecond_are_compiled():
    mb = sc.load("pendulum")
    mb.set_state([0.0], [1.0])
    run = sc.sim.Propagator(mb, integrator="rk4", step=1e-9).advance_to(5e-9)
    assert is_compiled(run)
    assert len(run) == 6
    np.testing.assert_allclose(run.q[-1], 5e-9, rtol=1e-12)
