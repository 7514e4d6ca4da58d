"""Makes the numbers of tests/peers/test_exudyn.py: `pip install exudyn`, then `python benchmarks/exudyn_reference.py`.

A uniform bar of 2 kg and 1 m on a pin about z, level at rest under gravity along -y, with a spring and damper from its
tip to the ground: the tip and the rate after 1 s, by Exudyn's generalized-alpha with 20,000 steps.
"""

from __future__ import annotations

import exudyn as exu
import numpy as np
from exudyn.utilities import RigidBodyInertia

system = exu.SystemContainer().AddSystem()
moment = 2.0 / 12.0
inertia = RigidBodyInertia(mass=2.0, com=[0, 0, 0], inertiaTensor=np.diag([1e-3 * moment, moment, moment]))
bar = system.CreateRigidBody(inertia=inertia, referencePosition=[0.5, 0, 0], gravity=[0, -9.81, 0])
ground = system.CreateGround()
system.CreateRevoluteJoint(bodyNumbers=[ground, bar], position=[0, 0, 0], axis=[0, 0, 1], useGlobalFrame=True)
ends = dict(localPosition0=[1.5, -0.5, 0], localPosition1=[0.5, 0, 0])
system.CreateSpringDamper(bodyNumbers=[ground, bar], referenceLength=0.4, stiffness=150.0, damping=3.0, **ends)
system.Assemble()
settings = exu.SimulationSettings()
settings.timeIntegration.endTime, settings.timeIntegration.numberOfSteps = 1.0, 20000
settings.timeIntegration.generalizedAlpha.spectralRadius = 1.0
settings.timeIntegration.newton.relativeTolerance = 1e-12
settings.timeIntegration.verboseMode = 0
system.SolveDynamic(settings)
print(exu.__version__)
print(system.GetObjectOutputBody(bar, exu.OutputVariableType.Position, localPosition=[0.5, 0, 0]))
print(system.GetObjectOutputBody(bar, exu.OutputVariableType.AngularVelocity))
