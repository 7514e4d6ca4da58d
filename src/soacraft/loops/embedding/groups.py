"""Groups of bodies that closures and couplings tie together: constraint embedding makes compound bodies of them.

A closure ties the bodies on the tree path between its ends, their closest common ancestor left out, unless that is
flexible: its modes move the ends relative to each other. A coupling ties those on the paths between its dofs. Ties that
share a body (an edge of the tree) belong to one group: the groups are the biconnected components of the graph of hinges
and closures, and each has one parent body, so that the graph is a tree after each group is shrunk to one node (003; 004
section 8; formula F5).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from soacraft.algebra.spaces.tree import Tree
from soacraft.errors import LoopError
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.parts.closures import Closure, Coupling


@dataclass(frozen=True)
class Group:
    """Bodies that move as one compound body, by number, parents first."""

    members: tuple[int, ...]
    parent: int
    """The body they hang from, -1 for the inertial frame."""
    ties: tuple[str, ...] = ()
    """The names of the closures and couplings inside."""


class Units:
    """The bodies and compound bodies of an embedded system, parents first: the nodes of its tree."""

    def __init__(self, tree: Tree, groups: Sequence[Group]) -> None:
        taken = {k for group in groups for k in group.members}
        alone = [Group((k,), tree.parents[k]) for k in range(tree.n) if k not in taken]
        self.groups = tuple(sorted([*groups, *alone], key=lambda group: group.members[0]))
        self.of = {k: u for u, group in enumerate(self.groups) for k in group.members}
        """The unit of each body."""
        parents = [-1 if group.parent < 0 else self.of[group.parent] for group in self.groups]
        self.tree = Tree(parents, _names(tree.names, self.groups))

    def is_compound(self, u: int) -> bool:
        """True if unit u is more than one free body."""
        group = self.groups[u]
        return len(group.members) > 1 or bool(group.ties)


def find_groups(graph: Graph, embedded: Collection[str]) -> list[Group]:
    """The groups that the named active closures and couplings make. O(n + sum of path lengths).

    >>> from soacraft.model import serial_chain
    >>> from soacraft.model.hinges import Spherical
    >>> mb = serial_chain(5)
    >>> _ = mb.close_loop("ring", "link1", "link4", Spherical())
    >>> find_groups(mb, ["ring"])
    [Group(members=(1, 2, 3), parent=0, ties=('ring',))]
    """
    tree = graph.topology
    tied = [(x.name, _of_closure(graph, tree, x)) for x in graph.loops if x.active and x.name in embedded]
    tied += [(x.name, _of_coupling(graph, tree, x)) for x in graph.couplings if x.active and x.name in embedded]
    merged: list[tuple[list[str], set[int]]] = []
    for name, bodies in tied:
        apart = [each for each in merged if not each[1] & bodies]
        shared = [each for each in merged if each[1] & bodies]
        names = [n for each in shared for n in each[0]]
        merged = [*apart, ([*names, name], bodies.union(*(each[1] for each in shared)))]
    groups = [group_of(tree, bodies, tuple(names)) for names, bodies in merged]
    return sorted(groups, key=lambda group: group.members[0])


def group_of(tree: Tree, bodies: Iterable[int], ties: tuple[str, ...] = ()) -> Group:
    """Bodies as a group; they must have one parent outside."""
    members = set(bodies)
    roots = sorted({tree.parents[k] for k in members} - members)
    if len(roots) != 1:
        outside = ", ".join("the inertial frame" if p < 0 else repr(tree.names[p]) for p in roots)
        inside = ", ".join(repr(tree.names[k]) for k in sorted(members))
        raise LoopError(
            f"{inside} do not make one compound body: their parents are {outside}. Add the bodies between them, so "
            "that all have one parent outside."
        )
    return Group(tuple(k for k in tree.base_to_tips() if k in members), roots[0], ties)


def _of_closure(graph: Graph, tree: Tree, closure: Closure) -> set[int]:
    """The bodies between the ends of a closure, with the one that carries both where it is flexible."""
    paths = []
    for frame in (closure.a, closure.b):
        body = frame.carrier
        paths.append(list(tree.ancestors(graph.layout.index[body])) if isinstance(body, Body) else [])
    a, b = set(paths[0]), set(paths[1])
    nearest = next((k for k in paths[0] if k in b), None)
    return (a ^ b) | ({nearest} if nearest in graph.layout.flexible else set())


def _of_coupling(graph: Graph, tree: Tree, coupling: Coupling) -> set[int]:
    """The bodies between the dofs of a coupling, those of the dofs included."""
    number = {name: i for i, name in enumerate(graph.dof_names)}
    starts = [dofs.stop for dofs in graph.layout.v_slices]
    bodies = {next(k for k, stop in enumerate(starts) if number[dof] < stop) for dof in coupling.terms}
    paths = [set(tree.ancestors(k)) for k in bodies]
    return (set[int]().union(*paths) - paths[0].intersection(*paths)) | bodies


def _names(bodies: Sequence[str], groups: Sequence[Group]) -> list[str]:
    """A name for each unit: that of its body, or those of its members joined; all different."""
    names: list[str] = []
    for group in groups:
        inside = [bodies[k] for k in group.members]
        name = "+".join(inside) if len(inside) <= 4 else f"{inside[0]}+...+{inside[-1]}"
        while name in names or (len(inside) > 1 and name in bodies):
            name += "'"
        names.append(name)
    return names
