"""The functions of `soacraft.dynamics` through a handle against Pinocchio and MuJoCo: quick calls, batches, out=."""

import numpy as np
import pinocchio as pin
import pytest
from tests.peers.agreement import TOLERANCE, distance
from tests.peers.kinds import KINDS, tree
from tests.peers.peers import PEERS

import soacraft as sc
from soacraft import _core
from soacraft.model.flat.compiled import CompiledModel

OTHERS = ("Pinocchio", "MuJoCo")
ONE_DOF = [kind for kind in KINDS if kind.split()[0] in ("pin", "prismatic", "helical", "screw")]
# Where the velocities are a constant multiple of Pinocchio's, so are the tangent spaces.
SAME_TANGENTS = [kind for kind in KINDS if kind not in ("planar", "rolling ball")]


def distances(mb, peer, forward="own", seed=0):
    """The distance of each function at the model's state, by name; `forward` as in `agreement.distances`."""
    rng = np.random.default_rng(seed)
    d, q, v = sc.Dynamics(mb), mb.q, mb.v
    force, vdot = 10.0 * rng.standard_normal(mb.nv), rng.standard_normal(mb.nv)
    M, C, T = peer.mass_matrix(), peer.bias(), peer.inverse(vdot)
    out, two = np.empty(mb.nv), np.stack([q, q])
    found = {
        "mass_matrix": distance(d.mass_matrix(q), M),
        "mass_matrix, a batch": distance(d.mass_matrix(two)[1], M),
        "mass_matrix_multiply": distance(d.mass_matrix_multiply(q, force), M @ force),
        "bias_force": distance(d.bias_force(q, v), C),
        "inverse_dynamics": distance(d.inverse_dynamics(q, v, vdot), T),
        "inverse_dynamics, out": distance(d.inverse_dynamics(q, v, vdot, out=out), T),
        "inverse_dynamics, a batch": distance(d.inverse_dynamics(two, v, vdot)[1], T),
    }
    # The inverse by what it leaves of 1, column by column, each against the sizes that were added up in it.
    inverse = d.mass_matrix_inverse(q)
    for how, X in {"": inverse, ", a batch": d.mass_matrix_inverse(two)[1]}.items():
        sizes = np.abs(M) @ np.abs(X)
        found[f"mass_matrix_inverse{how}"] = float(np.max(np.abs(M @ X - np.eye(mb.nv)) / sizes.max(axis=0)))
    answers = {
        "": d.forward_dynamics(q, v, force),
        ", a batch": d.forward_dynamics(two, v, force)[1],
        ", mass_matrix_solve": d.mass_matrix_solve(q, force - C),
    }
    for how, ours in answers.items():
        found[f"forward_dynamics{how}, in the peer's inverse"] = distance([*peer.inverse(ours), *C], [*force, *C])
    if forward == "own":
        theirs = peer.forward(force)
        found |= {f"forward_dynamics{how}": distance(ours, theirs) for how, ours in answers.items()}
        found["mass_matrix_inverse, times a force"] = distance(inverse @ (force - C), theirs)
    return found | node_distances(mb, peer, d, rng)


def node_distances(mb, peer, d, rng):
    """Jacobians of all nodes, by the first call and by the quick one that follows, and forces at the nodes."""
    nodes = [node for body in mb.bodies for node in body.nodes]
    jacobians = {node: peer.jacobian(node, "inertial") for node in nodes}
    own = {node: peer.jacobian(node, "body") for node in nodes}
    wrenches = {node: rng.standard_normal(6) for node in nodes}
    bias = peer.bias() - sum(own[node].T @ wrench for node, wrench in wrenches.items())
    two = np.stack([mb.q, mb.q])
    return {
        "jacobian": max(distance(d.jacobian(mb.q, node), J) for node, J in jacobians.items()),
        "jacobian, again": max(distance(d.jacobian(mb.q, node), J) for node, J in jacobians.items()),
        "jacobian, a batch": max(distance(d.jacobian(two, node)[1], J) for node, J in jacobians.items()),
        "jacobian, node axes": max(distance(d.jacobian(mb.q, x, expressed_in="node"), J) for x, J in own.items()),
        "jacobian, stacked": distance(d.jacobian(mb.q, nodes).reshape(-1, mb.nv), np.vstack(list(jacobians.values()))),
        "bias_force with node forces": distance(d.bias_force(mb.q, mb.v, f_ext=wrenches), bias),
    }


def assert_agree(mb, peer, forward="own"):
    assert CompiledModel.of(mb.layout) is not None
    assert isinstance(sc.Dynamics(mb).forward_dynamics, _core.Call)
    far = {name: x for name, x in distances(mb, peer, forward).items() if not x <= TOLERANCE}
    assert not far, f"{type(peer).__name__} on {mb!r}: {far}"


@pytest.mark.parametrize("peer", OTHERS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "bases"), [(1, 1), (7, 2)])
def test_each_hinge(kind, peer, n, bases):
    mb = tree([kind], n, seed=n, bases=bases)
    if mb.nv:
        assert_agree(mb, PEERS[peer](mb))


@pytest.mark.parametrize("peer", OTHERS)
@pytest.mark.parametrize("seed", range(12))
def test_trees_of_many_kinds(peer, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 41))
    kinds = [str(kind) for kind in rng.choice(list(KINDS), n)]
    mb = tree(kinds, n, seed, branching=(0.5, 0.8, 1.0)[seed % 3], bases=1 + seed % 4 % n)
    assert_agree(mb, PEERS[peer](mb))


@pytest.mark.parametrize("peer", OTHERS)
@pytest.mark.parametrize(("seed", "bases"), [(1, 1), (2, 4)])
def test_forty_bodies_of_every_kind(peer, seed, bases):
    mb = tree(KINDS, 40, seed, bases=bases)
    assert_agree(mb, PEERS[peer](mb))


@pytest.mark.parametrize("peer", OTHERS)
def test_a_chain_of_forty_one_dof_hinges(peer):
    mb = tree(ONE_DOF, 40, seed=3, branching=0.0)
    assert_agree(mb, PEERS[peer](mb))


@pytest.mark.parametrize("peer", OTHERS)
@pytest.mark.parametrize(("kinds", "seed"), [(list(KINDS), 4), (["spherical"], 5)], ids=["every kind", "ball joints"])
def test_chains_of_forty_hinges(peer, kinds, seed):
    """Pinocchio's articulated-body algorithm loses digits there: see `test_mixed_trees`."""
    mb = tree(kinds, 40, seed, branching=0.0)
    assert_agree(mb, PEERS[peer](mb), forward="inverse" if peer == "Pinocchio" else "own")


# -- derivatives -------------------------------------------------------------------------------------------------------


def derivative_distances(mb, seed=0):
    """Against Pinocchio's, of a tree whose products of turns and slides are chains: it has N constant in q, n = 0."""
    rng = np.random.default_rng(seed)
    d, peer = sc.Dynamics(mb), PEERS["Pinocchio, chains"](mb)
    model, data, N, N_inv = peer.model, peer.data, peer.N, peer.N_inv
    vdot, force = rng.standard_normal(mb.nv), 10.0 * rng.standard_normal(mb.nv)
    shape = (mb.nv, mb.nv)
    pin.computeRNEADerivatives(model, data, peer.q, peer.w, N @ vdot)
    inverse = [N.T @ x.reshape(shape) @ N for x in (data.dtau_dq, data.dtau_dv)]
    pin.computeABADerivatives(model, data, peer.q, peer.w, N_inv.T @ force)
    forward = [N_inv @ x.reshape(shape) @ N for x in (data.ddq_dq, data.ddq_dv)]
    two = np.stack([mb.q, mb.q])
    found = {}
    for how, q, one in (("", mb.q, ...), (", a batch", two, 1)):
        ours = [x[one] for x in d.inverse_dynamics_derivatives(q, mb.v, vdot)]
        found |= {f"d inverse{how}, {i}": distance(x, y) for i, (x, y) in enumerate(zip(ours, inverse, strict=False))}
        found[f"d inverse, dvdot{how}"] = distance(ours[2], peer.mass_matrix())
        ours = [x[one] for x in d.forward_dynamics_derivatives(q, mb.v, force)]
        found |= {f"d forward{how}, {i}": distance(x, y) for i, (x, y) in enumerate(zip(ours, forward, strict=False))}
    return found


@pytest.mark.parametrize("kind", SAME_TANGENTS)
def test_derivatives_of_each_hinge(kind):
    mb = tree([kind], 6, seed=3, bases=2)
    far = {name: x for name, x in derivative_distances(mb).items() if not x <= TOLERANCE}
    assert not far


@pytest.mark.parametrize("seed", range(6))
def test_derivatives_of_trees(seed):
    mb = tree(SAME_TANGENTS, (12, 25, 40)[seed % 3], seed, branching=0.8, bases=1 + seed % 3)
    far = {name: x for name, x in derivative_distances(mb).items() if not x <= TOLERANCE}
    assert not far
