"""The fully-augmented system of nodes of any size: flexible bodies, whose nodes are [V; d eta/dt; rotors].

In go the blocks A, H, M, a, b of the SKO model of a tree and the rows of its closures; out come vdot and multipliers.

    [ M   N*  C* ] [ alpha  ]   [ f - b ]      N_k* (alpha(k) - A*(p,k) alpha(p)) = N_k* a(k),  N_k = null H(k)
    [ N   0   0  ] [ mu     ] = [ N a   ]      C: the rows of loops, W, and of couplings, p (H*)^+ of their hinges
    [ C   0  -e  ] [ lambda ]   [ c     ]      f: (H*(k)^+)* T(k) on k, and -A(p,k) of it on p

All in radians, lengths of the model and the units of modes, factored with a little slack e and refined without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

from soacraft.errors import SingularError
from soacraft.kinematics.tasks import Task
from soacraft.kinematics.tolerances import SETTLED, SLACK
from soacraft.spatial.checks import Array

_ROUNDS = 40


class FreeNodes:
    """The system at one state."""

    def __init__(self, task: Task) -> None:
        self.task, self.sko = task, task.sko
        ends = np.cumsum([0, *self.sko.dims]).tolist()
        self.at = [slice(i, j) for i, j in pairwise(ends)]
        self.size = int(ends[-1])
        self.units = np.concatenate([np.ones(0), *(self._units(k) for k in self.sko.nodes)])
        """Factors that give the accelerations of nodes in radians, lengths of the model and units of modes."""
        split = [self._split(k) for k in self.sko.nodes]
        self.N_T, self.H_inv = [x for x, _ in split], [x for _, x in split]

    def solve(self) -> tuple[Array, Array]:
        """vdot and the multipliers, some of those that do the same where rows repeat others."""
        hinges, N_a = self._hinge_rows()
        C, besides = self._closure_rows()
        scale = self.task.rows.units
        M: Any = sparse.block_diag([self.sko.M(k) for k in self.sko.nodes], format="csr")
        D = sparse.diags_array(1.0 / self.units)
        M, hinges, C = D @ M @ D, hinges @ D, sparse.diags_array(1.0 / scale) @ C @ D
        K = sparse.block_array([[M, hinges.T, C.T], [hinges, None, None], [C, None, None]], format="csc")
        slack = np.zeros(K.shape[0])
        slack[len(slack) - len(scale) :] = -SLACK * self._compliance(M, C)
        rhs = np.concatenate([self._forces() / self.units, N_a, (self.task.Udot - besides) / scale])
        try:
            factor = splu((K + sparse.diags_array(slack)).tocsc())
        except RuntimeError:
            raise SingularError(
                f"the bodies of {self.task.graph.name!r} and their hinges leave a motion without inertia; give mass or "
                "moment to the bodies outboard of a hinge that moves nothing, or weld it."
            ) from None
        z, before = np.zeros(len(rhs)), np.inf
        for _ in range(_ROUNDS):
            step = factor.solve(rhs - K @ z)
            z, change = z + step, float(np.abs(step[: self.size]).max(initial=0.0))
            if change <= SETTLED * float(np.abs(z[: self.size]).max(initial=0.0)) or change > 0.5 * before:
                break
            before = change
        return self._hinge_accelerations(z[: self.size] / self.units), z[len(z) - len(scale) :] / scale

    # -- blocks ----------------------------------------------------------------------------------------------------

    def _units(self, k: int) -> Array:
        layout, measure = self.task.graph.layout, self.task.rows.measure
        units, hinge = np.ones(self.sko.dims[k]), layout.hinge_v[k]
        units[3:6] = 1.0 / measure.length if measure.length > 0.0 else 1.0
        modes = measure.dofs[hinge.stop : layout.v_slices[k].stop]
        units[6 : 6 + len(modes)] = modes
        units[6 + len(modes) :] = measure.dofs[hinge][: len(units) - 6 - len(modes)]
        return units

    def _split(self, k: int) -> tuple[Array, Array]:
        """N*(k), rows of length 1 in units with N* H* = 0, and a left inverse of H*(k)."""
        d, H = self.units[self.at[k]], self.sko.H(k)
        if not len(H):
            return np.diag(d), H
        size = np.linalg.norm(H * d, axis=1, keepdims=True)
        size[size <= 0.0] = 1.0
        U, s, V_T = np.linalg.svd(H * d / size)
        moves = s > np.finfo(float).eps * len(d) * s[0]
        inverse = (U[:, : len(s)] * np.divide(1.0, s, out=np.zeros_like(s), where=moves)) @ V_T[: len(s)]
        return V_T[int(moves.sum()) :] * d, inverse * d / size

    def _hinge_rows(self) -> tuple[sparse.csr_array, Array]:
        """N* (alpha(k) - A* alpha(p)), and N* a."""
        rows, a = sparse.lil_array((sum(len(x) for x in self.N_T), self.size)), [np.zeros(0)]
        at = 0
        for k in self.sko.nodes:
            N_T, here = self.N_T[k], slice(at, at + len(self.N_T[k]))
            for node, block in self._step(k, N_T):
                rows[here, self.at[node]] = block
            a.append(N_T @ self.sko.a(k))
            at = here.stop
        return rows.tocsr(), np.concatenate(a)

    def _step(self, k: int, row: Array) -> Iterator[tuple[int, Array]]:
        """left (alpha(k) - A*(p,k) alpha(p)), node by node."""
        yield k, row
        p = self.sko.parent(k)
        if p >= 0:
            yield p, -row @ self.sko.A(p, k).T

    def _closure_rows(self) -> tuple[sparse.csr_array, Array]:
        """Rows C, and their terms that do not depend on the accelerations."""
        rows, slices = self.task.rows, self.task.graph.layout.v_slices
        C, besides = sparse.lil_array((rows.size, self.size)), np.zeros(rows.size)
        for loop, (_, place) in zip(rows.loops, rows.places, strict=False):
            besides[place] = loop.gamma
            for k, W in loop.W.items():
                C[place, self.at[k]] = W
        for row, (_, place) in zip(rows.couplings, rows.places[len(rows.loops) :], strict=True):
            besides[place] = row.gamma
            total = np.zeros((1, self.size))
            for i, rate in row.rates.items():
                k = next(k for k, x in enumerate(slices) if x.start <= i < x.stop)
                hinge_row = rate * self.H_inv[k][i - slices[k].start, None]
                for node, block in self._step(k, hinge_row):
                    total[:, self.at[node]] += block
                besides[place] -= hinge_row @ self.sko.a(k)
            C[place, :] = total
        return C.tocsr(), besides

    def _forces(self) -> Array:
        """f - b."""
        f = -np.concatenate([np.zeros(0), *(self.sko.b(k) for k in self.sko.nodes)])
        slices = self.task.graph.layout.v_slices
        for k in self.sko.nodes:
            push = self.H_inv[k].T @ self.task.acting[slices[k]]
            f[self.at[k]] += push
            p = self.sko.parent(k)
            if p >= 0:
                f[self.at[p]] -= self.sko.A(p, k) @ push
        return f

    def _compliance(self, M: sparse.csr_array, C: sparse.csr_array) -> Array:
        """The diagonal of C M^+ C*, about: with every node free, its inertia that of its diagonal; 1 where none is."""
        diagonal = M.diagonal()
        inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0.0)
        parts = np.asarray(C.power(2) @ inverse)
        return np.where(parts > 0.0, parts, 1.0)

    def _hinge_accelerations(self, alpha: Array) -> Array:
        """vdot(k) = (H*)^+ (alpha(k) - A*(p,k) alpha(p) - a(k))."""
        parts_of_v = [np.zeros(0)]
        for k in self.sko.nodes:
            parts = [x @ alpha[self.at[i]] for i, x in self._step(k, self.H_inv[k])]
            parts_of_v.append(np.sum(parts, axis=0) - self.H_inv[k] @ self.sko.a(k))
        return np.concatenate(parts_of_v)
