"""A rooted forest: who is whose parent, in which order to sweep, and the serial segments it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.arguments import whole_number
from soacraft.errors import ModelError, near


@dataclass(frozen=True)
class Branch:
    """One serial segment of a tree: bodies base first, each the only child of the one before (004 section 7)."""

    index: int
    nodes: tuple[int, ...]
    parent: int | None
    names: tuple[str, ...]

    def __repr__(self) -> str:
        root = "the root" if self.parent is None else f"branch {self.parent}"
        return f"Branch {self.index} on {root}: {' -> '.join(self.names)}"


class Tree:
    """Parents of nodes 0 .. n-1 (-1 for a base node), in any numbering.

    Ask it for order; never count on the numbers.

    >>> t = Tree([2, 2, -1], names=["left", "right", "trunk"])
    >>> t.base_to_tips(), t.children(2), t.closest_common_ancestor(0, 1)
    ((2, 0, 1), (0, 1), 2)
    """

    def __init__(self, parents: Sequence[int], names: Sequence[str] | None = None) -> None:
        given = list(parents)
        self.n = len(given)
        self.names = tuple(str(k) for k in range(self.n)) if names is None else tuple(names)
        if len(self.names) != self.n:
            raise ModelError(f"{self.n} nodes but {len(self.names)} names were given; give one name for each node.")
        if len(set(self.names)) != self.n:
            twice = next(s for s in self.names if self.names.count(s) > 1)
            raise ModelError(f"the name {twice!r} is used for two nodes; names must be unique.")
        for name, p in zip(self.names, given, strict=True):
            if isinstance(p, (list, tuple, set, frozenset)):
                raise ModelError(
                    f"node {name!r} has several parents, {p!r:.60}: operators are those of a tree. Keep one of them, "
                    "and close the others as loops: mb.close_loop(...) and the solvers of sc.loops."
                )
        self.parents = tuple(
            p if type(p) is int else whole_number(p, f"the parent of node {name!r}")
            for name, p in zip(self.names, given, strict=True)
        )
        for k, p in enumerate(self.parents):
            if not -1 <= p < self.n:
                raise ModelError(
                    f"node {self.names[k]!r} has parent number {p}, but nodes are numbered 0 to {self.n - 1} "
                    "(-1 for a node on the root)."
                )
        kids: list[list[int]] = [[] for _ in range(self.n)]
        for k, p in enumerate(self.parents):
            if p >= 0:
                kids[p].append(k)
        self._children = tuple(tuple(c) for c in kids)
        self._order = self._parents_first()

    def _parents_first(self) -> tuple[int, ...]:
        """Parents before children, otherwise by number: the smallest such order."""
        ready = [k for k, p in enumerate(self.parents) if p < 0]
        heapify(ready)
        order = []
        while ready:
            k = heappop(ready)
            order.append(k)
            for j in self._children[k]:
                heappush(ready, j)
        if len(order) < self.n:
            lost = sorted(set(range(self.n)) - set(order))
            raise ModelError(f"the parents of {', '.join(repr(self.names[k]) for k in lost[:5])} form a cycle.")
        return tuple(order)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and (self.parents, self.names) == (other.parents, other.names)

    def __hash__(self) -> int:
        return hash((self.parents, self.names))

    def parent(self, k: Any) -> int:
        """The parent of k, -1 for a base node."""
        return self.parents[self._node(k)]

    def children(self, k: Any) -> tuple[int, ...]:
        """The children of k (of the root for k = -1)."""
        k = self._at(k)
        return tuple(j for j, p in enumerate(self.parents) if p < 0) if k < 0 else self._children[k]

    def base_to_tips(self) -> tuple[int, ...]:
        """All nodes, every parent before its children."""
        return self._order

    def tips_to_base(self) -> tuple[int, ...]:
        """All nodes, every child before its parent."""
        return self._order[::-1]

    @cached_property
    def depth(self) -> tuple[int, ...]:
        """Number of nodes from the root down to k, k included."""
        depth = [0] * self.n
        for k in self._order:
            depth[k] = 1 + (depth[self.parents[k]] if self.parents[k] >= 0 else 0)
        return tuple(depth)

    @cached_property
    def is_serial(self) -> bool:
        """True for a single chain (no branching, one base)."""
        return sum(p < 0 for p in self.parents) <= 1 and all(len(c) <= 1 for c in self._children)

    def ancestors(self, k: Any) -> list[int]:
        """k, its parent, and on to the base, as numbers; k is a number, a name or a body."""
        k, path = self._at(k), []
        while k >= 0:
            path.append(k)
            k = self.parents[k]
        return path

    def path(self, i: Any, j: Any) -> list[int] | None:
        """Numbers of the nodes from j up to i, both included, or None when j is not i or outboard of i. Nodes are given
        by number, by name or as bodies.

        >>> t = Tree([-1, 0, 0], names=["trunk", "left", "right"])
        >>> t.path("trunk", "left"), t.path("left", "right")
        ([1, 0], None)
        """
        top, steps = self._node(i), [self._node(j)]
        while steps[-1] != top:
            p = self.parents[steps[-1]]
            if p < 0:
                return None
            steps.append(p)
        return steps

    def closest_common_ancestor(self, i: Any, j: Any) -> int | None:
        """The outermost node that is inboard of both (or one of them); None in different base trees."""
        a, b, depth = self._at(i), self._at(j), self.depth
        while a >= 0 and b >= 0:
            if a == b:
                return a
            if depth[a] >= depth[b]:
                a = self.parents[a]
            else:
                b = self.parents[b]
        return None

    def _node(self, k: Any) -> int:
        """A number as it is; a name or a body as its number."""
        return k if type(k) is int and 0 <= k < self.n else self.number(k)

    def _at(self, k: Any) -> int:
        """Number of a node, and -1 for the root."""
        return -1 if type(k) is int and k == -1 else self._node(k)

    # -- by name ------------------------------------------------------------------------------------------------

    def number(self, node: Any) -> int:
        """The number of a node, from its name, its number or an object with that name (a body)."""
        if isinstance(node, (int, np.integer)) and not isinstance(node, bool):
            if not 0 <= node < self.n:
                raise ModelError(f"there is no node number {node}: nodes are numbered 0 to {self.n - 1}.")
            return int(node)
        given = node if isinstance(node, str) else getattr(node, "name", "")
        name = given if isinstance(given, str) else ""
        if name not in self._numbers:
            raise ModelError(f"there is no node {node!r:.60} in this tree{near(name, self.names, 'its nodes are')}")
        return self._numbers[name]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.names)}

    def branch_of(self, node: Any) -> Branch:
        """The serial segment that a node is on (004 section 7.1); `branch.nodes.index(number)` is its place there.

        >>> Tree([-1, 0, 0], names=["trunk", "left", "right"]).branch_of("left")
        Branch 1 on branch 0: left
        """
        return self.branches[self._segments[0][self.number(node)]]

    def is_ancestor(self, node: Any, other: Any) -> bool:
        """True if a node is inboard of another one: on its path to the root, and not itself. O(depth).

        >>> t = Tree([-1, 0, 0], names=["trunk", "left", "right"])
        >>> t.is_ancestor("trunk", "left"), t.is_ancestor("left", "right"), t.is_ancestor("left", "left")
        (True, False, False)
        """
        i, j = self.number(node), self.number(other)
        return i != j and self.path(i, j) is not None

    def common_ancestor(self, *nodes: Any) -> str | None:
        """The name of the outermost node that is inboard of all of them, or one of them; None in different base trees.

        >>> Tree([-1, 0, 0], names=["trunk", "left", "right"]).common_ancestor("left", "right")
        'trunk'
        """
        if not nodes:
            raise ModelError("common_ancestor needs a node at least.")
        numbers = [self.number(node) for node in nodes]
        found: int | None = numbers[0]
        for k in numbers[1:]:
            found = None if found is None else self.closest_common_ancestor(found, k)
        return None if found is None else self.names[found]

    def adjacency(self) -> npt.NDArray[np.int64]:
        """1 at (parent, child): the matrix that E_phi has its weights in the place of (003 section II). O(n^2).

        >>> Tree([-1, 0, 0]).adjacency().tolist()
        [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
        """
        found = np.zeros((self.n, self.n), dtype=np.int64)
        for k, p in enumerate(self.parents):
            if p >= 0:
                found[p, k] = 1
        return found

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        """The tree of serial segments, base segments first (004 section 7.1)."""
        of, segments = self._segments
        return tuple(
            Branch(
                index,
                tuple(nodes),
                of[self.parents[nodes[0]]] if self.parents[nodes[0]] >= 0 else None,
                tuple(self.names[k] for k in nodes),
            )
            for index, nodes in enumerate(segments)
        )

    @cached_property
    def _segments(self) -> tuple[dict[int, int], list[list[int]]]:
        """The number of the segment of each node, and the nodes of each segment."""
        segments: list[list[int]] = []
        of: dict[int, int] = {}
        for k in self._order:
            p = self.parents[k]
            if p >= 0 and len(self._children[p]) == 1:
                of[k] = of[p]
                segments[of[p]].append(k)
            else:
                of[k] = len(segments)
                segments.append([k])
        return of, segments
