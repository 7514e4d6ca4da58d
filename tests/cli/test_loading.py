"""The command line: --mesh-root, --free and --lenient, which every command that loads a model takes."""

from __future__ import annotations

import pytest

import soacraft as sc
from soacraft.cli import main

LINK = """<link name="{name}"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial>{more}</link>"""
JOINT = """<joint name="elbow" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>"""


def robot(folder, izz="1", more=""):
    path = folder / "tiny.urdf"
    links = LINK.format(name="base", izz=izz, more=more) + LINK.format(name="arm", izz="1", more="")
    path.write_text(f'<robot name="tiny">{links}{JOINT}</robot>')
    return str(path)


VERBS = {
    "info": lambda path: ["info", path],
    "convert": lambda path: ["convert", path, path.replace(".urdf", ".json")],
    "check": lambda path: ["check", path],
    "tour": lambda path: ["tour", path],
    "shell": lambda path: ["shell", path, "-c", "assert mb.nv == 7"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_loads_with_the_options_given(verb, tmp_path, monkeypatch):
    asked, load = [], sc.load

    def note(model, **options):
        asked.append((model, options))
        return load(model, **options)

    monkeypatch.setattr(sc, "load", note)
    path = robot(tmp_path)
    assert main([*VERBS[verb](path), "--mesh-root", "a", "--mesh-root", "b", "--free", "--lenient"]) == 0
    model, options = asked[0]
    assert (model, options["mesh_roots"], options["lenient"]) == (path, ("a", "b"), True)
    assert type(options["root"]) is sc.Free


def test_free_lets_the_base_of_a_urdf_robot_move(tmp_path, capsys):
    path = robot(tmp_path)
    assert main(["info", path]) == 0
    assert "dofs        1 (1 coordinates)" in capsys.readouterr().out
    assert main(["info", path, "--free"]) == 0
    assert "dofs        7 (8 coordinates)" in capsys.readouterr().out
    assert main(["convert", path, str(tmp_path / "free.json"), "--free"]) == 0
    assert sc.load(tmp_path / "free.json").nv == 7


def test_free_is_refused_where_the_file_says_how_its_base_is_joined(capsys):
    assert main(["info", "arm7", "--free"]) == 2
    assert "root is for URDF" in capsys.readouterr().err


def test_meshes_are_looked_for_in_every_mesh_root(tmp_path, capsys):
    store = tmp_path / "store"
    store.mkdir()
    (store / "palm.stl").write_bytes(b"")
    mesh = f'<visual><geometry><mesh filename="file://{store}/palm.stl"/></geometry></visual>'
    (tmp_path / "robot").mkdir()
    path = robot(tmp_path / "robot", more=mesh)
    assert main(["info", path, "--report"]) == 0
    assert "mesh_roots" in capsys.readouterr().out
    assert main(["info", path, "--report", "--mesh-root", str(tmp_path / "robot"), "--mesh-root", str(store)]) == 0
    assert "mesh_roots" not in capsys.readouterr().out


def test_lenient_goes_on_from_a_local_fault(tmp_path, capsys):
    path = robot(tmp_path, izz="-1")
    for verb in ("info", "check"):
        assert main([verb, path]) == 2
        assert "lenient" in capsys.readouterr().err
    assert main(["info", path, "--lenient"]) == 0
    assert "1 repaired" in capsys.readouterr().out
