"""The contact problem of a step or an impact: compliance by structure, restitution, and the energy it takes.

    u = S p + b,   S = N Mcal^-1 N* = N B* Omega B N*

N stacks the rows of contacts, of closures and of dofs that are held; the latter are equalities in the same problem
(EQUATIONS 4.6). Restitution asks u_n+ >= -e u_n- of what approaches.

Laws of restitution: "newton" takes e as it is; with friction and several contacts it can gain energy, which is
reported. "energy" (the default) is Newton's with every e of the impact made smaller by one factor, where it would
gain: e = 0 never does, since then p u+ <= 0. Simultaneous impacts are one problem: three equal balls in a row, the
first moving, e = 1, leave with (-1/3, 2/3, 2/3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from soacraft.contact.dynamics.rows import ContactRows
from soacraft.contact.solvers.blocks import Bilateral, Cone, Law
from soacraft.contact.solvers.problem import Accept, Impulses, Problem
from soacraft.spatial.checks import Array

Restitution = Literal["energy", "newton"]
Further = tuple[Array, tuple[Law, ...], Array]
_HALVINGS = 30


@dataclass(frozen=True, eq=False)
class Resolved:
    """Velocities after, impulses along the dofs by what makes them, and the solution itself."""

    v: Array
    contact: Array
    """N* p of the contacts, (nv)."""
    held: Array
    """N* p of closures, held dofs, limits and dry hinges."""
    impulses: Impulses | None
    work: float
    """The work of the contacts, relative to surfaces that move: the change of kinetic energy they make."""
    factor: float = 1.0
    """By how much restitution was made smaller for the energy not to rise."""


def resolve(
    rows: ContactRows,
    solve_mass: Callable[[Array], Array],
    v: Array,
    approach: Array,
    allowed: Array,
    more: Further | None = None,
    restitution: Restitution = "energy",
    tolerance: float = 1e-10,
    otherwise: Accept = "raise",
) -> Resolved:
    """Velocities after the impulses that v calls for. `solve_mass` maps columns X to Mcal^-1 X; `approach` is u_n- of
    each point, for restitution; `allowed` the speed at which it may still approach; `more` are further rows with their
    laws and the velocities asked of them. O(rows^3)."""
    nv, size = len(v), len(rows.J)
    further, laws, asked = more if more is not None else (np.zeros((0, nv)), (), np.zeros(0))
    N = np.vstack([rows.J, further])
    if not len(N):
        return Resolved(v, np.zeros(nv), np.zeros(nv), None, 0.0)
    X = solve_mass(N.T)
    S = N @ X
    before = rows.J @ v + rows.slip
    b = np.concatenate([before, further @ v - asked])
    bounce = rows.restitution * np.minimum(approach, 0.0)

    def solved(factor: float, guess: Array | None) -> tuple[Impulses, Array, float]:
        shifted = np.array(b)
        shifted[rows.normals] += np.where(bounce < 0, factor * bounce, allowed)
        found = Problem(S, shifted, (*rows.laws, *laws)).solve(tolerance=tolerance, start=guess, otherwise=otherwise)
        after = v + X @ found.p
        mean = 0.5 * (rows.J @ (v + after)) + rows.slip  # relative to surfaces that move
        return found, after, float(found.p[:size] @ mean)

    found, after, work = solved(1.0, None)
    factor = 1.0
    scale = float(np.abs(found.p[:size]) @ np.abs(before))
    if restitution == "energy" and (bounce < 0).any() and work > 1e-9 * scale:
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            found, after, work = solved(middle, found.p)
            low, high = (middle, high) if work <= 0 else (low, middle)
        factor = low
        found, after, work = solved(factor, found.p)
    p = found.p
    return Resolved(after, rows.J.T @ p[:size], further.T @ p[size:], found, work, factor)


def push_out(rows: Array, solve_mass: Callable[[Array], Array], gap: Array, held: Array) -> Array:
    """The smallest displacement, in the metric of the mass matrix, after which no gap is negative: N d >= -gap, and
    0 along the rows that are held."""
    N = np.vstack([rows, held])
    X: Array = solve_mass(N.T)
    laws: tuple[Law, ...] = (*(Cone(()) for _ in range(len(rows))), *(Bilateral() for _ in range(len(held))))
    b = np.concatenate([gap, np.zeros(len(held))])
    S = np.asarray(N @ X)
    return np.asarray(X @ Problem(S, b, laws).solve(tolerance=1e-8, otherwise="report").p)
