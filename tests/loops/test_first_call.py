"""The first call of a solver: a plan by compiled code, then one solution. Plans are made from what Python computes."""

import sys

import numpy as np
import pytest
from hypothesis import given
from tests.loops.cases import closed_graphs, library, near, row_of_four_bars
from tests.loops.compiled_cases import ALL, KNOWN, SOLVERS, rows_in_python, without_compiled
from tests.profiles import tries

from soacraft.errors import LoopError
from soacraft.kinematics.compiled import CompiledClosures
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.sizes import sizes_of
from soacraft.loops import ConstraintEmbedding
from soacraft.loops.schur import Compliance


def calls_of(function):
    """How many Python functions a call enters, and what it gives."""
    count = 0

    def watch(frame, event, _):
        nonlocal count
        count += event == "call"

    sys.setprofile(watch)
    try:
        found = function()
    finally:
        sys.setprofile(None)
    return count, found


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("model", ["five_bar", "cassie", "robotiq_2f85", "row"])
def test_it_takes_some_hundred_steps_of_python(kind, model):
    """Reading the arguments, one plan, one solution: no solution in Python that is thrown away. Choosing independent
    dofs takes some more."""
    mb = row_of_four_bars(12) if model == "row" else library(model)
    q, v, force = np.array(mb.q), np.array(mb.v), np.ones(mb.nv)
    solver = kind(mb)
    count, found = calls_of(lambda: solver.forward_dynamics(q, v, force))
    assert count < (950 if kind is ConstraintEmbedding else 300)
    near(found.vdot, without_compiled(kind(mb)).forward_dynamics(q, v, force).vdot, 1e-9)


@pytest.mark.parametrize("kind", ALL)
def test_a_state_off_its_closures_leaves_no_plan(kind):
    mb = library("five_bar")
    solver, v = kind(mb), np.zeros(mb.nv)
    q = mb.q + 1e-3
    with pytest.raises(LoopError, match=r"is open by .* Close it first"):
        solver.forward_dynamics(q, v, v)
    with pytest.raises(LoopError, match=r"opens at .* Make v agree first"):
        solver.forward_dynamics(mb.q, np.eye(mb.nv)[0], v)
    assert solver._chosen.compiled is None
    if kind is ConstraintEmbedding:
        assert solver.system.independent is None


@pytest.mark.parametrize("kind", SOLVERS)
def test_a_batch_begins_with_its_first_state(kind):
    mb = library("cassie")
    force = np.ones(mb.nv)
    found = kind(mb).forward_dynamics(np.stack([mb.q, mb.q]), mb.v, force).vdot
    wanted = kind(mb).forward_dynamics(mb.q, mb.v, force).vdot
    near(found, np.stack([wanted, wanted]), 1e-12)


@tries(20)
@given(closed_graphs(closing=KNOWN))
def test_compliances_are_those_of_python(mb):
    """What rounding is measured by, from the recursions in Python."""
    compiled = CompiledClosures.of(mb)
    if compiled is None:  # no dofs, or a hinge that only Python knows
        return
    theta = Constraints(mb, mb.state()).theta
    rows = Constraints(mb, mb.state(), theta)  # where coordinates are known, in the rows that compiled code takes
    found = compiled.compliance(np.array(mb.q), compiled.guess(rows.theta))
    wanted = Compliance(rows, mb.sko(mb.state())).reference
    assert found == pytest.approx(wanted, rel=1e-8, abs=1e-12 * np.abs(wanted).max(initial=0.0))


@tries(20)
@given(closed_graphs(closing=KNOWN))
def test_sizes_are_those_of_python(mb):
    rows = Constraints(mb, mb.state())
    if rows.arrays is None or not mb.nv:
        return
    found = sizes_of(rows)
    with rows_in_python():
        wanted = sizes_of(Constraints(mb, mb.state(), rows.theta))
    near(found.dofs, wanted.dofs, 1e-9)
    near(found.rows, wanted.rows, 1e-9)
    assert np.array_equal(found.moved, wanted.moved)


def test_a_measure_of_zero_serves_where_compliances_are_alike():
    """That of the state itself and of others near it; not that of bodies a million times as heavy, and not none."""
    mb = library("five_bar")
    compliance = Compliance(Constraints(mb, mb.state()), mb.sko(mb.state()))
    reference = compliance.reference
    assert compliance.is_like(reference)
    assert compliance.is_like(3.0 * reference)
    assert not compliance.is_like(1e12 * reference)
    assert not compliance.is_like(1e-12 * reference)
    assert not compliance.is_like(None)
