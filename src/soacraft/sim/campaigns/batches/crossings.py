"""Crossings of many runs at once: `sim.events.Watch`, with an axis of runs.

A step is looked at in quarters, just after an event, and where a function turns between two of them beyond zero. The
first zero of each run is located on the dense output; signs are kept from step to step as a single run keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.sim.events import (
    AT_ZERO,
    FINE,
    GOES,
    GROWS,
    JUST_AFTER,
    NEAR,
    ONE_INSTANT,
    PARTS,
    QUARTIC,
    ROUNDING,
    START,
    unmoved,
)
from soacraft.spatial.checks import Array

Mask = npt.NDArray[np.bool_]
#: The functions of all crossings, (crossings, runs), at the parts theta (runs) of a step.
Margins = Callable[[Array], Array]
#: Rounds of the search for an extremum (its bracket shrinks by 0.618 in each), and of that for a zero at most.
_GOLDEN_ROUNDS, _ZERO_ROUNDS = 45, 100
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


class Found(NamedTuple):
    """The first crossings of the runs in a step."""

    theta: Array
    """Place in the step of each run; 2 where there is none."""
    first: npt.NDArray[np.intp]
    """The crossing whose zero it is,"""
    side: Array
    """and the sign of its function before."""
    names: Mask
    """Truth values of the crossings within one instant, (crossings, runs)."""
    jumps: Mask
    """True where the function of the first changes its sign without being zero."""


class LaneWatch:
    """Signs of the functions of crossings: `directions` (crossings), `values` (crossings, runs) at the start."""

    def __init__(self, directions: Sequence[int], values: Array) -> None:
        self.directions = np.array(directions, dtype=float)[:, None]
        self.signs: Array = np.sign(values)
        self.begun: Mask = np.ones(values.shape, dtype=np.bool_)

    def of(self, chosen: npt.NDArray[np.intp]) -> LaneWatch:
        """The watch of some of the runs."""
        some = copy(self)
        some.signs, some.begun = self.signs[:, chosen], self.begun[:, chosen]
        return some

    def put(self, chosen: npt.NDArray[np.intp], some: LaneWatch) -> None:
        """Take over what the watch of some of the runs came to."""
        self.signs[:, chosen], self.begun[:, chosen] = some.signs, some.begun

    def calm(self, margins: Margins, count: int) -> Mask:
        """Runs of which no function comes near zero within a step: their signs stay."""
        g = np.array([margins(np.full(count, theta)) for theta in (0.0, *PARTS)])  # (5, crossings, runs)
        sides = np.sign(g)
        same = (np.abs(self.signs) == 1.0) & (sides == self.signs).all(axis=0)
        low = (self.signs * np.tensordot(QUARTIC, g, axes=1)).min(axis=0)
        size = np.abs(g).max(axis=0)
        calm = (same & (low >= NEAR * np.ptp(g, axis=0)) & (np.abs(g[0]) > AT_ZERO * size)).all(axis=0)
        self.begun &= ~calm
        return np.asarray(calm)

    def find(self, margins: Margins, h: Array, active: Mask) -> Found:
        """The first crossings within a step of lengths h of the active runs; where there is none, signs are those at
        its end."""
        coarse = np.array([margins(np.full(len(h), theta)) for theta in (0.0, *PARTS)])  # (5, crossings, runs)
        looks = [self._look(c, margins, coarse[:, c], h, active) for c in range(len(self.directions))]
        theta = np.array([x.theta for x in looks])
        first = np.argmin(theta, axis=0)
        least = theta[first, np.arange(len(h))]
        crossed = least <= 1.0
        for c, x in enumerate(looks):
            calm = active & ~crossed
            self.signs[c] = np.where(calm & (x.end != 0.0), x.end, self.signs[c])
            self.begun[c] &= ~calm
        side = np.array([x.before for x in looks])[first, np.arange(len(h))]
        jumps = np.array([x.jumps for x in looks])[first, np.arange(len(h))]
        names = crossed & ((theta - least) * h <= ONE_INSTANT) & (theta <= 1.0)
        return Found(np.where(crossed, least, 2.0), first, side, names, jumps)

    def crossed(self, found: Found, which: Mask) -> Array:
        """Take note of crossings of some runs, before what is done there; the signs before, 0 where nothing crosses."""
        names = found.names & which
        before = np.where(names, np.sign(self.signs), 0.0)
        is_first = np.arange(len(self.signs))[:, None] == found.first
        other = np.where(self.directions != 0.0, -self.directions, before)
        self.signs = np.where(names, -GOES * np.where(is_first, found.side, other), self.signs)
        return before

    def moved(self, values: Array, before: Array, which: Mask) -> None:
        """Take note of functions after a jump of some runs, with those before it."""
        still = unmoved(values, before)
        sure = np.where(np.abs(self.signs) >= 1.0, self.signs, 0.0)
        self.signs = np.where(which, np.where(still, sure, np.sign(values)), self.signs)
        self.begun |= which & ~still

    def _look(self, c: int, margins: Margins, coarse: Array, h: Array, active: Mask) -> _Look:
        """The first zero of one function, of each run."""
        direction = float(self.directions[c, 0])

        def value(theta: Array) -> Array:
            return np.asarray(margins(theta)[c])

        most = np.abs(coarse).max(axis=0)
        sign = np.where(self.begun[c] & (np.abs(coarse[0]) <= START * most), 0.0, self.signs[c])
        just = (np.abs(sign) < 1.0) | (np.abs(coarse[0]) <= AT_ZERO * most)
        active = active & ~(just & (h <= JUST_AFTER))
        thetas, values = [np.full(len(h), x) for x in PARTS], list(coarse[1:])
        for theta in self._turns(value, coarse, just, active):
            thetas.append(theta)
            values.append(value(theta))
        if (just & active).any():
            for theta in _just_after(np.where(active, h, h.max())):
                thetas.append(np.where(just, theta, PARTS[0]))
                values.append(value(thetas[-1]))
        T, G = np.array(thetas), np.array(values)
        order = np.argsort(T, axis=0, kind="stable")
        T, G = np.take_along_axis(T, order, axis=0), np.take_along_axis(G, order, axis=0)
        noise = 2.0 * np.minimum(np.abs(coarse[0]), AT_ZERO * most)
        before, last = np.where(np.abs(sign) >= 1.0, sign, 0.0), np.zeros(len(h))
        hit, b, now_at = np.zeros(len(h), dtype=np.bool_), np.zeros(len(h)), np.zeros(len(h))
        for theta, g in zip(T, G, strict=True):
            now = np.sign(g)
            unknown = (before == 0.0) & ~hit
            sign_known = unknown & (now != 0.0) & (np.abs(g) > noise) & (now != -np.sign(sign))
            seen = ~unknown & ~hit & ~(just & (np.abs(g) <= noise))
            new = seen & active & (now != 0.0) & (now != before) & ((direction == 0.0) | (now == direction))
            b, now_at, hit = np.where(new, theta, b), np.where(new, now, now_at), hit | new
            goes_on = sign_known | (seen & ~new & (now != 0.0))
            before, last = np.where(goes_on, now, before), np.where(goes_on, theta, last)
        end = np.where(before != 0.0, before, np.sign(coarse[-1]) * (np.abs(coarse[-1]) > noise))
        theta_hit, jumps = np.full(len(h), 2.0), np.zeros(len(h), dtype=np.bool_)
        if hit.any():
            ga, gb = value(last), value(b)
            at_start = ga * before <= 0.0
            zero = _zeros(value, last, b, ga, gb, hit & ~at_start)
            theta_hit = np.where(hit, np.where(at_start, last, zero), 2.0)
            jumps = hit & ~at_start & (np.abs(value(zero)) > AT_ZERO * np.maximum(np.abs(ga), np.abs(gb)))
        return _Look(theta_hit, np.where(hit, now_at, end), before, jumps)

    def _turns(self, value: Callable[[Array], Array], g: Array, just: Mask, active: Mask) -> list[Array]:
        """Places between two parts of a step where a function turns beyond zero, with the same sign at both; a
        quarter where it does not."""
        fine, near, turns = QUARTIC @ g, NEAR * np.ptp(g, axis=0), []
        for i in range(4):
            side = np.sign(g[i + 1])
            part = side * fine[8 * i : 8 * i + 9]
            k = np.argmin(part, axis=0)
            low = part[k, np.arange(len(k))]
            may = active & (side != 0.0) & ((side == np.sign(g[i])) | (just & (i == 0))) & (k > 0) & (k < 8)
            may &= low < near
            if not may.any():
                continue
            inner = np.clip(8 * i + k, 1, 31)
            theta = _least(partial(_times, side, value), FINE[inner - 1], FINE[inner + 1])
            beyond = may & (side * value(theta) < -ROUNDING * np.abs(g).max(axis=0))
            if beyond.any():
                turns.append(np.where(beyond, theta, PARTS[0]))
        return turns


class _Look(NamedTuple):
    """The first zero of a function, of each run; see `sim.events`."""

    theta: Array
    end: Array
    before: Array
    jumps: Mask


def _times(side: Array, value: Callable[[Array], Array], theta: Array) -> Array:
    return np.asarray(side * value(theta))


def _just_after(h: Array) -> list[Array]:
    """Parts of steps of lengths h from just after their starts on, up to a quarter."""
    thetas, theta = [], JUST_AFTER / np.maximum(h, JUST_AFTER)
    while (theta < PARTS[0]).any():
        thetas.append(np.minimum(theta, PARTS[0]))
        theta = theta * GROWS
    return thetas


def _least(f: Callable[[Array], Array], a: Array, b: Array) -> Array:
    """Places where functions are least between a and b, by the golden section."""
    c, d = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
    fc, fd = f(c), f(d)
    for _ in range(_GOLDEN_ROUNDS):
        in_left_part = fc < fd
        a, b = np.where(in_left_part, a, c), np.where(in_left_part, d, b)
        x = np.where(in_left_part, b - _GOLDEN * (b - a), a + _GOLDEN * (b - a))
        fx = f(x)
        c, d, fc, fd = (
            np.where(in_left_part, x, d),
            np.where(in_left_part, c, x),
            np.where(in_left_part, fx, fd),
            np.where(in_left_part, fc, fx),
        )
    return np.asarray(0.5 * (a + b))


@np.errstate(divide="ignore", invalid="ignore", over="ignore")  # of runs whose zero is found already
def _zeros(f: Callable[[Array], Array], a: Array, b: Array, fa: Array, fb: Array, which: Mask) -> Array:
    """Zeros of functions between a and b, where they have other signs (Chandrupatla 1997: inverse quadratic steps where
    three points allow one, halves else)."""
    x1, f1, x2, f2 = b, fb, a, fa
    part, zeros, done = np.full(len(a), 0.5), np.where(np.abs(fa) < np.abs(fb), a, b), ~which
    for _ in range(_ZERO_ROUNDS):
        x = np.where(done, zeros, x1 + part * (x2 - x1))
        fx = f(x)
        same = np.sign(fx) == np.sign(f1)
        x3, f3 = np.where(same, x1, x2), np.where(same, f1, f2)
        x2, f2 = np.where(same, x2, x1), np.where(same, f2, f1)
        x1, f1 = x, fx
        best = np.where(np.abs(f2) < np.abs(f1), x2, x1)
        least = np.minimum(np.abs(f1), np.abs(f2))
        limit = (1e-15 + 1.8e-15 * np.abs(best)) / np.maximum(np.abs(x2 - x1), 1e-300)
        ended = ~done & ((limit > 0.5) | (least == 0.0))
        zeros, done = np.where(ended, best, zeros), done | ended
        if done.all():
            return zeros
        xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
        smooth = (phi**2 < xi) & ((1.0 - phi) ** 2 < 1.0 - xi)
        step = f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
        part = np.clip(np.where(smooth, step, 0.5), np.minimum(limit, 0.5), 1.0 - np.minimum(limit, 0.5))
    return np.where(done, zeros, best)
