"""Shapes on flexible bodies: they touch at nodes, by bodies welded there; on the body itself they are refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.model.modal.test_nodes import slope

import soacraft as sc
import soacraft.flexible as fx
from soacraft.errors import ModelError


def beam(feet=("tip",), floor=-0.25):
    """A flexible beam on a pin above a floor, with a ball welded to some of its nodes."""
    fe = fx.beam(1.0, fx.Rectangle(0.02, 0.02), fx.Elastic(1e9, 0.3, 1000.0), 8)
    fe.interface("root", at=(0, 0, 0))
    fe.interface("tip", at=(1, 0, 0))
    mb = sc.Multibody("beam")
    mb.root.add_geometry(sc.Geometry("floor", "plane", pose=sc.Pose(translation=(0, 0, floor))))
    data = fx.reduce(fe, ["root", "tip"], method="fixed", modes=2, damping=0.02)
    mb.add_body("beam", None, sc.Pin((0, 1, 0)), modal=data, hinge_node="root")
    for node in feet:
        foot = mb.add_body(f"foot_{node}", f"beam/{node}", sc.Weld())
        foot.add_geometry(sc.Geometry("sole", "sphere", (0.05,)))
    return mb


def test_the_distance_of_a_ball_on_a_node_moves_with_the_modes():
    mb = beam()
    scene = sc.contact.Scene(mb)
    q = np.array([0.1, 0.01, 0.02])
    rows = scene.distances(q)
    place = mb.pose("beam/tip", state=mb.state(q)).translation
    assert rows.distance[0] == pytest.approx(place[2] + 0.25 - 0.05, rel=1e-13)
    along = [slope(lambda t, e=e: scene.distances(q + t * e).distance[0]) for e in np.eye(mb.nv)]
    np.testing.assert_allclose(scene.gradient(rows)[0], along, rtol=0, atol=1e-9)
    assert np.abs(along[1:]).max() > 0.1


def test_it_lies_on_the_floor_and_sags():
    """Between its pin and the floor the beam bends under its weight: the tip is turned up relative to the root. The
    ball stays where it is but for what a step falls by."""
    mb, step = beam(floor=-0.05), 0.01
    run = sc.sim.Propagator(mb, integrator="moreau", step=step)
    run.add(sc.sim.Contact())
    run.advance_to(0.06)
    assert abs(sc.contact.Scene(mb).distances(mb.q).distance[0]) < 9.81 * step**2
    root, tip = (mb.pose(f"beam/{x}").rotation[2, 0] for x in ("root", "tip"))  # how steeply its axis climbs
    assert tip > root


def test_bodies_on_two_nodes_of_one_flexible_body_may_touch():
    pairs = sc.contact.Scene(beam(("root", "tip")), adjacent=True).pairs
    assert ("foot_root/sole", "foot_tip/sole") in pairs


def test_a_shape_on_the_body_itself_is_refused():
    mb = beam()
    mb["beam"].add_geometry(sc.Geometry("skin", "box", (1, 0.02, 0.02)))
    text = (
        "shape 'beam/skin' cannot touch: body 'beam' is flexible, and contact acts at its nodes. Weld a body to a "
        "node, as mb.add_body('foot', 'beam/tip', sc.Weld()), and give that the shape; or leave it out with "
        "skip=['beam/skin']."
    )
    with pytest.raises(ModelError, match=re.escape(text)):
        sc.contact.Scene(mb)
    assert sc.contact.Scene(mb, skip=["beam/skin"]).names == ("foot_tip/sole", "inertial/floor")
