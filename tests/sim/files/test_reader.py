"""Hostile and mistaken system files are refused, with file, place and cure; sound ones are what they describe."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest
from tests.fuzz.system_seeds import Servo

import soacraft as sc
from soacraft import sim
from soacraft.errors import SoacraftError, SystemFileError
from soacraft.files.native import to_json
from soacraft.sim.files import documents
from soacraft.sim.files.schema import json_schema

HEAD = 'format = "soacraft-system/1"\nname = "a"\nintegrator = "rk4"\nstep = 1e-3\n'
SWING = HEAD + """
connections = [
    {from = "target.y", to = "control.target"},
    {from = "arm.q[bob]", to = "control.measured"},
    {from = "arm.v[bob]", to = "control.rate"},
    {from = "control.command", to = "drive.command"},
]
[plants.arm]
model = "pendulum"
q = [0.1]
[parts.drive]
type = "Force"
at = {plant = "arm", dof = "bob"}
[parts.target]
type = "Constant"
params = {value = 0.5}
[parts.control]
type = "PD"
params = {kp = 100, kd = 20}
rate = 1000
"""


def load(tmp_path, text, name="system.toml", **how):
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return sim.load_system(file, **how)


def refused(tmp_path, text, name="system.toml", **how):
    with pytest.raises(SystemFileError) as error:
        load(tmp_path, text, name, **how)
    assert str(tmp_path / name) in str(error.value)
    return str(error.value).replace(f"{tmp_path}/", "")


def test_a_file_is_the_system_that_a_program_builds(tmp_path):
    s = sim.System("a", integrator="rk4", step=1e-3)
    mb = sc.load("pendulum")
    mb.q = [0.1]
    arm = s.add("arm", sim.Plant(mb))
    s.add("drive", sim.Force(), at=arm.dof("bob"))
    s.add("target", sim.Constant(value=0.5))
    s.add("control", sim.PD(kp=100.0, kd=20.0), rate=1000)
    s.connect("target.y", "control.target")
    s.connect("arm.q[bob]", "control.measured")
    s.connect("arm.v[bob]", "control.rate")
    s.connect("control.command", "drive.command")
    again = load(tmp_path, SWING)
    assert str(again.tree()) == str(s.tree())
    assert np.array_equal(again.run(0.2).q, s.run(0.2).q)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ((HEAD, HEAD + "stp = 1\n"), "system.toml: unknown field 'stp'; did you mean 'step'"),
        (("kp = 100", "kpp = 100"), "PD has no parameter 'kpp'; did you mean 'kp'"),
        (("rate = 1000", "rat = 1000"), "at parts.'control': unknown field 'rat'; did you mean 'rate'"),
        (('dof = "bob"', 'dfo = "bob"'), "at parts.'drive': at $.at: unknown field 'dfo'; did you mean 'dof'"),
        (('to = "control.rate"', 'too = "control.rate"'), "$.connections[2]: unknown field 'too'; did you mean"),
        (('model = "pendulum"', 'modl = "pendulum"'), "at plants.'arm': unknown field 'modl'; did you mean 'model'"),
        (('type = "PD"', 'type = "PDD"'), "'control' is of the class 'PDD', which is not known; did you mean 'PD'"),
        (('type = "PD"', 'type = "os.system"'), "which is not known"),
        (('type = "PD"', 'type = "Servo"'), "which is an assembly, and a component is needed"),
        (('type = "PD"', "type = 7"), "at parts.'control': at $.type: Expected `str`, got `int`."),
        (("kp = 100", 'kp = "x"'), "parameters of PD: Expected `float`, got `str` - at `$.kp`."),
        (("rate = 1000", "rate = 0"), "rate of 'control' must be a positive number, got 0"),
        (("rate = 1000", "rate = 5\nevery = 2"), "give one of them"),
        (("rate = 1000", 'every = "1e9999999"'), "'control' has a period '1e9999999': write a number, or a fraction"),
        (("rate = 1000", 'every = "1/0"'), "every of 'control' must be a positive number"),
        (("rate = 1000", "offset = 0.5"), "'control' has offset=0.5 and no ticks"),
        ((', dof = "bob"', ""), "'drive' is mounted at a dof or a node: at = {plant = 'arm', dof = ...}."),
        (('plant = "arm"', 'plant = "leg"'), "'drive' is mounted at 'leg', which is no plant; there are 'arm'."),
        (('model = "pendulum"', 'model = "pendulums"'), "there is no model 'pendulums'. Did you mean 'pendulum'"),
        (('model = "pendulum"', 'model = "../a.json"'), "a file goes by file = ..."),
        (('model = "pendulum"', 'model = "pendulum"\nfile = "a.json"'), "has model and file of model, file and"),
        (('model = "pendulum"', ""), "the plant 'arm' has none of model, file and document: give one of them."),
        (('model = "pendulum"', 'file = "none.json"'), "has file = 'none.json', which is not read: file not found."),
        (('model = "pendulum"', 'file = "../secret.json"'), "leads out of the folders that may be read"),
        (('model = "pendulum"', 'file = "/etc/passwd.json"'), "leads out of the folders that may be read"),
        (('model = "pendulum"', 'file = "https://a.b/c.json"'), "https:// is not fetched"),
        (('model = "pendulum"', 'file = "robot.xacro"'), "model files in a system file are .json, .urdf, .xml, .sdf."),
        (('model = "pendulum"', 'document = "{}"'), "is not a soacraft model"),
        (("q = [0.1]", "q = [0.1, 0.2]"), "q of 'pendulum' has 1 entries, got 2"),
        (("q = [0.1]", "q = [nan]"), "must be finite: entry 0, of hinge 'bob', is nan"),
        (("q = [0.1]", 'forces = [{name = "drag", type = "Drag"}]'), "Drag 'drag', which are no plain data"),
        ((HEAD, HEAD.replace("/1", "/2")), "is of the format 'soacraft-system/2', this version of soacraft reads"),
        ((HEAD, 'name = "a"\n'), 'is not a soacraft system: it must have format = "soacraft-system/1".'),
        ((HEAD, HEAD.replace("rk4", "rk5")), "integrator 'rk5' does not carry states of components"),
        ((HEAD, HEAD + "t = 1e300\n"), "t must be less than"),
        ((HEAD, HEAD + "seed = -1\n"), "the seed of a system"),
        ((HEAD, HEAD + 'name = "b"\n'), "is no TOML: Cannot overwrite a value (at line 5, column 11)."),
        ((HEAD, HEAD + "a = " + "[" * 5000), "is nested too deeply; no system needs that."),
        ((HEAD, HEAD + "x" + ".x" * 100 + " = 1\n"), "is nested too deeply; no system needs that."),
        ((HEAD, HEAD + "seed = " + "9" * 5000), "cannot be read: Exceeds the limit"),
        ((HEAD, HEAD + "seed = 2020-01-01\n"), "'2020-01-01' is a date or a time, which no field takes."),
        ((HEAD, HEAD + "starts = {'drive.x' = 1.0}\n"), "the system 'a' has no state 'drive.x'"),
        ((HEAD, HEAD + "solve_loops = 3\n"), "at $.solve_loops: Expected `array`, got `int`."),
        ((HEAD, HEAD + "frames.camera = {prot = 'target.y'}\n"), "frames.'camera': unknown field 'prot'"),
        ((HEAD, HEAD + "frames.arm = {}\n"), "'arm' already"),
        ((HEAD, HEAD + "frames.b = {port = 'a.y', translation = [1, 0, 0]}\n"), "has a port and a pose: give one"),
        (("[parts.target]", "[parts.'a b']"), "a name is letters, digits, '_' and '-'"),
        (("[parts.target]", "[assemblies.target]"), "which is a component, and an assembly is needed"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(tmp_path, change, text):
    assert change[0] in SWING
    assert text in refused(tmp_path, SWING.replace(*change), classes=[Servo])


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xff", "is not UTF-8"),
        (b"[1]", 'must have format = "soacraft-system/1"'),
        (b"{", "cannot be read: Expecting property name"),
        (b'{"format": "soacraft-system/1", "name": "a", "name": "b"}', "the name 'name' occurs twice in one object"),
        (b'{"format": "soacraft-system/1", "name": "a", "t": NaN}', "JSON is malformed"),
        (b'{"format": "soacraft-system/1", "name": "a", "parts": ' + b'{"a":' * 60 + b"1" + b"}" * 61, "deeply: more"),
        (b"[" * 100_000, "is nested too deeply"),
        (b"{" * 600_000, "has more than 500000 of '{', too many to read."),
    ],
)
def test_json_that_means_harm_is_refused(tmp_path, data, text):
    assert text in refused(tmp_path, data, "system.json")


def test_sizes_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "MOST_TOML", 1000)
    assert "bytes, and 1000 are read at most." in refused(tmp_path, SWING + "#" * 1000)
    monkeypatch.undo()
    monkeypatch.setattr(documents, "MOST_PARTS", 5)
    assert "the system is too large: more than 5 parts and connections." in refused(tmp_path, SWING)
    assert "has more than 1000000 of '='" in refused(tmp_path, SWING + "=" * 1_000_001)


def test_solvers_that_are_none_are_refused(tmp_path):
    told = refused(tmp_path, SWING.replace("q = [0.1]", 'q = [0.1]\nsolver = "fast"'))
    assert "solver must be one of 'auto', 'tree', 'ta', 'fa', 'ce' or a solver of sc.loops, got 'fast'." in told
    assert load(tmp_path, SWING.replace("q = [0.1]", 'q = [0.1]\nsolver = "tree"'))._plants["arm"].solver == "tree"


@pytest.mark.parametrize(
    ("kind", "params", "name"),
    [
        ("Gain", "gain = 1.0, size = 1000000000", "Gain.u of shape (1000000000,)"),
        ("Integrator", "size = 1000001", "Integrator.u of shape (1000001,)"),
        ("UnitDelay", "size = 9223372036854775807", "UnitDelay.u of shape (9223372036854775807,)"),
        ("Join", "size_a = 600000, size_b = 600000", "Join.y of shape (1200000,)"),
    ],
)
def test_sizes_are_bounded_before_memory_is_taken(tmp_path, kind, params, name):
    tracemalloc.start()
    try:
        told = refused(tmp_path, HEAD + f"[parts.one]\ntype = '{kind}'\nparams = {{{params}}}\n")
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()
    assert f"'one': {name} is too large: 1000000 numbers are the most that a signal holds." in told
    start = HEAD + f"starts = {{'one.x' = 1.0}}\n[parts.one]\ntype = '{kind}'\nparams = {{{params}}}\n"
    assert "is too large" in refused(tmp_path, start)


def test_all_signals_together_are_bounded(tmp_path):
    part = "[parts.x{}]\ntype = 'Gain'\nparams = {{gain = 1.0, size = 1000000}}\n"
    assert len(load(tmp_path, HEAD + "".join(part.format(i) for i in range(5)))._parts) == 5
    told = refused(tmp_path, HEAD + "".join(part.format(i) for i in range(6)))
    assert "are 12000000 numbers in all, and 10000000 are the most of a system file: take smaller sizes." in told


def test_paths_that_are_none(tmp_path):
    for path, text in (
        (tmp_path / "none.toml", "there is no such file"),
        (tmp_path, "has no suffix; system files are .toml and .json"),
        (tmp_path / "a.yaml", "has suffix '.yaml'; system files are .toml and .json."),
        (7, "a system file is named by its path, such as 'rover.toml'; got 7."),
        ("a\0.toml", "must be a text that a file can have"),
    ):
        with pytest.raises(SystemFileError, match=text):
            sim.load_system(path)
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(SystemFileError, match="is a folder"):
        sim.load_system(tmp_path / "folder.toml")


def test_models_next_to_the_file_in_roots_and_in_it(tmp_path):
    model = to_json(sc.load("pendulum"))
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "bob.json").write_bytes(model)
    (tmp_path / "secret.json").write_bytes(model)
    inside = tmp_path / "inside"
    inside.mkdir()
    assert load(tmp_path, SWING.replace('model = "pendulum"', 'file = "parts/bob.json"'))._plants["arm"].mb.nv == 1
    outside = SWING.replace('model = "pendulum"', 'file = "../secret.json"')
    assert "name its folder in roots" in refused(inside, outside)
    (inside / "link.json").symlink_to(tmp_path / "secret.json")
    assert "leads out" in refused(inside, SWING.replace('model = "pendulum"', 'file = "link.json"'))
    assert load(inside, outside, roots=[tmp_path])._plants["arm"].mb.q == [0.1]
    tables = {"format": "soacraft-system/1", "name": "a", "plants": {"arm": {"document": json.loads(model)}}}
    assert load(tmp_path, json.dumps(tables), "system.json")._plants["arm"].mb.name == "pendulum"


def test_force_elements_are_given_again(tmp_path):
    text = SWING.replace("q = [0.1]", 'forces = [{name = "drag on bob", type = "Drag"}]')
    drag = sim.Drag("bob", linear=1.0)
    text = text.replace("drag on bob", drag.name)
    assert load(tmp_path, text, forces={"arm": [drag]})._plants["arm"].forces == (drag,)
    with pytest.raises(SoacraftError, match="give them again"):
        load(tmp_path, text)


def test_classes_of_the_caller_and_no_others(tmp_path):
    class Twice(sim.Component):
        u = sim.In(default=1.0)

        @sim.output()
        def y(u):
            return 2.0 * u

    text = HEAD + "[parts.one]\ntype = 'Twice'\n"
    told = refused(tmp_path, text)
    assert "Classes of your own are given with classes=[...] or sim.register(...)." in told
    assert load(tmp_path, text, classes=[Twice]).run(0.01).signals["one.y"][-1] == 2.0


def test_the_schema_is_that_of_the_reader():
    schema = json_schema()
    assert schema["$defs"]["System"]["required"] == ["format", "name"]
    assert schema["$defs"]["Part"]["additionalProperties"] is False
    names = {"System", "Plant", "Part", "Assembly", "Connection", "Mount", "Load", "Frame", "Sequence"}
    assert set(schema["$defs"]) == names
    assert all(x["description"] for x in schema["$defs"].values())
