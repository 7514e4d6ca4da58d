"""The beam element of two nodes and twelve dofs: its field, its strains, and FE models assembled of such elements.

In the element's axes, x along it, the field [u; theta] of its axis and its strains are linear in its dofs
d = [u1, theta1, u2, theta2]:

    [u; theta](x) = N(x) d,     Gamma = u' - theta x e1,     kappa = theta',     [Gamma; kappa] = B(x) d

with the interpolation that solves the unloaded beam exactly (Przemieniecki 1968, Friedman and Kosmatka 1993): cubic in
bending with Phi = 12 EI / (k G A l^2), linear in stretch and twist. Phi = 0 is Euler's beam, whose sections stay normal
to its axis. Sections are rigid and carry their mass at four points each, so that rotary and torsional inertia are in M:

    K = int B* C B dx,    C = diag(EA, ky GA, kz GA, GJ, E Iy, E Iz);     u(x, y, z) = u(x) + theta(x) x (0, y, z)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from soacraft.errors import ModelError
from soacraft.flexible.fe import FEModel
from soacraft.flexible.materials import Elastic
from soacraft.flexible.sections import Section, Shape, numbers
from soacraft.spatial.checks import Array, unit
from soacraft.spatial.rotations import skew

#: Points of quadrature along an element: exact for M (degree 6) and for second-order displacements (their rate: 4).
_X, _WEIGHTS = np.polynomial.legendre.leggauss(5)
GAUSS, WEIGHTS = 0.5 * (_X + 1.0), 0.5 * _WEIGHTS
THEORIES = ("timoshenko", "euler")


@dataclass(frozen=True, eq=False)
class BeamElement:
    """One element: its nodes, length, axes R (columns e1, e2, e3 in those of the model), section, material, theory, and
    the section as it was given."""

    nodes: tuple[int, int]
    length: float
    R: Array
    section: Section
    material: Elastic
    theory: str
    shape: Shape

    @property
    def C(self) -> Array:
        """The stiffness of the section, (6,): EA, ky GA, kz GA, GJ, E Iy, E Iz."""
        s, E, G = self.section, self.material.E, self.material.G
        return np.array([E * s.A, s.ky * G * s.A, s.kz * G * s.A, G * s.J, E * s.Iy, E * s.Iz])

    def interpolation(self, x: Array) -> tuple[Array, Array]:
        """N and B at places x in 0 ... 1, (k, 6, 12) each, dofs, field and strains in the axes of the model."""
        N, B = np.zeros((len(x), 6, 12)), np.zeros((len(x), 6, 12))
        for row in (0, 3):  # stretch and twist
            N[:, row, row], N[:, row, row + 6] = 1.0 - x, x
            B[:, row, row], B[:, row, row + 6] = -1.0 / self.length, 1.0 / self.length
        C = self.C
        for v, r, sign, bending, shear in ((1, 5, 1.0, C[5], C[1]), (2, 4, -1.0, C[4], C[2])):
            Phi = 12.0 * bending / (shear * self.length**2) if self.theory == "timoshenko" else 0.0
            deflection, turn, curvature, slide = _bending(x, self.length, Phi)
            columns, signs = [v, r, v + 6, r + 6], np.array([1.0, sign, 1.0, sign])
            N[:, v, columns] = deflection * signs  # in the plane xz the slope is -theta_y
            N[:, r, columns] = sign * turn * signs
            B[:, v, columns] = slide * signs
            B[:, r, columns] = sign * curvature * signs
        to, back = np.kron(np.eye(2), self.R), np.kron(np.eye(4), self.R.T)
        return to @ N @ back, to @ B @ back

    @cached_property
    def at_gauss(self) -> tuple[Array, Array]:
        """`interpolation` at the points of quadrature."""
        return self.interpolation(GAUSS)

    def K(self) -> Array:
        """Stiffness matrix of the element, (12, 12)."""
        _, B = self.at_gauss
        to = np.kron(np.eye(2), self.R)
        C = to * self.C @ to.T
        return np.asarray(np.einsum("k,kai,ab,kbj->ij", self.length * WEIGHTS, B, C, B, optimize=True))

    def offsets(self) -> Array:
        """Places of the section's points relative to the axis, (4, 3)."""
        return np.asarray(self.section.points @ self.R[:, 1:].T)

    def field(self) -> Array:
        """Displacement at the section's points at the points of quadrature, of its dofs, (5 x 4, 3, 12)."""
        N, _ = self.at_gauss
        u, theta = N[:, None, :3], N[:, None, 3:]
        return np.asarray(u - skew(self.offsets()) @ theta).reshape(-1, 3, 12)


def _bending(x: Array, l: float, Phi: float) -> tuple[Array, Array, Array, Array]:
    """Deflection v, turn t of the section, t' and v' - t of the dofs (v1, t1, v2, t2), (k, 4) each."""
    one = np.ones_like(x)
    v = [1 - 3 * x**2 + 2 * x**3 + Phi * (1 - x), l * (x - 2 * x**2 + x**3 + 0.5 * Phi * (x - x**2)),
         3 * x**2 - 2 * x**3 + Phi * x, l * (x**3 - x**2 + 0.5 * Phi * (x**2 - x))]  # fmt: skip
    t = [6 * (x**2 - x) / l, 1 - 4 * x + 3 * x**2 + Phi * (1 - x), 6 * (x - x**2) / l, 3 * x**2 - 2 * x + Phi * x]
    dt = [6 * (2 * x - 1) / l**2, (6 * x - 4 - Phi) / l, 6 * (1 - 2 * x) / l**2, (6 * x - 2 + Phi) / l]
    slide = [-Phi / l * one, -0.5 * Phi * one, Phi / l * one, -0.5 * Phi * one]
    parts = tuple(np.stack(each, axis=-1) / (1.0 + Phi) for each in (v, t, dt, slide))
    return parts[0], parts[1], parts[2], parts[3]


def element(
    nodes: Array, i: int, j: int, section: Shape, material: Elastic, theory: str, up: Any = None, name: str = "beam"
) -> BeamElement:
    """The element between two nodes; `up` is a direction in its plane xz, by default z (x where it is along z)."""
    if theory not in THEORIES:
        raise ModelError(f"theory of {name} must be 'timoshenko' or 'euler', got {theory!r:.40}.")
    if not isinstance(material, Elastic):
        raise ModelError(f"the material of {name} must be Elastic(E, nu, rho), got {material!r:.60}.")
    along = nodes[j] - nodes[i]
    length = float(np.linalg.norm(along))
    if length <= 0.0:
        raise ModelError(f"{name} has no length: its ends are at the same place.")
    e1 = along / length
    if up is None:
        up = (1.0, 0.0, 0.0) if abs(e1[2]) > 0.99 else (0.0, 0.0, 1.0)
    e3 = unit(up, f"up of {name}")
    e3 = e3 - (e3 @ e1) * e1
    size = float(np.linalg.norm(e3))
    if size < 1e-6:
        raise ModelError(f"up of {name} is along the beam; give a direction across it.")
    e3 = e3 / size
    R = np.column_stack([e1, np.cross(e3, e1), e3])
    return BeamElement((i, j), length, R, numbers(section), material, theory, section)


def assemble(nodes: Array, elements: Sequence[BeamElement], names: Mapping[str, int] | None = None) -> FEModel:
    """The FE model of these elements."""
    size, count = 6 * len(nodes), len(elements)
    dofs = np.array([[*range(6 * i, 6 * i + 6), *range(6 * j, 6 * j + 6)] for i, j in (e.nodes for e in elements)])
    K = np.array([e.K() for e in elements])
    rows, columns = np.broadcast_arrays(dofs[:, :, None], dofs[:, None, :])
    stiffness = csr_array((K.ravel(), (rows.ravel(), columns.ravel())), shape=(size, size))
    field = np.array([e.field() for e in elements])  # (elements, 20, 3, 12)
    per = field.shape[1]
    row = np.broadcast_to(np.arange(3 * per * count).reshape(count, per, 3, 1), field.shape)
    column = np.broadcast_to(dofs[:, None, None, :], field.shape)
    U = csr_array((field.ravel(), (row.ravel(), column.ravel())), shape=(3 * per * count, size))
    U.eliminate_zeros()
    places = [nodes[e.nodes[0]] + GAUSS[:, None, None] * e.length * e.R[:, 0] + e.offsets() for e in elements]
    lumps = [np.repeat(WEIGHTS * e.length * e.material.rho * e.section.A / 4.0, 4) for e in elements]
    masses = csr_array(diags_array(np.concatenate(lumps)))
    return FEModel(nodes, stiffness, np.concatenate(places).reshape(-1, 3), masses, U, elements=elements, names=names)
