"""A propagator that goes with the clock, and the spring of the mouse."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ViewError
from soacraft.model.sizes.scale import scale_of
from soacraft.view.space.live import following
from soacraft.view.space.live.following import STIFF, Grip, Pull


class Clock:
    """Time that passes in sleep alone."""

    def __init__(self, monkeypatch):
        self.now, self.slept = 100.0, 0.0
        monkeypatch.setattr(following.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(following.time, "sleep", self.sleep)

    def sleep(self, seconds):
        self.now += seconds
        self.slept += seconds


@pytest.mark.parametrize("speed", [1.0, 4.0])
def test_a_run_takes_its_time_by_the_clock(monkeypatch, speed):
    clock, mb = Clock(monkeypatch), sc.load("pendulum")
    mb.q = [0.5]
    scene, p = sc.view.scene(mb), sc.sim.Propagator(mb)
    scene.follow(p, speed=speed)
    p.advance_to(2.0)
    assert clock.slept == pytest.approx(2.0 / speed, abs=0.02)  # to a picture
    assert scene.follower.running
    clock.now += 1.0
    assert not scene.follower.running
    p.advance_to(3.0)  # after a pause, from there on
    assert clock.slept == pytest.approx(3.0 / speed, abs=0.04)


def test_a_run_is_the_same_with_the_clock_and_without(monkeypatch):
    Clock(monkeypatch)
    ends = []
    for followed in (False, True):
        mb = sc.load("double_pendulum")
        mb.q = [0.5, 0.2]
        p = sc.sim.Propagator(mb, integrator="rk4", step=1.0 / 960.0)
        if followed:
            sc.view.scene(mb).follow(p, speed=1.0, pull=False)
        p.advance_to(0.5)
        ends.append(np.array(mb.q))
    assert np.allclose(*ends, atol=1e-9)


def ball():
    """A mass of 3 kg that is free, without gravity."""
    mb = sc.Multibody(gravity=(0, 0, 0))
    mb.add_body("ball", None, sc.Free(), sc.Inertia.sphere(3.0, 0.1))
    return mb


def test_a_free_mass_is_pulled_as_a_damped_oscillator(monkeypatch):
    """x'' = w^2 (target - x) - w x': with damping 1/2, x = target (1 - e^(-wt/2) (cos nt + sin(nt) w / 2n))."""
    Clock(monkeypatch)
    mb = ball()
    scene, p = sc.view.scene(mb), sc.sim.Propagator(mb)
    scene.follow(p)
    scene.follower.pull.want(Grip(mb.bodies[0], np.zeros(3), np.array([0.2, 0.0, 0.0])))
    run = p.advance_to(0.5)
    w = STIFF  # the time of a model without gravity is a second
    n = w * np.sqrt(0.75)
    wanted = 0.2 * (1.0 - np.exp(-0.5 * w * run.t) * (np.cos(n * run.t) + 0.5 * w / n * np.sin(n * run.t)))
    assert np.allclose(run.q[:, 4], wanted, atol=1e-7)
    assert np.allclose(run.q[:, :3], 0.0, atol=1e-12)  # pulled at its centre, it does not turn
    assert run.work["pull"][-1] == pytest.approx(run.kinetic[-1], rel=1e-6)
    scene.follower.pull.want(None)
    later = p.advance_to(1.0)
    assert np.allclose(later.v[2:, 3], later.v[2, 3], atol=1e-9)  # let go, it flies on


def test_off_its_centre_it_turns():
    mb = ball()
    pull = Pull()
    pull.bind(mb)
    assert not pull.force(0.0, mb.current).any()
    pull.want(Grip(mb.bodies[0], np.array([0.0, 0.1, 0.0]), np.array([1.0, 0.1, 0.0])))
    assert not pull.force(0.0, mb.current).any()  # held from the next step on
    pull.hold()
    push = 3.0 * STIFF**2
    assert np.allclose(pull.force(0.0, mb.current), [0, 0, -0.1 * push, push, 0, 0])


def test_refusals():
    mb, other = sc.load("pendulum"), sc.load("double_pendulum")
    scene = sc.view.scene(mb)
    with pytest.raises(ViewError, match="follow takes a Propagator of the model, got Multibody"):
        scene.follow(mb)
    with pytest.raises(ViewError, match="the scene shows 'pendulum', and the propagator moves 'double_pendulum'"):
        scene.follow(sc.sim.Propagator(other))
    with pytest.raises(ViewError, match="speed must be positive, got 0"):
        scene.follow(sc.sim.Propagator(mb), speed=0.0)
    assert scene.follower is None


@pytest.mark.parametrize("length", [1e-3, 0.1, 1.0, 1e3])
def test_the_spring_of_the_mouse_is_as_stiff_as_gravity_is_for_the_length(length):
    """A block of the weight m g that hangs on it by a tenth of its length: STIFF^2 m g / 10, small or large."""
    mb = sc.Multibody(gravity=(0, 0, -9.81))
    block = mb.add_body("block", None, sc.Free(), sc.Inertia.box(3.0, (length, length, length)))
    pull = Pull()
    pull.bind(mb)
    time = scale_of(mb).time
    assert time == pytest.approx(np.sqrt(scale_of(mb).length / 9.81))
    pull.want(Grip(block, np.zeros(3), np.array([0.0, 0.0, 0.1 * scale_of(mb).length])))
    pull.hold()
    force = pull.force(0.0, mb.state())
    np.testing.assert_allclose(force, [0, 0, 0, 0, 0, 0.1 * STIFF**2 * 3.0 * 9.81], rtol=1e-9, atol=1e-9)
