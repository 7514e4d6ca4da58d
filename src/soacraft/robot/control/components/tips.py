# mypy: disallow-untyped-defs=False, check-untyped-defs=False, disallow-incomplete-defs=False
# mypy: disallow-untyped-calls=False, disable-error-code="misc"
"""Laws at tips, feet and hands as components."""

from __future__ import annotations

import numpy as np

from soacraft.errors import StateError
from soacraft.robot.control import carrying, feet, task_space
from soacraft.robot.control.components.law import Gains, Law, Motors, each, nq, nv
from soacraft.robot.control.lending import limb_of, robot_of
from soacraft.robot.standing.stance import stance
from soacraft.sim.components.component import Component
from soacraft.sim.components.declarations import In, output
from soacraft.sim.components.declarations import Params as Base
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import quaternion_to_matrix


class OperationalSpace(Law):
    """force = `sc.robot.operational_space`: the tip has `acceleration` [angular; linear], in axes of the base, and the
    force `null` acts where it does not disturb that. `damped` says how many directions are damped next to a singular
    pose, and `missing` what of the acceleration that takes."""

    class Params(Base):
        robot: str
        tip: str
        base: str = "inertial"
        rows: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
        actuated: Motors = None

    q = In(shape=nq)
    v = In(shape=nv)
    acceleration = In(shape=lambda p: len(p.rows))
    null = In(shape=nv, default=0.0)

    @output(shape=nv)
    def force(p, q, v, acceleration, null):
        return _driven(p, q, v, acceleration, null).force

    @output(dtype=int)
    def damped(p, q, v, acceleration, null):
        return _driven(p, q, v, acceleration, null).damped

    @output(shape=lambda p: len(p.rows))
    def missing(p, q, v, acceleration, null):
        return _driven(p, q, v, acceleration, null).missing[..., p.rows]


class Impedance(Law):
    """force = `sc.robot.impedance`: a spring and a damper between the tip and a goal, which is a pose [x, y, z, w of
    its quaternion; position] and a twist [angular; linear], in axes of the base. Gains are numbers, six of them, or
    the rows of a matrix."""

    class Params(Base):
        robot: str
        tip: str
        kp: Gains
        kd: Gains
        base: str = "inertial"
        actuated: Motors = None

    q = In(shape=nq)
    v = In(shape=nv)
    goal = In(shape=7)
    twist = In(shape=6, default=0.0)

    @output(shape=nv)
    def force(p, q, v, goal, twist):
        rb = robot_of(p.robot)
        limb = limb_of(rb, p.base, p.tip)
        size = np.linalg.norm(goal[..., :4], axis=-1, keepdims=True)
        if not (size > 0.0).all():
            raise StateError("the goal of an Impedance begins with a quaternion [x, y, z, w], and this one is zero.")
        pose = Pose(quaternion_to_matrix(goal[..., :4] / size), goal[..., 4:])
        return task_space.impedance(rb, limb, q, v, pose, twist, p.kp, p.kd, actuated=p.actuated)


class Admittance(Component):
    """acceleration = `sc.robot.admittance`: inertia xddot + damping xdot + stiffness x = wrench, each a number, six of
    them, or the rows of a matrix."""

    class Params(Base):
        inertia: Gains
        damping: Gains
        stiffness: Gains

    wrench = In(shape=6)
    error = In(shape=6)
    rate = In(shape=6)

    @output(shape=6)
    def acceleration(p, wrench, error, rate):
        return task_space.admittance(wrench, error, rate, p.inertia, p.damping, p.stiffness)


class FeetForces(Law):
    """force = that of `sc.robot.foot_forces` for the accelerations vdot, standing on `feet`; `left` is the largest part
    of the equations that the feet cannot hold, zero where they hold."""

    class Params(Base):
        robot: str
        feet: tuple[str, ...]
        friction: float = 0.7
        normal: tuple[float, float, float] | None = None
        sides: int = 8
        actuated: Motors = None

    q = In(shape=nq)
    v = In(shape=nv)
    vdot = In(shape=nv, default=0.0)

    @output(shape=nv)
    def force(p, q, v, vdot):
        return each(lambda q, v, vdot: _stood(p, q, v, vdot).force, q, v, vdot)

    @output()
    def left(p, q, v, vdot):
        return each(lambda q, v, vdot: np.abs(_stood(p, q, v, vdot).left).max(keepdims=True), q, v, vdot)[..., 0]


class Carrying(Law):
    """force = that of `sc.robot.carry`: hands carry an object along an acceleration [angular; linear] in inertial axes,
    and press on each other with `squeeze` newtons; None shares the load."""

    class Params(Base):
        robot: str
        object: str
        hands: tuple[str, ...]
        squeeze: float | None = None
        transmits: str = "wrench"
        actuated: Motors = None

    q = In(shape=nq)
    v = In(shape=nv)
    acceleration = In(shape=6)

    @output(shape=nv)
    def force(p, q, v, acceleration):
        def one(q, v, a):
            return carrying.carry(
                robot_of(p.robot), p.object, list(p.hands), q, v, a, squeeze=p.squeeze, transmits=p.transmits,
                actuated=p.actuated,
            ).force  # fmt: skip

        return each(one, q, v, acceleration)


def _driven(p, q, v, acceleration, null):
    rb = robot_of(p.robot)
    limb = limb_of(rb, p.base, p.tip)
    return task_space.operational_space(rb, limb, q, v, acceleration, null, rows=p.rows, actuated=p.actuated)


def _stood(p, q, v, vdot):
    rb = robot_of(p.robot)
    at = stance(rb, q, list(p.feet), friction=p.friction, normal=p.normal)
    return feet.foot_forces(at, v, vdot, sides=p.sides, actuated=p.actuated)
