"""Charts of parameters: free numbers without units for a search; all of them give parameters that a body can have.

A parameter is its value over its size in the model. The six moments and the ten inertial parameters of a body are the
Cholesky factor of their pseudo-inertia, with the logarithms of the diagonal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from soacraft.analysis.parametric.derivatives import sizes_of
from soacraft.analysis.parametric.physical import (
    from_log_cholesky,
    log_cholesky,
    pseudo_inertia,
    ten_of_pseudo,
    unit_matrix,
)
from soacraft.analysis.parametric.vocabulary import Found, read_parameters, values_of
from soacraft.errors import ModelError, StateError
from soacraft.model.sizes.scale import scale_of
from soacraft.spatial.checks import Array

#: Kinds whose numbers stay physical together, in a chart of their own.
_WHOLE = {"moment": 6, "inertia": 10}
_LEAST = 1e-9  # of the model's mass: what a mass stays above


class Chart(NamedTuple):
    """Some of the parameters, and their values as a function of as many free numbers, with the derivatives."""

    where: slice
    values: Callable[[Array], tuple[Array, Array]]
    start: Array


def charts_of(graph: Any, parameters: Found) -> list[Chart]:
    """The charts of parameters, in their order; refused are parts of what stays physical as a whole."""
    charts, i = [], 0
    sizes, x0 = sizes_of(graph, parameters), values_of(parameters)
    mass = sum(body.inertia.mass for body in graph.bodies) / max(len(graph), 1) or 1.0
    while i < len(parameters):
        x = parameters[i]
        count = _WHOLE.get(x.kind, 1)
        part = parameters[i : i + count]
        if count > 1 and [y.number for y in part if y.owner is x.owner and y.kind == x.kind] != list(range(count)):
            raise ModelError(
                f"optimize: {x.name!r} alone could make an inertia that no body has; give all of "
                f"'{x.owner.name}.{x.kind}'."
            )
        numbers = slice(i, i + count)
        if count == 1:
            charts.append(_scaled(numbers, sizes[i], x0[i]))
        else:
            charts.append(_cholesky(numbers, x, unit_matrix(mass, scale_of(graph).length)))
        i += count
    return charts


def _scaled(numbers: slice, size: float, x0: float) -> Chart:
    size = max(size, abs(x0))
    return Chart(numbers, lambda z: (size * z, np.array([[size]])), np.array([x0 / size]))


def _cholesky(numbers: slice, x: Any, D: Array) -> Chart:
    """Log-Cholesky of the pseudo-inertia; for the moment alone of the one about the centre of mass, of unit mass."""
    moment = x.kind == "moment"
    keep = np.arange(6) if moment else np.arange(10)  # the first rows of L are of the second moments alone
    pi = np.zeros(10)
    if moment:
        pi[0], pi[4:] = D[3] ** 2, x.owner.inertia.moment[np.triu_indices(3)]
    else:
        pi = values_of(tuple(x._replace(number=i) for i in range(10)))
    scale = np.outer(D, D)
    try:
        z0 = log_cholesky(pseudo_inertia(pi) / scale)
    except np.linalg.LinAlgError:
        raise ModelError(
            f"optimize: {x.kind} of {x.owner.name!r} is at the edge of the inertias that a body can have "
            f"({x.owner.inertia!r}); start from a solid body, with a moment in all directions."
        ) from None

    def values(z: Array) -> tuple[Array, Array]:
        full = z0.copy()
        full[keep] = z
        P, dP = from_log_cholesky(full)
        ten, slopes = ten_of_pseudo(P * scale), np.array([ten_of_pseudo(d * scale) for d in dP[keep]]).T
        return (ten[4:], slopes[4:]) if moment else (ten, slopes)

    return Chart(numbers, values, z0[keep])


def bounds_of(graph: Any, parameters: Found, bounds: Any) -> tuple[Array, Array]:
    """The bounds of the parameters: those given, and those of nature."""
    low, high = np.full(len(parameters), -np.inf), np.full(len(parameters), np.inf)
    mass = sum(body.inertia.mass for body in graph.bodies) or 1.0
    for i, x in enumerate(parameters):
        if x.kind in ("mass", "armature"):
            low[i] = _LEAST * mass if x.kind == "mass" else 0.0
    if bounds is None:
        return low, high
    if not isinstance(bounds, Mapping):
        raise StateError(f"bounds of optimize are {{name: (low, high)}}, got {bounds!r:.60}.")
    index = {(x.kind, id(x.owner), x.number): i for i, x in enumerate(parameters)}
    for name, pair in bounds.items():
        for x in read_parameters("bounds of optimize", graph, name):
            at = index.get((x.kind, id(x.owner), x.number))
            if at is None:
                names = ", ".join(y.name for y in parameters)
                raise ModelError(f"bounds of optimize: {x.name!r} is none of the parameters {names}.")
            if x.kind in _WHOLE:
                raise ModelError(
                    f"bounds of optimize: {name!r} stays physical by itself and takes no bounds; bound mass and com."
                )
            a, b = _pair(name, pair)
            low[at], high[at] = max(low[at], a), min(high[at], b)
            if not low[at] < high[at]:
                raise StateError(
                    f"bounds of optimize: {name!r} has no room between {low[at]:g} and {high[at]:g}."
                )
            value = values_of((x,))[0]
            if not low[at] <= value <= high[at]:
                raise StateError(
                    f"bounds of optimize: the model's {x.name} = {value:g} is outside of {low[at]:g} to {high[at]:g}; "
                    "set it to a value between."
                )
    return low, high


def _pair(name: str, pair: Any) -> tuple[float, float]:
    try:
        a, b = pair
        ends = [-np.inf if a is None else float(a), np.inf if b is None else float(b)]
    except (TypeError, ValueError):
        ends = [np.nan]
    if len(ends) != 2 or np.isnan(ends).any():
        raise StateError(f"bounds of optimize: {name!r} needs (low, high), got {pair!r:.60}.")
    return ends[0], ends[1]
