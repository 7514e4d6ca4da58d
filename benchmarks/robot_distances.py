"""Queries of a robot's world, next to Pinocchio with coal: a Panda in capsules among 20 boxes.

Distances are of pairs within 0.2 m, with nearest points, normals and gradients. "in C++" is what Pinocchio does in one
call of its own, without gradients and before anything is read; "whole" is with those of the pairs that are near, in
NumPy (`distances_in_pinocchio.py` has its forms). "one by one" is a call from Python for each configuration, "batch"
one call for all of them on one thread; the others have no such call, and their time is that of the loop. Differences
are the largest ones of distances and of gradients, of pairs that are apart.

Touches: whether anything touches. Edges: whether the way to a configuration 0.1 rad away is free, all of it; a planner
on the others asks for touches at configurations between. Those that are not free are followed to the first touch, or
to any. Times are of the thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from distances_in_pinocchio import FORMS, Peer
from growth import table

import soacraft as sc

WITHIN, BOXES, STEP = 0.2, 20, 0.1


def world(seed: int = 0) -> sc.robot.World:
    """The Panda, whose shapes are capsules, among boxes that leave its base free."""
    rng = np.random.default_rng(seed)
    w = sc.robot.World(sc.robot.Robot(sc.load("panda")))
    while len(w.objects) < BOXES:
        at = rng.uniform((-0.8, -0.8, 0.0), (0.8, 0.8, 1.0))
        if np.hypot(at[0], at[1]) > 0.35:
            pose = sc.Pose.from_rpy(*rng.uniform(-3.0, 3.0, 3), at)
            w.add(f"box{len(w.objects)}", sc.contact.Box(*rng.uniform(0.05, 0.25, 3)), pose)
    return w


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    w, rounds = world(), 1 if quick else 7
    rng = np.random.default_rng(1)
    q = w.sample(rng, 10 if quick else 1000)
    peer, touching = Peer(w, WITHIN), Peer(w, 0.0)
    mine = w.distances(q, WITHIN)
    near = [peer.near(x, "margin")[0] for x in q]
    found = {
        "configurations": len(q),
        "pairs": len(w.scene.pairs),
        "near": len(mine) / len(q),
        "one by one": each(q, w.distances, rounds, WITHIN),
        "batch": whole(q, lambda: w.distances(q, WITHIN), rounds),
        "difference": difference(w, peer, q),
        "peer": {},
    }
    for form in FORMS:
        told = iter(near * (rounds + 1))
        found["peer"][form] = {
            "in C++": each(q, peer.query, rounds, form),
            "whole": each(q, lambda x, form=form, told=told: peer.near(x, form, next(told)), rounds),
        }
    way = rng.standard_normal(q.shape)
    ends = q + STEP * way / np.linalg.norm(way, axis=1)[:, None]
    free = w.edges(q, ends).free
    pairs = list(zip(q, ends, strict=True))
    found["touches"] = {
        "one by one": each(q, w.collides, rounds),
        "batch": whole(q, lambda: w.collides(q), rounds),
        "peer": each(q, touching.collides, rounds),
        "part": float(w.collides(q).mean()),
    }
    found["edges"] = {
        "free": edges(w, [x for x, f in zip(pairs, free, strict=True) if f], rounds),
        "not free, first touch": edges(w, [x for x, f in zip(pairs, free, strict=True) if not f], rounds),
        "not free, any touch": edges(w, [x for x, f in zip(pairs, free, strict=True) if not f], rounds, first=False),
    }
    return found


def each(q: np.ndarray, work: Callable[..., Any], rounds: int, *more: Any) -> float:
    """The shortest mean time of a call for each configuration, in microseconds."""

    def loop() -> None:
        for x in q:
            work(x, *more)

    return whole(q, loop, rounds)


def whole(q: Any, work: Callable[[], Any], rounds: int) -> float:
    """The same of one call for all of them."""
    best = np.inf
    for _ in range(rounds):
        start = time.thread_time()
        work()
        best = min(best, time.thread_time() - start)
    return float(best / max(len(q), 1) * 1e6)


def edges(w: sc.robot.World, pairs: list[Any], rounds: int, first: bool = True) -> dict[str, float]:
    """How many there are, and the time of one."""
    q0, q1 = (np.array([x[i] for x in pairs]).reshape(-1, 7) for i in (0, 1))

    def loop() -> None:
        for a, b in zip(q0, q1, strict=True):
            w.edge(a, b, first=first)

    batch = whole(pairs, lambda: w.edges(q0, q1, first=first), rounds)
    return {"count": len(pairs), "one by one": whole(pairs, loop, rounds), "batch": batch}


def difference(w: sc.robot.World, peer: Peer, q: np.ndarray) -> list[float]:
    """Of distances and of gradients, of pairs that are apart; both must name the same pairs."""
    most = [0.0, 0.0]
    for x in q[:100]:
        rows = w.distances(x, WITHIN)
        which, distance, gradient = peer.near(x, "distances")
        mine = {pair: (d, g) for pair, d, g in zip(rows.pairs, rows.distance, rows.gradient, strict=True)}
        theirs = {peer.names[k]: (d, g) for k, d, g in zip(which, distance, gradient, strict=True)}
        sure = {p for p, (d, _) in mine.items() if d < WITHIN - 1e-5}
        if not sure <= theirs.keys() or not theirs.keys() <= mine.keys():
            raise AssertionError("the peers do not name the same pairs")
        for p in theirs:
            if mine[p][0] > 1e-3:
                most[0] = max(most[0], abs(mine[p][0] - theirs[p][0]))
                most[1] = max(most[1], float(np.abs(mine[p][1] - theirs[p][1]).max()))
    return most


def text(result: dict[str, Any]) -> str:
    """The tables of a result."""
    one, batch = result["one by one"], result["batch"]
    rows = [["soacraft", "", f"{one:.2f}", f"{batch:.2f}", "", "", "", ""]]
    for form, x in result["peer"].items():
        rows.append([f"Pinocchio, {form}", f"{x['in C++']:.1f}", f"{x['whole']:.1f}", "", f"{x['in C++'] / one:.1f}",
                     f"{x['whole'] / one:.0f}", f"{x['in C++'] / batch:.1f}", f"{x['whole'] / batch:.0f}"])  # fmt: skip
    head = ["distances with gradients", "in C++, us", "whole, us", "batch, us", "in C++ / one by one",
            "whole / one by one", "in C++ / batch", "whole / batch"]  # fmt: skip
    d, g = result["difference"]
    told = (f"{result['configurations']:,} configurations, {result['pairs']} pairs, {result['near']:.1f} of them near. "
            f"Differences: {d:.1e} m, {g:.1e}.\n\n")  # fmt: skip
    t = result["touches"]
    rows2 = [["whether anything touches", f"{t['one by one']:.2f}", f"{t['batch']:.2f}", f"{t['peer']:.1f}",
              f"{t['peer'] / t['one by one']:.1f}", f"{t['peer'] / t['batch']:.1f}"]]  # fmt: skip
    for name, x in result["edges"].items():
        rows2.append([f"edge, {name} ({x['count']})", f"{x['one by one']:.2f}", f"{x['batch']:.2f}", "", "", ""])
    head2 = ["", "one by one, us", "batch, us", "Pinocchio, broad phase, us", "ratio one by one", "ratio batch"]
    return told + table(head, rows, 1) + "\n\n" + table(head2, rows2, 1)
