"""Rows that are not embedded, on the embedded tree: the formulas of the tree-augmented solver on an SKO model.

With G = W A* H* + R (W on the velocities of units, R on independent dofs) and L = I - H psi K (formula F3),

    Y = L G* = H psi (W* - K R*) + R*,      S = G Mcal^-1 G* = Y* D^-1 Y
    S lambda = G vdot_f + Gdot v - Udot,    vdot = vdot_f - L* D^-1 Y lambda

S is never formed: with D = d d*, lambda comes from the singular values of d^-1 Y, so that redundant rows do no harm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from soacraft.kinematics.independent import Partition, choose
from soacraft.kinematics.partition import partition
from soacraft.kinematics.rows import CouplingRow, LoopRows
from soacraft.kinematics.tasks import Task
from soacraft.loops.embedding.model import EmbeddedModel
from soacraft.model.flat.sko import SKOModel
from soacraft.ops.namespace import operators
from soacraft.recursions.forward_dynamics import ForwardDynamics
from soacraft.spatial.checks import Array


@dataclass(frozen=True, eq=False)
class Augmented:
    """The rows that stay next to the embedded tree."""

    W: Array
    """(m, size of all units)."""
    R: Array
    """(m, independent dofs)."""
    gamma: Array
    """Terms of the rows other than W alpha and R vdot_i, less Udot."""
    where: np.ndarray[tuple[int], np.dtype[np.intp]]
    """Numbers of these rows among all rows."""
    G: Array
    """W A* H* + R, (m, independent dofs)."""
    split: Partition
    """Partition of the independent dofs by these rows: some depend on others."""


def rest_of(embedded: EmbeddedModel, task: Task) -> Augmented | None:
    """The rows of closures and couplings that no compound body holds; None when all are embedded."""
    held = {name for group in embedded.units.groups for name in group.ties}
    rows, starts = task.rows, np.cumsum([0, *embedded.sko.dims])
    W: list[Array] = []
    R: list[Array] = []
    gamma: list[Array] = []
    numbers: list[int] = []
    n = len(embedded.independent)
    Xt: Array | None = None
    kinds: list[LoopRows | CouplingRow] = [*rows.loops, *rows.couplings]
    for row, (name, at) in zip(kinds, rows.places, strict=True):
        if name in held:
            continue
        w, r = np.zeros((at.stop - at.start, starts[-1])), np.zeros((at.stop - at.start, n))
        extra = np.atleast_1d(row.gamma) - task.Udot[at]
        if isinstance(row, LoopRows):
            for k, block in row.W.items():
                u, part = embedded.place(k)
                w[:, starts[u] + part.start : starts[u] + part.stop] += block
        else:
            Xt = embedded.Xt if Xt is None else Xt
            for dof, rate in row.rates.items():
                r[0] += rate * Xt[dof]
                extra = extra + rate * embedded.x0[dof]
        W.append(w)
        R.append(r)
        gamma.append(extra)
        numbers += range(at.start, at.stop)
    if not numbers:
        return None
    w, r = np.concatenate(W), np.concatenate(R)
    G = _carried(embedded.sko, w) + r
    units, d = rows.units[numbers, None], rows.measure.dofs[embedded.independent]
    split = choose(G / units / d, rank=partition(rows).rank - embedded.rank)
    return Augmented(w, r, np.concatenate(gamma), np.array(numbers, dtype=np.intp), G, split)


def _carried(sko: SKOModel, W: Array) -> Array:
    """W A* H* by a sweep to the base. O(n m)."""
    ends = np.cumsum([0, *sko.dims])
    rows = {k: W[:, ends[k] : ends[k + 1]] for k in sko.nodes}
    for k in sko.tips_to_base():
        p = sko.parent(k)
        if p >= 0:
            rows[p] = rows[p] + rows[k] @ sko.A(p, k).T
    return np.concatenate([np.zeros((len(W), 0)), *(rows[k] @ sko.H(k).T for k in sko.nodes)], axis=1)


def add_rows(embedded: EmbeddedModel, free: ForwardDynamics, rest: Augmented) -> tuple[Array, Array]:
    """vdot_i and lambda under the rest of the rows, from the free accelerations; what rounding leaves of the rows is
    closed once more. O(n m + m^3)."""
    sko = embedded.sko
    vdot, alpha = (np.concatenate([np.zeros(0), *(x[k][:, 0] for k in sko.nodes)]) for x in (free.vdot, free.alpha))
    s: Any = operators(sko)
    Y = np.asarray(s.H * (s.psi * (rest.W.T - np.asarray(s.K * rest.R.T)))) + rest.R.T
    halves = [np.linalg.cholesky(D) for D in s.D.blocks().diagonal()]
    half = _on_blocks(halves, Y, transposed=False)
    _, sigma, V = np.linalg.svd(half, full_matrices=False)
    sigma, V = sigma[: rest.split.rank], V[: rest.split.rank]
    residual, multipliers = rest.W @ alpha + rest.R @ vdot + rest.gamma, np.zeros(len(rest.G))
    for _ in range(2):
        step = V.T @ ((V @ residual) / sigma**2)
        y = _on_blocks(halves, half @ step[:, None], transposed=True)
        push = (y - np.asarray(s.K.T * (s.psi.T * np.asarray(s.H.T * y))))[:, 0]
        vdot, multipliers, residual = vdot - push, multipliers + step, residual - rest.G @ push
    return vdot, multipliers


def _on_blocks(halves: list[Array], x: Array, transposed: bool) -> Array:
    """d^-1 x, or d^-* x, for D = d d*."""
    y, at = np.empty_like(x), 0
    for d in halves:
        part = slice(at, at + len(d))
        if len(d):
            y[part] = scipy.linalg.solve_triangular(d, x[part], lower=True, trans=1 if transposed else 0)
        at += len(d)
    return y
