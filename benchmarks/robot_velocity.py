"""Velocity steps of a whole robot next to pink with daqp: h1, two feet, two hands, centre of mass, posture, limits.

Both are called from Python for the same states, with the same tasks, weights and limits, and compute kinematics, rows
and the quadratic program in each step; pink runs in an environment of its own. "gentle" takes away a twentieth of
what is left in a step of 5 ms, "at once" all of it, which is pink's default. "levels" is the same with strict levels:
feet, then hands and centre of mass, then posture; pink has none. Seconds are of single steps. The largest difference
of the velocities that both give, relative to the largest, is told as well: tasks are damped near singular poses here,
in pink they are not.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from growth import table
from robot_jitter import FRAMES, standing

import soacraft as sc
from soacraft.model.sizes.lengths import length_of

WEIGHTS, POSTURE, SPEED, DT = (10.0, 10.0, 1.0, 1.0), 1e-2, 8.0, 0.005


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    count = 20 if quick else 2_000
    cases = {"gentle": 0.05 / DT, "at once": 1.0 / DT}
    rows = [measured(name, gain, count, not quick) for name, gain in cases.items()]
    return {"count": count, "rows": [*rows, measured("levels", 0.05 / DT, count, False, levels=True)]}


def measured(name: str, gain: float, count: int, peer_too: bool, levels: bool = False) -> dict[str, Any]:
    """One way to ask; without its peer where only a look is wanted, since that has an environment of its own."""
    mb = sc.load("h1")
    for body in mb.bodies[1:]:
        body.limits = sc.Limits(lower=body.limits.lower, upper=body.limits.upper, velocity=[SPEED])
    rb, start, rng = sc.robot.Robot(mb), standing(mb), np.random.default_rng(0)
    states = np.repeat(start[None], count, axis=0)
    states[:, 7:] += rng.uniform(-0.1, 0.1, (count, mb.nq - 7))
    poses = []
    for k, frame in enumerate(FRAMES):
        X = mb.pose(frame, state=mb.state(start))
        poses.append(sc.Pose(X.rotation, X.translation + (0.0 if k < 2 else 0.1) * np.array([1.0, 0.0, 1.0])))
    center = np.asarray(sc.dynamics.center_of_mass(mb, start)) - [0.0, 0.0, 0.05]
    tasks: list[Any] = [
        sc.robot.Reaching(sc.Placement(frame, X), weight=w, gain=gain, level=int(levels and k > 1))
        for k, (frame, X, w) in enumerate(zip(FRAMES, poses, WEIGHTS, strict=True))
    ]
    tasks.append(sc.robot.CenterOfMass(center, gain=gain, level=int(levels)))
    tasks.append(sc.robot.Posture(start, weight=POSTURE, gain=gain, level=2 * int(levels)))
    seconds, found = [], []
    for q in [*states[:20], *states]:
        begun = time.perf_counter()
        step = rb.velocity(tasks, q, DT)
        seconds.append(time.perf_counter() - begun)
        found.append(step.v)
    mine, theirs, off = np.array(seconds[20:]), np.full(count, np.nan), np.nan
    if peer_too:
        theirs, v = by_pink(mb, states, poses, center, start, gain)
        off = float(np.median(np.abs(v - found[20:]).max(axis=1) / np.abs(v).max(axis=1)))
    return {
        "case": name,
        "median": float(np.median(mine) * 1e6),
        "p99": float(np.quantile(mine, 0.99) * 1e6),
        "peer_median": float(np.median(theirs) * 1e6),
        "peer_p99": float(np.quantile(theirs, 0.99) * 1e6),
        "off": off,
    }


def by_pink(mb: Any, states: Any, poses: Any, center: Any, posture: Any, gain: float) -> tuple[Any, Any]:
    """Seconds and velocities of pink; a floating base has its position first there, and linear velocities."""
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        raise RuntimeError("uv makes the environment of pink: run this as ./run bench robot_velocity")

    def turned(q: Any) -> Any:
        return np.concatenate([q[..., 4:7], q[..., :4], q[..., 7:]], axis=-1)

    with tempfile.TemporaryDirectory() as folder:
        urdf, task = Path(folder) / "robot.urdf", Path(folder) / "task.npz"
        sc.save(mb, urdf)
        text = urdf.read_text()
        for tag in ("collision", "visual"):
            text = re.sub(rf"<{tag}[ >].*?</{tag}>", "", text, flags=re.DOTALL)
        urdf.write_text(text)
        np.savez(
            task, states=turned(states), posture=turned(posture), center=center, costs=WEIGHTS, posture_cost=POSTURE,
            rotations=[X.rotation for X in poses], places=[X.translation for X in poses], gain=gain * DT, dt=DT,
            length=length_of(mb),
        )  # fmt: skip
        script = str(Path(__file__).with_name("in_pink.py"))
        command = [uv, "run", "--isolated", "--no-project", "--python", sys.executable, "--with", "pin-pink,daqp"]
        told = [str(task), str(urdf), ",".join(FRAMES)]
        subprocess.run([*command, "python", script, *told], check=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
        with np.load(Path(folder) / "task.answers.npz") as made:
            v = made["v"]
            return made["seconds"], np.concatenate([v[:, 3:6], v[:, :3], v[:, 6:]], axis=1)


def text(result: dict[str, Any]) -> str:
    """The table of a result."""
    rows = [
        [
            x["case"], f"{x['median']:.1f}", f"{x['p99']:.1f}",
            *([f"{x['peer_median']:.0f}", f"{x['peer_p99']:.0f}", f"{x['peer_median'] / x['median']:.1f}",
            f"{x['off']:.1e}"]
              if np.isfinite(x["peer_median"]) else ["-"] * 4),
        ]
        for x in result["rows"]
    ]  # fmt: skip
    head = ["step", "median, us", "99 %, us", "pink median, us", "99 %, us", "pink / here", "difference"]
    return f"{result['count']:,} steps of each.\n\n" + table(head, rows, 1)
