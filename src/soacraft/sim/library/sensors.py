"""Sensors."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from soacraft.sim.components.compiled import ours
from soacraft.sim.components.component import Component
from soacraft.sim.components.declarations import In, output
from soacraft.sim.components.declarations import Params as Base
from soacraft.sim.library.algebra import Size, sized


class Sensor(Component):
    """A sampled measurement with a bias and white noise:

        y[k] = scale u[k] + bias + sqrt(deviation^2 + density^2 / dt) n[k]

    `deviation` is the standard deviation of one sample; `density` the root of the spectral density, in units of u per
    root of Hz: the noise of a sample grows with the rate. n[k] are standard normal numbers.

    >>> Sensor.y(Sensor(bias=0.5, density=0.1).p, 0.01, 2.0, 1.0)
    3.5
    """

    class Params(Base):
        deviation: Annotated[float, Meta(ge=0)] = 0.0
        density: Annotated[float, Meta(ge=0)] = 0.0
        bias: float = 0.0
        scale: float = 1.0
        size: Size = None

    u = In(shape=sized)

    @output(shape=sized, twin=ours("Sensor.y"))
    def y(p, dt, u, noise):
        return p.scale * u + p.bias + (p.deviation**2 + p.density**2 / dt) ** 0.5 * noise
