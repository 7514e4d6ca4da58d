"""Limbs from SRDF files."""

from __future__ import annotations

import pytest

import soacraft as sc
from soacraft.errors import ModelFileError

SRDF = """<robot name="ur5e">
  <group name="arm"><chain base_link="base" tip_link="wrist_3_link"/></group>
  <group name="wrist"><joint name="{0}"/><joint name="{1}"/></group>
  <group name="both"><group name="arm"/><group name="wrist"/></group>
  <group name="none"><link name="base"/></group>
  <disable_collisions link1="shoulder_link" link2="wrist_3_link" reason="Never"/>
</robot>"""


def test_groups_that_are_chains_are_limbs(tmp_path):
    rb = sc.robot.Robot(sc.load("ur5e"))
    joints = [x.hinge_name for x in rb.mb.bodies if x.hinge.nv]
    file = tmp_path / "ur5e.srdf"
    file.write_text(SRDF.format(*joints[-2:]))
    told = rb.read_srdf(file)
    assert told.limbs == ("arm", "wrist", "both")
    assert rb["arm"].nv == 6
    assert rb["wrist"].dof_names == tuple(joints[-2:])
    assert rb["wrist"].tip.name == "wrist_3_link"
    assert rb["both"].dof_names == rb["arm"].dof_names
    assert told.left["none"] == "it names no joint that moves."
    assert "none: it names no joint" in repr(told)
    pairs = {frozenset(x.rpartition("/")[0] for x in pair) for pair in sc.robot.World(rb).scene.pairs}
    assert frozenset(("shoulder_link", "wrist_3_link")) not in pairs
    assert frozenset(("shoulder_link", "wrist_2_link")) in pairs


def test_a_name_that_the_robot_has_not_is_refused(tmp_path):
    file = tmp_path / "wrong.srdf"
    file.write_text('<robot name="x"><group name="arm"><chain base_link="base" tip_link="hand"/></group></robot>')
    with pytest.raises(ModelFileError, match="there is no link 'hand'"):
        sc.robot.Robot(sc.load("ur5e")).read_srdf(file)


def read(tmp_path, robot, inner):
    rb = sc.robot.Robot(sc.load(robot))
    file = tmp_path / "x.srdf"
    file.write_text(f'<robot name="{robot}">{inner}</robot>')
    return rb, rb.read_srdf(file)


def test_a_group_that_branches_is_a_limb_with_several_tips(tmp_path):
    names = [x.hinge_name for x in sc.load("h1").bodies if "hip" in x.name]
    inner = "".join(f'<joint name="{x}"/>' for x in names)
    rb, told = read(tmp_path, "h1", f'<group name="legs">{inner}</group>')
    assert told.limbs == ("legs",)
    assert rb["legs"].base.name == "pelvis"
    assert sorted(x.name for x in rb["legs"].tips) == ["left_hip_pitch_link", "right_hip_pitch_link"]
    assert set(rb["legs"].dof_names) == set(names)


def test_groups_of_groups_and_of_chains(tmp_path):
    arms = "".join(
        f'<group name="{x}"><chain base_link="torso_link" tip_link="{x}_elbow_link"/></group>'
        for x in ("left", "right")
    )
    both = '<group name="both"><group name="left"/><group name="right"/></group>'
    rb, told = read(tmp_path, "h1", arms + both)
    assert told.limbs == ("left", "right", "both")
    assert rb["both"].base.name == "torso_link"
    assert [x.name for x in rb["both"].tips] == ["left_elbow_link", "right_elbow_link"]
    assert rb["both"].nv == rb["left"].nv + rb["right"].nv


def test_groups_that_are_no_limbs_say_why(tmp_path):
    names = [x.hinge_name for x in sc.load("ur5e").bodies if x.hinge.nv]
    gap = "".join(f'<joint name="{x}"/>' for x in (names[0], names[2]))
    inner = (
        f'<group name="gap">{gap}</group>'
        '<group name="back"><chain base_link="wrist_3_link" tip_link="wrist_1_link"/></group>'
    )
    _, told = read(tmp_path, "ur5e", inner)
    assert told.limbs == ()
    assert f"{names[1]!r} between" in told.left["gap"]
    assert told.left["gap"].endswith("is not in it.")
    assert told.left["back"] == "the chain from 'wrist_3_link' to 'wrist_1_link' does not lead outboard."
