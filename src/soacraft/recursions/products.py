"""One block of A X B* and of A* X B, from the solution Y of the Lyapunov equation and the path between two nodes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from soacraft.algebra.spaces.tree import Tree
from soacraft.recursions.types import Array, Blocks, Weights


def along(A: Weights, path: Sequence[int]) -> list[Array]:
    """The weights A(p, k) along a path that climbs from path[0]."""
    return [A(p, k) for k, p in pairwise(path)]


def block_of_AXBs(tree: Tree, A: Weights, Y: Blocks, B: Weights, i: int, j: int) -> Array:
    """Block (i, j) of Z = A X B*, where Y solves X = Y - E_A Y E_B* (004 Eq. 15). O(depth).

        Y(i)             i = j
        A(i,j) Y(j)      j outboard of i
        Y(i) B*(j,i)     i outboard of j
        0                unrelated
    """
    up = tree.path(i, j)
    if up is not None:
        Z = Y[j]
        for weight in along(A, up):
            Z = weight @ Z
        return Z
    up = tree.path(j, i)
    if up is None:
        return np.zeros((Y[i].shape[-2], Y[j].shape[-1]))
    Z = Y[i]
    for weight in along(B, up):
        Z = Z @ weight.mT
    return Z


def block_of_AsXB(tree: Tree, A: Weights, Y: Blocks, B: Weights, i: int, j: int) -> Array:
    """Block (i, j) of Z = A* X B, where Y solves X = Y - diagOf{ E_A* Y E_B } (004 Eq. 25, 30, Alg. 4.3). O(depth).

        A*(c,i) Y(c) B(c,j),   c the closest common ancestor of i and j (one of them, when they are related);
        0 when there is none
    """
    c = tree.closest_common_ancestor(i, j)
    if c is None:
        return np.zeros((Y[i].shape[-2], Y[j].shape[-1]))
    Z = Y[c]
    for weight in reversed(along(A, tree.path(c, i) or [])):
        Z = weight.mT @ Z
    for weight in reversed(along(B, tree.path(c, j) or [])):
        Z = Z @ weight
    return Z
