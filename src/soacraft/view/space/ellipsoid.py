"""Ellipsoids as nine numbers: those of a symmetric S, [xx, yy, zz, xy, xz, yz], and a centre c, for the points c + S u
with |u| = 1. They vary smoothly with a state, so that they can be mixed between two instants.
"""

from __future__ import annotations

import numpy as np

from soacraft.spatial.checks import Array
from soacraft.spatial.inertia import Inertia
from soacraft.view.space import surfaces
from soacraft.view.space.surfaces import Surface

#: A radius is drawn with this part of the largest at least, or nothing could be seen of it.
THINNEST = 0.01
#: Part of the largest mass along an axis up to which a mass counts as none.
NO_MASS = 1e-12
_UPPER = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)


def rigid_shape(inertia: Inertia) -> Array:
    """The uniform ellipsoid with the same mass and moments J about the centre of mass c:

        S^2 = 5 (tr(J)/2 I - J) / m

    Zeros, but for the centre, where there is no mass, or where it is in a point.

    >>> rigid_shape(Inertia.sphere(2.0, 0.5)).round(12)[:3]
    array([0.5, 0.5, 0.5])
    """
    J = np.asarray(inertia.moment)
    square = 5.0 * (0.5 * np.trace(J) * np.eye(3) - J) / inertia.mass if inertia.mass > 0.0 else np.zeros((3, 3))
    return shape(square, np.asarray(inertia.com))


def inertia_shape(inertia: Array) -> Array:
    """The ellipsoids (..., 9) of spatial inertias [[J, X], [X*, N]] about a point, (..., 6, 6):

        J_c = J - X N^-1 X*,   c~ = X N^-1,   m = tr(N) / 3,   S^2 = 5 (tr(J_c)/2 I - J_c) / m

    Of a rigid body, N = m I, it is that of `rigid_shape`. An articulated body has a mass for each direction; m is their
    mean.
    """
    J, X, N = inertia[..., :3, :3], inertia[..., :3, 3:], inertia[..., 3:, 3:]
    way = X @ np.linalg.pinv(N, rcond=NO_MASS, hermitian=True)
    J_c = J - way @ X.mT
    mass = np.trace(N, axis1=-2, axis2=-1)[..., None, None] / 3.0
    spread = 0.5 * np.trace(J_c, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - J_c
    square = np.where(mass > 0.0, 5.0 * spread / np.where(mass > 0.0, mass, 1.0), 0.0)
    centre = 0.5 * np.stack([way[..., 2, 1] - way[..., 1, 2], way[..., 0, 2] - way[..., 2, 0],
                             way[..., 1, 0] - way[..., 0, 1]], axis=-1)  # fmt: skip
    return shape(square, centre)


def shape(square: Array, centre: Array) -> Array:
    """The ellipsoid (..., 9) with S = square^1/2, and its centre (..., 3)."""
    values, axes = np.linalg.eigh(0.5 * (square + square.mT))
    radii = np.sqrt(np.maximum(values, 0.0))
    radii = np.maximum(radii, THINNEST * radii.max(axis=-1, keepdims=True))
    S = (axes * radii[..., None, :]) @ axes.mT
    return np.concatenate([S[..., _UPPER[0], _UPPER[1]], np.broadcast_to(centre, (*S.shape[:-2], 3))], axis=-1)


def surface_of(nine: Array) -> Surface | None:
    """The surface of one ellipsoid, in the axes it is given in; None where it has no extent."""
    if not nine[:3].any():
        return None
    S = np.empty((3, 3))
    S[_UPPER] = S[_UPPER[::-1]] = nine[:6]
    unit = surfaces.sphere(1.0)
    steep = unit.points @ np.linalg.pinv(S)
    length = np.linalg.norm(steep, axis=1, keepdims=True)
    return Surface(unit.points @ S + nine[6:], steep / np.where(length > 0.0, length, 1.0), unit.triangles)
