"""soacraft: a workbench for multibody dynamics built on the Spatial Operator Algebra.

Type the mathematics as it stands in the paper and get the number, the structure, the cost and the picture:

>>> import soacraft as sc
>>> H, phi, M = sc.operators(sc.load("arm7"), "H phi M")
>>> mass_matrix = H * phi * M * phi.T * H.T
>>> mass_matrix
H*phi*M*phi.T*H.T : hinge[7] <- hinge[7]
>>> (mass_matrix * mass_matrix.inv).is_identity()
True
"""

from soacraft import dynamics, errors
from soacraft.algebra import I, Operator, Space, StackedVector
from soacraft.dynamics import Dynamics
from soacraft.files import load, models
from soacraft.model import (
    Body,
    Frame,
    Multibody,
    Node,
    SKOModel,
    State,
    SubGraph,
    random_sko,
    random_tree,
    serial_chain,
)
from soacraft.model.hinges import (
    HINGES,
    Cylindrical,
    Free,
    Gimbal,
    Helical,
    Hinge,
    Pin,
    Planar,
    Prismatic,
    RollingBall,
    Screws,
    Spherical,
    Universal,
    Weld,
    check_hinge,
)
from soacraft.ops import Identity, Operators, check_operator, diag_of, identities, operators, verify
from soacraft.spatial import Inertia, Pose, Wrench

__version__ = "0.1.0"

__all__ = [
    "HINGES",
    "Body",
    "Cylindrical",
    "Dynamics",
    "Frame",
    "Free",
    "Gimbal",
    "Helical",
    "Hinge",
    "I",
    "Identity",
    "Inertia",
    "Multibody",
    "Node",
    "Operator",
    "Operators",
    "Pin",
    "Planar",
    "Pose",
    "Prismatic",
    "RollingBall",
    "SKOModel",
    "Screws",
    "Space",
    "Spherical",
    "StackedVector",
    "State",
    "SubGraph",
    "Universal",
    "Weld",
    "Wrench",
    "check_hinge",
    "check_operator",
    "diag_of",
    "dynamics",
    "errors",
    "identities",
    "load",
    "models",
    "operators",
    "random_sko",
    "random_tree",
    "serial_chain",
    "verify",
]
