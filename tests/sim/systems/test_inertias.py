"""Inertias of bodies as outputs, and the pull of a planet, which is made of them."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import WiringError
from soacraft.model.samples.random_models import random_inertia, random_pose
from soacraft.spatial.rotations import exp, matrix_to_quaternion

MU, ORBIT = 3.986004418e14, 7.0e6


def craft():
    """A free hub with a node off its frame, a boom on a pin, and a second stage that is welded to it."""
    mb = sc.Multibody("craft", gravity=(0, 0, 0))
    hub = mb.add_body("hub", None, sc.Free(), random_inertia(1))
    hub.add_node("tip", random_pose(2))
    mb.add_body("boom", hub, sc.Pin((0, 1, 0)), random_inertia(3), random_pose(4))
    mb.add_body("stage", hub, sc.Weld(), random_inertia(5), random_pose(6))
    q, v = mb.random_state(7)
    q = np.array(q)
    q[4:7] = 40.0, 10.0, -20.0
    mb.set_state(q, 0.1 * np.asarray(v))
    return mb


def pulled(mb, mu=3.0e4, **how):
    s = sim.System("s", **({"integrator": "rk4", "step": 1e-2} | how))
    plant = s.add("craft", sim.Plant(mb))
    for body in mb.bodies:
        at = "hub/tip" if "hub/tip" in mb and body.name == "hub" else body
        s.add(f"pull_{body.name}", sim.PointGravity(mu=mu), at=plant.node(at))
    return s


def field(mb, mu=3.0e4, **how):
    s = sim.System("s", **({"integrator": "rk4", "step": 1e-2} | how))
    s.add("craft", sim.Plant(mb, forces=[sim.GravityField(lambda t, r: -mu * r / np.linalg.norm(r) ** 3)]))
    return s


def test_outputs_are_the_inertia_of_the_body_in_axes_of_the_node():
    mb = craft()
    s = pulled(mb)
    for port, size in (("mass", None), ("center_of_mass", 3)):
        s.add(port, sim.Gain(gain=1.0, **({} if size is None else {"size": size})))
        s.connect(f"craft.{port}[hub/tip]", f"{port}.u")
    run = s.run(0.01)
    node, inertia = mb["hub/tip"], mb["hub"].inertia
    assert run.signals["mass.y"][-1] == inertia.mass
    seen = node.offset.rotation @ run.signals["center_of_mass.y"][-1] + node.offset.translation
    assert np.allclose(seen, inertia.com, rtol=0, atol=1e-14)


def test_the_moment_of_the_gradient_on_a_satellite():
    """3 mu / r^3 e x I e, 6.926e-6 N m at 7,000 km of I = (100, 120, 40) turned by 0.1 rad."""
    R, moment = exp(np.array([0.0, 0.0, 0.1])), np.diag([100.0, 120.0, 40.0])
    at = np.array([ORBIT, 0.0, 0.0])
    wrench = sim.PointGravity.wrench(sim.PointGravity(mu=MU).p, at, R, 500.0, np.zeros(3), moment)
    e = at / ORBIT
    due = 3.0 * MU / ORBIT**3 * np.cross(e, R @ moment @ R.T @ e)
    assert np.linalg.norm(due) == pytest.approx(6.926e-6, rel=1e-4)
    assert np.allclose(wrench[:3], due, rtol=0, atol=1e-12 * np.linalg.norm(due))
    assert np.linalg.norm(wrench[3:]) == pytest.approx(500.0 * MU / ORBIT**2, rel=1e-12)


@pytest.mark.parametrize("compiled", [True, False])
def test_the_pull_of_a_point_is_that_of_its_field(compiled):
    """Each body with the mass, centre and moment of the model, at nodes anywhere on it; compiled or not."""
    a, b = craft(), craft()
    s = pulled(a)
    assert s._compiled()[2].obstacle == ""
    if not compiled:
        s._compiled()[2].obstacle = "it is compared"
    one, other = s.run(0.3), field(b).run(0.3)
    assert np.abs(one.q[-1] - one.q[0]).max() > 0.02
    assert np.allclose(one.q[-1], other.q[-1], rtol=0, atol=1e-8)
    assert np.allclose(one.v[-1], other.v[-1], rtol=0, atol=1e-8)
    assert sum(x[-1] for x in one.work.values()) == pytest.approx(other.work["gravity field"][-1], rel=1e-6)
    assert one.check().imbalance < 1e-8 * one.energy.max()


def test_bodies_that_part_fall_with_masses_of_their_own():
    """After a stage is detached momentum grows by the pull on each body, as the model has it then."""
    s = pulled(craft())
    s.run(0.5)
    s._plants["craft"].detach("stage", mounted="follow")
    mb = s._plants["craft"].mb
    before, first = _momentum(mb), _pull(mb)
    s.run(0.52)
    grown = _momentum(mb) - before
    due = 0.01 * (first + _pull(mb))  # of second order in the time
    assert np.allclose(grown, due, rtol=0, atol=1e-4 * np.linalg.norm(due))


def _pull(mb, mu=3.0e4):
    """The sum of the pulls at centres of mass."""
    total = np.zeros(3)
    for body in mb.bodies:
        pose = mb.pose(body)
        r = pose.translation + pose.rotation @ body.inertia.com
        total -= mu * body.inertia.mass * r / np.linalg.norm(r) ** 3
    return total


def _momentum(mb):
    total = np.zeros(3)
    for body in mb.bodies:
        V = mb.velocity(body)
        lever = mb.pose(body).rotation @ body.inertia.com
        total += body.inertia.mass * (np.asarray(V.linear) + np.cross(V.angular, lever))
    return total


def test_a_burn_changes_the_pull_at_once_and_not_the_fall():
    """The acceleration of a body that loses mass stays that of gravity: pull and inertia have the same mass, at every
    stage; the model's own field gives the same."""

    class Tank(sim.Component):
        @sim.output("kg")
        def mass(t):
            return 10.0 - 4.0 * t

    def falling(make):
        mb = sc.Multibody("craft", gravity=(0, 0, 0))
        mb.add_body("hub", None, sc.Free(), sc.Inertia(10.0, (0.1, 0.2, 0.0), np.diag([3.0, 2.0, 1.5])))
        R = exp(np.array([0.3, 0.1, -0.4]))
        mb.set_state([*matrix_to_quaternion(R), 8.0, 0, 0], [0.1, 0.2, 0.0, 0, 0.3, 0])
        s = make(mb, mu=30.0, step=0.05)
        s.add("tank", Tank())
        s.connect("tank.mass", "craft.mass[hub]")
        return s.run(2.0)

    one, other = falling(pulled), falling(field)
    still = sc.Multibody("craft", gravity=(0, 0, 0))
    still.add_body("hub", None, sc.Free(), sc.Inertia(10.0, (0.1, 0.2, 0.0), np.diag([3.0, 2.0, 1.5])))
    R = exp(np.array([0.3, 0.1, -0.4]))
    still.set_state([*matrix_to_quaternion(R), 8.0, 0, 0], [0.1, 0.2, 0.0, 0, 0.3, 0])
    whole = field(still, 30.0, step=0.05).run(2.0)
    assert np.allclose(one.q[-1], whole.q[-1], rtol=0, atol=1e-7)  # all are scaled by the mass
    assert np.allclose(other.q[-1], whole.q[-1], rtol=0, atol=1e-7)
    assert one.check().imbalance < 1e-6 * np.abs(one.energy).max()


def test_an_inertia_that_is_changed_between_runs_is_read_again():
    mb = sc.Multibody("craft", gravity=(0, 0, 0))
    mb.add_body("hub", None, sc.Prismatic((1, 0, 0)), sc.Inertia(10.0))
    mb.set_state([10.0], [0.0])
    s = pulled(mb, mu=100.0)
    assert s.run(0.01).forces["pull_hub.wrench"][-1] == pytest.approx([-10.0], rel=1e-4)
    mb["hub"].inertia = sc.Inertia(4.0)
    assert s.run(0.02).forces["pull_hub.wrench"][-1] == pytest.approx([-4.0], rel=1e-4)


def test_bodies_of_two_plants_have_their_own_masses():
    s = sim.System("s", integrator="rk4", step=1e-2)
    for name, mass in (("a", 2.0), ("b", 5.0)):
        mb = sc.Multibody(name, gravity=(0, 0, 0))
        mb.add_body("hub", None, sc.Prismatic((1, 0, 0)), sc.Inertia(mass))
        mb.set_state([10.0], [0.0])
        plant = s.add(name, sim.Plant(mb))
        s.add(f"pull_{name}", sim.PointGravity(mu=100.0), at=plant.node("hub"))
    run = s.run(0.01)
    assert run.forces["pull_a.wrench"][0] == pytest.approx([-2.0, 0.0])
    assert run.forces["pull_b.wrench"][0] == pytest.approx([0.0, -5.0])


def test_two_planets_pull_every_body():
    """The pulls of two places add up; one that leaves a body out is refused."""
    mb = craft()
    s = pulled(mb)
    for body in mb.bodies[:2]:
        s.add(f"moon_{body.name}", sim.PointGravity(mu=100.0, center=(90.0, 0.0, 0.0)), at=s.plants["craft"].node(body))
    with pytest.raises(WiringError, match=r"nothing like it pulls 'stage', which has mass"):
        s.check()
    s.add("moon_stage", sim.PointGravity(mu=100.0, center=(90.0, 0.0, 0.0)), at=s.plants["craft"].node("stage"))
    s.check()


def test_what_is_refused():
    mb = craft()
    s = sim.System("s", integrator="rk4", step=1e-2)
    plant = s.add("craft", sim.Plant(mb))
    s.add("pull", sim.PointGravity(mu=3.0), at=plant.node("hub"))
    s.add("again", sim.PointGravity(mu=3.0), at=plant.node("hub/tip"))
    with pytest.raises(WiringError) as told:
        s.check()
    assert "'again' and 'pull' both pull 'hub', by the same: gravity acts once." in str(told.value)
    assert "'pull' pulls a body of 'craft', and nothing like it pulls 'boom', which has mass" in str(told.value)
    assert "sim.PointGravity(mu=...), at=plant.node(body))" in str(told.value)
    with pytest.raises(WiringError, match=r"PointGravity has no parameter 'mass'"):
        sim.PointGravity(mu=3.0, mass=10.0)
    s = sim.System("s", integrator="rk4", step=1e-2)
    s.add("craft", sim.Plant(craft()))
    s.add("seen", sim.Gain(gain=1.0))
    s.connect("craft.mass[inertial]", "seen.u")
    with pytest.raises(WiringError, match=r"craft.mass\[inertial\]: 'inertial' is on the ground, which has no inertia"):
        s.check()
