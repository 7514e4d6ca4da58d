"""All solvers of closed chains on random graphs, next to a dense KKT solution: what agrees, what is refused, by seed.

    python -m tests.loops.agreement                  10,000 graphs; minutes
    python -m tests.loops.agreement 500 --first 70   500, from seed 70 on

A graph has any hinges in its tree and in its loops (one in ten those that no kernel knows too), rows that repeat
others, couplings, rotors, masses of four decades, and is drawn in metres, then built in a unit of length from a
micrometre to a thousand kilometres. Solvers are compared where the Schur complement of scaled rows is conditioned
better than `CONDITION`; the rest is counted.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from tests.loops.cases import CLOSING, CONDITION, EVERY_CLOSING, HINGES, close, project, tie
from tests.scales.scaled import Units, scaled
from tests.strategies import EVERY_HINGE

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import SoacraftError
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented
from soacraft.model.samples.random_models import random_inertia, random_pose
from soacraft.model.sizes.measure import measure_of
from soacraft.model.tree.parts.closures import coordinate_names

TOLERANCE = 1e-9
#: Singular values of scaled rows relative to the largest that are zero for the reference.
ZERO = 1e-7
#: Rows whose numbers, in radians and lengths, are no larger hold nothing: a closure between bodies that are one.
ROUNDING = 1e-12
#: A state is on its closures, and stays, to this: more, and the coordinates of a closure's hinge are ill determined.
STATE = 1e-11


# -- graphs -------------------------------------------------------------------------------------------------------


def drawn(seed):
    """A closed graph in metres, in a closed state that moves as it may, and a force; one in ten with any hinge."""
    rng = np.random.default_rng(seed)
    hinges, closing = (EVERY_HINGE, EVERY_CLOSING) if seed % 10 == 9 else (HINGES, CLOSING)
    mb, n = sc.Multibody(f"drawn{seed}"), int(rng.choice([2, 2, 3, 4]))
    for k in range(n):
        parent = int(rng.integers(-1, k)) if rng.random() < 0.4 else k - 1
        hinge = hinges[int(rng.integers(len(hinges)))]
        I, mass = random_inertia(rng), 10.0 ** rng.uniform(-2.0, 2.0)
        I = sc.Inertia(mass * I.mass, I.com, mass * I.moment)
        inboard = None if parent < 0 else f"body{parent}"
        body = mb.add_body(f"body{k}", inboard, hinge, I, random_pose(rng), random_pose(rng))
        if rng.random() < 0.3 and hinge.nv:
            body.armature = rng.uniform(0.1, 1.0, hinge.nv)
    q, v = mb.random_state(rng)
    mb.set_state(q, v)
    frames, kinds = ["inertial", *(body.name for body in mb.bodies)], []
    for i in range(int(rng.choice([1, 1, 2, 3]))):
        b = int(rng.integers(1, len(frames)))
        a = int(rng.choice([k for k in range(len(frames)) if k != b]))
        again = bool(kinds) and rng.random() < 0.3
        a, b, hinge = kinds[-1] if again else (a, b, closing[int(rng.integers(len(closing)))])
        kinds.append((a, b, hinge))
        start = mb.frame(frames[a]).add_node(f"start{i}", random_pose(rng))
        close(mb, f"loop{i}", start, frames[b], hinge, int(rng.choice([0, rng.integers(1, 99)])))
    known = sorted(coordinate_names(mb))
    if len(known) > 1 and rng.random() < 0.3:
        pair = [str(x) for x in rng.choice(known, 2, replace=False)]
        tie(mb, "gear", pair, [(1.0,), (-1.5, 0.2)])
    mb.v = project(mb, mb.v)
    return mb, rng.standard_normal(mb.nv), 10.0 ** rng.uniform(-6.0, 6.0)


def built(seed):
    """The same in its own unit of length, and its force."""
    mb, force, length = drawn(seed)
    units = Units(length=length)
    other = scaled(mb, units)
    before, after = (measure_of(x, x.q).dofs for x in (mb, other))
    return other, force * units.energy * after / before


# -- the reference ------------------------------------------------------------------------------------------------


@dataclass
class Reference:
    """A dense solution, dofs in radians and lengths of the model."""

    vdot: np.ndarray
    largest: float
    """What it is measured by: the largest acceleration with and without closures, in these units."""
    condition: float
    contradiction: float
    """What rows that repeat others leave open, relative to the accelerations."""


def reference(mb, force, rows=None):
    """min |vdot - vdot_f| in the metric of the mass matrix with Gc vdot = -Gcdot v, all in the model's own units."""
    rows = rows or Constraints(mb, mb.state())
    d, r = rows.measure.dofs, rows.units
    G, gamma = rows.jacobian() / r[:, None] / d, rows.gamma / r
    G[np.abs(G).max(axis=1, initial=0.0) < ROUNDING] = 0.0
    M = dyn.mass_matrix(mb, mb.q, ignore_loops=True) / d[:, None] / d
    T = (force - dyn.bias_force(mb, mb.q, mb.v, ignore_loops=True)) / d
    s = 1.0 / np.sqrt(np.diagonal(M))  # each dof in its own inertia: masses of four decades
    M, G, T = M * s[:, None] * s, G * s, T * s
    L = np.linalg.cholesky(M)
    free = np.linalg.solve(M, T)
    Y = np.linalg.solve(L, G.T).T
    size = np.linalg.norm(Y, axis=1)
    scale = 1.0 / np.maximum(size, ZERO * size.max(initial=0.0) + 1e-300)
    U, sigma, V = np.linalg.svd(scale[:, None] * Y, full_matrices=False)
    rank = int(np.sum(sigma > ZERO * sigma.max(initial=0.0)))
    U, sigma, V = U[:, :rank], sigma[:rank], V[:rank]
    vdot = free
    for _ in range(2):
        left = scale * (G @ vdot + gamma)
        vdot = vdot - np.linalg.solve(L.T, V.T @ ((U.T @ left) / sigma))
    largest = max(1.0, *(np.abs(x).max(initial=0.0) for x in (s * vdot, s * free, gamma)))
    condition = float((sigma[0] / sigma[-1]) ** 2) if rank else 1.0
    return Reference(s * vdot, largest, condition, float(np.abs(G @ vdot + gamma).max(initial=0.0)) / largest)


# -- the sweep ----------------------------------------------------------------------------------------------------


def solvers(mb):
    """Each kind of solver by name; the hybrid embeds every second closure."""
    names = [x.name for x in (*mb.loops, *mb.couplings)]
    return {
        "tree-augmented": lambda: TreeAugmented(mb),
        "fully augmented": lambda: FullyAugmented(mb),
        "embedded": lambda: ConstraintEmbedding(mb),
        "hybrid": lambda: ConstraintEmbedding(mb, embed=names[::2]),
    }


@dataclass
class Sweep:
    """What came of many graphs."""

    counts: Counter = field(default_factory=Counter)
    """Of graphs: compared, and why not; and of solvers that refused one that is."""
    wrong: list = field(default_factory=list)
    """(seed, solver, by how much)."""
    refused: list = field(default_factory=list)
    """(seed, solver, why), of graphs that are compared."""

    def take(self, seed):
        """Try one graph."""
        mb, force = built(seed)
        if not mb.nv:
            self.counts["without dofs"] += 1
            return
        rows = Constraints(mb, mb.state())
        if max(rows.opening, np.abs(rows.speed / rows.units).max(initial=0.0)) > STATE:
            self.counts["not on their closures"] += 1
            return
        wanted = reference(mb, force, rows)
        if not wanted.condition < CONDITION:
            self.counts["conditioned worse"] += 1
            return
        if wanted.contradiction > TOLERANCE:
            self.counts["contradictory"] += 1
            return
        self.counts["compared"] += 1
        d = measure_of(mb, mb.q).dofs
        for name, make in solvers(mb).items():
            try:
                found = make().forward_dynamics(mb.q, mb.v, force).vdot
            except SoacraftError as error:
                self.counts[f"refused by {name}"] += 1
                self.refused.append((seed, name, str(error)))
                continue
            off = float(np.abs(d * found - wanted.vdot).max(initial=0.0)) / wanted.largest
            if not off <= TOLERANCE:
                self.wrong.append((seed, name, off))

    def __str__(self):
        lines = [", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))]
        lines += [f"seed {seed}: {name} is off by {off:.3g}" for seed, name, off in self.wrong]
        return "\n".join(lines + [f"seed {seed}: {name} refuses: {why}" for seed, name, why in self.refused])


def sweep(seeds):
    """All of these seeds."""
    found = Sweep()
    for seed in seeds:
        found.take(seed)
    return found


def main():
    """The command line; status 1 where solvers disagree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    found = sweep(range(given.first, given.first + given.count))
    print(found)
    return int(bool(found.wrong))


if __name__ == "__main__":
    sys.exit(main())
