"""Forces of a run without those of their entries that are always zero: a control acts on the dofs of its row alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from soacraft.errors import StateError, near
from soacraft.sim.forces.drives import Control
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.sim.system import Mechanism


class ForceColumns:
    """The entries of a (forces, dofs) table that may differ from zero, by number."""

    def __init__(self, shape: tuple[int, int], entries: npt.NDArray[np.intp]) -> None:
        self.shape, self.entries = shape, entries
        self.is_whole = len(entries) == shape[0] * shape[1]
        """True if no entry is left out."""

    @classmethod
    def of(cls, problem: Mechanism) -> ForceColumns:
        """Columns of a problem: from the first to the last dof of the row of a control, all dofs of other loads."""
        may = np.ones((len(problem.names), problem.mb.nv), dtype=bool)
        for i, load in enumerate(problem.functions_and_controls):
            if isinstance(load, Control):
                dofs = np.flatnonzero(load.row)
                may[i] = False
                if len(dofs):
                    may[i, dofs[0] : dofs[-1] + 1] = True
        return cls(may.shape, np.flatnonzero(may))

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        same = isinstance(other, ForceColumns) and self.shape == other.shape
        return same and isinstance(other, ForceColumns) and np.array_equal(self.entries, other.entries)

    __hash__ = None  # type: ignore[assignment]

    @property
    def all(self) -> ForceColumns:
        """All entries of the same table."""
        return ForceColumns(self.shape, np.arange(self.shape[0] * self.shape[1]))

    def compact(self, forces: Array) -> Array:
        """The entries of rows (n, forces, dofs), (n, entries)."""
        flat = forces.reshape(len(forces), self.shape[0] * self.shape[1])
        return flat.copy() if self.is_whole else flat[:, self.entries]

    def has_all(self, forces: Array) -> bool:
        """True if the other entries of rows (n, forces, dofs) are zero."""
        return self.is_whole or np.count_nonzero(forces) == np.count_nonzero(self.compact(forces))

    def full(self, compact: Array) -> Array:
        """Rows (n, forces, dofs) of entries (n, entries)."""
        if self.is_whole:
            return compact.reshape(len(compact), *self.shape)
        rows = np.zeros((len(compact), self.shape[0] * self.shape[1]))
        rows[:, self.entries] = compact
        return rows.reshape(len(compact), *self.shape)

    def acts(self, parts: Sequence[Array]) -> npt.NDArray[np.bool_]:
        """True for each force that is not zero in all rows, which are in several arrays."""
        some = np.zeros(self.shape[0], dtype=bool)
        for compact in parts:
            some[self.entries[np.logical_or.reduce(compact, axis=0)] // max(self.shape[1], 1)] = True
        return some

    def of_force(self, compact: Array, number: int) -> Array:
        """Rows (n, dofs) of one force."""
        nv = self.shape[1]
        first, last = np.searchsorted(self.entries, (number * nv, (number + 1) * nv))
        rows = np.zeros((len(compact), nv))
        rows[:, self.entries[first:last] - number * nv] = compact[:, first:last]
        return rows


class Forces(Mapping[str, Array]):
    """The generalized forces of a run by name, (rows, dofs), each made when it is first read, from the `parts` of the
    run one behind the other."""

    def __init__(self, numbers: Mapping[str, int], columns: ForceColumns, parts: Sequence[Array]) -> None:
        self._numbers, self._columns, self._parts = numbers, columns, tuple(parts)
        self._rows: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._rows:
            if name not in self._numbers:
                raise StateError(f"the run has no force {name!r:.60}{near(str(name), self._numbers)}")
            rows = [self._columns.of_force(x, self._numbers[name]) for x in self._parts]
            self._rows[name] = rows[0] if len(rows) == 1 else np.concatenate(rows)
        return self._rows[name]

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __repr__(self) -> str:
        return f"<{len(self)} forces: {', '.join([*self][:6])}{', ...' if len(self) > 6 else ''}>"
