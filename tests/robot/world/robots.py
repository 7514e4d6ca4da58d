"""Small robots for the tests of worlds."""

from __future__ import annotations

import numpy as np

import soacraft as sc
from soacraft.robot import Robot


def swing(length=1.0, radius=0.05):
    """A ball on the end of a link without shape, that turns about z."""
    mb = sc.Multibody("swing")
    body = mb.add_body("link", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    body.add_geometry(sc.Geometry("ball", "sphere", (radius,), sc.Pose(translation=(length, 0, 0))))
    return Robot(mb)


def door_model():
    """A panel that turns on a post."""
    door = sc.Multibody("door")
    door.root.add_geometry(sc.Geometry("post", "box", (0.02, 0.02, 1.0), role="collision"))
    panel = door.add_body("panel", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    panel.add_geometry(sc.Geometry("wood", "box", (1.0, 0.02, 1.0), sc.Pose(translation=(0.5, 0, 0))))
    return door


def two_arms(scale=1.0, fingers=True):
    """Two arms of three capsules; each hand has two fingers of two links; a free box and a door stand by."""
    mb = sc.Multibody("two arms")

    def link(name, parent, at, hinge, length):
        body = mb.add_body(name, parent, hinge, sc.Inertia(1.0, moment=np.eye(3) * 0.01 * scale**2), inboard=at)
        along = sc.Pose(translation=(0, 0, 0.5 * length * scale))
        body.add_geometry(sc.Geometry("skin", "capsule", (0.03 * scale, 0.8 * length * scale), along, role="collision"))
        return body

    def up(z, x=0.0, y=0.0):
        return sc.Pose(translation=(x * scale, y * scale, z * scale))

    for side, y in (("left", 0.3), ("right", -0.3)):
        link(f"{side}0", None, up(0.0, 0.0, y), sc.Pin((0, 0, 1)), 0.4)
        link(f"{side}1", f"{side}0", up(0.4), sc.Pin((0, 1, 0)), 0.4)
        link(f"{side}2", f"{side}1", up(0.4), sc.Pin((0, 1, 0)), 0.2)
        mb[f"{side}2"].add_node("hand", up(0.2))
        for i, x in enumerate((-0.08, 0.08)) if fingers else ():
            link(f"{side}_finger{i}", f"{side}2", up(0.2, x), sc.Pin((0, 1, 0)), 0.08)
            link(f"{side}_tip{i}", f"{side}_finger{i}", up(0.08), sc.Pin((0, 1, 0)), 0.06)
    heavy, light = (sc.Inertia(m, moment=np.eye(3) * m * 0.01 * scale**2) for m in (5.0, 0.5))
    box = mb.add_body("box", None, sc.Free(), light, inboard=up(0.5, 0.5))
    box.add_geometry(sc.Geometry("skin", "box", (0.1 * scale, 0.4 * scale, 0.1 * scale), role="collision"))
    door = mb.add_body("door", None, sc.Pin((0, 0, 1)), heavy, inboard=up(0.5, 1.2))
    wood = (0.8 * scale, 0.04 * scale, 1.0 * scale)
    door.add_geometry(sc.Geometry("wood", "box", wood, up(0.0, 0.4), role="collision"))
    return Robot(mb)
