"""Leaving out Gcdot v, Qdot or x0 on purpose: every solver is then off by orders of magnitude.

The solvers agree with a dense solution that has all terms; with one that lacks a term they must not.
"""

import numpy as np
import pytest
from tests.kinematics.test_rows import pair
from tests.loops.cases import CLOSING, EVERY_CLOSING, dense, force_of, near, project, tie

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented
from soacraft.model.hinges.base import bias_of

SOLVERS = (TreeAugmented, FullyAugmented, ConstraintEmbedding)
#: Closures by which the motion allowed turns with their own coordinates; a planar or spherical hinge allows the same
#: everywhere.
TURNING = [hinge for hinge in CLOSING if isinstance(hinge, sc.Universal | sc.Screws)]


def moving(hinge):
    """Two arms closed far from the neutral coordinates of the closure, its nodes apart, at an allowed velocity."""
    mb = pair(hinge, 3)
    mb.v = project(mb, np.random.default_rng(2).standard_normal(mb.nv))
    return mb


def off(mb, dropped):
    """How far the acceleration is off when `dropped` is left out of Gcdot v, relative to the right one."""
    force = force_of(mb)
    right, wrong = dense(mb, force), dense(mb, force, Udot=dropped)
    scale = max(1.0, np.abs(right.vdot).max())
    for solver in SOLVERS:
        found = solver(mb).forward_dynamics(mb.q, mb.v, force).vdot
        near(found, right.vdot)
        yield np.abs(found - wrong.vdot).max() / scale


@pytest.mark.parametrize("hinge", EVERY_CLOSING, ids=lambda hinge: type(hinge).__name__)
def test_without_Gcdot(hinge):
    """Gc vdot = 0 in place of Gc vdot = -Gcdot v."""
    mb = moving(hinge)
    gamma = Constraints(mb, mb.state()).gamma
    assert min(off(mb, gamma)) > 1e-2


@pytest.mark.parametrize("hinge", TURNING, ids=lambda hinge: type(hinge).__name__)
def test_without_Qdot(hinge):
    """The closure's axes as if they stood still: Qdot xi = -Q Hdot_c* thetadot_c left out of Gcdot v."""
    mb = moving(hinge)
    (loop,) = Constraints(mb, mb.state()).loops
    J = (dyn.jacobian(mb, mb.q, frame, expressed_in="node") for frame in (loop.closure.a, loop.closure.b))
    V_a, V_b = (x @ mb.v for x in J)
    T_ab = mb.pose(loop.closure.b, relative_to=loop.closure.a)
    H_T = hinge.H_T(loop.theta)
    rate = np.linalg.lstsq(H_T, V_b - T_ab.phi().T @ V_a, rcond=None)[0]
    Qdot_xi = -loop.Q @ bias_of(hinge, loop.theta, rate)
    assert min(off(mb, Qdot_xi)) > 1e-3


def test_without_the_curvature_of_a_coupling():
    mb = sc.serial_chain(3)
    mb.set_state([0.3, -0.4, 0.8], [5.0, 2.0, 4.0])
    tie(mb, "cam", ["link1", "link3"], [(1.0, 0.5, -0.2), (-2.0,)])
    mb.v = project(mb, mb.v)
    assert min(off(mb, Constraints(mb, mb.state()).gamma)) > 1e-2


@pytest.mark.parametrize("hinge", EVERY_CLOSING, ids=lambda hinge: type(hinge).__name__)
def test_without_x0(hinge):
    """vdot = X vdot_i in place of X vdot_i + x0, in the equations of motion or in the answer."""
    mb = moving(hinge)
    force = force_of(mb)
    solver = ConstraintEmbedding(mb)
    model = solver.model(mb.state())
    M = dyn.mass_matrix(mb, mb.q, ignore_loops=True)
    C = dyn.bias_force(mb, mb.q, mb.v, ignore_loops=True)
    X, x0 = model.Xt, model.x0

    def independent(of_x0):
        return np.linalg.solve(X.T @ M @ X, X.T @ (force - C - M @ of_x0))

    for each in SOLVERS:
        found = each(mb).forward_dynamics(mb.q, mb.v, force).vdot
        near(found, X @ independent(x0) + x0, 1e-8)
        scale = max(1.0, np.abs(found).max())
        for wrong in (X @ independent(0 * x0) + x0, X @ independent(x0), X @ independent(0 * x0)):
            assert np.abs(found - wrong).max() / scale > 1e-3


@pytest.mark.parametrize("hinge", EVERY_CLOSING, ids=lambda hinge: type(hinge).__name__)
def test_rows_in_python_are_those_compiled(hinge, monkeypatch):
    """Each seen in the space of twists through its own Q, whose rows may be any that span the same."""
    mb = moving(hinge)

    def seen():
        rows = Constraints(mb, mb.state())
        Q = rows.loops[0].Q
        return [Q.T @ x for x in (rows.jacobian(), rows.gamma, rows.speed, rows.residual, Q)]

    usual = seen()
    monkeypatch.setattr("soacraft.kinematics.rows.rows_of", lambda graph: None)
    for one, other in zip(seen(), usual, strict=True):
        near(one, other, 1e-11)
