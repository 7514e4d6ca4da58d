"""Impulses of the last step: where the next one begins to seek its own."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.sim.forces.compiled_contact import ContactLog
from soacraft.sim.forces.contact_impulses import as_table, by_names, impulses_of, is_same_time

STEP = 1e-3
METHODS = ("moreau", "moreau_midpoint")


def heap(method: str = "moreau", friction: float = 0.3) -> sc.sim.Propagator:
    """Balls that fall on a floor and on each other, roll and slide."""
    mb = sc.Multibody("heap")
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    q = []
    for i, (x, y, z) in enumerate(((0, 0, 0.1), (0.16, 0.02, 0.1), (0.08, 0.15, 0.1), (0.08, 0.05, 0.26))):
        ball = mb.add_body(f"ball{i}", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3) * 0.004))
        ball.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
        q += [0.0, 0.0, 0.0, 1.0, 1.4 * x, 1.4 * y, 1.1 * z]
    mb.set_state(q, np.zeros(mb.nv))
    p = sc.sim.Propagator(mb, integrator=method, step=STEP)
    p.add(sc.sim.Contact(friction=friction))
    return p


def same_bits(a: sc.sim.Propagator, b: sc.sim.Propagator) -> bool:
    return bool((a.mb.q == b.mb.q).all() and (a.mb.v == b.mb.v).all())


def test_tables_and_names() -> None:
    """A table by names is the same table again, whatever names have in them; shapes that are gone are left out."""
    names = ("floor", "a | b", "a")
    table = np.random.default_rng(0).normal(size=(4, 11))
    table[:, :2] = [[0, 1], [0, 1], [2, 0], [1, 2]]
    named = by_names(table, names)
    assert [len(x) for x in named.values()] == [18, 9, 9]
    again = as_table(named, names)
    assert (again[np.lexsort(again.T)] == table[np.lexsort(table.T)]).all()
    assert as_table(named, ("floor", "a | b"))[:, :2].tolist() == [[0, 1], [0, 1]]
    assert as_table({}, names).shape == (0, 11)


def test_of_the_last_step() -> None:
    """Only a step that ended at the time has impulses there."""
    steps, points = np.zeros((2, 8)), np.arange(39.0).reshape(3, 13)
    steps[:, 0], steps[:, 1] = (1.0, 2.0), (1, 2)
    log = ContactLog(("a", "b"), steps, points)
    assert (impulses_of(log, 2.0 + 1e-10) == points[1:, :11]).all()
    assert impulses_of(log, 1.0) is None
    assert impulses_of(None, 2.0) is None
    assert impulses_of(ContactLog(("a", "b"), steps[:0], points[:0]), 0.0) is None
    assert is_same_time(1e6 + 1e-9, 1e6)
    assert not is_same_time(1.0 + 1e-9, 1.0)


@pytest.mark.parametrize("method", METHODS)
def test_state_has_them(method: str) -> None:
    """A state has the impulses of its last step; whoever continues from it has the same bits."""
    p = heap(method)
    p.run(0.15)
    state = p.state()
    last = p.last_run.contacts.steps[-1]
    assert sum(map(len, state.impulses.values())) == 9 * len(last.pairs) > 0
    key = f"{last.pairs[0][0]} | {last.pairs[0][1]}"
    assert state.impulses[key][:9] == (*last.points[0], *last.impulses[0], *last.moments[0])
    assert sc.sim.SimState.decode(state.encode()) == state
    other = heap(method)
    other.set_state(state)
    p.run(0.3), other.run(0.3)
    assert same_bits(p, other)
    assert p.state() == other.state()
    whole = heap(method)
    whole.run(0.3)
    assert same_bits(p, whole)


@pytest.mark.parametrize("method", METHODS)
def test_steppers_begin_with_them(method: str) -> None:
    """Steppers and batches that are given a state take the steps of a run, in its bits."""
    p = heap(method)
    p.run(0.15)
    state, maker = p.state(), heap(method)
    p.run(0.2)
    alone, batch = maker.stepper(), maker.stepper(states=3)
    alone.set_state(state), batch.set_state(state)
    alone(20), batch(20), alone(30), batch(30)
    assert (alone.q == p.mb.q).all()
    assert (batch.q == p.mb.q).all()
    assert alone.sim_state().impulses == batch.sim_state(2).impulses == p.state().impulses
    batch.reset(which=[1])
    assert not batch.sim_state(1).impulses
    assert batch.sim_state(0).impulses
    fresh = maker.stepper()
    fresh(10), batch(10)
    assert (batch.q[1] == fresh.q).all()


def test_another_state_has_none() -> None:
    """A model that was given another state begins with none, as a new propagator does."""
    p, other = heap(), heap()
    p.run(0.15)
    q, v = p.state().q, p.state().v
    p.mb.set_state(q, 0.5 * v)
    assert not p.state().impulses
    other.mb.set_state(q, 0.5 * v)
    p.run(0.2), other.run(0.05)
    assert same_bits(p, other)


@pytest.mark.parametrize("method", METHODS)
def test_fewer_iterations(method: str) -> None:
    """They save iterations, and from q and v alone the same motion comes to the tolerance of the solver."""
    p = heap(method)
    p.run(0.2)
    state = p.state()
    run = p.run(0.3)
    cold, iterations = heap(method), 0
    for step in range(100):
        q, v = (state.q, state.v) if step == 0 else (run.q[step], run.v[step])
        cold.mb.set_state(q, v)
        one = cold.run(cold.t + STEP)
        iterations += sum(x.iterations for x in one.contacts.steps)
        assert np.abs(one.v[-1] - run.v[step + 1]).max() < 1e-6
    assert 0 < sum(x.iterations for x in run.contacts.steps) < 0.95 * iterations
