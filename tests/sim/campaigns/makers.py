"""Systems that campaigns of the tests run; other processes import them from here."""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from pathlib import Path

import numpy as np

import soacraft as sc
from soacraft import sim


class Ishigami(sim.Component):
    """sin a + 7 sin^2 b + 0.1 c^4 sin a."""

    class Params(sim.Params):
        a: float = 0.0
        b: float = 0.0
        c: float = 0.0
        unused: float = 0.0

    @sim.output()
    def y(p):
        return np.sin(p.a) + 7.0 * np.sin(p.b) ** 2 + 0.1 * p.c**4 * np.sin(p.a)


def ishigami() -> sim.System:
    s = sim.System("ishigami", integrator="rk4", step=1.0)
    s.add("f", Ishigami())
    return s


def lag(time_constant: float = 1.0) -> sim.System:
    """A lag with a noisy sensor."""
    s = sim.System("lag", integrator="rk4", step=0.05)
    s.add("one", sim.Constant(value=1.0))
    s.add("lag", sim.LowPass(time_constant=time_constant))
    s.add("sensor", sim.Sensor(deviation=0.1), rate=10)
    s.connect("one.y", "lag.u")
    s.connect("lag.y", "sensor.u")
    return s


class Ball(sim.Component):
    """A ball that falls; `landing` is where it is down."""

    class Params(sim.Params):
        height: float = 1.0

    x = sim.Continuous("m", start=lambda p: p.height)
    w = sim.Continuous("m/s")

    @sim.output("m")
    def at(x):
        return x

    @sim.output("m/s")
    def speed(w):
        return w

    @sim.rate(x)
    def x_rate(w):
        return w

    @sim.rate(w)
    def w_rate():
        return -9.81

    @sim.crossing(direction=-1)
    def landing(x):
        return x


def ball() -> sim.System:
    s = sim.System("ball", integrator="rk4", step=0.01)
    s.add("ball", Ball())
    return s


class Deadly(sim.Component):
    """Ends its process where x is above `kills`, raises where it is below `fails`, and takes its time."""

    class Params(sim.Params):
        x: float = 0.0
        kills: float = 2.0
        fails: float = -1.0
        seconds: float = 0.0

    @sim.output()
    def y(p):
        if p.x > p.kills:
            os.kill(os.getpid(), signal.SIGKILL)
        if p.x < p.fails:
            raise ZeroDivisionError("too small")
        time.sleep(p.seconds)
        return p.x**2


def deadly() -> sim.System:
    s = sim.System("deadly", integrator="rk4", step=1.0)
    s.add("f", Deadly())
    return s


class Traced(sim.Component):
    """x^2; where `trace` is a file, "pid x" is written there at the first call, and it takes a while."""

    class Params(sim.Params):
        x: float = 0.0
        trace: str = ""

    @sim.output()
    def y(p):
        if p.trace and p.x not in _BEGUN:
            _BEGUN.add(p.x)
            with open(p.trace, "a") as file:
                file.write(f"{os.getpid()} {p.x!r}\n")
            time.sleep(0.03)
        return p.x**2


_BEGUN: set[float] = set()


def traced(trace: str = "") -> sim.System:
    s = sim.System("traced", integrator="rk4", step=1.0)
    s.add("f", Traced(trace=trace))
    s.add("sensor", sim.Sensor(deviation=1.0), rate=1)
    s.connect("f.y", "sensor.u")
    return s


def traced_campaign(folder: str, runs: int, trace: str = "") -> sim.Campaign:
    return sim.Campaign(
        partial(traced, trace), folder, seed=3, runs=runs, t=1.0, vary={"f.x": sim.Normal(0.0, 1.0)},
        measure={"y": "f.y[-1]", "s": "sensor.y[-1]"}, batch=0,
    )  # fmt: skip


def drive(folder: str, runs: int, trace: str) -> None:
    """What the scheduler does: this is run in a process of its own."""
    traced_campaign(folder, runs, trace).run(workers=2)


def arm() -> sim.System:
    s = sim.System("arm", integrator="rk4", step=0.01)
    plant = s.add("arm", sim.Plant(sc.load("double_pendulum")))
    s.add("drive", sim.Force(), at=plant.dof("upper"))
    s.add("target", sim.Constant(value=0.5))
    s.add("control", sim.PD(kp=100.0, kd=20.0), every=0.02)
    s.connect("target.y", "control.target")
    s.connect("arm.q[upper]", "control.measured")
    s.connect("arm.v[upper]", "control.rate")
    s.connect("control.command", "drive.command")
    return s


def largest(run: sim.Run) -> float:
    """A measure that is a function."""
    return float(run.signals["lag.y"].max())


def folder(tmp_path: Path, name: str = "runs") -> str:
    return str(tmp_path / name)
