"""Cross-sections of beams: areas, moments of area, and the points that carry their mass.

A section lies in the plane of its axes y and z, its centroid on the beam's axis x. Four points of equal weight at
(+-a, +-b), a^2 = Iz / A and b^2 = Iy / A, have the area, the centroid and the moments of area of the section: with the
mass there, rotary and torsional inertia are part of the moments of the displacement field.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt, tanh

import numpy as np

from soacraft.errors import ModelError
from soacraft.spatial.checks import Array, finite, number_text


@dataclass(frozen=True)
class Section:
    """A cross-section by its numbers: area A, moments of area Iy (bending in the plane xz) and Iz (in xy), torsion
    constant J, shear factors ky and kz (shear area = k A).

    >>> Section(A=1e-4, Iy=4e-10, Iz=16e-10, J=1e-9).points[0].round(12)
    array([0.004, 0.002])
    """

    A: float
    Iy: float
    Iz: float
    J: float
    ky: float = 5.0 / 6.0
    kz: float = 5.0 / 6.0
    outermost: tuple[tuple[float, float], ...] = ()
    """Places (y, z) of the four points where bending strains most; without them no stress is recovered."""

    def __post_init__(self) -> None:
        _positive(self, "A Iy Iz J ky kz")
        if self.outermost:
            places = finite(self.outermost, (4, 2), "outermost of a Section")
            object.__setattr__(self, "outermost", tuple((float(y), float(z)) for y, z in places))

    @property
    def points(self) -> Array:
        """Places (y, z) of four points, a quarter of the area each, (4, 2)."""
        a, b = sqrt(self.Iz / self.A), sqrt(self.Iy / self.A)
        return np.array([(a, b), (-a, b), (-a, -b), (a, -b)])


@dataclass(frozen=True)
class Circle:
    """A solid round bar. The shear factor is Cowper's for nu = 0.3 unless one is given.

    >>> round(Circle(radius=0.01).section.A, 9)
    0.000314159
    """

    radius: float
    shear: float = 6.0 * 1.3 / (7.0 + 6.0 * 0.3)

    def __post_init__(self) -> None:
        _positive(self, "radius shear")

    @property
    def section(self) -> Section:
        """Properties of the section."""
        I = pi * self.radius**4 / 4.0
        return Section(pi * self.radius**2, I, I, 2.0 * I, self.shear, self.shear, _round(self.radius))


@dataclass(frozen=True)
class Tube:
    """A round tube by its outer radius and the thickness of its wall. Shear factor 1/2 (thin walls) unless given.

    >>> tube = Tube(radius=0.05, thickness=0.002).section
    >>> round(tube.J / tube.Iy, 12)
    2.0
    """

    radius: float
    thickness: float
    shear: float = 0.5

    def __post_init__(self) -> None:
        _positive(self, "radius thickness shear")
        if self.thickness > self.radius:
            raise ModelError(
                f"the wall of a tube of radius {number_text(self.radius)} is at most as thick, got "
                f"{number_text(self.thickness)}; give the outer radius, and Circle for a solid bar."
            )

    @property
    def section(self) -> Section:
        """Properties of the section."""
        inner = self.radius - self.thickness
        I = pi * (self.radius**4 - inner**4) / 4.0
        return Section(pi * (self.radius**2 - inner**2), I, I, 2.0 * I, self.shear, self.shear, _round(self.radius))


@dataclass(frozen=True)
class Rectangle:
    """A solid rectangle, `width` along y and `height` along z. Its torsion constant is Saint-Venant's series; shear
    factor 5/6 unless one is given.

    >>> square = Rectangle(width=2.0, height=2.0).section
    >>> round(square.J, 4)                     # 0.140577 a^4
    2.2492
    """

    width: float
    height: float
    shear: float = 5.0 / 6.0

    def __post_init__(self) -> None:
        _positive(self, "width height shear")

    @property
    def section(self) -> Section:
        """Properties of the section."""
        b, h = self.width, self.height
        y, z = 0.5 * b, 0.5 * h
        corners = ((y, z), (-y, z), (-y, -z), (y, -z))
        return Section(b * h, b * h**3 / 12.0, h * b**3 / 12.0, self._torsion(), self.shear, self.shear, corners)

    def _torsion(self) -> float:
        """J = a b^3 (1/3 - 64 b / (pi^5 a) sum over odd n of tanh(n pi a / 2 b) / n^5), a >= b."""
        a, b = max(self.width, self.height), min(self.width, self.height)
        series = sum(tanh(n * pi * a / (2.0 * b)) / n**5 for n in range(1, 200, 2))
        return a * b**3 * (1.0 / 3.0 - 64.0 * b / (pi**5 * a) * series)


Shape = Section | Circle | Tube | Rectangle


def _round(radius: float) -> tuple[tuple[float, float], ...]:
    return ((radius, 0.0), (0.0, radius), (-radius, 0.0), (0.0, -radius))


def numbers(section: Shape) -> Section:
    """The numbers of a section that was given by its dimensions, or as it is."""
    if isinstance(section, Section):
        return section
    if isinstance(section, Circle | Tube | Rectangle):
        return section.section
    raise ModelError(f"a section must be Tube, Circle, Rectangle or Section, got {section!r:.60}.")


#: Corners of a round outline.
ROUND = 16


def outline(section: Shape) -> tuple[Array, Array]:
    """The outline of a section for pictures: corners (y, z) counter-clockwise, (c, 2), and outward normals there; edges
    have two corners in one place. Of one that is known by its numbers alone, the rectangle with its radii of gyration.

    >>> outline(Rectangle(width=0.2, height=0.1))[0][::2].tolist()
    [[0.1, -0.05], [0.1, 0.05], [-0.1, 0.05], [-0.1, -0.05]]
    """
    if isinstance(section, Circle | Tube):
        angle = 2.0 * pi * np.arange(ROUND) / ROUND
        round_ = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return section.radius * round_, round_
    if isinstance(section, Rectangle):
        y, z = 0.5 * section.width, 0.5 * section.height
    else:
        y, z = sqrt(3.0 * section.Iz / section.A), sqrt(3.0 * section.Iy / section.A)
    corners = np.array([(y, -z), (y, z), (y, z), (-y, z), (-y, z), (-y, -z), (-y, -z), (y, -z)])
    normals = np.repeat([(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)], 2, axis=0)
    return corners, normals


def _positive(thing: object, names: str) -> None:
    for name in names.split():
        value = float(finite(getattr(thing, name), (), f"{name} of a {type(thing).__name__}"))
        if value <= 0.0:
            raise ModelError(f"{name} of a {type(thing).__name__} must be positive, got {number_text(value)}.")
        object.__setattr__(thing, name, value)
