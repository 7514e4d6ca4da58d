"""Fixed steps beyond the limit of stability are named, though no number overflows; those below it are not."""

import numpy as np
import pytest
from tests.sim.test_closed import four_bar
from tests.sim.test_compiled import in_python

import soacraft as sc
from soacraft.errors import SimulationError
from soacraft.sim.implicit import Linear
from soacraft.sim.integrators.methods import find_method
from soacraft.sim.problem.run_problem import RunProblem
from soacraft.sim.stability import growth, least_rate, missed, restless
from soacraft.sim.system import Mechanism

#: The end of the interval of stability on the real and on the imaginary axis (Hairer and Wanner, IV.2).
LIMITS = {
    "rk4": (2.785294, 2 * np.sqrt(2)), "verlet": (2.0, 2.0), "euler_symplectic": (2.0, 2.0),
    "moreau_midpoint": (2.0, 2.0),
}  # fmt: skip
STIFF = [sc.Passive(damping=1e5), sc.Passive(stiffness=1e10)]
CASES = [(name, x, end * 1e-5) for name, ends in LIMITS.items() for x, end in zip(STIFF, ends, strict=True)]


def stiff_pendulum(passive):
    mb = sc.load("pendulum")  # 1 kg at 1 m
    mb["bob"].passive = passive
    mb.set_state([0.1], [0.0])
    return mb


def nanoseconds(h):
    return round(h * 1e9) / 1e9


@pytest.mark.parametrize("by", ["compiled", "python", "rollout"])
@pytest.mark.parametrize(("method", "passive", "limit"), CASES)
def test_the_limit_of_stability_from_both_sides(method, passive, limit, by, monkeypatch):
    """2 % beyond it, 100 steps end in numbers that are finite and wrong; 2 % below they are right."""

    def travelled(h):
        mb = stiff_pendulum(passive)
        p = sc.sim.Propagator(mb, integrator=method, step=h)
        if find_method(method).touches:
            p.add(sc.sim.Contact())
        if by == "rollout":
            return p.rollout([[0.0], [0.1]], [0.0], steps=100)[0]
        if by == "python":
            in_python(monkeypatch)
        return p.advance_to(100 * h).q

    assert np.abs(travelled(nanoseconds(0.98 * limit))).max() < 0.6
    text = rf"the problem is stiff: stability limits the steps of '{method}' to {limit:.2g} s, since springs or dampers"
    with pytest.raises(SimulationError, match=text) as refused:
        travelled(nanoseconds(1.02 * limit))
    assert ("state 1 of the rollout of 'pendulum'" in str(refused.value)) == (by == "rollout")


@pytest.mark.parametrize("method", LIMITS)
def test_a_step_multiplies_by_its_amplification(method):
    """Of slides with springs and dampers between them, whose motion is linear: columns by steps from unit states."""
    mb = sc.Multibody("slides", gravity=(0, 0, 0))
    rng = np.random.default_rng(3)
    for i in range(3):
        inertia = sc.Inertia(1.0 + i, (0, 0, 0), np.eye(3))
        body = mb.add_body(f"b{i}", f"b{i - 1}" if i else None, sc.Prismatic((0, 0, 1)), inertia)
        body.passive = sc.Passive(stiffness=rng.uniform(5.0, 9.0), damping=rng.uniform(0.5, 2.0))
    m, h, by = Mechanism(RunProblem.of(mb)), 0.3, find_method(method)
    J = m.jacobian(0.0, m.point(np.zeros(3), np.zeros(3)), np.zeros(m.manifold.size))[:6, :6]
    taken = []
    for e in np.eye(6):
        x = m.point(e[:3], e[3:])
        taken.append(by.step(m, 0.0, x, h, m.rates(0.0, x)).x1[:6])
    np.testing.assert_allclose(by.amplification(h * J, 3), np.array(taken).T, rtol=0, atol=1e-12)


def test_a_closed_chain_with_a_stiff_spring():
    mb = four_bar()
    mb.bodies[0].passive = sc.Passive(stiffness=1e8, rest=[mb.q[0] - 1e-3])
    start = np.array(mb.q), np.array(mb.v)
    m = Mechanism(RunProblem.of(mb, closed=sc.sim.Propagator(mb)._acting.closures))
    x = m.point(*start)
    fastest = np.abs(np.linalg.eigvals(m.jacobian(0.0, x, m.rates(0.0, x)))).max()
    with pytest.raises(SimulationError, match=r"the problem is stiff: stability limits the steps of 'rk4'"):
        sc.sim.Propagator(mb, integrator="rk4", step=nanoseconds(3.0 / fastest)).advance_to(100 / fastest)
    mb.set_state(*start)
    run = sc.sim.Propagator(mb, integrator="rk4", step=nanoseconds(2.0 / fastest)).advance_to(100 / fastest)
    assert np.abs(run.q - run.q[0]).max() < 0.1


@pytest.mark.parametrize("method", LIMITS)
def test_forces_that_jump_are_not_called_stiff(method):
    """A push to and fro in every step, on springs at 0.8 of the limit: rows do not fit, and the steps are stable."""
    mb = sc.load("double_pendulum")
    for body in mb.bodies:
        body.passive = sc.Passive(stiffness=1e5)
    mb.set_state([1e-3, -1e-3], [0.0, 0.0])
    m = Mechanism(RunProblem.of(mb))
    x = m.point(mb.q, mb.v)
    fastest = np.abs(np.linalg.eigvals(m.jacobian(0.0, x, m.rates(0.0, x)))).max()
    h = nanoseconds(0.8 * LIMITS[method][1] / fastest)
    p = sc.sim.Propagator(mb, integrator=method, step=h)
    p.add(lambda t, state: 5.0 * np.cos(np.pi * np.round(t / h)) * np.ones(mb.nv))
    assert len(p.advance_to(40 * h)) == 41


@pytest.mark.parametrize(("stiffness", "is_stiff"), [(1e6, False), (1e7, True)])
@pytest.mark.parametrize("by", ["compiled", "python", "rollout"])
def test_a_spring_that_pushes_one_way(stiffness, is_stiff, by):
    """A load of 1 kg put on a spring that only pushes: h w is 1 and 3.2, where it would hop higher and higher, with
    flights in between in which all is well."""
    mb = sc.Multibody("load", gravity=(0, 0, -9.81))
    mb.add_body("load", None, sc.Prismatic((0, 0, 1)), sc.Inertia.box(1.0, (0.3, 0.2, 0.1)))
    mb.root.add_node("floor", sc.Pose(translation=(0, 0, -1)))
    if by != "python":
        mb.add_spring("stop", "inertial/floor", "load", stiffness, length=(1.0, 100.0))
    p = sc.sim.Propagator(mb, integrator="rk4", step=1e-3)
    if by == "python":
        p.add(lambda t, state: stiffness * np.maximum(-state.q, 0.0))
    assert "steps: compiled" in str(p.report())

    def highest():
        if by == "rollout":
            return p.rollout([[0.0], [0.0]], [0.0], steps=300)[0].max()
        return p.advance_to(0.3).q.max()

    if is_stiff:
        with pytest.raises(SimulationError, match=r"stability limits the steps of 'rk4' to 0.00089 s"):
            highest()
    else:
        assert highest() < 1e-9


def test_a_motion_that_grows_by_itself_is_not_called_stiff():
    """A pushed slide, x'' = 1e4 x, in steps that its growth makes long: exp(100 t) is the motion."""
    mb = sc.Multibody("pushed", gravity=(0, 0, 0))
    mb.add_body("slide", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.set_state([1.0], [100.0])
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.015)
    p.add(lambda t, state: 1e4 * state.q)
    p.advance_to(0.15)
    assert mb.q[0] == pytest.approx(np.exp(15.0), rel=0.2)  # 1.5 in a step: far from accurate, and no garbage


def test_steps_taken_one_by_one_are_followed():
    """`advance_to` step by step, as a loop in real time does it: growth is seen across calls."""
    mb = stiff_pendulum(STIFF[1])
    h = nanoseconds(1.02 * 2e-5)
    p = sc.sim.Propagator(mb, integrator="verlet", step=h)

    def loop():
        for k in range(1, 40):
            p.advance_to(k * h)

    with pytest.raises(SimulationError, match="the problem is stiff"):
        loop()
    assert 2 * h < p.t < 20 * h


def test_what_is_at_rest_is_left_alone():
    """A mode beyond the limit that nothing moves is no error, and a short run of one that hardly grew none either."""
    mb = stiff_pendulum(STIFF[1])
    mb.set_state([0.0], [0.0])
    h = nanoseconds(1.05 * 2 * np.sqrt(2) * 1e-5)
    m, by = Mechanism(RunProblem.of(mb)), find_method("rk4")
    assert growth(by, m, 0.0, m.point(mb.q, mb.v), h) > 0.1
    assert not sc.sim.Propagator(mb, integrator="rk4", step=h).advance_to(50 * h).q.any()
    mb.set_state([0.1], [0.0])
    assert len(sc.sim.Propagator(mb, integrator="rk4", step=h).advance_to(2 * h)) == 3


@pytest.mark.parametrize(("spin", "is_asked"), [(5.0, False), (400.0, True)])
def test_bodies_that_only_touch_are_asked_for_no_modes_unless_they_are_fast(spin, is_asked, monkeypatch):
    """A heap of free bodies has nothing stiff; its Jacobian would cost more than its steps."""
    asked = []
    monkeypatch.setattr("soacraft.sim.stability.growth", lambda *args: asked.append(1) or 0.0)
    mb = sc.Multibody(gravity=(0, 0, -9.81))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    body = mb.add_body("block", None, sc.Free(), sc.Inertia(1.0, moment=np.diag([0.01, 0.02, 0.03])))
    body.add_geometry(sc.Geometry("skin", "box", (0.3, 0.2, 0.1)))
    mb.set_state([0, 0, 0, 1, 0, 0, 0.3], [1.0, 0.2, spin, 0, 0, 0])
    p = sc.sim.Propagator(mb, integrator="moreau", step=1e-3)
    p.add(sc.sim.Contact())
    p.advance_to(0.3)
    assert bool(asked) == is_asked


@pytest.mark.parametrize("integrator", ["moreau", "moreau_midpoint"])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_a_diverging_run_with_contact_ends_by_name(integrator, size):
    """A digital controller too stiff for its period throws the links of an arm around: the run ends with the body that
    turns too far for its contacts or its step, or with shapes that may pass, in any unit of length, and keeps the rows
    before."""
    mb = sc.Multibody("arm", gravity=(0, 0, -9.81 * size))
    base = None
    for i in range(4):
        link = mb.add_body(
            f"link{i}", base, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, 0.15 * size), np.eye(3) * 0.01 * size**2),
            inboard=sc.Pose(translation=(0, 0, 0.3 * size if i else 0.0)),
        )  # fmt: skip
        for k in range(3):
            pose = sc.Pose(translation=(0, 0, (0.05 + 0.1 * k) * size))
            link.add_geometry(sc.Geometry(f"skin{k}", "sphere", (0.06 * size,), pose))
        base = link
    mb.set_state([0.3, 0.4, -0.5, 0.6], np.zeros(4))
    p = sc.sim.Propagator(mb, integrator=integrator, step=0.001)
    p.add(sc.sim.Contact())
    for name in mb.dof_names:
        p.control(name, 0.0)

    def too_stiff(t, state):
        for name, force in zip(mb.dof_names, size**2 * (-5000.0 * state.q - 300.0 * state.v), strict=True):
            p.control(name, float(force))

    p.every(0.01, too_stiff)
    reasons = r"'link\d' turns by|may pass through each other|bodies turn by a radian"
    with pytest.raises(sc.errors.SimulationError, match=reasons):
        p.advance_to(10.0)
    assert 0.0 < p.t < 1.0
    assert np.isfinite(p.last_run.v).all()
    assert np.abs(np.diff(p.last_run.q, axis=0)).max() < 6.0  # of two links by 3 rad at most, which contacts can follow


@pytest.mark.parametrize("factor", [1.0005, 1.01])
@pytest.mark.parametrize("rows", [2, 3])
def test_steps_are_looked_at_where_a_velocity_changes_from_two_rows_on(rows, factor):
    mb = sc.load("double_pendulum")
    v = np.array([[1.0, 2.0], [1.0, 2.0 * factor], [1.0, 2.0 * factor]])[:rows]
    q = np.zeros_like(v)
    np.testing.assert_array_equal(restless(mb, q, v), [factor > 1.003, False][: rows - 1])
    assert restless(mb, q[:1], v[:1]).shape == (0,)


@pytest.mark.parametrize("h", [0.02, 0.1, 0.3])
def test_a_step_of_contact_multiplies_by_the_amplification_of_what_it_takes_implicitly(h):
    """Slides with stiff springs and dampers, whose motion is linear: columns by steps from unit states."""
    mb = sc.Multibody("slides", gravity=(0, 0, 0))
    rng = np.random.default_rng(3)
    for i in range(3):
        inertia = sc.Inertia(1.0 + i, (0, 0, 0), np.eye(3))
        body = mb.add_body(f"b{i}", f"b{i - 1}" if i else None, sc.Prismatic((0, 0, 1)), inertia)
        body.passive = sc.Passive(stiffness=rng.uniform(50.0, 90.0), damping=rng.uniform(5.0, 20.0))
    m = Mechanism(RunProblem.of(mb))
    x = m.point(np.zeros(3), np.zeros(3))
    J = m.jacobian(0.0, x, np.zeros(m.manifold.size))[:6, :6]
    taken = []
    for e in np.eye(6):
        mb.set_state(e[:3], e[3:])
        p = sc.sim.Propagator(mb, integrator="moreau", step=h)
        p.add(sc.sim.Contact())
        run = p.advance_to(h)
        assert len(run) == 2
        taken.append(np.concatenate([run.q[-1], run.v[-1]]))
    wanted = Linear.of(m, 0.0, x, np.ones(3)).amplification(J, 3, h)
    np.testing.assert_allclose(np.array(taken).T, wanted, rtol=0, atol=1e-12)


def test_what_moves_by_rounding_of_its_coordinates_is_at_rest():
    """A closed chain that stands has velocities of some 1e-17, which its coordinates do not follow."""
    mb = four_bar()
    t, q = 1e-3 * np.arange(6), np.tile(mb.q, (6, 1))
    noise = 1e-17 * np.array([1.0, -1.0, 2.0, -3.0, 1.0, 2.0])[:, None] * np.array([1.0, 0.3, -2.0])
    assert not missed(mb, t, q, noise).any()
    assert missed(mb, t, q, np.full((6, 3), 1e-9)).all()


@pytest.mark.parametrize("step", [0.01, 0.002])
def test_rows_before_a_dof_sticks_are_not_called_stiff(step):
    """A rod whose pin comes to rest by dry friction, with a sprung tip that goes on: rows in which the pin moves are
    looked at while it sticks."""

    def rod(**how):
        mb = sc.Multibody("rod", gravity=(0, 0, -9.81))
        mb.add_body("rod", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, -0.3), 0.02 * np.eye(3)))
        at = sc.Pose(translation=(0, 0, -0.7))
        tip = mb.add_body("tip", "rod", sc.Prismatic((0, 0, -1)), sc.Inertia(0.5, (0, 0, 0), 0.01 * np.eye(3)), at)
        tip.passive = sc.Passive(stiffness=400.0)
        mb.set_state([0.5, 0.01], [-1.5, 0.1])
        p = sc.sim.Propagator(mb, **how)
        p.add(sc.sim.HingeFriction("rod", coulomb=25.0))
        return p.advance_to(0.1)

    run, accurate = rod(integrator="rk4", step=step), rod(rtol=1e-10)
    assert run.v[-1, 0] == 0.0
    np.testing.assert_allclose(run.q[-1], accurate.q[-1], rtol=0, atol=1e-2 * step)


def test_no_largest_rate_is_smaller_than_what_traces_tell():
    """Of random matrices, and the rate itself of a multiple of the identity."""
    rng = np.random.default_rng(8)
    for n in (1, 2, 7, 20):
        J = rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-3, 3)
        assert least_rate(J) <= np.abs(np.linalg.eigvals(J)).max() * (1 + 1e-12)
    assert least_rate(-3.0 * np.eye(4)) == pytest.approx(3.0, rel=1e-15)
    assert least_rate(np.array([[0.0, 1.0], [-25.0, 0.0]])) == pytest.approx(5.0, rel=1e-15)
