"""`Multibody`: an editable tree of rigid bodies with a state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.errors import ModelError
from soacraft.hints import hinted
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.flat.layout import Layout
from soacraft.model.flat.plans import Store
from soacraft.model.hinges.base import Hinge
from soacraft.model.hinges.knife_edge import KnifeEdge
from soacraft.model.hinges.spherical import Spherical
from soacraft.model.modal.data import ModalData
from soacraft.model.states.current import CurrentState
from soacraft.model.states.frame_motion import FrameMotion
from soacraft.model.states.read_only import reads_state
from soacraft.model.states.state import State
from soacraft.model.states.stated import Stated
from soacraft.model.tree import editing, packing, subscriptions
from soacraft.model.tree.attachments import Attachments
from soacraft.model.tree.body_tree import BodyTree
from soacraft.model.tree.drawing import Drawn
from soacraft.model.tree.edits import Edits
from soacraft.model.tree.frames.frame import Body, Frame, Node, Root
from soacraft.model.tree.graph import size_text, ties_text
from soacraft.model.tree.joining import extracting, joining
from soacraft.model.tree.joining.copying import copy_into
from soacraft.model.tree.lookup import Lookup
from soacraft.model.tree.parts import gears
from soacraft.model.tree.parts.catalogue import Catalogue
from soacraft.model.tree.parts.closures import Closure, Coupling, one_sided_attributes, refuse_reserved
from soacraft.model.tree.parts.curves import Curve
from soacraft.model.tree.parts.import_report import ImportReport
from soacraft.model.tree.parts.records import Actuator, Keyframe, Material, Record
from soacraft.model.tree.parts.rolling import rolling_hinge
from soacraft.model.tree.parts.springs import Bushing, Spring
from soacraft.model.tree.parts.tendons import Tendon
from soacraft.model.tree.subgraph import SubGraph
from soacraft.model.tree.subscriptions import Change, Subscription
from soacraft.spatial.checks import Array, finite, frozen
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose
from soacraft.spatial.wrench import Wrench

STANDARD_GRAVITY = (0.0, 0.0, -9.80665)


class Multibody(Lookup, Drawn, Stated, FrameMotion):
    """A tree of rigid bodies, editable at any time, with its current state `q, v, vdot` and external forces.

    Loop closures and couplings tie it together; geometry, actuators, keyframes and records go with it.

    >>> from soacraft.model.hinges import Pin
    >>> from soacraft.spatial import Inertia, Pose
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
        self._tree = BodyTree(Root(self))
        self._attachments = Attachments(self)
        self._state = CurrentState(self)
        self._edits = Edits(self._state)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    def __repr__(self) -> str:
        n, nv = len(self._tree.bodies), sum(body.hinge.nv + len(body._own) for body in self._tree.bodies.values())
        ties = ties_text(len(self.loops), len(self.couplings))
        return f"Multibody {self._name!r}: {size_text(n, nv)}{ties and f', {ties}'}"

    # -- versions and the flat form --------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The version of the structure: it grows when bodies, hinges, loops, couplings or tendons come or go."""
        return self._edits.version

    @property
    def revision(self) -> int:
        """The count of all edits, also of shapes, limits and records; states and forces are none."""
        return self._edits.revision

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
        return self._edits.parameters

    @property
    def layout(self) -> Layout:
        """The constant flat form, made when first read after a change: O(n), of a parameter O(1) until it is read."""
        edits = self._edits
        layout = edits.layout
        if layout is None or layout.parameters != edits.parameters:
            with edits.lock:
                layout = edits.layout = self._made_layout() if edits.layout is None else edits.layout.renewed()
        return layout

    def _made_layout(self) -> Layout:
        kept = self._attachments
        return Layout(
            self, self._tree.parents_first(), kept.tendons.values(), kept.springs.values(), kept.bushings.values()
        )

    # -- the tree --------------------------------------------------------------------------------------------

    @property
    def root(self) -> Root:
        """The inertial frame; nodes can be added to it."""
        return self._tree.root

    def frame(self, frame: Any) -> Frame:
        """A body, node or the inertial frame, from itself or its name: "upper", "upper/tool", "inertial"."""
        return self._tree.frame(frame)

    def __contains__(self, name: object) -> bool:
        if isinstance(name, Frame):
            return name.graph is self and not name._removed
        return isinstance(name, str) and (self._tree.find(name) is not None or name in self._tree.hinges)

    @hinted
    def add_body(
        self,
        name: str,
        parent: Body | Root | Node | str | None = None,
        hinge: Hinge | None = None,
        inertia: Inertia | None = None,
        inboard: Pose | None = None,
        outboard: Pose | None = None,
        hinge_name: str | None = None,
        *,
        modal: ModalData | None = None,
        hinge_node: str | None = None,
        compliance: npt.ArrayLike | None = None,
    ) -> Body:
        """Hang a new body on `parent` (None: the inertial frame) by `hinge`. O(1).

        `parent` is a body or a node on one. `inboard` is the pose of the inboard hinge frame in the parent's frame,
        `outboard` that of the body frame in the outboard hinge frame. The hinge starts neutral and at rest; other
        hinges keep their state.

        With `modal` data the body is flexible: its modal coordinates follow those of the hinge in q and v, its dofs are
        `name.mode0`, ..., its nodes those of the data. `hinge_node` names the node of it that the hinge holds, of which
        `outboard` is the pose then; without it the hinge holds the body frame, and no mode may move the point there.

        With a `compliance` the hinge is flexible: it gives way in directions that it does not allow, [turn; travel] by
        [moment; force] in the axes of the outboard hinge frame, six numbers (rad/N m, m/N) or a symmetric (6, 6)
        matrix. It is then a hinge of its rigid dofs and an elastic one for each such direction, whose springs are in
        `body.passive`; where the compliance is zero it is rigid.

        >>> from soacraft.model import Multibody
        >>> from soacraft.model.hinges import Pin, Prismatic
        >>> mb = Multibody("rail")
        >>> mb.add_body("cart", hinge=Prismatic(axis=(1, 0, 0)), inertia=Inertia(2.0))
        body 'cart' on 'inertial' by Prismatic(axis=(1, 0, 0))
        >>> wheel = mb.add_body("wheel", "cart", Pin((0, 1, 0)), Inertia(1.0), compliance=[0, 0, 0, 0, 0, 1e-4])
        >>> wheel.hinge.nv, wheel.passive.stiffness.round(9)
        (2, array([    0., 10000.]))
        """
        return editing.add_body(
            self, name, parent, hinge, inertia, inboard, outboard, hinge_name, modal, hinge_node, compliance
        )

    def remove(self, body: Body | str, subtree: bool = False) -> None:
        """Remove a body, with `subtree=True` also all bodies outboard of it; their handles become stale.

        The state of the remaining bodies is kept. Bodies that loops, couplings, actuators or stored forces need are
        refused.

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(3)
        >>> mb.remove("link2", subtree=True)
        >>> mb
        Multibody 'chain': 1 body, 1 dof
        """
        editing.remove(self, body, subtree)

    def reattach(
        self,
        body: Body | str,
        parent: Body | Root | Node | str | None,
        hinge: Hinge | None = None,
        inboard: Pose | None = None,
        outboard: Pose | None = None,
        keep_pose: bool = False,
        hinge_name: str | None = None,
        *,
        hinge_node: str | None = None,
    ) -> Body:
        """Hang a body, with all that is outboard of it, on another parent, a body or a node, by a new hinge.

        A flexible body keeps its modal coordinates; `hinge_node` is the node of it that the hinge holds (`add_body`).

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
        return editing.reattach(
            self, body, parent, hinge, inboard, outboard, keep_pose, hinge_name, hinge_node
        )

    def add_geared_hinge(
        self,
        name: str,
        parent: Body | Root | str | None = None,
        hinge: Hinge | None = None,
        inertia: Inertia | None = None,
        *,
        ratio: float,
        rotor: Inertia,
        rotor_axis: npt.ArrayLike | None = None,
        rotor_pose: Pose | None = None,
        inboard: Pose | None = None,
        outboard: Pose | None = None,
        hinge_name: str | None = None,
        stiffness: float | Curve | None = None,
        damping: float | Curve = 0.0,
        approximate: str | None = None,
    ) -> Body:
        """Hang a link on `parent` by a hinge of one dof that a rotor drives through a gear (formula F12). O(1).

        It also adds a body `name_rotor`, on the same parent by a pin about `rotor_axis` (default: the axis of the
        hinge) at `rotor_pose` (default: `inboard`), and a coupling `name_gear`: the rotor turns by `ratio` for each
        radian or metre of the hinge. The rotor's inertia is exact, its gyroscopic moments included. `sc.loops` solves
        for both: `ConstraintEmbedding` as one compound body, `sc.loops.geared_sko` in closed form.

        >>> from soacraft.model.tree.multibody import Multibody
        >>> from soacraft.model.hinges import Pin
        >>> mb = Multibody("arm")
        >>> mb.add_geared_hinge("upper", None, Pin((0, 0, 1)), Inertia(2.0), ratio=100, rotor=Inertia(0.1))
        body 'upper' on 'inertial' by Pin(axis=(0, 0, 1))
        >>> list(mb.couplings)
        [coupling 'upper_gear': 1 upper_rotor + -100 upper = 0]

        With a `stiffness` the joint is elastic: a spring and a damper between the hinge and the gear take the place of
        the coupling, along `theta - phi / ratio` with theta of the hinge and phi of the rotor. Both dofs are free, the
        model is a tree, and the force of the motor acts on the rotor. `approximate="spong"` leaves out that the spin of
        the rotor is coupled to the motion of its parent: the rotor is welded there as `name_rotor_mass`, and its spin
        inertia is the armature of a body `name_rotor` without mass.

        >>> elastic = Multibody("arm")
        >>> given = {"ratio": 100, "rotor": Inertia(0.1), "stiffness": 5}
        >>> _ = elastic.add_geared_hinge("upper", None, Pin((0, 0, 1)), Inertia(2.0), **given)
        >>> elastic.tendons["upper_gear"]
        tendon 'upper_gear': L = 1 upper + -0.01 upper_rotor, stiffness 5 from 0, damping 0
        """
        return gears.add_geared_hinge(
            self, name, parent, hinge, inertia, ratio, rotor, rotor_axis, rotor_pose, inboard, outboard, hinge_name,
            stiffness, damping, approximate,
        )  # fmt: skip

    def subscribe(self, function: Callable[[Change], Any]) -> Subscription:
        """Call a function after every change of this model, until `cancel()` of the result or the end of a `with`.

        It gets a `Change`: `change.model`, and `change.kinds`, of "state" (q, v, vdot, stored forces), "structure",
        "parameters", "geometry" and "records"; an edit of several steps makes one call. It is called in the thread that
        made the change, when the change is complete and the model's lock is free: two threads may call it at once. The
        model keeps it (a strong reference) until it is cancelled; copies and files do not. Changes that it makes are
        announced after it has returned, in a next round. An exception in it does not undo the change nor stop the other
        calls; it is raised in the code that made the change, several as an `ExceptionGroup`. Without subscribers a
        change costs nothing more.

        >>> from soacraft.model import serial_chain
        >>> mb, seen = serial_chain(2), []
        >>> with mb.subscribe(lambda change: seen.append(sorted(change.kinds))):
        ...     mb.q = [0.1, 0.2]
        ...     mb["link1"].inertia = Inertia(2.0)
        >>> mb.q = [0.3, 0.4]
        >>> seen
        [['state'], ['parameters']]
        """
        return subscriptions.subscribe(self, function)

    # -- models in models ------------------------------------------------------------------------------------

    def add_model(
        self,
        other: Multibody,
        parent: Body | Root | str | None = None,
        hinge: Hinge | None = None,
        inboard: Pose | None = None,
        prefix: str = "",
    ) -> Catalogue[Body]:
        """Hang a copy of a whole model on `parent` (None: the inertial frame): a gripper on an arm, arms on a torso.

        All that it has comes with it: bodies, nodes, shapes, loops, couplings, tendons, actuators, limits, springs,
        materials, keyframes, records, state and forces. `prefix` goes before the name of every part of it, and where
        its attributes and records mention one; nodes and shapes on its bodies keep their own names
        ("left_link7/tool"). `other` is not changed. Gives the new bodies, by name or number. O(n).

        Without a hinge (or with a `Weld`) its inertial frame is fixed at the pose `inboard` in `parent`, and its base
        bodies are attached there by the hinges they had. A model that floats, whose one base body has a `Free` hinge,
        is attached by `hinge` instead. One whose one base body is welded may be attached by any hinge, with all that
        was fixed on its inertial frame: `inboard` is then the inboard frame of that hinge. Anything else is refused
        with what to do.

        Names that this model has already are refused, all at once, before anything is changed. Gravity is that of this
        model; where the other had another one, or a size that suggests other units, `import_report` says so. Handles,
        states and expressions of before are stale.

        >>> from soacraft.model import serial_chain
        >>> from soacraft.model.hinges import Weld
        >>> torso = serial_chain(1)
        >>> left = torso.add_model(serial_chain(2), "link1", Weld(), Pose(translation=(1, 0, 0)), prefix="left_")
        >>> left.names, torso["left_link1"].parent.name, torso["left_link2/tip"]
        (('left_link1', 'left_link2'), 'link1', node 'left_link2/tip')
        """
        return joining.add_model(self, other, parent, hinge, inboard, prefix)

    def extract(
        self, body: Body | str, inboard: Pose | None = None, prefix: str = "", name: str | None = None
    ) -> Multibody:
        """Copy a body, with all bodies outboard of it, as a separate model; this model is not changed. O(n).

        The inertial frame of the new model is the frame of the body's parent, or is at the pose `inboard` in it:
        `mb.extract(body, inboard, prefix)` gives back what `mb.add_model(other, parent, None, inboard, prefix)` took.
        `prefix` is taken off the names that begin with it, and what is on the parent under such names comes too.
        Loops to the parent become loops to the inertial frame; those to other bodies, and couplings, tendons and
        actuators that need dofs of others, are refused with what to do. Keyframes keep the states of its hinges.
        Records of bodies inside and outside stay behind, with a line in `import_report`. Gravity is that of this model.

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(3)
        >>> mb.extract("link2", name="hand")
        Multibody 'hand': 2 bodies, 2 dofs
        """
        return extracting.extract(self, body, inboard, prefix, name)

    def _refuse_held(self, gone: set[Frame], hinge: tuple[Body, Hinge, str] | None = None) -> None:
        """Raise for frames, or a hinge that is to change, that closures, couplings, actuators or forces need."""
        self._attachments.refuse_held(gone, hinge)
        self._state.refuse_held(gone)

    @property
    def gravity(self) -> Array:
        """The acceleration of gravity in the inertial frame (3)."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: npt.ArrayLike) -> None:
        self._edits.set(self, "_gravity", _read_gravity(self._name, value), _tell_gravity)

    @property
    def total_mass(self) -> float:
        """The sum of the bodies' masses."""
        return float(sum(body.inertia.mass for body in self._tree.bodies.values()))

    # -- attachments -----------------------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        """True if a loop closure or a coupling is active. O(1)."""
        return self._attachments.active > 0

    @property
    def loops(self) -> Catalogue[Closure]:
        """The loop closures, by name or number."""
        return Catalogue(self._attachments.loops.values(), "loop")

    def close_loop(
        self,
        name: str,
        node_a: Frame | str,
        node_b: Frame | str,
        hinge: Hinge,
        active: bool = True,
        attributes: Mapping[str, Any] | None = None,
    ) -> Closure:
        """Close a loop: `node_b` may move relative to `node_a` only as `hinge` allows. O(1).

        The hinge's inboard frame is that of `node_a`, its outboard frame that of `node_b`: a `Pin` closes with five
        rows, a `Weld` with six, a `Spherical` hinge with three. The frames are bodies, nodes or the inertial frame,
        on two different bodies.

        >>> from soacraft.model import serial_chain
        >>> from soacraft.model.hinges import Spherical
        >>> mb = serial_chain(3)
        >>> mb.close_loop("ring", "inertial", "link3/tip", Spherical())
        loop 'ring': 'link3/tip' on 'inertial' by Spherical()
        """
        refuse_reserved(attributes, "loop", name)
        return self._attachments.close_loop(name, node_a, node_b, hinge, active, attributes)

    def add_rolling(
        self,
        name: str,
        body: Frame | str,
        surface: Frame | str = "inertial",
        radius: float | None = None,
        axis: npt.ArrayLike | None = None,
        semi_axes: npt.ArrayLike | None = None,
        normal: npt.ArrayLike = (0.0, 0.0, 1.0),
        active: bool = True,
        attributes: Mapping[str, Any] | None = None,
    ) -> Closure:
        """Let a body roll on a plane without slipping: `close_loop` by a hinge that rolls. O(1).

        `body` is the body or node at the centre of what rolls, `surface` a frame whose origin is in the plane, `normal`
        the direction, in its axes, from the plane to what rolls. A `radius` alone is that of a ball (`RollingBall`),
        with an `axis` in axes of `body` that of a disc or wheel (`RollingDisc`); `semi_axes` are those of an ellipsoid
        (`RollingEllipsoid`). Three rows: the point that touches has no velocity relative to the surface. One of them
        says where the body is, two only forbid to slip.

        >>> from soacraft.model.hinges import Free
        >>> from soacraft.spatial import Inertia
        >>> mb = Multibody("unicycle")
        >>> wheel = mb.add_body("wheel", None, Free(), Inertia(1.0, (0, 0, 0), np.diag([0.1, 0.2, 0.1])))
        >>> mb.add_rolling("tyre", "wheel", radius=0.5, axis=(0, 1, 0))
        loop 'tyre': 'wheel' on 'inertial' by RollingDisc(radius=0.5, axis=(0, 1, 0), normal=(0, 0, 1))
        """
        hinge = rolling_hinge(name, radius, axis, semi_axes, normal)
        return self.close_loop(name, surface, body, hinge, active, attributes)

    def add_knife_edge(
        self,
        name: str,
        node: Frame | str,
        surface: Frame | str = "inertial",
        across: npt.ArrayLike = (0.0, 1.0, 0.0),
        active: bool = True,
        attributes: Mapping[str, Any] | None = None,
    ) -> Closure:
        """Let a node carry a knife edge, as a skate: `close_loop` by a `KnifeEdge`. O(1).

        Its origin does not move along `across`, in axes of the node, relative to the surface: one row, at velocity
        level alone. What keeps the edge on the surface is not part of it: a `Planar` hinge, or another closure.

        >>> from soacraft.model.hinges import Planar
        >>> from soacraft.spatial import Inertia
        >>> mb = Multibody("sleigh")
        >>> body = mb.add_body("sleigh", None, Planar(), Inertia(1.0, (0.3, 0, 0), np.diag([0.1, 0.1, 0.2])))
        >>> mb.add_knife_edge("blade", "sleigh")
        loop 'blade': 'sleigh' on 'inertial' by KnifeEdge(across=(0, 1, 0))
        """
        return self.close_loop(name, surface, node, KnifeEdge(across), active, attributes)

    def remove_loop(self, loop: Closure | str) -> None:
        """Take a loop closure away."""
        self._attachments.untie("loop", self._attachments.loops, loop)

    @property
    def couplings(self) -> Catalogue[Coupling]:
        """The couplings of coordinates, by name or number."""
        return Catalogue(self._attachments.couplings.values(), "coupling")

    def couple(
        self,
        name: str,
        terms: Mapping[Any, float | tuple[float, ...]],
        offset: float = 0.0,
        active: bool = True,
        attributes: Mapping[str, Any] | None = None,
        one_sided: bool | str = False,
    ) -> Coupling:
        """Tie coordinates: the sum of `ratio q(dof)` over `{dof: ratio, ...}` is `offset`. O(number of dofs).

        A dof is given by its name; where a hinge has one, its body or the name of that does.

        A gear, a mimic joint `q = m q_other + o` ({q: 1, q_other: -m}, offset o), a differential. A ratio may also be
        the coefficients (c1, c2, ...) of a polynomial c1 q + c2 q^2 + ...

        `one_sided=True`: the sum is at least the offset, as at a stop; `one_sided="rate"`: it does not fall, as with a
        ratchet. Such a coupling acts in motion with contact (`sc.sim.Contact`) and is unknown to dynamics and solvers
        of loops, as limits of hinges are.

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).couple("gear", {"link1": 1, "link2": -3})
        coupling 'gear': 1 link1 + -3 link2 = 0
        >>> serial_chain(2).couple("stop", {"link1": 1, "link2": 1}, -0.5, one_sided=True)
        coupling 'stop': 1 link1 + 1 link2 >= -0.5
        """
        told = one_sided_attributes(one_sided, active, attributes, "coupling", name)
        return self._attachments.couple(name, terms, offset, False if told else active, told or attributes)

    def add_rope(
        self,
        name: str,
        node_a: Frame | str,
        node_b: Frame | str,
        length: float,
        attributes: Mapping[str, Any] | None = None,
    ) -> Closure:
        """A rope without mass: `node_b` is at most `length` metres from `node_a`. It pulls in motion with contact
        (`sc.sim.Contact`) and is unknown to dynamics and solvers of loops. O(1).

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).add_rope("tether", "inertial", "link2/tip", 1.5)
        rope 'tether': 'link2/tip' at most 1.5 m from 'inertial'
        """
        reach = float(finite(length, (), f"the length of rope {name!r}", ModelError))
        if not reach > 0.0:
            raise ModelError(f"the length of rope {name!r} is {reach:g} m; it must be above 0; else close a loop.")
        told = one_sided_attributes(True, True, attributes, "loop", name)
        return self._attachments.close_loop(name, node_a, node_b, Spherical(), False, {**told, "length": reach})

    def remove_coupling(self, coupling: Coupling | str) -> None:
        """Take a coupling away."""
        self._attachments.untie("coupling", self._attachments.couplings, coupling)

    def add_tendon(
        self,
        name: str,
        terms: Mapping[Any, float],
        stiffness: float | Curve = 0.0,
        damping: float | Curve = 0.0,
        rest: float | tuple[float, float] = 0.0,
        attributes: Mapping[str, Any] | None = None,
    ) -> Tendon:
        """Pull at coordinates with a spring and a damper along L, the sum of `c q` over `{dof: c, ...}`. O(1).

        This is the spring along any combination of dofs; along one it may have a `Curve`, which `body.passive` does not
        take. A dof is given by its name; where a hinge has one, its body or the name of that does.

            force on each dof = -c (stiffness (L - rest) + damping Ldot)

        `rest` may be a range (low, high) in which the spring is slack. A `Curve` for `stiffness` gives the tension over
        L, one for `damping` the tension over Ldot. It is a passive force: it acts in all dynamics, and `passive=False`
        leaves it out. Old states and expressions become stale.

        >>> from soacraft.model import Curve, serial_chain
        >>> mb = serial_chain(2)
        >>> mb.add_tendon("cable", {"link1": 1.0, "link2": -0.5}, stiffness=20.0, rest=(0.0, 0.1))
        tendon 'cable': L = 1 link1 + -0.5 link2, stiffness 20 from 0 to 0.1, damping 0
        >>> mb.add_tendon("stop", {"link1": 1.0}, Curve([-1.0, -0.8, 0.8, 1.0], [-5.0, 0.0, 0.0, 5.0]))
        tendon 'stop': L = 1 link1, stiffness cubic curve of 4 points from (-1, -5) to (1, 5), damping 0
        """
        return self._attachments.add_tendon(name, terms, stiffness, damping, rest, attributes)

    def remove_tendon(self, tendon: Tendon | str) -> None:
        """Take a tendon away."""
        self._attachments.untie("tendon", self._attachments.tendons, tendon)

    def add_spring(
        self,
        name: str,
        node_a: Frame | str | Mapping[Any, float],
        node_b: Frame | str | None = None,
        stiffness: float | Curve = 0.0,
        length: float | tuple[float, float] = 0.0,
        damping: float | Curve = 0.0,
        through: Iterable[Frame | str] = (),
        attributes: Mapping[str, Any] | None = None,
    ) -> Spring | Tendon:
        """Pull two nodes together with a spring and a damper along their line, by way of the nodes `through`. O(1).

            tension = stiffness (L - length) + damping Ldot,     energy stiffness (L - length)^2 / 2

        in N/m, m and N s/m; L is the length of the line. `length` may be a range (low, high) in which the spring is
        slack, such as (0, 0.3) for a rope. A `Curve` for `stiffness` gives the tension over L, one for `damping` the
        tension over Ldot. It is a passive force: it acts in all dynamics, and `passive=False` leaves it out. Old states
        and expressions become stale. Nodes of flexible bodies move with their modes, and so does the spring.

        Along a combination of dofs, `{dof: ratio, ...}` in place of the nodes, L is the sum of `ratio q`: the spring is
        a tendon then, in `mb.tendons`, as `add_tendon` makes it.

        >>> import soacraft as sc
        >>> mb = sc.load("pendulum")
        >>> mb.root.add_node("wall", sc.Pose(translation=[1.0, 0.0, 0.0]))
        node 'inertial/wall'
        >>> mb.add_spring("s", "inertial/wall", "bob/tip", stiffness=20.0, length=0.5)
        spring 's': 'inertial/wall' to 'bob/tip', stiffness 20 from 0.5 m, damping 0
        >>> mb.add_spring("rubber", "inertial/wall", "bob/tip", sc.Curve([0.5, 1.0, 1.5], [0, 3, 20])).stiffness
        cubic curve of 3 points from (0.5, 0) to (1.5, 20)
        >>> sc.serial_chain(2).add_spring("gear", {"link1": 1.0, "link2": -3.0}, stiffness=5.0)
        tendon 'gear': L = 1 link1 + -3 link2, stiffness 5 from 0, damping 0
        """
        return self._attachments.add_spring(name, node_a, node_b, stiffness, length, damping, through, attributes)

    def remove_spring(self, spring: Spring | str) -> None:
        """Take a spring away."""
        self._attachments.untie("spring", self._attachments.springs, spring)

    def add_bushing(
        self,
        name: str,
        node_a: Frame | str,
        node_b: Frame | str,
        stiffness: npt.ArrayLike,
        damping: npt.ArrayLike = 0.0,
        rest: Pose | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Bushing:
        """Join two nodes by an elastic element of six stiffnesses, at rest where b has the pose `rest` in a. O(1).

            x = log(rest^-1 X_ab),   energy x* K x / 2,   on b in its axes -J* (K x + D xdot),  xdot = J (twist of b)

        x = [turn; travel] is the displacement as a twist, J the rate of the logarithm. `stiffness` and `damping` are
        six numbers, turns first (N m/rad, N/m), one for all, or symmetric matrices (6, 6). It is exact for large turns.
        At half a turn x changes sides, and within 4e-6 rad of it a force is refused. It is a passive force, as a spring
        is, and acts on nodes of flexible bodies too.

        >>> import soacraft as sc
        >>> mb = sc.load("pendulum")
        >>> mb.add_bushing("mount", "inertial", "bob", [0, 5, 0, 0, 0, 0])
        bushing 'mount': 'bob' on 'inertial', stiffness [0 5 0 0 0 0], damping [0 0 0 0 0 0]
        """
        return self._attachments.add_bushing(name, node_a, node_b, stiffness, damping, rest, attributes)

    def add_torsion_spring(
        self,
        name: str,
        node_a: Frame | str,
        node_b: Frame | str,
        stiffness: float,
        damping: float = 0.0,
        rest: Pose | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Bushing:
        """Turn two nodes towards each other: a bushing of three equal stiffnesses in N m/rad, and none in travel. O(1).

        The springs of a hinge are `body.passive`; this one is between any two nodes.
        """
        turns = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
        k, d = (float(finite(x, (), f"numbers of torsion spring {name!r}")) for x in (stiffness, damping))
        return self.add_bushing(name, node_a, node_b, k * turns, d * turns, rest, attributes)

    def remove_bushing(self, bushing: Bushing | str) -> None:
        """Take a bushing away."""
        self._attachments.untie("bushing", self._attachments.bushings, bushing)

    @property
    def actuators(self) -> Catalogue[Actuator]:
        """The actuators, by name or number."""
        return Catalogue(self._attachments.actuators.values(), "actuator")

    def add_actuator(self, actuator: Actuator) -> Actuator:
        """Keep an actuator of dofs of this model."""
        return self._attachments.add_actuator(actuator)

    def remove_actuator(self, actuator: Actuator | str) -> None:
        """Take an actuator away."""
        del self._attachments.actuators[self.actuators.find(actuator).name]
        self._edits.changed("records")

    @property
    def materials(self) -> Catalogue[Material]:
        """The materials that geometries name, by name or number."""
        return Catalogue(self._attachments.materials.values(), "material")

    def add_material(self, material: Material) -> Material:
        """Keep a material."""
        return self._attachments.add_material(material)

    @property
    def keyframes(self) -> Catalogue[Keyframe]:
        """The named states, by name or number. Hinges that came later are at their neutral coordinates, at rest."""
        return Catalogue(self._attachments.told_keyframes(), "keyframe")

    def add_keyframe(self, keyframe: Keyframe) -> Keyframe:
        """Keep a named state of the whole model.

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(2)
        >>> home = mb.add_keyframe(Keyframe("home", [0.1, 0.2], [0.0, 0.0]))
        >>> mb.set_state("home")
        >>> mb.q
        array([0.1, 0.2])
        """
        return self._attachments.add_keyframe(keyframe)

    @property
    def records(self) -> Catalogue[Record]:
        """Further elements of a file, in its order: sensors, cameras, contact pairs."""
        return Catalogue(self._attachments.records, "record")

    def add_record(self, record: Record) -> Record:
        """Keep a record."""
        return self._attachments.add_record(record)

    @property
    def import_report(self) -> ImportReport | None:
        """Report of every element of the file the model was read from; None for one built in Python."""
        return self._attachments.import_report

    @import_report.setter
    def import_report(self, value: ImportReport | None) -> None:
        self._attachments.set_import_report(value)

    @property
    def mesh_folder(self) -> Path | None:
        """The folder that names of meshes and textures are relative to: that of the file the model was read from.

        None for a model built in Python, until it is set. `save` writes the names so that they lead to the same files.
        """
        return self._attachments.mesh_folder

    @mesh_folder.setter
    def mesh_folder(self, value: str | PathLike[str] | None) -> None:
        self._attachments.set_mesh_folder(value)

    @property
    def mesh_roots(self) -> tuple[Path, ...]:
        """Further folders, after `mesh_folder`, in which meshes may be read: those where `sc.load` found some, in its
        `mesh_roots` or in packages, and those of models that were added.

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).mesh_roots
        ()
        """
        return self._attachments.mesh_roots

    @mesh_roots.setter
    def mesh_roots(self, value: Iterable[str | PathLike[str]]) -> None:
        self._attachments.set_mesh_roots(value)

    # -- the current state -----------------------------------------------------------------------------------

    @property
    def current(self) -> State:
        """The current state; a new object after each change, so its identity is the version of the state."""
        return self._state.get(self.layout)

    @property
    def store(self) -> Store:
        """The numbers of the current state for compiled calls; another one after a structural change."""
        self.current  # noqa: B018  (makes it)
        assert self._state.store is not None
        return self._state.store

    @property
    def counters(self) -> Counter[str]:
        """Numbers of configuration, velocity and acceleration quantities computed so far."""
        return self._state.counters

    def set_state(self, q: Any = None, v: Any = None, vdot: Any = None) -> None:
        """Change the current state, all or nothing: when one part is refused, none is changed.

        Each part is an array, or `{hinge, body or dof: value}`, which does not change the others. In place of q
        the name of a keyframe takes q and v from it (v only where none is given): `mb.set_state("home")`.

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(2)
        >>> mb.set_state(q=[0.1, 0.2], v=[1.0, 0.0])
        >>> mb.set_state({"link2": 0.5})
        >>> mb.q, mb.v
        (array([0.1, 0.5]), array([1., 0.]))
        """
        if isinstance(q, str):
            keyframe = self._attachments.keyframe(q)
            q, v = keyframe.q, keyframe.v if v is None else v
        store, layout = self._state.store, self._edits.layout
        in_place = store is not None and layout is not None and reads_state(layout, q, v, vdot)
        if store is None or not in_place or not store.set(q, v, vdot):  # plain arrays are written at once
            self._state.set(q, v, vdot)
        elif self._edits.announcer is not None:
            self._edits.announcer.changed("state")

    def set_force(self, node: Frame | str, wrench: Any) -> None:
        """Let a wrench act at a node from now on: six numbers in node axes, or a `Wrench`; None ends it.

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(2)
        >>> mb.set_force("link2/tip", Wrench(moment=(0, 0, 0), force=(0, 0, 5), expressed_in="inertial"))
        >>> mb.current.forces[0][0]
        node 'link2/tip'
        """
        self._state.set_force(node, wrench)

    @property
    def acting_forces(self) -> dict[Frame, Wrench]:
        """The forces that act now, by node: always the same dictionary, to look at and not to change."""
        return self._state.forces

    def clear_forces(self) -> None:
        """Take all external forces away."""
        self._state.set_forces({})

    # -- parts and copies ------------------------------------------------------------------------------------

    def subgraph(self, bodies: Iterable[Body | str], anchor: str = "rest") -> SubGraph:
        """Connected bodies as a graph, with the same interface for operators and algorithms.

        The parent of its root (its anchor) is at rest at its pose in the bound state; with `anchor="moving"` it has its
        velocity and acceleration. Connected sets whose roots are all on the inertial frame may be joined.

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(4)
        >>> mb.subgraph(["link2", "link3"])
        SubGraph 'chain[link2, link3]': 2 bodies, 2 dofs
        """
        return SubGraph(self, bodies, anchor)

    def copy(self, name: str | None = None) -> Multibody:
        """An independent copy: bodies, nodes, closures, records, state and external forces.

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).copy("twin")
        Multibody 'twin': 2 bodies, 2 dofs
        """
        other = Multibody(self._name if name is None else name, self._gravity)
        copy_into(self, other)
        return other

    def __copy__(self) -> Multibody:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Multibody:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return packing.reduced_model(self)

    def __setstate__(self, state: Any) -> None:
        packing.fill(self, state)


def _tell_gravity(model: CompiledModel, k: int, gravity: Array) -> None:
    model.kernels.set_gravity(gravity)


def _read_gravity(name: str, gravity: Any) -> Array:
    return frozen(finite(gravity, (3,), f"gravity of {name!r}"))
