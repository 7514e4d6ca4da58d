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
from growth import table

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


def summary(result: dict[str, Any], facts: dict[str, str]) -> str:
    """The few figures for the page of benchmarks: each work, and its peer in the same run."""
    limbs, velocity, distances, planning, taken, _ = (result[name] for name in PARTS)
    rows = [
        [f"inverse kinematics, {x['limb']}", f"{x['mean']:.1f} us", f"TRAC-IK {x['peer_mean']:.0f} us",
         f"{x['peer_mean'] / x['mean']:.0f}"]
        for x in limbs["rows"] if x["limb"] in ("panda", "ur5e")
    ]  # fmt: skip
    step = next(x for x in velocity["rows"] if x["case"] == "gentle")
    rows.append(["velocity step, humanoid", f"{step['median']:.0f} us", f"pink with daqp {step['peer_median']:.0f} us",
                 f"{step['peer_median'] / step['median']:.0f}"])  # fmt: skip
    mine, other = distances["one by one"], min(x["whole"] for x in distances["peer"].values())
    rows.append(["distances with gradients", f"{mine:.1f} us", f"Pinocchio with coal {other:.0f} us",
                 f"{other / mine:.0f}"])  # fmt: skip
    for x in planning["rows"]:
        verified = min(peer["verified"] for peer in x["peers"])
        rows.append([f"verified path, {x['scene']}", f"{x['time']:.1f} ms", f"OMPL with coal {verified:.0f} ms",
                     f"{verified / x['time']:.0f}"])  # fmt: skip
    attach = next(x for x in taken["rows"] if x["work"] == "attach, world ready" and not x["moving"])
    bare = min(x["in C++"] for x in distances["peer"].values())
    first = [
        next(y["first"] for y in x["peers"] if y["good"] == max(z["good"] for z in x["peers"]))
        for x in planning["rows"]
    ]
    paths = " and ".join(f"{t:.0f} ms ({t / x['time']:.1f})" for t, x in zip(first, planning["rows"], strict=True))
    found = ", ".join(f"{100 * x['found']:.2f} ({100 * x['peer_found']:.2f})" for x in limbs["rows"])
    where = f"{facts['processor']}, {facts['cores']} cores, {facts['instruction set']}, Python {facts['Python']}"
    return (
        f"Robots: each next to a peer, both called from Python in the same run.\n\n"
        f"{table(['work', 'soacraft', 'peer', 'ratio'], rows, 1)}\n\n"
        f"The peer's gradients are made in NumPy; its distances alone take {bare:.0f} us ({bare / mine:.1f} times). "
        f"OMPL's time has the check that makes a path a verified one; without it, {paths}. Poses found of "
        f"{limbs['count']:,}, %, in brackets by TRAC-IK within 5 ms: {found}. The humanoid takes an object, and its "
        f"world answers with new filters, in {attach['median']:.2f} ms.\n\n"
        f"`{facts['command']}`, {facts['date']}, {where}. How each was measured is in "
        "[robots](robots.md)."
    )
