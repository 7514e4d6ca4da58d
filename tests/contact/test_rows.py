"""Points of contact before and after a step: which of them are the same."""

import numpy as np

import soacraft as sc
from soacraft.contact.dynamics.rows import contact_rows, same_points
from soacraft.contact.dynamics.surfaces import Surfaces


def box_on_floor():
    mb = sc.Multibody()
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    box = mb.add_body("box", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3)))
    box.add_geometry(sc.Geometry("skin", "box", (0.4, 0.3, 0.2)))
    scene = sc.contact.Scene(mb)
    return scene, Surfaces(scene, 0.5, 0.0)


def at(x, height=0.1, tilt=0.0):
    return np.array([0.0, np.sin(tilt / 2), 0.0, np.cos(tilt / 2), x, 0.0, height])


def test_corners_that_slide_are_matched_in_any_order():
    """A box that is tilted by a little one way, then the other: its corners, nearest first, change places."""
    scene, surfaces = box_on_floor()
    before, after = (contact_rows(scene, surfaces, at(x, tilt=t), 0.01) for x, t in ((0.0, 1e-3), (2e-3, -1e-3)))
    assert len(before) == len(after) == 4
    same = same_points(before, after, 0.01)
    assert sorted(same) == [0, 1, 2, 3] != same
    way = after.contacts.point_b - before.contacts.point_b[same]
    assert np.abs(way[:, :2] - [2e-3, 0.0]).max() < 1e-3


def test_a_point_that_is_new_or_far_has_none():
    scene, surfaces = box_on_floor()
    before = contact_rows(scene, surfaces, at(0.0), 0.01)
    assert same_points(before, contact_rows(scene, surfaces, at(0.02), 0.01), 0.01) is None
    lifted = contact_rows(scene, surfaces, at(0.0, tilt=0.05), 0.002)
    assert 0 < len(lifted) < 4
    assert same_points(lifted, before, 0.01) is None
    assert len(same_points(before, lifted, 0.01)) == len(lifted)
