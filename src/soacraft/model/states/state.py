"""Immutable snapshots of a graph's state, with the values computed for them.

A `Configuration` holds what depends on q alone and is shared by all states with that q; a `Motion` adds v; a
`State` adds vdot and external forces. So a change of v recomputes nothing that depends on q only. All of it is of one
layout: after a change of parameters a state goes on with a new configuration and motion of the same q and v, and an old
one computes nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import numpy as np

from soacraft.attributes import Strict
from soacraft.cards import card_of, says_why
from soacraft.errors import StaleError, StateError
from soacraft.model.flat import armature, realize
from soacraft.model.flat import axes as representation
from soacraft.model.flat.axes import Axes
from soacraft.model.flat.layout import Layout
from soacraft.model.flat.realize import Poses, times
from soacraft.model.flat.sko import SKOModel
from soacraft.model.flat.structure import Structure
from soacraft.model.modal import bodies as modal_bodies
from soacraft.model.modal.bodies import WithModes
from soacraft.model.states.configuration import IDENTITY, Configuration
from soacraft.model.states.coordinates import Forces, common_batch, read_forces, read_q, read_v
from soacraft.model.states.kinematics import modal_block, pose_in_body, pose_of_frame
from soacraft.model.states.memo import Memo
from soacraft.model.states.motion import Motion
from soacraft.model.states.read_only import of_state
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.names import q_place, v_place
from soacraft.results import refuse_large
from soacraft.spatial.checks import Array, frozen
from soacraft.spatial.transforms import phi

#: Numbers of a body that the blocks of the operators at one state take, with what is on the way to them.
_BLOCKS = 200
_IN_PARTS = "Take the batch in parts, or a function of the state: f = expression.compile(), then f(q, v, x)."


class Stateful(Structure, Protocol):
    """A model or a sub-graph of it, as its states know it."""

    @property
    def current(self) -> State:
        """The current state."""

    def integrate(self, q: Any, dv: Any) -> Array:
        """Move from q by the tangent vector dv (nv)."""


class State(Strict):
    """An immutable snapshot of q, v, vdot and external forces of a graph; leading batch axes allowed.

    Made by `mb.state(...)`. The batch axes of its parts broadcast. What was computed for it is kept as long as the
    parameters of the model are; after a change of one its numbers are those of the new parameters.

    >>> from soacraft.model import serial_chain
    >>> mb = serial_chain(3)
    >>> s = mb.state(q=np.zeros((5, 3)), v=[1.0, 0.0, 0.0])
    >>> s.batch, s.v.shape, s.replace(v=[0.0, 0.0, 1.0]).configuration is s.configuration
    ((5,), (5, 3), True)
    """

    _set_once = frozenset({"made_for"})
    _cures: ClassVar = {"*": "a state is a snapshot: make another with state.replace(q=..., v=..., forces=...)"}
    made_for: Layout
    """The flat form of its graph when it was made."""
    _graph: Stateful
    _vdot: Array
    _forces: Forces
    _version: int
    _batch: tuple[int, ...]
    _parts: tuple[Motion, Memo]

    def __init__(self, graph: Stateful, motion: Motion, vdot: Array, forces: Forces) -> None:
        layout, q, v = motion.configuration.layout, motion.configuration.q, motion.v
        if forces or q.ndim + v.ndim + vdot.ndim > 3:
            wrenches = {f"the wrench at {frame.full_name!r}": np.asarray(wrench) for frame, wrench in forces}
            batch = common_batch(q=q, v=v, vdot=vdot, **wrenches)
        else:
            batch = ()
        values: dict[str, Any] = vars(self)
        values.update(  # at once: states are made in every step of a run
            _graph=graph, _vdot=vdot, _forces=forces, made_for=layout, _version=layout.version, _batch=batch,
            _parts=(motion, Memo(layout, graph.counters, "acceleration")),
        )  # fmt: skip

    @property
    def graph(self) -> Stateful:
        """The model or sub-graph the state belongs to."""
        return self._graph

    @property
    def version(self) -> int:
        """The structural version of the model the state was made for."""
        return self._version

    def _new_memo(self, motion: Motion) -> Memo:
        return Memo(motion.configuration.layout, self._graph.counters, "acceleration")

    def _now(self) -> tuple[Motion, Memo]:
        """Motion and memo with the present parameters of the model."""
        motion, memo = self._parts
        if motion.configuration.layout.parameters != self._graph.parameters and self._version == self._graph.version:
            layout = self._graph.layout
            if layout.version == self._version:  # not edited since
                motion = motion.renewed(layout)
                memo = self._new_memo(motion)
                self._parts = motion, memo
        return motion, memo

    @property
    def configuration(self) -> Configuration:
        """Values that depend on q only; the same object for states that share q, another after a change of parameters.
        """
        return self._now()[0].configuration

    @property
    def motion(self) -> Motion:
        """Values that depend on q and v; the same object for states that share both, another after a change of
        parameters.
        """
        return self._now()[0]

    @property
    def layout(self) -> Layout:
        """The flat form it was last looked at with: where its numbers are."""
        return self._parts[0].configuration.layout

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes, () for a single state."""
        return self._batch

    @property
    def q(self) -> Array:
        """Coordinates, (*batch, nq), read-only."""
        return self._told("q", self._parts[0].configuration.q)

    @property
    def v(self) -> Array:
        """Velocities, (*batch, nv), read-only."""
        return self._told("v", self._parts[0].v)

    @property
    def vdot(self) -> Array:
        """Accelerations, (*batch, nv), read-only."""
        return self._told("vdot", self._vdot)

    def _told(self, what: str, x: Array) -> Array:
        """Numbers of the state, read-only; of a batch, those of all states."""
        if self._batch or x.flags.writeable:
            x = np.broadcast_to(x, (*self._batch, x.shape[-1]))
        layout = self.layout
        return of_state(self._graph, what, x, layout.q_order if what == "q" else layout.v_order)

    @property
    def forces(self) -> Forces:
        """External forces as pairs (frame, Wrench)."""
        return self._forces

    def __repr__(self) -> str:
        batch = "" if not self._batch else f", batch {self._batch}"
        return f"State of {self._graph.name!r}: {self.q.shape[-1]} coordinates, {self.v.shape[-1]} velocities{batch}"

    @says_why
    def _repr_html_(self) -> str:
        return card_of(self)

    def replace(self, q: Any = None, v: Any = None, vdot: Any = None, forces: Any = None) -> State:
        """State with some parts replaced; unchanged parts keep the values computed for them.

        A part may be given by names: `s.replace(q={"elbow": 0.3})` moves that hinge alone.
        """
        try:
            new = self._replaced(q, v, vdot, forces)
        finally:  # what fits another structure, and what does not, says nothing of this one
            self.require_fresh()
        return new

    def _replaced(self, q: Any, v: Any, vdot: Any, forces: Any) -> State:
        self.require_fresh()
        g, motion = self._graph, self.motion
        configuration = motion.configuration
        if q is not None and not _same(q := read_q(g, q, rest=configuration.q), configuration.q):
            configuration = Configuration(configuration.layout, q, g.counters, configuration._base)
        v_new = motion.v if v is None else read_v(g, v, rest=motion.v)
        vdot_new = self._vdot if vdot is None else read_v(g, vdot, "vdot", rest=self._vdot)
        common_batch(q=configuration.q, v=v_new, vdot=vdot_new)
        if configuration is not motion.configuration or not _same(v_new, motion.v):
            motion = Motion(configuration, v_new, g.counters, motion._base)
        return State(g, motion, vdot_new, self._forces if forces is None else read_forces(g, forces))

    def at_numbers(self, q: Array, v: Array, vdot: Array) -> State:
        """State at other numbers, which are checked; unchanged parts keep the values computed for them."""
        g, motion = self._graph, self.motion
        configuration = motion.configuration
        if not _same(q, configuration.q):
            configuration = Configuration(configuration.layout, frozen(q), g.counters, configuration._base)
        if configuration is not motion.configuration or not _same(v, motion.v):
            motion = Motion(configuration, frozen(v), g.counters, motion._base)
        return State(g, motion, frozen(vdot), self._forces)

    def __reduce__(self) -> tuple[Any, ...]:
        """Graph and numbers, for pickling; computed values are computed again."""
        self.require_fresh()
        motion = self.motion
        c, anchor = motion.configuration, (motion.configuration._base, motion._base)
        numbers = (c.q, motion.v, self._vdot, self._forces)
        return _restored, (self._graph, *numbers, *anchor, self._graph.current is self)

    def q_of(self, of: Body | str) -> Array:
        """The coordinates of a hinge, given by its name or its body, (*batch, nq of the hinge), read-only.

        >>> import soacraft as sc
        >>> sc.load("panda").state({"joint4": -1.5}).q_of("joint4")
        array([-1.5])
        """
        return self.q[..., q_place(self._graph, of)]

    def v_of(self, of: Body | str) -> Array:
        """The velocities of a hinge, given by its name or its body, or of one dof, (*batch, nv of it), read-only."""
        return self.v[..., v_place(self._graph, of)]

    def require_fresh(self) -> None:
        """Raise `StaleError` when the model's structure changed after the state was made."""
        if self._version != self._graph.version:
            raise StaleError(
                f"this state of {self._graph.name!r} was made before a structural change of the model; "
                "make a new one with mb.state(...)."
            )

    # -- numbers ---------------------------------------------------------------------------------------------

    @property
    def alpha(self) -> Array:
        """alpha(k) = A*(p,k) alpha(p) + H*(k) vdot(k) + a(k), body axes, (..., n, 6)."""
        motion, memo = self._now()
        c = motion.configuration

        def work() -> Array:
            rate = realize.hinge_twists(c.layout, c.maps, self._vdot)
            if c.flex is not None:
                rate = c.flex.add_twists(rate, c.relative, self._vdot)
            return realize.scatter(c.layout, c.A, rate + motion.a)

        return memo("alpha", work)

    @property
    def b(self) -> Array:
        """b(k) = crf(V) M V - M [0; g] - external forces, body axes, (..., n, 6)."""
        motion, memo = self._now()
        return memo("b", lambda: self._bias(motion, self._forces)).bodies

    def sko(self, axes: Axes, forces: Forces = ()) -> SKOModel:
        """SKO model at this state; `forces` act in addition to those of the state."""
        motion, memo = self._now()
        if forces:
            return self._sko(motion, memo, axes, forces)
        return memo(("sko", axes), lambda: self._sko(motion, memo, axes, ()))

    def _sko(self, motion: Motion, memo: Memo, axes: Axes, forces: Forces) -> SKOModel:
        c = motion.configuration
        refuse_large((*c.q.shape[:-1], len(c.layout.bodies), _BLOCKS), "operators of a batch of states", _IN_PARTS)

        def a() -> list[Array]:
            return armature.vectors(c.layout, motion.coriolis(axes))

        def b() -> list[Array]:
            if forces:
                bias = self._bias(motion, self._forces + forces)
                c.layout.require_current()
            else:
                bias = memo("b", lambda: self._bias(motion, self._forces))
            world = IDENTITY if axes == "body" else c.world
            b, modes = representation.bias_in(axes, c.M, c.modal_inertias, world, motion.V, bias)
            return armature.vectors(c.layout, frozen(b), modes=modes)

        return SKOModel.trusted(
            c.layout.tree, c.edges(axes), c.hinges(axes), c.inertias(axes), a, b, c.derived(axes), c.lock,
            lambda: c.layout.units,
        )  # fmt: skip

    def _bias(self, motion: Motion, forces: Forces) -> WithModes:
        c = motion.configuration
        (b, modes), weight = motion.gyroscopic, self.weight
        b, modes = b - weight.bodies, {k: x - weight.modes[k] for k, x in modes.items()}
        for frame, wrench in forces:
            assert isinstance(frame.carrier, Body)
            k = c.layout.index[frame.carrier]
            pull = self.force_on_body(frame, np.asarray(wrench), wrench.expressed_in)
            b = np.array(np.broadcast_to(b, np.broadcast_shapes(b.shape, (*pull.shape[:-1], c.layout.n, 6))))
            b[..., k, :] -= pull
            if k in modes:
                modes[k] = modes[k] - self.force_on_modes(frame, np.asarray(wrench), wrench.expressed_in)
        return WithModes(frozen(b), modes)

    def node_vectors(self, bodies: Array, rates: Array) -> list[Array]:
        """Velocities or accelerations of the nodes by body, [V; d eta/dt; rotors], from those of bodies and dofs."""
        return armature.vectors(self.configuration.layout, bodies, rates)

    @property
    def weight(self) -> WithModes:
        """M(k) [0; g], body axes, with the rows of modes."""
        c = self.configuration
        rigid = realize.weight(c.layout, c.world[0], c.layout.gravity)
        if c.flex is None:
            return WithModes(rigid, {})
        return modal_bodies.weights(c.layout, c.modal_inertias, times(c.world[0].mT, c.layout.gravity), rigid)

    def force_on_body(self, frame: Frame, wrench: Array, expressed_in: Frame | None) -> Array:
        """phi(k, O) f: a wrench at a frame, referred to its body frame in body axes."""
        return times(phi(*pose_in_body(self, frame)), self._in_axes_of(frame, wrench, expressed_in))

    def force_on_modes(self, frame: Frame, wrench: Array, expressed_in: Frame | None) -> Array:
        """Pi* f: what a wrench at a frame of a flexible body is along its modes."""
        return times(modal_block(self, frame).mT, self._in_axes_of(frame, wrench, expressed_in))

    def _in_axes_of(self, frame: Frame, wrench: Array, expressed_in: Frame | None) -> Array:
        if expressed_in is None:
            return wrench
        turn = pose_of_frame(self, frame)[0].mT @ pose_of_frame(self, expressed_in)[0]
        return np.concatenate([times(turn, wrench[..., :3]), times(turn, wrench[..., 3:])], axis=-1)


def asked_state(graph: Stateful, state: Any) -> State:
    """The state that a graph is asked about, fresh and its own: the current one for None."""
    if state is None:
        return graph.current
    if not isinstance(state, State):
        raise StateError(f"a state is made by mb.state(q, v); got {state!r}.")
    if state.graph is not graph:
        raise StateError(f"the state belongs to {state.graph.name!r}, not to {graph.name!r}.")
    state.require_fresh()
    return state


def _restored(
    graph: Stateful,
    q: Array,
    v: Array,
    vdot: Array,
    forces: Forces,
    base: Callable[[], Poses] | None,
    moving: Callable[[], tuple[Array, Array]] | None,
    current: bool,
) -> State:
    """A state from its numbers; the current one of its graph where it was that."""
    if current:
        return graph.current
    counters = graph.counters
    motion = Motion(Configuration(graph.layout, frozen(q), counters, base), frozen(v), counters, moving)
    return State(graph, motion, frozen(vdot), forces)


def _same(x: Array, y: Array) -> bool:
    """True if two arrays are equal bit for bit; -0.0 is not 0.0."""
    return x.shape == y.shape and x.tobytes() == y.tobytes()
