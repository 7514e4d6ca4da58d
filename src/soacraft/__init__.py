"""soacraft: a workbench for multibody dynamics built on the Spatial Operator Algebra.

Type the mathematics as the paper prints it and get the number, the structure, the cost and the picture:

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

if TYPE_CHECKING:
    from soacraft import analysis, contact, dynamics, errors, flexible, loops, robot, sim, view
    from soacraft.algebra import I, Operator, Space, StackedVector
    from soacraft.citations import papers
    from soacraft.dynamics import Dynamics
    from soacraft.files.core_file import save_core
    from soacraft.files.headers import include_dir
    from soacraft.files.load import load, models
    from soacraft.files.save import save
    from soacraft.health import check
    from soacraft.kinematics.inverse import inverse_kinematics
    from soacraft.kinematics.targets import Direction, Placement, Position
    from soacraft.loops.embedding.aggregate import aggregate
    from soacraft.model import (
        Actuator,
        Body,
        Bushing,
        Closure,
        Coupling,
        Curve,
        Frame,
        Geometry,
        ImportReport,
        Keyframe,
        Limits,
        Material,
        MovingFrame,
        Multibody,
        Node,
        Passive,
        Record,
        SKOModel,
        Spring,
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
        KnifeEdge,
        Pin,
        Planar,
        Prismatic,
        RollingBall,
        RollingDisc,
        RollingEllipsoid,
        Screws,
        Spherical,
        Universal,
        Weld,
        check_hinge,
    )
    from soacraft.ops.check import check_operator
    from soacraft.ops.check_derivative import check_derivative
    from soacraft.ops.define import define, matrix, state_identity
    from soacraft.ops.derived import diag_of
    from soacraft.ops.identities import Identity, identities
    from soacraft.ops.namespace import Operators, operators
    from soacraft.ops.proofs.proof import Proof
    from soacraft.ops.proofs.prove import prove
    from soacraft.ops.proofs.simplify import simplify
    from soacraft.ops.verify import verify
    from soacraft.spatial import Inertia, Pose, Wrench

__version__: str  # of pyproject.toml, from the compiled module

#: Functions that lower layers may ask for, and where they are (`soacraft/late.py`).
_LATE = {
    "report": "soacraft.flexible.reports",
    "coupled_dynamics": "soacraft.loops.coupled",
    "coupled_linearize": "soacraft.loops.coupled",
    "rolling_linearize": "soacraft.loops.rolling",
    "portrait": "soacraft.view.space.portrait",
    "register_laws": "soacraft.robot.control.components",
    "Lines": "soacraft.sim.serving.lines",
    "reload": "soacraft.sim.files.reload",
    "require_kept": "soacraft.sim.systems.checkpoint",
    "save_system": "soacraft.sim.files.writer",
    "system_documents": "soacraft.sim.systems.description",
    "system_writer": "soacraft.sim.systems.checkpoint",
    "to_fmu": "soacraft.sim.links.fmu_export",
}

#: Home of each name. Importing soacraft imports none of them: each is imported when it is first read.
_HOMES = {
    "": "analysis contact dynamics errors flexible loops robot sim view",
    "algebra": "I Operator Space StackedVector",
    "citations": "papers",
    "dynamics": "Dynamics",
    "files.core_file": "save_core",
    "files.headers": "include_dir",
    "files.load": "load models",
    "files.save": "save",
    "health": "check",
    "kinematics.inverse": "inverse_kinematics",
    "kinematics.targets": "Direction Placement Position",
    "loops.embedding.aggregate": "aggregate",
    "model": """
        Actuator Body Bushing Closure Coupling Curve Frame Geometry ImportReport Keyframe Limits Material MovingFrame
        Multibody Node Passive Record SKOModel Spring State SubGraph Tendon random_sko random_tree serial_chain
    """,
    "model.hinges": """
        HINGES Cylindrical Free Gimbal Helical Hinge KnifeEdge Pin Planar Prismatic RollingBall RollingDisc
        RollingEllipsoid Screws Spherical Universal Weld check_hinge
    """,
    "ops.check": "check_operator",
    "ops.check_derivative": "check_derivative",
    "ops.define": "define matrix state_identity",
    "ops.derived": "diag_of",
    "ops.identities": "Identity identities",
    "ops.namespace": "Operators operators",
    "ops.proofs.proof": "Proof",
    "ops.proofs.prove": "prove",
    "ops.proofs.simplify": "simplify",
    "ops.verify": "verify",
    "spatial": "Inertia Pose Wrench",
}
_LAYERS = ("algebra", "citations", "files", "health", "kinematics", "model", "ops", "recursions", "spatial")
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "HINGES",
    "Actuator",
    "Body",
    "Bushing",
    "Closure",
    "Coupling",
    "Curve",
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
    "KnifeEdge",
    "Limits",
    "Material",
    "MovingFrame",
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
    "RollingDisc",
    "RollingEllipsoid",
    "SKOModel",
    "Screws",
    "Space",
    "Spherical",
    "Spring",
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
    "check_derivative",
    "check_hinge",
    "check_operator",
    "contact",
    "define",
    "diag_of",
    "dynamics",
    "errors",
    "flexible",
    "identities",
    "include_dir",
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
    "robot",
    "save",
    "save_core",
    "serial_chain",
    "sim",
    "simplify",
    "state_identity",
    "verify",
    "view",
]


def __getattr__(name: str) -> Any:
    """A name of the list, kept from then on; or a layer, such as `soacraft.spatial`."""
    if name == "__version__":
        from soacraft._core import version

        globals()[name] = version()
        return globals()[name]
    if name in _LAYERS:
        return import_module(f"soacraft.{name}")
    if name not in _HOME:
        # only an error needs it
        from soacraft.hints import missing

        raise missing("soacraft", name, () if name.startswith("_") else __all__)
    home = _HOME[name]
    value = getattr(import_module(f"soacraft.{home}"), name) if home else import_module(f"soacraft.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
