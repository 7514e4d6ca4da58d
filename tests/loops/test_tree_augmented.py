"""The tree-augmented solver against a dense reference, closed forms, the physics of closed chains, and other cuts."""

import numpy as np
import pytest
from hypothesis import given
from tests.loops.cases import (
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
    row_of_four_bars,
)
from tests.profiles import tries
from tests.strategies import SEEDS

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.kinematics.rows import Constraints
from soacraft.loops import TreeAugmented
from soacraft.loops.tree_augmented import factored
from soacraft.model.samples.random_models import random_inertia, random_pose

FOUR_BAR = FourBar()


@tries(30)
@given(closed_graphs(), SEEDS)
def test_accelerations_of_random_closed_graphs(mb, seed):
    force = force_of(mb, seed)
    reference = comparable(mb, force)
    r = TreeAugmented(mb).forward_dynamics(mb.q, mb.v, force)
    near(r.vdot, reference.vdot)
    near(generalized(mb, r), reference.constraint_force)
    assert r.rank == reference.rank
    assert len(r.redundant) == Constraints(mb, mb.state()).size - r.rank
    assert r.residual < 1e-9


@tries(30)
@given(closed_graphs())
def test_the_compliance_is_that_of_dense_solves(mb):
    rows = Constraints(mb, mb.state())
    compliance, _ = factored(rows)
    G, M = rows.jacobian(), dyn.mass_matrix(mb, mb.q, ignore_loops=True)
    S = np.zeros((rows.size, rows.size))
    for (i, j), block in compliance.blocks.items():
        at, to = rows.places[i][1], rows.places[j][1]
        S[at, to], S[to, at] = block, block.T
    near(S, G @ np.linalg.solve(M, G.T), 1e-10)
    x = force_of(mb)[: rows.size] if mb.nv >= rows.size else np.ones(rows.size)
    near(compliance.accelerations(x), np.linalg.solve(M, G.T @ x), 1e-10)


@pytest.mark.parametrize("name", LIBRARY)
def test_models_of_the_library(name):
    mb = library(name)
    force = force_of(mb)
    reference = dense(mb, force)
    r = TreeAugmented(mb).forward_dynamics(mb.q, mb.v, force)
    near(r.vdot, reference.vdot)
    assert r.rank == reference.rank
    assert r.residual < 1e-9


@pytest.mark.parametrize("cut", ["coupler", "rocker", "elbow"])
@pytest.mark.parametrize("hinge", [sc.Pin(Z), sc.Spherical(), sc.Cylindrical(Z)])
def test_a_four_bar_is_its_one_dof_lagrangian(cut, hinge):
    """Wherever it is cut, with three redundant rows, one, or two."""
    mb = FOUR_BAR.build(0.9, cut, hinge)
    solver = TreeAugmented(mb)
    crank = mb.dof_names.index("crank")
    first = project(mb, np.eye(3)[crank])
    v = 2.3 * first / first[crank]
    force = np.where(np.arange(3) == crank, 1.7, 0.0)
    r = solver.forward_dynamics(mb.q, v, force)
    near(r.vdot[crank], FOUR_BAR.acceleration(0.9, 2.3, 1.7))
    assert r.rank == 2


def test_cutting_another_hinge_gives_the_same_body_accelerations():
    found = []
    for cut in ("coupler", "rocker", "elbow"):
        mb = FOUR_BAR.build(2.1, cut)
        v = project(mb, np.eye(3)[0])
        v /= v[mb.dof_names.index("crank")]
        vdot = TreeAugmented(mb).forward_dynamics(mb.q, v, np.zeros(3)).vdot
        mb.set_state(v=v, vdot=vdot)
        found.append([np.asarray(mb.acceleration(name)) for name in ("crank", "coupler", "rocker")])
    near(found[1], found[0])
    near(found[2], found[0])


# -- a spatial ring told as different trees -------------------------------------------------------------------

X, Y = (1, 0, 0), (0, 1, 0)
RING = [sc.Universal(X, Y), sc.Spherical(), sc.Pin(Y), sc.Cylindrical(X), sc.Spherical()]


def ring(cut):
    """Five bodies in a ring on a free base, hinge i between bodies i and i+1; hinge `cut` closes it.

    Every hinge is neutral at the pose of its own frame in space, so any tree of the same ring is easily told.
    """
    rng = np.random.default_rng(7)
    at = [random_pose(rng) for _ in RING]
    frames = [random_pose(rng) for _ in RING]
    inertias = [random_inertia(rng) for _ in RING]
    n = len(RING)
    mb = sc.Multibody("ring")
    mb.add_body("body0", None, sc.Free(), inertias[0], at[0])
    hang = [(i, i + 1, i) for i in range(cut)] + [((i + 1) % n, i, i) for i in range(n - 1, cut, -1)]
    for parent, child, i in hang:
        hinge = RING[i] if child == i + 1 else turned(RING[i])
        inboard, outboard = at[parent].inv @ frames[i], frames[i].inv @ at[child]
        mb.add_body(f"body{child}", f"body{parent}", hinge, inertias[child], inboard, outboard)
    for side, k in (("a", cut), ("b", (cut + 1) % n)):
        mb[f"body{k}"].add_node(side, at[k].inv @ frames[cut])
    mb.close_loop("ring", f"body{cut}/a", f"body{(cut + 1) % n}/b", RING[cut])
    return mb


def turned(hinge):
    """The hinge seen from its other side, but for signs of its coordinates."""
    return sc.Universal(hinge.axis2, hinge.axis) if isinstance(hinge, sc.Universal) else hinge


def velocities(mb):
    return np.concatenate([np.asarray(mb.velocity(f"body{i}")) for i in range(len(RING))])


def test_a_spatial_ring_cut_at_each_of_its_hinges():
    mb = ring(0)
    mb.v = project(mb, np.random.default_rng(3).standard_normal(mb.nv))
    wanted, found = velocities(mb), []
    for cut in range(len(RING)):
        other = ring(cut)
        bodies = [f"body{i}" for i in range(len(RING))]
        J = np.concatenate([dyn.jacobian(other, other.q, body, expressed_in="inertial") for body in bodies])
        v = np.linalg.lstsq(J, wanted, rcond=None)[0]
        r = TreeAugmented(other).forward_dynamics(other.q, v, np.zeros(other.nv))
        other.set_state(v=v, vdot=r.vdot)
        near(velocities(other), wanted, 1e-11)
        found.append(np.concatenate([np.asarray(other.acceleration(f"body{i}")) for i in range(len(RING))]))
    for other in found[1:]:
        near(other, found[0])


# -- physics --------------------------------------------------------------------------------------------------


@tries(12)
@given(closed_graphs(), SEEDS)
def test_constraint_forces_do_no_work(mb, seed):
    force = force_of(mb, seed)
    comparable(mb, force)
    r = TreeAugmented(mb).forward_dynamics(mb.q, mb.v, force)
    T = generalized(mb, r)
    assert abs(T @ mb.v) <= 1e-9 * max(1.0, np.abs(T).max(initial=0.0) * np.abs(mb.v).max(initial=0.0))


def test_a_hanging_rod_pulls_on_its_closure_with_its_weight():
    """A free rod welded by a closure to the inertial frame: the closure carries its weight and its moment."""
    mb = sc.Multibody("rod", gravity=(0, 0, -10))
    mb.add_body("rod", None, sc.Free(), sc.Inertia(2.0, (0.5, 0, 0), 0.1 * np.eye(3)))
    mb.root.add_node("wall", sc.Pose.from_quaternion([0, 0, np.sin(0.4), np.cos(0.4)]))
    close(mb, "weld", "inertial/wall", "rod", sc.Weld())
    r = TreeAugmented(mb).forward_dynamics(mb.q, mb.v, np.zeros(6))
    near(r.vdot, np.zeros(6), 1e-12)
    moment, force = r.multipliers["weld"][:3], r.multipliers["weld"][3:]
    near(force, [0, 0, 20.0], 1e-12)
    near(mb["inertial/wall"].offset.rotation @ moment, [0, -10.0, 0], 1e-12)


def test_a_gear_multiplies_the_force():
    """Two wheels geared 3 to 1: J1 w1' = T - lambda, J2 w2' = 3 lambda with w1 = 3 w2."""
    mb = sc.Multibody("gear", gravity=(0, 0, 0))
    for name, moment in (("fast", 0.2), ("slow", 5.0)):
        mb.add_body(name, None, sc.Pin(Z), sc.Inertia(1.0, (0, 0, 0), moment * np.eye(3)))
    mb.couple("gear", {"fast": 1, "slow": -3})
    r = TreeAugmented(mb).forward_dynamics([0.3, 0.1], [3.0, 1.0], [1.0, 0.0])
    slow = 3.0 / (5.0 + 9 * 0.2)
    near(r.vdot, [3 * slow, slow], 1e-13)
    near(r.multipliers["gear"], 5.0 * slow / 3.0, 1e-13)


def test_external_and_stored_forces_act():
    mb = FOUR_BAR.build(0.9)
    solver, crank = TreeAugmented(mb), np.array([1.0, 0.0, 0.0])
    still = solver.forward_dynamics(mb.q, np.zeros(3), np.zeros(3)).vdot
    push = {"crank": [0, 0, 2.0, 0, 0, 0]}
    pushed = solver.forward_dynamics(mb.q, np.zeros(3), np.zeros(3), push).vdot
    near(pushed, solver.forward_dynamics(mb.q, np.zeros(3), 2.0 * crank).vdot, 1e-12)
    mb.set_force("crank", push["crank"])
    near(solver.forward_dynamics(mb.q, np.zeros(3), np.zeros(3)).vdot, pushed, 1e-12)
    assert np.abs(pushed - still).max() > 0.1


def test_armature_is_part_of_the_mechanics():
    mb = FOUR_BAR.build(0.9)
    mb["crank"].armature = 0.3
    mb["rocker"].armature = 0.2
    mb.v = project(mb, np.array([1.0, 0.2, 0.3]))
    force = force_of(mb)
    near(TreeAugmented(mb).forward_dynamics(mb.q, mb.v, force).vdot, dense(mb, force).vdot)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_row_of_four_bars_has_a_tridiagonal_compliance(n):
    mb = row_of_four_bars(n)
    rows = Constraints(mb, mb.state())
    compliance, factor = factored(rows)
    assert set(compliance.blocks) == {(i, j) for i in range(n) for j in (i, i + 1) if j < n}
    assert factor.rank == 2 * n
    force = force_of(mb)
    near(TreeAugmented(mb).forward_dynamics(mb.q, mb.v, force).vdot, dense(mb, force).vdot)


# -- batches, results, driven closures --------------------------------------------------------------------------


def test_batches_are_the_states_one_by_one():
    mb = row_of_four_bars(2)
    solver = TreeAugmented(mb)
    forces = np.random.default_rng(0).standard_normal((3, 2, mb.nv))
    r = solver.forward_dynamics(mb.q, mb.v, forces, {"crank0": np.ones((2, 6))})
    assert r.vdot.shape == (3, 2, mb.nv)
    assert r.rank.shape == r.residual.shape == (3, 2)
    assert r.multipliers["loop0"].shape == (3, 2, 6)
    for i in np.ndindex(3, 2):
        one = solver.forward_dynamics(mb.q, mb.v, forces[i], {"crank0": np.ones(6)})
        near(r.vdot[i], one.vdot, 1e-13)
        near(r.multipliers["loop1"][i], one.multipliers["loop1"], 1e-13)
    assert r.vdot_independent.shape == (3, 2, 1)


def test_redundant_rows_are_named_and_multipliers_are_the_least():
    mb = FOUR_BAR.build(0.9)
    mb.close_loop("again", "rocker/end", "coupler/end", sc.Pin(Z))
    r = TreeAugmented(mb).forward_dynamics(mb.q, np.zeros(3), np.zeros(3))
    assert r.rank == 2
    assert set(r.redundant) >= {f"{name}: {row}" for name in ("ring", "again")
                                for row in ("turn about x", "turn about y", "slide along z")}  # fmt: skip
    near(r.multipliers["ring"], r.multipliers["again"], 1e-10)
    assert "redundant: ring: " in repr(r)


def test_a_model_without_closures_is_its_tree():
    mb = sc.load("arm7")
    q, v = mb.random_state(1)
    r = TreeAugmented(mb).forward_dynamics(q, v, force_of(mb))
    near(r.vdot, dyn.forward_dynamics(mb, q, v, force_of(mb)), 1e-13)
    assert (r.rank, r.redundant, r.multipliers) == (0, (), {})
    assert r.independent == mb.dof_names


def test_a_driven_closure_moves_as_it_is_told():
    """A free body on a closure driven along a screw that is constant in the axes of the wall: that is its motion."""
    mb = sc.Multibody("driven")
    mb.add_body("box", None, sc.Free(), random_inertia(3))
    mb.root.add_node("wall", random_pose(1))
    close(mb, "motor", "inertial/wall", "box", sc.Weld())
    solver = TreeAugmented(mb)
    u, udot = np.array([0.3, -0.5, 0.8, 1.0, 0.2, -0.4]), np.array([1.0, 2.0, 3.0, -1.0, 0.5, 0.7])
    v = solver.project_velocity(mb.q, np.zeros(6), {"motor": (u, udot)})
    r = solver.forward_dynamics(mb.q, v, np.zeros(6), U={"motor": (u, udot)})
    mb.set_state(v=v, vdot=r.vdot)
    R = np.asarray(mb["inertial/wall"].offset.rotation)
    near(np.asarray(mb.velocity("box/motor_end")), [*(R @ u[:3]), *(R @ u[3:])], 1e-12)
    near(np.asarray(mb.acceleration("box/motor_end")), [*(R @ udot[:3]), *(R @ udot[3:])], 1e-12)


def test_a_driven_closure_between_two_moving_bodies():
    """The distance of two slides on a turning arm is driven: its rate of change is the one given, and not zero."""
    mb = sc.Multibody("arm", gravity=(0, 0, 0))
    mb.add_body("arm", None, sc.Pin(Z), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    for name in ("left", "right"):
        mb.add_body(name, "arm", sc.Prismatic((1, 0, 0)), sc.Inertia(2.0 if name == "left" else 1.0))
    mb.close_loop("screw", "left", "right", sc.Weld())
    u, udot = np.array([0, 0, 0, 0.7, 0, 0]), np.array([0, 0, 0, -0.2, 0, 0])
    solver = TreeAugmented(mb)
    v = solver.project_velocity(mb.q, [1.3, 0.1, 0.0], {"screw": (u, udot)})
    near(v[2] - v[1], 0.7, 1e-13)
    r = solver.forward_dynamics(mb.q, v, np.zeros(3), U={"screw": (u, udot)})
    near(r.vdot[2] - r.vdot[1], -0.2, 1e-13)
    near(2.0 * r.vdot[1] + r.vdot[2], 0.0, 1e-13)  # both slides at the pivot: no centrifugal force
