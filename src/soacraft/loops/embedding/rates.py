"""Derivatives of the blocks of a compound body along a motion that its closures allow.

Along velocities w = X c of the members' dofs each hinge moves with s(k) = H*(k) w(k). With x = diag{ crf(s(k)) } on the
members, dE_S = E_S x and dB_p = B_p x, so that (formula F15)

    dA(p,S) = A(p,S) x A_S,      d(H_S A_S) = (dH_S + H_S A_S E_S x) A_S,      dM_S = 0,      dA(S,c) = 0
    dH = dX* H_S A_S + X* d(H_S A_S),      dX_i = 0,      dX_d = -G_d^+ dG X      from  dG X + G dX = 0

and the rows of a closure change, for j the twist of its frame b seen from a along w, by

    dG X = Q (dJ_b - T dJ_a + crm(j) T J_a - dH_c* H_c*^+ (J_b - T J_a)) X,      T = phi*(a,b),

where dH_c* is taken along H_c*^+ j; those of a coupling by p''(q) w X. Cubic in the size of the compound body.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from soacraft.errors import LoopError
from soacraft.kinematics.row_derivatives import curvatures
from soacraft.kinematics.rows import LoopRows, seen_from
from soacraft.loops.embedding.model import EmbeddedModel
from soacraft.model.hinges.base import H_T_of, derivative_of_H_T_of, dH_of
from soacraft.model.states.hinge_fit import hinge_inverse
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.spatial.checks import Array
from soacraft.spatial.transforms import crf, crm


class UnitRate:
    """Derivatives of X and H of one unit, a body or a compound body, along velocities w (nv) of all dofs of the tree.
    """

    def __init__(self, embedded: EmbeddedModel, u: int, w: Array) -> None:
        self.found, self.u = embedded, u
        self.members = embedded.units.groups[u].members
        slices, tree = embedded.graph.layout.v_slices, embedded.tree
        self._w = {k: w[slices[k]] for k in self.members}
        self._at = {k: embedded.place(k)[1] for k in self.members}
        self._x = {k: crf(tree.H(k).T[:6] @ self._w[k]) for k in self.members}
        self._all = np.concatenate([self._w[k] for k in self.members])
        self._HA = embedded.compounds[u].HA if u in embedded.compounds else tree.H(self.members[0])

    # -- the tree inside ---------------------------------------------------------------------------------------------

    @cached_property
    def X(self) -> Array:
        """x A_S: dA(p,S) = A(p,S) X."""
        size = self._HA.shape[1]
        x = np.zeros((size, size))
        for k, block in self._x.items():
            start = self._at[k].start
            x[start : start + 6, start : start + 6] = block
        return self._outward(x)

    def _outward(self, x: Array) -> Array:
        """x A_S, by a sweep over the members: x is overwritten."""
        tree, at = self.found.tree, self._at
        for k in self.members:
            p = tree.parent(k)
            if p in at:
                x[:, at[k]] += x[:, at[p]] @ tree.A(p, k)
        return x

    @cached_property
    def _dHA(self) -> Array:
        """(dH_S + H_S A_S E_S x) A_S."""
        tree, rate, done = self.found.tree, np.zeros_like(self._HA), 0
        for k in self.members:
            place, rows = self._at[k], slice(done, done + tree.H(k).shape[0])
            carried = self._HA[:, place].copy()
            carried[rows] -= tree.H(k)
            six = slice(place.start, place.start + 6)
            rate[:, six] = carried[:, :6] @ self._x[k]
            rate[rows, six] += self._of_hinge(k)
            done = rows.stop
        return self._outward(rate)

    def _of_hinge(self, k: int) -> Array:
        """Derivative of the hinge map of a member in its axes, (nv, 6)."""
        layout, w = self.found.graph.layout, self._w[k]
        hinge, q = layout.bodies[k].hinge, self.found.one.state.q[layout.q_slices[k]]
        total = np.zeros((6, hinge.nv))
        for j in np.flatnonzero(w):
            if hinge.H_T_varies((int(j),)):
                total += w[j] * derivative_of_H_T_of(hinge, q, (int(j),))
        return np.asarray((layout.to_body[k] @ total).T)

    # -- the closures ------------------------------------------------------------------------------------------------

    @cached_property
    def dH(self) -> Array:
        """Derivative of the hinge map of the unit, (n_i, size)."""
        if self.u not in self.found.compounds:
            return self._dHA
        return np.asarray(self._dX.T @ self._HA + self.found.solved[self.u].X.T @ self._dHA)

    @cached_property
    def _dX(self) -> Array:
        """Derivative of X, the map from the independent dofs to all dofs of the unit, (n, n_i)."""
        compound, solved = self.found.compounds[self.u], self.found.solved[self.u]
        split, dX = compound.split, np.zeros_like(solved.X)
        opened = self._opened(solved.X)
        if split.dependent:
            dX[list(split.dependent)] = np.linalg.lstsq(solved.G_d, -opened, rcond=None)[0]
        d = compound.dof_units  # all in the units of rows and dofs
        per = d[list(split.independent)]
        residual = float(np.abs((opened + compound.G @ dX) / compound.units[:, None] / per).max(initial=0.0))
        X = solved.X * d[:, None] / per
        size = max(1.0, float(np.abs(X).max(initial=0.0))) * float(np.abs(d * self._all).max(initial=0.0))
        if residual > 1e3 * compound.zero * size:
            ties = ", ".join(map(repr, compound.group.ties))
            raise LoopError(
                f"the rank of {ties} of {self.found.graph.name!r} changes here, so its operators have no derivatives; "
                "step over this configuration."
            )
        return dX

    def _opened(self, X: Array) -> Array:
        """dG X, (m, n_i), in the order of the rows of the compound body."""
        one, ties = self.found.one, self.found.compounds[self.u].group.ties
        rows = [np.zeros((0, X.shape[1]))]
        rows += [self._of_loop(loop) @ X for loop in one.loops if loop.name in ties]
        place = {int(dof): i for i, dof in enumerate(self.found.compounds[self.u].dofs)}
        for row in one.couplings:
            if row.name in ties:
                bent = {place[dof]: second for dof, (second, _) in curvatures(one, row).items()}
                rows.append(sum((s * self._all[i] * X[i : i + 1] for i, s in bent.items()), np.zeros((1, X.shape[1]))))
        return np.concatenate(rows)

    def _of_loop(self, loop: LoopRows) -> Array:
        """The rows of a closure, turned: what is before X, (m, n)."""
        hinge, theta = loop.closure.hinge, loop.theta
        (J_a, dJ_a), (J_b, dJ_b) = self._frame(loop.closure.a), self._frame(loop.closure.b)
        T = seen_from(self.found.one.state, loop).phi().T
        J = J_b - T @ J_a
        j = J @ self._all
        inverse = hinge_inverse(H_T_of(hinge, theta), loop.length)
        turned = np.einsum("jam,j->am", dH_of(hinge, theta), inverse @ j)
        return np.asarray(loop.Q @ (dJ_b - T @ dJ_a + crm(j) @ T @ J_a - turned @ inverse @ J))

    def _frame(self, frame: Frame) -> tuple[Array, Array]:
        """Motion of a frame relative to the parent of the group, and its derivative, in the frame's axes, (6, n) each.
        """
        body = frame.carrier
        k = self.found.graph.layout.index[body] if isinstance(body, Body) else -1
        if k not in self._at:
            still = np.zeros((6, len(self._all)))
            return still, still
        start, to_frame = self._at[k].start, frame.offset.phi().T
        J, dJ = (to_frame @ x[:, start : start + 6].T for x in (self._HA, self._dHA))
        return J, dJ
