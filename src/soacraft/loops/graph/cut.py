"""`cut`: a spanning tree of a graph of bodies and joints, the joints to be cut for it, and the model of both."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from soacraft.errors import LoopError, ModelError, near
from soacraft.loops.graph.building import GROUND, Edge, Joint, build
from soacraft.loops.graph.recutting import recut
from soacraft.model.hinges.base import Hinge
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.closures import Closure
from soacraft.spatial.pose import Pose


@dataclass(frozen=True, eq=False)
class Cut:
    """A spanning tree, parents first, and the joints that close its loops."""

    tree: tuple[Edge, ...]
    cuts: tuple[Joint, ...]
    root: str = GROUND
    graph: Graph | None = None
    """The model that was cut, if it was one."""

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

    def build(self, bodies: Any = None, name: str | None = None, gravity: Any = None, q: Any = None) -> Multibody:
        """The model: the tree hung from the inertial frame, the cut joints as its loop closures. O(joints).

        `bodies` is `{name: Inertia}` for all bodies of the joints. Without a joint to "inertial" the root floats, by a
        `Free()` hinge. Joints that the tree passes from b to a are turned around; hinges and closures have the names
        of their joints. `q` is `{joint: coordinates}`, those of b relative to a, neutral where not given; what it
        says of joints that are cut follows from the others. `s.assemble(mb.q)` of a solver closes the loops.

        Cut from a model, the model itself in its state with these cuts, `sc.loops.recut` one after another.

        >>> from soacraft.model.hinges import Pin, Prismatic
        >>> from soacraft.spatial import Inertia, Pose
        >>> pin, end = Pin((0, 0, 1)), Pose(translation=(1, 0, 0))
        >>> found = cut([("crank", "inertial", "crank", pin), ("knee", "crank", end, "rod", Pose(), pin),
        ...              ("wrist", "slider", Pose(), "rod", end, pin),
        ...              ("rail", "inertial", "slider", Prismatic((1, 0, 0)))])
        >>> mb = found.build({"crank": Inertia(1.0), "rod": Inertia(1.0), "slider": Inertia(2.0)}, q={"rail": 2.0})
        >>> mb, mb.loops[0]
        (Multibody 'graph': 3 bodies, 3 dofs, 1 loop, loop 'wrist': 'rod/wrist' on 'slider' by Pin(axis=(0, 0, 1)))
        """
        if self.graph is not None:
            if any(x is not None for x in (bodies, name, gravity, q)):
                raise ModelError(
                    f"the name, bodies, gravity and state are those of {self.graph.name!r}; build() takes none."
                )
            return _recut(self.graph, self.names)
        joints = [edge.joint for edge in self.tree]
        grounded = any(GROUND in (joint.a, joint.b) for joint in (*joints, *self.cuts))
        base = GROUND if grounded else self.root
        return build(_hung(joints, base), self.cuts, base, bodies, name or "graph", gravity, q)

    def __repr__(self) -> str:
        rows = sum(6 - joint.hinge.nv for joint in self.cuts)
        lines = [f"{len(self.tree)} joints in the tree, {len(self.cuts)} cut ({rows} rows)"]
        lines += [f"{joint.name!r} closes {' - '.join(self.loop(joint.name)[:-1])}" for joint in self.cuts]
        return "\n".join(lines)


def cut(
    joints: Graph | Iterable[Any], keep: Iterable[Any] = (), cut: Iterable[Any] = (), root: str = "inertial"
) -> Cut:
    """Choose the joints of a graph to cut so that a tree remains. O(joints log joints).

    `joints` is a list of `(name, body_a, body_b, hinge)`, or with the places of the hinge's two frames on the bodies
    `(name, body_a, frame_a, body_b, frame_b, hinge)`, or a model with closures. The joints with most freedom are
    cut, since each freedom saves a row; among equals those furthest from the root, so that the tree is shallow; then
    those named last. Joints named in `keep` stay in the tree, those in `cut` do not (of a model also a body for its
    hinge, and a closure). `Cut.build` makes the model of it.

    >>> from soacraft.model.hinges import Pin, Spherical
    >>> pin = Pin((0, 0, 1))
    >>> cut([("crank", "inertial", "crank", pin), ("elbow", "crank", "rod", Spherical()),
    ...      ("wrist", "rod", "rocker", pin), ("rocker", "inertial", "rocker", pin)])
    3 joints in the tree, 1 cut (3 rows)
    'elbow' closes crank - rocker - wrist
    """
    read = _of_graph(joints) if isinstance(joints, Graph) else _read(joints)
    wanted, barred = (_named(what, names, read) for what, names in (("keep", keep), ("cut", cut)))
    if both := sorted(wanted & barred):
        raise LoopError(f"joint {both[0]!r} is to be kept and to be cut; name it once.")
    depth = _distances(read, root)
    order = sorted(
        (joint for joint in read if joint.name not in barred),
        key=lambda x: (x.name not in wanted, x.hinge.nv, min(depth[x.a], depth[x.b])),
    )
    chosen, group = [], {body: body for body in depth}
    for joint in order:
        left, right = _find(group, joint.a), _find(group, joint.b)
        if left != right:
            group[left] = right
            chosen.append(joint)
        elif joint.name in wanted:
            raise LoopError(f"the joints to keep close a loop among themselves at {joint.name!r}; let one be cut.")
    for body in depth:
        if _find(group, body) != _find(group, root):
            raise LoopError(f"without the joints to cut, {body!r} has no parent; keep one that carries it.")
    taken = {joint.name for joint in chosen}
    cuts = tuple(joint for joint in read if joint.name not in taken)
    return Cut(_hung(chosen, root), cuts, root, joints if isinstance(joints, Graph) else None)


def _recut(graph: Graph, names: Iterable[str]) -> Multibody:
    """The model with these joints cut: each in exchange for a closure of whose loop it is a part."""
    if not isinstance(graph, Multibody):
        raise ModelError(f"build makes whole models, and {graph.name!r} is a part of one; cut the whole model.")
    mb, wanted = graph, set(names)
    while set((now := _as_it_is(mb)).names) != wanted:
        swap = [(loop, x) for loop in now.names if loop not in wanted for x in now.loop(loop) if x in wanted]
        if not swap:
            raise LoopError(f"{graph.name!r} has changed since it was cut; cut it again.")
        mb = recut(mb, *swap[0])
    return mb.copy() if mb is graph else mb


def _as_it_is(mb: Multibody) -> Cut:
    closed = {loop.name for loop in mb.loops if loop.active}
    graph_joints = _of_graph(mb)
    tree = _hung([joint for joint in graph_joints if joint.name not in closed], GROUND)
    return Cut(tree, tuple(joint for joint in graph_joints if joint.name in closed))


def _of_graph(graph: Graph) -> list[Joint]:
    hinges = [
        Joint(body.hinge_name, body.parent.name, body.name, body.hinge, body.inboard, body.outboard.inv)
        for body in graph.bodies
    ]
    taken = {joint.name for joint in hinges}
    loops = [x for x in graph.loops if x.active]
    for loop in loops:
        if loop.name in taken:
            raise LoopError(f"{graph.name!r} has a hinge and a loop named {loop.name!r}; rename one of them to cut.")
    ends = [(x.a.carrier.name, x.b.carrier.name) for x in loops]
    return hinges + [
        Joint(x.name, a, b, x.hinge, x.a.offset, x.b.offset) for x, (a, b) in zip(loops, ends, strict=True)
    ]


def _read(joints: Any) -> list[Joint]:
    by_name: dict[str, Joint] = {}
    if isinstance(joints, str | bytes) or not isinstance(joints, Iterable):
        raise ModelError(
            f"joints are given as a list of (name, body_a, [frame_a,] body_b, [frame_b,] hinge), got {joints!r:.60}."
        )
    for item in joints:
        name, a, frame_a, b, frame_b, hinge = _parts(item)
        if not isinstance(hinge, Hinge):
            raise ModelError(f"joint {name!r} needs a hinge such as Pin(axis=(0, 0, 1)), got {hinge!r:.60}.")
        if name in by_name:
            raise ModelError(f"there are two joints {name!r}; names are unique.")
        if a == b:
            raise LoopError(f"joint {name!r} is from {a!r} to itself.")
        by_name[name] = Joint(name, a, b, hinge, frame_a, frame_b)
    return list(by_name.values())


def _parts(item: Any) -> tuple[str, str, Pose, str, Pose, Any]:
    """The parts of a joint, with its frames at the bodies' own where they are not given."""
    if isinstance(item, tuple | list) and len(item) == 4:
        item = (item[0], item[1], Pose(), item[2], Pose(), item[3])
    if not isinstance(item, tuple | list) or len(item) != 6 or not all(isinstance(item[i], str) for i in (0, 1, 3)):
        raise ModelError(f"a joint is given as (name, body_a, [frame_a,] body_b, [frame_b,] hinge), got {item!r:.80}.")
    name, a, frame_a, b, frame_b, hinge = item
    for body, frame in ((a, frame_a), (b, frame_b)):
        if not isinstance(frame, Pose):
            raise ModelError(f"joint {name!r}: its frame on {body!r} is given as a Pose, got {frame!r:.60}.")
    if not (name and a and b):
        raise ModelError(f"a joint and its bodies have names, got {item!r:.80}.")
    return name, a, frame_a, b, frame_b, hinge


def _named(what: str, wanted: Any, joints: list[Joint]) -> set[str]:
    """Names of joints: from a joint's own, a closure, or the body of a hinge."""
    all_names, chosen = {joint.name for joint in joints}, set()
    for each in [wanted] if isinstance(wanted, str | Frame | Closure) else wanted:
        name = getattr(each, "hinge_name", getattr(each, "name", each))
        if name not in all_names:
            raise LoopError(f"{what} names {name!r:.60}, which is not a joint{near(str(name), sorted(all_names))}")
        chosen.add(name)
    return chosen


def _distances(joints: list[Joint], root: str) -> dict[str, int]:
    """The number of joints from each body to the root; every body must be reached."""
    neighbours: dict[str, list[str]] = {root: []}
    for joint in joints:
        neighbours.setdefault(joint.a, []).append(joint.b)
        neighbours.setdefault(joint.b, []).append(joint.a)
    depth, queue = {root: 0}, deque([root])
    while queue:
        body = queue.popleft()
        for other in neighbours[body]:
            if other not in depth:
                depth[other] = depth[body] + 1
                queue.append(other)
    for body in neighbours:
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
