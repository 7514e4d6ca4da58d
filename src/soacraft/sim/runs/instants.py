"""Quantities of a run between its rows, at states of the dense output.

Coordinates, velocities and work are those of the integrator's interpolant. Accelerations and forces are evaluated from
the problem at these states, with the controls, motions and modes that the step was taken with, so that they are as
accurate as the states. Impulses of contact are means of their steps. What depends on more than a state (clocks and
crossings of components, masses that vary) is taken from the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft import dynamics as dyn
from soacraft.sim.integrators.steps import Step
from soacraft.sim.runs.block import Block
from soacraft.sim.runs.signals import Signals, packed
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.sim.forces.contact_steps import ContactStep
    from soacraft.sim.runs.run import Run
    from soacraft.sim.system import Conditions, Mechanism

Integers = npt.NDArray[np.intp]


class Rates(NamedTuple):
    """Accelerations (m, nv), forces by their numbers in the problem (m, names, nv), signals (m, width)."""

    vdot: Array
    forces: Array
    signals: Array


class Instants:
    """Times of a run (m) that lie in its steps or on its rows.

    `piece` (m) is the number of the step or block that each is in; `row` (m) the last row that is not later. Without
    `t` they are the rows themselves, also those before a jump.
    """

    def __init__(
        self, run: Run, dense: Sequence[tuple[float, Step | Block]], starts: Array, t: Array | None = None
    ) -> None:
        self.run, self._dense = run, dense
        self.t = np.array(run.t) if t is None else t
        self.row: Integers = np.arange(len(run))
        if t is not None and len(run):
            self.row = np.maximum(np.searchsorted(run.t, t, side="right") - 1, 0)
        self.piece: Integers = np.searchsorted(starts, self.t, side="right") - 1
        last = run.t[-1] if len(run) and t is not None else -np.inf
        self._inside = (self.piece >= 0) & (self.t < last)

    def _groups(self) -> Iterator[tuple[Step | Block, Integers]]:
        """Steps and blocks, with the instants in each."""
        inside = np.flatnonzero(self._inside)
        if not len(inside):
            return
        inside = inside[np.argsort(self.piece[inside], kind="stable")]
        cuts = np.flatnonzero(np.diff(self.piece[inside])) + 1
        for group in np.split(inside, cuts) if len(cuts) else [inside]:
            yield self._dense[int(self.piece[group[0]])][1], group

    @cached_property
    def _x(self) -> Array:
        """The points inside steps, (m, size); what is at a row has none."""
        groups = [(group, piece.states(self.t[group])) for piece, group in self._groups()]
        points = np.full((len(self.t), groups[0][1].shape[1] if groups else 0), np.nan)
        for group, states in groups:
            points[group] = states
        return points

    @property
    def _problem(self) -> Mechanism:
        return self._dense[0][1].problem  # type: ignore[return-value]

    def _with_rows(self, rows: Array, columns: slice) -> Array:
        """Columns of the points, and those of rows for instants at one."""
        values = np.array(rows[self.row])
        if self._inside.any():
            values[self._inside] = self._x[self._inside, columns]
        return values

    @cached_property
    def q(self) -> Array:
        """Coordinates, (m, nq)."""
        return self._with_rows(self.run.q, slice(0, self.run.q.shape[1]))

    @cached_property
    def v(self) -> Array:
        """Velocities, (m, nv)."""
        nq, nv = self.run.q.shape[1], self.run.v.shape[1]
        return self._with_rows(self.run.v, slice(nq, nq + nv))

    @cached_property
    def work(self) -> dict[str, Array]:
        """The work of every force, (m)."""
        at = self.run.q.shape[1] + self.run.v.shape[1]
        places = {name: at + i for i, name in enumerate(self._problem.names)} if self._dense else {}
        return {name: self._with_rows(x[:, None], slice(places.get(name, 0), places.get(name, 0) + 1))[:, 0]
                for name, x in self.run.work.items()}  # fmt: skip

    @cached_property
    def energies(self) -> Array:
        """Kinetic and potential energy, and that of springs, (m, 3)."""
        run = self.run
        rows = np.stack([run.kinetic, run.potential, run.energy - run.kinetic - run.potential], axis=1)
        energies = rows[self.row]
        for piece, group in self._groups():
            problem: Any = piece.problem
            if problem.varies:
                energies[group] = self._linear(rows, group)
                continue
            problem.require_unchanged(piece.conditions, float(self.t[group[0]]), "energies")
            mb, q, v = problem.mb, np.ascontiguousarray(self.q[group]), np.ascontiguousarray(self.v[group])
            energies[group, 0] = dyn.kinetic_energy(mb, q, v, ignore_loops=True)
            energies[group, 1] = dyn.potential_energy(mb, q, ignore_loops=True)
            energies[group, 2] = dyn.passive_energy(mb, q, ignore_loops=True) if problem.has_passive else 0.0
        return energies

    @property
    def vdot(self) -> Array:
        """Accelerations, (m, nv)."""
        return self._rates.vdot

    @cached_property
    def forces(self) -> dict[str, Array]:
        """The generalized force of every element, (m, nv)."""
        names = list(self._problem.names) if self._dense else list(self.run.forces)
        return {name: self._rates.forces[:, names.index(name)] for name in self.run.forces}

    @cached_property
    def signals(self) -> Signals:
        """The signals of components."""
        return Signals(self.run.signals.columns, self._rates.signals)

    @property
    def from_rows(self) -> bool:
        """True if rates are taken from rows."""
        return not (self._dense and self._problem.memoryless)

    @cached_property
    def force_rows(self) -> Array:
        """The forces at the rows of the run by their numbers in the problem, (rows, names, nv)."""
        names = self._problem.names if self._dense else tuple(self.run.forces)
        rows = np.zeros((len(self.run), len(names), self.run.v.shape[1]))
        for name, x in self.run.forces.items():
            rows[:, names.index(name)] = x
        return rows

    @cached_property
    def _rates(self) -> Rates:
        run, rows = self.run, self.force_rows
        signals = run.signals.rows if len(run.signals) else np.zeros((len(run), 0))
        rates = Rates(np.array(run.vdot[self.row]), rows[self.row], signals[self.row])
        for piece, group in self._groups():
            problem: Any = piece.problem
            if problem.memoryless:
                for conditions, part in piece.conditions_at(self.t[group]):
                    self._evaluate(rates, rows, group[part], problem, conditions)
            else:
                self._from_rows(rates, rows, signals, group, problem)
        return rates

    def _evaluate(self, rates: Rates, rows: Array, group: Integers, problem: Any, conditions: Conditions) -> None:
        """Rates of instants in steps of the same conditions, from the problem; of contact the means of steps."""
        problem.require_unchanged(conditions, float(self.t[group[0]]), "accelerations and forces")
        components, samples, columns = problem.components, [], self.run.signals.columns
        end = int(self.recorded[group].max())
        with problem.under(conditions):
            problem.require_same_forces(float(self.run.t[end]), self.run.q[end], self.run.v[end], rows[end])
            for i in group:
                t, x = float(self.t[i]), self._x[i]
                if not problem.contact.touches:
                    rates.vdot[i], rates.forces[i] = problem.solved(t, x)
                else:
                    problem.place(t, x)
                    rates.vdot[i] = self.run.vdot[self.ends[i]]
                    rates.forces[i] = problem.all_forces(t, self.q[i], self.v[i])
                if not components.is_empty and columns == components.columns:
                    samples.append(components.sample(partial(np.array, rates.vdot[i])))
        if samples:
            rates.signals[group] = packed(columns, samples)
        elif columns:
            rates.signals[group] = self._linear(self.run.signals.rows, group)
        touch = problem.contact
        means = (touch.name, "prescribed", *(problem.names[x[0]] for x in touch.row_forces)) if touch.touches else ()
        for number in (problem.names.index(name) for name in means if name in problem.names):
            rates.forces[group, number] = rows[self.ends[group], number]

    def _from_rows(self, rates: Rates, rows: Array, signals: Array, group: Integers, problem: Any) -> None:
        """Rows: held until the next one where clocks tick, else straight between them."""
        if problem.components.next_tick is not None or problem.components.feels:
            return  # as they are
        rates.vdot[group], rates.forces[group] = self._linear(self.run.vdot, group), self._linear(rows, group)
        rates.signals[group] = self._linear(signals, group)

    @property
    def ends(self) -> Integers:
        """The rows at which the steps of the instants end: those of instants at rows themselves."""
        last = np.minimum(self.row + 1, len(self.run) - 1)
        return np.where(self.run.t[self.row] < self.t, last, self.row)

    @property
    def recorded(self) -> Integers:
        """Rows at which forces of the steps of the instants were recorded: at their ends, before what happens there."""
        return np.where(self._inside, np.minimum(self.row + 1, len(self.run) - 1), self.row)

    def _linear(self, rows: Array, group: Integers) -> Array:
        """Values between rows, on the straight way."""
        t, i = self.run.t, self.row[group]
        j = np.minimum(i + 1, len(t) - 1)
        part = (self.t[group] - t[i]) / np.where(t[j] > t[i], t[j] - t[i], 1.0)
        part = part.reshape(-1, *np.ones(rows.ndim - 1, dtype=int))
        return np.asarray((1.0 - part) * rows[i] + part * rows[j])

    # -- what reactions are computed from ----------------------------------------------------------------------------

    @property
    def is_made_here(self) -> bool:
        """True if the run has its steps, and with them the model and its forces."""
        return bool(self._dense)

    @property
    def conditions(self) -> tuple[Mechanism, Conditions]:
        """The problem, and the conditions of the first step that is asked for."""
        return self.conditions_of(0) if len(self.t) else (self._problem, self._dense[0][1].conditions)

    def conditions_of(self, i: int) -> tuple[Mechanism, Conditions]:
        """The problem of an instant, and the conditions of its step; at the end those of the last one."""
        piece: Any = self._dense[max(int(self.piece[i]), 0)][1]
        return piece.problem, piece.conditions_at(self.t[i : i + 1])[0][0]

    def contact_at(self, i: int) -> tuple[ContactStep, float] | None:
        """The contacts of the step of an instant, and its length in seconds; None where nothing touched."""
        contacts = self.run.contacts
        return None if contacts is None else contacts.at_row(int(self.ends[i]))
