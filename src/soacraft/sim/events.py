"""Zero-crossings: where a function of time and state changes its sign, located to the integrator's accuracy.

A step is looked at in quarters, and at the extremum between two of them where a function nearly comes to zero and turns
back. Where a sign changes, the zero is found on the dense output, then the step is taken again up to there, and moved
until the function is zero at its own end (`Stride.cut`).

One crossing is one event: at its zero a function is rounding, so that its sign is determined again just after, and
where the state did not jump it has to be seen beyond before it can come back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from soacraft.errors import SimulationError, StateError
from soacraft.model.modal.bodies import turns_unreported
from soacraft.model.states.state import State
from soacraft.sim.forces.holds import Hold
from soacraft.sim.integrators.steps import Step
from soacraft.spatial.checks import Array, finite

#: Parts of a step at which signs are looked at.
PARTS = (0.25, 0.5, 0.75, 1.0)
#: Fractions at which the quartic through the ends and the parts is searched for extrema, and its values there from
#: those five.
FINE = np.linspace(0.0, 1.0, 33)
QUARTIC = np.vander(FINE, 5) @ np.linalg.inv(np.vander((0.0, *PARTS), 5))
#: An extremum of the quartic is looked for where it comes to zero within this part of the variation over the step.
NEAR = 0.25
#: A function is rounding below this part of what it is in a step, and where it is no more than twice of what it was at
#: its zero; at the start of a run it is zero then.
ROUNDING, AT_ZERO, START = 4e-15, 1e-9, 4e-15
#: A jump of the state that changes a function by no more than this part of it leaves it as it was.
_UNMOVED = 0.1
#: Signs that are kept of a function that was just zero, and goes to this side; 0 where it may go to either.
GOES = 0.5
#: Delay after an event at which the sign is determined, in seconds, and the growth of later delays: hops that are short
#: next to a step, as of a ball that comes to rest, are not missed.
JUST_AFTER, GROWS = 1e-12, 30.0
#: Events this near are one instant, in seconds: the resolution of the clock.
ONE_INSTANT = 1e-9
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
    """Load that begins or ends to hold there."""
    margin: Callable[[float, Array], float] | None = None
    """Function of time and point that takes the place of g, of a crossing of what is carried along."""
    below: str = ""
    """An error where the function is negative though it was not seen to fall: what is wrong then."""

    def value(self, t: float, state: State) -> float:
        """g, a finite number."""
        returned = self.g(t, state)
        if isinstance(returned, float | int | np.floating | np.integer) and not isinstance(returned, bool):
            if np.isfinite(returned):
                return float(returned)
            raise StateError(f"the function of event {self.name!r} must be finite, got {returned} at t = {t:.9g} s.")
        if isinstance(returned, np.ndarray) and returned.ndim == 0:
            return float(finite(returned, (), f"the function of event {self.name!r} at t = {t:.9g} s", StateError))
        raise StateError(
            f"the function of event {self.name!r} must give one number, got {returned!r:.60} at t = {t:.9g} s. "
            "For several, add an event for each."
        )


class Happened(NamedTuple):
    """An event that happened: `run.events` lists them."""

    t: float
    name: str
    q: Array
    v: Array


class Crossing(NamedTuple):
    """Crossing in a step: its place, and its events in the order in which they were added."""

    theta: float
    events: list[Event]
    first: Event | None = None
    """The one whose zero it is, and the sign of its function before."""
    side: float = 0.0
    jumps: bool = False
    """True if its function changes its sign there without being zero."""


class Signs(NamedTuple):
    """Signs of the functions of events at the present state, and all else that tells the next crossing."""

    values: Mapping[str, float] = MappingProxyType({})
    """Signs {name: sign}; where a function was just zero, half of that to which it goes, 0 where it may go to either
    side."""
    fresh: frozenset[str] = frozenset()
    """Functions whose signs follow from their values alone."""
    before_jump: Mapping[str, float] | None = None
    """Values of functions before a jump between runs."""
    happened: tuple[int, ...] = ()
    """The last times at which something happened, in nanoseconds."""

    def sign(self, name: str) -> float:
        """The sign of a function at the present state; 0 where it is not known."""
        return float(np.sign(self.values.get(name, 0.0)))

    def of(self, names: Sequence[str]) -> Array:
        """Signs of some functions, and 1 where they follow from values alone, for compiled steps, (2, names)."""
        return np.array([[self.values.get(x, 0.0) for x in names], [float(x in self.fresh) for x in names]])

    def after(self, names: Sequence[str], signs: Array) -> Signs:
        """Signs in which those of some functions are as compiled steps have left them."""
        values = {**self.values, **dict(zip(names, signs[0].tolist(), strict=True))}
        fresh = frozenset(x for x, alone in zip(names, signs[1], strict=True) if alone)
        return self._replace(values=values, fresh=(self.fresh - {*names}) | fresh)


#: Signs before any function was evaluated.
UNSEEN = Signs()


class Watch:
    """The events of a run, and their functions. Signs come in as one value and go out as another."""

    def __init__(self, state_at: Callable[[Array], State]) -> None:
        self.events: list[Event] = []
        self._state_at = state_at
        self._latest: tuple[Array, State] | None = None

    def jumped(self, signs: Signs, t: float, x: Array | None) -> Signs:
        """Signs where the state jumps between runs, from a point: they follow from values when the next run begins."""
        return signs._replace(before_jump={} if x is None else self.values(t, x))

    def values(self, t: float, x: Array) -> dict[str, float]:
        """All functions at a state."""
        return {event.name: self.value(event, t, x) for event in self.events}

    def crossed(self, signs: Signs, crossing: Crossing) -> Signs:
        """Signs after a crossing, before what is done there."""
        values = dict(signs.values)
        for event in crossing.events:
            before = np.sign(values.get(event.name, 0.0))
            side = crossing.side if event is crossing.first else -event.direction or before
            values[event.name] = -GOES * float(side)
        return signs._replace(values=values)

    def moved(self, signs: Signs, t: float, x: Array, before: Mapping[str, float] | None = None) -> Signs:
        """Signs at a new present state; after a jump with the values of functions `before` it. A function that the jump
        has left as it was keeps its sign; where it was just zero it may go to either side now."""
        before = signs.before_jump if before is None else before
        values, fresh = dict(signs.values), set(signs.fresh)
        for event in self.events:
            sign = values.get(event.name)
            if sign is not None and before is None:
                continue
            value = self.value(event, t, x)
            old = None if before is None else before.get(event.name)
            if sign is not None and old is not None and unmoved(value, old):
                values[event.name] = sign if abs(sign) >= 1.0 else 0.0
            else:
                values[event.name] = float(np.sign(value))
                fresh.add(event.name)
        return signs._replace(values=values, fresh=frozenset(fresh), before_jump=None)

    @property
    def asks_functions(self) -> bool:
        """True if there are other events than those of what holds, and crossings of components: compiled steps look at
        these themselves."""
        return any(x.hold is None and x.margin is None for x in self.events)

    def holds_are_clear(self, signs: Signs) -> bool:
        """True if the margins of all that holds are known to be positive at the present state."""
        return all(signs.values.get(x.name, 0.0) >= 1.0 for x in self.events if x.hold is not None)

    @turns_unreported()  # inside a step that may be cut
    def find(self, signs: Signs, step: Step, of_functions: bool = False) -> tuple[Crossing | None, Signs]:
        """The first crossing within a step, if there is one, and the signs at its end, if there is none; of functions
        alone, or also of what holds."""
        events = [x for x in self.events if not (of_functions and x.hold)]
        if not events:
            return None, signs
        points: dict[float, Array] = {}

        def value(event: Event, theta: float) -> float:
            if theta not in points:
                points[theta] = step.at(theta)
            return self.value(event, step.t0 + theta * step.h, points[theta])

        looks = {event.name: self._look(signs, event, value, step.h) for event in events}
        first = min(x.theta for x in looks.values())
        if first > 1.0:
            for event in events:
                if event.below and looks[event.name].end < 0.0:
                    raise SimulationError(event.below)
            ends = {name: x.end for name, x in looks.items() if x.end}
            return None, signs._replace(values={**signs.values, **ends}, fresh=frozenset())
        leader = next(x for x in events if looks[x.name].theta == first)
        near = [x for x in events if (looks[x.name].theta - first) * step.h <= ONE_INSTANT]
        return Crossing(first, near, leader, looks[leader.name].before, looks[leader.name].jumps), signs

    def _look(self, signs: Signs, event: Event, value: Callable[[Event, float], float], h: float) -> _Look:
        """The first zero of a function in a step."""
        sign = signs.values.get(event.name, 0.0)
        coarse = [value(event, theta) for theta in (0.0, *PARTS)]
        most = max(abs(x) for x in coarse)
        if event.name in signs.fresh and event.hold is None and abs(coarse[0]) <= START * most:
            sign = 0.0
        just = abs(sign) < 1.0 or abs(coarse[0]) <= AT_ZERO * most
        if just and h <= JUST_AFTER:  # it tells nothing
            return _Look(2.0, 0.0, 0.0, False)
        thetas = [*PARTS, *_turns(lambda theta: value(event, theta), coarse, just)]
        if just:
            thetas += _just_after(h)
        noise = 2.0 * min(abs(coarse[0]), AT_ZERO * most)
        before, last = sign if abs(sign) >= 1.0 else 0.0, 0.0
        for theta in sorted(thetas):
            g = value(event, theta)
            now = float(np.sign(g))
            if not before:
                if now and abs(g) > noise and now != -np.sign(sign):
                    before, last = now, theta
                continue
            if just and abs(g) <= noise:
                continue
            if now and now != before and event.direction in (0, now):
                return _zero(lambda theta: value(event, theta), last, theta, before, now)
            before, last = now or before, theta if now else last
        return _Look(2.0, before or float(np.sign(coarse[-1])) * (abs(coarse[-1]) > noise), before, False)

    def value(self, event: Event, t: float, x: Array) -> float:
        """The function of an event at a state."""
        if event.margin is not None:
            return event.margin(t, x)
        if self._latest is None or self._latest[0] is not x:
            self._latest = x, self._state_at(x)
        return event.value(t, self._latest[1])

    def slope(self, step: Step, crossing: Crossing) -> float:
        """Rate of the function at its crossing, per second, by the dense output of a step."""
        assert crossing.first is not None
        d = max(0.01 * crossing.theta, 1e-6)
        a, b = max(crossing.theta - d, 0.0), min(crossing.theta + d, 1.0)
        ga, gb = (self.value(crossing.first, step.t0 + x * step.h, step.at(x)) for x in (a, b))
        return (gb - ga) / ((b - a) * step.h)

    def way_to_zero(self, step: Step, crossing: Crossing, slope: float) -> float:
        """Seconds by which a step had to be longer to end at the zero of a crossing; infinite where none is near."""
        assert crossing.first is not None
        g = self.value(crossing.first, step.t0 + step.h, step.x1)
        if not g or crossing.jumps:
            return 0.0
        return -g / slope if slope * crossing.side < 0.0 else np.inf

    def is_before(self, step: Step, crossing: Crossing) -> bool:
        """True if a step ends on the side of a crossing from which its function comes."""
        assert crossing.first is not None
        return self.value(crossing.first, step.t0 + step.h, step.x1) * crossing.side > 0.0


def with_time(signs: Signs, ns: int, crossing: Crossing) -> Signs:
    """Signs with the time of a crossing. A `SimulationError` where events follow each other without end, as the hops of
    a ball that comes to rest."""
    times = (*signs.happened[-_STORM_COUNT:], ns)
    if len(times) > _STORM_COUNT and times[-1] - times[0] <= _STORM * _STORM_COUNT:
        raise SimulationError(
            f"events follow each other without end: {crossing.events[0].name!r} and others happened "
            f"{len(times)} times within {times[-1] - times[0]} ns (Zeno). Let the action bring "
            "the model to rest, or stop=True."
        )
    return signs._replace(happened=times)


def unmoved(value: Any, before: Any) -> Any:
    """True if a jump of the state has left values of functions as they were.

    >>> unmoved(-5.6e-17, -5.6e-17), unmoved(1.0, 5.6e-17)
    (True, False)
    """
    return abs(value - before) <= _UNMOVED * abs(before)


class _Look(NamedTuple):
    """The first zero of a function in a step: where, 2 for nowhere; the signs at its end and before; whether it jumps
    there."""

    theta: float
    end: float
    before: float
    jumps: bool


def _zero(value: Callable[[float], float], a: float, b: float, before: float, after: float) -> _Look:
    """The zero between a and b, where signs are others."""
    ga, gb = value(a), value(b)
    if ga * before <= 0.0:  # on its zero to rounding
        return _Look(a, after, before, False)
    theta = float(brentq(value, a, b, xtol=1e-15, rtol=8.9e-16))
    return _Look(theta, after, before, abs(value(theta)) > AT_ZERO * max(abs(ga), abs(gb)))


def _turns(value: Callable[[float], float], coarse: list[float], just: bool) -> list[float]:
    """Places between two parts of a step where a function turns beyond zero, though its signs at both are the same.
    `just`: at the start it was just zero, and its sign there shows nothing."""
    g, turns = np.array(coarse), []
    fine = QUARTIC @ g
    near = NEAR * float(np.ptp(g))
    for i in range(4):
        side = np.sign(g[i + 1])
        if not side or (side != np.sign(g[i]) and not (just and i == 0)):
            continue
        part = side * fine[8 * i : 8 * i + 9]
        k = int(np.argmin(part))
        if k in (0, 8) or part[k] >= near:
            continue
        at = minimize_scalar(
            lambda theta, side=side: side * value(float(theta)),
            bounds=(float(FINE[8 * i + k - 1]), float(FINE[8 * i + k + 1])),
            method="bounded",
            options={"xatol": 1e-9},
        )
        if at.fun < -ROUNDING * float(np.abs(g).max()):
            turns.append(float(at.x))
    return turns


def _just_after(h: float) -> list[float]:
    """Parts of a step of length h from just after its start on."""
    thetas, theta = [], JUST_AFTER / h
    while theta < PARTS[0]:
        thetas.append(theta)
        theta *= GROWS
    return thetas
