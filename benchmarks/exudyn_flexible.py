"""Makes tests/peers/exudyn_flexible.json: `pip install exudyn numpy scipy`, then, at the root of the repository,
`python -m benchmarks.exudyn_flexible`.

Free flexible bodies (tests/peers/exudyn_flexible.py) as Exudyn's ObjectFFRFreducedOrder without gravity: the angular
acceleration and the acceleration of the body frame in inertial axes, and those of the modes, after one implicit step.
Exudyn's accelerations belong to the end of the step, so they tend to those of the start with it.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import exudyn as exu
import numpy as np
from exudyn.FEM import ObjectFFRFreducedOrderInterface
from exudyn.utilities import RotXYZ2RotationMatrix
from scipy.sparse import csr_matrix
from tests.peers.exudyn_flexible import SEEDS, STEPS, Cloud, drawn


def accelerations(body: Cloud, step: float) -> list[float]:
    """After one step."""
    Psi = body.phi.reshape(-1, body.phi.shape[2])
    inverse = np.linalg.pinv(Psi)
    mass, stiffness = csr_matrix(np.kron(np.diag(body.m), np.eye(3))), csr_matrix(inverse.T @ body.K @ inverse)
    fem = SimpleNamespace(
        modeBasis={"matrix": Psi}, postProcessingModes={}, GetNodePositionsAsArray=lambda: body.r,
        GetSurfaceTriangles6=list, GetSurfaceTriangles=list, GetStiffnessMatrix=lambda sparse: stiffness,
        GetMassMatrix=lambda sparse: mass,
    )  # fmt: skip
    made = ObjectFFRFreducedOrderInterface(fem, roundMassMatrix=0.0, roundStiffnessMatrix=0.0)
    system = exu.SystemContainer().AddSystem()
    numbers = made.AddObjectFFRFreducedOrder(
        system, positionRef=list(body.place), initialVelocity=list(body.velocity),
        rotationMatrixRef=RotXYZ2RotationMatrix(body.angles), initialAngularVelocity=list(body.omega),
    )  # fmt: skip
    modes, frame = numbers["nGenericODE2"], numbers["nRigidBody"]
    system.SetNodeParameter(modes, "initialCoordinates", list(body.eta))
    system.SetNodeParameter(modes, "initialCoordinates_t", list(body.rate))
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.endTime, settings.timeIntegration.numberOfSteps = step, 1
    settings.timeIntegration.generalizedAlpha.spectralRadius = 1.0
    settings.timeIntegration.newton.relativeTolerance = 1e-14
    settings.timeIntegration.verboseMode = 0
    settings.solutionSettings.writeSolutionToFile = False
    system.SolveDynamic(settings)
    kinds = exu.OutputVariableType
    parts = [system.GetNodeOutput(frame, kind) for kind in (kinds.AngularAcceleration, kinds.Acceleration)]
    parts.append(np.atleast_1d(system.GetNodeOutput(modes, kinds.Coordinates_tt)))
    return [float(x) for x in np.concatenate(parts)]


if __name__ == "__main__":
    results = {str(seed): {str(h): accelerations(drawn(seed), h) for h in STEPS} for seed in SEEDS}
    told = {"exudyn": exu.__version__, "accelerations": results}
    Path("tests/peers/exudyn_flexible.json").write_text(json.dumps(told, indent=1) + "\n")
