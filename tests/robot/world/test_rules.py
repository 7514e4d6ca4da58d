"""What is said of bodies, shapes and objects: hidden, padded, allowed; it survives edits and is told back."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.world.robots import swing

import soacraft as sc
from soacraft.contact import Box, Sphere
from soacraft.errors import ModelError, StateError
from soacraft.robot import World


def test_hiding_padding_and_allowing():
    w = World(swing())
    w.add("block", Sphere(0.3), sc.Pose(translation=(0.0, 1.0, 0.0)))
    assert w.collides([np.pi / 2])
    for name in ("block", "block/shape", "link", "link/ball"):
        w.hide(name)
        assert not w.collides([np.pi / 2])
        assert w.hidden == (name,)
        w.show(name)
        assert w.collides([np.pi / 2])
    w.pad("block", 0.7)
    assert not w.collides([0.0])
    w.pad("block", 1.2)  # they are 1.414 - 0.35 apart
    assert w.collides([0.0])
    w.pad("block", 0.0)
    w.allow("block", "link", "meant")
    assert not w.collides([np.pi / 2])
    assert w.allowed == {("block", "link"): "meant"}
    w.allow("link", "block", "said again")
    assert w.allowed == {("link", "block"): "said again"}
    w.disallow("block", "link")
    assert w.collides([np.pi / 2])


def test_paddings_add_up_and_the_nearer_one_counts():
    """Of both and of the pair; a shape's own counts instead of its body's, in whatever order they were said."""
    apart = 1.0 - 0.05 - 0.3
    for order in (1, -1):
        w = World(swing())
        w.add("block", Sphere(0.3), sc.Pose(translation=(2.0, 0.0, 0.0)))
        said = [("link", 0.1, None), ("link/ball", 0.02, None), ("block", 0.03, None), ("block", 0.004, "link")]
        for a, value, b in said[::order]:
            w.pad(a, value, b)
        assert w.distances([0.0]).distance == pytest.approx([apart - 0.054], abs=1e-12)
        w.pad("link", 0.5, "block")  # the same pair
        assert w.distances([0.0]).distance == pytest.approx([apart - 0.05 - 0.5], abs=1e-12)
        assert w.paddings[("block", "link")] == 0.5


def test_what_is_said_survives_edits_of_the_robot():
    rb = swing()
    w = World(rb)
    w.add("block", Sphere(0.3), sc.Pose(translation=(1.0, 0.0, 0.0)))
    w.allow("block", "link")
    w.pad("block", 0.05)
    rb.mb.add_body("more", parent="link", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    rb.mb["more"].add_geometry(sc.Geometry("ball", "sphere", (0.05,), sc.Pose(translation=(1.38, 0, 0))))
    assert w.touching([0.0, 0.0]) == [("block/shape", "more/ball")]
    assert w.distances([0.0, 0.0]).distance == pytest.approx([0.38 - 0.35 - 0.05], abs=1e-12)
    w.hide("more")
    rb.mb.remove(rb.mb["more"])
    assert len(w.distances([0.0])) == 0  # what is hidden may be gone
    body = rb.mb.add_body("more", parent="link", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    body.add_geometry(sc.Geometry("ball", "sphere", (0.05,), sc.Pose(translation=(1.38, 0, 0))))
    assert len(w.distances([0.0, 0.0])) == 0  # it is hidden still
    w.show("more")
    assert len(w.distances([0.0, 0.0])) == 1


def test_an_object_that_goes_takes_what_was_said_of_it():
    w = World(swing())
    for _ in range(2):
        w.add("block", Sphere(0.3), sc.Pose(translation=(1.0, 0.0, 0.0)))
        assert w.collides([0.0])
        w.pad("block", 0.1)
        w.pad("block/shape", 0.1, "link")
        w.allow("block", "link")
        w.detail("block", "box")
        w.hide("block")
        w.remove("block")
        assert (w.paddings, w.allowed, w.hidden, w.details) == ({}, {}, (), {})


def test_masks_of_files_do_not_hide_objects_of_the_world():
    """Shapes of the robot with other bits than an object would have are checked; those that touch nothing are not."""
    rb = swing()
    link = rb.mb["link"]
    link.remove_geometry(link.geometries[0])
    link.add_geometry(sc.Geometry("a", "sphere", (0.1,), attributes={"contype": 0, "conaffinity": 4}))
    link.add_geometry(sc.Geometry("b", "sphere", (0.1,), attributes={"contype": 2, "conaffinity": 0}))
    link.add_geometry(sc.Geometry("c", "sphere", (0.1,), attributes={"contype": 0, "conaffinity": 0}))
    w = World(rb)
    w.add("block", Box(1, 1, 1))
    assert w.scene.pairs == [("block/shape", "link/a"), ("block/shape", "link/b")]


def test_what_is_refused():
    w = World(swing())
    with pytest.raises(ModelError, match="there is no body, shape or object 'linc'; did you mean 'link'"):
        w.pad("linc", 0.1)
    with pytest.raises(ModelError, match="there is no body, shape or object 'bal'"):
        w.hide("bal")
    with pytest.raises(ModelError, match="there is no body, shape or object 'table'"):
        w.allow("link", "table")
    with pytest.raises(StateError, match=r"a padding must not be negative, got -0.1 m"):
        w.pad("link", -0.1)
    with pytest.raises(StateError, match="a padding"):
        w.pad("link", np.nan)
    with pytest.raises(ModelError, match="'link' and 'link/ball' were not allowed to touch; 'link' may touch none"):
        w.disallow("link", "link/ball")
    with pytest.raises(ModelError, match="'link' is not hidden; hidden are none"):
        w.show("link")
    assert (w.paddings, w.allowed, w.hidden) == ({}, {}, ())
    for refused in (lambda s: s.exclude("link", "link"), lambda s: s.include("link", "link")):
        with pytest.raises(ModelError, match="pairs of a world are its own: w"):
            refused(w.scene)
    with pytest.raises(ModelError, match=r"paddings of a world are its own: w.pad\('link', 0.1\)"):
        w.scene.set_padding(0.1, "link")


def test_names_of_any_kind_are_refused():
    w = World(swing())
    for name in (["link"], None, {}, np.zeros(2)):
        for call in (w.hide, lambda x: w.pad(x, 0.1), lambda x: w.pad("link", 0.1, x), lambda x: w.allow(x, "link"),
                     lambda x: w.allow("link", x), lambda x: w.detail(x, "hull")):
            if name is None and call is not w.hide:
                continue
            with pytest.raises(ModelError, match="there is no body, shape or object"):
                call(name)
        with pytest.raises(ModelError, match="is not hidden"):
            w.show(name)
        with pytest.raises(ModelError, match="were not allowed to touch"):
            w.disallow(name, "link")
