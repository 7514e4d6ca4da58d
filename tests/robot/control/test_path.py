"""Regulators along a path: costs of the linear motion, and robots that are brought back to it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.control.cases import closed, drawn, near

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft import robot as rob
from soacraft.errors import SingularError, StaleError, StateError


def swing(count=101, end=2.0):
    """A smooth motion of a double pendulum."""
    t = np.linspace(0.0, end, count)
    q = np.column_stack([np.sin(2 * t), 0.5 * np.cos(3 * t)])
    v = np.column_stack([2 * np.cos(2 * t), -1.5 * np.sin(3 * t)])
    a = np.column_stack([-4 * np.sin(2 * t), -4.5 * np.cos(3 * t)])
    return t, q, v, a


def flown(rb, law, q, v, steps, end):
    """The motion under a law, by the classical method of Runge and Kutta."""
    mb, h = rb.mb, end / steps

    def rate(t, q, v):
        return v, dyn.forward_dynamics(mb, q, v, law(t, q, v))

    for i in range(steps):
        t = i * h
        k1 = rate(t, q, v)
        k2 = rate(t + h / 2, q + h / 2 * k1[0], v + h / 2 * k1[1])
        k3 = rate(t + h / 2, q + h / 2 * k2[0], v + h / 2 * k2[1])
        k4 = rate(t + h, q + h * k3[0], v + h * k3[1])
        q, v = (x + h / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip((q, v), k1, k2, k3, k4, strict=True))
    return q, v


def test_the_cost_to_go_is_what_the_linear_motion_costs():
    rb = rob.Robot(sc.load("double_pendulum"))
    t, q, v, a = swing()
    Q, R, Qf = np.diag([5.0, 6.0, 1.0, 2.0]), np.diag([0.1, 0.2]), 7.0 * np.eye(4)
    law = rob.lqr_path(rb, t, q, v, a, Q=Q, R=R, Qf=Qf)
    x = start = np.array([0.1, -0.2, 0.3, 0.4])
    cost = 0.0
    for k, h in enumerate(np.diff(t)):
        u = -law.K[k] @ x
        cost += h * (x @ Q @ x + u @ R @ u)
        x = law.F[k] @ x + law.G[k] @ u
    cost += x @ Qf @ x
    assert abs(cost - start @ law.S[0] @ start) < 1e-12 * cost
    np.testing.assert_array_equal(law.S, law.S.mT)
    # and it is the least: other gains cost more
    rng = np.random.default_rng(0)
    for _ in range(5):
        x, other = start, 0.0
        for k, h in enumerate(np.diff(t)):
            u = -law.K[k] @ x + 0.1 * rng.standard_normal(2)
            other += h * (x @ Q @ x + u @ R @ u)
            x = law.F[k] @ x + law.G[k] @ u
        assert other + x @ Qf @ x > cost


def test_gains_of_a_long_rest_are_those_about_a_state():
    """Knots at one state, far from the end: as the time between knots goes to zero the gains are `lqr`'s."""
    rb = rob.Robot(sc.load("cart_pole"))
    still = rob.lqr(rb, [0.0, np.pi], actuated=["cart"], R=0.1)
    off = []
    for h in (1e-2, 5e-3):
        t = np.arange(0.0, 12.0, h)
        many = np.ones((len(t), 1))
        law = rob.lqr_path(rb, t, many * still.q, many * still.v, 0.0 * many * still.v, actuated=["cart"], R=0.1)
        off.append(np.abs(law.K[0] - still.K).max() / np.abs(still.K).max())
    assert off[1] < 0.05
    assert abs(off[0] / off[1] - 2.0) < 0.2                           # of first order: u is held between knots


def test_a_disturbed_robot_comes_back_to_its_path():
    rb = rob.Robot(sc.load("double_pendulum"))
    t, q, v, a = swing()
    law = rob.lqr_path(rb, t, q, v, a, Q=[400.0, 400.0, 10.0, 10.0], R=0.1)
    at, speed = flown(rb, law, q[0] + [0.1, -0.1], v[0], 400, t[-1])
    off = np.linalg.norm(at - q[-1])
    assert off < 0.01 * np.linalg.norm([0.1, -0.1])
    assert np.linalg.norm(speed - v[-1]) < 0.02

    def open_loop(t, q, v):
        return law.target(t)[2]

    lost, _ = flown(rb, open_loop, q[0] + [0.1, -0.1], v[0], 400, t[-1])
    assert np.linalg.norm(lost - q[-1]) > 10 * off


def test_a_pendulum_on_a_cart_along_a_path_with_one_motor():
    """A motion that the cart alone can give: by forward dynamics with a force on it."""
    rb = rob.Robot(sc.load("cart_pole"))
    mb, h = rb.mb, 5e-3
    q, v, T = [np.array([0.0, 0.3])], [np.zeros(2)], []
    for k in range(400):
        T.append(np.array([2.0 * np.sin(3 * k * h), 0.0]))
        vdot = dyn.forward_dynamics(mb, q[-1], v[-1], T[-1])
        v.append(v[-1] + h * vdot)
        q.append(q[-1] + h * v[-1])
    T.append(T[-1])
    t = h * np.arange(401)
    law = rob.lqr_path(rb, t, q, v, force=T, Q=[10.0, 100.0, 1.0, 1.0], R=0.1, actuated=["cart"])
    assert not law.K[:, 1].any()
    assert law(0.5, [0.1, 0.2], [0.0, 0.0])[1] == 0.0
    at, _ = flown(rb, law, q[0] + [0.02, 0.05], v[0], 800, t[-1])
    lost, _ = flown(rb, lambda t, q, v: law.target(t)[2], q[0] + [0.02, 0.05], v[0], 800, t[-1])
    assert np.linalg.norm(at - q[-1]) < 0.2 * np.linalg.norm(lost - q[-1])


def test_quaternions_along_a_path():
    rb, q, v, _ = drawn(5, n=3)
    mb = rb.mb
    t = np.linspace(0.0, 0.5, 26)
    path = np.array([mb.integrate(q, 0.1 * s * v) for s in t])
    law = rob.lqr_path(rb, t, path, np.broadcast_to(0.1 * v, (26, mb.nv)), np.zeros(mb.nv))
    q_d, v_d, T = law.target(0.21)
    near(mb.difference(q_d, mb.integrate(q, 0.021 * v)), np.zeros(mb.nv), 1e-9)
    near(law(0.21, q_d, v_d), T)
    assert repr(law) == f"PathRegulator of {mb.name!r}: 26 knots from 0 to 0.5 s"


def test_a_closed_chain_along_a_path():
    rb, s, q, _ = closed(1)
    mb = rb.mb
    knots = [q]
    for _ in range(5):
        knots.append(s.assemble(knots[-1] + 1e-2))
    law = rob.lqr_path(rb, 0.1 * np.arange(6), knots, np.zeros((6, mb.nv)), np.zeros((6, mb.nv)))
    assert law.K.shape == (5, mb.nv, 2 * len(s.independent(q)))
    near(law(0.0, q, np.zeros(mb.nv)), law.force[0])


def test_what_is_refused():
    rb = rob.Robot(sc.load("pendulum"))
    with pytest.raises(StateError, match="two knots or more, at times that grow"):
        rob.lqr_path(rb, [0.0, 0.0], [[0.0], [0.0]], [[0.0], [0.0]], [0.0])
    with pytest.raises(StateError, match="q of a path needs a row for each of its 2 knots"):
        rob.lqr_path(rb, [0.0, 1.0], [[0.0]], [[0.0]], [0.0])
    with pytest.raises(StateError, match="by vdot or by the force, one of them"):
        rob.lqr_path(rb, [0.0, 1.0], [[0.0], [0.0]], [[0.0], [0.0]])
    with pytest.raises(SingularError, match="Riccati's equation has no answer at knot 0 of the path"):
        rob.lqr_path(rb, [0.0, 1.0, 2.0], np.zeros((3, 1)), np.zeros((3, 1)), [0.0], Qf=1e308)
    cart = rob.Robot(sc.load("cart_pole"))
    with pytest.raises(StateError, match="dof 'pole' has no motor and needs a force"):
        rob.lqr_path(cart, [0, 1], [[0, 0.5], [0, 0.5]], np.zeros((2, 2)), [0.0, 0.0], actuated=["cart"])


def test_a_time_a_batch_and_a_robot_that_has_changed_are_refused():
    mb = sc.load("double_pendulum")
    rb = rob.Robot(mb)
    t, q, v, a = swing(11)
    law = rob.lqr_path(rb, t, q, v, a)
    near(law(1e300, q[0], v[0]), law(2.0, q[0], v[0]), 1e-12)
    for wrong in (np.nan, "late", [0.1, 0.2], None):
        with pytest.raises(StateError, match="the time along a path"):
            law(wrong, q[0], v[0])
    with pytest.raises(StateError, match="a PathRegulator takes one state, got a batch"):
        law(0.5, q, v[0])
    with pytest.raises(StateError, match=r"vdot of a path needs a row for each of its 11 knots, got shape \(0, 2\)"):
        rob.lqr_path(rb, t, q, v, np.zeros((0, 2)))
    mb.add_body("more", "lower", sc.Weld(), sc.Inertia(1.0))
    with pytest.raises(StaleError, match="make another PathRegulator"):
        law(0.5, q[0], v[0])
