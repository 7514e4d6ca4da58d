"""Motion with contact against the exact cases: impacts, inclines, rolling, sliding, tipping, rows of balls, stacks."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.contact.scenes import G, box, free, ground, run, sphere
from tests.sim.chains import four_bar, turned_four_bar

import soacraft as sc
from soacraft.contact.dynamics.rows import contact_rows
from soacraft.contact.dynamics.surfaces import Surfaces


def speed(mb, name):
    """[angular; linear] in inertial axes."""
    return np.asarray(sc.dynamics.velocities(mb, mb.q, mb.v))[[x.name for x in mb.bodies].index(name)]


def impacts(touch):
    return [x.t for x in touch.steps if x.impulses.any()]


def test_a_ball_bounces_at_the_exact_times_to_first_order():
    """From 1 m, e = 0.5: impacts at .4515236410 and .9030472820; errors of at most three steps."""
    errors = []
    for step in (4e-3, 1e-3):
        mb = ground()
        sphere(mb)
        _, touch = run(mb, free(0, 0, 1.1), np.zeros(6), 0.95, step, restitution=0.5)
        times = impacts(touch)
        assert len(times) == 2
        errors.append(max(abs(times[0] - 0.4515236410), abs(times[1] - 0.9030472820)))
        assert errors[-1] <= 3 * step
    assert errors[1] <= 0.5 * errors[0]


@pytest.mark.parametrize(("mu", "slides"), [(0.57, True), (0.58, False), (0.3, True)])
def test_an_incline_of_30_degrees(mu, slides):
    """It sticks where mu >= tan 30 = .57735; else it slides at g (sin - mu cos): 2.3562872367 for mu = 0.3."""
    mb = ground(np.pi / 6)
    box(mb)
    r, _ = run(mb, free(0, 0, 0.1), np.zeros(6), 0.1, 0.005, friction=mu)
    expected = G * (np.sin(np.pi / 6) - mu * np.cos(np.pi / 6)) if slides else 0.0
    assert mb.v[3] == pytest.approx(0.1 * expected, abs=1e-9)
    assert np.abs(mb.v[[0, 1, 2, 4, 5]]).max() < 1e-9
    assert r.q[-1, 6] == pytest.approx(0.1, abs=1e-9)
    if mu == 0.3:
        assert expected == pytest.approx(2.3562872367)


@pytest.mark.parametrize(("mu", "rolls"), [(0.17, True), (0.16, False)])
def test_a_solid_sphere_rolls_down(mu, rolls):
    """It rolls where mu >= 2/7 tan 30 = .16496, with 5/7 g sin 30 = 3.5035714286."""
    mb = ground(np.pi / 6)
    sphere(mb)
    run(mb, free(0, 0, 0.1), np.zeros(6), 0.1, 0.002, friction=mu)
    if rolls:
        assert speed(mb, "ball")[3] == pytest.approx(0.1 * 3.5035714286, rel=1e-6)
        assert speed(mb, "ball")[3] == pytest.approx(0.1 * speed(mb, "ball")[1], abs=1e-9)
    else:
        assert speed(mb, "ball")[3] == pytest.approx(0.1 * G * (0.5 - mu * np.sqrt(3) / 2), rel=1e-3)


def test_a_sliding_sphere_begins_to_roll():
    """Launched at 5 m/s with mu = 0.3: it rolls from t = .4854133295 on at 25/7 m/s, in steps of any length."""
    for step in (0.01, 0.005):
        mb = ground()
        sphere(mb)
        run(mb, free(0, 0, 0.1), [0, 0, 0, 5.0, 0, 0], 0.6, step, friction=0.3)
        assert 0.1 * speed(mb, "ball")[1] == pytest.approx(speed(mb, "ball")[3], abs=1e-9)
        assert speed(mb, "ball")[3] == pytest.approx(25 / 7, abs=1e-12)


def test_a_block_stops_and_stays():
    """At 3 m/s with mu = 0.3 it stops after 1.5290519878 m, and rests without creeping."""
    mb = ground()
    box(mb)
    r, _ = run(mb, free(0, 0, 0.1), [0, 0, 0, 3.0, 0, 0], 1.2, 0.01, friction=0.3)
    assert mb.q[4] == pytest.approx(1.5290519878, abs=2e-3)
    assert np.abs(mb.v).max() < 1e-9
    assert r.check().imbalance < 1e-9


@pytest.mark.parametrize(("slope", "tips"), [(0.19, False), (0.21, True)])
def test_a_tall_box_tips(slope, tips):
    """Base .2, height 1: tips where the slope is steeper than 0.2."""
    mb = ground(np.arctan(slope))
    box(mb, size=(0.2, 0.2, 1.0))
    run(mb, free(0, 0, 0.5), np.zeros(6), 0.2, 0.005, friction=1.0)
    assert (abs(mb.v[1]) > 1e-3) == tips


def test_a_stack_rests_and_does_not_depend_on_order():
    """Three boxes: at rest to 1e-9, and the same bits whatever the order in which they were added."""
    ends = []
    for order in ((0, 1, 2), (2, 0, 1)):
        mb = ground()
        for i in order:
            box(mb, f"box{i}")
        q = np.concatenate([free(0, 0, 0.1 + 0.2 * i) for i in order])
        run(mb, q, np.zeros(18), 0.05, 0.005)
        assert np.abs(mb.v).max() < 1e-9
        ends.append({f"box{i}": mb.pose(f"box{i}").translation for i in order})
    for name, place in ends[0].items():
        np.testing.assert_allclose(ends[1][name], place, atol=1e-12)


def test_limits_stop_and_dry_hinges_hold():
    """A pendulum falls onto its limit and rests there; one with dry friction above its weight does not move."""
    mb = sc.load("pendulum")
    mb.bodies[0].limits = sc.Limits(lower=0.3, upper=2.0)
    mb.set_state([1.0], [0.0])
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.005)
    p.add(sc.sim.Contact())
    p.advance_to(1.0)
    assert mb.q[0] == pytest.approx(0.3, abs=1e-4)
    assert abs(mb.v[0]) < 1e-9
    still = sc.load("pendulum")
    still.bodies[0].passive = sc.Passive(friction=20.0)
    still.set_state([1.0], [0.0])
    p = sc.sim.Propagator(still, integrator="moreau", step=0.01)
    p.add(sc.sim.Contact())
    p.advance_to(0.1)
    assert still.q[0] == pytest.approx(1.0, abs=1e-12)


def test_free_flight_is_of_order_four():
    """While nothing touches it is RK4: the error falls sixteenfold with half the step."""
    errors = []
    exact = sc.load("double_pendulum")
    exact.set_state([0.5, 0.3], [0.0, 1.0])
    sc.sim.Propagator(exact, rtol=1e-12).advance_to(0.5)
    for step in (0.02, 0.01):
        mb = sc.load("double_pendulum")
        mb.set_state([0.5, 0.3], [0.0, 1.0])
        sc.sim.Propagator(mb, integrator="moreau", step=step).advance_to(0.5)
        errors.append(np.abs(mb.q - exact.q).max())
    assert 12 < errors[0] / errors[1] < 20


def test_two_halves_give_the_bits_of_one_go():
    ends = []
    for stops in ((0.6,), (0.3, 0.6)):
        mb = ground()
        sphere(mb)
        mb.set_state(free(0, 0, 0.3), [0, 0, 0, 1.0, 0, 0])
        p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
        p.add(sc.sim.Contact(restitution=0.3))
        for t in stops:
            p.advance_to(t)
        ends.append(np.concatenate([mb.q, mb.v]))
    assert (ends[0] == ends[1]).all()


def test_refusals():
    mb = ground()
    sphere(mb)
    with pytest.raises(sc.errors.SimulationError, match=r"'ball/skin' and 'inertial/floor' 0.05 m in each other; move"):
        run(mb, free(0, 0, 0.05), np.zeros(6), 0.1, 0.01, penetration=1e-3)
    with pytest.raises(sc.errors.StateError, match="contact makes impulses, which 'rk4' cannot take; use Propagator"):
        sc.sim.Propagator(mb, integrator="rk4", step=0.01).add(sc.sim.Contact())
    for bad, text in (
        ({"friction": -0.1}, r"friction of the default is -0.1; it must be 0 or more"),
        ({"restitution": 1.5}, r"restitution of the default is 1.5; it must be between 0 and 1"),
        ({"pairs": {("ball", "moon"): (0.1, 0.1)}}, r"pairs has 'moon', which is no shape or body"),
    ):
        with pytest.raises(sc.errors.ModelError, match=text):
            sc.sim.Propagator(mb, integrator="moreau", step=0.01).add(sc.sim.Contact(**bad))
    with pytest.raises(sc.errors.StateError, match="law='routh' is unknown; give 'energy', 'newton' or 'poisson'"):
        sc.sim.Contact(law="routh")
    with pytest.raises(sc.errors.StateError, match="impacts='both' is unknown; give 'simultaneous' or 'sequential'"):
        sc.sim.Contact(impacts="both")


def test_a_closed_chain_lands():
    """A four-bar whose coupler meets a floor: closures stay closed, energy does not rise, it stops at the floor."""
    mb = four_bar(1.0, 2.0, 2.0, 2.0, 1.2, 0.0)
    mb["coupler"].add_geometry(sc.Geometry("skin", "sphere", (0.05,)))
    upright = sc.Pose([[1, 0, 0], [0, 0, 1], [0, -1, 0]], [0.0, 0.4, 0.0])
    mb.root.add_geometry(sc.Geometry("floor", "plane", pose=upright))
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.005)
    touch = sc.sim.Contact(sc.contact.Scene(mb, adjacent=False), friction=0.2)
    p.add(touch)
    r = p.advance_to(0.9)
    assert r.violation.max() < 1e-8
    assert r.energy.max() <= r.energy[0] + 1e-4 * abs(r.energy[0])  # of RK4, until it lands
    assert any(x.impulses.any() for x in touch.steps)
    assert touch.scene.distances(mb.q).distance.min() > -1e-5


def test_friction_and_restitution_of_pairs():
    """A shape's own friction, the larger of two, the default, and the numbers of a pair by its bodies."""
    mb = sc.Multibody()
    mb.root.add_geometry(sc.Geometry("floor", "plane", attributes={"friction": [0.9, 0.005, 0.0001]}))
    mb.root.add_geometry(sc.Geometry("ice", "plane", attributes={"condim": 1}))
    sphere(mb)
    box(mb)
    surfaces = Surfaces(sc.contact.Scene(mb), 0.2, 0.1, {("box", "ball"): (0.7, 0.6)})
    assert surfaces.of("ball/skin", "inertial/floor") == ((0.9, 0.9), 0.1)
    assert surfaces.of("ball/skin", "inertial/ice") == ((0.2, 0.2), 0.1)
    assert surfaces.of("box/skin", "ball/skin") == ((0.7, 0.7), 0.6)


def test_a_lift_carries_what_lies_on_it():
    """A ball on a box that is moved up at 1 m/s: it goes along, and the work of the lift is counted."""
    mb = ground()
    lift = mb.add_body("lift", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0))
    lift.add_geometry(sc.Geometry("top", "box", (1.0, 1.0, 0.2)))
    ball = mb.add_body("ball", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0))
    ball.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    mb.set_state([1.0, 1.2], [1.0, 1.0])
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
    p.prescribe(mb.dof_names[0], lambda t: (1.0 + t, 1.0, 0.0))
    p.add(sc.sim.Contact())
    p.advance_to(0.3)
    assert mb.q[1] - mb.q[0] == pytest.approx(0.2, abs=1e-9)


def test_what_is_read_of_a_model_follows_it():
    """Limits, friction and shapes given after p.add act; each refusal is said again when asked again."""
    mb = sc.load("pendulum")
    mb.set_state([1.0], [0.0])
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
    p.add(sc.sim.Contact())
    mb.bodies[0].limits = sc.Limits(lower=0.5, upper=2.0)
    p.advance_to(0.6)
    assert mb.q[0] == pytest.approx(0.5, abs=1e-3)
    inside = ground()
    sphere(inside)
    inside.set_state(free(0, 0, 0.05), np.zeros(6))
    p = sc.sim.Propagator(inside, integrator="moreau", step=0.01)
    p.add(sc.sim.Contact(penetration=1e-3))
    for _ in range(2):
        with pytest.raises(sc.errors.SimulationError, match=r"0\.05 m in each other"):
            p.advance_to(0.1)


def test_work_is_that_of_the_contacts_alone():
    """A ball that bounces: what is lost is the work of its impacts, the flights between have none."""
    mb = ground()
    sphere(mb)
    r, touch = run(mb, free(0, 0, 1.1), np.zeros(6), 0.8, 0.004, restitution=0.5)
    lost = r.energy[0] - r.energy[-1]
    assert lost == pytest.approx(0.75 * 9.81, rel=2e-2)  # 1 - e^2 of m g h
    assert r.work["contact"][-1] == pytest.approx(-lost, abs=1e-9)
    assert sum(x.work for x in touch.steps) == pytest.approx(-lost, rel=5e-2)


def test_a_ball_that_rolls_arrives():
    """Pure rolling at 1 m/s: the way after 1 s, at the height of its radius, to the order of the method."""
    mb = ground()
    sphere(mb)
    run(mb, free(0, 0, 0.1), [0, 10.0, 0, 1.0, 0, 0], 0.5, 0.01)
    place = mb.pose("ball").translation
    assert place[0] == pytest.approx(0.5, abs=1e-4)
    assert place[2] == pytest.approx(0.1, abs=1e-6)


def test_more_refusals():
    mb = sc.Multibody()
    body = sphere(mb)
    body.add_geometry(sc.Geometry("plate", "plane"))
    with pytest.raises(sc.errors.ModelError, match="'ball/plate' is a plane on a body that moves"):
        sc.sim.Propagator(mb, integrator="moreau", step=0.01).add(sc.sim.Contact())
    hung = sc.Multibody()
    joint = hung.add_body("link", None, sc.Spherical(), sc.Inertia(1.0, moment=np.eye(3)))
    joint.limits = sc.Limits(upper=0.1)
    with pytest.raises(sc.errors.ModelError, match="has limits, and is a Spherical: only limits of single coordinates"):
        sc.sim.Propagator(hung, integrator="moreau", step=0.01).add(sc.sim.Contact())
    for bad in ({"otherwise": "z"}, {"tolerance": 5.0}, {"penetration": np.nan}, {"penetration": -1.0}, {"scene": 5}):
        with pytest.raises(sc.errors.StateError):
            sc.sim.Contact(**bad)


def test_a_block_that_does_not_move_takes_no_work():
    """Pushed below the threshold of friction: push and friction do no work, and a motor that holds it neither."""
    mb = ground()
    box(mb)
    mb.set_state(free(0, 0, 0.1), np.zeros(6))
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)

    def push(t, state):
        return [0, 0, 0, 3.0, 0, 0]

    p.add(push, sc.sim.Contact(friction=0.5))
    r = p.advance_to(0.1)
    assert abs(r.work["push"][-1]) < 1e-12
    assert abs(r.work["contact"][-1]) < 1e-12
    assert r.check().imbalance < 1e-12


def test_work_of_a_push_that_slides():
    """A block pushed with 8 N against mu m g = 2.943 N: the push does F x, friction takes mu m g x."""
    mb = ground()
    box(mb)
    mb.set_state(free(0, 0, 0.1), np.zeros(6))
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)

    def push(t, state):
        return [0, 0, 0, 8.0, 0, 0]

    p.add(push, sc.sim.Contact(friction=0.3))
    r = p.advance_to(0.2)
    way = 0.5 * (8.0 - 0.3 * G) * 0.2**2
    assert mb.q[4] == pytest.approx(way, abs=1e-9)
    assert r.work["push"][-1] == pytest.approx(8.0 * way, abs=1e-9)
    assert r.work["contact"][-1] == pytest.approx(-0.3 * G * way, abs=1e-9)


def test_springs_and_contact_share_the_work():
    """A block that a spring pulls along: the energy of the spring is in its work, what is left is that of contact."""
    errors = []
    for step in (0.01, 0.005):
        r, x = pulled(step)
        gone = 0.5 * 50.0 * (0.3**2 - x**2)
        errors.append(abs(r.work["contact"][-1] + 0.2 * G * (0.3 - x)))
        assert r.work["passive"][-1] == pytest.approx(gone, rel=1e-3)
        assert r.check().imbalance < 1e-9
    assert errors[1] < 0.6 * errors[0] < 1e-3


def pulled(step):
    """A block on the ground, drawn by a spring along x for 0.2 s: its run, and where it ends."""
    mb = ground()
    slide = mb.add_body("slide", None, sc.Prismatic((1, 0, 0)), sc.Inertia(0.0))
    lift = mb.add_body("lift", slide, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0, moment=np.eye(3)))
    lift.add_geometry(sc.Geometry("skin", "box", (0.2, 0.2, 0.2)))
    slide.passive = sc.Passive(stiffness=50.0)
    mb.set_state([0.3, 0.1], [0.0, 0.0])
    p = sc.sim.Propagator(mb, integrator="moreau", step=step)
    p.add(sc.sim.Contact(friction=0.2))
    return p.advance_to(0.2), mb.q[0]


@pytest.mark.parametrize("unit", [1.0, 1e3, 1e-4])
def test_a_start_in_penetration_is_judged_in_any_units(unit):
    """Half a thousandth of the ball is pushed out, two are refused, and so for a limit beyond which a slide begins."""
    for part, good in ((0.0005, True), (0.002, False)):
        mb = sc.Multibody(gravity=(0, 0, -9.81 * unit))
        mb.root.add_geometry(sc.Geometry("floor", "plane"))
        sphere(mb, radius=0.1 * unit)
        starts(mb, free(0, 0, 0.1 * unit * (1 - part)), good, r"in each other; move them apart")
        rail = sc.Multibody(gravity=(0, 0, 0))
        for i in range(2):
            at = sc.Pose(translation=(unit, 0, 0))
            rail.add_body(f"b{i}", f"b{i - 1}" if i else None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0), at)
        rail.bodies[0].limits = sc.Limits(lower=0.0, upper=unit)
        starts(rail, [-2 * unit * part, 0.0], good, "beyond its limits 0 and")


def starts(mb, q, good, text):
    mb.set_state(q, np.zeros(mb.nv))
    p = sc.sim.Propagator(mb, integrator="moreau", step=1e-3)
    p.add(sc.sim.Contact(penetration=1e-3))
    if good:
        p.advance_to(1e-3)
    else:
        with pytest.raises(sc.errors.SimulationError, match=text):
            p.advance_to(1e-3)


def test_a_start_in_penetration_is_resolved_as_asked():
    """Without gravity, two balls in each other and one in the floor: moved apart by their masses, at rest, in the first
    row; what is deeper than that is refused."""
    mb = sc.Multibody(gravity=(0, 0, 0))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    for name, mass in (("a", 1.0), ("b", 3.0), ("c", 1.0)):
        sphere(mb, name, mass=mass)
    q = np.concatenate([free(0, 0, 1), free(0.16, 0, 1), free(1, 0, 0.07)])
    r, _ = run(mb, q, np.zeros(18), 0.02, 0.01, penetration=0.5)
    np.testing.assert_allclose(r.q[0].reshape(3, 7)[:, 4:], [(-0.03, 0, 1), (0.17, 0, 1), (1, 0, 0.1)], atol=1e-9)
    np.testing.assert_allclose(r.q[-1], r.q[0], atol=1e-12)
    with pytest.raises(sc.errors.SimulationError, match=r"'a/skin' and 'b/skin' 0.04 m in .* penetration=0.8"):
        run(mb, q, np.zeros(18), 0.02, 0.01, penetration=1e-3)


def test_a_ball_comes_to_rest():
    """From 1 m, e = 0.5: the hops end at 1.3545709230 s, to a few steps; then it lies still."""
    mb = ground()
    sphere(mb)
    r, _ = run(mb, free(0, 0, 1.1), np.zeros(6), 1.5, 0.001, restitution=0.5)
    moving = np.abs(r.v[:, 5]) > 1e-9
    assert r.t[np.flatnonzero(moving)[-1]] == pytest.approx(1.3545709230, abs=0.03)
    assert mb.q[6] == pytest.approx(0.1, abs=1e-6)


def test_a_ball_that_rests_does_not_hop():
    """Put down with restitution, or dropped from a hair: no step lifts it, and what it bears is its weight."""
    for law in ({}, {"impacts": "sequential"}, {"law": "poisson"}):
        mb = ground()
        sphere(mb)
        r, _ = run(mb, free(0, 0, 0.1 + 1e-5), np.zeros(6), 0.1, 0.002, restitution=0.9, **law)
        assert np.abs(r.v[-20:, 5]).max() < 1e-9
        np.testing.assert_allclose(r.contacts.force("ball")[-5:, 2], G, rtol=1e-9)


def test_where_a_sliding_sphere_begins_to_roll():
    """Launched at 5 m/s with mu = 0.3: at t = .4854133295 it has come x = 2.0803428405, in steps of any length."""
    for step in (0.004, 0.002):
        mb = ground()
        sphere(mb)
        r, _ = run(mb, free(0, 0, 0.1), [0, 0, 0, 5.0, 0, 0], 0.6, step, friction=0.3)
        assert np.interp(0.4854133295, r.t, r.q[:, 4]) == pytest.approx(2.0803428405, abs=1e-9)


@pytest.mark.parametrize("angle", [0.3, 0.5, 1.0])
def test_a_closed_chain_moves_however_it_is_turned(angle):
    """Rows of its closure that are rounding hold nothing: it swings as without contact."""
    ends = []
    for touch in (False, True):
        mb = turned_four_bar(angle)
        p = sc.sim.Propagator(mb, integrator="moreau", step=0.005)
        if touch:
            p.add(sc.sim.Contact())
        p.advance_to(0.5)
        ends.append(mb.q)
    assert abs(ends[0][0] + 0.3) > 0.1
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-9)


def test_a_turned_closed_chain_is_pushed_out():
    """The tip of a link starts in a ball; it is moved out of it, with its closure closed."""
    depths = []
    for angle in (0.0, 0.5):
        mb = turned_four_bar(angle)
        mb.body("a").add_geometry(sc.Geometry("tip", "sphere", (0.05,), pose=sc.Pose(translation=(0, 0, -1))))
        tip = mb.pose("a").translation + mb.pose("a").rotation @ [0.08, 0, -1]
        mb.root.add_geometry(sc.Geometry("stop", "sphere", (0.05,), pose=sc.Pose(translation=tip)))
        p = sc.sim.Propagator(mb, integrator="moreau", step=0.005)
        p.add(sc.sim.Contact(penetration=0.5, friction=0.0))
        r = p.advance_to(0.005)
        assert sc.contact.Scene(mb).distances(r.q[0]).distance.min() > -1e-6
        depths.append(r.q[0])
    np.testing.assert_allclose(depths[1], depths[0], atol=1e-9)


def _rotation(rng):
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    R[:, 0] *= np.sign(np.linalg.det(R))
    return R


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_what_a_point_moves_by_rounding_alone_holds_nothing(mu):
    """A ball spins about the normal through its point of touch, which does not move: its spin stays, however axes and
    floor are turned. A cart slides along the floor on a ball that nothing presses: it goes on too."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        R, W = _rotation(rng), _rotation(rng)
        n = W @ [0, 0, 1.0]
        for name in ("top", "cart"):
            mb = sc.Multibody(gravity=tuple(-G * n))
            mb.root.add_geometry(sc.Geometry("floor", "plane", pose=sc.Pose(W)))
            hinge = sc.Pin(R.T @ n) if name == "top" else sc.Prismatic(R.T @ W[:, 0])
            at = sc.Pose(R, translation=W @ [0.3, 0.7, 1.1])
            body = mb.add_body(name, None, hinge, sc.Inertia(1.0, moment=np.eye(3) * 0.004), at)
            body.add_geometry(sc.Geometry("skin", "sphere", (0.1,), pose=sc.Pose(translation=-R.T @ n)))
            mb.set_state([0.0], [1.0])
            p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
            p.add(sc.sim.Contact(friction=mu), lambda t, state: np.zeros(1))  # a function: steps in Python
            p.advance_to(0.05)
            assert mb.v[0] == pytest.approx(1.0, abs=1e-9)


def test_contact_of_a_model_without_dofs():
    """Nothing moves, and nothing is wrong with that."""
    mb = ground()
    post = mb.add_body("post", None, sc.Weld(), sc.Inertia(1.0))
    post.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
    p.add(sc.sim.Contact(), lambda t, state: np.zeros(0))
    assert p.advance_to(0.03).q.shape == (4, 0)


def test_a_start_in_penetration_is_refused_in_later_runs_too():
    """The state was set, or limits were narrowed, after a first run."""
    mb = ground()
    sphere(mb)
    mb.set_state(free(0, 0, 1.0), np.zeros(6))
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
    p.add(sc.sim.Contact(penetration=1e-3))
    p.advance_to(0.01)
    mb.set_state(free(0, 0, -0.5), np.zeros(6))
    with pytest.raises(sc.errors.SoacraftError, match=r"the run begins with .* 0\.6 m in each other"):
        p.advance_to(0.02)
    mb = sc.Multibody(gravity=(0, 0, 0))
    a = mb.add_body("a", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
    kind = type(a.limits)
    a.limits = kind(lower=[-1.0], upper=[1.0])
    mb.set_state([0.9], [0.0])
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
    p.add(sc.sim.Contact(penetration=1e-3))
    p.advance_to(0.1)
    a.limits = kind(lower=[-1.0], upper=[0.5])
    with pytest.raises(sc.errors.SoacraftError, match=r"the run begins with 'a' at 0\.9, beyond its limits"):
        p.advance_to(0.2)


def test_a_point_below_the_floor_is_in_it():
    """A sphere without a radius has no size: its depth is judged by the length of the model."""
    mb = ground()
    sphere(mb)
    point = mb.add_body("point", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3)))
    point.add_geometry(sc.Geometry("skin", "sphere", (0.0,)))
    with pytest.raises(sc.errors.SoacraftError, match=r"the run begins with .*'point/skin' 0\.5 m in each other"):
        run(mb, [*free(2, 0, 0.1), *free(0, 0, -0.5)], np.zeros(12), 0.01, 0.01, penetration=1e-3)


def test_what_is_moved_out_is_not_moved_into_what_is_near():
    """A bar that comes down on one end turns about its middle as that end is lifted out: the other end, a little above
    the floor, may touch it then, not more. The way out is linear; what is left of it is of second order."""
    rng = np.random.default_rng(0)
    lifted = 0
    for _ in range(40):
        mb = ground()
        box(mb, size=(1.0, 0.1, 0.1))
        step, low, high = 5e-3, rng.uniform(0.6, 0.9), rng.uniform(0.0, 0.2)
        fall = rng.uniform(0.5, 2.0)  # of the low end; the high one falls slower, and is that much nearer
        spin, tilt = rng.uniform(0.0, 0.5) * fall, 2e-4 * rng.uniform(-1.0, 1.0)
        height = 0.05 + step * fall * low + high * 1e-4
        q = [0.0, np.sin(0.5 * tilt), 0.0, np.cos(0.5 * tilt), 0.0, 0.0, height]
        r, touch = run(mb, q, [0, spin, 0, 0, 0, -fall], step, step, friction=0.0)
        assert len(r.t) == 2
        corners = np.array([[x, y, -0.05] for x in (-0.5, 0.5) for y in (-0.05, 0.05)])
        depth = corners @ Rotation.from_quat(mb.q[:4]).as_matrix()[2] + mb.q[6]
        assert depth.min() > -1e-7
        lifted += touch.steps[0].impulses.any()
    assert lifted > 10


@pytest.mark.parametrize("law", ["energy", "poisson"])
def test_a_hop_shorter_than_a_step_does_not_gain_energy(law):
    """A ball leaves the floor at u = g h / 2, next to one that flies fast, by which small gaps are judged: it is back
    after a step, not stopped above the floor with the energy 1/2 m u (g h - u) more. Poisson's steps are in Python."""
    mb = ground()
    sphere(mb, "hops")
    sphere(mb, "flies")
    step = 1e-3
    v = np.zeros(12)
    v[5], v[9] = 0.5 * G * step, 10.0
    r, _ = run(mb, [*free(0, 0, 0.1), *free(0, 5, 3)], v, 4 * step, step, law=law)
    energy = np.asarray(r.energy)
    assert np.diff(energy).max() <= 1e-13 * np.abs(energy).max()
    assert energy[-1] < energy[0] - 0.4 * v[5] ** 2  # it rests
    assert r.q[-1, 6] == pytest.approx(0.1, abs=v[5] * step)


def test_what_carries_two_bodies_does_not_rub_them():
    """Two balls a little in each other that turn about any axis as one: no velocity at their contact, so impulses keep
    momentum; in steps that are compiled and in Python. At a fixed body velocities are those on the other's surface."""
    mb = sc.Multibody(gravity=(0, 0, 0))
    sphere(mb, "left"), sphere(mb, "right")
    q = np.concatenate([free(-0.098, 0.01, 0), free(0.1, 0, 0.02)])
    scene = sc.contact.Scene(mb)
    rows = contact_rows(scene, Surfaces(scene), q, 0.0)
    assert rows.gap[0] < -1e-4
    for twist in np.eye(6):
        v = np.concatenate([np.r_[twist[:3], twist[3:] + np.cross(twist[:3], x)] for x in (q[4:7], q[11:14])])
        np.testing.assert_allclose(rows.J @ v, 0.0, atol=1e-15)
    ends = []
    q, v = [*free(-0.15, 0.03, 0), *free(0.15, 0, 0.02)], [0, 0, 9.0, 1.0, 0, 0, 5.0, 0, 7.0, -1.0, 0, 0.2]
    for law in ("energy", "poisson"):  # compiled, and in Python
        _, touch = run(mb, q, v, 0.1, 0.004, friction=0.4, law=law)
        assert max(-x.gap.min(initial=0.0) for x in touch.steps) > 1e-4
        ends.append(np.array(mb.v))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-10)
    mb = ground()
    sphere(mb)
    scene = sc.contact.Scene(mb)
    rows = contact_rows(scene, Surfaces(scene), np.array(free(0, 0, 0.098)), 0.0)
    np.testing.assert_allclose(np.abs(rows.J[:, :3]), [[0, 0, 0], [0, 0.1, 0], [0.1, 0, 0]], atol=1e-15)
