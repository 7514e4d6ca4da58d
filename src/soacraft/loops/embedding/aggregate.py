"""Compound bodies without a loop: groups of bodies of a tree as single nodes (003 section III)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

from soacraft.errors import LoopError, ModelError, StaleError
from soacraft.kinematics.rows import Constraints
from soacraft.loops.embedding.binding import CompoundSystem, Epoch
from soacraft.loops.embedding.groups import Units, group_of
from soacraft.loops.embedding.model import EmbeddedModel
from soacraft.model.flat.sko import SKOModel
from soacraft.model.states.coordinates import read_forces
from soacraft.model.states.state import State
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.parts.closures import refuse_loops


class Aggregate(CompoundSystem):
    """A tree with some of its bodies joined to compound bodies of variable geometry. Made by `sc.aggregate`.

    `sc.operators(...)` takes it. All dofs stay, in the order of the compound bodies: `dofs`.
    """

    def __init__(self, graph: Graph, units: Units) -> None:
        self._graph, self._version, self.units = graph, graph.version, units

    def __reduce__(self) -> tuple[Any, ...]:
        return Aggregate, (self.graph, self.units)

    @property
    def graph(self) -> Graph:
        """The graph of the bodies."""
        if self._graph.version != self._version:
            raise StaleError(
                f"these compound bodies of {self._graph.name!r} were made before a structural change of the model; "
                "make them again with sc.aggregate(...)."
            )
        return self._graph

    @property
    def dofs(self) -> tuple[str, ...]:
        """The names of the dofs in the order of the hinge space."""
        return self.epoch.dofs

    def model(self, state: State, f_ext: Any = None) -> EmbeddedModel:
        """The system at a state: its SKO model."""
        graph = self.graph
        model = EmbeddedModel(Constraints(graph, state), graph.sko(state, f_ext=read_forces(graph, f_ext)), self.units)
        if self._epoch is None:
            names = tuple(graph.dof_names[i] for i in model.independent)
            self._epoch = Epoch(self, names)
        return model

    def __repr__(self) -> str:
        return f"Aggregate of {self._graph!r}: {', '.join(self.units.tree.names)}"


@overload
def aggregate(mb: Graph, *groups: Iterable[Any], ignore_loops: bool = False) -> Aggregate: ...


@overload
def aggregate(mb: SKOModel, *groups: Iterable[Any], ignore_loops: bool = False) -> SKOModel: ...


def aggregate(mb: Graph | SKOModel, *groups: Iterable[Any], ignore_loops: bool = False) -> Aggregate | SKOModel:
    """The tree with each group of bodies as one compound body; the rest as it is.

        V_S = A_S* (B_p* V_p + H_S* v_S),    A(p,S) = B_p A_S,    H = H_S A_S,    M = M_S         (formula F5, X = I)

    The bodies of a group have one parent outside (their parents are in the group, or that one body). The compound
    bodies are those of the tree: a graph with active loops or couplings is refused, unless `ignore_loops=True`. O(n).
    Of an SKO model its nodes are aggregated, `model.aggregated(nodes)`.

    >>> import soacraft as sc
    >>> from soacraft.loops.embedding.aggregate import aggregate
    >>> s = sc.operators(aggregate(sc.load("arm7"), ["link3", "link4", "link5"]))
    >>> s.M
    M : body[42] <- body[42]
    >>> s.body.labels
    ('link1', 'link2', 'link3+link4+link5', 'link6', 'link7')
    >>> mass_matrix = s.H * s.phi * s.M * s.phi.T * s.H.T
    >>> (mass_matrix * mass_matrix.inv).is_identity()
    True
    """
    if isinstance(mb, SKOModel):
        return mb.aggregated(*(list(nodes) if not isinstance(nodes, str) else nodes for nodes in groups))
    if not isinstance(mb, Graph):
        raise ModelError(f"aggregate takes a Multibody or a sub-graph of one, got {mb!r:.80}.")
    refuse_loops("aggregate", mb, ignore_loops)
    members_of_units = []
    taken: set[int] = set()
    for bodies in groups:
        if isinstance(bodies, str) or not isinstance(bodies, Iterable):
            raise ModelError(f"aggregate takes lists of bodies, got {bodies!r:.60}; give [{bodies!r:.60}, ...].")
        members = [mb.index(body) for body in bodies]
        twice = [k for i, k in enumerate(members) if k in taken or k in members[:i]]
        if twice:
            raise LoopError(f"body {mb.bodies[twice[0]].name!r} is named twice; it can be in one compound body only.")
        taken |= set(members)
        members_of_units.append(group_of(mb.topology, members))
    return Aggregate(mb, Units(mb.topology, members_of_units))
