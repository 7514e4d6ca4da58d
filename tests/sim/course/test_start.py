"""Edits of the model, of what acts, and of the state between two runs are seen by the second one, which begins without
reading again what has not changed."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.sim.runs.recorder import Recorder

STEP = 0.002


def arm():
    """An arm in motion, of which one joint has a rotor."""
    mb = sc.load("arm7")
    mb.bodies[2].armature = [0.1]
    q, v = mb.random_state(seed=3)
    mb.set_state(q, 0.3 * v)
    return mb


def driven(p):
    p.control(p.mb.dof_names[0], 0.5)
    return p


def pushed(p):
    p.mb.set_force(p.mb.bodies[-1], [0.0, 1.0, 0.0, 3.0, 0.0, 0.0])
    return p


def dragged(p):
    p.add(drag)
    return p


def drag(t, state):
    return -0.3 * np.asarray(state.v)


def led(p):
    p.prescribe(p.mb.dof_names[1], lambda t: (0.3 * t, 0.3, 0.0))


def body(p):
    return p.mb.bodies[2]


#: What happens before the first run, and between the two.
EDITS = {
    "gravity": (None, lambda p: setattr(p.mb, "gravity", (0.0, 1.0, -3.0))),
    "inertia": (None, lambda p: setattr(body(p), "inertia", sc.Inertia(9.0, (0, 0, 0.1), 0.2 * np.eye(3)))),
    "armature": (None, lambda p: setattr(body(p), "armature", [2.0])),
    "springs that were none": (None, lambda p: setattr(body(p), "passive", sc.Passive(stiffness=200.0, damping=3.0))),
    "pose": (None, lambda p: setattr(body(p), "inboard", sc.Pose(translation=(0.1, 0.2, 0.3)))),
    "force": (None, pushed),
    "another force": (pushed, lambda p: p.mb.set_force(p.mb.bodies[-1], [0.0, 0.0, 0.0, 0.0, 0.0, 7.0])),
    "no force": (pushed, lambda p: p.mb.set_force(p.mb.bodies[-1], None)),
    "number": (driven, lambda p: p.control(p.mb.dof_names[0], -4.0)),
    "samples for a number": (driven, lambda p: p.control(p.mb.dof_names[0], ([0.0, 1.0], [0.0, 30.0]))),
    "function for a number": (driven, lambda p: p.control(p.mb.dof_names[0], lambda t, state: 3.0 * state.q[1])),
    "control": (None, driven),
    "load": (None, dragged),
    "second load": (driven, dragged),
    "prescribed": (None, led),
    "let go": (led, lambda p: p.prescribe(p.mb.dof_names[1], None)),
    "state": (None, lambda p: p.mb.set_state(p.mb.neutral(), np.ones(p.mb.nv))),
    "velocities": (driven, lambda p: p.mb.set_state(v=np.zeros(p.mb.nv))),
    "node": (None, lambda p: p.mb.bodies[-1].add_node("far", sc.Pose(translation=(0, 0, 30.0)))),
}


def propagator(mb, integrator, t=0.0):
    return sc.sim.Propagator(mb, integrator=integrator, step=STEP, t=t)


@pytest.mark.parametrize(
    ("edit", "integrator"),
    [(x, "rk4") for x in EDITS] + [(x, "verlet") for x in EDITS if x not in ("prescribed", "let go")],
)
def test_what_changes_between_runs_acts_in_the_next(edit, integrator):
    """A propagator that is made after the edit, at the state of the first one, has the same rows to the bit."""
    before, change = EDITS[edit]
    p = propagator(arm(), integrator)
    if before is not None:
        before(p)
    p.run(0.01)
    p.run(0.02)
    change(p)
    fresh = propagator(p.mb.copy(), integrator, p.t)
    for action in (before, change):
        if action is not None and edit not in ("state", "velocities", "let go", "node"):
            action(fresh)
    if edit == "velocities":
        driven(fresh)
    if edit == "no force":
        assert not fresh.mb.acting_forces
    run, other = p.run(0.05), fresh.run(0.05)
    assert len(run) == 16
    names = "t", "q", "v", "vdot", "kinetic", "potential", "energy", "violation"
    for name in names:
        np.testing.assert_array_equal(getattr(run, name), getattr(other, name), err_msg=name)
    shared = [name for name in other.forces if name in run.forces]
    assert [name for name in other.forces if name not in run.forces and np.any(other.forces[name])] == []
    for name in shared:
        np.testing.assert_array_equal(run.forces[name], other.forces[name], err_msg=name)
        grown = run.work[name] - run.work[name][0]
        size = max(1.0, np.abs(run.work[name]).max())
        np.testing.assert_allclose(grown, other.work[name] - other.work[name][0], atol=1e-13 * size)


def test_events_and_callbacks_that_are_added_between_runs():
    """An event and a callback that are added between runs are asked for in the next one."""
    p, seen = propagator(arm(), "rk4"), []
    p.run(0.01)
    p.run(0.02)
    p.event("passes", lambda t, state: t - 0.0305, stop=True)
    p.every(0.004, lambda t, state: seen.append(round(t, 9)))
    run = p.run(0.05)
    assert run.stopped_by == "passes"
    assert run.t[-1] == pytest.approx(0.0305, abs=1e-9)
    assert seen == [0.02, 0.024, 0.028]


def test_names_that_change_between_runs_are_those_of_the_next():
    """A run has the labels of the model as it was then."""
    mb = sc.load("double_pendulum")
    p = propagator(mb, "rk4")
    first = p.run(0.01)
    mb.bodies[0].passive = sc.Passive(damping=0.5)
    second = p.run(0.02)
    assert first.labels == second.labels
    assert "passive" not in {x.split()[0] for x in first.forces}
    assert len(second.forces) == len(first.forces) + 1


def test_rows_of_a_run_are_its_own():
    """A run that is written to leaves what is between its rows, and the next run, as they were."""
    p, other = propagator(arm(), "rk4"), propagator(arm(), "rk4")
    run, same = p.run(0.01), other.run(0.01)
    middle = run.at(0.005).q
    run.q[:], run.v[:], run.t[:] = 7.0, 7.0, 7.0
    np.testing.assert_array_equal(middle, same.at(0.005).q)
    np.testing.assert_array_equal(p.mb.q, other.mb.q)
    np.testing.assert_array_equal(p.run(0.02).q, other.run(0.02).q)


@pytest.mark.parametrize("name", ["arm7", "a1", "double_pendulum"])
def test_first_row_and_steps_have_energies_of_the_model(name):
    """The first row is computed together with the steps behind it: each has the numbers of the model there."""
    mb = sc.load(name)
    q, v = mb.random_state(seed=1)
    mb.set_state(q, 0.1 * v)
    p = propagator(mb, "rk4")
    p.control(mb.dof_names[-1], lambda t, state: np.sin(40.0 * t))
    runs = [p.run(0.01), p.run(0.02)]
    for run in runs:
        assert len(run) == 6
        kinetic = [sc.dynamics.kinetic_energy(mb, *x) for x in zip(run.q, run.v, strict=True)]
        potential = [sc.dynamics.potential_energy(mb, q) for q in run.q]
        np.testing.assert_allclose(run.kinetic, kinetic, rtol=1e-13)
        np.testing.assert_allclose(run.potential, potential, rtol=1e-12, atol=1e-12)
        force = [np.sin(40.0 * t) for t in run.t]
        np.testing.assert_allclose(run.forces[mb.dof_names[-1]][:, -1], force, rtol=1e-13)


def test_an_overflow_in_the_first_row_leaves_the_run_before():
    """A state without an energy is refused where a run begins; the state can be mended."""
    mb = arm()
    p = propagator(mb, "rk4")
    first = p.run(0.01)
    mb.set_state(v=np.full(mb.nv, 1e200))
    with pytest.raises(sc.errors.SoacraftError):
        p.run(0.02)
    assert p.last_run is first
    assert p.t == 0.01
    mb.set_state(v=np.zeros(mb.nv))
    assert len(p.run(0.02)) == 6


def test_a_pending_row_that_is_another_one_is_computed_by_itself():
    """Rows are joined to a block only where they are where it begins."""
    p = propagator(arm(), "rk4")
    run = p.run(0.01)
    block, problem = run._dense[0][1], run._dense[0][1].problem
    for x, w, joined in (
        (block.x[0], block.w[0], True),
        (block.x[1], block.w[0], False),
        (block.x[0], 2.0 * block.w[0], False),
    ):
        recorder = Recorder(problem, "rk4")
        recorder.first(0.0, x.copy(), w.copy(), False)
        assert recorder._begins(block) is joined
        recorder.block(block, 1e-9)
        assert len(recorder._chunks) == (1 if joined else 2)
        again = recorder.run()
        np.testing.assert_array_equal(again.q[1:], run.q[1:])
        np.testing.assert_array_equal(again.q[0], x[: p.mb.nq])
