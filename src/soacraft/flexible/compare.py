"""Comparison of modes: effective masses, and the likeness of two sets of modes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from soacraft.errors import ModelError
from soacraft.model.modal import ModalData
from soacraft.model.modal.inertia import mass_matrix
from soacraft.spatial.checks import Array, finite


@dataclass(frozen=True, eq=False)
class EffectiveMass:
    """The vibrations of a body whose frame is held: `hz` (n,), effective `masses` along x, y, z (n, 3) in kg, effective
    moments of `inertia` about x, y, z of the body frame (n, 3) in kg m^2, and both as parts of the rigid body's (n, 6),
    masses first."""

    hz: Array
    masses: Array
    inertias: Array
    parts: Array


def effective_mass(data: ModalData) -> EffectiveMass:
    """Effective masses and inertias of the vibrations that the modes make with the body frame held.

    With M_re the coupling of body and modes, V the vibrations, K V = M V omega^2, V* M V = I: the squares of M_re V.
    Their sum over all modes is the mass of what moves; the modes do not show the rest.

    >>> import soacraft.flexible as fx
    >>> fe = fx.beam(2.0, fx.Rectangle(0.02, 0.03), fx.Elastic(70e9, 0.33, 2700.0), elements=20)
    >>> root = fe.interface("root", at=(0, 0, 0))
    >>> effective_mass(fx.reduce(fe, ["root"], "fixed", modes=4)).parts[:, 1].round(3)
    array([0.613, 0.   , 0.188, 0.   ])
    """
    values, V = eigh(data.K, data.M)
    matrix = mass_matrix(data, np.zeros(data.n))
    share = ((matrix[:6, 6:] @ V) ** 2).T
    rigid = np.diagonal(matrix)[:6]
    share = np.concatenate([share[:, 3:], share[:, :3]], axis=1)
    size = np.concatenate([rigid[3:], rigid[:3]])
    hz = np.sqrt(np.maximum(values, 0.0)) / (2.0 * np.pi)
    return EffectiveMass(hz, share[:, :3], share[:, 3:], share / np.where(size > 0.0, size, 1.0))


def mac(a: Any, b: Any) -> Array:
    """The modal assurance criterion, |a_i . b_j|^2 / (|a_i|^2 |b_j|^2), between two sets of modes: modal data with
    shapes at the same points, or arrays whose last axis counts modes. 1: the same shape; 0: none of it.

    Of modal data, turns of the nodes that both have count too, times the least radius of gyration of the body (of a
    beam, of its section): torsion moves no point of a beam's axis.

    >>> mac(np.eye(3), np.array([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])).round(3)
    array([[1. , 0.5],
           [0. , 0.5],
           [0. , 0. ]])
    """
    x, y = _shapes(a), _shapes(b)
    if x.shape[0] != y.shape[0]:
        raise ModelError(f"modes are compared at the same points; got {x.shape[0]} and {y.shape[0]} numbers for each.")
    if isinstance(a, ModalData) and isinstance(b, ModalData):
        names = [name for name in (*a.nodes, *a.fe_nodes) if name in b.nodes or name in b.fe_nodes]
        length = float(np.sqrt(_gyration(a) * _gyration(b)))
        x, y = (np.vstack([u, *(length * data.node(name).lam for name in names)]) for u, data in ((x, a), (y, b)))
    size = [np.einsum("ij,ij->j", u, u) for u in (x, y)]
    for u, which in zip(size, ("first", "second"), strict=True):
        if not u.all():
            raise ModelError(
                f"mode {int(np.argmin(u))} of the {which} set is zero at all points and turns no node: it cannot be "
                "compared."
            )
    return np.asarray((x.T @ y) ** 2 / np.outer(*size))


def _gyration(data: ModalData) -> float:
    """The least radius of gyration of a body: of its mass, from a plane through its centre."""
    c = data.first / data.mass
    return float(np.sqrt(max(np.linalg.eigvalsh(data.second / data.mass - np.outer(c, c))[0], 0.0)))


def _shapes(a: Any) -> Array:
    if isinstance(a, ModalData):
        if a.shapes is None:
            raise ModelError("these modal data have no shapes at points; give arrays of shapes.")
        return a.shapes.reshape(-1, a.n)
    x = np.asarray(a)
    return finite(x, (..., None), "modes to compare").reshape(-1, x.shape[-1] if x.ndim else 1)
