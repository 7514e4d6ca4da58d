"""Places for the nodes of a tree: layers by depth, children under their parent, no two in one place."""

from __future__ import annotations

from collections.abc import Sequence

from soacraft.algebra.spaces.tree import Tree


def places(tree: Tree, widths: Sequence[float], gap: float) -> list[float]:
    """A place across for each node, given how wide each is: a parent over the middle of its children, leaves one after
    the other, `gap` apart in every layer. O(n depth).

    >>> places(Tree([-1, 0, 0]), [1.0, 1.0, 1.0], 1.0)
    [1.5, 0.5, 2.5]
    """
    across = [0.0] * tree.n
    edge: dict[int, float] = {}  # of each layer: where the next node may begin
    for root in tree.children(-1):
        _place(tree, root, widths, gap, across, edge)
    return across


def _place(
    tree: Tree, root: int, widths: Sequence[float], gap: float, across: list[float], edge: dict[int, float]
) -> None:
    """Children first; a parent that would lie over its left neighbour moves right together with what is under it."""
    waiting = [(root, False)]
    while waiting:
        k, ready = waiting.pop()
        children = tree.children(k)
        if children and not ready:
            waiting.append((k, True))
            waiting += [(j, False) for j in reversed(children)]
            continue
        layer, half = tree.depth[k], 0.5 * widths[k]
        least = edge.get(layer, 0.0) + half
        middle = 0.5 * (across[children[0]] + across[children[-1]]) if children else least
        if middle < least:
            _shift(tree, children, least - middle, widths, gap, across, edge)
            middle = least
        across[k] = middle
        edge[layer] = middle + half + gap


def _shift(
    tree: Tree, roots: Sequence[int], by: float, widths: Sequence[float], gap: float,
    across: list[float], edge: dict[int, float],
) -> None:  # fmt: skip
    waiting = list(roots)
    while waiting:
        k = waiting.pop()
        across[k] += by
        layer = tree.depth[k]
        edge[layer] = max(edge[layer], across[k] + 0.5 * widths[k] + gap)
        waiting += tree.children(k)
