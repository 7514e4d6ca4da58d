"""Gc and Gcdot against differences of the residual, for closures by every hinge, nodes apart; and that dropping a term
is seen."""

import numpy as np
import pytest
from tests.loops.cases import EVERY_CLOSING, close, tie

import soacraft as sc
from soacraft.kinematics.rows import Constraints
from soacraft.model.samples.random_models import random_inertia, random_pose
from soacraft.spatial.transforms import se3_log

STEP = 1e-4


def pair(hinge, seed):
    """Two arms of two bodies on a moving base, a closure between their ends far from its neutral coordinates."""
    rng = np.random.default_rng(seed)
    mb = sc.Multibody("pair")
    mb.add_body("base", None, sc.Free(), random_inertia(rng), random_pose(rng))
    for side in ("left", "right"):
        upper = mb.add_body(f"{side}1", "base", sc.Spherical(), random_inertia(rng), random_pose(rng), random_pose(rng))
        mb.add_body(f"{side}2", upper, sc.Planar(), random_inertia(rng), random_pose(rng), random_pose(rng))
    mb.body("left2").add_node("a", random_pose(rng))
    q, v = mb.random_state(seed)
    mb.set_state(q, v)
    close(mb, "ring", "left2/a", "right2", hinge, seed)
    return mb


def along(mb, v):
    """A path through the current configuration at the velocity v."""
    return lambda t: mb.integrate(mb.q, v * t)


def pose_between(mb, q, a, b):
    found = mb.pose(b, relative_to=a, state=mb.state(q=q))
    return sc.Pose(found.rotation, found.translation)


@pytest.mark.parametrize("hinge", EVERY_CLOSING, ids=lambda hinge: type(hinge).__name__)
def test_the_velocity_rows_are_the_rate_of_the_residual(hinge):
    """At the closed state Q d(gap)/dt = Gc v, for any v: the gap from the hinge where it was, and, where the hinge's
    velocities lead to all its coordinates, from the hinge where it fits best."""
    mb = pair(hinge, 3)
    rows = Constraints(mb, mb.state())
    theta, G, Q = rows.theta, rows.jacobian(), rows.loops[0].Q
    a, b = rows.loops[0].closure.a, rows.loops[0].closure.b
    before = pose_between(mb, mb.q, a, b)
    for v in np.random.default_rng(1).standard_normal((3, mb.nv)):
        q, tolerance = along(mb, v), 3e-6 * max(1, np.abs(v).max())
        moved = [before.inv @ pose_between(mb, q(t), a, b) for t in (-STEP, STEP)]
        gaps = [se3_log(x.rotation, x.translation) for x in moved]
        np.testing.assert_allclose(Q @ (gaps[1] - gaps[0]) / (2 * STEP), G @ v, atol=tolerance)
        if hinge.holonomic:
            gaps = [Constraints(mb, mb.state(q=q(t)), theta).loops[0].gap for t in (-STEP, STEP)]
            np.testing.assert_allclose(Q @ (gaps[1] - gaps[0]) / (2 * STEP), G @ v, atol=tolerance)
        np.testing.assert_allclose(Constraints(mb, mb.state(v=v)).speed, G @ v, atol=1e-12)


def allowed(mb, v):
    """v without its part that opens the loop."""
    G = Constraints(mb, mb.state()).jacobian()
    return v - np.linalg.pinv(G) @ (G @ v)


def rate_of_rows(mb, v):
    """d/dt of the rows on the twist of b seen from a, by differences along a path: [gamma, its scale]."""
    rows = Constraints(mb, mb.state(v=v))
    loop = rows.loops[0]
    q, found = along(mb, v), []
    for t in (-STEP, STEP):
        there = Constraints(mb, mb.state(q=q(t), v=v), rows.theta)
        # the rows turn freely within their span from state to state: seen in the span at t = 0 through Q Q*
        found.append(there.loops[0].Q.T @ there.speed)
    return loop.Q @ (found[1] - found[0]) / (2 * STEP), rows.gamma


@pytest.mark.parametrize("hinge", EVERY_CLOSING, ids=lambda hinge: type(hinge).__name__)
def test_the_acceleration_rows_are_the_rate_of_the_velocity_rows(hinge):
    """At a velocity the closure allows, d/dt (Q* Q xi) = Q* (Gcdot v) at constant v; nodes apart."""
    mb = pair(hinge, 3)
    v = allowed(mb, np.random.default_rng(2).standard_normal(mb.nv))
    found, gamma = rate_of_rows(mb, v)
    np.testing.assert_allclose(found, gamma, atol=2e-6 * max(1.0, np.abs(gamma).max()))
    assert np.abs(gamma).max() > 0.05


def test_a_coupling_has_the_rates_of_its_polynomial():
    mb = sc.serial_chain(3)
    mb.set_state([0.3, -0.4, 0.8], [0.7, 0.2, -0.5])
    tie(mb, "cam", ["link1", "link3"], [(1.0, 0.5, -0.2), (-2.0,)])
    rows = Constraints(mb, mb.state())
    x, rate = 0.3, 0.7
    slope = 1.0 + x - 0.6 * x**2
    np.testing.assert_allclose(rows.jacobian(), [[slope, 0.0, -2.0]], atol=1e-14)
    np.testing.assert_allclose(rows.gamma, [(1.0 - 1.2 * x) * rate**2], atol=1e-14)
    np.testing.assert_allclose(rows.speed, [slope * rate + 1.0], atol=1e-14)
    np.testing.assert_allclose(rows.residual, [0.0], atol=1e-14)


# -- mistakes that these tests see ----------------------------------------------------------------------------------


def mistakes(mb, v, monkeypatch):
    """gamma without one of its terms: the turning of X, that of the hinge's axes, the nodes' own Coriolis part."""
    from soacraft.kinematics import rows as module

    right = Constraints(mb, mb.state(v=v)).gamma
    found = {}
    monkeypatch.setattr(module, "rows_of", lambda graph: None)  # the rows in Python
    for name, wrong in (
        ("crm", lambda x: np.zeros((6, 6))),
        ("bias_of", lambda hinge, q, rate: np.zeros(6)),
    ):
        original = getattr(module, name)
        setattr(module, name, wrong)
        try:
            found[name] = Constraints(mb, mb.state(v=v)).gamma
        finally:
            setattr(module, name, original)
    still = mb.state(v=v)
    found["alpha"] = np.concatenate([x.gamma for x in Constraints(mb, still).loops])
    return right, found


@pytest.mark.parametrize(
    ("term", "hinge"),
    [
        ("crm", sc.Prismatic((1, 0, 0))),
        ("alpha", sc.Prismatic((1, 0, 0))),
        ("bias_of", sc.Universal((1, 0, 0), (0, 1, 0))),
    ],
)
def test_a_dropped_term_is_seen(term, hinge, monkeypatch):
    mb = pair(hinge, 3)
    v = allowed(mb, np.random.default_rng(2).standard_normal(mb.nv))
    found, _ = rate_of_rows(mb, v)
    right, wrong = mistakes(mb, v, monkeypatch)
    assert np.abs(found - right).max() < 1e-5
    assert np.abs(found - wrong[term]).max() > 1e-2


def test_taking_the_velocity_at_the_wrong_node_is_seen():
    """J_B - J_A instead of J_B - phi*(A,B) J_A: right where the nodes coincide, wrong on a slide."""
    mb = pair(sc.Prismatic((1, 0, 0)), 3)
    rows = Constraints(mb, mb.state())
    a, b = rows.loops[0].closure.a, rows.loops[0].closure.b
    Q, R_ab = rows.loops[0].Q, rows.loops[0].R_ab
    turn = np.kron(np.eye(2), R_ab.T)
    J_a, J_b = (sc.dynamics.jacobian(mb, mb.q, frame, expressed_in="node") for frame in (a, b))
    wrong = Q @ (J_b - turn @ J_a)
    assert np.abs(rows.jacobian() - wrong).max() > 0.1
