"""Which pairs of a robot's bodies touch in random configurations: always, as it stands, sometimes, never."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from soacraft.arguments import whole_number

if TYPE_CHECKING:
    from soacraft.robot.world.world import World

#: Configurations that are looked at together.
_TOGETHER = 2048


class Row(NamedTuple):
    """A pair of bodies: "adjacent", "always", "default" (as the robot stands now), "sometimes" or "never", and in how
    many of the configurations it touched."""

    a: str
    b: str
    kind: str
    touched: int


@dataclass(frozen=True, eq=False)
class Allowed:
    """What random configurations told of the pairs of bodies."""

    rows: tuple[Row, ...]
    samples: int

    def of(self, kind: str) -> list[tuple[str, str]]:
        """The pairs of one kind."""
        return [(x.a, x.b) for x in self.rows if x.kind == kind]

    def __repr__(self) -> str:
        counts = Counter(x.kind for x in self.rows)
        kinds = [f"{counts[k]} {k}" for k in ("adjacent", "always", "default", "sometimes", "never")]
        lines = [f"pairs of bodies in {self.samples:,} configurations: {', '.join(kinds)}"]
        shown = [x for x in self.rows if x.kind in ("always", "default", "sometimes")]
        lines += [f"  {x.a} - {x.b}: {x.kind}, {x.touched} times" for x in shown[:20]]
        return "\n".join(lines)


def sampled(world: World, samples: int, seed: int) -> Allowed:
    """Look at random configurations within the limits; objects of the world do not count."""
    count = whole_number(samples, "samples", 1)
    rng = np.random.default_rng(whole_number(seed, "seed", 0))
    mb = world.robot.mb
    bodies = sorted({world.body_of(x) for x in world.scene.names} & {x.name for x in mb.bodies})
    touched: Counter[tuple[str, str]] = Counter()
    done = 0
    while done < count:
        some = min(_TOGETHER, count - done)
        touched.update(_touching(world, world.sample(rng, some)))
        done += some
    now = set(_touching(world, np.array(mb.q)[None]))
    rows = []
    for a, b in combinations(bodies, 2):
        if world.adjacent(a, b):
            kind = "adjacent"
        elif touched[a, b] == count:
            kind = "always"
        elif (a, b) in now:
            kind = "default"
        else:
            kind = "sometimes" if touched[a, b] else "never"
        rows.append(Row(a, b, kind, touched[a, b]))
    return Allowed(tuple(rows), count)


def _touching(world: World, q: np.ndarray) -> Counter[tuple[str, str]]:
    rows = world.distances(q, 0.0)
    seen: set[tuple[int, str, str]] = set()
    for state, pair, distance in zip(rows.state, rows.pairs, rows.distance, strict=True):
        if distance <= 0.0:
            a, b = sorted(map(world.body_of, pair))
            seen.add((int(state), a, b))
    return Counter((a, b) for _, a, b in seen)
