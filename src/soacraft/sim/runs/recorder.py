"""Rows of a run as they are made; energies are computed together, before a parameter of the model changes."""

from __future__ import annotations

import numpy as np

from soacraft import dynamics as dyn
from soacraft.sim.events import Happened
from soacraft.sim.forces.loads import Stored
from soacraft.sim.integrators.steps import Step
from soacraft.sim.runs.log import Log
from soacraft.sim.runs.run import Run
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array

_COLUMNS = ("t", "q", "v", "vdot", "kinetic", "potential", "springs", "violation", "work", "forces")
#: Rows that are computed and written together.
_TOGETHER = 256


class Recorder:
    """Takes steps and events, gives a `Run`."""

    def __init__(self, problem: Mechanism, integrator: str, log: Log | None = None) -> None:
        self._problem, self._integrator, self._log = problem, integrator, log
        self._pending: list[tuple[float, Array, Array, Array]] = []
        self._chunks: list[dict[str, Array]] = []
        self.events: list[Happened] = []
        self._steps: list[tuple[float, Step]] = []
        self.explained: float | None = None
        """The sum of the local errors, relative."""

    def row(self, t: float, x: Array, w: Array) -> None:
        """A state of the run."""
        q, v, _ = self._problem.parts(x)
        self._pending.append((t, x, w, self._problem.all_forces(t, q, v)))
        if len(self._pending) >= _TOGETHER:
            self.flush()

    def step(self, step: Step, end: float, error: float | None) -> None:
        """An accepted step, with its error relative to the model's sizes, and its end."""
        self._steps.append((step.t0, step))
        if error is not None:
            self.explained = (self.explained or 0.0) + error
        self.row(end, step.x1, step.w1)

    def flush(self) -> None:
        """Compute what is pending, and write it to the log."""
        if not self._pending:
            return
        problem, mb = self._problem, self._problem.mb
        x = np.array([row[1] for row in self._pending])
        nq, nt, nv = problem.sizes
        q, v = x[:, :nq], x[:, nq : nq + nv]
        chunk = {
            "t": np.array([row[0] for row in self._pending]),
            "q": q,
            "v": v,
            "vdot": np.array([row[2][nt : nt + nv] for row in self._pending]),
            "kinetic": np.asarray(dyn.kinetic_energy(mb, q, v, ignore_loops=True)),
            "potential": np.asarray(dyn.potential_energy(mb, q, ignore_loops=True)),
            "springs": np.asarray(dyn.passive_energy(mb, q, ignore_loops=True)),
            "violation": problem.violations(q, v),
            "work": x[:, nq + nv :],
            "forces": np.array([row[3] for row in self._pending]),
        }
        self._pending = []
        self._chunks.append(chunk)
        if self._log is not None:
            self._log.write(chunk, self.events)

    def run(self, stopped_by: str = "") -> Run:
        """All of it."""
        self.flush()
        rows = {name: np.concatenate([x[name] for x in self._chunks]) for name in _COLUMNS}
        names = self._problem.names
        acting = [i for i, name in enumerate(names) if name != Stored.name or rows["forces"][:, i].any()]
        work = {names[i]: rows["work"][:, i] for i in acting}
        forces = {names[i]: rows["forces"][:, i] for i in acting}
        run = Run(rows, work, forces, self.events, self._integrator, stopped_by, self._steps, self.explained)
        if self._log is not None:
            self._log.close(stopped_by)
        return run
