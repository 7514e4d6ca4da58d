"""Regulators about a state: Riccati's equation, poles, closed chains."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from tests.robot.control.cases import closed, drawn, near
from tests.scales.scaled import NINE, Units, force_units, scaled, velocity_units

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft import robot as rob
from soacraft.errors import SingularError, StaleError, StateError


def test_a_regulator_has_the_poles_of_riccatis_equation():
    """A pendulum of 1 kg at 1 m, upside down: A = [[0, 1], [g/l, 0]], B = [0; 1]. The gains have a closed form,
    k1 = g + sqrt(g^2 + q1/r), k2 = sqrt(2 k1 + q2/r)."""
    rb = rob.Robot(sc.load("pendulum"))
    made = rob.lqr(rb, [np.pi], Q=[4.0, 1.0], R=[0.5])
    k1 = 9.81 + np.sqrt(9.81**2 + 4.0 / 0.5)
    near(made.K, [[k1, np.sqrt(2 * k1 + 1.0 / 0.5)]])
    near(made([np.pi], [0.0]), made.force)
    near(np.sort(made.poles.real), np.sort(np.roots([1.0, made.K[0, 1], made.K[0, 0] - 9.81]).real), 1e-8)
    assert "Regulator of 'pendulum': 1 dofs, slowest pole -" in repr(made)


@pytest.mark.parametrize("seed", range(6))
def test_a_regulator_of_a_random_robot_solves_riccatis_equation(seed):
    rb, q, _, _ = drawn(seed, n=4)
    made = rob.lqr(rb, q, Q=1.0, actuated=rb.mb.dof_names)
    lin = sc.analysis.linearize(rb.mb, q, np.zeros(rb.mb.nv), made.force)
    A, B, S = lin.A, lin.B, made.S
    near(A.T @ S + S @ A - S @ B @ B.T @ S + np.eye(len(A)), np.zeros(A.shape), 1e-7 * float(np.abs(S @ A).max()))
    assert (made.poles.real < 0.0).all()
    near(dyn.forward_dynamics(rb.mb, q, np.zeros(rb.mb.nv), made(q, np.zeros(rb.mb.nv))), np.zeros(rb.mb.nv), 1e-7)


def test_a_regulator_of_a_batch():
    rb = rob.Robot(sc.load("double_pendulum"))
    made = rob.lqr(rb, [np.pi, 0.0])
    q = np.array([[np.pi + 0.1, 0.2], [np.pi, -0.1]])
    near(made(q, np.zeros(2))[1], made(q[1], np.zeros(2)), 1e-12)


def test_an_acrobot_balances_with_one_motor():
    mb = sc.load("double_pendulum")
    rb = rob.Robot(mb)
    made = rob.lqr(rb, [np.pi, 0.0], actuated=[mb.dof_names[1]])
    assert (made.poles.real < 0.0).all()
    assert made(np.array([np.pi + 0.01, 0.0]), [0.0, 0.0])[0] == 0.0


def test_a_closed_chain_is_regulated_in_its_independent_dofs():
    rb, s, q, _ = closed(1)
    mb = rb.mb
    made = rob.lqr(rb, q, R=1e-9, actuated=mb.dof_names)                                     # its bars are heavy
    m = len(s.independent(q))
    assert made.K.shape == (mb.nv, 2 * m)
    assert (made.poles.real < 0.0).all()
    # brought back from nearby, on the closures
    at, v, h = s.assemble(q + 0.02), np.zeros(mb.nv), 2e-3
    start = np.linalg.norm(mb.difference(q, at))
    for _ in range(1500):
        v = v + h * s.forward_dynamics(at, v, made(at, v)).vdot
        at, v = s.project(mb.integrate(at, h * v), v)
    assert np.linalg.norm(mb.difference(q, at)) < 0.05 * start


def test_what_is_refused():
    mb = sc.load("double_pendulum")
    with pytest.raises(StateError, match=r"has no motor and needs a force of .*: no equilibrium"):
        rob.lqr(rob.Robot(mb), [0.5, 0.0], actuated=[mb.dof_names[1]])
    one = rob.Robot(sc.load("pendulum"))
    with pytest.raises(StateError, match="Q must have 2 numbers"):
        rob.lqr(one, [np.pi], Q=np.eye(3))
    with pytest.raises(StateError, match="Q must have no negative eigenvalue, got one of -1"):
        rob.lqr(one, [np.pi], Q=[-1.0, 1.0])
    with pytest.raises(StateError, match="Q must be symmetric"):
        rob.lqr(one, [np.pi], Q=[[1.0, 1.0], [0.0, 1.0]])
    with pytest.raises(StateError, match="R must be positive definite, got one of 0"):
        rob.lqr(one, [np.pi], R=0.0)
    with pytest.raises(StateError, match="lqr is about one state, got a batch"):
        rob.lqr(one, [[np.pi], [0.0]])
    free = sc.Multibody("free")
    free.add_body("a", hinge=sc.Prismatic((1, 0, 0)), inertia=sc.Inertia(1.0))
    free.add_body("b", hinge=sc.Prismatic((1, 0, 0)), inertia=sc.Inertia(1.0))
    with pytest.raises(SingularError, match="cannot bring it back"):
        rob.lqr(rob.Robot(free), [0.0, 0.0], actuated=["a"])
    ball = sc.Multibody("ball")
    ball.add_body("ball", None, sc.RollingBall(0.5), sc.Inertia.sphere(1.0, 0.5))
    with pytest.raises(StateError, match="closures of 'ball' roll"):
        rob.lqr(rob.Robot(ball), ball.q)


def test_the_cost_to_go_is_that_of_the_linear_motion():
    """x* S x equals the integral of x* Q x + u* R u along dx/dt = (A - B K) x."""
    rb = rob.Robot(sc.load("cart_pole"))
    made = rob.lqr(rb, [0.0, np.pi], actuated=["cart"], Q=[1.0, 2.0, 3.0, 4.0], R=0.5)
    lin = sc.analysis.linearize(rb.mb, made.q, made.v, made.force)
    closed_loop = lin.A - lin.B @ made.K
    W = np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5 * made.K[:1].T @ made.K[:1]
    near(scipy.linalg.solve_continuous_lyapunov(closed_loop.T, -W), made.S, 1e-8)


HINGES = [sc.Pin((0, 1, 0)), sc.Prismatic((1, 0, 0)), sc.Universal((1, 0, 0), (0, 1, 0)), sc.Cylindrical((0, 0, 1))]


@pytest.mark.parametrize("units", NINE, ids=str)
def test_a_regulator_is_the_same_in_all_units(units):
    """Q and R weigh parts of lengths, rates and forces of the model, so that the poles are the same in its time."""
    rb = rob.Robot(sc.random_tree(5, seed=3, hinges=HINGES))
    made = []
    for u in (Units(), units):
        mb = scaled(rb.mb, u)
        rate, force = velocity_units(mb, u), force_units(mb, u)
        size = np.concatenate([rate * u.time, rate])
        law = rob.lqr(rob.Robot(mb), mb.q, Q=size**-2.0, R=force**-2.0)
        made.append((np.sort_complex(law.poles) * u.time, law.K * size / force[:, None]))
    near(made[1][0], made[0][0], 1e-7 * float(np.abs(made[0][0]).max()))
    near(made[1][1], made[0][1], 1e-7 * float(np.abs(made[0][1]).max()))


def sized(size, seed):
    """An arm of five pins, of so many metres and one density."""
    arm = sc.random_tree(5, seed=seed, hinges=[sc.Pin((0, 1, 0)), sc.Pin((0, 0, 1)), sc.Pin((1, 0, 0))])
    mb = sc.Multibody("arm", gravity=(0, 0, -9.81))
    for body in arm.bodies:
        x = body.inertia
        inertia = sc.Inertia(x.mass * size**3, x.com * size, x.moment * size**5)
        parent = None if body.parent is arm.root else body.parent.name
        ends = (sc.Pose(p.rotation, p.translation * size) for p in (body.inboard, body.outboard))
        mb.add_body(body.name, parent, body.hinge, inertia, *ends)
    return rob.Robot(mb)


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1e3])
@pytest.mark.parametrize("seed", range(3))
def test_arms_of_all_sizes_are_regulated_alike(size, seed):
    """Without weights poles go with the time of the model, sqrt(length / g), and gains with weight times length."""
    q = np.full(5, 0.1)
    one, other = (rob.lqr(sized(x, seed), q) for x in (1.0, size))
    near(np.sort_complex(other.poles) * np.sqrt(size), np.sort_complex(one.poles), 1e-7 * np.abs(one.poles).max())
    near(other.K[:, :5] / size**4, one.K[:, :5], 1e-7 * np.abs(one.K).max())
    near(other.K[:, 5:] / size**4.5, one.K[:, 5:], 1e-7 * np.abs(one.K).max())


def test_weights_that_rounding_cannot_bear_are_named():
    with pytest.raises(SingularError, match=r"Riccati's equation of 'arm' is lost in rounding with these weights: in "
                       r"sizes of the model Q is .* times R. Its motors can bring it back: leave both out"):
        rob.lqr(sized(1e-6, 0), np.full(5, 0.1), Q=1.0, R=1.0)


def test_what_does_not_come_back_is_refused():
    mb = sc.Multibody("two", gravity=(0, 0, 0))
    mb.add_body("driven", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
    mb.add_body("loose", None, sc.Prismatic((0, 1, 0)), sc.Inertia(1.0)).passive = sc.Passive(stiffness=4.0)
    rb = rob.Robot(mb)
    with pytest.raises(SingularError, match="the motors of 'two' do not bring it back to this state: a pole of"):
        rob.lqr(rb, [0, 0], actuated=["driven"])  # it swings for ever
    with pytest.raises(SingularError, match="that Q does not weigh"):
        rob.lqr(rb, [0, 0], Q=0.0)
    mb["loose"].passive = sc.Passive(stiffness=4.0, damping=1.0)
    assert (rob.lqr(rb, [0, 0], actuated=["driven"]).poles.real < 0.0).all()
    with pytest.raises(StateError, match="actuated names no dof of 'two', so that nothing can be driven"):
        rob.lqr(rb, [0, 0], actuated=[])


def test_a_regulator_of_a_robot_that_has_changed_is_stale():
    mb = sc.load("double_pendulum")
    mb.add_body("cup", hinge=sc.Free(), inertia=sc.Inertia.sphere(0.4, 0.05))
    rb = rob.Robot(mb)
    rb.attach("cup", "lower")
    law = rob.lqr(rb, [0.0, 0.0])
    rb.detach("cup")
    with pytest.raises(StaleError, match="the robot 'double_pendulum' has changed since: make another Regulator"):
        law(mb.q, mb.v)


def test_a_robot_without_dofs_has_nothing_to_regulate():
    mb = sc.Multibody("rock")
    mb.add_body("rock", None, sc.Weld(), sc.Inertia(1.0))
    assert rob.lqr(rob.Robot(mb), []).poles.size == 0
