"""Drives: actuators of model files as components.

    f = gain u + b0 + b1 length + b2 rate,    length = sum of gear q,   rate = sum of gear v

with u and f cut to their ranges; each dof feels gear f. A motor has b = 0, a position servo gain = -b1 = kp, a velocity
servo gain = -b2 = kv. The same law as that of `Propagator.control`.
"""

from __future__ import annotations

import numpy as np

from soacraft.sim.components.compiled import ours
from soacraft.sim.components.component import Component
from soacraft.sim.components.declarations import In, output
from soacraft.sim.components.declarations import Params as Base
from soacraft.sim.library.pure import clip


class _Law(Base):
    gain: float = 1.0
    b0: float = 0.0
    b1: float = 0.0
    b2: float = 0.0
    lower_control: float = -1e300
    upper_control: float = 1e300
    lower: float = -1e300
    upper: float = 1e300


class Drive(Component):
    """An actuator on one dof, through a gear; `position` is needed where b1 is not zero.

    >>> Drive.force(Drive(gain=100.0, b1=-100.0, gear=2.0, upper=30.0).p, 0.5, 0.1, 0.0)
    60.0
    """

    class Params(_Law):
        gear: float = 1.0

    control = In()
    position = In(default=0.0)
    velocity = In(of="velocity")

    @output(to="force", twin=ours("Drive.force"))
    def force(p, control, position, velocity):
        u = clip(control, p.lower_control, p.upper_control)
        f = p.gain * u + p.b0 + p.gear * (p.b1 * position + p.b2 * velocity)
        return p.gear * clip(f, p.lower, p.upper)


class WideDrive(Component):
    """An actuator on several dofs of a plant: `row` has the gear of each dof (nv), `length` how its length grows with
    each coordinate (nq).

    >>> p = WideDrive(row=(0.5, 0.5), length=(0.5, 0.5), gain=2.0).p
    >>> WideDrive.force(p, 3.0, np.zeros(2), np.zeros(2))
    array([3., 3.])
    """

    class Params(_Law):
        row: tuple[float, ...] = (1.0,)
        length: tuple[float, ...] = (1.0,)

    control = In()
    q = In(shape=lambda p: (len(p.length),))
    v = In(shape=lambda p: (len(p.row),))

    @output(shape=lambda p: (len(p.row),))
    def force(p, control, q, v):
        u = clip(control, p.lower_control, p.upper_control)
        row, length = np.array(p.row), np.array(p.length)
        f = p.gain * u + p.b0 + p.b1 * (length * q).sum(axis=-1) + p.b2 * (row * v).sum(axis=-1)
        return np.asarray(clip(f, p.lower, p.upper))[..., None] * row
