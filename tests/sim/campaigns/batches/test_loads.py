"""Force elements of plants in batches: the rows of runs one by one, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.campaigns.makers import folder

import soacraft as sc
from soacraft import sim


def thrown(*forces, gravity=(0.0, 0.0, -9.81)):
    mb = sc.Multibody("ball", gravity=gravity)
    body = mb.add_body("ball", inertia=sc.Inertia.box(2.0, (0.1, 0.2, 0.3)), hinge=sc.Free())
    body.add_node("tip", sc.Pose.from_rpy(0.3, 0.2, 0.1, translation=(0.1, 0.2, 0.3)))
    mb.set_state([0, 0, 0, 1, 5.0, 1.0, 0], [1.0, 2.0, 0.5, 10.0, 0.0, 20.0])
    s = sim.System("throw", integrator="rk4", step=0.02)
    s.add("ball", sim.Plant(mb, forces=forces))
    return s


def dragged():
    return thrown(sim.Drag("ball/tip", linear=0.1, quadratic=0.02, turning=0.01))


def pulled():
    return thrown(sim.GravityField(lambda t, r: -0.1 * np.asarray(r) * (1.0 + np.sin(t))), sim.Drag("ball", linear=0.1))


@pytest.mark.parametrize("make", [dragged, pulled])
def test_a_batch_has_the_rows_of_its_runs_one_by_one(tmp_path, make):
    vary = {"ball.v[ball.3]": sim.Uniform(10.0, 20.0)}
    if make is dragged:
        vary["ball.ball.mass"] = sim.Uniform(1.0, 3.0)
    given = dict(seed=3, runs=3, t=0.4, vary=vary,
                 measure={"x": "ball.q[4][-1]", "v": "max(norm(ball.v))", "a": "norm(ball.vdot)[-1]"})  # fmt: skip
    one = sim.Campaign(make, folder(tmp_path, "one"), batch=0, **given)
    many = sim.Campaign(make, folder(tmp_path, "many"), **given)
    one.run()
    many.run()
    assert "3 in batches of 512, 0 one by one" in many.status()
    for x in given["measure"]:
        assert np.allclose(one.table()[x], many.table()[x], rtol=1e-11), x


def test_drag_slows_as_it_must(tmp_path):
    """v = v0 exp(-c t / m), with masses of the runs."""
    make = lambda: thrown(sim.Drag("ball", linear=0.5), gravity=(0, 0, 0))  # noqa: E731
    c = sim.Campaign(make, folder(tmp_path), runs=5, t=1.0, vary={"ball.ball.mass": sim.Uniform(1.0, 5.0),
                     "ball.v[ball.0]": sim.Grid((0.0,)), "ball.v[ball.1]": sim.Grid((0.0,)),
                     "ball.v[ball.2]": sim.Grid((0.0,))},
                     measure={"v": "ball.v[ball.3][-1]"})  # fmt: skip
    c.run()
    assert "5 in batches" in c.status()
    assert np.allclose(c.table()["v"], 10.0 * np.exp(-0.5 / c.table()["ball.ball.mass"]), rtol=1e-8)


class Wave(sim.Component):
    """A force that changes between ticks."""

    @sim.output("N", to="force", shape=(3,))
    def force(t):
        return np.array([np.sin(9.0 * t), 0.0, 0.0])


def waved():
    s = pulled()
    s.add("wave", Wave(), at=s.plants["ball"].node("ball"))
    return s


def test_fields_of_gravity_take_the_inertias_of_one_model(tmp_path):
    c = sim.Campaign(waved, folder(tmp_path), runs=2, t=0.1, vary={"ball.ball.mass": sim.Uniform(1, 2)})
    assert "the plant 'ball' has the force element 'gravity field', which takes the inertias of one model" in c.status()


def test_fields_of_gravity_take_the_inertias_of_each_run_where_no_component_acts(tmp_path):
    given = dict(seed=1, runs=3, t=0.3, vary={"ball.ball.mass": sim.Uniform(1, 4)}, measure={"x": "ball.q[4][-1]"})
    one = sim.Campaign(pulled, folder(tmp_path, "one"), batch=0, **given)
    many = sim.Campaign(pulled, folder(tmp_path, "many"), **given)
    one.run()
    many.run()
    assert "3 in batches of 512, 0 one by one" in many.status()
    assert one.table()["x"].tolist() == many.table()["x"].tolist()
    assert np.ptp(one.table()["x"]) > 1e-3


def test_force_elements_of_one_plant_of_several_go_one_by_one(tmp_path):
    def make():
        s = dragged()
        s.add("other", sim.Plant(sc.load("pendulum")))
        return s

    c = sim.Campaign(make, folder(tmp_path), runs=2, t=0.1)
    assert "has the force element 'drag at ball/tip', and is not the only plant" in c.status()
