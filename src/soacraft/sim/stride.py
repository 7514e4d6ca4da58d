"""Steps that are good enough: how long each is, tried again shorter where its error is too large, cut at an event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from soacraft.errors import SimulationError, SoacraftError, StaleError
from soacraft.model.modal.bodies import turns_unreported
from soacraft.sim.breaks import Breaks, window
from soacraft.sim.clock import Instant
from soacraft.sim.compiled import CompiledMotion
from soacraft.sim.engine import engine_of
from soacraft.sim.events import Crossing, Watch
from soacraft.sim.forces.touching import PassesThrough
from soacraft.sim.integrators.pace import Pace
from soacraft.sim.integrators.steps import Method, Problem, SelfPaced, Step
from soacraft.sim.runs.block import Block
from soacraft.sim.system import Mechanism
from soacraft.sim.visits import VisitPlan
from soacraft.spatial.checks import Array

#: Tries of a step that ends at the zero of an event, and of shorter ones where it does not; how far a try may move it,
#: and what is left of that where rounding, or the error test of a multistep method, is in the way, in parts of a step.
_ROUNDS, _SHORTER, _WIDE, _SAME = 6, 64, 0.25, 1e-9
#: A step this short, in seconds, ends at an event though its function is not zero: the resolution of the clock.
_ONE_INSTANT = 1e-9
#: Steps this much shorter than the longest that end off the branch are not tried shorter still.
_DOUBTFUL = 1e-3
#: No step of a method that adapts is shorter, in seconds.
_SHORTEST = 2e-9


class Stride:
    """The steps of a run: of a fixed length from `origin` on, or as long as the method's error allows.

    `step` is the fixed length, or the largest first one, in nanoseconds; `max_step` is the longest that an adaptive
    method may take, in seconds.
    """

    def __init__(self, method: Method, rtol: float, step: int | None, origin: int, max_step: float = np.inf) -> None:
        self._method, self._rtol, self._step, self.origin = method, rtol, step, origin
        self._pace, self._max_step = Pace(method, rtol), max_step
        self._length: float | None = None  # of the next step, where it adapts
        self._longest = 0.0  # of all steps
        self._compiled: CompiledMotion | None = None
        self._judged: tuple[object, ...] = ()  # what `_compiled` was made for
        self._raised: BaseException | None = None

    @property
    def length(self) -> float:
        """Of fixed steps, in seconds; 0 where there are none."""
        return (self._step or 0) / 1e9

    def forget(self) -> None:
        """The next state has nothing to do with the last: begin with a careful step."""
        self._length = None

    @property
    def memory(self) -> tuple[float | None, float, tuple[int, int]]:
        """What is kept from step to step: the length of the next one, the longest one, and counts of stability."""
        return self._length, self._longest, self._pace.counts

    def resume(self, length: float | None, longest: float, counts: tuple[int, int]) -> None:
        """Go on from what was kept before some compiled steps."""
        self._length, self._longest, self._pace.counts = length, longest, counts

    def recall(self, length: float | None, longest: float, counts: tuple[int, int]) -> None:
        """Go on from what was kept; a multistep method begins anew."""
        self.resume(length, longest, counts)
        self._compiled, self._judged = None, ()
        self._method.forget()

    def end_from(self, ns: int) -> int:
        """The first nanosecond, from this one on, at which a step of a fixed length ends by itself; of an adaptive
        method this one."""
        if self._method.adaptive or self._step is None:
            return ns
        return self.origin - (self.origin - ns) // self._step * self._step

    def stop(self, now: Instant, stop: int, steps: int = 1) -> int:
        """The nanosecond at which the next step must end, or some steps of a fixed length, at the latest at `stop`."""
        if self._method.adaptive or self._step is None:
            return stop
        return min(stop, self.origin + ((now.ns - self.origin) // self._step + steps) * self._step)

    def many(
        self,
        problem: Mechanism,
        now: Instant,
        x: Array,
        w: Array,
        stop: int,
        pause: Callable[[int], object] | None = None,
        visits: VisitPlan | None = None,
        most: int | None = None,
    ) -> Block | None:
        """Steps in one compiled call, as many as it is sure of, no further than to the stop; None where the next one is
        to be taken in Python. `pause` waits for the end of each, where components are carried along; `visits` are made
        between them. `most` is how many at most."""
        motion = self._motion(problem)
        if motion is None or now.rest > 0.0:
            return None
        if self._method.adaptive and self._length is None:
            self._length = self._first(problem, now.seconds, x, w)
        course = now.ns, stop, self._step or 0, self.origin
        pace = self._length or 0.0, *self._pace.counts
        options: dict[str, Any] = {"pause": pause, "longest": self._max_step, "visits": visits, "limit": most}
        with turns_unreported() if problem.mb.layout.flexible else nullcontext():  # of stages that functions see
            block, (length, *counts) = motion.advance(course, x, w, self._rtol, pace, **options)
        self._raised = motion.raised
        if block is None:
            self.require_fine()
        if self._method.adaptive:
            self._length, self._pace.counts = length, (counts[0], counts[1])
        return block

    @property
    def raised_error(self) -> SoacraftError | None:
        """The error of the family that the last compiled call raised, and that was not raised since."""
        return self._raised if isinstance(self._raised, SoacraftError) else None

    def require_fine(self) -> None:
        """Raise what an equation of a component raised by itself in the last compiled call, or an interrupt."""
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised

    def require_uninterrupted(self) -> None:
        """Raise an interrupt of the last compiled call whose steps are taken back; errors in them are forgotten."""
        raised, self._raised = self._raised, None
        if raised is not None and not isinstance(raised, Exception):
            raise raised

    def _motion(self, problem: Mechanism) -> CompiledMotion | None:
        """The compiled form of a problem as it is now; None where there is none."""
        mb = problem.mb
        judged = problem, problem.edition, mb.parameters, 0 if problem.given is None else problem.given.edition
        if self._judged != judged:
            self._judged = judged
            loads = problem.loads if problem.contact is None else [*problem.loads, problem.contact]
            engine = engine_of(mb, self._method, loads, prescribed=problem.given, carried=problem.carried)
            self._compiled = None if engine.reason else CompiledMotion(problem, self._method)
        return self._compiled

    @turns_unreported()  # a trial
    def _first(self, problem: Problem, t: float, x: Array, w: Array) -> float:
        first = self._pace.first(problem, t, x, w)
        return first if self._step is None else min(first, self._step / 1e9)

    def longest(self) -> float:
        """The longest that the next step of an adaptive method may be, in seconds, whatever its error."""
        return self._max_step

    @turns_unreported()  # of stages, and of steps that are refused: a run tells of its rows
    def take(
        self, problem: Mechanism, now: Instant, x: Array, w: Array, stop: int, breaks: Sequence[Breaks] = ()
    ) -> tuple[Step, Instant, float | None]:
        """A step that is good enough, and no longer than to the stop; where it ends; its error, relative to what is
        allowed, where the method knows it. Functions that jump at its ends are evaluated on its side of their
        `breaks`."""
        with np.errstate(over="ignore", invalid="ignore"):  # numbers that are not finite end the run by name
            return self._take(problem, now, x, w, stop, breaks)

    def _take(
        self, problem: Mechanism, now: Instant, x: Array, w: Array, stop: int, breaks: Sequence[Breaks]
    ) -> tuple[Step, Instant, float | None]:
        t = now.seconds
        problem.see(window(breaks, now, stop))
        if not problem.manifold.size:  # there is nothing to integrate
            return Step(problem, t, now.until(stop), x, x, w, w, np.zeros((1, 0))), Instant(stop), None
        if not self._method.adaptive:
            return *self._fixed(problem, now, x, w, stop), None
        if isinstance(self._method, SelfPaced):
            return *self._marched(self._method, problem, now, x, w, stop), 1.0
        if self._length is None:
            self._length = self._first(problem, t, x, w)
        refused = False
        while True:
            length = min(self._length, self.longest())
            end = _end(now, length, stop)
            problem.see(window(breaks, now, end))
            h = now.until(end)
            cause: SoacraftError | None = None
            try:
                step = self._method.step(problem, t, x, h, w)
                error = self._pace.error(problem, step)
                if error <= 1.0:
                    problem.require_sides(step)
            except SoacraftError as wrong:
                if isinstance(wrong, StaleError):
                    raise
                cause, error = wrong, np.inf  # a shorter step may not meet it
            if error <= 1.0:
                self._longest = max(self._longest, h)
                if h >= 0.5 * length or refused:  # not one that was cut short by a stop
                    self._length = self._pace.next(h, error, refused)
                if self._pace.is_stiff(problem, step):
                    raise SimulationError(
                        f"the problem is stiff: stability limits the step to {h:.2g} s, far below what an error of "
                        f"{self._rtol:g} needs. Use integrator='radau', or softer springs and dampers."
                    )
                return step, Instant(end), error
            refused = True
            if cause is None and h < _DOUBTFUL * self._longest and self._pace.drift(problem, step) >= error:
                raise SimulationError(
                    "the branch of the closures is in doubt, however short the step: velocities that follow from the "
                    f"independent dofs are off by {error:.3g} times what is allowed, as at a dead point. Let the "
                    "solver choose the independent dofs (solver='ce'), or integrate all (solver='ta')."
                )
            if isinstance(cause, PassesThrough):
                self._length = cause.part * h
            else:
                self._length = 0.25 * h if not np.isfinite(error) else self._pace.next(h, error, True)
            if self._length < _SHORTEST:
                why = f": {cause}" if cause is not None else f" (the error is {error:.3g} times what is allowed)."
                raise SimulationError(
                    f"the step size fell below a nanosecond{why} A force that jumps needs an event where it does; a "
                    "stiff problem an implicit method; else loosen rtol."
                ) from cause

    def _fixed(self, problem: Problem, now: Instant, x: Array, w: Array, stop: int) -> tuple[Step, Instant]:
        """A step of a fixed length, cut short where shapes would pass each other if the method has contact."""
        end = stop
        while True:
            try:
                step = self._method.step(problem, now.seconds, x, now.until(end), w)
                problem.require_sides(step)
                return step, Instant(end)
            except PassesThrough as wrong:
                shorter = now.ns + int(wrong.part * (end - now.ns))
                if not self._method.touches or shorter <= now.ns:
                    raise
                end = shorter

    def _marched(
        self, method: SelfPaced, problem: Problem, now: Instant, x: Array, w: Array, stop: int
    ) -> tuple[Step, Instant]:
        """A step of the method's own length, begun anew with a shorter one where shapes would pass each other."""
        left = min(now.until(stop), self.longest())
        while True:
            step = method.march(problem, now.seconds, x, w, left)
            try:
                problem.require_sides(step)
                return step, Instant(stop) if step.h >= now.until(stop) else now.later(step.h)
            except PassesThrough as wrong:
                method.forget()
                left = wrong.part * step.h
                if left < _SHORTEST:
                    raise

    @turns_unreported()
    @np.errstate(over="ignore", invalid="ignore")  # numbers that are not finite end the run by name
    def cut(
        self,
        problem: Mechanism,
        taken: tuple[Step, Instant, float | None],
        now: Instant,
        crossing: Crossing | None,
        watch: Watch,
        breaks: Sequence[Breaks] = (),
    ) -> tuple[Step, Instant, float | None, Crossing | None]:
        """The step again, up to its first event, judged as any other and moved until the function is zero at its own
        end; where it ends, its error, and what crosses there.

        Where the step up to the event is not good enough, or does not come to the zero that the whole one has told of,
        as where a force has a kink in between, that is no event: a shorter step is taken, which tells anew.
        """
        step, end, error = taken
        for _ in range(_SHORTER):
            if crossing is None:
                return step, end, error, None
            if crossing.theta <= 0.0:
                return Step(step.problem, step.t0, 0.0, step.x0, step.x0, step.w0, step.w0, step.F), now, None, crossing
            part, part_error, at_zero = self._to_zero(step, crossing, watch)
            if at_zero and part is not None and step.h - part.h <= 1e-15 * max(step.h, abs(step.t0 + step.h)):
                return step, end, error, crossing  # at the end of the step, which may be a tick
            if part is not None and (at_zero or part.h <= _ONE_INSTANT):
                return part, now.later(part.h), part_error, crossing
            if part is not None and watch.is_before(part, crossing):  # as far as it goes
                step, end, error = part, now.later(part.h), part_error
            else:
                h = crossing.theta * step.h if part is None else part.h
                self._length = h
                step, end, error = self._take(problem, now, step.x0, step.w0, now.later(0.5 * h).ns + 1, breaks)
            crossing = watch.find(step)
        name = "" if crossing is None or crossing.first is None else crossing.first.name
        raise SimulationError(
            f"the zero of event {name!r} after t = {step.t0:.9g} s is not found: its function changes its sign within "
            "steps, however short, and not at their ends. Let it be a continuous function of the state."
        )

    def _to_zero(self, step: Step, crossing: Crossing, watch: Watch) -> tuple[Step | None, float | None, bool]:
        """A part of a step that ends where the function of a crossing is zero, with its error, and True; the last part
        that is good enough, None for none, and False where there is no such zero."""
        h, part, error = crossing.theta * step.h, None, None
        slope = watch.slope(step, crossing)
        for _ in range(_ROUNDS):
            tried, error = self._again(step, h)
            if tried is None:
                return part, error, False
            part = tried
            move = watch.way_to_zero(part, crossing, slope)
            if abs(move) <= 4e-16 * max(h, abs(step.t0)):
                return part, error, True
            if not abs(move) <= max(_WIDE * h, _SAME * step.h) or h + move <= 0.0:
                return part, error, abs(move) <= _SAME * step.h
            h += move
        return part, error, abs(move) <= _SAME * step.h

    def _again(self, step: Step, h: float) -> tuple[Step | None, float | None]:
        """A step of another length from the same start, None where it is not good enough; its error, where the method
        knows it."""
        try:
            part = self._method.step(step.problem, step.t0, step.x0, h, step.w0)
        except SoacraftError as wrong:
            if isinstance(wrong, StaleError) or not self._method.adaptive:
                raise
            return None, None
        if not self._method.adaptive or isinstance(self._method, SelfPaced):
            return part, None if not self._method.adaptive else 1.0
        error = self._pace.error(step.problem, part)
        return part if error <= 1.0 else None, error


def _end(now: Instant, length: float, stop: int) -> int:
    """Where a step of this length ends; one that nearly reaches the stop reaches it."""
    left = now.until(stop)
    if length >= left:
        return stop
    return min(stop, now.ns + max(1, int((0.5 * left if length > 0.55 * left else length) * 1e9)))
