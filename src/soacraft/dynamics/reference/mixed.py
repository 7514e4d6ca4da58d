"""Mixed dynamics: some accelerations are prescribed, the forces at the other dofs are known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.blocks import columns, vector
from soacraft.dynamics.reference.passive import along_dofs
from soacraft.model.flat.sko import SKOModel
from soacraft.recursions import forward_dynamics, gather
from soacraft.spatial.checks import Array


def mixed_dynamics(p: Problem) -> tuple[Array, Array]:
    """AB dynamics with H -> H_f and a -> a + H_p* vdot_p; then f = phi (M alpha + b), T_p = H_p f; what acts along the
    dofs besides the force is part of both T_f and T_p."""
    assert p.prescribed is not None
    sko, where = p.sko, p.layout.v_slices
    held = [np.flatnonzero(p.prescribed[i]) for i in where]
    free = [np.flatnonzero(~p.prescribed[i]) for i in where]
    own = np.broadcast_to(along_dofs(p), (*p.batch, p.nv))
    force, vdot = columns(p, p.given["force"]), columns(p, p.given["vdot"])
    besides = columns(p, own)
    a = [sko.a(k) + (sko.H(k)[..., held[k], :].mT @ vdot[k][..., held[k], :])[..., 0] for k in sko.nodes]
    H_f = [sko.H(k)[..., free[k], :] for k in sko.nodes]
    M, b = [sko.M(k) for k in sko.nodes], [sko.b(k) for k in sko.nodes]
    partly = SKOModel.trusted(sko.tree, sko.edges, H_f, M, lambda: a, lambda: b, lock=sko.lock)
    found = forward_dynamics(partly, [(force[k] + besides[k])[..., free[k], :] for k in sko.nodes])
    f = gather(sko, sko.A, [M[k] @ found.alpha[k] + b[k][..., None] for k in sko.nodes])
    all_vdot = {k: _filled(vdot[k], free[k], found.vdot[k]) for k in sko.nodes}
    all_force = {
        k: _filled(force[k], held[k], sko.H(k)[..., held[k], :] @ f[k] - besides[k][..., held[k], :]) for k in sko.nodes
    }
    return vector(p, all_vdot), vector(p, all_force)


def _filled(known: Array, where: npt.NDArray[np.intp], found: Array) -> Array:
    """A column with the entries found put in their places."""
    lead = np.broadcast_shapes(known.shape[:-2], found.shape[:-2])
    column = np.array(np.broadcast_to(known, (*lead, *known.shape[-2:])))
    column[..., where, :] = found
    return column
