"""Closing the loops of a configuration, near where it is.

Damped Gauss-Newton steps on the manifold of the hinges, of least size in the dofs,

    min over dv of  |Gc dv + r|^2 + mu |dv|^2,     q <- integrate(q, dv)

close the loops. From there steps along the closed configurations lead back towards the start,

    dv = d - Gc^+ (Gc d + r),    d = difference(q, start)

so that the answer is the nearest to q0 in the dofs (unless a hinge of the tree is nonholonomic). A start from which
nothing closes (a mechanism stretched straight) is tried again from its neighbourhood, the same neighbours every time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from soacraft.dynamics.problem import Mask
from soacraft.errors import LoopError
from soacraft.loops.rows import Constraints
from soacraft.model.interface import Graph
from soacraft.model.state import State
from soacraft.spatial.checks import Array

#: A configuration with no more than this left open, in metres and radians, is closed.
CLOSED = 1e-11
#: What counts as closed where rounding allows no more: large mechanisms, many turns.
NEARLY = 1e-9
_STEPS = 200
_PATIENCE = 20  # so many steps must halve what is open
_TRIES = 10
_LARGEST = 0.5  # of a step, in radians or metres


def assemble(graph: Graph, start: State, fixed: Mask, theta: dict[str, Array]) -> Array:
    """Coordinates near those of a state at which all loops and couplings close, the fixed dofs as they are."""
    free = ~fixed
    best: Constraints | None = None
    for first in _starts(graph, start, free):
        rows = _close(Constraints(graph, first, theta), free)
        if _open(rows) <= NEARLY:
            return _nearest(rows, start, free)
        if best is None or _size(rows) < _size(best):
            best = rows
    assert best is not None
    raise LoopError(_text(graph, best, fixed))


def _starts(graph: Graph, start: State, free: Mask) -> Iterator[State]:
    """The start, then its neighbours, ever further away."""
    yield start
    rng = np.random.default_rng(0)
    for i in range(_TRIES):
        dv = np.where(free, rng.standard_normal(graph.nv), 0.0) * 0.05 * 1.5**i
        yield start.replace(q=graph.integrate(start.q, dv))


def _close(rows: Constraints, free: Mask) -> Constraints:
    """Damped Gauss-Newton until the loops are closed or nothing gets better."""
    damping, hoped = 1e-6, np.inf
    for i in range(_STEPS):
        if _open(rows) <= CLOSED:
            break
        if i % _PATIENCE == 0:
            if _size(rows) > hoped:
                break
            hoped = 0.5 * _size(rows)
        J = rows.jacobian()[:, free]
        better: Constraints | None = None
        while better is None and damping < 1e8:
            dv = np.zeros(len(free))
            dv[free] = _step(J, rows.residual, damping)
            after = _moved(rows, dv)
            if _size(after) < _size(rows):
                better = after
            else:
                damping = max(10.0 * damping, 1e-9)
        if better is None or (_size(better) > (1.0 - 1e-9) * _size(rows) and _open(better) > CLOSED):
            return better or rows
        rows, damping = better, 0.1 * damping
    return rows


def _step(J: Array, r: Array, damping: float) -> Array:
    """Of least size, and no larger than may be."""
    width = J.shape[1]
    if damping < 1e-12:
        dv = -np.linalg.lstsq(J, r, rcond=1e-10)[0]
    else:
        A = np.concatenate([J, np.sqrt(damping) * np.eye(width)])
        dv = -np.linalg.lstsq(A, np.concatenate([r, np.zeros(width)]), rcond=None)[0]
    return np.asarray(dv * min(1.0, _LARGEST / max(float(np.abs(dv).max(initial=0.0)), 1e-300)))


def _nearest(rows: Constraints, start: State, free: Mask) -> Array:
    """From a closed configuration towards the start along the closed ones; what leads off them is left."""
    graph = rows.graph
    if not all(body.hinge.holonomic for body in graph.bodies):  # where a rolling ball ends depends on its path
        return np.array(rows.state.q)
    far = np.linalg.norm(graph.difference(rows.state.q, start.q))
    for _ in range(_STEPS):
        d = np.where(free, graph.difference(rows.state.q, start.q), 0.0)
        J = rows.jacobian()[:, free]
        dv = np.zeros(len(free))
        dv[free] = d[free] - np.linalg.lstsq(J, J @ d[free], rcond=1e-10)[0]
        if np.linalg.norm(dv) <= 1e-9 * (1.0 + far):
            break
        dv *= min(1.0, _LARGEST / float(np.abs(dv).max()))
        nearer: Constraints | None = None
        for size in (1.0, 0.3, 0.1, 0.01):
            after = _close(_moved(rows, size * dv), free)
            distance = np.linalg.norm(graph.difference(after.state.q, start.q))
            if _open(after) <= max(CLOSED, _open(rows)) and distance < far:
                nearer, gained, far = after, far - distance, distance
                break
        if nearer is None:
            break
        rows = nearer
        if gained <= 1e-9 * far:
            break
    return np.array(rows.state.q)


def _moved(rows: Constraints, dv: Array) -> Constraints:
    state = rows.state
    return Constraints(rows.graph, state.replace(q=rows.graph.integrate(state.q, dv)), rows.theta)


def _open(rows: Constraints) -> float:
    return float(np.abs(rows.residual).max(initial=0.0))


def _size(rows: Constraints) -> float:
    return float(np.linalg.norm(rows.residual))


def _text(graph: Graph, rows: Constraints, fixed: Mask) -> str:
    """Which loop cannot close, and by how much at the nearest approach found."""
    gaps = [(float(np.linalg.norm(x.residual)), f"loop {x.name!r} stays open by "
             f"{np.linalg.norm(x.gap[3:]):.3g} m and {np.linalg.norm(x.gap[:3]):.3g} rad") for x in rows.loops]
    gaps += [(abs(x.residual), f"coupling {x.name!r} stays off by {abs(x.residual):.3g}") for x in rows.couplings]
    told = "; ".join(text for size, text in sorted(gaps, reverse=True)[:3] if size > NEARLY)
    held = [name for name, is_fixed in zip(graph.dof_names, fixed, strict=True) if is_fixed]
    cure = f"Let some of the fixed dofs go ({', '.join(map(repr, held[:6]))}), or start" if held else "Start"
    return f"{graph.name!r} cannot be assembled from here: at the nearest approach {told}. {cure} from another q0."
