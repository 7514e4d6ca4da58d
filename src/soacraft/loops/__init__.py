"""Closed chains: solvers for loop closures and couplings, interchangeable on one model.

    s = sc.loops.ConstraintEmbedding(mb)          # or TreeAugmented(mb), FullyAugmented(mb)
    q = s.assemble(q0);  v = s.project_velocity(q, v)
    r = s.forward_dynamics(q, v, force)           # r.vdot, r.multipliers, r.residual, r.rank, r.redundant
"""

from soacraft.loops.aggregate import Aggregate, aggregate
from soacraft.loops.cut import Cut, cut
from soacraft.loops.derivatives import Derivatives, forward_dynamics_derivatives
from soacraft.loops.embedding import ConstraintEmbedding
from soacraft.loops.fully_augmented import FullyAugmented
from soacraft.loops.geared import geared_sko
from soacraft.loops.holding import Holding, Load, balance_load, move_squeeze
from soacraft.loops.kinematics import KinematicsResult, solve_kinematics
from soacraft.loops.linearize import ClosedLinearization, linearize
from soacraft.loops.recutting import recut
from soacraft.loops.report import Report, report
from soacraft.loops.results import Result
from soacraft.loops.solver import Solver
from soacraft.loops.targets import Direction, Gap, Placement, Position
from soacraft.loops.tree_augmented import TreeAugmented

__all__ = [
    "Aggregate",
    "ClosedLinearization",
    "ConstraintEmbedding",
    "Cut",
    "Derivatives",
    "Direction",
    "FullyAugmented",
    "Gap",
    "Holding",
    "KinematicsResult",
    "Load",
    "Placement",
    "Position",
    "Report",
    "Result",
    "Solver",
    "TreeAugmented",
    "aggregate",
    "balance_load",
    "cut",
    "forward_dynamics_derivatives",
    "geared_sko",
    "linearize",
    "move_squeeze",
    "recut",
    "report",
    "solve_kinematics",
]
