"""Forces without the entries that are always zero: rows, names and copies are those of the whole table."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import SimulationError, StateError
from soacraft.sim.problem.run_problem import RunProblem
from soacraft.sim.runs.force_columns import ForceColumns, Forces
from soacraft.sim.runs.log import Log
from soacraft.sim.runs.recorder import Recorder
from soacraft.sim.system import Mechanism


def columns():
    """Of three forces on four dofs: one on the second, one on the last two, and one on all."""
    return ForceColumns((3, 4), np.array([1, 6, 7, 8, 9, 10, 11]))


def table(rows=5):
    x = np.zeros((rows, 12))
    x[:, columns().entries] = np.random.default_rng(0).normal(size=(rows, 7))
    return x.reshape(rows, 3, 4)


def test_rows_come_back():
    c, x = columns(), table()
    compact = c.compact(x)
    assert compact.shape == (5, 7)
    np.testing.assert_array_equal(c.full(compact), x)
    for i in range(3):
        np.testing.assert_array_equal(c.of_force(compact, i), x[:, i])
    np.testing.assert_array_equal(c.all.full(c.all.compact(x)), x)
    assert c.all.is_whole
    assert not c.is_whole
    assert c == columns()
    assert c != c.all


def test_other_entries_are_looked_for():
    c, x = columns(), table()
    assert c.has_all(x)
    x[3, 0, 0] = 1e-300
    assert not c.has_all(x)
    assert c.all.has_all(x)


def test_forces_that_act_are_those_with_a_number():
    c, x = columns(), table()
    x[:, 1] = 0.0
    assert c.acts([c.compact(x[:1]), c.compact(x[1:])]).tolist() == [True, False, True]
    assert c.acts([c.compact(x[:0])]).tolist() == [False] * 3
    none = ForceColumns((2, 0), np.zeros(0, dtype=int))
    assert none.acts([np.zeros((3, 0))]).tolist() == [False, False]


def test_forces_are_a_mapping_by_name():
    c, x = columns(), table()
    forces = Forces({"b": 1, "c": 2}, c, [c.compact(x[:2]), c.compact(x[2:])])
    assert [*forces] == ["b", "c"]
    assert "a" not in forces
    np.testing.assert_array_equal(np.stack([*forces.values()], axis=1), x[:, 1:])
    assert repr(forces) == "<2 forces: b, c>"
    assert forces["b"] is forces["b"]
    for copied in (copy.deepcopy(forces), pickle.loads(pickle.dumps(forces))):
        np.testing.assert_array_equal(copied["c"], x[:, 2])
    with pytest.raises(StateError, match="the run has no force 'bb'"):
        forces["bb"]


def test_controls_have_the_dofs_of_their_rows():
    """Functions have all, and rows of steps that Python takes are those of compiled steps."""
    runs = []
    for plain in (False, True):
        mb = sc.load("arm7")
        p = sim.Propagator(mb, integrator="rk4", step=0.01)
        second = mb.dof_names[1]
        p.control(second, 1.0)
        p.add(lambda t, state: np.full(7, 0.1))
        if plain:
            p.event("never", lambda t, state: 1.0 if state.q[0] < 1e9 else -1.0)
        runs.append(p.run(0.05))
    for run in runs:
        assert run.forces[second].any(axis=0).tolist() == [False, True] + [False] * 5
        (function,) = (x for x in run.forces if x != second)
        assert (run.forces[function] == 0.1).all()
    assert [*runs[0].forces] == [*runs[1].forces]


def test_a_load_that_acts_beside_its_row_is_recorded(monkeypatch):
    """Rows so far are kept, and their forces are whole from then on."""
    mb = sc.load("arm7")
    problem = Mechanism(RunProblem.of(mb))
    recorder = Recorder(problem, "rk4")
    recorder._columns = ForceColumns((len(problem.names), mb.nv), np.arange(3))
    x, w = problem.point(mb.q, mb.v), np.zeros(problem.manifold.size)
    recorder.row(0.0, x, w)
    recorder.flush()
    force = np.zeros((len(problem.names), mb.nv))
    force[0, 5] = 2.0
    monkeypatch.setattr(Mechanism, "all_forces", lambda self, t, q, v: force)
    recorder.row(0.1, x, w)
    run = recorder.run()
    np.testing.assert_array_equal(run.forces[problem.names[0]], [np.zeros(7), force[0]])


@pytest.mark.parametrize("beside", [True, False])
def test_a_row_with_which_a_block_begins_is_recorded_with_it(beside, monkeypatch):
    """Also where its forces are beside the columns: all rows are whole then."""
    mb = sc.load("arm7")
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    p.control(mb.dof_names[1], 0.5)
    before = p.run(0.05)
    (_, block), *_ = before._dense
    problem, name = block.problem, mb.dof_names[1]
    assert not block.columns.is_whole
    force = np.zeros((len(problem.names), mb.nv))
    force[0, 1], force[0, 6] = 0.5, 3.0 if beside else 0.0
    monkeypatch.setattr(Mechanism, "all_forces", lambda self, t, q, v: force)
    recorder = Recorder(problem, "rk4")
    recorder.first(0.0, block.x[0].copy(), block.w[0].copy(), False)
    assert recorder.block(block, 1e-9)
    assert len(recorder._chunks) == 1
    run = recorder.run()
    np.testing.assert_array_equal(run.forces[name][0], force[0])
    np.testing.assert_array_equal(run.forces[name][1:], before.forces[name][1:])
    np.testing.assert_array_equal(run.q, before.q)
    assert run.violation.shape == run.t.shape == (6,)


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
@pytest.mark.parametrize("bad", [1, 3])
def test_rows_of_a_block_before_one_without_an_energy_are_kept(bad):
    """The row with which the block begins, too."""
    p = sc.sim.Propagator(sc.load("arm7"), integrator="rk4", step=0.01)
    (_, block), *_ = p.run(0.05)._dense
    x = block.x.copy()
    x[bad, 8] = 1e200
    recorder = Recorder(block.problem, "rk4")
    recorder.first(0.0, x[0].copy(), block.w[0].copy(), False)
    with pytest.raises(SimulationError, match=f"the energy at t = {0.01 * bad:g} s is not known"):
        recorder.block(replace(block, x=x), 1e-9)
    np.testing.assert_array_equal(recorder.run().q, block.x[:bad, :7])


def test_rows_of_fast_steps_are_logged_together(tmp_path, monkeypatch):
    """The log has those of the run, though it was written a few times."""
    writes = []
    write = Log.write
    monkeypatch.setattr(Log, "write", lambda self, *given: (writes.append(1), write(self, *given))[1])
    p = sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.001)
    p.control(p.mb.dof_names[0], 0.3)
    run = p.run(20.0, log=tmp_path / "a.h5")
    back = sim.read(tmp_path / "a.h5")
    assert len(writes) < 15  # of 20 compiled calls
    for name in ("t", "q", "v", "vdot", "energy"):
        assert getattr(back, name).tobytes() == getattr(run, name).tobytes()
    assert back.forces[p.mb.dof_names[0]].tobytes() == run.forces[p.mb.dof_names[0]].tobytes()
