"""Closed chains: solvers for loop closures and couplings, interchangeable on one model.

    s = sc.loops.ConstraintEmbedding(mb)          # or TreeAugmented(mb), FullyAugmented(mb)
    q = s.assemble(q0);  v = s.project_velocity(q, v)
    r = s.forward_dynamics(q, v, force)           # r.vdot, r.multipliers, r.residual, r.rank, r.redundant

Every solver has `forward_dynamics` (batches, `f_ext`, closures driven by `U`), `inverse_dynamics`, `mixed_dynamics`,
`assemble`, `project_velocity`, `project` and `constraint_matrix`. An embedded system is also an SKO model, with
operators, `expand` and `advance`; `sc.operators(TreeAugmented(mb))` has those of the tree and of the closures.

Around them: `report` on mobility and open loops; `cut` and `recut` for the choice of the tree;
`sc.inverse_kinematics` for poses, positions and directions of frames within limits; `forward_dynamics_derivatives`,
`linearize`, `equilibrium` and `modes`; `aggregate` and geared hinges for compound bodies without loops.

Forward and mixed dynamics by all three solvers and by hybrids, driven closures, projections, derivatives, and motion
and inverse dynamics of embedded systems are compiled for models of built-in hinges and for sub-graphs whose anchor
rests. A closure by a `RollingBall` and a hinge of the user's own run in Python; assembly and kinematics run there on
compiled rows.
"""

from typing import TYPE_CHECKING

from soacraft.hints import lookup
from soacraft.kinematics.inverse import KinematicsResult
from soacraft.kinematics.report import Report, report
from soacraft.kinematics.targets import Gap
from soacraft.loops.closure_operators import ClosedOperators
from soacraft.loops.derivatives import Derivatives, forward_dynamics_derivatives
from soacraft.loops.embedding.aggregate import Aggregate, aggregate
from soacraft.loops.embedding.geared import geared_sko
from soacraft.loops.embedding.solver import ConstraintEmbedding
from soacraft.loops.equilibrium import equilibrium
from soacraft.loops.fully_augmented import FullyAugmented
from soacraft.loops.graph.cut import Cut, cut
from soacraft.loops.graph.recutting import recut
from soacraft.loops.linearize import ClosedLinearization, linearize
from soacraft.loops.modes import modes
from soacraft.loops.results import Result
from soacraft.loops.solver import Solver
from soacraft.loops.tree_augmented import TreeAugmented

__all__ = [
    "Aggregate",
    "ClosedLinearization",
    "ClosedOperators",
    "ConstraintEmbedding",
    "Cut",
    "Derivatives",
    "FullyAugmented",
    "Gap",
    "KinematicsResult",
    "Report",
    "Result",
    "Solver",
    "TreeAugmented",
    "aggregate",
    "cut",
    "equilibrium",
    "forward_dynamics_derivatives",
    "geared_sko",
    "linearize",
    "modes",
    "recut",
    "report",
]


if not TYPE_CHECKING:
    __getattr__ = lookup(__name__, __all__)


def __dir__() -> list[str]:
    return __all__
