"""Scenes: which bodies are drawn, where, in which colours; that they follow their model and its motion."""

from __future__ import annotations

import base64
import json
from itertools import pairwise

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ModelError, SoacraftError, StateError, ViewError
from soacraft.view.palette import rgb, segment_colour
from soacraft.view.space.kinematic import inertia_ellipsoid

SMALL = (96, 72)


def ink(pixels):
    return (pixels != 255).any(axis=2)


@pytest.mark.parametrize("model", [x.name for x in sc.models()])
def test_every_body_is_drawn(model):
    mb = sc.load(model)
    assert {x.body for x in sc.view.scene(mb).parts} - {-1} == set(range(len(mb)))


def test_links_reach_from_hinge_to_hinge():
    """A chain of rods of 1 m along x: each link's surface covers its rod, and no more than its radius beyond."""
    mb = sc.serial_chain(3)
    links = [x for x in sc.view.scene(mb).parts if x.kind == "link"]
    assert [x.body for x in links] == [0, 1, 2]
    for link in links:
        low, high = link.surface.points.min(axis=0), link.surface.points.max(axis=0)
        assert -0.1 < low[0] <= 0.0
        assert 1.0 <= high[0] < 1.1
        assert max(-low[1], high[1]) < 0.1


def test_a_hinge_looks_like_its_kind():
    mb = sc.Multibody()
    body = mb.add_body("rail", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
    body = mb.add_body("arm", body, sc.Pin((0, 1, 0)), sc.Inertia(1.0), inboard=sc.Pose(translation=(0, 0, 1)))
    body = mb.add_body("ball", body, sc.Spherical(), sc.Inertia(1.0), inboard=sc.Pose(translation=(0, 0, 1)))
    mb.add_body("tip", body, sc.Weld(), sc.Inertia(1.0), inboard=sc.Pose(translation=(0, 0, 1)))
    hinges = {x.name: np.ptp(x.surface.points, axis=0) for x in sc.view.scene(mb).parts if x.kind == "hinge"}
    assert set(hinges) == {"rail", "arm", "ball"}
    assert np.argmax(hinges["rail"]) == 0  # along the way that it slides
    assert np.argmax(hinges["arm"]) == 1  # about the axis that it turns
    assert np.ptp(hinges["ball"]) < 0.05 * hinges["ball"].max()


def test_geometry_in_its_place_and_its_colour():
    mb = sc.Multibody()
    mb.add_material(sc.Material("paint", (0.0, 0.5, 1.0, 1.0)))
    body = mb.add_body("block", None, sc.Free(), sc.Inertia(1.0))
    body.add_geometry(sc.Geometry("skin", "box", (1, 2, 3), sc.Pose(translation=(0, 0, 5)), "visual", (1, 0, 0, 0.5)))
    body.add_geometry(sc.Geometry("hat", "sphere", (0.5,), role="both", material="paint"))
    body.add_geometry(sc.Geometry("hull", "capsule", (0.5, 1.0), role="collision"))
    skin, hat = sc.view.scene(mb).parts
    assert (skin.name, skin.colour, skin.alpha) == ("skin", (1.0, 0.0, 0.0), 0.5)
    points = skin.surface.points
    assert np.allclose([points.min(axis=0), points.max(axis=0)], [(-0.5, -1, 3.5), (0.5, 1, 6.5)])
    assert (hat.colour, hat.alpha) == ((0.0, 0.5, 1.0), 1.0)
    body.remove_geometry("skin")
    body.remove_geometry("hat")
    (hull,) = sc.view.scene(mb).parts
    assert hull.name == "hull"


def test_bodies_without_a_colour_have_that_of_their_segment():
    """As in the pictures of structure: of the two legs of a biped neither is taken for the other."""
    mb = sc.load("biped")
    parts = {x.name: x.colour for x in sc.view.scene(mb).parts if x.kind == "link"}
    for name, colour in parts.items():
        own = np.array(rgb(segment_colour(mb.topology.branch_of(name).index)))
        assert 0.1 < np.linalg.norm(1.0 - np.array(colour)) / np.linalg.norm(1.0 - own) < 0.9  # towards white
    assert parts["left_thigh"] != parts["right_thigh"]


@pytest.mark.parametrize("name", ["biped", "panda"])
def test_hinges_of_bodies_without_shapes_are_darker_than_their_links(name):
    """The same hue: all three components in one ratio."""
    mb = sc.load(name)
    for body in mb.bodies:
        for geometry in body.geometries:
            body.remove_geometry(geometry.name)
    parts = sc.view.scene(mb).parts
    links = {x.body: np.array(x.colour) for x in parts if x.kind == "link"}
    hinges = {x.body: np.array(x.colour) for x in parts if x.kind == "hinge"}
    assert len(hinges) > 6
    for k in hinges.keys() & links.keys():
        np.testing.assert_allclose(hinges[k], 0.45 * links[k], rtol=1e-12)


def test_a_scene_follows_its_model():
    mb = sc.load("double_pendulum")
    scene = sc.view.scene(mb)
    pictures = [scene.pixels(size=SMALL)]
    mb.q = [1.0, 0.5]
    pictures.append(scene.pixels(size=SMALL))
    mb.add_body("more", mb.bodies[-1], sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, -1)),
                inboard=sc.Pose(translation=(0, 0, -1)))  # fmt: skip
    assert {x.body for x in scene.parts} == {0, 1, 2}
    pictures.append(scene.pixels(size=SMALL))
    mb.bodies[0].add_geometry(sc.Geometry("bob", "sphere", (0.4,), rgba=(1, 0, 0, 1)))
    pictures.append(scene.pixels(size=SMALL))
    assert all((a != b).any() for a, b in pairwise(pictures))
    assert all(ink(x).any() for x in pictures)


def test_all_of_it_is_in_the_picture():
    """Whatever the model and the angle: the border stays empty, and something is seen."""
    for name, azimuth in (("arm7", 0.0), ("five_bar", 137.0), ("strandbeest", 0.0)):
        seen = ink(sc.view.scene(sc.load(name)).pixels(size=SMALL, azimuth=azimuth, elevation=35.0))
        assert seen.any()
        border = np.concatenate([seen[0], seen[-1], seen[:, 0], seen[:, -1]])
        assert not border.any(), name


def test_the_picture_does_not_depend_on_units():
    """The same mechanism in metres, in millimetres and in kilometres."""

    def picture(unit):
        mb = sc.Multibody(gravity=(0, 0, -9.8 * unit))
        arm = mb.add_body("arm", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, unit), 0.01 * unit**2 * np.eye(3)))
        mb.add_body("hand", arm, sc.Pin((1, 0, 0)), sc.Inertia(1.0, (0, 0, unit), np.zeros((3, 3))),
                    inboard=sc.Pose(translation=(0, 0, unit)))  # fmt: skip
        mb.q = [0.4, -0.8]
        return sc.view.scene(mb, inertias=True, frames=True, ground=True).pixels(size=SMALL).astype(int)

    metres = picture(1.0)
    for unit in (1e3, 1e-3):
        assert (np.abs(picture(unit) - metres).max(axis=2) > 3).mean() < 1e-3


def test_up_is_against_gravity():
    """A pendulum that hangs along -y under gravity along -y is seen hanging down."""
    mb = sc.Multibody(gravity=(0, -9.8, 0))
    body = mb.add_body("bob", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0, -1, 0), np.zeros((3, 3))))
    body.add_geometry(sc.Geometry("top", "sphere", (0.1,), rgba=(1, 0, 0, 1)))
    body.add_geometry(sc.Geometry("low", "sphere", (0.1,), sc.Pose(translation=(0, -1, 0)), rgba=(0, 0, 1, 1)))
    pixels = sc.view.scene(mb).pixels(size=SMALL).astype(int)
    high = np.nonzero(pixels[..., 0] - pixels[..., 2] > 50)[0].mean()
    low = np.nonzero(pixels[..., 2] - pixels[..., 0] > 50)[0].mean()
    assert low > high + 20


def test_a_motion_is_seen_and_ends_where_it_should():
    mb = sc.load("double_pendulum")
    mb.q = [1.0, 0.0]
    run = sc.sim.Propagator(mb).advance_to(1.0)
    scene = sc.view.scene(mb, run)
    assert scene.duration == pytest.approx(1.0)
    pictures = [scene.pixels(t, size=SMALL) for t in (0.0, 0.5, 1.0)]
    assert (pictures[0] != pictures[1]).any()
    assert (pictures[1] != pictures[2]).any()
    assert np.array_equal(scene.pixels(size=SMALL), pictures[2])  # the model is at the end of its run
    with pytest.raises(ViewError, match=r"t = 2 s is not in the motion, which covers 0 to 1 s"):
        scene.pixels(2.0)


def tied():
    """A rod on a pin, and a closure of its tip to the ground 1 m from the pin."""
    mb = sc.Multibody()
    rod = mb.add_body("rod", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0.5, 0, 0)))
    mb.close_loop("tip", mb.root.add_node("ground", sc.Pose(translation=(1, 0, 0))),
                  rod.add_node("end", sc.Pose(translation=(1, 0, 0))), sc.Spherical())  # fmt: skip
    return mb


def test_closures_are_green_where_they_are_met_and_red_where_they_are_far_from_it():
    mb = tied()
    scene = sc.view.scene(mb)

    def colours():
        pixels = scene.pixels(size=(192, 144), azimuth=-90.0).astype(int)
        green = (pixels[..., 1] - pixels[..., [0, 2]].max(axis=2) > 40).sum()
        return green, (pixels[..., 0] - pixels[..., 1:].max(axis=2) > 40).sum()

    green, red = colours()
    assert green > 10
    assert red == 0
    mb.q = [1.5]
    green, red = colours()
    assert green == 0
    assert red > 10
    mb.remove_loop("tip")
    assert sum(colours()) == 0


def test_frames_and_ellipsoids_are_added_for_every_body():
    mb = sc.load("arm7")
    plain = len(sc.view.scene(mb).parts)
    shown = sc.view.scene(mb, frames=True, inertias=True).parts
    assert sum(x.kind == "frame" for x in shown) == 3 * 7
    ellipsoids = [x for x in shown if x.kind == "inertia"]
    assert [x.body for x in ellipsoids] == list(range(7))
    assert len(shown) == plain + 3 * 7 + 7


def test_the_ellipsoid_of_inertia_of_a_uniform_ellipsoid_is_itself():
    radii, mass = np.array([0.1, 0.2, 0.4]), 3.0
    J = mass / 5.0 * np.diag((radii**2).sum() - radii**2)
    R = sc.Pose(rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]]).rotation
    surface = inertia_ellipsoid(sc.Inertia(mass, (1, 2, 3), R @ J @ R.T))
    reach = np.ptp(surface.points, axis=0) / 2.0
    assert np.allclose(reach, (0.2, 0.1, 0.4), rtol=0.02)
    assert np.allclose(surface.points.min(axis=0) + reach, (1, 2, 3), atol=1e-3)
    assert inertia_ellipsoid(sc.Inertia(1.0)) is None


def test_a_plane_and_a_floor_that_was_asked_for():
    mb = sc.Multibody()
    body = mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0))
    body.add_geometry(sc.Geometry("skin", "sphere", (0.5,), rgba=(1, 0, 0, 1)))
    bare = ink(sc.view.scene(mb).pixels(size=SMALL)).sum()
    asked = sc.view.scene(mb, ground=True).pixels(size=SMALL)
    assert ink(asked).sum() > 2 * bare
    mb.root.add_geometry(sc.Geometry("floor", "plane", pose=sc.Pose(translation=(0, 0, -0.5))))
    assert np.array_equal(ink(sc.view.scene(mb).pixels(size=SMALL)), ink(asked))  # the ball touches both


STL = "solid x\nfacet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid"
PLY = (
    "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
)


def with_mesh(name, size=(1.0, 1.0, 1.0)):
    mb = sc.Multibody()
    body = mb.add_body("block", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (1, 0, 0)))
    body.add_geometry(sc.Geometry("skin", "mesh", size, mesh=name))
    return mb


@pytest.mark.parametrize("name", ["part.stl", "package://robot/part.stl", "part.ply"])
def test_meshes_are_read_in_their_folder(tmp_path, name):
    (tmp_path / "part.stl").write_text(STL)
    (tmp_path / "part.ply").write_text(PLY)
    scene = sc.view.scene(with_mesh(name, (2.0, -1.0, 1.0)), folder=tmp_path)
    (part,) = scene.parts
    assert scene.missing == {}
    assert np.allclose(sorted(map(tuple, part.surface.points)), [(0, -1, 0), (0, 0, 0), (2, 0, 0)])
    assert np.allclose(part.surface.normals, [0, 0, 1])  # mirrored, and still outside out


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../secret.stl", "leads out of the folder"),
        ("absent.stl", "is not in the folder"),
        ("broken.stl", "cannot be read as STL"),
        ("broken.ply", "cannot be read by trimesh"),
        ("part.dae", "is of no kind that is drawn (.stl, .obj, .ply, .off, .glb, .gltf); convert it"),
        ("", "names no file"),
        ("a\0.stl", "cannot be the name of a file"),
        ("a" * 5000 + ".stl", "cannot be the name of a file"),
        ("beyond.ply", "has a triangle of vertices that are not among its 3"),
        ("below.ply", "has a triangle of vertices that are not among its 3"),
        ("large.ply", "bytes, and 400 is the most; make it coarser"),
    ],
)
def test_a_mesh_that_cannot_be_drawn_is_listed_and_the_body_drawn_by_its_links(tmp_path, monkeypatch, name, why):
    folder = tmp_path / "meshes"
    folder.mkdir()
    (tmp_path / "secret.stl").write_text(STL)
    for broken in ("broken.stl", "broken.ply", "part.dae"):
        (folder / broken).write_bytes(b"\x00\xff nothing")
    (folder / "beyond.ply").write_text(PLY.replace("3 0 1 2", "3 0 1 7"))
    (folder / "below.ply").write_text(PLY.replace("3 0 1 2", "3 0 1 -1"))
    (folder / "large.ply").write_text(PLY.replace("ply\n", "ply\ncomment " + 400 * "x" + "\n", 1))
    monkeypatch.setattr("soacraft.view.space.mesh_files.LARGEST_TEXT", 400)
    scene = sc.view.scene(with_mesh(name), folder=folder)
    assert {x.kind for x in scene.parts} == {"link", "hinge"}
    assert list(scene.missing) == ["block/skin"]
    assert why in scene.missing["block/skin"]
    assert "1 not drawn: see missing" in repr(scene)


def gltf(uri):
    """Two triangles as glTF: one in the file itself, one in a buffer at `uri`."""
    points = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0)], dtype="<f4").tobytes()
    order = np.arange(3, dtype="<u2").tobytes()
    own = "data:application/octet-stream;base64," + base64.b64encode(points + order).decode()
    views, accessors, primitives = [], [], []
    for k in range(2):
        views += [{"buffer": k, "byteOffset": 0, "byteLength": 36}, {"buffer": k, "byteOffset": 36, "byteLength": 6}]
        accessors += [
            {"bufferView": 2 * k, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"bufferView": 2 * k + 1, "componentType": 5123, "count": 3, "type": "SCALAR"},
        ]
        primitives.append({"attributes": {"POSITION": 2 * k}, "indices": 2 * k + 1})
    told = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": primitives}], "bufferViews": views, "accessors": accessors,
        "buffers": [{"uri": own, "byteLength": 42}, {"uri": uri or own, "byteLength": 42}],
    }  # fmt: skip
    return json.dumps(told).encode(), points + order


@pytest.mark.parametrize("kind", ["gltf", "glb"])
@pytest.mark.parametrize("uri", [None, "part.bin", "../part.bin"])
def test_gltf_with_numbers_in_other_files_is_listed(tmp_path, kind, uri):
    """Without them a part of the mesh would be missing in silence; and files are read in the folder alone."""
    folder = tmp_path / "meshes"
    folder.mkdir()
    text, numbers = gltf(uri)
    (folder / "part.bin").write_bytes(numbers)
    (tmp_path / "part.bin").write_bytes(numbers)
    if kind == "glb":
        text += b" " * (-len(text) % 4)
        head = b"glTF" + (2).to_bytes(4, "little") + (20 + len(text)).to_bytes(4, "little")
        text = head + len(text).to_bytes(4, "little") + b"JSON" + text
    (folder / f"part.{kind}").write_bytes(text)
    scene = sc.view.scene(with_mesh(f"part.{kind}"), folder=folder)
    if uri is None:
        (part,) = scene.parts
        assert len(part.surface.triangles) == 2
    else:
        why = f"has its numbers in another file, {uri!r}, which is not read; save it as one .glb file"
        assert why in scene.missing["block/skin"]


@pytest.mark.parametrize(
    ("kind", "size", "why"),
    [
        ("sphere", (0.0,), "its size leaves nothing to be seen"),
        ("sphere", (1e-200,), "its size leaves nothing to be seen"),
        ("cylinder", (0.0, 1.0), "its size leaves nothing to be seen"),
        ("box", (1.0, 0.0, 0.0), "its size leaves nothing to be seen"),
        ("ellipsoid", (1.0, 0.0, 0.0), "its size leaves nothing to be seen"),
        ("mesh", (1.0, 0.0, 0.0), "its size leaves nothing to be seen"),
        ("mesh", (1e200, 1e200, 1.0), "it reaches farther than 1e+30 m"),
        ("box", (1e31, 1.0, 1.0), "it reaches farther than 1e+30 m"),
        ("sphere", (1e200,), "it reaches farther than 1e+30 m"),
    ],
)
def test_what_cannot_be_seen_for_its_size_is_listed(tmp_path, kind, size, why):
    (tmp_path / "part.stl").write_text(STL)
    mb = sc.Multibody()
    body = mb.add_body("block", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (1, 0, 0)))
    body.add_geometry(sc.Geometry("skin", kind, size, mesh="part.stl" if kind == "mesh" else ""))
    scene = sc.view.scene(mb, folder=tmp_path)
    assert why in scene.missing["block/skin"]
    assert {x.kind for x in scene.parts} == {"link", "hinge"}


def test_a_small_mesh_and_a_flat_box_are_drawn(tmp_path):
    (tmp_path / "part.stl").write_text(STL)
    (part,) = sc.view.scene(with_mesh("part.stl", (1e-20, 1e-20, 1e-20)), folder=tmp_path).parts
    assert part.kind == "geometry"
    (tmp_path / "far.obj").write_text("v 1e7 0 0\nv 10000001 0 0\nv 1e7 1 0\nf 1 2 3\n")
    assert sc.view.scene(with_mesh("far.obj"), folder=tmp_path).missing == {}
    mb = sc.Multibody()
    mb.root.add_geometry(sc.Geometry("sheet", "box", (1.0, 1.0, 0.0)))
    assert ink(sc.view.scene(mb).pixels(size=SMALL)).any()


def test_refused(tmp_path):
    mb = sc.load("double_pendulum")
    with pytest.raises(ModelError, match=r"shows a model or a sub-graph, and its motion: scene\(mb, run\); got str"):
        sc.view.scene("arm7")
    with pytest.raises(ViewError, match="there is no folder 'nowhere'"):
        sc.view.scene(mb, folder="nowhere")
    with pytest.raises(ViewError, match="a motion is a run, or a pair of instants"):
        sc.view.scene(mb, [1.0])
    with pytest.raises(StateError, match="the run has 2 coordinates, but 'arm7' has 7"):
        sc.view.scene(sc.load("arm7"), sc.sim.Propagator(mb).advance_to(0.1))
    with pytest.raises(StateError, match="of another model: where it has the coordinate 'cart', this model has"):
        sc.view.scene(mb, sc.sim.Propagator(sc.load("cart_pole")).advance_to(0.1))
    with pytest.raises(ViewError, match="must not go back"):
        sc.view.scene(mb, (np.array([1.0, 0.0]), np.zeros((2, 2))))
    scene = sc.view.scene(mb)
    with pytest.raises(ViewError, match="t= is an instant of a motion, and this scene has none"):
        scene.pixels(1.0)
    with pytest.raises(ViewError, match=r"in whole pixels, from 1 to 8192; got \(0.0, 10.0\)"):
        scene.pixels(size=(0, 10))
    with pytest.raises(ViewError, match="size 8000 x 2001 is 16008000 pixels, and 16000000 are the most"):
        scene.pixels(size=(8000, 2001))
    for angle in ("azimuth", "elevation"):
        for wrong in (np.nan, np.inf, "</script>"):
            with pytest.raises(SoacraftError, match=angle):
                scene.html(**{angle: wrong})
            with pytest.raises(SoacraftError, match=angle):
                scene.save(tmp_path / "a.html", **{angle: wrong})
    with pytest.raises(ViewError, match="zoom must be positive, got 0"):
        scene.pixels(size=SMALL, zoom=0.0)
    with pytest.raises(ViewError, match=r"an image is written to a file that ends in .png, got 'arm.jpg'"):
        scene.image("arm.jpg")
    with pytest.raises(ViewError, match=r"got 'arm.png'. scene.image\('arm.png'\) writes such a file"):
        scene.save("arm.png")
    with pytest.raises(ViewError, match=r"ends in .png, got 'arm.html'. scene.save\('arm.html'\) writes such a file"):
        scene.image("arm.html")


def test_an_image_without_pillow(tmp_path, monkeypatch):
    """PNG files need nothing but numpy."""
    import sys

    for module in ("PIL", "PIL.Image", "matplotlib"):
        monkeypatch.setitem(sys.modules, module, None)
    path = sc.view.scene(sc.load("pendulum")).image(tmp_path / "p.png", size=SMALL)
    assert path.read_bytes()[:4] == b"\x89PNG"


def test_an_empty_model_is_an_empty_picture():
    assert not ink(sc.view.scene(sc.Multibody()).pixels(size=SMALL)).any()
