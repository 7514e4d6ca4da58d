"""Prescribed motions in compiled steps: those of Python, for every method, kind of motion and hinge; their work."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import (
    BPoly,
    CubicSpline,
    InterpolatedUnivariateSpline,
    PchipInterpolator,
    PPoly,
    make_interp_spline,
)
from tests.loops.test_case_four_bars import spatial_loop
from tests.profiles import tries
from tests.sim.chains import slider_crank
from tests.sim.combinations import MODELS as COMBINED
from tests.sim.test_closed import four_bar
from tests.sim.test_compiled import agree, bent, in_python, is_compiled, sprung
from tests.sim.test_compiled_refusals import first_call
from tests.sim.test_order import tree
from tests.strategies import rigid_trees

import soacraft as sc
from soacraft import sim
from soacraft.errors import SimulationError
from soacraft.model.tree.parts.closures import coordinate_names
from soacraft.sim import compiled
from soacraft.sim.forces.compiled_prescribed import piecewise_of

METHODS = ("rk4", "dop853", "gauss4", "gauss6", "euler_symplectic", "verlet")


def swing(t, rate=3.0, size=1.0):
    return size * np.sin(rate * t), size * rate * np.cos(rate * t), -size * rate**2 * np.sin(rate * t)


T = np.linspace(-0.01, 0.1, 6)
LOOP = np.linspace(-0.02, 0.03, 8)
ROUND = np.array([0.0, 0.1, 0.2, 0.3, 0.1, 0.05, 0.02, 0.0])
MOTIONS = {
    "function": swing,
    "cubic": CubicSpline(T, np.sin(5 * T)),
    "line": PPoly([[1.0, -2.0], [0.0, 0.02]], [0.0, 0.02, 0.04]),
    "quintic": make_interp_spline(T, np.sin(5 * T), k=5),
    "univariate": InterpolatedUnivariateSpline(T, np.sin(5 * T), k=4),
    "pchip": PchipInterpolator(T, np.sin(5 * T)),
    "periodic": CubicSpline(LOOP, ROUND, bc_type="periodic"),
    "periodic B-spline": make_interp_spline(LOOP, ROUND, k=3, bc_type="periodic"),
}
#: A model, and the dofs that are prescribed.
MODELS = {
    "pins": (lambda: tree([sc.Pin((0, 1, 0)), sc.Prismatic((1, 0, 0)), sc.Pin((1, 0, 0))]), (1,)),
    "quaternions": (lambda: tree([sc.Free(), sc.Gimbal(), sc.Spherical(), sc.Pin((0, 0, 1))]), (7, 12)),
    "springs": (sprung, (9, 12)),
    "flexible": (bent, (6, 7, 8)),
}


def run_of(mb, method, motions, goal=0.03, **options):
    p = sim.Propagator(mb, integrator=method, rtol=1e-8, step=None if method == "dop853" else 0.004, **options)
    p.control(mb.dof_names[0], 0.3)
    for dof, motion in motions.items():
        p.prescribe(mb.dof_names[dof], motion)
    return p.advance_to(goal)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MODELS)
def test_steps_are_those_of_python(name, method, monkeypatch):
    make, dofs = MODELS[name]
    curves = swing, MOTIONS["cubic"], MOTIONS["quintic"]
    motions = {dof: curves[i] for i, dof in enumerate(dofs)}
    run = run_of(make(), method, motions)
    assert is_compiled(run)
    in_python(monkeypatch)
    agree(run, run_of(make(), method, motions))


CHAINS = {
    "four-bar": four_bar,
    "slider crank": lambda: slider_crank(2.0),
    "loop in space": spatial_loop,
    "five-bar": lambda: sc.load("five_bar"),
}


def run_of_chain(mb, method, solver="auto", goal=0.03):
    """The first dof gathers speed from where it is."""
    q, v = mb.q[0], mb.v[0]
    p = sim.Propagator(mb, solver, integrator=method, rtol=1e-8, step=None if method == "dop853" else 0.003)
    p.control(mb.dof_names[1], 0.3)

    def gathering(t):
        return np.add(swing(t), (q + (v - 3) * t, v - 3, 0))

    p.prescribe(mb.dof_names[0], gathering)
    return p.advance_to(goal)


@pytest.mark.parametrize(
    ("name", "method", "solver"),
    [(x, "rk4", y) for x in CHAINS for y in ("ta", "ce")] + [("five-bar", x, "fa") for x in METHODS],
)
def test_steps_of_closed_chains(name, method, solver, monkeypatch):
    run = run_of_chain(CHAINS[name](), method, solver)
    assert is_compiled(run)
    in_python(monkeypatch)
    agree(run, run_of_chain(CHAINS[name](), method, solver), 1e-10)


def test_a_robot_whose_rods_weigh_next_to_nothing(monkeypatch):
    """Three motors, of which one moves as told; the forces on its rods show the last bits of their places."""

    def run():
        mb = sc.load("delta")
        q = mb.q[1]
        p = sim.Propagator(mb, integrator="rk4", step=0.001)
        p.prescribe(mb.dof_names[1], lambda t: (q + 0.5 * t * t, t, 1.0))
        return p.run(0.01)

    made = run()
    assert is_compiled(made)
    in_python(monkeypatch)
    np.testing.assert_allclose(made.q, run().q, rtol=0, atol=1e-9)


def test_a_closed_chain_is_driven_through_a_turn():
    """A crank at a constant rate: the rates of the others close the loop, and nothing but what drives it does work."""
    mb = four_bar()
    q, rate = mb.q[0], 4.0
    s = sc.loops.TreeAugmented(mb)
    mb.v = s.project_velocity(mb.q, np.eye(mb.nv)[0])
    mb.v = rate / mb.v[0] * mb.v
    p = sim.Propagator(mb, integrator="rk4", step=0.002)
    p.prescribe(mb.dof_names[0], lambda t: (q + rate * t, rate, 0.0))
    run = p.run(0.5)
    assert is_compiled(run)
    assert run.violation.max() < 1e-9
    np.testing.assert_allclose(run.q[:, 0], q + rate * run.t, rtol=0, atol=1e-13)
    np.testing.assert_allclose(run.energy - run.energy[0], run.work["prescribed"], rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", MOTIONS)
def test_kinds_of_motions(kind, monkeypatch):
    make, (dof,) = MODELS["pins"]
    motions = {dof: MOTIONS[kind]}
    assert (piecewise_of(MOTIONS[kind]) is None) == (kind == "function")
    run = run_of(make(), "rk4", motions, 0.05)
    assert is_compiled(run)
    in_python(monkeypatch)
    agree(run, run_of(make(), "rk4", motions, 0.05))


@pytest.mark.parametrize("kind", [x for x in MOTIONS if x != "function"])
def test_polynomials_are_the_spline(kind):
    motion, curve = MOTIONS[kind], piecewise_of(MOTIONS[kind])
    extrapolate = "periodic" if curve.periodic else True
    assert curve.periodic == kind.startswith("periodic")
    for t in np.linspace(-0.1, 0.2, 61):
        assert PPoly(curve.coefficients, curve.breaks, extrapolate)(t) == pytest.approx(float(motion(t)), abs=1e-12)


def test_other_motions_are_functions():
    ends = CubicSpline(T, np.sin(5 * T), extrapolate=False)
    univariate = InterpolatedUnivariateSpline(T, np.sin(5 * T), ext=1)
    for motion in (ends, univariate, BPoly([[0.0], [1.0]], [0.0, 1.0]), CubicSpline(T, np.outer(T, [1.0, 2.0])), swing):
        assert piecewise_of(motion) is None


@tries(25)
@given(mb=rigid_trees(), seed=st.integers(0, 99))
def test_random_trees(mb, seed):
    """Some dofs that have coordinates of their own, of all hinges."""
    rng = np.random.default_rng(seed)
    known = coordinate_names(mb)
    if not known or not all(x.hinge.holonomic for x in mb.bodies):
        return
    names = [x for x in known if rng.random() < 0.5] or list(known)[:1]

    def ended():
        p = sim.Propagator(mb.copy(), integrator="rk4", step=0.002)
        for i, name in enumerate(names):
            p.prescribe(name, partial(swing, rate=1.0 + i, size=0.3))
        return p.advance_to(0.004)

    run = ended()
    with pytest.MonkeyPatch.context() as patch:
        in_python(patch)
        agree(run, ended(), 1e-10)


def test_the_work_of_a_motion_is_the_energy(monkeypatch):
    """Of a model that nothing else drives or brakes."""
    run = run_of(MODELS["pins"][0](), "dop853", {1: swing}, 1.0)
    work = sum(run.work.values())
    np.testing.assert_allclose(run.energy - run.energy[0], work - work[0], rtol=0, atol=1e-6 * np.abs(run.energy).max())
    assert np.ptp(run.work["prescribed"]) > 0.1


def test_the_force_of_a_motion_in_closed_form():
    """A cart of 2 kg carries a load of 3 kg: their inertia alone takes force."""
    mb = sc.Multibody("cart")
    mb.add_body("cart", None, sc.Prismatic((1, 0, 0)), sc.Inertia(2.0))
    mb.add_body("load", "cart", sc.Prismatic((0, 1, 0)), sc.Inertia(3.0), sc.Pose(translation=(0, 0, 1)))
    p = sim.Propagator(mb, integrator="rk4", step=0.01)
    p.prescribe("cart", CubicSpline([0.0, 0.5, 1.0], [0.0, 1.0, -1.0]))
    run = p.run(1.0)
    assert is_compiled(run)
    wanted = 5.0 * CubicSpline([0.0, 0.5, 1.0], [0.0, 1.0, -1.0])(run.t, 2)
    np.testing.assert_allclose(run.forces["prescribed"][:, 0], wanted, rtol=0, atol=1e-11)
    assert 0.5 in run.t


# -- what changes while a run goes on --------------------------------------------------------------------------------


def changed(change, method="rk4"):
    """A run in which a callback changes a motion."""
    mb = MODELS["pins"][0]()
    p = sim.Propagator(mb, integrator=method, step=0.002)
    p.prescribe(mb.dof_names[1], swing)
    p.every(0.01, lambda t, state: change(p, mb.dof_names[1]) if 0.015 < t < 0.025 else None)
    return p.advance_to(0.05)


@pytest.mark.parametrize(
    "change",
    [
        lambda p, name: p.prescribe(name, partial(swing, size=0.5)),
        lambda p, name: p.prescribe(name, CubicSpline(T, np.cos(T))),
        lambda p, name: p.prescribe(name, None),
        lambda p, name: p.prescribe(p.mb.dof_names[0], lambda t: (0.1, 0.0, 0.0)),
    ],
)
def test_a_callback_changes_a_motion(change, monkeypatch):
    run = changed(change)
    assert is_compiled(run)
    in_python(monkeypatch)
    agree(run, changed(change))


def test_a_run_in_two_parts_has_the_same_bits(tmp_path):
    def made():
        p = sim.Propagator(MODELS["quaternions"][0](), integrator="rk4", step=0.004)
        p.prescribe(p.mb.dof_names[7], MOTIONS["cubic"])
        p.prescribe(p.mb.dof_names[12], swing)
        return p

    one, two, three = made(), made(), made()
    one.advance_to(0.08)
    two.advance_to(0.04)
    two.checkpoint(tmp_path / "half.h5")
    three.restore(tmp_path / "half.h5")
    three.advance_to(0.08)
    np.testing.assert_array_equal(one.mb.q, three.mb.q)
    np.testing.assert_array_equal(one.mb.v, three.mb.v)


def test_a_motion_that_fails_is_named():
    def wrong(t):
        return (0.0, 0.0, 0.0) if t < 0.01 else (0.0, np.nan, 0.0)

    mb = MODELS["pins"][0]()
    p = sim.Propagator(mb, integrator="rk4", step=0.002)
    p.prescribe(mb.dof_names[1], wrong)
    text = r"stopped at t = 0.008 s: the motion of .* must give three numbers, .* at t = 0.01\d* s"
    with pytest.raises(SimulationError, match=text):
        p.advance_to(0.05)
    assert p.t == pytest.approx(0.008)


def test_an_error_of_a_motion_is_the_users_own():
    def wrong(t):
        raise ZeroDivisionError("mine")

    mb = MODELS["pins"][0]()
    p = sim.Propagator(mb, integrator="rk4", step=0.002)
    p.prescribe(mb.dof_names[1], lambda t: swing(t) if t < 0.01 else wrong(t))
    with pytest.raises(ZeroDivisionError, match="mine"):
        p.advance_to(0.05)


# -- steppers, systems ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("motion", [swing, MOTIONS["cubic"]], ids=["function", "spline"])
def test_states_side_by_side(motion):
    """Each is put where its motion has it, and goes as a run does."""
    mb = MODELS["pins"][0]()
    p = sim.Propagator(mb, integrator="rk4", step=0.004)
    p.prescribe(mb.dof_names[1], motion)
    starts = np.array([mb.q, mb.q + 0.1]), np.array([mb.v, mb.v - 0.2])
    step = p.stepper([], states=2)
    step.set_state(*starts)
    assert "steps: compiled" in str(step.report())
    step(10)
    for q, v, q0, v0 in zip(step.q, step.v, *starts, strict=True):
        other = mb.copy()
        other.set_state(q0, v0)
        alone = sim.Propagator(other, integrator="rk4", step=0.004)
        alone.prescribe(mb.dof_names[1], motion)
        alone.run(0.04)
        np.testing.assert_allclose(q, other.q, rtol=0, atol=1e-13)
        np.testing.assert_allclose(v, other.v, rtol=0, atol=1e-12)


class Lagging(sim.Component):
    """A motion from a state of its own: a filter of first order on its way to 1."""

    x = sim.Continuous("", start=0.0)

    @sim.rate(x)
    def rise(x):
        return 10.0 * (1.0 - x)

    @sim.output(shape=(3,), to="motion")
    def motion(x):
        return np.array([x, 10.0 * (1.0 - x), -100.0 * (1.0 - x)])


class Sampled(sim.Component):
    """A motion that jumps at its ticks."""

    k = sim.Discrete(start=0.0)

    @sim.update(k)
    def next(k):
        return k + 1.0

    @sim.output(shape=(3,), to="motion")
    def motion(k, t):
        return np.array([0.1 * k, 0.0, 0.3 * np.sin(t)])


@pytest.mark.parametrize("part", [Lagging, Sampled])
@pytest.mark.parametrize("method", ["rk4", "gauss4"])
def test_motions_of_components(part, method, monkeypatch):
    def run():
        s = sim.System("driven", integrator=method, step=0.003)
        plant = s.add("arm", sim.Plant(MODELS["pins"][0]()))
        s.add("part", part(), at=plant.dof(plant.mb.dof_names[1]), **({"every": 0.009} if part is Sampled else {}))
        return s.run(0.05)

    made = run()
    assert is_compiled(made)
    in_python(monkeypatch)
    agree(made, run(), 1e-12)


# -- what does not fit ------------------------------------------------------------------------------------------------


def prescribed_call(monkeypatch):
    mb = MODELS["pins"][0]()
    p = sim.Propagator(mb, integrator="rk4", step=0.004)
    p.prescribe(mb.dof_names[1], MOTIONS["cubic"])
    return first_call(monkeypatch, lambda: p.advance_to(0.02))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"dofs": np.array([3])}, "dofs has an entry 3 out of range"),
        ({"places": np.array([-1])}, "places has an entry -1 out of range"),
        ({"rows": np.array([0])}, "rows has an entry 0 out of range"),
        ({"guidance": np.array([4])}, "guidance has an entry 4 out of range"),
        ({"guidance": np.array([2])}, "dof 1 has a motion in no slot of the plan"),
        ({"slots": np.array([0])}, "slots has an entry 0 out of range"),
        ({"periodic": np.array([2])}, "periodic has an entry 2 out of range"),
        ({"breaks_at": np.array([0, 9])}, "breaks_at has an entry 9 out of range"),
        ({"breaks_at": np.array([1, 1])}, "the polynomials of dof 1 do not fit their breaks"),
        ({"coefficients_at": np.array([0, 3])}, "the polynomials of dof 1 do not fit their breaks"),
        ({"coefficients_at": np.array([0, 19])}, "the polynomials of dof 1 do not fit their breaks"),
        ({"numbers": np.zeros((2, 3))}, "numbers has length 2, not 1"),
        ({"has_row": 0}, "dof 1 is prescribed twice, or by nothing"),
        ({"t": np.zeros(2), "call": lambda: None}, "t has one number"),
    ],
)
def test_what_does_not_fit_is_refused(change, text, monkeypatch):
    call = prescribed_call(monkeypatch)
    setting = call[1]
    call[1] = setting._replace(prescribed=setting.prescribed._replace(**change))
    with pytest.raises(ValueError, match=text):
        compiled._core.advance(*call)


def test_methods_that_take_none_refuse(monkeypatch):
    call = prescribed_call(monkeypatch)
    call[1] = call[1]._replace(method=3, tableau=None)
    with pytest.raises(ValueError, match="compiled steps prescribe motions by methods without derivatives"):
        compiled._core.advance(*call)


# -- next to contact ---------------------------------------------------------------------------------------------------


def lift():
    """A table on a slide along z, with a ball that falls on it."""
    mb = sc.Multibody("lift", gravity=(0, 0, -9.81))
    table = mb.add_body("table", None, sc.Prismatic((0, 0, 1)), sc.Inertia(2.0, moment=0.1 * np.eye(3)))
    table.add_geometry(sc.Geometry("top", "box", (1.0, 1.0, 0.1)))
    ball = mb.add_body("ball", None, sc.Free(), sc.Inertia(0.5, moment=0.002 * np.eye(3)))
    ball.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    mb.set_state([0.0, 0, 0, 0, 1, 0.2, 0, 0.1501], [0.0, 0.3, 0, 0, 0.2, 0, 0])
    return mb


def turntable():
    """A disc that turns under a box, whose hinge rubs, and an arm on it with limits."""
    mb = sc.Multibody("turntable", gravity=(0, 0, -9.81))
    disc = mb.add_body("disc", None, sc.Pin((0, 0, 1)), sc.Inertia(3.0, moment=np.diag([0.2, 0.2, 0.4])))
    disc.add_geometry(sc.Geometry("top", "box", (1.0, 1.0, 0.1)))
    at = sc.Pose(translation=(0.4, 0, 0.2))
    arm = mb.add_body("arm", "disc", sc.Pin((0, 0, 1)), sc.Inertia(0.4, (0.1, 0, 0), 0.01 * np.eye(3)), at)
    arm.limits, arm.passive = sc.Limits(-0.05, 0.05), sc.Passive(friction=0.01)
    box = mb.add_body("box", None, sc.Free(), sc.Inertia(0.5, moment=0.005 * np.eye(3)))
    box.add_geometry(sc.Geometry("skin", "box", (0.2, 0.2, 0.2)))
    mb.set_state([0.0, 0.0, 0, 0, 0, 1, 0.2, 0, 0.1502], np.zeros(8))
    return mb


def elastic():
    """A prescribed hinge of a rod that gives way, whose tip strikes the floor."""
    mb = COMBINED["flexible"]()
    mb.set_state([0.5, 0.01], [-1.5, 0.1])
    return mb


def two_pins():
    return COMBINED["tree"]()


def down(t):
    return 0.5 - np.sin(1.5 * t), -1.5 * np.cos(1.5 * t), 2.25 * np.sin(1.5 * t)


TIMES = np.linspace(0.0, 0.4, 9)
UP = CubicSpline(TIMES, 0.05 * TIMES**2 + 0.02 * np.sin(10.0 * TIMES))
TOUCHING = {
    "lift": (lift, {"table": UP}),
    "turntable": (turntable, {"disc": lambda t: (4.0 * t**2, 8.0 * t, 8.0)}),
    "pins": (two_pins, {"first": down}),
    "elastic": (elastic, {"first": down}),
}


def touching(name, *loads, goal=0.15, step=0.0025):
    make, motions = TOUCHING[name]
    p = sim.Propagator(make(), integrator="moreau", step=step)
    p.add(sim.Contact(friction=0.2, restitution=0.2, tolerance=1e-12), *loads)
    for dof, motion in motions.items():
        p.prescribe(dof, motion)
    return p, p.run(goal)


@pytest.mark.parametrize("name", TOUCHING)
def test_contact_next_to_prescribed_motions(name, monkeypatch):
    """Motion, work and forces are those of Python; the motion is the prescribed one."""
    p, run = touching(name)
    assert is_compiled(run), str(p.report())
    in_python(monkeypatch)
    _, other = touching(name)
    assert run.forces["contact"].any()
    np.testing.assert_allclose(run.q, other.q, rtol=0, atol=1e-10)
    np.testing.assert_allclose(run.v, other.v, rtol=0, atol=1e-8)
    np.testing.assert_allclose(run.vdot, other.vdot, rtol=0, atol=1e-8 * np.abs(other.vdot).max())
    for x in run.work:
        np.testing.assert_allclose(run.work[x], other.work[x], rtol=0, atol=1e-9)
        np.testing.assert_allclose(run.forces[x], other.forces[x], rtol=0, atol=1e-8 * np.abs(other.forces[x]).max())
    dof, motion = next(iter(TOUCHING[name][1].items()))
    wanted = [float(motion(t) if name == "lift" else motion(t)[0]) for t in run.t]
    np.testing.assert_allclose(run.q[:, 0], wanted, rtol=0, atol=1e-12)
    assert p.mb.dof_names[0] == dof


def test_a_lift_carries_its_load():
    """A body that rests on it has its acceleration: the table pushes with m (g + a), which its motion takes."""
    mb = lift()
    mb.set_state([0.0, 0, 0, 0, 1, 0, 0, 0.15], np.zeros(7))
    p = sim.Propagator(mb, integrator="moreau", step=0.001)
    p.add(sim.Contact(friction=0.4))
    p.prescribe("table", lambda t: (0.75 * t**2, 1.5 * t, 1.5))
    run = p.run(0.2)
    assert is_compiled(run)
    np.testing.assert_allclose(mb.q[[0, 7]], [0.03, 0.18], rtol=0, atol=1e-6)
    push = 0.5 * (9.81 + 1.5)
    np.testing.assert_allclose(run.forces["contact"][10:, 6], push, rtol=1e-6)
    taken = run.forces["contact"][10:, 0] + run.forces["prescribed"][10:, 0]
    np.testing.assert_allclose(taken, 2.0 * (9.81 + 1.5), rtol=1e-6)


def test_bits_of_parts_and_steppers():
    p, _ = touching("turntable", sim.HingeFriction("arm", 0.02))
    end = p.run(0.2)
    make, motions = TOUCHING["turntable"]
    for parts in ((0.05, 0.1, 0.2), (0.2,)):
        other = sim.Propagator(make(), integrator="moreau", step=0.0025)
        other.add(sim.Contact(friction=0.2, restitution=0.2, tolerance=1e-12), sim.HingeFriction("arm", 0.02))
        other.prescribe("disc", motions["disc"])
        if len(parts) == 1:
            step = other.stepper([])
            assert not step.obstacle
            step(80)
            np.testing.assert_array_equal(step.q, end.q[-1])
            continue
        for t in parts:
            last = other.run(t)
        np.testing.assert_array_equal(last.q[-1], end.q[-1])
        for x in end.work:
            assert last.work[x][-1] == end.work[x][-1]


def test_fast_springs_next_to_prescribed_motions_are_left_to_python():
    """Where forces are implicit; and closed chains."""
    mb = turntable()
    mb["arm"].passive = sc.Passive(damping=500.0)
    p = sim.Propagator(mb, integrator="moreau", step=0.0025)
    p.add(sim.Contact())
    p.prescribe("disc", TOUCHING["turntable"][1]["disc"])
    assert not is_compiled(p.run(0.05))
    chain = sim.Propagator(COMBINED["closed chain"](), integrator="moreau", step=0.0025)
    chain.add(sim.Contact())
    chain.prescribe("first", down)
    assert "a motion is prescribed" in str(chain.report())
