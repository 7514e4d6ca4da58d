"""Closed chains in motion: solvers agree, orders are kept, states stay closed, given motions and refusals."""

import numpy as np
import pytest
from tests.loops.cases import library, row_of_four_bars
from tests.loops.test_case_four_bars import pendulum, spatial_loop

import soacraft as sc
from soacraft.errors import LoopError, ModelError

SOLVERS = ("ta", "fa", "ce")


def four_bar():
    """One four-bar of the row, away from its singular poses for half a second."""
    return row_of_four_bars(1)


def test_the_choice_of_a_solver_is_told():
    assert "solver: tree-augmented: there are loops or couplings" in str(sc.sim.Propagator(four_bar()).report())
    assert "solver: ConstraintEmbedding: as given" in str(sc.sim.Propagator(four_bar(), "ce").report())
    mb = four_bar()
    own = sc.loops.TreeAugmented(mb, tolerance=1e-7)
    assert "solver: TreeAugmented: as given" in str(sc.sim.Propagator(mb, own).report())
    with pytest.raises(ModelError, match=r"the solver is of .*, not of the model"):
        sc.sim.Propagator(four_bar(), own)
    with pytest.raises(LoopError, match=r"has 1 loops and 0 couplings, which solver='tree' would ignore"):
        sc.sim.Propagator(mb, "tree")


def test_solvers_agree():
    """A loop in space with a ball joint, damped."""
    ends = []
    for solver in SOLVERS:
        mb = spatial_loop()
        mb.bodies[0].passive = sc.Passive(damping=0.1)
        run = sc.sim.Propagator(mb, solver, rtol=1e-8).advance_to(0.15)
        assert run.violation.max() < 1e-11
        assert run.check().imbalance < 1e-7 * np.ptp(run.kinetic)
        ends.append(np.concatenate([mb.q, mb.v]))
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-6)
    np.testing.assert_allclose(ends[2], ends[0], atol=1e-6)


ORDERS = {"rk4": (10, 3.6, 5.5), "gauss4": (4, 3.6, 4.5), "verlet": (10, 1.8, 2.5), "generalized_alpha": (10, 1.8, 2.2)}
CHAINS = [("ta", "rk4"), ("ce", "rk4"), ("fa", "rk4"), ("ta", "gauss4"), ("ta", "verlet"), ("ta", "generalized_alpha")]


@pytest.mark.parametrize(("solver", "method"), CHAINS)
def test_order_on_a_closed_chain(solver, method):
    """Two parallelograms move as a pendulum of one coordinate, by its own equation."""
    errors = []
    few, least, most = ORDERS[method]
    for steps in (few, 2 * few):
        mb = row_of_four_bars(2)
        run = sc.sim.Propagator(mb, solver, integrator=method, step=0.4 / steps).advance_to(0.4)
        errors.append(np.abs([mb.q[0], mb.v[0]] - pendulum(np.pi / 2, -1.0, 0.4)).max())
        assert run.violation.max() < 1e-12
    assert least < np.log2(errors[0] / errors[1]) < most


def test_a_prescribed_crank_drives_a_loop():
    """A crank at constant speed in a parallelogram: the rocker turns alike, the force is that of inverse dynamics."""
    mb = four_bar()
    speed = -mb.v[0]

    def turning(t):
        return np.pi / 2 - speed * t, -speed, 0.0

    p = sc.sim.Propagator(mb, rtol=1e-7)
    crank = mb.dof_names[0]
    p.prescribe(crank, turning)
    run = p.advance_to(0.3)
    np.testing.assert_allclose(run.q[:, 0], np.pi / 2 - speed * run.t, atol=1e-14)
    rocker = mb.v[np.argmin(np.abs(mb.v[1:] - mb.v[0])) + 1]
    assert rocker == pytest.approx(-speed, abs=1e-9)
    assert run.violation.max() < 1e-9
    assert run.check().imbalance < 1e-6
    # three rods whose masses rise and fall together: the power is that of their weight alone
    power = np.gradient(run.potential, run.t)
    np.testing.assert_allclose((run.forces["prescribed"][:, 0] * run.v[:, 0])[2:-2], power[2:-2], atol=0.05)
    other = next(x for x in mb.dof_names[1:])
    with pytest.raises(LoopError, match=rf"dof '{other}' of .* cannot be prescribed: the closures, with '{crank}'"):
        p.prescribe(other, turning)


def test_a_start_off_the_closures_is_refused_with_the_cure():
    mb = four_bar()
    mb.q = np.add(mb.q, [0.1, 0, 0])
    p = sc.sim.Propagator(mb)
    with pytest.raises(LoopError, match=r"a run cannot begin off its closures: .*mb.q = s.assemble\(mb.q\); mb.v"):
        p.advance_to(0.1)
    s = sc.loops.TreeAugmented(mb)
    mb.q = s.assemble(mb.q)
    mb.v = s.project_velocity(mb.q, mb.v)
    assert p.advance_to(0.1).violation.max() < 1e-12


def test_cassie_falls_with_its_loops():
    """A robot of the library, floating, with four-bar legs: closed to rounding, the balance better by the order."""
    left = []
    for step in (1e-4, 5e-5):
        mb = library("cassie")
        run = sc.sim.Propagator(mb, integrator="rk4", step=step).advance_to(4e-4)
        balance = run.check()
        assert run.violation.max() < 1e-10
        left.append(balance.imbalance)
    assert left[0] > 10 * left[1]
    assert balance.holds is None
    assert "not known: the method estimates no error; compare with half the step" in repr(balance)
