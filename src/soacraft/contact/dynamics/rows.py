"""Velocities at contacts by dofs.

For each point a row along the normal, two along the tangents where it rubs, one about the normal where it resists
spinning, two about the tangents where it resists rolling.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from soacraft.contact.dynamics.surfaces import Surfaces
from soacraft.contact.geometry.scene import Scene
from soacraft.contact.geometry.table import Contacts
from soacraft.contact.solvers.blocks import Cone
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import axes_along

#: Relative motions below this are rounding, where they cancel: nothing presses along them.
_CANCELLED = 1e-13


@dataclass(frozen=True, eq=False)
class ContactRows:
    """The points that touch: J (rows, nv), for each point the rows of its law; gaps, and what each pair obeys."""

    contacts: Contacts
    axes: Array
    """Normal and two tangents of each point, in inertial axes, (points, 3, 3)."""
    J: Array
    laws: tuple[Cone, ...]
    restitution: Array
    slip: Array
    """Velocities of moving surfaces, (rows)."""

    def __len__(self) -> int:
        return len(self.laws)

    @cached_property
    def normals(self) -> npt.NDArray[np.intp]:
        """The number of the normal row of each point."""
        return np.cumsum([0, *(law.rows for law in self.laws)])[:-1]

    @property
    def gap(self) -> Array:
        """Signed distances."""
        return self.contacts.distance

    def wrenches(self, p: Array) -> Array:
        """The impulses p (rows) of the points as [moment; force] on b at the point, in inertial axes, (points, 6)."""
        wrenches = np.zeros((len(self), 6))
        for i, (law, first) in enumerate(zip(self.laws, self.normals, strict=True)):
            parts = np.zeros(6)
            parts[: law.rows] = p[first : first + law.rows]
            wrenches[i, 3:], wrenches[i, :3] = parts[:3] @ self.axes[i], parts[3:] @ self.axes[i]
        return wrenches


def contact_rows(scene: Scene, surfaces: Surfaces, q: Array, within: float) -> ContactRows:
    """The rows of all contacts with gaps of at most `within`, in the order of the names of their shapes. Velocities are
    those of the second shape relative to the first, at one point where both move: so what carries both has none, and
    impulses keep the angular momentum. O(points nv)."""
    contacts = scene.contacts(q, within)
    J, most = scene.sized_twists(contacts, meet=True)
    axes = np.array([axes_along(n) for n in contacts.normal]).reshape(-1, 3, 3)
    laws, e, row_numbers = [], np.zeros(len(contacts)), [np.zeros(0, dtype=np.intp)]
    for i, (a, b) in enumerate(contacts.pairs):
        coefficients, e[i] = surfaces.of(a, b)
        laws.append(Cone(coefficients, name=f"{a} - {b}"))
        row_numbers.append(6 * i + np.arange(laws[-1].rows))
    rows = np.concatenate([axes @ J[:, 3:], axes @ J[:, :3]], axis=1)
    rows[np.abs(rows) <= _CANCELLED * np.repeat(most[:, ::-1], 3, axis=1)] = 0.0
    rows = rows.reshape(6 * len(contacts), J.shape[-1])
    slip = np.zeros((len(contacts), 6))
    slip[:, :3] = np.einsum("pij,pj->pi", axes, contacts.surface_velocity)
    used = np.concatenate(row_numbers)
    return ContactRows(contacts, axes, rows[used], tuple(laws), e, slip.reshape(-1)[used])


def some_points(rows: ContactRows, keep: npt.NDArray[np.intp]) -> ContactRows:
    """Some of the points."""
    c = rows.contacts
    some = type(c)(
        c.names, c.q, c.state[keep], c.a[keep], c.b[keep], c.distance[keep], c.point_a[keep], c.point_b[keep],
        c.normal[keep], c.error[keep], c.surface_velocity[keep], c.key,
    )  # fmt: skip
    laws = tuple(rows.laws[int(i)] for i in keep)
    used = [rows.normals[i] + np.arange(law.rows) for i, law in zip(keep, laws, strict=True)]
    row_numbers = np.concatenate([np.zeros(0, dtype=np.intp), *used])
    return ContactRows(some, rows.axes[keep], rows.J[row_numbers], laws, rows.restitution[keep], rows.slip[row_numbers])


def same_points(before: ContactRows, after: ContactRows, within: float) -> list[int] | None:
    """Match the points after a step to points of the same shapes before it: the nearest unmatched one, within the
    distance `within`; None where a point has none. O(points^2).
    """
    middles = [0.5 * (x.contacts.point_a + x.contacts.point_b) for x in (before, after)]
    unmatched, pairs = list(range(len(before))), []
    for i, (a, b) in enumerate(zip(after.contacts.a, after.contacts.b, strict=True)):
        same = [k for k in unmatched if before.contacts.a[k] == a and before.contacts.b[k] == b]
        away = [float(np.linalg.norm(middles[0][k] - middles[1][i])) for k in same]
        if not same or min(away) > within:
            return None
        pairs.append(same[len(away) - 1 - int(np.argmin(away[::-1]))])
        unmatched.remove(pairs[-1])
    return pairs
