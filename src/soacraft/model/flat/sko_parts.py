"""Parts of SKO models: sub-graphs of some nodes, and models with groups of nodes as one node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.errors import ModelError
from soacraft.model.flat.sko import SKOModel
from soacraft.model.flat.sko_functions import SKOFunctions

Array = npt.NDArray[np.float64]
#: The parents, and from a model the blocks A, H, M, a and b by node of the part.
Blocks = dict[str, list[Any]]


def numbers_of(model: SKOModel, nodes: Any, what: str) -> list[int]:
    """The numbers of nodes, each named once, in the order of the model."""
    if isinstance(nodes, str) or not isinstance(nodes, Sequence | set | frozenset):
        raise ModelError(f"{what} takes a list of nodes, got {nodes!r:.60}; give [{nodes!r:.60}, ...].")
    found = [model.tree.number(node) for node in nodes]
    twice = next((k for k in found if found.count(k) > 1), None)
    if twice is not None:
        raise ModelError(f"{what}: node {model.names[twice]!r} is named twice.")
    if not found:
        raise ModelError(f"{what} needs a node at least.")
    return sorted(found)


# -- sub-graphs -------------------------------------------------------------------------------------------------------


def subgraph(model: SKOModel, nodes: Any) -> SKOModel:
    """The model of some nodes; see `SKOModel.subgraph`."""
    kept = numbers_of(model, nodes, "subgraph")
    tree = model.tree
    roots = [k for k in kept if tree.parents[k] not in kept]
    inner = [k for k in roots if tree.parents[k] >= 0]
    if len(roots) > 1 and inner:
        raise ModelError(
            f"a sub-graph is connected, or on the root: {model.names[roots[0]]!r} and {model.names[roots[1]]!r} are "
            "not joined by nodes of it. Add the nodes between them."
        )
    parents = [kept.index(tree.parents[k]) if tree.parents[k] in kept else -1 for k in kept]

    def blocks(m: SKOModel) -> Blocks:
        return {
            "A": [None if parents[i] < 0 else m.edges[k] for i, k in enumerate(kept)],
            "H": [m.H(k) for k in kept],
            "M": [m.M(k) for k in kept],
            "a": [m.a(k) for k in kept],
            "b": [m.b(k) for k in kept],
        }

    words = tuple([side[k] for k in kept] for side in model.units)
    return _made(model, parents, [model.names[k] for k in kept], (words[0], words[1]), blocks, kept)


# -- several nodes as one ---------------------------------------------------------------------------------------------


def aggregated(model: SKOModel, groups: Sequence[Any]) -> SKOModel:
    """The model with each group of nodes as one node; see `SKOModel.aggregated`."""
    tree = model.tree
    members = [numbers_of(model, group, "aggregated") for group in groups]
    taken = [k for group in members for k in group]
    if len(set(taken)) < len(taken):
        twice = next(k for k in taken if taken.count(k) > 1)
        raise ModelError(f"node {model.names[twice]!r} is named in two groups; it can be in one only.")
    for group in members:
        above = {tree.parents[k] for k in group} - set(group)
        if len(above) > 1:
            held = ", ".join("the root" if p < 0 else repr(model.names[p]) for p in sorted(above))
            raise ModelError(
                f"the nodes {', '.join(repr(model.names[k]) for k in group)} have the parents {held}: a group has one "
                "parent outside of it. Add the nodes between them."
            )
    units = sorted([*members, *([k] for k in range(tree.n) if k not in taken)])
    of = {k: u for u, group in enumerate(units) for k in group}
    outside = [next(p for k in group if (p := tree.parents[k]) not in group) for group in units]
    above_of = [of[p] if p >= 0 else -1 for p in outside]
    order = [sorted(group, key=lambda k: tree.depth[k]) for group in units]

    def blocks(m: SKOModel) -> Blocks:
        found: Blocks = {name: [] for name in "AHMab"}
        for u, group in enumerate(order):
            A_S = _propagator(m, group)
            H = _diagonal([m.H(k) for k in group]) @ A_S
            found["A"].append(None if above_of[u] < 0 else _edge(m, order[above_of[u]], group) @ A_S)
            found["H"].append(H)
            found["M"].append(_diagonal([m.M(k) for k in group]))
            a = np.concatenate([np.broadcast_to(x, (*A_S.shape[:-2], x.shape[-1])) for x in map(m.a, group)], axis=-1)
            found["a"].append((A_S.mT @ a[..., None])[..., 0])
            found["b"].append(_joined([m.b(k) for k in group]))
        return found

    words = tuple(["".join(side[k] for k in group) for group in order] for side in model.units)
    names = ["+".join(model.names[k] for k in group) for group in order]
    return _made(model, above_of, names, (words[0], words[1]), blocks, [k for group in order for k in group])


def _propagator(m: SKOModel, group: Sequence[int]) -> Array:
    """A_S = (I - E_S)^-1 of a group, its nodes base first."""
    starts = np.cumsum([0, *(m.dims[k] for k in group)])
    batch = np.broadcast_shapes(*(m.M(k).shape[:-2] for k in group), *(_batch(m.edges[k]) for k in group))
    found = np.broadcast_to(np.eye(int(starts[-1])), (*batch, int(starts[-1]), int(starts[-1]))).copy()
    for j, k in enumerate(group):
        p = m.tree.parents[k]
        if p in group:  # the column block of k is that of its parent, carried
            i = list(group).index(p)
            above = found[..., :, starts[i] : starts[i + 1]]
            found[..., : starts[j], starts[j] : starts[j + 1]] = (above @ m.A(p, k))[..., : starts[j], :]
    return found


def _batch(block: Array | None) -> tuple[int, ...]:
    return () if block is None else block.shape[:-2]


def _edge(m: SKOModel, above: Sequence[int], group: Sequence[int]) -> Array:
    """The weights between the nodes of two groups."""
    rows, cols = (np.cumsum([0, *(m.dims[k] for k in nodes)]) for nodes in (above, group))
    batch = np.broadcast_shapes(*(_batch(m.edges[k]) for k in group))
    found = np.zeros((*batch, int(rows[-1]), int(cols[-1])))
    for j, k in enumerate(group):
        p = m.tree.parents[k]
        if p in above:
            i = list(above).index(p)
            found[..., rows[i] : rows[i + 1], cols[j] : cols[j + 1]] = m.A(p, k)
    return found


def _diagonal(blocks: Sequence[Array]) -> Array:
    """Blocks on the diagonal of one."""
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in blocks))
    found = np.zeros((*batch, sum(x.shape[-2] for x in blocks), sum(x.shape[-1] for x in blocks)))
    i = j = 0
    for x in blocks:
        found[..., i : i + x.shape[-2], j : j + x.shape[-1]] = x
        i, j = i + x.shape[-2], j + x.shape[-1]
    return found


def _joined(vectors: Sequence[Array]) -> Array:
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in vectors))
    return np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in vectors], axis=-1)


# -- both -------------------------------------------------------------------------------------------------------------


def _made(
    model: SKOModel,
    parents: Sequence[int],
    names: Sequence[str],
    units: tuple[Sequence[str], Sequence[str]],
    blocks: Callable[[SKOModel], Blocks],
    kept: Sequence[int],
) -> SKOModel:
    """A model of the blocks of another: constant, or of functions of the coordinates of the nodes that are kept."""
    if not isinstance(model, SKOFunctions):
        A, H, M, a, b = (blocks(model)[name] for name in "AHMab")
        return SKOModel(parents, A, H, M, a, b, names, units)
    ends = np.cumsum([0, *model.nvs])
    where = np.concatenate([np.zeros(0, dtype=int), *(np.arange(ends[k], ends[k + 1]) for k in kept)])
    if model.nq != model.nv and len(where) < model.nv:
        raise ModelError(
            "a sub-graph of an SKO model of functions needs coordinates that belong to nodes: this one has "
            f"{model.nq} coordinates for {model.nv} velocities."
        )
    own, rest = model.nq == model.nv, np.array(model.q)

    def whole_q(q: Array) -> Array:
        if not own:
            return q
        found = rest.copy()
        found[where] = q
        return found

    def whole_v(v: Array) -> Array:
        found = np.zeros(model.nv)
        found[where] = v
        return found

    def of(name: str) -> Callable[[Array], list[Any]]:
        return lambda q: blocks(model.at(whole_q(q)))[name]

    def vector(name: str) -> Callable[[Array, Array], list[Any]]:
        return lambda q, v: blocks(model.at(whole_q(q), whole_v(v)))[name]

    def move(q: Array, w: Array) -> Array:
        there = model.integrate(whole_q(q), whole_v(w))
        return there[where] if own else there

    bias = None if model._given["b"] is None else vector("b")  # without it that of these nodes alone
    return SKOFunctions(
        parents, of("A"), of("H"), of("M"), vector("a"), bias, names, units,
        q=model.q[where] if own else model.q, v=model.v[where], vdot=model.vdot[where],
        integrate=None if model._integrate is None else move,
    )  # fmt: skip
