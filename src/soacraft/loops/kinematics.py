"""Inverse kinematics: coordinates at which frames are where they shall be, closures and limits kept.

Levenberg-Marquardt on the manifold of the hinges (`descent`), from q0 and, where that does not get there, from other
starts, always the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft import markup
from soacraft.dynamics.arguments import read_graph
from soacraft.errors import ConvergenceError, LoopError, StateError
from soacraft.loops.assemble import NEARLY
from soacraft.loops.bounds import Bounds, Sides, read_fixed
from soacraft.loops.checks import gap_text
from soacraft.loops.descent import Point, Search
from soacraft.loops.rows import Constraints
from soacraft.loops.targets import Aim, Gap, aims_of, batch_of, read_targets
from soacraft.model.coordinates import read_q
from soacraft.model.interface import Graph
from soacraft.spatial.checks import Array, finite


@dataclass(frozen=True, eq=False)
class KinematicsResult:
    """Coordinates found by `solve_kinematics`, and how well they do. With batches all arrays have leading axes."""

    q: Array
    """(..., nq): loops closed, limits kept, fixed dofs as they were."""
    converged: Any
    """Whether every target is met within its tolerance."""
    residual: dict[str, Gap]
    """What is left of each target, `Gap(distance, angle)`, by the name of its node."""
    residual_of_loops: dict[str, Gap]
    """What is left open of each active loop and coupling."""
    sides: Sides
    """(..., nv): -1 for a dof at its lower limit, 1 at its upper one, 0 elsewhere."""
    iterations: Any
    """Steps taken, those of all starts together."""
    starts: Any
    """From how many configurations it was tried."""
    dof_names: tuple[str, ...]

    @property
    def active_limits(self) -> tuple[str, ...]:
        """The dofs at a limit, in any state, and which one."""
        flat = self.sides.reshape(-1, len(self.dof_names))
        return tuple(
            f"{name} {text}"
            for i, name in enumerate(self.dof_names)
            for side, text in ((-1, "lower"), (1, "upper"))
            if (flat[:, i] == side).any()
        )

    def __repr__(self) -> str:
        good, every = int(np.sum(self.converged)), np.size(self.converged)
        head = f"{good} of {every} converged" if np.ndim(self.converged) else "converged" if good else "not converged"
        q = np.array2string(self.q, precision=4, suppress_small=True, threshold=12)
        lines = [f"kinematics: {head}, {np.sum(self.iterations)} iterations, q = {q}"]
        lines += [f"{name}: off by {_gap_text(gap)}" for name, gap in (self.residual | self.residual_of_loops).items()]
        if self.active_limits:
            lines.append(f"at limits: {', '.join(self.active_limits)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, rest = repr(self).splitlines()[0], self.residual | self.residual_of_loops
        rows = [(name, f"{np.max(gap.distance):.3g}", f"{np.max(gap.angle):.3g}") for name, gap in rest.items()]
        limits = [markup.paragraph(f"at limits: {', '.join(self.active_limits)}")] if self.active_limits else []
        titles = ["target, loop or coupling", "off by [m]", "off by [rad]"]
        return markup.joined(markup.paragraph(head), markup.table(titles, rows), *limits)


def solve_kinematics(
    mb: Graph,
    targets: Any,
    fixed: Any = (),
    limits: bool = True,
    *,
    q0: Any = None,
    tolerance: float = 1e-9,
    restarts: int = 12,
    steps: int = 100,
    allow_partial: bool = False,
) -> KinematicsResult:
    """Coordinates at which the targets are met, with loops closed, couplings and joint limits kept.

    `targets` is `{node: Pose or point}`, or a list of `Placement`, `Position` and `Direction`. `fixed` names dofs or
    hinges held as they are in q0, or is `{dof or hinge: value}`. The search starts at q0 (default, and for what a q0
    by names leaves out: the current configuration), brought within the limits. The model's own state is left alone.
    Leading (batch) axes of targets and q0 are looped over. A sub-graph has its own loops only. A hinge that rolls is
    moved along its allowed velocities alone, so a place it could reach only by rolling back and forth may be missed.

    Where no start meets all targets, a `ConvergenceError` says which are missed and by how much; with
    `allow_partial=True` the nearest approach is returned instead, least in the sum of |weight r|^2. Loops that do not
    close are a `LoopError` in any case. O(nv^2 rows) a step.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> arm = sc.serial_chain(2)                                   # rods of 1 m along x, pins about y
    >>> r = sc.loops.solve_kinematics(arm, {"link2/tip": (1.0, 0.0, -1.0)}, q0=[0.1, 0.2])
    >>> r.q.round(9) + 0.0
    array([0.        , 1.57079633])
    >>> sc.loops.solve_kinematics(arm, {"link2/tip": (0.0, 0.0, -3.0)}, q0=[0.1, 0.2])
    Traceback (most recent call last):
        ...
    soacraft.errors.ConvergenceError: the targets of 'chain' cannot all be met: at the nearest approach 'link2/tip' \
stays off by 1 m. Move the targets, free more dofs, start from another q0, or pass allow_partial=True.
    """
    graph = read_graph("solve_kinematics", mb)
    wanted = read_targets(targets)
    _check_options(limits, allow_partial, restarts, steps)
    if not float(finite(tolerance, (), "tolerance of solve_kinematics", StateError)) > 0.0:
        raise StateError(f"tolerance of solve_kinematics must be positive, got {tolerance!r:.60}.")
    mask, q = read_fixed(graph, fixed, read_q(graph, graph.q if q0 is None else q0, "q0", graph.q))
    bounds = Bounds(graph, mask, bool(limits))
    batch = batch_of(wanted, q)
    each_q = np.broadcast_to(q, (*batch, graph.nq)).reshape(math.prod(batch), graph.nq)
    found = []
    for i, (aims, start) in enumerate(zip(aims_of(graph, wanted, batch, float(tolerance)), each_q, strict=True)):
        bounds.check_fixed(start)
        search = Search(graph, bounds, aims)
        point, starts = _solve(search, start, int(restarts), int(steps))
        if not point.done and not allow_partial:
            where = tuple(map(int, np.unravel_index(i, batch))) if batch else None
            raise ConvergenceError(_missed(search, point, where))
        found.append((search, point, starts))
    return _result(graph, bounds, batch, found)


def _solve(search: Search, q0: Array, restarts: int, steps: int) -> tuple[Point, int]:
    """The first point that is done, or the best of all starts; and how many there were."""
    best: Point | None = None
    count = 0
    for count, start in enumerate(_starts(search, q0, restarts), 1):  # noqa: B007
        point = search.at(start)
        if point is None:
            continue
        point = search.descend(point, steps)
        if best is None or point.done or point.cost < best.cost:
            best = point
        if best.done:
            break
    if best is None:
        assert search.nearest is not None
        raise LoopError(_open(search.nearest, search))
    return best, count


def _starts(search: Search, q0: Array, restarts: int) -> Iterator[Array]:
    """q0, then others ever further away, the same ones every time."""
    yield q0
    rng = np.random.default_rng(0)
    for i in range(restarts):
        yield search.bounds.scattered(q0, rng, min(1.0, 0.05 * 2.0**i))


def _result(
    graph: Graph, bounds: Bounds, batch: tuple[int, ...], found: list[tuple[Search, Point, int]]
) -> KinematicsResult:
    def stacked(values: list[Any], *tail: int) -> Any:
        x = np.reshape(values, (*batch, *tail))
        return x if x.ndim else x.item()

    def gaps(each: list[dict[str, Gap]]) -> dict[str, Gap]:
        names = each[0] if each else ()
        return {x: Gap(*(stacked([one[x][i] for one in each]) for i in range(2))) for x in names}

    return KinematicsResult(
        q=stacked([x.state.q for _, x, _ in found], graph.nq),
        converged=stacked([x.done for _, x, _ in found]),
        residual=gaps([_gaps(s.aims, x) for s, x, _ in found]),
        residual_of_loops=gaps([_loop_gaps(x.rows) for _, x, _ in found]),
        sides=stacked([bounds.sides(x.state.q) for _, x, _ in found], graph.nv),
        iterations=stacked([s.iterations for s, _, _ in found]),
        starts=stacked([n for _, _, n in found]),
        dof_names=graph.dof_names,
    )


def _gaps(aims: list[Aim], point: Point) -> dict[str, Gap]:
    return {aim.name: aim.gap(aim.residual(*aim.seen(point.state))) for aim in aims}


def _loop_gaps(rows: Constraints | None) -> dict[str, Gap]:
    if rows is None:
        return {}
    loops = {x.name: Gap(float(np.linalg.norm(x.gap[3:])), float(np.linalg.norm(x.gap[:3]))) for x in rows.loops}
    return loops | {x.name: Gap(abs(x.residual), 0.0) for x in rows.couplings}


# -- texts -----------------------------------------------------------------------------------------------------


def _gap_text(gap: Gap) -> str:
    parts = [f"{np.max(x):.3g} {unit}" for x, unit in ((gap.distance, "m"), (gap.angle, "rad")) if np.max(x) > 0.0]
    return " and ".join(parts) or "0"


def _missed(search: Search, point: Point, where: tuple[int, ...] | None) -> str:
    """Which targets are missed, and by how much, at the best point found; and what stands in the way."""
    graph, gaps = search.graph, _gaps(search.aims, point)
    missed = [aim.name for aim in search.aims if max(gaps[aim.name]) > aim.tolerance]
    told = "; ".join(f"{name!r} stays off by {_gap_text(gaps[name])}" for name in missed[:6])
    sides = search.bounds.sides(point.state.q)
    stops = [f"{graph.dof_names[i]!r} ({'upper' if sides[i] > 0 else 'lower'})" for i in np.flatnonzero(sides)]
    limits = f", with limits reached at {', '.join(stops[:8])}{', ...' if len(stops) > 8 else ''}" if stops else ""
    entry = f" (entry {where} of the batch)" if where else ""
    return (
        f"the targets of {graph.name!r} cannot all be met{entry}: at the nearest approach {told}{limits}. "
        "Move the targets, free more dofs, start from another q0, or pass allow_partial=True."
    )


def _open(rows: Constraints, search: Search) -> str:
    """Which loop cannot close, and by how much."""
    graph = search.graph
    off = [x for x in rows.loops if np.abs(x.residual).max(initial=0.0) > NEARLY]
    told = [f"loop {x.name!r} stays open by {gap_text(x)}" for x in off]
    ties = [x for x in rows.couplings if abs(x.residual) > NEARLY]
    told += [f"coupling {x.name!r} stays off by {abs(x.residual):.3g}" for x in ties]
    held = [name for name, stuck in zip(graph.dof_names, ~search.bounds.free, strict=True) if stuck]
    fixed = f" with {', '.join(map(repr, held[:6]))} held" if held else ""
    return (
        f"the loops of {graph.name!r} cannot close from here{fixed}: at the nearest approach {'; '.join(told[:3])}. "
        "Free more dofs, start from another q0, or pass limits=False."
    )


def _check_options(limits: Any, allow_partial: Any, restarts: Any, steps: Any) -> None:
    for name, flag in (("limits", limits), ("allow_partial", allow_partial)):
        if not isinstance(flag, bool | np.bool_):
            raise StateError(f"{name} of solve_kinematics must be True or False, got {flag!r:.60}.")
    for name, number, least in (("restarts", restarts, 0), ("steps", steps, 1)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
            raise StateError(
                f"{name} of solve_kinematics must be a whole number of at least {least}, got {number!r:.60}."
            )
