"""Allowed motions of a closed chain at a state, by the model and that state alone.

    vdot = X vdot_i + x0,      Gc X = 0,  X_i = I,      Gc x0 = -Gcdot v,  x0_i = 0                     (formula F5)

A solver of `soacraft.loops` keeps its choice of independent dofs and the turns of the closures' hinges from call to
call; a control law may not. The dofs are those that a new solver names: `sc.loops.TreeAugmented(mb).independent(q)`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soacraft.errors import StateError
from soacraft.kinematics.checks import check_state, closed_rows
from soacraft.kinematics.followers import masters
from soacraft.kinematics.independent import Partition, completed, dofs_named, expansion, refuse_held
from soacraft.kinematics.partition import partition
from soacraft.kinematics.sizes import sizes_of
from soacraft.kinematics.tasks import Task, refuse_large
from soacraft.kinematics.tolerances import CLOSED
from soacraft.loops.inverse import independent_part, refuse_open
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array


class ClosedMotion(NamedTuple):
    """The accelerations that the closures allow at one state."""

    task: Task
    choice: Partition
    X: Array
    """(nv, m)"""
    x0: Array
    """(nv)"""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the m independent dofs."""
        return dofs_named(self.task.rows, self.choice.independent)

    def require(self, vdot: Array) -> None:
        """Raise `LoopError` for accelerations (nv) that the closures do not allow."""
        graph = self.task.graph
        if len(vdot) != graph.nv:
            raise StateError(
                f"vdot of {graph.name!r} has {len(self.names)} entries here, got {len(vdot)}; they are of "
                f"{', '.join(map(repr, self.names)) or 'no dofs'}. All {graph.nv} dofs may be given too."
            )
        independent_part(self.task, self.choice, vdot, CLOSED)


def closed_motion(mb: Multibody, q: Array, v: Array) -> ClosedMotion:
    """X and x0 at a state on the closures; one that is not is a `LoopError` with its gap. O(nv^3)."""
    none = np.zeros(mb.nv)
    for name, x in (("q", q), ("v", v)):
        refuse_large(mb, name, x)
    state = mb.current.replace(q=q, v=v, vdot=none, forces=())
    task = Task(closed_rows(mb, state, {}, CLOSED), none, (), {})
    check_state(task, CLOSED)
    rows = task.rows
    choice, G, sizes = partition(rows, masters(mb), tolerance=CLOSED), rows.jacobian(), sizes_of(rows)
    X = expansion(G, choice, sizes)
    refuse_held(rows, G, choice, X, sizes)
    x0 = none
    if v.any():
        x0 = completed(G, choice, np.zeros(X.shape[1]), -rows.gamma, sizes)
        refuse_open(task, choice, x0, CLOSED)
    return ClosedMotion(task, choice, X, x0)
