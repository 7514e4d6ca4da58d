"""The structure of a model: its frames by name, adding, removing and re-attaching bodies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from soacraft.algebra.tree import Tree
from soacraft.errors import ModelError, near
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.flat.layout import Layout
from soacraft.model.hinges.base import Hinge
from soacraft.model.hinges.watched import Watcher
from soacraft.model.states.frame_motion import FrameMotion
from soacraft.model.states.stated import Stated
from soacraft.model.tree.arguments import ROOT_NAME, read_hinge, read_inertia, read_name, read_pose
from soacraft.model.tree.attach import hinge_at, hinge_velocity
from soacraft.model.tree.drawing import Drawn
from soacraft.model.tree.frame import Body, Carrier, Frame, Node, Root
from soacraft.model.tree.graph import size_text
from soacraft.model.tree.lookup import Lookup
from soacraft.model.tree.names import frame_names, hinge_note
from soacraft.model.tree.tendons import Tendon
from soacraft.spatial.checks import Array, finite, frozen
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose

if TYPE_CHECKING:
    from soacraft.model.tree.multibody import Multibody

HingeState = tuple[Array, Array, Array]
Tell = Callable[[CompiledModel, int, Any], None]


class Structure(Lookup, Drawn, Stated, FrameMotion, Watcher):
    """The editable half of a `Multibody`. A change of structure counts `version` up, one of a parameter `parameters`.

    What was derived from the model belongs to both counts, which its `layout` carries. Edits, and the making of a
    layout, happen under a lock; a count grows before the edit, so that what other threads read meanwhile is refused.
    """

    def __init__(self, name: str, gravity: npt.ArrayLike) -> None:
        if not isinstance(name, str) or not name.strip():
            raise ModelError(f"the name of a model must be a non-empty string, got {name!r}.")
        self._name = name
        self._gravity = _read_gravity(name, gravity)
        self._root = Root(cast("Multibody", self))
        self._bodies: dict[str, Body] = {}
        self._hinges: dict[str, Body] = {}
        self._nodes: dict[str, Node] = {}  # by full name
        self._tendons: dict[str, Tendon] = {}
        self._parts: dict[Body, HingeState] = {}  # q, v, vdot of each hinge while there is no flat form
        self._version = self._parameters = 0
        self._layout: Layout | None = None
        self._lock = RLock()

    @abstractmethod
    def _keep_state(self) -> None:
        """Before a structural change: store the state by body."""

    @abstractmethod
    def _refuse_held(self, gone: set[Frame], hinge: tuple[Body, Hinge, str] | None = None) -> None:
        """Raise for frames, or a hinge that is to change, that closures, couplings, actuators or forces need."""

    def _changed(self) -> None:
        """Before a structural change: keep the state by body, drop the flat form, count the version up."""
        self._keep_state()
        if self._layout is not None:
            for model in self._layout.compiled:
                if model is not None:
                    model.kernels.retire()
            self._layout = None
        self._version += 1

    def _set(self, owner: Any, name: str, value: Any, tell: Tell | None = None) -> None:
        """Set a parameter of the model or of a frame of it. `tell` brings it to the compiled model, with the number of
        the body; without it the compiled model gets all parameters when it is next asked for.
        """
        with self._lock:
            before = self._parameters
            self._count_parameters()
            owner.__dict__[name] = value
            layout = self._layout
            if layout is None or not layout.compiled or layout.compiled[0] is None:
                return
            model: CompiledModel = layout.compiled[0]
            if tell is None or model.parameters != before:
                model.kernels.outdate()
                return
            tell(model, layout.index.get(owner, -1), value)
            model.parameters = before + 1

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
    def version(self) -> int:
        """The version of the structure: it grows when bodies, hinges, loops, couplings or tendons come or go."""
        return self._version

    @property
    def parameters(self) -> int:
        """The version of the parameters: it grows when inertias, constant poses, armature, springs, gravity or the
        attributes of a user's own hinge change. Handles, states and expressions stay valid then, with the new numbers.

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(2)
        >>> before = mb.version, mb.parameters
        >>> mb["link1"].inertia = Inertia(2.0)
        >>> mb.version == before[0], mb.parameters > before[1]
        (True, True)
        """
        return self._parameters

    def __contains__(self, name: object) -> bool:
        if isinstance(name, Frame):
            return name.graph is self and not name._removed
        return isinstance(name, str) and (self._find(name) is not None or name in self._hinges)

    def __repr__(self) -> str:
        n, nv = len(self._bodies), sum(body.hinge.nv for body in self._bodies.values())
        return f"Multibody {self._name!r}: {size_text(n, nv)}"

    def _find(self, name: str) -> Frame | None:
        return self._root if name == ROOT_NAME else self._bodies.get(name) or self._nodes.get(name)

    def _refuse_taken(self, full_name: str, new: str) -> None:
        """Raise for a new frame whose full name finds another one: body 'a/b', and node 'b' of body 'a'."""
        other = self._bodies.get(full_name) or self._nodes.get(full_name)
        if other is not None:
            whose = f" of {other.carrier.name!r}" if isinstance(other, Node) else ""
            raise ModelError(
                f"{new} cannot be told from {other.kind} {other.name!r}{whose}: both would be {full_name!r}; "
                "give one another name."
            )

    def frame(self, frame: Any) -> Frame:
        """A body, node or the inertial frame, from itself or its name: "upper", "upper/tool", "inertial"."""
        if isinstance(frame, Frame):
            if frame.graph is not self:
                other = f"({frame.graph.name!r}), not to" if frame.graph.name != self._name else "of the same name,"
                raise ModelError(
                    f"{frame.kind} {frame.full_name!r} belongs to another model {other} {self._name!r}."
                )
            frame.require_present()
            return frame
        if not isinstance(frame, str):
            raise ModelError(f"a frame of {self._name!r} is given by itself or its name, got {frame!r}.")
        found = self._find(frame)
        if found is None:
            hint = hinge_note(cast("Multibody", self), frame) or near(frame, frame_names(self), "it has")
            raise ModelError(f"{self._name!r} has no frame {frame!r}{hint}")
        return found

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

        >>> from soacraft.model import Multibody
        >>> from soacraft.model.hinges import Prismatic
        >>> mb = Multibody("rail")
        >>> mb.add_body("cart", hinge=Prismatic(axis=(1, 0, 0)), inertia=Inertia(2.0))
        body 'cart' on 'inertial' by Prismatic(axis=(1, 0, 0))
        """
        read_name("body", name)
        if name in self._bodies:
            raise ModelError(f"{self._name!r} already has a body {name!r}; names are unique.")
        self._refuse_taken(name, f"body {name!r}")
        carrier = self._carrier(parent)
        hinge = read_hinge(hinge, name)
        hinge_name = self._hinge_name(name if hinge_name is None else hinge_name, None)
        inertia = read_inertia(inertia, name)
        inboard = read_pose(inboard, f"inboard of {name!r}")
        outboard = read_pose(outboard, f"outboard of {name!r}")
        body = Body(carrier, name, hinge, hinge_name, inertia, inboard, outboard)
        with self._lock:
            self._changed()
            self._bodies[name] = self._hinges[hinge_name] = body
            carrier._children[name] = body
            hinge.watch(self)
        return body

    def remove(self, body: Body | str, subtree: bool = False) -> None:
        """Take a body, with `subtree=True` also all that hangs from it, out; their handles become stale.

        The state of what remains is kept. What loops, couplings, actuators or stored forces need is refused.

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(3)
        >>> mb.remove("link2", subtree=True)
        >>> mb
        Multibody 'chain': 1 body, 1 dof
        """
        found = self.body(body)
        if found._children and not subtree:
            raise ModelError(
                f"body {found.name!r} carries {', '.join(map(repr, found._children))}; remove them too "
                f"with mb.remove({found.name!r}, subtree=True), or reattach them first."
            )
        gone = list(found.subtree())
        self._refuse_held(set(gone))
        with self._lock:
            self._changed()
            del found.parent._children[found.name]
            for each in gone:
                del self._bodies[each.name], self._hinges[each.hinge_name]
                self._parts.pop(each, None)
                for node in each._nodes.values():
                    del self._nodes[node.full_name]
                each._removed = True

    def reattach(
        self,
        body: Body | str,
        parent: Body | Root | str | None,
        hinge: Hinge | None = None,
        inboard: Pose | None = None,
        outboard: Pose | None = None,
        keep_pose: bool = False,
        hinge_name: str | None = None,
    ) -> Body:
        """Hang a body, with all that is outboard of it, on another parent by a new hinge.

        The state of everything else is kept. The new hinge has no armature, springs or limits: a hinge that has some
        is refused until they are taken away. It starts, and is in every keyframe, neutral and at rest; with `keep_pose`
        it starts where the body keeps its pose in the inertial frame (refused when the hinge cannot reach it) and, if
        the hinge allows it, its velocity.

        >>> from soacraft.model import serial_chain
        >>> from soacraft.model.hinges import Free
        >>> mb = serial_chain(3)
        >>> before = mb.pose("link3")
        >>> mb.reattach("link3", parent=None, hinge=Free(), keep_pose=True)
        body 'link3' on 'inertial' by Free()
        >>> mb.pose("link3").is_close(before)
        True
        """
        found, carrier = self.body(body), self._carrier(parent)
        hinge = read_hinge(hinge, found.name)
        hinge_name = found.hinge_name if hinge_name is None else self._hinge_name(hinge_name, found)
        inboard = read_pose(inboard, f"inboard of {found.name!r}")
        outboard = read_pose(outboard, f"outboard of {found.name!r}")
        self._refuse_loop(found, carrier, hinge_name)
        self._refuse_held(set(), (found, hinge, hinge_name))
        q, v = np.asarray(hinge.neutral(), dtype=np.float64), np.zeros(hinge.nv)
        if keep_pose:
            pose = self.pose(found, carrier)
            length = sum(float(np.linalg.norm(x.translation)) for x in (inboard, pose, outboard)) or 1.0
            q = hinge_at(hinge, inboard.inv @ pose @ outboard.inv, length, hinge_name, found.name)
            v = hinge_velocity(hinge, q, outboard, np.asarray(self.velocity(found, carrier, found)), length)
        with self._lock:
            self._changed()
            del found.parent._children[found.name], self._hinges[found.hinge_name]
            carrier._children[found.name] = self._hinges[hinge_name] = found
            found._parent, found._hinge, found._hinge_name = carrier, hinge, hinge_name
            found._inboard, found._outboard = inboard, outboard
            found._plain_hinge()
            self._parts[found] = (q, v, np.zeros(hinge.nv))
            hinge.watch(self)
        return found

    def _hinge_changes(self) -> None:
        """An attribute of a user's own hinge: all that was derived from it is of older parameters."""
        with self._lock:
            self._count_parameters()

    @abstractmethod
    def _count_parameters(self) -> None:
        """Before a parameter changes: count the version up."""

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

    @property
    def gravity(self) -> Array:
        """The acceleration of gravity in the inertial frame (3)."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: npt.ArrayLike) -> None:
        g = _read_gravity(self._name, value)
        self._set(self, "_gravity", g, _tell_gravity)

    @property
    def total_mass(self) -> float:
        """The sum of the bodies' masses."""
        return float(sum(body.inertia.mass for body in self._bodies.values()))

    # -- the flat form ---------------------------------------------------------------------------------------

    @property
    def layout(self) -> Layout:
        """The constant flat form, made when first read after a change: O(n), of a parameter O(1) until it is read."""
        layout = self._layout
        if layout is None or layout.parameters != self.parameters:
            with self._lock:
                layout = self._layout = self._make_layout() if self._layout is None else self._layout.renewed()
        return layout

    def _make_layout(self) -> Layout:
        bodies = list(self._bodies.values())
        number = {body: k for k, body in enumerate(bodies)}
        parents = [number.get(body._parent, -1) for body in bodies]  # type: ignore[call-overload]
        if any(p >= k for k, p in enumerate(parents)):
            order = Tree(parents, list(self._bodies)).base_to_tips()
            bodies = [bodies[k] for k in order]
        return Layout(self, bodies, self._tendons.values())


def _tell_gravity(model: CompiledModel, k: int, gravity: Array) -> None:
    model.kernels.set_gravity(gravity)


def _read_gravity(name: str, gravity: Any) -> Array:
    return frozen(finite(gravity, (3,), f"gravity of {name!r}"))
