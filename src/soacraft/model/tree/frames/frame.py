"""Frames of a model: the inertial frame, bodies, and the nodes fixed on them.

A body's chain: parent body frame -> (inboard, constant) -> inboard hinge frame -> (hinge) -> outboard hinge
frame -> (outboard, constant) -> body frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from soacraft.attributes import Strict
from soacraft.errors import ModelError, StaleError
from soacraft.model.hinges.base import Hinge
from soacraft.model.modal.hanging import read_points
from soacraft.model.tree.arguments import ROOT_NAME, read_inertia, read_name, read_pose, read_role
from soacraft.model.tree.cures import CURES_OF_BODIES
from soacraft.model.tree.edits import Compiled, Tell
from soacraft.model.tree.frames.owner import Owner
from soacraft.model.tree.parts.catalogue import Catalogue
from soacraft.model.tree.parts.properties import Limits, Passive, no_limits, no_passive, read_armature
from soacraft.model.tree.parts.records import Geometry
from soacraft.spatial.checks import Array, finite, frozen
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose

if TYPE_CHECKING:
    from soacraft.model.modal.data import ModalData, ModalNode
    from soacraft.model.tree.frames.hinge_frame import HingeFrame


class Frame(Strict):
    """A named frame of a `Multibody`: its inertial frame, a body, a node, a frame of a hinge. Compared by identity."""

    _graph: Owner
    _name: str
    _removed = False
    kind = "frame"

    @property
    def name(self) -> str:
        """The frame's own name (for a node, within its body)."""
        return self._name

    @property
    def full_name(self) -> str:
        """The name that finds the frame in its model: `mb[frame.full_name] is frame`."""
        return self._name

    @property
    def graph(self) -> Owner:
        """The model the frame belongs to."""
        return self._graph

    @property
    def carrier(self) -> Carrier:
        """The body (or inertial frame) the frame is fixed on: itself, unless it is a node."""
        raise AssertionError("every kind of frame says what carries it")

    @property
    def offset(self) -> Pose:
        """The constant pose of the frame in its carrier's frame."""
        return Pose()

    @property
    def modal_node(self) -> ModalNode | None:
        """The deforming node of a flexible body that the frame is fixed on; `offset` is then that of no deformation."""
        return None

    def needs(self, gone: AbstractSet[Frame]) -> bool:
        """True if it is removed with one of these frames: with itself or with its carrier."""
        return self in gone or self.carrier in gone

    def _called(self) -> str:
        return f"{self.kind} {self.full_name!r}"

    def __reduce__(self) -> tuple[Any, ...]:
        self.require_present()  # a removed frame has no model
        carrier = self.carrier
        name = None if isinstance(carrier, Root) else carrier.name
        return find_frame, (self._graph, name, self._name if isinstance(self, Node) else None)

    def require_present(self) -> None:
        """Raise `StaleError` when the frame was removed from its model."""
        if self._removed:
            raise StaleError(
                f"{self.kind} {self.full_name!r} was removed from {self._graph.name!r}; "
                "look it up, or add it again."
            )


class Carrier(Frame):
    """A frame that carries nodes and on which bodies hang: the inertial frame or a body."""

    _nodes: dict[str, Node]
    _children: dict[str, Body]
    _geometries: Mapping[str, Geometry] = MappingProxyType({})  # an own dict from the first one on

    @property
    def carrier(self) -> Carrier:
        """Itself."""
        return self

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes on this frame, in the order they were added."""
        return tuple(self._nodes.values())

    @property
    def children(self) -> tuple[Body, ...]:
        """The bodies attached to this frame, in the order they were attached."""
        return tuple(self._children.values())

    def add_node(self, name: str, pose: Pose | None = None, on: str | None = None, role: str = "") -> Node:
        """Fix a node on this frame; `pose` is the node's pose in it (default: at its origin). `role` is its purpose,
        such as "sensor" or "actuator"; `sc.sim.Plant.kinematics` asks for all nodes of one.

        On a flexible body `on` names a node of its modal data: the new one moves with that, at `pose` relative to it.

        >>> from soacraft.model.tree.multibody import Multibody
        >>> mb = Multibody("shop")
        >>> dock = mb.root.add_node("dock", Pose(translation=(1, 0, 0)))
        >>> mb["inertial/dock"] is dock
        True
        """
        self.require_present()
        read_name("node", name)
        if name in self._nodes:
            raise ModelError(f"{self.kind} {self.name!r} already has a node {name!r}; names are unique within a body.")
        self._graph._tree.refuse_taken(f"{self.full_name}/{name}", f"node {name!r} of {self.name!r}")
        at, modal = read_pose(pose, f"the pose of node {self.full_name}/{name}"), None
        if on is not None:
            data = self._modal if isinstance(self, Body) else None
            if data is None:
                raise ModelError(f"node {name!r} cannot be on {on!r}: {self.kind} {self.name!r} is rigid.")
            modal = data.node(on)
            at = modal.pose @ at
        node = Node(self, name, at, modal, read_role(role, f"{self.full_name}/{name}"))
        with self._graph._edits.lock:
            self._graph._tree.add_node(node)
            self._graph._edits.changed("structure")
        return node

    def remove_node(self, node: Node | str) -> None:
        """Take a node off this frame; its handle becomes stale. One that a loop or a stored force needs is refused."""
        self.require_present()
        name = node if isinstance(node, str) else node.name
        found = self._nodes.get(name)
        if found is None or (isinstance(node, Node) and found is not node):
            raise ModelError(f"{self.kind} {self.name!r} has no node {name!r}; it has {_list(self._nodes)}.")
        self._graph._refuse_held({found})
        with self._graph._edits.lock:
            self._graph._edits.structure()
            self._graph._tree.remove_node(found)

    @property
    def geometries(self) -> Catalogue[Geometry]:
        """The shapes fixed on this frame, by name or number."""
        return Catalogue(self._geometries.values(), "geometry")

    def add_geometry(self, geometry: Geometry) -> Geometry:
        """Fix a shape on this frame; one without a name gets one. It has no inertia.

        >>> from soacraft.model.tree.multibody import Multibody
        >>> mb = Multibody("shop")
        >>> mb.root.add_geometry(Geometry("", "plane")).name
        'geometry0'
        """
        self.require_present()
        if not isinstance(geometry, Geometry):
            raise ModelError(f"add_geometry takes a Geometry(name, kind, size, ...), got {geometry!r:.60}.")
        if not geometry.name:
            free = (f"geometry{i}" for i in range(len(self._geometries) + 1))
            geometry = replace(geometry, name=next(name for name in free if name not in self._geometries))
        if geometry.name in self._geometries:
            raise ModelError(f"{self.kind} {self.name!r} already has a geometry {geometry.name!r}; names are unique.")
        if not isinstance(self._geometries, dict):
            self._geometries = {}
        self._geometries[geometry.name] = geometry
        self._graph._edits.changed("geometry")
        return geometry

    def remove_geometry(self, geometry: Geometry | str) -> None:
        """Take a shape off this frame."""
        self.require_present()
        found = self.geometries.find(geometry)
        self._geometries = {name: each for name, each in self._geometries.items() if name != found.name}
        self._graph._edits.changed("geometry")


class Root(Carrier):
    """The inertial frame of a model; `mb.root`."""

    kind = "the inertial frame"

    def __init__(self, graph: Owner) -> None:
        self._graph, self._name = graph, ROOT_NAME
        self._nodes, self._children = {}, {}

    def __repr__(self) -> str:
        return f"inertial frame of {self._graph.name!r}"


class Body(Carrier):
    """A rigid body with the hinge between it and its parent. Made by `Multibody.add_body`.

    `inertia`, `inboard`, `outboard`, `gravity_compensation`, and the hinge's `armature`, `passive` and `limits` can be
    set; the hinge and the parent change by `mb.reattach`.
    """

    kind = "body"
    _cures: ClassVar = CURES_OF_BODIES
    _parent: Carrier
    _hinge: Hinge
    _hinge_name: str
    _inertia: Inertia
    _inboard: Pose
    _outboard: Pose
    _armature: Array | None = None
    _passive: Passive | None = None
    _limits: Limits | None = None
    _compensation: float = 0.0
    _own: tuple[str, ...] = ()  # names of modal coordinates: of a rigid body none
    _modal: ModalData | None = None
    _rides: ModalNode | None = None  # the node of a flexible parent that the inboard hinge frame is on
    _held: ModalNode | None = None  # the own node that the outboard hinge frame is on

    def __init__(
        self,
        parent: Carrier,
        name: str,
        hinge: Hinge,
        hinge_name: str,
        inertia: Inertia,
        inboard: Pose,
        outboard: Pose,
    ) -> None:
        vars(self).update(
            _graph=parent.graph, _name=name, _parent=parent, _hinge=hinge, _hinge_name=hinge_name,
            _inertia=inertia, _inboard=inboard, _outboard=outboard, _nodes={}, _children={},
        )  # fmt: skip  (at once: models have thousands of bodies)

    def _plain_hinge(self) -> None:
        """A hinge without rotors, springs or limits."""
        self._armature, self._passive, self._limits = None, None, None

    @property
    def parent(self) -> Body | Root:
        """Parent of this body: a body, or the inertial frame."""
        assert isinstance(self._parent, Body | Root)
        return self._parent

    @property
    def hinge(self) -> Hinge:
        """The hinge between the parent and this body."""
        return self._hinge

    @property
    def hinge_name(self) -> str:
        """The hinge's name, by default the body's; `mb.dof_names` are made of it."""
        return self._hinge_name

    @property
    def inertia(self) -> Inertia:
        """Mass, centre of mass and moment."""
        return self._inertia

    @inertia.setter
    def inertia(self, value: Inertia) -> None:
        _refuse_none(value, "inertia", self)
        if self._modal is not None:
            raise ModelError(f"the inertia of flexible body {self.name!r} is that of its modal data; make other data.")
        value = read_inertia(value, self.name)
        self.require_present()
        compensated = self._compensation != 0.0  # by a force that depends on the mass
        self._graph._edits.set(self, "_inertia", value, None if compensated else _tell_inertia)

    @property
    def modal(self) -> ModalData | None:
        """The modes of a flexible body; None of a rigid one."""
        return self._modal

    @property
    def eta(self) -> Array:
        """The current modal coordinates of a flexible body (n), read-only; of a rigid one there are none."""
        self.require_present()
        layout = self._graph.layout
        k = layout.index[self]
        eta: Array = self._graph.current.q[layout.hinge_q[k].stop : layout.q_slices[k].stop]
        return eta

    def deformed(self, points: Any = None, eta: Any = None) -> Array:
        """Positions of points of a flexible body in its frame at modal coordinates (default: the current ones): those
        of its modal data, (k, 3), or some of them by number (whole numbers) or by their undeformed places (m, 3).
        """
        self.require_present()
        data = self._modal
        if data is None or data.points is None or data.shapes is None:
            raise ModelError(f"body {self.name!r} has no modal data with points and shapes to deform.")
        chosen = read_points(data.points, points, self.name)
        x = self.eta if eta is None else finite(eta, (..., data.n), f"eta of {self.name!r}")
        shapes = data.shapes[chosen].reshape(*(1,) * (x.ndim - 1), *chosen.shape, 3, data.n)
        moved = shapes @ x.reshape(*x.shape[:-1], *(1,) * chosen.ndim, data.n, 1)
        return np.asarray(data.points[chosen] + moved[..., 0])

    @property
    def inboard(self) -> Pose:
        """The constant pose of the inboard hinge frame in the parent's body frame."""
        return self._inboard

    @inboard.setter
    def inboard(self, value: Pose) -> None:
        _refuse_none(value, "inboard", self)
        value = read_pose(value, f"inboard of {self.name!r}")
        self.require_present()
        self._graph._edits.set(self, "_inboard", value, _unless_linked(self, _tell_inboard))

    @property
    def outboard(self) -> Pose:
        """The constant pose of the body frame in the outboard hinge frame."""
        return self._outboard

    @outboard.setter
    def outboard(self, value: Pose) -> None:
        _refuse_none(value, "outboard", self)
        value = read_pose(value, f"outboard of {self.name!r}")
        self.require_present()
        self._graph._edits.set(self, "_outboard", value, _unless_linked(self, _tell_outboard))

    @property
    def inboard_frame(self) -> HingeFrame:
        """The inboard frame of the hinge, fixed on the parent; `mb["body/inboard"]`."""
        return self._hinge_frames()[0]

    @property
    def outboard_frame(self) -> HingeFrame:
        """The outboard frame of the hinge, fixed on this body; `mb["body/outboard"]`."""
        return self._hinge_frames()[1]

    def _hinge_frames(self) -> tuple[HingeFrame, HingeFrame]:
        """Both, made when first asked for; always the same two."""
        # these frames are frames of bodies, and bodies make them: of two modules, one is imported late
        from soacraft.model.tree.frames.hinge_frame import INBOARD, OUTBOARD, HingeFrame

        made: tuple[HingeFrame, HingeFrame] = self.__dict__.get("_frames") or self.__dict__.setdefault(
            "_frames", (HingeFrame(self, INBOARD), HingeFrame(self, OUTBOARD))
        )
        return made

    @property
    def armature(self) -> Array:
        """Inertia of rotors on each dof of the hinge (nv), read-only. A single number is used for all dofs.

        It is a block extension of the node (formula F1): the mass matrix gains it on its diagonal. A hinge that gets
        its first one, or loses it, has nodes of another size: old states and expressions are stale then.
        """
        return frozen(np.zeros(self.hinge.nv)) if self._armature is None else self._armature

    @armature.setter
    def armature(self, value: Any) -> None:
        J = read_armature(value, self.hinge, f"hinge {self.hinge_name!r}")
        self.require_present()
        with self._graph._edits.lock:
            if (J is None) == (self._armature is None):
                self._graph._edits.set(self, "_armature", J, _tell_armature)
            else:  # another size of the node
                self._graph._edits.structure()
                self._armature = J

    @property
    def passive(self) -> Passive:
        """Springs, dampers and friction of the hinge. Springs and dampers act in all dynamics; `passive=False` leaves
        them out, `dynamics.passive_force` gives their force.
        """
        return no_passive(self.hinge.nv) if self._passive is None else self._passive

    @passive.setter
    def passive(self, value: Passive) -> None:
        if not isinstance(value, Passive):
            raise ModelError(f"passive of hinge {self.hinge_name!r} must be a Passive(...), got {value!r:.60}.")
        sized = value.sized(self.hinge, f"hinge {self.hinge_name!r}")
        self.require_present()
        self._graph._edits.set(self, "_passive", sized)

    @property
    def gravity_compensation(self) -> float:
        """The part of the body's weight that a force at its centre of mass carries: 0 none of it, 1 all.

        The force -compensation m g is a passive force, as springs are.
        """
        return self._compensation

    @gravity_compensation.setter
    def gravity_compensation(self, value: float) -> None:
        part = float(finite(value, (), f"gravity_compensation of {self.name!r}")) + 0.0  # no negative zero
        if part and self._modal is not None:
            raise ModelError(
                f"flexible body {self.name!r} has no gravity_compensation: one force at its centre of mass would bend "
                "it, and the weight of its modes has no such point. Give forces at its nodes with mb.set_force."
            )
        self.require_present()
        self._graph._edits.set(self, "_compensation", part)

    @property
    def limits(self) -> Limits:
        """Bounds of the hinge's coordinates, velocities and efforts; kept, not enforced."""
        return no_limits(self.hinge.nv) if self._limits is None else self._limits

    @limits.setter
    def limits(self, value: Limits) -> None:
        if not isinstance(value, Limits):
            raise ModelError(f"limits of hinge {self.hinge_name!r} must be Limits(...), got {value!r:.60}.")
        sized = value.sized(self.hinge, f"hinge {self.hinge_name!r}")
        self.require_present()
        self._limits = sized
        self._graph._edits.changed("records")

    @property
    def q_slice(self) -> slice:
        """Slice of the hinge's coordinates in `mb.q`."""
        self.require_present()
        return self._graph.q_slice(self)

    @property
    def v_slice(self) -> slice:
        """Slice of the hinge's velocities in `mb.v`."""
        self.require_present()
        return self._graph.v_slice(self)

    def subtree(self) -> Iterator[Body]:
        """This body and every body outboard of it, parents first."""
        waiting = [self]
        while waiting:
            body = waiting.pop()
            yield body
            waiting.extend(reversed(body._children.values()))

    def __repr__(self) -> str:
        if self._removed:
            return f"body {self.name!r} (removed)"
        return f"body {self.name!r} on {self.parent.name!r} by {self.hinge!r}"


class Node(Frame):
    """A frame fixed on a body or on the inertial frame: where forces act and motion is asked for."""

    kind = "node"
    _cures: ClassVar = {
        **dict.fromkeys(("offset", "position", "rotation", "translation"), "set node.pose = sc.Pose(...)"),
        "body": "a node stays on its body; add one to the other body with body.add_node(...)",
        "force": "let a force act with mb.set_force(node, wrench)",
        "wrench": "let a force act with mb.set_force(node, wrench)",
    }

    _modal: ModalNode | None = None
    _role = ""

    def __init__(
        self, carrier: Carrier, name: str, pose: Pose, modal: ModalNode | None = None, role: str = ""
    ) -> None:
        self._graph, self._name, self._carrier, self._pose = carrier.graph, name, carrier, pose
        if modal is not None:
            self._modal = modal
        if role:
            self._role = role

    @property
    def role(self) -> str:
        """Purpose, such as "sensor" or "actuator"; empty by default. Can be set."""
        return self._role

    @role.setter
    def role(self, value: str) -> None:
        self.require_present()
        self._role = read_role(value, self.full_name)
        self._graph._edits.changed("records")

    @property
    def modal_node(self) -> ModalNode | None:
        """The deforming node it is fixed on, None on a rigid body."""
        return self._modal

    @property
    def full_name(self) -> str:
        """`body/node`; both may hold '/' themselves, since no two frames of a model have the same full name."""
        return f"{self._carrier.name}/{self._name}"

    @property
    def carrier(self) -> Carrier:
        """The body (or inertial frame) the node is on."""
        return self._carrier

    @property
    def body(self) -> Body | Root:
        """The body (or inertial frame) the node is on."""
        assert isinstance(self._carrier, Body | Root)
        return self._carrier

    @property
    def pose(self) -> Pose:
        """The constant pose of the node in its body's frame."""
        return self._pose

    @pose.setter
    def pose(self, value: Pose) -> None:
        _refuse_none(value, "pose", self)
        value = read_pose(value, f"the pose of node {self.full_name}")
        self.require_present()
        self._graph._edits.set(self, "_pose", value, _unless_linked(self, _tell_node))

    @property
    def offset(self) -> Pose:
        """The constant pose of the node in its body's frame."""
        return self._pose

    def require_present(self) -> None:
        """Raise `StaleError` when the node, or the body it is on, was removed."""
        self._carrier.require_present()
        super().require_present()

    def __repr__(self) -> str:
        return f"node {self.full_name!r}"


def find_frame(mb: Owner, carrier: str | None, node: str | None) -> Frame:
    """A frame of a model that is perhaps still empty, as unpickling makes it."""
    on: Carrier = mb.root if carrier is None else mb._tree.bodies[carrier]
    return on if node is None else on._nodes[node]


# -- what the compiled model of a graph is told of one parameter -------------------------------------------


def _unless_linked(frame: Frame, tell: Tell) -> Tell | None:
    """None where springs or bushings between nodes may move with a pose: the compiled model gets all of them again."""
    parts = frame._graph._attachments
    return None if parts.springs or parts.bushings else tell


def _tell_inertia(model: Compiled, k: int, inertia: Inertia) -> None:
    model.kernels.set_inertia(k, inertia._mass, inertia._com, inertia._moment)


def _tell_inboard(model: Compiled, k: int, pose: Pose) -> None:
    model.kernels.set_pose(k, True, pose.rotation, pose.translation)
    model.frames.clear()


def _tell_outboard(model: Compiled, k: int, pose: Pose) -> None:
    model.kernels.set_pose(k, False, pose.rotation, pose.translation)
    model.frames.clear()


def _tell_armature(model: Compiled, k: int, armature: Array | None) -> None:
    if armature is not None:
        model.kernels.set_armature(k, armature)


def _tell_node(model: Compiled, k: int, pose: Pose) -> None:
    model.kernels.touch()
    model.frames.clear()


def _refuse_none(value: Any, what: str, frame: Frame) -> None:
    """Refuse None, which means a default where a frame is made; set later it would remove the value."""
    if value is None:
        plain = "Inertia" if what == "inertia" else "Pose"
        raise ModelError(f"{what} of {frame.full_name!r} cannot be None; for none at all set sc.{plain}().")


def _list(names: Any) -> str:
    return ", ".join(repr(name) for name in names) or "none"
