"""The command line on model files: info, convert, check."""

from __future__ import annotations

import subprocess
import sys

import pytest

import soacraft as sc
from soacraft.cli import main
from soacraft.cli.shell import names_for
from soacraft.files.native import same
from soacraft.model import Entry, ImportReport

URDF = """<robot name="tiny"><link name="base"/><link name="arm">
<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="elbow" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
{more}</joint></robot>"""


@pytest.fixture
def tiny(tmp_path):
    path = tmp_path / "tiny.urdf"
    path.write_text(URDF.format(more=""))
    return path


@pytest.fixture
def lossy(tmp_path):
    path = tmp_path / "lossy.urdf"
    path.write_text(URDF.format(more="<warp_drive/>"))
    return path


def test_info_of_a_file(tiny, capsys):
    assert main(["info", str(tiny)]) == 0
    out = capsys.readouterr().out
    assert "bodies      2\ndofs        1 (1 coordinates)\nmass        2 kg\n" in out
    assert "└─ arm  elbow: Pin(axis=(0, 0, 1))" in out
    assert f"import: {sc.load(tiny).import_report.summary()}" in out
    assert "robot/joint" not in out


def test_info_with_the_whole_report(tiny, capsys):
    assert main(["info", str(tiny), "--report"]) == 0
    assert sc.load(tiny).import_report.table() in capsys.readouterr().out


def test_info_of_models_by_name(capsys):
    assert main(["info", "cassie"]) == 0
    out = capsys.readouterr().out
    assert "mass        33.312 kg" in out
    assert "loops       4" in out
    assert "import: " in out
    assert main(["info", "biped"]) == 0
    out = capsys.readouterr().out
    assert "dofs        25 (26 coordinates)" in out
    assert "import: " not in out
    assert "loops" not in out


def test_convert_to_our_own_format(tiny, tmp_path, capsys):
    out = tmp_path / "out.json"
    assert main(["convert", str(tiny), str(out)]) == 0
    assert same(sc.load(out), sc.load(tiny)) == []
    words = capsys.readouterr().out
    assert f"read {tiny}: {sc.load(tiny).import_report.summary()}" in words
    assert f"wrote {out}: all of the model" in words


def test_convert_prints_what_is_lost_on_the_way_in(lossy, tmp_path, capsys):
    out = tmp_path / "out.json"
    assert main(["convert", str(lossy), str(out)]) == 0
    words = capsys.readouterr().out
    assert "would change the motion" in words
    assert "warp_drive" in words
    assert out.exists()


def test_strict_convert_writes_nothing_when_something_is_lost_on_the_way_in(lossy, tmp_path, capsys):
    out = tmp_path / "out.json"
    assert main(["convert", "--strict", str(lossy), str(out)]) == 2
    assert "warp_drive" in capsys.readouterr().err
    assert not out.exists()


def test_strict_convert_writes_nothing_when_something_is_lost_on_the_way_out(tmp_path, monkeypatch, capsys):
    lost = ImportReport([Entry("", 0, "loop", "ring", "", "ignored", "URDF has no loops", True)])
    written = []

    def save(mb, path):
        written.append(path)
        return lost

    monkeypatch.setattr(sc, "save", save)
    out = tmp_path / "out.urdf"
    assert main(["convert", "arm7", str(out), "--strict"]) == 2
    assert "loop 'ring': URDF has no loops" in capsys.readouterr().err
    assert out not in written
    assert main(["convert", "arm7", str(out)]) == 0
    assert "URDF has no loops" in capsys.readouterr().out
    assert written[-1] == out


def test_convert_a_model_by_name_to_urdf(tmp_path):
    out = tmp_path / "arm.urdf"
    assert main(["convert", "arm7", str(out)]) == 0
    assert sc.load(out).total_mass == pytest.approx(sc.load("arm7").total_mass)


def test_mistakes_in_the_call(tmp_path, capsys):
    for call in (["info", "nothing"], ["info", "nothing.urdf"], ["convert", "arm7", "arm7.sdf"], ["check", "nothing"]):
        assert main(call) == 2
        assert capsys.readouterr().err.startswith("soacraft: ")


def test_check(tmp_path, capsys):
    assert main(["check", "arm7"]) == 0
    capsys.readouterr()
    mb = sc.serial_chain(2)
    mb.add_body("ghost", "link2", sc.Pin((0, 1, 0)))  # nothing to move: its D is zero
    sc.save(mb, tmp_path / "ghost.json")
    assert main(["check", str(tmp_path / "ghost.json")]) == 1
    assert "ghost" in capsys.readouterr().out


def test_the_shell_opens_a_file_and_a_library_model(tiny):
    assert names_for(str(tiny))["mb"].name == "tiny"
    assert names_for("five_bar")["mb"].name == "five_bar"


def test_output_that_nobody_reads_is_no_crash():
    command = [sys.executable, "-m", "soacraft", "info", "panda"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1
