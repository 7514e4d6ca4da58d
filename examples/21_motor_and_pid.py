"""A joint with motor and gear, a noisy encoder, a sampled PID: a component of one's own in a system of several."""

from typing import Annotated

import numpy as np
from msgspec import Meta

import soacraft as sc
from soacraft import sim


class GearedMotor(sim.Component):
    """L di/dt = V - R i - k n w,   torque = n k i."""

    class Params(sim.Params):
        R: Annotated[float, sim.Unit("ohm"), Meta(gt=0)]
        L: Annotated[float, sim.Unit("H"), Meta(gt=0)]
        k: Annotated[float, sim.Unit("N m/A")]
        n: float = 1.0

    voltage = sim.In("V")
    speed = sim.In("rad/s", of="velocity")
    current = sim.Continuous("A")

    @sim.output("N m", to="force")
    def torque(p, current):
        return p.n * p.k * current

    @sim.rate(current)
    def current_rate(p, voltage, speed, current):
        return (voltage - p.R * current - p.k * p.n * speed) / p.L


motor = GearedMotor(R=1.0, L=2e-3, k=0.05, n=20.0)
print("checked:", sim.check_component(motor))

mb = sc.load("pendulum")  # 1 kg at 1 m
s = sim.System("joint", integrator="rk4", step=1e-3, seed=1)
arm = s.add("arm", sim.Plant(mb))
s.add("motor", motor, at=arm.dof("bob"))
s.add("encoder", sim.Sensor(deviation=1e-4), rate=1000)
s.add("target", sim.Step(at=0.1, after=0.5))
s.add("control", sim.PID(kp=60.0, ki=60.0, kd=6.0, lower=-24.0, upper=24.0), rate=500)
s.connect("arm.q[bob]", "encoder.u")
s.connect("encoder.y", "control.measured")
s.connect("target.y", "control.target")
s.connect("control.command", "motor.voltage")
s.check()
print(s.schedule())

run = s.run(4.0)
print("angle at the end:", f"{run.q[-1, 0]:.3f} rad")
print("current at the end:", f"{run.signals['motor.current'][-200:].mean():.2f} A")
print("that gravity asks for:", f"{9.81 * np.sin(0.5) / (20.0 * 0.05):.2f} A")
work = run.work["motor.torque"][-1]
print("work of the motor:", f"{work:.4f} J; energy gained: {run.energy[-1] - run.energy[0]:.4f} J")
