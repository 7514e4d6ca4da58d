"""Length and time of a model, and random states scaled to it: tests of numbers with a unit do not depend on the units.

A molecule, a watch and a moon get the same answer when numbers with a unit are compared with numbers of that unit from
the model itself. Travels of a metre, or turns of a radian in a second, are nothing to one model and everything to
another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soacraft.arguments import Seed
from soacraft.model.hinges.base import H_T_of
from soacraft.model.sizes.lengths import length_of
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.kept import Kept
from soacraft.spatial.checks import Array

#: Bending of a flexible body in a random state, in lengths of it and in radians: its modes hold there.
BENT = 0.02


class Scale(NamedTuple):
    """A length in metres and a time in seconds."""

    length: float
    time: float

    def of(self, letters: str) -> Array:
        """The size of coordinates with the units of a word: a length for m, one for others.

        >>> Scale(length=0.5, time=2.0).of("rm")
        array([1. , 0.5])
        """
        return np.where(np.array(list(letters), dtype="<U1") == "m", self.length, 1.0)


def scale_of(graph: Graph) -> Scale:
    """The scale of a model. O(n), kept until the model changes.

    The length is that of `length_of`, or the travel of a hinge per radian where that is more; a metre for a model that
    has neither. The time is sqrt(length / gravity), in which what falls has fallen so far; a second without gravity.

    >>> from soacraft.model import serial_chain
    >>> scale_of(serial_chain(3)).length                              # rods of 1 m
    3.0
    """
    return _KEPT(graph)


def _scale_of(graph: Graph) -> Scale:
    lengths = [length_of(graph)]
    for group in graph.layout.groups:
        H = H_T_of(group.hinge, np.asarray(group.hinge.neutral(), dtype=np.float64))
        turn, travel = np.linalg.norm(H[:3], axis=0), np.linalg.norm(H[3:], axis=0)
        lengths += (travel[turn > 0.0] / turn[turn > 0.0]).tolist()
    length, gravity = max(lengths) or 1.0, float(np.linalg.norm(graph.gravity))
    return Scale(length, float(np.sqrt(length / gravity)) if gravity > 0.0 else 1.0)


def scaled_random_state(graph: Graph, seed: Seed = 0) -> tuple[Array, Array, Array]:
    """A random (q, v, vdot) as of `random_state`, with travels of the model's length, small bending of flexible bodies,
    and rates of its time.

    >>> from soacraft.model import serial_chain
    >>> q, v, vdot = scaled_random_state(serial_chain(2))
    >>> q.shape, v.shape, vdot.shape
    ((2,), (2,), (2,))
    """
    rng, scale = np.random.default_rng(seed), scale_of(graph)
    q = np.zeros(graph.nq)
    for body, where in zip(graph.bodies, graph.layout.hinge_q, strict=True):
        q[where] = body.hinge.random_of(rng, scale.length)
    own = graph.layout.own
    q[own.q] = rng.standard_normal(own.q.size) * _modal_sizes(graph)
    rate = scale.of("".join(graph.layout.units.hinge)) / scale.time
    rate[own.v] = _modal_sizes(graph) / scale.time
    return q, rng.standard_normal(graph.nv) * rate, rng.standard_normal(graph.nv) * rate / scale.time


def _modal_sizes(graph: Graph) -> Array:
    """Modal coordinates that bend a body by a small part of its length and turn its nodes by small angles, in the order
    of the graph's own ones."""
    made = [np.zeros(0)]
    for body in graph.layout.bodies:
        data = body.modal
        if data is not None and data.n:
            bends = np.sqrt(np.diagonal(data.M) / data.mass) / data.length  # of unit modes
            turns = [np.linalg.norm(x.lam, axis=0) for x in (*data.nodes.values(), *data.fe_nodes.values())]
            made.append(BENT / np.max([bends, *turns], axis=0) / np.sqrt(data.n))
    return np.concatenate(made)


_KEPT = Kept(_scale_of)
