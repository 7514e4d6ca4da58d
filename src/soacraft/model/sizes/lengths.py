"""The lengths of a mechanism: of its links, of the chain between two frames, and of the whole model.

A link of body k is the distance between two points fixed on it: where its hinge is, and where the next hinge or frame
is. Links depend neither on the state, nor on where the model is, nor on which frames a user has chosen; what is small
is judged relative to them, so that it is the same in all units.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soacraft.model.tree.frames.frame import Body, Carrier, Frame
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.kept import Kept
from soacraft.spatial.checks import Array


class Chain(NamedTuple):
    """The way from one frame to another: a link, a hinge, a link, ..., a link."""

    links: tuple[float, ...]
    """Lengths of the links in metres, one more than hinges."""
    bodies: tuple[Body, ...]
    """Bodies whose hinges lie between the links."""

    @property
    def length(self) -> float:
        """The sum of its links."""
        return sum(self.links)


def chain(a: Frame, b: Frame) -> Chain:
    """The links and hinges from frame a to frame b, through the nearest body that carries both. O(hinges between).

    >>> from soacraft.model import serial_chain
    >>> mb = serial_chain(3)                                          # rods of 1 m
    >>> chain(mb.root, mb.frame("link3/tip")).links
    (0.0, 1.0, 1.0, 1.0)
    """
    shared = _shared(a.carrier, b.carrier)
    (from_a, bodies_a, end_a), (from_b, bodies_b, end_b) = (_climb(x, shared) for x in (a, b))
    middle = float(np.linalg.norm(end_a - end_b))
    return Chain((*from_a, middle, *reversed(from_b)), (*bodies_a, *reversed(bodies_b)))


def length_of(graph: Graph) -> float:
    """The length of a model in metres: the longest chain of links from a body at the base to a node, a joint or the
    radius of gyration of a body, the base itself left out; without any, how far apart the bodies at the base are. Zero
    where nothing has an extent. O(n), kept until the model changes.

    >>> from soacraft.model import serial_chain
    >>> length_of(serial_chain(3))
    3.0
    """
    return _KEPT(graph)


def longest_arm(graph: Graph) -> float:
    """Longest arm in metres: from the inertial frame to a body along the links, even where they lead back. O(n depth).

    >>> from soacraft.model import serial_chain
    >>> longest_arm(serial_chain(3))
    2.0
    """
    return max((sum(chain(graph.root, body).links) for body in graph.bodies), default=0.0)


def _length_of(graph: Graph) -> float:
    reach: dict[Body, float] = {}
    longest, at_base = 0.0, []
    for body in graph.bodies:
        parent = body.parent
        if isinstance(parent, Body) and parent in reach:
            reach[body] = reach[parent] + float(np.linalg.norm(body.inboard.translation - hinge_point(parent)))
        else:
            reach[body] = 0.0
            at_base.append(body.inboard.translation)
        longest = max(longest, reach[body] + _radius(body))
    if longest > 0.0 or not at_base:
        return longest
    return float(np.linalg.norm(np.asarray(at_base) - at_base[0], axis=1).max())


def _radius(body: Body) -> float:
    """Reach of a body from its hinge: to its nodes, or its radius of gyration about its centre of mass."""
    hinge, inertia = hinge_point(body), body.inertia
    far = [float(np.linalg.norm(node.pose.translation - hinge)) for node in body.nodes]
    if inertia.mass > 0.0:
        gyration = np.sqrt(0.5 * np.trace(inertia.moment) / inertia.mass)
        far.append(float(np.linalg.norm(inertia.com - hinge) + gyration))
    return max(far, default=0.0)


def hinge_point(body: Body) -> Array:
    """Position of the hinge of a body, in body axes: the origin of its outboard frame."""
    return np.asarray(body.outboard.inv.translation)


def _climb(frame: Frame, to: Carrier) -> tuple[list[float], list[Body], Array]:
    """The links and bodies from a frame towards the base, up to a carrier, and the point that is reached on it."""
    links, bodies = [], []
    at, carrier = np.asarray(frame.offset.translation), frame.carrier
    while carrier is not to:
        assert isinstance(carrier, Body)
        links.append(float(np.linalg.norm(at - hinge_point(carrier))))
        bodies.append(carrier)
        at, carrier = np.asarray(carrier.inboard.translation), carrier.parent
    return links, bodies, at


def _shared(a: Carrier, b: Carrier) -> Carrier:
    """The nearest carrier on the way of both to the base; both climb in turn."""
    seen: set[Carrier] = set()
    ends: list[Carrier | None] = [a, b]
    while True:
        for i, x in enumerate(ends):
            if x is None:
                continue
            if x in seen:
                return x
            seen.add(x)
            ends[i] = x.parent if isinstance(x, Body) else None


_KEPT = Kept(_length_of)
