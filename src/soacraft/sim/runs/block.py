"""Many steps as arrays, as compiled code gives them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.sim.integrators.steps import Problem, Step, dense, hermite, within
from soacraft.sim.runs.force_columns import ForceColumns
from soacraft.spatial.checks import Array


@dataclass(frozen=True, eq=False)
class Block:
    """Steps one after the other: n + 1 instants, states and rates, and n of what belongs to a step or to its end."""

    problem: Problem
    ns: npt.NDArray[np.int64]
    """Nanoseconds, (n + 1)."""
    x: Array
    w: Array
    F: Array
    """(n, rows, size): of an adaptive method as `dense` evaluates them; of others the chart coordinates at the ends."""
    forces: Array
    """(n, entries): at the ends, of the entries of `columns`."""
    errors: Array | None
    """(n): relative to what is allowed, where the method knows them."""
    openings: Array
    """(n): how far closures are open at the ends."""
    conditions: Any
    """Conditions of the steps: `problem.conditions_now` then."""
    columns: ForceColumns
    """Entries of the forces that may differ from zero."""
    before: Array | None = None
    """(n, size): rates at the ends before components ticked there, where there are components,"""
    signals: Array | None = None
    """(n, width): and their signals."""
    starts: Array | None = None
    """(n, size): rates that each step begins with, where callbacks came between steps,"""
    energies: Array | None = None
    """(n, 3): and, where one of them may change the model, kinetic, potential and spring energy at the ends."""
    numbers: tuple[npt.NDArray[np.int64], Array] | None = None
    """Nanoseconds from which controls may have had other numbers, growing, and these numbers, a row for each."""

    def of_versions(self, old: Any, new: Any) -> Block:
        """The block after its model was copied, where the versions of the model were old."""
        return replace(self, conditions=self.conditions._replace(model=new)) if self.conditions.model == old else self

    @cached_property
    def t(self) -> Array:
        """The instants in seconds."""
        return np.asarray(self.ns / 1e9)

    def states(self, t: Array) -> Array:
        """The states at times within the steps, (m, size)."""
        i = np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self.F) - 1)
        h = ((self.ns[i + 1] - self.ns[i]) / 1e9)[:, None]
        theta = (t - self.ns[i] / 1e9)[:, None] / h
        x0, x1, F = self.x[i], self.x[i + 1], np.swapaxes(self.F[i], 0, 1)
        if len(F) == 1:
            manifold, w1 = self.problem.manifold, self.w[i + 1] if self.before is None else self.before[i]
            if not manifold.flat:
                w1 = np.reshape([manifold.rate(*x) for x in zip(x0, F[0], w1, strict=True)], F[0].shape)
            w0 = self.w[i] if self.starts is None else self.starts[i]
            F = hermite(F[0], h * w0, h * w1)
        return within(
            self.problem, t, theta, (x0, x1), self.problem.manifold.move(x0, dense(F, theta)), self.conditions
        )

    def conditions_at(self, t: Array) -> list[tuple[Any, npt.NDArray[np.intp]]]:
        """The conditions of the steps at times within them, with the indices of the times of each."""
        if self.numbers is None or not len(self.numbers[0]):
            return [(self.conditions, np.arange(len(t)))]
        since, numbers = self.numbers
        which = np.maximum(np.searchsorted(since / 1e9, t, side="right") - 1, 0)
        conditions = {
            i: self.conditions._replace(numbers=tuple(numbers[i].tolist())) for i in np.unique(which).tolist()
        }
        return [(conditions[i], np.flatnonzero(which == i)) for i in conditions]

    def around(self, t: float) -> Step:
        """The step that t is in."""
        return self.step(int(np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self.F) - 1)))

    def step(self, i: int) -> Step:
        """Step number i."""
        h = float(self.ns[i + 1] - self.ns[i]) / 1e9
        x0, x1, F = self.x[i], self.x[i + 1], self.F[i]
        w0 = self.w[i] if self.starts is None else self.starts[i]
        w1 = self.w[i + 1] if self.before is None else self.before[i]
        if len(F) == 1:
            F = hermite(F[0], h * w0, h * self.problem.manifold.rate(x0, F[0], w1))
        t = float(self.ns[i]) / 1e9
        conditions = self.conditions_at(np.array([t]))[0][0]
        return Step(self.problem, t, h, x0, x1, w0, w1, F, conditions=conditions)
