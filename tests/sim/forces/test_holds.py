"""Dofs that are held for a while, in trees and closed chains: rigid stops and friction that sticks, by closed forms."""

import numpy as np
import pytest
from tests.loops.cases import near, row_of_four_bars
from tests.sim.chains import four_bar
from tests.sim.test_elements import block

import soacraft as sc
from soacraft.errors import ModelError, SimulationError, StateError
from soacraft.sim.forces.holds import holding_forces

G = 9.81


# -- rigid stops -------------------------------------------------------------------------------------------------


def test_a_block_bounces_comes_to_rest_and_is_pulled_off():
    """Falling on a stop with restitution 1/2: times of flight halve, so it rests at 3 t0; the stop carries m g until it
    is pulled with as much."""
    mb = block(gravity=(G, 0, 0), mass=2.0)
    p = sc.sim.Propagator(mb, rtol=1e-9)
    p.add(sc.sim.JointLimit("slide", upper=0.5, restitution=0.5))
    p.control("slide", lambda t, state: -20.0 * max(t - 1.5, 0.0))
    p.advance_to(1.5)
    run = p.advance_to(2.6)
    fall = np.sqrt(2 * 0.5 / G)
    (leaves,) = run.events
    assert leaves.t == pytest.approx(1.5 + 2.0 * G / 20.0, abs=1e-8)
    near(run.forces["limit of slide"][0], [-2.0 * G], 1e-9)
    s = 2.6 - leaves.t
    near([mb.q[0], mb.v[0]], [0.5 - 10.0 * s**3 / 6, -10.0 * s**2 / 2], 1e-7)

    mb = block(gravity=(G, 0, 0), mass=2.0)
    p = sc.sim.Propagator(mb, rtol=1e-9)
    p.add(sc.sim.JointLimit("slide", upper=0.5, restitution=0.5))
    run = p.advance_to(1.2)
    times = np.array([x.t for x in run.events])
    near(times[:4], fall * np.array([1.0, 2.0, 2.5, 2.75]), 1e-9)
    assert len(times) < 30
    assert times[-1] < 3.0 * fall
    assert (mb.q[0], mb.v[0]) == (0.5, 0.0)
    assert run.check().holds


@pytest.mark.parametrize("restitution", [0.0, 0.6, 1.0])
def test_an_impact_keeps_the_momentum_of_all_other_dofs(restitution):
    """M (v+ - v-) is along the dof that strikes; it leaves with e times its speed; with e = 1 no energy is lost."""
    mb = sc.load("double_pendulum")
    mb.set_state([0.3, 0.2], [0.5, 2.0])
    p = sc.sim.Propagator(mb)
    p.add(sc.sim.JointLimit(mb.dof_names[1], upper=0.4, restitution=restitution))
    p.event("stop", lambda t, state: t - 0.2, stop=True)
    run = p.advance_to(0.2)
    (hit,) = (x for x in run.events if x.name.startswith("limit"))
    at = int(np.searchsorted(run.t, hit.t, side="right")) - 1
    before, after = run.v[at - 1], run.v[at]
    impulse = sc.dynamics.mass_matrix(mb, run.q[at]) @ (after - before)
    assert impulse[0] == pytest.approx(0.0, abs=1e-12)
    assert after[1] == pytest.approx(-restitution * before[1], abs=1e-12)
    lost = run.kinetic[at - 1] - run.kinetic[at]
    assert lost == pytest.approx(0.0, abs=1e-12) if restitution == 1.0 else lost > 0.01
    assert run.q[:, 1].max() <= 0.4 + 1e-12


def test_a_stop_and_friction_on_one_dof():
    """The stop carries what friction need not; once free, friction holds what it can."""
    mb = block(gravity=(G, 0, 0), v=1.0, mass=1.0)
    p = sc.sim.Propagator(mb)
    p.add(sc.sim.HingeFriction("slide", 4.0), sc.sim.JointLimit("slide", upper=0.2))
    p.control("slide", lambda t, state: -8.0 * t)
    run = p.advance_to(1.5)
    stop = run.forces["limit of slide"][:, 0]
    leans = (run.t > 0.5) & (run.t < 1.2)
    near(stop[leans], -(G - 8.0 * run.t[leans]), 1e-8)
    assert mb.q[0] == 0.2  # 12 - 9.81 < 4: friction holds it there
    near(run.forces["friction of slide"][-1], [12.0 - G], 1e-9)


def test_a_run_does_not_begin_beyond_a_stop():
    mb = block(q=1.0)
    p = sc.sim.Propagator(mb)
    p.add(sc.sim.JointLimit("slide", upper=0.5))
    with pytest.raises(StateError, match=r"dof 'slide' is at 1, beyond the limit of slide by 0.5, .* begin between"):
        p.advance_to(1.0)


# -- closed chains -----------------------------------------------------------------------------------------------

M1, M2, RATIO = 2.0, 3.0, 1.5


def geared(v=0.0):
    """Two blocks with x1 = 1.5 x2."""
    mb = sc.Multibody("geared", gravity=(0, 0, 0))
    for name, mass in (("one", M1), ("two", M2)):
        mb.add_body(name, None, sc.Prismatic((1, 0, 0)), sc.Inertia(mass, (0, 0, 0), np.eye(3)))
    mb.couple("gear", {"one": 1.0, "two": -RATIO})
    mb.set_state([0, 0], [RATIO * v, v])
    return mb


@pytest.mark.parametrize("solver", ["ta", "ce"])
def test_friction_of_tied_dofs_stops_them_and_lets_go_together(solver):
    """One motion: mass m1 r^2 + m2, friction c1 r + c2; they hold until a pull on the second is s1 r + s2."""
    mass, c1, c2, s1, s2 = M1 * RATIO**2 + M2, 1.0, 0.5, 1.2, 0.8
    mb = geared(v=0.2)
    p = sc.sim.Propagator(mb, solver=solver)
    p.add(sc.sim.HingeFriction("one", c1, s1), sc.sim.HingeFriction("two", c2, s2))
    p.control("two", lambda t, state: 4.0 * max(t - 1.0, 0.0))
    run = p.advance_to(2.0)
    stops, slips = 0.2 * mass / (c1 * RATIO + c2), 1.0 + (s1 * RATIO + s2) / 4.0
    assert sorted({round(x.t, 7) for x in run.events}) == pytest.approx([stops, slips], abs=1e-6)
    rest = (run.t > stops + 1e-6) & (run.t < slips - 1e-6)
    assert np.array_equal(run.v[rest], 0.0 * run.v[rest])
    s = 2.0 - slips
    near(mb.v[1], (4.0 * s**2 / 2 + ((s1 - c1) * RATIO + s2 - c2) * s) / mass, 1e-6)
    assert run.check().imbalance < 1e-6


def test_a_closed_chain_strikes_a_stop():
    """x2 is turned round with e, x1 by the gear with it, and leans where it is pushed."""
    mb = geared(v=1.0)
    p = sc.sim.Propagator(mb, solver="ta")
    p.add(sc.sim.JointLimit("two", upper=0.1, restitution=0.5))
    run = p.advance_to(0.3)
    near(mb.v, [-0.5 * RATIO, -0.5], 1e-12)
    near(mb.q[1], 0.1 - 0.5 * 0.2, 1e-10)
    mb = geared(v=1.0)
    p = sc.sim.Propagator(mb, solver="ce")
    p.add(sc.sim.JointLimit("two", upper=0.1))
    p.control("one", 2.0)
    run = p.advance_to(0.3)
    near(mb.q, [0.1 * RATIO, 0.1], 1e-12)
    near(run.forces["limit of two"][-1], [0.0, -2.0 * RATIO], 1e-9)


def test_a_parallelogram_sticks_by_all_its_pins():
    """Cranks of one length: all pins turn alike, so their frictions add."""
    length, mass = 0.5, 2.0
    mb = sc.Multibody("parallelogram", gravity=(0, 0, 0))
    bar = sc.Inertia(mass, (length / 2, 0, 0), np.diag([0.0, 0.1, 0.1]) + 0.01 * np.eye(3))
    z, end = sc.Pin((0, 0, 1)), sc.Pose(translation=(length, 0, 0))
    mb.add_body("left", None, z, bar)
    mb.add_body("coupler", "left", z, bar, end)
    mb.add_body("right", None, z, bar, sc.Pose(translation=(1.2, 0, 0)))
    mb.body("coupler").add_node("tip", sc.Pose(translation=(1.2, 0, 0)))
    mb.body("right").add_node("tip", end)
    mb.close_loop("pin", "coupler/tip", "right/tip", z)
    mb.set_state([1.0, -1.0, 1.0], [2.0, -2.0, 2.0])
    p = sc.sim.Propagator(mb)
    pins = {"left": 0.5, "coupler": 0.3, "right": 0.4}
    p.add(*(sc.sim.HingeFriction(name, c) for name, c in pins.items()))
    p.control("left", lambda t, state: 1.5 * max(t - 2.2, 0.0))
    run = p.advance_to(3.4)
    inertia = 2 * (0.11 + mass * length**2 / 4) + mass * length**2
    stops, slips = 2.0 * inertia / 1.2, 2.2 + 1.2 / 1.5
    assert sorted({round(x.t, 5) for x in run.events}) == pytest.approx([stops, slips], abs=1e-5)
    s = 3.4 - slips
    near(mb.v[0], 1.5 * s**2 / 2 / inertia, 1e-5)


def test_holding_forces_that_are_not_determined():
    """Any within bounds will do; pushes stay pushes; a dof that cannot move needs no force."""
    Y = np.outer([1.0, -2.0, 0.5], [1.0, -2.0, 0.5])
    f = holding_forces(Y, 3.0 * np.array([1.0, -2.0, 0.5]), [(-1, 1), (-0.5, 0.5), (0, np.inf)])
    near(Y @ f, [3.0, -6.0, 1.5], 1e-12)
    assert abs(f[0]) <= 1 + 1e-12
    assert abs(f[1]) <= 0.5 + 1e-12
    assert f[2] >= 0.0
    near(holding_forces(np.zeros((1, 1)), np.zeros(1), [(-1, 1)]), [0.0], 0.0)
    for scale in (1e-6, 1e6):
        near(holding_forces(Y / scale, np.array([1.0, -2.0, 0.5]), [(-scale, scale)] * 3) / scale,
             holding_forces(Y, np.array([1.0, -2.0, 0.5]), [(-1, 1)] * 3), 1e-9)  # fmt: skip


@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_a_motion_that_two_stops_block(restitution):
    """Both strike at once and for ever: with restitution below one they come to rest, with one the run says so."""
    mb = sc.Multibody("blocked", gravity=(0, 0, 0))
    for name in ("one", "two"):
        mb.add_body(name, None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.couple("gear", {"one": 1.0, "two": 1.0})
    mb.set_state([0, 0], [1.0, -1.0])
    p = sc.sim.Propagator(mb)
    p.add(*(sc.sim.JointLimit(name, upper=0.0, restitution=restitution) for name in ("one", "two")))
    if restitution == 1.0:
        with pytest.raises(SimulationError, match=r"impacts at the limit of one and others follow each other without"):
            p.advance_to(0.1)
    else:
        p.advance_to(0.1)
        near(mb.v, [0, 0], 0.0)


def test_a_stop_without_room_is_refused():
    mb = block()
    with pytest.raises(ModelError, match=r"the limit of slide leaves no room between 0 and 1e-13: prescribe the dof"):
        sc.sim.Propagator(mb).add(sc.sim.JointLimit("slide", lower=0.0, upper=1e-13))


def test_states_between_steps_are_those_of_the_run_whatever_holds_by_now():
    """A pendulum falls onto a stop and leans on it, or slips and sticks: before it did, run.at(t) is as without. So is
    a prescribed motion after another was given."""
    mb, free = sc.load("pendulum"), sc.load("pendulum")
    friction = sc.sim.HingeFriction("bob", coulomb=30.0)
    for load, v, force in ((sc.sim.JointLimit("bob", lower=-2.0, upper=-0.5), 0.0, 0.0), (friction, 3.0, -30.0)):
        mb.set_state([-1.0], [v])
        free.set_state([-1.0], [v])
        p, alone = sc.sim.Propagator(mb), sc.sim.Propagator(free)
        p.add(load)
        alone.control("bob", force)
        run = p.advance_to(1.0)
        assert load.sticks
        wanted = alone.advance_to(0.5 * run.events[0].t)
        sample = run.at(wanted.t[-1])
        near(sample.q, wanted.q[-1], 1e-7)
        near(sample.v, wanted.v[-1], 1e-6)

    mb.set_state([0.0], [0.0])
    p = sc.sim.Propagator(mb)
    p.prescribe("bob", lambda t: (np.sin(t), np.cos(t), -np.sin(t)))
    run = p.advance_to(1.0)
    p.prescribe("bob", lambda t: (7.0, 0.0, 0.0))
    near(np.array([run.at(t).q[0] for t in (0.3, 0.77)]), np.sin([0.3, 0.77]), 1e-7)


# -- where loads act -----------------------------------------------------------------------------------------------


def test_a_refused_add_adds_nothing():
    mb = sc.load("pendulum")
    p = sc.sim.Propagator(mb)
    good = sc.sim.HingeFriction("bob", coulomb=1.0)
    for bad in (sc.sim.JointLimit("none"), sc.sim.HingeFriction("bob"), 3):
        with pytest.raises((ModelError, StateError)):
            p.add(good, bad)
        assert "HingeFriction" not in str(p.report())
    p.add(good)
    assert list(p.advance_to(0.1).forces) == ["friction of bob"]


def test_a_load_that_holds_acts_in_one_propagator_and_any_on_one_model():
    mb, other = sc.load("pendulum"), sc.load("pendulum")
    for load in (sc.sim.HingeFriction("bob", coulomb=1.0), sc.sim.JointLimit("bob", lower=-1.0, upper=1.0)):
        kind = type(load).__name__
        sc.sim.Propagator(mb).add(load)
        with pytest.raises(StateError, match=f"acts in another propagator already; make another {kind} for this"):
            sc.sim.Propagator(mb).add(load)
    spring = sc.sim.JointLimit("bob", stiffness=100.0, lower=-1.0, upper=1.0)
    sc.sim.Propagator(mb).add(spring)
    sc.sim.Propagator(mb).add(spring)  # it has no state
    with pytest.raises(StateError, match="'limit of bob' acts in a propagator of another model, 'pendulum' already"):
        sc.sim.Propagator(other).add(spring)


@pytest.mark.parametrize(
    ("hinges", "upper", "start"),
    [
        ("turn pin slide", [9.0, 2.0, 0.3], [0.0, 0.0, 0.0]),  # the slide leans on its stop when the pin strikes
        ("pin pin pin", [1.3, 0.85, 0.4], [1.0, -0.25, -1.5]),  # two at rest at once, of which one is pulled off
    ],
)
def test_no_dof_passes_its_stop_when_another_strikes_or_lets_go(hinges, upper, start):
    """Arms that fall onto the stops of all their dofs: whoever strikes, all stay between their limits."""
    kinds = {"turn": sc.Pin((0, 0, 1)), "pin": sc.Pin((0, 1, 0)), "slide": sc.Prismatic((1, 0, 0))}
    mb, parent = sc.Multibody("arm"), None
    for k, kind in enumerate(hinges.split()):
        inertia = sc.Inertia(1.0, (0.2, 0, 0), np.diag([0.01, 0.02, 0.02]))
        parent = mb.add_body(f"body{k}", parent, kinds[kind], inertia, sc.Pose(translation=(0.4, 0, 0)))
    lower = -np.linspace(0.9, 1.2, mb.nv)
    mb.set_state(np.full(mb.nv, 0.1), start)
    p = sc.sim.Propagator(mb)
    for x, a, b in zip(mb.bodies, lower, upper, strict=True):
        p.add(sc.sim.JointLimit(x.name, lower=a, upper=b))
    run = p.advance_to(1.5)
    assert {x.name for x in run.events} >= {"limit of body1", "limit of body2"}
    assert (run.q <= np.array(upper) + 1e-9).all()
    assert (run.q >= lower - 1e-9).all()
    assert run.check().holds


def test_a_dof_beyond_its_stop_is_told():
    mb = sc.load("double_pendulum")
    stop = sc.sim.JointLimit("upper", lower=-1.0, upper=0.5)
    stop.bind(mb)
    stop.require_kept(np.array([0.5 + 1e-9, 7.0]))
    for angle in (0.51, -1.01):
        text = r"dof 'upper' has passed the limit of upper by 0\.01 unseen, .* Give the stops restitution=0, or a"
        with pytest.raises(SimulationError, match=text):
            stop.require_kept(np.array([angle, 0.0]))


@pytest.mark.parametrize("pressed", [False, True])
def test_an_impact_draws_a_load_off_its_stop_or_presses_it_on(pressed):
    """A load on a cart whose push holds it at a stop, until the cart strikes its own. In front of the load the stop
    takes it along, behind it lets go: the load flies on at the speed of before."""
    push = -1.0 if pressed else 1.0
    mb = sc.Multibody("cart", gravity=(0, 0, 0))
    mb.add_body("cart", None, sc.Prismatic((1, 0, 0)), sc.Inertia(2.0, (0, 0, 0), np.eye(3)))
    mb.add_body("load", "cart", sc.Prismatic((1, 0, 0)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.set_state([0.0, 0.0], [1.0, 0.0])
    p = sc.sim.Propagator(mb)
    p.control("cart", push)
    p.add(sc.sim.JointLimit("cart", upper=0.1, restitution=0.5))
    p.add(sc.sim.JointLimit("load", **({"upper": 0.0} if pressed else {"lower": 0.0})))
    run = p.advance_to(0.12)
    assert len({x.t for x in run.events}) == 1
    a, before = push / 3.0, np.sqrt(1.0 + 2.0 * push / 3.0 * 0.1)
    after, rest = -0.5 * before, 0.12 - (before - 1.0) / a
    if pressed:
        near(mb.v, [after + a * rest, 0.0], 1e-8)
        near(mb.q[1], 0.0, 1e-12)
    else:
        near(mb.v, [after + push / 2.0 * rest, before - after - push / 2.0 * rest], 1e-8)
        near(mb.q[1], (before - after) * rest - push / 4.0 * rest**2, 1e-8)


# -- prescribed motions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", ["dop853", "rk4"])
def test_a_prescribed_motion_stays_within_a_stop_or_is_refused(integrator):
    def made(size):
        p = sc.sim.Propagator(sc.load("pendulum"), integrator=integrator, step=0.01)
        p.add(sc.sim.JointLimit("bob", lower=-0.5, upper=0.5))
        p.prescribe("bob", lambda t: (size * np.sin(t), size * np.cos(t), -size * np.sin(t)))
        return p

    run = made(0.5).advance_to(3.0)  # it touches the stop
    near(run.q[-1], [0.5 * np.sin(3.0)], 1e-12)
    p = made(0.6)
    text = r"the limit of bob is struck, and no impulse turns dof 'bob' round while the motion of 'bob' is prescribed"
    with pytest.raises(SimulationError, match=text) as error:
        p.advance_to(3.0)
    assert error.value.t == pytest.approx(np.arcsin(0.5 / 0.6), abs=1e-8)
    assert p.last_run.q.max() < 0.5 + 1e-8
    stop = sc.sim.JointLimit("bob", lower=-1.0, upper=0.5)
    stop.bind(sc.load("pendulum"))
    text = r"the motion that is prescribed for dof 'bob' leads beyond the limit of bob by 0\.01: prescribe one"
    with pytest.raises(SimulationError, match=text):  # by a jump
        stop.require_kept(np.array([0.51]), True)


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_a_stop_that_a_prescribed_motion_drives_into_through_closures_is_refused(restitution):
    """A parallelogram whose rocker moves as told, and whose crank comes to a stop."""
    mb = row_of_four_bars(1)
    start, name = float(mb.q[1]), mb.dof_names[0]
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    p.prescribe("crank1", lambda t: (start - t, -1.0, 0.0))
    p.add(sc.sim.JointLimit(name, lower=start - 0.205, upper=4.0, restitution=restitution))
    text = rf"the limit of {name} is struck, and no impulse turns dof '{name}' round while the motion of 'crank1' is"
    with pytest.raises(SimulationError, match=text) as error:
        p.advance_to(0.5)
    assert error.value.t == pytest.approx(0.205, abs=1e-6)
    near(mb.q[0], start - 0.205, 1e-9)


@pytest.mark.parametrize("angle", [0.3, 4.0])
def test_dry_friction_turns_at_dead_points_where_closures_alone_move_its_dof(angle):
    """The rocker of a crank that turns round stands still at both ends of its way, where friction cannot hold it."""
    mb = four_bar(0.3, 1.0, 0.8, 0.9, angle, 8.0)
    p = sc.sim.Propagator(mb, integrator="dop853", rtol=1e-9)
    p.add(sc.sim.HingeFriction("rocker", 0.2))
    run = p.run(2.0)
    rate, friction = run.v[:, 2], run.forces["friction of rocker"][:, 2]
    turns = [x.q[2] for x in run.events if x.name == "friction of rocker"]
    assert len(turns) >= 4
    slips = np.abs(rate) > 1e-6
    np.testing.assert_allclose(friction[slips], -0.2 * np.sign(rate[slips]), rtol=0, atol=1e-12)
    way = np.abs(np.diff([run.q[0, 2], *turns, run.q[-1, 2]])).sum()
    np.testing.assert_allclose(run.work["friction of rocker"][-1], -0.2 * way, rtol=1e-6)
