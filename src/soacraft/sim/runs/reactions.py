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
from soacraft.errors import ModelError, StateError
from soacraft.loops.hinge_forces import HingeForces
from soacraft.model.flat.realize import times
from soacraft.model.states.coordinates import read_forces
from soacraft.model.states.kinematics import pose_of_frame
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.closed import Stabilized
from soacraft.sim.forces.contact_element import body_wrenches
from soacraft.spatial.checks import Array
from soacraft.spatial.wrench import Wrench

if TYPE_CHECKING:
    from soacraft.sim.runs.instants import Instants
    from soacraft.sim.system import Mechanism


def reactions_at(instants: Instants, name: Any, node: Any = None, expressed_in: Any = None) -> Array:
    """The reactions of a hinge, body or closure at instants, (m, 6), or the multipliers of a coupling, (m). O(m n)."""
    if not instants.is_made_here:
        raise StateError(
            "reactions are computed from the model and its forces, and a run read from a file, a copy of a run of a "
            "system, or a run without steps has none; make the run again and ask it."
        )
    problem, conditions = instants.conditions
    mb = problem.mb
    couplings = [x.name for x in mb.couplings if x.active] if problem.is_closed else []
    if isinstance(name, str) and name in couplings and (node is not None or expressed_in is not None):
        raise ModelError(f"{name!r} is a coupling, whose multiplier is a number; leave node and expressed_in out.")
    _require_known(problem)
    problem.require_unchanged(conditions, float(instants.t[0]) if len(instants.t) else 0.0, "reactions")
    of_loads, of_contact = _wrenches(instants, problem)
    on_nodes = (*of_loads.items(), *of_contact.items())
    q, v = np.ascontiguousarray(instants.q), np.ascontiguousarray(instants.v)
    if not problem.is_closed:
        f = dyn.interbody_forces(mb, q, v, np.ascontiguousarray(instants.vdot), on_nodes, ignore_loops=True)
        return HingeForces(mb.state(q, v), np.asarray(f), {}).at(name, node, expressed_in)
    along = [x for force, x in instants.forces.items() if force not in _APART]
    through = sum(along, np.zeros(v.shape)) - dyn.compensating_force(mb, q, of_loads, ignore_loops=True)
    closed: Any = problem.closures
    result = closed.copied().solver.forward_dynamics(q, v, through, on_nodes)
    if isinstance(name, str) and name in couplings:
        return np.asarray(result.multipliers[name])
    return np.asarray(result.hinge_forces.at(name, node, expressed_in))


#: Forces that the dynamics functions add themselves, and that of contact, which also has the impulses of closures.
_APART = ("passive", "mb.set_force", "mass", "contact")


def _require_known(problem: Mechanism) -> None:
    """Raise for runs in which something acts on bodies that is known along the dofs alone."""
    nodes, touch = problem.components.on_nodes, problem.contact
    if nodes:
        raise StateError(
            f"reactions need the wrenches on bodies, and the run has those of {nodes[0]!r} along the dofs alone: give "
            "it as a force element of the plant (forces=), which has a method wrenches(t, state)."
        )
    if problem.varies:
        raise StateError("reactions need the masses at every row, and masses of this run vary: they are not kept.")
    if isinstance(problem.closures, Stabilized):
        raise StateError(
            "reactions are those of closures that are shut, and closures of this run are pulled shut as it goes: leave "
            "stabilization='baumgarte' out."
        )
    if touch.has_ropes:
        raise StateError(
            "reactions need the wrenches of contact on bodies, and one-sided couplings and ropes of sc.sim.Contact are "
            "known along the dofs alone; give Contact(one_sided=False) and springs in their place."
        )
    if touch.touches and problem.is_closed and (touch.holds_dofs or problem.prescribed_dofs):
        raise StateError(
            "reactions of a closed chain with contact need the impulses of its closures, and those of limits, dry "
            "friction and prescribed motions are added to them: give Contact(limits=False, dry=False), with "
            "sc.sim.JointLimit of some stiffness and a smooth sc.sim.HingeFriction in their place."
        )
    for load in problem.loads:
        if not hasattr(load, "wrenches"):
            raise StateError(
                f"reactions need the wrenches on bodies, and the force element {load.name!r} gives its force along the "
                "dofs alone: give its class a method wrenches(t, state) with {node: wrench}, {} where it acts through "
                "hinges."
            )


def _wrenches(instants: Instants, problem: Mechanism) -> tuple[dict[Any, Wrench], dict[Any, Wrench]]:
    """External wrenches of force elements, and those of contact, at the instants by node, in inertial axes. Those of
    `mb.set_force` are none of them."""
    checked: set[int] = set()  # rows at which loads give what they gave
    mb, loads, contact = problem.mb, Totals(problem.mb, len(instants.t)), Totals(problem.mb, len(instants.t))
    for i, t in enumerate(instants.t if problem.loads or problem.contact.touches else ()):
        here, conditions = instants.conditions_of(i)
        state = mb.state(instants.q[i], instants.v[i])
        row = int(instants.recorded[i])
        with here.under(conditions):
            if row not in checked:
                run = instants.run
                here.require_same_forces(float(run.t[row]), run.q[row], run.v[row], instants.force_rows[row])
                checked.add(row)
            for load in here.loads:
                loads.add(i, state, load.wrenches(float(t), state))  # type: ignore[attr-defined]
        if (touch := instants.contact_at(i)) is not None:
            step, h = touch
            on = body_wrenches(mb, state, step.pairs, step.points, step.moments / h, step.impulses / h)
            contact.add(i, state, on)
    return loads.wrenches, contact.wrenches


class Totals:
    """Sums of wrenches by node at many instants, in inertial axes."""

    def __init__(self, mb: Multibody, count: int) -> None:
        self._mb, self._count = mb, count
        self._by_frame: dict[Frame, Array] = {}

    def add(self, i: int, state: State, wrenches: Mapping[Any, Any]) -> None:
        """Add wrenches by node at an instant."""
        for frame, wrench in read_forces(self._mb, wrenches):
            axes = frame if wrench.expressed_in is None else self._mb.frame(wrench.expressed_in)
            R = pose_of_frame(state, axes)[0]
            total = self._by_frame.setdefault(frame, np.zeros((self._count, 6)))
            total[i] += np.concatenate([times(R, wrench.moment), times(R, wrench.force)])

    @property
    def wrenches(self) -> dict[Any, Wrench]:
        """The sums."""
        root = self._mb.root
        return {frame: Wrench(x[:, :3], x[:, 3:], expressed_in=root) for frame, x in self._by_frame.items()}
