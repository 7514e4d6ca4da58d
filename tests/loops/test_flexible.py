"""Closed chains with flexible bodies: all solvers and a dense solution agree; poses alone tell rows and accelerations
right; beams held at both ends have their frequencies; a four-bar with a flexible coupler runs."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.linalg import eigh
from tests.flexible.models import in_plane
from tests.loops.by_name import by_name
from tests.loops.cases import CONDITION, dense, generalized, near
from tests.loops.flexible_cases import beam, close_at, drawn, four_bar
from tests.loops.test_derivatives import difference
from tests.model.modal.test_nodes import slope
from tests.model.modal.trees import flexible_tree

import soacraft as sc
from soacraft.errors import ModelError, SingularError, StateError
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented

SOLVERS = {
    "TA": TreeAugmented,
    "FA": FullyAugmented,
    "CE": ConstraintEmbedding,
    "hybrid": lambda mb: ConstraintEmbedding(mb, embed=["loop0"]),
}
FEW = (1, 2, 8, 13)
MANY = range(24, 124)


def agree(seed):
    """All solvers and the dense solution of one graph; the number of solvers compared."""
    mb = drawn(seed)
    force = np.random.default_rng(seed).standard_normal(mb.nv)
    wanted = dense(mb, force)
    if wanted.condition > CONDITION or wanted.contradiction > 1e-9 * max(1.0, np.abs(wanted.vdot).max(initial=0.0)):
        return 0
    for make in SOLVERS.values():
        found = make(mb).forward_dynamics(mb.q, mb.v, force)
        near(found.vdot, wanted.vdot)
        assert found.rank == wanted.rank
        near(generalized(mb, found), wanted.constraint_force)
    return len(SOLVERS)


@pytest.mark.parametrize("seed", FEW)
def test_solvers_and_a_dense_solution_agree(seed):
    assert agree(seed)


@pytest.mark.slow
def test_solvers_and_a_dense_solution_agree_on_many_graphs():
    assert sum(map(agree, MANY)) > 3 * len(MANY)


@pytest.mark.parametrize("seed", FEW[:3])
def test_rows_and_accelerations_from_poses_alone(seed):
    """Gc is the rate of what is open, and along the accelerations of a solver the loops stay closed to second order."""
    mb = drawn(seed)
    q, v = np.array(mb.q), np.array(mb.v)
    rows = Constraints(mb, mb.state(q, np.zeros(mb.nv)))
    w = np.random.default_rng(seed).standard_normal(mb.nv)
    held = {x.name: (x.Q, where) for x, (_, where) in zip(rows.loops, rows.places, strict=False)
            if x.closure.hinge.holonomic}  # fmt: skip

    def open_by(at):
        there = Constraints(mb, mb.state(at, np.zeros(mb.nv)), rows.theta)
        return np.concatenate([held[x.name][0] @ x.gap for x in there.loops if x.name in held])

    moved = slope(lambda t: open_by(mb.integrate(q, t * w)))
    wanted = np.concatenate([rows.jacobian()[where] @ w for _, where in held.values()])
    np.testing.assert_allclose(moved, wanted, rtol=0, atol=1e-8 * max(1.0, np.abs(moved).max()))
    vdot = TreeAugmented(mb).forward_dynamics(q, v, np.ones(mb.nv)).vdot

    def left(h):
        there = mb.integrate(q, h * v + 0.5 * h * h * vdot)
        return Constraints(mb, mb.state(there, np.zeros(mb.nv)), rows.theta).opening

    ahead, nearer = left(2e-2), left(1e-2)
    assert nearer < 1e-9 or ahead / nearer > 6.0  # of third order; a wrong vdot leaves a ratio of 4


@pytest.mark.parametrize("seed", FEW[:2])
def test_assembly_projection_and_inverse_dynamics(seed):
    mb = drawn(seed)
    s = TreeAugmented(mb)
    rng = np.random.default_rng(seed)
    off = mb.integrate(mb.q, 1e-2 * rng.standard_normal(mb.nv))
    q = s.assemble(off, bend=True)
    v = s.project_velocity(q, rng.standard_normal(mb.nv))
    rows = Constraints(mb, mb.state(q, v))
    assert rows.opening < 1e-10
    assert np.abs(rows.speed).max(initial=0.0) < 1e-10
    closed, still = s.project(mb.integrate(q, 1e-5 * rng.standard_normal(mb.nv)), v)
    assert Constraints(mb, mb.state(closed, still)).opening < 1e-11
    force = rng.standard_normal(mb.nv)
    vdot = s.forward_dynamics(q, v, force).vdot
    needed = s.inverse_dynamics(q, v, vdot)
    near(s.forward_dynamics(q, v, needed).vdot, vdot, 1e-8)


@pytest.mark.parametrize("seed", [1, 13])
def test_derivatives_along_the_motion(seed):
    """dvdot/dq v + dvdot/dv vdot is the rate of vdot along the motion on the closures, by differences."""
    mb = drawn(seed)
    s, q, v = TreeAugmented(mb), np.array(mb.q), np.array(mb.v)
    force = np.random.default_rng(seed).standard_normal(mb.nv)
    vdot = s.forward_dynamics(q, v, force).vdot
    dq, dv, dforce = sc.loops.forward_dynamics_derivatives(s, q, v, force)

    def at(t):
        there = s.project(mb.integrate(q, t * v + 0.5 * t * t * vdot), v + t * vdot)
        return s.forward_dynamics(*there, force).vdot

    near(dq @ v + dv @ vdot, slope(at), 1e-9)
    other = np.ones(mb.nv)
    near(vdot + dforce @ (other - force), s.forward_dynamics(q, v, other).vdot)


def test_modes_of_a_beam_held_at_both_ends():
    mb = beam(8)
    mb.close_loop("support", "inertial/wall", "beam/tip", sc.Weld())
    found = np.sqrt(2 * np.pi * sc.loops.modes(TreeAugmented(mb), mb.q).hz)
    off = in_plane(found, 1e-4)[:2] / np.array([4.730040744863, 7.853204624096]) - 1.0
    assert all(0.0 < x < 1e-3 for x in off)


def test_the_check_of_a_model_knows_the_damping_of_modes():
    assert not [x for x in sc.check(drawn(13)).findings if x.subject == "power balance"]


def test_operators_of_the_closures():
    mb = drawn(13)
    s = sc.operators(TreeAugmented(mb))
    rows = Constraints(mb, mb.state())
    near(s.Gc.array(), rows.jacobian(), 1e-12)
    near(np.asarray(s.Gcdot_v), rows.gamma, 1e-12)
    e = sc.operators(ConstraintEmbedding(mb))
    M = (e.H * e.phi * e.M * e.phi.T * e.H.T)
    near((M * M.inv).array(), np.eye(len(M.array())), 1e-9)


@pytest.mark.parametrize(("hinge", "wanted"), [
    (sc.Weld(), (4.730040744863, 7.853204624096)),
    (sc.Pin((0, 1, 0)), (3.926602312048, 7.068582745629)),
])  # fmt: skip
def test_a_beam_held_at_its_tip_by_a_closure(hinge, wanted):
    """Clamped at its root: betaL of the beam clamped or pinned at its tip, from above and within 1e-3. All but one of
    the static modes of the tip depend on the others then, and the solver says so."""
    mb = beam(8)
    mb.close_loop("support", "inertial/wall", "beam/tip", hinge)
    solver = ConstraintEmbedding(mb)
    M = sc.operators(solver, "H phi M")
    mass = (M[0] * M[1] * M[2] * M[1].T * M[0].T).array()
    Xt = solver.model(mb.state()).Xt
    K = Xt.T @ mb.layout.modal(0).K @ Xt
    found = np.sqrt(np.sqrt(eigh(K, mass, eigvals_only=True)))
    if isinstance(hinge, sc.Pin):  # in the plane that it turns in; in the other one it is clamped
        off = [found[np.abs(found / x - 1.0).argmin()] / x - 1.0 for x in wanted]
    else:
        off = in_plane(found, 1e-4)[: len(wanted)] / np.array(wanted) - 1.0
    assert all(0.0 < x < 1e-3 for x in off)
    names = [mb.layout.modal(0).kinds[mb.dof_names.index(x)] for x in solver.dependent_modes]
    assert len(names) == 6 - hinge.nv
    assert all(x.startswith("static tip") for x in names)


def test_modes_stay_independent_where_hinges_carry_the_rank():
    mb = four_bar()
    solver = ConstraintEmbedding(mb)
    q = assembled(mb, solver)
    solver.forward_dynamics(q, np.zeros(mb.nv), np.zeros(mb.nv))
    assert solver.epoch.dofs == ("coupler", "coupler.mode0")
    assert solver.dependent_modes == ("coupler.mode1",)  # out of the plane, where the pin at the tip holds it


def assembled(mb, solver):
    """With the crank at 1.2 rad and nothing bent."""
    q = np.array(mb.neutral())
    for name, value in (("crank", 1.2), ("coupler", -1.0), ("rocker", 1.9)):
        q[mb.dof_names.index(name)] = value
    return solver.assemble(q, fixed=["crank", "coupler.mode0", "coupler.mode1"])


def run(seconds, h):
    """The four-bar in minimal coordinates: RK4 on the independent dofs. The largest gap in metres, and the energies."""
    mb = four_bar()
    s, none = ConstraintEmbedding(mb), np.zeros(mb.nv)
    q = assembled(mb, s)
    v = np.zeros(len(s.forward_dynamics(q, none, none).vdot_independent))
    gaps, energies = [], [energy(mb, q, none)]

    def rate(q, v):
        return s.forward_dynamics(q, s.expand(q, by_name(s, q, v)), none).vdot_independent

    for _ in range(round(seconds / h)):
        k1 = rate(q, v)
        q2, v2 = s.advance(q, by_name(s, q, 0.5 * h * v)), v + 0.5 * h * k1
        k2 = rate(q2, v2)
        q3, v3 = s.advance(q, by_name(s, q, 0.5 * h * v2)), v + 0.5 * h * k2
        k3 = rate(q3, v3)
        q4, v4 = s.advance(q, by_name(s, q, h * v3)), v + h * k3
        k4 = rate(q4, v4)
        q, v = s.advance(q, by_name(s, q, h / 6 * (v + 2 * v2 + 2 * v3 + v4))), v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        whole = s.expand(q, by_name(s, q, v))
        gaps.append(Constraints(mb, mb.state(q, whole)).loops[0].distance)
        energies.append(energy(mb, q, whole))
    return max(gaps), np.array(energies)


def energy(mb, q, v):
    kinetic = sc.dynamics.kinetic_energy(mb, q, v, ignore_loops=True)
    return float(kinetic + sc.dynamics.potential_energy(mb, q, ignore_loops=True))


def test_a_flexible_four_bar_in_minimal_coordinates():
    gap, energies = run(0.1, 0.01)
    assert gap < 1e-10
    assert abs(energies[-1] - energies[0]) < 0.05 * np.ptp(energies) + 0.05  # its damping takes a little


@pytest.mark.slow
def test_a_flexible_four_bar_runs_ten_seconds():
    gap, energies = run(10.0, 0.02)
    assert gap < 1e-10
    assert energies[-1] < energies[0]


def test_a_flexible_body_that_carries_both_ends_is_part_of_the_compound_body():
    """Its modes move the ends relative to each other."""
    mb = flexible_tree((-1, 0, 0), 0, modes=(2, 0, 0))
    close_at(mb, "ring", "body1/tip", "body2/tip", sc.Spherical())
    assert [group.members for group in ConstraintEmbedding(mb).groups] == [(0, 1, 2)]


def test_a_body_bent_too_far_is_named():
    mb = four_bar(4)
    s = ConstraintEmbedding(mb)
    q = np.array(mb.neutral())
    for name, value in (("crank", 1.2), ("coupler", -1.0), ("rocker", 1.9), ("coupler.mode0", 0.2)):
        q[mb.dof_names.index(name)] = value
    q = s.assemble(q, fixed=["crank", "coupler.mode0"])
    with pytest.raises(SingularError, match="the mass matrix of flexible body 'coupler' is not positive at eta = "):
        s.forward_dynamics(q, np.zeros(mb.nv), np.zeros(mb.nv))


def test_free_modes_of_coupled_dofs_are_refused():
    mb = flexible_tree((-1, 0), 0, modes=(2, 0))
    mb.couple("gear", {mb.dof_names[0]: 1.0, mb.dof_names[-1]: -2.0})
    q, v = mb.neutral(), np.zeros(mb.nv)
    assert sc.dynamics.inverse_dynamics(mb, q, v, v).shape == v.shape
    with pytest.raises(StateError, match="has modes='given' alone, since couplings tie its dofs; mixed_dynamics with"):
        sc.dynamics.inverse_dynamics(mb, q, v, v, modes="free")


def test_what_is_refused():
    mb = drawn(1)
    name = mb.bodies[mb.layout.flexible[0]].name
    text = f"loop 'new': {name!r} is fixed on the frame of flexible body {name!r}, which is no point of it; close it at"
    with pytest.raises(ModelError, match=re.escape(text)):
        mb.close_loop("new", "inertial", name, sc.Spherical())
    e = sc.operators(ConstraintEmbedding(mb))
    with pytest.raises(ModelError, match=f"a derivative of an operator is for rigid bodies: {name!r} is flexible"):
        e.D.diff(mb.dof_names[-1])


@pytest.mark.parametrize("seed", [1, 8, 13])  # nothing rolls
def test_small_motions_against_differences_along_closed_states(seed):
    """xi' and dvdot of the independent dofs, of states that differ by a small motion in them."""
    mb = drawn(seed)
    q, v = np.array(mb.q), np.array(mb.v)
    force = np.random.default_rng(seed).standard_normal(mb.nv)
    s = ConstraintEmbedding(mb)
    v = s.project_velocity(q, v)
    lin = sc.loops.linearize(s, q, v, force)
    m, i = len(lin.dof_names), [mb.dof_names.index(x) for x in lin.dof_names]
    rng = np.random.default_rng(8)
    xi, dv, dforce = 0.3 * rng.standard_normal(m), rng.standard_normal(m), rng.standard_normal(mb.nv)

    def state(t):
        moved = s.advance(q, by_name(s, q, t * xi))
        return moved, s.expand(moved, by_name(s, moved, v[i] + t * dv))

    def rate(t):
        moved, faster = state(t)
        return s.forward_dynamics(moved, faster, force + t * dforce).vdot_independent

    assert m > 1
    got = (lin.A @ np.concatenate([xi, dv]) + lin.B @ dforce)[-m:]
    wanted = difference(rate, 2e-4)
    near(got, wanted, 1e-6)
    near(lin.X @ dv + lin.Y @ xi, difference(lambda t: state(t)[1], 2e-4), 1e-7)
