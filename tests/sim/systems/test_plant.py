"""What a plant is, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import ModelError, WiringError


def test_what_is_refused():
    with pytest.raises(ModelError, match="a Plant takes a Multibody, got 3"):
        sim.Plant(3)
    with pytest.raises(ModelError, match=r"solver must be one of 'auto', 'tree', 'ta', 'fa', 'ce' or .*, got 'fast'"):
        sim.Plant(sc.load("pendulum"), solver="fast")
    mb = sc.load("pendulum")
    with pytest.raises(WiringError, match=r"this Plant is in no system yet: s.add\('arm', plant\)"):
        assert sim.Plant(mb).q
    s = sim.System("s", integrator="rk4", step=0.1)
    bob = s.add("bob", sim.Plant(mb))
    with pytest.raises(WiringError, match=r"of='speed' is nothing that a dof has"):
        bob.dof("bob").source("speed")
    with pytest.raises(WiringError, match=r"of='acceleration' is nothing that a node has"):
        bob.node("bob").source("acceleration")
    with pytest.raises(WiringError, match=r"to='torque' is nothing that a dof takes"):
        bob.dof("bob").target("torque")


def test_a_dof_without_a_coordinate_of_its_own():
    s = sim.System("s", integrator="rk4", step=0.1)
    top = s.add("top", sim.Plant(sc.load("top")))
    s.add("seen", sim.Gain(gain=1.0))
    s.connect(f"top.q[{top.mb.dof_names[0]}]", "seen.u")
    with pytest.raises(WiringError, match=r"has no single coordinate; take top.q"):
        s.check()


def test_every_push_on_a_node_is_power_at_the_node():
    """The generalized force of a wrench does the work of the wrench, for forces, moments and both."""
    mb = sc.load("double_pendulum")
    mb.set_state([0.3, 0.5], [1.0, -2.0])
    node = mb.bodies[-1].name
    push = {"force": (1.0, 2.0, 3.0), "moment": (0.5, -1.0, 2.0), "wrench": (0.5, -1.0, 2.0, 1.0, 2.0, 3.0)}
    for kind, value in push.items():
        s = sim.System("s", integrator="rk4", step=1e-3)
        s.add("arm", sim.Plant(mb))
        s.add("push", sim.Constant(value=value))
        s.connect("push.y", f"arm.node_{kind}[{node}]")
        run = s.run(1e-3)
        mb.set_state([0.3, 0.5], [1.0, -2.0])
        moving = mb.velocity(mb.frame(node), state=mb.state(run.q[0], run.v[0]))
        linear, angular = np.asarray(moving.linear), np.asarray(moving.angular)
        known = {
            "force": linear @ push["force"],
            "moment": angular @ push["moment"],
            "wrench": linear @ push["force"] + angular @ push["moment"],
        }
        assert run.forces["push.y"][0] @ run.v[0] == pytest.approx(known[kind], rel=1e-12)


def test_pushes_on_one_dof_add_up_and_keep_their_names():
    mb = sc.load("pendulum")
    s = sim.System("s", integrator="rk4", step=0.01)
    bob = s.add("bob", sim.Plant(mb, forces=[sim.Drag("bob/tip", linear=0.5)]))
    for name, value in (("a", 1.0), ("b", 2.5)):
        s.add(name, sim.Constant(value=value))
        s.add(f"drive_{name}", sim.Force(), at=bob.dof("bob"))
        s.connect(f"{name}.y", f"drive_{name}.command")
    s.connect("a.y", "bob.force[bob]")
    run = s.run(0.5)
    assert {"a.y", "drive_a.force", "drive_b.force"} < set(run.forces)
    assert run.vdot[0, 0] == pytest.approx(4.5, rel=1e-12)
    total = sum(x[-1] for x in run.work.values())
    assert total == pytest.approx(run.energy[-1] - run.energy[0], rel=1e-6)
    assert run.work[next(x for x in run.work if "drag" in x)][-1] < 0.0


@pytest.mark.parametrize("solver", ["ta", "ce"])
def test_a_closed_chain_in_a_system_moves_as_by_its_propagator(solver):
    def model():
        mb = sc.load("five_bar")
        mb.q = sc.loops.TreeAugmented(mb).assemble(mb.q)
        return mb

    name = model().dof_names[0]
    s = sim.System("s", integrator="rk4", step=1e-3)
    plant = s.add("bar", sim.Plant(model(), solver=solver))
    s.add("push", sim.Constant(value=0.01))
    s.add("drive", sim.Force(), at=plant.dof(name))
    s.connect("push.y", "drive.command")
    run = s.run(0.02)
    p = sim.Propagator(model(), solver=solver, integrator="rk4", step=1e-3)
    p.control(name, 0.01)
    other = p.advance_to(0.02)
    assert np.abs(run.q - other.q).max() < 1e-11
    assert run.violation.max() < 1e-9


def lag(t, size=0.5, w=2 * np.pi, tau=0.1):
    """What a lag of a sine gives, from rest."""
    A = size / (1 + (w * tau) ** 2)
    return A * (np.sin(w * t) - w * tau * np.cos(w * t)) + A * w * tau * np.exp(-t / tau)


@pytest.mark.parametrize("how", [{"integrator": "dop853"}, {"integrator": "rk4", "step": 2e-3}])
@pytest.mark.parametrize(
    "make",
    [lambda: sim.HingeFriction("bob", coulomb=1.5), lambda: sim.JointLimit("bob", lower=-0.5, upper=1.2)],
    ids=["friction", "limit"],
)
def test_what_sticks_or_leans_acts_as_in_a_propagator(make, how):
    models = [sc.load("pendulum") for _ in range(2)]
    for mb in models:
        mb.set_state([1.0], [0.0])
    s = sim.System("s", **how)
    s.add("p", sim.Plant(models[0], forces=[make()]))
    s.add("wave", sim.Sine(frequency=1.0, amplitude=0.5))
    s.add("lag", sim.LowPass(time_constant=0.1))
    s.connect("wave.y", "lag.u")
    s.connect("lag.y", "p.force[bob]")
    run = s.run(2.0)
    p = sim.Propagator(models[1], **how)
    p.add(make(), lambda t, state: np.array([lag(t)]))
    other = p.advance_to(2.0)
    assert run.q[-1] == pytest.approx(other.q[-1], abs=1e-8)
    assert [x.name for x in run.events] == [x.name for x in other.events]
    assert run.events
    assert run.check().imbalance < 1e-9


def ball(height: float = 1.1):
    mb = sc.Multibody("ball")
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    body = mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0, moment=0.004 * np.eye(3)))
    body.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    mb.set_state([0, 0, 0, 1, 0, 0, height], np.zeros(6))
    return mb


class Wind:
    """A force element: it is evaluated at every stage, as components are, where a function is held for a step."""

    name = "wind"

    def bind(self, mb):
        self._mb = mb

    def force(self, t, state):
        push = sc.Wrench((0, 0, 0), (1 - np.exp(-t / 0.1), 0, 0), expressed_in="inertial")
        return sc.dynamics.compensating_force(self._mb, state.q, {"ball": push})


@pytest.mark.parametrize(
    ("make", "how"),
    [
        (lambda: sim.Contact(restitution=0.5, friction=0.3), {"integrator": "moreau", "step": 2e-3}),
        (lambda: sim.Impacts(restitution=0.5), {"integrator": "rk4", "step": 2e-3}),
    ],
    ids=["contact", "impacts"],
)
def test_what_strikes_acts_as_in_a_propagator_with_states_carried_along(make, how):
    models = ball(0.4), ball(0.4)
    s = sim.System("s", **how)
    s.add("p", sim.Plant(models[0], forces=[make()]))
    s.add("wind", sim.Constant(value=(1.0, 0.0, 0.0)))
    s.add("lag", sim.LowPass(time_constant=0.1, size=3))
    s.connect("wind.y", "lag.u")
    s.connect("lag.y", "p.node_force[ball]")
    run = s.run(0.4)
    p = sim.Propagator(models[1], **how)
    p.add(make(), Wind())
    assert run.q[-1] == pytest.approx(p.advance_to(0.4).q[-1], abs=1e-7)
    assert run.v[:, 5].max() > 1.0  # it bounced
    assert run.signals["lag.y"][-1, 0] == pytest.approx(1 - np.exp(-4.0), abs=1e-6)
    assert run.check().imbalance < 1e-6


def test_contact_between_two_plants():
    """A ball that falls on one that lies on the floor of another plant comes to rest on it."""
    upper = sc.Multibody("upper")
    body = upper.add_body("ball", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0))
    body.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    upper.set_state([0.35], [0.0])
    lower = sc.Multibody("lower")
    lower.root.add_geometry(sc.Geometry("floor", "plane"))
    under = lower.add_body("ball", None, sc.Prismatic((0, 0, 1)), sc.Inertia(2.0))
    under.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    lower.set_state([0.1], [0.0])
    s = sim.System("s", integrator="moreau", step=1e-3)
    s.add("a", sim.Plant(lower, forces=[sim.Contact()]))
    s.add("b", sim.Plant(upper))
    s.run(0.3)
    assert lower.q[0] == pytest.approx(0.1, abs=1e-4)
    assert upper.q[0] == pytest.approx(0.3, abs=1e-4)
    s = sim.System("s", integrator="moreau", step=1e-3)
    s.add("a", sim.Plant(ball(), forces=[sim.Contact()]))
    s.add("b", sim.Plant(ball(), forces=[sim.Contact()]))
    with pytest.raises(
        WiringError, match=r"'a' and 'b' have a sim.Contact each, and one acts between the shapes of all"
    ):
        s.check()
    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("a", sim.Plant(ball(), forces=[sim.Impacts()]))
    s.add("b", sim.Plant(ball()))
    with pytest.raises(WiringError, match=r"of 'a' sticks, leans or strikes, which is known in a system of one plant"):
        s.check()


class Swing(sim.Component):
    """An angle, its rate and its acceleration: sin(2 t) / 2."""

    @sim.output(shape=(3,), to="motion")
    def motion(t):
        return np.array([0.5 * np.sin(2 * t), np.cos(2 * t), -2.0 * np.sin(2 * t)])


@pytest.mark.parametrize("how", [{"integrator": "rk4", "step": 1e-2}, {"integrator": "dop853"}])
def test_a_dof_moves_as_a_signal_tells(how):
    models = [sc.load("double_pendulum") for _ in range(2)]
    s = sim.System("s", **how)
    arm = s.add("arm", sim.Plant(models[0]))
    s.add("swing", Swing(), at=arm.dof("upper"))
    run = s.run(1.0)
    p = sim.Propagator(models[1], **how)
    p.prescribe("upper", lambda t: Swing.motion(t))
    other = p.advance_to(1.0)
    assert run.q[:, 0] == pytest.approx(0.5 * np.sin(2 * run.t), abs=1e-14)
    assert run.q[-1] == pytest.approx(other.q[-1], abs=1e-9)
    assert run.forces["prescribed"][-1, 0] == pytest.approx(other.forces["prescribed"][-1, 0], rel=1e-7)
    assert run.check().imbalance < 1e-5
    assert run.at(0.505).q[0] == pytest.approx(0.5 * np.sin(1.01), abs=1e-12)


def test_motions_that_are_refused():
    s = sim.System("s", integrator="rk4", step=0.01)
    arm = s.add("arm", sim.Plant(sc.load("double_pendulum")))
    s.add("swing", Swing(), at=arm.dof("upper"))
    s.add("more", Swing(), at=arm.dof("upper"))
    with pytest.raises(WiringError, match=r"'arm.motion\[upper\]' has two writers, 'more.motion' and 'swing.motion'"):
        s.check()
    s = sim.System("s", integrator="rk4", step=0.01)
    arm = s.add("arm", sim.Plant(sc.load("double_pendulum")))
    s.add("copy", sim.Gain(gain=1.0, size=3))
    s.connect("arm.position[lower]", "copy.u")
    s.connect("copy.y", "arm.motion[upper]")
    with pytest.raises(WiringError, match=r"the motion of 'upper' depends at once on 'arm.q'"):
        s.check()
    s = sim.System("s", integrator="rk4", step=0.01)
    s.add("top", sim.Plant(sc.load("top")))
    s.add("swing", Swing())
    s.connect("swing.motion", f"top.motion[{s._plants['top'].mb.dof_names[0]}]")
    with pytest.raises(WiringError, match="has no single coordinate"):
        s.check()
    s = sim.System("s", integrator="rk4", step=0.01)
    s.add("arm", sim.Plant(sc.load("pendulum")))
    s.add("one", sim.Constant(value=1.0))
    s.connect("one.y", "arm.moment[bob]")
    with pytest.raises(
        WiringError, match=r"arm.moment is no input: of inertias the mass alone is one, arm.mass\[body\]"
    ):
        s.check()


def test_accelerations_at_the_start_are_those_of_a_given_motion():
    s = sim.System("s", integrator="rk4", step=0.01)
    mb = sc.load("double_pendulum")
    mb.set_state([0.0, 0.3], [1.0, 0.0])
    arm = s.add("arm", sim.Plant(mb))
    s.add("swing", Swing(), at=arm.dof("upper"))
    assert s.state_now().vdot[0] == 0.0
    assert s.run(0.01).vdot[0, 0] == 0.0
