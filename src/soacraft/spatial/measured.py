"""Results about frames, with their frame, the frame they are relative to, and their axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.spatial.checks import Array, finite, frozen
from soacraft.spatial.pose import Pose


class Measured:
    """A velocity or acceleration of one frame relative to another, `[angular; linear]`; immutable.

    >>> V = Measured((0, 0, 1, .5, 0, 0), "velocity", of="tool", relative_to="inertial", expressed_in="upper")
    >>> V
    velocity of 'tool' relative to 'inertial', expressed in 'upper': angular (0, 0, 1), linear (0.5, 0, 0)
    >>> np.asarray(V)
    array([0. , 0. , 1. , 0.5, 0. , 0. ])
    """

    __slots__ = ("_vector", "expressed_in", "kind", "of", "relative_to")
    _vector: Array
    kind: str
    of: str
    relative_to: str
    expressed_in: str

    def __init__(self, vector: Any, kind: str, *, of: str, relative_to: str, expressed_in: str) -> None:
        set_once = object.__setattr__
        set_once(self, "_vector", frozen(finite(vector, (..., 6), f"{kind} of {of!r}")))
        set_once(self, "kind", kind)
        set_once(self, "of", of)
        set_once(self, "relative_to", relative_to)
        set_once(self, "expressed_in", expressed_in)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a measured {self.kind} cannot be changed; np.array(...) copies its numbers")

    @property
    def angular(self) -> Array:
        """The angular part (..., 3), read-only."""
        return self._vector[..., :3]

    @property
    def linear(self) -> Array:
        """The linear part (..., 3), read-only."""
        return self._vector[..., 3:]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its numbers, (..., 6)."""
        return self._vector.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self._vector, dtype=dtype)

    def __getitem__(self, index: Any) -> Any:
        return self._vector[index]

    def __len__(self) -> int:
        return len(self._vector)

    def __reduce__(self) -> tuple[Any, ...]:
        return _measured, (self._vector, self.kind, self.of, self.relative_to, self.expressed_in)

    def __repr__(self) -> str:
        frames = f"of {self.of!r} relative to {self.relative_to!r}, expressed in {self.expressed_in!r}"
        return (f"{self.kind} {frames}: angular {_rounded(self.angular)}, "
                f"linear {_rounded(self.linear)}")


class RelativePose(Pose):
    """The pose of one frame seen from another, with both names; otherwise a `Pose`.

    >>> T = RelativePose(Pose(translation=(0, 0, 0.5)), of="upper/tool", relative_to="inertial")
    >>> T
    pose of 'upper/tool' relative to 'inertial': Pose(translation=(0, 0, 0.5))
    >>> T @ (0, 0, 0)
    array([0. , 0. , 0.5])

    One with many digits prints as the rows of [rotation | translation], to six digits:

    >>> RelativePose(Pose.from_rpy(0, 0, 0.1, (0.5, 0, 1 / 3)), of="cup", relative_to="table")
    pose of 'cup' relative to 'table':
      [ 0.995004  -0.0998334  0 |      0.5]
      [0.0998334    0.995004  0 |        0]
      [        0           0  1 | 0.333333]
    """

    __slots__ = ("_of", "_relative_to")
    _of: str
    _relative_to: str

    def __init__(self, pose: Pose, *, of: str, relative_to: str) -> None:
        self._rotation, self._translation = pose.rotation, pose.translation
        self._of, self._relative_to = of, relative_to

    @property
    def of(self) -> str:
        """The frame whose pose this is."""
        return self._of

    @property
    def relative_to(self) -> str:
        """The frame it is seen from, whose axes are used."""
        return self._relative_to

    def __reduce__(self) -> tuple[Any, ...]:
        pose = Pose.unchecked(self._rotation, self._translation)
        return _relative_pose, (pose, self._of, self._relative_to)

    def __repr__(self) -> str:
        head, pose = f"pose of {self._of!r} relative to {self._relative_to!r}:", super().__repr__()
        if self.batch_shape or "\n" not in pose:
            return f"{head} {pose}"
        turned = np.round(self._rotation, 9).tolist()
        rows = [[f"{x + 0.0:.6g}" for x in (*R, p)] for R, p in zip(turned, self._translation.tolist(), strict=True)]
        wide = [max(len(row[j]) for row in rows) for j in range(4)]
        aligned = [[text.rjust(width) for text, width in zip(row, wide, strict=True)] for row in rows]
        return "\n".join([head, *(f"  [{'  '.join(row[:3])} | {row[3]}]" for row in aligned)])


def _measured(vector: Array, kind: str, of: str, relative_to: str, expressed_in: str) -> Measured:
    return Measured(vector, kind, of=of, relative_to=relative_to, expressed_in=expressed_in)


def _relative_pose(pose: Pose, of: str, relative_to: str) -> RelativePose:
    return RelativePose(pose, of=of, relative_to=relative_to)


def _rounded(values: Array) -> str:
    """Numbers for reading, to six digits; the full ones come from np.asarray."""
    if values.ndim > 1:
        return f"array of shape {values.shape}"
    return f"({', '.join(f'{x + 0.0:.6g}' for x in values.tolist())})"
