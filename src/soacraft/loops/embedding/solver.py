"""Constraint embedding: loops become compound bodies, the whole an SKO model (003 section III-A; 004 section 8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from soacraft.kinematics.compiled import ADVANCE, COMPLETE, EXPAND, CompiledClosures
from soacraft.kinematics.independent import Indices, Partition
from soacraft.kinematics.partition import partition_with
from soacraft.kinematics.plan import CONSTRAINT_EMBEDDING
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.tasks import Task
from soacraft.kinematics.tolerances import CLOSED
from soacraft.loops.embedding.binding import EmbeddedBinding, Epoch
from soacraft.loops.embedding.continuation import advance, complete, read_rates
from soacraft.loops.embedding.groups import Group
from soacraft.loops.embedding.hybrid import rest_of
from soacraft.loops.embedding.model import EmbeddedModel
from soacraft.loops.embedding.solve import choice_of, multipliers_of, refined, solve, unbalanced
from soacraft.loops.embedding.system import EmbeddedSystem, active_names, read_embed, read_wanted
from soacraft.loops.findings import Answer
from soacraft.loops.independent_values import by_name, length_of, of_chosen, require_names
from soacraft.loops.motion import Attempt, Outputs, each, with_rates
from soacraft.loops.solver import Solver
from soacraft.model.flat.sko import SKOModel
from soacraft.model.states.coordinates import read_q
from soacraft.model.states.state import State
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array


class ConstraintEmbedding(Solver):
    """The closed chain as a tree of bodies and compound bodies, in independent dofs: an SKO model. O(n) for loops of a
    given size, also where many loops share bodies in a row.

        vdot_i = Mcal^-1 (Xt* T - C),    vdot = Xt vdot_i + x0            by AB forward dynamics on the embedded model

    `embed` names the loops and couplings to embed (default: all); the rest stay rows, solved for on the embedded tree
    as the tree-augmented solver does on the plain one. `independent` names dofs to be independent; without it they are
    found by pivoting, and again when another choice is much better conditioned or the rank changes: `changes` tells.
    Modal coordinates of flexible bodies stay independent where the rank allows: `dependent_modes` tells.
    `sc.operators(s)` gives the operators; they belong to one choice and raise `StaleError` after another was made.

    >>> import soacraft as sc
    >>> from soacraft.loops.embedding.solver import ConstraintEmbedding
    >>> s = ConstraintEmbedding(sc.load("robotiq_2f85"))
    >>> s
    ConstraintEmbedding of Multibody 'robotiq_2f85': 14 bodies, 8 dofs, 2 loops, 1 coupling; 1 compound body
    >>> sc.operators(s).D
    D : hinge[3] <- hinge[3]
    """

    _method = CONSTRAINT_EMBEDDING
    _set_once = frozenset({"tolerance", "system"})

    def __init__(
        self,
        graph: Graph,
        embed: Iterable[str] | None = None,
        independent: Iterable[Any] | None = None,
        tolerance: float = CLOSED,
    ) -> None:
        self._embedded = read_embed(graph, embed) if isinstance(graph, Graph) else frozenset()
        super().__init__(graph, tolerance)
        self._named = list(independent) if isinstance(independent, Iterator) else independent
        wanted = read_wanted(graph, self._named)
        self._in_dof_order = wanted is not None and _ascending(graph, self._named)
        self.system = EmbeddedSystem(self, self._embedded, wanted)
        """The SKO model of the embedded tree, whose operators `sc.operators` gives."""
        self._at_rest: tuple[Epoch, EmbeddedModel] | None = None
        self._found_for: WeakKeyDictionary[Constraints, Partition] = WeakKeyDictionary()

    def __repr__(self) -> str:
        count = f"{len(self.groups)} compound bod{'y' if len(self.groups) == 1 else 'ies'}"
        return f"{super().__repr__()}; {count}"

    @property
    def groups(self) -> list[Group]:
        """The compound bodies."""
        return self.system.groups

    @property
    def changes(self) -> list[str]:
        """A line for every new choice of independent dofs after the first."""
        return self.system.changes

    @property
    def dependent_modes(self) -> tuple[str, ...]:
        """The modal coordinates that are not independent: the hinges of their loops cannot carry the rank alone, as
        where both ends of a beam are held. None as long as hinges can."""
        chosen, names = self.system.independent, self.graph.dof_names
        free = set() if chosen is None else set(chosen.tolist())
        return () if chosen is None else tuple(names[i] for i in self.graph.layout.own.v.tolist() if i not in free)

    # -- the embedded system -----------------------------------------------------------------------------------------

    @property
    def epoch(self) -> Epoch:
        """The choice of independent dofs that holds now."""
        return self.system.epoch

    def model(self, state: State, f_ext: Any = None) -> EmbeddedModel:
        """The embedded system at a state on its closures: its SKO model, Xt and x0."""
        return self.system.model(state, f_ext)

    def sko(self, q: Any = None, v: Any = None) -> SKOModel:
        """The SKO model at a state (default: the current one)."""
        return self.system.sko(q, v)

    def log_det_mass_matrix(self, q: Any = None) -> float:
        """log det of the mass matrix in the independent dofs at one configuration (default: the current one): the sum
        over bodies and compound bodies of log det D (004 Eq. 53). O(n).
        """
        return self.system.log_det_mass_matrix(q)

    def operators(
        self, q: Any = None, v: Any = None, names: str | None = None, f_ext: Any = None, force: Any = None
    ) -> Any:
        """The operators at a state; without q and v those at the current state, whatever it becomes.

        `force` is one of the tree, in its size or by name, or one of the size of T. The hinge space is that of the
        independent dofs, `epoch.dofs`.
        """
        return self.system.operators(q, v, names, f_ext, force)

    def binding(self, f_ext: Any = None, force: Any = None) -> EmbeddedBinding:
        """Binding of `sc.operators(s)`: the embedded system at the current state."""
        return self.system.binding(f_ext, force)

    # -- plans -------------------------------------------------------------------------------------------------------

    def _compile(self) -> CompiledClosures | None:
        self._whole = self._embedded >= set(active_names(self._graph))  # no row stays next to the embedded tree
        return CompiledClosures.of(self._graph, self.tolerance)

    def _prepare(self, task: Task) -> None:
        self.system.choose(task.rows)

    def _prepare_at(self, q: Array, v: Array) -> bool:
        rows = Constraints(self.graph, self.graph.current.replace(q=q, v=v, forces=()), self._theta)
        self._theta = {**self._theta, **rows.theta}
        self.system.choose(rows)
        return True

    def _embed(self, independent: Indices, loose: bool) -> None:
        """Make the plan of a choice of independent dofs."""
        base = self._compiled
        ties = [(group.members, group.ties) for group in self.groups]
        is_compiled = base is not None and self._is_compiled(self._method)
        compiled = base.embedded(ties, independent, loose) if base is not None and is_compiled else None
        self._take(compiled, independent if self._whole else None)

    def _renew(self) -> None:
        super()._renew()
        self._at_rest, self._found_for = None, WeakKeyDictionary()
        if self.system.independent is not None:
            self._embed(self.system.independent, self.system.loose)

    def _choices(self) -> dict[str, Any]:
        return super()._choices() | {"embed": sorted(self._embedded), "independent": self._named}

    def _memory(self) -> dict[str, Any]:
        system = self.system
        if system.independent is None:
            return super()._memory()
        return super()._memory() | {"choice": (system.independent, system.loose), "changes": system.changes}

    def _recall(self, memory: dict[str, Any]) -> None:
        super()._recall(memory)
        if "choice" in memory:
            self.system.take(*memory["choice"])
            self.system.changes.extend(memory["changes"])

    # -- solving -----------------------------------------------------------------------------------------------------

    def _solve(self, task: Task) -> Answer:
        embedded = self.system.at(task)
        rest = rest_of(embedded, task)
        vdot_i, multipliers = solve(embedded, task, rest)
        vdot = embedded.expanded(vdot_i) + embedded.x0
        if rest is None:
            vdot, residual = refined(embedded, task, vdot, multipliers)
        else:
            residual = unbalanced(task, vdot, multipliers)
        multipliers = multipliers_of(embedded, residual, multipliers)
        choice = self._found_for[task.rows] = choice_of(embedded, rest)
        return Answer(vdot, multipliers, choice)

    def _embedding(self) -> CompiledClosures | None:
        return self._chosen.compiled if self._whole else None

    def _project(self, task: Task, weight: str) -> Array:
        if weight == "mass":
            self._augment(task)
        return super()._project(task, weight)

    def _choice_at(self, rows: Constraints, chosen: Indices | None) -> Partition:
        """Partition for a choice of independent dofs, with the rank that it was made with."""
        if not self._whole:
            return self._choice(rows)
        if chosen is None:
            return super()._choice_at(rows, chosen)
        return partition_with(rows, chosen)

    def _choice(self, rows: Constraints) -> Partition:
        """The choice that rows were solved with, or that holds at their state now."""
        if rows not in self._found_for:
            task = Task(rows, np.zeros(self.graph.nv), (), {})
            embedded = self.system.at(task)
            self._found_for[rows] = choice_of(embedded, rest_of(embedded, task))
        return self._found_for[rows]

    # -- independent coordinates -------------------------------------------------------------------------------------

    def expand(self, q: Any, v_independent: Any) -> Array:
        """All velocities (..., nv) from the independent ones, by name, `{"crank": 2.0}`: Xt v_i. Bare numbers, in the
        order of `independent(q)`, are read where the solver was made with `independent=`.

        Here, in `complete` and in `advance` all closures are at rest: with driven ones integrate all dofs and use
        `project(q, v, U)`.
        """
        v_independent = self._rates(q, v_independent, "v_independent")
        quick = self._quick(self._embedding(), EXPAND, q, v_independent)
        if quick is not None:
            return quick[1]

        def one(q: Array, x: Array) -> Outputs:
            embedded = self._at(q)
            return (embedded.expanded(read_rates(embedded, x, "v_independent")),)

        p = with_rates(self._read("expand", q=q), v_independent, "v_independent", self._independent_now)
        return each(p, ("q", "v_independent"), self._moved(EXPAND), one, (p.nv,))[0]

    def complete(self, q: Any) -> Array:
        """The configuration (..., nq) with the independent coordinates of q in which all loops close; the dependent
        ones start from those of q, which must be near. The independent dofs are those chosen last, or else at the
        current state.
        """
        quick = self._quick(self._embedding(), COMPLETE, q)
        if quick is not None:
            return quick[0]
        p = self._read("complete", q=q)
        self.epoch  # noqa: B018  (there must be a choice)
        return each(p, ("q",), self._moved(COMPLETE), lambda q: (complete(self, q),), (self.graph.nq,))[0]

    def advance(self, q: Any, dv_independent: Any) -> Array:
        """Move the independent dofs by dv_i (tangent, as for `mb.integrate`) from a closed q, by continuation: the
        dependent ones are predicted with X and x0 and then solved for, in as many steps as that needs. It stays on its
        branch through singular poses; a change of rank on the way is a `LoopError`. Batches too: (..., nq). `dv_i` is
        given by name, or bare as for `expand`.
        """
        dv_independent = self._rates(q, dv_independent, "dv_independent")
        quick = self._quick(self._embedding(), ADVANCE, q, dv_independent)
        if quick is not None:
            return quick[0]

        def one(q: Array, x: Array) -> Outputs:
            if self.system.independent is None:
                self._at(q)
            return (advance(self, q, x),)

        p = with_rates(self._read("advance", q=q), dv_independent, "dv_independent", self._independent_now)
        return each(p, ("q", "dv_independent"), self._moved(ADVANCE), one, (self.graph.nq,))[0]

    def _takes_bare(self) -> bool:
        chosen, wanted = self.system.independent, self.system.wanted
        return self._in_dof_order and wanted is not None and (chosen is None or bool(wanted[chosen].all()))

    def _named_dofs(self) -> bool:
        return self.system.wanted is not None

    def _chosen_dofs(self) -> Indices | None:
        return self.system.independent if self._whole else None

    def _rates(self, q: Any, values: Any, what: str) -> Any:
        """Numbers of the independent dofs in their order, from values by name; bare ones where the dofs were named."""
        named = by_name(self.graph, values, what)
        if named is None and self._takes_bare():
            return values
        if self.system.independent is None:
            self._at(read_q(self.graph, q, rest=self.graph.current.q).reshape(-1, self.graph.nq)[0])
        chosen = self.epoch.dofs
        if named is not None:
            return of_chosen(self.graph, named, chosen, what)
        if 0 < len(chosen) < self.graph.nv and length_of(values) == len(chosen) and not self._takes_bare():
            raise require_names(self.graph, chosen, what, self._named_dofs())
        return values

    def _independent_now(self) -> tuple[str, ...]:
        return self.epoch.dofs

    def _moved(self, motion: int) -> Attempt:
        """A motion of many states, unless the numbers are not those of the independent dofs."""

        def attempt(q: Array, x: Array | None = None) -> tuple[Outputs, npt.NDArray[np.bool_]] | None:
            chosen = self.system.independent
            fits = chosen is not None and (x is None or x.shape[1] == len(chosen))
            return self._attempt(self._embedding(), motion, q, x) if fits else None

        return attempt

    def _at(self, q: Array) -> EmbeddedModel:
        """The embedded system at rest."""
        cached = self._kept_at(q)
        if cached is not None:
            return cached if cached.one.opening <= self.tolerance else self.model(cached.one.state)
        return self.model(self.graph.state(q, np.zeros(self.graph.nv)))

    def held(self, q: Array, v: Array | None = None) -> EmbeddedModel:
        """The embedded system at any state (default: at rest), for the independent dofs as they are: no check, no new
        choice. The last one at rest is kept.
        """
        cached = self._kept_at(q) if v is None else None
        if cached is not None:
            return cached
        state = self.graph.state(q, np.zeros(self.graph.nv) if v is None else v)
        rows = Constraints(self.graph, state, self._theta)
        self._theta = {**self._theta, **rows.theta}
        embedded = self.system.held(rows)
        if v is None:
            self._at_rest = self.system.epoch, embedded
        return embedded

    def _kept_at(self, q: Array) -> EmbeddedModel | None:
        """The last one at rest, if it is at q and its dofs are those chosen now."""
        if self._at_rest is None or self._at_rest[0] is not self.system.epoch:
            return None
        return self._at_rest[1] if np.array_equal(self._at_rest[1].one.state.q, q) else None


def _ascending(graph: Graph, independent: Any) -> bool:
    """True if dofs are named in the order that they have in v."""
    if isinstance(independent, np.ndarray) and independent.dtype == np.bool_:
        return True
    items = [independent] if isinstance(independent, str) else list(independent)
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        return True
    firsts = [int(np.argmax(read_wanted(graph, [item]))) for item in items]  # type: ignore[arg-type]
    return firsts == sorted(firsts)
