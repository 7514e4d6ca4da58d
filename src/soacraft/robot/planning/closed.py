"""Motions of closed chains: small steps, each brought back to where all loops and couplings close.

From a configuration towards another one goes by steps in the tangent; each is projected by `assemble` of the loop
solvers, the dofs that do not move held. Straight motions between such configurations leave the loops a little: how far
is measured at the quarters of each, and they are kept so much clear of everything that the closed motion next to them
is free too.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from soacraft.errors import LoopError, StateError
from soacraft.kinematics.bounds import Bounds
from soacraft.kinematics.compiled import rows_of
from soacraft.kinematics.rows import Constraints
from soacraft.loops.tree_augmented import TreeAugmented
from soacraft.robot.planning.checker import Checker
from soacraft.robot.planning.space import Space
from soacraft.robot.world.world import World
from soacraft.spatial.checks import Array

#: A step, and how far it may be from where the loops close between its ends: radians, or lengths of the model.
STEP, OFF = 0.05, 5e-4
#: A configuration is closed where projecting it moves it by less.
CLOSED = 1e-6
#: A step that gains less than this part of itself has come to an end, at a limit or a singular configuration.
_GAIN = 0.1
#: Parts of a straight motion at which it is measured.
_QUARTERS = (0.25, 0.5, 0.75)


class ClosedChecker(Checker):
    """Motions along closed configurations."""

    straight = False
    looks_each = 5

    def __init__(self, world: World, space: Space, most: int, seconds: float | None) -> None:
        super().__init__(world, space, most, seconds)
        self._solver = TreeAugmented(space.mb)
        self._held = [space.mb.dof_names[i] for i in np.flatnonzero(~space.moving)]
        self._bounds, self._rows = Bounds(space.mb, ~space.moving, True), rows_of(space.mb)
        self._guess = None if self._rows is None or self._bounds.balls else self._rows.guess({})
        far = world.scene.far()
        reach = space.length + float(far[np.isfinite(far)].max(initial=0.0))
        self.swept = OFF * reach * float(np.sqrt(len(space.dofs)))
        """Largest motion by dofs that are off by `OFF`, in metres."""
        self.gap = max(self.gap, self.swept)

    def closed(self, q: Array) -> Array | None:
        """The closed configuration next to q, within limits; None where there is none."""
        self.looks += 1
        try:
            assembled = np.asarray(self._solver.assemble(q, fixed=self._held, limits=True))
        except LoopError:
            return None
        return None if self.space.outside(assembled) else self.space.near(q, assembled)

    def brought(self, q: Array) -> Array | None:
        """A closed configuration that full steps from q lead to without meeting a limit; None where they do not. A
        tenth of the time of `closed`."""
        self.looks += 1
        if self._rows is None or self._guess is None:
            return self.closed(q)
        assembled, sure = self._rows.assemble(q[None], self._guess, self._bounds.free, self._bounds.allowed)
        return np.asarray(assembled[0]) if sure[0] and not self.space.outside(assembled[0]) else None

    def closes(self, q: Array) -> bool:
        """True if q is closed."""
        mb = self.space.mb
        return Constraints(mb, mb.state(q=q)).opening <= CLOSED and self._opened(q) <= CLOSED

    def _opened(self, q: Array) -> float:
        assembled = self.closed(q)
        return np.inf if assembled is None else self.space.distance(q, assembled)

    def off(self, a: Array, b: Array) -> float:
        """Distance of the straight motion from a to b from closed configurations, at its quarters."""
        self.looks += 1
        between = np.array([self.space.between(a, b, part) for part in _QUARTERS])
        try:
            assembled = self._solver.assemble(between, fixed=self._held, limits=True)
        except LoopError:
            return np.inf
        return max(self.space.distance(q, shut) for q, shut in zip(between, assembled, strict=True))

    def go(self, a: Array, b: Array, far: float, reach: float) -> tuple[list[Array], bool]:
        """Steps from a towards b until they gain nothing, or meet something, or `reach` is gone."""
        space, gone = self.space, 0.0
        path: list[Array] = []
        while gone < reach and not self.spent:
            distance = space.distance(a, b)
            if distance <= STEP:
                return ([*path, b], True) if self.closes(b) and self._joined(a, b) else (path, False)
            q = self.closed(space.between(a, b, STEP / distance))
            if q is None or distance - space.distance(q, b) < _GAIN * STEP or not self._joined(a, q):
                break
            gone += space.distance(a, q)
            path.append(q)
            a = q
        return path, False

    def way(self, a: Array, b: Array) -> list[Array] | None:
        """Steps from a to b itself."""
        path, to_the_end = self.go(a, self.space.near(a, b), 0.0, np.inf)
        return path if to_the_end else None

    def _joined(self, a: Array, b: Array) -> bool:
        """True if two neighbours are joined by a motion that nearly keeps the loops closed, and is free."""
        return self.off(a, b) <= OFF and self.free(a, b)

    def require_clear(self, q: Array, what: str) -> None:
        """Refuse also what is not closed."""
        off = self._opened(q)
        if off > CLOSED:
            raise StateError(
                f"the {what} does not close the loops of {self.space.mb.name!r} (off by {off:.3g}): close it with "
                "sc.loops.TreeAugmented(mb).assemble(q, limits=True)."
            )
        super().require_clear(q, what)

    def touching(self, q: Array) -> tuple[str, str] | None:
        """Pair that is nearer at q than the clearance of closed motions; None without one."""
        e = self.world.edge(q, q, gap=self.gap)
        return None if e.free else e.pair

    def refused(self, path: Array) -> str:
        """Reason against a path, also by its loops: each configuration closes, between them they are off by no more
        than `OFF`, and nothing is within the clearance of such motions.
        """
        reason = self._refused(path, self.swept)
        if reason:
            return reason
        for k, q in enumerate(path):
            if (off := self._opened(q)) > CLOSED:
                return f"configuration {k} does not close, off by {off:.3g}"
        for k, (a, b) in enumerate(pairwise(path)):
            if (off := self.off(a, b)) > OFF:
                return f"way {k}: it leaves the loops by {off:.3g}"
        return ""
