"""The values of a system at one instant, walked through call by call; what goes wrong in one is named."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from soacraft.errors import SimulationError, SoacraftError
from soacraft.sim.systems.running.calls import Call, Knot
from soacraft.sim.systems.running.kinds import KindError
from soacraft.sim.systems.running.order import newton
from soacraft.sim.systems.running.schedule import Schedule
from soacraft.spatial.checks import Array

#: The tolerance of loops that are solved, relative to their values.
LOOP_TOLERANCE = 1e-12
#: Functions, what gets their arguments, and the slots of their results.
Steps = list[tuple[Callable[..., Any], Callable[[list[Any]], tuple[Any, ...]], int]]


class Values:
    """A slot for every signal, state and parameter: numbers of Python and arrays; slot 0 is the time."""

    def __init__(self, schedule: Schedule) -> None:
        self._s, self.values = schedule, schedule.values
        self.residual = 0.0
        """Residual of the last loop that was solved."""

    def steps(self, calls: Sequence[Call | Knot]) -> Steps:
        """Flat tuples, which are quicker than named ones. A loop is a step that writes to slot 0, the time."""
        return [
            (x.function, x.get, x.slot) if isinstance(x, Call) else (self.solver(x), itemgetter(0, 0), 0) for x in calls
        ]

    def walk(self, steps: Steps) -> None:
        V, slot = self.values, 0
        try:
            for f, get, slot in steps:
                V[slot] = f(*get(V))
        except SoacraftError:
            raise
        except Exception as wrong:
            raise self.broken(slot, wrong) from wrong

    def require_shape(self, call: Call, given: Any, shape: tuple[int, ...]) -> None:
        """Raise for a value that is no number, or no array of the shape that is declared."""
        number = isinstance(given, np.ndarray) or (not shape and isinstance(given, float | int | np.generic))
        if not number or np.shape(given) != shape:
            raise self.message(call, f"must give {kind_of(shape)}, and gave {given!r:.60}")

    def called(self, call: Call) -> Any:
        try:
            return call.function(*call.get(self.values))
        except SoacraftError:
            raise
        except Exception as wrong:
            raise self.message(call, failure(wrong)) from wrong

    def solver(self, knot: Knot) -> Callable[..., Any]:
        """A loop as a function: Newton's method on the outputs that were named, from their last values."""
        steps = [(x.function, x.get, x.slot) for x in knot.calls]
        sizes = [int(np.prod(x)) for x in knot.shapes]

        def given(y: Array) -> Array:
            V, at = self.values, 0
            for call, shape, size in zip(knot.tears, knot.shapes, sizes, strict=True):
                V[call.slot] = y[at : at + size].reshape(shape) if shape else float(y[at])
                at += size
            self.walk(steps)
            return np.concatenate([np.ravel(V[x.slot]) for x in knot.tears])

        def solve(t: float, _: Any) -> float:
            first = [
                np.broadcast_to(self.values[c.slot], s).ravel() for c, s in zip(knot.tears, knot.shapes, strict=True)
            ]
            what = ", ".join(repr(x.key) for x in knot.tears)
            y, self.residual = newton(given, np.concatenate(first).astype(float), LOOP_TOLERANCE, what)
            given(y)
            return t

        return solve

    # -- messages --------------------------------------------------------------------------------------------

    def blame(self, equations: Sequence[Call] = (), given: Sequence[Any] | None = None) -> None:
        """Raise for the first value that is not finite, in the order of evaluation."""
        for key in self._s.order:
            call = self._s.calls.get(key)
            if call is not None and not _finite(self.values[call.slot]):
                raise self.message(call, f"gave {self.values[call.slot]!r:.60}")
            if call is not None and key in self._s.outputs:
                self.require_shape(call, self.values[call.slot], self._s.outputs[key].shape)
        for i, call in enumerate(equations):
            value = self.called(call) if given is None else given[i]
            self.require_shape(call, value, np.shape(self.values[call.slot]))
            if not _finite(value):
                raise self.message(call, f"gave {value!r:.60}")

    def broken(self, slot: int, wrong: Exception) -> SimulationError:
        call = next(x for x in self._s.calls.values() if x.slot == slot)
        return self.message(call, failure(wrong))

    def first_broken(self, calls: Sequence[Call], wrong: Exception) -> SimulationError:
        for call in calls:
            try:
                call.function(*call.get(self.values))
            except Exception as again:
                return self.message(call, failure(again))
        return SimulationError(f"an equation failed: {type(wrong).__name__}: {wrong}")

    def message(self, call: Call, what: str) -> SimulationError:
        arguments = [f"{name} = {self.values[at]!r:.40}" for name, at in call.reads if name != "p"]
        return SimulationError(
            f"{call.key!r} {what} at t = {self.values[0]:.9g} s, from {', '.join(arguments) or 'nothing'}."
        )


def _finite(value: Any) -> bool:
    try:
        return bool(np.isfinite(value).all())
    except TypeError:  # a state of the plant
        return True


def total_of(given: Iterable[Any]) -> float:
    """The sum of numbers; NaN where one of them is none."""
    try:
        total = sum(given)
    except (TypeError, ValueError):
        return math.nan
    return total if isinstance(total, float | int | np.generic) or np.ndim(total) == 0 else math.nan


def failure(wrong: BaseException) -> str:
    """The end of a sentence about an equation that raised."""
    return str(wrong) if isinstance(wrong, KindError) else f"failed: {type(wrong).__name__}: {wrong}"


def kind_of(shape: tuple[int, ...]) -> str:
    return f"an array of shape {shape}" if shape else "a number"
