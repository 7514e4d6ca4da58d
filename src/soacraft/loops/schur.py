"""The Schur complement of the closures from structure: Q B* Omega B Q* and its parts in hinge space.

A row of a loop is a map W of body velocities, a row of a coupling a map p of hinge velocities. Since

    (I - H psi K) H phi = H psi,     Mcal^-1 = (I - H psi K)* D^-1 (I - H psi K)

both become, for (I - H psi K) Gc*, sources in body space and local parts in hinge space,

    loop:      W* at its bodies                               coupling:  p* in its hinge and -K p* at the parent body
    S(i,j) = sum of  W_i(k) psi*(c,k) Upsilon(c) psi(c,l) W_j*(l)          c the closest common ancestor of k and l
           + sum of  p_i(n) D^-1(n) H(n) psi(n,l) W_j*(l)  and its mirror image  +  p_i(n) D^-1(n) p_j*(n)

so two closures meet in S only when they have a moving ancestor in common. No dense solve with Mcal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from soacraft.kinematics.rows import Constraints, LoopRows
from soacraft.kinematics.tolerances import LEVER, SCALED
from soacraft.model.flat.sko import SKOModel
from soacraft.model.states.kinematics import node_block, pose_of_frame
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Body
from soacraft.recursions import _backend, gather, scatter
from soacraft.recursions.types import Stacked
from soacraft.spatial.checks import Array
from soacraft.spatial.transforms import phi


@dataclass(eq=False)
class _Source:
    """W at body k, and on its way to the base: `Z[c] = W psi*(c,k)`, from k inward."""

    node: int
    Z: dict[int, Array]


@dataclass(eq=False)
class _Row:
    """One closure or coupling."""

    where: slice
    sources: list[_Source] = field(default_factory=list)
    local: list[tuple[int, Array]] = field(default_factory=list)


class Compliance:
    """Gc Mcal^-1 Gc* by blocks of closures, and Mcal^-1 Gc* lambda. Blocks: O(depth) each.

    `reference` (m) measures what is zero: for a
    loop the largest compliance of its frames in turns, and in slides, each alone and open, as sums of magnitudes; for a
    coupling the sum of those of its dofs, each alone.
    """

    def __init__(self, rows: Constraints, sko: SKOModel) -> None:
        self.rows, self.sko = rows, sko
        body = _backend.articulated_body(sko)
        self.D = body.D
        self.D_inv = {k: np.linalg.inv(D) if D.size > 1 else 1.0 / D for k, D in body.D.items()}
        moving = [k for k in sko.nodes if sko.parent(k) >= 0]
        self._K = {k: sko.A(sko.parent(k), k) @ body.G[k] for k in moving}
        self._psi = {k: sko.A(sko.parent(k), k) - self._K[k] @ sko.H(k) for k in moving}
        X: Stacked = {k: sko.H(k).T @ self.D_inv[k] @ sko.H(k) for k in sko.nodes}
        self._Upsilon = _backend.backward_lyapunov(sko, self.psi, X)
        self._still = _still(sko)
        self.list = [_Row(place) for _, place in rows.places]
        for row, loop in zip(self.list, rows.loops, strict=False):
            row.sources = [self._climb(k, W) for k, W in loop.W.items() if not self._still[k]]
        for row, coupling in zip(self.list[len(rows.loops) :], rows.couplings, strict=True):
            self._in_hinge_space(row, coupling.rates)
        self.reference = self._reference()

    def psi(self, p: int, k: int) -> Array:
        """psi(p,k) = A(p,k) (I - G(k) H(k))."""
        return self._psi[k]

    # -- blocks ----------------------------------------------------------------------------------------------

    def _climb(self, k: int, W: Array) -> _Source:
        Z, at = {}, k
        while at >= 0 and not self._still[at]:
            Z[at] = W
            p = self.sko.parent(at)
            if p >= 0 and not self._still[p]:
                W = W @ self._psi[at].T
            at = p
        return _Source(k, Z)

    def _in_hinge_space(self, row: _Row, rates: dict[int, float]) -> None:
        slices = self.rows.graph.layout.v_slices
        by_node: dict[int, Array] = {}
        for i, rate in rates.items():
            k = next(k for k, s in enumerate(slices) if s.start <= i < s.stop)
            p = by_node.setdefault(k, np.zeros((1, slices[k].stop - slices[k].start)))
            p[0, i - slices[k].start] = rate
        for k, p in by_node.items():
            row.local.append((k, p))
            if self.sko.parent(k) >= 0 and not self._still[self.sko.parent(k)]:
                row.sources.append(self._climb(self.sko.parent(k), -p @ self._K[k].T))

    @cached_property
    def blocks(self) -> dict[tuple[int, int], Array]:
        """Blocks that are not zero by structure, by the numbers (i, j) of closures, i <= j."""
        meeting: dict[int, list[int]] = {}  # by the base body they hang from
        for i, row in enumerate(self.list):
            roots = {list(x.Z)[-1] for x in row.sources} | {self._root(n) for n, _ in row.local}
            for root in roots:
                meeting.setdefault(root, []).append(i)
        pairs = {(i, j) for rows in meeting.values() for a, i in enumerate(rows) for j in rows[a:]}
        blocks = {}
        for i, j in sorted(pairs):
            block = self._block(self.list[i], self.list[j])
            if i == j:
                block = 0.5 * (block + block.T)
            if block.any() or i == j:
                blocks[i, j] = block
        return blocks

    def is_like(self, reference: Array | None) -> bool:
        """True if the reference compliance of another state still fits: the largest ratio of the diagonal to it is
        within `SCALED`.
        """
        if reference is None:
            return False
        scale = np.where(reference > 0.0, reference, 1.0)
        pairs = [(self.blocks.get((i, i)), scale[row.where]) for i, row in enumerate(self.list)]
        largest = max((float((block.diagonal() / x).max()) for block, x in pairs if block is not None), default=0.0)
        return SCALED[0] < largest < SCALED[1]

    def _reference(self) -> Array:
        sizes = np.zeros(self.rows.size)
        for row, loop in zip(self.list, self.rows.loops, strict=False):
            turn, slide = 0.0, 0.0
            for k, X in frame_maps(self.rows.state, loop).items():
                if not self._still[k]:
                    size = np.abs(X)  # before anything cancels: rounding is measured by this
                    compliance = np.diagonal(size @ np.abs(self._Upsilon[k]) @ size.T)
                    turn, slide = turn + compliance[:3].max(), slide + compliance[3:].max()
            square = loop.length**2
            turn, slide = max(turn, LEVER * slide / square), max(slide, LEVER * turn * square)
            sizes[row.where] = turn * np.sum(loop.Q[:, :3] ** 2, axis=1) + slide * np.sum(loop.Q[:, 3:] ** 2, axis=1)
        for row in self.list[len(self.rows.loops) :]:
            sizes[row.where] = sum(self._alone(n, j, p[0, j]) for n, p in row.local for j in range(p.shape[1]))
        return sizes

    def _alone(self, n: int, j: int, rate: float) -> float:
        """rate^2 (Mcal^-1)(j,j) of one dof of hinge n: D^-1 + K* Upsilon(p) K."""
        compliance, p = float(self.D_inv[n][j, j]), self.sko.parent(n)
        if p >= 0:
            K = self._K[n][:, j]
            compliance += float(K @ self._Upsilon[p] @ K)
        return rate**2 * compliance

    def _root(self, k: int) -> int:
        while (p := self.sko.parent(k)) >= 0 and not self._still[p]:
            k = p
        return k

    def _block(self, i: _Row, j: _Row) -> Array:
        S = np.zeros((i.where.stop - i.where.start, j.where.stop - j.where.start))
        for x in i.sources:
            for y in j.sources:
                S += self._between(x, y)
        for n, p in i.local:
            S += p @ self.D_inv[n] @ self._at_hinge(n, j)
        for n, p in j.local:
            for x in i.sources:
                if n in x.Z:
                    S += x.Z[n] @ self.sko.H(n).T @ self.D_inv[n] @ p.T
        return S

    def _between(self, x: _Source, y: _Source) -> Array:
        """W_x Omega(k,l) W_y*; 0 when nothing that moves carries both."""
        c = next((c for c in x.Z if c in y.Z), None)
        return np.zeros(()) if c is None else x.Z[c] @ self._Upsilon[c] @ y.Z[c].T

    def _at_hinge(self, n: int, j: _Row) -> Array:
        """The part in hinge n of (I - H psi K) Gc_j*."""
        block_at = np.zeros((self.sko.nvs[n], j.where.stop - j.where.start))
        for y in j.sources:
            if n in y.Z:
                block_at += self.sko.H(n) @ y.Z[n].T
        for m, p in j.local:
            if m == n:
                block_at += p.T
        return block_at

    # -- products --------------------------------------------------------------------------------------------

    def accelerations(self, multipliers: Array) -> Array:
        """Mcal^-1 Gc* lambda = (I - H psi K)* D^-1 [p* lambda + H psi (W* lambda - K p* lambda)].

        One gather, one scatter.
        """
        sko = self.sko
        push = {k: np.zeros((d, 1)) for k, d in enumerate(sko.dims)}
        at_hinge = {k: np.zeros((r, 1)) for k, r in enumerate(sko.nvs)}
        for row in self.list:
            part = multipliers[row.where, None]
            for x in row.sources:
                push[x.node] += x.Z[x.node].T @ part
            for n, p in row.local:
                at_hinge[n] += p.T @ part
        z = gather(sko, self.psi, push)
        nu = {k: self.D_inv[k] @ (at_hinge[k] + sko.H(k) @ z[k]) for k in sko.nodes}
        y = scatter(sko, self.psi, {k: sko.H(k).T @ nu[k] for k in sko.nodes})
        for k in self._K:
            nu[k] = nu[k] - self._K[k].T @ y[sko.parent(k)]
        return np.concatenate([np.zeros(0), *(nu[k][:, 0] for k in sko.nodes)])


def frame_maps(state: State, loop: LoopRows) -> dict[int, Array]:
    """The maps from the velocities of the nodes of its bodies to those of the loop's frames, both at b in the axes of
    b, (6, size of the node)."""
    closure, index = loop.closure, state.configuration.layout.index
    (R_a, p_a), (R_b, p_b) = pose_of_frame(state, closure.a), pose_of_frame(state, closure.b)
    X = phi(R_a.T @ R_b, R_a.T @ (p_b - p_a)).T
    ends = ((closure.b, np.eye(6)), (closure.a, X))
    return {index[x.carrier]: jacobian @ node_block(state, x) for x, jacobian in ends if isinstance(x.carrier, Body)}


def _still(sko: SKOModel) -> list[bool]:
    """True for each node with no moving hinge between it and the base: it has no part in any compliance."""
    still = [False] * sko.n
    for k in sko.base_to_tips():
        p = sko.parent(k)
        still[k] = sko.nvs[k] == 0 and (p < 0 or still[p])
    return still
