"""Prescribed motions as compiled steps read them: splines as polynomials between their breaks, functions as calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.interpolate import BSpline, PPoly, UnivariateSpline

from soacraft.spatial.checks import Array

Integers = npt.NDArray[np.int64]
#: Kinds of prescribed motions, in core/sim/prescribed.hpp.
NUMBERS, PIECEWISE, COMPONENT, REST = range(4)


class Piecewise(NamedTuple):
    """Polynomials between breaks, by powers of the distance from the first break of each."""

    breaks: Array
    """(pieces + 1)."""
    coefficients: Array
    """(terms, pieces), the highest power first."""
    periodic: bool


class Guide(NamedTuple):
    """A dof and the motion that it follows."""

    dof: int
    place: int
    """The place of its coordinate."""
    row: int
    """The load that holds it; -1 of a prescribed motion."""
    guidance: int
    curve: Piecewise | None = None
    slot: int = -1
    """The place in the plan of the numbers that a component gives."""
    function: Callable[[float], Array] | None = None
    """Coordinate, rate and acceleration as a function of time."""
    numbers: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Numbers that stay, where nothing else gives them."""


class CompiledPrescribed(NamedTuple):
    """Dofs whose motion is prescribed (core/sim/prescribed.hpp)."""

    dofs: Integers
    places: Integers
    rows: Integers
    guidance: Integers
    periodic: Integers
    slots: Integers
    breaks: Array
    breaks_at: Integers
    coefficients: Array
    coefficients_at: Integers
    numbers: Array
    """(dofs, 3): coordinate, rate and acceleration, which functions write."""
    has_row: int
    """1 if the last row of the forces is that of prescribed motions."""
    t: Array
    """(1): the time of a call."""
    call: Callable[[], None] | None
    """The call of functions, which write their numbers."""
    raised: list[BaseException]
    """The error that it raised last."""


def compiled_prescribed(guides: Sequence[Guide], has_row: bool) -> CompiledPrescribed:
    """The dofs whose motion is prescribed, for compiled steps."""
    curves = [x.curve or Piecewise(np.zeros(0), np.zeros((0, 0)), False) for x in guides]
    numbers = np.array([x.numbers for x in guides]).reshape(-1, 3)
    functions = [(i, x.function) for i, x in enumerate(guides) if x.function is not None]
    t, raised = np.zeros(1), list[BaseException]()

    def call() -> None:
        try:
            for i, function in functions:
                numbers[i] = function(float(t[0]))
        except BaseException as wrong:
            raised[:] = [wrong]
            raise

    def integers(values: Iterable[int]) -> Integers:
        return np.array([*values], dtype=np.int64)

    return CompiledPrescribed(
        dofs=integers(x.dof for x in guides),
        places=integers(x.place for x in guides),
        rows=integers(x.row for x in guides),
        guidance=integers(x.guidance for x in guides),
        periodic=integers(x.periodic for x in curves),
        slots=integers(x.slot for x in guides),
        breaks=np.concatenate([np.zeros(0), *(x.breaks for x in curves)]),
        breaks_at=integers(np.cumsum([0, *(len(x.breaks) for x in curves)])),
        coefficients=np.concatenate([np.zeros(0), *(x.coefficients.ravel() for x in curves)]),
        coefficients_at=integers(np.cumsum([0, *(x.coefficients.size for x in curves)])),
        numbers=numbers,
        has_row=int(has_row),
        t=t,
        call=call if functions else None,
        raised=raised,
    )


def piecewise_of(motion: Any) -> Piecewise | None:
    """The polynomials of a spline of scipy that goes on beyond its ends; None for any other motion.

    >>> from scipy.interpolate import CubicSpline
    >>> curve = piecewise_of(CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0]))
    >>> curve.breaks, curve.coefficients.shape
    (array([0., 1., 2.]), (4, 2))
    """
    evaluates = type(motion).__call__ if callable(motion) else None  # one of another kind is a function
    if isinstance(motion, UnivariateSpline) and evaluates is UnivariateSpline.__call__:
        if getattr(motion, "ext", None) != 0:
            return None
        knots, c = motion.get_knots(), motion.get_coeffs()
        degree = len(c) - len(knots) + 1
        t = np.concatenate([np.repeat(knots[0], degree), knots, np.repeat(knots[-1], degree)])
        return _of_spline(t, c, degree, False)
    if not isinstance(motion, BSpline | PPoly) or motion.extrapolate not in (True, "periodic"):
        return None
    periodic = motion.extrapolate == "periodic"
    if isinstance(motion, PPoly):
        return _of_polynomials(motion.x, motion.c, periodic) if evaluates is PPoly.__call__ else None
    plain = evaluates is BSpline.__call__ and motion.c.ndim == 1
    return _of_spline(motion.t, motion.c, motion.k, periodic) if plain else None


def _of_spline(t: Array, c: Array, degree: int, periodic: bool) -> Piecewise | None:
    """A spline with these knots, coefficients and degree."""
    last = len(t) - degree - 1
    polynomials = PPoly.from_spline((t, c[:last], degree)).c
    return _of_polynomials(t[degree : last + 1], polynomials[:, degree:last], periodic)


def _of_polynomials(x: Array, c: Array, periodic: bool) -> Piecewise | None:
    pieces = np.flatnonzero(np.diff(x) > 0.0)  # those of repeated knots are empty
    if c.ndim != 2 or np.iscomplexobj(c) or np.any(np.diff(x) < 0.0) or not len(pieces):
        return None
    breaks = np.ascontiguousarray(np.append(x[pieces], x[-1]), dtype=np.float64)
    return Piecewise(breaks, np.ascontiguousarray(c[:, pieces], dtype=np.float64), periodic)


def guides_of(
    motions: Mapping[int, tuple[int, Callable[[float], Array], Any]], slots: Mapping[int, int]
) -> list[Guide]:
    """The guides of prescribed dofs: by number the place of the coordinate, the function of time, and the motion as the
    user gave it. `slots` has those of the plan of components, by dof."""
    guides = []
    for dof, (place, function, motion) in sorted(motions.items()):
        if dof in slots:
            guides.append(Guide(dof, place, -1, COMPONENT, slot=slots[dof]))
        elif (curve := piecewise_of(motion)) is not None:
            guides.append(Guide(dof, place, -1, PIECEWISE, curve=curve))
        else:
            guides.append(Guide(dof, place, -1, NUMBERS, function=function))
    return guides
