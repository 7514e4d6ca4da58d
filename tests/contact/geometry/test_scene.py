"""Scenes: the shapes of a model at its states, which of them may touch, derivatives, edits, rays, impacts."""

from __future__ import annotations

import time

import mujoco
import numpy as np
import pytest

import soacraft as sc
from soacraft.contact import Box, HeightField, Plane, Scene, Sphere, TriangleMesh, distance, time_of_impact
from soacraft.errors import ModelError, StaleError, StateError
from soacraft.spatial import Pose


def shape(name: str, kind: str, size=(), **more) -> sc.Geometry:
    return sc.Geometry(name, kind, size, role="collision", **more)


def two_free(first=("box", (1.0, 1.0, 1.0)), second=("sphere", (0.5,)), order: bool = True) -> sc.Multibody:
    """Two free bodies over a floor, added in one order or the other."""
    mb = sc.Multibody("two")
    todo = [("a", first), ("b", second)]
    for name, (kind, size) in todo if order else todo[::-1]:
        mb.add_body(name, None, sc.Free(), sc.Inertia(1.0)).add_geometry(shape("skin", kind, size))
    mb.root.add_geometry(shape("floor", "plane"))
    return mb


def chain() -> sc.Multibody:
    """Three links on pins, with shapes of three kinds, over a floor and beside a post."""
    mb = sc.serial_chain(4)
    skins = [("capsule", (0.1, 0.5)), ("box", (0.2, 0.2, 0.6)), ("cylinder", (0.1, 1)), ("ellipsoid", (0.1, 0.2, 0.3))]
    for body, (kind, size) in zip(mb.bodies, skins, strict=True):
        body.add_geometry(shape("skin", kind, size, pose=Pose.from_rpy(0.3, 0.2, 0.1, (0.05, 0.1, -0.4))))
    mb.root.add_geometry(shape("floor", "plane", pose=Pose(translation=(0, 0, -6))))
    mb.root.add_geometry(shape("post", "box", (0.3, 0.3, 4.0), pose=Pose.from_rpy(0.1, 0.2, 0.3, (1.1, 0.6, -1.5))))
    return mb


def free(x=(0, 0, 0), y=(0, 0, 5), order: bool = True) -> np.ndarray:
    parts = [np.concatenate([[0, 0, 0, 1], p]) for p in (x, y)]
    return np.concatenate(parts if order else parts[::-1])


def test_rows_are_the_distances_of_pairs():
    mb = two_free()
    rows = Scene(mb).distances(free((0, 0, 2), (0.2, 0, 4)))
    assert rows.pairs == [("a/skin", "b/skin"), ("a/skin", "inertial/floor"), ("b/skin", "inertial/floor")]
    assert rows.distance == pytest.approx([1.0, 1.5, 3.5])
    assert rows.normal == pytest.approx(np.array([(0, 0, 1), (0, 0, -1), (0, 0, -1)]))
    assert rows[0].point_b == pytest.approx([0.2, 0, 3.5])
    assert repr(rows).startswith("3 rows, nearest 1 m\n  a/skin - b/skin: 1 m")
    assert "a/skin" in rows._repr_html_()
    assert [row.b for row in rows] == ["b/skin", "inertial/floor", "inertial/floor"]
    assert repr(Scene(mb)) == "scene of 'two': 3 shapes, 3 pairs may touch"


def test_results_do_not_depend_on_the_order_in_which_bodies_were_added():
    """To the last bit."""
    one = Scene(two_free()).contacts(free((0, 0, 0.4), (0.3, 0.1, 1.2)), within=0.5)
    two = Scene(two_free(order=False)).contacts(free((0, 0, 0.4), (0.3, 0.1, 1.2), order=False), within=0.5)
    assert one.pairs == two.pairs
    assert len(one) == 5
    for field in ("distance", "point_a", "point_b", "normal"):
        assert (getattr(one, field) == getattr(two, field)).all()


def test_a_batch_is_its_states_one_by_one_on_any_number_of_threads():
    mb, rng = chain(), np.random.default_rng(0)
    scene, q = Scene(mb), rng.uniform(-2, 2, (9, 4))
    all_, threaded = scene.distances(q, within=0.7), scene.distances(q, within=0.7, threads=3)
    assert (all_.distance == threaded.distance).all()
    assert (all_.state == threaded.state).all()
    assert np.unique(all_.state).size > 3
    for i in range(9):
        one = scene.distances(q[i], within=0.7)
        assert (all_.distance[all_.state == i] == one.distance).all()
        assert (all_.normal[all_.state == i] == one.normal).all()


def test_the_broad_phase_loses_no_pair():
    """Within a distance are just those rows of all pairs that are."""
    mb, rng = sc.Multibody("many"), np.random.default_rng(1)
    kinds = [("sphere", (0.2,)), ("box", (0.3, 0.5, 0.2)), ("capsule", (0.1, 0.4)), ("cylinder", (0.2, 0.3))]
    for i in range(24):
        mb.add_body(f"body{i}", None, sc.Free(), sc.Inertia(1.0)).add_geometry(shape("skin", *kinds[i % 4]))
    scene = Scene(mb)
    turns = rng.normal(size=(24, 4))
    turns /= np.linalg.norm(turns, axis=1)[:, None]
    q = np.concatenate([turns, rng.uniform(-1, 1, (24, 3))], axis=1).ravel()
    everything = scene.distances(q)
    assert len(everything) == 24 * 23 // 2
    for within in (0.0, 0.1, 0.5):
        near = scene.distances(q, within=within)
        keep = everything.distance <= within
        assert 0 < keep.sum() < len(everything)
        assert near.pairs == [pair for pair, kept in zip(everything.pairs, keep, strict=True) if kept]
        assert near.distance == pytest.approx(everything.distance[keep], abs=1e-9)


def test_derivatives_along_dofs_agree_with_differences():
    mb, rng = chain(), np.random.default_rng(2)
    scene = Scene(mb)
    for _ in range(3):
        q = rng.uniform(-1.5, 1.5, 4)
        rows = scene.distances(q)
        gradient = scene.gradient(rows)
        step = 1e-5
        for i in range(mb.nv):
            e = np.eye(4)[i] * step
            ahead, behind = scene.distances(mb.integrate(q, e)), scene.distances(mb.integrate(q, -e))
            assert ahead.pairs == rows.pairs
            assert gradient[:, i] == pytest.approx((ahead.distance - behind.distance) / (2 * step), abs=2e-5)
    assert np.abs(gradient).max() > 0.1


def test_derivatives_on_free_bodies_in_penetration_and_in_batches():
    mb, rng = two_free(("box", (1.0, 0.8, 0.6)), ("cylinder", (0.4, 1.0))), np.random.default_rng(3)
    scene = Scene(mb)
    x = rng.normal(size=(2, 2, 4))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    p = np.array([[(0, 0, 0.3), (0.5, 0.3, 0.6)], [(0, 0, 2.0), (0.9, 0.3, 2.6)]])
    q = np.concatenate([x, p], axis=-1).reshape(2, 14)
    rows = scene.distances(q)
    gradient = scene.gradient(rows)
    assert rows.distance.min() < -0.1
    for i in range(mb.nv):
        e = np.zeros((2, 12))
        e[:, i] = 1e-6
        ahead, behind = (scene.distances(mb.integrate(q, s * e)) for s in (1.0, -1.0))
        assert gradient[:, i] == pytest.approx((ahead.distance - behind.distance) / 2e-6, abs=1e-4)
    v = rng.normal(size=(2, 12))
    velocity = np.einsum("rij,rj->ri", scene.jacobian(rows), v[rows.state])
    assert np.einsum("ri,ri->r", velocity, rows.normal) == pytest.approx(np.einsum("rj,rj->r", gradient, v[rows.state]))


def names(scene: Scene) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in scene.pairs}


def test_neighbours_and_welded_bodies_do_not_touch():
    mb = chain()
    plate = mb.add_body("plate", "link2", sc.Weld(), sc.Inertia(1.0))
    plate.add_geometry(shape("skin", "box", (1.0, 1.0, 0.1)))
    pairs = names(Scene(mb))
    links = {frozenset((f"link{i}/skin", f"link{j}/skin")) for i, j in ((1, 3), (1, 4), (2, 4))}
    assert {pair for pair in pairs if not any("inertial" in x or "plate" in x for x in pair)} == links
    assert frozenset(("plate/skin", "link2/skin")) not in pairs          # welded
    assert frozenset(("plate/skin", "link3/skin")) not in pairs          # a neighbour of what it is welded to
    assert frozenset(("plate/skin", "link4/skin")) in pairs
    assert frozenset(("link1/skin", "inertial/floor")) in pairs          # the inertial frame is nobody's neighbour
    assert frozenset(("link1/skin", "link2/skin")) in names(Scene(mb, adjacent=True))
    assert frozenset(("inertial/floor", "inertial/post")) not in pairs


MJCF = """<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1" contype="2" conaffinity="4"/>
    <body name="a"><freejoint/><geom name="ga" type="box" size=".1 .2 .3" contype="1" conaffinity="2"/></body>
    <body name="b"><freejoint/><geom name="gb" type="sphere" size=".1" contype="4" conaffinity="1"/></body>
    <body name="c"><freejoint/><geom name="gc" type="capsule" size=".1 .2" contype="8" conaffinity="8"/></body>
    <body name="d"><freejoint/><geom name="gd" type="sphere" size=".1"/></body>
  </worldbody>
  <contact><exclude body1="b" body2="d"/><pair geom1="ga" geom2="gc"/></contact>
</mujoco>"""


def test_masks_excludes_and_pairs_of_mjcf(tmp_path):
    (tmp_path / "m.xml").write_text(MJCF)
    scene = Scene(sc.load(tmp_path / "m.xml"))
    assert names(scene) == {
        frozenset(("a/ga", "inertial/floor")),                            # 2 & 2
        frozenset(("b/gb", "inertial/floor")),                            # 4 & 4
        frozenset(("a/ga", "b/gb")),                                      # 1 & 1
        frozenset(("a/ga", "d/gd")),
        frozenset(("a/ga", "c/gc")),                                      # named by <pair>; b, d excluded
    }
    assert scene.shapes["a/ga"] == Box(0.2, 0.4, 0.6)


def test_disabled_links_of_srdf():
    mb = chain()
    before = names(Scene(mb))
    mb.add_record(sc.Record("disable_collisions", "", {"link1": "link1", "link2": "link3"}))
    mb.add_record(sc.Record("enable_collisions", "", {"link1": "link1", "link2": "link2"}))
    after = names(Scene(mb))
    assert before - after == {frozenset(("link1/skin", "link3/skin"))}
    assert after - before == {frozenset(("link1/skin", "link2/skin"))}


def test_a_pair_of_shapes_counts_more_than_bodies_and_enabled_more_than_disabled():
    mb = chain()
    mb.add_record(sc.Record("disable_default_collisions", "", {"link": "link4"}))
    mb.add_record(sc.Record("enable_collisions", "", {"link1": "link4", "link2": "link1"}))
    mb.add_record(sc.Record("disable_collisions", "", {"link1": "link1", "link2": "link4"}))
    mb.add_record(sc.Record("contact pair", "", {"geom1": "link1/skin", "geom2": "link3/skin"}))
    mb.add_record(sc.Record("contact exclude", "", {"body1": "link1", "body2": "link3"}))
    known = names(Scene(mb))
    assert {x for x in known if "link4/skin" in x} == {frozenset(("link4/skin", "link1/skin"))}
    assert frozenset(("link1/skin", "link3/skin")) in known


def test_a_scene_of_thousands_of_shapes_lists_no_pairs():
    """2,000 balls have two million pairs; only those that are near are looked at."""
    mb, count = sc.Multibody("many"), 2000
    for i in range(count):
        mb.add_body(f"ball{i:04d}", None, sc.Free(), sc.Inertia(1.0)).add_geometry(shape("skin", "sphere", (0.1,)))
    q = np.zeros((count, 7))
    q[:, 3], q[:, 4] = 1.0, 0.3 * np.arange(count)
    begin = time.process_time()
    rows = Scene(mb).distances(q.ravel(), within=0.2)
    assert time.process_time() - begin < 4.0                  # 0.2 s; a list of all pairs takes 13 s
    assert len(rows) == count - 1
    assert rows.distance == pytest.approx(np.full(count - 1, 0.1))


def test_choices_by_name_of_shape_or_body_are_kept_through_edits():
    mb = chain()
    scene = Scene(mb)
    scene.exclude("inertial/floor", "link1")
    scene.include("link1", "link2/skin")
    for _ in range(2):
        assert frozenset(("inertial/floor", "link1/skin")) not in names(scene)
        assert frozenset(("link1/skin", "link2/skin")) in names(scene)
        mb.add_body("tip", "link4", sc.Pin((0, 0, 1)), sc.Inertia(1.0)).add_geometry(shape("ball", "sphere", (0.1,)))
        if _ == 0:
            assert "tip/ball" in scene.names
            mb.remove("tip")
    scene.include("inertial/floor", "link1")
    assert frozenset(("inertial/floor", "link1/skin")) in names(scene)


def test_a_scene_follows_its_model_and_old_rows_are_refused():
    mb = two_free()
    scene = Scene(mb)
    q = free((0, 0, 2), (0, 0, 9))
    rows = scene.distances(q)
    mb["a"].remove_geometry("skin")
    mb["a"].add_geometry(shape("skin", "sphere", (1.0,)))
    assert scene.distances(q)[1].distance == pytest.approx(1.0)
    with pytest.raises(StaleError, match="these rows are of a scene that has changed since"):
        scene.gradient(rows)


def test_padding_adds_up_and_comes_off_the_distance():
    scene = Scene(two_free())
    q = free((0, 0, 2), (0.2, 0, 4))
    scene.set_padding(0.1, "a")
    scene.set_padding(0.2, "b/skin")
    scene.set_padding(0.05, "a", "b")
    rows = scene.distances(q, within=0.7)
    assert rows.pairs == [("a/skin", "b/skin")]
    assert rows.distance == pytest.approx([1.0 - 0.35])
    assert rows.point_b - rows.point_a == pytest.approx(np.array([[0, 0, 1.0]]))
    assert len(scene.distances(q, within=0.6)) == 0


def test_a_conveyor_tells_the_velocity_of_its_surface():
    mb = two_free()
    mb.root.add_geometry(shape("belt", "box", (4, 4, 1), pose=Pose.from_rpy(0, 0, np.pi / 2, (0, 0, 10)),
                               attributes={"surface_velocity": (0.5, 0, 0)}))  # fmt: skip
    rows = Scene(mb).contacts(free((0, 0, 11), (0, 0, 20)), within=0.01)
    assert len(rows) >= 4
    assert rows.pairs[0] == ("a/skin", "inertial/belt")
    assert rows.surface_velocity == pytest.approx(np.tile([0, 0.5, 0], (len(rows), 1)))


def test_rays_of_a_lidar():
    mb = two_free()
    scene = Scene(mb)
    q = free((0, 0, 2), (5, 0, 2))
    around = np.array([(1, 0, 0), (0, 0, -1), (0, 1, 0)])
    hits = scene.cast_rays(q, (0, 0, 2), around, skip=["a"])
    assert hits.distance == pytest.approx([4.5, 2.0, np.inf])
    assert [scene.names[i] if i >= 0 else "" for i in hits.shape] == ["b/skin", "inertial/floor", ""]
    assert hits.normal[:2] == pytest.approx(np.array([(-1, 0, 0), (0, 0, 1)]))
    assert repr(hits) == "3 rays, 2 meet something"
    own = scene.cast_rays(q, (0, 0, 2), around)
    assert own.distance == pytest.approx([0.5, 0.5, 0.5])


def test_a_thin_plate_at_speed_is_not_missed():
    bullet, plate, still = Sphere(0.001), Box(1, 1, 1e-4), Pose()
    found = time_of_impact(bullet, Pose(translation=(0, 0, 50)), Pose(translation=(0, 0, -50)), plate, still, still)
    assert found.time == pytest.approx((50 - 0.001 - 0.5e-4) / 100, abs=1e-9)
    assert distance(bullet, Pose(translation=(0, 0, -50)), plate, still).distance > 49.0
    past = time_of_impact(bullet, Pose(translation=(2, 0, 50)), Pose(translation=(2, 0, -50)), plate, still, still)
    assert past.time == np.inf
    assert "no impact" in repr(past)


def test_a_turning_bar_hits_where_its_tip_arrives():
    """A bar of length 2 turns by a right angle from x to y; a point waits at 45 degrees, at 0.9 of its half length."""
    bar, waits = Box(2.0, 1e-3, 1e-3), 0.9 * np.sqrt(0.5)
    there = Pose(translation=(waits, waits, 0))
    found = time_of_impact(bar, Pose(), Pose.from_rpy(0, 0, np.pi / 2), Sphere(0.0), there, there)
    early = np.arcsin(0.5e-3 / 0.9) / (np.pi / 2)                     # the face of the bar is ahead of its middle
    assert found.time == pytest.approx(0.5 - early, abs=1e-6)


def test_the_first_impact_of_a_scene():
    mb = two_free(("box", (1.0, 1.0, 0.01)), ("sphere", (0.1,)))
    scene = Scene(mb)
    t, rows = scene.time_of_impact(free((0, 0, 2), (0, 0, 5)), free((0, 0, 2), (0, 0, -5)))
    assert t == pytest.approx((5 - 0.1 - 2.005) / 10)
    assert rows.pairs == [("a/skin", "b/skin")]
    assert rows.distance == pytest.approx([0.0], abs=1e-8)
    t, rows = scene.time_of_impact(free((0, 0, 2), (3, 0, 5)), free((0, 0, 2), (3, 0, 4)))
    assert t == np.inf
    assert len(rows) == 0
    t, _ = scene.time_of_impact(free((0, 0, 2), (3, 0, 5)), free((0, 0, 2), (3, 0, -5)))
    assert t == pytest.approx(0.49)                                    # the floor


def test_impacts_at_one_instant_are_all_told():
    """Balls of many radii fall together onto the floor: each touches at the same time, to rounding."""
    mb = sc.Multibody("m")
    mb.root.add_geometry(shape("floor", "plane"))
    radii = [0.1 + 0.0137 * i for i in range(8)]
    for i, radius in enumerate(radii):
        mb.add_body(f"b{i}", None, sc.Free(), sc.Inertia(1.0)).add_geometry(sc.Geometry("skin", "sphere", (radius,)))
    places = [[(3 * i, 0, z + r) for i, r in enumerate(radii)] for z in (0.7, -0.2)]
    q0, q1 = (np.concatenate([np.concatenate([[0, 0, 0, 1], p]) for p in x]) for x in places)
    t, rows = Scene(mb).time_of_impact(q0, q1)
    assert t == pytest.approx(0.7 / 0.9, abs=1e-8)
    assert len(rows) == 8


def test_meshes_are_read_in_their_folder_alone(tmp_path):
    folder = tmp_path / "robot"
    folder.mkdir()
    lines = [f"v {x} {y} {z}" for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    text = "\n".join([*lines, *("f " + " ".join(str(i + 1) for i in face) for face in faces)])
    (folder / "cube.obj").write_text(text)
    (tmp_path / "secret.obj").write_text(text)
    mb = sc.Multibody("m")
    body = mb.add_body("a", None, sc.Free(), sc.Inertia(1.0))
    body.add_geometry(sc.Geometry("skin", "mesh", (1.0, 1.0, 2.0), role="collision", mesh="cube.obj"))
    mb.root.add_geometry(shape("floor", "plane"))
    q = [0, 0, 0, 1, 0, 0, 3.0]
    for meshes in ("hull", "triangles"):
        assert Scene(mb, folder=folder, meshes=meshes).distances(q).distance == pytest.approx([1.0])
    with pytest.raises(ModelError, match=r"shape 'a/skin': its mesh is the file 'cube.obj'; pass folder="):
        Scene(mb)
    assert Scene(mb, skip=["a/skin"]).names == ("inertial/floor",)
    assert Scene(mb, shapes={"a/skin": Sphere(0.5)}).distances(q).distance == pytest.approx([2.5])
    body.remove_geometry("skin")
    body.add_geometry(sc.Geometry("skin", "mesh", role="collision", mesh="../secret.obj"))
    with pytest.raises(ModelError, match=r"its mesh '../secret.obj' leads out of the folder"):
        Scene(mb, folder=folder)
    (folder / "link.obj").symlink_to(tmp_path / "secret.obj")
    body.remove_geometry("skin")
    body.add_geometry(sc.Geometry("skin", "mesh", role="collision", mesh="link.obj"))
    with pytest.raises(ModelError, match="leads out of the folder"):
        Scene(mb, folder=folder)


@pytest.mark.parametrize("size", [(2.0,), (2.0, 2.0), (1.0, 1.0, 1.0, 1.0)])
def test_the_scale_of_a_mesh_is_three_numbers_or_none(tmp_path, size):
    """Others are not dropped without a word; in pictures neither."""
    (tmp_path / "part.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
    mb = sc.Multibody("m")
    body = mb.add_body("a", None, sc.Free(), sc.Inertia(1.0))
    body.add_geometry(sc.Geometry("skin", "mesh", size, role="both", mesh="part.obj"))
    told = f"geometry 'skin': the scale of a mesh is three numbers or none, got {len(size)}"
    with pytest.raises(ModelError, match=told):
        Scene(mb, folder=tmp_path)
    assert told in sc.view.scene(mb, folder=tmp_path).missing["a/skin"]


@pytest.mark.parametrize("name", ["a\0.obj", "a" * 5000 + ".obj"])
def test_a_mesh_that_cannot_be_the_name_of_a_file_is_refused(tmp_path, name):
    mb = sc.Multibody("m")
    body = mb.add_body("a", None, sc.Free(), sc.Inertia(1.0))
    body.add_geometry(sc.Geometry("skin", "mesh", role="collision", mesh=name))
    with pytest.raises(ModelError, match=r"shape 'a/skin': its mesh 'a.* pass shapes="):
        Scene(mb, folder=tmp_path)


def test_height_fields_of_mjcf(tmp_path):
    text = """<mujoco><asset><hfield name="hill" nrow="2" ncol="3" size="3 2 1.5 .5" elevation="0 1 0  2 4 2"/></asset>
    <worldbody><geom name="ground" type="hfield" hfield="hill"/>
    <body name="a"><freejoint/><geom name="g" type="sphere" size=".1"/></body></worldbody></mujoco>"""
    (tmp_path / "m.xml").write_text(text)
    scene = Scene(sc.load(tmp_path / "m.xml"))
    ground = scene.shapes["inertial/ground"]
    assert isinstance(ground, HeightField)
    known = mujoco.MjModel.from_xml_string(text)                        # rows from -y on, from 0 to 1
    assert ground.heights == pytest.approx(1.5 * known.hfield_data.reshape(2, 3))
    assert ground.size == pytest.approx((6.0, 4.0, -0.5))


def test_robots_of_the_library_have_scenes():
    for name in ("h1", "a1", "cassie", "shadow_hand", "ur5e", "iiwa14", "anymal_b"):
        mb = sc.load(name)
        scene = Scene(mb)
        rows = scene.distances(mb.q, within=0.2)
        assert len(scene.pairs) > 5, name
        assert np.isfinite(rows.distance).all()
        assert scene.gradient(rows).shape == (len(rows), mb.nv)


def test_refusals_name_what_is_wrong():
    mb = two_free()
    with pytest.raises(ModelError, match=r"there is no shape or body with shapes 'a/skn'; did you mean 'a/skin'"):
        Scene(mb).exclude("a/skn", "b")
    with pytest.raises(ModelError, match="a padding must not be negative, got -1"):
        Scene(mb).set_padding(-1.0, "a")
    with pytest.raises(ModelError, match="meshes must be 'hull' or 'triangles'"):
        Scene(mb, meshes="exact")
    with pytest.raises(ModelError, match=r"shapes\['a/skin'\] must be a shape"):
        Scene(mb, shapes={"a/skin": 3})
    with pytest.raises(ModelError, match="a Scene is of a Multibody"):
        Scene("h1")
    with pytest.raises(StateError):
        Scene(mb).distances([0.0, 1.0])
    with pytest.raises(StateError, match="rays are cast at one configuration, got 2"):
        Scene(mb).cast_rays(np.array([free(), free()]), (0, 0, 1), (0, 0, 1))
    with pytest.raises(ModelError, match="rows are what distances or contacts gave"):
        Scene(mb).gradient(3)
    mb["a"].add_geometry(shape("sole", "plane"))
    with pytest.raises(ModelError, match="shapes 'a/sole' and 'inertial/floor' may touch, but two planes"):
        Scene(mb)
    other = sc.Multibody()
    other.root.add_geometry(shape("cloud", "other"))
    with pytest.raises(ModelError, match=r"shape 'inertial/cloud' is of kind 'other'.*skip="):
        Scene(other)


def test_an_impact_with_a_part_of_a_mesh_that_is_not_the_nearest():
    """A ball leaves the nearer of two plates, and strikes the other; over a height field it strikes the cliff."""
    plates = [(x, y, z) for x in (-1.0, 1.5) for y, z in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    mesh = TriangleMesh(np.array(plates, float), np.array([[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]]))
    found = time_of_impact(Sphere(0.1), Pose(), Pose(translation=(3, 0, 0)), mesh, Pose(), Pose())
    assert found.time == pytest.approx(1.4 / 3, abs=1e-9)
    heights = np.zeros((11, 11))
    heights[:, 8:] = 2.0
    field, start, end = HeightField(heights, 10.0, 10.0, -1.0), (-3, 0, 0.2), (4, 0, 0.2)
    found = time_of_impact(Sphere(0.1), Pose(translation=start), Pose(translation=end), field, Pose(), Pose())
    assert 0.6 < found.time < 0.8
    assert found.nearest.distance == pytest.approx(0.0, abs=1e-6)


def test_a_mesh_that_slides_over_a_floor_meets_nothing():
    """A plane is separated from all of it: no small steps along a small gap."""
    mesh = TriangleMesh(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]]), np.array([[0, 1, 2]]))
    start, end = Pose(translation=(0, 0, 1e-6)), Pose(translation=(5, 0, 1e-6))
    assert time_of_impact(mesh, start, end, Plane(), Pose(), Pose()).time == np.inf


@pytest.mark.parametrize("given", ["0", "x", 0.5, 1e30, -(2.0**32), [0]])
@pytest.mark.parametrize("what", ["contype", "conaffinity"])
def test_masks_that_are_no_numbers_are_refused(what, given):
    mb = two_free()
    mb.bodies[0].add_geometry(shape("odd", "sphere", (0.1,), attributes={what: given}))
    with pytest.raises(ModelError, match=f"{what} of shape 'odd' is .*; it must be a whole number of 32 bits"):
        _ = Scene(mb).pairs


@pytest.mark.parametrize("given", [0, 0.0, np.int64(0), 1, -1, 0xFFFFFFFF])
def test_masks_of_whole_numbers(given):
    mb = two_free()
    mb.bodies[0].add_geometry(shape("odd", "sphere", (0.1,), attributes={"contype": given, "conaffinity": given}))
    assert any("a/odd" in x for x in Scene(mb).pairs) == bool(given)
