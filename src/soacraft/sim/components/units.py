"""Units as text: a scale and the exponents of metre, kilogram, second, ampere, kelvin, mole, candela and radian.

    unit   = term { "/" one }          "N m/A", "m/s^2", "kg m^2", "N m/(rad/s)", "1/s", "rpm", "" for a bare number
    term   = one { (" " | "*") one }
    one    = (name | "1" | "(" unit ")") [ "^" whole number ]

Angles have an exponent of their own, so that Hz and rad/s are not taken for each other. After "/" comes one name or a
group in parentheses; a further name behind it would be read in two ways and is refused.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import NamedTuple

from soacraft.errors import WiringError, near

_ZERO = (0,) * 8
_BASE = ("m", "kg", "s", "A", "K", "mol", "cd", "rad")


class Dimension(NamedTuple):
    """Factor from a unit to SI units, and the powers of the base units."""

    scale: float
    exponents: tuple[int, ...]

    def times(self, other: Dimension, power: int = 1) -> Dimension:
        """The product with a power of another one."""
        exponents = tuple(a + power * b for a, b in zip(self.exponents, other.exponents, strict=True))
        return Dimension(self.scale * other.scale**power, exponents)


def base_units(dimension: Dimension) -> dict[str, int]:
    """Powers {name: power} of the base units of a dimension, without those that are zero.

    >>> base_units(read_unit("N m/rad"))
    {'m': 2, 'kg': 1, 's': -2, 'rad': -1}
    """
    return {name: power for name, power in zip(_BASE, dimension.exponents, strict=True) if power}


def _base(name: str) -> Dimension:
    return Dimension(1.0, tuple(int(x == name) for x in _BASE))


ONE = Dimension(1.0, _ZERO)
_NAMES: dict[str, Dimension] = {name: _base(name) for name in _BASE}


def _define(name: str, of: str, scale: float = 1.0) -> None:
    _NAMES[name] = Dimension(scale, ONE.exponents).times(_read(of))


#: Prefixes, and the names that take them.
_PREFIXES = {"G": 1e9, "M": 1e6, "k": 1e3, "c": 1e-2, "m": 1e-3, "u": 1e-6, "n": 1e-9}
_TAKES = "m g s A K mol Hz N Pa J W C V ohm F H Wb T rad".split()


def read_unit(text: str) -> Dimension:
    """The scale and the exponents of a unit.

    >>> read_unit("rpm").scale == 2 * math.pi / 60, read_unit("rpm").exponents == read_unit("rad/s").exponents
    (True, True)
    >>> read_unit("Nm")
    Traceback (most recent call last):
    soacraft.errors.WiringError: 'Nm' is no unit that is known: 'Nm'; did you mean 'm' or 'N' or 'um'? Names are
    separated by blanks, as in 'N m/A'.
    """
    if not isinstance(text, str):
        raise WiringError(f"a unit is a text such as 'N m/A', got {text!r:.60}.")
    return _read(text)


@lru_cache(maxsize=1024)
def _read(text: str) -> Dimension:
    tokens = re.findall(r"[A-Za-z]+|\d+|\S|\s+", text.strip())
    if len(tokens) > 60:
        raise WiringError(f"a unit is a short text such as 'N m/A', got {text!r:.60}.")
    dimension, end = _product(tokens, 0, text)
    if end < len(tokens):
        raise _unreadable(text, tokens[end])
    return dimension


def _product(tokens: list[str], at: int, text: str) -> tuple[Dimension, int]:
    total, divided = ONE, False
    if at >= len(tokens):
        return total, at
    total, at = _one(tokens, at, text)
    while at < len(tokens) and tokens[at] != ")":
        sign = tokens[at].strip()
        if sign not in ("", "*", "/"):
            raise _unreadable(text, sign)
        after = at + 1
        while after < len(tokens) and not tokens[after].strip():
            after += 1
        if not sign and after < len(tokens) and tokens[after] in "/*":  # blanks around a sign
            at = after
            continue
        factor, at = _one(tokens, after, text)
        if sign != "/" and divided:
            raise WiringError(
                f"the unit {text!r:.60} can be read in two ways: put what divides in parentheses, as 'N m/(A s)', or "
                "what multiplies before the '/'."
            )
        divided = divided or sign == "/"
        total = total.times(factor, -1 if sign == "/" else 1)
    return total, at


def _one(tokens: list[str], at: int, text: str) -> tuple[Dimension, int]:
    if at >= len(tokens):
        raise _unreadable(text, "its end")
    token = tokens[at]
    if token == "(":
        one, at = _product(tokens, at + 1, text)
        if at >= len(tokens):
            raise WiringError(f"the unit {text!r:.60} lacks a ')'.")
    elif token == "1":
        one = ONE
    elif token.isalpha():
        one = _name(token, text)
    else:
        raise _unreadable(text, token)
    at += 1
    if at < len(tokens) and tokens[at] == "^":
        sign = -1 if at + 1 < len(tokens) and tokens[at + 1] == "-" else 1
        at += 1 if sign > 0 else 2
        if at >= len(tokens) or not tokens[at].isdigit() or int(tokens[at]) > 9:
            raise WiringError(f"the unit {text!r:.60} has a '^' without a whole number up to 9 behind it.")
        one, at = ONE.times(one, sign * int(tokens[at])), at + 1
    return one, at


def _name(name: str, text: str) -> Dimension:
    if name in _NAMES:
        return _NAMES[name]
    if name[:1] in _PREFIXES and name[1:] in _TAKES:
        return Dimension(_PREFIXES[name[0]], _ZERO).times(_NAMES[name[1:]])
    units = [*_NAMES, *(p + x for p in _PREFIXES for x in _TAKES)]
    raise WiringError(
        f"{text!r:.60} is no unit that is known: {name!r:.40}{near(name, units)} Names are separated by blanks, as in "
        "'N m/A'."
    )


def _unreadable(text: str, at: str) -> WiringError:
    return WiringError(f"the unit {text!r:.60} cannot be read at {at!r:.20}: write it as 'N m/A', 'm/s^2' or 'rpm'.")


for _symbol, _of, _size in (
    ("g", "kg", 1e-3),
    ("Hz", "1/s", 1.0),
    ("N", "kg m/s^2", 1.0),
    ("Pa", "N/m^2", 1.0),
    ("J", "N m", 1.0),
    ("W", "J/s", 1.0),
    ("C", "A s", 1.0),
    ("V", "W/A", 1.0),
    ("ohm", "V/A", 1.0),
    ("F", "C/V", 1.0),
    ("Wb", "V s", 1.0),
    ("T", "Wb/m^2", 1.0),
    ("H", "Wb/A", 1.0),
    ("deg", "rad", math.pi / 180),
    ("rev", "rad", 2 * math.pi),
    ("rpm", "rad/s", 2 * math.pi / 60),
    ("min", "s", 60.0),
    ("h", "s", 3600.0),
    ("bar", "Pa", 1e5),
):
    _define(_symbol, _of, _size)
