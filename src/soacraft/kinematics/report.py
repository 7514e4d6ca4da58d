"""`report`: the mobility that the closures of a model leave, and their violations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft import markup
from soacraft.cards import card
from soacraft.dynamics.arguments import read_graph, read_problem
from soacraft.errors import StateError
from soacraft.kinematics.independent import dofs_named, row_names, weakest_row
from soacraft.kinematics.partition import nearby_rank, partition
from soacraft.kinematics.residuals import natural_rate
from soacraft.kinematics.rows import Constraints, CouplingRow, LoopRows
from soacraft.kinematics.sizes import sizes_of
from soacraft.kinematics.tasks import Task, states_of
from soacraft.kinematics.tolerances import CLOSED, NEAR_SINGULAR, read_tolerance
from soacraft.model.tree.graph import Graph

#: Number of redundant rows and violations that are printed.
_SHOWN = 12


@dataclass(frozen=True, eq=False)
class Violation:
    """Violation of a loop or coupling."""

    name: str
    distance: float
    """Distance in metres; of a coupling, in the units of its sum."""
    angle: float
    """Angle in radians."""
    speed: float
    """The largest entry of Gc v."""
    opening: float
    """The angle, or the distance relative to the length of the loop; of a coupling, its sum relative to its terms."""
    drift: float
    """The speed in the same units, relative to how fast the mechanism moves."""
    tolerance: float

    @property
    def closed(self) -> bool:
        """True if it is met in position."""
        return self.opening <= self.tolerance

    @property
    def met(self) -> bool:
        """True if it is met in position and velocity."""
        return self.closed and self.drift <= self.tolerance


@dataclass(frozen=True, eq=False)
class Report:
    """The closures of a model at one state. Printing it tells all; it is true where every closure is met."""

    name: str
    dofs: int
    rows: int
    rank: int
    redundant: tuple[str, ...]
    """Rows that repeat others, by name."""
    independent: tuple[str, ...]
    """Dofs that set the motion."""
    smallest: float
    """The smallest pivot of Gc that was kept, relative to the largest."""
    weakest: str
    """The row it belongs to, the nearest to repeating others; empty without rows that count."""
    rank_nearby: int
    """The largest rank at closed configurations nearby; above `rank` at a singular configuration."""
    shaky: bool
    """True if its motions are of first order only: no step along them leads to another closed configuration."""
    violations: tuple[Violation, ...]
    """One for each active loop and coupling, met or not."""

    @property
    def mobility(self) -> int:
        """The number of independent dofs here: dofs less rank."""
        return self.dofs - self.rank

    @property
    def singular(self) -> bool:
        """True if the mechanism has more freedom here than nearby, or only seems to have it."""
        return self.shaky or self.rank < self.rank_nearby

    @property
    def near_singular(self) -> bool:
        """True if the rank is about to change, or has."""
        return self.singular or self.smallest < NEAR_SINGULAR

    @property
    def met(self) -> bool:
        """True if every loop and coupling is met."""
        return all(x.met for x in self.violations)

    @property
    def closed(self) -> bool:
        """True if every loop and coupling is met in position."""
        return all(x.closed for x in self.violations)

    def __bool__(self) -> bool:
        return self.met

    def __repr__(self) -> str:
        lines = [
            f"{self.name}: {self.dofs} dofs, {self.rows} rows of rank {self.rank}, mobility {self.mobility}"
            f" ({_listed(self.independent)})"
        ]
        if self.redundant:
            count = f"{len(self.redundant)} redundant row{'s' if len(self.redundant) > 1 else ''}"
            shown = "; ".join(self.redundant[:_SHOWN])
            lines.append(f"{count}: {shown}{' ...' if len(self.redundant) > _SHOWN else ''}")
        if self.shaky:
            lines.append("singular configuration: it gives way to first order, and no closed one is nearby")
        elif self.singular:
            lines.append(f"singular configuration: the rank is {self.rank} here and {self.rank_nearby} nearby")
        elif self.near_singular:
            lines.append(
                f"near a singular configuration: smallest pivot {self.smallest:.1e} relative to the largest, at "
                f"{self.weakest}"
            )
        off = sorted((x for x in self.violations if not x.met), key=lambda x: -max(x.opening, x.drift))
        if not off:
            lines.append("all closures are met")
        lines += [
            f"{x.name!r} is off by {x.distance:.3g} m, {x.angle:.3g} rad, {x.speed:.3g} in speed" for x in off[:_SHOWN]
        ]
        if len(off) > _SHOWN:
            lines.append(f"and {len(off) - _SHOWN} others by less")
        if not self.closed:
            lines.append("rank and mobility are those of an open configuration; s.assemble(q) closes it")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *notes = repr(self).splitlines()
        rows = [
            (x.name, f"{x.distance:.3g}", f"{x.angle:.3g}", f"{x.speed:.3g}", "met" if x.met else "off")
            for x in self.violations
        ]
        off = sorted(rows, key=lambda row: row[-1] == "met")
        titles = ["loop or coupling", "distance [m]", "angle [rad]", "speed", ""]
        below = [markup.paragraph(line) for line in notes if " is off by " not in line]
        return card(head, markup.table(titles, off), *below)


def report(mb: Graph, q: Any = None, v: Any = None, tolerance: float = CLOSED) -> Report:
    """Mobility, rank, redundant rows by name, singularity and violations at a state (default: the current one).

    A closure is met that is open by no more than `tolerance`, as for the solvers: in radians, in distances relative to
    the length of its loop, and in velocities relative to how fast the mechanism moves. `bool(report)` is true if all
    are.

    The rank is that of the solvers: what is more than 1e-6 of the rows before they cancel counts, and less where it
    does nearby (`kinematics.partition`). Independent dofs are found by pivoting. A configuration is singular where
    closed ones nearby have a larger rank; that is looked for only when the loops are closed. O(m nv^2).

    >>> import soacraft as sc
    >>> sc.loops.report(sc.load("robotiq_2f85"))
    robotiq_2f85: 8 dofs, 7 rows of rank 5, mobility 3 (...)
    2 redundant rows: right_follower:right_coupler: slide along x; left_follower:left_coupler: slide along x
    all closures are met
    """
    graph = read_graph("report", mb)
    allowed = read_tolerance(tolerance, "report")
    q, v = graph.current.q if q is None else q, graph.current.v if v is None else v
    p = read_problem("loops.report", graph, ignore_loops=True, q=q, v=v)
    if p.batch:
        raise StateError(f"report takes one state, got a batch {p.batch}.")
    ((state, _, _),) = states_of(p)
    rows = Constraints(graph, state)
    sizes, choice = sizes_of(rows), partition(rows, tolerance=allowed)
    names, weakest = row_names(rows), weakest_row(rows.jacobian(), choice, sizes)
    closed = rows.opening <= allowed
    nearby, shaky = nearby_rank(rows, choice, sizes, allowed) if closed and rows.size else (choice.rank, False)
    return Report(
        name=graph.name,
        dofs=graph.nv,
        rows=rows.size,
        rank=choice.rank,
        redundant=tuple(names[i] for i in choice.redundant),
        independent=dofs_named(rows, choice.independent),
        smallest=choice.smallest,
        weakest="" if weakest is None else names[weakest],
        rank_nearby=nearby,
        shaky=shaky,
        violations=_violations(rows, allowed),
    )


def _violations(rows: Constraints, tolerance: float) -> tuple[Violation, ...]:
    rate = natural_rate(Task(rows, np.zeros(rows.graph.nv), (), {}))
    violations = []
    ties: list[LoopRows | CouplingRow] = [*rows.loops, *rows.couplings]
    for x, (_, place) in zip(ties, rows.places, strict=True):
        distance, angle = (x.distance, x.angle) if isinstance(x, LoopRows) else (abs(x.residual), 0.0)
        speed = float(np.abs(rows.speed[place]).max(initial=0.0))
        drift = float(np.abs(rows.speed[place] / rows.units[place]).max(initial=0.0))
        drift = drift / rate if rate else drift
        violations.append(Violation(x.name, distance, angle, speed, x.opening, drift, tolerance))
    return tuple(violations)


def _listed(names: tuple[str, ...]) -> str:
    shown = names if len(names) <= 8 else (*names[:7], "...")
    return ", ".join(shown) or "locked"
