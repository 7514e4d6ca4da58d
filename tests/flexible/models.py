"""Beams of unit length, mass and bending stiffness for the tests."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

import soacraft.flexible as fx
from soacraft.model.modal import ModalData
from soacraft.model.modal.inertia import mass_matrix

#: (radius of gyration / length)^2 of the slender beams: what rotary inertia changes of Euler's values.
SLENDER = 1e-9


def slender(elements=20, theory="euler", thin=SLENDER, **directions):
    """Of length 1, mass 1 and E Iy = E Iz = 1, with interfaces at both ends."""
    section = fx.Section(A=1.0, Iy=thin, Iz=thin, J=2 * thin)
    fe = fx.beam(1.0, section, fx.Elastic(1.0 / thin, 0.3, 1.0), elements, theory, **directions)
    fe.interface("root", at=0 * fe.nodes[-1])
    fe.interface("tip", at=fe.nodes[-1])
    return fe


def joined(data: ModalData, hinge) -> tuple[np.ndarray, np.ndarray]:
    """K and M at eta = 0 of a body on a hinge with velocity map (6, nv), [angular; linear] of the body frame."""
    M = mass_matrix(data, np.zeros(data.n))
    hinge = np.asarray(hinge, dtype=float).reshape(6, -1)
    X = np.zeros((6 + data.n, hinge.shape[1] + data.n))
    X[:6, : hinge.shape[1]], X[6:, hinge.shape[1] :] = hinge, np.eye(data.n)
    K = np.zeros((X.shape[1],) * 2)
    K[hinge.shape[1] :, hinge.shape[1] :] = data.K
    return K, X.T @ M @ X


def held_frequencies(K, M):
    """omega of K x = omega^2 M x in rising order, K definite: of M x = K x / omega^2, whose largest are sharp."""
    return 1.0 / np.sqrt(eigh(M, K, eigvals_only=True)[::-1])


def in_plane(values, tolerance=1e-6):
    """Each frequency once where two planes have the same."""
    kept = []
    for x in values:
        if not kept or x > kept[-1] * (1 + tolerance):
            kept.append(x)
    return np.array(kept)
