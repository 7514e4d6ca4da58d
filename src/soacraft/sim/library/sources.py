"""Sources: signals that are functions of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from soacraft.sim.components.compiled import ours
from soacraft.sim.components.component import Component
from soacraft.sim.components.declarations import Params as Base
from soacraft.sim.components.declarations import Unit, output
from soacraft.sim.library.pure import pick


def unit_of(p: Any) -> str | None:
    """The unit that a source was given; None for any."""
    return p.unit  # type: ignore[no-any-return]


class Constant(Component):
    """A constant:  y = value; several numbers are a vector.

    >>> Constant.y(Constant(value=(1.0, 2.0)).p)
    array([1., 2.])
    """

    class Params(Base):
        value: float | tuple[float, ...]
        unit: str | None = None

    @output(unit_of, shape=lambda p: () if isinstance(p.value, float) else (len(p.value),), twin=ours("Constant.y"))
    def y(p):
        return p.value if isinstance(p.value, float) else np.array(p.value)


class Step(Component):
    """A step:  y = before for t < at, after from there on.

    >>> Step.y(Step(at=1.0).p, 0.5), Step.y(Step(at=1.0).p, 1.0)
    (0.0, 1.0)
    """

    class Params(Base):
        at: Annotated[float, Unit("s")] = 0.0
        before: float = 0.0
        after: float = 1.0
        unit: str | None = None

    @output(unit_of, twin=ours("Step.y"))
    def y(p, t):
        return pick(t >= p.at, p.after, p.before)

    @staticmethod
    def breaks(p: Any) -> Sequence[float]:
        """Time of the step."""
        return (p.at,)


class Ramp(Component):
    """A ramp:  y = slope (t - at) from t = at on, 0 before.

    >>> Ramp.y(Ramp(slope=2.0, at=1.0).p, 3.0)
    4.0
    """

    class Params(Base):
        slope: float
        at: Annotated[float, Unit("s")] = 0.0
        unit: str | None = None

    @output(unit_of, twin=ours("Ramp.y"))
    def y(p, t):
        return pick(t >= p.at, p.slope * (t - p.at), 0.0)

    @staticmethod
    def breaks(p: Any) -> Sequence[float]:
        """Time at which the ramp begins."""
        return (p.at,)


class Sine(Component):
    """A sine:  y = offset + amplitude sin(2 pi frequency t + phase).

    >>> float(Sine.y(Sine(frequency=0.25).p, 1.0))
    1.0
    """

    class Params(Base):
        frequency: Annotated[float, Unit("Hz"), Meta(ge=0)]
        amplitude: float = 1.0
        phase: Annotated[float, Unit("rad")] = 0.0
        offset: float = 0.0
        unit: str | None = None

    @output(unit_of, twin=ours("Sine.y"))
    def y(p, t):
        return p.offset + p.amplitude * np.sin(2.0 * np.pi * p.frequency * t + p.phase)
