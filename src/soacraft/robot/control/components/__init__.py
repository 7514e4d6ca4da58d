"""The control laws as components of systems: ports in, a generalized force out.

    s.add("law", sc.robot.components.ComputedTorque(robot=rb, kp=100.0, kd=20.0), rate=1000)
    s.connect("arm.q", "law.q");  s.connect("arm.v", "law.v");  s.connect("law.force", "arm.force")

`robot` is a `Robot`, or the name of a model that `sc.load` finds. A law computes with that robot, which may be another
one than the plant's: a copy, or one with errors. A name is kept by files; a robot object is written as a text, which
another program refuses. Equations are pure, and take a batch.
"""

from soacraft.robot.control.components.compensation import FeedForward, FrictionCompensation, GravityCompensation
from soacraft.robot.control.components.dofs import LQR, ComputedTorque, Decoupled, PathLQR
from soacraft.robot.control.components.law import Payload
from soacraft.robot.control.components.tips import Admittance, Carrying, FeetForces, Impedance, OperationalSpace
from soacraft.sim.components.registry import register

__all__ = [
    "LQR",
    "Admittance",
    "Carrying",
    "ComputedTorque",
    "Decoupled",
    "FeedForward",
    "FeetForces",
    "FrictionCompensation",
    "GravityCompensation",
    "Impedance",
    "OperationalSpace",
    "PathLQR",
    "Payload",
]



def register_laws() -> None:
    """Let files and checkpoints name the laws."""
    register(
        Admittance, Carrying, ComputedTorque, Decoupled, FeedForward, FeetForces, FrictionCompensation,
        GravityCompensation, Impedance, LQR, OperationalSpace, PathLQR,
    )  # fmt: skip


register_laws()


def __dir__() -> list[str]:
    return __all__
