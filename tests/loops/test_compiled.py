"""The compiled solvers of closed chains: the answers of Python, batches and threads to the last bit, what calls pass on
to Python, what becomes of solvers, and states that are in doubt."""

import copy
import gc
import pickle
import sys
import threading
import tracemalloc
import weakref
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.limits import run_limited
from tests.loops.cases import (
    CLOSING,
    LIBRARY,
    FourBar,
    Z,
    close,
    closed_graphs,
    comparable,
    dense,
    force_of,
    generalized,
    library,
    near,
    project,
    rod,
    row_of_four_bars,
)
from tests.profiles import tries
from tests.strategies import SEEDS

import soacraft as sc
from soacraft.errors import LoopError, ModelError, StaleError, StateError
from soacraft.kinematics.compiled import CompiledClosures
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented
from soacraft.loops.results import Result
from soacraft.model.hinges.base import pose_of
from soacraft.model.samples.random_models import random_inertia, random_pose
from soacraft.model.states.hinge_fit import nearest_coordinates

SOLVERS = [TreeAugmented, ConstraintEmbedding]
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
    return [Result(a, np.append(b, c), solver._chosen.source) for a, b, c in zip(vdot, rest, q, strict=True)], fine


def one_compiled(solver, q, v, force):
    (found,), fine = compiled(solver, q[None], v[None], force[None])
    return found, bool(fine[0])


def same(mb, one, other, tolerance=1e-9):
    """Whether two results have the same vdot, constraint forces and multipliers."""
    near(one.vdot, other.vdot, tolerance)
    near(generalized(mb, one), generalized(mb, other), tolerance)
    near(*(np.hstack([x.multipliers[name] for name in other.multipliers]) for x in (one, other)), tolerance)


def equal(one, other):
    """The same to the last bit."""
    return np.array_equal(one.vdot, other.vdot) and np.array_equal(one._rest, other._rest)


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


# -- answers -------------------------------------------------------------------------------------------------------


def with_rotors(mb):
    for k, body in enumerate(mb.bodies):
        if k % 3 != 1:
            body.armature = 0.1 * np.arange(k + 1, k + 1 + body.hinge.nv)
    return mb


@pytest.mark.parametrize("kind", SOLVERS)
def test_answers_on_random_closed_graphs(kind):
    """Any hinges in the tree and in the loops, rotors, polynomial couplings, redundant rows; nearly all in C++."""
    asked, answered, repeating = [], [], []

    @tries(35)
    @given(closed_graphs(closing=KNOWN), SEEDS, st.booleans())
    def check(mb, seed, rotors):
        mb = with_rotors(mb) if rotors else mb
        force = force_of(mb, seed)
        comparable(mb, force)
        solver = kind(mb)
        if solver._compiled is None:
            assert not mb.nv
            return
        wanted = in_python(solver, mb.q, mb.v, force)
        found, fine = one_compiled(solver, mb.q, mb.v, force)
        asked.append(mb)
        if fine:
            answered.append(mb)
            same(mb, found, wanted)
            assert found.residual < 1e-9
            if wanted.rank < Constraints(mb, mb.state()).size:
                repeating.append(mb)

    check()
    assert len(answered) >= 0.8 * len(asked)
    assert len(repeating) >= 0.2 * len(asked)


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("model", MODELS)
def test_answers_on_models_of_the_library(kind, model):
    mb = MODELS[model]()
    solver = ready(mb, kind)
    q, v, force = moved(mb, 6)
    found, fine = compiled(solver, q, v, force)
    assert fine.all() or model == "delta"  # whose rods weigh next to nothing: dofs in doubt everywhere
    for i in np.flatnonzero(fine):
        mb.set_state(q[i], v[i])
        same(mb, found[i], in_python(solver, q[i], v[i], force[i]), 1e-8 if model == "delta" else 1e-9)


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("model", MODELS)
def test_calls_are_answered_by_compiled_code(kind, model):
    """Where compiled code goes wrong its residual does, and Python answers instead: right, but slowly.
    The dofs of a delta robot are in doubt to the embedding.
    """
    mb = MODELS[model]()
    solver = ready(mb, kind)
    call = solver._chosen.call
    for state in zip(*moved(mb, 2), strict=True):
        solver.forward_dynamics(*state)
        solver.forward_dynamics(*state, passive=False)
    in_doubt = model == "delta" and kind is ConstraintEmbedding
    assert (call.answered, call.passed_on) == ((0, 4) if in_doubt else (4, 0))


@pytest.mark.parametrize("hinges", [(sc.Cylindrical(Z), sc.Pin(Z)), (sc.Pin(Z), sc.Spherical())])
@pytest.mark.parametrize("kind", SOLVERS)
def test_multipliers_are_the_least_beside_rows_that_hold_nothing(kind, hinges):
    """The turning rows of a planar closure on a slide have no compliance: small relative to them is not small."""
    mb = sc.Multibody("least", gravity=(0, -9.81, 0))
    mb.add_body("slide", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    ahead = sc.Pose(translation=(1, 0, 0))
    tree = sc.Universal((1, 0, 0), (0, 1, 0))
    mb.add_body("arm", "slide", tree, sc.Inertia(1.0, (0.1, 0.2, 0.3), np.eye(3)), ahead)
    for seed, hinge in enumerate(hinges, 1):
        close(mb, f"loop{seed}", "inertial", "arm", hinge, seed)
    close(mb, "dead", "inertial", "slide", sc.Planar())
    force = np.ones(3)
    solver = ready(mb, kind)
    found, fine = one_compiled(solver, mb.q, np.zeros(3), force)
    assert fine
    rows = Constraints(mb, mb.state())
    G = rows.jacobian()
    least = np.linalg.pinv(-G.T, rcond=1e-9) @ generalized(mb, found)
    for loop, (name, where) in zip(rows.loops, rows.places, strict=True):
        near(found.multipliers[name], loop.wrench(least[where]))


@pytest.mark.parametrize("model", MODELS)
def test_a_projected_velocity_is_that_of_python(model):
    mb = MODELS[model]()
    solver = ready(mb, TreeAugmented)
    v = np.random.default_rng(2).standard_normal((3, mb.nv))
    with mock.patch.object(CompiledClosures, "impulse", autospec=True, side_effect=CompiledClosures.impulse) as impulse:
        found = solver.project_velocity(mb.q, v)
    assert impulse.call_count == 3
    with rows_in_python():
        near(found, without_compiled(TreeAugmented(mb)).project_velocity(mb.q, v))


# -- batches -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("model", MODELS)
def test_batches_are_single_states_to_the_last_bit(kind, model):
    mb = MODELS[model]()
    solver = ready(mb, kind)
    q, v, force = moved(mb, 6)
    one = [solver.forward_dynamics(*x) for x in zip(q, v, force, strict=True)]
    for threads in (None, 1, 2, 7):
        r = solver.forward_dynamics(q, v, force, threads=threads)
        assert np.array_equal(r.vdot, [x.vdot for x in one])
        assert np.array_equal(r._rest, [x._rest for x in one])
    r = solver.forward_dynamics(*(x.reshape(2, 3, -1) for x in (q, v, force)))
    assert r.vdot.shape == (2, 3, mb.nv)
    assert np.array_equal(r.vdot.reshape(6, -1), [x.vdot for x in one])
    for name, x in r.multipliers.items():
        assert np.array_equal(x.reshape(6, *x.shape[2:]), [y.multipliers[name] for y in one])
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
        assert np.array_equal(r.vdot[i, j], solver.forward_dynamics(q[i], v[i], force[j]).vdot)


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


@pytest.mark.parametrize("kind", SOLVERS)
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


@pytest.mark.parametrize("kind", SOLVERS)
def test_an_empty_batch(kind):
    mb = library("five_bar")
    for solver in (kind(mb), ready(mb, kind)):
        r = solver.forward_dynamics(np.zeros((0, mb.nq)), np.zeros((0, mb.nv)), np.zeros((0, mb.nv)))
        assert r.vdot.shape == (0, mb.nv)
        assert r.residual.shape == r.rank.shape == (0,)
        assert all(x.shape[0] == 0 for x in r.multipliers.values())
        assert repr(r).startswith("Result: ")


# -- forces --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("axes", [None, "inertial"])
def test_external_and_stored_forces(kind, axes):
    mb = library("five_bar")
    solver = ready(mb, kind)
    twin = without_compiled(kind(mb))
    q, v, force = moved(mb, 4)
    body = mb.bodies[-1]
    node = body.add_node("somewhere", random_pose(3)) if not body.nodes else body.nodes[0]
    moment, push = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    wrench = sc.Wrench(moment, push, axes) if axes else np.concatenate([moment, push])
    several = np.arange(24.0).reshape(4, 6)
    for rows in (slice(None), 2):
        state = q[rows], v[rows], force[rows]
        free = solver.forward_dynamics(*state)
        pulled = solver.forward_dynamics(*state, {node: wrench})
        near(pulled.vdot, twin.forward_dynamics(*state, {node: wrench}).vdot, 1e-11)
        for name, x in twin.forward_dynamics(*state, {node: wrench}).multipliers.items():
            near(pulled.multipliers[name], x, 1e-10)
        assert np.abs(pulled.vdot - free.vdot).max() > 1e-3
        mb.set_force(node, wrench)
        near(solver.forward_dynamics(*state).vdot, pulled.vdot, 1e-13)
        near(solver.forward_dynamics(*state, {body: np.ones(6)}).vdot,
             twin.forward_dynamics(*state, {body: np.ones(6)}).vdot, 1e-11)  # fmt: skip
        mb.clear_forces()
        assert equal(solver.forward_dynamics(*state), free)
    found = solver.forward_dynamics(q, v, force, {body: several})
    near(found.vdot, twin.forward_dynamics(q, v, force, {body: several}).vdot, 1e-11)
    assert np.abs(found.vdot[0] - free.vdot[0]).max() > 1e-3


# -- what calls pass on --------------------------------------------------------------------------------------------


class Own(np.ndarray):
    """A subclass."""


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


FORMS = {
    "lists": lambda x: x.tolist(),
    "float32": lambda x: x.astype(np.float32),
    "big endian": lambda x: x.astype(">f8"),
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "Fortran order": np.asfortranarray,
    "subclass": lambda x: x.view(Own),
    "read-only": read_only,
}


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [None, 3])
def test_inputs_of_any_form(kind, form, count):
    """The forces in any form; coordinates and velocities too, but for float32, which leaves the closures."""
    mb = library("robotiq_2f85")
    solver = ready(mb, kind)
    q, v, force = moved(mb, 3)
    force = np.round(8 * force) / 8  # the same number in float32
    state = (q, v, force) if count else (q[0], v[0], force[0])
    wanted = solver.forward_dynamics(*state)
    changed = [FORMS[form](x) for x in state]
    near(solver.forward_dynamics(state[0], state[1], changed[2]).vdot, wanted.vdot, 1e-13)
    if form != "float32":
        r = solver.forward_dynamics(*changed)
        near(r.vdot, wanted.vdot, 1e-13)
        assert type(r.vdot) is np.ndarray
        assert r.rank is not None


@pytest.mark.parametrize("kind", SOLVERS)
def test_refusals_read_as_those_of_a_solver_in_python(kind):
    mb = library("robotiq_2f85")
    solver, plain = ready(mb, kind), FullyAugmented(mb)
    state = [x[0] for x in moved(mb, 1)]

    def text(one, given, **named):
        with pytest.raises((StateError, LoopError, ModelError, TypeError)) as error:
            one.forward_dynamics(*given, **named)
        return type(error.value), str(error.value).replace(type(one).__name__, "it")

    for i in range(3):
        y = state[i]
        hole, endless = y.copy(), y.copy()
        hole[-1], endless[0] = np.nan, np.inf
        shapes = (y[:-1].copy(), np.append(y, 0.0), np.zeros((2, 0)), np.float64(1))
        for bad in (hole, endless, *shapes, None, "q", y + 1j):
            given = [bad if i == j else x for j, x in enumerate(state)]
            assert text(solver, given) == text(plain, given)
    forces = ({"U": 5}, {"U": {"nobody": (0, 0)}}, {"f_ext": {"nobody": np.ones(6)}})
    for named in ({"threads": 0}, {"threads": 1.5}, *forces):
        assert text(solver, state, **named) == text(plain, state, **named)
    assert text(solver, state[:2])[0] is text(solver, [*state, None, None, None, None])[0] is TypeError
    assert text(solver, state, forces=1)[0] is TypeError
    assert equal(solver.forward_dynamics(*state), solver.forward_dynamics(*state))


@pytest.mark.parametrize("kind", SOLVERS)
def test_quaternions_that_are_not_of_unit_length(kind):
    mb = sc.Multibody("ball", gravity=(0, -9.81, 0))
    for name in ("one", "two"):
        mb.add_body(name, None, sc.Spherical(), random_inertia(3), random_pose(len(name)))
    close(mb, "rod", "one", "two", sc.Spherical())
    solver, plain = ready(mb, kind), FullyAugmented(mb)
    q, v, force = mb.q, project(mb, np.arange(6.0)), np.arange(6.0)
    for factor in (1.0, 1.0 + 1e-9, 1.0 + 5e-7, 3.0):
        for rows in ((), (2, 1)):
            turned = np.tile(q * factor, (*rows, 1)) if rows else q * factor
            if factor < 2.0:
                wanted = plain.forward_dynamics(turned, v, force).vdot
                near(solver.forward_dynamics(turned, v, force).vdot, wanted)
                continue
            for each in (plain, solver):
                with pytest.raises(StateError, match="has norm 3; normalise it first"):
                    each.forward_dynamics(turned, v, force)


@pytest.mark.parametrize("kind", SOLVERS)
def test_keywords_and_driven_closures(kind):
    mb = library("robotiq_2f85")
    solver, twin = ready(mb, kind), without_compiled(kind(mb))
    q, v, force = (x[0] for x in moved(mb, 1))
    wanted = solver.forward_dynamics(q, v, force)
    for found in (
        solver.forward_dynamics(q=q, v=v, force=force),
        solver.forward_dynamics(q, v, force=force),
        solver.forward_dynamics(q, v, force, None, None, None),
        solver.forward_dynamics(q, v, force, f_ext={}, U={}, threads=3),
    ):
        assert equal(found, wanted)
    name = mb.couplings[0].name
    still = solver.forward_dynamics(q, v, force, U={name: (0.0, 0.0)})
    near(still.vdot, wanted.vdot)
    drives = {name: (0.0, 0.7)}
    driven = solver.forward_dynamics(q, v, force, U=drives)
    near(driven.vdot, twin.forward_dynamics(q, v, force, U=drives).vdot, 1e-12)
    assert np.abs(driven.vdot - wanted.vdot).max() > 1e-3
    near(solver.forward_dynamics(q, v, force).vdot, wanted.vdot, 1e-13)


# -- what becomes of solvers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("change", ["inertia", "gravity"])
def test_a_solver_goes_on_with_new_parameters(kind, change):
    """A bound method of before goes on too: the chain is compiled anew, and the next call is answered at once."""
    mb = FourBar().build(0.9)
    solver = ready(mb, kind)
    state = mb.q, np.zeros(3), np.ones(3)
    call = solver.forward_dynamics
    result = call(*state)
    if change == "inertia":
        mb["crank"].inertia = sc.Inertia(2.0)
    else:
        mb.gravity = (0, -1, 0)
    wanted = ready(mb.copy(), kind).forward_dynamics(*state)
    near(call(*state).vdot, wanted.vdot, 1e-12)
    near(call(*state).vdot, wanted.vdot, 1e-12)
    assert solver._chosen.call.answered == 1
    assert repr(result).startswith("Result: 3 dofs, 1 closures and couplings")
    with pytest.raises(StaleError, match="were not asked for before a parameter of 'four_bar' changed; solve again"):
        result.rank  # noqa: B018


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("change", ["loop", "body"])
def test_a_structural_change_ends_a_solver(kind, change):
    mb = FourBar().build(0.9)
    solver = ready(mb, kind)
    state = mb.q, np.zeros(3), np.ones(3)
    call = solver.forward_dynamics
    result, several = call(*state), call(*(np.stack([x, x]) for x in state))
    if change == "loop":
        mb.close_loop("again", "rocker/end", "coupler/end", sc.Pin(Z))
    else:
        mb.add_body("more", None, sc.Pin(Z), rod(1.0, 1.0))
    for given_ in (state, [np.stack([x, x]) for x in state], [x.tolist() for x in state]):
        with pytest.raises(StaleError, match=rf"make a new one with sc\.loops\.{kind.__name__}"):
            call(*given_)
    for r in (result, several):
        assert repr(r).startswith("Result: 3 dofs, 1 closures and couplings")
        with pytest.raises(StaleError):
            r.rank  # noqa: B018
    new = ready(mb, kind)
    force = np.ones(mb.nv)
    q = np.array([*state[0], *np.zeros(mb.nq - 3)])
    mb.set_state(q, np.zeros(mb.nv))
    near(new.forward_dynamics(q, np.zeros(mb.nv), force).vdot, dense(mb, force).vdot)


def test_models_and_solvers_go():
    """Nothing is left of a closed model with its solvers, used or not, stale or not."""
    gone = []
    for i in range(6):
        mb = library("robotiq_2f85")
        solvers = [kind(mb) for kind in (*SOLVERS, *SOLVERS)]
        for solver in solvers[:2]:
            r = solver.forward_dynamics(mb.q, mb.v, np.zeros(mb.nv))
            solver.forward_dynamics(mb.q[None], mb.v[None], np.zeros(mb.nv))
            assert r.rank
        if i % 2:
            mb.gravity = (0, 0, -1)
        gone += [weakref.ref(x) for x in (mb, *solvers)]
        del mb, solvers, solver, r
    gc.collect()
    assert [x() for x in gone if x() is not None] == []


@pytest.mark.parametrize("kind", SOLVERS)
def test_a_call_keeps_what_it_needs(kind):
    mb = library("robotiq_2f85")
    q, v, force = moved(mb, 3)
    solver = ready(mb, kind)
    wanted, call = solver.forward_dynamics(q, v, force), solver.forward_dynamics
    del mb, solver
    gc.collect()
    assert equal(call(q, v, force), wanted)
    near(call(q[0].tolist(), v[0], force[0]).vdot, wanted.vdot[0], 1e-13)
    assert np.array_equal(call(q[0], v[0], force[0]).vdot, wanted.vdot[0])


@pytest.mark.parametrize("kind", SOLVERS)
def test_calls_do_not_leak(kind):
    """References to the arguments and results are given back, and no memory grows."""
    mb = FourBar().build(0.9)
    solver = ready(mb, kind)
    q, v, force = mb.q, np.zeros(3), np.ones(3)
    open_q, several = q + np.array([0.1, 0.0, 0.0]), [np.tile(x, (3, 1)) for x in (q, v, force)]

    def quick(times):
        for _ in range(times):
            solver.forward_dynamics(q, v, force)

    def slow(times):
        for _ in range(times):
            r = solver.forward_dynamics(*several)
            r.rank, r.independent  # noqa: B018
            solver.forward_dynamics(q.tolist(), v, force)
            with pytest.raises(LoopError):
                solver.forward_dynamics(open_q, v, force)

    arrays = (q, v, force, open_q, *several)
    quick(5), slow(5)
    counts = [sys.getrefcount(x) for x in arrays]
    for work, first, times, most in ((quick, 500, 20_000, 1_000), (slow, 40, 40, 20_000)):
        tracemalloc.start()
        try:
            work(first)  # NumPy keeps some memory for later
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            work(times)
            gc.collect()
            after = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        assert after - before < most
    assert [sys.getrefcount(x) for x in arrays] == counts


def triple_rocker():
    """A four-bar none of whose hinges is independent everywhere: q where the crank, the coupler, the rocker is bad."""
    bar = FourBar(crank=1.0, coupler=0.6, rocker=1.0, ground=1.5)
    mb = bar.build(1.2)

    def corner(a, b, c):
        """The angle between sides a and b of a triangle, opposite to c."""
        return np.arccos((a**2 + b**2 - c**2) / (2 * a * b))

    theta = corner(1.0, 1.5, 1.6)  # coupler and rocker in line
    along = np.angle(1.5 - np.exp(1j * theta))
    crank_bad = [theta, along - theta, along + np.pi]
    gamma = np.pi - corner(1.5, 1.0, 1.6)  # crank and coupler in line
    theta = np.angle(1.5 + np.exp(1j * gamma))
    rocker_bad = [theta, 0.0, gamma]
    theta = corner(1.0, 0.5, 0.6)  # the rocker in line with the ground
    coupler_bad = [theta, np.angle(0.5 - np.exp(1j * theta)) - theta, np.pi]
    return mb, {"crank": np.array(crank_bad), "coupler": np.array(coupler_bad), "rocker": np.array(rocker_bad)}


def test_dofs_that_become_bad_are_told():
    mb, bad = triple_rocker()
    solver, twin = ConstraintEmbedding(mb), without_compiled(ConstraintEmbedding(mb))
    z, force = np.zeros(3), np.array([0.3, -0.4, 0.5])
    for name, q in (("", mb.q), *2 * tuple(bad.items())):
        before = len(solver.changes)
        r, wanted = solver.forward_dynamics(q, z, force), twin.forward_dynamics(q, z, force)
        assert r.independent == wanted.independent
        assert r.independent != (name,)
        assert solver.changes == twin.changes
        near(r.vdot, wanted.vdot)
        if len(solver.changes) > before:
            assert solver.changes[-1].startswith("other dofs are better conditioned: the independent dofs are now ")
        assert one_compiled(solver, q, z, force)[1]
    assert len(solver.changes) >= 2


def test_threads_that_share_a_solver_while_it_chooses_other_dofs():
    mb, bad = triple_rocker()
    solver, z = ready(mb, ConstraintEmbedding), np.zeros(3)
    poses = [mb.q, *bad.values()]
    forces = np.random.default_rng(0).standard_normal((200, 3))
    wanted = []
    for q in poses:
        mb.set_state(q, z)
        wanted.append(np.stack([dense(mb, x).vdot for x in forces]))
    trouble, start = [], threading.Barrier(5)

    def check(found, right):
        if not np.abs(found - right).max() <= 1e-8 * np.abs(right).max():
            trouble.append((found, right))

    def singles(k):
        for i, x in enumerate(forces):
            check(solver.forward_dynamics(poses[k], z, x).vdot, wanted[k][i])

    def batches(k):
        for _ in range(20):
            check(solver.forward_dynamics(poses[k], z, forces[:40], threads=2).vdot, wanted[k][:40])

    def wander():
        for i in range(60):
            k = 1 + i % 3
            check(solver.forward_dynamics(poses[k], z, forces[i]).vdot, wanted[k][i])

    def run(work, *which):
        start.wait()
        try:
            work(*which)
        except BaseException as error:  # a thread dies in silence
            trouble.append(error)

    works = ((singles, 0), (singles, 0), (batches, 0), (batches, 2), (wander,))
    team = [threading.Thread(target=run, args=x) for x in works]
    for one in team:
        one.start()
    for one in team:
        one.join()
    assert not trouble
    assert len(solver.changes) >= 3


def test_threads_with_solvers_of_their_own():
    """Solvers of one model share its tree and its rows."""
    mb = library("robotiq_2f85")
    q, v, force = moved(mb, 8)
    wanted = TreeAugmented(mb).forward_dynamics(q, v, force)
    found = {}

    def work(i):
        solver = SOLVERS[i % 2](mb)
        one = [solver.forward_dynamics(*x) for x in zip(q, v, force, strict=True)]
        found[i] = np.stack([x.vdot for x in one]), [x.rank for x in one]

    team = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for one in team:
        one.start()
    for one in team:
        one.join()
    for i in range(4):
        near(found[i][0], wanted.vdot)
        assert found[i][1] == wanted.rank.tolist()


# -- results -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SOLVERS)
def test_what_a_result_tells_later_is_of_its_own_state(kind):
    """A parallelogram that lies flat has rank 1, upright 2."""
    mb = row_of_four_bars(1)
    solver = ready(mb, kind)
    up, z, force = mb.q, np.zeros(3), np.ones(3)
    q = np.zeros(3)
    flat = solver.forward_dynamics(q, z, force)
    again = solver.forward_dynamics(q, z, force)  # the first may have been computed in Python
    both = np.stack([q, q])
    several = solver.forward_dynamics(both, z, force)
    q[:], both[:] = up, up
    upright = solver.forward_dynamics(q, z, force)
    q[:] = np.nan
    for r in (flat, again):
        assert r.rank == 1
        assert len(r.redundant) == 4
        assert len(r.independent) == 2
        assert np.array_equal(r.vdot_independent, r.vdot[[mb.dof_names.index(x) for x in r.independent]])
        assert "rank 1" in repr(r)
    assert several.rank.tolist() == [1, 1]
    assert several.vdot_independent.shape == (2, 2)
    assert (upright.rank, len(upright.redundant), len(upright.independent)) == (2, 3, 1)


@pytest.mark.parametrize("kind", SOLVERS)
def test_a_result_does_not_change_with_the_next_call(kind):
    mb = FourBar().build(0.9)
    solver = ready(mb, kind)
    q, v, force = mb.q, np.zeros(3), np.ones(3)
    r = solver.forward_dynamics(q, v, force)
    vdot, ring = r.vdot.copy(), r.multipliers["ring"].copy()
    solver.forward_dynamics(q, v, 5.0 * force)
    r.vdot[0] += 1.0
    assert np.array_equal(solver.forward_dynamics(q, v, force).vdot, vdot)
    assert np.array_equal(r.multipliers["ring"], ring)
    assert np.array_equal(force, np.ones(3))


def test_independent_dofs_of_a_batch_are_those_of_its_first_state():
    """Though a later state makes the solver choose others."""
    mb, bad = triple_rocker()
    z, ones = np.zeros(3), np.ones(3)
    for solver in (ConstraintEmbedding(mb), without_compiled(ConstraintEmbedding(mb))):
        chosen = solver.forward_dynamics(mb.q, z, ones).independent
        r = solver.forward_dynamics(np.stack([mb.q, bad[chosen[0]]]), z, ones)
        assert r.independent == chosen
        assert len(solver.changes) == 1
        assert np.array_equal(r.vdot_independent[:, 0], r.vdot[:, mb.dof_names.index(chosen[0])])


# -- states in doubt -----------------------------------------------------------------------------------------------


def flat(angle, rate=0.0):
    """q and v of the parallelogram of `row_of_four_bars(1)` at an angle of its cranks; at zero it is singular."""
    turns = np.array([1.0, 1.0, -1.0])
    return angle * turns, rate * turns


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-9, 1e-8, 1e-7, 1e-6, 3e-6, 1e-5, 1e-4, 1e-3, 1e-2])
def test_near_a_singular_pose_answers_agree_or_are_left_to_python(kind, angle):
    mb = row_of_four_bars(1)
    assert mb.dof_names == ("crank0", "crank1", "coupler0")
    for start in (mb.q, flat(angle)[0]):
        for v in (np.zeros(3), flat(angle, 0.5)[1]):
            solver = kind(mb)
            solver.forward_dynamics(start, np.zeros(3), np.zeros(3))
            twin = without_compiled(kind(mb))
            twin.forward_dynamics(start, np.zeros(3), np.zeros(3))
            q, force = flat(angle)[0], np.array([1.0, 2.0, 3.0])
            found, fine = one_compiled(solver, q, v, force)
            wanted = twin.forward_dynamics(q, v, force)
            if fine:
                near(found.vdot, wanted.vdot)
            r = solver.forward_dynamics(q, v, force)
            near(r.vdot, wanted.vdot)
            assert r.rank == wanted.rank
            assert fine or angle < 1e-2


@pytest.mark.parametrize("kind", SOLVERS)
def test_along_a_motion_through_a_singular_pose(kind):
    """The rank falls for one state and comes back; what is chosen and told is that of the solver in Python."""
    mb = row_of_four_bars(1)
    solver, twin = kind(mb), without_compiled(kind(mb))
    force, ranks = np.array([1.0, 2.0, 3.0]), []
    for angle in (0.4, 0.2, 0.05, 1e-3, 0.0, -1e-3, -0.05, -0.2, -0.4):
        q, v = flat(angle, 0.7)
        r, wanted = solver.forward_dynamics(q, v, force), twin.forward_dynamics(q, v, force)
        near(r.vdot, wanted.vdot)
        ranks.append(r.rank)
        assert r.rank == wanted.rank
        assert r.independent == wanted.independent
    assert ranks == [2, 2, 2, 2, 1, 2, 2, 2, 2]
    if kind is ConstraintEmbedding:
        assert solver.changes == twin.changes
        assert len(solver.changes) == 2


@pytest.mark.parametrize("kind", SOLVERS)
def test_a_closure_that_is_redundant_at_one_pose_alone(kind):
    """A plate on two slides and a pin; a planar closure in its plane holds nothing until the plate tilts."""
    mb = sc.Multibody("plate", gravity=(0, 0, -9.81))
    mb.add_body("tilt", None, sc.Universal((1, 0, 0), (0, 0, 1)), random_inertia(2))
    mb.add_body("plate", "tilt", sc.Planar(), random_inertia(3))
    close(mb, "table", "inertial", "plate", sc.Planar())
    solver, twin = kind(mb), without_compiled(kind(mb))
    force = force_of(mb)
    for q in (np.zeros(5), np.array([0, 0.3, 0.1, -0.2, 0.4]), np.array([0, 0, 1.0, 0.0, 0.0])):
        v = project_at(mb, q)
        r, wanted = solver.forward_dynamics(q, v, force), twin.forward_dynamics(q, v, force)
        near(r.vdot, wanted.vdot)
        mb.set_state(q, v)
        near(r.vdot, dense(mb, force).vdot)
        assert r.rank == wanted.rank == np.linalg.matrix_rank(Constraints(mb, mb.state()).jacobian(), 1e-9)


def project_at(mb, q, seed=5):
    """A velocity that the closures allow at q, of length 1 or so."""
    mb.set_state(q, np.zeros(mb.nv))
    return project(mb, np.random.default_rng(seed).standard_normal(mb.nv))


# -- hinges that are followed --------------------------------------------------------------------------------------


def assert_same_rows(mb, solver):
    """The rows at the state of the model from those of Python, each seen through its own Q."""
    seen = []
    for patch in (mock.patch("soacraft.kinematics.rows.loop_rows", side_effect=AssertionError), rows_in_python()):
        with patch:
            rows = Constraints(mb, mb.state(), solver._theta)
            Q = rows.loops[0].Q
            seen.append([Q.T @ x for x in (rows.jacobian(), rows.gamma, rows.speed, rows.residual, Q)])
            seen[-1] += [rows.theta["loop"], rows.loops[0].gap, rows.loops[0].wrench(Q @ np.arange(6.0))]
            assert np.abs(rows.loops[0].gap).max() < 1e-9
    for one, other in zip(*seen, strict=True):
        near(one, other, 1e-11)


@pytest.mark.parametrize("kind", SOLVERS)
def test_a_screw_over_ten_turns(kind):
    """Nut m and screw J: x = -+ pitch angle, (J + pitch^2 m) angledd = torque, turns are counted."""
    mass, moment, pitch = 2.0, 0.3, 0.25
    mb = sc.Multibody("screw", gravity=(0, 0, 0))
    mb.add_body("screw", None, sc.Pin(Z), sc.Inertia(1.0, (0, 0, 0), moment * np.eye(3)))
    mb.add_body("nut", None, sc.Prismatic(Z), sc.Inertia(mass, (0, 0, 0), np.eye(3)))
    mb.close_loop("loop", "screw", "nut", sc.Helical(Z, pitch))
    solver, twin = kind(mb), without_compiled(kind(mb))
    wanted = 0.7 / (moment + pitch**2 * mass)
    lead = -pitch * np.array([0.0, 1.0]) + np.array([1.0, 0.0])  # the nut goes back as the screw turns beneath it
    quick = 0
    for i, angle in enumerate(np.arange(0.0, 20.5 * np.pi, 0.2)):
        q, v, force = angle * lead, 0.4 * lead, np.array([0.7, 0.0])
        mb.set_state(q, v)
        quick += i > 0 and one_compiled(solver, q, v, force)[1]
        r = solver.forward_dynamics(q, v, force)
        near(r.vdot, wanted * lead, 1e-11)
        if i % 8 == 0:
            with rows_in_python():
                other = twin.forward_dynamics(q, v, force)
            near(r.multipliers["loop"], other.multipliers["loop"], 1e-10)
            near(twin._theta["loop"], -angle, 1e-9)
            assert_same_rows(mb, twin)
    assert quick > 0.5 * i
    near(solver._rows(mb.state()).theta["loop"], -angle, 1e-9)
    far = solver.forward_dynamics(2.0 * q, v, force)  # ten turns at once
    near(far.vdot, wanted * lead, 1e-10)


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("hinge", [hinge for hinge in KNOWN if isinstance(hinge, sc.Universal | sc.Gimbal | sc.Screws)])
def test_hinges_with_turning_axes_along_a_motion(kind, hinge):
    """A free body on a turning arm, carried by the closure's hinge through more than a whole turn of each axis but the
    second."""
    mb = sc.Multibody("carried")
    mb.add_body("arm", None, sc.Pin((1, 2, 3)), random_inertia(1), random_pose(1)).add_node("a", random_pose(2))
    mb.add_body("box", None, sc.Free(), random_inertia(2)).add_node("b", random_pose(3))
    mb.close_loop("loop", "arm/a", "box/b", hinge)
    arm, box = mb["arm"], mb["box"]
    solver, twin = kind(mb), without_compiled(kind(mb))
    force, fine = force_of(mb), []
    for t in np.linspace(0.0, 1.0, 30):
        theta = t * np.array([7.0, 0.6, -8.0])[: hinge.nv]
        q = mb.q.copy()
        q[arm.q_slice] = 3.0 * t
        mb.q = q
        place = mb.pose("arm/a") @ pose_of(hinge, theta) @ box.nodes[0].offset.inv
        q[box.q_slice] = nearest_coordinates(sc.Free(), sc.Pose(place.rotation, place.translation))
        v = force_of(mb, 5)
        G = Constraints(mb, mb.state(q=q, v=v), {"loop": theta}).jacobian()
        v -= np.linalg.pinv(G, rcond=1e-9) @ (G @ v)
        mb.set_state(q, v)
        if t:
            fine.append(one_compiled(solver, q, v, force)[1])
        r = solver.forward_dynamics(q, v, force)
        with rows_in_python():
            wanted = twin.forward_dynamics(q, v, force)
        same(mb, r, wanted, 1e-8)
        near(twin._theta["loop"], theta, 1e-8)
        assert_same_rows(mb, twin)
    assert np.mean(fine) > 0.5


# -- copies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("Solver", [*SOLVERS, FullyAugmented])
def test_solvers_and_results_are_copied(Solver):
    mb = FourBar().build(1.0)
    solver = Solver(mb)
    r = solver.forward_dynamics(mb.q, mb.v, np.zeros(3))
    for other in (copy.deepcopy(solver), pickle.loads(pickle.dumps(solver))):
        assert other.graph is not mb
        assert np.array_equal(other.forward_dynamics(mb.q, mb.v, np.zeros(3)).vdot, r.vdot)
    assert copy.copy(solver).graph is mb
    for other in (copy.deepcopy(r), pickle.loads(pickle.dumps(r))):
        assert (other.rank, other.redundant, other.independent) == (r.rank, r.redundant, r.independent)
        assert repr(other) == repr(r)
        assert np.array_equal(other.vdot, r.vdot)
        assert np.array_equal(other.vdot_independent, r.vdot_independent)


def test_multipliers_after_a_jump_from_far_away():
    """Two trolleys welded to each other twice, first 100 km out: compliances are 1e10 times those nearby."""
    mb = sc.Multibody("trolleys")
    hub = sc.Inertia(1e-2, (0, 0, 0), 2e-4 * np.eye(3))
    trolley = sc.Inertia(1.0, (0.1, 0, 0), np.diag([0.1, 0.2, 0.25]))
    for k in range(2):
        mb.add_body(f"arm{k}", None, sc.Pin((0, 0, 1)), hub, random_pose(3) @ sc.Pose(translation=(k, 0, 0)))
        body = mb.add_body(f"trolley{k}", f"arm{k}", sc.Prismatic((1, 0, 0)), trolley)
        for j in range(2):
            body.add_node(f"end{j}", random_pose(21 + j))
    for j in range(2):
        mb.close_loop(f"weld{j}", f"trolley0/end{j}", f"trolley1/end{j}", sc.Weld())
    v, force, here = np.zeros(4), np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 0.4, 0, -0.6])
    want = sc.loops.FullyAugmented(mb).forward_dynamics(here, v, force)
    for far in (1e2, 1e3, 1e4, 1e5):
        solver = TreeAugmented(mb)
        solver.forward_dynamics(np.array([0, far + 1.0, 0, far]), v, force)
        found = solver.forward_dynamics(here, v, force)
        near(found.vdot, want.vdot)
        for name, wrench in want.multipliers.items():
            near(found.multipliers[name], wrench, 1e-7)


def test_a_call_while_it_is_taken_apart():
    """Found by a weak reference in the middle of garbage collection, a call raises; it must not end the interpreter."""
    program = """
import gc, weakref
import numpy as np
import soacraft as sc
gc.disable()
mb = sc.load("five_bar")
s = sc.loops.TreeAugmented(mb)
q, v, f = s.assemble(mb.q), np.zeros(mb.nv), np.zeros(mb.nv)
s.forward_dynamics(q, v, f)
def late(_):
    for one in gc.get_objects():
        if type(one).__name__ == "Call":
            try:
                one(q, v, f)
            except ReferenceError as error:
                print(error)
held = [s.forward_dynamics, np.zeros(3)]
held.append(held)
keep = weakref.ref(held[1], late)
del s, held, mb
gc.collect()
print("alive")
"""
    done = run_limited([sys.executable, "-c", program], seconds=60)
    assert done.stdout.splitlines()[-1:] == ["alive"], (done.returncode, done.stderr)
