"""Velocity steps by pink with daqp, in an environment of its own: tasks of `robot_velocity.py`, which starts this
with `uv`.

A task is a file (`.npz`: states, targets of four frames, of the centre of mass and of the joints, costs, gain, time
step) and a URDF file. What comes back: the seconds of each step and its velocities, as a `.npz` next to it.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pink
import pinocchio as pin
from pink.tasks import ComTask, FrameTask, PostureTask


def main(task: str, urdf: str, names: str) -> None:
    """One step at every state: kinematics, tasks, limits, quadratic program."""
    with open(urdf, encoding="utf-8") as file:
        model = pin.buildModelFromXML(file.read())
    given = np.load(task)
    length, gain, data = float(given["length"]), float(given["gain"]), model.createData()
    configuration = pink.Configuration(model, data, given["states"][0])
    tasks = []
    for name, cost, R, p in zip(names.split(","), given["costs"], given["rotations"], given["places"], strict=True):
        frame = FrameTask(name, position_cost=float(cost) / length, orientation_cost=float(cost), gain=gain)
        frame.set_target(pin.SE3(R, p))
        tasks.append(frame)
    center = ComTask(cost=1.0 / length, gain=gain)
    center.set_target(given["center"])
    posture = PostureTask(cost=float(given["posture_cost"]), gain=gain)
    posture.set_target(given["posture"])
    tasks += [center, posture]
    dt, seconds, found = float(given["dt"]), [], []
    for q in [*given["states"][:20], *given["states"]]:
        begun = time.perf_counter()
        configuration.update(q)
        v = pink.solve_ik(configuration, tasks, dt, solver="daqp")
        seconds.append(time.perf_counter() - begun)
        found.append(v)
    np.savez(task.replace(".npz", ".answers.npz"), seconds=seconds[20:], v=np.array(found[20:]))


main(*sys.argv[1:])
