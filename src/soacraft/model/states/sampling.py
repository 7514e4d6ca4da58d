"""Random states: of the hinges alone, or within their limits and on the couplings."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from soacraft.errors import StateError
from soacraft.model.flat.structure import Structure
from soacraft.model.hinges.base import integrate_of
from soacraft.model.states.ranges import Ranges
from soacraft.model.tree.parts.catalogue import Catalogue
from soacraft.model.tree.parts.closures import Coupling, coordinate_names
from soacraft.spatial.checks import Array

#: A coupling is kept when its residual is this small relative to the sizes of its terms.
_KEPT = 1e-12
_STEPS = 400
_DRAWS = 4


class Coupled(Structure, Protocol):
    """A graph with its couplings."""

    @property
    def couplings(self) -> Catalogue[Coupling]:
        """Couplings of coordinates."""


def draw(graph: Structure, rng: np.random.Generator) -> tuple[Array, Array]:
    """Hinges wherever they can be, normally distributed velocities, as are coordinates of bodies themselves."""
    layout = graph.layout
    q = np.zeros(layout.nq)
    for body, where in zip(layout.bodies, layout.hinge_q, strict=True):
        q[where] = body.hinge.random(rng)
    q[layout.own.q] = rng.standard_normal(layout.own.q.size)
    return q, rng.standard_normal(layout.nv)


def draw_within(graph: Coupled, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw (q, v) within the limits of coordinates and velocities, with every active coupling satisfied by q and v.

    Coordinates are uniform between two limits and reflected at a single one. Steps of least squares onto the couplings
    and back within the limits, by turns, lead to where both hold. O(nv) a step for a bounded number of couplings.
    """
    ranges, couplings = Ranges(graph), [x for x in graph.couplings if x.active]
    worst = ""
    for _ in range(_DRAWS):
        q, v = draw(graph, rng)
        q = _inside(ranges, q, rng)
        ties = Ties(graph, ranges, couplings)
        q, worst = ties.closed(q)
        if not worst:
            return q, _slowed(graph, ties, q, v)
    raise StateError(
        f"random_state of {graph.name!r}: no coordinates were found that keep the limits and {worst}. Widen the limits "
        "of its dofs, or correct the coupling."
    )


def _inside(ranges: Ranges, q: Array, rng: np.random.Generator) -> Array:
    """Coordinates within the limits, by drawing or reflecting."""
    known = ranges.place >= 0
    lower, upper, at = ranges.lower[known], ranges.upper[known], ranges.place[known]
    x = q[at]
    both = np.isfinite(lower) & np.isfinite(upper)
    x = np.where(x < lower, 2.0 * np.where(np.isfinite(lower), lower, 0.0) - x, x)
    x = np.where(x > upper, 2.0 * np.where(np.isfinite(upper), upper, 0.0) - x, x)
    x[both] = rng.uniform(lower[both], upper[both])
    q[at] = x
    for ball in ranges.balls:
        turn = ball.largest / np.pi * ball.rotation(q)
        q[ball.q] = integrate_of(ball.hinge, np.asarray(ball.hinge.neutral()), turn)
    return q


class Ties:
    """The active couplings as equations F(q) = 0, `p1(q1) + p2(q2) + ... - offset` each."""

    def __init__(self, graph: Structure, ranges: Ranges, couplings: list[Coupling]) -> None:
        names = coordinate_names(graph) if couplings else {}
        self.couplings = couplings
        self.terms = [[(names[dof], (0.0, *c)) for dof, c in x.terms.items()] for x in couplings]
        self.place = {place: i for i, place in enumerate(ranges.place) if place >= 0}
        self.lower, self.upper = np.full(graph.nq, -np.inf), np.full(graph.nq, np.inf)
        for place, i in self.place.items():
            self.lower[place], self.upper[place] = ranges.lower[i], ranges.upper[i]
        width = self.upper - self.lower
        self.scale = np.where(np.isfinite(width) & (width > 0.0), width, 1.0)  # so that steps depend on no units

    def errors(self, q: Array) -> tuple[Array, Array]:
        """Residual of each coupling, and the sizes of its terms."""
        values = [[np.polynomial.polynomial.polyval(q[i], c) for i, c in terms] for terms in self.terms]
        offsets = np.array([x.offset for x in self.couplings])
        sizes = np.array([sum(map(abs, x)) for x in values]) + np.abs(offsets)
        return np.array([sum(x) for x in values]) - offsets, sizes

    def rates(self, q: Array) -> Array:
        """dF/dq (m, nq)."""
        rows = np.zeros((len(self.terms), q.size))
        for row, terms in zip(rows, self.terms, strict=True):
            for i, c in terms:
                row[i] += np.polynomial.polynomial.polyval(q[i], np.polynomial.polynomial.polyder(c))
        return rows

    def closed(self, q: Array) -> tuple[Array, str]:
        """Coordinates within the limits that keep the couplings, and what is not kept in words."""
        for _ in range(_STEPS if self.couplings else 0):
            error, size = self.errors(q)
            if (np.abs(error) <= _KEPT * size).all():
                break
            q = np.clip(q - self.scale * _least(self.rates(q) * self.scale, error), self.lower, self.upper)
        error, size = self.errors(q)
        off = np.abs(error) > _KEPT * size
        told = [f"coupling {self.couplings[i].name!r} (off by {error[i]:.3g})" for i in np.flatnonzero(off)]
        return q, " and ".join(told[:3])


def _least(A: Array, b: Array) -> Array:
    """The smallest x with A x nearest to b, rows at the same scale."""
    size = np.linalg.norm(A, axis=1)
    size[size == 0.0] = 1.0
    return np.asarray(np.linalg.lstsq(A / size[:, None], b / size)[0])


def _slowed(graph: Structure, ties: Ties, q: Array, v: Array) -> Array:
    """Velocities that keep the couplings, then dofs that are tied together slowed down together to their limits."""
    groups = [[i] for i in range(graph.nv)]
    if ties.couplings:
        A = np.zeros((len(ties.couplings), graph.nv))
        rates = ties.rates(q)
        for place, i in ties.place.items():
            A[:, i] = rates[:, place]
        v = v - _least(A, A @ v)
        for terms in ties.terms:
            tied = {ties.place[i] for i, _ in terms}
            joined = sorted({i for group in groups if tied & set(group) for i in group})
            groups = [group for group in groups if not tied & set(group)] + [joined]
    limit = np.full(graph.nv, np.inf)
    for body, where in zip(graph.layout.bodies, graph.layout.hinge_v, strict=True):
        limit[where] = np.maximum(body.limits.velocity, 0.0)
    for group in groups:
        ratio = np.max(np.abs(v[group]) / np.maximum(limit[group], np.finfo(float).tiny))
        if ratio > 1.0:
            v[group] = np.clip(v[group] / ratio, -limit[group], limit[group])
    return v
