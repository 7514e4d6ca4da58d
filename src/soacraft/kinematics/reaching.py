"""Inverse kinematics of a tree from one start by compiled code: in go aims, limits and coordinates, out come those that
meet the aims, or nothing where it is not sure. It takes the steps that `descent` takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft import _core
from soacraft.kinematics.bounds import Bounds
from soacraft.kinematics.closure_arrays import end_of, place_numbers
from soacraft.kinematics.targets import Aim, Gap
from soacraft.kinematics.tolerances import (
    DAMPED,
    DAMPING,
    LEAST_DAMPING,
    MOST_DAMPING,
    SAME_DIRECTION,
    TURNED_OVER,
    UNIMPROVED,
)
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array

#: The largest angle of a step, in radians.
LARGEST = 1.0
#: Number of steps that must bring |r|^2 down to this part, while other starts are left.
PATIENCE, ENOUGH = 6, 0.7

_KINDS = {"pose": 0, "position": 1, "direction": 2}
_ROWS = {"pose": 6, "position": 3, "direction": 3}


@dataclass(frozen=True)
class Descent:
    """Settings of the compiled descent, with the names it uses."""

    steps: int
    hasty: int
    """1 while other starts are left."""
    damping: float = DAMPING
    least: float = LEAST_DAMPING
    most: float = MOST_DAMPING
    damped: float = DAMPED
    unimproved: float = UNIMPROVED
    same_direction: float = SAME_DIRECTION
    turned_over: float = TURNED_OVER
    turn: float = LARGEST
    enough: float = ENOUGH
    patience: int = PATIENCE


class Reached(NamedTuple):
    """Configuration at which all aims are met."""

    q: Array
    gaps: list[Gap]
    """Residuals, by aim."""
    iterations: int


def reach(bounds: Bounds, aims: list[Aim], q0: Array, steps: int, hasty: bool) -> Reached | None:
    """Coordinates that meet the aims, from q0, limits kept; None for a closed chain, a sub-graph, a hinge of the user's
    own, a limited ball, an aim at some axes of a pose, and where steps do not lead there, or a turn that is left is in
    doubt. O(rows nv^2) a step.
    """
    graph = bounds.graph
    if not isinstance(graph, Multibody) or graph.is_closed or bounds.balls or not bounds.free.any():
        return None
    tree = CompiledModel.of(graph.layout)
    if tree is None or any(aim.kind not in _KINDS for aim in aims):
        return None
    integers, real = _arrays(graph, tree, aims)
    q, residual = np.array(q0), np.empty(sum(_ROWS[aim.kind] for aim in aims))
    units = bounds.measured_by(aims[0].length).units
    turning, descent = bounds.turning.astype(np.int64), Descent(min(steps, 2**31), int(hasty))
    count = _core.reach(
        tree.kernels, integers, real, np.flatnonzero(bounds.free), *bounds.allowed, units, turning, descent, q, residual
    )
    if count < 0:
        return None
    gaps, at = [], 0
    for aim in aims:
        gaps.append(aim.gap(residual[at : at + _ROWS[aim.kind]]))
        at += _ROWS[aim.kind]
    return Reached(q, gaps, count)


def _arrays(graph: Multibody, tree: CompiledModel, aims: list[Aim]) -> tuple[npt.NDArray[np.int64], Array]:
    """(aims, 3): kind and the elements of the frames; (aims, 43): where these are, the goal, the axis, weight, length
    and tolerances."""
    integers, real = np.empty((len(aims), 3), dtype=np.int64), np.zeros((len(aims), 43))
    heaviest = max(aim.weight for aim in aims)
    for i, aim in enumerate(aims):
        (frame, _, on), (to, _, to_on) = (end_of(graph, tree, x) for x in (aim.frame, aim.to))
        integers[i] = _KINDS[aim.kind], frame, to
        real[i, :12], real[i, 12:24] = place_numbers(on), place_numbers(to_on)
        if aim.kind == "pose":
            real[i, 24:36] = place_numbers(aim.goal)
        else:
            real[i, 33:36] = aim.goal
        real[i, 36:39] = aim.axis
        real[i, 39:] = aim.weight / heaviest, aim.length, *aim.tolerance
    return integers, real
