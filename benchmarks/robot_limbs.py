"""Limbs of robots: inverse kinematics next to TRAC-IK, on random poses that the limb can take.

The protocol is that of TRAC-IK's own page: poses of configurations drawn evenly within the limits, each solved from the
middle of the range to 1e-5 (radians and metres) within 5 ms. Both are called from Python for one pose after the other;
TRAC-IK runs two threads for each call, in an environment of its own. "batch" is one call for all poses on one thread.
An answer counts where forward kinematics of the model puts the tip within twice the tolerance, and it is within the
limits. Percentiles are of single calls.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from growth import table

import soacraft as sc
from soacraft.spatial.rotations import log

#: Robot, base and tip of the model, root of the chain in its URDF file.
LIMBS = {
    "panda": ("panda", "inertial", "link7", None),
    "iiwa14": ("iiwa14", "inertial", "link7", None),
    "ur5e": ("ur5e", "inertial", "wrist_3_link", None),
    "h1, left arm": ("h1", "torso_link", "left_elbow_link", "torso_link"),
    "h1, right arm": ("h1", "torso_link", "right_elbow_link", "torso_link"),
}
SECONDS, TOLERANCE = 5e-3, 1e-5


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    count = 20 if quick else 10_000
    return {"count": count, "rows": [measured(name, count, not quick) for name in LIMBS]}


def measured(name: str, count: int, peer_too: bool = True) -> dict[str, Any]:
    """One limb; without its peer where only a look is wanted, since that has an environment of its own."""
    robot, base, tip, root = LIMBS[name]
    limb = sc.robot.Robot(sc.load(robot)).limb("limb", base, tip)
    low, high = limb.limits
    middle = 0.5 * (low + high)
    q = np.random.default_rng(1).uniform(low, high, (count, limb.nq))
    poses = limb.pose(q)
    each = [sc.Pose(R, p) for R, p in zip(poses.rotation, poses.translation, strict=True)]
    within = np.full(6, TOLERANCE)
    for pose in each[:20]:
        limb.ik(pose, tolerance=within, time_limit=SECONDS)
    seconds, found = [], []
    for pose in each:
        begun = time.perf_counter()
        r = limb.ik(pose, tolerance=within, time_limit=SECONDS)
        seconds.append(time.perf_counter() - begun)
        found.append(r.q if r.found else np.full(limb.nq, np.nan))
    begun = time.perf_counter()
    many = limb.ik(poses, tolerance=within)
    batch = (time.perf_counter() - begun) / count
    good = met(limb, poses, np.array(found), low, high)
    nothing = np.ones(count), np.full((count, limb.nq), np.nan)
    peer = by_trac_ik(limb, root, tip, poses, middle) if peer_too else nothing
    return {
        "limb": name,
        "dofs": limb.nv,
        "found": float(good.mean()),
        "failures": [failure(limb, each[i], within) for i in np.flatnonzero(~good)],
        "batch_found": float(met(limb, poses, np.where(many.found[:, None], many.q, np.nan), low, high).mean()),
        "mean": float(np.mean(seconds) * 1e6),
        "p99": float(np.quantile(seconds, 0.99) * 1e6),
        "batch": batch * 1e6,
        "peer_found": float(met(limb, poses, peer[1], low, high).mean()),
        "peer_mean": float(np.mean(peer[0]) * 1e6),
        "peer_p99": float(np.quantile(peer[0], 0.99) * 1e6),
    }


def failure(limb: Any, pose: sc.Pose, within: np.ndarray) -> dict[str, Any]:
    """A pose that was not found, and what is told of it."""
    r = limb.ik(pose, tolerance=within, time_limit=SECONDS)
    why = r.why or "found when it was asked for again: the time limit had cut it"
    return {"position": pose.translation.tolist(), "quaternion": pose.as_quaternion().tolist(), "why": why}


def met(limb: Any, poses: sc.Pose, q: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Which answers are good, by the model's own forward kinematics."""
    answered = np.isfinite(q).all(axis=1)
    X = poses.inv @ limb.pose(np.where(answered[:, None], q, 0.0))
    off = np.maximum(np.abs(X.translation).max(axis=1), np.abs(log(X.rotation)).max(axis=1))
    inside = ((q >= low - 1e-9) & (q <= high + 1e-9)).all(axis=1)
    return np.asarray(answered & inside & (off <= 2.0 * TOLERANCE))


def by_trac_ik(limb: Any, root: str | None, tip: str, poses: sc.Pose, start: np.ndarray) -> tuple[Any, Any]:
    """Seconds and answers of TRAC-IK."""
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        raise RuntimeError("uv makes the environment of TRAC-IK: run this as ./run bench robot")
    with tempfile.TemporaryDirectory() as folder:
        urdf, task = Path(folder) / "robot.urdf", Path(folder) / "task.npz"
        sc.save(limb.robot.mb, urdf)
        first = urdf.read_text().split('<link name="')[1].split('"')[0]
        np.savez(task, position=poses.translation, quaternion=poses.as_quaternion(), start=start)
        script = str(Path(__file__).with_name("in_trac_ik.py"))
        command = [uv, "run", "--isolated", "--no-project", "--python", sys.executable, "--with", "pytracik,numpy"]
        told = [str(task), str(urdf), root or first, tip, str(SECONDS), str(TOLERANCE)]
        subprocess.run([*command, "python", script, *told], check=True)
        with np.load(Path(folder) / "task.answers.npz") as made:
            return made["seconds"], made["q"]


def text(result: dict[str, Any]) -> str:
    """The table of a result."""
    rows = [
        [
            x["limb"], str(x["dofs"]), f"{100 * x['found']:.2f}", f"{x['mean']:.1f}", f"{x['p99']:.0f}",
            f"{x['batch']:.2f}", f"{100 * x['batch_found']:.2f}", f"{100 * x['peer_found']:.2f}",
            f"{x['peer_mean']:.0f}", f"{x['peer_p99']:.0f}",
            f"{x['peer_mean'] / x['mean']:.1f}", f"{x['peer_mean'] / x['batch']:.0f}",
        ]
        for x in result["rows"]
    ]  # fmt: skip
    head = ["limb", "dofs", "found, %", "mean, us", "99 %, us", "batch, us", "found, %", "TRAC-IK found, %", "mean, us",
            "99 %, us", "TRAC-IK / one by one", "TRAC-IK / batch"]  # fmt: skip
    missed = [
        f"- {x['limb']}, {np.round(y['position'], 4).tolist()}, {np.round(y['quaternion'], 4).tolist()}: {y['why']}"
        for x in result["rows"]
        for y in x["failures"]
    ]
    told = "\n\nPoses that one by one were not found: " + ("\n\n" + "\n".join(missed) if missed else "none.")
    return f"{result['count']:,} poses of each limb.\n\n" + table(head, rows, 1) + told
