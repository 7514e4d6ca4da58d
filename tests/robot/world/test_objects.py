"""Objects of a world: they come, move, open and go, ride on the robot, and become parts of it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.world.robots import door_model, swing, two_arms

import soacraft as sc
from soacraft.contact import Box, ConvexHull, Cylinder, HeightField, Sphere, TriangleMesh
from soacraft.errors import ModelError, StateError
from soacraft.robot import Robot, World
from soacraft.robot.world.voxels import Voxels


def test_objects_come_move_and_go():
    w = World(swing())
    w.add("block", Sphere(0.3), sc.Pose(translation=(1.0, 0.0, 0.0)))
    assert w.collides([0.0])
    assert w.touching([0.0]) == [("block/shape", "link/ball")]
    w.move("block", sc.Pose(translation=(0.0, 1.0, 0.0)))
    assert not w.collides([0.0])
    assert w.collides([np.pi / 2])
    w.remove("block")
    assert not w.collides([np.pi / 2])
    assert w.objects == ()


def test_an_object_on_the_robot_moves_with_it():
    """A tool 1.5 m out meets a post at 90 degrees; on a node its pose is in the node."""
    rb = swing()
    rb.mb["link"].add_node("tip", sc.Pose(translation=(1.0, 0.0, 0.0)))
    for on, x in (("link", 1.5), ("link/tip", 0.5)):
        w = World(rb)
        w.add("tool", Sphere(0.1), sc.Pose(translation=(x, 0, 0)), on=on)
        w.add("post", Sphere(0.1), sc.Pose(translation=(0.0, 1.5, 0)))
        assert not w.collides([0.0])
        assert w.touching([np.pi / 2]) == [("post/shape", "tool/shape")]
    rb.mb.add_body("other", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    rb.mb.remove(rb.mb["link"])
    with pytest.raises(ModelError, match=r"'tool' is on 'link', which the robot no longer has: w.remove\('tool'\)"):
        w.collides([0.0])
    w.remove("tool")
    assert not w.collides([0.0])


@pytest.mark.parametrize("on", [None, "inertial", "inertial/dock", "link", "link/tip"])
def test_an_object_is_moved_in_the_frame_that_it_was_added_in(on):
    rb = swing()
    turned = sc.Pose.from_quaternion((0.0, 0.0, np.sin(0.3), np.cos(0.3)), (1.0, 0.2, 0.0))
    rb.mb["link"].add_node("tip", turned)
    rb.mb.root.add_node("dock", turned)
    a, b = sc.Pose(translation=(0.5, 0.0, 0.0)), sc.Pose(translation=(0.1, 0.3, 0.0))
    moved, added = World(rb), World(rb)
    moved.add("tool", Sphere(0.1), a, on=on)
    moved.move("tool", b)
    added.add("tool", Sphere(0.1), b, on=on)
    assert moved.item("tool").pose.is_close(added.item("tool").pose)
    assert moved.item("tool").on == added.item("tool").on == ("link" if on in ("link", "link/tip") else None)
    moved.move("tool", a)
    added.replace("tool", Sphere(0.1), a, on=on)
    assert moved.item("tool").pose.is_close(added.item("tool").pose)
    assert moved.item("tool").frame == added.item("tool").frame == (None if on == "inertial" else on)


def test_an_object_whose_node_is_gone_stays_and_is_put_elsewhere_by_replace():
    rb = swing()
    node = rb.mb["link"].add_node("tip", sc.Pose(translation=(1.0, 0.0, 0.0)))
    w = World(rb)
    w.add("tool", Sphere(0.1), sc.Pose(translation=(0.5, 0, 0)), on="link/tip")
    node.pose = sc.Pose(translation=(2.0, 0.0, 0.0))
    assert w.item("tool").pose.translation[0] == 1.5
    w.move("tool", sc.Pose(translation=(0.5, 0, 0)))
    assert w.item("tool").pose.translation[0] == 2.5  # in the node as it is now
    rb.mb["link"].remove_node(node)
    before = w.item("tool")
    with pytest.raises(ModelError, match=r"object 'tool' was put on 'link/tip', which the robot no longer has: give it "
                                         r"another place with w.replace\('tool', shape, pose, on=...\)"):  # fmt: skip
        w.move("tool", sc.Pose())
    assert w.item("tool") is before
    w.replace("tool", Sphere(0.1), sc.Pose(), on="link")
    w.move("tool", sc.Pose(translation=(0.5, 0, 0)))
    assert w.item("tool").pose.translation[0] == 0.5


def test_an_object_adds_no_dofs_and_no_bodies():
    rb = swing()
    w = World(rb)
    w.add("door", model=door_model())
    w.add("block", Sphere(0.3), sc.Pose(translation=(3.0, 0.0, 0.0)))
    assert len(rb.mb.bodies) == rb.mb.nq == 1
    assert w.distances([0.3]).gradient.shape[1] == 1


def test_an_object_is_replaced():
    """The ball of radius 0.1 two metres from the robot's ball of 0.05 becomes one of 0.3, one metre nearer; its padding
    stays."""
    w = World(swing())
    w.add("ball", Sphere(0.1), sc.Pose(translation=(3, 0, 0)))
    w.pad("ball", 0.02)
    assert min(w.distances([0.0]).distance) == pytest.approx(2.0 - 0.1 - 0.05 - 0.02, abs=1e-12)
    w.replace("ball", Sphere(0.3), sc.Pose(translation=(2, 0, 0)))
    assert w.objects == ("ball",)
    assert min(w.distances([0.0]).distance) == pytest.approx(1.0 - 0.3 - 0.05 - 0.02, abs=1e-12)


def test_a_door_opens():
    """The door in the way of a ball at distance 1: shut it is hit, open by 90 degrees it is not; its distance is that
    of the ball from the plane of the panel."""
    w = World(swing())
    w.add("door", model=door_model(), pose=sc.Pose(translation=(0.5, 0, 0)))
    assert w.collides([0.0])
    for angle in (0.3, 0.7, 1.2):
        w.set_state("door", [angle])
        rows = w.distances([0.0])
        got = dict(zip(rows.pairs, rows.distance, strict=True))["door.panel/wood", "link/ball"]
        assert got == pytest.approx(0.5 * np.sin(angle) - 0.01 - 0.05, abs=1e-12)
    w.set_state("door", [np.pi / 2])
    assert not w.collides([0.0])
    w.set_state("door", [0.0])
    w.hide("door")
    assert not w.collides([0.0])
    w.show("door")
    w.allow("door.panel", "link")
    assert not w.collides([0.0])
    given = door_model()
    other = World(swing())
    other.add("door", model=given, pose=sc.Pose(translation=(0.5, 0, 0)))
    given.set_state(q=[np.pi / 2])  # the world has a copy
    assert other.collides([0.0])


def test_a_height_field_is_an_object():
    """Over the slope z = x / 2 the ball of radius r at height h is (h - x / 2) cos(slope) - r away."""
    x = np.linspace(-2.0, 2.0, 41)
    w = World(swing())
    w.add("ground", HeightField(np.tile(0.5 * x, (41, 1)), 4.0, 4.0), sc.Pose(translation=(0, 0, -1.0)))
    for angle in (0.0, 1.0, 2.0):
        want = (1.0 - 0.5 * np.cos(angle)) * np.cos(np.arctan(0.5)) - 0.05
        assert w.distances([angle]).distance == pytest.approx([want], abs=1e-9)


def test_an_object_given_to_the_robot_is_taken_and_put_down():
    """A cup on a table: it is no dof before, a free body after, touches the table all the time, and is checked with the
    hand only while that does not hold it."""
    rb = two_arms(fingers=False)
    w = World(rb)
    at = sc.Pose(translation=(0.0, 0.3, 1.0))
    w.add("table", Box(1.0, 1.0, 0.1), sc.Pose(translation=(0.0, 0.3, 0.9)))
    w.hide("table")
    w.add("cup", Cylinder(0.04, 0.1), at)
    q = np.array(rb.mb.q)
    assert ("cup/shape", "left2/skin") in w.touching(q)
    w.pad("cup", 0.01)
    nq = rb.mb.nq
    w.give_to_robot("cup", sc.Inertia(0.3))
    assert (rb.mb.nq, w.objects, w.given) == (nq + 7, ("table",), ("cup",))
    assert rb.mb.pose("cup").is_close(at)
    assert ("cup/shape", "left2/skin") in w.touching(rb.mb.q)
    w.show("table")
    pairs = set(w.scene.pairs)
    assert ("cup/shape", "table/shape") not in pairs
    rb.attach("cup", "left2/hand")
    assert rb.mb.nq == nq
    held = set(w.scene.pairs)
    assert ("cup/shape", "left2/skin") not in held
    assert {("cup/shape", "left1/skin"), ("cup/shape", "right2/skin"), ("cup/shape", "table/shape")} <= held
    rows = w.distances(rb.mb.q)
    apart = dict(zip(rows.pairs, rows.distance, strict=True))["cup/shape", "table/shape"]
    assert apart == pytest.approx(1.0 - 0.05 - 0.95 - 0.01, abs=1e-12)  # the padding came along
    rb.detach("cup")
    assert set(w.scene.pairs) == pairs
    with pytest.raises(ModelError, match="object 'cup' was given to the robot: it is in its model"):
        w.move("cup", at)


def test_a_hull_given_to_the_robot_keeps_its_shape():
    rb = two_arms()
    w = World(rb)
    corners = [(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)]
    w.add("wedge", ConvexHull(corners), sc.Pose(translation=(0.0, 0.3, 1.2)))
    before = w.distances(rb.mb.q)
    w.give_to_robot("wedge", sc.Inertia(0.1))
    after = w.distances(rb.mb.q)
    rows = [i for i, pair in enumerate(before.pairs) if "wedge/shape" in pair]
    apart = dict(zip(after.pairs, after.distance, strict=True))
    assert rows
    for i in rows:
        assert apart[before.pairs[i]] == pytest.approx(before.distance[i], abs=1e-12)


CORNERS = np.array([(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)])
OF_POINTS = {
    "hull": ConvexHull(CORNERS),
    "mesh": TriangleMesh(CORNERS, [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]),
    "scan": Voxels(CORNERS, 0.05),
    "two": {"a": (ConvexHull(CORNERS), sc.Pose()), "b": (ConvexHull(2.0 * CORNERS), sc.Pose())},
}


@pytest.mark.parametrize("kind", OF_POINTS)
def test_what_was_given_to_a_robot_has_its_shape_in_every_world_of_it_and_its_copies(kind):
    rb = two_arms()
    w = World(rb)
    w.add("thing", OF_POINTS[kind], sc.Pose(translation=(0.0, 0.3, 1.2)))
    w.give_to_robot("thing", sc.Inertia(0.1))
    told = w.distances(rb.mb.q)
    for other in (rb, rb.copy(), rb.copy().copy()):
        found = World(other).distances(rb.mb.q)
        assert found.pairs == told.pairs
        assert (found.distance == told.distance).all()
    copy = rb.copy()
    rb.mb.remove(rb.mb["thing"])
    assert "thing" in copy.mb
    assert (World(copy).distances(copy.mb.q).distance == told.distance).all()


def test_a_shape_that_was_given_is_that_of_the_body_it_was_given_to_alone():
    """Not that of another body by the same name."""
    rb = two_arms()
    w = World(rb)
    w.add("thing", OF_POINTS["hull"], sc.Pose(translation=(0.0, 0.3, 1.2)))
    w.give_to_robot("thing", sc.Inertia(0.1))
    rb.mb.remove(rb.mb["thing"])
    body = rb.mb.add_body("thing", None, sc.Free(), sc.Inertia(1.0))
    body.add_geometry(sc.Geometry("shape", "mesh", mesh="thing.stl", role="collision"))
    with pytest.raises(ModelError, match=r"its mesh is the file 'thing.stl'; leave it out with w.hide"):
        World(rb.copy()).collides(rb.mb.q)


def test_a_geometry_that_is_too_large_is_refused_by_its_size_alone():
    with pytest.raises(ModelError, match=r"a Box reaches 5e\+299 m .*: take another unit of length\.$"):
        World(two_arms()).add("thing", sc.Geometry("box", "box", (1e300, 1.0, 1.0)))


def test_a_model_given_to_the_robot_can_be_grasped():
    rb = two_arms()
    w = World(rb)
    w.add("gate", model=door_model(), pose=sc.Pose(translation=(0.0, 3.0, 0.0)))
    w.pad("gate", 0.02)
    before = w.distances(rb.mb.q)
    w.give_to_robot("gate")
    assert "gate.panel" in rb.mb
    after = w.distances(rb.mb.q)
    apart = dict(zip(after.pairs, after.distance, strict=True))
    for pair, d in zip(before.pairs, before.distance, strict=True):
        if any(x.startswith("gate.panel") for x in pair):
            assert apart[pair] == pytest.approx(d, abs=1e-12)
    rb.grasp("gate.panel", ["left2/hand"])
    assert ("gate.panel/wood", "left2/skin") not in w.scene.pairs
    assert ("gate.panel/wood", "right2/skin") in w.scene.pairs


@pytest.mark.parametrize("model", [False, True])
def test_limbs_follow_when_the_robot_is_given_an_object(model):
    rb = two_arms()
    arm = rb.limb("arm", "inertial", "right2/hand")
    w = World(rb)
    w.add("gate", *(() if model else (Sphere(0.1),)), model=door_model() if model else None)
    before = arm.pose()
    w.give_to_robot("gate", *(() if model else (sc.Inertia(1.0),)))
    assert arm.is_current
    assert rb["arm"] is arm
    assert arm.pose() == before
    assert tuple(rb.mb.dof_names[i] for i in arm.v_places) == arm.dof_names
    rb.mb.add_body("post", hinge=sc.Weld())  # an edit of another
    assert not arm.is_current


def test_a_geometry_is_taken_as_it_is():
    """A ball of radius 0.3 two metres along x of its own pose, which is one metre up in the object; role and masks of
    its model do not hide it, and it is on the link where that was said."""
    own = sc.Pose.from_quaternion((0.0, 0.0, np.sin(0.25 * np.pi), np.cos(0.25 * np.pi)), (0.0, 2.0, 0.0))
    ball = sc.Geometry("eye", "sphere", (0.3,), own, "visual", attributes={"contype": 0, "conaffinity": 0})
    w = World(swing())
    w.add("ball", ball, sc.Pose(translation=(0, 0, 1.0)))
    for angle in (0.0, 0.7):
        c = np.array([np.cos(angle), np.sin(angle), 0.0])
        want = np.linalg.norm(c - [0, 2.0, 1.0]) - 0.3 - 0.05
        assert w.distances([angle]).distance == pytest.approx([want], abs=1e-12)
    assert w.distances([0.0]).pairs == [("ball/shape", "link/ball")]
    w.replace("ball", {"a": ball, "b": (ball, sc.Pose(translation=(0, 1.0, 0))), "c": Sphere(0.1)}, on="link")
    assert set(w.item("ball").parts) == {"a", "b", "c"}
    w.add("post", Sphere(0.1), sc.Pose(translation=(-3.0, 0, 0)))
    assert w.touching([np.pi / 2]) == [("ball/b", "post/shape")]
    w.hide("ball/b")
    assert not w.collides([np.pi / 2])


def notched(folder):
    """Two boxes of a mesh file, from x = -1 to -0.5 and from 0.5 to 1, and its geometry: the hull fills the gap."""
    lines, count = [], 0
    for x in (-1.0, 0.5):
        at = [(x + 0.5 * i, j - 0.5, k - 0.5) for i in (0, 1) for j in (0, 1) for k in (0, 1)]
        lines += [f"v {a} {b} {c}" for a, b, c in at]
        quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        lines += ["f " + " ".join(str(count + i + 1) for i in quad) for quad in quads]
        count += 8
    folder.mkdir()
    (folder / "notched.obj").write_text("\n".join(lines) + "\n")
    return sc.Geometry("body", "mesh", (1.0, 1.0, 1.0), mesh="notched.obj")


def test_the_mesh_of_a_geometry_is_read_in_its_folder(tmp_path):
    """In the middle of the gap the ball is 0.5 - 0.05 from the triangles, and inside of the hull."""
    rb, mesh = swing(), notched(tmp_path / "parts")
    w, at = World(rb), sc.Pose(translation=(1.0, 0.0, 0.0))
    with pytest.raises(ModelError, match=r"its mesh is the file 'notched.obj'; give folder="):
        w.add("part", mesh, at)
    assert w.objects == ()
    w.add("part", mesh, at, folder=tmp_path / "parts")
    assert w.collides([0.0])
    w.detail("part", "mesh")
    assert w.distances([0.0]).distance == pytest.approx([0.45], abs=1e-12)
    rb.mb.mesh_folder = tmp_path / "parts"
    other = World(rb)
    other.add("part", mesh, at)  # the robot's own folder
    assert other.collides([0.0])


@pytest.mark.parametrize("own", [None, "parts", "elsewhere"])
def test_a_geometry_that_is_given_to_the_robot_has_the_shape_it_had(tmp_path, own):
    """Also where the robot has files in another folder."""
    rb, mesh = swing(), notched(tmp_path / "parts")
    (tmp_path / "elsewhere").mkdir()
    if own:
        rb.mb.mesh_folder = tmp_path / own
    w = World(rb)
    w.add("part", {"a": mesh, "b": Sphere(0.1)}, sc.Pose(translation=(1.0, 0.0, 0.0)), folder=tmp_path / "parts")
    w.detail("part/a", "mesh")
    before = w.distances([0.0])
    assert before.distance == pytest.approx([0.45, -0.15], abs=1e-12)
    w.give_to_robot("part", sc.Inertia(1.0))
    after = w.distances(rb.mb.q)
    assert after.pairs == before.pairs
    assert after.distance == pytest.approx(before.distance, abs=1e-12)
    copied = w.copy().distances(rb.mb.q)
    assert (copied.distance == after.distance).all()


def stall(folder):
    """A model whose mesh is in a folder: a part of it fixed on the ground, another on a hinge."""
    mesh = notched(folder)
    mb = sc.Multibody("stall")
    mb.root.add_geometry(mesh)
    mb.add_body("flap", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0), sc.Pose(translation=(0.0, 0.0, 1.0)))
    mb["flap"].add_geometry(mesh)
    mb.mesh_folder = folder
    return mb


@pytest.mark.parametrize("detail", [None, "mesh"])
@pytest.mark.parametrize("own", [None, "parts", "elsewhere"])
def test_a_model_that_is_given_to_the_robot_has_the_meshes_it_had(tmp_path, own, detail):
    """Also where the robot has files in another folder, one by the same name among them."""
    model, rb = stall(tmp_path / "parts"), swing()
    notched(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "notched.obj").write_text("v 0 0 0\nv 9 0 0\nv 0 9 0\nv 0 0 9\nf 1 2 3\nf 1 2 4\n")
    if own:
        rb.mb.mesh_folder = tmp_path / own
    w = World(rb)
    w.add("stall", model=model, pose=sc.Pose(translation=(1.0, 0.1, 0.0)))
    if detail:
        w.detail("stall", detail)
    before = w.distances([0.0]).distance
    assert len(before) == 2
    w.give_to_robot("stall")
    for world in (w, w.copy()):
        found = world.distances(rb.mb.q)
        after = {pair: x for pair, x in zip(found.pairs, found.distance, strict=True) if "link/ball" in pair}
        assert {x for pair in after for x in pair} == {"inertial/stall.body", "stall.flap/body", "link/ball"}
        assert sorted(after.values()) == pytest.approx(sorted(before), abs=1e-12)


def test_meshes_of_a_model_that_are_not_there_are_refused_before_it_is_given(tmp_path):
    rb, model = swing(), stall(tmp_path / "parts")
    rb.mb.mesh_folder = tmp_path
    model.mesh_folder = tmp_path / "gone"
    w = World(rb)
    w.add("stall", model=model)
    nq = rb.mb.nq
    with pytest.raises(ModelError, match=r"'stall.flap/body': its mesh 'notched.obj' is not in the folder '.*gone'; "):
        w.give_to_robot("stall")
    assert (rb.mb.nq, w.objects, rb._shapes) == (nq, ("stall",), {})
    w.hide("stall")
    w.give_to_robot("stall")
    assert not w.collides(rb.mb.q)
    w.show("stall")
    with pytest.raises(ModelError, match=r"its mesh '.*gone.notched.obj' is not in the folder .*leave it out with w"):
        w.collides(rb.mb.q)


def test_what_a_robot_has_as_a_hull_is_no_mesh(tmp_path):
    rb, mesh = swing(), notched(tmp_path / "parts")
    rb.mb.mesh_folder = tmp_path
    w = World(rb)
    w.add("part", mesh, sc.Pose(translation=(1.0, 0.0, 0.0)), folder=tmp_path / "parts")
    w.give_to_robot("part", sc.Inertia(1.0))
    with pytest.raises(StateError, match=r"'part/shape' was given to the robot as its hull, and its file is not in"):
        w.detail("part", "mesh")
    assert w.details == {}
    assert w.collides(rb.mb.q)


def test_what_is_refused():
    w = World(swing())
    with pytest.raises(ModelError, match="there is 'link' already"):
        w.add("link", Sphere(1.0))
    with pytest.raises(ModelError, match="the world has no object 'tabel'"):
        w.remove("tabel")
    with pytest.raises(ModelError, match="is a shape, or a model"):
        w.add("thing")
    with pytest.raises(ModelError, match="must be a shape, or"):
        w.add("thing", 3.0)
    with pytest.raises(ModelError, match=r"shape 'thing/shape': its mesh is the file 'a.stl'; give folder=..., where "
                                         r"its file is, or a shape such as sc.contact.TriangleMesh"):  # fmt: skip
        w.add("thing", sc.Geometry("a", "mesh", mesh="a.stl"))
    with pytest.raises(ModelError, match="object 'thing' has no geometry whose file could be in folder='meshes'"):
        w.add("thing", Sphere(1.0), folder="meshes")
    with pytest.raises(ModelError, match="folder of object 'thing' takes a path"):
        w.add("thing", sc.Geometry("a", "mesh", mesh="a.stl"), folder=3)
    with pytest.raises(ModelError, match=r"part 'a' of object 'thing' must be \(shape, pose\)"):
        w.add("thing", {"a": 3.0})
    with pytest.raises(ModelError, match="an object has a name without '/'"):
        w.add("a/b", Sphere(1.0))
    with pytest.raises(ModelError, match=r"the pose of object 'thing' must be one Pose"):
        w.add("thing", Sphere(1.0), (0, 0, 0))
    with pytest.raises(ModelError, match="model= is a Multibody that stands in the inertial frame"):
        w.add("thing", model=door_model(), on="link")
    assert w.objects == ()
    w.add("thing", Sphere(0.1), sc.Pose(translation=(1.5, 0, 0)), on="link")
    w.add("ball", Sphere(0.1), sc.Pose(translation=(0, 3, 0)))
    w.add("door", model=door_model())
    with pytest.raises(ModelError, match=r"object 'ball' has no hinges; put it elsewhere with w.move\('ball', pose\)"):
        w.set_state("ball", [0.0])
    with pytest.raises(StateError):
        w.set_state("door", [0.0, 1.0])
    with pytest.raises(ModelError, match="object 'thing' is on 'link' of the robot, which no hand can take it from"):
        w.give_to_robot("thing", sc.Inertia(1.0))
    with pytest.raises(ModelError, match=r"object 'ball' needs an Inertia\(mass, ...\) to be a body, got None"):
        w.give_to_robot("ball")
    with pytest.raises(ModelError, match="object 'door' is a model, whose bodies have inertias; give none"):
        w.give_to_robot("door", sc.Inertia(1.0))
    with pytest.raises(ModelError, match="object 'door' is a model with hinges, which shapes do not replace"):
        w.replace("door", Sphere(0.1))
    with pytest.raises(ModelError, match="the world has no object 'tabel'"):
        w.replace("tabel", Sphere(0.1))
    with pytest.raises(ModelError, match="'nowhere'"):
        w.replace("ball", Sphere(0.2), on="nowhere")
    assert w.item("ball").shapes[0][1].size == (0.1,)
    assert w.objects == ("thing", "ball", "door")
    assert len(w.robot.mb.bodies) == 1


def test_a_mesh_without_its_file_is_refused_until_it_is_hidden():
    rb = Robot(sc.load("simple_humanoid"))
    mesh = next(f"{b.name}/{g.name}" for b in rb.mb.bodies for g in b.geometries if g.kind == "mesh")
    w = World(rb)
    with pytest.raises(ModelError, match=r"leave it out with w.hide\(.*\), or set mb.mesh_folder to where"):
        w.collides(rb.mb.q)
    w.hide(mesh)
    assert not w.collides(rb.mb.q)


def test_every_shape_has_a_name_of_its_own():
    """Pairs that touch are told by names: of two shapes with the same one the wrong one would be told."""
    w = World(swing())
    w.add("door", model=door_model())
    with pytest.raises(ModelError, match=r"there is 'door.panel' already"):
        w.add("door.panel", Sphere(0.1))
    w.remove("door")
    w.add("door.panel", Sphere(0.1))
    with pytest.raises(ModelError, match=r"there is 'door.panel' already"):
        w.add("door", model=door_model())
    for part in (1, "", "a/b", None):
        with pytest.raises(ModelError, match="a part of object 'rack' has a name without '/'"):
            w.add("rack", {part: Sphere(0.1)})
    with pytest.raises(ModelError, match="the pose of object 'rack/a' must be one Pose"):
        w.add("rack", {"a": (Sphere(0.1), sc.Pose(translation=np.zeros((2, 3))))})
    assert w.objects == ("door.panel",)


def test_a_body_with_the_name_of_an_object_is_told():
    rb = swing()
    w = World(rb)
    w.add("block", Sphere(0.3), sc.Pose(translation=(1.0, 0.0, 0.0)))
    rb.mb.add_body("block", "link", sc.Weld(), sc.Inertia(1.0)).add_geometry(sc.Geometry("shape", "sphere", (0.1,)))
    for call in (w.collides, w.touching):
        with pytest.raises(ModelError, match=r"the robot has 'block' now, and so has the world: w.remove\('block'\)"):
            call([0.0])
    w.remove("block")
    w.add("stone", Sphere(0.3), sc.Pose(translation=(1.0, 0.0, 0.0)))
    assert w.touching([0.0]) == [("link/ball", "stone/shape")]


def test_objects_are_told_by_names():
    w = World(swing())
    w.add("block", Sphere(0.3))
    for name in (["block"], None, {}, np.zeros(2)):
        for call in (w.remove, w.item, lambda x: w.move(x, sc.Pose()), lambda x: w.set_state(x, [0.0])):
            with pytest.raises(ModelError, match="give an object by its name"):
                call(name)
