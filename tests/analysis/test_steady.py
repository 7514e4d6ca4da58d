"""Stability of steady motions: rolling discs, tops and thrown bodies, against closed forms and other coordinates."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy.optimize import brentq
from tests.loops.test_linearize import rolling_disc

import soacraft as sc
from soacraft import analysis
from soacraft.errors import StaleError, StateError

#: Moments across and along the axis in m a^2: of a disc and a hoop.
DISC, HOOP = (1 / 4, 1 / 2), (1 / 2, 1.0)


def rolling(moments, radius, g=9.81, mass=1.3):
    across, along = moments
    mb = sc.Multibody("disc", gravity=(0, 0, -g))
    moment = mass * radius**2 * np.diag([across, along, across])
    mb.add_body("disc", None, sc.RollingDisc(radius), sc.Inertia(mass, (0, 0, 0), moment))
    return mb


def turned(mb, rotation):
    q = np.array(mb.q)
    q[:4] = sc.spatial.matrix_to_quaternion(rotation)
    return q


@pytest.mark.parametrize("moments", [DISC, HOOP], ids=["disc", "hoop"])
@pytest.mark.parametrize(("radius", "share", "turn", "heading"), [
    (0.27, 0.99, 0.7, 2.0), (0.27, 1.01, 0.7, 2.0), (0.27, -1.7, -2.0, 0.3), (2.7e-5, 0.9, 0.0, 0.0),
    (2.7e-5, 1.1, 0.5, 0.0), (2.7e4, 0.9, 0.0, 0.0), (2.7e4, 1.1, 0.5, 0.0),
])  # fmt: skip
def test_a_disc_that_rolls_straight_on_is_stable_above_its_speed(moments, radius, share, turn, heading):
    """spin^2 > (g / a) A / (C (C + 1)), whatever angle it has turned by and wherever it goes."""
    across, along = moments
    critical = np.sqrt(9.81 / radius * across / (along * (along + 1)))
    mb = rolling(moments, radius)
    q = turned(mb, sc.Pose.from_rpy(0, turn, heading).rotation)
    lin = analysis.linearize(mb, q, [0, share * critical, 0], np.zeros(3))
    assert lin.is_steady
    assert bool(lin.is_stable) == (abs(share) > 1.0)


def test_the_disc_of_six_radians_per_second():
    mb = rolling(DISC, 0.27)
    assert np.sqrt(9.81 / 0.27 / 3) == pytest.approx(3.48, abs=1e-3)
    lin = analysis.linearize(mb, mb.q, [0, 6.0, 0], np.zeros(3))
    assert lin.is_stable
    assert "stable: yes" in lin._repr_html_()


class Circling:
    """A disc that rolls in any way, by its lean and the rates of heading, lean and spin: nothing else matters to it."""

    def __init__(self, radius=0.4):
        self.radius, self.mb = radius, rolling_disc(*DISC, 1.0, radius=radius)
        self.solver = sc.loops.TreeAugmented(self.mb)

    def angular(self, lean, turning, leaning, spin):
        """The rotation at heading 0, and the angular velocity in inertial axes."""
        R = sc.Pose.from_rpy(lean, 0, 0).rotation
        return R, np.array([leaning, 0, turning]) + spin * R[:, 1]

    def rates(self, x):
        """How lean, heading rate, lean rate and spin change."""
        lean, turning, leaning, spin = x
        R, w = self.angular(*x)
        centre = np.cross(w, self.radius * R[:, 2])  # the contact is at rest
        q = [0.0, 0.0, 0.0, self.radius * np.cos(lean), lean, 0.0]
        v = [centre[0], centre[1], turning, centre[2], leaning, spin]
        vdot = self.solver.forward_dynamics(q, v, np.zeros(6)).vdot
        return np.array([leaning, vdot[2], vdot[4], vdot[5]])

    def spin_of(self, lean, turning):
        """The spin at which the lean stays."""
        return brentq(lambda spin: self.rates([lean, turning, 0.0, spin])[2], -1e3, 1e3, xtol=1e-12)

    def growth(self, x):
        """The largest growth rate about a steady motion, by differences."""
        h = 1e-5
        J = [(self.rates(x + h * e) - self.rates(x - h * e)) / (2 * h) for e in np.eye(4)]
        return float(np.linalg.eigvals(np.array(J).T).real.max())


@pytest.mark.parametrize(("lean", "turning"), [(0.1, 1.0), (0.3, -0.6), (0.4, 4.0), (-0.02, 0.05), (0.3, 3.0)])
def test_a_disc_that_rolls_in_a_circle(lean, turning):
    """Against differences of the equations of lean, heading rate and spin."""
    reference = Circling()
    spin = reference.spin_of(lean, turning)
    steady = np.array([lean, turning, 0.0, spin])
    growth = reference.growth(steady)
    R, w = reference.angular(*steady)
    mb = rolling(DISC, reference.radius)
    turn = sc.Pose.from_rpy(0, 0.9, 0).rotation  # by any angle about its own axis
    lin = analysis.linearize(mb, turned(mb, R @ turn), turn.T @ R.T @ w, np.zeros(3))
    assert lin.is_steady
    rate = max(float(lin.rate), float(np.abs(lin.eigenvalues).max()))
    assert max(0.0, (float(lin._growing) + 1e-4) * rate) == pytest.approx(max(0.0, growth), abs=2e-4 * rate)
    assert bool(lin.is_stable) == (growth < 1e-4 * rate)
    other = analysis.linearize(mb, turned(mb, R @ turn), turn.T @ R.T @ w * 0.99, np.zeros(3))
    assert not other.is_steady  # it wobbles


@pytest.mark.parametrize(("theta", "precession"), [(0.4, 3.0), (1.2, -2.0), (2.5, 5.0)])
def test_a_top_in_steady_precession_is_stable(theta, precession):
    """Lagrange: m g l = precession (C w3 - A precession cos theta); regular precessions of such a top are stable."""
    mb = sc.load("top")
    inertia = mb.bodies[0].inertia
    A, C = inertia.matrix()[0, 0], inertia.matrix()[2, 2]
    weight = inertia.mass * -mb.gravity[2] * inertia.com[2]
    w3 = (weight / precession + A * precession * np.cos(theta)) / C
    pose = sc.Pose.from_rpy(theta, 0, 0.5)
    w = pose.rotation.T @ np.array([0, 0, precession])
    w[2] = w3
    lin = analysis.linearize(mb, sc.spatial.matrix_to_quaternion(pose.rotation), w, np.zeros(3))
    assert lin.is_steady
    assert lin.is_stable
    other = analysis.linearize(mb, sc.spatial.matrix_to_quaternion(pose.rotation), w * [1, 1, 0.9], np.zeros(3))
    assert not other.is_steady  # it nutates


@pytest.mark.parametrize(("axis", "stable"), [(0, True), (1, False), (2, True)])
def test_a_thrown_body_spins_stably_about_two_of_its_axes(axis, stable):
    """It falls and flies on: its place drives nothing."""
    mb = sc.Multibody("thrown", gravity=(0, 0, -9.81))
    mb.add_body("body", None, sc.Free(), sc.Inertia(2.0, (0, 0, 0), np.diag([0.3, 0.4, 0.6])))
    w = np.zeros(3)
    w[axis] = 4.0
    q = np.concatenate([sc.spatial.matrix_to_quaternion(sc.Pose.from_rpy(0.3, 0.2, 0.9).rotation), [1.0, 2.0, 3.0]])
    lin = analysis.linearize(mb, q, [*w, 3.0, 1.0, -2.0], np.zeros(6))
    assert lin.is_steady
    assert bool(lin.is_stable) == stable


def test_a_motion_that_is_not_steady_is_not_judged():
    mb = sc.load("pendulum")
    text = r"is_stable: the motion is not steady: A changes along it, and its eigenvalues at an instant do not show"
    for q in (0.3, np.pi - 0.3, np.pi):  # also where gravity has no moment
        lin = analysis.linearize(mb, [q], [2.0], [0.0])
        assert not lin.is_steady
        with pytest.raises(StateError, match=text):
            assert lin.is_stable
        assert "not judged, as the motion is not steady" in lin._repr_html_()
    several = analysis.linearize(mb, [[0.0], [0.3], [np.pi]], [[0.0], [1.0], [0.0]], [0.0])
    assert several.is_steady.tolist() == [True, False, True]
    with pytest.raises(StateError, match=r"is_stable: the motion at state \(1,\) is not steady"):
        assert several.is_stable
    at_rest = analysis.linearize(mb, [[0.0], [np.pi]], [[0.0], [0.0]], [0.0])
    assert at_rest.is_stable.tolist() == [True, False]


def test_a_wheel_that_turns_uniformly_is_steady():
    """Balanced, on a pin, with a motor that holds its speed against friction, and a pole on a cart that coasts."""
    mb = sc.Multibody("wheel", gravity=(0, 0, -9.81))
    mb.add_body("wheel", None, sc.Pin((0, 1, 0)), sc.Inertia.sphere(1.0, 0.2))
    lin = analysis.linearize(mb, [0.4], [30.0], [0.0])
    assert lin.is_steady
    assert lin.is_stable
    cart = sc.load("cart_pole")
    for angle, stable in ((0.0, False), (np.pi, True)):
        lin = analysis.linearize(cart, [0.3, angle], [1.7, 0.0], np.zeros(2))
        assert lin.is_steady
        assert bool(lin.is_stable) == stable


def test_a_model_that_has_changed_is_said_to_have():
    mb = rolling(DISC, 0.27)
    lin = analysis.linearize(mb, mb.q, [0, 6.0, 0], np.zeros(3))
    top = sc.load("top")
    spun = analysis.linearize(top, top.neutral(), [0, 0, 60.0], np.zeros(3))
    top.bodies[0].inertia = sc.Inertia(3.0, (0, 0, 0.2), np.eye(3))
    with pytest.raises(StaleError, match="is_stable: the model is another one since linearize was called; call it"):
        assert spun.is_stable
    assert lin.is_stable


@pytest.mark.parametrize("way", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy], ids=["pickle", "deepcopy"])
def test_copies_know_what_they_were_of(way):
    mb = rolling(DISC, 0.27)
    for spin, stable in ((6.0, True), (3.0, False)):
        other = way(analysis.linearize(mb, mb.q, [0, spin, 0], np.zeros(3)))
        assert bool(other.is_stable) == stable
    pendulum = sc.load("pendulum")
    other = way(analysis.linearize(pendulum, [0.3], [2.0], [0.0]))
    with pytest.raises(StateError, match="is not steady"):
        assert other.is_stable
