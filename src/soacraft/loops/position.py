"""Putting a state that is nearly closed back on its closures: what an integrator does at every step.

    q <- integrate(q, -Mcal^-1 Gc* S^+ r(q))     until what is open is rounding
    v <- v - Mcal^-1 Gc* S^+ Gc v                                        S = Gc Mcal^-1 Gc*, formula F3

Both are least in the metric of the mass matrix: they change nothing along the motions that the closures allow. So near
a singular pose, where an acceleration across the branch is rounding next to a row that vanishes, or S^+ leaves such a
row out, what was integrated along the branch stays and what leads off it goes.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.errors import LoopError
from soacraft.kinematics.checks import gap_text
from soacraft.kinematics.compiled import PROJECT
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.tasks import Drives, Task, for_each, read_drives
from soacraft.kinematics.tolerances import CLOSEST
from soacraft.model.states.state import State
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.loops.solver import Solver

_STEPS = 20


class _Opening(Task):
    """A task at rest whose closures are to move, in a unit of time, by what they are open; driven ones stay."""

    @cached_property
    def U(self) -> Array:
        return np.asarray(self.rows.speed - self.rows.open_by)


def project(s: Solver, q: Any, v: Any, U: Any = None) -> tuple[Array, Array]:
    """The state on the closures next to (q, v) in the metric of the mass matrix.

    Closures that `U` drives keep their position, whatever it is, and take the velocity `Gc v = U`.
    Each step of the coordinates must at least halve what is open, so a state far off is a `LoopError` that says by how
    much; `s.assemble(q)` closes it. A step costs what `s.project_velocity` does; a state that an integrator left open
    by 1e-8 takes one or two.

    >>> import soacraft as sc
    >>> mb = sc.load("five_bar")
    >>> s = sc.loops.TreeAugmented(mb)
    >>> q = s.assemble(mb.q)
    >>> moved, v = project(s, mb.integrate(q, 1e-4 * np.ones(mb.nv)), np.ones(mb.nv))
    >>> s.forward_dynamics(moved, v, np.zeros(mb.nv)).rank
    3
    """
    p, drives = read_drives(s._read("project", q=q, v=v), U)
    if not U:
        return _without_drives(s, p)

    def work(state: State, one: Any, forces: Any, driven: Drives) -> Array:
        return _closed(s, state.replace(v=np.zeros(p.nv)), frozenset(driven))

    projected = for_each(p, drives, work)
    coordinates = np.reshape(projected, (*p.batch, s.graph.nq))
    return coordinates, s.project_velocity(coordinates, p.given["v"], U)


def _without_drives(s: Solver, p: Problem) -> tuple[Array, Array]:
    """All states side by side, where compiled code is sure of them."""

    def one(q: Array, v: Array) -> tuple[Array, Array]:
        moved = _closed(s, s.graph.current.replace(q=q, v=np.zeros(p.nv), vdot=np.zeros(p.nv), forces=()), frozenset())
        return moved, s.project_velocity(moved, v)

    moved, v = s._projected(p, PROJECT, one)
    return moved, v


def _closed(s: Solver, state: State, driven: frozenset[str]) -> Array:
    """Gauss-Newton steps while they help."""
    first = rows = _rows(s, state, driven)
    for _ in range(_STEPS):
        opening = rows.open_part
        if opening <= CLOSEST:
            break
        dq = s._project(_Opening(rows, np.zeros(s.graph.nv), (), {}), "mass")
        after = _rows(s, rows.state.replace(q=s.graph.integrate(rows.state.q, dq)), driven)
        if after.open_part < opening:
            rows = after
        if not after.open_part <= 0.5 * opening:
            break
    if not rows.opening <= s.tolerance:
        raise LoopError(
            f"the state of {s.graph.name!r} is too far off its closures to be projected: {_worst(first)}, and "
            f"{rows.opening:.3g} stays (radians, or lengths of the loop). Close it first: q = s.assemble(q)."
        )
    return np.array(rows.state.q)


def _rows(s: Solver, state: State, driven: frozenset[str]) -> Constraints:
    rows = s._rows(state)
    rows.driven = driven
    return rows


def _worst(rows: Constraints) -> str:
    """Message about the largest opening."""
    openings = [(x.opening, f"loop {x.name!r} is open by {gap_text(x)}", x.name) for x in rows.loops]
    openings += [(x.opening, f"coupling {x.name!r} is off by {abs(x.residual):.3g}", x.name) for x in rows.couplings]
    return max(x for x in openings if x[2] not in rows.driven)[1]
