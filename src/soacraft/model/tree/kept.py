"""Numbers that a model as a whole has, such as its length: kept until it changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from soacraft.model.flat.layout import Layout
from soacraft.model.tree.graph import Graph

T = TypeVar("T")


class Kept(Generic[T]):
    """`work(graph)` for each structure and set of parameters, and again when nodes were added, which change neither.

    >>> from soacraft.model import serial_chain
    >>> nodes, mb = Kept(lambda graph: len(graph.bodies[0].nodes)), serial_chain(2)
    >>> before, node = nodes(mb), mb["link1"].add_node("more")
    >>> before, nodes(mb)
    (0, 1)
    """

    def __init__(self, work: Callable[[Graph], T]) -> None:
        self._work = work
        self._known: WeakKeyDictionary[Layout, tuple[int, T]] = WeakKeyDictionary()

    def __call__(self, graph: Graph) -> T:
        layout, nodes = graph.layout, len(graph.root.graph._tree.nodes)
        known = self._known.get(layout)
        if known is None or known[0] != nodes:
            known = self._known[layout] = (nodes, self._work(graph))
        return known[1]
