"""soacraft: a workbench for multibody dynamics built on the Spatial Operator Algebra.

Type the mathematics as it stands in the paper and get the number, the structure, the cost and the picture:

>>> import soacraft as sc
>>> H, phi, M = sc.operators(sc.load("arm7"), "H phi M")
>>> mass_matrix = H * phi * M * phi.T * H.T
>>> mass_matrix
H*phi*M*phi.T*H.T : hinge[7] <- hinge[7]
>>> (mass_matrix * mass_matrix.inv).is_identity()
True

Docstrings cite the papers by number, what is printed by author and year; `papers()` is the key:

    000  Jain 2016     the PyCraft paper
    001  Jain 2024     slides on serial chains
    002  Ziegler 2005  slides on PyCraft
    003  Jain 2013     the paper on the architecture
    004  Jain 2011     the paper on SKO models
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from soacraft import dynamics, errors
from soacraft.algebra import I, Operator, Space, StackedVector
from soacraft.citations import papers
from soacraft.dynamics import Dynamics
from soacraft.files import load, models, save
from soacraft.health import check
from soacraft.model import (
    Actuator,
    Body,
    Closure,
    Coupling,
    Frame,
    Geometry,
    ImportReport,
    Keyframe,
    Limits,
    Material,
    Multibody,
    Node,
    Passive,
    Record,
    SKOModel,
    State,
    SubGraph,
    Tendon,
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
from soacraft.ops import (
    Identity,
    Operators,
    Proof,
    check_operator,
    define,
    diag_of,
    identities,
    matrix,
    operators,
    prove,
    simplify,
    state_identity,
    verify,
)
from soacraft.spatial import Inertia, Pose, Wrench

if TYPE_CHECKING:
    from soacraft import analysis, loops
    from soacraft.loops.aggregate import aggregate
    from soacraft.loops.kinematics import inverse_kinematics
    from soacraft.loops.targets import Direction, Placement, Position

__version__ = "0.1.0"

#: What is imported when first asked for: it stands on scipy, which takes longer to import than all the rest.
_LATER = {
    "analysis": "soacraft.analysis",
    "loops": "soacraft.loops",
    "aggregate": "soacraft.loops",
    "inverse_kinematics": "soacraft.loops.kinematics",
    "Direction": "soacraft.loops.targets",
    "Placement": "soacraft.loops.targets",
    "Position": "soacraft.loops.targets",
}

__all__ = [
    "HINGES",
    "Actuator",
    "Body",
    "Closure",
    "Coupling",
    "Cylindrical",
    "Direction",
    "Dynamics",
    "Frame",
    "Free",
    "Geometry",
    "Gimbal",
    "Helical",
    "Hinge",
    "I",
    "Identity",
    "ImportReport",
    "Inertia",
    "Keyframe",
    "Limits",
    "Material",
    "Multibody",
    "Node",
    "Operator",
    "Operators",
    "Passive",
    "Pin",
    "Placement",
    "Planar",
    "Pose",
    "Position",
    "Prismatic",
    "Proof",
    "Record",
    "RollingBall",
    "SKOModel",
    "Screws",
    "Space",
    "Spherical",
    "StackedVector",
    "State",
    "SubGraph",
    "Tendon",
    "Universal",
    "Weld",
    "Wrench",
    "aggregate",
    "analysis",
    "check",
    "check_hinge",
    "check_operator",
    "define",
    "diag_of",
    "dynamics",
    "errors",
    "identities",
    "inverse_kinematics",
    "load",
    "loops",
    "matrix",
    "models",
    "operators",
    "papers",
    "prove",
    "random_sko",
    "random_tree",
    "save",
    "serial_chain",
    "simplify",
    "state_identity",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'soacraft' has no attribute {name!r}")
    module = import_module(_LATER[name])
    return module if _LATER[name].endswith(f".{name}") else getattr(module, name)


def __dir__() -> list[str]:
    return __all__
