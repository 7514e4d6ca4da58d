"""The contact problem of a step or an impact: compliance by structure, and the energy it takes.

    u = S p + b,   S = N Mcal^-1 N* = N B* Omega B N*

N stacks the rows of contacts, of closures and of dofs that are held; the latter are equalities in the same problem
(EQUATIONS 4.6). What restitution asks of it is in `restitution`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from soacraft.contact.dynamics.rows import ContactRows
from soacraft.contact.solvers.blocks import Bilateral, Cone, Law
from soacraft.contact.solvers.problem import Accept, Impulses, Problem
from soacraft.spatial.checks import Array

#: Further rows, their laws, and the velocities asked of them.
Further = tuple[Array, tuple[Law, ...], Array]
#: Columns X to Mcal^-1 X.
SolveMass = Callable[[Array], Array]


#: A row of less than this part of the largest compliance is moved by rounding alone.
_UNMOVED = 1e-14


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
    """Factor by which restitution was reduced so that the energy does not rise."""
    presses: bool = False
    """True if anything but closures and held dofs has an impulse."""


class ImpulseProblem:
    """The problem u = S p + b at velocities v: contacts first, then further rows. `solve_mass` maps columns X to
    Mcal^-1 X. `bounces` are the speeds, zero or negative, that restitution turns round along further rows. O(rows)
    solutions with the mass matrix."""

    def __init__(
        self,
        rows: ContactRows,
        solve_mass: SolveMass,
        v: Array,
        more: Further | None = None,
        tolerance: float = 1e-10,
        otherwise: Accept = "raise",
        bounces: Array | None = None,
    ) -> None:
        nv = len(v)
        further, laws, asked = more if more is not None else (np.zeros((0, nv)), (), np.zeros(0))
        self.rows, self.v, self.size = rows, v, len(rows.J)
        self.N = np.vstack([rows.J, further])
        self.X = solve_mass(self.N.T) if len(self.N) else np.zeros((nv, 0))
        self.S = self.N @ self.X
        self.laws = (*rows.laws, *laws)
        self.slip = np.concatenate([rows.slip, -asked])
        self.bounces = np.zeros(len(further)) if bounces is None else bounces
        self.tolerance, self.otherwise = tolerance, otherwise

    def speeds(self, v: Array) -> Array:
        """u of velocities without impulses."""
        return np.asarray(self.N @ v + self.slip)

    def solve(self, shift: Array, start: Array | None = None, factor: float = 1.0) -> Impulses:
        """The impulses where the normal rows are asked for a speed of at least -shift, (points), and further ones for
        `factor` times their restitution."""
        b = self.speeds(self.v)
        b[self.rows.normals] += shift
        b[self.size :] += factor * self.bounces
        return Problem(self.S, b, self.laws).solve(tolerance=self.tolerance, start=start, otherwise=self.otherwise)

    def work(self, p: Array) -> float:
        """Work of the contacts: p times the mean of the speeds before and after, relative to surfaces that move."""
        mean = 0.5 * (self.speeds(self.v) + self.speeds(self.after(p)))
        return float(p[: self.size] @ mean[: self.size])

    def gain(self, p: Array) -> float:
        """Work of the contacts and of further rows that bounce."""
        strikes = self.size + np.flatnonzero(self.bounces)
        mean = 0.5 * (self.speeds(self.v) + self.speeds(self.after(p)))
        return self.work(p) + float(p[strikes] @ mean[strikes])

    def after(self, p: Array) -> Array:
        """v + Mcal^-1 N* p."""
        return np.asarray(self.v + self.X @ p)

    def scale(self, p: Array) -> float:
        """Unit of work: |p| times |u| before."""
        strikes = self.size + np.flatnonzero(self.bounces)
        size = np.abs(p) * np.abs(self.speeds(self.v))
        return float(size[: self.size].sum() + size[strikes].sum())

    def resolved(self, impulses: Impulses, factor: float = 1.0) -> Resolved:
        """Velocities, impulses and work that follow from a solution."""
        p, size = impulses.p, self.size
        parts = self.N[:size].T @ p[:size], self.N[size:].T @ p[size:]
        ties = np.repeat([isinstance(x, Bilateral) for x in self.laws], [x.rows for x in self.laws])
        return Resolved(self.after(p), *parts, impulses, self.work(p), factor, bool(p[~ties].any()))


def push_out(
    rows: Array, solve_mass: SolveMass, gap: Array, held: Array, soft: float = 0.0
) -> tuple[Array, Array]:
    """The smallest displacement, in the metric of the mass matrix, after which no gap is negative: N d >= -gap, and
    0 along the rows that are held; and how hard each row pushes. With `soft` each row gives way by that part of its
    compliance; rows that nothing moves are not changed.
    """
    N = np.vstack([rows, held])
    X: Array = solve_mass(N.T)
    laws: tuple[Law, ...] = (*(Cone(()) for _ in range(len(rows))), *(Bilateral() for _ in range(len(held))))
    S = np.asarray(N @ X)
    S_ii = np.diagonal(S)[: len(rows)]
    moved = S_ii > _UNMOVED * S_ii.max(initial=0.0)
    b = np.concatenate([np.where(moved, gap, np.maximum(gap, 0.0)), np.zeros(len(held))])
    S[range(len(rows)), range(len(rows))] *= 1.0 + soft
    p = Problem(S, b, laws).solve(tolerance=1e-8, otherwise="report").p
    return np.asarray(X @ p), p[: len(rows)]
