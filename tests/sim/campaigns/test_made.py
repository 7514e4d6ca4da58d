"""Systems that a function makes from other arguments: batches of them have the rows of single runs, or are refused."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.campaigns.batches.crossing_makers import Relay
from tests.sim.campaigns.makers import folder

import soacraft as sc
from soacraft import sim

U = sim.Uniform


def made(mass=1.0, push=4.0, angle=0.3, damping=0.1, friction=0.0, length=1.0, filters=1.0, at=0.0, sampled=0.0):
    mb = sc.load("double_pendulum")
    mb["lower"].inertia = sc.Inertia(mass, (0, 0, -1), np.zeros((3, 3)))
    mb["lower"].inboard = sc.Pose(np.eye(3), (0.0, 0.0, -length))
    mb["upper"].passive = sc.Passive(damping=damping, friction=friction)
    mb.q = [angle, 0.0]
    s = sim.System("made", integrator="rk4", step=0.01)
    plant = s.add("arm", sim.Plant(mb))
    s.add("relay", Relay(push=push), at=plant.dof("upper"))
    for i in range(int(filters)):
        s.add(f"filter{i}", sim.LowPass(time_constant=0.1))
        s.connect("arm.q[upper]", f"filter{i}.u")
    s.states["filter0.x"] = angle
    s.add("on", sim.Step(at=at))
    if sampled > 0.5:
        s.add("sensor", sim.Sensor(), every=0.02)
        s.connect("on.y", "sensor.u")
    return s


VARY = {"mass": U(0.5, 2), "push": U(3, 6), "angle": U(-0.1, 0.1), "damping": U(0, 1), "relay.band": U(0.1, 0.3)}
MEASURE = {"q": "arm.q[upper][-1]", "v": "max(norm(arm.v))", "n": "count(relay.high)", "f": "filter0.y[-1]"}


def test_a_batch_has_the_rows_of_its_runs_one_by_one(tmp_path):
    one = sim.Campaign(made, folder(tmp_path, "one"), seed=3, runs=4, t=1.0, vary=VARY, measure=MEASURE, batch=0)
    many = sim.Campaign(made, folder(tmp_path, "many"), seed=3, runs=4, t=1.0, vary=VARY, measure=MEASURE)
    one.run()
    many.run()
    assert "4 in batches of 512, 0 one by one" in many.status()
    for x in MEASURE:
        assert np.allclose(one.table()[x], many.table()[x], rtol=1e-9), x
    parts = sim.Campaign(made, folder(tmp_path, "parts"), seed=3, runs=4, t=1.0, vary=VARY, measure=MEASURE, batch=3)
    parts.run(shard=(2, 2))
    parts.run(workers=1)
    assert parts.table().csv() == many.table().csv()


@pytest.mark.parametrize(
    ("vary", "why"),
    [
        ({"length": U(0.5, 1)}, "'length' changes the plants of the system by more than numbers"),
        ({"friction": U(0.5, 1)}, "'friction' changes the plants of the system by more than numbers"),
        ({"filters": U(1, 5)}, "'filters' makes other components than those of the system: 'filter"),
        ({"sampled": U(0, 1)}, "'sampled' makes other components than those of the system: 'sensor'"),
        ({"at": U(-0.2, 0.1)}, "'at' changes 'on', which jumps between ticks"),
        ({"mass": U(1, 2), "arm.upper.mass": U(1, 2)}, "'arm.upper.mass' and 'mass' both vary a model"),
    ],
)
def test_arguments_that_change_more_than_numbers_go_one_by_one(tmp_path, vary, why):
    c = sim.Campaign(made, folder(tmp_path), runs=2, t=0.1, vary=vary)
    assert f"one by one: {why}" in c.status()
    assert "parameters vary by their paths, as 'motor.R' or 'arm.forearm.mass'" in c.status()


def test_systems_that_share_a_model_go_one_by_one(tmp_path):
    mb = sc.load("pendulum")

    def make(mass=1.0):
        mb["bob"].inertia = sc.Inertia(mass, (0, 0, -1), np.zeros((3, 3)))
        s = sim.System("shared", integrator="rk4", step=0.01)
        s.add("arm", sim.Plant(mb))
        return s

    c = sim.Campaign(make, folder(tmp_path), runs=2, t=0.1, vary={"mass": U(1, 2)})
    assert "systems share the model of 'arm': make a new one for each" in c.status()


def test_what_changes_in_some_runs_alone_is_not_taken(tmp_path):
    """A part that is there at rare values only: the batch stops, and all go one by one."""
    vary = {"filters": sim.Choice((1.0, 1.0, 1.0, 2.0), (0.45, 0.03, 0.47, 0.05))}
    c = sim.Campaign(made, folder(tmp_path), seed=1, runs=40, t=0.02, vary=vary, measure={"q": "arm.q[upper][-1]"})
    if c.settings.batch:
        c.run()
        assert "the batch stopped: CampaignError: 'filters' makes other components" in c.status()
        assert "0 in batches of 512, 40 one by one" in c.status()


def test_a_campaign_that_began_one_by_one_goes_on_so(tmp_path, monkeypatch):
    given = dict(seed=3, runs=4, t=0.1, vary={"mass": U(0.5, 2.0)}, measure={"q": "arm.q[upper][-1]"})
    why = "'mass' was an argument"
    with monkeypatch.context() as patch:
        patch.setattr("soacraft.sim.campaigns.campaign.obstacle_of_arguments", lambda *_: why)
        sim.Campaign(made, folder(tmp_path), **given).run(shard=(1, 2))
    again = sim.Campaign.open(folder(tmp_path), made)
    again.run()
    assert f"one by one: {why}" in again.status()
    assert {x.how for x in again.table().rows} == {"single"}
