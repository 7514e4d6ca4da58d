"""The functions against Pinocchio on trees of every hinge, chains and a free-floating model."""

import numpy as np
import pinocchio as pin
import pytest
from tests.dynamics.calls import GRAVITY, close, nodes_of, tree
from tests.peers.to_pinocchio import SWAP, InPinocchio

import soacraft as sc
from soacraft import dynamics as dyn

WORLD = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


def floating():
    hinges = [sc.Free(), sc.Pin((0, 0, 1)), sc.Spherical(), sc.Prismatic((0, 1, 0)), sc.Universal((1, 0, 0), (0, 1, 0))]
    return sc.random_tree(12, 5, hinges, gravity=GRAVITY)


MODELS = {
    "every hinge": lambda: tree(1, n=20),
    "chain": lambda: tree(2, n=13, branching=0.0, bases=1),
    "floating": floating,
    "arm": lambda: sc.load("arm7"),
    "biped": lambda: sc.load("biped"),
}


@pytest.fixture(params=MODELS, scope="module")
def pair(request):
    mb = MODELS[request.param]()
    rng = np.random.default_rng(1)
    mb.set_state(*mb.random_state(rng), rng.standard_normal(mb.nv))
    return mb, InPinocchio(mb)


def test_dynamics(pair):
    mb, peer = pair
    force = 10 * np.random.default_rng(2).standard_normal(mb.nv)
    close(dyn.mass_matrix(mb, mb.q), peer.mass_matrix())
    close(dyn.mass_matrix_inverse(mb, mb.q), np.linalg.inv(peer.mass_matrix()))
    close(dyn.bias_force(mb, mb.q, mb.v), peer.bias())
    close(dyn.inverse_dynamics(mb, mb.q, mb.v, mb.vdot), peer.inverse(mb.vdot))
    close(dyn.forward_dynamics(mb, mb.q, mb.v, force), peer.forward(force))
    own = pin.computeGeneralizedGravity(peer.model, peer.data, peer.q)
    close(dyn.gravity_force(mb, mb.q), peer.N.T @ own)


def test_nodes(pair):
    mb, peer = pair
    for name in nodes_of(mb, 5):
        close(dyn.jacobian(mb, mb.q, name), peer.jacobian(mb[name], "inertial"))
        close(dyn.jacobian(mb, mb.q, name, "node"), peer.jacobian(mb[name], "body"))
    pin.forwardKinematics(peer.model, peer.data, peer.q, peer.w, peer.N @ mb.vdot + peer.n)
    pin.updateFramePlacements(peer.model, peer.data)
    poses, V = dyn.poses(mb, mb.q), dyn.velocities(mb, mb.q, mb.v)
    A = dyn.accelerations(mb, mb.q, mb.v, mb.vdot)
    for name in nodes_of(mb, 50):
        frame = peer.model.getFrameId(name)
        close(poses[name].as_matrix(), peer.data.oMf[frame].homogeneous)
        close(V[name], SWAP @ pin.getFrameVelocity(peer.model, peer.data, frame, WORLD).vector)
        close(A[name], SWAP @ pin.getFrameClassicalAcceleration(peer.model, peer.data, frame, WORLD).vector)


def test_the_whole(pair):
    mb, peer = pair
    model, data, q, w = peer.model, peer.data, peer.q, peer.w
    close(dyn.center_of_mass(mb, mb.q), pin.centerOfMass(model, data, q))
    close(dyn.kinetic_energy(mb, mb.q, mb.v), pin.computeKineticEnergy(model, data, q, w))
    close(dyn.potential_energy(mb, mb.q), pin.computePotentialEnergy(model, data, q))
    A = pin.computeCentroidalMap(model, data, q).reshape(6, -1)
    close(dyn.centroidal_momentum_matrix(mb, mb.q), SWAP @ A @ peer.N)


def test_operational_space(pair):
    mb, peer = pair
    nodes = nodes_of(mb, 3)
    J = np.vstack([peer.jacobian(mb[name], "inertial") for name in nodes])
    compliance = J @ np.linalg.solve(peer.mass_matrix(), J.T)
    close(dyn.operational_space_compliance(mb, mb.q, nodes), compliance)
