"""`Recording`: a `Run` of what a stepper does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from soacraft.attributes import Strict, Uncopied
from soacraft.errors import StateError
from soacraft.sim.forces.contact_steps import ContactStep
from soacraft.sim.problem.no_contact import NoContact
from soacraft.sim.runs.recorder import Recorder
from soacraft.sim.runs.run import Run
from soacraft.sim.steppers.lanes import Last
from soacraft.sim.steppers.motion import Motion
from soacraft.sim.steppers.pushes import Pushed
from soacraft.spatial.checks import Array


class Row(NamedTuple):
    """A state at the end of a step: its point, what pushed it, and what touched since the row before."""

    ns: int
    x: Array
    pushes: tuple[Pushed, ...]
    touched: ContactStep | None
    force: Array | None
    vdot: Array | None


class Recording(Uncopied, Strict):
    """Rows of the motion of a stepper, from `step.record` on until `stop()`.

    `run()` is a `Run` of the rows so far: states, accelerations, energies, work and forces of all that acts, and what
    touched, as mean forces since the row before. It has no events and no dense output. A state that is set or reset
    gives a second row with the same time. Rows are computed when the call in which they lie ends.
    """

    _instead: ClassVar = "it belongs to a stepper; its runs are copied: recording.run()"

    def __init__(
        self,
        of: tuple[Motion, int],
        number: int,
        every: int,
        integrator: str,
        ended: Callable[[Recording], None],
    ) -> None:
        motion, lane = of
        self._motion, self._lane, self._number, self._every, self._ended = motion, lane, number, every, ended
        self._begun, self._active = motion.states.goal, True
        self._problem = motion.problems.another(lane)
        self._recorder = Recorder(self._problem, integrator)
        self._touched: list[Last] = []
        self._rows: list[Row] = []
        work = motion.problems.base.parts(motion.states.x[lane])[2]
        before, work[:] = work.copy(), 0.0  # it begins here
        try:
            self.restart()
            motion.lanes.record(lane, True)
        except BaseException:
            work[:] = before
            raise

    @property
    def lane(self) -> int:
        """The number of the state that is recorded; 0 of a single one."""
        return self._number

    @property
    def active(self) -> bool:
        """True until it is stopped."""
        return self._active

    def run(self) -> Run:
        """The rows so far."""
        return self._recorder.run(dense=False)

    def stop(self) -> Run:
        """End it: the stepper records no more. The run of all rows."""
        if self._active:
            self._ended(self)
            self._active = False
        return self.run()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        end = "" if self._active else ", ended"
        return f"Recording of {self._problem.mb.name!r}, a row every {self._every / 1e9:.9g} s{end}"

    # -- for the stepper ---------------------------------------------------------------------------------------

    def next(self, now: int) -> int:
        """The nanosecond of the next row."""
        return now + self._every - (now - self._begun) % self._every

    def mark(self) -> None:
        """Take note of the state where a step, or several, have ended."""
        motion, lane = self._motion, self._lane
        if lane in motion.failed:
            return
        now, last = motion.states.goal, motion.lanes.last(lane)
        if self._problem.contact.touches:
            self._touched.append(last)
        if (now - self._begun) % self._every:
            return
        touched, force = _together(self._touched, now / 1e9)
        self._rows.append(Row(now, *self._here(), touched, force, last.vdot))
        self._touched = []

    def commit(self) -> None:
        """Compute the rows of a call."""
        rows, self._rows = self._rows, []
        for row in rows:
            self._add(row)
        self._recorder.flush()

    def drop(self) -> None:
        """Forget the rows of a call that came to nothing."""
        self._rows, self._touched = [], []

    def restart(self) -> None:
        """A row of a state that no step led to."""
        self._touched = []
        self._add(Row(self._motion.states.goal, *self._here(), None, None, None))
        self._recorder.flush()

    def _here(self) -> tuple[Array, tuple[Pushed, ...]]:
        return self._motion.states.x[self._lane].copy(), self._motion.problems.pushes.get(self._lane, ())

    def _add(self, row: Row) -> None:
        motion, problem = self._motion, self._problem
        motion.problems.prepare(problem, self._lane, row.pushes)
        touch, t = problem.contact, row.ns / 1e9
        if not isinstance(touch, NoContact):
            touch.follow()
            touch.recalled([] if row.touched is None else [row.touched], row.force)
        if problem.holds.all:
            problem.holds.settle(t, row.x, ())  # who holds there
        w = problem.rates(t, row.x)
        if row.vdot is not None:
            nq, _, nv = problem.sizes
            first = len(w) - nv - len(problem.names)
            w[first : first + nv] = problem.coordinates.straight(row.x[nq : nq + nv], row.vdot)
        self._recorder.row(t, row.x, w)


def _together(steps: Sequence[Last], t: float) -> tuple[ContactStep | None, Array | None]:
    """The contacts of several steps as those of one that ends at t, and their mean generalized force."""
    length = sum(x.length for x in steps)
    forces = [x.length * x.force for x in steps if x.force is not None]
    force = np.sum(forces, axis=0) / length if forces and length > 0.0 else None
    touched = [x.touched for x in steps if x.touched is not None]
    if len(touched) < 2:
        return (replace(touched[0], t=t) if touched else None), force

    def joined(name: str) -> Any:
        return np.concatenate([getattr(x, name) for x in touched])

    return ContactStep(
        t, tuple(pair for x in touched for pair in x.pairs), joined("points"), joined("impulses"), joined("moments"),
        joined("gap"), tuple(y for x in touched for y in x.state), max(x.residual for x in touched),
        sum(x.iterations for x in touched), all(x.unique for x in touched), sum(x.work for x in touched),
        min(x.factor for x in touched), touched[-1].names,
    ), force  # fmt: skip


def require_every(every: int, step: int | None, adaptive: bool) -> None:
    """Refuse rows that are at no ends of fixed steps."""
    if step is not None and not adaptive and every % step:
        raise StateError(f"every is {every / 1e9:.9g} s, which is no multiple of the step of {step / 1e9:.9g} s.")
