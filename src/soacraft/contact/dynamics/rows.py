"""Velocities at contacts by dofs: a row along the normal and two along tangents for each point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soacraft.contact.dynamics.surfaces import Surfaces
from soacraft.contact.geometry.scene import Scene
from soacraft.contact.geometry.table import Contacts
from soacraft.contact.solvers.blocks import Cone
from soacraft.spatial.checks import Array


@dataclass(frozen=True, eq=False)
class ContactRows:
    """The points that touch: J (3 points, nv) of normal and tangents, gaps, and what each pair obeys."""

    contacts: Contacts
    axes: Array
    """Normal and two tangents of each point, in inertial axes, (points, 3, 3)."""
    J: Array
    laws: tuple[Cone, ...]
    restitution: Array
    slip: Array
    """Velocities of moving surfaces in the same axes, (points, 3)."""

    def __len__(self) -> int:
        return len(self.laws)

    @property
    def gap(self) -> Array:
        """Signed distances."""
        return self.contacts.distance


def contact_rows(scene: Scene, surfaces: Surfaces, q: Array, within: float) -> ContactRows:
    """The rows of all contacts with gaps of at most `within`, in the order of the names of their shapes. Velocities are
    those of the second shape relative to the first. O(points nv)."""
    found = scene.contacts(q, within)
    J = scene.jacobian(found)
    axes = np.array([frame_of(n) for n in found.normal]).reshape(-1, 3, 3)
    laws, e = [], np.zeros(len(found))
    for i, (a, b) in enumerate(found.pairs):
        mu, e[i] = surfaces.of(a, b)
        laws.append(Cone(mu, name=f"{a} - {b}"))
    rows = np.einsum("pij,pjk->pik", axes, J).reshape(-1, J.shape[-1])
    slip = np.einsum("pij,pj->pi", axes, found.surface_velocity)
    return ContactRows(found, axes, rows, tuple(laws), e, slip)


def frame_of(normal: Array) -> Array:
    """The normal and two tangents, right-handed, chosen by the normal alone.

    >>> frame_of(np.array([0.0, 0.0, 1.0]))
    array([[0., 0., 1.],
           [1., 0., 0.],
           [0., 1., 0.]])
    """
    away = np.zeros(3)
    away[int(np.argmin(np.abs(normal)))] = 1.0
    first = away - (away @ normal) * normal
    first /= np.linalg.norm(first)
    return np.array([normal, first, np.cross(normal, first)])
