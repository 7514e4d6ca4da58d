"""xacro files: expanded by the package `xacro`, then read as any other URDF file."""

from __future__ import annotations

import sys

import pytest

import soacraft as sc
from soacraft.errors import ModelFileError

MACRO = """<?xml version="1.0"?>
<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:macro name="rod" params="name mass">
  <link name="${name}"><inertial><mass value="${mass}"/>
  <inertia ixx="${mass/12}" iyy="${mass/12}" izz="${mass/12}" ixy="0" ixz="0" iyz="0"/></inertial></link>
</xacro:macro></robot>"""
ARM = """<?xml version="1.0"?>
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="mass" default="3"/><xacro:property name="m" value="$(arg mass)"/>
<xacro:include filename="rod.xacro"/>
<link name="base"/><xacro:rod name="upper" mass="${2*m}"/>{more}
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
<axis xyz="0 0 ${1 if m > 2 else 0}"/></joint></robot>"""


def arm(folder, more=""):
    (folder / "rod.xacro").write_text(MACRO)
    path = folder / "arm.urdf.xacro"
    path.write_text(ARM.replace("{more}", more))
    return path


def test_macros_arguments_and_includes_are_expanded(tmp_path):
    mb = sc.load(arm(tmp_path))
    inertia = mb.body("upper").inertia
    assert (mb.name, mb.nv, inertia.mass, inertia.moment[0, 0]) == ("arm", 1, 6.0, 0.5)
    assert mb.import_report.entries[0].file == f"{tmp_path / 'arm.urdf.xacro'} (expanded)"
    assert sc.load(arm(tmp_path), root=sc.Free()).nv == 7


def test_what_xacro_makes_is_read_with_all_bounds(tmp_path):
    with pytest.raises(ModelFileError, match=r"xacro \(expanded\):\d+: <mass>: .* finite numbers, got 'nan'"):
        sc.load(arm(tmp_path, '<xacro:rod name="x" mass="${float(\'nan\')}"/>'))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("<a b='${1/0}'/>", "division by zero"),
        ("<a b='${lost}'/>", "name 'lost' is not defined"),
        ("<xacro:include filename='lost.xacro'/>", "lost.xacro"),
        ("<xacro:lost/>", "unknown macro name: xacro:lost"),
        ("<a>", "mismatched tag"),
    ],
)
def test_errors_of_xacro_name_the_file(more, said, tmp_path):
    path = arm(tmp_path, more)
    with pytest.raises(ModelFileError) as refused:
        sc.load(path)
    text = str(refused.value)
    assert text.startswith(f"{path}: xacro cannot expand it")
    assert said in text
    assert sc.load(arm(tmp_path)).nv == 1  # and the next file is read


def test_where_xacro_is_not_installed_the_error_says_how(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(ModelFileError, match=r"arm\.urdf\.xacro: .* install it with: pip install soacraft\[xacro\]"):
        sc.load(arm(tmp_path))


def test_nothing_but_a_xacro_file_is_run(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.replace("{more}", ""))
    with pytest.raises(ModelFileError, match="Expand the file with xacro first"):
        sc.load(path)


def test_an_absent_xacro_file_is_refused_before_xacro_sees_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(ModelFileError, match="there is no such file"):
        sc.load(tmp_path / "lost.xacro")
