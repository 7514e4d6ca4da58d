"""`SimState`: the complete state of a run at an instant, as one value; `encode` and `decode` convert it to bytes and
back.

The state, the model and the forces on it determine all later steps: two propagators with equal states continue with
the same bits, in one process or in two. Sticking and holding follow from coordinates and velocities, draws of noise
from the counts of clocks; multistep integrators restart at a state that was handed out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np

from soacraft.errors import CheckpointError, StateError
from soacraft.sim.states.named_arrays import frozen, frozen_value, pack, unpack
from soacraft.spatial.checks import Array

_FORMAT = "soacraft state 1"
#: Bytes of the checksum, and the limit of times in nanoseconds.
_CHECKSUM, _LAST = 32, 2**62
_ARRAYS = ("q", "v", "work", "z", "rates")
_TUPLES = ("forces", "dofs", "counts", "happened", "events", "ticks")


class SimState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, eq=False):
    """State of a run at an instant: `p.state()` returns it, `p.set_state(state)` continues from it. Nothing in it can
    be changed: arrays and mappings are read-only.

    >>> import soacraft as sc
    >>> p = sc.sim.Propagator(sc.load("double_pendulum"), integrator="rk4", step=0.01)
    >>> _ = p.run(0.5)
    >>> state = p.state()
    >>> there = p.run(1.0).q
    >>> p.set_state(state)
    >>> p.t, bool((p.run(1.0).q == there).all())
    (0.5, True)
    >>> sc.sim.SimState.decode(state.encode()) == state
    True
    """

    ns: int
    """Time in whole nanoseconds."""
    rest: float
    """Time beyond the whole nanoseconds, in seconds."""
    origin: int
    """Nanosecond from which fixed steps are counted."""
    q: Array
    """Coordinates, (nq)."""
    v: Array
    """Velocities, (nv)."""
    work: Array
    """Work of each force, in the order of `forces`."""
    z: Array
    """Continuous states of components."""
    rates: Array = msgspec.field(default_factory=lambda: np.zeros(0))
    """Rates with which the next step begins, of coordinates, velocities, work and z: with contact accelerations are the
    mean of the last step. Empty at the end of a run: the next one begins with what the forces give."""
    forces: tuple[str, ...]
    """Names of the forces whose work is counted."""
    dofs: tuple[str, ...] = ()
    """Names of the dofs of the model; empty if they are unknown, as in files of earlier versions."""
    length: float | None = None
    """Length of the next step of an adaptive method, in seconds."""
    longest: float = 0.0
    """Length of the longest step so far, in seconds."""
    counts: tuple[int, int] = (0, 0)
    """Numbers of consecutive steps at the limit of stability, and within it."""
    signs: Mapping[str, float] = {}
    """Signs of the functions of events, {event: sign}."""
    happened: tuple[int, ...] = ()
    """Times of the last events, in nanoseconds."""
    events: tuple[str, ...] = ()
    """Names of all events that are watched."""
    callbacks: tuple[tuple[int, int], ...] = ()
    """Time of the next call of each callback, and its period, in nanoseconds."""
    closures: Mapping[str, tuple[float, ...]] = {}
    """Coordinates of the hinges of loop closures, which the solver follows continuously."""
    independent: tuple[int, ...] | None = None
    """Dofs that the solver chose as independent last."""
    embedding: tuple[tuple[int, ...], bool] | None = None
    """Independent dofs of constraint embedding, and whether its loose threshold chose them."""
    within: bool = False
    """True in the middle of a run, false at its end."""
    began: bool = False
    """True if contact has checked the start for overlaps."""
    impulses: Mapping[str, tuple[float, ...]] = {}
    """Contact impulses next to which those of the next step are sought, by the names of two shapes: place, impulse and
    moment of each point. Empty: the next step is solved from zero."""
    controls: Mapping[str, float] = {}
    """Values of the controls that are numbers."""
    ticks: tuple[int, ...] = ()
    """Number of the next tick of each clock."""
    held: Mapping[str, Any] = {}
    """Values that components hold: discrete states, sampled outputs, outputs of algebraic loops."""

    def __post_init__(self) -> None:
        """Make all parts read-only. Raises `StateError` for numbers that no state can have."""
        parts: dict[str, Any] = {name: frozen(getattr(self, name)) for name in _ARRAYS}
        parts |= {name: tuple(getattr(self, name)) for name in _TUPLES}
        parts["callbacks"] = tuple((due, period) for due, period in self.callbacks)
        parts |= {
            name: MappingProxyType({key: float(x) for key, x in getattr(self, name).items()})
            for name in ("signs", "controls")
        }
        parts |= {
            name: MappingProxyType({key: tuple(map(float, x)) for key, x in getattr(self, name).items()})
            for name in ("closures", "impulses")
        }
        parts["held"] = MappingProxyType({key: frozen_value(x) for key, x in self.held.items()})
        for name, part in parts.items():
            msgspec.structs.force_setattr(self, name, part)
        fault = _fault(self)
        if fault:
            raise StateError(f"a state of a run cannot be: {fault}.")

    @property
    def t(self) -> float:
        """Time in seconds."""
        return self.ns / 1e9 + self.rest

    def encode(self) -> bytes:
        """Return the state as bytes that begin with a checksum. Equal states have equal bytes."""
        return encode(self)

    @classmethod
    def decode(cls, data: bytes) -> SimState:
        """Return the state that `encode` wrote. Raises `CheckpointError` for damaged or foreign bytes."""
        return decode(data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SimState) and encode(self) == encode(other)

    def __hash__(self) -> int:
        return hash(encode(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return decode, (encode(self),)

    def __repr__(self) -> str:
        parts = [f"{len(self.q)} coordinates", f"{len(self.v)} velocities"]
        parts += [f"{len(self.z)} states of components"] * bool(len(self.z))
        return f"SimState at t = {self.t:.9g} s: {', '.join(parts)}"


class _Encoded(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Written form of a state: plain data, names of arrays, and the bytes of their numbers."""

    format: str
    state: dict[str, Any]
    names: list[tuple[str, str, list[int]]]
    floats: bytes
    integers: bytes


def encode(state: SimState) -> bytes:
    """Return the bytes of a state, O(its size). Raises `CheckpointError` if a component holds something other than
    numbers."""
    plain = {name: getattr(state, name) for name in state.__struct_fields__ if name not in (*_ARRAYS, "held")}
    plain |= {name: dict(plain[name]) for name in ("signs", "closures", "impulses", "controls")}
    arrays = {name: getattr(state, name) for name in _ARRAYS}
    try:
        names, floats, integers = pack(arrays | {f"held {name}": state.held[name] for name in sorted(state.held)})
        parts = _Encoded(
            format=_FORMAT, state=plain, names=names,
            floats=floats.astype("<f8").tobytes(), integers=integers.astype("<i8").tobytes(),
        )  # fmt: skip
        data = msgspec.msgpack.encode(parts, order="deterministic")
    except (TypeError, ValueError, OverflowError, LookupError) as wrong:
        raise CheckpointError(f"the state of the run at t = {state.t:.9g} s cannot be written: {wrong}.") from None
    return hashlib.sha256(data).digest() + data


def decode(data: bytes) -> SimState:
    """Return the state that `encode` wrote. Nothing in the bytes is executed or imported; damaged or foreign bytes
    raise `CheckpointError`."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise StateError(f"decode takes the bytes of SimState.encode(), got {data!r:.60}.")
    data = bytes(data)
    if hashlib.sha256(data[_CHECKSUM:]).digest() != data[:_CHECKSUM]:
        raise CheckpointError("a state of a run is damaged: its checksum is not that of its data. Take another.")
    try:
        parts = msgspec.msgpack.decode(data[_CHECKSUM:], type=_Encoded)
        if parts.format != _FORMAT:
            raise ValueError(f"its format is {parts.format!r:.60}, not {_FORMAT!r}")
        floats, integers = np.frombuffer(parts.floats, "<f8"), np.frombuffer(parts.integers, "<i8")
        values = unpack(parts.names, floats.astype(np.float64), integers.astype(np.int64))
        arrays = {name: values.pop(name) for name in _ARRAYS if name != "rates" or name in values}
        if any(not name.startswith("held ") for name in values):
            raise ValueError("it has other arrays than those of a state")
        held = {name.removeprefix("held "): x for name, x in values.items()}
        state = msgspec.convert({**parts.state, **arrays, "held": held}, SimState, dec_hook=lambda kind, x: x)
    except (msgspec.MsgspecError, LookupError, ValueError, TypeError, OverflowError, RecursionError) as wrong:
        raise CheckpointError(f"a state of a run cannot be read: {wrong}.") from None
    return state


def _fault(state: SimState) -> str:
    """Return the reason why no state can have its numbers; empty if one can."""
    numbers = [state.rest, state.longest, state.length or 0.0, *state.signs.values(), *state.controls.values()]
    numbers += [x for y in (*state.closures.values(), *state.impulses.values()) for x in y]
    if not np.isfinite(numbers).all() or not all(np.isfinite(getattr(state, name)).all() for name in _ARRAYS):
        return "a number is not finite"
    if any(getattr(state, name).ndim != 1 for name in _ARRAYS):
        return "q, v, work, z and rates have one axis"
    times = [state.ns, state.origin, *state.happened, *(x for pair in state.callbacks for x in pair)]
    if any(abs(ns) >= _LAST for ns in times) or not 0.0 <= state.rest < 1e-9:
        return "a time is out of range"
    if not all(0 <= x < _LAST for x in state.ticks) or any(due < state.ns for due, _ in state.callbacks):
        return "a time is out of range"
    if any(period < 1 for _, period in state.callbacks) or (state.length is not None and not state.length > 0.0):
        return "a step or a period is not positive"
    if len(state.counts) != 2 or not all(0 <= x < 2**31 for x in state.counts) or state.longest < 0.0:
        return "a count or a length of steps is out of range"
    return ""
