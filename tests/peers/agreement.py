"""How far soacraft's operator expressions are from a peer, for all that is compared."""

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Ours:
    """Our numbers at the state of a model, by name, with a random force and random node forces (in node axes)."""

    axes: str
    force: np.ndarray
    vdot: np.ndarray
    wrenches: dict
    answers: dict
    numbers: dict
    jacobians: dict

    @classmethod
    def of(cls, mb, axes="body", seed=0):
        """Computed once, to be compared with any peer."""
        rng = np.random.default_rng(seed)
        s = sc.operators(mb, axes=axes)
        force = 10.0 * rng.standard_normal(mb.nv)
        nodes = [node for body in mb.bodies for node in body.nodes]
        wrenches = {node: rng.standard_normal(6) for node in nodes}
        answers = {
            "Eq. 31": expressions.forward(s, force),
            "inverse mass matrix": expressions.forward_by_inverse(s, force),
            "ops.vdot": sc.operators(mb, axes=axes, force=force).vdot,
        }
        numbers = {
            "mass matrix": expressions.mass_matrix(s).array(),
            "mass matrix * vector": expressions.mass_matrix(s) * force,
            "bias force": expressions.bias(s),
            "bias force, ops.C": s.C,
            "inverse dynamics": expressions.inverse(s, mb.vdot),
            "inverse dynamics, ops.T": s.T,
            "stacked Jacobian": expressions.jacobian(s, nodes).array(),
            "bias with node forces": expressions.bias(sc.operators(mb, axes=axes, f_ext=wrenches)),
        }
        jacobians = {node: expressions.jacobian(s, node).array() for node in nodes}
        return cls(axes, force, mb.vdot, wrenches, answers, numbers, jacobians)


def distances(ours, peer, forward="own"):
    """The distance of each quantity, by name.

    `forward="own"` compares accelerations with the peer's forward dynamics. Always they are also put into the peer's
    inverse dynamics, which must give back the force; the size there is that of the larger of force and bias.
    """
    force, M, C, T = ours.force, peer.mass_matrix(), peer.bias(), peer.inverse(ours.vdot)
    jacobians = {node: peer.jacobian(node, ours.axes) for node in ours.jacobians}
    theirs = {
        "mass matrix": M,
        "mass matrix * vector": M @ force,
        "bias force": C,
        "bias force, ops.C": C,
        "inverse dynamics": T,
        "inverse dynamics, ops.T": T,
        "stacked Jacobian": np.vstack(list(jacobians.values())),
        "bias with node forces": C - sum(peer.jacobian(node, "body").T @ x for node, x in ours.wrenches.items()),
    }
    found = {name: distance(x, theirs[name]) for name, x in ours.numbers.items()}
    found["node Jacobian"] = float(np.max([distance(J, jacobians[node]) for node, J in ours.jacobians.items()]))
    for how, vdot in ours.answers.items():
        back = peer.inverse(np.asarray(vdot))
        found[f"forward dynamics, {how}, in the peer's inverse"] = distance([*back, *C], [*force, *C])
    if forward == "own":
        own = peer.forward(force)
        found |= {f"forward dynamics, {how}": distance(vdot, own) for how, vdot in ours.answers.items()}
    return found


def assert_agree(mb, peer, axes="body", forward="own", ours=None):
    """Every quantity within the tolerance; `ours` where our numbers are known from another peer."""
    far = {name: d for name, d in distances(ours or Ours.of(mb, axes), peer, forward).items() if not d <= TOLERANCE}
    assert not far, f"{type(peer).__name__} on {mb!r} in {axes} axes: {far}"
