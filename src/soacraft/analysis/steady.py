"""Steady motions: axes in which the linearization along a motion is constant, and whether it grows there.

About a motion the linearized system udot = A(t) u has coefficients that change, and eigenvalues of A at an instant say
nothing of its growth: the tangent coordinates of a `Spherical` or `Free` hinge are along axes of its body, and turn
with it. A turned chart y = T(t) u, with T bounded, grows as u does, and has

    ydot = (T A T^-1 + Tdot T^-1) y

Where that is constant the motion is steady, and its eigenvalues tell the growth (Lyapunov's reducible systems). Three
charts are tried, for all hinges whose dofs are along axes of their bodies: those axes; axes of the inboard frames (a
disc that rolls straight on, whose weight turns in its own axes); axes that turn about gravity as the motion does (a
disc that rolls in a circle, a top that precesses).

States that are driven by others and drive none (places, headings) leave the growth alone: the matrix is triangular by
blocks, and the blocks on its diagonal - those of states that drive each other - are what must be constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.linalg import expm
from scipy.sparse.csgraph import connected_components

from soacraft.errors import SoacraftError, StaleError
from soacraft.model.hinges import Free, Spherical
from soacraft.model.hinges.base import pose_of
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import skew

#: Steps between instants, in units of the time in which the motion changes.
STEP = 1e-3
#: Change of coefficients, in that unit, of a motion that counts as steady.
STEADY = 1e-5
#: Growth rates this small relative to the largest rate are what rounding makes of a double eigenvalue zero,
NO_GROWTH = 1e-7
#: and what differences in time make of it, in axes that turn.
NO_GROWTH_TURNED = 1e-4


class Instant(NamedTuple):
    """The linearization at an instant: `A` (..., r, r), and `E` (..., 2 nv, r), which gives what all dofs do."""

    A: Array
    E: Array


class Course(NamedTuple):
    """A motion through states (..., nq), (..., nv) of a graph, and what is asked for along it."""

    graph: Graph
    q: Array
    v: Array
    at: Callable[[Array, Array], Instant]
    """The linearization at other states of the motion."""
    accelerated: Callable[[Array, Array], Array]
    """The accelerations there."""
    chosen: Any
    """The rows of E that are the coordinates of A."""

    @property
    def moves(self) -> bool:
        """False if all states are at rest: then axes do not turn."""
        return bool(self.v.any())


def growth(course: Course, A: Array, rate: Array, sizes: Array) -> Array:
    """The largest growth rate in each state beyond what counts as zero, in units of `rate` (...); nan where no chart
    has constant coefficients. `A` and the `sizes` (r) of its coordinates are those of the states. O(3) linearizations,
    O(7) where axes turn.
    """
    step = STEP / rate
    states = {0: (course.q, course.v)}
    instants = {0: course.at(*states[0])}
    if not np.array_equal(instants[0].A, A):
        raise StaleError("is_stable: the model is another one since linearize was called; call it again.")

    def extend(last: int) -> bool:
        """Instants further out; False where the motion cannot be followed there."""
        try:
            for k in (last, -last):
                sign = 1 if k > 0 else -1
                states[k] = _advanced(course, *states[k - sign], sign * step)
                instants[k] = course.at(*states[k])
        except SoacraftError:
            return False
        return True

    if not extend(1):
        return np.full(rate.shape, np.nan)
    units = [sizes * np.where(course.chosen < course.graph.nv, 1.0, x) for x in rate.ravel()]  # places, velocities
    result = np.full(rate.shape, np.nan)
    for i, u in zip(np.ndindex(rate.shape), units, strict=True):
        A_in_own_axes = {k: np.where(np.isnan(x.E[i]).any(), np.nan, x.A[i]) for k, x in instants.items()}
        result[i] = _growth_of({k: x * u / u[:, None] / rate[i] for k, x in A_in_own_axes.items()}, NO_GROWTH)
    if not np.isnan(result).any() or not any(_turning(course.graph)) or not (extend(2) and extend(3)):
        return result
    turns = {k: _turns(course.graph, states[0][0], q) for k, (q, _) in states.items()}
    for i, u in zip(np.ndindex(rate.shape), units, strict=True):
        here = {k: (q[i], v[i]) for k, (q, v) in states.items()}
        for S in _charts(course.graph, {k: x[i] for k, x in turns.items()}, here, float(step[i])):
            if np.isnan(result[i]):
                T = {k: S[k][course.chosen] @ x.E[i] for k, x in instants.items()}
                B = {k: _in_chart(T, k, instants[k].A[i], float(step[i])) for k in (-1, 0, 1)}
                result[i] = _growth_of({k: x * u / u[:, None] / rate[i] for k, x in B.items()}, NO_GROWTH_TURNED)
    return result


def _in_chart(T: dict[int, Array], k: int, A: Array, h: float) -> Array:
    """T A T^-1 + Tdot T^-1 at an instant, by differences of fourth order."""
    Tdot = (8 * (T[k + 1] - T[k - 1]) - (T[k + 2] - T[k - 2])) / (12 * h)
    return np.asarray((T[k] @ A + Tdot) @ np.linalg.inv(T[k]))


def _growth_of(B: dict[int, Array], zero: float) -> float:
    """The largest growth rate beyond `zero` of coefficients at three instants; nan where they change."""
    drives = np.max([np.abs(x) for x in B.values()], axis=0) > zero**2
    together = connected_components(drives, directed=True, connection="strong")[1]
    same = together[:, None] == together
    changed = np.maximum(np.abs(B[1] - B[-1]) / 2, np.abs(B[1] - 2 * B[0] + B[-1])) / STEP
    if not changed.max(initial=0.0, where=same) <= STEADY:
        return float("nan")
    blocks = np.where(same & drives, B[0], 0.0)
    return float(np.linalg.eigvals(blocks).real.max(initial=-1.0)) - zero


def _advanced(course: Course, q: Array, v: Array, h: Array) -> tuple[Array, Array]:
    """The state after h by the classical method of Runge and Kutta."""
    step = h[..., None]
    a = _slopes(course, q, v, (np.zeros_like(q), np.zeros_like(v)), step)
    b = _slopes(course, q, v, a, step / 2)
    c = _slopes(course, q, v, b, step / 2)
    d = _slopes(course, q, v, c, step)
    q, v = (x + step / 6 * (a[k] + 2 * b[k] + 2 * c[k] + d[k]) for k, x in enumerate((q, v)))
    return q, v


def _slopes(course: Course, q: Array, v: Array, slopes: tuple[Array, Array], h: Array) -> tuple[Array, Array]:
    q, v = q + h * slopes[0], v + h * slopes[1]
    rates: Array = cast("Any", course.graph).qdot(q, v)  # of a model and of a sub-graph
    return rates, course.accelerated(q, v)


def _turning(graph: Graph) -> Iterator[tuple[int, slice, slice]]:
    """Bodies whose dofs are along their own axes, by number, and where their coordinates and dofs are."""
    for k, body in enumerate(graph.bodies):
        if isinstance(body.hinge, Spherical | Free):
            yield k, graph.layout.hinge_q[k], graph.layout.hinge_v[k]


def _turns(graph: Graph, q0: Array, q: Array) -> Array:
    """The rotations (..., bodies that turn, 3, 3) from axes at q to those at q0."""
    each = [
        pose_of(graph.bodies[k].hinge, q0[..., at]).rotation.mT @ pose_of(graph.bodies[k].hinge, q[..., at]).rotation
        for k, at, _ in _turning(graph)
    ]
    return np.stack(each, axis=-3) if each else np.zeros((*q.shape[:-1], 0, 3, 3))


def _charts(graph: Graph, turns: dict[int, Array], states: dict[int, Any], h: float) -> Iterator[dict[int, Array]]:
    """Maps S (2 nv, 2 nv) at the instants, for each chart that turns: from the axes of the bodies to those of the
    chart.
    """
    nv = graph.nv

    def chart(about: list[Array]) -> dict[int, Array]:
        S: dict[int, Array] = {}
        for k, rotations in turns.items():
            one = np.eye(nv)
            for R, omega, (_, _, at) in zip(rotations, about, _turning(graph), strict=True):
                for start in range(at.start, at.stop, 3):
                    one[start : start + 3, start : start + 3] = expm(-k * h * skew(omega)) @ R
            S[k] = np.asarray(np.kron(np.eye(2), one), dtype=np.float64)
        return S

    yield chart([np.zeros(3)] * len(turns[0]))
    about = [_precession(graph, body, at_q, at_v, states, h) for body, at_q, at_v in _turning(graph)]
    if any(x.any() for x in about):
        yield chart(about)


def _precession(graph: Graph, k: int, at_q: slice, at_v: slice, states: dict[int, Any], h: float) -> Array:
    """The velocity, in body axes at the state, with which the angular velocity of a body on the ground turns about
    gravity: W = n . (w x wdot) / |w across n|^2."""
    body, n = graph.bodies[k], graph.gravity
    if body.parent is not graph.root or not np.any(n):
        return np.zeros(3)
    n = body.inboard.rotation.T @ (np.asarray(n) / np.linalg.norm(n))
    R = {i: pose_of(body.hinge, q[at_q]).rotation for i, (q, _) in states.items()}
    w = {i: R[i] @ v[at_v][:3] for i, (_, v) in states.items()}
    wdot = (8 * (w[1] - w[-1]) - (w[2] - w[-2])) / (12 * h)
    across = w[0] - (w[0] @ n) * n
    if not across @ across > 1e-16 * (w[0] @ w[0]):
        return np.zeros(3)
    return np.asarray(R[0].T @ n * float(n @ np.cross(w[0], wdot)) / float(across @ across))
