"""How coarse shapes are: covers stand for shapes in every query, keep their names, and survive edits."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.world.robots import swing, two_arms
from tests.robot.world.test_covers import ring

import soacraft as sc
from soacraft.contact import HeightField, Plane, Sphere, TriangleMesh
from soacraft.errors import ModelError, StateError
from soacraft.robot import Robot, World


def with_box():
    rb = swing()
    body = rb.mb["link"]
    body.remove_geometry(body.geometries[0])
    at = sc.Pose.from_rpy(0.2, 0.1, 0.4, (1.0, 0.0, 0.0))
    body.add_geometry(sc.Geometry("hand", "box", (0.2, 0.1, 0.05), at, role="collision"))
    return rb


def test_a_cover_stands_for_its_shape_and_keeps_its_names():
    rb = with_box()
    w = World(rb)
    w.add("post", Sphere(0.1), sc.Pose(translation=(0.0, 1.0, 0.0)))
    exact = w.distances([0.7]).distance[0]
    (told,) = w.detail("link", "spheres", error=0.03)
    assert (told.name, told.kind, told.sticks_out) == ("link/hand", "spheres", 0.0)
    assert told.stands_out <= 0.03
    assert len(told) > 1
    assert told.volume_ratio > 1.0
    assert repr(told).startswith(f"link/hand: {len(told)} spheres, ")
    assert "all of it is inside" in repr(told)
    assert w.scene.names == (*sorted(f"link/hand.{i}" for i in range(len(told))), "post/shape")
    assert exact - 0.03 - 1e-9 <= w.distances([0.7]).distance.min() <= exact + 1e-9
    w.allow("link/hand", "post")
    assert len(w.distances([0.7])) == 0
    w.disallow("link/hand", "post")
    w.pad("link/hand", 0.01)
    assert exact - 0.04 - 1e-9 <= w.distances([0.7]).distance.min() <= exact - 0.01 + 1e-9
    w.hide("link/hand")
    assert len(w.distances([0.7])) == 0
    w.show("link/hand")
    w.pad("link/hand", 0.0)
    w.detail("link", "given")
    assert w.distances([0.7]).distance == pytest.approx([exact], abs=1e-12)


def test_distances_to_a_cover_are_never_larger():
    """A cover holds the shape: nothing that touches the shape is missed, at many configurations and for every kind."""
    rb = two_arms()
    exact, w = World(rb), World(rb)
    rng = np.random.default_rng(0)
    q = exact.sample(rng, 300)
    hits = exact.collides(q)
    assert hits.any()
    for kind in ("box", "capsules", "spheres"):
        for told in w.detail(None, kind):
            assert told.sticks_out == 0.0
        assert (w.collides(q) | ~hits).all()


def test_the_nearest_wish_counts_whatever_the_order():
    for order in (1, -1):
        w = World(with_box())
        said = [(None, "box"), ("link", "spheres"), ("link/hand", "capsules")]
        for name, kind in said[::order]:
            w.detail(name, kind)
        assert {x.kind for x in w.scene.shapes.values()} == {"capsule"} or all(
            x.kind in ("capsule", "sphere") for x in w.scene.shapes.values()
        )
        w.detail("link/hand", "given")
        assert {x.kind for x in w.scene.shapes.values()} == {"sphere"}
        w.detail("link", "given")
        assert {x.kind for x in w.scene.shapes.values()} == {"box"}


def test_a_mesh_is_its_triangles_its_hull_or_a_box():
    """A ball through the hole of a ring is free of the mesh, and not of its hull or box. The hull stands out as far as
    the middle of the hole is from the ring."""
    mesh = ring()
    w = World(swing())
    w.add("ring", mesh, sc.Pose.from_rpy(np.pi / 2, 0.0, 0.0, (1.0, 0.0, 0.0)))
    inner = -mesh.vertices[:, :2] @ (1, 0)
    hole = inner[inner > 0].min()
    assert not w.collides([0.0])
    (hull,) = w.detail("ring", "hull")
    assert w.collides([0.0])
    assert 0.2 < hull.stands_out < 0.24
    assert hole > 0.0
    (box,) = w.detail("ring", "box")
    assert w.collides([0.0])
    assert box.volume_ratio > hull.volume_ratio > 1.5
    w.detail("ring", "capsules")
    assert not w.collides([0.0])
    w.detail("ring", "mesh")
    assert not w.collides([0.0])
    shape, pose = box.shapes[0]
    inside = np.abs(pose.inv @ mesh.vertices) <= 0.5 * shape.size + 1e-12
    assert inside.all()


def test_mesh_files_are_hulls_or_triangles(tmp_path):
    mesh = ring()
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in mesh.vertices.tolist()]
    lines += ["f " + " ".join(str(i + 1) for i in t) for t in mesh.triangles]
    (tmp_path / "ring.obj").write_text("\n".join(lines))
    rb = swing()
    body = rb.mb["link"]
    body.add_geometry(sc.Geometry("ring", "mesh", (), sc.Pose(translation=(1.0, 0, 0)), "collision", mesh="ring.obj"))
    rb.mb.mesh_folder = tmp_path
    w = World(rb)
    w.hide("link/ball")
    w.add("rod", Sphere(0.05), sc.Pose(translation=(0.0, 1.0, 0.0)))
    assert w.scene.shapes["link/ring"].kind == "hull"
    assert w.collides([np.pi / 2])
    w.detail("link/ring", "mesh")
    assert w.scene.shapes["link/ring"].kind == "mesh"
    assert not w.collides([np.pi / 2])
    (told,) = w.detail("link", "capsules")
    assert told.sticks_out == 0.0
    assert not w.collides([np.pi / 2])


def test_covers_survive_edits_and_go_with_what_is_held():
    rb = two_arms()
    w = World(rb)
    (told,) = w.detail("box", "spheres")
    names = {f"box/skin.{i}" for i in range(len(told))}
    rb.attach("box", "left2/hand")
    assert names <= set(w.scene.names)
    assert ("box/skin.0", "left2/skin") not in w.scene.pairs
    assert ("box/skin.0", "left1/skin") in w.scene.pairs
    rb.mb["box"].add_geometry(sc.Geometry("lid", "box", (0.1, 0.4, 0.01), role="collision"))
    assert any(x.startswith("box/lid") and x != "box/lid" for x in w.scene.names)
    rb.detach("box")
    assert names <= set(w.scene.names)


def test_what_has_no_cover_stays():
    w = World(swing())
    w.add("floor", Plane(), sc.Pose(translation=(0, 0, -1)))
    w.add("ground", HeightField(np.zeros((3, 3)), 1.0, 1.0), sc.Pose(translation=(0, 0, -2)))
    told = w.detail(None, "spheres")
    assert [len(x) for x in told] == [1, 1, 1]
    assert {x.kind for x in w.scene.shapes.values()} == {"plane", "heightfield", "sphere"}


def test_open_surfaces_are_covered_and_have_no_volume():
    w = World(swing())
    w.add("sheet", TriangleMesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)]), sc.Pose(translation=(0, 0, 2)))
    (told,) = w.detail("sheet", "spheres", error=0.2)
    assert told.sticks_out == 0.0
    assert told.volume_ratio == np.inf


def test_what_is_refused():
    w = World(Robot(with_box().mb))
    with pytest.raises(StateError, match="detail is 'given', 'mesh', 'hull', 'box', 'capsules' or 'spheres'; did you"):
        w.detail("link", "sphere")
    with pytest.raises(ModelError, match="there is no body, shape or object 'linc'"):
        w.detail("linc", "spheres")
    with pytest.raises(StateError, match="give error= or count=, not both"):
        w.detail("link", "spheres", error=0.1, count=3)
    with pytest.raises(StateError, match="error= and count= are of 'spheres' and 'capsules'; 'hull' has none"):
        w.detail("link", "hull", error=0.1)
    with pytest.raises(StateError, match=r"error must be positive, in metres, got -1"):
        w.detail("link", "spheres", error=-1.0)
    with pytest.raises(ModelError, match="count must be a whole number of at least 1, got 0"):
        w.detail("link", "spheres", count=0)
    with pytest.raises(StateError, match="count=5000 shapes are too many: 1000 is the most"):
        w.detail("link", "spheres", count=5000)
    with pytest.raises(StateError, match="is too small for Box"):
        w.detail("link", "spheres", error=1e-4)
    assert w.scene.names == ("link/hand",)  # nothing of it was kept
    flat = World(swing())
    flat.add("sheet", TriangleMesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)]), sc.Pose(translation=(0, 0, 2)))
    with pytest.raises(ModelError, match="ConvexHull"):
        flat.detail("sheet", "hull")
    assert not flat.collides([0.0])
