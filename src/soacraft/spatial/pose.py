"""Poses: where one frame is, seen from another."""

from __future__ import annotations

from math import isfinite
from typing import Any, Self, overload

import numpy as np
import numpy.typing as npt

from soacraft.errors import ModelError
from soacraft.results import finite_or_refused
from soacraft.spatial.checks import Array, finite, frozen, number_text, shape_text
from soacraft.spatial.rotations import matrix_to_quaternion, normalize_quaternion, quaternion_to_matrix
from soacraft.spatial.transforms import phi

ROTATION_TOLERANCE = 1e-6
#: Characters of a line; a pose that is longer prints on four lines.
LINE = 80
_ROUNDING = 64 * float(np.finfo(float).eps)
_IDENTITY = frozen(np.eye(3))
_ZERO = frozen(np.zeros(3))


class Pose:
    """The pose `T_ab` of frame b seen from frame a: `x_a = rotation @ x_b + translation`.

    `rotation` is (..., 3, 3), `translation` (..., 3); both have the same leading (batch) axes. A rotation
    within 1e-6 of orthonormal is made orthonormal; further away, or left-handed, it is refused. Immutable.
    Names cancel by eye: `T_ac = T_ab @ T_bc`, `x_a = T_ab @ x_b`.

    >>> T = Pose(translation=(0, 0, 0.1))
    >>> T
    Pose(translation=(0, 0, 0.1))
    >>> T @ (1, 0, 0)
    array([1. , 0. , 0.1])
    >>> T @ T.inv == Pose()
    True

    A pose that is long prints on four lines, which read back to the same numbers:

    >>> Pose([[0.6, 0, 0.8], [0, 1, 0], [-0.8, 0, 0.6]], (0.123456789, 0.123456789, 0.123456789))
    Pose([[0.6, 0, 0.8],
          [0, 1, 0],
          [-0.8, 0, 0.6]],
         (0.123456789, 0.123456789, 0.123456789))
    """

    __slots__ = ("_rotation", "_row", "_translation")
    __array_ufunc__ = None                      # array @ pose is an error, not a broadcast
    _rotation: Array
    _translation: Array
    _row: bytes

    def __init__(self, rotation: Any = None, translation: Any = None) -> None:
        R = _IDENTITY if rotation is None else _orthonormal(rotation)
        p = _ZERO if translation is None else finite(translation, (..., 3), "translation of a Pose")
        if R.shape[:-2] != p.shape[:-1]:
            R, p = _same_batch(R, p)
        self._rotation, self._translation = frozen(R), frozen(p)

    @classmethod
    def unchecked(cls, rotation: Array, translation: Array) -> Pose:
        """A pose from float64 arrays known to be right; they become read-only and are not copied.

        >>> Pose.unchecked(np.eye(3), np.zeros(3)) == Pose()
        True
        """
        single = rotation.ndim == 2 and translation.ndim == 1
        if not single and rotation.shape[:-2] != translation.shape[:-1]:
            rotation, translation = _same_batch(rotation, translation)
        pose = object.__new__(Pose)
        pose._rotation, pose._translation = frozen(rotation), frozen(translation)
        return pose

    # -- other representations ------------------------------------------------------------------------------

    @classmethod
    def from_matrix(cls, matrix: Any) -> Pose:
        """The pose of a homogeneous matrix `[[R, p], [0, 1]]` (..., 4, 4).

        >>> Pose.from_matrix(np.eye(4))
        Pose()
        """
        T = finite(matrix, (..., 4, 4), "matrix of a Pose")
        if not np.allclose(T[..., 3, :], (0.0, 0.0, 0.0, 1.0), rtol=0.0, atol=1e-12):
            raise ModelError("matrix of a Pose must have (0, 0, 0, 1) as its last row, got "
                             f"{number_text(T.reshape(-1, 4, 4)[0, 3])}; if it is transposed, pass matrix.mT")
        return Pose(T[..., :3, :3], T[..., :3, 3])

    def as_matrix(self) -> Array:
        """The homogeneous matrix `[[R, p], [0, 1]]` (..., 4, 4).

        >>> Pose(translation=(1, 2, 3)).as_matrix()[0]
        array([1., 0., 0., 1.])
        """
        T = np.zeros((*self.batch_shape, 4, 4))
        T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = self._rotation, self._translation, 1.0
        return T

    @classmethod
    def from_quaternion(cls, quaternion: Any, translation: Any = None) -> Pose:
        """The pose of a unit quaternion [x, y, z, w] (..., 4).

        >>> (Pose.from_quaternion((0, 0, 1, 0)) @ (1, 0, 0)).round(12)
        array([-1.,  0.,  0.])
        """
        q = normalize_quaternion(quaternion, "quaternion of a Pose", ModelError)
        return Pose(quaternion_to_matrix(q), translation)

    def as_quaternion(self) -> Array:
        """The rotation as a unit quaternion [x, y, z, w] with w >= 0, (..., 4).

        >>> Pose().as_quaternion()
        array([0., 0., 0., 1.])
        """
        return matrix_to_quaternion(self._rotation)

    @classmethod
    def from_rpy(cls, roll: Any, pitch: Any, yaw: Any, translation: Any = None) -> Pose:
        """Turns about the fixed axes x, y, z in this order (as in URDF): `R = Rz(yaw) Ry(pitch) Rx(roll)`.

        >>> (Pose.from_rpy(0, 0, np.pi / 2) @ (1, 0, 0)).round(12)
        array([0., 1., 0.])
        """
        if type(roll) is type(pitch) is type(yaw) is float and isfinite(roll) and isfinite(pitch) and isfinite(yaw):
            p = _ZERO if translation is None else finite(translation, (..., 3), "translation of a Pose")
            return Pose.unchecked(_from_angles(np.array((roll, pitch, yaw))), p)
        angles = [finite(x, (...,), f"{name} of a Pose") for x, name in
                  ((roll, "roll"), (pitch, "pitch"), (yaw, "yaw"))]
        try:
            r, p, y = np.broadcast_arrays(*angles)
        except ValueError:
            shapes = ", ".join(shape_text(a.shape) for a in angles)
            raise ModelError(f"roll, pitch, yaw of a Pose must have matching shapes, got {shapes}") from None
        return Pose(_from_angles(np.stack((r, p, y), axis=-1)), translation)

    def as_rpy(self) -> Array:
        """Roll, pitch, yaw (..., 3), with pitch in [-pi/2, pi/2]; at its ends only yaw -+ roll is known.

        >>> Pose.from_rpy(0.1, 0.2, 0.3).as_rpy().round(12)
        array([0.1, 0.2, 0.3])
        """
        R = self._rotation
        roll = np.arctan2(R[..., 2, 1], R[..., 2, 2])
        pitch = np.arctan2(-R[..., 2, 0], np.hypot(R[..., 0, 0], R[..., 1, 0]))
        c, s = np.cos(roll), np.sin(roll)   # column 1 of R Rx(-roll) = Rz(yaw) Ry(pitch): (-sin, cos, 0)
        yaw = np.arctan2(s * R[..., 0, 2] - c * R[..., 0, 1], c * R[..., 1, 1] - s * R[..., 1, 2])
        return np.stack([roll, pitch, yaw], axis=-1)

    @property
    def row(self) -> bytes:
        """The rotation by rows, then the translation, as bytes of twelve numbers for each pose; made once. Tables of
        models are joined of them.

        >>> np.frombuffer(Pose(translation=(1, 2, 3)).row)[8:]
        array([1., 1., 2., 3.])
        """
        try:
            return self._row
        except AttributeError:
            both = [self._rotation.reshape(*self.batch_shape, 9), self._translation]
            self._row = np.concatenate(both, axis=-1).tobytes()
            return self._row

    # -- parts and products ---------------------------------------------------------------------------------

    @property
    def rotation(self) -> Array:
        """The rotation matrix (..., 3, 3), read-only."""
        return self._rotation

    @property
    def translation(self) -> Array:
        """The translation (..., 3), read-only."""
        return self._translation

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The leading axes; () for a single pose."""
        return self._translation.shape[:-1]

    @property
    def inv(self) -> Pose:
        """The pose the other way round: `x_b = R* (x_a - p)`."""
        Rt = self._rotation.mT
        with np.errstate(all="ignore"):
            return _made(Rt, -(Rt @ self._translation[..., None])[..., 0])

    def phi(self) -> Array:
        """The force transformation `phi(a,b) = [[R, p~ R], [0, R]]` (..., 6, 6): from b to a; its transpose
        carries velocities from a to b (000 Eq. 4).

        >>> Pose(translation=(1, 0, 0)).phi().T @ [0, 0, 3, 0, 0, 0]     # omega along z: x moves along y
        array([0., 0., 3., 0., 3., 0.])
        """
        with np.errstate(all="ignore"):
            return _finite(phi(self._rotation, self._translation))

    @overload
    def __matmul__(self, other: Pose) -> Pose: ...
    @overload
    def __matmul__(self, other: npt.ArrayLike) -> Array: ...
    def __matmul__(self, other: Any) -> Any:
        """`T_ab @ T_bc` is T_ac; `T_ab @ x_b` is x_a for a point or points (..., 3)."""
        R, p = self._rotation, self._translation
        if isinstance(other, Pose):
            with np.errstate(all="ignore"):
                return _made(R @ other._rotation, (R @ other._translation[..., None])[..., 0] + p)
        x = finite(other, (..., 3), "a point that a Pose acts on")
        with np.errstate(all="ignore"):
            return _finite((R @ x[..., None])[..., 0] + p)

    def is_close(self, other: Pose, tolerance: float = 1e-9) -> bool:
        """True if every entry of the rotation, and of the translation in metres, agrees within `tolerance`.

        >>> Pose().is_close(Pose(translation=(0, 0, 1e-12)))
        True
        """
        return bool(np.allclose(self._rotation, other._rotation, rtol=0.0, atol=tolerance)
                    and np.allclose(self._translation, other._translation, rtol=0.0, atol=tolerance))

    # -- how it prints, compares, converts ------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return self.as_matrix() if dtype is None else self.as_matrix().astype(dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pose):
            return NotImplemented
        return (np.array_equal(self._rotation, other._rotation)
                and np.array_equal(self._translation, other._translation))

    def __hash__(self) -> int:
        return hash(((self._rotation + 0.0).tobytes(), (self._translation + 0.0).tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Pose.unchecked, (self._rotation, self._translation)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __repr__(self) -> str:
        parts = []
        if not np.array_equal(self._rotation, np.broadcast_to(_IDENTITY, self._rotation.shape)):
            parts.append(f"rotation={number_text(self._rotation)}")
        if self.batch_shape or self._translation.any():
            parts.append(f"translation={number_text(self._translation)}")
        line = f"Pose({', '.join(parts)})"
        if len(line) <= LINE or self.batch_shape:
            return line
        rows = ",\n      ".join(f"[{number_text(row)[1:-1]}]" for row in self._rotation)
        return f"Pose([{rows}],\n     {number_text(self._translation)})"


def _finite(x: Array) -> Array:
    return finite_or_refused(x, "a product with a Pose", "Check its translation.", ModelError)


def _made(R: Array, p: Array) -> Pose:
    """A pose that was computed from others."""
    return Pose.unchecked(R, _finite(p))


def _from_angles(rpy: Array) -> Array:
    """R = Rz(yaw) Ry(pitch) Rx(roll) (..., 3, 3); orthonormal to rounding, since cos^2 + sin^2 is 1 to rounding."""
    if rpy.ndim == 1:  # the same arithmetic on plain numbers
        (cr, cp, cy), (sr, sp, sy) = np.cos(rpy).tolist(), np.sin(rpy).tolist()
        return np.array(_rows(cr, cp, cy, sr, sp, sy))
    C, S = np.cos(rpy), np.sin(rpy)
    rows = _rows(C[..., 0], C[..., 1], C[..., 2], S[..., 0], S[..., 1], S[..., 2])
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _rows(cr: Any, cp: Any, cy: Any, sr: Any, sp: Any, sy: Any) -> list[list[Any]]:
    return [[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr]]


def _same_batch(R: Array, p: Array) -> tuple[Array, Array]:
    """Rotation and translation broadcast to common leading axes."""
    try:
        batch = np.broadcast_shapes(R.shape[:-2], p.shape[:-1])
    except ValueError:
        raise ModelError(f"rotation and translation of a Pose must have the same leading axes, got shapes "
                         f"{shape_text(R.shape)} and {shape_text(p.shape)}") from None
    return np.broadcast_to(R, (*batch, 3, 3)), np.broadcast_to(p, (*batch, 3))


def _orthonormal(rotation: Any) -> Array:
    """R if orthonormal to rounding, the nearest rotation if within 1e-6, an error otherwise."""
    try:
        R = finite(rotation, (..., 3, 3), "rotation of a Pose")
    except ModelError as wrong:
        if np.shape(rotation) != (3,):
            raise
        raise ModelError(f"{wrong}; three numbers are a translation: Pose(translation=(x, y, z))") from None
    gap = np.abs(R.mT @ R - np.eye(3)).max(axis=(-2, -1), initial=0.0)
    worst = float(gap.max(initial=0.0))
    if worst > ROTATION_TOLERANCE:
        raise ModelError(f"rotation of a Pose is not orthonormal: R* R differs from I by {worst:.3g} "
                         f"(allowed {ROTATION_TOLERANCE:g}); normalise it, or use Pose.from_quaternion")
    if (np.linalg.det(R) < 0.0).any():
        raise ModelError("rotation of a Pose is a reflection (determinant -1); flip the sign of one axis")
    if worst <= _ROUNDING:
        return R
    u, _, vt = np.linalg.svd(R)
    return np.asarray(np.where((gap <= _ROUNDING)[..., None, None], R, u @ vt))
