"""Makes the numbers of tests/peers/test_exudyn.py: `pip install exudyn numpy`, then, at the root of the repository,
`python -m benchmarks.exudyn_reference`.

First a uniform bar of 2 kg and 1 m on a pin about z, level at rest under gravity along -y, with a spring and damper
from its tip to the ground: the tip and the rate after 1 s. Then random trees (tests/peers/exudyn_models.py): the last
bar's centre of mass and angular velocity. All by Exudyn's generalized-alpha, the trees in steps of 25 us and of 50 us,
which tells the error.
"""

from __future__ import annotations

from typing import Any

import exudyn as exu
import numpy as np
from exudyn.utilities import RigidBodyInertia
from tests.peers.exudyn_models import GRAVITY, TIME, drawn, origins


def solved(system: Any, time: float, steps: int) -> None:
    """Move a system that is made."""
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.endTime, settings.timeIntegration.numberOfSteps = time, steps
    settings.timeIntegration.generalizedAlpha.spectralRadius = 1.0
    settings.timeIntegration.newton.relativeTolerance = 1e-12
    settings.timeIntegration.verboseMode = 0
    settings.solutionSettings.writeSolutionToFile = False
    system.SolveDynamic(settings)


def bar() -> None:
    """The bar."""
    system = exu.SystemContainer().AddSystem()
    moment = 2.0 / 12.0
    inertia = RigidBodyInertia(mass=2.0, com=[0, 0, 0], inertiaTensor=np.diag([1e-3 * moment, moment, moment]))
    body = system.CreateRigidBody(inertia=inertia, referencePosition=[0.5, 0, 0], gravity=[0, -9.81, 0])
    ground = system.CreateGround()
    system.CreateRevoluteJoint(itemNumbers=[ground, body], position=[0, 0, 0], axis=[0, 0, 1], useGlobalFrame=True)
    ends = dict(localPosition0=[1.5, -0.5, 0], localPosition1=[0.5, 0, 0])
    system.CreateSpringDamper(itemNumbers=[ground, body], referenceLength=0.4, stiffness=150.0, damping=3.0, **ends)
    solved(system, 1.0, 20000)
    print(system.GetObjectOutputBody(body, exu.OutputVariableType.Position, localPosition=[0.5, 0, 0]))
    print(system.GetObjectOutputBody(body, exu.OutputVariableType.AngularVelocity))


def tree(seed: int, steps: int) -> list[float]:
    """The last bar's centre of mass and angular velocity, in the inertial frame."""
    bars, links = drawn(seed)
    system = exu.SystemContainer().AddSystem()
    ground, bodies = system.CreateGround(), []
    for x, at in zip(bars, origins(bars), strict=True):
        inertia = RigidBodyInertia(mass=x.mass, com=[0, 0, 0], inertiaTensor=np.diag(x.moment))
        place = dict(referencePosition=list(at + x.com), gravity=list(GRAVITY))
        bodies.append(system.CreateRigidBody(inertia=inertia, **place))
        pair = [ground if x.parent < 0 else bodies[x.parent], bodies[-1]]
        where = dict(itemNumbers=pair, position=list(at), axis=list(x.axis), useGlobalFrame=True)
        system.CreateRevoluteJoint(**where)
        system.CreateTorsionalSpringDamper(**where, stiffness=x.stiffness, damping=x.damping, offset=x.rest)
    for y in links:
        ends = [ground if k < 0 else bodies[k] for k in (y.a, y.b)]
        points = [p - (0.0 if k < 0 else bars[k].com) for k, p in ((y.a, y.point_a), (y.b, y.point_b))]
        system.CreateSpringDamper(itemNumbers=ends, localPosition0=list(points[0]), localPosition1=list(points[1]),
                                  referenceLength=y.length, stiffness=y.stiffness, damping=y.damping)  # fmt: skip
    solved(system, TIME, steps)
    kinds = exu.OutputVariableType.Position, exu.OutputVariableType.AngularVelocity
    return [float(z) for kind in kinds for z in system.GetObjectOutputBody(bodies[-1], kind)]


if __name__ == "__main__":
    print(exu.__version__)
    bar()
    for seed in range(4):
        fine, coarse = tree(seed, 20000), tree(seed, 10000)
        print(seed, fine, "error about", max(abs(a - b) for a, b in zip(fine, coarse, strict=True)) / 3.0)
