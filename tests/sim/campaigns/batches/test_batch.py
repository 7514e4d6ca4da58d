"""Batches: the rows of runs one by one, to rounding; what falls back, and that it says so."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from tests.sim.campaigns.makers import arm, deadly, folder, ishigami, lag
from tests.sim.combinations import Turning, chain, flexible

import soacraft as sc
from soacraft import sim
from soacraft.errors import CampaignError
from soacraft.sim.campaigns.batches.evaluation import Evaluation
from soacraft.sim.campaigns.batches.lane_step import turn_rates
from soacraft.sim.campaigns.batches.lanes import _agree as agree
from soacraft.sim.integrators.manifold import turn_rate


class PointGravity(sim.Component):
    """-mu m r / |r|^3 at a node."""

    class Params(sim.Params):
        mu: float = 3.43e-4
        mass: float = 100.0

    position = sim.In("m", of="position", shape=(3,))

    @sim.output("N", to="force", shape=(3,))
    def pull(p, position):
        r = np.sqrt((position**2).sum(axis=-1))[..., None]
        return -p.mu * p.mass * position / r**3


def satellite() -> sim.System:
    """A hub with three wheels, in an orbit of a small body."""
    mb = sc.Multibody("satellite", gravity=(0.0, 0.0, 0.0))
    mb.add_body("hub", inertia=sc.Inertia(100.0, (0, 0, 0), np.diag([90.0, 80.0, 60.0])), hinge=sc.Free())
    for i, axis in enumerate(np.eye(3)):
        mb.add_body(f"wheel{i}", inertia=sc.Inertia(8.0, (0, 0, 0), 0.1 * np.eye(3)), parent="hub", hinge=sc.Pin(axis))
    mb.q = [0, 0, 0, 1, 7.0, 0, 0, 0, 0, 0]
    mb.v = [0.01, 0.02, -0.01, 0, 7e-3, 0, 10.0, 0, 0]
    s = sim.System("satellite", integrator="rk4", step=1.0)
    plant = s.add("sat", sim.Plant(mb))
    for body, mass in (("hub", 100.0), ("wheel0", 8.0), ("wheel1", 8.0), ("wheel2", 8.0)):
        s.add(f"gravity_{body}", PointGravity(mass=mass), at=plant.node(body))
    for i in range(3):
        s.add(f"target{i}", sim.Constant(value=0.0))
        s.add(f"control{i}", sim.PD(kp=1e-4, kd=1.0), every=2.0)
        s.add(f"motor{i}", sim.Force(), at=plant.dof(f"wheel{i}"))
        s.connect(f"target{i}.y", f"control{i}.target")
        s.connect(f"sat.q[wheel{i}]", f"control{i}.measured")
        s.connect(f"sat.v[hub.{i}]", f"control{i}.rate")
        s.connect(f"control{i}.command", f"motor{i}.command")
    return s


def planet() -> sim.System:
    """A bar with a wheel, pulled as the model has its inertia, at nodes off its frames."""
    mb = sc.Multibody("bar", gravity=(0.0, 0.0, 0.0))
    bar = mb.add_body("bar", inertia=sc.Inertia(3.0, (0.1, 0, 0), np.diag([0.1, 2.0, 2.0])), hinge=sc.Free())
    bar.add_node("end", sc.Pose.from_rpy(0.3, 0.2, 0.1, translation=(1.0, 0.0, 0.0)))
    wheel = sc.Inertia(1.0, (0, 0, 0.1), 0.1 * np.eye(3))
    mb.add_body("wheel", inertia=wheel, parent="bar", hinge=sc.Pin((0, 0, 1)))
    mb.set_state([0, 0, 0.6, 0.8, 7.0, 0, 0, 0.0], [0.1, 0.2, 0.3, 0, 1.0, 0, 2.0])
    s = sim.System("bar", integrator="rk4", step=0.05)
    plant = s.add("bar", sim.Plant(mb))
    for name, node in (("bar", "bar/end"), ("wheel", "wheel")):
        s.add(f"pull_{name}", sim.PointGravity(mu=10.0), at=plant.node(node))
    return s


def held(mb, node: str) -> sim.System:
    """A model whose first dof is held by a controller, with a pull at a node."""
    s = sim.System("held", integrator="rk4", step=0.005)
    plant = s.add("body", sim.Plant(mb))
    s.add("pull", PointGravity(mu=0.2, mass=3.0), at=plant.node(node))
    s.add("control", sim.PD(kp=4.0, kd=0.3), every=0.01)
    s.add("motor", sim.Force(), at=plant.dof("first"))
    s.add("target", sim.Constant(value=0.2))
    for source, target in (("target.y", "control.target"), ("body.q[first]", "control.measured"),
                           ("body.v[first]", "control.rate"), ("control.command", "motor.command")):  # fmt: skip
        s.connect(source, target)
    return s


HELD = ({"control.kp": sim.Uniform(3.0, 5.0), "pull.mu": sim.Uniform(0.1, 0.3), "target.value": sim.Normal(0.2, 0.2)},
        {"q": "body.q[first][-1]", "v": "max(norm(body.v))", "a": "max(abs(body.vdot[first]))",
         "pull": "norm(pull.pull)[-1]"})  # fmt: skip

CASES = {
    "linkage": (lambda: held(chain(), "coupler/end"), 0.4, *HELD),
    "rod": (lambda: held(flexible(), "first/tip"), 0.4, *HELD),
    "planet": (planet, 1.0, {"pull_bar.mu": sim.Normal(10.0, 1.0), "bar.v[bar.0]": sim.Normal(0, 0.1)},
               {"x": "bar.q[4][-1]", "turn": "norm(bar.v)[-1]", "wheel": "bar.v[wheel][-1]",
                "pull": "norm(pull_bar.wrench)[-1]"}),
    "lag": (lag, 1.0, {"one.value": sim.Normal(1.0, 0.1), "lag.time_constant": sim.Uniform(0.5, 2.0),
                       "lag.x": sim.Normal(0, 1)},
            {"end": "lag.y[-1]", "seen": "sensor.y[-1]", "mean": "mean(sensor.y)", "t_end": "t[-1]"}),
    "arm": (arm, 0.55, {"arm.q[lower]": sim.Normal(0, 0.5), "arm.v[upper]": sim.Normal(0, 0.5),
                        "control.kp": sim.Uniform(50, 99)},
            {"q": "arm.q[upper][-1]", "v": "max(norm(arm.v))", "a": "max(abs(arm.vdot[lower]))",
             "c": "min(control.command)"}),
    "weighed": (arm, 0.55, {"arm.q[lower]": sim.Normal(0, 0.5), "arm.lower.mass": sim.Uniform(0.5, 2.0),
                            "arm.upper.com_z": sim.Uniform(-1.0, -0.8), "arm.upper.damping": sim.Uniform(0.0, 2.0),
                            "arm.lower.stiffness": sim.Uniform(0.0, 5.0), "arm.lower.armature": sim.Uniform(0.1, 0.2)},
                {"q": "arm.q[upper][-1]", "v": "max(norm(arm.v))", "a": "max(abs(arm.vdot[lower]))",
                 "c": "min(control.command)"}),
    "heavy planet": (planet, 1.0, {"bar.bar.mass": sim.Uniform(2.0, 4.0), "bar.bar.com_x": sim.Uniform(0.0, 0.2)},
                     {"x": "bar.q[4][-1]", "wheel": "bar.v[wheel][-1]", "pull": "norm(pull_bar.wrench)[-1]"}),
    "satellite": (satellite, 30.0, {"gravity_hub.mu": sim.Normal(3.43e-4, 1e-6), "sat.v[hub.0]": sim.Normal(0, 0.1),
                                    "control0.kd": sim.Uniform(0.5, 1.0)},
                  {"x": "sat.q[4][-1]", "turn": "norm(sat.v)[-1]", "wheel": "sat.v[wheel0][-1]", "quat": "sat.q[0][-1]",
                   "pull": "norm(gravity_hub.pull)[-1]"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_batch_has_the_rows_of_its_runs_one_by_one(tmp_path, name):
    make, t, vary, measure = CASES[name]
    given = dict(seed=3, runs=5, t=t, vary=vary, measure=measure, history={"h": next(iter(measure.values()))[:-4]})
    one = sim.Campaign(make, folder(tmp_path, "one"), batch=0, **given)
    many = sim.Campaign(make, folder(tmp_path, "many"), **given)
    one.run()
    many.run()
    assert many.settings.batch == 512
    assert "5 in batches of 512, 0 one by one" in many.status()
    assert "one by one: as asked for" in one.status()
    for column in (*measure, *(x for x in one.table().paths), "t"):
        a, b = one.table()[column], many.table()[column]
        assert np.allclose(a, b, rtol=1e-9, atol=1e-9 * abs(a).max()), column
    assert np.allclose(one.history("h")[1], many.history("h")[1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["satellite", "weighed", "heavy planet", "linkage", "rod"])
def test_a_run_is_the_same_in_any_batch(tmp_path, name):
    """Bit by bit: alone in its block, and among others."""
    make, t, vary, measure = CASES[name]
    tables = []
    for runs in (1, 3, 6):
        c = sim.Campaign(make, folder(tmp_path, str(runs)), seed=3, runs=runs, t=t, vary=vary, measure=measure)
        c.run()
        tables.append(c.table().csv())
    assert tables[2].startswith(tables[1])
    assert tables[1].startswith(tables[0])


def test_blocks_are_shared_by_parts_and_processes(tmp_path):
    make, t, vary, measure = CASES["lag"]
    given = dict(seed=3, runs=20, t=t, vary=vary, measure=measure, batch=8)
    whole, parts = (sim.Campaign(make, folder(tmp_path, x), **given) for x in ("whole", "parts"))
    whole.run()
    parts.run(shard=(2, 2))
    assert parts.table()["run"].tolist() == list(range(8, 16))
    parts.run(workers=1)
    assert parts.table().csv() == whole.table().csv()


def test_a_batch_that_differs_from_its_runs_alone_is_not_taken(tmp_path, monkeypatch):
    make, t, vary, measure = CASES["lag"]
    monkeypatch.setattr(Evaluation, "step", lambda self, V, t, h, point: SimpleNamespace(end=point))
    c = sim.Campaign(make, folder(tmp_path), runs=3, t=t, vary=vary, measure=measure)
    c.run()
    assert "the batch stopped: 'end' of run 0 is" in c.status()
    one = sim.Campaign(make, folder(tmp_path, "one"), runs=3, t=t, vary=vary, measure=measure, batch=0)
    one.run()
    assert c.table().csv() == one.table().csv()


class Branchy(sim.Component):
    """Takes numbers alone, and no batch."""

    class Params(sim.Params):
        limit: float = 1.0

    u = sim.In()

    @sim.output()
    def y(p, u):
        return u if u < p.limit else p.limit


def branchy() -> sim.System:
    s = sim.System("branchy", integrator="rk4", step=0.1)
    s.add("ramp", sim.Ramp(slope=1.0))
    s.add("branch", Branchy())
    s.add("sum", sim.Integrator())
    s.connect("ramp.y", "branch.u")
    s.connect("branch.y", "sum.u")
    return s


def test_an_equation_that_takes_no_batch_is_called_run_by_run(tmp_path):
    c = sim.Campaign(branchy, folder(tmp_path), runs=3, t=2.0, vary={"branch.limit": sim.Grid((0.5, 1.0, 3.0))},
                     measure={"y": "branch.y[-1]", "sum": "sum.y[-1]"})  # fmt: skip
    c.run()
    assert c.table()["y"].tolist() == [0.5, 1.0, 2.0]
    assert c.settings.batch
    assert [x.how for x in c.table().rows] == ["batch"] * 3


def test_vectors_whose_parameters_vary(tmp_path):
    def make():
        s = sim.System("vectors", integrator="rk4", step=0.1)
        s.add("c", sim.Constant(value=(1.0, 2.0, 3.0)))
        s.add("gain", sim.Gain(gain=1.0, size=3))
        s.add("cut", sim.Saturation(lower=-1.0, upper=2.0, size=3))
        s.connect("c.y", "gain.u")
        s.connect("gain.y", "cut.u")
        return s

    vary = {
        "gain.gain": sim.Grid((1.0, 2.0, 0.5)),
        "c.value[1]": sim.Uniform(1.0, 2.0),
        "cut.upper": sim.Uniform(2.0, 3.0),
    }
    c = sim.Campaign(make, folder(tmp_path), runs=3, t=0.2, vary=vary, measure={"y": "cut.y[1][-1]"})
    c.run()
    t = c.table()
    assert [x.how for x in t.rows] == ["batch"] * 3
    assert np.allclose(t["y"], np.minimum(t["gain.gain"] * t["c.value[1]"], t["cut.upper"]))


def test_a_run_that_fails_leaves_its_block_one_by_one(tmp_path):
    c = sim.Campaign(deadly, folder(tmp_path), runs=3, t=1.0, vary={"f.x": sim.Grid((0.0, -2.0, 1.0))},
                     measure={"y": "f.y[-1]"})  # fmt: skip
    c.run()
    assert c.table()["status"].tolist() == ["ok", "failed", "ok"]
    assert all(x.how.startswith("single: the batch stopped:") for x in c.table().rows)
    assert "0 in batches of 512, 3 one by one" in c.status()
    assert "too small" in c.table()["text"][1]


def test_a_block_that_kills_its_process_goes_one_by_one(tmp_path):
    c = sim.Campaign(deadly, folder(tmp_path), runs=3, t=1.0, vary={"f.x": sim.Grid((0.0, 3.0, 1.0))},
                     measure={"y": "f.y[-1]"})  # fmt: skip
    c.run(workers=1)
    assert c.table()["status"].tolist() == ["ok", "killed", "ok"]


@pytest.mark.parametrize(
    ("make", "more", "why"),
    [
        (lag, dict(measure={"m": float}), "a measure is a function"),
        (lambda: sim.System("x"), {}, "integrator 'dop853': batches take fixed steps of 'rk4'"),
        (
            lambda: _plant(sim.HingeFriction("bob", coulomb=1.0)),
            {},
            "the plant 'arm' has the force element 'friction of bob': batches know drag and fields of gravity",
        ),
        (lambda: _given("ce", Wave), {}, "its closures are solved by constraint embedding"),
        (
            lambda: _given("auto", Wave),
            dict(vary={"body.rocker.mass": sim.Uniform(1, 2)}),
            "a parameter of a model with loops or flexible bodies varies",
        ),
        (lambda: _given("auto", Turning), {}, "the motion of 'first' is given"),
        (
            lambda: _plant(part=Wave),
            dict(vary={"arm.bob.inboard_x": sim.Uniform(0, 1)}),
            "'arm.bob.inboard_x' places a body or node",
        ),
    ],
)
def test_what_goes_one_by_one_says_why(tmp_path, make, more, why):
    c = sim.Campaign(make, folder(tmp_path), runs=2, t=0.1, **more)
    assert f"one by one: {why}" in c.status()
    with pytest.raises(CampaignError, match="runs cannot march as a batch"):
        sim.Campaign(make, folder(tmp_path, "two"), runs=2, t=0.1, batch=4, **more)


class Wave(sim.Component):
    """A force that changes between ticks."""

    @sim.output("N m", to="force")
    def force(t):
        return np.sin(9.0 * t)


def _plant(*forces, model="pendulum", part=None):
    s = sim.System("plant", integrator="rk4", step=0.01)
    plant = s.add("arm", sim.Plant(sc.load(model), forces=forces))
    if part is not None:
        s.add("part", part(), at=plant.dof(plant.mb.dof_names[0]))
    return s


def _given(solver, *parts):
    s = sim.System("chain", integrator="rk4", step=0.01)
    plant = s.add("body", sim.Plant(chain(), solver=solver))
    for part in parts:
        s.add("part", part(), at=plant.dof("first"))
    return s


def swinging():
    mb = sc.load("double_pendulum")
    mb.q = [1.0, 0.5]
    s = sim.System("swinging", integrator="rk4", step=0.01)
    s.add("body", sim.Plant(mb))
    return s


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (lambda: _given("ce"), "body.rocker.mass"),
        (lambda: _given("auto"), "body.rocker.mass"),
        (swinging, "body.lower.outboard_z"),
    ],
    ids=["constraint embedding", "closed chain", "placement"],
)
def test_any_parameter_varies_where_no_component_acts_between_ticks(tmp_path, make, path):
    given = dict(seed=1, runs=3, t=0.3, vary={path: sim.Uniform(0.5, 1.5)}, measure={"q": "body.q[0][-1]"})
    one = sim.Campaign(make, folder(tmp_path, "one"), batch=0, **given)
    many = sim.Campaign(make, folder(tmp_path, "many"), **given)
    one.run()
    many.run()
    assert "3 in batches of 512, 0 one by one" in many.status()
    np.testing.assert_allclose(one.table()["q"], many.table()["q"], rtol=0, atol=1e-14)
    assert np.ptp(many.table()["q"]) > 1e-4


def test_runs_that_begin_off_their_closures_are_named(tmp_path):
    """The batch stops, and each run says what is wrong."""
    mb = chain()
    mb.set_state([0.5, -0.3, 0.5], [0, 0, 0])

    def off():
        return held(mb, "coupler/end")

    c = sim.Campaign(off, folder(tmp_path), runs=2, t=0.1, measure={"q": "body.q[first][-1]"})
    c.run()
    assert c.table()["status"].tolist() == ["failed", "failed"]
    assert "a run cannot begin off its closures" in c.status()


def test_loops_stay_closed_in_batches(tmp_path):
    """A parallelogram: its coupler does not turn."""
    measure = {x: f"body.q[{x}][-1]" for x in ("first", "coupler", "rocker")}
    make, given = lambda: held(chain(), "coupler/end"), dict(runs=3, t=1.0, vary=HELD[0], measure=measure)
    c = sim.Campaign(make, folder(tmp_path), **given)
    c.run()
    assert "3 in batches of 512" in c.status()
    table = c.table()
    np.testing.assert_allclose(table["first"], -table["coupler"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(table["first"], table["rocker"], rtol=0, atol=1e-10)


def test_large_records_take_smaller_batches(tmp_path):
    c = sim.Campaign(ishigami, folder(tmp_path), runs=2, t=2e6, measure={"y": "max(f.y)"})
    assert c.settings.batch == 16


def test_rates_of_turns_are_those_of_single_ones():
    rng = np.random.default_rng(1)
    u, w = rng.standard_normal((2, 20, 3))
    u[:4] *= 1e-3
    assert np.allclose(turn_rates(u, w), [turn_rate(a, b) for a, b in zip(u, w, strict=True)], rtol=1e-13)


@pytest.mark.parametrize("changed", [None, 0, 1, 2])
def test_a_call_that_changes_any_of_its_arguments_takes_no_batch(changed):
    """What it gives is right, and what others read after it is not."""
    arguments = [np.ones((4, 3)), 2.0 * np.ones((4, 3)), 3.0 * np.ones(4)]

    def way(given):
        total = given[0] + given[1] + given[2][:, None]
        if changed is not None:
            given[changed] += 1.0
        return total

    def by_run(given):
        return np.array([given[0][i] + given[1][i] + given[2][i] for i in range(4)])

    assert agree(way, by_run, arguments) == (changed is None)
