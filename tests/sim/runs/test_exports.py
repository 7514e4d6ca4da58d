"""Runs for other programs: what their own readers find in the files is what was run."""

from __future__ import annotations

import csv
import json
import sys
import types

import numpy as np
import pytest
from mcap.reader import make_reader
from scipy.io import loadmat
from tests.sim.restarts import arm

import soacraft as sc
from soacraft import sim
from soacraft.errors import ModelFileError, StateError
from soacraft.sim.runs.log import Log
from soacraft.sim.runs.outputs import Keeping


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    file = tmp_path_factory.mktemp("exports") / "run.h5"
    arm().run(0.6, log=file)
    return sim.read(file)


def test_a_matlab_file_has_all_columns(run, tmp_path):
    told = loadmat(run.to_mat(tmp_path / "run.mat"), simplify_cells=True)
    for name in ("t", "q", "v", "vdot", "energy", "kinetic", "potential", "violation"):
        np.testing.assert_array_equal(told[name], getattr(run, name))
    names = {original: field.split(".", 1) for field, original in told["names"]}
    assert len(names) >= len(run.signals)
    for name, value in run.signals.items():
        group, field = names[name]
        np.testing.assert_array_equal(told[group][field], value)
    assert {x[0]: x[1] for x in told["units"]}["motor_upper.torque"] == "N m"
    assert [told["events"]["name"]] == [x.name for x in run.events] == ["ball.floor"]
    assert told["integrator"] == "rk4"


def test_names_that_matlab_does_not_take_stay_apart(tmp_path):
    s = sim.System("s", integrator="rk4", step=0.1)
    s.add("a/b", sim.Constant(value=1.0))
    s.add("a_b", sim.Constant(value=2.0))
    s.add("_c" * 40, sim.Constant(value=3.0))
    s.add("_c" * 41, sim.Constant(value=4.0))
    run = s.run(0.1)
    told = loadmat(run.to_mat(tmp_path / "run.mat"), simplify_cells=True)
    fields = [field.split(".")[1] for field, _ in told["names"]]
    assert len(set(fields)) == 4
    assert all(len(x) <= 63 and x[0].isalpha() for x in fields)
    for field, name in told["names"]:
        assert told["signals"][field.split(".")[1]][0] == run.signals[name][0]


def test_a_bag_has_messages_with_schemas(run, tmp_path):
    found = {}
    with open(run.to_mcap(tmp_path / "run.mcap"), "rb") as stream:
        reader = make_reader(stream)
        for schema, channel, message in reader.iter_messages():
            assert schema.encoding == "jsonschema"
            assert channel.message_encoding == "json"
            properties = json.loads(schema.data)["properties"]
            content = json.loads(message.data)
            assert set(content) == set(properties)
            found.setdefault(channel.topic, []).append((message.log_time, content))
        kept = {x.name: x.metadata["text"] for x in reader.iter_metadata()}
    assert kept == run.documents
    torque = found["/signals/motor_upper"]
    assert [x["torque"] for _, x in torque] == run.signals["motor_upper.torque"].tolist()
    assert [ns for ns, _ in torque] == [round(t * 1e9) for t in run.t]
    assert [x["upper"] for _, x in found["/coordinates"]] == run.q[:, 0].tolist()
    assert [x["name"] for _, x in found["/events"]] == [x.name for x in run.events]


def test_units_are_in_the_schema(run, tmp_path):
    with open(run.to_mcap(tmp_path / "run.mcap"), "rb") as stream:
        told = {x.topic: x.schema_id for x in make_reader(stream).get_summary().channels.values()}
        stream.seek(0)
        schemas = make_reader(stream).get_summary().schemas
    torque = json.loads(schemas[told["/signals/motor_upper"]].data)["properties"]["torque"]
    assert torque == {"type": "number", "description": "N m"}
    rate = json.loads(schemas[told["/velocities"]].data)["properties"]["upper"]
    assert rate == {"type": "number", "description": "rad/s"}


def test_segments_are_all_there(tmp_path):
    log = Log(tmp_path / "run.h5")
    for name, t in (("pendulum", 0.3), ("double_pendulum", 0.5)):
        sim.Propagator(sc.load(name), integrator="rk4", step=0.1).advance(t, Keeping(log, stays_open=True))
    log.close()
    run = sim.read(tmp_path / "run.h5")
    told = loadmat(run.to_mat(tmp_path / "run.mat"), simplify_cells=True)
    assert [np.reshape(x["q"], (len(x["t"]), -1)).shape for x in told["segments"]] == [(4, 1), (6, 2)]
    with open(run.to_mcap(tmp_path / "run.mcap"), "rb") as stream:
        topics = {channel.topic for _, channel, _ in make_reader(stream).iter_messages()}
    assert {"/segment_0/coordinates", "/segment_1/coordinates"} <= topics


def test_what_cannot_be_is_refused(run, tmp_path, monkeypatch):
    with pytest.raises(ModelFileError, match=r"run.mat' cannot be written: .*No such file"):
        run.to_mat(tmp_path / "no" / "run.mat")
    early = sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.1, t=-1.0).advance_to(0.0)
    with pytest.raises(StateError, match=r"times of an MCAP file are not negative, and the run begins at t = -1 s"):
        early.to_mcap(tmp_path / "run.mcap")
    monkeypatch.setitem(sys.modules, "mcap.writer", None)
    with pytest.raises(StateError, match=r"MCAP files need the package mcap: pip install 'soacraft\[bag\]'"):
        run.to_mcap(tmp_path / "run.mcap")
    assert list(tmp_path.iterdir()) == []


def test_a_table_of_text_has_every_number(run, tmp_path):
    """Numbers read back are the same in all bits; names and units are in the first line."""
    with open(run.to_csv(tmp_path / "run.csv"), newline="", encoding="utf-8") as stream:
        head, *rows = csv.reader(stream)
    columns = dict(zip(head, np.array(rows, dtype=float).T, strict=True))
    assert len(columns) == len(head)
    np.testing.assert_array_equal(columns["t (s)"], run.t)
    for i, (name, unit) in enumerate(zip(run.labels.v, run.labels.v_units, strict=True)):
        np.testing.assert_array_equal(columns[f"v[{name}] ({unit}/s)"], run.v[:, i])
        np.testing.assert_array_equal(columns[f"vdot[{name}] ({unit}/s^2)"], run.vdot[:, i])
    for name, unit in run.signals.units.items():
        if run.signals[name].ndim == 1:
            np.testing.assert_array_equal(columns[f"{name} ({unit})" if unit else name], run.signals[name])
    for name, work in run.work.items():
        np.testing.assert_array_equal(columns[f"work[{name}] (J)"], work)
    assert list(tmp_path.iterdir()) == [tmp_path / "run.csv"]


def test_forces_and_vectors_have_a_column_for_each_number(tmp_path):
    s = sim.System("s", integrator="rk4", step=0.1)
    s.add("arm", sim.Plant(sc.load("cart_pole")))
    s.add("ab", sim.Constant(value=(1.0, 2.0), unit="V"))
    s.add("pull", sim.Constant(value=3.0))
    s.connect("pull.y", "arm.force[cart]")
    with open(s.run(0.1).to_csv(tmp_path / "run.csv"), newline="", encoding="utf-8") as stream:
        head, first, *_ = csv.reader(stream)
    told = dict(zip(head, map(float, first), strict=True))
    assert (told["ab.y[0] (V)"], told["ab.y[1] (V)"]) == (1.0, 2.0)
    forces = {name: x for name, x in told.items() if name.startswith("forces[pull.y]")}
    assert {name.rpartition(" (")[2]: x for name, x in forces.items()} == {"N)": 3.0, "N m)": 0.0}


def test_a_table_that_cannot_be_written_leaves_what_was_there(run, tmp_path):
    file = tmp_path / "there.csv"
    file.mkdir()
    with pytest.raises(ModelFileError, match="cannot be written"):
        run.to_csv(file)
    assert list(tmp_path.iterdir()) == [file]


def test_a_table_of_pandas_has_times_as_its_index(run, tmp_path, monkeypatch):
    made = types.ModuleType("pandas")
    made.Index = lambda values, name: (name, values)
    made.DataFrame = lambda columns, index: (columns, index)
    monkeypatch.setitem(sys.modules, "pandas", made)
    columns, (name, t) = run.to_pandas()
    assert name == "t (s)"
    np.testing.assert_array_equal(t, run.t)
    with open(run.to_csv(tmp_path / "run.csv"), newline="", encoding="utf-8") as stream:
        assert next(csv.reader(stream)) == [name, *columns]
    np.testing.assert_array_equal(columns[f"v[{run.labels.v[0]}] (rad/s)"], run.v[:, 0])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(StateError, match=r"need the package pandas: pip install pandas\. Without it write run.to_csv"):
        run.to_pandas()
