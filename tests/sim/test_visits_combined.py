"""Held numbers next to all else that a run has: the same as by steps in Python, and from a checkpoint."""

import threading

import numpy as np
import pytest
from tests.sim.test_compiled import agree, in_python, is_compiled
from tests.sim.test_compiled_contact_loops import falling
from tests.sim.test_visits import drives, pushed_box, swing

import soacraft as sc
from soacraft.errors import SimulationError
from soacraft.sim.runs.block import Block


def chain_on_a_floor():
    p = sc.sim.Propagator(falling(), integrator="moreau", step=0.001)
    p.add(sc.sim.Contact())
    return p


SCENES = {
    "arm": lambda: swing("rk4"),
    "adaptive arm": lambda: swing("dop853"),
    "box on a floor": lambda: pushed_box("moreau", 0.002),
    "box by midpoints": lambda: pushed_box("moreau_midpoint", 0.002),
    "four-bar on a floor": chain_on_a_floor,
}


def callback(p, path):
    p.every(0.006, lambda t, state: None)


def change(p, path):
    p.every(0.012, lambda t, state: p.mb.set_state(p.mb.q, 0.99 * p.mb.v) if t else None)


def event(p, path):
    p.event("late", lambda t, state: t - 0.0131, action=lambda t, state: None)


def function(p, path):
    p.add(lambda t, state: -0.1 * state.v)


BESIDES = {
    "nothing": lambda p, path: None, "a callback": callback, "a change": change, "an event": event, "a force": function,
}  # fmt: skip


@pytest.mark.parametrize("besides", BESIDES)
@pytest.mark.parametrize("scene", SCENES)
def test_a_run_is_that_of_steps_in_python(scene, besides, monkeypatch, tmp_path):
    def run():
        p = SCENES[scene]()
        drives(p, 0.004)
        BESIDES[besides](p, tmp_path)
        return p.advance_to(0.03)

    compiled = run()
    if besides == "an event":  # the step in which it happens is taken in Python
        assert any(isinstance(x, Block) for _, x in compiled._dense)
    else:
        assert is_compiled(compiled)
    in_python(monkeypatch)
    agree(compiled, run(), 1e-7)


@pytest.mark.parametrize("scene", ["arm", "box on a floor", "box by midpoints"])
@pytest.mark.parametrize("logged", [False, True])
def test_a_checkpoint_goes_on_with_the_same_bits(scene, logged, tmp_path):
    def made():
        p = SCENES[scene]()
        drives(p, 0.004)
        callback(p, None)
        return p

    p, other = made(), made()
    log = {"log": tmp_path / "a.h5"} if logged else {}
    p.advance_to(0.013, checkpoint=tmp_path / "c.h5", checkpoint_every=0.004, **log)
    end = p.advance_to(0.04)
    other.restore(tmp_path / "c.h5", accept_changes=True)
    again = other.advance_to(0.04)
    assert other.mb.q.tobytes() == p.mb.q.tobytes()
    assert end.v[-1].tobytes() == again.v[-1].tobytes()


@pytest.mark.parametrize("method", ["moreau", "moreau_midpoint"])
def test_a_callback_that_changes_nothing_changes_nothing_between_rows(method):
    p, other = pushed_box(method), pushed_box(method)
    other.every(0.003, lambda t, state: None)
    run, called = p.advance_to(0.03), other.advance_to(0.03)
    t = np.linspace(0.0, 0.03, 61)
    np.testing.assert_array_equal(run.q, called.q)
    np.testing.assert_array_equal(run.at(t).q, called.at(t).q)
    np.testing.assert_array_equal(run.at(t).v, called.at(t).v)


@pytest.mark.parametrize("in_a_thread", [False, True])
@pytest.mark.parametrize("method", ["rk4", "moreau"])
def test_what_a_held_function_can_read(method, in_a_thread):
    """Accelerations, the model's own state, poses of bodies, quantities of the state."""
    p = pushed_box(method) if method == "moreau" else swing()
    mb, seen = p.mb, []

    def law(t, state):
        world = [np.array(x) for x in state.configuration.world]
        seen.append((t, np.array(state.vdot), np.array(mb.q), np.array(mb.vdot), *world, np.array(state.motion.V)))
        return np.zeros(mb.nv)

    p.control(law, every=0.004)
    runs = []
    go = threading.Thread(target=lambda: runs.append(p.advance_to(0.02)))
    go.start() if in_a_thread else go.run()
    go.join() if in_a_thread else None
    (run,) = runs
    assert is_compiled(run)
    at = {round(t, 9): i for i, t in enumerate(run.t)}
    assert len(seen) == 6
    for t, vdot, q, own, R, place, V in seen[1:]:
        i = at[round(t, 9)]
        state = mb.state(run.q[i], run.v[i])
        np.testing.assert_allclose(vdot, run.vdot[i], rtol=0, atol=1e-12)
        np.testing.assert_allclose(own, run.vdot[i], rtol=0, atol=1e-12)
        np.testing.assert_allclose(q, run.q[i], rtol=0, atol=1e-15)
        np.testing.assert_allclose(R, state.configuration.world[0], rtol=0, atol=1e-14)
        np.testing.assert_allclose(place, state.configuration.world[1], rtol=0, atol=1e-14)
        np.testing.assert_allclose(V, state.motion.V, rtol=0, atol=1e-13)


def test_a_state_that_is_kept_stays_what_it_was():
    """With all that is computed of it, though the model moved on and got another mass."""
    p, kept, numbers = swing(), [], []

    def law(t, state):
        kept.append(state)
        numbers.append((np.array(state.q), np.array(state.v), np.array(state.vdot), np.array(state.motion.V)))
        return -state.v

    p.control(law, every=0.004)
    p.advance_to(0.04)
    p.mb.bodies[0].inertia = sc.Inertia(5.0)
    for state, (q, v, vdot, V) in zip(kept, numbers, strict=True):
        np.testing.assert_array_equal(state.q, q)
        np.testing.assert_array_equal(state.v, v)
        np.testing.assert_array_equal(state.vdot, vdot)
        np.testing.assert_array_equal(state.motion.V, V)


@pytest.mark.parametrize("every", [None, 0.004])
@pytest.mark.parametrize("edit", ["force", "shape", "callback", "structure"])
def test_a_function_that_changes_the_model_ends_the_run(edit, every):
    p = swing()

    def meddles(t, state):
        if t > 0.01:
            match edit:
                case "force":
                    p.mb.set_force(p.mb.bodies[-1], [0, 0, 0, 1.0, 0, 0])
                case "shape":
                    p.mb.bodies[0].add_geometry(sc.Geometry("ball", "sphere", (0.1,)))
                case "callback":
                    p.every(0.1, lambda t, state: None)
                case "structure":
                    p.mb.add_body("more", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0))
        return np.zeros(2)

    p.control(meddles, every=every) if every else p.control(meddles)
    text = "was called by a function" if edit == "callback" else "changed 'double_pendulum'|structure of"
    with pytest.raises(SimulationError, match=text):
        p.advance_to(0.05)
    assert p.t <= 0.016


def test_subscribers_hear_of_each_visit():
    p, heard = swing(), []
    drives(p, 0.004)
    with p.mb.subscribe(lambda change: heard.append(change.kinds)):
        p.advance_to(0.02)
    assert sum("state" in kinds for kinds in heard) >= 6


@pytest.mark.parametrize("held", [True, False])
def test_the_time_of_a_visit_is_that_of_the_propagator_while_it_goes_on(held):
    """Also where the visit ends the run with an error: then it is the time of the last row, and of no visit."""
    p, seen = swing(), []

    def law(t, state):
        seen.append((t, p.t, repr(p)))
        if t > 0.015:
            raise RuntimeError("of the user")
        return np.zeros(2)

    if held:
        p.control(law, every=0.004)
    else:
        p.every(0.004, law)
    p.run(0.01)
    assert p.t == 0.01
    with pytest.raises(RuntimeError, match="of the user"):
        p.run(0.05)
    assert [x for x, _, _ in seen] == pytest.approx([0.0, 0.004, 0.008, 0.012, 0.016])
    assert all(t == at and f"at t = {t:.9g} s" in text for t, at, text in seen)
    assert p.t == p.last_run.t[-1] == 0.016


def test_who_subscribes_in_a_visit_hears_of_the_next_ones():
    p, heard = swing(), []

    def look(t, state):
        if t == 0.0:
            p.mb.subscribe(lambda change: heard.append(change.kinds)).__enter__()

    p.every(0.004, look)
    p.run(0.02)
    assert sum("state" in kinds for kinds in heard) >= 5


def test_forces_that_act_are_those_of_the_states():
    p, seen = swing(), []
    p.mb.set_force(p.mb.bodies[-1], [0, 0, 0, 1.0, 0, 0])
    p.control(lambda t, state: seen.append(state.forces) or np.zeros(2), every=0.004)
    p.advance_to(0.02)
    assert len(seen) == 6
    assert all(len(x) == 1 and x[0][0].full_name == p.mb.bodies[-1].full_name for x in seen)
