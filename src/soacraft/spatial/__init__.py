"""Rotations, poses, inertias, wrenches: the numbers of rigid-body mechanics. Angular part first, SI units.

Every function and class takes leading batch axes, except `Inertia`, which is one body's.
"""

from soacraft.spatial.checks import Array, finite, frozen, number_text, shape_text, unit
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.measured import Measured, RelativePose
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import (
    cross,
    exp,
    from_axis_angle,
    log,
    matrix_to_quaternion,
    normalize_quaternion,
    quaternion_exp,
    quaternion_log,
    quaternion_multiply,
    quaternion_rate,
    quaternion_to_matrix,
    skew,
    unskew,
)
from soacraft.spatial.transforms import adjoint, crf, crm, log_rate, phi, se3_exp, se3_log
from soacraft.spatial.wrench import Wrench

__all__ = [
    "Array", "Inertia", "Measured", "Pose", "RelativePose", "Wrench",
    "adjoint", "crf", "crm", "cross", "exp", "finite", "from_axis_angle", "frozen", "log", "log_rate",
    "matrix_to_quaternion", "normalize_quaternion", "number_text", "phi", "quaternion_exp", "quaternion_log",
    "quaternion_multiply", "quaternion_rate", "quaternion_to_matrix", "se3_exp", "se3_log", "shape_text",
    "skew", "unit", "unskew",
]


def __dir__() -> list[str]:
    return __all__
