"""Multistep methods of SUNDIALS on a product of manifolds: what CVODE and IDA have in common.

A session integrates the chart coordinates u about the point where it began,

    udot = rate(x, u, w(t, move(x, u))),    u = 0 at the start,

with the history of its steps. It goes on as long as each step begins where the last one ended; after an event, a jump,
a turn that nears the end of the chart, or a change of scale, a new one begins at order one. The solver chooses its own
steps: `march` takes one of them. Dense output is the cubic between the ends of a step.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from typing import Any, Protocol

import numpy as np

from soacraft.errors import ConvergenceError, SimulationError, SoacraftError, StaleError, StateError
from soacraft.sim.integrators.steps import Problem, SelfPaced, Step, check_turn, hermite
from soacraft.spatial.checks import Array

#: A new chart where a hinge turned by this within a session, in radians: well inside the end of the chart.
_NEW_CHART = 1.5
#: New tolerances where what errors are measured by changed by this factor.
_NEW_SCALE = 30.0
#: Tolerance of numbers that are not measured (work done, multipliers): their weight is nothing.
UNMEASURED = 1e200
#: The shortest step of a session that starts after a failure, in seconds.
_SHORTEST = 2e-9


def sundials(part: str, integrator: str) -> Any:
    """A module of scikit-sundae, or a `StateError` that names the extra."""
    try:
        return importlib.import_module(f"sksundae.{part}")
    except ImportError as problem:
        raise StateError(
            f"integrator={integrator!r} needs the package scikit-sundae ({problem}): pip install 'soacraft[dae]', or "
            "use integrator='radau'."
        ) from None


class Solution(Protocol):
    """Solution of a solver of SUNDIALS."""

    success: bool
    status: int
    message: str
    t: float
    y: Array


class Session:
    """A solver under way: time and chart coordinates since the point where it began."""

    def __init__(self, problem: Problem, t: float, x: Array, w: Array, rtol: float) -> None:
        self.problem, self.t0, self.x0, self.rtol = problem, t, x, rtol
        self.manifold = problem.manifold
        self.scale = problem.scale(x, w)
        self.atol = np.where(np.isfinite(self.scale), rtol * self.scale, UNMEASURED)
        self.s, self.u, self.x, self.w = 0.0, np.zeros(self.manifold.size), x, w
        self.solver: Any = None
        self.failed: BaseException | None = None

    def goes_on(self, problem: Problem, t: float, x: Array, w: Array) -> bool:
        """True if a step from here continues this session."""
        here = self.problem is problem and abs(t - self.t0 - self.s) <= 1e-9
        return here and np.array_equal(x, self.x) and np.array_equal(w, self.w)

    def point(self, s: float, u: Array) -> Array:
        """The point at chart coordinates u, put on closures as a stage is."""
        check_turn(self.manifold, u, self.t0, s)
        return self.problem.settle(self.t0 + s, self.manifold.move(self.x0, u), False)

    def rates(self, s: float, u: Array) -> Array:
        """udot."""
        return self.manifold.rate(self.x0, u, self.problem.rates(self.t0 + s, self.point(s, u)))

    def take(self, until: float, once: bool) -> Step:
        """One step of the solver's own, or all to `until` (in seconds since the start of the session)."""
        self.failed = None
        try:
            solution: Solution = self.solver.step(until, "onestep" if once else "normal", until)
        except BaseException as wrong:
            raise self.failed or wrong from None
        if not solution.success or not np.isfinite(solution.y).all():
            raise ConvergenceError(
                f"{solution.message.strip() or 'the solver failed'} (SUNDIALS, flag {solution.status})"
            )
        problem, u = self.problem, np.array(solution.y[: self.manifold.size])
        h = float(solution.t) - self.s
        end = problem.settle(self.t0 + solution.t, self.manifold.move(self.x0, u), True)
        w1 = problem.rates(self.t0 + solution.t, end)
        slope0 = self.manifold.rate(self.x0, self.u, self.w)
        slope1 = self.manifold.rate(self.x0, u, w1)
        F = hermite(u - self.u, h * slope0, h * slope1)
        step = Step(problem, self.t0 + self.s, h, self.x, end, self.w, w1, F, chart=(self.x0, self.u))
        self.s, self.u, self.x, self.w = float(solution.t), u, end, w1
        return step

    def is_worn(self) -> bool:
        """True if the next step had better begin a new session."""
        if self.manifold.turn(self.u) > _NEW_CHART:
            return True
        counted = np.isfinite(self.scale)
        ratio = self.problem.scale(self.x, self.w)[counted] / self.scale[counted]
        return bool(((ratio > _NEW_SCALE) | (ratio < 1.0 / _NEW_SCALE)).any())


class Sundials(SelfPaced):
    """A method of SUNDIALS. `rtol` bounds the local error, in what the problem measures by."""

    def __init__(self, rtol: float = 1e-9) -> None:
        self._rtol = rtol
        self._session: Session | None = None

    @abstractmethod
    def begin(self, problem: Problem, t: float, x: Array, w: Array, first: float, most: float) -> Session:
        """A session from here, with its first and its longest step in seconds; 0 leaves them to the solver."""

    def forget(self) -> None:
        """Let the next step begin a new session."""
        self._session = None

    def march(self, problem: Problem, t: float, x: Array, w: Array, left: float) -> Step:
        """One step of the solver's own length, no longer than `left` seconds."""
        session, self._session = self._session, None
        if session is None or not session.goes_on(problem, t, x, w):
            session = self.begin(problem, t, x, w, 0.0, 0.0)
        step = self._taken(session, session.s + left, True)
        last = self._last
        if step.h >= left * (1.0 - 1e-12):  # at the stop, but for rounding of the session's own time
            step.h = left
        self._session = None if last.is_worn() else last
        return step

    def step(self, problem: Problem, t: float, x: Array, h: float, w: Array) -> Step:
        """Advance from here to exactly h later, in a separate session."""
        return self._taken(self.begin(problem, t, x, w, 0.0, 0.0), h, False)

    def _taken(self, session: Session, until: float, once: bool) -> Step:
        """A step; where it fails, again from a new session with shorter ones: a shorter one may not meet the cause."""
        remaining, most = until - session.s, 0.0
        while True:
            t, x, w = session.t0 + session.s, session.x, session.w
            try:
                step = session.take(until, once)
            except SoacraftError as wrong:
                if isinstance(wrong, StaleError):
                    raise
                most = 0.1 * min(most or remaining, 1e-2)
                if most < _SHORTEST:
                    raise SimulationError(
                        f"{self.name} cannot go on, however short its steps: {wrong} A force that jumps needs an event "
                        "where it does; else loosen rtol."
                    ) from wrong
                session, until = self.begin(session.problem, t, x, w, 0.1 * most, most), remaining
                continue
            self._last = session
            if most:  # the next one may be longer again
                session.x = np.full_like(session.x, np.nan)
            return step
