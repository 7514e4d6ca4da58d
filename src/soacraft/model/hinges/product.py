"""Products of constant screws: the mathematics that pins, slides, universal joints and gimbals share.

    pose(q) = exp(S_1 q_1) exp(S_2 q_2) ... exp(S_n q_n)

Column m of `H_T` is the screw S_m seen from the outboard frame. A later turn moves the columns before it:
`d H*_m / d q_j = -crm(H*_j) H*_m` for m < j, zero otherwise.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from soacraft.errors import ModelError, StateError
from soacraft.model.hinges.base import Hinge
from soacraft.spatial import Array, Pose, crm, frozen, number_text, shape_text, skew

#: Products of larger numbers could overflow.
LARGEST = 1e150
#: Screws whose directions differ by less, in radians or in the hinge's own length, are one motion counted twice.
PARALLEL = 1e-8


class Screw:
    """One constant screw S = [w; v] and its motions. With a = w/|w|, u = v/|w| and the angle t = |w| x,

        exp(S x) = (R, p),   R = I + sin t a~ + (1 - cos t) a~ a~
                             p = t a a* u - sin t a~ a~ u + (1 - cos t) a~ u

    so [R, p] is (1, t, sin t, 1 - cos t) times a constant 4 x 12 matrix. A pure translation (w = 0) has t = x
    and p = x v.
    """

    __slots__ = ("H_T", "basis", "rate", "turns", "vector")

    def __init__(self, vector: Array) -> None:
        w, v = vector[:3], vector[3:]
        rate = float(np.sqrt(w @ w))
        basis = np.zeros((4, 12))
        basis[0, :9] = np.eye(3).ravel()
        if rate == 0.0:
            rate, basis[1, 9:] = 1.0, v
        else:
            a, u = w / rate, v / rate
            K = skew(a)
            basis[1, 9:] = a * (a @ u)
            basis[2, :9], basis[2, 9:] = K.ravel(), -K @ (K @ u)
            basis[3, :9], basis[3, 9:] = (K @ K).ravel(), K @ u
        self.vector, self.rate, self.basis = frozen(vector.copy()), rate, frozen(basis)
        self.turns = bool(vector[:3].any())
        self.H_T = frozen(vector.reshape(6, 1).copy())

    def motion(self, x: Array) -> tuple[Array, Array]:
        """Rotation and translation of `exp(S x)`; x of any shape."""
        if x.ndim == 0:
            t = self.rate * float(x)
            half = math.sin(0.5 * t)
            T = np.array((1.0, t, math.sin(t), 2.0 * half * half)) @ self.basis
            return T[:9].reshape(3, 3), T[9:]
        angle = self.rate * x
        parts = (np.ones_like(angle), angle, np.sin(angle), 2.0 * np.sin(0.5 * angle) ** 2)
        T = np.stack(parts, axis=-1) @ self.basis
        return T[..., :9].reshape(*x.shape, 3, 3), T[..., 9:]

    @property
    def span(self) -> float:
        """Half the range of random coordinates: half a turn, or a metre for a pure translation."""
        v = self.vector[3:]
        return math.pi / self.rate if self.turns else 1.0 / float(np.sqrt(v @ v))


@lru_cache(maxsize=4096)
def _screw(data: bytes) -> Screw:
    """Screws are shared: most pins of a model have one of a few axes."""
    return Screw(np.frombuffer(data))


class ScrewProduct(Hinge):
    """A hinge made of constant screws in a row; nq = nv = their number. If all commute, `H_T` is constant."""

    batched = True

    _set_once = frozenset({"nq", "nv", "constant_H"})

    def __init__(self, screws: Array) -> None:
        if np.abs(screws).max(initial=0.0) > LARGEST:
            raise ModelError(f"{type(self).__name__}: the screws {number_text(screws)} are too large to work with; "
                             f"the largest entry allowed is {LARGEST:g}")
        self.nq = self.nv = len(screws)
        self._screws = tuple(_screw((s + 0.0).tobytes()) for s in screws)
        pairs = ((screws[j], screws[m]) for j in range(self.nv) for m in range(j))
        self.constant_H = all(not (crm(a) @ b).any() for a, b in pairs)
        self._constant = self._screws[0].H_T if self.nv == 1 else frozen(np.ascontiguousarray(screws.T))
        if self.nv > 1 and not self._independent():
            raise ModelError(f"{type(self).__name__}: the screws {number_text(screws)} are dependent in "
                             "every configuration, so a motion would be counted twice; remove one")

    @property
    def vectors(self) -> tuple[Array, ...]:
        """The screws S_1, S_2, ... as [w; v], in the order they follow each other."""
        return tuple(screw.vector for screw in self._screws)

    @property
    def dof_units(self) -> str:
        """r for a screw that turns, m for one that only travels."""
        return "".join("r" if screw.turns else "m" for screw in self._screws)

    def neutral(self) -> Array:
        """All zero."""
        return np.zeros(self.nq)

    def pose(self, q: Any) -> Pose:
        """`exp(S_1 q_1) exp(S_2 q_2) ...`"""
        q = self._coordinates(q)
        pose = Pose.unchecked(*self._screws[0].motion(q[..., 0]))
        for i in range(1, self.nv):
            pose = pose @ Pose.unchecked(*self._screws[i].motion(q[..., i]))
        return pose

    def H_T(self, q: Any) -> Array:
        """Column m: the screw S_m carried outward over the motions after it."""
        q = self._coordinates(q)
        if self.constant_H:
            H = self._constant
            return H if q.ndim == 1 else np.broadcast_to(H, (*q.shape[:-1], 6, self.nv))
        H = np.empty((*q.shape[:-1], 6, self.nv))
        last = self.nv - 1
        H[..., :, last] = self._screws[last].vector
        after = Pose.unchecked(*self._screws[last].motion(q[..., last]))
        for m in range(last - 1, -1, -1):
            H[..., :, m] = _seen_from(after, self._screws[m].vector)
            after = Pose.unchecked(*self._screws[m].motion(q[..., m])) @ after
        return H

    def dH(self, q: Any) -> Array:
        """`dH[j]` has the columns `-crm(H*_j) H*_m`, m < j; exact."""
        q = self._coordinates(q)
        dH = np.zeros((*q.shape[:-1], self.nv, 6, self.nv))
        if not self.constant_H:
            H = self.H_T(q)
            for j in range(1, self.nv):
                dH[..., j, :, :j] = -crm(H[..., j]) @ H[..., :j]
        return dH

    def derivative_of_H_T(self, q: Any, dofs: tuple[int, ...]) -> Array:
        """Columns `(-crm(H*_l)) ... (-crm(H*_j)) H*_m` for dofs j <= ... <= l, all after m; exact.
        A turn moves only what is inboard of it, so the order of differentiation does not count."""
        q = self._coordinates(q)
        H = self.H_T(q)
        if not dofs:
            return H
        columns = np.zeros((*q.shape[:-1], 6, self.nv))
        if self.H_T_varies(dofs):
            first = min(dofs)
            inner = np.asarray(H[..., :first])
            for j in sorted(dofs):
                inner = -crm(H[..., j]) @ inner
            columns[..., :first] = inner
        return columns

    def H_T_varies(self, dofs: tuple[int, ...]) -> bool:
        """True unless H* is constant, or the first dof is among `dofs`: no screw is inboard of it."""
        return not self.constant_H and min(dofs) > 0

    def bias(self, q: Any, v: Any) -> Array:
        """`-sum_j v_j crm(H*_j) W_j` with `W_j = sum_{m<j} H*_m v_m`; exact."""
        if self.constant_H:
            return super().bias(q, v)
        v = np.asarray(v, dtype=np.float64)
        H = self.H_T(q)
        W = np.cumsum(H * v[..., None, :], axis=-1)             # column j - 1 is W_j
        total = np.zeros(W.shape[:-1])
        for j in range(1, self.nv):
            total -= v[..., j, None] * (crm(H[..., j]) @ W[..., j - 1, None])[..., 0]
        return total

    def dbias(self, q: Any, v: Any) -> tuple[Array, Array]:
        """Derivatives of `bias`; exact, from the rule for `dH` applied twice."""
        if self.constant_H:
            return super().dbias(q, v)
        v = np.asarray(v, dtype=np.float64)
        H, dH = self.H_T(q), self.dH(q)
        W = np.cumsum(H * v[..., None, :], axis=-1)
        dW = np.cumsum(dH * v[..., None, None, :], axis=-1)     # dW[k, :, j - 1]: derivative of W_j along k
        in_q, in_v = np.zeros(W.shape), np.zeros(W.shape)
        for j in range(1, self.nv):
            X, vj = crm(H[..., j]), v[..., j, None, None]
            in_v[..., j] -= (X @ W[..., j - 1, None])[..., 0]
            in_v[..., :j] -= vj * (X @ H[..., :j])
            in_q += vj * (crm(W[..., j - 1]) @ dH[..., j].mT - X @ dW[..., j - 1].mT)
        return in_q, in_v

    def random(self, rng: np.random.Generator) -> Array:
        """Uniform over a turn (a metre either way for translations), away from singular configurations."""
        return self.random_of(rng, 1.0)

    def random_of(self, rng: np.random.Generator, length: float) -> Array:
        """Uniform over a turn (a length either way for translations), away from singular configurations."""
        span = self._spans(length)
        q = span * rng.uniform(-1.0, 1.0, self.nq)
        for _ in range(49 if self.nv > 1 else 0):
            if self._spread(q, length) > 0.1:
                break
            q = span * rng.uniform(-1.0, 1.0, self.nq)
        return q

    def _spans(self, length: float) -> Array:
        """Half the ranges of random coordinates: half a turn, or a length for a pure translation."""
        return np.array([s.span if s.turns else length * s.span for s in self._screws])

    def _spread(self, q: Array, length: float) -> float:
        """Smallest singular value of H_T with columns of unit length, travels in units of `length`: how independent the
        columns are.
        """
        H = self.H_T(q) / np.array([1.0, 1.0, 1.0, length, length, length])[:, None]
        return float(np.linalg.svd(H / np.sqrt(np.sum(H * H, axis=0)), compute_uv=False)[-1])

    def _independent(self) -> bool:
        """True if the columns are independent somewhere, with lengths in units of the hinge's largest travel per
        radian.
        """
        turning = [s.vector for s in self._screws if s.turns]
        length = max((float(np.linalg.norm(s[3:]) / np.linalg.norm(s[:3])) for s in turning), default=0.0) or 1.0
        tries = self._spans(length) * np.random.default_rng(0).uniform(-1.0, 1.0, (4, self.nq))
        return self.nv <= 6 and any(self._spread(q, length) > PARALLEL for q in tries)

    def _coordinates(self, q: Any) -> Array:
        q = np.asarray(q, dtype=np.float64)
        if q.ndim == 0 or q.shape[-1] != self.nq:
            raise StateError(f"coordinates of {self!r} must have shape (..., {self.nq}), "
                             f"got {shape_text(q.shape)}")
        return np.asarray(q)


def _seen_from(after: Pose, screw: Array) -> Array:
    """`phi* S` for phi of the pose `after`: w' = R* w, v' = R* (v + w x p)."""
    R, p = after.rotation, after.translation
    w, v = screw[:3], screw[3:]
    seen = np.empty((*after.batch_shape, 6))
    seen[..., :3] = w @ R
    seen[..., 3:] = ((v + p @ skew(w).T)[..., None, :] @ R)[..., 0, :]
    return seen
