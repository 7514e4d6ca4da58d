"""Contact by events: exact times, many bounces, closed chains, and what it refuses."""

import numpy as np
import pytest
from tests.contact.scenes import free, ground, sphere
from tests.sim.chains import four_bar, turned, turned_four_bar

import soacraft as sc


def bouncing(mb, q, v, integrator=None, **laws):
    mb.set_state(q, v)
    p = sc.sim.Propagator(mb, **(integrator or {"rtol": 1e-11}))
    impacts = sc.sim.Impacts(**laws)
    p.add(impacts)
    return p, impacts


def test_a_ball_bounces_at_the_exact_times_and_zeno_stops_the_run():
    """From 1 m, e = 0.5: .4515236410, .9030472820, 1.1288091025 s; the hops end at 1.3545709230 s, which is said."""
    mb = ground()
    sphere(mb)
    p, impacts = bouncing(mb, free(0, 0, 1.1), np.zeros(6), restitution=0.5)
    r = p.advance_to(1.2)
    assert [x.t for x in impacts.impacts] == pytest.approx([0.4515236410, 0.9030472820, 1.1288091025], abs=2e-9)
    assert [x.name for x in r.events] == ["impacts"] * 3
    assert r.energy[-1] == pytest.approx(9.81 * 0.1 + 9.81 * 0.5**6, rel=1e-8)  # heights of e^2 each
    with pytest.raises(sc.errors.SimulationError, match=r"hop without end \(Zeno\): the last hop was of"):
        p.advance_to(2.0)
    assert 1.3545709230 - 3e-4 < p.t < 1.3545709230


def test_with_fixed_steps_too():
    mb = ground()
    sphere(mb)
    p, impacts = bouncing(mb, free(0, 0, 1.1), np.zeros(6), {"integrator": "rk4", "step": 0.01}, restitution=0.5)
    p.advance_to(1.0)
    assert [x.t for x in impacts.impacts] == pytest.approx([0.4515236410, 0.9030472820], abs=1e-8)


def test_a_ball_with_spin_and_friction():
    """It strikes at w without sliding, sticks: u_x+ = 2/7 w r of a solid ball, while its height is e^2 of the fall."""
    mb = ground()
    sphere(mb)
    p, impacts = bouncing(mb, free(0, 0, 1.1), [0, 5.0, 0, 0, 0, 0], restitution=0.5, friction=2.0)
    p.advance_to(0.46)
    assert len(impacts.impacts) == 1
    at = mb.pose("ball").rotation @ mb.v[3:]
    assert at[0] == pytest.approx(2 / 7 * 5.0 * 0.1, rel=1e-9)
    assert impacts.impacts[0].work < 0


@pytest.mark.parametrize(
    ("order", "after"), [("simultaneous", [-5 / 3, -2 / 3, 4 / 3]), ("sequential", [-2.0, 0.0, 1.0])]
)
def test_two_impacts_at_once(order, after):
    """A ball at rest is struck from both sides at one instant, at 1 and 2 m/s, e = 1: the closed form of each order."""
    mb = sc.Multibody(gravity=(0, 0, 0))
    for i in range(3):
        sphere(mb, f"ball{i}")
    v = np.zeros(18)
    v[3], v[15] = 1.0, -2.0
    q = np.concatenate([free(x, 0, 0) for x in (-0.3, 0.0, 0.4)])
    p, impacts = bouncing(mb, q, v, restitution=1.0, friction=0.0, order=order)
    p.advance_to(0.15)
    assert [x.t for x in impacts.impacts] == pytest.approx([0.1], abs=1e-9)
    np.testing.assert_allclose(mb.v[[3, 9, 15]], after, atol=1e-8)


def test_what_was_not_seen_is_said():
    """A ball so fast that it is in and out again between two looks: deep in at the end of a step it is an error."""
    mb = ground()
    sphere(mb)
    mb.root.add_geometry(sc.Geometry("plate", "box", (10.0, 10.0, 0.2), pose=sc.Pose(translation=(0, 0, 5.0))))
    scene = sc.contact.Scene(mb, skip=["inertial/floor"])
    p, _ = bouncing(mb, free(0, 0, 5.9), np.zeros(6), {"integrator": "rk4", "step": 0.01}, restitution=0.5, scene=scene)

    def drop(t, state):
        mb.q = free(0, 0, 5.05)  # into the plate, by a callback

    p.every(0.02, lambda t, state: drop(t, state) if t > 0.01 else None)
    with pytest.raises(sc.errors.SimulationError, match="are in each other, and no impact was seen"):
        p.advance_to(0.1)


def test_a_closed_chain_bounces():
    """A four-bar whose coupler meets a floor: closures hold, momentum goes through them, energy falls by e."""
    mb = four_bar(1.0, 2.0, 2.0, 2.0, 1.2, 0.0)
    mb["coupler"].add_geometry(sc.Geometry("skin", "sphere", (0.05,)))
    upright = sc.Pose([[1, 0, 0], [0, 0, 1], [0, -1, 0]], [0.0, 0.4, 0.0])
    mb.root.add_geometry(sc.Geometry("floor", "plane", pose=upright))
    p = sc.sim.Propagator(mb, rtol=1e-9)
    impacts = sc.sim.Impacts(sc.contact.Scene(mb, adjacent=False), restitution=0.8, friction=0.0)
    p.add(impacts)
    r = p.advance_to(0.8)
    assert len(impacts.impacts) == 1
    i = int(np.flatnonzero(np.diff(r.t) == 0)[0])  # before and after
    gap = sc.contact.Scene(mb, adjacent=False)
    rows = gap.distances(r.q[i])
    speeds = [float(gap.gradient(rows)[np.argmin(rows.distance)] @ x) for x in (r.v[i], r.v[i + 1])]
    assert speeds[1] == pytest.approx(-0.8 * speeds[0], rel=1e-7)
    assert r.violation.max() < 1e-8
    kinetic = r.kinetic[i], r.kinetic[i + 1]
    assert kinetic[1] == pytest.approx(0.64 * kinetic[0], rel=1e-7)  # one dof: all of it turns round


def test_refusals():
    mb = ground()
    sphere(mb)
    p, _ = bouncing(mb, free(0, 0, 1.1), np.zeros(6), restitution=0.0)
    with pytest.raises(sc.errors.SimulationError, match=r"'ball/skin' and 'inertial/floor' stay in touch after an"):
        p.advance_to(1.0)
    p, _ = bouncing(mb, free(0, 0, 0.1), np.zeros(6), restitution=0.5)
    with pytest.raises(sc.errors.StateError, match=r"begins with 'ball/skin' and 'inertial/floor' in touch \(a dist"):
        p.advance_to(1.0)
    for bad, text in (({"law": "routh"}, "law='routh' is unknown"), ({"order": "both"}, "order='both' is unknown"),
                      ({"tolerance": 0.0}, "tolerance is 0.0; it must be between 0 and 1")):  # fmt: skip
        with pytest.raises(sc.errors.StateError, match=text):
            sc.sim.Impacts(**bad)


@pytest.mark.parametrize("angle", [0.3, 0.5])
def test_a_closed_chain_strikes_alike_however_it_is_turned(angle):
    """Rows of its closure that are rounding hold nothing: the same impacts as on a level base."""
    found = []
    for turn in (0.0, angle):
        mb = turned_four_bar(turn)
        mb.body("a").add_geometry(sc.Geometry("tip", "sphere", (0.05,), pose=sc.Pose(translation=(0, 0, -1))))
        at = sc.Pose(translation=turned(turn) @ [0, 0, -1.05])
        mb.root.add_geometry(sc.Geometry("stop", "sphere", (0.05,), pose=at))
        p, impacts = bouncing(mb, mb.q, mb.v, restitution=0.5, friction=0.0)
        p.advance_to(0.6)
        assert impacts.impacts
        found.append(np.concatenate([mb.q, mb.v]))
    np.testing.assert_allclose(found[1], found[0], atol=1e-7)


def test_impacts_with_a_prescribed_dof_are_refused():
    mb = sc.Multibody(gravity=(0, 0, 0))
    for name in ("a", "b"):
        body = mb.add_body(name, None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
        body.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    p, _ = bouncing(mb, [0.0, 1.0], [1.0, 0.0], restitution=0.5)
    p.prescribe("a", lambda t: (t, 1.0, 0.0))
    with pytest.raises(sc.errors.StateError, match=r"dof 'a' has a prescribed motion, .*use sc\.sim\.Contact"):
        p.advance_to(1.0)
    p.prescribe("a", None)
    p.advance_to(1.0)
