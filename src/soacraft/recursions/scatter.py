"""Scatter: the product A* x of the transpose of a propagation operator with a stacked vector, base to tips."""

from __future__ import annotations

from soacraft.recursions.types import Blocks, Nodes, Stacked, Weights


def scatter(tree: Nodes, A: Weights, x: Blocks) -> Stacked:
    """y = A* x (004 Eq. 7-9, Lemma 2). O(n).

        y(k) = A*(p(k),k) y(p(k)) + x(k)

    >>> import numpy as np
    >>> from soacraft.algebra import Tree
    >>> scatter(Tree([-1, 0, 0]), lambda p, k: 2.0 * np.eye(1), [np.ones((1, 1))] * 3)[2]
    array([[3.]])
    """
    y: Stacked = {}
    for k in tree.base_to_tips():
        p = tree.parent(k)
        y[k] = x[k] + A(p, k).mT @ y[p] if p >= 0 else x[k]
    return y


def scatter_tilde(tree: Nodes, A: Weights, x: Blocks) -> Stacked:
    """y = (A - I)* x (004 Corollary 3.1). O(n).

        y(k) = A*(p(k),k) [y(p(k)) + x(p(k))]
    """
    y: Stacked = {}
    for k in tree.base_to_tips():
        p = tree.parent(k)
        y[k] = A(p, k).mT @ (y[p] + x[p]) if p >= 0 else 0 * x[k]
    return y
