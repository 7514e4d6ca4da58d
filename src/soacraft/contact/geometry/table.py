"""Tables of distances or contacts: a row for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft import markup
from soacraft.cards import card
from soacraft.spatial.checks import Array

Integers = npt.NDArray[np.int64]
_SHOWN = 12


@dataclass(frozen=True, eq=False)
class ContactRow:
    """One row: names of the shapes, signed distance, points on them and the unit normal from a to b."""

    a: str
    b: str
    distance: float
    point_a: Array
    point_b: Array
    normal: Array
    state: int = 0

    def __repr__(self) -> str:
        return f"{self.a} - {self.b}: {self.distance:.6g} m"


@dataclass(frozen=True, eq=False)
class Contacts:
    """Rows of distances or contacts, in the order of states, then of the names of the shapes.

    `state` is the number of the state in a batch, `a` and `b` the numbers of the shapes in `names`; `distance` is
    signed and less the padding; `point_a`, `point_b` are on the shapes, in the inertial frame; `normal` is of unit
    length, from a to b; `error` bounds what an iteration left. `q` is the configuration (states, nq) it was computed
    at. `surface_velocity` is that of b's surface relative to a's, in the inertial frame, of shapes whose attributes
    have one (conveyors): it is data for who computes friction.
    """

    names: tuple[str, ...]
    q: Array
    state: Integers
    a: Integers
    b: Integers
    distance: Array
    point_a: Array
    point_b: Array
    normal: Array
    error: Array
    surface_velocity: Array
    key: Any = None
    """Key of the model when they were computed."""

    def __len__(self) -> int:
        return len(self.distance)

    def __getitem__(self, i: int) -> ContactRow:
        return ContactRow(
            self.names[self.a[i]], self.names[self.b[i]], float(self.distance[i]), self.point_a[i], self.point_b[i],
            self.normal[i], int(self.state[i]),
        )  # fmt: skip

    def __iter__(self) -> Iterator[ContactRow]:
        return (self[i] for i in range(len(self)))

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The names of the shapes of each row."""
        return [(self.names[i], self.names[j]) for i, j in zip(self.a, self.b, strict=True)]

    def __repr__(self) -> str:
        if not len(self):
            return "no contacts"
        lines = [f"{len(self)} rows, nearest {self.distance.min():.6g} m"]
        lines += [f"  {self[i]!r}" for i in range(min(len(self), _SHOWN))]
        return "\n".join(lines + ["  ..."] * (len(self) > _SHOWN))

    def _repr_html_(self) -> str:
        first = (self[i] for i in range(min(len(self), markup.ROWS)))
        rows = [[row.a, row.b, f"{row.distance:.6g}", str(row.state)] for row in first]
        table = markup.table(["a", "b", "distance [m]", "state"], rows, total=len(self), more="iterate for all")
        return card(repr(self).partition("\n")[0], table)
