"""Reach of a chain by its links alone: bounds on the distance between two frames, whatever its hinges do.

Links between free hinges are rigid. With l_i their lengths, and the travels of hinges that slide among them,

    max over i of (l_i - sum of the others) <= distance <= sum of l_i                         (triangle inequality)

A pose fixes where its last link starts, so that is left out. What is outside these bounds is proved to be out of reach.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from soacraft.kinematics.bounds import Bounds
from soacraft.kinematics.targets import Aim
from soacraft.kinematics.tolerances import REACH_SLACK
from soacraft.model.hinges import Cylindrical, Gimbal, Helical, Pin, Prismatic, Spherical, Universal, Weld
from soacraft.model.hinges.base import pose_of
from soacraft.model.sizes.lengths import chain, hinge_point
from soacraft.model.states.kinematics import pose_of_frame
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.spatial.checks import Array

#: Hinges whose two frames have one origin.
TURNING = (Weld, Pin, Universal, Gimbal, Spherical)


class Joint(NamedTuple):
    """A free hinge on the way from one frame to another."""

    body: Body
    first: Array
    """Point at which the way enters it, in the inertial frame at the state."""
    last: Array
    """Point at which the way leaves it."""
    travel: tuple[float, float]
    """The least and largest distance between the two."""


def joints_between(bounds: Bounds, state: State, a: Frame, b: Frame) -> list[Joint]:
    """The hinges from frame a to frame b that are not held, in this order."""
    graph = bounds.graph
    shared = chain(a, b)
    joints = []
    up = set(_ancestors(a))  # those climbed on the way from a are left by their inboard side
    for body in shared.bodies:
        k = graph.layout.index.get(body)
        if k is None or not bounds.free[graph.layout.v_slices[k]].any():
            continue
        moved = pose_of(body.hinge, np.asarray(state.q[graph.layout.q_slices[k]]))
        inboard = _point(state, body, np.asarray((body.outboard.inv @ moved.inv).translation))
        outboard = _point(state, body, hinge_point(body))
        ends = (outboard, inboard) if body in up else (inboard, outboard)
        joints.append(Joint(body, *ends, _travel(bounds, state, body, k)))
    return joints


class Span(NamedTuple):
    """Range of distances from a hinge to a frame, or to the last hinge before it: the same at every state."""

    name: str
    hinge: str
    first: Array
    """The first hinge, in the frame that it is seen from."""
    last: Array
    """Start of the last link, in the frame itself; of a position its origin."""
    least: float
    most: float

    def beyond(self, rotation: Array, position: Array, slack: float) -> str:
        """Reason why a place cannot be taken: a text, empty where links do not decide."""
        wanted = float(np.linalg.norm(position + rotation @ self.last - self.first))
        slack += REACH_SLACK * max(self.most if np.isfinite(self.most) else 0.0, wanted)
        if self.least - slack <= wanted <= self.most + slack:
            return ""
        how, bound = ("beyond", self.most) if wanted > self.most else ("within", self.least)
        what = "the links and slides between reach" if wanted > self.most else "the links between keep it outside"
        return (
            f"{self.name} would have to be {wanted:.4g} m from hinge {self.hinge!r}, {abs(wanted - bound):.3g} m "
            f"{how} the {bound:.4g} m that {what}"
        )


def span_of(bounds: Bounds, state: State, aim: Aim) -> Span | None:
    """The span of a position or a pose; None without a hinge that moves."""
    joints = joints_between(bounds, state, aim.to, aim.frame)
    if not joints:
        return None
    (R_to, p_to), (R, p) = pose_of_frame(state, aim.to), pose_of_frame(state, aim.frame)
    spans = [(x, x) for x in _links(joints)] + [x.travel for x in joints]
    last, name = R.T @ (joints[-1].last - p), f"the last hinge before {aim.name!r}"
    if aim.kind == "position":
        spans.append((float(np.linalg.norm(last)),) * 2)
        last, name = np.zeros(3), repr(aim.name)
    first = R_to.T @ (joints[0].first - p_to)
    return Span(name, joints[0].body.hinge_name, first, last, *_bounds(spans))


def out_of_reach(bounds: Bounds, state: State, aim: Aim) -> str:
    """Reason why a position or a pose cannot be met: a text, empty where links do not decide."""
    span = None if aim.kind in ("direction", "axes") else span_of(bounds, state, aim)
    if span is None:
        return ""
    R, p = (np.eye(3), np.asarray(aim.goal)) if aim.kind == "position" else (aim.goal.rotation, aim.goal.translation)
    return span.beyond(R, p, aim.tolerance.distance)


def _links(joints: list[Joint]) -> list[float]:
    return [float(np.linalg.norm(y.first - x.last)) for x, y in pairwise(joints)]


def _bounds(spans: list[tuple[float, float]]) -> tuple[float, float]:
    """The least and the largest distance that a chain of spans leaves."""
    most = sum(high for _, high in spans)
    if not np.isfinite(most):
        return 0.0, most
    return max(0.0, max((low - (most - high) for low, high in spans), default=0.0)), most


def _travel(bounds: Bounds, state: State, body: Body, k: int) -> tuple[float, float]:
    """Least and largest distance of the two frames of a hinge."""
    hinge, dof = body.hinge, bounds.graph.layout.v_slices[k].stop - 1  # the travel is the last, or the only one
    if isinstance(hinge, TURNING):
        return 0.0, 0.0
    if not isinstance(hinge, Prismatic | Cylindrical | Helical):
        return 0.0, np.inf
    low, high = bounds.lower[dof], bounds.upper[dof]
    if bounds.fixed[dof]:
        low = high = float(state.q[bounds.place[dof]])
    scale = abs(hinge.pitch) if isinstance(hinge, Helical) else 1.0
    ends = sorted((abs(low), abs(high)))
    return scale * (0.0 if low <= 0.0 <= high else ends[0]), scale * ends[1]


def _point(state: State, frame: Frame, at: Array) -> Array:
    R, p = pose_of_frame(state, frame)
    return np.asarray(p + R @ at)


def _ancestors(frame: Frame) -> list[Body]:
    ancestors, carrier = [], frame.carrier
    while isinstance(carrier, Body):
        ancestors.append(carrier)
        carrier = carrier.parent
    return ancestors
