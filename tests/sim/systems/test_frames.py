"""Frames of all plants and of the user in one tree, and nodes by their roles."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import SimulationError, WiringError


def pendulum(angle: float = 0.3, speed: float = 0.7):
    mb = sc.load("pendulum")
    mb.set_state([angle], [speed])
    return mb


def two() -> sim.System:
    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("a", sim.Plant(pendulum()))
    s.add("b", sim.Plant(pendulum(-0.5, 0.2)))
    return s


def orbit(t):
    """A frame that turns about z at 2 rad/s, on a circle of 3 m, with its velocity and acceleration."""
    c, d = np.cos(2 * t), np.sin(2 * t)
    R = np.array([[c, -d, 0], [d, c, 0], [0, 0, 1]])
    return (
        sc.Pose(R, (3 * c, 3 * d, 0)),
        np.array([0, 0, 2, -6 * d, 6 * c, 0]),
        np.array([0, 0, 0, -12 * c, -12 * d, 0]),
    )


def test_any_pair_of_two_plants_and_a_moving_frame_by_the_closed_forms():
    s = two()
    s.add_frame("orbit", pose=orbit)
    s.add_frame("mast", parent="orbit", pose=sc.Pose(translation=(0, 0, 1.0)))
    s.run(0.25)
    t, (p, v, a) = 0.25, orbit(0.25)
    models = [x.mb for x in (s._plants["a"], s._plants["b"])]
    tips = [x.pose("bob/tip").translation for x in models]
    assert s.pose("a:bob/tip", relative_to="b:bob/tip").translation == pytest.approx(
        models[1].pose("bob/tip").rotation.T @ (tips[0] - tips[1]), abs=1e-14
    )
    R = np.asarray(p.rotation)
    up = p.translation + np.array([0, 0, 1])
    assert s.pose("a:bob/tip", "mast").translation == pytest.approx(R.T @ (tips[0] - up), abs=1e-13)
    # seen from the turning frame: v - v_to - w x r, and its derivative with Coriolis and centrifugal terms
    w, r = v[:3], tips[0] - up
    u = models[0].velocity("bob/tip").linear
    seen = u - v[3:] - np.cross(w, r)
    assert s.velocity("a:bob/tip", "mast").linear == pytest.approx(R.T @ seen, abs=1e-12)
    q = models[0].q[0]
    models[0].set_state(models[0].q, models[0].v, [-9.81 * np.sin(q)])
    true = models[0].acceleration("bob/tip").linear
    accelerated = true - a[3:] - np.cross(w, np.cross(w, r)) - 2 * np.cross(w, seen)
    assert s.acceleration("a:bob/tip", "mast").linear == pytest.approx(R.T @ accelerated, abs=1e-11)
    assert s.t == t


def test_a_frame_of_the_user_is_a_source_of_signals():
    s = two()
    s.add_frame("orbit", pose=orbit)
    for port in ("position", "velocity", "linear_acceleration"):
        s.add(port, sim.Gain(gain=1.0, size=3))
        s.connect(f"orbit.{port}[a:bob/tip]", f"{port}.u")
    run = s.run(0.2)
    x = np.array(run.signals["position.y"])
    for name, order in (("velocity", 1), ("linear_acceleration", 1)):
        before = x if name == "velocity" else np.array(run.signals["velocity.y"])
        slope = (before[2:] - before[:-2]) / 2e-3
        assert np.abs(run.signals[f"{name}.y"][1:-1] - slope).max() < 1e-4 * order
    assert run.signals["position.y"][-1] == pytest.approx(s.pose("a:bob/tip", "orbit").translation, abs=1e-12)


def test_a_frame_moved_by_a_signal():
    class Rail(sim.Component):
        x = sim.Continuous("m", start=1.0)

        @sim.output(shape=(13,))
        def pose(x):
            one = np.zeros(13)
            one[3], one[4], one[10] = 1.0, x, 0.5
            return one

        @sim.rate(x)
        def speed():
            return 0.5

    s = two()
    s.add("rail", Rail())
    s.add_frame("camera", pose="rail.pose")
    s.add("seen", sim.Gain(gain=1.0, size=3))
    s.connect("camera.velocity[inertial]", "seen.u")
    run = s.run(0.4)
    assert run.signals["seen.y"][-1].tolist() == [-0.5, 0.0, 0.0]
    assert s.pose("camera").translation == pytest.approx([1.2, 0, 0], abs=1e-12)
    with pytest.raises(
        WiringError, match=r"acceleration of the frame 'camera' is not known: 'rail.pose' gives a pose and a velocity"
    ):
        s.acceleration("a:bob", "camera")


def test_accelerations_of_nodes_are_signals():
    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("a", sim.Plant(pendulum(0.4, 1.5)))
    s.add("imu", sim.Gain(gain=1.0, size=3))
    s.add("turn", sim.Gain(gain=1.0, size=3))
    s.connect("a.linear_acceleration[bob/tip]", "imu.u")
    s.connect("a.angular_acceleration[bob/tip]", "turn.u")
    run = s.run(0.1)
    q, v = run.q[:, 0], run.v[:, 0]
    along, down = np.array([np.cos(q), 0 * q, np.sin(q)]), np.array([-np.sin(q), 0 * q, np.cos(q)])
    known = (-9.81 * np.sin(q) * along + v**2 * down).T  # of a point at 1 m, angle from below
    assert np.abs(np.abs(run.signals["imu.y"]) - np.abs(known)).max() < 1e-12
    assert np.abs(np.linalg.norm(run.signals["turn.y"], axis=1) - 9.81 * np.abs(np.sin(q))).max() < 1e-12


def test_nodes_by_their_roles():
    mb = sc.load("double_pendulum")
    for body in mb.bodies:
        body.add_node("imu", sc.Pose(translation=(0, 0, -0.5)), role="sensor")
    mb.set_state([0.3, -0.2], [1.0, 2.0])
    s = sim.System("s")
    arm = s.add("arm", sim.Plant(mb))
    s.add("b", sim.Plant(pendulum()))
    seen = arm.kinematics("sensor")
    assert seen.names == ("lower/imu", "upper/imu")
    mb.vdot = sc.dynamics.forward_dynamics(mb, mb.q, mb.v, np.zeros(2))
    for i, name in enumerate(seen.names):
        assert seen.position[i] == pytest.approx(mb.pose(name).translation, abs=1e-14)
        assert seen.rotation[i] == pytest.approx(np.asarray(mb.pose(name).rotation), abs=1e-14)
        assert seen.linear_velocity[i] == pytest.approx(mb.velocity(name).linear, abs=1e-14)
        assert seen.angular_velocity[i] == pytest.approx(mb.velocity(name).angular, abs=1e-14)
        assert seen.linear_acceleration[i] == pytest.approx(mb.acceleration(name).linear, abs=1e-12)
        assert seen.angular_acceleration[i] == pytest.approx(mb.acceleration(name).angular, abs=1e-12)
    assert len(arm.kinematics().names) == 3
    with pytest.raises(WiringError, match=r"no node of 'double_pendulum' has the role 'senser'; did you mean 'sensor'"):
        arm.kinematics("senser")


def test_what_is_refused():
    s = two()
    with pytest.raises(WiringError, match="there is a component 'a' already"):
        s.add_frame("a")
    with pytest.raises(WiringError, match=r"the frame 'f' is on another one by its name, such as 'arm:hand'; got 3"):
        s.add_frame("f", parent=3)
    with pytest.raises(WiringError, match=r"has a pose: sc.Pose\(...\), a function of t that gives one, or the name"):
        s.add_frame("f", pose=3)
    with pytest.raises(WiringError, match="there is no frame 'c:bob'"):
        s.pose("c:bob")
    with pytest.raises(WiringError, match="the plant 'a' has no node 'bub'"):
        s.pose("a:bub")
    s.add_frame("f", parent="g")
    s.add_frame("g", parent="f")
    with pytest.raises(WiringError, match="the frame 'f' is on itself: f on g on f"):
        s.check()
    s = two()
    s.add("bad", sim.Constant(value=(1.0, 2.0)))
    s.add_frame("f", pose="bad.y")
    s.add("g", sim.Gain(gain=1.0, size=3))
    s.connect("f.positon[a:bob]", "g.u")
    s.connect("bad.y", "f.pose")
    with pytest.raises(WiringError) as caught:
        s.check()
    assert "'bad.y' has the shape (2,)" in str(caught.value)
    assert "the frame 'f' has no output 'positon'; did you mean 'position'" in str(caught.value)
    assert "'f.pose' is no input: a frame is moved by what pose= of s.add_frame names" in str(caught.value)


def test_a_signal_that_is_no_pose_ends_the_run_by_name():
    s = two()
    s.add("bad", sim.Constant(value=(0.0,) * 7))
    s.add_frame("f", pose="bad.y")
    s.add("g", sim.Gain(gain=1.0, size=3))
    s.connect("f.position[a:bob]", "g.u")
    with pytest.raises((SimulationError, WiringError), match=r"'bad.y' moves the frame 'f', and gave \[0.0"):
        s.run(0.1)
