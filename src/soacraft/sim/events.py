"""Zero-crossings: where a function of time and state changes its sign, located to the integrator's accuracy.

A step is looked at in parts. Where a sign changes, the zero is found on the dense output, then the step is taken again
up to there, and moved until the function is zero at its own end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from soacraft.errors import SimulationError, StateError
from soacraft.model.states.state import State
from soacraft.sim.forces.holding import Hold
from soacraft.sim.integrators.steps import Step
from soacraft.spatial.checks import Array, finite

#: Parts of a step at which signs are looked at: what changes twice within one is not seen.
_PARTS = (0.25, 0.5, 0.75, 1.0)
#: Where an event has just happened the sign is told this much later, in seconds, and then at times that grow: hops that
#: are short next to a step, as of a ball that comes to rest, are not missed.
_JUST_AFTER, _GROWS = 1e-12, 30.0
#: Events this near are one instant, in seconds: the resolution of the clock.
_ONE_INSTANT = 1e-9
#: Events closer than this, so many times in a row, are without end, in nanoseconds.
_STORM, _STORM_COUNT = 100, 8


@dataclass
class Event:
    """A function g(t, state) and what happens at its zeros."""

    name: str
    g: Callable[[float, State], Any]
    direction: int = 0
    action: Callable[[float, State], Any] | None = None
    stop: bool = False
    hold: Hold | None = None
    """Of a load that begins or ends to hold there."""
    margin: Callable[[float, Array], float] | None = None
    """Of a crossing of what is carried along: the function of time and point that takes the place of g."""
    below: str = ""
    """An error where the function is negative though it was not seen to fall: what is wrong then."""

    def value(self, t: float, state: State) -> float:
        """g, a finite number."""
        given = self.g(t, state)
        if isinstance(given, float | int | np.floating | np.integer) and not isinstance(given, bool):
            if np.isfinite(given):
                return float(given)
            raise StateError(f"the function of event {self.name!r} must be finite, got {given} at t = {t:.9g} s.")
        if isinstance(given, np.ndarray) and given.ndim == 0:
            return float(finite(given, (), f"the function of event {self.name!r} at t = {t:.9g} s", StateError))
        raise StateError(
            f"the function of event {self.name!r} must give one number, got {given!r:.60} at t = {t:.9g} s. "
            "For several, add an event for each."
        )


class Happened(NamedTuple):
    """An event that happened: `run.events` lists them."""

    t: float
    name: str
    q: Array
    v: Array


class Crossing(NamedTuple):
    """Where in a step, and which events, in the order in which they were added."""

    theta: float
    events: list[Event]


class Watch:
    """The events of a run, with the values of their functions at the present state."""

    def __init__(self, state_at: Callable[[Array], State]) -> None:
        self.events: list[Event] = []
        self._state_at = state_at
        self._latest: tuple[Array, State] | None = None
        self._signs: dict[str, float] = {}  # of each function at the present state; 0 where it was just zero
        self._storm: list[int] = []  # the last times at which something happened

    @property
    def memory(self) -> tuple[dict[str, float], list[int]]:
        """What is kept from step to step: signs, and the last times at which something happened."""
        return dict(self._signs), list(self._storm)

    def recall(self, signs: dict[str, float], storm: list[int]) -> None:
        """Go on from what was kept."""
        self._signs, self._storm, self._latest = dict(signs), list(storm), None

    def forget(self) -> None:
        """The state jumped: all signs are told anew."""
        self._signs = {}

    def moved(self, t: float, x: Array, happened: list[Event], jumped: bool) -> None:
        """Take note of a new present state: after a step, after events there, or after a jump of the state."""
        names = {event.name for event in happened}
        for event in self.events:
            if event.name in names:
                self._signs[event.name] = 0.0
            elif jumped or event.name not in self._signs:
                self._signs[event.name] = float(np.sign(self.value(event, t, x)))

    def find(self, step: Step) -> Crossing | None:
        """The first crossing within a step, if there is one."""
        if not self.events:
            return None
        points: dict[float, Array] = {}

        def value(event: Event, theta: float) -> float:
            if theta not in points:
                points[theta] = step.at(theta)
            return self.value(event, step.t0 + theta * step.h, points[theta])

        zeros, ends = [], {}
        for event in self.events:
            theta, ends[event.name] = self._first(event, value, step.h)
            zeros.append(theta)
        first = min(zeros)
        if first > 1.0:
            for event in self.events:
                if event.below and ends[event.name] < 0.0:
                    raise SimulationError(event.below)
            self._signs.update({name: sign for name, sign in ends.items() if sign})
            return None
        near = [x for x, theta in zip(self.events, zeros, strict=True) if (theta - first) * step.h <= _ONE_INSTANT]
        return Crossing(first, near)

    def _first(self, event: Event, value: Callable[[Event, float], float], h: float) -> tuple[float, float]:
        """The first zero in a step, 2 where there is none, and the sign at the end."""
        before = self._signs.get(event.name, 0.0)
        last = 0.0
        for theta in _PARTS if before else (*_just_after(h), *_PARTS):
            sign = float(np.sign(value(event, theta)))
            if before and sign and sign != before and event.direction in (0, sign):
                return self._zero(event, value, last, theta, before), sign
            before, last = sign or before, theta if sign else last
        return 2.0, before

    def _zero(self, event: Event, value: Callable[[Event, float], float], a: float, b: float, before: float) -> float:
        if value(event, a) * before <= 0.0:  # on its zero to rounding
            return a
        return float(brentq(lambda theta: value(event, theta), a, b, xtol=1e-15, rtol=8.9e-16))

    def check_storm(self, ns: int, crossing: Crossing) -> None:
        """Raise where events follow each other without end, as the hops of a ball that comes to rest."""
        self._storm = [*self._storm[-_STORM_COUNT:], ns]
        if len(self._storm) > _STORM_COUNT and self._storm[-1] - self._storm[0] <= _STORM * _STORM_COUNT:
            raise SimulationError(
                f"events follow each other without end: {crossing.events[0].name!r} and others happened "
                f"{len(self._storm)} times within {self._storm[-1] - self._storm[0]} ns (Zeno). Let the action bring "
                "the model to rest, or stop=True."
            )

    def value(self, event: Event, t: float, x: Array) -> float:
        """The function of an event at a state."""
        if event.margin is not None:
            return event.margin(t, x)
        if self._latest is None or self._latest[0] is not x:
            self._latest = x, self._state_at(x)
        return event.value(t, self._latest[1])

    def sign(self, name: str) -> float:
        """Of a function at the present state; 0 where it was just zero, or is not known."""
        return self._signs.get(name, 0.0)


def _just_after(h: float) -> list[float]:
    """Parts of a step of length h from just after its start on."""
    thetas, theta = [], _JUST_AFTER / h
    while theta < _PARTS[0]:
        thetas.append(theta)
        theta *= _GROWS
    return thetas
