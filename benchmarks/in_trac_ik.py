"""Inverse kinematics by TRAC-IK, in an environment of its own: tasks of `robot.py`, which starts this with `uv`.

A task is a file of goals (`.npz`: positions, quaternions x y z w, the start), a URDF file and the names of two links.
What comes back: the seconds of each call and the answers, as a `.npz` next to it.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pytracik


def main(task: str, urdf: str, base: str, tip: str, seconds: str, tolerance: str) -> None:
    """Solve every goal from the start, by the solver of least time."""
    with open(urdf, encoding="utf-8") as file:
        text = file.read()
    solver = pytracik.TRAC_IK(base, tip, text, float(seconds), float(tolerance), pytracik.SolveType.Speed)
    given = np.load(task)
    goals = np.concatenate([given["position"], given["quaternion"]], axis=1).tolist()
    times, answers = [], []
    for goal in goals:
        begun = time.perf_counter()
        q = pytracik.ik(solver, given["start"], *goal)
        times.append(time.perf_counter() - begun)
        answers.append(q[1:] if q[0] >= 0 else np.full(len(given["start"]), np.nan))
    np.savez(task.replace(".npz", ".answers.npz"), seconds=times, q=np.array(answers))


if __name__ == "__main__":
    main(*sys.argv[1:])
