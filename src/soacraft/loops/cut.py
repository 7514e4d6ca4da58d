"""`cut`: a spanning tree of a graph of bodies and joints, and the joints to be cut for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from soacraft.errors import LoopError, ModelError
from soacraft.model.hinges.base import Hinge
from soacraft.model.interface import Graph


@dataclass(frozen=True, eq=False)
class Joint:
    """A hinge between two bodies: `b` moves relative to `a` as the hinge allows."""

    name: str
    a: str
    b: str
    hinge: Hinge


@dataclass(frozen=True, eq=False)
class Edge:
    """A joint of the tree: which body hangs from which. `turned`: the child is the joint's body a."""

    joint: Joint
    parent: str
    child: str

    @property
    def turned(self) -> bool:
        """Whether the hinge is passed from b to a."""
        return self.child == self.joint.a


@dataclass(frozen=True, eq=False)
class Cut:
    """A spanning tree, parents first, and the joints that close its loops."""

    tree: tuple[Edge, ...]
    cuts: tuple[Joint, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the joints to cut."""
        return tuple(joint.name for joint in self.cuts)

    def loop(self, name: str) -> tuple[str, ...]:
        """The names of the joints of the loop that a cut joint closes, itself last."""
        for joint in self.cuts:
            if joint.name == name:
                above = {edge.child: edge for edge in self.tree}
                left, right = _path(above, joint.a), _path(above, joint.b)
                shared = set(left) & set(right)
                ring = [e for e in (*left, *reversed(right)) if e not in shared]
                return (*(edge.joint.name for edge in ring), name)
        raise LoopError(f"{name!r} is not cut; cut are {', '.join(map(repr, self.names)) or 'none'}.")

    def __repr__(self) -> str:
        rows = sum(6 - joint.hinge.nv for joint in self.cuts)
        lines = [f"{len(self.tree)} joints in the tree, {len(self.cuts)} cut ({rows} rows)"]
        lines += [f"{joint.name!r} closes {' - '.join(self.loop(joint.name)[:-1])}" for joint in self.cuts]
        return "\n".join(lines)


def cut(
    joints: Graph | Iterable[Any], keep: Iterable[str] = (), cut: Iterable[str] = (), root: str = "inertial"
) -> Cut:
    """Which joints of a graph to cut so that a tree is left. O(joints log joints).

    `joints` is a list of `(name, body_a, body_b, hinge)`, or a model with closures. The joints with most freedom are
    cut, since each freedom saves a row; among equals those furthest from the root, so that the tree is shallow; then
    those named last. Joints named in `keep` stay in the tree, those in `cut` do not.

    >>> from soacraft.model.hinges import Pin, Spherical
    >>> pin = Pin((0, 0, 1))
    >>> cut([("crank", "inertial", "crank", pin), ("elbow", "crank", "rod", Spherical()),
    ...      ("wrist", "rod", "rocker", pin), ("rocker", "inertial", "rocker", pin)])
    3 joints in the tree, 1 cut (3 rows)
    'elbow' closes crank - rocker - wrist
    """
    given = _of_graph(joints) if isinstance(joints, Graph) else _read(joints)
    kept, barred = _named("keep", keep, given), _named("cut", cut, given)
    if both := sorted(kept & barred):
        raise LoopError(f"joint {both[0]!r} is to be kept and to be cut; name it once.")
    depth = _distances(given, root)
    order = sorted(
        (joint for joint in given if joint.name not in barred),
        key=lambda x: (x.name not in kept, x.hinge.nv, min(depth[x.a], depth[x.b])),
    )
    chosen, group = [], {body: body for body in depth}
    for joint in order:
        left, right = _find(group, joint.a), _find(group, joint.b)
        if left != right:
            group[left] = right
            chosen.append(joint)
        elif joint.name in kept:
            raise LoopError(f"the joints to keep close a loop among themselves at {joint.name!r}; let one be cut.")
    for body in depth:
        if _find(group, body) != _find(group, root):
            raise LoopError(f"without the joints to cut, {body!r} hangs on nothing; keep one that carries it.")
    taken = {joint.name for joint in chosen}
    return Cut(_hung(chosen, root), tuple(joint for joint in given if joint.name not in taken))


def _of_graph(graph: Graph) -> list[Joint]:
    hinges = [Joint(body.hinge_name, body.parent.name, body.name, body.hinge) for body in graph.bodies]
    taken = {joint.name for joint in hinges}
    loops = [x for x in graph.loops if x.active]
    for loop in loops:
        if loop.name in taken:
            raise LoopError(f"{graph.name!r} has a hinge and a loop named {loop.name!r}; rename one of them to cut.")
    return hinges + [Joint(x.name, x.a.carrier.name, x.b.carrier.name, x.hinge) for x in loops]


def _read(joints: Any) -> list[Joint]:
    found: dict[str, Joint] = {}
    if isinstance(joints, str | bytes) or not isinstance(joints, Iterable):
        raise ModelError(f"joints are given as a list of (name, body_a, body_b, hinge), got {joints!r:.60}.")
    for item in joints:
        if not isinstance(item, tuple | list) or len(item) != 4 or not all(isinstance(x, str) and x for x in item[:3]):
            raise ModelError(f"a joint is given as (name, body_a, body_b, hinge), got {item!r:.80}.")
        name, a, b, hinge = item
        if not isinstance(hinge, Hinge):
            raise ModelError(f"joint {name!r} needs a hinge such as Pin(axis=(0, 0, 1)), got {hinge!r:.60}.")
        if name in found:
            raise ModelError(f"there are two joints {name!r}; names are unique.")
        if a == b:
            raise LoopError(f"joint {name!r} is from {a!r} to itself.")
        found[name] = Joint(name, a, b, hinge)
    return list(found.values())


def _named(what: str, names: Iterable[str], joints: list[Joint]) -> set[str]:
    names = {names} if isinstance(names, str) else set(names)
    known = {joint.name for joint in joints}
    for name in sorted(map(str, names - known)):
        raise LoopError(f"{what} names {name!r}, which is not one of the joints {', '.join(map(repr, sorted(known)))}.")
    return names


def _distances(joints: list[Joint], root: str) -> dict[str, int]:
    """The number of joints from each body to the root; every body must be reached."""
    beside: dict[str, list[str]] = {root: []}
    for joint in joints:
        beside.setdefault(joint.a, []).append(joint.b)
        beside.setdefault(joint.b, []).append(joint.a)
    depth, queue = {root: 0}, deque([root])
    while queue:
        body = queue.popleft()
        for other in beside[body]:
            if other not in depth:
                depth[other] = depth[body] + 1
                queue.append(other)
    for body in beside:
        if body not in depth:
            raise LoopError(f"no joint connects {body!r} with {root!r}; a body that floats needs a Free() joint to it.")
    return depth


def _find(group: dict[str, str], body: str) -> str:
    while group[body] != body:
        group[body] = group[group[body]]
        body = group[body]
    return body


def _hung(joints: list[Joint], root: str) -> tuple[Edge, ...]:
    """The joints of a tree, parents first."""
    at: dict[str, list[Joint]] = {}
    for joint in joints:
        at.setdefault(joint.a, []).append(joint)
        at.setdefault(joint.b, []).append(joint)
    edges, queue, done = [], deque([root]), {root}
    while queue:
        parent = queue.popleft()
        for joint in at.get(parent, []):
            child = joint.b if joint.a == parent else joint.a
            if child not in done:
                done.add(child)
                edges.append(Edge(joint, parent, child))
                queue.append(child)
    return tuple(edges)


def _path(above: dict[str, Edge], body: str) -> list[Edge]:
    path = []
    while body in above:
        path.append(above[body])
        body = above[body].parent
    return path
