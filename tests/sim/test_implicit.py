"""Springs, dampers and servos of single dofs in steps with contact: implicit, so that feet stay on the floor."""

import numpy as np
import pytest
from tests.sim.test_closed import four_bar
from tests.sim.test_compiled import in_python

import soacraft as sc
from soacraft.errors import SimulationError
from soacraft.sim.implicit import SLOW, Implicit, ImplicitProblem, Linear
from soacraft.sim.integrators.explicit import RK4
from soacraft.sim.problem.run_problem import RunProblem
from soacraft.sim.system import Mechanism

G = 9.81
TRUNK, FOOT = 5.0, 0.1
FREE = TRUNK * FOOT / (TRUNK + FOOT)  # what a force between the two moves
STEP = 2e-3


def servo_law(k, d, limit):
    law = dict(gainprm=[k, 0, 0], biastype="affine", biasprm=[0, -k, -d])
    return law | ({"forcerange": [-limit, limit]} if np.isfinite(limit) else {})


def leg(size=1.0, stiffness=0.0, damping=0.0, *, servo=False, limit=np.inf, between=""):
    """A trunk on a slide, a foot on a slide below it, on the floor; lengths grow with `size`, times with its root,
    masses with its cube."""
    mb = sc.Multibody("leg", gravity=(0, 0, -G))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    mass, inertia, rate = size**3, np.eye(3) * 0.01 * size**5, 1 / np.sqrt(size)
    k, d = stiffness * mass * rate**2, damping * mass * rate
    mb.add_body("trunk", None, sc.Prismatic((0, 0, 1)), sc.Inertia(TRUNK * mass, (0, 0, 0), inertia))
    foot = mb.add_body("foot", "trunk", sc.Prismatic((0, 0, 1)), sc.Inertia(FOOT * mass, (0, 0, 0), inertia))
    foot.add_geometry(sc.Geometry("ball", "sphere", (0.05 * size,)))
    if servo:
        mb.add_actuator(sc.Actuator("servo", "general", {"foot": 1.0}, servo_law(k, d, limit)))
    elif between == "spring":
        mb.add_spring("leg", "trunk", "foot", k, 0.95 * size, d)
    elif between == "own tendon":
        mb.add_tendon("leg", {"foot": 1.0}, k, d, -0.95 * size)
    elif between == "tendon":
        mb.add_tendon("leg", {"trunk": 1e-9, "foot": 1.0}, k, d, -0.95 * size)
    elif not between:
        foot.passive = sc.Passive(stiffness=k, damping=d, rest=[-0.95 * size])
    mb.set_state([size, -0.95 * size], [0.0, 0.0])
    return mb


def stood(mb, time, step=STEP, size=1.0, **more):
    p = sc.sim.Propagator(mb, integrator="moreau", step=round(step * np.sqrt(size) * 1e9) / 1e9)
    touch = sc.sim.Contact(**more)
    p.add(touch)
    if "servo" in [x.name for x in mb.actuators]:
        p.control("servo", -0.95 * size)
    return p.advance_to(time * np.sqrt(size)), touch


def below(run, size=1.0):
    """How deep the foot is in the floor, in sizes."""
    return -(run.q.sum(axis=1) - 0.05 * size).min() / size


def rise(run):
    """By how much the work of contacts rises at most, as a part of the energy that moves."""
    work = run.work["contact"]
    return (work - np.minimum.accumulate(work)).max() / (run.kinetic.max() + np.ptp(run.potential))


#: Of a mode of a damper or spring, h lambda: from nothing to a hundred times the limits of RK4, 2.79 and 2.83.
MODES = [0.0, 1e-4, 0.02, 0.3, 1.0, 2.0, 2.7, 5.0, 28.0, 280.0]


SIZES = [(mode, False, size) for mode in (0.02, 2.0, 280.0) for size in (1e-6, 1e6)]


@pytest.mark.parametrize(
    ("mode", "servo", "size"), [(mode, servo, 1.0) for mode in MODES for servo in (False, True)] + SIZES
)
def test_a_damped_leg_stays_on_the_floor(mode, servo, size):
    """A trunk that sinks onto its damper ends at the speed m g / d, and the foot bears all of the weight."""
    d = mode / STEP * FREE
    run, touch = stood(leg(size, 0.0, d, servo=servo), 0.5, size=size)
    assert below(run, size) < 1e-8
    assert rise(run) < 1e-10
    assert run.check().gain == run.check().sunk == 0.0
    assert not any("open" in x.state for x in touch.steps)
    if mode >= 1.0:
        fall = 1.0 - np.exp(-0.5 * d / TRUNK)
        assert run.v[-1, 0] / np.sqrt(size) == pytest.approx(-fall * TRUNK * G / d, rel=2e-3)
        assert run.contacts.force("foot")[-1, 2] / size**3 == pytest.approx((fall * TRUNK + FOOT) * G, rel=2e-3)


@pytest.mark.parametrize("servo", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_a_leg_on_a_spring_stays_on_the_floor(mode, servo):
    """It comes to rest where the spring bears the trunk, m g / k below."""
    k = (mode / STEP) ** 2 * FREE
    run, _ = stood(leg(1.0, k, 2 * np.sqrt(k * TRUNK) + 1.0, servo=servo), 0.5)
    assert below(run) < 1e-8
    assert rise(run) < 1e-7
    if mode >= 0.3:
        assert run.q[-1, 0] == pytest.approx(1.0 - TRUNK * G / k, abs=1e-3 * TRUNK * G / k)
        assert run.contacts.force("foot")[-1, 2] == pytest.approx((TRUNK + FOOT) * G, rel=1e-3)


@pytest.mark.parametrize("mode", [0.3, 28.0])
def test_an_undamped_spring_bounces_on_the_floor_without_a_gain(mode):
    """Let go 1 mm above its place: the energy, springs counted, never is more than at the start."""
    k = (mode / STEP) ** 2 * FREE
    mb = leg(1.0, k)
    mb.set_state([1.001, -0.951], [0.0, 0.0])
    run, _ = stood(mb, 0.3)
    assert below(run) < 1e-9
    assert run.energy.max() <= run.energy[0] + 1e-9 * np.ptp(run.energy)


def test_what_is_slow_for_the_step_is_taken_by_rk4():
    """Bit for bit, as long as nothing touches; what is fast has an error of first order."""

    def swung(damping, integrator, step):
        mb = sc.load("pendulum")  # 1 kg at 1 m
        mb["bob"].passive = sc.Passive(stiffness=30.0, damping=damping)
        mb.set_state([0.5], [1.0])
        p = sc.sim.Propagator(mb, integrator=integrator, step=step)
        if integrator == "moreau":
            p.add(sc.sim.Contact())
        return p.advance_to(0.4)

    slow = 0.5 * SLOW / 1e-3
    np.testing.assert_array_equal(swung(slow, "moreau", 1e-3).q, swung(slow, "rk4", 1e-3).q)
    exact = swung(300.0, "rk4", 1e-4).q[-1]
    errors = [np.abs(swung(300.0, "moreau", step).q[-1] - exact).item() for step in (4e-3, 2e-3, 1e-3)]
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.2)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.2)


def test_implicit_dampers_are_no_inertia():
    """Of two bodies that fly apart without gravity the momentum is kept, and the energy is that of their masses."""
    mb = leg(1.0, 1e6, 1e4)
    mb.gravity = (0, 0, 0)
    mb.set_state([3.0, -0.9], [1.0, 2.0])
    run, touch = stood(mb, 0.05)
    momentum = TRUNK * run.v[:, 0] + FOOT * run.v.sum(axis=1)
    np.testing.assert_allclose(momentum, TRUNK + 3 * FOOT, rtol=1e-12)
    kinetic = 0.5 * TRUNK * run.v[:, 0] ** 2 + 0.5 * FOOT * run.v.sum(axis=1) ** 2
    np.testing.assert_allclose(run.kinetic, kinetic, rtol=1e-12)
    assert run.check().imbalance < 1e-12
    assert not touch.steps


@pytest.mark.parametrize("by", ["compiled", "python"])
def test_a_stiff_servo_stays_within_its_limits_of_force(by, monkeypatch):
    """40 N do not bear a trunk of 5 kg: it falls at g - 40/m. 60 N lift it at 60/m - g, stop it above its place and let
    it down again; the servo gives no more in any step."""
    if by == "python":
        in_python(monkeypatch)
    k, few = (28.0 / STEP) ** 2 * FREE, 100 if by == "compiled" else 55
    run, _ = stood(leg(1.0, k, 40.0, servo=True, limit=40.0), 10 * STEP)
    assert run.v[-1, 0] == pytest.approx(-(G - 40.0 / TRUNK) * run.t[-1], rel=1e-9)
    assert below(run) < 1e-12
    mb = leg(1.0, k, 40.0, servo=True, limit=60.0)
    mb.set_state([0.99, -0.94], [0.0, 0.0])
    run, _ = stood(mb, few * STEP)
    force = TRUNK * (np.diff(run.v[:, 0]) / STEP + G)
    assert np.abs(force).max() <= 60.0 * (1 + 1e-9)
    np.testing.assert_allclose(force[:40], 60.0, rtol=1e-9)
    assert run.q[:, 0].max() < 1.002
    assert below(run) < 1e-12


@pytest.mark.parametrize("compiled", [True, False])
def test_a_tendon_of_one_dof_is_the_spring_of_its_hinge(compiled, monkeypatch):
    if not compiled:
        in_python(monkeypatch)
    runs = [stood(leg(1.0, 3e5, 300.0, between=kind), 0.2)[0] for kind in ("", "own tendon")]
    np.testing.assert_allclose(runs[1].q, runs[0].q, rtol=0, atol=1e-9)
    assert below(runs[1]) < 1e-4


class Damper:
    """A force element of a user, which is evaluated at every stage; a function is held in a step with contact."""

    name = "damper"

    def __init__(self, damping):
        self._damping = damping

    def bind(self, mb):
        """It needs nothing of the model."""

    def force(self, t, state):
        return np.array([0.0, -self._damping * state.v[1]])


@pytest.mark.parametrize("between", ["spring", "tendon", "element"])
def test_what_acts_on_several_dofs_is_explicit_and_named(between):
    """A damper between nodes, a tendon of two dofs, a force element: taken as they were, within the limit of contacts;
    at twice that the run stops by name, and tells that contacts gave energy and that the foot sank in."""

    def run(mode):
        d = mode / STEP * FREE
        mb = leg(1.0, 0.0, d, between=between)
        p = sc.sim.Propagator(mb, integrator="moreau", step=STEP)
        p.add(sc.sim.Contact())
        if between == "element":
            p.add(Damper(d))
        return p.advance_to(100 * STEP)

    assert below(run(0.5)) < 1e-4
    with pytest.raises(SimulationError, match=r"with contact limits the steps of 'moreau' to 0\.001") as stopped:
        run(2.0)
    balance = stopped.value.run.check()
    assert balance.gain > 1.0
    assert balance.sunk > 0.01
    assert balance.holds is False
    assert "contacts GAVE" in repr(balance)
    assert "shapes SANK" in repr(balance)


def slides():
    mb = sc.Multibody("slides", gravity=(0, 0, 0))
    rng = np.random.default_rng(3)
    for i in range(3):
        body = mb.add_body(f"b{i}", f"b{i - 1}" if i else None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0 + i))
        body.passive = sc.Passive(stiffness=rng.uniform(5.0, 9.0) * 10.0**i, damping=rng.uniform(0.5, 2.0))
    law = dict(gainprm=[20.0, 0, 0], biastype="affine", biasprm=[0, -20.0, -3.0])
    mb.add_actuator(sc.Actuator("servo", "general", {"b1": 1.0}, law))
    return mb


@pytest.mark.parametrize("h", [0.01, 0.3, 3.0])
def test_a_step_multiplies_by_its_amplification(h):
    """Of slides whose motion is linear: columns by steps from unit states."""
    mb = slides()
    servo, touch = sc.sim.forces.drives.Control("servo", 0.0), sc.sim.Contact()
    for x in (servo, touch):
        x.bind(mb)
    m = Mechanism(RunProblem.of(mb, [servo, touch]))
    J = m.jacobian(0.0, m.point(np.zeros(3), np.zeros(3)), np.zeros(m.manifold.size))[:6, :6]
    taken = []
    for e in np.eye(6):
        x = m.point(e[:3], e[3:])
        implicit = Implicit.of(m, 0.0, h, x)
        problem = m if implicit is None else ImplicitProblem(m, implicit)
        taken.append(RK4().step(problem, 0.0, x, h, problem.rates(0.0, x)).x1[:6])
    linear = Linear.of(m, 0.0, m.point(np.zeros(3), np.zeros(3)), np.ones(3))
    A = linear.amplification(J, 3, h)
    np.testing.assert_allclose(A, np.array(taken).T, rtol=0, atol=1e-11 * np.abs(A).max())
    assert np.abs(np.linalg.eigvals(A)).max() < 1.0


def test_a_stiff_damper_in_a_closed_chain():
    """A four-bar linkage with a damper of 500 times the limit: it loses energy and stays closed."""
    mb = four_bar()
    mb.bodies[0].passive = sc.Passive(damping=1e5)
    p = sc.sim.Propagator(mb, integrator="moreau", step=2e-3)
    p.add(sc.sim.Contact())
    run = p.advance_to(0.04)
    assert run.violation.max() < 1e-10
    assert np.diff(run.energy).max() < 1e-6 * np.ptp(run.energy)
    assert np.abs(run.v[-1]).max() < 1e-2 * np.abs(run.v).max()


# -- random robots ---------------------------------------------------------------------------------------------------


def robot(rng):
    """A trunk that floats or slides, on legs of pins, slides and balls with springs, dampers and servos, each of which
    is from 1e-4 to 100 times what a step can take explicitly, up to 0.05 rad from rest; and the length of the step."""
    mb = sc.Multibody("robot", gravity=(0, 0, -G))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    size, mass, step = 10 ** rng.uniform(-1, 0.5), 10 ** rng.uniform(-1, 1.5), round(10 ** rng.uniform(-4, -2), 6)
    floats, length = rng.random() < 0.6, 0.25 * size
    inertia = sc.Inertia(mass, (0, 0, 0), np.eye(3) * mass * size**2 * 0.05)
    trunk = mb.add_body("trunk", None, sc.Free() if floats else sc.Prismatic((0, 0, 1)), inertia)
    trunk.add_geometry(sc.Geometry("box", "box", (0.5 * size, 0.3 * size, 0.1 * size)))
    starts, targets = {}, {}
    for i in range(int(rng.integers(3, 5) if floats else rng.integers(1, 4))):
        above, at = "trunk", sc.Pose(translation=(0.25 * size * (-1) ** (i // 2), 0.15 * size * (-1) ** i, 0))
        for j in range(int(rng.integers(1, 4))):
            hinge = [sc.Pin((0, 1, 0)), sc.Pin((1, 0, 0)), sc.Prismatic((0, 0, 1)), sc.Spherical()][rng.integers(4)]
            m, slides = mass * 10 ** rng.uniform(-2, -0.5), isinstance(hinge, sc.Prismatic)
            inertia = sc.Inertia(m, (0, 0, -length / 2), np.diag([1, 1, 0.2]) * m * length**2 * 0.35)
            body = mb.add_body(f"b{i}{j}", above, hinge, inertia, at)
            moves = m if slides else 0.5 * m * length**2

            def drawn():
                return 10 ** rng.uniform(-4, 2) if rng.random() < 0.7 else 0.0

            start = rng.uniform(-0.3, 0.3) if isinstance(hinge, sc.Pin) else 0.0
            starts[body.name] = start
            rest, target = (start + rng.uniform(-0.05, 0.05) * (size if slides else 1.0) for _ in range(2))
            rubs = 0.05 * mass * size * (rng.random() < 0.2)
            rest = None if isinstance(hinge, sc.Spherical) else [rest]
            body.passive = sc.Passive(drawn() * moves / step**2, drawn() * moves / step, rubs, rest)
            if hinge.nv == 1 and rng.random() < 0.5:
                kp, kd = drawn() * moves / step**2, drawn() * moves / step
                most = 2 * mass * G * (1.0 if slides else length) if rng.random() < 0.5 else np.inf
                mb.add_actuator(sc.Actuator(body.name, "general", {body.hinge_name: 1.0}, servo_law(kp, kd, most)))
                targets[body.name] = target
            above, at = body.name, sc.Pose(translation=(0, 0, -length))
        mb[above].add_geometry(sc.Geometry("foot", "sphere", (0.04 * size,), pose=at))
    q = np.array(mb.q)
    for number, body in enumerate(mb.bodies):
        if isinstance(body.hinge, sc.Pin):
            q[mb.layout.q_slices[number]] += starts[body.name]
    scene = sc.contact.Scene(mb)
    rows = scene.distances(q)
    for row in rows:
        if "floor" not in row.a + row.b:
            scene.exclude(row.a, row.b)
    q[6 if floats else 0] += 10 ** rng.uniform(-6, -2) * size - min(x.distance for x in rows if "floor" in x.a + x.b)
    mb.set_state(q, rng.normal(size=mb.nv) * 0.3)
    return mb, scene, targets, step


def walked(seed, steps, **more):
    rng = np.random.default_rng(seed)
    mb, scene, targets, step = robot(rng)
    p = sc.sim.Propagator(mb, integrator="moreau", step=step)
    touch = sc.sim.Contact(scene, friction=rng.uniform(), restitution=float(rng.choice([0.0, 0.0, 0.5])), **more)
    p.add(touch)
    for name, u in targets.items():
        p.control(name, u)
    return p, touch, p.advance_to(steps * step)


ROBOTS = 100
#: Robots of which a spring or servo turns a foot back within one step, while friction holds it: the mean of its
#: velocities has the other sign, and the contact gives some energy, which the run tells.
TURNED = (43, 62)


@pytest.mark.parametrize(
    "seed", [x if x % 10 == 7 else pytest.param(x, marks=pytest.mark.slow) for x in range(ROBOTS)]
)
def test_random_robots_stand_on_the_floor(seed):
    """No contact gains energy, but of two that say so, and none is deeper than its step explains."""
    _, touch, run = walked(seed, 300)
    balance = run.check()
    assert balance.sunk == 0.0
    assert (balance.gain > 0.0) == (rise(run) > 1e-2) == (seed in TURNED)
    assert all(x.residual <= 1e-8 for x in touch.steps)


@pytest.mark.parametrize("seed", [2, 3, 4, 21])
def test_compiled_steps_are_those_of_python(seed, monkeypatch):
    _, touch, run = walked(seed, 10, tolerance=1e-12)
    in_python(monkeypatch)
    _, told, other = walked(seed, 10, tolerance=1e-12)
    assert any(x.impulses.any() for x in touch.steps)
    for a, b in [(run.q, other.q), (run.v, other.v), *((run.work[x], other.work[x]) for x in run.work)]:
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-9 * max(1e-3, np.abs(b).max()))
    assert [x.state for x in touch.steps] == [x.state for x in told.steps]


def test_rollouts_are_runs():
    p, _, run = walked(8, 40)
    q, v = p.rollout(run.q[:1], run.v[:1], steps=40)
    np.testing.assert_allclose(q[0], run.q, rtol=0, atol=1e-12 * np.abs(run.q).max())
    np.testing.assert_allclose(v[0], run.v, rtol=0, atol=1e-10 * np.abs(run.v).max())
