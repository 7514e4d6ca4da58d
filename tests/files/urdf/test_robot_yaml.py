"""Closures and motors from `robot.yaml`."""

import re

import numpy as np
import pinocchio as pin
import pytest
import yaml
from tests.files.urdf.models import MODELS, joint, link, robot, write

from soacraft.errors import ModelFileError
from soacraft.files.urdf import read_urdf
from soacraft.model.hinges import Spherical, Weld

PARALLEL = sorted(path.parent.name for path in MODELS.glob("*/robot.yaml"))


def test_there_are_five():
    assert len(PARALLEL) == 5


@pytest.mark.parametrize("merge_fixed", [False, True])
@pytest.mark.parametrize("name", PARALLEL)
def test_loops_are_between_the_frames_that_pinocchio_finds(name, merge_fixed):
    file = MODELS / name / "robot.urdf"
    mb = read_urdf(file, merge_fixed=merge_fixed)
    given = yaml.safe_load((MODELS / name / "robot.yaml").read_text())
    assert mb.loops.names == tuple(f"{a}-{b}" for a, b in given["closed_loop"])
    assert all(loop.hinge == Weld() for loop in mb.loops)
    assert [dict(actuator.gears) for actuator in mb.actuators] == [{joint: 1.0} for joint in given["name_mot"]]
    model = pin.buildModelFromUrdf(str(file))
    data = model.createData()
    mb.set_state(*mb.random_state(seed=1))
    q = np.zeros(model.nq)
    for number in range(1, model.njoints):
        body = next(body for body in mb.bodies if body.hinge_name == model.names[number])
        q[model.joints[number].idx_q] = mb.q[body.q_slice][0]
    pin.framesForwardKinematics(model, data, q)
    for loop, names in zip(mb.loops, given["closed_loop"], strict=True):
        for end, frame in zip((loop.a, loop.b), names, strict=True):
            theirs = data.oMf[model.getFrameId(frame)]
            np.testing.assert_allclose(np.asarray(mb.pose(end)), theirs.homogeneous, rtol=0, atol=1e-12)


TREE = robot(
    link("base"), link("a"), link("b"), link("tip/a"),
    joint("ja", "revolute", "base", "a"), joint("jb", "revolute", "base", "b"), joint("end", "fixed", "a", "tip/a"),
)  # fmt: skip


def read(folder, text, **options):
    write(folder, text, "robot.yaml")
    return read_urdf(write(folder, TREE, "arm.urdf"), **options)


def test_types_of_loops_and_names_of_frames(tmp_path):
    mb = read(tmp_path, "closed_loop: [[ja, b], [end, jb]]\ntype: [3d, 6D]\nname_mot: [ja]\n")
    assert [loop.hinge for loop in mb.loops] == [Spherical(), Weld()]
    assert [(loop.a.full_name, loop.b.full_name) for loop in mb.loops] == [("a", "b"), ("tip/a", "b")]
    merged = read(tmp_path, "closed_loop: [[tip/a, jb]]\ntype: [6d]\n", merge_fixed=True)
    assert merged.loops[0].a.full_name == "a/tip/a"
    lines = {(e.element, e.status, e.line) for e in merged.import_report.entries if e.file.endswith("robot.yaml")}
    assert lines == {("closed_loop", "converted", 1), ("type", "converted", 2)}


def test_keys_that_are_not_read_would_be_missed(tmp_path):
    mb = read(tmp_path, "name_mot: [ja]\nfriction: 3\n")
    (entry,) = mb.import_report.lost
    assert (entry.element, entry.line, entry.note) == ("friction", 2, "is not a key that is read")


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\n"
CASES = {
    "aliases": (BOMB, "robot.yaml:1: anchors, aliases and tags are not read"),
    "objects": ("a: !!python/object/apply:os.system [ls]", "robot.yaml:1: anchors, aliases and tags are not read"),
    "deep": ("a: " + "[" * 10_000 + "]" * 10_000, "robot.yaml:1: is nested more than 16 deep"),
    "broken": ("a: [1, 2\n", "is not YAML that can be read"),
    "not utf-8": (b"a: \xff", "is not YAML that can be read"),
    "a list": ("[1, 2]", "must hold keys such as closed_loop, type and name_mot, got [1, 2]"),
    "nothing": ("", "must hold keys such as closed_loop"),
    "numbers as keys": ("1: 2", "must hold keys such as"),
    "twice": ("name_mot: [ja]\nname_mot: [jb]\n", "robot.yaml:2: <key name='name_mot'>: occurs twice"),
    "two documents": ("a: 1\n---\nb: 2\n", "is not YAML that can be read"),
    "wrong kind": ("closed_loop: [[1, 2]]\ntype: [6d]", "Expected `str`, got `int`"),
    "three ends": ("closed_loop: [[a, b, jb]]\ntype: [6d]", "length 2"),
    "no types": ("closed_loop: [[a, b]]", "<type>: 0 types for 1 loops; give one for each"),
    "unknown type": ("closed_loop: [[a, b]]\ntype: [5d]", "robot.yaml:2: <type>: the type '5d' of a loop must be"),
    "unknown frame": ("closed_loop: [[a, nob]]\ntype: [6d]", "<closed_loop>: there is no joint or link 'nob'"),
    "one body": ("closed_loop: [[a, ja]]\ntype: [6d]", "<closed_loop>: loop 'a-ja': 'a' and 'a' are both on 'a'"),
    "same loop": ("closed_loop: [[a, b], [a, b]]\ntype: [6d, 6d]", "already has a loop 'a-b'"),
    "unknown motor": ("name_mot: [jaa]", "<name_mot>: 'jaa' is no joint with one dof; did you mean 'ja'?"),
    "motor of a weld": ("name_mot: [end]", "'end' is no joint with one dof"),
    "too long": ("a: " + "x" * 70_000, "has 70003 bytes, but at most 65536 are read"),
    "date": ("a: 2001-99-99", "is not YAML that can be read"),
}


@pytest.mark.parametrize("case", CASES)
def test_refused(tmp_path, case):
    text, message = CASES[case]
    with pytest.raises(ModelFileError, match=re.escape(message)) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "robot.yaml"))


def test_a_name_of_two_frames(tmp_path):
    text = robot(link("x"), link("y"), link("z"), joint("y", "revolute", "x", "z"), joint("k", "revolute", "x", "y"))
    write(tmp_path, "closed_loop: [[y, k]]\ntype: [6d]", "robot.yaml")
    with pytest.raises(ModelFileError, match="'y' names a joint and a link that are different frames"):
        read_urdf(write(tmp_path, text))


def test_a_link_out_of_the_folder(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "robot.yaml").symlink_to(write(tmp_path, "secret", "away.yaml"))
    with pytest.raises(ModelFileError, match="leads out of the folders that may be read") as caught:
        read_urdf(write(home, TREE))
    assert "secret" not in str(caught.value)
