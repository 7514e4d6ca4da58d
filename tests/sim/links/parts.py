"""Components that other processes import, and systems made of them."""

from __future__ import annotations

import os
import signal

import soacraft as sc
from soacraft import sim


class Both(sim.Component):
    """Two outputs: one follows the first input at once, the other the state alone."""

    class Params(sim.Params):
        gain: float

    a = sim.In()
    b = sim.In()
    x = sim.Discrete(start=0.5)

    @sim.output()
    def now(p, a, x):
        return p.gain * a + 0.3 * x

    @sim.output()
    def then(x):
        return 0.7 * x - 1.1

    @sim.update(x)
    def x_next(a, b, x, noise):
        return 0.25 * (a - b) + 0.5 * x + 0.1 * noise


class Mixed(sim.Component):
    """A continuous one: the first input acts on the first output at once, both on the rate of a state."""

    class Params(sim.Params):
        gain: float

    a = sim.In()
    b = sim.In()
    x = sim.Continuous()

    @sim.output()
    def now(p, t, a):
        return p.gain * a + t

    @sim.output()
    def then(x):
        return x

    @sim.rate(x)
    def x_rate(a, b, x):
        return 0.1 * a - 0.3 * b - x


class Dies(sim.Component):
    """Its process is killed at a time."""

    u = sim.In()

    @sim.output()
    def y(t, u):
        if t > 0.45:
            os.kill(os.getpid(), signal.SIGKILL)
        return u


class Fails(sim.Component):
    """It gives what is no number at a time."""

    u = sim.In()

    @sim.output()
    def y(t, u):
        return float("nan") if t > 0.45 else u


def loop(kind) -> sim.System:
    """Two sampled components in a ring, one of them of a kind."""
    s = sim.System("ring", integrator="rk4", step=0.1)
    s.add("bad", kind(), every=0.1)
    s.add("delay", sim.UnitDelay(start=1.0), every=0.1)
    s.connect("delay.y", "bad.u")
    s.connect("bad.y", "delay.u")
    return s


def dying() -> sim.System:
    return loop(Dies)


def arm() -> sim.System:
    """A driven pendulum with a sampled controller and sensor, and a wheel with a continuous state elsewhere."""
    s = sim.System("arm", integrator="rk4", step=1e-2, seed=3)
    plant = s.add("arm", sim.Plant(sc.load("double_pendulum")))
    for dof in sc.load("double_pendulum").dof_names:
        s.add(f"force_{dof}", sim.Force(), at=plant.dof(dof))
        s.add(f"seen_{dof}", sim.Sensor(deviation=1e-3), every=0.02)
        s.add(f"flight/pid_{dof}", sim.PID(kp=20.0, ki=5.0, kd=2.0), every=0.04)
        s.connect(f"arm.q[{dof}]", f"seen_{dof}.u")
        s.connect(f"seen_{dof}.y", f"flight/pid_{dof}.measured")
        s.connect("flight/target.y", f"flight/pid_{dof}.target")
        s.connect(f"flight/pid_{dof}.command", f"force_{dof}.command")
    s.add("flight/target", sim.Sine(frequency=0.7))
    s.add("flight/lag", sim.LowPass(time_constant=0.1))
    s.connect("flight/target.y", "flight/lag.u")
    return s
