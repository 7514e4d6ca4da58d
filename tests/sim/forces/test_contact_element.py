"""Nothing thin is passed unseen: by time stepping, compiled and in Python, by rollouts, by forces and by events."""

import numpy as np
import pytest
from tests.sim.test_compiled import in_python, is_compiled

import soacraft as sc
from soacraft.errors import SimulationError
from soacraft.spatial.rotations import quaternion_to_matrix

STEPPING = ("moreau", "moreau_midpoint")
KINDS = ("sphere", "box", "capsule", "cylinder", "ellipsoid")


def shot(size=1.0, radius=0.01, wall=0.01, x=-0.2, gravity=(0.0, 0.0, 0.0)):
    """A ball in front of a wall across x, all lengths times `size`."""
    mb = sc.Multibody(gravity=gravity)
    mb.root.add_geometry(sc.Geometry("wall", "box", (wall * size, size, size)))
    ball = mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3) * 4e-5 * size**2))
    ball.add_geometry(sc.Geometry("skin", "sphere", (radius * size,)))
    mb.set_state([0, 0, 0, 1, x * size, 0, 0], np.zeros(6))
    return mb


def thrown(mb, speed, step, integrator="moreau", spin=(0.0, 0.0, 0.0), **laws):
    """A run with contact of a body that flies along x."""
    mb.v = [*spin, speed, 0, 0]
    p = sc.sim.Propagator(mb, integrator=integrator, step=step)
    p.add(sc.sim.Contact(**laws))
    return p


@pytest.mark.parametrize("integrator", STEPPING)
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("wall", [1e-2, 1e-4, 0.0])
def test_a_ball_does_not_cross_a_wall_within_a_step(integrator, restitution, wall):
    """A ball of 2 cm at 10 m/s goes 10 cm in a step; it leaves with e times its speed, and never was behind the wall.
    Of the bounce the step before its cut knows the speed, not where in it the wall was met."""
    p = thrown(shot(wall=wall), 10.0, 0.01, integrator, restitution=restitution)
    run = p.advance_to(0.06)
    assert is_compiled(run)
    assert run.q[:, 4].max() < -0.5 * wall
    assert len(run) > 7  # the step of the impact was cut
    np.testing.assert_allclose(run.v[-1, 3], -10.0 * restitution, atol=1e-9)
    left = run.q[-1, 4] + 0.01 + 0.5 * wall  # it had 0.06 s - 0.0185 s to go back
    np.testing.assert_allclose(left, -10.0 * restitution * (0.06 - (0.19 - 0.5 * wall) / 10.0), atol=0.05)
    assert abs(run.check().imbalance) < 1e-9


@pytest.mark.parametrize("integrator", STEPPING)
def test_compiled_steps_are_cut_where_those_of_python_are(integrator, monkeypatch):
    """The same rows, to rounding, and the same contacts."""

    def flown():
        p = thrown(shot(wall=1e-3), 10.0, 0.01, integrator, (3.0, 20.0, -9.0), restitution=0.6, friction=0.01)
        return p.advance_to(0.05)

    run = flown()
    assert is_compiled(run)
    in_python(monkeypatch)
    other = flown()
    np.testing.assert_allclose(run.t, other.t, rtol=0, atol=2e-9)
    np.testing.assert_allclose(run.q, other.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.v, other.v, rtol=0, atol=1e-8)
    assert [x.pairs for x in run.contacts] == [x.pairs for x in other.contacts]


@pytest.mark.parametrize("integrator", STEPPING)
def test_a_rollout_takes_the_steps_of_a_run(integrator):
    """Its rows are at whole steps, between which it is cut as a run is."""
    p = thrown(shot(wall=1e-3), 10.0, 0.01, integrator, restitution=0.5)
    q, v = p.mb.q, p.mb.v
    Q, V = p.rollout(q, v, steps=5)
    p.mb.set_state(q, v)
    run = p.advance_to(0.05)
    rows = np.searchsorted(run.t, 0.01 * np.arange(6) - 1e-12)
    np.testing.assert_allclose(Q, run.q[rows], rtol=0, atol=1e-13)
    np.testing.assert_allclose(V, run.v[rows], rtol=0, atol=1e-13)
    assert Q[:, 4].max() < 0.0


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("integrator", STEPPING)
def test_sizes_make_no_difference(size, integrator):
    """All lengths times `size`: the same motion in these lengths. Times are whole nanoseconds, which a micrometre at
    10 lengths a second is far from."""
    run = thrown(shot(size, wall=1e-3), 10.0 * size, 0.01, integrator, restitution=0.5).advance_to(0.05)
    like = thrown(shot(1.0, wall=1e-3), 10.0, 0.01, integrator, restitution=0.5).advance_to(0.05)
    np.testing.assert_allclose(run.t, like.t, rtol=0, atol=2e-9)
    np.testing.assert_allclose(run.q[:, 4] / size, like.q[:, 4], rtol=0, atol=1e-7)


def test_between_two_foils():
    """It bounces from one to the other, three times within a step, and leaves neither."""
    mb = shot(wall=1e-4, x=-0.1)
    mb.root.add_geometry(sc.Geometry("other", "box", (1e-4, 1.0, 1.0), pose=sc.Pose(translation=(-0.2, 0, 0))))
    for integrator in STEPPING:
        mb.set_state([0, 0, 0, 1, -0.1, 0, 0], np.zeros(6))
        run = thrown(mb, 50.0, 0.01, integrator, restitution=1.0).advance_to(0.1)
        assert run.q[:, 4].min() > -0.2
        assert run.q[:, 4].max() < 0.0
        np.testing.assert_allclose(np.abs(run.v[:, 3]), 50.0, rtol=1e-9)


def test_a_pair_that_moves_together_is_not_fast():
    """A ball at rest on a thin tray that flies at 1 km/s: whole steps."""
    mb = sc.Multibody(gravity=(0, 0, 0))
    tray = mb.add_body("tray", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3) * 0.1))
    tray.add_geometry(sc.Geometry("skin", "box", (1.0, 1.0, 1e-3)))
    ball = mb.add_body("ball", None, sc.Free(), sc.Inertia(0.1, moment=np.eye(3) * 4e-6))
    ball.add_geometry(sc.Geometry("skin", "sphere", (0.01,)))
    mb.set_state([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0.0105], [0, 0, 0, 0, 0, 1e3, 0, 0, 0, 0, 0, 1e3])
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
    p.add(sc.sim.Contact())
    assert len(p.advance_to(0.1)) == 11


@pytest.mark.parametrize("integrator", STEPPING)
def test_what_slides_along_a_foil_is_not_fast(integrator):
    """A ball of 2 cm slides at 5 m/s on a foil of a micrometre, 5 cm a step, and none is cut."""
    mb = sc.Multibody(gravity=(0, 0, -9.81))
    mb.root.add_geometry(sc.Geometry("foil", "box", (10.0, 1.0, 1e-6)))
    ball = mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3) * 4e-5))
    ball.add_geometry(sc.Geometry("skin", "sphere", (0.01,)))
    mb.set_state([0, 0, 0, 1, 0, 0, 0.01 + 5e-7], [0, 0, 0, 5.0, 0, 0])
    p = sc.sim.Propagator(mb, integrator=integrator, step=0.01)
    p.add(sc.sim.Contact(friction=0.0))
    run = p.advance_to(0.5)
    assert len(run) == 51
    np.testing.assert_allclose(run.q[-1, 4:], [2.5, 0, 0.01 + 5e-7], atol=1e-9)


@pytest.mark.parametrize("integrator", STEPPING)
def test_a_rod_that_spins_does_not_cross_a_plate(integrator):
    """A rod of 1 m about a pin sweeps 2 rad a step; its tip is stopped by a plate of 2 mm that stands in its way."""
    mb = sc.Multibody(gravity=(0, 0, 0))
    pose = sc.Pose(translation=(0.0, 0.5, 0.0))
    mb.root.add_geometry(sc.Geometry("plate", "box", (0.002, 0.4, 0.4), pose=pose))
    rod = mb.add_body("rod", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, moment=np.eye(3) * 0.08))
    lying = sc.Pose(translation=(0.5, 0, 0), rotation=[[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    rod.add_geometry(sc.Geometry("skin", "capsule", (0.005, 0.9), pose=lying))
    mb.set_state([0.1], [200.0])
    p = sc.sim.Propagator(mb, integrator=integrator, step=0.01)
    p.add(sc.sim.Contact())
    run = p.advance_to(0.05)
    touch = np.pi / 2 - np.arctan2(0.006, 0.5)  # the middle of the rod at the plate
    assert run.q.max() < touch + 0.02
    assert run.q[-1, 0] > touch - 0.05
    assert abs(run.v[-1, 0]) < 2.0


def projectile(rng):
    """A random shape of any size that flies, spinning, at a wall of a tenth to a thousandth of the way of a step."""
    size, h = 10.0 ** rng.uniform(-6, 6), 0.01
    r, wall = size * 10.0 ** rng.uniform(-2, 0.3), size * 10.0 ** rng.uniform(-3, -1)
    kind = KINDS[rng.integers(len(KINDS))]
    a, b, c = 2.0 * r * rng.uniform(0.1, 1.0, 3)
    sizes = {"sphere": (r,), "capsule": (0.3 * r, a), "cylinder": (r, 0.3 * b)}
    mb = sc.Multibody(gravity=(0, 0, 0))
    mb.root.add_geometry(sc.Geometry("wall", "box", (wall, 40 * size, 40 * size)))
    body = mb.add_body("shot", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3) * 0.4 * r * r))
    body.add_geometry(sc.Geometry("skin", kind, sizes.get(kind, (a, b, c))))
    turn, way, spin = rng.normal(size=4), rng.normal(size=3), rng.normal(size=3)
    turn, way = turn / np.linalg.norm(turn), np.array([2.0, *way[1:]]) / np.linalg.norm([2.0, *way[1:]])
    spin *= rng.uniform(0.0, 1.0) / h / np.linalg.norm(spin)
    x = -4.0 * r - rng.uniform(0.5, 5.0) * size
    mb.set_state([*turn, x, 0, 0], [*spin, *(quaternion_to_matrix(turn).T @ way * size / h)])
    return mb, h


def none_passes(seeds, make):
    """That of random projectiles each stays in front of its wall, or is refused for its spin; how many get through the
    run."""
    done = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        mb, h = projectile(rng)
        p = make(rng, mb, h)
        try:
            run = p.advance_to(10 * h)
            done += 1
        except SimulationError as wrong:  # what rolls off the wall may turn too fast for such steps
            if not any(x in str(wrong) for x in ("turns a hinge by", "turns by", "stability limits")):
                raise
            run = p.last_run
        assert run.q[:, 4].max() < 0.0, seed
    return done


def by_impulses(rng, mb, h):
    p = sc.sim.Propagator(mb, integrator=STEPPING[rng.integers(2)], step=h)
    p.add(sc.sim.Contact(restitution=(0.0, 0.5, 1.0)[rng.integers(3)], friction=(0.0, 0.1)[rng.integers(2)]))
    return p


def by_events(rng, mb, h):
    p = sc.sim.Propagator(mb, rtol=1e-6)
    p.add(sc.sim.Impacts(restitution=rng.uniform(0.5, 1.0), friction=0.0))
    return p


def test_random_projectiles_and_walls():
    assert none_passes(range(12), by_impulses) >= 6
    assert none_passes(range(4), by_events) >= 3


@pytest.mark.slow
def test_many_random_projectiles_and_walls():
    assert none_passes(range(100), by_impulses) >= 50
    assert none_passes(range(100), by_events) >= 75


# -- forces and events, by methods without impulses ---------------------------------------------------------------


def dropped(load, integrator="dop853", size=1.0, floor=0.1, height=2.0, **options):
    """A ball of 10 cm that falls on a box, all lengths times `size`."""
    mb = sc.Multibody(gravity=(0, 0, -9.81))
    mb.root.add_geometry(sc.Geometry("floor", "box", (size, size, floor * size)))
    ball = mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3) * 0.001 * size**2))
    ball.add_geometry(sc.Geometry("skin", "sphere", (0.05 * size,)))
    mb.set_state([0, 0, 0, 1, 0, 0, height * size], np.zeros(6))
    p = sc.sim.Propagator(mb, integrator=integrator, **options)
    p.add(load)
    return p


@pytest.mark.parametrize("integrator", ["dop853", "cvode"])
@pytest.mark.parametrize("floor", [0.1, 1e-3])
def test_a_ball_does_not_fall_through_a_box(integrator, floor):
    """By events it bounces to e^2 of its height; by a force it comes back with all its energy."""
    height = 2.0 - 0.05 - 0.5 * floor
    impact = np.sqrt(2.0 * height / 9.81)
    run = dropped(sc.sim.Impacts(restitution=0.5), integrator, floor=floor).advance_to(1.5 * impact)
    assert [round(x.t, 7) for x in run.events] == [round(impact, 7)]
    np.testing.assert_allclose(run.q[-1, 6], 2.0 - height + 0.25 * height, rtol=1e-6)
    soft = sc.sim.CompliantContact(stiffness=1e6, friction=0.0)
    run = dropped(soft, integrator, floor=floor, rtol=1e-7).advance_to(1.8 * impact)
    assert run.q[:, 6].min() > 0.03
    rebound = 0.5 * run.v[-1, 5] ** 2 + 9.81 * run.q[-1, 6]
    np.testing.assert_allclose(rebound, 9.81 * 2.0, rtol=1e-4)


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_a_fall_of_any_size(size):
    """Times go with the root of the size."""
    p = dropped(sc.sim.Impacts(restitution=0.5), size=size, floor=1e-2)
    impact = np.sqrt(2.0 * 1.945 * size / 9.81)
    run = p.advance_to(round(1.5e9 * impact) / 1e9)
    assert len(run.events) == 1
    np.testing.assert_allclose(run.events[0].t, impact, rtol=1e-6)


@pytest.mark.parametrize("integrator", ["rk4", "verlet", "euler_symplectic"])
def test_a_fixed_step_that_is_too_long_is_refused(integrator):
    """The pair, the step and the step that would do: and one of the stiffness does."""

    def falling(step):
        soft = sc.sim.CompliantContact(stiffness=1e5, friction=0.0)
        return dropped(soft, integrator, floor=0.01, height=0.3, step=step)

    p = falling(0.1)
    with pytest.raises(SimulationError, match=r"in the step of 0\.1 s from t = 0\.[12] s on 'ball/skin'") as caught:
        p.advance_to(0.4)
    told = str(caught.value)
    assert "'inertial/floor', 0.11 m thick together, come up to 0." in told
    assert "they may pass through each other unseen; take steps of at most 0.0" in told
    assert p.mb.q[6] > 0.05  # at the last good state
    run = falling(2e-3).advance_to(0.4)
    assert run.q[:, 6].min() > 0.02
    assert run.v[-1, 5] > 0.5


def test_what_rests_on_a_foil_has_long_steps():
    """A closing speed of nothing shortens no step."""
    soft = sc.sim.CompliantContact(stiffness=1e4, damping=20.0, friction=0.0)
    p = dropped(soft, floor=1e-5, rtol=1e-5, height=0.048)
    p.advance_to(0.2)
    same = sc.sim.CompliantContact(stiffness=1e4, damping=20.0, friction=0.0)
    thick = dropped(same, floor=10.0, rtol=1e-5, height=5.048)
    thick.advance_to(0.2)
    assert len(p.advance_to(0.6)) <= len(thick.advance_to(0.6)) + 2


def test_a_contact_that_is_too_soft_is_refused():
    """A ball of 2.4 J would press a floor of 1e3 N/m^1.5 in by 0.13 m, more than the two are thick."""
    for integrator, step in (("rk4", {"step": 1e-3}), ("dop853", {})):
        p = dropped(sc.sim.CompliantContact(stiffness=1e3, friction=0.0), integrator, floor=0.01, height=0.3, **step)
        with pytest.raises(SimulationError, match=r"'inertial/floor', 0\.11 m thick together, are 0\.0") as caught:
            p.advance_to(0.4)
        assert "compliant contact of 1000 N/m^1.5 lets them through. Make it stiffer" in str(caught.value)


def test_what_has_no_thickness_is_refused_where_it_would_meet():
    """A point and a sheet: nothing tells on which side it is, a padding does."""
    mb = shot(radius=0.0, wall=0.0)
    with pytest.raises(SimulationError, match="'inertial/wall', 0 m thick together, come") as caught:
        thrown(mb, 10.0, 0.01).advance_to(0.06)
    assert "give one of them a width, or let them keep clear, as scene.set_padding(" in str(caught.value)
    mb = shot(radius=0.0, wall=0.0)
    mb.v = [0, 0, 0, 10.0, 0, 0]
    scene = sc.contact.Scene(mb)
    scene.set_padding(1e-3, "ball/skin")
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
    p.add(sc.sim.Contact(scene))
    assert p.advance_to(0.06).q[:, 4].max() < 0.0


def test_reports_name_pairs_without_thickness():
    mb = shot(radius=0.0, wall=0.0)
    p = thrown(mb, 10.0, 0.01)
    told = "'ball/skin' and 'inertial/wall' have no thickness: a run ends where they would meet; scene.set_padding"
    assert f"caution: {told}" in p.report()
    p = thrown(shot(), 10.0, 0.01)
    assert "caution" not in p.report()


@pytest.mark.parametrize("integrator", STEPPING)
def test_the_edge_of_a_foil_is_seen(integrator):
    """A ball that overlaps it by 2 mm, 10 cm a step, from wherever in a step it comes, is turned aside."""
    for phase in np.linspace(0.0, 0.1, 8, endpoint=False):
        mb = shot(wall=1e-3, x=-0.2 - phase)
        mb.q = [0, 0, 0, 1, -0.2 - phase, 0.508, 0]
        run = thrown(mb, 10.0, 0.01, integrator, friction=0.0).advance_to(0.06)
        assert run.v[-1, 4] > 0.1


def test_a_prescribed_motion_into_the_floor_is_refused_by_name():
    mb = sc.Multibody("press", gravity=(0, 0, -9.81))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    ram = mb.add_body("ram", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0))
    ram.add_geometry(sc.Geometry("ball", "sphere", (0.1,)))
    mb.set_state([0.12], [-1.0])
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.002)
    p.add(sc.sim.Contact())
    p.prescribe("ram", lambda t: (0.12 - t, -1.0, 0.0))
    with pytest.raises(SimulationError, match=r"the motion of 'ram' is prescribed, and may lead shapes into each"):
        p.advance_to(0.05)
    assert p.t == pytest.approx(0.02, abs=0.004)
    assert mb.q[0] == pytest.approx(0.1, abs=0.004)
