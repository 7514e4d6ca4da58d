"""The systems of `systems.py` in Drake, Basilisk and PathSim, by a Python of its own that has their wheels:

    uv venv peers && uv pip install --python peers/bin/python drake bsk pathsim
    SOACRAFT_PEERS=peers/bin/python ./run bench systems

What is not installed is left out. Microseconds of the processor, the shortest of several stretches; without soacraft.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

MU, RADIUS = 3.986004418e14, 7.0e6
FILTERS = 100


def shortest(advance: Callable[[int], object], steps: int, rounds: int) -> float:
    """Microseconds of one of `steps` steps that `advance(round)` takes."""
    advance(0)
    best = float("inf")
    for i in range(1, rounds + 1):
        start = time.process_time()
        advance(i)
        best = min(best, time.process_time() - start)
    return best / steps * 1e6


def drake(steps: int, rounds: int) -> dict[str, float]:
    """A chain of filters written in Python, and of its own in C++; each takes a step at 1 kHz."""
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder, LeafSystem
    from pydrake.systems.primitives import ConstantVectorSource, LinearSystem

    class Filter(LeafSystem):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.DeclareVectorInputPort("u", 1)
            state = self.DeclareDiscreteState(1)
            self.DeclareStateOutputPort("y", state)
            self.DeclarePeriodicDiscreteUpdateEvent(1e-3, 0.0, self.update)

        def update(self, context: Any, values: Any) -> None:
            x = context.get_discrete_state(0).value()[0]
            values.set_value(0, [x + 0.1 * (self.get_input_port(0).Eval(context)[0] - x)])

    def compiled() -> Any:
        A, B, C, D = ([[x]] for x in (0.9, 0.1, 1.0, 0.0))
        return LinearSystem(A, B, C, D, time_period=1e-3)

    found = {}
    for name, make in (("Drake: a filter in Python, of 100", Filter), ("Drake: compiled, of 100", compiled)):
        builder = DiagramBuilder()
        before = builder.AddSystem(ConstantVectorSource([1.0]))
        for _ in range(FILTERS):
            after = builder.AddSystem(make())
            builder.Connect(before.get_output_port(0), after.get_input_port(0))
            before = after
        simulator = Simulator(builder.Build())
        simulator.Initialize()
        advance = partial(_advance, simulator, 1e-3 * steps)
        found[name] = shortest(advance, steps, rounds) / FILTERS
    return found


def _advance(simulator: Any, seconds: float, i: int) -> None:
    simulator.AdvanceTo(seconds * (i + 1))


def pathsim(steps: int, rounds: int) -> dict[str, float]:
    """A chain of integrators, which are lags by their own feedback."""
    from pathsim import Connection, Simulation
    from pathsim.blocks import ODE, Constant

    source = Constant(1.0)
    blocks = [ODE(lambda x, u, t: 100.0 * (u - x), np.zeros(1)) for _ in range(FILTERS)]
    chain = [source, *blocks]
    joined = [Connection(a, b) for a, b in pairwise(chain)]
    simulation = Simulation(chain, joined, dt=1e-3, log=False)
    return {
        "PathSim: a lag, of 100": shortest(lambda i: simulation.run(1e-3 * steps, reset=False), steps, rounds) / FILTERS
    }


def basilisk(steps: int, rounds: int) -> dict[str, float]:
    """A hub with three wheels, point gravity, RK4 with steps of 1 ms; and its error after an orbit of steps of 1 s."""
    from Basilisk.simulation import reactionWheelStateEffector, spacecraft, svIntegrators
    from Basilisk.utilities import SimulationBaseClass, macros, simIncludeGravBody, simIncludeRW

    def made(step: float) -> tuple[Any, Any]:
        sim = SimulationBaseClass.SimBaseClass()
        process = sim.CreateNewProcess("process")
        process.addTask(sim.CreateNewTask("task", macros.sec2nano(step)))
        craft = spacecraft.Spacecraft()
        craft.hub.mHub = 738.0
        craft.hub.r_BcB_B = [[0.0], [0.0], [0.0]]
        craft.hub.IHubPntBc_B = [[900.0, 0, 0], [0, 800.0, 0], [0, 0, 600.0]]
        gravity = simIncludeGravBody.gravBodyFactory()
        gravity.createEarth().isCentralBody = True
        gravity.gravBodies["earth"].mu = MU
        gravity.addBodiesTo(craft)
        wheels = simIncludeRW.rwFactory()
        for i, axis in enumerate(np.eye(3)):
            wheels.create("Honeywell_HR16", axis, maxMomentum=50.0, Omega=1000.0 * (i + 1))
        effector = reactionWheelStateEffector.ReactionWheelStateEffector()
        wheels.addToSpacecraft("wheels", effector, craft)
        integrator = svIntegrators.svIntegratorRK4(craft)
        craft.setIntegrator(integrator)
        craft.hub.r_CN_NInit = [[RADIUS], [0.0], [0.0]]
        craft.hub.v_CN_NInit = [[0.0], [float(np.sqrt(MU / RADIUS))], [0.0]]
        craft.hub.omega_BN_BInit = [[0.0], [0.0], [0.0]]
        sim.AddModelToTask("task", effector)
        sim.AddModelToTask("task", craft)
        sim.InitializeSimulation()
        return sim, (craft, gravity, wheels, effector, integrator)

    def on_to(sim: Any, seconds: float) -> None:
        sim.ConfigureStopTime(macros.sec2nano(seconds))
        sim.ExecuteSimulation()

    sim, _kept = made(1e-3)
    found = {"Basilisk: a hub with three wheels": shortest(lambda i: on_to(sim, 1e-3 * steps * (i + 1)), steps, rounds)}
    seconds = 200 if steps < 100 else 5829
    sim, kept = made(1.0)
    on_to(sim, float(seconds))
    angle = np.sqrt(MU / RADIUS**3) * seconds
    wanted = RADIUS * np.array([np.cos(angle), np.sin(angle), 0.0])
    place = np.array(kept[0].scStateOutMsg.read().r_CN_N)
    found["Basilisk: its error after an orbit, in radii"] = float(np.linalg.norm(place - wanted)) / RADIUS
    return found


def main() -> None:
    """Print what was found as JSON."""
    steps, rounds = (5, 1) if len(sys.argv) > 1 and sys.argv[1] == "1" else (300, 4)
    found: dict[str, float] = {}
    for measure in (drake, pathsim, basilisk):
        try:
            found |= measure(steps, rounds)
        except ImportError as missing:
            print(f"{measure.__name__} is left out: {missing}", file=sys.stderr)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
