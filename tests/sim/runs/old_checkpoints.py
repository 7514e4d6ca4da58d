"""Motions whose checkpoints of format 1 are in tests/data/checkpoints.

The version of the code that wrote this format wrote them: `python -m tests.sim.runs.old_checkpoints FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import soacraft as sc
from soacraft import sim

#: Time of the checkpoints in seconds.
AT = 0.5


def propagator() -> sim.Propagator:
    """A double pendulum with friction that sticks, an event, and a callback that sets a control."""
    mb = sc.load("double_pendulum")
    mb.set_state([1.0, 0.5], [0.0, 0.0])
    first, second = mb.dof_names
    p = sim.Propagator(mb, integrator="dop853", rtol=1e-10)
    p.add(sim.HingeFriction(second, coulomb=1.0))
    p.control(first, 0.0)
    p.event("level", lambda t, state: state.q[0] - 0.5)
    p.every(0.125, lambda t, state: p.control(first, float(-2.0 * state.v[0])))
    return p


def system() -> sim.System:
    """Two pendulums: one with a motor under a sampled controller with noise, one that swings by itself."""
    s = sim.System("old", integrator="rk4", step=1e-3, seed=7, t=0.0)
    for name in ("left", "right"):
        mb = sc.load("pendulum")
        mb.set_state([0.3], [0.1])
        s.add(name, sim.Plant(mb))
    dof = sc.load("pendulum").dof_names[0]
    s.add("motor", sim.Motor(R=1.0, L=5e-3, k=0.05, n=10), at=s.plants["left"].dof(dof))
    s.add("noise", sim.Sensor(deviation=0.01), rate=70)
    s.add("control", sim.PID(kp=20.0, kd=2.0, ki=0.1), every=0.02)
    s.add("delay", sim.UnitDelay(), every=0.05)
    s.add("target", sim.Constant(value=0.3))
    s.connect(f"left.q[{dof}]", "noise.u")
    s.connect("noise.y", "control.measured")
    s.connect("target.y", "control.target")
    s.connect("control.command", "motor.voltage")
    s.connect("noise.y", "delay.u")
    return s


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    p, s = propagator(), system()
    p.advance_to(AT)
    p.checkpoint(folder / "propagator_1.h5")
    s.run(AT)
    s.checkpoint(folder / "system_1.h5")
