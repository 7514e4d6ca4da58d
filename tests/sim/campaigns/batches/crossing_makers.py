"""Systems with crossings that campaigns of the tests run."""

from __future__ import annotations

import numpy as np

import soacraft as sc
from soacraft import sim


class Bouncing(sim.Component):
    """A ball that loses a part of its speed at each of its bounces, and counts them."""

    class Params(sim.Params):
        height: float = 1.0
        keeps: float = 0.8

    x = sim.Continuous("m", start=lambda p: p.height)
    w = sim.Continuous("m/s")
    count = sim.Discrete()

    @sim.output("m")
    def at(x):
        return x

    @sim.output("m/s")
    def speed(w):
        return w

    @sim.output()
    def bounces(count):
        return count

    @sim.rate(x)
    def x_rate(w):
        return w

    @sim.rate(w)
    def w_rate():
        return -9.81

    @sim.crossing(direction=-1)
    def down(x):
        return x

    @sim.jump(w, at=down)
    def up(p, w):
        return -p.keeps * w

    @sim.jump(count, at=down)
    def counted(count):
        return count + 1.0

    @sim.crossing(direction=-1)
    def top(w):
        return w


def bouncing() -> sim.System:
    s = sim.System("bouncing", integrator="rk4", step=0.05)
    s.add("ball", Bouncing())
    return s


class Relay(sim.Component):
    """A push to one side or the other, switched where the angle leaves a band."""

    class Params(sim.Params):
        push: float = 4.0
        band: float = 0.2

    side = sim.Discrete(start=1.0)
    angle = sim.In("rad", of="position")

    @sim.output("N m", to="force")
    def force(p, side):
        return p.push * side

    @sim.crossing(direction=1)
    def high(p, angle):
        return angle - p.band

    @sim.crossing(direction=-1)
    def low(p, angle):
        return angle + p.band

    @sim.jump(side, at=high)
    def back():
        return -1.0

    @sim.jump(side, at=low)
    def forth():
        return 1.0


def relay() -> sim.System:
    """A double pendulum under a relay at its shoulder, and a sampled damper with noise at its elbow."""
    s = sim.System("relay", integrator="rk4", step=0.01)
    plant = s.add("arm", sim.Plant(sc.load("double_pendulum")))
    s.add("relay", Relay(), at=plant.dof("upper"))
    s.add("sensor", sim.Sensor(deviation=0.01), every=0.02)
    s.add("damper", sim.Gain(gain=-0.5))
    s.add("drive", sim.Force(), at=plant.dof("lower"))
    s.connect("arm.v[lower]", "sensor.u")
    s.connect("sensor.y", "damper.u")
    s.connect("damper.y", "drive.command")
    return s


class PlainRelay(Relay):
    """The same by a condition, which takes no batch, with an offset that nothing sets."""

    offset = sim.In("N m", default=0.5)

    @sim.output("N m", to="force")
    def force(p, side, offset):
        return p.push + offset if side > 0.0 else offset - p.push


def plain_relay() -> sim.System:
    s = sim.System("relay", integrator="rk4", step=0.02)
    plant = s.add("arm", sim.Plant(sc.load("pendulum")))
    s.add("relay", PlainRelay(), at=plant.dof(plant.mb.dof_names[0]))
    return s


class Tumbler(sim.Component):
    """Where the turn rate about one axis passes zero a wheel is switched on; the switch makes a latch cross at once."""

    class Params(sim.Params):
        push: float = 3.0

    v = sim.In(shape=(9,))
    on = sim.Discrete()
    latched = sim.Discrete()

    @sim.output("N m", to="force")
    def force(p, on, latched):
        return p.push * (on - 0.5 * latched)

    @sim.crossing()
    def turned(v):
        return v[..., 1]

    @sim.jump(on, at=turned)
    def switched(on):
        return 1.0 - on

    @sim.crossing(direction=1)
    def latch(on):
        return on - 0.5

    @sim.jump(latched, at=latch)
    def latched_next(latched):
        return latched + 1.0


def tumbling() -> sim.System:
    """A free hub with wheels; the rate about its middle axis turns its sign as it tumbles."""
    mb = sc.Multibody("tumbler", gravity=(0.0, 0.0, 0.0))
    mb.add_body("hub", inertia=sc.Inertia(100.0, (0, 0, 0), np.diag([90.0, 80.0, 60.0])), hinge=sc.Free())
    for i, axis in enumerate(np.eye(3)):
        mb.add_body(f"wheel{i}", inertia=sc.Inertia(8.0, (0, 0, 0), 0.1 * np.eye(3)), parent="hub", hinge=sc.Pin(axis))
    mb.v = [0.3, 0.2, 0.5, 0.1, 0.2, 0.3, 1.0, 0.0, 0.0]
    s = sim.System("tumbling", integrator="rk4", step=0.1)
    plant = s.add("sat", sim.Plant(mb))
    s.add("switch", Tumbler(), at=plant.dof("wheel1"))
    s.connect("sat.v", "switch.v")
    return s


class Clocked(sim.Component):
    """A sampled sign that makes a crossing happen at a tick; what crosses is counted."""

    class Params(sim.Params):
        rate: float = 2.0

    t_ref = sim.In()
    count = sim.Discrete()

    @sim.output()
    def counted(count):
        return count

    @sim.crossing()
    def flip(t_ref):
        return t_ref

    @sim.jump(count, at=flip)
    def more(count):
        return count + 1.0


def clocked() -> sim.System:
    """A wave, and the same held by a sampler: one crosses within steps, the other at ticks."""
    s = sim.System("clocked", integrator="rk4", step=0.05)
    s.add("wave", sim.Sine(amplitude=1.0, frequency=1.3))
    s.add("held", sim.Sensor(), every=0.1)
    s.add("smooth", Clocked())
    s.add("stairs", Clocked())
    s.connect("wave.y", "held.u")
    s.connect("wave.y", "smooth.t_ref")
    s.connect("held.y", "stairs.t_ref")
    return s


class Peaks(sim.Component):
    """Counts how often a wave is beyond a level just below its top, for less than a part of a step."""

    class Params(sim.Params):
        level: float = 0.9995

    u = sim.In()
    count = sim.Discrete()

    @sim.output()
    def counted(count):
        return count

    @sim.crossing(direction=1)
    def above(p, u):
        return u - p.level

    @sim.jump(count, at=above)
    def more(count):
        return count + 1.0


def peaks() -> sim.System:
    s = sim.System("peaks", integrator="rk4", step=0.05)
    s.add("wave", sim.Sine(amplitude=1.0, frequency=1.3))
    s.add("peaks", Peaks())
    s.connect("wave.y", "peaks.u")
    return s


class Endless(sim.Component):
    """Where its input comes to a level, two crossings make each other cross without end."""

    class Params(sim.Params):
        level: float = 1.0

    u = sim.In()
    s = sim.Discrete()

    @sim.output()
    def state(s):
        return s

    @sim.crossing(direction=1)
    def reached(p, u):
        return u - p.level

    @sim.jump(s, at=reached)
    def begun():
        return 1.0

    @sim.crossing(direction=1)
    def over(s):
        return s - 0.5

    @sim.jump(s, at=over)
    def down():
        return 0.0

    @sim.crossing(direction=1)
    def under(s):
        return 0.5 - s

    @sim.jump(s, at=under)
    def up():
        return 1.0


def endless() -> sim.System:
    s = sim.System("endless", integrator="rk4", step=0.1)
    s.add("ramp", sim.Ramp(slope=1.0))
    s.add("loop", Endless())
    s.connect("ramp.y", "loop.u")
    return s


class Timed(sim.Component):
    """Crossings of time, of an acceleration, and of a function that jumps over zero; a rate that reads the time."""

    class Params(sim.Params):
        when: float = 0.333
        level: float = 0.1

    bend = sim.In()
    angle = sim.In()
    count = sim.Discrete(shape=(3,))
    gone = sim.Continuous()

    @sim.output(shape=(3,))
    def counted(count):
        return count

    @sim.output()
    def far(gone):
        return gone

    @sim.rate(gone)
    def gone_rate(t):
        return np.cos(3.0 * t)

    @sim.crossing(direction=1)
    def due(p, t):
        return t - p.when

    @sim.jump(gone, at=due)
    def back(gone):
        return -gone

    @sim.crossing()
    def bends(bend):
        return bend

    @sim.jump(count, at=bends)
    def of_bends(count):
        return count + np.array([1.0, 0.0, 0.0])

    @sim.crossing()
    def beyond(p, angle):
        return np.where(angle > p.level, 1.0, -1.0)

    @sim.jump(count, at=beyond)
    def of_beyond(count):
        return count + np.array([0.0, 1.0, 0.0])


def timed() -> sim.System:
    mb = sc.load("double_pendulum")
    mb.q = [0.8, -0.3]
    s = sim.System("timed", integrator="rk4", step=0.02)
    s.add("arm", sim.Plant(mb))
    s.add("timed", Timed())
    s.connect("arm.vdot[lower]", "timed.bend")
    s.connect("arm.q[upper]", "timed.angle")
    return s
