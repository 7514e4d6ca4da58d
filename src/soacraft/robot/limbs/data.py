"""Data of a limb that are computed once: its limits, units, the dofs that are tied to it, and the parts that can be
searched apart.

Tips whose hinges have nothing in common, and are not tied to each other, are separate parts: the fingers of a hand
outboard of its palm. Each is searched alone, compiled where its hinges are screws in a row.
"""

from __future__ import annotations

from functools import cached_property
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.errors import StateError
from soacraft.kinematics.bounds import Bounds
from soacraft.kinematics.independent import Indices
from soacraft.kinematics.limbs import LimbEngine, engine_of
from soacraft.kinematics.reach import Span
from soacraft.model.sizes.lengths import chain
from soacraft.model.states.ranges import Ball, Ranges
from soacraft.model.states.ties import Mask, moved_with, tied_dofs
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.properties import Limits
from soacraft.robot.limbs.chain import Chain
from soacraft.robot.limbs.ties import choose_independent, one_sided
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.kinematics.limbs import Plan

_limits_of = attrgetter("_limits")
#: Plans that a limb remembers.
_PLANS = 64


class Part(NamedTuple):
    """Tips that are searched together, by their numbers."""

    tips: tuple[int, ...]
    q: npt.NDArray[np.intp]
    """Places of its coordinates among those of the limb."""
    v: npt.NDArray[np.intp]
    """Places of its dofs among those of the limb."""
    moves: Mask
    """The dofs of the robot that move with it, (nv)."""
    q_moves: npt.NDArray[np.intp]
    """Coordinates of these tips."""
    engine: LimbEngine | None
    """Compiled inverse kinematics; None where a hinge is no row of screws, tips share hinges, or something is tied."""


class LimbData:
    """Data of the present model; no longer valid after its constants or limits changed (`holds`)."""

    def __init__(self, limb: Chain) -> None:
        mb, v = limb.robot.mb, limb.v_places
        self._mb, self._made, self._names = mb, mb.parameters, [x.full_name for x in (limb.base, *limb.tips)]
        self._lean: Multibody | None = None
        of_limb = np.zeros(mb.nv, dtype=np.bool_)
        of_limb[v] = True
        self.moves = moved_with(mb, of_limb)
        """The dofs of the robot that are the limb's or tied to them, (nv)."""
        ranges = Ranges(mb, of=self.moves)
        spans = zip(mb.layout.bodies, mb.layout.hinge_v, strict=True)
        self._watched = tuple(body for body, span in spans if self.moves[span].any())
        self._limits = tuple(map(_limits_of, self._watched))
        self.q_moves = _coordinates(limb, self.moves)
        self.tied = bool(tied_dofs(mb)[v].any())
        self.lower, self.upper = ranges.lower[v], ranges.upper[v]
        self.balls: list[Ball] = ranges.balls
        self.places = ranges.place[v]
        self.reach = max(float(sum(chain(limb.base, tip).links)) for tip in limb.tips)
        self.length = self.reach or 1.0
        """Unit of distances: the reach, or 1 m where that is zero."""
        bounds = Bounds(mb, np.zeros(mb.nv, dtype=np.bool_), False)
        self.units = np.where(bounds.turning, 1.0, 1.0 / self.length)
        """Units of the robot's dofs: 1 for radians, one over the length for slides."""
        self.unit = self.units[v]
        """Units of the limb's dofs."""
        self.parts = _parts(limb, self)
        self.engine = self.parts[0].engine if len(limb.tips) == 1 else None
        self.stops, self.ropes = one_sided(mb, self.moves)
        self.plain = self.engine is not None and not self.stops and not self.ropes
        """True if compiled code alone can decide that a pose is met."""
        self.spans: dict[tuple[int, bool], Span | None] = {}
        """Spans of the tips, by number and if the tip is turned as its goal; made on demand."""
        self.conditions: dict[tuple[bool, ...], tuple[int, Mask]] = {}
        """The rank of the rows that count, and the dofs that move, by which rows count; made where that is asked."""
        self._plans: dict[Any, Plan] = {}
        self._independent: tuple[Indices, Indices] | None = None

    def holds(self, parameters: int) -> bool:
        """True if nothing it was made from has changed: constants, or limits of its dofs."""
        return parameters == self._made and all(map(is_, map(_limits_of, self._watched), self._limits))

    @property
    def model(self) -> Multibody:
        """The model that is searched: the robot's, or where limits of hinges that are not the limb's cannot be kept, a
        copy without these."""
        try:
            Ranges(self._mb)
        except StateError:
            if self._lean is None:
                self._lean = self._mb.copy()
                for body, v in zip(self._lean.layout.bodies, self._lean.layout.hinge_v, strict=True):
                    if body.hinge.nv and not self.moves[v].any():
                        body.limits = Limits()
            return self._lean
        return self._mb

    @property
    def frames(self) -> list[Frame]:
        """The base and the tips in that model."""
        mb = self.model
        return [mb.frame(x) for x in self._names]

    def bounds(self, fixed: Mask) -> Bounds:
        """The limits of a search in which some dofs are held, (nv)."""
        return Bounds(self.model, fixed, True)

    @cached_property
    def range(self) -> tuple[Array, Array]:
        """Range in which dofs are taken to be: between their limits, or half a turn, or a length, either way."""
        wide = np.pi / self.unit
        finite = np.isfinite(self.lower), np.isfinite(self.upper)
        low = np.where(finite[0], self.lower, np.where(finite[1], self.upper - 2.0 * wide, -wide))
        return low, np.where(finite[1], self.upper, low + 2.0 * wide)

    def independent(self, limb: Chain) -> tuple[Indices, Indices]:
        """The dofs of the robot that are taken for independent where loops tie the limb, and the numbers of those that
        move it; the same until it changes."""
        if self._independent is None:
            self._independent = choose_independent(limb)
        return self._independent

    def plan(self, key: Any) -> Plan | None:
        """A plan that was kept."""
        return self._plans.get(key)

    def keep_plan(self, key: Any, plan: Plan) -> Plan:
        """Keep a plan for the next call like this."""
        if len(self._plans) >= _PLANS:
            self._plans.clear()
        self._plans[key] = plan
        return plan


def path(base: Frame, tip: Frame) -> tuple[Body, ...] | None:
    """The bodies that move with respect to the base, from there to a tip; None where it is not outboard."""
    bodies, at = [], tip.carrier
    while at is not base.carrier:
        if not isinstance(at, Body):
            return None
        bodies.append(at)
        at = at.parent
    return tuple(reversed(bodies))


def _coordinates(limb: Chain, moves: Mask) -> npt.NDArray[np.intp]:
    """Places of the coordinates of some dofs among the robot's."""
    layout = limb.robot.mb.layout
    spans = [q for q, v in zip(layout.hinge_q, layout.hinge_v, strict=True) if moves[v].any()]
    return np.array([i for q in spans for i in range(q.start, q.stop)], dtype=np.intp)


def _parts(limb: Chain, data: LimbData) -> tuple[Part, ...]:
    mb, (base, *ends) = data.model, data.frames
    layout, ways = mb.layout, [path(base, tip) or () for tip in ends]
    masks = []
    for way in ways:
        of_body = np.zeros(mb.nv, dtype=np.bool_)
        for body in way:
            of_body[layout.hinge_v[layout.index[body]]] = True
        masks.append(moved_with(mb, of_body))
    groups: list[tuple[list[int], Mask]] = []
    for i, mask in enumerate(masks):
        shared = [g for g in groups if (g[1] & mask).any()]
        groups = [g for g in groups if not (g[1] & mask).any()]
        tips = sorted([i, *(k for g in shared for k in g[0])])
        groups.append((tips, np.logical_or.reduce([mask, *(g[1] for g in shared)])))
    tied, parts = tied_dofs(mb), []
    for tips, mask in sorted(groups, key=lambda g: g[0]):
        q_moves = _coordinates(limb, mask)
        v, q = np.flatnonzero(mask[limb.v_places]), np.flatnonzero(np.isin(limb.q_places, q_moves))
        alone = len(tips) == 1 and not tied[limb.v_places[v]].any()
        engine = engine_of(mb, ways[tips[0]], base, ends[tips[0]]) if alone else None
        parts.append(Part(tuple(tips), q, v, mask, q_moves, engine))
    return tuple(parts)
