"""Objects that a robot takes: what attach, detach and undo take on the humanoid h1, at rest and while it moves, and
until its world answers with the filters of the new model.

The model was used before each call, as it is in a robot: a dynamics call and a collision query. Times are of the wall,
median and 90th percentile.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from growth import table

import soacraft as sc

HAND = "right_elbow_link"


def scene() -> tuple[Any, Any]:
    """h1 with a cup at its hand, and a world with a table."""
    mb = sc.load("h1")
    cup = mb.add_body("cup", hinge=sc.Free(), inertia=sc.Inertia.sphere(0.4, 0.04))
    cup.add_geometry(sc.Geometry("skin", "sphere", (0.04,)))
    place = mb.pose(HAND) @ sc.Pose(translation=(0.35, 0.0, 0.0))
    q = np.array(mb.q)
    q[mb["cup"].q_slice] = [*place.as_quaternion(), *place.translation]
    mb.set_state(q=q)
    rb = sc.robot.Robot(mb)
    world = sc.robot.World(rb)
    world.add("table", sc.contact.Box(0.6, 1.2, 0.05), sc.Pose(translation=(0.8, 0.0, -0.1)))
    return rb, world


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    rb, world = scene()
    rows = []
    for moving in (False, True):
        seconds: dict[str, list[float]] = {x: [] for x in ("attach", "attach, world ready", "detach", "undo")}
        for i in range(5 if quick else 200):
            _use(rb, world, moving)
            start = time.perf_counter()
            rb.attach("cup", HAND)
            taken = time.perf_counter()
            world.collides(rb.mb.q)
            ready = time.perf_counter()
            _use(rb, world, moving)
            left = time.perf_counter()
            rb.detach("cup") if i % 2 else rb.undo()
            gone = time.perf_counter()
            seconds["attach"].append(taken - start)
            seconds["attach, world ready"].append(ready - start)
            seconds["detach" if i % 2 else "undo"].append(gone - left)
        for name, x in seconds.items():
            rows.append({"work": name, "moving": moving, "median": _ms(x, 0.5), "p90": _ms(x, 0.9)})
    return {"robot": "h1", "rows": rows}


def _use(rb: Any, world: Any, moving: bool) -> None:
    mb = rb.mb
    mb.set_state(v=0.1 * np.ones(mb.nv) if moving else np.zeros(mb.nv))
    sc.contact.plastic_impact(mb, ("left_elbow_link", HAND))
    sc.dynamics.forward_dynamics(mb, mb.q, mb.v, np.zeros(mb.nv))
    world.collides(mb.q)


def _ms(x: list[float], part: float) -> float:
    return float(np.quantile(x, part) * 1e3)


def text(result: dict[str, Any]) -> str:
    """The table of a result."""
    rows = [
        [x["work"], "moves" if x["moving"] else "at rest", f"{x['median']:.3f}", f"{x['p90']:.3f}"]
        for x in result["rows"]
    ]
    return table([result["robot"], "state", "median, ms", "90 %, ms"], rows, 2)


if __name__ == "__main__":
    print(text(run()))
