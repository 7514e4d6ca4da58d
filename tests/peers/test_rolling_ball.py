"""The rolling ball, which no peer has: a free body in a peer, held by Lagrange multipliers at the contact."""

import numpy as np
import pytest
from tests.peers import expressions
from tests.peers.agreement import TOLERANCE, distance
from tests.peers.elements import as_free, contact_lever
from tests.peers.kinds import GRAVITY, tree
from tests.peers.to_mujoco import InMujoco
from tests.peers.to_pinocchio import InPinocchio

import soacraft as sc

PEERS = {"Pinocchio": InPinocchio, "MuJoCo": InMujoco}


def set_free(mb):
    """The same model with every rolling ball on a free hinge, in the same motion; where the balls' dofs are."""
    freed = sc.Multibody(f"{mb.name}, set free", mb.gravity)
    q, v = [], []
    for body in mb.bodies:
        rolls = isinstance(body.hinge, sc.RollingBall)
        own_q, own_v = mb.q[body.q_slice], mb.v[body.v_slice]
        parent = None if body.parent is mb.root else body.parent.name
        hinge = sc.Free() if rolls else body.hinge
        freed.add_body(body.name, parent, hinge, body.inertia, body.inboard, body.outboard)
        q.append(as_free(body.hinge, own_q) if rolls else own_q)
        # the centre moves so that the contact point rests: v = -omega x l
        v.append([*own_v, *-np.cross(own_v, contact_lever(body.hinge, own_q))] if rolls else own_v)
    freed.set_state(np.concatenate(q), np.concatenate(v))
    return freed


def contacts(mb, freed):
    """A and c of A wdot = c for all balls: vdot + omegadot x l = omega x (omega x l) in ball axes."""
    balls = [body for body in mb.bodies if isinstance(body.hinge, sc.RollingBall)]
    A, c = np.zeros((3 * len(balls), freed.nv)), np.zeros(3 * len(balls))
    for i, ball in enumerate(balls):
        omega, l = mb.v[ball.v_slice], contact_lever(ball.hinge, mb.q[ball.q_slice])
        columns, rows = freed[ball.name].v_slice, slice(3 * i, 3 * i + 3)
        A[rows, columns] = np.hstack([np.cross(np.eye(3), l).T, np.eye(3)])
        c[rows] = np.cross(omega, np.cross(omega, l))
    return A, c


def kept(mb, freed):
    """The dofs of the free model that are the rolling model's: angular velocities of the balls, all of the others."""
    return np.concatenate([np.arange(freed.nv)[freed[b.name].v_slice][: b.hinge.nv] for b in mb.bodies])


@pytest.fixture(params=["one ball", "balls in a tree"])
def model(request):
    if request.param == "one ball":
        return tree(["rolling ball"], 1, seed=5)
    return tree(["rolling ball", "pin", "rolling ball", "spherical", "planar", "free"], 12, seed=6, bases=2)


@pytest.fixture(params=PEERS)
def held(request, model):
    """M, C of the free model in a peer, the conditions A wdot = c and the dofs kept."""
    freed = set_free(model)
    peer = PEERS[request.param](freed)
    return peer.mass_matrix(), peer.bias(), *contacts(model, freed), kept(model, freed)


def test_mass_matrix_is_that_of_the_motions_the_contact_allows(model, held):
    M, _, A, _, dofs = held
    others = np.setdiff1d(np.arange(len(M)), dofs)
    N = np.zeros((len(M), len(dofs)))
    N[dofs] = np.eye(len(dofs))
    N[others] = -np.linalg.solve(A[:, others], A[:, dofs])
    assert distance(expressions.mass_matrix(sc.operators(model)).array(), N.T @ M @ N) <= TOLERANCE


@pytest.mark.parametrize("axes", ["body", "inertial", "origin"])
def test_forward_dynamics_with_lagrange_multipliers(model, held, axes):
    """[M A*; A 0] [wdot; lambda] = [T - C; c], with torques on the balls and no force at their centres."""
    M, C, A, c, dofs = held
    T = 10.0 * np.random.default_rng(7).standard_normal(model.nv)
    F = np.zeros(len(M))
    F[dofs] = T
    zero = np.zeros((len(A), len(A)))
    wdot = np.linalg.solve(np.block([[M, A.T], [A, zero]]), np.concatenate([F - C, c]))[: len(M)]
    s = sc.operators(model, axes=axes)
    assert distance(expressions.forward(s, T), wdot[dofs]) <= TOLERANCE
    assert distance(expressions.forward_by_inverse(s, T), wdot[dofs]) <= TOLERANCE
    assert distance(sc.operators(model, axes=axes, force=T).vdot, wdot[dofs]) <= TOLERANCE


@pytest.mark.parametrize("peer", PEERS)
def test_the_contact_point_rests(peer):
    """By the peer's Jacobian of a node at the contact point of the ball; and so it does by ours."""
    mb = sc.Multibody("ball", GRAVITY)
    hinge, inertia = sc.RollingBall(0.4, (1, 2, 3)), sc.Inertia.sphere(2.0, 0.4)
    ball = mb.add_body("ball", None, hinge, inertia, inboard=sc.Pose.from_rpy(1, 2, 3))
    mb.set_state(*mb.random_state(seed=8))
    contact = contact_lever(ball.hinge, mb.q)
    freed = set_free(mb)
    theirs = freed["ball"].add_node("contact", sc.Pose(translation=contact))
    ours = ball.add_node("contact", sc.Pose(translation=contact))
    velocity = PEERS[peer](freed).jacobian(theirs, "body") @ freed.v
    assert np.abs(velocity[3:]).max() <= 1e-14 * np.abs(velocity[:3]).max()
    assert distance(expressions.jacobian(sc.operators(mb), ours) * mb.v, velocity) <= 1e-14
