"""The tension of a spring and a damper along a length, by numbers or by curves; batches at once.

    tension = stiffness (L - rest) + damping Ldot,   slack in the range `rest`,   energy stiffness (L - rest)^2 / 2
    tension = f(L) + g(Ldot),                        energy the integral of f,    where curves are given for them
"""

from __future__ import annotations

import numpy as np

from soacraft.model.tree.parts import curves
from soacraft.model.tree.parts.curves import Curve
from soacraft.model.tree.parts.springs import Spring
from soacraft.model.tree.parts.tendons import Tendon
from soacraft.spatial.checks import Array


def elastic(x: Spring | Tendon, length: Array) -> Array:
    """The part of the spring."""
    if isinstance(x.stiffness, Curve):
        return curves.value(x.stiffness.pieces, length)
    return np.asarray(x.stiffness * (length - np.clip(length, *x.rest)))


def tension(x: Spring | Tendon, length: Array, rate: Array) -> Array:
    """All of it."""
    damping = curves.value(x.damping.pieces, rate) if isinstance(x.damping, Curve) else x.damping * rate
    return np.asarray(elastic(x, length) + damping)


def energy(x: Spring | Tendon, length: Array) -> Array:
    """Energy stored in the spring."""
    if isinstance(x.stiffness, Curve):
        return curves.integral(x.stiffness.pieces, length)
    return np.asarray(0.5 * x.stiffness * (length - np.clip(length, *x.rest)) ** 2)


def slopes(x: Spring | Tendon, length: Array, rate: Array) -> tuple[Array, Array]:
    """d(tension)/dL and d(tension)/dLdot."""
    low, high = x.rest
    taut = (length < low) | (length > high) | (low == high)
    k = curves.slope(x.stiffness.pieces, length) if isinstance(x.stiffness, Curve) else x.stiffness * taut
    d = curves.slope(x.damping.pieces, rate) if isinstance(x.damping, Curve) else x.damping + 0.0 * rate
    return np.asarray(k), np.asarray(d)
