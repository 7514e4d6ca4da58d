"""The compiled twins of the recursions, on flat arrays. Batched blocks run the Python recursion itself.

A product with a vector runs its program (`ops/programs`). `Sweeps` and `PackedBlocks` are factors on their own: what
`is_zero`, `verify` and derivatives apply one by one, and the fallback where there is no program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

import numpy as np
import numpy.typing as npt

from soacraft import _core, recursions
from soacraft.algebra.spaces.space import Space, offsets_of
from soacraft.algebra.spaces.tree import Tree
from soacraft.model.flat.sko import SKOModel
from soacraft.recursions.articulated_body import ArticulatedBody
from soacraft.recursions.forward_dynamics import ForwardDynamics
from soacraft.recursions.gather import gather, gather_tilde
from soacraft.recursions.scatter import scatter, scatter_tilde
from soacraft.recursions.types import Blocks, Nodes, Stacked, Weights

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: A hinge inertia this small relative to what it was computed from is looked at again, as in the kernels.
DOUBTFUL = _core.DOUBT
PackedModel = tuple[Integers, Integers, Integers, Integers, Array, Array]  # order, parent, offsets, weights, hinge maps


class Sweeps:
    """The weights A(p(k), k) of a tree, packed once, for products of A, A - I and their transposes with columns."""

    def __init__(self, tree: Tree, space: Space, edges: Sequence[Array | None]) -> None:
        self.tree, self.space, self.edges = tree, space, edges
        self.batched = any(x is not None and x.ndim > 2 for x in edges)
        if not self.batched:
            flat = [np.empty(0) if x is None else np.ravel(x) for x in edges]
            self._edge = np.concatenate([np.empty(0), *flat])
            self._edge_offset = offsets_of(map(len, flat))
            self._order = np.array(tree.base_to_tips(), dtype=np.int64)
            self._parent = np.array(tree.parents, dtype=np.int64)

    def A(self, p: int, k: int) -> Array:
        """The weight of the edge from k to its parent."""
        weight = self.edges[k]
        assert weight is not None and self.tree.parents[k] == p
        return weight

    def gather(self, x: Array, tilde: bool = False) -> Array:
        """A x, or (A - I) x."""
        if self.batched:
            return self._recursion(gather_tilde if tilde else gather, x)
        return self._compiled(_core.gather, x, tilde)

    def scatter(self, x: Array, tilde: bool = False) -> Array:
        """A* x, or (A - I)* x."""
        if self.batched:
            return self._recursion(scatter_tilde if tilde else scatter, x)
        return self._compiled(_core.scatter, x, tilde)

    def _compiled(self, sweep: Callable[..., Array], x: Array, tilde: bool) -> Array:
        parts = (self._order, self._parent, self.space.offsets, self._edge, self._edge_offset)
        return on_columns(lambda flat: sweep(*parts, flat, tilde), x)

    def _recursion(self, sweep: Callable[..., dict[int, Array]], x: Array) -> Array:
        y = sweep(self.tree, self.A, self.space.split(x))
        batch = np.broadcast_shapes(*{block.shape[:-2] for block in y.values()}) if y else x.shape[:-2]
        blocks = [np.broadcast_to(y[k], (*batch, *y[k].shape[-2:])) for k in range(self.tree.n)]
        return np.concatenate(blocks, axis=-2) if blocks else x


class PackedBlocks:
    """A list of blocks X(i, j), packed once, for products with columns."""

    def __init__(self, rows: Space, cols: Space, entries: Mapping[tuple[int, int], Array]) -> None:
        where = np.array(list(entries), dtype=np.int64).reshape(-1, 2)
        flat = [np.ravel(x) for x in entries.values()]
        offset = offsets_of(map(len, flat))
        data = np.concatenate([np.empty(0), *flat])
        row, col = np.ascontiguousarray(where[:, 0]), np.ascontiguousarray(where[:, 1])
        self._parts = (row, col, rows.offsets, cols.offsets, data, offset)

    def apply(self, x: Array, transposed: bool) -> Array:
        """X x, or X* x."""
        return on_columns(lambda flat: _core.block_apply(*self._parts, flat, transposed), x)


def on_columns(sweep: Callable[[Array], Array], x: Array) -> Array:
    """Run a sweep on (..., N, m) by laying the batch next to the columns."""
    if x.ndim == 2:
        return sweep(np.ascontiguousarray(x))
    *batch, size, m = x.shape
    count = math.prod(batch)
    flat = np.ascontiguousarray(np.moveaxis(x.reshape(count, size, m), 0, 1)).reshape(size, count * m)
    y = sweep(flat)
    return np.moveaxis(y.reshape(len(y), count, m), 1, 0).reshape(*batch, len(y), m)


# -- blocks by node -----------------------------------------------------------------------------------------------


def forward_lyapunov(tree: Nodes, A: Weights, X: Blocks, B: Weights | None = None) -> Stacked:
    """`recursions.forward_lyapunov`, compiled."""
    return _lyapunov(tree, A, X, B, backward=False)


def backward_lyapunov(tree: Nodes, A: Weights, X: Blocks, B: Weights | None = None) -> Stacked:
    """`recursions.backward_lyapunov`, compiled."""
    return _lyapunov(tree, A, X, B, backward=True)


def _lyapunov(tree: Nodes, A: Weights, X: Blocks, B: Weights | None, backward: bool) -> Stacked:
    order, parent = _numbering(tree)
    edges = [(p, k) for k, p in enumerate(parent.tolist()) if p >= 0]
    diagonal = [X[k] for k in range(len(order))]
    left = [A(p, k) for p, k in edges]
    right = left if B is None else [B(p, k) for p, k in edges]
    if _batched(diagonal, left, right):
        recursion = recursions.backward_lyapunov if backward else recursions.forward_lyapunov
        return recursion(tree, A, X, B)
    shapes = [x.shape for x in diagonal]
    sizes = offsets_of(r for r, _ in shapes), offsets_of(c for _, c in shapes)
    Y = _core.lyapunov(order, parent, *sizes, _flat(left), _flat(right), _flat(diagonal), backward)
    return _cut(Y, shapes)


def composite_body(sko: SKOModel) -> Stacked:
    """`recursions.composite_body`, compiled."""
    return forward_lyapunov(sko, sko.A, [sko.M(k) for k in sko.nodes])


def articulated_body(sko: SKOModel) -> ArticulatedBody:
    """`recursions.articulated_body`, compiled."""
    A, H, M = _blocks(sko)
    if _batched(A, H, M):
        return recursions.articulated_body(sko)
    P, P_plus, D, G = _riccati(sko, _packed(sko, A, H), _flat(M))
    body, hinge = [(d, d) for d in sko.dims], [(r, r) for r in sko.nvs]
    return ArticulatedBody(
        _cut(P, body), _cut(P_plus, body), _cut(D, hinge), _cut(G, zip(sko.dims, sko.nvs, strict=True))
    )


def forward_dynamics(sko: SKOModel, T: Blocks) -> ForwardDynamics:
    """`recursions.forward_dynamics`, compiled."""
    A, H, M = _blocks(sko)
    a, b = ([x(k)[..., None] for k in sko.nodes] for x in (sko.a, sko.b))
    force = [T[k] for k in sko.nodes]
    if not sko.n or _batched(A, H, M, a, b, force):
        return recursions.forward_dynamics(sko, T)
    packed = _packed(sko, A, H)
    P, _, D, G = _riccati(sko, packed, _flat(M))
    forces = np.concatenate(force)
    m = forces.shape[-1]
    bias, push = (np.repeat(np.concatenate(x), m, axis=1) for x in (a, b))
    vdot, alpha, z, eps, nu = _core.ab_dynamics(*packed, P, D, G, forces, bias, push)
    body, hinge = [(d, m) for d in sko.dims], [(r, m) for r in sko.nvs]
    return ForwardDynamics(_cut(vdot, hinge), _cut(alpha, body), _cut(z, body), _cut(eps, hinge), _cut(nu, hinge))


def _riccati(sko: SKOModel, packed: PackedModel, M: Array) -> tuple[Array, Array, Array, Array]:
    """P, P+, D and G one after the other.

    The core doubts a hinge whose D is small relative to what it was computed from. Then the recursion, which measures
    that more closely, decides and refuses by name.
    """
    P, P_plus, D, G, doubtful = _core.riccati(*packed, M, DOUBTFUL)
    if doubtful < 0:
        return P, P_plus, D, G
    solved = recursions.articulated_body(sko)
    P, P_plus, D, G = (_flat(part[k] for k in sko.nodes) for part in solved)
    return P, P_plus, D, G


def beyond_doubt(sko: SKOModel) -> bool:
    """True if every hinge of a model at one state has inertia beyond the doubt of the core."""
    A, H, M = _blocks(sko)
    *_, doubtful = _core.riccati(*_packed(sko, A, H), _flat(M), DOUBTFUL)
    return doubtful < 0


def _blocks(sko: SKOModel) -> tuple[list[Array], list[Array], list[Array]]:
    """A, H and M by node; a base node has no A."""
    edges = [x for x in sko.edges if x is not None]
    return edges, [sko.H(k) for k in sko.nodes], [sko.M(k) for k in sko.nodes]


def _packed(sko: SKOModel, A: Sequence[Array], H: Sequence[Array]) -> PackedModel:
    return *_numbering(sko), offsets_of(sko.dims), offsets_of(sko.nvs), _flat(A), _flat(H)


def _numbering(tree: Nodes) -> tuple[Integers, Integers]:
    """The nodes parents first, and the parent of each."""
    order = np.array(tuple(tree.base_to_tips()), dtype=np.int64)
    return order, np.array([tree.parent(k) for k in range(len(order))], dtype=np.int64)


def _batched(*lists: Iterable[Array]) -> bool:
    return any(x.ndim > 2 for blocks in lists for x in blocks)


def _flat(blocks: Iterable[Array]) -> Array:
    """Blocks one after the other, row by row."""
    return np.concatenate([np.empty(0), *(x.ravel() for x in blocks)])


def _cut(data: Array, shapes: Iterable[tuple[int, ...]]) -> Stacked:
    """Blocks of the given shapes by node, as views of where they lie one after the other; runs of a shape at once."""
    blocks: list[Array] = []
    flat, start = data.ravel(), 0
    for shape, run in groupby(shapes):
        count = sum(1 for _ in run)
        stop = start + count * math.prod(shape)
        blocks.extend(flat[start:stop].reshape(count, *shape))
        start = stop
    return dict(enumerate(blocks))
