"""Robots: limbs and their inverse kinematics; several arms that hold one object, what moves it and what squeezes it."""

from soacraft.robot import ros
from soacraft.robot.control.laws import (
    Regulator,
    TaskForce,
    admittance,
    computed_torque,
    feed_forward,
    friction,
    gravity,
    impedance,
    lqr,
    operational_space,
    task_error,
)
from soacraft.robot.grasping.holds import Joined
from soacraft.robot.grasping.sharing import Holding, Load, balance_load, move_squeeze
from soacraft.robot.limbs.following import Followed
from soacraft.robot.limbs.groups import Groups
from soacraft.robot.limbs.limb import Limb
from soacraft.robot.limbs.reaching import Reach
from soacraft.robot.robot import Robot
from soacraft.robot.standing.stability import (
    Region,
    capture_point,
    standing_region,
    support_polygon,
    tip_over,
    zero_moment_point,
)
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
from soacraft.robot.whole_body.velocity import Step
from soacraft.robot.world.allowed import Allowed
from soacraft.robot.world.edges import Edge
from soacraft.robot.world.world import Distances, World

__all__ = [
    "Allowed",
    "CenterOfMass",
    "Contact",
    "Distance",
    "Distances",
    "Edge",
    "Followed",
    "Groups",
    "Holding",
    "Joined",
    "Limb",
    "Load",
    "LookAt",
    "Momentum",
    "Posture",
    "Reach",
    "Reaching",
    "Region",
    "Regulator",
    "Relative",
    "Robot",
    "Step",
    "Task",
    "TaskForce",
    "World",
    "admittance",
    "balance_load",
    "capture_point",
    "computed_torque",
    "feed_forward",
    "friction",
    "gravity",
    "impedance",
    "lqr",
    "move_squeeze",
    "operational_space",
    "ros",
    "standing_region",
    "support_polygon",
    "task_error",
    "tip_over",
    "zero_moment_point",
]


def __dir__() -> list[str]:
    return __all__
