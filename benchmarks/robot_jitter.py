"""Jitter of what a robot asks in its control loops, without Python: inverse kinematics of an arm, a velocity step of
the whole body, feed-forward torques (`jitter/jitter.cpp`), each call measured by itself.

The program is built for this machine, reads the robot that Python saved, counts allocations, and runs `ik` on reachable
poses of the arm from the middle of its range, `velocity` (two feet, two hands, centre of mass, posture, limits) and
inverse dynamics, each call with other arguments.

Interrupts of the system count as time of the thread they meet. So all calls run in three passes, and the least of the
three times of a call, which does the same work each time, is its own. Of one pass the times are told as they are; "a
loop of the same length" is what interrupts do to code that always takes the same time: plain arithmetic without memory,
as often, with the median of the query.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from growth import table

import soacraft as sc
from soacraft.model.sizes.lengths import length_of

ROOT = Path(__file__).parents[1]
ARM = ("torso_link", "left_elbow_link")
FRAMES = ("left_ankle_link", "right_ankle_link", "left_elbow_link", "right_elbow_link")
FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")
EDGES = ("0.5", "1", "1.5", "2", "3", "5", "10", "more")


def saved(folder: Path) -> None:
    """The robot and its tasks as the program reads them."""
    mb = sc.load("h1")
    limb = sc.robot.Robot(mb).limb("arm", *ARM)
    sc.save_core(mb, folder / "robot.soacraft")
    lower, upper = np.full(mb.nv, -np.inf), np.full(mb.nv, np.inf)
    for body, at in zip(mb.bodies, mb.layout.hinge_v, strict=True):
        lower[at], upper[at] = body.limits.lower, body.limits.upper
    q = standing(mb)
    rows = {
        "q": q, "lower": lower, "upper": upper, "fastest": np.where(np.arange(mb.nv) < 6, np.inf, 8.0),
        "arm_lower": limb.limits[0], "arm_upper": limb.limits[1],
        "center": np.asarray(sc.dynamics.center_of_mass(mb, q)) - [0.0, 0.0, 0.05], "length": [length_of(mb)],
    }  # fmt: skip
    text = [f"{name} {len(x)} {' '.join(map(repr, map(float, x)))}" for name, x in rows.items()]
    (folder / "tasks.txt").write_text("\n".join([*text, " ".join([*ARM, *FRAMES])]) + "\n")


def standing(mb: Any) -> np.ndarray:
    """With bent knees."""
    q, number = np.array(mb.q), {name: i for i, name in enumerate(mb.dof_names)}
    for side in ("left", "right"):
        for name, x in (("hip_pitch", -0.3), ("knee", 0.6), ("ankle", -0.3), ("elbow", 0.5)):
            q[1 + number[f"{side}_{name}"]] = x
    return q


def built(folder: Path, flags: tuple[str, ...] = FLAGS) -> Path:
    """The program."""
    program = folder / "jitter"
    source = ROOT / "benchmarks" / "jitter" / "jitter.cpp"
    include = f"-I{ROOT / 'core' / 'include'}"
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++17", *flags, include, source, "-o", program], check=True)
    return program


def told(program: Path, folder: Path, calls: int) -> tuple[list[dict[str, Any]], np.ndarray, np.ndarray]:
    """What it prints: a row for each query, and the state and the velocities of the last step."""
    text = subprocess.run([program, folder, str(calls)], check=True, capture_output=True, text=True).stdout
    *lines, q, v = text.splitlines()
    rows = []
    for line in lines:
        name, *numbers = line.split()
        x = [int(n) for n in numbers]
        told = {"query": name, "allocations": x[0], "own": x[1:5], "cpu": x[5:9], "wall": x[9:13],
                "loop": x[13:15], "histogram": x[15:]}  # fmt: skip
        rows.append(told)
    return rows, *(np.array(x.split()[1:], dtype=float) for x in (q, v))


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    calls = 200 if quick else 100_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        saved(folder)
        rows, _, _ = told(built(folder, ("-O0",) if quick else FLAGS), folder, calls)
    return {"calls": calls, "rows": rows}


def text(result: dict[str, Any]) -> str:
    """The tables of a result."""
    head = ["query", "allocations", "median, us", "99 %", "99.99 %", "largest", "99.99 % / median",
            "one pass: 99.99 % / median", "a loop of the same length", "clock: median", "99 %", "99.99 %",
            "largest"]  # fmt: skip
    rows = [
        [x["query"], str(x["allocations"]), *(f"{n / 1e3:.2f}" for n in x["own"]),
         *(f"{x[name][at] / x[name][0]:.1f}" for name, at in (("own", 2), ("cpu", 2), ("loop", 1))),
         *(f"{n / 1e3:.2f}" for n in x["wall"])]
        for x in result["rows"]
    ]  # fmt: skip
    parts = [[x["query"], *map(str, x["histogram"])] for x in result["rows"]]
    spread = table(["query", *(f"to {x}" if x != "more" else x for x in EDGES)], parts, 1)
    return (
        f"{result['calls']:,} calls of each, no two alike: processor time of a call, of one pass, and on the clock.\n\n"
        + table(head, rows, 1)
        + "\n\nHow many calls took how many times the median of processor time:\n\n"
        + spread
    )
