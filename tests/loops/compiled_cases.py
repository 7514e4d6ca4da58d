"""Closed chains by compiled code and by Python, to be compared."""


from unittest import mock

import numpy as np
from tests.loops.cases import (
    CLOSING,
    LIBRARY,
    generalized,
    library,
    near,
    row_of_four_bars,
)

import soacraft as sc
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented
from soacraft.loops.results import Result

SOLVERS = [TreeAugmented, ConstraintEmbedding]
ALL = [*SOLVERS, FullyAugmented]
KNOWN = [hinge for hinge in CLOSING if not isinstance(hinge, sc.RollingBall)]
MODELS = {name: lambda name=name: library(name) for name in LIBRARY} | {"row": lambda: row_of_four_bars(4)}


def rows_in_python():
    """Nobody gets compiled rows."""
    return mock.patch("soacraft.kinematics.rows.rows_of", return_value=None)


def without_compiled(solver):
    """The solver, with all of its work done in Python but for its rows."""
    solver._compiled = None
    solver._chosen = solver._chosen._replace(compiled=None, call=None)
    return solver


def in_python(solver, q, v, force):
    """The result at one state from rows in Python and the solver's own `_solve`."""
    with rows_in_python():
        task = solver._task(solver.graph.state(q, v), force, (), {})
        answer = solver._solve(task)
        return Result(answer.vdot, solver._rest(task, answer), solver._chosen.source)


def compiled(solver, q, v, force, pull=None, threads=1):
    """The results of a batch, all (count, ...), from compiled code alone, and where they stand."""
    vdot, rest, _, fine = solver._chosen.compiled.run(q, v, force, pull, solver._turns, threads)
    rest = np.concatenate([rest, q, v], axis=1)
    return [Result(a, b, solver._chosen.source) for a, b in zip(vdot, rest, strict=True)], fine


def one_compiled(solver, q, v, force):
    (found,), fine = compiled(solver, q[None], v[None], force[None])
    return found, bool(fine[0])


def same(mb, one, other, tolerance=1e-9):
    """Whether two results have the same vdot, constraint forces and multipliers."""
    near(one.vdot, other.vdot, tolerance)
    near(generalized(mb, one), generalized(mb, other), tolerance)
    near(*(np.hstack([x.multipliers[name] for name in other.multipliers]) for x in (one, other)), tolerance)


def by_the_last_bit(solver, q, v, force, wanted):
    """How far Python's multipliers move, relative to the largest, where the last bits of q change: the most of six."""

    def multipliers(result):
        return np.hstack([*result.multipliers.values()])

    most, rng = np.abs(multipliers(wanted)).max(), np.random.default_rng(0)
    moved = (q + np.spacing(q) * rng.choice((-1.0, 1.0), q.shape) for _ in range(6))
    return max(np.abs(multipliers(in_python(solver, x, v, force)) - multipliers(wanted)).max() / most for x in moved)


def equal(one, other):
    """The same to the last bit."""
    return np.array_equal(one.vdot, other.vdot) and np.array_equal(one._rest, other._rest)


def alike(x, y, nearby):
    """Whether arrays of several states agree to 1e-12, or to ten times what the last bit of q makes of them: `nearby`
    is y there."""
    most, bit = np.abs(y).max(initial=1.0), np.abs(nearby - y).max(initial=0.0)
    assert np.abs(x - y).max(initial=0.0) <= 1e-12 * most + 10.0 * bit


def moved(mb, count, seed=0):
    """Closed states near the one of the model, and forces."""
    solver, rng = TreeAugmented(mb), np.random.default_rng(seed)
    q = np.stack([solver.assemble(mb.integrate(mb.q, 0.05 * rng.standard_normal(mb.nv))) for _ in range(count)])
    v = solver.project_velocity(q, rng.standard_normal((count, mb.nv)))
    return q, v, rng.standard_normal((count, mb.nv))


def ready(mb, kind):
    """A solver that has been told what its compiled form needs."""
    solver = kind(mb)
    solver.forward_dynamics(mb.q, np.zeros(mb.nv), np.zeros(mb.nv))
    return solver
