"""Friction in pyramids inside the cones: a linear complementarity problem (EQUATIONS 4.6), solved by Lemke's pivots.

    0 <= p_n  perp  u_n >= 0,    0 <= beta  perp  D* u_t + sigma >= 0,    p_t = D beta,
    0 <= sigma  perp  p_n - sum beta >= 0

in units where cones are unit cones. D has `directions` around the circle of sliding, and both ways along each axis of
spinning and rolling. With n directions the impulse of a sliding contact is short of the cone's by up to 1 - cos(pi/n).
"""

from __future__ import annotations

import numpy as np

from soacraft.contact.solvers.compiled import BOX, CONE, FREE, lemke
from soacraft.contact.solvers.scaling import Scaled
from soacraft.errors import ConvergenceError
from soacraft.spatial.checks import Array


def directions_of(rows: int, directions: int) -> Array:
    """D (rows - 1, columns): the directions of friction of a cone."""
    if rows == 1:
        return np.zeros((0, 0))
    if rows == 2:
        return np.array([[1.0, -1.0]])
    angle = 2 * np.pi * np.arange(directions) / directions
    circle = np.vstack([np.cos(angle), np.sin(angle)])
    more = rows - 3
    D = np.zeros((rows - 1, directions + 2 * more))
    D[:2, :directions] = circle
    for i in range(more):
        D[2 + i, directions + 2 * i : directions + 2 * i + 2] = 1.0, -1.0
    return D


def solve_pyramid(x: Scaled, directions: int) -> tuple[Array, int]:
    """Impulses phat in pyramids, and the pivots it took; `ConvergenceError` where Lemke ends in a ray."""
    n = len(x.b)
    first = np.concatenate([[0], np.cumsum(x.rows)]).astype(int)
    free = np.array([first[i] for i in np.flatnonzero(x.kinds == FREE)], dtype=int)
    others = np.setdiff1d(np.arange(n), free)
    S, b = x.S[np.ix_(others, others)], x.b[others]
    if free.size:  # p_f = -S_ff^+ (S_fo p_o + b_f)
        inverse = np.linalg.pinv(x.S[np.ix_(free, free)], hermitian=True)
        S = S - x.S[np.ix_(others, free)] @ inverse @ x.S[np.ix_(free, others)]
        b = b - x.S[np.ix_(others, free)] @ inverse @ x.b[free]
    place = {int(row): i for i, row in enumerate(others)}
    # p = T z + p0; the rows of the problem are T* u plus what sigma and the bounds add.
    T: list[tuple[int, Array]] = []  # columns of T: place of the block, its entries
    extra: list[tuple[int, int, float]] = []  # (row, column, value) added to M
    shift = np.zeros(len(others))
    constant: list[float] = []
    for block in np.flatnonzero(x.kinds != FREE):
        at, rows = place[int(first[block])], int(x.rows[block])
        base = len(T)
        if x.kinds[block] == BOX:
            bound = float(x.bounds[block])
            T += [(at, np.ones(1)), (at, np.zeros(1))]
            shift[at] = -bound
            constant += [0.0, 2 * bound]
            extra += [(base, base + 1, 1.0), (base + 1, base, -1.0)]
            continue
        D = directions_of(rows, directions)
        T.append((at, np.eye(rows)[0]))
        T += [(at, np.concatenate([[0.0], column])) for column in D.T]
        count = D.shape[1]
        constant += [0.0] * (1 + count)
        if count:
            sigma = len(T)
            T.append((at, np.zeros(rows)))
            constant.append(0.0)
            extra += [(base + 1 + k, sigma, 1.0) for k in range(count)]
            extra += [(sigma, base, 1.0), *((sigma, base + 1 + k, -1.0) for k in range(count))]
    full = np.zeros((len(others), len(T)))
    for j, (at, column) in enumerate(T):
        full[at : at + len(column), j] = column
    M = full.T @ S @ full
    for i, j, value in extra:
        M[i, j] += value
    q = full.T @ (b + S @ shift) + np.array(constant)
    how, z, pivots = lemke(np.ascontiguousarray(M), q, 50 * len(q) + 200)
    if how != "solved":
        raise ConvergenceError(
            f"Lemke's method ended in {'a ray' if how == 'ray' else 'too many pivots'} after {pivots} pivots on "
            f"{np.count_nonzero(x.kinds == CONE)} contacts in pyramids; take method='cone'"
        )
    p = np.zeros(n)
    p[others] = full @ z + shift
    if free.size:
        p[free] = -inverse @ (x.S[np.ix_(free, others)] @ p[others] + x.b[free])
    return p, pivots
