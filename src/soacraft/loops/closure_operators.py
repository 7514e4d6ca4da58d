"""The closures of a chain as operators next to those of its tree (002, 003 Eq. 2, formulas F2 and F3).

    Gc = Q B* phi* H*,    Gc v = U,    Gc vdot + Gcdot_v = Udot,    S = Q B* Omega B Q*

B picks off the nodes that closures end at, Q has the rows that their hinges do not allow, in the axes of the nodes. A
coupling ties dofs and no nodes: its row is in Qv, and Gc = Q B* phi* H* + Qv.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.algebra.expressions.operator import Binding, Leaf, Operator, Pattern
from soacraft.algebra.spaces.space import Space
from soacraft.algebra.spaces.vectors import StackedVector
from soacraft.errors import ConvergenceError, LoopError, SpaceError, StateError
from soacraft.kinematics.checks import check_state, closed_rows
from soacraft.kinematics.rows import seen_from
from soacraft.kinematics.tasks import Drives, Task, read_drives
from soacraft.model.sizes.scale import scale_of, scaled_random_state
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Body
from soacraft.ops.binding import GraphBinding, again_pinned
from soacraft.ops.leaves import BlockLeaf, DefinedLeaf
from soacraft.ops.namespace import Operators
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.loops.solver import Solver

#: The operators and the stacked vectors in addition to those of the tree.
OPERATORS = ("Q", "Bc", "Qv", "Gc", "S")
VECTORS = ("Gcdot_v", "U", "Udot")
#: Steps from a state to others on the closures, relative to the model's scale; smaller ones where one cannot close.
_STEPS = (0.1, 0.01, 0.001)


class ClosedBinding(GraphBinding):
    """The tree of a closed chain at its current state, or at a snapshot, with its closures closed to a tolerance."""

    def __init__(
        self, solver: Solver, state: State | None = None, f_ext: Any = None, force: Any = None, drives: Any = None
    ) -> None:
        self.solver, self.drives = solver, drives or {}
        super().__init__(solver.graph, state, "body", f_ext, force)
        self.namespace = ClosedOperators
        self._rows: tuple[State, Task] | None = None
        self.task()

    def __reduce__(self) -> tuple[Any, ...]:
        self.owner.check()
        self.check_parameters()
        parts = (self.solver, self.snapshot, self.f_ext, self.given_force, self.drives)
        kind, args = (ClosedBinding, parts) if self._pinned is None else (again_pinned, (ClosedBinding, parts))
        return kind, args, self._after_copy()

    def identity(self) -> Hashable:
        return (id(self.solver), *super().identity())  # type: ignore[misc]

    def at(self, **state: Any) -> ClosedBinding:
        """Binding to a snapshot of the same closed chain; a snapshot at which the closures are open is a `LoopError`.
        """
        if unknown := set(state) - {"q", "v", "vdot"}:
            raise StateError(f"at() takes q=, v= and vdot=, not {', '.join(sorted(unknown))}.")
        binding = ClosedBinding(self.solver, self.state.replace(**state), self.f_ext, self.given_force, self.drives)
        result: ClosedBinding = self.alike(binding)
        return result

    def elsewhere(self, seed: int) -> dict[str, Array]:
        """A state on the closures near the bound one: as far away as they let it; with driven ones that state."""
        graph, state, solver = self.graph, self.state, self.solver
        _, v, vdot = scaled_random_state(graph, seed)
        for step in () if self.drives else _STEPS:
            with suppress(LoopError, ConvergenceError):
                q = solver.assemble(graph.integrate(state.q, step * scale_of(graph).time * v), bend=True)
                return {"q": q, "v": solver.project_velocity(q, scale_of(graph).time * vdot)}
        return {"q": state.q, "v": state.v}

    def task(self) -> Task:
        """The rows at the bound state, checked to be closed in position, and the rates of driven ones."""
        state, before = self.state, self._rows
        if state.batch:
            raise LoopError(f"operators of closures are made for one state, got a batch {state.batch}.")
        if before is None or before[0] is not state or before[1].state.motion is not state.motion:
            solver = self.solver
            rows = closed_rows(self.graph, state, dict(solver._theta), solver.tolerance)
            task = Task(rows, np.zeros(self.graph.nv), (), self.drives)
            rows.driven = frozenset(self.drives)
            check_state(task, solver.tolerance, moving=False)
            self._rows = before = state, task
        return before[1]

    @cached_property
    def closure(self) -> Space:
        """The space of the rows: one block for each closure and coupling."""
        places = self.task().rows.places
        sizes = [place.stop - place.start for _, place in places]
        return Space("closure", [name for name, _ in places], sizes, self.owner)

    @cached_property
    def ends(self) -> tuple[str, ...]:
        """The nodes, on bodies, that closures end at."""
        frames = [end for loop in self.graph.loops if loop.active for end in (loop.b, loop.a)]
        return tuple(dict.fromkeys(end.full_name for end in frames if isinstance(end.carrier, Body)))

    def rows_at_nodes(self) -> dict[tuple[int, int], Array]:
        """Blocks of Q: Q for b, -Q phi*(a, b) for a, in the axes of each (formula F2)."""
        blocks: dict[tuple[int, int], Array] = {}
        task = self.task()
        for i, loop in enumerate(task.rows.loops):
            X = seen_from(task.state, loop).phi().T
            for end, block in ((loop.closure.b, loop.Q), (loop.closure.a, -loop.Q @ X)):
                if isinstance(end.carrier, Body):
                    blocks[i, self.ends.index(end.full_name)] = block
        return blocks

    def rows_of_dofs(self) -> dict[tuple[int, int], Array]:
        """Blocks of Qv: p'(q) at the dofs of each coupling."""
        rows, hinge = self.task().rows, self.hinge
        blocks: dict[tuple[int, int], Array] = {}
        for i, row in enumerate(rows.couplings, len(rows.loops)):
            for dof, rate in row.rates.items():
                k = int(np.searchsorted(hinge.offsets, dof, side="right")) - 1
                block = blocks.setdefault((i, k), np.zeros((1, hinge.dims[k])))
                block[0, dof - hinge.offsets[k]] = rate
        return blocks


class RowLeaf(BlockLeaf):
    """Q, rows at nodes, or Qv, rows at dofs."""

    binding: ClosedBinding

    def __init__(self, binding: ClosedBinding, name: str) -> None:
        self.binding, self.name, self.rows = binding, name, binding.closure
        self.cols = binding.node_space(binding.ends) if name == "Q" else binding.hinge
        self.latex_name, self.source = {"Q": "Q", "Qv": "Q_{v}"}[name], "003 Eq. 2, formula F2"

    def pattern(self) -> Pattern:
        return frozenset("s")

    def entries(self) -> Mapping[tuple[int, int], Array]:
        return self.binding.rows_at_nodes() if self.name == "Q" else self.binding.rows_of_dofs()

    def bound_to(self, binding: Binding) -> Leaf:
        if not isinstance(binding, ClosedBinding):
            raise SpaceError(
                f"{self.name} has the rows of closures, which the tree alone does not know; bind a closed chain with "
                "sc.operators(sc.loops.TreeAugmented(mb))."
            )
        return RowLeaf(binding, self.name)


class ClosedOperators(Operators):
    """The operators of the tree of a closed chain, and those of its closures; made by `sc.operators(solver)`.

    In addition to those of `Operators`: `Q` (rows at the nodes), `Bc` (the pick-off operator of these nodes), `Qv`
    (rows of couplings), `Gc = Q Bc* phi* H*` (with couplings + Qv), `S = Q Bc* Omega Bc Q*` (with couplings Gc Mcal^-1
    Gc*), and the stacked vectors `Gcdot_v`, `U` and `Udot`: Gc v = U, Gc vdot + Gcdot_v = Udot. `vdot` is that of the
    tree, the first step of tree-augmented dynamics. `S.inv` is dense, and refused where rows are redundant.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> mb = sc.serial_chain(4, sc.Spherical())
    >>> node = mb.root.add_node("pier", mb.pose("link4/tip"))
    >>> loop = mb.close_loop("ring", "inertial/pier", "link4/tip", sc.Spherical())
    >>> s = sc.operators(sc.loops.TreeAugmented(mb))
    >>> s.Gc, s.Gc.definition(), (s.Gc * s.v - s.U).shape
    (Gc : closure[3] <- hinge[12], Q*Bc.T*phi.T*H.T : closure[3] <- hinge[12], (3,))
    """

    operators_besides = OPERATORS
    Q: Operator
    Bc: Operator
    Qv: Operator
    Gc: Operator
    S: Operator
    Gcdot_v: StackedVector
    U: StackedVector
    Udot: StackedVector
    _binding: ClosedBinding

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in VECTORS:
                return self._rows_vector(name)
            if name not in OPERATORS:
                return super().__getattr__(name)
            if name not in self._leaves:
                self._leaves[name] = self._of_closures(name)
            return self._leaves[name]

    def _of_closures(self, name: str) -> Operator:
        if name in ("Q", "Qv"):
            return RowLeaf(self._binding, name)
        if name == "Bc":
            nodes = self.B(list(self._binding.ends))
            return DefinedLeaf("Bc", r"\mathcal{B}_{c}", nodes, nodes.tags, "000 Eq. 12")
        loops, couplings = self._binding.task().rows.loops, self._binding.task().rows.couplings
        if name == "Gc":
            at_nodes = self.Q * self.Bc.T * self.phi.T * self.H.T if loops else self.Qv
            Gc = at_nodes + self.Qv if loops and couplings else at_nodes
            return DefinedLeaf("Gc", "G_{c}", Gc, frozenset(), "003 Eq. 2")
        if couplings:
            S = self.Gc * (self.H * self.phi * self.M * self.phi.T * self.H.T).inv * self.Gc.T
        else:
            S = self.Q * self.Bc.T * self.Omega * self.Bc * self.Q.T
        return DefinedLeaf("S", r"\mathcal{S}", S, frozenset({"symmetric", "positive_semidefinite"}), "003 section III")

    def _rows_vector(self, name: str) -> StackedVector:
        task = self._binding.task()
        data = task.rows.gamma if name == "Gcdot_v" else task.U if name == "U" else task.Udot
        return StackedVector(self._binding.closure, np.array(data))

    @staticmethod
    def names() -> tuple[str, ...]:
        """All names, operators first."""
        return (*Operators.names(), *OPERATORS, *VECTORS)


def drives_of(solver: Solver, U: Any) -> Drives:
    """Drives of closures, for one state."""
    if U is None:
        return {}
    graph = solver.graph
    p, (drives, *more) = read_drives(solver._read("operators", q=graph.current.q), U)
    if p.batch or more:
        raise LoopError(f"operators of closures take U for one state, got a batch {p.batch}.")
    return drives
