"""Two scenes for a planner, a shelf and a cage around a Panda, and random problems in them.

A problem is two configurations in which nothing touches: in the shelf the hand is in two different compartments, or at
home and in one; in the cage it is out through two different gaps between the bars.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import soacraft as sc

HOME = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.8])
_BARS, _RADIUS = 10, 0.56


def shelf() -> sc.robot.World:
    """Six compartments of 0.4 m by 0.42 m in front of the robot: boards, sides and a back of 2 cm."""
    w = sc.robot.World(sc.robot.Robot(sc.load("panda")))
    x, depth = 0.7, 0.35
    for i, z in enumerate((0.18, 0.62, 1.06)):
        w.add(f"board{i}", sc.contact.Box(depth, 1.22, 0.02), sc.Pose(translation=(x, 0.0, z)))
    for i, y in enumerate((-0.6, -0.2, 0.2, 0.6)):
        w.add(f"side{i}", sc.contact.Box(depth, 0.02, 0.88), sc.Pose(translation=(x, y, 0.62)))
    w.add("back", sc.contact.Box(0.02, 1.22, 0.9), sc.Pose(translation=(x + 0.5 * depth, 0.0, 0.62)))
    w.add("floor", sc.contact.Box(3.0, 3.0, 0.02), sc.Pose(translation=(0.0, 0.0, -0.08)))
    return w


def cage() -> sc.robot.World:
    """Ten bars on a circle about the robot, with a ring of beams at the top."""
    w = sc.robot.World(sc.robot.Robot(sc.load("panda")))
    for i, angle in enumerate(2.0 * np.pi * np.arange(_BARS) / _BARS):
        at = (_RADIUS * np.cos(angle), _RADIUS * np.sin(angle))
        turned = sc.Pose.from_rpy(0.0, 0.0, angle).rotation
        w.add(f"bar{i}", sc.contact.Box(0.03, 0.03, 1.1), sc.Pose(turned, (*at, 0.5)))
        next_to = angle + np.pi / _BARS
        middle = _RADIUS * np.cos(np.pi / _BARS)
        place = (middle * np.cos(next_to), middle * np.sin(next_to), 1.06)
        beam = sc.Pose(sc.Pose.from_rpy(0.0, 0.0, next_to).rotation, place)
        w.add(f"beam{i}", sc.contact.Box(0.03, 0.35, 0.03), beam)
    w.add("floor", sc.contact.Box(3.0, 3.0, 0.02), sc.Pose(translation=(0.0, 0.0, -0.08)))
    return w


def _in_shelf(rng: np.random.Generator) -> tuple[int, sc.Pose]:
    place = int(rng.integers(6))
    y, z = (-0.4, 0.0, 0.4)[place % 3], (0.4, 0.84)[place // 3]
    off = rng.uniform(-1.0, 1.0, 3) * [0.06, 0.05, 0.05]
    return place, sc.Pose(_pointing(0.0), np.array([0.62, y, z]) + off)


def _out_of_cage(rng: np.random.Generator) -> tuple[int, sc.Pose]:
    place = int(rng.integers(_BARS))
    angle = 2.0 * np.pi * (place + 0.5) / _BARS + rng.uniform(-0.03, 0.03)
    far, height = rng.uniform(0.64, 0.72), rng.uniform(0.2, 0.7)
    return place, sc.Pose(_pointing(angle), (far * np.cos(angle), far * np.sin(angle), height))


def _pointing(angle: float) -> np.ndarray:
    """Axes of a hand whose z points away from the robot."""
    return np.asarray(sc.Pose.from_rpy(0.0, 0.0, angle).rotation @ sc.Pose.from_rpy(0.0, 0.5 * np.pi, 0.0).rotation)


SCENES: dict[str, tuple[Callable[[], sc.robot.World], Callable[[np.random.Generator], tuple[int, sc.Pose]]]] = {
    "shelf": (shelf, _in_shelf),
    "cage": (cage, _out_of_cage),
}


def problems(name: str, world: sc.robot.World, count: int, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Random starts and goals, both free and at different places."""
    rng, arm = np.random.default_rng(seed), world.robot.limb("arm", "inertial", "link7")
    low, high = arm.limits
    made: list[tuple[np.ndarray, np.ndarray]] = []
    last: tuple[int, np.ndarray] | None = None
    while len(made) < count:
        place, pose = SCENES[name][1](rng)
        r = arm.ik(pose, near=rng.uniform(low, high), free="rz", collisions=world)
        if not r.found or bool(world.distances(r.q, 0.005)):
            continue
        if last is not None and last[0] != place:
            made.append((last[1], r.q))
        last = place, r.q
    return made
