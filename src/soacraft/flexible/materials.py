"""Elastic materials."""

from __future__ import annotations

from dataclasses import dataclass

from soacraft.errors import ModelError
from soacraft.spatial.checks import finite, number_text


@dataclass(frozen=True)
class Elastic:
    """An isotropic elastic material: Young's modulus E, Poisson's ratio nu, density rho.

    >>> steel = Elastic(E=200e9, nu=0.3, rho=7850.0)
    >>> round(steel.G / 1e9, 3)
    76.923
    """

    E: float
    nu: float
    rho: float

    def __post_init__(self) -> None:
        for name in ("E", "nu", "rho"):
            object.__setattr__(self, name, float(finite(getattr(self, name), (), f"{name} of an elastic material")))
        for name in ("E", "rho"):
            value = getattr(self, name)
            if value <= 0.0:
                raise ModelError(f"{name} of an elastic material must be positive, got {number_text(value)}.")
        if not -1.0 < self.nu < 0.5:
            raise ModelError(
                f"Poisson's ratio nu of an elastic material must be between -1 and 0.5, got {number_text(self.nu)}."
            )

    @property
    def G(self) -> float:
        """The shear modulus, E / (2 (1 + nu))."""
        return self.E / (2.0 * (1.0 + self.nu))

    @property
    def lame(self) -> float:
        """Lame's first constant, E nu / ((1 + nu) (1 - 2 nu))."""
        return self.E * self.nu / ((1.0 + self.nu) * (1.0 - 2.0 * self.nu))
