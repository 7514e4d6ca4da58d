"""Runs that are killed and restored: `python -m tests.sim.restarts CASE KILLS SEED FOLDER`.

Each attempt is a process of its own, which is ended by SIGKILL at a random time; the next one restores the checkpoint,
if there is one, and goes on with the log. At last the log must be that of an undisturbed run, byte for byte.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import h5py
import numpy as np

import soacraft as sc
from soacraft import sim


class Ball(sim.Component):
    """A ball that bounces, and counts."""

    height = sim.Continuous("m", start=1.0)
    speed = sim.Continuous("m/s")
    bounces = sim.Discrete(dtype=int, start=0)

    @sim.rate(height)
    def rise(p, speed):
        return speed

    @sim.rate(speed)
    def fall(p):
        return -9.81

    @sim.crossing(direction=-1)
    def floor(p, height):
        return height

    @sim.jump(speed, at=floor)
    def back(p, speed):
        return -0.9 * speed

    @sim.jump(bounces, at=floor)
    def count(p, bounces):
        return bounces + 1


def heap() -> sim.Propagator:
    """Bodies that fall on a floor and on each other."""
    mb = sc.Multibody("heap")
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    q = []
    for i in range(3):
        body = mb.add_body(f"b{i}", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3) * 0.01))
        shape = sc.Geometry("skin", "box", (0.2, 0.2, 0.2)) if i % 2 else sc.Geometry("skin", "sphere", (0.1,))
        body.add_geometry(shape)
        q += [0.1 * i, 0, 0, np.sqrt(1 - 0.01 * i * i), 0.05 * i, 0, 0.3 + 0.4 * i]
    mb.set_state(q, np.full(18, 0.1))
    p = sim.Propagator(mb, integrator="moreau", step=0.005)
    p.add(sim.Contact(restitution=0.3))
    return p


def arm(integrator: str = "rk4", step: float | None = 1e-3) -> sim.System:
    """An arm with motors, sampled controllers, noise, crossings, and a loop that Newton's method solves."""
    s = sim.System("arm", integrator=integrator, step=step, seed=11, rtol=1e-6)
    mb = sc.load("double_pendulum")
    mb.set_state([0.1, np.pi / 3], [0.2, -1.0 / 3.0])
    plant = s.add("arm", sim.Plant(mb))
    s.add("target", sim.Constant(value=0.3))
    for dof in mb.dof_names:
        s.add(f"sensor_{dof}", sim.Sensor(deviation=0.01), rate=70)
        s.add(f"control_{dof}", sim.PID(kp=20.0, kd=2.0, ki=0.1), every="1/30")
        s.add(f"motor_{dof}", sim.Motor(R=1.0, L=5e-3, k=0.05, n=10), at=plant.dof(dof))
        s.connect(f"arm.q[{dof}]", f"sensor_{dof}.u")
        s.connect(f"sensor_{dof}.y", f"control_{dof}.measured")
        s.connect(f"control_{dof}.command", f"motor_{dof}.voltage")
        s.connect("target.y", f"control_{dof}.target")
    s.add("ball", Ball())
    s.add("wave", sim.Sine(frequency=1.0))
    s.add("sum", sim.Sum(sign_b=-1.0))
    s.add("gain", sim.Gain(gain=0.5))
    s.connect("wave.y", "sum.a")
    s.connect("gain.y", "sum.b")
    s.connect("sum.y", "gain.u")
    s.solve_loop("sum.y")
    return s


def descent() -> sim.System:
    """A capsule that drops its shield, and then fires its engine, by phases; with noise in what it measures."""
    mb = sc.Multibody("capsule", gravity=(0, 0, -9.81))
    mb.add_body("hull", None, sc.Free(), sc.Inertia(10.0, (0, 0, 0.1), np.diag([2.0, 2.0, 1.0])))
    shield = sc.Inertia(3.0, moment=0.4 * np.eye(3))
    mb.add_body("shield", "hull", sc.Weld(), shield, sc.Pose(translation=(0.1, 0, -0.8)))
    mb.set_state([0, 0, 0, 1, 0, 0, 12.0], [0.1, 0.2, 0.3, 1.0, 0.0, 0.0])
    s = sim.System("descent", integrator="rk4", step=2e-3, seed=5)
    s.add("ship", sim.Plant(mb))
    s.add("radar", sim.Sensor(deviation=0.05, size=3), rate=30)
    s.connect("ship.position[hull]", "radar.u")
    s.add("engine", sim.Gain(gain=-2.0, size=3), every="1/70")
    s.connect("radar.y", "engine.u")
    s.add("lag", sim.LowPass(time_constant=0.02, size=3))
    s.connect("engine.y", "lag.u")
    s.connect("lag.y", "ship.node_force[hull]")
    phases = {"fall": [], "drop": [], "brake": ["engine", "lag"]}
    steps = [
        sim.Transition("fall", "drop", when="ship.position[hull][2] < 11.0"),
        sim.Transition("drop", "brake", after=0.3),
    ]
    s.add("mission", sim.Sequence(phases, steps, {"drop": [sim.Action("detach", plant="ship", body="shield")]}))
    return s


#: What is run, to which time, and how often it is kept.
CASES = {
    "contact": (heap, 2.0, 0.1),
    "noise": (arm, 1.0, 0.05),
    "cvode": (lambda: arm("cvode", None), 0.4, 0.02),
    "detach": (descent, 1.2, 0.05),
    "dop853": (lambda: arm("dop853", None), 1.0, 0.05),
}


def attempt(case: str, folder: Path) -> None:
    """From the last checkpoint, or from the start, to the end."""
    make, end, every = CASES[case]
    keep, log = folder / "keep.h5", folder / "run.h5"
    how = {"log": log, "checkpoint": keep, "checkpoint_every": every}
    made = make()
    if isinstance(made, sim.Propagator):
        if keep.exists():
            made.restore(keep)
        made.advance_to(end, **how)
    else:
        s = sim.restore(keep, classes=[Ball]) if keep.exists() else made
        s.run(end, **how)


def forked(case: str, folder: Path, after: float | None = None) -> bool:
    """An attempt in a process of its own, killed after some seconds; whether it came to its end."""
    child = os.fork()
    if not child:
        try:
            attempt(case, folder)
            os._exit(0)
        except BaseException as wrong:
            print(f"{type(wrong).__name__}: {wrong}", file=sys.stderr, flush=True)
            os._exit(1)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit(f"{case}: an attempt failed")
    return os.WIFEXITED(status)


def arrays(path: Path) -> dict[str, bytes]:
    """All columns of a log."""
    with h5py.File(path) as file:
        return {
            f"{group.name}{name}": bytes(str(x.shape), "ascii") + x[()].tobytes()
            for group in [file, *(file[y] for y in file if y.startswith("segment_") and y != "segment_0")]
            for name, x in group.items()
            if isinstance(x, h5py.Dataset) and x.dtype.kind != "O"
        }


def killed(case: str, kills: int, seed: int, folder: Path) -> int:
    """Kill a run so many times, at random; how many of these hit it before its end."""
    draw, whole = random.Random(seed), folder / "whole"
    whole.mkdir()
    start = time.perf_counter()
    forked(case, whole)
    lasted, hit = time.perf_counter() - start, 0
    wanted = arrays(whole / "run.h5")
    number = 0
    while kills:
        own = folder / f"killed{number}"
        own.mkdir()
        ended = False
        while kills and not ended:
            ended = forked(case, own, draw.uniform(0.0, 0.6 * lasted))
            kills, hit = kills - 1, hit + (not ended)
        if not ended:
            forked(case, own)
        found, number = arrays(own / "run.h5"), number + 1
        wrong = [name for name in {**wanted, **found} if wanted.get(name) != found.get(name)]
        if wrong:
            raise SystemExit(f"{case}, seed {seed}: {', '.join(sorted(wrong))} of the log are not those undisturbed")
    return hit


if __name__ == "__main__":
    name, kills, seed, folder = sys.argv[1:]
    print(killed(name, int(kills), int(seed), Path(folder)))
