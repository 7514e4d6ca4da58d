"""One velocity step by pink with daqp, in an environment of its own; `robot_velocity.py` starts it.

The same tasks: two feet, two hands, centre of mass, posture, limits of position and velocity. pink knows weights and no
strict levels. A step is what a control loop of its users does: update the configuration, then `solve_ik`.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pink
import pinocchio as pin
from pink.tasks import ComTask, FrameTask, PostureTask


def main(urdf: str, task: str) -> None:
    """Seconds of every step along the states of a file; written next to it."""
    model = pin.buildModelFromUrdf(urdf)
    data = model.createData()
    given = np.load(task)
    states, dt = given["q"], float(given["dt"])
    configuration = pink.Configuration(model, data, states[0])
    tasks = []
    for name, place in zip(given["feet"], given["feet_at"], strict=True):
        tasks.append(FrameTask(str(name), position_cost=100.0, orientation_cost=100.0))
        tasks[-1].set_target(pin.SE3(place))
    for name, place in zip(given["hands"], given["hands_at"], strict=True):
        tasks.append(FrameTask(str(name), position_cost=1.0, orientation_cost=1.0))
        tasks[-1].set_target(pin.SE3(place))
    tasks.append(ComTask(cost=1.0))
    tasks[-1].set_target(given["center"])
    tasks.append(PostureTask(cost=1e-3))
    tasks[-1].set_target(states[0])
    seconds, answers = [], []
    for q in states:
        begun = time.perf_counter()
        configuration.update(q)
        v = pink.solve_ik(configuration, tasks, dt, solver="daqp", safety_break=False)
        seconds.append(time.perf_counter() - begun)
        answers.append(v)
    np.savez(task.replace(".npz", ".answers.npz"), seconds=seconds, v=np.array(answers))


if __name__ == "__main__":
    main(*sys.argv[1:])
