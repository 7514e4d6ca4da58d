"""Constraint embedding against a dense solution: random closed graphs, mechanisms, models of the library."""

import numpy as np
import pytest
from hypothesis import given
from tests.loops.cases import (
    LIBRARY,
    FourBar,
    close,
    closed_graphs,
    comparable,
    dense,
    force_of,
    generalized,
    library,
    near,
    project,
    row_of_four_bars,
    tie,
)
from tests.profiles import tries

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import LoopError
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding
from soacraft.model import serial_chain


def check(mb, solver=None, reference=None, tolerance=1e-9):
    """Accelerations, constraint forces, rank and residual at the current state."""
    force = force_of(mb)
    expected = dense(mb, force) if reference is None else reference
    found = (ConstraintEmbedding(mb) if solver is None else solver).forward_dynamics(mb.q, mb.v, force)
    near(found.vdot, expected.vdot, tolerance)
    near(generalized(mb, found), expected.constraint_force, tolerance)
    assert found.rank == expected.rank
    assert len(found.redundant) == Constraints(mb, mb.state()).size - found.rank
    assert len(found.vdot_independent) == mb.nv - found.rank
    return found


@tries(35)
@given(mb=closed_graphs())
def test_random_closed_graphs(mb):
    check(mb, reference=comparable(mb, force_of(mb)))


@pytest.mark.parametrize("name", LIBRARY)
def test_library(name):
    """The delta robot has bodies of a milligram, so that constraint forces are judged by the equations of motion."""
    mb = library(name)
    force = force_of(mb)
    expected = dense(mb, force)
    found = ConstraintEmbedding(mb).forward_dynamics(mb.q, mb.v, force)
    near(found.vdot, expected.vdot)
    M = dyn.mass_matrix(mb, mb.q, ignore_loops=True)
    C = dyn.bias_force(mb, mb.q, mb.v, ignore_loops=True)
    size = np.abs(M @ found.vdot).max() + np.abs(C).max()
    assert np.abs(M @ found.vdot + C - force - generalized(mb, found)).max() < 1e-11 * size
    assert found.rank == expected.rank
    assert found.residual < 1e-9


@pytest.mark.parametrize("cut", ["coupler", "rocker", "elbow"])
def test_a_four_bar_against_lagrange(cut):
    """Whatever hinge is cut; three of the five rows of a pin are redundant in a plane."""
    bar, theta, rate, torque = FourBar(), 0.7, 1.3, 0.4
    mb = bar.build(theta, cut)
    solver = ConstraintEmbedding(mb, independent=["crank"])
    mb.v = solver.expand(mb.q, [rate])
    force = np.zeros(mb.nv)
    force[mb.dof_names.index("crank")] = torque
    found = solver.forward_dynamics(mb.q, mb.v, force)
    near(found.vdot_independent, [bar.acceleration(theta, rate, torque)])
    assert found.rank == 2
    assert len(found.redundant) == 3
    assert found.independent == ("crank",)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_row_of_four_bars_is_one_group(n):
    mb = row_of_four_bars(n)
    solver = ConstraintEmbedding(mb)
    assert [len(group.members) for group in solver.groups] == [2 * n + 1]
    found = check(mb, solver)
    assert found.rank == 2 * n
    assert len(found.redundant) == 3 * n


def tied_chain(n=6, seed=3):
    mb = serial_chain(n, [sc.Pin((0, 1, 0)), sc.Universal((0, 1, 0), (0, 0, 1)), sc.Spherical()] * (n // 3))
    mb.set_state(*mb.random_state(seed))
    return mb


def test_loops_inside_loops():
    mb = tied_chain(9)
    close(mb, "outer", "inertial", "link9", sc.Spherical(), 1)
    close(mb, "inner", "link2", "link6", sc.Cylindrical((0, 0, 1)), 2)
    mb.v = project(mb, mb.v)
    check(mb)


def test_loops_one_after_the_other_hang_from_each_other():
    mb = tied_chain(9)
    close(mb, "first", "inertial", "link3", sc.Planar(), 1)
    close(mb, "second", "link3", "link6", sc.Spherical(), 2)
    mb.v = project(mb, mb.v)
    solver = ConstraintEmbedding(mb)
    assert [group.parent for group in solver.groups] == [-1, 2]
    check(mb, solver)


def test_a_polynomial_coupling_and_one_that_holds_a_dof():
    mb = serial_chain(5)
    mb.set_state(*mb.random_state(4))
    tie(mb, "cam", ["link2", "link4"], [(1.0, 0.3, -0.1), (-0.7, 0.2)])
    tie(mb, "brake", ["link5"], [(1.0,)])
    mb.v = project(mb, mb.v)
    found = check(mb)
    assert found.rank == 2
    assert found.multipliers["cam"].shape == ()


def test_armature_external_forces_and_moving_base():
    mb = sc.Multibody("base")
    mb.add_body("base", None, sc.Free(), sc.Inertia(3.0, (0.1, 0, 0), np.eye(3)))
    for k in range(1, 5):
        parent, at = "base" if k == 1 else f"b{k - 1}", sc.Pose(translation=(0.4, 0.1 * k, 0))
        mb.add_body(f"b{k}", parent, sc.Pin((k, 1, -k)), sc.Inertia(1.0, (0.3, 0, 0), np.eye(3)), at)
        mb[f"b{k}"].armature = 0.3 * k
    mb.set_state(*mb.random_state(5))
    close(mb, "ring", "base", "b4", sc.Universal((1, 0, 0), (0, 1, 0)), 6)
    mb.v = project(mb, mb.v)
    mb.set_force("b2", [0.1, 0.2, 0.3, 4.0, 5.0, 6.0])
    check(mb)


def test_batches_are_solved_state_by_state():
    mb = row_of_four_bars(2)
    solver = ConstraintEmbedding(mb, independent=["crank0"])
    q = np.array([solver.advance(mb.q, [x]) for x in (0.0, 0.3, 0.6)])
    v = np.array([solver.expand(x, [2.0]) for x in q])
    found = solver.forward_dynamics(q, v, np.zeros(mb.nv))
    assert found.vdot.shape == (3, mb.nv)
    assert found.multipliers["loop0"].shape == (3, 6)
    for one, x, y in zip(found.vdot, q, v, strict=True):
        near(one, solver.forward_dynamics(x, y, np.zeros(mb.nv)).vdot, 1e-13)


def test_a_driven_closure():
    """A crank pushed by a closure of the ground: Gc v = U."""
    mb = FourBar().build(0.8)
    rate, udot = 0.6, -0.9
    v = ConstraintEmbedding(mb, independent=["crank"]).expand(mb.q, [rate])
    mb.root.add_node("now", sc.Pose(mb.pose("crank").rotation, mb.pose("crank").translation))
    mb.close_loop("motor", "inertial/now", "crank", sc.Weld())
    U = {"motor": ([0, 0, rate, 0, 0, 0], [0, 0, udot, 0, 0, 0])}
    found = ConstraintEmbedding(mb).forward_dynamics(mb.q, v, np.zeros(mb.nv), U=U)
    near(found.vdot[0], udot)
    assert found.rank == 3


def test_mixed_and_inverse_dynamics():
    mb = row_of_four_bars(2)
    solver = ConstraintEmbedding(mb, independent=["crank0"])
    force = solver.inverse_dynamics(mb.q, mb.v, [2.5])
    assert np.count_nonzero(np.abs(force) > 1e-9) == 1
    found = solver.forward_dynamics(mb.q, mb.v, force)
    near(found.vdot_independent, [2.5])
    vdot, needed = solver.mixed_dynamics(mb.q, mb.v, np.zeros(mb.nv), [2.5, 0, 0, 0, 0], prescribed=["crank0"])
    near(vdot, found.vdot)
    near(needed, force)


def test_a_state_off_the_loops_is_refused():
    mb = FourBar().build(0.8)
    solver = ConstraintEmbedding(mb)
    with pytest.raises(LoopError, match=r"loop 'ring' of 'four_bar' is open by .* m and .* rad; .* s\.assemble"):
        solver.forward_dynamics(mb.q + np.array([0.0, 0.01, 0.0]), np.zeros(3), np.zeros(3))
    with pytest.raises(LoopError, match=r"loop 'ring' of 'four_bar' opens at .* s\.project_velocity"):
        solver.forward_dynamics(mb.q, [1.0, 0.0, 0.0], np.zeros(3))


def test_names_to_embed_are_checked():
    mb = FourBar().build(0.8)
    with pytest.raises(LoopError) as error:
        ConstraintEmbedding(mb, embed=["rings"])
    assert str(error.value) == "'four_bar' has no active loop or coupling 'rings' to embed; it has 'ring'."
    with pytest.raises(LoopError, match="embed takes a list of names of loops and couplings, got 'ring'"):
        ConstraintEmbedding(mb, embed="ring")


def test_an_independent_dof_that_is_dependent_is_refused():
    mb = serial_chain(3)
    tie(mb, "brake", ["link2"], [(1.0,)])
    with pytest.raises(LoopError) as error:
        ConstraintEmbedding(mb, independent=["link2"]).forward_dynamics(mb.q, mb.v, np.zeros(3))
    assert str(error.value) == (
        "'link2' of 'chain' cannot be independent here: the closures tie it to other dofs. Independent dofs that work: "
        "'link1', 'link3'."
    )


def test_a_system_without_loops_is_its_tree():
    mb = sc.random_tree(6, 3)
    found = ConstraintEmbedding(mb).forward_dynamics(mb.q, mb.v, force_of(mb))
    near(found.vdot, sc.dynamics.forward_dynamics(mb, mb.q, mb.v, force_of(mb)))
    assert found.rank == 0
    assert found.independent == mb.dof_names


def test_a_result_keeps_the_dofs_it_was_found_with():
    bar = FourBar()
    mb = bar.build(1.0)
    solver = ConstraintEmbedding(mb)
    first = solver.forward_dynamics(mb.q, mb.v, np.zeros(3))
    before = solver.epoch
    solver.system.wanted = np.array([name == "rocker" for name in mb.dof_names])
    solver.system.independent = None
    solver._chosen = solver._chosen._replace(compiled=None, call=None)
    solver.forward_dynamics(mb.q, mb.v, np.zeros(3))
    after = solver.epoch
    assert first.independent == before.dofs != after.dofs
    assert solver.epoch is after
