"""Distances of shapes next to coal and python-fcl; steps with contact next to MuJoCo's.

Distances: pairs of primitives, one by one from Python and in a batch.

One thread, the same pairs at the same poses, apart and in penetration. `one by one` is a call of Python for each pair;
the others keep their request and result objects. `batch` is one call for all poses, which the others do not have: their
time is that of the loop. `difference` is the largest of the distances of pairs that are apart; for curved shapes it is
coal's own tolerance, 1e-6 (ours is 1e-14 of the size, checked by support functions in the tests).

Steps: the same scenes here and in MuJoCo (`contact_scenes.py`), one thread, a millisecond each, after some that let
them come to rest. Ours solves exact cones to 1e-8, of the natural map; MuJoCo its own soft contacts to its default
tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import coal
import fcl
import numpy as np
from contact_scenes import STEP, InMujoco, Scene, humanoid, spheres
from growth import table
from measure import growth, microseconds

import soacraft as sc
from soacraft.contact import Box, Capsule, Cylinder, Shape, Sphere, distance

SHAPES: dict[str, Shape] = {
    "sphere": Sphere(0.4), "capsule": Capsule(0.2, 0.6), "box": Box(0.5, 0.6, 0.7), "cylinder": Cylinder(0.3, 0.6),
}  # fmt: skip
PAIRS = [("sphere", "sphere"), ("sphere", "box"), ("capsule", "capsule"), ("capsule", "box"), ("box", "box"),
         ("cylinder", "box")]  # fmt: skip


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    distances = [measured(*pair, 8 if quick else 2000, quick) for pair in PAIRS]
    counts = (2, 4) if quick else (10, 20, 50, 100)
    scenes = {"humanoid on 8 points": humanoid()} | {f"{n} spheres": spheres(n) for n in counts}
    return {"rows": distances, "steps": [stepped(name, scene, quick) for name, scene in scenes.items()]}


def stepped(name: str, scene: Scene, quick: bool) -> dict[str, Any]:
    """Microseconds of a step of a scene, here and in MuJoCo."""
    settle, steps = (5, 2) if quick else (400, 50)
    p, touch = scene.propagator()
    p.advance_to(settle * STEP)
    theirs = InMujoco(scene)
    theirs.loop(settle)

    def ours() -> None:
        p.advance_to(p.t + steps * STEP)

    jobs: dict[str, Callable[[], Any]] = {"soacraft": ours, "MuJoCo": lambda: theirs.loop(steps)}
    times = {who: t / steps for who, t in microseconds(jobs, 2 if quick else 7).items()}
    contacts = len(touch.steps[-1].pairs) if touch.steps else 0
    depth = -min([0.0, *(float(x.gap.min()) for x in touch.steps if len(x.gap))])
    return {
        "scene": name, "us": times, "contacts": contacts, "theirs": int(theirs.data.ncon),
        "residual": max((x.residual for x in touch.steps), default=0.0), "depth": depth,
    }  # fmt: skip


def measured(first: str, second: str, count: int, quick: bool) -> dict[str, Any]:
    """Microseconds of one distance."""
    a, b = SHAPES[first], SHAPES[second]
    rng = np.random.default_rng(0)
    quaternions = rng.normal(size=(count, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1)[:, None]
    way = rng.normal(size=(count, 3))
    p = way / np.linalg.norm(way, axis=1)[:, None] * rng.uniform(0.3, 1.3, (count, 1))
    batch, still = sc.Pose.from_quaternion(quaternions, p), sc.Pose()
    each = [sc.Pose(R, x) for R, x in zip(batch.rotation, batch.translation, strict=True)]
    jobs: dict[str, Callable[[], Any]] = {
        "one by one": lambda: [distance(a, still, b, pose) for pose in each],
        "batch": lambda: distance(a, still, b, batch),
        "coal": in_coal(a, b, batch),
        "python-fcl": in_fcl(a, b, batch),
    }
    ours, theirs = distance(a, still, b, batch).distance, np.array(jobs["coal"]())
    apart = ours > 1e-3
    times = {name: t / count for name, t in microseconds(jobs, 2 if quick else 7).items()}
    difference = float(np.abs(ours - theirs)[apart].max(initial=0.0))
    return {"pair": f"{first} - {second}", "us": times, "difference": difference}


def in_coal(a: Shape, b: Shape, poses: sc.Pose) -> Callable[[], list[float]]:
    """A loop over the poses."""
    names = {"sphere": coal.Sphere, "capsule": coal.Capsule, "box": coal.Box, "cylinder": coal.Cylinder}
    one, two = (names[x.kind](*x.size) for x in (a, b))  # type: ignore[attr-defined]
    still = coal.Transform3s()
    places = [coal.Transform3s(R, p) for R, p in zip(poses.rotation, poses.translation, strict=True)]
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True

    def loop() -> list[float]:
        found = []
        for place in places:
            result.clear()
            found.append(coal.distance(one, still, two, place, request, result))
        return found

    return loop


def in_fcl(a: Shape, b: Shape, poses: sc.Pose) -> Callable[[], list[float]]:
    """A loop over the poses, of objects that are moved."""
    names = {"sphere": fcl.Sphere, "capsule": fcl.Capsule, "box": fcl.Box, "cylinder": fcl.Cylinder}
    shapes = [names[x.kind](*x.size) for x in (a, b)]  # type: ignore[attr-defined]
    one, two = (fcl.CollisionObject(x, fcl.Transform()) for x in shapes)
    places = [fcl.Transform(R, p) for R, p in zip(poses.rotation, poses.translation, strict=True)]
    request = fcl.DistanceRequest(enable_nearest_points=True, enable_signed_distance=True)

    def loop() -> list[float]:
        found = []
        for place in places:
            two.setTransform(place)
            found.append(fcl.distance(one, two, request, fcl.DistanceResult()))
        return found

    return loop


def text(result: dict[str, Any]) -> str:
    """The table of a result."""
    ours, peers = ("one by one", "batch"), ("coal", "python-fcl")
    names = ["pair", *(f"{name}, us" for name in (*ours, *peers)), *(f"coal / {name}" for name in ours)]
    names += ["difference, m"]
    rows = []
    for row in result["rows"]:
        t = row["us"]
        times = [f"{t[name]:.2g}" for name in (*ours, *peers)]
        rows.append([row["pair"], *times, *(f"{t['coal'] / t[name]:.1f}" for name in ours), f"{row['difference']:.0e}"])
    head = ["scene", "contacts", "soacraft, us", "MuJoCo, us", "MuJoCo / soacraft", "residual", "depth, m"]
    steps = []
    for row in result["steps"]:
        t = row["us"]
        steps.append([row["scene"], str(row["contacts"]), f"{t['soacraft']:.3g}", f"{t['MuJoCo']:.3g}"])
        steps[-1] += [f"{t['MuJoCo'] / t['soacraft']:.2f}", f"{row['residual']:.0e}", f"{row['depth']:.0e}"]
    balls = [x for x in result["steps"] if "spheres" in x["scene"] and x["contacts"]]
    text = f"## Distances of primitives\n\n{table(names, rows, 1)}"
    text += f"\n\n## Steps with contact\n\n{table(head, steps, 1)}"
    if len(balls) > 1:
        power = growth([x["contacts"] for x in balls], [x["us"]["soacraft"] for x in balls])
        text += f"\n\nThe time of settling spheres grows with the power {power:.2f} of their contacts."
    return text
