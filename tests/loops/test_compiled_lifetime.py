"""What becomes of compiled solvers and their results: new parameters, threads, copies, memory."""


import copy
import gc
import pickle
import sys
import threading
import tracemalloc
import weakref

import numpy as np
import pytest
from tests.limits import run_limited
from tests.loops.cases import (
    FourBar,
    Z,
    dense,
    library,
    near,
    rod,
    row_of_four_bars,
)
from tests.loops.compiled_cases import (
    SOLVERS,
    equal,
    moved,
    one_compiled,
    ready,
    without_compiled,
)

import soacraft as sc
from soacraft.errors import LoopError, StaleError
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented

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
    assert repr(result).startswith("Result: 3 dofs, 1 loop")
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
        assert repr(r).startswith("Result: 3 dofs, 1 loop")
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
    near(call(q[0], v[0], force[0]).vdot, wanted.vdot[0], 1e-13)


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
    for work, first, times, most in ((quick, 500, 2_000, 1_000), (slow, 120, 40, 20_000)):
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
