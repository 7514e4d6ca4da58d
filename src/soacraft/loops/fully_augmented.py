"""`FullyAugmented`: all bodies free, hinges and closures as rows of one sparse system; for comparison."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse import block_array, csc_array, diags_array
from scipy.sparse.linalg import splu

from soacraft.errors import SingularError
from soacraft.loops.rows import Constraints
from soacraft.loops.solver import Answer, Solver
from soacraft.loops.tasks import Task
from soacraft.spatial.checks import Array

#: How far the closures give way in the first solution, beside the compliance of their bodies.
SLACK = 1e-8
_ROUNDS = 40
_TIGHTER = 3


class FullyAugmented(Solver):
    """Closed chains in maximal coordinates (formula F4): the accelerations of all bodies and all hinge forces.

        [ M   N*  C* ] [ alpha  ]   [ f - b ]      N_k* (alpha(k) - A*(p,k) alpha(p)) = N_k* a(k),  N_k = null H(k)
        [ N   0   0  ] [ mu     ] = [ N a   ]      C: the rows of loops and couplings on the bodies
        [ C   0  -e  ] [ lambda ]   [ c     ]      f: the generalized force, H(k)^+ T(k) on k and back on p

    The sparse LU factorization has a little slack e in the closures, so that redundant rows do no harm; what it
    leaves open is solved for again until nothing is left. So the multipliers have least norm. O(n) for trees and rows
    of loops, with a large factor.

    >>> import soacraft as sc
    >>> mb = sc.load("robotiq_2f85")
    >>> r = FullyAugmented(mb).forward_dynamics(mb.q, mb.v, np.zeros(mb.nv))
    >>> r.rank, bool(r.residual < 1e-9)
    (5, True)
    """

    def _solve(self, task: Task) -> Answer:
        system = _System(task)
        x, multipliers = system.solve()
        return Answer(system.hinge_accelerations(x), multipliers)


@dataclass(eq=False)
class _Entries:
    """Blocks of a sparse matrix as they are found."""

    rows: list[Array] = field(default_factory=list)
    cols: list[Array] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)

    def add(self, top: int, left: int, block: Array) -> None:
        height, width = block.shape
        self.rows.append(np.repeat(np.arange(top, top + height), width))
        self.cols.append(np.tile(np.arange(left, left + width), height))
        self.values.append(np.ravel(block))

    def matrix(self, height: int, width: int) -> csc_array:
        parts = [np.concatenate([np.zeros(0), *x]) for x in (self.values, self.rows, self.cols)]
        return csc_array((parts[0], (parts[1].astype(int), parts[2].astype(int))), shape=(height, width))


class _System:
    """The sparse system of one state."""

    def __init__(self, task: Task) -> None:
        self.task, self.sko = task, task.sko
        sko = self.sko
        self.at = np.cumsum([0, *sko.dims]).astype(int)
        self.size = int(self.at[-1])
        self._inverse_hinge = [np.linalg.pinv(sko.H(k).T) for k in sko.nodes]
        self.J, self.right = self._hinge_rows()
        self.C, self.c = self._closure_rows()

    def solve(self) -> tuple[Array, Array]:
        """Accelerations of all bodies, and multipliers of the closures."""
        M = _Entries()
        for k in self.sko.nodes:
            M.add(self.at[k], self.at[k], self.sko.M(k))
        hinges, closures = self.J.shape[0], self.C.shape[0]
        rigid = _bordered(M.matrix(self.size, self.size), self.J, self.C, np.zeros(closures))
        rhs = np.concatenate([self._body_forces(), self.right, self.c])
        z, slack = np.zeros(len(rhs)), SLACK * self._compliance()
        for _ in range(_TIGHTER):
            factor = _factored(_bordered(M.matrix(self.size, self.size), self.J, self.C, slack), self.task)
            z, settled = _refined(rigid, factor, rhs, z, self.size)
            if settled:
                break
            slack *= 1e-2
        return z[: self.size], z[self.size + hinges :]

    def hinge_accelerations(self, x: Array) -> Array:
        """vdot(k) = (H*)^+ (alpha(k) - A*(p,k) alpha(p) - a(k))."""
        sko, parts = self.sko, []
        for k in sko.nodes:
            p = sko.parent(k)
            step = x[self.at[k] : self.at[k + 1]] - sko.a(k)
            if p >= 0:
                step = step - sko.A(p, k).T @ x[self.at[p] : self.at[p + 1]]
            parts.append(self._inverse_hinge[k] @ step)
        return np.concatenate([np.zeros(0), *parts])

    # -- rows ------------------------------------------------------------------------------------------------

    def _across(self, entries: _Entries, row: int, k: int, left: Array) -> None:
        """left (alpha(k) - A*(p,k) alpha(p))."""
        p = self.sko.parent(k)
        entries.add(row, self.at[k], left)
        if p >= 0:
            entries.add(row, self.at[p], -left @ self.sko.A(p, k).T)

    def _hinge_rows(self) -> tuple[csc_array, Array]:
        sko, entries, right, row = self.sko, _Entries(), [], 0
        for k in sko.nodes:
            N = scipy.linalg.null_space(sko.H(k)) if sko.nvs[k] else np.eye(sko.dims[k])
            self._across(entries, row, k, N.T)
            right.append(N.T @ sko.a(k))
            row += N.shape[1]
        return entries.matrix(row, self.size), np.concatenate([np.zeros(0), *right])

    def _closure_rows(self) -> tuple[csc_array, Array]:
        rows, entries = self.task.rows, _Entries()
        c = np.array(self.task.Udot)
        for loop, (_, where) in zip(rows.loops, rows.places, strict=False):
            c[where] -= loop.gamma
            for k, W in loop.W.items():
                entries.add(where.start, self.at[k], W)
        for coupling, (_, where) in zip(rows.couplings, rows.places[len(rows.loops) :], strict=True):
            c[where] -= coupling.gamma
            for k, p in _by_node(rows, coupling.rates):
                left = p @ self._inverse_hinge[k]
                self._across(entries, where.start, k, left)
                c[where] += left @ self.sko.a(k)
        return entries.matrix(rows.size, self.size), c

    def _body_forces(self) -> Array:
        sko, f = self.sko, np.zeros(self.size)
        for k, where in enumerate(self.task.graph.layout.v_slices):
            push = self._inverse_hinge[k].T @ self.task.force[where]
            f[self.at[k] : self.at[k + 1]] += push - sko.b(k)
            p = sko.parent(k)
            if p >= 0:
                f[self.at[p] : self.at[p + 1]] -= sko.A(p, k) @ push
        return f

    def _compliance(self) -> Array:
        """The diagonal of C M^+ C*: the closures' compliance with every body free; 1 where there is none."""
        inverse = _Entries()
        for k in self.sko.nodes:
            inverse.add(self.at[k], self.at[k], np.asarray(np.linalg.pinv(self.sko.M(k), rcond=1e-12, hermitian=True)))
        found = np.asarray(((self.C @ inverse.matrix(self.size, self.size)) * self.C).sum(axis=1)).ravel()
        return np.where(found > 0.0, found, 1.0)


def _by_node(rows: Constraints, rates: dict[int, float]) -> Iterable[tuple[int, Array]]:
    """The part of a coupling in each hinge it ties, (1, nv_k)."""
    for k, where in enumerate(rows.graph.layout.v_slices):
        p = np.array([[rates.get(i, 0.0) for i in range(where.start, where.stop)]])
        if p.any():
            yield k, p


def _bordered(M: csc_array, J: csc_array, C: csc_array, slack: Array) -> csc_array:
    none = csc_array((J.shape[0], J.shape[0]))
    return csc_array(block_array([[M, J.T, C.T], [J, none, None], [C, None, diags_array(-slack)]], format="csc"))


def _factored(K: csc_array, task: Task) -> Any:
    try:
        return splu(K)
    except RuntimeError:
        raise SingularError(
            f"the bodies of {task.graph.name!r} and their hinges leave a motion without inertia; give mass or moment "
            "to the bodies outboard of a hinge that moves nothing, or weld it."
        ) from None


def _refined(K: csc_array, factor: Any, rhs: Array, z: Array, size: int) -> tuple[Array, bool]:
    """Solve for what is left until the accelerations, the first `size` entries, stay; whether they do."""
    before = np.inf
    for _ in range(_ROUNDS):
        step = factor.solve(rhs - K @ z)
        z = z + step
        change = float(np.abs(step[:size]).max(initial=0.0))
        if change <= 1e-14 * np.abs(z[:size]).max(initial=0.0):
            return z, True
        if change > 0.1 * before:  # rounding, or a slack too large for the stiffest closure
            return z, change <= 1e-12 * float(np.abs(z[:size]).max(initial=0.0))
        before = change
    return z, False
