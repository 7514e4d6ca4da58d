"""Lyapunov equations: block-diagonal solutions by one sweep."""

from __future__ import annotations

from soacraft.recursions.types import Blocks, Nodes, Stacked, Weights


def forward_lyapunov(tree: Nodes, A: Weights, X: Blocks, B: Weights | None = None) -> Stacked:
    """X = Y - E_A Y E_B*, tips to base (004 Eq. 12-14; B defaults to A). O(n).

        Y(k) = sum over children j of  A(k,j) Y(j) B*(k,j)  +  X(k)

    >>> import numpy as np
    >>> from soacraft.algebra import Tree
    >>> forward_lyapunov(Tree([-1, 0]), lambda p, k: 2.0 * np.eye(1), [np.eye(1)] * 2)[0]
    array([[5.]])
    """
    B = A if B is None else B
    Y: Stacked = {}
    for k in tree.tips_to_base():
        Y[k] = X[k] + sum(A(k, j) @ Y[j] @ B(k, j).mT for j in tree.children(k))
    return Y


def backward_lyapunov(tree: Nodes, A: Weights, X: Blocks, B: Weights | None = None) -> Stacked:
    """X = Y - diagOf{ E_A* Y E_B }, base to tips (004 Eq. 22-24, 26, 29; B defaults to A). O(n).

        Y(k) = A*(p(k),k) Y(p(k)) B(p(k),k) + X(k)
    """
    B = A if B is None else B
    Y: Stacked = {}
    for k in tree.base_to_tips():
        p = tree.parent(k)
        Y[k] = X[k] + A(p, k).mT @ Y[p] @ B(p, k) if p >= 0 else X[k]
    return Y
