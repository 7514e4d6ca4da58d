"""Stances: what of a robot's feet touches, and margins with the feet between which it tips."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import robot as rob
from soacraft.errors import SoacraftError, StateError
from soacraft.robot.standing.stance import lowest

LEGS = [f"{x}_SHANK" for x in ("LF", "RF", "LH", "RH")]


def on(kind, size, pose=None, lean=(0.0, 0.0)):
    """A free body with one shape, turned about x and y."""
    mb = sc.Multibody("shape")
    body = mb.add_body("foot", None, sc.Free(), sc.Inertia(2.0, (0, 0, 0), 0.1 * np.eye(3)))
    body.add_geometry(sc.Geometry("skin", kind, size, pose or sc.Pose(), role="collision"))
    R = sc.Pose.from_rpy(*lean, 0.0).rotation
    return rob.Robot(mb), np.concatenate([sc.spatial.matrix_to_quaternion(R), [0.1, 0.2, 0.3]])


@pytest.mark.parametrize(
    ("kind", "size", "points", "lowest_at"),
    [
        ("box", (0.4, 0.2, 0.1), 4, 0.05),
        ("sphere", (0.1,), 1, 0.1),
        ("ellipsoid", (0.3, 0.2, 0.1), 1, 0.1),
        ("cylinder", (0.1, 0.3), 16, 0.15),
        ("capsule", (0.1, 0.3), 1, 0.25),
    ],
)
def test_what_is_lowest_of_a_shape_touches(kind, size, points, lowest_at):
    rb, q = on(kind, size)
    s = rob.stance(rb, q, "foot")
    assert len(s.points) == points
    assert np.allclose(s.points[:, 2], 0.3 - lowest_at)


@pytest.mark.parametrize("kind", ["box", "sphere", "ellipsoid", "cylinder", "capsule"])
def test_the_lowest_point_is_that_of_the_shape(kind):
    """By the distance of the shape from a far plane, which the contact layer computes."""
    size = {"box": (0.4, 0.2, 0.1), "sphere": (0.1,), "ellipsoid": (0.3, 0.2, 0.1)}.get(kind, (0.1, 0.3))
    shapes = {"box": sc.contact.Box, "sphere": sc.contact.Sphere, "ellipsoid": sc.contact.Ellipsoid,
              "cylinder": sc.contact.Cylinder, "capsule": sc.contact.Capsule}  # fmt: skip
    rng = np.random.default_rng(0)
    for _ in range(20):
        down = rng.standard_normal(3)
        down /= np.linalg.norm(down)
        pose = sc.Pose.from_rpy(*rng.uniform(-3, 3, 3), translation=rng.standard_normal(3))
        found = lowest(sc.Geometry("x", kind, size, pose), down, "x")
        z = -down
        x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
        x /= np.linalg.norm(x)
        ground = sc.Pose(np.column_stack([x, np.cross(z, x), z]), 10.0 * down)
        gap = sc.contact.distance(shapes[kind](*size), pose, sc.contact.Plane(), ground).distance
        assert abs((10.0 - (found @ down).max()) - gap) < 1e-9


def test_a_capsule_that_lies_has_two_points_and_a_box_on_an_edge_too():
    rb, q = on("capsule", (0.1, 0.3), lean=(np.pi / 2, 0.0))
    assert len(rob.stance(rb, q, "foot").points) == 2
    rb, q = on("box", (0.4, 0.2, 0.1), lean=(0.3, 0.0))
    assert len(rob.stance(rb, q, "foot").points) == 2


def test_a_legged_robot():
    rb = rob.Robot(sc.load("anymal_b"))
    q = np.array(rb.mb.q)
    q[7:] = [0, 0.4, -0.8, 0, 0.4, -0.8, 0, -0.4, 0.8, 0, -0.4, 0.8]
    s = rob.stance(rb, q, LEGS, friction={"LF_SHANK": 0.3, "RF_SHANK": 0.3, "LH_SHANK": 0.8, "RH_SHANK": 0.8})
    assert s.friction.tolist() == [0.3, 0.3, 0.8, 0.8]
    assert np.ptp(s.points[:, 2]) < 1e-3                             # it stands on four balls, level
    assert s.region().contains(s.center)
    level = s.polygon.margin(s.center)[0]
    assert abs(s.margin() - level) < 1e-7                            # level ground: the region is the polygon
    angle, feet = s.tip_over()
    height = s.center[2] - s.points[:, 2].mean()
    assert abs(np.tan(angle) - level / height) < 2e-3 * level / height
    assert {x[1] for x in feet} in ({"F"}, {"H"}) or {x[0] for x in feet} in ({"L"}, {"R"})
    # while it accelerates forwards it is nearer to tipping backwards
    vdot = np.zeros(18)
    vdot[3] = 3.0
    faster, behind = s.tip_over(vdot=vdot)
    assert faster < angle
    assert set(behind) == {"LH_SHANK", "RH_SHANK"}


@pytest.mark.parametrize("lean", [0.1, 0.3])
def test_a_block_on_a_slope_by_its_shape(lean):
    """Half width a, height h of the centre of mass over the slope: margin (a - h tan) cos, angle atan(a / h) - lean."""
    a, h = 0.3, 0.5
    rb, q = on("box", (2 * a, 2 * a, 2 * h), lean=(0.0, lean))
    normal = sc.Pose.from_rpy(0, lean, 0).rotation @ [0, 0, 1.0]
    s = rob.stance(rb, q, "foot", friction=0.9, normal=normal)
    assert len(s.points) == 4
    assert abs(s.margin() - (a - h * np.tan(lean)) * np.cos(lean)) < 1e-8
    assert abs(s.tip_over()[0] - (np.arctan2(a, h) - lean)) < 1e-9
    slides = rob.stance(rb, q, "foot", friction=0.9 * np.tan(lean), normal=normal)
    assert slides.margin() == -np.inf


def test_corners_and_nodes_are_points_of_their_own():
    rb, q = on("box", (0.4, 0.2, 0.1))
    rb.mb["foot"].add_node("heel", sc.Pose(translation=(-0.2, 0.0, -0.05)))
    rb.mb["foot"].add_node("toe", sc.Pose(translation=(0.2, 0.0, -0.05)))
    s = rob.stance(rb, q, ["foot/heel", "foot/toe"])
    assert np.allclose(s.points, [[-0.1, 0.2, 0.25], [0.3, 0.2, 0.25]])
    assert s.margin() <= 0.0                                          # a line has no inside
    assert abs(s.margin()) < 1e-12                                    # but the centre of mass is over it
    made = rob.stance(rb, q, "foot", corners=[[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.0]])
    assert np.allclose(made.points[0], [0.2, 0.2, 0.3])
    off = rob.stance(rb, q, "foot", corners=[[0.1, 0, 0], [0.2, 0, 0]])
    assert abs(off.margin() + 0.1) < 1e-9
    assert repr(made) == "Stance of 'shape' on foot: 3 points"


@pytest.mark.parametrize("size", [1e-200, 1e-3, 1e3, 1e200, 1e308])
def test_only_the_direction_of_a_normal_counts(size):
    rb, q = on("box", (0.4, 0.2, 0.1))
    slope = np.array([0.1, 0.2, 1.0])
    one, other = (rob.stance(rb, q, "foot", friction=0.6, normal=x) for x in (slope, size * slope))
    assert np.allclose(one.normals, other.normals, atol=1e-15)
    assert np.isclose(one.margin(), other.margin(), rtol=1e-9)


def test_what_is_refused():
    rb, q = on("box", (0.4, 0.2, 0.1))
    with pytest.raises(SoacraftError, match="frame"):
        rob.stance(rb, q, np.array(1.0))
    with pytest.raises(StateError, match="stance is of a Robot"):
        rob.stance(rb.mb, q, "foot")
    with pytest.raises(StateError, match="stance takes one configuration, got a batch"):
        rob.stance(rb, [q, q], "foot")
    with pytest.raises(StateError, match="one foot or more, each named once"):
        rob.stance(rb, q, ["foot", "foot"])
    with pytest.raises(StateError, match="one foot or more"):
        rob.stance(rb, q, [])
    with pytest.raises(StateError, match="friction at 'foot' must not be negative"):
        rob.stance(rb, q, "foot", friction=-1.0)
    with pytest.raises(StateError, match="the normal at 'foot' is zero"):
        rob.stance(rb, q, "foot", normal=(0, 0, 0))
    with pytest.raises(StateError, match="corners of 'foot' are none"):
        rob.stance(rb, q, "foot", corners=np.zeros((0, 3)))
    rb.mb.add_body("other", "foot", sc.Pin((0, 0, 1)), sc.Inertia(1.0, moment=np.eye(3)))
    q = [*q, 0.0]
    with pytest.raises(StateError, match="'other' has no collision shape: give its corners, or name a node of it"):
        rob.stance(rb, q, "other")
    with pytest.raises(StateError, match="friction names 'other', which is none of the feet"):
        rob.stance(rb, q, "foot", friction={"other": 0.5, "foot": 0.5})
    rb.mb["other"].add_geometry(sc.Geometry("x", "mesh", (1, 1, 1), mesh="x.obj", role="collision"))
    with pytest.raises(StateError, match="'other' has a shape of the kind 'mesh'"):
        rob.stance(rb, q, "other")
    rb.mb.gravity = (0, 0, 0)
    with pytest.raises(StateError, match="has no gravity, so nothing stands"):
        rob.stance(rb, q, "foot")


def test_a_robot_that_falls_faster_than_gravity_has_no_angle_to_tipping():
    rb, q = on("box", (0.4, 0.2, 0.1))
    s = rob.stance(rb, q, "foot")
    down = np.zeros(6)
    down[5] = -9.0
    assert s.tip_over(vdot=down)[0] > 0.0
    down[5] = -15.0
    with pytest.raises(StateError, match="nothing presses on the ground: the robot flies"):
        s.tip_over(vdot=down)
