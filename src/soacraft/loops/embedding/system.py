"""The embedded system of a closed chain: its groups, its choice of independent dofs, and its SKO model at a state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.dynamics.arguments import read_prescribed
from soacraft.errors import LoopError
from soacraft.kinematics.checks import check_state
from soacraft.kinematics.followers import followers
from soacraft.kinematics.independent import Indices, Mask, dofs_named
from soacraft.kinematics.partition import partition
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.tasks import Task
from soacraft.loops.embedding.binding import CompoundSystem, Epoch
from soacraft.loops.embedding.groups import Units, find_groups
from soacraft.loops.embedding.model import EmbeddedModel
from soacraft.model.flat.sko import SKOModel
from soacraft.model.states.coordinates import read_forces
from soacraft.model.states.state import State
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.parts.gears import DEPENDENT
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.loops.embedding.solver import ConstraintEmbedding


class EmbeddedSystem(CompoundSystem):
    """A closed chain as a tree of bodies and compound bodies, for the solver that has it. `sc.operators(...)` takes it.

    Its choice of independent dofs is made at the first state, and again where it is ill conditioned; operators belong
    to one choice.
    """

    def __init__(self, solver: ConstraintEmbedding, embedded: frozenset[str], wanted: Mask | None) -> None:
        graph = solver._graph
        self._solver, self.embedded, self.wanted = solver, embedded, wanted
        self.groups = find_groups(graph, embedded)
        self.units = Units(graph.topology, self.groups)
        self._spare = _spare(graph)
        self.independent: Indices | None = None
        """The independent dofs as chosen last, in the order of the units."""
        self.loose = False
        """True if redundant rows repeat others up to the digits of a file only."""
        self.changes: list[str] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return _system_of, (self._solver,)

    @property
    def graph(self) -> Graph:
        """The graph of the bodies."""
        return self._solver.graph

    @property
    def rest(self) -> list[str]:
        """The loops and couplings that are not embedded."""
        return [name for name in active_names(self.graph) if name not in self.embedded]

    def model(self, state: State, f_ext: Any = None) -> EmbeddedModel:
        """The embedded system at a state on its closures: its SKO model, Xt and x0."""
        if rest := self.rest:
            verb, them = ("is", "it") if len(rest) == 1 else ("are", "them")
            raise LoopError(
                f"{', '.join(map(repr, rest))} of {self.graph.name!r} {verb} kept as rows next to the embedded tree, "
                f"which alone does not know {them}; embed all loops and couplings for its operators and coordinates."
            )
        forces = read_forces(self.graph, f_ext)
        task = Task(self._solver._rows(state), np.zeros(self.graph.nv), forces, {})
        check_state(task, self._solver.tolerance)
        return self.at(task)

    def at(self, task: Task) -> EmbeddedModel:
        """The system at a state that was checked, with a new choice of dofs where the one in use serves badly."""
        independent = self.choose(task.rows)
        return self._with_dofs(independent, task.rows, task.sko, task.rows.gamma - task.Udot)

    def choose(self, rows: Constraints) -> Indices:
        """The independent dofs at a state: those in use, or a new choice where they serve badly. Another thread may
        make another choice meanwhile."""
        now = self.independent
        before = None if now is None else np.sort(now)
        wanted = self._spare if self.wanted is None else self.wanted
        choice = partition(rows, before, wanted, self.embedded, self._solver.tolerance)
        if now is None or before is None or not np.array_equal(choice.independent, before):
            now = self._in_order(choice.independent)
            self._note(rows, now, choice.loose)
        elif choice.loose and not self.loose:
            self.loose = True
            self._solver._embed(now, loose=True)
        return now

    def held(self, rows: Constraints) -> EmbeddedModel:
        """The system at any rows for the independent dofs as they are: no check, no new choice."""
        assert self.independent is not None
        return self._with_dofs(self.independent, rows, rows.state.sko("body"))

    def _with_dofs(
        self, independent: Indices, rows: Constraints, sko: SKOModel, gamma: Array | None = None
    ) -> EmbeddedModel:
        dependent = np.setdiff1d(np.arange(self.graph.nv), independent)
        return EmbeddedModel(rows, sko, self.units, dependent, gamma)

    def _in_order(self, independent: Indices) -> Indices:
        """Dofs in the order of the units."""
        slices, chosen = self.graph.layout.v_slices, set(independent.tolist())
        members = [k for group in self.units.groups for k in group.members]
        order = [i for k in members for i in range(slices[k].start, slices[k].stop)]
        return np.array([i for i in order if i in chosen], dtype=np.intp)

    def _note(self, rows: Constraints, independent: Indices, loose: bool) -> None:
        """Take note of a new choice of independent dofs."""
        names = dofs_named(rows, independent)
        if self.wanted is not None:
            lost = set(np.flatnonzero(self.wanted)) - set(independent.tolist())
            if lost:
                shown = ", ".join(repr(self.graph.dof_names[i]) for i in sorted(lost))
                raise LoopError(
                    f"{shown} of {self.graph.name!r} cannot be independent here: the closures tie it to other dofs. "
                    f"Independent dofs that work: {', '.join(map(repr, names)) or 'none'}."
                )
        if self._epoch is not None:
            old = self._epoch.dofs
            what = "the rank changed" if len(old) != len(names) else "other dofs are better conditioned"
            self.changes.append(f"{what}: the independent dofs are now {', '.join(names)}; they were {', '.join(old)}")
        self.take(independent, loose)

    def take(self, independent: Indices, loose: bool) -> None:
        """Go on with this choice of dofs."""
        names = self.graph.dof_names
        self.independent, self.loose = independent, loose
        self._epoch = Epoch(self, tuple(names[i] for i in independent))
        self._solver._embed(independent, loose)


def _system_of(solver: ConstraintEmbedding) -> EmbeddedSystem:
    return solver.system


def active_names(graph: Graph) -> list[str]:
    """The active loops and couplings."""
    return [x.name for x in graph.loops if x.active] + [x.name for x in graph.couplings if x.active]


def read_embed(graph: Graph, embed: Iterable[str] | None) -> frozenset[str]:
    active = active_names(graph)
    if embed is None:
        return frozenset(active)
    if isinstance(embed, str) or not isinstance(embed, Iterable):
        raise LoopError(f"embed takes a list of names of loops and couplings, got {embed!r:.60}.")
    names = list(embed)
    for name in names:
        if name not in active:
            shown = ", ".join(map(repr, active)) or "none"
            raise LoopError(f"{graph.name!r} has no active loop or coupling {name!r:.60} to embed; it has {shown}.")
        if names.count(name) > 1:
            raise LoopError(f"embed names {name!r} of {graph.name!r} twice; name it once.")
    return frozenset(names)


def read_wanted(graph: Graph, independent: Any) -> Mask | None:
    """The dofs that should be independent; None for any."""
    if independent is None:
        return None
    if isinstance(independent, str):
        independent = [independent]
    if isinstance(independent, bytes | Mapping) or not isinstance(independent, Iterable):
        raise LoopError(
            f"independent takes a list of names or numbers of dofs of {graph.name!r}, or a mask; got "
            f"{independent!r:.60}."
        )
    items = independent if isinstance(independent, np.ndarray) else list(independent)
    return read_prescribed(graph, items, "independent")


def _spare(graph: Graph) -> Mask | None:
    """The dofs that should be independent where couplings say which are not (rotors of geared hinges, mimic joints),
    and modal coordinates of flexible bodies."""
    dependent = {x.attributes[DEPENDENT] for x in graph.couplings if x.active and DEPENDENT in x.attributes}
    spare = dependent or followers(graph)
    modes = set(graph.layout.own.v.tolist())
    if not spare and not modes:
        return None
    return np.array([i in modes or (bool(spare) and name not in spare) for i, name in enumerate(graph.dof_names)])
