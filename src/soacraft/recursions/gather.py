"""Gather: the product A x of a propagation operator with a stacked vector, tips to base."""

from __future__ import annotations

import numpy as np  # noqa: F401  (the example)

from soacraft.recursions.types import Blocks, Nodes, Stacked, Weights


def gather(tree: Nodes, A: Weights, x: Blocks) -> Stacked:
    """y = A x (004 Eq. 4-6, Lemma 1). O(n).

        y(k) = sum over children j of  A(k,j) y(j)  +  x(k)

    >>> from soacraft.algebra import Tree
    >>> gather(Tree([-1, 0, 0]), lambda p, k: 2.0 * np.eye(1), [np.ones((1, 1))] * 3)[0]
    array([[5.]])
    """
    y: Stacked = {}
    for k in tree.tips_to_base():
        y[k] = x[k] + sum(A(k, j) @ y[j] for j in tree.children(k))
    return y


def gather_tilde(tree: Nodes, A: Weights, x: Blocks) -> Stacked:
    """y = (A - I) x (004 Corollary 3.1). O(n).

        y(k) = sum over children j of  A(k,j) [y(j) + x(j)]
    """
    y: Stacked = {}
    for k in tree.tips_to_base():
        y[k] = 0 * x[k] + sum(A(k, j) @ (y[j] + x[j]) for j in tree.children(k))
    return y
