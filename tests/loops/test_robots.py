"""Robots with loops, as they are read from files: assembled, and all solvers in agreement."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.loops.cases import CONDITION, dense, generalized, near

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.kinematics import assemble, report
from soacraft.kinematics.bounds import Bounds
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented

MODELS = Path(__file__).parents[1] / "data" / "models"
#: Loops and couplings, rows, rank; and whether the Schur complement is conditioned well enough to compare every dof.
#: Where it is not, that is told by inertias: balls of 7 mg and rods that spin about themselves.
ROBOTS = {
    "cassie": (4, 12, 10, True),
    "robotiq_2f85": (3, 7, 5, True),
    "five_bar": (1, 6, 3, True),
    "delta": (3, 18, 9, False),
    "strandbeest": (42, 210, 72, True),
    "parallel_wl16_like": (5, 30, 30, True),
    "parallel_cassie_like": (2, 12, 12, False),
    "parallel_digit_like": (3, 18, 18, False),
}
SEEDS = {"strandbeest": (0,)}
#: Half of the starts near its file's lead to closed configurations in which a universal joint stays folded, so that its
#: cross without mass cannot be moved; this one does not.
STARTS = {"parallel_wl16_like": 1}


def loaded(name):
    """A robot with all hinges neutral: robots of the library begin closed and within their limits."""
    path = MODELS / name / "robot.urdf"
    mb = sc.load(path if path.exists() else name)
    mb.set_state(mb.neutral())
    return mb


@cache
def assembled(name):
    """A robot and its configuration closed, from that of the file, which most have open by metres and half turns."""
    mb = loaded(name)
    away = 0.1 * np.random.default_rng(STARTS[name]).standard_normal(mb.nv) if name in STARTS else np.zeros(mb.nv)
    return mb, TreeAugmented(mb).assemble(mb.integrate(mb.q, away))


def states(name):
    """Closed states: perturbed and assembled, with a velocity that is allowed and a force of its inertias' size."""
    mb, start = assembled(name)
    solver = TreeAugmented(mb)
    for seed in SEEDS.get(name, (0, 1, 2)):
        rng = np.random.default_rng(seed)
        q = solver.assemble(mb.integrate(start, 0.1 * rng.standard_normal(mb.nv)))
        v = solver.project_velocity(q, rng.standard_normal(mb.nv))
        M = dyn.mass_matrix(mb, q, ignore_loops=True)
        mb.set_state(q, v)
        yield mb, M, M @ rng.standard_normal(mb.nv)


def solvers(mb):
    names = [x.name for x in mb.loops] + [x.name for x in mb.couplings]
    return [TreeAugmented(mb), FullyAugmented(mb), ConstraintEmbedding(mb), ConstraintEmbedding(mb, embed=names[1::2])]


@pytest.mark.parametrize("name", ROBOTS)
def test_closures_are_read_and_close(name):
    mb, q = assembled(name)
    ties, size, rank, _ = ROBOTS[name]
    rows, found = Constraints(mb, mb.state(q=q)), report(mb, q, np.zeros(mb.nv))
    assert (len(mb.loops) + len(mb.couplings), rows.size) == (ties, size)
    assert np.abs(rows.residual).max() < 1e-9
    assert np.linalg.matrix_rank(rows.jacobian(), tol=1e-9) == rank
    assert (found.rank, found.mobility, len(found.redundant)) == (rank, mb.nv - rank, size - rank)
    assert found.met


@pytest.mark.parametrize("name", ROBOTS)
def test_solvers_agree(name):
    """Tree-augmented, fully augmented, embedded, half embedded, and a dense KKT: accelerations in the metric of the
    mass matrix always, dof by dof where the closures are conditioned well enough."""
    compared = []
    for mb, M, force in states(name):
        reference = dense(mb, force)
        energy = reference.vdot @ M @ reference.vdot
        compared.append(reference.condition < CONDITION)
        for s in solvers(mb):
            r = s.forward_dynamics(mb.q, mb.v, force)
            off = r.vdot - reference.vdot
            assert off @ M @ off <= 1e-18 * energy
            assert r.rank == reference.rank
            near(generalized(mb, r), reference.constraint_force)
            if compared[-1]:
                near(r.vdot, reference.vdot)
    assert all(x is ROBOTS[name][3] for x in map(bool, compared)), f"{sum(compared)} of {len(compared)} compared"


@pytest.mark.parametrize("name", ["cassie", "strandbeest"])
def test_robots_close_within_their_limits(name):
    """Neutral hinges are outside of them, and so is what closes near by."""
    mb = loaded(name)
    bounds = Bounds(mb, np.zeros(mb.nv, bool), limits=True)
    assert not np.array_equal(bounds.inside(assembled(name)[1]), assembled(name)[1])
    q = TreeAugmented(mb).assemble(mb.q, limits=True)
    assert np.abs(Constraints(mb, mb.state(q=q)).residual).max() < 1e-9
    assert np.array_equal(bounds.inside(q), q)


def test_many_loops_close_in_few_steps(monkeypatch):
    """Twelve legs on one crank, all open by a metre: the steps do not grow with the number of loops."""
    made = []

    class Counted(Constraints):
        def __init__(self, *given):
            made.append(self)
            super().__init__(*given)

    monkeypatch.setattr(assemble, "Constraints", Counted)
    mb = loaded("strandbeest")
    TreeAugmented(mb).assemble(mb.q)
    assert 5 < len(made) < 40
