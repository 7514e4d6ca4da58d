"""Reactions of hinges and closures along a run: closed forms, weights, and the rate of momentum of what is cut free."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.chains import ball_jointed_four_bar, four_bar, slider_crank

import soacraft as sc
from soacraft import sim
from soacraft.errors import ModelError, StateError

G = 9.81


def pendulum(angle, rate=0.0, **options):
    mb = sc.load("pendulum")  # 1 kg at 1 m
    mb.set_state([angle], [rate])
    return sim.Propagator(mb, **({"rtol": 1e-11} | options))


def momentum_rate(run, mb, t, h=3e-4):
    """The rate of [angular; linear] momentum about the inertial origin, by differences of order six."""
    total = 0.0
    for k, c in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60)):
        a, b = run.at(t + k * h), run.at(t - k * h)
        total = total + c * (
            np.asarray(sc.dynamics.momentum(mb, a.q, a.v)) - np.asarray(sc.dynamics.momentum(mb, b.q, b.v))
        )
    return total / h


def about_origin(run, mb, name, t):
    """A reaction about the inertial origin, in inertial axes."""
    return np.asarray(run.reactions(name, mb.root, "inertial", t=t))


def weights(mb, sample):
    """The wrench of all weights about the inertial origin."""
    total = 0.0
    for body in mb.bodies:
        pose = mb.pose(body, state=mb.state(sample.q, sample.v))
        r = np.asarray(pose.translation) + np.asarray(pose.rotation) @ body.inertia.com
        force = body.inertia.mass * np.asarray(mb.gravity)
        total = total + np.concatenate([np.cross(r, force), np.broadcast_to(force, r.shape)], axis=-1)
    return total


def test_the_tension_of_a_pendulum():
    """m g cos q + m l v^2 along the rod, nothing across it: at rows and between."""
    run = pendulum(1.2).advance_to(2.0)
    for sample, found in ((run, run.reactions("bob")), (s := run.at(np.linspace(0, 2, 77)), s.reactions("bob"))):
        force = found[:, 3:]
        along = G * np.cos(sample.q[:, 0]) + sample.v[:, 0] ** 2
        across = np.linalg.norm(force, axis=1) ** 2 - along**2
        # across the rod a point mass is accelerated by gravity alone
        np.testing.assert_allclose(across, 0.0, atol=1e-7)
    assert run.reactions("bob").shape == (len(run), 6)
    assert run.reactions("bob", t=0.5).shape == (6,)
    assert run.reactions("bob", t=[[0.1], [0.2]]).shape == (2, 1, 6)


def test_a_motor_is_part_of_its_hinge():
    """Level and held by a motor: its moment is m g l."""
    p = pendulum(np.pi / 2)
    p.control("bob", G)
    run = p.advance_to(0.3)
    at_hinge = run.reactions("bob", expressed_in="inertial")
    np.testing.assert_allclose(run.q[:, 0], np.pi / 2, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(at_hinge[:, :3], axis=1), G, atol=1e-9)
    np.testing.assert_allclose(at_hinge[:, 3:], [[0, 0, G]] * len(run), atol=1e-9)


def test_a_chain_at_rest_hangs_by_its_weight():
    mb = sc.Multibody("chain", gravity=(0, 0, -G))
    parent = None
    for i in range(4):
        place = sc.Pose(translation=(0, 0, -0.5 if i else 0.0))
        parent = mb.add_body(
            f"link{i}", parent, sc.Pin((1, 0, 0)), sc.Inertia(i + 1.0, (0, 0, -0.25), np.eye(3)), place
        )
    run = sim.Propagator(mb, integrator="rk4", step=0.01).advance_to(0.1)
    for i, below in enumerate((10.0, 9.0, 7.0, 4.0)):
        wanted = [[0, 0, 0, 0, 0, below * G]] * len(run)
        np.testing.assert_allclose(run.reactions(f"link{i}", expressed_in="inertial"), wanted, atol=1e-10)


def test_reactions_of_a_tree_are_the_rate_of_its_momentum():
    """With drag, a push at a node, a field of gravity, a spring, friction and a control."""
    mb = sc.load("double_pendulum")
    mb.set_state([0.7, -0.4], [1.0, 2.0])
    mb["lower"].add_node("side", sc.Pose(translation=(0.3, 0.2, -0.4)))
    mb["upper"].passive = sc.Passive(stiffness=[3.0], damping=[0.2])
    loads = [sim.Drag("lower/side", linear=0.7, turning=0.1)]
    loads.append(sim.GravityField(lambda t, r: np.array([0.3, 0.0, 0.2]) - 0.1 * r))

    def push(t, state):
        return {"lower/side": sc.Wrench((0.1, 0.2, 0), (np.sin(t), 1.0, -0.5)), "upper": np.arange(6.0)}

    p = sim.Propagator(mb, rtol=1e-12)
    p.add(push, *loads, sim.HingeFriction("lower", 0.3, smooth=0.1))
    p.control("lower", lambda t, state: np.cos(5 * t))
    mb.set_force("upper", sc.Wrench((0, 0, 0), (0.0, 2.0, 1.0), expressed_in="inertial"))
    run = p.advance_to(0.5)
    t = np.linspace(0.05, 0.45, 4)
    sample = run.at(t)
    base = about_origin(run, mb, "upper", t)
    external = weights(mb, sample)
    for i, (q, v) in enumerate(zip(sample.q, sample.v, strict=True)):
        state = mb.state(q, v)
        for wrenches in (push, *(x.wrenches for x in loads)):
            for node, w in wrenches(float(t[i]), state).items():
                frame = mb.frame(node)
                w = w if isinstance(w, sc.Wrench) else sc.Wrench(w[:3], w[3:])
                R = mb.pose(w.expressed_in or frame, state=state).rotation
                r = mb.pose(frame, state=state).translation
                external[i] += np.concatenate([R @ w.moment + np.cross(r, R @ w.force), R @ w.force])
        r = mb.pose("upper", state=state).translation
        external[i] += np.concatenate([np.cross(r, (0, 2.0, 1.0)), (0, 2.0, 1.0)])
    np.testing.assert_allclose(base + external, momentum_rate(run, mb, t), atol=1e-7)


def planar():
    return four_bar(1.0, 2.0, 2.0, 2.0, 1.2, 3.0)


def spatial():
    return ball_jointed_four_bar(2.0)


@pytest.mark.parametrize(("make", "solver"), [(planar, "ta"), (planar, "fa"), (planar, "ce"), (spatial, "ta")])
def test_reactions_of_a_closed_chain_are_the_rate_of_its_momentum(make, solver):
    """The wrenches through the hinges on the ground and the weights move the whole; and the loop's force the rocker."""
    mb = make()
    p = sim.Propagator(mb, rtol=1e-11, solver=solver)
    p.control("crank", lambda t, state: np.cos(3 * t))
    run = p.advance_to(0.4)
    t = np.linspace(0.05, 0.35, 7)
    sample = run.at(t)
    ground = about_origin(run, mb, "crank", t) + about_origin(run, mb, "rocker", t)
    np.testing.assert_allclose(ground + weights(mb, sample), momentum_rate(run, mb, t), atol=1e-6)
    rows = run.reactions("loop")
    s = sc.loops.TreeAugmented(mb)
    for i in range(0, len(run), 3):
        told = s.forward_dynamics(run.q[i], run.v[i], run.forces["crank"][i])
        np.testing.assert_allclose(rows[i], told.multipliers["loop"], atol=1e-7 * max(1.0, np.abs(rows[i]).max()))


def test_the_slider_of_a_crank_is_pushed_by_its_rod():
    """Along x the loop's force alone moves the slider, across it the guide holds."""
    mb = slider_crank(4.0)
    run = sim.Propagator(mb, rtol=1e-11).advance_to(0.3)
    push = run.reactions("loop", expressed_in="inertial")  # on the slider, which is frame b
    np.testing.assert_allclose(push[:, 3], 1.0 * run.vdot[:, 2], atol=1e-7)
    guide = run.reactions("slider", expressed_in="inertial")
    np.testing.assert_allclose(guide[:, 4] + push[:, 4], 9.81, atol=1e-7)
    np.testing.assert_allclose(guide[:, 3], 0.0, atol=1e-8)


def test_the_multiplier_of_a_coupling():
    """It pushes each dof by -p'(q) lambda: of a gear upper = 2 lower by -1 and 2 of it."""
    mb = sc.load("double_pendulum")
    mb.couple("gear", {"upper": 1, "lower": -2})
    mb.set_state([0.4, 0.2], [0.0, 0.0])
    run = sim.Propagator(mb).advance_to(0.5)
    found = run.reactions("gear")
    assert found.shape == (len(run),)
    pushed = sc.dynamics.inverse_dynamics(mb, run.q, run.v, run.vdot, ignore_loops=True)
    np.testing.assert_allclose(pushed, np.outer(found, [-1.0, 2.0]), atol=1e-9)
    with pytest.raises(ModelError, match="'gear' is a coupling, whose multiplier is a number; leave node"):
        run.reactions("gear", expressed_in="inertial")


def test_a_prescribed_motion_is_part_of_its_hinge():
    """A cart that shakes a pole: the hinge of the cart has what is prescribed along x."""
    mb = sc.load("cart_pole")
    mb.set_state([0.0, 0.3], [0.0, 0.0])
    p = sim.Propagator(mb)
    p.prescribe("cart", lambda t: (0.1 * np.sin(9 * t), 0.9 * np.cos(9 * t), -8.1 * np.sin(9 * t)))
    run = p.advance_to(0.5)
    H = np.asarray(mb["cart"].hinge.H_T(np.zeros(1)))[:, 0]
    np.testing.assert_allclose(run.reactions("cart") @ H, run.forces["prescribed"][:, 0], atol=1e-9)


def table(integrator):
    mb = sc.Multibody(gravity=(0, 0, -G))
    top = mb.add_body("table", None, sc.Weld(), sc.Inertia(5.0, (0, 0, 0), np.eye(3)))
    top.add_geometry(sc.Geometry("plate", "box", (2.0, 2.0, 0.2)))
    box = mb.add_body("box", None, sc.Free(), sc.Inertia(2.0, moment=np.eye(3) * 0.01))
    box.add_geometry(sc.Geometry("skin", "box", (0.2, 0.2, 0.2)))
    mb.set_state([0, 0, 0, 1, 0.5, 0.3, 0.2], np.zeros(6))
    p = sim.Propagator(mb, integrator=integrator, step=0.01)
    p.add(sim.Contact())
    return p


@pytest.mark.parametrize("integrator", ["moreau", "moreau_midpoint"])
def test_contact_counts_as_a_mean_force(integrator):
    """A table carries itself and the box on it, where that stands."""
    run = table(integrator).advance_to(0.1)
    carried = run.reactions("table", expressed_in="inertial")[1:]
    wanted = [2.0 * G * 0.3, -2.0 * G * 0.5, 0, 0, 0, 7.0 * G]
    np.testing.assert_allclose(carried, [wanted] * len(carried), atol=1e-6)
    np.testing.assert_allclose(run.reactions("box")[1:], 0.0, atol=1e-6)  # what is free hangs on nothing
    np.testing.assert_allclose(run.reactions("table", expressed_in="inertial", t=0.055), wanted, atol=1e-6)


def test_contact_reaches_through_a_coupling():
    """A table of 5 kg with a box of 2 kg hangs over a pulley on a weight of 7 kg, which the rope carries."""
    mb = sc.Multibody(gravity=(0, 0, -G))
    top = mb.add_body("table", None, sc.Prismatic((0, 0, 1)), sc.Inertia(5.0, (0, 0, 0), np.eye(3)))
    top.add_geometry(sc.Geometry("plate", "box", (2.0, 2.0, 0.2)))
    box = mb.add_body("box", None, sc.Free(), sc.Inertia(2.0, moment=np.eye(3) * 0.01))
    box.add_geometry(sc.Geometry("skin", "box", (0.2, 0.2, 0.2)))
    mb.add_body("weight", None, sc.Prismatic((0, 0, 1)), sc.Inertia(7.0, (0, 0, 0), np.eye(3)))
    mb.couple("pulley", {"table": 1, "weight": 1})
    mb.set_state([0, 0, 0, 0, 1, 0.0, 0.0, 0.2, 0], np.zeros(8))
    p = sim.Propagator(mb, integrator="moreau", step=0.01)
    p.add(sim.Contact())
    run = p.advance_to(0.05)
    np.testing.assert_allclose(run.q, [run.q[0]] * len(run), atol=1e-7)
    np.testing.assert_allclose(run.reactions("pulley")[1:], -7.0 * G, atol=1e-5)
    np.testing.assert_allclose(run.reactions("table", expressed_in="inertial")[1:, 5], 7.0 * G, atol=1e-5)


def test_compliant_contact_acts_where_it_touches():
    p = table("moreau")
    mb = p.mb
    mb.set_state([0, 0, 0, 1, 0.5, 0.3, 0.1999], np.zeros(6))
    p = sim.Propagator(mb, rtol=1e-8)
    p.add(sim.CompliantContact(stiffness=1e5, damping=1.0))
    run = p.advance_to(0.01)
    pushed = run.forces["compliant contact"][:, 5]
    assert pushed.max() > 1.0
    np.testing.assert_allclose(run.reactions("table", expressed_in="inertial")[:, 5], 5.0 * G + pushed, atol=1e-8)
    np.testing.assert_allclose(run.reactions("box"), 0.0, atol=1e-7)


class AlongDofs:
    name = "magnet"

    def bind(self, mb):
        self.nv = mb.nv

    def force(self, t, state):
        return np.ones(self.nv)


def test_what_is_known_along_dofs_alone_is_refused():
    p = pendulum(0.3)
    p.add(AlongDofs())
    run = p.advance_to(0.1)
    with pytest.raises(StateError, match=r"the force element 'magnet' gives its force along the dofs alone: give its"):
        run.reactions("bob")
    p = sim.Propagator(planar(), integrator="rk4", step=0.01, stabilization="baumgarte", time_constant=0.05)
    with pytest.raises(StateError, match=r"closures of this run are pulled shut.*leave stabilization='baumgarte' out"):
        p.advance_to(0.05).reactions("loop")
    s = sim.System("s", integrator="rk4", step=0.01)
    s.add("arm", sim.Plant(sc.load("pendulum")))
    s.add("wind", sim.Constant(value=(1.0, 0.0, 0.0)))
    s.connect("wind.y", "arm.node_force[bob]")
    with pytest.raises(StateError, match=r"the run has those of 'wind.y' along the dofs alone: give it as a force"):
        s.run(0.05).reactions("arm/bob")


def test_a_system_that_pushes_dofs_has_reactions():
    s = sim.System("s", integrator="rk4", step=0.01)
    mb = sc.load("pendulum")
    mb.q = [np.pi / 2]
    s.add("arm", sim.Plant(mb))
    s.add("motor", sim.Constant(value=G))
    s.connect("motor.y", "arm.force[bob]")
    run = s.run(0.05)
    body = next(x for x in run.labels.v if "bob" in x)
    np.testing.assert_allclose(np.linalg.norm(run.reactions(body)[:, :3], axis=1), G, atol=1e-9)


def test_unknown_names_are_refused_with_those_it_has():
    run = pendulum(0.3).advance_to(0.1)
    with pytest.raises(ModelError, match="has no body, hinge or loop 'bab'"):
        run.reactions("bab")
