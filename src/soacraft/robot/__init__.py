"""Robots: several arms that hold one object, what moves it and what only squeezes it."""

from soacraft.robot.holding import Holding, Load, balance_load, move_squeeze

__all__ = ["Holding", "Load", "balance_load", "move_squeeze"]


def __dir__() -> list[str]:
    return __all__
