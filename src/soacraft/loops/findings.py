"""Diagnosis of the results of a solver, computed when first read: rank, redundant rows, independent dofs, condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from soacraft.errors import StaleError
from soacraft.kinematics.checks import closed_rows
from soacraft.kinematics.independent import Indices, Partition, row_names
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.tasks import Task
from soacraft.loops.results import Info
from soacraft.model.states.state import State
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.subgraph import SubGraph
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.loops.planned import PlannedSolver


class Answer(NamedTuple):
    """Answer of a solver at one state; with the choice of dofs where the solver makes one on the way."""

    vdot: Array
    multipliers: Array
    choice: Partition | None = None
    left: tuple[float, float] | None = None
    """Residuals of the answer, where they are known."""


class Findings:
    """Diagnosis for the results of one solver and one choice of independent dofs, if it makes one. Reading it changes
    nothing but the dofs that an augmented solver names first.
    """

    def __init__(self, solver: PlannedSolver, chosen: Indices | None = None, uniform: bool = True) -> None:
        graph = solver._graph
        self._solver, self._parameters = solver, graph.parameters
        self.chosen = chosen
        """The independent dofs, where the solver chooses them."""
        self._uniform = uniform  # whether all states of a batch were solved with that choice
        self.loops = tuple(x.name for x in graph.loops if x.active)
        self.couplings = tuple(x.name for x in graph.couplings if x.active)
        self.dof_names = graph.dof_names
        self.moves_by = "".join(graph.layout.units.hinge)
        self._anchored = _anchored(graph)

    def graph(self) -> Graph:
        """The graph, if it is still as it was when the result was found."""
        graph = self._solver.graph
        if graph.parameters != self._parameters or self._anchored is not _anchored(graph):
            raise StaleError(
                f"hinge forces of this result were not asked for before {graph.name!r} changed; solve again."
            )
        return graph

    def mixed(self) -> Findings:
        """Findings for a batch whose later states were solved with another choice."""
        return Findings(self._solver, self.chosen, uniform=False)

    def info(self, q: Array) -> Info:
        """Diagnosis of the closures at each configuration of a list."""
        chosen = self.chosen if self._uniform else None

        def choices() -> tuple[list[Partition], tuple[str, ...]]:
            rows = [self._rows(one) for one in q]
            return _named(rows, [self._solver._choice_at(one, chosen) for one in rows])

        return Info(lambda: self._independent(q), choices)

    def _independent(self, q: Array) -> Indices:
        """The independent dofs at the first configuration."""
        if self.chosen is not None or not len(q):
            return np.zeros(0, dtype=np.intp) if self.chosen is None else self.chosen
        return self._solver._choice(self._rows(q[0])).independent

    def require_same_parameters(self) -> None:
        """Raise `StaleError` when other parameters would answer for those that a result was found with."""
        graph = self._solver._graph
        if graph.parameters != self._parameters:
            raise StaleError(
                f"rank and independent dofs of this result were not asked for before a parameter of {graph.name!r} "
                "changed; solve again."
            )

    def _rows(self, q: Array) -> Constraints:
        self.require_same_parameters()
        solver, graph = self._solver, self._solver.graph
        return closed_rows(graph, graph.state(q, np.zeros(graph.nv)), solver._theta, solver.tolerance)


def _anchored(graph: Graph) -> State | None:
    """State that determines the pose of a sub-graph's anchor; None for a model."""
    return graph.multibody.current if isinstance(graph, SubGraph) else None


class Answered(Findings):
    """Diagnosis for a result that was computed in Python."""

    def __init__(self, solver: PlannedSolver, tasks: Sequence[Task], answers: Sequence[Answer]) -> None:
        super().__init__(solver)
        self._tasks, self._answers = tasks, answers

    def info(self, q: Array) -> Info:
        """Choices that the solver found on the way, or would make."""

        def choices() -> tuple[list[Partition], tuple[str, ...]]:
            self.require_same_parameters()
            rows = [task.rows for task in self._tasks]
            each = zip(rows, self._answers, strict=True)
            return _named(rows, [x.choice or self._solver._choice_at(one, None) for one, x in each])

        return Info(lambda: self._independent(q), choices)

    def _independent(self, q: Array) -> Indices:
        self.require_same_parameters()
        return self._solver._choice(self._tasks[0].rows).independent if self._tasks else np.zeros(0, dtype=np.intp)


def _named(rows: list[Constraints], choices: list[Partition]) -> tuple[list[Partition], tuple[str, ...]]:
    """The choices, and the names of all redundant rows."""
    redundant: dict[str, None] = {}
    for one, choice in zip(rows, choices, strict=True):
        if len(choice.redundant):
            names = row_names(one)
            redundant.update({names[i]: None for i in choice.redundant})
    return choices, tuple(redundant)
