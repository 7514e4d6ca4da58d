"""Hinges taken apart: products of turns and slides, and the ball that rolls, for peers that have only the parts.

All is written from what the hinges' documentation says, not with their code.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

import soacraft as sc


@dataclass(frozen=True)
class Turn:
    """A turn by `rate * q` about an axis through `point`, with `pitch` metres of travel for each radian."""

    axis: np.ndarray
    point: np.ndarray
    pitch: float = 0.0
    rate: float = 1.0


@dataclass(frozen=True)
class Slide:
    """A travel of `rate * q` along an axis."""

    axis: np.ndarray
    rate: float = 1.0


X, Y, Z = np.eye(3)
ORIGIN = np.zeros(3)


def elements(hinge):
    """The one-dof motions that a hinge is the product of, inboard first, one for each coordinate."""
    match hinge:
        case sc.Weld():
            return ()
        case sc.Pin():
            return (Turn(hinge.axis, ORIGIN),)
        case sc.Prismatic():
            return (Slide(hinge.axis),)
        case sc.Helical():
            return (Turn(hinge.axis, ORIGIN, hinge.pitch),)
        case sc.Cylindrical():
            return Turn(hinge.axis, ORIGIN), Slide(hinge.axis)
        case sc.Universal():
            return Turn(hinge.axis, ORIGIN), Turn(hinge.axis2, ORIGIN)
        case sc.Gimbal():
            return tuple(Turn(axis, ORIGIN) for axis in hinge.axes)
        case sc.Planar():
            return Slide(X), Slide(Y), Turn(Z, ORIGIN)
        case sc.Screws():
            return tuple(of_screw(screw) for screw in hinge.screws)
    raise AssertionError(f"{hinge!r} is no product of one-dof motions")


def of_screw(screw):
    """[w; v] turns at |w| about the axis through w x v / |w|^2 and travels v.w / |w|^2 for each radian."""
    w, v = screw[:3], screw[3:]
    if not w.any():
        return Slide(v / np.linalg.norm(v), np.linalg.norm(v))
    return Turn(w / np.linalg.norm(w), np.cross(w, v) / (w @ w), (w @ v) / (w @ w), np.linalg.norm(w))


def placed(hinge):
    """The elements of a hinge, each with the constant pose before it, in which its axis passes through the origin; and
    the constant pose after the last."""
    steps, before = [], sc.Pose()
    for element in elements(hinge):
        to_axis = sc.Pose(translation=ORIGIN if isinstance(element, Slide) else element.point)
        steps.append((before @ to_axis, element))
        before = to_axis.inv
    return steps, before


def free_pose(q):
    """The pose of [quaternion xyzw, position]."""
    return sc.Pose(Rotation.from_quat(q[:4]).as_matrix(), q[4:])


def as_free(ball, q):
    """The coordinates of a free hinge that stands where a rolling ball stands."""
    return np.concatenate([q[:4], q[4:] @ ball.tangents + ball.radius * ball.normal])


def contact_lever(ball, q):
    """From the centre of a rolling ball to its contact point, in ball axes."""
    return Rotation.from_quat(q[:4]).inv().apply(-ball.radius * ball.normal)


def rolling(ball, q, v):
    """N and n with w = N v, wdot = N vdot + n for the velocity w = [omega; v] of a free hinge that rolls.

    The contact point of the ball is at rest, v + omega x l = 0. As l is at rest in inboard axes, ldot = -omega x l in
    ball axes, and the rate of the condition is vdot + omegadot x l = omega x (omega x l).
    """
    l = contact_lever(ball, q)
    N = np.vstack([np.eye(3), -np.cross(np.eye(3), l).T])  # columns -e_j x l
    return N, np.concatenate([ORIGIN, np.cross(v, np.cross(v, l))])
