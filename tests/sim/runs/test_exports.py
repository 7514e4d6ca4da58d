"""Runs for other programs: what their own readers find in the files is what was run."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from mcap.reader import make_reader
from scipy.io import loadmat
from tests.sim.restarts import arm

import soacraft as sc
from soacraft import sim
from soacraft.errors import ModelFileError, StateError
from soacraft.sim.runs.keeping import Keeping
from soacraft.sim.runs.log import Log


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
