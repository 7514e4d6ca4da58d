"""Callbacks between compiled steps: the same motion, rows and order of calls as by steps in Python."""

import numpy as np
import pytest
from tests.sim.steppers.test_stepper import box_on_floor
from tests.sim.test_closed import four_bar
from tests.sim.test_compiled import agree, in_python, is_compiled
from tests.sim.test_compiled_refusals import first_call

import soacraft as sc
from soacraft.errors import SimulationError
from soacraft.sim import compiled


def pushed_box(method, step=1e-3):
    p = sc.sim.Propagator(box_on_floor(0.002), integrator=method, step=step)
    p.add(sc.sim.Contact())
    return p


def swing(method="rk4"):
    mb = sc.load("double_pendulum")
    mb.set_state([0.5, -0.3], [1.0, 0.0])
    return sc.sim.Propagator(mb, integrator=method, rtol=1e-8, step=None if method == "dop853" else 0.004)


def drives(p, every):
    """A proportional law of all dofs, computed every so often."""
    p.control(lambda t, state: -3.0 * state.v + np.cos(5.0 * t), every=every)


@pytest.mark.parametrize("every", [0.004, 0.01, 0.0037])
@pytest.mark.parametrize("method", ["rk4", "dop853", "verlet", "gauss4", "moreau", "moreau_midpoint"])
def test_held_numbers_are_those_of_steps_in_python(method, every, monkeypatch):
    def run():
        p = pushed_box(method, 0.002) if method.startswith("moreau") else swing(method)
        drives(p, every)
        return p.advance_to(0.06)

    compiled = run()
    assert is_compiled(compiled)
    in_python(monkeypatch)
    agree(compiled, run(), 1e-8 if method.startswith("moreau") else 1e-10)


@pytest.mark.parametrize("chain", [False, True])
def test_a_held_force_is_constant_between_calls(chain):
    """A mass of 2 kg under u = 1, 2, 3, ... N, each for 10 ms: its speed is exactly the sum."""
    if chain:
        p = sc.sim.Propagator(four_bar(), integrator="rk4", step=0.002)
        calls = []
        p.control(p.mb.dof_names[0], lambda t, state: calls.append(t) or 0.0, every=0.01)
        p.advance_to(0.05)
        assert calls == [0.0, 0.01, 0.02, 0.03, 0.04, 0.05]
        return
    mb = sc.Multibody("lift", gravity=(0, 0, 0))
    mb.add_body("cart", None, sc.Prismatic((0, 0, 1)), sc.Inertia.box(2.0, (0.1, 0.1, 0.1)))
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.002)
    p.control("cart", lambda t, state: 1.0 + round(t / 0.01), every=0.01)
    run = p.advance_to(0.05)
    assert is_compiled(run)
    np.testing.assert_allclose(run.v[::5, 0], np.cumsum([0, 1, 2, 3, 4, 5]) * 0.01 / 2.0, rtol=1e-12)


@pytest.mark.parametrize("method", ["rk4", "moreau"])
def test_what_a_callback_changes_acts_from_there_on(method, monkeypatch):
    """The state, a mass, a stored force, a shape, a control that becomes a function: one after the other."""

    def run():
        mb, seen = box_on_floor(0.002), []
        p = sc.sim.Propagator(mb, integrator=method, step=1e-3)
        if method == "moreau":
            p.add(sc.sim.Contact())
        name = mb.dof_names[5]
        p.control(name, 0.0)

        def change(t, state):
            seen.append(round(t, 9))
            match round(t / 0.005):
                case 1:
                    mb.set_state(mb.q, [0, 0, 0, 0.1, 0, 0])
                case 2:
                    mb.bodies[0].inertia = sc.Inertia(4.0, (0, 0, 0), 0.03 * np.eye(3))
                case 3:
                    mb.set_force("box", [0, 0, 0, 3.0, 0, 0])
                case 4:
                    p.control(name, lambda t, state: 5.0)
                case 5:
                    p.control(name, -2.0)

        p.every(0.005, change)
        p.every(0.002, lambda t, state: seen.append((round(t, 9), float(mb.q[6]))))
        return p.advance_to(0.032), seen

    (compiled, seen), _ = run(), None
    assert is_compiled(compiled)
    in_python(monkeypatch)
    other, also = run()
    agree(compiled, other, 1e-9)
    assert [x if isinstance(x, float) else x[0] for x in seen] == [x if isinstance(x, float) else x[0] for x in also]
    heights = [[x[1] for x in each if not isinstance(x, float)] for each in (seen, also)]
    np.testing.assert_allclose(*heights, rtol=0, atol=1e-10)


def test_a_callback_has_the_state_of_the_run_and_its_accelerations():
    p, seen = swing(), []
    p.control(p.mb.dof_names[0], 0.7)
    p.every(0.004, lambda t, state: seen.append((t, np.array(p.mb.q), np.array(state.v), np.array(state.vdot))))
    run = p.advance_to(0.04)
    assert is_compiled(run)
    assert [x[0] for x in seen] == pytest.approx(run.t, abs=1e-12)
    for i, (_, q, v, vdot) in enumerate(seen):
        np.testing.assert_allclose(q, run.q[i], rtol=0, atol=1e-15)
        np.testing.assert_allclose(v, run.v[i], rtol=0, atol=1e-15)
        np.testing.assert_allclose(vdot, run.vdot[i], rtol=0, atol=1e-12)


def test_states_that_a_function_keeps_stay_as_they_are():
    p, kept = swing(), []
    p.control(lambda t, state: kept.append(state) or np.zeros(2), every=0.004)
    run = p.advance_to(0.02)
    np.testing.assert_array_equal([s.q for s in kept], run.q)
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(kept[0].q)[0] = 1.0


@pytest.mark.parametrize("method", ["rk4", "moreau"])
def test_one_run_and_two_halves_have_the_same_bits(method):
    def made():
        p = pushed_box(method) if method == "moreau" else swing()
        drives(p, 0.004)
        return p

    p, q = made(), made()
    p.advance_to(0.05)
    for t in (0.012, 0.02, 0.05):
        q.advance_to(t)
    assert p.mb.q.tobytes() == q.mb.q.tobytes()
    assert p.mb.v.tobytes() == q.mb.v.tobytes()


def test_a_state_within_goes_on_with_the_same_bits(tmp_path):
    """A checkpoint that is written in the middle, between calls of a held control."""

    def made():
        p = pushed_box("moreau")
        drives(p, 0.003)
        return p

    p, other = made(), made()
    p.advance_to(0.01)
    state = p.state()
    p.advance_to(0.04)
    other.set_state(state)
    other.advance_to(0.04)
    assert p.mb.q.tobytes() == other.mb.q.tobytes()


@pytest.mark.parametrize("held", [True, False])
def test_an_error_of_a_callback_ends_the_run_there(held):
    def broken(t, state):
        if t > 0.01:
            raise RuntimeError("of the user")
        return np.zeros(2)

    p = swing()
    if held:
        p.control(broken, every=0.008)
    else:
        p.every(0.008, broken)
    with pytest.raises(RuntimeError, match="of the user"):
        p.advance_to(0.1)
    assert p.t == 0.016
    np.testing.assert_allclose(p.last_run.t, 0.004 * np.arange(5), atol=1e-15)
    np.testing.assert_array_equal(p.last_run.q[-1], p.mb.q)
    with pytest.raises(RuntimeError, match="of the user"):  # the next call is still to come
        p.advance_to(0.1)


def test_an_adaptive_run_does_not_hide_the_error_of_a_callback():
    def broken(t, state):
        if t > 0.03:
            raise sc.errors.StateError("of the user, in the family")

    p = swing("dop853")
    p.every(0.02, broken)
    with pytest.raises(SimulationError, match=r"stopped at t = 0\.04 s: of the user, in the family"):
        p.advance_to(0.1)


def test_a_callback_that_changes_the_structure_ends_the_run():
    p = swing()
    p.every(0.008, lambda t, state: t and p.mb.add_body("more", p.mb.bodies[-1], sc.Pin((0, 0, 1)), sc.Inertia(1.0)))
    with pytest.raises(SimulationError, match="the structure of 'double_pendulum' changed"):
        p.advance_to(0.1)


@pytest.mark.parametrize("steps_in_python", [False, True])
@pytest.mark.parametrize("edit", ["state", "mass"])
def test_a_function_of_held_numbers_may_not_change_the_model(edit, steps_in_python, monkeypatch):
    if steps_in_python:
        in_python(monkeypatch)
    p = swing()

    def meddles(t, state):
        if t > 0.0:
            if edit == "state":
                p.mb.set_state([0.0, 0.0], [0.0, 0.0])
            else:
                p.mb.bodies[0].inertia = sc.Inertia(3.0)
        return np.zeros(2)

    p.control(meddles, every=0.008)
    text = r"p.control\(f, every=\) changed 'double_pendulum'.*p.every\(period, f\)"
    with pytest.raises(SimulationError, match=text):
        p.advance_to(0.1)


@pytest.mark.parametrize("value", [np.zeros(3), np.array([0.0, np.inf]), {"elbow": 1.0}, "1", None])
def test_numbers_that_are_none_end_the_run_by_name(value):
    p = swing()
    p.control(lambda t, state: np.zeros(2) if t < 0.01 else value, every=0.004)
    with pytest.raises(SimulationError, match=r"stopped at t = 0.012 s: .*2 controls"):
        p.advance_to(0.1)
    np.testing.assert_array_equal(p.last_run.q[-1], p.mb.q)


def test_controls_have_the_last_numbers_after_a_run():
    p = swing()
    p.control(lambda t, state: {p.mb.dof_names[1]: 2.0 * t}, every=0.004)
    p.advance_to(0.03)
    assert p.state().controls == {p.mb.dof_names[0]: 0.0, p.mb.dof_names[1]: pytest.approx(0.056)}


def test_forces_between_rows_are_those_of_the_numbers_then():
    """A force of 1, 2, 3, ... N that is held for 4 ms each: asked for in the middle of every step."""
    mb = sc.Multibody("lift", gravity=(0, 0, 0))
    mb.add_body("cart", None, sc.Prismatic((0, 0, 1)), sc.Inertia.box(2.0, (0.1, 0.1, 0.1)))
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.002)
    p.control("cart", lambda t, state: 1.0 + round(t / 0.004), every=0.004)
    run = p.advance_to(0.02)
    assert is_compiled(run)
    middle = 0.001 + 0.002 * np.arange(10)
    held = 1.0 + np.arange(10) // 2
    sample = run.at(middle)
    np.testing.assert_allclose(sample.forces["cart"][:, 0], held, rtol=1e-12)
    np.testing.assert_allclose(sample.vdot[:, 0], held / 2.0, rtol=1e-12)
    np.testing.assert_allclose(sample.v[:, 0], np.cumsum(np.repeat(held, 1)) * 0.001 - held * 0.0005, rtol=1e-12)


@pytest.mark.parametrize("steps_in_python", [False, True])
@pytest.mark.parametrize("held", [True, False])
def test_a_callback_finds_propagator_and_model_at_the_present(held, steps_in_python, monkeypatch):
    """A law that reads p.t and mb.q in place of its arguments."""
    if steps_in_python:
        in_python(monkeypatch)
    p, seen = swing(), []

    def looks(t, state):
        seen.append((t, p.t, *state.q, *p.mb.q))
        return np.zeros(2)

    p.control(looks, every=0.008) if held else p.every(0.008, looks)
    run = p.advance_to(0.04)
    seen = np.array(seen)
    np.testing.assert_allclose(seen[:, 0], run.t[::2], rtol=0, atol=1e-12)
    np.testing.assert_allclose(seen[:, 1], run.t[::2], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(seen[:, 2:4], run.q[::2])
    np.testing.assert_array_equal(seen[:, 4:], run.q[::2])


@pytest.mark.parametrize("steps_in_python", [False, True])
def test_a_callback_has_the_accelerations_of_what_is_free(steps_in_python, monkeypatch):
    """A body that turns while it travels: vdot of its own axes, not of the axes in which it is integrated."""
    if steps_in_python:
        in_python(monkeypatch)
    mb, seen = sc.Multibody("body"), []
    mb.add_body("body", None, sc.Free(), sc.Inertia(2.0, (0.1, 0.2, 0.0), np.diag([1.0, 2.0, 2.5])))
    mb.v = [1.0, 2.0, 3.0, 0.5, -1.0, 2.0]
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.002)
    p.every(0.004, lambda t, state: seen.append((state.q, state.v, state.vdot)))
    p.event("up", lambda t, state: t - 0.011, action=lambda t, state: seen.append((state.q, state.v, state.vdot)))
    p.advance_to(0.02)
    assert len(seen) == 7
    for q, v, vdot in seen:
        np.testing.assert_allclose(vdot, sc.dynamics.forward_dynamics(mb, q, v, np.zeros(6)), rtol=0, atol=1e-13)


@pytest.mark.parametrize("steps_in_python", [False, True])
def test_a_callback_may_add_a_callback(steps_in_python, monkeypatch):
    """It is called from there on, at multiples of its period."""
    if steps_in_python:
        in_python(monkeypatch)
    p, calls = swing(), []

    def adds(t, state):
        if t == 0.02:
            p.every(0.006, lambda t, state: calls.append(t))

    p.every(0.01, adds)
    p.advance_to(0.04)
    assert calls == [0.02, 0.026, 0.032, 0.038]


def test_a_callback_that_sets_the_state_it_has_is_no_edit_by_the_next_one():
    p = swing()
    p.every(0.008, lambda t, state: p.mb.set_state(p.mb.q, p.mb.v))
    drives(p, 0.008)
    assert len(p.advance_to(0.04)) == 11


@pytest.mark.parametrize("steps_in_python", [False, True])
def test_a_callback_that_changes_the_state_before_time_zero(steps_in_python, monkeypatch):
    """Nanoseconds of visits are negative there: all calls are made, and every change acts."""
    if steps_in_python:
        in_python(monkeypatch)
    mb, calls = sc.Multibody("cart", gravity=(0, 0, 0)), []
    mb.add_body("cart", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
    mb.v = [1.0]
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.004, t=-0.05)

    def halves(t, state):
        calls.append(t)
        mb.set_state(mb.q, 0.5 * mb.v)

    p.every(0.01, halves)
    p.advance_to(0.02)
    np.testing.assert_allclose(calls, [-0.05, -0.04, -0.03, -0.02, -0.01, 0.0, 0.01, 0.02], rtol=0, atol=1e-12)
    np.testing.assert_allclose(mb.v, 0.5**8, rtol=1e-12)
    np.testing.assert_allclose(mb.q, 0.01 * sum(0.5**k for k in range(1, 8)), rtol=1e-12)


@pytest.mark.parametrize("steps_in_python", [False, True])
def test_callbacks_at_one_instant_have_the_accelerations_of_the_row(steps_in_python, monkeypatch):
    """A box on a floor: the second one sees what contacts make of it, though the first one gave a control a number."""
    if steps_in_python:
        in_python(monkeypatch)
    p, seen = pushed_box("moreau"), []
    drives(p, 0.002)
    p.every(0.002, lambda t, state: seen.append(state.vdot))
    run = p.advance_to(0.02)
    np.testing.assert_allclose(seen[1:], run.vdot[2::2], rtol=0, atol=1e-12)


def test_compiled_steps_end_where_a_callback_changed_the_model():
    p = swing()
    p.every(0.02, lambda t, state: p.mb.set_state(0.9 * p.mb.q, 0.9 * p.mb.v) if round(t, 9) == 0.04 else None)
    run = p.advance_to(0.1)
    assert is_compiled(run)
    assert [(int(x.ns[0]), int(x.ns[-1])) for _, x in run._dense] == [(0, 40_000_000), (40_000_000, 100_000_000)]


def whole(*numbers):
    return np.array(numbers, dtype=np.int64)


def other_store():
    return sc.load("pendulum").store


def with_call(x, **changes):
    """A setting whose held numbers are called in another way."""
    return x._replace(visits=x.visits._replace(calls=(x.visits.calls[0]._replace(**changes),)))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda x: x._replace(visits=x.visits._replace(store=other_store())), "visits are of another model"),
        (lambda x: x._replace(visits=x.visits._replace(due=whole(1, 2))), "visits are of another model"),
        (lambda x: x._replace(visits=x.visits._replace(periods=whole(1, 2))), "visits are of another model"),
        (lambda x: x._replace(visits=x.visits._replace(since=whole())), "visits are of another model"),
        (lambda x: x._replace(visits=x.visits._replace(history=np.zeros((3, 5)))), "visits are of another model"),
        (lambda x: x._replace(visits=x.visits._replace(outcome=whole(0))), "visits are of another model"),
        (lambda x: x._replace(visits=x.visits._replace(now=whole(0, 0))), "visits are of another model"),
        (lambda x: x._replace(visits=x.visits._replace(store=None)), "visits need the store of a model"),
        (lambda x: x._replace(visits=x.visits._replace(calls=[])), "calls must be a tuple"),
        (lambda x: x._replace(visits=x.visits._replace(places=whole(0, 9))), "a place of visits is out of range"),
        (lambda x: with_call(x, places=whole(0, -1)), "a place of a call is out of range"),
        (lambda x: with_call(x, guard=x.visits.calls[0].guard._replace(forces=None)), "forces must be a dict"),
        (lambda x: x._replace(functions=x.functions._replace(still=np.zeros(3))), "functions are of another model"),
        (lambda x: x._replace(functions=x.functions._replace(failed=whole())), "functions are of another model"),
        (lambda x: x._replace(functions=x.functions._replace(stage=None)), "stage must be a tuple"),
        (lambda x: x._replace(functions=x.functions._replace(forces=np.zeros((1, 9)))), "functions are of another"),
        (lambda x: x._replace(functions=x.functions._replace(rows=np.zeros(7, dtype=np.int64))), "functions are of"),
        (lambda x: x._replace(functions=x.functions._replace(rows=x.functions.rows + 5)), "a row of forces is out of"),
    ],
)
def test_what_does_not_fit_compiled_steps_is_refused_by_name(change, text, monkeypatch):
    def go():
        p = swing()
        drives(p, 0.004)
        p.add(lambda t, state: np.zeros(2))
        p.advance_to(0.02)

    call = first_call(monkeypatch, go)
    call[1] = change(call[1])
    with pytest.raises(ValueError, match=text):
        compiled._core.advance(*call)
