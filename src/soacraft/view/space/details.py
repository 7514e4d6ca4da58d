"""Numbers of every body over a motion: velocity, and inertia, alone and with the bodies outboard of it, as ellipsoids.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soacraft import dynamics as dyn
from soacraft.errors import SoacraftError
from soacraft.model.states.state import State
from soacraft.model.tree.graph import Graph
from soacraft.recursions._backend import articulated_body
from soacraft.spatial.checks import Array
from soacraft.view.space.ellipsoid import inertia_shape, rigid_shape


@dataclass(frozen=True, eq=False)
class Details:
    """Details at states (m) of n bodies: velocities (m, n, 6), [angular; linear] of the origins in inertial axes; and
    the ellipsoids (n, 9) of M and (m, n, 9) of R and P, in body axes. `refused` is the reason why there is no P.
    """

    velocity: Array
    own: Array
    composite: Array
    articulated: Array
    refused: str = ""


def details_of(graph: Graph, state: State) -> Details:
    """The details at states with one leading axis. R and P are those of the tree: closures are left out. O(m n)."""
    count, n = len(np.asarray(state.q)), len(graph)
    R = np.asarray(dyn.composite_inertia(graph, state.q, ignore_loops=True))
    refused, P = "", np.zeros((count, n, 6, 6))
    try:
        blocks = articulated_body(graph.sko(state)).P
        for k in range(n):  # what is below six belongs to rotors
            P[:, k] = blocks[k][..., :6, :6]
    except SoacraftError as problem:
        refused = str(problem)
    shapes = np.array([rigid_shape(body.inertia) for body in graph.bodies]).reshape(n, 9)
    return Details(velocities(state), shapes, inertia_shape(R), inertia_shape(P), refused)


def velocities(state: State) -> Array:
    """[angular; linear] of the origins of all bodies, in inertial axes, (m, n, 6)."""
    R = state.configuration.world[0]
    V = np.asarray(state.motion.V)
    return np.concatenate([np.einsum("...ij,...j->...i", R, V[..., part]) for part in (slice(3), slice(3, 6))], axis=-1)
