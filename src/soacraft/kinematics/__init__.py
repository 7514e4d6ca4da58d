"""Kinematics with closures: their rows and rank, assembly, inverse kinematics; for trees too.

`rows` and `row_derivatives` are the rows Gc of loop closures and couplings, `sizes` and `tolerances` their units and
tolerances, `independent` their rank and independent dofs, `report` the mobility. `assemble` closes the loops of a
configuration, `projection` the velocities, `inverse` finds configurations for poses of frames.
"""

from soacraft.kinematics.inverse import KinematicsResult, inverse_kinematics
from soacraft.kinematics.report import Report, report
from soacraft.kinematics.targets import Direction, Gap, Placement, Position

__all__ = [
    "Direction",
    "Gap",
    "KinematicsResult",
    "Placement",
    "Position",
    "Report",
    "inverse_kinematics",
    "report",
]


def __dir__() -> list[str]:
    return __all__
