# mypy: disallow-untyped-defs=False, check-untyped-defs=False, disallow-incomplete-defs=False
# mypy: disallow-untyped-calls=False, disable-error-code="misc"
"""Gravity, friction and feed-forward as components."""

from __future__ import annotations

from soacraft.robot.control import compensation
from soacraft.robot.control.components.law import Law, Motors, Numbers, Payloads, carried, nq, nv
from soacraft.robot.control.lending import robot_of
from soacraft.sim.components.declarations import In, output
from soacraft.sim.components.declarations import Params as Base


class GravityCompensation(Law):
    """The force of `sc.robot.gravity` at q: holds the robot still.

    >>> import soacraft as sc
    >>> law = GravityCompensation(robot="double_pendulum")
    >>> print(sc.sim.check_component(law))
    GravityCompensation: 1 equations are pure, of their shapes, and take a batch
    """

    class Params(Base):
        robot: str
        payload: Payloads = ()
        actuated: Motors = None

    q = In(shape=nq)

    @output(shape=nv)
    def force(p, q):
        return compensation.gravity(robot_of(p.robot), q, payload=carried(p), actuated=p.actuated)


class FrictionCompensation(Law):
    """The force of `sc.robot.friction` at v; `viscous` is 0 where dampers are made up for elsewhere."""

    class Params(Base):
        robot: str
        viscous: Numbers | None = None
        coulomb: Numbers | None = None
        stribeck: Numbers | None = None
        speed: Numbers | None = None
        actuated: Motors = None

    v = In(shape=nv)

    @output(shape=nv)
    def force(p, v):
        return compensation.friction(
            robot_of(p.robot), v, viscous=p.viscous, coulomb=p.coulomb, stribeck=p.stribeck, speed=p.speed,
            actuated=p.actuated,
        )  # fmt: skip


class FeedForward(Law):
    """The force of `sc.robot.feed_forward` at q, v and vdot: that of a motion."""

    class Params(Base):
        robot: str
        payload: Payloads = ()
        friction: bool = False
        actuated: Motors = None

    q = In(shape=nq)
    v = In(shape=nv)
    vdot = In(shape=nv)

    @output(shape=nv)
    def force(p, q, v, vdot):
        return compensation.feed_forward(
            robot_of(p.robot), q, v, vdot, payload=carried(p), friction=p.friction, actuated=p.actuated
        )
