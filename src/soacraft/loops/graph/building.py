"""Models from bodies and joints: a spanning tree as a `Multibody`, the joints that were cut as its loop closures.

A joint that the tree passes from b to a is turned around (formula F9): its frames change places, its screws their sign
and order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.errors import LoopError, ModelError, StateError
from soacraft.model.hinges import Free
from soacraft.model.hinges.base import Hinge
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.joining.turning import Turned, turned
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose

GROUND = "inertial"


@dataclass(frozen=True, eq=False)
class Joint:
    """A hinge between two bodies: `b` moves relative to `a` as the hinge allows. Its inboard frame is at `frame_a` on
    a, its outboard frame at `frame_b` on b."""

    name: str
    a: str
    b: str
    hinge: Hinge
    frame_a: Pose
    frame_b: Pose


@dataclass(frozen=True, eq=False)
class Edge:
    """Joint of the tree with its parent and child. `turned`: the child is the joint's body a."""

    joint: Joint
    parent: str
    child: str

    @property
    def turned(self) -> bool:
        """True if the hinge is passed from b to a."""
        return self.child == self.joint.a


def build(
    edges: Sequence[Edge], cuts: Sequence[Joint], base: str, bodies: Any, name: str, gravity: Any, q: Any
) -> Multibody:
    """The model of a tree, parents first, hung from the inertial frame, or from `base` that floats. O(joints)."""
    joints = [*(edge.joint for edge in edges), *cuts]
    inertias = _read_bodies(bodies, {base, *(edge.child for edge in edges)} - {GROUND})
    coordinates = _read_coordinates(q, joints)
    mb = Multibody(name) if gravity is None else Multibody(name, gravity)
    if base != GROUND:
        mb.add_body(base, None, Free(), inertias[base], hinge_name=_new(base, [joint.name for joint in joints]))
    around = {edge.joint.name: turned("cut", edge.joint.hinge, repr(edge.joint.name)) for edge in edges if edge.turned}
    for edge in edges:
        _hang(mb, edge, inertias[edge.child], around.get(edge.joint.name))
    for joint in cuts:
        if joint.hinge.nv >= 6:
            raise LoopError(f"cut: joint {joint.name!r} ({joint.hinge!r}) closes nothing when it is cut; leave it out.")
        ends = (_end(mb, joint.a, joint.frame_a, joint.name), _end(mb, joint.b, joint.frame_b, joint.name))
        mb.close_loop(joint.name, *ends, joint.hinge)
    mb.q = _placed(mb, edges, around, coordinates)
    return mb


def _hang(mb: Multibody, edge: Edge, inertia: Inertia, around: Turned | None) -> None:
    joint, parent = edge.joint, None if edge.parent == GROUND else edge.parent
    if around is None:
        mb.add_body(edge.child, parent, joint.hinge, inertia, joint.frame_a, joint.frame_b.inv, joint.name)
    else:
        mb.add_body(edge.child, parent, around.hinge, inertia, joint.frame_b, joint.frame_a.inv, joint.name)


def _end(mb: Multibody, body: str, pose: Pose, name: str) -> Frame:
    """The frame of a closure: the body itself, or a node with the joint's name."""
    carrier = mb.root if body == GROUND else mb.body(body)
    return carrier if pose.is_close(Pose(), 0.0) else carrier.add_node(name, pose)


def _placed(mb: Multibody, edges: Sequence[Edge], around: Mapping[str, Turned], q: Mapping[str, Array]) -> Array:
    """The coordinates of the tree, neutral where none are given."""
    placed = mb.neutral()
    for edge in edges:
        joint = edge.joint
        if joint.name in q:
            x, back = q[joint.name], around.get(joint.name)
            placed[mb.body(edge.child).q_slice] = x if back is None else back.q(joint.hinge, x)
    return placed


def _read_bodies(bodies: Any, named: set[str]) -> dict[str, Inertia]:
    if not isinstance(bodies, Mapping):
        raise ModelError(f"bodies are given as {{name: Inertia}}, got {bodies!r:.60}.")
    if unknown := sorted(map(str, set(bodies) - named)):
        listed = ", ".join(map(repr, sorted(named)))
        raise ModelError(f"no joint holds body {unknown[0]!r}; the joints are of {listed}.")
    if missing := sorted(named - set(bodies)):
        raise ModelError(f"body {missing[0]!r} of the joints has no inertia; bodies are {{name: Inertia}} for all.")
    for name, inertia in bodies.items():
        if not isinstance(inertia, Inertia):
            raise ModelError(f"body {name!r} needs an Inertia(mass, com, moment), got {inertia!r:.60}.")
    return dict(bodies)


def _read_coordinates(q: Any, joints: Sequence[Joint]) -> dict[str, Array]:
    if q is None:
        return {}
    if not isinstance(q, Mapping):
        raise StateError(f"q is given as {{joint: coordinates}}, got {q!r:.60}.")
    hinges = {joint.name: joint.hinge for joint in joints}
    by_name = {}
    for name, x in q.items():
        if name not in hinges:
            raise StateError(f"q names {name!r:.60}, which is not one of the joints {', '.join(map(repr, hinges))}.")
        flat = finite(x, (...,), f"q of joint {name!r}", StateError)
        by_name[name] = finite(np.atleast_1d(flat), (hinges[name].nq,), f"q of joint {name!r}", StateError)
    return by_name


def _new(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "'"
    return name
