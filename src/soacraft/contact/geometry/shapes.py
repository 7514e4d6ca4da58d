"""Shapes by their sizes: sphere, capsule, box, cylinder, ellipsoid, plane. Immutable; each about its own frame."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from soacraft.contact.geometry.compiled import KINDS, LONGEST, ContactShape, contact_primitive
from soacraft.errors import ModelError
from soacraft.spatial.checks import Array, finite, number_text


class Shape:
    """A shape in its own frame. `kind` is its name in `Geometry`; `extent` the largest distance of its points from
    the origin of the frame, in metres.
    """

    __slots__ = ("__dict__", "core")  # the compiled calls read `core` at its place

    kind: ClassVar[str] = ""
    core: ContactShape
    _shown: str

    @property
    def extent(self) -> float:
        """The radius of the ball about the origin that holds the shape; infinite for a plane."""
        return self.core.extent

    def __setattr__(self, name: str, value: Any) -> None:
        raise ModelError(f"a {type(self).__name__} is immutable: make a new one instead of setting {name!r}.")

    def _take(self, core: ContactShape) -> None:
        """Take the compiled shape, of a size that is handled."""
        self._require_size(core.extent)
        self._set(core=core)

    def _require_size(self, far: float) -> None:
        """Refuse shapes that reach so far that products of lengths are no numbers."""
        if self.kind != "plane" and not (far == 0.0 or 1.0 / LONGEST <= far <= LONGEST):
            raise ModelError(
                f"a {type(self).__name__} reaches {far:g} m from its origin; from {1.0 / LONGEST:g} to {LONGEST:g} m "
                "is handled: take another unit of length."
            )

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._shown})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._key() == self._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def _key(self) -> Any:
        return self._shown


class _Sized(Shape):
    """A shape that a few sizes tell."""

    size: Array
    _names: ClassVar[tuple[str, ...]] = ()
    _positive: ClassVar[bool] = False

    def __init__(self, *size: Any) -> None:
        what = f"{' and '.join(self._names)} of a {type(self).__name__}" if self._names else ""
        numbers = finite(list(size), (len(self._names),), what) if self._names else np.zeros(0)
        low = float(numbers.min(initial=np.inf))
        if low < 0.0 or (self._positive and low == 0.0):
            rule = "be positive" if self._positive else "not be negative"
            raise ModelError(f"{what} must {rule}, got {number_text(numbers)}.")
        numbers.setflags(write=False)
        shown = ", ".join(repr(float(x)) for x in numbers)
        self._set(size=numbers, _shown=shown)
        halves = self._halves(numbers)
        if halves.max() > LONGEST:  # its square may be infinite
            self._require_size(float(halves.max()))
        self._take(contact_primitive(KINDS.index(self.kind), halves))

    def _halves(self, size: Array) -> Array:
        """Three numbers as the compiled code has them."""
        return np.pad(size, (0, 3 - len(size)))

    def _key(self) -> Any:
        return tuple(self.size.tolist())

    def __reduce__(self) -> Any:
        return type(self), tuple(self.size.tolist())


class Sphere(_Sized):
    """A ball about the origin; of radius 0 it is a point.

    >>> Sphere(0.5)
    Sphere(0.5)
    """

    kind = "sphere"
    _names = ("radius",)

    def __init__(self, radius: float) -> None:
        super().__init__(radius)


class _Long(_Sized):
    _names = ("radius", "length")

    def __init__(self, radius: float, length: float) -> None:
        super().__init__(radius, length)

    def _halves(self, size: Array) -> Array:
        return np.array([size[0], 0.5 * size[1], 0.0])


class Capsule(_Long):
    """All points within `radius` of a segment along z, of `length` between the centres of its caps.

    >>> Capsule(0.1, 1.0).extent
    0.6
    """

    kind = "capsule"


class Cylinder(_Long):
    """A solid cylinder along z.

    >>> Cylinder(radius=3.0, length=8.0).extent
    5.0
    """

    kind = "cylinder"


class Box(_Sized):
    """A box with edges x, y, z (whole edges, not halves); edges may be zero.

    >>> Box(2.0, 0.0, 0.0).extent
    1.0
    """

    kind = "box"
    _names = ("x", "y", "z")

    def __init__(self, x: float, y: float, z: float) -> None:
        super().__init__(x, y, z)

    def _halves(self, size: Array) -> Array:
        return 0.5 * size


class Ellipsoid(_Sized):
    """An ellipsoid with three radii along x, y, z.

    >>> Ellipsoid(1.0, 2.0, 3.0).extent
    3.0
    """

    kind = "ellipsoid"
    _names = ("rx", "ry", "rz")
    _positive = True

    def __init__(self, rx: float, ry: float, rz: float) -> None:
        super().__init__(rx, ry, rz)


class Plane(_Sized):
    """The half space z <= 0: a floor without end, its outward normal along z.

    >>> Plane()
    Plane()
    """

    kind = "plane"

    def __init__(self) -> None:
        super().__init__()
