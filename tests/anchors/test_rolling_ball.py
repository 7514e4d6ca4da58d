"""A ball rolling without slipping: down an incline, and with a load, against Lagrange multipliers."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.anchors.reference import AXES, bias_force, fly, forward, mass_matrix

import soacraft as sc
from soacraft.model import random_pose

G, SLOPE = 9.81, np.pi / 6
SPHERES = {"solid": (2 / 5, 3.5035714286), "hollow": (2 / 3, 2.943)}


def ball(kind, radius, inboard, normal=(0, 0, 1), mass=3.0):
    mb = sc.Multibody("incline", gravity=(0, 0, -G))
    moment = SPHERES[kind][0] * mass * radius**2 * np.eye(3)
    mb.add_body("ball", None, sc.RollingBall(radius, normal), sc.Inertia(mass, (0, 0, 0), moment), inboard=inboard)
    return mb


def incline(normal, rng):
    """An inboard pose that tilts the plane with this normal (inboard axes) by 30 degrees, and the tilted normal."""
    heading = rng.uniform(-np.pi, np.pi)
    tilted = np.array([np.sin(SLOPE) * np.cos(heading), np.sin(SLOPE) * np.sin(heading), np.cos(SLOPE)])
    n = np.array(normal) / np.linalg.norm(normal)
    axis = np.cross(n, tilted)
    turn = Rotation.from_rotvec(axis / np.linalg.norm(axis) * np.arccos(n @ tilted))
    np.testing.assert_allclose(turn.apply(n), tilted, atol=1e-14)
    return sc.Pose(turn.as_matrix(), (0.3, -0.2, 1.0)), tilted


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("kind", SPHERES)
@pytest.mark.parametrize("seed", range(3))
def test_down_an_incline(kind, seed, axes):
    """a = g sin(30) / (1 + k) down the line of steepest descent, dw/dt = n x a / r; whatever its attitude and speed."""
    rng = np.random.default_rng(seed)
    normal, radius = [(0, 0, 1), (0.2, -0.3, 0.9), (1, 0.1, 0)][seed], rng.uniform(0.1, 0.6)
    inboard, n = incline(normal, rng)
    mb = ball(kind, radius, inboard, normal)
    mb.set_state(mb.body("ball").hinge.random(rng), 3 * rng.standard_normal(3))
    mb.vdot = forward(sc.operators(mb, axes=axes), np.zeros(3))
    factor, known = SPHERES[kind]
    size = G * np.sin(SLOPE) / (1 + factor)
    assert size == pytest.approx(known, abs=5e-11)
    down = np.array([0, 0, -1.0]) + n[2] * n
    down /= np.linalg.norm(down)
    acceleration = mb.acceleration("ball")
    np.testing.assert_allclose(acceleration.linear, size * down, atol=1e-12)
    np.testing.assert_allclose(acceleration.angular, np.cross(n, size * down) / radius, atol=1e-12)


def test_the_contact_point_is_at_rest():
    """v = w x (radius n) at the centre, and mb.qdot moves the contact under it."""
    rng = np.random.default_rng(7)
    inboard, n = incline((0.1, 0.4, 0.8), rng)
    mb = ball("solid", 0.25, inboard, (0.1, 0.4, 0.8))
    mb.set_state(mb.body("ball").hinge.random(rng), rng.standard_normal(3))
    velocity = mb.velocity("ball")
    np.testing.assert_allclose(velocity.linear, np.cross(velocity.angular, 0.25 * n), atol=1e-14)
    t1 = inboard.rotation @ mb.body("ball").hinge.tangents[0]
    t2 = np.cross(n, t1)
    np.testing.assert_allclose(mb.qdot()[4:], [velocity.linear @ t1, velocity.linear @ t2], atol=1e-14)


def test_from_rest_it_goes_straight_down():
    """s = a t^2 / 2 after one second."""
    mb = ball("solid", 0.2, sc.Pose.from_rpy(0.0, SLOPE, 0.0))  # the plane's x axis points down the slope
    q, v = fly(mb, [1.0])
    np.testing.assert_allclose(q[0, 4:], [3.5035714286 / 2, 0.0], atol=1e-10)
    speed = mb.velocity("ball", state=mb.state(q[0], v[0])).linear
    np.testing.assert_allclose(speed, 3.5035714286 * np.array([np.cos(SLOPE), 0, -np.sin(SLOPE)]), atol=1e-10)


def loaded(hinge, outboard=None):
    """A lopsided ball that carries a swinging arm, which carries a slider; the ball on the given hinge."""
    mb = sc.Multibody("loaded", gravity=(1.0, -2.0, -9.0))
    moment = np.array([[0.05, 0.01, 0.0], [0.01, 0.04, -0.005], [0.0, -0.005, 0.06]])
    inertia = sc.Inertia(2.0, (0.03, -0.05, 0.02), moment)
    mb.add_body("ball", None, hinge, inertia, inboard=sc.Pose.from_rpy(0.3, -0.2, 0.5), outboard=outboard)
    arm = sc.Inertia(0.8, (0.1, 0.2, -0.1), np.diag([0.02, 0.03, 0.025]))
    mb.add_body("arm", "ball", sc.Universal((1, 0, 0.2), (0, 1, 0)), arm, random_pose(1), random_pose(2))
    mb.add_body("slider", "arm", sc.Prismatic((0.3, 0.5, 1)), sc.Inertia.sphere(0.4, 0.1), random_pose(3))
    return mb


@pytest.mark.parametrize("outboard", [None, random_pose(11)], ids=["at the centre", "off the centre"])
@pytest.mark.parametrize("seed", range(3))
def test_with_a_load_against_multipliers(seed, outboard):
    """The same bodies on a free hinge, held by v + w x l = 0 at the contact point, l = -r R* n:

    Mcal vdot + C = T + Q* lam,   Q vdot = w x (w x l)   with Q v = v + w x l
    """
    radius, n = 0.4, np.array([0.2, -0.3, 0.9]) / np.linalg.norm([0.2, -0.3, 0.9])
    rolling, free = loaded(sc.RollingBall(radius, n), outboard), loaded(sc.Free(), outboard)
    rng = np.random.default_rng(seed)
    q, v = rolling.random_state(rng)
    T = rng.standard_normal(rolling.nv)
    pose = rolling.body("ball").hinge.pose(q[:6])
    l = -radius * pose.rotation.T @ n
    w = v[:3]
    free.set_state(np.concatenate([q[:4], pose.translation, q[6:]]), np.concatenate([w, -np.cross(w, l), v[3:]]))
    rolling.set_state(q, v)
    np.testing.assert_allclose(rolling.velocity("slider"), free.velocity("slider"), atol=1e-12)
    Q = np.zeros((3, free.nv))
    Q[:, :3], Q[:, 3:6] = np.cross(np.eye(3), l).T, np.eye(3)  # column j is e_j x l
    ops = sc.operators(free)
    # the same power T.v on both models
    T_free = np.concatenate([T[:3], np.zeros(3), T[3:]])
    left = np.block([[mass_matrix(ops), -Q.T], [Q, np.zeros((3, 3))]])
    right = np.concatenate([T_free - bias_force(ops), np.cross(w, np.cross(w, l))])
    vdot = np.linalg.solve(left, right)[: free.nv]
    found = forward(sc.operators(rolling), T)
    np.testing.assert_allclose(found, np.delete(vdot, [3, 4, 5]), rtol=1e-10, atol=1e-10)
