"""`Multibody`: an editable tree of rigid bodies with a state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

import numpy.typing as npt

from soacraft.hints import hinted
from soacraft.model.hinges.base import Hinge
from soacraft.model.modal.data import ModalData
from soacraft.model.tree import editing, packing, subscriptions
from soacraft.model.tree.attached_model import AttachedModel
from soacraft.model.tree.frames.frame import Body, Frame, Node, Root
from soacraft.model.tree.joining import extracting, joining
from soacraft.model.tree.joining.copying import copy_into
from soacraft.model.tree.parts import gears
from soacraft.model.tree.parts.catalogue import Catalogue
from soacraft.model.tree.parts.curves import Curve
from soacraft.model.tree.subgraph import SubGraph
from soacraft.model.tree.subscriptions import Change, Subscription
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose


def model_of(frame: Frame) -> Multibody:
    """The model that a frame belongs to with all its methods: `frame.graph`, whose type knows less."""
    return cast(Multibody, frame.graph)


class Multibody(AttachedModel):
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

    # -- models in models ---------------------------------------------------------------------------------

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
        return joining.add_model(self, self.copy() if other is self else other, parent, hinge, inboard, prefix)

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
        return extracting.extract(self, body, inboard, prefix, name, Multibody)

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
