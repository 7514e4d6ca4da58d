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
    mb = sc.load("pendulum")
    with pytest.raises(ModelError, match=r"sticks, leans or strikes: in a system such a force is not known yet"):
        sim.Plant(mb, forces=[sim.HingeFriction("bob", coulomb=1.0)])
    with pytest.raises(ModelError, match=r"sticks, leans or strikes"):
        sim.Plant(mb, forces=[sim.Impacts()])
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
    with pytest.raises(WiringError, match=r"has no coordinate of its own; take top.q"):
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


def test_a_structure_that_changes_during_a_run_is_refused():
    mb = sc.load("pendulum")
    s = sim.System("s", integrator="rk4", step=0.01)
    s.add("bob", sim.Plant(mb))
    s.run(0.02)
    mb.add_body("more", "bob", sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, 0.1), np.eye(3)))
    with pytest.raises(sc.errors.StaleError, match=r"the structure of 'pendulum' changed .* bob.detach"):
        s.run(0.04)
