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
    assert told.limbs == ("arm", "wrist")
    assert rb["arm"].nv == 6
    assert rb["wrist"].dof_names == tuple(joints[-2:])
    assert rb["wrist"].tip.name == "wrist_3_link"
    assert told.left["both"] == "it is made of other groups: arm, wrist."
    assert "names no joint that moves" in told.left["none"]
    assert "both: it is made of" in repr(told)
    pairs = {frozenset(x.rpartition("/")[0] for x in pair) for pair in sc.robot.World(rb).scene.pairs}
    assert frozenset(("shoulder_link", "wrist_3_link")) not in pairs
    assert frozenset(("shoulder_link", "wrist_2_link")) in pairs


def test_a_name_that_the_robot_has_not_is_refused(tmp_path):
    file = tmp_path / "wrong.srdf"
    file.write_text('<robot name="x"><group name="arm"><chain base_link="base" tip_link="hand"/></group></robot>')
    with pytest.raises(ModelFileError, match="there is no link 'hand'"):
        sc.robot.Robot(sc.load("ur5e")).read_srdf(file)


def test_a_group_that_branches_is_told(tmp_path):
    rb = sc.robot.Robot(sc.load("h1"))
    legs = [x.hinge_name for x in rb.mb.bodies if "hip" in x.name]
    inner = "".join(f'<joint name="{x}"/>' for x in legs)
    file = tmp_path / "h1.srdf"
    file.write_text(f'<robot name="h1"><group name="legs">{inner}</group></robot>')
    assert "it branches" in rb.read_srdf(file).left["legs"]
