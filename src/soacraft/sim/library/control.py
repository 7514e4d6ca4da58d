"""Controllers."""

from __future__ import annotations

import math
from typing import Annotated

from msgspec import Meta

from soacraft.sim.components.compiled import ours
from soacraft.sim.components.component import Component
from soacraft.sim.components.declarations import Discrete, In, output, update
from soacraft.sim.components.declarations import Params as Base
from soacraft.sim.library.algebra import Size, sized
from soacraft.sim.library.pure import clip


class PD(Component):
    """command = kp (target - measured) - kd rate, with the measured rate. Continuous, or sampled with every=.

    >>> PD.command(PD(kp=10.0, kd=2.0).p, 1.0, 0.5, 0.25)
    4.5
    """

    class Params(Base):
        kp: float
        kd: float
        size: Size = None

    target = In(shape=sized)
    measured = In(shape=sized)
    rate = In(shape=sized)

    @output(shape=sized, twin=ours("PD.command"))
    def command(p, target, measured, rate):
        return p.kp * (target - measured) - p.kd * rate


class PID(Component):
    """A sampled controller with e = target - measured and the period dt:

        command[k] = kp e[k] + sum[k] + kd (e[k] - last[k]) / dt,    within lower and upper
        sum[k+1] = sum[k] + ki dt e[k], within the same limits,      last[k+1] = e[k]

    >>> PID.command(PID(kp=2.0, ki=1.0, kd=0.5).p, 0.1, 1.0, 0.0, 0.25, 0.9)
    2.75
    """

    class Params(Base):
        kp: float
        ki: Annotated[float, Meta(ge=0)] = 0.0
        kd: float = 0.0
        lower: float = -math.inf
        upper: float = math.inf
        size: Size = None

    target = In(shape=sized)
    measured = In(shape=sized)
    sum = Discrete(shape=sized)
    last = Discrete(shape=sized)

    @output(shape=sized, twin=ours("PID.command"))
    def command(p, dt, target, measured, sum, last):
        e = target - measured
        return clip(p.kp * e + sum + p.kd * (e - last) / dt, p.lower, p.upper)

    @update(sum, twin=ours("PID.sum_next"))
    def sum_next(p, dt, target, measured, sum):
        return clip(sum + p.ki * dt * (target - measured), p.lower, p.upper)

    @update(last, twin=ours("PID.last_next"))
    def last_next(target, measured):
        return target - measured
