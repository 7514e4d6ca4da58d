"""The current state of a model: q, v and vdot of its hinges, and the external forces that act.

Its numbers are in a `Store`, which compiled calls read and `set_state` writes; the `State` in Python is made when it is
first read. While the structure changes, the state is kept by body.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from soacraft.errors import ModelError, StateError
from soacraft.model.flat.layout import Layout, neutral_of
from soacraft.model.flat.plans import Store, make_store, quaternions_of
from soacraft.model.states.configuration import Configuration
from soacraft.model.states.coordinates import force_frame, read_wrench
from soacraft.model.states.motion import Motion
from soacraft.model.states.state import State, Stateful
from soacraft.model.tree.edits import Edits
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.spatial.checks import Array, frozen
from soacraft.spatial.wrench import Wrench

HingeState = tuple[Array, Array, Array]


class Moving(Stateful, Protocol):
    """The model whose state this is."""

    _edits: Edits[Layout]


class CurrentState:
    """State that changes when a model moves without an edit."""

    def __init__(self, mb: Moving) -> None:
        self._mb = mb
        self.parts: dict[Body, HingeState] = {}  # q, v, vdot of each hinge while there is no flat form
        self.forces: dict[Frame, Wrench] = {}  # always the same dictionary: compiled calls look at it
        self.store: Store | None = None  # the numbers of the current state, for compiled calls
        self.counters: Counter[str] = Counter()
        self._state: State | None = None
        self._stamp = 0  # that of the store when `_state` was made

    # -- what edits tell -------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Store the state by body, before a structural change."""
        if self._state is not None:
            self.parts = self.by_body()
            self._state = None
        if self.store is not None:
            self.store.end()
            self.store = None

    def count(self, parameters: int) -> None:
        """Tell compiled calls, before a parameter changes, that their numbers are of older parameters."""
        if self.store is not None:
            self.store.parameters = parameters

    def forget(self, bodies: Iterable[Body]) -> None:
        """Bodies that are no longer there have no state."""
        for body in bodies:
            self.parts.pop(body, None)

    def rehang(self, body: Body, q: Array, v: Array) -> None:
        """A body has a new hinge, which is at q and v; coordinates of the body itself stay."""
        self.parts[body] = _with_own(body, (q, v, np.zeros(v.size)), self.parts.get(body))

    def refuse_held(self, gone: set[Frame]) -> None:
        """Raise for frames that stored forces need."""
        for frame, wrench in self.forces.items():
            axes = wrench.expressed_in
            at = f"at {frame.full_name!r}"
            cure = f"end it first with mb.set_force({frame.full_name!r}, None)"
            if frame.needs(gone):
                raise ModelError(f"a stored force acts {at}; {cure}.")
            if axes is not None and axes.needs(gone):
                raise ModelError(
                    f"the stored force {at} is expressed in {axes.full_name!r}; {cure}, or set it in other axes."
                )

    def by_body(self) -> dict[Body, HingeState]:
        """The state by body, of those that were ever set."""
        if self._state is None:
            return self.parts
        now = self._state
        layout = now.layout
        q, v, vdot = (np.asarray(x) for x in (now.q, now.v, now.vdot))  # plain arrays: they are cut into many parts
        if self.store is not None and self.store.stamp != self._stamp:
            _, q, v, vdot = self.store.state()
        slices = zip(layout.bodies, layout.q_slices, layout.v_slices, strict=True)
        return {body: (q[i], v[j], vdot[j]) for body, i, j in slices}

    # -- the state -------------------------------------------------------------------------------------------

    def get(self, layout: Layout) -> State:
        """The current state; a new object after each change."""
        state, store = self._state, self.store
        if state is None or state.made_for is not layout or store is None or store.stamp != self._stamp:
            with self._mb._edits.lock:
                state = self._state = self._caught_up(self._mb.layout)
        return state

    def _caught_up(self, layout: Layout) -> State:
        """The current state, once more where the structure, the parameters or the store changed since it was made."""
        state, store = self._state, self.store
        if state is None or store is None or state.version != layout.version:
            self.keep()  # of a thread that set a state while the structure changed
            state = self._from_parts(layout)
            self.store = store = make_store(layout.nq, layout.nv, quaternions_of(layout), self._mb.parameters)
            store.put(state.motion.configuration.q, state.motion.v, np.ascontiguousarray(state.vdot))
            self._stamp = store.stamp
        elif store.stamp != self._stamp:
            self._stamp, *numbers = store.state()
            state = state.at_numbers(*numbers)
        elif state.made_for is not layout:
            state = State(self._mb, state.motion, np.asarray(state.vdot), state.forces)
        return state

    def _from_parts(self, layout: Layout) -> State:
        """The state by body as one; hinges that have none are neutral and at rest."""
        rest: dict[int, HingeState] = {}  # by the id of a hinge: many bodies may share one
        for hinge in (body.hinge for body in layout.bodies if body not in self.parts):
            if id(hinge) not in rest:
                rest[id(hinge)] = neutral_of(hinge), np.zeros(hinge.nv), np.zeros(hinge.nv)
        parts = [self.parts.get(body) or _with_own(body, rest[id(body.hinge)]) for body in layout.bodies]
        q, v, vdot = (frozen(np.concatenate([np.zeros(0), *(part[i] for part in parts)])) for i in range(3))
        motion = Motion(Configuration(layout, q, self.counters), v, self.counters)
        return State(self._mb, motion, vdot, tuple(self.forces.items()))

    def set(self, q: Any, v: Any, vdot: Any) -> None:
        """Change q, v and vdot, all or nothing; None leaves what there is."""
        new = self._mb.current.replace(q, v, vdot)
        for what, x in (("q", new.configuration.q), ("v", new.motion.v), ("vdot", new.vdot)):
            single(self._mb.name, what, x, "mb")
        self._put(new)

    def _put(self, state: State) -> None:
        """Make a state the current one."""
        with self._mb._edits.lock:
            state.require_fresh()
            self._state = state
            assert self.store is not None
            self.store.put(*(np.ascontiguousarray(x) for x in (state.configuration.q, state.motion.v, state.vdot)))
            self._stamp = self.store.stamp
            self._mb._edits.changed("state")

    # -- external forces -------------------------------------------------------------------------------------

    def set_force(self, node: Any, wrench: Any) -> None:
        """Let one wrench act at a node from now on; None ends it."""
        frame = force_frame(self._mb, node)
        forces = {key: value for key, value in self.forces.items() if key is not frame}
        if wrench is not None:
            forces[frame] = read_wrench(self._mb, frame, wrench)
            shape = np.shape(np.asarray(forces[frame]))
            if len(shape) != 1:
                raise StateError(
                    f"the wrench at {frame.full_name!r} must be one wrench, got an array of shape {shape}; "
                    "for a batch use mb.state(..., forces={node: wrenches})."
                )
        self.set_forces(forces)

    def set_forces(self, forces: Mapping[Frame, Wrench]) -> None:
        """Let these forces act and no others."""
        with self._mb._edits.lock:
            self._put(self._mb.current.replace(forces=tuple(forces.items())))
            self.forces.clear()
            self.forces.update(forces)


def single(name: str, what: str, value: Array, graph: str) -> Array:
    """Numbers of one state; a batch is refused, with how the graph called `graph` makes a snapshot of it."""
    if value.ndim > 1:
        raise StateError(
            f"{what} of {name!r} holds one state, got an array of shape {value.shape}; "
            f"for a batch make a snapshot with {graph}.state(q, v)."
        )
    return value


def _with_own(body: Body, hinge: HingeState, before: HingeState | None = None) -> HingeState:
    """The state of a hinge, then that of the coordinates of its body itself: as before, else zero."""
    if not body._own:
        return hinge
    m = len(body._own)
    own = (np.zeros(m),) * 3 if before is None else tuple(x[x.size - m :] for x in before)
    q, v, vdot = (np.concatenate(pair) for pair in zip(hinge, own, strict=True))
    return q, v, vdot
