"""Reading the arguments for a body: names, poses, inertias, hinges."""

from __future__ import annotations

from typing import Any

from soacraft.arguments import whole_number
from soacraft.errors import ModelError
from soacraft.model.hinges.base import Hinge
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose

ROOT_NAME = "inertial"


def read_name(kind: str, name: Any) -> str:
    """A usable name: a non-empty string that is not the name of the inertial frame."""
    if not isinstance(name, str):
        raise ModelError(f"the name of a {kind} must be a string, got {name!r}.")
    if not name.strip():
        raise ModelError(f"the name of a {kind} must not be empty.")
    if kind != "node" and name == ROOT_NAME:
        raise ModelError(f"the {kind} name {ROOT_NAME!r} belongs to the inertial frame; choose another.")
    return name


def read_role(role: Any, node: str) -> str:
    """The role of a node: a string, empty for none."""
    if not isinstance(role, str):
        raise ModelError(f"the role of node {node!r} must be a string such as 'sensor', got {role!r:.60}.")
    return role


def read_pose(pose: Any, what: str) -> Pose:
    """Single pose; the identity for None."""
    if pose is None:
        return Pose()
    if not isinstance(pose, Pose):
        raise ModelError(f"{what} must be a Pose such as Pose(translation=(0, 0, 0.1)), got {pose!r}.")
    if pose.translation.ndim != 1:
        raise ModelError(f"{what} must be one pose, got a batch of shape {pose.translation.shape[:-1]}.")
    return pose if type(pose) is Pose else Pose.unchecked(pose.rotation, pose.translation)


def read_inertia(inertia: Any, name: str) -> Inertia:
    """Inertia; that of a massless body for None."""
    if inertia is None:
        return Inertia()
    if not isinstance(inertia, Inertia):
        raise ModelError(f"the inertia of {name!r} must be an Inertia(mass, com, moment), got {inertia!r}.")
    return inertia


def read_hinge(hinge: Any, name: str, kind: str = "body") -> Hinge:
    """A hinge object, for a body or a loop of the given name."""
    if isinstance(hinge, Hinge):
        if type(hinge).__module__.startswith("soacraft."):
            return hinge
        for size, most in (("nq", None), ("nv", 6)):  # more than six motions of one frame are not independent
            what = f"{size} of the hinge {type(hinge).__name__} of {name!r}"
            whole_number(getattr(hinge, size, None), what, 0, most)
        return hinge
    given = "none was given" if hinge is None else f"got {hinge!r}"
    if isinstance(hinge, type) and issubclass(hinge, Hinge):
        given = f"got the class {hinge.__name__}; make one, such as {hinge.__name__}(...)"
    other = "Free" if kind == "body" else "Spherical"
    raise ModelError(
        f"{kind} {name!r} needs a hinge such as Pin(axis=(0, 0, 1)), {other}(), or Weld() for a rigid attachment; "
        f"{given}."
    )
