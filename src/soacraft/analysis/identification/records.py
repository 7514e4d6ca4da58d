"""Records of q, v, vdot and force, condensed to one triangle for each row, which is all that a fit needs.

Along each dof j the force is linear in the parameters, force_j = Y_j x + rest_j + noise. The orthogonal factor of
[Y_j, force_j - rest_j] over all records leaves a triangle with the same sums of squares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from soacraft.analysis.parametric.derivatives import parameter_derivatives
from soacraft.analysis.parametric.vocabulary import Found, values_of
from soacraft.dynamics.forces import inverse_dynamics
from soacraft.errors import ModelError, StateError
from soacraft.model.states.coordinates import read_q, read_v
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array, shape_text

KEYS = ("q", "v", "vdot", "force")
_AT_ONCE = 2_000_000  # numbers of a part of the records


class Records(NamedTuple):
    """N states with the forces that were measured, (N, nq) and (N, nv)."""

    q: Array
    v: Array
    vdot: Array
    force: Array


class Condensed(NamedTuple):
    """Triangle [R_j, y_j] (c + 1, c + 1) for each row of forces; the number of states; the size of each row."""

    triangles: Array
    states: int
    sizes: Array


def read_records(g: Graph, records: Any) -> Records:
    """The records, their shapes checked; leading axes are all states."""
    if not isinstance(records, Mapping) or set(records) != set(KEYS):
        shown = sorted(map(str, records)) if isinstance(records, Mapping) else records
        wanted = "{'q': ..., 'v': ..., 'vdot': ..., 'force': ...}"
        raise StateError(f"records of identify are {wanted}, got {shown!r:.80}.")
    arrays = {"q": read_q(g, records["q"])} | {name: read_v(g, records[name], name) for name in KEYS[1:]}
    batch = arrays["force"].shape[:-1]
    for name, x in arrays.items():
        if x.shape[:-1] != batch or not batch:
            rows, other = shape_text(x.shape), shape_text(arrays["force"].shape)
            raise StateError(
                f"records of identify: {name} has the shape {rows}, force {other}; all have one row for each state."
            )
    flat = {name: x.reshape(-1, x.shape[-1]) for name, x in arrays.items()}
    if not len(flat["q"]):
        raise StateError("records of identify hold no states.")
    return Records(**flat)


def condensed(g: Graph, parameters: Found, records: Records, solver: Any, noise: Array | None) -> Condensed:
    """Condense records for a fit. In a closed chain with X(q), the forces are X* T along independent dofs, in which the
    closures have no part; with noise S in the dofs they are made white by the factor of X* S X.
    """
    rows = 1 if solver is not None else g.nv
    c = len(parameters)
    triangles, sums = np.zeros((rows, c + 1, c + 1)), np.zeros(rows)
    part = max(1, _AT_ONCE // max(1, len(g) * 24 * c))
    x = values_of(parameters)
    for start in range(0, len(records.q), part):
        q, v, vdot, force = (a[start : start + part] for a in records)
        Y = parameter_derivatives(g, "inverse_dynamics", list(names_of(parameters)), q, v, vdot, ignore_loops=True)
        rest = inverse_dynamics(g, q, v, vdot, ignore_loops=True) - Y @ x
        both = np.concatenate([Y, (force - rest)[..., None]], axis=-1)  # (N, nv, c + 1)
        if solver is not None:
            both = _projected(solver, q, both, noise)
            sums[0] += float(np.sum(both[..., -1] ** 2))
            both = both.reshape(-1, 1, c + 1)
        else:
            sums += np.sum(both[..., -1] ** 2, axis=0) + np.sum((Y @ x) ** 2, axis=0)  # zero is no size
        for j in range(rows):
            triangles[j] = np.linalg.qr(np.concatenate([triangles[j], both[:, j]]), mode="r")[: c + 1]
    states = len(records.q)
    return Condensed(triangles, states, np.sqrt(sums / states))


def names_of(parameters: Found) -> tuple[str, ...]:
    """The names of the parameters."""
    return tuple(x.name for x in parameters)


def _projected(solver: Any, q: Array, both: Array, noise: Array | None) -> Array:
    """X* of the rows, made white."""
    if noise is None:
        raise ModelError(
            "identify of a closed chain needs noise=, the standard deviation of the force along each dof: forces along "
            "independent dofs mix them."
        )
    X = np.asarray(solver.velocity_map(q))
    L = np.linalg.cholesky(X.mT @ (noise[:, None] ** 2 * X))
    return np.asarray(np.linalg.solve(L, X.mT @ both))
