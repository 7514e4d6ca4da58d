"""One rank and one partition for the report and all solvers: next to singular poses, in any units, and where the pins
of a file are parallel but for its digits."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from tests.kinematics.test_rank import Plan, counted, plans, rank_by_singular_values
from tests.kinematics.test_tolerances import rounded_bar
from tests.loops.cases import near, row_of_four_bars
from tests.profiles import tries
from tests.strategies import keep

import soacraft as sc
from soacraft.errors import ConvergenceError
from soacraft.kinematics import report
from soacraft.kinematics.independent import choose
from soacraft.kinematics.partition import partition, partition_with
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented

SOLVERS = (TreeAugmented, FullyAugmented, ConstraintEmbedding)
#: The parallelogram of `row_of_four_bars(1)` moves along q = angle TURNS; at zero it lies flat: two branches meet.
TURNS = np.array([1.0, 1.0, -1.0])
FORCE = np.array([1.0, 2.0, 3.0])


def along_the_branch(mb, q, v, force):
    """The accelerations of one dof: t* Mcal t a = t* (T - C), as the branch is straight."""
    M = sc.dynamics.mass_matrix(mb, q, ignore_loops=True)
    C = sc.dynamics.inverse_dynamics(mb, q, v, np.zeros(3), ignore_loops=True)
    return TURNS * (TURNS @ (force - C)) / (TURNS @ M @ TURNS)


# -- next to a singular pose ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", ["nothing", "an upright pose", "the flat pose"])
@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("angle", [2e-6, 1e-6, 1e-7, 1e-8, -1e-9])
def test_near_a_flat_pose_all_give_the_answer_along_the_branch(angle, kind, before):
    """Whatever the solver was used for before, it has the rank of the pose next to it, and its condition."""
    mb = row_of_four_bars(1)
    solver, rest = kind(mb), np.zeros(3)
    if before != "nothing":
        solver.forward_dynamics(mb.q if before == "an upright pose" else rest, rest, rest)
    q, v = angle * TURNS, 0.5 * TURNS
    r = solver.forward_dynamics(q, v, FORCE)
    near(r.vdot, along_the_branch(mb, q, v, FORCE), 1e-15 / abs(angle) + 1e-11)
    assert (r.rank, len(r.independent)) == (2, 1)
    assert 0.1 < r.condition * abs(angle) < 10.0
    told = report(mb, q, v)
    assert (told.rank, told.mobility, told.singular, told.near_singular) == (2, 1, False, True)


@pytest.mark.parametrize("angle", [1e-6, 3e-7, 1e-8])
@pytest.mark.parametrize("before", ["an upright pose", "the flat pose"])
def test_a_motion_that_hardly_opens_the_row_that_nearly_repeats_another(angle, before):
    """Without the row the accelerations are off by 27 times the angle, which opens it by less than rounding: that they
    leave nothing of it does not say that it does not count. Its forces do."""
    mb, rest = row_of_four_bars(1), np.zeros(3)
    q, v = angle * TURNS, 3.0 * TURNS
    wanted = along_the_branch(mb, q, v, rest)
    solvers = [kind(mb) for kind in SOLVERS] + [ConstraintEmbedding(mb, embed=[])]
    for solver in solvers:
        solver.forward_dynamics(mb.q if before == "an upright pose" else rest, rest, rest)
        near(solver.forward_dynamics(q, v, rest).vdot, wanted, 1e-15 / angle + 1e-11)
        many = solver.forward_dynamics(np.tile(q, (5, 1)), np.tile(v, (5, 1)), rest)
        near(many.vdot, np.tile(wanted, (5, 1)), 1e-15 / angle + 1e-11)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 5e-11])
def test_where_rounding_decides_all_take_the_pose_for_the_flat_one(angle):
    mb = row_of_four_bars(1)
    q, rest = angle * TURNS, np.zeros(3)
    results = [kind(mb).forward_dynamics(q, rest, FORCE) for kind in SOLVERS]
    for r in results:
        near(r.vdot, results[0].vdot)
        assert (r.rank, len(r.independent)) == (1, 2)
    told = report(mb, q, rest)
    assert (told.rank, told.rank_nearby, told.singular) == (1, 2, True)


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("angle", [1e-2, 1e-6, 1e-9])
def test_velocities_are_projected_on_the_branch(angle, kind):
    """The nearest by kinetic energy: t (t* Mcal v) / (t* Mcal t)."""
    mb, v = row_of_four_bars(1), np.array([1.0, 0.3, -0.2])
    M = sc.dynamics.mass_matrix(mb, angle * TURNS, ignore_loops=True)
    found = kind(mb).project_velocity(angle * TURNS, v)
    near(found, TURNS * (TURNS @ M @ v) / (TURNS @ M @ TURNS), 1e-6)


@pytest.mark.parametrize("kind", SOLVERS)
def test_adaptive_integration_passes_the_flat_pose(kind):
    """5/3 thetadd = -2 g cos(theta) of the cranks, from above the flat pose to below it, with a stage next to it."""
    mb, rest = row_of_four_bars(1), np.zeros(3)
    solver, calls, worst = kind(mb), [], []

    def rates(t, y):
        q, v = solver.project(y[:3], y[3:])
        r = solver.forward_dynamics(q, v, rest)
        calls.append(t)
        worst.append(r.residual)
        return np.concatenate([v, r.vdot])

    start = np.concatenate([0.3 * TURNS, -2.0 * TURNS])
    end = solve_ivp(rates, (0.0, 0.4), start, "DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    one = solve_ivp(lambda t, y: [y[1], -1.2 * 9.81 * np.cos(y[0])], (0.0, 0.4), [0.3, -2.0], "DOP853", rtol=1e-13,
                    atol=1e-14).y[:, -1]  # fmt: skip
    near(end, np.concatenate([one[0] * TURNS, one[1] * TURNS]), 1e-9)
    assert one[0] < -1.0
    assert len(calls) < 300
    assert max(worst) < 1e-9
    rates(0.0, np.concatenate([1e-8 * TURNS, -2.0 * TURNS]))
    assert worst[-1] < 1e-9


# -- following dependent dofs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [0.3, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize("off", [1e-8, 1e-5, 1e-3, 0.1, 0.5])
def test_complete_follows_its_branch_or_refuses(angle, off):
    """Near the flat pose the crank says little of the others: they stay near their start, or nothing is answered."""
    mb, rest = row_of_four_bars(1), np.zeros(3)
    solver = ConstraintEmbedding(mb, independent=["crank0"])
    solver.forward_dynamics(mb.q, rest, rest)
    start = angle * TURNS + off * np.array([0.0, 0.7, 0.4])
    q = None
    with suppress(ConvergenceError):
        q = solver.complete(start)
    if q is None:
        assert off > 1e-2 * angle  # not where it is easy
        with pytest.raises(ConvergenceError, match="the dependent dofs of 'row' cannot be found for these independent"):
            solver.complete(start)
        return
    assert q[0] == start[0]
    assert np.abs(q - start).max() < 2.0 * off
    if off < 1e-2 * angle:
        near(q, angle * TURNS, 1e-12 / angle)


def test_complete_closes_as_well_as_project():
    mb = sc.load("five_bar")
    solver = ConstraintEmbedding(mb)
    mb.q = solver.assemble(mb.q)
    independent = solver.epoch.dofs
    moved = mb.integrate(mb.q, 1e-3 * np.array([name in independent for name in mb.dof_names]))
    found = [solver.complete(moved), solver.project(moved, np.zeros(mb.nv))[0]]
    assert all(Constraints(mb, mb.state(q=x)).open_part <= 1e-15 for x in found)


# -- any units -----------------------------------------------------------------------------------------------------


@tries(12)
@given(plans(), st.sampled_from([1e-6, 1e-3, 1e3, 1e6]))
def test_all_count_the_same_in_all_units(plan, scale):
    """Tree-augmented, fully augmented, embedded, hybrid and the report, from a micrometre to a thousand kilometres."""
    rank = rank_by_singular_values(plan.build())
    keep(rank is not None)
    assert counted(plan.build(scale)) == {rank}


# -- the digits of a file ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [TreeAugmented, ConstraintEmbedding])
def test_pins_that_are_parallel_but_for_digits_do_not_count(kind):
    """Nor nearby: so the rank is that of a planar four-bar, and compiled code goes on with it. At the pose it was drawn
    in the loop is closed, elsewhere it is open by these digits."""
    mb, rest = rounded_bar(), np.zeros(3)
    solver = kind(mb)
    found = partition(Constraints(mb, mb.state()))
    assert (found.rank, found.loose, len(found.redundant)) == (2, True, 3)
    for q in (mb.q, solver.assemble([1.4, *mb.q[1:]], fixed=["crank"])):
        for _ in range(3):
            assert solver.forward_dynamics(q, rest, rest).rank == 2
    assert solver._chosen.call.answered >= 3


def test_a_partition_of_given_dofs():
    mb = row_of_four_bars(1)
    rows = Constraints(mb, mb.state())
    for i in range(3):
        found = partition_with(rows, np.array([i]))
        assert (found.independent.tolist(), found.rank, len(found.redundant)) == ([i], 2, 3)
        wanted = np.arange(3) == i
        assert partition(rows, wanted=wanted).independent.tolist() == [i]
        assert partition(rows, previous=np.array([i])).independent.tolist() == [i]


def test_kept_dofs_are_given_up_for_much_better_ones():
    G = np.array([[1.0, 1e-2]])
    assert choose(G, previous=np.array([0])).independent.tolist() == [0]  # ten times as bad is not much
    assert choose(np.array([[1.0, 1e-5], [0.0, 0.0]]), rank=1, previous=np.array([0])).condition == 1.0
    two = np.array([[1.0, 0.0, 1.0], [0.0, 1e-4, 1.0]])
    assert choose(two, previous=np.array([2])).independent.tolist() == [1]


def test_rows_that_all_repeat_leave_the_tree_in_any_units():
    """A pin on a pin's own axis: no row counts, and a slide in micrometres moves as one in metres."""
    plan = Plan(bodies=((-1, "pin", 1, 0, 0), (0, "slide", 0, 0, 0)), seed=0, loops=((-1, 0, "pin", None),), gear=())
    assert counted(plan.build(1e-6)) == {0}
