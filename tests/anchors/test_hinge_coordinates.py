"""What the numbers of a hinge mean: the order of a quaternion, the axes of a free hinge's velocity, Hdot."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation
from tests.anchors.reference import AXES, motion, rate, second_rate
from tests.strategies import EVERY_HINGE

import soacraft as sc
from soacraft.model import random_pose, random_tree

HALF = np.sqrt(0.5)


def one(hinge, **poses):
    mb = sc.Multibody("one")
    mb.add_body("body", None, hinge, sc.Inertia.sphere(1.0, 0.2), **poses)
    return mb


@pytest.mark.parametrize("hinge", [sc.Spherical(), sc.Free(), sc.RollingBall(0.3)], ids=lambda h: type(h).__name__)
def test_quaternion_order(hinge):
    """[x, y, z, w]: a quarter turn about z takes x to y; scipy, scalar last as well, agrees on any other."""
    mb = one(hinge)
    rest = list(hinge.neutral()[4:])
    mb.q = [0, 0, HALF, HALF, *rest]
    np.testing.assert_allclose(mb.pose("body").rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    turn = Rotation.from_rotvec([0.4, -1.1, 0.7])
    mb.q = [*turn.as_quat(), *rest]
    np.testing.assert_allclose(mb.pose("body").rotation, turn.as_matrix(), atol=1e-15)


@pytest.mark.parametrize("hinge", [sc.Spherical(), sc.Free(), sc.RollingBall(0.3)], ids=lambda h: type(h).__name__)
def test_angular_velocity_is_in_outboard_axes(hinge):
    """Turned by a quarter about z, a velocity about the body's x is one about y."""
    mb = one(hinge)
    mb.set_state([0, 0, HALF, HALF, *hinge.neutral()[4:]], [2.0, *np.zeros(hinge.nv - 1)])
    np.testing.assert_allclose(mb.velocity("body").angular, [0, 2, 0], atol=1e-15)
    turn = 0.1 * np.array([0.5, -0.3, 0.8])
    moved = mb.integrate(mb.q, [*turn, *np.zeros(hinge.nv - 3)])
    expected = Rotation.from_quat(mb.q[:4]) * Rotation.from_rotvec(turn)
    np.testing.assert_allclose(mb.pose("body", state=mb.state(moved)).rotation, expected.as_matrix(), atol=1e-15)


def test_linear_velocity_of_a_free_hinge_is_in_outboard_axes():
    """Turned by a quarter about z, a velocity along the body's x is one along y."""
    mb = one(sc.Free())
    mb.set_state([0, 0, HALF, HALF, 1, 2, 3], [0, 0, 0, 5, 0, 0])
    np.testing.assert_allclose(mb.velocity("body"), [0, 0, 0, 0, 5, 0], atol=1e-14)
    np.testing.assert_allclose(mb.qdot(), [0, 0, 0, 0, 0, 5, 0], atol=1e-14)
    moved = mb.pose("body", state=mb.state(mb.integrate(mb.q, 0.1 * mb.v)))
    np.testing.assert_allclose(moved.translation, [1, 2.5, 3], atol=1e-14)


def test_position_of_a_free_hinge_is_in_inboard_axes():
    inboard = sc.Pose.from_rpy(0, 0, np.pi / 2, translation=(10, 0, 0))
    mb = one(sc.Free(), inboard=inboard)
    mb.q = [*Rotation.from_rotvec([0.4, -1.1, 0.7]).as_quat(), 1, 2, 3]
    np.testing.assert_allclose(mb.pose("body").translation, [8, 1, 3], atol=1e-14)


def about(axis, angle):
    axis = np.array(axis, dtype=float)
    return Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()


X, Y, Z, A, B = np.eye(3)[0], np.eye(3)[1], np.eye(3)[2], np.array([2.0, -1.0, 2.0]), np.array([0.0, 3.0, 4.0])
CLOSED_FORMS = [
    (sc.Pin(A), [0.7], about(A, 0.7), [0, 0, 0]),
    (sc.Prismatic(A), [0.7], np.eye(3), 0.7 * A / 3),
    (sc.Helical(A, pitch=0.2), [0.7], about(A, 0.7), 0.14 * A / 3),
    (sc.Cylindrical(A), [0.7, -0.4], about(A, 0.7), -0.4 * A / 3),
    (sc.Universal(A, B), [0.7, -0.4], about(A, 0.7) @ about(B, -0.4), [0, 0, 0]),
    (sc.Gimbal(), [0.7, -0.4, 1.9], about(X, 0.7) @ about(Y, -0.4) @ about(Z, 1.9), [0, 0, 0]),
    (sc.Gimbal([Z, A, B]), [0.7, -0.4, 1.9], about(Z, 0.7) @ about(A, -0.4) @ about(B, 1.9), [0, 0, 0]),
    (sc.Planar(), [0.7, -0.4, 1.9], about(Z, 1.9), [0.7, -0.4, 0]),
    (sc.Screws([[*(A / 3), 0, 0, 0], sc.Prismatic(B)]), [0.7, -0.4], about(A, 0.7), about(A, 0.7) @ (-0.4 * B / 5)),
    (sc.RollingBall(0.3), [0, 0, 0, 1, 0.7, -0.4], np.eye(3), [0.7, -0.4, 0.3]),
]


@pytest.mark.parametrize(("hinge", "q", "R", "p"), CLOSED_FORMS, ids=[type(case[0]).__name__ for case in CLOSED_FORMS])
def test_pose_in_closed_form(hinge, q, R, p):
    """Axes are made unit; turns and slides follow each other outward in the order of the coordinates."""
    mb = one(hinge)
    mb.q = q
    np.testing.assert_allclose(mb.pose("body").rotation, R, atol=1e-15)
    np.testing.assert_allclose(mb.pose("body").translation, p, atol=1e-15)


@pytest.mark.parametrize("hinge", EVERY_HINGE, ids=lambda hinge: type(hinge).__name__)
def test_inboard_hinge_outboard(hinge):
    """The chain of frames: parent, inboard pose, hinge, outboard pose, body."""
    inboard, outboard = random_pose(1), random_pose(2)
    mb = one(hinge, inboard=inboard, outboard=outboard)
    q, _ = mb.random_state(3)
    mb.q = q
    expected = inboard.as_matrix() @ hinge.pose(q).as_matrix() @ outboard.as_matrix()
    np.testing.assert_allclose(mb.pose("body").as_matrix(), expected, atol=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_a_free_hinge_moves_along_the_matrix_exponential(seed):
    """T(q + dv) = T(q) expm([w~ v; 0 0]), of the outboard frame in the inboard frame."""
    rng = np.random.default_rng(seed)
    mb = one(sc.Free())
    q, dv = mb.random_state(rng)
    (x, y, z), v = dv[:3], dv[3:]
    twist = np.zeros((4, 4))
    twist[:3, :3], twist[:3, 3] = [[0, -z, y], [z, 0, -x], [-y, x, 0]], v
    before, after = (mb.pose("body", state=mb.state(x)).as_matrix() for x in (q, mb.integrate(q, dv)))
    np.testing.assert_allclose(after, before @ expm(twist), atol=1e-14)


@pytest.mark.parametrize("hinge", EVERY_HINGE, ids=lambda hinge: type(hinge).__name__)
def test_Hdot(hinge):
    """a(k) on a base body, in body axes, is Hdot* v + crm(V) V: the rate of H* v itself, since V = H* v."""
    mb = one(hinge, inboard=random_pose(1), outboard=random_pose(2))
    rng = np.random.default_rng(3)
    q, v = mb.random_state(rng)
    mb.set_state(q, v)
    states = motion(mb, np.zeros(mb.nv))
    H_T_v = np.asarray(sc.operators(states).Delta_V)
    np.testing.assert_allclose(sc.operators(mb).a["body"], rate(H_T_v), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("seed", range(3))
def test_alpha_is_the_rate_of_V(seed, axes):
    """alpha = phi* (H* vdot + a) is the rate of the components of V in each representation."""
    mb = random_tree(14, seed=seed, bases=2)
    states = motion(mb)
    V = np.asarray(sc.operators(states, axes=axes).V)
    np.testing.assert_allclose(sc.operators(mb, axes=axes).alpha, rate(V), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_acceleration_of_a_node(seed):
    """d^2 p/dt^2 of the node's origin, and from alpha: B* alpha + [0; w x v] in node axes."""
    mb = random_tree(13, seed=seed)
    name = "body11/tip"
    states = motion(mb)
    pose, velocity = mb.pose(name, state=states), mb.velocity(name, state=states)
    found = mb.acceleration(name)
    np.testing.assert_allclose(found.linear, second_rate(pose.translation), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found.angular, rate(velocity.angular), rtol=1e-7, atol=1e-7)
    ops, R = sc.operators(mb), mb.pose(name).rotation
    B = ops.B(name)
    node, V = np.asarray(B.T * ops.alpha), np.asarray(B.T * ops.V)
    np.testing.assert_allclose(R @ node[:3], found.angular, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(R @ (node[3:] + np.cross(V[:3], V[3:])), found.linear, rtol=1e-11, atol=1e-11)
