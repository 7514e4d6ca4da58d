"""`ComposedModel`: the parts of a model, its versions, its frames and its current state."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy.typing as npt

from soacraft.errors import ModelError
from soacraft.model.flat.layout import Layout
from soacraft.model.flat.plans import Store
from soacraft.model.hinges.base import Hinge
from soacraft.model.states.current import CurrentState
from soacraft.model.states.frame_motion import FrameMotion
from soacraft.model.states.read_only import reads_state
from soacraft.model.states.state import State
from soacraft.model.states.stated import Stated
from soacraft.model.tree.attachments import Attachments
from soacraft.model.tree.body_tree import BodyTree
from soacraft.model.tree.drawing import Drawn
from soacraft.model.tree.edits import Compiled, Edits
from soacraft.model.tree.frames.frame import Body, Frame, Root
from soacraft.model.tree.graph import size_text, ties_text
from soacraft.model.tree.lookup import Lookup
from soacraft.spatial.checks import Array, finite, frozen
from soacraft.spatial.wrench import Wrench

STANDARD_GRAVITY = (0.0, 0.0, -9.80665)


class ComposedModel(Lookup, Drawn, Stated, FrameMotion):
    """A model composed of a `BodyTree`, `Attachments`, a `CurrentState` and `Edits`, which its methods hand over to.

    `AttachedModel` adds the parts other than the tree, `Multibody` the edits of the tree.
    """

    _name: str
    _gravity: Array
    _tree: BodyTree
    _attachments: Attachments
    _state: CurrentState
    _edits: Edits[Layout]

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

    # -- versions and the flat form -----------------------------------------------------------------------

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
        >>> from soacraft.spatial import Inertia
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

    # -- frames -------------------------------------------------------------------------------------------

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

    # -- the current state --------------------------------------------------------------------------------

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


def _tell_gravity(model: Compiled, k: int, gravity: Array) -> None:
    model.kernels.set_gravity(gravity)


def _read_gravity(name: str, gravity: Any) -> Array:
    return frozen(finite(gravity, (3,), f"gravity of {name!r}"))
