"""Targets of inverse kinematics: poses, positions and directions of frames, seen from other frames.

With R, p the pose of the node seen from `relative_to` and xi = V_node - phi* V_to the twist of the node seen from
there, in the node's axes,

    pose         r = [log(R_goal* R); p - p_goal],     rdot = [xi_w; R xi_v]
    position     r = p - p_goal,                       rdot = R xi_v
    direction    r = angle n,                          rdot = -(I - u u*) R xi_w,    u = R axis, n along u x goal
    axes         r = some of [log(R_goal* R); R_goal* (p - p_goal)]

For the angles of all but the last, rdot is short for a matrix that leaves r* rdot the same, so that the gradient of
|r|^2 is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from soacraft.dynamics.nodes import jacobian
from soacraft.errors import ModelError, StateError
from soacraft.kinematics.tolerances import MET, SAME_DIRECTION
from soacraft.model.sizes.lengths import chain, length_of
from soacraft.model.states.kinematics import relative_pose
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array, finite, frozen
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import log, skew
from soacraft.spatial.transforms import log_rate

#: Targets further away than this, in metres, are refused.
FURTHEST = 1e100


class Gap(NamedTuple):
    """Gap in metres and radians; of a coupling, `distance` is in the units of its sum."""

    distance: Any
    angle: Any


@dataclass(frozen=True, eq=False, kw_only=True)
class Target:
    """Target for a frame, seen from another: `Placement`, `Position` or `Direction`.

    `weight` counts where not all targets can be met: the sum of |weight r|^2 is least, r in radians and in distances
    relative to the reach of the chain between the two frames. A target counts as met within `tolerance`, in metres and
    radians; without one, within that of the call.
    """

    relative_to: Frame | str | None = None
    weight: float = 1.0
    tolerance: float | None = None
    kind: ClassVar[str]

    def _check(self, node: Any) -> None:
        for name, x in (("weight", self.weight), ("tolerance", self.tolerance)):
            what = f"{name} of the {self.kind} of {_name(node)!r}"
            if x is not None and not float(finite(x, (), what, StateError)) > 0.0:
                raise StateError(f"{what} must be positive, got {x!r:.60}.")


@dataclass(frozen=True, eq=False)
class Placement(Target):
    """The pose of a frame: six conditions.

    >>> Placement("hand/tool", Pose(translation=(0.4, 0, 0.3)), relative_to="base").kind
    'pose'
    """

    node: Frame | str
    pose: Pose
    kind = "pose"

    def __post_init__(self) -> None:
        if not isinstance(self.pose, Pose):
            raise StateError(f"the pose of {_name(self.node)!r} must be a Pose(...), got {self.pose!r:.60}.")
        _reachable(self.pose.translation, self)
        self._check(self.node)


@dataclass(frozen=True, eq=False)
class Position(Target):
    """The position of a frame's origin: three conditions.

    >>> Position("hand/tool", (0.4, 0, 0.3)).point
    array([0.4, 0. , 0.3])
    """

    node: Frame | str
    point: Any
    kind = "position"

    def __post_init__(self) -> None:
        point = finite(self.point, (..., 3), f"the position of {_name(self.node)!r}", StateError)
        object.__setattr__(self, "point", frozen(point))
        _reachable(point, self)
        self._check(self.node)


@dataclass(frozen=True, eq=False)
class Direction(Target):
    """The direction, seen from `relative_to`, of an axis fixed in a frame: two conditions.

    >>> Direction("hand/tool", axis=(0, 0, 1), direction=(0, 0, -2)).direction
    array([ 0.,  0., -1.])
    """

    node: Frame | str
    axis: Any
    direction: Any
    kind = "direction"

    def __post_init__(self) -> None:
        name = _name(self.node)
        object.__setattr__(self, "axis", _units(self.axis, (3,), f"the axis in {name!r}"))
        object.__setattr__(self, "direction", _units(self.direction, (..., 3), f"the direction of {name!r}"))
        self._check(self.node)


@dataclass(frozen=True, eq=False)
class Axes(Target):
    """Some of the six conditions of a pose, about and along axes of the goal: the tip of a limb that is free in others.

    >>> Axes("hand/tool", Pose(translation=(0.4, 0, 0.3)), counts=(1, 1, 1, 1, 1, 0)).kind
    'axes'
    """

    node: Frame | str
    pose: Pose
    counts: Any
    """Flags of the turns about and the ways along x, y, z of the goal that count, (6)."""
    kind = "axes"


AnyTarget = Placement | Position | Direction | Axes


class Aim(NamedTuple):
    """A target with its frames found, for one state."""

    name: str
    kind: str
    frame: Frame
    to: Frame
    axis: Array
    goal: Any
    weight: float
    length: float
    """Unit of its distances, in metres: the links between its frames, or the distance of the goal; the longest of all
    aims."""
    tolerance: Gap
    counts: Array
    """1 for conditions of a pose that count, 0 for those that do not, (6)."""

    def seen(self, state: State) -> tuple[Array, Array]:
        """R and p of the frame seen from `relative_to`."""
        return relative_pose(state, self.frame, self.to)

    def residual(self, R: Array, p: Array) -> Array:
        """r, without the weight."""
        if self.kind == "position":
            return np.asarray(p - self.goal)
        if self.kind == "direction":
            return _turn(R @ self.axis, self.goal)
        if self.kind == "axes":
            return self._some(R, p)
        return np.concatenate([log(self.goal.rotation.T @ R), p - self.goal.translation])

    def rate(self, R: Array) -> Array:
        """The matrix C of rdot = C xi."""
        C = np.zeros((6, 6))
        C[:3, :3], C[3:, 3:] = np.eye(3), R
        if self.kind == "axes":
            turned = self.goal.rotation.T @ R
            C[:3, :3], C[3:, 3:] = log_rate(log(turned)), turned
            C *= self.counts[:, None]
        if self.kind == "direction":
            u = R @ self.axis
            C[:3, :3] = (np.outer(u, u) - np.eye(3)) @ R
        return C[3:] if self.kind == "position" else C[:3] if self.kind == "direction" else C

    def gap(self, r: Array) -> Gap:
        """Gap of a residual."""
        angle = 0.0 if self.kind == "position" else float(np.linalg.norm(r[:3]))
        return Gap(0.0 if self.kind == "direction" else float(np.linalg.norm(r[-3:])), angle)

    def gaps(self, R: Array, p: Array) -> Gap:
        """Gaps at many poses, (batch, 3, 3) and (batch, 3); angles by their cosines, to half the digits."""
        none = np.zeros(len(p))
        if self.kind == "axes":
            r = self._some(R, p)
            return Gap(np.linalg.norm(r[:, 3:], axis=-1), np.linalg.norm(r[:, :3], axis=-1))
        if self.kind == "direction":
            return Gap(none, np.arccos(np.clip((R @ self.axis) @ self.goal, -1.0, 1.0)))
        goal = self.goal if self.kind == "position" else self.goal.translation
        distance = np.linalg.norm(p - goal, axis=-1)
        if self.kind == "position":
            return Gap(distance, none)
        cosine = 0.5 * (np.einsum("ij,...ij->...", self.goal.rotation, R) - 1.0)
        return Gap(distance, np.arccos(np.clip(cosine, -1.0, 1.0)))

    def _some(self, R: Array, p: Array) -> Array:
        """Residual in axes of the goal, (..., 6), zero where it does not count."""
        turned = self.goal.rotation.T @ R
        way = (p - self.goal.translation) @ self.goal.rotation
        return np.asarray(self.counts * np.concatenate([log(turned), way], axis=-1))

    def met(self, r: Array) -> bool:
        """True if a residual is within the tolerance."""
        return self.met_by(self.gap(r))

    def met_by(self, gap: Gap) -> bool:
        """True if a gap is within the tolerance."""
        return bool(gap.distance <= self.tolerance.distance and gap.angle <= self.tolerance.angle)

    @property
    def scales(self) -> Array:
        """Factors that make a residual free of units: 1 of angles, one over the length of distances."""
        both = (1.0,) * 3 + (1.0 / self.length,) * 3
        return np.array({"pose": both, "axes": both, "position": both[3:]}.get(self.kind, both[:3]))


def aim_at(
    graph: Graph,
    name: str,
    kind: str,
    frames: tuple[Frame, Frame],
    goal: Any,
    axis: Any = (0.0, 0.0, 0.0),
    weight: float = 1.0,
    tolerance: float = MET,
    limit: float | None = None,
    counts: Any = (1.0,) * 6,
) -> Aim:
    """A target for one state. `tolerance` is in radians and relative to its length, `limit` in radians and metres."""
    goal_at = np.zeros(3) if kind == "direction" else goal if kind == "position" else goal.translation
    length = max(chain(*frames).length, float(np.linalg.norm(goal_at))) or length_of(graph) or 1.0
    allowed = Gap(tolerance * length, tolerance) if limit is None else Gap(limit, limit)
    return Aim(name, kind, *frames, np.asarray(axis), goal, weight, length, allowed, np.array(counts, dtype=float))


def aims_rates(graph: Graph, state: State, aims: list[Aim]) -> Array:
    """The rates of all residuals by dof, (rows, nv), without weights. O(depth) a target."""
    moving = list(dict.fromkeys(x for aim in aims for x in (aim.frame, aim.to) if isinstance(x.carrier, Body)))
    stacked = jacobian(graph, state.q, list(moving), expressed_in="node")
    J = {frame: stacked[6 * i : 6 * i + 6] for i, frame in enumerate(moving)}
    parts = []
    for aim in aims:
        R, p = aim.seen(state)
        xi = J.get(aim.frame, np.zeros((6, graph.nv)))
        if aim.to in J:
            xi = xi - Pose.unchecked(R, p).phi().T @ J[aim.to]
        parts.append(aim.rate(R) @ xi)
    return np.concatenate(parts)


# -- reading ---------------------------------------------------------------------------------------------------


def read_targets(targets: Any) -> list[AnyTarget]:
    """Targets from `{node: Pose or point}`, one target, or several."""
    if isinstance(targets, Mapping):
        read = [_from_pair(node, goal) for node, goal in targets.items()]
    else:
        read = list(targets) if isinstance(targets, list | tuple) else [targets]
    for x in read:
        if not isinstance(x, AnyTarget):
            raise StateError(
                "targets are given as {node: Pose or point}, or as a list of Placement(...), Position(...) and "
                f"Direction(...); got {x!r:.60}."
            )
    if not read:
        raise StateError("inverse_kinematics was given no targets; to close loops alone there is s.assemble(q0).")
    return read


def _from_pair(node: Any, goal: Any) -> AnyTarget:
    if isinstance(goal, Target):
        raise StateError(f"the target of {_name(node)!r} is a {type(goal).__name__}; give a list of such, not a dict.")
    return Placement(node, goal) if isinstance(goal, Pose) else Position(node, goal)


def batch_of(targets: list[AnyTarget], q0: Array) -> tuple[int, ...]:
    """The leading axes of the targets and of q0 together."""
    shapes = {"q0": q0.shape[:-1]}
    for x in targets:
        shapes[f"{x.kind} of {_name(x.node)!r}"] = _goal_batch(x)
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        text = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise StateError(f"the leading (batch) axes of the targets do not agree: {text}.") from None


def aims_of(graph: Graph, targets: list[AnyTarget], batch: tuple[int, ...], tolerance: float) -> list[list[Aim]]:
    """The targets for every state of the batch."""
    frames = [_frames(graph, x) for x in targets]
    names = _names(targets, frames)
    by_state: list[list[Aim]] = []
    for i in np.ndindex(*batch):
        one = []
        for x, (frame, to), name in zip(targets, frames, names, strict=True):
            axis = x.axis if isinstance(x, Direction) else np.zeros(3)
            counts = x.counts if isinstance(x, Axes) else np.ones(6)
            limit = None if x.tolerance is None else float(x.tolerance)
            goal, weight = _goal(x, batch, i), float(x.weight)
            one.append(aim_at(graph, name, x.kind, (frame, to), goal, axis, weight, tolerance, limit, counts))
        longest = max(aim.length for aim in one)  # so that one metre weighs as much as another
        by_state.append([aim._replace(length=longest) for aim in one])
    return by_state


def _frames(graph: Graph, x: AnyTarget) -> tuple[Frame, Frame]:
    frame = graph.frame(x.node)
    to = graph.root if x.relative_to is None else graph.frame(x.relative_to)
    if frame.carrier is to.carrier:
        raise ModelError(
            f"the {x.kind} of {frame.full_name!r} relative to {to.full_name!r} never changes: both are on "
            f"{frame.carrier.name!r}."
        )
    return frame, to


def _names(targets: list[AnyTarget], frames: list[tuple[Frame, Frame]]) -> list[str]:
    """The names of the nodes; with what is asked of them, and a number, where that is not enough."""
    plain = [frame.full_name for frame, _ in frames]
    shown = [name if plain.count(name) == 1 else f"{name} {x.kind}" for name, x in zip(plain, targets, strict=True)]
    return [name if shown.count(name) == 1 else f"{name} {shown[: i + 1].count(name)}" for i, name in enumerate(shown)]


def _goal_batch(x: AnyTarget) -> tuple[int, ...]:
    if isinstance(x, Placement | Axes):
        return x.pose.batch_shape
    return tuple((x.point if isinstance(x, Position) else x.direction).shape[:-1])


def _goal(x: AnyTarget, batch: tuple[int, ...], i: tuple[int, ...]) -> Any:
    if isinstance(x, Placement | Axes):
        R, p = x.pose.rotation, x.pose.translation
        return Pose.unchecked(np.broadcast_to(R, (*batch, 3, 3))[i].copy(), np.broadcast_to(p, (*batch, 3))[i].copy())
    return np.broadcast_to(x.point if isinstance(x, Position) else x.direction, (*batch, 3))[i]


def _turn(u: Array, goal: Array) -> Array:
    """The rotation vector of the shortest turn from u to the goal; of a half turn any one across."""
    across = skew(u) @ goal
    sine = float(np.linalg.norm(across))
    if sine < SAME_DIRECTION:
        if float(u @ goal) > 0.0:
            return np.asarray(across)
        across = skew(u) @ np.eye(3)[int(np.argmin(np.abs(u)))]
        return np.asarray(np.pi * across / np.linalg.norm(across))
    return np.asarray(np.arctan2(sine, float(u @ goal)) / sine * across)


def _units(x: Any, shape: Any, what: str) -> Array:
    a = finite(x, shape, what, StateError)
    largest = np.abs(a).max(axis=-1, keepdims=True)
    if not (largest > 0.0).all():
        raise StateError(f"{what} must not be zero; give a direction such as (0, 0, 1).")
    a = a / largest
    return frozen(a / np.linalg.norm(a, axis=-1, keepdims=True))


def _reachable(point: Array, x: Placement | Position) -> None:
    """Raise `StateError` for a point whose distance squared is not a number."""
    furthest = float(np.abs(point).max(initial=0.0))
    if furthest > FURTHEST:
        raise StateError(f"the {x.kind} of {_name(x.node)!r} is {furthest:.3g} m away, beyond {FURTHEST:g} m.")


def _name(node: Any) -> str:
    return node.full_name if isinstance(node, Frame) else str(node)[:60]
