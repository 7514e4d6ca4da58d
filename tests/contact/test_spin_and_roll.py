"""Friction against spinning and rolling in motion, and the coefficients of pairs that lead to it."""

import numpy as np
import pytest
from tests.contact.scenes import G, free, ground, run, sphere

import soacraft as sc
from soacraft.contact.dynamics.surfaces import Surfaces


def wheel(angle=0.0, radius=0.1, mass=2.0, inertia=0.009):
    """A ball that moves in a plane: dofs x, z and the turn about y. Down the slope is +x."""
    mb = ground(angle)
    mb.add_body("x", None, sc.Prismatic((1, 0, 0)), sc.Inertia(0.0))
    mb.add_body("z", "x", sc.Prismatic((0, 0, 1)), sc.Inertia(0.0))
    ball = mb.add_body("ball", "z", sc.Pin((0, 1, 0)), sc.Inertia(mass, moment=np.eye(3) * inertia))
    ball.add_geometry(sc.Geometry("skin", "sphere", (radius,)))
    return mb


def test_a_ball_that_spins_comes_to_rest():
    """Spinning at w about the vertical: I wdot = -s m g, so it stops after I w / (s m g) and stays."""
    s, w, inertia = 0.01, 5.0, 0.004
    stop = inertia * w / (s * G)
    mb = ground()
    sphere(mb)
    run(mb, free(0, 0, 0.1), [0, 0, w, 0, 0, 0], 0.1, 0.005, friction=(0.5, s))
    assert mb.v[2] == pytest.approx(w * (1 - 0.1 / stop), abs=1e-8)
    run(mb, free(0, 0, 0.1), [0, 0, w, 0, 0, 0], 0.22, 0.005, friction=(0.5, s))
    assert stop < 0.22
    assert np.abs(mb.v).max() < 1e-9


def test_a_ball_that_rolls_slows_down():
    """F and M of friction and rolling lie on the ellipse (F/mu)^2 + (M/r)^2 = N^2, against (u, w): with the slip
    u = k w of steady rolling, m (R + k) r^2/mu^2 = k (I + m R (R + k)), and wdot is constant."""
    R, m, inertia, mu, r, w = 0.1, 2.0, 0.009, 0.3, 0.02, 8.0
    # m R k^2 + (I + m R^2 - m r^2/mu^2) k - m R r^2/mu^2 = 0
    k = max(np.roots([m * R, inertia + m * R**2 - m * (r / mu) ** 2, -m * R * (r / mu) ** 2]).real)
    per_F, per_M = m * (R + k), inertia + m * R * (R + k)
    slowing = m * G / np.hypot(per_F / mu, per_M / r)
    mb = wheel(radius=R, mass=m, inertia=inertia)
    _, touch = run(mb, [0, R, 0], [(R + k) * w, 0, w], 0.2, 0.005, friction=(mu, 0.0, r))
    np.testing.assert_allclose(mb.v, [(R + k) * (w - 0.2 * slowing), 0.0, w - 0.2 * slowing], atol=1e-7)
    last = touch.steps[-1]  # on the floor, which is second
    np.testing.assert_allclose(last.moments[0] / 0.005, [0.0, per_M * slowing, 0.0], atol=1e-6)
    np.testing.assert_allclose(last.impulses[0] / 0.005, [per_F * slowing, 0.0, -m * G], atol=1e-6)


@pytest.mark.parametrize("side", [0.99, 1.01])
def test_a_ball_rests_on_a_slope_below_a_threshold(side):
    """F = m g sin, M = R F: it stays while tan^2 (1/mu^2 + R^2/r^2) <= 1."""
    R, mu, r = 0.1, 0.3, 0.02
    slope = np.arctan(side / np.hypot(1 / mu, R / r))
    mb = wheel(slope, radius=R)
    run(mb, [0, R, 0], np.zeros(3), 0.1, 0.01, friction=(mu, 0.0, r))
    assert (np.abs(mb.v).max() < 1e-9) == (side < 1.0)
    if side > 1.0:
        assert mb.v[2] > 1e-4


def test_coefficients_of_pairs():
    """condim says which kinds of friction act: of two shapes the larger, as MuJoCo has it; pairs have their own."""
    mb = ground()
    mb.root.add_geometry(sc.Geometry("carpet", "plane", attributes={"condim": 6, "friction": [0.9, 0.02, 0.003]}))
    mb.root.add_geometry(sc.Geometry("felt", "plane", attributes={"condim": 4, "friction": [0.1, 0.05, 0.1]}))
    mb.root.add_geometry(sc.Geometry("ice", "plane", attributes={"condim": 1, "friction": [0.7, 0.0, 0.0]}))
    sphere(mb)
    mb.add_record(sc.Record("contact pair", "p", {"geom1": "skin", "geom2": "ice", "condim": 4, "friction": "1 1 0.3"}))
    surfaces = Surfaces(sc.contact.Scene(mb), 0.2)
    assert surfaces.of("ball/skin", "inertial/floor")[0] == (0.2, 0.2)
    assert surfaces.of("ball/skin", "inertial/carpet")[0] == (0.9, 0.9, 0.02, 0.003, 0.003)
    assert surfaces.of("ball/skin", "inertial/felt")[0] == (0.2, 0.2, 0.05)
    assert surfaces.of("ball/skin", "inertial/ice")[0] == (1.0, 1.0, 0.3)
    told = Surfaces(sc.contact.Scene(mb), 0.2, pairs={("ball", "inertial/floor"): ((0.4, 0.01), 0.5)})
    assert told.of("ball/skin", "inertial/floor") == ((0.4, 0.4, 0.01), 0.5)


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"condim": 5}, r"condim of shape 'inertial/rug' is 5; it must be 1, 3, 4 or 6"),
        ({"condim": 6, "friction": [0.5, 0.1]}, r"'inertial/rug' has condim 6 and 2 coefficients of friction; give th"),
        ({"friction": [0.5, -0.1]}, r"friction of shape 'inertial/rug' is -0.1; it must be 0 or more"),
        ({"friction": [1, 2, 3, 4]}, r"friction of shape 'inertial/rug' is \(1, 2, 3, 4\); give a number, or those of"),
    ],
)
def test_refusals(attributes, text):
    mb = ground()
    sphere(mb)
    mb.root.add_geometry(sc.Geometry("rug", "plane", attributes=attributes))
    with pytest.raises(sc.errors.ModelError, match=text):
        Surfaces(sc.contact.Scene(mb))


def test_friction_that_differs_along_tangents_is_refused():
    mb = ground()
    sphere(mb)
    mb.add_record(sc.Record("contact pair", "p", {"geom1": "skin", "geom2": "floor", "friction": "1 0.5"}))
    with pytest.raises(sc.errors.ModelError, match=r"friction of pair 'ball/skin' - 'inertial/floor' is '1 0.5': "):
        Surfaces(sc.contact.Scene(mb))
