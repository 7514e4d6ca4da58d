"""Refusals before MuJoCo sees a file: numbers that are not finite, code, and counts that would fill the memory."""

from __future__ import annotations

import math

from soacraft.files.xml_tree import Element, fail, shorten

MAX_COPIES = 20_000
MAX_COST = 80_000
_DRIVES = "general motor position velocity intvelocity damper cylinder muscle adhesion dcmotor pid orientation".split()
COSTS = {
    "body": 4, "body/joint": 4, "body/freejoint": 24, "keyframe/key": 40, "default": 16,
    **{f"equality/{tag}": 20 for tag in ("connect", "weld", "joint", "tendon")},
    **{f"actuator/{tag}": 2 for tag in _DRIVES},
}  # of time and memory; others cost 1  # fmt: skip
MAX_STATES_OF_BODIES = 100_000
MAX_RESOLUTION = 256
MAX_STATES = 1000
MAX_NAME = 1000
MAX_TEXT = 24 * 2**20
MAX_NUMBERS = 8 * 2**20

_NOT_NEGATIVE = ("mass", "density", "diaginertia")

# attributes that hold names or texts, where "nan" or "inf" is no number
_TEXTS = frozenset(
    """name class childclass model file joint joint1 joint2 body body1 body2 geom geom1 geom2 site site1 site2 tendon
    tendon1 tendon2 mesh hfield material texture prefix frame target cranksite slidersite refsite sidesite camera
    actuator objname refname data assetdir meshdir texturedir content_type flex element key value instance plugin"""
    .split()
)  # fmt: skip


def require_numbers(element: Element, attribute: str, text: str) -> None:
    """Refuse NaN and infinity where numbers are expected, negative masses, and texts of endless length."""
    if attribute in _TEXTS:
        if len(text) > MAX_NAME and attribute != "data":
            raise fail(element, f"{attribute} has {len(text)} characters, more than {MAX_NAME}.")
        return
    if len(text) > MAX_NUMBERS:
        raise fail(element, f"{attribute} has {len(text)} characters, more than {MAX_NUMBERS}.")
    for part in text.split():
        try:
            value = float(part)
        except ValueError:
            return
        if not math.isfinite(value):
            raise fail(element, f'{attribute}="{shorten(text)}" must be finite numbers, got {shorten(part)!r}.')
        if value < 0.0 and attribute in _NOT_NEGATIVE:  # MuJoCo takes zero for it on a body that cannot move
            raise fail(element, f'{attribute}="{shorten(text)}" must not be negative.')


def refuse_plugin(element: Element, walk: object) -> None:
    """Plugins are code."""
    raise fail(element, "plugins are programs and are not loaded; take the element out.")


def bounded(element: Element, attribute: str, most: int) -> None:
    """Refuse counts past a bound; a text that is no number is left to MuJoCo to refuse."""
    for part in element.attributes.get(attribute, "").split():
        try:
            value = float(part)
        except ValueError:
            return
        if not value <= most:
            raise fail(element, f'{attribute}="{shorten(element.attributes[attribute])}" is more than {most}.')


def count_of(element: Element) -> int:
    """Number of copies that <replicate> makes of its content, at least one."""
    bounded(element, "count", MAX_COPIES)
    try:
        return max(1, int(float(element.attributes.get("count", "1"))))
    except (ValueError, OverflowError):
        return 1
