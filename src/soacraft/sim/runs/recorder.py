"""Rows of a run as they are made; energies are computed together, before a parameter of the model changes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.errors import SimulationError, SoacraftError, StateError
from soacraft.sim.events import Happened
from soacraft.sim.forces.loads import Passive, Stored
from soacraft.sim.integrators.steps import Step
from soacraft.sim.problem.no_contact import NoContact
from soacraft.sim.runs.block import Block
from soacraft.sim.runs.clocked import Paced
from soacraft.sim.runs.contacts import ContactHistory
from soacraft.sim.runs.force_columns import Forces
from soacraft.sim.runs.log import Log
from soacraft.sim.runs.run import Run
from soacraft.sim.runs.signals import Signals, packed
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array

_COLUMNS = ("t", "q", "v", "vdot", "kinetic", "potential", "springs", "violation", "work", "signals")
#: Rows that are computed together; rows that are written together, and seconds after which they are, for those who
#: follow a log.
_TOGETHER, _LOGGED, _SECONDS = 256, 2**13, 0.5


class Recorder:
    """Takes steps and events, gives a `Run`."""

    def __init__(self, problem: Mechanism, integrator: str, log: Log | None = None) -> None:
        self._problem, self._integrator, self._log = problem, integrator, log
        self._acting = problem.acting
        self._pending: list[tuple[float, Array, Array, Array]] = []
        # signals of what is carried along, for each pending row
        self._samples: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = []
        self._chunks: list[dict[str, Array]] = []
        self._columns = problem.force_columns
        self._unlogged: list[dict[str, Array]] = []
        self.events: list[Happened] = []
        self._steps: list[tuple[float, Step | Block]] = []
        self._due = time.monotonic() + _SECONDS  # when rows go to the log, few as they may be
        self._silent = False  # whether rows are not for the log
        self.explained: float | None = None
        """The sum of the local errors, relative."""

    def first(self, t: float, x: Array, w: Array, known: bool) -> None:
        """The state at which it begins; a log that goes on has it already."""
        self._silent = known
        self.row(t, x, w)
        if known:
            self.flush()
        self._silent = False

    def row(self, t: float, x: Array, w: Array) -> None:
        """A state of the run."""
        problem = self._problem
        (nq, _, nv), components = problem.sizes, problem.components
        if not components.is_empty:
            problem.place(t, x)
        of_rows = problem.recorded_forces if problem.contact.touches else problem.all_forces
        forces = of_rows(t, x[:nq], x[nq : nq + nv])
        if not components.is_empty:
            self._samples.append(components.sample(lambda: problem.vdot_of(x, w)))
        self._pending.append((t, x, w, forces))
        if problem.varies:  # energies are those of the masses as they are placed
            self.flush()
        if len(self._pending) >= _TOGETHER or (self._log is not None and time.monotonic() >= self._due):
            self.flush()

    def step(self, step: Step, end: float, error: float | None, after: tuple[Array, Array] | None = None) -> None:
        """An accepted step, with its error relative to the model's sizes, and its end; `after` are the point and the
        rates after a tick there."""
        self._steps.append((step.t0, step))
        if error is not None:
            self.explained = (self.explained or 0.0) + error
        self.row(end, *(after or (step.x1, step.w1)))

    def block(self, block: Block, rtol: float) -> bool:
        """Many accepted steps, whose errors are relative to rtol. False, and nothing of it kept, where there are
        components and the energy of a row is not known: they must be taken one by one then."""
        joined = self._begins(block)
        if not joined and self._pending:
            self._compute()
        if block.signals is not None and not self._is_good(block.x[1:]):
            return False
        t, first = block.ns / 1e9, 0 if joined else 1
        self._steps.append((float(t[0]), block))
        if block.errors is not None:
            self.explained = (self.explained or 0.0) + rtol * float(block.errors.sum())
        forces = block.forces if block.columns is self._columns else self._of_block(block)
        openings = block.openings
        if joined:
            forces, openings = self._with_pending(forces, openings)
        self._add(t[first:], block.x[first:], block.w[first:], forces, openings, block.signals, block.energies)
        if self._log is not None and (
            time.monotonic() >= self._due or sum(len(x["t"]) for x in self._unlogged) >= _LOGGED
        ):
            self._to_log()
        return True

    def flush(self) -> None:
        """Compute what is pending, and write all rows to the log."""
        if self._pending:
            self._compute()
        if self._log is not None:
            self._to_log()

    def _begins(self, block: Block) -> bool:
        """True if the one row that is pending is that with which a block begins, whose energies are not known: then
        they are computed together."""
        if len(self._pending) != 1 or block.signals is not None or block.energies is not None:
            return False
        t, x, w, _ = self._pending[0]
        same = x.tobytes() == block.x[0].tobytes() and w.tobytes() == block.w[0].tobytes()
        return bool(same and t == block.ns[0] / 1e9)

    def _with_pending(self, forces: Array, openings: Array) -> tuple[Array, Array]:
        """Forces, in the columns of the rows, and openings of closures, behind those of the pending row."""
        _, x, _, force = self._pending[0]
        if not self._columns.is_whole and not self._columns.has_all(force[None]):
            before = self._columns
            self._take_all()
            forces = self._columns.compact(before.full(forces))
        nq, _, nv = self._problem.sizes
        opening = np.zeros(1)
        if self._problem.is_closed:
            opening = self._problem.violations(x[None, :nq], x[None, nq : nq + nv])
        return np.concatenate([self._columns.compact(force[None]), forces]), np.concatenate([opening, openings])

    def _to_log(self) -> None:
        self._due = time.monotonic() + _SECONDS
        chunks, self._unlogged = self._unlogged, []
        if self._log is not None and chunks:
            self._log.write([{**x, "forces": self._columns.full(x["forces"])} for x in chunks], self.events)

    def _compute(self) -> None:
        t, x, w, forces = map(np.array, zip(*self._pending, strict=True))
        nq, _, nv = self._problem.sizes
        q, v = x[:, :nq], x[:, nq : nq + nv]
        if not self._columns.has_all(forces):
            self._take_all()
        self._add(t, x, w, self._columns.compact(forces), self._problem.violations(q, v))

    def _of_block(self, block: Block) -> Array:
        """The forces of a block in the columns of the rows."""
        if block.columns == self._columns:
            return block.forces
        self._take_all()
        return self._columns.compact(block.columns.full(block.forces))

    def _take_all(self) -> None:
        """Have all entries of the forces from now on, and in the rows so far."""
        before, self._columns = self._columns, self._columns.all
        for chunk in self._chunks:
            chunk["forces"] = self._columns.compact(before.full(chunk["forces"]))

    def _add(
        self,
        t: Array,
        x: Array,
        w: Array,
        forces: Array,
        violation: Array,
        signals: Array | None = None,
        energies: Array | None = None,
    ) -> None:
        """Rows with their energies, computed here where they are not given. A `SimulationError` where those are not
        finite, with the rows before it kept."""
        problem = self._problem
        nq, _, nv = problem.sizes
        work, q, v = nq + nv + len(problem.names), x[:, :nq], x[:, nq : nq + nv]
        try:
            finite = energies is not None and np.isfinite(energies).all() and np.isfinite(x).all()
            kinetic, potential, springs = energies.T if finite and energies is not None else self._energies(x)
        except SoacraftError as wrong:
            self._pending, samples, self._samples = [], self._samples, []
            good = next((i for i in range(len(t)) if not self._is_good(x[i : i + 1])), len(t) - 1)
            if good:
                self._samples = samples[:good]
                self._add(t[:good], x[:good], w[:good], forces[:good], violation[:good])
            raise SimulationError(f"the energy at t = {t[good]:.9g} s is not known: {wrong}") from wrong
        if signals is None:
            signals = np.zeros((len(t), 0)) if problem.components.is_empty else self._signals(len(t))
        chunk = {
            "t": t,
            "q": q,
            "v": v,
            "vdot": problem.vdot_of(x, w),
            "kinetic": kinetic,
            "potential": potential,
            "springs": springs,
            "violation": violation,
            "work": x[:, nq + nv : work],
            "forces": forces,
            "carried": x[:, work:],
            "signals": signals,
        }
        self._chunks, self._pending = [*self._chunks, chunk], []  # at once: an interrupt loses and repeats no row
        if self._log is not None and not self._silent:
            self._unlogged.append(chunk)

    def _signals(self, rows: int) -> Array:
        """Signals of the first pending rows, side by side."""
        components = self._problem.components
        taken, self._samples = self._samples[:rows], self._samples[rows:]
        return packed(components.columns, taken)

    def _energies(self, x: Array) -> tuple[Array, Array, Array]:
        """Kinetic, potential, of springs."""
        problem = self._problem
        mb, (nq, _, nv) = problem.mb, problem.sizes
        q, v = np.ascontiguousarray(x[:, :nq]), np.ascontiguousarray(x[:, nq : nq + nv])  # as batches take them
        if not np.logical_and.reduce(np.isfinite(x), axis=None):
            raise StateError(f"the state or the work of a force on {mb.name!r} overflows. Check forces and units.")
        return (
            np.asarray(dyn.kinetic_energy(mb, q, v, ignore_loops=True)),
            np.asarray(dyn.potential_energy(mb, q, ignore_loops=True)),
            np.asarray(dyn.passive_energy(mb, q, ignore_loops=True)) if problem.facts.has_passive else np.zeros(len(x)),
        )

    def _is_good(self, x: Array) -> bool:
        try:
            self._energies(x)
        except SoacraftError:
            return False
        return True

    @property
    def last(self) -> tuple[float, Array]:
        """The time and the point of the last row."""
        self.flush()
        row = self._chunks[-1]
        return float(row["t"][-1]), np.concatenate([row[name][-1] for name in ("q", "v", "work", "carried")])

    def run(self, stopped_by: str = "", dense: bool = True, paced: Paced | None = None) -> Run:
        """All of it; not `dense`: its rows alone, where steps were not recorded. `paced` is how it kept up with a
        clock."""
        if self._pending or self._log is not None:
            self.flush()
        if len(self._chunks) == 1:
            rows = {name: np.array(self._chunks[0][name]) for name in _COLUMNS}
        else:
            rows = {name: np.concatenate([x[name] for x in self._chunks]) for name in _COLUMNS}
        problem, facts, parts = self._problem, self._problem.facts, [x["forces"] for x in self._chunks]
        idle, acts = {Stored.name} if facts.has_passive else {Stored.name, Passive.name}, self._columns.acts(parts)
        acting = {name: i for i, name in enumerate(problem.names) if name not in idle or acts[i]}
        work = dict(zip(acting, rows["work"].T[[*acting.values()]], strict=True))
        forces = Forces(acting, self._columns, parts)
        steps = self._steps if dense else None
        about = self._integrator, stopped_by, steps, self.explained, self._acting, facts.labels
        touch = problem.contact
        contacts = None
        if not isinstance(touch, NoContact):
            contacts = ContactHistory(rows["t"], rows["q"], touch.diary, touch)
        signals = None
        if not problem.components.is_empty:
            signals = Signals(problem.components.columns, rows["signals"])
        run = Run(rows, work, forces, self.events, *about, contacts, signals, paced)
        if self._log is not None:
            self._log.finish(stopped_by)
        return run
