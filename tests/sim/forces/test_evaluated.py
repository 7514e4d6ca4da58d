"""Functions that give forces, controls and values of events change nothing: edits are refused, in both engines."""

import numpy as np
import pytest
from tests.sim.test_compiled import in_python
from tests.sim.test_visits import swing

import soacraft as sc
from soacraft.errors import SimulationError

EDITS = {
    "gravity": lambda p: setattr(p.mb, "gravity", (0.0, 0.0, -3.0)),
    "mass": lambda p: setattr(p.mb.bodies[1], "inertia", sc.Inertia(3.0, (0.3, 0.0, 0.0), 0.1 * np.eye(3))),
    "force": lambda p: p.mb.set_force(p.mb.bodies[1], [0.0, 0.0, 0.0, 1.0, 2.0, 0.0]),
    "structure": lambda p: p.mb.add_body("more", p.mb.bodies[0], sc.Pin((0, 0, 1)), sc.Inertia(1.0)),
}
CALLS = {
    "p.control": lambda p: p.control(p.mb.dof_names[1], 2.0),
    "p.every": lambda p: p.every(0.01, lambda t, state: None),
    "p.event": lambda p: p.event("more", lambda t, state: 1.0),
    "p.add": lambda p: p.add(lambda t, state: np.ones(2)),
    "p.prescribe": lambda p: p.prescribe(p.mb.dof_names[0], lambda t: (0.0, 0.0, 0.0)),
}


def acting(method, kind, change):
    """A propagator with a function that makes a change once, after 10 ms."""
    p, done = swing(method), []
    p.control(p.mb.dof_names[1], 0.0)

    def changes(t, state):
        if t > 0.01 and not done:
            done.append(t)
            change(p)
        return np.zeros(2) if kind == "force" else 1.0

    match kind:
        case "force":
            p.add(changes)
        case "control":
            p.control(p.mb.dof_names[0], changes)
        case "held":
            p.control(p.mb.dof_names[0], changes, every=0.004)
        case "event":
            p.event("e", changes)
    return p


@pytest.mark.parametrize("steps_in_python", [False, True])
@pytest.mark.parametrize("kind", ["force", "control", "held", "event"])
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_a_function_that_changes_the_model_ends_the_run(method, edit, kind, steps_in_python, monkeypatch):
    if steps_in_python:
        in_python(monkeypatch)
    with pytest.raises(SimulationError, match=r"the function of .* changed 'double_pendulum'.*p\.every\(period, f\)"):
        acting(method, kind, EDITS[edit]).advance_to(0.1)


@pytest.mark.parametrize("steps_in_python", [False, True])
@pytest.mark.parametrize("kind", ["force", "control", "held", "event"])
@pytest.mark.parametrize("call", CALLS)
def test_a_function_that_changes_what_acts_is_refused(call, kind, steps_in_python, monkeypatch):
    if steps_in_python:
        in_python(monkeypatch)
    p = acting("dop853" if kind == "force" else "rk4", kind, CALLS[call])
    with pytest.raises(SimulationError, match=rf"{call} was called by a function that gives a force.*p\.every"):
        p.advance_to(0.1)
    assert p.mb.dof_names[1] not in p.state().controls or p.state().controls[p.mb.dof_names[1]] == 0.0
    assert len(p.state().callbacks) == (kind == "held")
    p.control(p.mb.dof_names[1], 1.0)  # after the run it may be called again


def test_a_function_may_use_the_model_for_a_state_of_its_own():
    p = swing()

    def force(t, state):
        p.mb.set_state(2.0 * state.q, state.v)
        return -sc.dynamics.mass_matrix(p.mb, p.mb.q) @ state.v

    p.add(force)
    run = p.advance_to(0.02)
    np.testing.assert_array_equal(p.mb.q, run.q[-1])
