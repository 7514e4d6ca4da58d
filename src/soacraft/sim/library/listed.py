"""All components that come along, each with parameters to try it with."""

from __future__ import annotations

from soacraft.sim.components.component import Component
from soacraft.sim.library.actuators import Force, Motor, PointGravity, Thruster
from soacraft.sim.library.algebra import Express, Gain, Join, Product, Saturation, Sum
from soacraft.sim.library.control import PD, PID
from soacraft.sim.library.drives import Drive, WideDrive
from soacraft.sim.library.memory import DiscreteFilter, Integrator, LowPass, SampleHold, UnitDelay
from soacraft.sim.library.sensors import Sensor
from soacraft.sim.library.sources import Constant, Ramp, Sine, Step

COMPONENTS: tuple[type[Component], ...] = (
    Constant,
    DiscreteFilter,
    Drive,
    Express,
    Force,
    Gain,
    Integrator,
    Join,
    LowPass,
    Motor,
    PD,
    PID,
    PointGravity,
    Product,
    Ramp,
    SampleHold,
    Saturation,
    Sensor,
    Sine,
    Step,
    Sum,
    Thruster,
    UnitDelay,
    WideDrive,
)


def examples() -> list[Component]:
    """Components to be checked: every class, as numbers and as vectors where it has both."""
    return [
        Constant(value=2.0),
        Constant(value=(1.0, 2.0)),
        DiscreteFilter(weight=0.3),
        DiscreteFilter(weight=0.3, size=3),
        Drive(gain=3.0, b1=-3.0, b2=-0.5, gear=2.0, lower=-4.0, upper=4.0),
        Express(source="a", target="b"),
        Express(source="a", target="b", inverse=True),
        Force(),
        Gain(gain=2.0),
        Gain(gain=2.0, size=3),
        Integrator(),
        Integrator(size=2, start=1.0),
        Join(),
        Join(size_a=2, size_b=3),
        LowPass(time_constant=0.1),
        LowPass(time_constant=0.1, size=3),
        Motor(R=1.0, L=5e-4, k=0.05, n=100.0),
        PD(kp=10.0, kd=1.0),
        PD(kp=10.0, kd=1.0, size=4),
        PID(kp=10.0, ki=2.0, kd=1.0),
        PID(kp=10.0, ki=2.0, kd=1.0, lower=-1.0, upper=1.0, size=2),
        PointGravity(mu=4.0),
        PointGravity(mu=4.0, center=(0.1, 0.2, 0.3)),
        Product(),
        Product(size=2),
        Ramp(slope=2.0, at=0.5),
        SampleHold(),
        SampleHold(size=3),
        Saturation(lower=-1.0, upper=0.5),
        Saturation(lower=-1.0, upper=0.5, size=3),
        Sensor(deviation=0.1, density=0.01, bias=0.2),
        Sensor(deviation=0.1, size=3),
        Sine(frequency=2.0, phase=0.3),
        Step(at=0.5),
        Sum(sign_b=-1.0),
        Sum(size=3),
        Thruster(),
        UnitDelay(),
        UnitDelay(size=2, start=1.0),
        WideDrive(row=(0.5, 0.0, 2.0), length=(0.5, 0.0, 2.0), gain=3.0, b1=-3.0, b2=-0.5, upper=4.0),
    ]
