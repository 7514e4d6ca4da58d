"""Batches by compiled solvers are single states to rounding, however they are shared between threads."""



import numpy as np
import pytest
from tests.loops.cases import (
    library,
    near,
)
from tests.loops.compiled_cases import ALL, MODELS, SOLVERS, alike, equal, moved, ready

import soacraft as sc
from soacraft.errors import LoopError, StateError

# -- batches -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("model", MODELS)
def test_batches_are_single_states_and_threads_change_no_bit(kind, model):
    mb = MODELS[model]()
    solver = ready(mb, kind)
    q, v, force = moved(mb, 6)
    one = [solver.forward_dynamics(*x) for x in zip(q, v, force, strict=True)]
    batch = solver.forward_dynamics(q, v, force)
    nearby = [solver.forward_dynamics(*x) for x in zip(np.nextafter(q, np.inf), v, force, strict=True)]
    alike(batch.vdot, *(np.array([x.vdot for x in some]) for some in (one, nearby)))
    alike(batch._rest, *(np.array([x._rest for x in some]) for some in (one, nearby)))
    for threads in (1, 2, 7):
        assert equal(solver.forward_dynamics(q, v, force, threads=threads), batch)
    r = solver.forward_dynamics(*(x.reshape(2, 3, -1) for x in (q, v, force)))
    assert r.vdot.shape == (2, 3, mb.nv)
    assert np.array_equal(r.vdot.reshape(6, -1), batch.vdot)
    for name, x in r.multipliers.items():
        assert np.array_equal(x.reshape(6, *x.shape[2:]), batch.multipliers[name])
    assert r.residual.shape == r.rank.shape == (2, 3)
    for i, x in enumerate(one):
        assert r.rank[divmod(i, 3)] == x.rank


@pytest.mark.parametrize("kind", SOLVERS)
def test_one_force_for_a_batch_and_one_state_for_many_forces(kind):
    mb = library("five_bar")
    solver = ready(mb, kind)
    q, v, force = moved(mb, 6)
    r = solver.forward_dynamics(q, v, force[0])
    assert np.array_equal(r.vdot, solver.forward_dynamics(q, v, np.tile(force[0], (6, 1))).vdot)
    r = solver.forward_dynamics(q[0], v[0], force)
    assert np.array_equal(r.vdot, solver.forward_dynamics(np.tile(q[0], (6, 1)), np.tile(v[0], (6, 1)), force).vdot)
    r = solver.forward_dynamics(q[:2, None], v[:2, None], force[:3])
    for i, j in np.ndindex(2, 3):
        near(r.vdot[i, j], solver.forward_dynamics(q[i], v[i], force[j]).vdot, 1e-12)


@pytest.mark.parametrize("kind", SOLVERS)
def test_a_batch_with_one_state_off_its_closures(kind):
    mb = library("five_bar")
    solver = ready(mb, kind)
    given = moved(mb, 6)
    before = solver.forward_dynamics(*given)
    for wrong, text in ((0, "is open by"), (1, r"opens at .* with this v")):
        bad = [x.copy() for x in given]
        bad[wrong][4, 1] += 1e-3
        copies = [x.copy() for x in bad]
        with pytest.raises(LoopError, match=text):
            solver.forward_dynamics(*bad)
        with pytest.raises(LoopError, match=text):
            solver.forward_dynamics(*(x[4] for x in bad))
        assert all(map(np.array_equal, bad, copies))
        near(solver.forward_dynamics(*given).vdot, before.vdot, 1e-13)
    bad[1][4] = np.nan
    with pytest.raises(StateError, match="v of"):
        solver.forward_dynamics(*bad)


@pytest.mark.parametrize("kind", ALL)
def test_a_model_without_lengths_of_its_own(kind):
    """Only a state tells how large two sliders at the origin are: without it any velocity would be slow."""
    mb = sc.Multibody("sliders", gravity=(0, 0, -9.81))
    for name in ("a", "b"):
        mb.add_body(name, None, sc.Prismatic((1, 0, 0)), sc.Inertia.point(1.0, (0, 0, 0)))
    mb.close_loop("tie", "a", "b", sc.Weld())
    solver = ready(mb, kind)
    q, force = np.array([0.3, 0.3]), np.array([1.0, 0.0])
    near(solver.forward_dynamics(q, np.ones(2), force).vdot, np.array([0.5, 0.5]), 1e-14)
    with pytest.raises(LoopError, match="loop 'tie' of 'sliders' opens at 1"):
        solver.forward_dynamics(q, np.array([1.0, 0.0]), force)


@pytest.mark.parametrize("kind", ALL)
def test_an_empty_batch(kind):
    mb = library("five_bar")
    for solver in (kind(mb), ready(mb, kind)):
        r = solver.forward_dynamics(np.zeros((0, mb.nq)), np.zeros((0, mb.nv)), np.zeros((0, mb.nv)))
        assert r.vdot.shape == (0, mb.nv)
        assert r.residual.shape == r.rank.shape == (0,)
        assert all(x.shape[0] == 0 for x in r.multipliers.values())
        assert repr(r).startswith("Result: ")
