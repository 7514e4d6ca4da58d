"""Robots: limbs, velocities of the whole body, distances, planning, grasps, and how evenly calls take their time; each
next to a peer where there is one, in the same run."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import robot_attach
import robot_distances
import robot_jitter
import robot_limbs
import robot_planning
import robot_velocity

PARTS: dict[str, ModuleType] = {
    "inverse kinematics of limbs": robot_limbs,
    "velocities of the whole body": robot_velocity,
    "distances with gradients": robot_distances,
    "planning": robot_planning,
    "objects that are taken": robot_attach,
    "jitter without Python": robot_jitter,
}


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    return {name: part.run(quick) for name, part in PARTS.items()}


def text(result: dict[str, Any]) -> str:
    """A section for each part."""
    told = [
        f"## {name[0].upper()}{name[1:]}\n\n{' '.join((part.__doc__ or '').split())}\n\n{part.text(result[name])}"
        for name, part in PARTS.items()
    ]
    return "\n\n".join(told)
