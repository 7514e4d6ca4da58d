"""Colours of bodies, and of how far a closure is open; those of segments are `soacraft.cards.colours`."""

from __future__ import annotations

import colorsys
import math

from soacraft.cards.colours import GREY, hex_of, mixed, rgb, segment_colour

__all__ = ["CLOSED", "GREY", "OPEN", "body_colour", "hex_of", "mixed", "opening_colour", "rgb", "segment_colour"]

OPEN, CLOSED = "#d62728", "#2ca02c"
_WARNING = "#f2b134"


def body_colour(index: int) -> str:
    """A colour for a body that has none: hues a golden section apart, so that neighbours differ."""
    return hex_of(*colorsys.hls_to_rgb((0.58 + 0.618034 * index) % 1.0, 0.55, 0.42))


def opening_colour(opening: float, tolerance: float) -> str:
    """Green where a closure is met, from yellow to red by how far it is open: red from a radian, or a part of one of
    the length of its loop, on. By powers of ten, and without a unit.

    >>> opening_colour(0.0, 1e-6), opening_colour(1.0, 1e-6)
    ('#2ca02c', '#d62728')
    """
    if opening <= tolerance:
        return CLOSED
    if not opening < 1.0:
        return OPEN
    return mixed(OPEN, _WARNING, math.log(opening) / math.log(tolerance))
