"""Cameras of MJCF are nodes, where MuJoCo has them."""

import numpy as np

import soacraft as sc

CAMERAS = """<mujoco><compiler angle="degree"/>
<default><camera pos="0 0 1"/><default class="tilted"><camera euler="90 20 0"/></default></default>
<worldbody>
  <camera name="overview" pos="0 -3 1" xyaxes="1 0 0 0 0 1"/>
  <body name="arm" pos="0 0 1"><joint name="turn" axis="0 1 0"/><geom size="1" mass="1"/>
    <site name="eye"/>
    <camera name="eye" class="tilted"/>
    <camera name="far" pos="1 2 3" zaxis="1 1 0" fovy="60"/>
    <camera/>
  </body>
</worldbody></mujoco>"""


def test_cameras_are_where_mujoco_has_them(tmp_path):
    mujoco = __import__("mujoco")
    (tmp_path / "arm.xml").write_text(CAMERAS)
    mb, model = sc.load(tmp_path / "arm.xml"), mujoco.MjModel.from_xml_string(CAMERAS)
    data = mujoco.MjData(model)
    data.qpos[:] = 0.7
    mujoco.mj_kinematics(model, data)
    mujoco.mj_camlight(model, data)
    mb.set_state({"turn": 0.7})
    for number, name in enumerate(("inertial/overview", "arm/eye_2", "arm/far", "arm/camera3")):
        pose = mb.pose(name)
        assert np.abs(pose.translation - data.cam_xpos[number]).max() < 1e-14, name
        assert np.abs(pose.rotation - data.cam_xmat[number].reshape(3, 3)).max() < 1e-14, name
    assert [record.name for record in mb.records if record.kind == "camera"] == ["overview", "eye", "far", ""]
    renamed = [x.note for x in mb.import_report.converted if x.attribute == "name"]
    assert renamed == ["'eye' is called 'eye_2'"]


def test_a_camera_whose_place_cannot_be_read_is_a_record_and_refuses_nothing(tmp_path):
    bad = ('pos="1 2"', 'pos="1 2 nan"', 'pos="a b c"', 'quat="0 0 0 0"', 'xyaxes="1 0 0 2 0 0"', 'zaxis="0 0 0"',
           'euler="0 0 1" zaxis="0 0 1"')  # fmt: skip
    cameras = "".join(f'<camera name="c{k}" {place}/>' for k, place in enumerate(bad))
    (tmp_path / "arm.xml").write_text(f"<mujoco><worldbody>{cameras}</worldbody></mujoco>")
    mb = sc.load(tmp_path / "arm.xml")
    assert mb.root.nodes == ()
    assert len(mb.records) == len(bad)
    notes = {x.note for x in mb.import_report.recorded if x.element.endswith("camera") and not x.attribute}
    assert notes == {"its place cannot be read: is no node"}


def test_a_camera_that_follows_something_is_fixed_on_its_body_and_said(tmp_path):
    text = CAMERAS.replace('fovy="60"', 'mode="targetbody" target="nowhere"')
    (tmp_path / "arm.xml").write_text(text)
    mb = sc.load(tmp_path / "arm.xml")
    assert "arm/far" in mb
    note = next(x.note for x in mb.import_report.recorded if x.attribute == "mode")
    assert note == "the node is fixed on its body, whatever the camera follows"


def test_axes_of_a_camera_in_the_plane_of_two_others(tmp_path):
    """Their cross product has one component; those that are parallel are no turn."""
    pairs = ("0 1 1 0 -1 1", "1 0 1 -1 0 1", "1 1 0 -1 1 0")
    parallel = ("0 1 1 0 2 2", "1 0 1 2 0 2", "1 1 0 2 2 0")
    cameras = "".join(f'<camera name="c{k}" xyaxes="{x}"/>' for k, x in enumerate((*pairs, *parallel)))
    (tmp_path / "arm.xml").write_text(f"<mujoco><worldbody>{cameras}</worldbody></mujoco>")
    mb = sc.load(tmp_path / "arm.xml")
    assert [node.name for node in mb.root.nodes] == ["c0", "c1", "c2"]
    for node, pair in zip(mb.root.nodes, pairs, strict=True):
        x = np.array(pair.split()[:3], dtype=float)
        np.testing.assert_allclose(node.pose.rotation[:, 0], x / np.linalg.norm(x), atol=1e-12)
