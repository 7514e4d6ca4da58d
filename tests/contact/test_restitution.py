"""Laws of restitution and orders of impacts: closed forms, and energy on random impacts."""

import numpy as np
import pytest
from tests.contact.scenes import box, free, ground, run, sphere

import soacraft as sc
from soacraft.contact.dynamics.restitution import ImpactLaw, resolve, resolve_in_turn
from soacraft.contact.dynamics.rows import contact_rows
from soacraft.contact.dynamics.surfaces import Surfaces
from soacraft.errors import SimulationError


def row_of_balls(v, masses=(1.0, 1.0, 1.0), **laws):
    """Balls that touch in a row along x, without gravity: their speeds after one step."""
    mb = sc.Multibody(gravity=(0, 0, 0))
    for i, mass in enumerate(masses):
        sphere(mb, f"ball{i}", mass=mass)
    speeds = np.zeros((len(masses), 6))
    speeds[:, 3] = v
    q = np.concatenate([free(0.2 * i, 0, 0) for i in range(len(masses))])
    _, touch = run(mb, q, speeds.reshape(-1), 0.001, 0.001, friction=0.0, **laws)
    return mb.v.reshape(-1, 6)[:, 3], touch


@pytest.mark.parametrize("law", ["energy", "newton", "poisson"])
def test_three_balls_at_once(law):
    """e = 1: together (-1/3, 2/3, 2/3), one after the other (0, 0, 1)."""
    np.testing.assert_allclose(row_of_balls([1, 0, 0], restitution=1.0, law=law)[0], [-1 / 3, 2 / 3, 2 / 3], atol=1e-8)
    found, touch = row_of_balls([1, 0, 0], restitution=1.0, law=law, impacts="sequential")
    np.testing.assert_allclose(found, [0, 0, 1], atol=1e-8)
    np.testing.assert_allclose(np.abs(touch.steps[-1].impulses[:, 0]), [1, 1], atol=1e-8)
    assert not touch.gains


def test_newtons_cradle():
    """As many balls leave as came: two of five; with other masses the speeds of one impact after the other."""
    found, _ = row_of_balls([1, 1, 0, 0, 0], masses=[1] * 5, restitution=1.0, impacts="sequential")
    np.testing.assert_allclose(found, [0, 0, 0, 1, 1], atol=1e-7)
    e, (a, b, c) = 0.5, (1.0, 2.0, 4.0)
    u1, u2 = (a - e * b) / (a + b), a * (1 + e) / (a + b)  # the first strikes the second at 1 m/s
    w2, w3 = u2 * (b - e * c) / (b + c), u2 * b * (1 + e) / (b + c)  # which strikes the third
    assert u1 <= w2 <= w3  # and nothing approaches any more
    found, _ = row_of_balls([1, 0, 0], masses=(a, b, c), restitution=e, impacts="sequential")
    np.testing.assert_allclose(found, [u1, w2, w3], atol=1e-8)


class Rod:
    """A tilted rod that strikes the floor with one end: its contact problem by dofs, in one plane."""

    def __init__(self, angle, mu, e, velocity, spin=0.0, belt=None):
        moving = {} if belt is None else {"surface_velocity": belt}
        self.mb = mb = sc.Multibody(gravity=(0, 0, 0))
        mb.root.add_geometry(sc.Geometry("floor", "plane", attributes=moving))
        rod = mb.add_body("rod", None, sc.Free(), sc.Inertia(1.0, moment=np.diag([1 / 12, 1 / 12, 1e-3])))
        rod.add_geometry(sc.Geometry("skin", "capsule", (0.01, 1.0)))
        mb.set_state([0, np.sin(angle / 2), 0, np.cos(angle / 2), 0, 0, 0.5 * np.cos(angle) + 0.01], np.zeros(6))
        mb.v = [0, spin, 0, *(mb.pose("rod").rotation.T @ velocity)]
        scene = sc.contact.Scene(mb)
        self.rows = contact_rows(scene, Surfaces(scene, mu, e), mb.q, 1e-6)
        assert len(self.rows) == 1
        self.inverse = np.linalg.inv(sc.dynamics.mass_matrix(mb, mb.q))
        self.u = self.rows.J @ mb.v + self.rows.slip
        self.S = self.rows.J @ self.inverse @ self.rows.J.T

    def strike(self, law, in_turn=False):
        """(u after, the change of kinetic energy relative to a surface that moves, relative)."""
        v, solve = self.mb.v, lambda X: self.inverse @ X
        if in_turn:
            done = resolve_in_turn(self.rows, solve, v, v, np.zeros(1), None, ImpactLaw(law))
        else:
            done = resolve(self.rows, solve, v, self.u[:1], np.zeros(1), None, ImpactLaw(law))
        energy = float(sc.dynamics.kinetic_energy(self.mb, self.mb.q, v))
        return self.rows.J @ done.v + self.rows.slip, done.work / energy, done


def test_poisson_where_the_point_sticks():
    """It sticks in both phases: u_n+ = e (-u_n + (S_nt/S_tt) u_t), where Newton has -e u_n."""
    rod = Rod(0.5, 5.0, 0.6, (0.3, 0.0, -1.0))
    t = int(np.argmax(np.abs(rod.u[1:]))) + 1  # the tangent in the plane of the motion
    expected = 0.6 * (-rod.u[0] + rod.S[0, t] / rod.S[t, t] * rod.u[t])
    u, _, _ = rod.strike("poisson")
    assert abs(expected + 0.6 * rod.u[0]) > 0.05  # another law
    assert u[0] == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(u[1:], 0.0, atol=1e-9)
    assert rod.strike("newton")[0][0] == pytest.approx(-0.6 * rod.u[0], rel=1e-8)


def test_poisson_where_the_point_slides_on():
    """Friction mu p_n in both phases, slip never ends: p_n = -(1 + e) u_n / (S_nn - mu S_nt), as Newton has it."""
    rod = Rod(0.5, 0.1, 0.6, (6.0, 0.0, -1.0))
    t = int(np.argmax(np.abs(rod.u[1:]))) + 1
    against = -0.1 * np.sign(rod.u[t])
    p = -1.6 * rod.u[0] / (rod.S[0, 0] + against * rod.S[0, t])
    for law in ("poisson", "newton"):
        found = rod.strike(law)[2].impulses.p
        np.testing.assert_allclose(found[[0, t]], [p, against * p], rtol=1e-8)


def test_poisson_bounds_friction_by_each_phase():
    """In the expansion friction is at most mu e p_c; the total stays in the cone, and compression alone is e = 0."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rod = Rod(rng.uniform(0.2, 1.3), 0.3, 0.7, (rng.uniform(-4, 4), rng.uniform(-4, 4), -1.0), rng.uniform(-3, 3))
        if rod.u[0] >= 0:
            continue
        u, _, done = rod.strike("poisson")
        soft = resolve(rod.rows, lambda X, r=rod: r.inverse @ X, rod.mb.v, np.zeros(1), np.zeros(1)).impulses.p
        p = done.impulses.p
        assert p[0] >= 1.7 * soft[0] * (1 - 1e-9)
        assert np.linalg.norm((p - soft)[1:]) <= 0.3 * (p - soft)[0] * (1 + 1e-8)
        assert u[0] >= -1e-9
        if u[0] > 1e-9:
            assert p[0] == pytest.approx(1.7 * soft[0], rel=1e-8)


def test_energy_never_rises_with_the_default():
    """Newton's law gains with friction and the gain is told; the default does not, on a belt that moves either."""
    most = {"newton": 0.0, "energy": 0.0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        belt = (0.0, 2.0, 0.0) if seed % 2 else None
        rod = Rod(rng.uniform(0.3, 1.2), 0.8, 0.9, (rng.uniform(-8, 8), 0, -1.0), belt=belt)
        for law in most:
            _, work, done = rod.strike(law, in_turn=seed % 3 == 0)
            most[law] = max(most[law], work)
            after = float(sc.dynamics.kinetic_energy(rod.mb, rod.mb.q, done.v))
            grown = after - float(sc.dynamics.kinetic_energy(rod.mb, rod.mb.q, rod.mb.v))
            carried = float(done.impulses.p @ rod.rows.slip)  # what the belt does
            assert done.work == pytest.approx(grown + carried, abs=1e-9)
    assert most["newton"] > 1e-3
    assert most["energy"] <= 1e-9


def test_gains_are_told():
    """A run by Newton's law whose impact gains energy lists it; by the default there is none."""
    rod = Rod(0.75, 0.8, 0.9, (0.63, 0.0, -1.0))
    assert rod.strike("newton")[1] > 1e-3
    q, v = np.array(rod.mb.q), np.array(rod.mb.v)
    for law in ("newton", "energy"):
        r, touch = run(rod.mb, q, v, 1e-4, 1e-4, friction=0.8, restitution=0.9, law=law)
        assert len(touch.gains) == (law == "newton")
        if touch.gains:
            assert touch.gains[0].gain == pytest.approx(r.energy[-1] - r.energy[0], rel=1e-3)


def test_steps_of_other_laws_are_not_compiled():
    """Compiled steps know "newton" and "energy" of simultaneous impacts: `report` says who takes the others."""
    others = ({"law": "poisson"}, "since restitution is Poisson's"), ({"impacts": "sequential"}, "since impacts are")
    for laws, text in others:
        mb = sc.Multibody()
        sphere(mb)
        p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
        p.add(sc.sim.Contact(**laws))
        assert text in str(p.report())


def test_a_box_that_lands_flat_to_rounding_bounces_straight():
    """Its corners are a tenth of a micrometre apart in height, some closed in the middle of the step, some not quite:
    all of them bounce, and it leaves at e times its speed, without a turn."""
    for tilt in (1e-7, 1e-6):
        mb = ground()
        box(mb, size=(1.0, 1.0, 0.2))
        step, speed = 1e-3, 2.0
        q = np.array([0.0, np.sin(0.5 * tilt), 0.0, np.cos(0.5 * tilt), 0.0, 0.0, 0.1 + 0.5 * step * speed])
        run(mb, q, [0, 0, 0, 0, 0, -speed], step, step, restitution=0.5, friction=0.0)
        assert mb.v[5] == pytest.approx(0.5 * speed, rel=1e-2)
        assert np.abs(mb.v[:3]).max() < 1e-2 * speed


def leg(law, slope):
    """A leg about a pin whose foot comes down on the floor at an angle of this tangent to the vertical."""
    mb = ground()
    angle = np.arctan(slope)
    at = sc.Pose(translation=(0, 0, 0.5 * np.cos(angle)))
    foot = mb.add_body("leg", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, -0.3), 0.05 * np.eye(3)), at)
    foot.add_geometry(sc.Geometry("foot", "sphere", (1e-6,), sc.Pose(translation=(0, 0, -0.5))))
    mb.set_state([angle + 1e-3], [-2.0])
    p = sc.sim.Propagator(mb, integrator="moreau", step=1e-3)
    touch = sc.sim.Contact(friction=0.5, restitution=0.4, law=law)
    p.add(touch)
    return p, touch


@pytest.mark.parametrize("law", ["energy", "poisson"])
def test_a_leg_that_jams_does_not_bounce(law):
    """Where friction 0.5 holds what the normal impulse lifts, tan < 0.5, no impulse makes the foot leave; else it
    leaves with e of its speed."""
    p, touch = leg(law, 0.3)
    p.advance_to(0.002)
    assert p.mb.v[0] == pytest.approx(0.0, abs=1e-9)
    struck = next(x for x in touch.steps if x.impulses.any())
    assert struck.factor == (0.0 if law == "energy" else 1.0)
    assert np.hypot(*struck.impulses[0, :2]) <= 0.5 * abs(struck.impulses[0, 2]) * (1 + 1e-9)
    p, touch = leg("energy", 0.8)
    p.advance_to(0.002)
    assert p.mb.v[0] == pytest.approx(0.4 * 2.0, rel=0.05)
    assert all(x.factor == 1.0 for x in touch.steps)


def test_newtons_law_has_no_impulse_for_a_leg_that_jams():
    p, _ = leg("newton", 0.3)
    text = r"perhaps no impulses give every contact its restitution by law='newton', .*: take law='energy'"
    with pytest.raises(SimulationError, match=text):
        p.advance_to(0.002)
