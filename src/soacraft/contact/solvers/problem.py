"""`Problem`: impulses and velocities at contacts, and `Impulses`, its solution with its residual."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from soacraft.arguments import whole_number
from soacraft.contact.solvers.blocks import Bilateral, Bounded, Cone, Law
from soacraft.contact.solvers.compiled import BOX, CONE, solve_cones
from soacraft.contact.solvers.pyramid import solve_pyramid
from soacraft.contact.solvers.scaling import Scaled, scaled
from soacraft.errors import ConvergenceError, StateError
from soacraft.spatial.checks import Array

Accept = Literal["raise", "warn", "report"]
#: A natural map of this part of b, of the contacts that have to act, is rounding; and what a tolerance is relative to
#: is no larger part of b than this, for that reason.
_NOTHING, _SLOW = 1e-14, 1e-2


@dataclass(frozen=True, eq=False)
class Impulses:
    """Impulses p and velocities u = S p + b of a contact problem, and how well they obey its laws.

    `residual` is that of the natural map p - Proj_K(p - u - |u_t| n), in units where every block has unit compliance,
    relative to its value at p = 0, which is that of the contacts that have to act: how fast others open does not count.
    Contacts that do not move each other (islands of S) are judged each by its own. `state` is "open", "stick", "slip"
    or "hold" for each law. `unique` is False where other impulses give the same motion: then these are the ones of
    least norm, unless a contact rests exactly at the wall of its cone.
    """

    p: Array
    u: Array
    residual: float
    state: tuple[str, ...]
    unique: bool
    sweeps: int
    newton: int
    interior: int
    proximal: int
    pivots: int

    def __repr__(self) -> str:
        count = {name: self.state.count(name) for name in dict.fromkeys(self.state)}
        states = ", ".join(f"{n} {name}" for name, n in count.items()) or "no contacts"
        unique = "" if self.unique else ", not unique: least norm"
        return f"<Impulses: {states}, residual {self.residual:.1e}{unique}>"


class Problem:
    """A contact problem: u = S p + b, with a law for each block of rows.

    S is the compliance of the contacts in operational space, N B* Omega B N* (EQUATIONS 4.6), symmetric and positive
    semi-definite; b the velocities without impulses, to which restitution adds e u_n- in the normal rows.

    A ball of 2 kg that falls on the ground at 3 m/s and slides at 1 m/s, with friction 0.5, ends its slide:

    >>> import numpy as np
    >>> import soacraft as sc
    >>> S, b = np.eye(3) / 2.0, [-3.0, 1.0, 0.0]
    >>> r = sc.contact.Problem(S, b, [sc.contact.Cone(0.5)]).solve()
    >>> r.state, r.unique, r.residual < 1e-10
    (('stick',), True, True)
    >>> np.round(r.p, 9) + 0.0
    array([ 6., -2.,  0.])
    """

    def __init__(self, S: Array, b: Array | Sequence[float], laws: Sequence[Law]) -> None:
        try:
            self.S, self.b, self.laws = np.array(S, dtype=float, ndmin=2), np.array(b, dtype=float), tuple(laws)
        except (TypeError, ValueError):
            raise StateError("a contact problem takes numbers S and b, and a list of laws") from None
        for law in self.laws:
            if not isinstance(law, Cone | Bounded | Bilateral):
                raise StateError(f"a law of a contact problem is {law!r}; give Cone, Bounded or Bilateral")
        rows = sum(law.rows for law in self.laws)
        if self.b.shape != (rows,):
            raise StateError(f"b has shape {self.b.shape}; the {len(self.laws)} laws have {rows} rows")
        if rows == 0:
            self.S = np.zeros((0, 0))
        if self.S.shape != (rows, rows):
            raise StateError(f"S has shape {self.S.shape}; the laws have {rows} rows")
        for name, x in (("S", self.S), ("b", self.b)):
            if not np.isfinite(x).all():
                where = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0])
                raise StateError(f"{name}{list(where)} of a contact problem is {x[where]}; it must be finite")
        root = np.sqrt(np.abs(np.diagonal(self.S)))
        size = np.maximum(np.outer(root, root), np.finfo(float).tiny)
        if rows and (np.abs(self.S - self.S.T) > 1e-9 * size).any():
            raise StateError("S of a contact problem is not symmetric; it is N B* Omega B N* of the contact rows")
        if (np.diagonal(self.S) < 0).any():
            raise StateError("S of a contact problem has a negative diagonal; it must be positive semi-definite")
        self.S = 0.5 * (self.S + self.S.T)
        if rows and np.linalg.eigvalsh(self.S / size)[0] < -1e-9 * rows:
            raise StateError("S of a contact problem has a negative eigenvalue; it must be positive semi-definite")

    def solve(
        self,
        method: Literal["cone", "pyramid"] = "cone",
        *,
        tolerance: float = 1e-10,
        start: Array | None = None,
        directions: int = 8,
        otherwise: Accept = "raise",
    ) -> Impulses:
        """Impulses that obey the laws, to `tolerance` (see `Impulses.residual`). O(rows^3) a step, few steps.

        "cone" has the exact cones: Gauss-Seidel and Newton, else problems that are softer and less and less so, else
        the fixed point of associated problems, which are convex (De Saxce). "pyramid" has `directions` of sliding and
        solves a linear complementarity problem by Lemke's pivots; its `residual` is that of the cone, so it shows the
        error of the pyramid. `start` is a guess of p, which does not change the answer beyond tolerance. Above the
        tolerance it raises `ConvergenceError`, or warns, or only reports, as `otherwise` says.
        """
        if method not in ("cone", "pyramid"):
            raise StateError(f"method {method!r} is unknown; give 'cone' or 'pyramid'")
        if otherwise not in ("raise", "warn", "report"):
            raise StateError(f"otherwise={otherwise!r} is unknown; give 'raise', 'warn' or 'report'")
        if not (isinstance(tolerance, int | float) and 0 < tolerance < 1):
            raise StateError(f"tolerance is {tolerance!r}; it must be between 0 and 1")
        if whole_number(directions, "directions", error=StateError) < 3:
            raise StateError(f"directions is {directions!r}; a pyramid needs at least 3")
        x = scaled(self.S, self.b, self.laws)
        guess = np.zeros(len(x.b))
        if start is not None:
            try:
                impulses = np.asarray(start, dtype=float)
            except (TypeError, ValueError):
                raise StateError(f"start must be {len(self.b)} finite impulses") from None
            if impulses.shape != self.b.shape or not np.isfinite(impulses).all():
                raise StateError(f"start has shape {impulses.shape}; it must be {len(self.b)} finite impulses")
            guess = impulses[x.kept] / x.factor
        if method == "cone":
            result = self._cones(x, guess, tolerance)
            if not result.residual <= tolerance and otherwise != "report":
                text = (
                    f"{len(self.laws)} contacts were not solved to {tolerance:g}: residual {result.residual:.2e} after "
                    f"{result.interior} interior, {result.newton} Newton and {result.proximal} proximal steps; "
                    f"the worst is {self._worst(x, result.p, tolerance)}; take a shorter step or otherwise='report'"
                )
                if otherwise == "raise":
                    raise ConvergenceError(text)
                warnings.warn(text, RuntimeWarning, stacklevel=2)
            return result
        p, pivots = solve_pyramid(x, directions)
        residual = float(_violations(x, p, tolerance).max(initial=0.0))
        return self._result(x, p, tolerance, residual, unique=True, pivots=pivots)

    def _cones(self, x: Scaled, guess: Array, tolerance: float) -> Impulses:
        p = np.ascontiguousarray(guess)
        effort = solve_cones(x.kinds, x.rows, x.bounds, x.S, np.ascontiguousarray(x.b), tolerance, p)
        return self._result(x, p, tolerance, *effort)

    def _result(
        self,
        x: Scaled,
        phat: Array,
        tolerance: float,
        residual: float,
        sweeps: int = 0,
        newton: int = 0,
        interior: int = 0,
        proximal: int = 0,
        unique: bool = True,
        pivots: int = 0,
    ) -> Impulses:
        p = np.zeros(len(self.b))
        p[x.kept] = x.factor * phat
        u = self.S @ p + self.b
        state = self._states(x, phat, tolerance)
        return Impulses(p, u, residual, state, unique, sweeps, newton, interior, proximal, pivots)

    def _worst(self, x: Scaled, p: Array, tolerance: float) -> str:
        """The law that is met worst, by name or number."""
        who = int(x.owner[int(np.argmax(_violations(x, p[x.kept] / x.factor, tolerance)))])
        return repr(self.laws[who].name or f"number {who}")

    def _states(self, x: Scaled, phat: Array, tolerance: float) -> tuple[str, ...]:
        states = ["hold" if isinstance(law, Bilateral) else "open" for law in self.laws]
        at = 0
        sizes = _sizes(x, tolerance)
        for kind, rows, bound, owner, size in zip(x.kinds, x.rows, x.bounds, x.owner, sizes, strict=True):
            part = phat[at : at + rows]
            at += int(rows)
            if kind == CONE and part[0] > 1e-9 * size:
                inside = np.linalg.norm(part[1:]) < (1 - 1e-7) * part[0]
                states[owner] = "stick" if inside and rows > 1 else "slip"
            elif kind == BOX:
                states[owner] = "stick" if abs(part[0]) < (1 - 1e-7) * bound else "slip"
        return tuple(states)


def _natural_map(x: Scaled, phat: Array, u: Array) -> Array:
    """Natural map of each block: the largest entry of p - Proj(p - u - |u_t| n), in scaled units."""
    worst, at = np.zeros(len(x.rows)), 0
    for i, (kind, rows, bound) in enumerate(zip(x.kinds, x.rows, x.bounds, strict=True)):
        rows_of = slice(at, at + int(rows))
        at += int(rows)
        y = phat[rows_of] - u[rows_of]
        if kind == CONE:
            y[0] -= np.linalg.norm(u[rows_of][1:])
            side = float(np.linalg.norm(y[1:]))
            if side > abs(y[0]):
                y = 0.5 * (y[0] + side) * np.concatenate([[1.0], y[1:] / side])
            elif y[0] < 0:
                y = np.zeros_like(y)
        elif kind == BOX:
            y = np.clip(y, -bound, bound)
        worst[i] = np.abs(phat[rows_of] - y).max()
    return worst


def _violations(x: Scaled, phat: Array, tolerance: float) -> Array:
    """Natural map of each block, relative to that of its island without impulses."""
    return _natural_map(x, phat, x.S @ phat + x.b) / _sizes(x, tolerance)


def _sizes(x: Scaled, tolerance: float) -> Array:
    """Unit for the natural map of each block: the largest of its island without impulses, and at least the rounding of
    b, of the blocks that have to act; 1 where none has (`measure` of the core).
    """
    blocks = np.repeat(np.arange(len(x.rows)), x.rows)
    i, j = np.nonzero(x.S)
    tied = coo_array((np.ones(len(i)), (blocks[i], blocks[j])), shape=(len(x.rows), len(x.rows)))
    island = connected_components(tied, directed=False)[1]
    acts, speed = _natural_map(x, np.zeros(len(x.b)), x.b), np.zeros(len(x.rows))
    np.maximum.at(speed, blocks, np.abs(x.b))
    size = np.zeros(len(x.rows))
    np.maximum.at(size, island, np.maximum(acts, np.where(acts > 0.0, min(_NOTHING / tolerance, _SLOW) * speed, 0.0)))
    size = size[island]
    return np.where(size > 0.0, size, 1.0)
