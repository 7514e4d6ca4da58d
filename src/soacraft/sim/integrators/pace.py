"""Length of adaptive steps: local errors against a tolerance, in the model's own units."""

from __future__ import annotations

import math

import numpy as np

from soacraft.errors import SimulationError
from soacraft.sim.integrators.steps import Method, Problem, Step
from soacraft.spatial.checks import Array

_SAFETY, _LEAST, _MOST = 0.9, 0.2, 8.0
#: Weight of the way onto the closures next to the estimate of the error: it may be ten times as long.
_DRIFT = 0.1
#: The boundary of stability of Dormand and Prince's method: a step times the fastest rate beyond it is unstable.
_STABLE = 6.1
#: Steps at the boundary, without as many in a row within it as the second number, make a stiff problem. Hairer and
#: Wanner take 15; but a hand that is held by a controller for a second is at the boundary too, and its few hundred
#: steps cost nothing.
_STIFF_STEPS, _CALM_STEPS = 1000, 6


class Pace:
    """The step size of an adaptive method. The error of a step is the mean square of its components, each relative to
    `rtol` and to what `Problem.scale` measures it by."""

    def __init__(self, method: Method, rtol: float) -> None:
        self.method, self.rtol = method, rtol

    def first(self, problem: Problem, t: float, x: Array, w: Array) -> float:
        """A first step (Hairer, Norsett, Wanner, II.4): a hundredth of the time in which the state changes, less where
        its rates do."""
        scale = self._scale(problem, x, w)
        with np.errstate(over="ignore", invalid="ignore"):
            d1 = _size(problem.varying(w), scale)
        if d1 <= 0.0:
            return 1e-6
        h = 0.01 / self.rtol / d1
        if not h > 0.0:
            raise SimulationError(
                f"the rates at t = {t:.9g} s, up to {np.abs(w).max():.3g}, are too large for any step: numbers of this "
                "size overflow. Check forces and units."
            )
        moved = problem.settle(t + h, problem.manifold.move(x, h * w), False)
        d2 = _size(problem.varying(problem.rates(t + h, moved) - w), scale) / h
        return float(min(100.0 * h, (0.01 / max(d1, d2)) ** (1.0 / self.method.error_order)))

    def error(self, problem: Problem, step: Step) -> float:
        """1 where the step is just as good as asked for."""
        if step.error is None:
            return 0.0
        scale = np.maximum(self._scale(problem, step.x0, step.w0), self._scale(problem, step.x1, step.w1))
        error = _estimate(step.error, scale)
        if error > 1.0 and problem.projects:
            # Components that lead off the closures are no error of the step, whose end is put back on them: next to a
            # singular pose it is rounding divided by a row that vanishes.
            error = _estimate(np.array([problem.kept(step.x1, u) for u in step.error]), scale)
        return max(error, self.drift(problem, step), self.bend(problem, step, scale))

    def bend(self, problem: Problem, step: Step, scale: Array) -> float:
        """Above 1 where the rates at the end of a step are not those that its stages tell of, 0 else: a force has a
        kink that no stage has met, and neither the error nor the dense output know of it. In steps of a smooth problem
        the difference goes with about rtol^(3/4), and this is below 0.4 for rtol from 1e-12 to 1e-2."""
        if step.bend is None:
            return 0.0
        part = math.sqrt(math.sqrt(self.rtol))
        bend = part * _size(step.bend, scale)
        if bend > 1.0 and problem.projects:
            bend = part * _size(problem.kept(step.x1, step.bend), scale)
        return bend if bend > 1.0 else 0.0

    def drift(self, problem: Problem, step: Step) -> float:
        """The part of it that the way onto the closures has, where coordinates follow from others."""
        if step.drift is None or problem.projects:
            return 0.0
        _, nt, nv = problem.sizes
        scale = np.maximum(self._scale(problem, step.x0, step.w0), self._scale(problem, step.x1, step.w1))
        return _DRIFT * _size(step.drift, scale[nt : nt + nv])

    def next(self, h: float, error: float, refused: bool) -> float:
        """The step after one of length h; no longer where one was just refused."""
        factor = _MOST if error <= 0.0 else _SAFETY * error ** (-1.0 / self.method.error_order)
        return h * min(1.0 if refused else _MOST, max(_LEAST, factor))

    def counted(self, problem: Problem, step: Step, counts: tuple[int, int]) -> tuple[int, int]:
        """The numbers of steps at the boundary of stability, and in a row within it, after one more step."""
        if step.steepness is None:
            return counts
        unstable, calm = counts
        scale = self._scale(problem, step.x1, step.w1)
        rise, run = (_size(x, scale) for x in step.steepness)
        if run > 0.0 and step.h * rise > _STABLE * run:
            return unstable + 1, 0
        return (0 if calm + 1 >= _CALM_STEPS else unstable), calm + 1

    def _scale(self, problem: Problem, x: Array, w: Array) -> Array:
        return self.rtol * problem.scale(x, w)


def is_stiff(counts: tuple[int, int]) -> bool:
    """True if stability, not accuracy, has limited the steps for a while."""
    return counts[0] >= _STIFF_STEPS


def _estimate(errors: Array, scale: Array) -> float:
    """Size of one estimate, or of those of order five and three (Hairer, Norsett, Wanner, II.10)."""
    if len(errors) == 1:
        return _size(errors[0], scale)
    e5, e3 = _size(errors[0], scale) ** 2, _size(errors[1], scale) ** 2
    return float(e5 / np.sqrt(e5 + 0.01 * e3)) if e5 > 0.0 else 0.0


def _size(u: Array, scale: Array) -> float:
    counted = np.isfinite(scale)
    return float(np.sqrt(np.mean((u[counted] / scale[counted]) ** 2))) if counted.any() else 0.0
