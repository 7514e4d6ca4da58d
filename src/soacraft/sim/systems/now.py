"""Present values of a system: the state with its accelerations, and frames at their poses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.choice import read_solver
from soacraft.sim.closed import stabilized
from soacraft.sim.forces.loads import bound
from soacraft.sim.forces.prescribed import Prescribed
from soacraft.sim.problem.run_problem import RunProblem
from soacraft.sim.system import Mechanism
from soacraft.sim.systems.plants.joined import joined_solver

if TYPE_CHECKING:
    from soacraft.sim.systems.system import System


def problem_now(system: System) -> Mechanism:
    """The model that is moved, at its present state, with all that acts on it."""
    flow = system.board.compiled().flow
    joined = system.board.compiled().joined
    joined.take()
    mb = joined.mb
    if system.board.build.propagator is not None:
        return system.board.build.propagator.problem()
    closed = stabilized(read_solver(mb, joined_solver(system.diagram.plants))[0], "projection", None)
    prescribed = Prescribed(mb)
    for dof, give in flow.motions().items():
        prescribed.set(dof, give, system.t)
    problem = Mechanism(RunProblem.of(mb, bound(joined.loads, mb), prescribed, closed, flow))
    problem.ticks_first = flow.next_tick is not None
    return problem


def state_now(system: System) -> State:
    """The state of the model that is moved, with the accelerations that all forces give it now."""
    problem = problem_now(system)
    mb = problem.mb
    x = problem.point(np.array(mb.q), np.array(mb.v))
    problem.displaced()
    problem.place(system.t, x)
    q, v, _ = problem.parts(x)
    return mb.state(q, v, problem.free_accelerations(system.t, q, v))


def seen(
    system: System, of: str, relative_to: str, expressed_in: str | None = None, need: int = 7
) -> tuple[Multibody, State, tuple[Frame, Frame, Frame]]:
    """The model, its state now, and a frame, one it is seen from, and one in whose axes, where they are now; `need` is
    how many numbers a signal must give that moves one."""
    compilation = system.board.compiled()
    wiring, flow = compilation.wiring, compilation.flow
    tree = wiring.frames
    frame, to = tree.frame(of), tree.frame(relative_to)
    axes = to if expressed_in is None else tree.frame(expressed_in)
    state = state_now(system)
    chain = tree.chain(frame, to, axes)
    for x in chain:
        if x.user_frame.signal is not None:
            tree.require(x.user_frame, need, "velocity" if need == 13 else "acceleration")
    tree.place(chain, system.t, [flow.signal(wiring.moving[x]) for x in tree.signals])
    return compilation.joined.mb, state, (frame, to, axes)
