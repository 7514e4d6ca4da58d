"""SRDF files: groups, states, pairs of links and the rest as records, with names that are checked."""

from __future__ import annotations

from itertools import pairwise

import pytest

import soacraft as sc
from soacraft.errors import ModelFileError
from soacraft.files.native import same

LINKS = ("base", "upper", "lower", "palm", "finger")
URDF = "<robot name='arm'>{}{}</robot>".format(
    "".join(f"<link name='{name}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
            "</inertial></link>" for name in LINKS),
    "".join(f"<joint name='to_{child}' type='{'fixed' if child == 'palm' else 'continuous'}'><parent link='{parent}'/>"
            f"<child link='{child}'/></joint>" for parent, child in pairwise(LINKS)),
)  # fmt: skip
SRDF = """<robot name="arm">
<group name="all"><group name="hand"/><group name="reach"/></group>
<group name="reach"><chain base_link="base" tip_link="palm"/></group>
<group name="hand"><link name="palm"/><link name="finger"/><joint name="to_finger"/><joint name="to_palm"/></group>
<group_state name="home" group="reach"><joint name="to_upper" value="0.5"/><joint name="to_lower" value="-1"/>
  <joint name="anchor" value="1 2 0.5"/></group_state>
<end_effector name="gripper" parent_link="lower" group="hand" parent_group="reach"/>
<virtual_joint name="anchor" type="planar" parent_frame="odom" child_link="base"/>
<passive_joint name="to_finger"/>
<disable_collisions link1="base" link2="upper" reason="Adjacent"/>
<disable_collisions link1="upper" link2="lower"/>
<link_sphere_approximation link="palm"><sphere center="0 0 0" radius="0.1"/></link_sphere_approximation>
</robot>"""


def loaded(folder, srdf=SRDF, **options):
    (folder / "arm.urdf").write_text(URDF)
    (folder / "arm.srdf").write_text(srdf)
    return sc.load(folder / "arm.urdf", srdf=folder / "arm.srdf", **options)


@pytest.mark.parametrize("merge_fixed", [False, True])
def test_every_element_is_a_record(tmp_path, merge_fixed):
    mb = loaded(tmp_path, merge_fixed=merge_fixed)
    records = {(each.kind, each.name): dict(each.attributes) for each in mb.records}
    nothing = {"links": (), "joints": (), "chains": (), "groups": ()}
    assert records["group", "all"] == nothing | {"groups": ("hand", "reach")}
    assert records["group", "reach"] == nothing | {"chains": (("base", "palm"),)}
    assert records["group", "hand"] == nothing | {"links": ("palm", "finger"), "joints": ("to_finger", "to_palm")}
    home = records["group_state", "home"]
    assert home["group"] == "reach"
    assert home["joints"] == ("to_upper", "to_lower", "anchor")
    assert home["values"] == ((0.5,), (-1.0,), (1.0, 2.0, 0.5))
    assert records["end_effector", "gripper"] == {"parent_link": "lower", "group": "hand", "parent_group": "reach"}
    assert records["virtual_joint", "anchor"] == {"type": "planar", "parent_frame": "odom", "child_link": "base"}
    assert ("passive_joint", "to_finger") in records
    pairs = [dict(each.attributes) for each in mb.records if each.kind == "disable_collisions"]
    assert pairs == [{"link1": "base", "link2": "upper", "reason": "Adjacent"}, {"link1": "upper", "link2": "lower"}]
    assert records["link_sphere_approximation", "palm"]["sphere@radius"] == "0.1"


def test_every_element_and_attribute_has_a_line_and_nothing_moves(tmp_path):
    mb = loaded(tmp_path, strict=True)
    lines = [entry for entry in mb.import_report.entries if entry.file.endswith(".srdf")]
    elements = [entry for entry in lines if not entry.attribute]
    assert len(elements) == SRDF.count("<") - SRDF.count("</")
    assert len(lines) - len(elements) == SRDF.count('="')
    assert not any(entry.dynamic or entry.status == "ignored" for entry in lines)
    groups = [(entry.line, entry.status) for entry in elements if entry.element == "srdf/group"]
    assert groups == [(2, "recorded"), (3, "recorded"), (4, "recorded")]


def test_records_are_saved_and_read_back(tmp_path):
    mb = loaded(tmp_path)
    sc.save(mb, tmp_path / "arm.json")
    assert same(mb, sc.load(tmp_path / "arm.json")) == []


FAULTS = {
    "link": ('<link name="palm"/>', '<link name="plam"/>', "there is no link 'plam'; did you mean 'palm'"),
    "joint": ('"to_palm"', '"to_plam"', "there is no joint 'to_plam'; did you mean 'to_palm'"),
    "chain": ('tip_link="palm"', 'tip_link="tip"', "<chain>: there is no link 'tip'"),
    "no tip": ('tip_link="palm"', "", "<chain>: needs the attribute 'tip_link'"),
    "subgroup": ('<group name="hand"/>', '<group name="hnad"/>', "there is no group 'hnad'; did you mean 'hand'"),
    "state": ('group="reach">', 'group="raech">', "there is no group 'raech'; did you mean 'reach'"),
    "value": ('value="0.5"', 'value="half"', "must be finite numbers, got 'half'"),
    "pair": ('link2="lower"', 'link2="lowr"', "<disable_collisions>: there is no link 'lowr'; did you mean 'lower'"),
    "passive": ('passive_joint name="to_finger"', 'passive_joint name="to_fnger"', "there is no joint 'to_fnger'"),
    "twice": ("<passive_joint", '<group name="hand"/><passive_joint', "there is a group of this name already"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_names_that_are_not_there_are_refused_or_with_lenient_reported(fault, tmp_path):
    right, wrong, text = FAULTS[fault]
    assert SRDF.count(right) == 1
    broken = SRDF.replace(right, wrong)
    with pytest.raises(ModelFileError) as refused:
        loaded(tmp_path, broken)
    assert text in str(refused.value)
    assert "arm.srdf:" in str(refused.value)
    assert "lenient=True" in str(refused.value)
    mb = loaded(tmp_path, broken, lenient=True)
    assert any(text.rpartition(">: ")[2] in entry.note for entry in mb.import_report.ignored)
    assert not mb.import_report.not_simulated
    assert ("end_effector", "gripper") in {(each.kind, each.name) for each in mb.records}


def test_unknown_elements_are_lines(tmp_path):
    mb = loaded(tmp_path, SRDF.replace("<passive_joint", "<warp speed='9'/><passive_joint"))
    notes = {(entry.element, entry.attribute): entry.note for entry in mb.import_report.ignored}
    assert notes["srdf/warp", ""] == "SRDF has no such element here"
    assert mb.import_report


def test_groups_in_a_circle_are_refused(tmp_path):
    ring = SRDF.replace('<chain base_link="base" tip_link="palm"/>', '<group name="all"/>')
    with pytest.raises(ModelFileError, match=r"arm\.srdf: groups hold each other in a circle: 'all', 'reach'\."):
        loaded(tmp_path, ring)


def test_what_is_no_srdf(tmp_path):
    with pytest.raises(ModelFileError, match=r"arm\.srdf:1: <sdf>: the root element of an SRDF file is <robot>\."):
        loaded(tmp_path, "<sdf/>")
    with pytest.raises(ModelFileError, match="there is no such file"):
        sc.load("arm7", srdf=tmp_path / "none.srdf")
    with pytest.raises(ModelFileError, match="a model is loaded by its name or its file"):
        sc.load("arm7", srdf=5)
