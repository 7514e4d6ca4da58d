"""Force elements against closed forms: dry friction with stiction, limits of joints, drag."""

import numpy as np
import pytest
from tests.loops.cases import row_of_four_bars

import soacraft as sc
from soacraft.errors import ModelError, StateError


def block(gravity=(0, 0, 0), q=0.0, v=0.0, mass=2.0):
    mb = sc.Multibody("block", gravity=gravity)
    mb.add_body("block", None, sc.Prismatic((1, 0, 0)), sc.Inertia(mass, (0, 0, 0), np.eye(3)), hinge_name="slide")
    mb.set_state([q], [v])
    return mb


def test_a_sliding_block_stops_and_sticks():
    """At 3 m/s under mu = 0.3 it stops after 1.5290519878 m, and stays."""
    mb = block(v=3.0)
    p = sc.sim.Propagator(mb)
    p.add(sc.sim.HingeFriction("slide", 0.3 * 2.0 * 9.81))
    run = p.advance_to(3.0)
    (stop,) = run.events
    assert stop.name == "friction of slide"
    assert stop.t == pytest.approx(3.0 / (0.3 * 9.81), abs=1e-9)
    assert mb.q[0] == pytest.approx(1.5290519878, abs=1e-9)
    assert mb.v[0] == 0.0
    assert run.at(2.0).q[0] == mb.q[0]
    assert run.work["friction of slide"][-1] == pytest.approx(-9.0, abs=1e-9)
    assert run.check().holds


@pytest.mark.parametrize(("mu", "slides"), [(0.578, False), (0.577, True), (0.3, True)])
def test_a_block_on_an_incline(mu, slides):
    """It sticks where mu >= tan 30 deg = 0.57735; with mu = 0.3 it slides at 2.3562872367 m/s2."""
    angle = np.deg2rad(30.0)
    mb = block(gravity=(9.81 * np.sin(angle), 0, -9.81 * np.cos(angle)), mass=1.0)
    p = sc.sim.Propagator(mb)
    p.add(sc.sim.HingeFriction("slide", mu * 9.81 * np.cos(angle)))
    run = p.advance_to(1.0)
    wanted = 9.81 * (np.sin(angle) - mu * np.cos(angle)) if slides else 0.0
    np.testing.assert_allclose([mb.q[0], mb.v[0]], [0.5 * wanted, wanted], atol=1e-9)
    assert not slides or mu != 0.3 or wanted == pytest.approx(2.3562872367)
    if not slides:
        np.testing.assert_allclose(run.forces["friction of slide"][:, 0], -9.81 * np.sin(angle))


def test_a_spring_loosens_and_sticks_again():
    """A slow pull by a spring: it slips when the spring pulls with the static friction, and stops where the oscillator
    x'' = k (u - x) - coulomb has no speed left: with u = slip point held, after half a period."""
    k, static, coulomb = 8.0, 2.0, 1.0
    mb = block(mass=2.0)
    p = sc.sim.Propagator(mb, rtol=1e-10)
    p.add(sc.sim.HingeFriction("slide", coulomb, static))
    p.add(lambda t, state: [k * (min(t, 0.25 + 1e-9) - state.q[0])])
    run = p.advance_to(4.0)
    first, second = run.events[0].t, run.events[1].t
    assert first == pytest.approx(static / k, abs=1e-8)
    assert second - first == pytest.approx(np.pi / np.sqrt(k / 2.0), abs=1e-6)
    assert mb.q[0] == pytest.approx(2 * (static - coulomb) / k, abs=1e-6)
    assert len(run.events) == 2
    assert mb.v[0] == 0.0


def test_two_frictions_in_one_arm():
    """A double pendulum that swings out and comes to rest off its lowest pose, held by friction in both hinges."""
    mb = sc.load("double_pendulum")
    mb.set_state([0.8, 0.3], [0.0, 0.0])
    p = sc.sim.Propagator(mb, rtol=1e-7)
    names = mb.dof_names
    p.add(sc.sim.HingeFriction(names[0], 3.0), sc.sim.HingeFriction(names[1], 1.5))
    run = p.advance_to(6.0)
    np.testing.assert_array_equal(mb.v, 0.0)
    held = np.array([run.forces[f"friction of {x}"][-1] for x in names])
    total = sc.dynamics.gravity_force(mb, mb.q)
    np.testing.assert_allclose(held.sum(axis=0), total, atol=1e-9)
    assert abs(total[0]) <= 3.0
    assert abs(total[1]) <= 1.5
    assert run.check().imbalance < 1e-5


def test_smooth_friction_has_no_events():
    mb = block(v=3.0)
    p = sc.sim.Propagator(mb, rtol=1e-6)
    p.add(sc.sim.HingeFriction("slide", 5.886, smooth=0.1))
    run = p.advance_to(0.9)
    assert run.events == []
    assert mb.v[0] == pytest.approx(3.0 - 2.943 * 0.9, abs=1e-2)


def test_stribeck_and_viscous():
    mb = block()
    mb["block"].passive = sc.Passive(friction=1.0)
    f = sc.sim.HingeFriction("slide", static=1.5, viscous=0.2, stribeck=0.1)
    f.bind(mb)
    f.sign = 1.0
    assert f.force(0.0, mb.state(v=[0.0]))[0] == pytest.approx(-1.5)
    assert f.force(0.0, mb.state(v=[0.1]))[0] == pytest.approx(-1.0 - 0.5 / np.e - 0.02)
    assert f.force(0.0, mb.state(v=[9.0]))[0] == pytest.approx(-1.0 - 1.8)


def test_friction_that_is_not_told_is_that_of_the_hinge():
    """A spring pulls slowly: the block slips when it pulls with the hinge's static friction."""
    mb = block()
    mb["block"].passive = sc.Passive(friction=1.0, static=1.5, stribeck_speed=0.1)
    f, told = sc.sim.HingeFriction("slide"), sc.sim.HingeFriction("slide", coulomb=0.5)
    for x in (f, told):
        x.bind(mb)
        x.sign = 1.0
    assert f.bounds == (-1.5, 1.5)
    assert f.force(0.0, mb.state(v=[0.1]))[0] == pytest.approx(-1.0 - 0.5 / np.e)
    assert told.bounds == (-0.5, 0.5)
    assert told.force(0.0, mb.state(v=[0.1]))[0] == pytest.approx(-0.5)
    p = sc.sim.Propagator(mb)
    p.add(sc.sim.HingeFriction("slide"))
    p.control("slide", lambda t, state: 8.0 * (t - state.q[0]))
    assert next(x.t for x in p.advance_to(0.3).events) == pytest.approx(1.5 / 8.0, abs=1e-8)


def test_a_compliant_limit_returns_the_energy():
    """Without damping a spring: half a period inside, the speed turned round."""
    mb = block(v=1.0)
    p = sc.sim.Propagator(mb, rtol=1e-9)
    p.add(sc.sim.JointLimit("slide", stiffness=2e4, upper=0.5))
    run = p.advance_to(0.7)
    assert mb.v[0] == pytest.approx(-1.0, abs=1e-6)
    inside = np.pi / np.sqrt(2e4 / 2.0)
    assert mb.q[0] == pytest.approx(0.5 - (0.7 - 0.5 - inside), abs=1e-6)
    assert run.work["limit of slide"][-1] == pytest.approx(0.0, abs=1e-7)


def test_terminal_speed():
    """m g = c v^2 in free fall with quadratic drag, and v = v_t tanh(g t / v_t) on the way."""
    mb = sc.Multibody("ball", gravity=(0, 0, -9.81))
    mb.add_body("ball", None, sc.Free(), sc.Inertia(2.0, (0, 0, 0), np.eye(3)))
    mb.set_state([0.2, 0.4, 0.4, 0.8, 0, 0, 0], np.zeros(6))
    p = sc.sim.Propagator(mb)
    p.add(sc.sim.Drag("ball", quadratic=0.5))
    p.advance_to(1.5)
    terminal = np.sqrt(2.0 * 9.81 / 0.5)
    fall = np.asarray(mb.velocity("ball").linear)
    np.testing.assert_allclose(fall, [0, 0, -terminal * np.tanh(9.81 * 1.5 / terminal)], atol=1e-7)


def test_drag_has_the_power_of_its_laws_along_every_dof():
    """T_i = -(linear + quadratic |u|) u . du/dv_i - turning w . dw/dv_i, at a node off the origin of a body that is
    turned, and that another body moves."""
    linear, quadratic, turning = 0.7, 1.3, 0.2
    mb = sc.Multibody("plane")
    inertia = sc.Inertia(2.0, (0.1, 0, 0), np.eye(3))
    body = mb.add_body("body", None, sc.Free(), inertia)
    wing = mb.add_body("wing", body, sc.Pin((0, 1, 0)), inertia, sc.Pose.from_rpy(0.3, 0.2, 0.1, (0.5, 0, 1)))
    wing.add_node("tip", sc.Pose.from_rpy(0.4, -0.7, 0.2, (0.3, 2.0, -0.4)))
    q, v = mb.random_state(2)

    def moving(v):
        x = mb.velocity("wing/tip", state=mb.state(q, v))
        return np.asarray(x.linear), np.asarray(x.angular)

    u, w = moving(v)
    drag = sc.sim.Drag("wing/tip", linear, quadratic, turning)
    drag.bind(mb)
    each = [moving(e) for e in np.eye(mb.nv)]
    pull = (linear + quadratic * np.linalg.norm(u)) * u
    wanted = [-pull @ du - turning * w @ dw for du, dw in each]
    np.testing.assert_allclose(drag.force(0.0, mb.state(q, v)), wanted, rtol=1e-12, atol=1e-12)
    assert (drag.name, sc.sim.Drag("wing/tip", name="air").name) == ("drag at wing/tip", "air")


def test_drag_on_a_closed_chain_is_that_on_its_tree():
    """The closure gives forces of its own, which are not the drag's: 0.5 kg/s at the tip of each crank."""
    mb = row_of_four_bars(1)
    for name in ("crank0", "crank1"):
        drag = sc.sim.Drag(f"{name}/tip", linear=0.5)
        drag.bind(mb)
        at = mb.v_slice(mb[name]).start
        wanted = np.zeros(mb.nv)
        wanted[at] = -0.5 * mb.v[at]
        np.testing.assert_allclose(drag.force(0.0, mb.state()), wanted, atol=1e-13)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_friction_of_a_hinge_with_several_dofs_is_that_of_each(number):
    mb = sc.Multibody("wrist")
    mb.add_body("arm", None, sc.Pin((1, 0, 0)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    hand = mb.add_body("hand", "arm", sc.Gimbal(), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    hand.passive = sc.Passive(friction=[1.0, 2.0, 3.0], static=[1.5, 2.5, 3.5], stribeck_speed=[0.1, 0.2, 0.4])
    mb["arm"].passive = sc.Passive(friction=7.0)
    f = sc.sim.HingeFriction(mb.dof_names[1 + number])
    f.bind(mb)
    f.sign = 1.0
    speed = [0.1, 0.2, 0.4][number]
    wanted = np.zeros(4)
    wanted[1 + number] = -(1.0 + number) - 0.5 / np.e
    np.testing.assert_allclose(f.force(0.0, mb.state(v=[5.0, speed, speed, speed])), wanted, rtol=1e-14)
    assert f.bounds == (-1.5 - number, 1.5 + number)


def test_a_field_of_gravity_keeps_a_planet_on_its_ellipse():
    """g = -mu r / r^3: after half a period from the near point it is at the far one (Kepler), with mu (1/r - 1/a)."""
    mu, near_point, far_point = 3.0, 1.0, 2.0
    a = 0.5 * (near_point + far_point)
    mb = sc.Multibody("planet", gravity=(0, 0, 0))
    mb.add_body("planet", None, sc.Free(), sc.Inertia(2.0, (0.1, 0, 0), np.eye(3)))
    speed = np.sqrt(mu * (2 / near_point - 1 / a))
    mb.set_state([0, 0, 0, 1, near_point - 0.1, 0, 0], [0, 0, 0, 0, speed, 0])
    p = sc.sim.Propagator(mb, rtol=1e-10)
    p.add(sc.sim.GravityField(lambda t, r: -mu * r / np.linalg.norm(r) ** 3))
    run = p.advance_to(np.pi * np.sqrt(a**3 / mu))
    np.testing.assert_allclose(mb.q[4:], [-far_point - 0.1, 0, 0], atol=1e-7)
    assert run.work["gravity field"][-1] == pytest.approx(2.0 * mu * (1 / far_point - 1 / near_point), abs=1e-7)
    assert run.check().holds
    wrong = sc.sim.Propagator(mb)
    wrong.add(sc.sim.GravityField(lambda t, r: 9.81))
    with pytest.raises(StateError, match=r"the gravity field at 'planet' must have shape \(3,\)"):
        wrong.advance_to(0.1)


def test_refusals():
    mb = block()
    for make, kind, text in (
        (lambda: sc.sim.JointLimit("slide", 10.0), ModelError, r"dof 'slide' of 'block' has no limits; give"),
        (lambda: sc.sim.JointLimit("slide", -1.0), StateError, r"stiffness of the limit of slide must not be negative"),
        (lambda: sc.sim.JointLimit("slide", 1.0, lower=2, upper=1), ModelError, r"must have lower < upper, got 2"),
        (lambda: sc.sim.JointLimit("slide", restitution=1.5), StateError, r"must be between 0 and 1, got 1.5"),
        (lambda: sc.sim.JointLimit("slide", damping=1.0), StateError, r"damping .* needs a stiffness; a rigid stop"),
        (lambda: sc.sim.JointLimit("slide", 1.0, restitution=0.5), StateError, r"is that of a rigid stop; leave"),
        (lambda: sc.sim.HingeFriction("slid", 1.0), ModelError, r"'block' has no dof 'slid'; did you mean 'slide'"),
        (lambda: sc.sim.HingeFriction("slide", 2.0, 1.0), StateError, r"must not be less than 2, coulomb"),
        (lambda: sc.sim.HingeFriction("slide", 2.0, stribeck=0.0), StateError, r"must be positive, got 0"),
        (lambda: sc.sim.Drag("block/nose"), ModelError, r"nose"),
    ):
        p = sc.sim.Propagator(mb)
        with pytest.raises(kind, match=text):
            p.add(make())
    p = sc.sim.Propagator(mb)
    p.add(sc.sim.HingeFriction("slide", 1.0))
    with pytest.raises(StateError, match=r"a force 'friction of slide' acts already"):
        p.add(sc.sim.HingeFriction("slide", 1.0))


@pytest.mark.parametrize(
    ("given", "coulomb", "static"),
    [
        ({}, 0.5, 0.8),
        ({"coulomb": 0.3}, 0.3, 0.3),
        ({"static": 0.7}, 0.5, 0.7),
        ({"coulomb": 0.3, "static": 0.4}, 0.3, 0.4),
    ],
)
def test_frictions_that_are_not_given_are_those_of_the_hinge(given, coulomb, static):
    """The static one of the hinge belongs to its own Coulomb friction."""
    mb = sc.load("pendulum")
    mb["bob"].passive = sc.Passive(friction=0.5, static=0.8)
    friction = sc.sim.HingeFriction("bob", **given)
    friction.bind(mb)
    assert (friction.coulomb, friction.static) == (coulomb, static)
