"""How far soacraft's operator expressions are from a peer, for all that is compared."""

import numpy as np
from tests.peers import expressions

import soacraft as sc

TOLERANCE = 1e-10
AXES = ("body", "inertial", "origin")


def distance(ours, theirs):
    """The largest difference relative to the size of the result; where that is nothing, the difference itself."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    if not theirs.size:
        return 0.0
    return float(np.abs(ours - theirs).max() / (np.abs(theirs).max() or 1.0))


def distances(mb, peer, axes="body", forward="own", seed=0):
    """The distance of each quantity at the model's state, by name; a random force and random node forces act.

    `forward="own"` compares accelerations with the peer's forward dynamics. Always they are also put into the peer's
    inverse dynamics, which must give back the force; the size there is that of the larger of force and bias.
    """
    rng = np.random.default_rng(seed)
    s = sc.operators(mb, axes=axes)
    force = 10.0 * rng.standard_normal(mb.nv)
    M, C, T = peer.mass_matrix(), peer.bias(), peer.inverse(mb.vdot)
    answers = {
        "Eq. 31": expressions.forward(s, force),
        "inverse mass matrix": expressions.forward_by_inverse(s, force),
        "ops.vdot": sc.operators(mb, axes=axes, force=force).vdot,
    }
    found = {
        "mass matrix": distance(expressions.mass_matrix(s).array(), M),
        "mass matrix * vector": distance(expressions.mass_matrix(s) * force, M @ force),
        "bias force": distance(expressions.bias(s), C),
        "bias force, ops.C": distance(s.C, C),
        "inverse dynamics": distance(expressions.inverse(s, mb.vdot), T),
        "inverse dynamics, ops.T": distance(s.T, T),
    }
    for how, vdot in answers.items():
        back = peer.inverse(np.asarray(vdot))
        found[f"forward dynamics, {how}, in the peer's inverse"] = distance([*back, *C], [*force, *C])
    if forward == "own":
        theirs = peer.forward(force)
        found |= {f"forward dynamics, {how}": distance(vdot, theirs) for how, vdot in answers.items()}
    return found | node_distances(mb, peer, axes, rng)


def node_distances(mb, peer, axes, rng):
    """Jacobians of all nodes, one by one and stacked, and the bias force with a force at every node."""
    nodes = [node for body in mb.bodies for node in body.nodes]
    s = sc.operators(mb, axes=axes)
    wrenches = {node: rng.standard_normal(6) for node in nodes}  # in node axes
    theirs = {node: peer.jacobian(node, axes) for node in nodes}
    bias = peer.bias() - sum(peer.jacobian(node, "body").T @ wrench for node, wrench in wrenches.items())
    ours = {node: expressions.jacobian(s, node).array() for node in nodes}
    return {
        "node Jacobian": float(np.max([distance(ours[node], theirs[node]) for node in nodes])),
        "stacked Jacobian": distance(expressions.jacobian(s, nodes).array(), np.vstack(list(theirs.values()))),
        "bias with node forces": distance(expressions.bias(sc.operators(mb, axes=axes, f_ext=wrenches)), bias),
    }


def assert_agree(mb, peer, axes="body", forward="own"):
    """Every quantity within the tolerance."""
    far = {name: d for name, d in distances(mb, peer, axes, forward).items() if not d <= TOLERANCE}
    assert not far, f"{type(peer).__name__} on {mb!r} in {axes} axes: {far}"
