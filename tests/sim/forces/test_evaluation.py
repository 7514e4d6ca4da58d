"""Functions and force elements in compiled steps: what Python's steps give, called as often as the method says."""

import numpy as np
import pytest
from tests.model.modal.trees import flexible_tree
from tests.sim.steppers.test_stepper import box_on_floor
from tests.sim.test_closed import four_bar
from tests.sim.test_compiled import agree, in_python, is_compiled
from tests.sim.test_compiled_refusals import first_call

import soacraft as sc
from soacraft.errors import SimulationError
from soacraft.sim import compiled

SMOOTH = ("rk4", "dop853", "euler_symplectic", "verlet", "gauss4", "gauss6", "variational", "variational4")
TOUCHING = ("moreau", "moreau_midpoint")


def wave(t, state):
    """A generalized force of time and state."""
    return 0.3 * np.sin(20.0 * t) - 0.1 * state.v


def tip(mb):
    """The last node of a model's last body."""
    body = mb.bodies[-1]
    return body.add_node("of force", sc.Pose(translation=(0.1, 0.0, 0.2)))


def added(p):
    """A function that gives a generalized force, one that gives a wrench, and drag."""
    node = tip(p.mb).full_name
    q = sc.sim.Propagator(p.mb, integrator=p._method.name, rtol=1e-9, step=None if p._step is None else p._step / 1e9)
    q.add(wave)
    q.add(lambda t, state: {node: [0, 0.1 * t, 0, 1.0, 0.0, -float(state.q[0])]})
    q.add(sc.sim.Drag(node, linear=0.2, quadratic=0.1))
    return q


def controlled(p):
    """A function of one control, and one of all others."""
    names = p.mb.dof_names
    p.control(names[0], lambda t, state: 0.2 * np.cos(9.0 * t) - 0.3 * state.q[0])
    return p


def together(p):
    """One function of all controls."""
    p.control(lambda t, state: 0.1 * np.arange(p.mb.nv) - 0.2 * state.v)
    return p


def together_in_another_order(p):
    """One function of all controls, of which one was there before."""
    p.control(p.mb.dof_names[1], 0.1)
    return together(p)


def all_but_one(p):
    """One function of all controls, of which one is a number since."""
    together(p)
    p.control(p.mb.dof_names[0], -0.4)
    return p


def named_but_one(p):
    """The same, by name: without the one that is a number, and with it."""
    first, second = p.mb.dof_names
    p.control(lambda t, state: {second: 0.1 - 0.2 * state.v[1]} | ({first: 7.0} if t > 0.02 else {}))
    p.control(first, -0.4)
    return p


ACTING = {"added": added, "controlled": controlled, "together": together}
ACTING |= {x.__name__: x for x in (together_in_another_order, all_but_one, named_but_one)}


def propagator(mb, method):
    step = None if method == "dop853" else 0.004
    return sc.sim.Propagator(mb, integrator=method, rtol=1e-9, step=step)


@pytest.mark.parametrize("method", SMOOTH)
@pytest.mark.parametrize("acting", ACTING)
def test_compiled_steps_call_functions_as_steps_in_python_do(acting, method, monkeypatch):
    def run():
        mb = sc.load("double_pendulum")
        mb.set_state([0.5, -0.3], [1.0, 0.0])
        return ACTING[acting](propagator(mb, method)).advance_to(0.04)

    compiled = run()
    assert is_compiled(compiled)
    in_python(monkeypatch)
    agree(compiled, run())


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_functions_act_on_closed_chains_and_flexible_trees(method, monkeypatch):
    def run(kind):
        mb = four_bar() if kind == "closed" else flexible_tree((-1, 0), 2, (sc.Pin((0, 0, 1)), sc.Pin((0, 1, 0))))
        p = propagator(mb, method)
        p.add(wave)
        return p.advance_to(0.02)

    compiled = [run(kind) for kind in ("closed", "flexible")]
    assert all(is_compiled(x) for x in compiled)
    in_python(monkeypatch)
    for x, kind in zip(compiled, ("closed", "flexible"), strict=True):
        agree(x, run(kind), 1e-9)


@pytest.mark.parametrize("method", TOUCHING)
@pytest.mark.parametrize("steps_in_python", [False, True])
def test_methods_with_contact_call_a_function_once_a_step(method, steps_in_python, monkeypatch):
    """At the start of each step and at the end of the last, always with the state there; a force element at stages."""
    if steps_in_python:
        in_python(monkeypatch)
    calls = []
    mb = box_on_floor(0.001)
    p = sc.sim.Propagator(mb, integrator=method, step=1e-3)
    p.add(sc.sim.Contact())
    p.add(lambda t, state: calls.append((round(t * 1e3, 6), float(state.q[6]))))
    run = p.advance_to(0.03)
    calls = [x for i, x in enumerate(calls) if i == 0 or x != calls[i - 1]]  # a run begins with rates of its own
    of_steps, of_watch = calls[:31], calls[31:]  # behind the last step stability is looked at
    assert [t for t, _ in of_steps] == list(range(31))
    np.testing.assert_allclose([z for _, z in of_steps], run.q[:, 6], rtol=0, atol=1e-12)
    assert len(of_watch) < 31


@pytest.mark.parametrize("method", TOUCHING)
@pytest.mark.parametrize("servo", [False, True])
def test_held_functions_are_the_same_in_both_engines(method, servo, monkeypatch):
    """A box that is pushed along the floor, with a function of time and state, and a servo whose target is one."""

    def run():
        mb = box_on_floor(0.002)
        if servo:
            law = {"biastype": "affine", "gainprm": [200.0], "biasprm": [0.0, -200.0, -5.0], "forcerange": [-8.0, 8.0]}
            box = mb.bodies[0]
            arm = mb.add_body("arm", box, sc.Pin((0, 0, 1)), sc.Inertia(0.5, (0.1, 0, 0), 0.01 * np.eye(3)))
            mb.add_actuator(sc.Actuator("servo", "general", {arm.hinge_name: 1.0}, law))
            mb.set_state([0, 0, 0, 1, 0, 0, 0.102, 0.0], np.zeros(7))
        p = sc.sim.Propagator(mb, integrator=method, step=1e-3)
        p.add(sc.sim.Contact())
        p.add(lambda t, state: {"box": [0, 0, 0.1, 8.0 + 3.0 * np.sin(50 * t), -state.v[4], 0]})
        if servo:
            p.control("servo", lambda t, state: 0.3 * np.sin(20.0 * t))
        p.add(sc.sim.Drag("box", linear=0.5))
        return p.advance_to(0.05)

    compiled = run()
    assert is_compiled(compiled)
    assert abs(compiled.q[-1, 4]) > 1e-5
    in_python(monkeypatch)
    agree(compiled, run(), 1e-8)


@pytest.mark.parametrize("method", TOUCHING)
@pytest.mark.parametrize(("rate", "stable"), [(0.5, True), (1.5, True), (2.5, False), (3.5, False)])
def test_a_held_damper_is_stable_up_to_twice_its_rate(method, rate, stable):
    """v1 = (1 - h d/m) v0 exactly, so that steps of more than 2 m/d diverge: these are refused, with that limit."""
    h, m = 1e-3, 2.0
    mb = sc.Multibody("lift", gravity=(0, 0, 0))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    cart = mb.add_body("cart", None, sc.Prismatic((0, 0, 1)), sc.Inertia(m))
    cart.add_geometry(sc.Geometry("ball", "sphere", (0.1,)))
    mb.set_state([10.0], [1.0])
    p = sc.sim.Propagator(mb, integrator=method, step=h)
    p.add(sc.sim.Contact())
    p.add(lambda t, state: -rate / h * m * state.v)
    if stable:
        run = p.advance_to(0.15)
        np.testing.assert_allclose(run.v[:20, 0], (1.0 - rate) ** np.arange(20), rtol=1e-9)
        return
    limit = f"{2.0 * h / rate:.2g}"
    with pytest.raises(SimulationError, match=rf"stability limits the steps of '{method}' to {limit} s"):
        p.advance_to(0.15)


@pytest.mark.parametrize("value", [0.5, [0.5], [1.0, 2.0, 3.0]])
def test_a_function_of_several_controls_gives_the_numbers_of_all(value):
    """Also where one of them is a number since; as many numbers as are left are refused."""
    p = propagator(sc.load("double_pendulum"), "rk4")
    first, second = p.mb.dof_names
    p.control(lambda t, state: np.array(value) if t > 0.01 else np.array([1.0, 0.25]))
    p.control(first, -0.4)
    run = p.run(0.008)
    assert set(run.forces[first][:, 0]) == {-0.4}
    assert set(run.forces[second][:, 1]) == {0.25}
    with pytest.raises(SimulationError, match=r"the numbers of 2 controls at t = .* must have shape \(2,\)"):
        p.run(0.04)


def test_an_error_of_a_function_ends_the_run_at_the_last_good_step():
    def broken(t, state):
        if t > 0.0205:
            raise ZeroDivisionError("of the user")
        return np.zeros(2)

    mb = sc.load("double_pendulum")
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.004)
    p.add(broken)
    with pytest.raises(ZeroDivisionError, match="of the user"):
        p.advance_to(0.1)
    assert p.t == 0.02
    np.testing.assert_allclose(p.last_run.t, 0.004 * np.arange(6), atol=1e-15)
    np.testing.assert_array_equal(p.last_run.q[-1], mb.q)


@pytest.mark.parametrize("method", ["rk4", "dop853", "moreau"])
def test_numbers_that_are_none_are_named(method):
    mb = box_on_floor(0.1)
    p = sc.sim.Propagator(mb, integrator=method, step=None if method == "dop853" else 1e-3)
    if method == "moreau":
        p.add(sc.sim.Contact())
    p.control(lambda t, state: np.full(6, np.nan) if t > 0.0103 else np.zeros(6))
    with pytest.raises(SimulationError, match=r"the numbers of 6 controls at t = 0\.01\d* s"):
        p.advance_to(0.1)


def test_an_adaptive_step_that_fails_at_a_trial_is_tried_shorter():
    """A function that knows no angles beyond 1.2 rad: trial steps go there, the motion does not."""

    def within(t, state):
        if abs(state.q[0]) > 1.2:
            raise sc.errors.StateError("no angle beyond 1.2 rad")
        return [-30.0 * state.q[0]]

    mb = sc.load("pendulum")
    mb.set_state([0.0], [5.0])
    p = sc.sim.Propagator(mb, rtol=1e-3)
    p.add(within)
    run = p.advance_to(2.0)
    assert 0.5 < np.abs(run.q).max() <= 1.2


def test_a_stepper_calls_functions_from_compiled_steps():
    mb = box_on_floor(0.0)
    p = sc.sim.Propagator(mb, integrator="moreau", step=1e-3)
    p.add(sc.sim.Contact())
    p.add(lambda t, state: {"box": [0, 0, 0, 25.0, 0, 0]})
    step, run = p.stepper([]), p.advance_to(0.05)
    assert "compiled" in step.report()
    step(50)
    np.testing.assert_allclose(step.q, run.q[-1], rtol=0, atol=1e-10)
    np.testing.assert_allclose(step.v[3], 0.05 * (25.0 / 3.0 - 0.5 * 9.81), rtol=1e-6)


@pytest.mark.parametrize("steps_in_python", [False, True])
@pytest.mark.parametrize("method", TOUCHING)
def test_a_step_ends_at_the_time_at_which_the_next_one_begins(method, steps_in_python, monkeypatch):
    """Without the rounding of t + h: otherwise the bits of a run depend on where compiled calls and pauses end."""
    if steps_in_python:
        in_python(monkeypatch)
    p, times = sc.sim.Propagator(box_on_floor(0.002), integrator=method, step=0.0013), []
    p.add(sc.sim.Contact())
    p.control(p.mb.dof_names[3], lambda t, state: times.append(t) or np.sin(30.0 * t))
    p.advance_to(0.05)
    assert set(times) == {x / 10**9 for x in [*range(0, 50_000_000, 1_300_000), 50_000_000]}


def test_a_force_in_another_order_is_put_in_that_of_the_model():
    """Numbers of a model whose bodies were added the other way round: by name, in compiled steps, too."""
    mb, other = (sc.Multibody(name, gravity=(0, 0, 0)) for name in ("forth", "back"))
    for model, names in ((mb, ("a", "b")), (other, ("b", "a"))):
        for name in names:
            model.add_body(name, None, sc.Pin((0, 0, 1)), sc.Inertia.box(2.0, (0.3, 0.1, 0.1)))
    other.set_state(v={"a": 1.0, "b": 2.0})
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    p.add(lambda t, state: other.v)
    run = p.advance_to(0.1)
    assert is_compiled(run)
    np.testing.assert_allclose(run.v[-1], np.array([0.1, 0.2]) / (2.0 * (0.3**2 + 0.1**2) / 12.0), rtol=1e-12)


def test_compiled_steps_tell_python_that_a_function_failed(monkeypatch):
    def fails(t, state):
        if t > 0.003:
            raise RuntimeError("of the user")
        return wave(t, state)

    def go(function):
        p = propagator(sc.load("double_pendulum"), "rk4")
        p.add(function)
        return first_call(monkeypatch, lambda: p.advance_to(0.02))

    for function, failed in ((fails, 1), (wave, 0)):
        call = go(function)
        functions = call[1].functions
        functions.failed[0] = 7
        *_, raised = compiled._core.advance(*call)
        assert functions.failed[0] == failed
        assert isinstance(raised, RuntimeError) == bool(failed)
