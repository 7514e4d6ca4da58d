"""Runs with contact as a batch: the bits of single runs, closed forms, what leaves it, what goes one by one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.campaigns.makers import folder

import soacraft as sc
from soacraft import sim

U = sim.Uniform
MU, STEP = 0.4, 0.005


def box() -> sc.Multibody:
    """A box on a floor, with an arm above it."""
    mb = sc.Multibody("box")
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    trunk = mb.add_body("trunk", None, sc.Free(), sc.Inertia(2.0, (0, 0, 0), 0.05 * np.eye(3)))
    trunk.add_geometry(sc.Geometry("hull", "box", (0.2, 0.1, 0.05)))
    at = sc.Pose(translation=(0, 0, 0.05))
    mb.add_body("arm", "trunk", sc.Pin((0, 1, 0)), sc.Inertia(0.3, (0, 0, 0.1), 0.01 * np.eye(3)), at)
    return mb


def connected(s: sim.System, *pairs: tuple[str, str]) -> sim.System:
    for source, target in pairs:
        s.connect(source, target)
    return s


def tumbling(every: float = 0.01) -> sim.System:
    """The box falls on an edge; a sampled controller with a noisy sensor moves the arm."""
    mb = box()
    mb.q = [0, 0.1, 0, np.sqrt(0.99), 0, 0, 0.3, 0.2]
    s = sim.System("tumbling", integrator="moreau", step=STEP)
    plant = s.add("box", sim.Plant(mb, forces=[sim.Contact(friction=MU, restitution=0.3)]))
    s.add("target", sim.Constant(value=0.3))
    s.add("sensor", sim.Sensor(deviation=0.01), every=every)
    s.add("control", sim.PD(kp=2.0, kd=0.1), every=every)
    s.add("motor", sim.Force(), at=plant.dof("arm"))
    return connected(
        s, ("box.q[arm]", "sensor.u"), ("sensor.y", "control.measured"), ("target.y", "control.target"),
        ("box.v[arm]", "control.rate"), ("control.command", "motor.command"),
    )  # fmt: skip


VARY = {"box.v[trunk.3]": U(-1, 1), "control.kp": U(1, 3), "target.value": U(-0.3, 0.3)}
WEIGHED = {**VARY, "box.trunk.mass": U(1.0, 3.0), "box.arm.inboard_z": U(0.04, 0.06)}
MEASURE = {"x": "box.q[4][-1]", "high": "max(box.q[6])", "w": "max(norm(box.v))", "u": "min(control.command)",
           "seen": "sensor.y[-1]", "tip": "box.q[arm][-1]"}  # fmt: skip


@pytest.mark.parametrize("vary", [VARY, WEIGHED], ids=["states", "model"])
def test_a_batch_has_the_bits_of_its_runs_one_by_one(tmp_path, vary):
    given = dict(seed=4, runs=4, t=0.6, vary=vary, measure=MEASURE, history={"z": "box.q[6]"})
    one = sim.Campaign(tumbling, folder(tmp_path, "one"), batch=0, **given)
    many = sim.Campaign(tumbling, folder(tmp_path, "many"), **given)
    one.run()
    many.run()
    assert "4 in batches of 512, 0 one by one" in many.status()
    for key in (*MEASURE, "t"):
        assert one.table()[key].tolist() == many.table()[key].tolist(), key
    assert np.array_equal(one.history("z")[1], many.history("z")[1])
    assert len(set(many.table()["x"])) == 4


def test_a_run_is_the_same_in_any_batch(tmp_path):
    tables = []
    for runs in (1, 3):
        c = sim.Campaign(tumbling, folder(tmp_path, str(runs)), seed=4, runs=runs, t=0.3, vary=WEIGHED, measure=MEASURE)
        c.run()
        tables.append(c.table().csv())
    assert tables[1].startswith(tables[0])


def test_boxes_slide_as_far_as_friction_lets_them(tmp_path):
    """v^2 / (2 mu g), whatever their mass; the steps put it off by first order."""
    mb = sc.Multibody("box")
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    block = mb.add_body("block", None, sc.Free(), sc.Inertia(2.0, (0, 0, -0.025), 0.05 * np.eye(3)))
    block.add_geometry(sc.Geometry("hull", "box", (0.4, 0.4, 0.05)))
    mb.q = [0, 0, 0, 1, 0, 0, 0.025]

    def make() -> sim.System:
        s = sim.System("sliding", integrator="moreau", step=0.001)
        s.add("box", sim.Plant(mb, forces=[sim.Contact(friction=MU)]))
        return s

    c = sim.Campaign(make, folder(tmp_path), seed=1, runs=6, t=0.5, measure={"x": "box.q[4][-1]", "v": "box.v[3][-1]"},
                     vary={"box.v[block.3]": U(0.5, 1.5), "box.block.mass": U(1.0, 5.0)})  # fmt: skip
    c.run()
    t = c.table()
    assert {x.how for x in t.rows} == {"batch"}
    v = t["box.v[block.3]"]
    np.testing.assert_allclose(t["x"], v**2 / (2.0 * MU * 9.80665), rtol=0, atol=0.001 * v.max())
    np.testing.assert_allclose(t["v"], 0.0, rtol=0, atol=1e-9)


class Pull(sim.Component):
    """A force that follows the motion between ticks."""

    v = sim.In("rad/s")

    @sim.output("N m", to="force")
    def force(v):
        return -v


class Wind:
    """A force element of a user."""

    name = "wind"

    def bind(self, mb):
        """It needs nothing of the model."""

    def force(self, t, state):
        return 0.1 * np.ones(len(state.v))


def in_wind() -> sim.System:
    s = sim.System("windy", integrator="moreau", step=STEP)
    s.add("box", sim.Plant(box(), forces=[Wind(), sim.Contact()]))
    return s


def two_boxes() -> sim.System:
    s = sim.System("two", integrator="moreau", step=STEP)
    s.add("a", sim.Plant(box(), forces=[sim.Contact()]))
    s.add("b", sim.Plant(box()))
    return s


class Tilted(sim.Component):
    """A crossing of a coordinate."""

    q = sim.In("rad")
    count = sim.Discrete(start=0.0)

    @sim.crossing()
    def tilts(q):
        return q - 0.25

    @sim.jump(count, at=tilts)
    def counted(count):
        return count + 1.0


def with_part(part: sim.Component, *pairs: tuple[str, str], at: str = "") -> sim.System:
    s = tumbling()
    s.add("part", part, **({"at": s.plants["box"].dof(at)} if at else {}))
    return connected(s, *pairs)


@pytest.mark.parametrize(
    ("make", "more", "why"),
    [
        (lambda: with_part(Pull(), ("box.v[arm]", "part.v"), at="arm"), {},
         "'part.force' acts on the plant and changes between ticks"),
        (lambda: with_part(Tilted(), ("box.q[arm]", "part.q")), {},
         "'part' has crossings, and in batches with contact components act at ticks alone"),
        (lambda: with_part(sim.LowPass(time_constant=0.1), ("target.y", "part.u")), {},
         "'part' has continuous states, and in batches with contact components act at ticks alone"),
        (tumbling, {"measure": {"a": "max(box.vdot[arm])"}},
         "'box.vdot' is used, and steps with contact have mean accelerations"),
        (in_wind, {}, "the plant 'box' has the force element 'wind', which may keep a state of one run"),
        (two_boxes, {}, "it has 2 plants, and a stepper moves one"),
        (tumbling, {"t": 0.0123}, "its runs do not end where a step does"),
        (lambda: tumbling(every=0.0075), {}, "'control' ticks within steps"),
    ],
)  # fmt: skip
def test_the_reason_why_runs_with_contact_go_one_by_one(tmp_path, make, more, why):
    c = sim.Campaign(make, folder(tmp_path), **({"runs": 2, "t": 0.1} | more))
    assert f"one by one: {why}" in c.status()


def test_runs_that_begin_in_the_floor_are_named(tmp_path):
    """No batch begins with shapes in each other; single runs take them out."""

    def make() -> sim.System:
        mb = sc.Multibody("ball")
        mb.root.add_geometry(sc.Geometry("floor", "plane"))
        ball = mb.add_body("ball", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), 0.01 * np.eye(3)))
        ball.add_geometry(sc.Geometry("ball", "sphere", (0.05,)))
        mb.q = [0.3]
        s = sim.System("falling", integrator="moreau", step=STEP)
        s.add("drop", sim.Plant(mb, forces=[sim.Contact()]))
        return s

    heights = sim.Grid((0.3, 0.4, 0.049))
    c = sim.Campaign(make, folder(tmp_path), runs=3, t=0.05, measure={"z": "drop.q[0][-1]"},
                     vary={"drop.q[ball]": heights})  # fmt: skip
    c.run()
    rows = c.table().rows
    assert all(x.how.startswith("single: the batch stopped: ") for x in rows)
    assert "state 2 of the stepper begins with 'ball/ball' and 'inertial/floor' 0.001 m in each other" in rows[0].how
    assert c.table()["status"].tolist() == ["ok"] * 3


def test_a_run_that_cannot_go_on_leaves_the_batch(tmp_path):
    """It spins so fast that a step turns it by more than its chart allows: it fails by itself, and the others stay."""
    c = sim.Campaign(tumbling, folder(tmp_path), runs=3, t=0.1, measure={"z": "box.q[6][-1]"},
                     vary={"box.v[trunk.2]": sim.Grid((0.0, 900.0, 1.0))})  # fmt: skip
    c.run()
    rows = c.table().rows
    assert [x.status for x in rows] == ["ok", "failed", "ok"]
    assert [x.how == "batch" for x in rows] == [True, False, True]
    assert rows[1].how.startswith("single: state 1 of the stepper of 'box' stopped at t = 0 s")
    assert "turns a hinge" in rows[1].text


def test_force_elements_that_compiled_code_knows(tmp_path):
    """Smooth motions under a limit that yields, which batches of smooth motions do not know."""

    def make() -> sim.System:
        s = sim.System("limited", integrator="rk4", step=0.002)
        stop = sim.JointLimit("upper", stiffness=200.0, damping=1.0, lower=-0.1, upper=0.1)
        plant = s.add("arm", sim.Plant(sc.load("double_pendulum"), forces=[stop]))
        s.add("push", sim.Constant(value=1.0))
        s.add("motor", sim.Force(), at=plant.dof("lower"))
        return connected(s, ("push.y", "motor.command"))

    given = dict(runs=3, t=0.5, seed=1, vary={"push.value": U(3, 6)}, measure={"q": "max(abs(arm.q[upper]))"})
    one, many = (sim.Campaign(make, folder(tmp_path, str(x)), batch=x, **given) for x in (0, "auto"))
    one.run()
    many.run()
    assert "3 in batches of 512" in many.status()
    np.testing.assert_allclose(one.table()["q"], many.table()["q"], rtol=1e-12)
    assert one.table()["q"].max() > 0.1  # the limit has yielded
