"""Modes of a closed chain at rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.analysis.modes import Modes, load_rate, made_modes
from soacraft.analysis.spectra import spectrum
from soacraft.dynamics.derivatives import refuse_nonholonomic
from soacraft.errors import StateError
from soacraft.kinematics.tasks import states_of
from soacraft.loops.at_rest import AtRest, read_fixed
from soacraft.loops.solver import Solver, require_solver


def modes(solver: Solver, q: Any, fixed: Any = None, force: Any = None, f_ext: Any = None) -> Modes:
    """Frequencies, damping and shapes of the small motions of a closed chain about rest. O(n nv + nv^3).

        M x'' + C x' + K x = 0  over the independent dofs,    K = X* (dT/dq + d(Gc* lambda)/dq) X,  C = X* dT/dv X

    as `analysis.modes` for trees, whose result it is: the vectors are X x over all dofs of the tree. The forces of the
    closures are those that carry the dependent dofs under `force` (nv), which takes part in K for this reason; dofs may
    be `fixed`. About a motion take `loops.linearize`.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> mb = sc.Multibody("geared pendulum", gravity=(0, 0, -9.81))
    >>> bob = mb.add_body("bob", None, sc.Pin((0, 1, 0)), sc.Inertia.point(1.0, (0, 0, -1)))
    >>> wheel = mb.add_body("wheel", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    >>> gear = mb.couple("gear", {"wheel": 1.0, "bob": -1.0})
    >>> m = sc.loops.modes(sc.loops.TreeAugmented(mb), [0, 0])
    >>> round(float(2 * np.pi * m.hz[0]) ** 2, 3)                     # m g l / (m l^2 + I)
    4.905
    """
    require_solver("modes", solver)
    g, zero = solver.graph, np.zeros(solver.graph.nv)
    p = solver._read("modes", q=q, v=zero, force=zero if force is None else force, f_ext=f_ext, passive=True)
    if p.batch:
        raise StateError(f"modes takes one state of a closed chain, got a batch {p.batch}.")
    refuse_nonholonomic(p)
    ((_, one, forces),) = states_of(p)
    chain = AtRest(solver, one["q"], one["force"], forces, read_fixed(solver, None, fixed))
    X, (_, K, M) = chain.X, chain.matrices()
    load = load_rate(g, zero, M, [np.asarray(wrench) for _, wrench in forces])
    s = spectrum(X.T @ M @ X, X.T @ chain.damping() @ X, X.T @ K @ X, load)
    return made_modes(g, one["q"], s.rates, X @ s.shapes, s.rigid, M, loops=True)
