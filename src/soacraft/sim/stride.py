"""Steps that are good enough: how long each is, tried again shorter where its error is too large, cut at an event.

What steps need of those before is one value, `StepMemory`: it is handed in, and another one comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import SimulationError, SoacraftError, StaleError
from soacraft.model.modal.bodies import turns_unreported
from soacraft.sim.breaks import Breaks, window
from soacraft.sim.clock import Instant
from soacraft.sim.compiled import CompiledMotion
from soacraft.sim.engine import engine_of
from soacraft.sim.events import Crossing, Signs, Watch
from soacraft.sim.forces.contact_element import PassesThrough
from soacraft.sim.integrators.pace import Pace, is_stiff
from soacraft.sim.integrators.steps import Method, Problem, SelfPaced, Step
from soacraft.sim.runs.block import Block
from soacraft.sim.system import Mechanism
from soacraft.sim.visits import VisitPlan
from soacraft.spatial.checks import Array

#: Tries of a step that ends at the zero of an event, and of shorter ones where it does not; how far a try may move it,
#: and the rest of that which is accepted where rounding, or the error test of a multistep method, is in the way, in
#: parts of a step.
_ROUNDS, _SHORTER, _WIDE, _SAME = 6, 64, 0.25, 1e-9
#: A step this short, in seconds, ends at an event though its function is not zero: the resolution of the clock.
_ONE_INSTANT = 1e-9
#: Steps this much shorter than the longest that end off the branch are not tried shorter still.
_DOUBTFUL = 1e-3
#: No step of a method that adapts is shorter, in seconds.
_SHORTEST = 2e-9


class StepMemory(NamedTuple):
    """State of the steps of a run, next to its point."""

    origin: int
    """Nanosecond from which fixed steps are counted."""
    length: float | None = None
    """Length of the next step of an adaptive method, in seconds; None where it begins with a careful one."""
    longest: float = 0.0
    """Length of the longest step so far, in seconds."""
    counts: tuple[int, int] = (0, 0)
    """Numbers of consecutive steps at the limit of stability, and within it."""

    def restarted(self) -> StepMemory:
        """The memory before a state that has nothing to do with the last."""
        return self._replace(length=None)


class Walked(NamedTuple):
    """Steps of one compiled call."""

    block: Block | None
    """None where the next step is to be taken in Python."""
    memory: StepMemory
    raised: BaseException | None = None
    """Error of a function or an equation after the last step, or an interrupt."""

    def require_fine(self) -> None:
        """Raise what was raised."""
        if self.raised is not None:
            raise self.raised

    def require_uninterrupted(self) -> None:
        """Raise an interrupt; errors of steps that are taken back are forgotten."""
        if self.raised is not None and not isinstance(self.raised, Exception):
            raise self.raised


class Taken(NamedTuple):
    """A step that is good enough, and where it ends."""

    step: Step
    end: Instant
    error: float | None
    """Relative to what is allowed, where the method knows it."""
    memory: StepMemory


class Stride:
    """The steps of a run by a method: of a fixed length, or as long as its error allows.

    `step` is the fixed length, or the largest first one, in nanoseconds; `max_step` is the longest that an adaptive
    method may take, in seconds.
    """

    def __init__(self, method: Method, rtol: float, step: int | None, max_step: float = np.inf) -> None:
        self._method, self._rtol, self._step = method, rtol, step
        self._pace, self._max_step = Pace(method, rtol), max_step
        self._compiled: tuple[tuple[object, ...], CompiledMotion | None] = (), None  # and what it was made for

    @property
    def length(self) -> float:
        """Length of fixed steps, in seconds; 0 where there are none."""
        return (self._step or 0) / 1e9

    def begin_anew(self) -> None:
        """Forget compiled code and the steps that a multistep method keeps."""
        self._compiled = (), None
        self._method.forget()

    def end_from(self, origin: int, ns: int) -> int:
        """The first nanosecond, from this one on, at which a step of a fixed length ends by itself, where steps are
        counted from `origin`; of an adaptive method this one."""
        if self._method.adaptive or self._step is None:
            return ns
        return origin - (origin - ns) // self._step * self._step

    def stop(self, origin: int, now: Instant, stop: int, steps: int = 1) -> int:
        """The nanosecond at which the next step must end, or some steps of a fixed length, at the latest at `stop`."""
        if self._method.adaptive or self._step is None:
            return stop
        return min(stop, origin + ((now.ns - origin) // self._step + steps) * self._step)

    def many(
        self,
        problem: Mechanism,
        memory: StepMemory,
        now: Instant,
        x: Array,
        w: Array,
        stop: int,
        pause: Callable[[int], object] | None = None,
        visits: VisitPlan | None = None,
        most: int | None = None,
    ) -> Walked:
        """Steps in one compiled call, as many as it is sure of, no further than to the stop; none where the next one is
        to be taken in Python. `pause` waits for the end of each, where components are carried along; `visits` are made
        between them. `most` is how many at most."""
        motion = self._motion(problem)
        if motion is None or now.rest > 0.0:
            return Walked(None, memory)
        if self._method.adaptive and memory.length is None:
            memory = memory._replace(length=self._first(problem, now.seconds, x, w))
        course = now.ns, stop, self._step or 0, memory.origin
        pace = memory.length or 0.0, *memory.counts
        options: dict[str, Any] = {"pause": pause, "longest": self._max_step, "visits": visits, "limit": most}
        if problem.is_flexible:
            with turns_unreported():  # of stages that functions see
                block, (length, *counts) = motion.advance(course, x, w, self._rtol, pace, **options)
        else:
            block, (length, *counts) = motion.advance(course, x, w, self._rtol, pace, **options)
        if self._method.adaptive:
            memory = memory._replace(length=length, counts=(counts[0], counts[1]))
        walked = Walked(block, memory, motion.raised)
        if block is None:
            walked.require_fine()
        return walked

    def _motion(self, problem: Mechanism) -> CompiledMotion | None:
        """The compiled form of a problem in its present form; None where there is none."""
        judged = problem, problem.description, problem.mb.parameters, problem.prescribed.edition
        if self._compiled[0] != judged:
            engine = engine_of(problem.description, self._method)
            self._compiled = judged, None if engine.reason else CompiledMotion(problem, self._method)
        return self._compiled[1]

    @turns_unreported()  # a trial
    def _first(self, problem: Problem, t: float, x: Array, w: Array) -> float:
        first = self._pace.first(problem, t, x, w)
        return first if self._step is None else min(first, self._step / 1e9)

    @turns_unreported()  # of stages, and of steps that are refused: a run tells of its rows
    def take(
        self,
        problem: Mechanism,
        memory: StepMemory,
        now: Instant,
        x: Array,
        w: Array,
        stop: int,
        breaks: Sequence[Breaks] = (),
    ) -> Taken:
        """A step that is good enough, and no longer than to the stop. Functions that jump at its ends are evaluated on
        its side of their `breaks`."""
        with np.errstate(over="ignore", invalid="ignore"):  # numbers that are not finite end the run with an error
            return self._take(problem, memory, now, x, w, stop, breaks)

    def _take(
        self,
        problem: Mechanism,
        memory: StepMemory,
        now: Instant,
        x: Array,
        w: Array,
        stop: int,
        breaks: Sequence[Breaks],
    ) -> Taken:
        t = now.seconds
        problem.see(window(breaks, now, stop))
        if not problem.manifold.size:  # there is nothing to integrate
            still = Step(problem, t, now.until(stop), x, x, w, w, np.zeros((1, 0)))
            return Taken(still, Instant(stop), None, memory)
        if not self._method.adaptive:
            return Taken(*self._fixed(problem, now, x, w, stop), None, memory)
        if isinstance(self._method, SelfPaced):
            return Taken(*self._marched(self._method, problem, now, x, w, stop), 1.0, memory)
        _, next_length, longest, counts = memory
        if next_length is None:
            next_length = self._first(problem, t, x, w)
        refused = False
        while True:
            length = min(next_length, self._max_step)
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
                if h >= 0.5 * length or refused:  # not one that was cut short by a stop
                    next_length = self._pace.next(h, error, refused)
                counts = self._pace.counted(problem, step, counts)
                if step.steepness is not None and is_stiff(counts):
                    raise SimulationError(
                        f"the problem is stiff: stability limits the step to {h:.2g} s, far below what an error of "
                        f"{self._rtol:g} needs. Use integrator='radau', or softer springs and dampers."
                    )
                after = StepMemory(memory.origin, next_length, max(longest, h), counts)
                return Taken(step, Instant(end), error, after)
            refused = True
            if cause is None and h < _DOUBTFUL * longest and self._pace.drift(problem, step) >= error:
                raise SimulationError(
                    "the branch of the closures is in doubt, however short the step: velocities that follow from the "
                    f"independent dofs are off by {error:.3g} times what is allowed, as at a dead point. Let the "
                    "solver choose the independent dofs (solver='ce'), or integrate all (solver='ta')."
                )
            if isinstance(cause, PassesThrough):
                next_length = cause.part * h
            else:
                next_length = 0.25 * h if not np.isfinite(error) else self._pace.next(h, error, True)
            if next_length < _SHORTEST:
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
        """A step of the method's own length, started again with a shorter one where shapes would pass each other."""
        remaining = min(now.until(stop), self._max_step)
        while True:
            step = method.march(problem, now.seconds, x, w, remaining)
            try:
                problem.require_sides(step)
                return step, Instant(stop) if step.h >= now.until(stop) else now.later(step.h)
            except PassesThrough as wrong:
                method.forget()
                remaining = wrong.part * step.h
                if remaining < _SHORTEST:
                    raise

    @turns_unreported()
    @np.errstate(over="ignore", invalid="ignore")  # numbers that are not finite end the run by name
    def cut(
        self,
        problem: Mechanism,
        taken: Taken,
        now: Instant,
        crossing: Crossing | None,
        watch: Watch,
        signs: Signs,
        breaks: Sequence[Breaks] = (),
    ) -> tuple[Taken, Crossing | None, Signs]:
        """The step again, up to its first event, judged as any other and moved until the function is zero at its own
        end; what crosses there, and the signs of functions.

        Where the step up to the event is not good enough, or does not come to the zero that the whole one has told of,
        as where a force has a kink in between, that is no event: a shorter step is taken, with which events are
        searched again.
        """
        for _ in range(_SHORTER):
            step, memory = taken.step, taken.memory
            if crossing is None:
                return taken, None, signs
            if crossing.theta <= 0.0:
                none = Step(step.problem, step.t0, 0.0, step.x0, step.x0, step.w0, step.w0, step.F)
                return Taken(none, now, None, memory), crossing, signs
            part, part_error, at_zero = self._to_zero(step, crossing, watch)
            if at_zero and part is not None and step.h - part.h <= 1e-15 * max(step.h, abs(step.t0 + step.h)):
                return taken, crossing, signs  # at the end of the step, which may be a tick
            if part is not None and (at_zero or part.h <= _ONE_INSTANT):
                return Taken(part, now.later(part.h), part_error, memory), crossing, signs
            if part is not None and watch.is_before(part, crossing):  # as far as it goes
                taken = Taken(part, now.later(part.h), part_error, memory)
            else:
                h = crossing.theta * step.h if part is None else part.h
                stop = now.later(0.5 * h).ns + 1
                taken = self._take(problem, memory._replace(length=h), now, step.x0, step.w0, stop, breaks)
            crossing, signs = watch.find(signs, taken.step)
        name = "" if crossing is None or crossing.first is None else crossing.first.name
        raise SimulationError(
            f"the zero of event {name!r} after t = {taken.step.t0:.9g} s is not found: its function changes its sign "
            "within steps, however short, and not at their ends. Let it be a continuous function of the state."
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
    """End of a step of this length; one that nearly reaches the stop reaches it."""
    remaining = now.until(stop)
    if length >= remaining:
        return stop
    return min(stop, now.ns + max(1, int((0.5 * remaining if length > 0.55 * remaining else length) * 1e9)))
