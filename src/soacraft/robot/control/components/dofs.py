# mypy: disallow-untyped-defs=False, check-untyped-defs=False, disallow-incomplete-defs=False
# mypy: disallow-untyped-calls=False, disable-error-code="misc"
"""Laws in the dofs of a robot as components."""

from __future__ import annotations

import numpy as np

from soacraft.robot.control import joint_space, optimal, path
from soacraft.robot.control.components.law import Gains, Law, Motors, Payloads, Vector, carried, each, kept, nq, nv
from soacraft.robot.control.lending import robot_of
from soacraft.sim.components.declarations import In, output
from soacraft.sim.components.declarations import Params as Base


class ComputedTorque(Law):
    """force = `sc.robot.computed_torque`: eddot + kd edot + kp e = 0, e = difference(q, q_d). Gains are numbers, one
    for each dof, or the rows of a matrix.

    >>> import soacraft as sc
    >>> law = ComputedTorque(robot="double_pendulum", kp=25.0, kd=10.0)
    >>> print(sc.sim.check_component(law))
    ComputedTorque: 1 equations are pure, of their shapes, and take a batch
    """

    class Params(Base):
        robot: str
        kp: Gains
        kd: Gains
        payload: Payloads = ()
        friction: bool = False
        actuated: Motors = None

    q = In(shape=nq)
    v = In(shape=nv)
    q_d = In(shape=nq)
    v_d = In(shape=nv, default=0.0)
    vdot_d = In(shape=nv, default=0.0)

    @output(shape=nv)
    def force(p, q, v, q_d, v_d, vdot_d):
        return joint_space.computed_torque(
            robot_of(p.robot), q, v, (q_d, v_d, vdot_d), p.kp, p.kd, payload=carried(p), friction=p.friction,
            actuated=p.actuated,
        )  # fmt: skip


class Decoupled(Law):
    """force = `sc.robot.decoupled`: nudot = nudot_d - damping nu + m^-1 kp difference(q, q_d), nudot_d the input
    `nudot`."""

    class Params(Base):
        robot: str
        damping: Gains
        kp: Gains = 0.0
        actuated: Motors = None

    q = In(shape=nq)
    v = In(shape=nv)
    q_d = In(shape=nq)
    nudot = In(shape=nv, default=0.0)

    @output(shape=nv)
    def force(p, q, v, q_d, nudot):
        return joint_space.decoupled(
            robot_of(p.robot), q, v, p.damping, q_d=q_d, kp=p.kp, nudot=nudot, actuated=p.actuated
        )


class LQR(Law):
    """The force of `sc.robot.lqr` at q and v, about the state (q0, v0); Q and R are numbers, diagonals, matrices, or
    None as there."""

    class Params(Base):
        robot: str
        q0: Vector
        v0: Vector | None = None
        Q: Gains | None = None
        R: Gains | None = None
        actuated: Motors = None

    q = In(shape=nq)
    v = In(shape=nv)

    @output(shape=nv)
    def force(p, q, v):
        def made(rb):
            return optimal.lqr(rb, p.q0, p.v0, p.Q, p.R, actuated=p.actuated)

        return kept(p, made)(q, v)


class PathLQR(Law):
    """The force of `sc.robot.lqr_path` at t, q and v, along knots at `times`; Q, R and Qf are numbers, diagonals or
    matrices."""

    class Params(Base):
        robot: str
        times: Vector
        path_q: tuple[Vector, ...]
        path_v: tuple[Vector, ...]
        path_vdot: tuple[Vector, ...]
        Q: Gains | None = None
        R: Gains | None = None
        Qf: Gains | None = None
        actuated: Motors = None

    q = In(shape=nq)
    v = In(shape=nv)

    @output(shape=nv)
    def force(p, t, q, v):
        def made(rb):
            return path.lqr_path(
                rb, p.times, p.path_q, p.path_v, p.path_vdot, Q=p.Q, R=p.R, Qf=p.Qf, actuated=p.actuated
            )

        law = kept(p, made)
        return each(lambda t, q, v: law(float(t[0]), q, v), np.asarray(t)[..., None], q, v)
