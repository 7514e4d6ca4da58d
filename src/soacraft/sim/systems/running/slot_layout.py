"""`SlotLayout`: the place of every value of a system in the one array that compiled steps read and write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.sim.systems.running.schedule import Schedule

#: Kinds of arguments and results, in core/sim/components/plan_object.cpp.
NUMBER, WHOLE, TRUTH, ARRAY, OBJECT, COUNT, CONSTANT = range(7)
_SINGLE = (NUMBER, WHOLE, TRUTH)

Forms = list[tuple[int, tuple[int, ...]]]
Places = npt.NDArray[np.intp]


def forms_of(values: Sequence[Any]) -> Forms:
    """The kind of the value of each slot, by the values that it begins with, and the shapes of arrays."""
    forms: Forms = []
    for x in values:
        if isinstance(x, np.ndarray):
            forms.append((ARRAY if x.dtype == np.float64 else -1, x.shape))
        else:
            kinds = {float: NUMBER, int: WHOLE, bool: TRUTH, type(None): OBJECT}
            forms.append((kinds.get(type(x), CONSTANT), ()))
    return forms


@dataclass(frozen=True, eq=False)
class SlotLayout:
    """Places in the array, by slots of Python."""

    at: dict[int, int]
    """Place of each slot, or the number of an object."""
    size: int
    """Numbers of the array."""
    z: int
    """Place of the continuous states,"""
    rates: int
    """of their rates,"""
    margins: int
    """and of the functions of crossings."""
    moved: tuple[int, int, int]
    """Places of q, v and vdot of the model that is moved; -1 where there is none."""
    nq: int
    nv: int
    objects: int
    """Number of objects."""
    fresh: dict[str, int]
    """Places of what updates give, by key."""
    spread: dict[int, int]
    """Places of generalized forces that a function spreads, by number."""
    single: list[int]
    """Slots of numbers, but those of plants and continuous states, and their places,"""
    single_at: Places
    arrays: list[int]
    """and of arrays."""
    all_single: list[int]
    """Slots of all numbers, and their places,"""
    all_single_at: Places
    all_arrays: list[int]
    """and of all arrays."""
    whole_numbers: list[int]
    """Slots of whole numbers and truth values."""


def layout_of(s: Schedule, forms: Forms) -> SlotLayout:
    """Return the layout of a schedule, whose slots have these forms."""
    size, objects, at = 1, 0, {0: 0}

    def take(n: int) -> int:
        nonlocal size
        first, size = size, size + n
        return first

    def numbers(slot: int) -> int:
        return int(np.prod(forms[slot][1]))

    z = take(s.size)
    at |= {place.slot: z + place.start for place in s.places}
    nq, nv = (s.plants[-1].seat.q.stop, s.plants[-1].seat.v.stop) if s.plants else (0, 0)
    moved = [-1, -1, -1]
    for i, name in enumerate(("q", "v", "vdot") if s.plants else ()):
        moved[i] = take(nq if name == "q" else nv)
        for plant in s.plants:
            first = moved[i] + (plant.seat.q if name == "q" else plant.seat.v).start
            at[s.slots[f"{plant.path}.{name}"]] = first
            many = plant.mb.nq if name == "q" else plant.mb.nv
            at.update({s.slots[f"{plant.path}.{name}[{k}]"]: first + k for k in range(many)})
    others = [i for i in range(len(forms)) if i not in at]
    for i in others:
        if forms[i][0] == OBJECT:
            at[i], objects = objects, objects + 1
        elif forms[i][0] != CONSTANT:
            at[i] = take(numbers(i))
    rates = take(s.size)
    fresh = {call.key: take(numbers(call.slot)) for x in s.ticking for call in x.updates}
    margins = take(len(s.watched))
    spread = {i: take(nv) for i, (x, _) in enumerate(s.forces) if x.push.spread is not None}
    single = [i for i in others if forms[i][0] in _SINGLE]
    all_single = [i for i in sorted(at) if forms[i][0] in _SINGLE]
    return SlotLayout(
        at=at,
        size=size,
        z=z,
        rates=rates,
        margins=margins,
        moved=(moved[0], moved[1], moved[2]),
        nq=nq,
        nv=nv,
        objects=objects,
        fresh=fresh,
        spread=spread,
        single=single,
        single_at=np.array([at[i] for i in single], dtype=np.intp),
        arrays=[i for i in others if forms[i][0] == ARRAY],
        all_single=all_single,
        all_single_at=np.array([at[i] for i in all_single], dtype=np.intp),
        all_arrays=[i for i in sorted(at) if forms[i][0] == ARRAY],
        whole_numbers=[i for i in all_single if forms[i][0] != NUMBER],
    )
