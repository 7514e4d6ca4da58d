"""Several arms carry one object: the force that moves it along an acceleration, how hands share it, how they squeeze.

    M a + b = w = A f,     f = f_move + f_squeeze,     T = T_g + J* f                                     (formula F13)

f stacks the wrenches of the hands on the object, T_g is the force of the arms with empty hands. The arms' accelerations
are those nearest to the wanted ones, in the metric of the mass matrix, with which the hands follow the object

    J_o vdot = a - dJ_o/dt v                     the object moves as prescribed
    J_h vdot = phi* a + ... - dJ_h/dt v          every hand moves with it;  in a closed chain Gc vdot = -Gcdot v

The object is a free body, a body welded to one of the hands, or joined to all by loops (`rb.grasp`): the torques are
the same, and the closed chain moves so under them with these forces in its closures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.analysis.finite import refusing_overflow
from soacraft.dynamics.arguments import read_prescribed
from soacraft.errors import SingularError, StateError
from soacraft.model.hinges import Free, Weld
from soacraft.model.sizes.scale import scale_of
from soacraft.model.states.coordinates import in_graph_order, read_q, read_v
from soacraft.model.states.dof_sets import modal_dofs
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.control.compensation import refuse_forces
from soacraft.robot.control.freedoms import apart_dofs, model_of, motors_of, resting, sizes_of_dofs
from soacraft.robot.grasping.joined import is_outboard
from soacraft.robot.grasping.sharing import Holding, balance_load, move_squeeze
from soacraft.robot.robot import Robot
from soacraft.spatial.checks import Array, finite

#: Hands may move relative to the object by this part of how fast the robot moves, or would fall, as loops may.
_APART = 1e-6
#: Residual of the accelerations that hands need, relative to them, below which it is rounding.
_LEFT = 1e-8
_RANK = 1e-10  # singular values relative to the largest that count


@dataclass(frozen=True, eq=False)
class Carried:
    """Forces with which arms carry an object along an acceleration."""

    force: Array
    """The generalized force of the robot, (nv); zero at dofs of the object."""
    vdot: Array
    """The accelerations of all dofs, (nv)."""
    wrench: Array
    """Wrench that the object needs, [moment; force] at its frame in its axes, (6)."""
    wrenches: dict[str, Array]
    """Wrench [moment; force] of each hand on the object, at the hand's frame in its axes."""
    f: Array
    """Wrenches of the hands, stacked."""
    squeeze: Array
    """The part of f that does nothing to the object."""

    def __repr__(self) -> str:
        return f"Carried by {', '.join(map(repr, self.wrenches))}: forces to {np.abs(self.force).max(initial=0.0):.4g}"


@refusing_overflow()
def carry(
    robot: Robot,
    obj: Any,
    hands: Any,
    q: Any,
    v: Any,
    acceleration: Any,
    *,
    squeeze: Any = None,
    weight: Any = None,
    vdot: Any = None,
    transmits: str = "wrench",
    actuated: Any = None,
) -> Carried:
    """The force with which arms carry an object along an acceleration of its frame, [angular; linear] in inertial axes.

    `hands` are frames of the arms; each `transmits` a "wrench", or as a point contact a "force". Without `squeeze` the
    load is shared so that |T|_W is least. `weight` W is numbers by dof, a matrix, or by name, {dof or hinge: number}; a
    dof without one counts by its moment, or its force times the model's length. With `squeeze`, hands press on each
    other: newtons with which each presses towards the middle of all, or {hand: wrench}, of which the part that squeezes
    counts; then f_move is the least f in the same sense of length. `vdot` (nv) is the wanted acceleration of redundant
    arms. `actuated` as for `gravity`: a dof of the robot without a motor that needs a force is refused, and flexible
    bodies stay as they are. Pure; the model is not changed. O(nv^3).

    >>> import numpy as np
    >>> import soacraft as sc
    >>> mb = sc.Multibody("carry")
    >>> for side, x in (("left", -1.0), ("right", 1.0)):
    ...     at = sc.Pose(translation=(x, 0, 0))
    ...     hand = mb.add_body(side, None, sc.Prismatic((0, 0, 1)), sc.Inertia(1, (0, 0, 0), np.eye(3)), at)
    >>> box = mb.add_body("box", None, sc.Free(), sc.Inertia(2, (0, 0, 0), np.eye(3)))
    >>> made = sc.robot.carry(sc.robot.Robot(mb), "box", ["left", "right"], mb.q, mb.v, [0, 0, 0, 0, 0, 1.0])
    >>> made.force.round(4)[:2]                                    # each lifts itself, 1 kg, and half of the box
    array([21.6133, 21.6133])
    """
    mb = model_of(robot)
    q, v = read_q(mb, q), read_v(mb, v)
    if q.ndim > 1 or v.ndim > 1:
        raise StateError("carry takes one state, got a batch.")
    held = mb.frame(obj)
    if not isinstance(held, Body):
        raise StateError(f"an object is a body of the model, got {held!r:.60}.")
    a = finite(acceleration, (6,), f"the acceleration of {held.name!r}", StateError)
    if squeeze is not None and weight is not None:
        raise StateError("carry shares the load by weight=, or presses as squeeze= says; give one of them.")
    hold = Holding(mb, held, hands, q, transmits)
    hung = _hung(mb, held, hold)
    moved = _moved(robot, held, hold, hung, q, v, a, np.zeros(mb.nv) if vdot is None else read_v(mb, vdot, "vdot"))
    w = np.array(dyn.interbody_forces(mb, q, v, moved, ignore_loops=True)[held.name])
    empty = _empty_hands(mb, held, hung, q, v, moved, w)
    pressed = None if squeeze is None else _pressed(mb, hold, squeeze, q)
    f, inner = _forces(mb, hold, w, empty, _read_weight(mb, weight), pressed)
    each = dict(zip((x.full_name for x in hold.nodes), _wrenches(f, len(hold.nodes)), strict=True))
    T, motors = empty + hold.J.T @ f, motors_of(robot, actuated)
    idle = ~(motors | modal_dofs(mb) | apart_dofs(mb, motors))
    idle[mb.v_slice(held)] = False
    refuse_forces(mb, T, idle)
    return Carried(np.where(motors, T, 0.0), moved, w, each, f, inner)


def _read_weight(mb: Multibody, weight: Any) -> Any:
    """Weights by dof (nv), where they are given by name."""
    if not isinstance(weight, Mapping):
        return in_graph_order(mb, weight, "weight of carry")
    weights, named = sizes_of_dofs(mb) ** 2, np.zeros(mb.nv, dtype=np.bool_)
    for name, number in weight.items():
        dofs = read_prescribed(mb, [name], "weight of carry:")
        if (dofs & named).any():
            raise StateError(f"weight of carry names {name!r:.60} twice.")
        weights[dofs] = float(finite(number, (), f"the weight of {name!r:.60}", StateError))
        named |= dofs
    return weights


# -- motion -----------------------------------------------------------------------------------------------------------


def _hung(mb: Multibody, held: Body, hold: Holding) -> Frame | None:
    """Hand that is the object's parent; None where the object is free."""
    loose = [x for x in mb.bodies if x is not held and is_outboard(x, held) and x.hinge.nv]
    if loose:
        raise StateError(
            f"{held.name!r} has parts that move by themselves, such as {loose[0].name!r}, and no motors there: carry "
            "takes a rigid object. Take feed_forward of the closed chain with actuated=[...]."
        )
    if held.parent is mb.root and isinstance(held.hinge, Free):
        return None
    by = [x for x in hold.nodes if x.carrier is held.parent]
    if isinstance(held.hinge, Weld) and by:
        return by[0]
    raise StateError(
        f"{held.name!r} is on {held.hinge_name!r}, {held.hinge!r}: carry takes an object that is free, or welded to a "
        "hand. An object on another hinge is driven by feed_forward of the closed chain."
    )


def _moved(
    robot: Robot, held: Body, hold: Holding, hung: Frame | None, q: Array, v: Array, a: Array, wanted: Array
) -> Array:
    """Accelerations of all dofs, nearest to the wanted ones, with which object and hands move as prescribed."""
    mb, nv = robot.mb, robot.mb.nv
    frames: list[Frame | str] = [held, *hold.nodes]
    J = np.asarray(dyn.jacobian(mb, q, frames)).reshape(len(frames), 6, nv)
    drift = np.asarray(dyn.jacobian_dot_v(mb, q, v, frames)).reshape(len(frames), 6)
    motion = dyn.node_motion(mb, q, v, np.zeros(nv), frames, ignore_loops=True)
    places, twist = np.asarray(motion[1]), np.asarray(motion[2])
    size = scale_of(mb).of("rrrmmm")  # of rows: lengths count in those of the model
    rows, right = [J[0] / size[:, None]], [(a - drift[0]) / size]
    w, wdot = twist[0, :3], a[:3]
    for i in range(1, len(frames)):
        arm = places[i] - places[0]
        moves = np.concatenate([w, twist[0, 3:] + np.cross(w, arm)])
        acceleration = np.concatenate([wdot, a[3:] + np.cross(wdot, arm) + np.cross(w, np.cross(w, arm))])
        part = slice(0, 6) if len(hold.A[0]) == 6 * len(hold.nodes) else slice(3, 6)
        _refuse_apart(mb, held, hold.nodes[i - 1], twist[i] - moves, v, part)
        if frames[i] is hung:
            continue
        rows.append((J[i] / size[:, None])[part])
        right.append(((acceleration - drift[i]) / size)[part])
    M = np.asarray(dyn.mass_matrix(mb, q, ignore_loops=True))
    free = resting(mb, q, v, np.zeros(nv, dtype=np.bool_))
    X, vdot = free.X, np.where(modal_dofs(mb), 0.0, wanted)
    if mb.is_closed:
        vdot = free.x0 + X @ np.linalg.solve(X.T @ M @ X, X.T @ M @ (wanted - free.x0))
    G = np.concatenate(rows)
    return np.asarray(vdot + X @ _nearest(mb, held, X.T @ M @ X, G @ X, np.concatenate(right) - G @ vdot))


def _nearest(mb: Multibody, held: Body, M: Array, G: Array, right: Array) -> Array:
    """The least y in the metric M with G y = right."""
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        raise SingularError(
            f"the mass matrix of {mb.name!r} is not positive definite: {held.name!r} or a part of the arms has no mass."
        ) from None
    rows = np.linalg.solve(L, G.T).T
    z = np.linalg.lstsq(rows, right, rcond=_RANK)[0]
    r = float(np.abs(rows @ z - right).max(initial=0.0))
    if r > _LEFT * max(float(np.abs(right).max(initial=0.0)), 1.0 / scale_of(mb).time ** 2):
        raise StateError(
            f"the arms cannot give {held.name!r} this acceleration: {r:.3g} rad/s^2, or lengths of the model, are "
            "left. They lack dofs at this configuration; hold it by forces alone (transmits='force'), or ask for less."
        )
    return np.asarray(np.linalg.solve(L.T, z))


def _refuse_apart(mb: Multibody, held: Body, node: Frame, off: Array, v: Array, part: slice) -> None:
    """Raise `StateError` where a hand leaves the object, relative to how fast the robot moves or would fall."""
    size, length = scale_of(mb).of("rrrmmm"), scale_of(mb).length
    falls = float(np.sqrt(np.linalg.norm(mb.gravity) / length))
    fast = max(float(np.abs(v / sizes_of_dofs(mb)).max(initial=0.0)), falls)
    if float(np.abs(off / size)[part].max()) > _APART * fast:
        raise StateError(
            f"{node.full_name!r} and {held.name!r} move apart, by {np.abs(off[:3]).max():.3g} rad/s and "
            f"{np.abs(off[3:]).max():.3g} m/s: hands that hold an object move with it."
        )


def _empty_hands(mb: Multibody, held: Body, hung: Frame | None, q: Array, v: Array, vdot: Array, w: Array) -> Array:
    """T_g: what the arms need for their own motion."""
    T = np.array(dyn.inverse_dynamics(mb, q, v, vdot, ignore_loops=True))
    T = T - np.asarray(dyn.compensating_force(mb, q, {held: w}, ignore_loops=True))
    if hung is None:
        T[mb.v_slice(held)] = 0.0  # rounding of what hands give it
    return T


# -- forces -----------------------------------------------------------------------------------------------------------


def _forces(
    mb: Multibody, hold: Holding, w: Array, empty: Array, weight: Any, pressed: Array | None
) -> tuple[Array, Array]:
    """f, and the part of it that squeezes: balanced, or with the wanted squeeze.

    Moments are measured by the longest arm from the object to a hand, so that nothing depends on units.
    """
    wide = hold.A.shape[1] == 6 * len(hold.nodes)
    forces = hold.A.reshape(6, len(hold.nodes), -1)[:, :, -3:]
    arm = float(np.linalg.norm(forces[:3], axis=(0, 2)).max()) or scale_of(mb).length
    row = np.repeat([arm, 1.0], 3)
    column = np.tile(row if wide else np.ones(3), len(hold.nodes))
    A, needs = hold.A * column / row[:, None], w / row
    f = np.linalg.lstsq(A, needs, rcond=_RANK)[0]
    unmet = (needs - A @ f) * row
    if np.abs(unmet / row).max() > _LEFT * np.abs(needs).max():
        raise SingularError(
            f"the hands cannot give {hold.held.full_name!r} the wrench that it needs: a moment of "
            f"{np.linalg.norm(unmet[:3]):.3g} N m and a force of {np.linalg.norm(unmet[3:]):.3g} N are left over. Hold "
            "it at more points, or by whole wrenches."
        )
    if pressed is not None:
        inner = move_squeeze(A, pressed / column)[1]
        return (move_squeeze(A, f)[0] + inner) * column, inner * column
    c = sizes_of_dofs(mb) if weight is None else np.ones(mb.nv)
    f = balance_load(A, hold.J * column[:, None] * c, empty * c, f, weight)
    return f * column, move_squeeze(A, f)[1] * column


def _pressed(mb: Multibody, hold: Holding, squeeze: Any, q: Array) -> Array:
    """The wanted forces between hands, stacked."""
    k, m = len(hold.nodes), hold.A.shape[1]
    wide = m == 6 * k
    each = np.zeros((k, 6))
    if isinstance(squeeze, Mapping):
        for hand, w in squeeze.items():
            frame = mb.frame(hand)
            if frame not in hold.nodes:
                raise StateError(f"squeeze names {frame.full_name!r}, which is none of the hands.")
            each[hold.nodes.index(frame)] = finite(w, (6,), f"the squeeze of {frame.full_name!r}", StateError)
    else:
        size = float(finite(squeeze, (), "squeeze", StateError))
        motion = dyn.node_motion(mb, q, np.zeros(mb.nv), np.zeros(mb.nv), list(hold.nodes), ignore_loops=True)
        places = np.asarray(motion[1])
        for i in range(k):
            inward = places.mean(axis=0) - places[i]
            far = float(np.linalg.norm(inward))
            if far == 0.0:
                raise StateError("hands at one place have no direction to press in: give squeeze as {hand: wrench}.")
            each[i, 3:] = np.asarray(motion[0])[i].T @ (size * inward / far)
    return np.concatenate([x if wide else x[3:] for x in each])


def _wrenches(f: Array, hands: int) -> list[Array]:
    parts = f.reshape(hands, -1)
    return [np.concatenate([np.zeros(6 - len(x)), x]) for x in parts]
