"""Files that are wrong, by mistake or on purpose: a clear answer with file, line and element, in bounded time."""

import os
import re
import time

import pytest
from tests.files.urdf.models import INERTIAL, joint, link, robot, two_links, write

from soacraft.errors import ModelFileError
from soacraft.files.urdf import read_urdf
from soacraft.model.hinges import Pin

SPHERE = '<collision><geometry><sphere radius="1"/></geometry></collision>'
MESH = '<visual><geometry><mesh filename="%s"/></geometry></visual>'


def inertial(mass="1", moment='ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"'):
    return f'<inertial><mass value="{mass}"/><inertia {moment}/></inertial>'


CASES = {
    "another root": ("<sdf/>", "robot.urdf:1: <sdf>: the root element of a URDF file is <robot>"),
    "no robot name": ("<robot><link name='a'/></robot>", "robot.urdf:1: <robot>: needs the attribute 'name'"),
    "empty robot name": ("<robot name=''/>", "the attribute 'name' must not be empty"),
    "no links": ("<robot name='a'/>", "robot.urdf:1: <robot name='a'>: has no <link>"),
    "unnamed link": (robot("<link/>"), "robot.urdf:2: <link>: needs the attribute 'name'"),
    "blank link name": (robot(link("  ")), "the attribute 'name' must not be empty"),
    "two links of a name": (
        robot(link("a", ""), link("a", "")),
        "robot.urdf:3: <link name='a'>: there is a link of this name already, on line 2",
    ),
    "two joints of a name": (
        robot(
            link("a", ""), link("b", ""), link("c", ""), joint("j", "fixed", "a", "b"), joint("j", "fixed", "a", "c")
        ),
        "robot.urdf:6: <joint name='j'>: there is a joint of this name already, on line 5",
    ),
    "unnamed joint": (two_links().replace('<joint name="j"', "<joint"), "<joint>: needs the attribute 'name'"),
    "joint without type": (two_links().replace(' type="revolute"', ""), "<joint name='j'>: needs the attribute 'type'"),
    "unknown type": (
        two_links(kind="ball"),
        "<joint name='j'>: type='ball' is not a type of joint; use one of revolute",
    ),
    "unknown parent": (
        robot(link("base"), joint("j", "fixed", "bose", "base")),
        "<joint name='j'>: its parent link 'bose' is not in the file; did you mean 'base'?",
    ),
    "unknown child": (
        robot(link("base"), joint("j", "fixed", "base", "tip")),
        "its child link 'tip' is not in the file; there are 'base'.",
    ),
    "world as child": (robot(link("base"), joint("j", "fixed", "base", "world")), "its child link 'world' is not in"),
    "no parent": (two_links().replace('<parent link="base"/>', ""), "<joint name='j'>: needs a <parent"),
    "no child": (two_links().replace('<child link="tip"/>', ""), "<joint name='j'>: needs a <child"),
    "two parent elements": (two_links('<parent link="tip"/>'), "<parent>: occurs twice in <joint name='j'>"),
    "own parent": (robot(link("a"), joint("j", "fixed", "a", "a")), "<joint name='j'>: link 'a' is its own parent"),
    "two parents": (
        robot(link("a"), link("b"), link("c"), joint("j", "fixed", "a", "c"), joint("k", "fixed", "b", "c")),
        "<joint name='k'>: link 'c' has two parents: 'a' by joint 'j' (line",
    ),
    "circle": (
        robot(link("a"), link("b"), joint("j", "fixed", "a", "b"), joint("k", "fixed", "b", "a")),
        "the parents of the links form a circle: a on b on a",
    ),
    "circle beside a tree": (
        robot(link("r"), link("a"), link("b"), joint("j", "fixed", "a", "b"), joint("k", "fixed", "b", "a")),
        "form a circle: b on a on b",
    ),
    "several roots": (robot(link("a"), link("b")), "<link name='b'>: the file has 2 root links, 'a', 'b'; join them"),
    "root beside the world": (
        robot(link("a"), link("b"), joint("j", "fixed", "world", "b")),
        "has 2 root links, 'a', 'world'",
    ),
    "zero axis": (two_links('<axis xyz="0 0 0"/>'), "<axis>: the axis of joint 'j' must not be zero"),
    "short axis": (two_links('<axis xyz="0 1"/>'), '<axis>: xyz="0 1" must be 3 numbers, got 2'),
    "two axes": (two_links('<axis xyz="0 0 1"/><axis xyz="0 0 1"/>'), "<axis>: occurs twice"),
    "nan origin": (two_links('<origin xyz="nan 0 0"/>'), "<origin>: xyz=\"nan 0 0\" must be finite numbers, got 'nan'"),
    "inf origin": (two_links('<origin rpy="0 inf 0"/>'), "must be finite numbers, got 'inf'"),
    "huge origin": (two_links('<origin xyz="0 1e999 0"/>'), "must be finite numbers, got '1e999'"),
    "infinite limit": (two_links('<limit lower="-inf" upper="1"/>'), '<limit>: lower="-inf" must be finite numbers'),
    "limits swapped": (two_links('<limit lower="1" upper="-1"/>'), "<limit>: lower=1 is above upper=-1; swap them"),
    "negative effort": (two_links('<limit effort="-1"/>'), '<limit>: effort="-1" must not be negative'),
    "negative damping": (two_links('<dynamics damping="-1"/>'), '<dynamics>: damping="-1" must not be negative'),
    "negative mass": (
        robot(link("a", inertial("-1"))),
        'robot.urdf:2: <mass>: a mass must not be negative, got value="-1"',
    ),
    "nan mass": (robot(link("a", inertial("NaN"))), '<mass>: value="NaN" must be finite numbers'),
    "two masses": (
        robot(link("a", inertial().replace("<inertia ", '<mass value="1"/><inertia '))),
        "<mass>: occurs twice",
    ),
    "no mass": (robot(link("a", inertial().replace('<mass value="1"/>', ""))), "<inertial>: needs a <mass>; link 'a'"),
    "no moment": (
        robot(link("a", '<inertial><mass value="1"/></inertial>')),
        "<inertial>: needs a <inertia>; link 'a'",
    ),
    "half a moment": (robot(link("a", inertial(moment='ixx="1"'))), "<inertia>: needs the attribute 'ixy'"),
    "negative moment": (
        robot(link("a", inertial(moment='ixx="-1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"'))),
        "<inertial>: link 'a' cannot have this inertia: moment of an Inertia must not have a negative eigenvalue, got",
    ),
    "overflowing moment": (
        robot(link("a", inertial(moment='ixx="1e308" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"'))),
        '<inertia>: ixx="1e308" is too large; at most 1e+100 can be worked with',
    ),
    "overflowing origin": (two_links('<origin xyz="0 -1e200 0"/>'), '<origin>: xyz="0 -1e200 0" is too large'),
    "two inertials": (robot(link("a", inertial() * 2)), "<inertial>: occurs twice in <link name='a'>"),
    "mimic of nothing": (
        two_links('<mimic joint="k"/>'),
        "<mimic>: joint 'j' follows 'k', which is not in the file; there are 'j'",
    ),
    "mimic of itself": (two_links('<mimic joint="j"/>'), "<mimic>: joints follow each other in a circle: j after j"),
    "mimic without joint": (two_links('<mimic multiplier="2"/>'), "<mimic>: needs the attribute 'joint'"),
    "mimic that floats": (two_links('<mimic joint="j"/>', "floating"), "in a circle"),
    "negative radius": (robot(link("a", SPHERE.replace('"1"', '"-1"'))), '<sphere>: radius="-1" must not be negative'),
    "two shapes in one": (
        robot(link("a", SPHERE.replace("</geometry>", '<sphere radius="2"/></geometry>'))),
        "<sphere>: a <geometry> holds one shape",
    ),
    "entities": ('<!DOCTYPE r [<!ENTITY a "b">]>\n<robot name="&a;"/>', "robot.urdf:1: a document type declaration"),
    "deep": ("<a>" * 100_000, "robot.urdf:1: <a>: elements are nested more than 256 deep"),
    "cut off": (two_links()[:-30], "is not well-formed XML"),
    "frame on nothing": (robot(link("a", ""), '<frame name="f" link="b"/>'), "<frame name='f'>: there is no link 'b'"),
    "frame twice": (
        robot(link("a", ""), '<frame name="f" link="a"/>' * 2),
        "<frame name='f'>: body 'a' already has a node",
    ),
    "loop of one body": (
        robot(
            link("a"),
            '<loop_joint name="l" type="continuous"><axis xyz="0 1 0"/><link1 link="a"/><link2 link="a"/></loop_joint>',
        ),
        "<loop_joint name='l'>: body 'a' already has a node",
    ),
    "open loop": (
        robot(link("a"), '<loop_joint name="l" type="continuous"><link1 link="a"/></loop_joint>'),
        "<loop_joint name='l'>: needs an <axis>, a <link1> and a <link2>",
    ),
    "loop about nothing": (
        robot(link("a"), '<loop_joint name="l" type="continuous"><axis xyz="0 0 0"/></loop_joint>'),
        "<axis>: the axis of loop joint 'l' must not be zero",
    ),
    "reduction that is none": (
        two_links().replace(
            "</robot>",
            '<transmission name="t"><joint name="j"/><actuator name="m">'
            "<mechanicalReduction>x</mechanicalReduction></actuator></transmission></robot>",
        ),
        "<mechanicalReduction>: the reduction must be finite numbers, got 'x'",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_refused_with_file_line_and_element(tmp_path, case):
    text, message = CASES[case]
    path = write(tmp_path, text)
    with pytest.raises(ModelFileError, match=re.escape(message)) as caught:
        read_urdf(path)
    assert str(caught.value).startswith(f"{path}:")
    assert len(str(caught.value)) < 700


def test_bytes_that_are_no_text(tmp_path):
    with pytest.raises(ModelFileError, match=r"robot\.urdf:2: byte \d+ \(0xff\) is not UTF-8"):
        read_urdf(write(tmp_path, b"<robot name='a'>\n<link name='\xff'/></robot>"))


def test_mimics_of_what_cannot_be_followed(tmp_path):
    for kind in ("fixed", "floating", "planar"):
        text = robot(link("a"), link("b"), link("c"), joint("j", kind, "a", "b"),
                     joint("k", "revolute", "a", "c", '<mimic joint="j"/>'))  # fmt: skip
        with pytest.raises(ModelFileError, match=f"<mimic>: joint 'j' is {kind}; only joints with one dof can follow"):
            read_urdf(write(tmp_path, text))


def test_mimics_in_a_circle(tmp_path):
    text = robot(
        link("a"), link("b"), link("c"), link("d"),
        joint("j", "revolute", "a", "b", '<mimic joint="l"/>'),
        joint("k", "revolute", "b", "c", '<mimic joint="j"/>'),
        joint("l", "revolute", "c", "d", '<mimic joint="k"/>'),
    )  # fmt: skip
    with pytest.raises(ModelFileError, match="joints follow each other in a circle: j after l after k after j"):
        read_urdf(write(tmp_path, text))


def test_links_out_of_the_folder(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "secret.stl").touch()
    (home / "sly.stl").symlink_to(tmp_path / "secret.stl")
    mb = read_urdf(write(home, robot(link("a", MESH % "sly.stl"))))
    assert mb["a"].geometries[0].mesh == "sly.stl"
    (note,) = [entry.note for entry in mb.import_report.recorded if entry.attribute == "filename"]
    assert note.startswith("leads out of the folders")


def test_files_that_are_none(tmp_path):
    os.mkfifo(tmp_path / "pipe.urdf")
    for name, message in (("none.urdf", "there is no such file"), ("pipe.urdf", "is a pipe"), ("", "is a folder")):
        with pytest.raises(ModelFileError, match=message):
            read_urdf(tmp_path / name)


def test_a_root_that_is_no_hinge(tmp_path):
    with pytest.raises(ModelFileError, match=r"<link name='base'>: body 'base' needs a hinge .* got the class Pin"):
        read_urdf(write(tmp_path, two_links()), root=Pin)


def chain(n, inside=""):
    """A chain of n links, written tip first."""
    joints = (joint(f"j{i}", "fixed", f"l{i}", f"l{i + 1}", inside) for i in reversed(range(n - 1)))
    return robot(*(link(f"l{i}", "") for i in reversed(range(n))), *joints)


def seconds(path, **options):
    begin = time.process_time()
    mb = read_urdf(path, **options)
    return time.process_time() - begin, mb


def test_a_chain_of_a_hundred_thousand_links(tmp_path):
    short = min(seconds(write(tmp_path, chain(10_000)))[0] for _ in range(2))
    taken, mb = seconds(write(tmp_path, chain(100_000)))
    assert len(mb._tree.bodies) == 100_000
    assert taken < 50 * max(short, 0.2)  # linear: ten times, twenty beyond the caches; quadratic: a hundred


@pytest.mark.parametrize("merge_fixed", [False, True])
def test_a_star_and_many_shapes_on_one_body(tmp_path, merge_fixed):
    n = 3000
    star = robot(link("hub", SPHERE * n), *(link(f"l{i}", SPHERE) for i in range(n)),
                 *(joint(f"j{i}", "fixed", "hub", f"l{i}") for i in range(n)))  # fmt: skip
    taken, mb = seconds(write(tmp_path, star), merge_fixed=merge_fixed)
    assert sum(len(body._geometries) for body in mb._tree.bodies.values()) == 2 * n
    assert taken < 20


def test_many_couplings(tmp_path):
    n = 4500
    joints = [joint("j0", "revolute", "l0", "l1")]
    joints += [joint(f"j{i}", "revolute", f"l{i}", f"l{i + 1}", '<mimic joint="j0"/>') for i in range(1, n)]
    text = robot(*(link(f"l{i}", "") for i in range(n + 1)), *joints)
    taken, mb = seconds(write(tmp_path, text))
    assert len(mb.couplings) == n - 1
    assert taken < 20


def test_many_names_that_need_a_number(tmp_path):
    shape = SPHERE.replace("<collision>", '<collision name="s">')
    taken, mb = seconds(write(tmp_path, robot(link("a", shape * 8_000))))
    assert mb.body("a").geometries[-1].name == "s_8000"
    assert taken < 20


def test_nothing_outside_is_changed_by_a_refusal(tmp_path):
    path = write(tmp_path, two_links('<axis xyz="0 0 0"/>'))
    before = path.read_bytes()
    with pytest.raises(ModelFileError):
        read_urdf(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["robot.urdf"]
    assert read_urdf(write(tmp_path, two_links(base=INERTIAL))).nv == 1
