"""Scenes of worlds: objects where they are, covers, paddings and nearest points."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.contact import Box, Capsule, ConvexHull, Cylinder, Ellipsoid, HeightField, Plane, Sphere, TriangleMesh
from soacraft.errors import ModelError, ViewError
from soacraft.robot import Robot, World

CORNERS = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]


def world():
    mb = sc.Multibody("arm")
    body = mb.add_body("link", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    body.add_geometry(sc.Geometry("skin", "box", (1.0, 0.2, 0.2), sc.Pose(translation=(0.5, 0, 0)), role="both"))
    return World(Robot(mb))


def test_objects_are_drawn_where_they_are():
    """Every kind of shape: its surface has the extent of the shape, about its place."""
    w = world()
    at = sc.Pose.from_rpy(0.0, 0.0, np.pi / 2, (3.0, 4.0, 5.0))
    z = np.zeros((3, 3))
    shapes = {
        "box": (Box(1, 2, 3), (2, 1, 3)), "ball": (Sphere(0.5), (1, 1, 1)), "rod": (Capsule(0.1, 1.0), (0.2, 0.2, 1.2)),
        "can": (Cylinder(0.1, 1.0), (0.2, 0.2, 1.0)), "egg": (Ellipsoid(1, 2, 3), (4, 2, 6)),
        "hull": (ConvexHull(CORNERS), (1, 1, 1)), "ground": (HeightField(z, 2.0, 4.0), (4, 2, 0)),
        "mesh": (TriangleMesh(CORNERS, [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)]), (1, 1, 1)),
    }  # fmt: skip
    for name, (shape, _) in shapes.items():
        w.add(name, shape, at)
    w.add_points("scan", [(3.01, 4.01, 5.01)], voxel=0.02)
    w.add("floor", Plane(), sc.Pose(translation=(0, 0, -9)))
    view = sc.view.scene(w)
    drawn = {x.name: x for x in view.parts if x.kind == "object"}
    assert set(drawn) == {f"{name}/shape" for name in (*shapes, "scan", "floor")}
    for name, (_, size) in shapes.items():
        part = drawn[f"{name}/shape"]
        assert part.body == -1
        assert np.ptp(part.surface.points, axis=0) == pytest.approx(size, abs=0.05 * max(size))
    assert drawn["scan/shape"].surface.points.min(axis=0) == pytest.approx([3.0, 4.0, 5.0])
    assert (drawn["floor/shape"].surface.points[:, 2] == -9).all()
    for x in (drawn["hull/shape"], drawn["mesh/shape"]):  # outward
        middle = x.surface.points.mean(axis=0)
        assert (np.einsum("ij,ij->i", x.surface.points - middle, x.surface.normals) > 0.0).all()
    before = view.pixels(size=(64, 48))
    w.move("box", sc.Pose(translation=(1.0, 4.0, 5.0)))
    assert (view.pixels(size=(64, 48)) != before).any()  # a scene follows its world


def test_covers_and_paddings_are_drawn_around_the_robot():
    w = world()
    assert {x.kind for x in sc.view.scene(w).parts} == {"geometry"}
    (told,) = w.detail("link", "spheres")
    w.pad("link", 0.1)
    parts = sc.view.scene(w).parts
    covers = [x for x in parts if x.kind == "cover"]
    pads = [x for x in parts if x.kind == "padding"]
    assert len(covers) == len(pads) == len(told) > 1
    for cover, pad in zip(covers, pads, strict=True):
        assert (cover.body, pad.body) == (0, 0)
        assert cover.alpha < 1.0
        assert np.ptp(pad.surface.points, axis=0) == pytest.approx(np.ptp(cover.surface.points, axis=0) + 0.2, rel=1e-6)
    w.hide("link")
    assert {x.kind for x in sc.view.scene(w).parts} == {"geometry"}


def test_an_object_on_the_robot_is_drawn_on_its_body():
    w = world()
    w.add("tool", Sphere(0.1), sc.Pose(translation=(1.0, 0, 0)), on="link")
    (part,) = (x for x in sc.view.scene(w).parts if x.kind == "object")
    assert part.body == 0
    assert part.surface.points.mean(axis=0) == pytest.approx([1.0, 0.0, 0.0], abs=1e-6)


def test_nearest_points_are_drawn():
    w = world()
    w.add("near", Sphere(0.1), sc.Pose(translation=(1.5, 0, 0)))
    w.add("in", Sphere(0.1), sc.Pose(translation=(0.5, 0, 0)))
    view = sc.view.scene(w)
    rows = w.distances([0.0])
    view.distances(rows)
    rods = {x.name: x for x in view.parts if x.kind == "distance"}
    clear, touch = rods["link/skin - near/shape"], rods["in/shape - link/skin"]
    assert clear.surface.points[:, 0].min() == pytest.approx(1.0, abs=0.05)
    assert clear.surface.points[:, 0].max() == pytest.approx(1.4, abs=0.05)
    assert clear.colour != touch.colour
    assert view.pixels(size=(48, 36)).shape == (36, 48, 3)
    assert "object" in {x.kind for x in view.parts}


def test_what_is_refused():
    with pytest.raises(ViewError, match=r"distances are what w.distances\(q\) of a World gives, got list"):
        sc.view.scene(world()).distances([])
    with pytest.raises(ModelError, match=r"scene\(mb, run\); got Robot. It shows a sc.robot.World too"):
        sc.view.scene(world().robot)
