"""`report`: what the closures of a model leave it, and how well they are met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.dynamics.arguments import read_graph, read_problem
from soacraft.errors import LoopError, StateError
from soacraft.loops.assemble import assemble
from soacraft.loops.independent import Choice, choose, dofs_named, expansion, row_names
from soacraft.loops.rows import Constraints
from soacraft.loops.tasks import states_of
from soacraft.model.interface import Graph
from soacraft.spatial.checks import Array

#: Beside the largest pivot of Gc, a smallest one below this is near a singular configuration.
NEAR = 1e-3
#: Above this, in metres, radians and their rates, a closure is said to be violated.
VIOLATED = 1e-6


@dataclass(frozen=True, eq=False)
class Violation:
    """How far a loop or coupling is from being met."""

    name: str
    distance: float
    """In metres; of a coupling, in the units of its sum."""
    angle: float
    """In radians."""
    speed: float
    """The largest entry of Gc v."""

    @property
    def met(self) -> bool:
        """Whether it is met in position and velocity."""
        return max(self.distance, self.angle, self.speed) <= VIOLATED


@dataclass(frozen=True, eq=False)
class Report:
    """The closures of a model at one state. Printing it tells all."""

    name: str
    dofs: int
    rows: int
    rank: int
    redundant: tuple[str, ...]
    """Rows that repeat others, by name."""
    independent: tuple[str, ...]
    """Dofs that set the motion."""
    smallest: float
    """The smallest pivot of Gc that was kept, beside the largest."""
    rank_nearby: int
    """The largest rank at closed configurations nearby; above `rank` at a singular configuration."""
    violations: tuple[Violation, ...]
    """One for each active loop and coupling, met or not."""

    @property
    def mobility(self) -> int:
        """The number of independent dofs here: dofs less rank."""
        return self.dofs - self.rank

    @property
    def singular(self) -> bool:
        """Whether the mechanism has more freedom here than nearby."""
        return self.rank < self.rank_nearby

    @property
    def near_singular(self) -> bool:
        """Whether the rank is about to change, or has."""
        return self.singular or self.smallest < NEAR

    @property
    def met(self) -> bool:
        """Whether every loop and coupling is met."""
        return all(x.met for x in self.violations)

    def __repr__(self) -> str:
        lines = [
            f"{self.name}: {self.dofs} dofs, {self.rows} rows of rank {self.rank}, mobility {self.mobility}"
            f" ({_listed(self.independent)})"
        ]
        if self.redundant:
            lines.append(f"{len(self.redundant)} redundant rows: {'; '.join(self.redundant[:12])}"
                         f"{' ...' if len(self.redundant) > 12 else ''}")  # fmt: skip
        if self.singular:
            lines.append(f"singular configuration: the rank is {self.rank} here and {self.rank_nearby} nearby")
        elif self.near_singular:
            lines.append(f"near a singular configuration: smallest pivot {self.smallest:.1e} beside the largest")
        off = [x for x in self.violations if not x.met]
        if not off:
            lines.append("all closures are met")
        lines += [f"{x.name!r} is off by {x.distance:.3g} m, {x.angle:.3g} rad, {x.speed:.3g} in speed" for x in off]
        return "\n".join(lines)


def report(mb: Graph, q: Any = None, v: Any = None) -> Report:
    """Mobility, rank, redundant rows by name, singularity and violations at a state (default: the current one).

    Rank and independent dofs by pivoting in SI units. A configuration is singular where closed ones nearby have a
    larger rank; that is looked for only when the loops are closed. O(m nv^2).

    >>> import soacraft as sc
    >>> sc.loops.report(sc.load("robotiq_2f85"))
    robotiq_2f85: 8 dofs, 7 rows of rank 5, mobility 3 (...)
    2 redundant rows: right_follower:right_coupler: slide along x; left_follower:left_coupler: slide along x
    all closures are met
    """
    graph = read_graph("report", mb)
    q, v = graph.q if q is None else q, graph.v if v is None else v
    p = read_problem("loops.report", graph, ignore_loops=True, q=q, v=v)
    if p.batch:
        raise StateError(f"report takes one state, got a batch {p.batch}.")
    ((state, _, _),) = states_of(p)
    rows = Constraints(graph, state)
    G = rows.jacobian()
    choice = choose(G)
    names = row_names(rows)
    closed = np.abs(rows.residual).max(initial=0.0) <= VIOLATED
    return Report(
        name=graph.name,
        dofs=graph.nv,
        rows=rows.size,
        rank=choice.rank,
        redundant=tuple(names[i] for i in choice.redundant),
        independent=dofs_named(rows, choice.independent),
        smallest=choice.smallest,
        rank_nearby=_rank_nearby(rows, G, choice) if closed and rows.size else choice.rank,
        violations=_violations(rows),
    )


def _violations(rows: Constraints) -> tuple[Violation, ...]:
    speeds = {name: float(np.abs(rows.speed[where]).max(initial=0.0)) for name, where in rows.places}
    loops = [
        Violation(x.name, float(np.linalg.norm(x.gap[3:])), float(np.linalg.norm(x.gap[:3])), speeds[x.name])
        for x in rows.loops
    ]
    return (*loops, *(Violation(x.name, abs(x.residual), 0.0, speeds[x.name]) for x in rows.couplings))


def _rank_nearby(rows: Constraints, G: Array, choice: Choice) -> int:
    """The largest rank a few steps away along the closed configurations, the same steps every time."""
    graph, found = rows.graph, choice.rank
    X, rng = expansion(G, choice), np.random.default_rng(0)
    free = np.zeros(graph.nv, dtype=np.bool_)
    for _ in range(3):
        step = X @ rng.standard_normal(X.shape[1])
        size = float(np.abs(step).max(initial=0.0))
        if not size > 0.0:
            break
        moved = rows.state.replace(q=graph.integrate(rows.state.q, 0.05 / size * step))
        try:
            q = assemble(graph, moved, free, rows.theta)
        except LoopError:
            continue
        found = max(found, choose(Constraints(graph, rows.state.replace(q=q), rows.theta).jacobian()).rank)
    return found


def _listed(names: tuple[str, ...]) -> str:
    shown = names if len(names) <= 8 else (*names[:7], "...")
    return ", ".join(shown) or "locked"
