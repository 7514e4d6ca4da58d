"""Actuators, mounted at dofs and nodes."""

from __future__ import annotations

from typing import Annotated, Any

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
    """The pull of a point mass at a place on the body that carries a node, in inertial axes. `mu` is G M:
    3.986004418e14 m^3/s^2 of the Earth. With r from `center` to the centre of mass, e = r / |r|, and the mass m and
    moment I that the model has:

        F = -mu m / r^2 e - 3 mu / (2 r^4) ((tr I - 5 e . I e) e + 2 I e),     N = 3 mu / r^3 e x I e

    with N about the centre of mass: the field to second order in the size of the body (Hughes, Spacecraft Attitude
    Dynamics, 8.1 and 9.1). Every body of a plant needs one.

    >>> rest = np.eye(3), 10.0, np.zeros(3), np.zeros((3, 3))        # at the centre of mass of 10 kg without extent
    >>> PointGravity.wrench(PointGravity(mu=4e14).p, np.array([2e7, 0.0, 0.0]), *rest) + 0.0
    array([  0.,   0.,   0., -10.,   0.,   0.])
    """

    class Params(Base):
        mu: Annotated[float, Unit("m^3/s^2"), Meta(ge=0)]
        center: tuple[float, float, float] = (0.0, 0.0, 0.0)

    position = In("m", of="position", shape=(3,), frame="inertial")
    rotation = In(of="rotation", shape=(3, 3))
    mass = In("kg", of="mass")
    center_of_mass = In("m", of="center_of_mass", shape=(3,))
    moment = In("kg m^2", of="moment", shape=(3, 3))

    @output(to="wrench", shape=(6,), frame="inertial", twin=ours("PointGravity.wrench"))
    def wrench(p, position, rotation, mass, center_of_mass, moment):
        R = rotation
        c = _times(R, center_of_mass)
        r = [position[..., i] + c[..., i] - p.center[i] for i in range(3)]
        s = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
        d = np.sqrt(s)
        e = np.stack([r[0] / d, r[1] / d, r[2] / d], axis=-1)
        Ie = _times(R, _times(moment, _times(np.swapaxes(R, -1, -2), e)))
        trace = moment[..., 0, 0] + moment[..., 1, 1] + moment[..., 2, 2]
        eIe = e[..., 0] * Ie[..., 0] + e[..., 1] * Ie[..., 1] + e[..., 2] * Ie[..., 2]
        bend = -1.5 * p.mu / (s * s)
        along = -p.mu * mass / s + bend * (trace - 5.0 * eIe)
        F = along[..., None] * e + (2.0 * bend)[..., None] * Ie
        return np.concatenate([(3.0 * p.mu / (s * d))[..., None] * _cross(e, Ie) + _cross(c, F), F], axis=-1)


def _times(A: Any, x: Any) -> Any:
    """A x, added up from left to right as in the twin."""
    a, b, c = (x[..., i] for i in range(3))
    return np.stack([A[..., i, 0] * a + A[..., i, 1] * b + A[..., i, 2] * c for i in range(3)], axis=-1)


def _cross(a: Any, b: Any) -> Any:
    """a x b."""
    pairs = ((1, 2), (2, 0), (0, 1))
    return np.stack([a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in pairs], axis=-1)


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
