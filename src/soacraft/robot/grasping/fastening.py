"""Changes of a model by a grasp: an object is welded to a hand, or joined to it by a closure; and both undone.

Poses stay as they are; velocities change as in a plastic impact. `Holds` keeps the books.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np

from soacraft.contact.dynamics.plastic import PlasticImpact, plastic_impact
from soacraft.errors import LoopError, ModelError
from soacraft.loops.tree_augmented import TreeAugmented
from soacraft.model.hinges import Free, Weld
from soacraft.model.hinges.base import Hinge
from soacraft.model.states.kinematics import frame_pose, frame_velocity, pose_of_frame
from soacraft.model.states.ties import tied_dofs
from soacraft.model.tree.editing import rehang
from soacraft.model.tree.frames.frame import Body, Frame, Node
from soacraft.model.tree.joining.restoring import Place, place_of
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.grasping.joined import Joined, is_outboard, node_name, told, unused
from soacraft.spatial.checks import Array
from soacraft.spatial.measured import RelativePose
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import matrix_to_quaternion

#: An object that is as near as this to where it was taken, in radians and relative to how far from the inertial frame
#: it is, was not moved: what differs is rounding along the chain, and it gets the coordinates that it had.
_UNMOVED = 1e-12
WELD = Weld()


class Hold(NamedTuple):
    """An object in a hand: how it is held, by which hinge, the node of a closure, and how it hung when it was free."""

    joined: Joined
    hinge: Hinge
    node: str
    place: Place | None
    q: Array
    """Coordinates of the object when it was free, and the pose that they gave."""
    pose: Pose


def is_free(mb: Multibody, body: Body) -> bool:
    """True if a body floats by itself, so that it can be welded to a hand."""
    return body.parent is mb.root and isinstance(body.hinge, Free)


def hung(mb: Multibody, body: Body, frame: Frame) -> Hold:
    """Hang a free body on a hand by a `Weld`, after the impact of the two where anything moves."""
    mb._refuse_held(set(), (body, WELD, body.hinge_name))
    place, now = place_of(body), mb.current
    k = now.layout.index[body]
    q, pose = np.array(now.q[now.layout.hinge_q[k]]), Pose.unchecked(*pose_of_frame(now, body))
    impact = plastic_impact(mb, (frame, body)) if np.any(now.v) else None
    carry(mb, body, frame, impact)
    joined = Joined(body.name, frame.full_name, "hung", "", *told(impact))
    return Hold(joined, WELD, "", place._replace(siblings=()), q, pose)


def carry(mb: Multibody, body: Body, frame: Frame, impact: PlasticImpact | None = None) -> None:
    """Hang a free body on a hand, where it is; the velocities are those of an impact, or as they are."""
    at, layout, none = _plain(frame_pose(mb.current, body, frame)), mb.layout, np.zeros(0)
    with mb._edits.lock:
        rehang(mb, body, frame, WELD, body.hinge_name, at, Pose(), none, none)
        if impact is not None:
            parts = mb._state.parts
            for each, j in zip(layout.bodies, layout.v_slices, strict=True):
                if each is not body:
                    parts[each] = parts[each][0], np.array(impact.v[j]), parts[each][2]


def closed(mb: Multibody, body: Body, frame: Frame, hinge: Hinge) -> Hold:
    """Join a body and a hand by a closure, where they are, after the impact along its rows where anything moves."""
    moving, welded = bool(np.any(mb.v)), isinstance(hinge, Weld)
    impact = plastic_impact(mb, (frame, body)) if moving and welded else None
    name = unused(f"{frame.full_name} holds {body.name}", mb)
    node = body.add_node(node_name(body, frame), _plain(frame_pose(mb.current, frame, body)))
    try:
        mb.close_loop(name, frame, node, hinge)
    except Exception:
        body.remove_node(node)
        raise
    if moving and not welded:
        impact = plastic_impact(mb, name)
    if impact is not None:
        mb.set_state(v=impact.v)
    lever = np.zeros(3) if welded else mb.pose(node).translation - mb.pose(body).translation
    joined = Joined(body.name, frame.full_name, "loop", name, *told(impact, lever))
    return Hold(joined, hinge, node.full_name, None, np.zeros(0), Pose())


def opened(mb: Multibody, body: Body, hold: Hold) -> None:
    """Take the closure of a hold away."""
    mb.remove_loop(hold.joined.loop)
    body.remove_node(_node(mb, hold))


def moved(mb: Multibody, body: Body, at: Pose, nodes: AbstractSet[str]) -> None:
    """Weld an object at another pose on its parent. Hands that hold it at `nodes` by closures stay, and the nodes with
    them; any other closure that would open is refused.
    """
    for x in mb.loops:
        inside = [is_outboard(end, body) for end in (x.a, x.b)]
        if inside[0] != inside[1] and nodes.isdisjoint((x.a.full_name, x.b.full_name)):
            raise ModelError(
                f"{body.name!r} cannot be put elsewhere: loop {x.name!r} joins {x.a.full_name!r} and "
                f"{x.b.full_name!r}, which would come apart; open it first."
            )
    back = at.inv @ body.inboard
    for name in nodes:
        node = mb.frame(name)
        assert isinstance(node, Node)
        node.pose = back @ node.pose
    body.inboard = at


def held_at(mb: Multibody, body: Body, hold: Hold, pose: Pose) -> None:
    """Let a hand hold a body by its closure at another pose in the hand, where the hinge of the closure is at zero. The
    state is the nearest at which that and all other loops close within limits; where there is none, a `LoopError`, and
    nothing is changed. O(n), and O(rows nv^2) a step."""
    name, hand = hold.joined.loop, hold.joined.hand
    trial = mb.copy()
    _node(trial, hold).pose = pose.inv
    fast = trial
    if not isinstance(hold.hinge, Weld):  # the pose is met in the directions too that the hinge leaves free
        fast = trial.copy()
        fast.remove_loop(name)
        fast.close_loop(name, hand, hold.node, WELD)
    try:
        near = TreeAugmented(fast).assemble(mb.q, limits=True)
    except LoopError as wrong:
        raise LoopError(f"{body.name!r} cannot be held by {hand!r} at this pose: {wrong}") from None
    q, v, layout, tied = np.array(mb.q), np.array(mb.v), mb.layout, tied_dofs(mb)
    for i, j in zip(layout.q_slices, layout.v_slices, strict=True):
        if tied[j].any():
            q[i] = near[i]
    if v.any():
        v = TreeAugmented(trial).project_velocity(q, v)
    _node(mb, hold).pose = pose.inv
    mb.set_state(q=q, v=v)


def _node(mb: Multibody, hold: Hold) -> Node:
    """The node of an object at which a closure holds it."""
    node = mb.frame(hold.node)
    assert isinstance(node, Node)
    return node


def freed(mb: Multibody, body: Body, hold: Hold, order: tuple[str, ...]) -> None:
    """Free a body from a hand, by the hinge that it had, with the velocity that it has. `order` is that of the bodies
    on the inertial frame.
    """
    place = hold.place
    assert place is not None
    mb._refuse_held(set(), (body, place.hinge, body.hinge_name))
    now, root = mb.current, mb.root
    at, v, q = _plain(frame_pose(now, body, root)), np.zeros(6), hold.q
    if np.any(now.v):
        v = np.linalg.solve(place.outboard.phi().T, np.asarray(frame_velocity(now, body, root, body)))
    far = float(np.abs(at.translation).max()) + float(np.abs(hold.pose.translation).max())
    turned = float(np.abs(at.rotation - hold.pose.rotation).max())
    if turned > _UNMOVED or float(np.abs(at.translation - hold.pose.translation).max()) > _UNMOVED * far:
        seen = place.inboard.inv @ at @ place.outboard.inv
        q = np.concatenate([matrix_to_quaternion(seen.rotation), seen.translation])
    rehang(mb, body, root, place.hinge, body.hinge_name, place.inboard, place.outboard, q, v)
    names = dict.fromkeys((*order, *root._children))
    root._children = {x: root._children[x] for x in names if x in root._children}


def _plain(pose: RelativePose) -> Pose:
    return Pose.unchecked(pose.rotation, pose.translation)
