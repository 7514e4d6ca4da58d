"""Robots: limbs and their inverse kinematics; several arms that hold one object, what moves it and what squeezes it."""

from typing import TYPE_CHECKING

from soacraft.hints import lookup
from soacraft.robot import ros
from soacraft.robot import studies as study
from soacraft.robot.changes.changes import Changes
from soacraft.robot.control import components
from soacraft.robot.control.carrying import Carried, carry
from soacraft.robot.control.compensation import feed_forward, friction, gravity
from soacraft.robot.control.feet import FootForces, foot_forces
from soacraft.robot.control.joint_space import computed_torque, decoupled
from soacraft.robot.control.optimal import Regulator, lqr
from soacraft.robot.control.path import PathRegulator, lqr_path
from soacraft.robot.control.task_space import TaskForce, admittance, impedance, operational_space, task_error
from soacraft.robot.estimation.base import BaseEstimator, SensorNoise
from soacraft.robot.estimation.filter import Innovation, StateFilter
from soacraft.robot.estimation.observer import MomentumObserver, Touch
from soacraft.robot.estimation.offsets import Offsets, estimate_offsets
from soacraft.robot.estimation.payload import Payload, estimate_payload
from soacraft.robot.estimation.prediction import Prediction
from soacraft.robot.grasping.fingertips import Fingertip
from soacraft.robot.grasping.grasps import Grasp, Grasps
from soacraft.robot.grasping.joined import Joined
from soacraft.robot.grasping.quality import grasp_quality
from soacraft.robot.grasping.reactions import Reactions
from soacraft.robot.grasping.sharing import Holding, Load, balance_load, move_squeeze
from soacraft.robot.grasping.strength import Strength, grasp_strength
from soacraft.robot.limbs.following import Followed
from soacraft.robot.limbs.groups import Groups
from soacraft.robot.limbs.limb import Limb
from soacraft.robot.limbs.reaching import Reach
from soacraft.robot.motion.fastest import time_optimal
from soacraft.robot.motion.limits import LimitCheck, MotionLimits, Worst
from soacraft.robot.motion.makers import minimum_jerk, polyline, spline
from soacraft.robot.motion.motion import Moment, Motion
from soacraft.robot.motion.tracker import Tracked, Tracker
from soacraft.robot.planning.plan import Plan, plan
from soacraft.robot.robot import Robot
from soacraft.robot.standing.balance import capture_point, ground_wrench, tip_over, zero_moment_point
from soacraft.robot.standing.stability import Region, standing_region, support_polygon
from soacraft.robot.standing.stance import Stance, stance
from soacraft.robot.whole_body.reach import BodyReach
from soacraft.robot.whole_body.step import LevelStep, Step
from soacraft.robot.whole_body.tasks import (
    CenterOfMass,
    Contact,
    Distance,
    LookAt,
    Momentum,
    Posture,
    Reaching,
    Relative,
    Task,
)
from soacraft.robot.whole_body.velocity import VelocityPlan
from soacraft.robot.world.allowed import Allowed
from soacraft.robot.world.edges import Edge, Edges
from soacraft.robot.world.queries import Distances
from soacraft.robot.world.room import Room
from soacraft.robot.world.wishes import Cover
from soacraft.robot.world.world import World

__all__ = [
    "Allowed",
    "BaseEstimator",
    "BodyReach",
    "Carried",
    "CenterOfMass",
    "Changes",
    "Contact",
    "Cover",
    "Distance",
    "Distances",
    "Edge",
    "Edges",
    "Fingertip",
    "Followed",
    "FootForces",
    "Grasp",
    "Grasps",
    "Groups",
    "Holding",
    "Innovation",
    "Joined",
    "LevelStep",
    "Limb",
    "LimitCheck",
    "Load",
    "LookAt",
    "Moment",
    "Momentum",
    "MomentumObserver",
    "Motion",
    "MotionLimits",
    "Offsets",
    "PathRegulator",
    "Payload",
    "Plan",
    "Posture",
    "Prediction",
    "Reach",
    "Reaching",
    "Reactions",
    "Region",
    "Regulator",
    "Relative",
    "Robot",
    "Room",
    "SensorNoise",
    "Stance",
    "StateFilter",
    "Step",
    "Strength",
    "Task",
    "TaskForce",
    "Touch",
    "Tracked",
    "Tracker",
    "VelocityPlan",
    "World",
    "Worst",
    "admittance",
    "balance_load",
    "capture_point",
    "carry",
    "components",
    "computed_torque",
    "decoupled",
    "estimate_offsets",
    "estimate_payload",
    "feed_forward",
    "foot_forces",
    "friction",
    "grasp_quality",
    "grasp_strength",
    "gravity",
    "ground_wrench",
    "impedance",
    "lqr",
    "lqr_path",
    "minimum_jerk",
    "move_squeeze",
    "operational_space",
    "plan",
    "polyline",
    "ros",
    "spline",
    "stance",
    "standing_region",
    "study",
    "support_polygon",
    "task_error",
    "time_optimal",
    "tip_over",
    "zero_moment_point",
]


if not TYPE_CHECKING:
    __getattr__ = lookup(__name__, __all__)


def __dir__() -> list[str]:
    return __all__
