"""Impulses of the last step with contact, next to which those of the next one are sought: a mapping by names, or a
table, (points, 11): the numbers of two shapes, the place, the impulse on the second one and its moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from soacraft.sim.forces.compiled_contact import ContactLog
from soacraft.sim.forces.contact_steps import ContactStep
from soacraft.spatial.checks import Array

#: Numbers of a point after those of its shapes, and the text between the names of these.
NUMBERS, _JOINT = 9, " | "
NO_IMPULSES = np.zeros((0, 2 + NUMBERS))
#: Two times this near to each other are one: whole nanoseconds, with rounding in long runs.
_SAME, _ROUNDING = 0.5e-9, 1e-15


def impulses_of(last: ContactLog | ContactStep | None, t: float) -> Array | None:
    """Return the impulses of the last of some steps, if it ended at a time."""
    if last is None or (isinstance(last, ContactLog) and not len(last.steps)):
        return None
    end = float(last.steps[-1, 0]) if isinstance(last, ContactLog) else last.t
    if not is_same_time(end, t):
        return None
    if isinstance(last, ContactLog):
        count = int(last.steps[-1, 1])
        return np.ascontiguousarray(last.points[len(last.points) - count :, : 2 + NUMBERS])
    number = {name: i for i, name in enumerate(last.names)}
    pairs = np.array([(number[a], number[b]) for a, b in last.pairs], dtype=float).reshape(-1, 2)
    return np.hstack([pairs, last.points, last.impulses, last.moments])


def is_same_time(a: float, b: float) -> bool:
    """True if two times are those of one nanosecond."""
    return abs(a - b) <= _SAME + _ROUNDING * abs(b)


def by_names(table: Array, names: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Return impulses by the names of two shapes, the points of a pair one after the other."""
    impulses: dict[str, tuple[float, ...]] = {}
    for row in table.tolist():
        key = _JOINT.join((names[int(row[0])], names[int(row[1])]))
        impulses[key] = (*impulses.get(key, ()), *row[2:])
    return impulses


def as_table(impulses: Mapping[str, tuple[float, ...]], names: Sequence[str]) -> Array:
    """Return the table of impulses by names, without those of shapes that are gone."""
    number, rows = {name: i for i, name in enumerate(names)}, []
    for key, numbers in impulses.items():
        parts = key.split(_JOINT)
        for i in range(1, len(parts)):  # names may have the joint in them
            a, b = (number.get(_JOINT.join(x)) for x in (parts[:i], parts[i:]))
            if a is not None and b is not None:
                rows += [(a, b, *numbers[k : k + NUMBERS]) for k in range(0, len(numbers), NUMBERS)]
                break
    return np.array(rows, dtype=float).reshape(-1, 2 + NUMBERS)
