"""Inverse kinematics: coordinates at which frames are where they shall be, closures and limits kept.

Levenberg-Marquardt on the manifold of the hinges (`descent`), from q0 and, where that does not get there, from others:
each the best of some drawn within the limits, the same ones for the same seed. Where no start gets there, links
(`reach`) and boxes of configurations (`boxes`) may prove that none can.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from soacraft import markup
from soacraft.cards import card
from soacraft.dynamics.arguments import read_graph
from soacraft.errors import ConvergenceError, LoopError, StateError
from soacraft.hints import hinted
from soacraft.kinematics.bounds import Bounds, Sides, read_fixed
from soacraft.kinematics.boxes import closing_aims, excluded
from soacraft.kinematics.checks import gap_text
from soacraft.kinematics.descent import Point, Search
from soacraft.kinematics.reach import out_of_reach
from soacraft.kinematics.reaching import reach
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.targets import Aim, Gap, aims_of, batch_of, read_targets
from soacraft.kinematics.tolerances import CLOSED, MET, read_tolerance
from soacraft.model.states.coordinates import read_q
from soacraft.model.states.dof_sets import movable_dofs
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array, finite

#: Starts by default. Of 2,700 poses, positions and directions that arms of six and seven dofs can take, all are met
#: from a third of them; the rest is for arms with narrower limits.
STARTS = 100
#: Configurations drawn for one start, of which the best is taken.
_DRAWN = 32
#: Starts where it is proved that none gets there: for the nearest approach.
_FEW = 13


@dataclass(frozen=True, eq=False)
class KinematicsResult:
    """Coordinates found by `inverse_kinematics`, and how well they do; true where every target is met. With batches all
    arrays have leading axes."""

    q: Array
    """(..., nq): loops closed, limits kept, fixed dofs as they were."""
    converged: Any
    """True if every target is met within its tolerance."""
    proof: Any
    """Reason why the targets cannot be met, whatever the start: a text, empty where there is no proof; of a batch an
    array."""
    residual: dict[str, Gap]
    """Residual of each target, `Gap(distance, angle)`, by the name of its node."""
    residual_of_loops: dict[str, Gap]
    """Gap of each active loop and coupling."""
    sides: Sides
    """(..., nv): -1 for a dof at its lower limit, 1 at its upper one, 0 elsewhere."""
    iterations: Any
    """Steps taken, those of all starts together."""
    starts: Any
    """Number of configurations from which it was tried."""
    dof_names: tuple[str, ...]
    still: tuple[str, ...] = ()
    """Elastic modes, which are as they were in q0."""

    def __bool__(self) -> bool:
        return bool(np.all(self.converged))

    @property
    def impossible(self) -> Any:
        """True if it is proved that the targets cannot be met; of a batch an array."""
        proven = np.asarray(self.proof, dtype=object) != ""
        return proven if proven.ndim else bool(proven)

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
        q = np.array2string(self.q, precision=4, suppress_small=True, threshold=12)
        lines = [f"kinematics: {self._verdict()}, {np.sum(self.iterations)} iterations, q = {q}"]
        lines += [f"{name}: off by {_gap_text(gap)}" for name, gap in (self.residual | self.residual_of_loops).items()]
        if self.active_limits:
            lines.append(f"at limits: {', '.join(self.active_limits)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, rest = repr(self).splitlines()[0], self.residual | self.residual_of_loops
        rows = [(name, f"{np.max(gap.distance):.3g}", f"{np.max(gap.angle):.3g}") for name, gap in rest.items()]
        limits = [markup.paragraph(f"at limits: {', '.join(self.active_limits)}")] if self.active_limits else []
        titles = ["target, loop or coupling", "off by [m]", "off by [rad]"]
        return card(head, markup.table(titles, rows), *limits)

    def _verdict(self) -> str:
        if np.ndim(self.converged):
            hopeless = f", {np.sum(self.impossible)} cannot be met" if np.any(self.impossible) else ""
            return f"{np.sum(self.converged)} of {np.size(self.converged)} converged{hopeless}"
        if self.converged:
            return "converged"
        return f"cannot be met ({self.proof})" if self.proof else f"not met from {_starts_text(self.starts)}"


class _Found(NamedTuple):
    """Result of one state of a batch."""

    q: Array
    converged: bool
    proof: str
    residual: dict[str, Gap]
    of_loops: dict[str, Gap]
    iterations: int
    starts: int


class _Answer(NamedTuple):
    """The best point of a search."""

    search: Search
    point: Point
    starts: int
    proof: str

    @property
    def found(self) -> _Found:
        search, point = self.search, self.point
        gaps = _gaps(search.aims, point), _loop_gaps(point.rows)
        return _Found(point.state.q, point.done, self.proof, *gaps, search.iterations, self.starts)


@hinted
def inverse_kinematics(
    mb: Graph,
    targets: Any,
    fixed: Any = (),
    limits: bool = True,
    *,
    q0: Any = None,
    tolerance: float | None = None,
    starts: int = STARTS,
    seed: int = 0,
    steps: int = 100,
    allow_partial: bool = False,
    time_limit: float | None = None,
) -> KinematicsResult:
    """Coordinates at which the targets are met, with loops closed, couplings and joint limits kept.

    `targets` is `{node: Pose or point}`, or a list of `Placement`, `Position` and `Direction`. `fixed` names dofs or
    hinges held as they are in q0, or is `{dof or hinge: value}`. The search starts at q0 (default, and for what a q0
    by names leaves out: the current configuration), brought within the limits, and goes on from up to `starts`
    configurations, the same ones for the same `seed`, with up to `steps` steps each. The model's own state is left
    alone. Leading (batch) axes of targets and q0 are looped over. A sub-graph has its own loops only. A hinge that
    rolls is moved along its allowed velocities alone, so a place it could reach only by rolling back and forth may be
    missed. Flexible bodies stay bent as they are in q0: their modal coordinates are held, and no proof is given.

    `tolerance` is in radians, relative to the reach of the chain for distances of targets, and relative to the length
    of each loop for closures; by default 1e-9 of targets and 1e-6 of closures, which are closed as well as steps can.

    Where no start meets all targets, a `ConvergenceError` says which are missed and by how much, and whether they were
    not met from so many starts, or cannot be met: that is proved where the links are too short or too long, and where
    no box of configurations within the limits is left. With `allow_partial=True` the nearest approach is returned
    instead, least in the sum of |weight r|^2, with `converged`, `impossible` and `proof`. Loops that do not close are a
    `LoopError` in any case. `time_limit` in seconds ends the search of one state with the best so far; then links alone
    may prove that there is none. O(nv^2 rows) a step.

    >>> import soacraft as sc
    >>> arm = sc.serial_chain(2)                                   # rods of 1 m along x, pins about y
    >>> r = sc.inverse_kinematics(arm, {"link2/tip": (1.0, 0.0, -1.0)}, q0=[0.1, 0.2])
    >>> r.q.round(9) + 0.0
    array([0.        , 1.57079633])
    >>> sc.inverse_kinematics(arm, {"link2/tip": (0.0, 0.0, -3.0)}, q0=[0.1, 0.2])
    Traceback (most recent call last):
        ...
    soacraft.errors.ConvergenceError: the targets of 'chain' cannot be met: 'link2/tip' would have to be 3 m from \
hinge 'link1', 1 m beyond the 2 m that the links and slides between reach. From q0 'link2/tip' stays off by 1 m. Move \
the targets, free more dofs, or pass allow_partial=True for the nearest approach.
    """
    graph = read_graph("inverse_kinematics", mb)
    wanted = read_targets(targets)
    _check_options(limits, allow_partial, starts, seed, steps)
    seconds = _read_seconds(time_limit)
    met, closed = (MET, CLOSED) if tolerance is None else (read_tolerance(tolerance, "inverse_kinematics"),) * 2
    now = graph.current.q
    mask, q = read_fixed(graph, fixed, read_q(graph, now if q0 is None else q0, "q0", now))
    bounds = Bounds(graph, mask | ~movable_dofs(graph), bool(limits))
    batch = batch_of(wanted, q)
    each_q = np.broadcast_to(q, (*batch, graph.nq)).reshape(math.prod(batch), graph.nq)
    answers = []
    for i, (aims, start) in enumerate(zip(aims_of(graph, wanted, batch, met), each_q, strict=True)):
        begun = perf_counter()
        bounds.check_fixed(start)
        index = tuple(map(int, np.unravel_index(i, batch))) if batch else None
        quick = reach(bounds, aims, start, int(steps), int(starts) > 1)
        if quick is not None:
            gaps = {aim.name: gap for aim, gap in zip(aims, quick.gaps, strict=True)}
            answers.append(_Found(quick.q, True, "", gaps, {}, quick.iterations, 1))
            continue
        search = Search(graph, bounds, aims, closed, begun + seconds)
        answer = _solve(search, start, int(starts), int(seed), int(steps), bool(allow_partial), index)
        if not answer.point.done and not allow_partial:
            raise ConvergenceError(_missed(answer, index))
        answers.append(answer.found)
    return _result(graph, bounds, batch, answers)


def _solve(
    search: Search, q0: Array, starts: int, seed: int, steps: int, partial: bool, index: tuple[int, ...] | None
) -> _Answer:
    """The first point that is done, or the best of all starts; how many there were, and whether there can be none."""
    best: Point | None = None
    proof, count, most = "", 0, starts
    for count, start in enumerate(_starts(search, q0, starts, seed), 1):
        point = search.at(start)
        if point is not None:
            point = search.descend(point, steps, hasty=count < most)
            if best is None or point.done or point.cost < best.cost:
                best = point
        if best is not None and best.done:
            break
        if count == 1 and not search.late:
            proof = _reach_proof(search, q0)
            most = min(starts, _FEW) if proof and partial else 1 if proof and best is not None else starts
        if count >= most or search.late:
            break
    if best is None:
        assert search.nearest is not None
        raise LoopError(_open(search, search.nearest, count, _loop_proof(search, q0), index))
    if not best.done:
        best = search.descend(best, steps)
    if not best.done and not proof:
        proof = _box_proof(search, q0, search.aims)
    return _Answer(search, best, count, "" if best.done else proof)


def _starts(search: Search, q0: Array, starts: int, seed: int) -> Iterator[Array]:
    """q0, one near it, then others: of a tree the best of some drawn anywhere, of a closed chain ever further away."""
    yield q0
    rng = np.random.default_rng(seed)
    for i in range(starts - 1):
        if i == 0 or search.closed_chain:
            yield search.bounds.scattered(q0, rng, min(1.0, 0.05 * 2.0**i))
        else:
            drawn = search.bounds.drawn(q0, rng, _DRAWN)
            yield drawn[int(np.argmin(search.costs(drawn)))]


# -- proofs ----------------------------------------------------------------------------------------------------


def _reach_proof(search: Search, q0: Array) -> str:
    """A target, or a loop, whose links are too short or too long; those of flexible bodies tell nothing."""
    if search.graph.layout.flexible:
        return ""
    state = search.start.replace(q=search.bounds.inside(q0))
    texts = (out_of_reach(search.bounds, state, aim) for aim in search.aims)
    return next((text for text in texts if text), "")


def _box_proof(search: Search, q0: Array, aims: list[Aim]) -> str:
    """No configuration is left. Takes longer than a search that has a limit may."""
    if search.graph.layout.flexible or search.until < np.inf:
        return ""
    state = search.start.replace(q=search.bounds.inside(q0))
    boxes = excluded(search.bounds, state, aims, search.closed)
    if not boxes:
        return ""
    if not search.bounds.free.any():
        return "no dof is free to move"
    limited = np.isfinite(search.bounds.lower).any() or np.isfinite(search.bounds.upper).any()
    count = f"{boxes} box{'es' if boxes > 1 else ''}"
    return f"no configuration{' within the limits' if limited else ''} does ({count} of them excluded)"


def _loop_proof(search: Search, q0: Array) -> str:
    if search.graph.layout.flexible:
        return ""
    state = search.start.replace(q=search.bounds.inside(q0))
    texts = (out_of_reach(search.bounds, state, aim) for aim in closing_aims(search.bounds, search.closed))
    return next((text for text in texts if text), "") or _box_proof(search, q0, [])


# -- results ---------------------------------------------------------------------------------------------------


def _result(graph: Graph, bounds: Bounds, batch: tuple[int, ...], answers: list[_Found]) -> KinematicsResult:
    def stacked(values: list[Any], *tail: int) -> Any:
        x = np.reshape(values, (*batch, *tail))
        return x if x.ndim else x.item()

    def gaps(each: list[dict[str, Gap]]) -> dict[str, Gap]:
        names = each[0] if each else ()
        return {x: Gap(*(stacked([one[x][i] for one in each]) for i in range(2))) for x in names}

    return KinematicsResult(
        q=stacked([x.q for x in answers], graph.nq),
        converged=stacked([x.converged for x in answers]),
        proof=stacked(np.array([x.proof for x in answers], dtype=object)),  # type: ignore[arg-type]
        residual=gaps([x.residual for x in answers]),
        residual_of_loops=gaps([x.of_loops for x in answers]),
        sides=stacked([bounds.sides(x.q) for x in answers], graph.nv),
        iterations=stacked([x.iterations for x in answers]),
        starts=stacked([x.starts for x in answers]),
        dof_names=graph.dof_names,
        still=tuple(graph.dof_names[i] for i in np.flatnonzero(~movable_dofs(graph))),
    )


def _gaps(aims: list[Aim], point: Point) -> dict[str, Gap]:
    return {aim.name: aim.gap(aim.residual(*aim.seen(point.state))) for aim in aims}


def _loop_gaps(rows: Constraints | None) -> dict[str, Gap]:
    if rows is None:
        return {}
    loops = {x.name: Gap(x.distance, x.angle) for x in rows.loops}
    return loops | {x.name: Gap(abs(x.residual), 0.0) for x in rows.couplings}


# -- texts -----------------------------------------------------------------------------------------------------


def _gap_text(gap: Gap) -> str:
    parts = [f"{np.max(x):.3g} {unit}" for x, unit in ((gap.distance, "m"), (gap.angle, "rad")) if np.max(x) > 0.0]
    return " and ".join(parts) or "0"


def _starts_text(count: int) -> str:
    return "one start" if count == 1 else f"{count} starts"


def _entry(index: tuple[int, ...] | None) -> str:
    return f" in state {index} of the batch" if index else ""


def _missed(answer: _Answer, index: tuple[int, ...] | None) -> str:
    """Message about the targets that are missed at the best point, and their gaps; about a proof that they cannot be
    met; and the cure.
    """
    search, graph, gaps = answer.search, answer.search.graph, _gaps(answer.search.aims, answer.point)
    off = [aim for aim in search.aims if not aim.met_by(gaps[aim.name])]
    gap_texts = "; ".join(f"{aim.name!r} stays off by {_gap_text(gaps[aim.name])}" for aim in off[:6])
    sides = search.bounds.sides(answer.point.state.q)
    stops = [f"{graph.dof_names[i]!r} ({'upper' if sides[i] > 0 else 'lower'})" for i in np.flatnonzero(sides)]
    if stops:
        gap_texts += f", with limits reached at {', '.join(stops[:8])}{', ...' if len(stops) > 8 else ''}"
    if answer.proof:
        return (
            f"the targets of {graph.name!r} cannot be met{_entry(index)}: {answer.proof}. "
            f"{'From q0' if answer.starts == 1 else 'At the nearest approach'} {gap_texts}. Move the targets, free "
            "more dofs, or pass allow_partial=True for the nearest approach."
        )
    return (
        f"the targets of {graph.name!r} were not met from {_starts_text(answer.starts)}{_entry(index)}: at the nearest "
        f"approach {gap_texts}. Whether they can be met is not known: try more starts, another seed or q0, move the "
        "targets, free more dofs, or pass allow_partial=True."
    )


def _open(search: Search, rows: Constraints, starts: int, proof: str, index: tuple[int, ...] | None) -> str:
    """Message about the loops that do not close, and their gaps; about a proof that they cannot."""
    graph = search.graph
    openings = [f"loop {x.name!r} stays open by {gap_text(x)}" for x in rows.loops if x.opening > search.closed]
    ties = [x for x in rows.couplings if x.opening > search.closed]
    openings += [f"coupling {x.name!r} stays off by {abs(x.residual):.3g}" for x in ties]
    held = [name for name, stuck in zip(graph.dof_names, ~search.bounds.free, strict=True) if stuck]
    fixed = f" with {', '.join(map(repr, held[:6]))} held" if held else ""
    how = f"cannot close{fixed}" if proof else f"did not close from {_starts_text(starts)}{fixed}"
    why = f" ({proof})" if proof else ""
    return (
        f"the loops of {graph.name!r} {how}{_entry(index)}: at the nearest approach {'; '.join(openings[:3])}{why}. "
        "Free more dofs, start from another q0, or pass limits=False."
    )


def _read_seconds(time_limit: Any) -> float:
    if time_limit is None:
        return np.inf
    seconds = float(finite(time_limit, (), "time_limit of inverse_kinematics", StateError))
    if not seconds > 0.0:
        raise StateError(f"time_limit of inverse_kinematics must be positive, in seconds; got {time_limit!r:.40}.")
    return seconds


def _check_options(limits: Any, allow_partial: Any, starts: Any, seed: Any, steps: Any) -> None:
    for name, flag in (("limits", limits), ("allow_partial", allow_partial)):
        if not isinstance(flag, bool | np.bool_):
            raise StateError(f"{name} of inverse_kinematics must be True or False, got {flag!r:.60}.")
    for name, number, least in (("starts", starts, 1), ("seed", seed, 0), ("steps", steps, 1)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
            raise StateError(
                f"{name} of inverse_kinematics must be a whole number of at least {least}, got {number!r:.60}."
            )
