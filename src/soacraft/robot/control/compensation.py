"""Forces that compensate a robot and its load: gravity, friction, the whole of a motion.

    T = Mcal vdot + C + J* w(payload) + friction            Mcal and C with all that the robot holds

A payload that is no part of the model, {frame: inertia}, is moved by the wrench w at its frame, in the frame's axes

    f = m (pddot + wdot x c + w x (w x c) - g),     n = I wdot + w x I w + c x f

Loops and couplings are kept: motors share what X* T must be (`soacraft.robot.control.freedoms`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.analysis.finite import refusing_overflow
from soacraft.dynamics.problem import Mask
from soacraft.errors import StateError
from soacraft.loops.independent_values import Named, by_name, require_names
from soacraft.model.sizes.scale import scale_of
from soacraft.model.states.coordinates import common_batch, in_graph_order, read_q, read_v
from soacraft.model.states.dof_sets import held_dofs, modal_dofs
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.control.freedoms import (
    Freedom,
    apart_dofs,
    by_dof,
    freedom,
    model_of,
    motors_of,
    needed,
    resting,
    sizes_of_dofs,
)
from soacraft.robot.robot import Robot
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.rotations import skew

#: Below this part of the natural speed of a dof (its size in the time of the model) dry friction goes over into rest.
SLOW = 0.03
#: tanh of so many times v / speed stands for the sign.
_STEEP = 10.0

Payload = Mapping[Any, Inertia]


@refusing_overflow()
def gravity(robot: Robot, q: Any, *, payload: Payload | None = None, actuated: Any = None) -> Array:
    """The force of the motors that holds a robot still against gravity, with all that it holds, (..., nv), zero at all
    other dofs. O(n), with loops or a hinged load O(nv^3).

    `payload` is what else it carries, {frame: inertia in the frame's axes}. `actuated` names the dofs with a motor; by
    default those with an actuator, of a model without actuators all hinges but a free base (`rb.actuated`). In a closed
    chain motors share the work. What has no motor:

    - a base or a passive hinge of the robot must need no force, springs counted, else there is no equilibrium;
    - flexible bodies stay bent as they are in q: exact where they rest so under this force, as
      `sc.analysis.equilibrium` with the motors fixed gives;
    - hinges of held objects, such as a lid, move freely, and the motors carry what remains at that instant;
    - objects that lie about do not count.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("pendulum"))                   # 1 kg at 1 m
    >>> sc.robot.gravity(rb, [np.pi / 2], payload={"bob/tip": sc.Inertia(2.0)}).round(9)
    array([29.43])
    """
    mb = model_of(robot)
    q, motors, still = read_q(mb, q), motors_of(robot, actuated), np.zeros(mb.nv)
    T = np.array(dyn.gravity_force(mb, q, ignore_loops=True))
    if not motors.all():  # of what has no motor, with its springs
        T = np.where(motors, T, dyn.inverse_dynamics(mb, q, still, still, ignore_loops=True))
    if (payload := read_payload(payload)) is not None:
        T = T + np.asarray(dyn.compensating_force(mb, q, wrenches(mb, payload, q, still, still), ignore_loops=True))
    if motors.all() and not mb.is_closed:
        return T
    modes, loads = modal_dofs(mb), held_dofs(mb, robot.held) | apart_dofs(mb, motors)
    for at in np.ndindex(T.shape[:-1]) if mb.is_closed or loads.any() else ():
        free = resting(mb, q[at], still, loads, T[at])
        if free.x0.any():  # what is held goes
            if payload is not None:
                raise StateError(_payload_text(mb, loads))
            T[at] += np.asarray(dyn.mass_matrix(mb, q[at], ignore_loops=True)) @ free.x0
        if mb.is_closed:
            T[at] = replace(free, motors=motors).force(free.X.T @ T[at])
    if not mb.is_closed:
        refuse_forces(mb, T, ~(motors | modes | loads))
    return np.where(motors, T, 0.0)


@refusing_overflow()
def friction(
    robot: Robot,
    v: Any,
    *,
    viscous: Any = None,
    coulomb: Any = None,
    stribeck: Any = None,
    speed: Any = None,
    actuated: Any = None,
) -> Array:
    """The force that makes up for friction of the hinges that have a motor (`actuated` as for `gravity`), (..., nv),
    zero at all other dofs. O(n).

        T = viscous v + (coulomb + stribeck exp(-(v/speed)^2)) tanh(10 v / speed)

    Numbers, or one for each dof. Friction parameters default to those of the model in `body.passive`: `viscous` is its
    `damping`, `coulomb` its `friction`, `stribeck`, the static friction less the dry one, its `static` less that, and
    `speed`, where the difference is gone, its `stribeck_speed`. Where `coulomb` is given, `stribeck` defaults to zero;
    a hinge without a speed has 0.03 of the natural speed of the dof. `tanh` replaces the sign, so that it does not
    chatter at rest. Dampers of the model are part of its dynamics, so `feed_forward` has made up for them already: take
    `viscous=0` then, or `feed_forward(..., friction=True)`.

    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("pendulum"))
    >>> rb.mb["bob"].passive = sc.Passive(damping=0.5, friction=1.0)
    >>> sc.robot.friction(rb, [2.0])
    array([2.])
    >>> sc.robot.friction(rb, [2.0], coulomb=3.0)
    array([4.])
    >>> rb.mb["bob"].passive = sc.Passive(friction=1.0, static=1.5, stribeck_speed=0.1)
    >>> sc.robot.friction(rb, [0.1]).round(3)                      # 1 + 0.5/e
    array([1.184])
    """
    mb = model_of(robot)
    v = read_v(mb, v)
    passive = {
        "viscous": by_dof(mb, lambda x: x.passive.damping),
        "coulomb": by_dof(mb, lambda x: x.passive.friction),
        "stribeck": by_dof(mb, lambda x: np.maximum(x.passive.static - x.passive.friction, 0.0)),
        "speed": by_dof(mb, lambda x: x.passive.stribeck_speed),
    }
    passive["speed"] = np.where(passive["speed"] > 0.0, passive["speed"], SLOW * sizes_of_dofs(mb) / scale_of(mb).time)
    if coulomb is not None:
        passive["stribeck"] = np.zeros(mb.nv)
    terms = {"viscous": viscous, "coulomb": coulomb, "stribeck": stribeck, "speed": speed}
    a, c, s, w = (passive[x] if terms[x] is None else _by_dof(mb, terms[x], x) for x in terms)
    if (w <= 0.0).any() or any((x < 0.0).any() for x in (a, c, s)):
        raise StateError("friction: viscous, coulomb and stribeck must not be negative, and speed must be positive.")
    T = a * v + (c + s * np.exp(-((v / w) ** 2))) * np.tanh(_STEEP * v / w)
    return np.where(motors_of(robot, actuated, some=False), T, 0.0)


@refusing_overflow()
def feed_forward(
    robot: Robot,
    q: Any,
    v: Any,
    vdot: Any,
    *,
    payload: Payload | None = None,
    friction: bool = False,
    actuated: Any = None,
) -> Array:
    """The force that gives accelerations: inverse dynamics of the robot with all that it holds and with a payload,
    (..., nv). O(n), with loops O(nv^3).

    `payload` and `actuated` as for `gravity`. Where some dofs have no motor (a base, elastic modes, a lid that is
    held), vdot counts at the others, and they go as they will at this state: a flexible body that is not bent as its
    load bends it springs there. In a closed chain vdot is of all dofs, as the closures allow it, or of dofs that set
    the others by name, `{"crank": 0.0}`. Dampers and springs of the model are made up for; `friction=True` adds the dry
    friction of dofs with a motor.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("pendulum"))
    >>> sc.robot.feed_forward(rb, [np.pi / 2], [0.0], [2.0], payload={"bob/tip": sc.Inertia(1.0)}).round(9)
    array([23.62])
    """
    mb = model_of(robot)
    q, v = read_q(mb, q), read_v(mb, v)
    payload = read_payload(payload)
    if not isinstance(friction, bool | np.bool_):
        raise StateError(
            f"friction= says whether the model's dry friction is made up for, True or False; got {friction!r:.60}. "
            "Numbers of your own go to sc.robot.friction."
        )
    motors = motors_of(robot, actuated)
    if mb.is_closed:
        return _closed(robot, q, v, vdot, payload, actuated, friction)
    dry = dry_friction(robot, v, motors) if friction else np.zeros(mb.nv)
    vdot = read_v(mb, vdot, "vdot")
    if motors.all():
        f_ext = reactions(mb, payload, q, v, vdot)
        return np.asarray(dyn.inverse_dynamics(mb, q, v, vdot, f_ext)) + dry
    if payload is not None:
        return _carrying(mb, q, v, vdot, motors, payload) + dry
    return np.asarray(dyn.mixed_dynamics(mb, q, v, np.zeros(mb.nv), vdot, motors)[1]) + dry


def _carrying(mb: Multibody, q: Array, v: Array, vdot: Array, motors: Mask, payload: Payload) -> Array:
    """The force of the motors of a tree with a payload, while all other dofs p go as they will. With F(vdot) all that
    is needed, which is linear in vdot,

        F_p(vdot_a, vdot_p) = 0,      dF_p/dvdot_p = Mcal_pp with the payload

    O(n n_p) a state."""
    batch, idle = common_batch(q=q, v=v, vdot=vdot), np.flatnonzero(~motors)
    qs, vs, accelerations = (np.broadcast_to(x, (*batch, x.shape[-1])) for x in (q, v, vdot))
    T = np.zeros((*batch, mb.nv))
    for at in np.ndindex(*batch):
        a = np.tile(np.where(motors, accelerations[at], 0.0), (len(idle) + 1, 1))
        a[np.arange(len(idle)) + 1, idle] = 1.0
        F = needed(mb, qs[at], vs[at], a, reactions(mb, payload, qs[at], vs[at], a))
        slope = F[1:] - F[0]
        free = np.linalg.solve(slope[:, idle].T, -F[0, idle])
        T[at] = np.where(motors, F[0] + free @ slope, 0.0)
    return T


def dry_friction(robot: Robot, v: Array, motors: Mask) -> Array:
    """Friction of hinges without their dampers, which are part of the dynamics."""
    return friction(robot, v, viscous=0.0, actuated=motors)


def _payload_text(mb: Multibody, idle: Mask) -> str:
    return (
        f"a payload of {mb.name!r} moves the dofs that have no motor ({_listed(mb, idle)}): attach it to the model, "
        "rb.attach(...), so that they are known to move with it."
    )


def read_payload(payload: Any) -> Payload | None:
    """A payload, checked; None where there is none."""
    if payload is None:
        return None
    if not isinstance(payload, Mapping) or not all(isinstance(x, Inertia) for x in payload.values()):
        raise StateError(f"a payload is {{frame: sc.Inertia(...)}}, got {payload!r:.60}.")
    return payload if payload else None


def wrenches(mb: Multibody, payload: Payload, q: Any, v: Any, vdot: Any) -> dict[Any, Array]:
    """The wrench [moment; force] that moves each payload, at its frame in its axes, (..., 6). O(n)."""
    frames: list[Frame | str] = [mb.frame(x) for x in payload]
    motion = dyn.node_motion(mb, q, v, vdot, frames, expressed_in="node", ignore_loops=True)
    by_frame: dict[Any, Array] = {}
    for i, (frame, inertia) in enumerate(zip(frames, payload.values(), strict=True)):
        w, wdot, pddot = motion[2][..., i, :3], motion[3][..., i, :3], motion[3][..., i, 3:]
        g = np.squeeze(motion[0][..., i, :, :].mT @ np.asarray(mb.gravity)[:, None], -1)
        c, turned = inertia.com, w @ skew(inertia.com)  # w x c is -c~ w = w* c~
        f = inertia.mass * (pddot - g + wdot @ skew(c) + np.cross(w, turned))
        n = wdot @ inertia.moment + np.cross(w, w @ inertia.moment) + np.cross(c, f)
        by_frame[frame] = by_frame.get(frame, np.zeros(6)) + np.concatenate([n, f], axis=-1)
    return by_frame


def reactions(mb: Multibody, payload: Payload | None, q: Any, v: Any, vdot: Any) -> dict[Any, Array] | None:
    """External forces of payloads on the robot, as `f_ext`."""
    if payload is None:
        return None
    return {frame: -w for frame, w in wrenches(mb, payload, q, v, vdot).items()}


def _closed(
    robot: Robot, q: Array, v: Array, vdot: Any, payload: Payload | None, actuated: Any, friction: bool
) -> Array:
    mb = robot.mb
    named, what = by_name(mb, vdot, "vdot"), f"vdot of {mb.name!r}"
    a = finite(in_graph_order(mb, vdot, what), (..., None), what, StateError) if named is None else named.values
    batch = common_batch(q=q, v=v, vdot=a)
    qs, vs, accelerations = (np.broadcast_to(x, (*batch, x.shape[-1])) for x in (q, v, a))
    T = np.empty((*batch, mb.nv))
    for at in np.ndindex(*batch):
        free = freedom(robot, qs[at], vs[at], actuated)
        T[at] = free.force(free.X.T @ _needed(robot, free, qs[at], vs[at], accelerations[at], payload, named))
    return T + dry_friction(robot, v, motors_of(robot, actuated)) if friction else T


def _needed(
    robot: Robot, free: Freedom, q: Array, v: Array, vdot: Array, payload: Payload | None, named: Named | None = None
) -> Array:
    mb = robot.mb
    if named is not None and free.closed is not None:
        vdot = free.X @ free.accelerations(named.dofs, vdot) + free.x0
        if free.yields and payload is not None:
            raise StateError(_payload_text(mb, ~free.motors))
    elif 0 < len(vdot) == len(free.names) < mb.nv:
        raise require_names(mb, free.names, "vdot")
    elif free.closed is not None and not free.yields:
        free.closed.require(vdot)
    else:
        vdot = free.followed(vdot, scale_of(mb).time)
        if payload is not None:
            raise StateError(_payload_text(mb, ~free.motors))
    return needed(mb, q, v, vdot, reactions(mb, payload, q, v, vdot))


def refuse_forces(mb: Multibody, T: Array, idle: Any) -> None:
    """Raise `StateError` where dofs without a motor need a force."""
    if not mb.nv:
        return
    c = sizes_of_dofs(mb)
    weight = mb.total_mass * float(np.linalg.norm(mb.gravity)) * scale_of(mb).length
    size = max(weight, float(np.abs(T * c).max(initial=0.0)))
    wrong = np.where(idle, np.abs(T * c), 0.0).reshape(-1, mb.nv).max(axis=0, initial=0.0)
    i = int(np.argmax(wrong))
    if wrong[i] > 1e-9 * size:
        raise StateError(
            f"dof {mb.dof_names[i]!r} has no motor and needs a force of {wrong[i] / c[i]:.4g}: no equilibrium. "
            f"{_cure(mb, i)}"
        )


def _cure(mb: Multibody, i: int) -> str:
    if modal_dofs(mb)[i]:
        return "Bend the flexible bodies to where they rest: q = sc.analysis.equilibrium(mb, ...).q."
    return "Name it where it has a motor, actuated=[...]; a robot on its feet is held by sc.robot.foot_forces."


def _by_dof(mb: Multibody, values: Any, what: str) -> Array:
    x = finite(in_graph_order(mb, values, what), (...,), what, StateError)
    if x.shape not in ((), (mb.nv,)):
        raise StateError(f"friction: {what} is one number, or {mb.nv} for the dofs of {mb.name!r}; got {x.shape}.")
    return np.broadcast_to(x, (mb.nv,))


def _listed(mb: Multibody, mask: Any) -> str:
    return ", ".join(repr(mb.dof_names[i]) for i in np.flatnonzero(mask))
