"""Reactions along a run: wrenches through hinges, forces of closures, multipliers of couplings.

Of a tree by Newton and Euler for every body, with the accelerations of the run,

    f(k) = sum over children j of phi(k,j) f(j)  +  M(k) alpha(k) + b(k)                                (004 Eq. 10)

of a closed chain from its solver at the states and under the forces of the run. External wrenches enter b at the nodes
where they act: of functions and force elements as they give them there, of contact as means of steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.errors import ModelError, StateError, near
from soacraft.loops.hinge_forces import HingeForces
from soacraft.model.flat.realize import times
from soacraft.model.states.kinematics import pose_of_frame
from soacraft.sim.forces.touching import body_wrenches
from soacraft.spatial.checks import Array
from soacraft.spatial.wrench import Wrench

if TYPE_CHECKING:
    from soacraft.sim.runs.instants import Instants
    from soacraft.sim.system import Mechanism, Told


def reactions_at(instants: Instants, name: Any, node: Any = None, expressed_in: Any = None) -> Array:
    """The reactions of a hinge, body or closure at instants, (m, 6), or the multipliers of a coupling, (m). O(m n)."""
    if not instants.is_made_here:
        raise StateError(
            "reactions are computed from the model and its forces, and a run read from a file, a copy of a run of a "
            "system, or a run without steps has none; make the run again and ask it."
        )
    problem, told = instants.conditions
    mb = problem.mb
    couplings = [x.name for x in mb.couplings if x.active] if problem.is_closed else []
    if isinstance(name, str) and name in couplings and (node is not None or expressed_in is not None):
        raise ModelError(f"{name!r} is a coupling, whose multiplier is a number; leave node and expressed_in out.")
    _require_known(problem)
    problem.require_same(told, float(instants.t[0]) if len(instants.t) else 0.0, "reactions")
    on_nodes = _wrenches(instants, problem)
    through = sum((x for key, x in instants.forces.items() if key not in _IN_DYNAMICS), np.zeros(instants.v.shape))
    q, v = np.ascontiguousarray(instants.q), np.ascontiguousarray(instants.v)
    if not problem.is_closed:
        f = dyn.interbody_forces(mb, q, v, np.ascontiguousarray(instants.vdot), on_nodes, ignore_loops=True)
        forces = HingeForces(mb.state(q, v), np.asarray(f), {})
    else:
        through = through - dyn.compensating_force(mb, q, on_nodes, ignore_loops=True)
        closed: Any = problem.closed
        result = closed.copied().solver.forward_dynamics(q, v, through, on_nodes)
        if isinstance(name, str) and name in couplings:
            return np.asarray(result.multipliers[name])
        forces = result.hinge_forces
    return forces.at(name, node, expressed_in)


#: Forces that the dynamics functions add themselves.
_IN_DYNAMICS = ("passive", "mb.set_force", "mass")


def _require_known(problem: Mechanism) -> None:
    """Raise for runs in which something acts on bodies that is known along the dofs alone."""
    carried, touch = problem.carried, problem.contact
    nodes = () if carried is None else carried.on_nodes
    if nodes:
        raise StateError(
            f"reactions need the wrenches on bodies, and the run has those of {nodes[0]!r} along the dofs alone: give it "
            "as a force element of the plant (forces=), which has a method wrenches(t, state)."
        )
    if problem.varies:
        raise StateError("reactions need the masses at every row, and masses of this run vary: they are not kept.")
    if touch is not None and touch.has_ropes:
        raise StateError(
            "reactions need the wrenches of contact on bodies, and one-sided couplings and ropes of sc.sim.Contact are "
            "known along the dofs alone; give Contact(one_sided=False) and springs in their place."
        )
    for load in problem.loads:
        if not hasattr(load, "wrenches"):
            raise StateError(
                f"reactions need the wrenches on bodies, and the force element {load.name!r} gives its force along the "
                "dofs alone: give its class a method wrenches(t, state) with {node: wrench}, {} where it acts through "
                "hinges."
            )


def _wrenches(instants: Instants, problem: Mechanism) -> dict[Any, Wrench]:
    """External wrenches at the instants by node, in inertial axes, besides those of `mb.set_force`."""
    mb, q, v = problem.mb, instants.q, instants.v
    totals: dict[Any, Array] = {}

    def add(i: int, state: Any, wrenches: Mapping[Any, Wrench]) -> None:
        for node, wrench in wrenches.items():
            frame = mb.frame(node)
            wrench = wrench if isinstance(wrench, Wrench) else Wrench(wrench[:3], wrench[3:])
            axes = frame if wrench.expressed_in is None else mb.frame(wrench.expressed_in)
            R = pose_of_frame(state, axes)[0]
            total = totals.setdefault(frame, np.zeros((len(q), 6)))
            total[i] += np.concatenate([times(R, wrench.moment), times(R, wrench.force)])

    for i, t in enumerate(instants.t):
        if not problem.loads and problem.contact is None:
            break
        here, told = instants.conditions_of(i)
        state = mb.state(q[i], v[i])
        with here.as_in(told):
            for load in here.loads:
                add(i, state, load.wrenches(float(t), state))  # type: ignore[attr-defined]
        touch = instants.contact_at(i)
        if touch is not None:
            step, h = touch
            add(i, state, body_wrenches(mb, state, step.pairs, step.points, step.moments / h, step.impulses / h))
    return {frame: Wrench(x[:, :3], x[:, 3:], expressed_in=mb.root) for frame, x in totals.items()}
