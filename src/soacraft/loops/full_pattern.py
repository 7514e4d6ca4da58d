"""Data that the fully-augmented system keeps from state to state: stacked bodies and hinges, and the position of every
number.

Blocks of bodies, hinges and closures are stacked and filled up with zeros to one size, so that all are computed at
once; `Pattern` then takes their numbers into the columns of the sparse matrix.
"""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.tolerances import MASSLESS
from soacraft.model.flat.layout import Layout
from soacraft.spatial.checks import Array

Indices = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


class Hinges(NamedTuple):
    """The hinges of all bodies at one state."""

    N_T: Array
    """N*(k), (n, 6, width): rows of length 1 with N* H* = 0, after rows that are not there."""
    there: Mask
    """(n, 6): which rows are."""
    H_inv: Array
    """A left inverse of H*(k), (n, 6, width), rows of zeros below."""


class _Kind(NamedTuple):
    """Bodies whose hinges have maps of one size."""

    bodies: Indices
    nv: int
    rotor: bool
    parts: list[tuple[int, Indices]]
    """Positions of their maps: the hinge group and the numbers in it."""

    def hinges(self, maps: tuple[Array, ...], length: float) -> Hinges:
        """N*, and a left inverse of H*, from R H D = U S V*: D takes slides in lengths of the model and R makes rows of
        length 1, so that rounding is the same in any units. A hinge that is singular, or one without dofs, has more
        rows of N*."""
        H = np.concatenate([maps[group][members] for group, members in self.parts]).mT
        count, nv, _ = H.shape
        if nv == 0:
            return Hinges(np.broadcast_to(np.eye(6), (count, 6, 6)), np.ones((count, 6), dtype=bool), H)
        D = np.broadcast_to(np.repeat([1.0, 1.0 / length], 3), (count, 6))
        size = np.linalg.norm(H * D[:, None], axis=-1)
        R = 1.0 / np.where(size > 0.0, size, 1.0)
        H = R[:, :, None] * H * D[:, None]
        if self.rotor:  # each in the size of its dof
            H = np.concatenate([H, np.broadcast_to(np.eye(nv), (count, nv, nv))], axis=-1)
            D = np.concatenate([D, 1.0 / R], axis=-1)
        width = H.shape[-1]
        U, s, V_T = np.linalg.svd(H)
        moves = s > np.finfo(float).eps * width * s[:, :1]
        rank = moves.sum(axis=-1)
        S_inv = np.divide(1.0, s, out=np.zeros_like(s), where=moves)
        there = np.arange(width - 6, width) >= rank[:, None]
        H_inv = R[:, :, None] * ((U * S_inv[:, None]) @ V_T[:, :nv]) * D[:, None]
        N_T = V_T[:, -6:] * D[:, None]
        return Hinges(N_T / np.linalg.norm(N_T, axis=-1, keepdims=True), there, H_inv)


class Bodies:
    """The bodies of a layout and their hinges, stacked; `width` is the size of the largest node. `length`: about that
    of the model."""

    def __init__(self, layout: Layout, maps: tuple[Array, ...], length: float = 1.0) -> None:
        n, width = layout.n, max(layout.dims, default=6)
        self.width, self._length = width, length if length > 0.0 else 1.0
        self.parents = np.array(layout.parents, dtype=np.intp)
        self.inner = np.flatnonzero(self.parents >= 0)
        self.body_of_dof = [k for k, x in enumerate(layout.v_slices) for _ in range(x.start, x.stop)]
        self.first_dof = [x.start for x in layout.v_slices]
        self.dofs = _numbered(np.arange(6) < np.array([[x.stop - x.start] for x in layout.v_slices]).reshape(n, 1))
        self.alpha = _numbered(np.arange(width) < np.array(layout.dims, dtype=np.intp).reshape(n, 1))
        self.M = np.zeros((n, width, width))
        self.M[:, :6, :6] = layout.M
        for k, J in enumerate(layout.armature):
            if J is not None:
                self.M[k, range(6, 6 + J.size), range(6, 6 + J.size)] = J
        self.M_inv = _inverted(self.M, self._length)
        empty = Hinges(np.zeros((n, 6, width)), np.zeros((n, 6), dtype=bool), np.zeros((n, 6, width)))
        constant, self._varying = _kinds(layout)
        self._constant = _filled(empty, constant, maps, self._length)

    def hinges(self, maps: tuple[Array, ...]) -> Hinges:
        """All hinges at a state; those with a constant H are known."""
        if not self._varying:
            return self._constant
        N_T, there, H_inv = self._constant
        return _filled(Hinges(N_T.copy(), there.copy(), H_inv.copy()), self._varying, maps, self._length)


class Ties:
    """Action of the rows of closures and couplings on the bodies: block i is of row `row[i]` and body `body[i]`."""

    def __init__(self, rows: Constraints, bodies: Bodies) -> None:
        self._bodies, self.size = bodies, rows.size
        self.probe = np.random.default_rng(0).standard_normal(rows.size)
        """Some multipliers."""
        place: list[tuple[int, int]] = []
        for loop, (_, at) in zip(rows.loops, rows.places, strict=False):
            place += [(i, k) for k in loop.W for i in range(at.start, at.stop)]
        self._of_loops = len(place)
        terms: dict[tuple[int, int], int] = {}
        rates: list[tuple[int, int]] = []
        for coupling, (_, at) in zip(rows.couplings, rows.places[len(rows.loops) :], strict=True):
            for i in coupling.rates:
                k = bodies.body_of_dof[i]
                rates.append((terms.setdefault((at.start, k), len(terms)), i - bodies.first_dof[k]))
        number: dict[tuple[int, int], int] = {}
        self._own = _whole([number.setdefault(x, len(place) + len(number)) for x in terms])
        self._inner = _whole([t for t, (_, k) in enumerate(terms) if bodies.parents[k] >= 0])
        above = [(i, int(bodies.parents[k])) for i, k in terms if bodies.parents[k] >= 0]
        self._above = _whole([number.setdefault(x, len(place) + len(number)) for x in above])
        self._rates = tuple(_whole(rates).reshape(-1, 2).T)
        self._term_row, self._term_body = _whole(list(terms)).reshape(-1, 2).T
        self.row, self.body = _whole([*place, *number]).reshape(-1, 2).T

    def blocks(self, rows: Constraints, hinges: Hinges, A: Array, a: Array) -> tuple[Array, Array]:
        """Rows C on the accelerations of the bodies, block by block, and their terms that do not depend on these.

        Of a coupling p: left (alpha(k) - A*(p,k) alpha(p) - a(k)) with left = p (H*(k))^+.
        """
        C = np.zeros((len(self.row), self._bodies.width))
        besides = np.concatenate([np.zeros(0), *(x.gamma for x in rows.loops), [x.gamma for x in rows.couplings]])
        if self._of_loops:
            C[: self._of_loops, :6] = np.concatenate([W[:, :6] for loop in rows.loops for W in loop.W.values()])
        if rows.couplings:
            p = np.zeros((len(self._own), 6))
            p[self._rates] = [rate for x in rows.couplings for rate in x.rates.values()]
            body, inner = self._term_body, self._inner
            hinge_rows = times(hinges.H_inv[body].mT, p)
            np.add.at(C, self._own, hinge_rows)
            np.subtract.at(C[:, :6], self._above, times(A[body[inner]], hinge_rows[inner, :6]))
            np.subtract.at(besides, self._term_row, (hinge_rows[:, :6] * a[body]).sum(axis=-1))
        return C, besides

    def compliance(self, C: Array) -> Array:
        """The diagonal of C M^+ C*: the closures' compliance with every body free; 1 where there is none."""
        parts = (times(self._bodies.M_inv[self.body], C) * C).sum(axis=-1)
        total = np.bincount(self.row, parts, minlength=self.size)
        return np.where(total > 0.0, total, 1.0)


class Values(NamedTuple):
    """The numbers of the system, block by block; K is symmetric."""

    M: Array
    N_T: Array
    N_T_above: Array
    """-N*(k) A*(p,k), (n, 6, 6)."""
    C: Array
    slack: Array

    def flat(self) -> Array:
        """All in a row."""
        return np.concatenate([x.ravel() for x in self])


class Pattern:
    """Positions of the numbers in the matrix, which has its columns in an order that keeps its factors sparse.

    Numbers that are zero at all states so far have no position: if one is not, the pattern no longer fits. A singular
    matrix is a RuntimeError.
    """

    def __init__(self, bodies: Bodies, ties: Ties, there: Mask, values: Values, before: Pattern | None = None) -> None:
        self._there, x = there, values.flat()
        row, col = _places(bodies, ties, there)
        self.size = int(row.max(initial=-1)) + 1
        possible = (row >= 0) & (col >= 0)
        self._used = x != 0.0
        self._used[len(x) - ties.size :] = True
        if before is not None:
            self._used |= before._used
        self._absent = np.flatnonzero(possible & ~self._used)
        taken = np.flatnonzero(possible & self._used)
        twice = taken[(taken >= values.M.size) & (taken < len(x) - ties.size)]
        entries = np.concatenate([taken, twice])
        row, col = np.concatenate([row[taken], col[twice]]), np.concatenate([col[taken], row[twice]])
        self._shape, self._entries = _by_columns(entries, row, col, self.size)
        position = np.asarray(splu(self.matrix(values), permc_spec="MMD_ATA").perm_c, dtype=np.intp)
        self._shape, self._entries = _by_columns(entries, row, position[col], self.size)
        self.bodies = position[: int(bodies.alpha.max(initial=-1)) + 1]
        """The columns of the accelerations of bodies."""
        self.closures = position[self.size - ties.size :]
        """The columns of the multipliers of closures."""

    def fits(self, there: Mask, values: Values) -> bool:
        """True if all numbers have a position."""
        return np.array_equal(there, self._there) and not values.flat()[self._absent].any()

    def matrix(self, values: Values) -> csc_array:
        """K with its columns in order."""
        K = copy(self._shape)
        K.data = values.flat()[self._entries]
        return K

    def factored(self, values: Values) -> Any:
        """The LU factors of K."""
        return splu(self.matrix(values), permc_spec="NATURAL")


def _places(bodies: Bodies, ties: Ties, there: Mask) -> tuple[Indices, Indices]:
    """Rows and columns in K of all `Values`, -1 for those that only fill up."""
    alpha, mu = bodies.alpha, _numbered(there)
    mu = np.where(there, mu + alpha.max(initial=-1) + 1, -1)
    closures = max(alpha.max(initial=-1), mu.max(initial=-1)) + 1 + np.arange(ties.size)
    above = np.where(bodies.parents[:, None] >= 0, alpha[bodies.parents, :6], -1)
    blocks = ((alpha, alpha), (mu, alpha), (mu, above), (closures[ties.row][:, None], alpha[ties.body]))
    pairs: list[Any] = [np.broadcast_arrays(rows[:, :, None], cols[:, None, :]) for rows, cols in blocks]
    pairs.append((closures, closures))
    return np.concatenate([x.ravel() for x, _ in pairs]), np.concatenate([y.ravel() for _, y in pairs])


def _by_columns(entries: Indices, row: Indices, col: Indices, size: int) -> tuple[csc_array, Indices]:
    """A sparse matrix with places for all entries, and the entries in the order of their places."""
    order = np.lexsort((row, col))
    starts = np.searchsorted(col[order], np.arange(size + 1))
    places = csc_array((np.zeros(len(order)), row[order].astype(np.intc), starts.astype(np.intc)), shape=(size, size))
    places.has_canonical_format = True
    return places, entries[order]


def times(X: Array, y: Array) -> Array:
    """The products of stacked matrices and vectors."""
    product: Array = (X @ y[..., None])[..., 0]
    return product


def _kinds(layout: Layout) -> tuple[list[_Kind], list[_Kind]]:
    """The hinges by the sizes of their maps: those with a constant H, and the others."""
    groups: dict[tuple[bool, int, bool], list[tuple[int, Indices]]] = {}
    for i, group in enumerate(layout.groups):
        rotors = np.array([layout.armature[k] is not None for k in group.bodies])
        for rotor in (False, True):
            members = np.flatnonzero(rotors == rotor)
            if members.size:
                groups.setdefault((group.hinge.constant_H, group.hinge.nv, rotor), []).append((i, members))
    kinds: tuple[list[_Kind], list[_Kind]] = ([], [])
    for (constant, nv, rotor), parts in groups.items():
        bodies = np.concatenate([layout.groups[i].bodies[members] for i, members in parts])
        kinds[0 if constant else 1].append(_Kind(bodies, nv, rotor, parts))
    return kinds


def _filled(hinges: Hinges, kinds: list[_Kind], maps: tuple[Array, ...], length: float) -> Hinges:
    for kind in kinds:
        N_T, there, H_inv = kind.hinges(maps, length)
        hinges.N_T[kind.bodies, :, : N_T.shape[-1]] = N_T
        hinges.there[kind.bodies] = there
        hinges.H_inv[kind.bodies, : kind.nv, : N_T.shape[-1]] = H_inv
    return hinges


def _inverted(M: Array, length: float) -> Array:
    """M^+(k) of all bodies: slides in lengths of the model, bodies and rotors in inertias of their own, so that in any
    units the same is rounding."""
    D = np.ones(M.shape[:2])
    D[:, 3:6] = length
    size = D * D * np.diagonal(M, axis1=1, axis2=2)
    size[:, :6] = size[:, :6].max(axis=-1, keepdims=True, initial=0.0)
    D /= np.sqrt(np.where(size > 0.0, size, 1.0))
    D_D = D[:, :, None] * D[:, None]
    return np.asarray(D_D * np.linalg.pinv(D_D * M, rcond=MASSLESS, hermitian=True))


def _numbered(there: Mask) -> Indices:
    """0, 1, 2, ... where something is, -1 elsewhere."""
    return np.where(there, np.cumsum(there).reshape(there.shape) - 1, -1)


def _whole(numbers: list[Any]) -> Indices:
    return np.array(numbers, dtype=np.intp)
