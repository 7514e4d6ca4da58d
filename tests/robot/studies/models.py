"""Small robots whose studies have closed forms."""

from __future__ import annotations

import numpy as np

import soacraft as sc


def planar(*lengths, masses=None, gravity=(0, 0, 0), name="arm"):
    """Pins about z one after the other, links along x, the mass of each at its end; a node "tip" on the last."""
    mb = sc.Multibody(name, gravity=gravity)
    at, parent = 0.0, None
    for i, (l, m) in enumerate(zip(lengths, masses or [1.0] * len(lengths), strict=True)):
        parent = mb.add_body(f"l{i + 1}", parent, sc.Pin((0, 0, 1)), sc.Inertia(m, (l, 0, 0)),
                             inboard=sc.Pose(translation=(at, 0, 0)))  # fmt: skip
        at = l
    parent.add_node("tip", sc.Pose(translation=(at, 0, 0)))
    return sc.robot.Robot(mb)


def pendulum(m=2.0, l=0.5, g=9.81, effort=30.0):
    """A mass m at l from a pin about y, along x at q = 0: T = m l^2 vdot + m g l cos q against gravity -z."""
    mb = sc.Multibody("pendulum", gravity=(0, 0, -g))
    bob = mb.add_body("bob", None, sc.Pin((0, -1, 0)), sc.Inertia(m, (l, 0, 0)))
    bob.limits = sc.Limits(effort=[effort])
    bob.add_node("tip", sc.Pose(translation=(l, 0, 0)))
    return sc.robot.Robot(mb)


def about_z(count):
    """Rotations about z, (count, 3, 3)."""
    return sc.Pose.from_rpy(0.0, 0.0, 2 * np.pi * np.arange(count) / count).rotation


def four_bar(gravity=(0, -9.81, 0)):
    """A crank of 0.3 m, a coupler of 0.8 m and a rocker of 0.6 m on a ground link of 0.9 m, in the plane of x and y."""
    mb = sc.Multibody("four bar", gravity=gravity)

    def rod(m, l):
        return sc.Inertia(m, (0.5 * l, 0, 0), m * l * l / 12 * np.diag([0.01, 1, 1]))

    crank = mb.add_body("crank", None, sc.Pin((0, 0, 1)), rod(0.5, 0.3))
    coupler = mb.add_body("coupler", crank, sc.Pin((0, 0, 1)), rod(1.2, 0.8), inboard=sc.Pose(translation=(0.3, 0, 0)))
    rocker = mb.add_body("rocker", None, sc.Pin((0, 0, 1)), rod(0.9, 0.6), inboard=sc.Pose(translation=(0.9, 0, 0)))
    coupler.add_node("end", sc.Pose(translation=(0.8, 0, 0)))
    rocker.add_node("end", sc.Pose(translation=(0.6, 0, 0)))
    mb.close_loop("pin", "coupler/end", "rocker/end", sc.Pin((0, 0, 1)))
    mb.set_state(sc.loops.TreeAugmented(mb).assemble([0.6, 0.4, 1.8]), np.zeros(3))
    return mb


def bars():
    """A crank of 0.9 m and two bars of 0.4 m that lead from its end to a pivot at 0.3 m: closed for cos x >= 0.26/0.54,
    since the bars are straight where 0.81 + 0.09 - 0.54 cos x = 0.64."""
    mb = sc.Multibody("bars", gravity=(0, 0, 0))
    pin = sc.Pin((0, 0, 1))
    rod = sc.Inertia(1.0, (0.2, 0, 0), 0.1 * np.eye(3))
    mb.add_body("crank", None, pin, rod)
    mb.add_body("coupler", "crank", pin, rod, inboard=sc.Pose(translation=(0.9, 0, 0)))
    mb.add_body("rocker", None, pin, rod, inboard=sc.Pose(translation=(0.3, 0, 0)))
    for name in ("coupler", "rocker"):
        mb[name].add_node("end", sc.Pose(translation=(0.4, 0, 0)))
    mb.close_loop("pin", "coupler/end", "rocker/end", pin)
    mb.set_state(sc.loops.TreeAugmented(mb).assemble([0.1, 2.5, 0.5], fixed=["crank"]), np.zeros(3))
    return mb
