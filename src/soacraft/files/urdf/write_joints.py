"""Hinges as joints of URDF."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soacraft.files.urdf.joints import NO_LIMIT, onto
from soacraft.model import Body
from soacraft.model.hinges import Free, Hinge, Pin, Planar, Prismatic, Screws, Weld
from soacraft.spatial import Array, Pose

_EXACT = 1e-14
_Z = np.array([0.0, 0.0, 1.0])


class JointForm(NamedTuple):
    """A joint of URDF, whose frame is the link's frame.

    `origin` is the joint in the parent's body frame, `shift` the body frame in the link frame: identity wherever the
    body frame can be the link's frame.
    """

    type: str
    origin: Pose
    axis: Array | None
    shift: Pose


def joint_form(body: Body) -> JointForm | None:
    """The joint for the hinge of a body; None when URDF has none."""
    return _form(body.hinge, body.inboard, body.outboard)


def _form(hinge: Hinge, inboard: Pose, outboard: Pose) -> JointForm | None:
    """pose(q) X = X (X^-1 pose(q) X): the body frame is taken where the motion seen from it is that of a joint."""
    X = outboard
    match hinge:
        case Weld():
            return JointForm("fixed", inboard @ X, None, Pose())
        case Prismatic():
            return JointForm("prismatic", inboard @ X, X.rotation.T @ hinge.axis, Pose())
        case Pin() if not np.cross(hinge.axis, X.translation).any():
            return JointForm("revolute", inboard @ X, X.rotation.T @ hinge.axis, Pose())
        case Pin():
            return JointForm("revolute", inboard, hinge.axis, X)
        case Planar() if _plane_of(X) is not None:
            return JointForm("planar", inboard @ X, _plane_of(X), Pose())
        case Planar():
            return JointForm("planar", inboard, _Z, X)
        case Free():
            return JointForm("floating", inboard, None, X)
        case Screws() if hinge.nv == 1:
            return _screw(hinge.screws[0], inboard, X)
    return None


def _plane_of(X: Pose) -> Array | None:
    """The axis from which a reader of URDF finds the same x and y of the plane, if the body frame allows it."""
    axis = X.rotation.T @ _Z
    same = np.abs(onto(axis).T - X.rotation).max() <= _EXACT
    return axis if same and not X.translation.any() else None


def _screw(screw: Array, inboard: Pose, outboard: Pose) -> JointForm | None:
    """A single screw that is a turn about a line, or a slide, by its own coordinate."""
    w, v = screw[:3], screw[3:]
    if not w.any() and abs(np.linalg.norm(v) - 1.0) <= _EXACT:
        return _form(Prismatic(v), inboard, outboard)
    if abs(np.linalg.norm(w) - 1.0) > _EXACT or abs(w @ v) > _EXACT:
        return None
    point = Pose(translation=np.cross(w, v))
    return _form(Pin(w), inboard @ point, point.inv @ outboard)


def limit_attributes(body: Body, kind: str) -> tuple[str, dict[str, float]]:
    """The type of a joint with one dof (a turn without ends is continuous), and the attributes of its limit."""
    limits = body.limits
    lower, upper, velocity, effort = (
        float(np.clip(x[0], -NO_LIMIT, NO_LIMIT)) for x in (limits.lower, limits.upper, limits.velocity, limits.effort)
    )
    rates = {"effort": effort, "velocity": velocity}
    if kind == "revolute" and lower == -NO_LIMIT and upper == NO_LIMIT:
        return "continuous", rates if min(rates.values()) < NO_LIMIT else {}
    return kind, {"lower": lower, "upper": upper, **rates}
