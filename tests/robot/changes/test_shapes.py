"""Shapes of objects go with the changes of a robot: distances of worlds around both are the same bits."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import numpy as np
import pytest

import soacraft as sc
from soacraft.contact import ConvexHull, HeightField, Sphere, TriangleMesh
from soacraft.errors import ModelError, ModelFileError
from soacraft.robot import Changes, Robot, World
from soacraft.robot.changes import changes as module
from soacraft.robot.changes.shapes import data_of, shape_of
from soacraft.robot.world.voxels import Voxels

rng = np.random.default_rng(2)
CORNERS = 0.2 * np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
INSIDE_OUT = [(0, 1, 2), (0, 3, 1), (0, 2, 3), (1, 3, 2)]
SHAPES = {
    "hull": ConvexHull(rng.normal(size=(200, 3))),
    "mesh": TriangleMesh([*CORNERS, (0.1, 0, 0)], [*INSIDE_OUT[1:], (0, 1, 4), (0, 4, 2), (4, 1, 2)]),
    "ground": HeightField(rng.uniform(0.0, 0.1, (4, 5)), 0.7, 0.9, -0.3),
    "scan": Voxels(rng.normal(size=(50, 3)), 0.07),
}


def arm():
    mb = sc.serial_chain(2)
    for body in mb.bodies:
        body.add_geometry(sc.Geometry("skin", "capsule", (0.05, 0.8), role="collision"))
    return Robot(mb)


def given(rb, shape, w=None):
    """A world that gave the robot an object of this shape."""
    w = w or World(rb)
    w.add("thing", shape, sc.Pose.from_rpy(0.3, -0.2, 0.5, (0.4, 3.0, 0.2)))
    w.give_to_robot("thing", sc.Inertia(0.1))
    return w


def bits(w):
    found = w.distances(w.robot.mb.q)
    numbers = found.distance, found.gradient, found.point_a, found.point_b
    return b"".join(np.ascontiguousarray(x).tobytes() for x in numbers) + repr(found.pairs).encode()


@pytest.mark.parametrize("kind", SHAPES)
def test_distances_are_the_same_bits_at_the_other_robot(kind):
    one = arm()
    two, since = one.copy(), one.version
    w = given(one, SHAPES[kind])
    changes = one.changes(since)
    assert len(changes.shapes) == 1
    assert two.apply(changes.to_bytes()) == one.version
    assert bits(w.copy(two)) == bits(w)
    since = one.version
    one.mb.set_state(q=one.mb.random_state(4)[0])
    changes = one.changes(since)
    assert changes.shapes == {}  # the other has it
    two.apply(changes.to_bytes())
    assert bits(w.copy(two)) == bits(w)


@pytest.mark.parametrize("kind", SHAPES)
def test_a_shape_is_the_same_again(kind):
    shape = SHAPES[kind]
    data = data_of("thing", shape)
    again = shape_of("thing", msgspec.json.decode(msgspec.json.encode(data), type=type(data)))
    assert again == shape
    assert repr(again) == repr(shape)


def test_another_process_has_the_same_distances(tmp_path):
    one = arm()
    sc.save(one.mb, tmp_path / "start.json")
    since = one.version
    w = given(one, SHAPES["hull"])
    (tmp_path / "changes").write_bytes(one.changes(since).to_bytes())
    program = (
        "import sys, soacraft as sc\n"
        "from tests.robot.changes.test_shapes import bits\n"
        "rb = sc.robot.Robot(sc.load(sys.argv[1]))\n"
        "rb.apply(open(sys.argv[2], 'rb').read())\n"
        "sys.stdout.write(bits(sc.robot.World(rb)).hex())\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "start.json"), str(tmp_path / "changes")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert not run.returncode, run.stderr
    assert run.stdout == bits(World(one)).hex()
    assert bits(World(one)) == bits(w)


def test_a_world_follows_when_the_other_robot_is_told_another_shape():
    """Of an object by the same name, whose geometry says no more than that it is a mesh."""
    one = arm()
    w = given(one, SHAPES["hull"])
    two = one.copy()
    theirs, since = World(two), one.version
    before = bits(theirs)
    one.mb.remove(one.mb["thing"])
    given(one, ConvexHull(CORNERS), World(one))
    assert one.version != since
    two.apply(one.changes(since).to_bytes())
    assert bits(theirs) == bits(World(one)) != before
    assert w.robot is one


def test_shapes_of_sizes_need_no_data():
    one = arm()
    since = one.version
    given(one, Sphere(0.1))
    assert one.changes(since).shapes == {}


def test_what_cannot_be_told_is_refused_by_name():
    class Mine(ConvexHull):
        pass

    one = arm()
    given(one, Mine(CORNERS))
    with pytest.raises(
        ModelError, match=r"the shape of 'thing/shape' is a Mine, which cannot be sent to another robot: give the robot"
    ):
        one.version  # noqa: B018


def test_changes_too_large_to_be_read_are_refused(monkeypatch):
    one = arm()
    since = one.version
    given(one, SHAPES["hull"])
    changes = one.changes(since)
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    with pytest.raises(ModelFileError, match=r"too large to be read again, at most 1000 are; the largest shape of an"):
        changes.to_bytes()


def test_damaged_shapes_are_refused_and_change_nothing():
    one = arm()
    two, since = one.copy(), one.version
    given(one, SHAPES["mesh"])
    plain = msgspec.json.decode(one.changes(since).to_bytes())
    (digest,) = plain["shapes"]
    good = plain["shapes"][digest]
    for bad in (
        {},
        {digest: {**good, "vertices": "QQQQ" + good["vertices"][4:]}},
        {digest: {**good, "closed": not good["closed"]}},
        {digest: {"kind": "hull", "vertices": good["vertices"]}},
    ):
        with pytest.raises(ModelFileError, match="they lack the shape of 'thing/shape', or it is damaged"):
            two.apply(msgspec.json.encode({**plain, "shapes": bad}))
        assert two.version == since
    with pytest.raises(ModelFileError, match="changes cannot be read"):
        Changes.from_bytes(msgspec.json.encode({**plain, "shapes": {digest: {"kind": "cloud"}}}))
    for data, why in (
        ({**good, "triangles": ""}, "the triangles of a TriangleMesh"),
        ({**good, "triangles": good["vertices"]}, "names vertex"),
        ({**good, "vertices": "AAAA"}, "are no rows of 3 numbers"),
    ):
        read = msgspec.convert(data, type(data_of("thing", SHAPES["mesh"])))
        with pytest.raises(ModelFileError, match=rf"cannot be read: the shape of 'thing'.*{why}"):
            shape_of("thing", read)
