"""The command line on files with odd names, on what is no file, and in every direction of conversion."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

import soacraft as sc
import soacraft.dynamics as dyn
from soacraft.cli import main

URDF = """<robot name="[bold]two[/bold] &#xE9;"><link name="base"/><link name="an arm">
<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="elbow" type="continuous"><parent link="base"/><child link="an arm"/><axis xyz="0 1 0"/></joint></robot>"""
MJCF = """<mujoco model="lid"><worldbody><body name="lid"><joint name="hinge" axis="1 0 0" armature="0.1"/>
<geom size="0.3" pos="0 0.5 0"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("name", ["my röbot (1).urdf", "[red]arm[bold].urdf", "ARM.URDF", "a.b.urdf", " .urdf"])
def test_files_with_odd_names(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(URDF)
    assert main(["info", name]) == 0
    assert "[bold]two[/bold] é: 2 bodies, 1 dof" in capsys.readouterr().out
    assert main(["check", name]) == 0
    assert main(["convert", name, "out.json"]) == 0
    assert f"read {name}: " in capsys.readouterr().out


def test_the_tour_on_a_file_with_an_odd_name(tmp_path, capsys):
    path = tmp_path / "[red] é.urdf"
    path.write_text(URDF)
    assert main(["tour", str(path)]) == 0
    out = capsys.readouterr().out
    assert "Multibody '[bold]two[/bold] é': 2 bodies, 1 dof" in out
    assert " 0 failed" in out


@pytest.mark.parametrize("verb", ["info", "check", "tour", "shell", "convert"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("missing.urdf", "missing.urdf: there is no such file."),
        ("folder.urdf", "folder.urdf: is a folder; give the file inside it."),
        ("empty.xml", "empty.xml: is empty."),
        ("notes.txt", "'notes.txt': it has suffix '.txt'; model files are .urdf, .xacro, .sdf, .xml (MJCF,"),
    ],
)
def test_what_is_no_model_file(verb, name, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.urdf").mkdir()
    (tmp_path / "empty.xml").touch()
    (tmp_path / "notes.txt").write_text("none")
    before = sorted(tmp_path.rglob("*"))
    assert main([verb, name, *(["out.json"] if verb == "convert" else [])]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("soacraft: ")
    assert text in err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("out", ["lid.xml", "lid", "none/lid.json", "folder.json"])
def test_where_no_model_can_be_written(out, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.json").mkdir()
    before = sorted(tmp_path.rglob("*"))
    assert main(["convert", "pendulum", out]) == 2
    assert out in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "way", [("in.xml", "a.json", "b.urdf", "c.json"), ("in.urdf", "a.urdf", "b.json", "b.json", "c.urdf")]
)
def test_one_conversion_after_the_other(way, tmp_path, monkeypatch, capsys):
    """Mass matrices stay; but for the armature, which URDF cannot say and the report tells of."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.xml").write_text(MJCF)
    (tmp_path / "in.urdf").write_text(URDF)
    for source, target in pairwise(way):
        assert main(["convert", source, target]) == 0
        said = "URDF has no rotor inertia" in capsys.readouterr().out
        old, new = sc.load(source), sc.load(target)
        M, again = (dyn.mass_matrix(mb, [0.4]) for mb in (old, new))
        rotor = 0.1 if source.endswith("json") and target.endswith("urdf") and way[0] == "in.xml" else 0.0
        assert said == bool(rotor)
        np.testing.assert_allclose(again, M - rotor, rtol=1e-12)


def test_a_strict_conversion_names_what_would_be_lost(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.xml").write_text(MJCF)
    assert main(["convert", "in.xml", "out.urdf", "--strict"]) == 2
    first, *lost = capsys.readouterr().err.splitlines()
    assert first.startswith(f"soacraft: strict: out.urdf: {len(lost)} things that change the motion would be missing.")
    assert "  hinge@armature 'hinge': URDF has no rotor inertia" in lost
    assert not [line for line in lost if ":0:" in line or "model.urdf" in line]
    assert not (tmp_path / "out.urdf").exists()


@pytest.mark.parametrize("call", [["models"], ["info", "shadow_hand", "--report"], ["check", "strandbeest"]])
def test_a_reader_that_has_had_enough(call):
    command = [sys.executable, "-m", "soacraft", *call]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 1
