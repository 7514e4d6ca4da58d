"""Names with '/', as attached models and namespaces make them: kept by every reader and writer."""

import mujoco
import pytest

import soacraft as sc
from soacraft.files.native import same

INERTIAL = """<inertial><mass value='2'/><inertia ixx='.3' ixy='0' ixz='0' iyy='.4' iyz='0' izz='.5'/></inertial>"""
URDF = f"""<robot name='two_arms'><link name='base'>{INERTIAL}</link>
<link name='left/arm/link1'>{INERTIAL}</link><link name='left/arm/tool0'/>
<joint name='left/arm/joint1' type='revolute'><parent link='base'/><child link='left/arm/link1'/><axis xyz='0 0 1'/>
  <limit lower='-1' upper='1' effort='5' velocity='2'/></joint>
<joint name='left/arm/flange' type='fixed'><parent link='left/arm/link1'/><child link='left/arm/tool0'/></joint>
<frame name='left/eye' link='left/arm/link1'/>
<transmission name='left/drive'><joint name='left/arm/joint1'/><actuator name='left/motor'/></transmission></robot>"""
ARM = """<mujoco model='arm'><worldbody><body name='link1'><joint name='joint1'/><geom name='skin' size='.1'/>
<site name='tool' pos='0 0 .1'/><body name='link2'><joint name='joint2' axis='0 1 0'/><geom size='.1' pos='.2 0 0'/>
</body></body></worldbody><actuator><motor name='motor1' joint='joint1'/></actuator></mujoco>"""
TWO = """<mujoco><asset><model name='arm' file='arm.xml'/></asset><worldbody>
<body name='left/'><attach model='arm' body='link1' prefix='left/'/></body>
<body name='right/'><attach model='arm' body='link1' prefix='right/'/></body></worldbody>
<equality><joint name='both/same' joint1='left/joint1' joint2='right/joint1'/></equality></mujoco>"""


def test_a_urdf_with_namespaces_keeps_its_names(tmp_path):
    (tmp_path / "m.urdf").write_text(URDF)
    mb = sc.load(tmp_path / "m.urdf", strict=True)
    assert [body.name for body in mb.bodies] == ["base", "left/arm/link1", "left/arm/tool0"]
    assert mb.dof_names == ("left/arm/joint1",)
    assert mb["left/arm/link1/left/eye"].carrier is mb["left/arm/link1"]
    assert mb.actuators[0].gears == {"left/arm/joint1": 1.0}
    sc.save(mb, tmp_path / "again.json")
    assert same(mb, sc.load(tmp_path / "again.json")) == []
    sc.save(mb, tmp_path / "again.urdf")
    again = sc.load(tmp_path / "again.urdf")
    assert [body.name for body in again.bodies] == ["base", "left/arm/link1", "left/arm/tool0", "left/eye"]
    assert again.dof_names == mb.dof_names
    assert again.actuators.names == ("left/motor",)


def test_merged_links_keep_their_names_too(tmp_path):
    (tmp_path / "m.urdf").write_text(URDF)
    mb = sc.load(tmp_path / "m.urdf", merge_fixed=True)
    assert mb["left/arm/link1/left/arm/tool0"].carrier.name == "left/arm/link1"


def test_attached_models_have_mujocos_names(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    (tmp_path / "two.xml").write_text(TWO)
    mb, peer = sc.load(tmp_path / "two.xml"), mujoco.MjModel.from_xml_path(str(tmp_path / "two.xml"))
    assert [body.name for body in mb.bodies] == [peer.body(b).name for b in range(1, peer.nbody)]
    assert list(mb.dof_names) == [peer.joint(j).name for j in range(peer.njnt)]
    assert mb.actuators.names == tuple(peer.actuator(a).name for a in range(peer.nu))
    assert mb.couplings.names == ("both/same",)
    assert mb["left/link1/left/tool"].carrier is mb["left/link1"]
    assert mb["right/link1"].geometries[0].name == "right/skin"
    assert [entry for entry in mb.import_report.entries if "is called" in entry.note] == []
    sc.save(mb, tmp_path / "again.json")
    assert same(mb, sc.load(tmp_path / "again.json")) == []


def test_a_frame_whose_full_name_is_that_of_a_body_gets_a_number(tmp_path):
    urdf = URDF.replace("<frame name='left/eye' link='left/arm/link1'/>", "<frame name='arm/tool0' link='left'/>")
    (tmp_path / "m.urdf").write_text(urdf.replace("'base'", "'left'"))
    mb = sc.load(tmp_path / "m.urdf")
    assert [node.full_name for node in mb["left"].nodes] == ["left/arm/tool0_2"]
    (tmp_path / "m.xml").write_text(
        """<mujoco><worldbody><body name='a'><geom size='1'/><site name='b'/></body>
        <body name='a/b'><geom size='1'/></body></worldbody></mujoco>"""
    )
    other = sc.load(tmp_path / "m.xml")
    assert [node.full_name for node in other["a"].nodes] == ["a/b_2"]
    for model, note in ((mb, "is called 'arm/tool0_2' in the model"), (other, "'b' is called 'b_2'")):
        assert [x.note for x in model.import_report.converted if x.attribute == "name"] == [note]


@pytest.mark.parametrize("draw", ["tree", "to_mermaid", "to_dot"])
def test_pictures_show_the_names(draw, tmp_path):
    (tmp_path / "m.urdf").write_text(URDF)
    assert "left/arm/tool0" in str(getattr(sc.load(tmp_path / "m.urdf"), draw)())
