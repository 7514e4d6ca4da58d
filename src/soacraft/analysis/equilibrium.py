"""Equilibrium: where chosen dofs come to rest under loads, gravity, springs and stiffness, or at constant rates.

    r(q) = T(q, v, vdot = 0)_f - force_f = 0          T of inverse dynamics, f the free dofs

by Newton's method with the exact stiffness dT/dq. Where it does not contract from the start, the imbalance there is
removed in parts: r(q) = (1 - s) r(start), s from 0 to 1 in steps that adapt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from soacraft import markup
from soacraft.analysis.finite import refusing_overflow
from soacraft.cards import card
from soacraft.dynamics.arguments import check_loops, read_graph, read_prescribed, read_problem
from soacraft.dynamics.derivatives import inverse_dynamics_derivatives, refuse_nonholonomic
from soacraft.dynamics.forces import inverse_dynamics
from soacraft.dynamics.inertias import mass_matrix
from soacraft.dynamics.problem import Mask
from soacraft.dynamics.reference.derivatives import stiffness
from soacraft.dynamics.reference.inverse import along_dofs_derivatives
from soacraft.errors import ConvergenceError, LoopError, SingularError, StateError
from soacraft.model.sizes.scale import scale_of
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array

#: Steps are measured by the root of the mean square that they move the mass by, in lengths of the model.
#: A step this small is the last: Newton's method has squared it already.
LAST = 1e-9
#: No single step is larger: beyond, the path would be left.
LARGEST = 0.5
#: Each step is at most this part of the one before, or the load is taken in smaller parts.
CONTRACTION = 0.5
#: Newton steps for a part of the load, and the smallest part.
MOST_STEPS, SMALLEST_PART = 20, 2.0**-12
#: Singular values of the stiffness, scaled by the diagonal of the mass matrix, that are rounding of the largest.
NO_STIFFNESS = 1e-13
#: Springs act along a dof where the stiffness they give it is more than what differences make of nothing.
SPRUNG = 1e-9
#: Number of dofs that an error names.
NAMED = 6


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """Coordinates `q` at which the free dofs are in balance, and how they were reached."""

    q: Array
    free: tuple[str, ...]
    """The dofs that came to rest, by name."""
    force: Array
    """The generalized force (nv) that holds all dofs: what was given at the free ones, reactions at the others."""
    residual: Array
    """Imbalance at the free dofs, in their units."""
    error: float
    """The size of the last step: the mean square that it moved the mass by, its root, in lengths of the model."""
    iterations: int
    load_steps: int
    moved: Array = field(repr=False)
    """Displacement of each dof from the start, in the tangent sense (nv)."""
    dof_names: tuple[str, ...] = field(repr=False, default=())

    def __repr__(self) -> str:
        steps = "1 load step" if self.load_steps == 1 else f"{self.load_steps} load steps"
        worst = float(np.abs(self.residual).max(initial=0.0))
        taken = f"{self.iterations} iterations in {steps}"
        return f"Equilibrium of {len(self.free)} free dofs: {taken}, residual {worst:.1e}"

    def _repr_html_(self) -> str:
        free = set(self.free)
        rows = [
            (name, "free" if name in free else "fixed", f"{x:.6g}", f"{f:.6g}")
            for name, x, f in zip(self.dof_names, self.moved, self.force, strict=True)
        ]
        table = markup.table(["dof", "", "moved by", "force"], rows, more="q, moved and force have all")
        return card(repr(self), table)


@refusing_overflow()
def equilibrium(
    g: Graph, free: Any = None, fixed: Any = None, v: Any = None, force: Any = None, f_ext: Any = None, *, q: Any = None
) -> Equilibrium:
    """Coordinates at which the free dofs are in balance: static deflection, or relative equilibrium at constant rates.
    O(n nv + nv^3).

        T(q, v, 0) = force   at the free dofs,       the others stay where they are and move at their rates v

    `free`: names or numbers of dofs, names of hinges, or a mask; by default all modes of flexible bodies and the dofs
    that springs act along. `fixed` are taken away from them. `v` are the rates of fixed dofs, as of a hub that spins;
    `force` (nv) acts at the free ones; the model's stored forces and `f_ext` act too. The start is `q`, by default the
    model's own. The model is not changed: `mb.q = eq.q` moves it there.

    Newton's method with the exact stiffness, by parts of the load where it does not contract at once. It stays on the
    path that begins at the start, and its result may be unstable: see `modes(g, eq.q)`. Refused with
    `SingularError` where dofs are free without stiffness, with `ConvergenceError` where there is no way.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> mb = sc.load("pendulum")                                      # 1 kg at 1 m below the pin
    >>> mb.bodies[0].passive = sc.Passive(stiffness=9.81, rest=[np.pi / 2])
    >>> eq = sc.analysis.equilibrium(mb)
    >>> eq
    Equilibrium of 1 free dofs: 10 iterations in 2 load steps, residual ...
    >>> round(float(eq.q[0] + np.sin(eq.q[0])), 12) == round(np.pi / 2, 12)
    True
    """
    check_loops("equilibrium", read_graph("equilibrium", g), False)
    zero = np.zeros(g.nv)
    arguments = {"q": g.current.q if q is None else q, "v": v, "force": force}
    arguments = {name: zero if x is None else x for name, x in arguments.items()}
    p = read_problem("equilibrium", g, **arguments, f_ext=f_ext, stored=True)
    if p.batch:
        raise StateError(f"equilibrium takes one state of {g.name!r}, got a batch {p.batch}.")
    start, rates, load = (p.full(x) for x in ("q", "v", "force"))
    sprung = read_problem("equilibrium", g, q=start, v=rates, passive=True)
    M = mass_matrix(g, _undeformed(g, start))
    mask = _free(g, free, fixed, M, lambda: along_dofs_derivatives(sprung)[0])
    moving = np.flatnonzero(mask & (rates != 0.0))
    if moving.size:
        raise StateError(
            f"equilibrium of {g.name!r}: dof {g.dof_names[moving[0]]!r} is free, but v moves it at "
            f"{rates[moving[0]]:g}: what moves at a constant rate is fixed=."
        )

    block = np.ix_(mask, mask)

    def out_of_balance(at: Array) -> Array:
        return np.asarray(inverse_dynamics(g, at, rates, zero, f_ext) - load)

    def reduced(at: Array) -> Balance:
        return Balance(out_of_balance(at)[mask], _stiffness(g, at, rates, f_ext)[block], M[block])

    def move(at: Array, step: Array) -> Array:
        x = np.zeros(g.nv)
        x[mask] = step
        return np.asarray(g.integrate(at, x))

    names = tuple(name for name, x in zip(g.dof_names, mask, strict=True) if x)
    solution = balanced(f"equilibrium of {g.name!r}", reduced, move, start, names, step_unit(g))
    r, moved = out_of_balance(solution.q), np.asarray(g.difference(start, solution.q))
    return Equilibrium(
        solution.q, names, r + load, r[mask], solution.error, solution.iterations, solution.parts, moved, g.dof_names
    )


def _undeformed(g: Graph, q: Array) -> Array:
    """Coordinates with the modes at zero: there a mass matrix is positive."""
    plain = np.array(q)
    plain[g.layout.own.q] = 0.0
    return plain


def _stiffness(g: Graph, q: Array, v: Array, f_ext: Any) -> Array:
    """dT/dq at vdot = 0."""
    zero = np.zeros(g.nv)
    if not g.layout.flexible:
        return inverse_dynamics_derivatives(g, q, v, zero, f_ext)[0]
    p = read_problem("inverse_dynamics_derivatives", g, q=q, v=v, vdot=zero, f_ext=f_ext, stored=True, passive=True)
    refuse_nonholonomic(p)
    return stiffness(p)


def _free(g: Graph, free: Any, fixed: Any, M: Array, springs: Callable[[], Array]) -> Mask:
    """Mask of the free dofs."""
    if free is None:
        mask = np.zeros(g.nv, dtype=np.bool_)
        mask[g.layout.own.v] = True
        mask |= _sprung(np.broadcast_to(springs(), M.shape), M)
    else:
        mask = read_prescribed(g, free, "free")
    if fixed is not None:
        mask &= ~read_prescribed(g, fixed, "fixed")
    if not mask.any():
        raise StateError(
            f"equilibrium of {g.name!r}: no dof is free. It has no modes and no springs, or all are fixed; name the "
            "dofs that come to rest in free=."
        )
    return mask


def _sprung(K: Array, M: Array) -> Mask:
    """Dofs that springs give stiffness to."""
    d = root_of_diagonal(M)
    rows = np.abs(K / np.outer(d, d)).max(axis=-1, initial=0.0)
    return np.asarray((rows > 0.0) & (rows > SPRUNG * rows.max(initial=0.0)))


def step_unit(g: Graph) -> float:
    """Unit of xi* M xi: the mass of a model times the square of its length."""
    mass = sum(body.inertia.mass for body in g.bodies)
    return float(mass * scale_of(g).length ** 2) or 1.0


def root_of_diagonal(M: Array) -> Array:
    """The root of the diagonal of a mass matrix; for what has no mass, that of the largest."""
    d = np.sqrt(np.maximum(np.diagonal(M), 0.0))
    return np.where(d > 0.0, d, d.max(initial=0.0) or 1.0)


# -- Newton's method with continuation, for trees and closed chains ----------------------------------------------------


class Balance(NamedTuple):
    """Residual of the balance, its derivative, and the mass matrix, over the same dofs."""

    r: Array
    K: Array
    M: Array


class Balanced(NamedTuple):
    """Coordinates in balance, the size of the last step, and how many steps and parts of the load they took."""

    q: Array
    error: float
    iterations: int
    parts: int


def balanced(
    what: str,
    at: Callable[[Array], Balance],
    move: Callable[[Array, Array], Array],
    start: Array,
    names: tuple[str, ...],
    unit: float,
) -> Balanced:
    """Coordinates with r = 0 from a start, along r = (1 - s) r(start)."""
    first = at(start)
    _refuse_singular(what, first, names, "at the start")
    q, reached, part, iterations, parts = start, 0.0, 1.0, 0, 0
    error = np.inf
    while reached < 1.0:
        goal = min(reached + part, 1.0)
        trial = _newton(at, move, q, (1.0 - goal) * first.r, unit)
        iterations += trial.iterations
        if np.isfinite(trial.error):
            q, reached, part, parts, error = trial.q, goal, 2.0 * part, parts + 1, trial.error
            continue
        part = 0.5 * (goal - reached)
        if part < SMALLEST_PART:
            _refuse_singular(what, at(q), names, f"at {reached:.4g} of the way")
            off = float(np.abs(at(q).r).max())
            raise ConvergenceError(
                f"{what} did not converge: from {reached:.4g} of the load no step is small enough, up to {off:.3g} is "
                "out of balance there. The load may be too large for it (modes(...) gives the stiffness on the way); "
                "start from another q, or let other dofs be free."
            )
    return Balanced(q, error, iterations, parts)


def _newton(
    at: Callable[[Array], Balance], move: Callable[[Array, Array], Array], q: Array, wanted: Array, unit: float
) -> Balanced:
    """Steps to r = wanted; the error is infinite where they do not contract."""
    last = np.inf
    for i in range(MOST_STEPS):
        try:
            r, K, M = at(q)
            d = root_of_diagonal(M)
            step = -np.linalg.solve(K / np.outer(d, d), (r - wanted) / d) / d
            size = float(np.sqrt(max(float(step @ M @ step), 0.0) / unit))
            if not size <= min(LARGEST, CONTRACTION * last):
                return Balanced(q, np.inf, i + 1, 0)
            q, last = move(q, step), size
        except (np.linalg.LinAlgError, SingularError, StateError, LoopError, ConvergenceError):
            return Balanced(q, np.inf, i + 1, 0)  # out of where the model is one
        if size <= LAST:
            return Balanced(q, size, i + 1, 1)
    return Balanced(q, np.inf, MOST_STEPS, 0)


def _refuse_singular(what: str, at: Balance, names: tuple[str, ...], when: str) -> None:
    """Raise `SingularError` where dofs have no stiffness, with their names."""
    d = root_of_diagonal(at.M)
    _, s, V = scipy.linalg.svd(at.K / np.outer(d, d))
    none = s <= NO_STIFFNESS * s[0]
    if not none.any():
        return
    share = (V[none] ** 2).sum(axis=0)
    order = np.argsort(-share)
    which = [repr(names[i]) for i in order if share[i] > 0.1 * share[order[0]]]
    more = f" and {len(which) - NAMED} more" if len(which) > NAMED else ""
    raise SingularError(
        f"{what}: the stiffness is singular {when}, {', '.join(which[:NAMED])}{more} are free without stiffness. Fix "
        "them (fixed=...), give them springs, or start from another q."
    )
