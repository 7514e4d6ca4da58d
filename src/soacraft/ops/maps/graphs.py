"""Maps between trees of one system: other axes, a part of the bodies, another base or other rotors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.errors import ModelError, StateError
from soacraft.model.flat.axes import check_axes, force_map, velocity_map
from soacraft.model.sizes.lengths import longest_arm
from soacraft.ops.binding import GraphBinding
from soacraft.ops.maps.leaves import BlocksBy, ModelMap

Array = npt.NDArray[np.float64]

#: Largest difference of two poses, or of a relative velocity from the motions of a hinge: radians, and lengths relative
#: to the longest arm of the model. Rounding of a chain of a thousand bodies is 1e-13.
APART = 1e-9


class GraphMap(ModelMap):
    """A map between two trees."""

    a: GraphBinding
    b: GraphBinding

    def check(self) -> None:
        """Refuse different coordinates of the bodies that both have."""
        if self.a.state is self.b.state:
            return
        mine, other = ({body: s.state.q[..., body_slice] for body, body_slice in _coordinates(s)} for s in self._both())
        for body in mine:
            if body in other and not np.array_equal(np.broadcast_to(mine[body], other[body].shape), other[body]):
                raise StateError(
                    f"sc.ops.between maps between models in one pose, but the hinge of {body.name!r} is at "
                    f"{mine[body]} in {self.a.owner} and at {other[body]} in {self.b.owner}: bind both to one state."
                )

    def _both(self) -> tuple[GraphBinding, GraphBinding]:
        return self.a, self.b


def _coordinates(s: GraphBinding) -> list[tuple[Any, slice]]:
    layout = s.graph.layout
    return list(zip(layout.bodies, layout.q_slices, strict=True))


class AxesMap(GraphMap):
    """Map of the same bodies to other axes: V_b = T_b T_a^-1 V_a, body by body, rotors unchanged; v is v."""

    hinge_isometry = True

    @property
    def body_isometry(self) -> bool:  # type: ignore[override]
        """Rotations are, moved origins are not."""
        return "origin" not in (self.a.axes, self.b.axes)

    def hinge(self) -> BlocksBy:
        return {(k, k): np.eye(d) for k, d in enumerate(self.b.hinge.dims)}

    def body(self) -> BlocksBy:
        world = self.a.state.configuration.world
        into, out = velocity_map(check_axes(self.b.axes), world), force_map(check_axes(self.a.axes), world).mT
        T = into @ out
        return {(k, k): _with_rotors(T[..., k, :, :], d) for k, d in enumerate(self.b.body.dims)}

    def keeps_inertia(self) -> bool:
        return True

    def moved(self, a: Any, b: Any) -> AxesMap:
        return AxesMap(a, b)


class SubGraphMap(GraphMap):
    """A sub-graph a in its model b, in the same axes. Every other hinge is at rest, so that bodies outboard of the
    sub-graph move as the last of its bodies inboard of them, j:  V_b(k) = phi*(j,k) V_a(j). Left inverses pick off.
    """

    hinge_isometry = True

    def hinge(self) -> BlocksBy:
        return {(i, j): np.eye(self.a.hinge.dims[j]) for i, j in self._places()}

    def body(self) -> BlocksBy:
        sko = self.b.sko()
        inside = dict(self._places())
        blocks: dict[tuple[int, int], Array] = {(i, j): np.eye(self.a.body.dims[j]) for i, j in inside.items()}
        last: dict[int, tuple[int, Array]] = {}  # of bodies outside: the body inboard of them, with phi*
        for k in sko.base_to_tips():
            p = sko.parent(k)
            if k in inside or p < 0:
                continue
            edge = sko.A(p, k).mT
            if p in inside:
                last[k] = inside[p], edge
            elif p in last:
                last[k] = last[p][0], edge @ last[p][1]
            if k in last:
                blocks[k, last[k][0]] = last[k][1]
        return dict(sorted(blocks.items()))

    def left_body(self) -> BlocksBy:
        return {(j, i): np.eye(self.a.body.dims[j]) for i, j in self._places()}

    def _places(self) -> list[tuple[int, int]]:
        """(number in the model, number in the sub-graph) of its bodies."""
        where = self.b.graph.layout.index
        return [(where[body], j) for j, body in enumerate(self.a.graph.bodies)]

    def keeps_inertia(self) -> bool:
        return False  # the bodies outboard of it move with it

    def moved(self, a: Any, b: Any) -> SubGraphMap:
        return SubGraphMap(a, b)


class NamedMap(GraphMap):
    """Two models of bodies of the same names in the same places, in body axes: told from another base, with hinges
    turned around, with or without rotors. With J_a = phi* H* of a, for every body k of b, whose parent there is p:

        V_b(k) = V_a(k),    v_b(k) = H_b^+(k) (J_a(k) - phi_b*(p,k) J_a(p)) v_a

    refused where the hinge of k does not allow that motion. The speed of a rotor of b is v_b(k), by V_a(k) and V_a(p).
    """

    def check(self) -> None:
        """Refuse bodies in different poses."""
        (R, p), (S, r) = (s.state.configuration.world for s in (self.a, self.b))
        order = self._order()
        R, p = R[..., order, :, :], p[..., order, :]
        turn, shift = np.abs(R - S).max(axis=(-1, -2)), np.abs(p - r).max(axis=-1)
        bad = (turn > APART) | (shift > APART * np.maximum(self.arm(), np.abs(r).max(axis=-1)))
        if bad.any():
            k = int(np.argwhere(bad)[0][-1])
            raise StateError(
                f"sc.ops.between maps between models in one pose, but body {self.b.body.labels[k]!r} is "
                f"{float(shift[..., k].max()):.3g} m and {float(turn[..., k].max()):.3g} rad elsewhere in "
                f"{self.b.owner} than in {self.a.owner}: set the state of one by that of the other."
            )

    def _check_velocities(self) -> None:
        """Refuse bodies with different velocities: x0 depends on them."""
        V, other = (s.state.motion.V * np.repeat([1.0, 1.0 / (self.arm() or 1.0)], 3) for s in (self.a, self.b))
        gap = np.abs(V[self._order()] - other).max(axis=-1)
        if (gap > APART * max(np.abs(V).max(initial=0.0), np.abs(other).max(initial=0.0))).any():
            raise StateError(
                f"x0 of a map is for models that move alike, but body {self.b.body.labels[int(np.argmax(gap))]!r} "
                f"moves otherwise in {self.b.owner} than in {self.a.owner}: set v there to Xt v."
            )

    def arm(self) -> float:
        """The longest arm of both."""
        return max(longest_arm(self.a.graph), longest_arm(self.b.graph))

    def _order(self) -> list[int]:
        """The number in a of each body of b."""
        number = {label: i for i, label in enumerate(self.a.body.labels)}
        return [number[label] for label in self.b.body.labels]

    def hinge(self) -> BlocksBy:
        order, cols, tree = self._order(), self.a.hinge, self.a.sko().tree
        found = {}
        for k, X in self._along(self._jacobians()):
            p = self.b.sko().parent(k)
            here, there = tree.ancestors(order[k]), tree.ancestors(order[p]) if p >= 0 else []
            for j in sorted({*here} ^ {*there}):  # along all others both bodies move alike
                if cols.dims[j] and self.b.hinge.dims[k]:
                    found[k, j] = X[..., cols.block(j)]
        return found

    def _along(self, x: Sequence[Array], less: Sequence[Array] | None = None) -> list[tuple[int, Array]]:
        """The v of H*(k) v = x(k) - phi*(p,k) x(p) - less(k) for each body k of b; x has (6, m) for each body of a."""
        sko, order = self.b.sko(), self._order()
        units = np.repeat([1.0, 1.0 / (self.arm() or 1.0)], 3)[:, None]
        found = []
        for k in sko.nodes:
            p, terms = sko.parent(k), [x[order[k]]] if less is None else [x[order[k]], -less[k]]
            if p >= 0:
                terms.append(-sko.A(p, k)[..., :6, :6].mT @ x[order[p]])
            H_T, y = sko.H(k)[..., :6].mT * units, sum(terms) * units
            v = np.linalg.pinv(H_T) @ y
            if np.abs(H_T @ v - y).max(initial=0.0) > APART * max(np.abs(t * units).max(initial=0.0) for t in terms):
                raise ModelError(
                    f"no map leads from {self.a.owner} to {self.b.owner}: bodies of the first move in a way that the "
                    f"hinge of {self.b.body.labels[k]!r} in the second does not allow."
                )
            found.append((k, v))
        return found

    def _jacobians(self) -> list[Array]:
        """V_a(k) of unit velocities, (6, nv) by k."""
        sko, cols = self.a.sko(), self.a.hinge
        J: list[Array] = []
        for k in sko.nodes:
            p = sko.parent(k)
            one = np.zeros((*self.a.batch, 6, cols.size)) if p < 0 else sko.A(p, k)[..., :6, :6].mT @ J[p]
            one = np.array(one)
            one[..., cols.block(k)] += sko.H(k)[..., :6].mT
            J.append(one)
        return J

    def body(self) -> BlocksBy:
        order, dims = self._order(), self.a.body.dims
        sko = self.b.sko()
        found: dict[tuple[int, int], Array] = {}
        for k, d in enumerate(self.b.body.dims):
            found[k, order[k]] = np.zeros((*self.b.batch, d, dims[order[k]]))
            found[k, order[k]][..., :6, :6] = np.eye(6)
            if d == 6:
                continue
            p, S = sko.parent(k), np.linalg.pinv(sko.H(k)[..., :6].mT)
            found[k, order[k]][..., 6:, :6] = S
            if p >= 0:
                found[k, order[p]] = np.zeros((*self.b.batch, d, dims[order[p]]))
                found[k, order[p]][..., 6:, :6] = -S @ sko.A(p, k)[..., :6, :6].mT
        return found

    def x0(self) -> Array:
        """H_b^+ (alpha(k) - phi* alpha(p) - a_b(k)) of the accelerations alpha that a has at vdot = 0."""
        self.check()
        self._check_velocities()
        state, sko = self.a.state, self.b.sko()
        alpha = state.replace(vdot=np.zeros(self.a.hinge.size)).alpha
        found = np.zeros(self.b.hinge.size)
        for k, v in self._along([x[:, None] for x in alpha], [sko.a(k)[:6, None] for k in sko.nodes]):
            found[self.b.hinge.block(k)] = v[:, 0]
        return found

    def keeps_inertia(self) -> bool:
        """True if all bodies are rigid and have equal inertias; False with rotors, whose speeds are other entries."""
        if any(d != 6 for s in (self.a, self.b) for d in s.body.dims):
            return False
        return np.array_equal(self.a.graph.layout.M[self._order()], self.b.graph.layout.M)

    def moved(self, a: Any, b: Any) -> NamedMap:
        return NamedMap(a, b)


def _with_rotors(T: Array, d: int) -> Array:
    if d == 6:
        return T
    wide = np.zeros((*T.shape[:-2], d, d))
    wide[..., :, :] = np.eye(d)
    wide[..., :6, :6] = T
    return wide
