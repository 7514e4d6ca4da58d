"""Actuators, mounted at dofs and nodes."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta

from soacraft.sim.components.compiled import ours
from soacraft.sim.components.component import Component
from soacraft.sim.components.declarations import Continuous, In, Unit, output, rate
from soacraft.sim.components.declarations import Params as Base


class Motor(Component):
    """A DC motor with gear, mounted at a dof:  L di/dt = V - R i - k n w,   torque = n k i.

    >>> Motor.torque(Motor(R=1.0, L=5e-4, k=0.05, n=100.0).p, 2.0)
    10.0
    """

    class Params(Base):
        R: Annotated[float, Unit("ohm"), Meta(gt=0)]
        L: Annotated[float, Unit("H"), Meta(gt=0)]
        k: Annotated[float, Unit("N m/A")]
        n: float = 1.0

    voltage = In("V")
    speed = In("rad/s", of="velocity")
    current = Continuous("A")

    @output("N m", to="force", twin=ours("Motor.torque"))
    def torque(p, current):
        return p.n * p.k * current

    @rate(current, twin=ours("Motor.current_rate"))
    def current_rate(p, voltage, speed, current):
        return (voltage - p.R * current - p.k * p.n * speed) / p.L


class Force(Component):
    """A force or torque on a dof, as commanded.

    >>> Force.force(2.0)
    2.0
    """

    command = In()

    @output(to="force", twin=ours("Force.force"))
    def force(command):
        return command


class PointGravity(Component):
    """The pull of a point mass at a place, at a node at the centre of a body's mass:  F = -mu mass r / |r|^3 with
    r = position - center, in inertial axes. `mu` is G M: 3.986004418e14 m^3/s^2 of the Earth.

    >>> PointGravity.force(PointGravity(mu=4e14, mass=10.0).p, np.array([2e7, 0.0, 0.0]))
    array([-10.,  -0.,  -0.])
    """

    class Params(Base):
        mu: Annotated[float, Unit("m^3/s^2"), Meta(ge=0)]
        mass: Annotated[float, Unit("kg"), Meta(ge=0)]
        center: tuple[float, float, float] = (0.0, 0.0, 0.0)

    position = In("m", of="position", shape=(3,), frame="inertial")

    @output("N", to="force", shape=(3,), frame="inertial", twin=ours("PointGravity.force"))
    def force(p, position):
        x, y, z = (position[..., i] - p.center[i] for i in range(3))
        s = x * x + y * y + z * z
        pull = -p.mu * p.mass / (s * np.sqrt(s))
        return np.stack([pull * x, pull * y, pull * z], axis=-1)


class Thruster(Component):
    """A force at a node along the x axis of the node:  [thrust, 0, 0] in axes of the node.

    >>> Thruster.force(3.0)
    array([3., 0., 0.])
    """

    thrust = In("N")

    @output("N", to="force", shape=(3,), frame="mount", twin=ours("Thruster.force"))
    def force(thrust):
        none = np.zeros_like(thrust)
        return np.stack([thrust, none, none], axis=-1)
