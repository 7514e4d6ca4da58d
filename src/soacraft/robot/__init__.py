"""Robots: limbs and their inverse kinematics; several arms that hold one object, what moves it and what squeezes it."""

from soacraft.robot.allowed import Allowed
from soacraft.robot.edges import Edge
from soacraft.robot.following import Followed
from soacraft.robot.grasping import Joined
from soacraft.robot.holding import Holding, Load, balance_load, move_squeeze
from soacraft.robot.limb import Limb
from soacraft.robot.reaching import Reach
from soacraft.robot.robot import Robot
from soacraft.robot.world import Distances, World

__all__ = [
    "Allowed",
    "Distances",
    "Edge",
    "Followed",
    "Holding",
    "Joined",
    "Limb",
    "Load",
    "Reach",
    "Robot",
    "World",
    "balance_load",
    "move_squeeze",
]


def __dir__() -> list[str]:
    return __all__
