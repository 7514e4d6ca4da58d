"""Looks at stability while compiled steps go on: soon after something is new, then ever more rarely."""

from __future__ import annotations

from collections.abc import Callable

from soacraft.sim.integrators.steps import Method
from soacraft.sim.stability import Stiff, require_stable
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array

#: Steps after which stability is looked at first, then after twice as many, and so on; and again after a doubtful look.
_FIRST, _SECOND = 32, 16
#: No look at all, in nanoseconds.
NEVER = 2**63


class Looks:
    """The nanosecond of the next look, `due`; of methods that stability does not limit there is none."""

    def __init__(self, method: Method, step: int | None, limited: bool) -> None:
        self._method, self._step, self._limited = method, step or 0, limited and step is not None
        self.due, self._in_doubt = NEVER, False

    def soon(self, now: int) -> None:
        """Look within some steps of what is new."""
        if self._limited:
            self.due = min(self.due, now + _FIRST * self._step)

    def restart(self) -> None:
        """Forget when the last look was: the time is another one."""
        self.due, self._in_doubt = NEVER, False

    @property
    def before(self) -> int:
        """The beginning of the step that is looked at."""
        return self.due - self._step

    def look(
        self,
        problem: Mechanism,
        times: tuple[float, float],
        points: tuple[Array, Array],
        prepare: Callable[[int], object],
        origin: int,
    ) -> None:
        """Raise `Stiff` where the step to `due` is none of the motion: in two looks, one soon after the other."""
        try:
            require_stable(self._method, problem, times, points, prepare)
        except Stiff as stiff:
            self.due += _SECOND * self._step
            if self._in_doubt:
                raise Stiff(f"the stepper of {problem.mb.name!r} at t = {times[1]:.9g} s: {stiff}") from None
            self._in_doubt = True
        else:
            self.due, self._in_doubt = origin + 2 * (self.due - origin), False
