"""Constraint embedding: loops become compound bodies, the whole an SKO model (003 section III-A; 004 section 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from soacraft.dynamics.arguments import read_prescribed
from soacraft.errors import LoopError, StateError
from soacraft.kinematics.checks import check_state
from soacraft.kinematics.compiled import CONSTRAINT_EMBEDDING
from soacraft.kinematics.independent import Choice, Indices, choose, dofs_named
from soacraft.kinematics.report import nearby_rank
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.sizes import sizes_of
from soacraft.kinematics.tasks import Task
from soacraft.kinematics.tolerances import CLOSED
from soacraft.loops.embedding.binding import CompoundSystem, Epoch
from soacraft.loops.embedding.continuation import advance, complete, read_rates
from soacraft.loops.embedding.groups import Group, Units, find_groups
from soacraft.loops.embedding.hybrid import rest_of
from soacraft.loops.embedding.model import EmbeddedModel
from soacraft.loops.embedding.solve import choice_of, multipliers_of, refined, repeated, solve, unbalanced
from soacraft.loops.embedding.split import Mask, Split
from soacraft.loops.solver import Answer, Findings, Solver
from soacraft.model.states.coordinates import read_forces
from soacraft.model.states.state import State
from soacraft.model.tree.gears import DEPENDENT
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array


class ConstraintEmbedding(CompoundSystem, Solver):
    """The closed chain as a tree of bodies and compound bodies, in independent dofs: an SKO model. O(n) for loops of a
    given size, cubic in the size of a group of loops.

        vdot_i = Mcal^-1 (Xt* T - C),    vdot = Xt vdot_i + x0            by AB forward dynamics on the embedded model

    `embed` names the loops and couplings to embed (default: all); the rest stay rows, solved for on the embedded tree
    as the tree-augmented solver does on the plain one. `independent` names dofs to be independent; without it they are
    found by pivoting, and found anew when another choice is much better conditioned or the rank changes: `changes`
    tells.
    `sc.operators(s)` gives the operators; they belong to one choice and raise `StaleError` after another was made.

    >>> import soacraft as sc
    >>> from soacraft.loops.embedding.solver import ConstraintEmbedding
    >>> s = ConstraintEmbedding(sc.load("robotiq_2f85"))
    >>> s
    ConstraintEmbedding of Multibody 'robotiq_2f85': 14 bodies, 8 dofs; 1 compound body
    >>> sc.operators(s).D
    D : hinge[3] <- hinge[3]
    """

    _METHOD = CONSTRAINT_EMBEDDING

    _set_once = frozenset({"tolerance", "groups", "changes"})

    def __init__(
        self,
        graph: Graph,
        embed: Iterable[str] | None = None,
        independent: Iterable[Any] | None = None,
        tolerance: float = CLOSED,
    ) -> None:
        super().__init__(graph, tolerance)
        self._embedded = _read_embed(graph, embed)
        self.groups: list[Group] = find_groups(graph, self._embedded)
        """The compound bodies."""
        self._units = Units(graph.topology, self.groups)
        self._wanted = _read_wanted(graph, independent)
        self._spare = _spare(graph)
        self._splits: list[Split | None] | None = None
        self._at_rest: EmbeddedModel | None = None
        self._found_for: WeakKeyDictionary[Constraints, Choice] = WeakKeyDictionary()
        self.changes: list[str] = []
        """A line for every new choice of independent dofs after the first."""
        self._compile()

    def __repr__(self) -> str:
        count = f"{len(self.groups)} compound bod{'y' if len(self.groups) == 1 else 'ies'}"
        return f"{super().__repr__()}; {count}"

    graph = Solver.graph

    def _compile(self) -> None:
        if self._embedded >= set(_names(self._graph)):
            super()._compile()
        if self._compiled is not None:
            self._compiled.set_groups([(group.members, group.ties) for group in self.groups])

    def _set_dependent(self, independent: Indices) -> None:
        """Tell the compiled solver the choice of dofs."""
        if self._compiled is not None:
            mask = np.ones(self._graph.nv, dtype=np.int64)
            mask[independent] = 0
            self._compiled.core.set_dependent(mask)

    def _renew(self) -> None:
        super()._renew()
        self._at_rest, self._found_for = None, WeakKeyDictionary()
        if self._source.chosen is not None:
            self._set_dependent(self._source.chosen)

    @property
    def _ready(self) -> bool:
        return self._splits is not None

    # -- the SKO model -----------------------------------------------------------------------------------------------

    def model(self, state: State, f_ext: Any = None) -> EmbeddedModel:
        """The embedded system at a state on its closures: its SKO model, Xt and x0."""
        rest = [name for name in _names(self.graph) if name not in self._embedded]
        if rest:
            verb, them = ("is", "it") if len(rest) == 1 else ("are", "them")
            raise LoopError(
                f"{', '.join(map(repr, rest))} of {self.graph.name!r} {verb} kept as rows next to the embedded tree, "
                f"which alone does not know {them}; embed all loops and couplings for its operators and coordinates."
            )
        forces = read_forces(self.graph, f_ext)
        task = Task(self._rows(state), np.zeros(self.graph.nv), forces, {})
        check_state(task, self.tolerance)
        return self._model(task)

    def _model(self, task: Task) -> EmbeddedModel:
        wanted = self._spare if self._wanted is None else self._wanted
        gamma = task.rows.gamma - task.Udot
        found = EmbeddedModel(task.rows, task.sko, self._units, self._splits, wanted, gamma)
        if found.splits != self._splits:
            found = self._of_right_rank(task, found, wanted, gamma)
        if found.splits != self._splits or self._epoch is None:
            self._chosen(found)
        return found

    def _of_right_rank(
        self, task: Task, found: EmbeddedModel, wanted: Mask | None, gamma: Array
    ) -> EmbeddedModel:
        """A new choice of dofs with the rank that the scaled rows have; a lower one only where it is so nearby too."""
        G, sizes = task.rows.jacobian(), sizes_of(task.rows)
        choice = choose(G, sizes)
        if choice.rank == found.rank:
            return found
        if choice.rank > found.rank:
            splits = found.with_ranks(sizes.scaled(G), wanted)
        elif found.weak and nearby_rank(task.rows, G, choice, self.tolerance)[0] < found.rank:
            splits = found.without_weak(wanted)
        else:
            return found
        return EmbeddedModel(task.rows, task.sko, self._units, splits, wanted, gamma)

    def _chosen(self, found: EmbeddedModel) -> None:
        """Take note of a new choice of independent dofs."""
        names = dofs_named(found.one, found.independent)
        if self._wanted is not None:
            lost = set(np.flatnonzero(self._wanted)) - set(found.independent.tolist())
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
        self._splits = found.splits
        self._sources[0] = Findings(self, found.independent)
        self._set_dependent(found.independent)
        self._epoch = Epoch(self, names)

    def _choices(self) -> dict[str, Any]:
        return super()._choices() | {"embed": sorted(self._embedded), "independent": self._wanted}

    def _memory(self) -> dict[str, Any]:
        if self._epoch is None:
            return super()._memory()
        return super()._memory() | {"splits": self._splits, "chosen": self._source.chosen, "changes": self.changes}

    def _recall(self, memory: dict[str, Any]) -> None:
        super()._recall(memory)
        if "chosen" in memory:
            chosen, names = memory["chosen"], self.graph.dof_names
            self._splits = memory["splits"]
            self._sources[0] = Findings(self, chosen)
            self._set_dependent(chosen)
            self._epoch = Epoch(self, tuple(names[i] for i in chosen))
            self.changes.extend(memory["changes"])

    # -- solving -----------------------------------------------------------------------------------------------------

    def _solve(self, task: Task) -> Answer:
        found = self._model(task)
        rest = rest_of(found, task)
        vdot_i, multipliers = solve(found, task, rest)
        vdot = found.expanded(vdot_i) + found.x0
        if rest is None:
            vdot, left = refined(found, task, vdot, multipliers)
        else:
            left = unbalanced(task, vdot, multipliers)
        multipliers = multipliers_of(found, left, multipliers)
        choice = self._found_for[task.rows] = choice_of(found, rest)
        return Answer(vdot, multipliers, choice.rank, choice.redundant)

    def _rank_at(self, rows: Constraints, chosen: Indices | None) -> tuple[int, Indices]:
        """For a choice of independent dofs the rank that it was made with."""
        if chosen is None:
            return super()._rank_at(rows, chosen)
        G = rows.jacobian() / rows.units[:, None] / rows.measure.dofs
        places, slices = dict(rows.places), self.graph.layout.v_slices
        free, redundant = set(chosen.tolist()), []
        for group in self.groups:
            dofs = np.concatenate([np.arange(slices[k].start, slices[k].stop) for k in group.members])
            where = np.concatenate([np.arange(places[name].start, places[name].stop) for name in group.ties])
            redundant += repeated(G[np.ix_(where, dofs)], len(set(dofs.tolist()) - free), where)
        return self.graph.nv - len(free), np.array(sorted(redundant), dtype=np.intp)

    def _choice(self, rows: Constraints) -> Choice:
        """The choice that rows were solved with, or that holds at their state now."""
        if rows not in self._found_for:
            task = Task(rows, np.zeros(self.graph.nv), (), {})
            found = self._model(task)
            self._found_for[rows] = choice_of(found, rest_of(found, task))
        return self._found_for[rows]

    # -- independent coordinates -------------------------------------------------------------------------------------

    def expand(self, q: Any, v_independent: Any) -> Array:
        """All velocities (nv) from the independent ones, in the order of `independent(q)`: Xt v_i.

        Here, in `complete` and in `advance` all closures are at rest: with driven ones integrate all dofs and use
        `project(q, v, U)`.
        """
        found = self._at(self._one("expand", q))
        return found.expanded(read_rates(found, v_independent, "v_independent"))

    def complete(self, q: Any) -> Array:
        """The configuration with the independent coordinates of q in which all loops close; the dependent ones start
        from those of q, which must be near. The independent dofs are those chosen last, or else at the current state.
        """
        self.epoch  # noqa: B018  (there must be a choice)
        return complete(self, self._one("complete", q))

    def advance(self, q: Any, dv_independent: Any) -> Array:
        """Move the independent dofs by dv_i (tangent, as for `mb.integrate`) from a closed q, by continuation: the
        dependent ones are predicted with X and x0 and then solved for, in as many steps as that needs. It stays on its
        branch through singular poses; a change of rank on the way is a `LoopError`.
        """
        q = self._one("advance", q)
        if self._epoch is None:
            self._at(q)
        return advance(self, q, dv_independent)

    def _at(self, q: Array) -> EmbeddedModel:
        """The embedded system at rest."""
        kept = self._at_rest
        if kept is not None and kept.splits == self._splits and np.array_equal(kept.one.state.q, q):
            return kept if kept.one.opening <= self.tolerance else self.model(kept.one.state)
        return self.model(self.graph.state(q, np.zeros(self.graph.nv)))

    def held(self, q: Array, v: Array | None = None) -> EmbeddedModel:
        """The embedded system at any state (default: at rest), for the independent dofs as they are: no check, no new
        choice. The last one at rest is kept.
        """
        kept = self._at_rest
        if v is None and kept is not None and kept.splits == self._splits and np.array_equal(kept.one.state.q, q):
            return kept
        state = self.graph.state(q, np.zeros(self.graph.nv) if v is None else v)
        rows = Constraints(self.graph, state, self._theta)
        self._theta = {**self._theta, **rows.theta}
        found = EmbeddedModel(rows, state.sko("body"), self._units, self._splits, hold=True)
        if v is None:
            self._at_rest = found
        return found

    def _one(self, function: str, q: Any) -> Array:
        p = self._read(function, q=q)
        if p.batch:
            raise StateError(f"{function} takes one configuration, got a batch {p.batch}.")
        return p.given["q"]


def _names(graph: Graph) -> list[str]:
    """The active loops and couplings."""
    return [x.name for x in graph.loops if x.active] + [x.name for x in graph.couplings if x.active]


def _read_embed(graph: Graph, embed: Iterable[str] | None) -> frozenset[str]:
    known = _names(graph)
    if embed is None:
        return frozenset(known)
    if isinstance(embed, str) or not isinstance(embed, Iterable):
        raise LoopError(f"embed takes a list of names of loops and couplings, got {embed!r:.60}.")
    names = list(embed)
    for name in names:
        if name not in known:
            shown = ", ".join(map(repr, known)) or "none"
            raise LoopError(f"{graph.name!r} has no active loop or coupling {name!r:.60} to embed; it has {shown}.")
        if names.count(name) > 1:
            raise LoopError(f"embed names {name!r} of {graph.name!r} twice; name it once.")
    return frozenset(names)


def _read_wanted(graph: Graph, independent: Any) -> Mask | None:
    """The dofs that should be independent; None for any."""
    if independent is None:
        return None
    if isinstance(independent, str | bytes | Mapping) or not isinstance(independent, Iterable):
        raise LoopError(
            f"independent takes a list of names or numbers of dofs of {graph.name!r}, or a mask; got "
            f"{independent!r:.60}."
        )
    items = independent if isinstance(independent, np.ndarray) else list(independent)
    return read_prescribed(graph, items, "independent")


def _spare(graph: Graph) -> Mask | None:
    """The dofs that should be independent where couplings say which are not (rotors of geared hinges)."""
    spare = {x.attributes[DEPENDENT] for x in graph.couplings if x.active and DEPENDENT in x.attributes}
    return np.array([name not in spare for name in graph.dof_names]) if spare else None
