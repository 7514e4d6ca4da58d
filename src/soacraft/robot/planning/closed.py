"""Motions of closed chains: small steps, each brought back to where all loops and couplings close.

From a configuration towards another one goes by steps in the tangent; each is projected by `assemble` of the loop
solvers, the dofs that do not move held. Straight motions between such configurations leave the loops a little: how far
is measured in the middle of each, and they are kept so much clear of everything that the closed motion next to them is
free too.
"""

from __future__ import annotations

import numpy as np

from soacraft.errors import LoopError, StateError
from soacraft.loops.tree_augmented import TreeAugmented
from soacraft.robot.planning.checker import Checker
from soacraft.robot.planning.space import Space
from soacraft.robot.world.world import World
from soacraft.spatial.checks import Array

#: A step, and how far its middle may be from where the loops close: radians, or lengths of the model.
STEP, OFF = 0.05, 5e-4
#: A configuration is closed where projecting it moves it by less.
CLOSED = 1e-6
#: A step that gains less than this part of itself has come to an end, at a limit or a singular configuration.
_GAIN = 0.1


class ClosedChecker(Checker):
    """Motions along closed configurations."""

    straight = False
    looks_each = 5

    def __init__(self, world: World, space: Space, most: int, seconds: float | None) -> None:
        super().__init__(world, space, most, seconds)
        self._solver = TreeAugmented(space.mb)
        self._held = [space.mb.dof_names[i] for i in np.flatnonzero(~space.moving)]
        far = world.scene.far()
        reach = space.length + float(far[np.isfinite(far)].max(initial=0.0))
        self.gap = max(self.gap, OFF * reach * np.sqrt(len(space.dofs)))

    def closed(self, q: Array) -> Array | None:
        """The closed configuration next to q, within limits; None where there is none."""
        self.looks += 1
        try:
            found = np.asarray(self._solver.assemble(q, fixed=self._held, limits=True))
        except LoopError:
            return None
        return None if self.space.outside(found) else self.space.near(q, found)

    def go(self, a: Array, b: Array, far: float, reach: float) -> tuple[list[Array], bool]:
        """Steps from a towards b until they gain nothing, or meet something, or `reach` is gone."""
        space, gone = self.space, 0.0
        made: list[Array] = []
        while gone < reach and not self.spent:
            left = space.distance(a, b)
            if left <= STEP:
                return ([*made, b], True) if self._joined(a, b) else (made, False)
            q = self.closed(space.between(a, b, STEP / left))
            if q is None or left - space.distance(q, b) < _GAIN * STEP or not self._joined(a, q):
                break
            gone += space.distance(a, q)
            made.append(q)
            a = q
        return made, False

    def way(self, a: Array, b: Array) -> list[Array] | None:
        """Steps from a to b itself."""
        made, whole = self.go(a, self.space.near(a, b), 0.0, np.inf)
        return made if whole else None

    def _joined(self, a: Array, b: Array) -> bool:
        """Whether two neighbours are joined by a motion that nearly keeps the loops closed, and is free."""
        middle = self.space.between(a, b, 0.5)
        q = self.closed(middle)
        return q is not None and self.space.distance(middle, q) <= OFF and self.free(a, b)

    def require_clear(self, q: Array, what: str) -> None:
        """Refuse also what is not closed."""
        found = self.closed(q)
        off = np.inf if found is None else self.space.distance(q, found)
        if off > CLOSED:
            raise StateError(
                f"the {what} does not close the loops of {self.space.mb.name!r} (off by {off:.3g}): close it with "
                "sc.loops.TreeAugmented(mb).assemble(q, limits=True)."
            )
        super().require_clear(q, what)

    def touching(self, q: Array) -> tuple[str, str] | None:
        """What is nearer at q than closed motions are kept clear."""
        e = self.world.edge(q, q, gap=self.gap)
        return None if e.free else e.pair
