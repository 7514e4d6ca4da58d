"""Spatial inertia of a rigid body."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from soacraft.errors import ModelError
from soacraft.spatial.checks import Array, finite, frozen, number_text, unit
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import skew

_EPS = float(np.finfo(float).eps)
_SYMMETRY = 1e-8  # of the largest moment, or mass: files have few digits
_NEGATIVE = 1e-9  # an eigenvalue, of the largest moment
_SURELY = 1e-10


class Inertia:
    """Mass, centre of mass and moment of inertia of a rigid body. Immutable.

    `com` is in the body frame; `moment` (3x3, symmetric) is about the centre of mass, in body axes. Refused:
    negative mass, entries that are not finite, a moment that is not symmetric or has a negative eigenvalue.

    >>> Inertia(2.0, (0, 0, 0.2), np.diag([0.1, 0.1, 0.02]))
    Inertia(mass=2, com=(0, 0, 0.2), moment=[[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.02]])
    """

    __slots__ = ("_com", "_mass", "_matrix", "_moment", "_row")
    _mass: float
    _com: Array
    _moment: Array
    _matrix: Array | None
    _row: bytes

    def __init__(self, mass: Any = 0.0, com: Any = (0.0, 0.0, 0.0), moment: Any = None) -> None:
        m = _mass(mass)
        c = finite(com, (3,), "com of an Inertia")
        J = np.zeros((3, 3)) if moment is None else finite(moment, (3, 3), "moment of an Inertia")
        if m < 0.0:
            raise ModelError(f"mass of an Inertia must not be negative, got {number_text(m)}")
        x, y, z = c.tolist()
        spread = m * (x * x + y * y + z * z)
        if not isfinite(spread):
            raise ModelError(f"com of an Inertia is too far away, got {number_text(float(np.abs(c).max()))}")
        self._mass, self._com, self._matrix = m, frozen(c), None
        self._moment = frozen(_checked_moment(J, rounding=64 * _EPS * spread))

    @classmethod
    def of_finite(cls, mass: float, com: Array, moment: Array) -> Inertia:
        """An inertia of float64 arrays known to be finite and of moderate size; they become read-only and are not
        copied. The rest is checked as always.

        >>> Inertia.of_finite(2.0, np.zeros(3), np.eye(3)) == Inertia(2.0, (0, 0, 0), np.eye(3))
        True
        """
        if mass < 0.0 or not _plainly_positive(*moment.ravel().tolist()):
            return Inertia(mass, com, moment)
        inertia = object.__new__(Inertia)
        inertia._mass, inertia._com, inertia._moment, inertia._matrix = mass, frozen(com), frozen(moment), None
        return inertia

    # -- parts ----------------------------------------------------------------------------------------------

    @property
    def mass(self) -> float:
        """The mass in kg."""
        return self._mass

    @property
    def com(self) -> Array:
        """The centre of mass in the body frame (3), read-only."""
        return self._com

    @property
    def moment(self) -> Array:
        """The moment of inertia about the centre of mass in body axes (3, 3), read-only."""
        return self._moment

    @property
    def row(self) -> bytes:
        """Mass, centre of mass and moment by rows, as bytes of thirteen numbers; made once. Tables of models are joined
        of them.

        >>> np.frombuffer(Inertia(2.0, (0, 0, 1)).row)[:4]
        array([2., 0., 0., 1.])
        """
        try:
            return self._row
        except AttributeError:
            self._row = np.array([self._mass, *self._com, *self._moment.ravel()]).tobytes()
            return self._row

    def matrix(self) -> Array:
        """The spatial inertia about the body frame (6, 6), read-only.

            M = [[J, m c~], [-m c~, m I]],   J = moment - m c~ c~

        >>> Inertia(2.0, (0, 0, 1)).matrix()[0]
        array([ 2.,  0.,  0.,  0., -2.,  0.])
        """
        if self._matrix is None:
            C = skew(self._com)
            M = np.empty((6, 6))
            M[:3, :3] = self._moment - self._mass * (C @ C)
            M[:3, 3:] = self._mass * C
            M[3:, :3] = -self._mass * C
            M[3:, 3:] = self._mass * np.eye(3)
            self._matrix = frozen(M)
        return self._matrix

    @classmethod
    def from_matrix(cls, matrix: Any) -> Inertia:
        """The inertia of a 6x6 spatial inertia about the body frame; refused if it has not that form.

        >>> Inertia.from_matrix(Inertia.sphere(5, 1).matrix()) == Inertia.sphere(5, 1)
        True
        """
        M = finite(matrix, (6, 6), "matrix of an Inertia")
        m = float(np.trace(M[3:, 3:])) / 3.0
        mc = 0.5 * (M[:3, 3:] - M[:3, 3:].T)
        com = np.array([mc[2, 1], mc[0, 2], mc[1, 0]]) / m if m > 0.0 else np.zeros(3)
        C = skew(com)
        moments, masses = float(np.abs(M[:3, :3]).max()), float(np.abs(M[3:, 3:]).max())
        mixed = np.sqrt(moments) * np.sqrt(masses)  # what m c~ is bounded by
        form = np.block([[M[:3, :3], m * C], [-m * C, m * np.eye(3)]])
        size = np.repeat(np.repeat([[moments, mixed], [mixed, masses]], 3, axis=0), 3, axis=1)
        gap = np.abs(M - form)
        if (gap > _SYMMETRY * size).any():
            raise ModelError("matrix of an Inertia must have the form [[J, m c~], [-m c~, m I]] (angular "
                             f"first), but differs from it by {float(gap.max()):.3g}")
        J = M[:3, :3] + m * (C @ C)
        J[np.abs(J) <= 8 * _EPS * moments] = 0.0
        return cls(m, com, J)

    # -- the same inertia elsewhere, and sums ---------------------------------------------------------------

    def transformed(self, pose: Pose) -> Inertia:
        """Inertia in another frame; `pose` is the pose of the present frame in the new one.

            M_new = phi M phi*,   phi = pose.phi()

        >>> Inertia(2.0).transformed(Pose(translation=(0, 0, 1))).com
        array([0., 0., 1.])
        """
        R = pose.rotation
        with np.errstate(all="ignore"):
            return Inertia(self._mass, pose @ self._com, R @ self._moment @ R.T)

    def __add__(self, other: Inertia) -> Inertia:
        """Two bodies fixed to each other, both seen from the same frame.

        >>> both = Inertia.point(1, at=(1, 0, 0)) + Inertia.point(3, at=(-1, 0, 0))
        >>> both.mass, both.com
        (4.0, array([-0.5,  0. ,  0. ]))
        """
        if not isinstance(other, Inertia):
            return NotImplemented
        with np.errstate(all="ignore"):
            m = self._mass + other._mass
            if m == 0.0:
                return Inertia(0.0, (0, 0, 0), self._moment + other._moment)
            apart = skew(other._com - self._com)
            reduced = self._mass * (other._mass / m)
            com = self._com + (other._mass / m) * (other._com - self._com)
            return Inertia(m, com, self._moment + other._moment - reduced * (apart @ apart))

    def __radd__(self, other: object) -> Inertia:
        if other == 0:                          # so that sum() works
            return self
        return NotImplemented

    # -- solids of uniform density --------------------------------------------------------------------------

    @classmethod
    def point(cls, mass: float, at: Any = (0.0, 0.0, 0.0)) -> Inertia:
        """A point mass.

        >>> Inertia.point(2, at=(0, 0, 1))
        Inertia(mass=2, com=(0, 0, 1))
        """
        return cls(mass, at)

    @classmethod
    def box(cls, mass: float, size: Any) -> Inertia:
        """A box with the full lengths `size` along x, y, z: `J_x = m (y^2 + z^2) / 12`.

        >>> np.diag(Inertia.box(12, (1, 2, 3)).moment)
        array([13., 10.,  5.])
        """
        lengths = finite(size, (3,), "size of Inertia.box")
        for length in lengths:
            _not_negative(length, "size of Inertia.box")
        s = lengths**2
        return cls(mass, moment=_mass(mass) / 12.0 * np.diag([s[1] + s[2], s[0] + s[2], s[0] + s[1]]))

    @classmethod
    def sphere(cls, mass: float, radius: float) -> Inertia:
        """A solid sphere: `J = 2/5 m r^2`.

        >>> Inertia.sphere(5, 1).moment[0, 0]
        np.float64(2.0)
        """
        r = _not_negative(radius, "radius of Inertia.sphere")
        return cls(mass, moment=0.4 * _mass(mass) * r**2 * np.eye(3))

    @classmethod
    def cylinder(cls, mass: float, radius: float, length: float, axis: Any = (0.0, 0.0, 1.0)) -> Inertia:
        """A solid cylinder: `m r^2 / 2` about its axis, `m (3 r^2 + L^2) / 12` across it.

        >>> np.diag(Inertia.cylinder(12, radius=1, length=3).moment)
        array([12., 12.,  6.])
        """
        r = _not_negative(radius, "radius of Inertia.cylinder")
        L = _not_negative(length, "length of Inertia.cylinder")
        m = _mass(mass)
        return cls(mass, moment=_about(axis, m * r**2 / 2.0, m * (3.0 * r**2 + L**2) / 12.0, "cylinder"))

    @classmethod
    def rod(cls, mass: float, length: float, axis: Any = (0.0, 0.0, 1.0)) -> Inertia:
        """A thin rod: `m L^2 / 12` across its axis, nothing about it.

        >>> np.diag(Inertia.rod(12, length=2).moment)
        array([4., 4., 0.])
        """
        L = _not_negative(length, "length of Inertia.rod")
        return cls(mass, moment=_about(axis, 0.0, _mass(mass) * L**2 / 12.0, "rod"))

    # -- how it prints and compares -------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Inertia):
            return NotImplemented
        return (self._mass == other._mass and np.array_equal(self._com, other._com)
                and np.array_equal(self._moment, other._moment))

    def __hash__(self) -> int:
        return hash((self._mass, (self._com + 0.0).tobytes(), (self._moment + 0.0).tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Inertia, (self._mass, self._com, self._moment)

    def __repr__(self) -> str:
        parts = [f"mass={number_text(self._mass)}"]
        if self._com.any():
            parts.append(f"com={number_text(self._com)}")
        if self._moment.any():
            parts.append(f"moment={number_text(self._moment)}")
        return f"Inertia({', '.join(parts)})"


def _checked_moment(J: Array, rounding: float) -> Array:
    """J made exactly symmetric; refused if it is far from symmetric or has a negative eigenvalue."""
    if _plainly_positive(*J.ravel().tolist()):
        return J
    scale = float(np.abs(J).max())
    if float(np.abs(J - J.T).max()) > _SYMMETRY * scale + rounding:
        raise ModelError(f"moment of an Inertia must be symmetric, got {number_text(J)}")
    J = 0.5 * J + 0.5 * J.T                     # the sum of the two may overflow
    lowest = float(np.linalg.eigvalsh(J)[0])
    if lowest < -(_NEGATIVE * scale + rounding):
        raise ModelError(f"moment of an Inertia must not have a negative eigenvalue, got {lowest:.6g} in "
                         f"{number_text(J)}; the moment is about the centre of mass, not about the frame")
    return J


def _plainly_positive(a: float, h: float, g: float, h2: float, b: float, f: float, g2: float, f2: float, c: float
                      ) -> bool:
    """True if a matrix of finite numbers is symmetric and its leading minors, relative to the products of its diagonal,
    are above rounding. Most bodies are solid and pass; an exact test decides the others.

    >>> _plainly_positive(2, 0, 0, 0, 2, 1, 0, 1, 1), _plainly_positive(1, 0, 0, 0, 1, 1, 0, 1, 1)
    (True, False)
    """
    if h != h2 or g != g2 or f != f2 or not (a > 0.0 and b > 0.0 and c > 0.0):
        return False
    minor = a * b - h * h
    determinant = c * minor + g * (h * f - b * g) - f * (a * f - h * g)
    return minor > _SURELY * (a * b) and determinant > _SURELY * (a * b * c) > 0.0


def _mass(mass: Any) -> float:
    return mass if type(mass) is float and isfinite(mass) else float(finite(mass, (), "mass of an Inertia"))


def _not_negative(value: Any, what: str) -> float:
    x = float(finite(value, (), what))
    if x < 0.0:
        raise ModelError(f"{what} must not be negative, got {number_text(x)}")
    return x


def _about(axis: Any, along: float, across: float, solid: str) -> Array:
    """The moment with the given principal values along and across an axis."""
    a = unit(axis, f"axis of Inertia.{solid}")
    return np.asarray(across * np.eye(3) + (along - across) * np.outer(a, a))
