"""Contacts between a robot's bodies in random configurations: always, at the present one, sometimes, never."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from soacraft.arguments import whole_number
from soacraft.contact.geometry.filters import rigid_groups
from soacraft.contact.geometry.scene import Scene
from soacraft.progress import Bar
from soacraft.robot.world.drawing import MOST_DRAWN
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.robot.world.world import World

#: Configurations that are looked at together.
TOGETHER = 2048
KINDS = ("adjacent", "disabled", "always", "default", "sometimes", "never")


class Row(NamedTuple):
    """A pair of bodies and in how many of the configurations it touched. Kinds: "adjacent" (joined by a hinge) and
    "disabled" (by the files) are not checked; "always", "default" (as the robot is now), "sometimes", "never"."""

    a: str
    b: str
    kind: str
    touched: int


@dataclass(frozen=True, eq=False)
class Allowed:
    """Result of random configurations for the pairs of bodies.

    >>> import soacraft as sc
    >>> w = sc.robot.World(sc.robot.Robot(sc.load("anymal_b")))
    >>> told = w.make_allowed(samples=100)
    >>> told.of("always")
    [('LF_THIGH', 'base'), ('LH_THIGH', 'base'), ('RF_THIGH', 'base'), ('RH_THIGH', 'base')]
    >>> w.allowed == dict.fromkeys(told.of("always"), "always")
    True
    """

    rows: tuple[Row, ...]
    samples: int

    def of(self, kind: str) -> list[tuple[str, str]]:
        """The pairs of one kind."""
        return [(x.a, x.b) for x in self.rows if x.kind == kind]

    def __repr__(self) -> str:
        counts = Counter(x.kind for x in self.rows)
        kinds = [f"{counts[k]} {k}" for k in KINDS]
        lines = [f"pairs of bodies in {self.samples:,} configurations: {', '.join(kinds)}"]
        shown = [x for x in self.rows if x.kind in ("always", "default", "sometimes")]
        lines += [f"  {x.a} - {x.b}: {x.kind}, {x.touched / self.samples:.3%}" for x in shown[:20]]
        return "\n".join(lines)


def sampled(world: World, samples: int, seed: int, progress: bool) -> Allowed:
    """Look at random configurations within the limits; objects of the world, paddings and pairs that were allowed do
    not count."""
    count = whole_number(samples, "samples", 1, MOST_DRAWN)
    rng = np.random.default_rng(whole_number(seed, "seed", 0))
    mb = world.robot.mb
    usual, open_ = world.scenes_of_robot()
    carriers = {x.carrier for x in open_.placed}
    group, above = rigid_groups(mb)
    touched: Counter[tuple[str, str]] = Counter()
    with Bar("allowed pairs", 0.0, float(count), progress) as bar:
        for done in range(0, count, TOGETHER):
            touched.update(touching(open_, world.sample(rng, min(TOGETHER, count - done))))
            bar.at(float(done + TOGETHER))
    now = touching(open_, np.array(mb.q)[None])
    checked = {_of_bodies(usual, *pair) for pair in usual.pairs}
    rows = []
    for x, y in combinations(sorted(carriers, key=lambda x: x.name), 2):
        pair, (gx, gy) = (x.name, y.name), (group[x], group[y])
        if gx is gy:
            continue
        if pair not in checked:
            kind = "adjacent" if above.get(gx) is gy or above.get(gy) is gx else "disabled"
        elif touched[pair] == count:
            kind = "always"
        elif pair in now:
            kind = "default"
        else:
            kind = "sometimes" if touched[pair] else "never"
        rows.append(Row(*pair, kind, touched[pair]))
    return Allowed(tuple(rows), count)


def touching(scene: Scene, q: Array) -> Counter[tuple[str, str]]:
    """Count of the configurations (count, nq) in which the shapes of two bodies touch, by their names."""
    rows = scene.distances(q, 0.0)
    owner = [x.carrier.name for x in scene.placed]
    names = sorted(set(owner))
    number = np.array([names.index(x) for x in owner], dtype=np.int64)
    hit = rows.distance <= 0.0
    a, b = number[rows.a[hit]], number[rows.b[hit]]
    seen = np.unique(np.stack([rows.state[hit], np.minimum(a, b), np.maximum(a, b)], axis=1), axis=0)
    pairs, times = np.unique(seen[:, 1:], axis=0, return_counts=True)
    return Counter({(names[i], names[j]): int(n) for (i, j), n in zip(pairs, times, strict=True)})


def _of_bodies(scene: Scene, a: str, b: str) -> tuple[str, str]:
    owner = {x.name: x.carrier.name for x in scene.placed}
    return min(owner[a], owner[b]), max(owner[a], owner[b])
