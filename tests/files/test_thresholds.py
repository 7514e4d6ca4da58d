"""Tolerances of the readers, on both sides."""

import json

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ModelFileError


def saved(tmp_path, **changes):
    """A native file of one body on a ball, with entries replaced."""
    mb = sc.Multibody("one")
    turn = sc.Pose.from_rpy(0.3, -0.5, 0.8, translation=(0.1, 0.2, 0.3))
    mb.add_body("a", None, sc.Spherical(), sc.Inertia(1.0, (0, 0, 0), np.eye(3)), turn)
    mb.q = np.array([0.1, 0.2, 0.3, 0.4]) / np.sqrt(0.3)
    path = tmp_path / "one.json"
    sc.save(mb, path)
    document = json.loads(path.read_text())
    body = document["bodies"][0]
    for name, change in changes.items():
        if name == "rotation":
            body["inboard"]["rotation"] = change(np.array(body["inboard"]["rotation"])).tolist()
        else:
            body[name] = change(np.array(body[name])).tolist()
    path.write_text(json.dumps(document))
    return path


def test_rotations_of_a_native_file_to_1e12(tmp_path):
    sc.load(saved(tmp_path, rotation=lambda R: R * (1.0 + 0.45e-12)))
    for part in (0.55e-12, -0.55e-12):
        with pytest.raises(ModelFileError, match=r"R\* R differs from I by 1.1e-12 \(allowed 1e-12\)"):
            sc.load(saved(tmp_path, rotation=lambda R, part=part: R * (1.0 + part)))


def test_quaternions_of_a_native_file(tmp_path):
    """Within 1e-12 they stay as they are, within 1e-6 they are made unit, beyond they are refused."""
    q = sc.load(saved(tmp_path)).q
    for part, kept in ((1e-13, True), (1e-11, False), (0.99e-6, False)):
        found = sc.load(saved(tmp_path, q=lambda q, part=part: q * (1.0 + part))).q
        assert np.array_equal(found, q * (1.0 + part)) == kept
        np.testing.assert_allclose(found, q, atol=1e-12)
    with pytest.raises(ModelFileError, match="is not a unit quaternion"):
        sc.load(saved(tmp_path, q=lambda q: q * (1.0 + 1.01e-6)))


def axis_notes(tmp_path, length):
    path = tmp_path / "one.urdf"
    path.write_text(
        f"""<robot name="one"><link name="base"/><link name="a"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 {length!r}"/></joint>
        </robot>"""
    )
    mb = sc.load(path)
    np.testing.assert_allclose(mb["a"].hinge.axis, (0, 0, 1), atol=1e-15)
    return [entry for entry in mb.import_report.converted if entry.note == "the axis is normalised"]


def test_axes_of_a_urdf_are_told_of_beyond_1e6(tmp_path):
    assert not axis_notes(tmp_path, 1.0 + 0.45e-6)
    assert axis_notes(tmp_path, 1.0 + 0.55e-6)
