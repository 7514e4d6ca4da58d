"""Step of the whole robot: velocities, and their shortfall level by level."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from soacraft.spatial.checks import Array


class LevelStep(NamedTuple):
    """Shortfall of a step in one level."""

    level: int
    """-1 for rows that are kept, whatever the levels want."""
    left: dict[str, float]
    """Norm of J v - wanted by task, or the violation of rows that are to be kept."""
    at_limits: tuple[str, ...]
    """Dofs whose bounds hold the level back."""


class Names(NamedTuple):
    """Names for the numbers of a step."""

    tasks: tuple[str, ...]
    """Names of the tasks in the order of the call."""
    order: tuple[int, ...]
    """Position of the number of each task."""
    task_levels: tuple[int, ...]
    levels: tuple[int, ...]
    dofs: tuple[str, ...]
    still: tuple[str, ...] = ()


def distinct(names: list[str]) -> tuple[str, ...]:
    """Names with a number behind those that come again."""
    return tuple(x if names[:k].count(x) == 0 else f"{x} ({names[:k].count(x) + 1})" for k, x in enumerate(names))


@dataclass(frozen=True, eq=False, repr=False)
class Step:
    """Velocities of one step, and their shortfall."""

    v: Array
    _names: Names = field(repr=False)
    _told: Array = field(repr=False)
    """Shortfall of the tasks, then 1 where a bound holds a level back (levels, nv)."""

    @property
    def left(self) -> dict[str, float]:
        """Shortfall by task: the norm of J v - wanted, or the violation of rows that are to be kept."""
        x = self._names
        return dict(zip(x.tasks, (float(self._told[i]) for i in x.order), strict=True))

    @property
    def at_limits(self) -> tuple[str, ...]:
        """Dofs that a bound holds back, in any level."""
        return self._at(self._held.max(axis=0, initial=0.0))

    @property
    def still(self) -> tuple[str, ...]:
        """Dofs that stay where they are: elastic modes, and dofs of held objects that no loop moves."""
        return self._names.still

    @property
    def levels(self) -> tuple[LevelStep, ...]:
        """Shortfall, level by level."""
        residuals, of = self.left, self._names.task_levels
        listed = [(level, self._at(held)) for level, held in zip(self._names.levels, self._held, strict=True)]
        first = [(-1, ())] if -1 in of else []
        return tuple(
            LevelStep(
                level, {name: residuals[name] for name, its in zip(residuals, of, strict=True) if its == level}, held
            )
            for level, held in [*first, *listed]
        )

    @property
    def _held(self) -> Array:
        n, levels = len(self._names.dofs), len(self._names.levels)
        return self._told[len(self._names.tasks) :].reshape(levels, n)

    def _at(self, held: Array) -> tuple[str, ...]:
        return tuple(self._names.dofs[i] for i in np.flatnonzero(held))

    def __repr__(self) -> str:
        worst = max(self.left.items(), key=lambda x: x[1], default=("", 0.0))
        held = f", held back: {', '.join(self.at_limits)}" if self.at_limits else ""
        stay = f", still: {', '.join(self.still)}" if self.still else ""
        return f"step: least done {worst[0]!r} (off by {worst[1]:.3g}){held}{stay}"
