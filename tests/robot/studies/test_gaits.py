"""Gaits in closed form: the wave gait of an idealised quadruped (McGhee and Frank), footfalls, a squat of a floating
robot, cost of transport of a cart with a damper, Froude's number; flight; refusals."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import SoacraftError, StateError
from soacraft.robot.studies.gaits import longitudinal_margin, margin

study = sc.robot.study
G = 9.81
DOWN = np.array([0, 0, -G])


def quadruped(pitch=1.0, width=0.8, height=0.5):
    """A mass on a rail along x; each foot slides along x and z and weighs nothing to speak of. Feet are named as legs
    are counted in the literature: left front, right front, left hind, right hind."""
    mb = sc.Multibody("quadruped", gravity=DOWN)
    at = sc.Pose(translation=(0, 0, height))
    body = mb.add_body("body", None, sc.Prismatic((1, 0, 0)), sc.Inertia(10.0), inboard=at)
    for name, x, y in (("lf", 1, 1), ("rf", 1, -1), ("lh", -1, 1), ("rh", -1, -1)):
        hip = mb.add_body(f"{name} swing", body, sc.Prismatic((1, 0, 0)), sc.Inertia(1e-9),
                          inboard=sc.Pose(translation=(x * pitch / 2, y * width / 2, -height)))  # fmt: skip
        foot = mb.add_body(f"{name} lift", hip, sc.Prismatic((0, 0, 1)), sc.Inertia(1e-9))
        foot.add_node("sole")
    return sc.robot.Robot(mb)


FEET = ["lf lift/sole", "rf lift/sole", "lh lift/sole", "rh lift/sole"]


def wave(duty, stride=0.4, rows=401):
    """The wave gait: the legs of a side a part `duty` apart, those of a pair half a cycle. Feet go back evenly by
    the stroke, stride times duty, about the middle while they are down."""
    t = np.linspace(0.0, 1.0, rows)
    phases = np.array([0.0, 0.5, duty, np.mod(duty + 0.5, 1.0)])
    flags = study.footfalls(t, 1.0, duty, phases)
    since = np.mod(t[:, None] - phases, 1.0)
    stroke = stride * duty
    back = np.where(since <= duty, stroke / 2 - stride * since, -stroke / 2 + (since - duty) / (1 - duty) * stroke)
    q, v = np.zeros((rows, 9)), np.zeros((rows, 9))
    q[:, 0], v[:, 0] = stride * t, stride
    q[:, 1::2] = back
    q[:, 2::2] = np.where(flags, 0.0, 0.05)
    return (t, q, v, np.zeros((rows, 9))), flags, phases


@pytest.mark.parametrize("duty", [0.78, 0.85, 0.92])
def test_the_wave_gait_has_the_longitudinal_margin_of_mcghee_and_frank(duty):
    """S = (duty - 3/4) stride, for a stroke no longer than the pitch."""
    way, flags, phases = wave(duty)
    made = study.gait(quadruped(), way, FEET, flags)
    assert made.duty == pytest.approx(np.full(4, duty), abs=3e-3)  # rows are 1/400 of the cycle apart
    assert made.phase == pytest.approx(phases, abs=3e-3)
    assert made.longitudinal.min() == pytest.approx((duty - 0.75) * 0.4, abs=2e-3)
    assert (made.static_margin > 0.0).all()
    assert made.distance == pytest.approx(0.4)
    assert made.froude == pytest.approx(0.4**2 / (G * 0.5), rel=1e-6)


def test_a_duty_factor_below_three_quarters_tips_over():
    way, flags, _ = wave(0.7)
    made = study.gait(quadruped(), way, FEET, flags)
    assert made.static_margin.min() < 0.0
    assert made.longitudinal.min() < 0.0


def test_margins_of_a_triangle():
    p = np.array([[0.0, 0, 0], [3, 0, 0], [0, 3, 0]])
    assert margin(p, np.array([1.0, 1, 5]), DOWN) == pytest.approx(1 / np.sqrt(2))
    assert margin(p, np.array([-2.0, 1, 5]), DOWN) == pytest.approx(-2.0)
    assert longitudinal_margin(p, np.array([0.5, 1, 5]), np.array([1.0, 0, 0]), DOWN) == pytest.approx(0.5)
    assert longitudinal_margin(p, np.array([-0.5, 1, 5]), np.array([1.0, 0, 0]), DOWN) == pytest.approx(-0.5)
    assert longitudinal_margin(p, np.array([0.5, 7, 5]), np.array([1.0, 0, 0]), DOWN) == -np.inf
    assert margin(p[:2], np.array([1.0, 0.4, 0]), DOWN) == pytest.approx(-0.4)  # on two points there is no inside
    assert margin(p[:1], np.array([3.0, 4.0, 0]), DOWN) == pytest.approx(-5.0)
    assert margin(p[:0], np.zeros(3), DOWN) == -np.inf


def test_cost_of_transport_of_a_cart_with_a_damper():
    """T = c v along the way: E / (m g d) = c v / (m g)."""
    way, flags, _ = wave(0.8, rows=101)
    rb = quadruped()
    rb.mb["body"].passive = sc.Passive(damping=7.0)
    still = (way[0], way[1], np.where(np.arange(9) == 0, way[2], 0.0), way[3])
    made = study.gait(rb, still, FEET, flags)
    assert made.torque[:, 0] == pytest.approx(7.0 * 0.4)
    assert made.work == pytest.approx(7.0 * 0.4 * 0.4, rel=1e-6)
    assert made.cost_of_transport == pytest.approx(7.0 * 0.4 / (10.0 * G), rel=1e-6)


def test_the_zero_moment_point_lags_the_centre_when_it_speeds_up():
    way, flags, _ = wave(0.8, rows=11)
    flags = np.ones_like(flags)
    vdot = np.zeros((11, 9))
    vdot[:, 0] = 2.0
    q = np.zeros((11, 9))
    made = study.gait(quadruped(), (way[0], q, 0 * q, vdot), FEET, flags)
    assert made.static_margin == pytest.approx(0.4)  # half of the width
    assert made.zmp_margin == pytest.approx(min(0.4, 0.5 - 2.0 * 0.5 / G))


def floating():
    mb = sc.Multibody("legs", gravity=DOWN)
    body = mb.add_body("body", None, sc.Free(), sc.Inertia.box(8.0, (0.2, 0.2, 0.2)))
    for i, (x, y) in enumerate(((0.3, 0.2), (0.3, -0.2), (-0.3, 0.2), (-0.3, -0.2))):
        leg = mb.add_body(f"leg{i}", body, sc.Prismatic((0, 0, 1)), sc.Inertia(0.5),
                          inboard=sc.Pose(translation=(x, y, -0.5)))  # fmt: skip
        leg.add_node("foot")
    return sc.robot.Robot(mb)


SOLES = [f"leg{i}/foot" for i in range(4)]


def squat(rows=41):
    """The body goes up and down as a sine, the feet stay."""
    rb = floating()
    t = np.linspace(0.0, 1.0, rows)
    w = 2 * np.pi
    z, v, a = 0.05 * np.sin(w * t), 0.05 * w * np.cos(w * t), -0.05 * w * w * np.sin(w * t)
    q = np.tile(rb.mb.q, (rows, 1))
    q[:, 6] += z
    q[:, 7:] -= z[:, None]
    V, A = np.zeros((rows, 10)), np.zeros((rows, 10))
    V[:, 5], V[:, 6:] = v, -v[:, None]
    A[:, 5], A[:, 6:] = a, -a[:, None]
    return rb, (t, q, V, A), v, a


def test_a_squat_of_a_floating_robot():
    """Each leg pushes a quarter of the body, 2 (g + a); its own weight is on the ground. What is put in is the work of
    going up: 8 kg ((g + a) v where positive)."""
    rb, way, v, a = squat()
    made = study.gait(rb, way, SOLES, np.ones((41, 4), dtype=bool))
    assert made.carried.all()
    assert made.dofs == ("leg0", "leg1", "leg2", "leg3")
    assert made.torque == pytest.approx(np.tile(-2.0 * (G + a)[:, None], (1, 4)), rel=1e-5)
    assert made.power.sum(axis=1) == pytest.approx(8.0 * (G + a) * v, rel=1e-5, abs=1e-6)
    assert made.cost_of_transport == np.inf
    assert np.isnan(made.longitudinal).all()
    assert (made.duty == 1.0).all()
    assert np.isnan(made.phase).all()


def test_what_feet_cannot_carry_is_told():
    rb, way, _, _ = squat()
    flags = np.ones((41, 4), dtype=bool)
    flags[10] = [True, True, False, False]  # the front alone
    flags[20] = False  # in flight, and not falling
    made = study.gait(rb, way, SOLES, flags)
    assert list(np.flatnonzero(~made.carried)) == [10, 20]
    assert np.isnan(made.torque[10]).all()
    assert np.isnan(made.cost_of_transport)
    assert made.static_margin[20] == -np.inf
    assert made.static_margin[10] == pytest.approx(-0.3)
    assert "2 rows that no forces of the feet carry" in repr(made)
    assert (made.duty == [39 / 40, 39 / 40, 38 / 40, 38 / 40]).all()


def test_a_recorded_run_knows_what_touched():
    """A ball that falls on the floor and stays: down from then on."""
    mb = sc.Multibody("ball", gravity=DOWN)
    ball = mb.add_body("ball", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0))
    ball.add_geometry(sc.Geometry("skin", "sphere", (0.1,), role="collision"))
    mb.root.add_geometry(sc.Geometry("floor", "plane", (), role="collision"))
    mb.set_state([0.2], [0.0])
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.005)
    p.add(sc.sim.Contact())
    run = p.advance_to(0.4)
    made = study.gait(sc.robot.Robot(mb), run, ["ball"], torque=np.zeros((len(run.t), 1)))
    falls = np.sqrt(2 * 0.1 / G)
    assert made.duty == pytest.approx([1 - falls / 0.4], abs=0.02)
    assert made.work == 0.0


def test_it_shows_itself_and_comes_back_from_its_file(tmp_path):
    way, flags, _ = wave(0.8, rows=21)
    made = study.gait(quadruped(), way, FEET, flags)
    assert repr(made).startswith("Gait of 'quadruped': 0.4 m/s, duty 0.8, 0.8, 0.8, 0.8, static margin")
    assert len(made.table()) == 4 + 3 + 3
    assert study.load(made.save(tmp_path / "g.h5")).same_as(made)


def test_refused():
    way, flags, _ = wave(0.8, rows=21)
    rb = quadruped()
    with pytest.raises(StateError, match="a gait is of a Robot, got 5"):
        study.gait(5, way, FEET, flags)
    with pytest.raises(StateError, match=r"contact= says when feet are down, \(rows, feet\); or take a run"):
        study.gait(rb, way, FEET)
    with pytest.raises(StateError, match=r"contact must be truth values of shape \(21, 4\), rows by feet; got"):
        study.gait(rb, way, FEET, flags[:, :2])
    with pytest.raises(StateError, match="footfalls have a positive period and duty factors from 0 to 1"):
        study.footfalls([0.0], 1.0, 1.5, [0.0])
    rb.mb.gravity = (0, 0, 0)
    with pytest.raises(StateError, match="'quadruped' has no gravity, so nothing walks"):
        study.gait(rb, way, FEET, flags)


@pytest.mark.parametrize(
    "wrong",
    ["abc", None, {}, [[1], [2, 3]], 10**400, 1j, np.array("LF")],
    ids=["text", "none", "mapping", "ragged", "huge", "complex", "array"],
)
def test_what_is_no_number_is_refused(wrong):
    with pytest.raises(StateError):
        study.footfalls(wrong, 1.0, 0.5, [0.0, 0.5])
    with pytest.raises(StateError):
        study.footfalls([0.0, 1.0], 1.0, wrong, [0.0, 0.5])
    with pytest.raises(SoacraftError):
        study.gait(quadruped(), wave(0.75)[0], wrong, np.ones((401, 4), dtype=bool))
