"""The hinges, one file each. A kind added to `HINGES` (and to `examples`) is tested at once."""

from soacraft.model.hinges.base import (
    H_T_of,
    Hinge,
    bias_of,
    dbias_of,
    derivative_of_H_T_of,
    dH_of,
    difference_of,
    integrate_of,
    normalize_of,
    over_batch,
    pose_of,
    qdot_of,
)
from soacraft.model.hinges.check import HingeCheck, HingeReport, check_hinge
from soacraft.model.hinges.cylindrical import Cylindrical
from soacraft.model.hinges.free import Free
from soacraft.model.hinges.gimbal import Gimbal
from soacraft.model.hinges.helical import Helical
from soacraft.model.hinges.knife_edge import KnifeEdge
from soacraft.model.hinges.pin import Pin
from soacraft.model.hinges.planar import Planar
from soacraft.model.hinges.prismatic import Prismatic
from soacraft.model.hinges.rolling_ball import RollingBall
from soacraft.model.hinges.rolling_disc import RollingDisc
from soacraft.model.hinges.rolling_ellipsoid import RollingEllipsoid
from soacraft.model.hinges.screws import Screws
from soacraft.model.hinges.spherical import Spherical
from soacraft.model.hinges.universal import Universal
from soacraft.model.hinges.weld import Weld

__all__ = [
    "HINGES", "UNCOMPILED", "Cylindrical", "Free", "Gimbal", "H_T_of", "Helical", "Hinge", "HingeCheck", "HingeReport",
    "KnifeEdge", "Pin", "Planar", "Prismatic", "RollingBall", "RollingDisc", "RollingEllipsoid", "Screws",
    "Spherical", "Universal", "Weld", "bias_of", "check_hinge", "dH_of", "dbias_of", "derivative_of_H_T_of",
    "difference_of", "examples", "integrate_of", "normalize_of", "over_batch", "pose_of", "qdot_of",
]

HINGES: tuple[type[Hinge], ...] = (
    Weld, Pin, Prismatic, Helical, Cylindrical, Universal, Gimbal, Planar, Spherical, Free, RollingBall,
    Screws,
)
#: Kinds that kernels do not know: Python computes them, as hinges of a user's own; files know them by name.
UNCOMPILED: tuple[type[Hinge], ...] = (RollingDisc, RollingEllipsoid, KnifeEdge)


def examples() -> tuple[Hinge, ...]:
    """One hinge of each kind in `HINGES`, in that order, with parameters in general position.

    >>> [type(hinge).__name__ for hinge in examples()][:3]
    ['Weld', 'Pin', 'Prismatic']
    """
    return (
        Weld(),
        Pin(axis=(0.3, -0.5, 0.8)),
        Prismatic(axis=(0.6, 0.2, -0.4)),
        Helical(axis=(-0.2, 0.7, 0.4), pitch=0.15),
        Cylindrical(axis=(0.5, 0.1, 0.9)),
        Universal(axis=(1.0, 0.2, 0.1), axis2=(-0.3, 0.9, 0.2)),
        Gimbal(axes=((0.1, 0.2, 1.0), (0.0, 1.0, -0.3), (1.0, 0.1, 0.2))),
        Planar(),
        Spherical(),
        Free(),
        RollingBall(radius=0.3, normal=(0.2, -0.3, 0.9)),
        Screws([(0.4, 0.1, 0.7, 0.2, -0.5, 0.3), Prismatic((0.3, 1.0, 0.2)),
                (0.9, 0.2, -0.1, 0.0, 0.4, 0.1)]),
    )


def __dir__() -> list[str]:
    return __all__
