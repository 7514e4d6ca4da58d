"""The inertia of flexible bodies in a tree, and the forces b that come of it, with the rows of their modes (formula
F17). Body axes.

With U = [V; etad] and M(eta), dM_j = dM/d eta_j, Mdot = sum etad_j dM_j:

    b_r = (Mdot U)_r + crf(V) (M U)_r,       b_e = (Mdot U)_e - 1/2 U* dM_j U + K eta + D etad
    weight = M [0; g; 0]

Both come of one M, so that energy and momentum are kept exactly, whatever M leaves out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakSet

import numpy as np

from soacraft.model.flat.realize import times, turning_force
from soacraft.model.modal.data import SYMMETRY, ModalData
from soacraft.model.modal.inertia import mass_derivatives, mass_matrix, second_derivatives
from soacraft.model.modal.nodes import theta
from soacraft.spatial.checks import Array, frozen
from soacraft.spatial.transforms import crf, crf_with

if TYPE_CHECKING:
    from soacraft.model.flat.layout import Layout
    from soacraft.model.modal.deformation import Deformation
    from soacraft.model.tree.frames.frame import Body


#: Radians: beyond them terms of third order are a few percent of what the modes hold.
LARGE_TURN = 0.3
#: Bodies whose turns were told.
_TOLD: WeakSet[Body] = WeakSet()
_UNREPORTED: ContextVar[bool] = ContextVar("turns_unreported", default=False)


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
        of_modes = times(crf(V[..., k, :]), times(M[k][..., :6, 6:], rate))
        total[..., k, :] = turning[..., :6] + turning_force(M[k][..., :6, :6], V[..., k, :]) + of_modes
        inner = turning[..., 6:] - 0.5 * np.einsum("...m,...jm->...j", U, slopes)
        assert data.D is not None
        modes[k] = inner + eta @ data.K + rate @ data.D
    return WithModes(total, modes)


class ForceSlopes(NamedTuple):
    """The derivatives of F = M(eta) W + b(U, eta), at W = [alpha; etadd] held: in U (..., 6 + n, 6 + n), along eta
    (..., 6 + n, n).
    """

    in_U: Array
    along_eta: Array


def force_slopes(
    data: ModalData, eta: Array, rate: Array, V: Array, W: Array, stiffness: bool = True
) -> ForceSlopes:
    """Derivatives of b of one flexible body without external forces; gravity is in W, as an acceleration -g.
    `stiffness=False` leaves K out.

    dF_r = dM_i W + (d Mdot_i U + crf(V) dM_i U)_r,    dF_j = (dM_i W)_j - 1/2 V* d2M_ij V + K_ij
    """
    n = data.n
    U = _joined(V, rate)
    M, dM, d2M = mass_matrix(data, eta), mass_derivatives(data, eta), second_derivatives(data)
    slopes = (dM @ U[..., None, :, None])[..., 0]  # dM_j U, (..., j, 6 + n)
    push, momentum = crf(V), times(M, U)[..., :6]
    in_U = np.array(np.broadcast_to(np.einsum("...j,...jab->...ab", rate, dM), (*U.shape[:-1], 6 + n, 6 + n)))
    in_U[..., :, 6:] += slopes.mT
    in_U[..., 6:, :] -= slopes
    in_U[..., :6, :] += push @ M[..., :6, :]
    in_U[..., :6, :6] += crf_with(momentum)
    in_U[..., 6:, 6:] += 0.0 if data.D is None else data.D
    bent = np.einsum("ijab,...b->...ija", d2M, V)
    along = np.array(np.broadcast_to((dM @ W[..., None, :, None])[..., 0].mT, (*U.shape[:-1], 6 + n, n)))
    along[..., :6, :] += np.einsum("...j,...ija->...ai", rate, bent) + push @ slopes[..., :6].mT
    along[..., 6:, :] += (data.K if stiffness else 0.0) - 0.5 * np.einsum("...a,...ija->...ij", V, bent)
    return ForceSlopes(in_U, along)


def weights(layout: Layout, M: dict[int, Array], g: Array, rigid: Array) -> WithModes:
    """M [0; g; 0] with g in body axes, (..., n, 3); `rigid` is that of rigid bodies."""
    batch = np.broadcast_shapes(rigid.shape[:-2], g.shape[:-2], *(x.shape[:-2] for x in M.values()))
    total, modes = np.array(np.broadcast_to(rigid, (*batch, layout.n, 6))), {}
    for k, block in M.items():
        pull = times(block[..., 3:6], g[..., k, :])
        total[..., k, :], modes[k] = pull[..., :6], pull[..., 6:]
    return WithModes(total, modes)


def not_positive(layout: Layout, k: int, M: Array, eta: Array) -> str | None:
    """Text about M(eta) (6 + n, 6 + n) of a flexible body at one state where it is not positive; None where it is.

    It may be not positive along motions that no hinge has: a line of masses, whose modes leave out terms of third
    order. So it is tested only where a hinge or a mass matrix is not positive.
    """
    diagonal = np.abs(np.diagonal(M))
    root = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))  # a negative one becomes -1
    if np.linalg.eigvalsh(M / np.outer(root, root))[0] >= -SYMMETRY:
        return None
    text = ", ".join(f"{x:.3g}" for x in eta)
    name, turn = largest_turn(layout.modal(k), eta)
    turned = f", where its node {name!r} turns by {turn:.3g} rad" if name else ""
    return (
        f"the mass matrix of flexible body {layout.bodies[k].name!r} is not positive at eta = ({text}){turned}: its "
        "modes are taken beyond where their second order holds. Keep them smaller; with the mean frame they hold much "
        "further (sc.flexible.rereference(data, 'mean') and hinge_node=); or divide the body with "
        "sc.flexible.substructure."
    )


def largest_turn(data: ModalData, eta: Array) -> tuple[str, float]:
    """The node of a body that turns most relative to its frame at eta (..., n), and the angle; "" where none does."""
    turns = {name: float(np.linalg.norm(theta(node, eta), axis=-1).max()) for name, node in data.nodes.items()}
    name = max(turns, key=turns.__getitem__, default="")
    return (name, turns[name]) if turns.get(name) else ("", 0.0)


@contextmanager
def turns_unreported() -> Iterator[None]:
    """Context without reports of large turns, for states that are only drawn, such as a deformation shown enlarged."""
    before = _UNREPORTED.set(True)
    try:
        yield
    finally:
        _UNREPORTED.reset(before)


def report_turns(layout: Layout, d: Deformation) -> None:
    """Warn, once for each body, of elastic turns that modes of second order do not tell any more."""
    if _UNREPORTED.get():
        return
    for k in layout.flexible:
        body = layout.bodies[k]
        if body in _TOLD:
            continue
        name, turn = largest_turn(layout.modal(k), d.eta(k))
        if turn > LARGE_TURN:
            _TOLD.add(body)
            warnings.warn(
                f"node {name!r} of flexible body {body.name!r} turns by {turn:.3g} rad relative to its body; modes "
                f"hold up to about {LARGE_TURN} rad. Divide the body with sc.flexible.substructure. (Said once.)",
                RuntimeWarning,
                stacklevel=2,
            )


def _joined(V: Array, rate: Array) -> Array:
    lead = np.broadcast_shapes(V.shape[:-1], rate.shape[:-1])
    return np.concatenate([np.broadcast_to(V, (*lead, 6)), np.broadcast_to(rate, (*lead, rate.shape[-1]))], axis=-1)
