"""Against Pinocchio: Coriolis matrices by what they obey, regressors entry by entry, rates of Jacobians."""

import numpy as np
import pinocchio as pin
import pytest
from tests.dynamics.calls import GRAVITY, close
from tests.peers.to_pinocchio import SWAP, InPinocchio

import soacraft as sc
from soacraft import analysis

HINGES = [sc.Free(), sc.Pin((1, 2, 3)), sc.Spherical(), sc.Prismatic((0, 1, 2)), sc.Pin((0, 1, 0))]
# Pinocchio's order: m, mc, J_xx, J_xy, J_yy, J_xz, J_yz, J_zz, of each joint, about its frame
ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


def at_their_hinges(mb):
    """The same model with every body frame at its hinge, as Pinocchio has them."""
    other = sc.Multibody(mb.name, mb.gravity)
    for body in mb.bodies:
        parent = None if body.parent is mb.root else body.parent.name
        other.add_body(body.name, parent, body.hinge, body.inertia, body.inboard)
    other.set_state(mb.q, mb.v, mb.vdot)
    return other


@pytest.mark.parametrize("seed", [1, 4])
def test_the_coriolis_matrix(seed):
    mb = sc.random_tree(9, seed, HINGES, gravity=GRAVITY)
    peer = InPinocchio(mb)
    assert not peer.n.any()  # w = N v with a constant N
    theirs = peer.N.T @ pin.computeCoriolisMatrix(peer.model, peer.data, peer.q, peer.w) @ peer.N
    ours = analysis.coriolis_matrix(mb, mb.q, mb.v)
    close(ours @ mb.v, theirs @ mb.v)
    close(ours + ours.T, theirs + theirs.T)  # both are d/dt Mcal


@pytest.mark.parametrize("seed", [1, 4])
def test_the_regressor(seed):
    mb = at_their_hinges(sc.random_tree(9, seed, HINGES, gravity=GRAVITY))
    peer = InPinocchio(mb)
    Y = pin.computeJointTorqueRegressor(peer.model, peer.data, peer.q, peer.w, peer.N @ mb.vdot)
    ours = analysis.parameter_regressor(mb, mb.q, mb.v, mb.vdot).matrix
    for k, body in enumerate(mb.bodies):
        joint = peer._carriers[body][0] - 1
        theirs = peer.N.T @ Y[:, 10 * joint : 10 * joint + 10]
        close(ours[:, 10 * k : 10 * k + 10][:, ORDER], theirs)
    pi = np.concatenate([peer.model.inertias[peer._carriers[body][0]].toDynamicParameters() for body in mb.bodies])
    close(analysis.parameters(mb).reshape(-1, 10)[:, ORDER].ravel(), pi, 1e-13)


def test_the_rate_of_a_jacobian():
    mb = sc.random_tree(9, 2, HINGES, gravity=GRAVITY)
    peer = InPinocchio(mb)
    pin.computeJointJacobiansTimeVariation(peer.model, peer.data, peer.q, peer.w)
    pin.updateFramePlacements(peer.model, peer.data)
    for node in (node for body in mb.bodies for node in body.nodes):
        frame = peer.model.getFrameId(node.full_name)
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        theirs = SWAP @ pin.getFrameJacobianTimeVariation(peer.model, peer.data, frame, axes) @ peer.N
        close(analysis.jacobian_gradient(mb, mb.q, node) @ mb.v, theirs)
