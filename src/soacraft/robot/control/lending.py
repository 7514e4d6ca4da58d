"""Robots that components of systems name by a text, so that their parameters can be kept in files.

    "panda", "arm.urdf"     a model that `sc.load` finds: loaded once
    "given panda 1"         a robot of this program that was given to a component: elsewhere it is refused
"""

from __future__ import annotations

from itertools import count
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from soacraft.errors import WiringError
from soacraft.files.load import load
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.limbs.limb import Limb
from soacraft.robot.robot import Robot

_numbers = count(1)
_lent: WeakValueDictionary[str, Robot] = WeakValueDictionary()
_loaded: dict[str, Robot] = {}
_limbs: WeakKeyDictionary[Robot, dict[tuple[str, str], Limb]] = WeakKeyDictionary()


def lend(robot: Any) -> tuple[str, Robot]:
    """Text that names a robot in this program, and the robot, which lives as long as it is referenced."""
    if isinstance(robot, str):
        return robot, robot_of(robot)
    if isinstance(robot, Multibody):
        robot = Robot(robot)
    if not isinstance(robot, Robot):
        raise WiringError(f"a law takes a Robot, or the name of a model that sc.load finds; got {robot!r:.60}.")
    for name, lent in _lent.items():
        if lent is robot:
            return name, robot
    name = f"given {robot.mb.name} {next(_numbers)}"
    _lent[name] = robot
    return name, robot


def robot_of(name: str) -> Robot:
    """Robot that a text names."""
    robot = _lent.get(name) or _loaded.get(name)
    if robot is None:
        if name.startswith("given "):
            raise WiringError(
                f"the robot {name!r:.60} was given to a component in another program, or is no more: make the "
                "component with robot=rb, or with the name of a model that sc.load finds."
            )
        robot = _loaded[name] = Robot(load(name))
    return robot


def limb_of(robot: Robot, base: str, tip: str) -> Limb:
    """The limb between two frames, made once."""
    limbs = _limbs.setdefault(robot, {})
    limb = limbs.get((base, tip))
    if limb is None or not limb.is_current:
        mb = robot.mb
        limb = limbs[base, tip] = Limb(robot, tip, mb.root if base == "inertial" else mb.frame(base), (mb.frame(tip),))
    return limb
