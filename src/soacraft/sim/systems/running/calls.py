"""Elements of a schedule: calls with the slots they read and write, and what belongs to ticks and crossings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from soacraft.sim.systems.running.clocks import Clock
from soacraft.sim.systems.running.noise import Stream

#: Quantities of a node that compiled code computes, in the order of core/sim/components/plan.hpp.
OF_NODE = ("rotation", "position", "angular_velocity", "velocity")


class Native(NamedTuple):
    """Compiled form of a call: the twin of an equation ("twin"), an element of an array ("element", its
    number), a value times a factor ("scaled"), or a quantity of a node ("position" and others, its frame)."""

    kind: str
    value: Any


class Call(NamedTuple):
    """A function, what gets its arguments from the values, and the slot of its result."""

    function: Callable[..., Any]
    get: Callable[[list[Any]], tuple[Any, ...]]
    slot: int
    key: str
    reads: tuple[tuple[str, int], ...]
    """Names and slots of its arguments, for messages."""
    plain: Callable[..., Any]
    """The function as it was given: of its arguments alone."""
    native: Native | None = None


class Place(NamedTuple):
    """Place of a continuous state."""

    key: str
    slot: int
    start: int
    """Start in the array of all continuous states."""
    shape: tuple[int, ...]
    nominal: float


class Jump(NamedTuple):
    """A state's new value at a crossing: the slot of a discrete one, the place of a continuous one."""

    call: Call
    place: Place | None


class Watched(NamedTuple):
    """A crossing."""

    call: Call
    direction: int
    jumps: tuple[Jump, ...]


class Ticking(NamedTuple):
    """A sampled component: its clock, updates, and streams of noise with their slots."""

    path: str
    clock: Clock
    outputs: frozenset[str]
    updates: tuple[Call, ...]
    streams: tuple[tuple[int, Stream], ...]


class Knot(NamedTuple):
    """A loop that is solved: its calls in order, and the outputs that Newton's method varies."""

    key: str
    calls: tuple[Call, ...]
    tears: tuple[Call, ...]
    shapes: tuple[tuple[int, ...], ...]


def made(
    function: Callable[..., Any],
    reads: tuple[tuple[str, int], ...],
    slot: int,
    key: str,
    native: Native | None = None,
    plain: Callable[..., Any] | None = None,
) -> Call:
    """A call whose arguments come from slots as a tuple, also where there are none or one. `plain` is the function as
    compiled steps call it, if it is another one."""
    places, more = [at for _, at in reads], (slot, key, reads, plain or function, native)
    if not places:
        return Call(lambda _, __: function(), itemgetter(0, 0), *more)
    if len(places) == 1:
        return Call(lambda a, _: function(a), itemgetter(places[0], places[0]), *more)
    return Call(function, itemgetter(*places), *more)


def calls_of(x: Call | Knot) -> Sequence[Call]:
    """The call itself, or the calls of a loop."""
    return [x] if isinstance(x, Call) else x.calls


def getter(slots: Sequence[int]) -> Callable[[list[Any]], tuple[Any, ...]]:
    """Function that takes the values of slots, as a tuple however many there are."""
    if len(slots) > 1:
        return itemgetter(*slots)
    return lambda V: tuple(V[i] for i in slots)
