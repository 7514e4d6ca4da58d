"""Plans of compiled solvers: made before the first solve, never changed, shared by threads; what a solve carries on is
an argument and a result; what a result tells when it is asked."""

import copy
import pickle
import threading
from dataclasses import FrozenInstanceError
from unittest import mock

import numpy as np
import pytest
from tests.loops.cases import LIBRARY, FourBar, Z, dense, library, near, row_of_four_bars

import soacraft as sc
from soacraft.kinematics.compiled import rows_of
from soacraft.kinematics.plan import CONSTRAINT_EMBEDDING, ROWS, TREE_AUGMENTED
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented
from soacraft.loops.embedding.binding import CompoundSystem
from soacraft.loops.solver import Solver

SOLVERS = [TreeAugmented, ConstraintEmbedding]


def solved(mb, kind):
    solver = kind(mb)
    solver.forward_dynamics(mb.q, mb.v, np.zeros(mb.nv))
    return solver


def screw(pitch=0.25):
    """A nut on a screw: the angle of the closure's hinge is followed over turns."""
    mb = sc.Multibody("screw", gravity=(0, 0, 0))
    mb.add_body("screw", None, sc.Pin(Z), sc.Inertia(1.0, (0, 0, 0), 0.3 * np.eye(3)))
    mb.add_body("nut", None, sc.Prismatic(Z), sc.Inertia(2.0, (0, 0, 0), np.eye(3)))
    mb.close_loop("loop", "screw", "nut", sc.Helical(Z, pitch))
    return mb, np.array([1.0, -pitch])


# -- the first call -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("model", LIBRARY)
def test_the_first_call_solves_once(kind, model):
    mb = library(model)
    force = np.linspace(-1.0, 1.0, mb.nv)
    with mock.patch.object(kind, "_solve", side_effect=AssertionError("solved in Python")):
        found = kind(mb).forward_dynamics(mb.q, mb.v, force)
    near(found.vdot, dense(mb, force).vdot)


@pytest.mark.parametrize("kind", SOLVERS)
def test_a_plan_never_changes(kind):
    mb = library("five_bar")
    solver = kind(mb)
    assert solver._compiled.plan.method == ROWS
    assert solver._chosen.compiled is None
    solver.forward_dynamics(mb.q, mb.v, np.zeros(mb.nv))
    plan = solver._chosen.compiled.plan
    assert plan.method == (TREE_AUGMENTED if kind is TreeAugmented else CONSTRAINT_EMBEDDING)
    with pytest.raises(FrozenInstanceError):
        plan.gravity = np.zeros(3)
    with pytest.raises(FrozenInstanceError):
        plan.tolerances.closed = 1.0
    assert "forward_dynamics" not in solver.__dict__
    assert type(solver).forward_dynamics is Solver.forward_dynamics


def test_another_choice_of_dofs_is_another_solver():
    """The first one goes on answering as before."""
    bar = FourBar(crank=1.0, coupler=0.6, rocker=1.0, ground=1.5)
    mb = bar.build(1.2)
    solver = solved(mb, ConstraintEmbedding)
    first, theta = solver._chosen, solver._turns
    given = [x[None] for x in (mb.q, np.zeros(3), np.ones(3))]
    before = first.compiled.run(*given, None, theta, 1)
    chosen = first.source.chosen
    other = next(i for i in range(3) if i not in chosen)
    solver.system.take(np.array([other]), loose=False)
    assert solver._chosen.compiled is not first.compiled
    for one, two in zip(before, first.compiled.run(*given, None, theta, 1), strict=True):
        assert np.array_equal(one, two)
    near(solver.forward_dynamics(mb.q, np.zeros(3), np.ones(3)).vdot, before[0][0])
    assert solver.forward_dynamics(mb.q, np.zeros(3), np.ones(3)).independent == (mb.dof_names[other],)


def test_constraint_embedding_has_an_embedded_system():
    mb = library("robotiq_2f85")
    solver = solved(mb, ConstraintEmbedding)
    assert isinstance(solver.system, CompoundSystem)
    assert not isinstance(solver, CompoundSystem)
    assert solver.system.graph is mb
    D, own = sc.operators(solver).D, sc.operators(solver.system).D
    assert np.array_equal(D.array(), own.array())
    near(solver.log_det_mass_matrix(), np.linalg.slogdet(solver.model(mb.current).Xt.T @ sc.dynamics.mass_matrix(
        mb, mb.q, ignore_loops=True) @ solver.model(mb.current).Xt)[1])  # fmt: skip
    again = pickle.loads(pickle.dumps(solver.system))
    assert again.independent.tolist() == solver.system.independent.tolist()


# -- what is carried on -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SOLVERS)
def test_followed_angles_go_in_and_come_back(kind):
    mb, lead = screw()
    solver = solved(mb, kind)
    compiled, turns = solver._chosen.compiled, np.array([0.0])
    for angle in np.arange(0.0, 30.0, 0.5):
        given = [x[None] for x in (angle * lead, lead, np.array([0.7, 0.0]))]
        _, _, followed, fine = compiled.run(*given, None, turns, 1)
        assert fine.all()
        near(followed[0], [-angle], 1e-12)
        turns = followed[0]
    near(solver._theta["loop"], [0.0], 1e-12)  # nothing of that is kept in the solver
    r = solver.forward_dynamics(0.5 * lead, lead, np.zeros(2))
    near(r._theta, [-0.5], 1e-12)
    near(solver._theta["loop"], [-0.5], 1e-12)


@pytest.mark.parametrize("kind", [*SOLVERS, FullyAugmented])
def test_threads_share_a_solver(kind):
    mb = library("robotiq_2f85")
    solver, rng = kind(mb), np.random.default_rng(0)
    forces = rng.standard_normal((12, mb.nv))
    wanted = [dense(mb, force).vdot for force in forces]
    trouble = []

    def work(order):
        try:
            for i in order:
                near(solver.forward_dynamics(mb.q, mb.v, forces[i]).vdot, wanted[i])
        except BaseException as error:
            trouble.append(error)

    team = [threading.Thread(target=work, args=(rng.permutation(12),)) for _ in range(3)]
    for one in team:
        one.start()
    for one in team:
        one.join()
    assert not trouble


@pytest.mark.parametrize("kind", [*SOLVERS, FullyAugmented])
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_made_anew_from_the_same_choices(kind, way):
    mb, lead = screw()
    solver = kind(mb, tolerance=1e-7)
    for angle in np.arange(0.0, 8.0, 0.5):
        solver.forward_dynamics(angle * lead, lead, np.zeros(2))
    other = way(solver)
    assert other.tolerance == 1e-7
    near(other._theta["loop"], solver._theta["loop"], 1e-15)
    ahead = 8.0 * lead, lead, np.array([0.3, -0.2])
    assert np.array_equal(other.forward_dynamics(*ahead).vdot, solver.forward_dynamics(*ahead).vdot)
    near(other._theta["loop"], [-8.0], 1e-12)


# -- what a result tells ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*SOLVERS, FullyAugmented])
def test_info_of_a_result(kind):
    """A parallelogram with one crank: rank 2, three rows repeat others, and its condition is that of its rows."""
    mb = FourBar().build(0.9)
    r = kind(mb).forward_dynamics(np.stack([mb.q, mb.q]), mb.v, np.zeros(3))
    assert not r.info.is_known
    assert r.info.ranks == r.rank.tolist() == [2, 2]
    assert r.info.is_known
    assert len(r.info.redundant) == len(r.redundant) == 3
    assert len(r.info.independent) == 1
    assert r.info is r.info
    assert r.condition.shape == (2,)
    assert 1.0 <= r.condition[0] < 100.0
    other = pickle.loads(pickle.dumps(r))
    assert other.condition.tolist() == r.condition.tolist()
    assert other.info.redundant == r.info.redundant


def test_solvers_of_one_model_share_its_compiled_rows():
    """They are read once; another tolerance is another plan on the same arrays, new parameters are read anew."""
    mb = row_of_four_bars(1)
    one, other, strict = TreeAugmented(mb), ConstraintEmbedding(mb), TreeAugmented(mb, tolerance=1e-8)
    assert one._compiled is other._compiled is rows_of(mb)
    assert strict._compiled.plan.closures is one._compiled.plan.closures
    assert strict._compiled.plan.tolerances.closed == 1e-8
    mb.gravity = (0, -1, 0)
    assert TreeAugmented(mb)._compiled is not one._compiled
    assert TreeAugmented(mb)._compiled.plan.gravity.tolist() == [0, -1, 0]
