"""Closing the loops of a configuration, near where it is.

Steps of least squares on the manifold of the hinges, within a radius that follows how well the rows foretell what comes
of them (Levenberg-Marquardt with a trust region),

    min over dv of  |Gc dv + r|^2,    |dv| <= radius,  limits kept,     q <- integrate(q, dv)

close the loops, rows and dofs in the units of the mechanism (`model.sizes.measure`). From there steps along the
closed configurations lead back towards the start,

    dv = d - Gc^+ (Gc d),    d = difference(q, start)

so that the answer is the nearest to q0 in the dofs (unless a hinge of the tree is nonholonomic). A start from which
nothing closes (a mechanism stretched straight) is tried again from its neighbourhood, the same neighbours every time.
Singular values of Gc up to `RANK` of the largest count as zero, as they do for the solvers: pins that are parallel but
for the digits of a file do not turn a mechanism to where these agree best.
Where a closure rolls, Gc has only the rows that say where it is: a ball may be put anywhere on its plane.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import lsq_linear

from soacraft.dynamics.problem import Mask, Problem
from soacraft.errors import LoopError, StateError
from soacraft.kinematics.bounds import Bounds
from soacraft.kinematics.checks import gap_text
from soacraft.kinematics.compiled import rows_of
from soacraft.kinematics.progress import shown
from soacraft.kinematics.rows import Constraints, seen_from
from soacraft.kinematics.tasks import in_state
from soacraft.kinematics.tolerances import (
    ASSEMBLED,
    DAMPED,
    FORETOLD,
    GAINED,
    HEAVY,
    LEAST_DAMPED,
    NEAREST,
    RANK,
    SHORTEST,
    STRIDE,
)
from soacraft.model.states.dof_sets import movable_dofs
from soacraft.model.states.hinge_fit import placing_rows
from soacraft.model.states.state import State
from soacraft.spatial.checks import Array

_STEPS = 200
_PATIENCE = 20  # so many steps must take a fifth off what is open
_TRIES = 12


def assemble_all(p: Problem, fixed: Mask, theta: dict[str, Array], limits: Any, tolerance: float) -> Array:
    """Coordinates (count, nq) near those of each state at which all loops and couplings close, the fixed dofs as they
    are. They close as far as steps can; an opening within the tolerance counts as closed. States that compiled code
    (`loops/closing.hpp`) leaves are computed here, on a terminal with a bar where it takes over a second. O(m nv^2) a
    step.
    """
    if not isinstance(limits, bool | np.bool_):
        raise StateError(f"limits of assemble must be True or False, got {limits!r:.60}.")
    bounds, title = Bounds(p.graph, fixed, bool(limits)), f"assembling {p.graph.name}"
    each = list(np.ndindex(*p.batch))
    q = p.full("q").reshape(len(each), p.graph.nq)
    for i, one in zip(each, q, strict=True):
        with in_state(p.batch, i):
            bounds.check_fixed(one)
    assembled, sure = _compiled(q, bounds, theta, tolerance)
    unsure = [k for k in range(len(each)) if not sure[k]]
    current, still = p.graph.current, np.zeros(p.graph.nv)
    for k in unsure if len(each) == 1 else shown(unsure, title):
        with in_state(p.batch, each[k]):
            start = current.replace(q=q[k], v=still, vdot=still, forces=())
            assembled[k] = _assemble(bounds, start, theta, tolerance, title if len(each) == 1 else "")
    return assembled


def _compiled(q: Array, bounds: Bounds, theta: dict[str, Array], tolerance: float) -> tuple[Array, Mask]:
    """Coordinates (count, nq), and where compiled code is sure of them: full steps lead there, and no limit is met."""
    rows, nothing = rows_of(bounds.graph), (np.array(q), np.zeros(len(q), dtype=np.bool_))
    if rows is None or tolerance < ASSEMBLED or bounds.balls:
        return nothing
    guess = rows.guess(theta)
    return nothing if guess is None else rows.assemble(q, guess, bounds.free, bounds.allowed)


def _assemble(bounds: Bounds, start: State, theta: dict[str, Array], tolerance: float, title: str = "") -> Array:
    best: Constraints | None = None
    starts = _Starts(bounds, start)
    for q in shown(starts, title) if title else starts:
        rows = close(Constraints(bounds.graph, start.replace(q=q), theta), bounds)
        if rows.opening <= tolerance:
            return _nearest(rows, start, bounds)
        if best is None or _size(rows) < _size(best):
            best = rows
    assert best is not None
    raise LoopError(_text(best, bounds, tolerance))


class _Starts:
    """The start, then its neighbours, ever further away; each made when it is asked for."""

    def __init__(self, bounds: Bounds, start: State) -> None:
        self.bounds, self.q = bounds, np.asarray(start.q)
        self.tries = _TRIES if bounds.free.any() else 0

    def __len__(self) -> int:
        return 1 + self.tries

    def __iter__(self) -> Iterator[Array]:
        yield self.bounds.inside(self.q)
        rng = np.random.default_rng(0)
        for i in range(self.tries):
            yield self.bounds.scattered(self.q, rng, min(1.0, 0.025 * 1.4**i))


# -- closing -------------------------------------------------------------------------------------------------------


def close(rows: Constraints, bounds: Bounds, enough: float = ASSEMBLED, until: float = np.inf) -> Constraints:
    """Steps until no more than `enough` is open, nothing gets better, or the clock is at `until`."""
    free = bounds.free
    largest = STRIDE * float(np.sqrt(max(1, free.sum())))
    radius, hoped = largest, np.inf
    for i in range(_STEPS if free.any() else 0):
        if rows.opening <= enough or perf_counter() > until:
            break
        if i % _PATIENCE == 0:
            if _size(rows) > hoped:
                break
            hoped = 0.8 * _size(rows)
        after, radius = _better(rows, bounds, radius, largest)
        if after is None:
            break
        rows = after
    return rows


def _better(rows: Constraints, bounds: Bounds, radius: float, largest: float) -> tuple[Constraints | None, float]:
    """The rows after a step that makes them smaller, None where there is none; and the radius of the next."""
    step, here = _Step(rows, bounds), _size(rows) ** 2
    while radius > SHORTEST:
        dv = step.within(radius)
        foretold = here - float(np.sum((step.r + step.J @ (step.d * dv)) ** 2))
        if foretold <= FORETOLD * here:
            break
        after = _moved(rows, bounds, dv)
        gained, length = (here - _size(after) ** 2) / foretold, float(np.linalg.norm(step.d * dv))
        if gained > 0.75:
            radius = min(max(radius, 2.0 * length), 2.0 * largest)
        elif gained < 0.25:
            radius = 0.25 * min(radius, length)
        if gained > GAINED or after.opening <= ASSEMBLED:
            return after, radius
    return None, radius


class _Step:
    """The least-squares steps from one configuration: one factorization, any radius."""

    def __init__(self, rows: Constraints, bounds: Bounds) -> None:
        self.free, self.d = bounds.free, bounds.units
        self.lower, self.upper, B = bounds.box(np.asarray(rows.state.q))
        self.B = B[:, self.free]
        self.J, self.r = _placing(rows, bounds)
        self.A = self.J @ self.B
        n = self.A.shape[1]
        factor: Any = np.linalg.qr(np.column_stack([self.A, self.r]), mode="r")
        R = factor[:n]  # A = Q R: as many rows as dofs
        U, sigma, V = np.linalg.svd(R[:, :n], full_matrices=False)
        regular = sigma > RANK * sigma.max(initial=0.0)
        self.sigma, self.V, self.b = sigma[regular], V[regular], U[:, regular].T @ R[:, n]

    def within(self, radius: float) -> Array:
        """min |A y + r|^2 + mu |y|^2 with the least mu that keeps |y| within the radius, and y within its limits."""
        mu = self._damping(radius)
        y, lower, upper = self._damped(mu), self.lower[self.free], self.upper[self.free]
        if (y < lower).any() or (y > upper).any():
            n = len(y)
            A = np.concatenate([self.A, np.sqrt(mu + DAMPED) * np.eye(n)])
            y = lsq_linear(A, np.concatenate([-self.r, np.zeros(n)]), bounds=(lower, upper), method="bvls").x
        return np.asarray(self.B @ y / self.d)

    def _damped(self, mu: float) -> Array:
        return np.asarray(-self.V.T @ (self.sigma * self.b / (self.sigma**2 + mu)))

    def _damping(self, radius: float) -> float:
        """Damping found by bisection of its magnitude, to a tenth of the radius; |y| falls with mu, and is |sigma b| /
        mu at most.
        """
        if np.linalg.norm(self._damped(0.0)) <= radius:
            return 0.0
        high = float(np.linalg.norm(self.sigma * self.b)) / radius
        low = LEAST_DAMPED * high
        while high > 1.1 * low:
            mu = float(np.sqrt(low * high))
            length = float(np.linalg.norm(self._damped(mu)))
            if length > radius:
                low = mu
            else:
                high = mu
                if length > 0.9 * radius:
                    break
        return high


# -- the nearest ---------------------------------------------------------------------------------------------------


def _nearest(rows: Constraints, start: State, bounds: Bounds) -> Array:
    """Move from a closed configuration towards the start along the closed ones; motions that lead off them are dropped.
    """
    graph = rows.graph
    if not all(body.hinge.holonomic for body in graph.bodies):  # where a rolling ball ends depends on its path
        return np.array(rows.state.q)
    far, d = _distance(rows, start, bounds), bounds.units
    before, size = np.zeros(graph.nv), 1.0
    for _ in range(_STEPS):
        dv = _towards(rows, start, bounds)
        if np.linalg.norm(d * dv) <= NEAREST * (1.0 + far):
            break
        size = _size_of_step(d * before, d * dv, size)
        largest = min(size, STRIDE / float(np.abs(d * dv).max()))
        nearer: Constraints | None = None
        for size in (largest, *(x for x in (1.0, 0.3, 0.1, 0.01) if x < largest)):
            after = close(_moved(rows, bounds, size * dv), bounds)
            distance = _distance(after, start, bounds)
            if after.opening <= max(ASSEMBLED, rows.opening) and distance < far:
                nearer, gained, far = after, far - distance, distance
                break
        if nearer is None:
            break
        rows, before = nearer, dv
        if gained <= NEAREST * far:
            break
    return np.array(rows.state.q)


def _size_of_step(before: Array, now: Array, size: float) -> float:
    """Part of the way to the start for the next step: 1 on a plane; where closed configurations are curved, the part of
    the way that the last step left decides (Barzilai and Borwein): size / (1 - that part).
    """
    square = float(before @ before)
    bent = 1.0 - float(now @ before) / square if square > 0.0 else size
    return float(np.clip(size / bent, 0.1, 10.0)) if bent > 0.0 else 1.0


def _towards(rows: Constraints, start: State, bounds: Bounds) -> Array:
    """The step nearest to the way to the start that leaves the loops closed and the limits kept."""
    free, (lower, upper, B) = bounds.free, bounds.box(np.asarray(rows.state.q))
    A, lower, upper, B = _placing(rows, bounds)[0] @ B[:, free], lower[free], upper[free], B[:, free]
    d = B.T @ (bounds.units * rows.graph.difference(rows.state.q, start.q))
    y = np.asarray(d - np.linalg.lstsq(A, A @ d, rcond=RANK)[0])
    if (y < lower).any() or (y > upper).any():
        heavy = np.concatenate([HEAVY * A, np.eye(len(d))])
        y = lsq_linear(heavy, np.concatenate([np.zeros(len(A)), d]), bounds=(lower, upper), method="bvls").x
    return np.asarray(B @ y / bounds.units)


def _distance(rows: Constraints, start: State, bounds: Bounds) -> float:
    return float(np.linalg.norm(bounds.units * rows.graph.difference(rows.state.q, start.q)))


# -- rows ----------------------------------------------------------------------------------------------------------


def _moved(rows: Constraints, bounds: Bounds, dv: Array) -> Constraints:
    state = rows.state
    q = bounds.inside(rows.graph.integrate(state.q, dv))
    return Constraints(rows.graph, state.replace(q=q), rows.theta)


def _placing(rows: Constraints, bounds: Bounds) -> tuple[Array, Array]:
    """The rows that say where things are, and their residual, in units: all but those that forbid to slip."""
    J, r = rows.jacobian() / rows.common_units[:, None] / bounds.units, rows.residual / rows.common_units
    if all(x.hinge.holonomic for x in rows.graph.loops if x.active):
        return J, r
    parts = [np.eye(place.stop - place.start) for _, place in rows.places]
    for i, (loop, (_, place)) in enumerate(zip(rows.loops, rows.places, strict=False)):
        if not loop.closure.hinge.holonomic:
            T_ab, scale = seen_from(rows.state, loop), rows.common_units[place]
            parts[i] = placing_rows(loop.closure.hinge, T_ab, loop.Q, scale, rows.measure.length)
    E = block_diag(*parts)
    return E @ J, E @ r


def _size(rows: Constraints) -> float:
    return float(np.linalg.norm(rows.residual / rows.common_units))


def _text(rows: Constraints, bounds: Bounds, tolerance: float) -> str:
    """Message about a loop that cannot close, and its gap at the nearest approach."""
    graph = rows.graph
    gaps = [(x.opening, f"loop {x.name!r} stays open by {gap_text(x)}") for x in rows.loops]
    gaps += [(x.opening, f"coupling {x.name!r} stays off by {abs(x.residual):.3g}") for x in rows.couplings]
    gap_texts = "; ".join(text for size, text in sorted(gaps, reverse=True)[:3] if size > tolerance)
    sides = bounds.sides(np.asarray(rows.state.q))
    stops = [f"{graph.dof_names[i]!r}" for i in np.flatnonzero(sides)]
    if stops:
        gap_texts += f", with limits reached at {', '.join(stops[:6])}{', ...' if len(stops) > 6 else ''}"
    modes = ~movable_dofs(graph)
    held = [graph.dof_names[i] for i in np.flatnonzero(bounds.fixed & ~modes)]
    cure = f"Let some of the fixed dofs go ({', '.join(map(repr, held[:6]))}), or start" if held else "Start"
    end = ", or pass limits=False." if stops else "."
    bent = " Flexible bodies stay bent as they are in q0, unless bend=True." if bounds.fixed[modes].any() else ""
    text = f"{graph.name!r} cannot be assembled from here: at the nearest approach {gap_texts}. {cure} "
    return f"{text}from another q0{end}{bent}"
