"""Law of the tension of a spring or tendon: numbers or curves, and its slack range (see `model.flat.laws`)."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.tree.parts.curves import Curve
from soacraft.spatial.checks import finite


class HasLaw(Protocol):
    """A spring or a tendon."""

    @property
    def stiffness(self) -> float | Curve: ...
    @property
    def damping(self) -> float | Curve: ...
    @property
    def rest(self) -> tuple[float, float]: ...


def make_law(
    what: str, stiffness: Any, damping: Any, rest: Any, word: str
) -> tuple[float | Curve, float | Curve, tuple[float, float]]:
    """Stiffness, damping and the range in which it is slack, checked; `word` is the name of the range."""
    given = finite(rest, (...,), f"the {word} of {what}")
    low, high = np.broadcast_to(finite(given, (2,) if given.ndim else (), f"the {word} of {what}"), (2,))
    if low > high:
        raise ModelError(f"the {word} of {what} goes from {low:g} up to {high:g}: give the lower end first.")
    k, d = _number(stiffness, f"the stiffness of {what}"), _number(damping, f"the damping of {what}")
    if isinstance(k, Curve) and (low, high) != (0.0, 0.0):
        raise ModelError(
            f"{what} has a curve for its stiffness, which says its force everywhere: its {word} {low:g} to {high:g} "
            "would change nothing. Leave it out, and let the curve be zero where it is slack."
        )
    return k, d, (float(low) + 0.0, float(high) + 0.0)


def _number(given: Any, what: str) -> float | Curve:
    return given if isinstance(given, Curve) else float(finite(given, (), what)) + 0.0  # no negative zeros


def law_text(x: HasLaw, unit: str = "") -> str:
    """The law in words."""
    low, high = x.rest
    rest = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    stiffness = repr(x.stiffness) if isinstance(x.stiffness, Curve) else f"{x.stiffness:g} from {rest}{unit}"
    damping = repr(x.damping) if isinstance(x.damping, Curve) else f"{x.damping:g}"
    return f"stiffness {stiffness}, damping {damping}"
