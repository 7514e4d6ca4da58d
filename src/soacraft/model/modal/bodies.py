"""The inertia of flexible bodies in a tree, and the forces b that come of it, with the rows of their modes. Body axes.

With U = [V; etad] and M(eta), dM_j = dM/d eta_j, Mdot = sum etad_j dM_j:

    b_r = (Mdot U)_r + crf(V) (M U)_r,       b_e = (Mdot U)_e - 1/2 U* dM_j U + K eta + D etad
    weight = M [0; g; 0]

Both come of one M, so that energy and momentum are kept exactly, whatever M leaves out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from soacraft.model.flat.realize import times
from soacraft.model.modal.data import SYMMETRY
from soacraft.model.modal.inertia import mass_derivatives, mass_matrix
from soacraft.spatial.checks import Array, frozen
from soacraft.spatial.transforms import crf

if TYPE_CHECKING:
    from soacraft.model.flat.layout import Layout
    from soacraft.model.modal.deformation import Deformation


class WithModes(NamedTuple):
    """Vectors of bodies (..., n, 6), and the rows of modes, by body."""

    bodies: Array
    modes: dict[int, Array]


def inertias(layout: Layout, d: Deformation) -> dict[int, Array]:
    """M(eta) by body, (..., 6 + n, 6 + n)."""
    return {k: frozen(mass_matrix(layout.modal(k), d.eta(k))) for k in layout.flexible}


def rigid_parts(layout: Layout, M: dict[int, Array], batch: tuple[int, ...]) -> Array:
    """The six of all bodies, (..., n, 6, 6)."""
    total = np.array(np.broadcast_to(layout.M, (*batch, *layout.M.shape)))
    for k, block in M.items():
        total[..., k, :, :] = block[..., :6, :6]
    return frozen(total)


def velocity_forces(layout: Layout, d: Deformation, M: dict[int, Array], V: Array, v: Array, rigid: Array) -> WithModes:
    """b without gravity and external forces; `rigid` is crf(V) M V of rigid bodies."""
    lead = np.broadcast_shapes(V.shape[:-2], v.shape[:-1], d.q.shape[:-1])
    total, modes = np.array(np.broadcast_to(rigid, (*lead, layout.n, 6))), {}
    for k in layout.flexible:
        data, eta, rate = layout.modal(k), d.eta(k), d.rates(v, k)
        U = _joined(V[..., k, :], rate)
        dM = mass_derivatives(data, eta)
        slopes = (dM @ U[..., None, :, None])[..., 0]  # dM_j U, (..., j, 6 + n)
        turning = np.einsum("...j,...jm->...m", rate, slopes)
        momentum = times(M[k], U)
        total[..., k, :] = turning[..., :6] + times(crf(V[..., k, :]), momentum[..., :6])
        inner = turning[..., 6:] - 0.5 * np.einsum("...m,...jm->...j", U, slopes)
        assert data.D is not None
        modes[k] = inner + eta @ data.K + rate @ data.D
    return WithModes(total, modes)


def weights(layout: Layout, M: dict[int, Array], g: Array, rigid: Array) -> WithModes:
    """M [0; g; 0] with g in body axes, (..., n, 3); `rigid` is that of rigid bodies."""
    batch = np.broadcast_shapes(rigid.shape[:-2], g.shape[:-2], *(x.shape[:-2] for x in M.values()))
    total, modes = np.array(np.broadcast_to(rigid, (*batch, layout.n, 6))), {}
    for k, block in M.items():
        pull = times(block[..., 3:6], g[..., k, :])
        total[..., k, :], modes[k] = pull[..., :6], pull[..., 6:]
    return WithModes(total, modes)


def not_positive(layout: Layout, k: int, M: Array, eta: Array) -> str | None:
    """What to say of M(eta) (6 + n, 6 + n) of a flexible body at one state where it is not positive.

    It may be so along motions that no hinge has: a line of masses, whose modes leave out what is of third order. So it
    is asked for where a hinge or a mass matrix is not positive, and not before.
    """
    diagonal = np.abs(np.diagonal(M))
    root = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))  # a negative one becomes -1
    if np.linalg.eigvalsh(M / np.outer(root, root))[0] >= -SYMMETRY:
        return None
    text = ", ".join(f"{x:.3g}" for x in eta)
    return (
        f"the mass matrix of flexible body {layout.bodies[k].name!r} is not positive at eta = ({text}): its modes are "
        "taken beyond where their second order holds. Keep them smaller, or divide the body with "
        "sc.flexible.substructure."
    )


def _joined(V: Array, rate: Array) -> Array:
    lead = np.broadcast_shapes(V.shape[:-1], rate.shape[:-1])
    return np.concatenate([np.broadcast_to(V, (*lead, 6)), np.broadcast_to(rate, (*lead, rate.shape[-1]))], axis=-1)
