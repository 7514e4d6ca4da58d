"""Motions and systems whose states are handed from one run to another."""

from __future__ import annotations

import numpy as np
from tests.model.modal.trees import flexible_tree
from tests.sim.chains import four_bar
from tests.sim.restarts import arm, heap

import soacraft as sc
from soacraft import sim

ADAPTIVE = ("dop853", "radau", "cvode", "ida")
FIXED = (
    "rk4", "euler_symplectic", "verlet", "gauss4", "gauss6", "variational", "variational4", "generalized_alpha",
    "moreau", "moreau_midpoint",
)  # fmt: skip


def how(integrator):
    return {"integrator": integrator} | ({"rtol": 1e-6} if integrator in ADAPTIVE else {"step": 0.01})


def swinging():
    mb = sc.load("double_pendulum")
    mb.set_state([1.0, 0.5], [0.0, 0.1])
    return mb


def tree(integrator):
    """A hull that turns and travels, with a pin and a ball joint, and a control that is a number."""
    mb = sc.Multibody("tree")
    mb.add_body("hull", None, sc.Free(), sc.Inertia(2.0, (0, 0, 0.1), np.diag([0.3, 0.2, 0.4])))
    mb.add_body("arm", "hull", sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0.3, 0, 0), 0.2 * np.eye(3)))
    mb.add_body("ball", "arm", sc.Spherical(), sc.Inertia(1.0, (0, 0.2, 0), 0.2 * np.eye(3)))
    mb.set_state([0, 0, 0.6, 0.8, 0.1, 0, 0, 0.3, 0, 0.6, 0, 0.8], np.linspace(-0.5, 0.5, 10))
    p = sim.Propagator(mb, **how(integrator))
    p.control("arm", 0.4)
    return p


def closed(integrator):
    return sim.Propagator(four_bar(0.3, 1.0, 0.8, 0.9, 0.5, 4.0), **how(integrator))


def embedded(integrator):
    return sim.Propagator(four_bar(0.3, 1.0, 0.8, 0.9, 0.5, 4.0), solver="ce", **how(integrator))


def flexible(integrator):
    return sim.Propagator(flexible_tree((-1, 0), 1, (sc.Pin((0, 0, 1)),)), **how(integrator))


def touching(integrator):
    """Bodies that fall on a floor: by contact, or by impacts as events where steps have no contact."""
    if integrator.startswith("moreau"):
        p = heap()
        made = sim.Propagator(p.mb.copy(), **how(integrator))
        made.add(sim.Contact(restitution=0.3))
        return made
    mb = sc.Multibody("ball")
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    body = mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0, moment=0.01 * np.eye(3)))
    body.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    mb.set_state([0, 0, 0, 1, 0, 0, 0.14], [1.0, 0, 0, 0.2, 0, 0])
    p = sim.Propagator(mb, **how(integrator))
    p.add(sim.Impacts(restitution=0.8))
    return p


def buried(integrator):
    """A ball that begins within the floor, and is taken out at a bounded speed."""
    mb = sc.Multibody("ball")
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    body = mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0, moment=0.01 * np.eye(3)))
    body.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    mb.set_state([0, 0, 0, 1, 0, 0, 0.07], [0.1, 0, 0, 0.2, 0, 0])
    p = sim.Propagator(mb, integrator=integrator, step=0.005)
    p.add(sim.Contact())
    return p


def eventful(integrator):
    """An event, callbacks of two periods, one of which changes the state and the other a control."""
    p = sim.Propagator(swinging(), **how(integrator))
    second = p.mb.dof_names[1]
    p.control(second, 0.0)
    p.event("level", lambda t, state: state.q[0] - 0.95)

    def push(t, state):
        p.mb.v = p.mb.v + 0.01

    p.every(0.05, push)
    p.every(0.03, lambda t, state: p.control(second, float(-2.0 * state.v[1])))
    return p


def driven(integrator):
    """A function that is called at every stage, and one that gives a number for a period."""
    p = sim.Propagator(swinging(), **how(integrator))
    first, second = p.mb.dof_names
    p.control(first, lambda t, state: -state.v[0] + np.sin(5.0 * t))
    p.control(second, lambda t, state: -2.0 * state.q[1], every=0.04)
    return p


def holding(integrator):
    """Friction that sticks, and a rigid stop."""
    p = sim.Propagator(swinging(), **how(integrator))
    first, second = p.mb.dof_names
    p.add(sim.HingeFriction(first, coulomb=1.0), sim.JointLimit(second, lower=-1.0, upper=0.52, restitution=0.5))
    return p


def prescribed(integrator):
    p = sim.Propagator(swinging(), **how(integrator))
    p.prescribe(p.mb.dof_names[0], lambda t: (1.0 + 0.1 * np.sin(3 * t), 0.3 * np.cos(3 * t), -0.9 * np.sin(3 * t)))
    return p


def two_plants(integrator):
    """Two arms, one under a sampled controller with noise, and a filter."""
    s = sim.System("two", seed=3, t=0.25, **how(integrator))
    for name in ("left", "right"):
        s.add(name, sim.Plant(swinging()))
    dof = s.plants["left"].mb.dof_names[0]
    s.add("drive", sim.Force(), at=s.plants["left"].dof(dof))
    s.add("noise", sim.Sensor(deviation=0.01), rate=70)
    s.add("control", sim.PID(kp=20.0, kd=2.0, ki=0.1), every="1/30")
    s.add("lag", sim.LowPass(time_constant=0.1))
    s.add("target", sim.Constant(value=0.3))
    s.connect(f"left.q[{dof}]", "noise.u")
    s.connect("noise.y", "control.measured")
    s.connect("target.y", "control.target")
    s.connect("control.command", "drive.command")
    s.connect("noise.y", "lag.u")
    return s


def crossing(integrator):
    """Motors, noise, a ball that bounces by crossings, and a loop that Newton's method solves."""
    made = how(integrator)
    return arm(integrator, made.get("step"))


def pushing(integrator):
    """A heap of bodies with contact, and a signal of what touches."""
    s = sim.System("heap", integrator=integrator, step=0.005)
    s.add("heap", sim.Plant(heap().mb.copy(), forces=[sim.Contact(restitution=0.3)]))
    s.add("felt", sim.UnitDelay(size=3), every=0.02)
    s.connect("heap.contact_force[b0]", "felt.u")
    return s


def same_run(a, b):
    """Every number of two runs has the same bits."""
    for name in ("t", "q", "v", "vdot", "energy"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes(), name
    assert {x: y.tobytes() for x, y in a.work.items()} == {x: y.tobytes() for x, y in b.work.items()}
    assert [x[:2] for x in a.events] == [x[:2] for x in b.events]
