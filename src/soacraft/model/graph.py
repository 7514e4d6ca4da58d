"""`Multibody`: an editable tree of rigid bodies with a state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.tree import Tree
from soacraft.errors import ModelError, StateError
from soacraft.model.attach import hinge_at, hinge_velocity
from soacraft.model.coordinates import force_frame, read_wrench
from soacraft.model.frame import (
    ROOT_NAME,
    Body,
    Carrier,
    Frame,
    Node,
    Root,
    read_hinge,
    read_inertia,
    read_name,
    read_pose,
)
from soacraft.model.hinges.base import Hinge
from soacraft.model.interface import Graph, size_text
from soacraft.model.layout import Layout
from soacraft.model.state import Configuration, Motion, State
from soacraft.model.subgraph import SubGraph
from soacraft.spatial.checks import Array, finite, frozen
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose
from soacraft.spatial.wrench import Wrench

STANDARD_GRAVITY = (0.0, 0.0, -9.80665)


class Multibody(Graph):
    """A tree of rigid bodies, editable at any time, with its current state `q, v, vdot` and external forces.

    >>> from soacraft.model.hinges import Pin
    >>> mb = Multibody("arm")
    >>> upper = mb.add_body("upper", hinge=Pin(axis=(0, 0, 1)), inertia=Inertia(2.0, (0, 0, 0.2)))
    >>> tool = upper.add_node("tool", Pose(translation=(0, 0, 0.4)))
    >>> mb, mb.dof_names, mb["upper/tool"] is tool
    (Multibody 'arm': 1 body, 1 dof, ('upper',), True)
    """

    def __init__(self, name: str = "model", gravity: npt.ArrayLike = STANDARD_GRAVITY) -> None:
        if not isinstance(name, str) or not name.strip():
            raise ModelError(f"the name of a model must be a non-empty string, got {name!r}.")
        self._name = name
        self._gravity = _read_gravity(name, gravity)
        self._root = Root(self)
        self._bodies: dict[str, Body] = {}
        self._hinges: dict[str, Body] = {}
        self._parts: dict[Body, tuple[Array, Array, Array]] = {}
        self._forces: dict[Frame, Wrench] = {}
        self._structure = 0
        self._layout: Layout | None = None
        self._current: State | None = None
        self._counters: Counter[str] = Counter()

    # -- names -----------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    @property
    def root(self) -> Root:
        """The inertial frame; nodes can be added to it."""
        return self._root

    @property
    def counters(self) -> Counter[str]:
        """How many configuration, velocity and acceleration quantities were worked out so far."""
        return self._counters

    @property
    def structure(self) -> int:
        """The structural version: it grows with every change of structure or parameters."""
        return self._structure

    def __getitem__(self, name: str) -> Frame:
        return self.frame(name)

    def __contains__(self, name: object) -> bool:
        if isinstance(name, Frame):
            return name.graph is self and not name._removed
        return isinstance(name, str) and self._find(name) is not None

    def __iter__(self) -> Iterator[Body]:
        return iter(self.bodies)

    def __repr__(self) -> str:
        n, nv = len(self._bodies), sum(body.hinge.nv for body in self._bodies.values())
        return f"Multibody {self._name!r}: {size_text(n, nv)}"

    def _find(self, name: str) -> Frame | None:
        carrier_name, slash, node_name = name.partition("/")
        carrier = self._root if carrier_name == ROOT_NAME else self._bodies.get(carrier_name)
        return carrier if carrier is None or not slash else carrier._nodes.get(node_name)

    def frame(self, frame: Any) -> Frame:
        """A body, node or the inertial frame, from itself or its name: "upper", "upper/tool", "inertial"."""
        if isinstance(frame, Frame):
            if frame.graph is not self:
                raise ModelError(
                    f"{frame.kind} {frame.full_name!r} belongs to another model ({frame.graph.name!r}), "
                    f"not to {self._name!r}."
                )
            frame.require_present()
            return frame
        if not isinstance(frame, str):
            raise ModelError(f"a frame of {self._name!r} is given by itself or its name, got {frame!r}.")
        found = self._find(frame)
        if found is None:
            known = [ROOT_NAME, *self._bodies, *(node.full_name for node in self._all_nodes())]
            raise ModelError(f"{self._name!r} has no frame {frame!r}{_close(frame, known)}")
        return found

    def body(self, body: Body | str) -> Body:
        """A body from itself or its name."""
        found = self.frame(body)
        if not isinstance(found, Body):
            raise ModelError(f"{found.full_name!r} is not a body of {self._name!r}.")
        return found

    def _all_nodes(self) -> Iterator[Node]:
        for carrier in (self._root, *self._bodies.values()):
            yield from carrier._nodes.values()

    def _carrier(self, parent: Any) -> Carrier:
        """What a body is to hang from: the inertial frame for None."""
        found = self._root if parent is None else self.frame(parent)
        if not isinstance(found, Carrier):
            raise ModelError(
                f"the parent must be a body or None, got node {found.full_name!r}; "
                f"use parent={found.carrier.name!r} and inboard=<the node's pose>."
            )
        return found

    # -- building and editing --------------------------------------------------------------------------------

    def add_body(
        self,
        name: str,
        parent: Body | Root | str | None = None,
        hinge: Hinge | None = None,
        inertia: Inertia | None = None,
        inboard: Pose | None = None,
        outboard: Pose | None = None,
        hinge_name: str | None = None,
    ) -> Body:
        """Hang a new body on `parent` (None: the inertial frame) by `hinge`. O(1).

        `inboard` is the pose of the inboard hinge frame in the parent's body frame, `outboard` that of the
        body frame in the outboard hinge frame. The hinge starts neutral and at rest; other hinges keep their
        state.
        """
        read_name("body", name)
        if name in self._bodies:
            raise ModelError(f"{self._name!r} already has a body {name!r}; names are unique.")
        carrier = self._carrier(parent)
        hinge = read_hinge(hinge, name)
        hinge_name = self._hinge_name(name if hinge_name is None else hinge_name, None)
        inertia = read_inertia(inertia, name)
        inboard = read_pose(inboard, f"inboard of {name!r}")
        outboard = read_pose(outboard, f"outboard of {name!r}")
        body = Body(carrier, name, hinge, hinge_name, inertia, inboard, outboard)
        self._changed()
        self._bodies[name] = self._hinges[hinge_name] = body
        carrier._children[name] = body
        return body

    def remove(self, body: Body | str, subtree: bool = False) -> None:
        """Take a body, with `subtree=True` also all that hangs from it, out; their handles become stale."""
        found = self.body(body)
        if found._children and not subtree:
            raise ModelError(
                f"body {found.name!r} carries {', '.join(map(repr, found._children))}; remove them too "
                f"with mb.remove({found.name!r}, subtree=True), or reattach them first."
            )
        gone = list(found.subtree())
        self._changed(forget=gone)
        del found.parent._children[found.name]
        for each in gone:
            del self._bodies[each.name], self._hinges[each.hinge_name]
            self._parts.pop(each, None)
            each._removed = True

    def reattach(
        self,
        body: Body | str,
        parent: Body | Root | str | None = None,
        hinge: Hinge | None = None,
        inboard: Pose | None = None,
        outboard: Pose | None = None,
        keep_pose: bool = False,
        hinge_name: str | None = None,
    ) -> Body:
        """Hang a body, with all that is outboard of it, on another parent by a new hinge.

        The state of everything else is kept. The new hinge starts neutral and at rest; with `keep_pose` where
        the body keeps its pose in the inertial frame (refused when the hinge cannot reach it) and, if the
        hinge allows it, its velocity.
        """
        found, carrier = self.body(body), self._carrier(parent)
        hinge = read_hinge(hinge, found.name)
        hinge_name = found.hinge_name if hinge_name is None else self._hinge_name(hinge_name, found)
        inboard = read_pose(inboard, f"inboard of {found.name!r}")
        outboard = read_pose(outboard, f"outboard of {found.name!r}")
        self._refuse_loop(found, carrier, hinge_name)
        q, v = np.asarray(hinge.neutral(), dtype=np.float64), np.zeros(hinge.nv)
        if keep_pose:
            q = hinge_at(hinge, inboard.inv @ self.pose(found, carrier) @ outboard.inv, hinge_name, found.name)
            v = hinge_velocity(hinge, q, outboard, np.asarray(self.velocity(found, carrier, found)))
        self._changed()
        del found.parent._children[found.name], self._hinges[found.hinge_name]
        carrier._children[found.name] = self._hinges[hinge_name] = found
        found._parent, found._hinge, found._hinge_name = carrier, hinge, hinge_name
        found._inboard, found._outboard = inboard, outboard
        self._parts[found] = (q, v, np.zeros(hinge.nv))
        return found

    def _hinge_name(self, name: Any, body: Body | None) -> str:
        read_name("hinge", name)
        other = self._hinges.get(name)
        if other is not None and other is not body:
            raise ModelError(
                f"{self._name!r} already has a hinge {name!r}, of body {other.name!r}; names are unique: "
                "give hinge_name=..."
            )
        return str(name)

    def _refuse_loop(self, body: Body, parent: Carrier, hinge_name: str) -> None:
        path, carrier = [parent.name], parent
        while isinstance(carrier, Body):
            if carrier is body:
                raise ModelError(
                    f"hinge {hinge_name!r} would close a loop ({' -> '.join([*path, parent.name])}). "
                    "Add it with mb.close_loop(...)."
                )
            carrier = carrier.parent
            path.append(carrier.name)

    def _changed(self, forget: Iterable[Frame] = ()) -> None:
        """Before a structural change: keep the state by body, drop the flat form, count the version up."""
        if self._layout is not None and self._current is not None:
            state, layout = self._current, self._layout
            for body, i, j in zip(layout.bodies, layout.q_slices, layout.v_slices, strict=True):
                self._parts[body] = (state.q[i], state.v[j], state.vdot[j])
        self._layout = self._current = None
        self._structure += 1
        gone = set(forget)
        self._forces = {
            frame: wrench
            for frame, wrench in self._forces.items()
            if not gone & {frame, frame.carrier, wrench.expressed_in, getattr(wrench.expressed_in, "carrier", None)}
        }

    @property
    def gravity(self) -> Array:
        """The acceleration of gravity in the inertial frame (3). Setting it makes old states stale."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: npt.ArrayLike) -> None:
        g = _read_gravity(self._name, value)
        self._changed()
        self._gravity = g

    @property
    def total_mass(self) -> float:
        """The sum of the bodies' masses."""
        return float(sum(body.inertia.mass for body in self._bodies.values()))

    # -- the flat form and the state -------------------------------------------------------------------------

    @property
    def layout(self) -> Layout:
        """The constant flat form, made when first read after a structural change. O(n)."""
        if self._layout is None:
            bodies = list(self._bodies.values())
            number = {body: k for k, body in enumerate(bodies)}
            parents = [number[body._parent] if isinstance(body._parent, Body) else -1 for body in bodies]
            self._layout = Layout([bodies[k] for k in Tree(parents, list(self._bodies)).base_to_tips()])
        return self._layout

    @property
    def current(self) -> State:
        """The current state; a new object after each change, so its identity is the version of the state."""
        layout = self.layout
        if self._current is None:
            parts = [self._parts.get(body) or _at_rest(body.hinge) for body in layout.bodies]
            q, v, vdot = (
                (frozen(np.concatenate([np.zeros(0), *column])) for column in zip(*parts, strict=True))
                if parts
                else (frozen(np.zeros(0)) for _ in range(3))
            )
            motion = Motion(Configuration(layout, q, self._counters), v, self._counters)
            self._current = State(self, motion, vdot, tuple(self._forces.items()))
        return self._current

    @property
    def q(self) -> Array:
        """The current coordinates, read-only; set them to change the state."""
        return self.current.q

    @q.setter
    def q(self, value: npt.ArrayLike) -> None:
        self.set_state(q=value)

    @property
    def v(self) -> Array:
        """The current velocities, read-only; set them to change the state."""
        return self.current.v

    @v.setter
    def v(self, value: npt.ArrayLike) -> None:
        self.set_state(v=value)

    @property
    def vdot(self) -> Array:
        """The current accelerations (zero unless set), read-only; set them to change the state."""
        return self.current.vdot

    @vdot.setter
    def vdot(self, value: npt.ArrayLike) -> None:
        self.set_state(vdot=value)

    def set_state(self, q: Any = None, v: Any = None, vdot: Any = None) -> None:
        """Change the current state, all or nothing: when one part is refused, none is changed."""
        new = self.current.replace(q, v, vdot)
        for what, x in (("q", new.configuration.q), ("v", new.motion.v), ("vdot", new.vdot)):
            if x.ndim > 1:
                raise StateError(
                    f"{what} of {self._name!r} holds one state, got an array of shape {x.shape}; "
                    "for a batch make a snapshot with mb.state(q, v)."
                )
        self._current = new

    def set_force(self, node: Frame | str, wrench: Any) -> None:
        """Let a wrench act at a node from now on: six numbers in node axes, or a `Wrench`; None ends it."""
        frame = force_frame(self, node)
        forces = {key: value for key, value in self._forces.items() if key is not frame}
        if wrench is not None:
            forces[frame] = read_wrench(self, frame, wrench)
            shape = np.shape(np.asarray(forces[frame]))
            if len(shape) != 1:
                raise StateError(
                    f"the wrench at {frame.full_name!r} must be one wrench, got an array of shape {shape}; "
                    "for a batch use mb.state(..., forces={node: wrenches})."
                )
        self._set_forces(forces)

    def clear_forces(self) -> None:
        """Take all external forces away."""
        self._set_forces({})

    def _set_forces(self, forces: dict[Frame, Wrench]) -> None:
        self._current = self.current.replace(forces=tuple(forces.items()))
        self._forces = forces

    # -- parts and copies ------------------------------------------------------------------------------------

    def subgraph(self, bodies: Iterable[Body | str], anchor: str = "rest") -> SubGraph:
        """Connected bodies as a graph of their own, with the same interface for operators and algorithms.

        What its root hangs from (its anchor) is at rest at its pose in the bound state; with
        `anchor="moving"` it has its velocity and acceleration. Connected sets that all hang from the inertial
        frame may be joined.
        """
        return SubGraph(self, bodies, anchor)

    def copy(self, name: str | None = None) -> Multibody:
        """An independent copy: bodies, nodes, state and external forces."""
        other = Multibody(self._name if name is None else name, self._gravity)
        for node in self._root.nodes:
            other.root.add_node(node.name, node.pose)
        for body in self.bodies:
            twin = other.add_body(
                body.name,
                None if isinstance(body.parent, Root) else body.parent.name,
                body.hinge, body.inertia, body.inboard, body.outboard, body.hinge_name,
            )  # fmt: skip
            for node in body.nodes:
                twin.add_node(node.name, node.pose)
        # the insertion order decides the order of siblings after later edits
        other._bodies = {name: other._bodies[name] for name in self._bodies}
        other._changed()
        other.set_state(self.q, self.v, self.vdot)
        for frame, wrench in self._forces.items():
            axes = wrench.expressed_in
            axes_name = axes.full_name if isinstance(axes, Frame) else None
            other.set_force(frame.full_name, Wrench(wrench.moment, wrench.force, axes_name))
        return other

    def __copy__(self) -> Multibody:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Multibody:
        return self.copy()


def _at_rest(hinge: Hinge) -> tuple[Array, Array, Array]:
    return np.asarray(hinge.neutral(), dtype=np.float64), np.zeros(hinge.nv), np.zeros(hinge.nv)


def _read_gravity(name: str, gravity: Any) -> Array:
    return frozen(finite(gravity, (3,), f"gravity of {name!r}"))


def _close(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return f"; did you mean {' or '.join(repr(each) for each in close)}?"
    return f"; it has {', '.join(repr(each) for each in known[:8])}{', ...' if len(known) > 8 else ''}."
