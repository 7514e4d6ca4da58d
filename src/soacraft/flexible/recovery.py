"""Strains and stresses of unit modal coordinates, which `data.recover` multiplies by eta.

    beams   in the middle of each element, in its axes x along it: strain (Gamma; kappa), section_force (N, Qy, Qz; Mx,
            My, Mz), and, where the section has a shape, stress: the normal stress E (Gamma_x + z kappa_y - y kappa_z)
            at its four outermost points
    solids  strain and stress, the means of each element over its integration points: xx, yy, zz, yz, xz, xy (strains
            yz, xz, xy are the angles gamma)
"""

from __future__ import annotations

import numpy as np

from soacraft.flexible.fe import FEModel
from soacraft.flexible.solids import Solid
from soacraft.spatial.checks import Array

_PAIRS = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))


def recovered(fe: FEModel, X: Array) -> dict[str, Array]:
    """Arrays (elements, ..., n) of dofs X (dofs, n); none for a model of matrices."""
    if fe.solid is not None:
        return _of_solid(fe.solid, X)
    return _of_beams(fe, X) if fe.elements else {}


def _of_beams(fe: FEModel, X: Array) -> dict[str, Array]:
    middle = np.array([0.5])
    strains = []
    for e in fe.elements:
        i, j = e.nodes
        _, B = e.interpolation(middle)
        d = np.concatenate([X[6 * i : 6 * i + 6], X[6 * j : 6 * j + 6]])
        strains.append(np.kron(np.eye(2), e.R.T) @ B[0] @ d)
    strain = np.array(strains)
    recovered = {"strain": strain, "section_force": np.array([e.C for e in fe.elements])[:, :, None] * strain}
    if all(e.section.outermost for e in fe.elements):
        at = np.array([e.section.outermost for e in fe.elements])  # (elements, 4, 2)
        E = np.array([e.material.E for e in fe.elements])[:, None, None]
        y, z = at[:, :, :1], at[:, :, 1:]
        recovered["stress"] = E * (strain[:, None, 0] + z * strain[:, None, 4] - y * strain[:, None, 5])
    return recovered


def _of_solid(solid: Solid, X: Array) -> dict[str, Array]:
    elements, points = solid.volumes.shape
    weights = solid.volumes / solid.volumes.sum(axis=1, keepdims=True)
    strain, stress = np.zeros((elements, 6, X.shape[1])), np.zeros((elements, 6, X.shape[1]))
    for k in range(X.shape[1]):  # by modes: all at once would need a large array
        H = solid.gradient(X[:, k : k + 1]).reshape(elements, points, 3, 3)
        mean = np.einsum("eq,eqab->eab", weights, H)
        angles = mean + mean.swapaxes(1, 2)
        for c, (a, b) in enumerate(_PAIRS):
            strain[:, c, k] = angles[:, a, b] * (0.5 if a == b else 1.0)
        pressure = solid.material.lame * np.trace(mean, axis1=1, axis2=2)
        for c, (a, b) in enumerate(_PAIRS):
            stress[:, c, k] = solid.material.G * angles[:, a, b] + (pressure if a == b else 0.0)
    return {"strain": strain, "stress": stress}
