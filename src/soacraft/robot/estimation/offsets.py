"""Offsets of dofs, from poses that were seen, by least squares in the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.errors import ConvergenceError, ModelError, StateError
from soacraft.model.sizes.lengths import length_of
from soacraft.model.states.coordinates import read_q
from soacraft.model.tree.frames.frame import Body
from soacraft.robot.robot import Robot
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import log

#: Singular values of the readings, without units, below this part of the largest are of what they do not show.
_SEEN = 1e-8
#: Steps of Gauss and Newton, and the part of a radian, or of the model's length, at which they end.
_ROUNDS, _ENOUGH = 50, 1e-12


@dataclass(frozen=True, eq=False)
class Offsets:
    """Offsets to be added to readings of dofs for the model to be where it is seen."""

    dofs: tuple[str, ...]
    values: Array
    deviations: Array
    """Standard deviations, from the residual; infinite for offsets that the poses do not show (taken as zero)."""
    left: tuple[float, float]
    """The root mean square of turn and way that are left, in radians and metres."""

    def __repr__(self) -> str:
        seen = int(np.isfinite(self.deviations).sum())
        turn, way = self.left
        return f"offsets of {len(self.dofs)} dofs, {seen} seen, {turn:.3g} rad and {way:.3g} m left over"


def estimate_offsets(robot: Robot, frame: Any, q: Any, poses: Pose, relative_to: Any = "inertial") -> Offsets:
    """Offsets of the dofs between two frames, from readings q (N, nq) and the poses (N) of a frame that were seen.

        pose(q + offset) = seen,    by Gauss and Newton in least squares, ways in parts of the model's length

    Only hinges whose coordinates are their dofs have offsets. Where two dofs turn about one line in all readings, they
    cannot be told apart. O(N n) a step.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("panda"))
    >>> q = np.random.default_rng(0).uniform(-1, 1, (10, 7))
    >>> seen = rb.mb.pose("link7", state=rb.mb.state(q + [0, 0.01, 0, 0, -0.02, 0, 0]))
    >>> sc.robot.estimate_offsets(rb, "link7", q, seen).values.round(9) + 0.0
    array([ 0.  ,  0.01,  0.  ,  0.  , -0.02,  0.  ,  0.  ])
    """
    if not isinstance(robot, Robot):
        raise ModelError(f"offsets are of a Robot, got {robot!r:.60}.")
    mb = robot.mb
    node, base = mb.frame(frame), mb.frame(relative_to)
    readings = np.atleast_2d(read_q(mb, q))
    if readings.ndim > 2 or not len(readings):
        raise StateError(f"q must be (N, nq) with a reading at least, got the shape {readings.shape}.")
    if not isinstance(poses, Pose) or poses.batch_shape != (len(readings),):
        raise StateError(f"poses must be a Pose with one leading axis of {len(readings)}, as q has; got {poses!r:.60}.")
    moving = _dofs_between(mb, node, base)
    names = tuple(mb.dof_names[i] for i in moving)
    length = length_of(mb) or 1.0
    scale = np.repeat([1.0, 1.0 / length], 3)
    units = np.array([1.0 if u == "r" else length for u in "".join(mb.layout.units.hinge)])[moving]
    offset = np.zeros(mb.nv)
    for _ in range(_ROUNDS):
        r, J = _left(mb, node, base, readings, offset, poses, scale)
        J = J[:, :, moving].reshape(-1, len(moving)) * units
        U, s, Vt = np.linalg.svd(J, full_matrices=False)
        seen = s > _SEEN * s.max(initial=0.0)
        step = Vt[seen].T @ ((U[:, seen].T @ r.reshape(-1)) / s[seen])
        offset[moving] += step * units
        if np.abs(step).max(initial=0.0) <= _ENOUGH:
            break
    else:
        raise ConvergenceError(
            f"offsets of {mb.name!r} did not settle in {_ROUNDS} steps: the poses are too far from the readings."
        )
    r, _ = _left(mb, node, base, readings, offset, poses, scale)
    noise = np.sqrt(np.sum(r**2) / max(r.size - int(seen.sum()), 1))
    shown = np.sum(Vt[seen] ** 2, axis=0) > 1.0 - 1e-6
    spread = np.where(shown, np.sqrt(np.sum((Vt[seen] / s[seen, None]) ** 2, axis=0)) * noise, np.inf)
    turn, way = (float(np.sqrt(np.mean(np.sum(x**2, axis=1)))) for x in (r[:, :3], r[:, 3:] * length))
    return Offsets(names, offset[moving], spread * units, (turn, way))


def _left(
    mb: Any, node: Any, base: Any, q: Array, offset: Array, poses: Pose, scale: Array
) -> tuple[Array, Array]:
    """Turn and way from the model to what was seen, (N, 6), and the Jacobian of the model, (N, 6, nv)."""
    x = np.asarray(mb.integrate(q, np.broadcast_to(offset, (len(q), mb.nv))))
    here = mb.pose(node, base, state=mb.state(x))
    turn = log(poses.rotation @ np.swapaxes(here.rotation, -1, -2))
    r = np.concatenate([turn, poses.translation - here.translation], axis=-1) * scale
    J = np.asarray(dyn.jacobian(mb, x, node, base, relative_to=base, ignore_loops=True))
    return r, J * scale[:, None]


def _dofs_between(mb: Any, node: Any, base: Any) -> list[int]:
    paths = []
    for frame in (node, base):
        at, path = frame.carrier, []
        while isinstance(at, Body):
            path.append(at)
            at = at.parent
        paths.append(path)
    bodies = [x for x in mb.bodies if (x in paths[0]) != (x in paths[1])]
    dofs: list[int] = []
    for body in bodies:
        k = mb.layout.index[body]
        if body.hinge.nq != body.hinge.nv:
            raise ModelError(
                f"hinge {body.hinge_name!r} between {base.full_name!r} and {node.full_name!r} has a quaternion, which "
                "has no offset: see poses relative to a frame outboard of it."
            )
        dofs.extend(range(mb.layout.hinge_v[k].start, mb.layout.hinge_v[k].stop))
    if not dofs:
        raise ModelError(f"nothing moves between {base.full_name!r} and {node.full_name!r}.")
    return dofs
