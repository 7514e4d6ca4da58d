"""Laws given by a table: a curve through points, with its slope and its integral.

    linear    straight from point to point
    cubic     monotone between the points (Fritsch and Carlson, SIAM J. Numer. Anal. 17, 1980): no wave that the table
              does not have; its slope is continuous

Beyond the first and the last point a curve goes on straight with its slope there. The integral is exact; it is zero
where the curve is first zero between its points, or at the first point.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from soacraft.errors import ModelError
from soacraft.spatial.checks import Array, finite, frozen

KINDS = ("cubic", "linear")


class Curve:
    """A function of one number through points (x, y), x growing. O(log n) for a number.

    In place of a stiffness it gives the force of a spring at its length (N over m) or of a tendon at its sum of
    coordinates, in place of a damping the force over the rate. `kind` is "cubic", monotone between the points, or
    "linear"; beyond the points it goes on straight.

    >>> from soacraft.model import Curve
    >>> f = Curve([0.0, 1.0, 2.0], [0.0, 10.0, 40.0], kind="linear")
    >>> float(f(1.5)), float(f.slope(1.5)), float(f.integral(1.0)), float(f(3.0))
    (25.0, 30.0, 5.0, 70.0)
    """

    fields = ("x", "y", "kind")

    def __init__(self, x: npt.ArrayLike, y: npt.ArrayLike, kind: str = "cubic") -> None:
        if not isinstance(kind, str) or kind not in KINDS:
            raise ModelError(f"a curve is 'cubic' or 'linear' between its points, got kind={kind!r:.40}.")
        self._x, self._y = (frozen(finite(given, (...,), f"{name} of a curve")) for given, name in ((x, "x"), (y, "y")))
        self._kind: Literal["cubic", "linear"] = "linear" if kind == "linear" else "cubic"
        if self.x.ndim != 1 or self.x.shape != self.y.shape or self.x.size < 2:
            raise ModelError(
                f"a curve goes through two points or more, as many x as y; got {self.x.shape} and {self.y.shape}."
            )
        rising = np.diff(self.x) > 0.0
        if not rising.all():
            i = int(np.argmin(rising))
            x = self.x[i : i + 2]
            raise ModelError(f"x of a curve must grow from point to point, got {x[0]:g} and then {x[1]:g}.")
        if not np.isfinite(self.pieces).all():
            raise ModelError("a curve through these points overflows; give x and y in units nearer to 1.")

    @property
    def x(self) -> Array:
        """Abscissae of the points, increasing."""
        return self._x

    @property
    def y(self) -> Array:
        """Values at the points."""
        return self._y

    @property
    def kind(self) -> Literal["cubic", "linear"]:
        """Interpolation between the points."""
        return self._kind

    def __repr__(self) -> str:
        first, last = (f"({self.x[i]:g}, {self.y[i]:g})" for i in (0, -1))
        return f"{self.kind} curve of {self.x.size} points from {first} to {last}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Curve):
            return NotImplemented
        return self.kind == other.kind and np.array_equal(self.x, other.x) and np.array_equal(self.y, other.y)

    def __hash__(self) -> int:
        return hash((self.kind, self.x.tobytes(), self.y.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Curve, (self.x, self.y, self.kind)

    def __call__(self, x: npt.ArrayLike) -> Array:
        """y at x."""
        return value(self.pieces, finite(x, (...,), "where a curve is asked for"))

    def slope(self, x: npt.ArrayLike) -> Array:
        """dy/dx at x; at a corner that of the piece above."""
        return slope(self.pieces, finite(x, (...,), "where the slope of a curve is asked for"))

    def integral(self, x: npt.ArrayLike) -> Array:
        """The integral of y up to x, of a spring its energy."""
        return integral(self.pieces, finite(x, (...,), "where the integral of a curve is asked for"))

    @cached_property
    def pieces(self) -> Array:
        """Rows x, c0 to c3, integral: from x on the curve is c0 + c1 s + c2 s^2 + c3 s^3, s from x; the first row holds
        below. (n + 1, 6)"""
        with np.errstate(all="ignore"):
            x, y, h = self.x, self.y, np.diff(self.x)
            chord = np.diff(y) / h
            if self.kind == "linear":
                low, high = chord, chord
                inner = np.stack([y[:-1], chord, 0.0 * h, 0.0 * h], axis=1)
            else:
                m = _monotone_slopes(h, chord)
                low, high = m[:-1], m[1:]
                second = (3.0 * chord - 2.0 * low - high) / h
                inner = np.stack([y[:-1], low, second, (low + high - 2.0 * chord) / h**2], axis=1)
            below, above = [y[0], low[0], 0.0, 0.0], [y[-1], high[-1], 0.0, 0.0]
            c = np.concatenate([[below], inner, [above]])
            area = h * (inner[:, 0] + h * (inner[:, 1] / 2 + h * (inner[:, 2] / 3 + h * inner[:, 3] / 4)))
            at = np.concatenate([[0.0, 0.0], np.cumsum(area)])
            whole = np.column_stack([np.concatenate([x[:1], x]), c, at])
            whole[:, 5] -= integral(whole, _zero(self, whole))
        return frozen(whole)


def _on(pieces: Array, x: Array | float) -> tuple[Array, Array, Array]:
    """The coefficients of the pieces that x is on, s, and the integrals where they begin."""
    row = pieces[np.searchsorted(pieces[1:, 0], x, side="right")]
    return np.moveaxis(row[..., 1:5], -1, 0), x - row[..., 0], row[..., 5]


def value(pieces: Array, x: Array | float) -> Array:
    """The curve at any x, also one that overflowed; `Curve.pieces` are its pieces."""
    (c0, c1, c2, c3), s, _ = _on(pieces, x)
    return np.asarray(c0 + s * (c1 + s * (c2 + s * c3)))


def slope(pieces: Array, x: Array | float) -> Array:
    """Slope of the curve; at a corner that of the piece above."""
    (_, c1, c2, c3), s, _ = _on(pieces, x)
    return np.asarray(c1 + s * (2.0 * c2 + s * 3.0 * c3))


def integral(pieces: Array, x: Array | float) -> Array:
    """Integral of the curve."""
    (c0, c1, c2, c3), s, before = _on(pieces, x)
    return np.asarray(before + s * (c0 + s * (0.5 * c1 + s * (c2 / 3.0 + s * 0.25 * c3))))


def _monotone_slopes(h: Array, chord: Array) -> Array:
    """Slopes at the points with which a cubic between any two is monotone: inside, zero where the chords change their
    sign, else their weighted harmonic mean (Fritsch and Butland); at the ends by three points, within what is monotone.
    """
    if h.size == 1:
        return np.repeat(chord, 2)
    a, b = 2.0 * h[1:] + h[:-1], h[1:] + 2.0 * h[:-1]
    same = chord[:-1] * chord[1:] > 0.0
    inside = np.zeros(h.size - 1)
    inside[same] = (a + b)[same] / (a / chord[:-1] + b / chord[1:])[same]
    ends = [_end_slope(*h[:2], *chord[:2]), _end_slope(*h[:-3:-1], *chord[:-3:-1])]
    return np.concatenate([ends[:1], inside, ends[1:]])


def _end_slope(h0: float, h1: float, chord0: float, chord1: float) -> float:
    slope = ((2.0 * h0 + h1) * chord0 - h0 * chord1) / (h0 + h1)
    if slope * chord0 <= 0.0:
        return 0.0
    return 3.0 * chord0 if chord0 * chord1 < 0.0 and abs(slope) > 3.0 * abs(chord0) else float(slope)


def _zero(curve: Curve, pieces: Array) -> float:
    """The first x between the points where the curve is zero; the first point where it is not."""
    y = curve.y
    for i in range(y.size):
        if y[i] == 0.0:
            return float(curve.x[i])
        if i + 1 < y.size and y[i] * y[i + 1] < 0.0:
            low, high = 0.0, float(curve.x[i + 1] - curve.x[i])
            _, c0, c1, c2, c3, _ = pieces[i + 1]
            while True:  # halves until the numbers are next to each other
                s = 0.5 * (low + high)
                if s in (low, high):
                    return float(curve.x[i] + s)
                if (c0 + s * (c1 + s * (c2 + s * c3)) > 0.0) == (y[i] > 0.0):
                    low = s
                else:
                    high = s
    return float(curve.x[0])
