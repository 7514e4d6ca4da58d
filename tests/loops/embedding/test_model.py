"""The embedded SKO model against projections of the tree: Mcal = Xt* Mcal_tree Xt, C = Xt* (C_tree + Mcal_tree x0)."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from tests.identities.test_identities import allowed, wrong
from tests.loops.cases import LIBRARY, FourBar, close, closed_graphs, library, near, project, row_of_four_bars
from tests.profiles import tries
from tests.strategies import keep

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding
from soacraft.model import serial_chain


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def nested():
    """A loop hanging from a member of a loop, a branch outside, armature inside."""
    mb = serial_chain(9, [sc.Pin((0, 1, 0)), sc.Universal((0, 1, 0), (0, 0, 1)), sc.Spherical()] * 3)
    mb["link2"].armature = [0.3, 0.4]
    mb.set_state(*mb.random_state(7))
    close(mb, "first", "inertial", "link3", sc.Planar(), 1)
    close(mb, "second", "link3", "link6", sc.Spherical(), 2)
    mb.v = project(mb, mb.v)
    return mb


MODELS = {
    **{name: lambda name=name: library(name) for name in LIBRARY},
    "row of four-bars": lambda: row_of_four_bars(3),
    "nested": nested,
}


@pytest.fixture(params=MODELS)
def mb(request):
    return MODELS[request.param]()


def projections(mb, solver):
    """Xt, x0, and the mass matrix and bias of the tree."""
    found = solver.model(mb.state())
    M = dyn.mass_matrix(mb, mb.q, ignore_loops=True)
    return found.Xt, found.x0, M, dyn.bias_force(mb, mb.q, mb.v, passive=False, ignore_loops=True)


def test_Xt_spans_what_the_loops_allow(mb):
    Xt, x0, _, _ = projections(mb, ConstraintEmbedding(mb))
    rows = Constraints(mb, mb.state())
    G = rows.jacobian()
    near(G @ Xt, np.zeros((rows.size, Xt.shape[1])), 1e-12)
    near(G @ x0 + rows.gamma, np.zeros(rows.size), 1e-10)
    assert np.linalg.matrix_rank(Xt) == Xt.shape[1] == mb.nv - np.linalg.matrix_rank(G, tol=1e-9)


def test_mass_matrix_its_inverse_log_det_and_bias_are_projections_of_the_tree(mb):
    solver = ConstraintEmbedding(mb)
    Xt, x0, M, C = projections(mb, solver)
    s = sc.operators(solver)
    wanted = Xt.T @ M @ Xt
    size = np.abs(wanted).max()
    assert np.abs(mass_matrix(s).array() - wanted).max() < 1e-11 * size
    assert np.abs(np.asarray(mass_matrix(s).inv * wanted) - np.eye(len(wanted))).max() < 1e-8
    assert np.abs(np.asarray(s.C) - Xt.T @ (C + M @ x0)).max() < 1e-10 * max(1.0, np.abs(C).max())
    log_det = sum(np.linalg.slogdet(D)[1] for D in s.D.blocks().diagonal() if len(D))
    assert abs(log_det - np.linalg.slogdet(wanted)[1]) < 1e-8


def test_velocities_and_jacobians_of_nodes_on_members(mb):
    solver = ConstraintEmbedding(mb)
    found, s = solver.model(mb.state()), sc.operators(solver)
    nodes = [body.name for body in mb.bodies[-3:]]
    J = (s.B(nodes).T * s.phi.T * s.H.T).array()
    tree = np.concatenate([dyn.jacobian(mb, mb.q, node, expressed_in="node") for node in nodes])
    near(J, tree @ found.Xt, 1e-12)
    near(s.B(nodes).T * s.V, tree @ mb.v, 1e-10)
    V = [x for u in range(len(found.units.groups)) for x in found.stacked(mb.body_velocities(), u)]
    near(s.V, np.array(V), 1e-10)


def test_operational_space_compliance_of_members(mb):
    solver = ConstraintEmbedding(mb)
    Xt, _, M, _ = projections(mb, solver)
    s = sc.operators(solver)
    nodes = [mb.bodies[-1].name, mb.bodies[len(mb) // 2].name]
    J = np.concatenate([dyn.jacobian(mb, mb.q, node, expressed_in="node") for node in nodes]) @ Xt
    wanted = J @ np.linalg.solve(Xt.T @ M @ Xt, J.T)
    found = (s.B(nodes).T * s.Omega * s.B(nodes)).array()
    assert np.abs(found - wanted).max() <= 1e-8 * max(1.0, np.abs(wanted).max())


def test_equations_of_motion_through_the_operators(mb):
    solver = ConstraintEmbedding(mb)
    force = np.linspace(-1.0, 1.0, mb.nv)
    found = solver.forward_dynamics(mb.q, mb.v, force, passive=False)  # operators have no springs
    s = sc.operators(solver, force=force)
    assert s.binding.owner.dofs == found.independent
    near(s.vdot, found.vdot_independent)
    model = solver.model(mb.state())
    near(model.expanded(np.asarray(s.vdot)) + model.x0, found.vdot)
    alpha = mb.state(vdot=found.vdot).alpha
    last = len(mb) - 1
    u, where = model.place(last)
    near(np.asarray(s.alpha[s.body.labels[u]])[where][:6], alpha[last])


@pytest.mark.parametrize("what", ["x0", "X"])
def test_leaving_out_x0_or_the_motion_of_dependent_dofs_fails(what):
    """The controls: a wrong embedding is seen."""
    bar = FourBar()
    mb = bar.build(0.7)
    solver = ConstraintEmbedding(mb, independent=["crank"])
    mb.v = solver.expand(mb.q, [1.3])
    Xt, x0, M, C = projections(mb, solver)
    right = np.linalg.solve(Xt.T @ M @ Xt, Xt.T @ (0.0 - C - M @ x0))
    near(right, [bar.acceleration(0.7, 1.3, 0.0)])
    if what == "x0":
        off = np.linalg.solve(Xt.T @ M @ Xt, Xt.T @ (0.0 - C))
    else:
        X = np.where(Xt == 1.0, Xt, 0.0)
        off = np.linalg.solve(X.T @ M @ X, X.T @ (0.0 - C - M @ x0))
    assert np.abs(off - right).max() > 1e-2


@cache
def places():
    names = ("nested", "robotiq_2f85", "row of four-bars")
    return [sc.operators(ConstraintEmbedding(MODELS[name]())) for name in names]


PLAIN = [identity for identity in sc.identities() if not {"rigid", "closed"} & identity.conditions]


@pytest.mark.parametrize("identity", PLAIN, ids=lambda identity: identity.name)
def test_each_identity_holds_on_embedded_systems(identity):
    """All that need no rigid bodies: embedded systems have an SKO model's identities."""
    found = sc.verify(identity.left, identity.right, on=[s for s in places() if allowed(identity, s)], tolerance=1e-9)
    assert found.ok, found


@tries(15)
@given(mb=closed_graphs(max_bodies=5))
def test_identities_hold_on_random_embedded_systems(mb):
    solver = ConstraintEmbedding(mb)
    worst = min((x.ratio for x in solver.model(mb.state()).solved.values()), default=1.0)
    keep(worst > 1e-3)
    s = sc.operators(solver)
    assert wrong(s, [identity for identity in sc.identities() if allowed(identity, s)]) == {}


@pytest.mark.parametrize("name", "H M E_phi phi R P P_plus D G K tau tau_bar E_psi psi Upsilon Omega".split())
def test_operators_are_what_they_claim(name):
    mb = nested()
    report = sc.check_operator(getattr(sc.operators(ConstraintEmbedding(mb)), name))
    assert report.ok, report


def test_simplify_and_prove_work_on_embedded_operators():
    s = sc.operators(ConstraintEmbedding(nested()))
    inverse = sc.simplify(mass_matrix(s).inv)
    near(inverse.array(), np.linalg.inv(mass_matrix(s).array()), 1e-8)
    assert sc.prove(s.H * s.psi * s.M * s.psi.T * s.H.T, s.D)
