"""A soacraft model in which every product of turns and slides is a chain of one-dof hinges with massless bodies.

A rolling ball becomes a free body, held to its plane by the test.
"""

from functools import cache

import numpy as np
from tests.peers import expressions
from tests.peers.elements import Slide, as_free, placed, rolling
from tests.peers.peer import Part, Peer, constant

import soacraft as sc


class InChains(Peer):
    """A model at its current state, its hinges taken apart."""

    def __init__(self, mb):
        self.model = sc.Multibody(f"{mb.name}, taken apart", mb.gravity)
        parts = {body: add(self.model, mb, body) for body in mb.bodies}
        super().__init__(self.model.nv, mb.nv)
        w = 0
        for body, part in parts.items():
            self.put(w + np.arange(len(part.n)), np.arange(mb.nv)[body.v_slice], part)
            w += len(part.n)
        self.model.set_state(np.concatenate([np.zeros(0), *(part.q for part in parts.values())]), self.N @ mb.v)
        self.operators = cache(lambda axes="body": sc.operators(self.model, axes=axes))

    def own_mass_matrix(self):
        return expressions.mass_matrix(self.operators()).array()

    def own_bias(self):
        return np.asarray(expressions.bias(self.operators()))

    def own_inverse(self, wdot):
        return np.asarray(expressions.inverse(self.operators(), wdot))

    def own_forward(self, force):
        return np.asarray(expressions.forward(self.operators(), force))

    def own_jacobian(self, node, axes):
        return expressions.jacobian(self.operators(axes), node.full_name).array()


def add(model, mb, body):
    """Add a body behind a chain of massless ones; its coordinates there."""
    q, v = mb.q[body.q_slice], mb.v[body.v_slice]
    steps, tail, part = taken_apart(body.hinge, q, v)
    parent = None if body.parent is mb.root else body.parent.name
    before = body.inboard
    for i, (placement, hinge) in enumerate(steps[:-1]):
        parent = model.add_body(f"{body.name}.{i}", parent, hinge, sc.Inertia(), before @ placement).name
        before = sc.Pose()
    placement, hinge = steps[-1]
    mine = model.add_body(body.name, parent, hinge, body.inertia, before @ placement, tail @ body.outboard)
    for node in body.nodes:
        mine.add_node(node.name, node.pose)
    return part


def taken_apart(hinge, q, v):
    """One-dof hinges, each behind a placement; the pose that follows the last; the coordinates."""
    match hinge:
        case sc.Weld() | sc.Spherical() | sc.Free():
            return [(sc.Pose(), hinge)], sc.Pose(), constant(q, np.eye(hinge.nv))
        case sc.RollingBall():
            return [(sc.Pose(), sc.Free())], sc.Pose(), Part(as_free(hinge, q), *rolling(hinge, q, v))
    steps, tail = placed(hinge)
    rates = np.array([element.rate for _, element in steps])
    return [(before, one_dof(element)) for before, element in steps], tail, constant(rates * q, np.diag(rates))


def one_dof(element):
    """The hinge with one dof that an element is."""
    if isinstance(element, Slide):
        return sc.Prismatic(element.axis)
    return sc.Helical(element.axis, element.pitch) if element.pitch else sc.Pin(element.axis)
