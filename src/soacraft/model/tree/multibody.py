"""`Multibody`: an editable tree of rigid bodies with a state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.errors import ModelError, StateError
from soacraft.model.flat.layout import Layout
from soacraft.model.flat.plans import Store, make_store, quaternions_of
from soacraft.model.hinges.base import Hinge
from soacraft.model.states.coordinates import force_frame, read_wrench
from soacraft.model.states.state import Configuration, Motion, State
from soacraft.model.tree import packing
from soacraft.model.tree.frame import Body, Carrier, Frame, Root
from soacraft.model.tree.holdings import Holdings
from soacraft.model.tree.structure import HingeState
from soacraft.model.tree.subgraph import SubGraph
from soacraft.spatial.checks import finite, frozen
from soacraft.spatial.wrench import Wrench

STANDARD_GRAVITY = (0.0, 0.0, -9.80665)


class Multibody(Holdings):
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
        super().__init__(name, gravity)
        self._forces: dict[Frame, Wrench] = {}
        self._current: State | None = None
        self._store: Store | None = None  # the numbers of the current state, for compiled calls
        self._stamp = 0  # that of the store when `_current` was made
        self._counters: Counter[str] = Counter()

    # -- the state -------------------------------------------------------------------------------------------

    @property
    def counters(self) -> Counter[str]:
        """How many configuration, velocity and acceleration quantities were computed so far."""
        return self._counters

    def _keep_state(self) -> None:
        """Store the state by body."""
        if self._current is not None:
            self._parts = self._state_parts()
            self._current = None
        if self._store is not None:
            self._store.end()
            self._store = None

    def _count_parameters(self) -> None:
        self._parameters += 1
        if self._store is not None:
            self._store.parameters = self._parameters

    def _state_parts(self) -> dict[Body, HingeState]:
        """The state by body, of those that were ever set."""
        if self._current is None:
            return self._parts
        now = self._current
        layout = now.layout
        q, v, vdot = now.q, now.v, now.vdot
        if self._store is not None and self._store.stamp != self._stamp:
            _, q, v, vdot = self._store.state()
        slices = zip(layout.bodies, layout.q_slices, layout.v_slices, strict=True)
        return {body: (q[i], v[j], vdot[j]) for body, i, j in slices}

    def _refuse_held(self, gone: set[Frame], hinge: tuple[Body, Hinge, str] | None = None) -> None:
        """Raise for frames, or a hinge that is to change, that closures, couplings, actuators or forces need."""
        super()._refuse_held(gone, hinge)
        for frame, wrench in self._forces.items():
            axes = wrench.expressed_in
            at = f"at {frame.full_name!r}"
            cure = f"end it first with mb.set_force({frame.full_name!r}, None)"
            if frame in gone or frame.carrier in gone:
                raise ModelError(f"a stored force acts {at}; {cure}.")
            if axes is not None and (axes in gone or axes.carrier in gone):
                raise ModelError(
                    f"the stored force {at} is expressed in {axes.full_name!r}; {cure}, or set it in other axes."
                )

    @property
    def current(self) -> State:
        """The current state; a new object after each change, so its identity is the version of the state."""
        current, layout, store = self._current, self.layout, self._store
        if current is None or current.made_for is not layout or store is None or store.stamp != self._stamp:
            with self._lock:
                current = self._current = self._caught_up(self.layout)
        return current

    def _caught_up(self, layout: Layout) -> State:
        """The current state, once more where the structure, the parameters or the store changed since it was made."""
        current, store = self._current, self._store
        if current is None or store is None or current.version != layout.version:
            self._keep_state()  # of a thread that set a state while the structure changed
            current = self._state_of(layout)
            self._store = store = make_store(layout.nq, layout.nv, quaternions_of(layout), self._parameters)
            store.put(current.motion.configuration.q, current.motion.v, np.ascontiguousarray(current.vdot))
            self._stamp = store.stamp
        elif store.stamp != self._stamp:
            self._stamp, *numbers = store.state()
            current = current.at_numbers(*numbers)
        elif current.made_for is not layout:
            current = State(self, current.motion, np.asarray(current.vdot), current.forces)
        return current

    @property
    def store(self) -> Store:
        """The numbers of the current state for compiled calls; another one after a structural change."""
        self.current  # noqa: B018  (makes it)
        assert self._store is not None
        return self._store

    def _set_current(self, state: State) -> None:
        """Make a state the current one."""
        with self._lock:
            state.require_fresh()
            self._current = state
            assert self._store is not None
            self._store.put(*(np.ascontiguousarray(x) for x in (state.configuration.q, state.motion.v, state.vdot)))
            self._stamp = self._store.stamp

    def _state_of(self, layout: Layout) -> State:
        """The state by body as one; hinges that have none are neutral and at rest."""
        rest: dict[int, HingeState] = {}  # by the id of a hinge: many bodies may share one
        for hinge in (body.hinge for body in layout.bodies if body not in self._parts):
            if id(hinge) not in rest:
                rest[id(hinge)] = _at_rest(hinge)
        parts = [self._parts.get(body) or rest[id(body.hinge)] for body in layout.bodies]
        q, v, vdot = (frozen(np.concatenate([np.zeros(0), *(part[i] for part in parts)])) for i in range(3))
        motion = Motion(Configuration(layout, q, self._counters), v, self._counters)
        return State(self, motion, vdot, tuple(self._forces.items()))

    def set_state(self, q: Any = None, v: Any = None, vdot: Any = None) -> None:
        """Change the current state, all or nothing: when one part is refused, none is changed.

        Each part is an array, or `{hinge, body or dof: value}`, which leaves what is not named as it is.

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(2)
        >>> mb.set_state(q=[0.1, 0.2], v=[1.0, 0.0])
        >>> mb.set_state({"link2": 0.5})
        >>> mb.q, mb.v
        (array([0.1, 0.5]), array([1., 0.]))
        """
        if self._store is not None and self._store.set(q, v, vdot):
            return
        new = self.current.replace(q, v, vdot)
        for what, x in (("q", new.configuration.q), ("v", new.motion.v), ("vdot", new.vdot)):
            if x.ndim > 1:
                raise StateError(
                    f"{what} of {self._name!r} holds one state, got an array of shape {x.shape}; "
                    "for a batch make a snapshot with mb.state(q, v)."
                )
        self._set_current(new)

    def set_force(self, node: Frame | str, wrench: Any) -> None:
        """Let a wrench act at a node from now on: six numbers in node axes, or a `Wrench`; None ends it.

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(2)
        >>> mb.set_force("link2/tip", Wrench(moment=(0, 0, 0), force=(0, 0, 5), expressed_in="inertial"))
        >>> mb.current.forces[0][0]
        node 'link2/tip'
        """
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

    @property
    def acting_forces(self) -> dict[Frame, Wrench]:
        """The forces that act now, by node: always the same dictionary, to look at and not to change."""
        return self._forces

    def clear_forces(self) -> None:
        """Take all external forces away."""
        self._set_forces({})

    def _set_forces(self, forces: dict[Frame, Wrench]) -> None:
        self._set_current(self.current.replace(forces=tuple(forces.items())))
        self._forces.clear()  # the same dictionary always: compiled calls look at it
        self._forces.update(forces)

    # -- parts and copies ------------------------------------------------------------------------------------

    def subgraph(self, bodies: Iterable[Body | str], anchor: str = "rest") -> SubGraph:
        """Connected bodies as a graph of their own, with the same interface for operators and algorithms.

        What its root hangs from (its anchor) is at rest at its pose in the bound state; with
        `anchor="moving"` it has its velocity and acceleration. Connected sets that all hang from the inertial
        frame may be joined.

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
        copy_fixtures(self._root, other.root)
        for body in self.bodies:
            twin = other.add_body(
                body.name,
                None if isinstance(body.parent, Root) else body.parent.name,
                body.hinge, body.inertia, body.inboard, body.outboard, body.hinge_name,
            )  # fmt: skip
            twin._armature, twin._passive, twin._limits = body._armature, body._passive, body._limits
            copy_fixtures(body, twin)
        # the insertion order decides the order of siblings after later edits
        other._bodies = {name: other._bodies[name] for name in self._bodies}
        other._changed()
        other.set_state(self.q, self.v, self.vdot)
        self._copy_forces(other)
        self._copy_holdings(other)
        return other

    def _copy_forces(self, other: Multibody) -> None:
        """The external forces, at the frames of the same names."""
        for frame, wrench in self._forces.items():
            axes = wrench.expressed_in
            axes_name = axes.full_name if isinstance(axes, Frame) else None
            other.set_force(frame.full_name, Wrench(wrench.moment, wrench.force, axes_name))

    def __copy__(self) -> Multibody:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Multibody:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return packing.reduced_model(self)

    def __setstate__(self, state: Any) -> None:
        packing.fill(self, state)


def copy_fixtures(one: Carrier, other: Carrier) -> None:
    """The nodes and geometries of a frame, and what of its weight is compensated."""
    for node in one.nodes:
        other.add_node(node.name, node.pose)
    if one._geometries:
        other._geometries = dict(one._geometries)
    if isinstance(one, Body) and isinstance(other, Body):
        other._compensation = one._compensation


def _at_rest(hinge: Hinge) -> HingeState:
    neutral = finite(hinge.neutral(), (hinge.nq,), f"neutral() of {hinge!r}")
    return neutral, np.zeros(hinge.nv), np.zeros(hinge.nv)
