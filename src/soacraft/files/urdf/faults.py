"""Elements of a URDF file that can be left out, and whether that changes the motion."""

from __future__ import annotations

_LOOKS = ("robot/link/visual", "robot/material", "robot/link/collision/material")
_LOCAL = {
    "robot/link/inertial": True,
    "robot/joint/mimic": True,
    "robot/joint/dynamics": True,
    "robot/joint/joint_properties": True,
    "robot/loop_joint": True,
    "robot/link/collision": False,
    "robot/joint/limit": False,
    "robot/transmission": False,
    "robot/frame": False,
    "closed_loop": True,
    "name_mot": False,
    "srdf": False,
}
"""Paths of elements, and keys of robot.yaml."""


def only_looks(path: str) -> bool:
    """True for an element that is only looked at: it never refuses a robot.

    >>> only_looks("robot/link/visual/geometry/mesh"), only_looks("robot/link/collision/geometry/mesh")
    (True, False)
    """
    return path.startswith(_LOOKS)


def local(path: str) -> bool | None:
    """True or False if going on without the element at this path changes the motion or not; None where one cannot go on
    without it.

    >>> local("robot/joint/mimic"), local("robot/joint/limit"), local("robot/joint/origin")
    (True, False, None)
    """
    if only_looks(path):
        return False
    return next((moves for each, moves in _LOCAL.items() if path == each or path.startswith(f"{each}/")), None)
