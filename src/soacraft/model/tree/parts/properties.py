"""Parameters of a hinge other than its motion: limits, and springs, dampers and friction."""

from __future__ import annotations

from functools import cache
from math import inf, isnan
from typing import Any

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.hinges.base import Hinge, normalize_of
from soacraft.model.tree.parts.records import read_numbers
from soacraft.spatial.checks import Array, finite, frozen, number_text


class _PerDof:
    """Numbers by dof, read-only; a single number is used for all dofs of the hinge."""

    __slots__ = ()
    fields: tuple[str, ...]

    def __setattr__(self, name: str, value: Any) -> None:
        kind = type(self).__name__
        raise ModelError(f"{kind} cannot be changed; set a new one on the body, such as {kind}({self.fields[0]}=...).")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(_same(getattr(self, x), getattr(other, x)) for x in self.fields)

    def __hash__(self) -> int:
        numbers = (getattr(self, x) for x in self.fields)
        return hash((type(self), *(None if x is None else (x + 0.0).tobytes() for x in numbers)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, x) for x in self.fields)

    def __repr__(self) -> str:
        given = {name: getattr(self, name) for name in self.fields}
        shown = ", ".join(f"{name}={_text(x)}" for name, x in given.items() if x is not None and _worth(name, x))
        return f"{type(self).__name__}({shown})"


class Limits(_PerDof):
    """Bounds of a hinge, by dof: `lower`, `upper` of the coordinate, `velocity` and `effort` as magnitudes.

    Infinite where there is none. For a spherical hinge `upper` is the largest angle of rotation. Kept, not enforced.

    >>> Limits(lower=-1.5, upper=1.5, effort=87)
    Limits(lower=-1.5, upper=1.5, effort=87)
    """

    __slots__ = ("effort", "lower", "upper", "velocity")
    fields = ("lower", "upper", "velocity", "effort")
    lower: Array
    upper: Array
    velocity: Array
    effort: Array

    def __init__(self, lower: Any = -np.inf, upper: Any = np.inf, velocity: Any = np.inf, effort: Any = np.inf) -> None:
        for name, given in zip(self.fields, (lower, upper, velocity, effort), strict=True):
            object.__setattr__(self, name, _bounds(given, name))

    @classmethod
    def of_one_dof(cls, lower: float, upper: float, velocity: float, effort: float) -> Limits:
        """The limits of a hinge with one dof, from numbers known not to be NaN.

        >>> Limits.of_one_dof(-1.5, 1.5, np.inf, 87.0).effort
        array([87.])
        """
        limits = object.__new__(Limits)
        numbers = frozen(np.array((lower, upper, velocity, effort)))
        for k, name in enumerate(cls.fields):
            object.__setattr__(limits, name, numbers[k : k + 1])
        return limits

    def sized(self, hinge: Hinge, what: str) -> Limits:
        """Limits with one entry for each dof."""
        one_each = (hinge.nv,)
        if self.lower.shape == self.upper.shape == self.velocity.shape == self.effort.shape == one_each:
            return self
        sized = object.__new__(Limits)
        for name in self.fields:
            x = _by_dof(getattr(self, name), hinge.nv, name, "the limits of ", what)
            object.__setattr__(sized, name, x)
        return sized


class Passive(_PerDof):
    """Springs, dampers and dry friction in a hinge, by dof.

        force = -stiffness (q - rest) - damping v

    `rest` (nq) is where the springs are relaxed, by default the neutral coordinates; q - rest is a rotation vector for
    a spherical hinge. Springs and dampers act in all dynamics, unless `passive=False`. Dry friction is kept and does
    not act by itself; `sim.HingeFriction` and `robot.friction` take it from here:

        friction + (static - friction) exp(-(v / stribeck_speed)^2)                                       (Stribeck)

    `static` is the friction that holds a dof at rest, at least `friction`, and zero where it is no more than that;
    `stribeck_speed`, in rad/s or m/s, is the speed at which the difference is gone, and zero by default.

    >>> Passive(stiffness=10.0, damping=0.5)
    Passive(stiffness=10, damping=0.5)
    >>> Passive(friction=1.0, static=1.5, stribeck_speed=0.1)
    Passive(friction=1, static=1.5, stribeck_speed=0.1)
    """

    __slots__ = ("_lines", "damping", "friction", "rest", "static", "stiffness", "stribeck_speed")
    fields = ("stiffness", "damping", "friction", "rest", "static", "stribeck_speed")
    by_dof = ("stiffness", "damping", "friction", "static", "stribeck_speed")
    _lines: bytes
    stiffness: Array
    damping: Array
    friction: Array
    rest: Array | None
    static: Array
    stribeck_speed: Array

    def __init__(
        self,
        stiffness: Any = 0.0,
        damping: Any = 0.0,
        friction: Any = 0.0,
        rest: Any = None,
        static: Any = None,
        stribeck_speed: Any = None,
    ) -> None:
        told = zip(self.by_dof, (stiffness, damping, friction, static, stribeck_speed), strict=True)
        for name, given in told:
            if given is None and name in ("static", "stribeck_speed"):  # as many zeros as there are frictions
                given = np.zeros(self.friction.shape)
            x = finite(given, _shape(given), f"{name} of a hinge")
            if name in ("static", "stribeck_speed") and (x < 0.0).any():
                raise ModelError(f"{name} of a hinge must not be negative, got {_text(x)}.")
            object.__setattr__(self, name, frozen(x))
        at = None if rest is None else frozen(read_numbers(rest, "rest of a hinge"))
        object.__setattr__(self, "rest", at)

    def sized(self, hinge: Hinge, what: str) -> Passive:
        """Parameters with one entry for each dof."""
        stiffness, damping, friction, static, speed = (
            _by_dof(getattr(self, name), hinge.nv, name, "", what) for name in self.by_dof
        )
        for held, dry in zip(static.tolist(), friction.tolist(), strict=True):
            if 0.0 < held < dry:
                raise ModelError(
                    f"static friction of {what} is {held:g}, less than its dry friction, {dry:g}; leave it out where "
                    "it is no more."
                )
        if self.rest is not None and self.rest.shape != (hinge.nq,):
            raise ModelError(f"rest of {what} needs {hinge.nq} coordinates, got {self.rest.size}.")
        rest = None if self.rest is None else normalize_of(hinge, self.rest, f"rest of {what}")
        return Passive(stiffness, damping, friction, rest, static, speed)

    @property
    def acts(self) -> bool:
        """True if there is a spring or a damper."""
        return bool(self.lines)

    @property
    def lines(self) -> bytes:
        """Stiffness, damping and rest of each dof, of a hinge whose neutral coordinates are zero, as bytes of these
        numbers; empty where there is no spring and no damper. Made once: tables of models are joined of them.

        >>> np.frombuffer(Passive([10.0], [0.5], [0.0]).lines), Passive([0.0], [0.0], [2.0]).lines
        (array([10. ,  0.5,  0. ]), b'')
        """
        try:
            return self._lines
        except AttributeError:
            k, d, rest = self.stiffness, self.damping, np.zeros(self.stiffness.size)
            if self.rest is not None:
                rest[: self.rest.size] = self.rest[: k.size]
            made = np.stack([k, d, rest], axis=1).tobytes() if k.any() or d.any() else b""
            object.__setattr__(self, "_lines", made)
            return made


@cache
def no_limits(nv: int) -> Limits:
    """No bounds on so many dofs."""
    endless = np.full(nv, np.inf)
    return Limits(-endless, endless, endless, endless)


@cache
def no_passive(nv: int) -> Passive:
    """No springs, dampers or friction on so many dofs."""
    zero = np.zeros(nv)
    return Passive(zero, zero, zero, None, zero, zero)


def read_armature(given: Any, hinge: Hinge, what: str) -> Array | None:
    """Rotor inertias by dof (nv), not negative; None when all are zero."""
    if type(given) is float and 0.0 < given < inf and hinge.nv:  # at once: it may change at every step
        return frozen(np.full(hinge.nv, given))
    J = _by_dof(finite(given, _shape(given), f"the armature of {what}"), hinge.nv, "the armature", "", what)
    numbers = J.tolist()
    if min(numbers, default=0.0) < 0.0:
        raise ModelError(f"the armature of {what} must not be negative, got {number_text(J)}.")
    return J if any(numbers) else None


def _shape(given: Any) -> tuple[Any, ...]:
    several = isinstance(given, list | tuple) or getattr(given, "ndim", 0) > 0
    return (None,) if several else ()


def _bounds(given: Any, name: str) -> Array:
    if type(given) is float and not isnan(given):
        return frozen(np.array(given))
    try:
        x = np.array(given)
    except ValueError:  # ragged
        x = np.array(None)
    if x.dtype.kind not in "iuf":
        raise ModelError(f"{name} of Limits must be numbers, got {given!r:.60}.")
    x = x.astype(np.float64)
    if x.ndim > 1 or np.isnan(x).any():
        raise ModelError(f"{name} of Limits must be a number or one for each dof, not NaN; got {given!r:.60}.")
    return frozen(x)


def _by_dof(x: Array, nv: int, name: str, part: str, what: str) -> Array:
    """Read-only numbers, one for each dof; an error names x as "`name` of `part` `what`"."""
    if x.shape == (nv,):
        return frozen(x)
    if x.ndim:
        raise ModelError(f"{name} of {part}{what} needs one number, or {nv} for its dofs; got {x.size}.")
    return frozen(x.reshape(1) if nv == 1 else np.full(nv, x))


def _same(x: Any, y: Any) -> bool:
    return x is y or (x is not None and y is not None and np.array_equal(x, y))


def _worth(name: str, x: Array) -> bool:
    usual = {"lower": -np.inf, "upper": np.inf, "velocity": np.inf, "effort": np.inf}.get(name, 0.0)
    return name == "rest" or bool((x != usual).any())


def _text(x: Array) -> str:
    return str(x.tolist()) if not np.isfinite(x).all() else number_text(x)
