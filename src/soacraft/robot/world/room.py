"""Room of a robot in its world: the share of random configurations that are free, and the pairs that are always in the
way.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from soacraft.arguments import whole_number
from soacraft.contact.geometry.scene import Scene
from soacraft.errors import StateError
from soacraft.robot.world.allowed import TOGETHER
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.robot.world.world import World


@dataclass(frozen=True, eq=False)
class Room:
    """Number of the configurations that were free, and of those in which each pair of bodies or objects touched,
    paddings included; the most frequent first.
    """

    samples: int
    free: int
    touched: dict[tuple[str, str], int]

    def __repr__(self) -> str:
        lines = [f"{self.free} of {self.samples} configurations are free"]
        lines += [f"  {a} - {b}: {n} times" for (a, b), n in list(self.touched.items())[:10]]
        return "\n".join(lines)


def look(world: World, samples: int, seed: int) -> Room:
    """Draw configurations, and refuse a world in which a pair is always in the way: by its padding, or by itself."""
    count = whole_number(samples, "samples", 1)
    rng = np.random.default_rng(whole_number(seed, "seed", 0))
    q = world.sample(rng, count)
    q[0] = world.robot.mb.q
    touched: Counter[tuple[str, str]] = Counter()
    free = 0
    for start in range(0, count, TOGETHER):
        gaps_of = least(world, world.scene, q[start : start + TOGETHER], 0.0)
        touched.update({pair: len(gaps) for pair, gaps in gaps_of.items()})
        free += len(q[start : start + TOGETHER]) - len(set().union(*(x.keys() for x in gaps_of.values())))
    for pair, times in touched.most_common(1):
        if times == count:
            _refuse(world, pair, q)
    if not free:
        most = ", ".join(f"{a!r} and {b!r} in {n}" for (a, b), n in touched.most_common(3))
        raise StateError(f"all {count} configurations that were drawn collide: {most} of them; move something away.")
    return Room(count, free, dict(touched.most_common()))


def least(world: World, scene: Scene, q: Array, within: float) -> dict[tuple[str, str], dict[int, float]]:
    """Least distance by pair of bodies or objects, in each configuration in which it is at most `within`."""
    rows = scene.distances(q, within)
    owner = [world.body_of(x) for x in scene.names]
    by_pair: dict[tuple[str, str], dict[int, float]] = {}
    columns = (rows.state, rows.a, rows.b, rows.distance)
    for state, a, b, d in zip(*(x.tolist() for x in columns), strict=True):
        if d <= within:
            by_state = by_pair.setdefault((min(owner[a], owner[b]), max(owner[a], owner[b])), {})
            by_state[state] = min(d, by_state.get(state, np.inf))
    return by_pair


def _refuse(world: World, pair: tuple[str, str], q: Array) -> None:
    a, b = pair
    said = f"{a!r} and {b!r} touch in all {len(q)} configurations that were drawn"
    bare = world.scene_on(world.robot.mb)
    apart = max(least(world, bare, q, np.inf)[pair].values())
    if apart <= 0.0:
        raise StateError(f"{said}, whatever the padding: w.allow({a!r}, {b!r}), or see w.make_allowed().")
    pads = [
        f"{value:g} m for {' - '.join(map(repr, who))}"
        for who, value in world.paddings.items()
        if value > 0.0 and all(_means(x, a) or _means(x, b) for x in who)
    ]
    raise StateError(
        f"{said}, by the padding of {' and '.join(pads)}: without it they are up to {apart:.3g} m apart. Pad by less."
    )


def _means(name: str, owner: str) -> bool:
    """True if a name is that of a body or object, of a shape on it, or of the object it is of."""
    return name == owner or name.startswith(f"{owner}/") or owner.startswith(f"{name}.")
