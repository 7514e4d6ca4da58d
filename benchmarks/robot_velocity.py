"""One velocity step of the whole body on the humanoid h1, next to pink with daqp: two feet, two hands, the centre of
mass, a posture, limits of position and velocity.

Both are called from Python for one state after the other, along a motion of small steps; pink has an environment of its
own, and weights in place of levels. Times are of the wall.
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

SIDES = ("left", "right")
DT = 0.005


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    rb = sc.robot.Robot(sc.load("h1"))
    mb, q0, count = rb.mb, np.array(rb.mb.q), 20 if quick else 2000
    feet = [f"{side}_ankle_link" for side in SIDES]
    hands = [f"{side}_elbow_link" for side in SIDES]
    goals = [mb.pose(x) @ sc.Pose(translation=(0.1, 0.0, 0.1)) for x in hands]
    center = np.asarray(sc.dynamics.center_of_mass(mb, q0)) - [0.0, 0.0, 0.05]
    tasks = [
        *(sc.robot.Contact(x, "all") for x in feet),
        *(sc.robot.Reaching(sc.Placement(x, X), level=1) for x, X in zip(hands, goals, strict=True)),
        sc.robot.CenterOfMass(center, level=1),
        sc.robot.Posture(q0, level=2, weight=1e-1),
    ]
    ours = {"plan": _along(rb, rb.velocity_plan(tasks), q0, count), "call": _along(rb, tasks, q0, count)}
    states = ours["plan"][1]
    peer = np.ones(count) if quick else _by_pink(mb, states, feet, hands, goals, center)
    return {
        "dofs": mb.nv,
        "count": count,
        **{name: _told(x[0]) for name, x in ours.items()},
        "pink": _told(peer),
    }


def _along(rb: Any, what: Any, q0: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of each step, and the states."""
    q, seconds, states = q0, [], []
    for _ in range(20):
        _step(rb, what, q0)
    for _ in range(count):
        begun = time.perf_counter()
        v = _step(rb, what, q)
        seconds.append(time.perf_counter() - begun)
        states.append(q)
        q = np.asarray(rb.mb.integrate(q, DT * v))
    return np.array(seconds), np.array(states)


def _step(rb: Any, what: Any, q: np.ndarray) -> np.ndarray:
    return np.asarray((rb.velocity(what, q, DT) if isinstance(what, list) else what.step(q, DT)).v)


def _told(seconds: np.ndarray) -> dict[str, float]:
    x = 1e6 * np.asarray(seconds)
    return {"median": float(np.median(x)), "mean": float(x.mean()), "p99": float(np.quantile(x, 0.99))}


def _by_pink(mb: Any, states: np.ndarray, feet: list[str], hands: list[str], goals: Any, center: Any) -> np.ndarray:
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        raise RuntimeError("uv makes the environment of pink: run this as ./run bench robot")
    with tempfile.TemporaryDirectory() as folder:
        urdf, task = Path(folder) / "h1.urdf", Path(folder) / "task.npz"
        sc.save(mb, urdf)
        order = [4, 5, 6, 0, 1, 2, 3, *range(7, mb.nq)]  # position before the quaternion
        np.savez(task, q=states[:, order], dt=DT, feet=feet, hands=hands, center=center,
                 feet_at=[mb.pose(x).as_matrix() for x in feet], hands_at=[X.as_matrix() for X in goals])  # fmt: skip
        script = str(Path(__file__).with_name("in_pink.py"))
        command = [uv, "run", "--isolated", "--no-project", "--python", sys.executable, "--with", "pin-pink,daqp,numpy"]
        subprocess.run([*command, "python", script, str(urdf), str(task)], check=True)
        with np.load(Path(folder) / "task.answers.npz") as made:
            return np.array(made["seconds"])


def text(result: dict[str, Any]) -> str:
    """The table of a result."""
    named = (("a plan that is kept", "plan"), ("`rb.velocity(tasks, ...)`", "call"), ("pink with daqp", "pink"))
    peer = result["pink"]["median"]
    rows = [
        [name, *(f"{result[key][of]:.1f}" for of in ("median", "mean", "p99")), f"{peer / result[key]['median']:.1f}"]
        for name, key in named
    ]
    head = [f"h1, {result['dofs']} dofs", "median, us", "mean, us", "99 %, us", "pink / this"]
    return f"{result['count']:,} steps along a motion.\n\n" + table(head, rows, 1)
