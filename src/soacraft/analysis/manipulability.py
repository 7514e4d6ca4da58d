"""Manipulability of nodes: measures of a Jacobian, with their gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.analysis.finite import refusing_overflow
from soacraft.dynamics.arguments import check_loops, read_graph, read_nodes, read_problem
from soacraft.dynamics.nodes import Nodes, jacobian
from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference import flexible
from soacraft.dynamics.reference.gradients import Screws
from soacraft.errors import ModelError, StateError
from soacraft.model.flat.sko import BODY
from soacraft.model.sizes.scale import scale_of
from soacraft.model.states.kinematics import pose_of_frame
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.graph import Graph
from soacraft.results import refuse_large
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import cross

#: Two singular values this close, relative to the larger, have no gradient of their own.
CLOSE = 1e-9
#: Singular values this small relative to the largest are zero.
LOST = 1e-12


@refusing_overflow()
def jacobian_gradient(g: Graph, q: Any, nodes: Nodes, *, ignore_loops: bool = False) -> Array:
    """dJ/dq of nodes in inertial axes, (..., 6 k, nv, nv): [:, i, c] is column i along dof c. O(k nv^2).

        J_i = [w_i; v_i + w_i x p],   dS_i/dq_c = crm(S_c) S_i outboard of dof c,   dp/dq_c = linear part of J_c

    with S_i = [w_i; v_i] the screw of dof i at the inertial origin and p the place of the node.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft.analysis import jacobian_gradient
    >>> jacobian_gradient(sc.load("pendulum"), [0.0], "bob/tip")[5, 0, 0]     # the tip starts to rise
    np.float64(1.0)
    """
    frames = read_nodes("jacobian_gradient", g, nodes)
    p = read_problem("jacobian_gradient", g, q=q, nodes=frames, ignore_loops=ignore_loops)
    refuse_large(
        (*p.batch, 6 * len(frames), p.nv, p.nv),
        f"jacobian_gradient of {g.name!r}",
        "Take fewer nodes, a sub-graph, or the batch in parts.",
    )
    if p.layout.flexible:
        return flexible.jacobian_gradient(p, frames)
    screws = Screws(p)
    dS = screws.along()
    return np.concatenate([_of_node(p, screws, dS, j) for j in range(len(frames))], axis=-3)


def _of_node(p: Problem, screws: Screws, dS: Array, j: int) -> Array:
    frame = p.nodes[j]
    assert isinstance(frame.carrier, Body)
    at = pose_of_frame(p.state, frame)[1]
    moves = screws.inboard[:, p.layout.index[frame.carrier]][screws.dof_body]
    S = screws.S * moves
    w = np.moveaxis(S[..., :3, :], -2, -1)  # (..., nv, 3)
    J_v = np.moveaxis(S[..., 3:, :], -2, -1) + cross(w, at[..., None, :])
    dw, dv = (np.moveaxis(dS[..., part, :, :], -3, -1) * (moves[:, None] & moves)[..., None] for part in _PARTS)
    dJ_v = dv + cross(dw, at[..., None, None, :]) + cross(w[..., :, None, :], J_v[..., None, :, :])
    return np.moveaxis(np.concatenate([dw, dJ_v], axis=-1), -1, -3)


_PARTS = (slice(0, 3), slice(3, 6))


@dataclass(frozen=True, eq=False)
class Manipulability:
    """Measures of a Jacobian with the batch's leading axes; each `..._gradient` is (..., nv), in the tangent sense."""

    volume: Any
    """sqrt(det(J J*)): the volume of what unit velocities reach, zero where a direction is lost."""
    volume_gradient: Array
    smallest: Any
    """The smallest singular value: the distance to a singular Jacobian."""
    smallest_gradient: Array
    condition: Any
    """The largest over the smallest singular value; infinite where a direction is lost."""
    condition_gradient: Array
    singular_values: Array
    """All singular values, the largest first."""
    rank: Any
    """Number of directions that can be moved: singular values above 1e-12 of the largest, lengths in units of the
    model's."""

    def __repr__(self) -> str:
        if np.ndim(self.volume):
            return f"Manipulability of {np.shape(self.volume)} states"
        return f"Manipulability: volume {self.volume:.4g}, smallest {self.smallest:.4g}, condition {self.condition:.4g}"


@refusing_overflow("volume_gradient", "smallest_gradient", "condition", "condition_gradient")
def manipulability(
    g: Graph, q: Any, nodes: Nodes, rows: Any = None, *, scale: Any = None, ignore_loops: bool = False
) -> Manipulability:
    """Manipulability of nodes at q: measures of their Jacobian in inertial axes. O(k nv^2 + k^2 nv).

        volume = sqrt(det(J J*)),   d volume = volume tr(J^+ dJ),   d sigma = u* dJ w for the singular triple

    `rows` picks rows of J ("linear", "angular", or numbers); `scale` (one number for each row) weighs them, since
    radians and metres do not compare. Where a measure has no gradient (a lost direction, equal singular values) it is
    NaN.

    >>> import soacraft as sc
    >>> from soacraft.analysis import manipulability
    >>> m = manipulability(sc.load("arm7"), [0.1, 0.5, 0.2, 1.0, 0.3, 0.7, 0.4], "link7/tool", rows="linear")
    >>> m.rank, m.volume_gradient.shape
    (np.int64(3), (7,))
    """
    check_loops("manipulability", read_graph("manipulability", g), ignore_loops)
    J = jacobian(g, q, nodes, ignore_loops=ignore_loops)
    dJ = jacobian_gradient(g, q, nodes, ignore_loops=ignore_loops)
    picked = picked_rows(rows, J.shape[-2])
    weight = row_weights(scale, len(picked))
    sized = scale_of(g)
    rows_of, dofs = sized.of(BODY * (J.shape[-2] // 6)), sized.of("".join(g.layout.units.hinge))
    plain = (J / rows_of[:, None] * dofs)[..., picked, :]
    rank = _rank(np.asarray(np.linalg.svd(plain, compute_uv=False), dtype=np.float64))
    return measures(J[..., picked, :] * weight[:, None], dJ[..., picked, :, :] * weight[:, None, None], rank)


@refusing_overflow("volume_gradient", "smallest_gradient", "condition", "condition_gradient")
def measures(J: Array, dJ: Array, rank: Any = None) -> Manipulability:
    """The measures of any Jacobian J (..., m, n) with its derivatives dJ (..., m, n, c); m may exceed n. O(m n c).

    Without a `rank` that is counted from its singular values, as if all its entries had one unit.

    >>> import numpy as np
    >>> from soacraft.analysis import measures
    >>> measures(np.diag([3.0, 2.0]), np.ones((2, 2, 1))).volume_gradient        # 6 (1/3 + 1/2)
    array([5.])
    """
    if J.shape[-2] == 0 or J.shape[-1] == 0:
        raise StateError(f"a Jacobian of shape {J.shape[-2:]} has no singular values to measure.")
    U, s, W = np.linalg.svd(J, full_matrices=False)
    rank = _rank(s) if rank is None else rank
    ds = np.einsum("...ai,...abc,...ib->...ic", U, dJ, W)
    apart = _apart(s)
    full = rank == s.shape[-1]
    volume = np.prod(s, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        dvolume = volume[..., None] * np.sum(ds / s[..., None], axis=-2)
        condition = np.where(full, s[..., 0] / s[..., -1], np.inf)
        dcondition = (ds[..., 0, :] - condition[..., None] * ds[..., -1, :]) / s[..., -1, None]
    nan = np.nan
    return Manipulability(
        volume, np.where(full[..., None], dvolume, nan),
        s[..., -1], np.where((full & apart[..., -1])[..., None], ds[..., -1, :], nan),
        condition, np.where((full & apart[..., 0] & apart[..., -1])[..., None], dcondition, nan),
        s, rank,
    )  # fmt: skip


def _rank(s: Array) -> Any:
    """Number of singular values, the largest first, that are not zero."""
    return np.sum((s > LOST * s[..., :1]) & (s > 0.0), axis=-1)


def _apart(s: Array) -> Any:
    """True for each singular value that is apart from its neighbours."""
    gap = s[..., :-1] - s[..., 1:] > CLOSE * s[..., :-1]
    edge = np.ones((*s.shape[:-1], 1), dtype=np.bool_)
    return np.concatenate([edge, gap], axis=-1) & np.concatenate([gap, edge], axis=-1)


def picked_rows(rows: Any, size: int) -> list[int]:
    """Numbers of rows from "angular", "linear", numbers, or None for all.

    >>> picked_rows("linear", 12)
    [3, 4, 5, 9, 10, 11]
    """
    if rows is None:
        return list(range(size))
    if isinstance(rows, str) and rows in ("angular", "linear"):
        start = 0 if rows == "angular" else 3
        return [6 * k + start + i for k in range(size // 6) for i in range(3)]
    several = isinstance(rows, list | tuple | range) or (isinstance(rows, np.ndarray) and rows.ndim)
    picked = list(rows) if several else None
    if not picked or not all(_is_number(i) and 0 <= i < size for i in picked):
        raise ModelError(
            f"rows of manipulability must be 'angular', 'linear', or numbers of rows from 0 to {size - 1}; "
            f"got {rows!r:.60}."
        )
    return [int(i) for i in picked]


def _is_number(i: Any) -> bool:
    return isinstance(i, int | np.integer) and not isinstance(i, bool)


def row_weights(scale: Any, size: int) -> Array:
    """One weight for each row.

    >>> row_weights(None, 2)
    array([1., 1.])
    """
    if scale is None:
        return np.ones(size)
    try:
        weights = np.broadcast_to(np.asarray(scale).astype(np.float64, casting="same_kind"), (size,))
    except (TypeError, ValueError):
        raise ModelError(f"scale of manipulability must be one number or {size}, got {scale!r:.60}.") from None
    if not np.isfinite(weights).all() or not (weights > 0.0).all():
        raise ModelError(f"scale of manipulability must be positive and finite, got {scale!r:.60}.")
    return np.array(weights)
