"""Reference cases with their digits, carried through time by a propagator."""

import numpy as np
import pytest
from tests.loops.cases import row_of_four_bars

import soacraft as sc
from soacraft import dynamics as dyn

PENDULUM = {
    1.0: (0.986291751131875, -0.165010853125541),
    2.0: (-0.793566195343322, -0.608483930443792),
    5.0: (-0.942305435043757, -0.334754338414001),
    10.0: (-0.275087462576117, -0.961419205099125),
}


def test_planar_pendulum():
    """A01 of the IFToMM library, in pauses; the energy is asked to drift by less than 5e-5 J."""
    mb = sc.load("pendulum")
    mb.set_state([-np.pi / 2], [0.0])
    p = sc.sim.Propagator(mb, rtol=1e-12)
    for t, tip in PENDULUM.items():
        run = p.advance_to(t)
        np.testing.assert_allclose([np.sin(mb.q[0]), -np.cos(mb.q[0])], tip, rtol=0, atol=2e-11)
        assert np.ptp(run.energy) < 1e-10
    assert p.t == 10.0


def test_double_pendulum():
    mb = sc.load("double_pendulum")
    mb.set_state([np.pi / 2, 0.0], [0.0, 0.0])
    run = sc.sim.Propagator(mb, rtol=1e-12).advance_to(2.0)
    expected = {
        1.0: (-0.6250876998063906, -1.034585085680012, -3.922279572887977, -1.303099248696331),
        2.0: (-0.4829715342517544, -1.324048712302363, 3.065288192073401, 2.949271547571619),
    }
    for t, digits in expected.items():
        x = run.at(t)
        found = [x.q[0], x.q.sum(), x.v[0], x.v.sum()]
        np.testing.assert_allclose(found, digits, rtol=0, atol=1e-11)


@pytest.mark.parametrize("rate", [0.496915294752674, 37.9931026512224])
def test_steady_top(rate):
    """A top on a ball joint precesses steadily: W (vertical axis) and the spin w3 along its own axis stay."""
    l, I1, I3, th, w3 = 0.5, 0.3, 0.05, np.deg2rad(30.0), 200.0
    mb = sc.Multibody("top", gravity=(0, 0, -9.81))
    about_com = np.diag([I1 - l**2, I1 - l**2, I3])
    mb.add_body("top", None, sc.Spherical(), sc.Inertia(1.0, (0, 0, l), about_com))
    # the axis leans by th towards -y; in body axes the vertical is (0, sin th, cos th)
    omega = [0.0, rate * np.sin(th), w3]
    mb.set_state([np.sin(th / 2), 0, 0, np.cos(th / 2)], omega)
    run = sc.sim.Propagator(mb, rtol=1e-11).advance_to(0.2)
    axis = mb.pose("top", state=mb.state(run.q)).rotation[:, :, 2]
    np.testing.assert_allclose(axis[:, 2], np.cos(th), atol=1e-8)
    turned = np.unwrap(np.arctan2(axis[:, 1], axis[:, 0]))
    np.testing.assert_allclose(turned[-1] - turned[0], 0.2 * rate, atol=1e-6)


def test_two_four_bars_pass_their_singular_poses():
    """A02 with N = 2: ten seconds, ten times through poses where it could leave its branch."""
    mb = row_of_four_bars(2)
    p = sc.sim.Propagator(mb, rtol=1e-9)
    for t, tip in ((5.0, (-0.8113104610, -0.5846155454)), (10.0, (0.3284581115, 0.9445185382))):
        run = p.advance_to(t)
        np.testing.assert_allclose([np.cos(mb.q[0]), np.sin(mb.q[0])], tip, rtol=0, atol=5e-7)
        assert run.violation.max() < 1e-12
        assert run.check().imbalance < 1e-6


def test_two_four_bars_to_the_printed_digits():
    """The same with fixed steps, which do not look at how ill-conditioned the poses are that they pass."""
    mb = row_of_four_bars(2)
    p = sc.sim.Propagator(mb, integrator="rk4", step=1e-3)
    for t, tip in ((5.0, (-0.8113104610, -0.5846155454)), (10.0, (0.3284581115, 0.9445185382))):
        p.advance_to(t)
        np.testing.assert_allclose([np.cos(mb.q[0]), np.sin(mb.q[0])], tip, rtol=0, atol=1e-10)


def test_slider_and_rod():
    """A slider of mass M on a level rail with a uniform rod, let go from rest at an angle a from down. What is level of
    the momentum stays zero, so that the energy alone tells the angle, and time is a quadrature of it:

        x = -(m c sin th - m c sin a) / (M + m),    th'^2 = 2 m g c (cos th - cos a) / (J - m^2 c^2 cos^2 th / (M + m))
    """
    M, m, c, J, g, a = 2.0, 1.5, 0.4, 1.5 * 0.8**2 / 3, 9.81, 1.1
    mb = sc.Multibody("slider and rod", gravity=(0, 0, -g))
    mb.add_body("slider", None, sc.Prismatic((1, 0, 0)), sc.Inertia.point(M, (0, 0, 0)))
    moment = np.diag([J - m * c**2, J - m * c**2, 0.0])
    mb.add_body("rod", "slider", sc.Pin((0, -1, 0)), sc.Inertia(m, (0, 0, -c), moment))

    def inverse_rate(s):
        """dt/ds for th = a cos s, which takes the root out of the turning points."""
        th = a * np.cos(s)
        square = 2 * m * g * c * (np.cos(th) - np.cos(a)) / (J - (m * c * np.cos(th)) ** 2 / (M + m))
        return a * np.sin(s) / np.sqrt(square)

    nodes, weights = np.polynomial.legendre.leggauss(60)
    for s in (0.4, 1.5, 2.9):  # to where it was s, of pi for half a swing
        mb.set_state([0.0, a], [0.0, 0.0])
        time = 0.5 * s * weights @ inverse_rate(0.5 * s * (nodes + 1))
        sc.sim.Propagator(mb, rtol=1e-12).advance_to(time)
        angle = a * np.cos(s)
        x = -m * c * (np.sin(angle) - np.sin(a)) / (M + m)
        np.testing.assert_allclose(mb.q, [x, angle], rtol=0, atol=1e-8)  # a time of whole nanoseconds, at 10 m/s


def test_bouncing_ball():
    """From 1 m with e = 0.5: the instants of the impacts, to the digits of the closed form."""
    mb = sc.Multibody("ball", gravity=(0, 0, -9.81))
    mb.add_body("ball", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.set_state([1.0], [0.0])

    def bounce(t, state):
        mb.v = -0.5 * mb.v

    for integrator, step in (("dop853", None), ("rk4", 0.05)):
        mb.set_state([1.0], [0.0])
        p = sc.sim.Propagator(mb, integrator=integrator, step=step)
        p.event("touch", lambda t, state: state.q[0], direction=-1, action=bounce)
        run = p.advance_to(1.2)
        fall = np.sqrt(2 / 9.81)
        np.testing.assert_allclose([x.t for x in run.events], [fall, 2 * fall, 2.5 * fall], rtol=0, atol=1e-12)
        assert [x.name for x in run.events] == ["touch"] * 3
        np.testing.assert_allclose([x.q[0] for x in run.events], 0.0, atol=1e-12)
        # what the impacts took is not work: the balance leaves jumps out
        assert run.check().imbalance < 1e-11
        np.testing.assert_allclose(run.energy[-1], 9.81 / 64, rtol=1e-9)


def test_a_spinning_body_keeps_momentum_and_energy():
    """A free asymmetric body in space, near its unstable axis: it tumbles; angular momentum about the origin stays."""
    mb = sc.Multibody("box", gravity=(0, 0, 0))
    mb.add_body("box", None, sc.Free(), sc.Inertia(2.0, (0.1, 0.2, -0.1), np.diag([1.0, 2.0, 2.5])))
    mb.set_state([0, 0, 0, 1, 0, 0, 0], [0.3, 3.0, 0.02, 0.4, 0, 0.1])
    before = dyn.momentum(mb, mb.q, mb.v)
    run = sc.sim.Propagator(mb, rtol=1e-11).advance_to(4.0)
    assert run.v[:, 1].min() < -2.0
    np.testing.assert_allclose(dyn.momentum(mb, run.q, run.v) - before, 0.0, atol=1e-9)
    assert run.check().holds
