"""Equilibrium of a closed chain at rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.analysis.equilibrium import Equilibrium, balanced, step_unit
from soacraft.errors import StateError
from soacraft.kinematics.tasks import states_of
from soacraft.loops.at_rest import AtRest, read_fixed
from soacraft.loops.solver import Solver, require_solver
from soacraft.spatial.checks import Array


def equilibrium(
    solver: Solver, free: Any = None, fixed: Any = None, force: Any = None, f_ext: Any = None, *, q: Any = None
) -> Equilibrium:
    """Coordinates at which a closed chain is in balance at rest, as `analysis.equilibrium` for trees. O(n nv + nv^3) a
    step.

        X* (T(q, 0, 0) - force) = 0,        Gc X = 0,   the closures closed

    All dofs take part but those `fixed`, or those not among `free`: names or numbers of dofs, names of hinges, or a
    mask. `force` (nv) acts along the dofs of the tree, and so do the model's stored forces and `f_ext`. The start is q,
    by default the model's own, closed by `solver.assemble` where it is open. `residual` is that of the independent
    dofs, `free`; `force` of the result holds the chain along the dofs of the tree, reactions at fixed dofs and
    closures together.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> mb = sc.load("five_bar")
    >>> mb["rod"].passive = sc.Passive(stiffness=500.0)        # the two cranks
    >>> mb["rod_3"].passive = sc.Passive(stiffness=500.0)
    >>> eq = sc.loops.equilibrium(sc.loops.TreeAugmented(mb), fixed=["closedloop1_B"])   # a knob that spins freely
    >>> len(eq.free), bool(np.abs(eq.residual).max() < 1e-9)
    (2, True)
    """
    require_solver("equilibrium", solver)
    g, zero = solver.graph, np.zeros(solver.graph.nv)
    guess = g.current.q if q is None else q
    p = solver._read("equilibrium", q=guess, v=zero, force=zero if force is None else force, f_ext=f_ext, passive=True)
    if p.batch:
        raise StateError(f"equilibrium takes one state of a closed chain, got a batch {p.batch}.")
    ((state, one, forces),) = states_of(p)
    stay, start = read_fixed(solver, free, fixed), np.asarray(one["q"])
    if solver._rows(state).open_part > solver.tolerance:
        start = np.asarray(solver.assemble(start, fixed=stay, bend=True))
    first = AtRest(solver, start, one["force"], forces, stay)
    if not first.names:
        raise StateError(f"equilibrium of {g.name!r}: no dof is free. Its closures and fixed= hold all of them.")
    visited = {start.tobytes(): first}

    def move(q: Array, step: Array) -> Array:
        moved = visited[q.tobytes()].moved(step)
        visited[moved.q.tobytes()] = moved
        return moved.q

    what = f"equilibrium of {g.name!r}"
    solution = balanced(what, lambda q: visited[q.tobytes()].balance(), move, start, first.names, step_unit(g))
    chain = visited[solution.q.tobytes()]
    r, moved = chain.matrices().r, np.asarray(g.difference(start, solution.q))
    counts = (solution.error, solution.iterations, solution.parts)
    return Equilibrium(solution.q, first.names, r + one["force"], chain.X.T @ r, *counts, moved, g.dof_names)
