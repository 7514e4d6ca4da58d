"""Components with a state: integrators, lags, delays, holds."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from soacraft.sim.components.compiled import ours
from soacraft.sim.components.component import Component
from soacraft.sim.components.declarations import Continuous, Discrete, In, Unit, output, rate, update
from soacraft.sim.components.declarations import Params as Base
from soacraft.sim.library.algebra import Size, sized


def started(p: Any) -> float:
    """The parameter `start`."""
    return p.start  # type: ignore[no-any-return]


class Integrator(Component):
    """dx/dt = u,  y = x.

    >>> Integrator.x_rate(2.0)
    2.0
    """

    class Params(Base):
        start: float = 0.0
        size: Size = None

    u = In(shape=sized)
    x = Continuous(shape=sized, start=started)

    @output(shape=sized, twin=ours("Integrator.y"))
    def y(x):
        return x

    @rate(x, twin=ours("Integrator.x_rate"))
    def x_rate(u):
        return u


class LowPass(Component):
    """A lag of first order:  dx/dt = (u - x) / time_constant,  y = x.

    >>> LowPass.x_rate(LowPass(time_constant=0.5).p, 1.0, 0.0)
    2.0
    """

    class Params(Base):
        time_constant: Annotated[float, Unit("s"), Meta(gt=0)]
        start: float = 0.0
        size: Size = None

    u = In(shape=sized)
    x = Continuous(shape=sized, start=started)

    @output(shape=sized, twin=ours("LowPass.y"))
    def y(x):
        return x

    @rate(x, twin=ours("LowPass.x_rate"))
    def x_rate(p, u, x):
        return (u - x) / p.time_constant


class DiscreteFilter(Component):
    """A lag at ticks:  y[k] = x[k],  x[k+1] = x[k] + weight (u[k] - x[k]).

    >>> DiscreteFilter.x_next(DiscreteFilter(weight=0.25).p, 1.0, 0.0)
    0.25
    """

    class Params(Base):
        weight: Annotated[float, Meta(gt=0, le=1)]
        start: float = 0.0
        size: Size = None

    u = In(shape=sized)
    x = Discrete(shape=sized, start=started)

    @output(shape=sized, twin=ours("DiscreteFilter.y"))
    def y(x):
        return x

    @update(x, twin=ours("DiscreteFilter.x_next"))
    def x_next(p, u, x):
        return x + p.weight * (u - x)


class UnitDelay(Component):
    """A delay of one tick:  y[k] = x[k],  x[k+1] = u[k].

    >>> UnitDelay.x_next(3.0)
    3.0
    """

    class Params(Base):
        start: float = 0.0
        size: Size = None

    u = In(shape=sized)
    x = Discrete(shape=sized, start=started)

    @output(shape=sized, twin=ours("UnitDelay.y"))
    def y(x):
        return x

    @update(x, twin=ours("UnitDelay.x_next"))
    def x_next(u):
        return u


class SampleHold(Component):
    """A signal at ticks, held between:  y[k] = u[k].

    >>> SampleHold.y(3.0)
    3.0
    """

    class Params(Base):
        size: Size = None

    u = In(shape=sized)

    @output(shape=sized, twin=ours("SampleHold.y"))
    def y(u):
        return u
